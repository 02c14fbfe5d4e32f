//! What a job reads from outside: finds the files, hashes them, and imports what is not Parquet.
//!
//! All of this happens before the stages are planned, because the content of its files decides
//! whether a stage is stale: every file of rows, of scores and of commands is known by its hash,
//! which is computed on all threads unless the cache remembers it ([`digest`]). A public data set
//! is known by the pinned hashes of its members. Which score files are not there yet is also
//! determined here: a stage never finds out half-way that it has to wait.

pub(crate) mod answer;
pub(crate) mod copied_rows;
pub(crate) mod digest;
mod model_files;
pub(crate) mod request;
pub(crate) mod score_files;
pub(crate) mod stamp;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use crate::counterfactual::graph_uncertain::knobs::GraphUncertainBlock;
use crate::counterfactual::plan::ExternalSource;
use crate::data::column::declared::DeclaredColumns;
use crate::data::source::ParquetSource;
use crate::data::source::catalog::download::{self, DataSetAccess};
use crate::data::source::catalog::{self, DataSetFile, DataSetOrigin, FileVersion, PublicDataSet};
use crate::data::source::csv_import::{self, CsvBlock};
use crate::data::source::file_list::find_listed;
use crate::data::source::found_files::{FoundFiles, check_regular, find_arrived, find_files};
use crate::data::source::synthetic::{self, SyntheticBlock};
use crate::error::{Error, Fault, FilePlace, Result};
use crate::exec::cancel::CancelFlag;
use crate::exec::event::{COUNTED_ONCE, Event};
use crate::exec::hash::hash_parts;
use crate::exec::pieces::{RowBatching, StageWatch, WorkerPool};
use crate::exec::{files, object};
use crate::folder::manifest::InputFile;
use crate::job::check::CheckedJob;
use crate::job::{self, CatalogRows, CommandBlock, ParquetRows, RowSource};
use crate::model::kind::python::PythonBlock;
use crate::param::CommandArgument;
use crate::stage::applied_set::key_text;
use crate::stage::input::copied_rows::{ASKED_ROWS, CopiedRows, no_stream};
use crate::stage::input::digest::InputDigests;
use crate::stage::input::model_files::{module_file, quoted_files, weight_files_of};
use crate::stage::input::score_files::{AwaitedFile, ScoresPresence};
use crate::stage::input::stamp::FileStamp;
use crate::stage::memory;
use crate::stage::settings::RunSettings;

/// File of the stage `source`.
pub(crate) const SOURCE: &str = "source.parquet";

/// What the manifest calls the files that hold the rows.
pub(crate) const DATA: &str = "data";

/// Folders inside a watched folder.
const DEPTH: usize = 32;

/// What the manifest calls the files of rows that strategies learn from.
pub(crate) const REFERENCE: &str = "reference";

const CONNECT: Duration = Duration::from_secs(10);
const DOWNLOAD: Duration = Duration::from_secs(300);

/// The hash of a file of scores: its own, or that of the hashes of its parts.
pub(crate) fn hash_of_scores(parts: &[&InputFile]) -> String {
    match parts {
        [one] => one.identity(),
        _ => hash_parts(parts.iter().map(|part| part.identity())),
    }
}

/// What a job depends on from outside.
#[derive(Debug, Default)]
pub(crate) struct JobInputs {
    /// The user's files of Parquet. Empty where rows are imported.
    pub row_files: Vec<PathBuf>,
    /// Where these are a copy of a stream, what messages call it, and the number of its first row.
    copied: Option<(String, u64)>,
    /// How rows that are not Parquet become Parquet.
    pub import: Option<RowImport>,
    /// Every file, hashed, sorted.
    pub files: Vec<InputFile>,
    /// The stamps of those that stages read, from when they were hashed.
    pub stamps: Vec<FileStamp>,
    /// What the cache is to remember of them.
    pub(crate) digests: InputDigests,
    /// The data set that its stand-in replaces.
    pub stand_in: Option<String>,
    /// The files of scores that are not there yet, in the order of models and sets.
    pub awaited: Vec<AwaitedFile>,
    /// In words, the signs that the existing ones may still be written.
    pub unfinished: Vec<(String, String)>,
    /// The public data set that a run would download first; none once it was got.
    pub to_download: Option<&'static str>,
    /// Other names of files of rows, through links, and the names by which they are read.
    pub repeated: Vec<(PathBuf, PathBuf)>,
    /// Files that a program names and that it does not watch: its path in the job, and the file.
    pub unwatched: Vec<(String, String)>,
}

