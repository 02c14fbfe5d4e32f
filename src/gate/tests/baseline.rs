//! Gates on a change against an earlier run.

use super::*;

/// Judges a gate about the change from a baseline by other rules.
#[track_caller]
fn check_change(q: &GateQuestion, changes: &[ChangeRow], lines: &str) {
    let baseline = baseline_of(changes, "models.m.threshold");
    check(q, (by(&[nsr()]).0, Some(&baseline)), lines);
}

/// A run that trained its model again knows more doubt than the interval of a change holds.
#[test]
fn a_change_says_that_its_interval_leaves_out_other_trainings() {
    let frame = [change("")];
    let baseline = baseline_of(&frame, "");
    let of = |trainings: Option<i64>, lines: &str| {
        let own = [MetricRow { training_repeats: trainings, ..nsr() }];
        check(&against(direction()), (by(&own).0, Some(&baseline)), lines);
    };
    let told = "; the interval of a change does not include the other trainings of the model";
    // Also where too few of the trainings give the value.
    of(
        Some(5),
        &format!(
            "<= 0.01 | fail | =the whole interval breaks the limit{told}
             <= 0.1 | inconclusive | {told}$
             <= 0.01, estimate | fail | =the change breaks the limit"
        ),
    );
    of(None, "<= 0.01 | fail | =the whole interval breaks the limit");
}

#[test]
fn a_change_is_judged_by_its_own_interval() {
    let frame = [change("")];
    let q = against(direction());
    check_change(
        &q,
        &frame,
        "<= 0.01 | verdict=fail, value=0.124, baseline_value=0.131, limit=0.01, denominator=122, \
                   rule=rise_at_most, interval | the whole interval breaks
         <= 0.1 | inconclusive | inside the interval
         <= 0.25 | pass | keeps
         >= -0.01 | verdict=pass, limit=0.01, rule=fall_at_most, interval | keeps
         <= 0.12, estimate | fail | the change breaks
         <= 0.01, interval holm | fail | Holm, 1 of 1",
    );
    // The fewer cases of both count.
    let many = GateQuestion { min_cases: 130, ..q };
    check_change(&many, &frame, "<= 0.25 | inconclusive | 122 cases, 130 are required");
}

#[test]
fn what_cannot_be_compared_is_never_a_pass() {
    let lacks = "difference=, lo=, hi=, level=, undefined=old: empty_group";
    let q = against(direction());
    for (status, reason) in [
        ("status=not_comparable", "another models.m.threshold"),
        ("status=only_new, old_denominator=0", "the baseline has no such value"),
        ("status=only_old, new_denominator=0", "the baseline has such a value, the run does not"),
        ("status=compared", "the change is undefined: old: empty_group"),
        ("difference=0, undefined=", "there is no interval"),
    ] {
        let lacking = [change(lacks).with(status)];
        check_change(&q, &lacking, &format!("<= 1.0 | inconclusive | {reason}"));
    }
    let other = [change("from_group=Male, to_group=Female")];
    check_change(&q, &other, "<= 1.0 | inconclusive | neither this run nor the baseline");
}

#[test]
fn without_a_baseline_a_gate_is_skipped() {
    let gates =
        [asked_by(&against(direction()), "<= 0"), asked_by(&question(direction()), "<= 0.5")];
    let judged = judge(&gates, &by(&[nsr()]).0, None);
    let tally = (judged.tally.skipped, judged.tally.pass, judged.verdict());
    assert_eq!(tally, (1, 1, Some(GateStatus::Pass)));
    assert_eq!(judged.worst.unwrap().limit, 0.5);
    let judged = judge(&gates[..1], &by(&[nsr()]).0, None);
    assert_eq!((judged.tally.skipped, judged.verdict(), judged.worst), (1, None, None));
    assert_eq!(judged.table[0].verdict, "skipped");
}

/// Groups in the other order: a difference changes its sign; the change of a reciprocal does not
/// follow from that of a ratio.
/// A limit on a rise does not see that a gap became larger on the other side.
#[test]
fn a_gap_that_grew_on_the_other_side_is_remarked() {
    for (old, difference, says) in [
        (-0.05, -0.19, "the limit does not see a change the other way round .. by -0.1900"),
        (0.05, -0.29, "the limit does not see a change the other way round .. by -0.2900"),
        (0.3, -0.2, "=the whole interval keeps the limit"),
    ] {
        let changes = [change(&format!(
            "scope=pair, counterfactual=, metric=demp_difference, old_value={old}, \
             difference={difference}, lo={}, hi={}",
            difference - 0.05,
            difference + 0.05
        ))];
        let baseline = baseline_of(&changes, "");
        let q =
            GateQuestion { metric: "demp_difference".into(), ..against(pair("Female", "Male")) };
        let by = (GateTables::default(), Some(&baseline));
        check(&q, by, &format!("<= 0.02 | pass | {says}"));
    }
}

#[test]
fn changes_of_pairs_turn_with_the_question() {
    let change = |metric: &str, cells: &str| {
        change("counterfactual=, scope=pair, from_group=Male, to_group=Female, old_value=0.2")
            .with(&format!("difference=0.1, lo=0.05, hi=0.15, metric={metric}, {cells}"))
    };
    let gap = |scope: GateSubject| GateQuestion {
        metric: "demp_difference".into(),
        quantity: GateQuantity::Change,
        ..question(scope)
    };
    let frame = [change("demp_difference", "")];
    check_change(&gap(pair("Male", "Female")), &frame, "<= 0.04 | fail | breaks");
    let turned = "verdict=pass, value=-0.1, lo=-0.15, hi=-0.05, baseline_value=-0.2 | keeps";
    check_change(&gap(pair("Female", "Male")), &frame, &format!("<= 0.04 | {turned}"));
    // `di` is the second over the first, and each order has its row.
    let turned = "from_group=Female, to_group=Male, old_value=5, difference=4, lo=-1.5, hi=-0.5";
    let frame = [change("di", ""), change("di", turned)];
    check_change(&against(pair("Female", "Male")), &frame, "<= 0.2 | pass | keeps");
    check_change(&against(pair("Male", "Female")), &frame, ">= -0.2 | fail | breaks");
}
