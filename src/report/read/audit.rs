//! Reads an output folder into what the sections ask for: values and counts by key, and the panels
//! worst first.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::error::{Error, Result};
use crate::exec::files;
use crate::folder::manifest::{Manifest, WrittenValue};
use crate::folder::read as opened;
use crate::report::page::number;
use crate::report::page::words::RichText;
use crate::report::read::graphs::GraphEvidence;
use crate::report::read::quality::QualityTables;
use crate::report::read::recourse;
use crate::report::section::classes::ClassResults;
use crate::table::file::read_frame;
use crate::table::{
    ARM_FOLDS, ARMS, CF_DISTRIBUTIONS, CF_EXAMPLES, CF_FEATURES, CF_QUALITY, CHANGES, COMPARISONS,
    COUNTS, EDGES, FILTERS, GATES, GRAPHS, GROUPS, ISSUES, METRICS, NODES, SCORE_SHIFT, THRESHOLDS,
    TRANSITIONS, TableFrame, TableRecord,
};

/// Up to this many groups the page shows every ordered pair; beyond, the worst.
const ALL_PAIRS_UP_TO: usize = 6;

/// Directions drawn on one page, over all panels: what keeps it below one megabyte.
const DIRECTIONS_AT_MOST: usize = 64;

/// Panels on one page.
const PANELS_AT_MOST: usize = 32;

/// What a value belongs to: model, set, attribute, scope and groups.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ResultKey {
    /// The model.
    pub(crate) model: String,
    /// The counterfactual set; empty where none is involved.
    pub(crate) set: String,
    /// The sensitive attribute.
    pub(crate) attribute: String,
    /// group, total, pair, one_vs_rest, worst_case, direction, difference, one_to_rest or
    /// rest_to_one.
    pub(crate) scope: String,
    /// First or factual group.
    pub(crate) from: String,
    /// Second or counterfactual group.
    pub(crate) to: String,
}

/// One value of `metrics`.
#[derive(Debug, Clone)]
pub(crate) struct ReportedValue {
    /// The family.
    pub(crate) family: String,
    /// The value; none where undefined.
    pub(crate) value: Option<f64>,
    /// Why it is undefined.
    pub(crate) undefined: String,
    /// Count on top and count below.
    pub(crate) counts: Option<(i64, i64)>,
    /// What these weigh; none where the job has no weights.
    pub(crate) weights: Option<(f64, f64)>,
    /// People behind it.
    pub(crate) n_rows: i64,
    /// The interval.
    pub(crate) interval: Option<(f64, f64)>,
    /// Its level.
    pub(crate) level: Option<f64>,
    /// Its method; empty where there is none.
    pub(crate) method: String,
    /// The method in full, or why there is no interval.
    pub(crate) words: String,
    /// What noise alone gives; none where no placebo was asked for or its repeats give no value.
    pub(crate) placebo: Option<(f64, f64)>,
    /// What causal graphs say of it; none where there are none.
    pub(crate) across: Option<GraphSpread>,
    /// Repeats of the placebo; none where no placebo was asked for.
    pub(crate) repeats: Option<i64>,
    /// Whether the tables flag it as resting on few cases.
    pub(crate) small: bool,
    /// The group at a disadvantage.
    pub(crate) impaired: String,
    /// Of the groups that are furthest apart the highest, or the one furthest from all; empty
    /// elsewhere.
    pub(crate) highest: String,
    /// Of the groups that are furthest apart the lowest; empty elsewhere.
    pub(crate) lowest: String,
    /// Groups that have no part in it for want of a value; none elsewhere.
    pub(crate) without: Option<i64>,
}

/// A value over causal graphs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GraphSpread {
    /// Percentiles; none of a single graph.
    pub(crate) ends: Option<(f64, f64)>,
    /// Level of the percentiles.
    pub(crate) level: Option<f64>,
    /// Those of other graphs, coefficients apart; none as `ends`, or in part of the graphs
    /// undefined.
    pub(crate) between: Option<(f64, f64)>,
    /// Those of refits of the coefficients, graphs apart.
    pub(crate) within: Option<(f64, f64)>,
    /// Variances of the two; none as their percentiles.
    pub(crate) variances: [Option<f64>; 2],
    /// The mean in which every bootstrap weighs the same.
    pub(crate) even: Option<f64>,
    /// Graphs in which it is undefined.
    pub(crate) n_undefined: i64,
    /// Cases below a rate, where they are the same in all graphs.
    pub(crate) whole: Option<i64>,
}

