//! What the people who were not measured could do to a value that counts do not give, by the range
//! of its metric.

use super::value::{difference_ends, people_with_others, share_ends};
use super::worst_case::{LackingPeople, WorstCase};
use crate::gate::decide_by::GateDecideBy;
use crate::gate::people::PeopleTables;
use crate::gate::question::{GateCase, GateLimit};
use crate::gate::reason::Lack;
use crate::metric::interval::z_of_level;
use crate::metric::{AmountSubject, GapTransform, GroupValue, Metric, Reads, ScoreReading};
use crate::param::Level;
use crate::table::{MetricRow, PopulationRow};

/// How people move a value that counts do not give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Movement {
    /// A mean over people, or a difference of two: each person adds a number of the range.
    Mean,
    /// The root of a mean of squares.
    RootOfMean,
    /// A share of pairs of a positive and a negative person, or a difference of two.
    Pairs,
    /// A share of people who switch to any group: a person whom one direction counts may still
    /// switch in another.
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
        Reads::Group(GroupValue::Rate(_), None | Some(GapTransform::Difference))
            | Reads::SwitchRate(_)
            | Reads::SwitchByFavour { .. }
            | Reads::AnySwitch(_)
            | Reads::Amount(AmountSubject::Share)
    )
}

impl Movement {
    /// How it moves up, or down, in a scope. A difference of two directions moves up where the second
    /// one moves down.
    fn of(metric: &Metric, scope: &str, is_upper: bool) -> Self {
        use ScoreReading::{Auc, Brier, CrossAuc, Ecce, EcceDistance};
        let is_upper = is_upper && !metric.is_gap_in(scope);
        match metric.reads {
            Reads::AnySwitch(_) if is_upper => Movement::AnySwitch,
            reads if is_rate(reads) => Movement::Mean,
            Reads::Scored(Brier, _) => Movement::Mean,
            Reads::Shift(_) if ["mcd", "macd"].contains(&metric.id) => Movement::Mean,
            Reads::Shift(_) if metric.id == "rmscd" => Movement::RootOfMean,
            Reads::Scored(Auc | CrossAuc, _) => Movement::Pairs,
            // Distances: others may undo them, and add to them no more than a mean does.
            Reads::Group(GroupValue::TwoRates(_), _)
            | Reads::Group(GroupValue::Rate(_), Some(GapTransform::ToTotal))
                if is_upper =>
            {
                Movement::Mean
            }
            Reads::Scored(Ecce | EcceDistance, _) if is_upper => Movement::Mean,
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
    /// Those without a score who are only in the table `population`, without their labels.
    untold: u64,
}

/// A rate behind a value: its cases, and how many people would be as precise as one of them.
#[derive(Debug, Clone, Copy)]
struct RateSide {
    value: f64,
    cases: f64,
    sure: f64,
}

/// What people could do to a value that counts do not give, by the range of its metric.
pub(super) struct RangeBound {
    movement: Movement,
    value: f64,
    /// The end that is judged.
    end: f64,
    /// The worst number that the value can have.
    worst: f64,
    /// For a root of a mean of squares the values behind it, its own or those of the two directions
    /// whose difference it is, each with its worst number.
    roots: Vec<(f64, f64)>,
    /// People behind the value, on its smaller side.
    known: u64,
    /// The least share of positive and of negative people who have a score.
    labelled: [f64; 2],
    lacking: LackingPeople,
    /// In how many directions a person has counterfactuals.
    targets: u64,
    limit: GateLimit,
    is_weighed: bool,
    /// Whether people may have several rows, or weights.
    are_unequal: bool,
    /// The rates whose intervals are judged by a formula, of a difference the first minus the
    /// second; for the groups that are furthest apart, all of them; empty where no formula applies.
    sides: Vec<RateSide>,
    is_furthest: bool,
    z: f64,
}

impl RangeBound {
    pub(super) fn of(of: &PeopleTables<'_>, metric: &'static Metric) -> Option<Self> {
        let GateCase { question, seen, tables } = of.case;
        let groups = of.groups();
        let declared: Vec<&str> = if groups.is_empty() {
            let own = tables.population.iter().filter(|row| {
                row.is_of_model(&question.model)
                    && row.declared
                    && row.sensitive == seen.row.key.sensitive
            });
            own.filter_map(|row| row.group.as_deref()).collect()
        } else {
            groups
        };
        let [scope, from, to] = seen.place();
        let own: Vec<&str> = match scope {
            "group" | "direction" => vec![from],
            "pair" | "difference" => vec![from, to],
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
            let told: u64 = found.lacking.iter().sum();
            found.untold = row.map_or(0, PopulationRow::unscored).saturating_sub(told);
            found
        };
        let by_label = |people: [u64; 3]| {
            if metric.needs_label { people[1] + people[2] } else { people.iter().sum() }
        };
        let none = of.none.by_label();
        let without_group = if none.iter().sum::<u64>() > 0 {
            by_label(none)
        } else {
            let audited = of.ungrouped().filter(|_| !of.has_counts());
            let none = of.population(None).or(audited);
            none.filter(|_| !of.ungrouped_are_weightless()).map_or(0, |row| whole(row.rows))
        };
        let each: Vec<ScoredPeople> = own.iter().map(|group| people(group)).collect();
        let own_people = each.iter().map(|of| match of.known {
            [of_all, 0, 0] => of_all,
            known => by_label(known),
        });
        let smallest: u64 = match scope {
            "total" => own_people.sum(),
            _ => own_people.min().unwrap_or(0),
        };
        let unscored: u64 = each.iter().map(|of| by_label(of.lacking) + of.untold).sum();
        let labelled = [2, 1].map(|label: usize| {
            let shares = each.iter().map(|of| {
                let all = of.known[label] + of.lacking[label] + of.untold + none[label];
                of.known[label] as f64 / all.max(1) as f64
            });
            shares.fold(1.0, f64::min)
        });
        let is_set = !question.counterfactual.is_empty();
        let places: Vec<[&str; 3]> = match scope {
            "group" | "direction" | "total" | "pair" | "difference" => seen.sides(),
            _ => own.iter().map(|group| ["group", *group, ""]).collect(),
        };
        let base = if is_set { metric.id } else { PeopleTables::base(metric) };
        let rows: Vec<Option<&MetricRow>> =
            places.iter().map(|place| of.case.row(base, *place)).collect();
        let below = rows
            .iter()
            .flatten()
            .map(|row| whole(row.denominator.map_or(row.n_rows, |cases| cases.min(row.n_rows))));
        let of_rows = if is_set { whole(seen.row.n_rows) } else { smallest };
        let known = below.fold(of_rows, u64::min).max(1);
        // People with a decision and without a valid counterfactual.
        let untested = if is_set {
            let is_own = |group: &str| own.is_empty() || own.contains(&group);
            let sets = tables.population.iter().filter(|row| {
                row.model.as_deref() == Some(&question.model)
                    && row.counterfactual.as_deref() == Some(&question.counterfactual)
                    && row.sensitive == seen.row.key.sensitive
                    && row.group.as_deref().is_some_and(is_own)
            });
            let lacking = sets.map(|row| whole(row.without_counterfactual.unwrap_or(0)));
            let lacking = lacking.sum::<u64>();
            let counted: Option<u64> = own.iter().map(|group| of.untested(group, &declared)).sum();
            // Arms audit other people than those in the table `population`.
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
        let value = seen.row.value?;
        let end = match question.decide_by {
            GateDecideBy::Estimate => value,
            _ => seen.row.lo.zip(seen.row.hi).map_or(value, |ends| question.limit.facing(ends)),
        };
        // The others of one group have no row of their own.
        let by_formula = is_rate(metric.reads)
            && scope != "one_vs_rest"
            && seen.row.lo.is_some()
            && !seen.is_change
            && question.decide_by == GateDecideBy::Interval;
        let sides = rows.iter().zip(&places).map(|(row, place)| {
            let row = (*row)?;
            let cases = row.denominator? as f64;
            Some(RateSide { value: row.value?, cases, sure: of.effective(base, *place)? })
        });
        let sides = if by_formula { sides.collect::<Option<Vec<_>>>() } else { None };
        let (value_of_run, (lo, hi)) = (of.value()?, metric.range);
        let facing = |range| question.limit.facing(range);
        let roots = if metric.is_gap_in(scope) {
            // The second direction does the opposite.
            let each = rows.iter().zip([facing((lo, hi)), facing((hi, lo))]);
            each.map(|(row, worst)| Some(((*row)?.value?, worst))).collect::<Option<Vec<_>>>()
        } else {
            Some(vec![(value_of_run, facing((lo, hi)))])
        };
        let movement = match Movement::of(metric, scope, is_upper) {
            Movement::RootOfMean if roots.is_none() => Movement::WholeRange,
            movement => movement,
        };
        Some(RangeBound {
            movement,
            value: value_of_run,
            end,
            worst: facing(metric.range_in(scope)),
            roots: roots.unwrap_or_default(),
            known,
            labelled,
            lacking: LackingPeople::from(lacking),
            targets: (declared.len() as u64).saturating_sub(1).max(1),
            limit: question.limit,
            are_unequal: of.are_unequal(),
            is_weighed: tables.population.iter().any(|row| row.weight.is_some()),
            sides: sides.unwrap_or_default(),
            is_furthest: scope == "worst_case",
            z: z_of_level(seen.row.level.unwrap_or(Level::DEFAULT.get())),
        })
    }

    /// Its worst case.
    pub(super) fn worst_case<'a>(self) -> WorstCase<'a> {
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
        let kept = match self.movement {
            // The weight of each person is not known here.
            _ if self.is_weighed => 0.0,
            Movement::WholeRange => 0.0,
            Movement::Mean => n / (n + m),
            Movement::RootOfMean => {
                let moved = |&(value, worst): &(f64, f64)| {
                    let squares = n * value.powi(2) + m * worst.powi(2);
                    (squares / (n + m)).sqrt() - value.abs()
                };
                let moves = self.roots.iter().map(moved);
                return self.end + moves.reduce(|first, second| first - second).unwrap_or(0.0);
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
                    share_ends((share, self.with_others(side, [m, 0.0]).1), self.z).1
                });
                return (self.end + more).min(1.0).max(self.end).max(ends.unwrap_or(0.0));
            }
        };
        let shifted = self.end + (1.0 - kept) * (self.worst - self.value);
        let formula = if self.movement == Movement::Mean { self.formula(m) } else { None };
        formula.map_or(shifted, |formula| self.limit.worse(shifted, formula))
    }

    /// A rate with this many more cases and non-cases, and the number of people who would be as
    /// precise. Where people are unequal, the others may all be rows of one person.
    fn with_others(&self, side: &RateSide, [yes, no]: [f64; 2]) -> (f64, f64) {
        let (known, cases) = (side.cases, side.cases + yes + no);
        let part = known * side.value;
        let people = if self.are_unequal {
            let of_known = [part, known];
            people_with_others(of_known, of_known, known * side.sure, [yes, no])
        } else {
            cases * side.sure
        };
        ((part + yes) / cases, people)
    }

    /// The end by the formula of the interval with this many people at their worst on each side;
    /// none where no formula gives it.
    fn formula(&self, m: f64) -> Option<f64> {
        let moved = |side: &RateSide, up: bool| {
            self.with_others(side, if up { [m, 0.0] } else { [0.0, m] })
        };
        let is_upper = matches!(self.limit, GateLimit::AtMost(_));
        let minus = |a: &RateSide, b: &RateSide| {
            let [a, b] = [moved(a, is_upper), moved(b, !is_upper)];
            self.limit.facing(difference_ends(a, b, self.z))
        };
        match self.sides.as_slice() {
            [] => None,
            [one] => Some(self.limit.facing(share_ends(moved(one, is_upper), self.z))),
            [a, b] if !self.is_furthest => Some(minus(a, b)),
            all if self.is_furthest && is_upper => {
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
