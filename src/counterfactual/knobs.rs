//! The settings of greedy, plausible and transport as a job writes them, resolved with presets.
//!
//! Every setting that is left out takes the value of the preset: `default` is what is recommended,
//! `as_printed` the formulas as the paper prints them, without guards. `move` and `condition_on`
//! have no default, because the paper leaves open choices there that change results.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counterfactual::check::{PermittedDirection, PermittedRange};
use crate::counterfactual::conditional::Conditioning;
use crate::counterfactual::decorrelate_knobs::DecorrelateBlock;
use crate::counterfactual::filter::{PlausibilitySettings, SelectRule};
use crate::counterfactual::fit::{MoveRule, StrategyPlan};
use crate::counterfactual::flip::{
    CounterfactualsPerRow, FlipRule, FlipSettings, ImpossibleScope, NewLevelRule,
};
use crate::counterfactual::forms::{ConditionOn, MovableFeatures, RatioGuard};
use crate::counterfactual::greedy::{RelationSettings, RelationTest};
use crate::counterfactual::transport::cost::TransportCost;
use crate::counterfactual::transport::{TransportImage, TransportSettings};
use crate::num::ecdf::Cdf;
use crate::param::{ColumnName, Count, Finite, Fraction, Level, Word};

/// Moves the allowed variables to their equal-probability values in the target group, and keeps the
/// others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlausibleBlock {
    /// The features that may change: `all`, or a list. All others keep their values.
    #[serde(rename = "move")]
    pub moves: MovableFeatures,
    /// What the distributions are conditioned on in addition to the group: `label`, `{label: raw}`,
    /// `{prediction: MODEL}` or `none`.
    pub condition_on: ConditionOn,
    /// The source of settings that are left out.
    #[serde(default)]
    pub preset: StrategyPreset,
    /// Threshold of equations 3 and 4: a level is left where its probability in the target group is
    /// lower by this. Left out: 0.5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Fraction>,
    /// Levels of tests for flips: 0 none, 1 equation 3 only, 2 one conditional level (equation 4),
    /// and so on. Left out: 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// The rule for tied numbers. Left out: `midrank`; `as_printed`: `weak`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cdf: Option<Cdf>,
    /// Smallest number of values in each of the two strata of a feature; with fewer the class is
    /// dropped, then the change. Left out: 10; `as_printed`: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_stratum: Option<Count>,
    /// The tests of flips.
    #[serde(default)]
    pub flip: FlipRulesBlock,
    /// The new level of a nominal feature: the one that agrees best with the rest of the row
    /// (`likely`), or the most frequent (`mode`). Left out: `likely`; `as_printed`: `mode`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_value: Option<NewLevelRule>,
    /// For a feature, levels and the level that takes their place wherever the target group has it:
    /// `relationship: {Husband: Wife}`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub counterpart: IndexMap<ColumnName, IndexMap<Word, Word>>,
    /// One counterfactual per row and group (`single`), or also one per change at the root
    /// (`multiple`).
    #[serde(default)]
    pub cfs: CounterfactualsPerRow,
    /// At most this many per row and group with `cfs: multiple`. Left out: 8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cfs: Option<Count>,
    /// Counterfactuals too far from the centroid of their target group and class are not valid.
    /// Left out: no filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_within: Option<KeepWithinBlock>,
    /// Sensitive attributes whose counterfactuals are added to the reference first, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decorrelate: Vec<DecorrelateBlock>,
    /// For a feature, its permitted range; a counterfactual outside is not valid. Values are never
    /// clipped.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub range: IndexMap<ColumnName, PermittedRange>,
    /// For a feature, the only direction in which it may change; a counterfactual that goes the
    /// other way is not valid.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub direction: IndexMap<ColumnName, PermittedDirection>,
}

