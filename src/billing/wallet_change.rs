//! A change of a wallet: read, worked out, and written on the condition that nothing else changed the wallet meanwhile.

use std::time::{Duration, SystemTime};

use cuebase_storage::records::{Meter, RecordBatch, Stored, TransactionRecord, WalletRecord};
use cuebase_storage::{AccountId, Store};
use ulid::Ulid;

use crate::error::{Error, Result};

/// A wallet that is being changed, and the transactions that explain the change of its balance.
pub(super) struct WalletChange {
    /// The wallet as it was read.
    stored: Stored<WalletRecord>,
    /// The wallet as it will be written.
    pub(super) wallet: WalletRecord,
    /// The transactions that the change adds, oldest first. [`Self::batch`] assigns their ids.
    pub(super) transactions: Vec<TransactionRecord>,
    /// Time of the transactions, milliseconds since the epoch.
    at_ms: i64,
}

/// Units of a meter that are not debited yet.
pub(super) struct UnsettledUsage {
    pub(super) meter: Meter,
    /// Units ever used.
    pub(super) total: u64,
    /// Units used since the last settlement.
    pub(super) units: u64,
    /// Price of `units`.
    pub(super) paise: i64,
}

/// A change of a balance that the record cannot hold.
#[derive(Debug, thiserror::Error)]
#[error("a balance of {balance_paise} paise cannot change by {amount_paise}: the result does not fit into 64 bits")]
pub(super) struct BalanceOverflow {
    pub(super) balance_paise: i64,
    pub(super) amount_paise: i64,
}

impl WalletChange {
    /// Reads the wallet of an account; an empty one if none is stored.
    pub(super) fn begin(store: &Store, account: &AccountId, at_ms: i64) -> Result<Self> {
        let stored = store.stored_wallet(account)?;
        let wallet = match &stored.record {
            Some(wallet) => wallet.clone(),
            None => WalletRecord { account: account.clone(), ..WalletRecord::default() },
        };
        Ok(Self { stored, wallet, transactions: Vec::new(), at_ms })
    }

    /// Adds an amount to the balance, or subtracts a negative one, and adds the transaction that says why. Changes
    /// nothing if the result does not fit into the balance.
    pub(super) fn book(&mut self, amount_paise: i64, note: String) -> Result<(), BalanceOverflow> {
        let balance_paise = self.wallet.balance_paise;
        let Some(changed) = balance_paise.checked_add(amount_paise) else {
            return Err(BalanceOverflow { balance_paise, amount_paise });
        };
        self.wallet.balance_paise = changed;
        let id = Ulid::nil();
        self.transactions.push(TransactionRecord { id, amount_paise, note, at_ms: self.at_ms });
        Ok(())
    }

    /// Debits usage. Free units are settled too: left unsettled, they would be charged at a later price.
    ///
    /// # Errors
    /// An internal error if the balance cannot hold a debit. The change must not be written then.
    pub(super) fn debit(&mut self, usage: &[UnsettledUsage]) -> Result<()> {
        for UnsettledUsage { meter, total, units, paise } in usage {
            self.wallet.settled.insert(*meter, *total);
            if *paise > 0 {
                self.book(-paise, format!("{units} {}", meter.name())).map_err(Error::internal)?;
            }
        }
        Ok(())
    }

    /// Returns a batch with the wallet and its transactions. It cannot be committed if the stored wallet changed since
    /// [`Self::begin`].
    pub(super) fn batch<'s>(&self, store: &'s Store) -> Result<RecordBatch<'s>> {
        let mut batch = store.batch();
        batch.replace_wallet(&self.stored, &self.wallet)?;
        if self.transactions.is_empty() {
            return Ok(batch);
        }
        // Whoever adds a transaction also replaces the wallet. If that happens after the wallet was read, this batch is
        // not committed.
        let mut newest = store.newest_transaction(&self.wallet.account)?;
        for transaction in &self.transactions {
            let id = id_after(newest, self.at_ms);
            batch.add_transaction(&self.wallet.account, &TransactionRecord { id, ..transaction.clone() })?;
            newest = Some(id);
        }
        Ok(batch)
    }
}

/// Returns an id of a time in milliseconds since the epoch, or of the millisecond after the newest id if that is later.
/// It is random within its millisecond: after the restore of an older backup, the provider's ledger may know ids that
/// the records do not have.
fn id_after(newest: Option<Ulid>, at_ms: i64) -> Ulid {
    let mut id_ms = at_ms.max(0).unsigned_abs();
    if let Some(newest) = newest {
        id_ms = id_ms.max(newest.timestamp_ms() + 1);
    }
    Ulid::from_datetime(SystemTime::UNIX_EPOCH + Duration::from_millis(id_ms))
}
