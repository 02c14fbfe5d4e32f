//! The value of a gate counted again, with the people who were not measured in cells: at worst, and
//! with some of them.

use std::mem::discriminant;

use super::cells::{Arrangement, SideOfDirections, SideOfPeople, UnknownPeople};
use super::value::{CellsOfSides, Computed, ValueForm, ValueOfCells};
use super::worst_case::{LackingPeople, WorstCase};
use crate::gate::decide_by::GateDecideBy;
use crate::gate::people::PeopleTables;
use crate::gate::question::{GateCase, GateLimit};
use crate::metric::interval::z_of_level;
use crate::metric::value::settings::FavourableClass;
use crate::metric::{GapTransform, Metric};
use crate::param::Level;

/// A value that is computed again is the one of the table up to this part of itself.
const SAME: f64 = 1e-6;

/// Weights are whole units; this is about the number for all people together.
const UNITS: f64 = (1_u64 << 48) as f64;

/// What the value of a gate is counted again from.
pub(super) struct Recount<'a> {
    of: &'a PeopleTables<'a>,
    value: ValueOfCells,
    /// The people who are known and those who are not, by side.
    people: Arrangement,
    /// What a unit weighs.
    unit: f64,
    /// What these counts give for the value that is judged.
    base: Computed,
}

impl<'a> Recount<'a> {
    fn new(
        of: &'a PeopleTables<'a>,
        people: Arrangement,
        metric: &'static Metric,
        form: ValueForm,
    ) -> Self {
        let Arrangement { sides, unknown, .. } = &people;
        let all: f64 = sides.iter().flat_map(|side| side.weights).sum::<f64>()
            + unknown.iter().map(|of| of.weight * of.times as f64).sum::<f64>();
        let value = ValueOfCells {
            metric,
            form,
            favourable: of.case.question.favourable.unwrap_or(FavourableClass::Positive),
            effective: sides.iter().map(|side| side.effective).collect(),
            z: z_of_level(of.case.seen.row.level.unwrap_or(Level::DEFAULT.get())),
        };
        let unit = if all > 0.0 { all / UNITS } else { 1.0 };
        Recount { of, value, people, unit, base: Computed { value: 0.0, ends: None } }
    }

    /// The value of those who are known.
    fn known(&self) -> Option<Computed> {
        self.with(&[], |_| 0)
    }

    /// The value with a number of the unknown people at each of these places.
    fn with(&self, at: &[Option<usize>], rows_of: impl Fn(usize) -> u64) -> Option<Computed> {
        let units = |weight: f64| (weight / self.unit).round() as u64;
        let sides = &self.people.sides;
        let known = CellsOfSides {
            rows: sides.iter().map(|side| side.rows).collect(),
            weights: sides.iter().map(|side| side.weights.map(units)).collect(),
        };
        let mut all = known.clone();
        for (i, (unknown, at)) in self.people.unknown.iter().zip(at).enumerate() {
            let Some(place) = at else { continue };
            let (side, cell) = unknown.places[*place];
            let n = rows_of(i).min(unknown.rows);
            all.rows[side][cell] += n * unknown.times;
            let part = n as f64 / unknown.rows.max(1) as f64;
            all.weights[side][cell] += units(unknown.weight * part * unknown.times as f64);
        }
        let by_people = |mut of: CellsOfSides| {
            if !self.of.is_weighed {
                of.weights.clone_from(&of.rows);
            }
            of
        };
        let known = self.of.are_unequal().then(|| by_people(known));
        self.value.of(&by_people(all), known.as_ref())
    }

    /// The end of a value that the gate would judge.
    fn judged(&self, computed: Computed) -> f64 {
        let GateCase { question, seen, .. } = self.of.case;
        let moved = computed.value - self.base.value;
        if question.decide_by == GateDecideBy::Estimate {
            return if seen.is_change {
                seen.row.value.unwrap_or(0.0) + moved
            } else {
                computed.value
            };
        }
        let facing = |ends| question.limit.facing(ends);
        let end = seen.row.lo.zip(seen.row.hi).map_or(seen.row.value.unwrap_or(0.0), facing);
        let shifted = if moved == 0.0 { end } else { end + moved };
        let by_people = question.decide_by == GateDecideBy::Interval && !seen.is_change;
        let of_base = self.base.ends.map(facing);
        match computed.ends.map(facing).filter(|_| by_people) {
            Some(formula) if of_base.is_some_and(|of| is_near(of, end)) => formula,
            Some(formula) => question.limit.worse(formula, shifted),
            None => shifted,
        }
    }

