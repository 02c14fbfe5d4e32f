//! What the people who were not measured could do to a value that counts do not give, by the range
//! of its metric.

use super::value::people_with_others;
use super::worst_case::{LackingPeople, WorstCase};
use crate::gate::decide_by::GateDecideBy;
use crate::gate::evidence::SureRate;
use crate::gate::people::{PeopleTables, by_label, unscored};
use crate::gate::question::{GateCase, GateLimit, GateQuestion};
use crate::gate::reason::Lack;
use crate::metric::{AmountSubject, GapTransform, GroupValue, Metric, Reads, ScoreReading};
use crate::table::{MetricRow, PopulationRow};

/// How people move a value that counts do not give.
#[derive(Debug, PartialEq)]
enum Movement {
    /// A mean over people, or a difference of two: each person adds a number of the range.
    Mean,
    /// The root of a mean of squares: the values behind it, its own or those of the two directions
    /// whose difference it is, each with its worst number.
    RootOfMean(Vec<(f64, f64)>),
    /// A share of pairs of a positive and a negative person, or a difference of two: the least
    /// share of positive and of negative people who have a score.
    Pairs([f64; 2]),
    /// A share of people who switch to any group, of so many: a person whom one direction counts
    /// may still switch in another.
    AnySwitch(u64),
    /// Few people may move it through its whole range: a sum below it may be small, or they may
    /// undo a distance of others.
    WholeRange,
}

/// Whether a value is a share of people, or a difference of two, whose interval is Wilson's or
/// Newcombe's.
fn is_rate(reads: Reads) -> bool {
    matches!(
        reads,
        Reads::Group(GroupValue::Rate(_), None | Some(GapTransform::Difference))
            | Reads::SwitchRate(_)
            | Reads::SwitchByFavour { .. }
            | Reads::AnySwitch(_)
            | Reads::Amount(AmountSubject::Share)
    )
}

/// A number of a table that is not below 0.
fn whole(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

/// People of a group by label, unknown, no or yes: those who have what a value needs, and those
/// without a score.
#[derive(Debug, Clone, Copy, Default)]
struct ScoredPeople {
    known: [u64; 3],
    lacking: [u64; 3],
    /// Those without a score who are only in the table `population`, without their labels.
    untold: u64,
}

impl ScoredPeople {
    fn of(people: &PeopleTables<'_>, group: &str, needs_label: bool) -> Self {
        let row = people.population(Some(group));
        let mut found = ScoredPeople::default();
        if let Some(rows) = people.rows_of(group) {
            (found.known, found.lacking) = (by_label(&rows), unscored(&rows));
            (0..3).for_each(|label| found.known[label] -= found.lacking[label]);
        } else if let Some(row) = row {
            let unlabelled = row.without_label.filter(|_| needs_label);
            let others = row.unscored() + whole(unlabelled.unwrap_or(0));
            found.known[0] = whole(row.rows).saturating_sub(others);
        }
        let told: u64 = found.lacking.iter().sum();
        // Arms audit other people than those in the table `population`.
        let row = row.filter(|_| people.case.question.arm.is_empty() || !people.has_counts());
        found.untold = row.map_or(0, PopulationRow::unscored).saturating_sub(told);
        found
    }
}

/// A rate behind a value: its cases, and how many people would be as precise as one of them.
#[derive(Debug, Clone, Copy)]
struct RateSide {
    rate: f64,
    cases: f64,
    precision: f64,
}

/// What people could do to a value that counts do not give, by the range of its metric.
pub(super) struct RangeBound<'a> {
    people: &'a PeopleTables<'a>,
    movement: Movement,
    /// The value of the run.
    value: f64,
    /// The end that is judged.
    end: f64,
    /// The worst number that the value can have.
    worst: f64,
    /// People behind the value, on its smaller side.
    known: u64,
    lacking: LackingPeople,
    /// The rates whose intervals are judged by a formula, of a difference the first minus the
    /// second; for the groups that are furthest apart, all of them; empty where no formula applies.
    sides: Vec<RateSide>,
}

