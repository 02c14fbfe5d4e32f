//! What takes input from outside, and how it is reached.

use std::fs;
use std::path::Path;

use cfaudit::data::exchange::keyed::{AnswerValues, KeyedFile};
use cfaudit::data::exchange::score_stream::{WantedScores, read_stream};
use cfaudit::data::source::file_profile::profile_file;
use cfaudit::data::{Attribute, RowIdKind};
use cfaudit::error::{Error, JobProblem};
use cfaudit::exec::cancel::CancelFlag;
use cfaudit::exec::event::{Event, Observer};
use cfaudit::explain::codes;
use cfaudit::job::check;
use cfaudit::job::new;
use cfaudit::num::score_scale::ScoreScale;
use cfaudit::stage::settings::RunSettings;
use cfaudit::stage::{self, RunRecord};

use super::mutate::{self, Dice};
use super::tables::{self, Columns, as_parquet, as_stream, people, scores};
use super::{Target, Verdict, corpus};
use crate::work::{each_bad_job, yaml_files};

/// What an error may be about, where only an input is wrong: the job, or the data.
pub(super) fn blamed(error: &Error) -> Result<Verdict, String> {
    let known = |code: &str| codes().iter().any(|(known, _)| *known == code);
    match error {
        Error::Job(problems)
            if !problems.is_empty()
                && problems.iter().all(|p| known(p.code) && !p.what.is_empty()) =>
        {
            Ok(Verdict::Refused)
        }
        Error::Data(fault) if known(fault.code) && !fault.what.is_empty() => Ok(Verdict::Refused),
        other => Err(format!("blames the wrong one: {other}")),
    }
}

/// Every problem of a job says where it stands, or which `--set` it is.
fn refused_with_lines(problems: &[JobProblem]) -> Result<Verdict, String> {
    let is_placed = |problem: &&JobProblem| {
        let place = problem.place.as_ref();
        place.is_some_and(|place| place.line > 0 || place.file.starts_with("--set"))
            || problem.code == "too-many-problems"
    };
    match problems.iter().find(|problem| !is_placed(problem)) {
        Some(problem) => Err(format!("no line: {problem}")),
        None => blamed(&Error::Job(problems.to_vec())),
    }
}

fn judged<T>(result: Result<T, Error>) -> Result<Verdict, String> {
    result.map_or_else(|error| blamed(&error), |_| Ok(Verdict::Taken))
}

struct Nobody;

impl Observer for Nobody {
    fn on(&self, _: &Event) {}
}

impl RunRecord for Nobody {
    fn identify(&self, _: &str, _: &str) {}

    fn log_lines(&self) -> Vec<u8> {
        Vec::new()
    }
}

/// Runs a job from its text to the published folder.
pub(super) fn run(folder: &Path, job: &str) -> Result<Verdict, String> {
    run_until(folder, job, None)
}

/// Runs a job from its text to its prepared rows.
pub(super) fn prepare(folder: &Path, job: &str) -> Result<Verdict, String> {
    run_until(folder, job, Some("prepare".to_owned()))
}

/// Bytes of files that may be left of earlier inputs.
const CACHE_BYTES: u64 = 50_000_000;

/// The size of all files below a folder.
fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap());
    let size = |entry: fs::DirEntry| {
        let is_folder = entry.file_type().unwrap().is_dir();
        if is_folder { size_of(&entry.path()) } else { entry.metadata().unwrap().len() }
    };
    entries.map(size).sum()
}

fn run_until(folder: &Path, job: &str, until: Option<String>) -> Result<Verdict, String> {
    let file = folder.join("job.yaml");
    fs::write(&file, job).unwrap();
    let cache = folder.join("cache");
    if size_of(&cache) > CACHE_BYTES {
        fs::remove_dir_all(&cache).unwrap();
    }
    let settings = RunSettings {
        out: Some(folder.join("out")),
        cache: Some(cache),
        data_dir: folder.join("data"),
        threads: 2,
        until,
        ..RunSettings::plain("job.yaml".to_owned())
    };
    let checked = match check::read(&file, &[]) {
        Ok(checked) => checked,
        Err(error) => return blamed(&error),
    };
    judged(stage::run(&checked, &settings, &Nobody, &Nobody, &CancelFlag::default()))
}

