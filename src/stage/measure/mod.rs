//! The stage `measure`: evidence to tables. Rows of tables are written by the [`row_builder`],
//! gates judged in [`gate`](crate::stage::gate); what graphs add stands in [`worlds`].

pub mod catalog;
mod classes;
pub mod counted_audit;
pub(crate) mod examples;
pub mod labels;
pub mod quality;
mod row_builder;
mod worlds;

use std::collections::BTreeMap;
use std::path::Path;

use crate::data::Attribute;
use crate::data::prepare::PrepareFindings;
use crate::error::Result;
use crate::exec::{StageContext, files};
use crate::job::check::CheckedJob;
use crate::job::{self, ModelBlock};
use crate::metric::bootstrap::placebo::PlaceboEvidence;
use crate::metric::bootstrap::redraw::ShiftEvidence;
use crate::metric::evidence::counts::{CounterfactualCounts, FactualCounts};
use crate::metric::evidence::flip_test::FlipTestResult;
use crate::metric::evidence::labels::MissingLabels;
use crate::metric::scope::GroupSelection;
use crate::metric::value::classes::FactualClassCounts;
use crate::metric::value::compare::{compare_counterfactual, compare_factual};
use crate::metric::value::measured::measure_factual;
use crate::metric::value::settings::{FavourableClass, FavouredGroups, MeasureSettings};
use crate::metric::value::switches::measure_counterfactual;
use crate::metric::value::worlds::measure_worlds;
use crate::stage::artifact::{EVIDENCE, LABELS, SHIFT_EVIDENCE, SLICE_EVIDENCE, SMALL_SLICES};
use crate::stage::count::slices::{AttributeSlices, CounterfactualSlices, FactualSlices};
use crate::stage::count::CountStage;
use crate::stage::discover::tables::{GraphSetScenario, GraphTables};
use crate::stage::generate::{QualityStage, placebo};
use crate::stage::measure::catalog::families;
use crate::stage::measure::counted_audit::{AuditInputs, CountedAudit};
use crate::stage::planner::StageInput;
use crate::stage::row_context::RowContext;
use crate::stage::score::{ThresholdStage, threshold};
use crate::table::file::write_rows;
use crate::table::picked::gather_rows;
use crate::table::{
    CfDistributionRow, CfExampleRow, CfFeatureRow, CfQualityRow, ComparisonRow, FilterRow,
    IssueRow, ThresholdRow, whole,
};

pub(crate) use crate::stage::gate::judge;
pub use crate::stage::gate::{questions, recourse_of, recourse_questions, verdicts};
pub(crate) use row_builder::{ResultTables, RowBuilder};

/// Writes what preparing found as tables beside the rows.
///
/// # Errors
/// The disk refuses.
pub fn write_prepared(out: &Path, prepared: &PrepareFindings, source_rows: u64) -> Result<()> {
    let mut filters = Vec::<FilterRow>::new();
    filters.push(FilterRow {
        step: 0,
        what: "rows of the source".into(),
        rows_in: whole(source_rows),
        rows_out: whole(source_rows),
    });
    for (i, step) in prepared.filters.iter().enumerate() {
        filters.push(FilterRow {
            step: whole(i as u64 + 1),
            what: step.what.as_str().into(),
            rows_in: whole(step.rows_in),
            rows_out: whole(step.rows_out),
        });
    }
    write_rows(out, &filters)?;
    let mut issues = Vec::<IssueRow>::new();
    for issue in &prepared.issues {
        issues.push(IssueRow {
            code: issue.code.into(),
            severity: issue.severity.as_str().into(),
            r#where: issue.place.as_str().into(),
            n: whole(issue.n),
            text: issue.text.as_str().into(),
        });
    }
    write_rows(out, &issues)
}

