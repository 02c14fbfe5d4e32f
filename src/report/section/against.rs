//! Section "Against the last version": what has changed from an earlier run, clear changes first,
//! and what in the job differs.
//!
//! Also what `cfaudit diff` prints: its page is this section for two folders, its text the same
//! rows.

use std::collections::{BTreeMap, BTreeSet};

use crate::folder::manifest::{JobChange, RunComparison};
use crate::metric::catalog::place::PageList;
use crate::report::draw::chart;
use crate::report::draw::plot::round_up;
use crate::report::page::number::{self, NumberFormat};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageCell, PageSection, PageTable, ReportRow};
use crate::report::section::models::{clearness, place};
use crate::table::{ChangeRow, REFITTED, WITH_FITS};

/// Drawings on one page.
const DRAWN_AT_MOST: usize = 60;

/// Values of the job listed.
const JOB_AT_MOST: usize = 60;

/// What intervals of changes do not show.
pub(crate) const MODELS_AS_GIVEN: &str = "Intervals are over people and take both models as given; \
                                          a model retrained with another seed may also differ \
                                          clearly.";

/// The section.
pub(crate) fn section(
    compared: &RunComparison,
    changes: &[ChangeRow],
    rows_shown: usize,
    glossary: &mut PageGlossary<'_>,
) -> PageSection {
    let mut blocks = vec![PageBlock::Facts(facts(compared))];
    blocks.extend(job(compared));
    let rows = ordered(changes);
    // What is between backticks on a terminal is code on a page.
    let words = sentence(&rows);
    let words = words.split('`').enumerate().fold(RichText::new(), |words, (i, part)| {
        if i % 2 == 0 { words.text(part.to_owned()) } else { words.code(part) }
    });
    blocks.push(PageBlock::Text(words));
    blocks.extend(table(&rows, rows_shown, glossary));
    blocks.extend(
        refitted_in_words(&rows)
            .map(|words| PageBlock::Note(format!("Not judged: {words}.").into())),
    );
    blocks.extend(drawn(changes, glossary));
    blocks.extend(left_out(&rows));
    blocks.extend(methods(&rows));
    PageSection { id: "against", title: "Against the last version", blocks }
}

/// Changes as they are shown: clear ones first, of these the clearest; what could not be compared
/// last.
pub(crate) fn ordered(changes: &[ChangeRow]) -> Vec<&ChangeRow> {
    let mut rows: Vec<&ChangeRow> = changes.iter().collect();
    let rank = |row: &&ChangeRow| {
        if row.status == "compared" { clearness_of(row) } else { -2.0 }
    };
    // The sort is stable, so what is equally clear keeps the order of the table.
    rows.sort_by(|x, y| rank(y).total_cmp(&rank(x)));
    rows
}

fn clearness_of(row: &ChangeRow) -> f64 {
    clearness(row.difference, row.lo.zip(row.hi))
}

/// Whether a change is clear.
pub(crate) fn is_clear(row: &ChangeRow) -> bool {
    row.clear == 1
}

/// Whether it is known if a change is clear.
pub(crate) fn is_judged(row: &ChangeRow) -> bool {
    row.status == "compared" && row.difference.is_some()
}

/// How many changes are clear, in one sentence.
pub(crate) fn sentence(rows: &[&ChangeRow]) -> String {
    let any = |status: &str| rows.iter().any(|row| row.status.as_str() == status);
    if !any("compared") && any("refitted") {
        return "No change is judged: no set is known to have been fitted on the same rows in both \
                runs."
            .to_owned();
    }
    if !any("compared") && any("not_comparable") {
        return "No value has the same meaning in both runs.".to_owned();
    }
    if !any("compared") {
        return "The two runs have no value in common: they measure different models, sets, \
                attributes, groups or metrics."
            .to_owned();
    }
    let all = rows.iter().filter(|row| is_judged(row)).count();
    let clear = rows.iter().filter(|row| is_clear(row)).count();
    let level = rows.iter().find_map(|row| row.level);
    let level = level.map_or_else(String::new, |level| format!(" at {}", number::level(level)));
    format!(
        "{clear} of {all} changes are clear: 0 is not in their interval{level}. Among many changes \
         some are clear by chance; a gate `against: baseline` with `family_error: holm` corrects \
         for that. {MODELS_AS_GIVEN}"
    )
}

