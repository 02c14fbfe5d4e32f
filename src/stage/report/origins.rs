//! Where an output folder says that it comes from: job, data, program.

use std::path::Path;

use crate::data::prepare::params::PrepareParams;
use crate::job::check::CheckedJob;
use crate::stage::input::JobInputs;
use crate::stage::row_context::RowContext;
use crate::stage::settings::RunSettings;

/// The format of manifests and summaries.
pub(crate) const FORMAT: u32 = 1;

/// What a folder says about its origins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FolderOrigins<'a> {
    /// The job.
    pub checked: &'a CheckedJob,
    /// How it is run.
    pub settings: &'a RunSettings,
    /// What it depends on.
    pub input: &'a JobInputs,
    /// The id of the run.
    pub run: &'a str,
    /// The prepared rows.
    pub context: RowContext<'a>,
    /// What preparing had to know for those who read the rows; it may know more.
    pub params: &'a PrepareParams,
    /// The folder of what preparing wrote.
    pub prepared: &'a Path,
    /// The folder of the population whatever the model.
    pub population: &'a Path,
}
