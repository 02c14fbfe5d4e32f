//! The flags of `worker` and `merge`.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use crate::cli::flags::{LogFlags, parse_memory};
use crate::stage::sharding::share::ShardPass;

/// Most shards of a plan.
pub(crate) const MOST_SHARDS: u32 = 100_000;

/// `cfaudit worker`. It prints one line of JSON, or with `--stream` the state.
#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// The folder of the plan, or its address such as `s3://BUCKET/KEY`.
    pub(crate) plan: PathBuf,
    /// The pass.
    #[arg(long, value_enum)]
    pub(crate) pass: PassWord,
    /// The number of the shard, from 0.
    #[arg(long, value_name = "I")]
    pub(crate) shard: usize,
    /// Read the rows of the shard from standard input, an Arrow stream, and write its state to
    /// standard output.
    #[arg(long)]
    pub(crate) stream: bool,
    /// Number of threads; default: all cores.
    #[arg(long, env = "CFAUDIT_THREADS", value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Memory limit, such as `2GiB` or `500MB`.
    #[arg(long, env = "CFAUDIT_MEMORY", value_name = "SIZE", value_parser = parse_memory)]
    pub(crate) memory: Option<u64>,
    /// Folder of cached stage results, which later passes reuse; default, and always with
    /// `--stream`: a temporary folder.
    #[arg(long, env = "CFAUDIT_CACHE", value_name = "DIR|off")]
    pub(crate) cache: Option<PathBuf>,
    /// How to log.
    #[command(flatten)]
    pub(crate) log: LogFlags,
}

/// `cfaudit merge`. It prints one line of JSON, and ends with 4 while parts are missing.
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// The folder of the plan, or its address such as `s3://BUCKET/KEY`.
    pub(crate) plan: PathBuf,
    /// The pass.
    #[arg(long, value_enum)]
    pub(crate) pass: PassWord,
    /// How to log.
    #[command(flatten)]
    pub(crate) log: LogFlags,
}

/// A pass over the rows of all shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PassWord(pub(super) ShardPass);

impl ValueEnum for PassWord {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            PassWord(ShardPass::Survey),
            PassWord(ShardPass::Learn),
            PassWord(ShardPass::Count),
            PassWord(ShardPass::Shift),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.word()).help(self.0.about()))
    }
}
