//! The counterfactuals of one model, set and attribute, for all people, for each slice, and for
//! each class against the rest. One pass gathers counts and sums of scores. Score metrics need a
//! second pass that knows the means of all scores (see
//! [`shift_pass`](crate::metric::evidence::shift_pass)).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::data::Layout;
use crate::data::rows::PreparedBatch;
use crate::data::rows::aligned::{CounterfactualKeys, CounterfactualReader};
use crate::data::rows::split::RowRoles;
use crate::error::{Error, Result};
use crate::exec::accumulator::{Accumulator, merge_each, merge_present};
use crate::exec::internal_error;
use crate::metric::evidence::class_counts::{ClassCounterfactual, ClassPerson};
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::paired_counts::{PairedCell, PairedCounts};
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson, cell_index};
use crate::metric::evidence::shift_pass::{ShiftEvidence, ShiftPass};
use crate::metric::value::classes::SwitchClassCounts;
use crate::stage::count::classes::{ClassCountInputs, ClassScoredGroup, class_grid};
use crate::stage::count::evidence::{
    CountInputs, CountSettings, ScoredGroup, check_weight_total, counting_unit, no_switches,
    score_grid,
};
use crate::stage::count::slices::{AttributeSlices, CountedSlices};
use crate::stage::row_context::{DecisionRule, RowContext};
use crate::stage::sharding::share::{RowShare, ShardPass};

/// The score metrics that are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShiftSettings {
    /// Whether they have intervals.
    pub(crate) intervals: bool,
}

/// The state of a pass over counterfactuals. Only parts with people have counts.
#[derive(Serialize, Deserialize)]
pub(crate) struct SwitchPart {
    /// All classes together, for all people and for each slice; empty if the label has two sides.
    classes: Vec<Option<SwitchClassCounts>>,
    /// The counts by number: all people, each slice and each fold. If the label has several
    /// classes, each of these has one entry per class against the rest.
    all: Vec<Option<CounterfactualCounts>>,
}

impl SwitchPart {
    /// No counts for `n` numbers, and those of all classes together.
    pub(crate) fn new(n: usize, classes: Vec<Option<SwitchClassCounts>>) -> Self {
        SwitchPart { classes, all: vec![None; n] }
    }

    /// Adds a row. `empty` makes the empty counts of a number and those of all classes.
    pub(crate) fn add(
        &mut self,
        empty: (impl FnOnce(usize) -> CounterfactualCounts, impl FnOnce() -> SwitchClassCounts),
        row: CountedRow<'_>,
    ) {
        match row {
            CountedRow::Classes(part, (key, person, cfs)) => {
                if let Some(counts) = self.classes.get_mut(part) {
                    counts.get_or_insert_with(empty.1).add(key, person, cfs);
                }
            }
            CountedRow::Sides(number, (key, person, cfs)) => {
                let counts = self.all[number].get_or_insert_with(|| empty.0(number));
                counts.add_person(key, person, cfs);
            }
        }
    }
}

impl Accumulator for SwitchPart {
    fn merge(&mut self, other: Self) {
        merge_present(&mut self.all, other.all, Accumulator::merge);
        merge_present(&mut self.classes, other.classes, Accumulator::merge);
    }

    /// Adds the persons that are still buffered.
    fn settle(&mut self) {
        self.all.iter_mut().flatten().for_each(CounterfactualCounts::settle);
    }
}

/// A row with its counterfactuals and the key of its person.
type UnitRow<'a> = (u64, &'a ScoredPerson, &'a [ScoredCounterfactual]);

