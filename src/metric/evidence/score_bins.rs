//! Histograms of scores and of their changes for drawing, in bins that fit the data.
//!
//! Metrics read the coarse bins of [`shift`](super::shift): 50 for scores, 80 for changes. Here
//! each coarse bin has [`PARTS`] parts. A drawing joins neighbouring parts to the widest bins of
//! which at least [`MIN_BINS`] cover the range with 99 % of the values ([`central_bins`]). The
//! edges of the coarse bins stay edges: a coarse bin is the sum of its parts.
//!
//! Cells hold whole numbers: any partition of the rows, merged in any order, gives the same.
//! Memory: 46 kB for each direction with people, twice that with weights; for more than
//! [`MAX_GROUPS`] groups no parts are kept, and drawings use the coarse bins. Files hold only
//! cells with people.

use serde::{Deserialize, Serialize};

use crate::metric::evidence::additive::additive;
use crate::metric::evidence::filled_cells::FilledCells;
use crate::metric::evidence::shift::{CHANGE_BINS, SCORE_BINS, edges};
use crate::num::additive::Additive;

/// Parts of a coarse bin.
pub(crate) const PARTS: usize = 32;

const SCORE_PARTS: usize = SCORE_BINS * PARTS;
const CHANGE_PARTS: usize = CHANGE_BINS * PARTS;

/// The smallest number of bins of a drawing, if the parts are fine enough.
pub(crate) const MIN_BINS: usize = 20;

/// The largest share of values outside of the range of a drawing on each side.
const TAIL: f64 = 0.005;

static SCORE_PART_EDGES: [f64; SCORE_PARTS + 1] = edges(0.0, SCORE_PARTS as f64);
static CHANGE_PART_EDGES: [f64; CHANGE_PARTS + 1] =
    edges((CHANGE_PARTS / 2) as f64, (CHANGE_PARTS / 2) as f64);

/// The largest number of groups for which parts are kept: with twenty groups they would take as
/// much memory as all other evidence.
const MAX_GROUPS: usize = 6;

/// An upper bound of the bytes of the cells of all directions, without weights.
pub(crate) fn bytes(groups: usize) -> usize {
    let direction = (2 * SCORE_PARTS + CHANGE_PARTS) * size_of::<u64>();
    if groups > MAX_GROUPS { 0 } else { groups * groups * direction }
}

/// The parts of a histogram: the number of cases and their weight.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct HistogramParts<const N: usize> {
    n: FilledCells<u64, N>,
    /// None without weights.
    weight: FilledCells<u64, N>,
}

impl<const N: usize> HistogramParts<N> {
    /// Adds cases by their parts, with their weights if they have any.
    #[inline]
    fn add(&mut self, cases: &[u16], weights: Option<&[u64]>) {
        let n = self.n.fill();
        cases.iter().for_each(|&part| n[usize::from(part)] += 1);
        let Some(weights) = weights else { return };
        let sums = self.weight.fill();
        cases.iter().zip(weights).for_each(|(&part, weight)| sums[usize::from(part)] += weight);
    }

    /// The values that determine the range: weights if there are any, else numbers of cases.
    fn masses(&self) -> &[u64] {
        if self.weight.all().is_empty() { self.n.all() } else { self.weight.all() }
    }
}

/// The counterfactuals of a direction by their scores.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct DirectionBins {
    /// The scores of the factual rows.
    before: HistogramParts<SCORE_PARTS>,
    /// The scores of the counterfactuals.
    after: HistogramParts<SCORE_PARTS>,
    /// Counterfactual minus factual score.
    change: HistogramParts<CHANGE_PARTS>,
}

/// The counterfactuals of all directions by their scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SwitchScoreBins {
    groups: usize,
    /// Whether people have weights.
    weighted: bool,
    /// By direction: from * groups + to.
    directions: Vec<DirectionBins>,
}

/// A bin of a drawing: its edges, the number of cases, and their weight.
pub(crate) type DrawnBin = (f64, f64, u64, Option<u64>);

impl<const N: usize> Additive for HistogramParts<N> {
    fn absorb(&mut self, other: &Self) {
        self.n.absorb(&other.n);
        self.weight.absorb(&other.weight);
    }
}

additive!(DirectionBins { before, after, change });
additive!(SwitchScoreBins { directions });

impl SwitchScoreBins {
    /// Empty bins for a number of groups; none if there are too many groups.
    pub(crate) fn new(groups: usize, weighted: bool) -> Option<Self> {
        let directions = || vec![DirectionBins::default(); groups * groups];
        let empty = || SwitchScoreBins { groups, weighted, directions: directions() };
        (groups <= MAX_GROUPS).then(empty)
    }

    /// Adds counterfactuals of a direction, from * groups + to: the parts of the scores before and
    /// after and of the change, and the weights.
    pub(crate) fn add(&mut self, direction: usize, parts: PairParts<'_>, weights: &[u64]) {
        let [before, after, change] = parts;
        let weights = self.weighted.then_some(weights);
        let bins = &mut self.directions[direction];
        bins.before.add(before, weights);
        bins.after.add(after, weights);
        bins.change.add(change, weights);
    }