/// Cases, and what they weigh: their number where the job has no weights.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct WeightedCount {
    /// The number.
    pub(crate) n: i64,
    /// The weight.
    pub(crate) weight: f64,
}

impl WeightedCount {
    /// Cases that count once each.
    pub(crate) fn from_count(n: i64) -> Self {
        WeightedCount { n, weight: n as f64 }
    }

    pub(crate) fn read(record: &TableRecord<'_>) -> Self {
        let n = record.int("n").unwrap_or(0).max(0);
        WeightedCount { n, weight: record.real("weight").unwrap_or(n as f64).max(0.0) }
    }

    /// These and others.
    #[must_use]
    pub(crate) fn plus(self, other: WeightedCount) -> Self {
        WeightedCount { n: self.n.saturating_add(other.n), weight: self.weight + other.weight }
    }

    /// The share of a whole that these weigh; none where the whole weighs nothing.
    pub(crate) fn part_of(self, whole: WeightedCount) -> Option<f64> {
        (whole.weight > 0.0).then(|| self.weight / whole.weight)
    }
}

/// Counterfactuals by label (0: none, 1: negative, 2: positive), factual and counterfactual
/// prediction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct EccmTallies(pub(crate) [[[WeightedCount; 2]; 2]; 3]);

impl EccmTallies {
    /// Over all labels.
    pub(crate) fn all(&self) -> [[WeightedCount; 2]; 2] {
        let mut sum = [[WeightedCount::default(); 2]; 2];
        for label in &self.0 {
            for (f, row) in label.iter().enumerate() {
                for (c, tally) in row.iter().enumerate() {
                    sum[f][c] = sum[f][c].plus(*tally);
                }
            }
        }
        sum
    }

    /// Whether labels are known.
    pub(crate) fn labelled(&self) -> bool {
        self.0[1..].iter().flatten().flatten().any(|tally| tally.n > 0)
    }
}

/// One bin of a histogram: edges and what lies in it.
pub(crate) type HistogramBin = (f64, f64, WeightedCount);

/// The three histograms of one direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScoreHistograms {
    /// Factual scores.
    pub(crate) original: Vec<HistogramBin>,
    /// Counterfactual scores.
    pub(crate) counterfactual: Vec<HistogramBin>,
    /// Counterfactual minus factual.
    pub(crate) change: Vec<HistogramBin>,
}

/// A direction and its place in its panel, worst first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PanelDirection {
    /// The factual group.
    pub(crate) from: String,
    /// The counterfactual group.
    pub(crate) to: String,
}

/// All that the page shows of one attribute, set and model.
#[derive(Debug, Clone)]
pub(crate) struct AuditPanel {
    /// Number on the page, for anchors.
    pub(crate) id: usize,
    /// The attribute.
    pub(crate) attribute: String,
    /// The set.
    pub(crate) set: String,
    /// Its strategy; empty where the manifest does not know the set.
    pub(crate) strategy: String,
    /// What stands for the groups of a derived attribute in the rows that models saw.
    pub(crate) written: Vec<WrittenValue>,
    /// The model.
    pub(crate) model: String,
    /// Its groups: the reference first, then as declared.
    pub(crate) groups: Vec<String>,
    /// All directions by switch rate, worst first.
    pub(crate) directions: Vec<PanelDirection>,
    /// How many of them are drawn; 0 where the page has no room for this panel.
    pub(crate) drawn: usize,
    /// Whether nothing switches in any direction.
    pub(crate) still: bool,
}

impl AuditPanel {
    /// Where its direction number `d` stands: the anchor of the value `metric` of that direction,
    /// or of the panel.
    pub(crate) fn anchor(&self, d: usize, metric: &str) -> String {
        match self.drawn {
            // The page has no room for the panel.
            0 => "switches".to_owned(),
            drawn if d < drawn => format!("p{}-{d}-{metric}", self.id),
            _ => format!("p{}", self.id),
        }
    }

