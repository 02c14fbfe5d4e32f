//! The knobs of greedy, plausible and transport as a job writes them, and what they come to with presets and defaults.
//!
//! Every knob that is left out takes the value of the preset: `default` is what is recommended, `as_printed` the formulas as the paper
//! prints them, without guards. `move` and `condition_on` have no default, because the paper leaves choices there that move results.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counterfactual::check::{Bounds, Way};
use crate::counterfactual::conditional::Condition;
use crate::counterfactual::filter::{FilterSettings, Select};
use crate::counterfactual::fit::{May, Plan};
use crate::counterfactual::flip::{FlipRule, FlipSettings, ImpossibleScope, NewValue, Number};
use crate::counterfactual::forms::{ConditionOn, Move, Ratio};
use crate::counterfactual::greedy::{Relation, RelationTest};
use crate::counterfactual::transport::{Cost, Image, Settings};
use crate::num::ecdf::Cdf;
use crate::param::{ColumnName, Count, Finite, Fraction, Level, Word};

/// Gives the allowed variables the place in the target group that they have in their own, and keeps the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plausible {
    /// The features that may change: `all`, or a list. What is not named stays as it is.
    #[serde(rename = "move")]
    pub moves: Move,
    /// What the distributions are conditioned on beside the group: `label`, `{label: raw}`, `{prediction: MODEL}` or `none`.
    pub condition_on: ConditionOn,
    /// Where knobs that are left out come from.
    #[serde(default)]
    pub preset: Preset,
    /// Threshold of equations 3 and 4: a level is left where its probability in the target group is lower by this. Left out: 0.5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Fraction>,
    /// Levels of tests for flips: 0 none, 1 equation 3 only, 2 one conditional level (equation 4), and so on. Left out: 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// The rule for tied numbers. Left out: `midrank`; `as_printed`: `weak`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cdf: Option<Cdf>,
    /// Fewest values in each of the two strata of a feature; below it the class is given up, then the change. Left out: 10;
    /// `as_printed`: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_stratum: Option<Count>,
    /// The tests of flips.
    #[serde(default)]
    pub flip: Flip,
    /// The new level of a nominal feature: the one that agrees best with the rest of the row (`likely`), or the most frequent (`mode`).
    /// Left out: `likely`; `as_printed`: `mode`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_value: Option<NewValue>,
    /// For a feature, levels and the level that takes their place wherever the target group has it: `relationship: {Husband: Wife}`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub counterpart: IndexMap<ColumnName, IndexMap<Word, Word>>,
    /// One counterfactual per row and group (`single`), or also one per change at the root (`multiple`).
    #[serde(default)]
    pub cfs: Number,
    /// At most this many per row and group with `cfs: multiple`. Left out: 8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cfs: Option<Count>,
    /// Counterfactuals too far from the centroid of their target group and class are not valid. Left out: no filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_within: Option<KeepWithin>,
    /// Sensitive attributes whose counterfactuals join the reference first, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decorrelate: Vec<Decorrelate>,
    /// For a feature, its permitted range; a counterfactual outside is not valid. Values are never clipped.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub range: IndexMap<ColumnName, Bounds>,
    /// For a feature, the only direction in which it may change; a counterfactual that goes the other way is not valid.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub direction: IndexMap<ColumnName, Way>,
}