/// What to do about a public data set that is not in the data folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AbsentDataSet {
    /// Download it, or use its stand-in.
    Download,
    /// Assume that it can be downloaded; [`JobInputs::to_download`] names it.
    AssumeAvailable,
}

/// How rows that are not Parquet become Parquet.
#[derive(Debug)]
pub(crate) enum RowImport {
    /// Text files.
    Csv {
        /// How to read them.
        csv: CsvBlock,
        /// Their hashes.
        hashes: Vec<String>,
    },
    /// A public data set in its folder.
    Catalog {
        /// The data set.
        set: &'static PublicDataSet,
        /// Its files, or its stand-in.
        origin: DataSetOrigin,
    },
    /// Generated rows.
    Synthetic {
        /// The generator.
        params: SyntheticBlock,
        /// The seed of the job.
        seed: u64,
    },
}

impl RowImport {
    /// What makes the imported file stale, given the columns that are read.
    pub(crate) fn fingerprint(
        &self,
        columns: &[&str],
        declared: &DeclaredColumns,
    ) -> Result<Vec<(String, String)>> {
        Ok(match self {
            RowImport::Csv { csv, hashes } => {
                vec![
                    ("csv".to_owned(), key_text(csv)?),
                    ("columns".to_owned(), columns.join(",")),
                    ("types".to_owned(), key_text(declared)?),
                    ("files".to_owned(), hashes.join(",")),
                ]
            }
            RowImport::Catalog { set, origin: DataSetOrigin::StandIn(_) } => {
                vec![("stand-in".to_owned(), set.name.to_owned())]
            }
            RowImport::Catalog { set, origin: DataSetOrigin::Files(found) } => {
                let file = |(member, form): (&DataSetFile, &&FileVersion)| {
                    (format!("file {}", member.name), form.sha256.to_owned())
                };
                set.members.iter().zip(&found.versions).map(file).collect()
            }
            RowImport::Synthetic { params, seed } => vec![
                ("synthetic".to_owned(), key_text(params)?),
                ("run.seed".to_owned(), seed.to_string()),
            ],
        })
    }

    /// How messages call the rows.
    pub(crate) fn display_path(&self) -> PathBuf {
        match self {
            RowImport::Csv { csv, .. } => PathBuf::from(&csv.path),
            RowImport::Catalog { set, origin: DataSetOrigin::StandIn(_) } => {
                PathBuf::from(format!("stand-in of {}", set.name))
            }
            RowImport::Catalog { set, .. } => PathBuf::from(set.name),
            RowImport::Synthetic { .. } => PathBuf::from("synthetic rows"),
        }
    }

    /// Writes the rows as Parquet; of text files only these columns.
    ///
    /// # Errors
    /// What is wrong with the rows, or the disk refuses.
    pub(crate) fn write(
        &self,
        columns: (&[&str], &DeclaredColumns),
        path: &Path,
        batching: RowBatching<'_>,
    ) -> Result<()> {
        match self {
            RowImport::Csv { csv, .. } => {
                csv_import::import_csv(csv, columns, path, batching).map(|_| ())
            }
            RowImport::Catalog { set, origin } => catalog::import(set, origin, path, batching),
            RowImport::Synthetic { params, seed } => {
                synthetic::generate(params, *seed, path, batching)
            }
        }
    }
}

