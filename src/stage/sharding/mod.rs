//! One job on any number of machines: a plan cuts the rows into shards, workers gather the states
//! of a shard, a merge adds them up, and a run makes the tables of the merged states.
//!
//! | verb | what it reads | what it writes |
//! | --- | --- | --- |
//! | `plan --shards` | the job and the footers of its rows | `plan.json`, `job.resolved.yaml` |
//! | `plan --stream` | the job, the columns and numbers of rows of an engine's parts | the same, `columns.parquet` |
//! | `worker` | the rows of one shard, merged states of earlier passes | `PASS/part-*.state`, [rows to keep](shard_rows) |
//! | `worker --stream` | the rows of one part on standard input, merged states | a state on standard output |
//! | `merge` | the parts of one pass | `PASS/merged.state` |
//! | `run --from` | merged states of all passes | the output folder |
//!
//! Stages are those of an ordinary run. Which rows they read is given by [`share::RowShare`]: a
//! worker stops a stage once the states of its pass are gathered, and a run from merged states
//! starts there.

pub(crate) mod merge;
pub(crate) mod plan;
pub(crate) mod refused;
pub(crate) mod shard_rows;
pub(crate) mod share;
pub(crate) mod state;
pub(crate) mod stream;
pub(crate) mod work;
