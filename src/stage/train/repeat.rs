//! A further training of a model (`doubt: {training: R}`), after which its scores and everything
//! counted from them are made again: the field `repeat` of a unit.
//!
//! Repeat r trains with the seed of the stream `doubt/training/r`; with `resample` the training
//! rows are drawn again with replacement, too (stream `doubt/training`): for a model trained here a
//! row weighs as often as it was drawn, and a program gets it as often. What an arm adds is chosen
//! by the base model of the same repeat; an added row counts as often as the row that it was made
//! from. People, counterfactuals, synthetic rows and thresholds stay as they are.

use crate::data::rows::row_draw::RowDraw;
use crate::data::rows::training::DrawnTraining;
use crate::error::Result;
use crate::exec::internal_error;
use crate::job::ModelBlock;
use crate::num::seed::RandomStream;
use crate::param::Seed;
use crate::stage::plan::StagePlan;
use crate::stage::stage_builder::{Stage, StageBuilder, StageInput};
use crate::unit::AuditUnit;

/// A further training of a model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrainingRepeat {
    /// The seed that it trains with.
    pub(crate) seed: Seed,
    /// How its training rows are drawn again; none where they stay as they are.
    pub(crate) draw: Option<DrawnTraining>,
}

impl TrainingRepeat {
    /// The training that a unit is about; none for the audited model.
    pub(crate) fn of(unit: &AuditUnit, plan: &StagePlan<'_>) -> Result<Option<Self>> {
        let Some(number) = unit.repeat else { return Ok(None) };
        let (name, model) = plan.model_of(unit)?;
        let Some(doubt) = model.doubt else {
            return Err(internal_error(format!("the model `{name}` is not trained again")));
        };
        let of_job = plan.job.run.seed;
        let seed = RandomStream::new(of_job.0, &format!("doubt/training/{number}")).u64();
        let draw = doubt.resample.then(|| DrawnTraining {
            draw: RowDraw::new(of_job, "doubt/training", number as u64),
            copied: !model.is_trained_here(),
        });
        Ok(Some(TrainingRepeat { seed: Seed(seed), draw }))
    }

    /// What makes its models stale in addition to their rows and knobs.
    pub(crate) fn inputs(&self) -> [(String, String); 2] {
        let drawn = if self.draw.is_some() { "drawn again" } else { "as they are" };
        [
            ("training seed".to_owned(), self.seed.0.to_string()),
            ("training rows".to_owned(), drawn.to_owned()),
        ]
    }
}

/// How often a model is trained again.
pub(crate) fn n_repeats(model: &ModelBlock) -> usize {
    let asked = model.doubt.map_or(0, |doubt| doubt.training.get());
    usize::try_from(asked).unwrap_or(usize::MAX)
}

/// The stages of a kind about the same unit by every further training of its model.
pub(crate) fn need_repeats<K: Stage>(
    unit: &AuditUnit,
    b: &mut StageBuilder<'_, '_>,
) -> Result<Vec<StageInput<K::Output>>> {
    let (_, model) = b.plan.model_of(unit)?;
    (0..n_repeats(model))
        .map(|number| b.need::<K>(&AuditUnit { repeat: Some(number), ..unit.clone() }))
        .collect()
}
