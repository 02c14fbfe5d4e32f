//! Learns a plausibility filter from the reference: components first, then the sections.

use crate::counterfactual::absence::TOLERANCE;
use crate::counterfactual::conditional::{Conditioning, ReferenceCounts, StratumKey};
use crate::counterfactual::decorrelate::DecorrelatedReference;
use crate::counterfactual::moments::{MomentFrame, MomentSums, ReferenceMoments};
use crate::counterfactual::plausibility_filter::{
    ComponentScores, ComponentTerm, KeepWithinBlock, MAX_COLUMNS, NOISE_SHARE, PlausibilityFilter,
    PlausibilitySection,
};
use crate::counterfactual::space::{ReferenceSpace, SpaceAxis, ZColumn};
use crate::counterfactual::variable::StrategyVariable;
use crate::data::MISSING_GROUP;
use crate::data::rows::reference::ReferenceBatch;
use crate::error::{Fault, Result};
use crate::exec::accumulator::{Accumulator, map_as_list};
use crate::num::additive::{absorb_map, additive};
use crate::num::eigen::{dot, eigen};
use crate::num::fixed::FixedSum;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Rows, sums and sums of squares of the scores of a section.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
}

additive!(SectionSums { n, sums, squares });

/// The scores of all rows by section.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SectionScores(#[serde(with = "map_as_list")] BTreeMap<SectionKey, SectionSums>);

impl SectionScores {
    fn add(&mut self, key: SectionKey, scores: &[f64]) {
        self.0.entry(key).or_insert_with(|| SectionSums::new(scores.len())).add(scores);
    }
}

impl Accumulator for SectionScores {
    fn merge(&mut self, other: Self) {
        absorb_map(&mut self.0, other.0);
    }
}

impl PlausibilityFilter {
    /// Learns components and centroids from the reference. Moments were summed in their frame while
    /// it was counted; if that frame is not good enough, `again` sums them in another.
    ///
    /// # Errors
    /// The reference cannot be read; it has too many columns, or none that vary.
    pub(crate) fn fit(
        settings: KeepWithinBlock,
        reference: &FilterReference<'_>,
        (mut frame, mut moments): (MomentFrame, ReferenceMoments),
        again: impl FnOnce(&MomentFrame) -> Result<ReferenceMoments>,
    ) -> Result<Self> {
        let space = ReferenceSpace::from_counts(reference.variables, reference.counts);
        let width = space.width();
        if width == 0 || width > MAX_COLUMNS {
            let what = format!(
                "the filter by distance has {width} columns; it needs at least one and \
                 at most {MAX_COLUMNS}"
            );
            return Fault::new("unfit-filter", what).fail(
                "leave out `keep_within`, or declare fewer levels: each level of a nominal \
                     feature is a column",
            );
        }
        if !frame.serves(&space) {
            let all = reference.counts.merged_where(|_| true).map_or(Vec::new(), |all| all.values);
            frame = MomentFrame::new(reference.variables, &all);
            moments = again(&frame)?;
        }
        let whole = moments.whole().unwrap_or_else(|| frame.empty());
        let (values, vectors) = eigen(&frame.mean_products(&whole, &space).1);
        let n_components = components(&values, &settings);
        let vectors = &vectors[..n_components];
        let variance = values[..n_components].iter().sum();
        let mut filter = PlausibilityFilter {
            settings,
            n_components,
            variance,
            terms: terms(&space, vectors),
            sections: Vec::new(),
        };
        filter.sections = match moments.sections() {
            Some(sections) => reference.sections_of(sections, &frame, &space, vectors),
            None => filter.sections(reference)?,
        };
        Ok(filter)
    }

    /// The sections by the scores of all rows, one more pass.
    fn sections(&self, reference: &FilterReference<'_>) -> Result<Vec<PlausibilitySection>> {
        let add = |sums: &mut SectionScores, group: &ReferenceBatch| {
            let (n, variables) = (self.n_components, reference.variables);
            let scores = ComponentScores::of(n, &self.terms, variables, &group.rows);
            for i in 0..group.rows.n {
                let own = group.groups[reference.position][i];
                let own = (own != MISSING_GROUP).then_some(own);
                if let Some(key) = reference.key((own, group.classes[i])) {
                    sums.add(key, scores.row(i));
                }
            }
        };
        let sums = reference.reference.gather(SectionScores::default, add, SectionScores::merge)?;
        let large = sums.0.into_iter().filter(|(_, sums)| sums.n >= reference.min_section);
        let section = |((group, class), sums): (SectionKey, SectionSums)| {
            let mean = |sum: &FixedSum| sum.to_f64() / sums.n as f64;
            let means: Vec<f64> = sums.sums.iter().map(mean).collect();
            let squares = sums.squares.iter().map(mean).zip(&means);
            let variances = squares.map(|(square, m)| (square - m * m).max(0.0)).collect();
            PlausibilitySection { group, class, means, variances }
        };
        Ok(large.map(section).collect())
    }
}

/// Group and class of a section; no class if the strategy conditions on nothing.
type SectionKey = (u16, Option<u32>);

