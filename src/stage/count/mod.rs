//! The stages `count`, `pair`, `flips` and `outcomes`: scored rows become evidence, and outcomes
//! row by row.

pub(crate) mod cases;
pub(crate) mod classes;
pub(crate) mod evidence;
pub(crate) mod flip_test;
mod pairs;
mod score_memory;
pub(crate) mod slices;
pub(crate) mod switches;

use serde::Serialize;

use crate::data::rows::aligned::CounterfactualReader;
use crate::error::Result;
use crate::exec::{StageContext, files, internal_error};
use crate::job::Job;
use crate::metric::MetricFamily;
use crate::metric::evidence::flip_test::FlipTestSettings;
use crate::metric::evidence::labelled_scores::EXACT_ROWS;
use crate::metric::evidence::person_sums;
use crate::metric::scope::GroupSelection;
use crate::stage::artifact::{
    EVIDENCE, FOLD_EVIDENCE, SANITY, SHIFT_EVIDENCE, SLICE_EVIDENCE, keeps_rows,
};
use crate::stage::count::classes::ClassCountInputs;
use crate::stage::count::evidence::{
    CountInputs, CountSettings, CountedFolds, FIRST_SLICE, RowEvidence,
};
use crate::stage::count::slices::{AttributeSlices, CountedSlices};
use crate::stage::count::switches::{CountedParts, CountedSet, ScoredSet, ShiftSettings};
use crate::stage::decided_scores::{DecidedScores, PooledScores};
use crate::stage::kinds::{CountStage, FlipsStage, GenerateStage, OutcomesStage, WorldsStage};
use crate::stage::measure::{self, catalog};
use crate::stage::memory;
use crate::stage::memory::refuse_memory;
use crate::stage::plan::StagePlan;
use crate::stage::row_context::RowContext;
use crate::stage::row_inputs::RowInputs;
use crate::stage::sharding::shard_rows::each_batch;
use crate::stage::sharding::share::ShardPass;
use crate::stage::stage_builder::{Planned, Stage, StageBuilder, StageInput};
use crate::table::OutcomeRow;
use crate::table::file::RowWriter;
use crate::unit::AuditUnit;

/// The scores of the factual rows by one model.
pub(crate) struct RowScoreInputs<'a> {
    pub(crate) rows: RowInputs<'a>,
    pub(crate) scored: DecidedScores<'a>,
    /// Position of the sensitive attribute.
    pub(crate) position: usize,
}

impl<'a> RowScoreInputs<'a> {
    /// The inputs for a unit. With `several` models, the keys contain the names of the models.
    pub(crate) fn need(
        unit: &AuditUnit,
        several: bool,
        b: &mut StageBuilder<'_, 'a>,
    ) -> Result<Self> {
        let (position, _) = b.plan.attribute_of(unit)?;
        let rows = RowInputs::of_audit(b, unit)?;
        let scored = DecidedScores::need(b, unit, several)?.cutting_amounts(b);
        Ok(RowScoreInputs { rows, scored, position })
    }
}

/// The scores of one model over the counterfactuals of one set.
pub(crate) struct SetScoreInputs<'a> {
    pub(crate) rows: RowInputs<'a>,
    generated: StageInput<GenerateStage>,
    /// The mean scores over the worlds, for each person and target group; only of a set that
    /// depends on causal graphs.
    worlds: Option<StageInput<WorldsStage>>,
    scored: DecidedScores<'a>,
    /// The scores of the counterfactual rows; empty for a set that depends on causal graphs.
    scores_cf: PooledScores,
    /// Position of the sensitive attribute.
    position: usize,
}

impl<'a> SetScoreInputs<'a> {
    /// The inputs for a unit. With `several` models, the keys contain the names of the models.
    pub(crate) fn need(
        unit: &AuditUnit,
        several: bool,
        b: &mut StageBuilder<'_, 'a>,
    ) -> Result<Self> {
        let set = b.plan.set_of(unit)?;
        let position = set.position;
        let rows = RowInputs::of_audit(b, unit)?;
        let scored = DecidedScores::need(b, unit, several)?;
        let generated = b.need::<GenerateStage>(&set.unit())?;
        let (worlds, scores_cf) = match set.graphs() {
            Some(_) => (Some(b.need::<WorldsStage>(unit)?), PooledScores::default()),
            None => (None, PooledScores::need(b, unit)?),
        };
        Ok(SetScoreInputs { rows, generated, worlds, scored, scores_cf, position })
    }

