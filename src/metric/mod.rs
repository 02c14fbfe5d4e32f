//! Is the classifier fair? The catalog of metrics: id, formula, range, ideal, source; and what a
//! value is.
//!
//! Words, with the papers' symbols. *Positive* is class 1. A *direction* A -> B compares the
//! predictions for the people of group A with those for the same people as members of B. A
//! prediction that stays is consistent: CP or CN; one that turns negative is a negative switch SN,
//! one that turns positive a positive switch SP. With the label in front (true or false, by the
//! factual prediction) these become the eight cells TCP, FCP, TCN, FCN, TSN, FSN, TSP, FSP of the
//! extended matrix.
//!
//! [`evidence::counts`] and [`evidence::ccm_cells`] gather evidence in one mergeable pass,
//! [`evidence::strata`] does the same by stratum, [`evidence::paired_counts`] for two models;
//! [`evidence::units`] is what every interval of counts is made from, see [`estimate`].
//! [`catalog::shift`] also needs a second pass, [`evidence::shift_pass`], which knows the means of
//! all scores; [`evidence::flip_test`] needs people with their features. [`value::measured`] turns
//! evidence into values with [`interval`]s, and sets the noise of a [`noise::placebo`] next to
//! them; [`value::compare`] compares two models; [`value::classes`] does the same for more than two
//! classes. A value is never NaN and never a silent zero: it is a number or the reason why there is
//! none.
//!
//! A new metric over existing evidence is one record in its family's list and its texts in
//! [`catalog::texts`]; [`reading_path`] leads from values to what to do next. Not done here:
//! reading files, thresholds, what a counterfactual is; an engine hands over labels, predictions
//! and scores.

pub mod asked;
pub mod catalog;
pub(crate) mod estimate;
pub mod evidence;
pub(crate) mod interval;
pub(crate) mod missing_interval;
pub(crate) mod noise;
pub(crate) mod rate;
pub mod reading_path;
pub(crate) mod scope;
pub(crate) mod student_interval;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod value;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metric::estimate::Estimate;
use crate::metric::estimate::curve::CellFunction;
use crate::metric::evidence::person::{Confusion, Eccm};
use crate::metric::evidence::shift::ScoreShift;
use evidence::strata::FacetStratum;

use crate::metric::catalog::place::PagePlace;
use crate::metric::rate::{MetricValue, Rate, Undefined};

/// Version of the rule that says who counts in which metric; raised when that rule changes. The
/// manifest holds it, so that values of two rules are not compared.
pub const WHO_COUNTS: u32 = 2;

/// Version of the rules for intervals; raised when one of them changes.
pub const INTERVALS: u32 = 2;

/// A family of metrics.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MetricFamily {
    /// Confusion counts of each group: accuracy, recall, precision, ...
    Performance,
    /// Differences and ratios between groups.
    Group,
    /// Counterfactual confusion matrix: consistency and switch rates.
    Ccm,
    /// Extended counterfactual confusion matrix: switch rates by correctness. Needs a label.
    Eccm,
    /// How far scores move.
    Shift,
    /// A favoured and a disfavoured facet, as SageMaker Clarify compares them.
    Clarify,
    /// How good counterfactuals are: near to their rows, like the target group. Of sets that move
    /// features.
    CfQuality,
    /// Scores as such: how well they rank people by their label, and whether they mean what they
    /// say. Measured only where a job asks for it.
    Scores,
    /// Amounts, such as premiums, of models whose outcome is one: what groups get, and how it would
    /// change in another group. Always measured of such models, and of no other.
    Amounts,
    /// How far the graphs of a set agree. Always measured where there are any, so that no job asks
    /// for it.
    #[serde(skip)]
    Graph,
}

impl MetricFamily {
    /// The families of the catalog, in order of the documentation; measures of counterfactuals
    /// ([`catalog::cf_quality`]) have their own list.
    pub const OF_CATALOG: [MetricFamily; 9] = [
        MetricFamily::Performance,
        MetricFamily::Group,
        MetricFamily::Ccm,
        MetricFamily::Eccm,
        MetricFamily::Shift,
        MetricFamily::Clarify,
        MetricFamily::Scores,
        MetricFamily::Amounts,
        MetricFamily::Graph,
    ];

