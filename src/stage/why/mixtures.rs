//! Rows of people between what they are and their counterfactual: some players have the
//! counterfactual values, all others the factual ones, and derived columns are computed again.

use crate::counterfactual::write_back::{WriteBack, WriteBackRow, differs};
use crate::data::{FeatureColumn, FeatureRows};
use crate::stage::row_context::DecisionRule;
use crate::stage::why::people::CountedPlace;
use crate::why::features::{ExplainedPerson, PlayerEffect};
use crate::why::shapley::{PlayerCoalitions, PlayerOrders};

/// Columns that change together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FeaturePlayer {
    /// The attribute, the column, or the one-hot feature.
    pub(crate) name: String,
    /// Positions of its columns.
    pub(crate) columns: Vec<usize>,
}

/// Somebody with the counterfactual that explains them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ExplainedSwitch {
    /// Where the person is.
    pub(crate) place: CountedPlace,
    /// The position in the source.
    pub(crate) source: u64,
    /// The place of the counterfactual among those of the row group.
    pub(crate) counterfactual: usize,
    /// The fold in which the person is audited.
    pub(crate) fold: u8,
    /// The threshold of the person.
    pub(crate) threshold: f64,
    /// The scores of the factual row and of the counterfactual.
    pub(crate) scores: [f64; 2],
    /// Whether the decisions differ.
    pub(crate) switches: bool,
}

/// A person, the coalitions of the person, and the number of one of them.
pub(crate) type MixtureQuestion<'c> = (usize, &'c PlayerCoalitions, usize);

/// The mixtures of the people of a direction.
pub(crate) struct FeatureMixtures<'a> {
    /// The people.
    pub(crate) people: &'a [ExplainedSwitch],
    /// Their factual rows.
    pub(crate) own: &'a FeatureRows,
    /// Their counterfactuals.
    pub(crate) other: &'a FeatureRows,
    /// The players; the attribute is the first.
    pub(crate) players: &'a [FeaturePlayer],
    /// Computes derived columns again.
    pub(crate) write_back: &'a WriteBack,
    /// How orders of many players are drawn.
    pub(crate) orders: PlayerOrders,
    /// How scores become decisions.
    pub(crate) rule: &'a DecisionRule,
}

impl FeatureMixtures<'_> {
    /// Numbers of the players that differ for somebody: the attribute, and those with another
    /// value.
    pub(crate) fn differing(&self, person: usize) -> Vec<usize> {
        let moved = |column: &usize| {
            differs(&self.other.columns[*column], person, &self.own.columns[*column], person)
        };
        let differs =
            |player: &usize| *player == 0 || self.players[*player].columns.iter().any(moved);
        (0..self.players.len()).filter(differs).collect()
    }

    /// The coalitions of somebody.
    pub(crate) fn coalitions(&self, person: usize) -> PlayerCoalitions {
        let row_key = self.people[person].place.row_key;
        PlayerCoalitions::new(self.differing(person), row_key, self.orders)
    }

    /// What is asked about somebody: all coalitions but those of nobody and of everybody, whose
    /// scores are known.
    pub(crate) fn questions<'c>(
        &self,
        person: usize,
        of: &'c PlayerCoalitions,
    ) -> impl Iterator<Item = MixtureQuestion<'c>> + use<'c> {
        let known = [of.empty(), of.full()];
        (0..of.len()).filter(move |c| !known.contains(c)).map(move |c| (person, of, c))
    }

    /// The rows of such questions as models read them.
    pub(crate) fn rows(&self, asked: &[MixtureQuestion<'_>]) -> FeatureRows {
        let people: Vec<usize> = asked.iter().map(|question| question.0).collect();
        let originals = self.own.take(&people);
        let mut made = originals.clone();
        for (row, (person, of, coalition)) in asked.iter().enumerate() {
            for player in of.members(*coalition) {
                for &column in &self.players[player].columns {
                    match (&mut made.columns[column], &self.other.columns[column]) {
                        (FeatureColumn::Number(to), FeatureColumn::Number(from)) => {
                            to[row] = from[*person]
                        }
                        (FeatureColumn::Code(to), FeatureColumn::Code(from)) => {
                            to[row] = from[*person]
                        }
                        // Both are made from the same layout.
                        _ => {}
                    }
                }
            }
        }
        if !self.write_back.is_empty() {
            let all: Vec<WriteBackRow> =
                (0..made.n).map(|row| WriteBackRow { row, parent: row, from: 0, to: 0 }).collect();
            self.write_back.apply(&mut made, &all, &originals, &[]);
        }
        made
    }

    /// What each player does for somebody, by the answers to all questions in their order; none
    /// where one of them has no score.
    pub(crate) fn effects(
        &self,
        person: usize,
        of: &PlayerCoalitions,
        answers: impl Iterator<Item = f64>,
    ) -> Option<ExplainedPerson> {
        let ExplainedSwitch { place, threshold, scores: [own, other], switches, .. } =
            self.people[person];
        let mut scores = vec![own; of.len()];
        scores[of.full()] = other;
        for ((.., coalition), score) in self.questions(person, of).zip(answers) {
            scores[coalition] = score;
        }
        let factual = self.rule.decision.decide(own, threshold)?;
        let turned = |score: &f64| {
            let decision = self.rule.decision.decide(*score, threshold)?;
            Some(if decision == factual { 0.0 } else { 1.0 })
        };
        let decisions: Vec<f64> = scores.iter().map(turned).collect::<Option<_>>()?;
        let shares = of.shares(&scores).into_iter().zip(of.shares(&decisions));
        let mut effects = vec![PlayerEffect::default(); self.players.len()];
        for ((at, &player), (score, decision)) in of.players().iter().enumerate().zip(shares) {
            let undone = switches && decisions[of.without(at)] == 0.0;
            effects[player] = PlayerEffect { moved: true, score, decision, undone };
        }
        Some(ExplainedPerson {
            key: place.person,
            switched: switches,
            sampled: of.is_sampled(),
            effects,
        })
    }

    /// What messages call the row of a question.
    pub(crate) fn name(&self, (person, of, coalition): MixtureQuestion<'_>) -> String {
        let names: Vec<String> = of
            .members(coalition)
            .map(|player| format!("`{}`", self.players[player].name))
            .collect();
        let source = self.people[person].source;
        format!("row {source} of the data, with the counterfactual {}", names.join(", "))
    }
}

#[cfg(test)]
mod tests;
