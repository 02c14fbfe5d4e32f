//! The value of a gate counted again, with the people who were not measured in cells: at worst, and
//! with some of them.

use std::collections::BTreeMap;
use std::mem::discriminant;
use std::ops::Range;

use super::value::{CellsOfSides, Computed, ValueOfCells};
use super::worst_case::{LackingPeople, WorstCase};
use crate::gate::decide_by::GateDecideBy;
use crate::gate::people::{
    PeopleTables, RowsByCell, STATES, WeighedRows, add, numbers, switch_cell,
};
use crate::gate::question::{GateCase, GateLimit};
use crate::gate::reason::Lack;
use crate::metric::evidence::person::ECCM_CELLS;
use crate::metric::interval::z_of_level;
use crate::metric::value::settings::FavourableClass;
use crate::metric::{GapTransform, Metric, Reads};
use crate::table::unsigned;

/// A value that is computed again is the one of the table up to this part of itself.
const SAME: f64 = 1e-6;

/// Weights are whole units; this is about the number for all people together.
const UNITS: f64 = (1_u64 << 48) as f64;

/// The people of a group on a side of a value.
struct PartOfSide<'a> {
    group: &'a str,
    rows: RowsByCell,
    /// How often a row counts there.
    repeats: u64,
    /// Those of them who are measured.
    measured: RowsByCell,
}

/// Whether the cells of a metric are the states of rows; else they are those of an extended matrix.
fn counts_rows(metric: &Metric) -> bool {
    matches!(metric.reads, Reads::Group(..))
}

/// The cells of a metric in which the people of a state may be.
fn cells_of(metric: &Metric, state: usize) -> Vec<usize> {
    let (label, predicted) = (state / 3, state % 3);
    let answers = [false, true].into_iter();
    let answers = answers.filter(|yes| predicted == 0 || *yes == (predicted == 2));
    if counts_rows(metric) {
        return answers.map(|yes| 3 * label + 1 + usize::from(yes)).collect();
    }
    let switches = answers.flat_map(|before| [false, true].map(|after| (before, after)));
    switches.map(|(before, after)| switch_cell(label, before, after)).collect()
}

/// People of one kind who were not measured, and the cells of a side in which each of them may be.
/// They may also be in none.
struct UnknownPeople {
    lack: Lack,
    rows: WeighedRows,
    /// How often a row counts there: once for each direction of a total.
    times: u64,
    places: Vec<(usize, usize)>,
}

/// One of these kinds, and the place that its people are in.
type PlacedPeople = (usize, (usize, usize));

/// What the value of a gate is counted again from.
pub(super) struct Recount<'a> {
    people: &'a PeopleTables<'a>,
    value: ValueOfCells,
    /// The people who are measured, by side.
    known: CellsOfSides,
    unknown: Vec<UnknownPeople>,
    /// Whether a person with a group counts once for each of several counterfactuals.
    of_decisions: bool,
    /// What a unit weighs.
    unit: f64,
    /// What these counts give for the value that is judged.
    base: Computed,
}

