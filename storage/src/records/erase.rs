//! Erasures: the records of text that is erased for good.
//!
//! An erasure rewrites the history of a namespace and changes its records. [`Column::Erasures`] holds what is left to
//! do, so that a crash at any moment is continued:
//!
//! 1. [`ErasureRecord::Planned`] is written before the branch moves. It has the new head and all changes of the
//!    records.
//! 2. The branch moves. If the process ends here, the recorded head is in no history: the next opening of the namespace
//!    finds the plan and continues.
//! 3. [`Store::apply_erasure`] changes all records in one batch. The queue entry becomes
//!    [`QueuedWork::FinishErasure`], and the plan [`ErasureRecord::Applied`]. Neither names erased text.
//! 4. The former files of the repository are removed, and [`Store::finish_erasure`] deletes the record.
//! 5. [`Store::purge_erased`] removes deleted records, also the plan, from the files of the database. Then the entry
//!    leaves the queue.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::backup_hold;
use super::batch::RecordBatch;
use super::dead_letters::DeadLetter;
use super::dedup::FingerprintSubject;
use super::namespaces::{self, NamespaceRecord, key};
use super::queue_entry::{self, QueuedWork, queue_prefix};
use super::sources::{SourcePaths, source_key};
use super::store::{Store, decode, encode};
use super::work::{ErasureReport, MessageContent};
use super::writes::{self, WriteOutcome};
use crate::error::{Error, Result};
use crate::git::CommitId;
use crate::identity::{MessageId, NamespaceId, NamespaceKey};
use crate::key_value::columns::prefix;
use crate::key_value::{Column, ColumnPrefix};

/// Bytes at the end of a key of [`Column::Revisions`]: NUL and the position in the history.
const REVISION_SUFFIX_BYTES: usize = 1 + 8;

/// An erasure that is not complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErasureRecord {
    /// The new history is written. The records have not changed.
    Planned(Box<PlannedErasure>),
    /// The records have changed. These files of the repository hold the former history.
    Applied {
        /// Paths below the repository.
        former_files: Vec<String>,
    },
}

/// Everything that an erasure changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedErasure {
    /// The queued write.
    pub message: MessageId,
    /// The head before the erasure; `None` for an empty namespace.
    pub former_head: Option<CommitId>,
    /// The head after it. Equal to the former one if no commit changes.
    pub head: Option<CommitId>,
    /// The commits with new ids, each with its former and its new one.
    pub commits: Vec<(CommitId, CommitId)>,
    /// The files of the repository that hold the former history.
    pub former_files: Vec<String>,
    /// Changes of records in addition to those that follow from the commits.
    pub changes: RecordChanges,
    /// The result, without the number of vectors.
    pub report: ErasureReport,
}

/// The records that an erasure changes or deletes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordChanges {
    /// Paths of the erased memories.
    pub paths: BTreeSet<String>,
    /// Kept conversations.
    pub sources: Vec<(MessageId, SourceChange)>,
    /// Managed conversations to delete.
    pub conversations: Vec<Ulid>,
    /// Messages of managed conversations to empty: conversation and message.
    pub messages: Vec<(Ulid, Ulid)>,
    /// Dead letters to delete.
    pub dead_letters: Vec<MessageId>,
    /// SHA-256 of each embedded text of the erased memories.
    pub texts: Vec<[u8; 32]>,
}

/// What happens to a kept conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceChange {
    /// It is deleted.
    Delete,
    /// The messages at these positions lose text, references and name. Positions of the other messages stay.
    Empty(Vec<usize>),
}

impl Store {
    /// Returns the erasure of a namespace that is not complete.
    pub fn erasure(&self, namespace: NamespaceId) -> Result<Option<ErasureRecord>> {
        self.get_record(Column::Erasures, &namespace.to_bytes())
    }

    /// Records a planned erasure. It is durable on return.
    ///
    /// # Errors
    /// [`Error::BackupInProgress`] if several nodes share the database and one of them makes a backup.
    pub fn put_erasure(&self, namespace: &NamespaceRecord, record: &ErasureRecord) -> Result<()> {
        let mut batch = self.batch();
        batch.require_live(namespace);
        self.expect_no_backup(&mut batch.changes)?;
        batch.changes.put(Column::Erasures, namespace.id.to_bytes(), encode(record)?);
        self.commit_synced(batch).map_err(backup_hold::explained)
    }

