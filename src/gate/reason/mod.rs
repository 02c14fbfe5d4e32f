//! Why a gate has its verdict, as codes with arguments: what the columns `reason_code` and
//! `reason_args` of the table `gates` hold.
//!
//! English comes last, in [`words`], and fills the column `reason`, which no code reads back.
//! Readers of the table take the arguments with [`GateFindings::of_row`].

mod words;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::folder::manifest::RecheckWords;
use crate::metric::value::sanity::InvertedOrder;
use crate::param::worded_enum;
use crate::table::{GateRow, IssueRow, RefitReason, whole};

worded_enum! {
    /// The verdict on a gate, or on all of them; ordered from best to worst.
    GateStatus {
        /// It was not asked, for lack of a baseline.
        Skipped = "skipped",
        /// The limit is kept.
        Pass = "pass",
        /// It cannot be decided.
        Inconclusive = "inconclusive",
        /// The limit is broken.
        Fail = "fail",
    }
}

/// Makes types of arguments: JSON names what they hold in lower snake case. They stand at the
/// margin, as types without it do.
macro_rules! arguments {
    ($($(#[$about:meta])* pub(crate) $kind:tt $name:ident $parts:tt)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        $(#[$about])*
        pub(crate) $kind $name $parts
    )*};
}

arguments! {
/// What an interval or a range is over.
pub(crate) enum UncertaintySource {
    /// Other people.
    People,
    /// Other graphs, and refits of their coefficients.
    Graphs,
    /// A number of fits of the set on resampled rows.
    Fits(i64),
    /// A number of trainings of the model.
    Trainings(i64),
}

/// What is compared with a limit.
pub(crate) enum Judged {
    /// The value itself.
    Value,
    /// The change itself.
    Change,
    /// The interval over people.
    Interval,
    /// That interval at the level of its place among all comparisons of the gate, from 1.
    Holm { level: f64, place: usize, of: usize },
    /// The interval over graphs and refits.
    Graphs { level: Option<f64> },
    /// From the lowest to the highest end over these sources.
    Range(Vec<UncertaintySource>),
}

/// What a reader must know of what was compared with a limit.
pub(crate) enum GateCaution {
    /// So few repeats of a fit or a training that its ends are the extremes.
    FewRepeats(Vec<UncertaintySource>),
    /// So few bootstraps of the graphs.
    FewBootstraps(u64),
    /// Graphs of the training only the rows.
    NoBootstraps,
    /// The mean over graphs lies outside of the interval.
    MeanOutside,
}

/// A limit compared with what decides.
pub(crate) struct ComparedPlace {
    pub(crate) judged: Judged,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) cautions: Vec<GateCaution>,
    /// The two groups that are compared in place of the furthest, of which one is too small.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pair: Option<[String; 2]>,
}

/// What is too few.
pub(crate) enum CountedUnit {
    Cases,
    PersonsBelow,
    WeightedBelow,
    People,
    Persons,
    PeopleOfAHalf,
    /// People of equal weight who would be as precise.
    EqualPeople,
}

/// Why there is no interval.
pub(crate) enum IntervalLack {
    /// Less than two bootstraps: no coefficients were fitted again.
    NoRefit,
    /// Fewer than two graphs give a value.
    FewGraphs,
    /// The set was not fitted again.
    NotFitted,
    /// Fewer than 95 % of the repeats of the fit give a value.
    FewFits,
    /// The value was not measured for other trainings of the model.
    NotTrained,
    /// Fewer than 95 % of the trainings give a value.
    FewTrainings,
    /// There is none over these of several sources.
    Over { sources: Vec<UncertaintySource>, why: Box<IntervalLack> },
    /// What the table of metrics or of changes says.
    Table(String),
}

/// Which row no table has.
pub(crate) enum MissingRow {
    /// A value.
    Metrics,
    /// A value over changes to any other group, of fewer than three groups.
    AnyOtherGroup,
    /// A change, in either run.
    Changes,
}

/// What looked at nothing.
pub(crate) enum EmptySearch {
    /// An arm that added no rows.
    Arm(String),
    /// A search over subgroups with this many affected people in both groups.
    Subgroups(u64),
    /// A search over patterns with this many people of both halves.
    Patterns(i64),
}

/// A decision, by its side or by the name of its class.
pub(crate) enum CommonDecision {
    Negative,
    Positive,
    Class(String),
}

/// All counterfactuals of a set and attribute have one decision.
pub(crate) struct OneSidedSet {
    pub(crate) counterfactual: String,
    pub(crate) sensitive: String,
    pub(crate) decision: CommonDecision,
    /// Counterfactuals.
    pub(crate) n: u64,
    /// Those whose rows have this decision.
    pub(crate) before: u64,
}

/// Counterfactuals of a set and attribute that all have the scores of their rows.
pub(crate) struct UnmovedSet {
    pub(crate) counterfactual: String,
    pub(crate) sensitive: String,
    /// The share of them of which features changed.
    pub(crate) changed: f64,
}

/// Groups of an attribute of which each two have hardly any threshold in common.
pub(crate) struct ThresholdsApart {
    pub(crate) sensitive: String,
    pub(crate) pairs: Vec<[String; 2]>,
}

/// A change that the rows to score do not show.
pub(crate) struct UnshownChange {
    /// The attribute.
    pub(crate) attribute: String,
    /// From which group to which; none: any groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) direction: Option<[String; 2]>,
}

/// The part of a model's input of which no score showed a change.
pub(crate) enum UnseenPart {
    /// Of the value.
    Change(UnshownChange),
    /// Of these directions of a total.
    Directions(Vec<[String; 2]>),
}

/// What people lack.
#[derive(Copy, Eq, PartialOrd, Ord)]
pub(crate) enum Lack {
    Group,
    Score,
    /// A value of the column of strata.
    Stratum,
    Counterfactual,
}

/// The part of a comparison that is at its worst where people are unmeasured.
pub(crate) enum ComparedPart {
    Value,
    Change,
    Interval,
    /// What is looked for among the people.
    Search,
}

/// The part of a comparison that switches by rounding affect.
pub(crate) enum RoundedPart {
    Value,
    Change,
    OtherComparisons,
}

/// The value of a comparison without the switches by rounding.
pub(crate) struct WithoutRounding {
    pub(crate) of_change: bool,
    /// None: undefined.
    pub(crate) value: Option<f64>,
    /// Whether it would be another one.
    pub(crate) moves: bool,
    /// Whether it would be this value at most or at least; none: exactly.
    pub(crate) bound: Option<GateBoundSide>,
    /// Whether Holm's method would decide otherwise.
    pub(crate) by_holm: bool,
}

/// On which side a bound is.
pub(crate) enum GateBoundSide {
    AtMost,
    AtLeast,
}

/// Which group the other order of a ratio puts behind.
pub(crate) enum LowerSide {
    /// It gets fewer favourable decisions.
    Behind,
    /// It has the lower value.
    LowerValue,
}

/// The audited model next to an arm.
pub(crate) struct OwnValue {
    pub(crate) value: Option<f64>,
    pub(crate) ends: Option<(f64, f64)>,
    pub(crate) limit: f64,
    /// What decides, as the column `rule` says it.
    pub(crate) decides: String,
    pub(crate) verdict: String,
    pub(crate) findings: GateFindings,
}

/// What a gate on a table of its own counts.
pub(crate) enum GateCount {
    /// Unfair subgroups by a definition, its parameter and a view.
    Subgroups {
        definition: String,
        parameter: String,
        view: String,
        score_at_least: Option<f64>,
        min_affected: u64,
    },
    /// Confirmed patterns of who switches, of a block of `why`.
    Patterns { metric: Option<String>, why: String },
}
}

