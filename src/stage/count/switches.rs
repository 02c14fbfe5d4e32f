//! The counterfactuals of one model, set and attribute, of everybody, of each slice, and of each
//! class against all others: counts and score sums in one pass, and where score metrics are wanted
//! a second one that knows the means of all scores (see
//! [`shift_pass`](crate::metric::evidence::shift_pass)).

use serde::{Deserialize, Serialize};

use crate::data::Layout;
use crate::data::rows::PreparedBatch;
use crate::error::{Error, Result};
use crate::exec::StageContext;
use crate::exec::accumulator::{Accumulator, merge_all, merge_present};
use crate::metric::evidence::class_counts::{ClassCounterfactual, ClassPerson};
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson};
use crate::metric::evidence::shift_pass::{ShiftEvidence, ShiftPass};
use crate::metric::evidence::switch_pass::{ChunkWorkspace, SwitchAccumulator};
use crate::metric::value::classes::SwitchClassCounts;
use crate::stage::count::classes::{ClassCountInputs, ClassScoredGroup, class_grid};
use crate::stage::count::evidence::{
    CountInputs, CountSettings, CountedFolds, ScoredGroup, check_weight_total, counting_unit,
    no_switches, score_grid,
};
use crate::stage::count::slices::{AttributeSlices, CounterfactualSlices};
use crate::stage::row_context::RowContext;
use crate::stage::sharding::share::{ShardPass, StagePasses};

/// The score metrics that are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShiftSettings {
    /// Whether they have intervals.
    pub(crate) intervals: bool,
}

/// One accumulator for everybody, for each slice or for each class; made where somebody is.
#[derive(Serialize, Deserialize)]
struct SwitchPart {
    all: Vec<Option<SwitchAccumulator>>,
    #[serde(skip)]
    room: ChunkWorkspace,
}

impl SwitchPart {
    fn new(n: usize) -> Self {
        SwitchPart {
            all: std::iter::repeat_with(|| None).take(n).collect(),
            room: ChunkWorkspace::new(),
        }
    }

    /// Adds a person to the accumulator with this number.
    fn add(
        &mut self,
        number: usize,
        nobody: impl FnOnce() -> CounterfactualCounts,
        (key, person, cfs): UnitRow<'_>,
    ) {
        let of = self.all[number].get_or_insert_with(|| SwitchAccumulator::new(nobody()));
        of.add(key, person, cfs, &mut self.room);
    }

    /// Lets nobody wait: of many slices together too many might.
    fn flush(&mut self) {
        self.all.iter_mut().flatten().for_each(|of| of.flush(&mut self.room));
    }

    fn merge(&mut self, other: Self) {
        merge_present(&mut self.all, other.all, Accumulator::merge);
    }

    /// The states that are not empty, by number.
    fn into_states(mut self) -> Vec<(u64, SwitchAccumulator)> {
        self.flush();
        (0..).zip(self.all).filter_map(|(number, of)| Some((number, of?))).collect()
    }
}

/// The counts under each of `n` numbers, and how many people have a pair of scores.
fn finished(
    states: Vec<(u64, SwitchAccumulator)>,
    n: usize,
) -> Vec<Option<(CounterfactualCounts, u64)>> {
    let mut room = ChunkWorkspace::new();
    by_number(states.into_iter().map(|(number, of)| (number, of.finish(&mut room))), n)
}

/// What has a number below `n`, by it.
fn by_number<T>(all: impl IntoIterator<Item = (u64, T)>, n: usize) -> Vec<Option<T>> {
    let mut found: Vec<Option<T>> = std::iter::repeat_with(|| None).take(n).collect();
    for (number, of) in all {
        if let Some(place) = usize::try_from(number).ok().and_then(|at| found.get_mut(at)) {
            *place = Some(of);
        }
    }
    found
}

/// A row with its counterfactuals and the key of its person.
type UnitRow<'a> = (u64, &'a ScoredPerson, &'a [ScoredCounterfactual]);

/// Adds a person to the second pass with this number; nobody where none is made.
fn add_again(passes: &mut [Option<ShiftPass>], number: usize, (key, person, cfs): UnitRow<'_>) {
    if let Some(pass) = &mut passes[number] {
        pass.add(key, person, cfs);
    }
}

