//! Section "Who switches": per attribute, set and model the confusion matrices of factual against
//! counterfactual predictions of each direction, and the rates with counts and intervals.
//!
//! CCM and ECCM after "The Matrix Reloaded": rows are factual predictions, columns counterfactual
//! ones; the ECCM is split by label. The matrices are tables, so that screen readers and text
//! browsers read the same numbers.

use minijinja::context;
use minijinja::value::{Serde, Value};

use crate::metric::catalog::place::PageList;
use crate::report::draw::palette;
use crate::report::draw::plot::round_up;
use crate::report::page::cells::{ValuesByKey, cell, cell_with_placebo, whiskers};
use crate::report::page::number::{self, NumberFormat};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageCell, PageSection, PageTable, ReportRow};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::{
    AuditPanel, EccmTallies, PanelDirection, ReportedValue, ResultKey,
};
use crate::report::read::tally::WeightedCount;
use crate::report::section::{classes, graphs};

/// Groups up to which the overview of all pairs is drawn.
const OVERVIEW_UP_TO: usize = 24;

/// Groups up to which the overview has room for counts, and for names of so many letters.
const NAMED_UP_TO: usize = 8;
const LETTERS_UP_TO: usize = 14;

/// The section; none where no counterfactual was counted.
pub(crate) fn section(
    audit: &AuditFolder,
    panels: &[AuditPanel],
    glossary: &mut PageGlossary<'_>,
) -> Option<PageSection> {
    let has = |p: &&AuditPanel| {
        p.directions.iter().any(|d| {
            let key = p.direction(d);
            audit.cells(&key).is_some()
                || PageList::SwitchRows.ids().iter().any(|m| audit.measure(&key, m).is_some())
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
    Some(PageSection::new(("switches", "Who switches"), blocks))
}

/// `sex, set flip (naive), model gbm`.
pub(crate) fn heading(panel: &AuditPanel) -> RichText {
    RichText::new().name(&panel.attribute).text(": ").and(terms::origin(panel))
}

/// Which directions of a panel the page draws, where these are not all.
pub(crate) fn drawn(panel: &AuditPanel) -> Value {
    let (drawn, all, still) = (panel.drawn, panel.directions.len(), panel.still);
    context!(drawn, all, still)
}

fn panel_blocks(
    audit: &AuditFolder,
    panel: &AuditPanel,
    glossary: &mut PageGlossary<'_>,
) -> Vec<PageBlock> {
    let written_to = !panel.written.is_empty();
    let set = audit.manifest.counterfactuals.iter().find(|set| set.name == panel.set);
    let overview = (panel.groups.len() > 2).then(|| overview(audit, panel, glossary)).flatten();
    let weighted = audit.manifest.weight.is_some();
    let drawn_here = panel.directions.iter().take(panel.drawn).enumerate();
    let sides: Vec<MatrixSide<'_>> = drawn_here
        .filter_map(|(d, direction)| {
            let cells = audit.cells(&panel.direction(direction))?;
            Some(MatrixSide { id: format!("p{}-{d}", panel.id), direction, cells })
        })
        .collect();
    // Both directions between two groups are one matrix.
    let in_one = match sides.as_slice() {
        [MatrixSide { direction: a, .. }, MatrixSide { direction: b, .. }]
            if (&a.from, &a.to) == (&b.to, &b.from) =>
        {
            2
        }
        _ => 1,
    };
    let matrices = sides.chunks(in_one).map(|sides| matrix(sides, weighted));
    let caution = graphs::knowledge::caution(audit, &panel.set, &panel.attribute);
    let facts = context! {
        part => "panel", id => format!("p{}", panel.id), heading => heading(panel),
        strategy => &panel.strategy, set => Value::from(Serde(&set.cloned().unwrap_or_default())),
        written => written_to,
        graphs => terms::follows_graphs(&panel.strategy),
        caution => Value::from(Serde(&caution)),
        overview, drawn => drawn(panel), matrices => matrices.collect::<Value>(),
    };
    let mut blocks = vec![PageBlock("switches.html", facts)];
    blocks.extend(classes::of_panel(audit, panel, glossary));
    let is_by_metric = panel.directions.len() <= 2;
    let rates = if is_by_metric {
        by_metric(audit, panel, glossary)
    } else {
        by_direction(audit, panel, glossary)
    };
    let facts = context! {
        part => "rates", written => written(panel), rates, is_by_metric,
        directions => panel.directions.iter().map(|d| RichText::direction(&d.from, &d.to)).collect::<Value>(),
        rest => against_the_rest(audit, panel, glossary),
    };
    blocks.push(PageBlock("switches.html", facts));
    blocks
}

/// What represents the groups of a derived attribute, for the directions that are drawn.
fn written(panel: &AuditPanel) -> Value {
    let drawn = panel.directions.iter().take(panel.drawn);
    let row = |d: &PanelDirection| {
        let columns = panel.written_in(&d.from, &d.to);
        let several = columns.iter().any(|(_, values)| values.len() > 1);
        let facts = Value::from(Serde(&columns));
        let some = !columns.is_empty();
        some.then(|| context!(from => &d.from, to => &d.to, columns => facts, several))
    };
    drawn.filter_map(row).collect()
}

/// A direction of a matrix.
struct MatrixSide<'a> {
    id: String,
    direction: &'a PanelDirection,
    cells: &'a EccmTallies,
}

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
        parts.push(("positive", counts(2), [["TCP", "TSN"], ["FSP", "FCN"]]));
        parts.push(("negative", counts(1), [["FCP", "FSN"], ["TSP", "TCN"]]));
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
        let share = share.unwrap_or_else(|| WEIGHS_NOTHING.to_owned());
        let MatrixSide { id, direction: PanelDirection { from, to }, .. } = side;
        let (all, switched, positive, negative) = (all.n, switched.n, sp.n, sn.n);
        context!(id, from, to, all, switched, positive, negative, share)
    };
    let sides: Value = sides.iter().map(head).collect();
    let rows: Value =
        parts.iter().flat_map(|(label, sides, symbols)| rows(label, sides, symbols)).collect();
    context!(sides, labelled, wide, rows)
}

