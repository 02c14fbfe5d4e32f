//! The stage `measure`: evidence becomes tables. [`row_builder`] writes their rows, [`worlds`] what
//! causal graphs add; [`gate`](crate::stage::gate) judges the gates.

pub(crate) mod amounts;
pub mod catalog;
mod classes;
pub(crate) mod counted_audit;
mod curve_files;
pub(crate) mod labels;
pub(crate) mod quality;
mod quality_map;
mod row_builder;
mod score_rows;
mod spread;
mod stage;
pub(crate) mod support;
mod worlds;

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::data::prepare::PrepareFindings;
use crate::data::{Attribute, Layout};
use crate::error::{Error, Result};
use crate::exec::{StageContext, files};
use crate::job;
use crate::job::check::CheckedJob;
use crate::metric::evidence::counts::{CounterfactualCounts, FactualCounts};
use crate::metric::evidence::labels::MissingLabels;
use crate::metric::evidence::paired_counts::PairedCounts;
use crate::metric::evidence::shift_pass::ShiftEvidence;
use crate::metric::noise::placebo::PlaceboEvidence;
use crate::metric::noise::repeats::SetRepeat;
use crate::metric::scope::GroupSelection;
use crate::metric::value::classes::FactualClassCounts;
use crate::metric::value::compare::{compare_rows, compare_switches};
use crate::metric::value::interval_choice::MeasureContext;
use crate::metric::value::measured::{MeasuredValue, measure_factual};
use crate::metric::value::repeated_values::RepeatedValues;
use crate::metric::value::scores::RowsOf;
use crate::metric::value::settings::{FavourableClass, FavouredGroups, MeasureSettings};
use crate::metric::value::switches::measure_counterfactual;
use crate::metric::value::worlds::measure_worlds;
use crate::param::Word;
use crate::stage::applied_set::AppliedSet;
use crate::stage::artifact::{
    EVIDENCE, FOLD_EVIDENCE, LABELS, SHIFT_EVIDENCE, SLICE_EVIDENCE, SMALL_SLICES,
};
use crate::stage::count::slices::{AttributeSlices, CountedSlices};
use crate::stage::count::switches::SwitchEvidence;
use crate::stage::discover::knowledge_fit::KnowledgeFit;
use crate::stage::discover::tables::{GraphSetScenario, GraphTables};
use crate::stage::generate::repeats::evidence_file;
use crate::stage::kinds::{CountStage, QualityStage};
use crate::stage::measure::amounts::AmountInputs;
use crate::stage::measure::catalog::families;
use crate::stage::measure::classes::ClassMeasurement;
use crate::stage::measure::counted_audit::{AuditInputs, CountedAudit, PairInputs, PlaceboInput};
use crate::stage::measure::curve_files::CurveFiles;
use crate::stage::measure::labels::{DecisionCases, add_all_decisions};
use crate::stage::measure::support::{GeneratedSet, support_rows, with_supported};
use crate::stage::population;
use crate::stage::row_context::RowContext;
use crate::stage::stage_builder::StageInput;
use crate::table::file::write_rows;
use crate::table::merged::gather_rows;
use crate::table::{
    ArmFoldRow, CfDistributionRow, CfFeatureRow, CfMapRow, CfQualityRow, ComparisonRow,
};
use row_builder::AuditTexts;
pub(crate) use row_builder::{ResultTables, RowBuilder};

/// The folder with the curves of single audits; it is removed at the end.
const CURVE_FILES: &str = "curve-files";

/// Writes the findings of the preparation as tables next to the rows.
///
/// # Errors
/// A file cannot be written.
pub fn write_prepared(out: &Path, prepared: &PrepareFindings) -> Result<()> {
    write_rows(out, &prepared.filters)?;
    write_rows(out, &prepared.issues)?;
    let layout = &prepared.layout;
    let population = prepared.left_out.iter().flat_map(|(state, attribute, groups)| {
        groups.iter().map(move |group| population::row(layout, state.word(), attribute, group))
    });
    write_rows(out, &population.collect::<Vec<_>>())
}

