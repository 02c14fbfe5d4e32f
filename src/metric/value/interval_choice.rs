//! The interval of a value by name, or why it has none, and the flags of the value. Which method
//! gives the interval of a metric is chosen in `metric/estimate`.

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

/// Student's interval of a mean; why there is none where it has no spread, because there is one
/// unit, or where nothing varies.
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

/// The settings, and what follows from them.
pub(crate) struct MeasureContext<'a> {
    pub(crate) settings: &'a MeasureSettings,
    pub(crate) z: f64,
}

impl<'a> MeasureContext<'a> {
    /// What follows from the settings; nothing is drawn yet.
    pub(crate) fn new(settings: &'a MeasureSettings) -> Self {
        MeasureContext { settings, z: settings.level.map_or(0.0, |level| z_of_level(level.get())) }
    }

    /// The level of intervals; the usual one where none are wanted.
    pub(crate) fn level(&self) -> f64 {
        self.settings.level.unwrap_or(Level::DEFAULT).get()
    }

    /// The metrics of a family, in the order of the catalog; none of a family that is not asked
    /// for.
    pub(crate) fn metrics(
        &self,
        family: MetricFamily,
    ) -> impl Iterator<Item = &'static Metric> + use<> {
        let asked = self.settings.families.contains(&family);
        catalog().filter(move |metric| asked && metric.family == family)
    }

    /// What `of` gives of each metric of a family, in the order of the catalog.
    pub(crate) fn of_each<T: Send>(
        &self,
        family: MetricFamily,
        of: impl Fn(&'static Metric) -> Vec<T> + Sync + Send,
    ) -> Vec<T> {
        let metrics: Vec<&'static Metric> = self.metrics(family).collect();
        metrics.into_par_iter().flat_map_iter(of).collect()
    }

    /// The interval of a value and its words; `basis` is only asked where an interval is wanted and
    /// the value is defined.
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

    /// As [`Self::interval`], for the largest of several gaps, or the smallest of several ratios.
    pub(crate) fn extreme(
        &self,
        value: MetricValue,
        basis: impl FnOnce() -> Extreme,
    ) -> (Option<ValueInterval>, String) {
        self.described(value, || {
            let of = basis();
            let interval = of.interval(self.level());
            let words = interval.map(|_| extreme_text(&of));
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
        if interval.is_some_and(|of| !of.lo.is_finite() || !of.hi.is_finite()) {
            return (None, MissingInterval::InfiniteEnd.words().to_owned());
        }
        (interval, words)
    }

    /// The interval of an estimate at the level of the settings; none of an undefined value.
    pub(crate) fn estimated(&self, estimate: Option<Estimate>) -> IntervalOrReason {
        let level = self.level();
        let interval = estimate.map(|estimate| estimate.interval(level));
        interval.unwrap_or(Err(MissingInterval::OperandMissing))
    }

    /// What a reader must know about a value of few people.
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

/// Whether an interval leaves out the ideal and is beyond what noise gives, so that the value shows
/// which group is worse off.
pub(crate) fn is_clear(
    ideal: Option<f64>,
    ends: Option<(f64, f64)>,
    noise: Option<PlaceboBand>,
) -> bool {
    let (Some(ideal), Some((lo, hi))) = (ideal, ends) else { return false };
    let band = noise.and_then(|noise| noise.ends).unwrap_or((ideal, ideal));
    lo > ideal.max(band.1) || hi < ideal.min(band.0)
}

fn extreme_text(of: &Extreme) -> String {
    let k = of.n();
    let word = match (of.is_ratio(), k) {
        (false, 1) => "one_gap",
        (false, _) => "largest_gap",
        (true, 1) => "one_ratio",
        (true, _) => "smallest_ratio",
    };
    note(word, &[("{k}", k as u64)])
}
