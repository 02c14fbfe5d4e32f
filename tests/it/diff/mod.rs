//! `cfaudit diff`, `cfaudit gate` and `--baseline`: two versions of a model side by side, from
//! folders alone.

mod folders;
mod gates;
mod scores;

use std::fs;

use cfaudit::metric::evidence::person::CELLS;
use serde_json::Value as Json;

use crate::frame::{TableFrame, TableRecord};
use crate::work::{Ran, Rows, Says, Work, column, files, shared};

/// The cells of a matrix below.
const CELL_NAMES: &str = "TCP TSN FSP FCN FCP FSN TSP TCN";

/// The matrices of two models on the same test people: figures 5 and 6 of "Counterfactual fairness
/// audits" (seed 000), men, then women.
const LIGHTGBM: [&str; 2] = ["574 13 25 256 152 14 34 1729", "88 8 3 78 18 8 5 1236"];
const FAIRGBM: [&str; 2] = ["557 23 65 223 142 15 98 1674", "86 15 4 72 16 20 6 1225"];

/// A person under one model: sex, label, prediction, prediction as a member of the other group.
#[derive(Clone, Copy)]
struct Person(usize, bool, bool, bool);

fn people(matrices: &[&str; 2]) -> Vec<Person> {
    let mut people = Vec::new();
    for (sex, matrix) in matrices.iter().enumerate() {
        for (name, n) in CELL_NAMES.split(' ').zip(matrix.split(' ')) {
            let cell = CELLS.iter().find(|cell| cell.name == name).unwrap();
            let label = cell.label == Some(true);
            let one = Person(sex, label, cell.predicted, cell.predicted_cf);
            people.extend((0..n.parse().unwrap()).map(|_: usize| one));
        }
    }
    people
}

const SEXES: [&str; 2] = ["Male", "Female"];

/// A person under one model by scores: sex, label, score, score as a member of the other group,
/// weight.
#[derive(Clone, Copy)]
struct Scored(usize, bool, f64, f64, f64);

/// Runs a job over people whose scores are given. `ids` are their row ids.
fn audit(
    work: &Work,
    out: &str,
    ids: &[i64],
    people: &[Person],
    more: &str,
    args: &str,
    status: i32,
) -> Ran {
    let score = |yes: bool| if yes { 0.9 } else { 0.1 };
    let people: Vec<Scored> =
        people.iter().map(|p| Scored(p.0, p.1, score(p.2), score(p.3), 1.0)).collect();
    audit_scores(work, out, ids, &people, ["", more], args, status)
}

/// The same of scores; `data` is in the block `data` of the job, `more` behind all.
fn audit_scores(
    work: &Work,
    out: &str,
    ids: &[i64],
    people: &[Scored],
    [data, more]: [&str; 2],
    args: &str,
    status: i32,
) -> Ran {
    let sex = |of: &dyn Fn(&Scored) -> usize| column(people.iter().map(|p| SEXES[of(p)]));
    let rows = format!("{out}-rows.parquet");
    Rows::of(people.iter())
        .column("id", column(ids.to_vec()))
        .column("sex", sex(&|p| p.0))
        .with("y", |p| i64::from(p.1))
        .with("score", |p| p.2)
        .with("weight", |p| p.4)
        .write(work, &rows);
    let moved = format!("{out}-moved.parquet");
    Rows::of(people.iter())
        .column("row_id", column(ids.to_vec()))
        .column("to_group", sex(&|p| 1 - p.0))
        .with("score", |p| p.3)
        .write(work, &moved);
    work.write(
        &format!("{out}.yaml"),
        &format!(
            "cfaudit: 1\nname: versions\nabout: {{version: {out}}}\n\
             data:\n  rows: {{parquet: {rows}}}\n  row_id: id\n\
             {data}  label: {{column: y, positive: [1], favourable: positive}}\n  sensitive:\n    \
             sex: {{groups: [Male, Female], reference: Male}}\n\
             counterfactuals: {{flip: naive}}\n\
             models: {{gbm: {{scores: {{factual: {{column: score}}, counterfactual: {{parquet: \
             {moved}, column: score}}}}}}}}\n{more}"
        ),
    );
    work.cfaudit(status, &format!("run {out}.yaml --out {out} --cache cache {args}"))
}

fn numbered(people: &[Person]) -> Vec<i64> {
    (0..).take(people.len()).collect()
}

/// A folder `v1` with the audit of the published people.
fn published() -> Work {
    let (work, people) = (Work::new(), people(&LIGHTGBM));
    audit(&work, "v1", &numbered(&people), &people, "", "", 0);
    work
}