    /// The scores, and what they belong to.
    pub(crate) fn open(&self, row_context: RowContext<'_>) -> Result<CountInputs> {
        let (counterfactuals, scores_cf) = match &self.worlds {
            None => (self.generated.open(row_context)?, self.scores_cf.open(row_context)?),
            Some(worlds) => {
                let (rows, roles) = (row_context.rows, row_context.roles);
                let keys = CounterfactualReader::of_keys(rows, roles, self.position)?;
                (keys, worlds.scores(row_context)?)
            }
        };
        let (rule, scores) = self.scored.open(row_context)?;
        Ok(CountInputs {
            rule,
            attribute: self.position,
            counterfactuals,
            support: self.generated.support(row_context.ctx)?,
            scores,
            scores_cf,
        })
    }

    /// The scores, of a label of two sides or of several classes, and what they belong to.
    pub(crate) fn open_set(&self, row_context: RowContext<'_>) -> Result<ScoredSet> {
        let n = row_context.rows.layout().n_classes();
        if n == 0 {
            return self.open(row_context).map(ScoredSet::Sides);
        }
        Ok(ScoredSet::Classes(ClassCountInputs {
            rule: (),
            attribute: self.position,
            counterfactuals: self.generated.open(row_context)?,
            support: self.generated.support(row_context.ctx)?,
            scores: self.scored.scores.of_classes(row_context, n)?,
            scores_cf: self.scores_cf.of_classes(row_context, n)?,
        }))
    }
}

/// How rows are counted. The values of repeated trainings have no intervals.
fn count_settings(unit: &AuditUnit, b: &mut StageBuilder<'_, '_>) -> Result<CountSettings> {
    let scores = unit.repeat.is_none() && b.plan.wants_scores();
    let curves = scores && has_curves(unit, b)?;
    for (what, wanted) in [("scores", scores), ("curves", curves)] {
        if wanted {
            b.texts([(what.to_owned(), "yes".to_owned())]);
        }
    }
    Ok(CountSettings { scores, together: false, curves, cutoffs: false })
}

/// Whether rates are measured at every threshold. Only scores that are compared with a threshold
/// have such curves; a set that depends on causal graphs has only mean scores, hence no curves.
fn has_curves(unit: &AuditUnit, b: &StageBuilder<'_, '_>) -> Result<bool> {
    let (_, model) = b.plan.model_of(unit)?;
    let graphs = !unit.set.is_empty() && b.plan.set_of(unit)?.graphs().is_some();
    Ok(model.gives_scores() && !graphs)
}

/// How score metrics are measured; none if the job requests no score metrics.
fn shift_settings(unit: &AuditUnit, b: &mut StageBuilder<'_, '_>) -> Option<ShiftSettings> {
    let wanted = b.plan.wants_shift();
    if !b.value("score metrics", wanted) {
        return None;
    }
    // The values of repeated trainings have no intervals.
    let intervals = unit.repeat.is_none();
    Some(ShiftSettings { intervals: b.value("intervals of score metrics", intervals) })
}