/// Gives every variable that differs between the groups the place in the target group that it has in its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Greedy {
    /// What the distributions are conditioned on beside the group: `label`, `{label: raw}`, `{prediction: MODEL}` or `none`.
    pub condition_on: ConditionOn,
    /// Features that stay as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep_fixed: Vec<ColumnName>,
    /// When a feature counts as related to the attribute.
    #[serde(default)]
    pub relation: RelationKnobs,
    /// Where knobs that are left out come from.
    #[serde(default)]
    pub preset: Preset,
    /// Threshold of equations 3 and 4: a level is left where its probability in the target group is lower by this. Left out: 0.5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Fraction>,
    /// Levels of tests for flips: 0 none, 1 equation 3 only, 2 one conditional level (equation 4), and so on. Left out: 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// The rule for tied numbers. Left out: `midrank`; `as_printed`: `weak`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cdf: Option<Cdf>,
    /// Fewest values in each of the two strata of a feature; below it the class is given up, then the change. Left out: 10;
    /// `as_printed`: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_stratum: Option<Count>,
    /// The tests of flips.
    #[serde(default)]
    pub flip: Flip,
    /// The new level of a nominal feature: the one that agrees best with the rest of the row (`likely`), or the most frequent (`mode`).
    /// Left out: `likely`; `as_printed`: `mode`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_value: Option<NewValue>,
    /// For a feature, levels and the level that takes their place wherever the target group has it: `relationship: {Husband: Wife}`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub counterpart: IndexMap<ColumnName, IndexMap<Word, Word>>,
    /// One counterfactual per row and group (`single`), or also one per change at the root (`multiple`).
    #[serde(default)]
    pub cfs: Number,
    /// At most this many per row and group with `cfs: multiple`. Left out: 8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cfs: Option<Count>,
    /// Counterfactuals too far from the centroid of their target group and class are not valid. Left out: no filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_within: Option<KeepWithin>,
    /// Sensitive attributes whose counterfactuals join the reference first, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decorrelate: Vec<Decorrelate>,
    /// For a feature, its permitted range; a counterfactual outside is not valid. Values are never clipped.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub range: IndexMap<ColumnName, Bounds>,
    /// For a feature, the only direction in which it may change; a counterfactual that goes the other way is not valid.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub direction: IndexMap<ColumnName, Way>,
}

/// Gives the rows of a group the values of real rows of the other group, all of them together at the least total distance. Rows of a
/// group and class are held in memory together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transport {
    /// The features that may change: `all`, or a list. What is not named stays as it is and counts for no distance.
    #[serde(rename = "move")]
    pub moves: Move,
    /// Within what rows are matched beside the group: `label`, `{label: raw}`, `{prediction: MODEL}` or `none`.
    pub condition_on: ConditionOn,
    /// What a row becomes: `argmax` the real row that most of it goes to, `barycentre` the mean of the rows it goes to.
    #[serde(default)]
    pub image: Image,
    /// The distance of two rows: `l2_squared` the sum of squared differences in standard deviations, `l1_squared` the square of the
    /// sum of absolute differences, as FlipTest has it. A category that differs counts 1.
    #[serde(default)]
    pub cost: Cost,
    /// The most distinct rows a side that are matched exactly, 1 to 20,000; larger strata are matched in blocks, and flagged. Memory
    /// grows with its square, 8 bytes each, for every thread.
    #[serde(default = "four_thousand")]
    pub max_rows: Count,
    /// For a feature, its permitted range; a counterfactual outside is not valid. Values are never clipped.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub range: IndexMap<ColumnName, Bounds>,
    /// For a feature, the only direction in which it may change; a counterfactual that goes the other way is not valid.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub direction: IndexMap<ColumnName, Way>,
}

fn four_thousand() -> Count {
    Count::new(4000).expect("4000 is at least 1")
}

/// Where knobs that are left out come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// What is recommended.
    #[default]
    Default,
    /// The formulas as the paper prints them, without guards; for comparison.
    AsPrinted,
}

/// The tests of flips.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flip {
    /// Whether a level must be rarer in the target group (`directed`), or only differ (`absolute`). Left out: `directed`;
    /// `as_printed`: `absolute`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<FlipRule>,
    /// Fewest rows in each of the two pools of a conditional test. Left out: 10; `as_printed`: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_support: Option<Count>,
    /// A level at most this probable in the target group is impossible there and always left; below 0 nothing is. Left out: 0.01;
    /// `as_printed`: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impossible: Option<Finite>,
    /// An impossible level is also at most this many times as probable as in the own group; `none`: no such guard. Left out: 0.05;
    /// `as_printed`: `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impossible_ratio: Option<Ratio>,
    /// An impossible level would be expected of at least this many rows of the target group, were it as frequent as in the own one.
    /// Left out: 3; `as_printed`: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_expected: Option<Finite>,
    /// Whether the whole groups are asked what is impossible, or the strata of the row.
    #[serde(default)]
    pub impossible_scope: ImpossibleScope,
}

/// When a feature counts as related to the attribute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelationKnobs {
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
pub struct KeepWithin {
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
    pub select: Select,
}

