//! The trainer that a model of the job asks for, and its artifact read back.
//!
//! A caller with training rows (`data::rows::training`), from files or in memory and with any
//! weights, trains the same models by these two.

use std::path::PathBuf;

use crate::data::Layout;
use crate::error::{Fault, Result};
use crate::job::ModelBlock;
use crate::model::kind::onnx::OnnxBlock;
use crate::model::onnx::OnnxParams;
use crate::model::{ModelTrainer, TrainedModel};
use crate::num::score_scale::ScoreScale;
use crate::param::{ColumnName, Seed};
use crate::stage::stage_builder::StageBuilder;

/// The trainer of a model; none for one that is not trained here.
pub(crate) fn trainer(
    model: &ModelBlock,
    layout: &Layout,
    seed: Seed,
) -> Option<Box<dyn ModelTrainer>> {
    let (_, knobs) = model.trained_here()?;
    let omitted = knobs.omit.iter().map(ColumnName::as_str);
    let omit = omitted.chain(layout.hidden_names()).map(str::to_owned).collect();
    Some(knobs.trainer(layout.features.clone(), omit, seed))
}

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

/// What an ONNX model needs to know of the rows.
pub(crate) fn onnx_params(onnx: &OnnxBlock, scale: ScoreScale, layout: &Layout) -> OnnxParams {
    OnnxParams {
        path: PathBuf::from(&onnx.model),
        output: onnx.output.clone(),
        missing_text: onnx.missing_text.clone(),
        scale,
        features: layout.features.clone(),
    }
}

/// Puts what makes a model stale that is trained here into a key, in addition to its rows.
pub(crate) fn model_inputs(b: &mut StageBuilder<'_, '_>, model: &ModelBlock) {
    let Some((kind, knobs)) = model.trained_here() else { return };
    b.value(kind.key(), &kind);
    // The seed only where chance has a part in the training.
    if knobs.draws() {
        b.seed();
    }
}

/// How many trees a model has whose growth ended early, and how many the job asked for; none for
/// one that has them all, or has no trees.
///
/// # Errors
/// The text is not an artifact of such a model; says why.
pub(crate) fn missing_trees(model: &ModelBlock, json: &str) -> Result<Option<(u64, u64)>, String> {
    model.trained_here().map_or(Ok(None), |(_, knobs)| knobs.missing_trees(json))
}

/// Reads back what a trainer of the model wrote.
///
/// # Errors
/// The text is not an artifact of such a model; says why.
pub(crate) fn trained(model: &ModelBlock, json: &str) -> Result<Box<dyn TrainedModel>, String> {
    let (_, knobs) =
        model.trained_here().ok_or_else(|| "the job trains no such model".to_owned())?;
    knobs.read(json)
}