impl<'a> RangeBound<'a> {
    pub(super) fn of(people: &'a PeopleTables<'a>, metric: &'static Metric) -> Option<Self> {
        let GateCase { question, observed, .. } = people.case;
        let [scope, from, to] = observed.place();
        let own: Vec<&str> = match scope {
            "group" => vec![from],
            "direction" if !question.counterfactual.is_empty() => vec![from],
            "pair" | "difference" | "direction" => vec![from, to],
            _ => people.groups(),
        };
        let each = own.iter().map(|group| ScoredPeople::of(people, group, metric.needs_label));
        let each: Vec<ScoredPeople> = each.collect();
        let is_set = !question.counterfactual.is_empty();
        let places: Vec<[&str; 3]> = match scope {
            "group" | "direction" | "total" | "pair" | "difference" => observed.sides(),
            _ => own.iter().map(|group| ["group", *group, ""]).collect(),
        };
        let base = if is_set { metric.id } else { PeopleTables::base(metric) };
        let rows: Vec<Option<&MetricRow>> =
            places.iter().map(|place| people.case.row(base, *place)).collect();
        let of_rows = if is_set {
            whole(observed.row.n_rows)
        } else {
            let sizes = each.iter().map(|group| match group.known {
                [unlabelled, 0, 0] => unlabelled,
                known => counted(metric.needs_label, known),
            });
            if scope == "total" { sizes.sum() } else { sizes.min().unwrap_or(0) }
        };
        let below = rows.iter().flatten();
        let below = below.map(|row| whole(row.denominator.unwrap_or(i64::MAX).min(row.n_rows)));
        // The others of one group have no row of their own.
        let by_formula = is_rate(metric.reads)
            && scope != "one_vs_rest"
            && observed.row.lo.is_some()
            && !observed.is_change
            && question.decide_by == GateDecideBy::Interval;
        let sides = rows.iter().zip(&places).map(|(row, place)| {
            let row = (*row)?;
            let (cases, precision) = (row.denominator? as f64, people.precision(base, *place)?);
            Some(RateSide { rate: row.value?, cases, precision })
        });
        let sides = if by_formula { sides.collect::<Option<Vec<_>>>() } else { None };
        let value = people.value()?;
        let facing = |range| question.limit.facing(range);
        let roots = || {
            if !metric.is_gap_in(scope) {
                return Some(vec![(value, facing(metric.range))]);
            }
            // The second direction does the opposite.
            let (lo, hi) = metric.range;
            let each = rows.iter().zip([facing((lo, hi)), facing((hi, lo))]);
            each.map(|(row, worst)| Some(((*row)?.value?, worst))).collect()
        };
        let labelled = || {
            let none = by_label(&people.ungrouped);
            // The positive people of one group among the negative ones of the other.
            let is_across = scope == "direction" && each.len() == 2;
            [(2, 0), (1, 1)].map(|(label, side): (usize, usize)| {
                let own = if is_across { &each[side..=side] } else { &each[..] };
                let shares = own.iter().map(|group| {
                    let known = group.known[label];
                    let all = known + group.lacking[label] + group.untold + none[label];
                    known as f64 / all.max(1) as f64
                });
                shares.fold(1.0, f64::min)
            })
        };
        use ScoreReading::{Auc, Brier, CrossAuc, Ecce, EcceDistance};
        // A difference of two directions moves up where the second one moves down.
        let is_upper = matches!(question.limit, GateLimit::AtMost(_)) && !metric.is_gap_in(scope);
        let movement = match metric.reads {
            Reads::AnySwitch(_) if is_upper => {
                Movement::AnySwitch((people.groups().len() as u64).saturating_sub(1).max(1))
            }
            reads if is_rate(reads) => Movement::Mean,
            Reads::Scored(Brier, _) => Movement::Mean,
            Reads::Shift(_) if ["mcd", "macd"].contains(&metric.id) => Movement::Mean,
            Reads::Shift(_) if metric.id == "rmscd" => {
                roots().map_or(Movement::WholeRange, Movement::RootOfMean)
            }
            Reads::Scored(Auc | CrossAuc, _) => Movement::Pairs(labelled()),
            // Distances: others may undo them, and add to them no more than a mean does.
            Reads::Group(GroupValue::TwoRates(_), _)
            | Reads::Group(GroupValue::Rate(_), Some(GapTransform::ToTotal))
            | Reads::Scored(Ecce | EcceDistance, _)
                if is_upper =>
            {
                Movement::Mean
            }
            Reads::Shift(_) if is_upper && metric.id == "jsd_hist" => Movement::Mean,
            _ => Movement::WholeRange,
        };
        Some(RangeBound {
            people,
            movement,
            value,
            end: people.case.end()?,
            worst: facing(metric.range_in(scope)),
            known: below.fold(of_rows, u64::min).max(1),
            lacking: lacking(people, metric.needs_label, &own),
            sides: sides.unwrap_or_default(),
        })
    }

