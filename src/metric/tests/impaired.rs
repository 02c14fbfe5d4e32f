//! Which group a value shows to be worse off, and when its numbers are clear enough to say so.

use super::*;

/// Towards Counterfactual Group Fairness, Table 7: which group a bad value impairs.
#[test]
fn impaired_groups_follow_the_published_table() {
    // Cells TCN, TSP, FSN, FCP, FCN, FSP, TSN, TCP: in the direction 0 -> 1 every switch rate is
    // worse than in 1 -> 0.
    let directions = [[60, 40, 40, 60, 60, 40, 40, 60], [90, 10, 10, 90, 90, 10, 10, 90]];
    let mut counts = CounterfactualCounts::new(2);
    for (group, cells) in directions.into_iter().enumerate() {
        for (code, n) in cells.into_iter().enumerate() {
            let person = ScoredPerson::of(group, Some(code & 4 != 0), Some(code & 2 != 0), None);
            let counterfactual = ScoredCounterfactual::to(1 - group, Some(code & 1 != 0), None);
            (0..n).for_each(|_| counts.add(&person, &[counterfactual]));
        }
    }
    const ORIGINAL: Option<usize> = Some(0);
    const NEW: Option<usize> = Some(1);
    let table = [
        ("cr", NEW, NEW),
        ("sr", NEW, NEW),
        ("cmcc", NEW, NEW),
        ("pcr", NEW, ORIGINAL),
        ("nsr", NEW, ORIGINAL),
        ("ncr", ORIGINAL, NEW),
        ("psr", ORIGINAL, NEW),
        ("pcp", ORIGINAL, NEW),
        ("psdr", ORIGINAL, NEW),
        ("denied_by_group", ORIGINAL, ORIGINAL),
        ("favoured_by_group", NEW, NEW),
        ("tpsr", NEW, NEW),
        ("tnsr", NEW, NEW),
        ("fpsr", ORIGINAL, ORIGINAL),
        ("fnsr", ORIGINAL, ORIGINAL),
        ("tsnr", None, None),
        ("p2nr", None, None),
    ];
    for (favourable, column) in [(FavourableClass::Positive, 0), (FavourableClass::Negative, 1)] {
        let measured = measure_counterfactual(
            &counts,
            None,
            None,
            &MeasureSettings { favourable, ..settings() },
        );
        for (id, positive, negative) in table {
            let expected = [positive, negative][column];
            assert_eq!(
                one(&measured, id, MetricScope::Direction(0, 1)).impaired,
                expected,
                "{id} {favourable:?}"
            );
            assert_eq!(
                one(&measured, id, MetricScope::Direction(1, 0)).impaired,
                expected.map(|group| 1 - group),
                "{id} {favourable:?}"
            );
            assert_eq!(
                one(&measured, id, MetricScope::Difference(0, 1)).impaired,
                expected,
                "{id} {favourable:?}"
            );
            assert_eq!(one(&measured, id, MetricScope::Total).impaired, None);
            assert_eq!(one(&measured, id, MetricScope::Difference(0, 1)).ideal, Some(0.0));
        }
    }
}

/// Harm goes by the favourable prediction, in every scope and with the same interval; without a
/// favourable side it has no value.
#[test]
fn harm_is_a_switch_rate_by_the_favourable_side() {
    let people = people(3, 2, 400);
    for (favourable, denied, favoured) in
        [(FavourableClass::Positive, "psr", "nsr"), (FavourableClass::Negative, "nsr", "psr")]
    {
        let settings =
            MeasureSettings { favourable, families: vec![MetricFamily::Ccm], ..settings() };
        let measured = gather(&people, 3, false, 1, &settings).measured;
        let of =
            |id: &str| measured.iter().filter(|m| m.metric.id == id).cloned().collect::<Vec<_>>();
        for (harm, rate) in [("denied_by_group", denied), ("favoured_by_group", favoured)] {
            let (harm, rate) = (of(harm), of(rate));
            assert_eq!(harm.len(), 6 + 3 + 6 + 1);
            for (a, b) in harm.iter().zip(&rate) {
                let told = |m: &MeasuredValue| {
                    (m.scope, m.value, m.numerator, m.denominator, m.interval.map(|i| (i.lo, i.hi)))
                };
                assert_eq!(told(a), told(b));
            }
        }
        let unsaid =
            gather(&people, 3, false, 1, &MeasureSettings { favourable_stated: false, ..settings })
                .measured;
        for m in unsaid
            .iter()
            .filter(|m| ["denied_by_group", "favoured_by_group"].contains(&m.metric.id))
        {
            let expected = if matches!(m.scope, MetricScope::Difference(..)) {
                Undefined::OperandMissing
            } else {
                Undefined::NoFavourableSide
            };
            assert_eq!((m.value, m.interval.is_none()), (Err(expected), true));
        }
    }
}

