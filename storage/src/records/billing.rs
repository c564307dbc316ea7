//! Wallets, payments and transactions, and the outbox of transactions for the payment provider's ledger.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use strum::{EnumString, VariantArray};
use ulid::Ulid;

use super::batch::RecordBatch;
use super::store::{Store, decode, encode};
use super::stored::Stored;
use super::usage_record::Meter;
use crate::error::Result;
use crate::identity::AccountId;
use crate::key_value::columns::{prefix, prefixed_key};
use crate::key_value::{Batch, Column, Durability};

/// Key of the prices record in [`Column::Meta`].
const PRICES_KEY: &[u8] = b"prices";

/// The name of a plan, from the smallest to the largest.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, EnumString, VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum PlanName {
    /// Without a subscription: each unit is paid for.
    #[default]
    Payg,
    /// The smallest subscription.
    Starter,
    /// A medium subscription.
    Growth,
    /// A large subscription.
    Scale,
    /// The largest subscription.
    Max,
}

impl PlanName {
    /// The plans that are sold as subscriptions.
    pub const SOLD: [Self; 4] = [Self::Starter, Self::Growth, Self::Scale, Self::Max];

    /// Returns the name in the API, in the settings and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Payg => "payg",
            Self::Starter => "starter",
            Self::Growth => "growth",
            Self::Scale => "scale",
            Self::Max => "max",
        }
    }
}

/// An account's wallet and plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalletRecord {
    /// The owning account.
    pub account: AccountId,
    /// The plan in effect. `None` means the default plan.
    #[serde(deserialize_with = "known_plan")]
    pub plan: Option<PlanName>,
    /// The provider's id of the subscription that the plan comes from.
    pub subscription: Option<String>,
    /// The provider's id of the customer.
    pub customer: Option<String>,
    /// Balance in paise. Negative if the account used more than it paid for.
    pub balance_paise: i64,
    /// Units settled so far, by meter: debited at the price of their time, or free.
    pub settled: BTreeMap<Meter, u64>,
    /// Time of the newest event that changed the plan, milliseconds since the epoch, by the provider's clock.
    #[serde(default)]
    pub plan_changed_at_ms: i64,
    /// End times of ended subscriptions, by the provider's id. Only the newest ones are kept.
    #[serde(default)]
    pub ended: BTreeMap<String, i64>,
}

/// The settings of the last start that determine prices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PricesRecord {
    /// The plan of an account without a subscription.
    pub default_plan: PlanName,
    /// Price of one unit by meter, in paise. Zero for all meters while payments are off.
    pub rates: BTreeMap<Meter, u64>,
    /// The payment provider, as named by the setting. `None` in records of versions that charged units with and without
    /// a provider.
    #[serde(default)]
    pub provider: Option<String>,
}

/// A movement of a wallet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionRecord {
    /// The transaction id, also used as idempotency key with the provider. Sorts after the earlier ones of the account.
    pub id: Ulid,
    /// Amount in paise. Negative for a debit.
    pub amount_paise: i64,
    /// Purpose of the transaction.
    pub note: String,
    /// Time of the transaction, milliseconds since the epoch.
    pub at_ms: i64,
}

/// A payment that was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentRecord {
    /// The provider's id.
    pub id: String,
    /// The account whose wallet is credited.
    pub account: AccountId,
    /// Amount in paise.
    pub amount_paise: i64,
    /// Whether the amount was credited to the wallet.
    pub credited: bool,
}

/// Decodes a transaction. Logs one that cannot be decoded. It is not set aside, because an operator could then delete the
/// only record of a payment.
fn readable_transaction(account: &AccountId, key: &[u8], value: &[u8]) -> Option<TransactionRecord> {
    match decode(Column::Transactions, value) {
        Ok(transaction) => Some(transaction),
        Err(error) => {
            let transaction = key.last_chunk().map(|id| Ulid::from_bytes(*id).to_string());
            tracing::error!(
                %error,
                %account,
                transaction,
                "cannot decode a transaction; statements and the payment provider's ledger lack it"
            );
            None
        }
    }
}