/// A row of a label of several classes with its counterfactuals and the key of its person.
type KeyedClassRow<'a> = (u64, &'a ClassPerson<'a>, &'a [ClassCounterfactual<'a>]);

/// A row as it is counted.
pub(crate) enum CountedRow<'a> {
    /// For a label of two sides, in the counts of this number.
    Sides(usize, UnitRow<'a>),
    /// For several classes, in the counts of all people (0) or of a slice.
    Classes(usize, KeyedClassRow<'a>),
}

impl CountedRow<'_> {
    /// Calls `each` for every part (all people and the slices of the row): once with all classes,
    /// and once with each class against the rest.
    pub(crate) fn of_classes(
        classes: usize,
        parts: &[usize],
        (key, person, cfs): KeyedClassRow<'_>,
        each: &mut impl FnMut(CountedRow<'_>),
    ) {
        parts.iter().for_each(|&part| each(CountedRow::Classes(part, (key, person, cfs))));
        let mut cfs_of_class: Vec<ScoredCounterfactual> = Vec::with_capacity(cfs.len());
        for class in 0..classes {
            cfs_of_class.clear();
            cfs_of_class.extend(cfs.iter().map(|cf| cf.one_vs_rest(class)));
            let row = (key, &person.one_vs_rest(class), cfs_of_class.as_slice());
            parts.iter().for_each(|&part| each(CountedRow::Sides(part * classes + class, row)));
        }
    }
}

/// The second pass over all rows, for the counts that have score metrics (`measured`). None in a
/// shard, which ends with its states.
fn second_pass(
    (passes, row_context): (&RowShare, RowContext<'_>),
    wanted: ShiftSettings,
    measured: &[Option<&CounterfactualCounts>],
    add: impl Fn(&mut [Option<ShiftPass>], usize) -> Result<u64> + Sync,
) -> Result<Option<Vec<Option<ShiftEvidence>>>> {
    let start = |counts: &CounterfactualCounts| match wanted.intervals {
        true => counts.influence_pass(),
        false => counts.second_pass(),
    };
    let start: Vec<Option<ShiftPass>> = measured.iter().map(|counts| counts.map(start)).collect();
    let gather = || {
        let mut whole = row_context.row_groups().fold(
            || start.clone(),
            |part, g| {
                let rows = add(part, g)?;
                // Keeps the buffers of many slices small.
                if measured.len() > 1 {
                    part.iter_mut().flatten().for_each(ShiftPass::settle);
                }
                Ok(rows)
            },
            |whole, part| merge_present(whole, part, Accumulator::merge),
        )?;
        whole.iter_mut().flatten().for_each(ShiftPass::settle);
        Ok((0..).zip(whole).filter_map(|(number, pass)| Some((number, pass?))).collect())
    };
    let Some(states) = passes.gather(row_context.ctx, ShardPass::Shift, gather)? else {
        return Ok(None);
    };
    let mut states: BTreeMap<u64, ShiftPass> = states.into_iter().collect();
    let evidence =
        (0..).zip(measured).map(|(number, counts)| match (states.remove(&number), counts) {
            (Some(pass), Some(counts)) if pass.is_of(counts) => {
                Ok(Some(pass.into_evidence(counts)))
            }
            (_, None) => Ok(None),
            _ => Err(other_people()),
        });
    evidence.collect::<Result<_>>().map(Some)
}

/// The scored counterfactuals of one model, set and attribute.
pub(crate) enum ScoredSet {
    /// For a label of two sides.
    Sides(CountInputs),
    /// For several classes: each class against the rest is a label of two sides.
    Classes(ClassCountInputs),
}

impl ScoredSet {
    pub(super) fn attribute(&self) -> usize {
        match self {
            ScoredSet::Sides(scored) => scored.attribute,
            ScoredSet::Classes(scored) => scored.attribute,
        }
    }

    pub(super) fn counterfactuals(&self) -> &CounterfactualReader {
        match self {
            ScoredSet::Sides(scored) => &scored.counterfactuals,
            ScoredSet::Classes(scored) => &scored.counterfactuals,
        }
    }

    /// How many counts a part has: one, or one for each class.
    fn n_whole(&self) -> usize {
        match self {
            ScoredSet::Sides(_) => 1,
            ScoredSet::Classes(scored) => scored.scores.n_classes() as usize,
        }
    }

    /// One row group with what is predicted.
    ///
    /// # Errors
    /// A file is damaged.
    pub(super) fn decided(&self, row_context: RowContext<'_>, g: usize) -> Result<DecidedGroup> {
        let scored = match self {
            ScoredSet::Sides(scored) => scored,
            ScoredSet::Classes(scored) => {
                let of = ClassScoredGroup::read_classes(row_context, scored, g)?;
                let (predicted, predicted_cf) = (of.scores.predicted(), of.scores_cf.predicted());
                let ScoredGroup { batch, roles, keys, .. } = of;
                let (scores, scores_cf) = (Vec::new(), Vec::new());
                return Ok(DecidedGroup {
                    batch,
                    roles,
                    keys,
                    predicted,
                    predicted_cf,
                    scores,
                    scores_cf,
                });
            }
        };
        let of = ScoredGroup::read(row_context, scored, g, true)?;
        let [rule, rule_cf] = &of.rules;
        let decide = |rule: &DecisionRule, (i, &score): (usize, &f64)| {
            rule.decide(&of.batch, of.roles.audited(i), i, score).map(u32::from)
        };
        let parents = of.keys.parent.iter().map(|&parent| parent as usize);
        let predicted = of.scores.iter().enumerate().map(|of| decide(rule, of)).collect();
        let predicted_cf = parents.zip(&of.scores_cf).map(|of| decide(rule_cf, of)).collect();
        let scores = of.scores.iter().map(|&score| rule.shown(score)).collect();
        let scores_cf = of.scores_cf.iter().map(|&score| rule_cf.shown(score)).collect();
        let ScoredGroup { batch, roles, keys, .. } = of;
        Ok(DecidedGroup { batch, roles, keys, predicted, predicted_cf, scores, scores_cf })
    }

    /// Fails where the weights of all counterfactuals could outgrow their sums.
    fn check_weight_total(&self, layout: &Layout) -> Result<()> {
        check_weight_total(layout, self.counterfactuals().n_rows().max(layout.n_rows))
    }
}

/// One row group with what a model predicts: of two sides 0 or 1, of several classes the class.
pub(super) struct DecidedGroup {
    pub(super) batch: PreparedBatch,
    pub(super) roles: RowRoles,
    pub(super) keys: CounterfactualKeys,
    pub(super) predicted: Vec<Option<u32>>,
    pub(super) predicted_cf: Vec<Option<u32>>,
    /// In the numbers of the model; empty of several classes.
    pub(super) scores: Vec<Option<f64>>,
    pub(super) scores_cf: Vec<Option<f64>>,
}

/// Counts the pairs of the counterfactuals that two models score, in their directions: once for a
/// label of two sides, once for each class against all others.
///
/// # Errors
/// A file cannot be read, weights that outgrow their sums, or the run is to stop.
pub(crate) fn gather_pairs(
    row_context: RowContext<'_>,
    [first, second]: [&ScoredSet; 2],
) -> Result<Vec<(u64, PairedCounts)>> {
    let layout = row_context.rows.layout();
    first.check_weight_total(layout)?;
    let n = layout.attributes[first.attribute()].groups.len();
    let blocks = CountSettings { scores: false, together: false, curves: false, cutoffs: false };
    let pass =
        |scored| SwitchPass { context: row_context, scored, blocks, slices: None, n_folds: 0 };
    let found = row_context.row_groups().fold(
        || vec![PairedCounts::new(n, counting_unit(layout)); first.n_whole()],
        |parts, g| {
            let mut of_first = Vec::new();
            pass(first).rows(g, |row| {
                if let CountedRow::Sides(_, (_, person, cfs)) = row {
                    let cells = cfs.iter().map(|moved| switch_cell(person, moved));
                    of_first.push(cells.collect::<Vec<_>>());
                }
            })?;
            // Both models score the same counterfactuals, so they are in the same order.
            let mut of_first = of_first.iter();
            pass(second).rows(g, |row| {
                let CountedRow::Sides(number, (key, person, cfs)) = row else { return };
                let said = of_first.next().into_iter().flatten();
                let cells = said.zip(cfs).map(|(&one, moved)| PairedCell {
                    place: person.group * n + moved.to,
                    cells: [one, switch_cell(person, moved)],
                });
                parts[number].add((key, person.weight), cells);
            })
        },
        merge_each,
    )?;
    Ok((0..).zip(found).collect())
}

/// The cell that a counterfactual fills.
fn switch_cell(person: &ScoredPerson, moved: &ScoredCounterfactual) -> Option<usize> {
    let (predicted, predicted_cf) = person.predicted.zip(moved.predicted)?;
    Some(cell_index(person.label, predicted, predicted_cf))
}

/// A pass over the counterfactuals.
#[derive(Clone, Copy)]
struct SwitchPass<'a> {
    context: RowContext<'a>,
    scored: &'a ScoredSet,
    blocks: CountSettings,
    /// The numbers of slices follow those of all people.
    slices: Option<&'a AttributeSlices>,
    /// The numbers of folds follow those of slices.
    n_folds: usize,
}

impl SwitchPass<'_> {
    fn layout(&self) -> &Layout {
        self.context.rows.layout()
    }

    fn n_slices(&self) -> usize {
        self.slices.map_or(0, AttributeSlices::len)
    }

    /// How many numbers all people and the slices have together.
    fn n_parts(&self) -> usize {
        self.scored.n_whole() * (1 + self.n_slices())
    }

    /// The empty counts of a number. Folds have no curves.
    fn empty(&self, number: usize) -> CounterfactualCounts {
        let curves = self.blocks.curves && number < self.n_parts();
        let (grid, with_bins) = match self.scored {
            ScoredSet::Sides(scored) => (score_grid(self.layout(), &scored.rule), number == 0),
            ScoredSet::Classes(..) => (class_grid(self.layout()), false),
        };
        let counts = no_switches(self.layout(), self.scored.attribute(), curves.then_some(grid));
        // The page draws the scores of all people.
        if with_bins { counts.with_bins() } else { counts }
    }

    /// The empty counts of all classes together.
    fn no_classes(&self) -> SwitchClassCounts {
        let n_groups = self.layout().attributes[self.scored.attribute()].groups.len();
        let counts = SwitchClassCounts::new(self.scored.n_whole(), n_groups);
        counts.counted_by(counting_unit(self.layout()))
    }

    /// Calls `each` with every row of a row group as it is counted.
    fn rows(&self, g: usize, mut each: impl FnMut(CountedRow<'_>)) -> Result<u64> {
        let (layout, position) = (self.layout(), self.scored.attribute());
        let scored = match self.scored {
            ScoredSet::Sides(scored) => scored,
            ScoredSet::Classes(scored) => {
                let group = ClassScoredGroup::read_classes(self.context, scored, g)?;
                let mut parts = Vec::new();
                group.people(layout, position, |i, person, cfs| {
                    parts.clear();
                    parts.push(0);
                    if let Some(slices) = self.slices {
                        let each = |slice| parts.push(1 + slice);
                        slices.each_of_row(layout, &group.batch, i, each);
                    }
                    let row = (group.batch.person_keys()[i], person, cfs);
                    CountedRow::of_classes(self.scored.n_whole(), &parts, row, &mut each);
                });
                return Ok(group.batch.row.len() as u64);
            }
        };
        let group = ScoredGroup::read(self.context, scored, g, false)?;
        let batch: &PreparedBatch = &group.batch;
        group.people(layout, position, |i, person, cfs| {
            let row = (batch.shared_key(i), person, cfs);
            each(CountedRow::Sides(0, row));
            if let Some(slices) = self.slices {
                let mut each = |slice| each(CountedRow::Sides(1 + slice, row));
                slices.each_of_row(layout, batch, i, &mut each);
            }
            if let Some(last) = self.n_folds.checked_sub(1) {
                let fold = group.roles.audited(i).map_or(0, usize::from).min(last);
                each(CountedRow::Sides(1 + self.n_slices() + fold, row));
            }
        });
        Ok(batch.row.len() as u64)
    }

    fn gather(&self, n: usize) -> Result<SwitchPart> {
        let add = |part: &mut SwitchPart, g| {
            let empty = (|number| self.empty(number), || self.no_classes());
            let rows = self.rows(g, |row| part.add(empty, row))?;
            // Keeps the buffers of many slices small.
            if self.slices.is_some() {
                part.settle();
            }
            Ok(rows)
        };
        let n_matrices = match self.scored {
            ScoredSet::Sides(_) => 0,
            ScoredSet::Classes(..) => 1 + self.n_slices(),
        };
        self.context.row_groups().gather(|| SwitchPart::new(n, vec![None; n_matrices]), add)
    }
}

/// What is counted separately, in the same pass.
#[derive(Clone, Copy)]
pub(crate) struct CountedParts<'a> {
    /// The slices.
    pub(crate) slices: Option<&'a AttributeSlices>,
    /// Slices with fewer people have no score metrics.
    pub(crate) smallest: u64,
    /// The number of folds; one fold holds all people. Folds have no score metrics.
    pub(crate) n_folds: usize,
}

/// The counts of the counterfactuals of all people, or of a slice.
#[derive(Serialize, Deserialize)]
pub(crate) struct SwitchEvidence {
    /// All classes together; none for a label of two sides.
    pub(crate) classes: Option<SwitchClassCounts>,
    /// For a label of two sides one entry, else one for each class against the rest.
    pub(crate) sides: Vec<(CounterfactualCounts, Option<ShiftEvidence>)>,
}

impl SwitchEvidence {
    /// The evidence of a label of two sides.
    pub(crate) fn new(counts: CounterfactualCounts, shift: Option<ShiftEvidence>) -> Self {
        SwitchEvidence { classes: None, sides: vec![(counts, shift)] }
    }

    /// The counts of a label of two sides.
    ///
    /// # Errors
    /// There are none: a bug of the caller.
    pub(crate) fn of_sides(self) -> Result<(CounterfactualCounts, Option<ShiftEvidence>)> {
        let first = self.sides.into_iter().next();
        first
            .ok_or_else(|| internal_error("nothing was counted of a label of two sides".to_owned()))
    }
}

/// The counterfactuals of one model, set and attribute.
pub(crate) struct CountedSet {
    /// For all people.
    pub(crate) whole: SwitchEvidence,
    /// The same inside slices.
    pub(crate) slices: CountedSlices<SwitchEvidence>,
    /// One for each fold, if folds are counted separately.
    pub(crate) folds: Vec<CounterfactualCounts>,
}

/// Counts the counterfactuals of one model, set and attribute, also inside slices and folds, with
/// score metrics if `wanted`. None in a shard, which ends with the states of a pass.
///
/// # Errors
/// A file cannot be read, the sum of the weights may overflow, or the run is to stop.
pub(crate) fn count_switches(
    (passes, row_context): (&RowShare, RowContext<'_>),
    scored: &ScoredSet,
    blocks: CountSettings,
    wanted: Option<ShiftSettings>,
    CountedParts { slices, smallest, n_folds }: CountedParts<'_>,
) -> Result<Option<CountedSet>> {
    let layout = row_context.rows.layout();
    scored.check_weight_total(layout)?;
    let n_folds = if n_folds > 1 { n_folds } else { 0 };
    let pass = SwitchPass { context: row_context, scored, blocks, slices, n_folds };
    let (n_whole, n_parts) = (scored.n_whole(), pass.n_parts());
    let n = n_parts + n_folds;
    let found = passes.gather_one(row_context.ctx, ShardPass::Count, || pass.gather(n))?;
    let Some(SwitchPart { mut classes, all: mut gathered }) = found else { return Ok(None) };
    for (number, counts) in gathered[..n_whole].iter_mut().enumerate() {
        counts.get_or_insert_with(|| pass.empty(number));
    }
    if let Some(whole) = classes.first_mut() {
        whole.get_or_insert_with(|| pass.no_classes());
    }
    let is_measured =
        |number: usize, people: u64| number < n_whole || (number < n_parts && people >= smallest);
    let mut evidence = vec![None; n];
    if let Some(wanted) = wanted {
        let numbered = gathered.iter().enumerate();
        let measured: Vec<Option<&CounterfactualCounts>> = numbered
            .map(|(number, part)| part.as_ref().filter(|c| is_measured(number, c.n_scored)))
            .collect();
        let add_to_passes = |passes: &mut [Option<ShiftPass>], g| {
            pass.rows(g, |row| {
                if let CountedRow::Sides(number, (key, person, cfs)) = row {
                    passes[number].iter_mut().for_each(|pass| pass.add(key, person, cfs));
                }
            })
        };
        let found = second_pass((passes, row_context), wanted, &measured, add_to_passes)?;
        let Some(found) = found else { return Ok(None) };
        evidence = found;
    }
    let (mut all, mut classes) = (gathered.into_iter().zip(evidence), classes.into_iter());
    let mut part = || {
        let sides = all.by_ref().take(n_whole);
        let sides = sides.filter_map(|(counts, shift)| Some((counts?, shift))).collect();
        SwitchEvidence { classes: classes.next().flatten(), sides }
    };
    let whole = part();
    let slices = (0..pass.n_slices()).map(|slice| (slice, part()));
    let slices = slices.filter(|(_, evidence)| !evidence.sides.is_empty()).collect();
    let folds = all.map(|(counts, _)| counts.unwrap_or_else(|| pass.empty(n_parts))).collect();
    Ok(Some(CountedSet { whole, slices, folds }))
}

/// The error that two passes over the same rows read different people: the files have changed.
fn other_people() -> Error {
    Error::operator(
        "count",
        "the counterfactuals",
        "a second pass over the rows saw other scores than the first",
        crate::error::FOLDER_CHANGED_HINT,
    )
}
