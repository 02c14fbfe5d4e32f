//! External counterfactuals: the file of a set, read and compared with the rows; and the stage
//! `external`, which asks a program for them.
//!
//! A program gets a row for each person and other group: the key of the counterfactual, then the
//! features as the person has them. It answers with rows of the same form as a file, and they are
//! read as one. It is asked about everybody who is audited; where the job has experiments, which
//! train on counterfactuals, about everybody of a declared group.
//!
//! Everybody who is audited has at least one counterfactual in every other group, and every row of
//! the file belongs to somebody of the data: a missing counterfactual would be missing from every
//! number, and a row that belongs to nobody shows that the file was made from other rows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::counterfactual::plan::ExternalSource;
use crate::counterfactual::write_back::features_set_with;
use crate::data::MISSING_GROUP;
use crate::data::exchange::external::{ExternalRows, ExternalRules};
use crate::data::exchange::keyed::KeyedFile;
use crate::data::exchange::row_stream::RowSink;
use crate::data::exchange::to_score::{RequestRow, SentRows};
use crate::data::prepare::params::MissingRule;
use crate::data::rows::Projection;
use crate::error::{Error, Fault, Result};
use crate::exec::child::ProgramInput;
use crate::exec::{StageContext, files, internal_error};
use crate::folder::manifest::InputFile;
use crate::job::{self, CounterfactualSet, Job};
use crate::stage::applied_set::AppliedSet;
use crate::stage::generate::basis::RowClasses;
use crate::stage::input::external_what;
use crate::stage::kinds::ExternalStage;
use crate::stage::memory;
use crate::stage::plan::StagePlan;
use crate::stage::program::RowProgram;
use crate::stage::row_context::RowContext;
use crate::stage::row_inputs::RowInputs;
use crate::stage::stage_builder::{Planned, Stage, StageBuilder, StageInput};
use crate::unit::AuditUnit;

/// File of the stage `external`.
const ANSWER: &str = "counterfactuals.parquet";

/// Where the counterfactuals of an external set are.
pub(crate) enum ExternalInput<'a> {
    /// In a file of the user's.
    File(&'a InputFile),
    /// In what a program answered.
    Answer(StageInput<ExternalStage>),
}

impl<'a> ExternalInput<'a> {
    /// Adds the counterfactuals of a set, if it is external, to the key of a stage.
    pub(crate) fn need(
        b: &mut StageBuilder<'_, 'a>,
        applied: &AppliedSet<'a>,
    ) -> Result<Option<Self>> {
        let source = applied.block.knobs().and_then(|knobs| knobs.external());
        let needed = |source| match source {
            ExternalSource::File(_) => {
                let file = b.plan.input.of(&external_what(applied.set)).next();
                let file = file.ok_or_else(|| {
                    internal_error(format!("nobody looked for the rows of `{}`", applied.set))
                })?;
                b.file(file);
                Ok(ExternalInput::File(file))
            }
            ExternalSource::Program(_) => {
                // Folds of experiments are asked together.
                let unit = AuditUnit { experiment: String::new(), ..applied.unit() };
                b.need::<ExternalStage>(&unit).map(ExternalInput::Answer)
            }
        };
        source.map(needed).transpose()
    }

    /// The file.
    pub(crate) fn path(&self, ctx: &StageContext<'_>) -> PathBuf {
        match self {
            ExternalInput::File(file) => PathBuf::from(&file.path),
            ExternalInput::Answer(stage) => stage.folder(ctx).join(ANSWER),
        }
    }

    /// Its SHA-256.
    pub(crate) fn sha256(&self, ctx: &StageContext<'_>) -> Result<String> {
        match self {
            ExternalInput::File(file) => Ok(file.sha256.clone()),
            ExternalInput::Answer(_) => files::hash_file(&self.path(ctx)).map(|(sha256, _)| sha256),
        }
    }
}

