//! Rows of people between what they are and their counterfactual: some players have the
//! counterfactual values, all others the factual ones, and derived columns are computed again.

use std::collections::BTreeMap;

use crate::counterfactual::write_back::WriteBack;
use crate::data::FeatureRows;
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

/// A person with the counterfactual that explains the switch.
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

/// What mixtures are made of.
pub(crate) enum MixtureValues<'a> {
    /// Rows that any model reads.
    Rows {
        /// The factual rows.
        own: &'a FeatureRows,
        /// The counterfactuals.
        other: &'a FeatureRows,
        /// Computes derived columns again.
        write_back: &'a WriteBack,
    },
    /// Encoded columns of a model that was trained here, by person: counterfactuals with expected
    /// levels are no rows.
    Encoded(Vec<EncodedPerson>),
}

/// Somebody in the encoded columns of a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct EncodedPerson {
    /// The factual row.
    pub(crate) row: Vec<f64>,
    /// For each player whose values differ, by number, the columns of the model that follow, each
    /// with its change.
    pub(crate) changes: BTreeMap<usize, Vec<(usize, f64)>>,
}

/// The mixtures of the people of a direction.
pub(crate) struct FeatureMixtures<'a> {
    /// The people.
    pub(crate) people: &'a [ExplainedSwitch],
    /// Their values.
    pub(crate) values: MixtureValues<'a>,
    /// The players; the attribute is the first.
    pub(crate) players: &'a [FeaturePlayer],
    /// How orders of many players are drawn.
    pub(crate) orders: PlayerOrders,
    /// How scores become decisions.
    pub(crate) rule: &'a DecisionRule,
}

impl FeatureMixtures<'_> {
    /// Numbers of the players that differ for a person: the attribute, and those with another
    /// value.
    pub(crate) fn differing(&self, person: usize) -> Vec<usize> {
        let differs = |player: &usize| match &self.values {
            _ if *player == 0 => true,
            MixtureValues::Rows { own, other, .. } => {
                let columns = &mut self.players[*player].columns.iter();
                columns.any(|&c| other.columns[c].differs(person, &own.columns[c], person))
            }
            MixtureValues::Encoded(people) => people[person].changes.contains_key(player),
        };
        (0..self.players.len()).filter(differs).collect()
    }

    /// The coalitions of somebody.
    pub(crate) fn coalitions(&self, person: usize) -> PlayerCoalitions {
        let row_key = self.people[person].place.row_key;
        PlayerCoalitions::new(self.differing(person), row_key, self.orders)
    }

    /// The questions about a person: all coalitions but the empty and the full one, whose scores
    /// are known.
    pub(crate) fn questions<'c>(
        &self,
        person: usize,
        of: &'c PlayerCoalitions,
    ) -> impl Iterator<Item = MixtureQuestion<'c>> + use<'c> {
        let known = [PlayerCoalitions::EMPTY, of.full];
        (0..of.len()).filter(move |c| !known.contains(c)).map(move |c| (person, of, c))
    }

    /// The encoded rows of such questions, one after another; none where mixtures are rows.
    pub(crate) fn encoded<'m>(
        &'m self,
        asked: &'m [MixtureQuestion<'_>],
    ) -> Option<impl Iterator<Item = Vec<f64>> + 'm> {
        let MixtureValues::Encoded(people) = &self.values else { return None };
        let row = |(person, of, coalition): &MixtureQuestion<'_>| {
            let EncodedPerson { row, changes } = &people[*person];
            let mut row = row.clone();
            let changed = of.members(*coalition).filter_map(|player| changes.get(&player));
            changed.flatten().for_each(|&(column, change)| row[column] += change);
            row
        };
        Some(asked.iter().map(row))
    }

    /// The rows of such questions as models read them; none where mixtures are no rows.
    pub(crate) fn rows(&self, asked: &[MixtureQuestion<'_>]) -> FeatureRows {
        let MixtureValues::Rows { own, other, write_back } = &self.values else {
            return FeatureRows { n: 0, columns: Vec::new(), source: Vec::new() };
        };
        let people: Vec<usize> = asked.iter().map(|question| question.0).collect();
        let originals = own.take(&people);
        let mut made = originals.clone();
        for (row, (person, of, coalition)) in asked.iter().enumerate() {
            for player in of.members(*coalition) {
                for &column in &self.players[player].columns {
                    made.columns[column].set(row, &other.columns[column], *person);
                }
            }
        }
        write_back.follow(&mut made, &originals, |row| row);
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
        scores[of.full] = other;
        for ((.., coalition), score) in self.questions(person, of).zip(answers) {
            scores[coalition] = score;
        }
        let factual = self.rule.compare(own, threshold)?;
        let turned = |score: &f64| {
            let decision = self.rule.compare(*score, threshold)?;
            Some(if decision == factual { 0.0 } else { 1.0 })
        };
        let decisions: Vec<f64> = scores.iter().map(turned).collect::<Option<_>>()?;
        let shares = of.shares(&scores).into_iter().zip(of.shares(&decisions));
        let mut effects = vec![PlayerEffect::default(); self.players.len()];
        for ((at, &player), (score, decision)) in of.players.iter().enumerate().zip(shares) {
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
