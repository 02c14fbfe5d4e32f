//! Cholesky factorisation and solution of small dense symmetric systems.
//!
//! Eigenvectors are in [`crate::num::eigen`].

/// A symmetric matrix of size `n`, its lower triangle by rows.
///
/// Entry (i, j) with j <= i is at `i * (i + 1) / 2 + j`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SymmetricMatrix {
    /// Number of rows.
    pub n: usize,
    /// The lower triangle by rows, `n * (n + 1) / 2` numbers.
    pub lower: Vec<f64>,
}

impl SymmetricMatrix {
    /// Position of entry (i, j), j <= i.
    #[inline]
    pub(crate) fn at(i: usize, j: usize) -> usize {
        i * (i + 1) / 2 + j
    }

    /// The matrix with these entries (i, j), asked for with j <= i.
    pub(crate) fn of(n: usize, mut entry: impl FnMut(usize, usize) -> f64) -> Self {
        let mut lower = Vec::with_capacity(Self::at(n, 0));
        (0..n).for_each(|i| (0..=i).for_each(|j| lower.push(entry(i, j))));
        SymmetricMatrix { n, lower }
    }

    /// Entry (i, j).
    pub(crate) fn entry(&self, i: usize, j: usize) -> f64 {
        self.lower[Self::at(i.max(j), i.min(j))]
    }

    /// Solves `A x = b` by Cholesky; `None` where A is not positive definite.
    ///
    /// This is the case if a pivot is at most `1e-13` times the largest diagonal entry.
    pub(crate) fn solve(&self, b: &[f64]) -> Option<Vec<f64>> {
        self.cholesky(1e-13).map(|factor| factor.solve(b))
    }

    /// The factor L of A = L L'.
    ///
    /// `None` where a pivot is not above `tolerance` times the largest diagonal entry.
    pub(crate) fn cholesky(&self, tolerance: f64) -> Option<CholeskyFactor> {
        let n = self.n;
        let largest = (0..n).map(|i| self.lower[Self::at(i, i)]).fold(0.0, f64::max);
        let mut l = self.lower.clone();
        for i in 0..n {
            for j in 0..=i {
                let dot: f64 = (0..j).map(|k| l[Self::at(i, k)] * l[Self::at(j, k)]).sum();
                let rest = l[Self::at(i, j)] - dot;
                l[Self::at(i, j)] = if i == j {
                    if rest.is_nan() || rest <= tolerance * largest {
                        return None;
                    }
                    rest.sqrt()
                } else {
                    rest / l[Self::at(j, j)]
                };
            }
        }
        Some(CholeskyFactor(SymmetricMatrix { n, lower: l }))
    }
}

/// A Cholesky factor, kept to solve several systems with one matrix.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CholeskyFactor(SymmetricMatrix);

impl CholeskyFactor {
    /// Solves `A x = b`.
    pub(crate) fn solve(&self, b: &[f64]) -> Vec<f64> {
        let SymmetricMatrix { n, lower: l } = &self.0;
        let at = SymmetricMatrix::at;
        let mut x = b.to_vec();
        for i in 0..*n {
            let dot: f64 = (0..i).map(|k| l[at(i, k)] * x[k]).sum();
            x[i] = (x[i] - dot) / l[at(i, i)];
        }
        for i in (0..*n).rev() {
            let dot: f64 = (i + 1..*n).map(|k| l[at(k, i)] * x[k]).sum();
            x[i] = (x[i] - dot) / l[at(i, i)];
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::SymmetricMatrix;

    #[test]
    fn solves_a_system_worked_by_hand() {
        // [[4, 2, 0], [2, 5, 3], [0, 3, 6]] x = [8, 21, 24] has x = [1, 2, 3].
        let a = SymmetricMatrix { n: 3, lower: vec![4.0, 2.0, 5.0, 0.0, 3.0, 6.0] };
        let x = a.solve(&[8.0, 21.0, 24.0]).expect("positive definite");
        for (got, want) in x.iter().zip([1.0, 2.0, 3.0]) {
            assert!((got - want).abs() < 1e-12, "{x:?}");
        }
    }

    #[test]
    fn refuses_a_singular_matrix() {
        let a = SymmetricMatrix { n: 2, lower: vec![1.0, 1.0, 1.0] };
        assert_eq!(a.solve(&[1.0, 1.0]), None);
    }
}