impl Stage for ExternalStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let applied = plan.set_of(unit)?;
        let Some(program) = plan.external_program(applied.set, applied.block) else {
            return Err(internal_error(format!("no program makes the set `{}`", applied.set)));
        };
        let rows = RowInputs::of_job(b)?;
        b.texts(program.inputs(plan.secret.as_deref())?);
        b.files(&external_what(applied.set));
        let everybody = b.value("everybody", !plan.job.experiments.is_empty());
        rows.work(1, move |ctx, row_context| {
            let asked = (row_context, applied.position, everybody);
            let answer = ctx.out().join(ANSWER);
            let (n, ended) = program.ask(ctx, &answer, |input| send_people(asked, input))?;
            if n > 0 {
                // An answer that does not fit is not kept: the program would not be asked
                // again once it is corrected.
                let fits = plan.external_rows(
                    row_context,
                    (&applied, &answer),
                    (&RowClasses::Label, false),
                );
                return match fits {
                    Err(Error::Data(fault)) => {
                        let fault = ended.complete(*fault).in_file("its standard output");
                        let place = plan.checked.places.at(&program.at);
                        Err(Error::from(fault).asked_at(place))
                    }
                    other => other.map(|_| ()),
                };
            }
            let fault = ended.fault("bad-output", "wrote no counterfactual");
            let hint = "write a row for each row that the program gets, with its key";
            Err(Error::from(fault.hint(hint)).asked_at(plan.checked.places.at(&program.at)))
        })
    }
}

