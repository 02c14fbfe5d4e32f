//! Metrics of the scores themselves: whether they rank people by their label, and whether they are
//! calibrated.
//!
//! Rows with a label, a score and a weight above 0 count. Scores are shares s of their scale; AUC
//! and ECCE order people by the original numbers, so that ties are those of the numbers.
//!
//! - AUC: mean over positives of the share of negatives below them plus half of those equal, by
//!   weight. Variance: DeLong et al. 1988 (divisors m - 1 and n - 1). Interval on the logit: Wald's
//!   covers 49 to 94 % at an AUC of 0.95. None where the AUC is 0 or 1, or does not vary, or a
//!   class has one row. Gap of two groups: d -+ z sqrt(v_a + v_b). Two models, or one model in two
//!   runs: minus twice the covariance of the rows in both ([`change`]).
//! - xAUC of A and B (Kallus and Zhou 2019): the AUC of the positives of A over the negatives of B.
//! - Brier score: mean of (s - y)^2 with Student's interval, cut to [0, 1]; gaps as those of means.
//! - Observed over expected: O / E, O = sum w y, E = sum w s; Wilson's interval of the share O / W
//!   times W / E. Choice: the exact Poisson interval covers 98 to 99.9 %, this one 96 to 97.5 %.
//! - Calibration (Cox 1958): maximum likelihood of y on a + x, the intercept, and on a + b x, of
//!   which b is the slope; x the log-odds of s cut to [1e-6, 1 - 1e-6], or the log-odds themselves
//!   where the scale is that. Intervals: Wald.
//! - ECCE (Arrieta-Ibarra et al. 2022): the range of C, the sum of w (y - s) / W over all scores up
//!   to a place, 0 included; `ecce_mad` is the largest |C|. `ecce_p` is the probability that
//!   Brownian motion on [0, 1] has a larger range than ECCE / sigma, sigma = sqrt(sum w^2 s (1 -
//!   s)) / W.
//! - Weights or persons: the influence of a row on an AUC is w (V - A) / W of its class, V the
//!   share of the other class that it is ordered right against; on a mean w (x - mean) / W; on a
//!   fitted coefficient the inverse of the information times w (y - p). Variance and Student's
//!   degrees of freedom follow from the sums by person
//!   ([`student_interval`](crate::metric::student_interval)), which in cells are those of rows of
//!   equal weight. The sum over a person's rows varies as a whole, so `ecce_p` is undefined where
//!   persons have several rows.
//!
//! Reliability: people in ten bins by the rank of their score, those with equal scores in one; the
//! share of positive labels in each has Wilson's interval.
//!
//! From 200,000 rows on, scores are counted in cells, 65,536 over the scale and finer ones near its
//! ends ([`labelled_scores`](crate::metric::evidence::labelled_scores)), flag [`BINNED`]. Measured
//! on 1,000,000 rows, an AUC changes by 3.5e-9 if scores cover the whole scale, and by 8e-7 if they
//! lie between 0.01 and 0.06.
//!
//! Coverage of 95 % intervals, simulated with 3,000 to 20,000 samples of 5 + 5, 10 + 30, 30 + 30,
//! 15 + 285 and 150 + 150 positives and negatives: AUC 0.6: 99.4, 95.9, 95.5, 94.2, 94.9 %; 0.8:
//! 98.7, 95.0, 95.3, 93.3, 95.3 %; 0.95: 96.4, 97.9, 94.8, 88.0, 94.7 %. Difference of two groups
//! at 0.8: 96.3, 94.6, 95.1, 94.8, 94.9 %; of two models 98.7, 95.8, 95.9, 93.6, 95.7 %. Intercept
//! and slope of 30 to 1,000 rows 94.6 to 96.7 %; Brier score of 10, 30, 300 rows 89.0, 94.2, 94.5
//! %.
//! `ecce_p` is below 0.05 in 3.6, 4.7, 4.8 % of calibrated samples of 50, 300, 3,000 rows.

