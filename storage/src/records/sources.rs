//! Sources: accepted conversations, kept after ingestion.
//!
//! The batch that removes a conversation from the queue ([`Store::acknowledge`]) writes it here, under the id of its
//! write. A source is therefore as durable as the memories made from it, and it does not delay the `202`. A source
//! consists of three records: the list view, the conversation, and the paths of the memories. Listing sources reads
//! neither conversations nor paths. Deleting a namespace deletes its sources.

use serde::{Deserialize, Serialize};

use super::batch::RecordBatch;
use super::namespaces::key;
use super::queue_entry::{QueueEntry, QueuedWork, queue_key};
use super::store::{Store, decode, encode};
use super::writes::WriteChanges;
use crate::error::{Error, Result};
use crate::identity::{MessageId, NamespaceId, NamespaceKey};
use crate::key_value::{Batch, Column, KeyValuePair};

/// A queue entry whose commit is in git and in the index.
#[derive(Clone, Debug)]
pub struct IngestedEntry {
    /// The queue entry.
    pub entry: QueueEntry,
    /// The paths that the entry changed.
    pub paths: Vec<String>,
    /// The source record of its conversation, if the conversation is kept.
    pub source: Option<SourceRecord>,
    /// What the entry changed.
    pub changes: WriteChanges,
    /// Time of ingestion, milliseconds since the epoch.
    pub finished_at_ms: i64,
}

/// The list view of a kept conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRecord {
    /// The id of the write that contained the conversation.
    pub id: MessageId,
    /// The caller's name for the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Number of messages.
    pub messages: u64,
    /// Time of the conversation, if given by the caller: a calendar date or RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurred_at: Option<String>,
    /// Time of acceptance, milliseconds since the epoch.
    pub accepted_at_ms: i64,
}

/// The result of [`Store::check_sources`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceCheck {
    /// Number of readable conversations.
    pub conversations: u64,
    /// Number of records that could not be decoded and were set aside.
    pub unreadable: u64,
}

/// The paths of the memory files that a source changed.
#[derive(Serialize, Deserialize)]
pub(super) struct SourcePaths {
    pub(super) paths: Vec<String>,
}

impl Store {
    /// Keeps the conversation of an entry that leaves the queue, in the same batch. For a repeated extraction, adds
    /// only the new paths to the source.
    pub(super) fn keep_source(&self, batch: &mut Batch, ingested: &IngestedEntry) -> Result<()> {
        let entry = &ingested.entry;
        if let QueuedWork::Reextract { source } = &entry.work {
            return self.add_paths(batch, entry.namespace_id, *source, &ingested.paths);
        }
        let Some(record) = &ingested.source else { return Ok(()) };
        let queued = queue_key(&entry.account, entry.namespace_id, entry.id);
        // The stored bytes are moved, so that a conversation of megabytes is not encoded again.
        let Some(mut conversation) = self.kv.get(Column::Queue, &queued)? else { return Ok(()) };
        if let Some(storable) = without_unstored(entry) {
            conversation = encode(&storable)?;
        }
        let key = source_key(entry.namespace_id, entry.id);
        batch.put(Column::Sources, key.clone(), encode(record)?);
        batch.put(Column::SourcePaths, key.clone(), encode(&SourcePaths { paths: ingested.paths.clone() })?);
        batch.put(Column::SourceConversations, key, conversation);
        Ok(())
    }

    /// Adds paths to a source, unless the source was deleted.
    fn add_paths(&self, batch: &mut Batch, namespace: NamespaceId, id: MessageId, added: &[String]) -> Result<()> {
        let Some(mut paths) = self.source_paths(namespace, id)? else { return Ok(()) };
        paths.extend_from_slice(added);
        paths.sort();
        paths.dedup();
        batch.put(Column::SourcePaths, source_key(namespace, id), encode(&SourcePaths { paths })?);
        Ok(())
    }

