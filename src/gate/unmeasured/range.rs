//! What the people who were not measured could do to a value that counts do not give, by the range
//! of its metric.

use super::value::people_with_others;
use super::worst_case::{LackingPeople, WorstCase};
use crate::gate::decide_by::GateDecideBy;
use crate::gate::evidence::SureRate;
use crate::gate::objection::MANY_PEOPLE;
use crate::gate::people::{PeopleTables, ScoredPeople, by_label};
use crate::gate::question::{GateCase, GateLimit, GateQuestion};
use crate::gate::reason::Lack;
use crate::metric::{AmountSubject, GapTransform, GroupValue, Metric, Reads, ScoreReading};
use crate::table::{MetricRow, unsigned};

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
    metric: &'static Metric,
    /// The people of its groups.
    groups: Vec<ScoredPeople>,
    /// The rows of its sides, where the table of metrics has them.
    rows: Vec<Option<&'a MetricRow>>,
    /// The value of the run.
    value: f64,
    /// The end that is judged.
    end: f64,
    lacking: LackingPeople,
    /// The rates whose intervals are judged by a formula, of a difference the first minus the
    /// second; for the groups that are furthest apart, all of them; empty where no formula applies.
    sides: Vec<RateSide>,
}

impl<'a> RangeBound<'a> {
    pub(super) fn of(people: &'a PeopleTables<'a>, metric: &'static Metric) -> Option<Self> {
        let GateCase { question, observed, .. } = people.case;
        let scope = observed.place()[0];
        let own = people.own_groups();
        let groups = own.iter().map(|group| ScoredPeople::of(people, group, metric.needs_label));
        let places: Vec<[&str; 3]> = match scope {
            "one_vs_rest" | "worst_case" => own.iter().map(|of| ["group", *of, ""]).collect(),
            _ => observed.sides(),
        };
        let is_factual = question.counterfactual.is_empty();
        let base = if is_factual { PeopleTables::base(metric) } else { metric.id };
        let rows = places.iter().map(|place| people.case.row(base, *place));
        let rows: Vec<Option<&MetricRow>> = rows.collect();
        // The others of one group have no row of their own.
        let by_formula = is_rate(metric.reads)
            && scope != "one_vs_rest"
            && observed.row.lo.is_some()
            && !observed.is_change
            && question.decide_by == GateDecideBy::Interval;
        let sides = rows.iter().zip(&places).filter(|_| by_formula).map(|(row, place)| {
            let row = (*row)?;
            let (cases, precision) = (row.denominator? as f64, people.precision(base, *place)?);
            Some(RateSide { rate: row.value?, cases, precision })
        });
        let sides = sides.collect::<Option<_>>().unwrap_or_default();
        Some(RangeBound {
            people,
            metric,
            groups: groups.collect(),
            rows,
            value: people.value()?,
            end: people.case.end()?,
            lacking: lacking(people, metric.needs_label, metric.asked_by() == Some("strata")),
            sides,
        })
    }

