//! A namespace in files that other programs read: its whole history as a git bundle, its memories as markdown, its
//! conversations as JSON Lines.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Progress;
use super::backup::{create, create_folder};
use crate::file_errors::explained;
use crate::service::{Failure, Outcome, Service};

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
    /// JSON Lines: a conversation a line, as `POST /v1/memories` takes it.
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
) -> Outcome<Report> {
    service.namespaces.existing(account, name)?;
    let wrong = |error: anyhow::Error| Failure::invalid("invalid_export", format!("{error:#}"));
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

fn conversations(
    service: &Service,
    account: &str,
    name: &str,
    to: &Path,
    tell: &dyn Fn(Progress),
) -> anyhow::Result<u64> {
    let file = create(to).map_err(explained("write", to))?;
    let mut out = BufWriter::new(&file);
    let (mut before, mut written) = (None, 0);
    loop {
        let some = service.conversations(account, name, before, CONVERSATIONS_AT_ONCE)?;
        let Some(last) = some.last() else { break };
        before = Some(last.id);
        for record in &some {
            let messages = service.branch_messages(record, &record.branch)?;
            let message = |message: cuebase_storage::records::MessageRecord| -> Map<String, Value> {
                let mut body = message.body;
                if let Ok(at) = Timestamp::from_millisecond(message.created_at_ms) {
                    body.entry("occurred_at").or_insert_with(|| json!(at.to_string()));
                }
                body
            };
            let messages: Vec<_> = messages.into_iter().map(message).collect();
            if messages.is_empty() {
                continue;
            }
            let line = json!({"session_id": record.id.to_string(), "title": record.title, "messages": messages});
            writeln!(out, "{line}")?;
            written += 1;
            tell(Progress::new("conversations", written, 0));
        }
    }
    out.flush()?;
    file.sync_all()?;
    Ok(written)
}
