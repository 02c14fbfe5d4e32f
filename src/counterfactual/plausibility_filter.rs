//! Plausibility: how far a counterfactual lies from the centroid of the real rows of its target
//! group and class.
//!
//! Source: the validation of "Towards Counterfactual Group Fairness" by principal components and
//! centroids. In the z-space of the reference ([`crate::counterfactual::space`]), all groups and
//! classes together: the first n principal components. A section is the reference rows of the
//! target group and class, with mean m_c and population variance s_c of its scores per component c.
//! For a counterfactual with scores t: r_c = sum over k != c of (t_k - m_k)^2 / sum over k != c of
//! s_k, plausibility = sqrt(max_c r_c), valid: plausibility <= k. Each c that is left out gives one
//! of the combinations of n - 1 of n components; the largest value decides. Choice: n is the
//! smallest number that explains the requested share of the variance, at least 2. The unit is the
//! root mean square distance of the rows of the section: a multiple of the standard deviation of
//! the distances would reject nearly all rows in several dimensions. If the section has too few
//! rows, or no variance without some component, there is no verdict and the counterfactual stays
//! valid. With one component, none is left out. Cost: moments while the reference is counted, and
//! once the cube of the number of columns; then n products per variable and row.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counterfactual::GeneratedBatch;
use crate::counterfactual::absence::TOLERANCE;
use crate::counterfactual::variable::StrategyVariable;
use crate::data::FeatureRows;
use crate::param::{Count, Finite, Fraction};

/// Largest number of columns of the z-space: at 1,500 the components take 8 s, and 18 MB per
/// thread.
pub(crate) const MAX_COLUMNS: usize = 1500;

/// Eigenvalues below this share of the largest are noise.
///
/// Variances below this share of the variance of all rows count as 0 too.
pub(crate) const NOISE_SHARE: f64 = 1e-10;

/// Of several counterfactuals of a row in a group, which count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SelectRule {
    /// All valid ones.
    #[default]
    All,
    /// The valid one with the least distance; of equals the first.
    Best,
}

/// How far a counterfactual may be from the centroid of its target group and class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeepWithinBlock {
    /// At most this many times the root mean square distance of the real rows; above 0.
    #[schemars(extend("exclusiveMinimum" = 0, "x-range" = "a distance above 0; 1.5 is usual"))]
    pub centroid_sd: Finite,
    /// Share of the variance that the principal components explain together.
    #[serde(default = "Fraction::of::<9, 10>")]
    #[schemars(extend("exclusiveMinimum" = 0, "x-range" = "a share above 0; 0.9 is usual"))]
    pub explained: Fraction,
    /// At most this many principal components.
    #[serde(default = "Count::of::<10>")]
    pub max_components: Count,
    /// Of several counterfactuals of a row in a group, all valid ones count, or the nearest only.
    #[serde(default)]
    pub select: SelectRule,
}

/// The terms of one variable in the scores: its z value times the weights, or a term per level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ComponentTerm {
    Number { mean: f64, sd: f64, weights: Vec<f64> },
    Levels(Vec<Vec<f64>>),
}

/// The real rows of a group and class: mean and population variance of each score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlausibilitySection {
    pub(crate) group: u16,
    /// `None` if the strategy conditions on nothing.
    pub(crate) class: Option<u32>,
    pub(crate) means: Vec<f64>,
    pub(crate) variances: Vec<f64>,
}

/// A fitted filter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlausibilityFilter {
    pub(crate) settings: KeepWithinBlock,
    pub(crate) n_components: usize,
    /// Variance of the scores of all reference rows together.
    pub(crate) variance: f64,
    pub(crate) terms: Vec<ComponentTerm>,
    /// Sorted by group, then class.
    pub(crate) sections: Vec<PlausibilitySection>,
}

/// Number of rows that are scored at a time.
const BLOCK_ROWS: usize = 1024;

/// Scores of a row that are added side by side; the last of them may represent no component.
const SIDE_BY_SIDE: usize = 4;

