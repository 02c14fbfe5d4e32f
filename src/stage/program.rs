//! The user's programs: which variables of the environment they get, which of these make a stage
//! stale, and how programs that write rows are run.
//!
//! The rules for programs are in `jobs/models/README.md` and `docs/rows.md`.

use std::ffi::OsString;
use std::path::Path;

use serde::Serialize;

use crate::data::exchange::row_answer::{CopyUse, copy_rows};
use crate::data::source::row_program::RowProgramBlock;
use crate::error::{Error, Fault, FilePlace, Result};
use crate::exec::StageContext;
use crate::exec::child::env_variable::EnvVariable;
use crate::exec::child::{self, ChildProgram, ProgramExit, ProgramInput};
use crate::exec::hash::keyed_hash;
use crate::job::check::CheckedJob;
use crate::param::{CommandArgument, Seed};
use crate::stage::applied_set::key_text;

/// The variables of the environment that a program gets in addition to `LANG` and `TZ`, which are
/// fixed: paths of programs, of the user's libraries and of temporary files.
const PASSED_VARIABLES: [&str; 3] = ["PATH", "HOME", "TMPDIR"];
const FIXED_VARIABLES: [(&str, &str); 2] = [("LANG", "C.UTF-8"), ("TZ", "UTC")];

/// The variables that a program may see, as the job names them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedVariables<'a> {
    /// Under `pass_env`.
    pub passed: &'a [String],
    /// Under `secret_env`.
    pub secret: &'a [String],
}

impl<'a> NamedVariables<'a> {
    /// The whole environment of a program that messages call `name`; `place` finds a key of its
    /// block in the job.
    ///
    /// # Errors
    /// A variable that the job names is not there.
    pub(crate) fn environment(
        self,
        name: &str,
        place: impl Fn(&str) -> Option<&'a FilePlace>,
    ) -> Result<Vec<EnvVariable>> {
        let variable = |name: &str, value: OsString, secret: bool| EnvVariable {
            name: name.to_owned(),
            value,
            secret,
        };
        let of_run = PASSED_VARIABLES
            .iter()
            .filter_map(|name| Some(variable(name, std::env::var_os(name)?, false)));
        let mut env: Vec<EnvVariable> = of_run
            .chain(FIXED_VARIABLES.map(|(name, value)| variable(name, value.into(), false)))
            .collect();
        let of = |key, names: &'a [String]| names.iter().map(move |name| (key, name));
        for (key, variable_name) in of("pass_env", self.passed).chain(of("secret_env", self.secret))
        {
            let value = std::env::var_os(variable_name).ok_or_else(|| {
                let what = format!(
                    "the environment has no variable `{variable_name}`, which {name} is to see"
                );
                Fault::new("missing-variable", what).asked_at(place(key).cloned()).hint(format!(
                    "set it in the environment of cfaudit, or remove it from `{key}`"
                ))
            })?;
            env.retain(|v| v.name != *variable_name);
            env.push(variable(variable_name, value, true));
        }
        Ok(env)
    }

    /// Everything that makes the output of a program with these arguments stale, including `with`,
    /// what else the job says about it. Time limit, threads and secrets are not part of it. The
    /// values of the variables under `pass_env` are hashed with a key that never leaves the cache:
    /// values cannot be guessed from their hashes.
    ///
    /// # Errors
    /// A part of it cannot be written.
    pub(crate) fn inputs(
        self,
        arguments: &[CommandArgument],
        with: impl Serialize,
        (key, seed): (Option<&[u8]>, Seed),
    ) -> Result<Vec<(String, String)>> {
        let command = key_text(&(arguments, with, self.passed, self.secret))?;
        let hashed = self.passed.iter().map(|name| {
            let value = std::env::var_os(name).zip(key);
            let hash = value.map_or_else(
                || "not known".to_owned(),
                |(value, key)| keyed_hash(key, value.as_encoded_bytes()),
            );
            (format!("environment {name}"), hash)
        });
        let seed =
            has_placeholder(arguments, "seed").then(|| ("run.seed".to_owned(), seed.0.to_string()));
        Ok([("command".to_owned(), command)].into_iter().chain(hashed).chain(seed).collect())
    }
}

/// Whether one of the arguments names a placeholder.
pub(crate) fn has_placeholder(arguments: &[CommandArgument], word: &str) -> bool {
    arguments.iter().any(|a| a.placeholders().contains(&word))
}

/// A program that writes rows, with what its placeholders represent.
#[derive(Debug, Clone)]
pub(crate) struct RowProgram<'a> {
    /// What messages call it, such as "the command of the rows".
    pub name: String,
    /// The path of its block in the job.
    pub at: String,
    /// The block.
    pub block: &'a RowProgramBlock,
    /// The job, for places in messages.
    pub checked: &'a CheckedJob,
    /// What `{threads}` represents.
    pub threads: usize,
    /// The bytes of memory that a batch of its rows may take.
    pub memory: u64,
}

impl<'a> RowProgram<'a> {
    fn variables(&self) -> NamedVariables<'a> {
        NamedVariables { passed: &self.block.pass_env, secret: &self.block.secret_env }
    }

    /// What makes its rows stale, in addition to what it gets and to watched files.
    ///
    /// # Errors
    /// A part of it cannot be written.
    pub(crate) fn inputs(&self, key: Option<&[u8]>) -> Result<Vec<(String, String)>> {
        self.variables().inputs(&self.block.run, (), (key, self.checked.job.run.seed))
    }

    fn child(&self) -> Result<ChildProgram> {
        let fill = |word: &str| match word {
            "seed" => Some(self.checked.job.run.seed.0.to_string()),
            "threads" => Some(self.threads.to_string()),
            _ => None,
        };
        let place = |key: &str| self.checked.places.at(&format!("{}.{key}", self.at));
        Ok(ChildProgram {
            name: self.name.clone(),
            argv: self.block.run.iter().map(|argument| argument.fill(fill)).collect(),
            env: self.variables().environment(&self.name, place)?,
            time_limit: self.block.time_limit.get(),
        })
    }

    fn placed(&self, error: Error) -> Error {
        error.asked_at(self.checked.places.at(&self.at))
    }

    /// Looks for it; starts nothing.
    ///
    /// # Errors
    /// A variable or the program is not there.
    pub(crate) fn look(&self) -> Result<()> {
        self.child().and_then(|child| child::check_program(&child)).map_err(|e| self.placed(e))
    }

    /// Runs it: `feed` writes what it gets, and its rows go into a new Parquet file. The number of
    /// rows, and how it ended.
    ///
    /// # Errors
    /// The program fails or writes something else, or the run is to stop.
    pub(crate) fn ask(
        &self,
        ctx: &StageContext<'_>,
        answer: &Path,
        feed: impl FnOnce(&mut ProgramInput<'_>) -> Result<()>,
    ) -> Result<(u64, ProgramExit)> {
        let ask = || {
            let child = self.child()?;
            let shown = |bytes: &[u8]| child.excerpt(bytes);
            child::run(ctx, &child, feed, |output| {
                copy_rows(output, (answer, CopyUse::Kept), &shown, self.memory)
            })
        };
        ask().map_err(|error| self.placed(error))
    }
}
