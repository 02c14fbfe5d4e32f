//! Doubts other than the interval over people: sets that are fitted again on rows drawn again.

use std::collections::BTreeMap;
use std::fs;

use cfaudit::num::seed::{RandomStream, h, named_seed};

use crate::frame::TableRecord;
use crate::python::interpreter;
use crate::work::{Rows, Says, Work, draw, job_of, patched, root};

/// The smallest draw of 16 bits that counts a row 1, 2, ..., 8 times: Poisson(1).
const FROM: [u16; 8] = [24_109, 48_219, 60_274, 64_292, 65_296, 65_497, 65_530, 65_535];

/// How often a row counts in a repeat of a stream.
fn times(stream: u64, key: u64, repeat: u64) -> usize {
    let bits = h(stream, key, repeat / 4);
    let draw = (bits >> (16 * (repeat % 4))) as u16;
    FROM.iter().filter(|&&from| draw >= from).count()
}

/// People whose income and job depend on their sex, in the order of `ids`; one may occur again.
fn people(ids: impl IntoIterator<Item = i64>) -> Rows<i64> {
    let man = |i: i64| draw(i, 2) < 0.5;
    let shift = move |i: i64| if man(i) { 1.0 } else { 0.0 };
    Rows::of(ids)
        .with("household", |i| i / 2)
        .with("sex", |i| if man(i) { "m" } else { "f" })
        .with("age", |i| 18.0 + 50.0 * draw(i, 3))
        .with("income", |i| 1000.0 * draw(i, 5) + 400.0 * shift(i))
        .with("job", |i| if draw(i, 7) < 0.15 + 0.6 * shift(i) { "smith" } else { "nurse" })
        .with("repaid", |i| i64::from(draw(i, 3) + draw(i, 5) + 0.3 * shift(i) > 1.1))
}

const DOUBT: &str = ", doubt: {fit: 2}";

/// A job with three strategies and a naive set; `data` is one more line of its data, `doubt` what
/// is asked of each fitted set.
fn job(data: &str, doubt: &str) -> String {
    let moved = "move: [income, job], condition_on: label";
    let sets = format!(
        "run: {{seed: 5, keep_rows: none}}\ncounterfactuals:\n  flip: {{naive: {{}}}}\n  wide: \
         {{greedy: {{condition_on: label}}{doubt}}}\n  world: {{plausible: \
         {{{moved}}}{doubt}}}\n  pairs: {{transport: {{{moved}}}{doubt}}}\n"
    );
    let data = if data.is_empty() { String::new() } else { format!("+  {data}\n") };
    let steps =
        format!("-  row_id\n{data}-counterfactuals\n~models: {{logit: {{logistic: {{l2: 1}}}}}}");
    job_of("trained", &steps) + &sets
}

/// Value, ends, variance and repeats of each row of a set, by scope, groups and metric.
fn of_set(work: &Work, out: &str, set: &str) -> BTreeMap<[String; 4], [Option<f64>; 5]> {
    let metrics = work.table(&format!("{out}/metrics"));
    let rows = metrics.of(&format!("counterfactual={set}")).map(|row| {
        let key = ["scope", "from_group", "to_group", "metric"].map(|k| row.text(k).to_owned());
        let repeats = row.int("fit_repeats").map(|n| n as f64);
        let [value, lo, hi, var] = ["value", "fit_lo", "fit_hi", "fit_var"].map(|k| row.real(k));
        (key, [value, lo, hi, var, repeats])
    });
    rows.collect()
}

