//! Models that are commands: starts their programs, sends them rows, and takes the models and
//! scores that they give back.
//!
//! One process scores all rows of a stage; with a program that trains, or one that names `{fold}`,
//! one process per fold. Factual rows are the audited ones. Which variables of the environment the
//! program gets is decided here; the rules for programs are in `jobs/models/README.md`.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::augment::ExperimentArm;
use crate::data::Layout;
use crate::data::exchange::row_stream::{
    DESCRIPTION, MODEL_HASH, POSITION, RawColumns, RowSink, ask_description,
};
use crate::data::exchange::score_stream::{
    SCORE, WantedScores, read_description, read_file, read_stream,
};
use crate::data::rows::training::{TrainingBatch, TrainingRows};
use crate::error::{Error, Fault, FilePlace, Result};
use crate::exec::StageContext;
use crate::exec::child::{self, ChildProgram, KeptProgram, ProgramExit, ProgramInput};
use crate::exec::files::{self, make_folder, remove_file, remove_folder};
use crate::exec::hash::hash_parts;
use crate::job::StreamFormat;
use crate::job::check::path;
use crate::model::contract::ModelContract;
use crate::model::kind::command::ScoringProgram;
use crate::model::kind::python::SCRIPT;
use crate::model::score_spool::{ScoreSpool, SpooledScores, score_complaint};
use crate::num::float_precision::FloatPrecision;
use crate::num::score_scale::ScoreScale;
use crate::param::{CommandArgument, Seed};
use crate::stage::applied_set::key_text;
use crate::stage::plan::StagePlan;
use crate::stage::program::{NamedVariables, has_placeholder};
use crate::stage::row_context::RowContext;
use crate::stage::score::asked_rows::AskedRows;
use crate::stage::score::equal_rows::{EqualRows, read_features, row_hashes};

/// Folder of files that are there only while a program runs.
const SCRATCH: &str = "scratch";

/// A model that is a command, with what its placeholders represent.
#[derive(Clone, Copy)]
pub(crate) struct CommandCall<'a> {
    pub plan: &'a StagePlan<'a>,
    /// The model's name in the job.
    pub model: &'a str,
    /// The key of its kind in the job.
    pub key: &'static str,
    /// The command.
    pub program: &'a ScoringProgram,
    /// The process that serves the whole run; none where every question starts one.
    pub kept: Option<&'a KeptProgram>,
    /// The scale of its scores.
    pub scale: ScoreScale,
    /// The folds that are trained and scored.
    pub folds: ModelFolds,
    /// What `{seed}` represents.
    pub seed: Seed,
}

/// Which folds the models of a unit are of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ModelFolds {
    /// How many models: 1 without folds.
    pub n: usize,
    /// The number of the first fold: 0 but where an experiment takes one at a time.
    pub first: usize,
    /// The arm of an experiment, and what messages add to its name; none in the plain audit.
    pub arm: Option<(ExperimentArm, &'static str)>,
}

/// What a program needs: the models that it trained, and the contract with it.
#[derive(Debug)]
pub(crate) struct ProgramFiles<'c> {
    /// The folder that [`CommandCall::train_on`] wrote to; none for a program that trains nothing.
    pub trained: Option<&'c Path>,
    /// The contract.
    pub contract: Box<ModelContract>,
}

/// What a program wrote for one fold.
struct CommandAnswer {
    scores: SpooledScores,
    /// Rows whose scores are handed out.
    n: u64,
    ended: ProgramExit,
    /// In how many bits it gives them.
    precision: FloatPrecision,
}

/// The interpreter of a Python model that names none.
pub(crate) fn default_python() -> String {
    let below = |folder: OsString| PathBuf::from(folder).join("bin/python3");
    let active = std::env::var_os("VIRTUAL_ENV").map(below).filter(|python| python.is_file());
    active.map_or_else(|| "python3".to_owned(), |python| python.to_string_lossy().into_owned())
}

/// The file of the model that a command trained for a fold.
fn trained_model(folder: &Path, fold: usize) -> PathBuf {
    folder.join(format!("model-{fold}"))
}

impl<'a> CommandCall<'a> {
    /// Whether each fold has its own process to score its rows.
    pub(crate) fn scores_by_fold(&self) -> bool {
        self.program.command.train.is_some() || has_placeholder(&self.program.command.score, "fold")
    }

