//! A map of rows: where they lie on the first two principal components of the reference.
//!
//! Source: "Towards Counterfactual Group Fairness" draws rows and their counterfactuals by UMAP.
//! Choice: principal components of the z-space ([`crate::counterfactual::space`]) over all
//! reference rows instead. They use no random numbers, have a known share of the variance, and
//! never draw two rows farther apart than they are. The mean of the reference is at 0; in each
//! component the entry with the largest magnitude is positive (the first, if several differ only by
//! rounding). If two components have the same variance, their directions within a plane are
//! arbitrary, but the same for the same reference.
//! Cost: one more pass over the reference, and once the cube of the number of columns.

use crate::counterfactual::conditional::ReferenceCounts;
use crate::counterfactual::moments::{MomentFrame, ReferenceMoments};
use crate::counterfactual::plausibility_filter::{
    ComponentScores, ComponentTerm, MAX_COLUMNS, NOISE_SHARE,
};
use crate::counterfactual::plausibility_fit::terms;
use crate::counterfactual::quality::QualityReference;
use crate::data::FeatureRows;
use crate::error::Result;
use crate::num::eigen::eigen;
use crate::num::linalg::SymmetricMatrix;

/// A relative difference below this is a rounding error.
const SAME: f64 = 1e-9;

/// The first two principal components of a reference.
#[derive(Debug)]
pub(crate) struct RowMap {
    terms: Vec<ComponentTerm>,
    /// The position of the mean of the reference.
    centre: [f64; 2],
    /// The share of the variance of the reference on each.
    pub shares: [f64; 2],
    /// Whether the first and the second, or the second and the third, have the same variance.
    pub tied: bool,
}

impl QualityReference {
    /// The map of the reference with these counts, or the reason why there is none; `sum` computes
    /// the moments of the reference rows.
    ///
    /// # Errors
    /// The errors of `sum`.
    pub(crate) fn map(
        &self,
        counts: &ReferenceCounts,
        sum: impl FnOnce(&MomentFrame) -> Result<ReferenceMoments>,
    ) -> Result<Result<RowMap, &'static str>> {
        if self.space.width() > MAX_COLUMNS {
            return Ok(Err("many_columns"));
        }
        let all = counts.merged_where(|_| true).map_or(Vec::new(), |all| all.values);
        let frame = MomentFrame::new(&self.variables, &all);
        let sums = sum(&frame)?.whole().unwrap_or_else(|| frame.empty());
        let (means, products) = frame.mean_products(&sums, &self.space);
        let covariances =
            SymmetricMatrix::of(means.len(), |i, j| products.entry(i, j) - means[i] * means[j]);
        let total: f64 = (0..means.len()).map(|i| covariances.entry(i, i)).sum();
        if sums.n == 0 {
            return Ok(Err("few_components"));
        }
        let (values, mut vectors) = eigen(&covariances);
        let [first, second] = [0, 1].map(|k| values.get(k).copied().unwrap_or(0.0));
        if second <= NOISE_SHARE * first {
            return Ok(Err("few_components"));
        }
        vectors.truncate(2);
        vectors.iter_mut().for_each(|vector| orient(vector));
        let same = |k: usize| values.get(k).is_some_and(|v| values[k - 1] - v <= SAME * first);
        let centre = |k: usize| vectors[k].iter().zip(&means).map(|(w, m)| w * m).sum();
        Ok(Ok(RowMap {
            terms: terms(&self.space, &vectors),
            centre: [centre(0), centre(1)],
            shares: [first / total, second / total],
            tied: same(1) || same(2),
        }))
    }
}

/// Gives a component its sign.
fn orient(vector: &mut [f64]) {
    let largest = vector.iter().fold(0.0, |most, x| f64::max(most, x.abs()));
    let leading = vector.iter().find(|x| x.abs() >= largest * (1.0 - SAME));
    if leading.is_some_and(|x| *x < 0.0) {
        vector.iter_mut().for_each(|x| *x = -*x);
    }
}

