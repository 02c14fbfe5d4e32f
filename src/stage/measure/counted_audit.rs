//! A counted audit: the stages whose evidence is measured together.

use crate::data::Attribute;
use crate::error::Result;
use crate::exec::StageContext;
use crate::param::Count;
use crate::stage::discover::tables::GraphSetScenario;
use crate::stage::generate::rows::GeneratedEffects;

/// What a stage `count` counted.
#[derive(Debug, Clone, Default)]
pub struct CountedAudit {
    /// Experiment and arm; empty for the plain audit.
    pub arm: String,
    /// The model.
    pub model: String,
    /// The counterfactual set; none for the rows as they are.
    pub set: Option<String>,
    /// Position of the attribute.
    pub attribute: usize,
    /// The stage that counted.
    pub stage: String,
    /// The stage of the second pass; none where score metrics are not asked for.
    pub second_pass: Option<String>,
    /// Repeats of the placebo that the set asks for.
    pub placebo: Option<Count>,
    /// The stage that repeated it; none for a strategy that draws on no sample.
    pub placebo_stage: Option<String>,
    /// The stage that counted slices; none where the job names none.
    pub slices: Option<String>,
    /// The stage of the flip test; none where it does not run.
    pub flips: Option<String>,
    /// Of a set that rests on causal graphs where its worlds stand.
    pub graph_scores: Option<GraphScoreStage>,
    /// The stage that made the counterfactuals of a set.
    pub generate: Option<String>,
    /// Groups of which nothing could be learnt, by position in reference-first order: values about
    /// them are undefined.
    pub untaught: Vec<usize>,
    /// Whether the set gives no counterfactual to people without a label, because it conditions on
    /// the label.
    pub by_label: bool,
}

impl CountedAudit {
    /// The stages that it reads.
    pub fn stages(&self) -> impl Iterator<Item = &String> {
        let more =
            [&self.second_pass, &self.placebo_stage, &self.slices, &self.flips, &self.generate]
                .into_iter()
                .flatten();
        [&self.stage]
            .into_iter()
            .chain(more)
            .chain(self.graph_scores.iter().map(|branch| &branch.stage))
    }
}

/// For the groups of an attribute without rows to learn from their positions in reference-first
/// order.
pub(crate) fn untaught_ranks(attribute: &Attribute, named: &[String]) -> Vec<usize> {
    let order = attribute.reference_first();
    (0..order.len()).filter(|&rank| named.contains(&attribute.groups[order[rank]])).collect()
}

impl CountedAudit {
    /// The same with the groups of which nothing could be learnt.
    pub(crate) fn with_untaught(
        &self,
        ctx: &StageContext<'_>,
        attribute: &Attribute,
        graphs: &[GraphSetScenario],
    ) -> Result<CountedAudit> {
        let set = graphs
            .iter()
            .find(|set| Some(&set.name) == self.set.as_ref() && set.position == self.attribute);
        let named = match (set, &self.generate) {
            (Some(set), _) => set.discovered.untaught.clone(),
            (None, Some(stage)) => GeneratedEffects::read(ctx, stage)?.untaught,
            (None, None) => Vec::new(),
        };
        Ok(CountedAudit { untaught: untaught_ranks(attribute, &named), ..self.clone() })
    }
}

/// Where the worlds of a model and a graph-uncertain set stand.
#[derive(Debug, Clone)]
pub struct GraphScoreStage {
    /// The stage that scored them.
    pub stage: String,
}
