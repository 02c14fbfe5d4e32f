//! Do scores rank people, and are they calibrated, in every group? And what would other thresholds
//! do? Facts only; the sentences are in `ranking.html`.

use minijinja::context;
use minijinja::value::Value;

use crate::metric::rate::Undefined;
use crate::report::brief::harm::{HarmResult, point, ranked};
use crate::report::brief::inputs::BriefInputs;
use crate::report::brief::limits;
use crate::report::brief::voice::{CalledGroup, CalledModel};
use crate::report::draw::plot::{AxisUnit, PlotPoint, PlotScale};
use crate::report::draw::thresholds::ReliabilityDot;
use crate::report::page::PageSection;
use crate::report::read::panel::ResultKey;
use crate::report::read::score_tables::ReportedCurve;
use crate::text::fact;

/// Rows of groups in a table; the others are in the tables of the run.
const ROWS_AT_MOST: usize = 24;

/// Panels of bins, and of thresholds.
const PANELS_AT_MOST: usize = 4;

/// Steps of the grid from point to point of a drawing.
const STRIDE: usize = 8;

/// Fewer cases than this below a rate are not drawn.
const LEAST_CASES: i64 = 10;

/// The scores of a model by the groups of an attribute: each group and all.
struct RankedGroups<'a> {
    model: &'a str,
    attribute: &'a str,
    keys: Vec<ResultKey>,
}

/// The key of what a model decides about an attribute as people are.
fn key(model: &str, attribute: &str, (scope, from, to): (&str, &str, &str)) -> ResultKey {
    ResultKey::new([model, "", attribute], scope, [from, to])
}

/// Every model and attribute whose scores were measured.
fn measured<'a>(inputs: &BriefInputs<'a>) -> Vec<RankedGroups<'a>> {
    let audit = inputs.audit;
    let mut found = Vec::new();
    for attribute in &audit.manifest.attributes {
        for model in &audit.manifest.models {
            let groups = audit.groups_of(&attribute.name);
            let of_groups =
                groups.iter().map(|group| key(&model.name, &attribute.name, ("group", group, "")));
            let all = key(&model.name, &attribute.name, ("total", "", ""));
            let keys: Vec<ResultKey> =
                of_groups.chain([all]).filter(|key| audit.measure(key, "auc").is_some()).collect();
            if !keys.is_empty() {
                found.push(RankedGroups { model: &model.name, attribute: &attribute.name, keys });
            }
        }
    }
    found
}

fn group(inputs: &BriefInputs<'_>, key: &ResultKey, name: &str) -> CalledGroup {
    inputs.voice.called_group(&key.attribute, name)
}

/// What opens the section: the widest clear difference of how well people are ranked, with the
/// values of both groups; that none is clear; or why nothing has a value.
fn lead(inputs: &BriefInputs<'_>, all: &[RankedGroups<'_>]) -> Value {
    let audit = inputs.audit;
    let mut widest: Option<(f64, &ResultKey, f64)> = None;
    for (pair, values) in audit.measures().filter(|(key, _)| key.scope == "pair") {
        let Some(gap) = values.get("auc_difference") else { continue };
        let (Some(value), Some((lo, hi))) = (gap.value, gap.ends()) else { continue };
        let least = lo.max(-hi);
        if least > 0.0 && widest.is_none_or(|(most, ..)| least > most) {
            widest = Some((least, pair, value));
        }
    }
    if let Some((_, pair, gap)) = widest {
        let side = |name: &str| {
            let of = key(&pair.model, &pair.attribute, ("group", name, ""));
            (group(inputs, pair, name), audit.measure(&of, "auc").and_then(|of| of.value))
        };
        let (low, high) = if gap < 0.0 { (&pair.from, &pair.to) } else { (&pair.to, &pair.from) };
        let [low, high] = [low, high].map(|name| fact(&side(name)));
        let model = fact(&inputs.voice.called_model(&pair.model));
        return context!(kind => "gap", model, low, high);
    }
    let values = || all.iter().flat_map(|of| &of.keys).filter_map(|key| audit.measure(key, "auc"));
    if values().any(|of| of.value.is_some()) {
        return context!(kind => "unclear");
    }
    let why = values().find_map(|of| Undefined::of_code(&of.undefined));
    context!(kind => "unmeasured", why => why.map(Undefined::clause))
}

