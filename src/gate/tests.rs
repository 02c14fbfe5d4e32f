//! Gates on small tables of metrics worked by hand.

mod rounding;

use crate::gate::decide_by::GateDecideBy;
use crate::gate::question::{
    GateBaseline, GateLimit, GateQuantity, GateQuestion, GateResults, GateStatus, GateSubject,
    GateTables, UnshownChange,
};
use crate::metric::catalog::ccm::HARM;
use crate::metric::interval::{wilson, z_of_level};
use crate::metric::rate::{Rate, Undefined};
use crate::metric::value::settings::FavourableClass;
use crate::table::{AuditKey, ChangeRow, CountRow, GateRow, GroupRow, MetricRow};

fn judge(
    questions: &[GateQuestion],
    metrics: &[MetricRow],
    baseline: Option<&GateBaseline<'_>>,
) -> GateResults {
    super::judge(questions, GateTables { metrics, groups: &[], counts: &[] }, baseline, &[])
}

/// A table of groups of `sex`: group, people, those without a label, those without a score.
fn people(rows: &[(&str, i64, i64, i64)]) -> Vec<GroupRow> {
    let row = |(group, n, no_label, no_score): &(&str, i64, i64, i64)| GroupRow {
        model: "m".into(),
        sensitive: "sex".into(),
        group: (*group).into(),
        n: *n,
        n_positive: Some(0),
        n_missing_label: *no_label,
        n_missing_score: *no_score,
        ..GroupRow::default()
    };
    rows.iter().map(row).collect()
}

struct GateValueRow<'a> {
    scope: &'a str,
    from: &'a str,
    to: &'a str,
    metric: &'a str,
    value: Option<f64>,
    lo: Option<f64>,
    hi: Option<f64>,
    denominator: Option<i64>,
}

const NSR: GateValueRow<'static> = GateValueRow {
    scope: "direction",
    from: "Female",
    to: "Male",
    metric: "nsr",
    value: Some(0.131),
    lo: Some(0.082),
    hi: Some(0.202),
    denominator: Some(122),
};

fn metrics(values: &[GateValueRow<'_>]) -> Vec<MetricRow> {
    let row = |v: &GateValueRow<'_>| MetricRow {
        key: AuditKey {
            model: "m".into(),
            counterfactual: if v.scope == "pair" { "" } else { "flip" }.into(),
            sensitive: "sex".into(),
            scope: v.scope.into(),
            from_group: v.from.into(),
            to_group: v.to.into(),
            ..AuditKey::default()
        },
        metric: v.metric.into(),
        value: v.value,
        lo: v.lo,
        hi: v.hi,
        denominator: v.denominator,
        undefined: if v.value.is_none() { "empty_group" } else { "" }.into(),
        n_rows: 200,
        ..MetricRow::default()
    };
    values.iter().map(row).collect()
}

fn question(scope: GateSubject, limit: GateLimit) -> GateQuestion {
    let pair = matches!(scope, GateSubject::Pair(..));
    GateQuestion {
        name: "g".into(),
        metric: if pair { "di".into() } else { "nsr".into() },
        arm: String::new(),
        model: "m".into(),
        counterfactual: if pair { String::new() } else { "flip".into() },
        class: String::new(),
        attributes: vec!["sex".into()],
        unshown: Vec::new(),
        by_label: false,
        favourable: Some(FavourableClass::Positive),
        refused: String::new(),
        scope,
        quantity: GateQuantity::Value,
        limit,
        decide_by: GateDecideBy::Interval,
        bootstraps: Some(100),
        holm: false,
        min_cases: 10,
        warn_only: false,
        line: 7,
    }
}

fn direction() -> GateSubject {
    GateSubject::Direction("Female".into(), "Male".into())
}

#[test]
fn the_published_counts_are_inconclusive_at_a_tenth() {
    // 16 of 122, 13.1 % (8.2 to 20.2): above the limit, but 122 cases cannot show it.
    let judged = judge(&[question(direction(), GateLimit::AtMost(0.10))], &metrics(&[NSR]), None);
    assert_eq!(judged.verdict, Some(GateStatus::Inconclusive));
    assert_eq!(judged.tally.inconclusive, 1);
    let worst = judged.worst.expect("there is one gate");
    assert_eq!((worst.value, worst.n, worst.limit), (Some(0.131), Some(122), 0.10));
}

/// What is enough is counted in those who carry information: persons, and people who weigh.
#[test]
fn people_of_weight_zero_are_not_enough() {
    let reason = |weight: Option<f64>, below| {
        let mut table = metrics(&[NSR]);
        table[0].n_persons = Some(150);
        table[0].denominator_persons = Some(below);
        table[0].weight_denominator = weight;
        let q = GateQuestion { min_cases: 50, ..question(direction(), GateLimit::AtMost(0.3)) };
        let row = judge(&[q], &table, None).table.remove(0);
        (row.verdict.to_string(), row.reason.to_string())
    };
    let (verdict, why) = reason(Some(71.5), 40);
    assert_eq!(verdict, "inconclusive");
    assert_eq!(why, "40 people of weight above 0 below the rate, 50 are required");
    assert_eq!(reason(None, 49).1, "49 persons below the rate, 50 are required");
    assert_eq!(reason(Some(71.5), 50).0, "pass");
}

/// 80 of 80 over 500 of 500: Katz's interval is 1 to 1, and that of both rates 0.954 to 1.008.
#[test]
fn no_gate_depends_on_a_certain_rate() {
    let count = |group: &str, n| CountRow {
        key: AuditKey {
            model: "m".into(),
            sensitive: "sex".into(),
            scope: "group".into(),
            from_group: group.into(),
            ..AuditKey::default()
        },
        predicted: "1".into(),
        n,
        ..CountRow::default()
    };
    let ratio = |level, interval: &str, flags: &str| MetricRow {
        level: Some(level),
        interval: interval.into(),
        flags: flags.into(),
        denominator: None,
        ..metrics(&[GateValueRow {
            scope: "pair",
            metric: "demp_ratio",
            value: Some(1.0),
            lo: Some(1.0),
            hi: Some(1.0),
            ..NSR
        }])
        .remove(0)
    };
    let judged = |row: MetricRow, counts: &[CountRow], limit, holm| {
        let q = GateQuestion {
            metric: "demp_ratio".into(),
            holm,
            ..question(GateSubject::Pair("Female".into(), "Male".into()), limit)
        };
        let tables = GateTables { metrics: &[row], groups: &[], counts };
        let row = super::judge(&[q], tables, None, &[]).table.remove(0);
        (row.verdict.to_string(), row.reason.to_string(), row.needed_how.unwrap().to_string())
    };
    let counts = [count("Female", 80), count("Male", 500)];
    let katz = |level, flags| ratio(level, "katz", flags);
    for holm in [false, true] {
        let of = |limit| judged(katz(0.95, "rate_of_one"), &counts, limit, holm);
        let (verdict, why, how) = of(GateLimit::AtLeast(0.995));
        assert_eq!((verdict.as_str(), how.as_str()), ("inconclusive", "boundary"), "{why}");
        assert!(why.contains("takes a rate of 1 as certain: with the doubt"), "{why}");
        assert!(why.ends_with("it reaches from 0.9542 to 1.0077"), "{why}");
        assert_eq!(of(GateLimit::AtLeast(0.95)).0, "pass");
        assert_eq!(of(GateLimit::AtMost(0.95)).0, "fail");
    }
    // Without the flag it is as it was, and without the rates nothing is decided.
    assert_eq!(judged(katz(0.95, ""), &counts, GateLimit::AtLeast(0.995), false).0, "pass");
    let (verdict, why, _) = judged(katz(0.95, "rate_of_one"), &[], GateLimit::AtLeast(0.5), false);
    assert_eq!(verdict, "inconclusive");
    assert!(why.ends_with("the tables do not tell"), "{why}");
    // Persons: the rates of the groups tell how sure they are.
    let group = |group: &str, n_eff| MetricRow {
        key: AuditKey {
            model: "m".into(),
            sensitive: "sex".into(),
            scope: "group".into(),
            from_group: group.into(),
            ..AuditKey::default()
        },
        metric: "pprev".into(),
        value: Some(1.0),
        denominator: Some(800),
        denominator_persons: Some(80),
        n_eff: Some(n_eff),
        ..MetricRow::default()
    };
    let rows =
        [ratio(0.95, "katz-deff", "rate_of_one"), group("Female", 80.0), group("Male", 500.0)];
    let q = |least| GateQuestion {
        metric: "demp_ratio".into(),
        ..question(GateSubject::Pair("Female".into(), "Male".into()), GateLimit::AtLeast(least))
    };
    let of_persons = |least| {
        let row = judge(&[q(least)], &rows, None).table.remove(0);
        (row.verdict.to_string(), row.reason.to_string())
    };
    assert!(of_persons(0.995).1.ends_with("it reaches from 0.9542 to 1.0077"));
    assert_eq!(of_persons(0.95).0, "pass");
}

/// How many times as much a correlation is as a negative one nobody can say.
#[test]
fn a_ratio_with_a_negative_part_is_not_judged() {
    let mut table = metrics(&[GateValueRow { scope: "pair", metric: "mcc_ratio", ..NSR }]);
    table[0].flags = "negative_part".into();
    let q = GateQuestion {
        metric: "mcc_ratio".into(),
        ..question(GateSubject::Pair("Female".into(), "Male".into()), GateLimit::AtMost(0.9))
    };
    let row = judge(&[q], &table, None).table.remove(0);
    assert_eq!(row.verdict.as_str(), "inconclusive");
    assert!(row.reason.as_str().ends_with("judge the difference"), "{}", row.reason.as_str());
}

