//! Checks the block `why`, and gates on it.

use crate::job::GateBlock;
use crate::job::messages as m;
use crate::job::read::tree::join;
use crate::param::Name;
use crate::why::knobs::{WhyBlock, WhyColumns};

use super::names::numbered;
use super::{JobChecker, path};

impl JobChecker<'_> {
    /// The block `why`.
    pub(super) fn why(&mut self) {
        for (name, block) in &self.job.why {
            self.one_why(&path(&["why", name.as_str()]), block);
        }
    }

    fn one_why(&mut self, at: &str, block: &WhyBlock) {
        let (here, data) = (join(at, "model"), &self.job.data);
        let model = self.model_named(here.as_str(), &block.model);
        let is_unasked = model.is_some_and(|model| !model.scores_counterfactuals());
        let of_scores = !block.metric.is_of_errors() && is_unasked;
        self.say(here, of_scores.then(|| m::why_of_scores(&block.model)));
        self.say(at, data.label.classes().map(|_| m::why_of_classes()));
        self.why_subject(at, block);
        self.why_set(at, block);
        self.arm(at, block.arm.as_ref(), (Some(&block.model), block.counterfactual.as_ref()));
        let lacks_side = block.metric.is_by_favour() && self.lacks_favourable();
        let id = block.metric.id();
        self.say(join(at, "metric"), lacks_side.then(|| m::why_no_favourable(id)));
        let is_none = block.share().is_none();
        let said = || m::support_no_share(block.support.get());
        self.say(join(at, "support"), is_none.then(said));
        if let WhyColumns::Named(names) = &block.columns {
            let known = data.listed_features().chain(data.features.onehot.keys());
            let known: Vec<_> = known.chain(data.sensitive.keys()).collect();
            for (place, name) in numbered(join(at, "columns"), names) {
                self.check_known("column", place, name, &known);
            }
        }
    }

    /// A direction between two groups of an attribute, or an attribute.
    fn why_subject(&mut self, at: &str, block: &WhyBlock) {
        let Some((attribute, groups)) = block.subject() else {
            return self.say(at, m::why_subject(at));
        };
        let here = join(at, if groups.is_some() { "direction" } else { "sensitive" });
        if !self.attribute(here.as_str(), attribute) {
            return;
        }
        let Some([from, to]) = groups else { return };
        let declared = self.job.data.groups_of(attribute);
        for group in [from, to] {
            self.check_known("group", join(&here, attribute.as_str()), group, &declared);
        }
        self.say(here, (from == to).then(|| m::direction_itself(from)));
    }

    /// A set for switches, none for errors.
    fn why_set(&mut self, at: &str, block: &WhyBlock) {
        let (id, here) = (block.metric.id(), join(at, "counterfactual"));
        if block.metric.is_of_errors() {
            let set = block.counterfactual.as_ref();
            self.say(here, set.map(|_| m::gate_superfluous_set(&id)));
            return self.say(join(at, "metric"), self.lacks_label().then(|| m::why_no_label(&id)));
        }
        let Some(set) = &block.counterfactual else {
            return self.say(at, m::why_no_set(id, at));
        };
        let Some(used) = self.set_named(&here, set, Some(&block.model)) else { return };
        let unchanged = block.subject().filter(|(attribute, _)| !used.changes(attribute));
        self.say(here, unchanged.map(|(attribute, _)| m::why_set_not_changing(set, attribute)));
    }

    /// A gate on patterns.
    pub(super) fn why_gate(&mut self, at: &str, why: &Name, gate: &GateBlock) {
        let said = || m::block_key_missing(at, "patterns_at_most", "patterns_at_most: 0");
        self.say(at, gate.patterns_at_most.is_none().then(said));
        self.check_known("why block", join(at, "why"), why, self.job.why.keys());
    }
}