/// Each repeat is the set that the same job gives with the drawn rows as its reference.
#[test]
fn a_repeat_is_the_set_of_the_rows_that_were_drawn() {
    let work = Work::new();
    let past = 5000..5600_i64;
    people(0..700).write(&work, "people.parquet");
    people(past.clone()).write(&work, "past.parquet");
    let reference = |file: &str| format!("reference: {{parquet: {file}.parquet}}");
    work.write("job.yaml", &job(&reference("past"), DOUBT));
    work.run(0, "job.yaml", "");
    let fits = named_seed(5, "doubt/fit");
    for repeat in 0..2 {
        let drawn: Vec<i64> = (0..)
            .zip(past.clone())
            .flat_map(|(row, id)| std::iter::repeat_n(id, times(fits, row, repeat)))
            .collect();
        assert!(drawn.len() != 600 && drawn.len() > 500, "{}", drawn.len());
        people(drawn).write(&work, &format!("drawn-{repeat}.parquet"));
        work.write("drawn.yaml", &job(&reference(&format!("drawn-{repeat}")), ""));
        work.cfaudit(0, &format!("run drawn.yaml --out drawn-{repeat} --cache cache"));
    }
    assert!(of_set(&work, "out", "flip").values().all(|row| row[1..] == [None; 4]));
    for set in ["wide", "world", "pairs"] {
        let [once, twice] = ["drawn-0", "drawn-1"].map(|out| of_set(&work, out, set));
        let (mut n, mut moved) = (0, 0);
        for (key, [value, lo, hi, var, repeats]) in of_set(&work, "out", set) {
            if key[3].starts_with("cf_") {
                continue;
            }
            let found = [once[&key][0], twice[&key][0]];
            assert_eq!(repeats, Some(found.iter().flatten().count() as f64), "{set} {key:?}");
            let ([Some(a), Some(b)], Some(_)) = (found, value) else {
                assert_eq!([lo, hi, var], [None; 3], "{set} {key:?}");
                continue;
            };
            assert_eq!([lo, hi], [Some(a.min(b)), Some(a.max(b))], "{set} {key:?}");
            let expected = (a - b) * (a - b) / 2.0;
            let error = (var.unwrap() - expected).abs();
            assert!(error <= 1e-12 * expected.max(1e-9), "{set} {key:?}: {var:?} {expected}");
            (n, moved) = (n + 1, moved + usize::from(a != b));
        }
        assert!(n > 60 && moved > 20, "{set}: {n} {moved}");
    }
    // The values of the supported people are measured for every fit, too.
    let metrics = work.whole_table("metrics");
    let fitted = metrics.of("support=supported, counterfactual!=flip");
    let repeats: Vec<_> = fitted.map(|row| row.int("fit_repeats")).collect();
    assert!(repeats.len() > 60 && repeats.iter().all(Option::is_some), "{repeats:?}");
}

/// People, three in five of them training rows, and a job about a model.
fn trainings(work: &Work, model: &str) -> impl Fn(u64, &str) -> String + use<> {
    let part = |i: i64| if trains(i) { "train" } else { "audit" };
    people(0..500).with("part", part).write(work, "people.parquet");
    let model = model.to_owned();
    move |seed: u64, doubt: &str| {
        let steps = format!(
            "-  row_id
~  split: {{column: part, train: [train], audit: [audit]}}
~models:
+  one: {{{model}{doubt}}}
~metrics: {{families: [performance, group, ccm, shift], bootstrap: {{samples: 20}}}}"
        );
        job_of("trained", &steps) + &format!("run: {{seed: {seed}, keep_rows: none}}\n")
    }
}

fn trains(i: i64) -> bool {
    i % 5 < 3
}

/// The seed of a repeat.
fn seed_of(r: u64) -> u64 {
    RandomStream::new(5, &format!("doubt/training/{r}")).u64()
}

/// A column of the table of metrics by its keys, with the values of the supported people.
fn values(work: &Work, out: &str, column: &str) -> BTreeMap<[String; 5], Option<f64>> {
    let metrics = work.whole_table(&format!("{out}/metrics"));
    let key = ["counterfactual", "scope", "from_group", "to_group", "metric"];
    let row = |row: TableRecord<'_>| {
        let [set, scope, from, to, metric] = key.map(|k| row.text(k).to_owned());
        // Of an arm with its name.
        let set =
            if row.text("arm").is_empty() { set } else { format!("{set} {}", row.text("arm")) };
        let alone = row.text("support") == "supported";
        let set = if alone { format!("{set} supported") } else { set };
        ([set, scope, from, to, metric], row.real(column))
    };
    metrics.of("model!=").map(row).collect()
}

