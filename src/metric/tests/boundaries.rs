//! Values with a rate of 0 or 1 in them: their intervals count the doubt about that rate, compared
//! with formulas derived here from Wilson's intervals.

use super::*;
use crate::metric::value::settings::NEGATIVE_PART;

/// Groups by TP, FP, FN, TN; with weights everybody weighs 3.
fn measured(groups: &[[u64; 4]], weighted: bool) -> Vec<MeasuredValue> {
    let asked = of_families(&[MetricFamily::Performance, MetricFamily::Group]);
    let none = FactualCounts::new(groups.len());
    let mut counts = if weighted { none.counted_by(CountingUnit::WEIGHT) } else { none };
    let mut key = 0;
    for (group, cells) in groups.iter().enumerate() {
        let kinds = [(true, true), (false, true), (true, false), (false, false)];
        for ((label, predicted), n) in kinds.into_iter().zip(cells) {
            for _ in 0..*n {
                key += 1;
                counts.add((group, key, 3), Some(label), Some(predicted), false);
            }
        }
    }
    measure_factual(&counts, None, &asked)
}

/// A share of n with Wilson's interval.
fn part(numerator: u64, denominator: u64) -> (f64, ValueInterval) {
    part_at(numerator, denominator, 0.95)
}

/// The same at another level.
fn part_at(numerator: u64, denominator: u64, level: f64) -> (f64, ValueInterval) {
    let rate = rate(numerator, denominator);
    (rate.value().unwrap(), wilson(rate, z_of_level(level)).unwrap())
}

/// Ends of a sum of such shares, each times a number: the root of the sum of squares of what the
/// intervals leave.
fn ends(parts: &[(f64, (f64, ValueInterval))]) -> (f64, f64) {
    let value: f64 = parts.iter().map(|(times, (p, _))| times * p).sum();
    let side = |upper: bool| {
        let left = parts.iter().map(|(times, (p, i))| {
            let end = if upper == (*times > 0.0) { i.hi } else { i.lo };
            (times * (end - p)).powi(2)
        });
        left.sum::<f64>().sqrt()
    };
    (value - side(false), value + side(true))
}

#[track_caller]
fn check(m: &MeasuredValue, (lo, hi): (f64, f64)) {
    let found = m.interval.unwrap_or_else(|| panic!("{}: {}", m.metric.id, m.ci_method));
    assert_eq!(found.method, IntervalProcedure::Mover, "{}", m.metric.id);
    let close = (found.lo - lo).abs() < 1e-12 && (found.hi - hi).abs() < 1e-12;
    assert!(close, "{}: {found:?} instead of {lo}, {hi}", m.metric.id);
}

/// TPR of the first group 20 of 20, of the second 18 of 20; FPR 3 of 30 and 6 of 40.
const GROUPS: [[u64; 4]; 2] = [[20, 3, 0, 27], [18, 6, 2, 34]];

#[test]
fn means_of_rates() {
    let found = measured(&GROUPS, false);
    let pair = MetricScope::Pair(0, 1);
    let (tpr, fpr) = ([part(20, 20), part(18, 20)], [part(3, 30), part(6, 40)]);
    let tnr = [part(27, 30), part(34, 40)];
    let half = |a: [(f64, ValueInterval); 2], b: [(f64, ValueInterval); 2]| {
        [(0.5, a[0]), (-0.5, a[1]), (0.5, b[0]), (-0.5, b[1])]
    };
    check(one(&found, "aod", pair), ends(&half(tpr, fpr)));
    check(one(&found, "bacc_difference", pair), ends(&half(tpr, tnr)));
    check(one(&found, "bacc", MetricScope::Group(0)), ends(&[(0.5, tpr[0]), (0.5, tnr[0])]));
    check(one(&found, "bacc", MetricScope::Group(1)), ends(&[(0.5, tpr[1]), (0.5, tnr[1])]));
    let ratio = one(&found, "bacc_ratio", pair).interval.unwrap();
    let value = one(&found, "bacc_ratio", pair).value.unwrap();
    assert!(ratio.method == IntervalProcedure::Mover && ratio.lo < value && value < ratio.hi);
}

