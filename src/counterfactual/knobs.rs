//! What greedy and plausible share: their settings as a job writes them, resolved with presets, and
//! how they learn.
//!
//! Every setting that is left out takes the value of the preset: `default` is what is recommended,
//! `as_printed` the formulas as the paper prints them, without guards. `move` and `condition_on`
//! have no default, because the paper leaves open choices there that change results.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counterfactual::absence::AbsenceRule;
use crate::counterfactual::conditional::{Conditioning, ReferenceCounts};
pub(super) use crate::counterfactual::decorrelate_knobs::DecorrelateBlock;
use crate::counterfactual::domain_checks::{PermittedDirection, PermittedRange};
pub(super) use crate::counterfactual::engine::{FoldGenerator, FoldRows, LearntStrategy};
pub(super) use crate::counterfactual::fit::{MoveRule, StrategyPlan, check_reference};
pub(super) use crate::counterfactual::flip::{CounterfactualsPerRow, NewLevelRule};
use crate::counterfactual::flip::{FlipRule, FlipSettings, ImpossibleScope};
pub(super) use crate::counterfactual::forms::{ConditionOn, RatioGuard};
use crate::counterfactual::generate::{EligibleVariables, FittedMapFlip, MapFlipGenerator};
use crate::counterfactual::plausibility_filter::{
    PlausibilityFilter, PlausibilitySettings, SelectRule,
};
pub(super) use crate::counterfactual::variable::{StrategyVariable, VariableOptions};
pub(super) use crate::data::Layout;
pub(super) use crate::data::rows::reference::ReferenceRows;
pub(super) use crate::error::Result;
pub(super) use crate::num::ecdf::Cdf;
use crate::param::{ColumnName, Finite, KnobRefusal, Word};
pub(super) use crate::param::{Count, Fraction};

/// For a feature, levels and the level that takes their place.
pub(super) type Counterparts = IndexMap<ColumnName, IndexMap<Word, Word>>;

/// For a feature, its permitted range.
pub(super) type PermittedRanges = IndexMap<ColumnName, PermittedRange>;

/// For a feature, the only direction in which it may change.
pub(super) type PermittedDirections = IndexMap<ColumnName, PermittedDirection>;

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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<FlipRule>,
    /// Fewest rows in each of the two pools of a conditional test. Default: 10; `as_printed`: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_support: Option<Count>,
    /// A level at most this probable in the target group is impossible there and always left; below
    /// 0 nothing is. Default: 0.01; `as_printed`: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maximum" = 1,
        "x-range" = "a number up to 1; write one up to 1, below 0 no level is impossible"))]
    pub impossible: Option<Finite>,
    /// An impossible level is also at most this many times as probable as in the own group; `none`:
    /// no such guard. Default: 0.05; `as_printed`: `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0,
        "x-range" = "0 or more; write a number from 0 on, or `none` for no guard"))]
    pub impossible_ratio: Option<RatioGuard>,
    /// At least this many rows of the target group would have an impossible level if it were as
    /// frequent as in the own group. Default: 3; `as_printed`: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0,
        "x-range" = "0 or more; write a number from 0 on; 3 is the default"))]
    pub min_expected: Option<Finite>,
    /// Whether an impossible level is judged over the whole groups, or over the strata of the row.
    #[serde(default)]
    pub impossible_scope: ImpossibleScope,
}

/// How far a counterfactual may be from the centroid of its target group and class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeepWithinBlock {
    /// At most this many times the root mean square distance of the real rows; above 0.
    #[schemars(extend("exclusiveMinimum" = 0, "x-range" = "a distance above 0; 1.5 is usual"))]
    pub centroid_sd: Finite,
    /// Share of the variance that the principal components explain together. Default: 0.9.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "x-range" = "a share above 0; 0.9 is usual"))]
    pub explained: Option<Fraction>,
    /// At most this many principal components. Default: 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_components: Option<Count>,
    /// Of several counterfactuals of a row in a group, all valid ones count, or the nearest only.
    #[serde(default)]
    pub select: SelectRule,
}

