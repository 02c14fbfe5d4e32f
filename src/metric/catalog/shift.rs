//! How far scores move between factual rows and their counterfactuals: RMSCD, Kullback-Leibler,
//! Jensen-Shannon.
//!
//! Source: Towards Counterfactual Group Fairness, eq. 6 and Tables 2, 12 and 13, for RMSCD and
//! JSCD; MCD, MACD and the histogram measures are additions. Input: pairs of a factual score s and
//! a counterfactual score c of [0, 1]; a total takes the pairs of all directions together.
//!
//! Choice: the papers leave binning, base and root of JSCD open. It is the Jensen-Shannon
//! *distance* (square root, natural logarithm) between the two vectors of scores, each scaled to
//! sum 1, paired by person: the only reading that reproduces the published tables. It ignores a
//! common factor, and a total is not a mean of its directions.
//!
//! Every term is rounded to a multiple of 2^-52 and added as a whole number, so that any partition
//! of the pairs gives the same bits. Kullback-Leibler needs one pass: sum p ln(p/q) = (sum s
//! ln(s/c)) / S + ln(C/S), with S and C the sums of s and c. Jensen-Shannon needs S and C first,
//! hence the second pass of [`jensen_shannon`](crate::metric::evidence::jensen_shannon).

use super::place::PagePlace::TablesOnly;
use crate::metric::evidence::shift::{SCORE_BINS, ScoreShift, bins, log_ratio, total_weight};
use crate::metric::rate::{MetricValue, Undefined};
use crate::metric::{Metric, MetricFamily, MetricUnit, Reads};

/// The square root of ln 2.
const JSCD_MAX: f64 = 0.832_554_611_157_697_8;

/// What the metrics of this family have in common.
const SHIFT: Metric = Metric { family: MetricFamily::Shift, ideal: Some(0.0), ..Metric::UNSTATED };

/// The list of this family.
pub(crate) const METRICS: &[Metric] = records! {
    "rmscd", "RMSCD", reads: Reads::Shift(rmscd), range: (0.0, 1.0),
        shown: at![ScoreShifts 1, ClassSwitches 7, ArmShifts 1], shows_every_move: true, ..SHIFT;
    "mcd", "MCD", reads: Reads::Shift(mcd), range: (-1.0, 1.0), unit: MetricUnit::Signed,
        shown: at![ScoreShifts 2, ArmShifts 2], ..SHIFT;
    "macd", "MACD", reads: Reads::Shift(macd), range: (0.0, 1.0), shown: at![ScoreShifts 3],
        shows_every_move: true, ..SHIFT;
    "kld", "KLD", reads: Reads::Shift(kld), range: (0.0, f64::INFINITY), shown: at![ScoreShifts 5],
        ..SHIFT;
    "jscd", "JSCD", reads: Reads::Shift(jscd), range: (0.0, JSCD_MAX),
        shown: at![ScoreShifts 4, ClassSwitches 8, ArmShifts 3], ..SHIFT;
    "jsd_hist", "JSD_hist", reads: Reads::Shift(jsd_hist), range: (0.0, 1.0),
        shown: at![ScoreShifts 6], ..SHIFT;
    "kld_hist", "KLD_hist", reads: Reads::Shift(kld_hist), range: (0.0, f64::INFINITY),
        shown: &[TablesOnly], ..SHIFT;
    "kld_hist_smoothed", "KLD_hist_smoothed", reads: Reads::Shift(kld_hist_smoothed),
        range: (0.0, f64::INFINITY), shown: at![ScoreShifts 7], ..SHIFT;
};

/// Those that are 0 only where no score moves.
pub(crate) fn of_every_move() -> impl Iterator<Item = &'static Metric> {
    METRICS.iter().filter(|metric| metric.shows_every_move)
}

fn mean(shift: &ScoreShift, sum: f64) -> MetricValue {
    total_weight(shift).map(|n| sum / n)
}

fn rmscd(shift: &ScoreShift) -> MetricValue {
    mean(shift, shift.squared).map(f64::sqrt)
}

fn mcd(shift: &ScoreShift) -> MetricValue {
    mean(shift, shift.change)
}

fn macd(shift: &ScoreShift) -> MetricValue {
    mean(shift, shift.absolute)
}

fn score_sums(shift: &ScoreShift) -> Result<(f64, f64), Undefined> {
    total_weight(shift)?;
    match *shift {
        ScoreShift { score, score_cf, .. } if score <= 0.0 || score_cf <= 0.0 => {
            Err(Undefined::ZeroScoreSum)
        }
        ScoreShift { score, score_cf, .. } => Ok((score, score_cf)),
    }
}

fn kld(shift: &ScoreShift) -> MetricValue {
    let (score, score_cf) = score_sums(shift)?;
    if shift.infinite > 0.0 {
        return Err(Undefined::Infinite);
    }
    Ok((shift.divergence / score + log_ratio(score_cf, score)).max(0.0))
}

fn jscd(shift: &ScoreShift) -> MetricValue {
    score_sums(shift)?;
    shift.jensen_shannon.map(|divergence| divergence.sqrt().min(JSCD_MAX))
}

/// Σ p ln(p/q) over bins with p > 0, in order of the bins.
fn bin_divergence(bins: impl Iterator<Item = (f64, f64)>) -> f64 {
    bins.filter(|(p, _)| *p > 0.0).map(|(p, q)| p * libm::log(p / q)).sum::<f64>().max(0.0)
}

