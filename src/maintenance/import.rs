//! Files into a namespace: a git bundle, a folder of markdown, conversations as JSON Lines.
//!
//! Everything is checked before anything is written: what is wrong is told with its place, and nothing is imported.
//! Importing the same again changes nothing.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cuebase_storage::git::{Repository, is_bundle};
use cuebase_storage::memory_file::term_file::VOCABULARY_FOLDER;
use cuebase_storage::memory_file::{MemoryFile, MemoryPath, TermFile};
use cuebase_storage::records::{NamespaceRecord, QueuedWork};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ulid::Ulid;

use super::Progress;
use crate::api::memories::conversation;
use crate::ingest::conversation::Conversation;
use crate::ingest::files::cue_texts;
use crate::service::namespace::plan::{Content, Plan};
use crate::service::{Failure, Outcome, Service};

/// Files of one commit.
const FILES_A_COMMIT: usize = 500;
/// A file larger than this is no memory's; the API takes none larger either.
const FILE_BYTES_MAX: u64 = 8 << 20;
/// So many problems are told.
const PROBLEMS_MAX: usize = 20;
/// How often it is looked whether writes are ingested.
const POLL: Duration = Duration::from_millis(50);

/// What an import came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Conversations that were accepted and ingested.
    pub conversations: u64,
    /// Memories and terms that were written.
    pub files: u64,
    /// Files that were there already, as they are.
    pub unchanged: u64,
    /// Files that are no memory's and no term's, and were left alone.
    pub other: u64,
    /// Histories that were taken over.
    pub histories: u64,
}

/// Imports a file or folder, as its content says what it is.
pub fn import(
    service: &Arc<Service>,
    account: &str,
    name: &str,
    from: &Path,
    tell: &dyn Fn(Progress),
) -> Outcome<Report> {
    let wrong = |message: &str| wrong(from, message);
    let kind = fs::metadata(from).map_err(|error| wrong(&error.to_string()))?;
    service.ensure_account(account)?;
    let (namespace, _) = service.namespaces.create(account, name)?;
    if kind.is_dir() {
        return markdown(service, &namespace, from, tell);
    }
    if is_bundle(from) {
        return bundle(service, &namespace, from, tell);
    }
    let named = from.extension().is_some_and(|extension| extension == "jsonl" || extension == "ndjson");
    if named {
        conversations(service, &namespace, from, tell)
    } else {
        Err(wrong("it is neither a git bundle, nor a folder of markdown, nor a .jsonl file of conversations"))
    }
}

/// What is to be imported is not what can be.
fn wrong(from: &Path, message: &str) -> Failure {
    Failure::invalid("invalid_import", format!("{}: {message}", from.display()))
}

/// What is wrong with what was to be imported, all of it at once.
fn problems(from: &Path, found: &[String]) -> Outcome<()> {
    if found.is_empty() {
        return Ok(());
    }
    let mut message = format!("{}: nothing was imported:", from.display());
    found.iter().take(PROBLEMS_MAX).for_each(|problem| message.push_str(&format!("\n  {problem}")));
    if found.len() > PROBLEMS_MAX {
        message.push_str(&format!("\n  and {} more", found.len() - PROBLEMS_MAX));
    }
    Err(Failure::invalid("invalid_import", message))
}

fn conversations(
    service: &Arc<Service>,
    namespace: &NamespaceRecord,
    from: &Path,
    tell: &dyn Fn(Progress),
) -> Outcome<Report> {
    let (mut read, mut wrong) = (Vec::<(Conversation, String)>::new(), Vec::new());
    for (number, line) in (1..).zip(BufReader::new(fs::File::open(from)?).lines()) {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let parsed = serde_json::from_str::<Map<String, Value>>(&line).map_err(|error| error.to_string());
        match parsed.and_then(|body| conversation(&body).map_err(|error| error.to_string())) {
            Ok(conversation) => read.push((conversation, line)),
            Err(error) => wrong.push(format!("line {number}: {error}")),
        }
    }
    problems(from, &wrong)?;
    let all = read.len() as u64;
    let mut waiting = BTreeSet::new();
    for (done, (conversation, line)) in (1..).zip(read) {
        let request = serde_json::to_value(&conversation).map_err(Failure::internal)?;
        // The same line again, a moment later, is the same write.
        waiting.insert(service.accept(namespace, QueuedWork::Conversation { request }, Some(line.as_bytes()))?);
        tell(Progress::new("conversations accepted", done, all));
    }
    wait(service, waiting, tell)?;
    Ok(Report { conversations: all, ..Report::default() })
}

/// Waits until writes are ingested, or have failed for good.
fn wait(service: &Service, mut waiting: BTreeSet<Ulid>, tell: &dyn Fn(Progress)) -> Outcome<()> {
    let all = waiting.len() as u64;
    while let Some(next) = waiting.first().copied() {
        if service.store.queue_entry(next)?.is_none() {
            waiting.remove(&next);
            tell(Progress::new("conversations ingested", all - waiting.len() as u64, all));
        } else if service.queue.is_stopping() {
            // They are durable, and go on at the next start.
            return Ok(());
        } else {
            std::thread::sleep(POLL);
        }
    }
    Ok(())
}