    /// The histograms of a direction for drawing: scores before and after in the same bins, and
    /// changes. Empty without people.
    pub(crate) fn drawn(&self, from: usize, to: usize) -> [Vec<DrawnBin>; 3] {
        let DirectionBins { before, after, change } = &self.directions[from * self.groups + to];
        let [before, after] = central_bins([before, after], &SCORE_PART_EDGES);
        let [change] = central_bins([change], &CHANGE_PART_EDGES);
        [before, after, change]
    }
}

/// The parts of pairs: of the scores before, of the scores after, and of the changes.
pub(crate) type PairParts<'a> = [&'a [u16]; 3];

/// The part of a score of [0, 1]: the last one whose lower edge is not above it.
#[inline(always)]
pub(crate) fn score_part(score: f64) -> u16 {
    part_of::<SCORE_PARTS>(score, score * SCORE_PARTS as f64, 0.0, SCORE_PARTS as f64)
}

/// The part of a change of [-1, 1]: the last one whose lower edge is not above it.
#[inline(always)]
pub(crate) fn change_part(change: f64) -> u16 {
    const HALF: f64 = (CHANGE_PARTS / 2) as f64;
    part_of::<CHANGE_PARTS>(change, (change + 1.0) * HALF, HALF, HALF)
}

/// The last of `N` parts whose lower edge, (i - first) / unit, is not above `x`; the edge `guess`
/// must be less than a part away from `x`. Without branches or tables, for vector instructions.
#[inline(always)]
fn part_of<const N: usize>(x: f64, guess: f64, first: f64, unit: f64) -> u16 {
    const WHOLE: f64 = (1_u64 << 52) as f64;
    // Adding 2^52 rounds to the nearest whole number and puts it into the lowest bits.
    let shifted = guess + WHOLE;
    let nearest = shifted.to_bits().wrapping_sub(WHOLE.to_bits());
    let is_below = x < (shifted - WHOLE - first) / unit;
    (nearest.wrapping_sub(u64::from(is_below)) as u16).min(N as u16 - 1)
}

