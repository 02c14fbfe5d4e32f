//! How much memory training and tables may take: refused before it is taken.

use crate::data::Layout;
use crate::error::{Fault, Result};
use crate::model::ModelTrainer;

/// Refuses a model whose training would take more than `allowed` bytes, before it takes any.
///
/// # Errors
/// It would; says which column has most of the encoded columns.
pub(crate) fn check_memory(
    trainer: &dyn ModelTrainer,
    layout: &Layout,
    n_training: u64,
    threads: usize,
    allowed: u64,
) -> Result<()> {
    let needed = trainer.bytes(n_training, threads);
    if needed <= allowed {
        return Ok(());
    }
    let columns = trainer.columns();
    let all: u64 = columns.iter().sum();
    let largest = columns.iter().zip(&layout.features).max_by_key(|(n, _)| **n);
    let (n, name) = largest.map_or((0, ""), |(n, feature)| (*n, feature.name.as_str()));
    let what = format!(
        "training needs about {} of memory for {all} encoded columns, {n} of them levels of \
         `{name}`; the run may use {}",
        memory_in_words(needed),
        memory_in_words(allowed)
    );
    let hint = format!(
        "merge levels of `{name}` by `data.derive` (`map`), list it under `omit` of the \
         model, or allow more with `--memory`"
    );
    Err(Fault::new("too-large-model", what).in_column(name).hint(hint).into())
}

/// Fails with this code where more is needed than a run may take; `what` puts both in words.
///
/// # Errors
/// It is.
pub(crate) fn refuse_memory(
    (needed, allowed): (u64, u64),
    code: &'static str,
    what: impl FnOnce(String, String) -> String,
    hint: &str,
) -> Result<()> {
    if needed <= allowed {
        return Ok(());
    }
    let what = what(memory_in_words(needed), memory_in_words(allowed));
    Err(Fault::new(code, what).hint(hint).into())
}

/// Megabytes, from a thousand of them on gigabytes.
pub(crate) fn memory_in_words(bytes: u64) -> String {
    if bytes < 1_000_000_000 {
        format!("{} MB", bytes / 1_000_000)
    } else {
        format!("{:.1} GB", bytes as f64 / 1e9)
    }
}
