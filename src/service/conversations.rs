//! Managed conversations: a tree of messages whose leaves are named branches.
//!
//! No message is ever lost. A rewind moves the head of a branch back and keeps the later messages on a branch of their
//! own. An edit creates a branch that forks before the edited message. Only an edit in place changes a stored message.
//!
//! A conversation is changed on the condition that its record is still as it was read; otherwise it is read again. So
//! no lock is held over a conversation.

use std::sync::Arc;

use cuebase_storage::records::{
    BranchRecord, ConversationRecord, Dedup, MessageBody, MessageContent, MessageRecord, NamespaceRecord, QueuedWork,
    Stored, WriteSender,
};
use cuebase_storage::{AccountId, NamespaceName, Store};
use ulid::Ulid;

use super::conversation_branches::{end_active_branch, extend_branch, find_branch, find_branch_mut, free_branch_name};
use super::intake::{Intake, NewWrite};
use super::shared_parts::SharedParts;
use crate::billing::meters::Permit;
use crate::error::{Error, Result, was_committed};
use crate::error_codes::ErrorCode;
use crate::memory::conversation::Conversation;
use crate::namespace::ids::HeldIds;
use crate::namespace::registry::Namespaces;

/// Name of the first branch.
const MAIN: &str = "main";

/// A message to be appended.
pub struct NewMessage {
    /// The fields of the message, as the client sent them.
    pub body: MessageBody,
}

/// The managed conversations of all accounts, and the sources of ingested ones.
pub struct Conversations {
    /// The open records.
    pub(super) store: Arc<Store>,
    /// The namespaces of all accounts.
    pub(super) namespaces: Arc<Namespaces>,
    /// Accepts appended messages for ingestion.
    pub(super) intake: Arc<Intake>,
}

impl Conversations {
    /// Makes the part of an open data directory.
    pub(crate) fn new(shared: &SharedParts, intake: &Arc<Intake>) -> Self {
        Self {
            store: Arc::clone(&shared.store),
            namespaces: Arc::clone(&shared.namespaces),
            intake: Arc::clone(intake),
        }
    }

    /// Creates an empty conversation.
    pub fn create(&self, namespace: &NamespaceRecord, title: String) -> Result<ConversationRecord> {
        let now_ms = self.intake.clock.now_ms();
        let main = BranchRecord { name: MAIN.into(), head: None, messages: 0, forked_from: None };
        let record = ConversationRecord {
            id: self.intake.ids.fresh(namespace.id),
            account: namespace.account.clone(),
            namespace: namespace.name.clone(),
            namespace_id: namespace.id,
            title,
            branch: MAIN.into(),
            branches: vec![main],
            created_at_ms: now_ms,
            updated_at_ms: now_ms,
        };
        let mut batch = self.store.batch();
        batch.create_conversation(&record)?;
        self.store.commit_synced(batch)?;
        Ok(record)
    }

    /// Returns a conversation of an account.
    pub fn get(&self, account: &AccountId, id: &str) -> Result<ConversationRecord> {
        if let Ok(id) = id.parse()
            && let Some(record) = self.store.conversation(account, id)?
        {
            return Ok(record);
        }
        Err(no_conversation())
    }

    /// Returns up to `limit` conversations of a namespace, newest first. `before` continues a listing.
    pub fn list(
        &self,
        account: &AccountId,
        namespace: &NamespaceName,
        before: Option<Ulid>,
        limit: usize,
    ) -> Result<Vec<ConversationRecord>> {
        let namespace = self.namespaces.existing(account, namespace)?;
        Ok(self.store.conversations(&namespace, before, limit)?)
    }

    /// Returns the messages of a branch, the first message first.
    pub fn branch_messages(&self, record: &ConversationRecord, branch: &str) -> Result<Vec<MessageRecord>> {
        let head = find_branch(record, branch)?.head;
        Ok(self.store.branch_messages(record, head)?)
    }

    /// Changes the title or the active branch of a conversation.
    pub fn update(
        &self,
        account: &AccountId,
        id: Ulid,
        title: Option<&str>,
        branch: Option<&str>,
    ) -> Result<ConversationRecord> {
        loop {
            let (stored, mut record) = self.stored(account, id)?;
            if let Some(branch) = branch {
                record.branch = find_branch(&record, branch)?.name.clone();
            }
            if let Some(title) = title {
                record.title = title.to_owned();
            }
            record.updated_at_ms = self.intake.clock.now_ms();
            if self.replace(&stored, &record, &[])? {
                return Ok(record);
            }
        }
    }

