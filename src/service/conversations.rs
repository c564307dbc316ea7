//! Managed conversations: a tree of messages whose leaves are named branches.
//!
//! No message is ever lost. A rewind moves the head of a branch back and keeps the later messages on a branch of their
//! own. An edit creates a branch that forks before the edited message. Only an edit in place changes a stored message.

use std::collections::HashMap;

use cuebase_storage::records::{BranchRecord, ConversationRecord, MessageRecord, NamespaceRecord, QueuedWork};
use cuebase_storage::{AccountId, NamespaceName};
use jiff::Timestamp;
use serde_json::{Map, Value};
use ulid::Ulid;

use super::Service;
use crate::billing::meters::Permit;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::conversation::Conversation;

/// Name of the first branch.
const MAIN: &str = "main";

/// A message to be appended.
pub struct NewMessage {
    /// The fields of the message, as the client sent them.
    pub body: Map<String, Value>,
}

impl Service {
    /// Creates an empty conversation.
    pub fn create_conversation(&self, namespace: &NamespaceRecord, title: String) -> Result<ConversationRecord> {
        let now_ms = Timestamp::now().as_millisecond();
        let main = BranchRecord { name: MAIN.into(), head: None, messages: 0, forked_from: None };
        let generation = self.store.generation();
        let record = ConversationRecord {
            id: self.ids.fresh(),
            account: namespace.account.clone(),
            namespace: namespace.name.clone(),
            namespace_id: namespace.id,
            title,
            branch: MAIN.into(),
            branches: vec![main],
            created_at_ms: now_ms,
            updated_at_ms: now_ms,
        };
        self.store.put_conversation(namespace, &record, &[], None)?;
        self.store.sync_since(generation)?;
        Ok(record)
    }

    /// Returns a conversation of an account.
    pub fn conversation(&self, account: &AccountId, id: &str) -> Result<ConversationRecord> {
        if let Ok(id) = id.parse()
            && let Some(record) = self.store.conversation(account, id)?
        {
            return Ok(record);
        }
        Err(Error::not_found(ErrorCode::NotFound, "no conversation has that id"))
    }

    /// Returns up to `limit` conversations of a namespace, newest first. `before` continues a listing.
    pub fn conversations(
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
        let mut next = find_branch(record, branch)?.head;
        let mut messages = HashMap::new();
        for message in self.store.messages(record.id)? {
            messages.insert(message.id, message);
        }
        let mut line = Vec::new();
        while let Some(id) = next
            && let Some(message) = messages.remove(&id)
        {
            next = message.parent;
            line.push(message);
        }
        line.reverse();
        Ok(line)
    }

    /// Changes the title or the active branch of a conversation.
    pub fn update_conversation(
        &self,
        account: &AccountId,
        id: Ulid,
        title: Option<String>,
        branch: Option<&str>,
    ) -> Result<ConversationRecord> {
        let (record, _) = self.change(account, id, |record| {
            if let Some(branch) = branch {
                record.branch = find_branch(record, branch)?.name.clone();
            }
            if let Some(title) = title {
                record.title = title;
            }
            Ok(Vec::new())
        })?;
        Ok(record)
    }

    /// Deletes a conversation and the sources of its messages. The memories extracted from it stay.
    pub fn delete_conversation(&self, account: &AccountId, id: &str) -> Result<()> {
        let record = self.conversation(account, id)?;
        let lock = self.conversations.of(record.id);
        let _held = lock.lock();
        // The sources are deleted first, so that a call that fails halfway can be repeated. Their session is the id of
        // the conversation.
        self.delete_session_sources(record.namespace_id, &record.id.to_string(), record.id.into())?;
        Ok(self.store.delete_conversation(&record)?)
    }

    /// Appends messages to a branch and queues them for ingestion as one write. Both are durable when this returns.
    pub fn append(
        &self,
        namespace: &NamespaceRecord,
        id: Ulid,
        branch: Option<&str>,
        messages: Vec<NewMessage>,
        ingested: &Conversation,
    ) -> Result<Vec<MessageRecord>> {
        let request = serde_json::to_value(ingested).map_err(Error::internal)?;
        let work = QueuedWork::Conversation { request };
        let permit = self.reserve_write(&namespace.account, &work)?;
        self.namespaces.require_undamaged(namespace)?;
        let generation = self.store.generation();
        let added = {
            let lock = self.conversations.of(id);
            let _held = lock.lock();
            self.put_messages(namespace, id, branch, messages, work, permit)?
        };
        // No lock is held here, so that other callers do not wait for the sync.
        self.store.sync_since(generation)?;
        Ok(added)
    }

    /// Writes messages and the queue entry for their ingestion. The caller holds the lock of the conversation.
    fn put_messages(
        &self,
        namespace: &NamespaceRecord,
        id: Ulid,
        branch: Option<&str>,
        messages: Vec<NewMessage>,
        work: QueuedWork,
        permit: Option<Permit<'_>>,
    ) -> Result<Vec<MessageRecord>> {
        let mut record = self.conversation(&namespace.account, &id.to_string())?;
        let name = branch.unwrap_or(&record.branch).to_owned();
        let now_ms = Timestamp::now().as_millisecond();
        let branch = find_branch_mut(&mut record, &name)?;
        // Held through the write, so that the queue is in the order of ids.
        let mut ids = self.ids.hold();
        let mut added = Vec::with_capacity(messages.len());
        for message in messages {
            let message = MessageRecord {
                id: ids.next(now_ms),
                parent: branch.head,
                body: message.body,
                created_at_ms: now_ms,
                edited_at_ms: None,
            };
            branch.head = Some(message.id);
            branch.messages += 1;
            added.push(message);
        }
        record.updated_at_ms = now_ms;
        let entry = self.new_entry(&mut ids, namespace, work);
        match permit {
            Some(mut permit) => {
                let charge = permit.charge_guard();
                let ingested = Some((&entry, Some(charge.record())));
                self.store.put_conversation(namespace, &record, &added, ingested)?;
                charge.commit();
            }
            None => self.store.put_conversation(namespace, &record, &added, Some((&entry, None)))?,
        }
        self.queue.add(&entry);
        Ok(added)
    }

