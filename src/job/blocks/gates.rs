//! The block `gates`: limits that a metric, its change, harm to a group or recourse must keep.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::gate::decide_by::GateDecideBy;
use crate::metric::asked::GateScope;
use crate::metric::value::hidden_cause::STRONGEST;
use crate::param::{ColumnName, Count, Finite, Name, SetName, Word};
use crate::recourse::definition::RecourseView;
use crate::recourse::knobs::OneDefinition;

/// One question with a limit: about a `metric` of a `model`, about `harm_to` a group, about
/// `recourse`, or about patterns of `why`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["metric"]},
    {"required": ["harm_to", "model", "counterfactual"]},
    {"required": ["recourse", "definition", "unfair_subgroups_at_most"]},
    {"required": ["why", "patterns_at_most"]}]))]
pub struct GateBlock {
    /// Id of the metric, such as `nsr` or `demp_ratio`.
    pub metric: Option<String>,
    /// Instead of a metric: the group that must not be harmed, `{sex: Female}`. Two shares
    /// must keep the limit, against each other group: of its people with the unfavourable decision
    /// those who would get the favourable one in the other group (`denied_by_group`), and of the
    /// other group's people with the favourable decision those who would get the unfavourable one
    /// in it (`favoured_by_group`).
    pub harm_to: Option<BTreeMap<ColumnName, Word>>,
    /// The arm of an experiment, `EXPERIMENT/ARM`, such as `augment/all` or `augment/base`.
    /// Default: the plain audit.
    pub arm: Option<String>,
    /// The model; needed by every metric but those of graphs, such as `h_ga`. With `recourse` it is
    /// that of the block.
    pub model: Option<Name>,
    /// Instead of a metric: the attribute whose block under `recourse` is judged, by the
    /// number of subgroups in which it is unfair.
    pub recourse: Option<ColumnName>,
    /// With `recourse`: what is unfair, such as `{equal-cost-of-effectiveness: {phi: 0.7}}`; one
    /// that the block judges.
    pub definition: Option<OneDefinition>,
    /// With `recourse`: who acts. Default: `macro`, or `micro` where the definition has no other
    /// view.
    pub view: Option<RecourseView>,
    /// With `recourse`: no more subgroups may be unfair.
    pub unfair_subgroups_at_most: Option<u64>,
    /// With `recourse`: a subgroup counts from this score on, 0 or above. Default: any above 0.
    #[schemars(extend("minimum" = 0,
        "x-range" = "0 or more; by default every score above 0 counts"))]
    pub score_at_least: Option<Finite>,
    /// With `recourse`: a subgroup counts where the smaller of its two groups has so many affected
    /// people. Default: 1.
    pub smallest: Option<Count>,
    /// Instead of a metric: the block under `why` that is judged, by the number of confirmed
    /// patterns.
    pub why: Option<Name>,
    /// With `why`: no more patterns may be confirmed.
    pub patterns_at_most: Option<u64>,
    /// The counterfactual set; needed by metrics of the families ccm, eccm and shift, and by those
    /// of graphs. A scenario of a graph-uncertain set is `SET/SCENARIO`.
    pub counterfactual: Option<SetName>,
    /// The sensitive attribute; default: the one that `direction`, `between` or `group` names,
    /// else every attribute.
    pub sensitive: Option<ColumnName>,
    /// From which group to which: `{sex: [Female, Male]}`, or `any`: each ordered pair is judged,
    /// the worst decides.
    pub direction: Option<GateDirection>,
    /// Two groups, the first against the second: difference first - second, ratio first / second;
    /// `{race: [Asian, rest]}` takes all others together. Metrics of the family clarify take the
    /// favoured facet first. Or `worst_case`: the groups that are furthest apart.
    pub between: Option<GateBetween>,
    /// The class that is set against all others, where `data.label` has `classes`. Default: all
    /// classes together, for `acc`, `mcc`, `cr`, `sr`, `cmcc`, `acc_difference` and
    /// `mcc_difference`.
    pub class: Option<Word>,
    /// One group, for metrics of the family performance: `{sex: Female}`.
    pub group: Option<BTreeMap<ColumnName, Word>>,
    /// The value must not be above this.
    pub at_most: Option<Finite>,
    /// The value must not be below this.
    pub at_least: Option<Finite>,
    /// `baseline`: not the value is judged but its change from the run that `--baseline` names;
    /// without one the gate is skipped.
    pub against: Option<ChangeFrom>,
    /// With `against`: the value must not rise by more than this; a negative number asks for a
    /// fall.
    pub rise_at_most: Option<Finite>,
    /// With `against`: the value must not fall by more than this; a negative number asks for a
    /// rise.
    pub fall_at_most: Option<Finite>,
    /// `interval`: the whole interval must keep the limit (pass, fail or inconclusive); `worlds`:
    /// the whole interval over causal graphs and refits of their coefficients must; `fit`: the
    /// whole range over fits on rows drawn again must (`doubt` of the set); `training`: the whole
    /// range over trainings must (`doubt` of the model); `all`: each of these that the value has
    /// must;
    /// `estimate`: only the value decides, as it does for metrics of graphs regardless of this
    /// value. Default: `interval`, but nothing passes that a range over graphs, fits or trainings
    /// contradicts.
    pub decide_by: Option<GateDecideBy>,
    /// `holm`: the comparisons of the gate are judged together, so that the chance to call any of
    /// them broken that is not stays that of one. Default: each is judged for itself.
    pub family_error: Option<FamilywiseError>,
    /// The strength of a hidden cause, above 0 and below 0.99, that a pass must withstand, else it
    /// is inconclusive: the share that something that no column holds explains of what is left of
    /// the attribute, and of what is left of the score. Needs a set with
    /// `sensitivity: {hidden_cause: {}}`; a failed gate stays failed.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = STRONGEST,
        "x-range" = "a strength that a gate can withstand; write a share above 0 and below 0.99"))]
    pub withstands: Option<Finite>,
    /// Cases needed below the rate, with `why` people in each half; with fewer the gate is
    /// inconclusive.
    #[serde(default = "Count::of::<10>")]
    pub enough: Count,
    /// `fail` counts for the exit status, `warn` is shown only.
    #[serde(default)]
    pub level: GateLevel,
    /// A note for the report.
    pub note: Option<String>,
}

