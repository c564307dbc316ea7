//! The typed records in the key-value store, one file per resource.
//!
//! [`Store`] is the open database of a data directory. Each file adds the reads of its resource to it. Writes that
//! belong together are one [`RecordBatch`], to which each file adds the changes of its resource. Writes that the server
//! acknowledges to a client are synced before the acknowledgement.

mod accounts;
mod acknowledgement;
mod animals;
mod api_keys;
mod backup_hold;
mod batch;
mod billing;
mod check;
mod conversations;
mod copy;
mod copy_marker;
mod dead_letters;
mod dedup;
mod embedding;
mod erase;
mod expired;
mod fingerprints;
mod index_snapshots;
mod ledger;
mod links;
mod media;
mod migration;
mod models;
mod namespaces;
mod opening;
pub mod ownership;
mod queue;
mod queue_entry;
mod revocations;
mod secrets;
mod sender;
pub mod shared_setup;
mod sources;
mod store;
mod stored;
mod usage;
mod usage_fold;
mod usage_keys;
mod usage_parts;
mod usage_record;
mod usage_state;
mod vectors;
mod vocabulary;
mod work;
mod write_progress;
mod writes;

pub use accounts::AccountRecord;
pub use acknowledgement::{Acknowledgement, RecordedCommit, Revision};
pub use animals::{AnimalRecord, AnimalStatus};
pub use api_keys::{ApiKeyRecord, Environment};
pub use backup_hold::BackupHold;
pub use batch::RecordBatch;
pub use billing::{PaymentRecord, PlanName, PricesRecord, TransactionRecord, WalletRecord};
pub use conversations::{BranchRecord, ConversationRecord, MessageRecord};
pub use copy::{RecordTotals, compare_records, copy_records};
pub use copy_marker::MigrationEnd;
pub use dead_letters::{DeadLetter, UnreadableRecord};
pub use dedup::{Dedup, Enqueued, FingerprintSubject};
pub use embedding::EmbeddingRecord;
pub use erase::{ErasureRecord, PlannedErasure, RecordChanges, SourceChange};
pub use index_snapshots::{IndexSnapshotRecord, SnapshotFile, SnapshotSegment};
pub use ledger::StoreLedger;
pub use links::LinkRecord;
pub use media::MediaRecord;
pub use models::ModelRecord;
pub use namespaces::{Creation, NamespaceRecord, RemovalRecord};
pub use queue::{QueuedEntries, QueuedNamespace};
pub use queue_entry::{QueueEntry, QueuedWork};
pub use revocations::RevocationMark;
pub use sender::WriteSender;
pub use sources::{IngestedEntry, SourceCheck, SourceRecord};
pub use store::{DATA_FORMAT, DATA_FORMAT_OLDEST, RECORD_FORMAT, Store};
pub use stored::Stored;
pub use usage_record::{Meter, UsageRecord};
pub use vectors::VectorKey;
pub use vocabulary::{TermChange, TermList, TermRecord};
pub use work::{
    Conversation, DocumentDraft, ErasureReport, ErasureSelection, Message, MessageBody, MessageContent, Moment,
    PassageDraft, Role, SentTime, SkillDraft, TermDraft,
};
pub use write_progress::WriteProgress;
pub use writes::{DroppedMessage, WriteChanges, WriteEnd, WriteOutcome, WriteRecord};

#[cfg(test)]
mod copy_tests;
#[cfg(test)]
mod dead_letter_tests;
#[cfg(test)]
mod fingerprint_tests;
#[cfg(test)]
mod ledger_tests;
#[cfg(test)]
mod usage_parts_tests;
