//! Eigenvalues and eigenvectors of a dense symmetric matrix.
//!
//! Source: reduction to tridiagonal form by reflections (Householder 1958), then QL steps with
//! implicit shifts (Bowdler, Martin, Reinsch and Wilkinson 1968, "The QR and QL algorithms for
//! symmetric matrices"). Input: the lower triangle; output: eigenvalues, largest first, and
//! eigenvectors of length 1. The sign of a vector is arbitrary but always the same for the same
//! matrix.
//! Choice: a value of the off-diagonal counts as zero below the rounding of its neighbours; at most
//! 60 steps per eigenvalue, where two or three are usual.
//! Cost: about 9 n^3 operations and 2 n^2 numbers: 600 columns take half a second, 1,500 eight
//! seconds. Expected values in the tests are computed by hand or follow from the equation A v =
//! lambda v.

use crate::num::linalg::SymmetricMatrix;

const MAX_STEPS: usize = 60;

/// Eigenvalues, largest first, and for each its eigenvector.
pub(crate) fn eigen(matrix: &SymmetricMatrix) -> (Vec<f64>, Vec<Vec<f64>>) {
    let (mut diagonal, mut second, mut vectors) = tridiagonal(matrix);
    ql(&mut diagonal, &mut second, &mut vectors);
    let mut order: Vec<usize> = (0..matrix.n).collect();
    order.sort_by(|&i, &j| diagonal[j].total_cmp(&diagonal[i]));
    (
        order.iter().map(|&i| diagonal[i]).collect(),
        order.iter().map(|&i| std::mem::take(&mut vectors[i])).collect(),
    )
}

