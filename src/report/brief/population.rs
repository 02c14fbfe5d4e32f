//! The people of the audit by group, including those without a group, and the groups that no
//! sentence compares.

use minijinja::context;
use minijinja::value::Value;

use crate::metric::interval::{wilson, z_of_level};
use crate::metric::rate::{Rate, Undefined};
use crate::report::brief::voice::{AuditVoice, CalledGroup, DecisionVoice};
use crate::report::draw::plot::PlotPoint;
use crate::report::read::audit::AuditFolder;
use crate::report::read::words::people;
use crate::table::PopulationRow;
use crate::table::population::AUDITED;
use crate::text::fact;

/// Groups of the population that the sign-off counts.
const GROUPS_AT_MOST: usize = 4;

/// From this number of people without a group on, or from one in a hundred on, the chart of groups
/// has a row for them.
const MANY_WITHOUT_GROUP: i64 = 30;

/// The audited rows of an attribute, whatever the model.
fn audited<'a>(
    audit: &'a AuditFolder,
    attribute: &str,
) -> impl Iterator<Item = &'a PopulationRow> + use<'a> {
    let attribute = attribute.to_owned();
    audit
        .population
        .iter()
        .filter(move |row| row.is_of_rows() && row.state == AUDITED && row.sensitive == attribute)
}

/// The people by the groups of the first attribute, of which some are named: `900 people: 551
/// white, 224 Black, 125 without race`. None of a folder without groups.
pub(crate) fn by_group(audit: &AuditFolder, voice: &AuditVoice<'_>) -> Option<Value> {
    let attribute = &audit.manifest.attributes.first()?.name;
    let rows: Vec<&PopulationRow> = audited(audit, attribute).collect();
    let all: i64 = rows.iter().map(|row| row.rows).sum();
    let of_group = |group: &String| {
        let row = rows.iter().find(|row| row.declared && row.group.as_deref() == Some(group))?;
        (row.rows > 0).then(|| (row.rows, voice.called_group(attribute, group)))
    };
    let declared = audit.groups_of(attribute);
    let named: Vec<(i64, CalledGroup)> =
        declared.iter().filter_map(of_group).take(GROUPS_AT_MOST).collect();
    let without: i64 = rows.iter().filter(|row| row.group.is_none()).map(|row| row.rows).sum();
    let others = all - without - named.iter().map(|(n, _)| n).sum::<i64>();
    (!named.is_empty() || others > 0 || without > 0).then(|| {
        context! {
            people => people(audit, all), named => fact(&named), others, without,
            attribute => fact(&voice.called_attribute(attribute)),
        }
    })
}

/// The share of favourable decisions of the people without a group under a model, with its
/// interval, and those with the decision, of how many; none where they are too few to be drawn.
pub(super) fn without_group(
    audit: &AuditFolder,
    voice: &AuditVoice<'_>,
    (attribute, model): (&str, &str),
) -> Option<(PlotPoint, (i64, i64))> {
    let all: i64 = audited(audit, attribute).map(|row| row.rows).sum();
    let row = audit
        .population
        .iter()
        .find(|row| row.is_of_model(model) && row.sensitive == *attribute && row.group.is_none())?;
    let favoured = match voice.decision() {
        DecisionVoice::Predicted { unwanted: false, .. } => row.positive,
        _ => row.favourable.or(row.positive),
    };
    let (n, of) = (favoured?, row.rows - row.without_score?);
    let is_many = row.rows >= MANY_WITHOUT_GROUP || row.rows * 100 >= all;
    if !is_many || of <= 0 {
        return None;
    }
    let rate = Rate {
        numerator: u64::try_from(n).ok()?,
        denominator: u64::try_from(of).ok()?,
        empty: Undefined::EmptyGroup,
    };
    let interval = wilson(rate, z_of_level(audit.manifest.level.get()));
    let point = PlotPoint::new(rate.value().ok()?, interval.map(|ends| (ends.lo, ends.hi)));
    Some((point, (n, of)))
}

/// Groups that no result is about, or that are one person: who they are, and why; none where there
/// is none.
pub(crate) fn not_compared(audit: &AuditFolder, voice: &AuditVoice<'_>) -> Vec<Value> {
    type Is = fn(&PopulationRow) -> bool;
    let kinds: [(&str, Is); 3] = [
        ("nobody", |row| row.rows == 0),
        ("weightless", |row| row.rows > 0 && row.weight == Some(0.0)),
        ("one", |row| row.rows == 1),
    ];
    let of_attribute = |by: &str| {
        let of_kind = |(what, is): (&str, Is)| {
            let rows = || audited(audit, by).filter(|row| row.declared && is(row));
            let named =
                rows().filter_map(|row| Some(voice.called_group(by, row.group.as_deref()?)));
            let groups: Vec<CalledGroup> = named.collect();
            let n: i64 = rows().map(|row| row.rows).sum();
            let by = fact(&voice.called_attribute(by));
            let some = !groups.is_empty();
            some.then(|| context!(what, by, groups => fact(&groups), n))
        };
        kinds.into_iter().filter_map(of_kind).collect::<Vec<_>>()
    };
    audit.manifest.attributes.iter().flat_map(|attribute| of_attribute(&attribute.name)).collect()
}
