//! Files that the command line names to be written: only what is new, empty, or of the same kind is
//! replaced or appended to.
//!
//! A slip of the hand such as `--summary-file people.parquet` must not cost a file. The content of
//! a file, not its path, decides whether it is one of ours; this protects every input: job,
//! includes, data, scores, models. Files of an output folder look like ours too, so their names are
//! refused.

use std::path::{Path, PathBuf};

use crate::cli::args::ExportTarget;
use crate::error::{Error, Result};
use crate::exec::files;

use crate::folder::read::is_output_folder;
use crate::proof::pack::GUIDE;

/// What is to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OwnedFile {
    /// The summary line of a run.
    Summary,
    /// Log lines as JSON.
    Log,
    /// A finished folder in another form.
    Export(ExportTarget),
    /// The archive of a folder.
    Archive,
}

impl OwnedFile {
    fn noun(self) -> &'static str {
        match self {
            OwnedFile::Summary => "a summary",
            OwnedFile::Log => "a log of cfaudit",
            OwnedFile::Export(_) => "an export of this form",
            OwnedFile::Archive => "an archive of an audit",
        }
    }

    /// Whether a text begins like an earlier one of its kind.
    fn starts_alike(self, text: &[u8]) -> bool {
        let start: &[u8] = match self {
            OwnedFile::Summary => b"{\"cfaudit\":",
            OwnedFile::Log => b"{\"ts\":",
            OwnedFile::Export(ExportTarget::Junit) => {
                b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites "
            }
            OwnedFile::Export(ExportTarget::Prometheus) => b"# HELP cfaudit_",
            OwnedFile::Export(ExportTarget::ModelCard) => {
                b"{\n  \"$schema\": \"http://cyclonedx.org/schema/bom-1.6.schema.json\""
            }
            // The name of the first entry follows 30 bytes of the head of a ZIP file.
            OwnedFile::Archive => {
                let name = text.get(30..).unwrap_or_default();
                let length =
                    text.get(26..28).map_or(0, |n| usize::from(n[0]) + 256 * usize::from(n[1]));
                let name = name.get(..length).unwrap_or_default();
                return text.starts_with(b"PK\x03\x04") && name.ends_with(GUIDE.as_bytes());
            }
            OwnedFile::Export(ExportTarget::Cases) => b"row_id,model,counterfactual,",
        };
        text.starts_with(start)
    }
}

/// Bytes that are read to find out what a file holds.
const BYTES_READ: u64 = 4 << 10;

/// Names that cfaudit gives to files and folders of an output folder.
const RESERVED_NAMES: &str = "\
    manifest.json run.json summary.json job.resolved.yaml report.html annex.html tables rows \
    to-score exports logs diff.html";

/// Refuses to write to a file that holds something else, or that is one of an output folder.
///
/// # Errors
/// The file must not be written to, or cannot be read.
pub(crate) fn check(path: &Path, what: OwnedFile, folders: &[&Path]) -> Result<()> {
    let resolved = resolved(path);
    // Those of this command, which need not be there yet, and any other that the path lies in.
    let finished = resolved.ancestors().skip(1).filter(|folder| is_output_folder(folder));
    let of_command = folders.iter().map(|folder| self::resolved(folder));
    for folder in of_command.chain(finished.map(Path::to_path_buf)) {
        let first = resolved.strip_prefix(&folder).ok().and_then(|below| below.components().next());
        if first
            .is_some_and(|first| RESERVED_NAMES.split(' ').any(|name| first.as_os_str() == name))
        {
            let cause =
                format!("it is, or will be, a file of the output folder `{}`", folder.display());
            return Err(Error::operator(
                "write",
                path,
                cause,
                "name a file outside of that folder",
            ));
        }
    }
    // Pipes and terminals lose nothing.
    let is_stream = path.starts_with("/dev") || path.starts_with("/proc");
    if is_stream || !files::metadata(path).is_ok_and(|there| there.is_file()) {
        return Ok(());
    }
    let text = files::read_start(path, BYTES_READ)?;
    if text.is_empty() || what.starts_alike(&text) {
        return Ok(());
    }
    let cause = format!("the file does not hold {}, and its content would be lost", what.noun());
    Err(Error::operator("write", path, cause, "name a new file, or remove this one yourself"))
}

/// A path with links resolved, for the part that exists.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut rest = Vec::new();
    for there in path.ancestors() {
        if let Ok(there) = files::resolve(there) {
            return rest.into_iter().rev().fold(there, |path, name| path.join(name));
        }
        rest.extend(there.file_name());
    }
    path
}
