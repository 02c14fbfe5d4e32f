//! Plausibility: how far a counterfactual lies from the centroid of the real rows of its target
//! group and class.
//!
//! Source: the validation of "Towards Counterfactual Group Fairness" by principal components and
//! centroids. In the z-space of the reference ([`crate::counterfactual::space`]), all groups and
//! classes together: the first n principal components. A section is the reference rows of the
//! target group and class, with mean m_c and population variance s_c of its scores per component c.
//! For a counterfactual with scores t:
//! r_c = sum over k != c of (t_k - m_k)^2 / sum over k != c of s_k, plausibility = sqrt(max_c r_c),
//! valid: plausibility <= k. Each c left out is one of the combinations of n - 1 of n components;
//! the worst decides.
//! Choice: n is the least number that explains the wanted share of the variance, at least 2. The
//! unit is the root mean square distance of the section's own rows: a multiple of the standard
//! deviation of the distances alone would reject nearly all rows in several dimensions. Where the
//! section has too few rows, or no variance left without some component, there is no verdict and
//! the counterfactual stays valid. With one component, none is left out.
//! Cost: two passes over the reference, and once the cube of the number of columns; then n products
//! per variable and row.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counterfactual::GeneratedBatch;
use crate::counterfactual::conditional::{Conditioning, ReferenceCounts};
use crate::counterfactual::decorrelate::DecorrelatedReference;
use crate::counterfactual::flip::TOLERANCE;
use crate::counterfactual::moments;
use crate::counterfactual::space::{ReferenceSpace, SpaceAxis};
use crate::counterfactual::variable::StrategyVariable;
use crate::data::{FeatureRows, MISSING_GROUP};
use crate::error::{Fault, Result};
use crate::num::eigen::eigen;
use crate::num::fixed::FixedSum;

/// Largest number of columns of the z-space: at 1,500 the components take 8 s, and 18 MB per
/// thread.
const MAX_COLUMNS: usize = 1500;

/// Eigenvalues below this share of the largest are noise.
///
/// So are variances below this share of the variance of all rows.
const NOISE_SHARE: f64 = 1e-10;

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

/// Settings of the filter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlausibilitySettings {
    /// The largest plausibility of a valid counterfactual.
    pub k: f64,
    /// Share of the variance that the components explain together.
    pub explained: f64,
    /// Largest number of components.
    pub max_components: usize,
    /// Which of several valid counterfactuals of a row are used.
    pub select: SelectRule,
}

/// What one variable adds to the scores: its z value times the weights, or a term per level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ComponentTerm {
    Number { mean: f64, sd: f64, weights: Vec<f64> },
    Levels(Vec<Vec<f64>>),
}

/// The real rows of a group and class: mean and population variance of each score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlausibilitySection {
    group: u16,
    /// `None` where the strategy conditions on nothing.
    class: Option<u32>,
    means: Vec<f64>,
    variances: Vec<f64>,
}

/// A fitted filter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlausibilityFilter {
    settings: PlausibilitySettings,
    n_components: usize,
    /// Variance of the scores of all reference rows together.
    variance: f64,
    terms: Vec<ComponentTerm>,
    /// Sorted by group, then class.
    sections: Vec<PlausibilitySection>,
}

/// Number of rows that are scored at a time.
const BLOCK_ROWS: usize = 1024;

/// The scores of rows, row by row.
struct ComponentScores {
    width: usize,
    cells: Vec<f64>,
}

impl ComponentScores {
    fn row(&self, row: usize) -> &[f64] {
        &self.cells[row * self.width..(row + 1) * self.width]
    }
}

/// Rows, sums and sums of squares of the scores of a section.
#[derive(Clone)]
struct SectionSums {
    n: u64,
    sums: Vec<FixedSum>,
    squares: Vec<FixedSum>,
}

impl SectionSums {
    fn new(n_components: usize) -> Self {
        SectionSums {
            n: 0,
            sums: vec![FixedSum::ZERO; n_components],
            squares: vec![FixedSum::ZERO; n_components],
        }
    }

    fn add(&mut self, scores: &[f64]) {
        self.n += 1;
        self.sums.iter_mut().zip(scores).for_each(|(sum, &t)| sum.add_wide(t));
        self.squares.iter_mut().zip(scores).for_each(|(sum, &t)| sum.add_wide(t * t));
    }

    fn merge(&mut self, other: &SectionSums) {
        self.n += other.n;
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| a.merge(*b));
        self.squares.iter_mut().zip(&other.squares).for_each(|(a, b)| a.merge(*b));
    }
}