impl<'a> Recount<'a> {
    /// For a value with sides at these places; none where counts do not give them.
    fn new(
        people: &'a PeopleTables<'a>,
        sides: &[[&'a str; 3]],
        metric: &'static Metric,
        favourable: FavourableClass,
    ) -> Option<Self> {
        let mut measured = vec![RowsByCell::default(); sides.len()];
        let (mut unknown, mut of_decisions, mut times) = (Vec::new(), false, 1);
        let mut add_unknown = |lack, (rows, times), sides: Range<usize>, cells: &[usize]| {
            let on = |side| cells.iter().map(move |&cell| (side, cell));
            let places = sides.flat_map(on).collect();
            unknown.push(UnknownPeople { lack, rows, times, places });
        };
        let mut precision = Vec::new();
        for (side, place) in sides.iter().enumerate() {
            let (parts, precise) = parts_of(people, metric, *place)?;
            let mut told: BTreeMap<&str, u64> = BTreeMap::new();
            precision.push(precise);
            for part in &parts {
                add(&mut measured[side], &part.measured);
                for (state, rows) in part.rows.iter().enumerate().take(STATES) {
                    let (cells, mut there) = (cells_of(metric, state), WeighedRows::default());
                    let is_scored = state % 3 > 0;
                    let scored = cells.iter().filter(|_| is_scored);
                    scored.for_each(|&cell| there += part.measured[cell]);
                    let lack = if is_scored { Lack::Counterfactual } else { Lack::Score };
                    let lacking = rows.times_without(part.repeats, there);
                    *told.entry(part.group).or_default() += lacking.n;
                    add_unknown(lack, (lacking, 1), side..side + 1, &cells);
                }
                of_decisions |= part.repeats > 1;
            }
            // The most counterfactuals of a row may be more than their mean: the table of groups
            // has those without a score, of all sets and directions.
            let is_all = of_decisions && people.counted_groups().len() == 2 && people.is_only_set();
            for (group, told) in told.into_iter().filter(|_| is_all) {
                let row = people.group_row(group);
                let unscored = row.map_or(0, |row| unsigned(row.n_missing_counterfactual_score));
                let mut all = WeighedRows::default();
                people.rows_of(group)?.into_iter().for_each(|rows| all += rows);
                let n = unscored.saturating_sub(told);
                let weight = all.weight * n as f64 / all.n.max(1) as f64;
                let cells: Vec<usize> = (0..ECCM_CELLS).collect();
                let hidden = (WeighedRows { n, weight }, 1);
                add_unknown(Lack::Counterfactual, hidden, side..side + 1, &cells);
            }
            // In a total each direction of a group counts, and each counterfactual of a row.
            for of in &parts {
                let targets = parts.iter().filter(|part| part.group == of.group);
                times = times.max(targets.map(|part| part.repeats).sum());
            }
        }
        // A person without a group may be on any side.
        for (state, &rows) in people.ungrouped.iter().enumerate().take(STATES) {
            add_unknown(Lack::Group, (rows, times), 0..sides.len(), &cells_of(metric, state));
        }
        unknown.retain(|kind| kind.rows.n > 0);
        let all: f64 = measured.iter().flatten().map(|rows| rows.weight).sum::<f64>()
            + unknown.iter().map(|kind| kind.rows.weight * kind.times as f64).sum::<f64>();
        let unit = if people.is_weighed && all > 0.0 { all / UNITS } else { 1.0 };
        let in_units = |rows: WeighedRows| (rows.weight / unit).round() as u64;
        Some(Recount {
            people,
            value: ValueOfCells { metric, favourable, precision, z: people.case.observed.z() },
            known: CellsOfSides {
                rows: measured.iter().map(numbers).collect(),
                weights: measured.iter().map(|rows| rows.map(in_units)).collect(),
            },
            unknown,
            of_decisions: of_decisions || times > 1,
            unit,
            base: Computed { value: 0.0, ends: None },
        })
    }

    /// The value with some of the unknown people: each kind at a place, and how many.
    fn with(&self, filled: impl Iterator<Item = (PlacedPeople, u64)>) -> Option<Computed> {
        let mut all = self.known.clone();
        for ((kind, (side, cell)), n) in filled {
            let UnknownPeople { rows, times, .. } = &self.unknown[kind];
            let weight = rows.weight * (n as f64 / rows.n as f64) * *times as f64;
            all.rows[side][cell] += n * times;
            all.weights[side][cell] += (weight / self.unit).round() as u64;
        }
        let known = self.people.are_unequal().then_some(&self.known);
        self.value.of(&all, known)
    }

    /// The value with all of these.
    fn with_all(&self, placed: &[PlacedPeople]) -> Option<Computed> {
        self.with(placed.iter().map(|&(kind, place)| ((kind, place), self.unknown[kind].rows.n)))
    }

    /// The value of those who are known.
    fn of_known(&self) -> Option<Computed> {
        self.with_all(&[])
    }

    /// The end of a value that the gate would judge.
    fn judged(&self, computed: Computed) -> f64 {
        let GateCase { question, observed, .. } = self.people.case;
        let moved = computed.value - self.base.value;
        if question.decide_by == GateDecideBy::Estimate && !observed.is_change {
            return computed.value;
        }
        let end = self.people.case.end().unwrap_or(0.0);
        // Ratios, which have no upper bound, move also by their factor: the width of their
        // intervals is one of logarithms.
        let is_ratio = self.value.metric.range == (0.0, f64::INFINITY) && self.base.value > 0.0;
        let shifted = match computed.value / self.base.value {
            _ if moved == 0.0 => end,
            factor if is_ratio => question.limit.worse(end + moved, end * factor),
            _ => end + moved,
        };
        let by_people = question.decide_by == GateDecideBy::Interval && !observed.is_change;
        let facing = |ends| question.limit.facing(ends);
        let is_by_formula = self.base.ends.is_some_and(|ends| is_near(facing(ends), end));
        match computed.ends.map(facing).filter(|_| by_people) {
            Some(formula) if is_by_formula => formula,
            Some(formula) => question.limit.worse(formula, shifted),
            None => shifted,
        }
    }

    /// The unknown people at the places at which they do most harm to the limit; none where the
    /// value of those who are known is undefined.
    fn worst(&self) -> Option<Vec<PlacedPeople>> {
        let (limit, unknown) = (self.people.case.question.limit, &self.unknown);
        let standing = |at: &[Option<(usize, usize)>]| -> Vec<PlacedPeople> {
            at.iter().enumerate().filter_map(|(kind, place)| Some((kind, (*place)?))).collect()
        };
        let mut at = vec![None; unknown.len()];
        let mut worst = self.judged(self.of_known()?);
        // A rate moves one way with each of these people, whatever the others do.
        for _ in 0..4 {
            let before = at.clone();
            for (i, kind) in unknown.iter().enumerate() {
                for place in &kind.places {
                    let kept = at[i].replace(*place);
                    let tried = self.with_all(&standing(&at)).map(|tried| self.judged(tried));
                    match tried.filter(|end| limit.excess(*end) > limit.excess(worst)) {
                        Some(end) => worst = end,
                        None => at[i] = kept,
                    }
                }
            }
            if at == before {
                break;
            }
        }
        Some(standing(&at))
    }

    /// Its worst case; none where the value of those who are known is undefined.
    fn worst_case(self) -> Option<WorstCase<'a>> {
        let mut placed = self.worst()?;
        // First those who move the value most, each towards breaking the limit.
        let excess = |computed: Computed| self.people.case.question.limit.excess(computed.value);
        let known = excess(self.of_known()?);
        let gain = |one: &PlacedPeople| {
            let moved = self.with_all(&[*one]).map(|with| excess(with) - known);
            moved.map_or(0.0, |moved| moved / self.unknown[one.0].rows.n as f64)
        };
        placed.sort_by(|a, b| gain(b).total_cmp(&gain(a)));
        let (mut lacking, of_decisions) = (LackingPeople::new(), self.of_decisions);
        for (kind, _) in &placed {
            *lacking.entry(self.unknown[*kind].lack).or_default() += self.unknown[*kind].rows.n;
        }
        let with = move |n: u64| {
            let mut left = n;
            let first = placed.iter().map(|one| {
                let taken = left.min(self.unknown[one.0].rows.n);
                left -= taken;
                (*one, taken)
            });
            Some(self.judged(self.with(first)?))
        };
        Some(WorstCase { lacking, of_decisions, with: Box::new(with) })
    }
}

/// The worst case of a value, of several that of the furthest, which is no nearer to the ideal than
/// any of them. None where it is undefined for those who are known.
pub(super) fn worst_case<'a>(
    all: Vec<Recount<'a>>,
    metric: &'static Metric,
) -> Option<WorstCase<'a>> {
    let outer = outermost(metric);
    let is_furthest = all.get(1).is_some_and(|second| !second.people.case.observed.is_change);
    let ideal = metric.ideal.filter(|_| is_furthest);
    let each = all.into_iter().filter_map(Recount::worst_case);
    // The first of equal ones.
    let worst = each.reduce(|a, b| match a.end().zip(b.end()) {
        Some((first, second)) if outer.excess(second) > outer.excess(first) => b,
        _ => a,
    })?;
    let with = worst.with;
    let with = Box::new(move |n| {
        let end = with(n)?;
        Some(ideal.map_or(end, |ideal| outer.worse(end, ideal)))
    });
    Some(WorstCase { with, ..worst })
}

