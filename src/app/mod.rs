//! The open application: the parts of the service on one data directory, opened in order and closed once.
//!
//! [`App`] has no behaviour of its own. A handler takes the part that it needs. The parts live in `src/service`,
//! `src/accounts`, `src/billing` and `src/jobs`.

mod open;
mod search_threads;

use std::sync::Arc;

use crate::accounts::Accounts;
use crate::billing::Billing;
use crate::jobs::Jobs;
use crate::service::animals::Animals;
use crate::service::conversations::Conversations;
use crate::service::direct_writes::DirectWrites;
use crate::service::inspector::Inspector;
use crate::service::intake::Intake;
use crate::service::media::Media;
use crate::service::namespaces::NamespaceDirectory;
use crate::service::reads::Reads;
use crate::service::skills::Skills;

/// The parts of the service on an open data directory.
pub struct App {
    /// Accounts, their API keys and their sessions.
    pub accounts: Arc<Accounts>,
    /// The namespaces of all accounts.
    pub namespaces: Arc<NamespaceDirectory>,
    /// Accepts writes into the queue.
    pub intake: Arc<Intake>,
    /// Writes that are committed before the response: of one memory, and of a git push.
    pub writes: DirectWrites,
    /// Retrieval, answers, and reads of memories.
    pub reads: Arc<Reads>,
    /// Managed conversations, and the sources of ingested ones.
    pub conversations: Conversations,
    /// Uploaded files.
    pub media: Arc<Media>,
    /// Skills.
    pub skills: Skills,
    /// The animals of the pets API.
    pub animals: Animals,
    /// Meters, plans and wallets.
    pub billing: Arc<Billing>,
    /// Background jobs and the state that the metrics show.
    pub jobs: Jobs,
    /// Reads the data directory for maintenance.
    pub inspector: Inspector,
}
