//! The files of models that the job does not name: the weights of ONNX models, and the modules of
//! Python.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use crate::error::{Fault, Result};
use crate::exec::files;
use crate::model::onnx::weight_files;

/// The files next to an ONNX model that hold its weights.
pub(super) fn weight_files_of(model: &Path) -> Result<BTreeSet<PathBuf>> {
    let fault = |what: String| Fault::new("bad-model", what).in_file(model);
    let found = weight_files::locations(model).map_err(|cause| {
        let what = format!("`{}` cannot be read as an ONNX model: {cause}", model.display());
        fault(what).hint("the file must be an ONNX model; export it again")
    })?;
    let mut files = BTreeSet::new();
    for location in found {
        let parts = || Path::new(&location).components().filter(|part| *part != Component::CurDir);
        if parts().next().is_none() || !parts().all(|part| matches!(part, Component::Normal(_))) {
            let what = format!(
                "the model stores weights in `{}`, outside its folder",
                location.escape_debug()
            );
            return fault(what)
                .fail("save the model with its weights inside, or in a file next to it");
        }
        files.insert(model.parent().unwrap_or(Path::new("")).join(parts().collect::<PathBuf>()));
    }
    Ok(files)
}

/// How files of models end; others, such as logs, a module may write itself.
const MODEL_ENDINGS: [&str; 15] = [
    "cbm",
    "h5",
    "joblib",
    "keras",
    "model",
    "npy",
    "npz",
    "onnx",
    "pickle",
    "pkl",
    "pt",
    "pth",
    "safetensors",
    "sav",
    "ubj",
];

/// The files of models that the text of a Python module names in quotes, by their path from the
/// working directory or from the module.
pub(super) fn quoted_files(module: &Path) -> Result<BTreeSet<PathBuf>> {
    let text = files::read(module)?;
    let text = String::from_utf8_lossy(&text);
    let folders = [Path::new(""), module.parent().unwrap_or(Path::new(""))];
    let words = text.split(['"', '\'', '\n']);
    let paths = words.flat_map(|word| folders.map(|folder| folder.join(word)));
    let is_model = |path: &PathBuf| {
        let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        MODEL_ENDINGS.contains(&ending) && path.is_file()
    };
    Ok(paths.filter(is_model).collect())
}

/// The file of a Python module: it must lie below the working directory, so that a change of it
/// scores again.
pub(super) fn module_file(module: &str) -> Result<PathBuf> {
    let path = PathBuf::from(module.replace('.', "/"));
    let files = [path.with_extension("py"), path.join("__init__.py")];
    files.iter().find(|file| file.is_file()).cloned().ok_or_else(|| {
        let what = format!("there is no file `{}`, the module that is called", files[0].display());
        let hint = "the module must lie below the working directory of cfaudit, so that a change \
                    of it scores again; let it import what is installed";
        Fault::new("missing-file", what).hint(hint).into()
    })
}
