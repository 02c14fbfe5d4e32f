//! Checks the block `experiments`: what is trained again, on which rows, and what is added to them.

use crate::counterfactual::forms::ConditionOn;
use crate::job::CounterfactualSet;
use crate::job::blocks::experiments::{
    AdasynArm, CfsAdasynArm, DirectedArm, DirectedRule, ExperimentBlock, FirstArm,
};
use crate::job::read::nearest::{list, suggest};
use crate::job::read::tree::join;
use crate::param::{ColumnName, Fraction, Name, Word};

use super::{JobChecker, path};

/// The most folds: a role is a byte, and some of these mean something else.
const MOST_FOLDS: u64 = 254;

/// The most neighbours of ADASYN.
const MOST_NEIGHBOURS: u64 = 1000;

impl<'a> JobChecker<'a> {
    /// The whole block.
    pub(super) fn experiments(&mut self) {
        for (name, experiment) in &self.job.experiments {
            let at = path(&["experiments", name.as_str()]);
            if self.is_sound(&[&at]) {
                self.experiment(&at, name, experiment);
            }
        }
    }

    fn experiment(&mut self, at: &str, name: &Name, experiment: &ExperimentBlock) {
        if self.job.data.label.column().is_none() && self.is_sound(&["data.label"]) {
            let what = format!(
                "the experiment `{name}` trains models and needs a label, but `data.label` is \
                 `none`"
            );
            self.push_problem(
                "needs-label",
                at,
                what,
                "name the label column, or take the experiment out",
            );
        }
        self.model_of_experiment(at, name, experiment);
        self.rows_of_experiment(at, name, experiment);
        let set = self.set_of_experiment(at, name, experiment);
        let arms = &experiment.arms;
        let here = format!("{at}.arms");
        if arms.names().is_empty() {
            let hint = "add one, such as `all: {}` for every valid counterfactual; `base` is \
                        measured anyway";
            self.push_problem(
                "empty-list",
                here,
                format!("the experiment `{name}` has no arm"),
                hint,
            );
            return;
        }
        if let Some(directed) = &arms.directed {
            self.directed(&format!("{here}.directed"), directed, set);
        }
        if let Some(diverse) = &arms.diverse {
            self.fraction(&format!("{here}.diverse"), diverse.fraction);
        }
        if let Some(adasyn) = &arms.adasyn {
            self.adasyn(&format!("{here}.adasyn"), adasyn);
        }
        if let Some(both) = &arms.cfs_adasyn {
            self.first(&format!("{here}.cfs_adasyn.first"), experiment, both);
            self.adasyn(&format!("{here}.cfs_adasyn"), &both.adasyn());
        }
    }

    fn model_of_experiment(&mut self, at: &str, name: &Name, experiment: &ExperimentBlock) {
        if !self.are_names_sound("models") || self.job.models.is_empty() {
            return;
        }
        let here = format!("{at}.model");
        let models = self.job.models.keys().map(Name::as_str);
        if !self.check_known(
            "model",
            here.clone(),
            experiment.model.as_str(),
            models,
            "unknown-name",
        ) {
            return;
        }
        let model = &self.job.models[&experiment.model];
        let own = path(&["models", experiment.model.as_str()]);
        if self.is_sound(&[&own]) && !self.has_problem(&[&own]) && !model.is_trained() {
            let what = format!(
                "the experiment `{name}` trains a model again, but `{}` is not trained in this run",
                experiment.model
            );
            let hint = "name a model such as `logistic: {l2: 1.0}` or `boosting: {}`, or a command \
                        with `train`; other models are only audited";
            self.push_problem("cannot-train", here, what, hint);
        }
    }

    fn rows_of_experiment(&mut self, at: &str, name: &Name, experiment: &ExperimentBlock) {
        let here = format!("{at}.folds");
        match experiment.folds.map(|folds| folds.get()) {
            Some(1) => self.push_problem(
                "bad-split",
                here,
                "one fold leaves no rows to train on",
                "write 2 or more; 5 is usual",
            ),
            Some(folds) if folds > MOST_FOLDS => {
                self.push_problem(
                    "bad-split",
                    here,
                    format!("`{folds}` folds are too many"),
                    format!("at most {MOST_FOLDS}; 5 is usual"),
                );
            }
            Some(_) => {}
            None if self.job.data.split.is_none() && self.is_sound(&["data.split"]) => {
                let what = format!(
                    "the experiment `{name}` trains models, but there are no training rows"
                );
                self.push_problem("needs-split", at, what, "write `folds: 5`, or add `data.split`");
            }
            None => {}
        }
    }

