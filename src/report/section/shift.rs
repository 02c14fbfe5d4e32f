//! Section "How far scores move": histograms of change and of both scores per direction, and the
//! distances between them.

use crate::folder::manifest::ModelWords;
use crate::metric::catalog::place::PageList;
use crate::metric::rate::Undefined;
use crate::report::draw::panel::highest;
use crate::report::draw::plot::{PlotScale, round_up};
use crate::report::draw::{chart, panel as drawn_panel};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{
    PageBlock, PageFigure, PageSection, PageTable, ReportRow, cells, number,
};
use crate::report::read::audit::{AuditFolder, ScoreHistograms};
use crate::report::read::panel::{AuditPanel, PanelDirection, ResultKey};
use crate::report::read::tally::{HistogramBin, WeightedCount};
use crate::report::section::switches;

/// The section; none where no score shift was measured.
pub(crate) fn section(
    audit: &AuditFolder,
    panels: &[AuditPanel],
    glossary: &mut PageGlossary<'_>,
) -> Option<PageSection> {
    let has = |p: &&AuditPanel| {
        p.drawn > 0
            && p.directions.iter().any(|d| {
                let key = p.direction(d);
                audit.histograms(&key).is_some()
                    || PageList::ScoreShifts.ids().iter().any(|m| has_scores(audit, &key, m))
            })
    };
    let panels: Vec<&AuditPanel> = panels.iter().filter(has).collect();
    if panels.is_empty() {
        return None;
    }
    let mut blocks = vec![PageBlock::Text(
        "A score can move without crossing the threshold, and a small move can cross it. Left: the \
         change of the score from the factual row to its counterfactual. Right: the scores \
         before and after. Within one attribute, set and model all charts have the same axes."
            .into(),
    )];
    if audit.manifest.weight.is_some() {
        blocks.push(PageBlock::Note(
            "Heights and medians in the charts are weighted; numbers of cases are not.".into(),
        ));
    }
    for panel in panels {
        blocks.push(PageBlock::Heading(format!("s{}", panel.id), switches::heading(panel)));
        blocks.extend(switches::drawn_in_words(panel).map(PageBlock::Note));
        if terms::follows_graphs(&panel.strategy) {
            blocks.push(PageBlock::Note(
                "Charts show the mean score of each person over all graphs, so single graphs with \
                 large score changes are not visible. Distances are means over graphs of the \
                 distance in each."
                    .into(),
            ));
        }
        let scale = model_words(audit, &panel.model).and_then(ModelWords::scale_in_words);
        blocks.extend(scale.map(|words| PageBlock::Note(RichText::new().quote(&words))));
        blocks.extend(drawings(audit, panel));
        blocks.extend(table(audit, panel, glossary));
    }
    if audit.measures.values().any(|m| m.contains_key("jscd")) {
        let symbol = glossary.show("jscd").symbol;
        blocks.push(PageBlock::Note(RichText::new().code(symbol).text(
            " compares the shape of the scores only; if all fell by 10 % \
             it would be 0. It depends on all scores of its scope, and \
             the total is not a mean of the directions. Read it together with \
             the root mean square change.",
        )));
    }
    Some(PageSection { id: "scores", title: "How far scores move", blocks })
}

/// Whether a metric was measured by a model that gives scores.
fn has_scores(audit: &AuditFolder, key: &ResultKey, metric: &str) -> bool {
    let measure = audit.measure(key, metric);
    measure.is_some_and(|of| of.undefined != Undefined::NoScore.code())
}

/// The farthest edge from zero of a bin that holds something.
fn farthest(bins: &[HistogramBin]) -> f64 {
    let edges = bins.iter().filter(|bin| bin.2.n > 0).flat_map(|bin| [bin.0.abs(), bin.1.abs()]);
    edges.fold(0.0, f64::max)
}

