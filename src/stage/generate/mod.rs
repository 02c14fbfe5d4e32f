//! The stages `fit`, `generate`, `quality`, `placebo` and `doubt`: what a strategy learns of the
//! reference, and the counterfactuals of every set and attribute.

pub(crate) mod basis;
pub(crate) mod external;
pub(crate) mod generators;
pub(crate) mod refits;
pub(crate) mod repeats;
pub(crate) mod rows;
mod sum_memory;
pub(crate) mod support;
pub(crate) mod world_rows;
mod world_support;

use std::collections::BTreeSet;

use crate::counterfactual::conditional::Conditioning;
use crate::counterfactual::graph_uncertain::{CausalWorlds, ClipRule};
use crate::counterfactual::map_flip::FittedStrategy;
use crate::counterfactual::plan::{MovedRows, StrategyPlan};
use crate::counterfactual::short_forms::ConditionOn;
use crate::counterfactual::strategy::naive::NaiveGenerator;
use crate::counterfactual::variable::VariableOptions;
use crate::counterfactual::write_back::WriteBack;
use crate::counterfactual::{Generator, TransportTallies};
use crate::data::prepare::params::MissingRule;
use crate::data::rows::Projection;
use crate::data::rows::aligned::{CounterfactualReader, NaiveKeys, SUPPORT, SupportReader};
use crate::data::{Layout, MISSING_LEVEL};
use crate::error::{Error, Fault, Result};
use crate::exec::{StageContext, files, internal_error};
use crate::job;
use crate::job::ModelBlock;
use crate::param::{ColumnName, Name};
use crate::stage::applied_set::AppliedSet;
use crate::stage::decided_scores::DecidedScores;
use crate::stage::experiment::fold_roles::FoldRoles;
use crate::stage::generate::basis::{LearningReference, RowClasses, n_folds_of};
use crate::stage::generate::external::ExternalInput;
use crate::stage::generate::repeats::{RepeatInputs, RepeatModel, RepeatedPart};
use crate::stage::generate::rows::{GenerateInputs, GeneratedEffects, GenerationSums};
use crate::stage::generate::support::SupportTests;
use crate::stage::kinds::{
    DiscoverStage, DoubtStage, FitStage, GenerateStage, PlaceboStage, PrepareStage, QualityStage,
    SplitStage, SupportStage,
};
use crate::stage::measure::quality::{LEAST_PEOPLE, QualityInputs, merge_folds};
use crate::stage::models::AskedModels;
use crate::stage::plan::StagePlan;
use crate::stage::row_context::RowContext;
use crate::stage::row_inputs::RowInputs;
use crate::stage::sharding::share::{RowShare, ShardPass};
use crate::stage::stage_builder::{Opens, OpensOfRows, Planned, Stage, StageBuilder, StageInput};
use crate::unit::AuditUnit;

/// File of the stage `fit` for a fold.
pub(crate) fn artifact(fold: usize) -> String {
    format!("learnt-{fold}.json")
}

impl StageInput<FitStage> {
    /// What was learnt, for each of this many folds.
    pub(crate) fn learnt(
        &self,
        ctx: &StageContext<'_>,
        n_folds: usize,
    ) -> Result<Vec<FittedStrategy>> {
        (0..n_folds).map(|fold| self.learnt_in(ctx, fold)).collect()
    }

    /// What was learnt for a fold.
    fn learnt_in(&self, ctx: &StageContext<'_>, fold: usize) -> Result<FittedStrategy> {
        self.read(ctx, &artifact(fold))
    }
}

impl StageInput<GenerateStage> {
    /// The counterfactuals.
    pub(crate) fn open(&self, row_context: RowContext<'_>) -> Result<CounterfactualReader> {
        let RowContext { rows, roles, ctx, .. } = row_context;
        CounterfactualReader::open(self.folder(ctx), rows, roles)
    }

    /// Their unsupported values.
    pub(crate) fn support(&self, ctx: &StageContext<'_>) -> Result<SupportReader> {
        SUPPORT.open_if_there(self.folder(ctx))
    }

    /// The effects of setting the attribute.
    pub(crate) fn effects(&self, ctx: &StageContext<'_>) -> Result<GeneratedEffects> {
        self.read(ctx, rows::EFFECTS_FILE)
    }
}

/// What followed from setting the attribute, by set and attribute.
pub(crate) type SetEffects<'a> = Vec<(&'a str, &'a str, GeneratedEffects)>;

