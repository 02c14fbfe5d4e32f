//! Checks `data.person`: one role, and nothing next to it whose intervals would take rows for
//! people.

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
        if data.label.classes().is_some() && self.is_sound(&["data.label"]) {
            let what = refuse("metrics of several classes");
            let hint = "make a job for each class, with its value under `positive` and no \
                        `classes`, or remove `data.person`";
            self.push_problem("not-offered", "data.label.classes", what, hint);
        }
        for (name, set) in &self.job.counterfactuals {
            let at = path(&["counterfactuals", name.as_str()]);
            if !self.is_sound(&[&at]) {
                continue;
            }
            if set.graphs().is_some() {
                let what = refuse("sets that depend on causal graphs");
                let hint = "use `naive`, `plausible`, `transport` or `external`, or remove \
                            `data.person`";
                self.push_problem("not-offered", at.clone(), what, hint);
            }
        }
        for name in self.job.recourse.keys() {
            let at = path(&["recourse", name.as_str()]);
            let hint = "give recourse a job of its own over one row of each person, or remove \
                        `data.person`";
            self.push_problem("not-offered", at, refuse("subgroups of recourse"), hint);
        }
    }
}
