//! Section "How far scores move": histograms of change and of both scores per direction, and the distances between them.

use crate::report::chart::{self, Axes, Label};
use crate::report::folder::{Audit, Bin, Direction, Histograms, Panel, Tally};
use crate::report::number;
use crate::report::page::{Block, Figure, Row, Section, Table};
use crate::report::switches;
use crate::report::terms::{self, Glossary};
use crate::report::words::Words;

/// The metrics shown, in columns.
const METRICS: &[&str] = &["rmscd", "mcd", "macd", "jscd", "kld", "jsd_hist", "kld_hist_smoothed"];

/// The section; none where no score shift was measured.
pub(super) fn section(audit: &Audit, panels: &[Panel], glossary: &mut Glossary<'_>) -> Option<Section> {
    let has = |p: &&Panel| {
        p.drawn > 0
            && p.directions.iter().any(|d| {
                let key = p.direction(d);
                audit.histograms(&key).is_some() || METRICS.iter().any(|m| audit.measure(&key, m).is_some())
            })
    };
    let panels: Vec<&Panel> = panels.iter().filter(has).collect();
    if panels.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Text(
        "A score can move without crossing the threshold, and a small move can cross it. Left: how much the score changes from the factual row to its \
         counterfactual. Right: the scores before and after. Within one attribute, set and model all drawings have the same axes."
            .into(),
    )];
    if audit.manifest.weight.is_some() {
        blocks.push(Block::Note("Heights and middles of the drawings are weighted; the cases named are counted.".into()));
    }
    for panel in panels {
        blocks.push(Block::Heading(format!("s{}", panel.id), switches::heading(panel)));
        blocks.extend(switches::drawn_in_words(panel).map(Block::Note));
        if panel.strategy == "graph-uncertain" {
            blocks.push(Block::Note(
                "Drawings show the mean score of each person over all graphs, so graphs in which scores move far do not stand out. Distances are \
                 means over graphs of the distance in each."
                    .into(),
            ));
        }
        blocks.extend(drawings(audit, panel));
        blocks.extend(table(audit, panel, glossary));
    }
    if audit.measures.values().any(|m| m.contains_key("jscd")) {
        let symbol = glossary.show("jscd").symbol;
        blocks.push(Block::Note(
            Words::new().code(symbol).text(
                " compares the two score vectors after each is scaled to sum 1, so it ignores a common factor: if every score fell to nine tenths it would \
                 be 0. It depends on all scores of its scope, and the total is no mean of the directions. Read it beside the root mean square change.",
            ),
        ));
    }
    Some(Section { id: "scores", title: "How far scores move", blocks })
}

/// The highest share of a bin, and the farthest edge from zero of a bin that holds something.
fn extent(bins: &[Bin]) -> (f64, f64) {
    let all = chart::size(bins);
    let share = |bin: &Bin| bin.2.part_of(all).unwrap_or(0.0);
    bins.iter().filter(|b| b.2.n > 0).fold((0.0, 0.0), |(top, far), b| (f64::max(top, share(b)), far.max(b.0.abs()).max(b.1.abs())))
}

fn drawings(audit: &Audit, panel: &Panel) -> Vec<Block> {
    let drawn: Vec<_> = panel
        .directions
        .iter()
        .take(panel.drawn)
        .enumerate()
        .filter_map(|(d, direction)| Some((d, direction, audit.histograms(&panel.direction(direction))?)))
        .collect();
    let mut changes = (0.0, 0.0);
    let mut top = 0.0;
    for (_, _, h) in drawn.iter().filter(|(_, direction, _)| !is_unmoved(audit, panel, direction)) {
        let (share, far) = extent(&h.change);
        changes = (f64::max(changes.0, share), f64::max(changes.1, far));
        top = f64::max(top, extent(&h.original).0.max(extent(&h.counterfactual).0));
    }
    let end = chart::round_up(changes.1).min(1.0);
    let change_axes = Axes { x: (-end, end), top: chart::round_up(changes.0) };
    let score_axes = Axes { x: (0.0, 1.0), top: chart::round_up(top) };
    let thresholds = thresholds(audit, &panel.model);
    drawn
        .into_iter()
        .map(|(d, direction, histograms)| {
            let title = Words::direction(&direction.from, &direction.to);
            let id = format!("s{}-{d}", panel.id);
            // A bin has a width: drawn, a change of nothing would be a block beside zero.
            if is_unmoved(audit, panel, direction) {
                return Block::Text(title.text(": no score moved."));
            }
            let Histograms { original, counterfactual, change } = histograms;
            let fall = chart::change_in_words(change, audit.manifest.weight.is_some());
            let crossing = audit
                .measure(&panel.direction(direction), "sr")
                .and_then(|sr| {
                    let (part, whole) = sr.counts?;
                    let share = number::said(sr.value?, sr.weights.is_some());
                    Some(format!("; {} of {} ({share}) cross the threshold", number::count(part), number::count(whole)))
                })
                .unwrap_or_default();
            let plain = title.plain();
            let change_title = format!("Change of the score, {plain}");
            let score_title = format!("Scores before and after, {plain}");
            let scores = format!("{}; {}", middle("factual", original), middle("counterfactual", counterfactual));
            Block::Figure(Figure {
                drawings: vec![
                    chart::change(change, &change_axes, &Label { id: format!("{id}-c"), title: &change_title, text: &fall }),
                    chart::scores(
                        original,
                        counterfactual,
                        &thresholds,
                        &score_axes,
                        &Label { id: format!("{id}-s"), title: &score_title, text: &scores },
                    ),
                ],
                caption: title.text(format!(": {fall}{crossing}.")),
                small: false,
            })
        })
        .collect()
}

