//! The library of the ONNX runtime: its places (ORT_DYLIB_PATH, the system, a Python package), and
//! how it is loaded, once per process.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ort::environment::Environment;
use ort::logging::LogLevel;

use crate::error::{Fault, Result};
use crate::model::onnx::OnnxParams;

/// How to install the library.
const INSTALL_HINT: &str = "install the library with `pip install onnxruntime`, or name \
    its file: `ORT_DYLIB_PATH=/path/to/libonnxruntime.so`";

/// The library file of the Python package, below its `site-packages`.
const IN_PACKAGE: &str = "onnxruntime/capi/libonnxruntime*";

/// The places to try in order. A place that the user names is the only one.
pub(crate) fn libraries() -> Vec<PathBuf> {
    if let Some(named) = std::env::var_os("ORT_DYLIB_PATH").filter(|path| !path.is_empty()) {
        return vec![std::path::absolute(&named).unwrap_or_else(|_| named.into())];
    }
    let mut found = vec![
        format!("{}onnxruntime{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX)
            .into(),
    ];
    if cfg!(target_os = "linux") {
        found.push("libonnxruntime.so.1".into());
    }
    let path_in = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let pythons = path_in("PATH")
        .iter()
        .flat_map(std::env::split_paths)
        .filter(|folder| folder.join("python3").exists())
        .collect::<Vec<_>>();
    // A virtual environment, the Pythons of PATH, those of pyenv, and the package of the user or
    // the system.
    let roots = path_in("VIRTUAL_ENV")
        .into_iter()
        .chain(pythons.iter().filter_map(|bin| bin.parent().map(Path::to_path_buf)));
    let roots = roots
        .chain(path_in("HOME").map(|home| home.join(".local")))
        .chain(["/usr/local".into(), "/usr".into()]);
    let mut patterns: Vec<String> = Vec::new();
    for root in roots {
        for folder in [
            "lib/python3*/site-packages",
            "lib/python3*/dist-packages",
            "lib/python3/dist-packages",
        ] {
            patterns.push(format!(
                "{}/{folder}/{IN_PACKAGE}",
                glob::Pattern::escape(&root.to_string_lossy())
            ));
        }
    }
    if let Some(home) = path_in("HOME") {
        let home = glob::Pattern::escape(&home.to_string_lossy());
        patterns.push(format!("{home}/.pyenv/versions/*/lib/python3*/site-packages/{IN_PACKAGE}"));
    }
    for pattern in patterns {
        let files = glob::glob(&pattern).into_iter().flatten().flatten();
        // The libraries of its execution providers are in the same folder.
        let files = files.filter(|file| !file.to_string_lossy().contains("providers"));
        found.extend(files.map(|file| std::path::absolute(&file).unwrap_or(file)));
    }
    found
}

/// The loaded library: it allows one environment per process, for all models.
static LOADED: Mutex<Option<Environment>> = Mutex::new(None);

/// The loaded library.
///
/// # Errors
/// As [`load_library`].
pub(super) fn environment(libraries: &[PathBuf], params: &OnnxParams) -> Result<Environment> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    match &*loaded {
        Some(environment) => Ok(environment.clone()),
        None => Ok(loaded.insert(load_library(libraries, params)?).clone()),
    }
}

/// Loads the library from the first place where loading succeeds.
///
/// If only one place was given, the error names its cause.
pub(super) fn load_library(libraries: &[PathBuf], params: &OnnxParams) -> Result<Environment> {
    let fault = |what: String| Fault::new("no-runtime", what).in_file(&params.path);
    let mut tried = Vec::new();
    for library in libraries {
        match ort::init_from(library) {
            Ok(builder) => {
                let environment = builder.with_name("cfaudit").with_telemetry(false).build();
                let environment = environment.map_err(|e| {
                    fault(format!("the ONNX runtime does not start: {}", first_line(&e)))
                })?;
                // Its warnings would mix with the lines of this program.
                environment.set_log_level(LogLevel::Error);
                return Ok(environment);
            }
            Err(e) => tried.push(first_line(&e)),
        }
    }
    let what = match tried.as_slice() {
        [one] => format!("the ONNX runtime cannot be loaded: {one}"),
        _ => "the library of the ONNX runtime, version 1.18 or newer, was not found".to_owned(),
    };
    fault(what).fail(INSTALL_HINT)
}

pub(super) fn first_line(error: &impl std::fmt::Display) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
