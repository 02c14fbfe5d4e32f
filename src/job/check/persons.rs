//! Checks `data.person`: one role, and nothing next to it whose intervals would take rows for
//! people.

use crate::job::MetricFamily;
use crate::job::read::tree::join;

use super::defaults::families;
use super::{JobChecker, path};

impl JobChecker<'_> {
    /// The column of persons, and the rest of the job.
    pub(super) fn persons(&mut self) {
        let data = &self.job.data;
        let Some(person) = data.person.as_ref().filter(|_| self.is_sound(&["data.person"])) else {
            return;
        };
        let blocks = ["data.label", "data.row_id", "data.split", "data.sensitive"];
        if let Some(role) = self.role_of(person).filter(|_| self.is_sound(&blocks)) {
            self.push_problem(
                "column-twice",
                "data.person",
                format!("the person `{person}` is {role} too"),
                if role == "the row id" {
                    "name the column that all rows of a person share"
                } else {
                    "a column has one role"
                },
            );
            return;
        }
        let refuse = |what: &str| {
            format!("{what} are not offered together with `data.person`: they take rows for people")
        };
        let out = "remove it, or remove `data.person`";
        if data.label.classes().is_some() && self.is_sound(&["data.label"]) {
            let what = refuse("metrics of several classes");
            self.push_problem("not-offered", "data.label.classes", what, out);
        }
        if families(self.job, self.catalog).contains(&MetricFamily::Clarify)
            && self.is_sound(&["metrics.families"])
        {
            let what = refuse("metrics of the family `clarify`");
            let hint = "take `clarify` out of `metrics.families`, or remove `data.person`";
            self.push_problem("not-offered", "metrics.families", what, hint);
        }
        for (name, set) in &self.job.counterfactuals {
            let at = path(&["counterfactuals", name.as_str()]);
            if !self.is_sound(&[&at]) {
                continue;
            }
            if set.graphs().is_some() {
                let what = refuse("sets that depend on causal graphs");
                self.push_problem("not-offered", at.clone(), what, out);
            }
            if set.placebo.is_some() {
                let what = refuse("permuted groups of a placebo");
                self.push_problem("not-offered", join(&at, "placebo"), what, out);
            }
        }
        for name in self.job.recourse.keys() {
            let at = path(&["recourse", name.as_str()]);
            self.push_problem("not-offered", at, refuse("subgroups of recourse"), out);
        }
    }
}
