//! What takes input from outside, and how it is reached.

use std::fs;
use std::path::Path;

use cfaudit::data::exchange::keyed::{AnswerValues, KeyedFile};
use cfaudit::data::exchange::score_stream::read_stream;
use cfaudit::data::source::file_profile::profile_file;
use cfaudit::data::{Attribute, RowIdKind};
use cfaudit::error::Error;
use cfaudit::exec::cancel::CancelFlag;
use cfaudit::exec::event::{Event, Observer};
use cfaudit::explain::codes;
use cfaudit::job::check;
use cfaudit::job::new;
use cfaudit::num::score_scale::ScoreScale;
use cfaudit::stage::settings::RunSettings;
use cfaudit::stage::{self, RunRecord};

use super::mutate::{self, Dice};
use super::tables::{self, as_parquet, as_stream, people, scores};
use super::{Target, corpus};
use crate::work::yaml_files;

/// What an error may be about, where only an input is wrong: the job, or the data.
fn blamed(error: &Error) -> Result<(), String> {
    let known = |code: &str| codes().iter().any(|(known, _)| *known == code);
    match error {
        Error::Job(problems)
            if !problems.is_empty()
                && problems.iter().all(|p| known(p.code) && !p.what.is_empty()) =>
        {
            Ok(())
        }
        Error::Data(fault) if known(fault.code) && !fault.what.is_empty() => Ok(()),
        other => Err(format!("blames the wrong one: {other}")),
    }
}

fn judged<T>(result: Result<T, Error>) -> Result<(), String> {
    result.map_or_else(|error| blamed(&error), |_| Ok(()))
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
fn run(folder: &Path, job: &str) -> Result<(), String> {
    let file = folder.join("job.yaml");
    fs::write(&file, job).unwrap();
    let settings = RunSettings {
        out: Some(folder.join("out")),
        cache: Some(folder.join("cache")),
        data_dir: folder.join("data"),
        threads: 2,
        ..RunSettings::plain("job.yaml".to_owned())
    };
    let checked = match check::read(&file, &[], &cfaudit::stage::measure::catalog::catalog()) {
        Ok(checked) => checked,
        Err(error) => return blamed(&error),
    };
    judged(stage::run(&checked, &settings, &Nobody, &Nobody, &CancelFlag::default()))
}

/// A job over `rows`, written as flow text; `@` represents the folder.
const JOB: &str = r#"
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
fn audit(folder: &Path, file: &str, rows: &str) -> Result<(), String> {
    let path = folder.join(file).to_string_lossy().into_owned();
    match profile_file(&path) {
        Ok(seen) => {
            let wishes = new::NewJobOptions {
                data: path.clone(),
                label: Some("repaid".to_owned()),
                sensitive: vec!["sex".to_owned()],
                ..Default::default()
            };
            judged(new::job(&seen, &wishes))?;
        }
        Err(error) => blamed(&error)?,
    }
    run(folder, &JOB.replace("ROWS", &rows.replace('@', &path)))
}

/// Job files.
pub(super) struct Jobs;

impl Target for Jobs {
    fn name(&self) -> &'static str {
        "jobs"
    }

    fn seeds(&self) -> Vec<Vec<u8>> {
        ["jobs", "jobs/base", "tests/jobs", "tests/jobs/bad"]
            .iter()
            .flat_map(|folder| yaml_files(folder))
            .map(|file| fs::read(file).unwrap())
            .collect()
    }

    fn mutate(&self, input: &mut Vec<u8>, seeds: &[Vec<u8>], dice: &mut Dice) {
        mutate::text(input, seeds, dice);
    }

    fn feed(&self, folder: &Path, input: &[u8], dice: &mut Dice) -> Result<(), String> {
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
        let catalog = cfaudit::stage::measure::catalog::catalog();
        let checked = match check::read(&file, &sets, &catalog) {
            Ok(checked) => checked,
            Err(error) => return blamed(&error),
        };
        // A job that is taken is taken again as it was resolved, and comes to the same.
        let resolved = check::to_yaml(&checked.job);
        fs::write(&file, &resolved).unwrap();
        match check::read(&file, &[], &catalog) {
            Ok(again) if check::to_yaml(&again.job) == resolved => Ok(()),
            Ok(_) => Err("the resolved job does not come to itself".to_owned()),
            Err(error) => Err(format!("the resolved job is refused: {error}\n{resolved}")),
        }
    }
}

/// Rows as Parquet.
pub(super) struct Parquet;

impl Target for Parquet {
    fn name(&self) -> &'static str {
        "parquet"
    }

    fn seeds(&self) -> Vec<Vec<u8>> {
        (0..8).filter_map(|i| as_parquet(&people(), &mut Dice::new(i))).collect()
    }

    fn fresh(&self, dice: &mut Dice) -> Option<Vec<u8>> {
        changed_parquet(people(), dice)
    }

    fn mutate(&self, input: &mut Vec<u8>, seeds: &[Vec<u8>], dice: &mut Dice) {
        footer_or_anywhere(input, seeds, dice);
    }

    fn feed(&self, folder: &Path, input: &[u8], _: &mut Dice) -> Result<(), String> {
        fs::write(folder.join("rows.parquet"), input).unwrap();
        audit(folder, "rows.parquet", "{parquet: '@'}")
    }
}