    fn set_of_experiment(
        &mut self,
        at: &str,
        name: &Name,
        experiment: &ExperimentBlock,
    ) -> Option<&'a CounterfactualSet> {
        if !self.are_names_sound("counterfactuals") {
            return None;
        }
        let (here, from) = (format!("{at}.from"), experiment.from.as_str());
        let job = self.job;
        if job.counterfactuals.is_empty() {
            let what = format!(
                "the experiment `{name}` uses the counterfactual set `{from}`, but the job has no \
                 such set"
            );
            self.push_problem(
                "needs-counterfactual",
                here,
                what,
                "add one, such as `counterfactuals: {flip: {naive: {}}}`",
            );
            return None;
        }
        if !self.check_known(
            "counterfactual set",
            here.clone(),
            from,
            job.counterfactuals.keys().map(Name::as_str),
            "unknown-name",
        ) {
            return None;
        }
        let set = &job.counterfactuals[&experiment.from];
        if set.graphs().is_some() {
            let what = format!(
                "the counterfactuals of `{from}` are numbers for every graph, not rows on which a \
                 model could be trained"
            );
            self.push_problem("not-offered", here, what, "name a set with another strategy");
            return None;
        }
        if let Some(ConditionOn::Prediction(model)) = set.knobs().map(|knobs| knobs.condition_on())
        {
            let what = format!(
                "the set `{from}` conditions on the predictions of `{model}`, but the \
                 training rows have labels"
            );
            self.push_problem(
                "not-offered",
                here,
                what,
                "name a set with `condition_on: label` or `none`",
            );
        }
        Some(set)
    }

    fn fraction(&mut self, at: &str, fraction: Fraction) {
        if fraction.get() == 0.0 {
            self.push_problem(
                "bad-value",
                format!("{at}.fraction"),
                "a fraction of `0` adds no row",
                "give it a share above 0; the paper uses 0.1",
            );
        }
    }

    fn directed(&mut self, at: &str, directed: &DirectedArm, set: Option<&CounterfactualSet>) {
        self.fraction(at, directed.fraction);
        if directed.rules.is_empty() {
            let hint = "add one, such as `upward: {source_group: A, label: positive}`";
            self.push_problem("empty-list", format!("{at}.rules"), "there is no rule", hint);
        }
        let set = set.filter(|_| self.is_sound(&["data.sensitive", "counterfactuals"]));
        let attributes: Option<Vec<&ColumnName>> =
            set.map(|set| set.attributes(self.job).collect());
        for (name, rule) in &directed.rules {
            let here = join(&format!("{at}.rules"), name.as_str());
            if *rule == DirectedRule::default() {
                let hint = "specify its counterfactuals, such as `{source_group: A, label: \
                            positive}`; the arm `all` uses all of them";
                self.push_problem(
                    "empty-list",
                    here,
                    format!("the rule `{name}` has no condition"),
                    hint,
                );
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
                if !self.check_known("attribute", here, named.as_str(), names, "unknown-name") {
                    return;
                }
                named
            }
            (None, [only]) => *only,
            (None, _) if rule.source_group.is_none() && rule.target_group.is_none() => return,
            (None, _) => {
                let names: Vec<&str> = names.collect();
                let what = format!(
                    "the rule `{name}` names a group without its attribute, but the set changes {}",
                    names.len()
                );
                self.push_problem(
                    "missing-key",
                    at,
                    what,
                    format!("add `sensitive: ...`, one of {}", list(&names)),
                );
                return;
            }
        };
        let groups = self.job.data.groups_of(attribute);
        for (key, group) in
            [("source_group", &rule.source_group), ("target_group", &rule.target_group)]
        {
            if let Some(group) = group.as_ref().filter(|group| !groups.contains(group)) {
                let what = format!("the attribute `{attribute}` has no group `{group}`");
                let hint = suggest(group.as_str(), "its groups", groups.iter().map(Word::as_str));
                self.push_problem("unknown-group", format!("{at}.{key}"), what, hint);
            }
        }
        if let (Some(from), Some(to)) = (&rule.source_group, &rule.target_group)
            && from == to
        {
            let what = format!("no counterfactual leads from `{from}` to itself");
            self.push_problem(
                "bad-value",
                format!("{at}.target_group"),
                what,
                "name another group, or remove it to use all others",
            );
        }
    }

    fn adasyn(&mut self, at: &str, adasyn: &AdasynArm) {
        if adasyn.neighbours.get() > MOST_NEIGHBOURS {
            let what = format!("`{}` neighbours are too many", adasyn.neighbours.get());
            self.push_problem(
                "bad-value",
                format!("{at}.neighbours"),
                what,
                format!("at most {MOST_NEIGHBOURS}; 5 is usual"),
            );
        }
        let beta = adasyn.beta.get();
        if beta <= 0.0 || beta > 100.0 {
            let what =
                format!("a share of `{beta}` of the difference between the classes makes no sense");
            self.push_problem(
                "bad-value",
                format!("{at}.beta"),
                what,
                "write a number above 0; 1.0 makes up for all of it",
            );
        }
        if adasyn.ratio.get() == 0.0 {
            let what = "a ratio of `0` is always reached, so no rows would be made";
            self.push_problem(
                "bad-value",
                format!("{at}.ratio"),
                what,
                "write a share above 0; 1.0 makes rows wherever one class is rarer",
            );
        }
    }

    fn first(&mut self, at: &str, experiment: &ExperimentBlock, both: &CfsAdasynArm) {
        let arms = &experiment.arms;
        let lacking = match both.first {
            FirstArm::All => None,
            FirstArm::Switched => arms.switched.is_none().then_some("switched"),
            FirstArm::Directed => arms.directed.is_none().then_some("directed"),
            FirstArm::Diverse => arms.diverse.is_none().then_some("diverse"),
        };
        if let Some(lacking) = lacking {
            let what = format!(
                "`cfs_adasyn` starts with the counterfactuals of the arm `{lacking}`, but the \
                 experiment has no such arm"
            );
            self.push_problem(
                "unknown-name",
                at,
                what,
                format!("add `{lacking}` to the arms, or write `first: all`"),
            );
        }
    }
}