impl JobInputs {
    /// What is reported of the files before anything is read from them.
    pub(crate) fn file_events(&self) -> Vec<Event> {
        let remark = |code: &str, path: String, text: String| Event::Problem {
            code: code.to_owned(),
            path,
            line: None,
            text,
        };
        let unfinished = self.unfinished.iter();
        let unfinished =
            unfinished.map(|(left, text)| remark("half-written", left.clone(), text.clone()));
        let repeated = self.repeated.iter().map(|(path, read)| {
            let text = format!(
                "`{}` leads to `{}`, whose rows count once",
                path.display(),
                read.display()
            );
            remark(COUNTED_ONCE, path.display().to_string(), text)
        });
        unfinished.chain(repeated).collect()
    }

    /// Opens the rows where they are Parquet.
    ///
    /// # Errors
    /// A file is damaged, or lacks one of the columns.
    pub(crate) fn open_rows(
        &self,
        columns: &[&str],
        declared: &DeclaredColumns,
    ) -> Result<ParquetSource> {
        match (&self.copied, self.row_files.as_slice()) {
            (Some((name, first_row)), [copy]) => {
                let source = ParquetSource::imported(copy, Path::new(name), columns, declared)?;
                Ok(source.starting_at(*first_row))
            }
            (_, files) => ParquetSource::files_of(files, columns, declared),
        }
    }

    /// Fails where a file is no longer the one that was hashed.
    ///
    /// # Errors
    /// A file was replaced, written to or taken away.
    pub(crate) fn unchanged(&self) -> Result<()> {
        self.stamps.iter().try_for_each(FileStamp::check)
    }

    /// The files of rows with what distinguishes their versions where their hashes are not known
    /// yet.
    pub(crate) fn versions_of_rows(&self) -> impl Iterator<Item = (&InputFile, String)> {
        self.of(DATA).map(|file| {
            let mut stamps = self.stamps.iter();
            let stamp = stamps.find(|stamp| stamp.path == Path::new(&file.path));
            (file, stamp.map_or_else(|| file.identity(), FileStamp::version))
        })
    }

    /// The file of scores of a model, for the rows (`set` none) or a counterfactual set: itself, or
    /// its parts in their order; nothing where it is awaited.
    pub(crate) fn scores_of(&self, model: &str, set: Option<&str>) -> Vec<&InputFile> {
        self.of(&scores_what(model, set)).collect()
    }

    /// The files that the manifest calls so.
    pub(crate) fn of(&self, what: &str) -> impl Iterator<Item = &InputFile> {
        self.files.iter().filter(move |file| file.what == what)
    }

    /// Whether a file of scores is not there yet.
    pub(crate) fn awaits(&self, model: &str, set: Option<&str>) -> bool {
        self.awaited.iter().any(|file| file.model == model && file.set.as_deref() == set)
    }
}

/// What the manifest calls the files of a side table.
pub(crate) fn join_what(name: &str) -> String {
    format!("join {name}")
}

/// What the manifest calls the files of an external set.
pub(crate) fn external_what(set: &str) -> String {
    format!("counterfactuals {set}")
}

/// What the manifest calls the file of the graphs of a set.
pub(crate) fn graphs_what(set: &str) -> String {
    format!("graphs {set}")
}

/// What messages call a file of a model of this kind.
pub(crate) fn model_what(kind: &str, model: &str) -> String {
    format!("{kind} {model}")
}

fn scores_what(model: &str, set: Option<&str>) -> String {
    match set {
        None => format!("scores {model}"),
        Some(set) => format!("scores {model}/{set}"),
    }
}

/// Whether a file grows with the rows: workers of a plan in shards hash it, not the plan.
pub(crate) fn grows_with_rows(what: &str) -> bool {
    what == DATA || what.starts_with("scores ")
}

/// An existing file that is to be hashed.
struct FoundInput {
    what: String,
    path: PathBuf,
    /// Where the job names it.
    place: Option<FilePlace>,
}

/// What is found on the way to [`JobInputs`].
struct InputSearch<'c> {
    input: JobInputs,
    to_hash: Vec<FoundInput>,
    checked: &'c CheckedJob,
    cancel: &'c CancelFlag,
}

