//! The value of a gate counted again, with the people who were not measured in cells: at worst, and
//! with some of them.

use std::collections::BTreeSet;
use std::mem::discriminant;

use super::value::{CellsOfSide, Computed, ValueOfCells};
use super::worst_case::{LackingPeople, WorstCase};
use crate::gate::decide_by::GateDecideBy;
use crate::gate::people::{
    PeopleTables, RowsByCell, RowsByState, WeighedRows, add, numbers, switch_cell,
};
use crate::gate::question::{GateCase, GateLimit};
use crate::gate::reason::Lack;
use crate::metric::interval::z_of_level;
use crate::metric::value::settings::FavourableClass;
use crate::metric::{GapTransform, Metric, Reads};

/// A value that is computed again is the one of the table up to this part of itself.
const SAME: f64 = 1e-6;

/// Weights are whole units; this is about the number for all people together.
const UNITS: f64 = (1_u64 << 48) as f64;

/// The people on a side of a value, and how precise a row is, where that is known.
#[derive(Clone)]
struct PeopleOfSide<'a> {
    parts: Vec<PartOfSide<'a>>,
    precision: Option<f64>,
}

/// The people of a group on a side of a value.
#[derive(Clone)]
struct PartOfSide<'a> {
    group: &'a str,
    rows: RowsByState,
    /// How often a row counts there.
    repeats: u64,
    /// Those of them who are measured.
    measured: RowsByCell,
}

impl<'a> PeopleOfSide<'a> {
    /// Rows as they are.
    fn of_rows(rows: RowsByState, precision: Option<f64>) -> Self {
        let mut measured = RowsByCell::default();
        for state in (0..9).filter(|state| state % 3 > 0) {
            measured[state] = rows[state];
        }
        let all = PartOfSide { group: "", rows, repeats: 1, measured };
        PeopleOfSide { parts: vec![all], precision }
    }

    /// The counterfactuals of directions, from one group to another; none where the table of counts
    /// does not say.
    fn of_directions(
        people: &PeopleTables<'_>,
        directions: &[(&'a str, &'a str)],
        precision: Option<f64>,
    ) -> Option<Self> {
        let part = |&(group, to): &(&'a str, &'a str)| {
            let (rows, measured) = (people.rows_of(group)?, people.moved(group, to)?);
            Some(PartOfSide { group, rows, repeats: people.repeats(group, to), measured })
        };
        let parts = directions.iter().map(part).collect::<Option<_>>()?;
        Some(PeopleOfSide { parts, precision })
    }
}

/// Whether the cells of a metric are the states of rows; else they are those of an extended matrix.
fn counts_rows(metric: &Metric) -> bool {
    matches!(metric.reads, Reads::Group(..))
}

/// The cells of a metric in which the people of a state may be.
fn cells_of(metric: &Metric, state: usize) -> Vec<usize> {
    let (label, predicted) = (state / 3, state % 3);
    let answers: &[bool] = match predicted {
        0 => &[false, true],
        1 => &[false],
        _ => &[true],
    };
    if counts_rows(metric) {
        return answers.iter().map(|&yes| 3 * label + 1 + usize::from(yes)).collect();
    }
    let switches = answers.iter().flat_map(|&before| [false, true].map(|after| (before, after)));
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

/// What the value of a gate is counted again from.
pub(super) struct Recount<'a> {
    people: &'a PeopleTables<'a>,
    value: ValueOfCells,
    /// The people who are measured, by side.
    known: Vec<CellsOfSide>,
    unknown: Vec<UnknownPeople>,
    /// Whether a person with a group counts once for each of several counterfactuals.
    of_decisions: bool,
    /// What a unit weighs.
    unit: f64,
    /// What these counts give for the value that is judged.
    base: Computed,
}