impl PlausibilityFilter {
    /// Learns components and centroids from the reference.
    ///
    /// `position` is that of the attribute among the groups of its rows; sections of fewer than
    /// `min_section` rows give no verdict.
    ///
    /// # Errors
    /// The reference cannot be read; it has too many columns, or none that vary.
    pub(super) fn fit(
        settings: PlausibilitySettings,
        variables: &[StrategyVariable],
        counts: &ReferenceCounts,
        condition: Conditioning,
        min_section: u64,
        reference: &DecorrelatedReference<'_>,
        position: usize,
    ) -> Result<Self> {
        let space = ReferenceSpace::from_counts(variables, counts);
        let width = space.width();
        if width == 0 || width > MAX_COLUMNS {
            let what = format!(
                "the filter by distance has {width} columns; it needs one at least and \
                 {MAX_COLUMNS} at most"
            );
            return Err(Fault::new("unfit-filter", what)
                .hint(
                    "leave out `keep_within`, or declare fewer levels: each level of a nominal \
                     feature is a column",
                )
                .into());
        }
        let plan = moments::MomentPlan::new(variables, &space);
        let mut sums: Option<moments::SpaceMoments> = None;
        reference.fold(
            |group| plan.batch_moments(&group.rows),
            |part| match &mut sums {
                Some(sums) => sums.merge(&part),
                None => sums = Some(part),
            },
        )?;
        let sums =
            sums.unwrap_or_else(|| plan.batch_moments(&FeatureRows { n: 0, columns: Vec::new() }));
        let (values, vectors) = eigen(&plan.matrix(&sums));
        let n_components = components(&values, &settings);
        let variance = values[..n_components].iter().sum();
        let mut filter = PlausibilityFilter {
            settings,
            n_components,
            variance,
            terms: terms(&space, &vectors[..n_components]),
            sections: Vec::new(),
        };
        let sections = filter.sections(variables, condition, reference, position)?;
        filter.sections = sections
            .into_iter()
            .filter(|(_, scores)| scores.n >= min_section)
            .map(|((group, class), scores)| {
                let mean = |sum: &FixedSum| sum.to_f64() / scores.n as f64;
                let means: Vec<f64> = scores.sums.iter().map(mean).collect();
                let variances = scores
                    .squares
                    .iter()
                    .zip(&means)
                    .map(|(sum, m)| (mean(sum) - m * m).max(0.0))
                    .collect();
                PlausibilitySection { group, class, means, variances }
            })
            .collect();
        Ok(filter)
    }

    /// Number of principal components.
    pub fn n_components(&self) -> usize {
        self.n_components
    }

    fn sections(
        &self,
        variables: &[StrategyVariable],
        condition: Conditioning,
        reference: &DecorrelatedReference<'_>,
        position: usize,
    ) -> Result<BTreeMap<(u16, Option<u32>), SectionSums>> {
        let mut whole: BTreeMap<(u16, Option<u32>), SectionSums> = BTreeMap::new();
        reference.fold(
            |group| {
                let mut part: BTreeMap<(u16, Option<u32>), SectionSums> = BTreeMap::new();
                let scores = self.scores(variables, &group.rows);
                let mut members: BTreeMap<(u16, Option<u32>), Vec<usize>> = BTreeMap::new();
                for i in 0..group.rows.n {
                    let class =
                        if condition == Conditioning::Nothing { None } else { group.classes[i] };
                    let own = group.groups[position][i];
                    if own != MISSING_GROUP
                        && (class.is_some() || condition == Conditioning::Nothing)
                    {
                        members.entry((own, class)).or_default().push(i);
                    }
                }
                for (key, rows) in members {
                    let sums =
                        part.entry(key).or_insert_with(|| SectionSums::new(self.n_components));
                    rows.into_iter().for_each(|i| sums.add(scores.row(i)));
                }
                part
            },
            |part| {
                for (key, scores) in part {
                    whole
                        .entry(key)
                        .or_insert_with(|| SectionSums::new(self.n_components))
                        .merge(&scores);
                }
            },
        )?;
        Ok(whole)
    }