    /// What makes the scores stale, in addition to rows and watched files.
    ///
    /// # Errors
    /// A part of it cannot be written.
    pub(crate) fn score_inputs(&self) -> Result<Vec<(String, String)>> {
        let command = &self.program.command;
        let mut made_of = self.inputs(&command.score, command.model.as_deref())?;
        made_of
            .extend(self.scores_by_fold().then(|| ("folds".to_owned(), self.folds.n.to_string())));
        Ok(made_of)
    }

    /// What makes a trained model stale, in addition to rows and watched files.
    ///
    /// # Errors
    /// As [`CommandCall::score_inputs`].
    pub(crate) fn model_inputs(&self) -> Result<Vec<(String, String)>> {
        let train = self.program.command.train.as_deref().unwrap_or_default();
        let mut made_of = self.inputs(train, None)?;
        made_of.push(("folds".to_owned(), self.folds.n.to_string()));
        Ok(made_of)
    }

    fn inputs(
        &self,
        arguments: &[CommandArgument],
        model: Option<&str>,
    ) -> Result<Vec<(String, String)>> {
        let with = (model, self.program.command.stream);
        let hashed = (self.plan.secret.as_deref(), self.plan.job.run.seed);
        self.variables().inputs(arguments, with, hashed)
    }

    fn variables(&self) -> NamedVariables<'a> {
        NamedVariables {
            passed: &self.program.command.pass_env,
            secret: &self.program.command.secret_env,
        }
    }

    /// Where answers of an endpoint are kept until the stage is done: under all that decides them
    /// but the rows, and under the stage, so that rows that are asked for twice are.
    fn answers(&self, ctx: &StageContext<'_>) -> Result<PathBuf> {
        let (url, folder) = (key_text(&self.program.command.score)?, "http");
        let parts = [self.model, ctx.stage(), url.as_str()];
        let root = self.plan.settings.cache.clone().unwrap_or_else(|| ctx.out().join(SCRATCH));
        Ok(root.join(folder).join(hash_parts(parts)))
    }

    /// What messages call the program.
    fn noun(&self) -> &'static str {
        match self.key {
            "python" | "mlflow" => "Python",
            "http" => "endpoint",
            _ => "command",
        }
    }

    fn place(&self, key: &str) -> Option<&'a FilePlace> {
        self.plan.checked.places.at(&path(&["models", self.model, self.key, key]))
    }

    /// A fault without a place gets that of a part of the command.
    pub(crate) fn with_place(&self, error: Error, key: &str) -> Error {
        error.asked_at(self.place(key))
    }

    /// The program with everything filled in.
    fn program(
        &self,
        arguments: &[CommandArgument],
        fold: usize,
        files: &[(&str, &Path)],
    ) -> Result<ChildProgram> {
        let fill = |word: &str| match word {
            "seed" => Some(self.seed.0.to_string()),
            "threads" => Some(self.plan.settings.threads.to_string()),
            "fold" => Some((self.folds.first + fold).to_string()),
            "python" => Some(default_python()),
            "how" => Some(self.program.how.clone()),
            "cfaudit" => {
                std::env::current_exe().ok().map(|path| path.to_string_lossy().into_owned())
            }
            _ => files
                .iter()
                .find(|(name, _)| *name == word)
                .map(|(_, path)| path.to_string_lossy().into_owned()),
        };
        let arm = self.folds.arm.map_or_else(String::new, |(arm, of)| format!(", arm {arm}{of}"));
        let by_fold = self.folds.arm.is_some() || self.folds.n > 1 && self.scores_by_fold();
        let of_fold =
            if by_fold { format!(", fold {}", self.folds.first + fold) } else { String::new() };
        Ok(ChildProgram {
            name: format!("the {} of model `{}`{arm}{of_fold}", self.noun(), self.model),
            argv: arguments.iter().map(|a| a.fill(fill)).collect(),
            env: self
                .variables()
                .environment(&format!("the {} of model `{}`", self.noun(), self.model), |key| {
                    self.place(key)
                })?,
            time_limit: self.program.command.time_limit.get(),
        })
    }

    /// What the model says about itself; the process goes on, and answers for its rows later. Files
    /// that are needed for that go into `scratch`.
    ///
    /// # Errors
    /// The program fails, or describes nothing.
    pub(crate) fn describe(&self, ctx: &StageContext<'_>, scratch: &Path) -> Result<String> {
        let script = scratch.join("python.py");
        files::write(&script, SCRIPT)?;
        let model = PathBuf::from(self.program.command.model.as_deref().unwrap_or_default());
        let program = self.program(
            &self.program.command.score,
            0,
            &[("model", &model), ("script", &script)],
        )?;
        let ask = |input: &mut ProgramInput<'_>| ask_description(input);
        let shown = |bytes: &[u8]| program.excerpt(bytes);
        let read = |output: &mut dyn Read| read_description(output, DESCRIPTION, &shown);
        let told = match self.kept {
            Some(kept) => kept.ask(ctx, &program, ask, read),
            None => child::run(ctx, &program, ask, read),
        };
        let ((text, loaded), _) = told.map_err(|e| self.with_place(e, "score"))?;
        ctx.note_loaded(loaded);
        Ok(text)
    }

    /// Looks for its programs, and lets Python import what it will need; scores nothing. `module`
    /// is what a Python model is called from.
    ///
    /// # Errors
    /// A variable or a program is not there, or an import fails.
    pub(crate) fn look(&self, ctx: &StageContext<'_>, module: Option<&str>) -> Result<()> {
        let programs = [
            ("score", Some(&self.program.command.score)),
            ("train", self.program.command.train.as_ref()),
        ];
        for (key, arguments) in programs {
            let Some(arguments) = arguments else { continue };
            let program = self.program(arguments, 0, &[])?;
            child::check_program(&program).map_err(|e| self.with_place(e, key))?;
        }
        if !has_placeholder(&self.program.command.score, "script") {
            return Ok(());
        }
        let mut program = self.program(&self.program.command.score[..1], 0, &[])?;
        let mlflow = (self.key == "mlflow").then_some("mlflow");
        let modules: Vec<&str> = ["pyarrow"].into_iter().chain(mlflow).chain(module).collect();
        program.argv.extend(["-c".to_owned(), format!("import {}", modules.join(", "))]);
        let told = child::run(ctx, &program, |_| Ok(()), |_| Ok(()));
        let hint = "this interpreter must be able to import it: install it there, or name another \
                    interpreter under `with`";
        told.map(|_| ())
            .map_err(|error| self.with_place(error.map_fault(|fault| fault.hint(hint)), "score"))
    }

    /// Trains the model of a fold, counted from the first one, on these rows into
    /// [`StageContext::out`].
    ///
    /// # Errors
    /// A fold has no training rows with a label; the program fails or writes no model; the rows
    /// cannot be read; the run is to stop.
    pub(crate) fn train_on(
        &self,
        ctx: &StageContext<'_>,
        layout: &Layout,
        training: &TrainingRows<'_>,
        (fold, contract): (usize, &ModelContract),
    ) -> Result<()> {
        let (model, rows) =
            (trained_model(ctx.out(), fold), ctx.out().join(SCRATCH).join("rows.parquet"));
        let columns = RawColumns::new(layout, &contract.column_names(), true, HashMap::new());
        if training.is_empty()? {
            let what = format!("model `{}` has no training rows with a label", self.model);
            let hint = "check `data.split`, `data.keep` and `data.label`";
            return Fault::new("one-class", what).fail(hint);
        }
        let mut feed = |sink: &mut RowSink<'_>| {
            let batch = |group: &TrainingBatch| {
                columns.training_batch(&group.rows, &group.labels, |i| group.weight(i))
            };
            training.try_fold(batch, |batch| sink.push(batch))
        };
        let program = self.program(
            self.program.command.train.as_deref().unwrap_or_default(),
            fold,
            &[("model", &model), ("rows", &rows)],
        )?;
        make_folder(&ctx.out().join(SCRATCH))?;
        let unread = |_: &mut dyn Read| Ok(());
        let (_, ended) = self.feed((ctx, &program), (&columns, &rows), &mut feed, unread)?;
        remove_folder(&ctx.out().join(SCRATCH))?;
        if !model.exists() {
            let what =
                format!("ended without a model at `{}`, the path in `{{model}}`", model.display());
            return ended
                .fault("bad-output", &what)
                .fail("write the model to exactly this path, as a file or a folder");
        }
        Ok(())
    }

    /// Hands the scores of rows or counterfactuals to `take`, block by block, of several classes
    /// those of a row one after another, and says in how many bits all answers give them; rows that
    /// are not asked for get none.
    ///
    /// # Errors
    /// The program fails, or gives other scores than one of the scale per row and class; the rows
    /// cannot be read; the run is to stop.
    pub(crate) fn score_into(
        &self,
        row_context: RowContext<'_>,
        scored: &dyn AskedRows,
        files: &ProgramFiles<'_>,
        take: &mut dyn FnMut(Vec<f64>) -> Result<()>,
    ) -> Result<FloatPrecision> {
        let n_folds = if self.scores_by_fold() { self.folds.n } else { 1 };
        // Without folds of its own one process scores the rows of all.
        let process =
            |fold: Option<u8>| fold.map(|f| if n_folds == 1 { 0 } else { usize::from(f) });
        let contract = &files.contract;
        let names = match contract.score.by_class.is_empty() {
            true => vec![SCORE],
            false => contract.score.names().unwrap_or_default(),
        };
        let columns = row_columns(row_context.rows.layout(), contract);
        let asks_once = scored.are_of_worlds() && n_folds == 1;
        let read = read_features(row_context.rows.layout(), &contract.column_names());
        let hashes = |block: usize| Ok(row_hashes(&read, &scored.rows(block)?));
        let blocks = row_context.pieces(scored.n_blocks());
        let equal = asks_once.then(|| EqualRows::find(blocks, hashes)).transpose()?;
        let mut n_rows = vec![0; n_folds];
        for g in 0..scored.n_blocks() {
            (row_context.watch.check)()?;
            scored.folds(g)?.into_iter().filter_map(process).for_each(|p| n_rows[p] += 1);
        }
        if let Some(equal) = &equal {
            n_rows[0] = equal.n as u64;
        }
        let scratch = row_context.ctx.out().join(SCRATCH);
        make_folder(&scratch)?;
        let mut answers = Vec::new();
        for (p, &n) in n_rows.iter().enumerate() {
            let feed = |sink: &mut RowSink<'_>| {
                let part = |g: usize| {
                    let mine: Vec<usize> = match &equal {
                        Some(equal) => equal.first[g].clone(),
                        None => {
                            let folds = scored.folds(g)?.into_iter().map(process);
                            folds.enumerate().filter(|(_, f)| *f == Some(p)).map(|f| f.0).collect()
                        }
                    };
                    let rows = if mine.is_empty() { None } else { Some(scored.rows(g)?) };
                    let rows =
                        rows.map(|rows| if mine.len() == rows.n { rows } else { rows.take(&mine) });
                    let n = rows.as_ref().map_or(0, |rows| rows.n as u64);
                    Ok((n, rows.map(|rows| columns.batch(&rows)).transpose()?))
                };
                blocks.in_order(part, |_, batch| match batch {
                    None => Ok(()),
                    Some(batch) => sink.push(batch),
                })
            };
            let model = match (files.trained, &self.program.command.model) {
                (Some(folder), _) => trained_model(folder, p),
                (None, path) => PathBuf::from(path.as_deref().unwrap_or_default()),
            };
            let wanted = (p, WantedScores { n_rows: n, columns: &names });
            let answer = (n > 0)
                .then(|| self.run_program(row_context.ctx, (&columns, feed), wanted, &model));
            answers.push(answer.transpose()?);
        }
        // For rows that are asked once, the scores so far, by number.
        let mut known: Vec<f64> = Vec::new();
        for g in 0..scored.n_blocks() {
            (row_context.watch.check)()?;
            let mut scores = Vec::new();
            for (i, p) in scored.folds(g)?.into_iter().map(process).enumerate() {
                let number = equal.as_ref().map(|equal| equal.numbers[g][i] as usize);
                if let Some(score) = number.and_then(|number| known.get(number)) {
                    scores.push(*score);
                    continue;
                }
                let Some(answer) = p.and_then(|p| answers[p].as_mut()) else {
                    scores.resize(scores.len() + names.len(), f64::NAN);
                    continue;
                };
                for name in &names {
                    let score = answer.scores.take()?;
                    let lacks = self.program.may_lack_scores && score.is_nan();
                    if let Some(what) = score_complaint(score, self.scale).filter(|_| !lacks) {
                        let at = format!(
                            "{} (score {} of its output, from 0)",
                            scored.name(g, i)?,
                            answer.n
                        );
                        let fault = answer.ended.fault("bad-scores", &what).at_row(at);
                        let fault = if names.len() > 1 { fault.in_column(*name) } else { fault };
                        return Err(fault
                            .hint(format!("every row needs a score; {}", self.scale.hint()))
                            .into());
                    }
                    known.extend(number.map(|_| score));
                    scores.push(score);
                }
                answer.n += 1;
            }
            take(scores)?;
        }
        if has_placeholder(&self.program.command.score, "answers") {
            remove_folder(&self.answers(row_context.ctx)?)?;
        }
        remove_folder(&scratch)?;
        Ok(FloatPrecision::finest(answers.iter().flatten().map(|answer| answer.precision)))
    }

    /// Runs the program once for rows that have these columns.
    fn run_program(
        &self,
        ctx: &StageContext<'_>,
        (columns, mut feed): (&RawColumns, impl FnMut(&mut RowSink<'_>) -> Result<()>),
        (fold, wanted): (usize, WantedScores<'_>),
        model: &Path,
    ) -> Result<CommandAnswer> {
        let scratch = ctx.out().join(SCRATCH);
        let (rows, scores) = (scratch.join("rows.parquet"), scratch.join("scores.parquet"));
        let script = scratch.join("python.py");
        if has_placeholder(&self.program.command.score, "script") {
            files::write(&script, SCRIPT)?;
        }
        let answers = self.answers(ctx)?;
        let mut spool = ScoreSpool::create(&scratch.join(format!("scores-{fold}")))?;
        let program = self.program(
            &self.program.command.score,
            fold,
            &[
                ("model", model),
                ("rows", &rows),
                ("scores", &scores),
                ("script", &script),
                ("answers", &answers),
            ],
        )?;
        let shown = |bytes: &[u8]| program.excerpt(bytes);
        let read = |output: &mut dyn Read| {
            let mut take = |part: &[f64]| spool.push(part);
            let goes_on = self.kept.is_some();
            let (precision, loaded) = read_stream(output, wanted, &shown, goes_on, &mut take)?;
            if goes_on {
                ctx.note_loaded(loaded);
            }
            Ok(precision)
        };
        let (streamed, ended) = self.feed((ctx, &program), (columns, &rows), &mut feed, read)?;
        let precision = match streamed {
            Some(precision) => precision,
            None => {
                let read = read_file(&scores, wanted, &mut |part| spool.push(part));
                let precision =
                    read.map_err(|error| error.map_fault(|fault| ended.complete(fault)))?;
                remove_file(&rows)?;
                remove_file(&scores)?;
                precision
            }
        };
        Ok(CommandAnswer { scores: spool.finish()?, n: 0, ended, precision })
    }
}

impl CommandCall<'_> {
    /// Runs a program: it gets rows as a stream, and what it writes is read meanwhile; or it gets
    /// the file `rows`, and writes files of its own, so that nothing is read.
    fn feed<T: Send>(
        &self,
        (ctx, program): (&StageContext<'_>, &ChildProgram),
        (columns, rows): (&RawColumns, &Path),
        feed: &mut dyn FnMut(&mut RowSink<'_>) -> Result<()>,
        read: impl FnOnce(&mut dyn Read) -> Result<T> + Send,
    ) -> Result<(Option<T>, ProgramExit)> {
        if self.program.command.stream == StreamFormat::ParquetFiles {
            send(RowSink::file(rows, &columns.schema)?, feed)?;
            let ((), ended) = child::run(ctx, program, |_| Ok(()), |_| Ok(()))?;
            return Ok((None, ended));
        }
        let ask =
            |input: &mut ProgramInput<'_>| send(RowSink::stream(input, &columns.schema)?, feed);
        let (told, ended) = match self.kept {
            None => child::run(ctx, program, ask, read)?,
            Some(kept) => kept.ask(ctx, program, ask, read)?,
        };
        Ok((Some(told), ended))
    }
}

/// The columns of rows to score, and the class and the version of the model that are asked for.
fn row_columns(layout: &Layout, contract: &ModelContract) -> RawColumns {
    let position = contract.score.position().map(|at| (POSITION.to_owned(), at.text()));
    let sha256 = contract.sha256.iter().map(|sha256| (MODEL_HASH.to_owned(), sha256.clone()));
    let about = position.into_iter().chain(sha256).collect();
    RawColumns::new(layout, &contract.column_names(), false, about)
}

/// Sends all rows and the end.
fn send(mut sink: RowSink<'_>, feed: &mut dyn FnMut(&mut RowSink<'_>) -> Result<()>) -> Result<()> {
    feed(&mut sink)?;
    sink.finish()
}