mod auc;
mod calibration;
mod change;
mod influence;
mod reliability;

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::metric::estimate::share::{RowsBelow, Share};
use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::counts::FactualCounts;
use crate::metric::evidence::labelled_scores::{LabelledScores, RankedScore};
use crate::metric::evidence::units::WeightSums;
use crate::metric::interval::{
    IntervalProcedure, ValueInterval, note, wilson_of_share, z_of_level,
};
use crate::metric::missing_interval::{IntervalOrReason, MissingInterval};
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::scope::{GroupSelection, MetricScope};
use crate::metric::student_interval::{GroupTerms, Spread, UnitTerm};
use crate::metric::value::group_subjects::GroupSubjects;
use crate::metric::value::interval_choice::MeasureContext;
use crate::metric::value::measured_value::{
    MeasuredValue, PersonBasis, SubjectPeople, ValuePeople,
};
use crate::metric::value::settings::MeasureSettings;
use crate::metric::{GapTransform, Metric, MetricFamily, Reads, ScoreReading, difference};
use crate::param::Level;
use auc::AucEstimate;
use calibration::{CumulativeDifference, FittedCoefficient, LogOddsRows};
pub(crate) use change::RowsOf;
use influence::{added, n_units};
pub(crate) use reliability::ReliabilityBin;

/// Flag: scores are counted in cells, because there are many.
pub(crate) const BINNED: &str = "binned";

/// Choice: with fewer persons with several rows the slope has no interval. Nominal 95 % intervals
/// of 10 persons with 20 rows contain it in 89 % of samples, because it depends on few of them.
const MIN_PERSONS_OF_SLOPE: u64 = 20;

/// The labelled scores of one group, of the others of a group, or of all people.
struct ScoreSample {
    basis: CountingUnit,
    /// Ascending by rank.
    rows: Vec<RankedScore>,
    places_are_log_odds: bool,
    /// The reason if there are no people.
    empty: Undefined,
    /// The AUC, after it was requested.
    auc: OnceLock<Result<AucEstimate, Undefined>>,
}

/// Half the width of an interval; none without a spread.
fn half_width(spread: Option<Spread>, level: Option<Level>) -> Option<f64> {
    let half = spread?.half_width(level.map_or(0.0, |level| level.get()))?;
    (half.is_finite() && half > 0.0).then_some(half)
}

/// The interval of a value from its spread.
fn interval_of(
    value: f64,
    spread: Option<Spread>,
    context: &MeasureContext<'_>,
    method: IntervalProcedure,
) -> Option<ValueInterval> {
    let half = half_width(spread, context.settings.level)?;
    Some(ValueInterval { lo: value - half, hi: value + half, method })
}

impl ScoreSample {
    fn new(scores: &LabelledScores, rows: Vec<RankedScore>, empty: Undefined) -> Self {
        ScoreSample {
            basis: scores.basis,
            rows,
            places_are_log_odds: scores.are_log_odds() && !scores.is_binned(),
            empty,
            auc: OnceLock::new(),
        }
    }

    fn auc(&self) -> &Result<AucEstimate, Undefined> {
        self.auc.get_or_init(|| self.over(self))
    }

    /// The selected people of the counts.
    fn of(counts: &FactualCounts, scores: &LabelledScores, selection: GroupSelection) -> Self {
        let empty = counts.confusion(selection).or_empty(Undefined::ZeroWeight);
        ScoreSample::new(scores, scores.ascending(selection), empty)
    }

    /// Whether each row is a person without a weight.
    fn is_plain(&self) -> bool {
        self.basis == CountingUnit::default()
    }

    fn n(&self) -> u64 {
        self.rows.iter().map(|row| row.n).sum()
    }

    fn weight(&self) -> f64 {
        self.rows.iter().map(|row| row.weight as f64).sum()
    }

    fn n_persons(&self) -> u64 {
        n_units(self.rows.iter(), self.basis.persons)
    }

    fn people(&self) -> SubjectPeople {
        let persons = || PersonBasis { n: self.n_persons(), denominator: None };
        SubjectPeople { n: self.n(), cases: None, persons: self.basis.persons.then(persons) }
    }

