//! Managed conversations: a tree of messages, its leaves named branches.
//!
//! A message is never lost: rewinding moves a branch's head back and leaves what came after on a branch of its own;
//! editing makes a branch that forks before the message. Editing in place is the one change to what was said.

use std::collections::HashMap;
use std::sync::Arc;

use cuebase_storage::records::{BranchRecord, ConversationRecord, MessageRecord, NamespaceRecord, QueuedWork};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use ulid::Ulid;

use super::Service;
use crate::billing::meters::Permit;
use crate::error::{Error, Result};
use crate::memory::conversation::Conversation;

/// The first branch.
const MAIN: &str = "main";

/// A lock for each conversation that is being read and changed, so that a long one holds up no other.
#[derive(Default)]
pub(super) struct ConversationLocks {
    held: Mutex<HashMap<Ulid, Arc<Mutex<()>>>>,
}

impl ConversationLocks {
    /// The lock of a conversation. It is forgotten once nobody uses it.
    fn of(&self, id: Ulid) -> Arc<Mutex<()>> {
        let mut held = self.held.lock();
        held.retain(|_, lock| Arc::strong_count(lock) > 1);
        Arc::clone(held.entry(id).or_default())
    }
}

/// A message as a client sent it, and as ingestion understands it.
pub struct NewMessage {
    /// As it was sent.
    pub body: Map<String, Value>,
}

impl Service {
    /// Makes an empty conversation.
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

    /// A conversation of an account.
    pub fn conversation(&self, account: &str, id: &str) -> Result<ConversationRecord> {
        let found = id.parse().ok().map(|id| self.store.conversation(account, id)).transpose()?.flatten();
        found.ok_or_else(|| Error::not_found("not_found", "there is no conversation with that id"))
    }

    /// A namespace's conversations, newest first.
    pub fn conversations(
        &self,
        account: &str,
        namespace: &str,
        before: Option<Ulid>,
        limit: usize,
    ) -> Result<Vec<ConversationRecord>> {
        let namespace = self.namespaces.existing(account, namespace)?;
        Ok(self.store.conversations(&namespace, before, limit)?)
    }

    /// The messages of a branch, the first one first.
    pub fn branch_messages(&self, record: &ConversationRecord, branch: &str) -> Result<Vec<MessageRecord>> {
        let branch = find_branch(record, branch)?;
        let mut messages: HashMap<Ulid, MessageRecord> =
            self.store.messages(record.id)?.into_iter().map(|message| (message.id, message)).collect();
        let mut line = Vec::new();
        let mut at = branch.head;
        while let Some(message) = at.and_then(|id| messages.remove(&id)) {
            at = message.parent;
            line.push(message);
        }
        line.reverse();
        Ok(line)
    }

    /// Renames a conversation, or makes another branch the active one.
    pub fn update_conversation(
        &self,
        account: &str,
        id: Ulid,
        title: Option<String>,
        branch: Option<&str>,
    ) -> Result<ConversationRecord> {
        self.change(account, id, |record| {
            if let Some(branch) = branch {
                record.branch = find_branch(record, branch)?.name.clone();
            }
            if let Some(title) = title {
                record.title = title;
            }
            Ok(Vec::new())
        })
        .map(|(record, _)| record)
    }

    /// Removes a conversation, and what was kept of its ingested messages; the memories made from it stay.
    pub fn delete_conversation(&self, account: &str, id: &str) -> Result<()> {
        let record = self.conversation(account, id)?;
        let lock = self.conversations.of(record.id);
        let _held = lock.lock();
        // First, so that a call that fails half way can be repeated. Messages are ingested under the id as the session.
        self.delete_session_sources(record.namespace_id, &record.id.to_string(), record.id)?;
        Ok(self.store.delete_conversation(&record)?)
    }

