//! How far a share of counterfactual decisions could move if the people who were not measured had
//! been: those without a score, without a valid counterfactual, or without a score of it.
//!
//! Nothing says that they are like the others, so nothing less than all of them counts: of k of n
//! and m who were not measured the share lies between k / (n + m) and (k + m) / (n + m) (C. F.
//! Manski, Nonparametric Bounds on Treatment Effects, 1990). A difference of two directions lies
//! between the differences of the ends of both. Of a switch in any direction a person may be
//! measured in some directions only: k / (n + a) to (k + b) / (n + c), with a the most people who
//! may be measured in no direction, c those whom the groups have beyond n, and b the
//! counterfactuals that are missing. The change from an earlier
//! run moves by the people of the later run without a score: of the earlier run the tables do not
//! tell, and what a set discards it discards in both.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::unseen::{is_like, of_groups};
use crate::gate::question::{
    GateLimit, GateObservation, GateQuantity, GateQuestion, GateReason, GateTables,
};
use crate::metric::catalog::ccm::SWITCH_RATE;
use crate::metric::catalog::find;
use crate::metric::{Metric, MetricUnit, Reads};
use crate::table::{CountRow, GroupRow, MetricRow, ReasonCode};

/// Whom the share of a direction, or of all of them, does not count.
#[derive(Debug, Clone, Copy, Default)]
struct Unmeasured {
    /// Rows of the group, each once per direction.
    people: i64,
    /// Of them without a score.
    unscored: i64,
    /// Of them without a valid counterfactual that has a score, who have a score themselves and
    /// may be below the share.
    untested: i64,
    /// How many cases below the share they would be, in units of weight where people have weights.
    cases: f64,
}

impl Unmeasured {
    /// Those of two scopes together.
    fn and(self, other: Unmeasured) -> Unmeasured {
        Unmeasured {
            people: self.people + other.people,
            unscored: self.unscored + other.unscored,
            untested: self.untested + other.untested,
            cases: self.cases + other.cases,
        }
    }
}

/// The tables of a question.
#[derive(Clone, Copy)]
struct BoundTables<'a> {
    question: &'a GateQuestion,
    sensitive: &'a str,
    tables: GateTables<'a>,
}

/// The share of a scope: what it is if all whom it does not count are below it, and none of them is
/// on top, or all are.
#[derive(Debug, Clone, Copy)]
struct ShareEnds {
    value: f64,
    lo: f64,
    hi: f64,
}

impl ShareEnds {
    /// `outside` are not below the share, at most and at least; `open` of these and of those below
    /// may be on top.
    fn new(row: &MetricRow, [most, least]: [f64; 2], open: f64) -> Option<Self> {
        let n = row.weight_denominator.unwrap_or_else(|| {
            row.denominator.map_or_else(|| row.n_rows as f64, |cases| cases as f64)
        });
        let value = row.value?;
        let share = |on_top: f64, outside: f64| (on_top / (n + outside)).min(1.0);
        (n + most > 0.0).then(|| ShareEnds {
            value,
            lo: share(value * n, most),
            hi: if n + least > 0.0 { share(value * n + open, least) } else { 1.0 },
        })
    }

    /// The end that a limit forbids.
    fn worst(self, limit: GateLimit) -> f64 {
        if matches!(limit, GateLimit::AtMost(_)) { self.hi } else { self.lo }
    }
}