    fn side(&self, positive: bool) -> Vec<RankedScore> {
        self.rows.iter().filter(|row| row.positive == positive).copied().collect()
    }

    /// The AUC of the positives of this sample over the negatives of another.
    fn over(&self, other: &Self) -> Result<AucEstimate, Undefined> {
        if self.rows.is_empty() {
            return Err(self.empty);
        }
        if other.rows.is_empty() {
            return Err(other.empty);
        }
        let (above, below) = (self.side(true), other.side(false));
        if above.is_empty() {
            return Err(Undefined::NoActualPositive);
        }
        AucEstimate::new(above, below).ok_or(Undefined::NoActualNegative)
    }

    /// The interval of an AUC, from that of its logit.
    fn auc_interval(&self, auc: &AucEstimate, level: Option<Level>) -> IntervalOrReason {
        let value = auc.value;
        let half = half_width(auc.spread(self.is_plain(), self.basis.persons), level);
        let half = half.ok_or(MissingInterval::AucAtBoundary)? / (value * (1.0 - value));
        let logit = libm::log(value) - libm::log(1.0 - value);
        let end = |x: f64| 1.0 / (1.0 + libm::exp(-x));
        let method = IntervalProcedure::DeLongLogit;
        Ok(ValueInterval { lo: end(logit - half), hi: end(logit + half), method })
    }

    /// The reason why no value over all rows can be computed, if there is one.
    fn known(&self) -> Result<(), Undefined> {
        if self.rows.is_empty() { Err(self.empty) } else { Ok(()) }
    }

    fn brier(&self) -> MetricValue {
        self.known()?;
        let sum: f64 = self.rows.iter().map(|row| row.weight as f64 * squared_error(row)).sum();
        Ok(sum / self.weight())
    }

    fn brier_influences(&self) -> Vec<UnitTerm> {
        let (mean, weight) = (self.brier().unwrap_or(f64::NAN), self.weight());
        let each = |row: &RankedScore| added(row, (squared_error(row) - mean) / weight);
        self.rows.iter().map(each).collect()
    }

    /// The weight of the positive labels in units, and the weighted sum of the scores.
    fn observed_and_expected(&self) -> (u64, f64) {
        let positive = self.rows.iter().filter(|row| row.positive);
        let expected = self.rows.iter().map(|row| row.weight as f64 * row.share);
        (positive.map(|row| row.weight).sum(), expected.sum())
    }

    fn observed_over_expected(&self) -> MetricValue {
        self.known()?;
        let (observed, expected) = self.observed_and_expected();
        if expected > 0.0 { Ok(observed as f64 / expected) } else { Err(Undefined::ZeroExpected) }
    }

    /// The effective number of people for the share of positive labels of some rows.
    fn effective(&self, rows: &[RankedScore]) -> Option<f64> {
        let weight: f64 = rows.iter().map(|row| row.weight as f64).sum();
        let squares: f64 = rows.iter().map(|row| row.squares).sum();
        let kish = weight * (weight / squares);
        if !self.basis.persons {
            return Some(kish);
        }
        let rate = |rows: &[RankedScore]| {
            let positive = rows.iter().filter(|row| row.positive).map(|row| row.weight).sum();
            Rate::of(positive, rows.iter().map(|row| row.weight).sum())
        };
        let mut by_person = rows.to_vec();
        by_person.sort_by_key(|row| row.person);
        let each = by_person.chunk_by(|a, b| a.person == b.person);
        let each = each.map(|rows| (rows[0].person, rate(rows), WeightSums::ones(1)));
        // The single weights of a cell are unknown.
        let below = RowsBelow { n: rows.len() as u64, kish, are_even: !self.basis.weighted };
        Share::of_units(rate(rows), below, each).map(|share| share.size)
    }