/// In place of a share of those who weigh nothing together.
const WEIGHS_NOTHING: &str = "no weight";

/// The rows "predicted positive" and "predicted negative" of counts of each direction.
fn rows(label: &str, sides: &[SwitchTallies], symbols: &[[&str; 2]; 2]) -> [Value; 2] {
    let row = |factual: usize, label: &str, head: &str, symbols: [&str; 2]| {
        let side = |counts: &SwitchTallies| {
            let counts = counts[factual];
            let whole = counts[0].plus(counts[1]);
            let cell = move |(cf, symbol): (usize, &str)| {
                let tally = counts[cf];
                let none = || if whole.n > 0 { WEIGHS_NOTHING } else { "no row" }.to_owned();
                let share = number::share(tally, whole, false).unwrap_or_else(none);
                let step = tally.part_of(whole).map_or(0, palette::step);
                context!(symbol, n => tally.n, share, step, switches => factual != cf)
            };
            [1, 0].into_iter().zip(symbols).map(cell).collect::<Vec<Value>>()
        };
        let cells: Value = sides.iter().flat_map(side).collect();
        context!(label, head, cells)
    };
    [row(1, label, "positive", symbols[0]), row(0, "", "negative", symbols[1])]
}

/// Two directions: a row per metric, both directions side by side and drawn on one axis.
fn by_metric(
    audit: &AuditFolder,
    panel: &AuditPanel,
    glossary: &mut PageGlossary<'_>,
) -> PageTable {
    let keys: Vec<_> = panel.directions.iter().map(|d| panel.direction(d)).collect();
    let total = panel.total();
    let (a, b) = (panel.groups.first(), panel.groups.get(1));
    let difference = a
        .zip(b)
        .map(|(a, b)| panel.difference(a, b))
        .filter(|key| audit.measures.contains_key(key));
    let shown: Vec<&str> = PageList::SwitchRows
        .ids()
        .iter()
        .copied()
        .filter(|m| keys.iter().any(|k| audit.measure(k, m).is_some()))
        .collect();
    let of_shares = || {
        shown
            .iter()
            .filter(|m| PageList::SwitchWhiskers.shows(m))
            .flat_map(|m| keys.iter().filter_map(|k| audit.measure(k, m)))
    };
    let highest = of_shares()
        .flat_map(|m| [m.interval.map(|i| i.1).or(m.value), m.placebo.map(|p| p.1)])
        .flatten()
        .fold(0.0, f64::max);
    let end = round_up(highest).min(1.0);
    let mut head = vec!["Metric".into()];
    head.extend(panel.directions.iter().map(|d| RichText::direction(&d.from, &d.to)));
    head.push(format!("0 to {}", number::level(end)).into());
    head.extend((keys.len() > 1).then(|| "Both directions".into()));
    let of = |(a, b): (&String, &String)| {
        RichText::direction(a, b).text(" minus ").and(RichText::direction(b, a))
    };
    head.extend(difference.as_ref().map(|_| a.zip(b).map(of).unwrap_or_default()));
    let row = |metric: &&str| {
        let kind = terms::kind(metric, "direction");
        let measures: Vec<Option<&ReportedValue>> =
            keys.iter().map(|k| audit.measure(k, metric)).collect();
        let id = |d| format!("p{}-{d}-{metric}", panel.id);
        let of_direction = |(d, m): (usize, &Option<_>)| cell_with_placebo(*m, kind).at(id(d));
        let mut cells: Vec<PageCell> = measures.iter().enumerate().map(of_direction).collect();
        cells.push(if PageList::SwitchWhiskers.shows(metric) {
            whiskers(&measures, end, |m| m.placebo)
        } else {
            RichText::new().into()
        });
        let both = (keys.len() > 1).then(|| audit.measure(&total, metric));
        cells.extend(both.map(|both| cell_with_placebo(both, kind)));
        cells.extend(difference.as_ref().map(|key| {
            cell_with_placebo(audit.measure(key, metric), terms::kind(metric, "difference"))
        }));
        ReportRow::new(glossary.title(metric), cells)
    };
    PageTable::new(head, shown.iter().map(row))
}

