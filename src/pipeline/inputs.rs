//! What a job rests on from outside: finds the files, hashes them, and imports what is no Parquet.
//!
//! All of it is settled before the stages are planned, because a stage is stale by the content of its files: every file of rows and of
//! scores is hashed in full, at every run. A public data set is known by the pinned hashes of its members.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::data::catalog::{self, Access, DataSet, Origin};
use crate::data::import::{self, Csv};
use crate::data::source;
use crate::data::synthetic::{self, Synthetic};
use crate::error::{Fault, Result};
use crate::exec::cancel::Cancel;
use crate::pipeline::{Settings, folder, text};
use crate::spec::RowSource;
use crate::spec::check::CheckedJob;
use crate::table::manifest::InputFile;
use crate::table::ordered::{Watch, Workers};

/// File of the stage `prepare/source`.
pub const SOURCE: &str = "source.parquet";

const CONNECT: Duration = Duration::from_secs(10);
const DOWNLOAD: Duration = Duration::from_secs(300);

/// What a job rests on from outside.
#[derive(Debug)]
pub struct Input {
    /// The user's Parquet: a file, a glob or a folder. Empty where rows are imported.
    pub pattern: String,
    /// How rows that are no Parquet become Parquet.
    pub import: Option<Import>,
    /// Every file, hashed, sorted.
    pub files: Vec<InputFile>,
    /// The data set whose stand-in takes its place.
    pub stand_in: Option<String>,
}

/// How rows that are no Parquet become Parquet.
#[derive(Debug)]
pub enum Import {
    /// Text files.
    Csv {
        /// How to read them.
        csv: Csv,
        /// The columns that the job names.
        columns: Vec<String>,
        /// Their hashes.
        hashes: Vec<String>,
    },
    /// A public data set in its folder.
    Catalog {
        /// The data set.
        set: &'static DataSet,
        /// Its files, or its stand-in.
        origin: Origin,
    },
    /// Generated rows.
    Synthetic {
        /// The generator.
        params: Synthetic,
        /// The seed of the job.
        seed: u64,
    },
}

impl Import {
    /// What makes the imported file stale.
    pub fn fingerprint(&self) -> Vec<(String, String)> {
        match self {
            Import::Csv { csv, columns, hashes } => {
                vec![("csv".to_owned(), text(csv)), ("columns".to_owned(), columns.join(",")), ("files".to_owned(), hashes.join(","))]
            }
            Import::Catalog { set, origin: Origin::StandIn(_) } => vec![("stand-in".to_owned(), set.name.to_owned())],
            Import::Catalog { set, .. } => set.members.iter().map(|m| (format!("file {}", m.name), m.sha256.to_owned())).collect(),
            Import::Synthetic { params, seed } => vec![("synthetic".to_owned(), text(params)), ("run.seed".to_owned(), seed.to_string())],
        }
    }

    /// How messages call the rows.
    pub fn shown_as(&self) -> PathBuf {
        match self {
            Import::Csv { csv, .. } => PathBuf::from(&csv.path),
            Import::Catalog { set, origin: Origin::StandIn(_) } => PathBuf::from(format!("stand-in of {}", set.name)),
            Import::Catalog { set, .. } => PathBuf::from(set.name),
            Import::Synthetic { .. } => PathBuf::from("synthetic rows"),
        }
    }

    /// Writes the rows as Parquet.
    ///
    /// # Errors
    /// What is wrong with the rows, or the disk refuses.
    pub fn write(&self, path: &Path, batch_rows: usize, workers: &Workers, watch: Watch<'_>) -> Result<()> {
        match self {
            Import::Csv { csv, columns, .. } => {
                let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
                import::csv(csv, &columns, path, batch_rows, workers, watch).map(|_| ())
            }
            Import::Catalog { set, origin } => catalog::import(set, origin, path, batch_rows, workers, watch),
            Import::Synthetic { params, seed } => synthetic::generate(params, *seed, path, batch_rows, workers, watch),
        }
    }
}

impl Input {
    /// The files of scores of a model, for the rows (`set` none) or a counterfactual set.
    pub fn scores_of(&self, model: &str, set: Option<&str>) -> impl Iterator<Item = &InputFile> {
        let what = scores_what(model, set);
        self.files.iter().filter(move |f| f.what == what)
    }
}

