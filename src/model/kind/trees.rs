//! What the kinds of models made of trees share: their words, and how a model is read
//! back. The limits of their knobs are LightGBM's; of trees it has none, but each is kept in the
//! model, and below 20 rows in a leaf it has already set columns aside that could be split.

use crate::data::Feature;
use crate::model::ModelTrainer;
use crate::model::lightgbm::TreesTrainer;
use crate::model::trees::{TreeEnsemble, TreesModel};
use crate::param::{Count, Fraction};

/// What to do where the program was built without a library.
pub(crate) fn rebuild(library: &str, feature: &str) -> String {
    format!(
        "build it with `cargo build --features {feature}` ({library}; `make` fetches its build \
         tools), or use another kind of model"
    )
}

/// The knobs that all trees have.
pub(super) struct TreeKnobs {
    pub(super) trees: Count,
    pub(super) leaves: Count,
    pub(super) smallest_leaf: Count,
    pub(super) row_share: Fraction,
    pub(super) column_share: Fraction,
}

impl TreeKnobs {
    /// The trainer with these knobs, and the learning rate and penalty of its own.
    pub(super) fn trainer(
        &self,
        ensemble: TreeEnsemble,
        (learning_rate, l2): (f64, f64),
        features: Vec<Feature>,
        omit: Vec<String>,
        seed: u64,
    ) -> Box<dyn ModelTrainer> {
        Box::new(TreesTrainer {
            features,
            omit,
            ensemble,
            trees: self.trees.get(),
            leaves: self.leaves.get(),
            smallest_leaf: self.smallest_leaf.get(),
            learning_rate,
            l2,
            row_share: self.row_share.get(),
            column_share: self.column_share.get(),
            seed,
        })
    }

    /// How many trees of which size, for the report.
    pub(super) fn words(&self) -> String {
        format!(
            "{} trees of at most {} leaves of at least {} rows",
            self.trees.get(),
            self.leaves.get(),
            self.smallest_leaf.get()
        )
    }

    /// How many trees a model has whose growth ended early, and how many were asked for; `None` for
    /// one that has them all.
    ///
    /// # Errors
    /// The text is not an artifact of such a model; says why.
    pub(super) fn missing_trees(&self, json: &str) -> Result<Option<(u64, u64)>, String> {
        let (grown, asked) = (TreesModel::from_json(json)?.n_trees() as u64, self.trees.get());
        Ok((grown < asked).then_some((grown, asked)))
    }
}

/// A share in percent, for the report.
pub(super) fn percent(share: Fraction) -> String {
    format!("{} %", share.get() * 100.0)
}
