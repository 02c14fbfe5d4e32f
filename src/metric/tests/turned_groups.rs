//! What follows when the two groups of a comparison change places.

use super::*;
use crate::metric::tests::turned;

/// The same two groups counted in both orders must agree with how each metric of
/// the family compares them.
#[test]
fn every_metric_of_two_groups_turns_as_stated() {
    let group = |c: Confusion| {
        let mut counts = FactualCounts::new(1);
        for (n, label, predicted) in
            [(c.tp, true, true), (c.fp, false, true), (c.fn_, true, false), (c.tn, false, false)]
        {
            (0..n).for_each(|_| counts.add((0, 0, 1), Some(label), Some(predicted), false));
        }
        counts.groups[0]
    };
    let a = group(Confusion::labelled(40, 7, 11, 90));
    let b = group(Confusion::labelled(25, 13, 9, 31));
    let count = |n| Count::new(n).expect("a count");
    let settings = MeasureSettings {
        families: vec![MetricFamily::Group],
        favourable: FavourableClass::Positive,
        favourable_stated: true,
        level: None,
        min_group_size: count(1),
        min_denominator: count(1),
        favoured: FavouredGroups::Rest,
    };
    let measured = |first, second| {
        let mut counts = FactualCounts::new(0);
        counts.groups = vec![first, second];
        let measured = measure_factual(&counts, None, &settings);
        measured.into_iter().filter(|m| m.scope == MetricScope::Pair(0, 1)).collect::<Vec<_>>()
    };
    let (there, back) = (measured(a, b), measured(b, a));
    let to_total = |m: &Metric| matches!(m.gap_of, Some((_, crate::metric::GapTransform::ToTotal)));
    let of_pairs = catalog().filter(|m| m.family == MetricFamily::Group && !to_total(m));
    assert_eq!(there.len(), of_pairs.count());
    for (x, y) in there.iter().zip(&back) {
        let (x_value, y_value) = (x.value.expect("defined"), y.value.expect("defined"));
        let turned = turned(x.metric, x_value);
        assert!((turned - y_value).abs() < 1e-12, "{}: {turned} and {y_value}", x.metric.id);
    }
}
