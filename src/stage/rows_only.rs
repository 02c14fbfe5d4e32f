//! A run that ends with counterfactuals, by `--until generate --out DIR`: its `report` holds
//! `rows/counterfactuals/`, the tables of the rows, job, summary and manifest, but no page and no
//! measured value.

use crate::stage::generate::effects_of_sets;
use crate::stage::kept_rows::kept_rows;
use crate::stage::report;
use crate::stage::report::inputs::OriginInputs;
use crate::stage::stage_builder::{Planned, StageBuilder};
use crate::unit::StageKind;

/// The output folder of a run that stops once the counterfactuals are there.
pub(crate) fn plan_report<'a>(b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
    let (origins, kept) = (OriginInputs::need(b)?, kept_rows(b)?);
    let followed = effects_of_sets(b)?;
    b.value("stopped_after", StageKind::Generate.word());
    origins.work(move |ctx, origins| {
        kept(ctx)?;
        report::assemble_rows(ctx, origins, &followed(ctx)?)
    })
}
