//! Checks the block `why`, and gates on it.

use crate::job::GateBlock;
use crate::job::messages as m;
use crate::job::read::tree::join;
use crate::param::Name;
use crate::why::knobs::{WhyBlock, WhyColumns};

use super::{JobChecker, path};

impl JobChecker<'_> {
    /// The block `why`.
    pub(super) fn why(&mut self) {
        for (name, block) in &self.job.why {
            self.one_why(&path(&["why", name.as_str()]), block);
        }
    }

    fn one_why(&mut self, at: &str, block: &WhyBlock) {
        let here = join(at, "model");
        let model = self.model_named(here.as_str(), &block.model);
        if !block.metric.is_of_errors() && model.is_some_and(|of| !of.scores_counterfactuals()) {
            self.say(here, m::why_of_scores(&block.model));
        }
        if self.job.data.label.classes().is_some() {
            self.say(at, m::why_of_classes());
        }
        self.why_subject(at, block);
        self.why_set(at, block);
        self.arm(at, block.arm.as_ref(), (Some(&block.model), block.counterfactual.as_ref()));
        if block.metric.is_by_favour() && self.lacks_favourable() {
            self.say(join(at, "metric"), m::why_no_favourable(block.metric.id()));
        }
        if block.share().is_none() {
            self.say(join(at, "support"), m::support_no_share(block.support.get()));
        }
        if let WhyColumns::Named(names) = &block.columns {
            let data = &self.job.data;
            let known = data.listed_features().chain(data.features.onehot.keys());
            let known: Vec<_> = known.chain(data.sensitive.keys()).collect();
            for (i, name) in names.iter().enumerate() {
                self.check_known("column", format!("{at}.columns[{i}]"), name, &known);
            }
        }
    }

    /// A direction between two groups of an attribute, or an attribute.
    fn why_subject(&mut self, at: &str, block: &WhyBlock) {
        let Some((attribute, groups)) = block.subject() else {
            self.say(at, m::why_subject(at));
            return;
        };
        let key = if groups.is_some() { "direction" } else { "sensitive" };
        let here = join(at, key);
        if !self.attribute(here.as_str(), attribute) {
            return;
        }
        let Some([from, to]) = groups else { return };
        let declared = self.job.data.groups_of(attribute);
        for group in [from, to] {
            self.check_known("group", join(&here, attribute.as_str()), group, &declared);
        }
        if from == to {
            self.say(here, m::direction_itself(from));
        }
    }

    /// A set for switches, none for errors.
    fn why_set(&mut self, at: &str, block: &WhyBlock) {
        let id = block.metric.id();
        if block.metric.is_of_errors() {
            if block.counterfactual.is_some() {
                let here = join(at, "counterfactual");
                self.say(here, m::gate_superfluous_set(id));
            }
            if self.lacks_label() {
                self.say(join(at, "metric"), m::why_no_label(id));
            }
            return;
        }
        let Some(set) = &block.counterfactual else {
            self.say(at, m::why_no_set(id, at));
            return;
        };
        let here = join(at, "counterfactual");
        let Some(of) = self.set_named(&here, set, Some(&block.model)) else { return };
        let unchanged = block.subject().filter(|(attribute, _)| !of.changes(attribute));
        if let Some((attribute, _)) = unchanged {
            self.say(here, m::why_set_not_changing(set, attribute));
        }
    }

    /// A gate on patterns.
    pub(super) fn why_gate(&mut self, at: &str, why: &Name, gate: &GateBlock) {
        if gate.patterns_at_most.is_none() {
            self.say(at, m::block_key_missing(at, "patterns_at_most", "patterns_at_most: 0"));
        }
        self.check_known("why block", join(at, "why"), why, self.job.why.keys());
    }
}
