//! The stages `measure` and `gate`: evidence to tables, tables to verdicts. What graphs add stands in [`worlds`].

mod worlds;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use crate::data::prepare::Prepared;
use crate::data::{self, Attribute, Layout};
use crate::diff::Comparison;
use crate::error::{Exit, Result};
use crate::exec::StageContext;
use crate::gate::recourse::{Counted, RecourseQuestion};
use crate::gate::{self, Asks, Limit, Question, Scope, Verdict};
use crate::metric::clarify::Favoured;
use crate::metric::compare::{Compared, compare_counterfactual, compare_factual};
use crate::metric::counts::{CELLS, Confusion, CounterfactualCounts, Eccm, FactualCounts};
use crate::metric::flips::Flips;
use crate::metric::measure::{Favourable, Measured, Settings, measure_factual};
use crate::metric::placebo::Placebo;
use crate::metric::redraw::ShiftEvidence;
use crate::metric::scope::Who;
use crate::metric::shift::{self, ShiftSums};
use crate::metric::switches::measure_counterfactual;
use crate::metric::worlds::measure_worlds;
use crate::metric::{self, Family, Reads};
use crate::param::{ColumnName, Count, Name, Word};
use crate::pipeline::graph_tables::{GraphSet, GraphTables};
use crate::pipeline::plan::Plan;
use crate::pipeline::slicing::{RowSlices, Slices, WorldSlices};
use crate::pipeline::worlds::Ground;
use crate::pipeline::{class_tables, comparing, fitting, folder, shuffling};
use crate::spec::check::{Catalog, CheckedJob, MetricInfo};
use crate::spec::{self, DecideBy, GateBetween, GateDirection, GateLevel, OnInconclusive, Side};
use crate::table::io::{read_frame, write_frame};
use crate::table::{
    CF_DISTRIBUTIONS, CF_EXAMPLES, CF_FEATURES, CF_QUALITY, COMPARISONS, COUNTS, Cell, FILTERS, Frame, GROUPS, ISSUES, METRICS,
    SCORE_SHIFT, THRESHOLDS, TRANSITIONS, TableDef,
};

/// File of the stages `count` and of the second pass.
pub const EVIDENCE: &str = "evidence.json";

/// File of the slices that were not measured because too few people are in them.
pub const SMALL_SLICES: &str = "small-slices.json";

/// By attribute the slices of too few people, and how many these are in the fullest count.
pub type SmallSlices = BTreeMap<String, BTreeMap<String, u64>>;

/// What a stage `count` counted.
#[derive(Debug, Clone)]
pub struct Part {
    /// Experiment and arm; empty for the plain audit.
    pub arm: String,
    /// The model.
    pub model: String,
    /// The counterfactual set; none for the rows as they are.
    pub set: Option<String>,
    /// Position of the attribute.
    pub attribute: usize,
    /// The stage that counted.
    pub stage: String,
    /// The stage of the second pass; none where score metrics are not asked for.
    pub second: Option<String>,
    /// Repeats of the placebo that the set asks for.
    pub placebo: Option<Count>,
    /// The stage that repeated it; none for a strategy that draws on no sample.
    pub repeated: Option<String>,
    /// The stage that counted slices; none where the job names none.
    pub slices: Option<String>,
    /// The stage of the flip test; none where it does not run.
    pub flips: Option<String>,
    /// Of a set that rests on causal graphs where its worlds stand.
    pub branch: Option<Branch>,
}

/// Where the worlds of a model and a graph-uncertain set stand.
#[derive(Debug, Clone)]
pub struct Branch {
    /// The stage that scored them.
    pub stage: String,
}

/// Writes what preparing found as tables beside the rows.
///
/// # Errors
/// The disk refuses.
pub fn write_prepared(out: &Path, prepared: &Prepared, source_rows: u64) -> Result<()> {
    let mut filters = Frame::new(&FILTERS);
    filters.push(vec![Cell::Int(0), "rows of the source".into(), source_rows.into(), source_rows.into()]);
    for (i, step) in prepared.filters.iter().enumerate() {
        filters.push(vec![Cell::from(i as u64 + 1), step.what.as_str().into(), step.rows_in.into(), step.rows_out.into()]);
    }
    write_frame(out, &filters)?;
    let mut issues = Frame::new(&ISSUES);
    for issue in &prepared.issues {
        issues.push(vec![
            issue.code.into(),
            issue.severity.as_str().into(),
            issue.place.as_str().into(),
            issue.n.into(),
            issue.text.as_str().into(),
        ]);
    }
    write_frame(out, &issues)
}

