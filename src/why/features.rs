//! The features that make people switch: means over people of the Shapley values of each player,
//! with their intervals.
//!
//! Players are the attribute with all columns that are set along with it, number 0, then each
//! column that the set may move. The values of a person are those of [`shapley`](super::shapley),
//! for the score and for whether the decision differs from the factual one. People are drawn
//! separately from those who switch and from those who do not, so the mean over all weights the two
//! kinds by the number of people that they represent: (W switched + V stayed) / (W + V).
//!
//! Intervals are percentiles of Poisson means ([`poisson`](crate::num::poisson), stream
//! `bootstrap/why`) by the key of a person, with W and V fixed; there is none if all values of each
//! kind agree to 1e-12, or if more than 5 % of the replicates draw no person. They cover the
//! sampling of people; the error of a mean from drawn orders is separate: the root of the sum of
//! the variances divided by the number of people. A player *undoes* a switch if the decision is the
//! factual one when only this player keeps the factual values: shares of the people who switch,
//! with Wilson's interval.
//!
//! Memory: for each replicate two numbers for each player and kind of people.

mod percentile;

use std::collections::BTreeSet;

use rayon::prelude::*;

pub(crate) use self::percentile::NoPercentilesReason;
use self::percentile::percentiles;
use crate::metric::interval::{ValueInterval, wilson, z_of_level};
use crate::metric::rate::{Rate, Undefined};
use crate::num::poisson::{LANES, PoissonWeights};
use crate::why::shapley::PlayerShare;

/// The name of the random weights.
const STREAM: &str = "bootstrap/why";

/// Values that differ by at most this agree.
const AGREE: f64 = 1e-12;

/// Whom a mean is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExplainedKind {
    /// People who switch.
    Switched,
    /// People who do not.
    Stayed,
    /// Both kinds together.
    All,
}

impl ExplainedKind {
    /// The word of tables.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            ExplainedKind::Switched => "switched",
            ExplainedKind::Stayed => "stayed",
            ExplainedKind::All => "all",
        }
    }
}

/// The contribution of a player for one person.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct PlayerEffect {
    /// Whether its values differ.
    pub moved: bool,
    /// The Shapley value for the score.
    pub score: PlayerShare,
    /// The Shapley value for the change of the decision, from 0 to 1.
    pub decision: PlayerShare,
    /// Whether the decision is the factual one when only this player keeps the factual values.
    pub undone: bool,
}

/// A person who is explained.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ExplainedPerson {
    /// The key by which weights are drawn.
    pub key: u64,
    /// Whether the person switches.
    pub switched: bool,
    /// Whether orders of the players were drawn.
    pub sampled: bool,
    /// The effect of each player.
    pub effects: Vec<PlayerEffect>,
}

/// How means are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MeanSettings {
    /// The seed of the job.
    pub seed: u64,
    /// Replicates.
    pub samples: usize,
    /// Level of the intervals.
    pub level: f64,
    /// The numbers of people that the explained ones represent: those who switch and the others.
    pub of: [u64; 2],
}

/// A mean over people.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MeanEffect {
    /// It.
    pub value: f64,
    /// The ends of its interval, or why it has none.
    pub interval: Result<(f64, f64), NoPercentilesReason>,
    /// The error that drawn orders leave; 0 without them.
    pub error: f64,
}

/// A player over all people of a kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlayerMeans {
    /// Number of the player.
    pub player: usize,
    /// Whom it is about.
    pub kind: ExplainedKind,
    /// People.
    pub n: u64,
    /// The number of people that they represent.
    pub of: u64,
    /// People for whom the player differs.
    pub moved: u64,
    /// People for whom orders were drawn.
    pub sampled: u64,
    /// The Shapley value for the score.
    pub score: MeanEffect,
    /// The Shapley value for the change of the decision.
    pub decision: MeanEffect,
    /// The people whose switch it undoes, among those who switch, with Wilson's interval of the
    /// share.
    pub undone: Option<(u64, Option<ValueInterval>)>,
}

/// The value of a mean: the score, or the change of the decision.
type EffectPart = fn(&PlayerEffect) -> PlayerShare;
const PARTS: [EffectPart; 2] = [|effect| effect.score, |effect| effect.decision];