/// More than two directions: a row per direction.
fn by_direction(
    audit: &AuditFolder,
    panel: &AuditPanel,
    glossary: &mut PageGlossary<'_>,
) -> PageTable {
    let named = |d: &PanelDirection| (RichText::direction(&d.from, &d.to), panel.direction(d));
    let mut keys: Vec<(RichText, ResultKey)> =
        panel.directions.iter().take(panel.drawn).map(named).collect();
    // The columns are those of the directions alone.
    let is_there = |m: &&str| keys.iter().any(|(_, key)| audit.measure(key, m).is_some());
    let metrics: Vec<&'static str> =
        PageList::SwitchColumns.ids().iter().copied().filter(is_there).collect();
    let total = ("All directions".into(), panel.total());
    keys.extend(Some(total).filter(|(_, key)| audit.measures.contains_key(key)));
    let id = format!("p{}", panel.id);
    let values = ValuesByKey::of(audit, "Direction", &keys, &metrics);
    let values = ValuesByKey { cell: cell_with_placebo, anchors: (&id, panel.drawn), ..values };
    values.table(&mut |m| glossary.head(m)).unwrap_or_default()
}

/// More than two groups: the people with any counterfactual that switches, and each group against
/// all others.
fn against_the_rest(
    audit: &AuditFolder,
    panel: &AuditPanel,
    glossary: &mut PageGlossary<'_>,
) -> Option<Value> {
    let metrics = PageList::AnySwitches.ids();
    let first = metrics.first()?;
    let any = |group: &str| audit.measure(&panel.one_to_rest(group), first).and_then(|m| m.value);
    let mut groups: Vec<&String> = panel
        .groups
        .iter()
        .filter(|group| audit.measures.contains_key(&panel.one_to_rest(group)))
        .collect();
    // The sort is stable, so ties stay in order.
    groups.sort_by(|a, b| any(b).unwrap_or(-1.0).total_cmp(&any(a).unwrap_or(-1.0)));
    let (all, shown) = (groups.len(), groups.len().min(panel.drawn));
    if shown == 0 {
        return None;
    }
    let mut head = vec!["Group".into()];
    head.extend(metrics.iter().map(|metric| glossary.head(metric)));
    head.extend(
        ["to all others", "from all others"].map(|words| glossary.head("sr").text(" ").text(words)),
    );
    let cells = |of: &_, to_rest: &_, from_rest: Option<&_>| {
        let any = metrics.iter().map(|m| cell(audit.measure(of, m), terms::kind(m, "total")));
        let rests = [Some(to_rest), from_rest]
            .map(|key| cell(key.and_then(|key| audit.measure(key, "sr")), NumberFormat::Share));
        any.chain(rests).collect::<Vec<PageCell>>()
    };
    let of_group = |group: &&String| {
        let to_rest = panel.one_to_rest(group);
        let cells = cells(&to_rest, &to_rest, Some(&panel.rest_to_one(group)));
        ReportRow::new(RichText::new().name(group.as_str()), cells)
    };
    let total = ReportRow::new("All groups", cells(&panel.total(), &panel.total(), None));
    let rows = groups[..shown].iter().map(of_group).chain([total]);
    Some(context!(table => PageTable::new(head, rows), shown, all))
}

