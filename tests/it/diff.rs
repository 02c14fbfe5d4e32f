//! `cfaudit diff`, `cfaudit gate` and `--baseline`: two versions of a model side by side, from
//! folders alone.

use std::fs;

use arrow::array::{Float64Array, Int64Array, StringArray};
use cfaudit::metric::evidence::person::CELLS;
use cfaudit::table::{MetricRow, TableRow};
use serde_json::Value as Json;

use crate::frame::{TableFrame, TableRecord, read_frame};
use crate::lists::{assert_valid, schema};
use crate::work::{Ran, Work, assert_same, column, files, results, shared};

/// Cells of the extended matrix by name.
type Matrix = [(&'static str, usize); 8];

/// The matrices of two models on the same test people: figures 5 and 6 of "Counterfactual fairness
/// audits" (seed 000), men, then women.
const LIGHTGBM: [Matrix; 2] = [
    [
        ("TCP", 574),
        ("TSN", 13),
        ("FSP", 25),
        ("FCN", 256),
        ("FCP", 152),
        ("FSN", 14),
        ("TSP", 34),
        ("TCN", 1729),
    ],
    [
        ("TCP", 88),
        ("TSN", 8),
        ("FSP", 3),
        ("FCN", 78),
        ("FCP", 18),
        ("FSN", 8),
        ("TSP", 5),
        ("TCN", 1236),
    ],
];
const FAIRGBM: [Matrix; 2] = [
    [
        ("TCP", 557),
        ("TSN", 23),
        ("FSP", 65),
        ("FCN", 223),
        ("FCP", 142),
        ("FSN", 15),
        ("TSP", 98),
        ("TCN", 1674),
    ],
    [
        ("TCP", 86),
        ("TSN", 15),
        ("FSP", 4),
        ("FCN", 72),
        ("FCP", 16),
        ("FSN", 20),
        ("TSP", 6),
        ("TCN", 1225),
    ],
];

/// A person under one model: sex, label, prediction, prediction as a member of the other group.
#[derive(Clone, Copy)]
struct Person(usize, bool, bool, bool);

fn people(matrices: &[Matrix; 2]) -> Vec<Person> {
    let mut people = Vec::new();
    for (sex, matrix) in matrices.iter().enumerate() {
        for (name, n) in matrix {
            let cell = CELLS.iter().find(|cell| cell.name == *name).unwrap();
            people.extend(
                (0..*n).map(|_| {
                    Person(sex, cell.label == Some(true), cell.predicted, cell.predicted_cf)
                }),
            );
        }
    }
    people
}

const SEXES: [&str; 2] = ["Male", "Female"];

/// A person under one model by scores: sex, label, score, score as a member of the other group,
/// weight.
#[derive(Clone, Copy)]
struct Scored(usize, bool, f64, f64, f64);

/// Runs a job over people whose scores were computed elsewhere. `ids` are their row ids.
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
    let sex = |of: &dyn Fn(&Scored) -> usize| {
        column(StringArray::from_iter_values(people.iter().map(|p| SEXES[of(p)])))
    };
    let rows = format!("{out}-rows.parquet");
    work.parquet(
        &rows,
        vec![
            ("id", column(Int64Array::from(ids.to_vec()))),
            ("sex", sex(&|p| p.0)),
            ("y", column(Int64Array::from_iter_values(people.iter().map(|p| i64::from(p.1))))),
            ("score", column(Float64Array::from_iter_values(people.iter().map(|p| p.2)))),
            ("weight", column(Float64Array::from_iter_values(people.iter().map(|p| p.4)))),
        ],
    );
    let moved = format!("{out}-moved.parquet");
    work.parquet(
        &moved,
        vec![
            ("row_id", column(Int64Array::from(ids.to_vec()))),
            ("sensitive", column(StringArray::from_iter_values(people.iter().map(|_| "sex")))),
            ("to_group", sex(&|p| 1 - p.0)),
            ("cf_index", column(Int64Array::from_iter_values(people.iter().map(|_| 0)))),
            ("score", column(Float64Array::from_iter_values(people.iter().map(|p| p.3)))),
        ],
    );
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
    let told = work.cfaudit(0, "diff copied/v1 copied/v2 --out page").stdout;
    let line = told
        .lines()
        .find(|line| line.contains(" nsr ") && line.contains("Female \u{2192} Male  "))
        .unwrap();
    for words in [
        "13.1 % (16 of 122)",
        "25.5 % (35 of 137)",
        "+12.4 points (+2.7 to +21.7)",
        "worse, clear, unpaired",
    ] {
        assert!(line.contains(words), "`{words}` is not in\n{line}");
    }
    assert!(
        told.contains("comparable: yes")
            && told.contains("same people: not paired: both runs must keep outcomes"),
        "{told}"
    );
    let changes = read_frame(&work.path("page"), "changes");
    let nsr = change(&changes, "nsr");
    near(nsr.real("difference"), 35.0 / 137.0 - 16.0 / 122.0, 1e-15);
    near(nsr.real("lo"), 0.027, 5e-4);
    near(nsr.real("hi"), 0.217, 5e-4);
    let page = fs::read_to_string(work.path("page/diff.html")).unwrap();
    assert!(
        page.contains("16 of 122")
            && page.contains("class=\"dot\"")
            && !page.contains("<script")
            && page.len() < 1 << 20
    );

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
    assert!(
        md.contains(
            "| nsr | gbm | flip | sex | Female \u{2192} Male | 13.1 % (16 of 122) | \
             25.5 % (35 of 137) |"
        ),
        "{md}"
    );
    assert!(md.contains("\n\nnot clear: ") && !md.contains("shows them not "), "{md}");
    assert_eq!(
        work.cfaudit(1, "diff v1 v2 --exit-code").stdout,
        work.cfaudit(0, "diff v1 v2").stdout
    );
    work.cfaudit(0, "diff v1 v1 --exit-code");
}

/// People of two versions: every pair of outcomes so often. Of 1000 women the old version approves
/// 620 and the new 640.
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
fn the_same_people_are_drawn_together() {
    let work = Work::new();
    let sides = versions();
    let ids: Vec<i64> = (0..).map(|i| 1000 + 7 * i).take(sides[0].len()).collect();
    audit(&work, "v1", &ids, &sides[0], "", "", 0);
    // In another order: people are known by their id.
    let (back, people): (Vec<i64>, Vec<Person>) =
        ids.iter().copied().zip(sides[1].iter().copied()).rev().unzip();
    audit(&work, "v2", &back, &people, "", "", 0);
    let told = work.cfaudit(0, "diff v1 v2 --out page").stdout;
    assert!(told.contains("same people: paired: 1200 people are in both runs\n"), "{told}");
    let changes = read_frame(&work.path("page"), "changes");
    let nsr = change(&changes, "nsr");
    let [expected, lo, hi] = by_hand(&sides);
    near(nsr.real("difference"), expected, 1e-15);
    // Percentiles of 2000 replicates are known to about 4 % of the width.
    let within = 0.08 * (hi - lo);
    near(nsr.real("lo"), lo, within);
    near(nsr.real("hi"), hi, within);
    assert_eq!(
        (nsr.text("interval"), nsr.int("paired"), nsr.int("clear")),
        ("block-bootstrap", Some(1), Some(1))
    );

    // Without pairing the same change is far less sure.
    for out in ["v1", "v2"] {
        fs::remove_file(work.path(&format!("{out}/rows/outcomes.parquet"))).unwrap();
    }
    work.cfaudit(0, "diff v1 v2 --out unpaired");
    let unpaired = read_frame(&work.path("unpaired"), "changes");
    let alone = change(&unpaired, "nsr");
    assert_eq!((alone.text("interval"), alone.int("paired")), ("newcombe", Some(0)));
    let width = |row: &TableRecord<'_>| row.real("hi").unwrap() - row.real("lo").unwrap();
    assert!(width(&alone) > 1.5 * width(&nsr));

    // Nothing differs for men: no change at all, not even by chance.
    let men = changes
        .records()
        .find(|r| {
            [r.text("metric"), r.text("scope"), r.text("from_group")]
                == ["nsr", "direction", "Male"]
        })
        .unwrap();
    assert_eq!([men.real("difference"), men.real("lo"), men.real("hi")], [Some(0.0); 3]);
    assert_eq!(
        (men.text("interval"), men.int("clear"), men.text("reading")),
        ("identical", Some(0), "")
    );
}

#[test]
fn people_who_are_in_one_run_only_count_for_that_run() {
    let work = Work::new();
    let sides = versions();
    let ids = numbered(&sides[0]);
    audit(&work, "v1", &ids[..1100], &sides[0][..1100], "", "", 0);
    audit(&work, "v2", &ids[100..], &sides[1][100..], "", "", 0);
    let told = work.cfaudit(0, "diff v1 v2 --out page").stdout;
    assert!(
        told.contains(
            "paired: 1000 people are in both runs, 100 only in the old run, 100 only in the new run"
        ),
        "{told}"
    );
    let changes = read_frame(&work.path("page"), "changes");
    let nsr = change(&changes, "nsr");
    assert_eq!(
        (nsr.text("interval"), nsr.int("paired")),
        ("block-bootstrap", Some(1)),
        "{}",
        nsr.text("ci_method")
    );
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
    assert!(work.cfaudit(0, "diff v1 v3").stdout.contains("not paired: no person is in both runs"));
}

const GATES: &str = "gates:\n  no-worse: {metric: nsr, model: gbm, counterfactual: flip, \
    direction: {sex: [Female, Male]}, against: baseline, rise_at_most: 0.01}\n";

/// `run --baseline`, and `gate --baseline` on what `run` left, write the same bytes.
#[test]
fn gates_against_a_baseline() {
    let work = Work::new();
    let sides = versions();
    let ids = numbered(&sides[0]);
    audit(&work, "v1", &ids, &sides[0], "", "", 0);
    let skipped = audit(&work, "v2", &ids, &sides[1], GATES, "", 0).summary();
    assert_eq!((&skipped["verdict"], &skipped["gates"]["skipped"]), (&"done".into(), &1.into()));
    let failed = work.cfaudit(1, "gate v2 --baseline v1");
    let summary = failed.summary();
    failed.says(&[
        "gates.no-worse: fail: nsr Female to Male of gbm changes from 0.",
        "the whole interval breaks the limit",
    ]);
    assert_eq!(
        (&summary["exit"], &summary["gates"]["fail"], &summary["worst"]["gate"]),
        (&1.into(), &1.into(), &"no-worse".into())
    );
    let page = fs::read_to_string(work.path("v2/annex.html")).unwrap();
    assert!(
        page.contains("Against the last version")
            && page.contains("rise at most 1 point<")
            && page.contains("paired: 1200 people"),
        "{page}"
    );
    for of in ["summary", "manifest"] {
        let file = format!("v2/{of}.json");
        assert_valid(&schema(of), &work.json(&file), std::path::Path::new(&file));
    }
    // Judged again, without naming the baseline: the folder is enough, and nothing is written.
    let before = files(&work.path("v2"));
    let modified = || fs::metadata(work.path("v2/manifest.json")).unwrap().modified().unwrap();
    let time = modified();
    fs::rename(work.path("v1"), work.path("gone")).unwrap();
    assert_eq!(work.cfaudit(1, "gate v2").stdout, failed.stdout);
    assert_same(&before, &files(&work.path("v2")), "judged again");
    assert_eq!(modified(), time);
    work.cfaudit(0, "report v2");
    assert_same(&before, &files(&work.path("v2")), "rendered again");
    fs::rename(work.path("gone"), work.path("v1")).unwrap();

    let ran = work.cfaudit(1, "run v2.yaml --out v3 --cache cache --baseline v1").summary();
    assert_eq!(ran["worst"], summary["worst"]);
    let (mut run, mut judged) = (results(&work.path("v3")), results(&work.path("v2")));
    // But for the command that gave them, which the page shows and the manifest holds the hash of.
    for side in [&mut run, &mut judged] {
        side.remove("annex.html");
        side.remove("report.html");
        side.remove("manifest.json");
    }
    assert_same(&run, &judged, "run and gate");
    assert!(work.json("v3/manifest.json")["command"].as_str().unwrap().ends_with("--baseline v1"));
    assert_eq!(
        work.json("v3/manifest.json")["baseline"],
        work.json("v2/manifest.json")["baseline"]
    );
    // All stages are cached, the comparison too.
    work.cfaudit(1, "run v2.yaml --out v3 --cache cache --baseline v1").says(&["nothing to do"]);

    // A job may also be asked about two folders.
    let told = work.cfaudit(1, "diff v1 v2 --job v2.yaml").stdout;
    assert!(
        told.ends_with("gate no-worse: fail (the whole interval breaks the limit)\n"),
        "{told}"
    );
}

/// How a ratio changes says nothing of its reciprocal: `check` names the form that decides.
#[test]
fn the_change_of_a_ratio_is_asked_as_it_is_measured() {
    let work = Work::new();
    let sides = versions();
    let ids = numbered(&sides[0]);
    audit(&work, "v1", &ids, &sides[0], "", "", 0);
    let gate = |metric: &str, groups: &str, limit: &str| {
        format!(
            "gates:\n  ratio: {{metric: {metric}, model: gbm, between: {{sex: {groups}}}, against: \
             baseline, {limit}: 0.5}}\n"
        )
    };
    for (metric, refused, works) in [
        ("demp_ratio", "[Female, Male]", "[Male, Female]"),
        ("di", "[Male, Female]", "[Female, Male]"),
    ] {
        audit(&work, "v2", &ids, &sides[1], &gate(metric, refused, "fall_at_most"), "", 2).says(&[
            "its change does not determine the change of its reciprocal",
            &format!("write `between: {{sex: {works}}}` and `rise_at_most`"),
        ]);
        let decided = audit(
            &work,
            "v3",
            &ids,
            &sides[1],
            &gate(metric, works, "rise_at_most"),
            "--baseline v1",
            0,
        );
        assert_eq!(decided.summary()["gates"]["pass"], 1, "{metric}");
        assert!(decided.summary()["worst"]["lo"].is_f64());
        // Of the value itself either order will do.
        let value = gate(metric, refused, "at_least")
            .replace("against: baseline, ", "decide_by: estimate, ");
        audit(&work, "v4", &ids, &sides[1], &value, "", 0);
    }
}

#[test]
fn gates_are_not_judged_where_a_definition_differs() {
    let work = Work::new();
    let sides = versions();
    let ids = numbered(&sides[0]);
    audit(&work, "v1", &ids, &sides[0], "", "", 0);
    audit(&work, "v2", &ids, &sides[0], GATES, "--set models.gbm.threshold=0.6", 0);
    let refused = work.cfaudit(1, "gate v2 --baseline v1");
    refused
        .says(&["inconclusive", "not comparable with the baseline: another models.gbm.threshold"]);
    assert_eq!(refused.summary()["gates"]["inconclusive"], 1);
    let told = work.cfaudit(0, "diff v1 v2").stdout;
    assert!(
        told.contains("comparable: in part")
            && told.contains(
                "models.gbm.threshold: 0.5 -> 0.6; another meaning: decisions of the model gbm"
            )
    );
    assert!(told.contains("`--force` compares the rest anyway"), "{told}");
    assert_eq!(work.cfaudit(0, "gate v2 --baseline v1 --force").summary()["gates"]["pass"], 1);
    let forced = work.cfaudit(0, "diff v1 v2 --force").stdout;
    assert!(forced.contains("comparable: no") && !forced.contains("`--force`"), "{forced}");
}

/// After a change of threshold scores and labels are compared, decisions are not; both runs' own
/// gates stand side by side.
#[test]
fn what_another_threshold_leaves_comparable() {
    let work = Work::new();
    let people = scored()[0].clone();
    let ids: Vec<i64> = (0..1500).collect();
    let gates = "gates:\n  few: {metric: sr, model: gbm, counterfactual: flip, at_most: 0.2, \
                 decide_by: estimate, level: warn}\n";
    audit_scores(&work, "v1", &ids, &people, ["", gates], "", 0);
    let more = gates.replace("0.2", "0.001")
        + "  more: {metric: psr, model: gbm, counterfactual: flip, at_most: 0.9, level: warn}\n";
    audit_scores(&work, "v2", &ids, &people, ["", &more], "--set models.gbm.threshold=0.4", 0);
    let told = work.cfaudit(0, "diff v1 v2 --out page").stdout;
    let changes = read_frame(&work.path("page"), "changes");
    let status = |metric: &str| {
        changes
            .records()
            .find(|row| row.text("metric") == metric)
            .unwrap()
            .text("status")
            .to_owned()
    };
    assert_eq!(["mcd", "prev", "prev_difference"].map(status), ["compared"; 3]);
    assert_eq!(["sr", "acc", "demp_difference"].map(status), ["not_comparable"; 3]);
    let gates: Vec<&str> =
        told.lines().skip_while(|line| !line.starts_with("gates before and after")).collect();
    assert_eq!(gates.len(), 7, "{told}");
    assert!(gates[1] == "  few" && gates[2].contains("before: pass: sr of gbm is "), "{told}");
    assert!(
        gates[3].contains("after:  fail: sr of gbm is ") && gates[3].contains(", limit 0.10"),
        "{told}"
    );
    assert!(
        gates[4] == "  more"
            && gates[5].ends_with("before: no such gate")
            && gates[6].contains("after:  pass: psr"),
        "{told}"
    );
    assert!(
        fs::read_to_string(work.path("page/diff.html")).unwrap().contains("Gates before and after")
    );
    assert!(work.cfaudit(0, "diff v1 v2 --md").stdout.contains("| few | pass: "));
    let json: Json = serde_json::from_str(&work.cfaudit(0, "diff v1 v2 --json").stdout).unwrap();
    assert_eq!(json["gates_before_and_after"][1]["before"], "no such gate");
}

/// Another threshold moves decisions and no score.
#[test]
fn scores_that_did_not_change_are_identical() {
    let work = Work::new();
    let people = scored()[0].clone();
    let ids: Vec<i64> = (0..1500).collect();
    audit_scores(&work, "v1", &ids, &people, ["", ""], "", 0);
    let text = fs::read_to_string(work.path("v1.yaml")).unwrap();
    work.write("v2.yaml", &text.replace("column: score}}}}", "column: score}}, threshold: 0.4}}"));
    work.cfaudit(0, "run v2.yaml --out v2 --cache cache");
    work.cfaudit(0, "diff v1 v2 --force --out page");
    let changes = read_frame(&work.path("page"), "changes");
    let row = change(&changes, "mcd");
    assert_eq!(
        (row.text("interval"), row.real("lo"), row.real("hi")),
        ("identical", Some(0.0), Some(0.0)),
        "{}",
        row.text("ci_method")
    );
    assert!(change(&changes, "sr").real("difference") != Some(0.0));
}

/// Runs of other models have no value in common.
#[test]
fn runs_with_nothing_in_common() {
    let work = Work::new();
    let people = people(&LIGHTGBM);
    audit(&work, "v1", &numbered(&people), &people, "", "", 0);
    let text = fs::read_to_string(work.path("v1.yaml")).unwrap();
    work.write("v2.yaml", &text.replace("models: {gbm:", "models: {other:"));
    work.cfaudit(0, "run v2.yaml --out v2 --cache cache");
    let told = work.cfaudit(0, "diff v1 v2").stdout;
    assert!(
        told.contains("The two runs have no value in common")
            && !told.contains("changes are clear"),
        "{told}"
    );
}

#[test]
fn folders_that_cannot_be_compared_are_refused() {
    let work = Work::new();
    let people = people(&LIGHTGBM);
    audit(&work, "v1", &numbered(&people), &people, "", "", 0);
    work.cfaudit(5, "diff v1 nowhere").says(&["`nowhere`", "hint: name a finished output folder"]);
    work.cfaudit(5, "gate v1 --baseline nowhere")
        .says(&["`nowhere`", "hint: name a finished output folder"]);
    work.cfaudit(5, "run v1.yaml --out v2 --cache cache --baseline nowhere").says(&["`nowhere`"]);
    assert!(!work.path("v2").exists());
    let metrics = work.path("v1/tables/metrics.parquet");
    let bytes = fs::read(&metrics).unwrap();
    fs::write(&metrics, &bytes[..bytes.len() / 2]).unwrap();
    work.cfaudit(5, "diff v1 v1")
        .says(&["metrics.parquet", "its content differs from its entry in manifest.json"]);
    fs::remove_file(&metrics).unwrap();
    work.cfaudit(5, "gate v1").says(&["metrics.parquet", "it does not exist"]);
    fs::write(&metrics, &bytes).unwrap();
    fs::remove_file(work.path("v1-moved.parquet")).unwrap();
    work.cfaudit(4, "run v1.yaml --out waits --cache other");
    let waits = work.cfaudit(4, "gate waits");
    waits.says(&["no gate is judged again: the run waits for scores", "v1-moved.parquet"]);
    assert_eq!(
        [&waits.summary()["verdict"], &waits.summary()["exit"]],
        [&"waiting".into(), &serde_json::json!(4)]
    );
    work.cfaudit(5, "diff waits v1").says(&["its run waits for scores"]);
    work.cfaudit(5, "run v1.yaml --out v2 --cache other --baseline waits")
        .says(&["its run waits for scores"]);
    work.cfaudit(2, "diff v1 v1 --json --md");
    work.cfaudit(2, "diff v1");
    work.cfaudit(2, "gate v1 --force");
}

#[test]
fn a_folder_is_no_baseline_of_its_own() {
    let work = Work::new();
    let people = people(&LIGHTGBM);
    audit(&work, "v1", &numbered(&people), &people, "", "", 0);
    let before = files(&work.path("v1"));
    work.cfaudit(5, "gate v1 --baseline ./v1")
        .says(&["it is the folder to be judged", "hint: name the folder of an earlier run"]);
    assert_same(&files(&work.path("v1")), &before, "nothing is written");
    // A run that replaces its baseline would pass when it is tried again.
    std::os::unix::fs::symlink("v1", work.path("approved")).unwrap();
    for baseline in ["v1", "./v1/../v1", "approved"] {
        work.cfaudit(5, &format!("run v1.yaml --out v1 --cache other --baseline {baseline}"))
            .says(&["it is the folder to be judged", "another folder with `--out`"]);
    }
    work.cfaudit(5, "run v1.yaml --out approved --cache other --baseline v1")
        .says(&["it is the folder to be judged"]);
    assert_same(&files(&work.path("v1")), &before, "nothing is written by a run");
    assert!(!work.path("other").exists(), "no work is done");
}

/// What is next to a file that is written stays, a link stays a link, and a folder is not replaced
/// by a file.
#[cfg(unix)]
#[test]
fn files_are_replaced_and_their_neighbours_are_not() {
    let work = Work::new();
    let people = people(&LIGHTGBM);
    audit(&work, "v1", &numbered(&people), &people, "", "", 0);
    work.write("metrics.new", "precious");
    work.write("there.csv", "");
    std::os::unix::fs::symlink("there.csv", work.path("link.csv")).unwrap();
    work.cfaudit(0, "export v1 --to csv --file metrics.csv");
    work.cfaudit(0, "export v1 --to csv --file link.csv");
    assert_eq!(fs::read_to_string(work.path("metrics.new")).unwrap(), "precious");
    assert!(fs::symlink_metadata(work.path("link.csv")).unwrap().is_symlink());
    assert_eq!(
        fs::read(work.path("there.csv")).unwrap(),
        fs::read(work.path("metrics.csv")).unwrap()
    );
    let before: Vec<String> = files(&work.path("")).into_keys().collect();
    work.cfaudit(5, "export v1 --to csv --file v1");
    assert_eq!(files(&work.path("")).into_keys().collect::<Vec<_>>(), before);
}

/// Where a run fails, the summary of an earlier one must not be taken for its own.
#[test]
fn a_failed_run_leaves_no_old_summary() {
    let work = Work::new();
    let people = people(&LIGHTGBM);
    audit(&work, "v1", &numbered(&people), &people, "", "", 0);
    work.cfaudit(0, "gate v1 --summary-file last.json");
    assert_eq!(work.json("last.json")["job"], work.json("v1/summary.json")["job"]);
    work.cfaudit(5, "gate nowhere --summary-file last.json");
    assert!(!work.path("last.json").exists());
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
    let told =
        |args: &str| -> Json { serde_json::from_str(&work.cfaudit(0, args).stdout).unwrap() };
    let found = told("diff blind sees --json");
    let clear = |metric: &str| {
        found["changes"]
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["metric"] == metric && row["scope"] == "total")
    };
    assert!(clear("sr") && found["people_in_both"] == 16_281, "{found}");
    let noise = told("diff sees stiff --json --all");
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

/// Two versions whose scores hardly differ: what one person gets from both goes together, so that a
/// small change is found.
fn scored() -> [Vec<Scored>; 2] {
    let draw = |i: usize, k: u32| (i as f64 * f64::from(k).sqrt()).fract();
    let person = |i: usize, version: f64| {
        let (score, moves) = (0.1 + 0.6 * draw(i, 2), 0.2 * draw(i, 3) - 0.1);
        let score_cf = score + moves + version * (0.01 + 0.02 * draw(i, 5));
        Scored(
            usize::from(i % 5 > 1),
            draw(i, 7) > 0.5,
            score,
            score_cf,
            (1.0 + (7.0 * draw(i, 11)).floor()) / 4.0,
        )
    };
    [0.0, 1.0].map(|version| (0..1500).map(|i| person(i, version)).collect())
}

/// The change of the mean of something of women over the same people, by weight, with its 95 %
/// interval: a mean of differences.
fn mean_by_hand(
    [old, new]: &[Vec<Scored>; 2],
    weight: impl Fn(&Scored) -> f64,
    of: impl Fn(&Scored) -> f64,
) -> [f64; 3] {
    let pairs = || old.iter().zip(new).filter(|(p, _)| p.0 == 1);
    let total: f64 = pairs().map(|(p, _)| weight(p)).sum();
    let mean = pairs().map(|(a, b)| weight(a) * (of(b) - of(a))).sum::<f64>() / total;
    let variance: f64 =
        pairs().map(|(a, b)| (weight(a) * (of(b) - of(a) - mean) / total).powi(2)).sum();
    let half = 1.959_963_984_540_054 * variance.sqrt();
    [mean, mean - half, mean + half]
}

#[test]
fn score_metrics_of_the_same_people_are_drawn_together() {
    for (data, weighed) in [("", false), ("  weight: weight\n", true)] {
        let work = Work::new();
        let sides = scored();
        let ids: Vec<i64> = (0..1500).map(|i| 3 * i - 700).collect();
        audit_scores(&work, "v1", &ids, &sides[0], [data, ""], "", 0);
        // In another order: people are known by their id.
        let (back, people): (Vec<i64>, Vec<Scored>) =
            ids.iter().copied().zip(sides[1].iter().copied()).rev().unzip();
        audit_scores(&work, "v2", &back, &people, [data, ""], "", 0);
        let told = work.cfaudit(0, "diff v1 v2 --out page").stdout;
        assert!(told.contains("same people: paired: 1500 people are in both runs\n"), "{told}");
        let changes = read_frame(&work.path("page"), "changes");
        let weight = |p: &Scored| if weighed { p.4 } else { 1.0 };
        for (metric, of) in [
            ("mcd", (|p: &Scored| p.3 - p.2) as fn(&Scored) -> f64),
            ("macd", |p| (p.3 - p.2).abs()),
        ] {
            let row = change(&changes, metric);
            let [expected, lo, hi] = mean_by_hand(&sides, weight, of);
            near(row.real("difference"), expected, 1e-12);
            // Percentiles of 2000 replicates are known to about 4 % of the width.
            near(row.real("lo"), lo, 0.08 * (hi - lo));
            near(row.real("hi"), hi, 0.08 * (hi - lo));
            assert_eq!(
                (row.text("interval"), row.int("paired")),
                ("poisson-bootstrap", Some(1)),
                "{metric}: {}",
                row.text("ci_method")
            );
        }
        // Every score metric, in every place.
        let shift = || {
            changes
                .records()
                .filter(|row| row.text("family") == "shift" && row.is_some("difference"))
        };
        let paired = shift().filter(|row| row.int("paired") == Some(1)).count();
        assert!(
            shift().count() >= 24 && paired * 10 >= shift().count() * 9,
            "{paired} of {}",
            shift().count()
        );
        assert!(
            fs::read_to_string(work.path("page/diff.html"))
                .unwrap()
                .contains("of score metrics from the same people in both runs")
        );
        assert_eq!(
            work.cfaudit(0, "diff v1 v2 --json --all").stdout,
            work.cfaudit(0, "diff v1 v2 --json --all").stdout
        );

        // Without outcomes the same change is far less sure.
        let nsr = change(&changes, "mcd");
        fs::remove_file(work.path("v1/rows/outcomes.parquet")).unwrap();
        work.cfaudit(0, "diff v1 v2 --out unpaired");
        let unpaired = read_frame(&work.path("unpaired"), "changes");
        let alone = change(&unpaired, "mcd");
        assert_eq!((alone.text("interval"), alone.int("paired")), ("mover", Some(0)));
        let width = |row: &TableRecord<'_>| row.real("hi").unwrap() - row.real("lo").unwrap();
        assert!(width(&alone) > 3.0 * width(&nsr), "{} and {}", width(&alone), width(&nsr));
    }
}

#[test]
fn people_with_weights_are_drawn_together() {
    let work = Work::new();
    let sides = versions();
    let ids = numbered(&sides[0]);
    let weight = |i: usize| (1 + i * i % 13) as f64 / 2.0;
    let score = |yes: bool| if yes { 0.9 } else { 0.1 };
    for (out, side) in ["v1", "v2"].iter().zip(&sides) {
        let people = side
            .iter()
            .enumerate()
            .map(|(i, p)| Scored(p.0, p.1, score(p.2), score(p.3), weight(i)));
        audit_scores(
            &work,
            out,
            &ids,
            &people.collect::<Vec<_>>(),
            ["  weight: weight\n", ""],
            "",
            0,
        );
    }
    work.cfaudit(0, "diff v1 v2 --out page");
    let changes = read_frame(&work.path("page"), "changes");
    let nsr = change(&changes, "nsr");
    let all = |side: &[Person]| side.iter().copied().map(Some).collect::<Vec<_>>();
    let [expected, lo, hi] = ratio_by_hand([&all(&sides[0]), &all(&sides[1])], weight);
    near(nsr.real("difference"), expected, 1e-12);
    near(nsr.real("lo"), lo, 0.1 * (hi - lo));
    near(nsr.real("hi"), hi, 0.1 * (hi - lo));
    assert_eq!(
        (nsr.text("interval"), nsr.int("paired")),
        ("block-bootstrap", Some(1)),
        "{}",
        nsr.text("ci_method")
    );
    let of_men = |row: &TableRecord<'_>| {
        [row.text("metric"), row.text("scope"), row.text("from_group")]
            == ["nsr", "direction", "Male"]
    };
    let men = changes.records().find(of_men).unwrap();
    assert_eq!((men.text("interval"), men.int("clear")), ("identical", Some(0)));
    // Against a run without weights nothing is paired, and nothing means the same.
    audit(&work, "v3", &ids, &sides[1], "", "", 0);
    let told = work.cfaudit(0, "diff v1 v3").stdout;
    assert!(
        told.contains("not paired: people have weights in only one of the runs")
            && told.contains("comparable: in part"),
        "{told}"
    );
}

