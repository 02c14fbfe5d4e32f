//! The stage `report`: the output folder of a run, or of one that waits for scores.

use crate::error::Result;
use crate::stage::kinds::ReportStage;
use crate::stage::planner::{PlannedWork, Stage, StageBuilder, work};
use crate::stage::report::inputs::FolderInputs;
use crate::stage::{report, waiting};
use crate::unit::{AuditUnit, UnitField, UnitKind};

impl Stage for ReportStage {
    type Output = Self;
    const KIND: UnitKind = UnitKind::Report;
    const FIELDS: &'static [UnitField] = &[];

    fn plan<'a>(_: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        let Some(made) = b.want(FolderInputs::need)? else { return waiting::plan_report(b) };
        work(move |ctx| made.origins.with(ctx, |origins| report::assemble(ctx, origins, &made)))
    }
}
