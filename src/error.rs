//! Every way a run can fail, sorted by who must act; each kind has one exit status.
//!
//! A panic is a bug in cfaudit; input never causes one (those of the Parquet library over a damaged
//! page are caught). Messages are lower case, put the value in backticks, have no full stop, and
//! say what to do on a `hint:` line of their own.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

/// How the program ends. The only place where a status gets its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Done; gates passed, or only warned, or `--gates report`.
    Done,
    /// A gate failed, or was inconclusive under `on_inconclusive: fail`; with `--exit-code`:
    /// something would run.
    GateCrossed,
    /// The job file or the command line is wrong.
    Job,
    /// Data, scores or a model are wrong.
    Data,
    /// Waiting for rows that are being written, or for scores that are computed elsewhere.
    Waiting,
    /// Disk, permissions, output folder in use or of another job.
    Operator,
    /// A bug in cfaudit.
    Bug,
    /// Interrupted by SIGINT; the output folder is as it was before.
    Interrupted,
    /// Ended by SIGTERM; the output folder is as it was before.
    Terminated,
}

/// The code of a fault that time mends: rows are being written.
pub(crate) const ROWS_AWAITED: &str = "rows-awaited";

/// One exit status with its words, for `cfaudit explain` and the README.
#[derive(Debug, Clone, Copy)]
pub struct ExitWords {
    /// The status.
    pub exit: Exit,
    /// What it means.
    pub means: &'static str,
    /// Who must act.
    pub who: &'static str,
    /// Whether trying again helps.
    pub retry: &'static str,
}

/// All exit statuses, in order of their numbers.
pub const EXITS: &[ExitWords] = &[
    ExitWords {
        exit: Exit::Done,
        means: "done; gates passed, or gave only warnings, or --gates report",
        who: "nobody",
        retry: "-",
    },
    ExitWords {
        exit: Exit::GateCrossed,
        means: "a gate failed, or was inconclusive and on_inconclusive is fail; with --exit-code: \
                a stage would run",
        who: "model owner",
        retry: "no",
    },
    ExitWords {
        exit: Exit::Job,
        means: "job file or command line wrong",
        who: "job author",
        retry: "no",
    },
    ExitWords {
        exit: Exit::Data,
        means: "data, scores or model wrong",
        who: "data or model owner",
        retry: "seldom",
    },
    ExitWords {
        exit: Exit::Waiting,
        means: "waiting for rows, or for scores; the rows to score are in to-score/ of the output \
                folder",
        who: "the people who write the rows or the scores",
        retry: "yes, later",
    },
    ExitWords {
        exit: Exit::Operator,
        means: "disk, memory, permissions, output folder in use or of another job",
        who: "operator",
        retry: "yes",
    },
    ExitWords {
        exit: Exit::Bug,
        means: "bug in cfaudit",
        who: "the makers of cfaudit",
        retry: "no",
    },
    ExitWords {
        exit: Exit::Interrupted,
        means: "interrupted (SIGINT); the output folder is as it was before",
        who: "operator",
        retry: "yes",
    },
    ExitWords {
        exit: Exit::Terminated,
        means: "ended (SIGTERM); the output folder is as it was before",
        who: "operator",
        retry: "yes",
    },
];

impl Exit {
    /// The number that the shell sees. 99 stays free: it is Airflow's default for "skip".
    pub const fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::GateCrossed => 1,
            Exit::Job => 2,
            Exit::Data => 3,
            Exit::Waiting => 4,
            Exit::Operator => 5,
            Exit::Bug => 101,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
        }
    }

    /// The exit status with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        EXITS.iter().map(|words| words.exit).find(|exit| exit.code() == code)
    }
}

/// A place in a job file; lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FilePlace {
    /// The file as the user named it, or `--set` for values from the command line.
    pub file: String,
    /// Line, from 1; 0 where the place has no line (a `--set` value).
    pub line: u64,
    /// Column in characters, from 1; 0 where the place has no line.
    pub column: u64,
}

impl fmt::Display for FilePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            write!(f, "{}", self.file)
        } else {
            write!(f, "{}:{}:{}", self.file, self.line, self.column)
        }
    }
}