/// The effects of all sets of the job.
pub(crate) fn effects_of_sets<'a>(
    b: &mut StageBuilder<'_, 'a>,
) -> Result<Opens<'a, SetEffects<'a>>> {
    let sets = b.plan.applied_sets().into_iter();
    let sets = sets.map(|applied| ((applied.set, applied.attribute), applied.unit()));
    let sets = b.need_each::<GenerateStage, _>(sets)?;
    Ok(Box::new(move |ctx| {
        sets.iter().map(|((set, of), made)| Ok((*set, *of, made.effects(ctx)?))).collect()
    }))
}

/// The counterfactuals of a set, by the position of the attribute.
pub(crate) fn made_of_set<'a>(
    b: &mut StageBuilder<'_, 'a>,
    set: &str,
) -> Result<OpensOfRows<'a, Vec<(usize, CounterfactualReader)>>> {
    let own = b.plan.applied_sets().into_iter().filter(|applied| applied.set == set);
    let made = own.map(|applied| (applied.position, applied.unit()));
    let made = b.need_each::<GenerateStage, _>(made)?;
    Ok(Box::new(move |rows| {
        made.iter().map(|(attribute, made)| Ok((*attribute, made.open(rows)?))).collect()
    }))
}

/// What the stages of a set read in addition to its counterfactuals, not yet opened.
pub(crate) struct SetInputs<'a> {
    plan: &'a StagePlan<'a>,
    applied: AppliedSet<'a>,
    rows: RowInputs<'a>,
    reference: Option<StageInput<PrepareStage>>,
    /// For an external set, where it is.
    external: Option<ExternalInput<'a>>,
    /// The reference rows by group and value, by which counterfactuals of audited rows are tested.
    support: Option<StageInput<SupportStage>>,
    /// For a set that conditions on predictions, where they are.
    predictions: Option<(DecidedScores<'a>, StageInput<SplitStage>)>,
}

impl<'a> SetInputs<'a> {
    /// The rows of the set, and what its strategy depends on.
    pub(crate) fn need(b: &mut StageBuilder<'_, 'a>, applied: &AppliedSet<'a>) -> Result<Self> {
        let rows = RowInputs::need(b, &applied.split_unit())?;
        SetInputs::on_rows(b, applied, rows)
    }

    /// As [`Self::need`], on other rows.
    pub(crate) fn on_rows(
        b: &mut StageBuilder<'_, 'a>,
        applied: &AppliedSet<'a>,
        rows: RowInputs<'a>,
    ) -> Result<Self> {
        let plan = b.plan;
        b.value("counterfactuals", &applied.block.generating_part());
        // Whether its rows are a view: see `SetInputs::generate`.
        b.value("experiments", !plan.job.experiments.is_empty());
        b.input("data.missing.nominal", |job| job.data.missing.nominal);
        b.input("data.features.onehot", |job| &job.data.features.onehot);
        let (reference, external) = (plan.need_reference(b)?, ExternalInput::need(b, applied)?);
        let predictions = match applied.block.knobs().map(|knobs| knobs.condition_on) {
            Some(ConditionOn::Prediction(name)) => {
                let unit = AuditUnit::of_model(name.as_str());
                Some((DecidedScores::need(b, &unit, false)?, b.need::<SplitStage>(&unit)?))
            }
            _ => None,
        };
        let (applied, support) = (applied.clone(), None);
        Ok(SetInputs { plan, applied, rows, reference, external, support, predictions })
    }

    /// As [`Self::need`], with what counterfactuals are tested by.
    fn need_tested(b: &mut StageBuilder<'_, 'a>, applied: &AppliedSet<'a>) -> Result<Self> {
        let support = b.need::<SupportStage>(&applied.split_unit())?;
        Ok(SetInputs { support: Some(support), ..SetInputs::need(b, applied)? })
    }

