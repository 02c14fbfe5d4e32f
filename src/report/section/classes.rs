//! What the page shows next to the rest where the label has several classes: a matrix of all
//! classes per direction and per group, and each class against all others.
//!
//! Rows of a matrix are factual predictions, or labels; columns those of counterfactuals, or
//! predictions. Of more than [`SHOWN`] classes the largest are shown separately and the others
//! together, so that sums stay those of everybody.

use std::collections::{BTreeMap, BTreeSet};

use crate::metric::catalog::place::PageList;
use crate::report::draw::palette;
use crate::report::page::cells::{cell, level_in_words};
use crate::report::page::number::{self, NumberFormat};
use crate::report::page::terms::{self, PageGlossary};
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

    /// A matrix as a table; `of` names it before its sums.
    fn table(
        &self,
        key: &ResultKey,
        shown: &[&str],
        of: RichText,
        corner: &str,
        weighted: bool,
    ) -> PageTable {
        let empty = ClassTallies::new();
        let matrix = self.matrices.get(key).unwrap_or(&empty);
        let places = shown.len() + usize::from(shown.len() < self.names.len());
        let place =
            |class: &str| shown.iter().position(|name| *name == class).unwrap_or(shown.len());
        let mut sums = vec![vec![WeightedCount::default(); places]; places];
        for ((before, after), tally) in matrix {
            let cell = &mut sums[place(before).min(places - 1)][place(after).min(places - 1)];
            *cell = cell.plus(*tally);
        }
        // Next to the sums: of classes that are shown together these do not tell who left one for
        // another.
        let (mut same, mut all) = (WeightedCount::default(), WeightedCount::default());
        for ((before, after), tally) in matrix {
            all = all.plus(*tally);
            if before == after {
                same = same.plus(*tally);
            }
        }
        let name = |i: usize| match shown.get(i) {
            Some(class) => RichText::new().name(*class),
            None => format!("{} other classes", self.names.len() - shown.len()).into(),
        };
        let mut head = vec![RichText::from(corner)];
        head.extend((0..places).map(name));
        let rows = (0..places).map(|before| {
            let whole =
                sums[before].iter().fold(WeightedCount::default(), |sum, tally| sum.plus(*tally));
            let cells =
                (0..places).map(|after| {
                    let tally = sums[before][after];
                    let mut small = vec![
                        number::share(tally, whole, false)
                            .unwrap_or_else(|| "no row".to_owned())
                            .into(),
                    ];
                    let names = shown
                        .get(before)
                        .zip(shown.get(after))
                        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
                    let interval = names.and_then(|names| self.transitions.get(key)?.get(&names));
                    let share = tally.part_of(whole);
                    small.extend(interval.zip(share).map(|((lo, hi), share)| {
                        NumberFormat::Share.interval(share, *lo, *hi).into()
                    }));
                    PageCell {
                        main: number::count(tally.n).into(),
                        small,
                        heat: Some(share.map_or(0, palette::step)),
                        ..PageCell::default()
                    }
                });
            ReportRow { id: String::new(), head: name(before), cells: cells.collect() }
        });
        let other = WeightedCount { n: all.n - same.n, weight: all.weight - same.weight };
        let differ = if key.set.is_empty() {
            "are predicted as a class other than their label"
        } else {
            "are predicted as a different class"
        };
        let share = number::share(other, all, weighted)
            .map_or_else(String::new, |share| format!(" ({share})"));
        let caption = of.text(format!(
            ": {} of {} {differ}{share}",
            number::count(other.n),
            number::count(all.n)
        ));
        PageTable { caption, head, rows: rows.collect(), prose: false }
    }

    /// A row per class, with what it is against all others.
    fn one_vs_all(
        &self,
        key: &ResultKey,
        (shown, metrics): (&[&str], &[&str]),
        of: RichText,
        glossary: &mut PageGlossary<'_>,
    ) -> Option<PageTable> {
        let there =
            |metric: &&str| shown.iter().any(|class| self.measure(class, key, metric).is_some());
        let metrics: Vec<&str> = metrics.iter().copied().filter(there).collect();
        if metrics.is_empty() {
            return None;
        }
        let mut head = vec!["Class".into()];
        head.extend(metrics.iter().map(|metric| glossary.head(metric)));
        let cells = |class: &str| {
            metrics
                .iter()
                .map(|metric| {
                    cell(self.measure(class, key, metric), terms::kind(metric, &key.scope))
                })
                .collect::<Vec<PageCell>>()
        };
        let rows = shown.iter().map(|class| ReportRow {
            id: String::new(),
            head: RichText::new().name(*class),
            cells: cells(class),
        });
        let of_key = shown
            .iter()
            .flat_map(|class| metrics.iter().filter_map(|metric| self.measure(class, key, metric)));
        let caption = of.text(format!(", each class against all others{}", level_in_words(of_key)));
        Some(PageTable { caption, head, rows: rows.collect(), prose: false })
    }

    /// That not all classes are shown separately.
    fn note(&self, shown: &[&str], tables: &str) -> Option<PageBlock> {
        let text = format!(
            "Of {} classes the {} largest are shown separately; all are in {tables}.",
            self.names.len(),
            shown.len()
        );
        (shown.len() < self.names.len()).then(|| PageBlock::Note(text.into()))
    }
}