impl<'a> Recount<'a> {
    fn new(
        people: &'a PeopleTables<'a>,
        sides: &[PeopleOfSide<'_>],
        metric: &'static Metric,
        favourable: FavourableClass,
    ) -> Self {
        let (mut measured, mut unknown) = (Vec::new(), Vec::new());
        for (side, PeopleOfSide { parts, .. }) in sides.iter().enumerate() {
            let mut all = RowsByCell::default();
            for part in parts {
                add(&mut all, &part.measured);
                for (state, rows) in part.rows.iter().enumerate() {
                    let cells = cells_of(metric, state);
                    let mut there = WeighedRows::default();
                    let lack = match state % 3 {
                        0 => Lack::Score,
                        _ => {
                            cells.iter().for_each(|&cell| there += part.measured[cell]);
                            Lack::Counterfactual
                        }
                    };
                    let rows = rows.times_without(part.repeats, there);
                    let places = cells.into_iter().map(|cell| (side, cell)).collect();
                    unknown.push(UnknownPeople { lack, rows, times: 1, places });
                }
            }
            measured.push(all);
        }
        // In a total each direction of a group counts.
        let targets = sides.iter().map(|PeopleOfSide { parts, .. }| {
            let groups: BTreeSet<&str> = parts.iter().map(|part| part.group).collect();
            parts.len() / groups.len().max(1)
        });
        let times = targets.max().unwrap_or(1) as u64;
        // A person without a group may be on any side.
        for (state, &rows) in people.ungrouped.iter().enumerate() {
            let cells = cells_of(metric, state);
            let on = |side| cells.iter().map(move |&cell| (side, cell));
            let places = (0..sides.len()).flat_map(on).collect();
            unknown.push(UnknownPeople { lack: Lack::Group, rows, times, places });
        }
        unknown.retain(|kind| kind.rows.n > 0);
        let all: f64 = measured.iter().flatten().map(|rows| rows.weight).sum::<f64>()
            + unknown.iter().map(|kind| kind.rows.weight * kind.times as f64).sum::<f64>();
        let unit = if people.is_weighed && all > 0.0 { all / UNITS } else { 1.0 };
        let in_units = |rows: &RowsByCell| CellsOfSide {
            rows: numbers(rows),
            weights: rows.map(|rows| (rows.weight / unit).round() as u64),
        };
        let mut parts = sides.iter().flat_map(|side| &side.parts);
        Recount {
            people,
            value: ValueOfCells {
                metric,
                favourable,
                precision: sides.iter().map(|side| side.precision).collect(),
                z: people.case.observed.z(),
            },
            known: measured.iter().map(in_units).collect(),
            unknown,
            of_decisions: times > 1 || parts.any(|part| part.repeats > 1),
            unit,
            base: Computed { value: 0.0, ends: None },
        }
    }

    /// The value of those who are known.
    fn of_known(&self) -> Option<Computed> {
        self.with(&[], |_| 0)
    }

    /// The value with a number of the unknown people at each of these places.
    fn with(&self, at: &[Option<usize>], rows_of: impl Fn(usize) -> u64) -> Option<Computed> {
        let mut all = self.known.clone();
        for (i, (UnknownPeople { rows, times, places, .. }, at)) in
            self.unknown.iter().zip(at).enumerate()
        {
            let Some(place) = at else { continue };
            let (side, cell) = places[*place];
            let n = rows_of(i).min(rows.n);
            let weight = rows.weight * (n as f64 / rows.n as f64) * *times as f64;
            all[side].rows[cell] += n * times;
            all[side].weights[cell] += (weight / self.unit).round() as u64;
        }
        let known = self.people.are_unequal().then_some(self.known.as_slice());
        self.value.of(&all, known)
    }

    /// The end of a value that the gate would judge.
    fn judged(&self, computed: Computed) -> f64 {
        let GateCase { question, observed, .. } = self.people.case;
        let moved = computed.value - self.base.value;
        if question.decide_by == GateDecideBy::Estimate && !observed.is_change {
            return computed.value;
        }
        let end = self.people.case.end().unwrap_or(0.0);
        let shifted = if moved == 0.0 { end } else { end + moved };
        let by_people = question.decide_by == GateDecideBy::Interval && !observed.is_change;
        let facing = |ends| question.limit.facing(ends);
        match computed.ends.map(facing).filter(|_| by_people) {
            Some(formula) if self.base.ends.is_some_and(|ends| is_near(facing(ends), end)) => {
                formula
            }
            Some(formula) => question.limit.worse(formula, shifted),
            None => shifted,
        }
    }

    /// The places at which the unknown people do most harm to the limit, and the end that it would
    /// judge; none where the value of those who are known is undefined.
    fn worst(&self) -> Option<(Vec<Option<usize>>, f64)> {
        let (limit, unknown) = (self.people.case.question.limit, &self.unknown);
        let end_at = |at: &[Option<usize>]| Some(self.judged(self.with(at, |_| u64::MAX)?));
        let mut at: Vec<Option<usize>> = vec![None; unknown.len()];
        let mut worst = end_at(&at)?;
        // A rate moves one way with each of these people, whatever the others do.
        for _ in 0..4 {
            let before = at.clone();
            for i in 0..unknown.len() {
                for place in 0..unknown[i].places.len() {
                    let kept = at[i].replace(place);
                    match end_at(&at) {
                        Some(tried) if limit.excess(tried) > limit.excess(worst) => worst = tried,
                        _ => at[i] = kept,
                    }
                }
            }
            if at == before {
                break;
            }
        }
        Some((at, worst))
    }

    /// Its worst case; none where the value of those who are known is undefined.
    fn worst_case(self) -> Option<WorstCase<'a>> {
        let (at, end) = self.worst()?;
        let order = self.by_gain(&at);
        let (mut lacking, of_decisions) = (LackingPeople::new(), self.of_decisions);
        for &i in &order {
            *lacking.entry(self.unknown[i].lack).or_default() += self.unknown[i].rows.n;
        }
        let with = move |n: u64| {
            let (mut left, mut taken) = (n, vec![0; at.len()]);
            for &i in &order {
                taken[i] = left.min(self.unknown[i].rows.n);
                left -= taken[i];
            }
            Some(self.judged(self.with(&at, |i| taken[i])?))
        };
        Some(WorstCase { end, lacking, of_decisions, with: Box::new(with) })
    }