/// The second pass over all rows for those counts of which score metrics are wanted, which are
/// `measured`; none in a shard, which ends with its states.
fn second_pass(
    (ctx, passes): (&StageContext<'_>, StagePasses<'_>),
    row_context: RowContext<'_>,
    wanted: ShiftSettings,
    measured: &[Option<&CounterfactualCounts>],
    add: impl Fn(&mut [Option<ShiftPass>], usize) -> Result<u64> + Sync,
) -> Result<Option<Vec<Option<ShiftEvidence>>>> {
    let start = |counts: &CounterfactualCounts| match wanted.intervals {
        true => counts.influence_pass(),
        false => counts.second_pass(),
    };
    let start: Vec<Option<ShiftPass>> = measured.iter().map(|of| of.map(start)).collect();
    let gather = || {
        let whole = row_context.row_groups().fold(
            || start.clone(),
            |part, g| {
                let rows = add(part, g)?;
                // Of many slices together too many might wait.
                part.iter_mut().flatten().for_each(ShiftPass::settle);
                Ok(rows)
            },
            |whole, part| merge_present(whole, part, Accumulator::merge),
        )?;
        Ok((0..).zip(whole).filter_map(|(number, of)| Some((number, of?))).collect())
    };
    let Some(states) = passes.gather(ctx, ShardPass::Shift, gather)? else { return Ok(None) };
    let found = by_number(states, measured.len()).into_iter().zip(measured);
    let evidence = found.map(|(pass, counts)| match (pass, counts) {
        (Some(pass), Some(counts)) if pass.is_of(counts) => Ok(Some(pass.into_evidence(counts))),
        (_, None) => Ok(None),
        _ => Err(other_people()),
    });
    evidence.collect::<Result<_>>().map(Some)
}

/// The counterfactuals of a label of two sides.
#[derive(Clone, Copy)]
struct SwitchPass<'a> {
    context: RowContext<'a>,
    scored: CountInputs<'a>,
    blocks: CountSettings,
    /// Number 0 is everybody, the slices follow.
    slices: Option<&'a AttributeSlices>,
    /// So many folds are behind the slices.
    n_folds: usize,
}

impl SwitchPass<'_> {
    fn layout(&self) -> &Layout {
        self.context.rows.layout()
    }

    /// Nobody of everybody, of a slice or of a fold. Folds have no curves.
    fn nobody(&self, number: usize) -> CounterfactualCounts {
        let n_slices = self.slices.map_or(0, AttributeSlices::len);
        let curves = self.blocks.curves && number <= n_slices;
        let grid = curves.then(|| score_grid(self.layout(), self.scored.rule));
        let none = no_switches(self.layout(), self.scored.attribute, grid);
        // The page draws the scores of everybody.
        if number == 0 { none.with_bins() } else { none }
    }

    /// Calls `each` with every row of a row group and each number that it belongs to.
    fn rows(&self, g: usize, mut each: impl FnMut(usize, UnitRow<'_>)) -> Result<u64> {
        let layout = self.layout();
        let attribute = &layout.attributes[self.scored.attribute];
        let group = ScoredGroup::read(self.context, self.scored, g)?;
        let batch: &PreparedBatch = &group.batch;
        let own = &batch.groups[self.scored.attribute];
        group.people(layout, attribute, own, |i, person, cfs| {
            let row = (batch.person_keys()[i], person, cfs);
            each(0, row);
            if let Some(slices) = self.slices {
                slices.each_of_row(layout, batch, i, |slice| each(1 + slice, row));
            }
            if let Some(last) = self.n_folds.checked_sub(1) {
                let fold = group.roles.audited(i).map_or(0, usize::from).min(last);
                each(1 + self.slices.map_or(0, AttributeSlices::len) + fold, row);
            }
        });
        Ok(batch.row.len() as u64)
    }

    fn gather(&self, n: usize) -> Result<Vec<(u64, SwitchAccumulator)>> {
        let add = |part: &mut SwitchPart, g| {
            let rows = self.rows(g, |number, row| part.add(number, || self.nobody(number), row))?;
            if self.slices.is_some() {
                part.flush();
            }
            Ok(rows)
        };
        let whole =
            self.context.row_groups().fold(|| SwitchPart::new(n), add, SwitchPart::merge)?;
        Ok(whole.into_states())
    }
}

/// What is counted apart, in the same pass.
#[derive(Clone, Copy)]
pub(crate) struct CountedParts<'a> {
    /// The slices.
    pub(crate) slices: Option<&'a AttributeSlices>,
    /// Slices of fewer people have no score metrics.
    pub(crate) smallest: u64,
    /// How many folds; one is everybody. Folds have no score metrics.
    pub(crate) n_folds: usize,
}

/// The counterfactuals of one model, set and attribute.
pub(crate) struct CountedSet {
    /// Of everybody, and fold by fold where folds are counted apart.
    pub(crate) counts: CountedFolds<CounterfactualCounts>,
    /// Score metrics of everybody.
    pub(crate) shift: Option<ShiftEvidence>,
    /// The same inside slices.
    pub(crate) slices: CounterfactualSlices,
}