impl ComparedPlace {
    pub(crate) fn of(judged: Judged) -> Self {
        ComparedPlace { judged, cautions: Vec::new(), pair: None }
    }
}

impl Default for IntervalLack {
    fn default() -> Self {
        IntervalLack::Table(String::new())
    }
}

/// What the rule of a gate found, or an objection to its verdict: a code of the table `gates` with
/// its arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub(crate) enum GateReason {
    /// The statements of a scenario fit the rows worse than those of another, in so many
    /// bootstraps.
    ContradictedKnowledge { scenario: String, against: String, worse_in: i64, bootstraps: i64 },
    /// A range that does not decide breaks the limit: what it is over, and its ends.
    DoubtLeftOut { over: UncertaintySource, ends: [f64; 2] },
    /// The strength at which the pass turns, or why none is known; and the one asked for.
    HiddenCause { turns_at: Option<f64>, undefined: String, withstands: f64 },
    /// What contradicts the labels in a model, among rows or people.
    InvertedScores { model: String, of_rows: bool, inverted: Vec<InvertedOrder<String>> },
    /// All of it breaks the limit.
    LimitBroken(ComparedPlace),
    /// It holds the limit.
    LimitInside(ComparedPlace),
    /// All of it keeps the limit.
    LimitKept(ComparedPlace),
    /// A ratio of which one part is negative.
    NegativePart,
    /// A change, without a baseline.
    NoBaseline,
    /// Why there is none.
    NoInterval { why: IntervalLack },
    /// Definitions that differ from those of the baseline.
    NotComparable { definitions: String },
    /// Which row no table has.
    NotMeasured { row: MissingRow },
    /// A model answers differently the second time.
    NotRepeatable { model: String, scored: RecheckWords },
    /// What looked at nothing.
    NothingLookedAt { search: EmptySearch },
    /// A model decides alike about all counterfactuals of sets, and not about their rows.
    OneCounterfactualDecision { model: String, sets: Vec<OneSidedSet> },
    /// Whether the new run has it.
    OnlyInOneRun { new: bool },
    /// All of the range keeps the limit, or breaks it, and the value does not.
    OtherSide { kept: bool, range: ComparedPlace },
    /// The ends with the doubt about the rate; none where it is not known.
    RateOfOne {
        /// Whether the value is a correlation of 1 or -1.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        of_correlation: bool,
        ends: Option<[Option<f64>; 2]>,
    },
    /// Why the fits differ, and what helps.
    Refitted { why: RefitReason },
    /// What they affect, how many of all switches they are, and the result without them.
    RoundingAtThreshold {
        behind: RoundedPart,
        rounded: u64,
        switches: u64,
        without: WithoutRounding,
    },
    /// Labels are missing for some people more often than for others.
    SelectiveLabels,
    /// The flags of the table.
    SmallGroup { flags: Vec<String> },
    /// The thresholds that rows carry follow the groups of attributes.
    ThresholdByGroup { model: String, attributes: Vec<ThresholdsApart> },
    /// How many of what, and how many are required.
    TooFew { n: i64, of: CountedUnit, required: u64 },
    /// All of it breaks the limit, and a clearer comparison does not.
    UnclearInFamily(ComparedPlace),
    /// The reason that the table has.
    Undefined { undefined: String, of_change: bool },
    /// The group with the most such people.
    UnknownLevels { attribute: String, group: String, people: i64, audited: i64 },
    /// How many, and which of them are known.
    UnmeasuredGroups { n: i64, groups: Vec<String> },
    /// People by what they lack, none of them where only those of the earlier run count; how many
    /// of them are enough; the worst end, none where it has no bound.
    UnmeasuredPeople {
        lacking: Vec<(Lack, u64)>,
        /// Whether rows are counted, of which a person may have several.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        of_rows: bool,
        /// Whether a person counts once for each of several counterfactuals.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        decisions: bool,
        enough: u64,
        worst: ComparedPart,
        end: Option<f64>,
    },
    /// Features that a set could not move as meant from one group to another, empty for all groups
    /// together: so many of a counterfactual on average.
    UnmovedFeatures {
        counterfactual: String,
        groups: [String; 2],
        mean: f64,
        /// Whether it is the share with a value of one feature that no reference row knows.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unknown: bool,
    },
    /// A model of a file scores all counterfactuals of sets that moved features as their rows.
    UnmovedScores { model: String, sets: Vec<UnmovedSet> },
    /// Of what no score showed a change.
    UnseenChange { part: UnseenPart },
    /// What only the supported people give.
    UnsupportedPeople { value: Option<f64>, of: Option<i64>, alone: Box<GateFindings> },
    /// The run waits for scores.
    WaitsForScores,
}

