//! A change of a wallet: read, worked out, and written on the condition that nothing else changed the wallet meanwhile.

use cuebase_storage::records::{Meter, RecordBatch, Stored, TransactionRecord, WalletRecord};
use cuebase_storage::{AccountId, Store};
use ulid::Ulid;

use crate::error::Result;

/// A wallet that is being changed, and the transactions that explain the change of its balance.
pub(super) struct WalletChange {
    /// The wallet as it was read.
    stored: Stored<WalletRecord>,
    /// The wallet as it will be written.
    pub(super) wallet: WalletRecord,
    /// The transactions that the change adds, oldest first.
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

    /// Adds an amount to the balance, or subtracts a negative one, and adds the transaction that says why.
    pub(super) fn book(&mut self, amount_paise: i64, note: String) {
        self.wallet.balance_paise = self.wallet.balance_paise.saturating_add(amount_paise);
        let id = Ulid::generate();
        self.transactions.push(TransactionRecord { id, amount_paise, note, at_ms: self.at_ms });
    }

    /// Debits usage. Free units are settled too: left unsettled, they would be charged at a later price.
    pub(super) fn debit(&mut self, usage: &[UnsettledUsage]) {
        for UnsettledUsage { meter, total, units, paise } in usage {
            self.wallet.settled.insert(*meter, *total);
            if *paise > 0 {
                self.book(-paise, format!("{units} {}", meter.name()));
            }
        }
    }

    /// Returns a batch with the wallet and its transactions. It cannot be committed if the stored wallet changed since
    /// [`Self::begin`].
    pub(super) fn batch<'s>(&self, store: &'s Store) -> Result<RecordBatch<'s>> {
        let mut batch = store.batch();
        batch.replace_wallet(&self.stored, &self.wallet)?;
        for transaction in &self.transactions {
            batch.add_transaction(&self.wallet.account, transaction)?;
        }
        Ok(batch)
    }
}
