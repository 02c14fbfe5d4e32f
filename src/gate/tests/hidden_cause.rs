//! Passes that must withstand a hidden cause.

use super::*;
use crate::gate::hidden_cause::{asks, verdict};
use crate::table::{ANY_TARGET, HiddenCauseRow, JudgedRateKey};

/// What the table has about the gate `g` without a hidden cause, and where each push turns it.
fn rows(cells: &str, turns: [&str; 2]) -> Vec<HiddenCauseRow> {
    let key = JudgedRateKey::new(&nsr(), "g");
    let of_gate = HiddenCauseRow { key, ..HiddenCauseRow::of(&format!("target={ANY_TARGET}")) };
    let [up, down] = turns;
    of_gate.with(cells).each(&format!("push | turns_at\n up | {up}\n down | {down}"))
}

#[test]
fn a_pass_that_turns_too_early_is_taken_back_and_a_fail_is_not() {
    let metrics = [nsr()];
    let of = |withstands: Option<f64>, hidden: &[HiddenCauseRow], line: &str| {
        let q = GateQuestion { withstands, ..question(direction()) };
        check(&q, (tables!(hidden, metrics), None), line);
    };
    let pass = "<= 0.3 | verdict=pass, reason_code=limit-kept";
    let open = "<= 0.3 | verdict=inconclusive, reason_code=hidden-cause";
    let turns = rows("verdict=pass", ["0.031", ""]);
    // Nobody asks.
    of(None, &turns, pass);
    of(Some(0.03), &turns, pass);
    of(Some(0.031), &turns, open);
    of(Some(0.05), &turns, open);
    // What could be done is not known, or the table has nothing.
    of(Some(0.01), &rows("verdict=pass, undefined=nothing_follows", [""; 2]), open);
    of(Some(0.01), &[], open);
    of(Some(0.01), &rows("verdict=inconclusive", [""; 2]), open);
    // Nothing turns it; other gates and columns tell nothing of it.
    let never = rows("verdict=pass", [""; 2]);
    of(Some(0.9), &never, pass);
    for other in ["gate=h", "model=other", "target=income"] {
        let of_other = rows(&format!("verdict=pass, {other}"), ["0.001"; 2]);
        of(Some(0.9), &[of_other, never.clone()].concat(), pass);
    }
    // A fail stays a fail.
    let fails = rows("verdict=fail", ["0.001"; 2]);
    of(Some(0.9), &fails, "<= 0.01 | verdict=fail, reason_code=limit-broken");
}

/// The rule of the gate itself says what other numbers would be.
#[test]
fn moved_numbers_are_judged_by_the_rule_of_the_gate() {
    let (row, q) = (nsr(), asked_by(&question(direction()), "<= 0.3"));
    let moved = |q: &GateQuestion, value: f64| {
        verdict(q, &row, Some((value, Some((value - 0.01, value + 0.01)))))
    };
    assert_eq!(verdict(&q, &row, None), GateStatus::Pass);
    let found = [0.25, 0.295, 0.35].map(|value| moved(&q, value));
    assert_eq!(found, [GateStatus::Pass, GateStatus::Inconclusive, GateStatus::Fail]);
    let few = GateQuestion { min_cases: 500, ..q.clone() };
    assert_eq!(moved(&few, 0.9), GateStatus::Inconclusive);
    assert!(asks(&q, &row));
    assert!(!asks(&asked_by(&question(GateSubject::Total), "<= 0.3"), &row));
    assert!(!asks(&GateQuestion { holm: true, ..q }, &row));
}