/// A job over rows that stand where `ROWS` is.
pub(super) const JOB: &str = r#"
cfaudit: 1
name: fuzz
data:
  rows: ROWS
  row_id: id
  label: {column: repaid, positive: ["yes"], favourable: positive}
  sensitive: {sex: {groups: [f, m], reference: m}}
  features: {continuous: [age], nominal: [job]}
  missing: {nominal: level, continuous: drop-row}
  split: {share: {train: 0.5, audit: 0.5}}
counterfactuals: {flip: naive, world: {plausible: {move: all, condition_on: label}}}
models: {trained: {logistic: {l2: 1.0}}}
metrics: {bootstrap: {samples: 10}}
"#;

/// Looks at a file of rows as `cfaudit new` does, and runs an audit over it.
fn audit(folder: &Path, file: &str, job: &str) -> Result<Verdict, String> {
    let path = folder.join(file).to_string_lossy().into_owned();
    match profile_file(&path) {
        Ok(found) => {
            let wishes = new::NewJobOptions {
                data: path.clone(),
                label: Some("repaid".to_owned()),
                sensitive: vec!["sex".to_owned()],
                ..Default::default()
            };
            judged(new::job(&found, &wishes))?;
        }
        Err(error) => drop(blamed(&error)?),
    }
    run(folder, &job.replace('@', &path))
}

/// Folders of jobs; those of the first two are taken as they are.
const JOB_FOLDERS: [&str; 6] =
    ["jobs", "tests/jobs", "jobs/base", "jobs/papers", "jobs/recipes", "tests/jobs/bad/base"];

/// Job files.
pub(super) struct Jobs;

impl Target for Jobs {
    fn name(&self) -> &'static str {
        "jobs"
    }

    fn seeds(&self) -> Vec<Vec<u8>> {
        let files = JOB_FOLDERS.iter().flat_map(|folder| yaml_files(folder));
        let mut seeds: Vec<_> = files.map(|file| fs::read(file).unwrap()).collect();
        each_bad_job(|job| seeds.push(job.text.clone().into_bytes()));
        seeds
    }

    /// Half of the inputs come from the few jobs that are sound.
    fn fresh(&self, dice: &mut Dice) -> Option<Vec<u8>> {
        let sound: Vec<_> = JOB_FOLDERS[..2].iter().flat_map(|folder| yaml_files(folder)).collect();
        dice.one_in(2).then(|| fs::read(&sound[dice.below(sound.len())]).unwrap())
    }

    fn mutate(&self, input: &mut Vec<u8>, seeds: &[Vec<u8>], dice: &mut Dice) {
        mutate::text(input, seeds, dice);
    }

    fn feed(&self, folder: &Path, input: &[u8], dice: &mut Dice) -> Result<Verdict, String> {
        let file = folder.join("job.yaml");
        fs::write(&file, input).unwrap();
        let sets: &[&str] = dice.of::<&[&str]>(&[
            &[],
            &[],
            &["run.seed=7"],
            &["model_version=[1"],
            &["gates.x.level=fail"],
            &["data=~", "name"],
        ]);
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        let checked = match check::read(&file, &sets) {
            Ok(checked) => checked,
            Err(Error::Job(problems)) => return refused_with_lines(&problems),
            Err(other) => return Err(format!("not about the job: {other}")),
        };
        // A job that is taken is taken again as it was resolved, and comes to the same.
        let resolved = check::to_yaml(&checked.job);
        fs::write(&file, &resolved).unwrap();
        match check::read(&file, &[]) {
            Ok(again) if check::to_yaml(&again.job) == resolved => Ok(Verdict::Taken),
            Ok(_) => Err("the resolved job does not come to itself".to_owned()),
            Err(error) => Err(format!("the resolved job is refused: {error}\n{resolved}")),
        }
    }
}

/// Columns in a file or a stream: half of the inputs have odd ones, and most are damaged as well.
pub(super) struct WrittenColumns {
    pub(super) name: &'static str,
    pub(super) columns: fn() -> Columns,
    pub(super) write: fn(&Columns, &mut Dice) -> Option<Vec<u8>>,
    pub(super) damage: fn(&mut Vec<u8>, &[Vec<u8>], &mut Dice),
    pub(super) feed: fn(&Path, &[u8], &mut Dice) -> Result<Verdict, String>,
}

