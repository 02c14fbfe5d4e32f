//! External: the counterfactuals of a generator of the user's own (a GAN, DiCE, DoWhy, an expert's
//! table), read from a file or asked of a program.
//!
//! Input: rows keyed by `row_id`, `sensitive`, `to_group` and `cf_index`
//! ([`crate::data::exchange::external`]); output: these rows, everything else copied from the
//! person. What the reference teaches serves the filter and the measures of quality alone.
//! Cost: a look-up by binary search for each person and group; all rows of an attribute in memory.

use std::sync::Arc;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counterfactual::conditional::{Conditioning, ReferenceCounts};
use crate::counterfactual::domain_checks::{PermittedDirection, PermittedRange};
use crate::counterfactual::engine::{
    ExternalSource, FittedKnobs, FoldGenerator, FoldRows, LearntStrategy, StrategyEffect,
    StrategyKnobs, StrategyRecord,
};
use crate::counterfactual::fit::{MoveRule, StrategyPlan};
use crate::counterfactual::flip::CounterfactualsPerRow;
use crate::counterfactual::forms::{ConditionOn, MovableFeatures};
use crate::counterfactual::generate::FittedMapFlip;
use crate::counterfactual::knobs::{KeepWithinBlock, MapFlipBlock};
use crate::counterfactual::plausibility_filter::PlausibilityFilter;
use crate::counterfactual::variable::{StrategyVariable, VariableOptions};
use crate::counterfactual::{GeneratedBatch, Generator, SampleBatch, set_group};
use crate::data::exchange::external::ExternalRows;
use crate::data::rows::reference::ReferenceRows;
use crate::data::source::row_program::RowProgramBlock;
use crate::data::{Attribute, Layout};
use crate::error::{Error, Result};
use crate::param::{ColumnName, KnobRefusal};

/// What is known of external.
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-filled" = "name a Parquet file", "x-address" = "local"))]
    pub parquet: Option<String>,
    /// Instead of a file a program: it gets a row for each person and other group on standard input
    /// (the key, then the features as the person has them) as an Arrow IPC stream, and writes rows
    /// as in the file. One process for each attribute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<RowProgramBlock>,
    /// What the measures of quality and `keep_within` compare within, in addition to the group:
    /// `label`, `{label: raw}`, `{prediction: MODEL}` or `none`. Except with `none`, people without
    /// it have no counterfactual.
    #[serde(default = "nothing")]
    pub condition_on: ConditionOn,
    /// Counterfactuals too far from the centroid of their target group and class are not valid.
    /// Default: no filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_within: Option<KeepWithinBlock>,
    /// For a feature, its permitted range; a counterfactual outside is not valid. Values are never
    /// clipped.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub range: IndexMap<ColumnName, PermittedRange>,
    /// For a feature, the only direction in which it may change; a counterfactual that goes the
    /// other way is not valid.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub direction: IndexMap<ColumnName, PermittedDirection>,
}

fn nothing() -> ConditionOn {
    ConditionOn::Nothing
}

impl ExternalBlock {
    fn common(&self) -> MapFlipBlock<'_> {
        MapFlipBlock {
            condition_on: Some(&self.condition_on),
            cfs: CounterfactualsPerRow::Multiple,
            keep_within: self.keep_within.as_ref(),
            range: Some(&self.range),
            direction: Some(&self.direction),
            ..MapFlipBlock::default()
        }
    }

    /// The plan: filter and checks; nothing is moved by it.
    fn plan(&self) -> StrategyPlan {
        self.common().plan(MoveRule::Move(MovableFeatures::All))
    }
}

impl StrategyKnobs for ExternalBlock {
    fn resolve(&mut self, _graph_columns: Option<Vec<ColumnName>>) {
        let filter = self.plan().filter;
        if let Some((within, filter)) = self.keep_within.as_mut().zip(filter) {
            within.resolve(&filter);
        }
    }

    fn fitted(&self) -> Option<&dyn FittedKnobs> {
        Some(self)
    }
}

impl FittedKnobs for ExternalBlock {
    fn condition_on(&self) -> &ConditionOn {
        &self.condition_on
    }

    fn may_move(&self, _name: &str) -> bool {
        true
    }

    fn named_features(&self) -> Option<(&'static str, &[ColumnName])> {
        None
    }

    fn range(&self) -> &IndexMap<ColumnName, PermittedRange> {
        &self.range
    }

    fn direction(&self) -> &IndexMap<ColumnName, PermittedDirection> {
        &self.direction
    }

