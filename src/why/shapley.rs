//! Shapley values of one person: how much each player that differs adds to the difference between
//! the factual row and a counterfactual.
//!
//! A *coalition* is a set of players that have their counterfactual values while all others keep
//! the factual ones. With value v(T) of coalition T and d players that differ, player j gets phi_j
//! = sum over T without j of |T|! (d - |T| - 1)! / d! (v(T + j) - v(T)), so that the sum over the
//! players is v(all) - v(none). Up to [`EXACT_PLAYERS`] players every coalition is scored. With
//! more, phi_j is the mean over pairs of an order of the players and its reverse: each order adds
//! up to the same difference, and a pair varies less than two independent orders. The variance of a
//! mean is the sample variance of the pairs divided by their number. Order r sorts the players by
//! (h(seed, row key, 65536 r + number), number), so it depends only on the person.
//!
//! Sources: Shapley 1953, "A value for n-person games"; Castro, Gomez and Tejada 2009 (orders drawn
//! at random); Mitchell, Cooper, Frank and Holmes 2022 (an order with its reverse).

use crate::num::bits;
use crate::num::hash::FastMap;
use crate::num::seed::h;

/// The largest number of differing players for which all coalitions are scored: 1,024 of them.
pub(crate) const EXACT_PLAYERS: usize = 10;

/// Number of hash values between orders, one for each player.
const NUMBERS_OF_ORDER: u64 = 65_536;

/// How orders of many players are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlayerOrders {
    /// The seed of the stream `why/order`.
    pub seed: u64,
    /// Orders and their reverses, together; an even number, at least 4.
    pub permutations: usize,
}

/// The contribution of a player.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct PlayerShare {
    /// The Shapley value, or its mean over the pairs of orders.
    pub value: f64,
    /// The variance of that mean; 0 if all coalitions were scored.
    pub variance: f64,
}

/// The coalitions of a person that are to be scored, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlayerCoalitions {
    /// Numbers of the players that differ, ascending; a bit of a coalition is a place here.
    pub(crate) players: Vec<usize>,
    /// The coalitions, each as a number of words.
    sets: Vec<u64>,
    words: usize,
    /// The coalition of all players: the counterfactual.
    pub(crate) full: usize,
    /// If orders are drawn, the coalition of all others for each place.
    without: Vec<usize>,
    /// If orders are drawn, the places in each order, with its coalitions; each order is followed
    /// by its reverse.
    walks: Vec<(Vec<usize>, Vec<usize>)>,
}

impl PlayerCoalitions {
    /// The empty coalition: the factual row.
    pub(crate) const EMPTY: usize = 0;

    /// The coalitions of a person whose row has this key and for whom these players differ, at
    /// least one and fewer than 65,536.
    pub(crate) fn new(players: Vec<usize>, row_key: u64, orders: PlayerOrders) -> Self {
        let d = players.len();
        let words = d.div_ceil(64).max(1);
        if d <= EXACT_PLAYERS {
            let n = 1 << d;
            let (sets, none) = ((0..n as u64).collect(), Vec::new());
            return PlayerCoalitions {
                players,
                sets,
                words,
                full: n - 1,
                without: none,
                walks: Vec::new(),
            };
        }
        let mut known = KnownCoalitions { number: FastMap::default(), sets: Vec::new() };
        let empty = vec![0; words];
        known.number_of(&empty);
        let mut all = empty.clone();
        (0..d).for_each(|place| bits::set(&mut all, place));
        let full = known.number_of(&all);
        let without = (0..d).map(|place| {
            let mut others = all.clone();
            others[place / 64] &= !(1 << (place % 64));
            known.number_of(&others)
        });
        let without = without.collect();
        let mut walks = Vec::with_capacity(orders.permutations);
        for r in 0..(orders.permutations / 2) as u64 {
            let rank = |&place: &usize| {
                let number = players[place] as u64;
                (h(orders.seed, row_key, NUMBERS_OF_ORDER * r + number), number)
            };
            let mut order: Vec<usize> = (0..d).collect();
            order.sort_by_cached_key(rank);
            let reverse: Vec<usize> = order.iter().rev().copied().collect();
            for order in [order, reverse] {
                let mut so_far = empty.clone();
                let passes = order.iter().map(|&place| {
                    bits::set(&mut so_far, place);
                    known.number_of(&so_far)
                });
                let passes = std::iter::once(0).chain(passes).collect();
                walks.push((order, passes));
            }
        }
        PlayerCoalitions { players, sets: known.sets, words, full, without, walks }
    }

