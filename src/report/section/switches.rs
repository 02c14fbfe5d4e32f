//! Section "Who switches": per attribute, set and model the confusion matrices of factual against
//! counterfactual predictions of each direction, and the rates with counts and intervals.
//!
//! CCM and ECCM after "The Matrix Reloaded": rows are factual predictions, columns counterfactual
//! ones; the ECCM is split by label. The matrices are tables, so that screen readers and text
//! browsers read the same numbers.

use minijinja::context;
use minijinja::value::Value;

use crate::metric::catalog::place::PageList;
use crate::report::draw::palette;
use crate::report::draw::plot::round_up;
use crate::report::page::cells::{ValuesByKey, cell, cell_with_placebo, whiskers};
use crate::report::page::number::{self, NumberFormat};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageCell, PageSection, PageTable, ReportRow};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::{AuditPanel, EccmTallies, ResultKey};
use crate::report::read::tally::WeightedCount;
use crate::report::section::models::place_of;
use crate::report::section::{classes, graphs, present};
use crate::table::MetricRow;
use crate::text::fact;

/// Groups up to which the overview of all pairs is drawn.
const OVERVIEW_UP_TO: usize = 24;

/// Groups up to which the overview has room for counts, and for names of this many letters.
const NAMED_UP_TO: usize = 8;
const LETTERS_UP_TO: usize = 14;

/// The section; none where no counterfactual was counted.
pub(crate) fn section(
    audit: &AuditFolder,
    panels: &[AuditPanel],
    glossary: &mut PageGlossary<'_>,
) -> Option<PageSection> {
    let has = |p: &&AuditPanel| {
        p.directions.iter().any(|key| {
            audit.cells(key).is_some()
                || PageList::SwitchRows.ids().iter().any(|m| audit.measure(key, m).is_some())
        })
    };
    let panels: Vec<&AuditPanel> = panels.iter().filter(has).collect();
    if panels.is_empty() {
        return None;
    }
    let facts = context! {
        part => "introduction", classes => audit.classes.are_there(),
        weighted => audit.manifest.weight.is_some(), all => panels.len(),
        hidden => panels.iter().filter(|p| p.drawn == 0).count(),
    };
    let mut blocks = vec![PageBlock("switches.html", facts)];
    for panel in panels.into_iter().filter(|p| p.drawn > 0) {
        blocks.extend(panel_blocks(audit, panel, glossary));
    }
    Some(PageSection::new("switches", blocks))
}

/// What a panel is of.
pub(crate) fn heading(panel: &AuditPanel) -> Value {
    let AuditPanel { attribute, set, strategy, model, .. } = panel;
    context!(attribute, set, strategy, model)
}

/// Which directions of a panel the page draws, where these are not all.
pub(crate) fn drawn(panel: &AuditPanel) -> Value {
    let (drawn, all, still) = (panel.drawn, panel.directions.len(), panel.still);
    context!(drawn, all, still)
}

/// An attribute, set and model, and where its values are.
struct SwitchPanel<'a> {
    audit: &'a AuditFolder,
    panel: &'a AuditPanel,
}

fn panel_blocks(
    audit: &AuditFolder,
    panel: &AuditPanel,
    glossary: &mut PageGlossary<'_>,
) -> Vec<PageBlock> {
    let of = SwitchPanel { audit, panel };
    let set = audit.manifest.set(&panel.set);
    let overview = (panel.groups.len() > 2).then(|| of.overview(glossary)).flatten();
    let caution = graphs::knowledge::caution(audit, &panel.set, &panel.attribute);
    let facts = context! {
        part => "panel", id => format!("p{}", panel.id), heading => heading(panel),
        strategy => &panel.strategy, set => fact(&set.cloned().unwrap_or_default()),
        written => !panel.written.is_empty(), graphs => terms::follows_graphs(&panel.strategy),
        caution, overview, drawn => drawn(panel), matrices => of.matrices(),
    };
    let mut blocks = vec![PageBlock("switches.html", facts)];
    blocks.extend(classes::of_panel(audit, panel, glossary));
    let is_by_metric = panel.directions.len() <= 2;
    let rates = if is_by_metric { of.by_metric(glossary) } else { of.by_direction(glossary) };
    let directions = panel.directions.iter().map(place_of);
    let facts = context! {
        part => "rates", written => written(panel), rates, is_by_metric,
        directions => directions.collect::<Value>(), rest => of.against_the_rest(glossary),
    };
    blocks.push(PageBlock("switches.html", facts));
    blocks
}

