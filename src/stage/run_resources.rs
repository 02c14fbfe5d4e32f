//! What a run opens before its first stage: the store of results and the threads.

use std::path::Path;

use crate::counterfactual::plan::ExternalSource;
use crate::error::{Error, Result};
use crate::exec::cache_folder::DEFAULT_CACHE;
use crate::exec::folder::ScratchFolder;
use crate::exec::object::refuse_to_write;
use crate::exec::pieces::WorkerPool;
use crate::exec::result_store::ResultStore;
use crate::job::Job;
use crate::stage::settings::RunSettings;

/// The cache, or with `--cache off` a store in a folder that goes when the run ends.
pub(crate) fn open_store(
    job: &Job,
    settings: &RunSettings,
    scratch: Option<&ScratchFolder>,
) -> Result<ResultStore> {
    let root = settings.cache.as_deref().or(scratch.map(ScratchFolder::path));
    root.map_or(Ok(()), refuse_to_write)?;
    let store = ResultStore::open(root.unwrap_or(Path::new(DEFAULT_CACHE)))?;
    let of_models = job.models.values().filter_map(|model| model.external()?.1.program);
    let of_sets = job.counterfactuals.values().filter_map(|set| match set.knobs()?.external()? {
        ExternalSource::Program(program) => Some(!program.pass_env.is_empty()),
        ExternalSource::File(_) => None,
    });
    if of_models
        .map(|program| !program.command.pass_env.is_empty())
        .chain(of_sets)
        .any(|passes| passes)
    {
        store.make_secret()?;
    }
    Ok(store)
}

pub(crate) fn open_workers(settings: &RunSettings) -> Result<WorkerPool> {
    WorkerPool::new(settings.threads)
        .map_err(|cause| Error::operator("start", "threads", cause, "use fewer with --threads"))
}
