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
        for name in self.job.recourse.keys() {
            let at = path(&["recourse", name.as_str()]);
            let hint = "give recourse a job of its own over one row of each person, or remove \
                        `data.person`";
            self.push_problem("not-offered", at, refuse("subgroups of recourse"), hint);
        }
    }
}
