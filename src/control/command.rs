//! The commands on a data directory.

use std::path::PathBuf;

use cuebase_storage::records::ErasureSelection;
use cuebase_storage::{AccountId, NamespaceName};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::accounts::NewKey;
use crate::jobs::EmbeddingChange;
use crate::maintenance::export::Format;
use crate::maintenance::import;

/// A command on a data directory. Its JSON is the format of the socket.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Creates a key.
    CreateKey {
        /// The account id.
        account: AccountId,
        /// Its environment and namespace.
        key: NewKey,
    },
    /// Lists an account's keys.
    ListKeys {
        /// The account id.
        account: AccountId,
    },
    /// Revokes a key.
    RevokeKey {
        /// The account id.
        account: AccountId,
        /// The key id.
        id: String,
    },
    /// Creates a dashboard session.
    Token {
        /// The account id.
        account: AccountId,
    },
    /// Creates a link that signs in to the dashboard.
    Link {
        /// The account id.
        account: AccountId,
    },
    /// Returns the address of the running server's API, and a session for it.
    Connect {
        /// The account id.
        account: AccountId,
    },
    /// Creates a namespace.
    CreateNamespace {
        /// The account id.
        account: AccountId,
        /// The name of the namespace.
        name: NamespaceName,
    },
    /// Lists an account's namespaces.
    ListNamespaces {
        /// The account id.
        account: AccountId,
    },
    /// Deletes a namespace permanently.
    DeleteNamespace {
        /// The account id.
        account: AccountId,
        /// The name of the namespace.
        name: NamespaceName,
    },
    /// Lists the writes that failed permanently.
    ListDeadLetters,
    /// Returns a dead letter to the queue.
    RetryDeadLetter {
        /// The queue message id.
        id: String,
    },
    /// Returns all selected dead letters to the queue.
    RetryDeadLetters {
        /// Selects one account; none selects all.
        account: Option<AccountId>,
        /// Selects namespaces of this name; none selects all.
        namespace: Option<NamespaceName>,
    },
    /// Deletes a dead letter.
    DropDeadLetter {
        /// The queue message id.
        id: String,
    },
    /// Returns the built-in embedding model, the number of memories and of model calls, and the namespaces with memories to
    /// embed.
    Models,
    /// Changes the built-in embedding model, or the pace of the change.
    ChangeEmbedding(EmbeddingChange),
    /// Lists the nodes that share the data, with the number of namespaces that each owns. Null in a process that is alone.
    ListNodes,
    /// Backs up the data directory.
    Backup {
        /// The folder of backups, as an absolute path.
        folder: PathBuf,
        /// Number of backups to keep in the folder; none keeps all.
        keep: Option<usize>,
    },
    /// Checks the data directory.
    Doctor {
        /// Whether to rebuild damaged data that can be derived from intact data.
        repair: bool,
    },
    /// Writes a namespace to a file or folder.
    Export {
        /// The account id.
        account: AccountId,
        /// The name of the namespace.
        namespace: NamespaceName,
        /// The output format.
        format: Format,
        /// The target, as an absolute path.
        to: PathBuf,
    },
    /// Imports a file or folder into a namespace, which is created if it does not exist.
    Import {
        /// The account id.
        account: AccountId,
        /// The name of the namespace.
        namespace: NamespaceName,
        /// The source, as an absolute path.
        from: PathBuf,
        /// The options of the import.
        #[serde(default)]
        options: import::Options,
    },
    /// Imports memories that were fetched from a mem0 server into a namespace, which is created if it does not exist.
    ImportMem0 {
        /// The account id.
        account: AccountId,
        /// The name of the namespace.
        namespace: NamespaceName,
        /// What errors call the memories: their server and user.
        source: String,
        /// The memories, as an export of mem0.
        memories: Value,
        /// The options of the import.
        options: import::Options,
    },
    /// Extracts memories again from the stored conversations of a namespace.
    Reextract {
        /// The account id.
        account: AccountId,
        /// The name of the namespace.
        namespace: NamespaceName,
        /// Selects the conversations of one session; none selects all.
        session: Option<String>,
        /// Whether only the changes are computed.
        #[serde(default)]
        dry_run: bool,
    },
    /// Erases text of a namespace for good.
    Erase {
        /// The account id.
        account: AccountId,
        /// The name of the namespace.
        namespace: NamespaceName,
        /// The text to erase.
        selection: ErasureSelection,
    },
    /// Lists the accounts.
    ListAccounts,
    /// Suspends an account, or ends its suspension.
    SuspendAccount {
        /// The account id.
        account: AccountId,
        /// Whether the account's requests are refused from now on.
        suspended: bool,
    },
}

impl Command {
    /// Returns whether the node that owns the namespace of the command can run it for another one. It cannot if the
    /// command reads or writes files, which are on the machine of its caller, or if it carries more bytes
    /// than a question between nodes should have.
    pub(super) fn can_run_elsewhere(&self) -> bool {
        match self {
            Self::DeleteNamespace { .. }
            | Self::RetryDeadLetter { .. }
            | Self::RetryDeadLetters { .. }
            | Self::DropDeadLetter { .. }
            | Self::Reextract { .. }
            | Self::Erase { .. } => true,
            Self::CreateKey { .. }
            | Self::ListKeys { .. }
            | Self::RevokeKey { .. }
            | Self::Token { .. }
            | Self::Link { .. }
            | Self::Connect { .. }
            | Self::CreateNamespace { .. }
            | Self::ListNamespaces { .. }
            | Self::ListDeadLetters
            | Self::Models
            | Self::ChangeEmbedding(_)
            | Self::ListNodes
            | Self::Backup { .. }
            | Self::Doctor { .. }
            | Self::Export { .. }
            | Self::Import { .. }
            | Self::ImportMem0 { .. }
            | Self::ListAccounts
            | Self::SuspendAccount { .. } => false,
        }
    }
}