/// Writes the tables of all audits of the job, or of the arms of an experiment. `pairs` are the
/// audits to compare.
///
/// # Errors
/// Evidence cannot be read, or a file cannot be written.
pub(crate) fn measure(
    checked: &CheckedJob,
    row_context: RowContext<'_>,
    (audits, amounts): (&[AuditInputs], &[AmountInputs]),
    (graphs, sets): (&[GraphSetScenario], &[GeneratedSet<'_>]),
    pairs: &[PairInputs],
) -> Result<()> {
    let (ctx, layout) = (row_context.ctx, row_context.rows.layout());
    let mut measuring = AuditMeasurement {
        checked,
        context: row_context,
        graphs,
        across: worlds::WorldTables::default(),
        tables: ResultTables::default(),
        curves: CurveFiles::new(ctx.out().join(CURVE_FILES)),
        spreads: Vec::new(),
        selective: BTreeMap::new(),
        trainings: BTreeMap::new(),
    };
    let audits = audits
        .iter()
        .map(|audit| {
            let attribute = &layout.attributes[audit.audit.attribute];
            Ok((audit.with_groups_without_rows(ctx, attribute, graphs)?, audit))
        })
        .collect::<Result<Vec<_>>>()?;
    for (audit, stages) in &audits {
        ctx.check()?;
        measuring.add(audit, stages)?;
    }
    for inputs in amounts {
        ctx.check()?;
        measuring.add_amounts(inputs)?;
    }
    let compared = measuring.compare(&audits, pairs)?;
    let support =
        sets.iter().map(|set| support_rows(ctx, layout, set)).collect::<Result<Vec<_>>>()?;
    write_rows(ctx.out(), &support.into_iter().flatten().collect::<Vec<_>>())?;
    measuring.write(&compared)
}

/// The tables of all audits, while the audits are measured.
struct AuditMeasurement<'a> {
    checked: &'a CheckedJob,
    context: RowContext<'a>,
    graphs: &'a [GraphSetScenario],
    across: worlds::WorldTables,
    tables: ResultTables,
    curves: CurveFiles,
    /// The spread over single folds of arms.
    spreads: Vec<ArmFoldRow>,
    /// Whether labels are selective, by arm, model and attribute. The audits of factual rows come
    /// before those of sets, and fill this.
    selective: BTreeMap<(String, String, usize), bool>,
    /// The values of repeated trainings of the models.
    trainings: BTreeMap<RepeatsKey, RepeatedValues>,
}

/// Arm, model, set and position of the attribute of an audit.
type RepeatsKey = (String, String, Option<String>, usize);

fn repeats_key(audit: &CountedAudit) -> RepeatsKey {
    (audit.arm.clone(), audit.model.clone(), audit.set.clone(), audit.attribute)
}

impl<'a> AuditMeasurement<'a> {
    fn is_selective(&self, arm: &str, model: &str, attribute: usize) -> bool {
        let key = (arm.to_owned(), model.to_owned(), attribute);
        self.selective.get(&key) == Some(&true)
    }

    fn builder<'b>(&self, audit: &'b CountedAudit, layout: &'b Layout) -> RowBuilder<'b> {
        RowBuilder {
            audit,
            texts: AuditTexts::new(audit, layout),
            layout,
            settings: settings(self.checked, &layout.attributes[audit.attribute]),
            slice: "",
            class: "",
            selective: self.is_selective(&audit.arm, &audit.model, audit.attribute),
        }
    }

    /// How the classes of the label are measured; none of a label of two sides.
    fn classes(&self) -> Option<ClassMeasurement<'a>> {
        let (job, workers) = (&self.checked.job, self.context.workers);
        let label = job.data.label.column().filter(|label| label.classes.is_some())?;
        let (clarified, smallest) = (job.clarify_class(), job.metrics.smallest_cell.get());
        Some(ClassMeasurement { label, clarified, workers, smallest })
    }

    fn add(&mut self, audit: &CountedAudit, stages: &AuditInputs) -> Result<()> {
        let (ctx, layout) = (self.context.ctx, self.context.rows.layout());
        let text = stages.count.text(ctx, EVIDENCE)?;
        if audit.set.is_none() {
            let counts = counts_of_sides(&text, &stages.count, self.checked)?;
            let found: Vec<_> = counts.iter().map(MissingLabels::from_counts).collect();
            self.add_labels(audit, &found);
        }
        let builder = self.builder(audit, layout);
        let names = AttributeSlices::of(layout, audit.attribute)?;
        let (workers, count) = (self.context.workers, &stages.count);
        let smallest = self.checked.job.metrics.smallest_cell.get();
        match (self.classes(), audit.set.is_some()) {
            (None, false) => {
                let whole: FactualCounts = count.parse(&text)?;
                let parts = self.parts((&builder, &names), count, whole)?;
                let mut curves = Vec::new();
                for (part, counts) in &parts {
                    let people = counts.people_predicted();
                    let is_measured = part.is_measured(people, smallest, &mut self.tables);
                    if part.slice.is_empty() {
                        self.add_rows(part, stages, counts)?;
                    } else if is_measured {
                        part.rows_measured(workers, counts, None, None, &mut self.tables);
                    }
                    part.factual_counts(counts, &mut self.tables);
                    curves.extend(is_measured.then(|| (part.clone(), counts)));
                }
                self.curves.add(workers, curves)
            }
            (None, true) => {
                let shift = count.read_if_written(ctx, SHIFT_EVIDENCE)?;
                let whole = SwitchEvidence::new(count.parse(&text)?, shift);
                let parts = self.parts((&builder, &names), count, whole)?;
                let mut curves = Vec::new();
                for (part, evidence) in &parts {
                    let Some((counts, shift)) = evidence.sides.first() else { continue };
                    let people = counts.people_moved();
                    let is_measured = part.is_measured(people, smallest, &mut self.tables);
                    if part.slice.is_empty() {
                        self.add_counterfactuals(part, stages, (counts, shift.as_ref()))?;
                    } else if is_measured {
                        let shift_and_placebo = (shift.as_ref(), None);
                        let (tables, repeats) = (&mut self.tables, [None; 2]);
                        part.switches_measured(workers, counts, shift_and_placebo, repeats, tables);
                    }
                    part.counterfactual_counts(counts, &mut self.tables);
                    curves.extend(is_measured.then(|| (part.clone(), counts)));
                }
                self.curves.add(workers, curves)
            }
            (Some(classes), false) => {
                let parts = self.parts((&builder, &names), count, count.parse(&text)?)?;
                let flips = stages.flip_tests(ctx)?;
                let parts = parts.iter();
                let curves =
                    parts.flat_map(|part| classes.add_rows(part, &flips, &mut self.tables));
                self.curves.add(workers, curves.collect())
            }
            (Some(classes), true) => {
                let parts = self.parts((&builder, &names), count, count.parse(&text)?)?;
                let parts = parts.iter();
                let curves = parts.flat_map(|part| classes.add_switches(part, &mut self.tables));
                self.curves.add(workers, curves.collect())
            }
        }
    }

    /// The parts of an audit (all people, and the slices) with their counts.
    fn parts<'b, S: DeserializeOwned>(
        &self,
        (whole, names): (&RowBuilder<'b>, &'b AttributeSlices),
        count: &StageInput<CountStage>,
        all_people: S,
    ) -> Result<Vec<(RowBuilder<'b>, S)>> {
        let slices: Option<CountedSlices<S>> =
            count.read_if_written(self.context.ctx, SLICE_EVIDENCE)?;
        let slices = slices.into_iter().flatten().map(|(slice, counts)| {
            (RowBuilder { slice: names.name(slice), ..whole.clone() }, counts)
        });
        Ok(std::iter::once((whole.clone(), all_people)).chain(slices).collect())
    }

    /// Measures a model whose outcome is an amount. The job says which end of the amount is better.
    fn add_amounts(&mut self, inputs: &AmountInputs) -> Result<()> {
        let row_context = self.context;
        let audit = inputs.with_groups_without_rows(row_context)?;
        let builder = self.builder(&audit, row_context.rows.layout());
        let settings = MeasureSettings { favourable_stated: true, ..builder.settings.clone() };
        inputs.measure(row_context, &RowBuilder { settings, ..builder }, &mut self.tables)
    }

    /// Records who lacks a label; the page shows it for the plain audit.
    fn add_labels(&mut self, audit: &CountedAudit, found: &[MissingLabels]) {
        if audit.arm.is_empty() {
            let data = &self.checked.job.data;
            let classes = data.label.column().and_then(|label| {
                let named = label.classes.as_ref()?.iter();
                let positive = |class: &Word| label.positive.contains(class);
                Some(named.map(|class| (class.as_str(), positive(class))).collect::<Vec<_>>())
            });
            let layout = self.context.rows.layout();
            let (positive, of_rows) = (data.favours_positive(), layout.person.is_some());
            add_all_decisions(
                &mut self.tables.labels,
                &layout.attributes[audit.attribute],
                found,
                &DecisionCases::new(&audit.model, positive, of_rows),
                classes.as_deref(),
            );
        }
        let key = (audit.arm.clone(), audit.model.clone(), audit.attribute);
        self.selective.insert(key, found.iter().any(MissingLabels::are_selective));
    }

    fn add_rows(
        &mut self,
        builder: &RowBuilder<'_>,
        stages: &AuditInputs,
        counts: &FactualCounts,
    ) -> Result<()> {
        let flips = stages.flip_tests(self.context.ctx)?;
        let workers = self.context.workers;
        let key = self.add_trainings(builder, stages)?;
        let (flips, trainings) = (flips.first(), self.trainings.get(&key));
        builder.rows_measured(workers, counts, flips, trainings, &mut self.tables);
        self.add_folds(builder, stages, |counts: &FactualCounts, settings| {
            // A fold may have no people with a group.
            let counted = counts.confusion(GroupSelection::All).predicted() > 0;
            counted.then(|| measure_factual(counts, None, settings))
        })
    }

    /// Measures the repeated trainings of the model of an audit, if there are any. Returns the key
    /// of their values.
    fn add_trainings(
        &mut self,
        builder: &RowBuilder<'_>,
        stages: &AuditInputs,
    ) -> Result<RepeatsKey> {
        let (ctx, audit, workers) = (self.context.ctx, builder.audit, self.context.workers);
        let key = repeats_key(audit);
        if stages.retrained.is_empty() && stages.retrained_worlds.is_empty() {
            return Ok(key);
        }
        let level = self.checked.job.metrics.interval.level;
        let mut values = RepeatedValues::new(&builder.settings, level);
        for stage in &stages.retrained {
            ctx.check()?;
            if audit.set.is_none() {
                let counts: FactualCounts = stage.read(ctx, EVIDENCE)?;
                workers.within(|| values.add_rows(&counts));
                continue;
            }
            let counts: CounterfactualCounts = stage.read(ctx, EVIDENCE)?;
            let shift: Option<ShiftEvidence> = stage.read_if_written(ctx, SHIFT_EVIDENCE)?;
            workers.within(|| values.add_set(&counts, shift.as_ref(), &[]));
        }
        for stage in &stages.retrained_worlds {
            ctx.check()?;
            let found = stage.graph_scores(ctx)?;
            workers.within(|| values.add_worlds(&found.counts));
        }
        self.trainings.insert(key.clone(), values);
        Ok(key)
    }

    fn add_counterfactuals(
        &mut self,
        builder: &RowBuilder<'_>,
        stages: &AuditInputs,
        (counts, shift): (&CounterfactualCounts, Option<&ShiftEvidence>),
    ) -> Result<()> {
        let (ctx, audit, workers) = (self.context.ctx, builder.audit, self.context.workers);
        let placebo = stages.placebo.as_ref().map(|placebo| {
            Ok::<_, Error>(match placebo {
                PlaceboInput::Repeats(stage) => {
                    PlaceboEvidence::Repeats(stage.read(ctx, &evidence_file(&audit.model))?)
                }
                PlaceboInput::Unmoved(repeats) => PlaceboEvidence::Unmoved(*repeats),
            })
        });
        let placebo = placebo.transpose()?;
        let key = self.add_trainings(builder, stages)?;
        if let Some(branched) = &stages.graph_scores {
            let branched = branched.graph_scores(ctx)?;
            let level = self.checked.job.metrics.worlds.level;
            let measured =
                workers.within(|| measure_worlds(&branched.counts, level, &builder.settings));
            let is_audited = |set: &&GraphSetScenario| {
                Some(&set.name) == audit.set.as_ref() && set.position == audit.attribute
            };
            let follows = self
                .graphs
                .iter()
                .find(is_audited)
                .is_some_and(GraphSetScenario::attribute_follows);
            let trainings = self.trainings.get(&key);
            let supported = branched.counts.supported().map(|counts| {
                let measured = workers.within(|| measure_worlds(counts, level, &builder.settings));
                let repeats = (trainings, true);
                measured.iter().map(|m| builder.metric_across(m, follows, repeats)).collect()
            });
            let repeats = (trainings, false);
            let rows = measured.iter().map(|m| builder.metric_across(m, follows, repeats));
            self.tables.metrics.extend(with_supported(rows.collect(), supported));
            self.across.add(builder, &branched, &measured);
        } else {
            let shift_and_placebo = (shift, placebo.as_ref());
            let fits = stages
                .doubt
                .as_ref()
                .map(|stage| stage.read::<Vec<SetRepeat>>(ctx, &evidence_file(&audit.model)));
            let level = self.checked.job.metrics.interval.level;
            let fits = fits.transpose()?.map(|repeats| {
                workers.within(|| RepeatedValues::of_set(&repeats, &builder.settings, level))
            });
            let doubts = [fits.as_ref(), self.trainings.get(&key)];
            let tables = &mut self.tables;
            builder.switches_measured(workers, counts, shift_and_placebo, doubts, tables);
        }
        if let Some(generated) = stages.generate.as_ref().filter(|_| audit.arm.is_empty()) {
            let found = generated.effects(ctx)?.unsupported;
            self.tables.support_counts.extend(builder.support_counts(counts, &found));
        }
        self.add_folds(builder, stages, |counts: &CounterfactualCounts, settings| {
            Some(measure_counterfactual(counts, None, None, settings))
        })
    }

    /// Adds the spread over single folds of an arm.
    fn add_folds<S: DeserializeOwned>(
        &mut self,
        builder: &RowBuilder<'_>,
        stages: &AuditInputs,
        measured: impl Fn(&S, &MeasureSettings) -> Option<Vec<MeasuredValue>>,
    ) -> Result<()> {
        if let Some(folds) =
            stages.count.read_if_written::<Vec<S>>(self.context.ctx, FOLD_EVIDENCE)?
        {
            let settings = spread::without_intervals(&builder.settings);
            let folds = folds.iter().filter_map(|counts| measured(counts, &settings));
            spread::push_fold_spread(&mut self.spreads, builder, folds.collect());
        }
        Ok(())
    }

    /// Whether the repeated trainings of the model use resampled rows; none if there are no
    /// repeated trainings.
    fn resamples(&self, audit: &CountedAudit) -> Option<bool> {
        let mut models = self.checked.job.models.iter();
        let (_, model) = models.find(|(name, _)| name.as_str() == audit.model)?;
        Some(model.doubt?.resample)
    }

    /// The comparisons of pairs of audits.
    fn compare(
        &self,
        audits: &[(CountedAudit, &AuditInputs)],
        pairs: &[PairInputs],
    ) -> Result<Vec<ComparisonRow>> {
        let (ctx, workers) = (self.context.ctx, self.context.workers);
        let mut rows = Vec::new();
        for pair in pairs {
            ctx.check()?;
            let [(audit, stages), (other, others)] = [&audits[pair.first], &audits[pair.second]];
            let builder = self.builder(audit, self.context.rows.layout());
            let other_is_selective = self.is_selective(&other.arm, &other.model, other.attribute);
            let selective = builder.selective || other_is_selective;
            let builder = RowBuilder { selective, ..builder };
            let counts: Vec<PairedCounts> = pair.counts.read(ctx, EVIDENCE)?;
            let scored = |count: &StageInput<CountStage>| match audit.set {
                None => counts_of_sides(&count.text(ctx, EVIDENCE)?, count, self.checked),
                Some(_) => Ok(Vec::new()),
            };
            let scored = [scored(&stages.count)?, scored(&others.count)?];
            let [first, second] =
                [audit, other].map(|audit| self.trainings.get(&repeats_key(audit)));
            // Repeats on resampled rows cannot be paired with repeats on the same rows.
            let alike = self.resamples(audit) == self.resamples(other);
            let pair = first.zip(second).filter(|_| alike);
            let changes = pair.map(|(first, second)| first.minus(second));
            let parts = match self.classes() {
                None => vec![builder],
                Some(classes) => classes.each_vs_rest(&builder).collect(),
            };
            for (i, (part, counts)) in parts.iter().zip(&counts).enumerate() {
                let compare = || {
                    let [Some(one), Some(two)] = scored.each_ref().map(|of| of.get(i)) else {
                        return compare_switches(counts, &part.settings);
                    };
                    let mut compared = compare_rows(counts, &part.settings);
                    // For rows that both score; other rows do not count.
                    let scores = MeasureContext::new(&part.settings);
                    compared.extend(scores.compare_scores([one, two], RowsOf::Both));
                    compared
                };
                let row = |of| part.comparison_row(other, of, changes.as_ref());
                rows.extend(workers.within(compare).iter().map(row));
            }
        }
        Ok(rows)
    }

    fn write(self, compared: &[ComparisonRow]) -> Result<()> {
        let (out, tables, layout) =
            (self.context.ctx.out(), self.tables, self.context.rows.layout());
        let mut metrics = tables.metrics;
        if !self.graphs.is_empty() {
            let mut graph_tables = GraphTables::default();
            let level = self.checked.job.metrics.worlds.level;
            for set in self.graphs {
                graph_tables.add(set, layout, level);
                let fit = fit_of(&self.checked.job, self.graphs, set);
                if let Some(fit) = &fit {
                    graph_tables.add_fit(set, layout, (fit, level));
                }
                metrics.extend(worlds::metrics_of_graphs(set, fit.as_ref(), layout));
            }
            graph_tables.write(out)?;
            self.across.write(out)?;
        }
        files::write_json(&out.join(SMALL_SLICES), &tables.small_slices)?;
        files::write_json(&out.join(LABELS), &tables.labels)?;
        write_rows(out, &metrics)?;
        write_rows(out, &tables.counts)?;
        write_rows(out, &tables.shift)?;
        write_rows(out, &tables.groups)?;
        write_rows(out, &tables.population)?;
        write_rows(out, &tables.transitions)?;
        write_rows(out, &tables.amounts)?;
        write_rows(out, &tables.reliability)?;
        write_rows(out, &tables.support_counts)?;
        self.curves.finish(out)?;
        write_rows(out, &self.spreads)?;
        write_rows(out, compared)
    }
}

