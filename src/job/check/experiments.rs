//! Checks the block `experiments`: what is trained again, on which rows, and what is added to them.

use crate::counterfactual::short_forms::ConditionOn;
use crate::job::CounterfactualSet;
use crate::job::blocks::experiments::{DirectedArm, DirectedRule, ExperimentBlock, FirstArm};
use crate::job::messages as m;
use crate::job::read::tree::join;
use crate::job::read::word_lists::list;
use crate::param::{ColumnName, Name, key_word};

use super::{JobChecker, path};

impl<'a> JobChecker<'a> {
    /// The whole block.
    pub(super) fn experiments(&mut self) {
        for (name, experiment) in &self.job.experiments {
            self.experiment(&path(&["experiments", name.as_str()]), name, experiment);
        }
    }

    fn experiment(&mut self, at: &str, name: &Name, experiment: &ExperimentBlock) {
        self.say(at, self.lacks_label().then(|| m::experiment_no_label(name)));
        let (here, arms, wanted) = (join(at, "model"), &experiment.arms, &experiment.model);
        if let Some(model) = self.model_named(here.as_str(), wanted) {
            let own = path(&["models", wanted.as_str()]);
            let is_other = !self.has_problem(&[&own]) && !model.is_trained();
            self.say(here, is_other.then(|| m::experiment_not_trained(name, wanted)));
        }
        let lacks_split = experiment.folds.is_none() && self.lacks_split();
        self.say(at, lacks_split.then(|| m::experiment_no_split(name)));
        let set = self.set_added(&join(at, "from"), name, &experiment.from);
        let here = join(at, "arms");
        let named = arms.named();
        if named.len() == 1 {
            return self.say(here, m::experiment_no_arm(name));
        }
        if let Some(directed) = &arms.directed {
            self.directed(&join(&here, "directed"), directed, set);
        }
        let first = arms.cfs_adasyn.map(|both| both.first).filter(|first| *first != FirstArm::All);
        let first = first.map(|first| key_word(&first));
        let missing = first.filter(|first| named.iter().all(|arm| arm.to_string() != *first));
        self.say(format!("{here}.cfs_adasyn.first"), missing.map(m::adasyn_arm_missing));
    }

    /// The set whose counterfactuals are added.
    fn set_added(&mut self, at: &str, name: &Name, from: &Name) -> Option<&'a CounterfactualSet> {
        let sets = &self.job.counterfactuals;
        if sets.is_empty() {
            self.say(at, m::experiment_no_set(name, from));
        } else {
            self.check_known("counterfactual set", at, from, sets.keys());
        }
        let set = sets.get(from)?;
        if set.graphs().is_some() {
            self.say(at, m::experiment_of_graphs(from));
            return None;
        }
        if let Some(ConditionOn::Prediction(model)) = set.knobs().map(|knobs| knobs.condition_on) {
            self.say(at, m::experiment_of_prediction(from, model));
        }
        Some(set)
    }

    fn directed(&mut self, at: &str, directed: &DirectedArm, set: Option<&CounterfactualSet>) {
        let set = set.filter(|_| self.is_sound(&["data.sensitive", "counterfactuals"]));
        let attributes = set.map(|set| set.attributes(self.job).collect::<Vec<_>>());
        for (name, rule) in &directed.rules {
            let here = join(&format!("{at}.rules"), name.as_str());
            if *rule == DirectedRule::default() {
                self.say(here, m::rule_empty(name));
            } else if let Some(attributes) = &attributes {
                self.rule(&here, name, rule, attributes);
            }
        }
    }

    fn rule(&mut self, at: &str, name: &Name, rule: &DirectedRule, attributes: &[&ColumnName]) {
        let names = attributes.iter().map(|a| a.as_str());
        let attribute = match (&rule.sensitive, attributes) {
            (Some(named), _) => {
                let here = format!("{at}.sensitive");
                if !self.check_known("attribute", here, named, names) {
                    return;
                }
                named
            }
            (None, [only]) => *only,
            (None, _) if rule.source_group.is_none() && rule.target_group.is_none() => return,
            (None, _) => {
                let names: Vec<&str> = names.collect();
                let said = m::rule_without_attribute(name, names.len(), list(&names));
                return self.say(at, said);
            }
        };
        let (from, to) = (rule.source_group.as_ref(), rule.target_group.as_ref());
        let groups = self.job.data.groups_of(attribute);
        for (key, group) in [("source_group", from), ("target_group", to)] {
            let Some(group) = group else { continue };
            let unknown = |near: String| m::group_unknown(attribute, group, near);
            self.one_of(join(at, key), group, ("its groups", &groups), unknown);
        }
        let same = from.filter(|from| Some(*from) == to);
        self.say(join(at, "target_group"), same.map(m::rule_group_itself));
    }
}