/// Writes the tables of all parts.
///
/// # Errors
/// Evidence that cannot be read, or a disk that refuses.
pub fn measure(ctx: &StageContext<'_>, checked: &CheckedJob, ground: Ground<'_>, parts: &[Part], graphs: &[GraphSet]) -> Result<()> {
    let layout = ground.rows.layout();
    let mut across = worlds::Across::new();
    let mut tables = Tables::new();
    for part in parts {
        ctx.check()?;
        let scribe = Scribe { part, layout, settings: settings(checked, &layout.attributes[part.attribute]), slice: "", class: "" };
        let text = folder::read_text(&ctx.need(&part.stage).join(EVIDENCE))?;
        if let Some(label) = checked.job.data.label.column().filter(|label| label.classes.is_some()) {
            class_tables::measure(ctx, label, ground, &scribe, &text, &mut tables)?;
            continue;
        }
        if part.set.is_none() {
            let counts: FactualCounts = folder::from_json(&text, &part.stage)?;
            let flips =
                part.flips.as_ref().map(|stage| folder::from_json::<Flips>(&folder::read_text(&ctx.need(stage).join(EVIDENCE))?, stage));
            let flips = flips.transpose()?;
            let measured = ground.workers.within(|| measure_factual(&counts, flips.as_ref(), &scribe.settings));
            tables.metrics.rows.extend(measured.iter().map(|m| scribe.metric(m)));
            scribe.factual_counts(&counts, &mut tables);
        } else {
            let counts: CounterfactualCounts = folder::from_json(&text, &part.stage)?;
            let second = part
                .second
                .as_ref()
                .map(|stage| -> Result<ShiftEvidence> { folder::from_json(&folder::read_text(&ctx.need(stage).join(EVIDENCE))?, stage) });
            let placebo = match (&part.repeated, part.placebo) {
                (Some(stage), Some(_)) => {
                    let file = ctx.need(stage).join(shuffling::evidence(&part.model));
                    Some(Placebo::Repeats(folder::from_json(&folder::read_text(&file)?, stage)?))
                }
                (_, repeats) => repeats.map(Placebo::Still),
            };
            let second = second.transpose()?;
            if let Some(branch) = &part.branch {
                let branched = Plan::branched(ctx, &branch.stage)?;
                let level = checked.job.metrics.worlds.level;
                let measured = ground.workers.within(|| measure_worlds(&branched.counts, level, &scribe.settings));
                tables.metrics.rows.extend(measured.iter().map(|m| scribe.metric_across(m)));
                across.add(&scribe, &branched, &measured);
            } else {
                let of_world = || measure_counterfactual(&counts, second.as_ref(), placebo.as_ref(), &scribe.settings);
                let measured = ground.workers.within(of_world);
                tables.metrics.rows.extend(measured.iter().map(|m| scribe.metric(m)));
            }
            scribe.world_counts(&counts, &mut tables);
        }
        if let Some(stage) = &part.slices {
            let text = folder::read_text(&ctx.need(stage).join(EVIDENCE))?;
            measure_slices((stage, &text), &scribe, checked.job.metrics.smallest_cell.get(), ground, &mut tables)?;
        }
    }
    if !graphs.is_empty() {
        let mut of_graphs = GraphTables::default();
        for set in graphs {
            of_graphs.add(set, layout, checked.job.metrics.worlds.level);
            tables.metrics.rows.extend(worlds::metrics_of_graphs(set, layout));
        }
        of_graphs.write(ctx.out())?;
        across.write(ctx.out())?;
    }
    folder::write_json(&ctx.out().join(SMALL_SLICES), &tables.small)?;
    for frame in [&tables.metrics, &tables.counts, &tables.shift, &tables.groups, &tables.transitions] {
        write_frame(ctx.out(), frame)?;
    }
    write_frame(ctx.out(), &thresholds(ctx, checked)?)?;
    write_frame(ctx.out(), &compare(ctx, checked, ground, parts)?)
}

/// The thresholds that were fitted.
fn thresholds(ctx: &StageContext<'_>, checked: &CheckedJob) -> Result<Frame> {
    let mut frame = Frame::new(&THRESHOLDS);
    for (name, model) in checked.job.models.iter().filter(|(_, model)| model.threshold.is_fitted()) {
        let fitted = fitting::read(ctx.need(&format!("threshold/{name}")))?;
        fitting::tell(&mut frame, ("", name.as_str()), &model.threshold, (0, &fitted));
    }
    frame.sort();
    Ok(frame)
}

