//! Settlement of wallets: debits what was used and reports it to the payment provider's ledger.

use crate::service::Service;

/// Settles every account. An account that fails is logged, and the next sweep tries again.
pub(super) fn settle_all(service: &Service) {
    for account in service.accounts().unwrap_or_default() {
        let account = account.account;
        let settled = service.billing.settle(&account).and_then(|_| service.billing.mirror(&account));
        if let Err(error) = settled {
            tracing::warn!(account, failure = error.code(), "the payment provider's ledger is behind");
        }
    }
}
