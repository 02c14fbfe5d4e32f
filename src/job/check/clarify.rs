//! Checks the block `metrics.clarify`.

use std::collections::BTreeSet;

use crate::data::prepare::params::OrdinalOrder;
use crate::job::MetricFamily;
use crate::job::blocks::clarify::{ClarifyBlock, FavouredGroups, FlipTestBlock};
use crate::job::read::nearest::suggest;
use crate::job::read::tree::join;
use crate::param::{ColumnName, Word};

use super::JobChecker;
use super::defaults::families;

/// The word that represents all other groups.
pub(super) const REST: &str = "rest";

impl JobChecker<'_> {
    /// The whole block.
    pub(super) fn clarify(&mut self) {
        let Some(clarify) =
            self.job.metrics.clarify.as_ref().filter(|_| self.is_sound(&["metrics.clarify"]))
        else {
            return;
        };
        if self.is_sound(&["metrics.families"])
            && !families(self.job, self.catalog).contains(&MetricFamily::Clarify)
        {
            let hint = match self.job.metrics.families {
                Some(_) => "add `clarify` to `metrics.families`, or remove the block",
                None => {
                    "list all families that you want under `metrics.families`, including \
                     `clarify`, which is not measured by default"
                }
            };
            let what = "`metrics.clarify` configures the family `clarify`, but that family is not \
                        measured";
            self.push_problem("not-measured", "metrics.clarify", what, hint);
        }
        self.favoured(clarify);
        self.clarify_of_classes(clarify);
        if let Some(column) = &clarify.strata {
            self.strata(column);
        }
        self.check_odd("metrics.clarify.neighbours", clarify.neighbours.map(|n| n.get()));
        if let Some(test) = &clarify.flip_test {
            self.flip_test(test);
        }
    }

    fn favoured(&mut self, clarify: &ClarifyBlock) {
        for (name, favoured) in &clarify.favoured {
            let at = join("metrics.clarify.favoured", name.as_str());
            if !self.are_names_sound("data.sensitive") || !self.attribute(at.clone(), name) {
                continue;
            }
            let FavouredGroups::Groups(groups) = favoured else { continue };
            let words: Vec<&str> = groups.iter().map(Word::as_str).collect();
            if !self.check_distinct(&at, "group, or write `rest`", &words) {
                continue;
            }
            // Groups that only the data can tell are none here.
            let declared = self.job.data.groups_of(name);
            if declared.len() < 2
                || !self.is_sound(&[&super::path(&["data", "sensitive", name.as_str()])])
            {
                continue;
            }
            for (i, group) in
                groups.iter().enumerate().filter(|(_, group)| !declared.contains(group))
            {
                let hint = suggest(group.as_str(), "its groups", declared.iter().map(Word::as_str));
                self.push_problem(
                    "unknown-group",
                    format!("{at}[{i}]"),
                    format!("`{name}` has no group `{group}`"),
                    hint,
                );
            }
            if declared.iter().all(|group| groups.contains(group)) {
                let what = format!(
                    "all groups of `{name}` are favoured, so there is no group to compare with"
                );
                self.push_problem(
                    "bad-value",
                    at,
                    what,
                    "name only the favoured groups, or write \
                     `rest` to compare each group with all others",
                );
            }
        }
    }

    fn strata(&mut self, column: &ColumnName) {
        let data = &self.job.data;
        if !self.is_sound(&["data.sensitive", "data.row_id", "data.derive"]) {
            return;
        }
        let at = "metrics.clarify.strata";
        if data.row_id.as_ref() == Some(column) {
            self.push_problem(
                "bad-value",
                at,
                format!("`{column}` identifies the rows: every stratum would hold one"),
                "name a column that people share",
            );
        } else if !data.sensitive.is_empty()
            && data.sensitive.keys().all(|name| data.column_of(name) == column)
        {
            let what = format!(
                "the groups are derived from `{column}`: every stratum would hold only one of them"
            );
            self.push_problem(
                "bad-value",
                at,
                what,
                "name another column, whose values occur in several groups",
            );
        }
    }

    fn flip_test(&mut self, test: &FlipTestBlock) {
        let at = "metrics.clarify.flip_test";
        self.check_odd(&format!("{at}.neighbours"), test.neighbours.map(|n| n.get()));
        if test.max_rows.get() < 2 {
            self.push_problem(
                "bad-value",
                format!("{at}.max_rows"),
                "one person has no neighbours",
                "write 2 or more; 100000 is the default",
            );
        }
        if !self.is_sound(&["data.features", "data.sensitive", "data.derive"]) {
            return;
        }
        let features = &self.job.data.features;
        let ordinal = features
            .ordinal
            .iter()
            .filter(|(_, order)| matches!(order, OrdinalOrder::Numbers(_)))
            .map(|(name, _)| name);
        let numbers: BTreeSet<&ColumnName> = features
            .continuous
            .iter()
            .chain(ordinal)
            .chain(features.onehot.values().flatten())
            .collect();
        if numbers.is_empty() {
            let what =
                "the flip test measures distances over numeric features, and the job has none";
            self.push_problem(
                "no-input",
                at,
                what,
                "declare columns under `data.features.continuous`, or remove `flip_test`",
            );
            return;
        }
        let data = &self.job.data;
        let mut bare = Vec::new();
        for name in data.sensitive.keys() {
            let mut own: BTreeSet<ColumnName> = BTreeSet::from([data.column_of(name).clone()]);
            // What is derived is below what it is derived from, so one way up meets all parents.
            for (column, recipe) in data.derived().into_iter().rev() {
                if own.contains(&column) {
                    own.extend(recipe.parents().into_iter().cloned());
                }
            }
            if numbers.iter().all(|number| own.contains(*number)) {
                bare.push(name.clone());
            }
        }
        for name in bare {
            let what = format!(
                "the flip test measures distances over numeric features, and `{name}` is derived \
                 from all of them"
            );
            self.push_problem(
                "no-input",
                at,
                what,
                "declare other columns under `data.features.continuous`, or remove `flip_test`",
            );
        }
    }

    /// Complains about an even number of voters, whose votes may tie.
    fn check_odd(&mut self, at: &str, neighbours: Option<u64>) {
        if let Some(neighbours) = neighbours.filter(|n| n % 2 == 0) {
            let what = format!("the votes of `{neighbours}` neighbours may tie");
            self.push_problem(
                "bad-value",
                at,
                what,
                format!("write an odd number, such as {}", neighbours.saturating_sub(1)),
            );
        }
    }
}