#[test]
fn a_plan_knows_the_baseline() {
    let work = Work::new();
    let sides = versions();
    let ids = numbered(&sides[0]);
    audit(&work, "v1", &ids, &sides[0], "", "", 0);
    audit(&work, "v2", &ids, &sides[1], GATES, "", 0);
    let plan = |args: &str, status: i32| {
        work.cfaudit(status, &format!("plan v2.yaml --cache cache --exit-code {args}")).stdout
    };
    assert!(plan("", 0).contains("stages are cached"));
    let told = plan("--baseline v1", 1);
    let runs =
        |stage: &str| told.lines().any(|line| line.split_whitespace().take(2).eq([stage, "runs"]));
    assert!(runs("baseline") && runs("gate") && runs("report") && !runs("measure"), "{told}");
    work.cfaudit(1, "run v2.yaml --out v2 --cache cache --baseline v1");
    assert!(plan("--baseline v1", 0).contains("stages are cached"));
    work.cfaudit(5, "plan v2.yaml --cache cache --baseline nowhere")
        .says(&["`nowhere`", "hint: name a finished output folder"]);
}

/// Writes a table of a folder again as another version of the program would, and lists it so in the
/// manifest.
pub(crate) fn as_version(work: &Work, folder: &str, name: &str, version: u32, without: &[&str]) {
    let path = work.path(&format!("{folder}/{name}"));
    let batch = crate::waiting::read(&path);
    let kept: Vec<usize> = (0..batch.num_columns())
        .filter(|i| !without.contains(&batch.schema().field(*i).name().as_str()))
        .collect();
    let batch = batch.project(&kept).unwrap();
    let about =
        parquet::file::metadata::KeyValue::new("cfaudit.version".to_owned(), version.to_string());
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_key_value_metadata(Some(vec![about]))
        .build();
    let mut writer = parquet::arrow::ArrowWriter::try_new(
        fs::File::create(&path).unwrap(),
        batch.schema(),
        Some(properties),
    )
    .unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let mut manifest = work.json(&format!("{folder}/manifest.json"));
    manifest["files"][name] = crate::work::sha256(&fs::read(&path).unwrap()).into();
    work.write(
        &format!("{folder}/manifest.json"),
        &serde_json::to_string_pretty(&manifest).unwrap(),
    );
}