fn facts(compared: &RunComparison) -> Vec<(RichText, RichText)> {
    let mut old =
        RichText::new().text("job ").name(&compared.job).text(", run ").code(&compared.run);
    if let Some(version) = &compared.version {
        old = old.text(", version ").quote(version);
    }
    let people = number::people(i64::try_from(compared.rows).unwrap_or(i64::MAX));
    old = old.text(format!(", {people}"));
    vec![
        ("Last version".into(), old),
        ("Comparable".into(), comparable(compared).into()),
        ("Same people".into(), number::grouped_in(&compared.pairing).into()),
    ]
}

/// Whether equal names mean equal things, in words.
pub(crate) fn comparable(compared: &RunComparison) -> &'static str {
    match (compared.comparable, compared.forced) {
        (true, _) => {
            "yes: groups, label, strategies, thresholds and settings of metrics are defined alike"
        }
        (false, false) => {
            "in part: a definition differs, and only values with the same meaning are compared"
        }
        (false, true) => "no: a definition differs, but all values are compared, as requested",
    }
}

fn job(compared: &RunComparison) -> Option<PageBlock> {
    let value = |value: &Option<String>| {
        value.as_ref().map_or_else(|| RichText::from("\u{2013}"), |v| RichText::new().quote(v))
    };
    let row = |change: &JobChange| ReportRow {
        id: String::new(),
        head: RichText::new().code(&change.path),
        cells: vec![
            value(&change.old).into(),
            value(&change.new).into(),
            if change.breaks.is_empty() { "none".into() } else { change.breaks.as_str().into() },
        ],
    };
    let all = compared.differs.len();
    let shown = all.min(JOB_AT_MOST);
    let caption = match all {
        _ if shown < all => format!(
            "Differences between the jobs: {shown} of {all} values, definitions first; all are in \
             manifest.json"
        ),
        _ => "Differences between the jobs, definitions first".to_owned(),
    };
    let head = ["Value of the job", "Last version", "This version", "Values whose meaning changed"]
        .map(RichText::from)
        .to_vec();
    Some(match all {
        0 => PageBlock::Text("The jobs are equal.".into()),
        _ => PageBlock::Table(PageTable {
            caption: caption.into(),
            head,
            rows: compared.differs.iter().take(shown).map(row).collect(),
            prose: true,
        }),
    })
}

/// Every direction with its old and new rates side by side.
fn drawn(changes: &[ChangeRow], glossary: &mut PageGlossary<'_>) -> Vec<PageBlock> {
    let mut panels: BTreeMap<[&str; 3], Vec<&ChangeRow>> = BTreeMap::new();
    for row in changes.iter().filter(|row| row.key.scope == "direction" && row.difference.is_some())
    {
        if PageList::ComparedRates.shows(&row.metric)
            && row.key.slice.is_empty()
            && row.key.arm.is_empty()
        {
            panels
                .entry(
                    [&row.key.counterfactual, &row.key.sensitive, &row.key.model]
                        .map(|text| text.as_str()),
                )
                .or_default()
                .push(row);
        }
    }
    let (mut blocks, mut left) = (Vec::new(), DRAWN_AT_MOST);
    for rows in panels.values_mut() {
        rows.sort_by(|x, y| clearness_of(y).total_cmp(&clearness_of(x)));
    }
    let name = |words: RichText, [set, attribute, model]: [&str; 3]| {
        words.name(attribute).text(": set ").name(set).text(", model ").name(model)
    };
    let (same, differing): (Vec<_>, Vec<_>) = panels
        .into_iter()
        .partition(|(_, rows)| rows.iter().all(|row| row.difference == Some(0.0)));
    let mut differing: Vec<([&str; 3], Vec<&ChangeRow>)> = differing;
    // The clearest change first; the sort is stable, so what is equally clear stays in order.
    let clearest = |rows: &[&ChangeRow]| rows.first().map_or(-1.0, |row| clearness_of(row));
    differing.sort_by(|x, y| clearest(&y.1).total_cmp(&clearest(&x.1)));
    for (of, mut rows) in differing {
        rows.truncate(left);
        left -= rows.len();
        if rows.is_empty() {
            break;
        }
        let most = rows
            .iter()
            .flat_map(|row| [row.old_value, row.new_value])
            .flatten()
            .fold(0.0, f64::max);
        let end = round_up(most);
        let caption = name(RichText::new(), of).text(format!(
            "; ring: last version, dot: this version, axis from 0 to {} %",
            chart::tick(end * 100.0)
        ));
        let head = ["Direction", "Rate", "Drawn", "Last version", "This version", "Change"]
            .map(RichText::from)
            .to_vec();
        let rows = rows.iter().map(|row| {
            let drawing = match (row.old_value, row.new_value) {
                (Some(old), Some(new)) => chart::dumbbell(old, new, end),
                _ => String::new(),
            };
            let mut cells = vec![
                glossary.title(row.metric.as_str()).into(),
                RichText::new().drawing(drawing).into(),
            ];
            cells.extend(values(row));
            ReportRow {
                id: String::new(),
                head: place(&row.key.scope, [&row.key.from_group, &row.key.to_group]),
                cells,
            }
        });
        blocks.push(PageBlock::Table(PageTable {
            caption,
            head,
            rows: rows.collect(),
            prose: false,
        }));
    }
    if !same.is_empty() {
        let shown = same.iter().take(DRAWN_AT_MOST);
        let mut words = RichText::from("No rate differs in any direction of ");
        for (i, (of, _)) in shown.enumerate() {
            words = name(words.text(if i > 0 { "; of " } else { "" }), *of);
        }
        let more = same.len().saturating_sub(DRAWN_AT_MOST);
        blocks.push(PageBlock::Note(words.text(if more > 0 {
            format!("; and of {more} more.")
        } else {
            ".".to_owned()
        })));
    }
    blocks
}

