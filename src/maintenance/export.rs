//! A namespace in files that other programs read: its whole history as a git bundle, its memories as markdown, its
//! conversations as JSON Lines.

use std::collections::{HashSet, VecDeque};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use cuebase_storage::records::{ConversationRecord, NamespaceRecord};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Progress;
use super::private_files::{create, create_folder};
use crate::error::{Error, Result};
use crate::file_errors::explained;
use crate::service::Service;
use crate::service::sources::KeptSource;

/// Conversations read at a time.
const CONVERSATIONS_AT_ONCE: usize = 200;

/// What a namespace is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// A git bundle: every commit, in one file that `git clone` takes.
    Bundle,
    /// A folder of markdown: every file as it is now.
    Markdown,
    /// JSON Lines: a conversation a line, as `POST /v1/memories` takes it; of kept ones also `id` and `accepted_at`.
    Jsonl,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Where.
    pub to: PathBuf,
    /// How many files, commits' objects or conversations.
    pub items: u64,
}

/// Writes a namespace to a file or folder that does not exist yet.
pub fn export(
    service: &Service,
    (account, name): (&str, &str),
    format: Format,
    to: &Path,
    tell: &dyn Fn(Progress),
) -> Result<Report> {
    service.namespaces.existing(account, name)?;
    let wrong = |error: anyhow::Error| Error::invalid("invalid_export", format!("{error:#}"));
    ensure_new(to).map_err(wrong)?;
    let items = match format {
        Format::Bundle => bundle(service, account, name, to, tell),
        Format::Markdown => markdown(service, account, name, to, tell),
        Format::Jsonl => conversations(service, account, name, to, tell),
    };
    Ok(Report { to: to.to_path_buf(), items: items.map_err(wrong)? })
}

fn ensure_new(to: &Path) -> anyhow::Result<()> {
    let empty = fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_none());
    ensure!(!to.exists() || empty, "{} is there already: nothing is written over", to.display());
    Ok(())
}

fn bundle(service: &Service, account: &str, name: &str, to: &Path, tell: &dyn Fn(Progress)) -> anyhow::Result<u64> {
    let lease = service.namespaces.lease(account, name)?;
    let head = lease.repository().head()?.context("the namespace is empty: there is no history to write")?;
    let file = create(to).map_err(explained("write", to))?;
    let mut objects = 0;
    lease.repository().write_bundle(head, BufWriter::new(&file), |done, all| {
        objects = all;
        tell(Progress::new("objects", done, all));
    })?;
    file.sync_all()?;
    Ok(objects)
}

fn markdown(service: &Service, account: &str, name: &str, to: &Path, tell: &dyn Fn(Progress)) -> anyhow::Result<u64> {
    let lease = service.namespaces.lease(account, name)?;
    create_folder(to)?;
    let Some(head) = lease.repository().head()? else { return Ok(0) };
    let files = lease.repository().changes(None, head)?;
    let all = files.len() as u64;
    for (done, file) in (1..).zip(files) {
        // Whatever was pushed, nothing is written elsewhere.
        let inside = file.path.split('/').all(|part| !matches!(part, "" | "." | "..") && !part.contains('\0'));
        let Some(content) = file.content.filter(|_| inside) else { continue };
        let target = to.join(&file.path);
        create_folder(target.parent().unwrap_or(to))?;
        create(&target).and_then(|mut written| written.write_all(&content)).map_err(explained("write", &target))?;
        tell(Progress::new("files", done, all));
    }
    Ok(all)
}

/// Writes the conversations that were ingested, oldest first. Managed ones are written as they stand, each in the place of
/// its sources: what was appended to them was ingested under their id as the session.
fn conversations(
    service: &Service,
    account: &str,
    name: &str,
    to: &Path,
    tell: &dyn Fn(Progress),
) -> anyhow::Result<u64> {
    let namespace = service.namespaces.existing(account, name)?;
    let mut managed = managed_conversations(service, &namespace)?;
    let managed_ids: HashSet<String> = managed.iter().map(|record| record.id.to_string()).collect();
    let file = create(to).map_err(explained("write", to))?;
    let mut lines = Lines { out: BufWriter::new(&file), written: 0, tell };
    let mut after = None;
    while let Some(entry) = service.store.next_source(namespace.id, after)? {
        after = Some(entry.id);
        while managed.front().is_some_and(|record| record.id < entry.id) {
            lines.write_managed(service, managed.pop_front())?;
        }
        let source = KeptSource::of(&entry)?;
        if source.conversation.session_id.as_ref().is_none_or(|session| !managed_ids.contains(session)) {
            let mut line = source.body();
            line.insert("id".into(), json!(source.id.to_string()));
            lines.write(&line)?;
        }
    }
    while !managed.is_empty() {
        lines.write_managed(service, managed.pop_front())?;
    }
    let Lines { mut out, written, .. } = lines;
    out.flush()?;
    drop(out);
    file.sync_all()?;
    Ok(written)
}

/// A namespace's managed conversations, the oldest first.
fn managed_conversations(
    service: &Service,
    namespace: &NamespaceRecord,
) -> anyhow::Result<VecDeque<ConversationRecord>> {
    let mut oldest_first = VecDeque::new();
    let mut before = None;
    loop {
        let page = service.store.conversations(namespace, before, CONVERSATIONS_AT_ONCE)?;
        let Some(last) = page.last() else { return Ok(oldest_first) };
        before = Some(last.id);
        for record in page {
            oldest_first.push_front(record);
        }
    }
}

/// A file of JSON Lines that is being written.
struct Lines<'a> {
    out: BufWriter<&'a File>,
    written: u64,
    tell: &'a dyn Fn(Progress),
}

impl Lines<'_> {
    fn write(&mut self, line: &Map<String, Value>) -> anyhow::Result<()> {
        serde_json::to_writer(&mut self.out, line)?;
        self.out.write_all(b"\n")?;
        self.written += 1;
        (self.tell)(Progress::new("conversations", self.written, 0));
        Ok(())
    }

    /// Writes a managed conversation with the messages of its active branch; nothing where there are none.
    fn write_managed(&mut self, service: &Service, record: Option<ConversationRecord>) -> anyhow::Result<()> {
        let Some(record) = record else { return Ok(()) };
        let mut messages = Vec::new();
        for message in service.branch_messages(&record, &record.branch)? {
            let mut body = message.body;
            if let Ok(at) = Timestamp::from_millisecond(message.created_at_ms) {
                body.entry("occurred_at").or_insert_with(|| json!(at.to_string()));
            }
            messages.push(Value::Object(body));
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