/// Some scores of a row.
type ScoreLanes = [f64; SIDE_BY_SIDE];

/// The terms of a variable in the scores of some rows.
enum RowTerm<'a> {
    Number {
        values: Cow<'a, [f64]>,
        mean: f64,
        sd: f64,
        weights: Vec<ScoreLanes>,
    },
    /// The level of each row, and the term of each level; 0 for the last, which is missing.
    Levels {
        levels: Vec<u32>,
        adds: Vec<ScoreLanes>,
    },
}

/// Scores in lanes; the last ones are 0 where there are fewer.
fn lanes(scores: &[f64]) -> impl Iterator<Item = ScoreLanes> {
    scores.chunks(SIDE_BY_SIDE).map(|part| {
        let mut lanes = [0.0; SIDE_BY_SIDE];
        lanes[..part.len()].copy_from_slice(part);
        lanes
    })
}

/// The scores of rows, row by row.
pub(crate) struct ComponentScores {
    width: usize,
    /// For each row.
    n_lanes: usize,
    cells: Vec<ScoreLanes>,
}

/// Adds to each score its weight times a number.
#[inline(always)]
fn add_times(scores: &mut [ScoreLanes], weights: &[ScoreLanes], times: f64) {
    let n = scores.len().min(weights.len());
    let (scores, weights) = (&mut scores[..n], &weights[..n]);
    let mut i = 0;
    // No iterator in pairs: beginning one costs as much as the few sums of a row.
    while i < n {
        let ([a, b, c, d], sums) = (weights[i], &mut scores[i]);
        sums[0] += times * a;
        sums[1] += times * b;
        sums[2] += times * c;
        sums[3] += times * d;
        i += 1;
    }
}

impl ComponentScores {
    /// The scores of a row, one for each component.
    pub(crate) fn row(&self, row: usize) -> &[f64] {
        &self.cells[row * self.n_lanes..][..self.n_lanes].as_flattened()[..self.width]
    }

    /// The scores of rows on this many components.
    pub(crate) fn of(
        width: usize,
        terms: &[ComponentTerm],
        variables: &[StrategyVariable],
        rows: &FeatureRows,
    ) -> Self {
        let n_lanes = width.div_ceil(SIDE_BY_SIDE);
        let cells = vec![[0.0; SIDE_BY_SIDE]; rows.n * n_lanes];
        let mut matrix = ComponentScores { width, n_lanes, cells };
        let term = |(variable, term): (&StrategyVariable, &ComponentTerm)| match term {
            ComponentTerm::Number { mean, sd, weights } => RowTerm::Number {
                values: variable.numbers(rows),
                mean: *mean,
                sd: *sd,
                weights: lanes(weights).collect(),
            },
            ComponentTerm::Levels(adds) => {
                let missing = vec![[0.0; SIDE_BY_SIDE]; n_lanes];
                RowTerm::Levels {
                    levels: variable.digits(rows, adds.len() as u32),
                    adds: adds.iter().flat_map(|level| lanes(level)).chain(missing).collect(),
                }
            }
        };
        let terms: Vec<RowTerm<'_>> = variables.iter().zip(terms).map(term).collect();
        // In blocks, so that the sums fit into the processor's cache.
        for (first, block) in
            (0..).step_by(BLOCK_ROWS).zip(matrix.cells.chunks_mut(BLOCK_ROWS * n_lanes))
        {
            for term in &terms {
                match term {
                    RowTerm::Number { values, mean, sd, weights } => {
                        let values = &values[first..];
                        for (i, scores) in block.chunks_exact_mut(n_lanes).enumerate() {
                            let x = values[i];
                            if !x.is_nan() {
                                add_times(scores, weights, (x - mean) / sd);
                            }
                        }
                    }
                    RowTerm::Levels { levels, adds } => {
                        let levels = &levels[first..];
                        for (i, scores) in block.chunks_exact_mut(n_lanes).enumerate() {
                            let adds = &adds[levels[i] as usize * n_lanes..][..n_lanes];
                            add_times(scores, adds, 1.0);
                        }
                    }
                }
            }
        }
        matrix
    }
}

