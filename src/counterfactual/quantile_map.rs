//! Numeric maps: the value of the target group at the same quantile as the value in its own group.
//!
//! Source: "Towards Counterfactual Group Fairness", equations 1 and 2 for continuous features
//! (value to probability in the own stratum, probability to value in the target stratum), nearest
//! probability for ordinal ones. With n values of the own stratum and m of the target:
//!
//! - *Continuous*: rank r of v among the own values, linear between them, and that of the nearest
//!   end outside of them; then the value at rank r m / n of the target. Weak and midrank ranks as
//!   in [`crate::num::ecdf`]. Whole numbers are rounded, halves up.
//! - *Ordinal*, with lt values below v, le up to v, D_x target values up to x. Weak: the x with the
//!   least |D_x n - le m|, then the nearest to v, then the lower. Midrank: the first x with 2 n
//!   D_x >= (lt + le) m; on equality x or the next, the nearer to v, then the lower. Whole numbers
//!   only, so no rounding decides.
//!
//! Choice: midrank. Equation 1 prints weak ranks, which move every tied value to the top of its
//! jump: in the Adult data, weak ranks turn all women without capital gains into men with some.
//! A value outside the range of its own stratum is counted as clamped. Properties: the image does
//! not decrease with v, is within the target's range, and is the identity between equal strata.
//! Cost: two binary searches; a look-up if the own values are whole numbers in a small range, one
//! binary search if there are few own values.

use crate::counterfactual::variable::VariableScale;
use crate::num::ecdf::{Cdf, Ecdf};

/// Largest difference between the greatest and the least whole number for which a map is tabulated.
const MAX_TABULATED: f64 = 1024.0;

/// Added before rounding down, so that rounding noise does not decide at halves.
const ROUND_HALF: f64 = 0.5 + 1e-9;

/// Largest number of own values for which a map is tabulated.
const MAX_VALUES: usize = 4096;

/// The images of own values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TabulatedMap {
    /// Images of the whole numbers from the first to the largest own value.
    Whole {
        /// The least own value.
        first: f64,
        /// The images.
        images: Vec<f64>,
    },
    /// Images of each own value.
    Values {
        /// The own values, ascending.
        values: Vec<f64>,
        /// The images.
        images: Vec<f64>,
    },
}

impl TabulatedMap {
    /// The image of a tabulated value; `last` is the position of the previous value.
    #[inline]
    fn image(&self, x: f64, last: &mut usize) -> Option<f64> {
        match self {
            TabulatedMap::Whole { first, images } => {
                let offset = x - first;
                let at = offset as i64;
                (at as f64 == offset)
                    .then(|| usize::try_from(at).ok().and_then(|at| images.get(at)).copied())
                    .flatten()
            }
            TabulatedMap::Values { values, images } => {
                if values.get(*last) != Some(&x) {
                    *last = values.partition_point(|&value| value < x);
                }
                (values.get(*last) == Some(&x)).then(|| images[*last])
            }
        }
    }
}

/// A map of one variable from one stratum to another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NumericMap<'a> {
    /// The own stratum; it is not empty.
    pub from: &'a Ecdf,
    /// The target stratum; it is not empty.
    pub to: &'a Ecdf,
    /// The kind of variable; categorical ones have no map.
    pub scale: &'a VariableScale,
    /// The rule for ties.
    pub cdf: Cdf,
}