    /// Bins of scores with their labels.
    fn reliability(&self, context: &MeasureContext<'_>) -> Vec<ReliabilityBin> {
        let of_bin = |(bin, rows): (u64, &[RankedScore])| {
            let found = ReliabilityBin::new(bin, rows);
            let n = context.settings.level.and_then(|_| self.effective(rows));
            let ends = n.map(|n| {
                wilson_of_share(found.observed, n, context.z, IntervalProcedure::WilsonEffective)
            });
            ReliabilityBin { ends: ends.map(|ends| (ends.lo, ends.hi)), ..found }
        };
        reliability::bins(&self.rows).into_iter().map(of_bin).collect()
    }

    fn ratio_interval(&self, context: &MeasureContext<'_>) -> IntervalOrReason {
        let (observed, expected) = self.observed_and_expected();
        let (share, factor) = (observed as f64 / self.weight(), self.weight() / expected);
        let interval = |n| {
            let method = IntervalProcedure::WilsonExpected;
            let ends = wilson_of_share(share, n, context.z, method);
            ValueInterval { lo: ends.lo * factor, hi: ends.hi * factor, ..ends }
        };
        self.effective(&self.rows).map(interval).ok_or(MissingInterval::EqualValues)
    }

    /// A coefficient of the calibration, if both labels occur.
    fn coefficient(
        &self,
        rows: &LogOddsRows<'_>,
        reading: ScoreReading,
    ) -> Result<FittedCoefficient, Undefined> {
        self.known()?;
        let has = |positive: bool| self.rows.iter().any(|row| row.positive == positive);
        if !has(true) {
            return Err(Undefined::NoActualPositive);
        }
        if !has(false) {
            return Err(Undefined::NoActualNegative);
        }
        if reading == ScoreReading::Slope { rows.slope() } else { rows.intercept() }
    }

    fn cumulative(&self) -> Result<CumulativeDifference, Undefined> {
        self.known()?;
        Ok(CumulativeDifference::new(&self.rows))
    }
}

/// The AUC of all people with a label and a score, and the upper end of its interval; none if one
/// of the labels does not occur. Choice: if the AUC is 0 or 1, or the scores do not vary, the end
/// is that of Wilson's interval for the number of people with the rarer label.
pub(crate) fn auc_of_all(counts: &FactualCounts, level: Level) -> Option<(f64, f64)> {
    let sample = ScoreSample::of(counts, counts.scores.as_ref()?, GroupSelection::All);
    let auc = sample.auc().as_ref().ok()?;
    let hi = match sample.auc_interval(auc, Some(level)) {
        Ok(interval) => interval.hi,
        Err(_) => {
            let fewest = auc.fewest(sample.basis.persons) as f64;
            let z = z_of_level(level.get());
            wilson_of_share(auc.value, fewest, z, IntervalProcedure::Wilson).hi
        }
    };
    Some((auc.value, hi))
}

fn squared_error(row: &RankedScore) -> f64 {
    let error = row.share - f64::from(u8::from(row.positive));
    error * error
}

/// A metric of one sample or of two, and the basis of its interval.
struct FoundScore<'a> {
    reading: ScoreReading,
    samples: Vec<&'a ScoreSample>,
    value: MetricValue,
    /// The AUC, or the two AUCs of a difference; empty for other values.
    aucs: Vec<Cow<'a, Result<AucEstimate, Undefined>>>,
    /// The coefficient, for a coefficient of the calibration.
    fit: Option<(LogOddsRows<'a>, FittedCoefficient)>,
}

