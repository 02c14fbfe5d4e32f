//! The note that a finding is about people whom the reference rows hardly hold.

use minijinja::context;
use minijinja::value::Value;

use crate::report::brief::harm::HarmResult;
use crate::report::brief::inputs::BriefInputs;
use crate::report::draw::plot::SwitchSide;
use crate::report::read::panel::ResultKey;
use crate::table::SupportCountRow;
use crate::table::support::is_told;
use crate::text::fact;

/// Whether a row of the tables of support is about a direction.
fn is_of(key: &ResultKey, [set, attribute, from, to]: [&str; 4]) -> bool {
    [&key.set, &key.attribute, &key.from, &key.to] == [set, attribute, from, to]
}

impl BriefInputs<'_> {
    /// The people among those who switch whom the reference rows hardly hold, by the value that
    /// most of them would have, with its row of the table of support; none where few would.
    pub(crate) fn unsupported(&self, result: &HarmResult) -> Option<Value> {
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
        // The first of equal ones.
        let (value, n) = counted.reduce(|best, of| if of.1 > best.1 { of } else { best })?;
        let (from, to) = (fact(&result.from), fact(&result.to));
        is_told(n, switched).then(|| context!(n, switched, from, to, ..fact(value)))
    }
}
