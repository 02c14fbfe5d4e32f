//! Scores in bins with equal numbers of people, against the labels of these people.

use crate::metric::evidence::labelled_scores::RankedScore;

/// The largest number of bins.
const BINS: u64 = 10;

/// People with neighbouring scores.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReliabilityBin {
    /// The number of the bin, from 0.
    pub(crate) bin: u64,
    /// The number of rows.
    pub(crate) n: u64,
    /// Lowest and highest share of the scale; for cells the means of the cells.
    pub(crate) scores: (f64, f64),
    /// Weighted mean of these shares.
    pub(crate) mean_score: f64,
    /// The number of rows with the positive label.
    pub(crate) positives: u64,
    /// Weighted share of the positive label.
    pub(crate) observed: f64,
    /// Interval of that share, if it is requested.
    pub(crate) ends: Option<(f64, f64)>,
}

/// The rows of each bin that is not empty. The bin of a row is floor(10 (2 below + equal) / 2 n),
/// so that ties stay together. Rows ascend.
pub(super) fn bins(rows: &[RankedScore]) -> Vec<(u64, &[RankedScore])> {
    let n: u64 = rows.iter().map(|row| row.n).sum();
    let (mut below, mut at) = (0, 0);
    let mut found: Vec<(u64, usize, usize)> = Vec::new();
    for ties in rows.chunk_by(|a, b| a.place == b.place) {
        let equal: u64 = ties.iter().map(|row| row.n).sum();
        let bin = (BINS * (2 * below + equal) / (2 * n)).min(BINS - 1);
        match found.last_mut() {
            Some((last, _, end)) if *last == bin => *end += ties.len(),
            _ => found.push((bin, at, at + ties.len())),
        }
        at += ties.len();
        below += equal;
    }
    found.into_iter().map(|(bin, from, to)| (bin, &rows[from..to])).collect()
}

impl ReliabilityBin {
    /// A bin without an interval yet.
    pub(super) fn new(bin: u64, rows: &[RankedScore]) -> Self {
        let weight: f64 = rows.iter().map(|row| row.weight as f64).sum();
        let scores = rows.iter().map(|row| row.weight as f64 * row.share);
        let positive = || rows.iter().filter(|row| row.positive);
        let shares = rows.iter().map(|row| row.share);
        ReliabilityBin {
            bin,
            n: rows.iter().map(|row| row.n).sum(),
            scores: shares.fold((1.0, 0.0), |(lo, hi), x| (x.min(lo), x.max(hi))),
            mean_score: scores.sum::<f64>() / weight,
            positives: positive().map(|row| row.n).sum(),
            observed: positive().map(|row| row.weight).sum::<u64>() as f64 / weight,
            ends: None,
        }
    }
}