/// The range over two trainings is that of the same job with the seeds of the repeats.
fn check_trainings(work: &Work, job: &impl Fn(u64, &str) -> String) {
    check_alone(work, &|r| job(seed_of(r), ""));
}

/// The range over two trainings is that of jobs which have each of them as the audited model.
fn check_alone(work: &Work, alone: &dyn Fn(u64) -> String) {
    for r in 0..2 {
        work.write("one.yaml", &alone(r));
        work.cfaudit(0, &format!("run one.yaml --out one-{r} --cache cache"));
    }
    let [once, twice] = ["one-0", "one-1"].map(|out| values(work, out, "value"));
    let [lo, hi] = ["training_lo", "training_hi"].map(|column| values(work, "out", column));
    let (mut n, mut moved) = ([0, 0], 0);
    for (key, value) in values(work, "out", "value") {
        let (Some(a), Some(b), Some(_)) = (once[&key], twice[&key], value) else { continue };
        assert_eq!((lo[&key], hi[&key]), (Some(a.min(b)), Some(a.max(b))), "{key:?}");
        n[usize::from(key[0].is_empty())] += 1;
        moved += usize::from(a != b);
    }
    assert!(n[0] > 20 && n[1] > 20 && moved > 20, "{n:?} {moved}");
}

/// Another training is that of the same job with the seed of the repeat; without counterfactuals,
/// too.
#[test]
fn a_training_is_that_of_its_seed() {
    let work = Work::new();
    let job = trainings(&work, "forest: {trees: 15}");
    work.write("job.yaml", &job(5, ", doubt: {training: 2}"));
    work.run(0, "job.yaml", "--threads 1");
    work.same_bytes(0, "job.yaml", &["--threads 3"]);
    check_trainings(&work, &job);
    // Rows drawn again move what seeds do not.
    let job = trainings(&work, "logistic: {l2: 1}");
    work.write("drawn.yaml", &job(5, ", doubt: {training: 4, resample: true}"));
    work.cfaudit(0, "run drawn.yaml --out drawn --cache cache");
    let key = ["", "total", "", "", "acc"].map(str::to_owned);
    let of = |column: &str| values(&work, "drawn", column)[&key].unwrap();
    assert!(of("training_lo") < of("training_hi") && of("training_var") > 0.0);
    // Compared models are paired by repeat where both are trained again on rows of the same kind.
    for (other, paired) in [(", resample: true", false), ("", true)] {
        let second = format!(
            "  two: {{forest: {{trees: 10}}, doubt: {{training: 2{other}}}}}\nmetrics: {{compare: \
             {{one: two}}, "
        );
        let job = trainings(&work, "forest: {trees: 15}")(5, ", doubt: {training: 2}");
        work.write("pair.yaml", &job.replace("metrics: {", &second));
        work.cfaudit(0, "run pair.yaml --out pair --cache cache");
        let compared = work.table("pair/comparisons");
        let mut rows = compared.records();
        assert_eq!(rows.any(|row| row.real("training_lo").is_some()), paired, "{other}");
    }
}

/// A program that cuts at an age, which depends on its rows and its seed; it notes both.
const CUTS: &str = "
import json, sys
import pyarrow as pa

rows = pa.ipc.open_stream(sys.stdin.buffer).read_all()
ages = rows['age'].to_pylist()
if sys.argv[1] == 'train':
    with open('trained', 'a') as log:
        log.write(json.dumps([sys.argv[2], ages]) + '\\n')
    with open(sys.argv[3], 'w') as model:
        model.write(str(sum(ages) / len(ages) + int(sys.argv[2]) % 97 / 8))
else:
    cut = float(open(sys.argv[2]).read())
    less = [1.0 if sex == 'm' else 0.8 for sex in rows['sex'].to_pylist()]
    scores = [w / (1 + 2 ** ((cut - age) / 4)) for age, w in zip(ages, less)]
    written = pa.schema([('score', pa.float64())])
    with pa.ipc.new_stream(sys.stdout.buffer, written) as out:
        out.write_batch(pa.record_batch([pa.array(scores, pa.float64())], schema=written))