/// A group is as far from all as from the others, times their share of all.
#[test]
fn distances_to_all() {
    let found = measured(&[[10, 10, 0, 0], [5, 15, 5, 5], [3, 3, 7, 7]], false);
    let m = one(&found, "pprev_to_total", MetricScope::WorstCase);
    let groups = [(20, 20), (20, 30), (6, 20)];
    let rests = [(26, 50), (26, 40), (40, 50)];
    let shares = [50.0 / 70.0, 40.0 / 70.0, 50.0 / 70.0];
    let each = |level: f64| {
        (0..3).map(move |g| {
            let [group, rest] = [groups[g], rests[g]].map(|(k, n)| part_at(k, n, level));
            ends(&[(shares[g], group), (-shares[g], rest)])
        })
    };
    // All three must hold together below, and only the largest above.
    let lo = each(1.0 - 0.05 / 3.0).fold(0.0, |most: f64, (lo, hi)| most.max(lo).max(-hi));
    let hi = each(0.95).fold(0.0, |most: f64, (lo, hi)| most.max(lo.abs()).max(hi.abs()));
    let interval = m.interval.unwrap();
    assert_eq!(interval.method, IntervalProcedure::Largest);
    assert!((interval.lo - lo).abs() < 1e-12 && (interval.hi - hi).abs() < 1e-12, "{interval:?}");
    assert!((m.value.unwrap() - (46.0_f64 / 70.0 - 0.3)).abs() < 1e-12, "{:?}", m.value);
}

/// Katz's interval of a ratio with a rate of 1 stays, is flagged and says so.
#[test]
fn ratios_of_a_rate_of_one() {
    let all = [[40, 40, 0, 0], [250, 250, 0, 0]];
    let pair = MetricScope::Pair(0, 1);
    let found = measured(&all, false);
    let m = one(&found, "demp_ratio", pair);
    let katz = m.interval.unwrap();
    assert_eq!((katz.lo, katz.hi, katz.method), (1.0, 1.0, IntervalProcedure::Katz));
    assert!(m.flags.contains(&RATE_OF_ONE) && m.ci_method.contains("as certain"), "{m:?}");
    let smaller = one(&found, "demp_min_ratio", pair).interval.unwrap();
    assert_eq!((smaller.hi, smaller.method), (1.0, IntervalProcedure::Largest));
    assert!((smaller.lo - 0.9542).abs() < 5e-5, "{smaller:?}");
    // So does that of people who all weigh the same.
    let weighed = measured(&all, true);
    for id in ["demp_ratio", "di"] {
        let m = one(&weighed, id, pair);
        assert_eq!(m.interval.unwrap().method, IntervalProcedure::Katz, "{id}");
        assert!(m.flags.contains(&RATE_OF_ONE));
    }
    let usual = measured(&GROUPS, false);
    assert!(!one(&usual, "demp_ratio", pair).flags.contains(&RATE_OF_ONE));
    assert!(one(&usual, "tpr_ratio", pair).flags.contains(&RATE_OF_ONE));
    assert_eq!(
        one(&usual, "tpr_difference", pair).interval.unwrap().method,
        IntervalProcedure::Newcombe
    );
}

/// The ratio of two negative correlations is positive and says nothing.
#[test]
fn ratios_of_negative_values() {
    let worse_than_chance = [[5, 20, 20, 5], [8, 20, 20, 8]];
    let pair = MetricScope::Pair(0, 1);
    let negative = |groups: &[[u64; 4]], id: &str, scope| {
        let found = measured(groups, false);
        let m = one(&found, id, scope);
        assert!(m.value.is_ok(), "{id}");
        m.flags.contains(&NEGATIVE_PART)
    };
    assert!(negative(&worse_than_chance, "mcc_ratio", pair));
    assert!(negative(&worse_than_chance, "mcc_ratio", MetricScope::WorstCase));
    assert!(!negative(&worse_than_chance, "f1_ratio", pair));
    assert!(!negative(&worse_than_chance, "mcc_difference", pair));
    assert!(!negative(&GROUPS, "mcc_ratio", pair));
}
