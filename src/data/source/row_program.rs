//! The block `command` of rows and of counterfactuals: a program that writes rows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::param::{CommandArgument, TimeLimit};

/// A program that writes rows to its standard output, as an Arrow IPC stream; or its arguments
/// alone. It runs in the working directory of cfaudit with PATH, HOME, TMPDIR, LANG=C.UTF-8, TZ=UTC
/// and what `pass_env` and `secret_env` name. Every status but 0 ends the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-short" = "run",
    "x-is" = "a program with its arguments, `[python3, rows.py]`, or a map with `run`"))]
pub struct RowProgramBlock {
    /// The program and its arguments. Filled when it starts: `{seed}` (run.seed) and `{threads}`.
    pub run: Vec<CommandArgument>,
    /// Files, folders or globs that decide what the program writes: when one changes, it runs
    /// again. Only of a program that makes counterfactuals; one that writes the rows runs each
    /// time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "file", "x-filled" = "name a file, a folder or a glob"))]
    pub watch: Vec<String>,
    /// Names of further environment variables that the program sees. A changed value runs it again:
    /// the cache keeps a keyed hash of it, and the value is never written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "variable"))]
    pub pass_env: Vec<String>,
    /// Names of variables with secrets, such as passwords: the program sees them; their values are
    /// never hashed or written, and a changed one runs nothing again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "variable"))]
    pub secret_env: Vec<String>,
    /// How long the program may take.
    #[serde(default)]
    pub time_limit: TimeLimit,
}