";

/// The command of [`CUTS`] with this seed.
fn cuts(python: &str, seed: &str) -> String {
    format!(
        "command: {{train: ['{python}', cuts.py, train, '{seed}', '{{model}}'], score: \
         ['{python}', cuts.py, score, '{{model}}'], watch: [cuts.py]}}"
    )
}

/// A program that trains is trained again: with the seed of the repeat, and on rows that come as
/// often as they were drawn.
#[test]
fn a_program_is_trained_again() {
    let Some(python) = interpreter("pyarrow") else { return };
    let work = Work::new();
    work.write("cuts.py", CUTS);
    let job = trainings(&work, &cuts(&python, "{seed}"));
    work.write("job.yaml", &job(5, ", doubt: {training: 2}"));
    work.run(0, "job.yaml", "--threads 1");
    // Programs get 31 bits of it.
    check_alone(&work, &|r| job(seed_of(r) >> 33, ""));
    work.same_bytes(0, "job.yaml", &["--threads 3"]);
    std::fs::remove_file(work.path("trained")).unwrap();
    work.write("drawn.yaml", &job(5, ", doubt: {training: 3, resample: true}"));
    work.cfaudit(0, "run drawn.yaml --out drawn --cache drawn-cache");
    let log = work.read("trained");
    let trained: BTreeMap<String, Vec<f64>> =
        log.lines().map(|line| serde_json::from_str::<(String, Vec<f64>)>(line).unwrap()).collect();
    assert_eq!(trained.len(), 4, "the audited model, and three more");
    let stream = named_seed(5, "doubt/training");
    let ages = |times: &dyn Fn(i64) -> usize| -> Vec<f64> {
        let rows = (0..500).filter(|&i| trains(i));
        rows.flat_map(|i| std::iter::repeat_n(18.0 + 50.0 * draw(i, 3), times(i))).collect()
    };
    assert_eq!(trained["5"], ages(&|_| 1));
    for r in 0..3 {
        let drawn = ages(&|i| times(stream, i as u64, r));
        // Programs get 31 bits of it.
        assert_eq!(trained[&(seed_of(r) >> 33).to_string()], drawn, "{r}");
    }
    let key = ["", "total", "", "", "acc"].map(str::to_owned);
    let [lo, hi] = ["training_lo", "training_hi"].map(|end| values(&work, "drawn", end)[&key]);
    assert!(lo < hi, "{lo:?} {hi:?}");
}

/// The training rows are drawn again, those of a person together; the same bytes on any number of
/// threads, and people and values of the set stay what they were.
#[test]
fn training_rows_are_drawn_again() {
    let work = Work::new();
    people(0..2100).write(&work, "people.parquet");
    let keyed = "person: household";
    work.write("job.yaml", &job("", ", doubt: {fit: 6}"));
    work.write("plain.yaml", &job("", ""));
    work.write("person.yaml", &job(keyed, ", doubt: {fit: 6}"));
    work.run(0, "job.yaml", "--threads 1");
    work.same_bytes(0, "job.yaml", &["--threads 3 --batch-rows 1024"]);
    work.cfaudit(0, "run plain.yaml --out plain --cache cache");
    work.cfaudit(0, "run person.yaml --out person --cache cache");
    for set in ["wide", "world", "pairs"] {
        let (doubted, plain) = (of_set(&work, "out", set), of_set(&work, "plain", set));
        let values = |of: &BTreeMap<[String; 4], [Option<f64>; 5]>| {
            of.iter().map(|(key, row)| (key.clone(), row[0])).collect::<Vec<_>>()
        };
        assert_eq!(values(&doubted), values(&plain), "{set}");
        let key = ["total", "", "", "sr"].map(str::to_owned);
        let [value, lo, hi, var, repeats] = doubted[&key].map(Option::unwrap);
        assert!(lo < hi && var > 0.0 && repeats == 6.0, "{set}: {lo} {hi}");
        assert!((value - (lo + hi) / 2.0).abs() < 0.05, "{set}: {value} {lo} {hi}");
        // With households other rows are drawn.
        let of_persons = of_set(&work, "person", set)[&key];
        assert!(of_persons[4] == Some(6.0) && of_persons[3] != Some(var), "{set}");
    }
    let manifest = work.json("out/manifest.json");
    let set = |name: &str| {
        let sets = manifest["counterfactuals"].as_array().unwrap();
        sets.iter().find(|set| set["name"] == name).unwrap().clone()
    };
    assert_eq!(set("world")["doubt"], 6);
    assert!(set("flip")["doubt"].is_null());
}