/// Moves every variable that differs between the groups to its equal-probability value in the
/// target group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GreedyBlock {
    /// What the distributions are conditioned on in addition to the group: `label`, `{label: raw}`,
    /// `{prediction: MODEL}` or `none`.
    pub condition_on: ConditionOn,
    /// Features that stay as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep_fixed: Vec<ColumnName>,
    /// When a feature counts as related to the attribute.
    #[serde(default)]
    pub relation: RelationBlock,
    /// The source of settings that are left out.
    #[serde(default)]
    pub preset: StrategyPreset,
    /// Threshold of equations 3 and 4: a level is left where its probability in the target group is
    /// lower by this. Left out: 0.5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Fraction>,
    /// Levels of tests for flips: 0 none, 1 equation 3 only, 2 one conditional level (equation 4),
    /// and so on. Left out: 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// The rule for tied numbers. Left out: `midrank`; `as_printed`: `weak`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cdf: Option<Cdf>,
    /// Smallest number of values in each of the two strata of a feature; with fewer the class is
    /// dropped, then the change. Left out: 10; `as_printed`: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_stratum: Option<Count>,
    /// The tests of flips.
    #[serde(default)]
    pub flip: FlipRulesBlock,
    /// The new level of a nominal feature: the one that agrees best with the rest of the row
    /// (`likely`), or the most frequent (`mode`). Left out: `likely`; `as_printed`: `mode`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_value: Option<NewLevelRule>,
    /// For a feature, levels and the level that takes their place wherever the target group has it:
    /// `relationship: {Husband: Wife}`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub counterpart: IndexMap<ColumnName, IndexMap<Word, Word>>,
    /// One counterfactual per row and group (`single`), or also one per change at the root
    /// (`multiple`).
    #[serde(default)]
    pub cfs: CounterfactualsPerRow,
    /// At most this many per row and group with `cfs: multiple`. Left out: 8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cfs: Option<Count>,
    /// Counterfactuals too far from the centroid of their target group and class are not valid.
    /// Left out: no filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_within: Option<KeepWithinBlock>,
    /// Sensitive attributes whose counterfactuals are added to the reference first, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decorrelate: Vec<DecorrelateBlock>,
    /// For a feature, its permitted range; a counterfactual outside is not valid. Values are never
    /// clipped.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub range: IndexMap<ColumnName, PermittedRange>,
    /// For a feature, the only direction in which it may change; a counterfactual that goes the
    /// other way is not valid.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub direction: IndexMap<ColumnName, PermittedDirection>,
}

/// Gives the rows of a group the values of real rows of the other group, all of them together at
/// the least total distance. Rows of a group and class are held in memory together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransportBlock {
    /// The features that may change: `all`, or a list. All others keep their values and do not
    /// enter the distance.
    #[serde(rename = "move")]
    pub moves: MovableFeatures,
    /// What rows are matched within, in addition to the group: `label`, `{label: raw}`,
    /// `{prediction: MODEL}` or `none`.
    pub condition_on: ConditionOn,
    /// What a row becomes: `argmax` the real row that most of it goes to, `barycentre` the mean of
    /// the rows it goes to.
    #[serde(default)]
    pub image: TransportImage,
    /// The distance of two rows: `l2_squared` the sum of squared differences in standard
    /// deviations, `l1_squared` the square of the sum of absolute differences, as FlipTest has it.
    /// A category that differs counts 1.
    #[serde(default)]
    pub cost: TransportCost,
    /// The most distinct rows a side that are matched exactly, 1 to 20,000; larger strata are
    /// matched in blocks, and flagged. Memory grows with its square, 8 bytes each, for every
    /// thread.
    #[serde(default = "four_thousand")]
    pub max_rows: Count,
    /// For a feature, its permitted range; a counterfactual outside is not valid. Values are never
    /// clipped.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub range: IndexMap<ColumnName, PermittedRange>,
    /// For a feature, the only direction in which it may change; a counterfactual that goes the
    /// other way is not valid.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub direction: IndexMap<ColumnName, PermittedDirection>,
}

fn four_thousand() -> Count {
    Count::new(4000).expect("4000 is at least 1")
}

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
    /// Left out: `directed`; `as_printed`: `absolute`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<FlipRule>,
    /// Fewest rows in each of the two pools of a conditional test. Left out: 10; `as_printed`: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_support: Option<Count>,
    /// A level at most this probable in the target group is impossible there and always left; below
    /// 0 nothing is. Left out: 0.01; `as_printed`: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impossible: Option<Finite>,
    /// An impossible level is also at most this many times as probable as in the own group; `none`:
    /// no such guard. Left out: 0.05; `as_printed`: `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impossible_ratio: Option<RatioGuard>,
    /// At least this many rows of the target group would have an impossible level if it were as
    /// frequent as in the own group. Left out: 3; `as_printed`: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_expected: Option<Finite>,
    /// Whether an impossible level is judged over the whole groups, or over the strata of the row.
    #[serde(default)]
    pub impossible_scope: ImpossibleScope,
}

/// When a feature counts as related to the attribute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelationBlock {
    /// The test. Left out: `ks`; `as_printed`: `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<RelationTest>,
    /// Its level. Left out: 0.05.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<Level>,
    /// The smallest difference of probabilities that counts. Left out: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_effect: Option<Fraction>,
}

