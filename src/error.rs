//! Every way a run can fail, sorted by who must act; each kind has one exit status.
//!
//! A panic is a bug in cfaudit; input never causes one (those of the Parquet library over a damaged
//! page are caught). Messages are lower case, put the value in backticks, have no full stop, and
//! say what to do on a `hint:` line of their own.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

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

/// Writes the exit statuses: what each means to the code, its number, what it means in words, who
/// must act, and whether trying again helps.
macro_rules! exits {
    ($($(#[$about:meta])* $exit:ident = $code:literal:
        $means:literal, $who:literal, $retry:literal;)+) => {
        /// How the program ends. The only place where a status gets its number.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Exit { $($(#[$about])* $exit,)+ }

        /// All exit statuses, in order of their numbers.
        pub const EXITS: &[ExitWords] =
            &[$(ExitWords { exit: Exit::$exit, means: $means, who: $who, retry: $retry },)+];

        impl Exit {
            /// The number that the shell sees. 99 stays free: it is Airflow's default for "skip".
            pub const fn code(self) -> u8 {
                match self { $(Exit::$exit => $code,)+ }
            }
        }
    };
}

exits! {
    /// Done; gates passed, or only warned, or `--gates report`.
    Done = 0: "done; gates passed, or gave only warnings, or --gates report", "nobody", "-";
    /// A gate failed, or was inconclusive under `on_inconclusive: fail`; with `--exit-code`:
    /// something differs, or a stage would run.
    GateFailed = 1:
        "a gate failed, or was inconclusive and on_inconclusive is fail; with --exit-code: \
            something differs, or a stage would run",
        "model owner", "no";
    /// The job file or the command line is wrong.
    Job = 2: "job file or command line wrong", "job author", "no";
    /// Data, scores or a model are wrong.
    Data = 3: "data, scores or model wrong", "data or model owner", "rarely";
    /// Waiting for rows that are being written, or for scores that are computed elsewhere.
    Waiting = 4:
        "waiting for rows, or for scores; the rows to score are in to-score/ of the output folder",
        "the people who write the rows or the scores", "yes, later";
    /// Disk, permissions, output folder in use or of another job.
    Operator = 5:
        "disk, memory, permissions, output folder in use or of another job",
        "operator", "yes";
    /// A bug in cfaudit.
    Bug = 101: "bug in cfaudit", "the makers of cfaudit", "no";
    /// Interrupted by SIGINT; the output folder is as it was before.
    Interrupted = 130:
        "interrupted (SIGINT); the output folder is as it was before",
        "operator", "yes";
    /// Ended by SIGTERM; the output folder is as it was before.
    Terminated = 143: "ended (SIGTERM); the output folder is as it was before", "operator", "yes";
}

/// The code of a fault that time mends: rows are being written.
pub(crate) const ROWS_AWAITED: &str = "rows-awaited";

impl Exit {
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
        write_problem(f, [self.code, &self.what], &[], self.place.as_ref(), self.hint.as_ref())
    }
}

/// What is wrong, behind its code: where it was found, the place in the job, what to do about it.
fn write_problem(
    f: &mut fmt::Formatter<'_>,
    [code, what]: [&str; 2],
    at: &[String],
    place: Option<&FilePlace>,
    hint: Option<&String>,
) -> fmt::Result {
    write!(f, "error[{code}]: {}", clipped(what))?;
    if !at.is_empty() {
        write!(f, "\n  in {}", at.join(", "))?;
    }
    if let Some(place) = place {
        write!(f, "\n  --> {place}")?;
    }
    if let Some(hint) = hint {
        write!(f, "\n  hint: {}", clipped(hint))?;
    }
    Ok(())
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
        let file = self.file.as_ref().map(|file| format!("`{}`", file.display()));
        let column = self.column.as_ref().map(|column| format!("column `{}`", clipped(column)));
        let at: Vec<String> = file.into_iter().chain(self.row.clone()).chain(column).collect();
        write_problem(f, [self.code, &self.what], &at, self.place.as_ref(), self.hint.as_ref())
    }
}

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

    /// A problem of the command line, at a flag unless that is empty.
    pub(crate) fn command_line(
        code: &'static str,
        flag: &str,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let (file, what, hint) = (flag.to_owned(), what.into(), Some(hint.into()));
        let place = (!flag.is_empty()).then_some(FilePlace { file, line: 0, column: 0 });
        Error::Job(vec![JobProblem { code, path: String::new(), place, what, hint }])
    }

    /// An operating system error with the path it belongs to.
    pub fn io(doing: &str, path: &Path, cause: &std::io::Error) -> Self {
        use std::io::ErrorKind as Kind;
        let hint = match cause.kind() {
            Kind::StorageFull | Kind::QuotaExceeded => Some(
                "free some space on that disk, then run again: finished stages are kept, \
                     unless the cache is off",
            ),
            Kind::PermissionDenied | Kind::ReadOnlyFilesystem => {
                Some("give this user access to it, or choose another path")
            }
            Kind::NotFound | Kind::NotADirectory => Some("make sure that its folder exists"),
            Kind::IsADirectory => Some("it is a folder; name a file in it"),
            _ => None,
        };
        Error::operator(doing, path, cause, hint)
    }

    /// Why it failed, without the path and the hint of an operator's error.
    pub fn cause(&self) -> String {
        match self {
            Error::Operator { cause, .. } => cause.clone(),
            other => other.to_string(),
        }
    }

    /// A fault with what `with` adds to it; every other error as it is.
    #[must_use]
    pub(crate) fn map_fault(self, with: impl FnOnce(Fault) -> Fault) -> Self {
        match self {
            Error::Data(fault) => with(*fault).into(),
            other => other,
        }
    }

    /// A fault with the place in the job that asks for what is faulty, unless it has one already.
    #[must_use]
    pub fn asked_at(self, place: Option<&FilePlace>) -> Self {
        self.map_fault(|fault| match fault.place {
            None => fault.asked_at(place.cloned()),
            Some(_) => fault,
        })
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
            Error::Interrupted(signal) => {
                let what = match signal {
                    StopSignal::Interrupt => "interrupted",
                    StopSignal::Terminate => "ended by SIGTERM",
                };
                write!(
                    f,
                    "error[interrupted]: {what}; the output folder is as it was before\n  hint: run \
                     again: finished stages are kept, unless the cache is off"
                )
            }
        }
    }
}

impl std::error::Error for Error {}

/// The result of everything that can fail in cfaudit.
pub type Result<T, E = Error> = std::result::Result<T, E>;
