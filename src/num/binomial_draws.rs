//! Exact draws from the binomial and the multinomial distribution, equal on every machine.
//!
//! Source: Hörmann 1993, "The generation of binomial random variates", algorithm BTRS (transformed
//! rejection with squeeze), for n * min(p, 1 - p) of at least 10; below that inversion by
//! sequential search. Both are exact samplers: no normal approximation at any n. Cost: about one
//! logarithm per draw.

use crate::num::seed::RandomStream;

/// Number of successes in `n` trials with success probability `p` in [0, 1].
pub(crate) fn binomial(stream: &mut RandomStream, n: u64, p: f64) -> u64 {
    debug_assert!((0.0..=1.0).contains(&p), "{p} is no probability");
    if p > 0.5 {
        return n - binomial(stream, n, 1.0 - p);
    }
    if n == 0 || p <= 0.0 {
        return 0;
    }
    if n as f64 * p < 10.0 { by_inversion(stream, n, p) } else { by_rejection(stream, n, p) }
}

/// How `n` draws fall into cells of the given weights: calls `cell(i, count)` per cell, in order.
///
/// All counts are 0 if the weights sum to 0.
pub(crate) fn multinomial(
    stream: &mut RandomStream,
    n: u64,
    weights: &[u64],
    mut cell: impl FnMut(usize, u64),
) {
    let mut weight_left: u64 = weights.iter().sum();
    let mut left = if weight_left == 0 { 0 } else { n };
    for (i, &weight) in weights.iter().enumerate() {
        let count = if left == 0 || weight == 0 {
            0
        } else if weight == weight_left {
            left
        } else {
            binomial(stream, left, weight as f64 / weight_left as f64)
        };
        cell(i, count);
        left -= count;
        weight_left -= weight;
    }
}

fn by_inversion(stream: &mut RandomStream, n: u64, p: f64) -> u64 {
    let odds = p / (1.0 - p);
    // At least exp(-14), since p <= 1/2 and n p < 10.
    let none = libm::exp(n as f64 * libm::log1p(-p));
    loop {
        let (mut left, mut share) = (stream.u01(), none);
        for k in 0..=n.min(200) {
            if left < share {
                return k;
            }
            left -= share;
            share *= (n - k) as f64 / (k + 1) as f64 * odds;
        }
        // Only rounding leads here, in a tail of probability below 1e-100: the draw is repeated.
    }
}

fn by_rejection(stream: &mut RandomStream, n: u64, p: f64) -> u64 {
    let size = n as f64;
    let sd = (size * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * sd;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let c = size * p + 0.5;
    let alpha = (2.83 + 5.1 / b) * sd;
    let v_r = 0.92 - 4.2 / b;
    let odds = p / (1.0 - p);
    let mode = ((size + 1.0) * p).floor();
    loop {
        let u = stream.u01() - 0.5;
        let v = stream.u01();
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + c).floor();
        if !(0.0..=size).contains(&k) {
            continue;
        }
        if us >= 0.07 && v <= v_r {
            return k as u64;
        }
        let proposed = libm::log(v * alpha / (a / (us * us) + b));
        let bound = (mode + 0.5) * libm::log((mode + 1.0) / (odds * (size - mode + 1.0)))
            + (size + 1.0) * libm::log((size - mode + 1.0) / (size - k + 1.0))
            + (k + 0.5) * libm::log(odds * (size - k + 1.0) / (k + 1.0))
            + stirling(mode)
            + stirling(size - mode)
            - stirling(k)
            - stirling(size - k);
        if proposed <= bound {
            return k as u64;
        }
    }
}

/// The error of Stirling's formula: ln k! - [ln(2 pi)/2 + (k + 1/2) ln(k + 1) - (k + 1)].
fn stirling(k: f64) -> f64 {
    const SMALL: [f64; 10] = [
        0.081_061_466_795_327_26,
        0.041_340_695_955_409_29,
        0.027_677_925_684_998_34,
        0.020_790_672_103_765_09,
        0.016_644_691_189_821_19,
        0.013_876_128_823_070_75,
        0.011_896_709_945_891_77,
        0.010_411_265_261_972_09,
        0.009_255_462_182_712_733,
        0.008_330_563_433_362_87,
    ];
    if let Some(&tabled) = SMALL.get(k as usize) {
        return tabled;
    }
    let next = k + 1.0;
    let sq = next * next;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / 1680.0 / sq) / sq) / sq) / next
}

