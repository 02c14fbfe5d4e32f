//! Whether the people who were not measured could break a limit that the others keep.
//!
//! Not measured are people without a score, without a valid counterfactual, and without a group,
//! who with the decisions that they have may belong to any group of the gate. Nothing says that
//! they are like the others (C. F. Manski, Nonparametric Bounds on Treatment Effects, 1990), so
//! each of them may be what is worst for the limit, or count for nothing. The value is computed
//! again from the table of counts with everybody at worst, weights by weight, and so is its
//! interval: where the formula gives the interval that the table of metrics has, by that formula,
//! else by the wider of the formula and the interval moved with the value. What counts do not give,
//! such as a mean of scores, moves as if each of these people had the worst number that the metric
//! can have; without an end to its range nobody may be missing, nor where few people may move it
//! through its whole range. An interval of a rate is also computed with everybody at worst.
//!
//! Choice: a person is in one group, so a difference of two groups gets the person on one side;
//! of several groups that are furthest apart each pair is looked at by itself. People who have a
//! group that the job does not declare are in no group of the gate. Labels are not invented: whom
//! they lack more often than others, `selective` says. Of a change both runs are at their worst.
//!
//! How many of these people would be enough is counted by taking those first that move the value
//! most.

use std::collections::BTreeSet;

use super::question::{GateLimit, GateObservation, GateQuantity, GateQuestion, GateTables};
use super::reason::{GateReason, Lack, WorstOf};
use crate::gate::decide_by::GateDecideBy;
use crate::metric::catalog::ccm::SWITCH_RATE;
use crate::metric::catalog::find;
use crate::metric::evidence::person::{CONFUSION_CELLS, Confusion, ECCM_CELLS, Eccm, cell_index};
use crate::metric::interval::{
    IntervalProcedure, ValueInterval, katz_of, mover_ratio, newcombe_of, wilson_of_share,
    z_of_level,
};
use crate::metric::rate::{MetricValue, Rate};
use crate::metric::value::gaps::computed;
use crate::metric::value::settings::FavourableClass;
use crate::metric::{AmountSubject, Metric, MetricFamily, Reads, ScoreReading};
use crate::table::population::AUDITED;
use crate::table::{CountRow, MetricRow, NO_GROUP, PopulationRow, finite};

/// A value that is computed again is the one of the table up to this part of itself.
const SAME: f64 = 1e-6;

/// Weights are whole units, of which all people together have about so many.
const UNITS: f64 = (1_u64 << 48) as f64;

/// Numbers of people, or of their weights, by cell of a confusion or of an extended matrix.
type Cells = [u64; ECCM_CELLS];

/// People by label and prediction, each unknown, no or yes: rows, and what they weigh.
#[derive(Debug, Clone, Copy, Default)]
struct StatePeople {
    rows: [u64; 9],
    weights: [f64; 9],
}

impl StatePeople {
    fn add(&mut self, other: &StatePeople) {
        for i in 0..9 {
            self.rows[i] += other.rows[i];
            self.weights[i] += other.weights[i];
        }
    }

    /// Rows without a prediction by label, unknown, no or yes.
    fn unscored(&self) -> [u64; 3] {
        [0, 3, 6].map(|i| self.rows[i])
    }

    /// Rows by label, whatever their prediction.
    fn by_label(&self) -> [u64; 3] {
        [0, 3, 6].map(|i| self.rows[i..i + 3].iter().sum())
    }
}

/// Alike people who were not measured, and the cells in which each of them may stand: that of a
/// side. They may also stand nowhere.
#[derive(Debug, Clone)]
struct UnknownPeople {
    lack: Lack,
    rows: u64,
    weight: f64,
    /// How often a row counts there: once for each direction of a total.
    times: u64,
    places: Vec<(usize, usize)>,
}

/// One side of a value: who is known, in rows and in units of weight.
#[derive(Debug, Clone, Copy)]
struct KnownSide {
    rows: Cells,
    weights: Cells,
    /// Independent people who would be as sure as one row below the rate; none where it is not
    /// known.
    effective: Option<f64>,
}

/// A value as a function of cells.
#[derive(Debug, Clone, Copy)]
enum ValueForm {
    /// Of one group, or of all.
    Own,
    /// Of two groups; whether the second one is first.
    Gap { favourable: FavourableClass, swapped: bool },
    /// The distance of a group to all, from the group and the rest.
    ToTotal,
    /// Of one direction, or of all.
    Switch,
    /// Of two directions, the first minus the second.
    SwitchGap,
}

/// A value with its interval, if a formula gives one.
#[derive(Debug, Clone, Copy)]
struct Computed {
    value: f64,
    ends: Option<(f64, f64)>,
}

/// What the value of a gate is computed from.
struct Evidence<'a> {
    metric: &'static Metric,
    form: ValueForm,
    favourable: FavourableClass,
    sides: Vec<KnownSide>,
    is_weighed: bool,
    unit: f64,
    unknown: Vec<UnknownPeople>,
    question: &'a GateQuestion,
    seen: &'a GateObservation,
    /// What these counts give for the value that is judged.
    base: Computed,
}

fn ends_of(interval: ValueInterval) -> (f64, f64) {
    (interval.lo, interval.hi)
}

/// The interval of the ratio of two shares with so many people; where Katz's has no end, by the
/// ends of both.
fn ratio_ends((p, n): (f64, f64), (q, m): (f64, f64), z: f64) -> (f64, f64) {
    let [of_p, of_q] =
        [(p, n), (q, m)].map(|(p, n)| wilson_of_share(p, n, z, IntervalProcedure::Wilson));
    if p > 0.0 && q > 0.0 {
        let katz = katz_of((p, q), (n, m), 0.0, z, IntervalProcedure::Katz);
        if p < 1.0 && q < 1.0 {
            return ends_of(katz);
        }
        // Katz's takes a rate of 1 as certain.
        let wide = mover_ratio((p, q), (of_p, of_q));
        return (katz.lo.min(wide.lo), katz.hi.max(wide.hi));
    }
    let over = |x: f64, y: f64| if y > 0.0 { x / y } else { f64::INFINITY };
    (over(of_p.lo, of_q.hi), over(of_p.hi, of_q.lo))
}

/// The interval of the smaller of two shares with so many people over the larger.
fn smaller_over_larger((p, n): (f64, f64), (q, m): (f64, f64), z: f64) -> (f64, f64) {
    let [of_p, of_q] =
        [(p, n), (q, m)].map(|(p, n)| wilson_of_share(p, n, z, IntervalProcedure::Wilson));
    let both = [((p, q), (of_p, of_q)), ((q, p), (of_q, of_p))];
    let orders = both.into_iter().filter(|((_, below), _)| *below > 0.0);
    orders
        .map(|(shares, ends)| mover_ratio(shares, ends))
        .fold((1.0, 1.0), |(lo, hi), ratio| (f64::min(lo, ratio.lo), f64::min(hi, ratio.hi)))
}