/// How far a counterfactual may be from the centroid of its target group and class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeepWithinBlock {
    /// At most this many times the root mean square distance of the real rows; above 0.
    pub centroid_sd: Finite,
    /// Share of the variance that the principal components explain together. Left out: 0.9.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explained: Option<Fraction>,
    /// At most this many principal components. Left out: 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_components: Option<Count>,
    /// Of several counterfactuals of a row in a group, all valid ones count, or the nearest only.
    #[serde(default)]
    pub select: SelectRule,
}

/// The block of a fitted strategy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StrategyBlock<'a> {
    /// Greedy.
    Greedy(&'a GreedyBlock),
    /// Plausible.
    Plausible(&'a PlausibleBlock),
    /// Transport.
    Transport(&'a TransportBlock),
}

impl<'a> StrategyBlock<'a> {
    /// The key of the strategy in a job.
    pub fn job_key(self) -> &'static str {
        match self {
            StrategyBlock::Greedy(_) => "greedy",
            StrategyBlock::Plausible(_) => "plausible",
            StrategyBlock::Transport(_) => "transport",
        }
    }

    /// What distributions are conditioned on in addition to the group.
    pub fn condition_on(self) -> &'a ConditionOn {
        match self {
            StrategyBlock::Greedy(greedy) => &greedy.condition_on,
            StrategyBlock::Plausible(plausible) => &plausible.condition_on,
            StrategyBlock::Transport(transport) => &transport.condition_on,
        }
    }

    /// Whether a feature of this name may change.
    pub fn may_move(self, name: &str) -> bool {
        match self {
            StrategyBlock::Greedy(greedy) => {
                greedy.keep_fixed.iter().all(|fixed| fixed.as_str() != name)
            }
            StrategyBlock::Plausible(PlausibleBlock { moves, .. })
            | StrategyBlock::Transport(TransportBlock { moves, .. }) => moves.contains(name),
        }
    }

    /// The list of named features, and its key: those that may change, or for greedy those that may
    /// not.
    pub fn named_features(self) -> Option<(&'static str, &'a [ColumnName])> {
        match self {
            StrategyBlock::Greedy(greedy) => {
                (!greedy.keep_fixed.is_empty()).then_some(("keep_fixed", &greedy.keep_fixed))
            }
            StrategyBlock::Plausible(PlausibleBlock { moves, .. })
            | StrategyBlock::Transport(TransportBlock { moves, .. }) => match moves {
                MovableFeatures::All => None,
                MovableFeatures::These(names) => Some(("move", names)),
            },
        }
    }

    /// Permitted ranges.
    pub fn range(self) -> &'a IndexMap<ColumnName, PermittedRange> {
        match self {
            StrategyBlock::Greedy(greedy) => &greedy.range,
            StrategyBlock::Plausible(plausible) => &plausible.range,
            StrategyBlock::Transport(transport) => &transport.range,
        }
    }

    /// Permitted directions.
    pub fn direction(self) -> &'a IndexMap<ColumnName, PermittedDirection> {
        match self {
            StrategyBlock::Greedy(greedy) => &greedy.direction,
            StrategyBlock::Plausible(plausible) => &plausible.direction,
            StrategyBlock::Transport(transport) => &transport.direction,
        }
    }

    /// Declared counterparts of levels, by feature.
    pub fn counterpart(self) -> Option<&'a IndexMap<ColumnName, IndexMap<Word, Word>>> {
        match self {
            StrategyBlock::Greedy(greedy) => Some(&greedy.counterpart),
            StrategyBlock::Plausible(plausible) => Some(&plausible.counterpart),
            StrategyBlock::Transport(_) => None,
        }
    }

    /// The entries whose counterfactuals are appended to the reference first.
    pub fn decorrelate(self) -> &'a [DecorrelateBlock] {
        match self {
            StrategyBlock::Greedy(greedy) => &greedy.decorrelate,
            StrategyBlock::Plausible(plausible) => &plausible.decorrelate,
            StrategyBlock::Transport(_) => &[],
        }
    }

    /// The number of counterfactuals per row and group, the stated limit, and the filter.
    pub fn counterfactual_limits(
        self,
    ) -> Option<(CounterfactualsPerRow, Option<Count>, Option<&'a KeepWithinBlock>)> {
        match self {
            StrategyBlock::Greedy(greedy) => {
                Some((greedy.cfs, greedy.max_cfs, greedy.keep_within.as_ref()))
            }
            StrategyBlock::Plausible(plausible) => {
                Some((plausible.cfs, plausible.max_cfs, plausible.keep_within.as_ref()))
            }
            StrategyBlock::Transport(_) => None,
        }
    }

    /// The largest number of counterfactuals of a row in one group.
    pub fn max_counterfactuals(self) -> usize {
        match self {
            StrategyBlock::Greedy(greedy) => greedy.plan().max_counterfactuals(),
            StrategyBlock::Plausible(plausible) => plausible.plan().max_counterfactuals(),
            StrategyBlock::Transport(_) => 1,
        }
    }

    /// The tests of flips.
    pub fn flip(self) -> Option<&'a FlipRulesBlock> {
        match self {
            StrategyBlock::Greedy(greedy) => Some(&greedy.flip),
            StrategyBlock::Plausible(plausible) => Some(&plausible.flip),
            StrategyBlock::Transport(_) => None,
        }
    }
}