    /// Its worst case.
    pub(super) fn worst_case(self) -> WorstCase<'a> {
        WorstCase {
            end: self.end(u64::MAX),
            lacking: self.lacking.clone(),
            of_decisions: false,
            with: Box::new(move |n| Some(self.end(n))),
        }
    }

    /// The end with a number of the people at their worst.
    fn end(&self, people: u64) -> f64 {
        let all: u64 = self.lacking.values().sum();
        let (n, m) = (self.known as f64, people.min(all) as f64);
        if m == 0.0 {
            return self.end;
        }
        if !self.worst.is_finite() {
            return self.worst;
        }
        let GateCase { question, observed, tables } = self.people.case;
        let kept = match &self.movement {
            // The weight of each person is not known here.
            _ if tables.population.iter().any(|row| row.weight.is_some()) => 0.0,
            Movement::WholeRange => 0.0,
            Movement::Mean => n / (n + m),
            Movement::RootOfMean(roots) => {
                let moved = |&(value, worst): &(f64, f64)| {
                    let squares = n * value.powi(2) + m * worst.powi(2);
                    (squares / (n + m)).sqrt() - value.abs()
                };
                let moves = roots.iter().map(moved);
                return self.end + moves.reduce(|first, second| first - second).unwrap_or(0.0);
            }
            Movement::Pairs(labelled) if labelled.contains(&0.0) => 0.0,
            Movement::Pairs(labelled) => {
                let part = m / all as f64;
                labelled.map(|kept| kept / (kept + (1.0 - kept) * part)).iter().product()
            }
            Movement::AnySwitch(targets) => {
                let more = m * *targets as f64 / n;
                let of_side = self.sides.first().map_or(0.0, |side| {
                    let rate = (side.rate + more).min(1.0);
                    SureRate { rate, ..self.with_others(side, [m, 0.0]) }.ends(observed.z()).1
                });
                return (self.end + more).min(1.0).max(self.end).max(of_side);
            }
        };
        let shifted = self.end + (1.0 - kept) * (self.worst - self.value);
        let formula = if self.movement == Movement::Mean { self.formula(m) } else { None };
        formula.map_or(shifted, |formula| question.limit.worse(shifted, formula))
    }

    /// A rate with this many more cases and non-cases. Where people are unequal, the others may all
    /// be rows of one person.
    fn with_others(&self, side: &RateSide, [yes, no]: [f64; 2]) -> SureRate {
        let (known, cases) = (side.cases, side.cases + yes + no);
        let part = known * side.rate;
        let people = if self.people.are_unequal() {
            let of_known = [part, known];
            people_with_others(of_known, of_known, known * side.precision, [yes, no])
        } else {
            cases * side.precision
        };
        SureRate { rate: (part + yes) / cases, people }
    }

    /// The end by the formula of the interval with this many people at their worst on each side;
    /// none where no formula gives it.
    fn formula(&self, m: f64) -> Option<f64> {
        let GateCase { question: GateQuestion { limit, .. }, observed, .. } = self.people.case;
        let moved = |side: &RateSide, up: bool| {
            self.with_others(side, if up { [m, 0.0] } else { [0.0, m] })
        };
        let (z, is_upper) = (observed.z(), matches!(limit, GateLimit::AtMost(_)));
        let minus = |a: &RateSide, b: &RateSide| {
            limit.facing(moved(a, is_upper).minus(moved(b, !is_upper), z))
        };
        match self.sides.as_slice() {
            [one] => Some(limit.facing(moved(one, is_upper).ends(z))),
            all if observed.place()[0] == "worst_case" => {
                let each = all.iter().enumerate().flat_map(|(i, a)| {
                    let others = all.iter().enumerate().filter(move |(j, _)| *j != i);
                    others.map(move |(_, b)| minus(a, b))
                });
                each.filter(|_| is_upper).reduce(f64::max)
            }
            [a, b] => Some(minus(a, b)),
            _ => None,
        }
    }
}

/// People by label, whom a value counts only with a label where it needs one.
fn counted(needs_label: bool, people: [u64; 3]) -> u64 {
    if needs_label { people[1] + people[2] } else { people.iter().sum() }
}

/// The people of groups who lack what a value needs, and those without a group.
pub(super) fn lacking(people: &PeopleTables<'_>, needs_label: bool, own: &[&str]) -> LackingPeople {
    let GateCase { question, observed, tables } = people.case;
    let each = own.iter().map(|group| ScoredPeople::of(people, group, needs_label));
    let none = by_label(&people.ungrouped);
    let without_group = if none.iter().sum::<u64>() > 0 {
        counted(needs_label, none)
    } else {
        let audited = people.audited_without_group().filter(|_| !people.has_counts());
        let none = people.population(None).or(audited);
        none.filter(|_| !people.ungrouped_are_weightless()).map_or(0, |row| whole(row.rows))
    };
    let unscored = each.map(|group| counted(needs_label, group.lacking) + group.untold).sum();
    // People with a decision and without a valid counterfactual.
    let untested = if question.counterfactual.is_empty() {
        0
    } else {
        let is_own = |group: &str| own.is_empty() || own.contains(&group);
        let of_set = tables.population.iter().filter(|row| {
            row.model.as_deref() == Some(&question.model)
                && row.counterfactual.as_deref() == Some(&question.counterfactual)
                && row.sensitive == observed.row.key.sensitive
                && row.group.as_deref().is_some_and(is_own)
        });
        let told: u64 = of_set.map(|row| whole(row.without_counterfactual.unwrap_or(0))).sum();
        let counted: Option<u64> = own.iter().map(|group| people.untested(group)).sum();
        // Arms audit other people than those in the table `population`.
        let all = match counted {
            Some(counted) if !question.arm.is_empty() => counted,
            counted => told.max(counted.unwrap_or(0)),
        };
        all.saturating_sub(unscored)
    };
    [(Lack::Group, without_group), (Lack::Score, unscored), (Lack::Counterfactual, untested)].into()
}
