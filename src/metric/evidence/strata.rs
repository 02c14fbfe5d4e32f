//! People by stratum: the evidence of Clarify's conditional demographic disparity, and its values.
//!
//! Source: Amazon SageMaker Clarify, post-training bias metrics, CDDPL; its text mixes strata and
//! totals, its library (smclarify 0.5) takes the stratum's counts throughout. For facets a and d,
//! with n_k rows in stratum k, n_k1 of them predicted favourably, n_k0 not, and d_k1, d_k0 those of
//! facet d:
//!
//! CDDPL = sum over k of n_k / n * (d_k0 / n_k0 - d_k1 / n_k1)
//!
//! Choice: the rows of a stratum are those of the two compared facets. As in the library, the
//! missing share of a stratum without favourable (or without unfavourable) predictions is 0; the
//! variant leaves such strata out, and n is then the number of rows in the others. There is no
//! value if all rows together lack favourable or unfavourable predictions, or if no stratum holds
//! people of both facets: strata that are made from the groups show no disparity. People without a
//! stratum are left out and counted.
//!
//! Memory: 96 bytes per stratum and group; if a person may have several rows, one entry for each
//! person, stratum and group.

use serde::{Deserialize, Serialize};

use crate::metric::evidence::additive::additive;
use crate::metric::evidence::person_sums::PersonCells;
use crate::metric::evidence::units::{UnitKind, UnitSums, WeightSums};
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::scope::GroupSelection;

/// People by stratum, group and prediction; mergeable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Strata {
    groups: usize,
    /// Predicted negative and positive, by stratum and then by group.
    cells: Vec<[WeightSums; 2]>,
    /// People without a stratum, by group.
    missing: Vec<u64>,
    /// Whether rows have weights.
    weighted: bool,
    /// Whether the strata are the groups themselves: then no row is added.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) are_groups: bool,
    /// The weight of each person's rows, at the places of `cells`; none if each row is a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    persons: Option<PersonCells<2>>,
}

additive!(Strata { cells, missing, persons });

impl Strata {
    /// Empty strata; `weighted` says whether rows have weights.
    pub(crate) fn new(strata: usize, groups: usize, weighted: bool) -> Self {
        Strata {
            groups,
            cells: vec![[WeightSums::default(); 2]; strata * groups],
            missing: vec![0; groups],
            weighted,
            are_groups: false,
            persons: None,
        }
    }

    /// The same strata with sums by person.
    #[must_use]
    pub(crate) fn by_person(self) -> Self {
        Strata { persons: Some(PersonCells::new()), ..self }
    }

    /// Strata that are the groups themselves, which have no disparity.
    pub(crate) fn of_groups(groups: usize) -> Self {
        Strata { are_groups: true, ..Strata::new(0, groups, false) }
    }

    /// Adds a row with the key of its person and its weight, 1 without weights.
    ///
    /// # Panics
    /// Where the group or the stratum is beyond its number: a bug of the caller.
    pub(crate) fn add(
        &mut self,
        group: usize,
        (key, weight): (u64, u64),
        predicted: bool,
        stratum: Option<u32>,
    ) {
        if self.are_groups {
            return;
        }
        let Some(stratum) = stratum else {
            self.missing[group] += 1;
            return;
        };
        let place = stratum as usize * self.groups + group;
        self.cells[place][usize::from(predicted)] += WeightSums::one(weight);
        if let Some(persons) = &mut self.persons {
            persons.at(key, place)[usize::from(predicted)] += weight;
        }
    }

    /// The number of people of a group without a stratum.
    pub(crate) fn n_missing(&self, group: usize) -> u64 {
        self.missing[group]
    }

    /// The group of a cell of [`Strata::units`].
    pub(crate) fn group_of(&self, cell: usize) -> usize {
        cell / 2 % self.groups.max(1)
    }

    /// The stratum of a cell of [`Strata::units`].
    pub(crate) fn stratum_of(&self, cell: usize) -> usize {
        cell / 2 / self.groups.max(1)
    }

    /// The units of some groups by stratum, group and prediction, in this order.
    pub(crate) fn units(&self, held: impl Fn(usize) -> bool) -> UnitSums {
        let cells = self.cells.as_flattened();
        let is_held = |cell: &usize| held(self.group_of(*cell));
        let rows = (0..cells.len()).filter(|cell| is_held(cell) && cells[*cell].people() > 0);
        let rows = rows.map(|cell| UnitKind::one(cell as u64, cell, cells[cell]));
        let persons = self.persons.as_ref();
        let persons = persons
            .map(|all| all.units(|place, predicted| Some(2 * place + predicted).filter(is_held)));
        UnitSums::new(cells.len(), self.weighted, rows.collect(), persons)
    }

