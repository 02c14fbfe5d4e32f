//! Checks `exports`: each form once, and metrics that the run measures.

use crate::job::ExportFormat;
use crate::job::messages as m;
use crate::job::read::nearest::list;

use super::JobChecker;
use super::defaults::families;

impl JobChecker<'_> {
    /// The forms of other tools that a run writes.
    pub(super) fn exports(&mut self) {
        if !self.is_sound(&["exports"]) {
            return;
        }
        let job = self.job;
        let words: Vec<String> = job.exports.iter().map(|form| form.word().to_owned()).collect();
        if !words.is_empty() {
            self.check_distinct("exports", "form", &words);
        }
        for (i, form) in job.exports.iter().enumerate() {
            let ExportFormat::Prometheus(knobs) = form else { continue };
            let at = format!("exports[{i}].prometheus.metrics");
            let Some(metrics) = knobs.metrics.as_deref() else { continue };
            for (k, metric) in metrics.iter().enumerate() {
                self.exported_metric(format!("{at}[{k}]"), metric);
            }
        }
    }

    fn exported_metric(&mut self, at: String, metric: &str) {
        let Some(known) = self.metric_named(at.clone(), metric) else { return };
        let measured = families(self.job);
        if measured.contains(&known.family) {
            return;
        }
        let words: Vec<&str> = measured.iter().map(|family| family.as_str()).collect();
        self.say(at, m::export_unmeasured(metric, known.family.as_str(), list(&words)));
    }
}
