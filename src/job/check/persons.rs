//! Checks `data.person`: a column of one role.

use super::JobChecker;

impl JobChecker<'_> {
    /// The column of persons.
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
        }
    }
}
