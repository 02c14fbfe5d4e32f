//! Ratios of the rates of two directions, against Katz's formula computed here.

use super::*;

/// For each of two groups how many people turn positive in the other group, and how many there are
/// with the negative label and prediction.
fn measured(groups: [(u64, u64); 2]) -> Vec<MeasuredValue> {
    measured_cells(groups.map(|(switches, n)| [0, 0, 0, 0, 0, 0, n - switches, switches]))
}

/// For each of two groups the people who stay and who switch, of the true positives, the false
/// positives, the false negatives and the true negatives.
fn measured_cells(groups: [[u64; 8]; 2]) -> Vec<MeasuredValue> {
    let mut counts = CounterfactualCounts::new(2);
    for (group, cells) in groups.into_iter().enumerate() {
        for (c, n) in cells.into_iter().enumerate() {
            let (label, predicted) = ([0, 1, 4, 5].contains(&c), c < 4);
            let person = ScoredPerson::of(group, Some(label), Some(predicted), None);
            let moved =
                ScoredCounterfactual::to(1 - group, Some(predicted == c.is_multiple_of(2)), None);
            (0..n).for_each(|_| counts.add(&person, &[moved]));
        }
    }
    let families = vec![MetricFamily::Ccm, MetricFamily::Eccm];
    measure_counterfactual(&counts, None, None, &MeasureSettings { families, ..settings() })
}

const FORTH: MetricScope = MetricScope::Difference(0, 1);
const BACK: MetricScope = MetricScope::Difference(1, 0);

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9 * expected, "{found} instead of {expected}");
}

/// PSR 3 of 10 over 1 of 20 is 6; Katz: 6 exp(-+ 1.96 sqrt((1 - 0.3) / 3 + (1 - 0.05) / 1)).
#[test]
fn three_of_ten_over_one_of_twenty_is_six() {
    let measured = measured([(3, 10), (1, 20)]);
    // Everybody is predicted negative, and has the negative label.
    for id in ["sr_ratio", "psr_ratio", "tnsr_ratio"] {
        for (scope, value, lo, hi) in [
            (FORTH, 6.0, 0.711_548_698_683_996, 50.593_866_683_449_384),
            (BACK, 1.0 / 6.0, 0.019_765_241_630_111_004, 1.405_385_185_651_371_2),
        ] {
            let m = one(&measured, id, scope);
            let interval = m.interval.unwrap();
            near(m.value.unwrap(), value);
            near(interval.lo, lo);
            near(interval.hi, hi);
            assert_eq!(interval.method, IntervalProcedure::Katz);
            assert_eq!((m.ideal, m.numerator, m.denominator), (Some(1.0), None, None));
            assert_eq!((m.n_rows, m.impaired, m.switched), (30, None, None));
        }
    }
    let of_ratio = |m: &&MeasuredValue| m.metric.is_of_two_directions();
    let scopes: Vec<MetricScope> = measured.iter().filter(of_ratio).map(|m| m.scope).collect();
    assert_eq!(scopes, [FORTH, BACK].repeat(9));
}

/// All nine by hand, such as TPSR 3 of 10 over 2 of 20 and TSPR 6 of 7 over 1 of 3, and of two of
/// them Katz's interval.
#[test]
fn each_ratio_is_one_rate_over_the_other() {
    let measured = measured_cells([[7, 3, 6, 2, 3, 1, 12, 6], [18, 2, 9, 1, 8, 2, 9, 1]]);
    for (id, value) in [
        ("sr_ratio", (12.0 / 40.0) / (6.0 / 50.0)),
        ("psr_ratio", (7.0 / 22.0) / (3.0 / 20.0)),
        ("nsr_ratio", (5.0 / 18.0) / (3.0 / 30.0)),
        ("tpsr_ratio", (3.0 / 10.0) / (2.0 / 20.0)),
        ("fpsr_ratio", (2.0 / 8.0) / (1.0 / 10.0)),
        ("tnsr_ratio", (6.0 / 18.0) / (1.0 / 10.0)),
        ("fnsr_ratio", (1.0 / 4.0) / (2.0 / 10.0)),
        ("tsnr_ratio", (3.0 / 5.0) / (2.0 / 3.0)),
        ("tspr_ratio", (6.0 / 7.0) / (1.0 / 3.0)),
    ] {
        near(one(&measured, id, FORTH).value.unwrap(), value);
        near(one(&measured, id, BACK).value.unwrap(), 1.0 / value);
    }
    for (id, lo, hi) in [
        ("tpsr_ratio", 0.593_586_745_042_891_6, 15.162_063_632_923_061),
        ("tsnr_ratio", 0.307_624_005_875_364_1, 2.633_084_494_479_202),
    ] {
        let interval = one(&measured, id, FORTH).interval.unwrap();
        near(interval.lo, lo);
        near(interval.hi, hi);
    }
}

#[test]
fn a_ratio_to_nobody_has_no_value_and_one_of_nobody_no_interval() {
    let none_back = measured([(3, 10), (0, 20)]);
    assert_eq!(one(&none_back, "psr_ratio", FORTH).value, Err(Undefined::ZeroReferenceRate));
    let m = one(&none_back, "psr_ratio", BACK);
    assert_eq!((m.value, m.interval), (Ok(0.0), None));
    assert!(m.ci_method.starts_with("boundary: "), "{}", m.ci_method);
    // Nobody is predicted positive.
    assert_eq!(one(&none_back, "nsr_ratio", FORTH).value, Err(Undefined::OperandMissing));
    assert_eq!(
        one(&measured([(0, 0), (1, 20)]), "psr_ratio", FORTH).value,
        Err(Undefined::EmptyGroup)
    );
}

/// All of 10 over 5 of 20: Katz's interval takes the first as certain.
#[test]
fn a_rate_of_one_is_flagged() {
    let measured = measured([(10, 10), (5, 20)]);
    let m = one(&measured, "psr_ratio", FORTH);
    assert_eq!(m.value, Ok(4.0));
    assert!(m.flags.contains(&RATE_OF_ONE) && m.ci_method.contains("as certain"), "{m:?}");
    assert!(!one(&measured, "psr", FORTH).flags.contains(&RATE_OF_ONE));
}