/// Writes the tables of all parts.
///
/// # Errors
/// Evidence that cannot be read, or a disk that refuses.
pub(crate) fn measure(
    ctx: &StageContext<'_>,
    checked: &CheckedJob,
    ground: RowContext<'_>,
    parts: &[AuditInputs],
    graphs: &[GraphSetScenario],
    fitted: &[(&str, &ModelBlock, StageInput<ThresholdStage>)],
) -> Result<()> {
    let layout = ground.rows.layout();
    let mut across = worlds::WorldTables::new();
    let mut tables = ResultTables::new();
    // By model and attribute; the rows as they are stand before the sets.
    let mut selective: BTreeMap<(&str, usize), bool> = BTreeMap::new();
    let parts = parts
        .iter()
        .map(|part| {
            let attribute = &layout.attributes[part.audit.attribute];
            Ok((part.with_untaught(ctx, attribute, graphs)?, part))
        })
        .collect::<Result<Vec<_>>>()?;
    for (part, stages) in &parts {
        ctx.check()?;
        let attribute = &layout.attributes[part.attribute];
        let text = stages.count.text(ctx, EVIDENCE)?;
        let of_part = (part.model.as_str(), part.attribute);
        if part.set.is_none() {
            let found = missing_labels(&text, &stages.count, checked)?;
            let classes = checked.job.data.label.column().and_then(|label| {
                let named = label.classes.as_ref()?.iter();
                Some(
                    named
                        .map(|class| (class.as_str(), label.positive.contains(class)))
                        .collect::<Vec<_>>(),
                )
            });
            let sides = labels::sides(&part.model, checked.job.data.favours_positive());
            labels::add_all_decisions(
                &mut tables.labels,
                attribute,
                &found,
                (&part.model, &sides),
                classes.as_deref(),
            );
            selective.insert(of_part, found.iter().any(MissingLabels::are_selective));
        }
        let selective = selective.get(&of_part).copied().unwrap_or(false);
        let scribe = RowBuilder {
            audit: part,
            layout,
            settings: settings(checked, attribute),
            slice: "",
            class: "",
            selective,
        };
        if let Some(label) = checked.job.data.label.column().filter(|label| label.classes.is_some())
        {
            classes::measure(ctx, label, ground, (&scribe, stages), &text, &mut tables)?;
            continue;
        }
        if part.set.is_none() {
            let counts: FactualCounts = stages.count.parse(&text)?;
            let flips = stages.flips.as_ref();
            let flips = flips.map(|stage| stage.read::<FlipTestResult>(ctx, EVIDENCE));
            let flips = flips.transpose()?;
            let measured = ground
                .workers
                .within(|| measure_factual(&counts, flips.as_ref(), &scribe.settings));
            tables.metrics.extend(measured.iter().map(|m| scribe.metric_row(m)));
            scribe.factual_counts(&counts, &mut tables);
        } else {
            let counts: CounterfactualCounts = stages.count.parse(&text)?;
            let read = || stages.count.read::<ShiftEvidence>(ctx, SHIFT_EVIDENCE);
            let second = stages.has_shift.then(read);
            let placebo = match (&stages.placebo_stage, stages.placebo) {
                (Some(stage), Some(_)) => {
                    let file = placebo::evidence_file(&part.model);
                    Some(PlaceboEvidence::Repeats(stage.read(ctx, &file)?))
                }
                (_, repeats) => repeats.map(PlaceboEvidence::Unmoved),
            };
            let second = second.transpose()?;
            if let Some(branched) = &stages.graph_scores {
                let branched = branched.graph_scores(ctx)?;
                let level = checked.job.metrics.worlds.level;
                let measured = ground
                    .workers
                    .within(|| measure_worlds(&branched.counts, level, &scribe.settings));
                let own = |set: &&GraphSetScenario| {
                    Some(&set.name) == part.set.as_ref() && set.position == part.attribute
                };
                let follows =
                    graphs.iter().find(own).is_some_and(GraphSetScenario::attribute_follows);
                tables.metrics.extend(measured.iter().map(|m| scribe.metric_across(m, follows)));
                across.add(&scribe, &branched, &measured);
            } else {
                let of_world = || {
                    measure_counterfactual(
                        &counts,
                        second.as_ref(),
                        placebo.as_ref(),
                        &scribe.settings,
                    )
                };
                let measured = ground.workers.within(of_world);
                tables.metrics.extend(measured.iter().map(|m| scribe.metric_row(m)));
            }
            scribe.counterfactual_counts(&counts, &mut tables);
        }
        if stages.has_slices {
            measure_slices(
                (&stages.count, &stages.count.text(ctx, SLICE_EVIDENCE)?),
                &scribe,
                checked.job.metrics.smallest_cell.get(),
                ground,
                &mut tables,
            )?;
        }
    }
    if !graphs.is_empty() {
        let mut of_graphs = GraphTables::default();
        for set in graphs {
            of_graphs.add(set, layout, checked.job.metrics.worlds.level);
            tables.metrics.extend(worlds::metrics_of_graphs(set, layout));
        }
        of_graphs.write(ctx.out())?;
        across.write(ctx.out())?;
    }
    files::write_json(&ctx.out().join(SMALL_SLICES), &tables.small_slices)?;
    files::write_json(&ctx.out().join(LABELS), &tables.labels)?;
    write_rows(ctx.out(), &tables.metrics)?;
    write_rows(ctx.out(), &tables.counts)?;
    write_rows(ctx.out(), &tables.shift)?;
    write_rows(ctx.out(), &tables.groups)?;
    write_rows(ctx.out(), &tables.transitions)?;
    write_rows(ctx.out(), &thresholds(ctx, fitted)?)?;
    write_rows(ctx.out(), &compare(ctx, checked, ground, &parts, &selective)?)
}

