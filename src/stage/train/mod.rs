//! The stage `train`: the models of the plain audit, one for each fold; the model of an arm in a
//! fold, with the rows that the arm adds; those of inner folds; all of them once more for each
//! further training.

pub(crate) mod repeat;

use crate::error::Error;
use crate::stage::experiment::arm_selection::arm_selection;
use crate::stage::experiment::plan::{arm_name, arm_of};
use crate::stage::kinds::TrainStage;
use crate::stage::models::UnitModels;
use crate::stage::stage_builder::{Planned, Stage, StageBuilder, work};
use crate::table::file::write_rows;
use crate::table::{ArmRow, whole};
use crate::unit::AuditUnit;

impl Stage for TrainStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let (plan, models) = (b.plan, UnitModels::of(unit, b)?);
        // Only an arm adds rows.
        let selection = match arm_of(unit).zip(unit.fold) {
            Some((arm, fold)) => {
                let repeat = unit.repeat;
                let experiment = plan.experiment_of(unit)?;
                // The set is the same for all arms, and the base takes nothing of it.
                let row = ArmRow {
                    arm: arm_name(unit).into(),
                    model: unit.model.as_str().into(),
                    fold: whole(fold as u64),
                    ..ArmRow::default()
                };
                Some((arm_selection(b, &experiment, (fold, arm, repeat), "")?, row))
            }
            None => None,
        };
        models.training_inputs(b)?;
        let AuditUnit { experiment, model, repeat, .. } = unit.clone();
        work(move |ctx| {
            let trained = models.rows.with(ctx, 0, |rows| {
                let layout = rows.rows.layout();
                if let Some((selection, row)) = &selection {
                    return selection(rows)?.with_training_rows(
                        rows,
                        &plan.extras(layout),
                        models.draw(),
                        row,
                        |all, added| {
                            let n = added.n_rows + added.n_counterfactuals + added.n_synthetic;
                            models.train_on(ctx, layout, (all, n.cast_unsigned()), 0)?;
                            write_rows(ctx.out(), &[added])
                        },
                    );
                }
                (0..models.folds.n).try_for_each(|fold| {
                    let number = u8::try_from(fold).unwrap_or(u8::MAX);
                    let training = rows.training(number).drawn(models.draw());
                    models.train_on(ctx, layout, (&training, rows.roles.n_trained()), fold)
                })
            });
            let is_of_draw = |e: &Error| {
                repeat.is_some() && matches!(e, Error::Data(fault) if fault.code == "one-class")
            };
            trained.map_err(|e| match experiment.as_str() {
                "" if is_of_draw(&e) => plan.with_model_place(e, &["models", &model, "doubt"]),
                "" => e,
                experiment => plan.with_model_place(e, &["experiments", experiment]),
            })
        })
    }
}