/// The side on which the furthest of several values lies: ratios run from the lowest to the highest,
/// distances from the highest to the lowest.
fn outermost(metric: &Metric) -> GateLimit {
    if metric.transform().is_some_and(GapTransform::is_ratio) {
        GateLimit::AtLeast(0.0)
    } else {
        GateLimit::AtMost(0.0)
    }
}

/// Each two groups, in both orders.
fn pairs<'a>(groups: &[&'a str]) -> Vec<[&'a str; 2]> {
    let all = groups.iter().flat_map(|from| groups.iter().map(move |to| [*from, *to]));
    all.filter(|[from, to]| from != to).collect()
}

/// The people of a side, and how precise a row is, where that is known: those of a group or of all
/// but another one, or the counterfactuals of directions. None where counts do not give them.
fn parts_of<'a>(
    people: &PeopleTables<'a>,
    metric: &'static Metric,
    place: [&'a str; 3],
) -> Option<(Vec<PartOfSide<'a>>, Option<f64>)> {
    let moved = |[group, to]: [&'a str; 2]| {
        let measured = people.moved(["direction", group, to])?;
        let (rows, repeats) = (people.rows_of(group)?, people.repeats(group, to));
        Some(PartOfSide { group, rows, repeats, measured })
    };
    let [scope, from, to] = place;
    let mut place = place;
    let parts = match (scope, counts_rows(metric)) {
        ("group" | "total", true) => {
            place = [scope, if from.is_empty() { to } else { from }, ""];
            let rows = people.side(from, to)?;
            let mut measured = rows;
            (0..STATES).step_by(3).for_each(|unscored| measured[unscored] = WeighedRows::default());
            vec![PartOfSide { group: "", rows, repeats: 1, measured }]
        }
        ("direction", false) => vec![moved([from, to])?],
        ("total", false) => {
            let all = pairs(&people.counted_groups()).into_iter();
            all.map(moved).collect::<Option<_>>()?
        }
        _ => return None,
    };
    Some((parts, people.precision(PeopleTables::base(metric), place)))
}