/// Histograms in the same bins. The bins cover the range that leaves at most [`TAIL`] on each side
/// of each histogram; the first and the last bin also hold all values beyond. The bins are the
/// widest of which there are [`MIN_BINS`], from a coarse bin to a part.
fn central_bins<const N: usize, const P: usize>(
    histograms: [&HistogramParts<P>; N],
    edges: &[f64],
) -> [Vec<DrawnBin>; N] {
    let bins_of = |parts: &[u64], width: usize| -> Vec<u64> {
        parts.chunks(width).map(|part| part.iter().sum()).collect()
    };
    let range = |width: usize| -> Option<(usize, usize)> {
        let range_of = |histogram: &&HistogramParts<P>| {
            let bins = bins_of(histogram.masses(), width);
            let total: u128 = bins.iter().map(|n| u128::from(*n)).sum();
            let is_tail = |sum: u128| sum as f64 <= TAIL * total as f64;
            let tail = |bins: &mut dyn Iterator<Item = &u64>| {
                let mut sum = 0;
                bins.take_while(|n| {
                    sum += u128::from(**n);
                    is_tail(sum)
                })
                .count()
            };
            let (first, behind) = (tail(&mut bins.iter()), tail(&mut bins.iter().rev()));
            (total > 0).then(|| (first, bins.len() - behind))
        };
        let ranges = histograms.iter().filter_map(range_of);
        ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    };
    let widths = [32, 16, 8, 4, 2, 1];
    let fits = |width: &usize| range(*width).is_some_and(|(a, b)| b - a >= MIN_BINS);
    let width = widths.into_iter().find(fits).unwrap_or(1);
    let Some((first, behind)) = range(width) else { return histograms.map(|_| Vec::new()) };
    histograms.map(|histogram| {
        let joined = |parts: &[u64]| -> Vec<u64> {
            let bins = bins_of(parts, width);
            let sum = |range: std::ops::Range<usize>| bins[range].iter().sum::<u64>();
            (first..behind)
                .map(|i| {
                    let from = if i == first { 0 } else { i };
                    let to = if i + 1 == behind { bins.len() } else { i + 1 };
                    sum(from..to)
                })
                .collect()
        };
        if histogram.n.all().is_empty() {
            return Vec::new();
        }
        let weights = {
            let weights = histogram.weight.all();
            (!weights.is_empty()).then(|| joined(weights))
        };
        let bin = |(i, n): (usize, u64)| {
            let at = first + i;
            let weight = weights.as_ref().map(|weights| weights[i]);
            (edges[at * width], edges[(at + 1) * width], n, weight)
        };
        joined(histogram.n.all()).into_iter().enumerate().map(bin).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::evidence::shift::{change_bin, last_edge, score_bin};
    use crate::num::seed::{h, u01};

    fn add(bins: &mut SwitchScoreBins, score: f64, score_cf: f64, weight: u64) {
        let parts = [score_part(score), score_part(score_cf), change_part(score_cf - score)];
        bins.add(1, parts.each_ref().map(std::slice::from_ref), &[weight]);
    }

    /// Parts are those of the edges, also for numbers next to an edge, and coarse bins are sums of
    /// parts.
    #[test]
    fn parts_are_those_of_the_edges_and_make_the_coarse_bins() {
        let next_to = |edges: &[f64]| -> Vec<f64> {
            edges.iter().flat_map(|x| [x.next_down(), *x, x.next_up()]).collect()
        };
        let drawn = (0..20_000).map(|i| u01(h(3, i, 0)));
        let scores = next_to(&SCORE_PART_EDGES).into_iter().chain(drawn.clone());
        for score in scores.filter(|score| (0.0..=1.0).contains(score)) {
            let guess = (score * SCORE_PARTS as f64) as usize;
            let part = usize::from(score_part(score));
            assert_eq!(part, last_edge(guess, score, &SCORE_PART_EDGES), "{score}");
            assert_eq!(part / PARTS, score_bin(score), "{score}");
        }
        let changes = drawn.zip((0..).map(|i| u01(h(3, i, 1)))).map(|(a, b)| a - b);
        let changes = next_to(&CHANGE_PART_EDGES).into_iter().chain(changes);
        for change in changes.chain([0.0, -0.0]).filter(|change| change.abs() <= 1.0) {
            let guess = ((change + 1.0) * (CHANGE_PARTS / 2) as f64) as usize;
            let part = usize::from(change_part(change));
            assert_eq!(part, last_edge(guess, change, &CHANGE_PART_EDGES), "{change}");
            assert_eq!(part / PARTS, change_bin(change), "{change}");
        }
    }

    /// Scores in a narrow range have narrow bins, others the bins of the metrics; no case is lost.
    #[test]
    fn bins_fit_the_scores() {
        for (from, width, moved, expected) in
            [(0.01, 0.05, 0.03, 1.0 / 400.0), (0.0, 1.0, 0.6, 1.0 / 50.0)]
        {
            let mut bins = SwitchScoreBins::new(2, true).unwrap();
            let n = 10_000;
            for i in 0..n {
                let score: f64 = from + width * u01(h(1, i, 0));
                let change = moved * (u01(h(1, i, 1)) - 0.5);
                add(&mut bins, score, (score + change).clamp(0.0, 1.0), 1 + i % 3);
            }
            let [before, after, change] = bins.drawn(0, 1);
            for side in [&before, &after, &change] {
                assert!(side.len() >= MIN_BINS, "{} bins", side.len());
                assert_eq!(side.iter().map(|bin| bin.2).sum::<u64>(), n);
                let weight: u64 = side.iter().map(|bin| bin.3.unwrap()).sum();
                assert_eq!(weight, (0..n).map(|i| 1 + i % 3).sum::<u64>());
                assert!(side.windows(2).all(|pair| pair[0].1 == pair[1].0));
            }
            let edges = |side: &[super::DrawnBin]| (side[0].0, side[side.len() - 1].1);
            assert_eq!(edges(&before), edges(&after), "both in the same bins");
            assert!((before[0].1 - before[0].0 - expected).abs() < 1e-12, "{:?}", before[0]);
            // Few of the central bins are empty.
            let filled = change.iter().filter(|bin| bin.2 > 0).count();
            assert!(2 * filled > change.len(), "{filled} of {}", change.len());
        }
    }

    /// Parts merge, also after they are written and read; without people there is no bin.
    #[test]
    fn parts_merge_and_survive_a_file() {
        let (mut all, mut parts) = {
            let none = SwitchScoreBins::new(2, false).unwrap();
            (none.clone(), [none.clone(), none])
        };
        for i in 0..500 {
            let (score, score_cf) = (u01(h(2, i, 0)), u01(h(2, i, 1)));
            add(&mut all, score, score_cf, 1);
            add(&mut parts[(i % 2) as usize], score, score_cf, 1);
        }
        let [mut one, other] = parts;
        let read = |of: &SwitchScoreBins| -> SwitchScoreBins {
            serde_json::from_str(&serde_json::to_string(of).unwrap()).unwrap()
        };
        one.absorb(&read(&other));
        assert_eq!((&one, read(&one)), (&all, all.clone()));
        assert!(all.drawn(1, 0).iter().all(Vec::is_empty));
        // Scores and changes at the ends have a bin.
        add(&mut all, 0.0, 1.0, 1);
        add(&mut all, 1.0, 0.0, 1);
        assert_eq!(all.drawn(0, 1)[2].iter().map(|bin| bin.2).sum::<u64>(), 502);
        for wrong in [r#"{"n": 3, "weight": null}"#, r#"{"n": [[1600, 1]], "weight": null}"#] {
            assert!(
                serde_json::from_str::<super::HistogramParts<SCORE_PARTS>>(wrong).is_err(),
                "{wrong}"
            );
        }
    }
}