/// Reads the plan of a wallet. A plan of an earlier version that no longer exists counts as none.
fn known_plan<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<PlanName>, D::Error> {
    match Option::<String>::deserialize(deserializer)? {
        Some(name) => Ok(name.parse().ok()),
        None => Ok(None),
    }
}

impl Store {
    /// Returns the wallet of an account. `None` if it has none.
    pub fn wallet(&self, account: &AccountId) -> Result<Option<WalletRecord>> {
        self.get_record(Column::Billing, account.as_str().as_bytes())
    }

    /// Returns the wallet of an account, to replace it.
    pub fn stored_wallet(&self, account: &AccountId) -> Result<Stored<WalletRecord>> {
        self.get_stored(Column::Billing, account.as_str().as_bytes())
    }

    /// Returns the prices of the last start. `None` if no start recorded them yet.
    pub fn prices(&self) -> Result<Option<PricesRecord>> {
        self.get_record(Column::Meta, PRICES_KEY)
    }

    /// Records the prices of this start. On return, this write and all earlier writes are durable.
    pub fn put_prices(&self, prices: &PricesRecord) -> Result<()> {
        let mut batch = Batch::new();
        batch.put(Column::Meta, PRICES_KEY, encode(prices)?);
        self.kv.write(&batch, Durability::Synced)
    }

    /// Returns the newest transactions of an account, newest first. There are fewer than `limit` only if there are no older
    /// ones. Logs and omits transactions that cannot be decoded. The balance of the wallet does not depend on them.
    pub fn transactions(&self, account: &AccountId, limit: usize) -> Result<Vec<TransactionRecord>> {
        let prefix = prefix(&[account.as_str()]);
        let mut before: Option<Vec<u8>> = None;
        let mut transactions = Vec::new();
        while transactions.len() < limit {
            let missing = limit - transactions.len();
            let page = self.kv.scan_back(Column::Transactions, &prefix, before.as_deref(), missing)?;
            let is_last = page.len() < missing;
            for (key, value) in page {
                transactions.extend(readable_transaction(account, &key, &value));
                before = Some(key);
            }
            if is_last {
                break;
            }
        }
        Ok(transactions)
    }

    /// Returns the greatest id of the transactions of an account. `None` if it has none.
    pub fn newest_transaction(&self, account: &AccountId) -> Result<Option<Ulid>> {
        let newest = self.kv.scan_back(Column::Transactions, &prefix(&[account.as_str()]), None, 1)?;
        let Some((key, _)) = newest.first() else { return Ok(None) };
        Ok(key.last_chunk().map(|bytes| Ulid::from_bytes(*bytes)))
    }

    /// Returns the transactions that are missing in the provider's ledger, oldest first. Logs and omits those that cannot
    /// be decoded, which stay in the outbox.
    pub fn unmirrored_transactions(&self, account: &AccountId) -> Result<Vec<TransactionRecord>> {
        let mut unmirrored = Vec::new();
        for (key, _) in self.kv.scan(Column::Outbox, &prefix(&[account.as_str()]), None, usize::MAX)? {
            if let Some(value) = self.kv.get(Column::Transactions, &key)? {
                unmirrored.extend(readable_transaction(account, &key, &value));
            }
        }
        Ok(unmirrored)
    }

