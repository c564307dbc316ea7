//! Settlement of wallets: debits what was used and reports it to the payment provider's ledger.

use std::sync::Arc;
use std::time::Duration;

use cuebase_storage::{AccountId, Store};

use super::components::{JobComponents, JobParts};
use super::job::{Job, JobName};
use super::stop::{StopSignal, Wake};
use crate::billing::Billing;
use crate::cluster::Ownership;
use crate::error::Result;

/// Time between two settlements: an hour.
const INTERVAL: Duration = Duration::from_secs(60 * 60);

/// The hourly settlement of all accounts.
pub(super) struct Settlement {
    store: Arc<Store>,
    billing: Arc<Billing>,
    ownership: Arc<Ownership>,
}

impl Settlement {
    pub(super) fn new(components: &JobComponents, parts: &JobParts) -> Self {
        Self {
            store: Arc::clone(&components.store),
            billing: Arc::clone(&components.billing),
            ownership: Arc::clone(parts.directory.ownership()),
        }
    }

    fn settle(&self, account: &AccountId) -> Result<()> {
        self.billing.settle(account)?;
        self.billing.mirror(account)
    }
}

impl Job for Settlement {
    fn name(&self) -> JobName {
        JobName::Settlement
    }

    fn wait(&mut self, stop: &StopSignal) -> Wake {
        stop.wait_for(INTERVAL)
    }

    /// Settles every account. A failed account is logged, and the next run tries again.
    fn run(&mut self) -> Result<()> {
        if !self.ownership.is_first() {
            return Ok(());
        }
        // The counts of nodes that have ended become one record. If another node folds them, the next run continues.
        match self.store.fold_usage() {
            Ok(_) | Err(cuebase_storage::Error::ConditionFailed { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let mut result = Ok(());
        for record in self.store.accounts()? {
            let account = record.account;
            if let Err(error) = self.settle(&account) {
                tracing::warn!(?account, failure = error.code(), "the payment provider's ledger is behind");
                result = Err(error);
            }
        }
        result
    }
}
