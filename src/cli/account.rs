//! The option that selects an account.

use crate::accounts::DEFAULT_ACCOUNT;

/// The `--account` option of commands that work on one account.
#[derive(clap::Args)]
pub(super) struct AccountOption {
    /// Account ID
    #[arg(long, value_name = "ID", default_value = DEFAULT_ACCOUNT)]
    pub(super) account: String,
}