impl<'c> InputSearch<'c> {
    /// Where a key of the job is written.
    fn place(&self, keys: &[&str]) -> Option<&'c FilePlace> {
        self.checked.places.at(&job::check::path(keys))
    }

    /// Adds a file that stages read, named at this place of the job.
    fn add(&mut self, what: &str, path: &Path, place: Option<&FilePlace>) -> Result<()> {
        self.cancel.check()?;
        if object::is_address(path) {
            if object::version(path)?.is_none() {
                return Err(Error::from(object::absent(path)).asked_at(place));
            }
        } else if !path.exists() {
            let text = format!("there is no file `{}`", path.display());
            let fault = Fault::new("missing-file", text)
                .in_file(path)
                .hint("correct the path; relative paths are relative to the working directory");
            return Err(Error::from(fault).asked_at(place));
        } else {
            check_regular(path).map_err(|error| error.asked_at(place))?;
        }
        let (what, path) = (what.to_owned(), path.to_path_buf());
        self.to_hash.push(FoundInput { what, path, place: place.cloned() });
        Ok(())
    }

    /// Adds files of rows that were looked for because of this place of the job.
    fn arrived(
        &mut self,
        what: &str,
        found: Result<FoundFiles>,
        place: Option<&FilePlace>,
    ) -> Result<()> {
        self.add_rows(what, found.map_err(|error| error.asked_at(place))?, None)
    }

    /// Adds files of rows.
    fn add_rows(&mut self, what: &str, found: FoundFiles, place: Option<&FilePlace>) -> Result<()> {
        self.input.repeated.extend(found.repeated);
        found.files.iter().try_for_each(|path| self.add(what, path, place))
    }

    /// Adds the files that patterns of the job represent, each at its path in the job.
    fn watched<'p>(
        &mut self,
        what: &str,
        patterns: impl IntoIterator<Item = (String, &'p String)>,
    ) -> Result<BTreeSet<PathBuf>> {
        let mut files: BTreeMap<PathBuf, Option<&FilePlace>> = BTreeMap::new();
        for (at, pattern) in patterns {
            let place = self.checked.places.at(&at);
            let found = files_at(pattern).map_err(|error| error.asked_at(place))?;
            files.extend(found.into_iter().map(|file| (file, place)));
        }
        files.iter().try_for_each(|(file, place)| self.add(what, file, *place))?;
        Ok(files.into_keys().collect())
    }

    /// Notes files that a program at this path of the job names and that it does not watch.
    fn unwatched(&mut self, at: &str, arguments: &[CommandArgument], watched: &BTreeSet<PathBuf>) {
        for (i, argument) in arguments.iter().enumerate() {
            // The program itself counts where it lies in this project, not where the system keeps
            // it.
            let path = Path::new(&argument.0);
            let looked_up = i == 0 && (path.is_absolute() || !argument.0.contains('/'));
            let unwatched = &mut self.input.unwatched;
            let known = unwatched.iter().any(|(of, file)| of == at && *file == argument.0);
            if !looked_up
                && !known
                && path.is_file()
                && !watched.iter().any(|file| same_path(file, path))
            {
                unwatched.push((at.to_owned(), argument.0.clone()));
            }
        }
    }

    /// Adds the files of scores that are there, and notes the others.
    fn scores(&mut self) -> Result<()> {
        for mut file in score_files::score_files(&self.checked.job) {
            let key = if file.set.is_some() { "counterfactual" } else { "factual" };
            let place = self.place(&["models", &file.model, "scores", key]);
            let what = scores_what(&file.model, file.set.as_deref());
            match score_files::look(&file.path).map_err(|error| error.asked_at(place))? {
                ScoresPresence::There(found) => self.add_rows(&what, found, place)?,
                ScoresPresence::Unfinished(left, text) => {
                    let told = (left.to_string_lossy().into_owned(), text);
                    if !self.input.unfinished.contains(&told) {
                        self.input.unfinished.push(told);
                    }
                    self.input.awaited.push(file);
                }
                ScoresPresence::Awaited(missing) => {
                    file.path = missing.to_string_lossy().into_owned();
                    self.input.awaited.push(file);
                }
            }
        }
        Ok(())
    }

    /// Hashes the files on all threads, each once however often it is named.
    fn hash(mut self, workers: &WorkerPool) -> Result<JobInputs> {
        let (mut first, mut positions) = (Vec::new(), BTreeMap::new());
        for file in &self.to_hash {
            positions.entry(&file.path).or_insert_with(|| {
                first.push(file);
                first.len() - 1
            });
        }
        let (known, mut hashed) = (&self.input.digests, Vec::new());
        known.check_planned(first.iter().map(|file| file.path.as_path()))?;
        workers.map(
            first.len(),
            |i| {
                let FoundInput { what, path, place }: &FoundInput = first[i];
                known
                    .of(path, grows_with_rows(what), self.cancel)
                    .map_err(|error| error.asked_at(place.as_ref()))
            },
            |_, digest| {
                hashed.push(digest);
                Ok(())
            },
        )?;
        for file in &self.to_hash {
            let digest = &hashed[positions[&file.path]];
            self.input.files.push(InputFile {
                what: file.what.clone(),
                path: file.path.to_string_lossy().into_owned(),
                sha256: digest.sha256.clone(),
                etag: digest.stamp.etag().map(str::to_owned),
                bytes: digest.stamp.bytes(),
            });
        }
        for digest in hashed {
            self.input.stamps.push(self.input.digests.take(digest));
        }
        Ok(self.input)
    }
}

