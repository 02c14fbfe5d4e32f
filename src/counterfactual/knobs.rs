//! What greedy and plausible share: their settings as a job writes them, resolved with presets.
//!
//! Every setting that is left out takes the value of the preset: `default` is what is recommended,
//! `as_printed` the formulas as the paper prints them, without guards. `move` and `condition_on`
//! have no default, because the paper leaves open choices there that change results.

use indexmap::map::Slice;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counterfactual::absence::AbsenceRule;
pub(super) use crate::counterfactual::decorrelate_knobs::DecorrelateBlock;
pub(super) use crate::counterfactual::flip::{CounterfactualsPerRow, FlipSettings, NewLevelRule};
use crate::counterfactual::flip::{FlipRule, ImpossibleScope};
use crate::counterfactual::plan::StrategyPlan;
pub(super) use crate::counterfactual::plan::{
    Counterparts, PermittedDirections, PermittedRanges, StrategyEngine,
};
pub(super) use crate::counterfactual::plausibility_filter::{KeepWithinBlock, SelectRule};
use crate::counterfactual::short_forms::{ConditionOn, MovableFeatures, RatioGuard};
pub(super) use crate::num::ecdf::Cdf;
use crate::param::Finite;
pub(super) use crate::param::{Count, Fraction};

/// The source of settings that are left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StrategyPreset {
    /// What is recommended.
    #[default]
    Default,
    /// The formulas as the paper prints them, without guards; for comparison.
    AsPrinted,
}

/// The tests of flips.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlipRulesBlock {
    /// Whether a level must be rarer in the target group (`directed`), or only differ (`absolute`).
    /// Default: `directed`; `as_printed`: `absolute`.
    pub rule: Option<FlipRule>,
    /// Fewest rows in each of the two pools of a conditional test. Default: 10; `as_printed`: 1.
    pub min_support: Option<Count>,
    /// A level at most this probable in the target group is impossible there and always left; below
    /// 0 nothing is. Default: 0.01; `as_printed`: 0.
    #[schemars(extend("maximum" = 1,
        "x-range" = "a number up to 1; write one up to 1, below 0 no level is impossible"))]
    pub impossible: Option<Finite>,
    /// An impossible level is also at most this many times as probable as in the own group; `none`:
    /// no such guard. Default: 0.05; `as_printed`: `none`.
    #[schemars(extend("minimum" = 0,
        "x-range" = "0 or more; write a number from 0 on, or `none` for no guard"))]
    pub impossible_ratio: Option<RatioGuard>,
    /// At least this many rows of the target group would have an impossible level if it were as
    /// frequent as in the own group. Default: 3; `as_printed`: 0.
    #[schemars(extend("minimum" = 0,
        "x-range" = "0 or more; write a number from 0 on; 3 is the default"))]
    pub min_expected: Option<Finite>,
    /// Whether an impossible level is judged over the whole groups, or over the strata of the row.
    #[serde(default)]
    pub impossible_scope: ImpossibleScope,
}