impl<'a> FoundScore<'a> {
    /// A metric in one of its scopes.
    fn new(
        subjects: &'a GroupSubjects<ScoreSample>,
        reading: ScoreReading,
        scope: MetricScope,
    ) -> Self {
        let samples = match scope {
            MetricScope::Group(_) | MetricScope::Total => vec![subjects.single(scope)],
            _ => subjects.compared(scope).to_vec(),
        };
        let (a, b) = (samples[0], samples[samples.len() - 1]);
        let aucs: Vec<Cow<'a, Result<AucEstimate, Undefined>>> = match (reading, scope) {
            (ScoreReading::Auc, _) => {
                samples.iter().map(|sample| Cow::Borrowed(sample.auc())).collect()
            }
            (ScoreReading::CrossAuc, MetricScope::Direction(..)) => vec![Cow::Owned(a.over(b))],
            (ScoreReading::CrossAuc, _) => vec![Cow::Owned(a.over(b)), Cow::Owned(b.over(a))],
            _ => Vec::new(),
        };
        let of_aucs =
            aucs.iter().map(|auc| auc.as_ref().as_ref().map(|auc| auc.value).map_err(|e| *e));
        let mut fit = None;
        let value = match reading {
            ScoreReading::Auc | ScoreReading::CrossAuc => {
                of_aucs.reduce(difference).unwrap_or(Err(Undefined::OperandMissing))
            }
            ScoreReading::Brier if samples.len() == 1 => a.brier(),
            ScoreReading::Brier => difference(a.brier(), b.brier()),
            ScoreReading::ObservedExpected => a.observed_over_expected(),
            ScoreReading::Intercept | ScoreReading::Slope => {
                let rows = LogOddsRows::new(&a.rows, a.places_are_log_odds);
                a.coefficient(&rows, reading).map(|found| fit.insert((rows, found)).1.value)
            }
            ScoreReading::Ecce => a.cumulative().map(|found| found.range),
            ScoreReading::EcceDistance => a.cumulative().map(|found| found.distance),
            ScoreReading::EcceP => match a.cumulative() {
                Ok(_) if a.basis.persons => Err(Undefined::Persons),
                found => found.and_then(|found| found.p()),
            },
        };
        FoundScore { reading, samples, value, aucs, fit }
    }

    /// Whether each row is a person without a weight.
    fn is_plain(&self) -> bool {
        self.samples.iter().all(|sample| sample.is_plain())
    }

    fn is_of_persons(&self) -> bool {
        self.samples.iter().any(|sample| sample.basis.persons)
    }

    fn n(&self) -> u64 {
        self.samples.iter().map(|sample| sample.n()).sum()
    }

    /// The AUCs; none if one is undefined, or for other values.
    fn known_aucs(&self) -> Option<Vec<&AucEstimate>> {
        let known = self.aucs.iter().map(|auc| auc.as_ref().as_ref().ok());
        known.collect::<Option<Vec<_>>>().filter(|known| !known.is_empty())
    }

    /// The smaller number of positives and negatives of its AUCs.
    fn fewest_of_class(&self) -> Option<u64> {
        let by_person = self.is_of_persons();
        self.known_aucs()?.iter().map(|auc| auc.fewest(by_person)).min()
    }

    /// The people behind the value.
    fn people(&self) -> ValuePeople {
        let rows = self.samples.iter().flat_map(|sample| &sample.rows);
        let n_together = self.is_of_persons().then(|| n_units(rows, true));
        let each: Vec<SubjectPeople> = self.samples.iter().map(|sample| sample.people()).collect();
        let people = ValuePeople::of(&each, n_together);
        match self.aucs.is_empty() {
            true => people,
            false => ValuePeople { smallest_denominator: self.fewest_of_class(), ..people },
        }
    }

    fn interval(&self, context: &MeasureContext<'_>) -> IntervalOrReason {
        let (a, b) = (self.samples[0], self.samples[self.samples.len() - 1]);
        let (by_person, is_one) = (self.is_of_persons(), self.samples.len() == 1);
        let terms = |s: &ScoreSample| GroupTerms::new(s.brier_influences(), by_person);
        let student = IntervalProcedure::Student;
        let (spread, method, why) = match (self.reading, self.known_aucs().as_deref(), &self.fit) {
            (_, Some(&[auc]), _) => return a.auc_interval(auc, context.settings.level),
            (ScoreReading::ObservedExpected, ..) => return a.ratio_interval(context),
            (_, Some(&[first, second]), _) => {
                let method = if a.is_plain() { IntervalProcedure::DeLong } else { student };
                (
                    first.spread_of_gap(second, a.is_plain(), by_person),
                    method,
                    MissingInterval::OnePersonOfClass,
                )
            }
            (ScoreReading::Brier, ..) if is_one => {
                (terms(a).spread, student, MissingInterval::EqualValues)
            }
            (ScoreReading::Brier, ..) => {
                (terms(a).gap(&terms(b)), student, MissingInterval::EqualValues)
            }
            (ScoreReading::Slope, ..) if by_person && a.n_persons() < MIN_PERSONS_OF_SLOPE => {
                return Err(MissingInterval::FewPersonsOfSlope);
            }
            (_, _, Some((rows, found))) => (
                found.spread(rows, (a.is_plain(), by_person)),
                IntervalProcedure::Wald,
                MissingInterval::EqualValues,
            ),
            (ScoreReading::EcceP, ..) => return Err(MissingInterval::OfPValue),
            _ => return Err(MissingInterval::TestedByEcceP),
        };
        let found = interval_of(self.value.unwrap_or(f64::NAN), spread, context, method);
        let limited = |interval: ValueInterval| match self.reading {
            ScoreReading::Brier if is_one => {
                ValueInterval { lo: interval.lo.max(0.0), hi: interval.hi.min(1.0), ..interval }
            }
            _ => interval,
        };
        found.map(limited).ok_or(why)
    }

    fn measured(
        &self,
        place: (&'static Metric, MetricScope),
        context: &MeasureContext<'_>,
        is_binned: bool,
    ) -> MeasuredValue {
        let (interval, mut words) = context.interval(self.value, || self.interval(context));
        if let Some((rows, _)) = self.fit.as_ref().filter(|(rows, _)| rows.n_cut > 0) {
            words += &note("cut_scores", &[("{cut}", rows.n_cut), ("{n}", self.n())]);
        }
        let mut measured =
            MeasuredValue::new(context, place, self.value, (interval, words), self.people());
        measured.flags.extend(is_binned.then_some(BINNED));
        measured
    }
}

