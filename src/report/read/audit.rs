//! Reads an output folder into what the sections need: values and counts by key, and the panels,
//! worst first.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use indexmap::{IndexMap, IndexSet};

use crate::error::{Error, Result};
use crate::exec::files;
use crate::folder::manifest::Manifest;
use crate::folder::read as opened;
use crate::metric::catalog::shift;
use crate::report::read::classes::ClassResults;
use crate::report::read::graphs::{GraphEvidence, ScenarioGraphs};
use crate::report::read::panel::{
    AuditPanel, EccmTallies, KeyedRow, MetricValues, ResultKey, is_plain_audit,
};
use crate::report::read::quality::{DirectionQuality, QualityTables, SetQuality};
use crate::report::read::recourse;
use crate::report::read::score_tables::ScoreTables;
use crate::report::read::tally::{HistogramBin, WeightedCount};
use crate::table::file::{each_row, read_rows};
use crate::table::support::SUPPORTED;
use crate::table::why::{SwitchFeatureRow, SwitchPatternRow};
use crate::table::{
    AmountRow, ArmFoldRow, ArmRow, AuditKey, CfExampleRow, CfMapRow, ChangeRow, ComparisonRow,
    CountRow, DRAWN_SIDES, FilterRow, GateRow, GroupRow, HiddenCauseRow, HistoryRow, IssueRow,
    KnowledgeFitRow, MetricRow, NeededKnowledgeRow, PopulationRow, ScoreShiftRow, SharedText,
    SupportCountRow, SupportRow, TableRow, ThresholdRow,
};

/// Up to this many groups the page shows every ordered pair; beyond, the worst.
const ALL_PAIRS_UP_TO: usize = 6;

/// Directions drawn on one page, over all panels.
const DIRECTIONS_AT_MOST: usize = 64;

/// Panels on one page.
const PANELS_AT_MOST: usize = 32;

/// The three histograms of one direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScoreHistograms {
    /// Factual scores.
    pub(crate) original: Vec<HistogramBin>,
    /// Counterfactual scores.
    pub(crate) counterfactual: Vec<HistogramBin>,
    /// Counterfactual minus factual.
    pub(crate) change: Vec<HistogramBin>,
    /// The same three in bins that fit the data; empty of many groups.
    pub(crate) drawn: [Vec<HistogramBin>; 3],
}

/// An output folder in memory.
pub(crate) struct AuditFolder {
    /// `manifest.json`.
    pub(crate) manifest: Manifest,
    /// `job.resolved.yaml`; empty where the folder has none.
    pub(crate) job: String,
    /// Values by key and metric: of the audit, its classes, its slices and the arms.
    values: KeyedValues,
    /// The groups of each attribute: the reference first, then as declared, then those that only
    /// the tables know.
    groups_by_attribute: BTreeMap<String, IndexSet<String>>,
    /// What the label of several classes adds.
    pub(crate) classes: ClassResults,
    cells: BTreeMap<ResultKey, EccmTallies>,
    histograms: BTreeMap<ResultKey, ScoreHistograms>,
    /// Quality of the counterfactuals.
    pub(crate) quality: QualityTables,
    pub(crate) map: Vec<CfMapRow>,
    /// The people whom the job shows.
    pub(crate) cases: Vec<CfExampleRow>,
    /// Causal graphs.
    pub(crate) graphs: GraphEvidence,
    /// Scores as such.
    pub(crate) scores: ScoreTables,
    /// Recourse.
    pub(crate) recourse: recourse::RecourseTables,
    /// `groups`.
    pub(crate) groups: Vec<GroupRow>,
    /// `population`.
    pub(crate) population: Vec<PopulationRow>,
    /// `amounts`.
    pub(crate) amounts: Vec<AmountRow>,
    /// `comparisons`.
    pub(crate) comparisons: Vec<ComparisonRow>,
    /// `thresholds`.
    pub(crate) thresholds: Vec<ThresholdRow>,
    /// `arms`.
    pub(crate) added: Vec<ArmRow>,
    /// `arm_folds`.
    pub(crate) spreads: Vec<ArmFoldRow>,
    /// `changes`.
    pub(crate) changes: Vec<ChangeRow>,
    /// `history`.
    pub(crate) history: Vec<HistoryRow>,
    /// `gates`.
    pub(crate) gates: Vec<GateRow>,
    /// `knowledge_fit`.
    pub(crate) knowledge_fits: Vec<KnowledgeFitRow>,
    /// `needed_knowledge`.
    pub(crate) needed: Vec<NeededKnowledgeRow>,
    /// `hidden_cause`.
    pub(crate) hidden: Vec<HiddenCauseRow>,
    /// Patterns of who switches.
    pub(crate) patterns: Vec<SwitchPatternRow>,
    /// Through what people switch.
    pub(crate) switch_features: Vec<SwitchFeatureRow>,
    /// `support`.
    pub(crate) support: Vec<SupportRow>,
    /// `support_counts`.
    pub(crate) support_counts: Vec<SupportCountRow>,
    /// `filters`.
    pub(crate) filters: Vec<FilterRow>,
    /// `issues`.
    pub(crate) issues: Vec<IssueRow>,
}