/// Finds and hashes everything that a job depends on; gets a public data set that is not there, if
/// it is to. Hashes that `digests` remembers are not computed. `copy` holds the rows of a
/// stream, where a program was asked for them or an engine passed them on.
///
/// # Errors
/// A file that is absent or unreadable (score files may be absent), a data set that cannot be had,
/// or the run is to stop.
pub(crate) fn locate(
    checked: &CheckedJob,
    settings: &RunSettings,
    (absent, copy): (AbsentDataSet, Option<&CopiedRows>),
    (digests, workers): (InputDigests, &WorkerPool),
    cancel: &CancelFlag,
) -> Result<JobInputs> {
    let input = JobInputs { digests, ..JobInputs::default() };
    object::prepare(cancel, memory::allowed(settings), workers.threads());
    let mut search = InputSearch { input, to_hash: Vec::new(), checked, cancel };
    let rows = &checked.job.data.rows;
    let place = checked.places.at("data.rows");
    match rows.source() {
        Some(RowSource::Parquet(files)) => {
            let found = match files {
                ParquetRows::Pattern(pattern) => find_arrived(pattern, "parquet", rows.arrival()),
                ParquetRows::List(list) => find_listed(&list.files, rows.arrival())
                    .map_err(|e| e.asked_at(checked.places.at("data.rows.parquet.files"))),
            };
            search.arrived(DATA, found, place)?;
            let found = search.to_hash.iter().map(|file| file.path.clone());
            search.input.row_files.extend(found);
        }
        Some(RowSource::Csv(csv)) => {
            search.arrived(DATA, find_arrived(&csv.path, "csv", rows.arrival()), place)?
        }
        Some(RowSource::Catalog(rows)) => {
            locate_data_set(&mut search.input, rows, settings, absent, cancel)?
        }
        Some(RowSource::Synthetic(params)) => {
            search.input.import =
                Some(RowImport::Synthetic { params: params.clone(), seed: checked.job.run.seed.0 })
        }
        Some(RowSource::Command(_)) => {
            search.input.copied = Some((ASKED_ROWS.to_owned(), 0));
            search.input.row_files.extend(copy.map(|copy| copy.path.clone()));
            copy.map_or(Ok(()), |copy| search.add(DATA, &copy.path, None))?;
        }
        Some(RowSource::Stream(name)) => {
            let CopiedRows { path, first_row } = copy.ok_or_else(|| no_stream(checked))?;
            search.input.files.push(InputFile {
                what: DATA.to_owned(),
                path: name.to_owned(),
                sha256: search.input.digests.stream_hash(name),
                etag: None,
                // Only the engine knows how it stores them.
                bytes: 0,
            });
            search.input.row_files.push(path.clone());
            search.input.copied = Some((name.to_owned(), *first_row));
        }
        // A checked job has a source.
        None => {}
    }
    for (name, join) in &checked.job.data.join {
        let (pattern, key, extension) = match (&join.parquet, &join.csv) {
            (Some(pattern), _) => (pattern, "parquet", "parquet"),
            (None, Some(csv)) => (&csv.path, "csv", "csv"),
            (None, None) => continue,
        };
        let place = search.place(&["data", "join", name.as_str(), key]);
        let found = find_arrived(pattern, extension, join.arrival());
        search.arrived(&join_what(name.as_str()), found, place)?;
    }
    if let Some(reference) = &checked.job.data.reference {
        let place = checked.places.at("data.reference.parquet");
        let found = find_arrived(&reference.parquet, "parquet", reference.arrival());
        search.arrived(REFERENCE, found, place)?;
    }
    for (name, set) in &checked.job.counterfactuals {
        let (name, what) = (name.as_str(), external_what(name.as_str()));
        match set.knobs().and_then(|knobs| knobs.external()) {
            Some(ExternalSource::File(file)) => {
                let place = search.place(&["counterfactuals", name, "external", "parquet"]);
                search.add(&what, Path::new(file), place)?
            }
            Some(ExternalSource::Program(program)) => {
                let at = job::check::path(&["counterfactuals", name, "external", "command"]);
                let watched = (0..).zip(&program.watch);
                let watched = watched.map(|(i, pattern)| (format!("{at}.watch[{i}]"), pattern));
                let files = search.watched(&what, watched)?;
                search.unwatched(&at, &program.run, &files);
            }
            None => {}
        }
    }
    for (name, set) in &checked.job.counterfactuals {
        let Some(file) = set.graphs().and_then(GraphUncertainBlock::bag) else { continue };
        let (name, word) = (name.as_str(), GraphUncertainBlock::WORD);
        let place = search.place(&["counterfactuals", name, word, "discovery", "bag"]);
        search.add(&graphs_what(name), Path::new(file), place)?;
    }
    search.scores()?;
    for (name, model) in &checked.job.models {
        let name = name.as_str();
        if let Some(onnx) = &model.onnx {
            let place = search.place(&["models", name, "onnx", "model"]);
            let (what, model) = (model_what("onnx", name), Path::new(&onnx.model));
            search.add(&what, model, place)?;
            let weights = weight_files_of(model).map_err(|error| error.asked_at(place))?;
            weights.iter().try_for_each(|file| search.add(&what, file, place))?;
        }
        if let Some(lightgbm) = &model.lightgbm {
            let place = search.place(&["models", name, "lightgbm", "file"]);
            search.add(&model_what("lightgbm", name), Path::new(&lightgbm.file), place)?;
        }
        for kind in model.kinds() {
            if let Some(program) = kind.external(None).and_then(|model| model.program) {
                locate_command(&mut search, (name, kind.key()), &program.command)?;
            }
        }
        if let Some(module) = model.python.as_ref().and_then(PythonBlock::module) {
            let place = search.place(&["models", name, "python", "call"]);
            let file = module_file(module).map_err(|error| error.asked_at(place))?;
            let what = model_what("python", name);
            search.add(&what, &file, place)?;
            let is_known = |path: &PathBuf| search.to_hash.iter().any(|of| of.path == *path);
            let quoted = quoted_files(&file).map_err(|error| error.asked_at(place))?;
            let quoted: Vec<_> = quoted.into_iter().filter(|path| !is_known(path)).collect();
            quoted.iter().try_for_each(|path| search.add(&what, path, place))?;
        }
    }
    let mut input = search.hash(workers)?;
    if rows.command.is_some() {
        // The copy has the name of its cache.
        let rows = input.files.iter_mut().filter(|file| file.what == DATA);
        rows.for_each(|file| file.path = ASKED_ROWS.to_owned());
    }
    if let Some(csv) = &checked.job.data.rows.csv {
        let hashes = input.of(DATA).map(|file| file.sha256.clone()).collect();
        input.import = Some(RowImport::Csv { csv: csv.clone(), hashes });
    }
    for include in &checked.includes {
        input.files.push(InputFile {
            what: "include".to_owned(),
            path: include.path.clone(),
            sha256: include.sha256.clone(),
            etag: None,
            bytes: files::metadata(Path::new(&include.path))?.len(),
        });
    }
    input.files.sort();
    Ok(input)
}

