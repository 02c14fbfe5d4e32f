//! How much memory the scores of people may take, and a check that the run has it.

use crate::data::Attribute;
use crate::error::Result;
use crate::metric::evidence::labelled_scores::{
    BYTES_KEPT, BYTES_MEASURED, CELLS_PER_GROUP, EXACT_ROWS,
};
use crate::metric::evidence::score_grid::bytes_of_direction;
use crate::stage::count::slices::AttributeSlices;
use crate::stage::memory;
use crate::stage::memory::refuse_memory;
use crate::stage::plan::StagePlan;
use crate::stage::row_context::RowContext;

/// Bytes that the rows of a curve take before they are written to a table.
const BYTES_PER_CURVE: u64 = 1026 * 600;

impl StagePlan<'_> {
    /// Fails where the scores of people with a label could take more memory than the run may have.
    pub(super) fn check_score_memory(
        &self,
        row_context: RowContext<'_>,
        attribute: usize,
    ) -> Result<()> {
        if !self.wants_scores() {
            return Ok(());
        }
        let rows = row_context.roles.n_audited();
        let has_persons = row_context.rows.layout().person.is_some();
        let groups = row_context.rows.layout().attributes[attribute].groups.len() as u64;
        let cells = (groups * CELLS_PER_GROUP).max(EXACT_ROWS as u64);
        let whole = if has_persons { rows } else { rows.min(cells) };
        // One for each group, one for all groups, and with more than two groups one for the others
        // of each group.
        let copies = 2 + if groups > 2 { groups } else { 0 };
        let columns = self.job.metrics.by.len() as u64;
        let sliced = rows.saturating_mul(columns + columns * columns.saturating_sub(1) / 2);
        let states = self.n_classes().map_or(1, |n| n as u64);
        let kept = (whole + sliced).saturating_mul(states * BYTES_KEPT);
        let needed = kept.saturating_add(whole.saturating_mul(copies * BYTES_MEASURED));
        let needed = needed.saturating_add(self.curve_memory(row_context));
        let what = |needed, allowed| {
            format!("the scores of {rows} rows may take {needed}; the run may use {allowed}")
        };
        let hint = "remove `scores` from `metrics.families`, ask for fewer columns of \
                    `metrics.by`, or allow more with `--memory`";
        let needed_and_allowed = (needed, memory::allowed(self.settings));
        refuse_memory(needed_and_allowed, "too-many-scores", what, hint)
    }

    /// Bytes that the curves over all thresholds take while they are counted, written, and read for
    /// the page.
    fn curve_memory(&self, row_context: RowContext<'_>) -> u64 {
        let [sets, models] =
            [self.job.counterfactuals.len(), self.job.models.len()].map(|n| n as u64);
        let threads = self.settings.threads.max(1) as u64;
        let (layout, rows) = (row_context.rows.layout(), row_context.roles.n_audited());
        let cells = bytes_of_direction(layout.weight.is_some());
        let columns = self.job.metrics.by.len() as u64;
        let classes = self.n_classes().map_or(1, |n| n as u64);
        let attribute_bytes = |(position, attribute): (usize, &Attribute)| {
            let groups = attribute.groups.len() as u64;
            let directions = groups * groups;
            let slices = AttributeSlices::of(layout, position).map_or(0, |s| s.len() as u64);
            // Each row is in at most one slice of each column and of each pair of columns; slices
            // without rows take no memory.
            let slice_rows = rows.saturating_mul(groups * columns * (columns + 1) / 2);
            let parts = (directions * slices).min(slice_rows).saturating_add(directions);
            let gathered = parts.saturating_mul(classes * (threads + 1) * cells);
            // Three rates of each group and a ratio of each pair; five of each direction.
            let curves = 3 * (groups + 1) + directions + sets * 5 * (directions + 1);
            gathered.saturating_add(curves.saturating_mul(models * BYTES_PER_CURVE))
        };
        let each = layout.attributes.iter().enumerate().map(attribute_bytes);
        each.fold(0, u64::saturating_add)
    }
}