impl Evidence<'_> {
    /// The value of these sides; none where it is undefined. `rows` and `weights` are alike where
    /// nobody has a weight.
    fn computed(&self, rows: &[Cells], weights: &[Cells]) -> Option<Computed> {
        let z = z_of_level(self.seen.level.unwrap_or(0.95));
        // A rate and the people who would be as sure.
        let part = |side: usize, rate: Rate, of_rows: Rate| -> Option<(f64, Option<f64>)> {
            let p = rate.value().ok()?;
            Some((p, self.sides[side].effective.map(|sure| sure * of_rows.denominator as f64)))
        };
        let share = |part: (f64, Option<f64>)| {
            let (p, n) = part;
            let ends = n.map(|n| wilson_of_share(p, n, z, IntervalProcedure::Wilson));
            Computed { value: p, ends: ends.map(ends_of) }
        };
        let plain = |value: MetricValue| Some(Computed { value: value.ok()?, ends: None });
        let minus = |a: (f64, Option<f64>), b: (f64, Option<f64>)| {
            let ends = a.1.zip(b.1).map(|(n, m)| {
                let own = |p, n| wilson_of_share(p, n, z, IntervalProcedure::Wilson);
                let of = (own(a.0, n), own(b.0, m));
                ends_of(newcombe_of((a.0, b.0), of, 0.0, IntervalProcedure::Newcombe))
            });
            Computed { value: a.0 - b.0, ends }
        };
        let people = |cells: &Cells| {
            let mut own = [0; CONFUSION_CELLS];
            own.copy_from_slice(&cells[..CONFUSION_CELLS]);
            Confusion::from_cells(own)
        };
        let moved = |side: usize| (Eccm(weights[side]), Eccm(rows[side]));
        let switch = |side: usize| {
            let (by_weight, by_rows) = moved(side);
            let rate = switch_rate(self.metric, self.favourable)?;
            part(side, rate(&by_weight), rate(&by_rows))
        };
        match (self.form, self.metric.reads) {
            (ValueForm::Own, Reads::Rate(rate)) => {
                let [by_weight, by_rows] = [people(&weights[0]), people(&rows[0])];
                Some(share(part(0, rate(&by_weight), rate(&by_rows))?))
            }
            (ValueForm::Own, Reads::Score(score) | Reads::Benefit(score)) => {
                plain(score(&people(&weights[0])))
            }
            (ValueForm::Gap { favourable, swapped }, _) => {
                let order = if swapped { [1, 0] } else { [0, 1] };
                let [by_weight, by_rows] = [weights, rows].map(|cells| {
                    let [a, b] = order.map(|side| people(&cells[side]));
                    computed(self.metric, favourable, &a, &b)
                });
                let (by_weight, by_rows) = (by_weight?, by_rows?);
                let value = match by_weight.value {
                    Ok(value) => value,
                    // Nobody below a ratio is as far as it can be.
                    Err(_)
                        if self.is_ratio()
                            && by_weight.rates.iter().all(|of| of[1].denominator > 0) =>
                    {
                        f64::INFINITY
                    }
                    Err(_) => return None,
                };
                // Which side is in front the metric says; both are as sure as their own rows.
                let sure = |rate: Rate| {
                    let side = order.into_iter().find(|side| {
                        let of = computed(
                            self.metric,
                            favourable,
                            &people(&rows[*side]),
                            &people(&rows[*side]),
                        );
                        of.is_some_and(|of| of.rates.iter().flatten().any(|of| *of == rate))
                    })?;
                    Some(self.sides[side].effective? * rate.denominator as f64)
                };
                let mut all: Option<(f64, f64)> = None;
                for (rates, of_rows) in by_weight.rates.iter().zip(&by_rows.rates) {
                    let [p, q] = [rates[0].value().ok()?, rates[1].value().ok()?];
                    let n = sure(of_rows[0]).zip(sure(of_rows[1]));
                    let Some((n, m)) = n else { return Some(Computed { value, ends: None }) };
                    let ends = match self.metric.reads {
                        Reads::RateRatio(_) | Reads::FavourableRatio => {
                            ratio_ends((p, n), (q, m), z)
                        }
                        Reads::FavourableMinRatio => smaller_over_larger((p, n), (q, m), z),
                        Reads::WidestGap(_) => distance(minus((p, Some(n)), (q, Some(m))).ends?),
                        _ => minus((p, Some(n)), (q, Some(m))).ends?,
                    };
                    all = Some(all.map_or(ends, |all| (all.0.max(ends.0), all.1.max(ends.1))));
                }
                Some(Computed { value, ends: all })
            }
            (ValueForm::ToTotal, Reads::RateToTotal(rate)) => {
                let own = [0, 1].map(|side| rate(&people(&weights[side])));
                let of_rows = [0, 1].map(|side| rate(&people(&rows[side])));
                let [a, b] = [part(0, own[0], of_rows[0])?, part(1, own[1], of_rows[1])?];
                let below = own.map(|rate| rate.denominator as f64);
                let rest = below[1] / (below[0] + below[1]);
                let apart = minus(a, b);
                let ends = apart.ends.map(distance).map(|(lo, hi)| (rest * lo, rest * hi));
                Some(Computed { value: rest * apart.value.abs(), ends })
            }
            (ValueForm::ToTotal, Reads::ScoreToTotal(score)) => {
                let mut all = people(&weights[0]);
                all.merge(&people(&weights[1]));
                let value = (score(&people(&weights[0])).ok()? - score(&all).ok()?).abs();
                Some(Computed { value, ends: None })
            }
            (ValueForm::Switch, Reads::SwitchScore(score)) => plain(score(&moved(0).0)),
            (ValueForm::Switch, _) => Some(share(switch(0)?)),
            (ValueForm::SwitchGap, Reads::SwitchScore(score)) => {
                let [a, b] = [score(&moved(0).0).ok()?, score(&moved(1).0).ok()?];
                Some(Computed { value: a - b, ends: None })
            }
            (ValueForm::SwitchGap, Reads::SwitchRatio(_)) => {
                let [(p, n), (q, m)] = [switch(0)?, switch(1)?];
                let ends = n.zip(m).map(|(n, m)| ratio_ends((p, n), (q, m), z));
                Some(Computed { value: if q > 0.0 { p / q } else { f64::INFINITY }, ends })
            }
            (ValueForm::SwitchGap, _) => Some(minus(switch(0)?, switch(1)?)),
            _ => None,
        }
    }

    fn is_ratio(&self) -> bool {
        matches!(self.metric.reads, Reads::RateRatio(_) | Reads::FavourableRatio)
    }

    /// The value of those who are known.
    fn known(&self) -> Option<Computed> {
        let rows: Vec<Cells> = self.sides.iter().map(|side| side.rows).collect();
        let weights: Vec<Cells> = self.sides.iter().map(|side| side.weights).collect();
        self.computed(&rows, if self.is_weighed { &weights } else { &rows })
    }

    /// The value with so many of the unknown people at these places.
    fn with(&self, at: &[Option<usize>], rows_of: impl Fn(usize) -> u64) -> Option<Computed> {
        let mut rows: Vec<Cells> = self.sides.iter().map(|side| side.rows).collect();
        let mut weights: Vec<Cells> = self.sides.iter().map(|side| side.weights).collect();
        for (i, (unknown, at)) in self.unknown.iter().zip(at).enumerate() {
            let Some(place) = at else { continue };
            let (side, cell) = unknown.places[*place];
            let n = rows_of(i).min(unknown.rows);
            rows[side][cell] += n * unknown.times;
            let part = n as f64 / unknown.rows.max(1) as f64;
            let units = unknown.weight * part * unknown.times as f64 / self.unit;
            weights[side][cell] += units.round() as u64;
        }
        self.computed(&rows, if self.is_weighed { &weights } else { &rows })
    }

    /// The end of a value that the gate would judge.
    fn judged(&self, computed: Computed) -> f64 {
        let (question, seen) = (self.question, self.seen);
        let moved = computed.value - self.base.value;
        if question.decide_by == GateDecideBy::Estimate {
            return if seen.is_change { seen.value.unwrap_or(0.0) + moved } else { computed.value };
        }
        let is_upper = matches!(question.limit, GateLimit::AtMost(_));
        let pick = |(lo, hi): (f64, f64)| if is_upper { hi } else { lo };
        let end = seen.lo.zip(seen.hi).map_or(seen.value.unwrap_or(0.0), pick);
        let shifted = if moved == 0.0 { end } else { end + moved };
        let by_people = question.decide_by == GateDecideBy::Interval && !seen.is_change;
        let of_base = self.base.ends.map(pick);
        match computed.ends.map(pick).filter(|_| by_people) {
            Some(formula) if of_base.is_some_and(|of| is_near(of, end)) => formula,
            Some(formula) if is_upper => formula.max(shifted),
            Some(formula) => formula.min(shifted),
            None => shifted,
        }
    }

    /// The places at which the unknown people do most harm to the limit, and the end that it would
    /// judge; none where the value of those who are known is undefined.
    fn worst(&self) -> Option<(Vec<Option<usize>>, f64)> {
        let limit = self.question.limit;
        let end_at = |at: &[Option<usize>]| Some(self.judged(self.with(at, |_| u64::MAX)?));
        let mut at: Vec<Option<usize>> = vec![None; self.unknown.len()];
        let mut worst = end_at(&at)?;
        // A rate moves one way with each of these people, whatever the others do.
        for _ in 0..4 {
            let before = at.clone();
            for i in 0..self.unknown.len() {
                for place in 0..self.unknown[i].places.len() {
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

    /// How many of these people are enough to break the limit, those first that move it most.
    fn enough(&self, at: &[Option<usize>], of_old: f64) -> Option<u64> {
        let (known, limit) = (self.known()?, self.question.limit);
        let gain = |i: usize| {
            let only: Vec<_> = (0..at.len()).map(|j| at[j].filter(|_| j == i)).collect();
            let computed = self.with(&only, |_| u64::MAX)?;
            let rows = self.unknown[i].rows.max(1) as f64;
            Some((limit.excess(computed.value) - limit.excess(known.value)) / rows)
        };
        let standing = (0..at.len()).filter(|i| at[*i].is_some());
        let mut order: Vec<(f64, usize)> = standing.map(|i| (gain(i).unwrap_or(0.0), i)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let all: u64 = order.iter().map(|(_, i)| self.unknown[*i].rows).sum();
        let breaks = |n: u64| {
            let (mut left, mut taken) = (n, vec![0; at.len()]);
            for (_, i) in &order {
                taken[*i] = left.min(self.unknown[*i].rows);
                left -= taken[*i];
            }
            let computed = self.with(at, |i| taken[i]);
            computed.is_some_and(|computed| !limit.kept_by(self.judged(computed) + of_old))
        };
        let (mut few, mut many) = (0, all);
        while many - few > 1 {
            let middle = u64::midpoint(few, many);
            if breaks(middle) { many = middle } else { few = middle }
        }
        (all > 0).then_some(many)
    }
}

/// The distance from 0 of a difference, from its ends.
fn distance((lo, hi): (f64, f64)) -> (f64, f64) {
    let least = if lo <= 0.0 && hi >= 0.0 { 0.0 } else { lo.abs().min(hi.abs()) };
    (least, lo.abs().max(hi.abs()))
}

/// The rate of a direction that a metric reads, or compares two directions by.
fn switch_rate(metric: &Metric, favourable: FavourableClass) -> Option<fn(&Eccm) -> Rate> {
    match metric.reads {
        Reads::SwitchRate(rate) | Reads::SwitchRatio(rate) => Some(rate),
        Reads::SwitchByFavour { if_positive, if_negative } => Some(match favourable {
            FavourableClass::Positive => if_positive,
            FavourableClass::Negative => if_negative,
        }),
        _ => None,
    }
}

/// The cell of a confusion by label and prediction, each unknown 0, no 1 or yes 2.
fn confusion_cell(label: usize, positive: bool) -> usize {
    match (label, positive) {
        (2, true) => 0,
        (1, true) => 1,
        (2, false) => 2,
        (1, false) => 3,
        (_, true) => 4,
        (_, false) => 5,
    }
}

/// The cell of an extended matrix by label (unknown 0, no 1 or yes 2) and predictions.
fn switch_cell(label: usize, positive: bool, positive_cf: bool) -> usize {
    cell_index((label > 0).then_some(label == 2), positive, positive_cf)
}

/// The tables of a question about one attribute.
struct PeopleTables<'a> {
    question: &'a GateQuestion,
    seen: &'a GateObservation,
    tables: GateTables<'a>,
    /// The counts of its model, of the rows as they are and of its set.
    counts: Vec<&'a CountRow>,
    /// The people without a group.
    none: StatePeople,
    is_weighed: bool,
}

impl<'a> PeopleTables<'a> {
    fn new(question: &'a GateQuestion, seen: &'a GateObservation, tables: GateTables<'a>) -> Self {
        let is_own = |row: &&CountRow| {
            row.key.arm == question.arm
                && row.key.model == question.model
                && (row.key.counterfactual.is_empty()
                    || row.key.counterfactual == question.counterfactual)
                && row.key.slice.is_empty()
                && row.key.sensitive == seen.sensitive
        };
        let counts: Vec<&CountRow> = tables.counts.iter().filter(is_own).collect();
        let is_weighed = counts.iter().any(|row| row.weight.is_some());
        let none = StatePeople::default();
        let mut of = PeopleTables { question, seen, tables, counts, none, is_weighed };
        of.none = of.people(NO_GROUP, "").unwrap_or_default();
        of
    }

    /// A text of the table of counts as unknown 0, no 1 or yes 2; none of a class where all classes
    /// are asked about together.
    fn state(&self, text: &str) -> Option<usize> {
        match (self.question.class.as_str(), text) {
            (_, "") => Some(0),
            ("", "0") => Some(1),
            ("", "1") => Some(2),
            ("", _) => None,
            (class, text) => Some(if class == text { 2 } else { 1 }),
        }
    }

    fn counted<'s>(
        &'s self,
        set: &'s str,
        place: [&'s str; 3],
    ) -> impl Iterator<Item = &'a CountRow> + use<'s, 'a> {
        let own = self.counts.iter().copied();
        own.filter(move |row| row.key.counterfactual == *set && row.key.scope_and_groups() == place)
    }

    /// The people of a group, or of none; none where the table does not tell.
    fn people(&self, scope: &str, group: &str) -> Option<StatePeople> {
        let mut all = StatePeople::default();
        let mut found = false;
        for row in self.counted("", [scope, group, ""]) {
            let at = 3 * self.state(&row.label)? + self.state(&row.predicted)?;
            all.rows[at] += u64::try_from(row.n).ok()?;
            all.weights[at] += row.weight.unwrap_or(row.n as f64);
            found = true;
        }
        found.then_some(all)
    }

    /// The counterfactuals of a direction.
    fn moved(&self, from: &str, to: &str) -> Option<([u64; ECCM_CELLS], [f64; ECCM_CELLS])> {
        let (mut rows, mut weights) = ([0; ECCM_CELLS], [0.0; ECCM_CELLS]);
        for row in self.counted(&self.question.counterfactual, ["direction", from, to]) {
            let [label, before, after] =
                [&row.label, &row.predicted, &row.predicted_cf].map(|text| self.state(text));
            let cell = switch_cell(label?, before? == 2, after? == 2);
            rows[cell] += u64::try_from(row.n).ok()?;
            weights[cell] += row.weight.unwrap_or(row.n as f64);
        }
        Some((rows, weights))
    }

    /// The row of the table of the population of a group under the model, or of those without one.
    fn population(&self, group: Option<&str>) -> Option<&'a PopulationRow> {
        let PeopleTables { question, seen, tables, .. } = self;
        tables.population.iter().find(|row| {
            row.is_of_model(&question.model)
                && row.sensitive == seen.sensitive
                && row.group.as_deref() == group
        })
    }

    /// Whether the table of counts holds everybody whom the population says to have no score or no
    /// group. Arms have no population of their own.
    fn counts_tell_all(&self) -> bool {
        let tells = |people: StatePeople, row: &PopulationRow| {
            people.unscored().iter().sum::<u64>() >= row.unscored()
        };
        let of_groups = self.groups().into_iter().all(|group| {
            let row = self.population(Some(group)).filter(|_| self.question.arm.is_empty());
            let people = self.people("group", group).unwrap_or_default();
            row.is_none_or(|row| tells(people, row))
        });
        let none = self.population(None).filter(|_| self.question.arm.is_empty());
        let is_empty = self.none.rows.iter().all(|n| *n == 0) && !self.ungrouped_are_weightless();
        of_groups && none.is_none_or(|row| tells(self.none, row) && (row.rows == 0 || !is_empty))
    }

    /// The audited rows without a group, whatever the model.
    fn ungrouped(&self) -> Option<&'a PopulationRow> {
        self.tables.population.iter().find(|row| {
            row.is_of_rows()
                && row.state == AUDITED
                && row.sensitive == self.seen.sensitive
                && row.group.is_none()
        })
    }

    /// Whether all people without a group have the weight 0, so that they count for nothing.
    fn ungrouped_are_weightless(&self) -> bool {
        self.ungrouped().is_some_and(|row| row.weight == Some(0.0))
    }

    /// The people of a group, by the table of counts, who lack a counterfactual with a score in the
    /// direction in which most do; none where counts do not tell.
    fn untested(&self, from: &str, groups: &[&str]) -> Option<u64> {
        let own: u64 = self.people("group", from)?.rows.iter().sum();
        let mut most = 0;
        for to in groups.iter().filter(|to| **to != from) {
            let repeats = self.repeats(from, to);
            let moved: u64 = self.moved(from, to)?.0.iter().sum();
            most = (own * repeats).saturating_sub(moved).div_ceil(repeats).max(most);
        }
        Some(most)
    }

    /// The value that the table of metrics has: of a change that of the later run.
    fn value(&self) -> Option<f64> {
        let value = self.seen.value?;
        if self.seen.is_change { Some(value + self.seen.baseline?) } else { Some(value) }
    }

    /// The declared groups.
    fn groups(&self) -> Vec<&'a str> {
        let own = self
            .counts
            .iter()
            .filter(|row| row.key.counterfactual.is_empty() && row.key.scope == "group");
        own.map(|row| row.key.from_group.as_str()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Rows of the table of metrics like the one that is judged, of a metric and a place.
    fn metric(&self, metric: &str, place: [&str; 3]) -> Option<&'a MetricRow> {
        self.question.row(self.tables.metrics, &self.seen.sensitive, metric, place)
    }

    /// How sure one row below a rate is, by the table of metrics: 1 where each row is a person who
    /// counts as one.
    fn effective(&self, metric: &str, place: [&str; 3]) -> Option<f64> {
        let row = self.metric(metric, place);
        match row.and_then(|row| row.n_eff.zip(row.denominator)) {
            Some((sure, below)) if below > 0 => Some(sure / below as f64),
            _ if self.is_weighed || row.is_some_and(|row| row.n_persons.is_some()) => None,
            _ => Some(1.0),
        }
    }

    /// How often a row counts in a direction: a row may have several counterfactuals there.
    fn repeats(&self, from: &str, to: &str) -> u64 {
        let row = self.metric(SWITCH_RATE, ["direction", from, to]);
        row.and_then(|row| {
            Some((u64::try_from(row.denominator?).ok()?, u64::try_from(row.n_rows).ok()?))
        })
        .map_or(1, |(cases, rows)| cases.div_ceil(rows.max(1)).max(1))
    }

    /// The metric whose rate is on either side of a gap, for how sure it is.
    fn base(metric: &'static Metric) -> &'static str {
        match (metric.gap_of, metric.reads) {
            (Some((base, _)), _) => base,
            (None, Reads::FavourableRatio | Reads::FavourableMinRatio) => "pprev",
            _ => metric.id,
        }
    }
}

/// The sides of a value and who could stand on them.
#[derive(Default)]
struct Arrangement {
    sides: Vec<KnownPeople>,
    unknown: Vec<UnknownPeople>,
}

/// The known people of a side, by the cells of its value: rows, weights, and how sure a row is.
#[derive(Debug, Clone, Copy)]
struct KnownPeople {
    rows: Cells,
    weights: [f64; ECCM_CELLS],
    effective: Option<f64>,
}

/// The directions, from one group to another, of a side of a value, and its effective size where
/// that is not its number of people.
type SideOfDirections<'a> = (Vec<(&'a str, &'a str)>, Option<f64>);

impl Arrangement {
    fn lacks(
        &mut self,
        lack: Lack,
        (rows, weight): (u64, f64),
        times: u64,
        places: Vec<(usize, usize)>,
    ) {
        if rows > 0 {
            self.unknown.push(UnknownPeople { lack, rows, weight, times, places });
        }
    }

    /// Those without a group, who may stand on any side, there in the cells that `cells` gives for
    /// their label and prediction.
    fn lack_groups(
        &mut self,
        of: &PeopleTables<'_>,
        times: u64,
        cells: impl Fn(usize, usize) -> Vec<usize>,
    ) {
        let none = of.none;
        for i in 0..9 {
            let cells = cells(i / 3, i % 3);
            let places = (0..self.sides.len())
                .flat_map(|side| cells.iter().map(move |cell| (side, *cell)))
                .collect();
            self.lacks(Lack::Group, (none.rows[i], none.weights[i]), times, places);
        }
    }

    /// The sides of a value of the rows as they are.
    fn of_rows(of: &PeopleTables<'_>, sides: &[(StatePeople, Option<f64>)]) -> Self {
        let mut all = Arrangement::default();
        let cells = |label: usize, predicted: usize| match predicted {
            0 => vec![confusion_cell(label, false), confusion_cell(label, true)],
            _ => vec![confusion_cell(label, predicted == 2)],
        };
        for (side, (people, effective)) in sides.iter().enumerate() {
            let (mut rows, mut weights) = ([0; ECCM_CELLS], [0.0; ECCM_CELLS]);
            for i in 0..9 {
                let (label, predicted) = (i / 3, i % 3);
                let own = (people.rows[i], people.weights[i]);
                if predicted == 0 {
                    let places = cells(label, 0).into_iter().map(|cell| (side, cell)).collect();
                    all.lacks(Lack::Score, own, 1, places);
                } else {
                    let cell = confusion_cell(label, predicted == 2);
                    (rows[cell], weights[cell]) = own;
                }
            }
            all.sides.push(KnownPeople { rows, weights, effective: *effective });
        }
        all.lack_groups(of, 1, cells);
        all
    }

    /// The sides of a value of counterfactuals: one side of some directions each.
    fn of_directions(of: &PeopleTables<'_>, sides: &[SideOfDirections<'_>]) -> Option<Self> {
        let mut all = Arrangement::default();
        let after = |label: usize, predicted: usize| {
            let before: &[bool] = match predicted {
                0 => &[false, true],
                1 => &[false],
                _ => &[true],
            };
            let each = before.iter().flat_map(|&before| [false, true].map(|after| (before, after)));
            each.map(|(before, after)| switch_cell(label, before, after)).collect::<Vec<_>>()
        };
        for (side, (directions, effective)) in sides.iter().enumerate() {
            let (mut rows, mut weights) = ([0; ECCM_CELLS], [0.0; ECCM_CELLS]);
            for (from, to) in directions {
                let own = of.people("group", from)?;
                let (moved, moved_weights) = of.moved(from, to)?;
                let repeats = of.repeats(from, to);
                for cell in 0..ECCM_CELLS {
                    rows[cell] += moved[cell];
                    weights[cell] += moved_weights[cell];
                }
                for i in 0..9 {
                    let (label, predicted) = (i / 3, i % 3);
                    let cells = after(label, predicted);
                    let (lack, there) = match predicted {
                        0 => (Lack::Score, (0, 0.0)),
                        _ => {
                            let sum = cells.iter().map(|&cell| moved[cell]).sum::<u64>();
                            let weight = cells.iter().map(|&cell| moved_weights[cell]).sum::<f64>();
                            (Lack::Counterfactual, (sum, weight))
                        }
                    };
                    let lacking = (
                        (own.rows[i] * repeats).saturating_sub(there.0),
                        (own.weights[i] * repeats as f64 - there.1).max(0.0),
                    );
                    let places = cells.into_iter().map(|cell| (side, cell)).collect();
                    all.lacks(lack, lacking, 1, places);
                }
            }
            all.sides.push(KnownPeople { rows, weights, effective: *effective });
        }
        // Of a total each of their directions counts.
        let targets = sides.iter().map(|(directions, _)| {
            let from: BTreeSet<&str> = directions.iter().map(|(from, _)| *from).collect();
            directions.len() / from.len().max(1)
        });
        all.lack_groups(of, targets.max().unwrap_or(1) as u64, after);
        Some(all)
    }

    /// As the evidence of a value.
    fn into_evidence<'a>(
        self,
        of: &PeopleTables<'a>,
        metric: &'static Metric,
        form: ValueForm,
    ) -> Evidence<'a> {
        let all: f64 = self.sides.iter().flat_map(|side| side.weights).sum::<f64>()
            + self.unknown.iter().map(|of| of.weight * of.times as f64).sum::<f64>();
        let unit = if all > 0.0 { all / UNITS } else { 1.0 };
        let side = |side: &KnownPeople| KnownSide {
            rows: side.rows,
            weights: side.weights.map(|weight| (weight / unit).round() as u64),
            effective: side.effective,
        };
        let sides: Vec<KnownSide> = self.sides.iter().map(side).collect();
        let favourable = of.question.favourable.unwrap_or(FavourableClass::Positive);
        let (question, seen) = (of.question, of.seen);
        let is_weighed = of.is_weighed;
        let unknown = self.unknown;
        let base = Computed { value: 0.0, ends: None };
        Evidence {
            metric,
            form,
            favourable,
            sides,
            is_weighed,
            unit,
            unknown,
            question,
            seen,
            base,
        }
    }
}