fn drawings(audit: &AuditFolder, panel: &AuditPanel) -> Vec<PageBlock> {
    let drawn: Vec<_> = panel
        .directions
        .iter()
        .take(panel.drawn)
        .filter_map(|direction| Some((direction, audit.histograms(&panel.direction(direction))?)))
        .collect();
    let (mut change_top, mut score_top, mut far) = (0.0, 0.0, 0.0);
    for (_, h) in drawn.iter().filter(|(direction, _)| !is_unmoved(audit, panel, direction)) {
        change_top = f64::max(change_top, highest(&h.change));
        score_top = [&h.original, &h.counterfactual]
            .into_iter()
            .map(|bins| highest(bins))
            .fold(score_top, f64::max);
        far = f64::max(far, farthest(&h.change));
    }
    let end = round_up(far).min(1.0);
    let (change_scale, score_scale) = (PlotScale::new(-end, end), PlotScale::new(0.0, 1.0));
    let scale = model_words(audit, &panel.model).map(ModelWords::score_scale).unwrap_or_default();
    let thresholds: Vec<(f64, String)> = thresholds(audit, &panel.model)
        .into_iter()
        .map(|at| (scale.share(at), format!("cut-off {}", number::three_digits(at))))
        .filter(|(at, _)| (0.0..=1.0).contains(at))
        .collect();
    drawn
        .into_iter()
        .map(|(direction, histograms)| {
            let title = RichText::direction(&direction.from, &direction.to);
            // A bin has a width: drawn, a change of nothing would be a block next to zero.
            if is_unmoved(audit, panel, direction) {
                return PageBlock::Text(title.text(": no score moved."));
            }
            let ScoreHistograms { original, counterfactual, change, .. } = histograms;
            let fall = chart::change_in_words(change, audit.manifest.weight.is_some());
            let crossing = audit
                .measure(&panel.direction(direction), "sr")
                .and_then(|sr| {
                    let (part, whole) = sr.counts?;
                    let share = number::percent_text(sr.value?, sr.weights.is_some());
                    Some(format!(
                        "; {} of {} ({share}) cross the threshold",
                        number::count(part),
                        number::count(whole)
                    ))
                })
                .unwrap_or_default();
            let plain = title.plain();
            let change_title = format!("Change of the score, {plain}");
            let score_title = format!("Scores before and after, {plain}");
            let scores = format!(
                "{}; {}",
                middle("factual", original),
                middle("counterfactual", counterfactual)
            );
            PageBlock::Figure(PageFigure {
                drawings: vec![
                    drawn_panel::change_bars(&change_title, change, change_scale, change_top, None),
                    drawn_panel::score_bars(
                        &score_title,
                        (original, counterfactual),
                        score_scale,
                        score_top,
                        &thresholds,
                    ),
                ],
                caption: title.text(format!(": {fall}{crossing}; {scores}.")),
                small: false,
            })
        })
        .collect()
}

fn model_words<'a>(audit: &'a AuditFolder, model: &str) -> Option<&'a ModelWords> {
    audit.manifest.models.iter().find(|words| words.name == model)
}

/// The thresholds of a model in its own numbers: the one that the job gives, or those fitted, one a
/// fold.
pub(crate) fn thresholds(audit: &AuditFolder, model: &str) -> Vec<f64> {
    let given = model_words(audit, model).and_then(ModelWords::cut_off).into_iter();
    let plain =
        audit.thresholds.iter().filter(|row| row.arm.is_empty() && row.model.as_str() == model);
    let mut all: Vec<f64> = given.chain(plain.map(|row| row.threshold)).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

/// Whether no score of a direction moved.
fn is_unmoved(audit: &AuditFolder, panel: &AuditPanel, direction: &PanelDirection) -> bool {
    audit.score_moves(&panel.direction(direction)).any(|value| value == Some(0.0))
}

/// In which bin the middle score lies, for those who do not see the drawing.
fn middle(what: &str, bins: &[HistogramBin]) -> String {
    let all = drawn_panel::cases(bins);
    let mut below = WeightedCount::default();
    for (lo, hi, tally) in bins {
        below = below.plus(*tally);
        if below.part_of(all).is_some_and(|share| share >= 0.5) {
            return format!(
                "the middle {what} score of {} lies between {} and {}",
                number::count(all.n),
                number::three_digits(*lo),
                number::three_digits(*hi)
            );
        }
    }
    format!("there is no {what} score")
}

fn table(
    audit: &AuditFolder,
    panel: &AuditPanel,
    glossary: &mut PageGlossary<'_>,
) -> Option<PageBlock> {
    let mut keys: Vec<_> = panel
        .directions
        .iter()
        .take(panel.drawn)
        .map(|d| (RichText::direction(&d.from, &d.to), panel.direction(d)))
        .collect();
    keys.push(("All directions".into(), panel.total()));
    if let [a, b] = panel.groups.as_slice() {
        let gap = RichText::direction(a, b).text(" minus ").and(RichText::direction(b, a));
        keys.push((gap, panel.difference(a, b)));
    }
    let metrics: Vec<&str> = PageList::ScoreShifts
        .ids()
        .iter()
        .copied()
        .filter(|m| keys.iter().any(|(_, k)| audit.measure(k, m).is_some()))
        .collect();
    if metrics.is_empty() {
        return None;
    }
    let all = || {
        let shown = |(id, measure)| metrics.contains(&String::as_str(id)).then_some(measure);
        keys.iter()
            .filter_map(|(_, k)| audit.measures.get(k))
            .flat_map(move |m| m.iter().filter_map(shown))
    };
    let (levels, noise) = (cells::level_in_words(all()), switches::noise_in_words(all()));
    let mut head = vec!["Direction".into()];
    head.extend(metrics.iter().map(|m| glossary.head(m)));
    let rows = keys
        .iter()
        .filter(|(_, key)| audit.measures.contains_key(key))
        .map(|(name, key)| ReportRow {
            id: String::new(),
            head: name.clone(),
            cells: metrics
                .iter()
                .map(|m| {
                    switches::cell_with_placebo(audit.measure(key, m), terms::kind(m, &key.scope))
                })
                .collect(),
        })
        .collect();
    Some(PageBlock::Table(PageTable {
        caption: format!("Distances between factual and counterfactual scores{levels}{noise}")
            .into(),
        head,
        rows,
        prose: false,
    }))
}
