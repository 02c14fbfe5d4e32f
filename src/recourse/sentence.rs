//! A subgroup in words: "if ... then ..." for both groups side by side, the paper's Comparative Subgroup Counterfactuals.
//!
//! Which actions are listed depends on the definition, as in the published listings; the paper does not say that shares of the micro
//! view are cumulative, and they are. Shares are rounded to two decimals, costs to two, scores to three, ties to even, from whole numbers.

use std::fmt::Write as _;

use crate::recourse::actions::Plan;
use crate::recourse::definition::{Answer, Definition, Exact, Question, View};
use crate::recourse::effect::{Effect, Effects};
use crate::recourse::exact::{decimal_text, half_even};
use crate::recourse::steps::COST_UNIT;

/// One action as it is listed for a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// The action, a position among all of the plan.
    pub action: usize,
    /// Its cost, in units of 1e-9.
    pub cost: i64,
    /// People of the group that it helps.
    pub own: u32,
    /// People of the group that this action or any other of at most its cost helps.
    pub cumulative: u32,
}

/// What is said about one group of a subgroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Half {
    /// Affected people of the group in the subgroup.
    pub n: u32,
    /// Affected people of the group.
    pub of: u32,
    /// The actions that the definition speaks of, by cost.
    pub lines: Vec<Line>,
}

/// A subgroup under a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// The subgroup.
    pub subgroup: usize,
    /// The definition and the view.
    pub question: Question,
    /// Both groups.
    pub halves: [Half; 2],
    /// Values, score and direction.
    pub answer: Answer,
}

impl Sentence {
    /// What there is to say about a subgroup with actions.
    pub fn new(plan: &Plan<'_>, effects: &Effects, question: Question, subgroup: usize) -> Sentence {
        let effect = effects.of(plan, subgroup);
        let halves = [0, 1].map(|g| Half { n: effect.n[g], of: plan.population.n[g], lines: lines(plan, &effect, question, subgroup, g) });
        Sentence { subgroup, question, halves, answer: question.answer(&effect) }
    }

    /// The text in the layout of the paper, with a line break at its end.
    pub fn text(&self, plan: &Plan<'_>) -> String {
        let mut text = format!("If {}:\n", plan.text(self.subgroup));
        for (half, name) in self.halves.iter().zip(&plan.population.names) {
            let covered = per_cent(half.n, half.of);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "\tProtected Subgroup '{name}', {covered} covered out of {}", half.of);
            if half.lines.is_empty() {
                text += "\t\tNo recourses for this subgroup!\n";
            }
            for line in &half.lines {
                let share = per_cent(if self.question.view == View::Micro { line.cumulative } else { line.own }, half.n);
                let cost = rounded(u128::from(line.cost.unsigned_abs()), u128::from(COST_UNIT), 2);
                let changes = plan.changes_text(line.action);
                let _ = writeln!(text, "\t\tMake {changes} with effectiveness {share} and counterfactual cost = {cost}.");
            }
        }
        let Some(against) = self.answer.against else { return text + "\tNo bias!\n" };
        let definition = self.question.definition;
        let view = match (definition.views().len(), self.question.view) {
            (1, _) => "",
            (_, View::Macro) => " (Macro)",
            (_, View::Micro) => " (Micro)",
        };
        let parameter = match definition {
            Definition::EqualChoice(_) | Definition::EqualCost(_) => format!(" (threshold = {})", definition.parameter()),
            Definition::WithinBudget(_) => format!(" (budget = {})", definition.parameter()),
            Definition::Mean(_) => format!(" (without recourse = {})", definition.parameter()),
            _ => String::new(),
        };
        let score = match self.answer.score {
            Exact::Finite(ratio) => decimal_text(ratio.rounded(1000), 3),
            Exact::Infinite => "inf".to_owned(),
        };
        let group = &plan.population.names[against];
        let title = definition.title();
        let _ = writeln!(text, "\tBias against {group} due to {title}{view}{parameter}. Unfairness score = {score}.");
        text
    }
}

/// The actions that a definition speaks of, for one group.
fn lines(plan: &Plan<'_>, effect: &Effect<'_>, question: Question, subgroup: usize, g: usize) -> Vec<Line> {
    let actions = plan.actions(subgroup);
    let mut reaches = effect.reaches.iter().peekable();
    let all = actions.zip(effect.helped).map(|(action, k)| {
        let cost = plan.cost(action);
        while reaches.peek().is_some_and(|reach| reach.cost < cost) {
            reaches.next();
        }
        Line { action, cost, own: k[g], cumulative: reaches.peek().map_or(0, |reach| reach.union[g]) }
    });
    let all: Vec<Line> = all.collect();
    let n = u64::from(effect.n[g]);
    match (question.definition, question.view) {
        (Definition::EqualChoice(phi), _) => all.into_iter().filter(|line| phi.get().reached_by(u64::from(line.own), n)).collect(),
        (Definition::EqualCost(phi), View::Macro) => {
            all.into_iter().find(|line| phi.get().reached_by(u64::from(line.own), n)).into_iter().collect()
        }
        (Definition::EqualCost(phi), View::Micro) => {
            let enough = all.iter().find(|line| phi.get().reached_by(u64::from(line.cumulative), n)).map(|line| line.cost);
            all.into_iter().take_while(|line| enough.is_none_or(|enough| line.cost <= enough)).collect()
        }
        (Definition::WithinBudget(budget), _) => all.into_iter().take_while(|line| line.cost <= budget).collect(),
        _ => all,
    }
}

/// A share in per cent with two decimals.
fn per_cent(part: u32, whole: u32) -> String {
    let hundredths = half_even(u128::from(part) * 10_000, u128::from(whole).max(1));
    format!("{}.{:02}%", hundredths / 100, hundredths % 100)
}

/// `num / den` with at most so many decimals.
fn rounded(num: u128, den: u128, places: u32) -> String {
    decimal_text(half_even(num * 10_u128.pow(places), den), places)
}