    /// What was written in a direction, such as `race = Black, sex = Female`; of several values of
    /// a column the three most frequent, with their numbers. None where the attribute is a column
    /// as it stands.
    pub(crate) fn written_in(&self, from: &str, to: &str) -> Option<RichText> {
        let mine: Vec<&WrittenValue> =
            self.written.iter().filter(|w| w.from_group == from && w.to_group == to).collect();
        let mut columns: Vec<&str> = mine.iter().map(|w| w.column.as_str()).collect();
        columns.dedup();
        let mut words = RichText::new();
        for (i, column) in columns.iter().enumerate() {
            let mut values: Vec<&WrittenValue> =
                mine.iter().filter(|w| w.column == *column).copied().collect();
            values.sort_by_key(|w| std::cmp::Reverse(w.n));
            words = words.text(if i > 0 { ", " } else { "" }).code(*column).text(" = ");
            for (k, value) in values.iter().take(3).enumerate() {
                words = words.text(if k > 0 { " or " } else { "" }).name(&value.value);
                if values.len() > 1 {
                    words = words.text(format!(
                        " ({})",
                        number::count(i64::try_from(value.n).unwrap_or(i64::MAX))
                    ));
                }
            }
            words = if values.len() > 3 {
                words.text(format!(" or {} more", values.len() - 3))
            } else {
                words
            };
        }
        (!columns.is_empty()).then_some(words)
    }

    /// Whether a direction writes several values to one column, so that their numbers are told.
    pub(crate) fn writes_several(&self, from: &str, to: &str) -> bool {
        let mine = || self.written.iter().filter(|w| w.from_group == from && w.to_group == to);
        mine().any(|value| mine().filter(|other| other.column == value.column).count() > 1)
    }

    fn key(&self, scope: &str, from: &str, to: &str) -> ResultKey {
        ResultKey {
            model: self.model.clone(),
            set: self.set.clone(),
            attribute: self.attribute.clone(),
            scope: scope.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
        }
    }

    /// The key of one of its directions.
    pub(crate) fn direction(&self, direction: &PanelDirection) -> ResultKey {
        self.key("direction", &direction.from, &direction.to)
    }

    /// The key over all its directions.
    pub(crate) fn total(&self) -> ResultKey {
        self.key("total", "", "")
    }

    /// The key of a group's people as members of all other groups.
    pub(crate) fn one_to_rest(&self, group: &str) -> ResultKey {
        self.key("one_to_rest", group, "")
    }

    /// The key of the people of all other groups as members of one.
    pub(crate) fn rest_to_one(&self, group: &str) -> ResultKey {
        self.key("rest_to_one", "", group)
    }

    /// The key of the difference of the directions between two groups.
    pub(crate) fn difference(&self, from: &str, to: &str) -> ResultKey {
        self.key("difference", from, to)
    }
}

/// How often the room for directions, drawings and examples was halved to keep the page small;
/// nothing else depends on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PageHalvings(pub(crate) u32);

impl PageHalvings {
    /// What is left of a number of things.
    pub(crate) fn halved(self, n: usize) -> usize {
        n >> self.0
    }
}

