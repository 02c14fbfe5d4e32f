//! One value against its limit: pass, fail or inconclusive, and what keeps a value from being
//! judged.

use super::{asked, direction, gap, judge, nsr, pair, question};
use crate::gate::decide_by::GateDecideBy;
use crate::gate::question::{GateLimit, GateQuestion, GateSubject, GateTables};
use crate::gate::reason::GateStatus;
use crate::table::{CountRow, MetricRow};
use crate::tests::Says;
use crate::tests::TextRow;

/// Cells of a value that is undefined.
const UNDEFINED: &str = "value=, lo=, hi=, undefined=empty_group";

#[test]
fn the_published_counts_are_inconclusive_at_a_tenth() {
    // 16 of 122, 13.1 % (8.2 to 20.2): above the limit, but 122 cases cannot show it.
    let judged = judge(&[question(direction(), GateLimit::AtMost(0.10))], &[nsr()], None);
    assert_eq!(judged.verdict(), Some(GateStatus::Inconclusive));
    assert_eq!(judged.tally.inconclusive, 1);
    let worst = judged.worst.expect("there is one gate");
    assert_eq!((worst.value, worst.n, worst.limit), (Some(0.131), Some(122), 0.10));
}

/// What is enough is counted in those who carry information: persons, and people who weigh.
#[test]
fn people_of_weight_zero_are_not_enough() {
    let reason = |weight: Option<f64>, below| {
        let table = [MetricRow {
            weight_denominator: weight,
            ..nsr().with(&format!("n_persons=150, denominator_persons={below}"))
        }];
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
    let count = |group: &str, n| {
        CountRow::of(&format!(
            "model=m, sensitive=sex, scope=group, from_group={group}, predicted=1, n={n}"
        ))
    };
    let ratio = |level, interval: &str, flags: &str| {
        gap("pair", ["Female", "Male"], "demp_ratio", [1.0; 3])
            .with(&format!("level={level}, interval={interval}, flags={flags}"))
    };
    let judged = |row: MetricRow, counts: &[CountRow], limit, holm| {
        let q = GateQuestion { holm, ..asked("demp_ratio", pair("Female", "Male"), limit) };
        let tables = GateTables { metrics: &[row], counts, ..GateTables::default() };
        let row = crate::gate::judge(&[q], tables, None, &[]).table.remove(0);
        (row.verdict.to_string(), row.reason.to_string(), row.needed_how.to_string())
    };
    let counts = [count("Female", 80), count("Male", 500)];
    let katz = |level, flags| ratio(level, "katz", flags);
    for holm in [false, true] {
        let of = |limit| judged(katz(0.95, "rate_of_one"), &counts, limit, holm);
        let (verdict, why, how) = of(GateLimit::AtLeast(0.995));
        assert_eq!((verdict.as_str(), how.as_str()), ("inconclusive", "boundary"), "{why}");
        why.says(&["takes a rate of 1 as certain: with the doubt"]);
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
    let group = |group: &str, n_eff| {
        MetricRow::of(&format!(
            "model=m, sensitive=sex, scope=group, from_group={group}, metric=pprev, value=1.0, \
             denominator=800, denominator_persons=80, n_eff={n_eff}"
        ))
    };
    let rows =
        [ratio(0.95, "katz-deff", "rate_of_one"), group("Female", 80.0), group("Male", 500.0)];
    let q = |least| asked("demp_ratio", pair("Female", "Male"), GateLimit::AtLeast(least));
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
    let table = [nsr().with("counterfactual=, scope=pair, metric=mcc_ratio, flags=negative_part")];
    let q = asked("mcc_ratio", pair("Female", "Male"), GateLimit::AtMost(0.9));
    let row = judge(&[q], &table, None).table.remove(0);
    assert_eq!(row.verdict.as_str(), "inconclusive");
    assert!(row.reason.as_str().ends_with("judge the difference"), "{}", row.reason.as_str());
}

#[test]
fn the_interval_decides() {
    let verdict = |limit| judge(&[question(direction(), limit)], &[nsr()], None).verdict();
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
    assert_eq!(judge(std::slice::from_ref(&q), &[nsr()], None).verdict(), Some(GateStatus::Pass));
    q.limit = GateLimit::AtMost(0.13);
    assert_eq!(judge(&[q], &[nsr()], None).verdict(), Some(GateStatus::Fail));
}

#[test]
fn too_few_cases_undefined_values_and_absent_rows_are_never_a_pass() {
    let mut q = question(direction(), GateLimit::AtMost(0.9));
    q.min_cases = 123;
    assert_eq!(
        judge(std::slice::from_ref(&q), &[nsr()], None).verdict(),
        Some(GateStatus::Inconclusive)
    );
    q.min_cases = 122;
    assert_eq!(judge(std::slice::from_ref(&q), &[nsr()], None).verdict(), Some(GateStatus::Pass));
    assert_eq!(
        judge(std::slice::from_ref(&q), &[nsr().with(UNDEFINED)], None).verdict(),
        Some(GateStatus::Inconclusive)
    );
    assert_eq!(judge(&[q], &[], None).verdict(), Some(GateStatus::Inconclusive));
}

/// What is missing is in the reason.
#[test]
fn reasons_say_what_is_missing() {
    let reason = |q: GateQuestion, row: MetricRow| {
        let judged = judge(&[q], &[row], None);
        assert_eq!(judged.verdict(), Some(GateStatus::Inconclusive));
        judged.table.first().unwrap().reason.to_string()
    };
    let nobody = reason(question(direction(), GateLimit::AtMost(0.9)), nsr().with(UNDEFINED));
    nobody.says(&["empty_group: No row of the group"]);
    let any = asked("sr_any", GateSubject::Total, GateLimit::AtMost(0.9));
    reason(any, nsr()).says(&["needs three groups or more"]);
    let absent = reason(question(GateSubject::Total, GateLimit::AtMost(0.9)), nsr());
    absent.says(&["no such row"]);
}

/// Labels that are missing for some more than for others say nothing about all, regardless of what
/// decides.
#[test]
fn selective_labels_are_never_a_pass() {
    for decide_by in [GateDecideBy::Interval, GateDecideBy::Estimate] {
        let q = GateQuestion { decide_by, ..question(direction(), GateLimit::AtMost(0.9)) };
        let mut table = [nsr()];
        assert_eq!(judge(std::slice::from_ref(&q), &table, None).verdict(), Some(GateStatus::Pass));
        table[0].flags = "sampled,selective_labels".into();
        let judged = judge(&[q], &table, None);
        assert_eq!(judged.verdict(), Some(GateStatus::Inconclusive));
        let code = judged.table.first().unwrap().reason_code.clone();
        assert_eq!(code, "selective-labels");
    }
}

#[test]
fn a_gap_that_rests_on_a_small_group_is_never_a_pass() {
    let mut q = question(pair("Female", "Male"), GateLimit::AtLeast(0.8));
    q.decide_by = GateDecideBy::Estimate;
    let mut table = [gap("pair", ["Male", "Female"], "di", [0.9, 0.5, 0.95])];
    let verdict = |q: &GateQuestion, table: &[MetricRow]| {
        judge(std::slice::from_ref(q), table, None).verdict()
    };
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
    let back = nsr().with("from_group=Male, to_group=Female, value=0.02, lo=0.01, hi=0.03");
    let mut q = question(GateSubject::AnyDirection, GateLimit::AtMost(0.05));
    let judged = judge(std::slice::from_ref(&q), &[nsr(), back], None);
    assert_eq!(judged.verdict(), Some(GateStatus::Fail));
    assert_eq!(judged.table.len(), 2);
    let deciding: Vec<&str> =
        judged.table.iter().filter(|r| r.decides == 1).map(|r| r.from_group.as_str()).collect();
    assert_eq!(deciding, ["Female"]);
    q.warn_only = true;
    let judged = judge(&[q], &[nsr()], None);
    assert_eq!((judged.verdict(), judged.tally.warn, judged.tally.fail), (None, 1, 0));
}