/// The settings that greedy and plausible share; by default there are no rules for maps and flips.
#[derive(Default)]
pub(super) struct MapFlipBlock<'a> {
    /// Left out: nothing.
    pub(super) condition_on: Option<&'a ConditionOn>,
    pub(super) preset: StrategyPreset,
    pub(super) threshold: Option<Fraction>,
    pub(super) depth: Option<u32>,
    pub(super) cdf: Option<Cdf>,
    pub(super) min_stratum: Option<Count>,
    pub(super) flip: FlipRulesBlock,
    pub(super) new_value: Option<NewLevelRule>,
    pub(super) counterpart: Option<&'a Counterparts>,
    pub(super) cfs: CounterfactualsPerRow,
    pub(super) max_cfs: Option<Count>,
    pub(super) keep_within: Option<&'a KeepWithinBlock>,
    pub(super) decorrelate: &'a [DecorrelateBlock],
    pub(super) range: Option<&'a PermittedRanges>,
    pub(super) direction: Option<&'a PermittedDirections>,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<knobs::Fraction>,
    /// Levels of tests for flips: 0 none, 1 equation 3 only, 2 one conditional level (equation 4),
    /// and so on. Default: 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// The rule for tied numbers. Default: `midrank`; `as_printed`: `weak`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cdf: Option<knobs::Cdf>,
    /// Smallest number of values in each of the two strata of a feature; with fewer the class is
    /// dropped, then the change. Default: 10; `as_printed`: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_stratum: Option<knobs::Count>,
    /// The tests of flips.
    #[serde(default)]
    pub flip: knobs::FlipRulesBlock,
    /// The new level of a nominal feature: the one that agrees best with the rest of the row
    /// (`likely`), or the most frequent (`mode`). Default: `likely`; `as_printed`: `mode`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maximum" = 1000,
        "x-range" = "a number of counterfactuals up to 1000; 8 is usual"))]
    pub max_cfs: Option<knobs::Count>,
    /// Counterfactuals too far from the centroid of their target group and class are not valid.
    /// Default: no filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    fn common(&self) -> knobs::MapFlipBlock<'_> {
        knobs::MapFlipBlock {
            condition_on: Some(&self.condition_on),
            preset: self.preset,
            threshold: self.threshold,
            depth: self.depth,
            cdf: self.cdf,
            min_stratum: self.min_stratum,
            flip: self.flip,
            new_value: self.new_value,
            counterpart: Some(&self.counterpart),
            cfs: self.cfs,
            max_cfs: self.max_cfs,
            keep_within: self.keep_within.as_ref(),
            decorrelate: &self.decorrelate,
            range: Some(&self.range),
            direction: Some(&self.direction),
        }
    }

    /// Writes the values of the preset into the settings that are left out.
    fn resolve_common(&mut self) {
        let knobs::StrategyPlan { cdf, flips, filter, .. } = self.plan();
        self.threshold = self.threshold.or(knobs::Fraction::new(flips.tau));
        self.depth = Some(flips.max_depth);
        self.cdf = Some(cdf);
        self.min_stratum = self.min_stratum.or(knobs::Count::new(flips.min_stratum));
        self.flip.resolve(&flips);
        self.new_value = Some(flips.new_value);
        if self.cfs == knobs::CounterfactualsPerRow::Multiple {
            self.max_cfs = self.max_cfs.or(knobs::Count::new(flips.max_cfs as u64));
        }
        if let Some((within, filter)) = self.keep_within.as_mut().zip(filter) {
            within.resolve(&filter);
        }
    }
}
    };
}

