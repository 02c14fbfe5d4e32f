//! The stage `retrained/MODEL`: the model is trained several times, and each time asked and counted
//! instead of the one that is audited.
//!
//! Repeat r trains with the seed of the stream `doubt/training/r`; with `resample` the training
//! rows are drawn again with replacement, too (stream `doubt/training`): for a model trained here a
//! row weighs as often as it was drawn, and a program gets it as often. People, counterfactuals and
//! threshold stay as they are. Graph-uncertain sets take no part.

use std::path::Path;

use crate::data::rows::aligned::{CounterfactualReader, ScoreReader};
use crate::data::rows::draw::RowDraw;
use crate::error::Result;
use crate::exec::accumulator::merge_all;
use crate::exec::{StageContext, files, misfit};
use crate::metric::bootstrap::repeats::SetRepeat;
use crate::metric::evidence::counts::FactualCounts;
use crate::model::Scorer;
use crate::model::kind::TrainingDoubtBlock;
use crate::num::seed::RandomStream;
use crate::param::Seed;
use crate::stage::count::evidence::{BlockSettings, CountInputs, ScoredGroup, gather_rows};
use crate::stage::generate::repeats::count_repeat;
use crate::stage::kinds::{GenerateStage, RetrainedStage};
use crate::stage::models::UnitModels;
use crate::stage::row_context::{DecisionRule, RowContext};
use crate::stage::rule::RuleInputs;
use crate::stage::score::command::{CommandCall, CommandRows};
use crate::stage::score::rows::{score_rows, trained_groups};
use crate::stage::stage_builder::{PlannedWork, Stage, StageBuilder, StageInput, work};
use crate::stage::train::trainer::trainer;
use crate::unit::{AuditUnit, UnitField, UnitKind};

/// File of what the repeats gave of an attribute by its position: of the rows as they are, or of
/// the counterfactuals of a set.
fn evidence_file(set: Option<&str>, position: usize) -> String {
    format!("{}-{position}.json", set.map_or_else(|| "rows".to_owned(), |set| format!("set-{set}")))
}

impl StageInput<RetrainedStage> {
    /// What the repeats gave of the rows as they are.
    pub(crate) fn of_rows(
        &self,
        ctx: &StageContext<'_>,
        position: usize,
    ) -> Result<Vec<FactualCounts>> {
        self.read(ctx, &evidence_file(None, position))
    }

    /// What they gave of the counterfactuals of a set.
    pub(crate) fn of_set(
        &self,
        ctx: &StageContext<'_>,
        set: &str,
        position: usize,
    ) -> Result<Vec<SetRepeat>> {
        self.read(ctx, &evidence_file(Some(set), position))
    }
}

/// A set whose counterfactuals every training scores.
struct RetrainedSet {
    name: String,
    /// Of its attribute.
    position: usize,
    made: CounterfactualReader,
    /// For each fold the groups that its models know.
    known: Vec<Vec<bool>>,
    repeats: Vec<SetRepeat>,
}

/// A model that is trained again, to be opened.
struct RetrainedInputs<'a> {
    models: UnitModels<'a>,
    model: &'a crate::job::ModelBlock,
    doubt: TrainingDoubtBlock,
    rule: RuleInputs<'a>,
    seed: Seed,
    sets: Vec<(String, usize, StageInput<GenerateStage>)>,
    wants_shift: bool,
}

impl Stage for RetrainedStage {
    type Output = Self;
    const KIND: UnitKind = UnitKind::Retrained;
    const FIELDS: &'static [UnitField] = &[UnitField::Model];

    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        let plan = b.plan;
        let models = UnitModels::of(unit, b)?;
        models.training_inputs(b);
        let named = plan.job.models.iter().find(|(name, _)| name.as_str() == unit.model);
        let Some((name, model, doubt)) =
            named.and_then(|(n, model)| Some((n, model, model.doubt?)))
        else {
            return Err(misfit(format!("the model `{}` is not trained again", unit.model)));
        };
        b.value("doubt", doubt);
        let scoring = models.call().map_or_else(Vec::new, |call| call.score_inputs());
        b.texts(scoring.into_iter().map(|(name, value)| (format!("score {name}"), value)));
        let rule = RuleInputs::need(b, name.as_str(), model)?;
        let seed = b.seed();
        let mut sets = Vec::new();
        for applied in plan.applied_sets() {
            if applied.graphs().is_none() && applied.block.asks(name) {
                let made = b.need::<GenerateStage>(&applied.unit())?;
                sets.push((applied.set.to_owned(), applied.position, made));
            }
        }
        let wants_shift = b.value("score metrics", plan.wants_shift());
        let inputs = RetrainedInputs { models, model, doubt, rule, seed, sets, wants_shift };
        work(move |ctx| inputs.models.rows.with(ctx, 0, |rows| inputs.write(ctx, rows)))
    }
}

