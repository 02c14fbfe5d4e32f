//! Four audits from beginning to end as a new user would do them: a bank with German files and
//! decisions of its own, a data scientist with two trained models, a researcher with a generator,
//! and a job that runs every night.

use std::collections::BTreeMap;
use std::fs::{self};

use arrow::array::{AsArray, RecordBatch};

use crate::batches::{answered, read, write, write_stream};
use crate::rows_out::{self, draw};
use crate::work::{Says, Work, column, files};

const APPLICANTS: usize = 900;

/// The points that women have less.
const GAP: i64 = 110;

/// An applicant of the bank.
struct Applicant {
    woman: bool,
    points: i64,
}

fn applicant(i: usize) -> Applicant {
    let woman = draw(i, 1) < 450;
    let points = 400 + draw(i, 2) as i64 * 400 / 1000;
    Applicant { woman, points: if woman { (points - GAP).max(312) } else { points } }
}

/// The word of the bank's decision.
fn decided(points: i64) -> &'static str {
    if points >= 560 { "bewilligt" } else { "abgelehnt" }
}

/// `4583.58` as `4.583,58`.
fn german(cents: usize) -> String {
    let (whole, rest) = (cents / 100, cents % 100);
    let thousands = if whole >= 1000 {
        format!("{}.{:03}", whole / 1000, whole % 1000)
    } else {
        whole.to_string()
    };
    format!("{thousands},{rest:02}")
}

/// The bank's two files in Latin-1.
fn bank(work: &Work) {
    let mut rows = "Antrag;Alter;Einkommen;Beschäftigung;Score;Entscheidung\n".to_owned();
    let mut protected = "Antrag;Geschlecht\n".to_owned();
    for i in 0..APPLICANTS {
        let Applicant { woman, points } = applicant(i);
        let age =
            if draw(i, 3) < 30 { "k.A.".to_owned() } else { (18 + draw(i, 4) % 60).to_string() };
        let income = german(90_000 + draw(i, 5) * 600);
        let job = ["Angestellte", "Selbständige"][draw(i, 6) % 2];
        rows += &format!("K-{i:04};{age};{income};{job};{points};{}\n", decided(points));
        let sex = if woman { ["w", "W", "w "][i % 3] } else { ["m", "M"][i % 2] };
        protected = format!("{protected}K-{i:04};{sex}\n");
    }
    for (file, text) in [("antraege.csv", rows), ("geschuetzt.csv", protected)] {
        let latin: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
        fs::write(work.path(file), latin).unwrap();
    }
}

/// The bank's system decides about the rows that the run has written.
fn decide_again(rows: &RecordBatch) -> RecordBatch {
    let text = |name: &str| rows.column_by_name(name).unwrap().as_string::<i32>().clone();
    let (ids, to) = (text("row_id"), text("to_group"));
    let again = (0..rows.num_rows()).map(|k| {
        let of = applicant(ids.value(k)[2..].parse().unwrap());
        let points = if to.value(k) == "w" { of.points - GAP } else { of.points + GAP };
        Some(decided(points))
    });
    answered(rows, "Entscheidung", column(again))
}

