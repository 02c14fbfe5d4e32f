//! The stage `score`: what models trained here and commands say about rows and counterfactuals, and
//! scores computed elsewhere.

pub(crate) mod asked_rows;
pub(crate) mod command;
pub(crate) mod contract;
pub(crate) mod encoded_worlds;
pub(crate) mod equal_rows;
pub(crate) mod expect;
#[cfg(test)]
mod extension_tests;
pub(crate) mod fit_threshold;
pub(crate) mod join;
pub(crate) mod levels;
pub(crate) mod recheck;
pub(crate) mod rows;
pub(crate) mod worlds;
pub(crate) mod worlds_inputs;

use std::path::{Path, PathBuf};

use crate::data::column::declared::DeclaredColumns;
use crate::data::exchange::keyed::{AnswerValues, KeyedFile};
use crate::data::rows::aligned::ScoreReader;
use crate::error::{Fault, Result};
use crate::exec::{StageContext, files, misfit};
use crate::job;
use crate::num::score_scale::ScoreScale;
use crate::param::ColumnName;
use crate::stage::applied_set::AppliedSet;
use crate::stage::count::classes::{self, ClassScores};
use crate::stage::input::request::{ScoreAnswers, recheck_inputs};
use crate::stage::input::score_files::scores_path;
use crate::stage::kinds::{GenerateStage, ScoreStage};
use crate::stage::models::AskedModels;
use crate::stage::plan::StagePlan;
use crate::stage::row_context::RowContext;
use crate::stage::row_inputs::RowInputs;
use crate::stage::score::command::CommandRows;
use crate::stage::score::join::{JoinedScores, RecheckAgainst, RecheckResult};
use crate::stage::score::rows::{carried_column, check_carried, score_rows};
use crate::stage::sharding::share::StagePasses;
use crate::stage::stage_builder::{PlannedWork, Stage, StageBuilder, StageInput, work};
use crate::unit::{AuditUnit, UnitField, UnitKind};

impl StagePlan<'_> {
    /// A fault with the file and the row of the source that it was found in.
    fn with_source_row(&self, fault: Fault, row: u64) -> Fault {
        match &self.input.import {
            Some(import) => {
                fault.in_file(Path::new(&import.display_path())).at_row(format!("row {row}"))
            }
            // The file was read before; where it has gone since, its row is all that can be said.
            None => match self.input.open_rows(&[], &DeclaredColumns::new()) {
                Ok(source) => source.locate_row(fault, row),
                Err(_) => fault.at_row(format!("row {row}")),
            },
        }
    }

    /// Number of classes of the label; none where it has two sides.
    pub(crate) fn n_classes(&self) -> Option<usize> {
        self.job.data.label.classes().map(<[_]>::len)
    }
}

impl StageInput<ScoreStage> {
    /// The scores.
    pub(crate) fn open(
        &self,
        ctx: &StageContext<'_>,
        row_context: RowContext<'_>,
    ) -> Result<ScoreReader> {
        ScoreReader::open(self.folder(ctx), row_context.rows, row_context.roles)
    }

    /// The scores of each of `n` classes.
    pub(crate) fn of_classes(
        &self,
        ctx: &StageContext<'_>,
        row_context: RowContext<'_>,
        n: usize,
    ) -> Result<ClassScores> {
        ClassScores::open(self.folder(ctx), row_context, n)
    }

    /// The folder of the scores of a class; of a label of two sides that of the stage.
    fn class_folder(&self, ctx: &StageContext<'_>, class: Option<usize>) -> PathBuf {
        let folder = self.folder(ctx);
        class.map_or_else(|| folder.to_path_buf(), |class| classes::folder_of(folder, class))
    }

    /// What scoring rows again gave, in a file written elsewhere.
    pub(crate) fn rechecked(&self, ctx: &StageContext<'_>) -> Result<RecheckResult> {
        self.read(ctx, join::RECHECKED)
    }
}