/// A table of one metric of all groups, the rows of a model together, and of an attribute where
/// there are several; none where none has a value.
fn table(
    inputs: &BriefInputs<'_>,
    all: &[RankedGroups<'_>],
    metric: &str,
    ideal: Option<f64>,
) -> Option<Value> {
    let values = all.iter().flat_map(|of| &of.keys);
    let points: Vec<PlotPoint> =
        values.filter_map(|key| inputs.audit.measure(key, metric).and_then(point)).collect();
    points.first()?;
    let ends = points.into_iter().flat_map(PlotPoint::extent).chain(ideal);
    let (lo, hi) =
        ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), end| (lo.min(end), hi.max(end)));
    let scale = match ideal {
        Some(_) => PlotScale::new((lo * 10.0).floor() / 10.0, (hi * 10.0).ceil() / 10.0),
        None => PlotScale::new((lo.min(0.5) * 10.0).floor() / 10.0, 1.0),
    };
    let several = inputs.audit.manifest.attributes.len() > 1;
    let (mut bodies, mut n) = (Vec::new(), 0);
    for of in all {
        let row = |key: &ResultKey| {
            let value = inputs.audit.measure(key, metric)?;
            let group = (!key.from.is_empty()).then(|| group(inputs, key, &key.from));
            let why = Undefined::of_code(&value.undefined).map_or("", Undefined::clause);
            Some(context! {
                group => fact(&group), people => value.n_rows, point => fact(&point(value)), why,
            })
        };
        let rows: Vec<Value> = of.keys.iter().filter_map(row).collect();
        if !rows.is_empty() && (n == 0 || n + rows.len() <= ROWS_AT_MOST) {
            n += rows.len();
            let attribute = several.then(|| inputs.voice.called_attribute(of.attribute));
            bodies.push(context!(model => of.model, attribute => fact(&attribute), rows));
        }
    }
    Some(context!(scale => fact(&scale), bodies))
}

/// Scores against labels, a panel a group, and the end of their common scale.
fn bins(inputs: &BriefInputs<'_>, all: &[RankedGroups<'_>]) -> (Vec<Value>, f64) {
    let tables = &inputs.audit.scores;
    let with_bins = |of: &&RankedGroups<'_>| of.keys.iter().any(|key| !tables.bins(key).is_empty());
    let Some(first) = all.iter().find(with_bins) else { return (Vec::new(), 0.0) };
    let groups = || first.keys.iter().filter(|key| key.scope == "group").take(PANELS_AT_MOST);
    let most = groups()
        .flat_map(|key| tables.bins(key))
        .map(|bin| bin.hi.unwrap_or(bin.observed).max(bin.mean_score))
        .fold(0.0, f64::max);
    let panel = |key: &ResultKey| {
        let bins = tables.bins(key);
        let dots = bins.iter().map(|bin| ReliabilityDot {
            score: bin.mean_score,
            observed: PlotPoint::new(bin.observed, bin.lo.zip(bin.hi)),
        });
        (!bins.is_empty()).then(|| {
            context! {
                group => fact(&group(inputs, key, &key.from)), model => first.model,
                people => bins.iter().map(|bin| bin.n).sum::<i64>(),
                dots => fact(&dots.collect::<Vec<_>>()),
            }
        })
    };
    (groups().filter_map(panel).collect(), most)
}

/// The points of a curve that are drawn, by threshold.
fn drawn(curve: &ReportedCurve) -> Vec<(f64, Option<PlotPoint>)> {
    let steps = curve.steps.iter().step_by(STRIDE);
    let mut points: Vec<(f64, Option<PlotPoint>)> = steps
        .filter_map(|step| {
            let is_drawn = step.denominator.unwrap_or(0) >= LEAST_CASES;
            let value = step.value.filter(|value| is_drawn && value.is_finite());
            let interval = step.lo.zip(step.hi);
            Some((step.threshold?, value.map(|value| PlotPoint::new(value, interval))))
        })
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// The directions that harm most people, at every threshold, with that of the job and its limit.
fn curves(inputs: &BriefInputs<'_>) -> Vec<Value> {
    let panel = |result: &HarmResult| {
        let curve = inputs.audit.scores.curve(&result.key, result.metric)?;
        let cut_off =
            curve.threshold.map(|at| (at, format!("cut-off {}", AxisUnit::Number.label(at))));
        let limit = limits::of_result(inputs.limits, result);
        Some(context! {
            result => fact(result), points => fact(&drawn(curve)), cut_off => fact(&cut_off),
            limit => fact(&limit),
        })
    };
    ranked(inputs.results).into_iter().filter_map(panel).take(PANELS_AT_MOST).collect()
}

/// The section; none where scores as such were not measured.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<PageSection> {
    let all = measured(inputs);
    if all.is_empty() {
        return None;
    }
    let audit = inputs.audit;
    // For scores that are points, not probabilities, only the order is judged.
    let is_of_points = |of: &&RankedGroups<'_>| {
        let mut values = of.keys.iter().filter_map(|key| audit.measure(key, "brier"));
        values.any(|of| of.undefined == Undefined::NoProbability.code())
    };
    let mut points: Vec<CalledModel> =
        all.iter().filter(is_of_points).map(|of| inputs.voice.called_model(of.model)).collect();
    points.dedup();
    let (bins, most) = bins(inputs, &all);
    let mut issues = audit.issues.iter();
    let facts = context! {
        lead => lead(inputs, &all), points => fact(&points),
        selective => issues.any(|issue| issue.state.as_deref() == Some("without_label")),
        auc => table(inputs, &all, "auc", None),
        expected => table(inputs, &all, "observed_expected", Some(1.0)), bins,
        most, curves => curves(inputs), least => LEAST_CASES,
    };
    Some(PageSection::of_facts("ranking", "ranking.html", facts))
}
