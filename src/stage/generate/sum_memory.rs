//! Whether the counterfactuals of a job fit its memory: checked before any is generated.

use crate::error::Result;
use crate::job::{self, MetricFamily};
use crate::metric::Metric;
use crate::metric::asked::GateScope;
use crate::metric::catalog::catalog;
use crate::metric::evidence::direction_memory::DirectionMemory;
use crate::stage::applied_set::AppliedSet;
use crate::stage::job_place::job_error;
use crate::stage::memory;
use crate::stage::memory::memory_in_words;
use crate::stage::plan::StagePlan;

/// Bytes of a row of `metrics` while it is measured, judged and written: 150 groups with the
/// families group and ccm make some 830,000 rows, and that run took 7.9 GB.
const BYTES_OF_A_ROW: u64 = 9_500;

impl StagePlan<'_> {
    /// Refuses the job where the sums over the groups of an attribute take more memory than it may
    /// have.
    ///
    /// # Errors
    /// The job asks for too much: names the attribute, its groups and the bytes.
    pub(crate) fn check_sum_memory(&self) -> Result<()> {
        let allowed = memory::allowed(self.settings);
        let weighted = self.job.data.weight.is_some();
        let influences = self.wants_shift();
        // Sets of graphs have two groups and sums of their own.
        let counted = self.applied_sets().into_iter().filter(|applied| applied.graphs().is_none());
        let groups = |attribute: &str| {
            let found = self.job.data.sensitive.iter().find(|(name, _)| name.as_str() == attribute);
            found.map_or(0, |(name, _)| self.job.data.groups_of(name).len())
        };
        let (threads, classes) = (self.settings.threads.max(1), self.n_classes().unwrap_or(1));
        let needed = counted.map(|applied| {
            let sums = DirectionMemory {
                groups: groups(applied.attribute),
                threads,
                classes,
                weighted,
                influences,
            };
            (sums.bytes(), sums.groups, applied.attribute, "sums")
        });
        let attributes = self
            .job
            .data
            .sensitive
            .keys()
            .map(|name| (self.metric_rows(name.as_str(), groups(name.as_str())), name));
        let rows = attributes.map(|(rows, name)| {
            (rows * classes as u64 * BYTES_OF_A_ROW, groups(name.as_str()), name.as_str(), "values")
        });
        let most = needed.chain(rows).max_by_key(|found| found.0).filter(|found| found.0 > allowed);
        let Some((bytes, n, attribute, what)) = most else { return Ok(()) };
        let place = job::check::path(&["data", "sensitive", attribute]);
        let hint = match what {
            "sums" => {
                "merge groups by `map` or `bins`, leave the family `shift` out of \
                 `metrics.families`, use fewer `--threads`, or allow more with `--memory`"
            }
            _ => {
                "merge groups by `map` or `bins`, name fewer `metrics.families`, or allow \
                 more with `--memory`"
            }
        };
        let what = format!(
            "the {n} groups of `{attribute}` make {} directions, whose {what} need about {} of \
             memory; the run may use {}",
            n * n.saturating_sub(1),
            memory_in_words(bytes),
            memory_in_words(allowed)
        );
        Err(job_error(self.checked, "too-many-groups", place, (what, hint.to_owned())))
    }

    /// Rows of the table `metrics` that the pairs and directions of an attribute make, without
    /// slices and arms.
    fn metric_rows(&self, attribute: &str, groups: usize) -> u64 {
        let wanted = job::check::defaults::families(self.job);
        let directions = (groups * groups.saturating_sub(1)) as u64;
        let per_pair = |of_set: bool| -> u64 {
            let mine = catalog()
                .filter(|m| wanted.contains(&m.family) && m.needs_counterfactual() == of_set);
            // A pair has one row, the two directions of it one each. Clarify compares only
            // with the reference.
            let rows = |m: &Metric| {
                let pair =
                    if m.family == MetricFamily::Clarify { groups as u64 } else { directions / 2 };
                let has = |scope: GateScope| u64::from(m.scopes().contains(&scope));
                has(GateScope::Pair) * pair + has(GateScope::Direction) * directions
            };
            mine.map(rows).sum()
        };
        let counted =
            |applied: &AppliedSet<'_>| applied.attribute == attribute && applied.graphs().is_none();
        let asked = self.scored_sets().filter(|(.., applied)| counted(applied)).count() as u64;
        self.job.models.len() as u64 * per_pair(false) + asked * per_pair(true)
    }
}