/// A block of knobs: some of its own, then all that greedy and plausible share.
macro_rules! map_flip_block {
    ($(#[$about:meta])* pub struct $block:ident {
        $($(#[$own:meta])* pub $field:ident: $kind:ty,)*
    }) => {
$(#[$about])*
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct $block {
    $($(#[$own])* pub $field: $kind,)*
    /// The source of settings that are left out.
    #[serde(default)]
    pub preset: knobs::StrategyPreset,
    /// Threshold of equations 3 and 4: a level is left where its probability in the target group is
    /// lower by this. Default: 0.5.
    pub threshold: Option<knobs::Fraction>,
    /// Levels of tests for flips: 0 none, 1 equation 3 only, 2 one conditional level (equation 4),
    /// and so on. Default: 2.
    pub depth: Option<u32>,
    /// The rule for tied numbers. Default: `midrank`; `as_printed`: `weak`.
    pub cdf: Option<knobs::Cdf>,
    /// Smallest number of values in each of the two strata of a feature; with fewer the class is
    /// dropped, then the change. Default: 10; `as_printed`: 1.
    pub min_stratum: Option<knobs::Count>,
    /// The tests of flips.
    #[serde(default)]
    pub flip: knobs::FlipRulesBlock,
    /// The new level of a nominal feature: the one that agrees best with the rest of the row
    /// (`likely`), or the most frequent (`mode`). Default: `likely`; `as_printed`: `mode`.
    pub new_value: Option<knobs::NewLevelRule>,
    /// For a feature, levels and the level that takes their place wherever the target group has it:
    /// `relationship: {Husband: Wife}`.
    #[serde(default, skip_serializing_if = "indexmap::IndexMap::is_empty")]
    pub counterpart: knobs::Counterparts,
    /// One counterfactual per row and group (`single`), or also one per change at the root
    /// (`multiple`).
    #[serde(default)]
    pub cfs: knobs::CounterfactualsPerRow,
    /// At most this many per row and group with `cfs: multiple`. Default: 8.
    #[schemars(extend("maximum" = 1000,
        "x-range" = "a number of counterfactuals up to 1000; 8 is usual"))]
    pub max_cfs: Option<knobs::Count>,
    /// Counterfactuals too far from the centroid of their target group and class are not valid.
    /// Default: no filter.
    pub keep_within: Option<knobs::KeepWithinBlock>,
    /// Sensitive attributes whose counterfactuals are added to the reference first, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decorrelate: Vec<knobs::DecorrelateBlock>,
    /// For a feature, its permitted range; a counterfactual outside is not valid. Values are never
    /// clipped.
    #[serde(default, skip_serializing_if = "indexmap::IndexMap::is_empty")]
    pub range: knobs::PermittedRanges,
    /// For a feature, the only direction in which it may change; a counterfactual that goes the
    /// other way is not valid.
    #[serde(default, skip_serializing_if = "indexmap::IndexMap::is_empty")]
    pub direction: knobs::PermittedDirections,
}

impl $block {
    /// The plan with every setting resolved, by which these features may change.
    fn plan_of<'a>(&'a self, moves: &'a MovableFeatures) -> StrategyPlan<'a> {
        let (cdf, preset) = self.preset.settings();
        let flips = knobs::FlipSettings {
            tau: self.threshold.map_or(preset.tau, knobs::Fraction::get),
            max_depth: self.depth.unwrap_or(preset.max_depth),
            min_stratum: self.min_stratum.map_or(preset.min_stratum, knobs::Count::get),
            new_value: self.new_value.unwrap_or(preset.new_value),
            cfs: self.cfs,
            max_cfs: self.max_cfs.map_or(preset.max_cfs, knobs::Count::size),
            ..self.flip.settings(preset)
        };
        StrategyPlan {
            cdf: self.cdf.unwrap_or(cdf),
            flips,
            filter: self.keep_within,
            counterpart: Some(&self.counterpart),
            decorrelate: &self.decorrelate,
            range: self.range.as_slice(),
            direction: self.direction.as_slice(),
            ..knobs::plain_plan(&self.condition_on, moves)
        }
    }

    /// Writes the values of the preset into the settings that are left out.
    fn resolve_common(&mut self) {
        let StrategyPlan { cdf, flips, .. } = self.plan_of(&knobs::ALL);
        self.threshold = self.threshold.or(knobs::Fraction::new(flips.tau));
        self.depth = Some(flips.max_depth);
        self.cdf = Some(cdf);
        self.min_stratum = self.min_stratum.or(knobs::Count::new(flips.min_stratum));
        self.flip.resolve(&flips);
        self.new_value = Some(flips.new_value);
        if self.cfs == knobs::CounterfactualsPerRow::Multiple {
            self.max_cfs = self.max_cfs.or(knobs::Count::new(flips.max_cfs as u64));
        }
    }

    /// What is wrong with these settings by themselves.
    fn common_refusals(&self) -> Vec<KnobRefusal> {
        let single = self.cfs == knobs::CounterfactualsPerRow::Single;
        let refusal = |key, what: &str| {
            KnobRefusal::new(key, "bad-value", what, "remove it, or write `cfs: multiple`")
        };
        let is_best = |within: knobs::KeepWithinBlock| within.select == knobs::SelectRule::Best;
        let max_cfs = (single && self.max_cfs.is_some()).then(|| {
            refusal("max_cfs", "`max_cfs` limits several counterfactuals, but there is only one")
        });
        let best = (single && self.keep_within.is_some_and(is_best)).then(|| {
            let what = "`best` chooses among several counterfactuals, but there is only one";
            refusal("keep_within.select", what)
        });
        max_cfs.into_iter().chain(best).collect()
    }
}
    };
}

pub(super) use map_flip_block;

/// All features.
pub(super) const ALL: MovableFeatures = MovableFeatures::All;

/// The plan of a strategy that has no tests of its own.
pub(super) fn plain_plan<'a>(
    condition_on: &'a ConditionOn,
    moves: &'a MovableFeatures,
) -> StrategyPlan<'a> {
    let (cdf, flips) = StrategyPreset::Default.settings();
    StrategyPlan {
        condition_on,
        cdf,
        moves,
        keep_fixed: &[],
        relation: None,
        flips,
        filter: None,
        counterpart: None,
        decorrelate: &[],
        range: Slice::new(),
        direction: Slice::new(),
        engine: StrategyEngine::MapFlip,
    }
}