/// An output folder in memory.
pub(crate) struct AuditFolder {
    /// `manifest.json`.
    pub(crate) manifest: Manifest,
    /// `job.resolved.yaml`; empty where the folder has none.
    pub(crate) job: String,
    /// Values by key and metric.
    pub(crate) measures: BTreeMap<ResultKey, BTreeMap<String, ReportedValue>>,
    /// The same of each slice.
    pub(crate) slices: BTreeMap<String, BTreeMap<ResultKey, BTreeMap<String, ReportedValue>>>,
    /// What the label of several classes adds.
    pub(crate) classes: ClassResults,
    cells: BTreeMap<ResultKey, EccmTallies>,
    histograms: BTreeMap<ResultKey, ScoreHistograms>,
    /// Quality of the counterfactuals.
    pub(crate) quality: QualityTables,
    /// Causal graphs.
    pub(crate) graphs: GraphEvidence,
    /// Recourse.
    pub(crate) recourse: recourse::RecourseTables,
    /// How much less than usual the page shows.
    pub(crate) halvings: PageHalvings,
    /// `groups`.
    pub(crate) groups: TableFrame,
    /// `comparisons`.
    pub(crate) comparisons: TableFrame,
    /// `thresholds`.
    pub(crate) thresholds: TableFrame,
    /// Numbers of the arms of experiments, by experiment and arm.
    pub(crate) arms: BTreeMap<String, ArmNumbers>,
    /// `arms`.
    pub(crate) added: TableFrame,
    /// `arm_folds`.
    pub(crate) spreads: TableFrame,
    /// `changes`.
    pub(crate) changes: TableFrame,
    /// `gates`.
    pub(crate) gates: TableFrame,
    /// `filters`.
    pub(crate) filters: TableFrame,
    /// `issues`.
    pub(crate) issues: TableFrame,
}

/// The numbers of one arm of an experiment.
#[derive(Default)]
pub(crate) struct ArmNumbers {
    /// Values by key and metric.
    pub(crate) measures: BTreeMap<ResultKey, BTreeMap<String, ReportedValue>>,
    /// Counts of counterfactuals.
    pub(crate) cells: BTreeMap<ResultKey, EccmTallies>,
}

impl ArmNumbers {
    /// A value.
    pub(crate) fn measure(&self, key: &ResultKey, metric: &str) -> Option<&ReportedValue> {
        self.measures.get(key)?.get(metric)
    }
}

/// Place of a panel on the page: position and name of attribute, set and model.
type PanelOrder<'a> = (usize, &'a str, usize, &'a str, usize, &'a str);

/// The plain audit over all rows; slices have pages of their own.
pub(crate) fn is_plain_audit(record: &TableRecord<'_>) -> bool {
    is_of_arm(record, "")
}

/// All rows of an arm, or of the plain audit; slices have pages of their own.
fn is_of_arm(record: &TableRecord<'_>, arm: &str) -> bool {
    record.text("arm") == arm && record.text("slice").is_empty()
}

/// What a record belongs to.
pub(crate) fn key(record: &TableRecord<'_>) -> ResultKey {
    ResultKey {
        model: record.text("model").to_owned(),
        set: record.text("counterfactual").to_owned(),
        attribute: record.text("sensitive").to_owned(),
        scope: record.text("scope").to_owned(),
        from: record.text("from_group").to_owned(),
        to: record.text("to_group").to_owned(),
    }
}

fn read_text(path: &Path) -> Result<String> {
    files::read_text(path).map_err(|e| {
        let hint = "name a folder that `cfaudit run` has finished";
        if path.exists() { e } else { Error::operator("read", path, e.cause(), hint) }
    })
}