    /// The rows that the strategy learns from, and what the set conditions on.
    fn basis<'g>(&self, row_context: RowContext<'g>) -> Result<LearningReference<'g>> {
        let reference =
            self.reference.as_ref().map(|stage| stage.open(row_context.ctx)).transpose()?;
        LearningReference::new(row_context, reference, self.row_classes(row_context)?)
            .map_err(|error| self.plan.with_model_place(error, &["data", "reference"]))
    }

    /// What the set conditions on, open for reading.
    fn row_classes(&self, row_context: RowContext<'_>) -> Result<RowClasses> {
        if let Some((scored, roles)) = &self.predictions {
            let roles = roles.open(row_context.ctx, row_context.rows)?;
            return Ok(RowClasses::Predicted(Box::new(scored.predictions(row_context)?), roles));
        }
        let condition = self.applied.block.knobs().map(|knobs| knobs.condition_on);
        // Preparing puts the unchanged label last among the hidden features.
        Ok(match (condition, row_context.rows.layout().hidden.last()) {
            (Some(ConditionOn::RawLabel), Some(&feature)) => RowClasses::Raw(feature),
            _ => RowClasses::Label,
        })
    }

    /// Writes the counterfactuals of the audited rows of a context, and what followed of all rows;
    /// `learnt` gets the number of references.
    pub(crate) fn generate(
        &self,
        row_context: RowContext<'_>,
        passes: &RowShare,
        learnt: impl FnOnce(usize) -> Result<Vec<FittedStrategy>>,
    ) -> Result<()> {
        let (ctx, layout) = (row_context.ctx, row_context.rows.layout());
        let position = self.applied.position;
        let knobs = self.applied.block.knobs();
        let n_folds = n_folds_of(row_context, self.reference.is_some());
        let learnt = knobs.map(|_| learnt(n_folds)).transpose()?.unwrap_or_default();
        let without_rows = knobs.map(|knobs| knobs.groups_without_rows(&learnt));
        let without_rows = without_rows.unwrap_or_default();
        let tests = self.support_tests(row_context)?;
        let write = || self.generate_rows(row_context, (learnt, tests.as_ref()));
        let Some(sums) = passes.map(ctx, ShardPass::Count, write)? else { return Ok(()) };
        if !passes.reads_rows() {
            let (n_rows, follows) = (sums.n_rows, sums.follows);
            let keys = NaiveKeys { attribute: position, n_rows, follows };
            keys.write(ctx.out())?;
        }
        let unsupported = tests.map_or_else(Vec::new, |tests| tests.found(&sums.support));
        rows::write_effects(layout, position, &sums, (&without_rows, unsupported), ctx.out())
    }

    /// Writes the keys of a set that depends on graphs, and which values of its people are
    /// unsupported.
    fn generate_keys(
        &self,
        row_context: RowContext<'_>,
        worlds: (&CausalWorlds, ClipRule),
    ) -> Result<()> {
        let (ctx, layout) = (row_context.ctx, row_context.rows.layout());
        let position = self.applied.position;
        let mut sums = self.generate_rows(row_context, (Vec::new(), None))?;
        let tests = self.support_tests(row_context)?;
        let mut unsupported = Vec::new();
        if let Some(tests) = &tests {
            let of = (tests, ctx.out());
            sums.support = world_support::write_expected(of, row_context, worlds)?;
            unsupported = tests.found(&sums.support);
        }
        rows::write_effects(layout, position, &sums, (&[], unsupported), ctx.out())
    }

    /// The test of the counterfactuals of audited rows; none where features do not travel.
    fn support_tests(&self, row_context: RowContext<'_>) -> Result<Option<SupportTests>> {
        let of = (row_context.rows.layout(), self.applied.position);
        let stage = self.support.as_ref().filter(|_| self.plan.features);
        Ok(stage.map(|stage| stage.tests(row_context.ctx, self.plan, of)).transpose()?.flatten())
    }

    /// Writes the counterfactuals of the audited rows of this run or shard.
    fn generate_rows(
        &self,
        row_context: RowContext<'_>,
        (learnt, tests): (Vec<FittedStrategy>, Option<&SupportTests>),
    ) -> Result<GenerationSums> {
        let (ctx, plan, applied) = (row_context.ctx, self.plan, &self.applied);
        let basis = &self.basis(row_context)?;
        // For a set that depends on graphs, only the keys are written: its counterfactuals are
        // numbers, not rows.
        let (with_features, knobs) =
            (plan.features && applied.graphs().is_none(), applied.block.knobs());
        let generators = match &knobs {
            None => vec![Box::new(NaiveGenerator) as Box<dyn Generator>],
            Some(knobs) => self
                .generators(basis, (knobs, learnt))
                .map_err(|e| plan.with_set_place(e, applied))?,
        };
        let tallies: Vec<_> = generators.iter().filter_map(|of| of.tallies()).cloned().collect();
        if !tallies.is_empty() {
            files::write_json(&ctx.out().join(TALLIES), &merge_folds(tallies.into_iter()))?;
        }
        let write_backs = if with_features {
            rows::write_backs(row_context, basis, applied.position)?
        } else {
            Vec::new()
        };
        let making = GenerateInputs {
            generators: &generators,
            attribute: applied.position,
            classes: &basis.classes,
            write_backs: &write_backs,
            with_features,
            // Experiments read them next to the roles of a fold.
            is_view: knobs.is_none()
                && plan.job.experiments.is_empty()
                && write_backs.iter().all(WriteBack::is_empty),
            judged: knobs.is_some(),
            support: tests.filter(|_| with_features),
            keeps_attribute: false,
        };
        rows::generate(row_context, &making, ctx.out())
    }

    /// The generators of what a strategy learnt, one for each fold.
    fn generators(
        &self,
        basis: &LearningReference<'_>,
        (knobs, learnt): (&StrategyPlan<'_>, Vec<FittedStrategy>),
    ) -> Result<Vec<Box<dyn Generator>>> {
        let (plan, applied, position) = (self.plan, &self.applied, self.applied.position);
        check_classes(basis, &learnt, position)?;
        let needs_class = knobs.condition() == Conditioning::Class;
        let read = |external: &ExternalInput<'_>| {
            let file = external.path(basis.context.ctx);
            let classes = (&*basis.classes, needs_class);
            plan.external_rows(basis.context, (applied, &file), classes)
        };
        let external = self.external.as_ref().map(read).transpose()?;
        basis.generators(knobs, learnt, (position, plan.job.run.seed), external)
    }
}