    /// The word of job files and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            MetricFamily::Performance => "performance",
            MetricFamily::Group => "group",
            MetricFamily::Ccm => "ccm",
            MetricFamily::Eccm => "eccm",
            MetricFamily::Shift => "shift",
            MetricFamily::Clarify => "clarify",
            MetricFamily::CfQuality => "cf_quality",
            MetricFamily::Scores => "scores",
            MetricFamily::Amounts => "amounts",
            MetricFamily::Graph => "graph",
        }
    }
}

/// What a metric of amounts is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AmountSubject {
    /// The amounts of one group.
    Group,
    /// Those of A minus those of B.
    Gap,
    /// Those of A over those of B.
    Ratio,
    /// The change of the amounts of one group in another.
    Change,
    /// The share of a group whose amounts would change.
    Share,
}

/// What a metric of scores as such is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScoreReading {
    /// How well scores rank the people of one group.
    Auc,
    /// How well scores rank the positives of one group over the negatives of another.
    CrossAuc,
    /// The mean squared distance of scores and labels.
    Brier,
    /// Positive labels over the sum of the scores.
    ObservedExpected,
    /// The intercept of the calibration.
    Intercept,
    /// The slope of the calibration.
    Slope,
    /// The range of the cumulative difference of labels and scores.
    Ecce,
    /// Its largest distance from 0.
    EcceDistance,
    /// The p-value of its range.
    EcceP,
}

impl ScoreReading {
    /// Whether it compares scores with shares of labels, and not only by their order.
    pub(crate) fn needs_probability(self) -> bool {
        !matches!(self, ScoreReading::Auc | ScoreReading::CrossAuc)
    }
}

/// A rate of one group.
pub type RateOfGroup = fn(&Confusion) -> Rate;

/// A value of one group.
pub type ScoreOfGroup = fn(&Confusion) -> MetricValue;

/// A value of the people of one group, and what its interval follows from.
#[derive(Debug, Clone, Copy)]
pub enum GroupValue {
    /// A rate.
    Rate(RateOfGroup),
    /// The rate of favourable predictions.
    FavourableRate,
    /// Two rates, each compared on its own.
    TwoRates([RateOfGroup; 2]),
    /// The mean of two rates.
    MeanOfRates([RateOfGroup; 2]),
    /// A function of a rate that rises.
    OfRate(ScoreOfGroup, RateOfGroup, fn(f64) -> f64),
    /// A function of TP, FP, FN and TN.
    OfCells(ScoreOfGroup, CellFunction),
    /// A mean over the people with a label. For a single person the function gives the number of
    /// that person.
    MeanOfLabelled(ScoreOfGroup),
}

impl GroupValue {
    /// The value, where it is not a rate.
    pub(crate) fn score(self, c: &Confusion) -> MetricValue {
        match self {
            GroupValue::MeanOfRates([x, y]) => {
                combine(x(c).value(), y(c).value(), |x, y| Ok(f64::midpoint(x, y)))
            }
            GroupValue::OfRate(score, ..)
            | GroupValue::OfCells(score, _)
            | GroupValue::MeanOfLabelled(score) => score(c),
            _ => Err(Undefined::OperandMissing),
        }
    }
}

/// What a metric reads, and the function that reads it.
#[derive(Debug, Clone, Copy)]
pub enum Reads {
    /// A value of the people of one group, and how those of two groups or of all are compared; none
    /// where it is that of one group.
    Group(GroupValue, Option<GapTransform>),
    /// A value of two facets by stratum.
    Strata(fn(&[FacetStratum]) -> MetricValue),
    /// A rate of the same.
    StrataRate(fn(&[FacetStratum]) -> Rate),
    /// Predictions that neighbours would turn favourable minus those that they would turn
    /// unfavourable.
    Flips,
    /// A rate of one direction.
    SwitchRate(fn(&Eccm) -> Rate),
    /// A rate of one direction that goes by the prediction that people want.
    SwitchByFavour {
        /// What it is where that is the positive one.
        if_positive: fn(&Eccm) -> Rate,
        /// What it is where that is the negative one.
        if_negative: fn(&Eccm) -> Rate,
    },
    /// Another value of one direction.
    SwitchScore(fn(&Eccm) -> MetricValue),
    /// The rate of the direction A -> B divided by that of B -> A.
    SwitchRatio(fn(&Eccm) -> Rate),
    /// A rate of people with counterfactuals in several groups, each counted once, as
    /// switching where any of these does.
    AnySwitch(fn(&Eccm) -> Rate),
    /// A value of the scores of one direction.
    Shift(fn(&ScoreShift) -> MetricValue),
    /// Scores with labels, of A or those of A minus those of B; [`value::scores`] computes it.
    Scored(ScoreReading, Option<GapTransform>),
    /// Amounts; [`value::amounts`] computes it.
    Amount(AmountSubject),
    /// The graphs of a counterfactual set; `causal` computes it.
    Graphs,
}