impl AuditFolder {
    /// Reads the folder.
    ///
    /// # Errors
    /// `manifest.json` or `job.resolved.yaml` is absent or cannot be read, or a table is damaged or
    /// of another version.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let manifest = opened::manifest(folder)?.0;
        let job = read_text(&folder.join("job.resolved.yaml"))?;
        let tables = folder.join("tables");
        let frame = |def| {
            let mut frame = read_frame(&tables, def)?;
            frame.sort();
            Ok::<TableFrame, Error>(frame)
        };
        // The large ones go into maps, which sort them.
        let large = |def| read_frame(&tables, def);
        let (metrics, counts, shift) = (large(&METRICS)?, large(&COUNTS)?, large(&SCORE_SHIFT)?);
        let names = manifest.label.as_ref().map_or_else(Vec::new, |label| label.classes.clone());
        let classes = ClassResults::of(names, &metrics, &counts, &large(&TRANSITIONS)?);
        let arms = manifest
            .experiments
            .iter()
            .flat_map(|of| of.arms.iter().map(move |arm| format!("{}/{}", of.name, arm.name)));
        let whole = |arm: &str| {
            measures(
                metrics.records().filter(|row| is_of_arm(row, arm) && row.text("class").is_empty()),
            )
        };
        let of_arm = |arm: String| {
            let numbers = ArmNumbers { measures: whole(&arm), cells: cells(&counts, &arm) };
            (arm, numbers)
        };
        Ok(AuditFolder {
            measures: whole(""),
            slices: slices(&metrics),
            // Classes may be called 0 and 1 as well.
            cells: if classes.are_there() { BTreeMap::new() } else { cells(&counts, "") },
            classes,
            arms: arms.map(of_arm).collect(),
            added: frame(&ARMS)?,
            spreads: frame(&ARM_FOLDS)?,
            histograms: histograms(&shift),
            halvings: PageHalvings::default(),
            recourse: recourse::RecourseTables::read(&tables)?,
            quality: QualityTables::of(
                &frame(&CF_QUALITY)?,
                &frame(&CF_FEATURES)?,
                &frame(&CF_DISTRIBUTIONS)?,
                &frame(&CF_EXAMPLES)?,
            ),
            graphs: GraphEvidence::of(&frame(&EDGES)?, &frame(&NODES)?, &frame(&GRAPHS)?).numbered(
                &manifest.counterfactuals.iter().map(|set| set.name.as_str()).collect::<Vec<_>>(),
            ),
            groups: frame(&GROUPS)?,
            changes: frame(&CHANGES)?,
            gates: frame(&GATES)?,
            comparisons: frame(&COMPARISONS)?,
            thresholds: frame(&THRESHOLDS)?,
            filters: frame(&FILTERS)?,
            issues: frame(&ISSUES)?,
            manifest,
            job,
        })
    }

    /// The title of the page: as the job words it, or the job's name.
    pub(crate) fn title(&self) -> String {
        let title = self.manifest.words.title.trim();
        if title.is_empty() {
            format!("Counterfactual fairness audit: {}", self.manifest.job)
        } else {
            title.to_owned()
        }
    }

    /// Rows of a long table that the page shows.
    pub(crate) fn rows_shown(&self) -> usize {
        usize::try_from(self.manifest.words.rows_shown).unwrap_or(usize::MAX).clamp(1, 100)
    }

    /// A value.
    pub(crate) fn measure(&self, key: &ResultKey, metric: &str) -> Option<&ReportedValue> {
        self.measures.get(key)?.get(metric)
    }

    /// All values.
    pub(crate) fn all_measures(&self) -> impl Iterator<Item = &ReportedValue> {
        self.measures
            .values()
            .chain(self.classes.measures().map(|(.., metrics)| metrics))
            .flat_map(|metrics| metrics.values())
    }

    /// The counts of a direction or total; none where the folder has none.
    pub(crate) fn cells(&self, key: &ResultKey) -> Option<&EccmTallies> {
        self.cells.get(key)
    }

    /// The histograms of a direction.
    pub(crate) fn histograms(&self, key: &ResultKey) -> Option<&ScoreHistograms> {
        self.histograms.get(key)
    }

    /// Groups of an attribute: the reference first, then as declared, then those that only the
    /// tables know.
    pub(crate) fn groups_of(&self, attribute: &str) -> Vec<String> {
        let mut groups = Vec::new();
        if let Some(words) = self.manifest.attributes.iter().find(|a| a.name == attribute) {
            groups.extend(words.groups.iter().filter(|g| **g == words.reference).cloned());
            groups.extend(words.groups.iter().filter(|g| **g != words.reference).cloned());
        }
        let known: BTreeSet<&str> = groups.iter().map(String::as_str).collect();
        let mut others = BTreeSet::new();
        for key in self.measures.keys().filter(|k| k.attribute == attribute) {
            others.extend(
                [&key.from, &key.to]
                    .into_iter()
                    .filter(|g| !g.is_empty() && !known.contains(g.as_str())),
            );
        }
        let others: Vec<String> = others.into_iter().cloned().collect();
        groups.extend(others);
        groups
    }

    /// Position of an attribute, set or model in the manifest; names that it does not know come
    /// last.
    pub(crate) fn position(names: impl Iterator<Item = impl AsRef<str>>, name: &str) -> usize {
        names.into_iter().position(|n| n.as_ref() == name).unwrap_or(usize::MAX)
    }

    /// The panels in the order of attributes, sets and models, each with its directions worst
    /// first.
    pub(crate) fn panels(&self) -> Vec<AuditPanel> {
        let mut found: BTreeMap<PanelOrder<'_>, Vec<PanelDirection>> = BTreeMap::new();
        let m = &self.manifest;
        let directions = self.measures.keys().filter(|k| k.scope == "direction");
        for key in directions.chain(
            self.cells.keys().filter(|k| k.scope == "direction" && !self.measures.contains_key(*k)),
        ) {
            let place = (
                Self::position(m.attributes.iter().map(|a| &a.name), &key.attribute),
                key.attribute.as_str(),
                Self::position(m.counterfactuals.iter().map(|c| &c.name), &key.set),
                key.set.as_str(),
                Self::position(m.models.iter().map(|x| &x.name), &key.model),
                key.model.as_str(),
            );
            found
                .entry(place)
                .or_default()
                .push(PanelDirection { from: key.from.clone(), to: key.to.clone() });
        }
        let mut panels: Vec<AuditPanel> = found
            .into_iter()
            .enumerate()
            .map(|(id, ((_, attribute, _, set, _, model), directions))| AuditPanel {
                id,
                attribute: attribute.to_owned(),
                set: set.to_owned(),
                strategy: m
                    .counterfactuals
                    .iter()
                    .find(|c| c.name == set)
                    .map(|c| c.strategy.clone())
                    .unwrap_or_default(),
                written: m
                    .counterfactuals
                    .iter()
                    .find(|c| c.name == set)
                    .and_then(|c| c.written.get(attribute))
                    .cloned()
                    .unwrap_or_default(),
                model: model.to_owned(),
                groups: self.groups_of(attribute),
                directions,
                drawn: 0,
                still: false,
            })
            .collect();
        for panel in &mut panels {
            self.worst_first(panel);
        }
        self.limit_panels(&mut panels);
        panels
    }

    fn switch_rate(&self, panel: &AuditPanel, direction: &PanelDirection) -> f64 {
        let key = panel.direction(direction);
        let measured = self.measure(&key, "sr").and_then(|m| m.value);
        let counted = || {
            let [[cn, sp], [sn, cp]] = self.cells(&key)?.all();
            sp.plus(sn).part_of(sp.plus(sn).plus(cn).plus(cp))
        };
        measured.or_else(counted).unwrap_or(-1.0)
    }

    fn worst_first(&self, panel: &mut AuditPanel) {
        let place: BTreeMap<&str, usize> =
            panel.groups.iter().enumerate().map(|(i, g)| (g.as_str(), i)).collect();
        let at = |group: &str| place.get(group).copied().unwrap_or(usize::MAX);
        let mut rated: Vec<(f64, usize, usize, PanelDirection)> = panel
            .directions
            .iter()
            .map(|d| (self.switch_rate(panel, d), at(&d.from), at(&d.to), d.clone()))
            .collect();
        rated.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        panel.directions = rated.into_iter().map(|(_, _, _, d)| d).collect();
    }

    fn limit_panels(&self, panels: &mut [AuditPanel]) {
        let mut worst: Vec<(f64, usize)> = panels
            .iter()
            .map(|p| (p.directions.first().map_or(-1.0, |d| self.switch_rate(p, d)), p.id))
            .collect();
        worst.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        worst.truncate(self.halvings.halved(PANELS_AT_MOST));
        let each = (self.halvings.halved(DIRECTIONS_AT_MOST) / worst.len().max(1)).max(2);
        for (rate, id) in worst {
            let panel = &mut panels[id];
            // Where nothing switches, one matrix says what all would.
            let wanted = match panel.groups.len() {
                3.. if rate == 0.0 => 2,
                n if n > ALL_PAIRS_UP_TO => self.rows_shown(),
                _ => usize::MAX,
            };
            panel.still = rate == 0.0;
            panel.drawn = wanted.min(each).min(panel.directions.len());
        }
    }
}

