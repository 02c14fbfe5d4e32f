//! How a job is run: its settings, the kinds of stages, the fingerprint of the program.

use std::path::{Path, PathBuf};

use crate::job::Job;
use crate::unit::StageKind;

/// All kinds of stages, in order; engines that come later keep their place in it.
pub const KINDS: [&str; StageKind::ALL.len()] = {
    let mut words = [""; StageKind::ALL.len()];
    let mut at = 0;
    while at < words.len() {
        words[at] = StageKind::ALL[at].word();
        at += 1;
    }
    words
};

/// The fingerprint of the program ([`crate::exec::source_fingerprint`]): results of another program
/// are never read, so no version has to be raised by hand. It is in the keys of stages and in
/// `run.json`, and in no other file of an output folder.
pub const CODE: &str = env!("CFAUDIT_PROGRAM");

/// How a job is run; nothing here changes a number.
#[derive(Debug, Clone, Default)]
pub struct RunSettings {
    /// The job file as the user named it.
    pub job_file: String,
    /// The output folder; none: `outputs/<name of the job>`.
    pub out: Option<PathBuf>,
    /// The cache; none: a temporary one.
    pub cache: Option<PathBuf>,
    /// Where public data sets are looked for and kept.
    pub data_dir: PathBuf,
    /// Number of threads.
    pub threads: usize,
    /// Memory to stay within, in bytes; none: rows in flight are not cut down, and training may
    /// take half of what there is.
    pub memory: Option<u64>,
    /// Rows of a row group, a multiple of [`crate::table::file::BLOCK_ROWS`].
    pub batch_rows: Option<usize>,
    /// Stop after stages of this kind.
    pub until: Option<String>,
    /// Run this stage again.
    pub force: Option<String>,
    /// The folder of a plan in shards whose merged states the run starts from; none: it goes over
    /// the rows itself.
    pub from: Option<PathBuf>,
    /// The output folder of an earlier run that this one is compared with.
    pub baseline: Option<PathBuf>,
    /// Output folders of earlier runs whose verdicts the page shows next to those of this run.
    pub history: Vec<PathBuf>,
    /// Whether the exit status is 0 regardless of the gates.
    pub gates_report_only: bool,
    /// Whether a folder of another job may be replaced.
    pub replace: bool,
    /// Whether all input files are hashed, also those whose hash is remembered.
    pub rehash: bool,
    /// Most bytes of the cache after the run; none: it grows.
    pub cache_limit: Option<u64>,
}

impl RunSettings {
    /// A whole run of a job on all threads, with a temporary cache and no limit.
    pub fn plain(job_file: String) -> Self {
        RunSettings {
            job_file,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            ..RunSettings::default()
        }
    }
}

/// The output folder of a job that is given no other.
pub fn default_folder(job: &Job) -> PathBuf {
    Path::new("outputs").join(job.name.as_str())
}
