//! Accounts and credentials: the forms of account ids, API keys and dashboard sessions.
//!
//! Nothing here reads a request or decides what a caller may do: that is `gateway`. [`credentials`] has API keys,
//! [`sessions`] the tokens of the built-in issuer, [`scope`] the namespace that a credential selects.

pub mod credentials;
pub mod scope;
pub mod sessions;
pub mod user_names;

use crate::error::{Error, Result};

/// The account of a fresh installation.
pub const DEFAULT_ACCOUNT: &str = "default";

/// Longest account id, in bytes.
const ACCOUNT_BYTES_MAX: usize = 128;

/// An account id is 1 to 128 bytes without control characters.
pub fn check_account(account: &str) -> Result<()> {
    if account.is_empty() || account.len() > ACCOUNT_BYTES_MAX || account.chars().any(char::is_control) {
        let message = format!("an account id is 1 to {ACCOUNT_BYTES_MAX} bytes without control characters");
        return Err(Error::invalid("invalid_account", message));
    }
    Ok(())
}
