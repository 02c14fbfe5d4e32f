//! Checks models that are commands: their placeholders, files and variables.

use crate::data::source::row_program::RowProgramBlock;
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
            let seen =
                |column: &&str| command.omit.iter().all(|omitted| omitted.as_str() != *column);
            let added =
                ["label"].into_iter().chain(self.job.data.weight.is_some().then_some("weight"));
            let sound = self.is_sound(&["data.features", "data.sensitive"]);
            for word in added.filter(|_| sound) {
                if self.columns().into_iter().filter(seen).any(|column| column == word) {
                    let what = format!(
                        "the training rows of `{name}` have a last column `{word}`, but a feature \
                         has the same name"
                    );
                    self.push_problem(
                        "column-twice",
                        format!("{at}.train"),
                        what,
                        format!("rename the feature, or omit it: `omit: [{word}]`"),
                    );
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
            let what = format!("`{name}` is listed under both `pass_env` and `secret_env`");
            self.push_problem(
                "duplicate-value",
                format!("{at}.secret_env"),
                what,
                "keep it under `secret_env` if its value is a secret",
            );
        }
    }

    fn model_of_command(&mut self, at: &str, name: &Name, command: &CommandBlock) {
        match (&command.model, &command.train) {
            (Some(_), Some(_)) => {
                let what = format!("the command of `{name}` has both `model` and `train`");
                self.push_problem(
                    "one-of",
                    at,
                    what,
                    "keep `model` for a model that is trained \
                     already, or `train` for one that this run trains",
                );
            }
            (Some(path), None) if path.is_empty() => {
                self.push_problem(
                    "empty-value",
                    format!("{at}.model"),
                    format!("`{at}.model` is empty"),
                    "name the file or folder of the model",
                );
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
                return self.push_problem(
                    "empty-list",
                    at,
                    format!("`{at}` is empty"),
                    "name the program, then its arguments: `[python3, score.py]`",
                );
            }
            Some(program) if program.0.is_empty() => {
                return self.push_problem(
                    "empty-value",
                    format!("{at}[0]"),
                    "the program has no name",
                    "name the program, then its arguments: `[python3, score.py]`",
                );
            }
            Some(_) => {}
        }
        let (known, of_model) = ([needed, always].concat(), always == ALWAYS);
        for (i, argument) in arguments.iter().enumerate() {
            for word in argument.placeholders().into_iter().filter(|word| !known.contains(word)) {
                let hint = match word {
                    "model" if of_model => {
                        "`{model}` is the path that `model` names or `train` writes, but the \
                         command has neither"
                            .to_owned()
                    }
                    "rows" | "scores" if needed.contains(&"rows") => {
                        "the training program gets rows and writes no scores".to_owned()
                    }
                    "rows" | "scores" if of_model => {
                        "files are for `stream: parquet-files`; an `arrow` stream uses \
                         standard input and output"
                            .to_owned()
                    }
                    _ => suggest(word, "known placeholders", known.iter().copied()),
                };
                self.push_problem(
                    "bad-placeholder",
                    format!("{at}[{i}]"),
                    format!("`{{{word}}}` is not a placeholder of this command"),
                    hint,
                );
            }
        }
        let missing: Vec<String> = needed
            .iter()
            .filter(|word| !arguments.iter().any(|a| a.placeholders().contains(word)))
            .map(|word| format!("{{{word}}}"))
            .collect();
        if !missing.is_empty() {
            let what = format!("this command does not name {}", all(&missing));
            let hint = format!(
                "put {} where the program expects {}",
                list(&missing),
                if missing.len() == 1 { "that path" } else { "these paths" }
            );
            self.push_problem("bad-placeholder", at, what, hint);
        }
    }

    pub(super) fn no_placeholder(&mut self, at: String, path: &str) {
        if let Some(word) = CommandArgument(path.to_owned()).placeholders().first() {
            let hint = "this path holds no placeholders; variables are written `${vars.NAME}`";
            self.push_problem(
                "bad-placeholder",
                at,
                format!("`{{{word}}}` is not a placeholder of this path"),
                hint,
            );
        }
    }

    fn watched(&mut self, at: &str, watch: &[String]) {
        let at = format!("{at}.watch");
        if watch.is_empty() || !self.is_sound(&[&at]) || !self.check_distinct(&at, "file", watch) {
            return;
        }
        for (i, path) in watch.iter().enumerate() {
            if path.is_empty() {
                self.push_problem(
                    "empty-value",
                    format!("{at}[{i}]"),
                    "a path is empty",
                    "name a file, a folder or a glob",
                );
            } else {
                self.no_placeholder(format!("{at}[{i}]"), path);
            }
        }
    }

    fn variables(&mut self, at: &str, names: &[String]) {
        if names.is_empty() || !self.is_sound(&[at]) || !self.check_distinct(at, "variable", names)
        {
            return;
        }
        for (i, name) in names
            .iter()
            .enumerate()
            .filter(|(_, name)| name.is_empty() || name.contains(['=', '\0']))
        {
            let what =
                format!("`{}` is not a name of an environment variable", name.escape_debug());
            self.push_problem(
                "bad-value",
                format!("{at}[{i}]"),
                what,
                "write only the name: a job does not contain values of environment variables",
            );
        }
    }
}