    /// The places at which the unknown people do most harm to the limit, and the end that it would
    /// judge; none where the value of those who are known is undefined.
    fn worst(&self) -> Option<(Vec<Option<usize>>, f64)> {
        let (limit, unknown) = (self.of.case.question.limit, &self.people.unknown);
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
        let standing: Vec<usize> = (0..at.len()).filter(|i| at[*i].is_some()).collect();
        let mut lacking = LackingPeople::new();
        for UnknownPeople { lack, rows, .. } in standing.iter().map(|i| &self.people.unknown[*i]) {
            *lacking.entry(*lack).or_default() += rows;
        }
        let (order, of_decisions) = (self.by_gain(&at, &standing), self.people.of_decisions);
        let with = move |n: u64| {
            let (mut left, mut taken) = (n, vec![0; at.len()]);
            for &i in &order {
                taken[i] = left.min(self.people.unknown[i].rows);
                left -= taken[i];
            }
            Some(self.judged(self.with(&at, |i| taken[i])?))
        };
        Some(WorstCase { end, lacking, of_decisions, with: Box::new(with) })
    }

    /// The unknown people at these places, first those who move the value most, each towards
    /// breaking the limit.
    fn by_gain(&self, at: &[Option<usize>], standing: &[usize]) -> Vec<usize> {
        let limit = self.of.case.question.limit;
        let gain = |i: usize| {
            let only: Vec<_> = (0..at.len()).map(|j| at[j].filter(|_| j == i)).collect();
            let computed = self.with(&only, |_| u64::MAX)?;
            let rows = self.people.unknown[i].rows.max(1) as f64;
            Some((limit.excess(computed.value) - limit.excess(self.known()?.value)) / rows)
        };
        let mut order: Vec<(f64, usize)> =
            standing.iter().map(|i| (gain(*i).unwrap_or(0.0), *i)).collect();
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
    let is_furthest = all.get(1).is_some_and(|second| !second.of.case.seen.is_change);
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

/// What the value of a gate is counted again from, for each pair of groups of those that are
/// furthest apart; none where counts do not give it.
pub(super) fn recounts<'a>(
    of: &'a PeopleTables<'a>,
    metric: &'static Metric,
) -> Option<Vec<Recount<'a>>> {
    if !of.counts_tell_all() {
        return None;
    }
    let base = PeopleTables::base(metric);
    let people = |group: &str, rest: bool| {
        let people = if rest { of.all_but(group) } else { of.people("group", group) };
        Some((people?, of.effective(base, ["group", group, ""])))
    };
    let of_rows = |sides: &[SideOfPeople], form| {
        Recount::new(of, Arrangement::of_rows(of, sides), metric, form)
    };
    let gap = |sides: [SideOfPeople; 2]| {
        let [wanted, other] = match of.case.question.favourable {
            Some(FavourableClass::Negative) => {
                [FavourableClass::Negative, FavourableClass::Positive]
            }
            _ => [FavourableClass::Positive, FavourableClass::Negative],
        };
        let forms = [(wanted, false), (wanted, true), (other, false), (other, true)];
        let form = |(favourable, swapped)| ValueForm::Gap { favourable, swapped };
        forms.map(|of| of_rows(&sides, form(of))).into_iter().collect()
    };
    let of_directions = |sides: &[SideOfDirections<'_>], form| {
        let all = Arrangement::of_directions(of, sides)?;
        Some(vec![Recount::new(of, all, metric, form)])
    };
    let direction = |from: &'a str, to: &'a str| {
        (vec![(from, to)], of.effective(base, ["direction", from, to]))
    };
    let [scope, from, to] = of.case.seen.place();
    let in_total = of.effective(metric.id, ["total", "", ""]);
    let candidates: Vec<Recount<'a>> = match scope {
        "group" => vec![of_rows(&[people(from, false)?], ValueForm::Own)],
        "total" if of.case.question.counterfactual.is_empty() => {
            vec![of_rows(&[(of.all_but("")?, in_total)], ValueForm::Own)]
        }
        "pair" => gap([people(from, false)?, people(to, false)?]),
        "one_vs_rest" if to.is_empty() => gap([people(from, false)?, people(from, true)?]),
        "one_vs_rest" => gap([people(to, true)?, people(to, false)?]),
        "worst_case" => return furthest(of, metric),
        "direction" => of_directions(&[direction(from, to)], ValueForm::Switch)?,
        "difference" => {
            of_directions(&[direction(from, to), direction(to, from)], ValueForm::SwitchGap)?
        }
        "total" => {
            let groups = of.groups();
            let others = groups.iter().flat_map(|from| {
                let to = groups.iter().filter(move |to| *to != from);
                to.map(move |to| (*from, *to))
            });
            of_directions(&[(others.collect(), in_total)], ValueForm::Switch)?
        }
        _ => return None,
    };
    let value = of.value()?;
    candidates.into_iter().find_map(|mut recount| {
        recount.base = recount.known()?;
        is_near(recount.base.value, value).then_some(vec![recount])
    })
}

