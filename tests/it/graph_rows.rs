//! Graph-uncertain sets with rows: several groups, external models, and what the page and the
//! tables say about them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, Int64Type};
use serde_json::Value as Json;

use crate::batches::{answered, read_folder, write};
use crate::python::interpreter;
use crate::work::{Ran, Rows, Says, Work, assert_same, column, draw, results, root, shared};

const ROWS: i64 = 420;

fn group(i: i64) -> usize {
    (draw(i, 2) * 2.999) as usize
}

/// Work and children follow from the group, pay from both.
fn person(i: i64) -> (&'static str, i64, f64) {
    let shift = group(i) as f64;
    let work = ["desk", "field", "none"][((draw(i, 3) + 0.25 * shift) * 2.0) as usize % 3];
    let kids = (2.5 * draw(i, 5) + 0.6 * shift) as i64;
    let pay = 10.0 + 3.0 * shift - kids as f64 + 4.0 * draw(i, 7);
    (work, kids, if work == "none" { pay - 4.0 } else { pay })
}

/// The columns of the people, in the order of the file.
fn people() -> Vec<(&'static str, ArrayRef)> {
    Rows::of(0..ROWS)
        .with("id", |i| 100 + i)
        .with("part", |i| if i < 300 { "fit" } else { "test" })
        .with("origin", |i| ["north", "south", "west"][group(i)])
        .with("work", |i| person(i).0)
        .with("kids", |i| person(i).1)
        .with("pay", |i| person(i).2)
        .with("yes", |i| i64::from(person(i).2 + 2.0 * draw(i, 11) > 13.0))
        .columns()
}

fn with_people(set: &str, models: &str) -> Work {
    let work = Work::new();
    work.parquet("people.parquet", people());
    let steps = format!(
        "~  sensitive: {{origin: {{groups: [north, south, west], reference: south}}}}
~  features: {{continuous: [kids, pay], nominal: [work]}}
~counterfactuals: {{world: {set}}}
~models: {models}"
    );
    work.job("hand", &steps, "run: {seed: 5, keep_rows: counterfactuals}\n");
    work
}

const SET: &str = "{graph-uncertain: {levels: drawn, mechanism: {binned: {bins: {kids: 2}, \
    min_cell: 25}}, bootstraps: 4, discovery: {given: {edges: [[origin, work], [origin, kids], \
    [origin, pay], [work, pay], [kids, pay]]}}, knowledge: {k: {}}}}";

const HERE: &str = "here: {logistic: {l2: 1.0, omit: [origin]}}";

/// The same model outside the run: its scores are awaited.
const BOTH: &str = "{here: {logistic: {l2: 1.0, omit: [origin]}}, there: {scores: {factual: \
    {parquet: factual.parquet, column: score}, counterfactual: {parquet: made.parquet, \
    column: score}}}}";

/// A logistic model as the cache keeps it.
struct Logistic {
    model: Json,
}

impl Logistic {
    fn of(work: &Work) -> Self {
        let run = work.json("out/run.json");
        let stages = run["stages"].as_array().unwrap();
        let stage = stages.iter().find(|s| s["id"] == "train/model=here").unwrap();
        let key = stage["key"].as_str().unwrap();
        let path = work.path(&format!("cache/{}/{key}/model-0.json", &key[..2]));
        Logistic { model: serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap() }
    }

    fn score(&self, rows: &RecordBatch, i: usize) -> f64 {
        let encoder = &self.model["encoder"];
        let number = |value: &Json| value.as_f64().unwrap();
        let names = encoder["columns"].as_array().unwrap().iter().enumerate();
        let entry = |(at, name): (usize, &Json)| {
            let name = name.as_str().unwrap();
            if let Some((column, level)) = name.split_once('=') {
                let texts = rows.column_by_name(column).unwrap().as_string::<i32>();
                return f64::from(texts.value(i) == level);
            }
            let array = rows.column_by_name(name).unwrap();
            let x = match array.as_primitive_opt::<Int64Type>() {
                Some(whole) => whole.value(i) as f64,
                None => array.as_primitive::<Float64Type>().value(i),
            };
            let of = encoder["features"].as_array().unwrap().iter();
            let mut forms = of.filter_map(|form| form.as_object()?.values().next());
            let form = forms.find(|form| form["at"].as_u64() == Some(at as u64)).unwrap();
            (x - number(&form["mean"])) / number(&form["sd"])
        };
        let terms = names.zip(self.model["coefficients"].as_array().unwrap());
        let sum: f64 = terms.map(|(name, b)| number(b) * entry(name)).sum();
        1.0 / (1.0 + (-(number(&self.model["intercept"]) + sum)).exp())
    }

