//! Checks the block `why`, and gates on it.

use crate::job::GateBlock;
use crate::job::read::tree::join;
use crate::param::{ColumnName, Name};
use crate::why::knobs::{WhyBlock, WhyColumns};

use super::{JobChecker, path};

/// Items of the longest pattern that may be asked for: the search grows with each.
const LONGEST: u64 = 6;

/// Orders of features that may be asked for: the rows of a person grow with them.
const ORDERS: u64 = 2000;

impl JobChecker<'_> {
    /// The block `why`.
    pub(super) fn why(&mut self) {
        for (name, block) in &self.job.why {
            let at = path(&["why", name.as_str()]);
            if self.is_sound(&[&at]) {
                self.one_why(&at, block);
            }
        }
    }

    fn one_why(&mut self, at: &str, block: &WhyBlock) {
        if self.are_names_sound("models") && !self.job.models.is_empty() {
            let names = self.job.models.keys().map(Name::as_str);
            let here = join(at, "model");
            let known = self.check_known(
                "model",
                here.clone(),
                block.model.as_str(),
                names,
                "unknown-name",
            );
            let of_rows = known
                && !block.metric.is_of_errors()
                && !self.job.models[block.model.as_str()].scores_counterfactuals();
            if of_rows {
                let what = format!(
                    "the model `{}` has only scores of the rows, and a switch needs those of \
                     counterfactuals",
                    block.model
                );
                let hint = "name their file under `scores.counterfactual` of the model";
                self.push_problem("needs-scores", here, what, hint);
            }
        }
        if self.job.data.label.classes().is_some() {
            let what = "the label has several classes, and `why` is about predictions of two sides";
            self.push_problem("not-offered", at, what, "take the block out");
        }
        self.why_subject(at, block);
        self.why_set(at, block);
        if block.metric.is_by_favour()
            && self.job.data.favourable_side().is_none()
            && self.is_sound(&["data.label", "data.favourable"])
        {
            let what = format!(
                "`{}` must know which prediction people want, and the job has neither a label nor \
                 `data.favourable`",
                block.metric.id()
            );
            let hint = "add `favourable: positive` or `favourable: negative` under `data`";
            self.push_problem("needs-label", join(at, "metric"), what, hint);
        }
        if block.share().is_none() {
            let what = format!("a support of `{}` is not a share of people", block.support.get());
            let hint = "write a share above 0, such as 0.01 for 1 %";
            self.push_problem("bad-value", join(at, "support"), what, hint);
        }
        if block.longest.get() > LONGEST {
            let what = format!("patterns of `{}` traits are too long", block.longest.get());
            let hint = format!("write at most {LONGEST}; 3 is usual");
            self.push_problem("bad-value", join(at, "longest"), what, hint);
        }
        let orders = block.permutations.get();
        if !(4..=ORDERS).contains(&orders) || !orders.is_multiple_of(2) {
            let what =
                format!("`permutations: {orders}` makes no pairs of an order and its reverse");
            let hint = format!("write an even number from 4 to {ORDERS}; 200 is usual");
            self.push_problem("bad-value", join(at, "permutations"), what, hint);
        }
        if block.people.get() < 2 {
            let what =
                "half of the people who are explained switch, so `people: 1` explains nobody";
            self.push_problem("bad-value", join(at, "people"), what, "write at least 2");
        }
        if let WhyColumns::Named(names) = &block.columns
            && self.is_sound(&["data.features", "data.sensitive"])
        {
            let texts: Vec<&str> = names.iter().map(ColumnName::as_str).collect();
            let here = join(at, "columns");
            if self.check_distinct(&here, "column", &texts) {
                let data = &self.job.data;
                let known: Vec<&str> = data
                    .listed_features()
                    .chain(data.features.onehot.keys())
                    .chain(data.sensitive.keys())
                    .map(ColumnName::as_str)
                    .collect();
                for (i, name) in texts.iter().enumerate() {
                    let here = format!("{here}[{i}]");
                    self.check_known("column", here, name, known.iter().copied(), "unknown-column");
                }
            }
        }
    }

    /// A direction between two groups of an attribute, or an attribute.
    fn why_subject(&mut self, at: &str, block: &WhyBlock) {
        let Some((attribute, groups)) = block.subject() else {
            let what = format!("`{at}` needs one of `direction` and `sensitive`");
            let hint = "write `direction: {ATTRIBUTE: [FROM, TO]}`, or `sensitive: ATTRIBUTE` for \
                        all directions together";
            self.push_problem("one-of", at, what, hint);
            return;
        };
        let key = if groups.is_some() { "direction" } else { "sensitive" };
        let here = join(at, key);
        if !self.are_names_sound("data.sensitive") || !self.attribute(here.clone(), attribute) {
            return;
        }
        let Some([from, to]) = groups else { return };
        let declared = self.job.data.groups_of(attribute);
        let names: Vec<String> = declared.iter().map(|group| group.to_string()).collect();
        for group in [from, to] {
            self.check_known(
                "group",
                join(&here, attribute.as_str()),
                group.as_str(),
                names.iter().map(String::as_str),
                "unknown-group",
            );
        }
        if from == to {
            let what = format!("a direction leads from `{from}` to another group");
            self.push_problem("bad-scope", here, what, "name two groups");
        }
    }

    /// A set for switches, none for errors.
    fn why_set(&mut self, at: &str, block: &WhyBlock) {
        let id = block.metric.id();
        if block.metric.is_of_errors() {
            if block.counterfactual.is_some() {
                let what = format!("`{id}` is measured without counterfactuals");
                let here = join(at, "counterfactual");
                self.push_problem("bad-scope", here, what, "remove `counterfactual`");
            }
            if self.job.data.label.column().is_none() && self.is_sound(&["data.label"]) {
                let what = format!("`{id}` needs a label, and the job has none");
                let hint = "name the label under `data`, or ask for a switch rate";
                self.push_problem("needs-label", join(at, "metric"), what, hint);
            }
            return;
        }
        let Some(set) = &block.counterfactual else {
            let what = format!("`{id}` needs a counterfactual set, and `{at}` names none");
            self.push_problem("missing-key", at, what, "add `counterfactual: NAME`");
            return;
        };
        if !self.is_sound(&["counterfactuals"]) || !self.are_names_sound("counterfactuals") {
            return;
        }
        let sets = self.job.sets();
        let names: Vec<&str> = sets.iter().map(|(name, _)| name.as_str()).collect();
        let here = join(at, "counterfactual");
        if !self.check_known(
            "counterfactual set",
            here.clone(),
            set.as_str(),
            names.iter().copied(),
            "unknown-name",
        ) {
            return;
        }
        self.asks(at, &block.model, set.as_str());
        let changes = |attribute: &ColumnName| {
            let mut own = sets.iter().filter(|(name, _)| name == set.as_str());
            own.any(|(_, set)| set.changes(attribute))
        };
        if let Some((attribute, _)) = block.subject().filter(|(attribute, _)| !changes(attribute)) {
            let what = format!("the set `{set}` does not change `{attribute}`");
            let hint = "name an attribute that it changes, or another set";
            self.push_problem("bad-scope", here, what, hint);
        }
    }

    /// A gate on patterns.
    pub(super) fn why_gate(&mut self, at: &str, why: &Name, gate: &GateBlock) {
        if gate.patterns_at_most.is_none() {
            let what = format!("`{at}` has no `patterns_at_most`");
            self.push_problem("missing-key", at, what, "add `patterns_at_most: 0`");
        }
        if self.are_names_sound("why") {
            let blocks = self.job.why.keys().map(Name::as_str);
            self.check_known("why block", join(at, "why"), why.as_str(), blocks, "unknown-name");
        }
    }
}