/// One thing that is wrong in a job file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobProblem {
    /// Word of a closed list, such as `unknown-key`; `cfaudit explain` knows it.
    pub code: &'static str,
    /// Dotted path in the job, such as `gates.four-fifths.metric`; empty for the file as a whole.
    pub path: String,
    /// Where it stands.
    pub place: Option<FilePlace>,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl fmt::Display for JobProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: {}", self.code, clipped(&self.what))?;
        if let Some(place) = &self.place {
            write!(f, "\n  --> {place}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {}", clipped(hint))?;
        }
        Ok(())
    }
}

/// Letters of a message that are shown: a value of a file can be of any length.
const SHOWN: usize = 2_000;

/// A text, or its beginning and how much more there is.
fn clipped(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!(
            "{}... ({} more letters)",
            &text[..end],
            text[end..].chars().count()
        )),
    }
}

/// Something wrong in data, scores or a model, as precisely as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fault {
    /// Word of a closed list, such as `missing-column`.
    pub code: &'static str,
    /// What is wrong.
    pub what: String,
    /// The file it was found in.
    pub file: Option<PathBuf>,
    /// The row (0-based position in the source) or line, in words: `row 17`, `line 3`, `row_id 88`.
    pub row: Option<String>,
    /// The column.
    pub column: Option<String>,
    /// Where in the job the thing is asked for.
    pub place: Option<FilePlace>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Fault {
    /// A fault with a code and words; add what else is known with struct update or the `in_*`
    /// methods.
    pub fn new(code: &'static str, what: impl Into<String>) -> Self {
        Fault { code, what: what.into(), ..Fault::default() }
    }

    /// Names the file.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Names the row or line, in words.
    #[must_use]
    pub fn at_row(mut self, row: impl Into<String>) -> Self {
        self.row = Some(row.into());
        self
    }

    /// Names the column.
    #[must_use]
    pub fn in_column(mut self, column: impl Into<String>) -> Self {
        self.column = Some(column.into());
        self
    }

    /// Names the place in the job that asks for the thing.
    #[must_use]
    pub fn asked_at(mut self, place: Option<FilePlace>) -> Self {
        self.place = place;
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Fails with it, and says what to do.
    ///
    /// # Errors
    /// Always.
    pub fn fail<T>(self, hint: impl Into<String>) -> Result<T> {
        Err(self.hint(hint).into())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: {}", self.code, clipped(&self.what))?;
        let mut at = Vec::new();
        if let Some(file) = &self.file {
            at.push(format!("`{}`", file.display()));
        }
        if let Some(row) = &self.row {
            at.push(row.clone());
        }
        if let Some(column) = &self.column {
            at.push(format!("column `{}`", clipped(column)));
        }
        if !at.is_empty() {
            write!(f, "\n  in {}", at.join(", "))?;
        }
        if let Some(place) = &self.place {
            write!(f, "\n  --> {place}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {}", clipped(hint))?;
        }
        Ok(())
    }
}

/// The codes of faults with their meanings, for `cfaudit explain`.
pub const FAULTS: &[(&str, &str)] = &[
    (
        "ambiguous-missing",
        "missing values are to form the level `missing`, and the column has a value of that name",
    ),
    ("bad-address", "a list of files holds a malformed address, or one with a user or a query"),
    (
        "bad-answer",
        "an HTTP endpoint answered with something else than the scores of the version that the job \
         names",
    ),
    (
        "bad-counterfactuals",
        "a key, a column or a value of a file of counterfactuals is not what it must be",
    ),
    (
        "bad-dialect",
        "a character cannot be used as the separator, quote or decimal sign of a text file",
    ),
    ("bad-encoding", "a text file holds bytes that are not valid UTF-8"),
    ("bad-graphs", "a file of causal graphs is too large, or is no GML or JSON"),
    (
        "bad-model",
        "an ONNX model cannot be loaded, expects columns other than those it gets, or does not \
         return probabilities",
    ),
    ("bad-onehot", "a column of a one-hot group holds values other than 0 and 1"),
    ("bad-output", "the program of a model did not write the requested model or scores"),
    ("bad-quoting", "a text file has a quote in a wrong place, or one that is never closed"),
    (
        "bad-scores",
        "a score file has an invalid score or key, or a program returned a score that is not a \
         probability",
    ),
    ("bad-sql", "an SQL expression does not fit the types of its columns"),
    (
        "bad-threshold",
        "a threshold is not on the scale of the scores, [0, 1] where the job says none",
    ),
    (
        "bad-weight",
        "a row has no weight or a negative one, all weights are 0, or the weights are too large to \
         be added",
    ),
    (
        "collinear-columns",
        "a variable of a causal graph is an exact function of others and the job forbids that",
    ),
    (
        "command-failed",
        "the program of a model failed, was stopped by a signal, or exceeded its time limit",
    ),
    ("command-not-started", "the program of a model cannot be found or executed"),
    ("constant-column", "a variable of a causal graph has only one value"),
    ("cost-too-large", "a change of a value costs more than can be added up"),
    ("duplicate-column", "a required column occurs twice in a file"),
    ("duplicate-file", "a list of files names one twice"),
    (
        "duplicate-group",
        "two declared groups are the same value, or a map gives a value to two groups, once the \
         type of the column is known",
    ),
    (
        "duplicate-key",
        "a score file, or a file of counterfactuals, names the same row or counterfactual twice",
    ),
    ("duplicate-row-id", "two rows have the same id"),
    ("empty-file", "a text file is empty: it has no header"),
    (
        "expect-differs",
        "a model gives other scores than those that the job expects, or there are none to compare",
    ),
    ("filter-failed", "a filter of `keep` cannot be applied to its column"),
    (
        "hidden-column",
        "a derived column has the name of a column of the source, which it would hide",
    ),
    ("impossible-graph", "a given causal graph, or the knowledge about it, is contradictory"),
    ("incomplete-counterfactuals", "a file of counterfactuals lacks people who are audited"),
    ("incomplete-scores", "a score file lacks some of the rows or counterfactuals to score"),
    ("infinite-value", "a number is infinite"),
    ("input-changed", "an input file or object was replaced or changed while a run read it"),
    ("large-integer", "an expression reads an integer beyond 2^53, which it would round"),
    ("large-text", "an expression makes a text of more than 64 KiB for one row"),
    ("missing-column", "a file lacks a column that the job names"),
    (
        "missing-file",
        "a file or pattern of `data.rows`, of a command or of counterfactuals finds nothing",
    ),
    ("missing-person", "a row does not say whose it is"),
    ("missing-row-id", "a row has no id"),
    ("missing-scores", "a score file has disappeared"),
    ("missing-threshold", "a row has a score and no threshold to compare it with"),
    ("missing-value", "a value is missing, which the job does not allow"),
    ("missing-variable", "a command needs an environment variable that is not set"),
    (
        "missing-word",
        "a label, a sensitive column or a column of decisions holds a word that usually means \
         missing, such as `nan`, and the job does not say what it is",
    ),
    ("no-affected-rows", "nobody in a group has the unfavourable decision"),
    ("no-audit-rows", "no row is left to audit"),
    ("no-columns", "a file has no columns"),
    ("no-convergence", "the training of a model did not converge"),
    ("no-reference-rows", "there are no rows from which to learn the distributions of the groups"),
    ("no-rows", "no rows are left, or a file holds none"),
    ("no-runtime", "the library that runs ONNX models was not found"),
    ("no-scores-found", "a score file has no score for any audited row"),
    ("no-training", "a model cannot be trained in this run"),
    ("no-transport", "an optimal transport has too many rows, or distances that are too large"),
    ("no-values", "a feature that a set should move has no value in the reference"),
    ("nobody-counts", "every audited row lacks its group or its score"),
    (
        "not-a-boolean",
        "a value in the job must be true or false, because the column holds booleans",
    ),
    ("not-a-file", "a path names a folder, pipe or device instead of a file"),
    ("not-a-number", "a value in the job must be a number, because the column holds numbers"),
    ("not-an-id", "the row id column holds neither whole numbers nor text"),
    ("not-in-shards", "the job needs all rows in one process, so it cannot be run in shards"),
    ("not-numeric", "a column that must hold numbers holds other values"),
    ("numbers-as-levels", "a nominal column holds more than 1,000 numbers with a decimal sign"),
    ("one-class", "the training rows have only one class"),
    ("other-request", "a score file was made for rows other than those to score"),
    (
        "overlapping-split",
        "a value of the split column is in both the training and the audited rows",
    ),
    ("person-on-both-sides", "a column splits the rows of one person"),
    ("ragged-row", "a line of a text file has too many or too few fields"),
    ("recheck-differs", "rows that were scored again have different scores"),
    ("reference-label", "the label of the reference does not say which class is positive"),
    ("reference-type", "a column has different types in the reference and in the rows"),
    ("repeated-key", "a key occurs twice in a side table"),
    (
        "rows-awaited",
        "files of rows are being written, or are not there yet: the run waits for them",
    ),
    ("too-large-model", "training a model would need more memory than the run may use"),
    ("too-large-table", "a side table takes more memory than the run may take"),
    ("too-many-amounts", "the amounts of all people take more memory than the run may have"),
    ("too-many-folds", "there are fewer rows than folds"),
    ("too-many-graphs", "the data and the knowledge allow more causal graphs than the job"),
    ("too-many-levels", "a column has more levels than a nominal column may have"),
    ("too-many-persons", "the rows of all persons take more memory than the run may have"),
    ("too-many-rows", "the requested number of rows is too large"),
    ("too-many-scores", "the scores of all people take more memory than the run may have"),
    ("too-many-slices", "the columns of `metrics.by` have too many values together"),
    ("too-many-subgroups", "a search finds too many subgroups or actions"),
    ("too-many-variables", "a causal graph has more variables than are possible"),
    ("too-much-text", "a batch of rows holds more text than fits"),
    ("training-failed", "a library did not train a model"),
    ("two-roles", "a column has two roles in a new job"),
    ("type-changes", "a column has different types in two files"),
    ("undeclared-label", "the label holds a value that neither of its two lists names"),
    ("undeclared-level", "an ordinal column holds a level that its list lacks"),
    ("undetermined-model", "the training rows do not determine a model"),
    ("unfit-filter", "the filter of counterfactuals by distance has no columns, or too many"),
    ("unknown-data-set", "the catalog has no such data set"),
    ("unknown-decision", "a decision is not among the words of the job, or no row is positive"),
    ("unknown-group", "none of the declared groups occurs in the data"),
    (
        "unknown-key",
        "a score file, or a file of counterfactuals, names a row or counterfactual that the data \
         do not have",
    ),
    ("unknown-label-value", "a positive label value never occurs"),
    ("unknown-level", "the job names a level that the column does not have"),
    ("unknown-parent", "a generated column depends on a column that does not exist"),
    ("unmatched-key", "rows have a key that a side table lacks"),
    ("unreachable-data", "a public data set is not in the data folder and cannot be downloaded"),
    ("unreadable-file", "a file is truncated, damaged or of another format"),
    ("unreadable-value", "a value cannot be read as the type of its column"),
    ("unseen-class", "rows have a class that no reference row has"),
    ("unsorted-row-ids", "row ids do not rise from shard to shard, so one may occur twice"),
    ("unsorted-scores", "a score file in shards does not hold the keys in the order of the rows"),
    ("unsupported-type", "a column holds values of a type that cfaudit does not read"),
    (
        "weight-overflow",
        "the sum of the weights is too large for the integers in which it is computed",
    ),
    ("wrong-checksum", "a file of a public data set differs from the one in the catalog"),
];

/// The codes that are neither of a job file nor of data, with their meanings, for
/// `cfaudit explain`.
pub const OTHER_CODES: &[(&str, &str)] = &[
    ("counted-once", "the job names a file of rows under several paths; it is read once"),
    ("half-written", "a score file exists but may still be incomplete: the run waits for it"),
    ("interrupted", "a signal ended the run; the output folder is as it was before"),
    ("no-such-gate", "`--gate` names no gate of the job or folder"),
    ("operator", "a file or folder cannot be read, written, locked or replaced"),
    ("rates-do-not-fit", "`--assume` gives one rate to a gate on two, or two to a gate on one"),
    ("stand-in", "generated rows replace a public data set; no number is about real people"),
    ("unknown-stage", "`--until` or `--force` names no stage of the run"),
    ("unwatched", "a command names a file that it does not watch: changes to it are not noticed"),
];

/// Why a run ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

/// Every way a run can fail: one variant per person who must act.
#[derive(Debug)]
pub enum Error {
    /// For the job author: all problems at once.
    Job(Vec<JobProblem>),
    /// For the owner of the data, the scores or the model.
    Data(Box<Fault>),
    /// For the operator: a file or folder could not be read, written, locked or replaced.
    Operator {
        /// The file or folder.
        path: PathBuf,
        /// What was being done, such as `write` or `lock`.
        doing: String,
        /// Why it failed.
        cause: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// Stopped by a signal; nothing incomplete stays.
    Interrupted(StopSignal),
}

/// What to do about a folder of this program's that is not as it was left.
pub const FOLDER_CHANGED_HINT: &str =
    "the folder was changed after it was written; delete it and run again";

impl Error {
    /// An error of the operator that no system call reported.
    pub fn operator<'h>(
        doing: &str,
        path: impl AsRef<Path>,
        cause: impl fmt::Display,
        hint: impl Into<Option<&'h str>>,
    ) -> Self {
        Error::Operator {
            path: path.as_ref().to_path_buf(),
            doing: doing.to_owned(),
            cause: cause.to_string(),
            hint: hint.into().map(str::to_owned),
        }
    }

    /// An operating system error with the path it belongs to.
    pub fn io(doing: &str, path: &Path, cause: &std::io::Error) -> Self {
        let hint = match cause.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Some(
                "free some space on that disk, then run again: finished stages are kept".to_owned(),
            ),
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                Some("give this user access to it, or choose another path".to_owned())
            }
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
                Some("make sure that its folder exists".to_owned())
            }
            std::io::ErrorKind::IsADirectory => {
                Some("it is a folder; name a file in it".to_owned())
            }
            _ => None,
        };
        Error::Operator {
            path: path.to_path_buf(),
            doing: doing.to_owned(),
            cause: cause.to_string(),
            hint,
        }
    }

    /// Why it failed, without the path and the hint of an operator's error.
    pub fn cause(&self) -> String {
        match self {
            Error::Operator { cause, .. } => cause.clone(),
            other => other.to_string(),
        }
    }

    /// A fault with the place in the job that asks for what is faulty, unless it has one already.
    #[must_use]
    pub fn asked_at(self, place: Option<&FilePlace>) -> Self {
        match self {
            Error::Data(fault) if fault.place.is_none() => fault.asked_at(place.cloned()).into(),
            other => other,
        }
    }

    /// The exit status of this error.
    pub fn exit(&self) -> Exit {
        match self {
            Error::Job(_) => Exit::Job,
            Error::Data(fault) if fault.code == ROWS_AWAITED => Exit::Waiting,
            Error::Data(_) => Exit::Data,
            Error::Operator { .. } => Exit::Operator,
            Error::Interrupted(StopSignal::Interrupt) => Exit::Interrupted,
            Error::Interrupted(StopSignal::Terminate) => Exit::Terminated,
        }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Error::Data(Box::new(fault))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Job(problems) => {
                for (i, problem) in problems.iter().enumerate() {
                    if i > 0 {
                        writeln!(f)?;
                    }
                    write!(f, "{problem}")?;
                }
                Ok(())
            }
            Error::Data(fault) => write!(f, "{fault}"),
            Error::Operator { path, doing, cause, hint } => {
                write!(f, "error[operator]: cannot {doing} `{}`: {cause}", path.display())?;
                if let Some(hint) = hint {
                    write!(f, "\n  hint: {hint}")?;
                }
                Ok(())
            }
            Error::Interrupted(StopSignal::Interrupt) => write!(
                f,
                "error[interrupted]: interrupted; the output folder is as it was before\n  hint: \
                 run again: finished stages are kept"
            ),
            Error::Interrupted(StopSignal::Terminate) => write!(
                f,
                "error[interrupted]: ended by SIGTERM; the output folder is as it was before\n  \
                 hint: run again: finished stages are kept"
            ),
        }
    }
}

impl std::error::Error for Error {}

/// The result of everything that can fail in cfaudit.
pub type Result<T, E = Error> = std::result::Result<T, E>;
