//! The people behind the values of one scope of counterfactuals, and the replicates drawn from
//! them: by kind, by weight and by person.

use std::ops::Range;

use crate::metric::catalog::ccm::switch_rate;
use crate::metric::evidence::block_bootstrap::WeightSums;
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::outcome_patterns::{AnySwitch, CellProfiles};
use crate::metric::evidence::person::{ECCM_CELLS, Eccm, SwitchCells};
use crate::metric::interval::{IntervalProcedure, ValueInterval, wilson_of_people};
use crate::metric::person_interval::PersonRate;
use crate::metric::rate::{Rate, Undefined};
use crate::metric::scope::{MetricScope, ScopeIndex};
use crate::metric::value::interval_choice::CellBootstrap;
use crate::metric::value::measured::PersonBasis;
use crate::metric::value::settings::MeasureSettings;
use crate::metric::{ImpairedGroupRule, Metric, Reads, WorseEnd};

/// The people of one scope, and the replicates drawn from them.
pub(crate) struct ScopePeople<'a> {
    pub(crate) profiles: &'a CellProfiles,
    /// What they weigh; none where nobody has a weight.
    pub(crate) weights: Option<&'a CellProfiles<WeightSums>>,
    pub(crate) has_repeats: bool,
    /// Each person with a counterfactual here, ascending by key, with the own cells; none where
    /// each row is a person.
    persons: Option<Vec<(u64, SwitchCells)>>,
    /// The same with what the rows weigh; none where nobody has a weight.
    weighed_persons: Option<Vec<(u64, SwitchCells)>>,
    /// Each person by whether anything switches, rows or what they weigh; none where the cells say
    /// it.
    any_persons: Option<Vec<(u64, [u64; 4])>>,
    pub(crate) bootstrap: CellBootstrap<ECCM_CELLS>,
    /// By whether anything switches; only where people have weights.
    pub(crate) any_bootstrap: Option<CellBootstrap<4>>,
}

impl<'a> ScopePeople<'a> {
    /// Those of a scope, by its number and by what it is; `stream` names the draws.
    pub(crate) fn new(
        counts: &CounterfactualCounts,
        (place, scope): (usize, MetricScope),
        (spread, weights): (&'a CellProfiles, Option<&'a CellProfiles<WeightSums>>),
        stream: String,
    ) -> Self {
        let groups = any_groups(counts.scope_index(), scope);
        let any = groups.clone().and_then(|groups| counts.any_blocks(groups));
        let (persons, weighed_persons) = (counts.persons(place), counts.weighed_persons(place));
        let counted = |is_counted: fn(&Eccm) -> u64| {
            let persons = weighed_persons.as_ref().or(persons.as_ref())?.iter();
            Some(persons.filter(|(_, cells)| is_counted(&Eccm(*cells)) > 0).count() as u64)
        };
        let n_persons = [Eccm::n, Eccm::n_labelled].map(counted);
        ScopePeople {
            profiles: spread,
            weights,
            has_repeats: spread.has_repeats(),
            persons,
            weighed_persons,
            any_persons: groups.and_then(|groups| {
                counts.any_weighed_persons(groups.clone()).or_else(|| counts.any_persons(groups))
            }),
            bootstrap: CellBootstrap::new(counts.blocks(place), || spread.0.clone(), stream)
                .of_persons(n_persons),
            any_bootstrap: any.map(|blocks| {
                CellBootstrap::new(Some(blocks), Vec::new, String::new()).of_persons(n_persons)
            }),
        }
    }

    /// A rate of cells by person, of what the rows weigh where they have weights; none where each
    /// row is a person.
    pub(crate) fn person_rate(&self, of: impl Fn(&Eccm) -> Rate) -> Option<PersonRate> {
        let persons = self.weighed_persons.as_ref().or(self.persons.as_ref())?;
        let each = persons.iter().map(|(key, cells)| (*key, of(&Eccm(*cells))));
        let below =
            |weights: &CellProfiles<WeightSums>| weights.denominator(|kind| of(&Eccm(*kind)));
        Some(self.rate_of_persons(of(&self.profiles.eccm()), each, below))
    }