impl Stage for ScoreStage {
    type Output = Self;
    const KIND: UnitKind = UnitKind::Score;
    const FIELDS: &'static [UnitField] = UnitField::ALL;

    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        let plan = b.plan;
        let (_, model) = plan.model_of(unit)?;
        let applied = (!unit.set.is_empty()).then(|| plan.set_of(unit)).transpose()?;
        if let Some(scores) = model.made_elsewhere() {
            return plan_made_elsewhere(unit, scores, applied, b);
        }
        let asked = AskedModels::need(b, unit)?;
        let rows = asked.models.scored_rows(unit);
        let made = match applied {
            None => None,
            Some(applied) => {
                let of_worlds = applied.graphs().is_some();
                // Training rows for a fold have counterfactuals of their own.
                let predicted = !unit.predictions.is_empty();
                let of = if predicted { unit.clone() } else { applied.unit() };
                Some((b.need::<GenerateStage>(&of)?, applied.position, of_worlds))
            }
        };
        let passes = plan.n_classes().unwrap_or(1) as u64;
        let share = b.row_passes();
        work(move |ctx| {
            if !share.reads_rows() {
                return Ok(());
            }
            let passes = if asked.call().is_some() { 1 } else { passes };
            rows.with(ctx, passes, |row_context| {
                let layout = row_context.rows.layout();
                let made = match &made {
                    None => None,
                    Some((made, position, of_worlds)) => {
                        Some((made.open(ctx, row_context)?, *position, *of_worlds))
                    }
                };
                if let Some(call) = asked.call() {
                    let scored = match &made {
                        None => CommandRows::Rows,
                        Some((made, position, of_worlds)) => {
                            let attribute = &layout.attributes[*position];
                            match of_worlds {
                                true => CommandRows::WorldRows(made, attribute),
                                false => CommandRows::Counterfactuals(made, attribute),
                            }
                        }
                    };
                    return call.score(ctx, row_context, scored, asked.files(ctx)?);
                }
                let scorers = asked.scorers(ctx, layout)?;
                let Some((made, position, _)) = made else {
                    return score_rows(row_context, &scorers, None, ctx.out());
                };
                let known = asked.known_groups(ctx, layout, position)?;
                ctx.set_total(passes * layout.n_rows);
                score_rows(row_context, &scorers, Some((&made, &known)), ctx.out())
            })
        })
    }
}

/// Scores in a column of the rows or in a file; waits for a file that is not there.
fn plan_made_elsewhere<'a>(
    unit: &AuditUnit,
    scores: &'a job::ScoresBlock,
    applied: Option<AppliedSet<'a>>,
    b: &mut StageBuilder<'_, 'a>,
) -> Result<PlannedWork<'a>> {
    let plan = b.plan;
    let (name, model) = plan.model_of(unit)?;
    let scale = b.value("scale", plan.score_scale(model));
    let kind = if model.gives_scores() { "scores" } else { "decision" };
    let place = move |key: &'static str| ["models", name, kind, key];
    let set = applied.as_ref().map(|applied| applied.set);
    let rows = RowInputs::of_job(b)?;
    b.value("scores", scores);
    if let Some(classes) = plan.job.data.label.classes() {
        b.value("data.label.classes", classes);
    }
    let mut answer = None;
    let file = match (set, &scores.counterfactual) {
        (None, _) => scores.factual.parquet.clone(),
        (Some(set), file) => file.as_ref().map(|file| scores_path(&file.parquet, set)),
    };
    if let Some(file) = file {
        answer = ScoreAnswers::need(b, (name, file.into()), set)?;
        if answer.is_none() {
            return b.wait();
        }
    }
    let passes = plan.n_classes().unwrap_or(1) as u64;
    let share = b.row_passes();
    let Some(applied) = applied else {
        return work(move |ctx| {
            if !share.reads_rows() && answer.is_none() {
                return Ok(());
            }
            rows.with(ctx, passes, |row_context| {
                factual_scores((plan, scale), (ctx, share), row_context, scores, answer.as_ref())
                    .map_err(|e| plan.with_model_place(e, &place("factual")))
            })
        });
    };
    let Some((answer, file)) = answer.zip(scores.counterfactual.as_ref()) else {
        return Err(misfit(format!("the model `{name}` has no scores of counterfactuals")));
    };
    recheck_inputs(b);
    let again = match scores.recheck {
        None => None,
        Some(recheck) => {
            Some((b.need::<ScoreStage>(&AuditUnit::of_model(name))?, recheck.tolerance.get()))
        }
    };
    let decided = model.decided_column().map(ColumnName::as_str);
    let made = b.need::<GenerateStage>(unit)?;
    let joined =
        JoinedSet { plan, scale, decided, answer, file, again, made, applied, passes: share };
    work(move |ctx| {
        rows.with(ctx, passes, |row_context| {
            joined
                .write(ctx, row_context)
                .map_err(|e| plan.with_model_place(e, &place("counterfactual")))
        })
    })
}

/// Scores of several classes are in a folder each; one score a row is in the folder of the
/// stage.
fn score_folder(plan: &StagePlan<'_>, out: &Path, class: usize) -> Result<PathBuf> {
    let Some(_) = plan.n_classes() else { return Ok(out.to_path_buf()) };
    let folder = classes::folder_of(out, class);
    files::make_folder(&folder)?;
    Ok(folder)
}

