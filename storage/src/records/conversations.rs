//! Managed conversations: a tree of messages with named branches.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::batch::RecordBatch;
use super::namespaces::{NamespaceRecord, key};
use super::store::{Store, decode, encode};
use super::stored::Stored;
use super::work::MessageBody;
use crate::error::{Error, Result};
use crate::identity::{AccountId, NamespaceId, NamespaceKey, NamespaceName};
use crate::key_value::Column;
use crate::key_value::columns::prefixed_key;

/// Messages that are in memory at once while only their parents are needed.
const PARENTS_PAGE_MESSAGES: usize = 128;
/// Messages that are read at a time for a branch. Those of other branches among them are not used.
const BRANCH_PAGE_MESSAGES: usize = 256;

/// A conversation without its messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationRecord {
    /// The conversation id.
    pub id: Ulid,
    /// The owning account.
    pub account: AccountId,
    /// The namespace that stores the conversation.
    pub namespace: NamespaceName,
    /// The id of the namespace.
    pub namespace_id: NamespaceId,
    /// The title.
    pub title: String,
    /// Name of the active branch.
    pub branch: String,
    /// All branches, oldest first.
    pub branches: Vec<BranchRecord>,
    /// Creation time, milliseconds since the epoch.
    pub created_at_ms: i64,
    /// Time of the last change, milliseconds since the epoch.
    pub updated_at_ms: i64,
}

impl ConversationRecord {
    /// Returns the identity of the namespace that stores the conversation.
    pub fn namespace_key(&self) -> NamespaceKey {
        NamespaceKey { account: self.account.clone(), name: self.namespace.clone(), id: self.namespace_id }
    }
}

/// A branch: a named leaf of the message tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchRecord {
    /// The branch name.
    pub name: String,
    /// The last message. `None` in an empty conversation.
    pub head: Option<Ulid>,
    /// Number of messages from the root to `head`.
    pub messages: u64,
    /// The last message shared with the branch that this one was forked from.
    pub forked_from: Option<Ulid>,
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageRecord {
    /// The message id.
    pub id: Ulid,
    /// The preceding message.
    pub parent: Option<Ulid>,
    /// Role, content and further fields, as the client sent them.
    pub body: MessageBody,
    /// Creation time, milliseconds since the epoch.
    pub created_at_ms: i64,
    /// Time of the last edit in place, milliseconds since the epoch.
    pub edited_at_ms: Option<i64>,
}

impl Store {
    /// Returns a conversation of an account. `None` if it is missing or its namespace was deleted.
    pub fn conversation(&self, account: &AccountId, id: Ulid) -> Result<Option<ConversationRecord>> {
        Ok(self.stored_conversation(account, id)?.record)
    }

    /// Returns a conversation of an account, to replace or delete it. The record is `None` if the conversation is
    /// missing or its namespace was deleted.
    pub fn stored_conversation(&self, account: &AccountId, id: Ulid) -> Result<Stored<ConversationRecord>> {
        let mut stored: Stored<ConversationRecord> =
            self.get_stored(Column::Conversations, &conversation_key(account, id))?;
        if let Some(record) = &stored.record
            && !self.is_live(record.namespace_id)?
        {
            stored.record = None;
        }
        Ok(stored)
    }

    /// Returns up to `limit` conversations of a namespace that are older than `before`, newest first. There are fewer only if
    /// there are no older ones. Logs and omits conversations that cannot be decoded.
    pub fn conversations(
        &self,
        namespace: &NamespaceRecord,
        before: Option<Ulid>,
        limit: usize,
    ) -> Result<Vec<ConversationRecord>> {
        let prefix = namespace.id.to_bytes();
        let mut before = before.map(|id| key(namespace.id, &id.to_bytes()));
        let mut records = Vec::new();
        while records.len() < limit {
            let missing = limit - records.len();
            let page = self.kv.scan_back(Column::ConversationsByNamespace, &prefix, before.as_deref(), missing)?;
            let is_last = page.len() < missing;
            for (listed, _) in page {
                let record_key = prefixed_key(&[namespace.account.as_str()], &listed[prefix.len()..]);
                match self.get_record::<ConversationRecord>(Column::Conversations, &record_key) {
                    Err(error @ Error::Corrupt { .. }) => {
                        let conversation = text_of_last_id(&listed);
                        tracing::error!(%error, conversation, "cannot decode a conversation");
                    }
                    found => records.extend(found?),
                }
                before = Some(listed);
            }
            if is_last {
                break;
            }
        }
        Ok(records)
    }