impl StagePlan<'_> {
    /// Whether the job requests score metrics.
    pub(crate) fn wants_shift(&self) -> bool {
        catalog::families(self.checked).contains(&MetricFamily::Shift)
    }

    /// Whether scores as such are measured.
    pub(crate) fn wants_scores(&self) -> bool {
        catalog::families(self.checked).contains(&MetricFamily::Scores)
    }

    /// How often people are counted: once, or with several classes once for all classes together
    /// and once for each class against the rest.
    fn class_forms(&self) -> u64 {
        self.n_classes().map_or(1, |classes| classes as u64 + 1)
    }

    /// Fails if the sums of persons, with `per_row` places for each row, could take more memory
    /// than the run may use.
    pub(crate) fn check_person_memory(
        &self,
        row_context: RowContext<'_>,
        per_row: u64,
    ) -> Result<()> {
        let Some(person) = &row_context.rows.layout().person else { return Ok(()) };
        let (rows, threads) = (row_context.roles.n_audited(), self.settings.threads.max(1));
        // Weights are summed too.
        let per_row = per_row * (1 + u64::from(row_context.rows.layout().weight.is_some()));
        // Each slice counts the rows of a person once more.
        let slices = self.job.metrics.by.len() as u64;
        let per_row = per_row * (1 + slices + slices * slices.saturating_sub(1) / 2);
        let needed = person_sums::memory(person.persons, rows, per_row, threads);
        let what = |needed, allowed| {
            let persons = person.persons;
            format!("the sums of {persons} persons may take {needed}; the run may use {allowed}")
        };
        let hint = "audit fewer rows, ask for fewer `--threads` or columns of `metrics.by`, or \
                    allow more with `--memory`";
        let needed_and_allowed = (needed, memory::allowed(self.settings));
        let refused = refuse_memory(needed_and_allowed, "too-many-persons", what, hint);
        refused.map_err(|error| error.map_fault(|fault| fault.in_column(&person.column)))
    }

    /// Whether outcomes may be kept in the output folder.
    pub(crate) fn keeps_outcomes(&self) -> bool {
        self.job.run.keeps_outcomes() != Some(false)
    }

    /// Whether the scores of single people in the worlds of causal graphs are kept.
    pub(crate) fn keeps_world_scores(&self) -> bool {
        self.job.run.keeps_outcomes() == Some(true)
    }
}

impl Stage for CountStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let n_folds = plan.counted_folds(unit)?;
        if !unit.set.is_empty() {
            return plan_switches(unit, n_folds, b);
        }
        let sources = RowScoreInputs::need(unit, false, b)?;
        let asked = count_settings(unit, b)?;
        let plain = unit.experiment.is_empty() && unit.repeat.is_none();
        let (_, model) = plan.model_of(unit)?;
        let (looks, gives_scores) =
            (plain && sources.position == 0 && model.amount().is_none(), model.gives_scores());
        let cutoffs = plain && model.amount().is_none() && model.threshold.column().is_some();
        if looks {
            b.texts([("looks at the labels".to_owned(), "yes".to_owned())]);
        }
        let sliced = plain && !plan.job.metrics.by.is_empty();
        let passes = b.passes();
        sources.rows.clone().work(1, move |ctx, row_context| {
            let RowScoreInputs { scored, position, .. } = &sources;
            // Strata also sum over the persons of each group.
            let strata = u64::from(row_context.rows.layout().strata.is_some());
            plan.check_person_memory(row_context, (1 + strata) * plan.class_forms())?;
            plan.check_score_memory(row_context, *position)?;
            // The check whether scores agree with the labels also runs without score metrics.
            // Because the rows of a person must stay together, it would keep the scores of all rows
            // of a large data set with persons: there it uses decisions.
            let layout = row_context.rows.layout();
            let few = layout.person.is_none() || layout.n_rows < EXACT_ROWS as u64;
            let kept = asked.scores || looks && gives_scores && few;
            let together = !asked.scores;
            let blocks = CountSettings { scores: kept, together, cutoffs, ..asked };
            let slices = sliced.then(|| AttributeSlices::of(layout, *position)).transpose()?;
            let slices = slices.as_ref().map(|slices| (slices, asked));
            let looks = (looks || cutoffs).then_some(gives_scores);
            let written = (looks, asked.scores, sliced);
            if let Some(n) = plan.n_classes() {
                let gather = || {
                    let scores = scored.scores.of_classes(row_context, n)?;
                    classes::gather_rows(row_context, &scores, *position, blocks, slices)
                };
                let states = passes.gather(ctx, ShardPass::Count, gather)?;
                return write_rows(row_context, *position, states, written);
            }
            let gather = || {
                let (rule, scores) = sources.scored.open(row_context)?;
                let sources = (row_context, &rule, &scores);
                evidence::gather_rows(sources, *position, (blocks, n_folds), slices)
            };
            let states = passes.gather(ctx, ShardPass::Count, gather)?;
            write_rows(row_context, *position, states, written)
        })
    }
}

