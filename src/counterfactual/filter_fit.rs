//! Learns a plausibility filter from the reference: components first, then the sections.

use crate::counterfactual::conditional::{Conditioning, ReferenceCounts};
use crate::counterfactual::decorrelate::DecorrelatedReference;
use crate::counterfactual::filter::{
    ComponentTerm, MAX_COLUMNS, NOISE_SHARE, PlausibilityFilter, PlausibilitySection,
    PlausibilitySettings,
};
use crate::counterfactual::flip::TOLERANCE;
use crate::counterfactual::moments;
use crate::counterfactual::space::{ReferenceSpace, SpaceAxis};
use crate::counterfactual::variable::StrategyVariable;
use crate::data::{FeatureRows, MISSING_GROUP};
use crate::error::{Fault, Result};
use crate::num::eigen::eigen;
use crate::num::fixed::FixedSum;
use std::collections::BTreeMap;

/// Rows, sums and sums of squares of the scores of a section.
#[derive(Clone)]
pub(crate) struct SectionSums {
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
    /// Learns components and centroids from the reference. `position` is that of the attribute
    /// among the groups of its rows; sections of fewer than `min_section` rows give no verdict.
    ///
    /// # Errors
    /// The reference cannot be read; it has too many columns, or none that vary.
    pub(crate) fn fit(
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
}

/// The least number of components that explains the wanted share, at least 2, at most what is
/// wanted and the rank.
pub(crate) fn components(values: &[f64], settings: &PlausibilitySettings) -> usize {
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

pub(crate) fn terms(space: &ReferenceSpace, vectors: &[Vec<f64>]) -> Vec<ComponentTerm> {
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