/// The evidence of the value of a gate, one for each pair of groups of those that are furthest
/// apart; none where counts do not give it.
fn evidence<'a>(of: &PeopleTables<'a>, metric: &'static Metric) -> Option<Vec<Evidence<'a>>> {
    if !of.counts_tell_all() {
        return None;
    }
    let seen = of.seen;
    let base = PeopleTables::base(metric);
    let of_group = |group: &'a str| {
        let sure = of.effective(base, ["group", group, ""]);
        Some((of.people("group", group)?, sure))
    };
    let all = || {
        let mut all = StatePeople::default();
        for group in of.groups() {
            all.add(&of.people("group", group)?);
        }
        Some(all)
    };
    let rest_of = |group: &'a str| {
        let mut rest = StatePeople::default();
        for other in of.groups().into_iter().filter(|other| *other != group) {
            rest.add(&of.people("group", other)?);
        }
        let sure = of.effective(base, ["group", group, ""]);
        Some((rest, sure))
    };
    let gap = |sides: [(StatePeople, Option<f64>); 2]| {
        let wanted = of.question.favourable.unwrap_or(FavourableClass::Positive);
        let other = match wanted {
            FavourableClass::Positive => FavourableClass::Negative,
            FavourableClass::Negative => FavourableClass::Positive,
        };
        let forms = [wanted, other].into_iter().flat_map(|favourable| {
            [false, true].map(|swapped| ValueForm::Gap { favourable, swapped })
        });
        let each =
            forms.map(|form| Arrangement::of_rows(of, &sides).into_evidence(of, metric, form));
        each.collect::<Vec<_>>()
    };
    let to_total = matches!(metric.reads, Reads::RateToTotal(_) | Reads::ScoreToTotal(_));
    let own = |sides: &[(StatePeople, Option<f64>)], form| {
        vec![Arrangement::of_rows(of, sides).into_evidence(of, metric, form)]
    };
    let direction = |from: &'a str, to: &'a str| {
        (vec![(from, to)], of.effective(base, ["direction", from, to]))
    };
    let (from, to) = (seen.from.as_str(), seen.to.as_str());
    let is_set = !of.question.counterfactual.is_empty();
    let candidates = match seen.scope.as_str() {
        "group" => own(&[of_group(from)?], ValueForm::Own),
        "total" if !is_set => {
            let sure = of.effective(metric.id, ["total", "", ""]);
            own(&[(all()?, sure)], ValueForm::Own)
        }
        "pair" => gap([of_group(from)?, of_group(to)?]),
        "one_vs_rest" if to.is_empty() => gap([of_group(from)?, rest_of(from)?]),
        "one_vs_rest" => gap([rest_of(to)?, of_group(to)?]),
        "worst_case" => return furthest(of, metric, to_total),
        "direction" => {
            let all = Arrangement::of_directions(of, &[direction(from, to)])?;
            vec![all.into_evidence(of, metric, ValueForm::Switch)]
        }
        "difference" => {
            let all = Arrangement::of_directions(of, &[direction(from, to), direction(to, from)])?;
            vec![all.into_evidence(of, metric, ValueForm::SwitchGap)]
        }
        "total" => {
            let groups = of.groups();
            let others = groups.iter().flat_map(|from| {
                let to = groups.iter().filter(move |to| *to != from);
                to.map(move |to| (*from, *to))
            });
            let sure = of.effective(metric.id, ["total", "", ""]);
            let all = Arrangement::of_directions(of, &[(others.collect(), sure)])?;
            vec![all.into_evidence(of, metric, ValueForm::Switch)]
        }
        _ => return None,
    };
    let value = of.value()?;
    candidates.into_iter().find_map(|evidence| {
        let known = evidence.known()?;
        is_near(known.value, value).then(|| vec![Evidence { base: known, ..evidence }])
    })
}