/// The reference of a filter.
pub(crate) struct FilterReference<'a> {
    pub(crate) variables: &'a [StrategyVariable],
    /// Its counts.
    pub(crate) counts: &'a ReferenceCounts,
    /// What forms sections in addition to the group.
    pub(crate) condition: Conditioning,
    /// The smallest number of rows of a section that gives a verdict.
    pub(crate) min_section: u64,
    pub(crate) reference: &'a DecorrelatedReference<'a>,
    /// Position of the attribute among the groups of the rows.
    pub(crate) position: usize,
}

impl FilterReference<'_> {
    /// The section of a group and class.
    fn key(&self, (group, class): StratumKey) -> Option<SectionKey> {
        match self.condition {
            Conditioning::Nothing => Some((group?, None)),
            Conditioning::Class => Some((group?, Some(class?))),
        }
    }

    /// The sections by their moments: with a component w the mean of its scores is w'm, their
    /// variance w'(S - mm')w.
    fn sections_of(
        &self,
        moments: &BTreeMap<StratumKey, MomentSums>,
        frame: &MomentFrame,
        space: &ReferenceSpace,
        vectors: &[Vec<f64>],
    ) -> Vec<PlausibilitySection> {
        let mut sections: BTreeMap<SectionKey, MomentSums> = BTreeMap::new();
        let own = |(&key, sums): (_, &MomentSums)| Some((self.key(key)?, sums.clone()));
        absorb_map(&mut sections, moments.iter().filter_map(own));
        let large = sections.into_iter().filter(|(_, sums)| sums.n >= self.min_section);
        let section = |((group, class), sums): (SectionKey, MomentSums)| {
            let (means, products) = frame.mean_products(&sums, space);
            let variance = |w: &Vec<f64>| {
                let row = |i: usize| -> f64 {
                    let covariance = |j: usize| products.entry(i, j) - means[i] * means[j];
                    (0..w.len()).map(|j| covariance(j) * w[j]).sum()
                };
                dot(w, &(0..w.len()).map(row).collect::<Vec<_>>()).max(0.0)
            };
            PlausibilitySection {
                group,
                class,
                means: vectors.iter().map(|w| dot(w, &means)).collect(),
                variances: vectors.iter().map(variance).collect(),
            }
        };
        large.map(section).collect()
    }
}

/// The smallest number of components that explains the requested share, at least 2, at most the
/// requested number and the rank.
pub(crate) fn components(values: &[f64], settings: &KeepWithinBlock) -> usize {
    let most = settings.max_components.size();
    let largest = values.first().copied().unwrap_or(0.0);
    let rank = values.iter().take_while(|&&value| value > NOISE_SHARE * largest).count();
    let total: f64 = values.iter().map(|value| value.max(0.0)).sum();
    let mut explained = 0.0;
    let enough = values.iter().take_while(|&&value| {
        let before = explained;
        explained += value.max(0.0) / total;
        before < settings.explained.get() - TOLERANCE
    });
    enough.count().max(2).min(most).min(rank).max(1)
}

/// The coefficients of the components for each column of the space and each of its levels, one
/// number per component.
pub(crate) fn terms(space: &ReferenceSpace, vectors: &[Vec<f64>]) -> Vec<ComponentTerm> {
    let none = vec![0.0; vectors.len()];
    let mut shown = 0..space.width();
    let mut weights = |column: &ZColumn| match column.sd > 0.0 {
        true => shown.next().map(|d| vectors.iter().map(|vector| vector[d]).collect()),
        false => None,
    };
    let term = |axis: &SpaceAxis| match axis {
        SpaceAxis::Number(column) => ComponentTerm::Number {
            mean: column.mean,
            sd: if column.sd > 0.0 { column.sd } else { 1.0 },
            weights: weights(column).unwrap_or_else(|| none.clone()),
        },
        SpaceAxis::Levels(columns) => {
            let weights: Vec<Option<Vec<f64>>> = columns.iter().map(&mut weights).collect();
            let adds = |level: usize| {
                let mut sum = none.clone();
                for ((l, column), weights) in columns.iter().enumerate().zip(&weights) {
                    let z = column.z(f64::from(u8::from(l == level)));
                    let weights = weights.iter().flatten();
                    sum.iter_mut().zip(weights).for_each(|(sum, w)| *sum += z * w);
                }
                sum
            };
            ComponentTerm::Levels((0..columns.len()).map(adds).collect())
        }
    };
    space.0.iter().map(term).collect()
}

#[cfg(test)]
mod tests {
    use super::SectionScores;
    use crate::exec::tests::state_laws::SampleState;
    use crate::num::seed::{h, u01};

    impl SampleState for SectionScores {
        fn sample(_: u64) -> Self {
            SectionScores::default()
        }

        fn add_sample(&mut self, row: u64) {
            let key = ((row % 3) as u16, row.is_multiple_of(2).then_some((row % 5) as u32));
            self.add(key, &[u01(h(1, row, 0)) * 9.0 - 3.0, u01(h(1, row, 1))]);
        }
    }
}
