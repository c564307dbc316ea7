//! Secrets of a data directory, and hashes of several parts.

use anyhow::Context;
use cuebase_storage::Store;
use zeroize::Zeroizing;

use crate::sha256::Sha256;

/// Bytes of a secret in the data directory.
const SECRET_BYTES: usize = 32;

/// Returns a secret of a data directory by its name. The first call makes it from random bytes.
///
/// # Errors
///
/// If the store fails, if the system provides no random bytes, or if the stored secret is empty.
pub fn stored_secret(store: &Store, name: &str) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    let secret = match store.secret(name)? {
        Some(secret) => secret,
        None => store.put_secret_if_absent(name, &random_secret(name)?)?,
    };
    // Earlier versions stored an empty secret if the system provided no random bytes. Everybody knows that one.
    anyhow::ensure!(!secret.is_empty(), "the secret {name:?} of the data directory is empty");
    Ok(secret)
}

fn random_secret(name: &str) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(vec![0u8; SECRET_BYTES]);
    let filled = aws_lc_rs::rand::fill(&mut bytes);
    filled.with_context(|| format!("the system returned no random bytes for the secret {name:?}"))?;
    Ok(bytes)
}

/// Returns the SHA-256 of several parts, each preceded by its length.
pub fn fingerprint(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(&part.len().to_le_bytes());
        hash.update(part);
    }
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_made_once_and_differs_by_name() {
        let store = Store::in_memory().expect("opens");
        let secret = stored_secret(&store, "media").expect("a secret");
        assert_eq!(secret.len(), SECRET_BYTES);
        assert_eq!(stored_secret(&store, "media").expect("a secret"), secret);
        assert_ne!(stored_secret(&store, "webhook").expect("a secret"), secret);
    }
}
