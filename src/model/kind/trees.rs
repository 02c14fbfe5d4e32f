//! What the kinds of models made of trees share: the limits of their knobs, their words, and how a
//! model is read back.

use crate::data::Feature;
use crate::model::ModelTrainer;
use crate::model::lightgbm::TreesTrainer;
use crate::model::trees::{TreeEnsemble, TreesModel};
use crate::param::{Count, Fraction, KnobRefusal};

/// Fewest rows in a leaf that can be asked for: below it LightGBM has already set columns aside
/// that could be split.
const SMALLEST_LEAF: u64 = 20;

/// The limits of LightGBM; of trees it has none, but each is kept in the model.
const MOST_TREES: u64 = 100_000;
const MOST_LEAVES: u64 = 131_072;
const MOST_ROWS: u64 = i32::MAX as u64;

/// The number of trees that is the default.
/// The smallest leaf that can be asked for, which is the default.
pub(super) fn smallest_leaf() -> Count {
    Count::new(SMALLEST_LEAF).expect("20 is a count")
}

/// What to do where the program was built without a library.
pub(crate) fn rebuild(library: &str, feature: &str) -> String {
    format!(
        "build it with `cargo build --features {feature}` ({library}; `make` fetches its build \
         tools), or use another kind of model"
    )
}

/// A kind of model that this build does without.
pub(super) fn not_built(kind: &str) -> Option<KnobRefusal> {
    (!cfg!(feature = "lightgbm")).then(|| {
        let what =
            format!("this build of cfaudit does not include LightGBM, which trains `{kind}`");
        KnobRefusal::new("", "not-built", what, rebuild("LightGBM", "lightgbm"))
    })
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
    /// What is wrong with them by themselves.
    pub(super) fn refusals(&self) -> Vec<KnobRefusal> {
        let TreeKnobs { trees, leaves, smallest_leaf, row_share, column_share } = *self;
        let mut found = Vec::new();
        let mut refuse = |key, what: String, hint: &str| {
            found.push(KnobRefusal::new(key, "bad-value", what, hint));
        };
        for (key, count, most) in [
            ("trees", trees, MOST_TREES),
            ("leaves", leaves, MOST_LEAVES),
            ("smallest_leaf", smallest_leaf, MOST_ROWS),
        ] {
            if count.get() > most {
                let what = format!("`{}` is more than LightGBM accepts", count.get());
                refuse(key, what, &format!("write at most {most}"));
            }
        }
        if leaves.get() < 2 {
            let what = "a tree with one leaf gives the same score to all rows".to_owned();
            refuse("leaves", what, "write 2 or more; 31 is usual");
        }
        if smallest_leaf.get() < SMALLEST_LEAF {
            let rows = smallest_leaf.get();
            let what = format!("leaves of `{rows}` rows are too small");
            refuse("smallest_leaf", what, "write 20 or more");
        }
        for (key, share) in [("row_share", row_share), ("column_share", column_share)] {
            if share.get() == 0.0 {
                let what = "a share of `0` leaves a tree no data".to_owned();
                refuse(key, what, "write a share above 0");
            }
        }
        found
    }

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