    /// Coalitions at most that a person with this many players has.
    pub(crate) fn at_most(d: usize, permutations: usize) -> usize {
        if d <= EXACT_PLAYERS { 1 << d } else { permutations.saturating_mul(d) }
    }

    /// Number of coalitions.
    pub(crate) fn len(&self) -> usize {
        self.sets.len() / self.words
    }

    /// The players that have their counterfactual values in a coalition.
    pub(crate) fn members(&self, coalition: usize) -> impl Iterator<Item = usize> + '_ {
        let set = &self.sets[coalition * self.words..(coalition + 1) * self.words];
        bits::ones(set).map(|place| self.players[place])
    }

    /// The coalition of all players except the one at a place.
    pub(crate) fn without(&self, place: usize) -> usize {
        self.without.get(place).copied().unwrap_or(self.full & !(1 << place))
    }

    /// Whether orders are drawn.
    pub(crate) fn is_sampled(&self) -> bool {
        !self.walks.is_empty()
    }

    /// The contributions of the differing players, from the values of all coalitions.
    pub(crate) fn shares(&self, values: &[f64]) -> Vec<PlayerShare> {
        if self.is_sampled() { self.sampled_shares(values) } else { self.exact_shares(values) }
    }

    fn exact_shares(&self, values: &[f64]) -> Vec<PlayerShare> {
        let d = self.players.len();
        // |T|! (d - |T| - 1)! / d! = 1 / (d C(d - 1, |T|)), by whole numbers.
        let mut choices = 1_u64;
        let mut weights = Vec::with_capacity(d);
        for size in 0..d as u64 {
            weights.push(1.0 / (d as u64 * choices) as f64);
            choices = choices * (d as u64 - 1 - size) / (size + 1);
        }
        let share = |place: usize| {
            let joined = 1 << place;
            let without = (0..values.len()).filter(|coalition| coalition & joined == 0);
            let gains = without.map(|coalition| {
                let weight = weights[coalition.count_ones() as usize];
                weight * (values[coalition | joined] - values[coalition])
            });
            PlayerShare { value: gains.sum(), variance: 0.0 }
        };
        (0..d).map(share).collect()
    }

    fn sampled_shares(&self, values: &[f64]) -> Vec<PlayerShare> {
        let (d, n) = (self.players.len(), (self.walks.len() / 2) as f64);
        let pairs: Vec<Vec<f64>> = self
            .walks
            .chunks_exact(2)
            .map(|pair| {
                let mut gains = vec![0.0; d];
                for (order, passes) in pair {
                    for (&place, step) in order.iter().zip(passes.windows(2)) {
                        gains[place] += (values[step[1]] - values[step[0]]) / 2.0;
                    }
                }
                gains
            })
            .collect();
        let share = |place: usize| {
            let mean = pairs.iter().map(|gains| gains[place]).sum::<f64>() / n;
            let squares: f64 = pairs.iter().map(|gains| (gains[place] - mean).powi(2)).sum();
            PlayerShare { value: mean, variance: squares / (n - 1.0) / n }
        };
        (0..d).map(share).collect()
    }
}

/// Coalitions by their bits, numbered as they come.
struct KnownCoalitions {
    number: FastMap<Vec<u64>, usize>,
    sets: Vec<u64>,
}

