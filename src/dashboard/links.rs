//! One-time codes for sign-in links. Each code is valid once, within an hour.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use cuebase_storage::AccountId;
use data_encoding::BASE64URL_NOPAD;
use parking_lot::Mutex;

use crate::sha256::sha256;

/// Time for which a code is valid.
const LIFETIME: Duration = Duration::from_secs(60 * 60);
/// 192 random bits cannot be guessed.
const CODE_BYTES: usize = 24;
/// Most unused codes; beyond it the oldest are removed.
const UNUSED_MAX: usize = 1000;

/// The unused codes, by their SHA-256. The time of a lookup therefore reveals nothing about a code.
#[derive(Default)]
pub struct Links {
    unused: Mutex<HashMap<[u8; 32], Issued>>,
}

/// An unused code.
struct Issued {
    account: AccountId,
    at: Instant,
}

impl Links {
    /// Creates a code that signs in as an account. Returns `None` if the system provides no random bytes.
    pub fn issue(&self, account: &AccountId) -> Option<String> {
        let mut bytes = [0; CODE_BYTES];
        aws_lc_rs::rand::fill(&mut bytes).ok()?;
        let code = BASE64URL_NOPAD.encode(&bytes);
        let mut unused = self.unused.lock();
        unused.retain(|_, issued| issued.at.elapsed() < LIFETIME);
        if unused.len() >= UNUSED_MAX {
            let oldest = unused.iter().min_by_key(|(_, issued)| issued.at).map(|(hash, _)| *hash);
            if let Some(oldest) = oldest {
                unused.remove(&oldest);
            }
        }
        unused.insert(hash(&code), Issued { account: account.clone(), at: Instant::now() });
        Some(code)
    }

    /// Uses a code and returns its account. Returns `None` if the code is unknown, used or expired.
    pub fn redeem(&self, code: &str) -> Option<AccountId> {
        let issued = self.unused.lock().remove(&hash(code))?;
        if issued.at.elapsed() < LIFETIME { Some(issued.account) } else { None }
    }
}

fn hash(code: &str) -> [u8; 32] {
    sha256(&[code.as_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(id: &str) -> AccountId {
        AccountId::new(id).expect("is valid")
    }

    #[test]
    fn a_code_signs_in_once() {
        let links = Links::default();
        let code = links.issue(&account("acme")).expect("random bytes");
        assert_ne!(links.issue(&account("acme")), Some(code.clone()));
        assert_eq!(links.redeem(&code), Some(account("acme")));
        assert_eq!(links.redeem(&code), None);
        assert_eq!(links.redeem(""), None);
    }

    #[test]
    fn the_number_of_unused_codes_is_limited() {
        let links = Links::default();
        let first = links.issue(&account("a")).expect("random bytes");
        for _ in 0..UNUSED_MAX {
            links.issue(&account("b")).expect("random bytes");
        }
        assert_eq!(links.unused.lock().len(), UNUSED_MAX);
        assert_eq!(links.redeem(&first), None);
    }
}