impl<'a> BoundTables<'a> {
    fn row(self, metric: &str, (scope, from, to): (&str, &str, &str)) -> Option<&'a MetricRow> {
        self.tables.metrics.iter().find(|row| {
            row.metric == metric
                && is_like(self.question, self.sensitive, row, scope)
                && row.key.scope_and_groups() == [scope, from, to]
        })
    }

    /// The people of a group.
    fn group(self, group: &str) -> Option<Cow<'a, GroupRow>> {
        let own = of_groups(self.question, self.sensitive, self.tables.groups);
        let own = own.into_iter().find(|row| row.group == group);
        let of_arm = match self.question.arm.as_str() {
            "" => None,
            _ => self.group_of_arm(group, own.map_or(0, |row| row.n)),
        };
        of_arm.map(Cow::Owned).or(own.map(Cow::Borrowed))
    }

    /// The people of a group whom the model of an arm decides about. With folds they may be more
    /// than those that the audit counts (`audited`); without, the others have no score.
    fn group_of_arm(self, group: &str, audited: i64) -> Option<GroupRow> {
        let is_own = |row: &&CountRow| {
            let key = &row.key;
            let of = (key.arm.as_str(), key.model.as_str(), key.counterfactual.as_str())
                == (&self.question.arm, &self.question.model, "");
            let here = key.scope.as_str() == "group" && key.from_group == *group;
            of && here && key.sensitive == *self.sensitive && key.slice.is_empty()
        };
        let own: Vec<&CountRow> = self.tables.counts.iter().filter(is_own).collect();
        let people =
            |rows: &mut dyn Iterator<Item = &&CountRow>| rows.map(|row| row.n).sum::<i64>();
        let scored = people(&mut own.iter());
        (!own.is_empty()).then(|| GroupRow {
            group: group.into(),
            n: scored.max(audited),
            n_missing_score: (audited - scored).max(0),
            n_predicted_positive: people(&mut own.iter().filter(|row| row.predicted == *"1")),
            weight: own.iter().map(|row| row.weight).sum(),
            ..GroupRow::default()
        })
    }

    /// Whom a share of a direction does not count; none where the tables do not tell.
    fn unmeasured(self, metric: &Metric, from: &str, to: &str) -> Option<Unmeasured> {
        let direction = ("direction", from, to);
        let (own, group) = (self.row(metric.id, direction)?, self.group(from)?);
        // The rate of all switches counts everybody of the direction; amounts have none.
        let all = self.row(SWITCH_RATE, direction).unwrap_or(own);
        let left_out = (group.n - all.n_rows).max(0);
        let unscored = group.n_missing_score.clamp(0, left_out);
        // A row may have several counterfactuals in one direction.
        let repeats = match all.denominator {
            Some(cases) if all.n_rows > 0 => (cases as f64 / all.n_rows as f64).max(1.0),
            _ => 1.0,
        };
        // Classes and arms have decisions of their own, which the table of groups does not count;
        // those of arms are in the table of counts.
        let plain = self.question.class.is_empty()
            && (self.question.arm.is_empty() || matches!(group, Cow::Owned(_)));
        let side = metric.people.and_then(|side| side.is_positive(self.question.favourable));
        let untested = match side {
            Some(positive) if plain && repeats <= 1.0 && own.denominator.is_some() => {
                let positives = group.n_predicted_positive;
                let decided = group.n - group.n_missing_score;
                let decided = if positive { positives } else { decided - positives };
                (decided - own.denominator.unwrap_or(0)).clamp(0, left_out - unscored)
            }
            _ => left_out - unscored,
        };
        // Of a change the counterfactuals that a set discards in both runs say nothing.
        let untested = match self.question.quantity {
            GateQuantity::Value => untested,
            GateQuantity::Change => untested.min(group.n_missing_counterfactual_score),
        };
        let n = unscored + untested;
        let cases = match (group.weight, all.weight_denominator) {
            _ if n == 0 => 0.0,
            // How the weight divides between the decisions no table tells, so all of it counts.
            (Some(weight), Some(counted)) if repeats <= 1.0 => (weight - counted).max(0.0),
            (Some(weight), _) => weight / group.n as f64 * left_out as f64 * repeats,
            (None, _) => n as f64 * repeats,
        };
        Some(Unmeasured { people: group.n, unscored, untested, cases })
    }

    /// The directions of a metric.
    fn directions(self, metric: &str) -> BTreeSet<(&'a str, &'a str)> {
        let is_own = |row: &&MetricRow| is_like(self.question, self.sensitive, row, "direction");
        let rows = self.tables.metrics.iter().filter(|row| row.metric == metric).filter(is_own);
        rows.map(|row| (row.key.from_group.as_str(), row.key.to_group.as_str())).collect()
    }

    /// Whom all directions together do not count.
    fn of_total(self, metric: &Metric) -> Unmeasured {
        let each = self.directions(metric.id);
        let each = each.into_iter().filter_map(|(from, to)| self.unmeasured(metric, from, to));
        each.fold(Unmeasured::default(), Unmeasured::and)
    }

    /// The ends of a share of one direction, and whom it does not count.
    fn of_direction(
        self,
        metric: &Metric,
        from: &str,
        to: &str,
    ) -> Option<(ShareEnds, Unmeasured)> {
        let whose = self.unmeasured(metric, from, to)?;
        let row = self.row(metric.id, ("direction", from, to))?;
        Some((ShareEnds::new(row, [whose.cases; 2], whose.cases)?, whose))
    }

    /// The same of people who switch in any direction, by the rate of one direction that counts the
    /// same switches.
    fn of_any(self, metric: &Metric) -> Option<(ShareEnds, Unmeasured)> {
        let base = find(metric.id.strip_suffix("_any")?)?;
        let (mut most, mut whose, mut all) = (0.0, Unmeasured::default(), 0.0);
        let directions = self.directions(base.id);
        let from: BTreeSet<&str> = directions.iter().map(|(from, _)| *from).collect();
        for from in from {
            let own = directions.iter().filter(|direction| direction.0 == from);
            let each: Vec<Unmeasured> =
                own.filter_map(|(_, to)| self.unmeasured(base, from, to)).collect();
            most += each.iter().map(|of| of.cases).reduce(f64::min).unwrap_or(0.0);
            let group = self.group(from)?;
            all += group.weight.unwrap_or(group.n as f64);
            whose = each.into_iter().fold(whose, Unmeasured::and);
        }
        let row = self.row(metric.id, ("total", "", ""))?;
        let counted = row.weight_denominator.or(row.denominator.map(|cases| cases as f64));
        let least = (all - counted.unwrap_or(all)).clamp(0.0, most);
        Some((ShareEnds::new(row, [most, least], whose.cases)?, whose))
    }

    /// The ends of a value, whom it does not count, and the words for those people.
    fn ends(
        self,
        metric: &Metric,
        seen: &GateObservation,
    ) -> Option<(ShareEnds, Unmeasured, String)> {
        let people_of = |group: &str| {
            let rows = self.group(group).is_some_and(|group| group.persons.is_some());
            format!("{} of `{group}`", if rows { "rows" } else { "people" })
        };
        let all = || "changes to another group".to_owned();
        match (seen.scope.as_str(), metric.reads) {
            ("total", Reads::AnySwitch(_)) => {
                let (ends, whose) = self.of_any(metric)?;
                Some((ends, whose, all()))
            }
            ("total", _) => {
                let whose = self.of_total(metric);
                let row = self.row(metric.id, ("total", &seen.from, &seen.to))?;
                Some((ShareEnds::new(row, [whose.cases; 2], whose.cases)?, whose, all()))
            }
            ("direction", _) => {
                let (ends, whose) = self.of_direction(metric, &seen.from, &seen.to)?;
                Some((ends, whose, people_of(&seen.from)))
            }
            ("difference", _) => {
                let (forth, of_forth) = self.of_direction(metric, &seen.from, &seen.to)?;
                let (back, of_back) = self.of_direction(metric, &seen.to, &seen.from)?;
                let ends = ShareEnds {
                    value: forth.value - back.value,
                    lo: forth.lo - back.hi,
                    hi: forth.hi - back.lo,
                };
                let who = format!("{} and `{}`", people_of(&seen.from), seen.to);
                Some((ends, of_forth.and(of_back), who))
            }
            _ => None,
        }
    }
}

