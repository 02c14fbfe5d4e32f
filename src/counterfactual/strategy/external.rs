//! External: counterfactuals of another generator (a GAN, DiCE, DoWhy, an expert's table), read
//! from a file or requested from a program.
//!
//! Input: rows keyed by `row_id`, `sensitive`, `to_group` and `cf_index`
//! ([`crate::data::exchange::external`]); output: these rows, everything else copied from the
//! person. What is learnt from the reference is used only by the filter and the measures of
//! quality.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counterfactual::engine::{StrategyEffect, StrategyKnobs, StrategyRecord};
use crate::counterfactual::flip::{CounterfactualsPerRow, FlipSettings};
use crate::counterfactual::knobs::{KeepWithinBlock, plain_plan};
use crate::counterfactual::plan::{
    ExternalSource, PermittedDirections, PermittedRanges, StrategyEngine, StrategyPlan,
};
use crate::counterfactual::short_forms::{ConditionOn, MovableFeatures};
use crate::data::source::row_program::RowProgramBlock;
use crate::param::KnobRefusal;

/// The properties of the strategy.
pub(super) const RECORD: StrategyRecord = StrategyRecord {
    effect: StrategyEffect::MovesFeatures,
    example: "`external: {parquet: mine.parquet}` to bring your own",
    sentence: "Takes the counterfactuals that the job brings with it, made by another program or \
               by hand. Features that they do not name keep the values of the person.",
    sentence_if_derived: None,
};

/// Takes counterfactuals of the user's own, from a file or a program, keyed by `row_id`,
/// `sensitive`, `to_group` and `cf_index`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExternalBlock {
    /// The Parquet file: one row for each counterfactual, with any of the features; those without a
    /// column keep the values of the person. A column `valid` may say which rows count.
    #[schemars(extend("x-filled" = "name a Parquet file", "x-address" = "local"))]
    pub parquet: Option<String>,
    /// Instead of a file a program: it gets a row for each person and other group on standard input
    /// (the key, then the features as the person has them) as an Arrow IPC stream, and writes rows
    /// as in the file. One process for each attribute.
    pub command: Option<RowProgramBlock>,
    /// What the measures of quality and `keep_within` compare within, in addition to the group:
    /// `label`, `{label: raw}`, `{prediction: MODEL}` or `none`. Except with `none`, people without
    /// it have no counterfactual.
    #[serde(default = "nothing")]
    pub condition_on: ConditionOn,
    /// Counterfactuals too far from the centroid of their target group and class are not valid.
    /// Default: no filter.
    pub keep_within: Option<KeepWithinBlock>,
    /// For a feature, its permitted range; a counterfactual outside is not valid. Values are never
    /// clipped.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub range: PermittedRanges,
    /// For a feature, the only direction in which it may change; a counterfactual that goes the
    /// other way is not valid.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub direction: PermittedDirections,
}

fn nothing() -> ConditionOn {
    ConditionOn::Nothing
}

impl StrategyKnobs for ExternalBlock {
    fn plan(&self) -> Option<StrategyPlan<'_>> {
        let source = match (&self.parquet, &self.command) {
            (_, Some(program)) => Some(ExternalSource::Program(program)),
            (Some(file), None) => Some(ExternalSource::File(file)),
            (None, None) => None,
        };
        let plan = plain_plan(&self.condition_on, &MovableFeatures::All);
        Some(StrategyPlan {
            flips: FlipSettings { cfs: CounterfactualsPerRow::Multiple, ..plan.flips },
            filter: self.keep_within,
            range: self.range.as_slice(),
            direction: self.direction.as_slice(),
            engine: StrategyEngine::External(source),
            ..plan
        })
    }

    fn refusals(&self) -> Vec<KnobRefusal> {
        let refusal = match (&self.parquet, &self.command) {
            (Some(_), None) | (None, Some(_)) => return Vec::new(),
            (Some(_), Some(_)) => {
                let what = "the counterfactuals come from a file and from a program";
                let hint = "keep `parquet` or `command`; two sources are two sets";
                KnobRefusal::new("command", "one-of", what, hint)
            }
            (None, None) => {
                let what = "nothing says where the counterfactuals come from";
                let hint = "name a Parquet file, `parquet: mine.parquet`, or a program that writes \
                            them, `command: [python3, mine.py]`";
                KnobRefusal::new("", "one-of", what, hint)
            }
        };
        vec![refusal]
    }
}