#[test]
fn folders_of_other_versions() {
    let work = Work::new();
    let sides = versions();
    let ids = numbered(&sides[0]);
    audit(&work, "v1", &ids, &sides[0], "", "", 0);
    audit(&work, "v2", &ids, &sides[1], "", "", 0);
    let expected = work.cfaudit(0, "diff v1 v2 --all --json").stdout;
    // Outcomes had no weights once.
    as_version(&work, "v1", "rows/outcomes.parquet", 1, &["weight"]);
    assert_eq!(work.cfaudit(0, "diff v1 v2 --all --json").stdout, expected);
    // So did values of graphs two kinds of percentiles, and verdicts their cases: tables of version
    // 0.1.
    let of_graphs = [
        "world_level",
        "between_lo",
        "between_hi",
        "between_var",
        "within_lo",
        "within_hi",
        "within_var",
        "mixed_var",
    ];
    as_version(&work, "v1", "tables/metrics.parquet", 6, &of_graphs);
    as_version(&work, "v1", "tables/gates.parquet", 2, &["numerator"]);
    let without_names = |text: &str| {
        text.lines().filter(|line| !line.contains("\"run\"")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        without_names(&work.cfaudit(0, "diff v1 v2 --all --json").stdout),
        without_names(&expected)
    );
    work.cfaudit(0, "gate v1");
    work.cfaudit(0, "gate v2 --baseline v1");
    work.cfaudit(0, "report v1");
    as_version(&work, "v1", "rows/outcomes.parquet", 999, &[]);
    work.cfaudit(5, "diff v1 v2").says(&[
        "outcomes.parquet",
        "it is version 999 of table `outcomes`",
        "hint: run the job again",
    ]);
    as_version(&work, "v1", "rows/outcomes.parquet", 1, &["weight", "score"]);
    work.cfaudit(5, "diff v1 v2").says(&["outcomes.parquet", "column `score` is missing"]);
    fs::remove_file(work.path("v1/rows/outcomes.parquet")).unwrap();
    for verb in ["diff v1 v2", "gate v1", "export v1 --to csv", "gate v2 --baseline v1"] {
        as_version(&work, "v1", "tables/metrics.parquet", 999, &[]);
        work.cfaudit(5, verb).says(&["metrics.parquet", "it is version 999 of table `metrics`"]);
        as_version(&work, "v1", "tables/metrics.parquet", 1, &["lo"]);
        as_version(&work, "v1", "tables/metrics.parquet", MetricRow::TABLE.version, &["value"]);
        work.cfaudit(5, verb).says(&["metrics.parquet", "column `value` is missing", "damaged"]);
    }
}

/// Three versions of a model: the page of the last shows how the limit was kept, from the run or
/// only from the folder, and folders that do not fit are refused.
#[test]
fn a_history_shows_how_limits_were_kept() {
    let work = Work::new();
    let gates = "gates:\n  keep: {metric: nsr, model: gbm, counterfactual: flip, direction: {sex: \
                 [Female, Male]}, at_most: 0.2, decide_by: estimate, level: warn}\n";
    let [light, fair] = [&LIGHTGBM, &FAIRGBM].map(people);
    let ids = numbered(&light);
    audit(&work, "v1", &ids, &light, gates, "", 0);
    audit(&work, "v2", &numbered(&fair), &fair, gates, "", 0);
    audit(&work, "v3", &ids, &light, gates, "--history v1 v2", 0);

    let history = read_frame(&work.path("v3/tables"), "history");
    let told: Vec<(i64, &str, &str, f64)> = history
        .records()
        .map(|row| {
            let value = row.real("value").unwrap();
            (row.int("position").unwrap(), row.text("model_version"), row.text("verdict"), value)
        })
        .collect();
    let expected = [(1, "v1", "pass", 16.0 / 122.0), (2, "v2", "fail", 35.0 / 137.0)];
    assert_eq!(told, expected);
    let manifest: Json =
        serde_json::from_slice(&fs::read(work.path("v3/manifest.json")).unwrap()).unwrap();
    let versions: Vec<&Json> =
        manifest["history"].as_array().unwrap().iter().map(|run| &run["version"]).collect();
    assert_eq!(versions, ["v1", "v2"]);
    let page = fs::read_to_string(work.path("v3/report.html")).unwrap();
    for words in [
        "How were the limits kept from run to run?",
        "In this run and 2 earlier runs the limit was broken at least once.",
        "broken in 1 of 3 runs",
        "href=\"#sq\"",
    ] {
        assert!(page.contains(words), "{words}");
    }

    // Rendered again only from the tables, the page keeps its history.
    let before = files(&work.path("v3"));
    work.cfaudit(0, "report v3");
    assert_same(&before, &files(&work.path("v3")), "rendered again");
    // A folder that was made without one gets it afterwards.
    audit(&work, "v3", &ids, &light, gates, "", 0);
    assert!(!work.path("v3/tables/history.parquet").exists());
    work.cfaudit(0, "report v3 --history v1 v2");
    let after = files(&work.path("v3"));
    let read =
        |files: &std::collections::BTreeMap<String, Vec<u8>>, name: &str| files[name].clone();
    for name in ["report.html", "tables/history.parquet"] {
        assert!(read(&before, name) == read(&after, name), "{name}");
    }

    for (folders, why) in [
        ("v1 v1", "named before"),
        ("v1 no-such", "there is no such folder"),
        ("v1 other", "it is of the job `other`"),
    ] {
        if folders.ends_with("other") {
            let job = fs::read_to_string(work.path("v1.yaml")).unwrap();
            work.write("other.yaml", &job.replace("name: versions", "name: other"));
            work.cfaudit(0, "run other.yaml --out other --cache cache");
        }
        let refused = work.cfaudit(5, &format!("report v3 --history {folders}"));
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
}
