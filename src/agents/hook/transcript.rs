//! The transcript of a session: which lines are something that the user or the agent said.
//!
//! A transcript has one JSON object per line: prompts, answers, tool calls, their results, and notes of the agent's
//! program. Of each turn, the prompt and the last text of the agent are kept. The texts before it only announce tool
//! calls.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::file_errors::explained;

/// Characters of a message. A longer one is mostly pasted text.
const MESSAGE_CHARS_MAX: usize = 8000;
/// Bytes of messages at which a part of the transcript ends. A request may have 8 MiB.
const PART_BYTES_MAX: usize = 1 << 20;
/// The beginning of texts with the role of the user that the agent's program writes.
const NOTES: [&str; 8] = [
    "<command-",
    "<local-command-",
    "<bash-",
    "<system-reminder>",
    "<task-notification>",
    "<user-memory-input>",
    "[Request interrupted",
    "Caveat: ",
];

/// A part of a transcript, in whole lines.
#[derive(Debug)]
pub(super) struct Part {
    /// What was said, as messages of `POST /v1/memories`.
    pub(super) messages: Vec<Value>,
    /// The byte at which the part ends.
    pub(super) end: u64,
}

/// Where a part begins and ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartBounds {
    /// The byte at which the part begins.
    pub(super) begin: u64,
    /// The byte at which the part must end, if it was sent before.
    pub(super) end: Option<u64>,
    /// Lines before this time are copies from another session.
    pub(super) since: Option<Timestamp>,
}

/// Reads the part of a transcript that begins at a byte. A line without its end is left for the next time.
pub(super) fn read_part(path: &Path, bounds: PartBounds) -> anyhow::Result<Part> {
    let mut file = File::open(path).map_err(explained("read", path))?;
    file.seek(SeekFrom::Start(bounds.begin)).map_err(explained("read", path))?;
    let mut reader = BufReader::new(file);
    let mut turns = Turns::default();
    let mut end = bounds.begin;
    let mut line = Vec::new();
    while bounds.end.is_none_or(|last| end < last) && turns.bytes < PART_BYTES_MAX {
        line.clear();
        let length = reader.read_until(b'\n', &mut line).map_err(explained("read", path))?;
        if line.last() != Some(&b'\n') {
            break;
        }
        end += length as u64;
        // A line that is not JSON holds no message. The format belongs to the agent and may change.
        let Ok(entry) = serde_json::from_slice::<Value>(&line) else { continue };
        if let Some(said) = Said::of(&entry, bounds.since) {
            turns.add(said);
        }
    }
    Ok(Part { messages: turns.finish(), end })
}

/// Something that was said.
struct Said {
    role: Role,
    text: String,
    time: Option<Timestamp>,
}

/// Who said it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
}

impl Said {
    /// Returns what a line says; `None` if it is a note of the agent's program, or older than the session.
    fn of(entry: &Value, since: Option<Timestamp>) -> Option<Self> {
        let (role, content) = content_of(entry)?;
        for flag in ["isMeta", "isSidechain", "isCompactSummary", "isApiErrorMessage"] {
            if entry[flag] == true {
                return None;
            }
        }
        let time = match entry["timestamp"].as_str() {
            Some(text) => text.parse::<Timestamp>().ok(),
            None => None,
        };
        if let (Some(time), Some(since)) = (time, since)
            && time < since
        {
            return None;
        }
        let text = text_of(content);
        let text = text.trim();
        let is_note = role == Role::User && NOTES.iter().any(|note| text.starts_with(note));
        if text.is_empty() || is_note { None } else { Some(Self { role, text: shortened(text), time }) }
    }

    fn message(&self) -> Value {
        let role = match self.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let mut message = json!({"role": role, "content": self.text});
        if let Some(time) = self.time {
            message["occurred_at"] = json!(time.to_string());
        }
        message
    }
}

/// Returns who says something in a line, and its content. `None` for other lines.
fn content_of(entry: &Value) -> Option<(Role, &Value)> {
    match entry["type"].as_str()? {
        "user" => Some((Role::User, &entry["message"]["content"])),
        "assistant" => Some((Role::Assistant, &entry["message"]["content"])),
        // A prompt that was typed while the agent worked.
        "attachment" => {
            let attachment = &entry["attachment"];
            let is_prompt = attachment["type"] == "queued_command"
                && attachment["commandMode"] == "prompt"
                && attachment["isMeta"] != true;
            if is_prompt { Some((Role::User, &attachment["prompt"])) } else { None }
        }
        _ => None,
    }
}

