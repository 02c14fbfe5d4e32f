//! The binomial distribution as a list of probabilities around its mode.
//!
//! P(k + 1) / P(k) = (n - k) / (k + 1) * p / (1 - p), from the mode outwards until a term is below
//! 1e-20 of the largest, then divided by the sum. So no factorial is needed, and the terms that are
//! left out sum to less than 1e-16. Cost and memory: about 19 standard deviations for any n.

/// Terms below this share of the largest are left out.
const NEGLIGIBLE: f64 = 1e-20;

/// Probabilities of the numbers of successes that matter.
#[derive(Debug, Clone)]
pub(crate) struct BinomialMass {
    /// The number of successes of the first probability.
    first: u64,
    /// Probabilities of it and of the numbers after it; they add up to 1.
    mass: Vec<f64>,
}

impl BinomialMass {
    /// The masses of `n` trials with success probability `p` in [0, 1].
    pub(crate) fn new(n: u64, p: f64) -> Self {
        debug_assert!((0.0..=1.0).contains(&p), "{p} is no probability");
        if p <= 0.0 || p >= 1.0 || n == 0 {
            return BinomialMass { first: if p >= 1.0 { n } else { 0 }, mass: vec![1.0] };
        }
        let odds = p / (1.0 - p);
        let mode = (((n as f64 + 1.0) * p).floor() as u64).min(n);
        let (mut below, mut k, mut term) = (Vec::new(), mode, 1.0);
        while k > 0 && term >= NEGLIGIBLE {
            term *= k as f64 / ((n - k + 1) as f64 * odds);
            k -= 1;
            below.push(term);
        }
        let first = mode - below.len() as u64;
        below.reverse();
        let mut mass = below;
        mass.push(1.0);
        (k, term) = (mode, 1.0);
        while k < n && term >= NEGLIGIBLE {
            term *= (n - k) as f64 / (k + 1) as f64 * odds;
            k += 1;
            mass.push(term);
        }
        let sum: f64 = mass.iter().sum();
        mass.iter_mut().for_each(|term| *term /= sum);
        BinomialMass { first, mass }
    }

    /// The probability of at most `k` successes.
    pub(crate) fn at_most(&self, k: u64) -> f64 {
        let Some(last) = k.checked_sub(self.first) else { return 0.0 };
        let end = usize::try_from(last).unwrap_or(usize::MAX).saturating_add(1);
        let terms = &self.mass[..end.min(self.mass.len())];
        terms.iter().fold(0.0, |sum: f64, term| sum + term).min(1.0)
    }

    /// The probability of at least `k` successes.
    pub(crate) fn at_least(&self, k: u64) -> f64 {
        let start = usize::try_from(k.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let terms = &self.mass[start.min(self.mass.len())..];
        terms.iter().rev().fold(0.0, |sum: f64, term| sum + term).min(1.0)
    }

    /// The numbers of successes with their probabilities, without the tails: the numbers that are
    /// left out on each side have a total probability below `tail`.
    pub(crate) fn without_tails(&self, tail: f64) -> (u64, &[f64]) {
        let inner = |mass: &mut dyn Iterator<Item = &f64>| {
            let mut sum = 0.0;
            mass.take_while(|term| {
                sum += **term;
                sum < tail
            })
            .count()
        };
        let start = inner(&mut self.mass.iter()).min(self.mass.len() - 1);
        let end = self.mass.len() - inner(&mut self.mass.iter().rev()).min(self.mass.len() - 1);
        (self.first + start as u64, &self.mass[start..end.max(start + 1)])
    }
}

#[cfg(test)]
mod tests {
    use super::BinomialMass;

    /// 3 trials at 1/4 by hand: 27, 27, 9, 1 of 64.
    #[test]
    fn by_hand() {
        let mass = BinomialMass::new(3, 0.25);
        for (k, below) in [(0, 27.0), (1, 54.0), (2, 63.0), (3, 64.0), (9, 64.0)] {
            assert!((mass.at_most(k) - below / 64.0).abs() < 1e-15, "{k}");
        }
        assert!((mass.at_least(2) - 10.0 / 64.0).abs() < 1e-15);
        assert!((mass.at_least(0) - 1.0).abs() < 1e-15);
        assert_eq!(mass.at_least(4), 0.0);
        let (first, inner) = mass.without_tails(0.02);
        assert_eq!((first, inner.len()), (0, 3), "one of 64 is cut off");
    }

    #[test]
    fn certain_and_large() {
        assert_eq!(BinomialMass::new(9, 0.0).at_most(0), 1.0);
        assert_eq!(BinomialMass::new(9, 1.0).at_least(9), 1.0);
        assert_eq!(BinomialMass::new(9, 1.0).at_most(8), 0.0);
        // A symmetric one has the median in the middle.
        let mass = BinomialMass::new(4_000_001, 0.5);
        assert!((mass.at_most(2_000_000) - 0.5).abs() < 1e-12);
        assert!(mass.mass.len() < 25_000);
    }
}