/// The part of `FittedKnobs` that greedy and plausible share.
macro_rules! map_flip_knobs {
    () => {
        fn condition_on(&self) -> &knobs::ConditionOn {
            &self.condition_on
        }

        fn range(&self) -> &knobs::PermittedRanges {
            &self.range
        }

        fn direction(&self) -> &knobs::PermittedDirections {
            &self.direction
        }

        fn counterpart(&self) -> Option<&knobs::Counterparts> {
            Some(&self.counterpart)
        }

        fn decorrelate(&self) -> &[knobs::DecorrelateBlock] {
            &self.decorrelate
        }

        fn max_counterfactuals(&self) -> usize {
            self.plan().max_counterfactuals()
        }

        fn plan(&self) -> knobs::StrategyPlan {
            self.plan()
        }

        fn fit(
            &self,
            layout: &knobs::Layout,
            extras: &knobs::VariableOptions,
            reference: &knobs::ReferenceRows<'_>,
            position: usize,
        ) -> knobs::Result<Box<dyn knobs::LearntStrategy>> {
            knobs::learn(&self.plan(), layout, extras, reference, position)
        }

        fn read(&self, json: &str) -> serde_json::Result<Box<dyn knobs::LearntStrategy>> {
            knobs::read(json)
        }
    };
}

pub(super) use {map_flip_block, map_flip_knobs};

impl FlipRulesBlock {
    /// Writes the settings that are in force into those that are left out.
    pub(super) fn resolve(&mut self, flips: &FlipSettings) {
        self.rule = Some(flips.rule);
        self.min_support = self.min_support.or(Count::new(flips.min_support));
        self.impossible = self.impossible.or(Finite::new(flips.impossible));
        let ratio = flips.impossible_ratio.and_then(Finite::new);
        self.impossible_ratio = Some(ratio.map_or(RatioGuard::None, RatioGuard::AtMost));
        self.min_expected = self.min_expected.or(Finite::new(flips.min_expected));
    }
}

impl KeepWithinBlock {
    /// Writes the settings that are in force into those that are left out.
    pub(super) fn resolve(&mut self, filter: &PlausibilitySettings) {
        self.explained = self.explained.or(Fraction::new(filter.explained));
        self.max_components = self.max_components.or(Count::new(filter.max_components as u64));
    }
}

/// Learns as a plan of maps and flips says.
///
/// # Errors
/// The reference cannot be read, or lacks what the strategy needs.
pub(super) fn learn(
    plan: &StrategyPlan,
    layout: &Layout,
    extras: &VariableOptions,
    reference: &ReferenceRows<'_>,
    position: usize,
) -> Result<Box<dyn LearntStrategy>> {
    let fitted = plan.fit(layout, extras, reference, position)?;
    let moving = match &fitted.rules.eligible {
        EligibleVariables::Named(named) => named.clone(),
        // Greedy moves only variables that differ between the groups, so none is sure to move.
        EligibleVariables::Related(..) => vec![false; fitted.variables.len()],
    };
    check_reference(layout, &fitted.variables, &moving, &fitted.counts, plan)?;
    Ok(Box::new(fitted))
}

/// Reads back what was learnt.
///
/// # Errors
/// The text is something else.
pub(super) fn read(json: &str) -> serde_json::Result<Box<dyn LearntStrategy>> {
    Ok(Box::new(serde_json::from_str::<FittedMapFlip>(json)?))
}

impl LearntStrategy for FittedMapFlip {
    fn variables(&self) -> &[StrategyVariable] {
        &self.variables
    }

    fn n_groups(&self) -> usize {
        self.n_groups
    }

    fn counts(&self) -> &ReferenceCounts {
        &self.counts
    }

    fn condition(&self) -> Conditioning {
        self.rules.condition
    }

    fn filter(&self) -> Option<&PlausibilityFilter> {
        self.filter.as_ref()
    }

    fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    fn generator(self: Box<Self>, _rows: &FoldRows<'_>) -> Result<FoldGenerator> {
        Ok(FoldGenerator { generator: Box::new(MapFlipGenerator::new(*self)), tallies: None })
    }
}

