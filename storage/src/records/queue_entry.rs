//! An entry of the queue, its key and its encoding.
//!
//! The value of an entry is the byte `RECORD_FORMAT` (`store.rs`), which is the version of the encoding, and the entry
//! as JSON. The payload of each kind of work is a type of [`work`](super::work). A payload that changes in a way that
//! the present type cannot read is a new variant of [`QueuedWork`], so that entries of both forms are read.

use serde::{Deserialize, Serialize};

use super::sender::WriteSender;
use super::store::{decode, encode};
use super::work::{Conversation, DocumentDraft, ErasureReport, ErasureSelection, SkillDraft, TermDraft};
use crate::error::{Error, Result};
use crate::identity::{AccountId, MessageId, NamespaceId, NamespaceKey, NamespaceName};
use crate::key_value::columns::prefixed_key;
use crate::key_value::{Batch, Column};
use crate::memory_file::DocumentId;

/// The work of a queue entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum QueuedWork {
    /// A conversation to extract memories from.
    Conversation {
        /// The conversation.
        request: Conversation,
    },
    /// Memories to delete.
    Forget {
        /// Their paths.
        paths: Vec<String>,
    },
    /// Terms to add to the vocabulary.
    Teach {
        /// The terms.
        request: Vec<TermDraft>,
    },
    /// Terms to delete.
    ForgetTerms {
        /// Their canonical forms.
        terms: Vec<String>,
    },
    /// Skills to store.
    Skills {
        /// The skills with their paths.
        request: Vec<SkillDraft>,
    },
    /// A document to store.
    Document {
        /// The document with its passages.
        request: DocumentDraft,
    },
    /// A document to delete, with all its memories.
    ForgetDocument {
        /// The id of the document.
        document: DocumentId,
    },
    /// A kept conversation to extract memories from again.
    Reextract {
        /// The id of the write that contained the conversation.
        source: MessageId,
    },
    /// Text to erase from everything that is stored.
    Erase {
        /// The text.
        selection: ErasureSelection,
    },
    /// An erasure whose records and history are rewritten. The former files are still to be removed. Names no text, so
    /// that it can be in the queue while deleted entries are removed from the files of the database.
    FinishErasure {
        /// The result.
        report: ErasureReport,
    },
}

impl QueuedWork {
    /// Name of the kind of work.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Conversation { .. } => "memories",
            Self::Forget { .. } => "forget",
            Self::Teach { .. } => "teach",
            Self::ForgetTerms { .. } => "forget-terms",
            Self::Skills { .. } => "skills",
            Self::Document { .. } => "document",
            Self::ForgetDocument { .. } => "forget-document",
            Self::Reextract { .. } => "reextract",
            Self::Erase { .. } | Self::FinishErasure { .. } => "erase",
        }
    }
}

/// An accepted write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueEntry {
    /// The queue message id. Ids are ordered by acceptance.
    pub id: MessageId,
    /// The owning account.
    pub account: AccountId,
    /// The namespace to write to.
    pub namespace: NamespaceName,
    /// The id of the namespace.
    pub namespace_id: NamespaceId,
    /// Time of acceptance, milliseconds since the epoch.
    pub accepted_at_ms: i64,
    /// Total running time of services on the data directory at acceptance, in milliseconds.
    pub accepted_running_ms: u64,
    /// Number of failed attempts.
    pub failures: u32,
    /// SHA-256 of the body in hex, if repetitions of the body within the dedup window are the same write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Who sent the write. `None` for a write of the server itself, and for an entry that was read: only the
    /// [`WriteRecord`](super::writes::WriteRecord) stores it.
    #[serde(skip)]
    pub sender: Option<WriteSender>,
    /// The work.
    pub work: QueuedWork,
}

impl QueueEntry {
    /// Returns the identity of the namespace to write to.
    pub fn namespace_key(&self) -> NamespaceKey {
        NamespaceKey { account: self.account.clone(), name: self.namespace.clone(), id: self.namespace_id }
    }
}

/// The prefix of the keys of a namespace's entries.
pub(super) fn queue_prefix(account: &AccountId, namespace: NamespaceId) -> Vec<u8> {
    prefixed_key(&[account.as_str()], &namespace.to_bytes())
}

/// The key of an entry.
pub(super) fn queue_key(account: &AccountId, namespace: NamespaceId, id: MessageId) -> Vec<u8> {
    [queue_prefix(account, namespace).as_slice(), &id.to_bytes()].concat()
}

/// Adds an entry to a batch. Decodes the encoded entry as a check: an entry that cannot be decoded would be
/// acknowledged but never ingested.
pub(super) fn put(batch: &mut Batch, entry: &QueueEntry) -> Result<()> {
    let bytes = encode(entry)?;
    if let Err(error) = decode::<QueueEntry>(Column::Queue, &bytes) {
        return Err(Error::Invalid {
            what: "write",
            reason: format!("the encoded entry cannot be read back: {error}"),
        });
    }
    batch.put(Column::Queue, queue_key(&entry.account, entry.namespace_id, entry.id), bytes);
    Ok(())
}