/// What represents the groups of a derived attribute, for the directions that are drawn.
fn written(panel: &AuditPanel) -> Value {
    let drawn = panel.directions.iter().take(panel.drawn);
    let row = |d: &ResultKey| {
        let columns = panel.written_in(&d.from, &d.to);
        let several = columns.iter().any(|(_, values)| values.len() > 1);
        let facts = fact(&columns);
        let some = !columns.is_empty();
        some.then(|| context!(from => &d.from, to => &d.to, columns => facts, several))
    };
    drawn.filter_map(row).collect()
}

/// A direction of a matrix.
struct MatrixSide<'a> {
    id: String,
    direction: &'a ResultKey,
    cells: &'a EccmTallies,
}

/// The symbols of the matrices by label: its place in the counts, its word, and by factual and
/// counterfactual prediction, positive before negative, the cells.
pub(crate) const ECCM: [(usize, &str, [[&str; 2]; 2]); 2] = [
    (2, "positive", [["TCP", "TSN"], ["FSP", "FCN"]]),
    (1, "negative", [["FCP", "FSN"], ["TSP", "TCN"]]),
];

/// Counts by factual and counterfactual prediction.
type SwitchTallies = [[WeightedCount; 2]; 2];

/// The matrix of one direction, or of both on one scale: factual predictions in rows,
/// counterfactual ones in columns, the CCM and below it the ECCM where there are labels.
fn matrix(sides: &[MatrixSide<'_>], weighted: bool) -> Value {
    let labelled = sides.iter().any(|side| side.cells.labelled());
    let counts = |label: usize| sides.iter().map(|side| side.cells.0[label]).collect();
    let ccm = [["CP", "SN"], ["SP", "CN"]];
    let all: Vec<SwitchTallies> = sides.iter().map(|side| side.cells.all()).collect();
    let mut parts = vec![(if labelled { "any" } else { "" }, all, ccm)];
    if labelled {
        let unknown: Vec<SwitchTallies> = counts(0);
        let has_unknown = unknown.iter().flatten().flatten().any(|tally| tally.n > 0);
        parts.extend(ECCM.map(|(label, name, symbols)| (name, counts(label), symbols)));
        parts.extend(has_unknown.then_some(("none", unknown, ccm)));
    }
    // Three letters and four digits, or more digits, need a line each.
    let letters = |(_, sides, symbols): &(&str, Vec<SwitchTallies>, [[&str; 2]; 2])| {
        let counts = sides.iter().flat_map(|of| of.iter().rev().flat_map(|row| row.iter().rev()));
        let cells = counts.zip(symbols.iter().flatten().cycle());
        cells.map(|(tally, symbol)| symbol.len() + number::count(tally.n).chars().count()).max()
    };
    let wide = parts.iter().filter_map(letters).any(|letters| letters > 6);
    let head = |side: &MatrixSide<'_>| {
        let [[cn, sp], [sn, cp]] = side.cells.all();
        let (switched, all) = (sp.plus(sn), sp.plus(sn).plus(cn).plus(cp));
        let share = number::share(switched, all, weighted);
        let MatrixSide { id, direction: ResultKey { from, to, .. }, .. } = side;
        let (all, switched, positive, negative) = (all.n, switched.n, sp.n, sn.n);
        context!(id, from, to, all, switched, positive, negative, share)
    };
    let sides: Value = sides.iter().map(head).collect();
    let rows: Value =
        parts.iter().flat_map(|(label, sides, symbols)| rows(label, sides, symbols)).collect();
    context!(sides, labelled, wide, rows)
}

/// The rows "predicted positive" and "predicted negative" of counts of each direction.
fn rows(label: &str, sides: &[SwitchTallies], symbols: &[[&str; 2]; 2]) -> [Value; 2] {
    let row = |factual: usize, label: &str, head: &str, symbols: [&str; 2]| {
        let side = |counts: &SwitchTallies| {
            let counts = counts[factual];
            let whole = counts[0].plus(counts[1]);
            let cell = move |(cf, symbol): (usize, &str)| {
                let tally = counts[cf];
                let share = number::share(tally, whole, false);
                let step = tally.part_of(whole).map_or(0, palette::step);
                context!(symbol, n => tally.n, share, of => whole.n, step, switches => factual != cf)
            };
            [1, 0].into_iter().zip(symbols).map(cell).collect::<Vec<Value>>()
        };
        let cells: Value = sides.iter().flat_map(side).collect();
        context!(label, head, cells)
    };
    [row(1, label, "positive", symbols[0]), row(0, "", "negative", symbols[1])]
}