/// Measures one part inside every slice. A slice of fewer than `smallest` people is counted, and not measured.
fn measure_slices((stage, text): (&str, &str), whole: &Scribe<'_>, smallest: u64, ground: Ground<'_>, tables: &mut Tables) -> Result<()> {
    let slices = Slices::of(whole.layout, whole.part.attribute)?;
    let scribe = |slice: usize| Scribe { slice: slices.name(slice), settings: whole.settings.clone(), ..*whole };
    if whole.part.set.is_none() {
        for (slice, counts) in &folder::from_json::<RowSlices>(text, stage)?.0 {
            let scribe = scribe(*slice);
            if scribe.is_measured(counts.confusion(Who::All).n(), smallest, tables) {
                let measured = ground.workers.within(|| measure_factual(counts, None, &scribe.settings));
                tables.metrics.rows.extend(measured.iter().map(|m| scribe.metric(m)));
            }
            scribe.factual_counts(counts, tables);
        }
        return Ok(());
    }
    for (slice, counts, second) in &folder::from_json::<WorldSlices>(text, stage)?.0 {
        let scribe = scribe(*slice);
        if scribe.is_measured(counts.spreads().total().people(), smallest, tables) {
            let measured = ground.workers.within(|| measure_counterfactual(counts, second.as_ref(), None, &scribe.settings));
            tables.metrics.rows.extend(measured.iter().map(|m| scribe.metric(m)));
        }
        scribe.world_counts(counts, tables);
    }
    Ok(())
}

/// The models that the job compares, on every set and attribute that both were counted on.
fn compare(ctx: &StageContext<'_>, checked: &CheckedJob, ground: Ground<'_>, parts: &[Part]) -> Result<Frame> {
    let (layout, mut frame) = (ground.rows.layout(), Frame::new(&COMPARISONS));
    for (first, second) in &checked.job.metrics.compare {
        for part in parts.iter().filter(|part| part.model == first.as_str() && part.branch.is_none()) {
            let same = |other: &&Part| other.model == second.as_str() && (&other.set, other.attribute) == (&part.set, part.attribute);
            let Some(other) = parts.iter().find(same) else { continue };
            ctx.check()?;
            let scribe = Scribe { part, layout, settings: settings(checked, &layout.attributes[part.attribute]), slice: "", class: "" };
            let [text, other_text] = [part, other].map(|part| folder::read_text(&ctx.need(&part.stage).join(EVIDENCE)));
            let (text, other_text) = (text?, other_text?);
            let compared = if part.set.is_none() {
                let counts: [FactualCounts; 2] = [folder::from_json(&text, &part.stage)?, folder::from_json(&other_text, &other.stage)?];
                ground.workers.within(|| compare_factual(&counts[0], &counts[1], &scribe.settings))
            } else {
                let counts: [CounterfactualCounts; 2] =
                    [folder::from_json(&text, &part.stage)?, folder::from_json(&other_text, &other.stage)?];
                ground.workers.within(|| compare_counterfactual(&counts[0], &counts[1], &scribe.settings))
            };
            frame.rows.extend(compared.iter().map(|compared| scribe.compared(("", second.as_str()), compared)));
        }
    }
    Ok(frame)
}

/// The tables of quality.
pub const QUALITY: [&TableDef; 4] = [&CF_QUALITY, &CF_FEATURES, &CF_DISTRIBUTIONS, &CF_EXAMPLES];

/// Puts the tables of quality of all sets and attributes together.
///
/// # Errors
/// A table cannot be read or written.
pub fn gather_quality(ctx: &StageContext<'_>, stages: &[String]) -> Result<()> {
    for table in QUALITY {
        let mut frame = Frame::new(table);
        for stage in stages {
            frame.rows.extend(read_frame(ctx.need(stage), table)?.rows);
        }
        write_frame(ctx.out(), &frame)?;
    }
    Ok(())
}

/// What a job may name without declaring it: the metrics and the public data sets.
pub fn catalog() -> Catalog<'static> {
    static METRICS: OnceLock<Vec<MetricInfo>> = OnceLock::new();
    static MEASURES: OnceLock<Vec<&str>> = OnceLock::new();
    static DATA_SETS: OnceLock<Vec<&str>> = OnceLock::new();
    Catalog {
        metrics: METRICS.get_or_init(|| metric::catalog().map(metric_info).collect()),
        measures: MEASURES.get_or_init(|| metric::cf_quality::MEASURES.iter().map(|measure| measure.id).collect()),
        data_sets: DATA_SETS.get_or_init(|| data::catalog::DATA_SETS.iter().map(|set| set.name).collect()),
    }
}