fn scores_what(model: &str, set: Option<&str>) -> String {
    match set {
        None => format!("scores {model}"),
        Some(set) => format!("scores {model}/{set}"),
    }
}

/// The path of a counterfactual score file for a set; a slash in the set's name becomes a dot.
pub fn scores_path(pattern: &str, set: &str) -> String {
    pattern.replace("{counterfactual}", &set.replace('/', "."))
}

/// Finds and hashes everything that a job rests on; gets a public data set that is not there.
///
/// # Errors
/// A file that is absent or unreadable, a data set that cannot be had, or the run is to stop.
pub fn locate(checked: &CheckedJob, settings: &Settings, needed: &[&str], cancel: &Cancel) -> Result<Input> {
    let mut input = Input { pattern: String::new(), import: None, files: Vec::new(), stand_in: None };
    match &checked.job.data.rows {
        RowSource::Parquet(pattern) => {
            pattern.clone_into(&mut input.pattern);
            for path in source::find(pattern, Some("parquet"))? {
                input.files.push(hashed("data", &path, cancel)?);
            }
        }
        RowSource::Csv(csv) => {
            for path in source::find(&csv.path, Some("csv"))? {
                input.files.push(hashed("data", &path, cancel)?);
            }
            let hashes = input.files.iter().map(|f| f.sha256.clone()).collect();
            input.import = Some(Import::Csv { csv: csv.clone(), columns: needed.iter().map(|&c| c.to_owned()).collect(), hashes });
        }
        RowSource::Catalog(rows) => {
            let set = catalog::data_set(&rows.name)
                .ok_or_else(|| Fault::new("unknown-data-set", format!("the catalog has no data set `{}`", rows.name)))?;
            let fetch = catalog::http(CONNECT, DOWNLOAD);
            let stand_in = rows.when_unreachable == crate::spec::WhenUnreachable::StandIn;
            let access = Access { data_dir: &settings.data_dir, stand_in, fetch: &fetch };
            let check = || cancel.check();
            let origin = catalog::obtain(set, access, Watch { check: &check, progress: &|_| () })?;
            match &origin {
                Origin::StandIn(_) => input.stand_in = Some(set.name.to_owned()),
                Origin::Files(_) => input.files.extend(set.members.iter().map(|m| InputFile {
                    what: "data".to_owned(),
                    path: format!("{}/{}", set.name, m.name),
                    sha256: m.sha256.to_owned(),
                    bytes: m.bytes,
                })),
            }
            input.import = Some(Import::Catalog { set, origin });
        }
        RowSource::Synthetic(params) => input.import = Some(Import::Synthetic { params: params.clone(), seed: checked.job.run.seed.0 }),
    }
    for (name, model) in &checked.job.models {
        let Some(scores) = &model.scores else { continue };
        if let Some(path) = &scores.factual.parquet {
            input.files.push(hashed(&scores_what(name.as_str(), None), Path::new(path), cancel)?);
        }
        if let Some(file) = &scores.counterfactual {
            for set in checked.job.counterfactuals.keys() {
                let path = scores_path(&file.parquet, set.as_str());
                input.files.push(hashed(&scores_what(name.as_str(), Some(set.as_str())), Path::new(&path), cancel)?);
            }
        }
    }
    for include in &checked.includes {
        input.files.push(InputFile { sha256: include.sha256.clone(), ..hashed("include", Path::new(&include.path), cancel)? });
    }
    input.files.sort();
    Ok(input)
}

fn hashed(what: &str, path: &Path, cancel: &Cancel) -> Result<InputFile> {
    cancel.check()?;
    if !path.exists() {
        let (code, hint) = if what == "data" {
            ("missing-file", "correct `data.rows` in the job; relative paths start at the working directory")
        } else {
            ("missing-scores", "write the scores there, or correct the path in the job; relative paths start at the working directory")
        };
        return Err(Fault::new(code, format!("there is no file `{}`", path.display())).in_file(path).hint(hint).into());
    }
    let (sha256, bytes) = folder::hash_file(path)?;
    Ok(InputFile { what: what.to_owned(), path: path.to_string_lossy().into_owned(), sha256, bytes })
}
