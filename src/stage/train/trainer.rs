//! The trainer that a model of the job asks for, and its artifact read back.
//!
//! Whoever has training rows (`data::rows::training`), from files or in memory and with any
//! weights, trains the same models by these two.

use std::path::PathBuf;

use crate::data::Layout;
use crate::error::{Fault, Result};
use crate::job::ModelBlock;
use crate::job::blocks::onnx::OnnxBlock;
use crate::job::resolve::roles::TrainedHere;
use crate::model::lightgbm::TreesTrainer;
use crate::model::logistic::{LogisticModel, LogisticTrainer};
use crate::model::onnx::OnnxParams;
use crate::model::trees::{TreeEnsemble, TreesModel};
use crate::model::{ModelTrainer, TrainedModel};
use crate::num::seed::named_seed;
use crate::param::{ColumnName, Seed};
use crate::stage::applied_set::canonical_text;

/// The trainer of a model; none for one that is not trained here.
pub fn trainer(model: &ModelBlock, layout: &Layout, seed: Seed) -> Option<Box<dyn ModelTrainer>> {
    let features = layout.features.clone();
    let omitted = model.omitted().into_iter().flatten().map(|c| c.as_str());
    let omit: Vec<String> = omitted.chain(layout.hidden_names()).map(str::to_owned).collect();
    Some(match model.trained_here()? {
        TrainedHere::Logistic(logistic) => {
            Box::new(LogisticTrainer { features, omit, l2: logistic.l2.get() })
        }
        TrainedHere::Boosting(boosting) => Box::new(TreesTrainer {
            features,
            omit,
            ensemble: TreeEnsemble::Boosting,
            trees: boosting.trees.get(),
            leaves: boosting.leaves.get(),
            smallest_leaf: boosting.smallest_leaf.get(),
            learning_rate: boosting.learning_rate.get(),
            l2: boosting.l2.get(),
            row_share: boosting.row_share.get(),
            column_share: boosting.column_share.get(),
            seed: named_seed(seed.0, "train/boosting"),
        }),
        TrainedHere::Forest(forest) => Box::new(TreesTrainer {
            features,
            omit,
            ensemble: TreeEnsemble::Forest,
            trees: forest.trees.get(),
            leaves: forest.leaves.get(),
            smallest_leaf: forest.smallest_leaf.get(),
            learning_rate: 1.0,
            l2: 0.0,
            row_share: forest.row_share.get(),
            column_share: forest.column_share.get(),
            seed: named_seed(seed.0, "train/forest"),
        }),
    })
}

/// Refuses a model whose training would take more than `allowed` bytes, before it takes any.
///
/// # Errors
/// It would; says which column has most of the encoded columns.
pub fn check_memory(
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
        "training takes some {} of memory for {all} encoded columns, {n} of them levels of \
         `{name}`; the run may take {}",
        memory_in_words(needed),
        memory_in_words(allowed)
    );
    let hint = format!(
        "take levels of `{name}` together by `data.derive` (`map`), list it under `omit` of the \
         model, or allow more with `--memory`"
    );
    Err(Fault::new("too-large-model", what).in_column(name).hint(hint).into())
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
pub fn onnx_params(onnx: &OnnxBlock, layout: &Layout) -> OnnxParams {
    let words = |columns: &[ColumnName]| {
        columns.iter().map(|c| c.as_str().to_owned()).collect::<Vec<String>>()
    };
    OnnxParams {
        path: PathBuf::from(&onnx.model),
        inputs: onnx
            .inputs
            .iter()
            .map(|(input, columns)| (input.clone(), words(columns)))
            .collect(),
        output: onnx.output.clone(),
        positive: onnx.positive.as_ref().map(|word| word.as_str().to_owned()),
        features: layout.features.clone(),
        omit: words(&onnx.omit)
            .into_iter()
            .chain(layout.hidden_names().map(str::to_owned))
            .collect(),
    }
}

/// What makes a model stale that is trained here, beside its rows.
pub fn model_inputs(model: &ModelBlock, seed: Seed) -> Vec<(String, String)> {
    // The seed only where chance has a part in the training.
    let (kind, knobs, draws) = match model.trained_here() {
        None => return Vec::new(),
        Some(TrainedHere::Logistic(logistic)) => ("logistic", canonical_text(logistic), false),
        Some(TrainedHere::Boosting(boosting)) => (
            "boosting",
            canonical_text(boosting),
            boosting.row_share.get() < 1.0 || boosting.column_share.get() < 1.0,
        ),
        Some(TrainedHere::Forest(forest)) => ("forest", canonical_text(forest), true),
    };
    let seed = draws.then(|| ("run.seed".to_owned(), seed.0.to_string()));
    [(kind.to_owned(), knobs)].into_iter().chain(seed).collect()
}

/// How many trees a model has whose growth ended early, and how many the job asked for; none for
/// one that has them all, or has no trees.
///
/// # Errors
/// The text is no artifact of such a model; says why.
pub fn missing_trees(model: &ModelBlock, json: &str) -> Result<Option<(u64, u64)>, String> {
    let asked = match model.trained_here() {
        Some(TrainedHere::Boosting(boosting)) => boosting.trees.get(),
        Some(TrainedHere::Forest(forest)) => forest.trees.get(),
        Some(TrainedHere::Logistic(_)) | None => return Ok(None),
    };
    let grown = TreesModel::from_json(json)?.n_trees() as u64;
    Ok((grown < asked).then_some((grown, asked)))
}

/// Reads back what a trainer of the model wrote.
///
/// # Errors
/// The text is no artifact of such a model; says why.
pub fn trained(model: &ModelBlock, json: &str) -> Result<Box<dyn TrainedModel>, String> {
    Ok(match model.trained_here() {
        Some(TrainedHere::Logistic(_)) => Box::new(LogisticModel::from_json(json)?),
        Some(TrainedHere::Boosting(_) | TrainedHere::Forest(_)) => {
            Box::new(TreesModel::from_json(json)?)
        }
        None => return Err("the job trains no such model".to_owned()),
    })
}