/// Whether a value that is computed again is the one of the table.
fn is_near(found: f64, value: f64) -> bool {
    (found - value).abs() <= SAME * value.abs().max(1.0)
}

/// The evidence of the groups that are furthest apart: of each two, in both orders, or of each
/// group against the rest.
fn furthest<'a>(
    of: &PeopleTables<'a>,
    metric: &'static Metric,
    to_total: bool,
) -> Option<Vec<Evidence<'a>>> {
    let base = PeopleTables::base(metric);
    let mut groups = Vec::new();
    for group in of.groups() {
        let sure = of.effective(base, ["group", group, ""]);
        groups.push((of.people("group", group)?, sure));
    }
    let favourable = of.question.favourable.unwrap_or(FavourableClass::Positive);
    let mut all = Vec::new();
    for (i, group) in groups.iter().enumerate() {
        let others = groups.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, other)| other);
        if to_total {
            let mut rest = StatePeople::default();
            others.for_each(|other| rest.add(&other.0));
            let sides = [*group, (rest, group.1)];
            all.push(Arrangement::of_rows(of, &sides).into_evidence(
                of,
                metric,
                ValueForm::ToTotal,
            ));
        } else {
            let form = ValueForm::Gap { favourable, swapped: false };
            all.extend(others.map(|other| {
                Arrangement::of_rows(of, &[*group, *other]).into_evidence(of, metric, form)
            }));
        }
    }
    // Ratios run from the lowest to the highest, distances from the highest to the lowest.
    let is_ratio = matches!(
        metric.reads,
        Reads::RateRatio(_)
            | Reads::FavourableMinRatio
            | Reads::FavourableRatio
            | Reads::ScoreRatio(_)
    );
    let further = |a: Computed, b: Computed| {
        let value = if is_ratio { a.value.min(b.value) } else { a.value.max(b.value) };
        let ends = a.ends.zip(b.ends).map(|(a, b)| {
            if is_ratio { (a.0.min(b.0), a.1.min(b.1)) } else { (a.0.max(b.0), a.1.max(b.1)) }
        });
        Computed { value, ends }
    };
    let base = all.iter().filter_map(Evidence::known).reduce(further)?;
    if !is_near(base.value, of.value()?) {
        return None;
    }
    // A pair without a value, as of a group of which nobody is measured, cannot be computed.
    all.iter_mut().for_each(|evidence| evidence.base = base);
    Some(all)
}

