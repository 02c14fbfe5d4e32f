//! Gates on people of whom the tables lack a part: a group, a score, a counterfactual, or any
//! change that a scorer was shown.

use super::{
    against, asked, baseline_of, change, decided, direction, gap, gap_near, judge, pair, question,
};
use crate::gate::decide_by::GateDecideBy;
use crate::gate::question::{GateLimit, GateQuestion, GateSubject, GateTables};
use crate::gate::reason::{GateStatus, UnshownChange};
use crate::metric::interval::{newcombe, wilson, z_of_level};
use crate::metric::rate::{Rate, Undefined};
use crate::table::{ChangeRow, CountRow, MetricRow, PopulationRow};
use crate::tests::Says;
use crate::tests::TextRow;

/// Counterfactuals that look like their rows test nothing, unless the model knows better.
#[test]
fn what_no_row_shows_is_not_passed() {
    let total = |metric: &str, value: f64| {
        gap("total", ["", ""], metric, [value; 3]).with("counterfactual=flip, denominator=500")
    };
    let judged =
        |unshown: &[&str], sr: f64| judged_with(unshown, &[total("nsr", 0.0), total("sr", sr)]);
    fn judged_with(unshown: &[&str], values: &[MetricRow]) -> (GateStatus, String) {
        let mut q = question(GateSubject::Total, GateLimit::AtMost(0.1));
        q.unshown = unshown
            .iter()
            .map(|&name| UnshownChange { attribute: name.to_owned(), direction: None })
            .collect();
        let judged = judge(&[q], values, None);
        let reason = judged.table.first().map(|r| r.reason.to_string()).unwrap_or_default();
        (judged.verdict().expect("it counts"), reason)
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
    assert_eq!(verdict, GateStatus::Inconclusive, "{reason}");
    reason.says(&["no row that was scored shows `sex`"]);
}

/// A group without a value has no part in the furthest two, so that these keep a limit says nothing
/// of it.
#[test]
fn the_furthest_groups_do_not_pass_for_a_group_without_a_value() {
    let of = |scope, groups| gap_near(scope, groups, "tpr_difference", 0.03);
    let without = "value=, lo=, hi=, undefined=empty_group";
    let mut table = [
        of("worst_case", ["", ""]),
        of("pair", ["A", "B"]),
        of("pair", ["A", "C"]).with(without),
        of("pair", ["B", "C"]).with(without),
    ];
    let q = asked("tpr_difference", GateSubject::WorstCase, GateLimit::AtMost(0.1));
    assert_eq!(decided(&q, &table).0, GateStatus::Pass);
    table[0].groups_undefined = Some(1);
    let (verdict, reason) = decided(&q, &table);
    assert_eq!(verdict, GateStatus::Inconclusive, "{reason}");
    reason.says(&["1 group has no value and was not measured: `C`"]);
    let broken =
        GateQuestion { limit: GateLimit::AtMost(0.01), decide_by: GateDecideBy::Estimate, ..q };
    assert_eq!(decided(&broken, &table).0, GateStatus::Fail, "what was seen breaks it");
}

/// Rows of the table of counts of `sex`: scope, group, label, prediction, people.
fn counts(lines: &str) -> Vec<CountRow> {
    CountRow::of("model=m, sensitive=sex")
        .each(&format!("scope|from_group|label|predicted|n\n{lines}"))
}

/// A value with the interval that its counts give.
fn measured(place: [&str; 3], metric: &str, value: f64, (lo, hi): (f64, f64)) -> MetricRow {
    let [scope, from, to] = place;
    let set = if scope == "pair" { "" } else { "flip" };
    gap(scope, [from, to], metric, [value, lo, hi])
        .with(&format!("counterfactual={set}, level=0.95"))
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
    (judged.verdict().expect("it counts"), row.reason.to_string())
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
    let table = counts(
        "group    | Female | | 1 | 150
         group    | Female | | 0 | 150
         group    | Male   | | 1 | 140
         group    | Male   | | 0 | 160
         no_group |        | | 1 | 10
         no_group |        | | 0 | 6",
    );
    let (value, ends) = shares([150, 300], [140, 300]);
    let mut row = measured(["pair", "Female", "Male"], "demp_difference", value, ends);
    row.family = "group".into();
    let q = |limit| asked("demp_difference", pair("Female", "Male"), GateLimit::AtMost(limit));
    let of = |limit| check(&q(limit), std::slice::from_ref(&row), &table, &[]);
    // All ten women, all six men: 160 of 310 and 140 of 306.
    let (_, (_, worst)) = shares([160, 310], [140, 306]);
    assert_eq!(of(worst + 1e-9).0, GateStatus::Pass);
    let (verdict, reason) = of(worst - 1e-9);
    assert_eq!(verdict, GateStatus::Inconclusive, "{reason}");
    reason.says(&[", but 16 people have no group; all 16 of them would be"]);
    // Fewer are enough where the limit is near: those without a grant among the men move it most.
    let (_, reason) = of(ends.1 + 1e-6);
    reason.says(&["; 1 of them would be enough to break the limit"]);
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
    let mut table = counts(
        "group    | Female | | 0 | 60
         group    | Female | | 1 | 40
         group    | Female | |   | 5
         group    | Male   | | 0 | 10
         no_group |        | | 0 | 4",
    );
    let forth = "model=m, sensitive=sex, counterfactual=flip, scope=direction, from_group=Female, \
                 to_group=Male, n=40";
    table.extend(CountRow::of(forth).each("predicted|predicted_cf\n0|0\n1|1"));
    let mut row = measured(["direction", "Female", "Male"], "psr", 0.0, (0.0, 0.0));
    let rate =
        |numerator, denominator| Rate { numerator, denominator, empty: Undefined::EmptyGroup };
    let ends = |n, of| wilson(rate(n, of), z_of_level(0.95)).unwrap();
    row.hi = Some(ends(0, 40).hi);
    row.denominator = Some(40);
    let q = |limit| asked("psr", direction(), GateLimit::AtMost(limit));
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
    let q = |metric: &str, limit| asked(metric, direction(), GateLimit::AtMost(limit));
    let of = |row: &MetricRow, q: &GateQuestion, lacking: i64| {
        let population = PopulationRow {
            rows: 200 + lacking,
            ..PopulationRow::of(&format!(
                "state=audited, sensitive=sex, group=Female, declared=1, model=m, \
                 counterfactual=flip, without_counterfactual={lacking}"
            ))
        };
        check(q, std::slice::from_ref(row), &[], &[population])
    };
    assert_eq!(of(&row, &q("macd", 0.04), 0).0, GateStatus::Pass);
    // 50 of 250 move by 1: 0.03 + 0.2 * 0.98.
    assert_eq!(of(&row, &q("macd", 0.227), 50).0, GateStatus::Pass);
    let (verdict, reason) = of(&row, &q("macd", 0.225), 50);
    assert_eq!(verdict, GateStatus::Inconclusive, "{reason}");
    reason.says(&["at worst the end of the interval would be 0.2260"]);
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
    let table = counts(
        "group | Female | 1 | 1 | 2
         group | Female | 1 |   | 2
         group | Female | 0 | 0 | 100
         group | Male   | 0 | 0 | 100",
    );
    let row = measured(["group", "Female", ""], "auc", 0.9, (0.8, 0.95))
        .with("family=scores, counterfactual=");
    let group = || GateSubject::Group("Female".into());
    let q = |limit| asked("auc", group(), GateLimit::AtLeast(limit));
    let of = |limit| check(&q(limit), std::slice::from_ref(&row), &table, &[]).0;
    // 0.8 - 0.5 * 0.9.
    assert_eq!([of(0.349), of(0.351)], [GateStatus::Pass, GateStatus::Inconclusive]);
}

/// The earlier run could have been lower, so the change larger.
#[test]
fn of_a_change_both_runs_are_at_their_worst() {
    let mut moved = [change("old_value=0.1, difference=0, lo=-0.01, hi=0.01")];
    let of = |moved: &[ChangeRow]| {
        let baseline = baseline_of(moved, "");
        let q = against(direction(), GateLimit::AtMost(0.05));
        let tables = GateTables::default();
        let judged = crate::gate::judge(&[q], tables, Some(&baseline), &[]);
        (judged.verdict(), judged.table[0].reason.to_string())
    };
    assert_eq!(of(&moved).0, Some(GateStatus::Pass));
    (moved[0].old_least, moved[0].old_most) = (Some(0.07), Some(0.5));
    assert_eq!(of(&moved).0, Some(GateStatus::Pass));
    moved[0].old_least = Some(0.05);
    let (verdict, reason) = of(&moved);
    assert_eq!(verdict, Some(GateStatus::Inconclusive), "{reason}");
    reason.says(&["the earlier run did not measure"]);
}
