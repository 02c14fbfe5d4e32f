//! How far a share of counterfactual decisions could move if the people who were not measured had
//! been: those without a score, without a valid counterfactual, or without a score of it.
//!
//! Nothing says that they are like the others, so nothing less than all of them counts: of k of n
//! and m who were not measured the share lies between k / (n + m) and (k + m) / (n + m) (C. F.
//! Manski, Nonparametric Bounds on Treatment Effects, 1990).

use std::collections::BTreeSet;

use super::unseen::{is_like, of_groups};
use crate::gate::question::{GateLimit, GateObservation, GateQuestion};
use crate::metric::catalog::ccm::SWITCH_RATE;
use crate::metric::catalog::find;
use crate::metric::{Metric, MetricUnit, Reads};
use crate::table::{GroupRow, MetricRow};

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

/// The tables of a question.
#[derive(Clone, Copy)]
struct BoundTables<'a> {
    question: &'a GateQuestion,
    sensitive: &'a str,
    metrics: &'a [MetricRow],
    groups: &'a [GroupRow],
}

impl<'a> BoundTables<'a> {
    fn row(self, metric: &str, (scope, from, to): (&str, &str, &str)) -> Option<&'a MetricRow> {
        self.metrics.iter().find(|row| {
            row.metric == metric
                && is_like(self.question, self.sensitive, row, scope)
                && row.key.scope_and_groups() == [scope, from, to]
        })
    }

    fn group(self, group: &str) -> Option<&'a GroupRow> {
        let own = of_groups(self.question, self.sensitive, self.groups);
        own.into_iter().find(|row| row.group == group)
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
        // Arms and classes have decisions of their own, which the table of groups does not count.
        let plain = self.question.arm.is_empty() && self.question.class.is_empty();
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

    /// The same of all directions together.
    fn of_total(self, metric: &Metric) -> Unmeasured {
        let is_own = |row: &&MetricRow| {
            row.metric == metric.id && is_like(self.question, self.sensitive, row, "direction")
        };
        let rows = self.metrics.iter().filter(is_own);
        let each: BTreeSet<(&str, &str)> =
            rows.map(|row| (row.key.from_group.as_str(), row.key.to_group.as_str())).collect();
        let each = each.into_iter().filter_map(|(from, to)| self.unmeasured(metric, from, to));
        each.fold(Unmeasured::default(), |sum, one| Unmeasured {
            people: sum.people + one.people,
            unscored: sum.unscored + one.unscored,
            untested: sum.untested + one.untested,
            cases: sum.cases + one.cases,
        })
    }
}

/// The share at the end that a limit forbids, if everybody who was not measured lay there; none
/// where the row has no share of cases.
fn worst_share(limit: GateLimit, row: &MetricRow, cases: f64) -> Option<f64> {
    let n = row
        .weight_denominator
        .unwrap_or_else(|| row.denominator.map_or_else(|| row.n_rows as f64, |cases| cases as f64));
    let on_top = row.value? * n + if matches!(limit, GateLimit::AtMost(_)) { cases } else { 0.0 };
    (n + cases > 0.0).then(|| on_top / (n + cases))
}

/// That the people who were not measured could break a limit that the others keep, in words; none
/// where they could not, and for values that are no share of counterfactual decisions.
pub(super) fn could_break(
    question: &GateQuestion,
    seen: &GateObservation,
    (metrics, groups): (&[MetricRow], &[GroupRow]),
) -> Option<String> {
    let metric = find(&seen.metric).filter(|metric| {
        let counts = matches!(metric.reads, Reads::SwitchRate(_) | Reads::SwitchByFavour { .. });
        counts && metric.unit == MetricUnit::Share && !seen.is_change
    })?;
    let tables = BoundTables { question, sensitive: &seen.sensitive, metrics, groups };
    let (whose, who) = match seen.scope.as_str() {
        "direction" => {
            let found = tables.unmeasured(metric, &seen.from, &seen.to)?;
            let rows = tables.group(&seen.from).is_some_and(|group| group.persons.is_some());
            let what = if rows { "rows" } else { "people" };
            (found, format!("{what} of `{}`", seen.from))
        }
        "total" => (tables.of_total(metric), "changes to another group".to_owned()),
        _ => return None,
    };
    let row = tables.row(metric.id, (&seen.scope, &seen.from, &seen.to))?;
    let share = worst_share(question.limit, row, whose.cases)?;
    if whose.unscored + whose.untested == 0 || question.limit.kept_by(share) {
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
        GateLimit::AtMost(_) if counts_switches => "all of them switched",
        GateLimit::AtLeast(_) if !counts_switches => "all of them switched",
        _ => "none of them switched",
    };
    Some(format!("{lacking}: if {so}, the share would be {share:.4}"))
}
