//! Ratios of the rates of two directions, against Katz's formula worked by hand.

use super::{one, settings};
use crate::metric::MetricFamily;
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson};
use crate::metric::interval::IntervalProcedure;
use crate::metric::rate::Undefined;
use crate::metric::scope::MetricScope;
use crate::metric::value::measured::MeasuredValue;
use crate::metric::value::settings::{MeasureSettings, RATE_OF_ONE};
use crate::metric::value::switches::measure_counterfactual;

/// For each of two groups how many people turn positive in the other group, and how many there are
/// with the negative label and prediction.
fn measured(groups: [(u64, u64); 2]) -> Vec<MeasuredValue> {
    let mut counts = CounterfactualCounts::new(2);
    for (group, (switches, n)) in groups.into_iter().enumerate() {
        for i in 0..n {
            let person = ScoredPerson {
                group,
                label: Some(false),
                predicted: Some(false),
                score: None,
                weight: 1,
            };
            let moved = ScoredCounterfactual {
                to: 1 - group,
                predicted: Some(i < switches),
                score: None,
                rounded: false,
                unsupported: 0,
            };
            counts.add(&person, &[moved]);
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
