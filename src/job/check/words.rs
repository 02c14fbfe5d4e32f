//! Checks the words of the page: they name groups and columns of the job, and none is empty.

use crate::job::messages as m;
use std::collections::BTreeSet;

use crate::param::Word;

use super::{JobChecker, path};

impl JobChecker<'_> {
    /// `about`, `data.label.words`, `data.sensitive.NAME.words` and `data.names`.
    pub(super) fn words(&mut self) {
        self.about_words();
        if self.is_sound(&["data.label"])
            && let Some(words) = self.job.data.label.column().and_then(|label| label.words.as_ref())
        {
            let parts = [
                ("favourable", Some(&words.favourable)),
                ("unfavourable", Some(&words.unfavourable)),
                ("object", words.object.as_ref()),
            ];
            for (key, text) in parts {
                self.check_words(&format!("data.label.words.{key}"), text.map(String::as_str));
            }
        }
        if self.is_sound(&["data.sensitive"]) {
            self.group_words();
        }
        if self.is_sound(&["data.names"]) {
            self.code_names();
        }
    }

    fn about_words(&mut self) {
        let Some(about) = self.job.about.as_ref().filter(|_| self.is_sound(&["about"])) else {
            return;
        };
        let single = [
            ("decision", &about.decision),
            ("owner", &about.owner),
            ("version", &about.version),
            ("purpose", &about.purpose),
            ("population", &about.population),
            ("period", &about.period),
            ("source", &about.source),
        ];
        for (key, text) in single {
            self.check_words(&format!("about.{key}"), text.as_deref());
        }
        for (key, list) in [("limitations", &about.limitations), ("conditions", &about.conditions)]
        {
            for (i, text) in list.iter().enumerate() {
                self.check_words(&format!("about.{key}[{i}]"), Some(text));
            }
        }
        let signers = [
            ("prepared_by", &about.prepared_by),
            ("reviewed_by", &about.reviewed_by),
            ("approved_by", &about.approved_by),
        ];
        for (key, signer) in signers {
            let Some(signer) = signer else { continue };
            for (part, text) in
                [("role", &signer.role), ("name", &signer.name), ("date", &signer.date)]
            {
                self.check_words(&format!("about.{key}.{part}"), text.as_deref());
            }
        }
    }

    /// Complains about words that are there and say nothing.
    fn check_words(&mut self, at: &str, text: Option<&str>) {
        if text.is_some_and(|text| text.trim().is_empty()) {
            self.say(at, m::words_empty(at));
        }
    }

    fn group_words(&mut self) {
        let data = &self.job.data;
        for (name, attribute) in &data.sensitive {
            let at = path(&["data", "sensitive", name.as_str()]);
            self.check_words(&format!("{at}.called"), attribute.called.as_deref());
            let groups = data.groups_of(name);
            for (i, (group, words)) in attribute.words.iter().enumerate() {
                let key = path(&["data", "sensitive", name.as_str(), "words", group.as_str()]);
                self.check_words(&key, Some(words));
                if attribute.words.values().take(i).any(|earlier| earlier == words) {
                    self.say(&key, m::words_twice(name, words));
                }
                // Of bins without a list of groups only the data know them.
                if !groups.is_empty() {
                    self.check_known(
                        "group",
                        key,
                        group.as_str(),
                        groups.iter().map(Word::as_str),
                        "unknown-group",
                    );
                }
            }
        }
    }

    fn code_names(&mut self) {
        let data = &self.job.data;
        let features = &data.features;
        let sensitive = data.sensitive.keys().flat_map(|name| [name, data.column_of(name)]);
        let mut known: Vec<&str> = sensitive
            .chain(&features.continuous)
            .chain(features.ordinal.keys())
            .chain(&features.nominal)
            .chain(features.onehot.keys())
            .chain(data.label.named_column())
            .map(crate::param::ColumnName::as_str)
            .collect();
        // An attribute and its column mostly share their name.
        let mut seen = BTreeSet::new();
        known.retain(|name| seen.insert(*name));
        for (column, codes) in &data.names {
            let at = path(&["data", "names", column.as_str()]);
            self.check_known("column", at, column.as_str(), known.clone(), "unknown-column");
            for (code, words) in codes {
                let at = path(&["data", "names", column.as_str(), code.as_str()]);
                self.check_words(&at, Some(words));
            }
        }
    }
}