impl<'a> StagePlan<'a> {
    /// What the features do not say.
    pub(crate) fn extras(&self, layout: &Layout) -> VariableOptions {
        let level = self.job.data.missing.nominal == MissingRule::Level;
        let positions = |columns: &[ColumnName]| {
            columns.iter().filter_map(|column| layout.feature(column.as_str())).collect()
        };
        let onehot = self
            .job
            .data
            .features
            .onehot
            .iter()
            .map(|(name, columns)| (name.to_string(), positions(columns)));
        VariableOptions {
            missing_level: level.then(|| MISSING_LEVEL.to_owned()),
            onehot: onehot.collect(),
            ..VariableOptions::default()
        }
    }

    /// A fault with the line of the set, or of the counterparts, that asks for what is faulty.
    pub(crate) fn with_set_place(&self, error: Error, applied: &AppliedSet<'a>) -> Error {
        let Error::Data(fault) = &error else { return error };
        let word = applied.block.keys().first().copied().unwrap_or_default();
        let column = fault.column.clone().unwrap_or_default();
        let keys = match fault.code {
            "unknown-level" => vec!["counterfactuals", applied.set, word, "counterpart", &column],
            _ => vec!["counterfactuals", applied.set, word],
        };
        self.with_model_place(error, &keys)
    }

    /// Whether the quality of counterfactuals is asked for.
    pub(crate) fn wants_quality(&self) -> bool {
        job::check::defaults::families(self.job).contains(&job::MetricFamily::CfQuality)
    }
}

/// The knobs of a set whose strategy learns.
fn learning_knobs<'a>(applied: &AppliedSet<'a>) -> Result<StrategyPlan<'a>> {
    let nothing = || internal_error(format!("the set `{}` learns nothing", applied.set));
    applied.block.knobs().ok_or_else(nothing)
}

impl Stage for FitStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let applied = plan.set_of(unit)?;
        let (knobs, of_set) = (learning_knobs(&applied)?, SetInputs::need(b, &applied)?);
        of_set.rows.clone().work(0, move |ctx, row_context| {
            let basis = of_set.basis(row_context)?;
            let layout = row_context.rows.layout();
            let (extras, position) = (&plan.extras(layout), applied.position);
            let moved = MovedRows { layout, extras, position };
            let variables = knobs.variables(moved);
            let hash = || {
                let of = (&variables[..], knobs.condition());
                refits::reference_hash(layout, of, &basis.classes, position)
            };
            let mut read = Vec::new();
            for fold in 0..basis.n_folds() {
                let reference = basis.rows(fold).hashed(hash());
                let learnt = knobs
                    .learn(moved, &reference)
                    .map_err(|error| plan.with_set_place(error, &applied))?;
                files::write_compact(&ctx.out().join(artifact(fold)), &learnt)?;
                read.push(reference.content());
            }
            let external = of_set.external.as_ref().map(|of| of.sha256(ctx)).transpose()?;
            refits::write(ctx.out(), &read, external)
        })
    }
}

