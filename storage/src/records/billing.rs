//! Wallets, their transactions, and which of them the payment provider's ledger still has to hear of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::{Store, decode, encode};
use crate::error::Result;
use crate::key_value::columns::{below, prefix};
use crate::key_value::{Batch, Column, Durability};

/// Key of the prices record in [`Column::Meta`].
const PRICES: &[u8] = b"prices";

/// An account's wallet and plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalletRecord {
    /// Whose.
    pub account: String,
    /// The plan in effect; none means the default one.
    pub plan: Option<String>,
    /// The provider's id of the subscription that the plan comes from.
    pub subscription: Option<String>,
    /// The provider's id of the customer.
    pub customer: Option<String>,
    /// Money in it, paise; below zero when more was used than was paid.
    pub balance_paise: i64,
    /// Units settled so far, by meter, of what was ever used: debited at the price of their time, or free.
    pub settled: BTreeMap<String, u64>,
    /// Time of the newest event that changed the plan, milliseconds since the epoch, by the provider's clock.
    #[serde(default)]
    pub plan_changed_at_ms: i64,
    /// Subscriptions that ended: when, by the provider's id. The newest ones only.
    #[serde(default)]
    pub ended: BTreeMap<String, i64>,
}

/// What decides the price of a unit, as of the last start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PricesRecord {
    /// The plan of an account without a subscription.
    pub default_plan: String,
    /// Price of one unit by meter, paise; zero for all of them while payments are off.
    pub rates: BTreeMap<String, u64>,
    /// The payment provider, as the setting names it. None where a version recorded the prices that charged units whether
    /// or not there was a provider.
    #[serde(default)]
    pub provider: Option<String>,
}

/// A movement of a wallet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionRecord {
    /// Its id, and its idempotency key with the provider.
    pub id: Ulid,
    /// Paise; negative for a debit.
    pub amount_paise: i64,
    /// What for.
    pub note: String,
    /// When, milliseconds since the epoch.
    pub at_ms: i64,
}

/// A payment that was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentRecord {
    /// The provider's id.
    pub id: String,
    /// Whose wallet it fills.
    pub account: String,
    /// Paise that it is about.
    pub amount_paise: i64,
    /// Whether the wallet has them.
    pub credited: bool,
}

/// Changes of one account's billing that take effect together.
#[derive(Clone, Debug, Default)]
pub struct BillingChange<'a> {
    /// The wallet afterwards.
    pub wallet: Option<&'a WalletRecord>,
    /// New transactions, each still to be mirrored.
    pub transactions: &'a [TransactionRecord],
    /// A payment afterwards.
    pub payment: Option<&'a PaymentRecord>,
    /// The notification that this was asked by, and when it came.
    pub notification: Option<(&'a str, i64)>,
}

impl Store {
    /// An account's wallet, if it has one.
    pub fn wallet(&self, account: &str) -> Result<Option<WalletRecord>> {
        let found = self.kv.get(Column::Billing, account.as_bytes())?;
        found.map(|bytes| decode(Column::Billing, &bytes)).transpose()
    }

    /// Returns the prices of the last start; none before the first one that recorded them.
    pub fn prices(&self) -> Result<Option<PricesRecord>> {
        let found = self.kv.get(Column::Meta, PRICES)?;
        found.map(|bytes| decode(Column::Meta, &bytes)).transpose()
    }

    /// Records the prices of this start; everything written before is durable when this returns.
    pub fn put_prices(&self, prices: &PricesRecord) -> Result<()> {
        let mut batch = Batch::new();
        batch.put(Column::Meta, PRICES, encode(prices)?);
        self.kv.write(&batch, Durability::Synced)
    }

    /// Applies changes in one synced batch.
    pub fn change_billing(&self, account: &str, change: &BillingChange<'_>) -> Result<()> {
        self.write_billing(account, change, Durability::Synced)
    }

