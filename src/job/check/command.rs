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
        if self.is_sound(&[&format!("{at}.model"), &format!("{at}.train")]) {
            self.model_of_command(at, name, command);
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
            let sound = self.is_sound(&["data.features", "data.sensitive"]);
            let seen = self.columns(&command.omit);
            for word in added.into_iter().flatten().filter(|_| sound) {
                if seen.iter().any(|column| column.as_str() == word) {
                    self.say(format!("{at}.train"), m::command_column_taken(name, word));
                }
            }
        }
        self.inputs(at, name, &command.omit);
        self.columns_in_order(at, &command.columns, &command.omit);
        self.surroundings(at, &command.watch, &command.pass_env, &command.secret_env);
    }

    /// A program that writes rows.
    pub(super) fn row_program(&mut self, at: &str, program: &RowProgramBlock) {
        let key = format!("{at}.run");
        // The arguments alone are the short form.
        let arguments = if self.places.0.contains_key(&key) { key } else { at.to_owned() };
        self.arguments(&arguments, &program.run, (&OF_ROWS, &[]));
        self.surroundings(at, &program.watch, &program.pass_env, &program.secret_env);
    }

    /// The files that a program depends on, and the variables that it sees.
    pub(super) fn surroundings(
        &mut self,
        at: &str,
        watch: &[String],
        pass_env: &[String],
        secret_env: &[String],
    ) {
        self.watched(at, watch);
        self.variables(&format!("{at}.pass_env"), pass_env);
        self.variables(&format!("{at}.secret_env"), secret_env);
        if let Some(name) = secret_env.iter().find(|name| pass_env.contains(name)) {
            self.say(format!("{at}.secret_env"), m::environment_twice(name));
        }
    }

    fn model_of_command(&mut self, at: &str, name: &Name, command: &CommandBlock) {
        match (&command.model, &command.train) {
            (Some(_), Some(_)) => {
                self.say(at, m::command_model_and_train(name));
            }
            (Some(path), None) => self.no_placeholder(format!("{at}.model"), path),
            (None, _) => {}
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
        if !self.is_sound(&[at]) {
            return;
        }
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

    pub(super) fn no_placeholder(&mut self, at: String, path: &str) {
        if let Some(word) = CommandArgument(path.to_owned()).placeholders().first() {
            self.say(at, m::command_path_placeholder(word));
        }
    }

    fn watched(&mut self, at: &str, watch: &[String]) {
        for (i, path) in watch.iter().enumerate() {
            self.no_placeholder(format!("{at}.watch[{i}]"), path);
        }
    }

    fn variables(&mut self, at: &str, names: &[String]) {
        if !self.is_sound(&[at]) {
            return;
        }
        for (i, name) in names
            .iter()
            .enumerate()
            .filter(|(_, name)| name.is_empty() || name.contains(['=', '\0']))
        {
            self.say(format!("{at}[{i}]"), m::environment_name(name.escape_debug()));
        }
    }
}
