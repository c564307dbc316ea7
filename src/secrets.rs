//! Random secrets, and hashes of several parts.

/// Bytes of a secret in the data directory.
const SECRET_BYTES: usize = 32;

/// Returns random bytes for a secret; none if the system provides no randomness.
pub fn random_secret() -> Vec<u8> {
    let mut bytes = vec![0; SECRET_BYTES];
    if aws_lc_rs::rand::fill(&mut bytes).is_err() {
        bytes.clear();
    }
    bytes
}

/// Returns the SHA-256 of several parts, each preceded by its length.
pub fn fingerprint(parts: &[&[u8]]) -> [u8; 32] {
    let mut context = aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256);
    for part in parts {
        context.update(&part.len().to_le_bytes());
        context.update(part);
    }
    let mut hash = [0; 32];
    hash.copy_from_slice(context.finish().as_ref());
    hash
}