    /// The strata of a comparison; the first facet is the favoured one.
    pub(crate) fn facets(
        &self,
        number: fn(WeightSums) -> u64,
        a: GroupSelection,
        d: GroupSelection,
    ) -> Vec<FacetStratum> {
        let sum = |cells: &[[WeightSums; 2]], selection: GroupSelection| {
            selection.groups(self.groups).fold([0; 2], |[negative, positive], group| {
                [negative + number(cells[group][0]), positive + number(cells[group][1])]
            })
        };
        self.cells
            .chunks_exact(self.groups.max(1))
            .map(|cells| FacetStratum { a: sum(cells, a), d: sum(cells, d) })
            .collect()
    }
}

/// One stratum of a comparison: numbers or weights of people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FacetStratum {
    /// Facet a, predicted negative and predicted positive.
    pub(crate) a: [u64; 2],
    /// Facet d, the same.
    pub(crate) d: [u64; 2],
}

impl FacetStratum {
    /// The same stratum with the other class as the positive one.
    #[must_use]
    pub(crate) fn swap_classes(self) -> Self {
        FacetStratum { a: [self.a[1], self.a[0]], d: [self.d[1], self.d[0]] }
    }

    /// Rows predicted negative and positive.
    fn predicted(&self) -> [u64; 2] {
        [self.a[0] + self.d[0], self.a[1] + self.d[1]]
    }

    pub(crate) fn n(&self) -> u64 {
        self.predicted().iter().sum()
    }

    /// Whether the stratum has rows but one of its two shares does not exist.
    pub(crate) fn is_undefined(&self) -> bool {
        self.n() > 0 && self.predicted().contains(&0)
    }
}

/// The number of rows of all strata, or the reason why there is no value.
fn rows_or_reason(strata: &[FacetStratum]) -> Result<u64, Undefined> {
    let sum = |side: fn(&FacetStratum) -> u64| strata.iter().map(side).sum::<u64>();
    let facets = [sum(|s| s.a[0] + s.a[1]), sum(|s| s.d[0] + s.d[1])];
    match [sum(|s| s.predicted()[0]), sum(|s| s.predicted()[1])] {
        _ if facets.contains(&0) => Err(Undefined::EmptyGroup),
        _ if strata.iter().all(|s| s.a == [0; 2] || s.d == [0; 2]) => {
            Err(Undefined::StratumIsGroup)
        }
        [0, _] => Err(Undefined::NoPredictedNegative),
        [_, 0] => Err(Undefined::NoPredictedPositive),
        [negative, positive] => Ok(negative + positive),
    }
}

fn disparity<'a>(strata: impl Iterator<Item = &'a FacetStratum>, n: u64) -> f64 {
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let term = |s: &FacetStratum| {
        let [negative, positive] = s.predicted();
        s.n() as f64 / n as f64 * (share(s.d[0], negative) - share(s.d[1], positive))
    };
    strata.map(term).sum()
}

/// CDDPL, with the positive prediction as the favourable one.
pub(crate) fn cddpl(strata: &[FacetStratum]) -> MetricValue {
    rows_or_reason(strata).map(|n| disparity(strata.iter(), n))
}

/// As [`Self::cddpl`], over the strata in which both shares exist.
pub(crate) fn cddpl_defined(strata: &[FacetStratum]) -> MetricValue {
    rows_or_reason(strata)?;
    let defined = || strata.iter().filter(|s| !s.is_undefined());
    match defined().map(FacetStratum::n).sum() {
        0 => Err(Undefined::NoDefinedStratum),
        n => Ok(disparity(defined(), n)),
    }
}

/// The number of strata in which a share does not exist.
pub(crate) fn undefined_strata(strata: &[FacetStratum]) -> MetricValue {
    rows_or_reason(strata)?;
    Ok(strata.iter().filter(|s| s.is_undefined()).count() as f64)
}