#[test]
fn the_interval_decides() {
    let verdict = |limit| judge(&[question(direction(), limit)], &metrics(&[NSR]), None).verdict;
    assert_eq!(verdict(GateLimit::AtMost(0.202)), Some(GateStatus::Pass));
    assert_eq!(verdict(GateLimit::AtMost(0.08)), Some(GateStatus::Fail));
    assert_eq!(verdict(GateLimit::AtLeast(0.082)), Some(GateStatus::Pass));
    assert_eq!(verdict(GateLimit::AtLeast(0.3)), Some(GateStatus::Fail));
    assert_eq!(verdict(GateLimit::AtLeast(0.1)), Some(GateStatus::Inconclusive));
}

#[test]
fn the_estimate_decides_where_asked() {
    let mut q = question(direction(), GateLimit::AtMost(0.131));
    q.decide_by = GateDecideBy::Estimate;
    assert_eq!(
        judge(std::slice::from_ref(&q), &metrics(&[NSR]), None).verdict,
        Some(GateStatus::Pass)
    );
    q.limit = GateLimit::AtMost(0.13);
    assert_eq!(judge(&[q], &metrics(&[NSR]), None).verdict, Some(GateStatus::Fail));
}

#[test]
fn too_few_cases_undefined_values_and_absent_rows_are_never_a_pass() {
    let mut q = question(direction(), GateLimit::AtMost(0.9));
    q.min_cases = 123;
    assert_eq!(
        judge(std::slice::from_ref(&q), &metrics(&[NSR]), None).verdict,
        Some(GateStatus::Inconclusive)
    );
    q.min_cases = 122;
    assert_eq!(
        judge(std::slice::from_ref(&q), &metrics(&[NSR]), None).verdict,
        Some(GateStatus::Pass)
    );
    let undefined = GateValueRow { value: None, lo: None, hi: None, ..NSR };
    assert_eq!(
        judge(std::slice::from_ref(&q), &metrics(&[undefined]), None).verdict,
        Some(GateStatus::Inconclusive)
    );
    assert_eq!(judge(&[q], &metrics(&[]), None).verdict, Some(GateStatus::Inconclusive));
}

/// What is missing is in the reason.
#[test]
fn reasons_say_what_is_missing() {
    let reason = |q: GateQuestion, values: &[GateValueRow]| {
        let judged = judge(&[q], &metrics(values), None);
        assert_eq!(judged.verdict, Some(GateStatus::Inconclusive));
        judged.table.first().unwrap().reason.to_string()
    };
    let undefined = GateValueRow { value: None, lo: None, hi: None, ..NSR };
    let nobody = reason(question(direction(), GateLimit::AtMost(0.9)), &[undefined]);
    assert!(nobody.contains("empty_group: No row of the group"), "{nobody}");
    let any = GateQuestion {
        metric: "sr_any".into(),
        ..question(GateSubject::Total, GateLimit::AtMost(0.9))
    };
    assert!(reason(any, &[NSR]).contains("needs three groups or more"));
    let absent = reason(question(GateSubject::Total, GateLimit::AtMost(0.9)), &[NSR]);
    assert!(absent.contains("no such row"), "{absent}");
}

/// Labels that are missing for some more than for others say nothing about all, regardless of what
/// decides.
#[test]
fn selective_labels_are_never_a_pass() {
    for decide_by in [GateDecideBy::Interval, GateDecideBy::Estimate] {
        let q = GateQuestion { decide_by, ..question(direction(), GateLimit::AtMost(0.9)) };
        let mut table = metrics(&[NSR]);
        assert_eq!(judge(std::slice::from_ref(&q), &table, None).verdict, Some(GateStatus::Pass));
        table[0].flags = "sampled,selective_labels".into();
        let judged = judge(&[q], &table, None);
        assert_eq!(judged.verdict, Some(GateStatus::Inconclusive));
        assert!(judged.table.first().unwrap().reason.starts_with("selective_labels"));
    }
}

#[test]
fn a_gap_that_rests_on_a_small_group_is_never_a_pass() {
    let di = GateValueRow {
        scope: "pair",
        from: "Male",
        to: "Female",
        metric: "di",
        value: Some(0.9),
        lo: Some(0.5),
        hi: Some(0.95),
        denominator: None,
    };
    let mut q =
        question(GateSubject::Pair("Female".into(), "Male".into()), GateLimit::AtLeast(0.8));
    q.decide_by = GateDecideBy::Estimate;
    let mut table = metrics(&[di]);
    let verdict =
        |q: &GateQuestion, table: &[MetricRow]| judge(std::slice::from_ref(q), table, None).verdict;
    assert_eq!(verdict(&q, &table), Some(GateStatus::Pass));
    q.min_cases = 201;
    assert_eq!(
        verdict(&q, &table),
        Some(GateStatus::Inconclusive),
        "200 people are behind the value"
    );
    q.min_cases = 10;
    table[0].flags = "small_group".into();
    assert_eq!(verdict(&q, &table), Some(GateStatus::Inconclusive));
}

#[test]
fn the_worst_of_all_directions_decides_and_warnings_do_not_count() {
    let back = GateValueRow {
        from: "Male",
        to: "Female",
        value: Some(0.02),
        lo: Some(0.01),
        hi: Some(0.03),
        ..NSR
    };
    let mut q = question(GateSubject::AnyDirection, GateLimit::AtMost(0.05));
    let judged = judge(std::slice::from_ref(&q), &metrics(&[NSR, back]), None);
    assert_eq!(judged.verdict, Some(GateStatus::Fail));
    assert_eq!(judged.table.len(), 2);
    let deciding: Vec<&str> =
        judged.table.iter().filter(|r| r.decides == 1).map(|r| r.from_group.as_str()).collect();
    assert_eq!(deciding, ["Female"]);
    q.warn_only = true;
    let judged = judge(&[q], &metrics(&[NSR]), None);
    assert_eq!((judged.verdict, judged.tally.warn, judged.tally.fail), (None, 1, 0));
}

/// Facets do not change places; all others have no name; the groups furthest apart are one row.
#[test]
fn facets_rests_and_worst_cases() {
    let of = |scope: &'static str,
              from: &'static str,
              to: &'static str,
              metric: &'static str,
              value: f64| GateValueRow {
        scope,
        from,
        to,
        metric,
        value: Some(value),
        lo: Some(value - 0.01),
        hi: Some(value + 0.01),
        denominator: None,
    };
    let mut table = metrics(&[
        of("pair", "Male", "Female", "ft", 0.2),
        of("one_vs_rest", "", "Female", "dppl", 0.3),
        of("one_vs_rest", "Other", "", "demp_difference", 0.4),
        of("worst_case", "", "", "eodds", 0.5),
    ]);
    table.iter_mut().for_each(|row| row.key.counterfactual = "".into());
    table.iter_mut().take(2).for_each(|row| row.family = "clarify".into());
    table[0].flags = "sampled".into();
    let judged = |metric: &str, scope: GateSubject| {
        let mut q = question(GateSubject::Pair("a".into(), "b".into()), GateLimit::AtMost(0.25));
        (q.metric, q.scope) = (metric.into(), scope);
        let judged = judge(&[q], &table, None);
        let first = judged.table.first().map(|r| (r.value, r.scope.to_string()));
        (judged.verdict.expect("it counts"), first.expect("one row"))
    };
    let pair = |a: &str, b: &str| GateSubject::Pair(a.into(), b.into());
    assert_eq!(
        judged("ft", pair("Male", "Female")),
        (GateStatus::Pass, (Some(0.2), "pair".into())),
        "a sample is no small group"
    );
    assert_eq!(
        judged("ft", pair("Female", "Male")),
        (GateStatus::Inconclusive, (None, String::new()))
    );
    assert_eq!(
        judged("dppl", pair("", "Female")),
        (GateStatus::Fail, (Some(0.3), "one_vs_rest".into()))
    );
    assert_eq!(judged("demp_difference", pair("Other", "")).0, GateStatus::Fail);
    assert_eq!(
        judged("demp_difference", pair("", "Other")),
        (GateStatus::Pass, (Some(-0.4), "one_vs_rest".into()))
    );
    // Of several groups some are far apart by chance: a pair must bear it out.
    assert_eq!(
        judged("eodds", GateSubject::WorstCase),
        (GateStatus::Inconclusive, (Some(0.5), "worst_case".into()))
    );
    let mut pairs = table.clone();
    let near = of("pair", "Male", "Other", "eodds", 0.2);
    let far = of("pair", "Other", "Female", "eodds", 0.45);
    pairs.extend(metrics(&[near, far]).into_iter().map(|mut row| {
        row.key.counterfactual = "".into();
        row.family = "group".into();
        row.level = Some(0.95);
        row
    }));
    let decided = |table: &[MetricRow], limit: f64| {
        let mut q = question(GateSubject::WorstCase, GateLimit::AtMost(limit));
        (q.metric, q.counterfactual) = ("eodds".into(), String::new());
        let found = judge(&[q], table, None);
        let reason = found.table.first().map(|r| r.reason.to_string()).unwrap_or_default();
        (found.verdict.expect("it counts"), reason)
    };
    let (verdict, reason) = decided(&pairs, 0.25);
    assert_eq!(verdict, GateStatus::Fail);
    assert!(reason.contains("Other and Female") && reason.contains("Holm, 1 of 2"), "{reason}");
    // A group of a few people lies further still: it is too small to tell, and no excuse for the
    // others.
    let worst = pairs.iter().position(|row| row.key.scope == "worst_case").expect("a row");
    pairs[worst].flags = "small_group".into();
    let (verdict, reason) = decided(&pairs, 0.25);
    assert!(
        verdict == GateStatus::Fail
            && reason.contains(
                "too small for a conclusion, but the interval of Other and Female breaks"
            ),
        "{reason}"
    );
    let (verdict, reason) = decided(&pairs, 0.48);
    assert!(
        verdict == GateStatus::Inconclusive && reason == "too few for a conclusion: small_group",
        "{reason}"
    );
    // A worst case is not below 0, regardless of the order of a pair.
    let mut q = question(GateSubject::WorstCase, GateLimit::AtLeast(-0.1));
    (q.metric, q.counterfactual) = ("demp_difference".into(), String::new());
    let mut gaps = metrics(&[
        of("worst_case", "", "", "demp_difference", 0.45),
        of("pair", "Other", "Female", "demp_difference", 0.45),
    ]);
    gaps.iter_mut()
        .for_each(|row| (row.key.counterfactual, row.family) = ("".into(), "group".into()));
    let worst = gaps.iter().position(|row| row.key.scope == "worst_case").expect("a row");
    gaps[worst].flags = "small_group".into();
    assert_eq!(judge(&[q.clone()], &gaps, None).verdict, Some(GateStatus::Inconclusive));
    // Holm's method has the pairs of other attributes to mind, too.
    (q.limit, q.holm) = (GateLimit::AtMost(0.25), true);
    gaps.iter_mut().for_each(|row| row.level = 0.95.into());
    assert_eq!(judge(&[q.clone()], &gaps, None).verdict, Some(GateStatus::Inconclusive));
    q.holm = false;
    assert_eq!(judge(&[q.clone()], &gaps, None).verdict, Some(GateStatus::Fail));
    // The gap keeps a limit only where every pair does.
    q.limit = GateLimit::AtMost(0.5);
    gaps[worst].flags = "".into();
    assert_eq!(judge(&[q.clone()], &gaps, None).verdict, Some(GateStatus::Pass));
    gaps[1 - worst].hi = Some(0.6);
    let found = judge(&[q], &gaps, None);
    let reason = found.table.first().map(|row| row.reason.to_string()).unwrap_or_default();
    assert!(
        found.verdict == Some(GateStatus::Inconclusive) && reason.contains("Other and Female"),
        "{reason}"
    );
}