/// The thresholds of a model that lie among the scores: the one that the job gives, or those fitted, one a fold.
fn thresholds(audit: &Audit, model: &str) -> Vec<f64> {
    let given = audit.manifest.models.iter().filter(|m| m.name == model).filter_map(|m| m.threshold.parse().ok());
    let plain = audit.thresholds.records().filter(|row| row.text("arm").is_empty() && row.text("model") == model);
    let mut all: Vec<f64> = given.chain(plain.filter_map(|row| row.real("threshold"))).filter(|t| (0.0..=1.0).contains(t)).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

/// Whether no score of a direction moved.
fn is_unmoved(audit: &Audit, panel: &Panel, direction: &Direction) -> bool {
    let key = panel.direction(direction);
    ["rmscd", "macd"].iter().any(|metric| audit.measure(&key, metric).is_some_and(|m| m.value == Some(0.0)))
}

/// In which bin the middle score lies, for those who do not see the drawing.
fn middle(what: &str, bins: &[Bin]) -> String {
    let all = chart::size(bins);
    let mut below = Tally::default();
    for (lo, hi, tally) in bins {
        below = below.plus(*tally);
        if below.part_of(all).is_some_and(|share| share >= 0.5) {
            return format!(
                "the middle {what} score of {} lies between {} and {}",
                number::count(all.n),
                number::three(*lo),
                number::three(*hi)
            );
        }
    }
    format!("there is no {what} score")
}

fn table(audit: &Audit, panel: &Panel, glossary: &mut Glossary<'_>) -> Option<Block> {
    let mut keys: Vec<_> =
        panel.directions.iter().take(panel.drawn).map(|d| (Words::direction(&d.from, &d.to), panel.direction(d))).collect();
    keys.push(("All directions".into(), panel.total()));
    if let [a, b] = panel.groups.as_slice() {
        let gap = Words::direction(a, b).text(" minus ").and(Words::direction(b, a));
        keys.push((gap, panel.difference(a, b)));
    }
    let metrics: Vec<&str> = METRICS.iter().copied().filter(|m| keys.iter().any(|(_, k)| audit.measure(k, m).is_some())).collect();
    if metrics.is_empty() {
        return None;
    }
    let all = || {
        let shown = |(id, measure)| metrics.contains(&String::as_str(id)).then_some(measure);
        keys.iter().filter_map(|(_, k)| audit.measures.get(k)).flat_map(move |m| m.iter().filter_map(shown))
    };
    let (levels, noise) = (switches::level_in_words(all()), switches::noise_in_words(all()));
    let mut head = vec!["Direction".into()];
    head.extend(metrics.iter().map(|m| glossary.head(m)));
    let rows = keys
        .iter()
        .filter(|(_, key)| audit.measures.contains_key(key))
        .map(|(name, key)| Row {
            id: String::new(),
            head: name.clone(),
            cells: metrics.iter().map(|m| switches::cell_with_placebo(audit.measure(key, m), terms::kind(m, &key.scope))).collect(),
        })
        .collect();
    Some(Block::Table(Table {
        caption: format!("Distances between factual and counterfactual scores{levels}{noise}").into(),
        head,
        rows,
        prose: false,
    }))
}
