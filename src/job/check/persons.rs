//! Checks `data.person`: a column of one role. It may be the row id: then each row is its own
//! person, as without `person`.

use super::JobChecker;
use crate::job::messages as m;

impl JobChecker<'_> {
    /// The column of persons.
    pub(super) fn persons(&mut self) {
        let data = &self.job.data;
        let Some(person) = data.person.as_ref().filter(|_| self.is_sound(&["data.person"])) else {
            return;
        };
        let blocks = ["data.label", "data.row_id", "data.split", "data.sensitive"];
        if data.row_id.as_ref() == Some(person) {
            return;
        }
        if let Some(role) = self.role_of(person).filter(|_| self.is_sound(&blocks)) {
            self.say("data.person", m::person_role(person, role));
        }
    }
}
