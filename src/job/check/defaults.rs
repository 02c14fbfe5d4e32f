//! Writes out what a job leaves to defaults, among it the families that are measured.

use crate::job::blocks::clarify::ClarifyBlock;
use crate::job::{CounterfactualSet, GateDecideBy, Job, MetricFamily, SplitBlock};
use crate::metric::catalog::{catalog, find};
use crate::recourse::definition::RecourseView;

/// The job with every default written out. `run.keep_rows` stays open: it depends on the number of
/// rows.
pub(super) fn resolved(mut job: Job) -> Job {
    job.metrics.families = Some(families(&job));
    if job.metrics.families.iter().flatten().any(|&family| family == MetricFamily::Clarify) {
        job.metrics.clarify.get_or_insert_with(ClarifyBlock::default).resolve(&job.data);
    }
    job.label_amounts();
    job.vars.clear();
    job.include.clear();
    job.report.title.get_or_insert_with(|| job.name.to_string());
    let data = job.data.clone();
    for (name, attribute) in &mut job.data.sensitive {
        if !attribute.is_made_here() {
            attribute.from = Some(data.column_of(name).clone());
        }
        attribute.groups = data.groups_of(name);
        attribute.reference = data.reference_of(name);
    }
    let ranks = |s: &&mut SplitBlock| s.by.is_rank() && (s.share.is_some() || s.folds.is_some());
    if let Some(split) = job.data.split.as_mut().filter(ranks) {
        split.stratify = Some(data.strata_of_split());
    }
    for set in job.counterfactuals.values_mut() {
        set.sensitive.get_or_insert_with(|| job.data.sensitive.keys().cloned().collect());
        let graph_columns = match set.sensitive.as_deref() {
            Some([attribute]) => Some(job.data.graph_columns(attribute)),
            _ => None,
        };
        set.resolve(&graph_columns);
    }
    for gate in job.gates.values_mut() {
        let metric = gate.metric.as_deref().and_then(find);
        if metric.is_some_and(|metric| metric.family == MetricFamily::Graph) {
            gate.decide_by = Some(GateDecideBy::Estimate);
        }
        let block = gate.recourse.as_ref().and_then(|attribute| job.recourse.get(attribute));
        if let (Some(block), None) = (block, gate.view) {
            let definition = gate.definition.and_then(|d| d.definition(block.no_way_costs));
            let has = |view: &RecourseView| definition.is_some_and(|d| d.views().contains(view));
            let judged = |view: &RecourseView| has(view) && block.views.contains(view);
            gate.view = [RecourseView::Macro, RecourseView::Micro].into_iter().find(judged);
        }
        if gate.sensitive.is_none() && gate.is_of_metric() {
            let mut named = gate.named().into_iter();
            gate.sensitive = named.find_map(|(.., pairs)| Some(pairs.first()?.0.clone()));
        }
    }
    job
}

/// The families that are measured, in the order of [`MetricFamily`]: those the job names, or all
/// that the label and the sets allow.
pub(crate) fn families(job: &Job) -> Vec<MetricFamily> {
    let mut families = job.metrics.families.clone().unwrap_or_else(|| default_families(job));
    families.sort();
    families.dedup();
    families
}

fn default_families(job: &Job) -> Vec<MetricFamily> {
    use MetricFamily::{Ccm, Eccm, Group, Performance, Shift};
    let mut families: Vec<MetricFamily> =
        job.has_fitted_sets().then_some(MetricFamily::CfQuality).into_iter().collect();
    if job.audits_amounts() {
        families.push(MetricFamily::Amounts);
        return families;
    }
    let label = job.data.label.column().is_some();
    let is_scored = |set: &CounterfactualSet| {
        let mut asked = job.models.iter().filter(|(name, _)| set.asks(name));
        asked.any(|(_, model)| model.scores_counterfactuals())
    };
    let sets = job.counterfactuals.values().any(is_scored);
    let can = |&f: &MetricFamily| (label || !needs_label(f)) && (sets || !needs_counterfactual(f));
    families.extend([Performance, Group, Ccm, Eccm, Shift].into_iter().filter(can));
    families
}

pub(super) fn needs_counterfactual(family: MetricFamily) -> bool {
    matches!(family, MetricFamily::Ccm | MetricFamily::Eccm | MetricFamily::Shift)
}

/// Whether no metric of the family can be measured without a label.
pub(super) fn needs_label(family: MetricFamily) -> bool {
    let mut metrics = catalog().filter(|metric| metric.family == family).peekable();
    metrics.peek().is_some() && metrics.all(|metric| metric.needs_label)
}