/// Who of the rows as they are lacks a label; of several classes with the decisions of each class
/// against all others.
fn missing_labels(
    text: &str,
    stage: &StageInput<CountStage>,
    checked: &CheckedJob,
) -> Result<Vec<MissingLabels>> {
    if checked.job.data.label.column().is_some_and(|label| label.classes.is_some()) {
        let counts: FactualClassCounts = stage.parse(text)?;
        return Ok(counts.one_vs_rest().iter().map(MissingLabels::from_counts).collect());
    }
    Ok(vec![MissingLabels::from_counts(&stage.parse(text)?)])
}

/// The thresholds that were fitted.
fn thresholds(
    ctx: &StageContext<'_>,
    fitted: &[(&str, &ModelBlock, StageInput<ThresholdStage>)],
) -> Result<Vec<ThresholdRow>> {
    let mut rows = Vec::new();
    for (name, model, stage) in fitted {
        let fitted = stage.open(ctx)?;
        threshold::push_thresholds(&mut rows, ("", name), &model.threshold, (0, &fitted));
    }
    Ok(rows)
}

/// Measures one part inside every slice. A slice of fewer than `smallest` people is counted, and
/// not measured.
fn measure_slices(
    (stage, text): (&StageInput<CountStage>, &str),
    whole: &RowBuilder<'_>,
    smallest: u64,
    ground: RowContext<'_>,
    tables: &mut ResultTables,
) -> Result<()> {
    let slices = AttributeSlices::of(whole.layout, whole.audit.attribute)?;
    let scribe = |slice: usize| RowBuilder {
        slice: slices.name(slice),
        settings: whole.settings.clone(),
        ..*whole
    };
    if whole.audit.set.is_none() {
        for (slice, counts) in &stage.parse::<FactualSlices>(text)?.0 {
            let scribe = scribe(*slice);
            if scribe.is_measured(
                counts.confusion(GroupSelection::All).predicted(),
                smallest,
                tables,
            ) {
                let measured =
                    ground.workers.within(|| measure_factual(counts, None, &scribe.settings));
                tables.metrics.extend(measured.iter().map(|m| scribe.metric_row(m)));
            }
            scribe.factual_counts(counts, tables);
        }
        return Ok(());
    }
    for (slice, counts, second) in &stage.parse::<CounterfactualSlices>(text)?.0 {
        let scribe = scribe(*slice);
        if scribe.is_measured(counts.cell_profiles().total().people(), smallest, tables) {
            let measured = ground
                .workers
                .within(|| measure_counterfactual(counts, second.as_ref(), None, &scribe.settings));
            tables.metrics.extend(measured.iter().map(|m| scribe.metric_row(m)));
        }
        scribe.counterfactual_counts(counts, tables);
    }
    Ok(())
}

