//! Checks `metrics.by`.

use crate::param::ColumnName;

use super::JobChecker;

impl JobChecker<'_> {
    /// Every column must be one that people share, and one that groups of some attribute meet in.
    pub(super) fn slices(&mut self) {
        let (data, by) = (&self.job.data, &self.job.metrics.by);
        if by.is_empty()
            || !self.is_sound(&["metrics.by", "data.sensitive", "data.row_id", "data.derive"])
        {
            return;
        }
        let names: Vec<&str> = by.iter().map(ColumnName::as_str).collect();
        if !self.check_distinct("metrics.by", "column", &names) {
            return;
        }
        for (i, column) in by.iter().enumerate() {
            let at = format!("metrics.by[{i}]");
            if data.row_id.as_ref() == Some(column) {
                let what = format!("`{column}` identifies the rows: every slice would hold one");
                self.push_problem("bad-value", at, what, "name a column that people share");
            } else if !data.sensitive.is_empty()
                && data.sensitive.keys().all(|name| data.column_of(name) == column)
            {
                let what = format!(
                    "the groups are derived from `{column}`: every slice would hold only one of \
                     them"
                );
                self.push_problem(
                    "bad-value",
                    at,
                    what,
                    "name another column, whose values occur in several groups",
                );
            }
        }
    }
}
