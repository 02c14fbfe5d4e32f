//! Forward-mode dual numbers: a value of four cells and its derivative by each of them.

use std::ops::{Add, Div, Mul, Sub};

/// A value with its derivatives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dual {
    pub(crate) value: f64,
    pub(crate) gradient: [f64; 4],
}

impl Dual {
    /// A number that does not depend on the cells.
    pub(crate) fn constant(value: f64) -> Self {
        Dual { value, gradient: [0.0; 4] }
    }

    /// The four cells.
    pub(crate) fn cells(values: [f64; 4]) -> [Self; 4] {
        std::array::from_fn(|i| {
            let mut gradient = [0.0; 4];
            gradient[i] = 1.0;
            Dual { value: values[i], gradient }
        })
    }

    fn of_two(self, other: Self, value: f64, by_self: f64, by_other: f64) -> Self {
        let by = |i: usize| by_self * self.gradient[i] + by_other * other.gradient[i];
        Dual { value, gradient: std::array::from_fn(by) }
    }
}

impl Add for Dual {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.of_two(other, self.value + other.value, 1.0, 1.0)
    }
}

impl Sub for Dual {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.of_two(other, self.value - other.value, 1.0, -1.0)
    }
}

impl Mul for Dual {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        self.of_two(other, self.value * other.value, other.value, self.value)
    }
}

impl Mul<Dual> for f64 {
    type Output = Dual;
    fn mul(self, other: Dual) -> Dual {
        Dual::constant(self) * other
    }
}

impl Div for Dual {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let (above, below) = (self.value, other.value);
        self.of_two(other, above / below, 1.0 / below, -above / (below * below))
    }
}

#[cfg(test)]
mod tests {
    use super::Dual;

    #[test]
    fn derivatives_by_hand() {
        let [a, b, c, d] = Dual::cells([2.0, 3.0, 4.0, 5.0]);
        let found = (a * b - c) / (2.0 * d);
        assert!((found.value - 0.2).abs() < 1e-15);
        let expected = [0.3, 0.2, -0.1, -0.04];
        for (found, expected) in found.gradient.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-15, "{found} {expected}");
        }
        assert_eq!((2.0 * a + b).gradient, [2.0, 1.0, 0.0, 0.0]);
    }
}