/// Old value, new value and change.
fn values(row: &ChangeRow) -> Vec<PageCell> {
    let kind = terms::kind(row.metric.as_str(), row.key.scope.as_str());
    let side = |value: Option<f64>, counts: Option<(i64, i64)>| {
        let main = value.map_or_else(|| "undefined".to_owned(), |value| kind.value(value));
        let small = counts.map(|(part, whole)| {
            RichText::from(format!("{} of {}", number::count(part), number::count(whole)))
        });
        PageCell { main: main.into(), small: small.into_iter().collect(), ..PageCell::default() }
    };
    vec![
        side(row.old_value, row.old_numerator.zip(row.old_denominator)),
        side(row.new_value, row.new_numerator.zip(row.new_denominator)),
        change(row),
    ]
}

fn change(row: &ChangeRow) -> PageCell {
    let kind = apart(row);
    let Some(value) = row.difference else { return "undefined".into() };
    let mut small: Vec<RichText> = match (row.lo, row.hi) {
        (Some(lo), Some(hi)) => vec![kind.interval(value, lo, hi).into()],
        _ => Vec::new(),
    };
    small.push(reading(row).into());
    PageCell { main: kind.value(value).into(), small, ..PageCell::default() }
}

/// How the change of a metric is printed: shares and gaps of shares in points.
pub(crate) fn apart(row: &ChangeRow) -> NumberFormat {
    terms::kind(row.metric.as_str(), row.key.scope.as_str()).of_change()
}

/// `worse, clear`.
pub(crate) fn reading(row: &ChangeRow) -> String {
    let paired = if row.paired == 1 { "paired" } else { "unpaired" };
    match (row.reading.as_str(), row.lo.is_some()) {
        _ if row.difference.is_none() => "undefined".to_owned(),
        _ if row.status == "refitted" => "not judged: refitted".to_owned(),
        (_, false) => "no interval".to_owned(),
        ("", true) if row.interval == "identical" => "nothing differs".to_owned(),
        ("", true) => format!("not clear, {paired}"),
        (reading, true) => format!("{reading}, clear, {paired}"),
    }
}