/// Which end of a metric is bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorseEnd {
    /// Small values.
    Low,
    /// Large values.
    High,
}

/// The two groups of a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectionSide {
    /// The group that people belong to.
    Original,
    /// The group they are moved to.
    New,
}

/// The two groups of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Facet {
    /// A, the favoured facet.
    First,
    /// B, the disfavoured facet d.
    Second,
}

/// Which group a value away from the ideal puts at a disadvantage.
#[derive(Debug, Clone, Copy)]
pub enum ImpairedGroupRule {
    /// The sources do not say.
    Unstated,
    /// In a pair the group with the lower rate of favourable predictions, by this rate of
    /// *positive* predictions: all people's, or those of one label (Clarify's reading of DPPL, RD
    /// and SD).
    LowerRate(fn(&Confusion) -> Rate),
    /// In a pair this group if the value is above 0, the other if it is below (Clarify's readings).
    AboveZero(Facet),
    /// Of a direction (Towards Counterfactual Group Fairness, Table 7). Of the difference between
    /// two directions: what the direction with the worse value says. The parity column of that
    /// table contradicts its own impaired groups for CR, PCR and CMCC; the rule is followed
    /// instead.
    Switch {
        /// The bad end.
        worse: WorseEnd,
        /// Who is impaired where the positive prediction is favourable.
        if_positive: DirectionSide,
        /// Who is impaired where the negative prediction is favourable.
        if_negative: DirectionSide,
    },
}

/// What a value is measured in, from which follows how it is printed; `explain/entries.txt` words
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum MetricUnit {
    /// A share, from 0 to 1; printed in per cent.
    Share,
    /// A difference of shares with its sign, from -1 to 1, or of two such differences, from -2 to
    /// 2; printed in percentage points.
    Points,
    /// A difference of shares without its sign, from 0 to 1; printed in percentage points.
    Distance,
    /// How many times as large, from 0 on where both parts are positive.
    Times,
    /// A number of things, from 0 on.
    Count,
    /// Another number: a score, an entropy, a correlation.
    Number,
    /// A difference of other numbers, with its sign.
    Signed,
}

impl MetricUnit {
    /// The unit of a highest value minus a lowest, whose sign says nothing.
    #[must_use]
    pub fn without_sign(self) -> Self {
        match self {
            MetricUnit::Points => MetricUnit::Distance,
            MetricUnit::Signed => MetricUnit::Number,
            other => other,
        }
    }
}

/// How the values of a metric of several groups become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GapTransform {
    /// That of A minus that of B.
    Difference,
    /// That of B minus that of A.
    Rise,
    /// That of A over that of B.
    Ratio,
    /// That of B over that of A.
    Inverse,
    /// The smaller of both over the larger.
    SmallerOverLarger,
    /// The larger of the absolute differences of two rates.
    Widest,
    /// The largest distance between that of a group and that of all.
    ToTotal,
}

impl GapTransform {
    /// The id of the gap of a metric.
    pub fn id(self, base: &str) -> String {
        let word = match self {
            GapTransform::ToTotal => "to_total",
            other if other.is_ratio() => "ratio",
            _ => "difference",
        };
        format!("{base}_{word}")
    }

    /// Whether it is a ratio.
    pub(crate) fn is_ratio(self) -> bool {
        use GapTransform::{Inverse, Ratio, SmallerOverLarger};
        matches!(self, Ratio | Inverse | SmallerOverLarger)
    }

    /// Whether it is a ratio of which each order of two groups has its row.
    pub(crate) fn has_order(self) -> bool {
        matches!(self, GapTransform::Ratio | GapTransform::Inverse)
    }