    /// Answers a folder of rows to score.
    fn answer(&self, work: &Work, folder: &str, to: &str) {
        let rows = read_folder(&work.path(folder));
        let scores = (0..rows.num_rows()).map(|i| self.score(&rows, i));
        write(&work.path(to), &answered(&rows, "score", column(scores)));
    }
}

/// Values of a model by metric and scope, as texts.
fn values(work: &Work, model: &str) -> BTreeMap<String, String> {
    let metrics = work.table("metrics");
    let mut all = BTreeMap::new();
    for row in metrics.of(&format!("model={model}")) {
        if row.text("counterfactual").is_empty() {
            continue;
        }
        let names = ["metric", "scope", "from_group", "to_group"].map(|name| row.text(name));
        let counts = ["numerator", "denominator", "n_worlds"].map(|name| row.int(name));
        let values = ["value", "world_lo", "lo"].map(|name| row.real(name));
        let digits = values.map(|x| x.map(|x| format!("{x:.9}")));
        let undefined = row.text("undefined");
        all.insert(names.join(" "), format!("{counts:?} {digits:?} {undefined}"));
    }
    all
}

/// A job waits for the scores of drawn rows, continues when they are there, and gives for the
/// external model the counts of the same model trained here; on one thread and on three.
#[test]
fn a_waiting_model_over_drawn_rows_gives_what_the_same_model_here_gives() {
    let work = with_people(SET, &format!("{{{HERE}}}"));
    work.cfaudit(0, "run job.yaml --out out --cache cache");
    let model = Logistic::of(&work);
    let here = values(&work, "here");
    assert!(here.len() > 100, "{}", here.len());

    work.edit("job.yaml", "job.yaml", &[(&format!("{{{HERE}}}"), BOTH)]);
    work.cfaudit(4, "run job.yaml --out out --cache cache");
    model.answer(&work, "out/to-score/factual", "factual.parquet");
    model.answer(&work, "out/to-score/world.k", "made.parquet");
    assert_both_give(&work, &here);
}

/// A run of the model trained here and of the external one gives these values for both; on one
/// thread and on three.
#[track_caller]
fn assert_both_give(work: &Work, here: &BTreeMap<String, String>) {
    work.cfaudit(0, "run job.yaml --out out --cache cache");
    assert_eq!(&values(work, "here"), here);
    assert_eq!(&values(work, "there"), here);

    work.same_bytes(0, "job.yaml", &["--threads 1"]);
}

/// A program that applies a logistic model as the cache keeps it.
const APPLIES: &str = "
import json, math, sys
import pyarrow as pa

rows = pa.ipc.open_stream(sys.stdin.buffer).read_all()
model = json.load(open('model.json'))
forms = [next(iter(form.values())) for form in model['encoder']['features'] if form]
forms = {form['at']: form for form in forms if 'mean' in form}
sums = [model['intercept']] * rows.num_rows
for at, (name, b) in enumerate(zip(model['encoder']['columns'], model['coefficients'])):
    if '=' in name:
        name, level = name.split('=', 1)
        entries = [float(text == level) for text in rows[name].to_pylist()]
    else:
        mean, sd = forms[at]['mean'], forms[at]['sd']
        entries = [(x - mean) / sd for x in rows[name].to_pylist()]
    sums = [total + b * x for total, x in zip(sums, entries)]
scores = pa.array([1 / (1 + math.exp(-total)) for total in sums], pa.float64())
with pa.ipc.new_stream(sys.stdout.buffer, pa.schema([('score', pa.float64())])) as out:
    out.write_batch(pa.record_batch([scores], names=['score']))
";

/// A program that is asked about drawn rows gives the values of the same model here; on one thread
/// and on three.
#[test]
fn a_program_scores_drawn_rows_as_the_same_model_here() {
    let Some(python) = interpreter("pyarrow") else { return };
    let work = with_people(SET, &format!("{{{HERE}}}"));
    work.cfaudit(0, "run job.yaml --out out --cache cache");
    let here = values(&work, "here");
    work.write("model.json", &Logistic::of(&work).model.to_string());
    work.write("applies.py", APPLIES);
    let program = format!("there: {{command: {{score: ['{python}', applies.py]}}}}");
    work.edit("job.yaml", "job.yaml", &[(HERE, &format!("{HERE}, {program}"))]);
    assert_both_give(&work, &here);
}