impl GateReason {
    /// Its code, by which it is tagged; `cfaudit explain CODE` says more.
    pub(crate) fn code(&self) -> String {
        code_and_args(self).0
    }

    /// Its objection to a model as an issue of the run, with the number of times that it occurred.
    pub(crate) fn issue_about(&self, model: &str, n: u64) -> IssueRow {
        let (code, args) = code_and_args(self);
        let row = IssueRow::warning(&code, model, whole(n), words::said("about_model", self, None));
        IssueRow { args: args.into(), ..row }
    }

    /// The objection of an issue to its model; none for an issue that is only reported.
    pub(crate) fn of_issue(issue: &IssueRow) -> Option<Self> {
        of_code_and_args(&issue.code, &issue.args)
    }

    /// Whether an issue objects to a model by arguments that say nothing: its table is damaged.
    pub(crate) fn is_lost(issue: &IssueRow) -> bool {
        let objecting = [
            "inverted-scores",
            "not-repeatable",
            "one-counterfactual-decision",
            "threshold-by-group",
            "unmoved-scores",
        ];
        objecting.contains(&issue.code.as_str()) && GateReason::of_issue(issue).is_none()
    }

    /// What follows from it if there is no objection.
    fn status(&self) -> GateStatus {
        match self {
            GateReason::LimitKept(_) => GateStatus::Pass,
            GateReason::LimitBroken(_) => GateStatus::Fail,
            GateReason::NoBaseline => GateStatus::Skipped,
            _ => GateStatus::Inconclusive,
        }
    }
}