/// The settings that greedy and plausible share.
struct MapFlipBlock<'a> {
    condition_on: &'a ConditionOn,
    preset: StrategyPreset,
    threshold: Option<Fraction>,
    depth: Option<u32>,
    cdf: Option<Cdf>,
    min_stratum: Option<Count>,
    flip: &'a FlipRulesBlock,
    new_value: Option<NewLevelRule>,
    counterpart: &'a IndexMap<ColumnName, IndexMap<Word, Word>>,
    cfs: CounterfactualsPerRow,
    max_cfs: Option<Count>,
    keep_within: &'a Option<KeepWithinBlock>,
    decorrelate: &'a [DecorrelateBlock],
    range: &'a IndexMap<ColumnName, PermittedRange>,
    direction: &'a IndexMap<ColumnName, PermittedDirection>,
}

impl PlausibleBlock {
    /// The plan with all settings resolved.
    pub fn plan(&self) -> StrategyPlan {
        let PlausibleBlock {
            moves,
            condition_on,
            preset,
            threshold,
            depth,
            cdf,
            min_stratum,
            flip,
            new_value,
            counterpart,
            cfs,
            max_cfs,
            keep_within,
            decorrelate,
            range,
            direction,
        } = self;
        let (preset, threshold, depth, cdf, min_stratum) =
            (*preset, *threshold, *depth, *cdf, *min_stratum);
        let (new_value, cfs, max_cfs) = (*new_value, *cfs, *max_cfs);
        let common = MapFlipBlock {
            condition_on,
            preset,
            threshold,
            depth,
            cdf,
            min_stratum,
            flip,
            new_value,
            counterpart,
            cfs,
            max_cfs,
            keep_within,
            decorrelate,
            range,
            direction,
        };
        common.plan(MoveRule::Move(moves.clone()))
    }

    /// Writes the values of the preset into the settings that are left out.
    pub fn resolve(&mut self) {
        let StrategyPlan { cdf, flips, filter, .. } = self.plan();
        self.threshold = self.threshold.or(Fraction::new(flips.tau));
        self.depth = Some(flips.max_depth);
        self.cdf = Some(cdf);
        self.min_stratum = self.min_stratum.or(Count::new(flips.min_stratum));
        self.flip.resolve(&flips);
        self.new_value = Some(flips.new_value);
        if self.cfs == CounterfactualsPerRow::Multiple {
            self.max_cfs = self.max_cfs.or(Count::new(flips.max_cfs as u64));
        }
        if let Some((within, filter)) = self.keep_within.as_mut().zip(filter) {
            within.explained = within.explained.or(Fraction::new(filter.explained));
            within.max_components =
                within.max_components.or(Count::new(filter.max_components as u64));
        }
    }
}

impl GreedyBlock {
    /// The plan with all settings resolved.
    pub fn plan(&self) -> StrategyPlan {
        let GreedyBlock {
            condition_on,
            keep_fixed,
            relation,
            preset,
            threshold,
            depth,
            cdf,
            min_stratum,
            flip,
            new_value,
            counterpart,
            cfs,
            max_cfs,
            keep_within,
            decorrelate,
            range,
            direction,
        } = self;
        let (preset, threshold, depth, cdf, min_stratum) =
            (*preset, *threshold, *depth, *cdf, *min_stratum);
        let (new_value, cfs, max_cfs) = (*new_value, *cfs, *max_cfs);
        let common = MapFlipBlock {
            condition_on,
            preset,
            threshold,
            depth,
            cdf,
            min_stratum,
            flip,
            new_value,
            counterpart,
            cfs,
            max_cfs,
            keep_within,
            decorrelate,
            range,
            direction,
        };
        let test =
            if preset == StrategyPreset::AsPrinted { RelationTest::None } else { RelationTest::Ks };
        let relation = RelationSettings {
            test: relation.test.unwrap_or(test),
            alpha: relation.alpha.map_or(0.05, Level::get),
            min_effect: relation.min_effect.map_or(0.0, Fraction::get),
        };
        common.plan(MoveRule::Relate { keep_fixed: keep_fixed.clone(), relation })
    }

