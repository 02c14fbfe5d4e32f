//! Which interval a value gets, in numbers and in words, and which flags.

use rayon::prelude::*;

use crate::metric::catalog::catalog;
use crate::metric::estimate::{Estimate, OPERAND_MISSING};
use crate::metric::interval::{IntervalProcedure, ValueInterval, z_of_level};
use crate::metric::noise::placebo::PlaceboBand;
use crate::metric::rate::MetricValue;
use crate::metric::student_interval::{Spread, student};
use crate::metric::value::largest::{ExtremeInterval, PART_WITHOUT_INTERVAL};
use crate::metric::value::settings::{MeasureSettings, SMALL_DENOMINATOR, SMALL_GROUP};
use crate::metric::{Metric, MetricFamily};
use crate::param::Level;

/// What a value gets as interval.
pub(crate) enum IntervalBasis {
    /// That of an estimate, or why it has none.
    Estimated(Result<ValueInterval, &'static str>),
    /// This one, or none because a numerator is 0.
    Formula(Option<ValueInterval>),
    /// None, for this reason.
    NotFormed(&'static str),
    /// That of the largest of several gaps, or the smallest of several ratios.
    Extreme(ExtremeInterval),
}

/// Why the difference of two means has no interval.
pub(crate) const ONE_OF_TWO: &str = "boundary: a group of one person tells nothing of others";

/// Student's interval of a difference of two means; none where a group has fewer than two units,
/// and so no spread.
pub(crate) fn mean_gap(gap: f64, spread: Option<Spread>, level: f64) -> IntervalBasis {
    const ALIKE: &str = "boundary: all people of both groups have the same number";
    let Some(spread) = spread else { return IntervalBasis::NotFormed(ONE_OF_TWO) };
    if spread.half_width(level).is_none() {
        return IntervalBasis::NotFormed(ALIKE);
    }
    IntervalBasis::Formula(Some(student(gap, spread.variance, spread.df, level)))
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
        basis: impl FnOnce() -> IntervalBasis,
    ) -> (Option<ValueInterval>, String) {
        if self.settings.level.is_none() {
            return (None, "none: not requested".to_owned());
        }
        if !value.is_ok_and(f64::is_finite) {
            return (None, "none: the value is undefined".to_owned());
        }
        let (interval, words) = self.describe_basis(basis());
        match (interval, value) {
            (Some(ValueInterval { lo, hi, .. }), _) if !lo.is_finite() || !hi.is_finite() => {
                (None, "boundary: an end is larger than any number".to_owned())
            }
            (interval, _) => (interval, words),
        }
    }

    fn describe_basis(&self, basis: IntervalBasis) -> (Option<ValueInterval>, String) {
        match basis {
            IntervalBasis::NotFormed(why) | IntervalBasis::Estimated(Err(why)) => {
                (None, why.to_owned())
            }
            IntervalBasis::Estimated(Ok(interval)) => (Some(interval), interval_text(interval)),
            IntervalBasis::Extreme(of) => match of.interval {
                Some(interval) => (Some(interval), extreme_text(&of)),
                None => (None, PART_WITHOUT_INTERVAL.to_owned()),
            },
            IntervalBasis::Formula(None) => {
                (None, "boundary: a count above the ratio or below it is 0".to_owned())
            }
            IntervalBasis::Formula(Some(interval)) => (Some(interval), interval_text(interval)),
        }
    }

    /// The interval of an estimate at the level of the settings; none of an undefined value.
    pub(crate) fn estimated(&self, estimate: Option<Estimate>) -> IntervalBasis {
        let level = self.settings.level.unwrap_or(Level::DEFAULT).get();
        let interval = estimate.map(|estimate| estimate.interval(level));
        IntervalBasis::Estimated(interval.unwrap_or(Err(OPERAND_MISSING)))
    }

    /// What a reader must know of a value on so few people.
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

/// Whether an interval leaves out the ideal and lies beyond what noise gives, so that the
/// value shows which group is at a disadvantage.
pub(crate) fn is_clear(
    ideal: Option<f64>,
    ends: Option<(f64, f64)>,
    noise: Option<PlaceboBand>,
) -> bool {
    let (Some(ideal), Some((lo, hi))) = (ideal, ends) else { return false };
    let band = noise.and_then(|noise| noise.ends).unwrap_or((ideal, ideal));
    lo > ideal.max(band.1) || hi < ideal.min(band.0)
}

fn extreme_text(of: &ExtremeInterval) -> String {
    let k = of.of;
    match (of.is_ratio, k) {
        (false, 1) => "the interval of the gap without its sign".to_owned(),
        (false, _) => format!(
            "largest of {k} gaps: lower end at 1 - alpha / {k} (Bonferroni), upper end at 1 - alpha"
        ),
        (true, 1) => "smaller of both ratios of the pair (MOVER)".to_owned(),
        (true, _) => format!(
            "smallest ratio of {k} pairs (MOVER): lower end at 1 - alpha, upper end at 1 - alpha / \
             {k} (Bonferroni)"
        ),
    }
}

/// What the formulas say about rows that weigh differently, or of which a person may have several.
const EFFECTIVE: &str = ", on the effective number of rows (Kish, Rao and Scott)";

fn interval_text(interval: ValueInterval) -> String {
    match interval.method {
        IntervalProcedure::Wilson => "Wilson score".to_owned(),
        IntervalProcedure::WilsonPeople => {
            "Wilson score on the effective number of people, because the rate is 0 or 1".to_owned()
        }
        IntervalProcedure::WilsonMoved => {
            "from the Wilson score of the share of people whose score moves, because no score moves"
                .to_owned()
        }
        IntervalProcedure::WilsonEffective => format!("Wilson score{EFFECTIVE}"),
        IntervalProcedure::Score => {
            "score interval on the effective number of people that the influences give".to_owned()
        }
        IntervalProcedure::Paired => {
            "Student's t of the paired differences, on the effective number of people".to_owned()
        }
        IntervalProcedure::PairedPeople => {
            "on the effective number of people, because none or all of them differ".to_owned()
        }
        IntervalProcedure::Student => "Student's t".to_owned(),
        IntervalProcedure::LogStudent => "Student's t on the logarithm".to_owned(),
        IntervalProcedure::Woodruff => "Woodruff, ranks from the Wilson score".to_owned(),
        IntervalProcedure::WoodruffGap => {
            "hybrid of two Woodruff intervals, as Newcombe's method 10".to_owned()
        }
        IntervalProcedure::DeLongLogit => "DeLong's variance, on the logit; with weights or \
            persons Student's t with what each person adds"
            .to_owned(),
        IntervalProcedure::DeLong => "DeLong's variances".to_owned(),
        IntervalProcedure::Wald => "Wald, from the information of the fit; with weights or \
            persons Student's t with the sandwich variance"
            .to_owned(),
        IntervalProcedure::WilsonExpected => {
            "Wilson score of the share of positive labels, over the mean score".to_owned()
        }
        IntervalProcedure::Newcombe => "Newcombe hybrid score, method 10".to_owned(),
        IntervalProcedure::NewcombeEffective => {
            format!("Newcombe hybrid score, method 10{EFFECTIVE}")
        }
        IntervalProcedure::Mover => "hybrid of the intervals of its parts (MOVER)".to_owned(),
        IntervalProcedure::Largest => "from the intervals of all gaps".to_owned(),
        IntervalProcedure::Katz => "Katz log".to_owned(),
        IntervalProcedure::KatzEffective => format!("Katz log{EFFECTIVE}"),
    }
}