/// Deletes an entry in a batch.
pub(super) fn delete(batch: &mut Batch, account: &AccountId, namespace: NamespaceId, id: MessageId) {
    batch.delete(Column::Queue, queue_key(account, namespace, id));
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::{Value, json};

    use super::*;
    use crate::memory_file::{Metadata, MetadataValue, OccurredPrecision};
    use crate::records::{Message, Moment, PassageDraft, RECORD_FORMAT, Role};

    /// The work of an entry, as JSON.
    struct Stored {
        json: &'static str,
        work: QueuedWork,
    }

    fn moment(text: &str, precision: OccurredPrecision) -> Moment {
        Moment { at: text.parse::<Timestamp>().expect("a time"), precision }
    }

    fn message(role: Role, text: &str) -> Message {
        Message { role, name: None, text: text.into(), references: Vec::new(), occurred_at: None, store: true }
    }

    fn conversations() -> Vec<Stored> {
        let full = Conversation {
            messages: vec![
                Message {
                    name: Some("Ann".into()),
                    occurred_at: Some(moment("2026-03-10T12:00:00Z", OccurredPrecision::Day)),
                    ..message(Role::User, "The ferry leaves at nine")
                },
                Message {
                    references: vec![json!({"id": "m1", "type": "media"}), json!({"type": "x", "y": [1.5, null]})],
                    ..message(Role::Assistant, "")
                },
            ],
            session_id: Some("s1".into()),
            tags: vec!["family".into(), "trip".into()],
            occurred_at: Some(moment("2026-03-10T08:30:00Z", OccurredPrecision::Instant)),
            timezone: Some("Europe/Paris".into()),
            ..Conversation::default()
        };
        let short = Conversation {
            messages: vec![message(Role::System, "a"), message(Role::Tool, "b")],
            ..Conversation::default()
        };
        vec![
            Stored {
                json: r#"{"kind":"conversation","request":{"messages":[{"name":"Ann","occurred_at":{"at":"2026-03-10T12:00:00Z","precision":"day"},"role":"user","text":"The ferry leaves at nine"},{"references":[{"id":"m1","type":"media"},{"type":"x","y":[1.5,null]}],"role":"assistant","text":""}],"occurred_at":{"at":"2026-03-10T08:30:00Z","precision":"instant"},"session_id":"s1","tags":["family","trip"],"timezone":"Europe/Paris"}}"#,
                work: QueuedWork::Conversation { request: full },
            },
            Stored {
                json: r#"{"kind":"conversation","request":{"messages":[{"role":"system","text":"a"},{"role":"tool","text":"b"}]}}"#,
                work: QueuedWork::Conversation { request: short },
            },
        ]
    }

    fn terms_and_skills() -> Vec<Stored> {
        let term = TermDraft { term: "k8s".into(), aliases: vec!["kube".into()], definition: String::new() };
        let full = SkillDraft {
            path: "skills/general/deploy.md".into(),
            name: "Deploy".into(),
            description: Some("How to deploy".into()),
            content: Some("1. Push".into()),
            tags: vec!["ops".into()],
            triggers: vec!["deploy".into()],
            confidence: Some(1.0),
            occurred: Some(moment("2026-03-10T12:00:00Z", OccurredPrecision::Day)),
            metadata: Metadata::new(),
        };
        let short = SkillDraft {
            description: None,
            content: None,
            tags: Vec::new(),
            confidence: None,
            occurred: None,
            ..full.clone()
        };
        vec![
            Stored {
                json: r#"{"kind":"teach","request":[{"aliases":["kube"],"definition":"","term":"k8s"}]}"#,
                work: QueuedWork::Teach { request: vec![term] },
            },
            Stored {
                json: r#"{"kind":"skills","request":[{"confidence":1.0,"content":"1. Push","description":"How to deploy","name":"Deploy","occurred":{"at":"2026-03-10T12:00:00Z","precision":"day"},"path":"skills/general/deploy.md","tags":["ops"],"triggers":["deploy"]},{"confidence":null,"content":null,"description":null,"name":"Deploy","occurred":null,"path":"skills/general/deploy.md","tags":[],"triggers":["deploy"]}]}"#,
                work: QueuedWork::Skills { request: vec![full, short] },
            },
        ]
    }

    /// Work with metadata, which the first releases did not have.
    fn work_with_metadata() -> Vec<Stored> {
        let metadata = Metadata::from([
            ("batch".to_owned(), MetadataValue::Number(7.into())),
            ("draft".to_owned(), MetadataValue::Boolean(false)),
            ("team".to_owned(), MetadataValue::Text("7".into())),
        ]);
        let conversation = Conversation {
            messages: vec![message(Role::User, "a")],
            metadata: metadata.clone(),
            ..Conversation::default()
        };
        let skill = SkillDraft {
            path: "skills/general/deploy.md".into(),
            name: "Deploy".into(),
            description: None,
            content: None,
            tags: Vec::new(),
            triggers: Vec::new(),
            confidence: None,
            occurred: None,
            metadata,
        };
        vec![
            Stored {
                json: r#"{"kind":"conversation","request":{"messages":[{"role":"user","text":"a"}],"metadata":{"batch":7,"draft":false,"team":"7"}}}"#,
                work: QueuedWork::Conversation { request: conversation },
            },
            Stored {
                json: r#"{"kind":"skills","request":[{"confidence":null,"content":null,"description":null,"metadata":{"batch":7,"draft":false,"team":"7"},"name":"Deploy","occurred":null,"path":"skills/general/deploy.md","tags":[],"triggers":[]}]}"#,
                work: QueuedWork::Skills { request: vec![skill] },
            },
        ]
    }

    fn guide() -> DocumentDraft {
        let first =
            PassageDraft { titles: vec!["Guide".into()], text: "Lock the boat.".into(), page: Some(2), line: None };
        let second = PassageDraft { text: "b".into(), line: Some(7), ..PassageDraft::default() };
        DocumentDraft {
            id: "guide".parse().expect("an id"),
            name: "Guide.pdf".into(),
            tags: Vec::new(),
            metadata: Metadata::new(),
            occurred: None,
            passages: vec![first, second],
        }
    }

    fn other_work() -> Vec<Stored> {
        vec![
            Stored {
                json: r#"{"kind":"forget","paths":["facts/a.md"]}"#,
                work: QueuedWork::Forget { paths: vec!["facts/a.md".into()] },
            },
            Stored {
                json: r#"{"kind":"forget_terms","terms":["k8s"]}"#,
                work: QueuedWork::ForgetTerms { terms: vec!["k8s".into()] },
            },
            Stored {
                json: r#"{"kind":"document","request":{"id":"guide","name":"Guide.pdf","passages":[{"titles":["Guide"],"text":"Lock the boat.","page":2},{"text":"b","line":7}]}}"#,
                work: QueuedWork::Document { request: guide() },
            },
            Stored {
                json: r#"{"kind":"forget_document","document":"guide"}"#,
                work: QueuedWork::ForgetDocument { document: guide().id },
            },
            Stored {
                json: r#"{"kind":"reextract","source":"00000000000000000000000001"}"#,
                work: QueuedWork::Reextract { source: MessageId::from(ulid::Ulid::from(1u128)) },
            },
            Stored {
                json: r#"{"kind":"erase","selection":{"paths":["facts/a.md"]}}"#,
                work: QueuedWork::Erase { selection: ErasureSelection::Paths(vec!["facts/a.md".into()]) },
            },
            Stored {
                json: r#"{"kind":"erase","selection":{"session":"s1"}}"#,
                work: QueuedWork::Erase { selection: ErasureSelection::Session("s1".into()) },
            },
            Stored {
                json: r#"{"kind":"finish_erasure","report":{"memories":1,"commits":2,"sources_removed":3,"sources_changed":4,"conversations_removed":5,"messages_emptied":6,"vectors":7,"dead_letters":8,"later_writes":9,"unreadable":10}}"#,
                work: QueuedWork::FinishErasure {
                    report: ErasureReport {
                        memories: 1,
                        commits: 2,
                        sources_removed: 3,
                        sources_changed: 4,
                        conversations_removed: 5,
                        messages_emptied: 6,
                        vectors: 7,
                        dead_letters: 8,
                        later_writes: 9,
                        unreadable: 10,
                    },
                },
            },
        ]
    }

    /// Data directories hold entries in this form: a failure here loses accepted writes.
    #[test]
    fn entries_of_every_kind_are_read_and_written_as_before() {
        let stored = [conversations(), terms_and_skills(), work_with_metadata(), other_work()];
        for Stored { json, work } in stored.into_iter().flatten() {
            let entry = format!(
                r#"{{"id":"00000000000000000000000002","account":"default","namespace":"notes","namespace_id":"00000000000000000000000003","accepted_at_ms":7,"accepted_running_ms":8,"failures":1,"fingerprint":"ab","work":{json}}}"#
            );
            let bytes = [&[RECORD_FORMAT], entry.as_bytes()].concat();
            let read: QueueEntry = decode(Column::Queue, &bytes).expect("the entry is read");
            assert_eq!(read.work, work);
            assert_eq!(read.namespace.as_str(), "notes");
            let written = encode(&read).expect("the entry is written");
            let (format, written) = written.split_first().expect("a version byte");
            assert_eq!(*format, RECORD_FORMAT);
            let written: Value = serde_json::from_slice(written).expect("JSON");
            assert_eq!(written, serde_json::from_str::<Value>(&entry).expect("JSON"));
        }
    }
}
