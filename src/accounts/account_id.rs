//! Account ids in requests and commands.

use cuebase_storage::AccountId;

use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;

/// Reads an account id.
///
/// # Errors
///
/// `invalid_account` if the text breaks the rule of account ids.
pub fn parse_account(text: &str) -> Result<AccountId> {
    match AccountId::new(text) {
        Some(account) => Ok(account),
        None => Err(Error::invalid(ErrorCode::InvalidAccount, AccountId::RULE)),
    }
}