/// What a reader must know besides; no part of the verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "remark", rename_all = "kebab-case")]
pub(crate) enum GateRemark {
    /// In the graphs the attribute is an effect of other variables.
    AttributeFollows,
    /// The interval of a change leaves the other trainings of the model out.
    TrainingsLeftOut,
    /// The ratio of the second group to the first, which is the value, breaks the limit; an empty
    /// group is all others.
    OtherOrder { groups: [String; 2], value: f64, group: String, side: LowerSide },
    /// The gap, or its change, which is the value, would break the limit with the other sign.
    OtherSign {
        value: f64,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        of_change: bool,
    },
    /// What the audited model does, next to an arm; none where its tables have no such row.
    AuditedModel { of_set: bool, of_change: bool, own: Option<Box<OwnValue>> },
}

/// All that was found about a row of a gate, in the form of the columns `reason_code` and
/// `reason_args`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct GateFindings {
    /// The first objection; without one what the rule found, or why it could not be applied.
    #[serde(flatten)]
    pub(super) first: GateReason,
    /// The finding of the rule where something is objected to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rule: Option<GateReason>,
    /// Why else the rule could not be applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) further: Vec<GateReason>,
    /// Objections but the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) objections: Vec<GateReason>,
    /// What a reader must know besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) remarks: Vec<GateRemark>,
    /// What the gate counts; none of a gate on a metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) counted: Option<GateCount>,
}

impl GateFindings {
    /// The finding of the rule, without objections.
    pub(crate) fn new(first: GateReason) -> Self {
        let (further, objections, remarks) = (Vec::new(), Vec::new(), Vec::new());
        GateFindings { first, rule: None, further, objections, remarks, counted: None }
    }

    /// What the rule found, or why it could not be applied.
    pub(crate) fn rule(&self) -> &GateReason {
        self.rule.as_ref().unwrap_or(&self.first)
    }

    /// Adds why the verdict of the rule does not hold.
    pub(crate) fn object(&mut self, objection: GateReason) {
        match self.rule {
            None => self.rule = Some(std::mem::replace(&mut self.first, objection)),
            Some(_) => self.objections.push(objection),
        }
    }

    /// What follows: an objection leaves a gate undecided, whatever the rule says.
    pub(crate) fn status(&self) -> GateStatus {
        if self.rule.is_none() { self.first.status() } else { GateStatus::Inconclusive }
    }

    /// The columns `reason_code` and `reason_args`.
    pub(crate) fn code_and_args(&self) -> (String, String) {
        code_and_args(self)
    }

    /// The findings of a row of the table; none where it does not hold them.
    pub(crate) fn of_row(row: &GateRow) -> Option<Self> {
        of_code_and_args(&row.reason_code, &row.reason_args)
    }

    /// Whether what decides is based on so few repeats or bootstraps that another seed may move it.
    pub(crate) fn is_of_few_repeats(&self) -> bool {
        use GateReason::{LimitBroken, LimitInside, LimitKept, OtherSide, UnclearInFamily};
        let (LimitKept(place)
        | LimitBroken(place)
        | LimitInside(place)
        | UnclearInFamily(place)
        | OtherSide { range: place, .. }) = self.rule()
        else {
            return false;
        };
        place.cautions.iter().any(|caution| {
            matches!(caution, GateCaution::FewRepeats(_) | GateCaution::FewBootstraps(_))
        })
    }
}

/// The code of what was found, and its arguments: a JSON object with sorted keys. Texts, numbers
/// and lists can always be written.
fn code_and_args(found: &impl Serialize) -> (String, String) {
    let mut all = serde_json::to_value(found).unwrap_or_default();
    let code = all.as_object_mut().and_then(|all| all.shift_remove("code"));
    all.sort_all_objects();
    (code.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned(), all.to_string())
}

/// The finding of such a code and its arguments; none if they belong to something else.
fn of_code_and_args<T: DeserializeOwned>(code: &str, args: &str) -> Option<T> {
    let mut all: Map<String, Value> = serde_json::from_str(args).ok()?;
    all.insert("code".to_owned(), code.into());
    serde_json::from_value(Value::Object(all)).ok()
}