    /// Appends messages to a branch, and has them ingested as a write of their own, in one durable step.
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
        let permit = self.permit_write(&namespace.account, &work)?;
        self.namespaces.require_undamaged(namespace)?;
        let generation = self.store.generation();
        let added = {
            let lock = self.conversations.of(id);
            let _held = lock.lock();
            self.put_messages(namespace, id, branch, messages, work, permit)?
        };
        // Without any lock: others must not wait for this one's sync.
        self.store.sync_since(generation)?;
        Ok(added)
    }

    /// Writes messages and what is to be ingested of them. Called with the conversation's lock held.
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
        // Held through the write, so that the queue's order is the order of ids.
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
        let entry = self.entry(&mut ids, namespace, work);
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

    /// Ends the active branch at a message; what came after stays, on a branch of its own.
    pub fn rewind(&self, account: &str, id: Ulid, to: &str) -> Result<ConversationRecord> {
        self.change(account, id, |record| {
            let line = self.branch_messages(record, &record.branch)?;
            let place = line.iter().position(|message| message.id.to_string() == to);
            let place = place.ok_or_else(|| no_message("the active branch holds no message with that id"))?;
            let left = free_branch(record, "rewound");
            let name = record.branch.clone();
            let branch = find_branch_mut(record, &name)?;
            let former = branch.clone();
            branch.head = Some(line[place].id);
            branch.messages = place as u64 + 1;
            if former.head != branch.head {
                let fork = Some(line[place].id);
                record.branches.push(BranchRecord { name: left, forked_from: fork, ..former });
            }
            Ok(Vec::new())
        })
        .map(|(record, _)| record)
    }

    /// Puts other content in place of a message's; every branch that leads through it sees it.
    pub fn edit_in_place(&self, account: &str, id: Ulid, message: &str, content: Value) -> Result<MessageRecord> {
        let (_, mut changed) = self.change(account, id, |record| {
            let mut message = self.message_of(record, message)?;
            message.body.insert("content".into(), content);
            message.edited_at_ms = Some(Timestamp::now().as_millisecond());
            Ok(vec![message])
        })?;
        changed.pop().ok_or_else(|| Error::internal("an edit changed nothing"))
    }

    /// Says a message otherwise: a new branch that forks before it, active from now on. Returns its name.
    pub fn edit_as_branch(&self, account: &str, id: Ulid, message: &str, content: Value) -> Result<BranchRecord> {
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
            let name = free_branch(record, "edit");
            let branch =
                BranchRecord { name: name.clone(), head: Some(new.id), messages: before + 1, forked_from: old.parent };
            record.branches.push(branch);
            record.branch = name;
            Ok(vec![new])
        })?;
        record.branches.pop().ok_or_else(|| Error::internal("an edit made no branch"))
    }

    /// Changes a conversation's record and some of its messages, one change at a time.
    fn change(
        &self,
        account: &str,
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

    fn message_of(&self, record: &ConversationRecord, id: &str) -> Result<MessageRecord> {
        let found = id.parse().ok().map(|id| self.store.message(record.id, id)).transpose()?.flatten();
        found.ok_or_else(|| no_message("the conversation holds no message with that id"))
    }

    /// How many messages lead to one.
    fn depth(&self, record: &ConversationRecord, mut at: Option<Ulid>) -> Result<u64> {
        let mut depth = 0;
        while let Some(id) = at {
            depth += 1;
            at = self.store.message(record.id, id)?.and_then(|message| message.parent);
        }
        Ok(depth)
    }
}

fn no_message(text: &str) -> Error {
    Error::not_found("not_found", text)
}

fn no_branch(name: &str) -> Error {
    Error::not_found("not_found", format!("there is no branch {name:?}"))
}

fn find_branch<'a>(record: &'a ConversationRecord, name: &str) -> Result<&'a BranchRecord> {
    record.branches.iter().find(|branch| branch.name == name).ok_or_else(|| no_branch(name))
}

fn find_branch_mut<'a>(record: &'a mut ConversationRecord, name: &str) -> Result<&'a mut BranchRecord> {
    record.branches.iter_mut().find(|branch| branch.name == name).ok_or_else(|| no_branch(name))
}

/// `stem-1`, or the next number that is free.
fn free_branch(record: &ConversationRecord, stem: &str) -> String {
    let mut number = 1;
    loop {
        let name = format!("{stem}-{number}");
        if find_branch(record, &name).is_err() {
            return name;
        }
        number += 1;
    }
}
