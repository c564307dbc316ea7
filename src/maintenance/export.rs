//! Export of a namespace to files that other programs read.
//!
//! The formats are its history as a git bundle, its memories as markdown, and its conversations as JSON Lines.

use std::collections::{HashSet, VecDeque};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use cuebase_storage::records::{ConversationRecord, NamespaceRecord, SentTime};
use cuebase_storage::{AccountId, NamespaceName};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::private_files::{create, create_folder};
use super::progress::Progress;
use crate::app::App;
use crate::error::{Error, Result, with_causes};
use crate::error_codes::ErrorCode;
use crate::file_errors::explained;
use crate::service::sources::KeptSource;

/// Conversations read at a time.
const CONVERSATIONS_PER_READ: usize = 200;

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// A git bundle: all commits in one file that `git clone` reads.
    Bundle,
    /// A folder of markdown: the current version of every file.
    Markdown,
    /// JSON Lines: one conversation per line, a body of `POST /v1/memories`. Kept conversations also have `id` and
    /// `accepted_at`.
    Jsonl,
}

/// The result of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportReport {
    /// Path of the file or folder.
    pub to: PathBuf,
    /// Number of files, git objects or conversations.
    pub items: u64,
}

/// Exports a namespace to a file or folder that does not exist yet.
///
/// # Errors
///
/// [`Error::NotOwner`] if another process may own the namespace; nothing is written then. Other failures are those of the
/// export.
pub fn export(
    app: &App,
    account: &AccountId,
    name: &NamespaceName,
    format: Format,
    to: &Path,
    on_progress: &dyn Fn(Progress),
) -> Result<ExportReport> {
    app.namespaces.existing(account, name)?;
    let export = Export { app, account, name, to, on_progress };
    match export.write(format) {
        Ok(items) => Ok(ExportReport { to: to.to_path_buf(), items }),
        Err(error) => match error.downcast_ref::<Error>() {
            Some(Error::NotOwner(namespace)) => Err(Error::NotOwner(namespace.clone())),
            _ => Err(Error::invalid(ErrorCode::InvalidExport, with_causes(&error))),
        },
    }
}

/// One export: of which namespace, to which path.
struct Export<'a> {
    app: &'a App,
    account: &'a AccountId,
    name: &'a NamespaceName,
    to: &'a Path,
    on_progress: &'a dyn Fn(Progress),
}

impl Export<'_> {
    /// Writes the files and returns the number of items.
    fn write(&self, format: Format) -> anyhow::Result<u64> {
        ensure_new(self.to)?;
        match format {
            Format::Bundle => self.bundle(),
            Format::Markdown => self.markdown(),
            Format::Jsonl => self.conversations(),
        }
    }

    fn bundle(&self) -> anyhow::Result<u64> {
        let lease = self.app.namespaces.lease(self.account, self.name)?;
        let head = lease.repository().head()?.context("the namespace is empty: it has no history to write")?;
        let file = create(self.to).map_err(explained("write", self.to))?;
        let mut objects = 0;
        lease.repository().write_bundle(head, BufWriter::new(&file), |done, all| {
            objects = all;
            (self.on_progress)(Progress::new("objects", done, all));
        })?;
        file.sync_all()?;
        Ok(objects)
    }

    fn markdown(&self) -> anyhow::Result<u64> {
        let lease = self.app.namespaces.lease(self.account, self.name)?;
        create_folder(self.to)?;
        let Some(head) = lease.repository().head()? else { return Ok(0) };
        let files = lease.repository().changes(None, head)?;
        let all = files.len() as u64;
        for (done, file) in (1..).zip(files) {
            let Some(content) = file.content else { continue };
            if !is_inside(&file.path) {
                continue;
            }
            let target = self.to.join(&file.path);
            create_folder(target.parent().unwrap_or(self.to))?;
            let mut written = create(&target).map_err(explained("write", &target))?;
            written.write_all(&content).map_err(explained("write", &target))?;
            (self.on_progress)(Progress::new("files", done, all));
        }
        Ok(all)
    }

    /// Writes the ingested conversations, oldest first. A managed conversation is written once, with its current
    /// messages. Its sources are left out; they have its id as their session.
    fn conversations(&self) -> anyhow::Result<u64> {
        let app = self.app;
        let namespace = app.namespaces.existing(self.account, self.name)?;
        let mut managed = managed_conversations(app, &namespace)?;
        let mut managed_ids = HashSet::new();
        for record in &managed {
            managed_ids.insert(record.id.to_string());
        }
        let file = create(self.to).map_err(explained("write", self.to))?;
        let mut lines = Lines { out: BufWriter::new(&file), written: 0, on_progress: self.on_progress };
        let mut after = None;
        while let Some(entry) = app.inspector.next_source(namespace.id, after)? {
            after = Some(entry.id);
            while let Some(record) = managed.front()
                && record.id < entry.id.into()
            {
                lines.write_managed(app, record)?;
                managed.pop_front();
            }
            let source = KeptSource::of(&entry)?;
            let is_managed = match &source.conversation.session_id {
                Some(session) => managed_ids.contains(session),
                None => false,
            };
            if !is_managed {
                let mut line = source.body();
                line.insert("id".into(), json!(source.id.to_string()));
                lines.write(&line)?;
            }
        }
        for record in &managed {
            lines.write_managed(app, record)?;
        }
        let Lines { mut out, written, .. } = lines;
        out.flush()?;
        drop(out);
        file.sync_all()?;
        Ok(written)
    }
}

