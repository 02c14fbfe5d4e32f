//! The places of the ONNX runtime's library: ORT_DYLIB_PATH, the system, a Python package.

use std::path::{Path, PathBuf};

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
    let of = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let pythons = of("PATH")
        .iter()
        .flat_map(std::env::split_paths)
        .filter(|folder| folder.join("python3").exists())
        .collect::<Vec<_>>();
    // A virtual environment, the Pythons of PATH, those of pyenv, and the package of the user or
    // the system.
    let roots = of("VIRTUAL_ENV")
        .into_iter()
        .chain(pythons.iter().filter_map(|bin| bin.parent().map(Path::to_path_buf)));
    let roots = roots
        .chain(of("HOME").map(|home| home.join(".local")))
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
    if let Some(home) = of("HOME") {
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