fn markdown(service: &Service, namespace: &NamespaceRecord, from: &Path, tell: &dyn Fn(Progress)) -> Outcome<Report> {
    let mut found = Vec::new();
    list(from, "", &mut found)?;
    let (mut files, mut wrong, mut other) = (Vec::new(), Vec::new(), 0);
    for path in found {
        let is_term = path.strip_prefix(VOCABULARY_FOLDER).is_some_and(|rest| rest.starts_with('/'));
        let tiered = ["facts/", "incidents/", "rules/", "skills/"].iter().any(|tier| path.starts_with(tier));
        if !path.ends_with(".md") || !(is_term || tiered) {
            other += 1;
            continue;
        }
        match content(from, &path, is_term) {
            Ok(content) => files.push((path, content)),
            Err(error) => wrong.push(format!("{path}: {error}")),
        }
    }
    problems(from, &wrong)?;
    let (all, mut done) = (files.len() as u64, 0);
    let mut report = Report { other, ..Report::default() };
    let lease = service.namespaces.lease(&namespace.account, &namespace.name)?;
    let mut files = files.into_iter().peekable();
    while files.peek().is_some() {
        let some: Vec<(String, Content)> = files.by_ref().take(FILES_A_COMMIT).collect();
        let texts = some.iter().filter_map(|(_, content)| match content {
            Content::Memory(file) => Some(cue_texts(&file.front, &file.body)),
            Content::Term(_) => None,
        });
        let texts: Vec<String> = texts.flatten().collect();
        lease.prepare(&texts, service.models.write_patience());
        let changed = std::cell::Cell::new(0);
        let now = Timestamp::now();
        lease.write(now, |desk| {
            let mut files = Vec::new();
            for (path, content) in &some {
                if !desk.holds(path, content)? {
                    files.push((path.clone(), Some(content.clone())));
                }
            }
            changed.set(files.len() as u64);
            Ok(Plan::new(format!("Import {} files", files.len()), files))
        })?;
        done += some.len() as u64;
        report.files += changed.get();
        report.unchanged += some.len() as u64 - changed.get();
        tell(Progress::new("files", done, all));
    }
    lease.tidy()?;
    Ok(report)
}

/// Every file below a folder, by its path from there; nothing that begins with a dot, and no symbolic link.
fn list(folder: &Path, prefix: &str, found: &mut Vec<String>) -> Outcome<()> {
    let mut entries = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (name, kind) = (entry.file_name().to_string_lossy().into_owned(), entry.file_type()?);
        if name.starts_with('.') || kind.is_symlink() {
            continue;
        }
        if kind.is_dir() {
            list(&entry.path(), &format!("{prefix}{name}/"), found)?;
        } else {
            found.push(format!("{prefix}{name}"));
        }
    }
    Ok(())
}

fn content(from: &Path, path: &str, is_term: bool) -> Result<Content, String> {
    let file = from.join(path);
    let bytes = fs::metadata(&file).map_err(|error| error.to_string())?.len();
    if bytes > FILE_BYTES_MAX {
        return Err(format!("has {bytes} bytes, more than {FILE_BYTES_MAX}"));
    }
    let bytes = fs::read(&file).map_err(|error| error.to_string())?;
    if is_term {
        return TermFile::parse(&bytes).map(Content::Term).map_err(|error| error.to_string());
    }
    path.parse::<MemoryPath>().map_err(|error| error.to_string())?;
    MemoryFile::parse(&bytes).map(|file| Content::Memory(Box::new(file))).map_err(|error| error.to_string())
}

fn bundle(service: &Service, namespace: &NamespaceRecord, from: &Path, tell: &dyn Fn(Progress)) -> Outcome<Report> {
    // Taken apart where nothing else is, on the same file system, and looked at before anything of it is believed.
    let aside = service.config.data.join("trash").join(Ulid::generate().to_string());
    let adopted = take_apart(service, namespace, from, &aside, tell);
    let _ = fs::remove_dir_all(&aside);
    adopted
}

fn take_apart(
    service: &Service,
    namespace: &NamespaceRecord,
    from: &Path,
    aside: &Path,
    tell: &dyn Fn(Progress),
) -> Outcome<Report> {
    let wrong = |message: &str| wrong(from, message);
    let told = |error: cuebase_storage::Error| match error {
        cuebase_storage::Error::Invalid { .. } => wrong(&error.to_string()),
        other => other.into(),
    };
    fs::create_dir_all(aside)?;
    let history = Repository::open_or_create(&aside.join("history.git"))?;
    tell(Progress::new("objects read", 0, 0));
    let head = history.unbundle(from).map_err(told)?;
    let inspected = history.inspect(head, |objects| tell(Progress::new("objects checked", objects, 0)))?;
    problems(from, &inspected.wrong)?;
    let lease = service.namespaces.lease(&namespace.account, &namespace.name)?;
    let before = lease.repository().head()?;
    lease.adopt(&history, head).map_err(|failure| match failure {
        Failure::Invalid { message, .. } => {
            wrong(&format!("{message}: import it into an empty namespace, or its files as a folder"))
        }
        other => other,
    })?;
    Ok(Report { histories: u64::from(before != Some(head)), ..Report::default() })
}
