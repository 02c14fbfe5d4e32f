//! What the tests of several modules share: where results of independent implementations are found.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;

/// A file or folder of expected results or public data below `$CFAUDIT_SHARED`, or `../shared`; none, with a visible line, where it is
/// absent.
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("CFAUDIT_SHARED").map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let path = root.join(path);
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

pub(crate) fn json(path: impl AsRef<Path>) -> Json {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}
