//! What the page also shows where the label has several classes: a matrix of all classes per
//! direction and per group, and each class against all others.
//!
//! Rows of a matrix are factual predictions, or labels; columns those of counterfactuals, or
//! predictions. If there are more than [`SHOWN`] classes, the largest are shown separately and the
//! others together, so that sums are still those of everybody.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::context;
use minijinja::value::Value;

use crate::metric::catalog::place::PageList;
use crate::report::draw::palette;
use crate::report::page::cells::ValuesByKey;
use crate::report::page::number::{self, NumberFormat};
use crate::report::page::terms::PageGlossary;
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageCell, PageTable, ReportRow};
use crate::report::read::audit::AuditFolder;
use crate::report::read::classes::ClassResults;
use crate::report::read::panel::{AuditPanel, ResultKey};
use crate::report::read::tally::WeightedCount;
use crate::report::section::models::place_of;

/// Classes that are shown separately; one more does too where it would be all others.
const SHOWN: usize = 8;

/// Groups whose matrices and classes are on the page, for each attribute and model.
const GROUPS_AT_MOST: usize = 8;

impl ClassResults {
    /// The classes that are shown separately, in the order of the job: of many those that most
    /// people have in the matrix.
    fn shown(&self, of: &ResultKey) -> Vec<&str> {
        if self.names.len() <= SHOWN + 1 {
            return self.names.iter().map(String::as_str).collect();
        }
        let mut sizes: BTreeMap<&str, i64> = BTreeMap::new();
        for ((before, after), tally) in self.matrices.get(of).into_iter().flatten() {
            for class in [before, after] {
                let size = sizes.entry(class).or_default();
                *size = size.saturating_add(tally.n);
            }
        }
        let mut ranked: Vec<&str> = self.names.iter().map(String::as_str).collect();
        ranked.sort_by_key(|class| std::cmp::Reverse(sizes.get(class).copied().unwrap_or(0)));
        let chosen: BTreeSet<&str> = ranked.into_iter().take(SHOWN).collect();
        self.names.iter().map(String::as_str).filter(|class| chosen.contains(class)).collect()
    }

    /// A matrix with its sums; `of` names it.
    fn matrix(&self, key: &ResultKey, shown: &[&str], of: RichText, weighted: bool) -> Value {
        let places = shown.len() + usize::from(shown.len() < self.names.len());
        let place =
            |class: &str| shown.iter().position(|name| *name == class).unwrap_or(shown.len());
        let mut sums = vec![vec![WeightedCount::default(); places]; places];
        // Next to the sums: for classes that are shown together these do not say who left one for
        // another.
        let (mut same, mut all) = (WeightedCount::default(), WeightedCount::default());
        for ((before, after), tally) in self.matrices.get(key).into_iter().flatten() {
            let cell = &mut sums[place(before).min(places - 1)][place(after).min(places - 1)];
            *cell = cell.plus(*tally);
            all = all.plus(*tally);
            if before == after {
                same = same.plus(*tally);
            }
        }
        let name = |i: usize| match shown.get(i) {
            Some(class) => RichText::new().name(*class),
            None => {
                let others = self.names.len() - shown.len();
                RichText::from(others.to_string()).word("other_classes")
            }
        };
        let cell = |before: usize, after: usize, whole: WeightedCount| {
            let tally = sums[before][after];
            let share = number::share(tally, whole, false);
            let share = share.map_or_else(|| "no_row".into(), RichText::from);
            let names = shown.get(before).zip(shown.get(after));
            let names = names.map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
            let interval = names.and_then(|names| self.transitions.get(key)?.get(&names));
            let part = tally.part_of(whole);
            let ends = interval
                .zip(part)
                .map(|((lo, hi), part)| NumberFormat::Share.interval(part, *lo, *hi));
            let heat = Some(part.map_or(0, palette::step));
            let small = std::iter::once(share).chain(ends.map(RichText::from));
            PageCell { heat, ..PageCell::new(number::count(tally.n), small) }
        };
        let rows = (0..places).map(|before| {
            let whole = sums[before].iter().fold(WeightedCount::default(), |sum, t| sum.plus(*t));
            ReportRow::new(name(before), (0..places).map(|after| cell(before, after, whole)))
        });
        let other = WeightedCount { n: all.n - same.n, weight: all.weight - same.weight };
        let is_of_labels = key.set.is_empty();
        let corner = if is_of_labels { "label" } else { "predicted" };
        let head = std::iter::once(corner.into()).chain((0..places).map(name));
        context! {
            of, is_of_labels, n => other.n, all => all.n,
            share => number::share(other, all, weighted), table => PageTable::new(head, rows),
        }
    }
}