fn metric_info(metric: &'static metric::Metric) -> MetricInfo {
    use spec::check::Scope::{Direction, Group, Pair, Total, WorstCase};
    let (family, mut scopes): (_, &'static [spec::check::Scope]) = match metric.family {
        Family::Performance => (spec::Family::Performance, &[Total, Group]),
        Family::Group => (spec::Family::Group, &[Pair, WorstCase]),
        Family::Clarify => (spec::Family::Clarify, &[Pair]),
        Family::Ccm => (spec::Family::Ccm, &[Total, Direction, Pair]),
        Family::Eccm => (spec::Family::Eccm, &[Total, Direction, Pair]),
        Family::Shift => (spec::Family::Shift, &[Total, Direction, Pair]),
        Family::Graph => (spec::Family::Graph, &[Total]),
    };
    let any = matches!(metric.reads, Reads::AnySwitch(_));
    match metric.reads {
        Reads::AnySwitch(_) | Reads::Benefit(_) => scopes = &[Total],
        Reads::RateToTotal(_) | Reads::ScoreToTotal(_) => scopes = &[WorstCase],
        _ => {}
    }
    let asked_by = match metric.reads {
        Reads::Strata(_) | Reads::StrataRate(_) => Some("strata"),
        Reads::Flips { .. } => Some("flip_test"),
        _ => None,
    };
    // Clarify's disparate impact is that of the family group.
    let also = matches!(metric.reads, Reads::FavourableRatio).then_some(spec::Family::Clarify);
    let needs_counterfactual = matches!(metric.family, Family::Ccm | Family::Eccm | Family::Shift | Family::Graph);
    let min_groups = if any { 3 } else { 2 };
    MetricInfo { id: metric.id, family, also, asked_by, needs_label: metric.needs_label, needs_counterfactual, scopes, min_groups }
}

/// The families that a job measures.
pub fn families(checked: &CheckedJob) -> Vec<Family> {
    let wanted = spec::check::families(&checked.job, &catalog());
    Family::ALL
        .into_iter()
        .filter(|family| {
            wanted.iter().any(|w| {
                *family
                    == match w {
                        spec::Family::Performance => Family::Performance,
                        spec::Family::Group => Family::Group,
                        spec::Family::Ccm => Family::Ccm,
                        spec::Family::Eccm => Family::Eccm,
                        spec::Family::Shift => Family::Shift,
                        spec::Family::Clarify => Family::Clarify,
                        // Not about models: they have tables of their own.
                        spec::Family::CfQuality | spec::Family::Graph => return false,
                    }
            })
        })
        .collect()
}

/// How to measure an attribute.
pub(super) fn settings(checked: &CheckedJob, attribute: &Attribute) -> Settings {
    let metrics = &checked.job.metrics;
    let positive = checked.job.data.label.column().is_none_or(|l| l.favourable == Side::Positive);
    Settings {
        families: families(checked),
        favourable: if positive { Favourable::Positive } else { Favourable::Negative },
        level: (metrics.interval.method == spec::IntervalMethod::Auto).then_some(metrics.interval.level),
        samples: metrics.bootstrap.samples,
        seed: checked.job.run.seed,
        min_group_size: metrics.min_group_size,
        min_denominator: metrics.min_denominator,
        favoured: favoured(checked, attribute),
    }
}

/// Whom the job favours among the groups of an attribute; the reference where it does not say.
pub fn favoured(checked: &CheckedJob, attribute: &Attribute) -> Favoured {
    let named = checked.job.metrics.clarify.as_ref().and_then(|c| c.favoured.get(attribute.name.as_str()));
    let order = attribute.reference_first();
    match named {
        Some(spec::clarify::Favoured::Rest) => Favoured::Rest,
        Some(spec::clarify::Favoured::Groups(words)) => {
            let is_named = |group: &usize| words.iter().any(|word| word.as_str() == attribute.groups[*group]);
            Favoured::Groups(order.iter().enumerate().filter(|(_, group)| is_named(group)).map(|(rank, _)| rank).collect())
        }
        None => Favoured::Groups(vec![0]),
    }
}

/// Tables that are being written.
pub(super) struct Tables {
    /// `metrics`.
    pub(super) metrics: Frame,
    /// `counts`.
    pub(super) counts: Frame,
    /// `score_shift`.
    pub(super) shift: Frame,
    /// `groups`.
    pub(super) groups: Frame,
    /// `transitions`.
    pub(super) transitions: Frame,
    /// Slices of too few people.
    pub(super) small: SmallSlices,
}

impl Tables {
    /// Without rows.
    pub(super) fn new() -> Self {
        Tables {
            metrics: Frame::new(&METRICS),
            counts: Frame::new(&COUNTS),
            shift: Frame::new(&SCORE_SHIFT),
            groups: Frame::new(&GROUPS),
            transitions: Frame::new(&TRANSITIONS),
            small: SmallSlices::new(),
        }
    }
}

/// Writes the numbers of one part as rows of tables.
pub(super) struct Scribe<'a> {
    /// Whose numbers.
    pub(super) part: &'a Part,
    /// What names groups.
    pub(super) layout: &'a Layout,
    /// How they are measured.
    pub(super) settings: Settings,
    /// The slice that the numbers are of; empty = all rows.
    pub(super) slice: &'a str,
    /// The class that stands against all others; empty for all classes together, and for a label of two sides.
    pub(super) class: &'a str,
}

