//! Gates on people of whom the tables lack a part: a group, a score, a counterfactual, or any
//! change that a scorer was shown.

use super::{
    GateValueRow, against, baseline_of, changes, decided, direction, judge, metrics, question,
};
use crate::gate::decide_by::GateDecideBy;
use crate::gate::question::{GateLimit, GateQuestion, GateSubject, GateTables};
use crate::gate::reason::{GateStatus, UnshownChange};
use crate::metric::interval::{newcombe, wilson, z_of_level};
use crate::metric::rate::{Rate, Undefined};
use crate::table::{AuditKey, ChangeRow, CountRow, MetricRow, PopulationRow};

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

/// Rows of the table of counts of `sex`: scope, group, label, prediction, people.
fn counts(rows: &[(&str, &str, &str, &str, i64)]) -> Vec<CountRow> {
    let row = |(scope, group, label, predicted, n): &(&str, &str, &str, &str, i64)| CountRow {
        key: AuditKey {
            model: "m".into(),
            sensitive: "sex".into(),
            scope: (*scope).into(),
            from_group: (*group).into(),
            ..AuditKey::default()
        },
        label: (*label).into(),
        predicted: (*predicted).into(),
        n: *n,
        ..CountRow::default()
    };
    rows.iter().map(row).collect()
}

/// The same of a direction of `flip`: groups, predictions before and after, people.
fn moved(rows: &[([&str; 2], [&str; 2], i64)]) -> Vec<CountRow> {
    let row = |([from, to], [before, after], n): &([&str; 2], [&str; 2], i64)| {
        let mut row = counts(&[("direction", from, "", before, *n)]).remove(0);
        row.key.counterfactual = "flip".into();
        row.key.to_group = (*to).into();
        row.predicted_cf = (*after).into();
        row
    };
    rows.iter().map(row).collect()
}

/// A value of the table of metrics with the interval that its counts give.
fn measured(place: [&str; 3], metric: &str, value: f64, (lo, hi): (f64, f64)) -> MetricRow {
    let [scope, from, to] = place;
    let one = GateValueRow {
        scope,
        from,
        to,
        metric,
        value: Some(value),
        lo: Some(lo),
        hi: Some(hi),
        denominator: None,
    };
    let mut row = metrics(&[one]).remove(0);
    row.level = Some(0.95);
    row
}

#[track_caller]
fn check(
    q: &GateQuestion,
    metrics: &[MetricRow],
    counts: &[CountRow],
    population: &[PopulationRow],
) -> (GateStatus, String) {
    let tables = GateTables { metrics, population, counts, ..GateTables::default() };
    let judged = crate::gate::judge(std::slice::from_ref(q), tables, None, &[]);
    let row = judged.table.iter().find(|row| row.decides == 1).expect("a row decides");
    (judged.verdict.expect("it counts"), row.reason.to_string())
}

fn shares(a: [u64; 2], b: [u64; 2]) -> (f64, (f64, f64)) {
    let rate = |[numerator, denominator]: [u64; 2]| Rate {
        numerator,
        denominator,
        empty: Undefined::EmptyGroup,
    };
    let ends = newcombe(rate(a), rate(b), z_of_level(0.95)).unwrap();
    (rate(a).value().unwrap() - rate(b).value().unwrap(), (ends.lo, ends.hi))
}