/// How to read the matrices of directions.
pub(crate) fn introduction() -> RichText {
    "Each matrix compares the factual predicted class (rows) with that of the counterfactual \
     (columns). Off the diagonal predictions switch. Every cell holds the count, its share of the \
     row and, if the class changes, the interval of that share; a stronger shade \
     means a larger share."
        .into()
}

/// The matrices of the directions that are drawn, and the classes one by one.
pub(crate) fn of_panel(
    audit: &AuditFolder,
    panel: &AuditPanel,
    glossary: &mut PageGlossary<'_>,
) -> Vec<PageBlock> {
    let classes = &audit.classes;
    if !classes.are_there() {
        return Vec::new();
    }
    let shown = classes.shown(&panel.total());
    let weighted = audit.manifest.weight.is_some();
    let drawn: Vec<&PanelDirection> = panel.directions.iter().take(panel.drawn).collect();
    let title = |d: &PanelDirection| RichText::direction(&d.from, &d.to);
    let mut blocks: Vec<PageBlock> = classes
        .note(&shown, "tables/counts.parquet and tables/metrics.parquet")
        .into_iter()
        .collect();
    let matrices = drawn
        .iter()
        .map(|d| classes.table(&panel.direction(d), &shown, title(d), "Predicted", weighted));
    blocks.push(PageBlock::Tables(matrices.collect()));
    let one = |d: &&PanelDirection| {
        classes
            .one_vs_all(
                &panel.direction(d),
                (&shown, PageList::ClassSwitches.ids()),
                title(d),
                glossary,
            )
            .map(PageBlock::Table)
    };
    blocks.extend(drawn.iter().filter_map(one).collect::<Vec<_>>());
    blocks
}

/// The values of two facets class by class, of the metrics of two lists; none where no class has
/// any.
pub(crate) fn of_facets(
    audit: &AuditFolder,
    (key, total): (&ResultKey, &ResultKey),
    of: RichText,
    lists: [PageList; 2],
    glossary: &mut PageGlossary<'_>,
) -> Option<PageTable> {
    let classes = &audit.classes;
    let metrics = lists.map(PageList::ids).concat();
    let mut shown = classes.shown(total);
    // The family may be measured of one class alone.
    shown.retain(|class| classes.measure(class, key, "dppl").is_some());
    classes.one_vs_all(key, (shown.as_slice(), metrics.as_slice()), of, glossary)
}

/// The matrices of labels and predictions of the groups, and the classes one by one; `at` makes the
/// key of a scope and a group.
pub(crate) fn of_groups(
    audit: &AuditFolder,
    groups: &[String],
    at: &dyn Fn(&str, &str, &str) -> ResultKey,
    glossary: &mut PageGlossary<'_>,
) -> Vec<PageBlock> {
    let classes = &audit.classes;
    if !classes.are_there() {
        return Vec::new();
    }
    let shown = classes.shown(&at("total", "", ""));
    let weighted = audit.manifest.weight.is_some();
    let told: Vec<&String> = groups.iter().take(GROUPS_AT_MOST).collect();
    let mut blocks: Vec<PageBlock> = classes
        .note(&shown, "tables/counts.parquet and tables/metrics.parquet")
        .into_iter()
        .collect();
    if told.len() < groups.len() {
        let text = format!(
            "Classes are shown for the first {} of {} groups; all are in the folder tables.",
            told.len(),
            groups.len()
        );
        blocks.push(PageBlock::Note(text.into()));
    }
    let name = |group: &String| RichText::new().name(group.as_str());
    let matrices = told.iter().map(|group| {
        classes.table(&at("group", group, ""), &shown, name(group), "Label", weighted)
    });
    let mut tables: Vec<PageTable> = matrices.collect();
    tables.push(classes.table(
        &at("total", "", ""),
        &shown,
        "All groups".into(),
        "Label",
        weighted,
    ));
    blocks.push(PageBlock::Text(
        "Each matrix compares the label (rows) with the predicted class (columns).".into(),
    ));
    blocks.push(PageBlock::Tables(tables));
    for group in told {
        let of = (shown.as_slice(), PageList::ClassGroups.ids());
        blocks.extend(
            classes
                .one_vs_all(&at("group", group, ""), of, name(group), glossary)
                .map(PageBlock::Table),
        );
    }
    blocks
}