fn changed_parquet(mut columns: tables::Columns, dice: &mut Dice) -> Option<Vec<u8>> {
    dice.one_in(2).then(|| {
        tables::change(&mut columns, dice);
        as_parquet(&columns, dice)
    })?
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

/// Rows as text.
pub(super) struct Csv;

impl Target for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn seeds(&self) -> Vec<Vec<u8>> {
        let mut text = "id,sex,repaid,age,job\n".to_owned();
        for i in 0..40 {
            let (sex, repaid) =
                (if i % 2 == 0 { "f" } else { "m" }, if i * 7 % 3 == 0 { "yes" } else { "no" });
            text += &format!(
                "{},{sex},{repaid},{},{}\n",
                i + 100,
                20 + i * 11 % 17,
                ["", "cook", "\"a, b\"", "\"say \"\"x\"\"\""][i % 4]
            );
        }
        vec![
            text.clone().into_bytes(),
            text.replace('\n', "\r\n").into_bytes(),
            text.replace(',', ";").into_bytes(),
        ]
    }

    fn mutate(&self, input: &mut Vec<u8>, seeds: &[Vec<u8>], dice: &mut Dice) {
        mutate::text(input, seeds, dice);
        if dice.one_in(8) {
            mutate::bytes(input, 0, seeds, dice);
        }
    }

    fn feed(&self, folder: &Path, input: &[u8], dice: &mut Dice) -> Result<(), String> {
        fs::write(folder.join("rows.csv"), input).unwrap();
        let rows = dice.of(&[
            "{csv: {path: '@'}}",
            "{csv: {path: '@', delimiter: ';'}}",
            "{csv: {path: '@', null_values: ['cook', '?']}}",
            "{csv: {path: '@', header: false}}",
        ]);
        audit(folder, "rows.csv", rows)
    }
}

/// Files of counterfactual scores.
pub(super) struct Scores;

impl Target for Scores {
    fn name(&self) -> &'static str {
        "scores"
    }

    fn seeds(&self) -> Vec<Vec<u8>> {
        (0..8).filter_map(|i| as_parquet(&scores(), &mut Dice::new(i))).collect()
    }

    fn fresh(&self, dice: &mut Dice) -> Option<Vec<u8>> {
        changed_parquet(scores(), dice)
    }

    fn mutate(&self, input: &mut Vec<u8>, seeds: &[Vec<u8>], dice: &mut Dice) {
        footer_or_anywhere(input, seeds, dice);
    }

    fn feed(&self, folder: &Path, input: &[u8], dice: &mut Dice) -> Result<(), String> {
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
                "score",
                kind,
                (!dice.one_in(4)).then_some(&attributes[0]),
                attributes,
                AnswerValues::Scores(ScoreScale::default()),
            )?;
            (0..file.n_groups()).try_for_each(|group| {
                file.read(group)
                    .map(|entries| entries.iter().for_each(|e| drop(file.describe_row(e.file_row))))
            })
        };
        judged({ read }())
    }
}

/// Streams of scores from programs.
pub(super) struct Streams;

impl Target for Streams {
    fn name(&self) -> &'static str {
        "streams"
    }

    fn seeds(&self) -> Vec<Vec<u8>> {
        (0..4).filter_map(|i| as_stream(&scores().split_off(4), &mut Dice::new(i))).collect()
    }

    fn fresh(&self, dice: &mut Dice) -> Option<Vec<u8>> {
        dice.one_in(4).then(|| {
            let mut columns = scores().split_off(4);
            tables::change(&mut columns, dice);
            as_stream(&columns, dice)
        })?
    }

    fn mutate(&self, input: &mut Vec<u8>, seeds: &[Vec<u8>], dice: &mut Dice) {
        if !dice.one_in(4) {
            mutate::bytes(input, 0, seeds, dice);
        }
    }

    fn feed(&self, _: &Path, mut input: &[u8], dice: &mut Dice) -> Result<(), String> {
        let n_rows = dice.of(&[0, 1, 40, 41, u64::MAX]);
        let mut n = 0;
        let read = read_stream(
            &mut input,
            n_rows,
            &|bytes| String::from_utf8_lossy(bytes).into_owned(),
            &mut |scores| {
                n += scores.len() as u64;
                Ok(())
            },
        );
        match read {
            Ok(()) if n == n_rows => Ok(()),
            Ok(()) => Err(format!("took {n} scores for {n_rows} rows")),
            Err(error) => blamed(&error),
        }
    }
}

#[test]
fn the_corpus_is_small() {
    for name in ["jobs", "parquet", "csv", "scores", "streams"] {
        assert!(corpus(name).iter().map(Vec::len).sum::<usize>() < 200_000, "{name}");
    }
}