/// Writes what was counted from the factual rows of all shards. `looks` is set if scores are
/// checked against the labels, and says whether the model gives scores; `scores` and `sliced` say
/// whether to write scores and slices.
fn write_rows<S: RowEvidence>(
    row_context: RowContext<'_>,
    position: usize,
    states: Option<Vec<(u64, S)>>,
    (looks, scores, sliced): (Option<bool>, bool, bool),
) -> Result<()> {
    let (Some(states), ctx) = (states, row_context.ctx) else { return Ok(()) };
    let (slices, folds): (Vec<_>, Vec<_>) =
        states.into_iter().partition(|(number, _)| *number >= FIRST_SLICE);
    let folds = folds.into_iter().map(|(_, counts)| counts).collect();
    let counted = evidence::count_rows(row_context, folds, position)?;
    if let Some(gives_scores) = looks {
        files::write_json(&ctx.out().join(SANITY), &counted.whole.sanity(gives_scores))?;
    }
    let counted = if scores {
        counted
    } else {
        let folds = counted.folds.into_iter().map(RowEvidence::scoreless);
        CountedFolds { whole: counted.whole.scoreless(), folds: folds.collect() }
    };
    if sliced {
        let slices = slices.into_iter();
        let slices: CountedSlices<S> = slices
            .filter(|(_, counts)| counts.people().confusion(GroupSelection::All).predicted() > 0)
            .map(|(number, counts)| ((number - FIRST_SLICE) as usize, counts))
            .collect();
        files::write_json(&ctx.out().join(SLICE_EVIDENCE), &slices)?;
    }
    write_counted(ctx, &counted)
}

/// Counts the counterfactuals of a set, with its slices and score metrics.
fn plan_switches<'a>(
    unit: &AuditUnit,
    n_folds: usize,
    b: &mut StageBuilder<'_, 'a>,
) -> Planned<'a> {
    let plan = b.plan;
    let sources = SetScoreInputs::need(unit, false, b)?;
    let blocks = count_settings(unit, b)?;
    // Score metrics and slices of a set that depends on causal graphs come from its worlds.
    let graphs = plan.set_of(unit)?.graphs().is_some();
    let wanted = if graphs { None } else { shift_settings(unit, b) };
    let plain = unit.experiment.is_empty() && unit.repeat.is_none() && !graphs;
    let sliced = plain && !plan.job.metrics.by.is_empty();
    let smallest = plan.job.metrics.smallest_cell.get();
    if sliced && wanted.is_some() {
        b.value("metrics.smallest_cell", smallest);
    }
    let passes = b.passes();
    sources.rows.clone().work(if wanted.is_some() { 2 } else { 1 }, move |ctx, row_context| {
        let groups = row_context.rows.layout().attributes[sources.position].groups.len() as u64;
        // With more than two groups there is one more place for "switches to any group"; score
        // metrics with intervals have a place for each scope.
        let others = groups.saturating_sub(1);
        let scopes = if others > 1 { 2 * others + 2 } else { 2 };
        let scopes = if wanted.is_some_and(|wanted| wanted.intervals) { scopes } else { 0 };
        let places = others + u64::from(others > 1) + scopes;
        plan.check_person_memory(row_context, places * plan.class_forms())?;
        let write = |name: &str| ctx.out().join(name);
        let layout = row_context.rows.layout();
        let slices = sliced.then(|| AttributeSlices::of(layout, sources.position)).transpose()?;
        let parts = CountedParts { slices: slices.as_ref(), smallest, n_folds };
        let scored = &sources.open_set(row_context)?;
        let counted =
            switches::count_switches((passes, row_context), scored, blocks, wanted, parts)?;
        let Some(CountedSet { whole, slices, folds }) = counted else { return Ok(()) };
        if sliced {
            files::write_json(&write(SLICE_EVIDENCE), &slices)?;
        }
        if whole.classes.is_some() {
            return files::write_json(&write(EVIDENCE), &whole);
        }
        let (whole, shift) = whole.of_sides()?;
        if let Some(shift) = shift {
            files::write_json(&write(SHIFT_EVIDENCE), &shift)?;
        }
        write_counted(ctx, &CountedFolds { whole, folds })
    })
}