/// The means of all players over the people who switch, the others, and all. The last digits depend
/// on the order of `people`.
pub(crate) fn player_means(
    people: &[ExplainedPerson],
    players: usize,
    settings: &MeanSettings,
) -> Vec<PlayerMeans> {
    let of_kind = |switched: bool| {
        people.iter().filter(|person| person.switched == switched).collect::<Vec<_>>()
    };
    let kinds = [of_kind(true), of_kind(false)];
    let replicates = MeanReplicates::draw(&kinds, players, settings);
    let z = z_of_level(settings.level);
    let mut found = Vec::new();
    for player in 0..players {
        for kind in [ExplainedKind::Switched, ExplainedKind::Stayed, ExplainedKind::All] {
            let own: Vec<usize> = match kind {
                ExplainedKind::Switched => vec![0],
                ExplainedKind::Stayed => vec![1],
                ExplainedKind::All => vec![0, 1],
            };
            let own: Vec<usize> = own.into_iter().filter(|&k| !kinds[k].is_empty()).collect();
            if own.is_empty() {
                continue;
            }
            let count = |is: &dyn Fn(&ExplainedPerson) -> bool| {
                own.iter().flat_map(|&k| &kinds[k]).filter(|person| is(person)).count() as u64
            };
            let keys = own.iter().flat_map(|&k| kinds[k].iter().map(|person| person.key));
            let keys = keys.collect::<BTreeSet<u64>>().len() as u64;
            let persons = (keys < count(&|_| true)).then_some(keys);
            let mean = |part: usize| {
                let of_person = |person: &ExplainedPerson| PARTS[part](&person.effects[player]);
                let (mut sum, mut squares, mut weight) = (0.0, 0.0, 0.0);
                for &k in &own {
                    let (n, people) = (kinds[k].len() as f64, settings.of[k] as f64);
                    let values = || kinds[k].iter().map(|person| of_person(person));
                    sum += people * (values().map(|share| share.value).sum::<f64>() / n);
                    let variance = values().map(|share| share.variance).sum::<f64>();
                    squares += people * people * (variance / (n * n));
                    weight += people;
                }
                let agree = own.iter().all(|&k| {
                    let values = kinds[k].iter().map(|person| of_person(person).value);
                    let ends = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| {
                        (lo.min(x), hi.max(x))
                    });
                    ends.1 - ends.0 <= AGREE
                });
                let interval = if agree {
                    Err(NoPercentilesReason::AllAgree)
                } else {
                    let drawn = replicates.means(&own, (player, part), settings);
                    percentiles(drawn, settings.level, persons)
                };
                MeanEffect { value: sum / weight, interval, error: squares.sqrt() / weight }
            };
            let undone = (kind == ExplainedKind::Switched).then(|| {
                let k = count(&|person| person.effects[player].undone);
                let rate = Rate {
                    numerator: k,
                    denominator: count(&|_| true),
                    empty: Undefined::EmptyGroup,
                };
                (k, wilson(rate, z))
            });
            found.push(PlayerMeans {
                player,
                kind,
                n: count(&|_| true),
                of: own.iter().map(|&k| settings.of[k]).sum(),
                moved: count(&|person| person.effects[player].moved),
                sampled: count(&|person| person.sampled),
                score: mean(0),
                decision: mean(1),
                undone,
            });
        }
    }
    found
}

/// Weighted sums of both kinds of people in this many replicates.
struct MeanTile {
    /// The sums of the weights of each kind.
    weights: [[f64; LANES]; 2],
    /// The weighted sums for each kind, player and part.
    sums: Vec<[f64; LANES]>,
}

/// The sums of all replicates, tile by tile.
struct MeanReplicates {
    tiles: Vec<MeanTile>,
    players: usize,
}

impl MeanReplicates {
    fn draw(kinds: &[Vec<&ExplainedPerson>; 2], players: usize, settings: &MeanSettings) -> Self {
        let poisson = PoissonWeights::new(settings.seed, STREAM);
        let tile = |t: usize| {
            let mut tile = MeanTile {
                weights: [[0.0; LANES]; 2],
                sums: vec![[0.0; LANES]; 2 * players * PARTS.len()],
            };
            let mut weights = [[0.0; LANES]; 1];
            for (k, people) in kinds.iter().enumerate() {
                for person in people {
                    poisson.fill(person.key, t * LANES, &mut weights);
                    add(&mut tile.weights[k], &weights[0], 1.0);
                    for (player, effect) in person.effects.iter().enumerate() {
                        for (p, part) in PARTS.iter().enumerate() {
                            let value = part(effect).value;
                            if value != 0.0 {
                                let at = (k * players + player) * PARTS.len() + p;
                                add(&mut tile.sums[at], &weights[0], value);
                            }
                        }
                    }
                }
            }
            tile
        };
        let tiles = (0..settings.samples.div_ceil(LANES)).into_par_iter().map(tile).collect();
        MeanReplicates { tiles, players }
    }

    /// The mean of a part of a player over these kinds in each replicate; none if no person of a
    /// kind is drawn.
    fn means<'a>(
        &'a self,
        kinds: &'a [usize],
        (player, part): (usize, usize),
        settings: &'a MeanSettings,
    ) -> impl Iterator<Item = Option<f64>> + 'a {
        (0..settings.samples).map(move |r| {
            let (tile, lane) = (&self.tiles[r / LANES], r % LANES);
            let (mut sum, mut weight) = (0.0, 0.0);
            for &k in kinds {
                let drawn = tile.weights[k][lane];
                if drawn == 0.0 {
                    return None;
                }
                let at = (k * self.players + player) * PARTS.len() + part;
                let people = settings.of[k] as f64;
                sum += people * (tile.sums[at][lane] / drawn);
                weight += people;
            }
            Some(sum / weight)
        })
    }
}

#[inline]
fn add(sums: &mut [f64; LANES], weights: &[f64; LANES], value: f64) {
    let mut i = 0;
    while i < LANES {
        sums[i] += weights[i] * value;
        i += 1;
    }
}

#[cfg(test)]
mod tests;