impl Scribe<'_> {
    /// Name of a group by its position in reference-first order.
    pub(super) fn group(&self, rank: usize) -> &str {
        let attribute = &self.layout.attributes[self.part.attribute];
        &attribute.groups[attribute.reference_first()[rank]]
    }

    /// Units of weight in the unit of the user's column; null where there are no weights.
    pub(super) fn weight(&self, units: Option<u64>) -> Cell {
        units.zip(self.layout.weight.as_ref()).map(|(units, weight)| units as f64 * weight.unit.value()).into()
    }

    pub(super) fn n_groups(&self) -> usize {
        self.layout.attributes[self.part.attribute].groups.len()
    }

    /// Whether a slice of so many people is large enough; if not, it is named.
    fn is_measured(&self, n: u64, smallest: u64, tables: &mut Tables) -> bool {
        if n < smallest {
            let attribute = &self.layout.attributes[self.part.attribute].name;
            let known = tables.small.entry(attribute.clone()).or_default().entry(self.slice.to_owned()).or_default();
            *known = n.max(*known);
        }
        n >= smallest
    }

    /// The cells arm to slice.
    pub(super) fn key(&self, scope: &str, from: Option<usize>, to: Option<usize>) -> Vec<Cell> {
        let group = |rank: Option<usize>| rank.map_or("", |r| self.group(r));
        vec![
            self.part.arm.as_str().into(),
            self.part.model.as_str().into(),
            self.part.set.as_deref().unwrap_or_default().into(),
            self.layout.attributes[self.part.attribute].name.as_str().into(),
            scope.into(),
            group(from).into(),
            group(to).into(),
            self.slice.into(),
        ]
    }

    /// A row of `metrics`.
    pub(super) fn metric(&self, measured: &Measured) -> Vec<Cell> {
        self.metric_with(measured, [const { Cell::Null }; 6])
    }

    /// A metric with the cells `world_lo` to `n_worlds_undefined`.
    fn metric_with(&self, measured: &Measured, across: [Cell; 6]) -> Vec<Cell> {
        let (value, undefined) = match measured.value {
            Ok(value) => (Cell::from(value), ""),
            Err(reason) => (Cell::Null, reason.code()),
        };
        let interval = measured.interval.as_ref();
        let mut row = self.key(measured.scope.as_str(), measured.scope.from_group(), measured.scope.to_group());
        row.extend([
            self.class.into(),
            measured.metric.id.into(),
            measured.metric.family.as_str().into(),
            value,
            undefined.into(),
            measured.numerator.into(),
            measured.denominator.into(),
            self.weight(measured.weights.map(|weights| weights.0)),
            self.weight(measured.weights.map(|weights| weights.1)),
            measured.n_rows.into(),
            interval.map(|i| i.lo).into(),
            interval.map(|i| i.hi).into(),
            interval.and(self.settings.level).map(|l| l.get()).into(),
            interval.map_or("", |i| i.method.as_str()).into(),
            measured.ci_method.as_str().into(),
        ]);
        row.extend(across);
        row.extend([
            measured.placebo.and_then(|band| band.ends).map(|ends| ends.0).into(),
            measured.placebo.and_then(|band| band.ends).map(|ends| ends.1).into(),
            measured.placebo.map(|band| band.repeats).into(),
            measured.ideal.into(),
            measured.flags.join(",").into(),
            // Without a label the job names no side that people want.
            measured.impaired.filter(|_| self.layout.label.is_some()).map_or("", |g| self.group(g)).into(),
            measured.furthest.and_then(|furthest| furthest.highest).map_or("", |g| self.group(g)).into(),
            measured.furthest.and_then(|furthest| furthest.lowest).map_or("", |g| self.group(g)).into(),
            measured.furthest.map(|furthest| furthest.n_undefined).into(),
        ]);
        row
    }

    /// Compared with another arm and model.
    pub(super) fn compared(&self, (arm, against): (&str, &str), compared: &Compared) -> Vec<Cell> {
        let group = |rank: Option<usize>| rank.map_or("", |r| self.group(r));
        let (scope, interval) = (compared.scope, compared.interval.as_ref());
        vec![
            self.part.arm.as_str().into(),
            self.part.model.as_str().into(),
            arm.into(),
            against.into(),
            self.part.set.as_deref().unwrap_or_default().into(),
            self.layout.attributes[self.part.attribute].name.as_str().into(),
            scope.as_str().into(),
            group(scope.from_group()).into(),
            group(scope.to_group()).into(),
            compared.metric.id.into(),
            compared.metric.family.as_str().into(),
            compared.difference.ok().into(),
            compared.difference.err().map_or("", metric::Undefined::code).into(),
            compared.first.ok().into(),
            compared.second.ok().into(),
            interval.map(|i| i.lo).into(),
            interval.map(|i| i.hi).into(),
            interval.and(self.settings.level).map(|l| l.get()).into(),
            interval.map_or("", |i| i.method.as_str()).into(),
            compared.ci_method.as_str().into(),
            compared.n_rows.into(),
        ]
    }

    /// Counts of the rows as they are.
    pub(super) fn factual_counts(&self, counts: &FactualCounts, tables: &mut Tables) {
        let mut total = metric::counts::GroupCounts::default();
        for (rank, group) in counts.groups.iter().enumerate() {
            total.merge(group);
            self.group_row(counts, (group, group.n_positive(), group.n_predicted_positive()), Who::One(rank), tables);
            self.confusion(counts, Who::One(rank), tables);
        }
        self.group_row(counts, (&total, total.n_positive(), total.n_predicted_positive()), Who::All, tables);
        self.confusion(counts, Who::All, tables);
    }

    /// A row of the table of groups: counts, and those of them with the positive label and with the positive prediction.
    pub(super) fn group_row(
        &self,
        counts: &FactualCounts,
        (c, positive, predicted_positive): (&metric::counts::GroupCounts, u64, u64),
        of: Who,
        tables: &mut Tables,
    ) {
        let without_stratum = |of: Who| {
            let strata = counts.strata.as_ref()?;
            Some(of.groups(counts.groups.len()).map(|group| strata.n_missing(group)).sum::<u64>())
        };
        tables.groups.push(vec![
            self.part.model.as_str().into(),
            self.layout.attributes[self.part.attribute].name.as_str().into(),
            of.group().map_or("", |rank| self.group(rank)).into(),
            self.slice.into(),
            c.n().into(),
            self.weight(counts.weight(of)),
            self.layout.label.as_ref().map(|_| positive).into(),
            predicted_positive.into(),
            (if self.layout.label.is_some() { c.n_missing_label() } else { 0 }).into(),
            c.n_missing_score().into(),
            Cell::Int(0),
            c.n_at_threshold().into(),
            without_stratum(of).into(),
        ]);
    }

    fn confusion(&self, counts: &FactualCounts, of_whom: Who, tables: &mut Tables) {
        if self.layout.label.is_none() {
            return;
        }
        let (people, weights) = (counts.confusion(of_whom), counts.weight_confusion(of_whom));
        let group = of_whom.group();
        let scope = if group.is_some() { "group" } else { "total" };
        let of = |c: &Confusion| [c.tp, c.fp, c.fn_, c.tn];
        for (i, (label, predicted)) in [("1", "1"), ("0", "1"), ("1", "0"), ("0", "0")].into_iter().enumerate() {
            let mut row = self.key(scope, group, None);
            let weight = self.weight(weights.as_ref().map(|weights| of(weights)[i]));
            row.extend([label.into(), predicted.into(), "".into(), of(&people)[i].into(), weight, Cell::Null]);
            tables.counts.push(row);
        }
    }

    /// Counts of counterfactuals.
    pub(super) fn world_counts(&self, counts: &CounterfactualCounts, tables: &mut Tables) {
        let n = self.n_groups();
        let spreads = counts.spreads();
        let directions = (0..n).flat_map(|from| (0..n).filter(move |&to| to != from).map(move |to| (from, to)));
        for (from, to) in directions {
            let sums = counts.shift(from, to);
            let cells = (spreads.direction(from, to).eccm(), counts.weight_cells(Some((from, to))));
            self.cells(cells, sums, "direction", (Some(from), Some(to)), tables);
            self.histograms((sums, counts.weight_shift(from, to)), from, to, tables);
        }
        self.cells((spreads.total().eccm(), counts.weight_cells(None)), &counts.shift_total(), "total", (None, None), tables);
        self.missing_scores(counts, tables);
    }

    /// The groups table names, per group, the counterfactuals without a score over all sets.
    pub(super) fn missing_scores(&self, counts: &CounterfactualCounts, tables: &mut Tables) {
        for from in 0..self.n_groups() {
            let missing = i64::try_from(counts.n_missing_score(from)).unwrap_or(i64::MAX);
            let attribute = &self.layout.attributes[self.part.attribute].name;
            for row in &mut tables.groups.rows {
                let is = |i: usize, text: &str| matches!(&row[i], Cell::Text(t) if t == text);
                let place = GROUPS.column("n_missing_counterfactual_score");
                if is(0, &self.part.model)
                    && is(1, attribute)
                    && (is(2, self.group(from)) || is(2, ""))
                    && is(3, self.slice)
                    && let Some(Cell::Int(n)) = place.and_then(|place| row.get_mut(place))
                {
                    *n += missing;
                }
            }
        }
    }

    /// Cells of people and, where they have weights, of these.
    fn cells(
        &self,
        (people, weights): (Eccm, Option<Eccm>),
        sums: &ShiftSums,
        scope: &str,
        groups: (Option<usize>, Option<usize>),
        tables: &mut Tables,
    ) {
        for (i, cell) in CELLS.iter().enumerate() {
            // Without a label everybody stands in the cells of the negative one.
            let label = match (&self.layout.label, cell.label) {
                (None, true) => continue,
                (None, false) => "",
                (Some(_), true) => "1",
                (Some(_), false) => "0",
            };
            let bit = |b: bool| if b { "1" } else { "0" };
            let mut row = self.key(scope, groups.0, groups.1);
            let squared = Cell::Wide(sums.squared()[i].units());
            let weight = self.weight(weights.map(|weights| weights.0[i]));
            row.extend([label.into(), bit(cell.predicted).into(), bit(cell.predicted_cf).into(), people.0[i].into(), weight, squared]);
            tables.counts.push(row);
        }
    }

    pub(super) fn histograms(&self, (people, weights): (&ShiftSums, Option<&ShiftSums>), from: usize, to: usize, tables: &mut Tables) {
        let mut side = |name: &str, bins: fn(&ShiftSums) -> &[u64], edge: fn(usize) -> f64| {
            for (i, &n) in bins(people).iter().enumerate() {
                let mut row = self.key("direction", Some(from), Some(to));
                let weight = self.weight(weights.map(|sums| bins(sums)[i]));
                row.extend([self.class.into(), name.into(), Cell::Real(edge(i)), Cell::Real(edge(i + 1)), n.into(), weight]);
                tables.shift.push(row);
            }
        };
        side("original", ShiftSums::before, shift::score_edge);
        side("counterfactual", ShiftSums::after, shift::score_edge);
        side("change", ShiftSums::change, shift::change_edge);
    }
}

