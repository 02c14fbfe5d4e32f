//! How far a limit could still be broken by people who were not measured.

use super::{
    GateValueRow, NSR, against, baseline_of, changes, decided_of, direction, metrics, people,
    question,
};
use crate::gate::question::{GateLimit, GateQuestion, GateStatus, GateSubject, GateTables};
use crate::metric::catalog::ccm::HARM;
use crate::table::{AuditKey, CountRow, GroupRow, MetricRow};

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
        let tables = GateTables { metrics: &table, groups: &groups, ..GateTables::default() };
        let judged = crate::gate::judge(std::slice::from_ref(&q), tables, Some(&baseline), &[]);
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
        let tables = GateTables {
            metrics: &of_arm,
            groups: &groups,
            counts: &counts,
            ..GateTables::default()
        };
        let judged = crate::gate::judge(std::slice::from_ref(&q), tables, None, &[]);
        (judged.verdict, judged.table[0].reason.to_string())
    };
    assert_eq!(arm(44).0, Some(GateStatus::Pass));
    let (verdict, reason) = arm(93);
    assert_eq!(verdict, Some(GateStatus::Inconclusive));
    assert!(reason.contains("the share would be 0.5269"), "{reason}");
}
