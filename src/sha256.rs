//! SHA-256. HMAC and signatures are made where they are used.

use aws_lc_rs::digest::{Context, SHA256, SHA256_OUTPUT_LEN};

/// Length of a hash in bytes.
pub const HASH_BYTES: usize = SHA256_OUTPUT_LEN;

/// The hash of bytes that arrive in chunks.
pub struct Sha256(Context);

impl Sha256 {
    /// Begins a hash.
    pub fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the hash of all bytes.
    pub fn finish(self) -> [u8; HASH_BYTES] {
        let mut hash = [0; HASH_BYTES];
        hash.copy_from_slice(self.0.finish().as_ref());
        hash
    }
}

impl Default for Sha256 {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the hash of parts that follow each other.
pub fn sha256(parts: &[&[u8]]) -> [u8; HASH_BYTES] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finish()
}

#[cfg(test)]
mod tests {
    use data_encoding::HEXLOWER;

    use super::*;

    #[test]
    fn the_hash_is_that_of_the_standard() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(HEXLOWER.encode(&sha256(&[b"abc"])), expected);
        assert_eq!(HEXLOWER.encode(&sha256(&[b"a", b"", b"bc"])), expected);
    }
}