impl NumericMap<'_> {
    /// Tabulates the images of own values, where these are few.
    pub(crate) fn tabulate(&self) -> Option<TabulatedMap> {
        let (first, last) = self.from.ends()?;
        let values = self.from.values();
        let map = |x: f64| self.map_value(x);
        if last - first < MAX_TABULATED && values.iter().all(|x| x.fract() == 0.0) {
            let images = (0..=(last - first) as usize).map(|k| map(first + k as f64)).collect();
            return Some(TabulatedMap::Whole { first, images });
        }
        // Quantiles are not values that a row is likely to have.
        (self.from.is_exact() && values.len() <= MAX_VALUES).then(|| TabulatedMap::Values {
            values: values.to_vec(),
            images: values.iter().map(|&x| map(x)).collect(),
        })
    }

    /// The image of a non-missing value, and whether the value is outside the own stratum's range.
    ///
    /// `last` carries the position of a value to the next one: any number at first.
    #[inline]
    pub(crate) fn image(
        &self,
        x: f64,
        tabulated: Option<&TabulatedMap>,
        last: &mut usize,
    ) -> (f64, bool) {
        if let Some(image) = tabulated.and_then(|table| table.image(x, last)) {
            return (image, false);
        }
        let outside = self.from.ends().is_some_and(|(least, largest)| x < least || x > largest);
        (self.map_value(x), outside)
    }

    fn map_value(&self, x: f64) -> f64 {
        match self.scale {
            VariableScale::Ordinal {} => self.map_ordinal(x),
            VariableScale::Continuous { integer } => {
                let rank =
                    self.from.rank(x, self.cdf) * self.to.total() as f64 / self.from.total() as f64;
                let image = self.to.value(rank, self.cdf);
                if *integer { (image + ROUND_HALF).floor() } else { image }
            }
            VariableScale::Categorical(_) => x,
        }
    }

    fn map_ordinal(&self, x: f64) -> f64 {
        let (n, m) = (i128::from(self.from.total()), i128::from(self.to.total()));
        let (below, up_to) = self.from.around(x);
        let values = self.to.values();
        let share = |j: usize| i128::from(self.to.cumulative(j));
        let nearer = |a: f64, b: f64| if (b - x).abs() < (a - x).abs() { b } else { a };
        let at = |j: usize| values.get(j).or(values.last()).copied().unwrap_or(x);
        match self.cdf {
            Cdf::Weak => {
                let wanted = i128::from(up_to) * m;
                // The distance falls up to the first value that reaches the rank, and rises after
                // it.
                let j = self.to.first_position(|end| i128::from(end) * n >= wanted);
                let Some(before) = j.checked_sub(1) else { return at(j) };
                let Some(&value) = values.get(j) else { return at(before) };
                let (short, beyond) = (wanted - share(before) * n, share(j) * n - wanted);
                match short.cmp(&beyond) {
                    std::cmp::Ordering::Less => values[before],
                    std::cmp::Ordering::Equal => nearer(values[before], value),
                    std::cmp::Ordering::Greater => value,
                }
            }
            Cdf::Midrank => {
                let wanted = (i128::from(below) + i128::from(up_to)) * m;
                let j = self.to.first_position(|end| 2 * n * i128::from(end) >= wanted);
                match (values.get(j), values.get(j + 1)) {
                    (Some(&value), Some(&next)) if 2 * n * share(j) == wanted => {
                        nearer(value, next)
                    }
                    _ => at(j),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::NumericMap;
    use crate::counterfactual::variable::VariableScale;
    use crate::num::ecdf::{Cdf, Ecdf, ValueTally};
    use crate::num::seed::RandomStream;

    const REAL: VariableScale = VariableScale::Continuous { integer: false };
    const WHOLE: VariableScale = VariableScale::Continuous { integer: true };

    fn ecdf(values: &[f64]) -> Ecdf {
        ValueTally::from_values(values.iter().copied()).ecdf()
    }

    #[track_caller]
    fn check(from: &[f64], to: &[f64], scale: &VariableScale, cdf: Cdf, expected: &[(f64, f64)]) {
        let (from, to) = (ecdf(from), ecdf(to));
        let map = NumericMap { from: &from, to: &to, scale, cdf };
        for &(x, image) in expected {
            for table in [None, map.tabulate().as_ref()] {
                let found = map.image(x, table, &mut 0).0;
                assert!(
                    (found - image).abs() <= 1e-12 * image.abs(),
                    "{x}: {found} instead of {image}"
                );
            }
        }
    }

    /// Worked by hand.
    #[test]
    fn worked_tables() {
        let (a, b) = ([10.0, 20.0, 30.0, 40.0], [100.0, 200.0, 300.0, 400.0, 500.0]);
        let weak = [
            (10.0, 125.0),
            (20.0, 250.0),
            (25.0, 312.5),
            (40.0, 500.0),
            (5.0, 125.0),
            (99.0, 500.0),
        ];
        check(&a, &b, &REAL, Cdf::Weak, &weak);
        let midrank = [
            (10.0, 112.5),
            (20.0, 237.5),
            (25.0, 300.0),
            (40.0, 487.5),
            (5.0, 112.5),
            (99.0, 487.5),
        ];
        check(&a, &b, &REAL, Cdf::Midrank, &midrank);
        let (a, b) = ([1.0, 1.0, 2.0, 3.0], [1.0, 2.0, 2.0, 3.0, 3.0]);
        check(&a, &b, &VariableScale::Ordinal {}, Cdf::Weak, &[(1.0, 2.0), (2.0, 2.0), (3.0, 3.0)]);
        check(
            &a,
            &b,
            &VariableScale::Ordinal {},
            Cdf::Midrank,
            &[(1.0, 2.0), (2.0, 3.0), (3.0, 3.0)],
        );
    }

    #[test]
    fn values_outside_their_own_stratum_are_counted() {
        let (from, to) = (ecdf(&[1.0, 2.0]), ecdf(&[3.0, 4.0]));
        for scale in [REAL, VariableScale::Ordinal {}] {
            let map = NumericMap { from: &from, to: &to, scale: &scale, cdf: Cdf::Midrank };
            assert_eq!(
                [0.5, 1.0, 1.5, 2.0, 2.5].map(|x| map.image(x, None, &mut 0).1),
                [true, false, false, false, true]
            );
        }
    }

    /// The properties above, on seeded samples with ties.
    #[test]
    fn maps_rise_stay_inside_keep_and_mirror() {
        let mut stream = RandomStream::new(4, "map");
        let mut sample = |n: usize, spread: f64| -> Vec<f64> {
            (0..n).map(|_| (stream.normal() * spread).round()).collect()
        };
        for n in [1, 2, 7, 200] {
            let (a, b) = (sample(n, 5.0), sample(n + 3, 40.0));
            let negated = |values: &[f64]| ecdf(&values.iter().map(|x| -x).collect::<Vec<_>>());
            let (from, to, from_down, to_down) = (ecdf(&a), ecdf(&b), negated(&a), negated(&b));
            let (least, largest) = to.ends().unwrap();
            for cdf in [Cdf::Weak, Cdf::Midrank] {
                for scale in [REAL, WHOLE, VariableScale::Ordinal {}] {
                    let map = NumericMap { from: &from, to: &to, scale: &scale, cdf };
                    let images: Vec<f64> =
                        (-80..80).map(|k| map.image(f64::from(k) / 4.0, None, &mut 0).0).collect();
                    assert!(
                        images.is_sorted()
                            && images.iter().all(|&x| (least..=largest).contains(&x)),
                        "{cdf:?} {scale:?}"
                    );
                    let own = NumericMap { from: &from, to: &from, scale: &scale, cdf };
                    assert!(
                        a.iter().all(|&x| own.image(x, None, &mut 0).0 == x),
                        "{cdf:?} {scale:?}"
                    );
                }
            }
            let map = NumericMap { from: &from, to: &to, scale: &REAL, cdf: Cdf::Midrank };
            let down = NumericMap { from: &from_down, to: &to_down, ..map };
            for k in -80..80 {
                let x = f64::from(k) / 4.0;
                assert!(
                    (map.image(x, None, &mut 0).0 + down.image(-x, None, &mut 0).0).abs() < 1e-9
                );
            }
        }
    }

    /// Own values far apart are tabulated too; each has the same image in any order.
    #[test]
    fn tables_of_few_values_change_no_image() {
        let from = ecdf(&[0.0, 0.0, 0.0, 5000.0, 5000.5, 99_999.0]);
        let to = ecdf(&[-3.0, 0.25, 7.0, 12_000.0]);
        for scale in [REAL, WHOLE, VariableScale::Ordinal {}] {
            for cdf in [Cdf::Weak, Cdf::Midrank] {
                let map = NumericMap { from: &from, to: &to, scale: &scale, cdf };
                let table = map.tabulate();
                assert!(table.is_some());
                let mut last = 0;
                for x in [0.0, 0.0, 99_999.0, 5000.5, 0.1, -0.0, 1e6, 5000.0, -1.0, 99_999.0] {
                    let alone = map.image(x, None, &mut 0);
                    assert_eq!(map.image(x, table.as_ref(), &mut last), alone, "{x} {scale:?}");
                }
            }
        }
    }
}