    /// Records that the provider's ledger contains a transaction.
    pub fn mark_mirrored(&self, account: &AccountId, id: Ulid) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete(Column::Outbox, prefixed_key(&[account.as_str()], &id.to_bytes()));
        self.kv.write(&batch, Durability::Synced)
    }

    /// Returns a started payment.
    pub fn payment(&self, id: &str) -> Result<Option<PaymentRecord>> {
        self.get_record(Column::Payments, id.as_bytes())
    }

    /// Returns a started payment, to replace it.
    pub fn stored_payment(&self, id: &str) -> Result<Stored<PaymentRecord>> {
        self.get_stored(Column::Payments, id.as_bytes())
    }

    /// Whether a notification was processed.
    pub fn is_notification_processed(&self, id: &str) -> Result<bool> {
        Ok(self.kv.get(Column::Notifications, id.as_bytes())?.is_some())
    }

    /// Deletes the records of notifications that arrived before a time. Returns the number deleted.
    pub fn purge_notifications(&self, before_ms: i64) -> Result<usize> {
        let mut batch = Batch::new();
        let mut deleted = 0;
        for (key, value) in self.kv.scan(Column::Notifications, b"", None, usize::MAX)? {
            // A record that cannot be decoded has no use.
            let is_current = matches!(decode::<i64>(Column::Notifications, &value), Ok(at_ms) if at_ms >= before_ms);
            if !is_current {
                batch.delete(Column::Notifications, key);
                deleted += 1;
            }
        }
        self.kv.write(&batch, Durability::Buffered)?;
        Ok(deleted)
    }

    /// Returns a record of the sandbox provider's ledger.
    pub fn sandbox<T: serde::de::DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        self.get_record(Column::Sandbox, key.as_bytes())
    }

    /// Writes a record of the sandbox provider's ledger.
    pub fn put_sandbox<T: Serialize>(&self, key: &str, record: &T) -> Result<()> {
        let mut batch = Batch::new();
        batch.put(Column::Sandbox, key.as_bytes(), encode(record)?);
        self.kv.write(&batch, Durability::Synced)
    }
}

impl RecordBatch<'_> {
    /// Writes the new state of a wallet. The commit fails if the wallet changed since it was read.
    pub fn replace_wallet(&mut self, stored: &Stored<WalletRecord>, wallet: &WalletRecord) -> Result<()> {
        self.replace(Column::Billing, wallet.account.as_str().as_bytes(), stored, wallet)
    }

    /// Writes the new state of a payment. The commit fails if the payment changed since it was read.
    pub fn replace_payment(&mut self, stored: &Stored<PaymentRecord>, payment: &PaymentRecord) -> Result<()> {
        self.replace(Column::Payments, payment.id.as_bytes(), stored, payment)
    }

    /// Adds a transaction of an account, also to the outbox.
    pub fn add_transaction(&mut self, account: &AccountId, transaction: &TransactionRecord) -> Result<()> {
        let key = prefixed_key(&[account.as_str()], &transaction.id.to_bytes());
        self.changes.put(Column::Transactions, key.clone(), encode(transaction)?);
        self.changes.put(Column::Outbox, key, "");
        Ok(())
    }

    /// Records that a notification is processed, and when it arrived in milliseconds since the epoch. The commit fails
    /// if it was processed before.
    pub fn process_notification(&mut self, id: &str, at_ms: i64) -> Result<()> {
        self.create(Column::Notifications, id.as_bytes(), &at_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transaction(id: u128) -> TransactionRecord {
        TransactionRecord { id: Ulid::from(id), amount_paise: 100, note: "recharge".into(), at_ms: 1 }
    }

    #[test]
    fn a_transaction_that_cannot_be_decoded_does_not_hide_others_or_change_the_balance() {
        let store = Store::in_memory().expect("creates");
        let account = AccountId::default();
        let wallet = WalletRecord { balance_paise: 400, ..WalletRecord::default() };
        let mut batch = store.batch();
        batch.replace_wallet(&store.stored_wallet(&account).expect("reads"), &wallet).expect("encodes");
        for id in 1..=4 {
            batch.add_transaction(&account, &transaction(id)).expect("encodes");
        }
        store.commit(batch).expect("writes");
        let mut damage = Batch::new();
        let key = prefixed_key(&[account.as_str()], &Ulid::from(3u128).to_bytes());
        damage.put(Column::Transactions, key, b"garbage".to_vec());
        store.kv.write(&damage, Durability::Buffered).expect("writes");
        let listed = store.transactions(&account, 2).expect("reads");
        assert_eq!(listed, [transaction(4), transaction(2)], "the list is as long as wanted");
        let unmirrored = store.unmirrored_transactions(&account).expect("reads");
        assert_eq!(unmirrored, [transaction(1), transaction(2), transaction(4)]);
        assert_eq!(store.wallet(&account).expect("reads"), Some(wallet));
        let (_, problems) = store.check();
        assert_eq!(problems, ["transactions: 1 records cannot be read"]);
    }
}