/// Refuses a path that exists, unless it is an empty folder.
fn ensure_new(to: &Path) -> anyhow::Result<()> {
    let is_empty = fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_none());
    ensure!(!to.exists() || is_empty, "{} exists already: nothing is written over", to.display());
    Ok(())
}

/// Returns whether a path of a repository stays inside the export's folder. Pushed paths are not trusted.
fn is_inside(path: &str) -> bool {
    path.split('/').all(|part| !matches!(part, "" | "." | "..") && !part.contains('\0'))
}

/// Returns the managed conversations of a namespace, oldest first.
fn managed_conversations(app: &App, namespace: &NamespaceRecord) -> anyhow::Result<VecDeque<ConversationRecord>> {
    let mut oldest_first = VecDeque::new();
    let mut before = None;
    loop {
        let page = app.inspector.conversations(namespace, before, CONVERSATIONS_PER_READ)?;
        let Some(last) = page.last() else { return Ok(oldest_first) };
        before = Some(last.id);
        for record in page {
            oldest_first.push_front(record);
        }
    }
}

/// A writer of JSON Lines.
struct Lines<'a> {
    out: BufWriter<&'a File>,
    written: u64,
    on_progress: &'a dyn Fn(Progress),
}

impl Lines<'_> {
    fn write(&mut self, line: &Map<String, Value>) -> anyhow::Result<()> {
        serde_json::to_writer(&mut self.out, line)?;
        self.out.write_all(b"\n")?;
        self.written += 1;
        (self.on_progress)(Progress::new("conversations", self.written, 0));
        Ok(())
    }

    /// Writes a managed conversation with the messages of its active branch, if there are any.
    fn write_managed(&mut self, app: &App, record: &ConversationRecord) -> anyhow::Result<()> {
        let mut messages = Vec::new();
        for message in app.conversations.branch_messages(record, &record.branch)? {
            let mut body = message.body;
            if body.occurred_at.is_none()
                && let Ok(at) = Timestamp::from_millisecond(message.created_at_ms)
            {
                body.occurred_at = Some(SentTime::Text(at.to_string()));
            }
            messages.push(json!(body));
        }
        if messages.is_empty() {
            return Ok(());
        }
        let mut line = Map::new();
        line.insert("session_id".into(), json!(record.id.to_string()));
        line.insert("title".into(), json!(record.title));
        line.insert("messages".into(), Value::Array(messages));
        self.write(&line)
    }
}
