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