    /// Checks that all conversations of a namespace can be decoded.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if one cannot.
    pub fn require_readable_conversations(&self, namespace: &NamespaceRecord) -> Result<()> {
        let prefix = namespace.id.to_bytes();
        for (listed, _) in self.kv.scan(Column::ConversationsByNamespace, &prefix, None, usize::MAX)? {
            let record_key = prefixed_key(&[namespace.account.as_str()], &listed[prefix.len()..]);
            self.get_record::<ConversationRecord>(Column::Conversations, &record_key)?;
        }
        Ok(())
    }

    /// Returns a message of a conversation.
    pub fn message(&self, conversation: Ulid, id: Ulid) -> Result<Option<MessageRecord>> {
        self.get_record(Column::Messages, &message_key(conversation, id))
    }

    /// Returns a message of a conversation, to replace it.
    pub fn stored_message(&self, conversation: Ulid, id: Ulid) -> Result<Stored<MessageRecord>> {
        self.get_stored(Column::Messages, &message_key(conversation, id))
    }

    /// Returns all messages of a conversation, on all branches, oldest first. Messages that cannot be decoded are set aside,
    /// so that an erasure counts them and they can be dropped.
    pub fn messages(&self, conversation: Ulid) -> Result<Vec<MessageRecord>> {
        let mut messages = Vec::new();
        for (key, value) in self.kv.scan(Column::Messages, &conversation.to_bytes(), None, usize::MAX)? {
            match decode(Column::Messages, &value) {
                Ok(message) => messages.push(message),
                Err(error) => {
                    log_unreadable(conversation, &key, &error);
                    self.set_aside(Column::Messages, &key)?;
                }
            }
        }
        Ok(messages)
    }

    /// Returns the messages of a branch, given by its last message, the first message first. Reads pages of messages from
    /// the last one backwards, and decodes only those of the branch.
    ///
    /// Logs and omits a message that cannot be decoded. Its parent is unknown. In a conversation with one branch it is the
    /// preceding message. Otherwise the earlier messages of the branch are omitted too.
    pub fn branch_messages(&self, record: &ConversationRecord, last: Option<Ulid>) -> Result<Vec<MessageRecord>> {
        let prefix = record.id.to_bytes();
        let mut line: Vec<MessageRecord> = Vec::new();
        let mut visited = HashSet::new();
        let mut next = last;
        while let Some(wanted) = next {
            // The smallest key after that of the wanted message.
            let before = [&message_key(record.id, wanted)[..], &[0]].concat();
            let page = self.kv.scan_back(Column::Messages, &prefix, Some(&before), BRANCH_PAGE_MESSAGES)?;
            let mut is_found = false;
            for (key, value) in page {
                let Some(id) = next else { break };
                if key != message_key(record.id, id) {
                    continue;
                }
                is_found = true;
                if !visited.insert(id) {
                    // Damaged parents must not form an endless branch.
                    next = None;
                    break;
                }
                match decode::<MessageRecord>(Column::Messages, &value) {
                    Ok(message) => {
                        next = message.parent;
                        line.push(message);
                    }
                    Err(error) => {
                        log_unreadable(record.id, &key, &error);
                        next = self.preceding_message(record, id)?;
                    }
                }
            }
            if !is_found {
                // It was set aside.
                next = self.preceding_message(record, wanted)?;
            }
        }
        line.reverse();
        Ok(line)
    }

    /// Returns the message before one whose parent is unknown. `None` if there are several branches, because it may be on
    /// another one.
    fn preceding_message(&self, record: &ConversationRecord, id: Ulid) -> Result<Option<Ulid>> {
        if record.branches.len() != 1 {
            return Ok(None);
        }
        let before = message_key(record.id, id);
        let found = self.kv.scan_back(Column::Messages, &record.id.to_bytes(), Some(&before), 1)?;
        let Some((key, _)) = found.first() else { return Ok(None) };
        Ok(key.last_chunk().map(|id| Ulid::from_bytes(*id)))
    }