impl MapFlipBlock<'_> {
    /// What is wrong with the settings by themselves.
    pub(super) fn refusals(&self) -> Vec<KnobRefusal> {
        let (single, mut found) = (self.cfs == CounterfactualsPerRow::Single, Vec::new());
        let mut refuse = |key, what: &str, hint: &str| {
            found.push(KnobRefusal::new(key, "bad-value", what, hint));
        };
        if single && self.max_cfs.is_some() {
            let what = "`max_cfs` limits several counterfactuals, but there is only one";
            refuse("max_cfs", what, "remove it, or write `cfs: multiple`");
        }
        if single && self.keep_within.is_some_and(|within| within.select == SelectRule::Best) {
            let what = "`best` chooses among several counterfactuals, but there is only one";
            refuse("keep_within.select", what, "remove it, or write `cfs: multiple`");
        }
        found
    }

    /// The plan with every setting resolved; `may` says which variables may change.
    pub(super) fn plan(&self, may: MoveRule) -> StrategyPlan {
        let as_printed = self.preset == StrategyPreset::AsPrinted;
        let least = |knob: Option<Count>| knob.map_or(if as_printed { 1 } else { 10 }, Count::get);
        let ratio = match self.flip.impossible_ratio {
            Some(RatioGuard::AtMost(ratio)) => Some(ratio.get()),
            Some(RatioGuard::None) => None,
            None if as_printed => None,
            None => AbsenceRule::DEFAULT.ratio,
        };
        let flips = FlipSettings {
            tau: self.threshold.map_or(0.5, Fraction::get),
            rule: self.flip.rule.unwrap_or(if as_printed {
                FlipRule::Absolute
            } else {
                FlipRule::Directed
            }),
            max_depth: self.depth.unwrap_or(2),
            min_support: least(self.flip.min_support),
            min_stratum: least(self.min_stratum),
            impossible: self
                .flip
                .impossible
                .map_or(if as_printed { 0.0 } else { AbsenceRule::DEFAULT.share }, Finite::get),
            impossible_ratio: ratio,
            min_expected: self.flip.min_expected.map_or(
                if as_printed { 0.0 } else { AbsenceRule::DEFAULT.min_expected },
                Finite::get,
            ),
            impossible_scope: self.flip.impossible_scope,
            new_value: self.new_value.unwrap_or(if as_printed {
                NewLevelRule::Mode
            } else {
                NewLevelRule::Likely
            }),
            cfs: self.cfs,
            max_cfs: self.max_cfs.map_or(8, |n| usize::try_from(n.get()).unwrap_or(usize::MAX)),
        };
        let filter = |knobs: &KeepWithinBlock| PlausibilitySettings {
            k: knobs.centroid_sd.get(),
            explained: knobs.explained.map_or(0.9, Fraction::get),
            max_components: knobs
                .max_components
                .map_or(10, |n| usize::try_from(n.get()).unwrap_or(usize::MAX)),
            select: knobs.select,
        };
        let words = |pairs: &IndexMap<Word, Word>| {
            pairs.iter().map(|(from, to)| (from.0.clone(), to.0.clone())).collect()
        };
        let counterparts = self.counterpart.into_iter().flatten();
        StrategyPlan {
            condition: match self.condition_on {
                None | Some(ConditionOn::Nothing) => Conditioning::Nothing,
                Some(_) => Conditioning::Class,
            },
            cdf: self.cdf.unwrap_or(if as_printed { Cdf::Weak } else { Cdf::Midrank }),
            move_rule: may,
            flips,
            filter: self.keep_within.map(filter),
            counterparts: counterparts
                .map(|(feature, pairs)| (feature.as_str().to_owned(), words(pairs)))
                .collect(),
            decorrelate: self.decorrelate.to_vec(),
            range: self.range.into_iter().flatten().map(|(of, to)| (of.clone(), *to)).collect(),
            direction: self
                .direction
                .into_iter()
                .flatten()
                .map(|(of, to)| (of.clone(), *to))
                .collect(),
        }
    }
}