/// People who were not measured, as sentences say it: by what they lack.
struct LackingPeople(Vec<(Lack, u64)>);

impl LackingPeople {
    fn of<'a>(unknown: impl Iterator<Item = &'a UnknownPeople>) -> Self {
        let mut all: Vec<(Lack, u64)> = Vec::new();
        for UnknownPeople { lack, rows, .. } in unknown {
            match all.iter_mut().find(|(of, _)| of == lack) {
                Some((_, n)) => *n += rows,
                None => all.push((*lack, *rows)),
            }
        }
        all.sort();
        LackingPeople(all)
    }

    fn n(&self) -> u64 {
        self.0.iter().map(|(_, n)| n).sum()
    }
}

/// That so many of these people would be enough to break the limit.
fn breaking(
    of: &PeopleTables<'_>,
    lacking: &LackingPeople,
    (enough, end): (u64, f64),
) -> GateReason {
    let worst = match of.question.decide_by {
        GateDecideBy::Estimate if of.seen.is_change => WorstOf::Change,
        GateDecideBy::Estimate => WorstOf::Value,
        _ => WorstOf::Interval,
    };
    let lacking = lacking.0.iter().copied().filter(|(_, n)| *n > 0).collect();
    GateReason::UnmeasuredPeople { lacking, enough, worst, end: finite(end) }
}

