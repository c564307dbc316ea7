//! Account ids.

use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;

/// The account of a new installation.
pub const DEFAULT_ACCOUNT: &str = "default";

/// Longest account id, in bytes.
const ACCOUNT_BYTES_MAX: usize = 128;

/// Checks that an account id has 1 to 128 bytes and no control characters.
pub fn check_account(account: &str) -> Result<()> {
    if account.is_empty() || account.len() > ACCOUNT_BYTES_MAX || account.chars().any(char::is_control) {
        let message = format!("an account id has 1 to {ACCOUNT_BYTES_MAX} bytes and no control characters");
        return Err(Error::invalid(ErrorCode::InvalidAccount, message));
    }
    Ok(())
}
