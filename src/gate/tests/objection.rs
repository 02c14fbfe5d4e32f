//! Objections about models and arms: what leaves a gate inconclusive whatever its verdict.

use super::{direction, nsr, question};
use crate::folder::manifest::RecheckWords;
use crate::gate::judge;
use crate::gate::question::{GateLimit, GateQuestion, GateTables};
use crate::gate::reason::GateReason;
use crate::metric::value::sanity::InvertedOrder;
use crate::table::{ArmRow, IssueRow, MetricRow, UnknownLevelRow};
use crate::tests::Says;
use crate::tests::TextRow;

/// Verdict, code and reason of the row of a question.
fn judged(q: &GateQuestion, tables: GateTables<'_>) -> [String; 3] {
    let row = judge(std::slice::from_ref(q), tables, None, &[]).table.remove(0);
    [row.verdict, row.reason_code, row.reason].map(|text| text.to_string())
}

#[test]
fn an_issue_about_its_model_leaves_a_gate_inconclusive_unless_it_is_accepted() {
    let kept = question(direction(), GateLimit::AtMost(0.3));
    let metrics = [nsr()];
    let with = |issues: &[IssueRow], q: &GateQuestion| {
        judged(q, GateTables { metrics: &metrics, issues, ..GateTables::default() })
    };
    let text = "model `m` scored 100 rows twice, and 3 of the scores differ, by up to 0.25: its \
                numbers change from run to run";
    let issue = |code: &str, model: &str| {
        let scored = RecheckWords { rows: 100, differ: 3, largest: 0.25 };
        let (inverted, classes) = (vec![InvertedOrder::Decisions([(1, 9), (5, 8)])], Vec::new());
        let name = "m".to_owned();
        let objection = match code {
            "inverted-scores" => {
                GateReason::InvertedScores { model: name, of_rows: false, classes, inverted }
            }
            _ => GateReason::NotRepeatable { model: name, scored },
        };
        [IssueRow { code: code.into(), ..objection.issue_about(model, 7) }]
    };
    let found = issue("not-repeatable", "m");
    assert!(found[0].holds("code=not-repeatable, severity=warning, where=m, n=7"));
    assert_eq!(found[0].text, text);
    let objection = format!("not-repeatable: {text}");
    assert_eq!(with(&[], &kept)[..2], ["pass", "limit-kept"]);
    let broken = question(direction(), GateLimit::AtMost(0.01));
    for q in [&kept, &broken] {
        assert_eq!(
            with(&issue("not-repeatable", "m"), q),
            ["inconclusive", "not-repeatable", &objection]
        );
    }
    assert_eq!(with(&issue("not-repeatable", "other"), &kept)[0], "pass", "another model");
    assert_eq!(with(&issue("one-decision", "m"), &kept)[0], "pass", "told, and no objection");
    let accepts = GateQuestion { accepts: vec!["not-repeatable"], ..kept.clone() };
    assert_eq!(with(&issue("not-repeatable", "m"), &accepts)[0], "pass");
    assert_eq!(with(&issue("inverted-scores", "m"), &accepts)[1], "inverted-scores");
    // What the caller objects counts in the same way, and stands first.
    let waits = GateQuestion { objections: vec![GateReason::WaitsForScores], ..kept };
    let [verdict, code, reason] = with(&issue("not-repeatable", "m"), &waits);
    assert_eq!([verdict.as_str(), &code], ["inconclusive", "waits-for-scores"]);
    let waits = "the run waits for scores, and judges it when they have arrived";
    assert_eq!(reason, format!("{waits}; {objection}"));
}

/// One in twenty people of a group that a gate asks about.
#[test]
fn levels_that_its_model_does_not_know_leave_a_gate_inconclusive() {
    let (metrics, kept) = ([nsr()], question(direction(), GateLimit::AtMost(0.3)));
    let [attribute, from] = [&metrics[0].key.sensitive, &metrics[0].key.from_group];
    let row = |model: &str, column: &str, group: &str, people| UnknownLevelRow {
        sensitive: attribute.clone(),
        ..UnknownLevelRow::of(&format!(
            "model={model}, column={column}, group={group}, people={people}, audited=100"
        ))
    };
    let with = |row: UnknownLevelRow, q: &GateQuestion| {
        judged(q, GateTables { metrics: &metrics, unknown: &[row], ..GateTables::default() })
    };
    let [verdict, code, reason] = with(row("m", "", from, 5), &kept);
    assert_eq!([verdict.as_str(), &code], ["inconclusive", "unknown-levels"]);
    reason.says(&["5 of 100 people of"]);
    assert_eq!(with(row("m", "", from, 4), &kept)[0], "pass", "too few");
    assert_eq!(with(row("m", "", "nobody", 50), &kept)[0], "pass", "another group");
    assert_eq!(with(row("m", "region", from, 50), &kept)[0], "pass", "any column counts");
    assert_eq!(with(row("other", "", from, 50), &kept)[0], "pass", "another model");
    let accepts = GateQuestion { accepts: vec!["unknown-levels"], ..kept };
    assert_eq!(with(row("m", "", from, 50), &accepts)[0], "pass");
}

/// An arm that added nothing is the model before: that it keeps a limit says nothing of adding.
#[test]
fn an_arm_without_rows_is_not_passed() {
    let mut rows = [nsr()];
    let arm = |name: &str, n_synthetic| {
        ArmRow::of(&format!("arm={name}, n_rows=300, n_synthetic={n_synthetic}"))
    };
    let mut verdict = |name: &str, arms: &[ArmRow]| {
        rows[0].key.arm = name.into();
        let asked = question(direction(), GateLimit::AtMost(0.3));
        let q = GateQuestion { arm: name.to_owned(), ..asked };
        let metrics: &[MetricRow] = &rows;
        judged(&q, GateTables { metrics, arms, ..GateTables::default() })
    };
    let arms = [arm("more/base", 0), arm("more/adasyn", 0), arm("more/adasyn", 0)];
    let [verdict_of, code, reason] = verdict("more/adasyn", &arms);
    assert_eq!([verdict_of.as_str(), &code], ["inconclusive", "nothing-looked-at"]);
    assert!(
        reason.starts_with("nothing was looked at: the arm `adasyn` added no rows"),
        "{reason}"
    );
    assert_eq!(verdict("more/base", &arms)[0], "pass", "it is to add nothing");
    let one_fold = [arm("more/adasyn", 0), arm("more/adasyn", 3)];
    assert_eq!(verdict("more/adasyn", &one_fold)[0], "pass");
}
