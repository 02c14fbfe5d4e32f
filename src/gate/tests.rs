//! Gates on small tables of metrics worked by hand.

use super::{DecideBy, Limit, Question, Scope, Verdict, judge};
use crate::table::{Cell, Frame, METRICS};

struct Value<'a> {
    scope: &'a str,
    from: &'a str,
    to: &'a str,
    metric: &'a str,
    value: Option<f64>,
    lo: Option<f64>,
    hi: Option<f64>,
    denominator: Option<i64>,
}

const NSR: Value<'static> = Value {
    scope: "direction",
    from: "Female",
    to: "Male",
    metric: "nsr",
    value: Some(0.131),
    lo: Some(0.082),
    hi: Some(0.202),
    denominator: Some(122),
};

fn metrics(values: &[Value<'_>]) -> Frame {
    let mut frame = Frame::new(&METRICS);
    for v in values {
        let counterfactual = if v.scope == "pair" { "" } else { "flip" };
        let row = METRICS
            .columns
            .iter()
            .map(|column| match column.name {
                "model" => "m".into(),
                "counterfactual" => counterfactual.into(),
                "sensitive" => "sex".into(),
                "scope" => v.scope.into(),
                "from_group" => v.from.into(),
                "to_group" => v.to.into(),
                "metric" => v.metric.into(),
                "value" => v.value.into(),
                "lo" => v.lo.into(),
                "hi" => v.hi.into(),
                "denominator" => v.denominator.into(),
                "undefined" => (if v.value.is_none() { "empty_group" } else { "" }).into(),
                "n_rows" => Cell::Int(200),
                _ if column.nullable => Cell::Null,
                _ => "".into(),
            })
            .collect();
        frame.push(row);
    }
    frame
}

fn question(scope: Scope, limit: Limit) -> Question {
    let pair = matches!(scope, Scope::Pair(..));
    Question {
        name: "g".into(),
        metric: if pair { "di".into() } else { "nsr".into() },
        model: "m".into(),
        counterfactual: if pair { String::new() } else { "flip".into() },
        attributes: vec!["sex".into()],
        scope,
        limit,
        decide_by: DecideBy::Interval,
        enough: 10,
        warn_only: false,
        line: 7,
    }
}

fn direction() -> Scope {
    Scope::Direction("Female".into(), "Male".into())
}

#[test]
fn the_published_counts_are_inconclusive_at_a_tenth() {
    // 16 of 122, 13.1 % (8.2 to 20.2): above the limit, but 122 cases cannot show it.
    let judged = judge(&[question(direction(), Limit::AtMost(0.10))], &metrics(&[NSR]));
    assert_eq!(judged.verdict, Some(Verdict::Inconclusive));
    assert_eq!(judged.tally.inconclusive, 1);
    let worst = judged.worst.expect("there is one gate");
    assert_eq!((worst.value, worst.n, worst.limit), (Some(0.131), Some(122), 0.10));
}

#[test]
fn the_interval_decides() {
    let verdict = |limit| judge(&[question(direction(), limit)], &metrics(&[NSR])).verdict;
    assert_eq!(verdict(Limit::AtMost(0.202)), Some(Verdict::Pass));
    assert_eq!(verdict(Limit::AtMost(0.08)), Some(Verdict::Fail));
    assert_eq!(verdict(Limit::AtLeast(0.082)), Some(Verdict::Pass));
    assert_eq!(verdict(Limit::AtLeast(0.3)), Some(Verdict::Fail));
    assert_eq!(verdict(Limit::AtLeast(0.1)), Some(Verdict::Inconclusive));
}

#[test]
fn the_estimate_decides_where_asked() {
    let mut q = question(direction(), Limit::AtMost(0.131));
    q.decide_by = DecideBy::Estimate;
    assert_eq!(judge(std::slice::from_ref(&q), &metrics(&[NSR])).verdict, Some(Verdict::Pass));
    q.limit = Limit::AtMost(0.13);
    assert_eq!(judge(&[q], &metrics(&[NSR])).verdict, Some(Verdict::Fail));
}

#[test]
fn too_few_cases_undefined_values_and_absent_rows_are_never_a_pass() {
    let mut q = question(direction(), Limit::AtMost(0.9));
    q.enough = 123;
    assert_eq!(judge(std::slice::from_ref(&q), &metrics(&[NSR])).verdict, Some(Verdict::Inconclusive));
    q.enough = 122;
    assert_eq!(judge(std::slice::from_ref(&q), &metrics(&[NSR])).verdict, Some(Verdict::Pass));
    let undefined = Value { value: None, lo: None, hi: None, ..NSR };
    assert_eq!(judge(std::slice::from_ref(&q), &metrics(&[undefined])).verdict, Some(Verdict::Inconclusive));
    assert_eq!(judge(&[q], &metrics(&[])).verdict, Some(Verdict::Inconclusive));
}

#[test]
fn a_gap_that_rests_on_a_small_group_is_never_a_pass() {
    let di = Value {
        scope: "pair",
        from: "Male",
        to: "Female",
        metric: "di",
        value: Some(0.9),
        lo: Some(0.5),
        hi: Some(0.95),
        denominator: None,
    };
    let mut q = question(Scope::Pair("Female".into(), "Male".into()), Limit::AtLeast(0.8));
    q.decide_by = DecideBy::Estimate;
    let mut table = metrics(&[di]);
    let verdict = |q: &Question, table: &Frame| judge(std::slice::from_ref(q), table).verdict;
    assert_eq!(verdict(&q, &table), Some(Verdict::Pass));
    q.enough = 201;
    assert_eq!(verdict(&q, &table), Some(Verdict::Inconclusive), "200 people are behind the value");
    q.enough = 10;
    let flags = METRICS.column("flags").expect("a column");
    table.rows[0][flags] = "small_group".into();
    assert_eq!(verdict(&q, &table), Some(Verdict::Inconclusive));
}

#[test]
fn the_worst_of_all_directions_decides_and_warnings_do_not_count() {
    let back = Value { from: "Male", to: "Female", value: Some(0.02), lo: Some(0.01), hi: Some(0.03), ..NSR };
    let mut q = question(Scope::AnyDirection, Limit::AtMost(0.05));
    let judged = judge(std::slice::from_ref(&q), &metrics(&[NSR, back]));
    assert_eq!(judged.verdict, Some(Verdict::Fail));
    assert_eq!(judged.table.rows.len(), 2);
    let deciding: Vec<&str> = judged.table.records().filter(|r| r.int("decides") == Some(1)).map(|r| r.text("from_group")).collect();
    assert_eq!(deciding, ["Female"]);
    q.warn_only = true;
    let judged = judge(&[q], &metrics(&[NSR]));
    assert_eq!((judged.verdict, judged.tally.warn, judged.tally.fail), (None, 1, 0));
}

#[test]
fn a_pair_is_turned_to_the_side_that_the_gate_asks_for() {
    // The table holds A = Male (reference), B = Female, and di = rate of B over rate of A.
    let di = Value {
        scope: "pair",
        from: "Male",
        to: "Female",
        metric: "di",
        value: Some(0.8),
        lo: Some(0.5),
        hi: Some(0.9),
        denominator: None,
    };
    let of = |a: &str, b: &str| {
        let judged = judge(&[question(Scope::Pair(a.into(), b.into()), Limit::AtLeast(0.85))], &metrics(&[Value { ..di }]));
        let row = judged.table.records().next().map(|r| (r.real("value"), r.real("lo"), r.real("hi")));
        row.expect("one row")
    };
    assert_eq!(of("Female", "Male"), (Some(0.8), Some(0.5), Some(0.9)));
    assert_eq!(of("Male", "Female"), (Some(1.25), Some(1.0 / 0.9), Some(2.0)));
}
