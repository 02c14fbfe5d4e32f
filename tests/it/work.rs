//! A separate folder for each test, the program run in it, and ways to read what it wrote.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, RecordBatch,
    StringArray, UInt64Array,
};
use arrow::util::display::array_value_to_string;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::batches::write;
use crate::frame::{TableFrame, read_frame, read_whole};

#[path = "../support/bad_jobs.rs"]
mod bad_jobs;
#[path = "../support/found.rs"]
mod found;
#[path = "../support/says.rs"]
mod says;

pub(crate) use bad_jobs::{each_bad_job, patched};
pub(crate) use found::{expected, shared, skip};
pub(crate) use says::Says;

/// Whether a Python can import these modules.
pub(crate) fn can_import(python: &str, modules: &str) -> bool {
    let mut asked = Command::new(python);
    asked.args(["-c", &format!("import {modules}")]).stderr(Stdio::null());
    asked.status().is_ok_and(|status| status.success())
}

/// Whether the `python3` that shipped jobs call can import these modules; says so where it cannot.
pub(crate) fn python3_imports(modules: &str) -> bool {
    let can = can_import("python3", modules);
    if !can {
        skip(&format!("python3 cannot import {modules}"));
    }
    can
}

/// The tree of this crate.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A temporary working folder.
pub(crate) struct Work(TempDir);

impl Work {
    pub(crate) fn new() -> Self {
        Work(tempfile::tempdir().unwrap())
    }

    /// A working folder with a copy of the shipped jobs in `jobs/`.
    pub(crate) fn with_jobs() -> Self {
        let work = Work::new();
        for folder in ["jobs", "jobs/base"] {
            fs::create_dir(work.path(folder)).unwrap();
            for job in yaml_files(folder) {
                fs::copy(&job, work.path(folder).join(job.file_name().unwrap())).unwrap();
            }
        }
        work
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    pub(crate) fn read(&self, below: &str) -> String {
        let path = self.path(below);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// A table that a run wrote, by its name below `out`, or with the folder of another run.
    #[track_caller]
    pub(crate) fn table(&self, name: &str) -> TableFrame {
        let (folder, name) = self.place_of_table(name);
        read_frame(&folder, name)
    }

    /// The same of `metrics` with the values of the supported people, too.
    #[track_caller]
    pub(crate) fn whole_table(&self, name: &str) -> TableFrame {
        let (folder, name) = self.place_of_table(name);
        read_whole(&folder, name)
    }

    fn place_of_table<'a>(&self, name: &'a str) -> (PathBuf, &'a str) {
        let (folder, name) = name.rsplit_once('/').unwrap_or(("out", name));
        let folders = ["tables", "rows", ""].map(|kind| self.path(folder).join(kind));
        let has = |folder: &&PathBuf| folder.join(format!("{name}.parquet")).exists();
        (folders.iter().find(has).unwrap_or(&folders[0]).clone(), name)
    }

    pub(crate) fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a file as another one with parts of the text replaced, each of which it has.
    #[track_caller]
    pub(crate) fn edit(&self, from: &str, to: &str, parts: &[(&str, &str)]) {
        let text = parts.iter().fold(self.read(from), |text, (old, new)| {
            assert!(text.contains(old), "no `{old}` in\n{text}");
            text.replace(old, new)
        });
        self.write(to, &text);
    }

    /// Writes `job.yaml`: a job of `tests/jobs` after the steps of a patch, with more behind it.
    #[track_caller]
    pub(crate) fn job(&self, base: &str, steps: &str, more: &str) {
        self.write("job.yaml", &(job_of(base, steps) + more));
    }

    /// Writes a Parquet file of these columns.
    pub(crate) fn parquet(&self, below: &str, columns: Vec<(&str, ArrayRef)>) {
        write(&self.path(below), &batch(columns));
    }

    /// Writes a text file of these columns; a missing value is the empty field, and one with a
    /// comma is in quotes.
    pub(crate) fn csv(&self, below: &str, columns: Vec<(&str, ArrayRef)>) {
        let mut text = columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(",") + "\n";
        let field = |array: &ArrayRef, row: usize| match array_value_to_string(array, row).unwrap()
        {
            field if field.contains(',') => format!("\"{field}\""),
            field => field,
        };
        for row in 0..columns[0].1.len() {
            let fields: Vec<String> = columns.iter().map(|(_, array)| field(array, row)).collect();
            text += &(fields.join(",") + "\n");
        }
        self.write(below, &text);
    }

    /// The program in this folder, with arguments separated by blanks.
    pub(crate) fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cfaudit"));
        for name in ["THREADS", "MEMORY", "CACHE", "LOG", "DATA"] {
            command.env_remove(format!("CFAUDIT_{name}"));
        }
        command.current_dir(self.0.path()).stdin(Stdio::null()).args(args.split_whitespace());
        command
    }