impl SwitchPanel<'_> {
    /// The matrices of the directions that are drawn; both directions between two groups are one.
    fn matrices(&self) -> Value {
        let (panel, weighted) = (self.panel, self.audit.manifest.weight.is_some());
        let drawn = panel.directions.iter().take(panel.drawn).enumerate();
        let side = |(d, direction)| {
            let cells = self.audit.cells(direction)?;
            Some(MatrixSide { id: format!("p{}-{d}", panel.id), direction, cells })
        };
        let sides: Vec<MatrixSide<'_>> = drawn.filter_map(side).collect();
        let in_one = match sides.as_slice() {
            [a, b] if a.direction.from == b.direction.to && a.direction.to == b.direction.from => 2,
            _ => 1,
        };
        sides.chunks(in_one).map(|sides| matrix(sides, weighted)).collect()
    }

    /// Two directions: a row per metric, both directions side by side and drawn on one axis.
    fn by_metric(&self, glossary: &mut PageGlossary<'_>) -> PageTable {
        let (audit, panel) = (self.audit, self.panel);
        let keys = &panel.directions;
        let shown = present(audit, PageList::SwitchRows, keys);
        let both = (keys.len() > 1).then(|| (RichText::from("both_directions"), panel.total()));
        let ends = panel.groups.first().zip(panel.groups.get(1));
        let difference = ends.map(|(a, b)| panel.difference(a, b));
        let difference = difference.filter(|key| audit.at(key).is_some());
        let difference = difference.map(|key| (place_of(&key), key));
        let others: Vec<_> = both.into_iter().chain(difference).collect();
        let of_shares = shown.iter().filter(|m| PageList::SwitchWhiskers.shows(m));
        let of_shares = of_shares.flat_map(|m| keys.iter().filter_map(|k| audit.measure(k, m)));
        let highest = of_shares
            .flat_map(|m| [m.ends().map_or(m.value, |i| Some(i.1)), m.placebo().map(|p| p.1)]);
        let end = round_up(highest.flatten().fold(0.0, f64::max)).min(1.0);
        let drawn = RichText::from(format!("0 to {}", number::level(end)));
        let head = std::iter::once("metric".into()).chain(keys.iter().map(place_of));
        let head = head.chain([drawn]).chain(others.iter().map(|(head, _)| head.clone()));
        let row = |metric: &&str| {
            let value = |key: &ResultKey| {
                cell_with_placebo(audit.measure(key, metric), terms::kind(metric, &key.scope))
            };
            let at = |(d, key)| value(key).at(format!("p{}-{d}-{metric}", panel.id));
            let measures: Vec<_> = keys.iter().map(|key| audit.measure(key, metric)).collect();
            let drawn = PageList::SwitchWhiskers.shows(metric);
            let drawn = drawn.then(|| whiskers(&measures, end, MetricRow::placebo));
            let drawn = drawn.unwrap_or_else(|| RichText::new().into());
            let others = others.iter().map(|(_, key)| value(key));
            let cells = keys.iter().enumerate().map(at).chain([drawn]).chain(others);
            ReportRow::new(glossary.title(metric), cells)
        };
        PageTable::new(head, shown.iter().map(row))
    }

    /// More than two directions: a row per direction.
    fn by_direction(&self, glossary: &mut PageGlossary<'_>) -> PageTable {
        let (audit, panel) = (self.audit, self.panel);
        let directions = &panel.directions[..panel.drawn];
        let mut keys: Vec<(RichText, ResultKey)> =
            directions.iter().map(|key| (place_of(key), key.clone())).collect();
        // The columns are only those of the directions.
        let metrics = present(audit, PageList::SwitchColumns, directions);
        let total = ("all_directions".into(), panel.total());
        keys.extend(Some(total).filter(|(_, key)| audit.at(key).is_some()));
        let id = format!("p{}", panel.id);
        let values = ValuesByKey::of(audit, "direction", &keys, &metrics);
        let values = ValuesByKey { cell: cell_with_placebo, anchors: (&id, panel.drawn), ..values };
        values.table(&mut |m| glossary.head(m)).unwrap_or_default()
    }

    /// More than two groups: the people with any counterfactual that switches, and each group
    /// against all others.
    fn against_the_rest(&self, glossary: &mut PageGlossary<'_>) -> Option<Value> {
        let (audit, panel) = (self.audit, self.panel);
        let metrics = PageList::AnySwitches.ids();
        let first = metrics.first()?;
        let any = |key: &ResultKey| audit.measure(key, first).and_then(|m| m.value).unwrap_or(-1.0);
        let keys = panel.groups.iter().map(|group| (group, panel.one_to_rest(group)));
        let mut groups: Vec<_> = keys.filter(|(_, key)| audit.at(key).is_some()).collect();
        // The sort is stable, so ties stay in order.
        groups.sort_by(|a, b| any(&b.1).total_cmp(&any(&a.1)));
        let (all, shown) = (groups.len(), groups.len().min(panel.drawn));
        if shown == 0 {
            return None;
        }
        let mut head = vec!["group".into()];
        head.extend(metrics.iter().map(|metric| glossary.head(metric)));
        let rests = ["to_all_others", "from_all_others"];
        head.extend(rests.map(|word| glossary.head("sr").text(" ").word(word)));
        let row = |head: RichText, to_rest: &ResultKey, from_rest: Option<ResultKey>| {
            let value =
                |key: &ResultKey, m: &str| cell(audit.measure(key, m), terms::kind(m, "total"));
            let any = metrics.iter().map(|m| value(to_rest, m));
            let rests = [Some(to_rest), from_rest.as_ref()];
            let rests = rests.map(|key| key.map_or_else(PageCell::none, |key| value(key, "sr")));
            ReportRow::new(head, any.chain(rests))
        };
        let of_group = |(group, key): &(&String, ResultKey)| {
            row(RichText::new().name(group.as_str()), key, Some(panel.rest_to_one(group)))
        };
        let total = row("all_groups".into(), &panel.total(), None);
        let rows = groups[..shown].iter().map(of_group).chain([total]);
        Some(context!(shown, all, ..Value::from(PageTable::new(head, rows))))
    }

    /// Switch rates of all ordered pairs at one glance.
    fn overview(&self, glossary: &mut PageGlossary<'_>) -> Option<Value> {
        let groups = &self.panel.groups;
        let rate = |key: &ResultKey| self.audit.measure(key, "sr");
        let mut all = self.panel.directions.iter().filter_map(rate).peekable();
        if groups.len() > OVERVIEW_UP_TO || all.peek().is_none() {
            return None;
        }
        let highest = all.filter_map(|of| of.value).fold(0.0, f64::max);
        // Names where there is room for them, and counts with them; else the numbers of the rows.
        let is_small = groups.len() <= NAMED_UP_TO;
        let named = is_small && groups.iter().all(|of| of.chars().count() <= LETTERS_UP_TO);
        let of_group = |(i, group): (usize, &String)| match named {
            true => RichText::new().name(group),
            false => (i + 1).to_string().into(),
        };
        let head = groups.iter().enumerate().map(of_group);
        let cell = |from: &String, to: &String| -> PageCell {
            if from == to {
                return RichText::new().text("\u{b7}").into();
            }
            let measure = self.audit.measure(&self.panel.direction(from, to), "sr");
            let Some((measure, rate)) = measure.and_then(|of| Some((of, of.value?))) else {
                return PageCell::none();
            };
            let counts = measure.counts().filter(|_| is_small);
            let counts = counts.map(|(part, whole)| number::of(part, whole));
            let digits = NumberFormat::Share.value(rate);
            let shade = palette::step(if highest > 0.0 { rate / highest } else { 0.0 });
            let digits = digits.trim_end_matches(['%', '\u{202f}']).to_owned();
            let cell = PageCell::new(digits, counts);
            PageCell { heat: Some(shade), ..cell }
        };
        let rows = groups.iter().enumerate().map(|(i, from)| {
            let number = if named { String::new() } else { format!("{} ", i + 1) };
            let head = RichText::new().text(number).name(from);
            ReportRow::new(head, groups.iter().map(|to| cell(from, to)))
        });
        let table = PageTable::new(std::iter::once("factual_group".into()).chain(head), rows);
        let entry = glossary.show("sr");
        Some(context!(metric => entry.name, symbol => entry.symbol, named, ..Value::from(table)))
    }
}
