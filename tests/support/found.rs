//! Where tests find expected values and public data, and how they say what they skip. One file for
//! the unit tests (`src/tests.rs`) and the integration tests (`tests/it/work.rs`).

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file or folder below `tests/expected`, which holds no row of a real data set.
#[track_caller]
pub(crate) fn expected(below: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected").join(below);
    assert!(path.exists(), "{} is not there", path.display());
    path
}

/// A file or folder of public data, or of expected values that depend on their rows, below
/// `$CFAUDIT_SHARED`, else `../shared`. None where it is absent, and the test is skipped; with
/// `CI=true` the test fails instead.
#[track_caller]
pub(crate) fn shared(below: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared =
        std::env::var_os("CFAUDIT_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
    if let Ok(path) = shared.join(below).canonicalize() {
        return Some(path);
    }
    let why = format!("there is no {below} in $CFAUDIT_SHARED or ../shared");
    assert!(
        std::env::var_os("CI").is_none_or(|ci| ci != "true"),
        "{why}, and with CI=true that is a failure"
    );
    skip(&why);
    None
}

/// Says that the test, or a part of it, does not run, and adds a line to `skipped.txt` in the
/// target folder, which `make test` counts: reason, tab, test.
pub(crate) fn skip(why: &str) {
    eprintln!("skipped: {why}");
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(target).join("skipped.txt");
    let test = std::thread::current().name().unwrap_or("a thread of a test").to_owned();
    // One write at the end of the file: lines of threads and processes do not mix.
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&file)
        .and_then(|mut f| f.write_all(format!("{why}\t{test}\n").as_bytes()));
    written.unwrap_or_else(|e| panic!("{}: {e}", file.display()));
}