/// The gates of a job as questions.
pub fn questions(checked: &CheckedJob) -> Vec<Question> {
    let attributes: Vec<String> = checked.job.data.sensitive.keys().map(|a| a.as_str().to_owned()).collect();
    let questions = checked.job.gates.iter().filter(|(_, gate)| gate.recourse.is_none()).map(|(name, gate)| {
        let mut asked: Option<String> = gate.sensitive.as_ref().map(|s| s.as_str().to_owned());
        let mut pair = |map: &BTreeMap<ColumnName, [Word; 2]>| {
            let (attribute, [a, b]) = map.iter().next()?;
            asked = Some(attribute.as_str().to_owned());
            Some((a.as_str().to_owned(), b.as_str().to_owned()))
        };
        let mut scope = Scope::Total;
        match &gate.direction {
            Some(GateDirection::Any) => scope = Scope::AnyDirection,
            Some(GateDirection::Pair(map)) => {
                if let Some((a, b)) = pair(map) {
                    scope = Scope::Direction(a, b);
                }
            }
            None => {}
        }
        match &gate.between {
            Some(GateBetween::WorstCase) => scope = Scope::WorstCase,
            Some(GateBetween::Pair(map)) => {
                // All others together have no name in the tables.
                let name = |word: String, attribute: Option<&ColumnName>| {
                    let declared = attribute.is_some_and(|a| checked.job.data.groups_of(a).iter().any(|group| group.as_str() == word));
                    if word == "rest" && !declared { String::new() } else { word }
                };
                if let Some((a, b)) = pair(map) {
                    let attribute = map.keys().next();
                    scope = Scope::Pair(name(a, attribute), name(b, attribute));
                }
            }
            None => {}
        }
        if let Some((attribute, group)) = gate.group.as_ref().and_then(|m| m.iter().next()) {
            asked = Some(attribute.as_str().to_owned());
            scope = Scope::Group(group.as_str().to_owned());
        }
        // Checked: the gate has one limit, of a change where it asks about one.
        let asks = if gate.against.is_some() { Asks::Change } else { Asks::Value };
        let limit = match (gate.at_least, gate.fall_at_most, gate.at_most.or(gate.rise_at_most)) {
            (Some(limit), ..) => Limit::AtLeast(limit.get()),
            (None, Some(fall), _) => Limit::AtLeast(0.0 - fall.get()),
            (None, None, limit) => Limit::AtMost(limit.map_or(f64::INFINITY, |l| l.get())),
        };
        Question {
            name: name.to_string(),
            metric: gate.metric.clone().unwrap_or_default(),
            arm: gate.arm.clone().unwrap_or_default(),
            model: gate.model.as_ref().map(ToString::to_string).unwrap_or_default(),
            counterfactual: gate.counterfactual.as_ref().map(ToString::to_string).unwrap_or_default(),
            attributes: asked.map_or_else(|| attributes.clone(), |a| vec![a]),
            scope,
            class: gate.class.as_ref().map(ToString::to_string).unwrap_or_default(),
            asks,
            limit,
            decide_by: match gate.decide_by {
                DecideBy::Interval => gate::DecideBy::Interval,
                DecideBy::Worlds => gate::DecideBy::Worlds,
                DecideBy::Estimate => gate::DecideBy::Estimate,
            },
            holm: gate.family_error == Some(spec::FamilyError::Holm),
            enough: gate.enough.get(),
            warn_only: gate.level == GateLevel::Warn,
            line: checked.places.at(&spec::check::path(&["gates", name.as_str()])).map_or(0, |p| p.line),
        }
    });
    questions.collect()
}

