//! Section "How far scores move": histograms of change and of both scores per direction, and the
//! distances between them.

use minijinja::context;
use minijinja::value::Value;

use crate::folder::manifest::ModelWords;
use crate::metric::catalog::place::PageList;
use crate::metric::rate::Undefined;
use crate::report::draw::panel::highest;
use crate::report::draw::plot::{PlotScale, round_up};
use crate::report::draw::{chart, panel as drawn_panel};
use crate::report::page::cells::{ValuesByKey, cell_with_placebo};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::{PageBlock, PageSection, PageTable, number};
use crate::report::read::audit::{AuditFolder, ScoreHistograms};
use crate::report::read::panel::{AuditPanel, ResultKey};
use crate::report::read::tally::{HistogramBin, WeightedCount};
use crate::report::section::models::place_of;
use crate::report::section::switches;
use crate::text::fact;

/// The section; none where no score shift was measured.
pub(crate) fn section(
    audit: &AuditFolder,
    panels: &[AuditPanel],
    glossary: &mut PageGlossary<'_>,
) -> Option<PageSection> {
    let has = |p: &&AuditPanel| {
        p.drawn > 0
            && p.directions.iter().any(|key| {
                audit.histograms(key).is_some()
                    || PageList::ScoreShifts.ids().iter().any(|m| has_scores(audit, key, m))
            })
    };
    let panels: Vec<&AuditPanel> = panels.iter().filter(has).collect();
    if panels.is_empty() {
        return None;
    }
    let facts = context!(part => "introduction", weighted => audit.manifest.weight.is_some());
    let mut blocks = vec![PageBlock("shift.html", facts)];
    for panel in panels {
        let scale = audit.manifest.model(&panel.model).and_then(ModelWords::scale_in_words);
        let facts = context! {
            part => "panel", id => format!("s{}", panel.id), heading => switches::heading(panel),
            drawn => switches::drawn(panel), graphs => terms::follows_graphs(&panel.strategy),
            scale,
            drawings => drawings(audit, panel), table => table(audit, panel, glossary),
        };
        blocks.push(PageBlock("shift.html", facts));
    }
    if audit.measures().any(|(_, of)| of.contains_key("jscd")) {
        let symbol = glossary.show("jscd").symbol;
        blocks.push(PageBlock("shift.html", context!(part => "shape", symbol)));
    }
    Some(PageSection::new("scores", blocks))
}

/// Whether a metric was measured by a model that gives scores.
fn has_scores(audit: &AuditFolder, key: &ResultKey, metric: &str) -> bool {
    let measure = audit.measure(key, metric);
    measure.is_some_and(|of| of.undefined != Undefined::NoScore.code())
}

/// The edge farthest from zero of a bin that is not empty.
fn farthest(bins: &[HistogramBin]) -> f64 {
    let edges = bins.iter().filter(|bin| bin.2.n > 0).flat_map(|bin| [bin.0.abs(), bin.1.abs()]);
    edges.fold(0.0, f64::max)
}

fn drawings(audit: &AuditFolder, panel: &AuditPanel) -> Value {
    let shown = panel.directions.iter().take(panel.drawn);
    let drawn: Vec<_> = shown.filter_map(|key| Some((key, audit.histograms(key)?))).collect();
    let moving = drawn.iter().filter(|(direction, _)| !is_unmoved(audit, direction));
    let moving: Vec<&ScoreHistograms> = moving.map(|(_, histograms)| *histograms).collect();
    let most = |of: fn(&ScoreHistograms) -> f64| moving.iter().map(|h| of(h)).fold(0.0, f64::max);
    let change_top = most(|h| highest(&h.change));
    let score_top = most(|h| highest(&h.original).max(highest(&h.counterfactual)));
    let end = round_up(most(|h| farthest(&h.change))).min(1.0);
    let (change_scale, score_scale) = (PlotScale::new(-end, end), PlotScale::new(0.0, 1.0));
    let scale = audit.manifest.model(&panel.model).map(ModelWords::score_scale).unwrap_or_default();
    let thresholds: Vec<(f64, String)> = thresholds(audit, &panel.model)
        .into_iter()
        .map(|at| (scale.share(at), format!("cut-off {}", number::three_digits(at))))
        .filter(|(at, _)| (0.0..=1.0).contains(at))
        .collect();
    let drawing = |(direction, histograms): (&ResultKey, &ScoreHistograms)| {
        // A bin has a width: drawn, a change of nothing would be a block next to zero.
        if is_unmoved(audit, direction) {
            return context!(from => &direction.from, to => &direction.to, moves => ());
        }
        let ScoreHistograms { original, counterfactual, change, .. } = histograms;
        let sr = audit.measure(direction, "sr");
        let crossing = sr.and_then(|sr| {
            let (part, whole) = sr.counts()?;
            let share = number::percent_text(sr.value?, sr.is_weighted());
            Some(context!(of => number::of(part, whole), share))
        });
        let changes = (change, change_scale, change_top);
        let n = [original, counterfactual].map(|bins| drawn_panel::cases(bins).n);
        let scores = ([original, counterfactual], score_scale, score_top, &thresholds);
        context! {
            from => &direction.from, to => &direction.to, crossing, changes => fact(&changes),
            scores => fact(&scores), n, moves => chart::moves(change, audit.manifest.weight.is_some()),
            factual => middle(original), counterfactual => middle(counterfactual),
        }
    };
    drawn.into_iter().map(drawing).collect()
}

/// The thresholds of a model in its own numbers: the one that the job gives, or those fitted, one a
/// fold.
pub(crate) fn thresholds(audit: &AuditFolder, model: &str) -> Vec<f64> {
    let given = audit.manifest.model(model).and_then(ModelWords::cut_off).into_iter();
    let plain =
        audit.thresholds.iter().filter(|row| row.arm.is_empty() && row.model.as_str() == model);
    let mut all: Vec<f64> = given.chain(plain.map(|row| row.threshold)).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

/// Whether no score of a direction moved.
fn is_unmoved(audit: &AuditFolder, direction: &ResultKey) -> bool {
    audit.score_moves(direction).any(|value| value == Some(0.0))
}

/// The bin in which the middle score lies, for those who do not see the drawing; none without a
/// score.
fn middle(bins: &[HistogramBin]) -> Option<Value> {
    let all = drawn_panel::cases(bins);
    let mut below = WeightedCount::default();
    for (lo, hi, tally) in bins {
        below = below.plus(*tally);
        if below.part_of(all).is_some_and(|share| share >= 0.5) {
            let [lo, hi] = [lo, hi].map(|edge| number::three_digits(*edge));
            return Some(context!(n => all.n, lo, hi));
        }
    }
    None
}

fn table(
    audit: &AuditFolder,
    panel: &AuditPanel,
    glossary: &mut PageGlossary<'_>,
) -> Option<PageTable> {
    let directions = panel.directions.iter().take(panel.drawn).cloned();
    let mut keys: Vec<_> = directions.map(|key| (place_of(&key), key)).collect();
    keys.push(("all_directions".into(), panel.total()));
    if let [a, b] = panel.groups.as_slice() {
        let gap = panel.difference(a, b);
        keys.push((place_of(&gap), gap));
    }
    keys.retain(|(_, key)| audit.at(key).is_some());
    let values = ValuesByKey::of(audit, "direction", &keys, PageList::ScoreShifts.ids());
    ValuesByKey { cell: cell_with_placebo, ..values }.table(&mut |m| glossary.head(m))
}
