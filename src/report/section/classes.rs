//! What the page shows next to the rest where the label has several classes: a matrix of all
//! classes per direction and per group, and each class against all others.
//!
//! Rows of a matrix are factual predictions, or labels; columns those of counterfactuals, or
//! predictions. Of more than [`SHOWN`] classes the largest are shown separately and the others
//! together, so that sums stay those of everybody.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::context;
use minijinja::value::Value;

use crate::metric::catalog::place::PageList;
use crate::report::draw::palette;
use crate::report::page::cells::{ValuesByKey, cell};
use crate::report::page::number::{self, NumberFormat};
use crate::report::page::terms::PageGlossary;
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageCell, PageTable, ReportRow};
use crate::report::read::audit::AuditFolder;
use crate::report::read::classes::{ClassResults, ClassTallies};
use crate::report::read::panel::{AuditPanel, PanelDirection, ResultKey};
use crate::report::read::tally::WeightedCount;

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
    fn matrix(
        &self,
        key: &ResultKey,
        shown: &[&str],
        of: RichText,
        corner: &str,
        weighted: bool,
    ) -> Value {
        let empty = ClassTallies::new();
        let matrix = self.matrices.get(key).unwrap_or(&empty);
        let places = shown.len() + usize::from(shown.len() < self.names.len());
        let place =
            |class: &str| shown.iter().position(|name| *name == class).unwrap_or(shown.len());
        let mut sums = vec![vec![WeightedCount::default(); places]; places];
        // Next to the sums: of classes that are shown together these do not tell who left one for
        // another.
        let (mut same, mut all) = (WeightedCount::default(), WeightedCount::default());
        for ((before, after), tally) in matrix {
            let cell = &mut sums[place(before).min(places - 1)][place(after).min(places - 1)];
            *cell = cell.plus(*tally);
            all = all.plus(*tally);
            if before == after {
                same = same.plus(*tally);
            }
        }
        let name = |i: usize| match shown.get(i) {
            Some(class) => RichText::new().name(*class),
            None => format!("{} other classes", self.names.len() - shown.len()).into(),
        };
        let cell = |before: usize, after: usize, whole: WeightedCount| {
            let tally = sums[before][after];
            let share = number::share(tally, whole, false).unwrap_or_else(|| "no row".to_owned());
            let names = shown.get(before).zip(shown.get(after));
            let names = names.map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
            let interval = names.and_then(|names| self.transitions.get(key)?.get(&names));
            let part = tally.part_of(whole);
            let ends = interval
                .zip(part)
                .map(|((lo, hi), part)| NumberFormat::Share.interval(part, *lo, *hi));
            let heat = Some(part.map_or(0, palette::step));
            let small = std::iter::once(share).chain(ends);
            PageCell { heat, ..PageCell::new(number::count(tally.n), small) }
        };
        let rows = (0..places).map(|before| {
            let whole = sums[before].iter().fold(WeightedCount::default(), |sum, t| sum.plus(*t));
            ReportRow::new(name(before), (0..places).map(|after| cell(before, after, whole)))
        });
        let other = WeightedCount { n: all.n - same.n, weight: all.weight - same.weight };
        let head = std::iter::once(corner.into()).chain((0..places).map(name));
        context! {
            of, is_of_labels => key.set.is_empty(), n => other.n, all => all.n,
            share => number::share(other, all, weighted), table => PageTable::new(head, rows),
        }
    }

    /// A row per class, with what it is against all others; none where no class has any value.
    fn one_vs_all<'k>(
        &self,
        key: &'k ResultKey,
        (shown, metrics): (&[&'k str], &[&'static str]),
        of: RichText,
        glossary: &mut PageGlossary<'_>,
    ) -> Option<Value> {
        let named = |class: &&'k str| (RichText::new().name(*class), (*class, key));
        let keys: Vec<_> = shown.iter().map(named).collect();
        let at = |of: &(&str, &ResultKey), metric: &str| self.measure(of.0, of.1, metric);
        let (first, anchors, at) = ("Class", ("", 0), Box::new(at));
        let values = ValuesByKey { first, keys: &keys, metrics, cell, anchors, at };
        let table = values.table(&mut |metric| glossary.head(metric))?;
        Some(context!(of, table))
    }
}

/// The matrices of the directions that are drawn, and the classes one by one.
pub(crate) fn of_panel(
    audit: &AuditFolder,
    panel: &AuditPanel,
    glossary: &mut PageGlossary<'_>,
) -> Option<PageBlock> {
    let classes = Some(&audit.classes).filter(|classes| classes.are_there())?;
    let shown = classes.shown(&panel.total());
    let weighted = audit.manifest.weight.is_some();
    let drawn = || {
        let named = |d: &PanelDirection| (RichText::direction(&d.from, &d.to), panel.direction(d));
        panel.directions.iter().take(panel.drawn).map(named)
    };
    let matrix = |(of, key)| classes.matrix(&key, &shown, of, "Predicted", weighted);
    let metrics = PageList::ClassSwitches.ids();
    let one = |(of, key)| classes.one_vs_all(&key, (&shown, metrics), of, glossary);
    Some(PageBlock(
        "classes.html",
        context! {
            all => classes.names.len(), shown => shown.len(), is_of_labels => false, told => 0,
            groups => 0, matrices => drawn().map(matrix).collect::<Value>(),
            classes => drawn().filter_map(one).collect::<Value>(),
        },
    ))
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
    let classes = &audit.classes;
    let metrics = lists.map(PageList::ids).concat();
    let mut shown = classes.shown(total);
    // The family may be measured of one class alone.
    shown.retain(|class| classes.measure(class, key, "dppl").is_some());
    classes.one_vs_all(key, (shown.as_slice(), metrics.as_slice()), sides, glossary)
}

/// The matrices of labels and predictions of the groups, and the classes one by one; `at` makes the
/// key of a scope and a group.
pub(crate) fn of_groups(
    audit: &AuditFolder,
    groups: &[String],
    at: &dyn Fn(&str, &str, &str) -> ResultKey,
    glossary: &mut PageGlossary<'_>,
) -> Option<PageBlock> {
    let classes = Some(&audit.classes).filter(|classes| classes.are_there())?;
    let total = at("total", "", "");
    let shown = classes.shown(&total);
    let weighted = audit.manifest.weight.is_some();
    let named = |group: &String| (RichText::new().name(group), at("group", group, ""));
    let told = || groups.iter().take(GROUPS_AT_MOST).map(named);
    let matrix = |(of, key)| classes.matrix(&key, &shown, of, "Label", weighted);
    let metrics = PageList::ClassGroups.ids();
    let one = |(of, key)| classes.one_vs_all(&key, (&shown, metrics), of, glossary);
    let all = std::iter::once(("All groups".into(), total.clone()));
    Some(PageBlock(
        "classes.html",
        context! {
            all => classes.names.len(), shown => shown.len(), is_of_labels => true,
            told => told().count(), groups => groups.len(),
            matrices => told().chain(all).map(matrix).collect::<Value>(),
            classes => told().filter_map(one).collect::<Value>(),
        },
    ))
}