/// That only the people of the earlier run could break the limit.
fn of_earlier_run(end: f64) -> GateReason {
    let (lacking, worst) = (Vec::new(), WorstOf::Interval);
    GateReason::UnmeasuredPeople { lacking, enough: 0, worst, end: finite(end) }
}

/// That the people who were not measured could break a limit that the others keep, in words, with
/// how many of them would be enough; none where they could not.
pub(super) fn could_break(
    question: &GateQuestion,
    seen: &GateObservation,
    tables: GateTables<'_>,
) -> Option<GateReason> {
    let metric = find(&seen.metric).filter(|metric| metric.family != MetricFamily::Graph)?;
    let of = &PeopleTables::new(question, seen, tables);
    // The earlier run at its other end: the change is larger by what it could have been less.
    let of_old = match (question.limit, seen.old_ends.filter(|_| seen.is_change)) {
        (GateLimit::AtMost(_), Some((least, _))) => seen.baseline.map_or(0.0, |old| old - least),
        (GateLimit::AtLeast(_), Some((_, most))) => seen.baseline.map_or(0.0, |old| old - most),
        (_, None) => 0.0,
    };
    let limit = question.limit;
    let Some(all) = evidence(of, metric) else { return by_range(of, metric, of_old) };
    if of_old == 0.0 && all.iter().all(|evidence| evidence.unknown.is_empty()) {
        return None;
    }
    let mut found: Option<(&Evidence<'_>, Vec<Option<usize>>, f64)> = None;
    for evidence in &all {
        let Some((at, worst)) = evidence.worst() else { continue };
        let end = worst + of_old;
        let is_worse = found.as_ref().is_none_or(|of| limit.excess(end) > limit.excess(of.2));
        if is_worse {
            found = Some((evidence, at, end));
        }
    }
    let (evidence, at, end) = found?;
    if limit.kept_by(end) {
        return None;
    }
    let enough = evidence.enough(&at, of_old).unwrap_or(0);
    let standing = evidence.unknown.iter().zip(&at).filter(|(_, at)| at.is_some());
    let lacking = LackingPeople::of(standing.map(|(unknown, _)| unknown));
    if lacking.n() == 0 {
        return (of_old != 0.0).then(|| of_earlier_run(end));
    }
    Some(breaking(of, &lacking, (enough, end)))
}

/// The least and the most that a value could be with everybody measured.
pub(super) fn extremes(
    question: &GateQuestion,
    seen: &GateObservation,
    tables: GateTables<'_>,
) -> Option<(f64, f64)> {
    let metric = find(&seen.metric).filter(|metric| metric.family != MetricFamily::Graph)?;
    let ends = [GateLimit::AtLeast(0.0), GateLimit::AtMost(0.0)].map(|limit| {
        let question = GateQuestion {
            limit,
            quantity: GateQuantity::Value,
            decide_by: GateDecideBy::Estimate,
            ..question.clone()
        };
        let of = &PeopleTables::new(&question, seen, tables);
        match evidence(of, metric) {
            Some(all) => {
                let each = all.iter().filter_map(|evidence| Some(evidence.worst()?.1));
                each.reduce(|a, b| if limit.excess(b) > limit.excess(a) { b } else { a })
            }
            None => Some(RangeBound::of(of, metric)?.end(u64::MAX)),
        }
    });
    ends[0].zip(ends[1])
}

/// How people move a value that counts do not give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Movement {
    /// A mean over people, or a difference of two: each person adds a number of the range.
    Mean,
    /// The root of a mean of squares.
    RootOfMean,
    /// A share of pairs of a positive and a negative person, or a difference of two.
    Pairs,
    /// A share of people who switch to any group: whom one direction counts may yet switch in
    /// another.
    AnySwitch,
    /// Few people may move it through its whole range: a sum below it may be small, or they may
    /// undo a distance of others.
    WholeRange,
}