/// A row per class, with what it is against all others; none where no class has any value.
fn one_vs_all(
    audit: &AuditFolder,
    key: &ResultKey,
    (shown, metrics): (&[&str], &[&'static str]),
    of: RichText,
    glossary: &mut PageGlossary<'_>,
) -> Option<Value> {
    let named = |class: &&str| (RichText::new().name(*class), key.of_class(class));
    let keys: Vec<_> = shown.iter().map(named).collect();
    let values = ValuesByKey::of(audit, "class", &keys, metrics);
    let table = values.table(&mut |metric| glossary.head(metric))?;
    Some(context!(of, table))
}

/// The matrices of these keys, of labels and predictions also that of all, and the classes one by
/// one; none of a label of two sides.
fn block(
    audit: &AuditFolder,
    told: &[(RichText, ResultKey)],
    (total, groups): (&ResultKey, usize),
    glossary: &mut PageGlossary<'_>,
) -> Option<PageBlock> {
    let classes = Some(&audit.classes).filter(|classes| classes.are_there())?;
    let weighted = audit.manifest.weight.is_some();
    let shown = classes.shown(total);
    let is_of_labels = total.set.is_empty();
    let list = if is_of_labels { PageList::ClassGroups } else { PageList::ClassSwitches };
    let all = is_of_labels.then(|| ("all_groups".into(), total.clone()));
    let matrices = told.iter().cloned().chain(all);
    let matrices = matrices.map(|(of, key)| classes.matrix(&key, &shown, of, weighted));
    let matrices: Value = matrices.collect();
    let one = |(of, key): &(RichText, ResultKey)| {
        one_vs_all(audit, key, (&shown, list.ids()), of.clone(), glossary)
    };
    let facts = context! {
        all => classes.names.len(), shown => shown.len(), is_of_labels, told => told.len(),
        groups, matrices, classes => told.iter().filter_map(one).collect::<Value>(),
    };
    Some(PageBlock("classes.html", facts))
}

/// The matrices of the directions that are drawn, and the classes one by one.
pub(crate) fn of_panel(
    audit: &AuditFolder,
    panel: &AuditPanel,
    glossary: &mut PageGlossary<'_>,
) -> Option<PageBlock> {
    let named = |d: &ResultKey| (place_of(d), d.clone());
    let drawn: Vec<_> = panel.directions.iter().take(panel.drawn).map(named).collect();
    block(audit, &drawn, (&panel.total(), 0), glossary)
}

/// The values of two facets class by class, of the metrics of two lists; none where no class has
/// any.
pub(crate) fn of_facets(
    audit: &AuditFolder,
    (key, total): (&ResultKey, &ResultKey),
    sides: RichText,
    lists: [PageList; 2],
    glossary: &mut PageGlossary<'_>,
) -> Option<Value> {
    let metrics = lists.map(PageList::ids).concat();
    let mut shown = audit.classes.shown(total);
    // The family may be measured for a single class only.
    shown.retain(|class| audit.measure(&key.of_class(class), "dppl").is_some());
    one_vs_all(audit, key, (shown.as_slice(), metrics.as_slice()), sides, glossary)
}

/// The matrices of labels and predictions of the groups, and the classes one by one; `at` makes the
/// key of a scope and a group.
pub(crate) fn of_groups(
    audit: &AuditFolder,
    groups: &[String],
    at: &dyn Fn(&str, &str, &str) -> ResultKey,
    glossary: &mut PageGlossary<'_>,
) -> Option<PageBlock> {
    let named = |group: &String| (RichText::new().name(group), at("group", group, ""));
    let told: Vec<_> = groups.iter().take(GROUPS_AT_MOST).map(named).collect();
    block(audit, &told, (&at("total", "", ""), groups.len()), glossary)
}