/// That the people who were not measured could break a limit that the others keep, in words; none
/// where they could not, and for values that are no share of counterfactual decisions.
pub(super) fn could_break(
    question: &GateQuestion,
    seen: &GateObservation,
    tables: GateTables<'_>,
) -> Option<GateReason> {
    let metric = find(&seen.metric).filter(|metric| {
        let counts = matches!(
            metric.reads,
            Reads::SwitchRate(_) | Reads::SwitchByFavour { .. } | Reads::AnySwitch(_)
        );
        counts && metric.unit == MetricUnit::Share
    })?;
    let tables = BoundTables { question, sensitive: &seen.sensitive, tables };
    let (ends, whose, who) = tables.ends(metric, seen)?;
    let worst = ends.worst(question.limit);
    // What is not measured in the later run may be anywhere; the earlier one stays as it was.
    let worst = if seen.is_change { seen.value? + worst - ends.value } else { worst };
    if whose.unscored + whose.untested == 0 || question.limit.kept_by(worst) {
        return None;
    }
    let have = |n: i64| if n == 1 { "has" } else { "have" };
    let lacking = match (whose.unscored, whose.untested) {
        (n, 0) => format!("{n} of {} {who} {} no score", whose.people, have(n)),
        (0, n) => format!(
            "{n} of {} {who} {} no valid counterfactual with a score",
            whose.people,
            have(n)
        ),
        (n, more) => format!(
            "{n} of {} {who} {} no score, and {more} no valid counterfactual with a score",
            whose.people,
            have(n)
        ),
    };
    let counts_switches = metric.ideal == Some(0.0);
    let so = match question.limit {
        _ if seen.scope == "difference" => "they switched as unevenly as they could",
        GateLimit::AtMost(_) if counts_switches => "all of them switched",
        GateLimit::AtLeast(_) if !counts_switches => "all of them switched",
        _ => "none of them switched",
    };
    let what = match (seen.is_change, seen.scope.as_str()) {
        (true, _) => "change",
        (false, "difference") => "difference",
        (false, _) => "share",
    };
    let words = format!("{lacking}: if {so}, the {what} would be {worst:.4}");
    Some(GateReason::new(ReasonCode::UnmeasuredPeople, words))
}