/// A sensitive attribute whose counterfactuals join the reference, so that it is independent of what may not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decorrelate {
    /// The attribute.
    pub sensitive: ColumnName,
    /// The features that may change with it: `all`, or a list. What tells the group of an attribute that the set changes stays.
    #[serde(rename = "move")]
    pub moves: Move,
}

/// The knobs of a strategy that is fitted, whichever it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Knobs<'a> {
    /// Those of greedy.
    Greedy(&'a Greedy),
    /// Those of plausible.
    Plausible(&'a Plausible),
    /// Those of transport.
    Transport(&'a Transport),
}

impl<'a> Knobs<'a> {
    /// The key of the strategy in a job.
    pub fn word(self) -> &'static str {
        match self {
            Knobs::Greedy(_) => "greedy",
            Knobs::Plausible(_) => "plausible",
            Knobs::Transport(_) => "transport",
        }
    }

    /// What distributions are conditioned on beside the group.
    pub fn condition_on(self) -> &'a ConditionOn {
        match self {
            Knobs::Greedy(greedy) => &greedy.condition_on,
            Knobs::Plausible(plausible) => &plausible.condition_on,
            Knobs::Transport(transport) => &transport.condition_on,
        }
    }

    /// Whether a feature of this name may change.
    pub fn may_move(self, name: &str) -> bool {
        match self {
            Knobs::Greedy(greedy) => greedy.keep_fixed.iter().all(|fixed| fixed.as_str() != name),
            Knobs::Plausible(Plausible { moves, .. }) | Knobs::Transport(Transport { moves, .. }) => moves.has(name),
        }
    }

    /// The list that names features, and its key: those that may change, or for greedy those that may not.
    pub fn named(self) -> Option<(&'static str, &'a [ColumnName])> {
        match self {
            Knobs::Greedy(greedy) => (!greedy.keep_fixed.is_empty()).then_some(("keep_fixed", &greedy.keep_fixed)),
            Knobs::Plausible(Plausible { moves, .. }) | Knobs::Transport(Transport { moves, .. }) => match moves {
                Move::All => None,
                Move::These(names) => Some(("move", names)),
            },
        }
    }

    /// Permitted ranges.
    pub fn range(self) -> &'a IndexMap<ColumnName, Bounds> {
        match self {
            Knobs::Greedy(greedy) => &greedy.range,
            Knobs::Plausible(plausible) => &plausible.range,
            Knobs::Transport(transport) => &transport.range,
        }
    }

    /// Permitted directions.
    pub fn direction(self) -> &'a IndexMap<ColumnName, Way> {
        match self {
            Knobs::Greedy(greedy) => &greedy.direction,
            Knobs::Plausible(plausible) => &plausible.direction,
            Knobs::Transport(transport) => &transport.direction,
        }
    }

    /// Declared counterparts of levels, by feature.
    pub fn counterpart(self) -> Option<&'a IndexMap<ColumnName, IndexMap<Word, Word>>> {
        match self {
            Knobs::Greedy(greedy) => Some(&greedy.counterpart),
            Knobs::Plausible(plausible) => Some(&plausible.counterpart),
            Knobs::Transport(_) => None,
        }
    }

    /// What joins the reference first.
    pub fn decorrelate(self) -> &'a [Decorrelate] {
        match self {
            Knobs::Greedy(greedy) => &greedy.decorrelate,
            Knobs::Plausible(plausible) => &plausible.decorrelate,
            Knobs::Transport(_) => &[],
        }
    }

    /// The number of counterfactuals per row and group, the limit that is written, and the filter.
    pub fn several(self) -> Option<(Number, Option<Count>, Option<&'a KeepWithin>)> {
        match self {
            Knobs::Greedy(greedy) => Some((greedy.cfs, greedy.max_cfs, greedy.keep_within.as_ref())),
            Knobs::Plausible(plausible) => Some((plausible.cfs, plausible.max_cfs, plausible.keep_within.as_ref())),
            Knobs::Transport(_) => None,
        }
    }

    /// At most how many counterfactuals a row has in one group.
    pub fn most(self) -> usize {
        match self {
            Knobs::Greedy(greedy) => greedy.plan().most(),
            Knobs::Plausible(plausible) => plausible.plan().most(),
            Knobs::Transport(_) => 1,
        }
    }

    /// The tests of flips.
    pub fn flip(self) -> Option<&'a Flip> {
        match self {
            Knobs::Greedy(greedy) => Some(&greedy.flip),
            Knobs::Plausible(plausible) => Some(&plausible.flip),
            Knobs::Transport(_) => None,
        }
    }
}

