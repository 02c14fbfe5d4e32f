//! SHA-256 and hexadecimal digits: the only place that turns bytes into the text of a hash.
//!
//! `build.rs` compiles this file too. It uses only `std` and `sha2`.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// SHA-256 in hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// SHA-256, in hex, of a list of parts.
///
/// Each part is preceded by its length (8 bytes, little-endian), so that no two lists share a hash.
pub(crate) fn hash_parts<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.as_ref().len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hex(&hasher.finalize())
}

/// HMAC with SHA-256 (RFC 2104), in hex.
pub(crate) fn keyed_hash(key: &[u8], value: &[u8]) -> String {
    const BLOCK: usize = 64;
    let mut padded = [0_u8; BLOCK];
    match key.len() {
        0..=BLOCK => padded[..key.len()].copy_from_slice(key),
        _ => padded[..32].copy_from_slice(&Sha256::digest(key)),
    }
    let padded = |with: u8| padded.map(|byte| byte ^ with);
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(value).finalize();
    hex(&Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize())
}

#[cfg(test)]
mod tests {
    use super::{hash_parts, keyed_hash, sha256};

    #[test]
    fn published_values() {
        // FIPS 180-2, appendix B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), expected);
        // RFC 4231, test cases 2 and 6.
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(keyed_hash(b"Jefe", b"what do ya want for nothing?"), expected);
        let expected = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
        let value = b"Test Using Larger Than Block-Size Key - Hash Key First";
        assert_eq!(keyed_hash(&[0xaa; 131], value), expected);
    }

    #[test]
    fn lists_that_join_to_the_same_text_differ() {
        assert_ne!(hash_parts(["a", "bc"]), hash_parts(["ab", "c"]));
        assert_ne!(hash_parts(["a"]), hash_parts(["a", ""]));
    }
}
