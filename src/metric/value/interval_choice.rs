//! The interval of a value with its name, or the reason why there is none, and the flags of the
//! value. `metric/estimate` chooses the method for the interval of a metric.

use rayon::prelude::*;

use crate::metric::catalog::catalog;
use crate::metric::estimate::Estimate;
use crate::metric::interval::{ValueInterval, note, z_of_level};
use crate::metric::missing_interval::{IntervalOrReason, MissingInterval};
use crate::metric::noise::placebo::PlaceboBand;
use crate::metric::rate::MetricValue;
use crate::metric::student_interval::{Spread, student};
use crate::metric::value::largest::Extreme;
use crate::metric::value::settings::{MeasureSettings, SMALL_DENOMINATOR, SMALL_GROUP};
use crate::metric::{Metric, MetricFamily};
use crate::param::Level;

/// Student's interval of a mean, or the reason why it has no spread: there is only one unit, or
/// nothing varies.
pub(crate) fn of_mean(
    mean: f64,
    spread: Option<Spread>,
    level: f64,
    [no_spread, alike]: [MissingInterval; 2],
) -> IntervalOrReason {
    let spread = spread.ok_or(no_spread)?;
    spread.half_width(level).ok_or(alike)?;
    Ok(student(mean, spread.variance, spread.df, level))
}

/// As [`Self::of_mean`], for a difference of two means.
pub(crate) fn mean_gap(gap: f64, spread: Option<Spread>, level: f64) -> IntervalOrReason {
    of_mean(
        gap,
        spread,
        level,
        [MissingInterval::OnePersonInGroup, MissingInterval::EqualInBothGroups],
    )
}

/// The settings, and values that are computed from them.
pub(crate) struct MeasureContext<'a> {
    pub(crate) settings: &'a MeasureSettings,
    pub(crate) z: f64,
}

impl<'a> MeasureContext<'a> {
    /// A context for these settings.
    pub(crate) fn new(settings: &'a MeasureSettings) -> Self {
        MeasureContext { settings, z: settings.level.map_or(0.0, |level| z_of_level(level.get())) }
    }

    /// The level of intervals; the default level if no intervals are requested.
    pub(crate) fn level(&self) -> f64 {
        self.settings.level.unwrap_or(Level::DEFAULT).get()
    }

    /// The metrics of a family, in the order of the catalog; empty if the family is not requested.
    pub(crate) fn metrics(
        &self,
        family: MetricFamily,
    ) -> impl Iterator<Item = &'static Metric> + use<> {
        let requested = self.settings.families.contains(&family);
        catalog().filter(move |metric| requested && metric.family == family)
    }

    /// The results of `measure` for each metric of a family, in the order of the catalog.
    pub(crate) fn of_each<T: Send>(
        &self,
        family: MetricFamily,
        measure: impl Fn(&'static Metric) -> Vec<T> + Sync + Send,
    ) -> Vec<T> {
        let metrics: Vec<&'static Metric> = self.metrics(family).collect();
        metrics.into_par_iter().flat_map_iter(measure).collect()
    }

    /// The interval of a value and its words; `basis` is called only if an interval is requested
    /// and the value is defined.
    pub(crate) fn interval(
        &self,
        value: MetricValue,
        basis: impl FnOnce() -> IntervalOrReason,
    ) -> (Option<ValueInterval>, String) {
        self.described(value, || match basis() {
            Ok(interval) => (Some(interval), interval.method.name().to_owned()),
            Err(why) => (None, why.words().to_owned()),
        })
    }

    /// As [`Self::interval`], for the largest of several gaps or the smallest of several ratios.
    pub(crate) fn extreme(
        &self,
        value: MetricValue,
        basis: impl FnOnce() -> Extreme,
    ) -> (Option<ValueInterval>, String) {
        self.described(value, || {
            let extreme = basis();
            let interval = extreme.interval(self.level());
            let words = interval.map(|_| extreme_text(&extreme));
            (
                interval,
                words.unwrap_or_else(|| MissingInterval::GapWithoutInterval.words().to_owned()),
            )
        })
    }

    fn described(
        &self,
        value: MetricValue,
        described: impl FnOnce() -> (Option<ValueInterval>, String),
    ) -> (Option<ValueInterval>, String) {
        if self.settings.level.is_none() {
            return (None, MissingInterval::NotRequested.words().to_owned());
        }
        if !value.is_ok_and(f64::is_finite) {
            return (None, MissingInterval::UndefinedValue.words().to_owned());
        }
        let (interval, words) = described();
        if interval.is_some_and(|i| !i.lo.is_finite() || !i.hi.is_finite()) {
            return (None, MissingInterval::InfiniteEnd.words().to_owned());
        }
        (interval, words)
    }

    /// The interval of an estimate at the level of the settings, or the reason why there is none.
    pub(crate) fn estimated(&self, estimate: Option<Estimate>) -> IntervalOrReason {
        let level = self.level();
        let interval = estimate.map(|estimate| estimate.interval(level));
        interval.unwrap_or(Err(MissingInterval::OperandMissing))
    }

    /// The flags of a value that depends on few people.
    pub(crate) fn flags(
        &self,
        smallest_group: u64,
        smallest_denominator: Option<u64>,
    ) -> Vec<&'static str> {
        let mut flags = Vec::new();
        if smallest_group < self.settings.min_group_size.get() {
            flags.push(SMALL_GROUP);
        }
        if smallest_denominator.is_some_and(|cases| cases < self.settings.min_denominator.get()) {
            flags.push(SMALL_DENOMINATOR);
        }
        flags
    }
}

/// Whether an interval leaves out the ideal and lies outside of the noise band, so that the value
/// shows which group is worse off.
pub(crate) fn is_clear(
    ideal: Option<f64>,
    ends: Option<(f64, f64)>,
    noise: Option<PlaceboBand>,
) -> bool {
    let (Some(ideal), Some((lo, hi))) = (ideal, ends) else { return false };
    let band = noise.and_then(|noise| noise.ends).unwrap_or((ideal, ideal));
    lo > ideal.max(band.1) || hi < ideal.min(band.0)
}

fn extreme_text(extreme: &Extreme) -> String {
    let k = extreme.n();
    let word = match (extreme.is_ratio(), k) {
        (false, 1) => "one_gap",
        (false, _) => "largest_gap",
        (true, 1) => "one_ratio",
        (true, _) => "smallest_ratio",
    };
    note(word, &[("{k}", k as u64)])
}