    /// The unknown people at these places, first those who move the value most, each towards
    /// breaking the limit.
    fn by_gain(&self, at: &[Option<usize>]) -> Vec<usize> {
        let limit = self.people.case.question.limit;
        let gain = |i: usize| {
            let only: Vec<_> = (0..at.len()).map(|j| at[j].filter(|_| j == i)).collect();
            let computed = self.with(&only, |_| u64::MAX)?;
            let moved = limit.excess(computed.value) - limit.excess(self.of_known()?.value);
            Some(moved / self.unknown[i].rows.n as f64)
        };
        let standing = (0..at.len()).filter(|i| at[*i].is_some());
        let mut order: Vec<(f64, usize)> = standing.map(|i| (gain(i).unwrap_or(0.0), i)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        order.into_iter().map(|(_, i)| i).collect()
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
    let worst =
        each.reduce(|a, b| if outer.excess(b.end) > outer.excess(a.end) { b } else { a })?;
    let end = ideal.map_or(worst.end, |ideal| outer.worse(worst.end, ideal));
    Some(WorstCase { end, ..worst })
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

/// The people of a value by side; of the groups that are furthest apart for each two of them, in
/// both orders, or for each group and the rest. None where counts do not give it.
fn sides_of<'a>(
    people: &PeopleTables<'a>,
    metric: &'static Metric,
) -> Option<Vec<Vec<PeopleOfSide<'a>>>> {
    let base = PeopleTables::base(metric);
    let in_total = people.precision(metric.id, ["total", "", ""]);
    // Those of a group, or of all but the other.
    let rows = |group: &str, other: &str| {
        let named = if group.is_empty() { other } else { group };
        let precision = people.precision(base, ["group", named, ""]);
        Some(PeopleOfSide::of_rows(people.side(group, other)?, precision))
    };
    let direction = |from: &'a str, to: &'a str| {
        let precision = people.precision(base, ["direction", from, to]);
        PeopleOfSide::of_directions(people, &[(from, to)], precision)
    };
    let groups = people.counted_groups();
    let pairs = groups.iter().flat_map(|from| groups.iter().map(move |to| (*from, *to)));
    let mut pairs = pairs.filter(|(from, to)| from != to);
    let [scope, from, to] = people.case.observed.place();
    let sides = match (scope, counts_rows(metric)) {
        ("worst_case", true) if metric.transform() == Some(GapTransform::ToTotal) => {
            let each = groups.iter().map(|group| Some(vec![rows(group, "")?, rows("", group)?]));
            return each.collect();
        }
        ("worst_case", true) => {
            return pairs.map(|(a, b)| Some(vec![rows(a, "")?, rows(b, "")?])).collect();
        }
        ("group", true) => vec![rows(from, "")?],
        ("total", true) => vec![PeopleOfSide::of_rows(people.side("", "")?, in_total)],
        ("pair" | "one_vs_rest", true) => vec![rows(from, to)?, rows(to, from)?],
        ("direction", false) => vec![direction(from, to)?],
        ("difference", false) => vec![direction(from, to)?, direction(to, from)?],
        ("total", false) => {
            let all: Vec<_> = pairs.by_ref().collect();
            vec![PeopleOfSide::of_directions(people, &all, in_total)?]
        }
        _ => return None,
    };
    Some(vec![sides])
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
    let (outer, sides) = (outermost(metric), sides_of(people, metric)?);
    let is_furthest = observed.place()[0] == "worst_case";
    let further = |a: Computed, b: Computed| {
        let ends = a.ends.zip(b.ends);
        let ends = ends.map(|(a, b)| (outer.worse(a.0, b.0), outer.worse(a.1, b.1)));
        Computed { value: outer.worse(a.value, b.value), ends }
    };
    let recount = |is_turned: bool, favourable: FavourableClass| {
        let of_sides = |sides: &Vec<PeopleOfSide<'a>>| {
            let mut sides = sides.clone();
            if is_turned {
                sides.reverse();
            }
            Recount::new(people, &sides, metric, favourable)
        };
        let mut all: Vec<Recount<'a>> = sides.iter().map(of_sides).collect();
        if is_furthest && discriminant(&outer) != discriminant(&question.limit) {
            // Towards the ideal the intervals of all of them hold together.
            let values = all.iter().filter(|recount| recount.of_known().is_some()).count();
            let to_total = metric.transform() == Some(GapTransform::ToTotal);
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
    let is_gap = counts_rows(metric) && !is_furthest && sides[0].len() == 2;
    let orders = [(false, wanted), (true, wanted), (false, other), (true, other)];
    let mut orders = orders.into_iter().take(if is_gap { 4 } else { 1 });
    orders.find_map(|(is_turned, favourable)| recount(is_turned, favourable))
}

/// Whether a value that is computed again is the one of the table.
fn is_near(found: f64, value: f64) -> bool {
    (found - value).abs() <= SAME * value.abs().max(1.0)
}