    /// Deletes a conversation and the sources of its messages, in one batch. The memories extracted from it stay.
    pub fn delete(&self, account: &AccountId, id: &str) -> Result<()> {
        let id = self.get(account, id)?.id;
        loop {
            let (stored, record) = self.stored(account, id)?;
            let namespace = record.namespace_key();
            let mut batch = self.store.batch();
            batch.delete_conversation(&stored, &record);
            // The session of the sources is the id of the conversation.
            for source in self.session_sources(namespace.id, &id.to_string(), id.into())? {
                batch.delete_source(&namespace, source);
            }
            if was_committed(self.store.commit_synced(batch))? {
                return Ok(());
            }
        }
    }

    /// Appends messages to a branch and queues them for ingestion as one write. Both are durable when this returns.
    pub fn append(
        &self,
        namespace: &NamespaceRecord,
        id: Ulid,
        branch: Option<&str>,
        messages: Vec<NewMessage>,
        ingested: Conversation,
        sender: Option<WriteSender>,
    ) -> Result<Vec<MessageRecord>> {
        let write = NewWrite { work: QueuedWork::Conversation { request: ingested }, sender };
        let permit = self.intake.reserve_write(&namespace.account, &write.work)?;
        self.namespaces.require_undamaged(namespace)?;
        let generation = self.store.generation();
        let added = self.put_messages(namespace, id, branch, messages, write, permit)?;
        // The ids are no longer held, so that other callers do not wait for the sync.
        self.store.sync_since(generation)?;
        Ok(added)
    }

    /// Writes messages and the queue entry for their ingestion. Buffered.
    fn put_messages(
        &self,
        namespace: &NamespaceRecord,
        id: Ulid,
        branch: Option<&str>,
        messages: Vec<NewMessage>,
        write: NewWrite,
        mut permit: Option<Permit<'_>>,
    ) -> Result<Vec<MessageRecord>> {
        // Held through the write, so that the queue is in the order of ids. Appends to a namespace therefore wait for each
        // other, and only other changes of the conversation make one repeat.
        let mut ids = self.intake.ids.hold(namespace.id);
        let now_ms = self.intake.clock.now_ms();
        let mut added = new_messages(messages, &mut ids, now_ms);
        let entry = self.intake.new_entry(&mut ids, namespace, write);
        loop {
            let (stored, mut record) = self.stored(&namespace.account, id)?;
            let name = branch.unwrap_or(&record.branch).to_owned();
            extend_branch(find_branch_mut(&mut record, &name)?, &mut added);
            record.updated_at_ms = now_ms;
            let mut batch = self.store.batch();
            batch.replace_conversation(&stored, &record, &added)?;
            batch.enqueue(&entry, Dedup::Off, &[])?;
            if was_committed(self.intake.commit_charged(batch, permit.as_mut()))? {
                break;
            }
        }
        self.intake.add_to_queue(&entry);
        Ok(added)
    }

    /// Ends the active branch at a message. Later messages stay, on a branch of their own.
    pub fn rewind(&self, account: &AccountId, id: Ulid, to: &str) -> Result<ConversationRecord> {
        loop {
            let (stored, mut record) = self.stored(account, id)?;
            let Some((last, messages)) = self.position_in_branch(&record, to)? else {
                return Err(no_message("the active branch has no message with that id"));
            };
            end_active_branch(&mut record, last, messages)?;
            record.updated_at_ms = self.intake.clock.now_ms();
            if self.replace(&stored, &record, &[])? {
                return Ok(record);
            }
        }
    }

    /// Replaces the content of a message, in every branch that contains the message.
    pub fn edit_in_place(
        &self,
        account: &AccountId,
        id: Ulid,
        message: &str,
        content: &MessageContent,
    ) -> Result<MessageRecord> {
        loop {
            let (stored, mut record) = self.stored(account, id)?;
            let (stored_message, mut edited) = self.stored_message(id, message)?;
            let now_ms = self.intake.clock.now_ms();
            edited.body.content = content.clone();
            edited.edited_at_ms = Some(now_ms);
            record.updated_at_ms = now_ms;
            let mut batch = self.store.batch();
            batch.replace_conversation(&stored, &record, &[])?;
            batch.replace_message(id, &stored_message, &edited)?;
            if was_committed(self.store.commit_synced(batch))? {
                return Ok(edited);
            }
        }
    }

