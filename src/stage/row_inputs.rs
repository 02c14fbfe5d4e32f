//! The prepared rows with their roles, in the form that stages request and open.

use crate::data::rows::RowsReader;
use crate::data::rows::split::RolesReader;
use crate::error::Result;
use crate::exec::StageContext;
use crate::stage::applied_set::with_watch;
use crate::stage::artifact::ROLES;
use crate::stage::experiment::fold_roles::FoldRoles;
use crate::stage::kinds::{PrepareStage, SplitStage};
use crate::stage::plan::StagePlan;
use crate::stage::row_context::RowContext;
use crate::stage::stage_builder::{Planned, StageBuilder, StageInput, work};
use crate::unit::AuditUnit;

/// The prepared rows with their roles, not yet opened.
#[derive(Clone)]
pub(crate) struct RowInputs<'a> {
    plan: &'a StagePlan<'a>,
    rows: StageInput<PrepareStage>,
    roles: StageInput<SplitStage>,
    file: String,
}

impl<'a> RowInputs<'a> {
    /// The rows with the roles of a split.
    pub(crate) fn need(b: &mut StageBuilder<'_, 'a>, split: &AuditUnit) -> Result<Self> {
        let (rows, roles) = (b.need::<PrepareStage>(split)?, b.need::<SplitStage>(split)?);
        Ok(RowInputs { plan: b.plan, rows, roles, file: ROLES.to_owned() })
    }

    /// The rows with the roles that the job gives them.
    pub(crate) fn of_job(b: &mut StageBuilder<'_, 'a>) -> Result<Self> {
        RowInputs::need(b, &AuditUnit::default())
    }

    /// The rows that an audit counts, with the fold in which each is audited.
    pub(crate) fn of_audit(b: &mut StageBuilder<'_, 'a>, unit: &AuditUnit) -> Result<Self> {
        if unit.experiment.is_empty() {
            return RowInputs::of_job(b);
        }
        let split = b.plan.experiment_of(unit)?.split_unit();
        RowInputs::need(b, &split)
    }

    /// The rows with the roles of all folds of the experiment that a unit is about; which fold is
    /// said by [`RowInputs::in_fold`].
    pub(crate) fn of_experiment(b: &mut StageBuilder<'_, 'a>, unit: &AuditUnit) -> Result<Self> {
        let experiment = unit.experiment.clone();
        RowInputs::need(b, &AuditUnit { experiment, ..AuditUnit::default() })
    }

    /// These rows with their roles in a fold of the experiment.
    pub(crate) fn in_fold(&self, side: FoldRoles, fold: usize) -> Self {
        RowInputs { file: side.file(fold), ..self.clone() }
    }

    /// Only the prepared rows.
    pub(crate) fn prepared(&self) -> &StageInput<PrepareStage> {
        &self.rows
    }

    /// The work of a stage that reads them this number of times.
    pub(crate) fn work(
        self,
        passes: u64,
        run: impl Fn(&StageContext<'_>, RowContext<'_>) -> Result<()> + Sync + 'a,
    ) -> Planned<'a> {
        work(move |ctx| self.with(ctx, passes, |row_context| run(ctx, row_context)))
    }

    /// Opens them and passes them to `work`, which reads them this number of times.
    pub(crate) fn with<T>(
        &self,
        ctx: &StageContext<'_>,
        passes: u64,
        work: impl FnOnce(RowContext<'_>) -> Result<T>,
    ) -> Result<T> {
        let rows = self.rows.open(ctx)?;
        let roles = RolesReader::open(&self.roles.folder(ctx).join(&self.file), &rows)?;
        ctx.set_total(passes * rows.layout().n_rows);
        with_watch(ctx, |watch| {
            let (rows, roles, workers) = (&rows, &roles, self.plan.workers);
            work(RowContext { rows, roles, workers, ctx, watch })
        })
    }
}

impl StageInput<PrepareStage> {
    /// The rows.
    pub(crate) fn open(&self, ctx: &StageContext<'_>) -> Result<RowsReader> {
        RowsReader::open(self.folder(ctx))
    }
}

impl StageInput<SplitStage> {
    /// The roles of these rows.
    pub(crate) fn open(&self, ctx: &StageContext<'_>, rows: &RowsReader) -> Result<RolesReader> {
        RolesReader::open(&self.folder(ctx).join(ROLES), rows)
    }
}