    /// Its worst case.
    pub(super) fn worst_case(self) -> WorstCase<'a> {
        WorstCase {
            lacking: self.lacking.clone(),
            of_decisions: false,
            with: Box::new(move |n| Some(self.end(n))),
        }
    }

    /// People behind the value, on its smaller side.
    fn known(&self) -> f64 {
        let GateCase { question, observed, .. } = self.people.case;
        let sizes = self.groups.iter().map(|group| match group.known {
            [unlabelled, 0, 0] => unlabelled,
            known => counted(self.metric.needs_label, known),
        });
        let of_rows = match observed.place()[0] {
            _ if !question.counterfactual.is_empty() => unsigned(observed.row.n_rows),
            "total" => sizes.sum(),
            _ => sizes.min().unwrap_or(0),
        };
        let below = self.rows.iter().flatten();
        let below = below.map(|row| unsigned(row.denominator.unwrap_or(i64::MAX).min(row.n_rows)));
        below.fold(of_rows, u64::min).max(1) as f64
    }

    /// The end with a number of the people at their worst.
    fn end(&self, people: u64) -> f64 {
        use ScoreReading::{Auc, Brier, CrossAuc, Ecce, EcceDistance};
        let GateCase { question: GateQuestion { limit, .. }, observed, tables } = self.people.case;
        let all: u64 = self.lacking.values().sum();
        let (n, m) = (self.known(), people.min(all) as f64);
        if m == 0.0 {
            return self.end;
        }
        let (scope, metric) = (observed.place()[0], self.metric);
        let worst = limit.facing(metric.range_in(scope));
        if !worst.is_finite() {
            return worst;
        }
        // A difference of two directions moves up where the second one moves down.
        let is_upper = matches!(limit, GateLimit::AtMost(_)) && !metric.is_gap_in(scope);
        let mean = n / (n + m);
        let kept = match metric.reads {
            // The weight of each person is not known here.
            _ if tables.population.iter().any(|row| row.weight.is_some()) => 0.0,
            Reads::AnySwitch(_) if is_upper => return self.with_any_switch(n, m),
            // A mean over people, or a difference of two: each person adds a number of the range.
            reads if is_rate(reads) => mean,
            Reads::Scored(Brier, _) => mean,
            Reads::Shift(_) if ["mcd", "macd"].contains(&metric.id) => mean,
            Reads::Shift(_) if metric.id == "rmscd" => match self.root_moved(n, m) {
                Some(moved) => return self.end + moved,
                None => 0.0,
            },
            Reads::Scored(Auc | CrossAuc, _) => {
                let (labelled, part) = (self.labelled(), m / all as f64);
                let kept = |share: f64| share / (share + (1.0 - share) * part);
                if labelled.contains(&0.0) { 0.0 } else { labelled.map(kept).iter().product() }
            }
            // Distances: others may undo them, and add to them no more than a mean does.
            Reads::Group(GroupValue::TwoRates(_), _)
            | Reads::Group(GroupValue::Rate(_), Some(GapTransform::ToTotal))
            | Reads::Scored(Ecce | EcceDistance, _)
                if is_upper =>
            {
                mean
            }
            Reads::Shift(_) if is_upper && metric.id == "jsd_hist" => mean,
            // Few people may move it through its whole range: a sum below it may be small, or they
            // may undo a distance of others.
            _ => 0.0,
        };
        let shifted = self.end + (1.0 - kept) * (worst - self.value);
        self.formula(m).map_or(shifted, |formula| limit.worse(shifted, formula))
    }

    /// The end of a share of people who switch to any group, with this many at their worst among
    /// those who are known: a person whom one direction counts may still switch in another.
    fn with_any_switch(&self, n: f64, m: f64) -> f64 {
        let targets = self.people.groups().len().saturating_sub(1).max(1);
        let more = m * targets as f64 / n;
        let of_side = self.sides.first().map_or(0.0, |side| {
            let rate = (side.rate + more).min(1.0);
            let z = self.people.case.observed.z();
            SureRate { rate, ..self.with_others(side, [m, 0.0]) }.ends(z).1
        });
        (self.end + more).min(1.0).max(self.end).max(of_side)
    }

    /// How far the root of a mean of squares moves with this many at their worst among those who
    /// are known: by the values behind it, its own or those of the two directions whose difference
    /// it is, each with its worst number. None where these are not known.
    fn root_moved(&self, n: f64, m: f64) -> Option<f64> {
        let GateCase { question, observed, .. } = self.people.case;
        let moved = |value: f64, range: (f64, f64)| {
            let squares = n * value.powi(2) + m * question.limit.facing(range).powi(2);
            (squares / (n + m)).sqrt() - value.abs()
        };
        let (lo, hi) = self.metric.range;
        match self.rows.as_slice() {
            // The second direction does the opposite.
            [forth, back] if self.metric.is_gap_in(observed.place()[0]) => {
                let [forth, back] = [(*forth)?.value?, (*back)?.value?];
                Some(moved(forth, (lo, hi)) - moved(back, (hi, lo)))
            }
            _ => Some(moved(self.value, (lo, hi))),
        }
    }

    /// Behind a share of pairs of a positive and a negative person, or a difference of two, the
    /// least share of positive and of negative people who have a score.
    fn labelled(&self) -> [f64; 2] {
        let none = by_label(&self.people.ungrouped);
        [(2, 0), (1, 1)].map(|(label, side): (usize, usize)| {
            // The positive people of one group among the negative ones of the other.
            let own = match (self.people.case.observed.place()[0], self.groups.as_slice()) {
                ("direction", [_, _]) => &self.groups[side..=side],
                (_, all) => all,
            };
            let shares = own.iter().map(|group| {
                let known = group.known[label];
                let all = known + group.lacking[label] + group.untold + none[label];
                known as f64 / all.max(1) as f64
            });
            shares.fold(1.0, f64::min)
        })
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
            [_] if is_upper && matches!(self.metric.reads, Reads::AnySwitch(_)) => None,
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

/// The people of groups who lack what a value needs, such as a stratum, and those without a group.
pub(super) fn lacking(
    people: &PeopleTables<'_>,
    needs_label: bool,
    needs_stratum: bool,
) -> LackingPeople {
    let GateCase { question, observed, tables } = people.case;
    let own = people.own_groups();
    let each = own.iter().map(|group| ScoredPeople::of(people, group, needs_label));
    let without_group =
        counted(needs_label, by_label(&people.ungrouped)) + people.untold_without_group();
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
        let told: u64 = of_set.map(|row| unsigned(row.without_counterfactual.unwrap_or(0))).sum();
        let counted: Option<u64> = own.iter().map(|group| people.untested(group)).sum();
        // Arms audit other people than those in the table `population`.
        let all = match counted {
            Some(counted) if !question.arm.is_empty() => counted,
            counted => told.max(counted.unwrap_or(0)),
        };
        all.saturating_sub(unscored)
    };
    let rows = own.iter().filter(|_| needs_stratum).filter_map(|group| people.group_row(group));
    let without_stratum = rows.map(|row| {
        let n = row.n_missing_stratum.map_or(0, unsigned);
        // What one of them could change is not known; few of many are not asked about.
        if n as f64 >= MANY_PEOPLE * row.n as f64 { n } else { 0 }
    });
    let without_stratum = without_stratum.sum();
    let all = [
        (Lack::Group, without_group),
        (Lack::Score, unscored),
        (Lack::Stratum, without_stratum),
        (Lack::Counterfactual, untested),
    ];
    all.into_iter().filter(|(_, n)| *n > 0).collect()
}
