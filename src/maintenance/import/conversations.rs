//! Conversations: handed to the queue as if they had been posted, each message of them once.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cuebase_storage::records::NamespaceId;
use serde_json::{Map, Value};
use ulid::Ulid;

use super::{Import, Report, format};
use crate::api::memories::conversation;
use crate::ingest::conversation::{Conversation, Message};
use crate::service::{Failure, Outcome, fingerprint};

/// How often it is looked whether writes are ingested.
const POLL: Duration = Duration::from_millis(50);
/// A long conversation is handed over in parts of so many messages.
const PART_MESSAGES: usize = 200;
/// Or of so many bytes of text, where that is fewer messages.
const PART_BYTES: usize = 1 << 20;

/// What an imported message is known by later.
type Mark = [u8; 32];

/// A conversation from elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Archived {
    /// By what it is known where it comes from.
    pub(super) id: String,
    pub(super) conversation: Conversation,
}

/// What an archive's file holds, and how many of its conversations hold nothing to remember.
pub(super) type Read = fn(&[u8]) -> Result<(Vec<Archived>, u64), String>;

/// Conversations as the API takes them, one a line.
pub(super) fn jsonl(import: &Import<'_>) -> Outcome<Report> {
    let (mut read, mut wrong) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(BufReader::new(fs::File::open(import.from)?).lines()) {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let parsed = serde_json::from_str::<Map<String, Value>>(&line).map_err(|error| error.to_string());
        match parsed.and_then(|body| conversation(&body).map_err(|error| error.to_string())) {
            Ok(conversation) => {
                // It has no other name than what it says.
                let whole = serde_json::to_vec(&conversation).map_err(Failure::internal)?;
                let id = data_encoding::HEXLOWER.encode(&fingerprint(&[&whole]));
                read.push(Archived { id, conversation });
            }
            Err(error) => wrong.push(format!("line {number}: {error}")),
        }
    }
    import.problems(&wrong)?;
    hand_over(import, read)
}

/// An archive of conversations: one file, or the files of a folder that it was unpacked into.
pub(super) fn archive(import: &Import<'_>, read: Read) -> Outcome<Report> {
    let files = if import.from.is_dir() {
        format::archive_files(import.from).map_err(|reason| import.wrong(&reason))?
    } else {
        vec![import.from.to_path_buf()]
    };
    if files.is_empty() {
        return Err(import.wrong("there is no conversations.json in it"));
    }
    let (mut found, mut wrong, mut other) = (Vec::new(), Vec::new(), 0);
    for file in files {
        match read(&fs::read(&file)?) {
            Ok((conversations, empty)) => {
                found.extend(conversations);
                other += empty;
            }
            Err(reason) => wrong.push(format!("{}: {reason}", named(&file))),
        }
    }
    import.problems(&wrong)?;
    let report = hand_over(import, found)?;
    Ok(Report { other, ..report })
}

fn named(file: &Path) -> String {
    file.file_name().map_or_else(|| PathBuf::from(file), PathBuf::from).display().to_string()
}

/// Hands over the messages that were not handed over before, so that what has grown since goes on where it ended.
fn hand_over(import: &Import<'_>, conversations: Vec<Archived>) -> Outcome<Report> {
    let all = conversations.len() as u64;
    let mut report = Report::default();
    let namespace = match import.options.dry_run {
        true => import.known()?,
        false => Some(import.namespace()?),
    };
    // What an import that was stopped left waiting is known already, but not yet in.
    let mut waiting = match &namespace {
        Some(namespace) if !import.options.dry_run => import.service.queue.of_namespace(namespace.id),
        _ => BTreeSet::new(),
    };
    for (done, archived) in (1..).zip(conversations) {
        let mut marked = marked(archived.id.as_bytes(), &archived.conversation.messages);
        let before = marked.len() as u64;
        if let Some(namespace) = namespace.as_ref().filter(|_| !import.options.again) {
            let marks: Vec<[u8; 32]> = marked.iter().map(|(_, mark)| *mark).collect();
            let mut known = import.service.imported(namespace, &marks)?.into_iter();
            marked.retain(|_| !known.next().unwrap_or_default());
        }
        report.known += before - marked.len() as u64;
        report.messages += marked.len() as u64;
        report.conversations += u64::from(!marked.is_empty());
        if let Some(namespace) = namespace.as_ref().filter(|_| !import.options.dry_run) {
            for (messages, marks) in parts(marked) {
                let part = Conversation { messages, ..archived.conversation.clone() };
                let request = serde_json::to_value(&part).map_err(Failure::internal)?;
                waiting.insert(import.service.accept_import(namespace, request, &marks)?);
            }
        }
        import.tell("conversations accepted", done, all);
    }
    if let Some(namespace) = namespace {
        wait(import, namespace.id, waiting)?;
    }
    Ok(report)
}

/// Messages, each with what it is known by later. What is said twice in a conversation has two marks.
fn marked(id: &[u8], messages: &[Message]) -> Vec<(Message, Mark)> {
    let mut said: HashMap<Vec<u8>, u64> = HashMap::new();
    let mark = |message: &Message| {
        let text = serde_json::to_vec(message).unwrap_or_default();
        let times = said.entry(text.clone()).or_default();
        *times += 1;
        (message.clone(), fingerprint(&[id, &text, &times.to_le_bytes()]))
    };
    messages.iter().map(mark).collect()
}

/// Messages in parts that are each ingested in one step; marks go with their messages.
fn parts(marked: Vec<(Message, Mark)>) -> Vec<(Vec<Message>, Vec<Mark>)> {
    let mut parts: Vec<(Vec<Message>, Vec<Mark>)> = Vec::new();
    let mut bytes = 0;
    for (message, mark) in marked {
        bytes += message.text.len();
        if bytes > PART_BYTES || parts.last().is_none_or(|(messages, _)| messages.len() == PART_MESSAGES) {
            bytes = message.text.len();
            parts.push((Vec::new(), Vec::new()));
        }
        if let Some((messages, marks)) = parts.last_mut() {
            messages.push(message);
            marks.push(mark);
        }
    }
    parts
}

/// Waits until writes are ingested, or have failed for good.
fn wait(import: &Import<'_>, namespace: NamespaceId, mut waiting: BTreeSet<Ulid>) -> Outcome<()> {
    let all = waiting.len() as u64;
    while let Some(next) = waiting.first().copied() {
        if !import.service.store.is_queued(namespace, next)? {
            waiting.remove(&next);
            import.tell("conversations ingested", all - waiting.len() as u64, all);
        } else if import.service.queue.is_stopping() {
            // They are durable, and go on at the next start.
            return Ok(());
        } else {
            std::thread::sleep(POLL);
        }
    }
    Ok(())
}
