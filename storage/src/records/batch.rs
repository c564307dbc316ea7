//! A unit of work: typed changes of several records, written together under conditions.
//!
//! [`Store::batch`] begins one. Each resource adds its methods to [`RecordBatch`] in its own file. [`Store::commit`]
//! writes the batch, or changes nothing if a condition of the batch does not hold. Conditions carry the invariants
//! between concurrent callers, in place of locks: a record is created only if it is absent, replaced only if it is as
//! it was read, and data is added to a namespace only while the namespace exists.

use std::collections::BTreeMap;

use serde::Serialize;
use ulid::Ulid;

use super::namespaces::NamespaceRecord;
use super::ownership::FENCED;
use super::store::{Store, encode};
use super::stored::Stored;
use super::usage_state::PartWrite;
use crate::error::{Error, Result};
use crate::identity::{NamespaceId, NamespaceKey};
use crate::key_value::{Batch, Column, Durability};

/// Changes of records that are written together, if the conditions of the batch hold.
#[must_use = "a batch changes nothing until it is committed"]
pub struct RecordBatch<'a> {
    /// The store that the batch is for. Methods read it to decide what changes.
    pub(super) store: &'a Store,
    /// The changes and conditions so far.
    pub(super) changes: Batch,
    /// The namespaces that must exist.
    live: Vec<NamespaceKey>,
    /// The namespaces that this process must own, whether or not they exist.
    held: Vec<NamespaceKey>,
    /// The greatest id that the batch assigns in each namespace.
    newest_ids: BTreeMap<NamespaceId, Ulid>,
    /// The parts of meters among the changes.
    pub(super) usage_parts: Vec<PartWrite>,
}