    /// The scores of rows.
    fn scores(&self, variables: &[StrategyVariable], rows: &FeatureRows) -> ComponentScores {
        let width = self.n_components;
        let mut matrix = ComponentScores { width, cells: vec![0.0; rows.n * width] };
        // Block by block, so that the sums stay in the processor's cache.
        for (first, block) in
            (0..).step_by(BLOCK_ROWS).zip(matrix.cells.chunks_mut(BLOCK_ROWS * width))
        {
            for (variable, term) in variables.iter().zip(&self.terms) {
                let scores = (first..).zip(block.chunks_exact_mut(width));
                match term {
                    ComponentTerm::Number { mean, sd, weights } => {
                        scores.for_each(|(i, scores)| {
                            let x = variable.number(rows, i);
                            if !x.is_nan() {
                                let z = (x - mean) / sd;
                                scores.iter_mut().zip(weights).for_each(|(t, w)| *t += z * w);
                            }
                        })
                    }
                    ComponentTerm::Levels(levels) => scores.for_each(|(i, scores)| {
                        if let Some(adds) = levels.get(variable.level(rows, i) as usize) {
                            scores.iter_mut().zip(adds).for_each(|(t, add)| *t += add);
                        }
                    }),
                }
            }
        }
        matrix
    }

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
        for ((square, t), m) in squares.iter_mut().zip(scores).zip(&section.means) {
            *square = (t - m) * (t - m);
        }
        let distance: f64 = squares.iter().sum();
        let mut worst = 0.0_f64;
        for (square, of_component) in squares.iter().zip(&section.variances) {
            let (d, v) = if self.n_components == 1 {
                (distance, variance)
            } else {
                (distance - square, variance - of_component)
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
        let scores = self.scores(variables, rows);
        let variances: Vec<f64> =
            self.sections.iter().map(|section| section.variances.iter().sum()).collect();
        let mut squares = vec![0.0; self.n_components];
        let mut of = |i: usize| {
            let (group, class) = key(i)?;
            let at = self.section(group, class)?;
            self.distance(&self.sections[at], variances[at], scores.row(i), &mut squares)
        };
        (0..rows.n).map(&mut of).collect()
    }

    /// Marks counterfactuals in group `to` that are too far away as invalid.
    ///
    /// `class` gives the class of a row.
    pub(super) fn apply(
        &self,
        variables: &[StrategyVariable],
        condition: Conditioning,
        class: impl Fn(usize) -> Option<u32>,
        to: usize,
        generated: &mut GeneratedBatch,
    ) {
        let class = |j: usize| {
            if condition == Conditioning::Nothing { None } else { class(generated.parent[j]) }
        };
        let plausibility = self.plausibility(variables, &generated.rows, |j| Some((to, class(j))));
        for (valid, distance) in generated.valid.iter_mut().zip(&plausibility) {
            *valid &= distance.is_none_or(|distance| distance <= self.settings.k + TOLERANCE);
        }
        generated.plausibility = Some(plausibility);
    }

    /// Where the settings select the best, leaves only that one of each row's counterfactuals
    /// valid.
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

/// The least number of components that explains the wanted share.
///
/// At least 2, at most `max_components` and the rank.
fn components(values: &[f64], settings: &PlausibilitySettings) -> usize {
    let largest = values.first().copied().unwrap_or(0.0);
    let rank = values.iter().take_while(|&&value| value > NOISE_SHARE * largest).count();
    let total: f64 = values.iter().map(|value| value.max(0.0)).sum();
    let mut explained = 0.0;
    let enough = values.iter().take_while(|&&value| {
        let before = explained;
        explained += value.max(0.0) / total;
        before < settings.explained - TOLERANCE
    });
    enough.count().max(2).min(settings.max_components).min(rank).max(1)
}

fn terms(space: &ReferenceSpace, vectors: &[Vec<f64>]) -> Vec<ComponentTerm> {
    let mut weights: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
    for (d, key) in space.columns().enumerate() {
        weights.insert(key, vectors.iter().map(|vector| vector[d]).collect());
    }
    let none = vec![0.0; vectors.len()];
    let term = |(v, axis): (usize, &SpaceAxis)| match axis {
        SpaceAxis::Number(column) => {
            let sd = if column.sd > 0.0 { column.sd } else { 1.0 };
            ComponentTerm::Number {
                mean: column.mean,
                sd,
                weights: weights.get(&(v, 0)).unwrap_or(&none).clone(),
            }
        }
        SpaceAxis::Levels(columns) => {
            let adds = |level: usize| {
                let mut sum = none.clone();
                for (l, column) in columns.iter().enumerate() {
                    if let Some(weights) = weights.get(&(v, l)) {
                        let z = column.z(f64::from(u8::from(l == level)));
                        sum.iter_mut().zip(weights).for_each(|(sum, w)| *sum += z * w);
                    }
                }
                sum
            };
            ComponentTerm::Levels((0..columns.len()).map(adds).collect())
        }
    };
    space.0.iter().enumerate().map(term).collect()
}