/// Counts the counterfactuals of one model, set and attribute, with score metrics where they are
/// `wanted`; the same inside slices and folds. None in a shard, which ends with the states of a
/// pass.
///
/// # Errors
/// A file cannot be read, weights that outgrow their sums, or the run is to stop.
pub(crate) fn count_switches(
    (ctx, passes): (&StageContext<'_>, StagePasses<'_>),
    row_context: RowContext<'_>,
    scored: CountInputs<'_>,
    blocks: CountSettings,
    wanted: Option<ShiftSettings>,
    CountedParts { slices, smallest, n_folds }: CountedParts<'_>,
) -> Result<Option<CountedSet>> {
    check_weight_total(
        row_context.rows.layout(),
        scored.counterfactuals.n_rows().max(row_context.rows.layout().n_rows),
    )?;
    let n_folds = if n_folds > 1 { n_folds } else { 0 };
    let pass = SwitchPass { context: row_context, scored, blocks, slices, n_folds };
    let n_slices = slices.map_or(0, AttributeSlices::len);
    let n = 1 + n_slices + n_folds;
    let Some(states) = passes.gather(ctx, ShardPass::Count, || pass.gather(n))? else {
        return Ok(None);
    };
    let mut gathered = finished(states, n);
    gathered[0].get_or_insert_with(|| (pass.nobody(0), 0));
    let is_measured =
        |number: usize, people: u64| number == 0 || (number <= n_slices && people >= smallest);
    let mut evidence = vec![None; n];
    if let Some(wanted) = wanted {
        let numbered = gathered.iter().enumerate();
        let measured: Vec<Option<&CounterfactualCounts>> = numbered
            .map(|(number, of)| {
                let (counts, people) = of.as_ref()?;
                is_measured(number, *people).then_some(counts)
            })
            .collect();
        let again = |passes: &mut [Option<ShiftPass>], g| {
            pass.rows(g, |number, row| add_again(passes, number, row))
        };
        let found = second_pass((ctx, passes), row_context, wanted, &measured, again)?;
        let Some(found) = found else { return Ok(None) };
        evidence = found;
    }
    let mut all = gathered.into_iter().map(|of| of.map(|(counts, _)| counts)).zip(evidence);
    let (whole, shift) = all.next().unwrap_or_default();
    let whole = whole.unwrap_or_else(|| pass.nobody(0));
    let slices = (0..).zip(all.by_ref().take(n_slices));
    let slices = slices.filter_map(|(slice, (counts, shift))| Some((slice, counts?, shift)));
    let slices = CounterfactualSlices(slices.collect());
    let folds = all.map(|(counts, _)| counts.unwrap_or_else(|| pass.nobody(1))).collect();
    Ok(Some(CountedSet { counts: CountedFolds { whole, folds }, shift, slices }))
}

/// Two passes over the same rows saw other people: the files have changed in between.
fn other_people() -> Error {
    Error::operator(
        "count",
        "the counterfactuals",
        "a second pass over the rows saw other scores than the first",
        crate::error::FOLDER_CHANGED_HINT,
    )
}

/// The state of the counterfactuals of a label of several classes, whole and each class against all
/// others.
#[derive(Serialize, Deserialize)]
pub(crate) struct ClassSwitchAccumulator {
    counts: SwitchClassCounts,
    one_vs_rest: SwitchPart,
}

impl ClassSwitchAccumulator {
    /// Nobody yet; `none` are the empty counts of this number of classes.
    pub(crate) fn new(none: SwitchClassCounts) -> Self {
        let n_classes = none.classes();
        ClassSwitchAccumulator { counts: none, one_vs_rest: SwitchPart::new(n_classes) }
    }

    /// Adds a person; `nobody` are the empty counts of a class against all others.
    pub(crate) fn add(
        &mut self,
        nobody: impl Fn() -> CounterfactualCounts,
        (key, person, cfs): KeyedClassRow<'_>,
    ) {
        self.counts.add_classes(key, person, cfs);
        let (classes, part) = (self.counts.classes(), &mut self.one_vs_rest);
        each_vs_rest(classes, (key, person, cfs), |class, row| part.add(class, &nobody, row));
    }
}

