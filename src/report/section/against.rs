//! Section "Against the last version": what has changed from an earlier run, clear changes first,
//! and what in the job differs.
//!
//! It is also what `cfaudit diff` shows: its page is this section for two folders, its text has the
//! same rows.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::context;
use minijinja::value::Value;

use crate::folder::manifest::RunComparison;
use crate::metric::Reads;
use crate::metric::catalog::find;
use crate::metric::catalog::place::PageList;
use crate::report::draw::chart::tick;
use crate::report::draw::plot::round_up;
use crate::report::page::PageSection;
use crate::report::page::number;
use crate::report::page::terms::PageGlossary;
use crate::report::section::models::{kinds, place};
use crate::report::shown_changes::ShownChanges;
use crate::table::{ChangeRow, RefitReason, WITH_FITS};
use crate::text::fact;

/// Drawings on one page.
const DRAWN_AT_MOST: usize = 60;

/// Values of the job listed.
const JOB_AT_MOST: usize = 60;

/// The section; `of_rows`: a person may have several rows, so that counts are rows.
pub(crate) fn section(
    compared: &RunComparison,
    of_rows: bool,
    changes: &[ChangeRow],
    rows_shown: usize,
    glossary: &mut PageGlossary<'_>,
) -> PageSection {
    let shown = ShownChanges::of(changes);
    let all_clear = shown.printed(false).count();
    let mut told = |row: &ChangeRow| change_facts(row, of_rows, glossary);
    let clear = shown.printed(false).take(rows_shown).map(&mut told);
    let clear: Vec<Value> = clear.collect();
    let (panels, same, more_same) = drawn(changes, &mut told);
    let differs = &compared.differs[..compared.differs.len().min(JOB_AT_MOST)];
    let facts = context! {
        job => &compared.job, run => &compared.run, version => &compared.version,
        rows => compared.rows, of_rows, tally => tally(compared, &shown),
        pairing => number::grouped_in(&compared.pairing), all_differs => compared.differs.len(),
        differs => fact(differs), clear, all_clear, panels, same, more_same,
        methods => methods(&shown),
    };
    PageSection::of_facts("against", "against.html", facts)
}

/// What the sentences about a comparison depend on; `compared.html` has them: whether definitions are
/// the same, what there is to judge, changes that are not judged because of the rows their sets were
/// fitted on (why, how many, of which sets), and what could not be compared.
pub(crate) fn tally(compared: &RunComparison, shown: &ShownChanges<'_>) -> Value {
    let rows = || shown.all();
    let n = |status: &str| rows().filter(|row| row.status == status).count();
    let mut by_reason: BTreeMap<RefitReason, Vec<&str>> = BTreeMap::new();
    for (row, why) in rows().filter_map(|row| Some((row, row.refit_reason()?))) {
        by_reason.entry(why).or_default().push(&row.key.counterfactual);
    }
    let undefined = rows().filter(|r| r.status == "compared" && r.difference.is_none());
    let status = match (n("compared"), n("refitted"), n("not_comparable")) {
        (1.., ..) => "judged",
        (_, 1.., _) => "refitted",
        (.., 1..) => "not_comparable",
        _ => "nothing",
    };
    let mut left_out: Vec<(&str, usize)> =
        ["not_comparable", "only_old", "only_new"].map(|status| (status, n(status))).to_vec();
    left_out.push(("undefined", undefined.count()));
    left_out.retain(|(_, n)| *n > 0);
    let of_reason = |(reason, sets): (_, Vec<_>)| (reason, sets.len(), BTreeSet::from_iter(sets));
    let comparable = match (compared.comparable, compared.forced) {
        (true, _) => "yes",
        (false, false) => "part",
        (false, true) => "forced",
    };
    let refitted: Vec<_> = by_reason.into_iter().map(of_reason).collect();
    context! {
        comparable, status, clear => rows().filter(|row| row.is_clear()).count(),
        all => rows().filter(|row| row.is_judged()).count(),
        level => rows().find_map(|row| row.level), refitted => fact(&refitted),
        left_out => fact(&left_out),
    }
}