/// Whether a value is a share of people, or a difference of two, whose interval is Wilson's or
/// Newcombe's.
fn is_rate(reads: Reads) -> bool {
    matches!(
        reads,
        Reads::Rate(_)
            | Reads::RateDifference(_)
            | Reads::SwitchRate(_)
            | Reads::SwitchByFavour { .. }
            | Reads::AnySwitch(_)
            | Reads::Amount(AmountSubject::Share)
    )
}

impl Movement {
    fn of(metric: &Metric, is_upper: bool) -> Self {
        use ScoreReading::{
            Auc, AucGap, Brier, BrierGap, CrossAuc, CrossAucGap, Ecce, EcceDistance,
        };
        match metric.reads {
            Reads::AnySwitch(_) if is_upper => Movement::AnySwitch,
            reads if is_rate(reads) => Movement::Mean,
            Reads::Scored(Brier | BrierGap) => Movement::Mean,
            Reads::Shift(_) if ["mcd", "macd"].contains(&metric.id) => Movement::Mean,
            Reads::Shift(_) if metric.id == "rmscd" => Movement::RootOfMean,
            Reads::Scored(Auc | AucGap | CrossAuc | CrossAucGap) => Movement::Pairs,
            // Distances: others may undo them, and add to them no more than a mean does.
            Reads::WidestGap(_) | Reads::RateToTotal(_) if is_upper => Movement::Mean,
            Reads::Scored(Ecce | EcceDistance) if is_upper => Movement::Mean,
            Reads::Shift(_) if is_upper && metric.id == "jsd_hist" => Movement::Mean,
            _ => Movement::WholeRange,
        }
    }
}

/// People of a group by label, unknown, no or yes: those who have what a value needs, and those
/// without a score.
#[derive(Debug, Clone, Copy, Default)]
struct ScoredPeople {
    known: [u64; 3],
    lacking: [u64; 3],
}

/// A rate behind a value: its cases, and how many people would be as sure as one of them.
#[derive(Debug, Clone, Copy)]
struct RateSide {
    value: f64,
    cases: f64,
    sure: f64,
}

/// What people could do to a value that counts do not give, by the range of its metric.
struct RangeBound {
    movement: Movement,
    value: f64,
    /// The end that is judged.
    end: f64,
    /// The worst number of the metric.
    worst: f64,
    /// People behind the value, on its smaller side.
    known: u64,
    /// The least share of positive and of negative people who have a score.
    labelled: [f64; 2],
    lacking: LackingPeople,
    /// In how many directions a person has counterfactuals.
    targets: u64,
    is_upper: bool,
    is_weighed: bool,
    /// The rates whose intervals are judged by a formula, of a difference the first minus the
    /// second; of the groups that are furthest apart all; empty where no formula applies.
    sides: Vec<RateSide>,
    is_furthest: bool,
    z: f64,
}

impl RangeBound {
    fn of(of: &PeopleTables<'_>, metric: &'static Metric) -> Option<Self> {
        let PeopleTables { question, seen, tables, .. } = of;
        let groups = of.groups();
        let declared: Vec<&str> = if groups.is_empty() {
            let own = tables.population.iter().filter(|row| {
                row.is_of_model(&question.model) && row.declared && row.sensitive == seen.sensitive
            });
            own.filter_map(|row| row.group.as_deref()).collect()
        } else {
            groups
        };
        let own: Vec<&str> = match seen.scope.as_str() {
            "group" | "direction" => vec![seen.from.as_str()],
            "pair" | "difference" => vec![seen.from.as_str(), seen.to.as_str()],
            _ => declared.clone(),
        };
        let whole = |n: i64| u64::try_from(n).unwrap_or(0);
        let people = |group: &str| {
            let row = of.population(Some(group));
            let mut found = ScoredPeople::default();
            if let Some(all) = of.people("group", group) {
                let by_label = all.by_label();
                found.lacking = all.unscored();
                found.known = [0, 1, 2].map(|label| by_label[label] - found.lacking[label]);
            } else if let Some(row) = row {
                let unlabelled = if metric.needs_label { row.without_label } else { None };
                let others = row.unscored() + whole(unlabelled.unwrap_or(0));
                found.known[0] = whole(row.rows).saturating_sub(others);
            }
            // Whom counts do not tell the population does; nothing tells their labels.
            let told: u64 = found.lacking.iter().sum();
            let lacking = row.map_or(0, PopulationRow::unscored);
            (found, lacking.saturating_sub(told))
        };
        let by_label = |people: [u64; 3]| {
            if metric.needs_label { people[1] + people[2] } else { people.iter().sum() }
        };
        let none = of.none.by_label();
        let without_group = if none.iter().sum::<u64>() > 0 {
            by_label(none)
        } else {
            let audited = of.ungrouped().filter(|_| !has_counts(of));
            let none = of.population(None).or(audited);
            none.filter(|_| !of.ungrouped_are_weightless()).map_or(0, |row| whole(row.rows))
        };
        let each: Vec<(ScoredPeople, u64)> = own.iter().map(|group| people(group)).collect();
        let known_people = |of: &(ScoredPeople, u64)| match of.0.known {
            [of_all, 0, 0] => of_all,
            known => by_label(known),
        };
        let own_people = each.iter().map(known_people);
        let smallest: u64 = match seen.scope.as_str() {
            "total" => own_people.sum(),
            _ => own_people.min().unwrap_or(0),
        };
        let unscored: u64 = each.iter().map(|(of, more)| by_label(of.lacking) + more).sum();
        let labelled = [2, 1].map(|label: usize| {
            let shares = each.iter().map(|(of, more)| {
                let all = of.known[label] + of.lacking[label] + more + none[label];
                of.known[label] as f64 / all.max(1) as f64
            });
            shares.fold(1.0, f64::min)
        });
        let is_set = !question.counterfactual.is_empty();
        let (from, to) = (seen.from.as_str(), seen.to.as_str());
        let places: Vec<[&str; 3]> = match seen.scope.as_str() {
            scope @ ("group" | "direction" | "total") => vec![[scope, from, to]],
            "pair" => vec![["group", from, ""], ["group", to, ""]],
            "difference" => vec![["direction", from, to], ["direction", to, from]],
            _ => own.iter().map(|group| ["group", *group, ""]).collect(),
        };
        let base = if is_set { metric.id } else { PeopleTables::base(metric) };
        let rows: Vec<Option<&MetricRow>> =
            places.iter().map(|place| of.metric(base, *place)).collect();
        let below = rows
            .iter()
            .flatten()
            .map(|row| whole(row.denominator.map_or(row.n_rows, |cases| cases.min(row.n_rows))));
        let of_rows = if is_set { whole(seen.n_rows) } else { smallest };
        let known = below.fold(of_rows, u64::min).max(1);
        // Who has a decision, and no valid counterfactual.
        let untested = if is_set {
            let sets = tables.population.iter().filter(|row| {
                row.model.as_ref().is_some_and(|of| *of == question.model)
                    && row.counterfactual.as_ref().is_some_and(|of| *of == question.counterfactual)
                    && row.sensitive == seen.sensitive
                    && row
                        .group
                        .as_ref()
                        .is_some_and(|of| own.is_empty() || own.contains(&of.as_str()))
            });
            let lacking = sets.map(|row| whole(row.without_counterfactual.unwrap_or(0)));
            let lacking = lacking.sum::<u64>();
            let counted: Option<u64> = own.iter().map(|group| of.untested(group, &declared)).sum();
            // Arms audit other people than the population tells of.
            let all = match counted {
                Some(counted) if !question.arm.is_empty() => counted,
                counted => lacking.max(counted.unwrap_or(0)),
            };
            all.saturating_sub(unscored)
        } else {
            0
        };
        let lacking = [
            (Lack::Group, without_group),
            (Lack::Score, unscored),
            (Lack::Counterfactual, untested),
        ];
        let is_upper = matches!(question.limit, GateLimit::AtMost(_));
        let value = seen.value?;
        let end = match question.decide_by {
            GateDecideBy::Estimate => value,
            _ => seen.lo.zip(seen.hi).map_or(value, |(lo, hi)| if is_upper { hi } else { lo }),
        };
        // The others of one group have no row of their own.
        let by_formula = is_rate(metric.reads)
            && seen.scope != "one_vs_rest"
            && seen.lo.is_some()
            && !seen.is_change
            && question.decide_by == GateDecideBy::Interval;
        let sides = rows.iter().zip(&places).map(|(row, place)| {
            let row = (*row)?;
            let cases = row.denominator? as f64;
            Some(RateSide { value: row.value?, cases, sure: of.effective(base, *place)? })
        });
        let sides = if by_formula { sides.collect::<Option<Vec<_>>>() } else { None };
        Some(RangeBound {
            movement: Movement::of(metric, is_upper),
            value: of.value()?,
            end,
            worst: if is_upper { metric.range.1 } else { metric.range.0 },
            known,
            labelled,
            lacking: LackingPeople(lacking.to_vec()),
            targets: (declared.len() as u64).saturating_sub(1).max(1),
            is_upper,
            is_weighed: tables.population.iter().any(|row| row.weight.is_some()),
            sides: sides.unwrap_or_default(),
            is_furthest: seen.scope == "worst_case",
            z: z_of_level(seen.level.unwrap_or(0.95)),
        })
    }

