//! Student's interval of values whose variance is a sum of squares over units, with the degrees of
//! freedom that the units carry.

use crate::metric::interval::{IntervalProcedure, ValueInterval};
use crate::num::student::student_quantile;

/// Degrees of freedom of a variance of so many units, of which some carry the spread
/// (Satterthwaite's, from the kurtosis of the influences): min(P - 1, 2 P c / (P - c)). `carriers`
/// is (sum x^2)^2 / sum x^4 of influences x, or (sum y)^2 / sum y^2 of what the units add to the
/// cases. Normal influences give P - 1, few large ones about 2 c.
pub(crate) fn degrees_of_freedom(units: f64, carriers: f64) -> f64 {
    let most = units - 1.0;
    if carriers < units * (1.0 - 1e-12) {
        most.min(2.0 * units * carriers / (units - carriers))
    } else {
        most
    }
}

/// Value plus and minus the quantile times the root of the variance.
pub(crate) fn student(value: f64, variance: f64, df: f64, level: f64) -> ValueInterval {
    let half = student_quantile(f64::midpoint(1.0, level), df) * variance.sqrt();
    ValueInterval { lo: value - half, hi: value + half, method: IntervalProcedure::Student }
}

/// The same on the logarithm, of a value above 0.
pub(crate) fn log_student(value: f64, variance: f64, df: f64, level: f64) -> ValueInterval {
    let half = student_quantile(f64::midpoint(1.0, level), df) * variance.sqrt();
    let factor = libm::exp(half / value);
    let method = IntervalProcedure::LogStudent;
    ValueInterval { lo: value / factor, hi: value * factor, method }
}

#[cfg(test)]
mod tests {
    use super::{degrees_of_freedom, log_student, student};

    #[test]
    fn few_carriers_have_few_degrees_of_freedom() {
        // All alike, and normal influences, whose kurtosis is 3: c is a third of the units.
        assert_eq!(degrees_of_freedom(10.0, 10.0), 9.0);
        assert_eq!(degrees_of_freedom(300.0, 100.0), 299.0);
        // Of 1000 units ten carry the variance: 2 * 1000 * 10 / 990.
        assert!((degrees_of_freedom(1000.0, 10.0) - 20_000.0 / 990.0).abs() < 1e-12);
    }

    #[test]
    fn both_intervals_by_hand() {
        // 3.182446 for 3 degrees of freedom and 95 %, of tables.
        let found = student(0.5, 0.04, 3.0, 0.95);
        assert!((found.lo - (0.5 - 0.2 * 3.182_446)).abs() < 1e-6, "{found:?}");
        let log = log_student(0.5, 0.04, 3.0, 0.95);
        let factor = (0.4_f64 * 3.182_446).exp();
        assert!((log.lo - 0.5 / factor).abs() < 1e-6 && (log.hi - 0.5 * factor).abs() < 1e-5);
        assert_eq!(student(0.5, 0.0, 3.0, 0.95).lo, 0.5);
    }
}