impl Store {
    /// Begins a batch without changes.
    pub fn batch(&self) -> RecordBatch<'_> {
        RecordBatch {
            store: self,
            changes: Batch::new(),
            live: Vec::new(),
            held: Vec::new(),
            newest_ids: BTreeMap::new(),
            usage_parts: Vec::new(),
        }
    }

    /// Writes a batch. The write is buffered: it is durable after [`Store::sync_since`].
    ///
    /// # Errors
    /// [`Error::NamespaceGone`] if a namespace that the batch requires does not exist, [`Error::NotOwner`] if another
    /// node owns it. [`Error::ConditionFailed`] if another record changed since it was read; the caller reads it again
    /// and repeats its work. Nothing is changed in these cases.
    pub fn commit(&self, batch: RecordBatch<'_>) -> Result<()> {
        self.write_batch(batch, Durability::Buffered)
    }

    /// Writes a batch, which is durable on return.
    ///
    /// # Errors
    /// The errors of [`Store::commit`].
    pub fn commit_synced(&self, batch: RecordBatch<'_>) -> Result<()> {
        self.write_batch(batch, Durability::Synced)
    }

    /// Writes a batch, buffered. Returns false if a condition does not hold.
    pub(super) fn commit_if_current(&self, batch: RecordBatch<'_>) -> Result<bool> {
        match self.commit(batch) {
            Ok(()) => Ok(true),
            Err(Error::ConditionFailed { .. } | Error::NamespaceGone(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn write_batch(&self, mut batch: RecordBatch<'_>, durability: Durability) -> Result<()> {
        for (namespace, id) in &batch.newest_ids {
            self.record_id(&mut batch.changes, *namespace, *id);
        }
        for namespace in batch.live.iter().chain(&batch.held) {
            self.fences.expect_held(&mut batch.changes, namespace)?;
        }
        let failed = match self.write_with_parts(&batch.changes, &batch.usage_parts, durability) {
            Err(failed @ Error::ConditionFailed { .. }) => failed,
            written => return written,
        };
        // The engine reports the first condition that does not hold. A deletion of the namespace explains the others,
        // and so does another owner.
        for namespace in batch.live {
            if !self.is_live(namespace.id)? {
                return Err(Error::NamespaceGone(namespace));
            }
            self.require_still_held(namespace)?;
        }
        for namespace in batch.held {
            self.require_still_held(namespace)?;
        }
        Err(failed)
    }

    /// Fails if this process no longer owns a namespace, and remembers that.
    fn require_still_held(&self, namespace: NamespaceKey) -> Result<()> {
        if !FENCED || self.is_held(namespace.id)? {
            return Ok(());
        }
        self.fences.drop_hold(namespace.id);
        // The removal of a deleted namespace deletes its owner record.
        if self.is_live(namespace.id)? { Err(Error::NotOwner(namespace)) } else { Err(Error::NamespaceGone(namespace)) }
    }
}

impl RecordBatch<'_> {
    /// Requires a namespace to exist when the batch is written, with the id of this record.
    pub(super) fn require_live(&mut self, namespace: &NamespaceRecord) {
        self.require_live_key(namespace.key());
    }

    /// Requires a namespace to exist when the batch is written.
    pub(super) fn require_live_key(&mut self, namespace: NamespaceKey) {
        self.changes.expect(Column::LiveNamespaces, namespace.id.to_bytes(), Some(Vec::new()));
        self.live.push(namespace);
    }

    /// Requires this process to own a namespace when the batch is written. Unlike [`Self::require_live_key`], it does not
    /// require the namespace to exist, and adds nothing in a store of one process.
    pub(super) fn require_held(&mut self, namespace: NamespaceKey) {
        if !self.held.contains(&namespace) {
            self.held.push(namespace);
        }
    }

    /// Records an id that the batch assigns in a namespace, for [`Store::newest_id`].
    pub(super) fn assign_id(&mut self, namespace: NamespaceId, id: Ulid) {
        let newest = self.newest_ids.entry(namespace).or_insert(id);
        *newest = id.max(*newest);
    }

    /// Writes a record whose key must be absent.
    pub(super) fn create<T: Serialize>(&mut self, column: Column, key: &[u8], record: &T) -> Result<()> {
        self.changes.put_if_absent(column, key, encode(record)?);
        Ok(())
    }

    /// Writes a record that must be as it was read, or absent if it was absent.
    pub(super) fn replace<T: Serialize>(
        &mut self,
        column: Column,
        key: &[u8],
        stored: &Stored<T>,
        record: &T,
    ) -> Result<()> {
        self.changes.expect(column, key, stored.bytes.clone());
        self.changes.put(column, key, encode(record)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::{AccountId, NamespaceId, NamespaceName};
    use crate::records::{
        AccountRecord, ApiKeyRecord, Environment, Meter, PaymentRecord, TransactionRecord, UsageRecord, WalletRecord,
    };

    fn store() -> Store {
        Store::in_memory().expect("creates")
    }

    fn account(created_at_ms: i64) -> AccountRecord {
        AccountRecord { account: AccountId::default(), created_at_ms, suspended: false }
    }

    fn namespace(store: &Store, id: u128) -> NamespaceRecord {
        let id = NamespaceId::new(Ulid::from(id));
        let wanted = NamespaceRecord::new(&AccountId::default(), &NamespaceName::default(), id, 0);
        store.create_namespace(&wanted).expect("creates").0
    }

    /// Whether a commit failed because of a condition on a key of this column.
    fn fails_in(committed: &Result<()>, expected: Column) -> bool {
        matches!(committed, Err(Error::ConditionFailed { column, .. }) if *column == expected)
    }

    #[test]
    fn of_two_creations_of_an_account_the_first_is_kept() {
        let store = store();
        let mut first = store.batch();
        first.create_account(&account(1)).expect("encodes");
        let mut second = store.batch();
        second.create_account(&account(2)).expect("encodes");
        store.commit_synced(first).expect("creates");
        assert!(fails_in(&store.commit_synced(second), Column::Accounts));
        assert_eq!(store.account(&AccountId::default()).expect("reads"), Some(account(1)));
    }

    #[test]
    fn a_suspension_is_not_overwritten_by_a_concurrent_update() {
        let store = store();
        let mut batch = store.batch();
        batch.create_account(&account(1)).expect("encodes");
        store.commit(batch).expect("creates");
        let read_before = store.stored_account(&AccountId::default()).expect("reads");
        let suspended = AccountRecord { suspended: true, ..account(1) };
        let mut suspension = store.batch();
        suspension.replace_account(&read_before, &suspended).expect("encodes");
        store.commit_synced(suspension).expect("suspends");
        let mut late = store.batch();
        late.replace_account(&read_before, &account(2)).expect("encodes");
        assert!(fails_in(&store.commit_synced(late), Column::Accounts));
        let read_again = store.stored_account(&AccountId::default()).expect("reads");
        assert_eq!(read_again.record, Some(suspended));
        let mut repeated = store.batch();
        repeated.replace_account(&read_again, &account(1)).expect("encodes");
        store.commit(repeated).expect("the record is as it was read");
    }

    #[test]
    fn a_revocation_is_not_overwritten_by_a_concurrent_update() {
        let store = store();
        let key = ApiKeyRecord {
            id: "0123456789abcdef".into(),
            account: AccountId::default(),
            env: Environment::Live,
            name: String::new(),
            namespace: None,
            secret_sha256: String::new(),
            created_at_ms: 1,
            revoked: false,
        };
        let mut batch = store.batch();
        batch.create_api_key(&key).expect("encodes");
        store.commit(batch).expect("creates");
        let stored = store.stored_api_key(&key.id).expect("reads");
        let revoked = ApiKeyRecord { revoked: true, ..key.clone() };
        let mut batch = store.batch();
        batch.replace_api_key(&stored, &revoked).expect("encodes");
        store.commit(batch).expect("revokes");
        let mut late = store.batch();
        late.replace_api_key(&stored, &key).expect("encodes");
        assert!(fails_in(&store.commit(late), Column::Keys));
        let mut second = store.batch();
        second.create_api_key(&key).expect("encodes");
        assert!(fails_in(&store.commit(second), Column::Keys));
        assert_eq!(store.api_keys(&AccountId::default()).expect("reads"), [revoked]);
    }

    #[test]
    fn a_batch_to_a_retired_namespace_changes_nothing() {
        let store = store();
        let home = namespace(&store, 1);
        let account = AccountId::default();
        let usage = UsageRecord { total: 7, ..UsageRecord::new(&account, Meter::Writes) };
        let mut batch = store.batch();
        batch.require_live(&home);
        batch.charge(&usage).expect("encodes");
        assert!(store.retire_namespace(&home).expect("deletes"));
        let successor = namespace(&store, 2);
        let gone = store.commit_synced(batch);
        assert!(matches!(&gone, Err(Error::NamespaceGone(key)) if *key == home.key()), "{gone:?}");
        assert_eq!(store.usage(&account, Meter::Writes).expect("reads"), None);
        assert!(matches!(store.put_namespace(&home), Err(Error::NamespaceGone(_))));
        assert_eq!(store.namespace(&account, &home.name).expect("reads"), Some(successor.clone()));
        let mut batch = store.batch();
        batch.require_live(&successor);
        batch.charge(&usage).expect("encodes");
        store.commit(batch).expect("the successor exists");
        assert_eq!(store.usage(&account, Meter::Writes).expect("reads"), Some(usage));
    }

    #[test]
    fn another_failed_condition_of_a_live_namespace_is_reported() {
        let store = store();
        let home = namespace(&store, 1);
        let mut batch = store.batch();
        batch.create_account(&account(1)).expect("encodes");
        store.commit(batch).expect("creates");
        let mut batch = store.batch();
        batch.require_live(&home);
        batch.create_account(&account(2)).expect("encodes");
        assert!(fails_in(&store.commit(batch), Column::Accounts));
    }

    #[test]
    fn a_wallet_is_replaced_only_if_it_did_not_change() {
        let store = store();
        let account = AccountId::default();
        let absent = store.stored_wallet(&account).expect("reads");
        assert_eq!(absent.record, None);
        let wallet = WalletRecord { balance_paise: 100, ..WalletRecord::default() };
        let mut batch = store.batch();
        batch.replace_wallet(&absent, &wallet).expect("encodes");
        store.commit(batch).expect("the wallet is still absent");
        let transaction = TransactionRecord { id: Ulid::from(1u128), amount_paise: -5, note: "reads".into(), at_ms: 1 };
        let mut late = store.batch();
        late.replace_wallet(&absent, &WalletRecord { balance_paise: -5, ..WalletRecord::default() }).expect("encodes");
        late.add_transaction(&account, &transaction).expect("encodes");
        assert!(fails_in(&store.commit(late), Column::Billing));
        assert_eq!(store.wallet(&account).expect("reads"), Some(wallet.clone()));
        assert!(store.transactions(&account, 9).expect("reads").is_empty());
        let read = store.stored_wallet(&account).expect("reads");
        let mut batch = store.batch();
        batch.replace_wallet(&read, &WalletRecord { balance_paise: 95, ..wallet }).expect("encodes");
        batch.add_transaction(&account, &transaction).expect("encodes");
        store.commit(batch).expect("the wallet is as it was read");
        assert_eq!(store.unmirrored_transactions(&account).expect("reads"), [transaction]);
    }

    #[test]
    fn a_notification_is_processed_once() {
        let store = store();
        let payment =
            PaymentRecord { id: "p".into(), account: AccountId::default(), amount_paise: 100, credited: true };
        for is_first in [true, false] {
            let stored = store.stored_payment("p").expect("reads");
            let mut batch = store.batch();
            batch.process_notification("evt_1", 7).expect("encodes");
            batch.replace_payment(&stored, &payment).expect("encodes");
            let committed = store.commit_synced(batch);
            assert!(if is_first { committed.is_ok() } else { fails_in(&committed, Column::Notifications) });
        }
        assert!(store.is_notification_processed("evt_1").expect("reads"));
        assert_eq!(store.payment("p").expect("reads"), Some(payment));
    }

    #[test]
    fn a_batch_records_the_greatest_id_that_it_assigns() {
        let store = store();
        let [first, second] = [1u128, 2].map(|id| NamespaceId::new(Ulid::from(id)));
        let mut batch = store.batch();
        batch.assign_id(first, Ulid::from(7u128));
        batch.assign_id(first, Ulid::from(3u128));
        batch.assign_id(second, Ulid::from(5u128));
        store.commit(batch).expect("writes");
        assert_eq!(store.newest_id().expect("reads"), Some(Ulid::from(7u128)));
        assert_eq!(store.newest_id_of(second).expect("reads"), Some(Ulid::from(5u128)));
    }
}
