//! Transport as a job asks for it: its knobs, and how it learns.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counterfactual::SampleBatch;
use crate::counterfactual::conditional::{Conditioning, ReferenceCounts};
use crate::counterfactual::counting::counts_of;
use crate::counterfactual::domain_checks::{PermittedDirection, PermittedRange};
use crate::counterfactual::engine::{
    FittedKnobs, FoldGenerator, FoldRows, LearntStrategy, StrategyEffect, StrategyKnobs,
    StrategyRecord,
};
use crate::counterfactual::fit::{MoveRule, StrategyPlan, check_reference, empty_reference};
use crate::counterfactual::forms::{ConditionOn, MovableFeatures};
use crate::counterfactual::generate::EligibleVariables;
use crate::counterfactual::knobs::MapFlipBlock;
use crate::counterfactual::transport::cost::TransportCost;
use crate::counterfactual::transport::distance::TransportDistance;
use crate::counterfactual::transport::matching::{
    FittedTransport, ProblemTask, TransportRows, renumber_columns,
};
use crate::counterfactual::transport::{TransportImage, TransportSettings};
use crate::counterfactual::variable::{StrategyVariable, VariableOptions};
use crate::data::Layout;
use crate::data::rows::reference::ReferenceRows;
use crate::error::Result;
use crate::exec::accumulator::Accumulator;
use crate::param::{ColumnName, Count};

/// The most rows a side of one problem: its costs take 3.2 GB.
const MOST_MATCHED: u64 = 20_000;

/// What is known of transport.
pub(super) const RECORD: StrategyRecord = StrategyRecord {
    effect: StrategyEffect::MovesFeatures,
    example: "`transport: {move: all, condition_on: label}`",
    sentence: "Gives the rows of a group the values of real rows of the other group, matched so \
               that the total distance is smallest (optimal transport).",
    sentence_if_derived: None,
};

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
    #[serde(default = "Count::of::<4000>")]
    #[schemars(extend("maximum" = MOST_MATCHED,
        "x-range" = "a number of rows up to 20000; 4000 is usual"))]
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

impl TransportBlock {
    /// The plan: which variables may change, and the checks; transport has no tests.
    pub fn plan(&self) -> StrategyPlan {
        let rules = MapFlipBlock {
            condition_on: Some(&self.condition_on),
            range: Some(&self.range),
            direction: Some(&self.direction),
            ..MapFlipBlock::default()
        };
        rules.plan(MoveRule::Move(self.moves.clone()))
    }

    /// The settings of the transport plans.
    fn settings(&self) -> TransportSettings {
        TransportSettings { image: self.image, cost: self.cost, max_rows: self.max_rows }
    }
}

impl StrategyKnobs for TransportBlock {
    fn fitted(&self) -> Option<&dyn FittedKnobs> {
        Some(self)
    }
}

impl FittedKnobs for TransportBlock {
    fn condition_on(&self) -> &ConditionOn {
        &self.condition_on
    }

    fn may_move(&self, name: &str) -> bool {
        self.moves.contains(name)
    }

    fn named_features(&self) -> Option<(&'static str, &[ColumnName])> {
        self.moves.named().map(|names| ("move", names))
    }

    fn range(&self) -> &IndexMap<ColumnName, PermittedRange> {
        &self.range
    }

    fn direction(&self) -> &IndexMap<ColumnName, PermittedDirection> {
        &self.direction
    }

    fn matches_samples(&self) -> bool {
        true
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
        let plan = self.plan();
        let variables = plan.variables(layout, extras, position);
        let EligibleVariables::Named(named) = plan.eligible(&variables) else {
            return Err(empty_reference());
        };
        let moving: Vec<usize> = (0..variables.len()).filter(|&v| named[v]).collect();
        let movers: Vec<&StrategyVariable> = moving.iter().map(|&v| &variables[v]).collect();
        let (mut counts, mut crowd) = (ReferenceCounts::default(), TransportRows::default());
        reference.fold(
            |group| {
                let samples = SampleBatch::of_reference(group, position);
                (counts_of(&variables, &samples), TransportRows::from_all(&movers, &samples))
            },
            |(part, rows)| {
                counts.merge(part);
                crowd.append(rows);
            },
        )?;
        if counts.0.is_empty() {
            return Err(empty_reference());
        }
        check_reference(layout, &variables, &named, &counts, &plan)?;
        let distance = TransportDistance::new(renumber_columns(&movers), &crowd.to_rows());
        let checks = plan.checks(&variables);
        let n_groups = layout.attributes[position].groups.len();
        Ok(Box::new(FittedTransport {
            settings: self.settings(),
            variables,
            n_groups,
            condition: plan.condition,
            distance,
            moving,
            checks,
            counts,
        }))
    }

    fn read(&self, json: &str) -> serde_json::Result<Box<dyn LearntStrategy>> {
        Ok(Box::new(serde_json::from_str::<FittedTransport>(json)?))
    }
}

impl LearntStrategy for FittedTransport {
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
        self.condition
    }

    fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    fn generator(self: Box<Self>, rows: &FoldRows<'_>) -> Result<FoldGenerator> {
        let (mut targets, mut sources) = (TransportRows::default(), TransportRows::default());
        let take = |group: &_| self.matched_rows(group, rows.position);
        rows.reference.fold(take, |part| targets.append(part))?;
        rows.samples.fold(take, |part| sources.append(part))?;
        let spread = |n: usize, task: &ProblemTask<'_>| rows.samples.spread(n, task);
        let carrier = self.match_samples(rows.seed, sources, targets, &spread)?;
        let n = self.n_groups;
        let pairs =
            (0..n).flat_map(|from| (0..n).filter(move |&to| to != from).map(move |to| (from, to)));
        let tallies = pairs.map(|(from, to)| (from, to, carrier.tally(from, to))).collect();
        Ok(FoldGenerator { generator: Box::new(carrier), tallies: Some(tallies) })
    }
}