    fn external(&self) -> Option<ExternalSource<'_>> {
        match (&self.parquet, &self.command) {
            (_, Some(program)) => Some(ExternalSource::Program(program)),
            (Some(file), None) => Some(ExternalSource::File(file)),
            (None, None) => None,
        }
    }

    fn refusals(&self) -> Vec<KnobRefusal> {
        let mut found = self.common().refusals();
        match (self.parquet.as_deref(), &self.command) {
            (Some(_), None) | (None, Some(_)) => {}
            (Some(_), Some(_)) => {
                let what = "the counterfactuals come from a file and from a program";
                let hint = "keep `parquet` or `command`; two sources are two sets";
                found.push(KnobRefusal::new("command", "one-of", what, hint));
            }
            (None, None) => {
                let what = "nothing says where the counterfactuals come from";
                let hint = "name a Parquet file, `parquet: mine.parquet`, or a program that writes \
                            them, `command: [python3, mine.py]`";
                found.push(KnobRefusal::new("", "one-of", what, hint));
            }
        }
        found
    }

    fn plan(&self) -> StrategyPlan {
        self.plan()
    }

    fn fit(
        &self,
        layout: &Layout,
        extras: &VariableOptions,
        reference: &ReferenceRows<'_>,
        position: usize,
    ) -> Result<Box<dyn LearntStrategy>> {
        Ok(Box::new(LearntExternal(self.plan().fit(layout, extras, reference, position)?)))
    }

    fn read(&self, json: &str) -> serde_json::Result<Box<dyn LearntStrategy>> {
        Ok(Box::new(serde_json::from_str::<LearntExternal>(json)?))
    }
}

/// What filter and quality learnt of the reference.
#[derive(Debug, Serialize, Deserialize)]
struct LearntExternal(FittedMapFlip);

impl LearntStrategy for LearntExternal {
    fn variables(&self) -> &[StrategyVariable] {
        &self.0.variables
    }

    fn n_groups(&self) -> usize {
        self.0.n_groups
    }

    fn counts(&self) -> &ReferenceCounts {
        &self.0.counts
    }

    fn condition(&self) -> Conditioning {
        self.0.rules.condition
    }

    fn filter(&self) -> Option<&PlausibilityFilter> {
        self.0.filter.as_ref()
    }

    // Nobody has to be there to learn from.
    fn unlearnt_groups(&self) -> Vec<usize> {
        Vec::new()
    }

    fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    fn generator(self: Box<Self>, rows: &FoldRows<'_>) -> Result<FoldGenerator> {
        let given = rows.external.clone().ok_or_else(|| {
            let hint = "this is a bug in cfaudit: the stage must read the file";
            Error::operator("take", "counterfactuals", "no file of them was read", hint)
        })?;
        let generator = Box::new(ExternalGenerator { fitted: self.0, given });
        Ok(FoldGenerator { generator, tallies: None })
    }
}

/// Gives people the counterfactuals that were brought.
#[derive(Debug)]
struct ExternalGenerator {
    fitted: FittedMapFlip,
    given: Arc<ExternalRows>,
}

impl Generator for ExternalGenerator {
    fn generate(
        &self,
        samples: &SampleBatch<'_>,
        attribute: &Attribute,
        to: usize,
    ) -> GeneratedBatch {
        let needs_class = self.fitted.rules.condition == Conditioning::Class;
        let (mut parent, mut keys, mut no_class) = (Vec::new(), Vec::new(), 0);
        for i in (0..samples.rows.n).filter(|&i| samples.own_group(i, to).is_some()) {
            if needs_class && samples.stratum_key(i).1.is_none() {
                no_class += 1;
                continue;
            }
            let given = self.given.of(samples.keys[i], to);
            parent.extend(given.iter().map(|_| i));
            keys.extend_from_slice(given);
        }
        let mut rows = samples.rows.take(&parent);
        self.given.write(&keys, &mut rows);
        set_group(&mut rows, attribute, to);
        let cf_index = keys.iter().map(|key| key.cf_index).collect();
        let mut made = GeneratedBatch { cf_index, ..GeneratedBatch::unchanged(rows, parent) };
        made.valid = keys.iter().map(|key| self.given.is_valid(key)).collect();
        made.tally.no_class = no_class;
        let variables = &self.fitted.variables;
        for (j, &parent) in made.parent.iter().enumerate() {
            let differs = |variable: &&StrategyVariable| {
                let before = variable.value(samples.rows, parent);
                let after = variable.value(&made.rows, j);
                match (before.is_nan(), after.is_nan()) {
                    (false, false) => (after - before).abs() > 1e-9 * before.abs().max(1.0),
                    (before, after) => before != after,
                }
            };
            made.counters[j].n_changed =
                u32::try_from(variables.iter().filter(differs).count()).unwrap_or(u32::MAX);
        }
        if let Some(filter) = &self.fitted.filter {
            let classes = |i: usize| samples.classes.get(i).copied().flatten();
            filter.apply(variables, self.fitted.rules.condition, classes, to, &mut made);
        }
        self.fitted.rules.checks.apply(variables, samples.rows, &mut made);
        if let Some(filter) = &self.fitted.filter {
            filter.select(&mut made);
        }
        made
    }
}