    /// Runs the program to its end and asserts its exit status.
    #[track_caller]
    pub(crate) fn cfaudit(&self, status: i32, args: &str) -> Ran {
        let ran = Ran::of(&mut self.command(args), status);
        if args.starts_with("check ") && !args.contains("--json") {
            ran.every_warning_has_a_line();
        }
        ran
    }

    /// Runs a job into `out` with the cache in `cache`.
    #[track_caller]
    pub(crate) fn run(&self, status: i32, job: &str, args: &str) -> Ran {
        self.cfaudit(status, &format!("run {job} --out out --cache cache {args}"))
    }

    /// A job gives what `out` holds, byte for byte, from scratch with these flags too, such as
    /// `--threads 3 --batch-rows 1024`.
    #[track_caller]
    pub(crate) fn same_bytes(&self, status: i32, job: &str, ways: &[&str]) {
        for flags in ways {
            let folders = ["again", "again-cache"];
            let [out, cache] = folders;
            self.cfaudit(status, &format!("run {job} --out {out} --cache {cache} {flags}"));
            assert_same(&self.results(), &results(&self.path(out)), flags);
            folders.iter().for_each(|of| fs::remove_dir_all(self.path(of)).unwrap());
        }
    }

    /// What the output folder holds but for what varies between runs.
    pub(crate) fn results(&self) -> Files {
        results(&self.path("out"))
    }

    pub(crate) fn json(&self, below: &str) -> Json {
        serde_json::from_slice(&fs::read(self.path(below)).unwrap()).unwrap()
    }
}

/// A job of `tests/jobs` after the steps of a patch.
#[track_caller]
pub(crate) fn job_of(base: &str, steps: &str) -> String {
    let text = fs::read_to_string(root().join(format!("tests/jobs/{base}.yaml"))).unwrap();
    patched(&text, steps)
}

/// Rows of these columns.
pub(crate) fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap()
}

/// A run of the program that has ended.
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    #[track_caller]
    pub(crate) fn of(command: &mut Command, status: i32) -> Self {
        let output = command.output().unwrap();
        let ran = Ran {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        assert_eq!(output.status.code(), Some(status), "{command:?}\n{}{}", ran.stderr, ran.stdout);
        ran
    }

    /// Every warning of `check` whose cause is a key of the job says where that key stands.
    #[track_caller]
    fn every_warning_has_a_line(&self) {
        let mut lines = self.stdout.lines().peekable();
        while let Some(line) = lines.next() {
            if ["warning[", "info["].iter().any(|start| line.starts_with(start)) {
                let next = lines.peek().copied().unwrap_or_default();
                assert!(next.starts_with("  --> ") && next.contains(':'), "{line}\n{next}");
            }
        }
    }

    /// The last line of stdout.
    #[track_caller]
    pub(crate) fn summary(&self) -> Json {
        serde_json::from_str(self.stdout.lines().last().unwrap()).unwrap()
    }

    #[track_caller]
    pub(crate) fn says(&self, words: &[&str]) {
        self.stderr.says(words);
    }
}

/// A run of the program that goes on, with its log as JSON lines.
pub(crate) struct Going {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStderr>>,
}

impl Going {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .args(["--log", "json"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        Going { child, lines }
    }

    /// Goes on until a log line of one of these events and this stage; false where the run ended
    /// before.
    pub(crate) fn until(&mut self, events: &[&str], stage: &str) -> bool {
        self.lines.by_ref().any(|line| {
            let line: Json = serde_json::from_str(&line.unwrap()).unwrap();
            line["stage"] == stage && events.iter().any(|event| line["event"] == *event)
        })
    }

    /// Sends a signal such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([format!("-{name}"), self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
    }

    /// Ends it at once, with no chance to tidy up.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for the end; the rest of the log.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        let rest: Vec<String> = self.lines.map_while(Result::ok).collect();
        (self.child.wait().unwrap(), rest.join("\n"))
    }
}

