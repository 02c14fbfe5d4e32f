//! The counterfactual value of one node: a level drawn from the shares before and after, or a
//! number moved to a value that its column can have.
//!
//! Choice: the equations give the shares of a level before (p) and after (q). A person of level k
//! keeps it with probability min(1, q_k / p_k), and the remaining probability is divided among the
//! levels that gain, in proportion to their gains. This is the maximal coupling of p and q given k:
//! over people whose level follows p the result follows q, and the number of people who change is
//! the minimum over all couplings. For two levels it is the monotone one.

use crate::num::seed::{h, named_seed, u01};

/// A share that falls by less than this counts as constant.
const SHARE_ROUNDING: f64 = 1e-12;

/// Two numbers that differ by less than this count as equal.
const TIE: f64 = 1e-9;

/// The uniform numbers of the people, one for each node, the same in all graphs and directions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeUniforms {
    seed: u64,
}

impl NodeUniforms {
    /// The uniform numbers of a job's seed.
    pub(crate) fn new(seed: u64) -> Self {
        NodeUniforms { seed: named_seed(seed, "levels") }
    }

    /// The number of a person and a node, in [0, 1).
    pub(crate) fn of(self, row_key: u64, node: &str) -> f64 {
        u01(h(self.seed, row_key, xxhash_rust::xxh3::xxh3_64(node.as_bytes())))
    }
}

/// The share of each level from those of its indicators; of two levels only the second has one.
pub(crate) fn shares_of_levels(indicators: impl Iterator<Item = f64>, shares: &mut Vec<f64>) {
    shares.clear();
    shares.extend(indicators);
    if let [second] = shares[..] {
        shares.insert(0, 1.0 - second);
    }
}

/// Shares without negative ones, adding up to 1.
///
/// `shares` add up to 1 or are all 0 where a replicate has none of the levels.
pub(crate) fn clip_shares(shares: &mut [f64]) {
    shares.iter_mut().for_each(|share| *share = share.max(0.0));
    let sum: f64 = shares.iter().sum();
    if sum > 0.0 {
        shares.iter_mut().for_each(|share| *share /= sum);
    }
}

/// The probabilities of the levels after, for a person of level `own`, into `shares`.
///
/// `before` and `after` are shares of people; no person gets the level `barred`.
pub(crate) fn own_shares(
    before: &[f64],
    after: &[f64],
    own: usize,
    barred: Option<usize>,
    shares: &mut Vec<f64>,
) {
    let gain = |j: usize| {
        let takes = j != own && Some(j) != barred;
        if takes { (after[j] - before[j]).max(0.0) } else { 0.0 }
    };
    let gains: f64 = (0..after.len()).map(gain).sum();
    shares.clear();
    if after[own] >= before[own] - SHARE_ROUNDING || gains == 0.0 {
        shares.extend((0..after.len()).map(|j| if j == own { 1.0 } else { 0.0 }));
        return;
    }
    let kept = after[own] / before[own];
    shares.extend(
        (0..after.len()).map(|j| if j == own { kept } else { (1.0 - kept) * gain(j) / gains }),
    );
}

/// The level that a person with these probabilities gets by the uniform number `u`; the person's
/// present level comes first.
pub(crate) fn draw_level(shares: &[f64], own: usize, u: f64) -> usize {
    let mut end = shares[own];
    if u < end {
        return own;
    }
    let mut last = own;
    for j in (0..shares.len()).filter(|&j| j != own && shares[j] > 0.0) {
        (end, last) = (end + shares[j], j);
        if u < end {
            break;
        }
    }
    last
}

/// The numbers that a column can have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ValueLattice {
    /// All.
    Any,
    /// Whole ones.
    Whole,
    /// The values of the training rows, ascending.
    Training(Vec<f64>),
}

impl ValueLattice {
    /// One of the two neighbours of `y` on the lattice, which also contains the person's value
    /// `own`: over uniform numbers `u` their mean is `y`.
    pub(crate) fn round(&self, y: f64, own: f64, u: f64) -> f64 {
        let (below, above) = match self {
            ValueLattice::Any => return y,
            ValueLattice::Whole => (y.floor(), y.floor() + 1.0),
            ValueLattice::Training(values) => {
                let known = values.iter().copied().chain([own]);
                let below = known.clone().filter(|&x| x <= y).fold(f64::NEG_INFINITY, f64::max);
                let above = known.filter(|&x| x > y).fold(f64::INFINITY, f64::min);
                (below, above)
            }
        };
        if below.is_infinite() || above.is_infinite() {
            return if below.is_infinite() { above } else { below };
        }
        let part = (y - below) / (above - below);
        if u >= 1.0 - part { above } else { below }
    }
}

