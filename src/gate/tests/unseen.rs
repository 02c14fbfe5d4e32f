//! Gates on people of whom the tables lack a part: a group, a direction, a score or a label.

use super::{GateValueRow, NSR, decided, decided_of, direction, judge, metrics, people, question};
use crate::gate::decide_by::GateDecideBy;
use crate::gate::question::{GateLimit, GateQuestion, GateStatus, GateSubject, UnshownChange};

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