impl StrategyPreset {
    /// The rule for tied numbers and the rules of flips, where the job gives none.
    pub(super) fn settings(self) -> (Cdf, FlipSettings) {
        let flips = FlipSettings {
            tau: 0.5,
            rule: FlipRule::Directed,
            max_depth: 2,
            min_support: 10,
            min_stratum: 10,
            impossible: AbsenceRule::DEFAULT,
            impossible_scope: ImpossibleScope::Group,
            new_value: NewLevelRule::Likely,
            cfs: CounterfactualsPerRow::Single,
            max_cfs: 8,
        };
        let as_printed = FlipSettings {
            rule: FlipRule::Absolute,
            min_support: 1,
            min_stratum: 1,
            impossible: AbsenceRule { share: 0.0, ratio: None, min_expected: 0.0 },
            new_value: NewLevelRule::Mode,
            ..flips
        };
        match self {
            StrategyPreset::Default => (Cdf::Midrank, flips),
            StrategyPreset::AsPrinted => (Cdf::Weak, as_printed),
        }
    }
}

impl FlipRulesBlock {
    /// The rules that apply: those of the preset where the job gives none.
    pub(super) fn settings(self, preset: FlipSettings) -> FlipSettings {
        FlipSettings {
            rule: self.rule.unwrap_or(preset.rule),
            min_support: self.min_support.map_or(preset.min_support, Count::get),
            impossible: AbsenceRule {
                share: self.impossible.map_or(preset.impossible.share, Finite::get),
                ratio: match self.impossible_ratio {
                    Some(RatioGuard::AtMost(ratio)) => Some(ratio.get()),
                    Some(RatioGuard::None) => None,
                    None => preset.impossible.ratio,
                },
                min_expected: self.min_expected.map_or(preset.impossible.min_expected, Finite::get),
            },
            impossible_scope: self.impossible_scope,
            ..preset
        }
    }

    /// Writes the settings that are in force into those that are left out.
    pub(super) fn resolve(&mut self, flips: &FlipSettings) {
        self.rule = Some(flips.rule);
        self.min_support = self.min_support.or(Count::new(flips.min_support));
        let AbsenceRule { share, ratio, min_expected } = flips.impossible;
        self.impossible = self.impossible.or(Finite::new(share));
        let ratio = ratio.and_then(Finite::new);
        self.impossible_ratio = Some(ratio.map_or(RatioGuard::None, RatioGuard::AtMost));
        self.min_expected = self.min_expected.or(Finite::new(min_expected));
    }
}