/// Counterfactuals that look like their rows test nothing, unless the model knows better.
#[test]
fn what_no_row_shows_is_not_passed() {
    let total = |metric: &'static str, value: f64| GateValueRow {
        scope: "total",
        from: "",
        to: "",
        metric,
        value: Some(value),
        lo: Some(value),
        hi: Some(value),
        denominator: Some(500),
    };
    let judged =
        |unshown: &[&str], sr: f64| judged_with(unshown, &[total("nsr", 0.0), total("sr", sr)]);
    fn judged_with(unshown: &[&str], values: &[GateValueRow]) -> (GateStatus, String) {
        let mut q = question(GateSubject::Total, GateLimit::AtMost(0.1));
        q.unshown = unshown
            .iter()
            .map(|&name| UnshownChange { attribute: name.to_owned(), direction: None })
            .collect();
        let judged = judge(&[q], &metrics(values), None);
        let reason = judged.table.first().map(|r| r.reason.to_string()).unwrap_or_default();
        (judged.verdict.expect("it counts"), reason)
    }
    assert_eq!(judged(&[], 0.0).0, GateStatus::Pass);
    let scores_move = [total("nsr", 0.0), total("sr", 0.0), total("rmscd", 0.03)];
    assert_eq!(
        judged_with(&["sex"], &scores_move).0,
        GateStatus::Pass,
        "scores moved, and no decision with them"
    );
    assert_eq!(judged(&["age"], 0.0).0, GateStatus::Pass, "another attribute");
    assert_eq!(judged(&["sex"], 0.02).0, GateStatus::Pass, "the model reads `to_group`");
    let (verdict, reason) = judged(&["sex"], 0.0);
    assert!(
        verdict == GateStatus::Inconclusive
            && reason.contains("no row that was scored shows `sex`"),
        "{reason}"
    );
}

#[test]
fn a_pair_is_turned_to_the_side_that_the_gate_asks_for() {
    // The table holds A = Male (reference), B = Female, and di = rate of B over rate of A.
    let di = GateValueRow {
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
        let judged = judge(
            &[question(GateSubject::Pair(a.into(), b.into()), GateLimit::AtLeast(0.85))],
            &metrics(&[GateValueRow { ..di }]),
            None,
        );
        let row = judged.table.first().map(|r| (r.value, r.lo, r.hi));
        row.expect("one row")
    };
    assert_eq!(of("Female", "Male"), (Some(0.8), Some(0.5), Some(0.9)));
    assert_eq!(of("Male", "Female"), (Some(1.25), Some(1.0 / 0.9), Some(2.0)));
}

/// Rates of 200 cases each, with Wilson's interval at 95 %, as the table of metrics has them.
fn rates(counts: &[i64]) -> Vec<MetricRow> {
    let names: Vec<String> = (0..counts.len()).map(|i| format!("g{i}")).collect();
    let values = counts.iter().zip(&names).map(|(&n, name)| {
        let rate = Rate { numerator: n as u64, denominator: 200, empty: Undefined::EmptyGroup };
        let interval = wilson(rate, z_of_level(0.95)).unwrap();
        GateValueRow {
            from: name,
            value: rate.value().ok(),
            lo: Some(interval.lo),
            hi: Some(interval.hi),
            denominator: Some(200),
            ..NSR
        }
    });
    let mut frame = metrics(&values.collect::<Vec<_>>());
    for (row, &n) in frame.iter_mut().zip(counts) {
        (row.numerator, row.level, row.interval) = (Some(n), Some(0.95), "wilson".into());
    }
    frame
}

/// At most 5 %. 17 of 200 breaks it at 95 % (5.37 to 13.2) and at 97.5 % (5.03 to 14.0), not at
/// 98.33 % (4.86 to 14.5); 19 and 40 do at each of these.
#[test]
fn holm_judges_the_kth_clearest_at_its_level() {
    let mut q = question(GateSubject::AnyDirection, GateLimit::AtMost(0.05));
    q.holm = true;
    let verdicts = |q: &GateQuestion, counts: &[i64]| {
        let judged = judge(std::slice::from_ref(q), &rates(counts), None);
        judged
            .table
            .iter()
            .map(|r| (r.verdict.to_string(), r.reason.to_string()))
            .collect::<Vec<_>>()
    };
    let found = verdicts(&q, &[17, 40, 19]);
    let words: Vec<&str> = found.iter().map(|f| f.0.as_str()).collect();
    assert_eq!(words, ["fail", "fail", "fail"], "{found:?}");
    assert_eq!(found[1].1, "the whole interval breaks the limit at 98.33 % (Holm, 1 of 3)");
    assert_eq!(found[2].1, "the whole interval breaks the limit at 97.5 % (Holm, 2 of 3)");
    assert_eq!(found[0].1, "the whole interval breaks the limit at 95 % (Holm, 3 of 3)");
    // Each alone breaks the limit, together none does: the clearest does not at its level, so no
    // other can.
    let alike = [17, 17, 17];
    assert!(
        verdicts(&q, &alike).iter().all(|f| f.0 == "inconclusive"),
        "{:?}",
        verdicts(&q, &alike)
    );
    assert!(verdicts(&q, &alike)[2].1.contains("but a clearer comparison does not"));
    q.holm = false;
    assert!(verdicts(&q, &alike).iter().all(|f| f.0 == "fail"));
    // What cannot be judged is none of the family.
    q.holm = true;
    q.min_cases = 201;
    assert_eq!(verdicts(&q, &alike)[0].1, "200 cases, 201 are required");
}

/// The interval that the table shows is the one that judged; at the level of the job it is that of
/// the job, regardless of its method.
#[test]
fn holm_of_one_is_no_holm() {
    for interval in ["newcombe", "katz", "block-bootstrap"] {
        let mut table = metrics(&[GateValueRow { scope: "direction", denominator: None, ..NSR }]);
        (table[0].level, table[0].interval) = (Some(0.95), interval.into());
        let mut q = question(GateSubject::AnyDirection, GateLimit::AtMost(0.10));
        let plain = judge(std::slice::from_ref(&q), &table, None);
        q.holm = true;
        let holm = judge(std::slice::from_ref(&q), &table, None);
        for (a, b) in plain.table.iter().zip(holm.table.iter()) {
            assert_eq!(a.verdict.as_str(), b.verdict.as_str());
            assert!(
                [(a.lo, b.lo), (a.hi, b.hi)]
                    .iter()
                    .all(|(x, y)| (x.unwrap() - y.unwrap()).abs() < 1e-12),
                "{interval}"
            );
            assert_eq!(
                (a.rule.as_str(), b.rule.as_str()),
                ("at_most, interval", "at_most, interval, holm")
            );
        }
    }
}

/// The interval across graphs keeps a limit that the interval of people does not; of a single graph
/// there is none.
#[test]
fn graphs_decide_where_the_gate_asks_them() {
    let mut frame = metrics(&[NSR]);
    let asked = |limit: f64, decide_by| GateQuestion {
        decide_by,
        ..question(GateSubject::Direction("Female".into(), "Male".into()), GateLimit::AtMost(limit))
    };
    let verdict = |frame: &[MetricRow], limit, decide_by| {
        judge(&[asked(limit, decide_by)], frame, None).verdict
    };
    assert_eq!(verdict(&frame, 0.15, GateDecideBy::Worlds), Some(GateStatus::Inconclusive));
    frame[0].world_lo = Some(0.12);
    frame[0].world_hi = Some(0.14);
    assert_eq!(verdict(&frame, 0.15, GateDecideBy::Interval), Some(GateStatus::Inconclusive));
    assert_eq!(verdict(&frame, 0.15, GateDecideBy::Worlds), Some(GateStatus::Pass));
    assert_eq!(verdict(&frame, 0.13, GateDecideBy::Worlds), Some(GateStatus::Inconclusive));
    assert_eq!(verdict(&frame, 0.11, GateDecideBy::Worlds), Some(GateStatus::Fail));
    let table = judge(&[asked(0.15, GateDecideBy::Worlds)], &frame, None).table;
    assert!(
        table.iter().all(|row| row.reason.as_str()
            == "the whole interval over graphs and refits keeps the limit"),
        "{:?}",
        table
    );
}

