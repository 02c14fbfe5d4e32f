//! Checks that the words of the page are about groups and columns of the job.

use std::collections::BTreeSet;

use crate::job::messages as m;
use crate::job::read::tree::join;

use super::names::{NamedColumn, sensitive_at};
use super::{JobChecker, path};

impl JobChecker<'_> {
    /// `data.sensitive.NAME.words` and `data.names`.
    pub(super) fn words(&mut self) {
        self.group_words();
        self.code_names();
    }

    fn group_words(&mut self) {
        let data = &self.job.data;
        for (name, attribute) in &data.sensitive {
            let groups = data.groups_of(name);
            for (i, (group, words)) in attribute.words.iter().enumerate() {
                let at = join(&join(&sensitive_at(name), "words"), group.as_str());
                if attribute.words.values().take(i).any(|earlier| earlier == words) {
                    self.say(&at, m::words_twice(name, words));
                }
                // Of bins without a list of groups only the data know them.
                if !groups.is_empty() {
                    self.check_known("group", at, group, &groups);
                }
            }
        }
    }

    fn code_names(&mut self) {
        let data = &self.job.data;
        let mut named = data.named_columns();
        named.retain(NamedColumn::has_values);
        let names = data.sensitive.keys().chain(named.iter().map(|named| &named.column));
        let names = names.chain(data.features.onehot.keys());
        // An attribute and its column mostly share their name.
        let mut seen = BTreeSet::new();
        let known: Vec<_> = names.filter(|name| seen.insert(name.as_str())).collect();
        for column in data.names.keys() {
            let at = path(&["data", "names", column.as_str()]);
            self.check_known("column", at, column, &known);
        }
    }
}