    /// Returns up to `limit` sources of a namespace that are older than `before`, newest first. Records that cannot be
    /// decoded are set aside.
    pub fn sources(
        &self,
        namespace: NamespaceId,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<SourceRecord>> {
        let before = before.map(|id| source_key(namespace, id));
        let entries = self.kv.scan_back(Column::Sources, &namespace.to_bytes(), before.as_deref(), limit)?;
        self.decode_records(entries)
    }

    /// Returns up to `limit` sources of a namespace that are newer than `after`, oldest first. Records that cannot be
    /// decoded are set aside.
    pub fn sources_after(
        &self,
        namespace: NamespaceId,
        after: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<SourceRecord>> {
        let after = after.map(|id| source_key(namespace, id));
        let entries = self.kv.scan(Column::Sources, &namespace.to_bytes(), after.as_deref(), limit)?;
        self.decode_records(entries)
    }

    fn decode_records(&self, entries: Vec<KeyValuePair>) -> Result<Vec<SourceRecord>> {
        let mut records = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            match decode_record(&key, &value) {
                Ok(record) => records.push(record),
                Err(error) => {
                    log_unreadable(&error);
                    self.set_aside(Column::Sources, &key)?;
                }
            }
        }
        Ok(records)
    }

    /// Returns the queue entry of a source's write. `None` if the source is missing or cannot be decoded; in the second
    /// case it is set aside.
    pub fn source(&self, namespace: NamespaceId, id: MessageId) -> Result<Option<QueueEntry>> {
        let key = source_key(namespace, id);
        let Some(value) = self.kv.get(Column::SourceConversations, &key)? else { return Ok(None) };
        self.decode_conversation(&key, &value)
    }

    /// Returns the oldest source of a namespace that is newer than `after`. Sources that cannot be decoded are set
    /// aside and skipped.
    pub fn next_source(&self, namespace: NamespaceId, after: Option<MessageId>) -> Result<Option<QueueEntry>> {
        let mut after = after.map(|id| source_key(namespace, id));
        loop {
            let mut found = self.kv.scan(Column::SourceConversations, &namespace.to_bytes(), after.as_deref(), 1)?;
            let Some((key, value)) = found.pop() else { return Ok(None) };
            if let Some(entry) = self.decode_conversation(&key, &value)? {
                return Ok(Some(entry));
            }
            after = Some(key);
        }
    }

    fn decode_conversation(&self, key: &[u8], value: &[u8]) -> Result<Option<QueueEntry>> {
        match decode_entry(key, value) {
            Ok(entry) => Ok(Some(entry)),
            Err(error) => {
                log_unreadable(&error);
                self.set_conversation_aside(key)?;
                Ok(None)
            }
        }
    }

    /// Sets aside a conversation that cannot be decoded, and deletes its list view and paths.
    fn set_conversation_aside(&self, key: &[u8]) -> Result<()> {
        self.set_aside_with(Column::SourceConversations, key, &[Column::Sources, Column::SourcePaths])
    }

    /// Returns the paths of the memory files that a source changed, including files deleted since. `None` if the record
    /// is missing or cannot be decoded; in the second case it is set aside.
    pub fn source_paths(&self, namespace: NamespaceId, id: MessageId) -> Result<Option<Vec<String>>> {
        let key = source_key(namespace, id);
        let Some(value) = self.kv.get(Column::SourcePaths, &key)? else { return Ok(None) };
        match decode::<SourcePaths>(Column::SourcePaths, &value) {
            Ok(found) => Ok(Some(found.paths)),
            Err(error) => {
                log_unreadable(&error);
                self.set_aside(Column::SourcePaths, &key)?;
                Ok(None)
            }
        }
    }

    /// Whether a source is kept.
    pub fn has_source(&self, namespace: NamespaceId, id: MessageId) -> Result<bool> {
        Ok(self.kv.get(Column::Sources, &source_key(namespace, id))?.is_some())
    }

    /// Deletes a source. Returns false if there is none. Buffered: durable after [`Store::sync_since`].
    pub fn delete_source(&self, namespace: &NamespaceKey, id: MessageId) -> Result<bool> {
        let key = source_key(namespace.id, id);
        let is_kept = self.kv.get(Column::SourceConversations, &key)?.is_some();
        if !is_kept && self.kv.get(Column::Sources, &key)?.is_none() {
            return Ok(false);
        }
        let mut batch = self.batch();
        batch.delete_source(namespace, id);
        self.commit(batch)?;
        Ok(true)
    }

    /// Decodes all sources, with a page of them in memory at a time, and sets aside records that cannot be decoded.
    pub fn check_sources(&self) -> Result<SourceCheck> {
        let mut check = SourceCheck::default();
        let mut unreadable = Vec::new();
        for entry in self.kv.read_all(Column::SourceConversations) {
            let (key, value) = entry?;
            match decode_entry(&key, &value) {
                Ok(_) => check.conversations += 1,
                Err(error) => unreadable.push((key, error)),
            }
        }
        for (key, error) in &unreadable {
            log_unreadable(error);
            self.set_conversation_aside(key)?;
        }
        check.unreadable = unreadable.len() as u64;
        check.unreadable += self.check_records::<SourceRecord>(Column::Sources)?;
        check.unreadable += self.check_records::<SourcePaths>(Column::SourcePaths)?;
        Ok(check)
    }

    /// Decodes all records of a column. Sets aside those that cannot be decoded and returns their number.
    fn check_records<T: serde::de::DeserializeOwned>(&self, column: Column) -> Result<u64> {
        let mut unreadable = Vec::new();
        for entry in self.kv.read_all(column) {
            let (key, value) = entry?;
            if let Err(error) = decode::<T>(column, &value) {
                unreadable.push((key, error));
            }
        }
        for (key, error) in &unreadable {
            log_unreadable(error);
            self.set_aside(column, key)?;
        }
        Ok(unreadable.len() as u64)
    }
}

impl RecordBatch<'_> {
    /// Deletes a source. Changes nothing if there is none.
    pub fn delete_source(&mut self, namespace: &NamespaceKey, id: MessageId) {
        self.require_held(namespace.clone());
        let key = source_key(namespace.id, id);
        for column in [Column::Sources, Column::SourceConversations, Column::SourcePaths] {
            self.changes.delete(column, key.clone());
        }
    }
}

