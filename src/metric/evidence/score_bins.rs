//! Histograms of scores and of their changes for drawing, in bins that fit the data.
//!
//! Metrics read the coarse bins of [`shift`](super::shift): 50 of scores, 80 of changes. Here each
//! of them is cut into [`PARTS`], and a drawing takes as many of the parts together as leave at
//! least [`BINS_AT_LEAST`] bins over the range in which 99 % lie ([`central_bins`]). Edges of the
//! coarse bins stay edges.
//!
//! Cells hold whole numbers: any partition of the rows, merged in any order, gives the same.
//! Memory: 46 kB for each direction with people, twice that with weights; of more than
//! [`GROUPS_AT_MOST`] groups none are kept, and drawings take the coarse bins. Files hold only
//! cells with people.

use serde::{Deserialize, Serialize};

use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson, scored_pair};
use crate::metric::evidence::shift::{CHANGE_BINS, SCORE_BINS, edges, last_edge};

/// Parts of a coarse bin.
const PARTS: usize = 32;

const SCORE_PARTS: usize = SCORE_BINS * PARTS;
const CHANGE_PARTS: usize = CHANGE_BINS * PARTS;

/// Bins that a drawing has at least, where the parts allow.
pub(crate) const BINS_AT_LEAST: usize = 20;

/// What lies beyond the range of a drawing on each side, at most.
const TAIL: f64 = 0.005;

static SCORE_PART_EDGES: [f64; SCORE_PARTS + 1] = edges(0.0, SCORE_PARTS as f64);
static CHANGE_PART_EDGES: [f64; CHANGE_PARTS + 1] =
    edges((CHANGE_PARTS / 2) as f64, (CHANGE_PARTS / 2) as f64);

/// Groups of an attribute up to which they are kept: with twenty they would take as much memory as
/// all the rest.
const GROUPS_AT_MOST: usize = 6;

/// Bytes that the cells of all directions take at most, without weights.
pub(crate) fn bytes(groups: usize) -> usize {
    let direction = (2 * SCORE_PARTS + CHANGE_PARTS) * size_of::<u64>();
    if groups > GROUPS_AT_MOST { 0 } else { groups * groups * direction }
}

/// The parts of a histogram: cases, and what they weigh.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "FilledParts", try_from = "FilledParts")]
pub(crate) struct HistogramParts {
    /// Empty where nobody is.
    n: Vec<u64>,
    /// Empty where nobody has a weight.
    weight: Vec<u64>,
}

/// The same as files hold it: how many parts, and those with people by their number.
#[derive(Serialize, Deserialize)]
struct FilledParts {
    parts: usize,
    n: Vec<(usize, u64)>,
    /// None where nobody has a weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weight: Option<Vec<(usize, u64)>>,
}

impl From<HistogramParts> for FilledParts {
    fn from(all: HistogramParts) -> Self {
        let filled = |of: &[u64]| -> Vec<(usize, u64)> {
            of.iter().copied().enumerate().filter(|(_, n)| *n > 0).collect()
        };
        let weight = (!all.weight.is_empty()).then(|| filled(&all.weight));
        FilledParts { parts: all.n.len(), n: filled(&all.n), weight }
    }
}

impl TryFrom<FilledParts> for HistogramParts {
    type Error = String;

    fn try_from(filled: FilledParts) -> Result<Self, String> {
        if ![0, SCORE_PARTS, CHANGE_PARTS].contains(&filled.parts) {
            return Err(format!("a histogram of {} parts", filled.parts));
        }
        let dense = |of: &[(usize, u64)]| -> Result<Vec<u64>, String> {
            let mut all = vec![0; filled.parts];
            for &(part, n) in of {
                *all.get_mut(part).ok_or_else(|| format!("there is no part {part}"))? = n;
            }
            Ok(all)
        };
        let weight = filled.weight.as_deref().map_or_else(|| Ok(Vec::new()), dense)?;
        Ok(HistogramParts { n: dense(&filled.n)?, weight })
    }
}