#[cfg(test)]
mod tests {
    use super::{binomial, multinomial, stirling};
    use crate::num::seed::RandomStream;

    /// Chi-squared of drawn counts against the exact probabilities; cells with fewer than 5
    /// expected draws are pooled.
    fn check(n: u64, p: f64) {
        let draws = 200_000_u64;
        let mut stream = RandomStream::new(5, &format!("binomial {n} {p}"));
        let mut found = vec![0_u64; n as usize + 1];
        for _ in 0..draws {
            found[binomial(&mut stream, n, p) as usize] += 1;
        }
        let (mut chi, mut cells, mut rare, mut rare_found) = (0.0, 0, 0.0, 0.0);
        let mut log_choose = 0.0;
        for k in 0..=n {
            let log_share = log_choose + k as f64 * libm::log(p) + (n - k) as f64 * libm::log1p(-p);
            let expected = draws as f64 * libm::exp(log_share);
            if expected < 5.0 {
                rare += expected;
                rare_found += found[k as usize] as f64;
            } else {
                chi += (found[k as usize] as f64 - expected).powi(2) / expected;
                cells += 1;
            }
            log_choose += libm::log((n - k) as f64 / (k + 1) as f64);
        }
        assert!(
            (rare_found - rare).abs() <= 5.0 * rare.sqrt() + 1.0,
            "tails of {n}, {p}: {rare_found} instead of {rare}"
        );
        let limit = f64::from(cells) + 5.0 * (2.0 * f64::from(cells)).sqrt();
        assert!(chi < limit, "{n}, {p}: chi-squared {chi} over {limit}");
    }

    #[test]
    fn draws_follow_the_exact_distribution() {
        for (n, p) in [
            (1, 0.3),
            (5, 0.5),
            (7, 0.9),
            (19, 0.5),
            (1000, 0.003),
            (30, 0.4),
            (100, 0.11),
            (200, 0.7),
            (1465, 0.0833),
        ] {
            check(n, p);
        }
    }

    #[test]
    fn large_draws_have_the_right_mean_and_variance() {
        for (n, p) in
            [(10_000_000_u64, 0.25), (10_000_000, 0.000_002), (100_000, 0.999), (1 << 40, 0.5)]
        {
            let mut stream = RandomStream::new(6, "large");
            let (draws, mean, var) = (20_000, n as f64 * p, n as f64 * p * (1.0 - p));
            let (mut sum, mut sq) = (0.0, 0.0);
            for _ in 0..draws {
                let off = binomial(&mut stream, n, p) as f64 - mean;
                sum += off;
                sq += off * off;
            }
            let count = f64::from(draws);
            assert!((sum / count).abs() < 5.0 * (var / count).sqrt(), "mean of {n}, {p}");
            assert!((sq / count / var - 1.0).abs() < 0.06, "variance of {n}, {p}");
        }
    }

    #[test]
    fn certain_and_empty_draws() {
        let mut stream = RandomStream::new(7, "ends");
        assert_eq!(
            [
                binomial(&mut stream, 9, 0.0),
                binomial(&mut stream, 9, 1.0),
                binomial(&mut stream, 0, 0.5)
            ],
            [0, 9, 0]
        );
        let mut cells = Vec::new();
        multinomial(&mut stream, 50, &[0, 3, 0, 2, 0], |i, n| cells.push((i, n)));
        assert_eq!(cells.iter().map(|c| c.1).sum::<u64>(), 50);
        assert!(cells.len() == 5 && cells[0].1 + cells[2].1 + cells[4].1 == 0);
        multinomial(&mut stream, 50, &[0, 0], |_, n| assert_eq!(n, 0));
    }

    #[test]
    fn stirling_is_continuous_from_the_table_to_the_series() {
        let mut log_factorial = 0.0;
        for k in 1..40_u32 {
            let k = f64::from(k);
            log_factorial += libm::log(k);
            let formula = 0.5 * libm::log(2.0 * std::f64::consts::PI)
                + (k + 0.5) * libm::log(k + 1.0)
                - (k + 1.0);
            assert!((stirling(k) - (log_factorial - formula)).abs() < 1e-11, "{k}");
        }
    }
}
