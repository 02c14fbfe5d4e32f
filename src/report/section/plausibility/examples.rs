//! Example pairs: rows next to their counterfactuals, where the job asks for people on the page.

use std::collections::BTreeMap;

use crate::report::page::words::{RichText, level};
use crate::report::page::{PageBlock, PageTable, ReportRow};
use crate::report::read::audit::AuditFolder;
use crate::report::read::quality::{ExampleFeature, FeatureQuality, QualityKey};
use crate::report::section::plausibility::count;

/// Rows next to their counterfactuals, where the job asks for them.
pub(super) fn block(audit: &AuditFolder, pair: &QualityKey, room: usize) -> Option<PageBlock> {
    let all: Vec<&Vec<ExampleFeature>> = audit.quality.examples(pair).collect();
    let n_shown = all.len().min(room);
    let drawn = if n_shown == 1 {
        "1 row of a person, sampled with the seed, not chosen for its content.".to_owned()
    } else {
        format!(
            "{} rows of people, sampled with the seed, not chosen for their content.",
            count(n_shown)
        )
    };
    let rest =
        if n_shown < all.len() { "; the rest is in tables/cf_examples.parquet." } else { "." };
    let note = PageBlock::Note(
        RichText::from(drawn)
            .text(" The job requests them with ")
            .code("report.example_pairs")
            .text(rest),
    );
    let numbers = numbers(audit, pair);
    let is_number = |entry: &ExampleFeature| {
        let Some((lo, hi)) = numbers.get(entry.feature.as_str()) else { return false };
        let inside =
            |value: &String| value.parse::<f64>().is_ok_and(|value| *lo <= value && value <= *hi);
        entry.before.iter().chain(&entry.after).all(inside)
    };
    let written = audit
        .manifest
        .counterfactuals
        .iter()
        .find(|set| set.name == pair.set)
        .and_then(|set| set.written.get(&pair.attribute));
    let is_attribute = |feature: &String| {
        *feature == pair.attribute
            || written.iter().copied().flatten().any(|w| w.column == *feature)
    };
    let mut tables = Vec::with_capacity(n_shown);
    for (k, entries) in all.iter().take(room).enumerate() {
        // The sort is stable: what changed comes first, each part in the order of the table.
        let mut entries: Vec<&ExampleFeature> = entries.iter().collect();
        entries.sort_by_key(|entry| !entry.changed);
        let row = |entry: &&ExampleFeature| {
            let (before, after) = (entry.before.as_deref(), entry.after.as_deref());
            let [was, is] = if is_number(entry) {
                short(before, after)
            } else {
                [before, after].map(|value| value.map(str::to_owned))
            };
            let changed =
                if entry.changed { RichText::new().strong("changed") } else { "same".into() };
            ReportRow {
                id: String::new(),
                head: RichText::new().name(&entry.feature),
                cells: vec![
                    shown(was.as_deref()).into(),
                    shown(is.as_deref()).into(),
                    changed.into(),
                ],
            }
        };
        let (attribute, others): (Vec<&ExampleFeature>, Vec<&ExampleFeature>) =
            entries.iter().partition(|entry| is_attribute(&entry.feature));
        let n = others.iter().filter(|entry| entry.changed).count();
        let caption = RichText::from(format!("Pair {}, ", k + 1))
            .and(RichText::direction(&pair.from, &pair.to))
            .text(format!(": {n} of {} values changed", others.len()))
            .text(if attribute.iter().any(|entry| entry.changed) {
                ", and the attribute"
            } else {
                ""
            });
        let head =
            ["Feature", "Original", "Counterfactual", "Changed"].map(RichText::from).to_vec();
        tables.push(PageTable {
            caption,
            head,
            rows: entries.iter().map(row).collect(),
            prose: true,
        });
    }
    (n_shown > 0).then_some(PageBlock::Fold("Example pairs", vec![note, PageBlock::Tables(tables)]))
}

/// A value as the page shows it.
fn shown(value: Option<&str>) -> RichText {
    value.map_or_else(|| RichText::from("missing"), |value| RichText::new().name(level(value)))
}

/// Digits of a number that the page shows, where they are enough.
const DIGITS: usize = 6;

/// Two numbers with as many digits as distinguish them, at least [`DIGITS`]; values that are
/// not numbers as they are.
fn short(before: Option<&str>, after: Option<&str>) -> [Option<String>; 2] {
    let whole = [before, after].map(|value| value.map(str::to_owned));
    let cut = |digits: usize| [before, after].map(|value| value.map(|value| cut(value, digits)));
    // Seventeen digits tell all numbers apart.
    (DIGITS..17).map(cut).find(|[a, b]| before == after || a != b).unwrap_or(whole)
}

/// A number with a long fraction, cut to so many digits but not before the point; other values as
/// they are.
fn cut(value: &str, digits: usize) -> String {
    match value.parse::<f64>() {
        Ok(number)
            if value.len() > 8
                && value.contains('.')
                && number.is_finite()
                && number.abs() < 1e15 =>
        {
            let places = digits - 1;
            let short = format!("{number:.places$e}").parse::<f64>().unwrap_or(number);
            let before_point = format!("{:.0}", number.abs()).len();
            if before_point >= digits { format!("{number:.0}") } else { short.to_string() }
        }
        _ => value.to_owned(),
    }
}

/// The features of a direction that are numbers, with the ends of their bins. Levels may look like
/// numbers, and ordered ones have bins too: those of their positions.
fn numbers<'a>(audit: &'a AuditFolder, pair: &QualityKey) -> BTreeMap<&'a str, (f64, f64)> {
    let ends = |f: &FeatureQuality| Some((f.bars.first()?.edges?.0, f.bars.last()?.edges?.1));
    audit
        .quality
        .features(pair)
        .into_iter()
        .filter_map(|f| Some((f.name.as_str(), ends(f)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{cut, short};

    #[test]
    fn long_fractions_are_cut() {
        for (value, shown) in [
            ("39", "39"),
            ("35.61290322580645", "35.6129"),
            ("0.000123456789", "0.000123457"),
            ("-1234567.25", "-1234567"),
            ("1234567890", "1234567890"),
            ("10.11.2026", "10.11.2026"),
            ("Machine-op-inspct", "Machine-op-inspct"),
        ] {
            assert_eq!(cut(value, 6), shown);
        }
    }

    #[test]
    fn numbers_that_differ_look_different() {
        for (before, after, shown) in [
            ("1234567.125", "1234567.25", ["1234567.1", "1234567.2"]),
            ("35.61290322580645", "35.61290322580999", ["35.612903225806", "35.61290322581"]),
            ("99999.954", "100000.021", ["99999.95", "100000"]),
            ("35.61290322580645", "35.61290322580645", ["35.6129", "35.6129"]),
            (
                "0.1000000000000001",
                "0.10000000000000012",
                ["0.1000000000000001", "0.10000000000000012"],
            ),
        ] {
            let [a, b] = short(Some(before), Some(after)).map(Option::unwrap);
            assert_eq!([a.as_str(), b.as_str()], shown, "{before} {after}");
        }
        assert_eq!(short(None, Some("35.61290322580645")), [None, Some("35.6129".to_owned())]);
    }
}