    /// Edits a message on a new branch that forks before the message. The new branch becomes the active one and is
    /// returned.
    pub fn edit_as_branch(
        &self,
        account: &AccountId,
        id: Ulid,
        message: &str,
        content: &MessageContent,
    ) -> Result<BranchRecord> {
        loop {
            let (stored, mut record) = self.stored(account, id)?;
            let (_, old) = self.stored_message(id, message)?;
            let now_ms = self.intake.clock.now_ms();
            let new = MessageRecord {
                id: self.intake.ids.fresh(record.namespace_id),
                parent: old.parent,
                body: MessageBody { content: content.clone(), ..old.body },
                created_at_ms: now_ms,
                edited_at_ms: None,
            };
            let branch = BranchRecord {
                name: free_branch_name(&record, "edit"),
                head: Some(new.id),
                messages: self.depth(&record, old.parent)? + 1,
                forked_from: old.parent,
            };
            record.branches.push(branch.clone());
            record.branch = branch.name.clone();
            record.updated_at_ms = now_ms;
            if self.replace(&stored, &record, &[new])? {
                return Ok(branch);
            }
        }
    }

    /// Reads a conversation of an account. Returns it as it is stored, and a record to be changed.
    fn stored(&self, account: &AccountId, id: Ulid) -> Result<(Stored<ConversationRecord>, ConversationRecord)> {
        let stored = self.store.stored_conversation(account, id)?;
        let Some(record) = stored.record.clone() else { return Err(no_conversation()) };
        Ok((stored, record))
    }

    /// Reads a message of a conversation. Returns it as it is stored, and a record to be changed.
    fn stored_message(&self, conversation: Ulid, id: &str) -> Result<(Stored<MessageRecord>, MessageRecord)> {
        if let Ok(id) = id.parse() {
            let stored = self.store.stored_message(conversation, id)?;
            if let Some(record) = stored.record.clone() {
                return Ok((stored, record));
            }
        }
        Err(no_message("the conversation has no message with that id"))
    }

    /// Replaces a conversation and adds messages, durably. Returns false if the conversation changed since it was read.
    fn replace(
        &self,
        stored: &Stored<ConversationRecord>,
        record: &ConversationRecord,
        added: &[MessageRecord],
    ) -> Result<bool> {
        let mut batch = self.store.batch();
        batch.replace_conversation(stored, record, added)?;
        was_committed(self.store.commit_synced(batch))
    }

    /// Returns a message of the active branch, and the number of messages from the first one up to that message. The
    /// messages are not held in memory: a conversation may be long.
    fn position_in_branch(&self, record: &ConversationRecord, wanted: &str) -> Result<Option<(Ulid, u64)>> {
        let mut next = find_branch(record, &record.branch)?.head;
        let mut parents = self.store.message_parents(record.id)?;
        let mut found = None;
        while let Some(id) = next
            && let Some(parent) = parents.remove(&id)
        {
            next = parent;
            found = match found {
                Some((last, messages)) => Some((last, messages + 1)),
                None if id.to_string() == wanted => Some((id, 1)),
                None => None,
            };
        }
        Ok(found)
    }

    /// Returns the number of messages from the first one up to `last`.
    fn depth(&self, record: &ConversationRecord, last: Option<Ulid>) -> Result<u64> {
        let mut depth = 0;
        let mut next = last;
        while let Some(id) = next {
            depth += 1;
            let Some(message) = self.store.message(record.id, id)? else { break };
            next = message.parent;
        }
        Ok(depth)
    }
}

/// Returns the records of messages that were sent, with ids in their order. They are on no branch yet.
fn new_messages(sent: Vec<NewMessage>, ids: &mut HeldIds<'_>, now_ms: i64) -> Vec<MessageRecord> {
    let mut messages = Vec::with_capacity(sent.len());
    for NewMessage { body } in sent {
        let id = ids.next(now_ms);
        messages.push(MessageRecord { id, parent: None, body, created_at_ms: now_ms, edited_at_ms: None });
    }
    messages
}

fn no_conversation() -> Error {
    Error::not_found(ErrorCode::NotFound, "no conversation has that id")
}