    /// Writes the values of the preset into the settings that are left out.
    pub fn resolve(&mut self) {
        let StrategyPlan { cdf, flips, filter, move_rule: may, .. } = self.plan();
        if let MoveRule::Relate { relation, .. } = may {
            self.relation.resolve(&relation);
        }
        self.threshold = self.threshold.or(Fraction::new(flips.tau));
        self.depth = Some(flips.max_depth);
        self.cdf = Some(cdf);
        self.min_stratum = self.min_stratum.or(Count::new(flips.min_stratum));
        self.flip.resolve(&flips);
        self.new_value = Some(flips.new_value);
        if self.cfs == CounterfactualsPerRow::Multiple {
            self.max_cfs = self.max_cfs.or(Count::new(flips.max_cfs as u64));
        }
        if let Some((within, filter)) = self.keep_within.as_mut().zip(filter) {
            within.explained = within.explained.or(Fraction::new(filter.explained));
            within.max_components =
                within.max_components.or(Count::new(filter.max_components as u64));
        }
    }
}

impl FlipRulesBlock {
    fn resolve(&mut self, flips: &FlipSettings) {
        self.rule = Some(flips.rule);
        self.min_support = self.min_support.or(Count::new(flips.min_support));
        self.impossible = self.impossible.or(Finite::new(flips.impossible));
        let ratio = flips.impossible_ratio.and_then(Finite::new);
        self.impossible_ratio = Some(ratio.map_or(RatioGuard::None, RatioGuard::AtMost));
        self.min_expected = self.min_expected.or(Finite::new(flips.min_expected));
    }
}

impl RelationBlock {
    fn resolve(&mut self, relation: &RelationSettings) {
        self.test = Some(relation.test);
        if relation.test == RelationTest::Ks {
            self.alpha = self.alpha.or(Level::new(relation.alpha));
            self.min_effect = self.min_effect.or(Fraction::new(relation.min_effect));
        }
    }
}

impl TransportBlock {
    /// The plan: which variables may change, and the checks; transport has no tests.
    pub fn plan(&self) -> StrategyPlan {
        let common = MapFlipBlock {
            condition_on: &self.condition_on,
            preset: StrategyPreset::Default,
            threshold: None,
            depth: None,
            cdf: None,
            min_stratum: None,
            flip: &FlipRulesBlock::default(),
            new_value: None,
            counterpart: &IndexMap::new(),
            cfs: CounterfactualsPerRow::Single,
            max_cfs: None,
            keep_within: &None,
            decorrelate: &[],
            range: &self.range,
            direction: &self.direction,
        };
        common.plan(MoveRule::Move(self.moves.clone()))
    }

    /// The settings of the transport plans.
    pub fn settings(&self) -> TransportSettings {
        TransportSettings { image: self.image, cost: self.cost, max_rows: self.max_rows }
    }
}

impl MapFlipBlock<'_> {
    fn plan(&self, may: MoveRule) -> StrategyPlan {
        let as_printed = self.preset == StrategyPreset::AsPrinted;
        let least = |knob: Option<Count>| knob.map_or(if as_printed { 1 } else { 10 }, Count::get);
        let ratio = match self.flip.impossible_ratio {
            Some(RatioGuard::AtMost(ratio)) => Some(ratio.get()),
            Some(RatioGuard::None) => None,
            None => (!as_printed).then_some(0.05),
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
                .map_or(if as_printed { 0.0 } else { 0.01 }, Finite::get),
            impossible_ratio: ratio,
            min_expected: self
                .flip
                .min_expected
                .map_or(if as_printed { 0.0 } else { 3.0 }, Finite::get),
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
        StrategyPlan {
            condition: if *self.condition_on == ConditionOn::Nothing {
                Conditioning::Nothing
            } else {
                Conditioning::Class
            },
            cdf: self.cdf.unwrap_or(if as_printed { Cdf::Weak } else { Cdf::Midrank }),
            move_rule: may,
            flips,
            filter: self.keep_within.as_ref().map(filter),
            counterparts: self
                .counterpart
                .iter()
                .map(|(feature, pairs)| (feature.as_str().to_owned(), words(pairs)))
                .collect(),
            decorrelate: self.decorrelate.to_vec(),
            range: self.range.iter().map(|(name, bounds)| (name.clone(), *bounds)).collect(),
            direction: self.direction.iter().map(|(name, way)| (name.clone(), *way)).collect(),
        }
    }
}