/// The gates on recourse of a job as questions.
pub fn recourse_questions(checked: &CheckedJob) -> Vec<RecourseQuestion> {
    let question = |(name, gate): (&Name, &spec::Gate)| {
        let attribute = gate.recourse.as_ref()?;
        let block = checked.job.recourse.get(attribute)?;
        let definition = gate.definition?.definition(block.no_way_costs)?;
        Some(RecourseQuestion {
            name: name.to_string(),
            recourse: attribute.to_string(),
            model: block.model.to_string(),
            definition: [definition.id().to_owned(), definition.parameter(), gate.view?.view().id().to_owned()],
            score_at_least: gate.score_at_least.map(|score| score.get()),
            smallest: gate.smallest.map_or(1, |n| n.get()),
            at_most: gate.unfair_subgroups_at_most?,
            warn_only: gate.level == GateLevel::Warn,
            line: checked.places.at(&spec::check::path(&["gates", name.as_str()])).map_or(0, |p| p.line),
        })
    };
    checked.job.gates.iter().filter_map(question).collect()
}

/// Judges the gates by the tables of a stage; writes their table and what the summary says of them. `baseline` is the stage that compared the run with an earlier one.
///
/// # Errors
/// A table cannot be read, or the disk refuses.
pub fn judge(ctx: &StageContext<'_>, checked: &CheckedJob, measured: &str, baseline: Option<&str>) -> Result<()> {
    let metrics = read_frame(ctx.need(measured), &METRICS)?;
    let comparison = baseline.map(|stage| comparing::read_comparison(ctx.need(stage))).transpose()?;
    let mut counted = Vec::new();
    for question in recourse_questions(checked) {
        counted.push(gate::recourse::count(&question, ctx.need(&Plan::recourse_id(&question.recourse)))?);
    }
    let (table, outcome) = verdicts(checked, &questions(checked), &metrics, comparison.as_ref(), &counted);
    write_frame(ctx.out(), &table)?;
    folder::write_json(&ctx.out().join(folder::GATE_OUTCOME), &outcome)
}

