//! Which interval a value gets, in numbers and in words, and which flags.

use std::sync::OnceLock;

use crate::metric::bootstrap::placebo::PlaceboBand;
use crate::metric::catalog::catalog;
use crate::metric::estimate::{Estimate, OPERAND_MISSING};
use crate::metric::evidence::block_bootstrap::{
    BlockMultiplicities, PEOPLE_BLOCKS, block_replicates,
};
use crate::metric::interval::{
    IntervalProcedure, NoIntervalReason, ReplicateSource, ValueInterval, percentile, resample,
    z_of_level,
};
use crate::metric::rate::MetricValue;
use crate::metric::value::largest::ExtremeInterval;
use crate::metric::value::settings::{MeasureSettings, SMALL_DENOMINATOR, SMALL_GROUP};
use crate::metric::{Metric, MetricFamily};
use crate::num::seed::RandomStream;
use crate::param::Level;

/// People and the replicates drawn from them, once they are asked for.
pub(crate) struct CellBootstrap<const N: usize> {
    units: ResampledUnits<N>,
    /// How many persons they are, and how many of them have a label; none where each row is a
    /// person.
    persons: [Option<u64>; 2],
    replicates: OnceLock<Vec<[u64; N]>>,
}

/// What is drawn.
enum ResampledUnits<const N: usize> {
    /// Kinds of people by the cells that one of them fills and their number; the name of the
    /// stream.
    Kinds(Vec<([u64; N], u64)>, String),
    /// Blocks of people by what they weigh in each cell, or by their rows.
    Blocks(Vec<(u64, [u64; N])>),
}

impl<const N: usize> CellBootstrap<N> {
    /// Draws blocks of people where they have weights or several rows, else kinds of them.
    pub(crate) fn new(
        blocks: Option<Vec<(u64, [u64; N])>>,
        kinds: impl FnOnce() -> Vec<([u64; N], u64)>,
        stream: String,
    ) -> Self {
        let people =
            blocks.map_or_else(|| ResampledUnits::Kinds(kinds(), stream), ResampledUnits::Blocks);
        CellBootstrap { units: people, persons: [None; 2], replicates: OnceLock::new() }
    }

    /// The same of so many persons with several rows, and so many of them with a label.
    pub(crate) fn of_persons(self, persons: [Option<u64>; 2]) -> Self {
        CellBootstrap { persons, ..self }
    }

    /// The same of the replicates of two, drawn together.
    pub(crate) fn joint_percentile(
        &self,
        other: &Self,
        ask: &MeasureContext<'_>,
        needs_label: bool,
        value: impl Fn([u64; N], [u64; N]) -> MetricValue,
    ) -> IntervalBasis {
        ask.percentile(
            self.replicates(ask).iter().zip(other.replicates(ask)).map(|(a, b)| value(*a, *b)),
            self.source(needs_label).with(other.source(needs_label)),
        )
    }

    /// How they are drawn, and from whom: those with a label, or all.
    pub(crate) fn source(&self, needs_label: bool) -> ReplicateSource {
        let method = match self.units {
            ResampledUnits::Kinds(..) => IntervalProcedure::Bootstrap,
            ResampledUnits::Blocks(_) => {
                IntervalProcedure::Blocks { of: PEOPLE_BLOCKS, centred: false }
            }
        };
        ReplicateSource { method, persons: self.persons[usize::from(needs_label)] }
    }

    /// The replicates, drawn where nobody has asked before.
    pub(crate) fn replicates(&self, ask: &MeasureContext<'_>) -> &[[u64; N]] {
        let (seed, samples) = (ask.settings.seed, ask.settings.samples.get());
        let draw = || match &self.units {
            ResampledUnits::Kinds(kinds, stream) => {
                resample(kinds, samples, RandomStream::new(seed.0, stream))
            }
            ResampledUnits::Blocks(blocks) => block_replicates(blocks, ask.block_multiplicities()),
        };
        self.replicates.get_or_init(draw)
    }
}

/// Why there is no interval where a part of a value has none of its own.
const RATE_AT_END: &str = "boundary: a rate behind it is 0 or 1, and the other one has no interval";

/// Why the largest of several gaps has no interval.
const PART_WITHOUT_INTERVAL: &str = "boundary: one of the gaps behind it has no interval";

/// Why there is no interval where very few persons could be drawn.
const TOO_FEW_PERSONS: &str =
    "boundary: too few persons, or replicates, for percentiles of this level";

/// An interval with the number of replicates that have no value, or why there is none.
pub(crate) type BootstrapInterval = Result<(ValueInterval, usize), NoIntervalReason>;

/// What a value gets as interval.
pub(crate) enum IntervalBasis {
    /// That of an estimate, or why it has none.
    Estimated(Result<ValueInterval, &'static str>),
    /// This one, or none because a numerator is 0.
    Formula(Option<ValueInterval>),
    /// The percentiles of so many replicates.
    Replicates(BootstrapInterval, u64),
    /// None, for this reason.
    NotFormed(&'static str),
    /// The hybrid of the intervals of its parts, or none because one has none.
    Hybrid(Option<ValueInterval>),
    /// That of the largest of several gaps, or the smallest of several ratios.
    Extreme(ExtremeInterval),
    /// None: the evidence came without.
    NotDrawn,
    /// None: of the scores in every graph the evidence keeps sums of everybody, not of people.
    SumsOfGraphs,
}

/// The settings, and what follows from them.
pub(crate) struct MeasureContext<'a> {
    pub(crate) settings: &'a MeasureSettings,
    pub(crate) z: f64,
    block_multiplicities: OnceLock<BlockMultiplicities>,
}

impl<'a> MeasureContext<'a> {
    /// What follows from the settings; nothing is drawn yet.
    pub(crate) fn new(settings: &'a MeasureSettings) -> Self {
        MeasureContext {
            settings,
            z: settings.level.map_or(0.0, |level| z_of_level(level.get())),
            block_multiplicities: OnceLock::new(),
        }
    }