    /// The groups of the row that holds the first group against the second: the first minus the
    /// second, or over it.
    pub(crate) fn row_groups<'a>(self, first: &'a str, second: &'a str) -> [&'a str; 2] {
        if self == GapTransform::Inverse { [second, first] } else { [first, second] }
    }

    /// What the values of A and B become. For a distance to all people B is all of them.
    pub(crate) fn of_values(self, a: MetricValue, b: MetricValue) -> MetricValue {
        match self {
            GapTransform::Difference => difference(a, b),
            GapTransform::Rise => difference(b, a),
            GapTransform::Ratio => ratio(a, b),
            GapTransform::Inverse => ratio(b, a),
            GapTransform::SmallerOverLarger => {
                combine(a, b, |a, b| ratio(Ok(a.min(b)), Ok(a.max(b))))
            }
            GapTransform::Widest | GapTransform::ToTotal => difference(a, b).map(f64::abs),
        }
    }

    /// As [`Self::of_values`], for values with their intervals, for a difference or ratio.
    pub(crate) fn of_estimates(self, a: &Estimate, b: &Estimate) -> Estimate {
        match self {
            GapTransform::Difference => a.minus(b),
            GapTransform::Rise => b.minus(a),
            GapTransform::Inverse => b.over(a),
            GapTransform::Ratio | GapTransform::SmallerOverLarger => a.over(b),
            GapTransform::Widest | GapTransform::ToTotal => unreachable!("no difference or ratio"),
        }
    }
}

/// The gaps that exist of a metric of one group; `catalog::group_gaps` makes their records.
#[derive(Debug, Clone, Copy)]
pub struct MetricGaps {
    /// Whom its differences and ratios show at a disadvantage.
    pub impaired: ImpairedGroupRule,
    /// Where the page shows the difference, the ratio and the distance to all.
    pub shown: [&'static [PagePlace]; 3],
}

impl MetricGaps {
    /// Each gap, and where the page shows it.
    pub(crate) fn each(
        &self,
    ) -> impl Iterator<Item = (GapTransform, &'static [PagePlace])> + use<> {
        use GapTransform::{Difference, Ratio, ToTotal};
        [Difference, Ratio, ToTotal].into_iter().zip(self.shown)
    }
}

/// How much farther from its ideal a value is than it was, both as distances with a sign; below 0
/// where it is nearer. None where it changed the side: the interval of a change with a sign says
/// nothing about the size then, and the scale would decide.
pub(crate) fn farther(before: f64, after: f64) -> Option<f64> {
    (before * after >= 0.0).then(|| after.abs() - before.abs())
}

/// One metric: what it reads and where it is shown; `catalog::texts` has its name, formula and
/// meaning.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Id in job files and tables, lower snake case.
    pub id: &'static str,
    /// The papers' symbol; empty where they have none.
    pub symbol: &'static str,
    /// Its family.
    pub family: MetricFamily,
    /// Smallest and largest value; an end may be infinite.
    pub range: (f64, f64),
    /// The value of a perfect or perfectly fair model; none where none is stated.
    pub ideal: Option<f64>,
    /// Whether it needs labels.
    pub needs_label: bool,
    /// What it reads.
    pub reads: Reads,
    /// Whom it shows at a disadvantage.
    pub impaired: ImpairedGroupRule,
    /// What it is measured in.
    pub unit: MetricUnit,
    /// Where the page shows it; never empty.
    pub shown: &'static [PagePlace],
    /// The gaps that exist of it.
    pub gaps: Option<MetricGaps>,
    /// For a gap of one metric the id of that metric, and how the gap is derived from it.
    pub gap_of: Option<(&'static str, GapTransform)>,
    /// Whether it is 0 only where nothing moves: no decision, or no score.
    pub shows_every_move: bool,
    /// Whether it is also measured at every other threshold (`curves`).
    pub has_curve: bool,
}

impl Metric {
    /// Whether it compares two directions itself: it is measured only in the scope of their
    /// difference, and is no difference there.
    pub(crate) fn is_of_two_directions(&self) -> bool {
        matches!(self.reads, Reads::SwitchRatio(_))
    }

    /// What it is for one group, or what it compares for several; none for a metric that reads no
    /// confusion counts.
    pub(crate) fn group_value(&self) -> Option<GroupValue> {
        if let Reads::Group(value, _) = self.reads { Some(value) } else { None }
    }

    /// How it compares groups, or two directions.
    pub(crate) fn transform(&self) -> Option<GapTransform> {
        match self.reads {
            Reads::Group(_, transform) | Reads::Scored(_, transform) => transform,
            Reads::SwitchRatio(_) | Reads::Amount(AmountSubject::Ratio) => {
                Some(GapTransform::Ratio)
            }
            _ => None,
        }
    }