    /// Changes all records of a planned erasure in one batch, which is durable on return. Returns the new record of the
    /// namespace.
    pub fn apply_erasure(&self, namespace: &NamespaceRecord, planned: &PlannedErasure) -> Result<NamespaceRecord> {
        loop {
            let mut batch = self.batch();
            let record = batch.erase(namespace, planned)?;
            match self.commit_synced(batch) {
                Ok(()) => return Ok(record),
                // A managed conversation changed in the meantime.
                Err(Error::ConditionFailed { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Removes deleted and replaced records of a namespace from the files of the database.
    pub fn purge_erased(&self, namespace: &NamespaceKey) -> Result<()> {
        let of_account = prefix(&[namespace.account.as_str()]);
        let mut prefixes = vec![
            ColumnPrefix { column: Column::Queue, prefix: queue_prefix(&namespace.account, namespace.id) },
            ColumnPrefix { column: Column::DeadLetters, prefix: of_account.clone() },
            ColumnPrefix { column: Column::DeadLetterWork, prefix: of_account.clone() },
            ColumnPrefix { column: Column::Conversations, prefix: of_account },
            // The keys begin with ids that deleted conversations had.
            ColumnPrefix { column: Column::Messages, prefix: Vec::new() },
            ColumnPrefix { column: Column::Unreadable, prefix: Vec::new() },
        ];
        for column in Column::BY_NAMESPACE {
            prefixes.push(ColumnPrefix { column: *column, prefix: namespace.id.to_bytes().to_vec() });
        }
        self.kv.purge_deleted(&prefixes)
    }

    /// Removes the messages that must not be stored from the files of the database, if there were any in entries that left
    /// the queue since the last call.
    pub fn purge_unstored(&self) -> Result<()> {
        if !self.has_unstored.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        let queue = ColumnPrefix { column: Column::Queue, prefix: Vec::new() };
        let purged = self.kv.purge_deleted_values(&[queue]);
        if purged.is_err() {
            self.has_unstored.store(true, Ordering::Relaxed);
        }
        purged
    }

    /// Records that an erasure is complete. Buffered: if it is lost, the last steps are repeated.
    pub fn finish_erasure(&self, namespace: &NamespaceKey) -> Result<()> {
        let mut batch = self.batch();
        batch.require_held(namespace.clone());
        batch.changes.delete(Column::Erasures, namespace.id.to_bytes());
        self.commit(batch)
    }

    /// Returns the kept conversations of a namespace that changed one of these paths.
    pub fn sources_of_paths(&self, namespace: NamespaceId, paths: &BTreeSet<String>) -> Result<Vec<MessageId>> {
        let mut found = Vec::new();
        for (key, value) in self.kv.scan(Column::SourcePaths, &namespace.to_bytes(), None, usize::MAX)? {
            let Ok(record) = decode::<SourcePaths>(Column::SourcePaths, &value) else { continue };
            if record.paths.iter().any(|path| paths.contains(path))
                && let Some(id) = key.last_chunk()
            {
                found.push(MessageId::from_bytes(*id));
            }
        }
        Ok(found)
    }
}

impl RecordBatch<'_> {
    /// Adds all changes of an erasure. Returns the new record of the namespace.
    fn erase(&mut self, namespace: &NamespaceRecord, planned: &PlannedErasure) -> Result<NamespaceRecord> {
        self.require_live(namespace);
        let new_ids: HashMap<CommitId, CommitId> = planned.commits.iter().copied().collect();
        let mut record = namespace.clone();
        record.head = planned.head;
        if let Some(base) = record.history_base
            && let Some(new) = new_ids.get(&base)
        {
            record.history_base = Some(*new);
        }
        namespaces::put(&mut self.changes, &record)?;
        let changes = &planned.changes;
        self.erase_revisions(namespace.id, &new_ids, &changes.paths)?;
        for path in &changes.paths {
            self.changes.delete(Column::PathWrites, key(namespace.id, path.as_bytes()));
            self.store.invalidate_subject(&mut self.changes, namespace.id, FingerprintSubject::path(path), None)?;
        }
        self.erase_source_paths(namespace.id, &changes.paths)?;
        for (id, change) in &changes.sources {
            self.change_source(namespace.id, *id, change)?;
        }
        self.erase_conversations(namespace, changes)?;
        self.erase_outcomes(namespace.id, changes)?;
        for id in &changes.dead_letters {
            self.drop_letter(namespace, *id)?;
        }
        let vectors = self.store.vector_keys_of(namespace.id, &changes.texts)?;
        let report = ErasureReport { vectors: vectors.len() as u64, ..planned.report.clone() };
        for vector in vectors {
            self.changes.delete(Column::Vectors, vector);
        }
        if let Some(mut entry) = self.store.queue_entry(&namespace.key(), planned.message)? {
            entry.work = QueuedWork::FinishErasure { report };
            queue_entry::put(&mut self.changes, &entry)?;
        }
        let applied = ErasureRecord::Applied { former_files: planned.former_files.clone() };
        self.changes.put(Column::Erasures, namespace.id.to_bytes(), encode(&applied)?);
        Ok(record)
    }

    /// Deletes the revisions of erased paths, and gives the others the new ids of their commits.
    fn erase_revisions(
        &mut self,
        namespace: NamespaceId,
        new_ids: &HashMap<CommitId, CommitId>,
        paths: &BTreeSet<String>,
    ) -> Result<()> {
        let id_bytes = namespace.to_bytes();
        for (key, value) in self.store.kv.scan(Column::Revisions, &id_bytes, None, usize::MAX)? {
            let path_end = key.len().saturating_sub(REVISION_SUFFIX_BYTES);
            let path = key.get(id_bytes.len()..path_end).and_then(|path| std::str::from_utf8(path).ok());
            if path.is_some_and(|path| paths.contains(path)) {
                self.changes.delete(Column::Revisions, key);
                continue;
            }
            if let Some((id, time)) = value.split_first_chunk()
                && let Some(new) = new_ids.get(&CommitId::from_bytes(*id))
            {
                self.changes.put(Column::Revisions, key, [&new.to_bytes()[..], time].concat());
            }
        }
        Ok(())
    }

    /// Removes erased paths from the lists of all kept conversations.
    fn erase_source_paths(&mut self, namespace: NamespaceId, paths: &BTreeSet<String>) -> Result<()> {
        for id in self.store.sources_of_paths(namespace, paths)? {
            let mut kept = self.store.source_paths(namespace, id)?.unwrap_or_default();
            kept.retain(|path| !paths.contains(path));
            self.changes.put(Column::SourcePaths, source_key(namespace, id), encode(&SourcePaths { paths: kept })?);
        }
        Ok(())
    }

    /// Removes erased paths from the outcomes of all writes. Of the writes that had one, and of those whose
    /// conversation changes, it also removes the reasons of dropped messages, which may quote them.
    fn erase_outcomes(&mut self, namespace: NamespaceId, changes: &RecordChanges) -> Result<()> {
        let sources: BTreeSet<MessageId> = changes.sources.iter().map(|(id, _)| *id).collect();
        for (key, value) in self.store.kv.scan(Column::WriteOutcomes, &namespace.to_bytes(), None, usize::MAX)? {
            let Ok(mut outcome) = decode::<WriteOutcome>(Column::WriteOutcomes, &value) else { continue };
            let listed = &mut outcome.changes;
            let mut is_changed = match key.last_chunk::<16>() {
                Some(id) => sources.contains(&MessageId::from_bytes(*id)),
                None => false,
            };
            for paths in [&mut listed.made, &mut listed.rewritten, &mut listed.merged, &mut listed.ended] {
                let count = paths.len();
                paths.retain(|path| !changes.paths.contains(path));
                is_changed |= paths.len() < count;
            }
            if is_changed {
                listed.dropped.clear();
                self.changes.put(Column::WriteOutcomes, key, encode(&outcome)?);
            }
        }
        Ok(())
    }

    /// Deletes a dead letter, and records that its write was dropped.
    fn drop_letter(&mut self, namespace: &NamespaceRecord, id: MessageId) -> Result<()> {
        if let Some(letter) = self.store.dead_letter(Some(&namespace.account), id)? {
            writes::put_outcome(&mut self.changes, namespace.id, id, &WriteOutcome::dropped(&letter))?;
        }
        DeadLetter::delete(&mut self.changes, &namespace.account, id);
        Ok(())
    }

    /// Deletes a kept conversation, or empties some of its messages. The same body is a new write from then on.
    fn change_source(&mut self, namespace: NamespaceId, id: MessageId, change: &SourceChange) -> Result<()> {
        let key = source_key(namespace, id);
        let Some(mut entry) = self.store.source(namespace, id)? else { return Ok(()) };
        self.store.invalidate_fingerprint(&mut self.changes, &entry);
        if let (SourceChange::Empty(positions), QueuedWork::Conversation { request }) = (change, &mut entry.work) {
            for position in positions {
                if let Some(message) = request.messages.get_mut(*position) {
                    message.text.clear();
                    message.references.clear();
                    message.name = None;
                }
            }
            entry.fingerprint = None;
            self.changes.put(Column::SourceConversations, key, encode(&entry)?);
            return Ok(());
        }
        for column in [Column::Sources, Column::SourceConversations, Column::SourcePaths] {
            self.changes.delete(column, key.clone());
        }
        Ok(())
    }

    /// Deletes managed conversations and empties messages of others, on the condition that none of them changes
    /// meanwhile.
    fn erase_conversations(&mut self, namespace: &NamespaceRecord, changes: &RecordChanges) -> Result<()> {
        for id in &changes.conversations {
            let stored = self.store.stored_conversation(&namespace.account, *id)?;
            if let Some(record) = stored.record.clone() {
                self.delete_conversation(&stored, &record);
            }
        }
        for (conversation, id) in &changes.messages {
            let stored = self.store.stored_message(*conversation, *id)?;
            if let Some(mut message) = stored.record.clone() {
                message.body.content = MessageContent::Text(String::new());
                message.body.name = None;
                message.body.other.clear();
                self.replace_message(*conversation, &stored, &message)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::{AccountId, NamespaceName};
    use crate::records::{
        Acknowledgement, Conversation, Dedup, ErasureSelection, IngestedEntry, Message, QueueEntry, RecordedCommit,
        Role, SourceRecord, WriteChanges, WriteProgress, WriteRecord,
    };

    fn commit(digit: u8) -> CommitId {
        CommitId::from_bytes([digit; 20])
    }

    fn message(id: u128) -> MessageId {
        MessageId::from(Ulid(id))
    }

    fn entry(namespace: &NamespaceRecord, id: u128, work: QueuedWork) -> QueueEntry {
        QueueEntry {
            id: message(id),
            account: namespace.account.clone(),
            namespace: namespace.name.clone(),
            namespace_id: namespace.id,
            accepted_at_ms: 1,
            accepted_running_ms: 1,
            failures: 0,
            fingerprint: None,
            sender: None,
            work,
        }
    }

    fn said(text: &str) -> Message {
        Message {
            role: Role::User,
            name: Some("Ann".into()),
            text: text.into(),
            references: Vec::new(),
            occurred_at: None,
            store: true,
        }
    }

    /// Returns a store with a conversation of two messages that was ingested by one commit, and a queued erasure.
    fn prepared() -> (Store, NamespaceRecord) {
        let store = Store::in_memory().expect("creates");
        let id = NamespaceId::new(Ulid(1));
        let wanted = NamespaceRecord::new(&AccountId::default(), &NamespaceName::default(), id, 0);
        let (mut home, _) = store.create_namespace(&wanted).expect("creates");
        let request = Conversation { messages: vec![said("one"), said("two")], ..Conversation::default() };
        let ingested = entry(&home, 1, QueuedWork::Conversation { request });
        let erase =
            entry(&home, 2, QueuedWork::Erase { selection: ErasureSelection::Paths(vec!["facts/a.md".into()]) });
        let mut batch = store.batch();
        batch.enqueue(&ingested, Dedup::Off, &[]).expect("enqueues");
        batch.enqueue(&erase, Dedup::Off, &[]).expect("enqueues");
        store.commit(batch).expect("writes");
        home.head = Some(commit(2));
        home.commits = 2;
        let paths = vec!["facts/a.md".to_owned(), "facts/b.md".to_owned()];
        let commits = [1, 2].map(|digit| RecordedCommit { id: commit(digit), at_seconds: 5, paths: paths.clone() });
        let record =
            SourceRecord { id: message(1), session_id: None, messages: 2, occurred_at: None, accepted_at_ms: 1 };
        let changes = WriteChanges { made: paths.clone(), ..WriteChanges::default() };
        let done = IngestedEntry { entry: ingested, paths, source: Some(record), changes, finished_at_ms: 1 };
        let batch = Acknowledgement { ingested: &[done], commits: &commits, ..Acknowledgement::new(&home) };
        store.acknowledge(&batch).expect("acknowledges");
        (store, home)
    }

    fn plan(changes: RecordChanges) -> PlannedErasure {
        PlannedErasure {
            message: message(2),
            former_head: Some(commit(2)),
            head: Some(commit(9)),
            commits: vec![(commit(2), commit(9))],
            former_files: vec!["objects/pack/pack-1.pack".into()],
            changes,
            report: ErasureReport { memories: 1, ..ErasureReport::default() },
        }
    }

    #[test]
    fn an_applied_erasure_changes_head_revisions_sources_and_queue_together() {
        let (store, home) = prepared();
        let planned = plan(RecordChanges {
            paths: BTreeSet::from(["facts/a.md".to_owned()]),
            sources: vec![(message(1), SourceChange::Empty(vec![0]))],
            ..RecordChanges::default()
        });
        let record = ErasureRecord::Planned(Box::new(planned.clone()));
        store.put_erasure(&home, &record).expect("plans");
        assert_eq!(store.erasure(home.id).expect("reads"), Some(record));
        let erased = store.apply_erasure(&home, &planned).expect("applies");
        assert_eq!((erased.head, erased.commits), (Some(commit(9)), 2));
        assert_eq!(store.namespace(&home.account, &home.name).expect("reads"), Some(erased));
        assert!(store.revisions(home.id, "facts/a.md", 9).expect("reads").is_empty());
        let ids: Vec<_> =
            store.revisions(home.id, "facts/b.md", 9).expect("reads").iter().map(|found| found.id).collect();
        assert_eq!(ids, [commit(9), commit(1)]);
        assert_eq!(store.source_paths(home.id, message(1)).expect("reads"), Some(vec!["facts/b.md".to_owned()]));
        let record: WriteRecord = store.write_record(&home.account, message(1)).expect("reads").expect("a record");
        let progress = store.write_progress(&home.account, &record).expect("reads");
        assert!(matches!(progress, WriteProgress::Finished(outcome) if outcome.changes.made == ["facts/b.md"]));
        let kept = store.source(home.id, message(1)).expect("reads").expect("is kept");
        let QueuedWork::Conversation { request } = kept.work else { panic!("a conversation") };
        assert_eq!((request.messages[0].text.as_str(), request.messages[1].text.as_str()), ("", "two"));
        let queued = store.queue_entry(&home.key(), message(2)).expect("reads").expect("is queued");
        assert!(matches!(queued.work, QueuedWork::FinishErasure { report } if report.memories == 1));
        let applied = store.erasure(home.id).expect("reads");
        assert!(matches!(applied, Some(ErasureRecord::Applied { former_files }) if former_files.len() == 1));
        store.finish_erasure(&home.key()).expect("finishes");
        assert_eq!(store.erasure(home.id).expect("reads"), None);
    }

    #[test]
    fn a_deleted_source_leaves_nothing() {
        let (store, home) = prepared();
        let planned = plan(RecordChanges {
            paths: BTreeSet::from(["facts/a.md".to_owned()]),
            sources: vec![(message(1), SourceChange::Delete)],
            ..RecordChanges::default()
        });
        store.apply_erasure(&home, &planned).expect("applies");
        assert_eq!(store.source(home.id, message(1)).expect("reads"), None);
        assert_eq!(store.source_paths(home.id, message(1)).expect("reads"), None);
        assert!(!store.has_source(home.id, message(1)).expect("reads"));
    }
}
