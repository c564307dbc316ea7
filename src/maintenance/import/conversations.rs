//! Import of conversations: queues their messages as if they had been posted, each message once.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;

use cuebase_storage::MessageId;
use cuebase_storage::records::{NamespaceRecord, SentTime};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;

use super::context::{Import, ImportReport};
use super::format;
use crate::error::Result;
use crate::maintenance::wait::wait_until_ingested;
use crate::memory::conversation::{Conversation, Message};
use crate::memory::fields::{Lenient, request_type};
use crate::memory::json_errors;
use crate::memory::request::{RememberRequest, decode_line};
use crate::memory::time;
use crate::secrets::fingerprint;

/// Most messages of one queued write; a longer conversation is queued in parts.
const PART_MESSAGES_MAX: usize = 200;
/// Most bytes of text of one queued write.
const PART_BYTES_MAX: usize = 1 << 20;

/// A line of JSON Lines, for errors.
const LINE_FORM: &str = r#"{"messages": [{"role": "user", "content": "I sail"}]}"#;

/// The hash by which an imported message is recognized at the next import.
type Mark = [u8; 32];

/// A message with its mark.
type MarkedMessage = (Message, Mark);

/// A conversation from an archive or export.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Archived {
    /// Id of the conversation in its source.
    pub(super) id: String,
    pub(super) conversation: Conversation,
    /// What `cuebase export` added to a kept conversation.
    pub(super) exported: Option<Exported>,
}

/// What `cuebase export` adds to a kept conversation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Exported {
    /// Id of the write that contained the conversation.
    write: MessageId,
    /// Time at which the write was accepted.
    accepted_at: Timestamp,
}

/// The conversations of an archive's file.
#[derive(Debug, Default)]
pub(super) struct ArchiveContent {
    pub(super) conversations: Vec<Archived>,
    /// Number of conversations without anything to remember.
    pub(super) empty: u64,
}

/// Reads a file of an archive.
pub(super) type ReadArchive = fn(&[u8]) -> Result<ArchiveContent, String>;

/// Imports a file with one body of `POST /v1/memories` per line.
pub(super) fn import_jsonl(import: &Import<'_>) -> Result<ImportReport> {
    let (mut conversations, mut problems) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(BufReader::new(fs::File::open(import.from)?).split(b'\n')) {
        let line = line?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        match read_line(&line, number) {
            Ok(archived) => conversations.push(archived),
            Err(error) => problems.push(error),
        }
    }
    if let Some(first) = problems.first_mut() {
        first.push_str(&format!(" (each line has the form {LINE_FORM})"));
    }
    import.ensure_no_problems(&problems)?;
    queue_conversations(import, conversations)
}

request_type! {
    /// The fields that `cuebase export` adds to a kept conversation. Other programs may use the names differently.
    #[derive(Debug, Deserialize)]
    struct ExportedFields {
        id: Option<Lenient<String>>,
        accepted_at: Option<Lenient<SentTime>>,
    }
}

/// Reads one line of a file of JSON Lines. An error begins with its number.
fn read_line(line: &[u8], number: usize) -> Result<Archived, String> {
    if let Some(problem) = json_errors::describe_encoding(line, number) {
        return Err(in_line(number, &problem));
    }
    let body: RememberRequest = decode_line(line, number).map_err(|error| in_line(number, &error))?;
    let conversation = body.conversation().map_err(|error| in_line(number, &error))?;
    let fields: ExportedFields = decode_line(line, number).map_err(|error| in_line(number, &error))?;
    let exported = fields.exported().map_err(|error| in_line(number, &error))?;
    let id = match &exported {
        Some(exported) => exported.write.to_string(),
        None => {
            // The line has no id, so its content identifies it.
            let whole = serde_json::to_vec(&conversation).map_err(|error| in_line(number, &error))?;
            data_encoding::HEXLOWER.encode(&fingerprint(&[&whole]))
        }
    };
    Ok(Archived { id, conversation, exported })
}

fn in_line(number: usize, error: &dyn std::fmt::Display) -> String {
    format!("line {number}: {error}")
}

impl ExportedFields {
    /// Checks the fields. An `id` that is not a ULID is not from an export.
    fn exported(&self) -> Result<Option<Exported>, String> {
        let Some(accepted_at) = &self.accepted_at else { return Ok(None) };
        let Some(Lenient::Valid(id)) = &self.id else { return Ok(None) };
        let Ok(write) = id.parse::<MessageId>() else { return Ok(None) };
        let form = "is not a time: use RFC 3339, such as 2026-05-01T12:00:00Z";
        let Lenient::Valid(time) = accepted_at else { return Err(format!("accepted_at: the value {form}")) };
        match time::parse_sent(time, &TimeZone::UTC).and_then(time::TimeInput::moment) {
            Some(moment) => Ok(Some(Exported { write, accepted_at: moment.at })),
            None => Err(format!("accepted_at: {time} {form}")),
        }
    }
}