fn slices(
    frame: &TableFrame,
) -> BTreeMap<String, BTreeMap<ResultKey, BTreeMap<String, ReportedValue>>> {
    let mut rows: BTreeMap<String, Vec<TableRecord<'_>>> = BTreeMap::new();
    for row in
        frame.records().filter(|row| row.text("arm").is_empty() && !row.text("slice").is_empty())
    {
        rows.entry(row.text("slice").to_owned()).or_default().push(row);
    }
    rows.into_iter().map(|(slice, rows)| (slice, measures(rows.into_iter()))).collect()
}

fn measures<'a>(
    rows: impl Iterator<Item = TableRecord<'a>>,
) -> BTreeMap<ResultKey, BTreeMap<String, ReportedValue>> {
    let mut measures: BTreeMap<ResultKey, BTreeMap<String, ReportedValue>> = BTreeMap::new();
    for row in rows {
        measures.entry(key(&row)).or_default().insert(row.text("metric").to_owned(), measure(&row));
    }
    measures
}

pub(crate) fn measure(row: &TableRecord<'_>) -> ReportedValue {
    ReportedValue {
        family: row.text("family").to_owned(),
        value: row.real("value").filter(|v| v.is_finite()),
        undefined: row.text("undefined").to_owned(),
        counts: row.int("numerator").zip(row.int("denominator")),
        weights: row.real("weight_numerator").zip(row.real("weight_denominator")),
        n_rows: row.int("n_rows").unwrap_or(0),
        interval: row.real("lo").zip(row.real("hi")),
        level: row.real("level"),
        method: row.text("interval").to_owned(),
        placebo: row.real("placebo_lo").zip(row.real("placebo_hi")),
        across: row.int("n_worlds").map(|_| GraphSpread {
            ends: row.real("world_lo").zip(row.real("world_hi")),
            level: row.real("world_level"),
            between: row.real("between_lo").zip(row.real("between_hi")),
            within: row.real("within_lo").zip(row.real("within_hi")),
            variances: ["between_var", "within_var"].map(|column| row.real(column)),
            even: row.real("world_even"),
            n_undefined: row.int("n_worlds_undefined").unwrap_or(0),
            whole: row.int("denominator"),
        }),
        repeats: row.int("placebo_repeats"),
        small: row.text("flags").split(',').any(|flag| flag.starts_with("small_")),
        impaired: row.text("impaired_group").to_owned(),
        words: row.text("ci_method").to_owned(),
        highest: row.text("highest_group").to_owned(),
        lowest: row.text("lowest_group").to_owned(),
        without: row.int("groups_undefined"),
    }
}

