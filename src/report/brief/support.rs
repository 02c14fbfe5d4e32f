//! That a finding is about people whom the reference rows hardly hold.

use crate::report::brief::harm::HarmResult;
use crate::report::brief::inputs::BriefInputs;
use crate::report::draw::plot::SwitchSide;
use crate::report::page::number::count;
use crate::report::page::words::RichText;
use crate::report::read::panel::ResultKey;
use crate::table::support::is_told;
use crate::table::{SupportCountRow, SupportRow};

/// Whether a row of the tables of support is about a direction.
fn is_of(key: &ResultKey, [set, attribute, from, to]: [&str; 4]) -> bool {
    [&key.set, &key.attribute, &key.from, &key.to] == [set, attribute, from, to]
}

impl BriefInputs<'_> {
    /// How many of those who switch would be people whom the reference rows hardly hold, by the
    /// value that most of them would have; none where few would.
    pub(crate) fn unsupported(&self, result: &HarmResult) -> Option<RichText> {
        let key = &result.key;
        let switched = result.counts?.0;
        let lost = self.audit.manifest.favourable_is_positive().unwrap_or(true);
        let (before, after) = if lost { ("1", "0") } else { ("0", "1") };
        let (before, after) = match result.side {
            SwitchSide::Lost => (before, after),
            SwitchSide::Gained => (after, before),
            SwitchSide::Either => return None,
        };
        let switches = |row: &&SupportCountRow| {
            let of = [&row.counterfactual, &row.sensitive, &row.from_group, &row.to_group];
            is_of(key, of.map(|text| text.as_str()))
                && row.model == *key.model
                && (row.predicted.as_str(), row.predicted_cf.as_str()) == (before, after)
        };
        let values = self.audit.support.iter().filter(|row| {
            let of = [&row.counterfactual, &row.sensitive, &row.from_group, &row.to_group];
            is_of(key, of.map(|text| text.as_str()))
        });
        let counted = values.map(|value| {
            let own = self.audit.support_counts.iter().filter(switches);
            (value, own.filter(|row| row.rank == value.rank).map(|row| row.n).sum::<i64>())
        });
        // Of equals the first.
        let (value, n) = counted.reduce(|best, of| if of.1 > best.1 { of } else { best })?;
        is_told(n, switched).then(|| self.unsupported_words(key, value, (n, switched)))
    }

    fn unsupported_words(
        &self,
        key: &ResultKey,
        value: &SupportRow,
        (n, switched): (i64, i64),
    ) -> RichText {
        let people = self.voice.people(&key.attribute, &key.to);
        let own = self.voice.people(&key.attribute, &key.from);
        let words = RichText::new()
            .strong(format!("{} of these {}", count(n), count(switched)))
            .text(format!(" (and {} of all {} ", count(value.people), count(value.of_people)))
            .quote(own)
            .text(") would be ");
        let Some(level) = &value.level else {
            let far = format!("{people} with a {} that no reference row of ", value.feature);
            return words.quote(far).text("the group has.");
        };
        words
            .quote(format!("{people} with {} {level}", value.feature))
            .text(format!(
                "; the reference rows hold {} such {} among {} with ",
                count(value.in_reference),
                if value.in_reference == 1 { "person" } else { "people" },
                count(value.level_in_reference)
            ))
            .quote(format!("{} {level}", value.feature))
            .text(".")
    }
}
