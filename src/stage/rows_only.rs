//! A run that ends with counterfactuals, by `--until generate --out DIR`: its `report` holds
//! `rows/counterfactuals/`, the tables of the rows, job, summary and manifest; no page, no number.

use crate::error::Result;
use crate::stage::generate::rows::GeneratedEffects;
use crate::stage::kept_rows::KeptRowInputs;
use crate::stage::kinds::GenerateStage;
use crate::stage::report;
use crate::stage::report::inputs::OriginInputs;
use crate::stage::stage_builder::{PlannedWork, StageBuilder, work};
use crate::unit::StageKind;

/// The output folder of a run that stops once the counterfactuals are there.
pub(crate) fn plan_report<'a>(b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
    let plan = b.plan;
    let origins = OriginInputs::need(b)?;
    let kept = KeptRowInputs::need(b)?;
    let mut sets = Vec::new();
    for applied in plan.applied_sets() {
        sets.push((applied.set, applied.attribute, b.need::<GenerateStage>(&applied.unit())?));
    }
    b.value("stopped_after", StageKind::Generate.word());
    work(move |ctx| {
        let followed = sets.iter().map(|(set, attribute, stage)| {
            stage.effects(ctx).map(|effects| (*set, *attribute, effects))
        });
        let followed: Vec<(&str, &str, GeneratedEffects)> = followed.collect::<Result<_>>()?;
        kept.link(ctx)?;
        origins.with(ctx, |origins| report::assemble_rows(ctx, origins, &followed))
    })
}