/// The places of the sides of a value; of the groups that are furthest apart for each two of them,
/// or for each group and the rest.
fn places_of<'a>(people: &PeopleTables<'a>, to_total: bool) -> Vec<Vec<[&'a str; 3]>> {
    let groups = people.counted_groups();
    match people.case.observed.place() {
        ["worst_case", ..] if to_total => {
            groups.iter().map(|of| vec![["group", *of, ""], ["group", "", *of]]).collect()
        }
        ["worst_case", ..] => {
            pairs(&groups).iter().map(|pair| pair.map(|of| ["group", of, ""]).to_vec()).collect()
        }
        ["pair" | "one_vs_rest", a, b] => vec![vec![["group", a, b], ["group", b, a]]],
        _ => vec![people.case.observed.sides()],
    }
}

/// What the value of a gate is counted again from, for each pair of groups of those that are
/// furthest apart; none where counts do not give it.
pub(super) fn recounts<'a>(
    people: &'a PeopleTables<'a>,
    metric: &'static Metric,
) -> Option<Vec<Recount<'a>>> {
    if !people.counts_tell_all() {
        return None;
    }
    let GateCase { question, observed, .. } = people.case;
    let to_total = metric.transform() == Some(GapTransform::ToTotal);
    let (outer, places) = (outermost(metric), places_of(people, to_total));
    let is_furthest = observed.place()[0] == "worst_case";
    let further = |a: Computed, b: Computed| {
        let ends = a.ends.zip(b.ends);
        let ends = ends.map(|(a, b)| (outer.worse(a.0, b.0), outer.worse(a.1, b.1)));
        Computed { value: outer.worse(a.value, b.value), ends }
    };
    let recount = |places: &[Vec<[&'a str; 3]>], favourable: FavourableClass| {
        let each = places.iter().map(|sides| Recount::new(people, sides, metric, favourable));
        let mut all = each.collect::<Option<Vec<Recount<'a>>>>()?;
        if is_furthest && discriminant(&outer) != discriminant(&question.limit) {
            // Towards the ideal the intervals of all of them hold together.
            let values = all.iter().filter(|recount| recount.of_known().is_some()).count();
            let gaps = values.max(2) as f64 / if to_total { 1.0 } else { 2.0 };
            let z = z_of_level(1.0 - (1.0 - observed.level()) / gaps);
            all.iter_mut().for_each(|recount| recount.value.z = z);
        }
        // A pair without a value, such as one with a group without measured people, cannot be
        // computed.
        let base = all.iter().filter_map(Recount::of_known).reduce(further)?;
        all.iter_mut().for_each(|recount| recount.base = base);
        is_near(base.value, people.value()?).then_some(all)
    };
    // A gap may be that of the other order, or of the other side of the decisions.
    use FavourableClass::{Negative, Positive};
    let [wanted, other] = match question.favourable {
        Some(Negative) => [Negative, Positive],
        _ => [Positive, Negative],
    };
    let is_gap = counts_rows(metric) && !is_furthest && places[0].len() == 2;
    let mut turned = places.clone();
    turned.iter_mut().for_each(|sides| sides.reverse());
    let orders = [(&places, wanted), (&turned, wanted), (&places, other), (&turned, other)];
    let mut orders = orders.into_iter().take(if is_gap { 4 } else { 1 });
    orders.find_map(|(places, favourable)| recount(places, favourable))
}

/// Whether a value that is computed again is the one of the table.
fn is_near(found: f64, value: f64) -> bool {
    (found - value).abs() <= SAME * value.abs().max(1.0)
}
