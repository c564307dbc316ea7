//! One-time codes of sign-in links. A code signs in once, within an hour, on any server of the data.

use aws_lc_rs::rand;
use cuebase_storage::AccountId;
use cuebase_storage::records::LinkRecord;
use data_encoding::BASE64URL_NOPAD;

use super::directory::Accounts;
use crate::error::{Error, Result};
use crate::sha256::sha256;

/// Time for which a code is valid: an hour.
const LIFETIME_MS: i64 = 60 * 60 * 1000;
/// 192 random bits cannot be guessed.
const CODE_BYTES: usize = 24;
/// Most unused codes; beyond it the oldest are removed.
const UNUSED_MAX: usize = 1000;

impl Accounts {
    /// Creates a code that signs in as an account. It survives a restart of the server, but not a loss of power that
    /// follows at once.
    pub fn create_link_code(&self, account: &AccountId) -> Result<String> {
        let mut bytes = [0; CODE_BYTES];
        rand::fill(&mut bytes).map_err(Error::internal)?;
        let code = BASE64URL_NOPAD.encode(&bytes);
        self.store.limit_links(UNUSED_MAX - 1)?;
        let expires_at_ms = self.clock.now_ms().saturating_add(LIFETIME_MS);
        let mut batch = self.store.batch();
        batch.create_link(&hash(&code), &LinkRecord { account: account.clone(), expires_at_ms })?;
        self.store.commit(batch)?;
        Ok(code)
    }

    /// Uses a code and returns its account. Returns `None` if the code is unknown, used or expired.
    pub fn redeem_link_code(&self, code: &str) -> Result<Option<AccountId>> {
        let Some(link) = self.store.redeem_link(&hash(code))? else { return Ok(None) };
        Ok(if self.clock.now_ms() < link.expires_at_ms { Some(link.account) } else { None })
    }
}

/// The records contain only hashes. The time of a lookup therefore reveals nothing about a code.
fn hash(code: &str) -> [u8; 32] {
    sha256(&[code.as_bytes()])
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cuebase_storage::Store;
    use jiff::SignedDuration;

    use super::*;
    use crate::clock::Clock;

    fn account(id: &str) -> AccountId {
        AccountId::new(id).expect("is valid")
    }

    fn open() -> (Accounts, Clock) {
        let clock = Clock::manual("2026-03-01T08:00:00Z".parse().expect("a time"));
        let store = Arc::new(Store::in_memory().expect("opens"));
        (Accounts::open(store, clock.clone()).expect("opens"), clock)
    }

    fn create(accounts: &Accounts, id: &str) -> String {
        accounts.create_link_code(&account(id)).expect("a code")
    }

    fn redeem(accounts: &Accounts, code: &str) -> Option<AccountId> {
        accounts.redeem_link_code(code).expect("reads")
    }

    #[test]
    fn a_code_signs_in_once() {
        let (accounts, _) = open();
        let code = create(&accounts, "acme");
        assert_ne!(create(&accounts, "acme"), code);
        assert_eq!(redeem(&accounts, &code), Some(account("acme")));
        assert_eq!(redeem(&accounts, &code), None);
        assert_eq!(redeem(&accounts, ""), None);
    }

    #[test]
    fn a_code_expires_after_an_hour() {
        let (accounts, clock) = open();
        let [first, second] = [create(&accounts, "acme"), create(&accounts, "acme")];
        clock.advance(SignedDuration::from_millis(LIFETIME_MS - 1));
        assert_eq!(redeem(&accounts, &first), Some(account("acme")));
        clock.advance(SignedDuration::from_millis(1));
        assert_eq!(redeem(&accounts, &second), None);
    }

    #[test]
    fn the_number_of_unused_codes_is_limited() {
        let (accounts, clock) = open();
        let first = create(&accounts, "a");
        clock.advance(SignedDuration::from_millis(1));
        let second = create(&accounts, "b");
        for _ in 1..UNUSED_MAX {
            create(&accounts, "b");
        }
        assert_eq!(redeem(&accounts, &first), None);
        assert_eq!(redeem(&accounts, &second), Some(account("b")));
    }
}