fn cells(frame: &TableFrame, arm: &str) -> BTreeMap<ResultKey, EccmTallies> {
    let mut cells: BTreeMap<ResultKey, EccmTallies> = BTreeMap::new();
    let side = |text: &str| match text {
        "0" => Some(0),
        "1" => Some(1),
        _ => None,
    };
    for row in frame
        .records()
        .filter(|row| is_of_arm(row, arm))
        .filter(|r| !r.text("counterfactual").is_empty())
    {
        let label = side(row.text("label")).map_or(0, |l: usize| l + 1);
        if let (Some(f), Some(c)) = (side(row.text("predicted")), side(row.text("predicted_cf"))) {
            let cell = &mut cells.entry(key(&row)).or_default().0[label][f][c];
            *cell = cell.plus(WeightedCount::read(&row));
        }
    }
    cells
}

fn histograms(frame: &TableFrame) -> BTreeMap<ResultKey, ScoreHistograms> {
    let mut all: BTreeMap<ResultKey, ScoreHistograms> = BTreeMap::new();
    for row in frame.records().filter(is_plain_audit).filter(|row| row.text("class").is_empty()) {
        let histograms = all.entry(key(&row)).or_default();
        let side = match row.text("side") {
            "original" => &mut histograms.original,
            "counterfactual" => &mut histograms.counterfactual,
            "change" => &mut histograms.change,
            _ => continue,
        };
        if let (Some(lo), Some(hi)) = (row.real("bin_lo"), row.real("bin_hi")) {
            side.push((lo, hi, WeightedCount::read(&row)));
        }
    }
    for histograms in all.values_mut() {
        for side in
            [&mut histograms.original, &mut histograms.counterfactual, &mut histograms.change]
        {
            side.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal));
        }
    }
    all
}