/// The line of a gate that the interval over graphs decides has the level of that interval, says
/// that few bootstraps are few, and that the mean lies outside of it.
#[test]
fn the_line_of_a_gate_on_graphs_says_how_much_its_interval_is_worth() {
    let mut frame = metrics(&[NSR]);
    frame[0].level = Some(0.9);
    frame[0].world_level = Some(0.95);
    let reason = |frame: &[MetricRow], bootstraps, decide_by| {
        let asked = GateQuestion {
            bootstraps: Some(bootstraps),
            decide_by,
            ..question(direction(), GateLimit::AtMost(0.15))
        };
        let table = judge(&[asked], frame, None).table;
        table.first().map(|row| row.reason.to_string()).expect("one row")
    };
    let ends = |frame: &mut Vec<MetricRow>, lo: f64, hi: f64| {
        frame[0].world_lo = Some(lo);
        frame[0].world_hi = Some(hi);
    };
    ends(&mut frame, 0.12, 0.14);
    let plain = "the whole 95 % interval over graphs and refits keeps the limit";
    assert_eq!([40, 100].map(|n| reason(&frame, n, GateDecideBy::Worlds)), [plain; 2]);
    let few = "; it is based on 10 bootstraps, fewer than 40, so another seed may change its ends \
               greatly";
    assert_eq!(reason(&frame, 10, GateDecideBy::Worlds), format!("{plain}{few}"));
    // One bootstrap, or none, has refitted nothing: there is no such interval.
    for n in [0, 1] {
        assert_eq!(
            reason(&frame, n, GateDecideBy::Worlds),
            "no refit of the coefficients was measured: add `bootstraps` to the set; 100 is usual"
        );
    }
    assert_eq!(reason(&frame, 10, GateDecideBy::Interval), "the limit lies inside the interval");
    // The value is 0.131.
    ends(&mut frame, 0.0, 0.0);
    let outside = "; the mean over graphs lies outside it, because a few graphs differ greatly \
                   from the others";
    assert_eq!(reason(&frame, 100, GateDecideBy::Worlds), format!("{plain}{outside}"));
}

/// Fits decide where the gate asks them, and every doubt together only where each of them does.
#[test]
fn fits_and_all_doubts_decide_where_the_gate_asks_them() {
    let mut frame = metrics(&[NSR]);
    let ruled = |frame: &[MetricRow], limit: f64, decide_by| {
        let asked = GateQuestion { decide_by, ..question(direction(), GateLimit::AtMost(limit)) };
        let judged = judge(&[asked], frame, None);
        let row = judged.table.first().expect("one row");
        (judged.verdict.unwrap(), row.reason.to_string(), row.lo.zip(row.hi), row.clone())
    };
    let (verdict, reason, ..) = ruled(&frame, 0.15, GateDecideBy::Fit);
    assert_eq!(verdict, GateStatus::Inconclusive);
    assert!(reason.contains("add `doubt: {fit: 20}` to it"), "{reason}");
    // People: 0.082 to 0.202.
    (frame[0].fit_lo, frame[0].fit_hi, frame[0].fit_repeats) = (Some(0.12), Some(0.25), Some(20));
    let few = "; it is based on 20 fits, fewer than 40, so another seed may change its ends";
    let (verdict, reason, ends, row) = ruled(&frame, 0.1, GateDecideBy::Fit);
    assert_eq!((verdict, ends), (GateStatus::Fail, Some((0.12, 0.25))));
    assert_eq!(reason, format!("the whole range over 20 fits breaks the limit{few}"));
    assert_eq!(row.rule.as_str(), "at_most, fit");
    assert_eq!(row.needed_how.as_ref().unwrap().as_str(), "by_fit");
    let of_all = |limit| ruled(&frame, limit, GateDecideBy::All);
    let (verdict, reason, ends, row) = of_all(0.1);
    assert_eq!((verdict, ends), (GateStatus::Inconclusive, Some((0.082, 0.25))));
    let inside = "the limit lies inside the range over people and 20 fits";
    assert_eq!(reason, format!("{inside}{few}"));
    assert_eq!((row.rule.as_str(), row.level.as_str()), ("at_most, all", "fail"));
    assert_eq!(row.needed_how.as_ref().unwrap().as_str(), "by_all");
    assert_eq!(
        [0.22, 0.25, 0.08].map(|limit| of_all(limit).0),
        [GateStatus::Inconclusive, GateStatus::Pass, GateStatus::Fail]
    );
    // Many fits need no caution; a doubt without ends decides nothing.
    frame[0].fit_repeats = Some(40);
    let plain = "the whole range over people and 40 fits keeps the limit";
    assert_eq!(ruled(&frame, 0.25, GateDecideBy::All).1, plain);
    frame[0].fit_lo = None;
    let (verdict, reason, ..) = ruled(&frame, 0.25, GateDecideBy::All);
    assert_eq!(verdict, GateStatus::Inconclusive);
    assert!(reason.contains("none over 40 fits: fewer than 95 % of the repeats"), "{reason}");
    // Trainings decide alone, and are one of all doubts.
    (frame[0].fit_lo, frame[0].training_repeats) = (Some(0.12), Some(5));
    (frame[0].training_lo, frame[0].training_hi) = (Some(0.05), Some(0.14));
    let (verdict, reason, ..) = ruled(&frame, 0.14, GateDecideBy::Training);
    assert_eq!(verdict, GateStatus::Pass);
    assert!(reason.starts_with("the whole range over 5 trainings keeps the limit; it is based on"));
    let (verdict, reason, ends, _) = ruled(&frame, 0.25, GateDecideBy::All);
    assert_eq!((verdict, ends), (GateStatus::Pass, Some((0.05, 0.25))));
    assert!(reason.starts_with("the whole range over people, 40 fits and 5 trainings keeps"));
    // The value, 0.131, need not lie in the range: on the other side of the limit it decides
    // nothing.
    (frame[0].training_hi, frame[0].fit_repeats) = (Some(0.125), Some(20));
    let (verdict, reason, ..) = ruled(&frame, 0.13, GateDecideBy::Training);
    assert_eq!(verdict, GateStatus::Inconclusive);
    let both = "the whole range over 5 trainings keeps the limit, but the value itself breaks it";
    assert!(reason.starts_with(both), "{reason}");
    let (_, reason, ..) = ruled(&frame, 0.13, GateDecideBy::All);
    assert!(reason.contains("it is based on 20 fits and 5 trainings, fewer than 40"), "{reason}");
    frame[0].training_repeats = None;
    // Graphs are a doubt of the set, too.
    frame[0].fit_repeats = None;
    (frame[0].n_worlds, frame[0].world_lo, frame[0].world_hi) = (Some(9), Some(0.1), Some(0.3));
    let (verdict, reason, ends, _) = ruled(&frame, 0.3, GateDecideBy::All);
    assert_eq!((verdict, ends), (GateStatus::Pass, Some((0.082, 0.3))));
    assert!(reason.starts_with("the whole range over people and graphs and refits"), "{reason}");
}

/// An interval over graphs in which nothing was refitted passes nothing, and breaks nothing.
#[test]
fn graphs_that_were_fitted_once_decide_nothing() {
    let mut frame = metrics(&[NSR]);
    frame[0].world_lo = Some(0.12);
    frame[0].world_hi = Some(0.14);
    let verdict = |limit: f64, bootstraps: u64| {
        let asked = GateQuestion {
            bootstraps: Some(bootstraps),
            decide_by: GateDecideBy::Worlds,
            ..question(direction(), GateLimit::AtMost(limit))
        };
        let judged = judge(&[asked], &frame, None);
        let row = judged.table.first().expect("one row");
        assert_eq!(row.lo.is_some() && row.hi.is_some(), bootstraps > 1);
        judged.verdict
    };
    let verdicts = [GateStatus::Pass, GateStatus::Fail].map(Some);
    assert_eq!([0.15, 0.1].map(|limit| verdict(limit, 2)), verdicts);
    for n in [0, 1] {
        let none = [Some(GateStatus::Inconclusive); 2];
        assert_eq!([0.15, 0.1].map(|limit| verdict(limit, n)), none);
    }
}

/// A gate on the graphs themselves says that few bootstraps are few, too.
#[test]
fn a_gate_on_graphs_themselves_says_what_it_rests_on() {
    let graphs = GateValueRow {
        scope: "total",
        from: "",
        to: "",
        metric: "h_ga",
        value: Some(0.2),
        lo: None,
        hi: None,
        denominator: None,
    };
    let reason = |metric: &str, bootstraps: Option<u64>| {
        let asked = GateQuestion {
            metric: metric.into(),
            bootstraps,
            decide_by: GateDecideBy::Estimate,
            ..question(GateSubject::Total, GateLimit::AtMost(0.5))
        };
        let row = GateValueRow { metric, ..graphs };
        let table = judge(&[asked], &metrics(&[row]), None).table;
        table.first().map(|row| row.reason.to_string()).expect("one row")
    };
    let plain = "the value keeps the limit";
    assert_eq!(reason("h_ga", Some(40)), plain);
    for metric in ["h_g", "h_ga", "n_graphs"] {
        let few =
            "; it is based on 39 bootstraps, fewer than 40, so another seed may change it greatly";
        assert_eq!(reason(metric, Some(39)), format!("{plain}{few}"));
    }
    let one = "; it is based on 1 bootstrap, fewer than 40, so another seed may change it greatly";
    assert_eq!(reason("h_ga", Some(1)), format!("{plain}{one}"));
    assert!(reason("h_ga", Some(0)).contains("it is based on the training rows without"));
    // An estimate of a rate is not one of graphs.
    assert_eq!([reason("nsr", Some(3)), reason("nsr", None)], [plain, plain]);
}