/// The share of the rows that are in such strata.
pub(crate) fn undefined_rows(strata: &[FacetStratum]) -> Rate {
    let sum = |strata: &mut dyn Iterator<Item = &FacetStratum>| strata.map(FacetStratum::n).sum();
    Rate::of(sum(&mut strata.iter().filter(|s| s.is_undefined())), sum(&mut strata.iter()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::additive::Additive;
    use crate::num::seed::RandomStream;

    fn stratum(a: [u64; 2], d: [u64; 2]) -> FacetStratum {
        FacetStratum { a, d }
    }

    #[test]
    fn by_hand() {
        // Two strata of 10 rows. In the first, facet d has 4 of 6 rejected and 1 of 4 accepted
        // rows; in the second, 1 of 5 and 2 of 5.
        let both = [stratum([2, 3], [4, 1]), stratum([4, 3], [1, 2])];
        let expected = 0.5 * (4.0 / 6.0 - 1.0 / 4.0) + 0.5 * (1.0 / 5.0 - 2.0 / 5.0);
        assert!((cddpl(&both).unwrap() - expected).abs() < 1e-15);
        assert_eq!((cddpl_defined(&both), undefined_strata(&both)), (cddpl(&both), Ok(0.0)));
        // A third stratum has no accepted rows: its second share counts as 0, or the stratum is
        // left out. An empty stratum adds nothing.
        let three = [both[0], both[1], stratum([3, 0], [2, 0]), FacetStratum::default()];
        assert!((cddpl(&three).unwrap() - (expected * 0.8 + 0.2 * 2.0 / 5.0)).abs() < 1e-15);
        assert_eq!((cddpl_defined(&three), undefined_strata(&three)), (cddpl(&both), Ok(1.0)));
        let rows = undefined_rows(&three);
        assert_eq!((rows.numerator, rows.denominator), (5, 25));
        // The other class as the favourable one exchanges the predictions, not the facets.
        let turned: Vec<FacetStratum> = both.iter().map(|s| s.swap_classes()).collect();
        assert!((cddpl(&turned).unwrap() + expected).abs() < 1e-15);
    }

    #[test]
    fn reasons() {
        let reason = |strata: &[FacetStratum]| cddpl(strata).unwrap_err();
        assert_eq!(reason(&[]), Undefined::EmptyGroup);
        assert_eq!(reason(&[stratum([5, 5], [0, 0])]), Undefined::EmptyGroup);
        assert_eq!(reason(&[stratum([5, 0], [3, 0])]), Undefined::NoPredictedPositive);
        assert_eq!(reason(&[stratum([0, 5], [0, 3])]), Undefined::NoPredictedNegative);
        assert_eq!(
            reason(&[stratum([5, 2], [0, 0]), stratum([0, 0], [3, 1])]),
            Undefined::StratumIsGroup
        );
        let apart = [stratum([5, 0], [3, 0]), stratum([0, 5], [0, 3])];
        assert_eq!(
            (cddpl_defined(&apart), undefined_strata(&apart)),
            (Err(Undefined::NoDefinedStratum), Ok(2.0))
        );
        assert!(cddpl(&apart).is_ok());
    }

    /// Weights of 1 give the numbers of people, and any partition gives the same result.
    #[test]
    fn weights_and_partitions() {
        let mut stream = RandomStream::new(3, "strata");
        let mut whole = Strata::new(3, 2, true);
        let (mut parts, mut plain) = ([whole.clone(), whole.clone()], Strata::new(3, 2, false));
        for key in 0..4000_u64 {
            let bits = stream.u64();
            let (group, stratum, yes) =
                ((bits & 1) as usize, ((bits >> 1) % 3) as u32, bits >> 20 & 7 < 3 + (bits & 1));
            let stratum = (bits >> 30 & 15 != 0).then_some(stratum);
            whole.add(group, (key, 1), yes, stratum);
            plain.add(group, (key, 1), yes, stratum);
            parts[(bits >> 40 & 1) as usize].add(group, (key, 1), yes, stratum);
        }
        let [mut merged, other] = parts;
        merged.absorb(&other);
        assert_eq!(merged, whole);
        let written = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<Strata>(&written).unwrap(), whole);
        assert_eq!(written, serde_json::to_string(&merged).unwrap());
        let (a, d) = (GroupSelection::One(0), GroupSelection::Rest(0));
        assert_eq!(whole.facets(WeightSums::sum, a, d), plain.facets(WeightSums::people, a, d));
        assert!(!plain.units(|_| true).weighted && plain.n_missing(0) > 50);
    }
}
