//! Do scores rank people, and mean what they say, in every group? And what would other thresholds
//! do?

use crate::metric::rate::Undefined;
use crate::report::brief::harm::{HarmResult, ranked};
use crate::report::brief::inputs::BriefInputs;
use crate::report::brief::limits;
use crate::report::draw::plot::{
    AxisUnit, ForbiddenSide, KeyShape, PlotPoint, PlotScale, SwitchSide, axis, forest_row,
    group_row,
};
use crate::report::draw::thresholds::{ReliabilityDot, reliability, threshold_curve};
use crate::report::page::PageBlock;
use crate::report::page::brief::BriefSection;
use crate::report::page::digits::{ends_text, value_text};
use crate::report::page::number::{NumberFormat, count};
use crate::report::page::plots::{BriefBlock, ChartPanel, PlotBody, PlotLine, PlotRow, PlotTable};
use crate::report::page::words::{RichText, capital, short};
use crate::report::read::panel::{ReportedValue, ResultKey};
use crate::report::read::score_tables::ReportedCurve;
use crate::report::read::words;

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

fn key(model: &str, attribute: &str, (scope, from, to): (&str, &str, &str)) -> ResultKey {
    ResultKey {
        model: model.to_owned(),
        attribute: attribute.to_owned(),
        scope: scope.to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
        ..ResultKey::default()
    }
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

/// A group, or everybody.
fn who(inputs: &BriefInputs<'_>, key: &ResultKey) -> String {
    match key.from.as_str() {
        "" => "everybody".to_owned(),
        group => inputs.voice.people(&key.attribute, group),
    }
}

/// What opens the section: the widest clear difference of how well people are ranked.
fn lead(inputs: &BriefInputs<'_>, all: &[RankedGroups<'_>]) -> RichText {
    let audit = inputs.audit;
    let mut widest: Option<(f64, &ResultKey, f64)> = None;
    for (key, values) in audit.measures.iter().filter(|(key, _)| key.scope == "pair") {
        let Some(gap) = values.get("auc_difference") else { continue };
        let (Some(value), Some((lo, hi))) = (gap.value, gap.interval) else { continue };
        let least = lo.max(-hi);
        if least > 0.0 && widest.is_none_or(|(most, ..)| least > most) {
            widest = Some((least, key, value));
        }
    }
    if let Some((_, pair, gap)) = widest {
        let auc = |group: &str| {
            let key = key(&pair.model, &pair.attribute, ("group", group, ""));
            let value = audit.measure(&key, "auc").and_then(|of| of.value);
            value.map_or_else(String::new, |value| format!(" (AUC {value:.2})"))
        };
        let (low, high) = if gap < 0.0 { (&pair.from, &pair.to) } else { (&pair.to, &pair.from) };
        return RichText::new().quote(format!(
            "No: {} ranks {}{} clearly less well than {}{}.",
            inputs.voice.model(&pair.model),
            inputs.voice.people(&pair.attribute, low),
            auc(low),
            inputs.voice.people(&pair.attribute, high),
            auc(high)
        ));
    }
    let values = || all.iter().flat_map(|of| &of.keys).filter_map(|key| audit.measure(key, "auc"));
    if values().any(|of| of.value.is_some()) {
        return "The data cannot tell whether the scores rank the people of one group better than \
                those of another."
            .into();
    }
    let why = values().find_map(|of| Undefined::of_code(&of.undefined));
    let why = why.map_or_else(String::new, |why| format!(", because {}", why.clause()));
    RichText::new().quote(format!("How well scores rank people cannot be measured{why}."))
}

fn point(of: &ReportedValue) -> Option<PlotPoint> {
    Some(PlotPoint { value: of.value?, interval: of.interval, second: None })
}

/// A row of a table of plots.
fn row(
    inputs: &BriefInputs<'_>,
    (key, of): (&ResultKey, &ReportedValue),
    drawing: impl FnOnce(PlotPoint, &str) -> String,
) -> PlotLine {
    let name = who(inputs, key);
    let value = of.value.map(|value| value_text(NumberFormat::Plain, value, of.interval));
    let why = || Undefined::of_code(&of.undefined).map_or("", Undefined::clause);
    let title = format!("{name}: {}", value.as_deref().unwrap_or("no value"));
    PlotLine::Row(Box::new(PlotRow {
        label: RichText::new().quote(capital(&name)),
        people: RichText::from(count(of.n_rows)),
        drawing: point(of).map_or_else(String::new, |point| drawing(point, &title)),
        ends: match (of.interval, &value) {
            (Some(ends), Some(_)) => ends_text(NumberFormat::Plain, ends),
            (None, Some(_)) => String::new(),
            (_, None) => why().to_owned(),
        },
        value: value.unwrap_or_else(|| "\u{2013}".to_owned()),
        ..PlotRow::default()
    }))
}