/// The line of a gate says that the graphs of its set may contradict domain knowledge, regardless
/// of the verdict.
#[test]
fn a_gate_says_that_the_attribute_follows_from_other_variables() {
    let reasons = |flags: &str, limit: f64| -> Vec<String> {
        let back = GateValueRow { from: "Male", to: "Female", ..NSR };
        let mut frame = metrics(&[NSR, back]);
        frame[0].flags = flags.into();
        let asked = question(GateSubject::AnyDirection, GateLimit::AtMost(limit));
        let table = judge(&[asked], &frame, None).table;
        table.iter().map(|row| row.reason.to_string()).collect()
    };
    let told = "; in the graphs of the set the attribute is an effect of other variables, which \
                may contradict domain knowledge";
    for (limit, plain) in [
        (0.3, "the whole interval keeps the limit"),
        (0.01, "the whole interval breaks the limit"),
        (0.1, "the limit lies inside the interval"),
    ] {
        let flagged = reasons("sampled,attribute_follows", limit);
        assert_eq!(flagged, [format!("{plain}{told}"), plain.to_owned()]);
        assert_eq!(reasons("sampled", limit), [plain; 2]);
    }
}

/// A change of the rate: status, old value, change, its interval, cases in the old run and in the
/// new.
type GateChangeRow<'a> = (&'a str, f64, Option<f64>, Option<(f64, f64)>, [i64; 2]);

fn changes(
    scope: &str,
    [from, to]: [&str; 2],
    metric: &str,
    (status, old, change, interval, cases): GateChangeRow<'_>,
) -> Vec<ChangeRow> {
    vec![ChangeRow {
        key: AuditKey {
            model: "m".into(),
            counterfactual: if scope == "pair" { "" } else { "flip" }.into(),
            sensitive: "sex".into(),
            scope: scope.into(),
            from_group: from.into(),
            to_group: to.into(),
            ..AuditKey::default()
        },
        metric: metric.into(),
        status: status.into(),
        old_value: Some(old),
        difference: change,
        lo: interval.map(|i| i.0),
        hi: interval.map(|i| i.1),
        level: interval.map(|_| 0.95),
        ci_method: "none: not drawn".into(),
        undefined: if change.is_none() { "old: empty_group" } else { "" }.into(),
        old_denominator: Some(cases[0]),
        new_denominator: Some(cases[1]),
        old_rows: cases[0],
        new_rows: cases[1],
        ..ChangeRow::default()
    }]
}

fn baseline_of<'a>(changes: &'a [ChangeRow], differs: &str) -> GateBaseline<'a> {
    GateBaseline { changes, rounded: &[], differing_definitions: differs.to_owned() }
}

fn against(scope: GateSubject, limit: GateLimit) -> GateQuestion {
    GateQuestion { quantity: GateQuantity::Change, ..question(scope, limit) }
}

/// The verdict, the reason and the row of a gate about a change from the baseline.
#[track_caller]
fn check_change(
    question: &GateQuestion,
    frame: &[ChangeRow],
    expected: GateStatus,
    reason: &str,
) -> GateRow {
    let baseline = baseline_of(frame, "models.m.threshold");
    let judged = judge(std::slice::from_ref(question), &metrics(&[NSR]), Some(&baseline));
    assert_eq!(judged.verdict, Some(expected));
    let row = judged.table.first().unwrap();
    assert!(row.reason.contains(reason), "{}", row.reason.as_str());
    judged.table[0].clone()
}

/// A run that trained its model again knows more doubt than the interval of a change holds.
#[test]
fn a_change_says_that_its_interval_leaves_out_other_trainings() {
    let women = ["Female", "Male"];
    let risen = ("compared", 0.131, Some(0.124), Some((0.027, 0.217)), [122, 137]);
    let frame = changes("direction", women, "nsr", risen);
    let baseline = baseline_of(&frame, "");
    let reason = |question: &GateQuestion, trainings: Option<i64>| {
        let mut own = metrics(&[NSR]);
        own[0].training_repeats = trainings;
        let judged = judge(std::slice::from_ref(question), &own, Some(&baseline));
        judged.table[0].reason.to_string()
    };
    let rise = |limit| against(direction(), GateLimit::AtMost(limit));
    let told = "; the interval of a change does not include the other trainings of the model";
    let broken = "the whole interval breaks the limit";
    // Also where too few of the trainings give the value.
    assert_eq!(reason(&rise(0.01), Some(5)), format!("{broken}{told}"));
    assert_eq!(reason(&rise(0.01), None), broken);
    assert!(reason(&rise(0.1), Some(5)).ends_with(told));
    let estimate = GateQuestion { decide_by: GateDecideBy::Estimate, ..rise(0.01) };
    assert_eq!(reason(&estimate, Some(5)), "the change breaks the limit");
}

#[test]
fn a_change_is_judged_by_its_own_interval() {
    let women = ["Female", "Male"];
    // 16 of 122, then 35 of 137.
    let published: GateChangeRow<'_> =
        ("compared", 0.131, Some(0.124), Some((0.027, 0.217)), [122, 137]);
    let frame = changes("direction", women, "nsr", published);
    let rise = |limit| against(direction(), GateLimit::AtMost(limit));
    let fall = |limit: f64| against(direction(), GateLimit::AtLeast(-limit));
    let row = check_change(&rise(0.01), &frame, GateStatus::Fail, "the whole interval breaks");
    assert_eq!((row.value, row.baseline_value, row.limit), (Some(0.124), Some(0.131), 0.01));
    assert_eq!((row.rule.as_str(), row.denominator), ("rise_at_most, interval", Some(122)));
    check_change(&rise(0.1), &frame, GateStatus::Inconclusive, "inside the interval");
    check_change(&rise(0.25), &frame, GateStatus::Pass, "keeps");
    let row = check_change(&fall(0.01), &frame, GateStatus::Pass, "keeps");
    assert_eq!(row.limit, 0.01);
    assert_eq!(row.rule, "fall_at_most, interval");
    let estimate = GateQuestion { decide_by: GateDecideBy::Estimate, ..rise(0.12) };
    check_change(&estimate, &frame, GateStatus::Fail, "the change breaks");
    // The fewer cases of both count.
    check_change(
        &GateQuestion { min_cases: 130, ..rise(0.25) },
        &frame,
        GateStatus::Inconclusive,
        "122 cases, 130 are required",
    );
    check_change(
        &GateQuestion { holm: true, ..rise(0.01) },
        &frame,
        GateStatus::Fail,
        "Holm, 1 of 1",
    );
}

#[test]
fn what_cannot_be_compared_is_never_a_pass() {
    let rise = against(direction(), GateLimit::AtMost(1.0));
    let women = ["Female", "Male"];
    for (change, reason) in [
        (("not_comparable", 0.1, None, None, [122, 137]), "another models.m.threshold"),
        (("only_new", 0.1, None, None, [0, 137]), "the baseline has no such value"),
        (
            ("only_old", 0.1, None, None, [122, 0]),
            "the baseline has such a value, the run does not",
        ),
        (("compared", 0.1, None, None, [122, 137]), "the change is undefined: old: empty_group"),
        (("compared", 0.1, Some(0.0), None, [122, 137]), "there is no interval"),
    ] {
        check_change(
            &rise,
            &changes("direction", women, "nsr", change),
            GateStatus::Inconclusive,
            reason,
        );
    }
    let other = changes(
        "direction",
        ["Male", "Female"],
        "nsr",
        ("compared", 0.1, Some(0.0), Some((0.0, 0.0)), [122, 137]),
    );
    check_change(&rise, &other, GateStatus::Inconclusive, "neither this run nor the baseline");
}

#[test]
fn without_a_baseline_a_gate_is_skipped() {
    let gates = [
        against(direction(), GateLimit::AtMost(0.0)),
        question(direction(), GateLimit::AtMost(0.5)),
    ];
    let judged = judge(&gates, &metrics(&[NSR]), None);
    assert_eq!(
        (judged.tally.skipped, judged.tally.pass, judged.verdict),
        (1, 1, Some(GateStatus::Pass))
    );
    assert_eq!(judged.worst.unwrap().limit, 0.5);
    let judged = judge(&gates[..1], &metrics(&[NSR]), None);
    assert_eq!((judged.tally.skipped, judged.verdict, judged.worst), (1, None, None));
    assert_eq!(judged.table.first().unwrap().verdict.as_str(), "skipped");
}

/// Groups in the other order: a difference changes its sign; the change of a reciprocal does not
/// follow from that of a ratio.
#[test]
fn changes_of_pairs_turn_with_the_question() {
    let pair = |first: &str, second: &str| GateSubject::Pair(first.into(), second.into());
    let change: GateChangeRow<'_> = ("compared", 0.2, Some(0.1), Some((0.05, 0.15)), [100, 100]);
    let gap = |scope, limit| GateQuestion {
        metric: "demp_difference".into(),
        counterfactual: String::new(),
        ..against(scope, limit)
    };
    let frame = changes("pair", ["Male", "Female"], "demp_difference", change);
    check_change(
        &gap(pair("Male", "Female"), GateLimit::AtMost(0.04)),
        &frame,
        GateStatus::Fail,
        "breaks",
    );
    let row = check_change(
        &gap(pair("Female", "Male"), GateLimit::AtMost(0.04)),
        &frame,
        GateStatus::Pass,
        "keeps",
    );
    assert_eq!(
        (row.value, row.lo, row.hi, row.baseline_value),
        (Some(-0.1), Some(-0.15), Some(-0.05), Some(-0.2))
    );
    // `di` is the second over the first.
    let frame = changes("pair", ["Male", "Female"], "di", change);
    check_change(
        &against(pair("Female", "Male"), GateLimit::AtMost(0.2)),
        &frame,
        GateStatus::Pass,
        "keeps",
    );
    check_change(
        &against(pair("Male", "Female"), GateLimit::AtMost(0.2)),
        &frame,
        GateStatus::Inconclusive,
        "`between` with Female before Male",
    );
}

/// Verdict and reason of the row that decides.
#[track_caller]
fn decided(q: &GateQuestion, table: &[MetricRow]) -> (GateStatus, String) {
    decided_of(q, table, &Vec::<GroupRow>::new())
}

