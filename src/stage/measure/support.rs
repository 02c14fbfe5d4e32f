//! Rows of the tables of support, and the values of the supported people next to those of all.

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

/// A set on an attribute, with the stage that made its counterfactuals.
pub(crate) type GeneratedSet<'a> = (AppliedSet<'a>, StageInput<GenerateStage>);

/// The unsupported values of its counterfactuals, as rows.
pub(crate) fn support_rows(
    ctx: &StageContext<'_>,
    layout: &Layout,
    (applied, made): &GeneratedSet<'_>,
) -> Result<Vec<SupportRow>> {
    let attribute = &layout.attributes[applied.position];
    let found = made.effects(ctx)?.unsupported;
    let row = |(rank, of): (i64, &UnsupportedValue)| SupportRow {
        counterfactual: applied.set.into(),
        sensitive: attribute.name.as_str().into(),
        from_group: attribute.groups[of.from].as_str().into(),
        to_group: attribute.groups[of.to].as_str().into(),
        rank,
        feature: of.value.feature.as_str().into(),
        level: of.value.level.as_deref().map(Into::into),
        people: whole(of.people),
        of_people: whole(of.of_people),
        in_reference: whole(of.value.in_reference),
        level_in_reference: whole(of.value.level_in_reference),
    };
    Ok(ranked(&found).map(row).collect())
}

/// The unsupported values of all directions, each with its place by people among those of the
/// direction, from 1.
pub(super) fn ranked(found: &[UnsupportedValue]) -> impl Iterator<Item = (i64, &UnsupportedValue)> {
    let directions = found.chunk_by(|a, b| (a.from, a.to) == (b.from, b.to));
    directions.flat_map(|of| {
        let mut of: Vec<&UnsupportedValue> = of.iter().collect();
        of.sort_by_key(|value| (Reverse(value.people), value.place));
        (1..).zip(of)
    })
}

/// The values of all people, and those of the supported people only; none where everybody is
/// supported and both are the same. A value has a flag where many have no supported counterfactual.
pub(crate) fn with_supported(
    mut all: Vec<MetricRow>,
    supported: Option<Vec<MetricRow>>,
) -> Vec<MetricRow> {
    let families = [MetricFamily::Ccm, MetricFamily::Eccm].map(MetricFamily::as_str);
    let has_both = |row: &&mut MetricRow| families.contains(&row.family.as_str());
    let people =
        |row: &MetricRow| row.denominator_persons.or(row.denominator).unwrap_or(row.n_rows);
    let of_all = all.iter_mut().filter(has_both);
    let supported: Vec<MetricRow> = match supported {
        None => of_all.map(|row| MetricRow { support: SUPPORTED.into(), ..row.clone() }).collect(),
        Some(supported) => {
            for (row, alone) in of_all.zip(&supported) {
                debug_assert_eq!((&row.key, &row.metric), (&alone.key, &alone.metric));
                let without = people(row) - people(alone);
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
    all.extend(supported);
    all
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
    fn a_value_has_a_flag_from_ten_people_or_a_hundredth_on() {
        let flags = |all: i64, supported: i64| {
            let of = with_supported(vec![row("ccm", all)], Some(vec![row("ccm", supported)]));
            assert_eq!((of.len(), of[1].support.as_str()), (2, "supported"));
            of[0].flags.to_string()
        };
        assert_eq!(flags(5000, 4990), "unsupported");
        assert_eq!(
            [flags(5000, 4991), flags(100, 99), flags(101, 100), flags(0, 0)],
            ["", "unsupported", "", ""]
        );
    }

    #[test]
    fn without_an_unsupported_person_the_values_are_the_same() {
        let all = with_supported(vec![row("ccm", 7), row("shift", 7), row("eccm", 8)], None);
        let supported: Vec<_> =
            all[3..].iter().map(|row| (row.family.as_str(), row.denominator)).collect();
        assert_eq!(supported, [("ccm", Some(7)), ("eccm", Some(8))]);
        assert!(all.iter().all(|row| row.flags.is_empty()));
    }
}
