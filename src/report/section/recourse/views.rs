//! Ways to judge: a definition in a view, what it is called, what it compares, and how its values
//! are printed.
//!
//! Where both views of a definition give the same result for every subgroup they count as one:
//! under a model that adds up its features they always do.

use minijinja::context;
use minijinja::value::Value;

use crate::gate::reason::GateCount;
use crate::report::page::number::{self, three_digits};
use crate::report::read::audit::AuditFolder;
use crate::table::recourse::{CriterionWords, EcdRow, RankingRow, RecourseRow, SubgroupRow};

/// Below this number of people of a group in a subgroup one person decides.
pub(crate) const FEW: i64 = 10;

/// A definition in a view, or in both, of a comparison.
#[derive(Clone, Copy)]
pub(crate) struct DefinitionView<'a> {
    pub(super) audit: &'a AuditFolder,
    pub(super) comparison: &'a RecourseRow,
    /// Its row of `ranking_analysis`; of both views that of the macro view.
    pub(crate) row: &'a RankingRow,
    /// Whether the other view says the same.
    both: bool,
}

/// The ways in which a comparison is judged.
pub(crate) fn definition_views<'a>(
    audit: &'a AuditFolder,
    comparison: &'a RecourseRow,
) -> Vec<DefinitionView<'a>> {
    let tables = &audit.recourse;
    let rows: Vec<&'a RankingRow> =
        tables.analysis.iter().filter(|row| row.pair == comparison.pair).collect();
    let other = |row: &RankingRow, view: &str| {
        let own = &row.criterion;
        let wanted = CriterionWords { view: view.into(), ..own.clone() };
        let other = rows.iter().map(|row| &row.criterion).find(|other| **other == wanted);
        other.is_some_and(|other| other != own && tables.agree(comparison, [own, other]))
    };
    let kept = rows.iter().copied().filter(|row| !other(row, "macro"));
    kept.map(|row| DefinitionView { audit, comparison, row, both: other(row, "micro") }).collect()
}

/// The two groups of a comparison.
pub(super) fn groups_of(comparison: &RecourseRow) -> [&str; 2] {
    [&comparison.pair.group_0, &comparison.pair.group_1].map(|group| group.as_str())
}

impl<'a> DefinitionView<'a> {
    /// What its title and the value that it compares depend on; the words are in `definition.html`.
    pub(crate) fn facts(&self) -> Value {
        let parameter = self.row.criterion.parameter.as_str();
        let cost = parameter.parse::<f64>().ok();
        context! {
            definition => self.definition(), view => self.view(), both => self.both,
            share => self.target_share().map_or_else(|| parameter.to_owned(), number::level),
            cost => cost.map_or_else(|| parameter.to_owned(), three_digits),
        }
    }

    /// Whether a limit counts subgroups that are unfair by this view.
    pub(super) fn is_counted_by(&self, count: &GateCount) -> bool {
        let GateCount::Subgroups { definition, parameter, view, .. } = count else { return false };
        let own = &self.row.criterion;
        own.definition == *definition
            && own.parameter == *parameter
            && (self.both || own.view == *view)
    }

    /// What the definition compares.
    pub(crate) fn definition(&self) -> &'a str {
        &self.row.criterion.definition
    }

    /// The view.
    pub(crate) fn view(&self) -> &'a str {
        &self.row.criterion.view
    }

    /// The share of the group that the definition asks for.
    pub(crate) fn target_share(&self) -> Option<f64> {
        matches!(self.definition(), "equal-cost-of-effectiveness" | "equal-choice")
            .then(|| self.row.criterion.parameter.parse().ok())
            .flatten()
    }

    fn is_share(&self) -> bool {
        matches!(
            self.definition(),
            "equal-effectiveness" | "equal-effectiveness-within-budget" | "fair-trade-off"
        )
    }

    /// Costs of the actions of a subgroup, rising, and how many of each group those up to that cost
    /// help in a view.
    pub(super) fn steps(&self, subgroup: &SubgroupRow, view: &str) -> Vec<(f64, [i64; 2])> {
        let is_own =
            |row: &&EcdRow| row.subgroup == subgroup.subgroup && row.pair == self.comparison.pair;
        let helped = |row: &EcdRow| match view {
            "micro" => [row.micro_0, row.micro_1],
            _ => [row.macro_0, row.macro_1],
        };
        let own = self.audit.recourse.ecd.iter().filter(is_own);
        own.map(|row| (row.cost, helped(row))).collect()
    }

    /// How many people of a group in a subgroup are reached at the cost that is its value; where
    /// that is infinite, at any cost: by one action, and by any where both views are one and
    /// another number is.
    fn reach(&self, subgroup: &SubgroupRow, g: usize) -> (i64, Option<i64>) {
        let own = [subgroup.value_0, subgroup.value_1][g];
        let is_cost = self.definition() == "equal-cost-of-effectiveness";
        let most = own.filter(|_| is_cost).unwrap_or(f64::INFINITY);
        let reached = |view| {
            let steps = self.steps(subgroup, view).into_iter();
            // Costs are whole multiples of 1e-9.
            let within = steps.filter(|(cost, _)| *cost < most + 5e-10);
            within.map(|(_, helped)| helped[g]).max().unwrap_or(0)
        };
        let first = reached(self.view());
        (first, self.both.then(|| reached("micro")).filter(|any| *any != first))
    }

    /// The compared value of one group.
    pub(super) fn value(&self, subgroup: &SubgroupRow, g: usize) -> Value {
        let n = [subgroup.n_0, subgroup.n_1][g];
        let value = [subgroup.value_0, subgroup.value_1][g];
        let is_cost = self.definition() == "equal-cost-of-effectiveness";
        let kind = match value {
            None => "none",
            Some(value) if value.is_infinite() && is_cost => "unreached",
            Some(value) if value.is_infinite() => "nobody",
            Some(_) if self.is_share() => "share",
            Some(_) if self.definition() == "equal-choice" => "actions",
            Some(_) if is_cost => "reached",
            Some(_) => "cost",
        };
        let (reached, any) = self.reach(subgroup, g);
        let at_cost = (self.definition() == "fair-trade-off").then_some(subgroup.cost).flatten();
        context!(kind, value, n, reached, any, at_cost)
    }

    /// Which of the two groups is better off in an unfair subgroup.
    pub(super) fn better(&self, subgroup: &SubgroupRow) -> usize {
        usize::from(self.comparison.pair.group_0 == subgroup.against)
    }

    /// The difference of the two groups; where one of them is never reached, how many of the other
    /// are.
    pub(super) fn score(&self, subgroup: &SubgroupRow) -> Value {
        let kind = match subgroup.score {
            None => "none",
            Some(score) if score.is_infinite() => "infinite",
            Some(_) if self.is_share() => "distance",
            Some(_) => "number",
        };
        let better = self.better(subgroup);
        let (reached, any) = self.reach(subgroup, better);
        context! {
            kind, score => subgroup.score, better => groups_of(self.comparison)[better],
            n => [subgroup.n_0, subgroup.n_1][better], reached, any,
        }
    }
}
