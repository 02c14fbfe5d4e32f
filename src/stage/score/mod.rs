//! The stage `score`: the scores of rows and counterfactuals by models trained here and by
//! commands, and scores computed elsewhere.

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
pub(crate) mod score_file;
pub(crate) mod worlds;

use std::path::{Path, PathBuf};

use crate::data::column::declared::DeclaredColumns;
use crate::data::exchange::keyed::{AnswerValues, KeyedFile};
use crate::data::rows::aligned::{SCORES, ScoreReader, write_precision};
use crate::data::rows::number_file::NumberEncoder;
use crate::error::{Fault, Result};
use crate::exec::{files, internal_error};
use crate::job;
use crate::param::ColumnName;
use crate::stage::applied_set::AppliedSet;
use crate::stage::count::classes::{self, ClassScores};
use crate::stage::input::request::{ScoreAnswers, recheck_inputs};
use crate::stage::input::score_files::{columns_of, file_of};
use crate::stage::kinds::{GenerateStage, ScoreStage};
use crate::stage::models::{AskedModels, OpenModels};
use crate::stage::plan::StagePlan;
use crate::stage::row_context::RowContext;
use crate::stage::row_inputs::RowInputs;
use crate::stage::score::asked_rows::{AskedRows, CounterfactualRows, PreparedRows};
use crate::stage::score::join::{JoinedCounterfactuals, JoinedScores, ScoreFileJoin};
use crate::stage::score::rows::check_carried;
use crate::stage::stage_builder::{Planned, Stage, StageBuilder, StageInput, work};
use crate::unit::AuditUnit;

impl StagePlan<'_> {
    /// A fault with the file and the row of the source that it was found in.
    fn with_source_row(&self, fault: Fault, row: u64) -> Fault {
        match &self.input.import {
            Some(import) => {
                fault.in_file(Path::new(&import.display_path())).at_row(format!("row {row}"))
            }
            // The file was read before; if it is gone now, only its row can be reported.
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
    /// The scores of a model of several classes, class by class; else the scores.
    pub(crate) fn open_each(&self, row_context: RowContext<'_>) -> Result<Vec<ScoreReader>> {
        let folder = self.folder(row_context.ctx);
        match row_context.rows.layout().n_classes() {
            0 => self.open(row_context).map(|scores| vec![scores]),
            n => ClassScores::open(folder, row_context, n).map(ClassScores::into_columns),
        }
    }

    /// The scores.
    pub(crate) fn open(&self, row_context: RowContext<'_>) -> Result<ScoreReader> {
        row_context.scores(self.folder(row_context.ctx))
    }
}

impl Stage for ScoreStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let (_, model) = plan.model_of(unit)?;
        let applied = (!unit.set.is_empty()).then(|| plan.set_of(unit)).transpose()?;
        if let Some(scores) = model.given_scores() {
            return plan_given_scores(unit, &scores, applied, b);
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
        let n_columns = plan.n_classes().unwrap_or(1);
        let share = b.row_passes();
        work(move |ctx| {
            if !share.reads_rows() {
                return Ok(());
            }
            rows.with(ctx, 1, |row_context| {
                let models = asked.open(row_context)?;
                let scored: Box<dyn AskedRows + '_> = match &made {
                    None => Box::new(PreparedRows { context: row_context, training: None }),
                    Some((made, attribute, of_worlds)) => {
                        let known = match &models {
                            OpenModels::Here(_) => asked.known_groups(row_context, *attribute)?,
                            OpenModels::Program(..) => Vec::new(),
                        };
                        ctx.set_total(row_context.rows.layout().n_rows);
                        Box::new(CounterfactualRows {
                            context: row_context,
                            made: made.open(row_context)?,
                            attribute: *attribute,
                            known,
                            of_worlds: *of_worlds,
                        })
                    }
                };
                // One column, or one for each class.
                let folders = (0..n_columns).map(|class| score_folder(plan, ctx.out(), class));
                let folders: Vec<PathBuf> = folders.collect();
                let files = folders.iter().map(|out| {
                    files::make_folder(out)?;
                    SCORES.create(out)
                });
                let (encoders, mut writers): (Vec<_>, Vec<_>) =
                    files.collect::<Result<Vec<_>>>()?.into_iter().unzip();
                let encoded = |_, scores: Vec<f64>| {
                    let column = |(class, encoder): (usize, &NumberEncoder<_>)| {
                        let of_class = scores.iter().skip(class).step_by(n_columns);
                        encoder.encode(of_class.copied().collect())
                    };
                    encoders.iter().enumerate().map(column).collect::<Result<Vec<_>>>()
                };
                let precision =
                    models.score_blocks(row_context, &*scored, &encoded, &mut |encoded| {
                        let mut columns = writers.iter_mut().zip(encoded);
                        columns.try_for_each(|(writer, column)| writer.append(column))
                    })?;
                for (writer, out) in writers.into_iter().zip(&folders) {
                    writer.finish()?;
                    write_precision(out, precision)?;
                }
                Ok(())
            })
        })
    }
}

