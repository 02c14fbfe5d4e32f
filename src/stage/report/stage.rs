//! The stage `report`: the output folder of a run, of one that waits for scores, or of one
//! that ends with counterfactuals.

use crate::error::Result;
use crate::stage::kinds::ReportStage;
use crate::stage::plan::publishes_rows;
use crate::stage::report::inputs::FolderInputs;
use crate::stage::stage_builder::{PlannedWork, Stage, StageBuilder, work};
use crate::stage::{report, rows_only, waiting};
use crate::unit::{AuditUnit, UnitField, UnitKind};

impl Stage for ReportStage {
    type Output = Self;
    const KIND: UnitKind = UnitKind::Report;
    const FIELDS: &'static [UnitField] = &[];

    fn plan<'a>(_: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        if publishes_rows(b.plan.job, b.plan.settings) {
            return rows_only::plan_report(b);
        }
        let Some(made) = b.want(FolderInputs::need)? else { return waiting::plan_report(b) };
        work(move |ctx| made.origins.with(ctx, |origins| report::assemble(ctx, origins, &made)))
    }
}