/// A folder `v1` with the audit of the first of two versions; both, and their row ids.
fn first_version() -> (Work, [Vec<Person>; 2], Vec<i64>) {
    let (work, sides) = (Work::new(), versions());
    let ids = numbered(&sides[0]);
    audit(&work, "v1", &ids, &sides[0], "", "", 0);
    (work, sides, ids)
}

/// The change of a metric from women to men.
fn change<'a>(changes: &'a TableFrame, metric: &str) -> TableRecord<'a> {
    let of = |row: &TableRecord<'_>| {
        [row.text("metric"), row.text("scope"), row.text("from_group")]
            == [metric, "direction", "Female"]
    };
    changes.records().find(of).unwrap()
}

fn near(found: Option<f64>, expected: f64, within: f64) {
    assert!((found.unwrap() - expected).abs() <= within, "{found:?} instead of {expected}");
}

/// 16 of 122 and 35 of 137 approvals of women are lost: +12.4 points, 2.7 to 21.7, unpaired: worse,
/// clear.
#[test]
fn published_matrices_of_two_models() {
    let work = Work::new();
    for (out, matrices) in [("v1", &LIGHTGBM), ("v2", &FAIRGBM)] {
        let people = people(matrices);
        audit(&work, out, &numbered(&people), &people, "run: {keep_rows: none}\n", "", 0);
    }
    // From another machine: tables, job and manifest alone.
    for out in ["v1", "v2"] {
        fs::create_dir_all(work.path(&format!("copied/{out}/tables"))).unwrap();
        for (name, bytes) in files(&work.path(out)) {
            if name.starts_with("tables/")
                || ["manifest.json", "job.resolved.yaml", "summary.json"].contains(&name.as_str())
            {
                fs::write(work.path(&format!("copied/{out}/{name}")), bytes).unwrap();
            }
        }
    }
    let stdout = work.cfaudit(0, "diff copied/v1 copied/v2 --out page").stdout;
    let line = stdout
        .lines()
        .find(|line| line.contains(" nsr ") && line.contains("Female \u{2192} Male  "))
        .unwrap();
    line.says(&[
        "13.1 % (16 of 122 counterfactuals)",
        "25.5 % (35 of 137 counterfactuals)",
        "+12.4 points (+2.7 to +21.7)",
        "worse, clear, unpaired",
    ]);
    stdout.says(&["comparable: yes", "same people: not paired: both folders must hold outcomes"]);
    let changes = work.table("page/changes");
    let nsr = change(&changes, "nsr");
    near(nsr.real("difference"), 35.0 / 137.0 - 16.0 / 122.0, 1e-15);
    near(nsr.real("lo"), 0.027, 5e-4);
    near(nsr.real("hi"), 0.217, 5e-4);
    let page = work.read("page/diff.html");
    assert!(page.len() < 1 << 20);
    page.says(&["16 of 122 counterfactuals", "class=\"dot\""]);
    page.lacks(&["<script"]);

    // Clear changes come first, regardless of the form.
    let json: Json =
        serde_json::from_str(&work.cfaudit(0, "diff v1 v2 --json --all").stdout).unwrap();
    let clear: Vec<i64> = json["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["clear"].as_i64().unwrap())
        .collect();
    assert!(clear.is_sorted_by(|a, b| a >= b) && clear[0] == 1 && *clear.last().unwrap() == 0);
    assert_eq!(clear.iter().sum::<i64>(), json["n_clear"].as_i64().unwrap());
    let md = work.cfaudit(0, "diff v1 v2 --md").stdout;
    md.says(&[
        "| nsr | gbm | flip | sex | Female \u{2192} Male | 13.1 % (16 of 122 \
         counterfactuals) | 25.5 % (35 of 137 counterfactuals) |",
        "\n\nnot clear: ",
    ]);
    md.lacks(&["shows them not "]);
    assert_eq!(
        work.cfaudit(1, "diff v1 v2 --exit-code").stdout,
        work.cfaudit(0, "diff v1 v2").stdout
    );
    work.cfaudit(0, "diff v1 v1 --exit-code");
}

/// People of two versions, with the number of people for every pair of outcomes. Of 1000 women the
/// old version approves 620 and the new 640.
fn versions() -> [Vec<Person>; 2] {
    let kinds: [(usize, [(bool, bool); 2]); 9] = [
        (500, [(true, true), (true, true)]),
        (60, [(true, false), (true, false)]),
        (25, [(true, true), (true, false)]),
        (5, [(true, false), (true, true)]),
        (30, [(true, true), (false, false)]),
        (40, [(false, false), (true, true)]),
        (10, [(false, true), (true, false)]),
        (300, [(false, false), (false, false)]),
        (30, [(false, true), (false, true)]),
    ];
    let mut sides = [Vec::new(), Vec::new()];
    for (n, outcomes) in kinds {
        for i in 0..n {
            for (side, (predicted, moved)) in sides.iter_mut().zip(outcomes) {
                side.push(Person(1, i % 3 > 0, predicted, moved));
            }
        }
    }
    // Nothing changes for men.
    for side in &mut sides {
        side.extend((0..200).map(|i| Person(0, i % 2 > 0, i % 4 > 0, i % 5 > 0)));
    }
    sides
}

/// The change of women's NSR with its 95 % interval by the delta method: the variance of a change
/// of ratios over the same people is the sum of the squares of what each person adds to it. Who is
/// not in a run adds nothing to it; people count by their weight.
fn ratio_by_hand([old, new]: [&[Option<Person>]; 2], weight: impl Fn(usize) -> f64) -> [f64; 3] {
    let yes = |answer: bool| f64::from(u8::from(answer));
    let woman = |person: &Option<Person>| person.filter(|p| p.0 == 1);
    let rate = |side: &[Option<Person>]| {
        let sum = |of: &dyn Fn(Person) -> bool| -> f64 {
            side.iter().enumerate().filter_map(|(i, p)| Some(weight(i) * yes(of(woman(p)?)))).sum()
        };
        (sum(&|p| p.2 && !p.3) / sum(&|p| p.2), sum(&|p| p.2))
    };
    let ((p0, n0), (p1, n1)) = (rate(old), rate(new));
    let adds = |i: usize, p: &Option<Person>, rate: f64, n: f64| {
        woman(p).map_or(0.0, |p| weight(i) * (yes(p.2 && !p.3) - rate * yes(p.2)) / n)
    };
    let terms =
        old.iter().zip(new).enumerate().map(|(i, (a, b))| adds(i, b, p1, n1) - adds(i, a, p0, n0));
    let half = 1.959_963_984_540_054 * terms.map(|term| term * term).sum::<f64>().sqrt();
    [p1 - p0, p1 - p0 - half, p1 - p0 + half]
}

fn by_hand([old, new]: &[Vec<Person>; 2]) -> [f64; 3] {
    let all = |side: &[Person]| side.iter().copied().map(Some).collect::<Vec<_>>();
    ratio_by_hand([&all(old), &all(new)], |_| 1.0)
}

#[test]
fn what_the_same_people_add_is_taken_together() {
    let work = Work::new();
    let sides = versions();
    let ids: Vec<i64> = (0..).map(|i| 1000 + 7 * i).take(sides[0].len()).collect();
    audit(&work, "v1", &ids, &sides[0], "", "", 0);
    // In another order: people are known by their id.
    let (back, people): (Vec<i64>, Vec<Person>) =
        ids.iter().copied().zip(sides[1].iter().copied()).rev().unzip();
    audit(&work, "v2", &back, &people, "", "", 0);
    let stdout = work.cfaudit(0, "diff v1 v2 --out page").stdout;
    stdout.says(&["same people: paired: 1200 people are in both runs\n"]);
    let changes = work.table("page/changes");
    let nsr = change(&changes, "nsr");
    let [expected, lo, hi] = by_hand(&sides);
    near(nsr.real("difference"), expected, 1e-15);
    // By hand the ends are those of a normal distribution, here Wilson's with the correlation.
    let within = 0.08 * (hi - lo);
    near(nsr.real("lo"), lo, within);
    near(nsr.real("hi"), hi, within);
    nsr.holds("interval=mover, paired=1, clear=1");

    // Without pairing the same change is far less sure.
    for out in ["v1", "v2"] {
        fs::remove_file(work.path(&format!("{out}/rows/outcomes.parquet"))).unwrap();
    }
    work.cfaudit(0, "diff v1 v2 --out unpaired");
    let unpaired = work.table("unpaired/changes");
    let alone = change(&unpaired, "nsr");
    alone.holds("interval=newcombe, paired=0");
    let width = |row: &TableRecord<'_>| row.real("hi").unwrap() - row.real("lo").unwrap();
    assert!(width(&alone) > 1.5 * width(&nsr));

    // Nothing differs for men: no change at all, not even by chance.
    let men = changes.at("metric=nsr, scope=direction, from_group=Male");
    assert_eq!([men.real("difference"), men.real("lo"), men.real("hi")], [Some(0.0); 3]);
    men.holds("interval=identical, clear=0, reading=");
}

#[test]
fn people_who_are_in_one_run_only_count_for_that_run() {
    let work = Work::new();
    let sides = versions();
    let ids = numbered(&sides[0]);
    audit(&work, "v1", &ids[..1100], &sides[0][..1100], "", "", 0);
    audit(&work, "v2", &ids[100..], &sides[1][100..], "", "", 0);
    work.cfaudit(0, "diff v1 v2 --out page").stdout.says(&[
        "paired: 1000 people are in both runs, 100 only in the old run, 100 only in the new run",
    ]);
    let changes = work.table("page/changes");
    let nsr = change(&changes, "nsr");
    nsr.holds("interval=mover, paired=1");
    let flags = |side: &[Person], there: std::ops::Range<usize>| -> Vec<Option<Person>> {
        side.iter().enumerate().map(|(i, p)| there.contains(&i).then_some(*p)).collect()
    };
    let [expected, lo, hi] =
        ratio_by_hand([&flags(&sides[0], 0..1100), &flags(&sides[1], 100..1200)], |_| 1.0);
    near(nsr.real("difference"), expected, 1e-15);
    near(nsr.real("lo"), lo, 0.1 * (hi - lo));
    near(nsr.real("hi"), hi, 0.1 * (hi - lo));
    let strangers: Vec<i64> = ids.iter().map(|id| id + 100_000).collect();
    audit(&work, "v3", &strangers, &sides[1], "", "", 0);
    work.cfaudit(0, "diff v1 v3").stdout.says(&["not paired: no person is in both runs"]);
}

/// Two versions of a real model: logistic regression on Adult, with and without the sensitive
/// column. The change is found; between two seeds of the bootstrap nothing changes, and a version
/// of which hardly anything differs stays within noise.
#[test]
fn versions_of_a_model_on_adult() {
    let Some(data) = shared("data") else { return };
    let work = Work::new();
    let job = |omit: &str, l2: &str| {
        format!(
            "cfaudit: 1\nname: adult-versions\ndata:\n  rows: {{catalog: adult}}\n  label: \
             {{column: income, positive: [\">50K\"], favourable: positive}}\n  sensitive:\n    \
             sex: {{groups: [Male, Female], reference: Male}}\n  features:\n    continuous: [age, \
             hours-per-week, education-num]\n    nominal: [marital-status]\n  split: {{column: \
             split, train: [train], audit: [test]}}\ncounterfactuals: {{flip: naive}}\n\
             models: {{m: {{logistic: {{l2: {l2}{omit}}}}}}}\n\
             metrics: {{families: [ccm], bootstrap: {{samples: 500}}}}\n\
             gates:\n  no-worse: {{metric: sr, model: m, counterfactual: flip, against: baseline, \
             rise_at_most: 0.005}}\n"
        )
    };
    for (version, text) in [
        ("blind", job(", omit: [sex]", "1.0")),
        ("sees", job("", "1.0")),
        ("stiff", job("", "1.5")),
    ] {
        work.write(&format!("{version}.yaml"), &text);
    }
    let run = |status, version: &str, more: &str| {
        let mut command =
            work.command(&format!("run {version}.yaml --out {version} --cache cache {more}"));
        Ran::of(command.arg("--data-dir").arg(&data), status)
    };
    run(0, "blind", "");
    // Planted: this version looks at the sensitive column.
    run(1, "sees", "--baseline blind").says(&["no-worse: fail"]);
    run(0, "stiff", "--baseline sees").says(&["no-worse: pass"]);
    let printed =
        |args: &str| -> Json { serde_json::from_str(&work.cfaudit(0, args).stdout).unwrap() };
    let found = printed("diff blind sees --json");
    let clear = |metric: &str| {
        found["changes"]
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["metric"] == metric && row["scope"] == "total")
    };
    assert!(clear("sr") && found["people_in_both"] == 16_281, "{found}");
    let noise = printed("diff sees stiff --json --all");
    let rows = noise["changes"].as_array().unwrap();
    let (all, clear) = (
        rows.iter().filter(|row| !row["difference"].is_null()).count(),
        noise["n_clear"].as_u64().unwrap(),
    );
    assert!(all > 20 && clear == 0, "{clear} of {all} changes are called clear");
    assert!(
        rows.iter().any(|row| row["difference"].as_f64().is_some_and(|d| d != 0.0)),
        "nothing differs at all"
    );
}