impl HistogramParts {
    #[inline]
    fn add(&mut self, part: usize, parts: usize, weight: Option<u64>) {
        if self.n.is_empty() {
            self.n.resize(parts, 0);
        }
        self.n[part] += 1;
        if let Some(weight) = weight {
            if self.weight.is_empty() {
                self.weight.resize(parts, 0);
            }
            self.weight[part] += weight;
        }
    }

    fn merge(&mut self, other: &Self) {
        for (mine, theirs) in [(&mut self.n, &other.n), (&mut self.weight, &other.weight)] {
            if mine.is_empty() {
                mine.clone_from(theirs);
            } else {
                mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
            }
        }
    }

    /// What decides where most lie: weights where there are any.
    fn masses(&self) -> &[u64] {
        if self.weight.is_empty() { &self.n } else { &self.weight }
    }
}

/// The counterfactuals of a direction by their scores.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct DirectionBins {
    /// The scores of the rows as they are.
    before: HistogramParts,
    /// Those of the counterfactuals.
    after: HistogramParts,
    /// Counterfactual minus factual score.
    change: HistogramParts,
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

/// A bin of a drawing: its edges, cases, and what they weigh.
pub(crate) type DrawnBin = (f64, f64, u64, Option<u64>);

impl SwitchScoreBins {
    /// Nobody yet, for this number of groups; none where they are too many.
    pub(crate) fn new(groups: usize, weighted: bool) -> Option<Self> {
        let directions = || vec![DirectionBins::default(); groups * groups];
        let none = || SwitchScoreBins { groups, weighted, directions: directions() };
        (groups <= GROUPS_AT_MOST).then(none)
    }

    /// Adds a person with all counterfactuals.
    pub(crate) fn add(&mut self, person: &ScoredPerson, counterfactuals: &[ScoredCounterfactual]) {
        let weight = self.weighted.then_some(person.weight);
        for counterfactual in counterfactuals {
            let Some((_, score, score_cf)) = scored_pair(person, counterfactual) else { continue };
            let bins = &mut self.directions[person.group * self.groups + counterfactual.to];
            bins.before.add(score_part(score), SCORE_PARTS, weight);
            bins.after.add(score_part(score_cf), SCORE_PARTS, weight);
            bins.change.add(change_part(score_cf - score), CHANGE_PARTS, weight);
        }
    }

    /// Adds the counterfactuals of another batch.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.directions.iter_mut().zip(&other.directions) {
            mine.before.merge(&theirs.before);
            mine.after.merge(&theirs.after);
            mine.change.merge(&theirs.change);
        }
    }

    /// The histograms of a direction for drawing: scores before and after in the same bins, and
    /// changes; no bin where nobody is.
    pub(crate) fn drawn(&self, from: usize, to: usize) -> [Vec<DrawnBin>; 3] {
        let DirectionBins { before, after, change } = &self.directions[from * self.groups + to];
        let [before, after] = central_bins([before, after], &SCORE_PART_EDGES);
        let [change] = central_bins([change], &CHANGE_PART_EDGES);
        [before, after, change]
    }
}

fn score_part(score: f64) -> usize {
    last_edge((score * SCORE_PARTS as f64) as usize, score, &SCORE_PART_EDGES)
}

fn change_part(change: f64) -> usize {
    last_edge(((change + 1.0) * (CHANGE_PARTS / 2) as f64) as usize, change, &CHANGE_PART_EDGES)
}