/// Values by key, which are found by hash: pages look them up by the ten thousand.
type KeyedValues = IndexMap<ResultKey, MetricValues>;

/// Place of a set of an attribute on the page: position and name of attribute and set.
type SetPlace<'a> = (usize, &'a str, usize, &'a str);

/// Reads a table and sorts it by key, independent of the writer.
fn sorted<R: TableRow>(tables: &Path) -> Result<Vec<R>> {
    Ok(R::sorted(read_rows(tables)?))
}

fn patterns(tables: &Path) -> Result<Vec<SwitchPatternRow>> {
    let rows = sorted::<SwitchPatternRow>(tables)?;
    match rows.iter().all(|row| row.listed_traits().is_some()) {
        true => Ok(rows),
        false => Err(opened::damaged_column(tables, SwitchPatternRow::TABLE, "traits")),
    }
}

fn read_text(path: &Path) -> Result<String> {
    files::read_text(path).map_err(|e| match path.exists() {
        true => e,
        false => {
            Error::operator("read", path, e.cause(), "name a finished folder of `cfaudit run`")
        }
    })
}

impl AuditFolder {
    /// Whether anything is measured: not where a run waits for the scores of all models.
    pub(crate) fn is_measured(&self) -> bool {
        self.measures().next().is_some() || !self.amounts.is_empty()
    }

    /// The scenarios of each attribute, both in the order of the manifest.
    pub(crate) fn graphs_by_attribute(&self) -> Vec<(&str, Vec<&ScenarioGraphs>)> {
        let all = self.manifest.attributes.iter().map(|attribute| {
            let mine = self.graphs.scenarios.iter().filter(|of| of.attribute == attribute.name);
            (attribute.name.as_str(), mine.collect::<Vec<_>>())
        });
        all.filter(|(_, mine)| !mine.is_empty()).collect()
    }

    /// The sets in the order of attributes and sets, each with its directions worst first.
    pub(crate) fn set_qualities(&self) -> Vec<SetQuality<'_>> {
        let mut sets: BTreeMap<_, Vec<DirectionQuality<'_>>> = BTreeMap::new();
        let pairs = self.quality.pairs.iter().filter(|(pair, _)| !pair.from.is_empty());
        for (pair, values) in pairs {
            let place = self.place(&pair.attribute, &pair.set);
            sets.entry(place).or_default().push(DirectionQuality { pair, values });
        }
        let world =
            |(id, ((_, attribute, _, set), directions)): (usize, (SetPlace<'_>, _))| SetQuality {
                id,
                key: ResultKey::of_set(set, attribute),
                strategy: self.manifest.set(set).map_or("", |of| &of.strategy),
                directions: self.worst_first(attribute, directions, |of, at| {
                    (self.quality.farthest(of.pair), at(&of.pair.from), at(&of.pair.to))
                }),
            };
        sets.into_iter().enumerate().map(world).collect()
    }