/// Every direction with its old and new rates side by side, by attribute, set and model; those of
/// which no rate differs, and how many more of these there are.
fn drawn(
    changes: &[ChangeRow],
    told: &mut dyn FnMut(&ChangeRow) -> Value,
) -> (Vec<Value>, Value, usize) {
    let mut panels: BTreeMap<[&str; 3], Vec<&ChangeRow>> = BTreeMap::new();
    for row in changes.iter().filter(|row| PageList::ComparedRates.shows(&row.metric)) {
        let key = &row.key;
        let is_plain = key.scope == "direction" && key.slice.is_empty() && key.arm.is_empty();
        if is_plain && row.difference.is_some() {
            let of = [&key.counterfactual, &key.sensitive, &key.model].map(|text| text.as_str());
            panels.entry(of).or_default().push(row);
        }
    }
    for rows in panels.values_mut() {
        rows.sort_by(|x, y| y.clearness().total_cmp(&x.clearness()));
    }
    let is_same = |rows: &[&ChangeRow]| rows.iter().all(|row| row.difference == Some(0.0));
    let (same, mut differing): (Vec<_>, Vec<_>) =
        panels.into_iter().partition(|(_, rows)| is_same(rows));
    // The clearest change first; the sort is stable, so what is equally clear stays in order.
    let clearest = |rows: &[&ChangeRow]| rows.first().map_or(-1.0, |row| row.clearness());
    differing.sort_by(|x, y| clearest(&y.1).total_cmp(&clearest(&x.1)));
    let (mut found, mut left) = (Vec::new(), DRAWN_AT_MOST);
    for ([set, attribute, model], mut rows) in differing {
        rows.truncate(left);
        left -= rows.len();
        if rows.is_empty() {
            break;
        }
        let values = rows.iter().flat_map(|row| [row.old_value, row.new_value]).flatten();
        let end = round_up(values.fold(0.0, f64::max));
        let rows: Vec<Value> = rows.iter().map(|row| told(row)).collect();
        found.push(context!(set, attribute, model, end, tick => tick(end * 100.0), rows));
    }
    let more = same.len().saturating_sub(DRAWN_AT_MOST);
    let same = same.iter().take(DRAWN_AT_MOST);
    let named = |of: &([&str; 3], Vec<&ChangeRow>)| {
        let [set, attribute, model] = of.0;
        context!(set, attribute, model)
    };
    (found, same.map(named).collect(), more)
}

/// A change as a row of a table, with its metric.
fn change_facts(row: &ChangeRow, of_rows: bool, glossary: &mut PageGlossary<'_>) -> Value {
    context!(metric => glossary.title(&row.metric), ..change_row_facts(row, of_rows))
}

/// A change, where it holds, how its values are printed and how the change, and what it counts.
pub(crate) fn change_row_facts(row: &ChangeRow, of_rows: bool) -> Value {
    let key = &row.key;
    let any_group =
        find(&row.metric).is_some_and(|metric| matches!(metric.reads, Reads::AnySwitch(_)));
    let unit = match key.counterfactual.is_empty() || any_group {
        true if of_rows => "rows",
        true => "people",
        false => "counterfactuals",
    };
    context! {
        row => fact(row), unit, kinds => kinds(&row.metric, &key.scope),
        place => fact(&place(&row.metric, &key.scope, [&key.from_group, &key.to_group])),
    }
}

/// How the intervals of changes are made, and of how many.
fn methods(shown: &ShownChanges<'_>) -> Value {
    // For two values or shares: whether the interval uses what the same people add to both, or
    // treats them as different people.
    let methods = [
        ("paired", None, ["paired", "paired-people"].as_slice()),
        ("together", Some(1), &["newcombe", "newcombe-eff", "mover"]),
        ("scores", None, &["student"]),
        ("delong", None, &["delong"]),
        ("identical", None, &["identical"]),
        ("newcombe", Some(0), &["newcombe", "newcombe-eff"]),
        ("mover", Some(0), &["mover"]),
        ("fits", None, &[WITH_FITS]),
    ];
    let n = |paired: Option<i64>, of: &[&str]| {
        let found = shown.all().filter(|row| paired.is_none_or(|paired| row.paired == paired));
        found.filter(|row| of.contains(&row.interval.as_str())).count()
    };
    let counted = methods.into_iter().map(|(id, paired, of)| (id, n(paired, of)));
    counted.filter(|(_, n)| *n > 0).map(|(id, n)| context!(id, n)).collect()
}