/// The lines of a document that ask for a doubt.
fn asked_in(document: &str, key: &str) -> String {
    let text = fs::read_to_string(root().join("docs").join(document)).unwrap();
    let line = text.lines().find(|line| line.starts_with("  ") && line.contains(key));
    line.unwrap_or_else(|| panic!("{document} has no example of {key}")).to_owned()
}

/// The examples of the guides are a job, whose gate is decided by every doubt and whose page
/// distinguishes them.
#[test]
fn the_examples_of_the_guides_are_a_job() {
    let work = Work::new();
    people(0..400).write(&work, "people.parquet");
    let set = asked_in("counterfactuals.md", "doubt: {fit: 20}");
    let model = asked_in("models-and-experiments.md", "doubt: {training: 5");
    let more = format!(
        "counterfactuals:\n{set}\nmodels:\n{model}\ngates:\n  sure: {{metric: sr, model: trees, \
         counterfactual: world, at_most: 1, decide_by: all}}\n  seeds: {{metric: acc, model: trees, \
         at_least: 1, decide_by: training, level: warn}}\n"
    );
    work.job("trained", "-  row_id\n-counterfactuals\n-models", &more);
    work.run(0, "job.yaml", "");
    let gates = work.table("gates");
    assert_eq!(
        gates.list("", "gate verdict rule"),
        ["seeds | fail | at_least, training", "sure | pass | at_most, all"]
    );
    gates.at("gate=sure").text("reason").says(&["range over people, 20 fits and 5 trainings"]);
    work.read("out/annex.html").says(&["Other fits: 20 fits", "other fits ", "other trainings "]);
}

const ARMS: &str = "experiments:
  more: {model: one, from: flip, arms: {all: {}, switched: {predictions: in-sample}}}
gates:
  seeds: {metric: sr, model: one, counterfactual: flip, arm: more/switched, at_most: 1, decide_by: \
training}
  sure: {metric: sr, model: one, counterfactual: flip, arm: more/all, at_most: 1, decide_by: all}
";

/// The differences of arms from the base, by arm, key and metric: value, ends over trainings, their
/// variance and number.
fn changes(work: &Work, out: &str) -> BTreeMap<[String; 6], [Option<f64>; 5]> {
    let rows = work.table(&format!("{out}/comparisons"));
    let key = ["arm", "counterfactual", "scope", "from_group", "to_group", "metric"];
    let row = |row: TableRecord<'_>| {
        let [value, lo, hi, var] =
            ["difference", "training_lo", "training_hi", "training_var"].map(|c| row.real(c));
        let repeats = row.int("training_repeats").map(|n| n as f64);
        (key.map(|k| row.text(k).to_owned()), [value, lo, hi, var, repeats])
    };
    rows.records().map(row).collect()
}

