//! Checks models that are commands: their placeholders, files and variables.

use crate::data::source::row_program::RowProgramBlock;
use crate::job::messages as m;
use crate::job::read::nearest::{all, list, suggest};
use crate::job::{CommandBlock, StreamFormat};
use crate::param::{CommandArgument, Name};

use super::JobChecker;

/// Filled in every command of a model.
const ALWAYS: [&str; 3] = ["seed", "threads", "fold"];

/// Filled in a program that writes rows.
const OF_ROWS: [&str; 2] = ["seed", "threads"];

impl JobChecker<'_> {
    /// One block `command`.
    pub(super) fn command(&mut self, at: &str, name: &Name, command: &CommandBlock) {
        let files = command.stream == StreamFormat::ParquetFiles;
        if command.model.is_some() && command.train.is_some() {
            self.say(at, m::command_model_and_train(name));
        }
        let has_model = command.model.is_some() || command.train.is_some();
        let model: &[&str] = if has_model { &["model"] } else { &[] };
        let paths: &[&str] = if files { &["rows", "scores"] } else { &[] };
        self.arguments(&format!("{at}.score"), &command.score, (&ALWAYS, &[model, paths].concat()));
        if let Some(train) = &command.train {
            let rows: &[&str] = if files { &["rows"] } else { &[] };
            self.arguments(&format!("{at}.train"), train, (&ALWAYS, &[&["model"], rows].concat()));
            self.trains(&format!("{at}.train"), name);
            let added = [Some("label"), self.job.data.weight.is_some().then_some("weight")];
            let seen = self.columns(&command.omit);
            for word in added.into_iter().flatten() {
                if seen.iter().any(|column| column.as_str() == word) {
                    self.say(format!("{at}.train"), m::command_column_taken(name, word));
                }
            }
        }
        self.inputs(at, name, &command.omit);
        self.columns_in_order(at, &command.columns, &command.omit);
        self.environment(at, &command.pass_env, &command.secret_env);
    }

    /// A program that writes rows.
    pub(super) fn row_program(&mut self, at: &str, program: &RowProgramBlock) {
        let key = format!("{at}.run");
        // The arguments alone are the short form.
        let arguments = if self.places.written(&key).is_some() { key } else { at.to_owned() };
        self.arguments(&arguments, &program.run, (&OF_ROWS, &[]));
        self.environment(at, &program.pass_env, &program.secret_env);
    }

    /// The variables that a program sees.
    pub(super) fn environment(&mut self, at: &str, pass_env: &[String], secret_env: &[String]) {
        if let Some(name) = secret_env.iter().find(|name| pass_env.contains(name)) {
            self.say(format!("{at}.secret_env"), m::environment_twice(name));
        }
    }

    /// Complains about an empty command, about placeholders that nothing fills, and about needed
    /// ones that are missing.
    fn arguments(
        &mut self,
        at: &str,
        arguments: &[CommandArgument],
        (always, needed): (&[&str], &[&str]),
    ) {
        match arguments.first() {
            None => {
                return self.say(at, m::command_empty(at));
            }
            Some(program) if program.0.is_empty() => {
                return self.say(format!("{at}[0]"), m::program_no_name());
            }
            Some(_) => {}
        }
        let (known, of_model) = ([needed, always].concat(), always == ALWAYS);
        for (i, argument) in arguments.iter().enumerate() {
            for word in argument.placeholders().into_iter().filter(|word| !known.contains(word)) {
                let said = match word {
                    "model" if of_model => m::command_placeholder_model(word),
                    "rows" | "scores" if needed.contains(&"rows") => {
                        m::command_placeholder_training(word)
                    }
                    "rows" | "scores" if of_model => m::command_placeholder_files(word),
                    _ => m::command_placeholder_unknown(
                        word,
                        suggest(word, "known placeholders", known.iter()),
                    ),
                };
                self.say(format!("{at}[{i}]"), said);
            }
        }
        let missing: Vec<String> = needed
            .iter()
            .filter(|word| !arguments.iter().any(|a| a.placeholders().contains(word)))
            .map(|word| format!("{{{word}}}"))
            .collect();
        if !missing.is_empty() {
            let files = if missing.len() == 1 { "that path" } else { "these paths" };
            self.say(at, m::command_placeholder_missing(all(&missing), list(&missing), files));
        }
    }
}
