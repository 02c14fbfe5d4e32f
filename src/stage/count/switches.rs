//! The counterfactuals of one model, set and attribute in one pass: counts, score sums and what
//! intervals are drawn from, of everybody, of each slice, and of each class against all others.
//!
//! The divergence needs the balance of all scores before the first term (see
//! [`redraw`](crate::metric::bootstrap::redraw)). It is estimated by a separate step
//! ([`SwitchPass::gather_first`]) from the first [`LEARN_ROWS`] audited rows: the same rows
//! regardless of the number of threads or parts and however rows are cut into groups. Where they
//! are all rows, the balance is exact. The few cases in which one pass does not do are passed over
//! again: an estimate that is too far off, a direction that the first rows do not have, and a slice
//! of more people than are kept one by one.

use serde::{Deserialize, Serialize};

use crate::data::Layout;
use crate::data::rows::PreparedBatch;
use crate::data::rows::split::RowRoles;
use crate::error::{Error, Result};
use crate::exec::StageContext;
use crate::exec::accumulator::{Accumulator, merge_all, merge_present};
use crate::metric::bootstrap::redraw::{
    ChunkWorkspace, GatheredScores, GatheredSwitches, MAX_SINGLE_PEOPLE, ScoreBalances,
    ScoreKeeping, ShiftBootstrap, ShiftEvidence, ShiftIntervals, SwitchAccumulator,
    most_single_in_slice,
};
use crate::metric::evidence::class_counts::{ClassCounterfactual, ClassPerson};
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson};
use crate::metric::value::classes::SwitchClassCounts;
use crate::param::{Count, Level, Seed};
use crate::stage::count::classes::{ClassCountInputs, ClassScoredGroup, class_grid};
use crate::stage::count::evidence::{
    CountInputs, CountSettings, CountedFolds, ScoredGroup, check_weight_total, counting_unit,
    no_switches,
};
use crate::stage::count::slices::{AttributeSlices, CounterfactualSlices};
use crate::stage::row_context::RowContext;
use crate::stage::sharding::share::{ShardPass, StagePasses};

/// Audited rows, the first of all, from which balances are estimated.
pub(crate) const LEARN_ROWS: u64 = 65_536;

/// The intervals that are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IntervalSettings {
    /// Their level.
    pub(crate) level: Level,
    /// Replicates of people.
    pub(crate) samples: Count,
    /// Seed of the job.
    pub(crate) seed: Seed,
}

/// The score metrics that are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShiftSettings {
    /// Their intervals, if any.
    pub(crate) intervals: Option<IntervalSettings>,
}

impl ShiftSettings {
    fn seed(self) -> Option<Seed> {
        self.intervals.map(|intervals| intervals.seed)
    }
}