/// What greedy and plausible have in common.
struct Common<'a> {
    condition_on: &'a ConditionOn,
    preset: Preset,
    threshold: Option<Fraction>,
    depth: Option<u32>,
    cdf: Option<Cdf>,
    min_stratum: Option<Count>,
    flip: &'a Flip,
    new_value: Option<NewValue>,
    counterpart: &'a IndexMap<ColumnName, IndexMap<Word, Word>>,
    cfs: Number,
    max_cfs: Option<Count>,
    keep_within: &'a Option<KeepWithin>,
    decorrelate: &'a [Decorrelate],
    range: &'a IndexMap<ColumnName, Bounds>,
    direction: &'a IndexMap<ColumnName, Way>,
}

impl Plausible {
    /// What the knobs come to.
    pub fn plan(&self) -> Plan {
        let Plausible {
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
        let (preset, threshold, depth, cdf, min_stratum) = (*preset, *threshold, *depth, *cdf, *min_stratum);
        let (new_value, cfs, max_cfs) = (*new_value, *cfs, *max_cfs);
        let common = Common {
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
        common.plan(May::Move(moves.clone()))
    }

    /// Writes out what is left to the preset.
    pub fn resolve(&mut self) {
        let Plan { cdf, flips, filter, .. } = self.plan();
        self.threshold = self.threshold.or(Fraction::new(flips.tau));
        self.depth = Some(flips.max_depth);
        self.cdf = Some(cdf);
        self.min_stratum = self.min_stratum.or(Count::new(flips.min_stratum));
        self.flip.resolve(&flips);
        self.new_value = Some(flips.new_value);
        if self.cfs == Number::Multiple {
            self.max_cfs = self.max_cfs.or(Count::new(flips.max_cfs as u64));
        }
        if let Some((within, filter)) = self.keep_within.as_mut().zip(filter) {
            within.explained = within.explained.or(Fraction::new(filter.explained));
            within.max_components = within.max_components.or(Count::new(filter.max_components as u64));
        }
    }
}

impl Greedy {
    /// What the knobs come to.
    pub fn plan(&self) -> Plan {
        let Greedy {
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
        let (preset, threshold, depth, cdf, min_stratum) = (*preset, *threshold, *depth, *cdf, *min_stratum);
        let (new_value, cfs, max_cfs) = (*new_value, *cfs, *max_cfs);
        let common = Common {
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
        let test = if preset == Preset::AsPrinted { RelationTest::None } else { RelationTest::Ks };
        let relation = Relation {
            test: relation.test.unwrap_or(test),
            alpha: relation.alpha.map_or(0.05, Level::get),
            min_effect: relation.min_effect.map_or(0.0, Fraction::get),
        };
        common.plan(May::Relate { keep_fixed: keep_fixed.clone(), relation })
    }

    /// Writes out what is left to the preset.
    pub fn resolve(&mut self) {
        let Plan { cdf, flips, filter, may, .. } = self.plan();
        if let May::Relate { relation, .. } = may {
            self.relation.resolve(&relation);
        }
        self.threshold = self.threshold.or(Fraction::new(flips.tau));
        self.depth = Some(flips.max_depth);
        self.cdf = Some(cdf);
        self.min_stratum = self.min_stratum.or(Count::new(flips.min_stratum));
        self.flip.resolve(&flips);
        self.new_value = Some(flips.new_value);
        if self.cfs == Number::Multiple {
            self.max_cfs = self.max_cfs.or(Count::new(flips.max_cfs as u64));
        }
        if let Some((within, filter)) = self.keep_within.as_mut().zip(filter) {
            within.explained = within.explained.or(Fraction::new(filter.explained));
            within.max_components = within.max_components.or(Count::new(filter.max_components as u64));
        }
    }
}

impl Flip {
    fn resolve(&mut self, flips: &FlipSettings) {
        self.rule = Some(flips.rule);
        self.min_support = self.min_support.or(Count::new(flips.min_support));
        self.impossible = self.impossible.or(Finite::new(flips.impossible));
        let ratio = flips.impossible_ratio.and_then(Finite::new);
        self.impossible_ratio = Some(ratio.map_or(Ratio::None, Ratio::AtMost));
        self.min_expected = self.min_expected.or(Finite::new(flips.min_expected));
    }
}

impl RelationKnobs {
    fn resolve(&mut self, relation: &Relation) {
        self.test = Some(relation.test);
        if relation.test == RelationTest::Ks {
            self.alpha = self.alpha.or(Level::new(relation.alpha));
            self.min_effect = self.min_effect.or(Fraction::new(relation.min_effect));
        }
    }
}

impl Transport {
    /// What the knobs come to: which variables may change, and the checks; there are no tests.
    pub fn plan(&self) -> Plan {
        let common = Common {
            condition_on: &self.condition_on,
            preset: Preset::Default,
            threshold: None,
            depth: None,
            cdf: None,
            min_stratum: None,
            flip: &Flip::default(),
            new_value: None,
            counterpart: &IndexMap::new(),
            cfs: Number::Single,
            max_cfs: None,
            keep_within: &None,
            decorrelate: &[],
            range: &self.range,
            direction: &self.direction,
        };
        common.plan(May::Move(self.moves.clone()))
    }

    /// How plans are made.
    pub fn settings(&self) -> Settings {
        Settings { image: self.image, cost: self.cost, max_rows: self.max_rows }
    }
}

impl Common<'_> {
    fn plan(&self, may: May) -> Plan {
        let as_printed = self.preset == Preset::AsPrinted;
        let least = |knob: Option<Count>| knob.map_or(if as_printed { 1 } else { 10 }, Count::get);
        let ratio = match self.flip.impossible_ratio {
            Some(Ratio::AtMost(ratio)) => Some(ratio.get()),
            Some(Ratio::None) => None,
            None => (!as_printed).then_some(0.05),
        };
        let flips = FlipSettings {
            tau: self.threshold.map_or(0.5, Fraction::get),
            rule: self.flip.rule.unwrap_or(if as_printed { FlipRule::Absolute } else { FlipRule::Directed }),
            max_depth: self.depth.unwrap_or(2),
            min_support: least(self.flip.min_support),
            min_stratum: least(self.min_stratum),
            impossible: self.flip.impossible.map_or(if as_printed { 0.0 } else { 0.01 }, Finite::get),
            impossible_ratio: ratio,
            min_expected: self.flip.min_expected.map_or(if as_printed { 0.0 } else { 3.0 }, Finite::get),
            impossible_scope: self.flip.impossible_scope,
            new_value: self.new_value.unwrap_or(if as_printed { NewValue::Mode } else { NewValue::Likely }),
            cfs: self.cfs,
            max_cfs: self.max_cfs.map_or(8, |n| usize::try_from(n.get()).unwrap_or(usize::MAX)),
        };
        let filter = |knobs: &KeepWithin| FilterSettings {
            k: knobs.centroid_sd.get(),
            explained: knobs.explained.map_or(0.9, Fraction::get),
            max_components: knobs.max_components.map_or(10, |n| usize::try_from(n.get()).unwrap_or(usize::MAX)),
            select: knobs.select,
        };
        let words = |pairs: &IndexMap<Word, Word>| pairs.iter().map(|(from, to)| (from.0.clone(), to.0.clone())).collect();
        Plan {
            condition: if *self.condition_on == ConditionOn::Nothing { Condition::Nothing } else { Condition::Class },
            cdf: self.cdf.unwrap_or(if as_printed { Cdf::Weak } else { Cdf::Midrank }),
            may,
            flips,
            filter: self.keep_within.as_ref().map(filter),
            counterparts: self.counterpart.iter().map(|(feature, pairs)| (feature.as_str().to_owned(), words(pairs))).collect(),
            decorrelate: self.decorrelate.to_vec(),
            range: self.range.iter().map(|(name, bounds)| (name.clone(), *bounds)).collect(),
            direction: self.direction.iter().map(|(name, way)| (name.clone(), *way)).collect(),
        }
    }
}