/// Scores in a column of the rows or in a file; waits for a file that is not there.
fn plan_given_scores<'a>(
    unit: &AuditUnit,
    scores: &job::ScoresBlock,
    applied: Option<AppliedSet<'a>>,
    b: &mut StageBuilder<'_, 'a>,
) -> Planned<'a> {
    let plan = b.plan;
    let (name, model) = plan.model_of(unit)?;
    let scale = b.value("scale", plan.score_scale(model));
    let kind = if model.gives_scores() { "scores" } else { "decision" };
    let set = applied.as_ref().map(|applied| applied.set);
    let rows = RowInputs::of_job(b)?;
    b.value("scores", scores);
    let classes = plan.job.data.label.classes();
    if let Some(classes) = classes {
        b.value("data.label.classes", classes);
    }
    let mut answer = None;
    if let Some(file) = file_of(scores, set) {
        answer = ScoreAnswers::need(b, (name, file.into()), set)?;
        if answer.is_none() {
            return b.wait();
        }
    }
    let passes = plan.n_classes().unwrap_or(1) as u64;
    let share = b.row_passes();
    let key = if set.is_some() { "counterfactual" } else { "factual" };
    // One column, or one for each class.
    let columns = columns_of(scores, set, classes);
    let set = match applied {
        None => None,
        Some(_) if answer.is_none() => {
            let what = format!("the model `{name}` has no scores of counterfactuals");
            return Err(internal_error(what));
        }
        Some(applied) => {
            recheck_inputs(b);
            // The scores of the rows as they are, and how far those that are scored again may
            // differ.
            let again = match scores.recheck {
                None => None,
                Some(recheck) => {
                    let factual = b.need::<ScoreStage>(&AuditUnit::of_model(name))?;
                    Some((factual, recheck.tolerance.get()))
                }
            };
            Some((b.need::<GenerateStage>(unit)?, applied.position, again))
        }
    };
    let columns: Vec<ColumnName> = columns.into_iter().cloned().collect();
    let decided = set.as_ref().and_then(|_| model.decided_column()).map(ColumnName::as_str);
    let is_in_rows = answer.is_none();
    let write = move |row_context: RowContext<'_>| -> Result<()> {
        let ctx = row_context.ctx;
        let layout = row_context.rows.layout();
        let each_column = || columns.iter().map(|column| column.as_str()).enumerate();
        let Some(answer) = &answer else {
            return each_column().try_for_each(|(class, column)| {
                let out = score_folder(plan, ctx.out(), class);
                files::make_folder(&out)?;
                check_carried(plan, row_context, column, scale, &out)
            });
        };
        let opened = match &set {
            None => None,
            Some((made, attribute, again)) => {
                let factual = again.as_ref().map(|(scores, tolerance)| {
                    scores.open_each(row_context).map(|scores| (scores, *tolerance))
                });
                Some(JoinedCounterfactuals {
                    made: made.open(row_context)?,
                    attribute: *attribute,
                    sample: plan.recheck_sample(row_context, *attribute)?,
                    factual: factual.transpose()?,
                })
            }
        };
        let words = layout.decisions.iter().find(|of| Some(of.column.as_str()) == decided);
        let values = words.cloned().map_or(AnswerValues::Scores(scale), AnswerValues::Decisions);
        let attribute = set.as_ref().map(|(_, position, _)| &layout.attributes[*position]);
        let open = |column: &str| {
            let (files, answers) = (answer.files(), Some((column, values.clone())));
            KeyedFile::open(files, answers, layout.row_id, attribute, &layout.attributes)
        };
        let join = |class: usize, column: &str| {
            let (file, out) = (open(column)?, score_folder(plan, ctx.out(), class));
            files::make_folder(&out)?;
            ScoreFileJoin { context: row_context, file: &file, class, set: opened.as_ref() }
                .join(&out)
        };
        let Some(first) = columns.first() else { return Ok(()) };
        let join_all = || {
            each_column().try_fold(JoinedScores::default(), |all, (class, column)| {
                let mut one = join(class, column)?;
                // The same rows for every class.
                one.again.largest = one.again.largest.max(all.again.largest);
                Ok(one)
            })
        };
        let joined = answer.join(plan, (ctx, share), &open(first.as_str())?, join_all)?;
        let compares = set.as_ref().is_some_and(|(.., again)| again.is_some());
        if let Some(joined) = joined.filter(|_| compares) {
            files::write_json(&ctx.out().join(join::RECHECKED), &joined.again)?;
        }
        Ok(())
    };
    work(move |ctx| {
        if !share.reads_rows() && is_in_rows {
            return Ok(());
        }
        rows.with(ctx, passes, |row_context| {
            let keys = ["models", name, kind, key];
            write(row_context).map_err(|e| plan.with_model_place(e, &keys))
        })
    })
}

/// Scores of several classes are in a folder each; one score a row is in the folder of the
/// stage.
fn score_folder(plan: &StagePlan<'_>, stage: &Path, class: usize) -> PathBuf {
    plan.n_classes().map_or_else(|| stage.to_path_buf(), |_| classes::folder_of(stage, class))
}