impl Target for WrittenColumns {
    fn name(&self) -> &'static str {
        self.name
    }

    fn seeds(&self) -> Vec<Vec<u8>> {
        let columns = (self.columns)();
        (0..8).filter_map(|i| (self.write)(&columns, &mut Dice::new(i))).collect()
    }

    fn fresh(&self, dice: &mut Dice) -> Option<Vec<u8>> {
        dice.one_in(2).then(|| {
            let mut columns = (self.columns)();
            tables::change(&mut columns, dice);
            (self.write)(&columns, dice)
        })?
    }

    fn mutate(&self, input: &mut Vec<u8>, seeds: &[Vec<u8>], dice: &mut Dice) {
        (self.damage)(input, seeds, dice);
    }

    fn feed(&self, folder: &Path, input: &[u8], dice: &mut Dice) -> Result<Verdict, String> {
        (self.feed)(folder, input, dice)
    }
}

/// Rows as Parquet.
pub(super) const PARQUET: WrittenColumns = WrittenColumns {
    name: "parquet",
    columns: people,
    write: as_parquet,
    damage: footer_or_anywhere,
    feed: |folder, input, _| {
        fs::write(folder.join("rows.parquet"), input).unwrap();
        audit(folder, "rows.parquet", &JOB.replace("ROWS", "{parquet: '@'}"))
    },
};

/// Bytes of a stream, damaged in three of four inputs.
pub(super) fn damage_most(input: &mut Vec<u8>, seeds: &[Vec<u8>], dice: &mut Dice) {
    if !dice.one_in(4) {
        mutate::bytes(input, 0, seeds, dice);
    }
}

/// Half of the inputs stay sound files of odd columns; the others are damaged, most of them where
/// the footer is.
fn footer_or_anywhere(input: &mut Vec<u8>, seeds: &[Vec<u8>], dice: &mut Dice) {
    let footer = input.len().saturating_sub(900);
    match dice.below(4) {
        0 | 1 => {}
        2 => mutate::bytes(input, footer, seeds, dice),
        _ => mutate::bytes(input, 0, seeds, dice),
    }
}

/// Rows as text: a line with the dialect, as the job writes it, and the file.
pub(super) struct Csv;

/// Dialects: the separator, the sign of decimals, the one between thousands, the quote.
const DIALECTS: &[[&str; 4]] = &[
    [",", ".", "", "\""],
    [";", ",", ".", "\""],
    [";", ",", " ", "'"],
    ["\t", ".", "'", "\""],
    ["|", ".", ",", "~"],
    [",", ",", ".", "\""],
];

/// What follows the dialect.
const MORE: &[&str] = &[
    "",
    "header: false",
    "null_values: [cook, '?', '']",
    "encoding: latin-1",
    "encoding: windows-1252",
    "encoding: windows-1252, header: false",
];

fn dialect([delimiter, decimal, thousands, quote]: [&str; 4], more: &str) -> String {
    let mut keys = format!("delimiter: {delimiter:?}, decimal: {decimal:?}, quote: {quote:?}");
    if !thousands.is_empty() {
        keys += &format!(", thousands: {thousands:?}");
    }
    if !more.is_empty() {
        keys += &format!(", {more}");
    }
    keys + "\n"
}

/// The forty people in this dialect.
fn people_as_text([delimiter, decimal, thousands, quote]: [&str; 4], header: bool) -> String {
    let line = |fields: [&str; 5]| fields.join(delimiter) + "\n";
    let mut text = if header { line(["id", "sex", "repaid", "age", "job"]) } else { String::new() };
    for i in 0..40 {
        let (sex, repaid) =
            (if i % 2 == 0 { "f" } else { "m" }, if i * 7 % 3 == 0 { "yes" } else { "no" });
        let quoted =
            |text: &str| format!("{quote}{}{quote}", text.replace('\u{1}', &quote.repeat(2)));
        let age = format!("1{thousands}{:03}{decimal}{}", 20 + i * 11 % 17, i % 4 * 25);
        let job = match i % 4 {
            0 => String::new(),
            1 => "cook".to_owned(),
            2 => quoted(&format!("a{delimiter} b")),
            _ => quoted("say \u{1}é\u{1}\n"),
        };
        text += &line([&(i + 100).to_string(), sex, repaid, &quoted(&age), &job]);
    }
    text
}

/// The line of the dialect, and the file.
fn split_dialect(input: &[u8]) -> (String, &[u8]) {
    let end = input.iter().position(|&byte| byte == b'\n').map_or(input.len(), |at| at + 1);
    (String::from_utf8_lossy(&input[..end]).into_owned(), &input[end..])
}