/// Sends a row for each person with a group of an attribute and for each other group; the people
/// are the audited ones, or all.
fn send_people(
    (row_context, position, everybody): (RowContext<'_>, usize, bool),
    input: &mut ProgramInput<'_>,
) -> Result<()> {
    let RowContext { rows, roles, .. } = row_context;
    let layout = rows.layout();
    let n_groups = layout.attributes[position].groups.len();
    let mut stream = RowSink::stream(input, &SentRows::Counterfactual.schema(layout))?;
    let part = |g: usize| {
        let (batch, ids, roles) =
            (rows.read(g, Projection::ALL)?, rows.read_ids(g)?, roles.read(g)?);
        let mut asked = Vec::new();
        for (row, &own) in batch.groups[position].iter().enumerate() {
            if own == MISSING_GROUP || !everybody && roles.audited(row).is_none() {
                continue;
            }
            let others = (0..n_groups).filter_map(|to| u16::try_from(to).ok());
            let others = others.filter(|to| *to != own);
            asked.extend(others.map(|to| RequestRow::of_row(row, position, to)));
        }
        let of = (&ids, batch.groups.as_slice());
        let sent = SentRows::Counterfactual.batch(layout, of, &asked, &[&batch.rows], None)?;
        Ok((sent.num_rows() as u64, sent))
    };
    row_context.row_groups().in_order(part, |_, batch| stream.push(batch))?;
    stream.finish()
}

impl<'a> StagePlan<'a> {
    /// The program that makes the counterfactuals of a set, where one does.
    pub(crate) fn external_program(
        &self,
        set: &str,
        block: &'a CounterfactualSet,
    ) -> Option<RowProgram<'a>> {
        let Some(ExternalSource::Program(program)) = block.knobs()?.external() else { return None };
        Some(RowProgram {
            name: format!("the command of the set `{set}`"),
            at: job::check::path(&["counterfactuals", set, "external", "command"]),
            block: program,
            checked: self.checked,
            threads: self.settings.threads,
            memory: memory::allowed(self.settings),
        })
    }

    /// The counterfactuals of an external set, once they were found to fit the rows.
    pub(crate) fn external_rows(
        &self,
        row_context: RowContext<'_>,
        (applied, file): (&AppliedSet<'a>, &Path),
        (classes, needs_class): (&RowClasses, bool),
    ) -> Result<Arc<ExternalRows>> {
        let layout = row_context.rows.layout();
        let of = &layout.attributes[applied.position];
        let parts = (file, &[file.to_path_buf()][..]);
        let file = KeyedFile::open(parts, None, layout.row_id, Some(of), &layout.attributes)?;
        let rules = ExternalRules {
            set_with: &features_set_with(layout, applied.position),
            ignored: &columns_beside(self.job),
            may_lack: may_lack(self.job),
            memory: memory::allowed(self.settings),
        };
        let rows = ExternalRows::read(&file, layout, rules)?;
        check_people(row_context, (&rows, &file), applied.position, (classes, needs_class))?;
        Ok(Arc::new(rows))
    }
}

/// Columns of the job that are not features and may be in the file.
fn columns_beside(job: &Job) -> Vec<&str> {
    let data = &job.data;
    let ignored = data.features.ignore.iter();
    let label = data.label.named_column();
    let named = label.into_iter().chain(&data.row_id).chain(&data.weight).chain(&data.person);
    let split = data.split.as_ref().and_then(|split| split.column.as_ref());
    ignored.chain(named).chain(split).map(|column| column.as_str()).collect()
}

/// Whether a continuous, an ordinal and a nominal feature may be missing.
fn may_lack(job: &Job) -> [bool; 3] {
    let missing = &job.data.missing;
    [missing.continuous, missing.ordinal, missing.nominal]
        .map(|rule| matches!(rule, MissingRule::Keep | MissingRule::Level))
}

/// Whether the counterfactuals are those of the people in the rows, with none missing.
fn check_people(
    row_context: RowContext<'_>,
    (rows, file): (&ExternalRows, &KeyedFile),
    position: usize,
    (classes, needs_class): (&RowClasses, bool),
) -> Result<()> {
    let of = &row_context.rows.layout().attributes[position];
    let wrong = |what: String, column: &str, file_row: u64, hint: String| {
        Error::from(file.fault(what, column, file_row).hint(hint))
    };
    let mut of_somebody = vec![false; rows.keys().len()];
    let (mut n_lacking, mut first) = (0, None);
    let look = |g: usize| {
        let (batch, roles) = row_context.read(g, Projection::ALL)?;
        let classes = classes.of_group(g, &batch)?;
        // Keys of the people, and people without a counterfactual in a group, with the first.
        let (mut found, mut lacking) = (Vec::new(), Vec::new());
        for (i, &row_key) in batch.row_key.iter().enumerate() {
            let (own, keys) = (batch.groups[position][i], rows.of_row(row_key));
            for key in rows.keys()[keys.clone()].iter().filter(|_| own != MISSING_GROUP) {
                if key.key.to_group == own {
                    let group = &of.groups[usize::from(own)];
                    let what = format!("this person belongs to `{group}` already");
                    let hint = "write counterfactuals in the other groups alone".to_owned();
                    return Err(wrong(what, "to_group", key.file_row, hint));
                }
                if key.from_group != MISSING_GROUP && key.from_group != own {
                    let what = "this person belongs to another group".to_owned();
                    let hint = format!(
                        "the data have `{}`: make the counterfactuals of the rows that are audited",
                        of.groups[usize::from(own)]
                    );
                    return Err(wrong(what, "from_group", key.file_row, hint));
                }
            }
            let counts = own != MISSING_GROUP && roles.audited(i).is_some();
            if counts && (!needs_class || classes[i].is_some()) {
                let lacks =
                    |to: &usize| *to != usize::from(own) && rows.of(row_key, *to).is_empty();
                if let Some(to) = (0..of.groups.len()).find(lacks) {
                    lacking.push((i, to));
                }
            }
            found.push(keys);
        }
        let named = |&(i, to): &(usize, usize)| -> Result<(String, usize)> {
            Ok((row_context.rows.read_ids(g)?.text(i), to))
        };
        let example = lacking.first().map(named).transpose()?;
        Ok((batch.row.len() as u64, (found, lacking.len(), example)))
    };
    row_context.row_groups().in_turn(look, |(found, lacking, example)| {
        found.into_iter().flatten().for_each(|at| of_somebody[at] = true);
        n_lacking += lacking;
        first = first.take().or(example);
    })?;
    if let Some((id, to)) = first {
        let people = match n_lacking {
            1 => "1 person who is audited has".to_owned(),
            n => format!("{n} people who are audited have"),
        };
        let what = format!(
            "{people} no counterfactual in a group, the first is row_id `{id}` in `{}` of `{}`",
            of.groups[to], of.name
        );
        let hint = "write a row for each person and each other group; leave people out of the \
                    audit by `data.keep`";
        return Fault::new("incomplete-counterfactuals", what).in_file(&file.path).fail(hint);
    }
    if let Some(at) = of_somebody.iter().position(|found| !found) {
        let row = file.describe_row(rows.keys()[at].file_row);
        let fault = Fault::new("unknown-key", "the data have no such row".to_owned());
        let hint = "make the counterfactuals of the rows of this job: `cfaudit run JOB --until \
                    generate --out DIR` with `run.keep_rows: counterfactuals` writes some of them";
        return fault.in_file(&file.path).at_row(row).fail(hint);
    }
    Ok(())
}
