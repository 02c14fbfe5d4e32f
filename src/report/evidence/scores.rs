//! How far scores move: the change of each person's score, and both distributions. Facts only; the
//! sentences are in `scores.html`.

use minijinja::context;
use minijinja::value::Value;

use crate::folder::manifest::ModelWords;
use crate::report::brief::harm::{HarmResult, directions};
use crate::report::brief::inputs::BriefInputs;
use crate::report::draw::panel::{cases, central, highest, signed};
use crate::report::draw::plot::{AxisUnit, PlotScale};
use crate::report::page::PageSection;
use crate::report::page::number::three_digits;
use crate::report::read::audit::ScoreHistograms;
use crate::report::read::tally::HistogramBin;
use crate::report::section::shift::thresholds;
use crate::text::fact;

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

/// The section; none where no score was measured.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<PageSection> {
    let audit = inputs.audit;
    let moves =
        |result: &&HarmResult| audit.score_moves(&result.key).all(|value| value != Some(0.0));
    let found = directions(inputs.results).into_iter().filter(moves);
    let found = found.filter_map(|result| Some((result, audit.histograms(&result.key)?)));
    let found: Vec<(&HarmResult, &ScoreHistograms)> = found.take(DIRECTIONS_AT_MOST).collect();
    let (first, _) = *found.first()?;
    let model_of = |result: &HarmResult| audit.manifest.model(&result.key.model);
    let mean = |result: &HarmResult| audit.measure(&result.key, "mcd")?.value;
    let bins: Vec<[Vec<HistogramBin>; 3]> = found.iter().map(|(_, of)| drawn(of)).collect();
    let ends = bins.iter().flat_map(|[.., change]| change).flat_map(|bin| [bin.0, bin.1]);
    let change_scale = PlotScale::around_zero(ends);
    let top = bins.iter().map(|[.., change]| highest(change)).fold(0.0, f64::max);
    let of_scores = bins.iter().flat_map(|[before, after, _]| [before, after]);
    let score_top = of_scores.map(|bins| highest(bins)).fold(0.0, f64::max);
    let cut_off = |result: &HarmResult| {
        let model = model_of(result)?;
        let given = model.cut_off().map(|at| (at, AxisUnit::Number.label(at)));
        // One that was fitted; of folds, which have one each, none is drawn.
        let fitted = || match thresholds(audit, &model.name).as_slice() {
            [at] => Some((*at, three_digits(*at))),
            _ => None,
        };
        let (at, words) = given.or_else(fitted)?;
        Some((model.score_scale().share(at), format!("cut-off {words}")))
    };
    let cut_offs: Vec<Option<(f64, String)>> = found.iter().map(|(of, _)| cut_off(of)).collect();
    let at: Vec<f64> = cut_offs.iter().flatten().map(|(at, _)| *at).collect();
    let (lowest, most) = score_ends(&bins, &at);
    let panels = found.iter().zip(&bins).zip(cut_offs);
    let panels = panels.map(|(((result, _), [before, after, change]), cut_off)| {
        // The cut-off, where it is drawn.
        let cut_off = cut_off.filter(|(at, _)| (lowest..=most).contains(at));
        context! {
            result => fact(*result), scores => fact(&[before, after]), change => fact(change),
            mean => fact(&mean(result).filter(|mean| *mean != 0.0).map(|mean| (mean, signed(mean)))),
            n => [before, after, change].map(|bins| cases(bins).n),
            cut_offs => fact(&Vec::from_iter(cut_off)),
        }
    });
    let panels: Value = panels.collect();
    // In the numbers of the model, where these are not probabilities.
    let scale = model_of(first).and_then(|model| model.scale);
    let moved = |shares: f64| match scale.map(|scale| scale.user_change(shares)) {
        Some(Some(numbers)) => (numbers, false),
        of_scale => (shares, of_scale.is_some()),
    };
    let shown = |model: &&ModelWords| found.iter().any(|(of, _)| of.key.model == model.name);
    let scales = audit.manifest.models.iter().filter(shown).filter_map(ModelWords::scale_in_words);
    let facts = context! {
        result => fact(first), panels, top, score_top,
        moved => mean(first).filter(|mean| *mean != 0.0).map(moved).map(|(by, of_probability)| {
            context!(falls => by < 0.0, by => three_digits(by.abs()), of_probability)
        }),
        change_scale => fact(&change_scale), score_scale => fact(&PlotScale::new(lowest, most)),
        scales => scales.collect::<Value>(),
    };
    Some(PageSection::of_facts("scores", "scores.html", facts))
}
