//! Turns evidence into values: every metric of the requested families in every scope, with
//! interval, flags and the group that is worse off.
//!
//! Here: groups as they are, in the scopes `group`, `total`, `pair` (A before B in reference order;
//! for [`clarify`](crate::metric::catalog::clarify) the favoured facet first), `worst_case` and,
//! with more than two groups, `one_vs_rest`. The families with counterfactuals are in
//! [`switches`](super::switches).
//! Which interval a value gets is chosen in [`estimate`](crate::metric::estimate).
//!
//! If people have weights, values are computed from the weights; cases are still people. Flags and
//! gates count people (persons, where one may have several rows) who weigh more than 0.
//!
//! Work is shared among the threads of the pool that the caller is in, and values keep their order.

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
/// comparison. `flips` is what the flip test found; without it its metrics are not measured.
pub(crate) fn measure_factual(
    counts: &FactualCounts,
    flips: Option<&FlipTestResult>,
    settings: &MeasureSettings,
) -> Vec<MeasuredValue> {
    let audit = MeasureContext::new(settings);
    let subject = |who: GroupSelection| FactualSubject::new(counts.units(who));
    let subjects = GroupSubjects::new(counts.groups.len(), true, subject);
    let single = |metric, scope, of: &FactualSubject| {
        of.measured(audit.reading(metric), &audit, (metric, scope))
    };
    let gap = |metric, scope, both: [&FactualSubject; 2]| audit.gap(metric, scope, both);
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

/// One group, all others, or all.
pub(crate) struct FactualSubject {
    /// Its people.
    pub(crate) people: Confusion,
    /// What they weigh, 1 each where nobody has a weight: what values are computed from.
    pub(crate) cells: Confusion,
    /// Its units.
    pub(crate) units: UnitSums,
}

impl FactualSubject {
    /// The subject with these units.
    pub(crate) fn new(units: UnitSums) -> Self {
        let [people, cells] = [units.people(), units.weight()].map(Confusion::from_cells);
        FactualSubject { people, cells, units }
    }

    /// A rate with its effective size; none where the denominator is 0.
    pub(crate) fn share(&self, of: impl Fn(&Confusion) -> Rate) -> Option<Share> {
        Share::new(&self.units, |cell| of(&Confusion::from_cells(alone(cell))))
    }

    /// A mean over the people with a label, and what each row or person adds to it; none where it
    /// is undefined.
    pub(crate) fn mean_influences(
        &self,
        mean: &impl Fn(&Confusion) -> MetricValue,
    ) -> Option<(f64, GroupTerms)> {
        let all = mean(&self.cells).ok()?;
        let below = self.cells.n() as f64;
        // What these rows add, relative to their own mean.
        let add =
            |own: &Confusion| mean(own).map_or(0.0, |value| own.n() as f64 * (value - all) / below);
        let kinds = self.units.kinds().iter().map(|of| (of, Confusion::from_cells(of.all())));
        let counted = kinds.filter(|(_, own)| own.n() > 0);
        let rows = counted.map(|(kind, one)| {
            let (sums, added) = (kind.sums, add(&one));
            let (n, sum) = (sums.people() as f64, sums.sum() as f64 * added);
            UnitTerm { key: kind.key, n, sum, squares: sums.squares() * added * added }
        });
        Some((all, GroupTerms::new(rows.collect(), self.units.are_persons())))
    }
}

impl Subject for FactualSubject {
    type Reading = GroupReading;

    fn units(&self, _: GroupReading) -> &UnitSums {
        &self.units
    }

    fn counts(&self, of: GroupReading, cell: usize) -> bool {
        // TP, FP, FN, TN, then without a label.
        !of.metric.needs_label || cell < 4
    }

    fn rate(&self, of: GroupReading, by: CellNumbers) -> Option<Rate> {
        of.rate(&Confusion::from_cells(by.of(&self.units)))
    }

    fn score(&self, of: GroupReading) -> MetricValue {
        of.score(&self.cells)
    }

    fn score_estimate(&self, of: GroupReading, value: f64) -> Option<Estimate> {
        let share = |rate: fn(&Confusion) -> Rate| {
            self.share(|c: &Confusion| rate(&of.seen(c))).map(Estimate::from)
        };
        match of.metric.group_value()? {
            GroupValue::MeanOfRates([one, other]) => Some(share(one)?.mean_with(share(other)?)),
            GroupValue::OfRate(_, rate, function) => Some(share(rate)?.mapped(value, function)),
            GroupValue::OfCells(_, function) => {
                let table = |cell| {
                    let c = of.seen(&Confusion::from_cells(alone(cell)));
                    [c.tp, c.fp, c.fn_, c.tn].iter().position(|n| *n > 0)
                };
                Some(Estimate::of_cells(value, &self.units, table, function))
            }
            _ => None,
        }
    }
}