/// Switch rates of all ordered pairs at one glance.
fn overview(
    audit: &AuditFolder,
    panel: &AuditPanel,
    glossary: &mut PageGlossary<'_>,
) -> Option<Value> {
    let n = panel.groups.len();
    if n > OVERVIEW_UP_TO
        || !panel.directions.iter().any(|d| audit.measure(&panel.direction(d), "sr").is_some())
    {
        return None;
    }
    let rate = |direction: &PanelDirection| {
        audit.measure(&panel.direction(direction), "sr").and_then(|m| m.value)
    };
    let highest = panel.directions.iter().filter_map(rate).fold(0.0, f64::max);
    // Names where there is room for them, and counts with them; else the numbers of the rows.
    let named =
        n <= NAMED_UP_TO && panel.groups.iter().all(|group| group.chars().count() <= LETTERS_UP_TO);
    let mut head = vec!["Factual group".into()];
    let of_group = |(i, group): (usize, &String)| {
        if named { RichText::new().name(group) } else { RichText::from(format!("{}", i + 1)) }
    };
    head.extend(panel.groups.iter().enumerate().map(of_group));
    let cell = |from: &String, to: &String| -> PageCell {
        if from == to {
            return "\u{b7}".into();
        }
        let direction = PanelDirection { from: from.clone(), to: to.clone() };
        let Some(rate) = rate(&direction) else { return PageCell::none() };
        let measure = audit.measure(&panel.direction(&direction), "sr");
        let counts = measure.and_then(|m| m.counts).filter(|_| n <= NAMED_UP_TO);
        let counts = counts.map(|(part, whole)| number::of(part, whole));
        let digits = NumberFormat::Share.value(rate);
        let shade = palette::step(if highest > 0.0 { rate / highest } else { 0.0 });
        let cell = PageCell::new(digits.trim_end_matches(['%', '\u{202f}']), counts);
        PageCell { heat: Some(shade), ..cell }
    };
    let rows = panel.groups.iter().enumerate().map(|(i, from)| {
        let number = if named { String::new() } else { format!("{} ", i + 1) };
        let head = RichText::new().text(number).name(from);
        ReportRow::new(head, panel.groups.iter().map(|to| cell(from, to)))
    });
    let entry = glossary.show("sr");
    let (metric, symbol) = (entry.name, entry.symbol);
    Some(context!(metric, symbol, named, table => PageTable::new(head, rows)))
}