impl Stage for GenerateStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let applied = plan.set_of(unit)?;
        if let Some(graphs) = applied.graphs().filter(|graphs| graphs.makes_rows()) {
            return world_rows::plan_world_rows(&applied, graphs, b);
        }
        // With a fold the training rows for it get counterfactuals, of what was learnt for it.
        let of_set = match unit.fold {
            None => SetInputs::need_tested(b, &applied)?,
            Some(fold) => {
                let rows = RowInputs::of_experiment(b, unit)?.in_fold(FoldRoles::Training, fold);
                SetInputs::on_rows(b, &applied, rows)?
            }
        };
        let knobs = applied.block.knobs();
        let fit = knobs.map(|_| b.need::<FitStage>(&applied.unit())).transpose()?;
        let graphs = applied.graphs().filter(|_| unit.fold.is_none());
        let graphs = match graphs {
            None => None,
            Some(graphs) => {
                b.texts([("scenario".to_owned(), applied.scenario().1.to_owned())]);
                let found = b.need::<DiscoverStage>(&applied.graphs_unit())?;
                Some((b.value("clip", graphs.clip_rule()), found))
            }
        };
        // A reference in a separate file is the same for all folds.
        let has_reference = plan.job.data.reference.is_some();
        let learnt_in = unit.fold.map(|fold| if has_reference { 0 } else { fold });
        b.value("features", plan.features);
        if knobs.is_some_and(|knobs| knobs.matches_samples()) {
            b.seed();
        }
        let passes = b.row_passes();
        of_set.rows.clone().work(1, move |ctx, row_context| {
            let learnt = |n_folds: usize| match (&fit, learnt_in) {
                (None, _) => Ok(Vec::new()),
                (Some(fit), None) => fit.learnt(ctx, n_folds),
                (Some(fit), Some(fold)) => Ok(vec![fit.learnt_in(ctx, fold)?]),
            };
            let Some((clip, found)) = &graphs else {
                return of_set.generate(row_context, passes, learnt);
            };
            let found = found.open(ctx, applied.scenario().1)?;
            of_set.generate_keys(row_context, (&found.worlds, *clip))
        })
    }
}

impl Stage for QualityStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let applied = plan.set_of(unit)?;
        let (knobs, of_set) = (learning_knobs(&applied)?, SetInputs::need(b, &applied)?);
        let (fit, made) = (b.need::<FitStage>(unit)?, b.need::<GenerateStage>(unit)?);
        let map = b.input("report.map", |job| job.report.map);
        let map = map.map(|wanted| (wanted, b.seed()));
        of_set.rows.clone().work(1, move |ctx, row_context| {
            let basis = of_set.basis(row_context)?;
            let learnt = fit.learnt(ctx, basis.n_folds())?;
            let tallies: Option<TransportTallies> = made.read_if_written(ctx, TALLIES)?;
            let layout = row_context.rows.layout();
            let judging = QualityInputs {
                context: row_context,
                reference: &basis,
                classes: &basis.classes,
                learnt: &learnt,
                counterfactuals: &made.open(row_context)?,
                tallies: tallies.as_ref(),
                set: applied.set,
                position: applied.position,
                least: least_rows(&knobs, layout, basis.n_folds()),
                map,
            };
            judging.write(ctx.out())
        })
    }
}

impl Stage for PlaceboStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        plan_repeats(unit, RepeatedPart::GroupNames, b)
    }
}

impl Stage for DoubtStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        plan_repeats(unit, RepeatedPart::ReferenceRows, b)
    }
}