#[track_caller]
fn decided_of(q: &GateQuestion, table: &[MetricRow], groups: &[GroupRow]) -> (GateStatus, String) {
    let tables = GateTables { metrics: table, groups, counts: &[] };
    let judged = super::judge(std::slice::from_ref(q), tables, None, &[]);
    let row = judged.table.iter().find(|row| row.decides == 1).expect("a row decides");
    (judged.verdict.expect("it counts"), row.reason.to_string())
}

/// Harm to women has two parts, against each other group; each is in a separate row with its
/// counts, and the worst decides.
#[test]
fn harm_is_judged_by_both_of_its_parts() {
    let part = |metric, from, to, value: f64| GateValueRow {
        metric,
        from,
        to,
        value: Some(value),
        lo: Some(value - 0.01),
        hi: Some(value + 0.01),
        ..NSR
    };
    let table = |denied: f64, favoured: f64| {
        metrics(&[
            part("denied_by_group", "Female", "Male", denied),
            part("favoured_by_group", "Female", "Male", 0.9),
            part("denied_by_group", "Male", "Female", 0.9),
            part("favoured_by_group", "Male", "Female", favoured),
            part("nsr", "Female", "Male", 0.9),
        ])
    };
    let mut q = question(GateSubject::HarmTo("Female".into()), GateLimit::AtMost(0.1));
    q.metric = HARM[0].into();
    let judged = judge(std::slice::from_ref(&q), &table(0.05, 0.3), None);
    let rows = judged.table.iter();
    let rows: Vec<_> = rows
        .map(|row| {
            (
                row.metric.as_str(),
                row.from_group.as_str(),
                row.verdict.as_str(),
                row.denominator,
                Some(row.decides),
            )
        })
        .collect();
    let expected = [
        ("denied_by_group", "Female", "pass", Some(122), Some(0)),
        ("favoured_by_group", "Male", "fail", Some(122), Some(1)),
    ];
    assert_eq!(rows, expected);
    assert_eq!(
        (judged.verdict, judged.worst.map(|w| w.metric)),
        (Some(GateStatus::Fail), Some("favoured_by_group".to_owned()))
    );
    assert_eq!(decided(&q, &table(0.05, 0.05)).0, GateStatus::Pass);
    assert_eq!(decided(&q, &table(0.5, 0.05)).0, GateStatus::Fail);
    assert_eq!(decided(&q, &table(0.1, 0.05)).0, GateStatus::Inconclusive);
    // An undefined part, and one that is not there, do not pass.
    let undefined = GateValueRow {
        value: None,
        lo: None,
        hi: None,
        ..part("favoured_by_group", "Male", "Female", 0.0)
    };
    let (verdict, reason) =
        decided(&q, &metrics(&[part("denied_by_group", "Female", "Male", 0.05), undefined]));
    assert!(
        verdict == GateStatus::Inconclusive && reason.contains("undefined: empty_group"),
        "{reason}"
    );
    let (verdict, reason) =
        decided(&q, &metrics(&[part("denied_by_group", "Female", "Male", 0.05)]));
    assert!(verdict == GateStatus::Inconclusive && reason.contains("not measured"), "{reason}");
    // Three groups: four parts, and a numerator where the rate has counts.
    let mut three = metrics(&[
        part("denied_by_group", "Female", "Male", 0.05),
        part("denied_by_group", "Female", "Other", 0.2),
        part("favoured_by_group", "Male", "Female", 0.05),
        part("favoured_by_group", "Other", "Female", 0.05),
        part("favoured_by_group", "Other", "Male", 0.9),
    ]);
    three[1].numerator = Some(24);
    let judged = judge(&[q], &three, None);
    let row = judged.table.iter().find(|row| row.decides == 1).unwrap();
    assert_eq!(
        (judged.table.len(), row.to_group.as_str(), row.verdict.as_str()),
        (4, "Other", "fail")
    );
    assert_eq!(row.numerator, Some(24));
}

/// A group without a value has no part in the furthest two, so that these keep a limit says nothing
/// of it.
#[test]
fn the_furthest_groups_do_not_pass_for_a_group_without_a_value() {
    let value = |scope, from, to, value: Option<f64>| GateValueRow {
        scope,
        from,
        to,
        metric: "tpr_difference",
        value,
        lo: value.map(|v| v - 0.01),
        hi: value.map(|v| v + 0.01),
        denominator: None,
    };
    let mut table = metrics(&[
        value("worst_case", "", "", Some(0.03)),
        value("pair", "A", "B", Some(0.03)),
        value("pair", "A", "C", None),
        value("pair", "B", "C", None),
    ]);
    for row in &mut table {
        row.key.counterfactual = "".into();
    }
    let q = GateQuestion {
        metric: "tpr_difference".into(),
        counterfactual: String::new(),
        ..question(GateSubject::WorstCase, GateLimit::AtMost(0.1))
    };
    assert_eq!(decided(&q, &table).0, GateStatus::Pass);
    table[0].groups_undefined = Some(1);
    let (verdict, reason) = decided(&q, &table);
    assert!(
        verdict == GateStatus::Inconclusive
            && reason.contains("1 group has no value and was not measured: `C`"),
        "{reason}"
    );
    let broken =
        GateQuestion { limit: GateLimit::AtMost(0.01), decide_by: GateDecideBy::Estimate, ..q };
    assert_eq!(decided(&broken, &table).0, GateStatus::Fail, "what was seen breaks it");
}

/// A total keeps its limit for those it holds: a direction without a valid counterfactual is none
/// of them, nor one that no row shows.
#[test]
fn a_total_does_not_pass_for_a_direction_that_it_lacks() {
    let value = |scope, from, to, value: Option<f64>| GateValueRow {
        scope,
        from,
        to,
        metric: "sr",
        value,
        lo: value,
        hi: value,
        ..NSR
    };
    let all = |back: Option<f64>| {
        metrics(&[
            value("total", "", "", Some(0.0)),
            value("direction", "Female", "Male", Some(0.02)),
            value("direction", "Male", "Female", back),
        ])
    };
    let mut q = GateQuestion {
        metric: "sr".into(),
        ..question(GateSubject::Total, GateLimit::AtMost(0.1))
    };
    assert_eq!(decided(&q, &all(Some(0.0))).0, GateStatus::Pass);
    let (verdict, reason) = decided(&q, &all(None));
    assert!(
        verdict == GateStatus::Inconclusive
            && reason.contains("1 direction was not measured: `Male` to `Female`"),
        "{reason}"
    );
    // Nobody is in the group: then nobody is missing.
    assert_eq!(
        decided_of(&q, &all(None), &people(&[("Female", 90, 0, 0), ("Male", 0, 0, 0)])).0,
        GateStatus::Pass
    );
    // Somebody is in it, and nobody of them has a score.
    let unscored = people(&[("Female", 90, 0, 0), ("Male", 40, 0, 40)]);
    let (verdict, reason) = decided_of(&q, &all(None), &unscored);
    assert!(
        verdict == GateStatus::Inconclusive
            && reason.contains("1 direction was not measured: `Male` to `Female`"),
        "{reason}"
    );
    // A switch in any direction is explained by the directions of all switches.
    let any = GateQuestion { metric: "sr_any".into(), ..q.clone() };
    let mut table = all(None);
    table
        .extend(metrics(&[GateValueRow { metric: "sr_any", ..value("total", "", "", Some(0.0)) }]));
    let (verdict, reason) = decided(&any, &table);
    assert!(
        verdict == GateStatus::Inconclusive && reason.contains("`Male` to `Female`"),
        "{reason}"
    );
    // Of a crossed attribute only the part changes that no row shows.
    q.unshown = vec![UnshownChange {
        attribute: "sex".into(),
        direction: Some(["Male".into(), "Female".into()]),
    }];
    let (verdict, reason) = decided(&q, &all(Some(0.0)));
    assert!(
        verdict == GateStatus::Inconclusive && reason.contains("`Male` to `Female`"),
        "{reason}"
    );
    assert_eq!(decided(&q, &all(Some(0.01))).0, GateStatus::Pass, "the model must use `to_group`");
    let back =
        GateQuestion { scope: GateSubject::Direction("Male".into(), "Female".into()), ..q.clone() };
    let (verdict, reason) = decided(&back, &all(Some(0.0)));
    assert!(
        verdict == GateStatus::Inconclusive
            && reason.contains("no row that was scored shows `sex` from `Male` to `Female`"),
        "{reason}"
    );
    let forth = GateQuestion { scope: direction(), ..q };
    assert_eq!(
        decided(&forth, &all(Some(0.0))).0,
        GateStatus::Pass,
        "the other direction is shown"
    );
}

