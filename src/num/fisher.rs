//! Fisher's exact test of a two-by-two table, two-sided.
//!
//! The sum of the probabilities of all tables with the same margins that are at most (1 + 1e-7)
//! times as likely as the observed one, as R's `fisher.test` does it (Fisher 1935). Probabilities
//! come from ratios of neighbouring ones, from the likeliest table outwards, so no factorial is
//! needed. Cost: the distance of the observed table from the likeliest one and some standard
//! deviations more.

use std::cmp::Ordering;

/// Tables that are likelier than the observed one by at most this factor count as equally likely.
const EQUALLY_LIKELY: f64 = 1.0 + 1e-7;

/// Terms below this share of the observed one are left out.
const NEGLIGIBLE: f64 = 1e-18;

/// The p-value of the table of `cases` of two groups of `sizes`; 1 where a margin is empty.
pub(crate) fn fisher_exact(cases: [u64; 2], sizes: [u64; 2]) -> f64 {
    let (all, all_cases) = (sizes[0] + sizes[1], cases[0] + cases[1]);
    let first = all_cases.saturating_sub(sizes[1]);
    let last = sizes[0].min(all_cases);
    if first == last {
        return 1.0;
    }
    // P(x + 1) / P(x).
    let up = |x: u64| {
        let above = (sizes[0] - x) as f64 * (all_cases - x) as f64;
        above / ((x + 1) as f64 * (sizes[1] + x + 1 - all_cases) as f64)
    };
    let mode = (u128::from(sizes[0] + 1) * u128::from(all_cases + 1) / u128::from(all + 2)) as u64;
    let mode = mode.clamp(first, last);
    // Relative to the likeliest table.
    let mut observed = 1.0;
    match cases[0].cmp(&mode) {
        Ordering::Greater => (mode..cases[0]).for_each(|x| observed *= up(x)),
        Ordering::Less => (cases[0]..mode).rev().for_each(|x| observed /= up(x)),
        Ordering::Equal => {}
    }
    let limit = observed * EQUALLY_LIKELY;
    let (mut whole, mut part) = (0.0, 0.0);
    let mut add = |term: f64| {
        whole += term;
        if term <= limit {
            part += term;
        }
        term >= observed * NEGLIGIBLE && term > 0.0
    };
    add(1.0);
    let mut term = 1.0;
    for x in mode..last {
        term *= up(x);
        if !add(term) {
            break;
        }
    }
    term = 1.0;
    for x in (first..mode).rev() {
        term /= up(x);
        if !add(term) {
            break;
        }
    }
    (part / whole).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::fisher_exact;

    #[test]
    fn agrees_with_scipy() {
        let oracle = crate::tests::json(crate::tests::expected("why/patterns/units.json"));
        for case in oracle["fisher"].as_array().unwrap() {
            let [a, b, c, d] = ["a", "b", "c", "d"].map(|key| case[key].as_u64().unwrap());
            let (found, wanted) =
                (fisher_exact([a, c], [a + b, c + d]), case["p"].as_f64().unwrap());
            let close = (found - wanted).abs() <= 1e-8 * wanted;
            assert!(close || wanted < 1e-300 && found < 1e-300, "{case}: {found}");
        }
    }

    /// Fisher's lady tasting tea: 3 of 4 are right; 17 / 35 of all tables are at most as likely.
    #[test]
    fn by_hand() {
        assert!((fisher_exact([3, 1], [4, 4]) - 34.0 / 70.0).abs() < 1e-15);
        assert_eq!(fisher_exact([0, 0], [3, 4]), 1.0);
        assert_eq!(fisher_exact([0, 0], [0, 9]), 1.0);
    }
}
