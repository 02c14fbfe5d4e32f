//! Passes that must withstand a hidden cause.

use super::{direction, nsr, question};
use crate::gate::hidden_cause::{asks, verdict};
use crate::gate::judge;
use crate::gate::question::{GateLimit, GateQuestion, GateSubject, GateTables};
use crate::gate::reason::GateStatus;
use crate::table::{ANY_TARGET, HiddenCauseRow, JudgedRateKey};
use crate::tests::TextRow;

/// What the table has about the gate `g` without a hidden cause, and where each push turns it.
fn rows(verdict: &str, turns: [Option<f64>; 2], undefined: &str) -> Vec<HiddenCauseRow> {
    let row = |(push, turns_at): (&str, Option<f64>)| HiddenCauseRow {
        key: JudgedRateKey::new(&nsr(), "g"),
        turns_at,
        ..HiddenCauseRow::of(&format!(
            "target={ANY_TARGET}, push={push}, verdict={verdict}, undefined={undefined}"
        ))
    };
    ["up", "down"].into_iter().zip(turns).map(row).collect()
}

#[test]
fn a_pass_that_turns_too_early_is_taken_back_and_a_fail_is_not() {
    let metrics = [nsr()];
    let judged = |limit: f64, withstands: Option<f64>, hidden: &[HiddenCauseRow]| {
        let q = GateQuestion { withstands, ..question(direction(), GateLimit::AtMost(limit)) };
        let tables = GateTables { metrics: &metrics, hidden, ..GateTables::default() };
        let row = judge(&[q], tables, None, &[]).table.remove(0);
        [row.verdict, row.reason_code].map(|text| text.to_string())
    };
    let turns = rows("pass", [Some(0.031), None], "");
    assert_eq!(judged(0.3, None, &turns), ["pass", "limit-kept"], "nobody asks");
    assert_eq!(judged(0.3, Some(0.03), &turns), ["pass", "limit-kept"]);
    for withstands in [0.031, 0.05] {
        let found = judged(0.3, Some(withstands), &turns);
        assert_eq!(found, ["inconclusive", "hidden-cause"]);
    }
    // What could be done is not known, or the table has nothing.
    let unknown = rows("pass", [None, None], "nothing_follows");
    assert_eq!(judged(0.3, Some(0.01), &unknown)[1], "hidden-cause");
    assert_eq!(judged(0.3, Some(0.01), &[])[1], "hidden-cause");
    assert_eq!(judged(0.3, Some(0.01), &rows("inconclusive", [None; 2], ""))[1], "hidden-cause");
    // Nothing turns it; other gates and columns tell nothing of it.
    let never = rows("pass", [None, None], "");
    assert_eq!(judged(0.3, Some(0.9), &never), ["pass", "limit-kept"]);
    let other = |change: fn(&mut HiddenCauseRow)| {
        let mut of_other = rows("pass", [Some(0.001); 2], "");
        of_other.iter_mut().for_each(change);
        of_other.extend(never.clone());
        judged(0.3, Some(0.9), &of_other)[0].clone()
    };
    assert_eq!(other(|row| row.key.gate = "h".into()), "pass");
    assert_eq!(other(|row| row.key.model = "other".into()), "pass");
    assert_eq!(other(|row| row.target = "income".into()), "pass");
    // A fail stays a fail.
    let fails = rows("fail", [Some(0.001); 2], "");
    assert_eq!(judged(0.01, Some(0.9), &fails), ["fail", "limit-broken"]);
}

/// The rule of the gate itself says what other numbers would be.
#[test]
fn moved_numbers_are_judged_by_the_rule_of_the_gate() {
    let metrics = [nsr()];
    let of = |limit| question(direction(), GateLimit::AtMost(limit));
    let moved = |limit, value: f64| {
        let ends = Some((value - 0.01, value + 0.01));
        verdict(&of(limit), &metrics[0], Some((value, ends)))
    };
    assert_eq!(verdict(&of(0.3), &metrics[0], None), GateStatus::Pass);
    assert_eq!(moved(0.3, 0.25), GateStatus::Pass);
    assert_eq!(moved(0.3, 0.295), GateStatus::Inconclusive);
    assert_eq!(moved(0.3, 0.35), GateStatus::Fail);
    let few = GateQuestion { min_cases: 500, ..of(0.3) };
    assert_eq!(verdict(&few, &metrics[0], Some((0.9, Some((0.8, 1.0))))), GateStatus::Inconclusive);
    assert!(asks(&of(0.3), &metrics[0]));
    let total = question(GateSubject::Total, GateLimit::AtMost(0.3));
    assert!(!asks(&total, &metrics[0]));
    assert!(!asks(&GateQuestion { holm: true, ..of(0.3) }, &metrics[0]));
}