    /// The end with so many of the people at their worst.
    fn end(&self, people: u64) -> f64 {
        let all = self.lacking.n();
        let (n, m) = (self.known as f64, people.min(all) as f64);
        if m == 0.0 {
            return self.end;
        }
        if !self.worst.is_finite() {
            return self.worst;
        }
        let kept = match self.movement {
            // Who weighs how much nothing tells here.
            _ if self.is_weighed => 0.0,
            Movement::WholeRange => 0.0,
            Movement::Mean => n / (n + m),
            Movement::RootOfMean => {
                let squares = n * self.value.powi(2) + m * self.worst.powi(2);
                return self.end + (squares / (n + m)).sqrt() - self.value.abs();
            }
            Movement::Pairs => {
                let part = m / all as f64;
                let share = |kept: f64| kept / (kept + (1.0 - kept) * part);
                if self.labelled.contains(&0.0) {
                    0.0
                } else {
                    self.labelled.map(share).iter().product()
                }
            }
            Movement::AnySwitch => {
                let more = m * self.targets as f64 / n;
                let ends = self.sides.first().map(|side| {
                    let share = (side.value + more).min(1.0);
                    let sure = side.cases * side.sure;
                    wilson_of_share(share, sure, self.z, IntervalProcedure::Wilson).hi
                });
                return (self.end + more).min(1.0).max(self.end).max(ends.unwrap_or(0.0));
            }
        };
        let shifted = self.end + (1.0 - kept) * (self.worst - self.value);
        let formula = if self.movement == Movement::Mean { self.formula(m) } else { None };
        match formula {
            Some(formula) if self.is_upper => shifted.max(formula),
            Some(formula) => shifted.min(formula),
            None => shifted,
        }
    }

    /// The end by the formula of the interval with so many people at their worst on each side; none
    /// where no formula gives it.
    fn formula(&self, m: f64) -> Option<f64> {
        let moved = |side: &RateSide, up: bool| {
            let cases = side.cases + m;
            let share = (side.cases * side.value + if up { m } else { 0.0 }) / cases;
            let sure = cases * side.sure;
            (share, wilson_of_share(share, sure, self.z, IntervalProcedure::Wilson))
        };
        let pick = |of: ValueInterval| if self.is_upper { of.hi } else { of.lo };
        let minus = |a: &RateSide, b: &RateSide| {
            let [(p, of_p), (q, of_q)] = [moved(a, self.is_upper), moved(b, !self.is_upper)];
            pick(newcombe_of((p, q), (of_p, of_q), 0.0, IntervalProcedure::Newcombe))
        };
        match self.sides.as_slice() {
            [] => None,
            [one] => Some(pick(moved(one, self.is_upper).1)),
            [a, b] if !self.is_furthest => Some(minus(a, b)),
            all if self.is_furthest && self.is_upper => {
                let each = all.iter().enumerate().flat_map(|(i, a)| {
                    let others = all.iter().enumerate().filter(move |(j, _)| *j != i);
                    others.map(move |(_, b)| minus(a, b))
                });
                each.reduce(f64::max)
            }
            _ => None,
        }
    }
}

/// Whether the table of counts holds the model of a question.
fn has_counts(of: &PeopleTables<'_>) -> bool {
    !of.question.class.is_empty() || !of.groups().is_empty()
}

/// The same where counts do not give the value.
fn by_range(of: &PeopleTables<'_>, metric: &'static Metric, of_old: f64) -> Option<GateReason> {
    let (bound, limit) = (RangeBound::of(of, metric)?, of.question.limit);
    let all = bound.lacking.n();
    let end = bound.end(all) + of_old;
    if limit.kept_by(end) {
        return None;
    }
    if all == 0 {
        return (of_old != 0.0).then(|| of_earlier_run(end));
    }
    let (mut few, mut many) = (0, all);
    while many - few > 1 {
        let middle = u64::midpoint(few, many);
        let breaks = !limit.kept_by(bound.end(middle) + of_old);
        if breaks { many = middle } else { few = middle }
    }
    Some(breaking(of, &bound.lacking, (many, end)))
}
