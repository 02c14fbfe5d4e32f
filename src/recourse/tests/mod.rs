//! The engine against the exact results of other programs, and what must hold for any data.

mod case;
mod oracle;
mod promises;

use crate::error::Result;
use crate::recourse;
use crate::recourse::actions::Plan;
use crate::recourse::definition::{Definition, Question, View};
use crate::recourse::effect::Effects;
use crate::recourse::rank::{Judged, RankBy};
use crate::recourse::{Search, Share};

pub(super) fn share(text: &str) -> Share {
    Share::new(text.parse().unwrap()).unwrap()
}

pub(super) fn search(support: &str) -> Search {
    Search::new(share(support), share(support))
}

/// All definitions with two thresholds and these budgets, in all their views.
pub(super) fn questions(budgets: &[i64]) -> Vec<Question> {
    let phis = [share("0.3"), share("0.7")];
    let mut definitions = vec![Definition::EqualEffectiveness, Definition::FairTradeOff, Definition::ConditionalMean];
    definitions.push(Definition::Mean(100_000_000_000));
    definitions.extend(phis.iter().flat_map(|&phi| [Definition::EqualChoice(phi), Definition::EqualCost(phi)]));
    definitions.extend(budgets.iter().map(|&budget| Definition::WithinBudget(budget)));
    let both = |definition: Definition| [View::Macro, View::Micro].into_iter().filter_map(move |view| Question::new(definition, view));
    definitions.into_iter().flat_map(both).collect()
}

pub(super) fn judge(plan: &Plan<'_>, effects: &Effects, question: Question) -> Judged {
    Judged::new(plan, effects, question, RankBy::Distance)
}