/// A verdict on an arm says in the same line what the audited model does.
#[test]
fn a_pass_of_an_arm_names_the_audited_model() {
    let at = |value: f64| GateValueRow {
        value: Some(value),
        lo: Some(value - 0.01),
        hi: Some(value + 0.01),
        ..NSR
    };
    let table = |arm: f64, plain: &[f64]| {
        let mut table = metrics(&[at(arm)]);
        table[0].key.arm = "augment/all".into();
        plain.iter().for_each(|value| table.extend(metrics(&[at(*value)])));
        table
    };
    let q =
        GateQuestion { arm: "augment/all".into(), ..question(direction(), GateLimit::AtMost(0.1)) };
    let (verdict, reason) = decided(&q, &table(0.02, &[0.31]));
    assert_eq!(verdict, GateStatus::Pass);
    assert_eq!(
        reason,
        "the whole interval keeps the limit; the audited model itself breaks the limit: 0.3100 \
         (0.3000 to 0.3200)"
    );
    assert!(
        decided(&q, &table(0.02, &[0.05]))
            .1
            .ends_with("the audited model itself keeps the limit: 0.0500 (0.0400 to 0.0600)")
    );
    assert!(decided(&q, &table(0.02, &[])).1.ends_with(
        "the audited model itself cannot be judged: the table of metrics has no such row"
    ));
    let plain = question(direction(), GateLimit::AtMost(0.1));
    assert!(!decided(&plain, &table(0.02, &[0.05])).1.contains("audited"));
    // Ends that are not those of people are called what they are.
    let mut drawn = table(0.02, &[0.11]);
    for row in &mut drawn {
        (row.training_lo, row.training_hi, row.training_repeats) =
            (Some(0.12), Some(0.13), Some(50));
    }
    let trained = GateQuestion { decide_by: GateDecideBy::Training, ..q.clone() };
    let reason = decided(&trained, &drawn).1;
    let own = "the audited model itself breaks the limit: 0.1100 (trainings 0.1200 to 0.1300)";
    assert!(reason.ends_with(own), "{reason}");
    // Each part of a gate on harm refers to the same part of the model.
    let part = |metric, from, to, value: f64| GateValueRow { metric, from, to, ..at(value) };
    let of_model = [
        part("denied_by_group", "Female", "Male", 0.03),
        part("favoured_by_group", "Male", "Female", 0.1),
    ];
    let mut both = metrics(&[
        part("denied_by_group", "Female", "Male", 0.02),
        part("favoured_by_group", "Male", "Female", 0.02),
    ]);
    both.iter_mut().for_each(|row| row.key.arm = "augment/all".into());
    both.extend(metrics(&of_model));
    let harm =
        GateQuestion { metric: HARM[0].into(), scope: GateSubject::HarmTo("Female".into()), ..q };
    let judged = judge(std::slice::from_ref(&harm), &both, None).table;
    let reasons: Vec<&str> = judged.iter().map(|row| row.reason.as_str()).collect();
    assert!(
        reasons[0]
            .ends_with("; the audited model itself keeps the limit: 0.0300 (0.0200 to 0.0400)"),
        "{reasons:?}"
    );
    assert!(
        reasons[1].contains("; the audited model itself is at 0.1000 (0.0900 to 0.1100): "),
        "{reasons:?}"
    );
}

/// Of the rows as they are, too, a total and a comparison with the rest leave out a group of which
/// nobody has a score.
#[test]
fn a_group_without_scores_is_not_passed() {
    for (scope, metric, q) in [
        ("total", "acc", GateSubject::Total),
        ("one_vs_rest", "demp_difference", GateSubject::Pair("Female".into(), String::new())),
    ] {
        let value = GateValueRow {
            scope,
            from: if scope == "total" { "" } else { "Female" },
            to: "",
            metric,
            ..NSR
        };
        let mut table = metrics(&[value]);
        table[0].key.counterfactual = "".into();
        let q = GateQuestion {
            metric: metric.into(),
            counterfactual: String::new(),
            ..question(q, GateLimit::AtMost(0.5))
        };
        let of = |n, without| {
            decided_of(
                &q,
                &table,
                &people(&[("", 90 + n, 0, without), ("Female", 90, 0, 0), ("Male", n, 0, without)]),
            )
        };
        assert_eq!(of(40, 39).0, GateStatus::Pass);
        assert_eq!(of(0, 0).0, GateStatus::Pass);
        let (verdict, reason) = of(40, 40);
        assert!(
            verdict == GateStatus::Inconclusive
                && reason.contains("1 group has no person who counts and was not measured: `Male`"),
            "{reason}"
        );
    }
}

/// A set that conditions on the label shows nothing of people without one.
#[test]
fn people_without_a_label_are_not_passed() {
    let people = people(&[("", 200, 31, 0), ("Female", 130, 0, 0), ("Male", 70, 31, 0)]);
    let forth = question(direction(), GateLimit::AtMost(0.5));
    let back = GateQuestion {
        scope: GateSubject::Direction("Male".into(), "Female".into()),
        ..forth.clone()
    };
    let total = GateQuestion { scope: GateSubject::Total, ..forth.clone() };
    let table = metrics(&[
        NSR,
        GateValueRow { from: "Male", to: "Female", ..NSR },
        GateValueRow { scope: "total", from: "", to: "", ..NSR },
    ]);
    for (q, passes) in [(&forth, true), (&back, false), (&total, false)] {
        assert_eq!(decided_of(q, &table, &people).0, GateStatus::Pass);
        let (verdict, reason) =
            decided_of(&GateQuestion { by_label: true, ..q.clone() }, &table, &people);
        assert_eq!(verdict == GateStatus::Pass, passes, "{reason}");
        let said = "31 people without a label have no counterfactual in `flip`, which conditions \
                    on the label";
        assert!(passes || verdict == GateStatus::Inconclusive && reason.contains(said), "{reason}");
    }
    let broken = GateQuestion { by_label: true, limit: GateLimit::AtMost(0.01), ..total };
    assert_eq!(decided_of(&broken, &table, &people).0, GateStatus::Fail, "what was seen breaks it");
}

/// Wilson's interval on people follows from their number at every level, as Wilson's own does: it
/// is not stretched.
#[test]
fn holm_knows_the_number_of_people() {
    for count in [0, 200] {
        let table = rates(&[count, count, 40]);
        let mut of_people = table.clone();
        of_people[..2].iter_mut().for_each(|row| row.interval = "wilson-people".into());
        // Between what the interval is at the level of the first comparison and what stretching
        // that of 95 % would give.
        for limit in [0.015, 0.025, 0.5, 0.975, 0.985]
            .map(GateLimit::AtMost)
            .into_iter()
            .chain([0.975, 0.985].map(GateLimit::AtLeast))
        {
            let q = GateQuestion { holm: true, ..question(GateSubject::AnyDirection, limit) };
            let [plain, found] = [&table, &of_people]
                .map(|table| judge(std::slice::from_ref(&q), table, None).table);
            for (a, b) in plain.iter().zip(found.iter()) {
                assert_eq!(
                    (a.verdict.as_str(), a.reason.as_str()),
                    (b.verdict.as_str(), b.reason.as_str())
                );
                assert!(
                    [(a.lo, b.lo), (a.hi, b.hi)]
                        .iter()
                        .all(|(x, y)| (x.unwrap() - y.unwrap()).abs() < 1e-9)
                );
            }
        }
    }
    // Distances of scores where nobody's moves: u, its root, and u to both sides.
    let ends = |name: &str, from: fn(f64) -> (f64, f64)| {
        let mut table = rates(&[0, 0, 0]);
        for row in &mut table {
            let ends = from(row.hi.expect("an end"));
            (row.metric, row.value, row.interval) = (name.into(), Some(0.0), "wilson-moved".into());
            (row.lo, row.hi) = (Some(ends.0), Some(ends.1));
        }
        let q = GateQuestion {
            metric: name.into(),
            holm: true,
            ..question(GateSubject::AnyDirection, GateLimit::AtMost(0.9))
        };
        let judged = judge(&[q], &table, None).table;
        let row = judged.first().unwrap();
        (row.lo.unwrap(), row.hi.unwrap())
    };
    let z = z_of_level(1.0 - 0.05 / 3.0);
    let u = z * z / (200.0 + z * z);
    for (name, from) in [
        ("macd", (|u| (0.0, u)) as fn(f64) -> (f64, f64)),
        ("rmscd", |u| (0.0, u.sqrt())),
        ("mcd", |u| (-u, u)),
    ] {
        let found = [ends(name, from).0, ends(name, from).1];
        let expected = [from(u).0, from(u).1];
        assert!(
            found.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-9),
            "{name}: {found:?} instead of {expected:?}"
        );
    }
}

/// So does one on its change: the audited model is judged against the same baseline.
#[test]
fn a_change_of_an_arm_names_that_of_the_audited_model() {
    let women = ["Female", "Male"];
    let of = |change: f64, ends| {
        changes("direction", women, "nsr", ("compared", 0.1, Some(change), Some(ends), [122, 137]))
    };
    let frame = |plain: Option<Vec<ChangeRow>>| {
        let mut frame = of(0.005, (0.001, 0.008));
        frame[0].key.arm = "augment/all".into();
        frame.extend(plain.into_iter().flatten());
        frame
    };
    let q =
        GateQuestion { arm: "augment/all".into(), ..against(direction(), GateLimit::AtMost(0.01)) };
    let row = check_change(
        &q,
        &frame(Some(of(0.124, (0.027, 0.217)))),
        GateStatus::Pass,
        "the whole interval keeps the limit; ",
    );
    let reason = |row: &GateRow| row.reason.to_string();
    let breaks =
        "; the audited model itself breaks the limit: a change of 0.1240 (0.0270 to 0.2170)";
    assert!(reason(&row).ends_with(breaks), "{}", reason(&row));
    let row =
        check_change(&q, &frame(None), GateStatus::Pass, "the whole interval keeps the limit; ");
    let absent =
        "; the audited model itself cannot be judged: the table of changes has no such row";
    assert!(reason(&row).ends_with(absent), "{}", reason(&row));
    // Without a baseline nobody is judged.
    let skipped = judge(std::slice::from_ref(&q), &metrics(&[NSR]), None).table;
    assert_eq!(skipped.first().unwrap().reason.as_str(), "no baseline was given");
}