    /// What a rate counts by person, whatever it reads.
    pub(crate) fn rate_by_person(
        &self,
        metric: &Metric,
        settings: &MeasureSettings,
    ) -> Option<PersonRate> {
        match (metric.reads, &self.any_persons) {
            (Reads::AnySwitch(of), Some(persons)) => {
                let own = |cells: &[u64; 4]| of(&AnySwitch::from_cells(*cells));
                let each = persons.iter().map(|(key, cells)| (*key, own(cells)));
                let below = |weights: &CellProfiles<WeightSums>| {
                    weights.denominator(|kind| of_any(of, kind))
                };
                Some(self.rate_of_persons(of(&self.profiles.any_switch()), each, below))
            }
            _ => self.person_rate(switch_rate(metric, settings)?),
        }
    }

    /// The rate that those of each person make: `all` of rows, else the sums of what they weigh.
    fn rate_of_persons(
        &self,
        all: Rate,
        each: impl Iterator<Item = (u64, Rate)> + Clone,
        below: impl Fn(&CellProfiles<WeightSums>) -> WeightSums,
    ) -> PersonRate {
        let Some(weights) = self.weights else { return PersonRate::new(all, each) };
        let (mut numerator, mut denominator) = (0, 0);
        for (_, own) in each.clone() {
            numerator += own.numerator;
            denominator += own.denominator;
        }
        PersonRate::of_weights(Rate { numerator, denominator, ..all }, below(weights), each)
    }

    /// The persons whom a metric counts, with weights those with a row that weighs more than 0,
    /// ascending by key; none where each row is a person.
    pub(crate) fn counted_persons(&self, metric: &Metric) -> Option<Vec<u64>> {
        let persons = self.weighed_persons.as_ref().or(self.persons.as_ref())?.iter();
        let counted = persons.filter(|(_, cells)| is_counted(metric, cells));
        Some(counted.map(|(key, _)| *key).collect())
    }

    /// The people who carry a value of this scope alone.
    pub(crate) fn person_basis(
        &self,
        metric: &Metric,
        rate: Option<&PersonRate>,
        settings: &MeasureSettings,
    ) -> Option<PersonBasis> {
        if let Some(counted) = self.counted_persons(metric) {
            return Some(PersonBasis::new(counted.len() as u64, rate));
        }
        let weights = self.weights?;
        let mut all = WeightSums::default();
        let counted = weights.0.iter().filter(|(cells, _)| is_counted(metric, cells));
        counted.for_each(|(_, sums)| all += *sums);
        // Cases, as without weights: a person has one for each counterfactual that counts.
        let below = |of: &dyn Fn(&SwitchCells) -> Rate| {
            let cases =
                |(kind, sums): &(SwitchCells, WeightSums)| sums.people() * of(kind).denominator;
            (weights.0.iter().map(cases).sum(), weights.denominator(of).effective())
        };
        let below = match metric.reads {
            Reads::AnySwitch(of) => Some(below(&|kind| of_any(of, kind))),
            _ => switch_rate(metric, settings).map(|of| below(&|kind| of(&Eccm(*kind)))),
        };
        Some(PersonBasis::weighed(all, below))
    }

    /// People whose prediction switches, persons where a person may have several rows: those that a
    /// switch rate counts, or that a rate of consistency lacks. People of weight 0 do not count.
    /// None of what names nobody.
    pub(crate) fn switched(&self, metric: &Metric, settings: &MeasureSettings) -> Option<u64> {
        let ImpairedGroupRule::Switch { worse, .. } = metric.impaired else { return None };
        let counts = |cells: &SwitchCells| {
            let e = Eccm(*cells);
            match (switch_rate(metric, settings).map(|rate| rate(&e)), worse) {
                (None, _) => e.sp() + e.sn() > 0,
                (Some(rate), WorseEnd::High) => rate.numerator > 0,
                (Some(rate), WorseEnd::Low) => rate.numerator < rate.denominator,
            }
        };
        Some(match (self.weighed_persons.as_ref().or(self.persons.as_ref()), self.weights) {
            (Some(persons), _) => persons.iter().filter(|(_, cells)| counts(cells)).count() as u64,
            (None, Some(weights)) => {
                let switch = weights.0.iter().filter(|(cells, _)| counts(cells));
                switch.map(|(_, sums)| sums.people()).sum()
            }
            (None, None) => {
                let switch = self.profiles.0.iter().filter(|(cells, _)| counts(cells));
                switch.map(|(_, people)| people).sum()
            }
        })
    }