    /// Applies changes in one batch that the next synced write makes durable, for many accounts at once.
    pub fn change_billing_buffered(&self, account: &str, change: &BillingChange<'_>) -> Result<()> {
        self.write_billing(account, change, Durability::Buffered)
    }

    fn write_billing(&self, account: &str, change: &BillingChange<'_>, durability: Durability) -> Result<()> {
        let mut batch = Batch::new();
        if let Some(wallet) = change.wallet {
            batch.put(Column::Billing, account.as_bytes(), encode(wallet)?);
        }
        for transaction in change.transactions {
            let key = below(&[account], &transaction.id.to_bytes());
            batch.put(Column::Transactions, key.clone(), encode(transaction)?);
            batch.put(Column::Outbox, key, "");
        }
        if let Some(payment) = change.payment {
            batch.put(Column::Payments, payment.id.as_bytes(), encode(payment)?);
        }
        if let Some((id, at_ms)) = change.notification {
            batch.put(Column::Notifications, id.as_bytes(), encode(&at_ms)?);
        }
        self.kv.write(&batch, durability)
    }

    /// An account's newest transactions, newest first.
    pub fn transactions(&self, account: &str, limit: usize) -> Result<Vec<TransactionRecord>> {
        let entries = self.kv.scan_back(Column::Transactions, &prefix(&[account]), None, limit)?;
        entries.iter().map(|(_, value)| decode(Column::Transactions, value)).collect()
    }

    /// The transactions that the provider's ledger does not have yet, oldest first.
    pub fn unmirrored(&self, account: &str) -> Result<Vec<TransactionRecord>> {
        let mut open = Vec::new();
        for (key, _) in self.kv.scan(Column::Outbox, &prefix(&[account]), None, usize::MAX)? {
            if let Some(value) = self.kv.get(Column::Transactions, &key)? {
                open.push(decode(Column::Transactions, &value)?);
            }
        }
        Ok(open)
    }

    /// The provider's ledger has a transaction.
    pub fn mirrored(&self, account: &str, id: Ulid) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete(Column::Outbox, below(&[account], &id.to_bytes()));
        self.kv.write(&batch, Durability::Synced)
    }

    /// A payment that was started here.
    pub fn payment(&self, id: &str) -> Result<Option<PaymentRecord>> {
        let found = self.kv.get(Column::Payments, id.as_bytes())?;
        found.map(|bytes| decode(Column::Payments, &bytes)).transpose()
    }

    /// Whether a notification was processed.
    pub fn notification_seen(&self, id: &str) -> Result<bool> {
        Ok(self.kv.get(Column::Notifications, id.as_bytes())?.is_some())
    }

    /// Forgets notifications that came before a time. Returns how many.
    pub fn purge_notifications(&self, before_ms: i64) -> Result<usize> {
        let mut batch = Batch::new();
        let mut gone = 0;
        for (key, value) in self.kv.scan(Column::Notifications, b"", None, usize::MAX)? {
            // One that cannot be decoded recognises nothing.
            if decode::<i64>(Column::Notifications, &value).map_or(true, |at_ms| at_ms < before_ms) {
                batch.delete(Column::Notifications, key);
                gone += 1;
            }
        }
        self.kv.write(&batch, Durability::Buffered)?;
        Ok(gone)
    }

    /// A record of the sandbox provider's own books.
    pub fn sandbox<T: serde::de::DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        let found = self.kv.get(Column::Sandbox, key.as_bytes())?;
        found.map(|bytes| decode(Column::Sandbox, &bytes)).transpose()
    }

    /// Writes a record of the sandbox provider's own books.
    pub fn put_sandbox<T: Serialize>(&self, key: &str, record: &T) -> Result<()> {
        let mut batch = Batch::new();
        batch.put(Column::Sandbox, key.as_bytes(), encode(record)?);
        self.kv.write(&batch, Durability::Synced)
    }
}
