//! Conversations: handed to the queue as if they had been posted, each message of them once.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use cuebase_storage::records::NamespaceRecord;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};
use ulid::Ulid;

use super::{Import, Report, format};
use crate::error::{Error, Result};
use crate::maintenance::wait_until_ingested;
use crate::memory::conversation::{Conversation, Message};
use crate::memory::request::conversation;
use crate::memory::time;
use crate::secrets::fingerprint;

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
    /// What a Cuebase noted of it, where that exported it.
    pub(super) exported: Option<Exported>,
}

/// What an export tells of a kept conversation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Exported {
    /// The id of the write that carried it.
    write: Ulid,
    /// When that was accepted.
    accepted_at: Timestamp,
}

/// What an archive's file holds, and how many of its conversations hold nothing to remember.
pub(super) type Read = fn(&[u8]) -> Result<(Vec<Archived>, u64), String>;

/// Conversations as the API takes them, one a line.
pub(super) fn jsonl(import: &Import<'_>) -> Result<Report> {
    let (mut read, mut wrong) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(BufReader::new(fs::File::open(import.from)?).lines()) {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        match read_line(&line) {
            Ok(archived) => read.push(archived),
            Err(error) => wrong.push(format!("line {number}: {error}")),
        }
    }
    import.problems(&wrong)?;
    hand_over(import, read)
}

/// One conversation of a file of JSON Lines.
fn read_line(line: &str) -> Result<Archived, String> {
    let body: Map<String, Value> = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let conversation = conversation(&body).map_err(|error| error.to_string())?;
    let exported = exported(&body)?;
    let id = match &exported {
        Some(exported) => exported.write.to_string(),
        None => {
            // It has no other name than what it says.
            let whole = serde_json::to_vec(&conversation).map_err(|error| error.to_string())?;
            data_encoding::HEXLOWER.encode(&fingerprint(&[&whole]))
        }
    };
    Ok(Archived { id, conversation, exported })
}

/// What `cuebase export` adds to a kept conversation. A line with an `id` of another kind is anybody's.
fn exported(body: &Map<String, Value>) -> Result<Option<Exported>, String> {
    let Some(accepted_at) = body.get("accepted_at") else { return Ok(None) };
    let Some(id) = body.get("id").and_then(Value::as_str) else { return Ok(None) };
    let Ok(write) = id.parse::<Ulid>() else { return Ok(None) };
    match time::parse_json(accepted_at, &TimeZone::UTC).and_then(time::TimeInput::moment) {
        Some(moment) => Ok(Some(Exported { write, accepted_at: moment.at })),
        None => Err(format!("accepted_at: {accepted_at} is not a time: use RFC 3339, such as 2026-05-01T12:00:00Z")),
    }
}

/// An archive of conversations: one file, or the files of a folder that it was unpacked into.
pub(super) fn archive(import: &Import<'_>, read: Read) -> Result<Report> {
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
fn hand_over(import: &Import<'_>, conversations: Vec<Archived>) -> Result<Report> {
    let all = conversations.len() as u64;
    let mut report = Report::default();
    let namespace = match import.options.dry_run {
        true => import.known()?,
        false => Some(import.namespace()?),
    };
    // What an import that was stopped left waiting is known already, but not yet in.
    let mut waiting = match &namespace {
        Some(namespace) if !import.options.dry_run => import.service.queue.messages_of(namespace.id),
        _ => BTreeSet::new(),
    };
    for (done, archived) in (1..).zip(conversations) {
        let accepted_at = archived.exported.map(|exported| exported.accepted_at);
        let mut marked = marked(archived.id.as_bytes(), &archived.conversation.messages);
        let before = marked.len() as u64;
        if let Some(namespace) = namespace.as_ref().filter(|_| !import.options.again) {
            drop_known(import, namespace, archived.exported, &mut marked)?;
        }
        report.known += before - marked.len() as u64;
        report.messages += marked.len() as u64;
        report.conversations += u64::from(!marked.is_empty());
        if let Some(namespace) = namespace.as_ref().filter(|_| !import.options.dry_run) {
            for (messages, marks) in parts(marked) {
                let part = Conversation { messages, ..archived.conversation.clone() };
                let request = serde_json::to_value(&part).map_err(Error::internal)?;
                waiting.insert(import.service.accept_import(namespace, request, &marks, accepted_at)?);
            }
        }
        import.tell("conversations accepted", done, all);
    }
    if let Some(namespace) = namespace {
        wait_until_ingested(import.service, namespace.id, waiting, import.tell)?;
    }
    Ok(report)
}

/// Leaves out the messages that a namespace has: imported before, or of a conversation that was exported from it.
fn drop_known(
    import: &Import<'_>,
    namespace: &NamespaceRecord,
    exported: Option<Exported>,
    marked: &mut Vec<(Message, Mark)>,
) -> Result<()> {
    if let Some(exported) = exported
        && import.service.store.has_source(namespace.id, exported.write)?
    {
        marked.clear();
        return Ok(());
    }
    let marks: Vec<Mark> = marked.iter().map(|(_, mark)| *mark).collect();
    let mut known = import.service.imported(namespace, &marks)?.into_iter();
    marked.retain(|_| !known.next().unwrap_or_default());
    Ok(())
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
