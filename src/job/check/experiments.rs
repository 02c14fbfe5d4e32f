//! Checks the block `experiments`: what is trained again, on which rows, and what is added to them.

use crate::counterfactual::forms::ConditionOn;
use crate::job::CounterfactualSet;
use crate::job::blocks::experiments::{DirectedArm, DirectedRule, ExperimentBlock, FirstArm};
use crate::job::messages as m;
use crate::job::read::nearest::{list, suggest};
use crate::job::read::tree::join;
use crate::param::{ColumnName, Name};

use super::{JobChecker, path};

impl<'a> JobChecker<'a> {
    /// The whole block.
    pub(super) fn experiments(&mut self) {
        for (name, experiment) in &self.job.experiments {
            self.experiment(&path(&["experiments", name.as_str()]), name, experiment);
        }
    }

    fn experiment(&mut self, at: &str, name: &Name, experiment: &ExperimentBlock) {
        if self.lacks_label() {
            self.say(at, m::experiment_no_label(name));
        }
        self.model_of_experiment(at, name, experiment);
        if experiment.folds.is_none() && self.lacks_split() {
            self.say(at, m::experiment_no_split(name));
        }
        let set = self.set_of_experiment(at, name, experiment);
        let arms = &experiment.arms;
        let here = format!("{at}.arms");
        if arms.names().is_empty() {
            self.say(here, m::experiment_no_arm(name));
            return;
        }
        if let Some(directed) = &arms.directed {
            self.directed(&format!("{here}.directed"), directed, set);
        }
        let first = arms.cfs_adasyn.map(|both| both.first).filter(|first| *first != FirstArm::All);
        if let Some(first) = first.map(FirstArm::word).filter(|arm| !arms.names().contains(arm)) {
            self.say(format!("{here}.cfs_adasyn.first"), m::adasyn_arm_missing(first));
        }
    }

    fn model_of_experiment(&mut self, at: &str, name: &Name, experiment: &ExperimentBlock) {
        let here = format!("{at}.model");
        let Some(model) = self.model_named(here.as_str(), &experiment.model) else { return };
        let own = path(&["models", experiment.model.as_str()]);
        if !self.has_problem(&[&own]) && !model.is_trained() {
            self.say(here, m::experiment_not_trained(name, &experiment.model));
        }
    }

    fn set_of_experiment(
        &mut self,
        at: &str,
        name: &Name,
        experiment: &ExperimentBlock,
    ) -> Option<&'a CounterfactualSet> {
        let (here, from) = (format!("{at}.from"), experiment.from.as_str());
        let job = self.job;
        if job.counterfactuals.is_empty() {
            self.say(here, m::experiment_no_set(name, from));
            return None;
        }
        if !self.check_known("counterfactual set", here.clone(), from, job.counterfactuals.keys()) {
            return None;
        }
        let set = &job.counterfactuals[&experiment.from];
        if set.graphs().is_some() {
            self.say(here, m::experiment_of_graphs(from));
            return None;
        }
        if let Some(ConditionOn::Prediction(model)) = set.knobs().map(|of| of.condition_on) {
            self.say(here, m::experiment_of_prediction(from, model));
        }
        Some(set)
    }

    fn directed(&mut self, at: &str, directed: &DirectedArm, set: Option<&CounterfactualSet>) {
        let set = set.filter(|_| self.is_sound(&["data.sensitive", "counterfactuals"]));
        let attributes: Option<Vec<&ColumnName>> =
            set.map(|set| set.attributes(self.job).collect());
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
                self.say(at, m::rule_without_attribute(name, names.len(), list(&names)));
                return;
            }
        };
        let groups = self.job.data.groups_of(attribute);
        for (key, group) in
            [("source_group", &rule.source_group), ("target_group", &rule.target_group)]
        {
            if let Some(group) = group.as_ref().filter(|group| !groups.contains(group)) {
                let near = suggest(group, "its groups", &groups);
                self.say(format!("{at}.{key}"), m::group_unknown(attribute, group, near));
            }
        }
        if let (Some(from), Some(to)) = (&rule.source_group, &rule.target_group)
            && from == to
        {
            self.say(format!("{at}.target_group"), m::rule_group_itself(from));
        }
    }
}