/// Fits, generates, scores and counts a set several times, with one part changed.
fn plan_repeats<'a>(
    unit: &AuditUnit,
    part: RepeatedPart,
    b: &mut StageBuilder<'_, 'a>,
) -> Planned<'a> {
    let plan = b.plan;
    let applied = plan.set_of(unit)?;
    let of_set = match part {
        RepeatedPart::GroupNames => SetInputs::need(b, &applied)?,
        RepeatedPart::ReferenceRows => SetInputs::need_tested(b, &applied)?,
    };
    let knobs = learning_knobs(&applied)?;
    let Some(repeats) = part.repeats(applied.block) else {
        return Err(internal_error(format!("the set `{}` has no {}", applied.set, part.key())));
    };
    // Only models that run in this process; `check` allows no others for such a set.
    let asked = |(name, model): &(&Name, &ModelBlock)| match part {
        RepeatedPart::GroupNames => model.is_trained_here(),
        RepeatedPart::ReferenceRows => model.scores_counterfactuals() && applied.block.asks(name),
    };
    let mut models = Vec::new();
    for (name, _) in plan.job.models.iter().filter(asked) {
        let name = name.as_str();
        let unit = AuditUnit::of_model(name);
        models.push((name, AskedModels::need(b, &unit)?, DecidedScores::need(b, &unit, true)?));
    }
    b.value(part.key(), repeats);
    b.seed();
    b.value("score metrics", plan.wants_shift());
    of_set.rows.clone().work(0, move |ctx, row_context| {
        let basis = of_set.basis(row_context)?;
        let opened = models.iter().map(|(name, asked, scored)| {
            let (rule, scores) = scored.open(row_context)?;
            Ok(RepeatModel {
                scorers: asked.scorers(row_context)?,
                known: asked.known_groups(row_context, applied.position)?,
                rule,
                scores,
                name: (*name).to_owned(),
            })
        });
        let repeated = RepeatInputs {
            plan,
            applied: &applied,
            reference: &basis,
            knobs,
            support: of_set.support_tests(row_context)?,
            models: opened.collect::<Result<_>>()?,
            part,
            repeats,
        };
        repeated.write(ctx.out()).map_err(|error| plan.with_set_place(error, &applied))
    })
}

/// The number of reference rows of a level that enough people have: with folds everybody is
/// reference in all folds but one, and decorrelating adds twins.
fn least_rows(knobs: &StrategyPlan<'_>, layout: &Layout, n_folds: usize) -> u64 {
    let folds = n_folds.saturating_sub(1).max(1) as u64;
    let groups = knobs.decorrelate.iter().map(|entry| {
        layout
            .attribute(entry.sensitive.as_str())
            .map_or(1, |at| layout.attributes[at].groups.len())
    });
    LEAST_PEOPLE * folds * groups.map(|n| n as u64).product::<u64>()
}

/// File of the stage `generate` of a strategy that matches samples.
const TALLIES: &str = "tallies.json";

/// Errs where an audited row has a class that no reference row has: the distributions of the class
/// are unknown, and those without the class would answer another question.
fn check_classes(
    basis: &LearningReference<'_>,
    learnt: &[FittedStrategy],
    position: usize,
) -> Result<()> {
    let (row_context, classes) = (basis.context, &*basis.classes);
    let known: Vec<BTreeSet<u32>> =
        learnt.iter().map(|l| l.counts.0.keys().filter_map(|key| key.1).collect()).collect();
    if learnt.iter().all(|l| l.rules.condition == Conditioning::Nothing) {
        return Ok(());
    }
    let layout = row_context.rows.layout();
    // Of the features, only whether the label is unchanged is checked.
    let features = matches!(classes, RowClasses::Raw(_));
    let find = |g: usize| {
        let of = Projection { features, ..Projection::NO_FEATURES };
        let (batch, roles) = row_context.read(g, of)?;
        let of_rows = classes.of_group(g, &batch)?;
        let unseen = |i: &usize| {
            let fold = roles.audited(*i)?;
            let known = if known.len() == 1 { &known[0] } else { known.get(usize::from(fold))? };
            let class =
                of_rows[*i].filter(|_| batch.groups[position][*i] != crate::data::MISSING_GROUP)?;
            (!known.contains(&class)).then_some((*i, class))
        };
        let found = (0..batch.row.len()).find_map(|i| unseen(&i));
        let Some((i, class)) = found else { return Ok((0, ())) };
        let name = match classes.names(layout) {
            Some(names) => names.get(class as usize).map_or("", String::as_str),
            None => ["negative", "positive"][usize::from(class == 1)],
        };
        let what = format!(
            "a row has the class `{name}`, but no row from which the strategy learns has it"
        );
        Fault::new("unseen-class", what).at_row(format!("row {}", batch.row[i])).fail(
            "leave such rows out by `data.keep`, learn from more rows, or write \
             `condition_on: none`",
        )
    };
    row_context.row_groups().in_order(find, |_, ()| Ok(()))
}