/// Nobody is named by an interval that holds the ideal, by a handful of switches, or within what
/// noise gives.
#[test]
fn a_group_is_named_only_by_clear_numbers() {
    let counted = |moves: [u64; 2], n: u64| {
        let mut counts = CounterfactualCounts::new(2);
        for (group, moved) in moves.into_iter().enumerate() {
            for i in 0..n {
                let person = ScoredPerson::of(group, None, Some(true), None);
                counts.add(&person, &[ScoredCounterfactual::to(1 - group, Some(i >= moved), None)]);
            }
        }
        counts
    };
    let named = |counts: &CounterfactualCounts,
                 placebo: Option<&PlaceboEvidence>,
                 settings: &MeasureSettings,
                 id: &str| {
        let measured = measure_counterfactual(counts, None, placebo, settings);
        let of = |scope| one(&measured, id, scope).impaired;
        (
            of(MetricScope::Direction(0, 1)),
            of(MetricScope::Direction(1, 0)),
            of(MetricScope::Difference(0, 1)),
        )
    };
    let settings = of_families(&[MetricFamily::Ccm]);
    // 10 of 1,000 people switch, and 9: of the difference of the two cannot be decided.
    let few = counted([10, 9], 1000);
    assert_eq!(named(&few, None, &settings, "nsr"), (Some(1), None, None));
    assert_eq!(named(&few, None, &settings, "pcr"), (Some(1), None, None));
    assert_eq!(
        named(&counted([60, 9], 1000), None, &settings, "favoured_by_group"),
        (Some(1), None, Some(1))
    );
    // Noise of as much.
    let repeat =
        |moves| SetRepeat { counts: counted(moves, 1000), second: None, without_rows: Vec::new() };
    let noise = PlaceboEvidence::Repeats(vec![repeat([2, 40]), repeat([50, 30])]);
    assert_eq!(
        named(&counted([60, 60], 1000), Some(&noise), &settings, "nsr"),
        (None, Some(0), None)
    );
    // Without an interval nobody knows.
    assert_eq!(
        named(&few, None, &MeasureSettings { level: None, ..settings.clone() }, "nsr"),
        (None, None, None)
    );

    // 30 of 100 and 27 of 100 predicted positive; the least of ten groups differs from the most
    // only by chance.
    let factual = |positive: &[u64], n: u64| {
        let mut factual = FactualCounts::new(positive.len());
        for (group, &positive) in positive.iter().enumerate() {
            (0..n).for_each(|i| factual.add((group, 0, 1), None, Some(i < positive), false));
        }
        measure_factual(
            &factual,
            None,
            &MeasureSettings { families: vec![MetricFamily::Group], ..settings.clone() },
        )
    };
    let all = ["demp_difference", "demp_ratio", "demp_min_ratio", "di"];
    for (positive, n, pair, worst) in [
        (&[30, 27][..], 100, None, None),
        (&[300, 200], 1000, Some(1), Some(1)),
        (&[40, 27, 33, 33, 33, 33, 33, 33, 33, 33], 100, None, None),
        (&[60, 27, 33, 33, 33, 33, 33, 33, 33, 33], 100, Some(1), Some(1)),
    ] {
        let measured = factual(positive, n);
        for id in all {
            let named = [MetricScope::Pair(0, 1), MetricScope::WorstCase]
                .map(|scope| one(&measured, id, scope).impaired);
            assert_eq!(named, [pair, worst], "{id} {positive:?}");
        }
    }
}

#[test]
fn the_group_with_fewer_favourable_predictions_is_impaired() {
    // Group 0: 40 of 100 predicted positive, group 1: 20 of 100; the same among positives and among
    // negatives.
    let mut factual = FactualCounts::new(2);
    for (group, per_label) in [(0, 20), (1, 10)] {
        for label in [true, false] {
            (0..50)
                .for_each(|i| factual.add((group, 0, 1), Some(label), Some(i < per_label), false));
        }
    }
    let measure =
        |favourable| measure_factual(&factual, None, &MeasureSettings { favourable, ..settings() });
    let (positive, negative) =
        (measure(FavourableClass::Positive), measure(FavourableClass::Negative));
    for id in [
        "demp_difference",
        "demp_ratio",
        "demp_min_ratio",
        "di",
        "eopp_difference",
        "pred_eq_difference",
        "tnr_ratio",
        "fnr_difference",
    ] {
        assert_eq!(one(&positive, id, MetricScope::Pair(0, 1)).impaired, Some(1), "{id}");
        assert_eq!(one(&negative, id, MetricScope::Pair(0, 1)).impaired, Some(0), "{id}");
    }
    assert_eq!(one(&positive, "acc_difference", MetricScope::Pair(0, 1)).impaired, None);
    assert_eq!(one(&positive, "di", MetricScope::Pair(0, 1)).value, Ok(0.2 / 0.4));
    assert_eq!(one(&negative, "di", MetricScope::Pair(0, 1)).value, Ok(0.8 / 0.6));
    assert_eq!(one(&negative, "demp_ratio", MetricScope::Pair(0, 1)).value, Ok(0.4 / 0.2));
}