/// The key of a source in each of its columns.
/// Returns an entry without the contents of the messages that must not be stored. The messages stay, because memories name
/// theirs by their positions. `None` if all may be stored.
fn without_unstored(entry: &QueueEntry) -> Option<QueueEntry> {
    let QueuedWork::Conversation { request } = &entry.work else { return None };
    if request.messages.iter().all(|message| message.store) {
        return None;
    }
    let mut request = request.clone();
    for message in &mut request.messages {
        if !message.store {
            message.text.clear();
            message.references.clear();
        }
    }
    Some(QueueEntry { work: QueuedWork::Conversation { request }, ..entry.clone() })
}

pub(super) fn source_key(namespace: NamespaceId, id: MessageId) -> Vec<u8> {
    key(namespace, &id.to_bytes())
}

fn decode_record(key: &[u8], value: &[u8]) -> Result<SourceRecord> {
    let record: SourceRecord = decode(Column::Sources, value)?;
    require_id(Column::Sources, key, record.id)?;
    Ok(record)
}

fn decode_entry(key: &[u8], value: &[u8]) -> Result<QueueEntry> {
    let entry: QueueEntry = decode(Column::SourceConversations, value)?;
    require_id(Column::SourceConversations, key, entry.id)?;
    Ok(entry)
}

/// Fails if the id in a record differs from the id at the end of its key. Callers page by the id of the last record.
fn require_id(column: Column, key: &[u8], id: MessageId) -> Result<()> {
    if key.ends_with(&id.to_bytes()) {
        return Ok(());
    }
    Err(Error::corrupt(format!("record in {}", column.name()), "its id differs from its key"))
}

fn log_unreadable(error: &Error) {
    tracing::error!(%error, "cannot decode a kept conversation; `cuebase dead-letters list` shows it");
}

#[cfg(test)]
mod tests {
    use ulid::Ulid;

    use super::*;
    use crate::identity::AccountId;
    use crate::identity::NamespaceName;
    use crate::key_value::Durability;
    use crate::records::{Acknowledgement, Conversation, Dedup, Message, NamespaceRecord, Role};

    fn message(id: u128) -> MessageId {
        MessageId::from(Ulid::from(id))
    }

    fn open() -> (tempfile::TempDir, Store, NamespaceRecord) {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = Store::open(folder.path()).expect("opens");
        let wanted = NamespaceRecord::new(
            &AccountId::default(),
            &NamespaceName::default(),
            NamespaceId::new(Ulid::from(1u128)),
            0,
        );
        let namespace = store.create_namespace(&wanted).expect("creates").0;
        (folder, store, namespace)
    }

    fn entry(namespace: &NamespaceRecord, id: u128, work: QueuedWork) -> QueueEntry {
        QueueEntry {
            id: message(id),
            account: namespace.account.clone(),
            namespace: namespace.name.clone(),
            namespace_id: namespace.id,
            accepted_at_ms: 7,
            accepted_running_ms: 0,
            failures: 0,
            fingerprint: None,
            sender: None,
            work,
        }
    }

    fn conversation() -> QueuedWork {
        let message = Message {
            role: Role::User,
            name: None,
            text: "The vault is open".into(),
            references: Vec::new(),
            occurred_at: None,
            store: true,
        };
        let request = Conversation { messages: vec![message], ..Conversation::default() };
        QueuedWork::Conversation { request }
    }

    /// Enqueues an entry and acknowledges it, with a source record.
    fn ingest(store: &Store, namespace: &NamespaceRecord, entry: &QueueEntry, paths: &[&str]) {
        let mut batch = store.batch();
        batch.require_live(namespace);
        batch.enqueue(entry, Dedup::Off, &[]).expect("enqueues");
        store.commit(batch).expect("writes");
        let record = SourceRecord { id: entry.id, session_id: None, messages: 1, occurred_at: None, accepted_at_ms: 7 };
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        let ingested = [IngestedEntry {
            entry: entry.clone(),
            paths,
            source: Some(record),
            changes: WriteChanges::default(),
            finished_at_ms: 9,
        }];
        let done = Acknowledgement { ingested: &ingested, ..Acknowledgement::new(namespace) };
        store.acknowledge(&done).expect("acknowledges");
    }