/// 146 women of whom 97 have both scores: 44 are refused as they are, 53 approved, and nobody
/// switches. Those who were not measured could break the limit, or not.
#[test]
fn people_without_a_score_or_counterfactual_may_break_the_limit() {
    let share = |scope, metric, denominator: i64, n_rows: i64| {
        let one = GateValueRow {
            scope,
            metric,
            value: Some(0.0),
            lo: Some(0.0),
            hi: Some(0.0),
            denominator: Some(denominator),
            ..NSR
        };
        let mut row = metrics(&[one]).remove(0);
        (row.numerator, row.n_rows) = (Some(0), n_rows);
        if scope == "total" {
            (row.key.from_group, row.key.to_group) = ("".into(), "".into());
        }
        row
    };
    let back = |metric, denominator| {
        let mut row = share("direction", metric, denominator, 200);
        (row.key.from_group, row.key.to_group) = ("Male".into(), "Female".into());
        row
    };
    let table = [
        share("direction", "sr", 97, 97),
        share("direction", "psr", 44, 97),
        share("direction", "nsr", 53, 97),
        share("direction", HARM[0], 44, 97),
        back("sr", 200),
        back("psr", 90),
        back("nsr", 110),
        back(HARM[1], 110),
        share("total", "sr", 297, 297),
    ];
    // Women: all, without a score, approved.
    let groups = |n, no_score, approved| {
        let mut rows = people(&[("Female", n, 0, no_score), ("Male", 200, 0, 0)]);
        rows[0].n_predicted_positive = approved;
        rows[1].n_predicted_positive = 110;
        rows
    };
    let gate = |metric: &str, scope, limit| GateQuestion {
        metric: metric.into(),
        ..question(scope, GateLimit::AtMost(limit))
    };
    let harm = |limit| gate(HARM[0], GateSubject::HarmTo("Female".into()), limit);
    let said = |q: &GateQuestion, groups: &[GroupRow]| decided_of(q, &table, groups);
    let check = |q: &GateQuestion, groups: &[GroupRow], words: &str| {
        let (verdict, reason) = said(q, groups);
        assert_eq!(verdict, GateStatus::Inconclusive, "{reason}");
        assert!(reason.ends_with(words), "{reason}");
    };
    // Without a score the decision is unknown, so all 49 may be refused: 49 of 44 + 49.
    let unscored = groups(146, 49, 53);
    let words = "but 49 of 146 people of `Female` have no score: if all of them switched, the \
                 share would be ";
    check(&harm(0.05), &unscored, &format!("{words}0.5269"));
    check(&gate("sr", direction(), 0.05), &unscored, &format!("{words}0.3356"));
    check(&gate("nsr", direction(), 0.05), &unscored, &format!("{words}0.4804"));
    let of_all = "but 49 of 346 changes to another group have no score: if all of them switched, \
                  the share would be 0.1416";
    check(&gate("sr", GateSubject::Total, 0.05), &unscored, of_all);
    // The decision is known, and only the counterfactual is not: 40 of the 49 are refused.
    let untested = groups(146, 0, 62);
    let words = "people of `Female` have no valid counterfactual with a score: if all of them \
                 switched, the share would be ";
    check(&harm(0.05), &untested, &format!("40 of 146 {words}0.4762"));
    check(&gate("nsr", direction(), 0.05), &untested, &format!("9 of 146 {words}0.1452"));
    // All 49 are approved: the share of the refused misses nobody.
    assert_eq!(said(&harm(0.05), &groups(146, 0, 102)).0, GateStatus::Pass);
    check(&gate("nsr", direction(), 0.05), &groups(146, 0, 102), "0.4804");
    // An arm has decisions of its own, so all 49 may be refused.
    let mut of_arm = table.clone();
    of_arm.iter_mut().for_each(|row| row.key.arm = "more/a".into());
    let q = GateQuestion { arm: "more/a".into(), ..gate("psr", direction(), 0.05) };
    let (verdict, reason) = decided_of(&q, &of_arm, &groups(146, 0, 102));
    assert!(verdict == GateStatus::Inconclusive && reason.contains("0.5269"), "{reason}");
    // The weight of everybody who was not measured counts.
    let mut weighed = groups(146, 49, 53);
    weighed[0].weight = Some(130.0);
    let mut rows = table.clone();
    rows[0].weight_denominator = Some(117.0);
    rows[1].weight_denominator = Some(52.0);
    let (_, reason) = decided_of(&gate("psr", direction(), 0.05), &rows, &weighed);
    assert!(reason.ends_with("the share would be 0.2000"), "13 of 52 + 13: {reason}");
    // Too few to break the limit, nobody, and a limit that is broken without them.
    assert_eq!(said(&harm(0.05), &groups(99, 2, 53)).0, GateStatus::Pass, "2 of 46 is 0.043");
    assert_eq!(said(&harm(0.04), &groups(99, 2, 53)).0, GateStatus::Inconclusive);
    assert_eq!(said(&harm(0.0), &groups(97, 0, 53)).0, GateStatus::Pass);
    assert_eq!(said(&harm(-0.1), &unscored).0, GateStatus::Fail);
    // The complement of a rate: nobody of them stays.
    let mut stays = share("direction", "cr", 97, 97);
    (stays.value, stays.lo, stays.hi) = (Some(1.0), Some(1.0), Some(1.0));
    let q = GateQuestion { limit: GateLimit::AtLeast(0.9), ..gate("cr", direction(), 0.0) };
    let (verdict, reason) = decided_of(&q, &[stays, table[0].clone()], &unscored);
    assert_eq!(verdict, GateStatus::Inconclusive, "{reason}");
    assert!(reason.ends_with("all of them switched, the share would be 0.6644"), "{reason}");
}

/// The same people in gaps of two directions, switches in any direction, changes and arms.
#[test]
fn people_who_were_not_measured_may_break_limits_on_gaps_and_changes() {
    let nsr = metrics(&[NSR]).remove(0);
    let share = |scope: &str, metric: &str, [from, to]: [&str; 2], n: i64| MetricRow {
        key: AuditKey {
            scope: scope.into(),
            from_group: from.into(),
            to_group: to.into(),
            ..nsr.key.clone()
        },
        metric: metric.into(),
        value: Some(0.0),
        lo: Some(0.0),
        hi: Some(0.0),
        numerator: (scope != "difference").then_some(0),
        denominator: (scope != "difference").then_some(n),
        n_rows: n,
        ..nsr.clone()
    };
    let (forth, back) = (["Female", "Male"], ["Male", "Female"]);
    let table = [
        share("direction", "sr", forth, 97),
        share("direction", "psr", forth, 44),
        share("direction", "sr", back, 200),
        share("direction", "psr", back, 90),
        share("difference", "sr", forth, 297),
        share("total", "sr_any", ["", ""], 297),
    ];
    let groups = |no_score| people(&[("Female", 146, 0, no_score), ("Male", 200, 0, 0)]);
    let gate = |metric: &str, scope, limit| GateQuestion {
        metric: metric.into(),
        counterfactual: "flip".into(),
        ..question(scope, limit)
    };
    let pair = |[a, b]: [&str; 2]| GateSubject::Pair(a.to_owned(), b.to_owned());
    let check = |q: &GateQuestion, words: &str| {
        let (verdict, reason) = decided_of(q, &table, &groups(49));
        assert_eq!(verdict, GateStatus::Inconclusive, "{reason}");
        assert!(reason.ends_with(words), "{reason}");
    };
    // 49 of 146 more women, and nobody else: seen from both sides.
    let worst = "as unevenly as they could, the difference would be ";
    check(&gate("sr", pair(forth), GateLimit::AtMost(0.05)), &format!("{worst}0.3356"));
    check(&gate("sr", pair(back), GateLimit::AtLeast(-0.05)), &format!("{worst}-0.3356"));
    let kept = gate("sr", pair(forth), GateLimit::AtLeast(-0.05));
    assert_eq!(decided_of(&kept, &table, &groups(49)).0, GateStatus::Pass);
    let any = gate("sr_any", GateSubject::Total, GateLimit::AtMost(0.05));
    check(&any, "all of them switched, the share would be 0.1416");
    // Of three groups each direction lacks 10 other people, so that nobody is left out of all.
    let three = [
        share("direction", "sr", ["A", "B"], 90),
        share("direction", "sr", ["A", "C"], 90),
        share("total", "sr_any", ["", ""], 100),
    ];
    let q = gate("sr_any", GateSubject::Total, GateLimit::AtMost(0.19));
    let (verdict, reason) = decided_of(&q, &three, &people(&[("A", 100, 0, 0)]));
    assert_eq!(verdict, GateStatus::Inconclusive, "{reason}");
    assert!(reason.ends_with("the share would be 0.2000"), "{reason}");
    // A change moves by those without a score only: a set discards the same people in both runs.
    let moved = changes("direction", forth, "sr", ("", 0.0, Some(0.0), Some((0.0, 0.0)), [97, 97]));
    let baseline = baseline_of(&moved, "");
    let q = GateQuestion { metric: "sr".into(), ..against(direction(), GateLimit::AtMost(0.05)) };
    let of_change = |no_score| {
        let groups = groups(no_score);
        let tables = GateTables { metrics: &table, groups: &groups, counts: &[] };
        let judged = super::judge(std::slice::from_ref(&q), tables, Some(&baseline), &[]);
        (judged.verdict, judged.table[0].reason.to_string())
    };
    let (verdict, reason) = of_change(49);
    assert_eq!(verdict, Some(GateStatus::Inconclusive));
    assert!(reason.ends_with("all of them switched, the change would be 0.3356"), "{reason}");
    assert_eq!(of_change(0).0, Some(GateStatus::Pass));
    // The decisions of an arm stand in the table of counts: of 146 women it refuses 44, who all
    // have a counterfactual, or 93: then 49 have none.
    let of_arm = table
        .clone()
        .map(|row| MetricRow { key: AuditKey { arm: "more/a".into(), ..row.key.clone() }, ..row });
    let arm = |refused: i64| {
        let count = |predicted: &str, n| CountRow {
            key: AuditKey {
                arm: "more/a".into(),
                model: "m".into(),
                sensitive: "sex".into(),
                scope: "group".into(),
                from_group: "Female".into(),
                ..AuditKey::default()
            },
            predicted: predicted.into(),
            n,
            ..CountRow::default()
        };
        let counts = [count("0", refused), count("1", 146 - refused)];
        let q = GateQuestion {
            arm: "more/a".into(),
            ..gate("psr", direction(), GateLimit::AtMost(0.05))
        };
        let groups = groups(0);
        let tables = GateTables { metrics: &of_arm, groups: &groups, counts: &counts };
        let judged = super::judge(std::slice::from_ref(&q), tables, None, &[]);
        (judged.verdict, judged.table[0].reason.to_string())
    };
    assert_eq!(arm(44).0, Some(GateStatus::Pass));
    let (verdict, reason) = arm(93);
    assert_eq!(verdict, Some(GateStatus::Inconclusive));
    assert!(reason.contains("the share would be 0.5269"), "{reason}");
}
