//! Charts as facts: what a template gives to `draw`, next to a title and a description. A template
//! draws a single row by marks; every other chart has a function.

use serde::Deserialize;

use crate::report::draw::chart::{dumbbell, whiskers};
use crate::report::draw::graph::GraphChart;
use crate::report::draw::pair_map::pair_map;
use crate::report::draw::panel::{
    LadderBlock, SwitchCounts, TradeOffArm, change_bars, ladder, mosaic, score_bars, share_bars,
    trade_off,
};
use crate::report::draw::plot::{DrawnLimit, PlotPoint, PlotScale, RowMark, SwitchSide, plot_cell};
use crate::report::draw::reach::{ReachEnd, reach_bars, reach_curves};
use crate::report::draw::score_track::{TrackMark, score_track};
use crate::report::draw::thresholds::{
    ReliabilityDot, reliability, strength_curves, threshold_curve,
};
use crate::report::draw::trend::{TrendRun, trend};
use crate::report::draw::world::{feature_curves, feature_levels};
use crate::report::read::quality::DistributionBar;
use crate::report::read::tally::HistogramBin;

/// Values by a place across; a place without a value is a gap.
type CurvePoints = Vec<(f64, Option<PlotPoint>)>;

/// A chart by its name, with what it shows in the order of its function.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChartSpec {
    Row(PlotScale, Vec<RowMark>),
    ShareBars(SwitchCounts, [f64; 3], f64, [String; 4]),
    Mosaic(SwitchCounts, [String; 4]),
    Ladder(Vec<LadderBlock>, SwitchSide, Option<DrawnLimit>),
    ChangeBars(Vec<HistogramBin>, PlotScale, f64, Option<(f64, String)>, String),
    ScoreBars([Vec<HistogramBin>; 2], PlotScale, f64, Vec<(f64, String)>),
    TradeOff(Vec<TradeOffArm>, Option<DrawnLimit>, String),
    Reliability(Vec<ReliabilityDot>, f64),
    ThresholdCurve(CurvePoints, SwitchSide, Option<(f64, String)>, Option<DrawnLimit>),
    StrengthCurves([CurvePoints; 2], Option<DrawnLimit>, Option<(f64, String)>, Option<f64>),
    Trend(Vec<TrendRun>, DrawnLimit, [String; 3]),
    PairMap(Vec<[f64; 4]>, [[f64; 2]; 2], String),
    ReachBars([ReachEnd; 2]),
    ReachCurves(Vec<(f64, [f64; 2])>, f64, [ReachEnd; 2], Option<f64>, String),
    ScoreTrack([TrackMark; 2], Option<TrackMark>, SwitchSide),
    FeatureCurves(Vec<DistributionBar>, (f64, f64), PlotScale),
    FeatureLevels(Vec<DistributionBar>, PlotScale),
    Whiskers(Vec<PlotPoint>, f64),
    Dumbbell(f64, f64, f64),
    Graph(GraphChart, [String; 2]),
}

impl ChartSpec {
    /// The drawing.
    pub(crate) fn drawn(&self, words: (&str, &str)) -> String {
        match self {
            ChartSpec::Row(scale, marks) => plot_cell(*scale, marks, words.0),
            ChartSpec::ShareBars(counts, shares, top, labels) => {
                share_bars(words, *counts, (*shares, *top), labels)
            }
            ChartSpec::Mosaic(counts, labels) => mosaic(words, *counts, labels),
            ChartSpec::Ladder(blocks, side, limit) => {
                ladder(words.0, blocks, *side, limit.as_ref())
            }
            ChartSpec::ChangeBars(bins, scale, top, mean, still) => {
                change_bars(words, bins, (*scale, *top), mean.as_ref(), still)
            }
            ChartSpec::ScoreBars(both, scale, top, cut_offs) => {
                score_bars(words, both, *scale, *top, cut_offs)
            }
            ChartSpec::TradeOff(arms, limit, right) => {
                trade_off(words.0, arms, limit.as_ref(), right)
            }
            ChartSpec::Reliability(dots, most) => reliability(words, dots, *most),
            ChartSpec::ThresholdCurve(points, side, job, limit) => {
                threshold_curve(words, points, *side, job.as_ref(), limit.as_ref())
            }
            ChartSpec::StrengthCurves(both, limit, turns, recorded) => {
                strength_curves(words, both, limit.as_ref(), turns.as_ref(), *recorded)
            }
            ChartSpec::Trend(runs, limit, labels) => trend(words, runs, limit, labels),
            ChartSpec::PairMap(pairs, ends, id) => pair_map(pairs, *ends, id, words),
            ChartSpec::ReachBars(ends) => reach_bars(words.0, ends),
            ChartSpec::ReachCurves(steps, most, ends, target, cost) => {
                reach_curves(words, steps, (*most, cost), ends, *target)
            }
            ChartSpec::ScoreTrack(scores, cut_off, side) => {
                score_track(words.0, scores, cut_off.as_ref(), *side)
            }
            ChartSpec::FeatureCurves(bars, ends, up) => feature_curves(words, bars, *ends, *up),
            ChartSpec::FeatureLevels(shown, scale) => feature_levels(words, shown, *scale),
            ChartSpec::Whiskers(values, end) => whiskers(values, *end),
            ChartSpec::Dumbbell(old, new, end) => dumbbell(*old, *new, *end),
            ChartSpec::Graph(graph, tiers) => graph.drawn(words, tiers),
        }
    }
}
