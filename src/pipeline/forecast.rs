//! Whether the counterfactuals of a job fit its memory: asked before any is generated.

use crate::error::{Error, Problem, Result};
use crate::metric::redraw::Room;
use crate::pipeline::memory;
use crate::pipeline::plan::Plan;
use crate::pipeline::training::in_words;
use crate::spec;

impl Plan<'_> {
    /// Refuses the job where the sums over the groups of an attribute take more memory than it may have. `people` are those who are
    /// audited, where that is known.
    ///
    /// # Errors
    /// The job asks for too much: names the attribute, its groups and the bytes.
    pub(super) fn check_room(&self, people: Option<u64>) -> Result<()> {
        let allowed = memory::allowed(self.settings);
        let by_block = self.job.data.weight.is_some() || !self.job.metrics.compare.is_empty();
        let samples = self.wanted_shift().filter(|_| self.wants_shift()).map(|wanted| wanted.samples.get());
        // Sets of graphs have two groups and sums of their own.
        let counted = self.worlds().into_iter().filter(|world| world.graphs().is_none());
        let groups = |attribute: &str| {
            let found = self.job.data.sensitive.iter().find(|(name, _)| name.as_str() == attribute);
            found.map_or(0, |(name, _)| self.job.data.groups_of(name).len())
        };
        let needed = counted.map(|world| {
            let (threads, classes) = (self.settings.threads.max(1), self.n_classes().unwrap_or(1));
            let room = Room { groups: groups(world.attribute), threads, classes, by_block, samples };
            (room.bytes(people), room.groups, world.attribute)
        });
        let Some((bytes, n, attribute)) = needed.max_by_key(|found| found.0).filter(|found| found.0 > allowed) else { return Ok(()) };
        let place = spec::check::path(&["data", "sensitive", attribute]);
        Err(Error::Job(vec![Problem {
            code: "too-many-groups",
            place: self.checked.places.at(&place).cloned(),
            path: place,
            what: format!(
                "the {n} groups of `{attribute}` make {} directions, whose sums take some {} of memory; the run may take {}",
                n * n.saturating_sub(1),
                in_words(bytes),
                in_words(allowed)
            ),
            hint: Some(
                "join groups by `map` or `bins`, leave the family `shift` out of `metrics.families`, ask for fewer \
                 `metrics.bootstrap.samples` or `--threads`, or allow more with `--memory`"
                    .to_owned(),
            ),
        }]))
    }
}