/// A table of one metric of all groups; none where none has a value.
fn table(
    inputs: &BriefInputs<'_>,
    all: &[RankedGroups<'_>],
    (metric, label): (&str, &str),
    ideal: Option<f64>,
) -> Option<PlotTable> {
    let values = || {
        let keys = all.iter().flat_map(|of| &of.keys);
        keys.filter_map(|key| inputs.audit.measure(key, metric))
    };
    let ends: Vec<f64> =
        values().filter_map(point).flat_map(PlotPoint::extent).chain(ideal).collect();
    values().find(|of| of.value.is_some())?;
    let (lo, hi) = ends
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), &end| (lo.min(end), hi.max(end)));
    let scale = match ideal {
        Some(_) => PlotScale::new((lo * 10.0).floor() / 10.0, (hi * 10.0).ceil() / 10.0),
        None => PlotScale::new((lo.min(0.5) * 10.0).floor() / 10.0, 1.0),
    };
    let mut bodies = vec![PlotBody {
        block: false,
        lines: vec![PlotLine::Axis(axis(scale, AxisUnit::Number, None))],
    }];
    let mut rows = 0;
    let several = inputs.audit.manifest.attributes.len() > 1;
    for of in all {
        let here = of.keys.iter().filter_map(|key| Some((key, inputs.audit.measure(key, metric)?)));
        let here: Vec<_> = here.collect();
        if here.is_empty() || rows + here.len() > ROWS_AT_MOST && rows > 0 {
            continue;
        }
        rows += here.len();
        let by = match several {
            true => format!(", by {}", inputs.voice.attribute(of.attribute)),
            false => String::new(),
        };
        let heading = RichText::new().quote(format!("{}{by}", short(of.model)));
        let mut lines = vec![PlotLine::Sub(heading)];
        lines.extend(here.into_iter().map(|of| {
            row(inputs, of, |point, title| match ideal {
                Some(_) => forest_row(scale, point, SwitchSide::Either, None, ideal, title),
                None => group_row(scale, point, None, title),
            })
        }));
        bodies.push(PlotBody { block: false, lines });
    }
    Some(PlotTable { label: label.to_owned(), class: "", bodies })
}

/// Scores against labels, a panel a group, on one scale.
fn bins(inputs: &BriefInputs<'_>, all: &[RankedGroups<'_>]) -> Vec<ChartPanel> {
    let tables = &inputs.audit.scores;
    let with_bins = |of: &&RankedGroups<'_>| of.keys.iter().any(|key| !tables.bins(key).is_empty());
    let Some(first) = all.iter().find(with_bins) else { return Vec::new() };
    let groups = first.keys.iter().filter(|key| key.scope == "group").take(PANELS_AT_MOST);
    let groups: Vec<_> = groups.map(|key| (key, tables.bins(key))).collect();
    let most = groups
        .iter()
        .flat_map(|(_, bins)| bins.iter())
        .map(|bin| bin.hi.unwrap_or(bin.observed).max(bin.mean_score))
        .fold(0.0, f64::max);
    let panel = |(key, bins): (&ResultKey, &[crate::table::ReliabilityRow])| {
        let dots: Vec<ReliabilityDot> = bins
            .iter()
            .map(|bin| ReliabilityDot {
                score: bin.mean_score,
                observed: PlotPoint {
                    value: bin.observed,
                    interval: bin.lo.zip(bin.hi),
                    second: None,
                },
            })
            .collect();
        let name = capital(&who(inputs, key));
        let people: i64 = bins.iter().map(|bin| bin.n).sum();
        let title = format!("Scores and labels of {name}, {}", short(&key.model));
        let people = words::people(inputs.audit, people);
        let desc = format!("{people} in {} bins.", dots.len());
        ChartPanel {
            title: RichText::new()
                .quote(name)
                .text(" ")
                .small(format!("{}, {people}", short(&key.model))),
            drawing: reliability((&title, &desc), &dots, most),
        }
    };
    groups.into_iter().filter(|(_, bins)| !bins.is_empty()).map(panel).collect()
}

