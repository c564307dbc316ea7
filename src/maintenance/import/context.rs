//! The options, the context and the result of an import.

use std::path::Path;

use cuebase_storage::records::NamespaceRecord;
use cuebase_storage::{AccountId, NamespaceName};
use serde::{Deserialize, Serialize};

use super::format::Format;
use crate::app::App;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::maintenance::progress::Progress;

/// Most problems that an error lists.
const PROBLEMS_MAX: usize = 20;

/// The result of an import, or the expected result of a dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportReport {
    /// Name of the format.
    pub format: String,
    /// Whether it was a dry run.
    pub tried: bool,
    /// Number of conversations of which messages were accepted and ingested.
    pub conversations: u64,
    /// Number of messages in these conversations.
    pub messages: u64,
    /// Number of messages that were imported before.
    pub known: u64,
    /// Number of memories and terms that were written.
    pub files: u64,
    /// Number of files that exist already with the same content.
    pub unchanged: u64,
    /// Number of files and entries that were skipped because they hold nothing to remember.
    pub other: u64,
    /// Number of documents. Their passages count as files.
    #[serde(default)]
    pub documents: u64,
    /// Number of histories that were imported.
    pub histories: u64,
    /// What is missing or was left out, and what to do about it.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// Options of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Format of the input; `None` detects it.
    pub format: Option<Format>,
    /// Report what would be imported, without importing it.
    pub dry_run: bool,
    /// Also import messages that were imported before.
    pub again: bool,
}

/// One import: into which namespace, from which path, with which options.
pub(super) struct Import<'a> {
    pub(super) app: &'a App,
    pub(super) account: &'a AccountId,
    pub(super) name: &'a NamespaceName,
    pub(super) from: &'a Path,
    pub(super) options: Options,
    pub(super) on_progress: &'a dyn Fn(Progress),
}

impl Import<'_> {
    /// Returns the namespace, if it exists.
    pub(super) fn existing_namespace(&self) -> Result<Option<NamespaceRecord>> {
        self.app.inspector.namespace(self.account, self.name)
    }

    /// Returns the namespace, and creates it if it does not exist. Of several nodes, this one owns it then.
    pub(super) fn create_namespace(&self) -> Result<NamespaceRecord> {
        self.app.accounts.ensure_account(self.account)?;
        let record = self.app.namespaces.create(self.account, self.name)?.0;
        self.app.namespaces.ownership().hold(&record.key())?;
        Ok(record)
    }

    /// Reports progress.
    pub(super) fn progress(&self, doing: &str, done: u64, all: u64) {
        (self.on_progress)(Progress::new(doing, done, all));
    }

    /// Creates an error about the input.
    pub(super) fn invalid(&self, message: &str) -> Error {
        invalid_import(self.from, message)
    }

    /// Fails with the list of problems, if there are any.
    pub(super) fn ensure_no_problems(&self, problems: &[String]) -> Result<()> {
        if problems.is_empty() {
            return Ok(());
        }
        let mut message = format!("{}: nothing was imported:", self.from.display());
        for problem in problems.iter().take(PROBLEMS_MAX) {
            message.push_str(&format!("\n  {problem}"));
        }
        if problems.len() > PROBLEMS_MAX {
            message.push_str(&format!("\n  and {} more", problems.len() - PROBLEMS_MAX));
        }
        Err(Error::invalid(ErrorCode::InvalidImport, message))
    }
}

/// Creates an error about the input at a path.
pub(super) fn invalid_import(from: &Path, message: &str) -> Error {
    Error::invalid(ErrorCode::InvalidImport, format!("{}: {message}", from.display()))
}