/// Histograms in the same bins: those in which all but [`TAIL`] on each side of each lies, the
/// first and the last with all that lies beyond. Bins are the widest of which there are
/// [`BINS_AT_LEAST`], from a coarse bin to a part.
fn central_bins<const N: usize>(of: [&HistogramParts; N], edges: &[f64]) -> [Vec<DrawnBin>; N] {
    let bins_of = |parts: &[u64], width: usize| -> Vec<u64> {
        parts.chunks(width).map(|part| part.iter().sum()).collect()
    };
    let range = |width: usize| -> Option<(usize, usize)> {
        let one = |histogram: &&HistogramParts| {
            let bins = bins_of(histogram.masses(), width);
            let all: u128 = bins.iter().map(|n| u128::from(*n)).sum();
            let is_tail = |sum: u128| sum as f64 <= TAIL * all as f64;
            let tail = |bins: &mut dyn Iterator<Item = &u64>| {
                let mut sum = 0;
                bins.take_while(|n| {
                    sum += u128::from(**n);
                    is_tail(sum)
                })
                .count()
            };
            let (first, behind) = (tail(&mut bins.iter()), tail(&mut bins.iter().rev()));
            (all > 0).then(|| (first, bins.len() - behind))
        };
        let found = of.iter().filter_map(one);
        found.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    };
    let widths = [32, 16, 8, 4, 2, 1];
    let fits = |width: &usize| range(*width).is_some_and(|(a, b)| b - a >= BINS_AT_LEAST);
    let width = widths.into_iter().find(fits).unwrap_or(1);
    let Some((first, behind)) = range(width) else { return of.map(|_| Vec::new()) };
    of.map(|histogram| {
        let together = |of: &[u64]| -> Vec<u64> {
            let bins = bins_of(of, width);
            let sum = |range: std::ops::Range<usize>| bins[range].iter().sum::<u64>();
            (first..behind)
                .map(|i| {
                    let from = if i == first { 0 } else { i };
                    let to = if i + 1 == behind { bins.len() } else { i + 1 };
                    sum(from..to)
                })
                .collect()
        };
        if histogram.n.is_empty() {
            return Vec::new();
        }
        let weights = (!histogram.weight.is_empty()).then(|| together(&histogram.weight));
        let bin = |(i, n): (usize, u64)| {
            let at = first + i;
            let weight = weights.as_ref().map(|weights| weights[i]);
            (edges[at * width], edges[(at + 1) * width], n, weight)
        };
        together(&histogram.n).into_iter().enumerate().map(bin).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::{BINS_AT_LEAST, SwitchScoreBins};
    use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson};
    use crate::num::seed::{h, u01};

    fn add(bins: &mut SwitchScoreBins, score: f64, score_cf: f64, weight: u64) {
        let predicted = Some(false);
        let person = ScoredPerson { group: 0, label: None, predicted, score: Some(score), weight };
        bins.add(
            &person,
            &[ScoredCounterfactual { to: 1, predicted, score: Some(score_cf), rounded: false }],
        );
    }

    /// Scores in a narrow range have bins there, wide ones those of the metrics; nobody is lost.
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
                assert!(side.len() >= BINS_AT_LEAST, "{} bins", side.len());
                assert_eq!(side.iter().map(|bin| bin.2).sum::<u64>(), n);
                let weight: u64 = side.iter().map(|bin| bin.3.unwrap()).sum();
                assert_eq!(weight, (0..n).map(|i| 1 + i % 3).sum::<u64>());
                assert!(side.windows(2).all(|pair| pair[0].1 == pair[1].0));
            }
            let edges = |side: &[super::DrawnBin]| (side[0].0, side[side.len() - 1].1);
            assert_eq!(edges(&before), edges(&after), "both in the same bins");
            assert!((before[0].1 - before[0].0 - expected).abs() < 1e-12, "{:?}", before[0]);
            // Of the central bins hardly any is empty.
            let filled = change.iter().filter(|bin| bin.2 > 0).count();
            assert!(2 * filled > change.len(), "{filled} of {}", change.len());
        }
    }

    /// Parts merge as the people do, also through a file; of nobody there is no bin.
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
        one.merge(&read(&other));
        assert_eq!((&one, read(&one)), (&all, all.clone()));
        assert!(all.drawn(1, 0).iter().all(Vec::is_empty));
        // Scores and changes at the ends have a bin.
        add(&mut all, 0.0, 1.0, 1);
        add(&mut all, 1.0, 0.0, 1);
        assert_eq!(all.drawn(0, 1)[2].iter().map(|bin| bin.2).sum::<u64>(), 502);
        for wrong in [r#"{"parts": 3, "n": []}"#, r#"{"parts": 1600, "n": [[1600, 1]]}"#] {
            assert!(serde_json::from_str::<super::HistogramParts>(wrong).is_err(), "{wrong}");
        }
    }
}