impl PlausibilityFilter {
    /// Position in `sections` of the section of a group and class.
    fn section(&self, group: usize, class: Option<u32>) -> Option<usize> {
        let key = (u16::try_from(group).ok()?, class);
        self.sections.binary_search_by_key(&key, |section| (section.group, section.class)).ok()
    }

    /// The plausibility of a row with these scores in a section; `None` without a verdict.
    fn distance(
        &self,
        section: &PlausibilitySection,
        variance: f64,
        scores: &[f64],
        squares: &mut [f64],
    ) -> Option<f64> {
        let (means, variances) = (section.means.as_slice(), section.variances.as_slice());
        let mut distance = 0.0;
        for (k, square) in squares.iter_mut().enumerate() {
            *square = (scores[k] - means[k]) * (scores[k] - means[k]);
            distance += *square;
        }
        let mut worst = 0.0_f64;
        for (k, square) in squares.iter().enumerate() {
            let (d, v) = if self.n_components == 1 {
                (distance, variance)
            } else {
                (distance - square, variance - variances[k])
            };
            if v <= NOISE_SHARE * self.variance {
                return None;
            }
            let ratio = d / v;
            if !ratio.is_finite() {
                return Some(f64::MAX);
            }
            worst = worst.max(ratio);
        }
        Some(worst.sqrt())
    }

    /// The plausibility of each row in the section of its `key` (group and class).
    ///
    /// `None` for a row without a verdict.
    pub fn plausibility(
        &self,
        variables: &[StrategyVariable],
        rows: &FeatureRows,
        key: impl Fn(usize) -> Option<(usize, Option<u32>)>,
    ) -> Vec<Option<f64>> {
        let scores = ComponentScores::of(self.n_components, &self.terms, variables, rows);
        let variances: Vec<f64> =
            self.sections.iter().map(|section| section.variances.iter().sum()).collect();
        let mut squares = vec![0.0; self.n_components];
        let mut distance_of = |i: usize| {
            let (group, class) = key(i)?;
            let at = self.section(group, class)?;
            self.distance(&self.sections[at], variances[at], scores.row(i), &mut squares)
        };
        (0..rows.n).map(&mut distance_of).collect()
    }

    /// Marks counterfactuals that are too far from their section as invalid; `section` is the group
    /// and class of that of a row.
    pub(super) fn apply(
        &self,
        variables: &[StrategyVariable],
        section: impl Fn(usize) -> (usize, Option<u32>),
        generated: &mut GeneratedBatch,
    ) {
        let key = |j: usize| Some(section(generated.parent[j]));
        let plausibility = self.plausibility(variables, &generated.rows, key);
        let most = self.settings.centroid_sd.get() + TOLERANCE;
        for (valid, distance) in generated.valid.iter_mut().zip(&plausibility) {
            *valid &= distance.is_none_or(|distance| distance <= most);
        }
        generated.plausibility = Some(plausibility);
    }

    /// If the settings select the best, only the best counterfactual of each row stays valid.
    pub(super) fn select(&self, generated: &mut GeneratedBatch) {
        let Some(plausibility) =
            generated.plausibility.as_ref().filter(|_| self.settings.select == SelectRule::Best)
        else {
            return;
        };
        let mut start = 0;
        while start < generated.parent.len() {
            let end = start
                + generated.parent[start..]
                    .iter()
                    .take_while(|&&parent| parent == generated.parent[start])
                    .count();
            let distance = |j: &usize| plausibility[*j].unwrap_or(0.0);
            let best = (start..end)
                .filter(|&j| generated.valid[j])
                .min_by(|a, b| distance(a).total_cmp(&distance(b)));
            (start..end).for_each(|j| generated.valid[j] = Some(j) == best);
            start = end;
        }
    }
}