    /// Reads the folder.
    ///
    /// # Errors
    /// `manifest.json` or `job.resolved.yaml` is absent or cannot be read, or a table is damaged or
    /// of another version.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let manifest = opened::manifest(folder)?.0;
        let job = read_text(&folder.join("job.resolved.yaml"))?;
        let tables = folder.join("tables");
        // The large ones go into maps, which sort them.
        let counts = read_rows::<CountRow>(&tables)?;
        let names = manifest.label.as_ref().map_or_else(Vec::new, |label| label.classes.clone());
        let classes = ClassResults::of(names, &counts, &read_rows(&tables)?);
        let values = values(&tables)?;
        Ok(AuditFolder {
            groups_by_attribute: groups(&manifest, &values),
            values,
            // Classes may be called 0 and 1 as well.
            cells: if classes.are_there() { BTreeMap::new() } else { cells(&counts) },
            classes,
            added: sorted(&tables)?,
            spreads: sorted(&tables)?,
            histograms: histograms(&read_rows(&tables)?),
            scores: ScoreTables::read(&tables)?,
            recourse: recourse::RecourseTables::read(&tables)?,
            quality: QualityTables::of(&sorted(&tables)?, &sorted(&tables)?, &sorted(&tables)?),
            map: sorted(&tables)?,
            cases: read_rows(&tables)?,
            graphs: GraphEvidence::of(
                (sorted(&tables)?, sorted(&tables)?, sorted(&tables)?),
                sorted(&tables)?,
                &manifest,
            ),
            groups: sorted(&tables)?,
            population: sorted(&tables)?,
            changes: sorted(&tables)?,
            history: sorted(&tables)?,
            gates: sorted(&tables)?,
            knowledge_fits: sorted(&tables)?,
            needed: sorted(&tables)?,
            hidden: sorted(&tables)?,
            patterns: patterns(&tables)?,
            switch_features: sorted(&tables)?,
            amounts: sorted(&tables)?,
            comparisons: sorted(&tables)?,
            thresholds: sorted(&tables)?,
            support: sorted(&tables)?,
            support_counts: sorted(&tables)?,
            filters: sorted(&tables)?,
            issues: sorted(&tables)?,
            manifest,
            job,
        })
    }

    /// The rows of a gate: the table is sorted by gate.
    pub(crate) fn rows_of_gate(&self, gate: &str) -> &[GateRow] {
        let rest = &self.gates[self.gates.partition_point(|row| row.gate.as_str() < gate)..];
        &rest[..rest.partition_point(|row| row.gate.as_str() == gate)]
    }

    /// The rows of a group in `groups`, over all its rows.
    pub(crate) fn group_rows(
        &self,
        attribute: &str,
        group: &str,
    ) -> impl Iterator<Item = &GroupRow> {
        let is_own = move |row: &&GroupRow| row.sensitive == *attribute && row.group == *group;
        self.groups.iter().filter(|row| row.slice.is_empty()).filter(is_own)
    }

    /// The title of the page as the job words it.
    pub(crate) fn title(&self) -> Option<&str> {
        Some(self.manifest.words.title.trim()).filter(|title| !title.is_empty())
    }

    /// Rows of a long table that the page shows.
    pub(crate) fn rows_shown(&self) -> usize {
        usize::try_from(self.manifest.words.rows_shown).unwrap_or(usize::MAX).clamp(1, 100)
    }

    /// The values of a key.
    pub(crate) fn at(&self, key: &ResultKey) -> Option<&MetricValues> {
        self.values.get(key)
    }

    /// A value.
    pub(crate) fn measure(&self, key: &ResultKey, metric: &str) -> Option<&MetricRow> {
        self.at(key)?.get(metric)
    }

    /// The values of the audit, of its classes and of its slices.
    pub(crate) fn without_arms(&self) -> impl Iterator<Item = (&ResultKey, &MetricValues)> + Clone {
        // In the order of keys these come first.
        self.values.iter().take_while(|(key, _)| key.arm.is_empty())
    }

    /// The values of the audit and of its classes, over all rows.
    pub(crate) fn of_all_rows(&self) -> impl Iterator<Item = (&ResultKey, &MetricValues)> + Clone {
        self.without_arms().take_while(|(key, _)| key.slice.is_empty())
    }

    /// The values of the audit, over all rows and classes.
    pub(crate) fn measures(&self) -> impl Iterator<Item = (&ResultKey, &MetricValues)> + Clone {
        self.values.iter().take_while(|(key, _)| key.arm.is_empty() && key.is_plain())
    }

    /// The values of an arm.
    pub(crate) fn of_arm(&self, arm: String) -> impl Iterator<Item = (&ResultKey, &MetricValues)> {
        let first = ResultKey { arm, ..ResultKey::default() };
        let is_own = |key: &ResultKey, arm: &str| key.arm == arm && key.is_plain();
        let from = self.values.partition_point(|key, _| *key < first);
        self.values[from..].iter().take_while(move |(key, _)| is_own(key, &first.arm))
    }

    /// The measured values of the metrics that are 0 only where no score moves.
    pub(crate) fn score_moves(&self, key: &ResultKey) -> impl Iterator<Item = Option<f64>> {
        shift::of_every_move().filter_map(|metric| Some(self.measure(key, metric.id)?.value))
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
        self.groups_by_attribute.get(attribute).into_iter().flatten().cloned().collect()
    }

    /// Position of an attribute, set or model in the manifest; names that it does not know come
    /// last.
    pub(crate) fn position(names: impl Iterator<Item = impl AsRef<str>>, name: &str) -> usize {
        names.into_iter().position(|n| n.as_ref() == name).unwrap_or(usize::MAX)
    }

    fn place<'k>(&self, attribute: &'k str, set: &'k str) -> SetPlace<'k> {
        let m = &self.manifest;
        (
            Self::position(m.attributes.iter().map(|a| &a.name), attribute),
            attribute,
            Self::position(m.counterfactuals.iter().map(|c| &c.name), set),
            set,
        )
    }

    /// Directions of an attribute by how bad they are, the worst first, of equals in the order of
    /// the groups; `rated` gives both, with the place of a group.
    fn worst_first<D>(
        &self,
        attribute: &str,
        directions: Vec<D>,
        rated: impl Fn(&D, &dyn Fn(&str) -> usize) -> (f64, usize, usize),
    ) -> Vec<D> {
        let groups = self.groups_of(attribute);
        let place: BTreeMap<&str, usize> = groups.iter().map(String::as_str).zip(0..).collect();
        let at = |group: &str| place.get(group).copied().unwrap_or(usize::MAX);
        let mut rated: Vec<_> = directions.into_iter().map(|of| (rated(&of, &at), of)).collect();
        rated.sort_by(|(a, _), (b, _)| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        rated.into_iter().map(|(_, direction)| direction).collect()
    }

    /// The panels in the order of attributes, sets and models, each with its directions worst
    /// first.
    pub(crate) fn panels(&self) -> Vec<AuditPanel> {
        let mut found: BTreeMap<_, Vec<ResultKey>> = BTreeMap::new();
        let measured = self.measures().map(|(key, _)| key);
        let counted = self.cells.keys().filter(|key| key.arm.is_empty() && self.at(key).is_none());
        for key in measured.chain(counted).filter(|key| key.scope == "direction") {
            let models = self.manifest.models.iter().map(|model| &model.name);
            let model = (Self::position(models, &key.model), key.model.as_str());
            let directions =
                found.entry((self.place(&key.attribute, &key.set), model)).or_default();
            directions.push(key.clone());
        }
        let panel = |(id, (((_, attribute, _, set), (_, model)), directions))| {
            let words = self.manifest.set(set);
            let written = words.and_then(|of| of.written.get(attribute));
            AuditPanel {
                id,
                attribute: str::to_owned(attribute),
                set: str::to_owned(set),
                strategy: words.map(|of| of.strategy.clone()).unwrap_or_default(),
                written: written.cloned().unwrap_or_default(),
                model: str::to_owned(model),
                groups: self.groups_of(attribute),
                directions,
                drawn: 0,
                still: false,
            }
        };
        let mut panels: Vec<AuditPanel> = found.into_iter().enumerate().map(panel).collect();
        for panel in &mut panels {
            let directions = std::mem::take(&mut panel.directions);
            panel.directions = self.worst_first(&panel.attribute, directions, |of, at| {
                (self.switch_rate(of), at(&of.from), at(&of.to))
            });
        }
        self.limit_panels(&mut panels);
        panels
    }

    fn switch_rate(&self, direction: &ResultKey) -> f64 {
        let measured = self.measure(direction, "sr").and_then(|m| m.value);
        let counted = || {
            let [[cn, sp], [sn, cp]] = self.cells(direction)?.all();
            sp.plus(sn).part_of(sp.plus(sn).plus(cn).plus(cp))
        };
        measured.or_else(counted).unwrap_or(-1.0)
    }

    fn limit_panels(&self, panels: &mut [AuditPanel]) {
        let mut worst: Vec<(f64, usize)> = panels
            .iter()
            .map(|p| (p.directions.first().map_or(-1.0, |d| self.switch_rate(d)), p.id))
            .collect();
        worst.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        worst.truncate(PANELS_AT_MOST);
        let each = (DIRECTIONS_AT_MOST / worst.len().max(1)).max(2);
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

/// The values of all people, in the order of their keys: the table may be long, so no row of it is
/// kept twice.
fn values(tables: &Path) -> Result<KeyedValues> {
    let mut values = KeyedValues::new();
    // Rows of a key mostly follow one another: the last one, and the place of its values.
    let mut last: Option<(AuditKey, SharedText, usize)> = None;
    each_row(tables, |row: &MetricRow| {
        if row.support == SUPPORTED {
            return;
        }
        let is_same = |(key, class, _): &(AuditKey, SharedText, usize)| {
            (key, class) == (&row.key, &row.class)
        };
        if !last.as_ref().is_some_and(is_same) {
            let of_key = values.entry(row.key());
            last = Some((row.key.clone(), row.class.clone(), of_key.index()));
            of_key.or_default();
        }
        let of_key = last.as_ref().and_then(|of| values.get_index_mut(of.2));
        let value = row.value.filter(|value| value.is_finite());
        if let Some((_, of_key)) = of_key {
            of_key.insert(row.metric.clone(), MetricRow { value, ..row.clone() });
        }
    })?;
    values.sort_unstable_keys();
    Ok(values)
}

/// The groups that the manifest and the values name, by attribute.
fn groups(manifest: &Manifest, values: &KeyedValues) -> BTreeMap<String, IndexSet<String>> {
    let mut groups: BTreeMap<String, IndexSet<String>> = BTreeMap::new();
    for words in &manifest.attributes {
        let (reference, others): (Vec<_>, Vec<_>) =
            words.groups.iter().cloned().partition(|group| *group == words.reference);
        groups.insert(words.name.clone(), reference.into_iter().chain(others).collect());
    }
    let keys = values.keys().take_while(|key| key.arm.is_empty() && key.is_plain());
    let ends = keys.flat_map(|key| [(&key.attribute, &key.from), (&key.attribute, &key.to)]);
    let named: BTreeSet<(&String, &String)> = ends.filter(|(_, name)| !name.is_empty()).collect();
    for (attribute, group) in named {
        groups.entry(attribute.clone()).or_default().insert(group.clone());
    }
    groups
}

fn cells(counts: &[CountRow]) -> BTreeMap<ResultKey, EccmTallies> {
    let mut cells: BTreeMap<ResultKey, EccmTallies> = BTreeMap::new();
    let side = |text: &str| match text {
        "0" => Some(0),
        "1" => Some(1),
        _ => None,
    };
    let is_shown = |row: &&CountRow| row.key.slice.is_empty() && !row.key.counterfactual.is_empty();
    for row in counts.iter().filter(is_shown) {
        let label = side(row.label.as_str()).map_or(0, |l: usize| l + 1);
        if let (Some(f), Some(c)) = (side(row.predicted.as_str()), side(row.predicted_cf.as_str()))
        {
            let cell = &mut cells.entry(row.key()).or_default().0[label][f][c];
            *cell = cell.plus(WeightedCount::new(row.n, row.weight));
        }
    }
    cells
}

fn histograms(bins: &[ScoreShiftRow]) -> BTreeMap<ResultKey, ScoreHistograms> {
    let mut all: BTreeMap<ResultKey, ScoreHistograms> = BTreeMap::new();
    // Bins of a histogram follow one another.
    let sides = bins.chunk_by(|a, b| a.key == b.key && a.class == b.class && a.side == b.side);
    for bins in sides.filter(|bins| is_plain_audit(&&bins[0]) && bins[0].class.is_empty()) {
        let histograms = all.entry(bins[0].key()).or_default();
        let side = match bins[0].side.as_str() {
            "original" => &mut histograms.original,
            "counterfactual" => &mut histograms.counterfactual,
            "change" => &mut histograms.change,
            side => match DRAWN_SIDES.iter().position(|drawn| *drawn == side) {
                Some(drawn) => &mut histograms.drawn[drawn],
                None => continue,
            },
        };
        let bin =
            |row: &ScoreShiftRow| (row.bin_lo, row.bin_hi, WeightedCount::new(row.n, row.weight));
        side.extend(bins.iter().map(bin));
    }
    for histograms in all.values_mut() {
        let ScoreHistograms { original, counterfactual, change, drawn } = histograms;
        for side in [original, counterfactual, change].into_iter().chain(drawn) {
            side.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal));
        }
    }
    all
}
