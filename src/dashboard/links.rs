//! One-time codes: each signs in once, within an hour.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::BASE64URL_NOPAD;
use parking_lot::Mutex;

/// A code is good for so long.
const LIFETIME: Duration = Duration::from_secs(60 * 60);
/// 192 random bits cannot be guessed.
const CODE_BYTES: usize = 24;
/// Codes that wait to be used; beyond it the oldest are forgotten.
const OPEN_MAX: usize = 1000;

/// Codes that wait to be used, each under its SHA-256: a lookup tells nothing by its time.
#[derive(Default)]
pub struct Links {
    open: Mutex<HashMap<[u8; 32], (String, Instant)>>,
}

impl Links {
    /// A code that signs in as an account; none where the system has no random bytes.
    pub fn issue(&self, account: &str) -> Option<String> {
        let mut bytes = [0; CODE_BYTES];
        aws_lc_rs::rand::fill(&mut bytes).ok()?;
        let code = BASE64URL_NOPAD.encode(&bytes);
        let mut open = self.open.lock();
        open.retain(|_, (_, at)| at.elapsed() < LIFETIME);
        if open.len() >= OPEN_MAX
            && let Some(oldest) = open.iter().min_by_key(|(_, (_, at))| *at).map(|(name, _)| *name)
        {
            open.remove(&oldest);
        }
        open.insert(name(&code), (account.to_owned(), Instant::now()));
        Some(code)
    }

    /// The account of a code, which is then used up; nothing for one that is unknown, used or too old.
    pub fn redeem(&self, code: &str) -> Option<String> {
        let (account, at) = self.open.lock().remove(&name(code))?;
        (at.elapsed() < LIFETIME).then_some(account)
    }
}

fn name(code: &str) -> [u8; 32] {
    let mut name = [0; 32];
    name.copy_from_slice(digest(&SHA256, code.as_bytes()).as_ref());
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_signs_in_once() {
        let links = Links::default();
        let code = links.issue("acme").expect("random bytes");
        assert_ne!(links.issue("acme"), Some(code.clone()));
        assert_eq!(links.redeem(&code).as_deref(), Some("acme"));
        assert_eq!(links.redeem(&code), None);
        assert_eq!(links.redeem(""), None);
    }

    #[test]
    fn codes_do_not_pile_up() {
        let links = Links::default();
        let first = links.issue("a").expect("random bytes");
        for _ in 0..OPEN_MAX {
            links.issue("b").expect("random bytes");
        }
        assert_eq!(links.open.lock().len(), OPEN_MAX);
        assert_eq!(links.redeem(&first), None);
    }
}
