//! How far scores move: the change of each person's score, and both distributions.

use crate::folder::manifest::ModelWords;
use crate::report::brief::harm::ranked;
use crate::report::brief::inputs::BriefInputs;
use crate::report::draw::panel::{central, change_bars, highest, score_bars};
use crate::report::draw::plot::{AxisUnit, KeyShape, PlotScale};
use crate::report::page::PageBlock;
use crate::report::page::brief::BriefSection;
use crate::report::page::number::three_digits;
use crate::report::page::plots::{BriefBlock, ChartPanel};
use crate::report::page::words::{RichText, short};
use crate::report::read::audit::ScoreHistograms;
use crate::report::read::panel::ResultKey;
use crate::report::read::tally::HistogramBin;
use crate::report::section::shift::thresholds;

/// Directions that are drawn.
const DIRECTIONS_AT_MOST: usize = 4;

/// Fewest bins of a drawing where the tables have no finer ones: of many groups.
const COARSE_BINS: usize = 8;

/// The scores before and after, and their changes, in bins that fit the data.
fn drawn(of: &ScoreHistograms) -> [Vec<HistogramBin>; 3] {
    if of.drawn.iter().any(Vec::is_empty) {
        let change = central(&of.change, COARSE_BINS);
        return [of.original.clone(), of.counterfactual.clone(), change];
    }
    of.drawn.clone()
}

/// The ends of the axis of scores in these bins, farther by up to their range where a cut-off is.
fn score_ends(bins: &[[Vec<HistogramBin>; 3]], cut_offs: &[f64]) -> (f64, f64) {
    let edges = || bins.iter().flat_map(|[before, after, _]| before.iter().chain(after));
    let lo = edges().map(|bin| bin.0).fold(f64::INFINITY, f64::min);
    let hi = edges().map(|bin| bin.1).fold(f64::NEG_INFINITY, f64::max);
    if hi <= lo {
        return (0.0, 1.0);
    }
    let near = cut_offs.iter().filter(|at| (2.0 * lo - hi..=2.0 * hi - lo).contains(*at));
    near.fold((lo, hi), |(lo, hi), &at| (lo.min(at), hi.max(at)))
}

/// The directions that harm most people and whose scores move.
fn directions<'a>(inputs: &BriefInputs<'a>) -> Vec<(ResultKey, &'a ScoreHistograms)> {
    let mut found: Vec<(ResultKey, &ScoreHistograms)> = Vec::new();
    for result in ranked(inputs.results) {
        let is_new = found.iter().all(|(key, _)| *key != result.key);
        let moves = inputs.audit.score_moves(&result.key).all(|value| value != Some(0.0));
        if let Some(histograms) = inputs.audit.histograms(&result.key).filter(|_| is_new && moves) {
            found.push((result.key.clone(), histograms));
        }
    }
    found.truncate(DIRECTIONS_AT_MOST);
    found
}

/// The section; none where no score was measured.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<BriefSection> {
    let voice = inputs.voice;
    let found = directions(inputs);
    let (first, _) = found.first()?;
    let model_of =
        |key: &ResultKey| inputs.audit.manifest.models.iter().find(|model| model.name == key.model);
    let mean = |key: &ResultKey| inputs.audit.measure(key, "mcd")?.value;
    let bins: Vec<[Vec<HistogramBin>; 3]> = found.iter().map(|(_, of)| drawn(of)).collect();
    let ends = bins.iter().flat_map(|[.., change]| change).flat_map(|bin| [bin.0, bin.1]);
    let scale = PlotScale::around_zero(ends);
    let top = bins.iter().map(|[.., change]| highest(change)).fold(0.0, f64::max);
    let score_top = bins
        .iter()
        .map(|[before, after, _]| highest(before).max(highest(after)))
        .fold(0.0, f64::max);
    let cut_off = |key: &ResultKey| {
        let model = model_of(key)?;
        let given = model.cut_off().map(|at| (at, AxisUnit::Number.label(at)));
        // One that was fitted; of folds, which have one each, none is drawn.
        let fitted = || match thresholds(inputs.audit, &key.model).as_slice() {
            [at] => Some((*at, three_digits(*at))),
            _ => None,
        };
        let (at, words) = given.or_else(fitted)?;
        Some((model.score_scale().share(at), format!("cut-off {words}")))
    };
    let cut_offs: Vec<f64> = found.iter().filter_map(|(key, _)| Some(cut_off(key)?.0)).collect();
    let (lowest, highest_score) = score_ends(&bins, &cut_offs);
    let scores = PlotScale::new(lowest, highest_score);
    let mut panels = Vec::new();
    for ((key, _), [before, after, change]) in found.iter().zip(&bins) {
        let what = format!(
            "{} {}",
            voice.group_heading(&key.attribute, &key.from),
            voice.as_group(&key.attribute, &key.to)
        );
        let origin = format!("{}, {}", short(&key.model), voice.set_label(&key.set));
        let heading = |what: &str, which: &str| {
            RichText::new().quote(what).text(" ").small(format!("{which}; {origin}"))
        };
        panels.push(ChartPanel {
            drawing: change_bars(
                &format!("Change of the score, {what}, {origin}"),
                change,
                scale,
                top,
                mean(key),
            ),
            title: heading(&what, "change of the score"),
        });
        let is_drawn = |at: &f64| (lowest..=highest_score).contains(at);
        let cut_off: Vec<(f64, String)> =
            cut_off(key).into_iter().filter(|(at, _)| is_drawn(at)).collect();
        panels.push(ChartPanel {
            drawing: score_bars(
                &format!("Scores of {what}, {origin}"),
                (before, after),
                scores,
                score_top,
                &cut_off,
            ),
            title: heading(&what, "scores"),
        });
    }
    // In the numbers of the model, where these are not probabilities.
    let moved = |shares: f64| match model_of(first).and_then(|model| model.scale) {
        None => (shares, ""),
        Some(scale) => match scale.user_change(shares) {
            Some(numbers) => (numbers, ""),
            None => (shares, " as probabilities of the positive prediction"),
        },
    };
    let lead = match mean(first).map(moved) {
        Some((value, how)) if value != 0.0 => format!(
            "{} of {} {} by {}{how} on average {}, by {}, {}.",
            "The scores",
            voice.people(&first.attribute, &first.from),
            if value < 0.0 { "fall" } else { "rise" },
            three_digits(value.abs()),
            voice.as_group(&first.attribute, &first.to),
            voice.model(&first.model),
            voice.set_label(&first.set)
        ),
        _ => "The mean score does not move.".to_owned(),
    };
    let keys = RichText::new()
        .key(KeyShape::Area, "as they are")
        .key(KeyShape::Line, "as the other group");
    let note = inputs.link(
        RichText::from(
            "Values beyond the central 99 % are counted in the bars at the ends. All directions: ",
        ),
        "How far scores move",
        "scores",
    );
    let mut drawn: Vec<&str> = found.iter().map(|(key, _)| key.model.as_str()).collect();
    drawn.dedup();
    let scales = inputs.audit.manifest.models.iter().filter(|of| drawn.contains(&of.name.as_str()));
    let scales = scales.filter_map(ModelWords::scale_in_words);
    let mut blocks: Vec<PageBlock> = vec![
        BriefBlock::Lead(RichText::new().quote(lead)).into(),
        PageBlock::Note(keys.and(note).text(".")),
        BriefBlock::Panels("pair", panels).into(),
    ];
    blocks.extend(scales.map(|words| PageBlock::Note(RichText::new().quote(words))));
    Some(BriefSection {
        id: "scores",
        title: "How far do scores move?".into(),
        short: "Scores",
        blocks,
    })
}
