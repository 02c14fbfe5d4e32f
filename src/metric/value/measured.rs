//! Turns evidence into values: every metric of the requested families in every scope, with
//! interval, flags and the group that is worse off.
//!
//! Here: groups of factual rows, in the scopes `group`, `total`, `pair` (A before B in reference
//! order; for [`clarify`](crate::metric::catalog::clarify) the favoured facet first), `worst_case`
//! and, with more than two groups, `one_vs_rest`. The families with counterfactuals are in
//! [`switches`](super::switches). [`estimate`](crate::metric::estimate) chooses the intervals.
//!
//! If people have weights, values are computed from the weights; cases are still people. Flags and
//! gates count people with a positive weight (persons, if a person may have several rows).
//!
//! The threads of the caller's pool share the work, and values keep their order.

use crate::metric::estimate::Estimate;
use crate::metric::estimate::share::Share;
use crate::metric::evidence::counts::FactualCounts;
use crate::metric::evidence::flip_test::FlipTestResult;
use crate::metric::evidence::person::Confusion;
use crate::metric::evidence::units::{UnitSums, alone};
use crate::metric::rate::{MetricValue, Rate};
use crate::metric::scope::GroupSelection;
use crate::metric::student_interval::{GroupTerms, UnitTerm};
use crate::metric::value::group_reading::GroupReading;
use crate::metric::value::group_subjects::GroupSubjects;
use crate::metric::value::interval_choice::MeasureContext;
use crate::metric::value::measured_value::{CellNumbers, Subject};
pub(crate) use crate::metric::value::measured_value::{MeasuredValue, PersonBasis};
use crate::metric::value::settings::MeasureSettings;
use crate::metric::{GroupValue, MetricFamily};

/// Values of the families performance, group, clarify and scores: each group, all together, every
/// comparison. `flips` is the result of the flip test; without it its metrics are not measured.
pub(crate) fn measure_factual(
    counts: &FactualCounts,
    flips: Option<&FlipTestResult>,
    settings: &MeasureSettings,
) -> Vec<MeasuredValue> {
    let audit = MeasureContext::new(settings);
    let subject = |selection: GroupSelection| FactualSubject::new(counts.units(selection));
    let subjects = GroupSubjects::new(counts.groups.len(), true, subject);
    let single = |metric, scope, subject: &FactualSubject| {
        subject.measured(audit.reading(metric), &audit, (metric, scope))
    };
    let gap = |metric, scope, pair: [&FactualSubject; 2]| audit.gap(metric, scope, pair);
    let mut out = subjects.measured(&audit, single, gap);
    if subjects.groups.len() > 1 {
        let worst = |metric| vec![audit.worst(metric, &subjects)];
        out.extend(audit.of_each(MetricFamily::Group, worst));
    }
    if settings.families.contains(&MetricFamily::Clarify) {
        out.extend(audit.clarify(counts, flips, &subjects));
    }
    out.extend(audit.scores(counts));
    out
}

/// One group, the others of a group, or all people.
pub(crate) struct FactualSubject {
    /// The numbers of people.
    pub(crate) people: Confusion,
    /// Their weights, 1 each without weights: values are computed from these.
    pub(crate) cells: Confusion,
    /// The units.
    pub(crate) units: UnitSums,
}

impl FactualSubject {
    /// The subject with these units.
    pub(crate) fn new(units: UnitSums) -> Self {
        let [people, cells] = [units.people(), units.weight()].map(Confusion::from_cells);
        FactualSubject { people, cells, units }
    }

    /// A rate with its effective size; none if the denominator is 0.
    pub(crate) fn share(&self, rate: impl Fn(&Confusion) -> Rate) -> Option<Share> {
        Share::new(&self.units, |cell| rate(&Confusion::from_cells(alone(cell))))
    }

    /// A mean over the people with a label, and the influence of each row or person; none if it is
    /// undefined.
    pub(crate) fn mean_influences(
        &self,
        mean: &impl Fn(&Confusion) -> MetricValue,
    ) -> Option<(f64, GroupTerms)> {
        let total = mean(&self.cells).ok()?;
        let n_total = self.cells.n() as f64;
        let influence = |cells: &Confusion| {
            mean(cells).map_or(0.0, |value| cells.n() as f64 * (value - total) / n_total)
        };
        let kinds = self.units.kinds().iter().map(|kind| (kind, Confusion::from_cells(kind.all())));
        let counted = kinds.filter(|(_, cells)| cells.n() > 0);
        let rows = counted.map(|(kind, cells)| {
            let (sums, added) = (kind.sums, influence(&cells));
            let (n, sum) = (sums.people() as f64, sums.sum() as f64 * added);
            UnitTerm { key: kind.key, n, sum, squares: sums.squares() * added * added }
        });
        Some((total, GroupTerms::new(rows.collect(), self.units.are_persons())))
    }
}

impl Subject for FactualSubject {
    type Reading = GroupReading;

    fn units(&self, _: GroupReading) -> &UnitSums {
        &self.units
    }

    fn counts(&self, reading: GroupReading, cell: usize) -> bool {
        // TP, FP, FN, TN, then people without a label.
        !reading.metric.needs_label || cell < 4
    }

    fn rate(&self, reading: GroupReading, by: CellNumbers) -> Option<Rate> {
        reading.rate(&Confusion::from_cells(by.of(&self.units)))
    }

    fn score(&self, reading: GroupReading) -> MetricValue {
        reading.score(&self.cells)
    }

    fn score_estimate(&self, reading: GroupReading, value: f64) -> Option<Estimate> {
        let share = |rate: fn(&Confusion) -> Rate| {
            self.share(|c: &Confusion| rate(&reading.oriented(c))).map(Estimate::from)
        };
        match reading.metric.group_value()? {
            GroupValue::MeanOfRates([one, other]) => Some(share(one)?.mean_with(share(other)?)),
            GroupValue::OfRate(_, rate, function) => Some(share(rate)?.mapped(value, function)),
            GroupValue::OfCells(_, function) => {
                let table = |cell| {
                    let c = reading.oriented(&Confusion::from_cells(alone(cell)));
                    [c.tp, c.fp, c.fn_, c.tn].iter().position(|n| *n > 0)
                };
                Some(Estimate::of_cells(value, &self.units, table, function))
            }
            _ => None,
        }
    }
}