fn no_message(text: &str) -> Error {
    Error::not_found(ErrorCode::NotFound, text)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use cuebase_storage::records::Role;
    use serde_json::Map;

    use super::*;
    use crate::billing::PriceSource;
    use crate::clock::Clock;
    use crate::config::Config;
    use crate::namespace::disk_reserve::DiskReserve;

    /// Threads that change a conversation at the same time.
    const THREADS: usize = 4;
    /// Changes that each thread makes.
    const ROUNDS: usize = 10;

    /// An empty conversation. The clock stands still, so all changes of it have the same time.
    struct OpenConversation {
        conversations: Conversations,
        namespace: NamespaceRecord,
        id: Ulid,
        /// Removed when this is dropped.
        _folder: tempfile::TempDir,
    }

    impl OpenConversation {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("temporary directory");
            let mut config = Config::resolve(&BTreeMap::new(), |_| None, None).expect("resolves");
            config.data = folder.path().join("data");
            let clock = Clock::manual("2026-03-01T08:00:00Z".parse().expect("a time"));
            let reserve = Arc::new(DiskReserve::of(&config.data));
            let shared = SharedParts::open(&config, &reserve, PriceSource::Configured, &clock).expect("opens");
            let conversations = Conversations::new(&shared, &Arc::new(Intake::new(&shared)));
            let (account, name) = (AccountId::default(), NamespaceName::default());
            let namespace = shared.namespaces.existing(&account, &name).expect("is created");
            let id = conversations.create(&namespace, String::new()).expect("creates").id;
            Self { conversations, namespace, id, _folder: folder }
        }

        fn append(&self, text: &str) -> Result<Ulid> {
            let body = MessageBody {
                role: Role::User,
                content: MessageContent::Text(text.into()),
                name: None,
                occurred_at: None,
                store: None,
                other: Map::new(),
            };
            let (sent, ingested) = (vec![NewMessage { body }], Conversation::default());
            let added = self.conversations.append(&self.namespace, self.id, None, sent, ingested, None)?;
            Ok(added[0].id)
        }

        fn record(&self) -> ConversationRecord {
            self.conversations.get(&self.namespace.account, &self.id.to_string()).expect("a conversation")
        }

        /// Returns the ids of the messages of a branch.
        fn line(&self, branch: &str) -> Vec<Ulid> {
            let messages = self.conversations.branch_messages(&self.record(), branch).expect("reads");
            messages.iter().map(|message| message.id).collect()
        }
    }

    #[test]
    fn appends_at_the_same_time_form_one_line() {
        let open = OpenConversation::new();
        let account = &open.namespace.account;
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let open = &open;
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        open.append(&format!("{thread}-{round}")).expect("appends");
                    }
                });
            }
            for round in 0..ROUNDS {
                open.conversations.update(account, open.id, Some(&format!("t{round}")), None).expect("updates");
            }
        });
        let line = open.line("main");
        assert_eq!(BTreeSet::from_iter(&line).len(), THREADS * ROUNDS, "each message is in the line once");
        assert!(line.is_sorted(), "the line is in the order of the ids");
        let record = open.record();
        assert_eq!((record.branches.len(), record.branches[0].messages), (1, (THREADS * ROUNDS) as u64));
        assert_eq!(record.title, format!("t{}", ROUNDS - 1));
        let mut queued = 0;
        open.conversations.store.for_each_queue_entry(|_| queued += 1).expect("reads");
        assert_eq!(queued, THREADS * ROUNDS);
    }

    #[test]
    fn edits_at_the_same_time_are_all_kept() {
        let open = OpenConversation::new();
        let account = &open.namespace.account;
        let first = open.append("one").expect("appends").to_string();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (open, first) = (&open, &first);
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let content = MessageContent::Text(format!("{thread}-{round}"));
                        open.conversations.edit_as_branch(account, open.id, first, &content).expect("edits");
                        let edited = open.conversations.edit_in_place(account, open.id, first, &content);
                        assert_eq!(edited.expect("edits").body.content, content);
                    }
                });
            }
        });
        let record = open.record();
        let names: BTreeSet<&str> = record.branches.iter().map(|branch| branch.name.as_str()).collect();
        assert_eq!(names.len(), THREADS * ROUNDS + 1, "each edit has a branch of its own");
        assert_eq!(record.branches.len(), names.len());
        for branch in &record.branches {
            assert_eq!(open.line(&branch.name).len(), 1);
        }
    }

    #[test]
    fn a_deletion_leaves_no_message_of_a_concurrent_append() {
        let open = OpenConversation::new();
        open.append("one").expect("appends");
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        match open.append("x") {
                            Ok(_) => {}
                            Err(Error::NotFound { .. }) => return,
                            Err(error) => panic!("{error:?}"),
                        }
                    }
                });
            }
            open.conversations.delete(&open.namespace.account, &open.id.to_string()).expect("deletes");
        });
        let repeated = open.conversations.delete(&open.namespace.account, &open.id.to_string());
        assert!(matches!(repeated, Err(Error::NotFound { .. })), "{repeated:?}");
        assert!(open.conversations.store.messages(open.id).expect("reads").is_empty());
    }
}