/// A further training of an arm is the arm of the same job with the seed of the repeat: its base
/// model chooses what `switched` adds. Changes are those of trainings with the same seed.
#[test]
fn a_training_of_an_arm_is_that_of_its_seed() {
    let work = Work::new();
    let plain = trainings(&work, "forest: {trees: 15}");
    let job = |seed: u64, doubt: &str| {
        let arms = if doubt.is_empty() { ARMS.split("gates").next().unwrap() } else { ARMS };
        plain(seed, doubt) + arms
    };
    work.write("job.yaml", &job(5, ", doubt: {training: 2}"));
    work.run(0, "job.yaml", "--threads 1");
    work.same_bytes(0, "job.yaml", &["--threads 2", "--threads 7"]);
    check_trainings(&work, &job);
    let repeats = values(&work, "out", "training_lo");
    for arm in ["more/base", "more/all", "more/switched"] {
        let of_arm = repeats.iter().filter(|(key, end)| key[0].ends_with(arm) && end.is_some());
        assert!(of_arm.count() > 60, "{arm}");
    }
    let [once, twice] = ["one-0", "one-1"].map(|out| changes(&work, out));
    let (mut n, mut moved) = (0, 0);
    for (key, [value, lo, hi, var, repeats]) in changes(&work, "out") {
        let (Some(a), Some(b), Some(_)) = (once[&key][0], twice[&key][0], value) else { continue };
        assert_eq!((lo, hi, repeats), (Some(a.min(b)), Some(a.max(b)), Some(2.0)), "{key:?}");
        let expected = (a - b) * (a - b) / 2.0;
        assert!((var.unwrap() - expected).abs() <= 1e-12 * expected.max(1e-9), "{key:?}");
        (n, moved) = (n + 1, moved + usize::from(a != b));
    }
    assert!(n > 60 && moved > 20, "{n} {moved}");
    let gates = work.table("gates");
    assert_eq!(
        gates.list("", "gate verdict rule"),
        ["seeds | pass | at_most, training", "sure | pass | at_most, all"]
    );
    gates.at("gate=seeds").text("reason").says(&["the whole range over 2 trainings"]);
    gates.at("gate=sure").text("reason").says(&["range over people and 2 trainings"]);
    work.read("out/annex.html").says(&["other trainings: change ", "with the same seed"]);
    let page = work.read("out/report.html");
    page.says(&["a change is clear only if the range over other trainings leaves out zero"]);
}

/// Arms of folds with every way to choose and to make rows, trained again on rows drawn again: the
/// same bytes on any number of threads.
#[test]
fn arms_of_folds_are_trained_again() {
    let work = Work::new();
    for model in ["logistic: {l2: 1}", "forest: {trees: 5}"] {
        let plain = trainings(&work, model);
        let arms = "experiments:\n  more:\n    model: one\n    from: flip\n    folds: 3\n    \
                    arms:\n      all: {}\n      switched: {predictions: out-of-fold}\n      \
                    adasyn: {}\n      cfs_adasyn: {first: switched}\n";
        work.write("job.yaml", &(plain(5, ", doubt: {training: 3, resample: true}") + arms));
        work.run(0, "job.yaml", "--threads 1");
        work.same_bytes(0, "job.yaml", &["--threads 2", "--threads 7"]);
        let [lo, hi] = ["training_lo", "training_hi"].map(|column| values(&work, "out", column));
        for arm in ["base", "all", "switched", "adasyn", "cfs_adasyn"] {
            let key = [&format!(" more/{arm}"), "total", "", "", "acc"].map(str::to_owned);
            assert!(lo[&key] < hi[&key], "{model} {arm}: {:?} {:?}", lo[&key], hi[&key]);
        }
        fs::remove_dir_all(work.path("cache")).unwrap();
    }
}

/// [`CUTS`] with a file for each training: its seed and number of rows are the name.
fn logging_cuts() -> String {
    CUTS.replace("open('trained', 'a')", "open('log-' + sys.argv[2] + '-' + str(len(ages)), 'w')")
}