/// What tables and page say about drawn rows of three groups: six directions, steps that gave the
/// values, rows that could exist.
#[test]
fn rows_of_three_groups_are_told() {
    let work = with_people(SET, &format!("{{{HERE}}}"));
    work.cfaudit(0, "run job.yaml --out out --cache cache");
    let nodes = work.table("nodes");
    let mut pairs: Vec<String> = Vec::new();
    let mut steps = [0; 3];
    for row in nodes.records() {
        pairs.push(format!("{} {}", row.text("from_group"), row.text("to_group")));
        let counts = ["by_cells", "by_levels", "by_equation"].map(|name| row.int(name).unwrap());
        steps.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
    }
    pairs.sort();
    pairs.dedup();
    assert_eq!(pairs.len(), 6, "{pairs:?}");
    assert!(steps.iter().all(|n| *n > 0), "{steps:?}");
    // Rows that could exist: whole children from 0 on, and levels of the data.
    let rows = read_folder(&work.path("out/rows/counterfactuals/world.k"));
    let kids = rows.column_by_name("kids").unwrap().as_primitive::<Int64Type>();
    assert!((0..kids.len()).all(|i| (0..=4).contains(&kids.value(i))));
    let index = rows.column_by_name("cf_index").unwrap();
    assert!(index.len() > 240, "120 people in two groups each, some with several rows");
    let page = work.read("out/report.html")
        + &fs::read_to_string(work.path("out/annex.html")).unwrap_or_default();
    page.says(&[
        "levels: drawn",
        "clipped to the range of the training rows",
        "come from cells of levels and bins",
    ]);
}

/// Of people in worlds one row each is explained, and a model without the attribute adds nothing
/// through it.
#[test]
fn switches_in_worlds_are_explained() {
    let work = with_people(SET, &format!("{{{HERE}}}"));
    let job = work.read("job.yaml");
    let block = "why: {w: {model: here, counterfactual: world/k, sensitive: origin, metric: sr}}\n";
    work.write("job.yaml", &(job + block));
    work.run(0, "job.yaml", "");
    let features = work.table("switch_features");
    let mut sums = BTreeMap::<(&str, &str), [f64; 2]>::new();
    for row in features.of("people=switched") {
        let [score, decision] = ["score", "decision"].map(|name| row.real(name).unwrap());
        let of = sums.entry((row.text("from_group"), row.text("to_group"))).or_default();
        (of[0], of[1]) = (of[0] + score, of[1] + decision);
        if row.text("feature") == "origin" {
            assert_eq!((score, decision), (0.0, 0.0), "the model does not read it");
            assert_eq!(row.int("moved"), row.int("n"));
        }
    }
    assert!(sums.len() > 2, "{sums:?}");
    assert!(sums.values().all(|[score, decision]| (decision - 1.0).abs() < 1e-12 && *score != 0.0));
    let names: BTreeSet<&str> = features.records().map(|row| row.text("feature")).collect();
    assert_eq!(names, BTreeSet::from(["kids", "origin", "pay", "work"]));
}

/// Levels and mechanisms that exclude each other, and bins of a column that has no numbers, each
/// with its line.
#[test]
fn what_rows_cannot_be_is_refused() {
    let refused = |from: &str, to: &str, words: &[&str]| {
        let work = with_people(&SET.replace(from, to), &format!("{{{HERE}}}"));
        work.cfaudit(2, "check job.yaml").says(words);
    };
    refused("levels: drawn", "levels: expected", &["not-offered", "job.yaml:", "levels: drawn"]);
    refused("bins: {kids: 2}", "bins: {work: 2}", &["unknown-column", "`work` is no number"]);
    refused("bins: {kids: 2}", "bins: {pay: 1}", &["bad-value", "between 2 and 64"]);
    refused("bins: {kids: 2}", "bins: {pay: [3, 2]}", &["bad-value", "not ascending"]);
    let linear = SET.replace("{binned: {bins: {kids: 2}, min_cell: 25}}", "linear");
    let work = with_people(&linear.replace("levels: drawn, ", ""), BOTH);
    work.cfaudit(2, "check job.yaml").says(&["not-offered", "write `levels: drawn`"]);
}

/// Neither the number of threads nor the order of the columns of the file changes a row or a number
/// of a set whose rows are drawn.
#[test]
fn threads_and_the_order_of_columns_change_nothing() {
    let work = with_people(SET, &format!("{{{HERE}}}"));
    work.run(0, "job.yaml", "--threads 1");
    work.same_bytes(0, "job.yaml", &["--threads 2", "--threads 7"]);
    let mut turned = people();
    turned.reverse();
    work.parquet("people.parquet", turned);
    work.cfaudit(0, "run job.yaml --out turned --cache other");
    let data = |mut files: crate::work::Files| {
        files.retain(|name, _| name.starts_with("tables/") || name.starts_with("rows/"));
        assert!(files.len() > 10, "{}", files.len());
        files
    };
    assert_same(&data(work.results()), &data(results(&work.path("turned"))), "order of columns");
}