/// The shortest least-squares solution of A x = b for each right-hand side b, of a positive
/// semidefinite A: eigenvalues up to what `cut` makes of the largest count as zero.
pub(crate) fn shortest_solutions(
    a: &SymmetricMatrix,
    sides: &[Vec<f64>],
    cut: impl Fn(f64) -> f64,
) -> Vec<Vec<f64>> {
    let (values, vectors) = eigen(a);
    let cut = cut(values.first().copied().unwrap_or(0.0));
    let solve = |b: &Vec<f64>| {
        let mut x = vec![0.0; a.n];
        for (value, vector) in values.iter().zip(&vectors).filter(|(value, _)| **value > cut) {
            add(&mut x, dot(vector, b) / value, vector);
        }
        x
    };
    sides.iter().map(solve).collect()
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// `y += factor x`.
fn add(y: &mut [f64], factor: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
}

/// The tridiagonal form and the product of the reflections.
///
/// Returns the diagonal, the off-diagonal (entry i is between i and i + 1; the last is 0), and the
/// rows of the transposed product of all reflections.
fn tridiagonal(matrix: &SymmetricMatrix) -> (Vec<f64>, Vec<f64>, Vec<Vec<f64>>) {
    let n = matrix.n;
    let entry = |i: usize, j: usize| matrix.entry(i, j);
    let mut a: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect();
    let mut second = vec![0.0; n];
    // Each reflection is x - beta v (v . x), v from position k + 1 on.
    let mut reflections: Vec<(f64, Vec<f64>)> = Vec::new();
    for k in 0..n.saturating_sub(1) {
        let mut v = a[k][k + 1..].to_vec();
        let length = dot(&v, &v).sqrt();
        second[k] = if v[0] > 0.0 { -length } else { length };
        v[0] -= second[k];
        let square = dot(&v, &v);
        let beta = if square > 0.0 { 2.0 / square } else { 0.0 };
        let mut w: Vec<f64> = a[k + 1..].iter().map(|row| beta * dot(&row[k + 1..], &v)).collect();
        let half = 0.5 * beta * dot(&v, &w);
        add(&mut w, -half, &v);
        for (i, row) in a[k + 1..].iter_mut().enumerate() {
            add(&mut row[k + 1..], -v[i], &w);
            add(&mut row[k + 1..], -w[i], &v);
        }
        reflections.push((beta, v));
    }
    let diagonal = (0..n).map(|i| a[i][i]).collect();
    let mut product: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for (k, (beta, v)) in reflections.iter().enumerate().rev() {
        let mut sums = vec![0.0; n];
        product[k + 1..].iter().zip(v).for_each(|(row, &x)| add(&mut sums, x, row));
        product[k + 1..].iter_mut().zip(v).for_each(|(row, &x)| add(row, -beta * x, &sums));
    }
    let transposed = (0..n).map(|j| product.iter().map(|row| row[j]).collect()).collect();
    (diagonal, second, transposed)
}

/// Turns the diagonal into the eigenvalues and the rows of `vectors` into the eigenvectors.
fn ql(diagonal: &mut [f64], second: &mut [f64], vectors: &mut [Vec<f64>]) {
    let n = diagonal.len();
    for l in 0..n {
        for _ in 0..MAX_STEPS {
            let negligible = |m: &usize| {
                second[*m].abs() <= f64::EPSILON * (diagonal[*m].abs() + diagonal[*m + 1].abs())
            };
            let m = (l..n - 1).find(negligible).unwrap_or(n - 1);
            if m == l {
                break;
            }
            let shift = (diagonal[l + 1] - diagonal[l]) / (2.0 * second[l]);
            let length = libm::hypot(shift, 1.0);
            let mut g = diagonal[m] - diagonal[l] + second[l] / (shift + length.copysign(shift));
            let (mut sine, mut cosine, mut moved) = (1.0, 1.0, 0.0);
            let mut whole = true;
            for i in (l..m).rev() {
                let (f, b) = (sine * second[i], cosine * second[i]);
                let r = libm::hypot(f, g);
                second[i + 1] = r;
                if r == 0.0 {
                    diagonal[i + 1] -= moved;
                    second[m] = 0.0;
                    whole = false;
                    break;
                }
                (sine, cosine) = (f / r, g / r);
                g = diagonal[i + 1] - moved;
                let t = (diagonal[i] - g) * sine + 2.0 * cosine * b;
                moved = sine * t;
                diagonal[i + 1] = g + moved;
                g = cosine * t - b;
                let (above, below) = vectors.split_at_mut(i + 1);
                for (x, y) in above[i].iter_mut().zip(&mut below[0]) {
                    (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
                }
            }
            if whole {
                diagonal[l] -= moved;
                second[l] = g;
                second[m] = 0.0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::eigen;
    use crate::num::linalg::SymmetricMatrix;
    use crate::num::seed::RandomStream;

    #[test]
    fn eigenvalues_worked_by_hand() {
        // [[2, 1, 0], [1, 2, 0], [0, 0, 5]]: 5, 3, 1 with (0, 0, 1), (1, 1, 0) / sqrt 2, (1, -1, 0)
        // / sqrt 2.
        let (values, vectors) =
            eigen(&SymmetricMatrix { n: 3, lower: vec![2.0, 1.0, 2.0, 0.0, 0.0, 5.0] });
        for (found, expected) in values.iter().zip([5.0, 3.0, 1.0]) {
            assert!((found - expected).abs() < 1e-14, "{values:?}");
        }
        assert_eq!(vectors[0].iter().map(|x| x.abs()).collect::<Vec<_>>(), [0.0, 0.0, 1.0]);
        assert!(
            (vectors[1][0] - vectors[1][1]).abs() < 1e-14
                && (vectors[2][0] + vectors[2][1]).abs() < 1e-14
        );
        assert_eq!(eigen(&SymmetricMatrix { n: 0, lower: vec![] }), (vec![], vec![]));
    }

    /// A v = lambda v, and the vectors are orthogonal and of length 1; also where the matrix has no
    /// full rank.
    #[test]
    fn eigenvectors_satisfy_their_equation() {
        let mut stream = RandomStream::new(9, "eigen");
        for (n, rank) in [(1, 1), (2, 2), (12, 12), (40, 30)] {
            let factors: Vec<Vec<f64>> =
                (0..rank).map(|_| (0..n).map(|_| stream.normal()).collect()).collect();
            let entry = |i: usize, j: usize| factors.iter().map(|f| f[i] * f[j]).sum::<f64>();
            let lower = (0..n)
                .flat_map(|i| (0..=i).map(move |j| (i, j)))
                .map(|(i, j)| entry(i, j))
                .collect();
            let (values, vectors) = eigen(&SymmetricMatrix { n, lower });
            assert!(values.is_sorted_by(|a, b| a >= b));
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
            for k in 0..n {
                for i in 0..n {
                    let product: f64 = (0..n).map(|j| entry(i, j) * vectors[k][j]).sum();
                    assert!(
                        (product - values[k] * vectors[k][i]).abs() < 1e-11 * values[0],
                        "{n} {k}"
                    );
                    assert!(
                        (dot(&vectors[k], &vectors[i]) - f64::from(u8::from(i == k))).abs() < 1e-12
                    );
                }
            }
        }
    }
}