impl Target for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn seeds(&self) -> Vec<Vec<u8>> {
        let mut seeds = Vec::new();
        for (&signs, more) in DIALECTS.iter().flat_map(|d| MORE.iter().map(move |more| (d, more))) {
            let text = people_as_text(signs, !more.contains("header"));
            let text = match more.is_empty() {
                true => text.replace('\n', "\r\n"),
                false => text,
            };
            seeds.push((dialect(signs, more) + &text).into_bytes());
        }
        seeds
    }

    fn mutate(&self, input: &mut Vec<u8>, seeds: &[Vec<u8>], dice: &mut Dice) {
        let (mut head, body) = split_dialect(input);
        let mut body = body.to_vec();
        if dice.one_in(6) {
            head = dialect(dice.of(DIALECTS), dice.of(MORE));
        }
        if !dice.one_in(6) {
            mutate::text(&mut body, seeds, dice);
        }
        // A byte for each character, as the encodings of Western Europe have it.
        if head.contains("encoding") {
            let byte = |c: char| u8::try_from(u32::from(c)).unwrap_or(b'?');
            body = String::from_utf8_lossy(&body).chars().map(byte).collect();
        }
        if dice.one_in(8) {
            mutate::bytes(&mut body, 0, seeds, dice);
        }
        *input = [head.into_bytes(), body].concat();
    }

    fn feed(&self, folder: &Path, input: &[u8], _: &mut Dice) -> Result<Verdict, String> {
        let (head, body) = split_dialect(input);
        fs::write(folder.join("rows.csv"), body).unwrap();
        let mut job = JOB.replace("ROWS", &format!("{{csv: {{path: '@', {}}}}}", head.trim_end()));
        if head.contains("header: false") {
            for (from, to) in [
                ("row_id: id", "row_id: column_1"),
                ("{sex: {", "{column_2: {"),
                ("column: repaid", "column: column_3"),
                ("[age]", "[column_4]"),
                ("[job]", "[column_5]"),
            ] {
                job = job.replace(from, to);
            }
        }
        audit(folder, "rows.csv", &job)
    }
}

/// Files of counterfactual scores.
pub(super) const SCORES: WrittenColumns = WrittenColumns {
    name: "scores",
    columns: scores,
    write: as_parquet,
    damage: footer_or_anywhere,
    feed: |folder, input, dice| {
        let path = folder.join("scores.parquet");
        fs::write(&path, input).unwrap();
        let groups = || vec!["f".to_owned(), "m".to_owned()];
        let attribute = |name: &str| Attribute {
            name: name.to_owned(),
            groups: groups(),
            reference: 0,
            feature: 0,
            level_of_group: vec![0, 1],
        };
        let attributes = [attribute("sex"), attribute("race")];
        let attributes = &attributes[..=dice.below(2)];
        let kind = dice.of(&[RowIdKind::RowNumber, RowIdKind::Integer, RowIdKind::Text]);
        let read = || {
            let file = KeyedFile::open(
                (&path, std::slice::from_ref(&path)),
                Some(("score", AnswerValues::Scores(ScoreScale::default()))),
                kind,
                (!dice.one_in(4)).then_some(&attributes[0]),
                attributes,
            )?;
            (0..file.n_groups()).try_for_each(|group| {
                let entries = file.read(group)?;
                let entries = (0..entries.row_key.len()).filter_map(|i| entries.get(i));
                entries.for_each(|entry| drop(file.describe_row(entry.file_row)));
                Ok(())
            })
        };
        judged({ read }())
    },
};

/// Streams of scores from programs.
pub(super) const STREAMS: WrittenColumns = WrittenColumns {
    name: "streams",
    columns: || scores().split_off(4),
    write: as_stream,
    damage: damage_most,
    feed: |_, mut input, dice| {
        let n_rows = dice.of(&[0, 1, 40, 41, u64::MAX]);
        let mut n = 0;
        let read = read_stream(
            &mut input,
            WantedScores { n_rows, columns: &["score"] },
            &|bytes| String::from_utf8_lossy(bytes).into_owned(),
            false,
            &mut |scores| {
                n += scores.len() as u64;
                Ok(())
            },
        );
        match read {
            Ok(_) if n == n_rows => Ok(Verdict::Taken),
            Ok(_) => Err(format!("took {n} scores for {n_rows} rows")),
            Err(error) => blamed(&error),
        }
    },
};

#[test]
fn the_corpus_is_small() {
    for folder in fs::read_dir(crate::work::root().join("tests/fuzz-corpus")).unwrap() {
        let name = folder.unwrap().file_name().into_string().unwrap();
        let name = name.as_str();
        assert!(corpus(name).iter().map(Vec::len).sum::<usize>() < 200_000, "{name}");
    }
}