/// Attributes that a key names, each with the groups that it names.
pub(crate) type NamedGroups<'a> = Vec<(&'a ColumnName, &'a [Word])>;

impl GateBlock {
    /// What decides it.
    pub(crate) fn decides(&self) -> GateDecideBy {
        self.decide_by.unwrap_or_default()
    }

    /// The keys that name groups: each with how it names them, and what it names.
    pub(crate) fn named<'a>(&'a self) -> Vec<(&'static str, &'static str, NamedGroups<'a>)> {
        type Pairs = BTreeMap<ColumnName, [Word; 2]>;
        let pairs = |map: &'a Pairs| map.iter().map(|(name, pair)| (name, &pair[..])).collect();
        let single = |map: &'a BTreeMap<ColumnName, Word>| {
            map.iter().map(|(name, group)| (name, std::slice::from_ref(group))).collect()
        };
        let direction = match &self.direction {
            Some(GateDirection::Pair(map)) => Some(pairs(map)),
            _ => None,
        };
        let between = match &self.between {
            Some(GateBetween::Pair(map)) => Some(pairs(map)),
            _ => None,
        };
        let keys: [(_, _, Option<NamedGroups<'a>>); 4] = [
            ("direction", "[FROM, TO]", direction),
            ("between", "[FIRST, SECOND]", between),
            ("harm_to", "GROUP", self.harm_to.as_ref().map(single)),
            ("group", "GROUP", self.group.as_ref().map(single)),
        ];
        keys.into_iter().filter_map(|(key, form, groups)| Some((key, form, groups?))).collect()
    }

    /// Whether it is about a metric or harm, not about what is counted in other tables.
    pub(crate) fn is_of_metric(&self) -> bool {
        self.recourse.is_none() && self.why.is_none()
    }
}

/// What a change is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeFrom {
    /// The run that `--baseline` names.
    Baseline,
}

/// What many comparisons promise together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FamilywiseError {
    /// Holm's method: of m comparisons the k-th clearest is judged at the level 1 - alpha / (m -
    /// k + 1).
    Holm,
}

/// From which group to which.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("x-is" = "`any`, or `{ATTRIBUTE: [FROM, TO]}`"))]
pub enum GateDirection {
    /// Each ordered pair of groups; the worst decides.
    Any,
    /// One pair by attribute.
    #[serde(untagged)]
    Pair(BTreeMap<ColumnName, [Word; 2]>),
}

impl GateBlock {
    /// What it compares: two groups, those furthest apart, or nothing.
    pub(crate) fn compared(&self) -> GateScope {
        match &self.between {
            Some(GateBetween::Pair(_)) => GateScope::Pair,
            Some(GateBetween::WorstCase) => GateScope::WorstCase,
            None => GateScope::Total,
        }
    }
}

/// What is compared with what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("x-is" = "`{ATTRIBUTE: [FIRST, SECOND]}`, or `worst_case`"))]
pub enum GateBetween {
    /// The groups that are furthest apart.
    WorstCase,
    /// Two groups of an attribute; `rest` represents all others.
    #[serde(untagged)]
    Pair(BTreeMap<ColumnName, [Word; 2]>),
}

/// Whether a gate counts for the exit status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateLevel {
    /// It counts.
    #[default]
    Fail,
    /// It is shown only.
    Warn,
}

/// What an inconclusive gate of level `fail` does to the exit status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnInconclusive {
    /// Exit status 1.
    #[default]
    Fail,
    /// It is shown only.
    Warn,
}
