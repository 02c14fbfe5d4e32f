//! Rows of the tables about support, and values of only the people with supported counterfactuals.

use std::cmp::Reverse;

use crate::data::Layout;
use crate::error::Result;
use crate::exec::StageContext;
use crate::metric::MetricFamily;
use crate::stage::applied_set::AppliedSet;
use crate::stage::generate::support::UnsupportedValue;
use crate::stage::kinds::GenerateStage;
use crate::stage::stage_builder::StageInput;
use crate::table::support::{SUPPORTED, UNSUPPORTED, is_told};
use crate::table::{MetricRow, SupportRow, whole};

/// A set on an attribute, with the stage that generated its counterfactuals.
pub(crate) type GeneratedSet<'a> = (AppliedSet<'a>, StageInput<GenerateStage>);

/// The unsupported values of the counterfactuals of a set, as rows.
pub(crate) fn support_rows(
    ctx: &StageContext<'_>,
    layout: &Layout,
    (applied, generated): &GeneratedSet<'_>,
) -> Result<Vec<SupportRow>> {
    let attribute = &layout.attributes[applied.position];
    let found = generated.effects(ctx)?.unsupported;
    let row = |(rank, unsupported): (i64, &UnsupportedValue)| SupportRow {
        counterfactual: applied.set.into(),
        sensitive: attribute.name.as_str().into(),
        from_group: attribute.groups[unsupported.from].as_str().into(),
        to_group: attribute.groups[unsupported.to].as_str().into(),
        rank,
        feature: unsupported.value.feature.as_str().into(),
        level: unsupported.value.level.as_deref().map(Into::into),
        people: whole(unsupported.people),
        of_people: whole(unsupported.of_people),
        in_reference: whole(unsupported.value.in_reference),
        level_in_reference: whole(unsupported.value.level_in_reference),
    };
    Ok(ranked(&found).map(row).collect())
}

/// The unsupported values of all directions, each with its rank by the number of people inside its
/// direction, from 1.
pub(super) fn ranked(found: &[UnsupportedValue]) -> impl Iterator<Item = (i64, &UnsupportedValue)> {
    let directions = found.chunk_by(|a, b| (a.from, a.to) == (b.from, b.to));
    directions.flat_map(|values| {
        let mut values: Vec<&UnsupportedValue> = values.iter().collect();
        values.sort_by_key(|value| (Reverse(value.people), value.place));
        (1..).zip(values)
    })
}

/// The rows of all people, then the rows of only the supported people. `supported` is none if all
/// people are supported, so that both have the same values. A row of all people has a flag if many
/// people have no supported counterfactual.
pub(crate) fn with_supported(
    mut rows: Vec<MetricRow>,
    supported: Option<Vec<MetricRow>>,
) -> Vec<MetricRow> {
    let families = [MetricFamily::Ccm, MetricFamily::Eccm].map(MetricFamily::as_str);
    let has_both = |row: &&mut MetricRow| families.contains(&row.family.as_str());
    let people = |row: &MetricRow| {
        let persons = row.n_persons.and(row.denominator_persons);
        persons.or(row.denominator).unwrap_or(row.n_rows)
    };
    let with_both = rows.iter_mut().filter(has_both);
    let supported: Vec<MetricRow> = match supported {
        None => {
            with_both.map(|row| MetricRow { support: SUPPORTED.into(), ..row.clone() }).collect()
        }
        Some(supported) => {
            for (row, supported_row) in with_both.zip(&supported) {
                debug_assert_eq!(
                    (&row.key, &row.metric),
                    (&supported_row.key, &supported_row.metric)
                );
                let without = people(row) - people(supported_row);
                if is_told(without, people(row)) {
                    row.flags = match row.flags.as_str() {
                        "" => UNSUPPORTED.into(),
                        flags => format!("{flags},{UNSUPPORTED}").into(),
                    };
                }
            }
            let supported = supported.into_iter();
            supported.map(|row| MetricRow { support: SUPPORTED.into(), ..row }).collect()
        }
    };
    rows.extend(supported);
    rows
}

#[cfg(test)]
mod tests {
    use super::with_supported;
    use crate::table::MetricRow;
    use crate::tests::TextRow;

    fn row(family: &str, denominator: i64) -> MetricRow {
        MetricRow::of(&format!("family={family}, denominator={denominator}"))
    }

    #[test]
    fn ten_people_or_one_percent_without_support_set_the_flag() {
        let flags = |all: i64, supported: i64| {
            let rows = with_supported(vec![row("ccm", all)], Some(vec![row("ccm", supported)]));
            assert_eq!((rows.len(), rows[1].support.as_str()), (2, "supported"));
            rows[0].flags.to_string()
        };
        assert_eq!(flags(5000, 4990), "unsupported");
        assert_eq!(
            [flags(5000, 4991), flags(100, 99), flags(101, 100), flags(0, 0)],
            ["", "unsupported", "", ""]
        );
    }

    #[test]
    fn without_an_unsupported_person_the_values_are_the_same() {
        let rows = with_supported(vec![row("ccm", 7), row("shift", 7), row("eccm", 8)], None);
        let supported: Vec<_> =
            rows[3..].iter().map(|row| (row.family.as_str(), row.denominator)).collect();
        assert_eq!(supported, [("ccm", Some(7)), ("eccm", Some(8))]);
        assert!(rows.iter().all(|row| row.flags.is_empty()));
    }
}
