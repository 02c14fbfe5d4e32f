//! A fast hash for look-up tables with small integer keys, whose iteration order is never visible.
//!
//! The hash of the standard library protects against keys that are chosen to collide, at several
//! times the cost. Here a key is the levels of a row: a user who chooses colliding values slows
//! down only their own audit.

use std::hash::{BuildHasherDefault, Hasher};

/// A map from small keys.
pub(crate) type FastMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<FastHasher>>;

/// The bits of a number as a key: the same for all NaN, and the same for both zeros.
#[inline]
pub(crate) fn equal_bits(x: f64) -> u64 {
    if x.is_nan() { f64::NAN.to_bits() } else { (x + 0.0).to_bits() }
}

/// Multiplies and folds, eight bytes at a time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FastHasher(u64);

impl FastHasher {
    fn mix(&mut self, word: u64) {
        // The golden ratio and one of the multipliers of splitmix64; both halves of the product
        // count.
        let product = u128::from(self.0 ^ word ^ 0x9E37_79B9_7F4A_7C15)
            * u128::from(0xBF58_476D_1CE4_E5B9_u64);
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }
}

impl Hasher for FastHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.mix(u64::from_le_bytes(word.try_into().unwrap_or_default()));
        }
        let rest = words.remainder();
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.mix(u64::from_le_bytes(last));
        }
    }

    fn write_u8(&mut self, x: u8) {
        self.mix(u64::from(x));
    }

    fn write_u16(&mut self, x: u16) {
        self.mix(u64::from(x));
    }

    fn write_u32(&mut self, x: u32) {
        self.mix(u64::from(x));
    }

    fn write_u64(&mut self, x: u64) {
        self.mix(x);
    }

    fn write_usize(&mut self, x: usize) {
        self.mix(x as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::hash::{BuildHasher, BuildHasherDefault};

    use super::FastHasher;

    /// Keys that differ in one small number spread over the lowest and the highest bits, which
    /// tables use.
    #[test]
    fn small_keys_spread() {
        let hash = |key: &[u32]| BuildHasherDefault::<FastHasher>::default().hash_one(key);
        let keys: Vec<[u32; 3]> =
            (0..40_u32.pow(3)).map(|k| [k % 40, k / 40 % 40, k / 1600]).collect();
        let hashes: BTreeSet<u64> = keys.iter().map(|key| hash(key)).collect();
        assert_eq!(hashes.len(), keys.len());
        for shift in [0, 57] {
            let mut buckets = [0; 128];
            hashes.iter().for_each(|h| buckets[(h >> shift) as usize % 128] += 1);
            assert!(buckets.iter().all(|n| (400..600).contains(n)), "{buckets:?}");
        }
    }
}
