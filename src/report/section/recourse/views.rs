//! Ways to judge: a definition in a view, what it is called, what it compares, and how its values
//! are printed.
//!
//! Where both views of a definition say the same of every subgroup they are one way: under a model
//! that adds up its features they always do.

use minijinja::context;
use minijinja::value::Value;

use crate::report::page::number::{self, three_digits};
use crate::report::read::recourse::RecourseTables;
use crate::table::recourse::{CriterionWords, EcdRow, RankingRow, RecourseRow, SubgroupRow};

/// Below so many people of a group in a subgroup one person decides.
pub(crate) const FEW: i64 = 10;

/// A definition in a view, or in both.
#[derive(Clone, Copy)]
pub(crate) struct DefinitionView<'a> {
    /// Its row of `ranking_analysis`; of both views that of the macro view.
    pub(crate) row: &'a RankingRow,
    /// Whether the other view says the same.
    pub(crate) both: bool,
}

/// The ways in which a comparison is judged.
pub(crate) fn definition_views<'a>(
    tables: &'a RecourseTables,
    comparison: &RecourseRow,
) -> Vec<DefinitionView<'a>> {
    let rows: Vec<&'a RankingRow> =
        tables.analysis.iter().filter(|row| row.pair == comparison.pair).collect();
    let other = |row: &RankingRow, view: &str| {
        let own = &row.criterion;
        let wanted = CriterionWords { view: view.into(), ..own.clone() };
        let other = rows.iter().map(|row| &row.criterion).find(|other| **other == wanted);
        other.is_some_and(|other| other != own && tables.agree(comparison, [own, other]))
    };
    let kept = rows.iter().copied().filter(|row| !other(row, "macro"));
    kept.map(|row| DefinitionView { row, both: other(row, "micro") }).collect()
}

impl<'a> DefinitionView<'a> {
    /// What its title and the value that it compares depend on; `definition.html` says them.
    pub(crate) fn facts(&self) -> Value {
        let criterion = &self.row.criterion;
        let cost = criterion.parameter.parse::<f64>().ok();
        let parameter = criterion.parameter.as_str();
        context! {
            definition => self.definition(), view => self.view(), both => self.both,
            share => self.target_share().map_or_else(|| parameter.to_owned(), number::level),
            cost => cost.map_or_else(|| parameter.to_owned(), three_digits),
        }
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

    /// People of a group in a subgroup who are reached at the cost that is its value, in a view;
    /// where that is infinite, at any cost.
    fn reached(
        &self,
        view: &str,
        tables: &RecourseTables,
        comparison: &RecourseRow,
        subgroup: &SubgroupRow,
        g: usize,
    ) -> i64 {
        let reached = |row: &EcdRow| match view {
            "micro" => [row.micro_0, row.micro_1][g],
            _ => [row.macro_0, row.macro_1][g],
        };
        let most = match self.definition() {
            "equal-cost-of-effectiveness" => {
                [subgroup.value_0, subgroup.value_1][g].unwrap_or(f64::INFINITY)
            }
            _ => f64::INFINITY,
        };
        // Costs are whole multiples of 1e-9.
        let within = |row: &&EcdRow| row.cost < most + 5e-10;
        let steps = tables
            .ecd
            .iter()
            .filter(|row| row.subgroup == subgroup.subgroup && row.pair == comparison.pair);
        steps.filter(within).map(reached).max().unwrap_or(0)
    }

    /// How many of a group are reached: by one action, and by any where both views are one and
    /// another number is.
    fn reach(
        &self,
        tables: &RecourseTables,
        comparison: &RecourseRow,
        subgroup: &SubgroupRow,
        g: usize,
    ) -> (i64, Option<i64>) {
        let reached = |view| self.reached(view, tables, comparison, subgroup, g);
        let first = reached(self.view());
        (first, self.both.then(|| reached("micro")).filter(|any| *any != first))
    }

    /// The compared value of one group.
    pub(crate) fn value(
        &self,
        tables: &RecourseTables,
        comparison: &RecourseRow,
        subgroup: &SubgroupRow,
        g: usize,
    ) -> Value {
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
        let (reached, any) = self.reach(tables, comparison, subgroup, g);
        let at_cost = (self.definition() == "fair-trade-off").then_some(subgroup.cost).flatten();
        context!(kind, value, n, reached, any, at_cost)
    }

    /// The difference of the two groups; where one of them is never reached, how many of the other
    /// are.
    pub(crate) fn score(
        &self,
        tables: &RecourseTables,
        comparison: &RecourseRow,
        subgroup: &SubgroupRow,
    ) -> Value {
        let kind = match subgroup.score {
            None => "none",
            Some(score) if score.is_infinite() => "infinite",
            Some(_) if self.is_share() => "distance",
            Some(_) => "number",
        };
        let names = [&comparison.pair.group_0, &comparison.pair.group_1].map(|text| text.as_str());
        let better = usize::from(names[0] == subgroup.against.as_str());
        let (reached, any) = self.reach(tables, comparison, subgroup, better);
        context! {
            kind, score => subgroup.score, better => names[better],
            n => [subgroup.n_0, subgroup.n_1][better], reached, any,
        }
    }
}