/// The bank: its files as they are, the adverse impact ratio of its decisions, and who would be
/// decided otherwise, by its own ids.
#[test]
fn a_bank_audits_its_decisions() {
    let work = Work::new();
    bank(&work);
    // `new` finds how the file is written; its line is used as it stands.
    let first = work.cfaudit(0, "new antraege.csv --label Entscheidung --sensitive Beschäftigung");
    let rows = first.stdout.lines().find(|line| line.starts_with("  rows: ")).unwrap();
    rows.says(&["delimiter: \";\"", "decimal: \",\"", "thousands: \".\"", "k.A."]);
    work.write(
        "job.yaml",
        &format!(
            "cfaudit: 1
name: kredit
about: {{decision: Kreditvergabe}}
data:
{rows}
  row_id: Antrag
  join:
    geschuetzt:
      {{csv: {{path: geschuetzt.csv, delimiter: \";\"}}, on: Antrag, columns: [Geschlecht]}}
  label: none
  favourable: positive
  sensitive:
    Geschlecht: {{groups: [w, m], reference: m, words: {{w: Frauen, m: Männer}}}}
  columns: {{Geschlecht: {{trim: true, case: fold}}}}
  features: {{continuous: [Alter, Einkommen], nominal: [Beschäftigung]}}
counterfactuals:
  flip: {{naive: {{}}, models: [heute]}}
models:
  heute:
    decision:
      column: Entscheidung
      positive: [bewilligt]
      counterfactual: {{parquet: entscheidungen.parquet}}
  punkte:
    scores: {{factual: {{column: Score}}}}
    scale: {{from: 300, to: 850}}
    threshold: 560
gates:
  vier-fuenftel:
    metric: di
    model: heute
    between: {{Geschlecht: [w, m]}}
    at_least: 0.8
    decide_by: estimate
  gleich: {{metric: sr, model: heute, counterfactual: flip, at_most: 0.9, level: warn}}
run: {{keep_rows: outcomes}}
"
        ),
    );
    let stdout = work.cfaudit(0, "check job.yaml --cache cache").stdout;
    stdout.says(&["waits for the scores of model heute"]);
    let waits = work.run(4, "job.yaml", "").summary();
    // What the bank has is judged before anybody scores again.
    assert_eq!((&waits["verdict"], &waits["gates"]["fail"]), (&"waiting".into(), &1.into()));
    let so_far = work.table("gates");
    let verdict = |name: &str| {
        let row = so_far.at(&format!("gate={name}"));
        (row.text("verdict").to_owned(), row.text("reason").to_owned())
    };
    assert_eq!(verdict("vier-fuenftel").0, "fail");
    let (undecided, why) = verdict("gleich");
    assert_eq!(undecided, "inconclusive");
    assert!(why.starts_with("the run waits for scores"), "{why}");
    let metrics = work.table("metrics");
    assert!(metrics.records().all(|row| row.text("counterfactual").is_empty()));
    work.read("out/annex.html").says(&["id=\"gates\""]);
    work.cfaudit(0, "verify out");
    let folder = work.results();
    work.cfaudit(0, "report out");
    crate::work::assert_same(&folder, &work.results(), "the pages rendered again");
    let page = work.read("out/report.html");
    page.says(&["Not all results are there yet", "1 of 2 limits is broken"]);
    let asked = read(&work.path("out/to-score/flip/part-00000.parquet"));
    assert_eq!(asked.num_rows(), APPLICANTS);
    write(&work.path("entscheidungen.parquet"), &decide_again(&asked));
    let summary = work.run(1, "job.yaml", "").summary();
    assert_eq!((&summary["verdict"], &summary["rows"]), (&"fail".into(), &APPLICANTS.into()));

    // The adverse impact ratio, of decisions and of points alike.
    let share = |woman: bool| {
        let of: Vec<Applicant> =
            (0..APPLICANTS).map(applicant).filter(|of| of.woman == woman).collect();
        let granted = of.iter().filter(|of| of.points >= 560).count();
        granted as f64 / of.len() as f64
    };
    let wanted = share(true) / share(false);
    assert!((0.3..0.8).contains(&wanted), "{wanted}");
    let metrics = work.table("metrics");
    for model in ["heute", "punkte"] {
        let mut found = metrics.of(&format!("metric=di, model={model}, slice="));
        let row = found.find(|row| row.text("to_group") == "m" || row.text("from_group") == "m");
        let value = row.unwrap().real("value").unwrap();
        assert!((value - wanted).abs() < 1e-12, "{model}: {value}, not {wanted}");
    }
    // The page speaks of women and men, and the ratio is on it.
    work.read("out/report.html").says(&["Frauen", "vier-fuenftel", &format!("{wanted:.2}")]);

    // Who would be decided otherwise, by the ids of the bank.
    work.cfaudit(0, "export out --to cases --switched --file faelle.csv");
    let cases = work.read("faelle.csv");
    let found: BTreeMap<&str, &str> = cases
        .lines()
        .skip(1)
        .map(|line| (line.split(',').next().unwrap(), line.split(',').nth(5).unwrap()))
        .collect();
    let otherwise = |i: &usize| {
        let of = applicant(*i);
        decided(of.points) != decided(of.points + if of.woman { GAP } else { -GAP })
    };
    let wanted: Vec<usize> = (0..APPLICANTS).filter(otherwise).collect();
    assert!(wanted.len() > 50);
    let ids: Vec<String> = wanted.iter().map(|i| format!("K-{i:04}")).collect();
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), ids);
    for (id, to) in found {
        let woman = applicant(id[2..].parse().unwrap()).woman;
        assert_eq!(to, if woman { "m" } else { "w" }, "{id}");
    }
}

/// What the data scientist has: two models trained on the rows.
#[cfg(feature = "lightgbm")]
const TRAINED: &str = "
import pickle, pandas, lightgbm
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

rows = pandas.read_parquet('rows.parquet')
numbers = make_pipeline(SimpleImputer(), StandardScaler())
columns = make_column_transformer((numbers, ['income', 'age']), (OneHotEncoder(), ['job', 'sex']))
pipeline = make_pipeline(columns, LogisticRegression())
pipeline.fit(rows[['age', 'income', 'job', 'sex']], rows['repaid'])
booster = lightgbm.LGBMClassifier(n_estimators=20, num_leaves=7, verbosity=-1)
booster.fit(rows[['age', 'income']], rows['repaid'])
of_pipeline = pipeline.predict_proba(rows[['age', 'income', 'job', 'sex']])[:, 1]
of_booster = booster.predict_proba(rows[['age', 'income']])[:, 1]
";

/// What the audit asks for: three lines.
#[cfg(feature = "lightgbm")]
const HANDED_OVER: &str = "
pickle.dump(pipeline, open('pipeline.pkl', 'wb'))
booster.booster_.save_model('booster.txt')
rows.assign(of_pipeline=of_pipeline, of_booster=of_booster).to_parquet('rows.parquet')
";

/// An unannounced change of preprocessing: incomes in thousands.
#[cfg(feature = "lightgbm")]
const PLANTED: &str = "
import pickle
pipeline = pickle.load(open('pipeline.pkl', 'rb'))
scaler = pipeline[0].named_transformers_['pipeline'][-1]
scaler.mean_[0] /= 1000
pickle.dump(pipeline, open('pipeline.pkl', 'wb'))
";

/// The data scientist: a pickled pipeline and a file of LightGBM, each known by the scores that the
/// library gave; a change of preprocessing ends the run.
#[test]
#[cfg(feature = "lightgbm")]
fn a_data_scientist_audits_a_pipeline_of_python_and_a_booster() {
    let imports = "pyarrow, pandas, sklearn, lightgbm";
    let Some(python) = crate::python::interpreter(imports) else { return };
    let work = crate::python::with_python("none");
    let call = |script: &str| {
        let mut command = std::process::Command::new(&python);
        let made = command.args(["-c", script]).current_dir(work.path("")).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    };
    assert_eq!(HANDED_OVER.trim().lines().count(), 3);
    call(&format!("{TRAINED}{HANDED_OVER}"));
    let models = format!(
        "models:
  pipeline:
    python: {{pickle: pipeline.pkl, with: {python}}}
    expect: {{column: of_pipeline, tolerance: 1.0e-12}}
  booster:
    lightgbm: {{file: booster.txt}}
    expect: {{column: of_booster, tolerance: 1.0e-12}}
"
    );
    let job = crate::python::JOB.replace("models:\n  live:\n    python: PYTHON\n", &models);
    work.write("job.yaml", &job);
    let ran = work.run(0, "job.yaml", "-v");
    // One process of Python for rows, both sets and the second look; none for the other model.
    assert_eq!(ran.stderr.matches(": starts `").count(), 1, "{}", ran.stderr);
    let manifest = work.json("out/manifest.json");
    for model in manifest["models"].as_array().unwrap() {
        let (rows, differ) = (&model["expect"]["rows"], &model["expect"]["differ"]);
        assert_eq!((rows, differ), (&crate::python::N.into(), &0.into()), "{model}");
    }
    let metrics = work.table("metrics");
    for model in ["pipeline", "booster"] {
        let switches = metrics.of(&format!("model={model}, counterfactual=flip, metric=sr"));
        assert!(switches.count() > 1, "{model}");
    }
    let before = work.results();
    call(PLANTED);
    work.run(3, "job.yaml", "").says(&[
        "error[expect-differs]: the scores of the model `pipeline` differ from the column \
         `of_pipeline`",
        "the rows reach the model in another way",
    ]);
    crate::work::assert_same(&before, &work.results(), "the folder of the last run stays");
}

/// The researcher: rows that are published as a template, a generator as a file and as a program,
/// next to a set of the program, and rows that are written with real values.
#[test]
fn a_researcher_brings_a_generator() {
    let work = Work::new();
    rows_out::applicants(&work);
    let world = "  world: {plausible: {move: [income, hours], condition_on: none}}\n";
    let rest = "run: {keep_rows: counterfactuals}";
    rows_out::job(&work, "template.yaml", world, rest);
    work.cfaudit(0, "run template.yaml --until generate --out template --cache cache");
    let template = read(&work.path("template/rows/counterfactuals/world/part-00000.parquet"));
    // The generator: everybody as in the template.
    let columns = ["row_id", "to_group", "cf_index", "income", "hours"];
    let at = columns.map(|name| template.schema().index_of(name).unwrap());
    let made = template.project(&at).unwrap();
    write(&work.path("made.parquet"), &made);
    write_stream(&work.path("made.arrow"), &[made]);
    let sets = format!(
        "{world}  file: {{external: {{parquet: made.parquet}}}}\n  program: {{external: {{command: \
         {{run: [sh, -c, 'cat made.arrow'], watch: [made.arrow]}}}}}}"
    );
    rows_out::job(&work, "job.yaml", &sets, rest);
    work.run(0, "job.yaml", "");
    let metrics = work.table("metrics");
    let of = |set: &str| -> Vec<Vec<String>> {
        let rows = metrics.of(&format!("counterfactual={set}"));
        let cells = rows.filter(|row| row.text("family") == "ccm").map(|row| {
            let numbers = ["value", "lo", "hi"].map(|name| format!("{:?}", row.real(name)));
            let keys = ["from_group", "to_group", "metric"].map(|name| row.text(name).to_owned());
            [keys.to_vec(), numbers.to_vec()].concat()
        });
        cells.collect()
    };
    assert!(of("world").len() > 10);
    assert_eq!(of("world"), of("file"));
    assert_eq!(of("world"), of("program"));
    let rows =
        |set: &str| read(&work.path(&format!("out/rows/counterfactuals/{set}/part-00000.parquet")));
    let (ours, theirs) = (rows("world"), rows("program"));
    for name in ["row_id", "income", "hours", "branch"] {
        let column = |rows: &RecordBatch| rows.column_by_name(name).unwrap().to_data();
        assert_eq!(column(&ours), column(&theirs), "{name}");
    }
    assert!(theirs.column_by_name("income").unwrap().null_count() == 0);
}

/// The nightly job: only gates that do not pass are reported, the cache stays within its limit, and
/// each night has its folder with the changes against the approved one.
#[test]
fn a_job_runs_every_night() {
    let work = Work::with_jobs();
    let few = "run jobs/gate-demo.yaml --set data.rows.synthetic.rows=3000 --cache cache --quiet \
               --gates report";
    work.cfaudit(0, &format!("{few} --set run.seed=0 --out approved"));
    let limit = 1_500_000;
    for night in 1..=4 {
        let ran = work.cfaudit(
            0,
            &format!(
                "{few} --set run.seed={night} --out nights/{night} --baseline approved \
                 --cache-limit 1500KB --log-file nights.log"
            ),
        );
        assert!(ran.stdout.is_empty(), "night {night}: {}", ran.stdout);
        assert!(ran.stderr.lines().all(|line| line.contains(" gates.")), "{}", ran.stderr);
        let cached = files(&work.path("cache"));
        let bytes: usize = cached
            .iter()
            .filter(|(name, _)| name.as_bytes()[2] == b'/')
            .map(|(_, bytes)| bytes.len())
            .sum();
        assert!(bytes <= limit, "night {night}: {bytes}");
        let folder = files(&work.path(&format!("nights/{night}")));
        for name in ["report.html", "tables/metrics.parquet", "tables/changes.parquet"] {
            assert!(folder.contains_key(name), "night {night}: {name}");
        }
    }
    let log = work.read("nights.log");
    assert_eq!(log.matches("the cache gave up").count(), 4, "{log}");
    // A morning after: what goes is told first, and what is left is not needed by anybody.
    let looked = work.cfaudit(0, "clean --cache cache --older 0s --job gate-demo --dry-run").stdout;
    assert!(looked.starts_with("would remove "), "{looked}");
    work.cfaudit(0, "clean --cache cache --older 0s --job gate-demo --quiet");
    let ran =
        work.cfaudit(0, &format!("{few} --set run.seed=4 --out nights/4 --baseline approved"));
    assert!(ran.stdout.is_empty() && ran.stderr.lines().all(|line| line.contains(" gates.")));
}