impl KnownCoalitions {
    fn number_of(&mut self, set: &[u64]) -> usize {
        let next = self.number.len();
        let number = *self.number.entry(set.to_vec()).or_insert(next);
        if number == next {
            self.sets.extend_from_slice(set);
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::{EXACT_PLAYERS, PlayerCoalitions, PlayerOrders};
    use crate::num::seed::{RandomStream, named_seed};

    const ORDERS: PlayerOrders = PlayerOrders { seed: 7, permutations: 200 };

    fn permutations(d: usize) -> Vec<Vec<usize>> {
        if d == 0 {
            return vec![Vec::new()];
        }
        let shorter = permutations(d - 1).into_iter();
        let longer = |order: Vec<usize>| {
            (0..d).map(move |at| {
                let mut longer = order.clone();
                longer.insert(at, d - 1);
                longer
            })
        };
        shorter.flat_map(longer).collect()
    }

    /// The value is the mean contribution of a player over all orders.
    #[test]
    fn exact_values_are_the_mean_over_all_orders() {
        let mut stream = RandomStream::new(1, "shapley");
        for d in 1..=6 {
            let coalitions = PlayerCoalitions::new((0..d).map(|p| 3 * p + 1).collect(), 5, ORDERS);
            assert_eq!(
                (coalitions.len(), coalitions.full, coalitions.is_sampled()),
                (1 << d, (1 << d) - 1, false)
            );
            let values: Vec<f64> = (0..coalitions.len()).map(|_| stream.u01() * 300.0).collect();
            let (mut sums, orders) = (vec![0.0; d], permutations(d));
            for order in &orders {
                let mut mask = 0_usize;
                for &place in order {
                    sums[place] += values[mask | 1 << place] - values[mask];
                    mask |= 1 << place;
                }
            }
            let shares = coalitions.shares(&values);
            for (share, sum) in shares.iter().zip(sums) {
                assert!((share.value - sum / orders.len() as f64).abs() < 1e-11, "{d}");
            }
            let all: f64 = shares.iter().map(|share| share.value).sum();
            assert!((all - (values[coalitions.full] - values[0])).abs() < 300.0 * 1e-12, "{d}");
        }
    }

    /// More than ten players: orders and their reverses. A sum of values of single players has no
    /// error, products have an error that the stated variance covers, and every sum is exact.
    #[test]
    fn sampled_values_add_up_and_state_their_error() {
        let d = EXACT_PLAYERS + 3;
        let coalitions = PlayerCoalitions::new((0..d).collect(), 99, ORDERS);
        assert!(
            coalitions.is_sampled()
                && coalitions.len() <= PlayerCoalitions::at_most(d, ORDERS.permutations)
        );
        let members = |c: usize| coalitions.members(c).collect::<Vec<_>>();
        assert!(members(PlayerCoalitions::EMPTY).is_empty() && members(coalitions.full).len() == d);
        for place in 0..d {
            let others: Vec<usize> = (0..d).filter(|p| *p != place).collect();
            assert_eq!(members(coalitions.without(place)), others);
        }
        let linear: Vec<f64> = (0..coalitions.len())
            .map(|c| coalitions.members(c).map(|p| p as f64 + 0.5).sum())
            .collect();
        for (place, share) in coalitions.shares(&linear).iter().enumerate() {
            assert!((share.value - (place as f64 + 0.5)).abs() < 1e-11 && share.variance < 1e-20);
        }
        // One point for the first three players together: a third each.
        let all_three = |c: usize| f64::from(u8::from((0..3).all(|p| members(c).contains(&p))));
        let together: Vec<f64> = (0..coalitions.len()).map(all_three).collect();
        let shares = coalitions.shares(&together);
        for (place, share) in shares.iter().enumerate() {
            let wanted = if place < 3 { 1.0 / 3.0 } else { 0.0 };
            let error = share.variance.sqrt();
            assert!((share.value - wanted).abs() <= 4.0 * error, "{place}: {share:?}");
            assert_eq!(error > 0.0, place < 3);
        }
        let sum: f64 = shares.iter().map(|share| share.value).sum();
        assert!((sum - 1.0).abs() < 1e-12);
    }

    /// The orders of players by another program.
    #[test]
    fn orders_agree_with_the_oracle() {
        let units = crate::tests::json(crate::tests::expected("why/patterns/units.json"));
        for case in units["orders"].as_array().unwrap() {
            let number = |key: &str| case[key].as_u64().unwrap();
            let list =
                |key: &str| -> Vec<usize> { serde_json::from_value(case[key].clone()).unwrap() };
            let (players, r) = (list("players"), number("permutation") as usize);
            let orders = PlayerOrders {
                seed: named_seed(number("seed"), "why/order"),
                permutations: 2 * (r + 1),
            };
            let coalitions = PlayerCoalitions::new(players.clone(), number("key"), orders);
            let order: Vec<usize> =
                coalitions.walks[2 * r].0.iter().map(|&at| players[at]).collect();
            assert_eq!(order, list("order"), "{case}");
        }
    }

    #[test]
    fn orders_depend_on_the_person_and_the_seed_alone() {
        let new = |key, seed| {
            PlayerCoalitions::new((0..12).collect(), key, PlayerOrders { seed, ..ORDERS })
        };
        assert_eq!(new(3, 7), new(3, 7));
        assert_ne!(new(3, 7), new(4, 7));
        assert_ne!(new(3, 7), new(3, 8));
    }
}