/// Kinds of values: the row of the guide, and what a set says for it.
const KINDS: [[&str; 3]; 4] = [
    ["expected", "expected, linear, no clip (the paper)", ""],
    ["free", "drawn, linear, no clip", "levels: drawn, mechanism: linear, clip: none, "],
    ["clipped", "drawn, linear, clip `range`", "levels: drawn, mechanism: linear, "],
    ["binned", "drawn, binned, clip `range` (default)", "levels: drawn, "],
];

/// The search of the shipped job about COMPAS, with the scenario that states knowledge.
const COMPAS_SEARCH: &str = "bootstraps: 100, discovery: {boss: {starts: 30}}, variables: [age, \
    juv_fel_count, juv_misd_count, juv_other_count, priors_count, sex, c_charge_degree, race], \
    knowledge: {high: {tiers: [{columns: [race, age, sex], edges_within: forbidden}, {columns: \
    [juv_fel_count, juv_misd_count, juv_other_count, priors_count, c_charge_degree]}]}}";

/// That of the shipped job about Adult.
const ADULT_SEARCH: &str = "bootstraps: 10, discovery: {boss: {starts: 30}}, worlds_at_most: 500, \
    knowledge: {high: {tiers: [{columns: [sex, race, age, native-country], edges_within: \
    forbidden}, {columns: [education-num, marital-status]}, {columns: [workclass, \
    occupation, hours-per-week, capital-gain, capital-loss]}]}}";

/// The table of the guide that compares expected and drawn values, and what it says below
/// of graphs and cells: four sets of each shipped job, on the same graphs.
#[test]
#[ignore = "slow, `make test-slow` runs it: four kinds of values on COMPAS and Adult"]
fn the_table_of_the_guide_is_computed_again() {
    let guide = fs::read_to_string(root().join("docs/graph-uncertainty.md")).unwrap();
    let mut rows = KINDS.map(|[_, row, _]| format!("| {row} |"));
    let mut shares = Vec::new();
    for (job, groups, search) in [
        ("compas", ["Caucasian", "African-American"], COMPAS_SEARCH),
        ("adult", ["Female", "Male"], ADULT_SEARCH),
    ] {
        let Some(data) = shared(&format!("data/{job}")) else { return };
        let work = Work::with_jobs();
        let set = |[name, _, knobs]: [&str; 3]| {
            format!("{name}: {{graph-uncertain: {{{knobs}{search}}}}}")
        };
        let sets = format!("counterfactuals={{{}}}", KINDS.map(set).join(", "));
        let run = format!("run jobs/{job}-graph.yaml --out out --cache cache --set gates={{}}");
        let mut command = work.command(&run);
        Ran::of(command.arg("--data-dir").arg(data.parent().unwrap()).args(["--set", &sets]), 0);
        let (metrics, nodes) = (work.table("metrics"), work.table("nodes"));
        for ([name, ..], row) in KINDS.iter().zip(&mut rows) {
            let set = format!("{name}/high");
            for (metric, [from, to]) in [("psr", groups), ("nsr", [groups[1], groups[0]])] {
                let key = [set.as_str(), metric, "direction", from, to];
                let columns = ["counterfactual", "metric", "scope", "from_group", "to_group"];
                let mut records = metrics.records();
                let of = records.find(|of| columns.map(|column| of.text(column)) == key).unwrap();
                let percent = |column| 100.0 * of.real(column).unwrap();
                let [value, lo, hi] = ["value", "world_lo", "world_hi"].map(percent);
                *row += &format!(" {value:.1} ({lo:.1} to {hi:.1}) |");
            }
        }
        let of_binned = || nodes.of("counterfactual=binned/high");
        let sum = |name| of_binned().filter_map(|row| row.int(name)).sum::<i64>() as f64;
        let steps = ["by_cells", "by_levels", "by_equation"].map(sum);
        shares.push(steps.map(|n| 100.0 * n / steps.iter().sum::<f64>()));
        let graphs = metrics.at("metric=n_graphs");
        let graphs = format!("{} graphs", graphs.real("value").unwrap());
        assert!(guide.contains(&graphs), "{graphs}");
    }
    for row in &rows {
        assert!(guide.contains(row.as_str()), "not in the guide: {row}");
    }
    let [[cells, levels, _], [of_adult, levels_of_adult, equation]] = shares[..] else { panic!() };
    let words = guide.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = format!(
        "{cells:.0} % (COMPAS) and {of_adult:.0} % (Adult) of the values come from cells of levels \
         and bins, {levels:.0} % and {levels_of_adult:.0} % from cells of levels, none and \
         {equation:.0} % from the equation"
    );
    assert!(words.contains(&sentence), "not in the guide: {sentence}");
}