    /// Returns the parent of each message of a conversation, on all branches. Reads the messages in pages, so only the
    /// contents of one page are in memory.
    pub fn message_parents(&self, conversation: Ulid) -> Result<HashMap<Ulid, Option<Ulid>>> {
        let prefix = conversation.to_bytes();
        let mut parents = HashMap::new();
        let mut after: Option<Vec<u8>> = None;
        loop {
            let mut page = self.kv.scan(Column::Messages, &prefix, after.as_deref(), PARENTS_PAGE_MESSAGES)?;
            for (_, value) in &page {
                let message: MessageRecord = decode(Column::Messages, value)?;
                parents.insert(message.id, message.parent);
            }
            match page.pop() {
                Some((last, _)) => after = Some(last),
                None => return Ok(parents),
            }
        }
    }
}

impl RecordBatch<'_> {
    /// Creates a conversation without messages. The commit fails if a conversation has that id, or if the namespace was
    /// deleted.
    pub fn create_conversation(&mut self, record: &ConversationRecord) -> Result<()> {
        self.require_live_key(record.namespace_key());
        self.create(Column::Conversations, &conversation_key(&record.account, record.id), record)?;
        self.changes.put(Column::ConversationsByNamespace, key(record.namespace_id, &record.id.to_bytes()), "");
        self.assign_id(record.namespace_id, record.id);
        Ok(())
    }

    /// Replaces the record of a conversation and adds messages. The commit fails if the record changed since it was
    /// read, or if the namespace was deleted.
    pub fn replace_conversation(
        &mut self,
        stored: &Stored<ConversationRecord>,
        record: &ConversationRecord,
        added: &[MessageRecord],
    ) -> Result<()> {
        self.require_live_key(record.namespace_key());
        self.replace(Column::Conversations, &conversation_key(&record.account, record.id), stored, record)?;
        for message in added {
            self.changes.put(Column::Messages, message_key(record.id, message.id), encode(message)?);
            self.assign_id(record.namespace_id, message.id);
        }
        Ok(())
    }

    /// Replaces a message of a conversation. The commit fails if the message changed since it was read.
    ///
    /// The caller also replaces the record of the conversation, so that the commit fails if the conversation was
    /// deleted. The record alone is not enough: two edits in one millisecond write the same bytes to it.
    pub fn replace_message(
        &mut self,
        conversation: Ulid,
        stored: &Stored<MessageRecord>,
        message: &MessageRecord,
    ) -> Result<()> {
        self.replace(Column::Messages, &message_key(conversation, message.id), stored, message)
    }

    /// Deletes a conversation with its messages. The commit fails if the record changed since it was read, so a message
    /// that was appended meanwhile does not outlive the conversation.
    pub fn delete_conversation(&mut self, stored: &Stored<ConversationRecord>, record: &ConversationRecord) {
        self.require_held(record.namespace_key());
        let id = record.id.to_bytes();
        let record_key = conversation_key(&record.account, record.id);
        self.changes.expect(Column::Conversations, record_key.clone(), stored.bytes.clone());
        self.changes.delete(Column::Conversations, record_key);
        self.changes.delete(Column::ConversationsByNamespace, key(record.namespace_id, &id));
        self.changes.delete_prefix(Column::Messages, id.to_vec());
    }
}

/// Logs a message that cannot be decoded.
fn log_unreadable(conversation: Ulid, key: &[u8], error: &Error) {
    let message = text_of_last_id(key);
    tracing::error!(%error, %conversation, message, "cannot decode a message of a conversation");
}

/// The id at the end of a key, as text.
fn text_of_last_id(key: &[u8]) -> Option<String> {
    let id: [u8; 16] = *key.last_chunk()?;
    Some(Ulid::from_bytes(id).to_string())
}

/// The key of a conversation.
fn conversation_key(account: &AccountId, id: Ulid) -> Vec<u8> {
    prefixed_key(&[account.as_str()], &id.to_bytes())
}

