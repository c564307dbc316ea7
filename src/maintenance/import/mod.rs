//! What others hold into a namespace: histories, files, facts, conversations.
//!
//! [`format`] says what something is; [`bundle`] takes over a history, [`files`] writes memories, [`conversations`] hands
//! over what was said. What other services export is read by [`archives`] (ChatGPT, Claude), [`mem0`] and [`notes`]
//! (Letta's memory, any folder of markdown).
//!
//! Everything is checked before anything is written: what is wrong is told with its place, and nothing is imported.
//! Importing the same again changes nothing, however much later; importing what has grown since adds what is new.

mod archives;
mod bundle;
mod conversations;
mod files;
pub mod format;
mod mem0;
mod notes;

use std::path::Path;
use std::sync::Arc;

use cuebase_storage::records::NamespaceRecord;
use serde::{Deserialize, Serialize};

use self::format::Format;
use super::Progress;
use crate::error::{Error, Result};
use crate::namespace::names::check_name;
use crate::service::Service;

/// So many problems are told.
const PROBLEMS_MAX: usize = 20;

/// What an import came to, or, of one that was only tried, would come to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// As what it was read.
    pub format: String,
    /// Whether it was only tried.
    pub tried: bool,
    /// Conversations of which something was accepted and ingested.
    pub conversations: u64,
    /// Their messages.
    pub messages: u64,
    /// Messages that were imported before.
    pub known: u64,
    /// Memories and terms that were written.
    pub files: u64,
    /// Files that were there already, as they are.
    pub unchanged: u64,
    /// Files and entries that are nothing to remember, and were left alone.
    pub other: u64,
    /// Histories that were taken over.
    pub histories: u64,
}

/// How something is to be imported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// What it is, where it is not to be found out.
    pub format: Option<Format>,
    /// Only read it, and say what would be done.
    pub dry_run: bool,
    /// Take in also what was imported before.
    pub again: bool,
}

/// One import: into what, from where, how.
struct Import<'a> {
    service: &'a Arc<Service>,
    account: &'a str,
    name: &'a str,
    from: &'a Path,
    options: Options,
    tell: &'a dyn Fn(Progress),
}

/// Imports a file or folder.
pub fn import(
    service: &Arc<Service>,
    account: &str,
    name: &str,
    from: &Path,
    options: Options,
    tell: &dyn Fn(Progress),
) -> Result<Report> {
    check_name(name)?;
    let format = match options.format {
        Some(format) => format,
        None => format::of(from).map_err(|reason| wrong(from, &reason))?,
    };
    let import = Import { service, account, name, from, options, tell };
    let report = match format {
        Format::Bundle => bundle::import(&import),
        Format::Markdown => files::folder(&import),
        Format::Letta => notes::letta(&import),
        Format::Notes => notes::notes(&import),
        Format::Mem0 => mem0::import(&import),
        Format::Jsonl => conversations::jsonl(&import),
        Format::Chatgpt => conversations::archive(&import, archives::chatgpt),
        Format::Claude => conversations::archive(&import, archives::claude),
    }?;
    Ok(Report { format: format.name().to_owned(), tried: options.dry_run, ..report })
}

impl Import<'_> {
    /// The namespace, if it is there.
    fn known(&self) -> Result<Option<NamespaceRecord>> {
        Ok(self.service.store.namespace(self.account, self.name)?)
    }

    /// The namespace, made where it is not there.
    fn namespace(&self) -> Result<NamespaceRecord> {
        self.service.ensure_account(self.account)?;
        Ok(self.service.namespaces.create(self.account, self.name)?.0)
    }

    fn tell(&self, doing: &str, done: u64, all: u64) {
        (self.tell)(Progress::new(doing, done, all));
    }

    /// What is to be imported is not what can be.
    fn wrong(&self, message: &str) -> Error {
        wrong(self.from, message)
    }

    /// What is wrong with what was to be imported, all of it at once.
    fn problems(&self, found: &[String]) -> Result<()> {
        if found.is_empty() {
            return Ok(());
        }
        let mut message = format!("{}: nothing was imported:", self.from.display());
        found.iter().take(PROBLEMS_MAX).for_each(|problem| message.push_str(&format!("\n  {problem}")));
        if found.len() > PROBLEMS_MAX {
            message.push_str(&format!("\n  and {} more", found.len() - PROBLEMS_MAX));
        }
        Err(Error::invalid("invalid_import", message))
    }
}

fn wrong(from: &Path, message: &str) -> Error {
    Error::invalid("invalid_import", format!("{}: {message}", from.display()))
}