    /// How often blocks of people with weights count in each replicate, drawn where nobody has
    /// asked before.
    pub(crate) fn block_multiplicities(&self) -> &BlockMultiplicities {
        self.block_multiplicities.get_or_init(|| {
            BlockMultiplicities::new(self.settings.samples.get(), self.settings.seed)
        })
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

    /// The percentiles of replicates.
    pub(crate) fn percentile(
        &self,
        replicates: impl Iterator<Item = MetricValue>,
        source: impl Into<ReplicateSource>,
    ) -> IntervalBasis {
        let level = self.settings.level.unwrap_or(Level::DEFAULT).get();
        IntervalBasis::Replicates(
            percentile(replicates, level, source),
            self.settings.samples.get(),
        )
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
            // Replicates may have their own bias.
            (Some(ValueInterval { lo, hi, .. }), Ok(value)) if value < lo || value > hi => (
                None,
                "boundary: the value lies outside the percentiles of its replicates".to_owned(),
            ),
            (interval, _) => (interval, words),
        }
    }

    fn describe_basis(&self, basis: IntervalBasis) -> (Option<ValueInterval>, String) {
        match basis {
            IntervalBasis::NotFormed(why) | IntervalBasis::Estimated(Err(why)) => {
                (None, why.to_owned())
            }
            IntervalBasis::Estimated(Ok(interval)) => (Some(interval), interval_text(interval)),
            IntervalBasis::Hybrid(None) => (None, RATE_AT_END.to_owned()),
            IntervalBasis::Extreme(of) => match of.interval {
                Some(interval) => (Some(interval), extreme_text(&of)),
                None => (None, PART_WITHOUT_INTERVAL.to_owned()),
            },
            IntervalBasis::NotDrawn => (None, "none: no replicate was drawn".to_owned()),
            IntervalBasis::SumsOfGraphs => (
                None,
                "none: scores in every graph are stored as sums over all people, so \
                 people cannot be resampled"
                    .to_owned(),
            ),
            IntervalBasis::Formula(None) => {
                (None, "boundary: a count above the ratio or below it is 0".to_owned())
            }
            IntervalBasis::Formula(Some(interval)) | IntervalBasis::Hybrid(Some(interval)) => {
                (Some(interval), interval_text(interval))
            }
            IntervalBasis::Replicates(Ok((interval, 0)), n) => {
                (Some(interval), format!("{}, {n} replicates", interval_text(interval)))
            }
            IntervalBasis::Replicates(Ok((interval, undefined)), n) => (
                Some(interval),
                format!(
                    "{}, {n} replicates, {undefined} of them undefined",
                    interval_text(interval)
                ),
            ),
            IntervalBasis::Replicates(Err(NoIntervalReason::AllAgree), n) => {
                (None, format!("boundary: all {n} bootstrap replicates are equal"))
            }
            IntervalBasis::Replicates(Err(NoIntervalReason::TooManyUndefined), n) => {
                (None, format!("boundary: more than 5 % of {n} bootstrap replicates are undefined"))
            }
            IntervalBasis::Replicates(Err(NoIntervalReason::FewPersons), _) => {
                (None, TOO_FEW_PERSONS.to_owned())
            }
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
    let centred = |centred| {
        if centred {
            ", centred on the value and cut at the ends of the metric's range"
        } else {
            ""
        }
    };
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
        IntervalProcedure::Welch => "Welch's t".to_owned(),
        IntervalProcedure::WelchLog => "Welch's t on the logarithm".to_owned(),
        IntervalProcedure::InfluenceGap => {
            "Student's t with the variance of influences by person".to_owned()
        }
        IntervalProcedure::InfluenceRatio => {
            "Student's t on the logarithm with the variance of influences by person".to_owned()
        }
        IntervalProcedure::Woodruff => "Woodruff, ranks from the Wilson score".to_owned(),
        IntervalProcedure::WoodruffGap => {
            "hybrid of two Woodruff intervals, as Newcombe's method 10".to_owned()
        }
        IntervalProcedure::DeLongLogit => "DeLong's variance, on the logit".to_owned(),
        IntervalProcedure::DeLong => "DeLong's variances".to_owned(),
        IntervalProcedure::InfluenceLogit => {
            "Student's t on the logit with the variance of influences by person".to_owned()
        }
        IntervalProcedure::Wald => "Wald, from the information of the fit".to_owned(),
        IntervalProcedure::Sandwich => {
            "Student's t with the sandwich variance by person".to_owned()
        }
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
        IntervalProcedure::Bootstrap => "percentile bootstrap of people".to_owned(),
        IntervalProcedure::Poisson => {
            "percentile bootstrap of people with Poisson weights".to_owned()
        }
        IntervalProcedure::Blocks { of, centred: c } => format!(
            "percentile bootstrap of {of} blocks of people with Poisson weights{}",
            centred(c)
        ),
    }
}