/// The key of a message.
fn message_key(conversation: Ulid, id: Ulid) -> Vec<u8> {
    [conversation.to_bytes(), id.to_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::key_value::{Batch, Durability};

    const CONVERSATION: Ulid = Ulid(7);

    /// Returns a store with an empty conversation, and the account.
    fn store_with_conversation() -> (Store, AccountId) {
        let store = Store::in_memory().expect("creates");
        let account = AccountId::default();
        let wanted = NamespaceRecord::new(&account, &NamespaceName::default(), NamespaceId::new(Ulid(1)), 0);
        let (namespace, _) = store.create_namespace(&wanted).expect("creates");
        let record = ConversationRecord {
            id: CONVERSATION,
            account: account.clone(),
            namespace: namespace.name,
            namespace_id: namespace.id,
            title: String::new(),
            branch: "main".into(),
            branches: vec![BranchRecord { name: "main".into(), head: None, messages: 0, forked_from: None }],
            created_at_ms: 1,
            updated_at_ms: 1,
        };
        let mut batch = store.batch();
        batch.create_conversation(&record).expect("encodes");
        store.commit(batch).expect("creates");
        (store, account)
    }

    fn message(id: u128, text: &str) -> MessageRecord {
        let body = serde_json::from_value(json!({"role": "user", "content": text})).expect("a body");
        MessageRecord { id: Ulid(id), parent: None, body, created_at_ms: 1, edited_at_ms: None }
    }

    /// Returns a batch that appends a message to the conversation as it is stored now.
    fn append<'s>(store: &'s Store, account: &AccountId, id: u128) -> RecordBatch<'s> {
        let stored = store.stored_conversation(account, CONVERSATION).expect("reads");
        let mut record = stored.record.clone().expect("a conversation");
        record.branches[0].head = Some(Ulid(id));
        let mut batch = store.batch();
        batch.replace_conversation(&stored, &record, &[message(id, "x")]).expect("encodes");
        batch
    }

    /// Returns a batch that deletes the conversation as it is stored now.
    fn delete<'s>(store: &'s Store, account: &AccountId) -> RecordBatch<'s> {
        let stored = store.stored_conversation(account, CONVERSATION).expect("reads");
        let record = stored.record.clone().expect("a conversation");
        let mut batch = store.batch();
        batch.delete_conversation(&stored, &record);
        batch
    }

    /// Whether a commit failed because a record of this column changed.
    fn fails_in(committed: &Result<()>, expected: Column) -> bool {
        matches!(committed, Err(Error::ConditionFailed { column, .. }) if *column == expected)
    }

    #[test]
    fn of_two_concurrent_appends_the_second_is_repeated() {
        let (store, account) = store_with_conversation();
        let (first, second) = (append(&store, &account, 10), append(&store, &account, 11));
        store.commit(first).expect("appends");
        assert!(fails_in(&store.commit(second), Column::Conversations));
        assert_eq!(store.messages(CONVERSATION).expect("reads"), [message(10, "x")]);
        store.commit(append(&store, &account, 11)).expect("appends");
        assert_eq!(store.messages(CONVERSATION).expect("reads").len(), 2);
    }

    #[test]
    fn the_parents_of_more_than_a_page_of_messages_are_read() {
        let (store, account) = store_with_conversation();
        let mut added = Vec::new();
        let mut expected = HashMap::new();
        let mut parent = None;
        for id in 1..=2 * PARENTS_PAGE_MESSAGES as u128 + 1 {
            added.push(MessageRecord { parent, ..message(id, "x") });
            expected.insert(Ulid(id), parent);
            parent = Some(Ulid(id));
        }
        let stored = store.stored_conversation(&account, CONVERSATION).expect("reads");
        let record = stored.record.clone().expect("a conversation");
        let mut batch = store.batch();
        batch.replace_conversation(&stored, &record, &added).expect("encodes");
        store.commit(batch).expect("appends");
        assert_eq!(store.message_parents(CONVERSATION).expect("reads"), expected);
        assert!(store.message_parents(Ulid(8)).expect("reads").is_empty());
    }

    /// Stores bytes that cannot be decoded.
    fn damage(store: &Store, column: Column, key: Vec<u8>) {
        let mut batch = Batch::new();
        batch.put(column, key, b"garbage".to_vec());
        store.kv.write(&batch, Durability::Buffered).expect("writes");
    }

    /// Adds messages, given by id and parent, to a conversation whose branches end with `heads`.
    fn put_messages(store: &Store, account: &AccountId, heads: &[u128], added: &[(u128, Option<u128>)]) {
        let stored = store.stored_conversation(account, CONVERSATION).expect("reads");
        let mut record = stored.record.clone().expect("a conversation");
        record.branches.clear();
        for head in heads {
            let name = head.to_string();
            record.branches.push(BranchRecord { name, head: Some(Ulid(*head)), messages: 0, forked_from: None });
        }
        let mut messages = Vec::new();
        for (id, parent) in added {
            messages.push(MessageRecord { parent: parent.map(Ulid), ..message(*id, "x") });
        }
        let mut batch = store.batch();
        batch.replace_conversation(&stored, &record, &messages).expect("encodes");
        store.commit(batch).expect("appends");
    }

    /// The ids of the messages of a branch.
    fn branch(store: &Store, account: &AccountId, head: u128) -> Vec<u128> {
        let record = store.conversation(account, CONVERSATION).expect("reads").expect("a conversation");
        let messages = store.branch_messages(&record, Some(Ulid(head))).expect("reads");
        messages.iter().map(|message| message.id.0).collect()
    }

    #[test]
    fn a_branch_of_more_than_a_page_of_messages_is_read_without_the_others() {
        let (store, account) = store_with_conversation();
        let last = 3 * BRANCH_PAGE_MESSAGES as u128;
        // Even and odd ids are two branches from the first message.
        let mut added = vec![(1, None), (2, Some(1))];
        for id in 3..=last {
            added.push((id, Some(id - 2)));
        }
        put_messages(&store, &account, &[last - 1, last], &added);
        damage(&store, Column::Messages, message_key(CONVERSATION, Ulid(2)));
        let odd: Vec<u128> = (1..last).step_by(2).collect();
        assert_eq!(branch(&store, &account, last - 1), odd, "a message of the other branch is not decoded");
        let even: Vec<u128> = (4..=last).step_by(2).collect();
        assert_eq!(branch(&store, &account, last), even, "the parent of the damaged message is unknown");
    }

    #[test]
    fn a_branch_is_read_although_ids_went_back() {
        let (store, account) = store_with_conversation();
        put_messages(&store, &account, &[5], &[(8, None), (3, Some(8)), (5, Some(3))]);
        assert_eq!(branch(&store, &account, 5), [8, 3, 5]);
    }

    #[test]
    fn parents_that_form_a_circle_end_a_branch() {
        let (store, account) = store_with_conversation();
        put_messages(&store, &account, &[2], &[(1, Some(2)), (2, Some(1))]);
        assert_eq!(branch(&store, &account, 2), [1, 2]);
    }

    #[test]
    fn a_message_that_cannot_be_decoded_does_not_hide_the_others_of_the_only_branch() {
        let (store, account) = store_with_conversation();
        put_messages(&store, &account, &[4], &[(1, None), (2, Some(1)), (3, Some(2)), (4, Some(3))]);
        damage(&store, Column::Messages, message_key(CONVERSATION, Ulid(3)));
        assert_eq!(branch(&store, &account, 4), [1, 2, 4]);
        let (_, problems) = store.check();
        assert_eq!(problems, ["messages: 1 records cannot be read"]);
        let all = store.messages(CONVERSATION).expect("reads");
        assert_eq!(all.iter().map(|message| message.id.0).collect::<Vec<_>>(), [1, 2, 4]);
        assert_eq!(store.unreadable().expect("reads").len(), 1, "it was set aside");
        assert_eq!(branch(&store, &account, 4), [1, 2, 4]);
    }

    #[test]
    fn a_conversation_that_cannot_be_decoded_does_not_hide_others() {
        let (store, account) = store_with_conversation();
        let namespace = store.namespace(&account, &NamespaceName::default()).expect("reads").expect("a namespace");
        let record = store.conversation(&account, CONVERSATION).expect("reads").expect("a conversation");
        let mut batch = store.batch();
        for id in [8, 9] {
            batch.create_conversation(&ConversationRecord { id: Ulid(id), ..record.clone() }).expect("encodes");
        }
        store.commit(batch).expect("creates");
        store.require_readable_conversations(&namespace).expect("all can be decoded");
        damage(&store, Column::Conversations, conversation_key(&account, Ulid(8)));
        let listed = store.conversations(&namespace, None, 2).expect("reads");
        assert_eq!(listed.iter().map(|record| record.id.0).collect::<Vec<_>>(), [9, 7]);
        let checked = store.require_readable_conversations(&namespace);
        assert!(matches!(checked, Err(Error::Corrupt { .. })), "{checked:?}");
    }

    #[test]
    fn a_deletion_and_a_concurrent_append_leave_no_message() {
        let (store, account) = store_with_conversation();
        let early = delete(&store, &account);
        store.commit(append(&store, &account, 10)).expect("appends");
        assert!(fails_in(&store.commit_synced(early), Column::Conversations));
        let late = append(&store, &account, 11);
        store.commit_synced(delete(&store, &account)).expect("deletes");
        assert!(fails_in(&store.commit(late), Column::Conversations));
        assert_eq!(store.conversation(&account, CONVERSATION).expect("reads"), None);
        assert!(store.messages(CONVERSATION).expect("reads").is_empty());
    }

    #[test]
    fn of_two_edits_in_one_millisecond_the_second_is_repeated() {
        let (store, account) = store_with_conversation();
        store.commit(append(&store, &account, 10)).expect("appends");
        let stored = store.stored_conversation(&account, CONVERSATION).expect("reads");
        let record = stored.record.clone().expect("a conversation");
        let stored_message = store.stored_message(CONVERSATION, Ulid(10)).expect("reads");
        let mut committed = Vec::new();
        for text in ["one", "two"] {
            let mut batch = store.batch();
            batch.replace_conversation(&stored, &record, &[]).expect("encodes");
            batch.replace_message(CONVERSATION, &stored_message, &message(10, text)).expect("encodes");
            committed.push(store.commit(batch));
        }
        assert!(committed[0].is_ok() && fails_in(&committed[1], Column::Messages), "{committed:?}");
        assert_eq!(store.messages(CONVERSATION).expect("reads"), [message(10, "one")]);
    }

    #[test]
    fn a_conversation_of_a_deleted_namespace_does_not_change() {
        let (store, account) = store_with_conversation();
        let late = append(&store, &account, 10);
        let namespace = store.namespace(&account, &NamespaceName::default()).expect("reads").expect("a namespace");
        assert!(store.retire_namespace(&namespace).expect("deletes"));
        assert!(matches!(store.commit(late), Err(Error::NamespaceGone(_))));
        assert_eq!(store.stored_conversation(&account, CONVERSATION).expect("reads").record, None);
        assert!(store.messages(CONVERSATION).expect("reads").is_empty());
    }

    /// Returns a stored message with a body, read and written again.
    fn rewritten(body: &Value) -> Value {
        let stored = json!({
            "id": "00000000000000000000000001", "parent": null, "body": body, "created_at_ms": 1, "edited_at_ms": null,
        });
        let record: MessageRecord = serde_json::from_value(stored).expect("the record is read");
        let mut written = serde_json::to_value(&record).expect("the record is written");
        written["body"].take()
    }

    #[test]
    fn a_stored_message_keeps_every_field_that_was_sent() {
        for body in [
            json!({"role": "user", "content": "x"}),
            json!({"role": "tool", "content": "", "name": " Ann ", "occurred_at": "2026-03-10", "colour": {"a": [1]}}),
            json!({"role": "system", "occurred_at": 1_773_136_800.5, "content": [
                {"type": "text", "text": "From", "txet": 1}, {"type": "media", "id": "m1"}, {"type": "y", "z": null},
            ]}),
            json!({"role": "assistant", "content": [], "occurred_at": -5, "user": null}),
        ] {
            assert_eq!(rewritten(&body), body);
        }
    }

    #[test]
    fn a_null_name_of_a_stored_message_is_left_out() {
        let body = json!({"role": "user", "content": "x", "name": null, "occurred_at": null});
        assert_eq!(rewritten(&body), json!({"role": "user", "content": "x"}));
    }
}