/// The models that the job compares, on every set and attribute that both were counted on.
/// `selective` says of which models and attributes labels are missing for some people more often
/// than for others.
fn compare(
    ctx: &StageContext<'_>,
    checked: &CheckedJob,
    ground: RowContext<'_>,
    parts: &[(CountedAudit, &AuditInputs)],
    selective: &BTreeMap<(&str, usize), bool>,
) -> Result<Vec<ComparisonRow>> {
    let (layout, mut rows) = (ground.rows.layout(), Vec::new());
    for (first, second) in &checked.job.metrics.compare {
        let of_first = parts
            .iter()
            .filter(|(part, of)| part.model == first.as_str() && of.graph_scores.is_none());
        for (part, stages) in of_first {
            let same = |(other, _): &&(CountedAudit, &AuditInputs)| {
                other.model == second.as_str()
                    && (&other.set, other.attribute) == (&part.set, part.attribute)
            };
            let Some((_, others)) = parts.iter().find(same) else { continue };
            ctx.check()?;
            let scribe = RowBuilder {
                audit: part,
                layout,
                settings: settings(checked, &layout.attributes[part.attribute]),
                slice: "",
                class: "",
                selective: [first, second]
                    .iter()
                    .any(|model| selective.get(&(model.as_str(), part.attribute)) == Some(&true)),
            };
            let (one, two) = (&stages.count, &others.count);
            let compared = if part.set.is_none() {
                let counts: [FactualCounts; 2] =
                    [one.read(ctx, EVIDENCE)?, two.read(ctx, EVIDENCE)?];
                ground.workers.within(|| compare_factual(&counts[0], &counts[1], &scribe.settings))
            } else {
                let counts: [CounterfactualCounts; 2] =
                    [one.read(ctx, EVIDENCE)?, two.read(ctx, EVIDENCE)?];
                ground
                    .workers
                    .within(|| compare_counterfactual(&counts[0], &counts[1], &scribe.settings))
            };
            rows.extend(
                compared
                    .iter()
                    .map(|compared| scribe.comparison_row(("", second.as_str()), compared)),
            );
        }
    }
    Ok(rows)
}

/// Puts the tables of quality of all sets and attributes together.
///
/// # Errors
/// A table cannot be read or written.
pub(crate) fn gather_quality(
    ctx: &StageContext<'_>,
    stages: &[StageInput<QualityStage>],
) -> Result<()> {
    let folders: Vec<&Path> = stages.iter().map(|stage| stage.folder(ctx)).collect();
    gather_rows::<CfQualityRow>(ctx.out(), &folders)?;
    gather_rows::<CfFeatureRow>(ctx.out(), &folders)?;
    gather_rows::<CfDistributionRow>(ctx.out(), &folders)?;
    gather_rows::<CfExampleRow>(ctx.out(), &folders)
}

/// How to measure an attribute.
pub(crate) fn settings(checked: &CheckedJob, attribute: &Attribute) -> MeasureSettings {
    let metrics = &checked.job.metrics;
    MeasureSettings {
        families: families(checked),
        favourable: checked.job.data.favourable_side().unwrap_or(FavourableClass::Positive),
        favourable_stated: checked.job.data.favourable_side().is_some(),
        level: (metrics.interval.method == job::IntervalMethod::Auto)
            .then_some(metrics.interval.level),
        samples: metrics.bootstrap.samples,
        seed: checked.job.run.seed,
        min_group_size: metrics.min_group_size,
        min_denominator: metrics.min_denominator,
        favoured: favoured(checked, attribute),
    }
}

/// Whom the job favours among the groups of an attribute; the reference where it does not say.
pub fn favoured(checked: &CheckedJob, attribute: &Attribute) -> FavouredGroups<usize> {
    let named =
        checked.job.metrics.clarify.as_ref().and_then(|c| c.favoured.get(attribute.name.as_str()));
    let order = attribute.reference_first();
    match named {
        Some(FavouredGroups::Rest) => FavouredGroups::Rest,
        Some(FavouredGroups::Groups(words)) => {
            let is_named =
                |group: &usize| words.iter().any(|word| word.as_str() == attribute.groups[*group]);
            FavouredGroups::Groups(
                order
                    .iter()
                    .enumerate()
                    .filter(|(_, group)| is_named(group))
                    .map(|(rank, _)| rank)
                    .collect(),
            )
        }
        None => FavouredGroups::Groups(vec![0]),
    }
}