/// Imports an archive of conversations: one file, or an unpacked folder.
pub(super) fn import_archive(import: &Import<'_>, read: ReadArchive) -> Result<ImportReport> {
    let files = if import.from.is_dir() {
        format::archive_files(import.from).map_err(|reason| import.invalid(&reason))?
    } else {
        vec![import.from.to_path_buf()]
    };
    if files.is_empty() {
        return Err(import.invalid("the folder has no conversations.json"));
    }
    let (mut conversations, mut problems, mut other) = (Vec::new(), Vec::new(), 0);
    for file in files {
        match read(&fs::read(&file)?) {
            Ok(content) => {
                conversations.extend(content.conversations);
                other += content.empty;
            }
            Err(reason) => problems.push(format!("{}: {reason}", file_name(&file))),
        }
    }
    import.ensure_no_problems(&problems)?;
    let report = queue_conversations(import, conversations)?;
    Ok(ImportReport { other, ..report })
}

fn file_name(file: &Path) -> String {
    match file.file_name() {
        Some(name) => Path::new(name).display().to_string(),
        None => file.display().to_string(),
    }
}

/// Queues the messages that were not imported before, and waits until they are ingested. A conversation that has grown
/// since the last import continues with its new messages.
pub(super) fn queue_conversations(import: &Import<'_>, conversations: Vec<Archived>) -> Result<ImportReport> {
    let all = conversations.len() as u64;
    let mut report = ImportReport::default();
    let namespace =
        if import.options.dry_run { import.existing_namespace()? } else { Some(import.create_namespace()?) };
    // Writes that an interrupted import left in the queue count as known, but are not ingested yet.
    let mut waiting = match &namespace {
        Some(namespace) if !import.options.dry_run => import.app.jobs.messages_of(namespace.id),
        _ => BTreeSet::new(),
    };
    for (done, archived) in (1..).zip(conversations) {
        let mut messages = mark_messages(archived.id.as_bytes(), &archived.conversation.messages);
        let before = messages.len() as u64;
        if let Some(namespace) = &namespace
            && !import.options.again
        {
            drop_known(import, namespace, archived.exported, &mut messages)?;
        }
        report.known += before - messages.len() as u64;
        report.messages += messages.len() as u64;
        report.conversations += u64::from(!messages.is_empty());
        if let Some(namespace) = &namespace
            && !import.options.dry_run
        {
            waiting.extend(queue_parts(import, namespace, &archived, messages)?);
        }
        import.progress("conversations accepted", done, all);
    }
    if let Some(namespace) = namespace {
        wait_until_ingested(import.app, &namespace.key(), waiting, import.on_progress)?;
    }
    Ok(report)
}

/// Queues the messages of a conversation in parts and returns the ids of the writes.
fn queue_parts(
    import: &Import<'_>,
    namespace: &NamespaceRecord,
    archived: &Archived,
    messages: Vec<MarkedMessage>,
) -> Result<Vec<MessageId>> {
    let accepted_at = archived.exported.map(|exported| exported.accepted_at);
    let mut writes = Vec::new();
    for Part { messages, marks } in split_into_parts(messages) {
        let part = Conversation { messages, ..archived.conversation.clone() };
        writes.push(import.app.intake.accept_import(namespace, part, &marks, accepted_at)?);
    }
    Ok(writes)
}

/// Removes the messages that the namespace has: imported before, or of a conversation that was exported from it.
fn drop_known(
    import: &Import<'_>,
    namespace: &NamespaceRecord,
    exported: Option<Exported>,
    messages: &mut Vec<MarkedMessage>,
) -> Result<()> {
    if let Some(exported) = exported
        && import.app.inspector.has_source(namespace.id, exported.write)?
    {
        messages.clear();
        return Ok(());
    }
    let marks: Vec<Mark> = messages.iter().map(|(_, mark)| *mark).collect();
    let mut is_known = import.app.intake.imported(namespace, &marks)?.into_iter();
    messages.retain(|_| !is_known.next().unwrap_or(false));
    Ok(())
}

/// Computes the mark of each message. Equal messages of a conversation get different marks: their occurrences are
/// counted.
fn mark_messages(id: &[u8], messages: &[Message]) -> Vec<MarkedMessage> {
    let mut occurrences: HashMap<Vec<u8>, u64> = HashMap::new();
    let mut marked = Vec::new();
    for message in messages {
        let text = serde_json::to_vec(message).unwrap_or_default();
        let occurrence = occurrences.entry(text.clone()).or_default();
        *occurrence += 1;
        marked.push((message.clone(), fingerprint(&[id, &text, &occurrence.to_le_bytes()])));
    }
    marked
}

/// Messages of one queued write, with their marks.
#[derive(Default)]
struct Part {
    messages: Vec<Message>,
    marks: Vec<Mark>,
}

/// Splits messages into parts that are each ingested in one step.
fn split_into_parts(messages: Vec<MarkedMessage>) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut part = Part::default();
    let mut bytes = 0;
    for (message, mark) in messages {
        bytes += message.text.len();
        let is_full = bytes > PART_BYTES_MAX || part.messages.len() == PART_MESSAGES_MAX;
        if is_full && !part.messages.is_empty() {
            bytes = message.text.len();
            parts.push(std::mem::take(&mut part));
        }
        part.messages.push(message);
        part.marks.push(mark);
    }
    if !part.messages.is_empty() {
        parts.push(part);
    }
    parts
}
