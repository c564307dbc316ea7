//! Settlement of wallets: debits what was used and reports it to the payment provider's ledger.

use cuebase_storage::AccountId;

use crate::error::Result;
use crate::service::Service;

/// Settles every account. A failed account is logged, and the next sweep tries again.
pub(super) fn settle_all(service: &Service) {
    let Ok(accounts) = service.accounts() else { return };
    for account in accounts {
        let account = account.account;
        if let Err(error) = settle(service, &account) {
            tracing::warn!(?account, failure = error.code(), "the payment provider's ledger is behind");
        }
    }
}

fn settle(service: &Service, account: &AccountId) -> Result<()> {
    service.billing.settle(account)?;
    service.billing.mirror(account)
}
