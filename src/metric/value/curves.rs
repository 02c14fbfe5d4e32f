//! Rates at every threshold: the values if another threshold than that of the job were used.
//!
//! Counts at the thresholds of the grid come from
//! [`score_grid`](crate::metric::evidence::score_grid), those at the threshold of the job from the
//! decisions; rates are the functions of the catalog, so a curve and a metric always have the same
//! meaning. Groups of factual rows have `pprev`, `tpr`, `fpr`, and `di` of each pair;
//! counterfactuals have `sr`, `psr`, `nsr` and the two rates of harm, for each direction and in
//! total.
//!
//! Intervals are pointwise: Wilson's, for ratios Katz's. With weights they use the effective number
//! of people in the denominator (Kish). If rows are not independent, this number is divided by the
//! design effect at the job's threshold. There is no interval if this design effect is unknown,
//! because the denominator at the job's threshold is 0.
//!
//! With several classes there are curves for each class against the rest: a score of the class at
//! or above the threshold is positive. The last point holds the decisions for the class with the
//! highest score, which do not correspond to a threshold.
//!
//! For a set that depends on causal graphs there are no curves: its rates are means over graphs,
//! and a curve of mean scores would not pass through them.

use crate::metric::catalog::ccm::switch_rate;
use crate::metric::catalog::{catalog, find};
use crate::metric::estimate::share::Share;
use crate::metric::evidence::counts::{CounterfactualCounts, FactualCounts};
use crate::metric::evidence::person::{CONFUSION_CELLS, Confusion, ECCM_CELLS, Eccm};
use crate::metric::evidence::score_grid::ScoreGrid;
use crate::metric::evidence::units::{UnitSums, WeightSums, alone};
use crate::metric::interval::{IntervalProcedure, katz_of, wilson_of_share, z_of_level};
use crate::metric::rate::{MetricValue, Rate};
use crate::metric::scope::{GroupSelection, MetricScope};
use crate::metric::value::group_reading::favourable_rate;
use crate::metric::value::settings::MeasureSettings;
use crate::metric::{GroupValue, Metric, Reads, ratio};

/// The smallest number of steps between the first and the last threshold that break a limit for
/// which the page reports it.
pub(crate) const LEAST_BROKEN_STEPS: usize = 52;

/// The metrics that are measured at every threshold.
fn drawn() -> impl Iterator<Item = &'static Metric> {
    catalog().filter(|metric| metric.has_curve)
}

/// A rate at one threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CurvePoint {
    /// The value, or the reason why there is none.
    pub(crate) value: MetricValue,
    /// Cases in the numerator, without weights; none for a ratio of two rates.
    pub(crate) numerator: Option<u64>,
    /// Cases in the denominator, without weights; for a ratio the smaller number of both groups.
    pub(crate) denominator: u64,
    /// The pointwise interval; none if it is not requested or not possible.
    pub(crate) ends: Option<(f64, f64)>,
}

/// A metric in a scope at every threshold.
#[derive(Debug, Clone)]
pub(crate) struct ThresholdCurve {
    /// The metric.
    pub(crate) metric: &'static Metric,
    /// Where it holds.
    pub(crate) scope: MetricScope,
    /// By step of the grid; the last point is the threshold of the job.
    pub(crate) points: Vec<CurvePoint>,
}

/// A rate of people at a threshold.
struct RateAtThreshold {
    people: Rate,
    value: MetricValue,
    /// The effective number of people; NaN if it is unknown.
    effective: f64,
}

impl RateAtThreshold {
    fn point(&self, z: Option<f64>) -> CurvePoint {
        let known = self.value.ok().filter(|_| self.effective > 0.0).zip(z);
        let ends = known.map(|(p, z)| {
            let ends = wilson_of_share(p, self.effective, z, IntervalProcedure::Wilson);
            (ends.lo, ends.hi)
        });
        CurvePoint {
            value: self.value,
            numerator: Some(self.people.numerator),
            denominator: self.people.denominator,
            ends,
        }
    }

    /// The ratio of this rate to another; `correlation` is the correlation of the two.
    fn over(&self, other: &Self, correlation: f64, z: Option<f64>) -> CurvePoint {
        let shares = self.value.ok().zip(other.value.ok()).filter(|(p, q)| *p > 0.0 && *q > 0.0);
        let is_known = self.effective > 0.0 && other.effective > 0.0;
        let known = shares.filter(|_| is_known).zip(z);
        let ends = known.map(|(shares, z)| {
            let effective = (self.effective, other.effective);
            let ends = katz_of(shares, effective, correlation, z, IntervalProcedure::Katz);
            (ends.lo, ends.hi)
        });
        CurvePoint {
            value: ratio(self.value, other.value),
            numerator: None,
            denominator: self.people.denominator.min(other.people.denominator),
            ends,
        }
    }
}