/// Whether a number moved by more than rounding.
pub(crate) fn has_moved(from: f64, to: f64) -> bool {
    (to - from).abs() > TIE * from.abs().max(1.0)
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::{NodeUniforms, ValueLattice, clip_shares, draw_level, has_moved, own_shares};
    use crate::causal::tests::frame::{expected, near};
    use crate::num::seed::RandomStream;
    use crate::tests::{floats, json};

    fn position(value: &Json) -> Option<usize> {
        value.as_u64().map(|at| at as usize)
    }

    #[test]
    fn uniforms_and_couplings_agree() {
        let micro = json(expected("extensions/micro.json"));
        for case in micro["uniforms"].as_array().unwrap() {
            let key = case["row_key"].as_str().unwrap();
            let key = key.parse().unwrap();
            let u = NodeUniforms::new(case["seed"].as_u64().unwrap())
                .of(key, case["node"].as_str().unwrap());
            near(u, case["u"].as_f64().unwrap(), 1e-15, "uniform");
        }
        let mut shares = Vec::new();
        for case in micro["couplings"].as_array().unwrap() {
            let (mut p, mut q) = (floats(&case["p"]), floats(&case["q"]));
            clip_shares(&mut p);
            clip_shares(&mut q);
            let own = position(&case["factual"]).unwrap();
            own_shares(&p, &q, own, position(&case["barred"]), &mut shares);
            let names = ["p_clipped", "q_clipped", "shares"];
            for (found, name) in [&p, &q, &shares].into_iter().zip(names) {
                for (found, expected) in found.iter().zip(floats(&case[name])) {
                    near(*found, expected, 1e-12, name);
                }
            }
            for draw in case["draws"].as_array().unwrap() {
                let u = draw["u"].as_f64().unwrap();
                let level = draw_level(&shares, own, u);
                assert_eq!(Some(level), position(&draw["level"]), "{case}");
            }
        }
    }

    #[test]
    fn lattices_agree() {
        let micro = json(expected("extensions/micro.json"));
        for case in micro["lattice"].as_array().unwrap() {
            let kind = case["kind"].as_str().unwrap();
            let number = |key: &str| case[key].as_f64().unwrap();
            let (own, moved, u) = (number("own"), number("moved_to"), number("u"));
            if !has_moved(own, moved) {
                assert_eq!(number("drawn"), own, "{case}");
                continue;
            }
            let lattice = if kind.starts_with("integer") {
                ValueLattice::Whole
            } else {
                let words = kind.split(|c: char| !c.is_ascii_digit() && c != '.');
                ValueLattice::Training(words.filter_map(|word| word.parse().ok()).collect())
            };
            let y = number("clipped");
            near(lattice.round(y, own, u), number("drawn"), 1e-12, kind);
        }
    }

    /// The invariants of the coupling, on random shares: no person changes if the shares are equal,
    /// the mixture over people has the shares after, and as few people as possible change.
    #[test]
    fn couplings_keep_their_promises() {
        let mut stream = RandomStream::new(11, "couplings");
        let mut shares = Vec::new();
        for _ in 0..2000 {
            let n = 2 + (stream.u64() % 5) as usize;
            let mut draw = || {
                let mut shares: Vec<f64> = (0..n).map(|_| stream.u01() - 0.2).collect();
                shares[0] += 1.0;
                clip_shares(&mut shares);
                shares
            };
            let (p, q) = (draw(), draw());
            let (mut mixed, mut changed) = (vec![0.0; n], 0.0);
            for own in 0..n {
                own_shares(&p, &p, own, None, &mut shares);
                assert_eq!(shares[own], 1.0);
                own_shares(&p, &q, own, None, &mut shares);
                near(shares.iter().sum(), 1.0, 1e-12, "probabilities");
                mixed.iter_mut().zip(&shares).for_each(|(sum, share)| *sum += p[own] * share);
                changed += p[own] * (1.0 - shares[own]);
                own_shares(&p, &q, own, Some(n - 1), &mut shares);
                assert!(own == n - 1 || shares[n - 1] == 0.0, "nobody gets a barred level");
            }
            let distance: f64 = p.iter().zip(&q).map(|(p, q)| (p - q).abs() / 2.0).sum();
            near(changed, distance, 1e-12, "people who change");
            for (mixed, q) in mixed.iter().zip(&q) {
                near(*mixed, *q, 1e-12, "mixture");
            }
        }
    }

    /// Over 40,000 uniform numbers the frequency of each level is its share.
    #[test]
    fn draws_have_the_right_shares() {
        let (shares, n) = ([0.55, 0.0, 0.15, 0.3], 40_000);
        let uniforms = NodeUniforms::new(3);
        let mut drawn = [0.0; 4];
        for key in 0..n {
            let u = uniforms.of(key, "job");
            drawn[draw_level(&shares, 3, u)] += 1.0 / n as f64;
        }
        for (drawn, share) in drawn.iter().zip(shares) {
            let error = (share * (1.0 - share) / n as f64).sqrt();
            assert!((drawn - share).abs() <= 4.0 * error, "{drawn} {share}");
        }
    }
}
