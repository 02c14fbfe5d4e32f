//! Section "One model against another": what the values of a model are minus those of another on
//! the same people, clear differences first.

use std::collections::BTreeMap;

use crate::report::page::terms::PageGlossary;
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageCell, PageSection, PageTable, ReportRow, number, terms};
use crate::report::read::audit::AuditFolder;
use crate::table::ComparisonRow;

/// Tables on one page: two models, set and attribute.
const TABLES_AT_MOST: usize = 12;

/// The section; none where the job compares no models.
pub(crate) fn section(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Option<PageSection> {
    let mut tables: BTreeMap<[&str; 4], Vec<&ComparisonRow>> = BTreeMap::new();
    // Arms of experiments have their own section.
    for row in audit.comparisons.iter().filter(|row| row.arm.is_empty()) {
        let key = [&row.model, &row.against, &row.counterfactual, &row.sensitive]
            .map(|text| text.as_str());
        tables.entry(key).or_default().push(row);
    }
    if tables.is_empty() {
        return None;
    }
    let intro = "Both models are compared on the same people: what a person adds to both values is \
                 taken together. A difference is clear if its interval excludes zero; among many \
                 differences some are clear by chance. Who is scored by only one of the models \
                 counts for that one.";
    let mut blocks = vec![PageBlock::Text(intro.into())];
    let all = tables.len();
    for (i, ([model, against, set, attribute], rows)) in
        tables.into_iter().take(TABLES_AT_MOST).enumerate()
    {
        let words = RichText::new()
            .name(attribute)
            .text(": model ")
            .name(model)
            .text(" minus model ")
            .name(against);
        let words = if set.is_empty() { words } else { words.text(", set ").name(set) };
        blocks.push(PageBlock::Heading(format!("models-{i}"), words.clone()));
        blocks.push(PageBlock::Table(table(audit, words, rows, glossary)));
    }
    if all > TABLES_AT_MOST {
        blocks.push(PageBlock::Note(
            format!(
                "{} more comparisons are only in tables/comparisons.parquet.",
                all - TABLES_AT_MOST
            )
            .into(),
        ));
    }
    Some(PageSection { id: "models", title: "One model against another", blocks })
}

/// How far zero lies outside the interval, in halves of its width; below 1 where it lies inside.
pub(crate) fn clearness(difference: Option<f64>, ends: Option<(f64, f64)>) -> f64 {
    match (difference, ends) {
        (Some(difference), Some((lo, hi))) => {
            if difference == 0.0 {
                return 0.0;
            }
            let facing = if difference > 0.0 { difference - lo } else { hi - difference };
            match facing > 0.0 {
                _ if difference == 0.0 => 0.0,
                true => difference.abs() / facing,
                false => f64::MAX,
            }
        }
        _ => -1.0,
    }
}

fn table(
    audit: &AuditFolder,
    words: RichText,
    mut rows: Vec<&ComparisonRow>,
    glossary: &mut PageGlossary<'_>,
) -> PageTable {
    let all = rows.len();
    // The sort is stable, so ties keep the order of the table.
    let clearness = |row: &ComparisonRow| clearness(row.difference, row.lo.zip(row.hi));
    rows.sort_by(|x, y| clearness(y).total_cmp(&clearness(x)));
    let clear = rows.iter().filter(|row| clearness(row) > 1.0).count();
    rows.truncate(audit.rows_shown());
    let level = rows
        .iter()
        .find_map(|row| row.level)
        .map_or_else(String::new, |level| format!("; intervals at {}", number::level(level)));
    let shown = if rows.len() < all {
        format!(", the clearest {} of {all} are shown", rows.len())
    } else {
        String::new()
    };
    let caption = words.text(format!(
        ": {} of {all} differences are clear{shown}{level}",
        number::count(i64::try_from(clear).unwrap_or(i64::MAX))
    ));
    let head = ["Metric", "Where", "First model", "Second model", "Difference", "People"]
        .map(RichText::from)
        .to_vec();
    PageTable { caption, head, rows: rows.iter().map(|r| row(r, glossary)).collect(), prose: false }
}

fn row(row: &ComparisonRow, glossary: &mut PageGlossary<'_>) -> ReportRow {
    let (metric, scope) = (row.metric.as_str(), row.scope.as_str());
    let kind = terms::kind(metric, scope);
    let apart = kind.of_change();
    let value = |value: Option<f64>| {
        value.map_or_else(|| "undefined".to_owned(), |value| kind.value(value))
    };
    let main = match row.difference {
        Some(value) => apart.value(value).into(),
        None => "undefined".into(),
    };
    let mut small: Vec<RichText> = match (row.difference, row.lo, row.hi) {
        (Some(value), Some(lo), Some(hi)) => vec![apart.interval(value, lo, hi).into()],
        (None, ..) => vec![terms::reason(row.undefined.as_str()).into()],
        _ => Vec::new(),
    };
    small.extend(terms::missing_labels(row).map(RichText::from));
    let cells = vec![
        place(&row.scope, [&row.from_group, &row.to_group]).into(),
        value(row.model_value).into(),
        value(row.against_value).into(),
        PageCell { main, small, ..PageCell::default() },
        number::count(row.n_rows).into(),
    ];
    ReportRow { id: String::new(), head: glossary.title(metric), cells }
}

/// Where a value holds.
pub(crate) fn place(scope: &str, [from, to]: [&str; 2]) -> RichText {
    match scope {
        "total" => "everybody".into(),
        "direction" => RichText::direction(from, to),
        "one_to_rest" => RichText::new().name(from).text(" as each of the others"),
        "rest_to_one" => RichText::new().text("all others as ").name(to),
        "one_vs_rest" if from.is_empty() => RichText::new().text("all others and ").name(to),
        "one_vs_rest" => RichText::new().name(from).text(" and all others"),
        "pair" => RichText::new().name(from).text(" and ").name(to),
        "difference" => {
            RichText::direction(from, to).text(" minus ").and(RichText::direction(to, from))
        }
        "worst_case" => "the groups furthest apart".into(),
        _ => RichText::new().name(from),
    }
}
