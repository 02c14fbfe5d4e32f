//! One audit: the stages whose evidence is measured together.

use crate::data::Attribute;
use crate::error::Result;
use crate::exec::StageContext;
use crate::metric::evidence::flip_test::FlipTestResult;
use crate::metric::scope::MetricScope;
use crate::param;
use crate::stage::artifact::EVIDENCE;
use crate::stage::discover::tables::GraphSetScenario;
use crate::stage::kinds::{
    CountStage, DoubtStage, FlipsStage, GenerateStage, PairStage, PlaceboStage, WorldsStage,
};
use crate::stage::stage_builder::StageInput;
use crate::unit::AuditUnit;

/// What an audit is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct CountedAudit {
    /// Experiment and arm; empty for the plain audit.
    pub arm: String,
    /// The model.
    pub model: String,
    /// The counterfactual set; none for the factual rows.
    pub set: Option<String>,
    /// Position of the attribute.
    pub attribute: usize,
    /// Groups that the strategy could learn nothing about, by position in reference-first order:
    /// values about them are undefined.
    pub without_rows: Vec<usize>,
    /// Whether the set gives no counterfactual to people without a label, because it conditions on
    /// the label.
    pub by_label: bool,
    /// Whether the model gives only decisions, so that metrics which need scores are undefined.
    pub scoreless: bool,
    /// Whether the scores are points, so that metrics which need probabilities are undefined.
    pub points: bool,
}

impl CountedAudit {
    /// Whether a value is about a group that the strategy could learn nothing about.
    pub(crate) fn lacks_rows(&self, scope: MetricScope) -> bool {
        self.without_rows.iter().any(|&group| scope.involves(group))
    }
}

/// Where the values of a placebo are.
pub(crate) enum PlaceboInput {
    /// In the stage that repeated the set.
    Repeats(StageInput<PlaceboStage>),
    /// In no stage: a strategy that learns from no sample moves nothing. The number of repeats.
    Unmoved(param::Count),
}

/// An audit with the stages that it is measured from.
pub(crate) struct AuditInputs {
    pub(crate) audit: CountedAudit,
    /// What is audited.
    pub(crate) unit: AuditUnit,
    /// The stage that counted the rows.
    pub(crate) count: StageInput<CountStage>,
    /// The placebo that the set requests.
    pub(crate) placebo: Option<PlaceboInput>,
    /// The stage that fitted the set on resampled rows, if the set requests it.
    pub(crate) doubt: Option<StageInput<DoubtStage>>,
    /// The count stages of each repeated training, if the model requests them; empty for a set that
    /// depends on causal graphs.
    pub(crate) retrained: Vec<StageInput<CountStage>>,
    /// The same for a set that depends on causal graphs.
    pub(crate) retrained_worlds: Vec<StageInput<WorldsStage>>,
    /// The stage of the flip test, if it runs.
    pub(crate) flips: Option<StageInput<FlipsStage>>,
    /// The worlds of a set that depends on causal graphs.
    pub(crate) graph_scores: Option<StageInput<WorldsStage>>,
    /// The stage that generated the counterfactuals of a set.
    pub(crate) generate: Option<StageInput<GenerateStage>>,
}

/// Two audits that are compared, by their numbers.
pub(crate) struct PairInputs {
    pub(crate) first: usize,
    pub(crate) second: usize,
    /// The stage that counted the pairs of predictions.
    pub(crate) counts: StageInput<PairStage>,
}

/// The groups of an attribute that have no rows to learn from, by position in reference-first
/// order.
pub(crate) fn ranks_without_rows(attribute: &Attribute, named: &[String]) -> Vec<usize> {
    let order = attribute.reference_first();
    (0..order.len()).filter(|&rank| named.contains(&attribute.groups[order[rank]])).collect()
}

impl AuditInputs {
    /// The results of the flip test, for each class that is measured as the positive one; empty if
    /// it does not run.
    pub(crate) fn flip_tests(&self, ctx: &StageContext<'_>) -> Result<Vec<FlipTestResult>> {
        let found = self.flips.as_ref().map(|stage| stage.read(ctx, EVIDENCE));
        found.unwrap_or(Ok(Vec::new()))
    }

    /// The audit with the groups that the strategy could learn nothing about.
    pub(crate) fn with_groups_without_rows(
        &self,
        ctx: &StageContext<'_>,
        attribute: &Attribute,
        graphs: &[GraphSetScenario],
    ) -> Result<CountedAudit> {
        let audit = &self.audit;
        let set = graphs
            .iter()
            .find(|set| Some(&set.name) == audit.set.as_ref() && set.position == audit.attribute);
        let named = match (set, &self.generate) {
            (Some(set), _) => set.discovered.without_rows.clone(),
            (None, Some(stage)) => stage.effects(ctx)?.without_rows,
            (None, None) => Vec::new(),
        };
        Ok(CountedAudit { without_rows: ranks_without_rows(attribute, &named), ..audit.clone() })
    }
}
