//! The tables of scores as such: rates at every threshold and bins of scores.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Result;
use crate::report::read::panel::{KeyedRow, ResultKey, is_plain_audit};
use crate::table::file::{read_matching, read_rows};
use crate::table::{CurveRow, JOB_STEP, ReliabilityRow};

/// A rate at the thresholds of the grid, by step.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReportedCurve {
    /// By step.
    pub(crate) steps: Vec<CurveRow>,
    /// The threshold of the job in the numbers of the scores; none where rows have several.
    pub(crate) threshold: Option<f64>,
}

impl ReportedCurve {
    /// The step at or below the threshold of the job.
    pub(crate) fn job_step(&self) -> Option<usize> {
        let at = self.threshold?;
        let turned = self.ends().is_some_and(|(first, last)| first > last);
        // Log-odds have no number at their lower end.
        let before = |step: &CurveRow| {
            step.threshold
                .is_none_or(|threshold| if turned { threshold >= at } else { threshold <= at })
        };
        self.steps.iter().take_while(|step| before(step)).count().checked_sub(1)
    }

    /// The thresholds of the first and the last step that have one.
    pub(crate) fn ends(&self) -> Option<(f64, f64)> {
        let mut known = self.steps.iter().filter_map(|step| step.threshold);
        let first = known.next()?;
        Some((first, known.next_back()?))
    }
}

/// What the plain audit says about scores as such, over all rows.
#[derive(Debug, Default)]
pub(crate) struct ScoreTables {
    curves: BTreeMap<ResultKey, BTreeMap<String, ReportedCurve>>,
    bins: BTreeMap<ResultKey, Vec<ReliabilityRow>>,
}

impl ScoreTables {
    /// Reads them.
    ///
    /// # Errors
    /// A table cannot be read.
    pub(crate) fn read(tables: &Path) -> Result<Self> {
        let mut rows =
            read_matching(tables, |row: &CurveRow| is_plain_audit(&row) && row.class.is_empty())?;
        rows.sort_by_key(|row| row.step);
        let mut curves: BTreeMap<ResultKey, BTreeMap<String, ReportedCurve>> = BTreeMap::new();
        for row in rows {
            let of_key = curves.entry(row.key()).or_default();
            let curve = of_key.entry(row.metric.to_string()).or_default();
            if row.step == JOB_STEP {
                curve.threshold = row.threshold;
            } else {
                curve.steps.push(row);
            }
        }
        let mut bins: BTreeMap<ResultKey, Vec<ReliabilityRow>> = BTreeMap::new();
        let plain = |row: &ReliabilityRow| {
            row.arm.is_empty() && row.slice.is_empty() && row.class.is_empty()
        };
        for row in read_rows::<ReliabilityRow>(tables)?.into_iter().filter(plain) {
            let scope = if row.group.is_empty() { "total" } else { "group" };
            let key = ResultKey::new([&row.model, "", &row.sensitive], scope, [&row.group, ""]);
            bins.entry(key).or_default().push(row);
        }
        bins.values_mut().for_each(|of| of.sort_by_key(|row| row.bin));
        Ok(ScoreTables { curves, bins })
    }

    /// A metric at every threshold.
    pub(crate) fn curve(&self, key: &ResultKey, metric: &str) -> Option<&ReportedCurve> {
        self.curves.get(key)?.get(metric)
    }

    /// The bins of a group or of all, from the lowest scores on.
    pub(crate) fn bins(&self, key: &ResultKey) -> &[ReliabilityRow] {
        self.bins.get(key).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::ReportedCurve;
    use crate::table::CurveRow;

    fn curve(thresholds: impl Iterator<Item = Option<f64>>, threshold: f64) -> ReportedCurve {
        let step = |threshold| CurveRow { threshold, ..CurveRow::default() };
        ReportedCurve { steps: thresholds.map(step).collect(), threshold: Some(threshold) }
    }

    #[test]
    fn the_threshold_of_the_job_is_at_or_behind_its_step() {
        let shares = || (0..=1024).map(|i| Some(f64::from(i) / 1024.0));
        assert_eq!(curve(shares(), 0.35).job_step(), Some(358));
        assert_eq!([0.5, 0.0, 1.0].map(|t| curve(shares(), t).job_step().unwrap()), [512, 0, 1024]);
        let turned = || (0..=1024).map(|i| Some(850.0 - f64::from(i) * 550.0 / 1024.0));
        assert_eq!(curve(turned(), 575.0).job_step(), Some(512));
        let odds = || [None, Some(-1.0), Some(0.0), Some(1.0), None].into_iter();
        assert_eq!([-7.0, 0.2].map(|t| curve(odds(), t).job_step().unwrap()), [0, 2]);
        assert_eq!(ReportedCurve::default().job_step(), None);
    }
}