/// Returns the text of a message: its string, or its text blocks. Tool calls, results and thoughts are left out.
fn text_of(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let mut texts = Vec::new();
    for block in content.as_array().into_iter().flatten() {
        if block["type"] == "text"
            && let Some(text) = block["text"].as_str()
        {
            texts.push(text);
        }
    }
    texts.join("\n\n")
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Collects the messages of turns.
#[derive(Default)]
struct Turns {
    messages: Vec<Value>,
    /// The last text of the agent since the last prompt.
    answer: Option<Said>,
    /// Bytes of the collected texts.
    bytes: usize,
}

impl Turns {
    fn add(&mut self, said: Said) {
        if said.role == Role::Assistant {
            self.answer = Some(said);
            return;
        }
        self.end_turn();
        self.bytes += said.text.len();
        self.messages.push(said.message());
    }

    fn end_turn(&mut self) {
        if let Some(answer) = self.answer.take() {
            self.bytes += answer.text.len();
            self.messages.push(answer.message());
        }
    }

    fn finish(mut self) -> Vec<Value> {
        self.end_turn();
        self.messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: PartBounds = PartBounds { begin: 0, end: None, since: None };

    fn line(kind: &str, content: &Value, second: u32) -> Value {
        let timestamp = format!("2026-05-04T09:00:{second:02}Z");
        let message = json!({"role": kind, "content": content});
        json!({"type": kind, "isSidechain": false, "timestamp": timestamp, "message": message})
    }

    fn typed_meanwhile(prompt: &str, mode: &str) -> Value {
        let attachment = json!({"type": "queued_command", "prompt": prompt, "commandMode": mode});
        json!({"type": "attachment", "timestamp": "2026-05-04T09:00:05Z", "attachment": attachment})
    }

    /// Returns the role and the text of each message in a transcript.
    fn said(lines: &[Value], bounds: PartBounds) -> Vec<String> {
        let folder = tempfile::tempdir().expect("temporary directory");
        let path = folder.path().join("session.jsonl");
        let mut text = String::new();
        for line in lines {
            text.push_str(&format!("{line}\n"));
        }
        std::fs::write(&path, text).expect("writes");
        let part = read_part(&path, bounds).expect("reads");
        let mut said = Vec::new();
        for message in &part.messages {
            said.push(format!(
                "{}: {}",
                message["role"].as_str().expect("a role"),
                message["content"].as_str().expect("a text")
            ));
        }
        said
    }

    #[test]
    fn a_turn_is_the_prompt_and_the_last_text_of_the_agent() {
        let mut meta = line("user", &json!("injected"), 5);
        meta["isMeta"] = json!(true);
        let mut subagent = line("assistant", &json!([{"type": "text", "text": "from a subagent"}]), 6);
        subagent["isSidechain"] = json!(true);
        let lines = [
            json!({"type": "queue-operation", "content": "Which port?"}),
            line("user", &json!("Which port?"), 1),
            line("assistant", &json!([{"type": "thinking", "thinking": "hm"}]), 2),
            line("assistant", &json!([{"type": "text", "text": "I will look."}]), 2),
            line("assistant", &json!([{"type": "tool_use", "name": "Read", "input": {}}]), 2),
            line("user", &json!([{"type": "tool_result", "content": "8443"}]), 3),
            subagent,
            line("assistant", &json!([{"type": "text", "text": "Port 8443."}]), 4),
            typed_meanwhile("And for production?", "prompt"),
            typed_meanwhile("a task has ended", "task-notification"),
            meta,
            line("user", &json!("<command-name>/clear</command-name>"), 7),
            line("user", &json!([{"type": "text", "text": "Thanks."}, {"type": "image"}]), 8),
            json!(["not", "an", "object"]),
        ];
        let all = said(&lines, ALL);
        assert_eq!(all, ["user: Which port?", "assistant: Port 8443.", "user: And for production?", "user: Thanks."]);
        let since = Some("2026-05-04T09:00:04Z".parse().expect("a time"));
        assert_eq!(said(&lines, PartBounds { since, ..ALL }), all[1..]);
    }

    #[test]
    fn an_unfinished_line_is_left_for_the_next_time() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let path = folder.path().join("session.jsonl");
        let first = format!("{}\n", line("user", &json!("First."), 1));
        let second = format!("not JSON\n{}\n", line("user", &json!("Second."), 2));
        std::fs::write(&path, format!("{first}{}", &second[..30])).expect("writes");
        let part = read_part(&path, ALL).expect("reads");
        let begin = (first.len() + "not JSON\n".len()) as u64;
        assert_eq!((part.messages.len(), part.end), (1, begin));
        std::fs::write(&path, format!("{first}{second}")).expect("writes");
        let rest = read_part(&path, PartBounds { begin, ..ALL }).expect("reads");
        assert_eq!(rest.messages[0]["content"], "Second.");
        let again = read_part(&path, PartBounds { end: Some(begin), ..ALL }).expect("reads");
        assert_eq!((again.messages, again.end), (part.messages, begin), "a part can be read again as it was");
    }

    #[test]
    fn a_pasted_file_is_cut() {
        let pasted = "ü".repeat(MESSAGE_CHARS_MAX + 5);
        let said = said(&[line("user", &json!(pasted), 1)], ALL);
        assert_eq!(said[0].chars().count(), "user: ".len() + MESSAGE_CHARS_MAX + 1);
    }
}
