//! Checks the block `metrics.compare`.

use crate::job::MetricFamily;
use crate::job::read::tree::join;
use crate::param::Name;

use super::{JobChecker, families};

/// The families whose values are compared.
const COMPARED: [MetricFamily; 4] =
    [MetricFamily::Performance, MetricFamily::Group, MetricFamily::Ccm, MetricFamily::Eccm];

impl JobChecker<'_> {
    /// The whole block.
    pub(super) fn compare(&mut self) {
        let compare = &self.job.metrics.compare;
        if compare.is_empty() || !self.is_sound(&["metrics.compare"]) {
            return;
        }
        let measured = families(self.job, self.catalog);
        if self.is_sound(&["metrics.families"])
            && !COMPARED.iter().any(|family| measured.contains(family))
        {
            let hint = "add one of `performance`, `group`, `ccm` and `eccm` to `metrics.families`, \
                        or remove `compare`";
            self.push_problem(
                "not-measured",
                "metrics.compare",
                "no family is measured by which models are compared",
                hint,
            );
        }
        if !self.are_names_sound("models") || self.job.models.is_empty() {
            return;
        }
        for (first, second) in compare {
            let at = join("metrics.compare", first.as_str());
            let both = [first, second].map(|name| {
                self.check_known(
                    "model",
                    at.clone(),
                    name.as_str(),
                    self.job.models.keys().map(Name::as_str),
                    "unknown-name",
                )
            });
            if both == [true, true] && first == second {
                let what = format!("the model `{first}` is compared with itself");
                self.push_problem("bad-value", at, what, "name another model after the colon");
            }
        }
    }
}