/// What an arm adds comes as often as the row that it was made from.
#[test]
fn added_rows_are_drawn_with_their_rows() {
    let Some(python) = interpreter("pyarrow") else { return };
    let work = Work::new();
    work.write("cuts.py", &logging_cuts());
    let job = trainings(&work, &cuts(&python, "{seed}"));
    let arms = "experiments: {more: {model: one, from: flip, arms: {all: {}}}}\n";
    work.write("job.yaml", &(job(5, ", doubt: {training: 3, resample: true}") + arms));
    work.run(0, "job.yaml", "");
    let stream = named_seed(5, "doubt/training");
    for r in 0..3 {
        let rows = (0..500).filter(|&i| trains(i));
        let drawn: Vec<f64> = rows
            .flat_map(|i| std::iter::repeat_n(18.0 + 50.0 * draw(i, 3), times(stream, i as u64, r)))
            .collect();
        let seed = (seed_of(r) >> 33).to_string();
        let log = |n: usize| {
            let line = work.read(&format!("log-{seed}-{n}"));
            let (from, ages): (String, Vec<f64>) = serde_json::from_str(line.trim()).unwrap();
            assert_eq!(from, seed);
            ages
        };
        assert_eq!(log(drawn.len()), drawn, "{r}");
        let twice: Vec<f64> = drawn.iter().chain(&drawn).copied().collect();
        assert_eq!(log(twice.len()), twice, "{r}");
    }
}

/// Values of a graph-uncertain set by another training are those of the same job with its seed, for
/// counterfactuals of encoded columns and for rows, of which nothing is drawn where all columns are
/// numbers; a gate is decided by them.
#[test]
fn graphs_are_asked_of_every_training() {
    let work = Work::new();
    let plain = trainings(&work, "forest: {trees: 15}");
    let given = "discovery: {given: {edges: [[sex, income], [income, age]]}}, knowledge: {own: {}}";
    let sets = format!(
        "~counterfactuals: {{flip: naive, graph: {{graph-uncertain: {{{given}}}}}, near: \
         {{graph-uncertain: {{levels: drawn, mechanism: linear, {given}}}}}}}"
    );
    let job = |seed: u64, doubt: &str| {
        let gates = "gates:\n  seeds: {metric: sr, model: one, counterfactual: graph/own, at_most: \
                     1, decide_by: training}\n";
        let gates = if doubt.is_empty() { "" } else { gates };
        patched(&plain(seed, doubt), &sets) + gates
    };
    work.write("job.yaml", &job(5, ", doubt: {training: 2}"));
    work.run(0, "job.yaml", "--threads 1");
    work.same_bytes(0, "job.yaml", &["--threads 2", "--threads 7"]);
    check_trainings(&work, &job);
    let repeats = values(&work, "out", "training_lo");
    for set in ["graph/own", "near/own"] {
        let of_set = repeats.iter().filter(|(key, end)| key[0] == set && end.is_some());
        assert!(of_set.count() > 20, "{set}");
    }
    work.table("gates").list("", "reason")[0].says(&["the whole range over 2 trainings"]);
    work.read("out/annex.html").says(&["other trainings "]);
}

/// Of several bootstraps a repeat has the mean over all graphs, as the audited model has: the
/// program gets the seed of the repeat, and everything else stays.
#[test]
fn a_repeat_is_a_mean_over_graphs() {
    let Some(python) = interpreter("pyarrow") else { return };
    let work = Work::new();
    work.write("cuts.py", &logging_cuts());
    let sets = "~counterfactuals: {flip: naive, drawn: {graph-uncertain: {levels: drawn, mechanism: \
                linear, bootstraps: 4, discovery: {given: {edges: [[sex, income], [sex, age], \
                [income, age]]}}, knowledge: {own: {}}}}}";
    let job =
        |seed: &str, doubt: &str| patched(&trainings(&work, &cuts(&python, seed))(5, doubt), sets);
    let gates = "gates:\n  sure: {metric: sr, model: one, counterfactual: drawn/own, at_most: 1, \
                 decide_by: all}\n";
    work.write("job.yaml", &(job("{seed}", ", doubt: {training: 2}") + gates));
    work.run(0, "job.yaml", "");
    let gates = work.table("gates");
    let reason = gates.records().next().unwrap().text("reason").to_owned();
    reason.says(&["people, graphs and refits and 2 trainings"]);
    check_alone(&work, &|r| job(&(seed_of(r) >> 33).to_string(), ""));
    let ends = values(&work, "out", "training_lo");
    assert!(ends.iter().any(|(key, end)| key[0] == "drawn/own" && end.is_some()));
}
