//! Outcomes that are amounts: from a file and from a program, in tables, gates, outcomes and pages.

use std::fs;

use arrow::array::ArrayRef;

use crate::case_folders::text_of;
use crate::frame::{TableFrame, TableRecord};
use crate::work::{
    Rows, Says, Work, assert_same, column, documented, python3_imports, results, root,
};

const N: i64 = 240;

fn sex(i: i64) -> &'static str {
    if i % 2 == 0 { "m" } else { "w" }
}

/// Men pay 6 % more than they would pay as women, to the cent; some have no premium, one pays
/// nothing, and one gets a refund.
fn premium(i: i64, sex: &str) -> Option<f64> {
    match i {
        10 => Some(0.0),
        11 => Some(-20.0),
        _ if i % 40 == 7 => None,
        _ => {
            let base = 200.0 + (i * 37 % 101) as f64;
            Some((base * if sex == "m" { 106.0 } else { 100.0 }).round() / 100.0)
        }
    }
}

fn premiums(of: impl Fn(i64) -> Option<f64>) -> ArrayRef {
    column((0..N).map(of))
}

fn work(other: ArrayRef) -> Work {
    let work = Work::new();
    Rows::of(0..N)
        .with("id", |i| i)
        .with("sex", sex)
        .column("premium", premiums(|i| premium(i, sex(i))))
        .write(&work, "people.parquet");
    Rows::of(0..N)
        .with("row_id", |i| i)
        .with("to_group", |i| sex(i + 1))
        .column("quote", other)
        .write(&work, "quotes.parquet");
    work
}

const MODEL: &str = "models:
  tariff:
    decision:
      amount: premium
      better: lower
      matters_from: 5%
      counterfactual: {parquet: quotes.parquet, column: quote}
";

fn job(work: &Work, models: &str, rest: &str) {
    let steps = "-  favourable
~  sensitive: {sex: {groups: [m, w], reference: m, words: {m: men, w: women}}}
-models
-gates";
    work.job("scored", steps, &format!("{models}\n{rest}"));
}

const GATES: &str = "gates:
  men: {harm_to: {sex: m}, model: tariff, counterfactual: flip, at_most: 0.05, level: warn}
  women: {harm_to: {sex: w}, model: tariff, counterfactual: flip, at_most: 0.12}
  mean: {metric: amount_mean_ratio, model: tariff, between: {sex: [m, w]}, at_most: 2}
";

fn as_other(i: i64) -> Option<f64> {
    premium(i, sex(i + 1))
}

/// The people of a group with both amounts.
fn pairs(of: &str) -> Vec<(f64, f64)> {
    let of_group = (0..N).filter(|&i| sex(i) == of);
    of_group.filter_map(|i| premium(i, sex(i)).zip(as_other(i))).collect()
}

fn value(table: &TableFrame, metric: &str, from: &str) -> (Option<f64>, Option<i64>) {
    let is = |row: &TableRecord<'_>| row.text("metric") == metric && row.text("from_group") == from;
    let row = table.records().find(is).unwrap_or_else(|| panic!("{metric} {from}"));
    (row.real("value"), row.int("numerator"))
}

#[test]
fn premiums_are_measured_judged_and_told() {
    let work = work(premiums(as_other));
    job(&work, MODEL, GATES);
    work.run(0, "job.yaml", "--threads 1");
    let metrics = work.table("metrics");
    for (group, more) in [("m", 0), ("w", pairs("w").len())] {
        let own = pairs(group);
        let mean = own.iter().map(|(x, _)| x).sum::<f64>() / own.len() as f64;
        let found = value(&metrics, "amount_mean", group).0.unwrap();
        assert!((found - mean).abs() < 1e-9, "{group}: {found}, not {mean}");
        let change = own.iter().map(|(x, c)| c - x).sum::<f64>() / own.len() as f64;
        let found = value(&metrics, "amount_change_mean", group).0.unwrap();
        assert!((found - change).abs() < 1e-9, "{group}: {found}, not {change}");
        let of = |metric| value(&metrics, metric, group).1.unwrap() as usize;
        // 6 % more as a man; an amount of 0 and a refund do not change.
        let still = own.iter().filter(|(x, c)| x == c).count();
        assert_eq!(still, 1);
        let more = if more == 0 { 0 } else { more - still };
        assert_eq!(of("share_more"), more);
        assert_eq!(of("share_less"), own.len() - still - more);
        assert_eq!(of("denied_by_group"), of("share_less"));
        assert_eq!(of("favoured_by_group"), of("share_more"));
    }
    let families: Vec<&str> = metrics.records().map(|row| row.text("family")).collect();
    assert!(families.iter().all(|family| ["amounts", "ccm"].contains(family)));
    assert!(!metrics.has("metric=sr"));

    let columns = "counterfactual from_group to_group n n_missing n_zero n_negative";
    assert_eq!(
        work.table("amounts").list("", columns).join("\n"),
        " | m |  | 120 | 0 | 1 | 0\n | w |  | 114 | 6 | 0 | 1\n\
         flip | m | w | 120 | 0 | 1 | 0\nflip | w | m | 114 | 6 | 0 | 1"
    );

    // Nobody is decided about, and outcomes hold the amounts.
    let outcomes = work.table("outcomes");
    for (i, row) in (0..N).zip(outcomes.records()) {
        row.holds("predicted=, predicted_cf=");
        assert_eq!((row.real("score"), row.real("score_cf")), (premium(i, sex(i)), as_other(i)));
    }

    // Men pay more than they would pay as women: they are harmed. Women are not, whatever the six
    // without a premium would pay; the ratio of the means may be anything with their premiums.
    let gates = work.table("gates");
    let text = |gate: &str, column: &str| gates.at(&format!("gate={gate}")).text(column).to_owned();
    let verdicts = ["men", "women", "mean"].map(|gate| text(gate, "verdict"));
    let women = || gates.of("gate=women");
    assert!(women().count() == 2 && women().all(|row| row.text("verdict") == "pass"));
    assert_eq!(verdicts, ["fail", "pass", "inconclusive"]);
    assert_eq!(text("mean", "reason_code"), "unmeasured-people");
    text("mean", "reason").says(&["6 people have no score"]);
    let plain = text_of(&work.read("out/report.html"));
    for words in
        ["would have an amount at least 5 % lower as women", "treats men worse", "119 of 120"]
    {
        assert!(plain.contains(words), "{words}");
    }
    for words in ["favourable decision", "predicted positive", "decided otherwise"] {
        assert!(!plain.contains(words), "{words}");
    }
    let annex = work.read("out/annex.html").replace('\u{a0}', " ");
    annex.says(&[
        "Amounts of the groups",
        "from 5 % of the amount",
        "people want low amounts",
        "amounts-title",
    ]);
    annex.lacks(&["switches-title"]);

    // The same bytes on more threads.
    let one = results(&work.path("out"));
    work.cfaudit(0, "run job.yaml --out again --cache other --threads 3");
    assert_same(&one, &results(&work.path("again")), "threads");
}

