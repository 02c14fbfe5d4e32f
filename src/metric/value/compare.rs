//! Two models, or two runs, on the same people: how far apart are their values, and how sure is
//! that?
//!
//! A value is that of the first minus that of the second, in every scope of the families
//! performance, group (pairs and each group against all others), ccm and eccm (every place where
//! counterfactuals are counted). What one person gets from both goes together, which
//! [`paired_counts`](crate::metric::evidence::paired_counts) tells:
//!
//! - rates below which both have the same rows, regardless of what is predicted of them (PPREV,
//!   accuracy, TPR, FPR, switch rates): [`paired`](crate::metric::estimate::paired) differences;
//! - everything else, and rates of rows of which only one of the two scores some: each on its own
//!   rows, and the hybrid of both intervals with the correlation of what people in both add. It
//!   needs no common rows and uses those there are, so it holds if people are missing from one of
//!   the two by chance.
//!
//! Coverage of 95 % intervals of a difference of two rates, simulated (see the tests) where the
//! models agree on nine of ten people, stands with the test.
//!
//! Two models are also compared by how well their scores rank people, see
//! [`scores`](crate::metric::value::scores).
//!
//! Not done here: score metrics, see [`paired_scores`](crate::metric::value::paired_scores), and the
//! family clarify.

use rayon::prelude::*;

use super::gaps;
use crate::metric::catalog::ccm::switch_rate;
use crate::metric::estimate::Estimate;
use crate::metric::evidence::paired_counts::{PairedCounts, PairedUnits};
use crate::metric::evidence::person::{Confusion, ECCM_CELLS, Eccm, SwitchCells};
use crate::metric::evidence::units::{UnitSums, WeightSums};
use crate::metric::interval::{IntervalProcedure, ValueInterval};
use crate::metric::rate::{MetricValue, Rate, by_weight};
use crate::metric::scope::{MetricScope, ScopeIndex};
use crate::metric::swap_effect::SwapEffect;
use crate::metric::value::group_subjects::GroupSubjects;
use crate::metric::value::interval_choice::{IntervalOrReason, MeasureContext};
use crate::metric::value::largest::{largest_estimate, smaller_ratio_estimate};
use crate::metric::value::measured::FactualSubject;
use crate::metric::value::scope_people::estimate_of_cells;
use crate::metric::value::settings::{FavourableClass, MeasureSettings};
use crate::metric::{Metric, MetricFamily, Reads, difference};

/// One metric of two models.
#[derive(Debug, Clone)]
pub(crate) struct ComparedValue {
    /// Where it holds.
    pub scope: MetricScope,
    /// What it is.
    pub metric: &'static Metric,
    /// The value of the first model.
    pub first: MetricValue,
    /// The value of the second.
    pub second: MetricValue,
    /// First minus second.
    pub difference: MetricValue,
    /// People behind the values, the fewer of both.
    pub n_rows: u64,
    /// The interval of the difference.
    pub interval: Option<ValueInterval>,
    /// Its method in full, or why there is none.
    pub ci_method: String,
}

impl ComparedValue {
    /// The first value less the second; `basis` gives the interval of the difference.
    pub(crate) fn new(
        context: &MeasureContext<'_>,
        (metric, scope): (&'static Metric, MetricScope),
        [first, second]: [MetricValue; 2],
        n_rows: u64,
        basis: impl FnOnce(MetricValue) -> IntervalOrReason,
    ) -> Self {
        let difference = difference(first, second);
        let (interval, ci_method) = context.interval(difference, || basis(difference));
        ComparedValue { scope, metric, first, second, difference, n_rows, interval, ci_method }
    }
}

/// The people of one scope: under both models, and what both say.
struct ComparedSubject {
    sides: [FactualSubject; 2],
    units: PairedUnits,
}

impl ComparedSubject {
    fn new(units: PairedUnits) -> Self {
        let side = |side: usize| FactualSubject::of_units(units.side(side), units.is_weighted);
        ComparedSubject { sides: [side(0), side(1)], units }
    }

