//! Sets of rows as bits, 64 to a word.

/// Sets bit `i`.
pub(crate) fn set(bits: &mut [u64], i: usize) {
    bits[i / 64] |= 1 << (i % 64);
}

/// The positions of the set bits, ascending.
pub(crate) fn ones(bits: &[u64]) -> impl Iterator<Item = usize> + '_ {
    bits.iter().enumerate().flat_map(|(w, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(w * 64 + bit)
        })
    })
}

/// Number of set bits.
#[inline]
pub(crate) fn count(bits: &[u64]) -> u32 {
    bits.iter().map(|word| word.count_ones()).sum()
}

/// Number of bits that are set in both.
#[inline]
pub(crate) fn count_both(a: &[u64], b: &[u64]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a & b).count_ones()).sum()
}

/// Clears the bits of `a` that are not set in `b`.
#[inline]
pub(crate) fn and(a: &mut [u64], b: &[u64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a &= b);
}

/// Sets the bits of `b` in `a`.
#[inline]
pub(crate) fn or(a: &mut [u64], b: &[u64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a |= b);
}

#[cfg(test)]
mod tests {
    use super::{count, ones, set};

    #[test]
    fn bits_are_found_where_they_were_set() {
        let mut bits = [0; 3];
        [0, 63, 64, 130, 191].into_iter().for_each(|i| set(&mut bits, i));
        assert_eq!(ones(&bits).collect::<Vec<_>>(), [0, 63, 64, 130, 191]);
        assert_eq!(count(&bits), 5);
    }
}