fn jsd_hist(shift: &ScoreShift) -> MetricValue {
    let n = shift.n;
    let before = bin_divergence(bins(shift)?.map(|(p, q)| (p / n, f64::midpoint(p, q) / n)));
    let after = bin_divergence(bins(shift)?.map(|(p, q)| (q / n, f64::midpoint(p, q) / n)));
    Ok((f64::midpoint(before, after) / std::f64::consts::LN_2).min(1.0))
}

fn kld_hist(shift: &ScoreShift) -> MetricValue {
    let n = shift.n;
    if bins(shift)?.any(|(before, after)| before > 0.0 && after == 0.0) {
        return Err(Undefined::Infinite);
    }
    Ok(bin_divergence(bins(shift)?.map(|(before, after)| (before / n, after / n))))
}

fn kld_hist_smoothed(shift: &ScoreShift) -> MetricValue {
    // Half of what one of them weighs on average: another unit of the weights changes nothing.
    let half = 0.5 * (total_weight(shift)? / shift.pairs);
    let n = shift.n + SCORE_BINS as f64 * half;
    Ok(bin_divergence(
        bins(shift)?.map(|(before, after)| ((before + half) / n, (after + half) / n)),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::evidence::jensen_shannon_sums::DivergenceSums;
    use crate::metric::evidence::shift::{
        CHANGE_BINS, CHANGE_EDGES, SCORE_EDGES, ShiftSums, change_bin, score_bin,
    };

    fn values(pairs: &[(f64, f64)]) -> Vec<MetricValue> {
        let mut sums = ShiftSums::default();
        pairs.iter().for_each(|&(s, c)| sums.add(0, s, c, 1));
        let mut divergence = DivergenceSums::new(&sums);
        for pair in pairs {
            divergence.add(*pair, 1);
        }
        let shift = divergence.score_shift(&sums);
        let value = |reads: &Reads| {
            if let Reads::Shift(value) = reads { value(&shift) } else { unreachable!() }
        };
        METRICS.iter().map(|metric| value(&metric.reads)).collect()
    }

    #[test]
    fn bins_are_closed_on_the_left() {
        for (i, edge) in SCORE_EDGES.into_iter().enumerate() {
            assert_eq!(score_bin(edge), i.min(SCORE_BINS - 1));
            if i > 0 {
                assert_eq!(score_bin(edge.next_down()), i - 1);
            }
        }
        for (i, edge) in CHANGE_EDGES.into_iter().enumerate() {
            assert_eq!(change_bin(edge), i.min(CHANGE_BINS - 1));
            if i > 0 {
                assert_eq!(change_bin(edge.next_down()), i - 1);
            }
        }
    }

    #[test]
    fn by_hand() {
        // p = (1/4, 3/4), q = (1/2, 1/2), m = (3/8, 5/8).
        let found = values(&[(0.25, 0.5), (0.75, 0.5)]);
        let ln = f64::ln;
        let js =
            (0.25 * ln(2.0 / 3.0) + 0.75 * ln(1.2) + 0.5 * ln(4.0 / 3.0) + 0.5 * ln(0.8)) / 2.0;
        let expected = [0.25, 0.0, 0.25, 0.25 * ln(0.5) + 0.75 * ln(1.5), js.sqrt(), 1.0];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found.unwrap() - expected).abs() < 1e-15, "{found:?} instead of {expected}");
        }
        assert_eq!(found[6], Err(Undefined::Infinite));
    }

    #[test]
    fn what_does_not_move_is_at_distance_zero() {
        assert_eq!(values(&[(0.1, 0.1), (0.7, 0.7), (0.0, 0.0), (1.0, 1.0)])[..7], [Ok(0.0); 7]);
    }

    #[test]
    fn both_formulas_of_the_logarithm_agree() {
        for i in 1..2000 {
            let (a, b) = (f64::from(i) / 2000.0, 0.3);
            let (found, expected) = (log_ratio(a, b), libm::log(a) - libm::log(b));
            assert!(
                (found - expected).abs() < 1e-15 * expected.abs().max(1.0),
                "{a}: {found} instead of {expected}"
            );
        }
    }

    #[test]
    fn odd_scores_stay_finite() {
        let tiny = f64::from_bits(1);
        for pairs in [
            &[(1.0, tiny), (0.5, 1.0)][..],
            &[(tiny, 1.0), (1.0, 1.0)],
            &[(1.0, tiny)],
            &[(tiny, tiny)],
            &[(1e-16, 1.0), (1e-16, 1e-30)],
        ] {
            for (metric, value) in METRICS.iter().zip(values(pairs)) {
                let fine = value
                    .map_or(true, |v| v.is_finite() && v >= metric.range.0 && v <= metric.range.1);
                assert!(fine, "{} of {pairs:?}: {value:?}", metric.id);
            }
        }
    }

    #[test]
    fn reasons() {
        assert_eq!(values(&[]), [Err(Undefined::EmptyGroup); 8]);
        let zero = values(&[(0.0, 0.5), (0.0, 0.25)]);
        assert_eq!([zero[3], zero[4]], [Err(Undefined::ZeroScoreSum); 2]);
        let falls = values(&[(0.5, 0.0), (0.5, 0.5)]);
        assert_eq!(falls[3], Err(Undefined::Infinite));
        assert!(falls[4].is_ok());
    }
}