/// Counts and score metrics of the same people.
pub(crate) type CountedSwitches = (CounterfactualCounts, Option<ShiftEvidence>);

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

    /// Adds a person to the accumulator with this number, unless nothing is kept there.
    fn add(
        &mut self,
        number: usize,
        keep: &[Option<ScoreKeeping>],
        nobody: impl FnOnce() -> CounterfactualCounts,
        (key, person, cfs): (u64, &ScoredPerson, &[ScoredCounterfactual]),
    ) {
        let Some(keep) = &keep[number] else { return };
        let of = self.all[number].get_or_insert_with(|| SwitchAccumulator::new(nobody(), keep));
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

/// What was gathered under each of `n` numbers.
fn finished(states: Vec<(u64, SwitchAccumulator)>, n: usize) -> Vec<Option<GatheredSwitches>> {
    let mut room = ChunkWorkspace::new();
    let mut all: Vec<Option<GatheredSwitches>> = std::iter::repeat_with(|| None).take(n).collect();
    for (number, of) in states {
        if let Some(place) = usize::try_from(number).ok().and_then(|number| all.get_mut(number)) {
            *place = Some(of.finish(&mut room));
        }
    }
    all
}

/// The first rows of the audited set in a row group, of which so many are still wanted: where they
/// end, and how many they are.
fn first_audited(roles: &RowRoles, wanted: u64) -> (usize, u64) {
    let mut found = 0;
    for i in 0..roles.0.len() {
        if found == wanted {
            return (i, found);
        }
        found += u64::from(roles.audited(i).is_some());
    }
    (roles.0.len(), found)
}

/// Calls `add` for the row groups that hold the first audited rows, with where these end.
fn first_rows(
    row_context: RowContext<'_>,
    mut add: impl FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    // Rows of earlier shards are theirs to add.
    let mut wanted = LEARN_ROWS.saturating_sub(row_context.roles.n_before());
    for g in 0..row_context.rows.n_groups() {
        if wanted == 0 {
            break;
        }
        (row_context.watch.check)()?;
        let (end, found) = first_audited(&row_context.roles.read(g)?, wanted);
        add(g, end)?;
        wanted -= found;
    }
    Ok(())
}

/// What to keep of the scores of all audited rows; balances are learnt where they are needed. None
/// in a shard that ends with what it learnt.
fn keeping(
    row_context: RowContext<'_>,
    wanted: Option<ShiftSettings>,
    n: usize,
    learn: impl FnOnce() -> Result<Option<Vec<ScoreBalances>>>,
) -> Result<Option<Vec<Option<ScoreKeeping>>>> {
    let all = match wanted.map(ShiftSettings::seed) {
        None => vec![ScoreKeeping::Nothing; n],
        Some(Some(_)) if row_context.roles.n_audited() <= MAX_SINGLE_PEOPLE => {
            vec![ScoreKeeping::Pairs; n]
        }
        Some(seed) => {
            let Some(balances) = learn()? else { return Ok(None) };
            let keep = |balances| match seed {
                None => ScoreKeeping::Sums(balances),
                Some(seed) => ScoreKeeping::Blocks(balances, seed),
            };
            balances.into_iter().map(keep).collect()
        }
    };
    Ok(Some(all.into_iter().map(Some).collect()))
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
        let blocks = CountSettings { curves, ..self.blocks };
        let none = no_switches(self.layout(), self.scored, blocks);
        // The page draws the scores of everybody.
        if number == 0 { none.with_bins() } else { none }
    }

    /// Adds the rows of a row group before the position `end`.
    fn add(
        &self,
        part: &mut SwitchPart,
        keep: &[Option<ScoreKeeping>],
        g: usize,
        end: usize,
    ) -> Result<u64> {
        let layout = self.layout();
        let attribute = &layout.attributes[self.scored.attribute];
        let group = ScoredGroup::read(self.context, self.scored, g)?;
        let batch: &PreparedBatch = &group.batch;
        let own = &batch.groups[self.scored.attribute];
        group.people(layout, attribute, own, |i, person, cfs| {
            if i >= end {
                return;
            }
            let person = (batch.person_keys()[i], person, cfs);
            part.add(0, keep, || self.nobody(0), person);
            if let Some(slices) = self.slices {
                slices.each_of_row(layout, batch, i, |slice| {
                    part.add(1 + slice, keep, || self.nobody(1 + slice), person);
                });
            }
            if let Some(last) = self.n_folds.checked_sub(1) {
                let fold = group.roles.audited(i).map_or(0, usize::from).min(last);
                let number = 1 + self.slices.map_or(0, AttributeSlices::len) + fold;
                part.add(number, keep, || self.nobody(number), person);
            }
        });
        if self.slices.is_some() {
            part.flush();
        }
        Ok(batch.row.len() as u64)
    }

    fn gather(&self, keep: &[Option<ScoreKeeping>]) -> Result<Vec<(u64, SwitchAccumulator)>> {
        let whole = self.context.row_groups().fold(
            || SwitchPart::new(keep.len()),
            |part, g| self.add(part, keep, g, usize::MAX),
            SwitchPart::merge,
        )?;
        Ok(whole.into_states())
    }

    /// The first rows, from which balances are estimated.
    fn gather_first(&self) -> Result<Vec<(u64, CounterfactualCounts)>> {
        let mut part = SwitchPart::new(1);
        let pass = SwitchPass { slices: None, n_folds: 0, ..*self };
        first_rows(self.context, |g, end| {
            pass.add(&mut part, &[Some(ScoreKeeping::Nothing)], g, end).map(|_| ())
        })?;
        let counted = finished(part.into_states(), 1).into_iter().flatten();
        Ok((0..).zip(counted.map(|of| of.counts)).collect())
    }

    /// The balances of the first rows.
    fn balances(&self, first: Vec<(u64, CounterfactualCounts)>) -> Vec<ScoreBalances> {
        let first = merge_all(first.into_iter().map(|(_, counts)| counts));
        vec![ScoreBalances::of(&first.unwrap_or_else(|| self.nobody(0)))]
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
    let learn = || {
        let first = passes.gather(ctx, ShardPass::Learn, || pass.gather_first())?;
        Ok(first.map(|first| pass.balances(first)))
    };
    let Some(mut keep) = keeping(row_context, wanted, 1, learn)? else { return Ok(None) };
    let of_slice = if wanted.is_some() { ScoreKeeping::Pairs } else { ScoreKeeping::Nothing };
    let n_slices = slices.map_or(0, AttributeSlices::len);
    keep.extend(std::iter::repeat_n(Some(of_slice), n_slices));
    keep.extend(std::iter::repeat_n(Some(ScoreKeeping::Nothing), n_folds));
    // A person with several rows is one of few: blocks would tell too few persons apart.
    let most_in_slice = match row_context.rows.layout().person {
        Some(_) => MAX_SINGLE_PEOPLE,
        None => {
            let intervals = wanted.and_then(|wanted| wanted.intervals);
            let level = intervals.map_or(Level::DEFAULT, |intervals| intervals.level);
            most_single_in_slice(pass.nobody(0).groups(), level)
        }
    };
    let measured = |number: usize, people: u64| match number {
        0 => Some(MAX_SINGLE_PEOPLE),
        _ => (number <= n_slices && people >= smallest).then_some(most_in_slice),
    };
    let Some(states) = passes.gather(ctx, ShardPass::Count, || pass.gather(&keep))? else {
        return Ok(None);
    };
    let again = |again: &[Option<ScoreKeeping>]| {
        let states = passes.gather(ctx, ShardPass::Shift, || pass.gather(again))?;
        Ok(states.map(|states| finished(states, again.len())))
    };
    let gathered = finished(states, keep.len());
    let Some(found) = second(row_context, wanted, gathered, measured, again)? else {
        return Ok(None);
    };
    let mut found = found.into_iter();
    let whole = found.next().flatten().unwrap_or_else(|| (pass.nobody(0), None));
    let slices = (0..).zip(found.by_ref().take(n_slices)).filter_map(|(slice, of)| {
        let (counts, evidence) = of?;
        Some((slice, counts, evidence))
    });
    let slices = CounterfactualSlices(slices.collect());
    let folds = found.map(|of| of.map_or_else(|| pass.nobody(1), |(counts, _)| counts)).collect();
    // Nobody has a group: there is nothing to divide, and everything is known at once.
    let (whole, shift) = match (whole, wanted) {
        ((counts, None), Some(wanted)) => {
            let evidence = evidence_of_nobody(row_context, pass.nobody(0), wanted)?;
            (counts, Some(evidence.ok_or_else(other_people)?))
        }
        (whole, _) => whole,
    };
    Ok(Some(CountedSet { counts: CountedFolds { whole, folds }, shift, slices }))
}

/// The score metrics of nobody.
fn evidence_of_nobody(
    row_context: RowContext<'_>,
    nobody: CounterfactualCounts,
    wanted: ShiftSettings,
) -> Result<Option<ShiftEvidence>> {
    let keep = ScoreKeeping::again(&nobody, wanted.seed());
    let nobody = SwitchAccumulator::new(nobody, &keep).finish_now();
    let (counts, scores) = nobody.second(wanted.intervals.is_some());
    let most = MAX_SINGLE_PEOPLE;
    scores.map(|scores| draw_evidence(row_context, &counts, scores, wanted, most)).transpose()
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

/// The score metrics of what was gathered; `again` makes another pass over those that need more
/// than one. `measured` says how many people with this number are drawn one by one at most; none
/// where score metrics of so many people are not wanted. None where `again` gives none.
fn second(
    row_context: RowContext<'_>,
    wanted: Option<ShiftSettings>,
    gathered: Vec<Option<GatheredSwitches>>,
    measured: impl Fn(usize, u64) -> Option<u64>,
    again: impl FnOnce(&[Option<ScoreKeeping>]) -> Result<Option<Vec<Option<GatheredSwitches>>>>,
) -> Result<Option<Vec<Option<CountedSwitches>>>> {
    let mut keep = vec![None; gathered.len()];
    let mut scores = Vec::with_capacity(gathered.len());
    let mut found: Vec<Option<CountedSwitches>> = Vec::with_capacity(gathered.len());
    for (number, of) in gathered.into_iter().enumerate() {
        let people = of.as_ref().map_or(0, |of| of.people);
        let most_single = measured(number, people);
        let (counts, summed) = match (of, wanted.filter(|_| most_single.is_some())) {
            (None, _) => (None, None),
            (Some(of), None) => (Some(of.counts), None),
            (Some(of), Some(wanted)) => {
                let (counts, summed) = of.second(wanted.intervals.is_some());
                if summed.is_none() {
                    keep[number] = Some(ScoreKeeping::again(&counts, wanted.seed()));
                }
                (Some(counts), summed)
            }
        };
        found.push(counts.map(|counts| (counts, None)));
        scores.push((summed, most_single.unwrap_or(MAX_SINGLE_PEOPLE)));
    }
    let Some(wanted) = wanted else { return Ok(Some(found)) };
    let mut later: Vec<Option<GatheredSwitches>> = Vec::new();
    if keep.iter().any(Option::is_some) {
        let Some(gathered) = again(&keep)? else { return Ok(None) };
        later = gathered;
    }
    later.resize_with(found.len(), || None);
    for ((found, (scores, most)), later) in found.iter_mut().zip(scores).zip(later) {
        let Some((counts, evidence)) = found else { continue };
        *evidence = match (scores, later) {
            (Some(scores), _) => Some(draw_evidence(row_context, counts, scores, wanted, most)?),
            (None, None) => None,
            (None, Some(later)) => {
                let (counts, scores) = later.second(wanted.intervals.is_some());
                let scores = scores.ok_or_else(other_people)?;
                Some(draw_evidence(row_context, &counts, scores, wanted, most)?)
            }
        };
    }
    Ok(Some(found))
}

/// Score metrics with their intervals, drawn one by one of at most `most_single` people.
fn draw_evidence(
    row_context: RowContext<'_>,
    counts: &CounterfactualCounts,
    scores: GatheredScores,
    wanted: ShiftSettings,
    most_single: u64,
) -> Result<ShiftEvidence> {
    let Some(intervals) = wanted.intervals else {
        return Ok(ShiftEvidence { second: scores.second_pass(counts), intervals: None });
    };
    let IntervalSettings { level, samples, seed } = intervals;
    let scores = scores.in_blocks_above(most_single, counts, seed);
    let second = scores.second_pass(counts);
    let redraw = match &scores {
        GatheredScores::Pairs(pairs) => ShiftBootstrap::of_people(pairs, &second, samples, seed),
        GatheredScores::Blocks(_, blocks) => ShiftBootstrap::of_blocks(blocks, &second, seed),
    };
    let intervals = Some(draw(row_context, &redraw, counts, level)?);
    Ok(ShiftEvidence { second, intervals })
}

fn draw(
    row_context: RowContext<'_>,
    redraw: &ShiftBootstrap<'_>,
    counts: &CounterfactualCounts,
    level: Level,
) -> Result<ShiftIntervals> {
    let mut tiles = Vec::with_capacity(redraw.n_tiles());
    row_context.pieces(redraw.n_tiles()).in_order(
        |number| Ok((0, redraw.tile(number))),
        |_, tile| {
            tiles.push(tile);
            Ok(())
        },
    )?;
    Ok(redraw.intervals(&tiles, counts, level))
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

    /// Adds a person; `keep` says for each class what is kept of its scores, and `nobody` are the
    /// empty counts of a class against all others.
    pub(crate) fn add(
        &mut self,
        keep: &[Option<ScoreKeeping>],
        nobody: impl Fn() -> CounterfactualCounts,
        (key, person, cfs): (u64, &ClassPerson<'_>, &[ClassCounterfactual<'_>]),
    ) {
        self.counts.add_classes(key, person, cfs);
        let mut moved: Vec<ScoredCounterfactual> = Vec::with_capacity(cfs.len());
        for class in 0..self.counts.classes() {
            moved.clear();
            moved.extend(cfs.iter().map(|cf| cf.one_vs_rest(class)));
            let one = person.one_vs_rest(class);
            self.one_vs_rest.add(class, keep, &nobody, (key, &one, moved.as_slice()));
        }
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
        let n_groups = layout.attributes[self.scored.attribute].groups.len();
        let unit = counting_unit(layout);
        let none = CounterfactualCounts::new(n_groups).counted_by(unit);
        match self.blocks.curves {
            true => none.with_grid(class_grid(layout)),
            false => none,
        }
    }

    fn empty(&self) -> ClassSwitchAccumulator {
        let layout = self.context.rows.layout();
        let n_groups = layout.attributes[self.scored.attribute].groups.len();
        let none = SwitchClassCounts::new(self.n_classes, n_groups);
        let unit = counting_unit(layout);
        ClassSwitchAccumulator::new(none.counted_by(unit))
    }

    /// Adds the rows of a row group before the position `end`.
    fn add(
        &self,
        part: &mut ClassSwitchAccumulator,
        keep: &[Option<ScoreKeeping>],
        g: usize,
        end: usize,
    ) -> Result<u64> {
        let group = ClassScoredGroup::read(self.context, self.scored, g)?;
        let each =
            |i: usize, key: u64, person: &ClassPerson<'_>, cfs: &[ClassCounterfactual<'_>]| {
                if i < end {
                    part.add(keep, || self.nobody(), (key, person, cfs));
                }
            };
        group.people(self.context.rows.layout(), self.scored.attribute, each);
        Ok(group.len() as u64)
    }

    fn gather(&self, keep: &[Option<ScoreKeeping>]) -> Result<Vec<(u64, ClassSwitchAccumulator)>> {
        let add = |part: &mut _, g| self.add(part, keep, g, usize::MAX);
        Ok(vec![(0, self.context.row_groups().gather(|| self.empty(), add)?)])
    }

    /// What was gathered: the counts, and what each class against all others gave.
    fn finished(
        &self,
        states: Vec<(u64, ClassSwitchAccumulator)>,
    ) -> (SwitchClassCounts, Vec<Option<GatheredSwitches>>) {
        let whole = merge_all(states.into_iter().map(|(_, state)| state));
        let whole = whole.unwrap_or_else(|| self.empty());
        (whole.counts, finished(whole.one_vs_rest.into_states(), self.n_classes))
    }

    /// The first rows, from which the balances of each class are estimated.
    fn gather_first(&self) -> Result<Vec<(u64, CounterfactualCounts)>> {
        let mut part = self.empty();
        let keep = vec![Some(ScoreKeeping::Nothing); self.n_classes];
        first_rows(self.context, |g, end| self.add(&mut part, &keep, g, end).map(|_| ()))?;
        let counted = self.finished(vec![(0, part)]).1.into_iter();
        Ok((0..).zip(counted).filter_map(|(class, of)| Some((class, of?.counts))).collect())
    }

    /// The balances of the first rows, class by class.
    fn balances(&self, first: Vec<(u64, CounterfactualCounts)>) -> Vec<ScoreBalances> {
        let mut by_class = vec![self.nobody(); self.n_classes];
        for (class, counts) in first {
            let place = usize::try_from(class).ok().and_then(|class| by_class.get_mut(class));
            place.into_iter().for_each(|place| place.clone_from(&counts));
        }
        by_class.iter().map(ScoreBalances::of).collect()
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
    let learn = || {
        let first = passes.gather(ctx, ShardPass::Learn, || pass.gather_first())?;
        Ok(first.map(|first| pass.balances(first)))
    };
    let Some(keep) = keeping(row_context, wanted, n_classes, learn)? else { return Ok(None) };
    let Some(states) = passes.gather(ctx, ShardPass::Count, || pass.gather(&keep))? else {
        return Ok(None);
    };
    let (counts, gathered) = pass.finished(states);
    let again = |again: &[Option<ScoreKeeping>]| {
        let states = passes.gather(ctx, ShardPass::Shift, || pass.gather(again))?;
        Ok(states.map(|states| pass.finished(states).1))
    };
    let Some(found) = second(row_context, wanted, gathered, |_, _| Some(MAX_SINGLE_PEOPLE), again)?
    else {
        return Ok(None);
    };
    let (mut one_vs_rest, mut evidence) = (Vec::new(), Vec::new());
    for of in found {
        let (counts, shift) = of.unwrap_or_else(|| (pass.nobody(), None));
        // Of nobody everything is known at once.
        let shift = match (shift, wanted) {
            (None, Some(wanted)) => evidence_of_nobody(row_context, pass.nobody(), wanted)?,
            (shift, _) => shift,
        };
        one_vs_rest.push(counts);
        evidence.extend(shift);
    }
    Ok(Some((counts.with_one_vs_rest(one_vs_rest), wanted.map(|_| evidence))))
}