/// The files of a public data set, got first where they are to be.
fn locate_data_set(
    input: &mut JobInputs,
    rows: &CatalogRows,
    settings: &RunSettings,
    absent: AbsentDataSet,
    cancel: &CancelFlag,
) -> Result<()> {
    let set = catalog::data_set(&rows.name).ok_or_else(|| {
        Fault::new("unknown-data-set", format!("the catalog has no data set `{}`", rows.name))
    })?;
    let origin = match absent {
        AbsentDataSet::AssumeAvailable => {
            let (files, whole) = download::find_in_folder(set, &settings.data_dir)?;
            input.to_download = (!whole).then_some(set.name);
            DataSetOrigin::Files(files)
        }
        AbsentDataSet::Download => {
            let fetch = download::http(CONNECT, DOWNLOAD);
            let stand_in = rows.when_unreachable == crate::job::WhenUnreachable::StandIn;
            let access = DataSetAccess { data_dir: &settings.data_dir, stand_in, fetch: &fetch };
            let check = || cancel.check();
            download::obtain(set, access, StageWatch { check: &check, progress: &|_| () })?
        }
    };
    match &origin {
        DataSetOrigin::StandIn(_) => input.stand_in = Some(set.name.to_owned()),
        DataSetOrigin::Files(found) => {
            for (member, form) in set.members.iter().zip(&found.versions) {
                let path = format!("{}/{}", set.name, member.name);
                if input.to_download.is_none() {
                    input.stamps.push(FileStamp::of(&settings.data_dir.join(&path))?);
                }
                let (sha256, bytes) = (form.sha256.to_owned(), form.bytes);
                let what = DATA.to_owned();
                input.files.push(InputFile { what, path, sha256, etag: None, bytes });
            }
        }
    }
    input.import = Some(RowImport::Catalog { set, origin });
    Ok(())
}

