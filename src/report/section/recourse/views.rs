//! Ways to judge: a definition in a view, what it is called, what it compares, and how its values
//! are printed.
//!
//! Where both views of a definition say the same of every subgroup they are one way: under a model
//! that adds up its features they always do.

use minijinja::context;
use minijinja::value::{Serde, Value};

use crate::report::page::PageCell;
use crate::report::page::number::{self, NumberFormat, three_digits};
use crate::report::page::words::RichText;
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
    /// What the table of definitions shows of it.
    pub(crate) fn facts(&self) -> Value {
        context! {
            row => Value::from(Serde(self.row)), title => self.title(), compares => self.compares(),
        }
    }

    /// The name of the definition.
    pub(crate) fn definition(&self) -> &'a str {
        &self.row.criterion.definition
    }

    /// The view.
    pub(crate) fn view(&self) -> &'a str {
        &self.row.criterion.view
    }

    /// The share of a group that the definition asks for.
    pub(crate) fn target_share(&self) -> Option<f64> {
        matches!(self.definition(), "equal-cost-of-effectiveness" | "equal-choice")
            .then(|| self.row.criterion.parameter.parse().ok())
            .flatten()
    }

    /// That share as the job writes it.
    fn share(&self) -> String {
        self.target_share().map_or_else(|| self.row.criterion.parameter.to_string(), number::level)
    }

    /// Whether values are shares of people, rather than costs or numbers of actions.
    fn is_share(&self) -> bool {
        matches!(
            self.definition(),
            "equal-effectiveness" | "equal-effectiveness-within-budget" | "fair-trade-off"
        )
    }

    fn cost(&self) -> String {
        self.row
            .criterion
            .parameter
            .parse::<f64>()
            .map_or_else(|_| self.row.criterion.parameter.to_string(), three_digits)
    }

    /// As a heading.
    pub(crate) fn title(&self) -> String {
        let name = match self.definition() {
            "equal-effectiveness" => "Equal effectiveness".to_owned(),
            "equal-choice" => format!("Equal choice, {} of the group", self.share()),
            "equal-effectiveness-within-budget" => {
                format!("Equal effectiveness within budget {}", self.cost())
            }
            "equal-cost-of-effectiveness" => {
                format!("Equal cost of effectiveness, {} of the group", self.share())
            }
            "fair-trade-off" => "Fair trade-off".to_owned(),
            "equal-conditional-mean-recourse" => "Equal conditional mean recourse".to_owned(),
            "mean-recourse" => "Equal mean recourse".to_owned(),
            other => other.to_owned(),
        };
        // Some definitions have one view only.
        match self.definition() {
            "equal-choice" | "equal-conditional-mean-recourse" | "mean-recourse" => name,
            _ if self.both => format!("{name}, in both views"),
            _ => format!("{name}, {}", self.view()),
        }
    }

    /// Compared value.
    pub(crate) fn compares(&self) -> String {
        // Where both views say the same it is reported in the words of the simpler one.
        let by = match self.view() {
            "macro" => "by one action for all",
            _ => "by any action, for each person the one that helps",
        };
        match self.definition() {
            "equal-effectiveness" => format!("share helped {by}, at any cost"),
            "equal-choice" => {
                format!("number of actions that help at least {} of the group", self.share())
            }
            "equal-effectiveness-within-budget" => format!("share helped {by}, within the budget"),
            "equal-cost-of-effectiveness" => {
                format!("lowest cost at which {} of the group are helped {by}", self.share())
            }
            "fair-trade-off" => {
                format!("share helped {by}, at the cost where the two are furthest apart")
            }
            "equal-conditional-mean-recourse" => {
                "mean lowest cost of those who can be helped".to_owned()
            }
            "mean-recourse" => {
                "mean lowest cost, where people whom no action helps count with a fixed cost"
                    .to_owned()
            }
            _ => String::new(),
        }
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

    /// Of how many people so many are reached. Where one way represents both views, these may agree
    /// on the cost and yet reach different numbers: then both are reported.
    fn reach(
        &self,
        tables: &RecourseTables,
        comparison: &RecourseRow,
        subgroup: &SubgroupRow,
        g: usize,
        of_how_many: &str,
    ) -> String {
        let reached = |view| self.reached(view, tables, comparison, subgroup, g);
        let first = reached(self.view());
        let text = format!("{} of {of_how_many}", number::count(first));
        match self.both.then(|| reached("micro")) {
            Some(any) if any != first => {
                format!("{text} by one action, {} by any", number::count(any))
            }
            _ => text,
        }
    }

    /// The value of a group in a subgroup.
    pub(crate) fn value(
        &self,
        tables: &RecourseTables,
        comparison: &RecourseRow,
        subgroup: &SubgroupRow,
        g: usize,
    ) -> PageCell {
        let n = [subgroup.n_0, subgroup.n_1][g];
        let of_them = |k: i64| format!("{} of {}", number::count(k), number::people(n));
        let reached = || self.reach(tables, comparison, subgroup, g, &number::people(n));
        let is_cost = self.definition() == "equal-cost-of-effectiveness";
        let (main, small) = match [subgroup.value_0, subgroup.value_1][g] {
            None => ("\u{2013}".to_owned(), number::people(n)),
            Some(value) if value.is_infinite() && is_cost => {
                (format!("none helps {}", self.share()), format!("at most {}", reached()))
            }
            Some(value) if value.is_infinite() => {
                ("no action helps anybody".to_owned(), number::people(n))
            }
            Some(value) if self.is_share() => {
                (NumberFormat::Share.value(value), of_them((value * n as f64).round() as i64))
            }
            Some(value) if self.definition() == "equal-choice" => {
                (number::count_of(value as i64, "action", "actions"), number::people(n))
            }
            Some(value) if is_cost => (format!("cost {}", three_digits(value)), reached()),
            Some(value) => (format!("cost {}", three_digits(value)), number::people(n)),
        };
        // Of the trade-off the two are compared at a separate cost.
        let at_cost = (self.definition() == "fair-trade-off").then_some(subgroup.cost).flatten();
        let small = at_cost
            .map_or(small.clone(), |cost| format!("{small}, at cost {}", three_digits(cost)));
        PageCell::new(main, [small])
    }

    /// How far the groups are apart in a subgroup; next to infinity how many people of the group
    /// that is better off are reached.
    pub(crate) fn score(
        &self,
        tables: &RecourseTables,
        comparison: &RecourseRow,
        subgroup: &SubgroupRow,
    ) -> (String, Option<RichText>) {
        match subgroup.score {
            None => ("\u{2013}".to_owned(), None),
            Some(score) if score.is_infinite() => {
                let names =
                    [&comparison.pair.group_0, &comparison.pair.group_1].map(|text| text.as_str());
                let better = usize::from(names[0] == subgroup.against.as_str());
                let n = number::count([subgroup.n_0, subgroup.n_1][better]);
                let reach = self.reach(tables, comparison, subgroup, better, &n);
                let words = RichText::new().name(names[better]).text(format!(": {reach} reached"));
                ("\u{221e}".to_owned(), Some(words))
            }
            Some(score) if self.is_share() => (NumberFormat::Distance.value(score), None),
            Some(score) => (three_digits(score), None),
        }
    }
}