/// 150 of 300 women and 140 of 300 men are granted; ten granted people and six others have no
/// group.
#[test]
fn people_without_a_group_may_belong_to_any() {
    let table = counts(&[
        ("group", "Female", "", "1", 150),
        ("group", "Female", "", "0", 150),
        ("group", "Male", "", "1", 140),
        ("group", "Male", "", "0", 160),
        ("no_group", "", "", "1", 10),
        ("no_group", "", "", "0", 6),
    ]);
    let (value, ends) = shares([150, 300], [140, 300]);
    let mut row = measured(["pair", "Female", "Male"], "demp_difference", value, ends);
    row.family = "group".into();
    let q = |limit| GateQuestion {
        metric: "demp_difference".into(),
        counterfactual: String::new(),
        ..question(GateSubject::Pair("Female".into(), "Male".into()), GateLimit::AtMost(limit))
    };
    let of = |limit| check(&q(limit), std::slice::from_ref(&row), &table, &[]);
    // All ten women, all six men: 160 of 310 and 140 of 306.
    let (_, (_, worst)) = shares([160, 310], [140, 306]);
    assert_eq!(of(worst + 1e-9).0, GateStatus::Pass);
    let (verdict, reason) = of(worst - 1e-9);
    assert_eq!(verdict, GateStatus::Inconclusive, "{reason}");
    assert!(reason.contains(", but 16 people have no group; all 16 of them would be"), "{reason}");
    // Fewer are enough where the limit is near: those without a grant among the men move it most.
    let (_, reason) = of(ends.1 + 1e-6);
    assert!(reason.contains("; 1 of them would be enough to break the limit"), "{reason}");
    // By the estimate alone.
    let by_value = |limit| GateQuestion { decide_by: GateDecideBy::Estimate, ..q(limit) };
    let worst = 160.0 / 310.0 - 140.0 / 306.0;
    let of = |limit| check(&by_value(limit), std::slice::from_ref(&row), &table, &[]).0;
    assert_eq!([of(worst + 1e-9), of(worst - 1e-9)], [GateStatus::Pass, GateStatus::Inconclusive]);
}

/// Of 100 women 60 are refused; 40 of these have a counterfactual, none switches, 5 more women have
/// no score, and 4 refused people no group.
#[test]
fn people_without_a_score_or_counterfactual_may_be_harmed() {
    let mut table = counts(&[
        ("group", "Female", "", "0", 60),
        ("group", "Female", "", "1", 40),
        ("group", "Female", "", "", 5),
        ("group", "Male", "", "0", 10),
        ("no_group", "", "", "0", 4),
    ]);
    let forth = ["Female", "Male"];
    table.extend(moved(&[(forth, ["0", "0"], 40), (forth, ["1", "1"], 40)]));
    let mut row = measured(["direction", "Female", "Male"], "psr", 0.0, (0.0, 0.0));
    let rate =
        |numerator, denominator| Rate { numerator, denominator, empty: Undefined::EmptyGroup };
    let ends = |n, of| wilson(rate(n, of), z_of_level(0.95)).unwrap();
    row.hi = Some(ends(0, 40).hi);
    row.denominator = Some(40);
    let q = |limit| GateQuestion {
        metric: "psr".into(),
        ..question(direction(), GateLimit::AtMost(limit))
    };
    let of = |limit| check(&q(limit), std::slice::from_ref(&row), &table, &[]);
    // 20 without a counterfactual, 5 without a score, 4 without a group: 29 of 69.
    let worst = ends(29, 69).hi;
    assert_eq!(of(worst + 1e-9).0, GateStatus::Pass);
    let (verdict, reason) = of(worst - 1e-9);
    assert_eq!(verdict, GateStatus::Inconclusive, "{reason}");
    let words = "4 people have no group, and 5 people have no score, and 20 people have no valid \
                 counterfactual with a score; all 29 of them";
    assert!(reason.contains(words), "{reason}");
    // A weight counts as it is.
    table.iter_mut().for_each(|row| row.weight = Some(2.0 * row.n as f64));
    table[4].weight = Some(200.0);
    row.n_eff = Some(40.0);
    let (verdict, reason) = check(&q(worst + 1e-9), std::slice::from_ref(&row), &table, &[]);
    assert_eq!(verdict, GateStatus::Inconclusive, "{reason}");
}