fn factual_scores(
    (plan, scale): (&StagePlan<'_>, ScoreScale),
    (ctx, passes): (&StageContext<'_>, StagePasses<'_>),
    row_context: RowContext<'_>,
    scores: &job::ScoresBlock,
    answer: Option<&ScoreAnswers>,
) -> Result<()> {
    let layout = row_context.rows.layout();
    let columns = scores.factual.score_columns(plan.job.data.label.classes());
    let Some(answer) = answer else {
        return columns.into_iter().enumerate().try_for_each(|(class, column)| {
            let carried = (carried_column(row_context, column.as_str())?, column.as_str());
            check_carried(
                row_context,
                carried,
                scale,
                &|fault, row| plan.with_source_row(fault, row),
                &score_folder(plan, ctx.out(), class)?,
            )
        });
    };
    let open = |column: &str| {
        let values = AnswerValues::Scores(scale);
        KeyedFile::open(answer.files(), column, layout.row_id, None, &layout.attributes, values)
    };
    let Some(first) = columns.first() else { return Ok(()) };
    let join = || {
        let mut joined = JoinedScores::default();
        for (class, column) in columns.iter().enumerate() {
            let folder = score_folder(plan, ctx.out(), class)?;
            // The same rows for every class.
            joined = join::join_rows(row_context, &open(column.as_str())?, &folder)?;
        }
        Ok(joined)
    };
    answer.join(plan, (ctx, passes), &open(first.as_str())?, join).map(|_| ())
}

/// Scores of the counterfactuals of a set, in a file written elsewhere.
struct JoinedSet<'a> {
    plan: &'a StagePlan<'a>,
    scale: ScoreScale,
    /// The column of decisions in the rows; none where there are scores.
    decided: Option<&'a str>,
    answer: ScoreAnswers,
    file: &'a job::CounterfactualScores,
    /// The scores of the rows as they are, and how far those that come again may differ.
    again: Option<(StageInput<ScoreStage>, f64)>,
    made: StageInput<GenerateStage>,
    applied: AppliedSet<'a>,
    passes: StagePasses<'a>,
}

impl JoinedSet<'_> {
    fn write(&self, ctx: &StageContext<'_>, row_context: RowContext<'_>) -> Result<()> {
        let (plan, position) = (self.plan, self.applied.position);
        let layout = row_context.rows.layout();
        let counterfactuals = self.made.open(ctx, row_context)?;
        let sample = plan.recheck_sample(row_context, position)?;
        let columns = self.file.score_columns(plan.job.data.label.classes());
        let words = |column| layout.decisions.iter().find(|of| Some(of.column.as_str()) == column);
        let values = match words(self.decided) {
            Some(words) => AnswerValues::Decisions(words.clone()),
            None => AnswerValues::Scores(self.scale),
        };
        let open = |column: &str| {
            let attribute = Some(&layout.attributes[position]);
            KeyedFile::open(
                self.answer.files(),
                column,
                layout.row_id,
                attribute,
                &layout.attributes,
                values.clone(),
            )
        };
        let join = |class: usize, column: &str| {
            let file = open(column)?;
            let factual = match &self.again {
                None => None,
                Some((scores, tolerance)) => {
                    let class = plan.n_classes().map(|_| class);
                    let folder = scores.class_folder(ctx, class);
                    Some((
                        ScoreReader::open(&folder, row_context.rows, row_context.roles)?,
                        *tolerance,
                    ))
                }
            };
            let factual = factual.as_ref().map(|(scores, tolerance)| (scores, *tolerance));
            let recheck = sample.as_ref().map(|sample| RecheckAgainst { sample, factual });
            let out = score_folder(plan, ctx.out(), class)?;
            join::join_counterfactuals(
                row_context,
                &file,
                &counterfactuals,
                position,
                recheck,
                &out,
            )
        };
        let Some(first) = columns.first() else { return Ok(()) };
        let join_all = || {
            columns.iter().enumerate().try_fold(JoinedScores::default(), |all, (class, column)| {
                let mut one = join(class, column.as_str())?;
                // The same rows for every class.
                one.again.largest = one.again.largest.max(all.again.largest);
                Ok(one)
            })
        };
        let of = (ctx, self.passes);
        let joined = self.answer.join(plan, of, &open(first.as_str())?, join_all)?;
        if let Some(joined) = joined.filter(|_| self.again.is_some()) {
            files::write_json(&ctx.out().join(join::RECHECKED), &joined.again)?;
        }
        Ok(())
    }
}