/// Writes what was counted, also fold by fold where folds were counted separately.
fn write_counted<S: Serialize>(ctx: &StageContext<'_>, counted: &CountedFolds<S>) -> Result<()> {
    if !counted.folds.is_empty() {
        files::write_json(&ctx.out().join(FOLD_EVIDENCE), &counted.folds)?;
    }
    files::write_json(&ctx.out().join(EVIDENCE), &counted.whole)
}

impl Stage for FlipsStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let sources = RowScoreInputs::need(unit, false, b)?;
        let test = b.input("metrics.clarify.flip_test", Job::flip_test);
        b.input("metrics.clarify.favoured", |job| {
            let mut favoured = job.metrics.clarify.iter().flat_map(|clarify| &clarify.favoured);
            favoured.find(|(name, _)| name.as_str() == unit.attribute).map(|(_, groups)| groups)
        });
        let seed = b.seed();
        let settings = test.and_then(|test| {
            Some(FlipTestSettings {
                neighbours: test.neighbours?,
                standardise: test.scale == crate::job::blocks::clarify::FeatureScale::Standard,
                max_people: test.max_rows,
            })
        });
        let Some(settings) = settings else {
            return Err(internal_error("the job asks for no flip test".to_owned()));
        };
        let passes = b.passes();
        sources.rows.clone().work(2, move |ctx, row_context| {
            let position = &sources.position;
            let drawn = (&settings, seed);
            let gather = || {
                let predictions = sources.scored.predictions(row_context)?;
                flip_test::gather_people(row_context, &predictions, *position, drawn)
            };
            let people = passes.gather(ctx, ShardPass::Count, gather)?;
            let Some(people) = people else { return Ok(()) };
            let attribute = &row_context.rows.layout().attributes[*position];
            let facets = measure::favoured(plan.checked, attribute).facets(attribute.groups.len());
            // In a run from shards, a state already holds the people of all shards.
            let flips = people.into_iter().map(|(_, people)| {
                flip_test::flip_test(row_context, people, *position, &facets, drawn.0)
            });
            let flips = flips.collect::<Result<Vec<_>>>()?;
            files::write_json(&ctx.out().join(EVIDENCE), &flips)
        })
    }
}

impl StageInput<OutcomesStage> {
    /// The outcomes of every model that scores counterfactuals; none if the job keeps no outcomes.
    pub(crate) fn need(b: &mut StageBuilder<'_, '_>) -> Result<Option<Self>> {
        let plan = b.plan;
        let kept = plan.keeps_outcomes() && plan.n_classes().is_none();
        let has_rows = kept && plan.scored_sets().next().is_some();
        has_rows.then(|| b.need::<OutcomesStage>(&AuditUnit::default())).transpose()
    }
}

impl Stage for OutcomesStage {
    fn plan<'a>(_: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let keep = b.input("run.keep_rows", |job| job.run.keeps_outcomes());
        let (rows, mut parts) = (RowInputs::of_job(b)?, Vec::new());
        for (name, _, applied) in plan.scored_sets() {
            let sources = SetScoreInputs::need(&applied.unit_of(name.as_str()), true, b)?;
            parts.push((name.as_str(), applied.set, sources));
        }
        let named = keep == Some(true);
        let passes = b.passes();
        rows.work(parts.len() as u64, move |ctx, row_context| {
            if !keeps_rows(keep, row_context.roles.n_audited()) {
                return Ok(());
            }
            let fill = |part: usize, writer: &mut RowWriter<OutcomeRow>| {
                let (name, set, sources) = &parts[part];
                let scored = sources.open(row_context)?;
                evidence::write_outcomes(row_context, &scored, (name, set), named, writer)
            };
            let lists = passes.row_lists(ctx, parts.len(), |part, folder| {
                let mut writer = RowWriter::<OutcomeRow>::create(folder)?;
                fill(part, &mut writer)?;
                writer.finish()
            })?;
            let Some(lists) = lists else { return Ok(()) };
            let mut writer = RowWriter::<OutcomeRow>::create(ctx.out())?;
            for part in 0..parts.len() {
                match lists.files(part) {
                    None => fill(part, &mut writer)?,
                    Some(files) => {
                        each_batch(files, |batch| writer.writer.push(batch.columns().to_vec()))?
                    }
                }
            }
            writer.finish()
        })
    }
}