/// The points of a curve that are drawn, by threshold.
fn drawn(curve: &ReportedCurve) -> Vec<(f64, Option<PlotPoint>)> {
    let steps = curve.steps.iter().step_by(STRIDE);
    let mut points: Vec<(f64, Option<PlotPoint>)> = steps
        .filter_map(|step| {
            let value = step.value.filter(|_| step.cases >= LEAST_CASES);
            let interval = step.interval;
            Some((step.threshold?, value.map(|value| PlotPoint { value, interval, second: None })))
        })
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// The directions that harm most people, at every threshold.
fn curves(inputs: &BriefInputs<'_>) -> Vec<ChartPanel> {
    let panel = |result: &&HarmResult| {
        let curve = inputs.audit.scores.curve(&result.key, result.metric)?;
        let key = &result.key;
        let limit = limits::of_result(inputs.limits, result);
        let name =
            capital(&inputs.voice.switch_label(result.side, &key.attribute, (&key.from, &key.to)));
        let cut_off =
            curve.threshold.map(|at| (at, format!("cut-off {}", AxisUnit::Number.label(at))));
        let label = limit.map(|limit| format!("limit {}", limit.amount));
        let shown: Option<(f64, ForbiddenSide, &str)> =
            limit.zip(label.as_deref()).map(|(limit, label)| (limit.drawn, limit.forbidden, label));
        let value = value_text(NumberFormat::Share, result.point.value, result.point.interval);
        let title = format!("{name}, at every threshold, {}", short(&key.model));
        let desc = format!("{value} at the threshold of the job.");
        let origin = format!("{}, {}", short(&key.model), inputs.voice.set_label(&key.set));
        Some(ChartPanel {
            title: RichText::new().quote(name).text(" ").small(origin),
            drawing: threshold_curve(
                (&title, &desc),
                &drawn(curve),
                result.side,
                cut_off.as_ref().map(|(at, label)| (*at, label.as_str())),
                shown,
            ),
        })
    };
    ranked(inputs.results).iter().filter_map(panel).take(PANELS_AT_MOST).collect()
}

/// What a reader must know before using these numbers.
fn warnings(inputs: &BriefInputs<'_>, all: &[RankedGroups<'_>]) -> Vec<PageBlock> {
    let audit = inputs.audit;
    let mut notes: Vec<PageBlock> = Vec::new();
    if audit.issues.iter().any(|issue| issue.state.as_deref() == Some("without_label")) {
        let words = RichText::new().strong("Labels are missing selectively.").text(
            " AUC and calibration describe only people whose label is known, and these differ from \
             the others.",
        );
        notes.push(BriefBlock::Boxed(words).into());
    }
    let points = all.iter().filter(|of| {
        let values = of.keys.iter().filter_map(|key| audit.measure(key, "brier"));
        let mut why = values.map(|of| of.undefined.as_str());
        why.any(|why| why == Undefined::NoProbability.code())
    });
    let mut points: Vec<String> = points.map(|of| inputs.voice.model(of.model)).collect();
    points.dedup();
    for model in points {
        notes.push(PageBlock::Note(RichText::new().quote(format!(
            "The scores of {model} are points, and the job does not say that they are proportional \
             to probabilities: they are judged by how they rank people only."
        ))));
    }
    notes
}

/// The section; none where scores as such were not measured.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<BriefSection> {
    let all = measured(inputs);
    let auc = ("auc", "How well scores rank people, by group");
    let expected = ("observed_expected", "Positive labels for each one that the scores expect");
    if all.is_empty() {
        return None;
    }
    let counted = inputs.voice.counted();
    let mut blocks: Vec<PageBlock> = vec![BriefBlock::Lead(lead(inputs, &all)).into()];
    blocks.extend(warnings(inputs, &all));
    if let Some(table) = table(inputs, &all, auc, None) {
        let keys = RichText::new().key(KeyShape::Interval, "AUC with its interval").text(format!(
            "0.5 is chance, 1 a perfect order; numbers of {counted} with a score and a label."
        ));
        blocks.extend([PageBlock::Note(keys), BriefBlock::Plots(table).into()]);
    }
    if let Some(table) = table(inputs, &all, expected, Some(1.0)) {
        let keys = RichText::from(
            "Positive labels for each one that the scores expect: 1 where the scores are right on \
             average, above 1 where they are too low.",
        );
        blocks.extend([PageBlock::Note(keys), BriefBlock::Plots(table).into()]);
    }
    let panels = bins(inputs, &all);
    if !panels.is_empty() {
        let keys = RichText::from(format!(
            "Up to ten bins of as many {counted} each: mean score across, share with the positive \
             label up, with its interval. On the dashed line the scores are right. "
        ));
        blocks.push(BriefBlock::Panels("pair", panels).into());
        blocks.push(PageBlock::Note(keys));
    }
    let panels = curves(inputs);
    if !panels.is_empty() {
        let keys = RichText::new().key(KeyShape::Area, "interval at each threshold").text(format!(
            "Thresholds across: what the share would be at another one, all else as it is. \
             Thresholds with fewer than {LEAST_CASES} {counted} are left out. All rates at 1,025 \
             thresholds are in the table curves."
        ));
        blocks.push(BriefBlock::Panels("pair", panels).into());
        blocks.push(PageBlock::Note(keys));
    }
    Some(BriefSection {
        id: "ranking",
        title: "Do scores rank people alike, and mean what they say?".into(),
        short: "Ranking",
        blocks,
    })
}
