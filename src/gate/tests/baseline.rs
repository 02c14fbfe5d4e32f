//! Gates on a change against an earlier run.

use super::{against, asked, baseline_of, change, direction, judge, nsr, pair, question};
use crate::gate::decide_by::GateDecideBy;
use crate::gate::question::{GateLimit, GateQuantity, GateQuestion};
use crate::gate::reason::GateStatus;
use crate::table::{ChangeRow, GateRow, MetricRow};
use crate::tests::TextRow;

/// The verdict, the reason and the row of a gate about a change from the baseline.
#[track_caller]
pub(super) fn check_change(
    question: &GateQuestion,
    frame: &[ChangeRow],
    expected: GateStatus,
    reason: &str,
) -> GateRow {
    let baseline = baseline_of(frame, "models.m.threshold");
    let judged = judge(std::slice::from_ref(question), &[nsr()], Some(&baseline));
    assert_eq!(judged.verdict(), Some(expected));
    let row = judged.table.first().unwrap();
    assert!(row.reason.contains(reason), "{}", row.reason.as_str());
    judged.table[0].clone()
}

/// A run that trained its model again knows more doubt than the interval of a change holds.
#[test]
fn a_change_says_that_its_interval_leaves_out_other_trainings() {
    let frame = [change("")];
    let baseline = baseline_of(&frame, "");
    let reason = |question: &GateQuestion, trainings: Option<i64>| {
        let own = [MetricRow { training_repeats: trainings, ..nsr() }];
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
    let frame = [change("")];
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
    let lacks = "difference=, lo=, hi=, level=, undefined=old: empty_group";
    for (status, reason) in [
        ("status=not_comparable", "another models.m.threshold"),
        ("status=only_new, old_denominator=0", "the baseline has no such value"),
        ("status=only_old, new_denominator=0", "the baseline has such a value, the run does not"),
        ("status=compared", "the change is undefined: old: empty_group"),
        ("difference=0, undefined=", "there is no interval"),
    ] {
        let lacking = change(lacks).with(status);
        check_change(&rise, &[lacking], GateStatus::Inconclusive, reason);
    }
    let other = change("from_group=Male, to_group=Female");
    check_change(&rise, &[other], GateStatus::Inconclusive, "neither this run nor the baseline");
}

#[test]
fn without_a_baseline_a_gate_is_skipped() {
    let gates = [
        against(direction(), GateLimit::AtMost(0.0)),
        question(direction(), GateLimit::AtMost(0.5)),
    ];
    let judged = judge(&gates, &[nsr()], None);
    assert_eq!(
        (judged.tally.skipped, judged.tally.pass, judged.verdict()),
        (1, 1, Some(GateStatus::Pass))
    );
    assert_eq!(judged.worst.unwrap().limit, 0.5);
    let judged = judge(&gates[..1], &[nsr()], None);
    assert_eq!((judged.tally.skipped, judged.verdict(), judged.worst), (1, None, None));
    assert_eq!(judged.table.first().unwrap().verdict.as_str(), "skipped");
}

/// Groups in the other order: a difference changes its sign; the change of a reciprocal does not
/// follow from that of a ratio.
#[test]
fn changes_of_pairs_turn_with_the_question() {
    let change = |metric: &str, cells: &str| {
        change("counterfactual=, scope=pair, from_group=Male, to_group=Female, old_value=0.2")
            .with(&format!("difference=0.1, lo=0.05, hi=0.15, metric={metric}, {cells}"))
    };
    let gap = |scope, limit| GateQuestion {
        quantity: GateQuantity::Change,
        ..asked("demp_difference", scope, limit)
    };
    let frame = [change("demp_difference", "")];
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
    // `di` is the second over the first, and each order has its row.
    let turned = "from_group=Female, to_group=Male, old_value=5, difference=4, lo=-1.5, hi=-0.5";
    let frame = [change("di", ""), change("di", turned)];
    check_change(
        &against(pair("Female", "Male"), GateLimit::AtMost(0.2)),
        &frame,
        GateStatus::Pass,
        "keeps",
    );
    check_change(
        &against(pair("Male", "Female"), GateLimit::AtLeast(-0.2)),
        &frame,
        GateStatus::Fail,
        "breaks",
    );
}
