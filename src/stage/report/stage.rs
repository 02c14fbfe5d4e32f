//! The stage `report`: the output folder of a run, of one that waits for scores, or of one
//! that ends with counterfactuals.

use crate::stage::plan::publishes_rows;
use crate::stage::stage_builder::{Planned, StageBuilder};
use crate::stage::{report, rows_only, waiting};
use crate::unit::AuditUnit;

pub(crate) fn plan_report<'a>(_: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
    if publishes_rows(b.plan.job, b.plan.settings) {
        return rows_only::plan_report(b);
    }
    b.want(report::plan_run)?.map_or_else(|| waiting::plan_report(b), Ok)
}