    /// People whom a metric counts.
    fn n(&self, metric: &Metric, side: usize) -> u64 {
        self.sides[side].people.people(metric.needs_label)
    }
}

/// The values of two models in groups as they are.
pub(crate) fn compare_rows(
    counts: &PairedCounts,
    settings: &MeasureSettings,
) -> Vec<ComparedValue> {
    let (context, scopes, n) = (MeasureContext::new(settings), counts.scopes(), counts.groups());
    let subjects = GroupSubjects::new(n, true, |who| {
        ComparedSubject::new(scopes.units(|place| who.groups(n).any(|group| group == place)))
    });
    let labelled = subjects.all.sides.iter().any(|side| side.people.n() > 0);
    let is_compared = |metric: &Metric| labelled || !metric.needs_label;
    let performance = |metric: &'static Metric| {
        let value = |scope| compare_subject(&context, metric, scope, subjects.single(scope));
        let scopes = subjects.singles().into_iter().filter(|_| is_compared(metric));
        scopes.map(value).collect()
    };
    let gaps = |metric: &'static Metric| {
        let is_far = matches!(metric.reads, Reads::RateToTotal(_) | Reads::ScoreToTotal(_));
        let scopes = subjects.comparisons(SwapEffect::of(metric)).into_iter();
        let gap = |scope| compare_gap(&context, metric, scope, subjects.compared(scope));
        scopes.filter(|_| !is_far && is_compared(metric)).map(gap).collect()
    };
    let mut out = context.of_each(MetricFamily::Performance, performance);
    out.extend(context.of_each(MetricFamily::Group, gaps));
    out
}

/// One metric of one group or of all.
fn compare_subject(
    context: &MeasureContext<'_>,
    metric: &'static Metric,
    scope: MetricScope,
    subject: &ComparedSubject,
) -> ComparedValue {
    let rate = match metric.reads {
        Reads::Rate(rate) => Some(move |cells| rate(&Confusion::from_cells(cells))),
        _ => None,
    };
    let values = subject.sides.each_ref().map(|side| match metric.reads {
        Reads::Rate(rate) => side.value(|c| rate(c).value()),
        Reads::Score(score) | Reads::Benefit(score) => side.value(score),
        _ => unreachable!("`{}` is not a metric of one group", metric.id),
    });
    let n_rows = subject.n(metric, 0).min(subject.n(metric, 1));
    compared(context, (metric, scope), values, n_rows, || {
        // TP, FP, FN, TN, then without a label.
        let paired = |rate| paired_rates(&subject.units, rate, |cell| [1, 0, 1, 0, 2, 2][cell]);
        rate.and_then(paired).or_else(|| {
            let side = |m: usize| subject.sides[m].estimate(metric, values[m], |c| *c);
            Some(side(0)?.minus(&side(1)?))
        })
    })
}

/// One metric of two subjects.
fn compare_gap(
    context: &MeasureContext<'_>,
    metric: &'static Metric,
    scope: MetricScope,
    [a, b]: [&ComparedSubject; 2],
) -> ComparedValue {
    let favourable = context.settings.favourable;
    let of = |a: &Confusion, b: &Confusion| gaps::value(metric, favourable, a, b);
    let sides = [0, 1].map(|m| [&a.sides[m], &b.sides[m]]);
    let values = sides.map(|[a, b]| {
        let of_people = || of(&a.people, &b.people);
        match a.weight.is_some() {
            true => by_weight(of(a.cells(), b.cells()), of_people),
            false => of_people(),
        }
    });
    let n = |m: usize| a.n(metric, m) + b.n(metric, m);
    compared(context, (metric, scope), values, n(0).min(n(1)), || {
        let [first, second] = sides.map(|sides| gap_estimate(metric, favourable, sides));
        Some(first?.minus(&second?))
    })
}

/// A gap of two subjects with its interval.
fn gap_estimate(
    metric: &Metric,
    favourable: FavourableClass,
    [a, b]: [&FactualSubject; 2],
) -> Option<Estimate> {
    let seen = |c: &Confusion| *c;
    match metric.reads {
        Reads::WidestGap(rates) => {
            let gaps = rates.iter().map(|rate| gaps::rate_gap(rate, a, b));
            largest_estimate(gaps.collect::<Option<_>>()?)
        }
        Reads::FavourableMinRatio => {
            let share = |of: &FactualSubject| of.share(|c| gaps::favourable_rate(c, favourable));
            smaller_ratio_estimate([share(a)?, share(b)?])
        }
        _ => {
            let shares = gaps::shares_of_gap(metric, favourable, [a, b], seen);
            gaps::gap_estimate(metric, (a, b), shares, seen)
        }
    }
}