/// Two-sided normal quantile of the intervals; none if no intervals are requested.
fn quantile(settings: &MeasureSettings) -> Option<f64> {
    settings.level.map(|level| z_of_level(level.get()))
}

/// Cells at every threshold of the grid, then at the threshold of the job.
struct CellsByThreshold<const N: usize> {
    cells: Vec<[WeightSums; N]>,
    /// The units at the threshold of the job.
    units: UnitSums,
}

impl<const N: usize> CellsByThreshold<N> {
    fn new(steps: impl Iterator<Item = [WeightSums; N]>, units: UnitSums) -> Self {
        let now = std::array::from_fn(|cell| units.rows()[cell]);
        CellsByThreshold { cells: steps.chain([now]).collect(), units }
    }

    fn share(&self, rate: &dyn Fn([u64; N]) -> Rate) -> Option<Share> {
        Share::new(&self.units, |cell| rate(alone(cell)))
    }

    /// A rate at every threshold, with its effective number of people. The design effect is that at
    /// the threshold of the job, or 1 if each row is a person and the denominator there is 0.
    fn rates(&self, rate_of: &dyn Fn([u64; N]) -> Rate) -> Vec<RateAtThreshold> {
        let design = self.share(rate_of).map(|share| share.design());
        let design = design.or_else(|| self.units.are_rows().then_some(1.0)).unwrap_or(f64::NAN);
        let counts: [bool; N] = std::array::from_fn(|cell| rate_of(alone(cell)).denominator > 0);
        let rate = |cells: &[WeightSums; N]| {
            let mut below = WeightSums::default();
            let counted = cells.iter().zip(counts).filter(|(_, counts)| *counts);
            counted.for_each(|(sums, _)| below += *sums);
            RateAtThreshold {
                people: rate_of(cells.map(WeightSums::people)),
                value: rate_of(cells.map(WeightSums::sum)).value(),
                effective: below.effective() / design,
            }
        };
        self.cells.iter().map(rate).collect()
    }

    fn curve(
        &self,
        (metric, scope): (&'static Metric, MetricScope),
        rate_of: &dyn Fn([u64; N]) -> Rate,
        z: Option<f64>,
    ) -> ThresholdCurve {
        let points = self.rates(rate_of).iter().map(|rate| rate.point(z)).collect();
        ThresholdCurve { metric, scope, points }
    }
}

/// The selected rows at every threshold; none if no curves are requested.
fn rows_by_threshold(
    counts: &FactualCounts,
    selection: GroupSelection,
) -> Option<CellsByThreshold<CONFUSION_CELLS>> {
    let grid = counts.grid.as_ref()?;
    let steps = grid.steps(selection.groups(counts.groups.len())).into_iter().map(|labels| {
        let [[no_label_no, no_label_yes], [tn, fp], [fn_, tp]] = labels;
        [tp, fp, fn_, tn, no_label_yes, no_label_no]
    });
    Some(CellsByThreshold::new(steps, counts.units(selection)))
}

/// Counts that give rates at every threshold.
pub(crate) trait CurveEvidence: Sync {
    /// How scores are compared with thresholds; none if no curves are requested.
    fn score_grid(&self) -> Option<&ScoreGrid>;

    /// The scopes that have curves.
    fn curve_scopes(&self) -> Vec<MetricScope>;

    /// The curves in one of these scopes; empty if no curves are requested.
    fn curves(&self, settings: &MeasureSettings, scope: MetricScope) -> Vec<ThresholdCurve>;
}

impl CurveEvidence for FactualCounts {
    fn score_grid(&self) -> Option<&ScoreGrid> {
        Some(&self.grid.as_ref()?.grid)
    }