/// Quotes for the other group may come later, and each must be a finite number.
#[test]
fn amounts_of_counterfactuals_come_later_and_are_checked() {
    let work = work(premiums(as_other));
    job(&work, MODEL, "");
    let (there, away) = (work.path("quotes.parquet"), work.path("away.parquet"));
    fs::rename(&there, &away).unwrap();
    work.run(4, "job.yaml", "");
    fs::rename(&away, &there).unwrap();
    work.run(0, "job.yaml", "");
    let endless = self::work(premiums(|i| if i == 5 { Some(f64::INFINITY) } else { as_other(i) }));
    job(&endless, MODEL, "");
    endless.run(3, "job.yaml", "").says(&["error[bad-scores]", "a finite number", "row_id `5`"]);
}

/// A change of 0 never matters, whatever `matters_from` says, and a limit in the unit of the amount
/// counts in that unit.
#[test]
fn what_matters_may_be_an_amount() {
    let work = work(premiums(as_other));
    job(&work, &MODEL.replace("5%", "15"), "");
    work.run(0, "job.yaml", "");
    let metrics = work.table("metrics");
    let far = pairs("m").iter().filter(|(x, c)| x - c >= 15.0 - 1e-7).count();
    assert!(far > 10 && far < 110, "{far}");
    assert_eq!(value(&metrics, "share_less", "m").1, Some(far as i64));
    job(&work, &MODEL.replace("5%", "0"), "");
    work.run(0, "job.yaml", "");
    assert_eq!(value(&work.table("metrics"), "share_less", "m").1, Some(119));
}

/// Gates know the metrics of amounts, and what they can be asked about.
#[test]
fn gates_ask_about_amounts() {
    let work = work(premiums(as_other));
    let check = |models: &str, gate: &str, words: &[&str]| {
        job(&work, models, &format!("gates: {{g: {{model: tariff, {gate}}}}}\n"));
        work.cfaudit(2, "check job.yaml --no-data").says(words);
    };
    let asked = "metric: amount_mean, group: {sex: m}, counterfactual: flip, at_most: 500";
    check(MODEL, asked, &["error[bad-scope]", "without counterfactuals"]);
    let decided = MODEL.replace("amount: premium", "column: premium\n      positive: [\"1\"]");
    let decided = decided.replace("      better: lower\n      matters_from: 5%\n", "");
    let asked = "metric: share_more, counterfactual: flip, direction: {sex: [m, w]}, at_most: 0.1";
    check(&decided, asked, &["error[not-measured]", "is about amounts"]);
    job(&work, MODEL, &format!("gates: {{g: {{model: tariff, {asked}}}}}\n"));
    work.cfaudit(0, "check job.yaml --no-data");
}

