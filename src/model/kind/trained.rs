//! What the kinds of models that the run trains are to the rest of the program. The limits of the
//! knobs of trees are LightGBM's, except two: it allows any number of trees, but each is kept in
//! the model; and for leaves of fewer than 20 rows it has already dropped columns that could be
//! split.

use crate::data::Feature;
use crate::data::rows::training::TrainingRows;
use crate::error::Result;
use crate::model::encode::FeatureEncoder;
use crate::model::lightgbm::TreeSettings;
use crate::model::logistic::LogisticModel;
use crate::model::trees::{TreeEnsemble, TreesModel};
use crate::model::{TrainedModel, TrainerInputs};
use crate::num::seed::named_seed;
use crate::param::{ColumnName, Seed};

/// What to do where the program was built without a library.
pub(crate) fn rebuild(library: &str, feature: &str) -> String {
    format!(
        "build it with `cargo build --features {feature}` ({library}; `make` fetches its build \
         tools), or use another kind of model"
    )
}

/// How a model is trained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TrainerRecipe {
    /// As a logistic regression with this penalty on the summed loss.
    Logistic(f64),
    /// As trees.
    Trees(TreeSettings),
}

/// A model that the run trains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrainedKind<'a> {
    /// Columns that it does not see.
    pub omit: &'a [ColumnName],
    /// How it is trained.
    pub recipe: TrainerRecipe,
}

impl TrainedKind<'_> {
    /// What it is, for the report.
    pub fn words(&self) -> String {
        let settings = match &self.recipe {
            TrainerRecipe::Logistic(l2) => {
                return format!(
                    "logistic regression trained here, L2 penalty {l2} on the summed loss"
                );
            }
            TrainerRecipe::Trees(settings) => settings,
        };
        let TreeSettings { trees, leaves, smallest_leaf, learning_rate, l2, .. } = settings;
        let size =
            format!("{trees} trees of at most {leaves} leaves of at least {smallest_leaf} rows");
        let [rows, columns] =
            [settings.row_share, settings.column_share].map(|share| format!("{} %", share * 100.0));
        if settings.ensemble == TreeEnsemble::Forest {
            return format!(
                "random forest trained here by LightGBM, {size}, each on {rows} of the rows, each \
                 split on {columns} of the columns"
            );
        }
        let mut words = format!(
            "gradient boosting trained here by LightGBM, {size}, learning rate {learning_rate}"
        );
        if *l2 > 0.0 {
            words.push_str(&format!(", L2 penalty {l2} on leaves"));
        }
        if settings.draws() {
            words.push_str(&format!(", each on {rows} of the rows and {columns} of the columns"));
        }
        words
    }

    /// Whether chance has a part in its training.
    pub fn draws(&self) -> bool {
        matches!(&self.recipe, TrainerRecipe::Trees(settings) if settings.draws())
    }

    /// Whether it is derived from trees; else its score rises or falls with each encoded column,
    /// regardless of the others.
    pub fn grows_trees(&self) -> bool {
        matches!(self.recipe, TrainerRecipe::Trees(_))
    }

    /// The trainer for rows with these features; `omit` are those that the model must not see.
    pub fn trainer(&self, features: Vec<Feature>, omit: Vec<String>, seed: Seed) -> ModelTrainer {
        let stream = match &self.recipe {
            TrainerRecipe::Trees(settings) if settings.ensemble == TreeEnsemble::Forest => {
                "train/forest"
            }
            // A logistic regression draws nothing.
            TrainerRecipe::Logistic(_) | TrainerRecipe::Trees(_) => "train/boosting",
        };
        let inputs = TrainerInputs { features, omit, seed: named_seed(seed.0, stream) };
        ModelTrainer { recipe: self.recipe, inputs }
    }

    /// Reads back what the trainer wrote.
    ///
    /// # Errors
    /// The text is not an artifact of such a model; says why.
    pub fn read(&self, json: &str) -> Result<Box<dyn TrainedModel>, String> {
        Ok(match self.recipe {
            TrainerRecipe::Logistic(_) => Box::new(LogisticModel::from_json(json)?),
            TrainerRecipe::Trees(_) => Box::new(TreesModel::from_json(json)?),
        })
    }

    /// How many trees a model has whose growth ended early, and how many were asked for; `None` for
    /// one that has them all, or has no trees.
    ///
    /// # Errors
    /// The text is not an artifact of such a model; says why.
    pub fn missing_trees(&self, json: &str) -> Result<Option<(u64, u64)>, String> {
        let TrainerRecipe::Trees(settings) = &self.recipe else { return Ok(None) };
        let grown = TreesModel::from_json(json)?.n_trees() as u64;
        Ok((grown < settings.trees).then_some((grown, settings.trees)))
    }
}

/// Trains a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelTrainer {
    recipe: TrainerRecipe,
    inputs: TrainerInputs,
}

impl ModelTrainer {
    /// Fits the model on training rows with labels, in as many passes as it needs.
    ///
    /// # Errors
    /// The training rows cannot be read, hold one class only, or do not determine the model.
    pub fn fit(&self, rows: &TrainingRows<'_>) -> Result<Box<dyn TrainedModel>> {
        Ok(match &self.recipe {
            TrainerRecipe::Logistic(l2) => Box::new(LogisticModel::fit(*l2, &self.inputs, rows)?),
            TrainerRecipe::Trees(settings) => Box::new(settings.fit(&self.inputs, rows)?),
        })
    }

    /// Bytes that fitting needs in addition to the rows in flight.
    ///
    /// An upper estimate of its largest tables from the levels of all features: half of a square of
    /// 16 bytes for each thread, or the matrix of encoded rows.
    pub fn bytes(&self, n_training: u64, threads: usize) -> u64 {
        let width = self.columns().iter().sum::<u64>();
        let cells = match self.recipe {
            TrainerRecipe::Logistic(_) => {
                width.saturating_mul(width).saturating_mul(threads as u64)
            }
            TrainerRecipe::Trees(_) => width.saturating_mul(n_training),
        };
        cells.saturating_mul(8)
    }

    /// The largest number of encoded columns of each feature, in the order of the features.
    pub fn columns(&self) -> Vec<u64> {
        FeatureEncoder::columns_at_most(&self.inputs.features, &self.inputs.omit)
    }
}
