//! Checks the block `why`, and gates on it.

use crate::job::GateBlock;
use crate::job::messages as m;
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
                self.say(here, m::why_of_scores(&block.model));
            }
        }
        if self.job.data.label.classes().is_some() {
            self.say(at, m::why_of_classes());
        }
        self.why_subject(at, block);
        self.why_set(at, block);
        if block.metric.is_by_favour()
            && self.job.data.favourable_side().is_none()
            && self.is_sound(&["data.label", "data.favourable"])
        {
            self.say(join(at, "metric"), m::why_no_favourable(block.metric.id()));
        }
        if block.share().is_none() {
            self.say(join(at, "support"), m::support_no_share(block.support.get()));
        }
        if block.longest.get() > LONGEST {
            self.say(join(at, "longest"), m::pattern_long(block.longest.get(), LONGEST));
        }
        let orders = block.permutations.get();
        if !(4..=ORDERS).contains(&orders) || !orders.is_multiple_of(2) {
            self.say(join(at, "permutations"), m::permutations_odd(orders, ORDERS));
        }
        if block.people.get() < 2 {
            self.say(join(at, "people"), m::people_one());
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
            self.say(at, m::why_subject(at));
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
            if self.job.data.label.column().is_none() && self.is_sound(&["data.label"]) {
                self.say(join(at, "metric"), m::why_no_label(id));
            }
            return;
        }
        let Some(set) = &block.counterfactual else {
            self.say(at, m::why_no_set(id, at));
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
            self.say(here, m::why_set_not_changing(set, attribute));
        }
    }

    /// A gate on patterns.
    pub(super) fn why_gate(&mut self, at: &str, why: &Name, gate: &GateBlock) {
        if gate.patterns_at_most.is_none() {
            self.say(at, m::why_limit_missing(at));
        }
        if self.are_names_sound("why") {
            let blocks = self.job.why.keys().map(Name::as_str);
            self.check_known("why block", join(at, "why"), why.as_str(), blocks, "unknown-name");
        }
    }
}
