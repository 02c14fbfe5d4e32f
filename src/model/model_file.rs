//! A model in a file, trained elsewhere and scored in this process: which library reads it.

use std::path::PathBuf;

use crate::data::Feature;
use crate::error::Result;
use crate::model::Scorer;
use crate::model::contract::{ModelContract, ModelSignature};
use crate::model::kind::ModelBlock;
use crate::model::lightgbm::file::LightgbmScorer;
use crate::model::onnx::OnnxParams;
#[cfg(feature = "onnx")]
use crate::model::onnx::{OnnxScorer, library::libraries};
use crate::num::score_scale::ScoreScale;

/// A model in a file.
pub(crate) enum ModelFile {
    /// By the ONNX runtime.
    Onnx(OnnxParams),
    /// By LightGBM; with the features of the rows.
    Lightgbm(PathBuf, Vec<Feature>),
}

impl ModelFile {
    /// The file of a model, which scores rows with these features; none for a model that is not a
    /// file.
    pub(crate) fn of(model: &ModelBlock, scale: ScoreScale, features: &[Feature]) -> Option<Self> {
        let features = features.to_vec();
        match (&model.onnx, &model.lightgbm) {
            (Some(onnx), _) => Some(ModelFile::Onnx(OnnxParams {
                path: PathBuf::from(&onnx.model),
                output: onnx.output.clone(),
                missing_text: onnx.missing_text.clone(),
                scale,
                features,
            })),
            (None, Some(block)) => Some(ModelFile::Lightgbm(PathBuf::from(&block.file), features)),
            (None, None) => None,
        }
    }

    /// What the file says about itself.
    ///
    /// # Errors
    /// It is no such model, or its library is not there.
    pub(crate) fn signature(&self) -> Result<ModelSignature> {
        match self {
            #[cfg(feature = "onnx")]
            ModelFile::Onnx(params) => OnnxScorer::signature(params, &libraries()),
            #[cfg(not(feature = "onnx"))]
            ModelFile::Onnx(_) => no_runtime(),
            ModelFile::Lightgbm(path, _) => LightgbmScorer::signature(path),
        }
    }

    /// The model, by its contract.
    ///
    /// # Errors
    /// As [`ModelFile::signature`], and where it does not fit the rows.
    pub(crate) fn load(self, contract: &ModelContract) -> Result<Box<dyn Scorer>> {
        Ok(match self {
            #[cfg(feature = "onnx")]
            ModelFile::Onnx(params) => Box::new(OnnxScorer::load(params, contract, &libraries())?),
            #[cfg(not(feature = "onnx"))]
            ModelFile::Onnx(_) => no_runtime()?,
            ModelFile::Lightgbm(path, features) => {
                Box::new(LightgbmScorer::load(&path, &features, contract)?)
            }
        })
    }
}

/// `check` has refused jobs with such models.
#[cfg(not(feature = "onnx"))]
fn no_runtime<T>() -> Result<T> {
    let what = "this build of cfaudit does not include ONNX models";
    Err(crate::error::Fault::new("no-runtime", what).into())
}