/// What counts do not give moves by the range of its metric.
#[test]
fn a_mean_moves_by_the_worst_number_of_its_metric() {
    let row = measured(["direction", "Female", "Male"], "macd", 0.02, (0.01, 0.03));
    let q = |metric: &str, limit| GateQuestion {
        metric: metric.into(),
        ..question(direction(), GateLimit::AtMost(limit))
    };
    let of = |row: &MetricRow, q: &GateQuestion, lacking| {
        let population = PopulationRow {
            state: "audited".into(),
            sensitive: "sex".into(),
            group: Some("Female".into()),
            declared: true,
            model: Some("m".into()),
            counterfactual: Some("flip".into()),
            rows: 200 + lacking,
            without_counterfactual: Some(lacking),
            ..PopulationRow::default()
        };
        check(q, std::slice::from_ref(row), &[], &[population])
    };
    assert_eq!(of(&row, &q("macd", 0.04), 0).0, GateStatus::Pass);
    // 50 of 250 move by 1: 0.03 + 0.2 * 0.98.
    assert_eq!(of(&row, &q("macd", 0.227), 50).0, GateStatus::Pass);
    let (verdict, reason) = of(&row, &q("macd", 0.225), 50);
    assert_eq!(verdict, GateStatus::Inconclusive, "{reason}");
    assert!(reason.contains("at worst the end of the interval would be 0.2260"), "{reason}");
    // The other side of a limit: 50 of 250 do not move. A root of a mean of squares falls by the
    // root of 0.8.
    let row = measured(["direction", "Female", "Male"], "rmscd", 0.05, (0.048, 0.052));
    let least =
        |metric: &str, limit| GateQuestion { limit: GateLimit::AtLeast(limit), ..q(metric, 0.0) };
    let lowest = 0.048 - 0.05 * (1.0 - 0.8_f64.sqrt());
    assert_eq!(of(&row, &least("rmscd", 0.047), 0).0, GateStatus::Pass);
    assert_eq!(of(&row, &least("rmscd", lowest + 1e-6), 50).0, GateStatus::Inconclusive);
    assert_eq!(of(&row, &least("rmscd", lowest - 1e-6), 50).0, GateStatus::Pass);
    // What one person adds to a distance of distributions depends on the scores of all, and others
    // may undo it.
    for metric in ["jscd", "kld", "jsd_hist"] {
        let row = measured(["direction", "Female", "Male"], metric, 0.05, (0.048, 0.052));
        assert_eq!(of(&row, &least(metric, 0.001), 0).0, GateStatus::Pass, "{metric}");
        assert_eq!(of(&row, &least(metric, 0.001), 1).0, GateStatus::Inconclusive, "{metric}");
    }
    let row = measured(["direction", "Female", "Male"], "jscd", 0.05, (0.048, 0.052));
    assert_eq!(of(&row, &q("jscd", 0.5), 1).0, GateStatus::Inconclusive);
}

/// An area under the curve is one of pairs: of 4 positive women two have no score, so that half of
/// all pairs may be wrong, however many the negative women are.
#[test]
fn pairs_are_lost_with_their_smaller_side() {
    let table = counts(&[
        ("group", "Female", "1", "1", 2),
        ("group", "Female", "1", "", 2),
        ("group", "Female", "0", "0", 100),
        ("group", "Male", "0", "0", 100),
    ]);
    let mut row = measured(["group", "Female", ""], "auc", 0.9, (0.8, 0.95));
    row.family = "scores".into();
    row.key.counterfactual = "".into();
    let q = |limit| GateQuestion {
        metric: "auc".into(),
        counterfactual: String::new(),
        ..question(GateSubject::Group("Female".into()), GateLimit::AtLeast(limit))
    };
    let of = |limit| check(&q(limit), std::slice::from_ref(&row), &table, &[]).0;
    // 0.8 - 0.5 * 0.9.
    assert_eq!([of(0.349), of(0.351)], [GateStatus::Pass, GateStatus::Inconclusive]);
}

/// The earlier run could have been lower, so the change larger.
#[test]
fn of_a_change_both_runs_are_at_their_worst() {
    let mut moved = changes(
        "direction",
        ["Female", "Male"],
        "nsr",
        ("compared", 0.1, Some(0.0), Some((-0.01, 0.01)), [100, 100]),
    );
    let of = |moved: &[ChangeRow]| {
        let baseline = baseline_of(moved, "");
        let q = against(direction(), GateLimit::AtMost(0.05));
        let tables = GateTables::default();
        let judged = crate::gate::judge(&[q], tables, Some(&baseline), &[]);
        (judged.verdict, judged.table[0].reason.to_string())
    };
    assert_eq!(of(&moved).0, Some(GateStatus::Pass));
    (moved[0].old_least, moved[0].old_most) = (Some(0.07), Some(0.5));
    assert_eq!(of(&moved).0, Some(GateStatus::Pass));
    moved[0].old_least = Some(0.05);
    let (verdict, reason) = of(&moved);
    assert_eq!(verdict, Some(GateStatus::Inconclusive), "{reason}");
    assert!(reason.contains("the earlier run did not measure"), "{reason}");
}