/// Clarify's metrics of premiums above a number, computed here from the rows: premium and claims
/// are above 250 or not. People want low premiums, so those above are refused.
#[test]
fn clarify_counts_amounts_above_a_number() {
    const ABOVE: f64 = 250.0;
    let work = work(premiums(as_other));
    let claims = |i: i64| (i % 9 != 4).then(|| (150 + i * 53 % 211) as f64);
    let of = |i: i64| Some(sex(i));
    work.parquet(
        "people.parquet",
        vec![
            ("id", column(0..N)),
            ("sex", column((0..N).map(of))),
            ("premium", premiums(|i| premium(i, sex(i)))),
            ("claims", premiums(claims)),
        ],
    );
    let rest = "metrics: {families: [amounts, clarify], clarify: {positive_above: 250}}
gates:
  refused: {metric: dppl, model: tariff, between: {sex: [m, w]}, at_most: 0.9}
  dearer: {metric: share_more, model: tariff, counterfactual: flip, direction: {sex: [m, w]}, at_most: 0.5}
";
    job(&work, MODEL, rest);
    let text = work.read("job.yaml");
    work.write("job.yaml", &text.replace("label: none", "label: {amount: claims}"));
    work.run(0, "job.yaml", "");

    let granted = |amount: f64| amount <= ABOVE;
    // Of everybody with a premium, and of those with claims too: n, granted, deserving, both.
    let count = |group: &str, labelled: bool| {
        let people = (0..N).filter(|&i| sex(i) == group && (!labelled || claims(i).is_some()));
        let people = people.filter_map(|i| Some((premium(i, sex(i))?, claims(i).unwrap_or(0.0))));
        people.fold([0.0; 4], |[n, g, d, both], (premium, claims)| {
            let (g1, d1) = (f64::from(granted(premium)), f64::from(granted(claims)));
            [n + 1.0, g + g1, d + d1, both + g1 * d1]
        })
    };
    let share = |[n, g, ..]: [f64; 4]| g / n;
    let observed = |[n, _, d, _]: [f64; 4]| d / n;
    let both = |of: &dyn Fn([f64; 4]) -> f64, labelled| {
        of(count("m", labelled)) - of(count("w", labelled))
    };
    let metrics = work.table("metrics");
    let found = |metric: &str| {
        let mut rows = metrics.records();
        let row =
            rows.find(|row| row.text("metric") == metric).unwrap_or_else(|| panic!("{metric}"));
        row.holds("from_group=m, to_group=w");
        row.real("value").unwrap()
    };
    let dcacc = |[_, g, d, _]: [f64; 4]| d / g;
    for (metric, expected) in [
        ("dppl", both(&share, false)),
        ("di", share(count("w", false)) / share(count("m", false))),
        ("dpl", both(&observed, true)),
        ("bias_change", both(&share, true) - both(&observed, true)),
        ("dcacc", both(&dcacc, true)),
        ("dar", both(&|[_, g, _, both]: [f64; 4]| both / g, true)),
    ] {
        let found = found(metric);
        assert!((found - expected).abs() < 1e-12, "{metric}: {found}, not {expected}");
    }
    // Everybody counts once in the population, and the premium without a number has no decision.
    let population = work.table("population");
    let audited = |group: &str| {
        let is = |row: &TableRecord<'_>| {
            row.text("state") == "audited"
                && row.text("group") == group
                && row.text("model") == "tariff"
                && row.text("counterfactual").is_empty()
        };
        let rows: Vec<_> = population.records().filter(is).collect();
        assert_eq!(rows.len(), 1, "{group}");
        ["rows", "without_score", "without_label"].map(|name| rows[0].int(name).unwrap())
    };
    let unlabelled =
        |group: &str| (0..N).filter(|&i| sex(i) == group && claims(i).is_none()).count() as i64;
    assert_eq!(audited("m"), [120, 0, unlabelled("m")]);
    assert_eq!(audited("w"), [120, 6, unlabelled("w")]);
    assert!(work.table("gates").records().all(|row| row.text("verdict") == "pass"));
    work.read("out/annex.html").says(&["Groups as they are", "Amounts of the groups"]);
    // Amounts have no place among the scores by which two runs are paired.
    work.cfaudit(0, "diff out out");
    // Without claims what needs no label is measured.
    work.write("job.yaml", &text);
    work.cfaudit(0, "run job.yaml --out none --cache cache");
    let metrics = work.table("none/metrics");
    let ids: Vec<_> = metrics.records().map(|row| row.text("metric").to_owned()).collect();
    assert!(ids.iter().any(|id| id == "dppl"));
}

/// The shipped job: a tariff that is a program, on generated people.
#[test]
fn the_premium_job_runs() {
    if !python3_imports("pyarrow") {
        return;
    }
    let work = Work::with_jobs();
    fs::create_dir(work.path("jobs/models")).unwrap();
    let program = "jobs/models/premium.py";
    fs::copy(root().join(program), work.path(program)).unwrap();
    work.run(0, "jobs/premiums.yaml", "");
    let metrics = work.table("metrics");
    for set in ["flip", "world"] {
        assert!(metrics.has(&format!("counterfactual={set}")), "{set}");
    }
    // The tariff charges men 8 % more, whatever else they are.
    let (share, n) = value(&metrics, "denied_by_group", "Male");
    assert_eq!(share, Some(1.0));
    assert!(n > Some(1000), "{n:?}");
}

#[test]
fn the_example_of_the_guide_runs() {
    let work = work(premiums(as_other));
    job(&work, &documented("models-and-experiments.md", "## Amounts"), GATES);
    work.run(0, "job.yaml", "");
}