/// Whether a value that is computed again is the one of the table.
fn is_near(found: f64, value: f64) -> bool {
    (found - value).abs() <= SAME * value.abs().max(1.0)
}

/// The recounts of the groups that are furthest apart: of each two, in both orders, or of each
/// group against the rest.
fn furthest<'a>(of: &'a PeopleTables<'a>, metric: &'static Metric) -> Option<Vec<Recount<'a>>> {
    let to_total = metric.transform() == Some(GapTransform::ToTotal);
    let base = PeopleTables::base(metric);
    let (mut groups, names) = (Vec::new(), of.groups());
    for group in &names {
        let sure = of.effective(base, ["group", group, ""]);
        groups.push((of.people("group", group)?, sure));
    }
    let favourable = of.case.question.favourable.unwrap_or(FavourableClass::Positive);
    let mut all = Vec::new();
    for (i, group) in groups.iter().enumerate() {
        let others = groups.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, other)| other);
        if to_total {
            let sides = [*group, (of.all_but(names[i])?, group.1)];
            let arrangement = Arrangement::of_rows(of, &sides);
            all.push(Recount::new(of, arrangement, metric, ValueForm::ToTotal));
        } else {
            let form = ValueForm::Gap { favourable, swapped: false };
            all.extend(others.map(|other| {
                Recount::new(of, Arrangement::of_rows(of, &[*group, *other]), metric, form)
            }));
        }
    }
    let outer = outermost(metric);
    if discriminant(&outer) != discriminant(&of.case.question.limit) {
        // Towards the ideal the intervals of all of them hold together.
        let values = all.iter().filter(|recount| recount.known().is_some()).count();
        let gaps = values.max(2) as f64 / if to_total { 1.0 } else { 2.0 };
        let level = of.case.seen.row.level.unwrap_or(Level::DEFAULT.get());
        let z = z_of_level(1.0 - (1.0 - level) / gaps);
        all.iter_mut().for_each(|recount| recount.value.z = z);
    }
    let further = |a: Computed, b: Computed| {
        let ends = a.ends.zip(b.ends);
        let ends = ends.map(|(a, b)| (outer.worse(a.0, b.0), outer.worse(a.1, b.1)));
        Computed { value: outer.worse(a.value, b.value), ends }
    };
    let base = all.iter().filter_map(Recount::known).reduce(further)?;
    if !is_near(base.value, of.value()?) {
        return None;
    }
    // A pair without a value, such as one with a group without measured people, cannot be computed.
    all.iter_mut().for_each(|recount| recount.base = base);
    Some(all)
}