/// Files by their path below a folder.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// All files below a folder.
pub(crate) fn files(folder: &Path) -> Files {
    let mut found = Files::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(here) = open.pop() {
        for entry in fs::read_dir(&here).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// The files of an output folder but for what varies between runs.
pub(crate) fn results(out: &Path) -> Files {
    let mut found = files(out);
    found.retain(|name, _| name != "run.json" && !name.starts_with("logs/"));
    found
}

/// Asserts that two folders hold the same bytes, and names what differs.
#[track_caller]
pub(crate) fn assert_same(a: &Files, b: &Files, what: &str) {
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "{what}");
    let differ: Vec<&String> = a.keys().filter(|name| a[*name] != b[*name]).collect();
    assert!(differ.is_empty(), "{what}: {differ:?} differ");
}

/// SHA-256 in hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The YAML files of a folder of this tree, sorted.
pub(crate) fn yaml_files(below: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(root().join(below)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "yaml"));
    files.sort();
    files
}

/// What a column of rows may hold.
pub(crate) trait ColumnItem: Sized {
    fn collected(items: impl Iterator<Item = Self>) -> ArrayRef;
}

macro_rules! column_items {
    ($($of:ty => $array:ty),*) => {$(
        impl ColumnItem for $of {
            fn collected(items: impl Iterator<Item = Self>) -> ArrayRef {
                Arc::new(items.map(Some).collect::<$array>())
            }
        }
        impl ColumnItem for Option<$of> {
            fn collected(items: impl Iterator<Item = Self>) -> ArrayRef {
                Arc::new(items.collect::<$array>())
            }
        }
    )*};
}

column_items!(
    i64 => Int64Array, f64 => Float64Array, f32 => Float32Array, bool => BooleanArray,
    u64 => UInt64Array, &str => StringArray, String => StringArray
);

/// An Arrow column of these values; none is null.
pub(crate) fn column<T: ColumnItem>(values: impl IntoIterator<Item = T>) -> ArrayRef {
    T::collected(values.into_iter())
}

/// Rows that are made column by column, each cell from the item of its row, such as its number. A
/// column takes the place of one of its name.
#[derive(Clone)]
pub(crate) struct Rows<I> {
    items: Vec<I>,
    columns: Vec<(&'static str, ArrayRef)>,
}

impl<I: Copy> Rows<I> {
    pub(crate) fn of(items: impl IntoIterator<Item = I>) -> Self {
        Rows { items: items.into_iter().collect(), columns: Vec::new() }
    }

    /// With one more column.
    pub(crate) fn with<T: ColumnItem>(self, name: &'static str, cell: impl FnMut(I) -> T) -> Self {
        let array = column(self.items.iter().copied().map(cell));
        self.column(name, array)
    }

    /// With a column that is made already.
    pub(crate) fn column(mut self, name: &'static str, array: ArrayRef) -> Self {
        match self.columns.iter_mut().find(|(other, _)| *other == name) {
            Some(old) => old.1 = array,
            None => self.columns.push((name, array)),
        }
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.columns.retain(|(other, _)| *other != name);
        self
    }

    pub(crate) fn columns(self) -> Vec<(&'static str, ArrayRef)> {
        self.columns
    }

    /// Writes them as Parquet, or as text where the name ends so.
    pub(crate) fn write(self, work: &Work, below: &str) {
        let write = if below.ends_with(".csv") { Work::csv } else { Work::parquet };
        write(work, below, self.columns);
    }
}

/// The same of a column that is made already.
pub(crate) fn array(array: impl Array + 'static) -> ArrayRef {
    Arc::new(array)
}

/// A number in [0, 1) that looks random and is not: a fraction of a multiple of a root.
pub(crate) fn draw(i: i64, k: i32) -> f64 {
    (i as f64 * f64::from(k).sqrt()).fract()
}

/// Random numbers that are the same on every run.
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    fn bits(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.bits() >> 33) as usize % n
    }

    /// A number in [0, 1).
    pub(crate) fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The first example of a document below a heading.
pub(crate) fn documented(document: &str, heading: &str) -> String {
    let text = fs::read_to_string(root().join("docs").join(document)).unwrap();
    let (_, below) = text.split_once(heading).unwrap_or_else(|| panic!("no {heading}"));
    let (_, block) = below.split_once("```yaml\n").unwrap();
    block.split("```").next().unwrap().to_owned()
}