    /// Ends the active branch at a message. Later messages stay, on a branch of their own.
    pub fn rewind(&self, account: &AccountId, id: Ulid, to: &str) -> Result<ConversationRecord> {
        let (record, _) = self.change(account, id, |record| {
            let line = self.branch_messages(record, &record.branch)?;
            let Some(position) = line.iter().position(|message| message.id.to_string() == to) else {
                return Err(no_message("the active branch has no message with that id"));
            };
            let head = Some(line[position].id);
            let new_name = free_branch_name(record, "rewound");
            let name = record.branch.clone();
            let branch = find_branch_mut(record, &name)?;
            let former = branch.clone();
            branch.head = head;
            branch.messages = position as u64 + 1;
            if former.head != head {
                record.branches.push(BranchRecord { name: new_name, forked_from: head, ..former });
            }
            Ok(Vec::new())
        })?;
        Ok(record)
    }

    /// Replaces the content of a message, in every branch that contains the message.
    pub fn edit_in_place(&self, account: &AccountId, id: Ulid, message: &str, content: Value) -> Result<MessageRecord> {
        let (_, mut changed) = self.change(account, id, |record| {
            let mut message = self.message_of(record, message)?;
            message.body.insert("content".into(), content);
            message.edited_at_ms = Some(Timestamp::now().as_millisecond());
            Ok(vec![message])
        })?;
        changed.pop().ok_or_else(|| Error::internal("an edit changed nothing"))
    }

    /// Edits a message on a new branch that forks before the message. The new branch becomes the active one and is
    /// returned.
    pub fn edit_as_branch(&self, account: &AccountId, id: Ulid, message: &str, content: Value) -> Result<BranchRecord> {
        let now_ms = Timestamp::now().as_millisecond();
        let (mut record, _) = self.change(account, id, |record| {
            let old = self.message_of(record, message)?;
            let mut body = old.body;
            body.insert("content".into(), content);
            let new = MessageRecord {
                id: self.ids.fresh(),
                parent: old.parent,
                body,
                created_at_ms: now_ms,
                edited_at_ms: None,
            };
            let before = self.depth(record, old.parent)?;
            let name = free_branch_name(record, "edit");
            let branch =
                BranchRecord { name: name.clone(), head: Some(new.id), messages: before + 1, forked_from: old.parent };
            record.branches.push(branch);
            record.branch = name;
            Ok(vec![new])
        })?;
        record.branches.pop().ok_or_else(|| Error::internal("an edit created no branch"))
    }

    /// Changes a conversation under its lock: `act` changes the record and returns the messages to be written.
    fn change(
        &self,
        account: &AccountId,
        id: Ulid,
        act: impl FnOnce(&mut ConversationRecord) -> Result<Vec<MessageRecord>>,
    ) -> Result<(ConversationRecord, Vec<MessageRecord>)> {
        let generation = self.store.generation();
        let changed = {
            let lock = self.conversations.of(id);
            let _held = lock.lock();
            let mut record = self.conversation(account, &id.to_string())?;
            let messages = act(&mut record)?;
            record.updated_at_ms = Timestamp::now().as_millisecond();
            let namespace = self.namespaces.existing(account, &record.namespace)?;
            self.store.put_conversation(&namespace, &record, &messages, None)?;
            (record, messages)
        };
        self.store.sync_since(generation)?;
        Ok(changed)
    }

    /// Returns a message of a conversation.
    fn message_of(&self, record: &ConversationRecord, id: &str) -> Result<MessageRecord> {
        if let Ok(id) = id.parse()
            && let Some(message) = self.store.message(record.id, id)?
        {
            return Ok(message);
        }
        Err(no_message("the conversation has no message with that id"))
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

fn no_message(text: &str) -> Error {
    Error::not_found(ErrorCode::NotFound, text)
}

fn no_branch(name: &str) -> Error {
    Error::not_found(ErrorCode::NotFound, format!("the conversation has no branch {name:?}"))
}

fn find_branch<'a>(record: &'a ConversationRecord, name: &str) -> Result<&'a BranchRecord> {
    match record.branches.iter().find(|branch| branch.name == name) {
        Some(branch) => Ok(branch),
        None => Err(no_branch(name)),
    }
}

fn find_branch_mut<'a>(record: &'a mut ConversationRecord, name: &str) -> Result<&'a mut BranchRecord> {
    match record.branches.iter_mut().find(|branch| branch.name == name) {
        Some(branch) => Ok(branch),
        None => Err(no_branch(name)),
    }
}

/// Returns `stem-1`, or the same with the next number that no branch has.
fn free_branch_name(record: &ConversationRecord, stem: &str) -> String {
    let mut number = 1;
    loop {
        let name = format!("{stem}-{number}");
        if record.branches.iter().all(|branch| branch.name != name) {
            return name;
        }
        number += 1;
    }
}