/// A row of a label of several classes with its counterfactuals and the key of its person.
type KeyedClassRow<'a> = (u64, &'a ClassPerson<'a>, &'a [ClassCounterfactual<'a>]);

/// Calls `each` with every class and the row as one of a label of two sides.
fn each_vs_rest(
    classes: usize,
    (key, person, cfs): KeyedClassRow<'_>,
    mut each: impl FnMut(usize, UnitRow<'_>),
) {
    let mut moved: Vec<ScoredCounterfactual> = Vec::with_capacity(cfs.len());
    for class in 0..classes {
        moved.clear();
        moved.extend(cfs.iter().map(|cf| cf.one_vs_rest(class)));
        each(class, (key, &person.one_vs_rest(class), moved.as_slice()));
    }
}

impl Accumulator for ClassSwitchAccumulator {
    fn merge(&mut self, other: Self) {
        self.counts.merge(other.counts);
        self.one_vs_rest.merge(other.one_vs_rest);
    }

    fn settle(&mut self) {
        self.one_vs_rest.all.iter_mut().flatten().for_each(Accumulator::settle);
    }
}

/// The counterfactuals of a label of several classes.
#[derive(Clone, Copy)]
struct ClassSwitchPass<'a> {
    context: RowContext<'a>,
    scored: ClassCountInputs<'a>,
    blocks: CountSettings,
    n_classes: usize,
}

impl ClassSwitchPass<'_> {
    fn nobody(&self) -> CounterfactualCounts {
        let layout = self.context.rows.layout();
        let grid = self.blocks.curves.then(|| class_grid(layout));
        no_switches(layout, self.scored.attribute, grid)
    }

    fn empty(&self) -> ClassSwitchAccumulator {
        let layout = self.context.rows.layout();
        let n_groups = layout.attributes[self.scored.attribute].groups.len();
        let none = SwitchClassCounts::new(self.n_classes, n_groups);
        let unit = counting_unit(layout);
        ClassSwitchAccumulator::new(none.counted_by(unit))
    }

    /// Calls `each` with every row of a row group.
    fn rows(&self, g: usize, mut each: impl FnMut(KeyedClassRow<'_>)) -> Result<u64> {
        let group = ClassScoredGroup::read_classes(self.context, self.scored, g)?;
        let layout = self.context.rows.layout();
        group.people(layout, self.scored.attribute, |key, person, cfs| each((key, person, cfs)));
        Ok(group.batch.row.len() as u64)
    }

    fn gather(&self) -> Result<Vec<(u64, ClassSwitchAccumulator)>> {
        let add = |part: &mut ClassSwitchAccumulator, g| {
            self.rows(g, |row| part.add(|| self.nobody(), row))
        };
        Ok(vec![(0, self.context.row_groups().gather(|| self.empty(), add)?)])
    }

    fn add_again(&self, passes: &mut [Option<ShiftPass>], g: usize) -> Result<u64> {
        self.rows(g, |row| {
            each_vs_rest(self.n_classes, row, |class, row| add_again(passes, class, row));
        })
    }

    /// What was gathered: the counts, and what each class against all others gave.
    fn finished(
        &self,
        states: Vec<(u64, ClassSwitchAccumulator)>,
    ) -> (SwitchClassCounts, Vec<CounterfactualCounts>) {
        let whole = merge_all(states.into_iter().map(|(_, state)| state));
        let whole = whole.unwrap_or_else(|| self.empty());
        let classes = finished(whole.one_vs_rest.into_states(), self.n_classes).into_iter();
        let counts = |of: Option<(CounterfactualCounts, u64)>| {
            of.map_or_else(|| self.nobody(), |(counts, _)| counts)
        };
        (whole.counts, classes.map(counts).collect())
    }
}

/// The same for a label of several classes: each class against all others is a label of two sides.
///
/// # Errors
/// As [`count_switches`].
pub(crate) fn count_class_switches(
    (ctx, passes): (&StageContext<'_>, StagePasses<'_>),
    row_context: RowContext<'_>,
    scored: ClassCountInputs<'_>,
    blocks: CountSettings,
    wanted: Option<ShiftSettings>,
) -> Result<Option<(SwitchClassCounts, Option<Vec<ShiftEvidence>>)>> {
    let layout = row_context.rows.layout();
    check_weight_total(layout, scored.counterfactuals.n_rows().max(layout.n_rows))?;
    let n_classes = layout.label.as_ref().map_or(0, |label| label.classes.len());
    let pass = ClassSwitchPass { context: row_context, scored, blocks, n_classes };
    let Some(states) = passes.gather(ctx, ShardPass::Count, || pass.gather())? else {
        return Ok(None);
    };
    let (counts, one_vs_rest) = pass.finished(states);
    let mut evidence = None;
    if let Some(wanted) = wanted {
        let measured: Vec<_> = one_vs_rest.iter().map(Some).collect();
        let again = |passes: &mut [Option<ShiftPass>], g| pass.add_again(passes, g);
        let found = second_pass((ctx, passes), row_context, wanted, &measured, again)?;
        let Some(found) = found else { return Ok(None) };
        evidence = Some(found.into_iter().flatten().collect());
    }
    Ok(Some((counts.with_one_vs_rest(one_vs_rest), evidence)))
}