/// The files of a command: those under `watch`, and its model.
fn locate_command(
    search: &mut InputSearch<'_>,
    (name, kind): (&str, &str),
    command: &CommandBlock,
) -> Result<()> {
    let at = job::check::path(&["models", name, kind]);
    let watched =
        command.watch.iter().enumerate().map(|(i, pattern)| (format!("{at}.watch[{i}]"), pattern));
    let of_model = command.model.iter().map(|model| {
        let key = if kind == "python" { "pickle" } else { "model" };
        (format!("{at}.{key}"), model)
    });
    let files = search.watched(&model_what(kind, name), watched.chain(of_model))?;
    if kind == "command" {
        for arguments in [Some(&command.score), command.train.as_ref()].into_iter().flatten() {
            search.unwatched(&at, arguments, &files);
        }
    }
    Ok(())
}

/// Whether two relative paths are the same but for `.` in them.
fn same_path(a: &Path, b: &Path) -> bool {
    let leads = |part: &Component<'_>| *part != Component::CurDir;
    a.components().filter(leads).eq(b.components().filter(leads))
}

/// The files that a path, a glob or a folder represents. In folders, names that begin with `.` and
/// what Python compiled are left out.
fn files_at(pattern: &str) -> Result<Vec<PathBuf>> {
    if !Path::new(pattern).is_dir() {
        return find_files(pattern, None);
    }
    let mut found = Vec::new();
    let mut folders = vec![(PathBuf::from(pattern), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for path in files::list(&folder)? {
            let name = path.file_name().unwrap_or_default();
            let hidden = name.to_string_lossy().starts_with('.') || name == "__pycache__";
            match path {
                _ if hidden => {}
                path if path.is_dir() && depth < DEPTH => folders.push((path, depth + 1)),
                path if path.is_dir() => {}
                path => found.push(path),
            }
        }
    }
    if found.is_empty() {
        let what = format!("the folder `{pattern}` holds no file");
        return Fault::new("missing-file", what)
            .in_file(pattern)
            .fail("a folder is watched through its files; correct its path");
    }
    Ok(found)
}