impl RetrainedInputs<'_> {
    fn write(&self, ctx: &StageContext<'_>, row_context: RowContext<'_>) -> Result<()> {
        let rule = self.rule.open(ctx, row_context)?;
        let open = |(name, position, made): &'_ (String, usize, StageInput<GenerateStage>)| {
            Ok(RetrainedSet {
                name: name.clone(),
                position: *position,
                made: made.open(ctx, row_context)?,
                known: trained_groups(row_context, *position, self.models.n)?,
                repeats: Vec::new(),
            })
        };
        let mut sets = self.sets.iter().map(open).collect::<Result<Vec<_>>>()?;
        let mut rows = vec![Vec::new(); row_context.rows.layout().attributes.len()];
        for r in 0..self.doubt.training.get() {
            self.repeat((ctx, row_context, &rule), r, &mut rows, &mut sets)?;
        }
        let out = |set, position| ctx.out().join(evidence_file(set, position));
        for (position, repeats) in rows.iter().enumerate() {
            files::write_json(&out(None, position), repeats)?;
        }
        sets.iter().try_for_each(|set| {
            files::write_json(&out(Some(&set.name), set.position), &set.repeats)
        })
    }

    /// The models of all folds, trained for a repeat.
    fn train(
        &self,
        ctx: &StageContext<'_>,
        row_context: RowContext<'_>,
        r: u64,
    ) -> Result<RetrainedModels<'_>> {
        let stream = format!("doubt/training/{r}");
        let seed = Seed(RandomStream::new(self.seed.0, &stream).u64());
        let layout = row_context.rows.layout();
        let draw = self.doubt.resample.then(|| RowDraw::new(self.seed, "doubt/training", r));
        let rows = |fold: usize| row_context.training(u8::try_from(fold).unwrap_or(u8::MAX));
        if let Some(trainer) = trainer(self.model, layout, seed) {
            let train = |fold: usize| {
                let rows = match draw {
                    Some(draw) => rows(fold).drawn(draw),
                    None => rows(fold),
                };
                Ok(trainer.fit(&rows)? as Box<dyn Scorer>)
            };
            let scorers = (0..self.models.n).map(train).collect::<Result<_>>()?;
            return Ok(RetrainedModels::Here(scorers));
        }
        let Some(call) = self.models.call() else {
            return Err(misfit(
                "a model that is trained elsewhere is not trained again".to_owned(),
            ));
        };
        // Libraries take seeds of 31 bits.
        let call = CommandCall { seed: Seed(seed.0 >> 33), ..call };
        for fold in 0..self.models.n {
            let rows = match draw {
                Some(draw) => rows(fold).drawn_as_copies(draw),
                None => rows(fold),
            };
            call.train_on(ctx, layout, &rows, fold)?;
        }
        Ok(RetrainedModels::Program(call))
    }

    fn repeat(
        &self,
        (ctx, row_context, rule): (&StageContext<'_>, RowContext<'_>, &DecisionRule),
        r: u64,
        rows: &mut [Vec<FactualCounts>],
        sets: &mut [RetrainedSet],
    ) -> Result<()> {
        let models = self.train(ctx, row_context, r)?;
        let folder = ctx.out().join("scores");
        files::make_folder(&folder)?;
        models.score((ctx, row_context), None, &folder)?;
        let scores = ScoreReader::open(&folder, row_context.rows, row_context.roles)?;
        let blocks = BlockSettings { seed: self.seed, paired: false, scores: false, curves: false };
        for (attribute, repeats) in rows.iter_mut().enumerate() {
            let counts = gather_rows((row_context, rule, &scores), attribute, blocks, 1)?;
            repeats.extend(merge_all(counts));
        }
        for RetrainedSet { position, made, known, repeats, .. } in sets {
            let folder = ctx.out().join("scores-of-set");
            files::make_folder(&folder)?;
            models.score((ctx, row_context), Some((made, *position, known)), &folder)?;
            let scores_cf = ScoreReader::open(&folder, row_context.rows, row_context.roles)?;
            let scored = CountInputs {
                rule,
                attribute: *position,
                counterfactuals: made,
                scores: &scores,
                scores_cf: &scores_cf,
            };
            let read = |g: usize| ScoredGroup::read(row_context, scored, g);
            let of = (*position, self.seed, rule);
            repeats.push(count_repeat(row_context, of, None, self.wants_shift, read)?);
            files::remove_folder(&folder)?;
        }
        if let RetrainedModels::Program(call) = models {
            call.remove_trained(ctx)?;
        }
        files::remove_folder(&folder)
    }
}

/// The models of a repeat, one for each fold.
enum RetrainedModels<'a> {
    /// Trained here.
    Here(Vec<Box<dyn Scorer>>),
    /// Trained by a program, in the folder of the stage.
    Program(CommandCall<'a>),
}

impl RetrainedModels<'_> {
    /// Scores the audited rows, or the counterfactuals of a set: these, the position of their
    /// attribute, and for each fold the groups that its models know.
    fn score(
        &self,
        (ctx, row_context): (&StageContext<'_>, RowContext<'_>),
        of: Option<(&CounterfactualReader, usize, &[Vec<bool>])>,
        folder: &Path,
    ) -> Result<()> {
        match self {
            RetrainedModels::Here(scorers) => {
                let of = of.map(|(made, _, known)| (made, known));
                score_rows(row_context, scorers, of, folder)
            }
            RetrainedModels::Program(call) => {
                let attributes = &row_context.rows.layout().attributes;
                let rows = of.map_or(CommandRows::Rows, |(made, position, _)| {
                    CommandRows::Counterfactuals(made, &attributes[position])
                });
                call.score_to(ctx, row_context, (rows, Some(ctx.out())), folder)
            }
        }
    }
}
