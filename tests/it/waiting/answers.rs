//! Which file of scores answers a request, and the message about one that does not.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::sync::Arc;

use arrow::array::{Array, AsArray, Float64Array, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{Float64Type, Schema};

use super::platform::{LIVE, Platform, decisions, lake, whole_lake};
use super::{JOB, SCORES, TWO, VARS, WORLD_SCORES, only, text};
use parquet::file::metadata::KeyValue;

use crate::batches::{notes, read_folder, write, write_noted};
use crate::work::{Says, Work, array, assert_same, column};

/// The page says which files do not say what they answer.
const UNBOUND: &str = "Not linked to the rows of this audit";

/// Scores of other rows with the same keys: only the request shows it, and it is reported in the
/// file, in the cache or in the folder.
#[test]
fn a_file_of_scores_answers_one_request() {
    let work = whole_lake();
    let page = |work: &Work| work.read("out/report.html");
    let answer = |set: &str| LIVE.answer(&work.path("out/to-score").join(set));
    let without = |lines: &RecordBatch| {
        let mut lines = lines.clone();
        lines.remove_column(lines.schema().index_of("request").unwrap());
        lines
    };
    work.run(4, JOB, VARS);
    let request =
        work.json("out/manifest.json")["awaited"][1]["request"].as_str().unwrap().to_owned();
    let asked = read_folder(&work.path("out/to-score/world"));
    assert!(
        request.len() == 64 && (0..asked.num_rows()).all(|i| text(&asked, "request", i) == request)
    );
    let notes = notes(&work.path("out/to-score/world/part-00000.parquet")).unwrap();
    assert!(
        notes
            .iter()
            .any(|note| note.key == "cfaudit.request" && note.value.as_ref() == Some(&request)),
        "{notes:?}"
    );
    let (flip, world) = (answer("flip"), answer("world"));
    write(&work.path(SCORES), &flip);
    write(&work.path(WORLD_SCORES), &world);
    work.run(0, JOB, VARS);
    let answers = work.json("out/manifest.json")["answers"].clone();
    assert!(
        answers[0]["named"] == true
            && answers[1]["named"] == true
            && answers[1]["request"] == request.as_str(),
        "{answers}"
    );
    assert!(!page(&work).contains(UNBOUND));

    // The set moves another feature: the keys are the same, the rows are not.
    let job = work.read(JOB);
    work.write(
        JOB,
        &job.replace("move: [income, employment_years, utilisation]", "move: [income]"),
    );
    let refused = |words: &[&str]| {
        let before = work.results();
        let ran = work.run(3, JOB, VARS);
        ran.says(&[
            "error[other-request]",
            &format!("`{WORLD_SCORES}`"),
            "hint: score the rows",
            "--> jobs/production.yaml:",
        ]);
        ran.says(words);
        assert_same(&before, &work.results(), "the folder");
    };
    refused(&[
        &format!("it names the request `{}`", &request[..12]),
        "the scores of other rows, or another version of cfaudit wrote the rows to score",
    ]);
    let noted = |lines: &RecordBatch, id: &str| {
        let note = KeyValue::new("cfaudit.request".to_owned(), id.to_owned());
        write_noted(&work.path(WORLD_SCORES), lines, Some(vec![note]));
    };
    noted(&without(&world), &request);
    refused(&["it names the request"]);
    let mixed = with_text(&world, "request", &|i| {
        if i == 7 { "another".to_owned() } else { request.clone() }
    });
    write(&work.path(WORLD_SCORES), &mixed);
    work.run(3, JOB, VARS).says(&[
        "error[other-request]",
        "the scores answer several requests: this line has `another`",
        "row 7 (",
    ]);
    // Taken away, the rows are asked for again, and their scores are taken; what is noted is
    // enough.
    fs::remove_file(work.path(WORLD_SCORES)).unwrap();
    work.run(4, JOB, VARS);
    let second =
        work.json("out/manifest.json")["awaited"][0]["request"].as_str().unwrap().to_owned();
    assert_ne!(second, request);
    let moved = answer("world");
    noted(&without(&moved), &second);
    work.run(0, JOB, VARS);
    assert!(!page(&work).contains(UNBOUND));

    // A file that names nothing is taken once, for one request, and the first screen says so.
    write(&work.path(WORLD_SCORES), &without(&moved));
    work.run(0, JOB, VARS);
    let html = page(&work);
    let verdict = html.split("id=\"verdict\"").nth(1).unwrap().split("<section").next().unwrap();
    verdict.says(&[UNBOUND, "world.parquet"]);
    verdict.lacks(&["flip.parquet"]);
    assert_eq!(work.json("out/manifest.json")["answers"][1]["named"], false);
    let with_both = work.results();
    work.write(JOB, &job);
    let refused = || {
        work.run(3, JOB, VARS).says(&[
            "error[other-request]",
            &format!("`{WORLD_SCORES}`"),
            &format!("used for other rows before (request `{}`", &second[..12]),
        ]);
    };
    refused();
    let cache = |to: &str, from: &str| fs::rename(work.path(from), work.path(to)).unwrap();
    cache("kept-cache", "cache");
    refused();
    fs::remove_dir_all(work.path("cache")).unwrap();
    cache("cache", "kept-cache");
    cache("kept-out", "out");
    refused();
    assert!(!work.path("out").exists());
    // Nobody remembers: it is taken, and told.
    work.cfaudit(0, &format!("run {JOB} {VARS} --out forgotten --cache forgotten-cache"));
    assert!(work.read("forgotten/report.html").contains(UNBOUND));
    // The way back; what a folder says does not depend on what a cache remembers.
    cache("out", "kept-out");
    work.write(
        JOB,
        &job.replace("move: [income, employment_years, utilisation]", "move: [income]"),
    );
    work.run(0, JOB, VARS);
    assert_same(&with_both, &work.results(), "the way back");
}

/// Two sets of one job may have the same scores, byte by byte: they do not count against each
/// other.
#[test]
fn files_of_two_sets_may_be_the_same() {
    let work = Work::new();
    let sets = |world: &str, moved: &str| {
        let sets = format!(
            "{{flip: naive, {world}: {{plausible: {{move: [{moved}], condition_on: none, \
             threshold: 0.5}}}}}}"
        );
        let job = TWO.replace("{flip: naive, only-sex: {naive: {}, sensitive: [sex]}}", &sets);
        let (before, rest) = job.split_once("  second:\n").unwrap();
        work.write(
            "job.yaml",
            &format!("{before}metrics:{}", rest.split_once("metrics:").unwrap().1),
        );
    };
    sets("world", "income");
    write(&work.path("rows.parquet"), &decisions());
    work.run(4, "job.yaml", "");
    write(&work.path("first.parquet"), &LIVE.answer(&work.path("out/to-score/factual")));
    let mut lines = LIVE.answer(&work.path("out/to-score/flip"));
    lines.remove_column(lines.schema().index_of("request").unwrap());
    let at = lines.schema().index_of("score").unwrap();
    let mut columns = lines.columns().to_vec();
    columns[at] = column(vec![0.5; lines.num_rows()]);
    let lines = RecordBatch::try_new(lines.schema(), columns).unwrap();
    write(&work.path("first-flip.parquet"), &lines);
    write(&work.path("first-world.parquet"), &lines);
    assert_eq!(
        fs::read(work.path("first-flip.parquet")).unwrap(),
        fs::read(work.path("first-world.parquet")).unwrap()
    );
    work.run(0, "job.yaml", "");
    let answers = work.json("out/manifest.json")["answers"].clone();
    assert_eq!(answers[1]["sha256"], answers[2]["sha256"], "{answers}");
    assert_ne!(answers[1]["request"], answers[2]["request"], "{answers}");
    work.run(0, "job.yaml", "");
    // The same bytes for another request of the set are refused, by what the cache and by what the
    // folder remembers.
    let refused = |args: &str| {
        work.cfaudit(3, &format!("run job.yaml {args}")).says(&[
            "error[other-request]",
            "used for other rows before",
            "The same bytes are always refused",
        ]);
    };
    sets("world", "age");
    refused("--out out --cache other-cache");
    refused("--out other --cache cache");
    // So they are where the set got another name.
    sets("moved", "age");
    fs::rename(work.path("first-world.parquet"), work.path("first-moved.parquet")).unwrap();
    refused("--out out --cache third-cache");
    refused("--out third --cache cache");
}

/// A file that cannot be read may be incomplete: the run waits for it as long as it is young.
#[test]
fn a_half_written_file_is_waited_for() {
    let work = lake();
    work.run(4, JOB, VARS);
    let path = work.path(SCORES);
    write(&path, &LIVE.answer(&work.path("out/to-score/flip")));
    let whole = fs::read(&path).unwrap();
    for half in [&whole[..whole.len() / 2], &[]] {
        fs::write(&path, half).unwrap();
        work.run(4, JOB, VARS).says(&[
            "may be incomplete",
            "until it is 15 minutes old",
            "write such a file elsewhere and rename it",
            SCORES,
        ]);
        assert!(work.path("out/to-score/flip").exists());
        work.cfaudit(0, &format!("check {JOB} {VARS} --cache cache")).says(&["may be incomplete"]);
        let age = |minutes: u64| {
            let then = std::time::SystemTime::now() - std::time::Duration::from_secs(60 * minutes);
            File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
        };
        age(14);
        work.run(4, JOB, VARS);
        age(16);
        work.run(3, JOB, VARS).says(&["error[unreadable-file]", SCORES, "hint: "]);
    }
    fs::write(&path, whole).unwrap();
    work.run(0, JOB, VARS);
}

/// Runs the job on an answer that was changed; the words of the refusal.
#[track_caller]
fn refused(work: &Work, answer: &RecordBatch, code: &str, words: &[&str]) {
    write(&work.path(SCORES), answer);
    let before = work.results();
    let ran = work.run(3, JOB, VARS);
    ran.says(&[
        &format!("error[{code}]"),
        &format!("`{SCORES}`"),
        "hint: ",
        "--> jobs/production.yaml:32:7",
    ]);
    ran.says(words);
    assert!(ran.stdout.is_empty());
    assert_same(&before, &work.results(), "the folder of the request");
}

#[test]
fn answers_that_do_not_fit_are_refused() {
    let work = lake();
    work.run(4, JOB, VARS);
    let request = work.path("out/to-score/flip");
    let good = LIVE.answer(&request);
    let again = |i: usize| {
        let rows = read_folder(&request);
        let line = rows.num_rows() - 1 - i;
        text(&rows, "from_group", line) == text(&rows, "to_group", line)
    };
    let last = text(&good, "row_id", 0);

    let other = Platform { bonus: 0.08 };
    let words = [
        "rows that were scored again differ",
        "the largest difference is 0.0",
        "come from different models or data",
    ];
    refused(&work, &other.answer(&request), "recheck-differs", &words);
    let scores = good.column_by_name("score").unwrap().as_primitive::<Float64Type>();
    let without: Float64Array =
        (0..good.num_rows()).map(|i| (!again(i)).then(|| scores.value(i))).collect();
    let mut columns = good.columns().to_vec();
    columns[good.schema().index_of("score").unwrap()] = Arc::new(without);
    let schema = Arc::new(Schema::new(
        good.schema()
            .fields()
            .iter()
            .map(|f| f.as_ref().clone().with_nullable(true))
            .collect::<Vec<_>>(),
    ));
    let null = RecordBatch::try_new(schema, columns).unwrap();
    refused(
        &work,
        &null,
        "recheck-differs",
        &["rows that were scored again have a score in only one file:"],
    );
    let what = [format!("row_id `{last}`"), "lacks 1 of the ".to_owned()];
    refused(
        &work,
        &only(&good, |i| i != 0),
        "incomplete-scores",
        &what.each_ref().map(String::as_str),
    );
    refused(
        &work,
        &only(&good, |i| !again(i)),
        "incomplete-scores",
        &["are required by `recheck`"],
    );
    let twice = concat_batches(&good.schema(), [&good, &good.slice(5, 1)]).unwrap();
    refused(&work, &twice, "duplicate-key", &["twice"]);
    refused(
        &work,
        &renamed(&good, "score", "probability"),
        "missing-column",
        &["`score`", "`probability`"],
    );
    refused(&work, &renamed(&good, "to_group", "target"), "missing-column", &["`to_group`"]);
    refused(
        &work,
        &with_text(&good, "row_id", &|i| text(&good, "row_id", i).replace('A', "B")),
        "no-scores-found",
        &["`row_id`"],
    );
    let strange = with_text(&good, "row_id", &|i| {
        if i == 9 { "B-1".to_owned() } else { text(&good, "row_id", i) }
    });
    refused(
        &work,
        &strange,
        "unknown-key",
        &[
            "row 9 (row_id `B-1`, sensitive `",
            "no row kept by this job has this row_id\n",
            "the rows to score are then written again",
        ],
    );
    let wrong = with_text(&good, "sensitive", &|i| {
        if i == 9 { "gender".to_owned() } else { text(&good, "sensitive", i) }
    });
    refused(
        &work,
        &wrong,
        "bad-scores",
        &["`gender` is not a sensitive attribute of the job", "row 9 (", "`sex`, `region`"],
    );
    // A row in its own group that nobody asked for again.
    let rows = read_folder(&request);
    let asked: BTreeSet<(String, String)> = (0..rows.num_rows())
        .filter(|&i| text(&rows, "from_group", i) == text(&rows, "to_group", i))
        .map(|i| (text(&rows, "row_id", i), text(&rows, "sensitive", i)))
        .collect();
    let n = rows.num_rows();
    let free = (0..n)
        .find(|&i| !asked.contains(&(text(&rows, "row_id", i), text(&rows, "sensitive", i))))
        .unwrap();
    let own = good.slice(n - 1 - free, 1);
    let own = with_text(&own, "to_group", &|_| text(&rows, "from_group", free));
    refused(
        &work,
        &concat_batches(&good.schema(), [&good, &own]).unwrap(),
        "unknown-key",
        &["this entry has the row's own group", "not to be scored again"],
    );

    // What is right is taken in any order, with null for what cannot be scored.
    let nulls: Float64Array = good
        .column_by_name("score")
        .unwrap()
        .as_primitive::<Float64Type>()
        .iter()
        .enumerate()
        .map(|(i, score)| score.filter(|_| again(i) || i % 10 != 0))
        .collect();
    let missing = nulls.null_count();
    let mut columns = good.columns().to_vec();
    columns[good.schema().index_of("score").unwrap()] = array(nulls);
    write(&work.path(SCORES), &RecordBatch::try_new(good.schema(), columns).unwrap());
    work.run(0, JOB, VARS);
    let groups = work.table("groups");
    let all = groups.of("group=");
    let counted: i64 = all.map(|r| r.int("n_missing_counterfactual_score").unwrap()).sum();
    assert_eq!(usize::try_from(counted).unwrap(), missing);
}

fn renamed(lines: &RecordBatch, from: &str, to: &str) -> RecordBatch {
    let schema = lines.schema();
    let names = schema.fields().iter().map(|f| if f.name() == from { to } else { f.name() });
    RecordBatch::try_from_iter_with_nullable(
        names.zip(lines.columns()).map(|(name, array)| (name, array.clone(), true)),
    )
    .unwrap()
}

fn with_text(lines: &RecordBatch, name: &str, value: &dyn Fn(usize) -> String) -> RecordBatch {
    let mut columns = lines.columns().to_vec();
    columns[lines.schema().index_of(name).unwrap()] = column((0..lines.num_rows()).map(value));
    RecordBatch::try_new(lines.schema(), columns).unwrap()
}