    /// Whether it is a ratio of groups or directions of which each order has its row.
    pub(crate) fn has_order(&self) -> bool {
        self.transform().is_some_and(GapTransform::has_order)
    }

    /// Whether its values lie on both sides of an ideal of 0.
    pub(crate) fn is_signed(&self) -> bool {
        self.ideal == Some(0.0) && self.range.0 < 0.0 && self.range.1 > 0.0
    }

    /// Whether its value for two groups has two sides: it is a ratio of either order, or its sign
    /// says which group is above. For a value of one direction a pair is the difference of both.
    pub(crate) fn has_sides(&self) -> bool {
        let of_directions =
            matches!(self.family, MetricFamily::Ccm | MetricFamily::Eccm | MetricFamily::Shift);
        self.is_signed() || of_directions || self.has_order()
    }

    /// How rates of favourable predictions are compared by it; none where it reads others.
    pub(crate) fn of_favourable(&self) -> Option<GapTransform> {
        let is_favourable = matches!(self.group_value(), Some(GroupValue::FavourableRate));
        self.transform().filter(|_| is_favourable)
    }

    /// Whether a value in a scope, by the word of the tables, is the difference of those of two
    /// directions.
    pub(crate) fn is_gap_in(&self, scope: &str) -> bool {
        scope == "difference" && !self.is_of_two_directions()
    }

    /// The range of its values in a scope, by the word of the tables.
    pub(crate) fn range_in(&self, scope: &str) -> (f64, f64) {
        let (lo, hi) = self.range;
        if self.is_gap_in(scope) { (lo - hi, hi - lo) } else { (lo, hi) }
    }

    /// What the records of all families start from.
    pub(crate) const UNSTATED: Metric = Metric {
        id: "",
        symbol: "",
        family: MetricFamily::Performance,
        range: (0.0, 1.0),
        ideal: None,
        needs_label: false,
        reads: Reads::Graphs,
        impaired: ImpairedGroupRule::Unstated,
        unit: MetricUnit::Number,
        shown: &[],
        gaps: None,
        gap_of: None,
        shows_every_move: false,
        has_curve: false,
    };
}

/// The correlation of two yes-no variables: (ad - bc) / sqrt of the product of the four margins,
/// for the matrix a b / c d.
fn phi([a, b, c, d]: [u64; 4], empty: Undefined) -> MetricValue {
    let margins = [a + b, a + c, d + b, d + c];
    if margins.contains(&0) {
        return Err(empty);
    }
    // The product of the margins overflows 64 bits from about 65,000 rows per margin on. Roots of
    // pairs that are equal in perfect agreement or in perfect disagreement make these exactly 1 and
    // -1.
    let root = |x: u64, y: u64| (x as f64 * y as f64).sqrt();
    let determinant = i128::from(a) * i128::from(d) - i128::from(b) * i128::from(c);
    let [w, x, y, z] = margins;
    let below = if determinant < 0 { root(w, y) * root(x, z) } else { root(w, x) * root(y, z) };
    Ok((determinant as f64 / below).clamp(-1.0, 1.0))
}

/// `f` of two values, or why there is none: an empty group takes precedence over missing labels,
/// and these over an undefined operand.
fn combine(a: MetricValue, b: MetricValue, f: impl FnOnce(f64, f64) -> MetricValue) -> MetricValue {
    match (a, b) {
        (Ok(a), Ok(b)) => f(a, b),
        (Err(Undefined::EmptyGroup), _) | (_, Err(Undefined::EmptyGroup)) => {
            Err(Undefined::EmptyGroup)
        }
        (Err(Undefined::NoLabel), _) | (_, Err(Undefined::NoLabel)) => Err(Undefined::NoLabel),
        _ => Err(Undefined::OperandMissing),
    }
}

/// a - b.
fn difference(a: MetricValue, b: MetricValue) -> MetricValue {
    combine(a, b, |a, b| Ok(a - b))
}

/// a / b.
fn ratio(a: MetricValue, b: MetricValue) -> MetricValue {
    combine(a, b, |a, b| if b == 0.0 { Err(Undefined::ZeroReferenceRate) } else { Ok(a / b) })
}