fn table(
    rows: &[&ChangeRow],
    rows_shown: usize,
    glossary: &mut PageGlossary<'_>,
) -> Option<PageBlock> {
    let clear: Vec<&&ChangeRow> = rows.iter().filter(|row| is_clear(row)).collect();
    let shown = clear.len().min(rows_shown);
    let caption = match clear.len() {
        all if shown < all => {
            format!("The clearest {shown} of {all} clear changes; all are in the table `changes`")
        }
        _ => "All clear changes, the clearest first".to_owned(),
    };
    let head =
        ["Metric", "Where", "Last version", "This version", "Change"].map(RichText::from).to_vec();
    let rows = clear.iter().take(shown).map(|row| {
        let mut place = place(&row.key.scope, [&row.key.from_group, &row.key.to_group]);
        for (word, name) in [
            ("", &row.key.sensitive),
            ("set ", &row.key.counterfactual),
            ("model ", &row.key.model),
        ] {
            if !name.is_empty() {
                place = place.text(format!(", {word}")).name(name.as_str());
            }
        }
        let mut cells = vec![PageCell::from(place)];
        cells.extend(values(row));
        ReportRow { id: String::new(), head: glossary.title(row.metric.as_str()), cells }
    });
    let rows: Vec<ReportRow> = rows.collect();
    (shown > 0)
        .then(|| PageBlock::Table(PageTable { caption: caption.into(), head, rows, prose: false }))
}

/// What was not compared, in one sentence.
fn left_out(rows: &[&ChangeRow]) -> Option<PageBlock> {
    let words = left_out_in_words(rows);
    (!words.is_empty()).then(|| PageBlock::Note(format!("Not compared: {words}.").into()))
}

/// How many changes are not judged because their set was fitted again, of which sets, and what
/// helps; none where no set was.
pub(crate) fn refitted_in_words(rows: &[&ChangeRow]) -> Option<String> {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.status == "refitted") {
        let words = row.ci_method.as_str();
        by_reason
            .entry(words.strip_prefix(REFITTED).unwrap_or(words))
            .or_default()
            .push(row.key.counterfactual.as_str());
    }
    let words = by_reason.into_iter().map(|(reason, sets)| {
        let n = sets.len();
        let named: Vec<&str> = BTreeSet::from_iter(sets).into_iter().collect();
        let of = if named.len() == 1 { "the set" } else { "the sets" };
        format!("{n} changes of {of} {} (refitted: {reason})", named.join(", "))
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// How the intervals of changes are made.
fn methods(rows: &[&ChangeRow]) -> Option<PageBlock> {
    let n = |methods: &[&str]| {
        rows.iter().filter(|row| methods.contains(&row.interval.as_str())).count()
    };
    // Of two values or shares: with what the same people add to both, or as if of other people.
    let of_two = |paired: i64, methods: &[&str]| {
        let found = rows.iter().filter(|row| row.paired == paired);
        found.filter(|row| methods.contains(&row.interval.as_str())).count()
    };
    let parts = [
        (
            n(&["paired", "paired-people"]),
            "from the differences of the same people in both runs (paired)",
        ),
        (
            of_two(1, &["newcombe", "newcombe-eff", "mover"]),
            "from the intervals of both values, with the correlation that people in both runs \
             give (MOVER)",
        ),
        (
            n(&["poisson-bootstrap", "block-bootstrap"]),
            "of score metrics from the same people in both runs, resampled together (paired \
             bootstrap of people)",
        ),
        (
            n(&["delong", "influence"]),
            "of scores as such from what each person adds to both values (DeLong's covariance, \
             influences)",
        ),
        (
            n(&["identical"]),
            "exactly no change, because no outcome of a person behind them differs",
        ),
        (of_two(0, &["newcombe"]), "by Newcombe's method from two shares of independent people"),
        (
            of_two(0, &["mover"]),
            "from the intervals of both values as if their people were independent (MOVER), which \
             is too wide if the people are the same",
        ),
        (
            n(&[WITH_FITS]),
            "from people and from the fits of both runs, each repeated on rows drawn again \
             (Satterthwaite)",
        ),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    (!parts.is_empty())
        .then(|| PageBlock::Note(format!("Intervals of changes: {}.", parts.join("; ")).into()))
}

/// How many values were not compared, and why; empty where all were.
pub(crate) fn left_out_in_words(rows: &[&ChangeRow]) -> String {
    let n = |status: &str| rows.iter().filter(|row| row.status.as_str() == status).count();
    let undefined =
        rows.iter().filter(|row| row.status == "compared" && row.difference.is_none()).count();
    let parts = [
        (n("not_comparable"), "changed their meaning"),
        (n("only_old"), "are only in the last version"),
        (n("only_new"), "are only in this version"),
        (undefined, "are undefined in one of the two"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{n} values {what}"))
        .collect();
    parts.join("; ")
}
