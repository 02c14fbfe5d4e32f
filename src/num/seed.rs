//! Named random streams and per-row hashes, the same on any machine and any number of threads.
//!
//! Hashes follow splitmix64's finaliser: `h(seed, i, j) = sm(sm(sm(seed) ^ i) ^ j)`, all arithmetic
//! modulo 2^64. Streams are xoshiro256++ (Blackman and Vigna 2021), whose state comes from
//! splitmix64 started at `sm(sm(seed) ^ xxh3_64(name))`.

#[cfg(test)]
use crate::num::summary::normal_quantile;

/// The increment of splitmix64: 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser of splitmix64.
#[inline]
pub fn sm(x: u64) -> u64 {
    let mut z = x.wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The hash of two numbers, such as a row and a position, under a seed.
#[inline]
pub fn h(seed: u64, i: u64, j: u64) -> u64 {
    sm(sm(sm(seed) ^ i) ^ j)
}

/// A hash as a number in [0, 1): its upper 53 bits.
pub fn u01(hash: u64) -> f64 {
    (hash >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// The seed of everything drawn under this name.
///
/// It starts the stream of that name, or is the first argument of [`h`].
pub fn named_seed(seed: u64, name: &str) -> u64 {
    sm(sm(seed) ^ xxhash_rust::xxh3::xxh3_64(name.as_bytes()))
}

/// A source of random numbers with a name.
#[derive(Debug, Clone)]
pub struct RandomStream([u64; 4]);

impl RandomStream {
    /// The stream of this name under this seed.
    ///
    /// Streams of different names are practically independent.
    pub fn new(seed: u64, name: &str) -> Self {
        let start = named_seed(seed, name);
        RandomStream([0, 1, 2, 3].map(|k| sm(start.wrapping_add(GOLDEN.wrapping_mul(k)))))
    }

    /// 64 random bits.
    pub fn u64(&mut self) -> u64 {
        let s = &mut self.0;
        let bits = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        bits
    }

    /// A number in [0, 1), a multiple of 2^-53.
    pub fn u01(&mut self) -> f64 {
        u01(self.u64())
    }

    /// A whole number below `n`, each with probability 1 / n to within 2^-64.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.u64()) * n as u128) >> 64) as usize
    }

    /// A draw from the standard normal distribution, by inversion.
    #[cfg(test)]
    pub fn normal(&mut self) -> f64 {
        // The midpoint of one of 2^52 equal cells: exact, and never 0 or 1.
        let cell = (self.u64() >> 12) as f64 + 0.5;
        normal_quantile(cell / (1_u64 << 52) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::{RandomStream, h, sm, u01};

    #[test]
    fn check_values() {
        assert_eq!(sm(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(h(42, 0, 0), 0x6310_bf04_d820_7f46);
        assert_eq!(u01(h(42, 0, 0)), 0.386_974_276_240_040_9);
    }

    #[test]
    fn hashes_agree_with_the_reference() {
        let file = crate::tests::expected("generation/augmentation/hash.json");
        let expected = crate::tests::json(&file);
        let hex =
            |value: &serde_json::Value| u64::from_str_radix(value.as_str().unwrap(), 16).unwrap();
        for (x, z) in expected["splitmix64"].as_object().unwrap() {
            assert_eq!(sm(x.parse().unwrap()), hex(z));
        }
        for case in expected["hash"].as_array().unwrap() {
            let number = |key: &str| case[key].as_u64().unwrap();
            let hash = h(number("seed"), number("i"), number("j"));
            assert_eq!(hash, hex(&case["hex"]));
            assert_eq!(u01(hash), case["u01"].as_f64().unwrap());
        }
    }

    #[test]
    fn streams_repeat_and_differ() {
        let draw = |seed, name: &str| {
            let mut stream = RandomStream::new(seed, name);
            [stream.u64(), stream.u64(), stream.u64()]
        };
        assert_eq!(draw(7, "bootstrap"), draw(7, "bootstrap"));
        assert_ne!(draw(7, "bootstrap"), draw(8, "bootstrap"));
        assert_ne!(draw(7, "bootstrap"), draw(7, "split"));
    }

    #[test]
    fn normal_draws_have_mean_0_and_variance_1() {
        let mut stream = RandomStream::new(3, "normal");
        let (n, mut sum, mut sq) = (200_000, 0.0, 0.0);
        for _ in 0..n {
            let x = stream.normal();
            sum += x;
            sq += x * x;
        }
        let (mean, var) = (sum / f64::from(n), sq / f64::from(n));
        assert!(mean.abs() < 0.01 && (var - 1.0).abs() < 0.015, "{mean} {var}");
    }
}