/// The values of two models with the same counterfactuals, in every scope; `counts` are those of
/// the directions.
pub(crate) fn compare_switches(
    counts: &PairedCounts,
    settings: &MeasureSettings,
) -> Vec<ComparedValue> {
    let (context, rows) = (MeasureContext::new(settings), counts.scopes());
    let scopes = ScopeIndex::new(counts.groups());
    let units_of = |place: usize| {
        let held = scopes.numbers_of(place);
        rows.units(|direction| held.contains(&direction))
    };
    let labelled = {
        let total = units_of(scopes.total());
        (0..2).any(|side| total.rows(side, has_label) > 0)
    };
    let is_compared = |metric: &&'static Metric| {
        let is_of_cells = switch_rate(metric, settings).is_some()
            || matches!(metric.reads, Reads::SwitchScore(_));
        // What compares two directions itself has no value in one.
        is_of_cells && !metric.is_of_two_directions() && (labelled || !metric.needs_label)
    };
    let metrics: Vec<&'static Metric> = [MetricFamily::Ccm, MetricFamily::Eccm]
        .into_iter()
        .flat_map(|family| context.metrics(family))
        .filter(is_compared)
        .collect();
    let in_scope = |(place, scope): (usize, MetricScope)| {
        let units = units_of(place);
        let sides = [units.side(0), units.side(1)];
        let compare =
            |metric: &&'static Metric| compare_scope(&context, (*metric, scope), (&units, &sides));
        metrics.iter().map(compare).collect::<Vec<_>>()
    };
    let scopes: Vec<(usize, MetricScope)> = scopes.scopes().collect();
    scopes.into_par_iter().map(in_scope).collect::<Vec<_>>().into_iter().flatten().collect()
}

/// Whether a cell of the extended matrix holds people with a label.
fn has_label(cell: usize) -> bool {
    cell < 8
}

/// One metric of one scope.
fn compare_scope(
    context: &MeasureContext<'_>,
    (metric, scope): (&'static Metric, MetricScope),
    (units, sides): (&PairedUnits, &[UnitSums<ECCM_CELLS>; 2]),
) -> ComparedValue {
    let settings = context.settings;
    let rate = switch_rate(metric, settings);
    let of = |cells: SwitchCells| match (rate, metric.reads) {
        (Some(rate), _) => rate(&Eccm(cells)).value(),
        (None, Reads::SwitchScore(score)) => score(&Eccm(cells)),
        _ => unreachable!("`{}` is not a metric of cells", metric.id),
    };
    let values = sides.each_ref().map(|side| {
        let people = || of(side.rows().map(WeightSums::people));
        if units.is_weighted { by_weight(of(side.weight()), people) } else { people() }
    });
    let n = |side| units.rows(side, |cell| !metric.needs_label || has_label(cell));
    compared(context, (metric, scope), values, n(0).min(n(1)), || {
        let paired = |rate: fn(&Eccm) -> Rate| {
            paired_rates(units, move |cells: SwitchCells| rate(&Eccm(cells)), |cell| cell / 4)
        };
        rate.and_then(paired).or_else(|| {
            let side = |m: usize| estimate_of_cells(&sides[m], metric, values[m], settings);
            Some(side(0)?.minus(&side(1)?))
        })
    })
}

/// The difference of a rate of both sides where the same rows are below it: which ones are, depends
/// on the label and not on what is predicted, and both sides score them all. Else none.
fn paired_rates<const N: usize>(
    units: &PairedUnits,
    rate: impl Fn([u64; N]) -> Rate,
    label_of: impl Fn(usize) -> usize,
) -> Option<Estimate> {
    let alone: [Rate; N] = std::array::from_fn(|cell| {
        let mut one = [0; N];
        one[cell] = 1;
        rate(one)
    });
    let below = |cell: usize| alone[cell].denominator;
    let depends =
        (0..N).any(|i| (0..i).any(|j| label_of(i) == label_of(j) && below(i) != below(j)));
    let below = |cell: Option<usize>| cell.map_or(0, below);
    if depends || units.cells().any(|[first, second]| below(first) != below(second)) {
        return None;
    }
    let cases = |cell: Option<usize>| cell.map_or(0, |cell| alone[cell].numerator);
    let seen = units.seen(|[first, second]| {
        let [one, other] = [cases(first), cases(second)];
        [below(first), one.saturating_sub(other), other.saturating_sub(one)]
    });
    Estimate::paired(&seen, |cells| *cells)
}

fn compared(
    context: &MeasureContext<'_>,
    of: (&'static Metric, MetricScope),
    values: [MetricValue; 2],
    n_rows: u64,
    estimate: impl FnOnce() -> Option<Estimate>,
) -> ComparedValue {
    let basis = |_| context.estimated(estimate());
    let mut found = ComparedValue::new(context, of, values, n_rows, basis);
    let is_paired =
        |method| matches!(method, IntervalProcedure::Paired | IntervalProcedure::PairedPeople);
    if found.interval.is_some_and(|interval| !is_paired(interval.method)) {
        found.ci_method.push_str(", with the correlation that people in both give");
    }
    found
}