impl GroupSubjects<ScoreSample> {
    /// The scopes in which a metric has values.
    fn scopes(&self, reading: ScoreReading, is_gap: bool) -> Vec<MetricScope> {
        let n = self.groups.len();
        let to_others =
            |a: usize| (0..n).filter(move |b| *b != a).map(move |b| MetricScope::Direction(a, b));
        match reading {
            _ if is_gap => self.comparisons(GapTransform::Difference),
            ScoreReading::CrossAuc => (0..n).flat_map(to_others).collect(),
            _ => self.singles(),
        }
    }
}

impl MeasureContext<'_> {
    /// Every metric of the family: each group, all together, each pair, each group and the others.
    /// Empty if no scores were gathered.
    pub(crate) fn scores(&self, counts: &FactualCounts) -> Vec<MeasuredValue> {
        let Some(scores) = &counts.scores else { return Vec::new() };
        if !self.settings.families.contains(&MetricFamily::Scores) {
            return Vec::new();
        }
        let sample = |selection: GroupSelection| ScoreSample::of(counts, scores, selection);
        let n = counts.groups.len();
        let subjects = GroupSubjects::new(n, n > 2, sample);
        self.of_each(MetricFamily::Scores, |metric| {
            let Reads::Scored(reading, gap) = metric.reads else { return Vec::new() };
            let value = |scope| {
                let found = FoundScore::new(&subjects, reading, scope);
                found.measured((metric, scope), self, scores.is_binned())
            };
            subjects.scopes(reading, gap.is_some()).into_iter().map(value).collect()
        })
    }
}

/// Scores in bins with their labels, for each group and for all people. Empty if no scores were
/// gathered.
pub(crate) fn measure_reliability(
    counts: &FactualCounts,
    settings: &MeasureSettings,
) -> Vec<(GroupSelection, ReliabilityBin)> {
    let Some(scores) = &counts.scores else { return Vec::new() };
    let context = MeasureContext::new(settings);
    let groups = (0..counts.groups.len()).map(GroupSelection::One);
    let bins = |selection: GroupSelection| {
        let sample = ScoreSample::of(counts, scores, selection);
        sample
            .reliability(&context)
            .into_iter()
            .map(move |bin| (selection, bin))
            .collect::<Vec<_>>()
    };
    groups.chain([GroupSelection::All]).flat_map(bins).collect()
}