/// The gates on recourse of a finished folder.
///
/// # Errors
/// A table cannot be read.
pub fn recourse_of(checked: &CheckedJob, questions: Vec<RecourseQuestion>, folder: &Path) -> Result<Vec<Counted>> {
    if checked.job.recourse.is_empty() {
        return Ok(Vec::new());
    }
    questions.iter().map(|question| gate::recourse::count(question, &folder.join("tables"))).collect()
}

/// The table of gates, and what the summary says of them: the one judge of `run`, `gate` and `diff`.
pub fn verdicts(
    checked: &CheckedJob,
    questions: &[Question],
    metrics: &Frame,
    comparison: Option<&Comparison>,
    recourse: &[Counted],
) -> (Frame, folder::GateOutcome) {
    let baseline = comparison.map(comparing::as_baseline);
    let judged = gate::judge(questions, metrics, baseline.as_ref(), recourse);
    let crossed = match judged.verdict {
        Some(Verdict::Fail) => true,
        Some(Verdict::Inconclusive) => checked.job.on_inconclusive == OnInconclusive::Fail,
        Some(Verdict::Pass | Verdict::Skipped) | None => false,
    };
    let word = match judged.verdict {
        Some(verdict @ (Verdict::Fail | Verdict::Inconclusive)) => verdict.word(),
        _ if judged.tally.warn > 0 => "warn",
        _ if judged.tally.pass > 0 => Verdict::Pass.word(),
        _ => "done",
    };
    let outcome = folder::GateOutcome {
        verdict: word.to_owned(),
        exit: if crossed { Exit::GateCrossed.code() } else { Exit::Done.code() },
        tally: judged.tally,
        worst: judged.worst,
    };
    (judged.table, outcome)
}