impl RowMap {
    /// The positions of rows, horizontal and vertical.
    pub(crate) fn places(&self, reference: &QualityReference, rows: &FeatureRows) -> Vec<[f64; 2]> {
        let scores = ComponentScores::of(2, &self.terms, &reference.variables, rows);
        let place = |i| [0, 1].map(|k| scores.row(i)[k] - self.centre[k]);
        (0..rows.n).map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{RowMap, orient};
    use crate::counterfactual::SampleBatch;
    use crate::counterfactual::conditional::Conditioning;
    use crate::counterfactual::counting::{ReferenceCounter, counts_of};
    use crate::counterfactual::quality::QualityReference;
    use crate::counterfactual::variable::{CategoryLevels, StrategyVariable, VariableScale};
    use crate::data::{FeatureColumn, FeatureRows, MISSING};
    use serde_json::Value as Json;

    /// The reference with columns of numbers, given as such, and of levels, given with their
    /// number; and the map of its rows.
    fn map(
        columns: Vec<(FeatureColumn, Option<u32>)>,
    ) -> (QualityReference, Result<RowMap, &'static str>, FeatureRows) {
        let variable =
            |(column, (_, n)): (usize, &(FeatureColumn, Option<u32>))| StrategyVariable {
                name: format!("v{column}"),
                columns: vec![column],
                scale: match *n {
                    None => VariableScale::Continuous { integer: false },
                    Some(n) => VariableScale::Categorical(CategoryLevels {
                        n,
                        ..CategoryLevels::default()
                    }),
                },
            };
        let variables: Vec<StrategyVariable> = columns.iter().enumerate().map(variable).collect();
        let columns: Vec<FeatureColumn> = columns.into_iter().map(|column| column.0).collect();
        let n = match &columns[0] {
            FeatureColumn::Number(values) => values.len(),
            FeatureColumn::Code(codes) => codes.len(),
        };
        let rows = FeatureRows::of(columns);
        let samples = SampleBatch { keys: &[], rows: &rows, groups: &[], classes: &[] };
        let counts = counts_of(&variables, &samples);
        let reference = QualityReference::new(variables, &counts, 1, Conditioning::Nothing);
        let found = reference.map(&counts, |frame| {
            // In two parts, as threads add them.
            let mut whole = ReferenceCounter::new(&reference.variables, Some(frame));
            for part in [0..n / 3, n / 3..n] {
                let part = rows.take(&part.collect::<Vec<_>>());
                let mut counter = ReferenceCounter::new(&reference.variables, Some(frame));
                counter.add(&SampleBatch { rows: &part, ..samples });
                whole.merge(counter);
            }
            Ok(whole.finish().1)
        });
        (reference, found.unwrap(), rows)
    }

    fn numbers(list: &Json) -> Vec<f64> {
        list.as_array().unwrap().iter().map(|x| x.as_f64().unwrap_or(f64::NAN)).collect()
    }

    /// numpy's decomposition of the same rows (tests/oracle/components.json, by components.py).
    #[test]
    fn places_and_shares_are_those_of_numpy() {
        let text = include_str!("../../../tests/oracle/components.json");
        let oracle: Json = serde_json::from_str(text).unwrap();
        for case in oracle["cases"].as_array().unwrap() {
            let column = |column: &Json| match column["levels"].as_u64() {
                None => (FeatureColumn::Number(numbers(&column["values"])), None),
                Some(n) => {
                    let code = |x: &f64| if x.is_nan() { MISSING } else { *x as u32 };
                    let codes = numbers(&column["values"]).iter().map(code).collect();
                    (FeatureColumn::Code(codes), u32::try_from(n).ok())
                }
            };
            let (reference, found, rows) =
                map(case["columns"].as_array().unwrap().iter().map(column).collect());
            let name = &case["name"];
            if let Some(why) = case["undefined"].as_str() {
                assert_eq!(found.err(), Some(why), "{name}");
                continue;
            }
            let found = found.unwrap();
            let near = |a: &[f64; 2], b: &Json| {
                a.iter().zip(numbers(b)).all(|(a, b)| (a - b).abs() <= 1e-9 * b.abs().max(1.0))
            };
            assert!(near(&found.shares, &case["shares"]), "{name}: {:?}", found.shares);
            assert_eq!(Some(found.tied), case["tied"].as_bool(), "{name}");
            let places = found.places(&reference, &rows);
            let Some(expected) = case["places"].as_array() else { continue };
            assert_eq!(places.len(), expected.len());
            for (i, (place, expected)) in places.iter().zip(expected).enumerate() {
                assert!(near(place, expected), "{name}, row {i}: {place:?}, not {expected}");
            }
        }
    }

    #[test]
    fn the_sign_of_a_component_is_that_of_its_first_largest_entry() {
        for (vector, expected) in [
            ([-0.5, 0.8, 0.1], [-0.5, 0.8, 0.1]),
            ([0.5, -0.8, 0.1], [-0.5, 0.8, -0.1]),
            ([-0.7, 0.7 + 1e-12, 0.0], [0.7, -0.7 - 1e-12, 0.0]),
            ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        ] {
            let mut found = vector;
            orient(&mut found);
            assert_eq!(found, expected);
        }
    }
}
