//! The block `command` of rows and of counterfactuals: a program that writes rows.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::param::{CommandArgument, TimeLimit};

/// A program that writes rows to its standard output, as an Arrow IPC stream. It runs in the
/// working directory of cfaudit with PATH, HOME, TMPDIR, LANG=C.UTF-8, TZ=UTC and what `pass_env`
/// and `secret_env` name. Every status but 0 ends the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowProgramBlock {
    /// The program and its arguments.
    pub run: Vec<CommandArgument>,
    /// Files, folders or globs that decide what the program writes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub watch: Vec<String>,
    /// Names of further environment variables that the program sees.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
    /// Names of variables with secrets, such as passwords.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secret_env: Vec<String>,
    /// How long the program may take.
    pub time_limit: TimeLimit,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RowProgramMap {
    /// The program and its arguments. Filled when it starts: `{seed}` (run.seed) and `{threads}`.
    run: Vec<CommandArgument>,
    /// Files, folders or globs that decide what the program writes: when one changes, it runs
    /// again. Only of a program that makes counterfactuals; one that writes the rows runs each
    /// time.
    #[serde(default)]
    watch: Vec<String>,
    /// Names of further environment variables that the program sees. A changed value runs it again:
    /// the cache keeps a keyed hash of it, and the value is never written.
    #[serde(default)]
    pass_env: Vec<String>,
    /// Names of variables with secrets, such as passwords: the program sees them; their values are
    /// never hashed or written, and a changed one runs nothing again.
    #[serde(default)]
    secret_env: Vec<String>,
    /// How long the program may take.
    #[serde(default = "TimeLimit::an_hour")]
    time_limit: TimeLimit,
}

impl<'de> Deserialize<'de> for RowProgramBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RowProgramVisitor;
        impl<'de> Visitor<'de> for RowProgramVisitor {
            type Value = RowProgramBlock;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a program with its arguments, `[python3, rows.py]`, or a map with `run`",
                )
            }

            fn visit_seq<A: SeqAccess<'de>>(self, run: A) -> Result<RowProgramBlock, A::Error> {
                Ok(RowProgramBlock {
                    run: Deserialize::deserialize(SeqAccessDeserializer::new(run))?,
                    watch: Vec::new(),
                    pass_env: Vec::new(),
                    secret_env: Vec::new(),
                    time_limit: TimeLimit::an_hour(),
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RowProgramBlock, A::Error> {
                let RowProgramMap { run, watch, pass_env, secret_env, time_limit } =
                    Deserialize::deserialize(MapAccessDeserializer::new(map))?;
                Ok(RowProgramBlock { run, watch, pass_env, secret_env, time_limit })
            }
        }
        deserializer.deserialize_any(RowProgramVisitor)
    }
}

impl JsonSchema for RowProgramBlock {
    fn schema_name() -> Cow<'static, str> {
        "RowProgramBlock".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (arguments, map) = (
            generator.subschema_for::<Vec<CommandArgument>>(),
            generator.subschema_for::<RowProgramMap>(),
        );
        json_schema!({"x-is": "a program with its arguments, `[python3, rows.py]`, or a map with `run`", "anyOf": [arguments, map]})
    }
}
