//! The option that selects an account.

use cuebase_storage::AccountId;

use crate::accounts::parse_account;
use crate::error::Result;

/// The `--account` option of commands that work on one account.
#[derive(clap::Args)]
pub(super) struct AccountOption {
    /// Account ID
    #[arg(long, value_name = "ID", default_value = "default")]
    account: String,
}

impl AccountOption {
    /// Returns the account.
    pub(super) fn id(&self) -> Result<AccountId> {
        parse_account(&self.account)
    }
}