/// How well the knowledge of a scenario fits, if the job compares it with another scenario.
fn fit_of(
    job: &job::Job,
    graphs: &[GraphSetScenario],
    set: &GraphSetScenario,
) -> Option<KnowledgeFit> {
    let (name, scenario) = set.name.split_once('/')?;
    let (_, block) = job.counterfactuals.iter().find(|(key, _)| key.as_str() == name)?;
    let reference = block.graphs()?.fit_reference()?.as_str();
    let other = format!("{name}/{reference}");
    let against = graphs.iter().find(|found| found.name == other)?;
    let scores = (scenario != reference).then(|| Some((set.scores()?, against.scores()?)))??;
    Some(KnowledgeFit::new(reference, &scores.0, &scores.1))
}

/// The counts of the factual rows: for a label of two sides, or for each class against
/// the rest.
fn counts_of_sides(
    text: &str,
    stage: &StageInput<CountStage>,
    checked: &CheckedJob,
) -> Result<Vec<FactualCounts>> {
    match checked.job.data.label.classes() {
        Some(_) => Ok(stage.parse::<FactualClassCounts>(text)?.one_vs_rest),
        None => Ok(vec![stage.parse(text)?]),
    }
}

/// Joins the tables of quality of all sets and attributes.
///
/// # Errors
/// A table cannot be read or written.
pub(crate) fn gather_quality(
    ctx: &StageContext<'_>,
    stages: &[(AppliedSet<'_>, StageInput<QualityStage>)],
    maps: bool,
) -> Result<()> {
    let folders: Vec<&Path> = stages.iter().map(|(_, stage)| stage.folder(ctx)).collect();
    gather_rows::<CfQualityRow>(ctx.out(), &folders)?;
    gather_rows::<CfFeatureRow>(ctx.out(), &folders)?;
    gather_rows::<CfDistributionRow>(ctx.out(), &folders)?;
    if maps { gather_rows::<CfMapRow>(ctx.out(), &folders) } else { Ok(()) }
}

/// The settings for measuring an attribute.
pub(crate) fn settings(checked: &CheckedJob, attribute: &Attribute) -> MeasureSettings {
    let metrics = &checked.job.metrics;
    MeasureSettings {
        families: families(checked),
        favourable: checked.job.data.favourable_side().unwrap_or(FavourableClass::Positive),
        favourable_stated: checked.job.data.favourable_side().is_some(),
        level: Some(metrics.interval.level),
        min_group_size: metrics.min_group_size,
        min_denominator: metrics.min_denominator,
        favoured: favoured(checked, attribute),
    }
}

/// The favoured groups of an attribute as the job names them; by default the reference.
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