    fn curve_scopes(&self) -> Vec<MetricScope> {
        let n = self.groups.len();
        let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| MetricScope::Pair(a, b)));
        (0..n).map(MetricScope::Group).chain([MetricScope::Total]).chain(pairs).collect()
    }

    fn curves(&self, settings: &MeasureSettings, scope: MetricScope) -> Vec<ThresholdCurve> {
        let rows = |selection| rows_by_threshold(self, selection);
        let [first, second] = scope.sides();
        if let MetricScope::Pair(..) = scope {
            let pair = rows(first).zip(rows(second));
            let curve = pair.and_then(|(a, b)| favourable_ratio(settings, scope, [&a, &b]));
            return curve.into_iter().collect();
        }
        if !matches!(scope, MetricScope::Group(_) | MetricScope::Total) {
            return Vec::new();
        }
        let Some(rows) = rows(first) else { return Vec::new() };
        let curve = |metric: &'static Metric| {
            let Reads::Group(GroupValue::Rate(rate), None) = metric.reads else { return None };
            let rate_of = |cells| rate(&Confusion::from_cells(cells));
            Some(rows.curve((metric, scope), &rate_of, quantile(settings)))
        };
        drawn().filter_map(curve).collect()
    }
}

/// The ratio of the favourable rate of the second group to that of the first.
fn favourable_ratio(
    settings: &MeasureSettings,
    scope: MetricScope,
    [first, second]: [&CellsByThreshold<CONFUSION_CELLS>; 2],
) -> Option<ThresholdCurve> {
    let (metric, favourable) = (find("di")?, settings.favourable);
    let rate_of = |cells| favourable_rate(&Confusion::from_cells(cells), favourable);
    let shares = second.share(&rate_of).zip(first.share(&rate_of));
    let correlation = shares.map_or(0.0, |(x, y)| x.influence.correlation(&y.influence));
    let (x, y) = (second.rates(&rate_of), first.rates(&rate_of));
    let points = x.iter().zip(&y).map(|(x, y)| x.over(y, correlation, quantile(settings)));
    Some(ThresholdCurve { metric, scope, points: points.collect() })
}

/// The counterfactuals of a scope, by its number, at every threshold; none if no curves are
/// requested.
fn switches_by_threshold(
    counts: &CounterfactualCounts,
    place: usize,
) -> Option<CellsByThreshold<ECCM_CELLS>> {
    let grid = counts.grid.as_ref()?;
    let steps = grid.steps(counts.scope_index().directions_of(place)).into_iter().map(|switches| {
        let mut cells = [WeightSums::default(); ECCM_CELLS];
        cells[ECCM_CELLS - 4..].copy_from_slice(switches.as_flattened());
        cells
    });
    let rows = counts.cell_profiles();
    Some(CellsByThreshold::new(steps, counts.units(place, &rows[place])))
}

impl CurveEvidence for CounterfactualCounts {
    fn score_grid(&self) -> Option<&ScoreGrid> {
        Some(&self.grid.as_ref()?.grid)
    }

    fn curve_scopes(&self) -> Vec<MetricScope> {
        let drawn =
            |scope: &MetricScope| matches!(scope, MetricScope::Direction(..) | MetricScope::Total);
        self.scope_index().scopes().map(|(_, scope)| scope).filter(drawn).collect()
    }

    fn curves(&self, settings: &MeasureSettings, scope: MetricScope) -> Vec<ThresholdCurve> {
        let place = self.scope_index().scopes().find(|(_, found)| *found == scope);
        let switches = place.and_then(|(place, _)| switches_by_threshold(self, place));
        let Some(switches) = switches else { return Vec::new() };
        let curve = |metric: &'static Metric| {
            let rate = switch_rate(metric, settings)?;
            let rate_of = |cells| rate(&Eccm(cells));
            Some(switches.curve((metric, scope), &rate_of, quantile(settings)))
        };
        drawn().filter_map(curve).collect()
    }
}

/// The first and the last step of the contiguous range around a step where the value itself breaks
/// a limit; none if the step itself keeps the limit or is not judged. `points` are the values by
/// step with the cases in the denominator; points with fewer than `enough` cases are not judged.
pub(crate) fn broken_run(
    points: &[(Option<f64>, u64)],
    at: usize,
    enough: u64,
    breaks: impl Fn(f64) -> bool,
) -> Option<(usize, usize)> {
    let is_broken = |point: &(Option<f64>, u64)| point.1 >= enough && point.0.is_some_and(&breaks);
    points.get(at).filter(|point| is_broken(point))?;
    let before = points[..at].iter().rev().take_while(|point| is_broken(point)).count();
    let behind = points[at + 1..].iter().take_while(|point| is_broken(point)).count();
    Some((at - before, at + behind))
}