    /// People whom a metric counts.
    pub(crate) fn n(&self, metric: &Metric) -> u64 {
        self.profiles.counted(metric.needs_label)
    }

    /// How many people are below a rate: their effective number where they weigh differently.
    fn effective_people(&self, rate: impl Fn(&SwitchCells) -> Rate) -> f64 {
        match (self.weights, self.weighed_persons.as_ref().or(self.persons.as_ref())) {
            (None, None) => self.profiles.denominator(rate) as f64,
            (Some(weights), None) => weights.denominator(rate).effective(),
            (_, Some(persons)) => {
                let mut rows = WeightSums::default();
                persons.iter().for_each(|(_, cells)| {
                    rows += WeightSums::one(rate(cells).denominator);
                });
                rows.effective()
            }
        }
    }

    /// The interval of a rate of which no case counts, or all do.
    pub(crate) fn boundary_interval(
        &self,
        everybody: bool,
        rate: impl Fn(&SwitchCells) -> Rate,
        z: f64,
    ) -> Option<ValueInterval> {
        wilson_of_people(
            everybody,
            self.effective_people(rate),
            z,
            IntervalProcedure::WilsonPeople {
                weighed: self.weights.is_some() || self.persons.is_some(),
            },
        )
    }

    /// The interval of a distance where nobody's score moves; none of a metric that says no
    /// distance.
    pub(crate) fn unmoved_interval(&self, metric: &Metric, z: f64) -> Option<ValueInterval> {
        let pairs =
            |kind: &SwitchCells| Eccm(*kind).rate(0, Eccm(*kind).n(), Undefined::EmptyGroup);
        unmoved(metric, self.effective_people(pairs), z)
    }

    /// Whether a rate is one of independent cases.
    pub(crate) fn is_plain(&self) -> bool {
        !self.has_repeats && self.weights.is_none()
    }
}

/// Whether a metric counts the people who fill these cells.
fn is_counted(metric: &Metric, cells: &SwitchCells) -> bool {
    if metric.needs_label { Eccm(*cells).n_labelled() > 0 } else { Eccm(*cells).n() > 0 }
}

/// What a rate of switches counts of one person with these counterfactuals.
pub(crate) fn of_any(rate: fn(&AnySwitch) -> Rate, kind: &SwitchCells) -> Rate {
    let at = AnySwitch::index_of(kind);
    rate(&AnySwitch::from_cells(std::array::from_fn(|i| u64::from(i == at))))
}

/// The interval of a distance where the score of none of so many people moves; none of a metric
/// that says no distance.
pub(crate) fn unmoved(metric: &Metric, people: f64, z: f64) -> Option<ValueInterval> {
    let moved = wilson_of_people(false, people, z, IntervalProcedure::WilsonMoved)?;
    match metric.id {
        "macd" => Some(moved),
        "rmscd" => Some(ValueInterval { hi: moved.hi.sqrt(), ..moved }),
        "mcd" => Some(ValueInterval { lo: -moved.hi, ..moved }),
        _ => None,
    }
}

/// The groups whose people are asked whether anything switches; none where the extended matrix says
/// the same.
pub(crate) fn any_groups(places: ScopeIndex, scope: MetricScope) -> Option<Range<usize>> {
    match scope {
        MetricScope::OneToRest(from) => Some(from..from + 1),
        MetricScope::Total if places.has_rest() => Some(0..places.groups),
        _ => None,
    }
}