    fn ids(records: &[SourceRecord]) -> Vec<u128> {
        records.iter().map(|record| Ulid::from(record.id).into()).collect()
    }

    #[test]
    fn an_acknowledged_conversation_is_kept_unchanged_and_listed_by_id() {
        let (_folder, store, home) = open();
        for id in 1..=3 {
            ingest(&store, &home, &entry(&home, id, conversation()), &["facts/a.md"]);
        }
        assert_eq!(ids(&store.sources(home.id, None, 2).expect("reads")), [3, 2]);
        assert_eq!(ids(&store.sources(home.id, Some(message(2u128)), 2).expect("reads")), [1]);
        assert_eq!(ids(&store.sources_after(home.id, Some(message(1u128)), 9).expect("reads")), [2, 3]);
        let kept = store.source(home.id, message(2u128)).expect("reads").expect("is kept");
        assert_eq!(kept, entry(&home, 2, conversation()));
        let next = store.next_source(home.id, Some(message(2u128))).expect("reads").expect("is kept");
        assert_eq!(next.id, message(3u128));
        assert!(store.delete_source(&home.key(), message(2u128)).expect("deletes"));
        assert!(!store.delete_source(&home.key(), message(2u128)).expect("is already deleted"));
        assert_eq!(store.source(home.id, message(2u128)).expect("reads"), None);
        assert_eq!(ids(&store.sources(home.id, None, 9).expect("reads")), [3, 1]);
    }

    #[test]
    fn a_repeated_extraction_adds_its_paths_to_the_source() {
        let (_folder, store, home) = open();
        ingest(&store, &home, &entry(&home, 1, conversation()), &["facts/a.md"]);
        let again = QueuedWork::Reextract { source: message(1u128) };
        ingest(&store, &home, &entry(&home, 2, again), &["facts/b.md", "facts/a.md"]);
        let paths = store.source_paths(home.id, message(1u128)).expect("reads").expect("paths");
        assert_eq!(paths, ["facts/a.md", "facts/b.md"]);
        assert_eq!(ids(&store.sources(home.id, None, 9).expect("reads")), [1]);
    }

    #[test]
    fn deleting_a_namespace_deletes_only_its_own_sources() {
        let (_folder, store, home) = open();
        let wanted = NamespaceRecord::new(
            &AccountId::default(),
            &NamespaceName::new("other").expect("is valid"),
            NamespaceId::new(Ulid::from(2u128)),
            0,
        );
        let other = store.create_namespace(&wanted).expect("creates").0;
        ingest(&store, &home, &entry(&home, 1, conversation()), &["facts/a.md"]);
        ingest(&store, &other, &entry(&other, 2, conversation()), &["facts/a.md"]);
        assert!(store.retire_namespace(&home).expect("deletes"));
        for removal in store.pending_removals().expect("reads") {
            store.remove_records(&removal).expect("removes");
        }
        assert!(store.sources(home.id, None, 9).expect("reads").is_empty());
        assert_eq!(store.source(home.id, message(1u128)).expect("reads"), None);
        assert_eq!(store.source_paths(home.id, message(1u128)).expect("reads"), None);
        assert_eq!(ids(&store.sources(other.id, None, 9).expect("reads")), [2]);
        assert_eq!(store.check_sources().expect("reads"), SourceCheck { conversations: 1, unreadable: 0 });
    }

    #[test]
    fn a_source_that_cannot_be_decoded_is_set_aside_and_the_others_are_read() {
        let (_folder, store, home) = open();
        for id in 1..=3 {
            ingest(&store, &home, &entry(&home, id, conversation()), &[]);
        }
        let mut batch = Batch::new();
        batch.put(Column::SourceConversations, source_key(home.id, message(1u128)), b"\x01{\"id\":[".to_vec());
        batch.put(Column::Sources, source_key(home.id, message(3u128)), b"garbage".to_vec());
        store.kv.write(&batch, Durability::Buffered).expect("writes");
        assert_eq!(store.next_source(home.id, None).expect("reads").map(|entry| entry.id), Some(message(2u128)));
        assert_eq!(ids(&store.sources(home.id, None, 9).expect("reads")), [2]);
        assert_eq!(store.unreadable().expect("reads").len(), 2);
        assert_eq!(store.check_sources().expect("reads"), SourceCheck { conversations: 2, unreadable: 0 });
    }
}
