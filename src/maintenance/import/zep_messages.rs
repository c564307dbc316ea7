//! Messages and episodes of Zep and Graphiti as conversations.
//!
//! A message of Zep's `GET …/threads/{id}/messages` has `role` and `name`. An episode of Zep has the role in
//! `role_type` (version 3) or `role` (version 4). An episode of Graphiti with the source `message` has the speaker in its text:
//! `actor: content`, or `name(role): content` if its server wrote it.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::archives::add_conversation;
use super::conversations::{ArchiveContent, Archived};
use super::{facts, json_file};
use crate::memory::conversation::{Message, Moment, Role};
use crate::memory::values::NAME_CHARS_MAX;

/// Characters of a speaker before the colon in the text of an episode.
const ACTOR_CHARS_MAX: usize = 64;
/// Words of a speaker at the beginning of a line. More words are rather the beginning of a sentence.
const LINE_ACTOR_WORDS_MAX: usize = 2;

/// A message of a thread or an episode of a graph.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Entry {
    uuid: String,
    content: Option<String>,
    role: Option<String>,
    role_type: Option<String>,
    role_name: Option<String>,
    /// The speaker of a message; of an episode of Graphiti, the name of the episode.
    name: Option<String>,
    /// Of an episode: `message`, `text`, `json` or `fact_triple`.
    source: Option<String>,
    thread_id: Option<String>,
    thread_uuid: Option<String>,
    created_at: Option<String>,
    /// When the content was said.
    reference_time: Option<String>,
    valid_at: Option<String>,
}

/// Who said something.
#[derive(Clone, Debug, PartialEq)]
struct Speaker {
    role: Role,
    name: Option<String>,
}

/// The conversations of an export.
#[derive(Debug, Default)]
pub(super) struct Threads {
    threads: Vec<Thread>,
    /// Position in `threads` by id.
    positions: HashMap<String, usize>,
    page: PageThread,
    /// Number of entries that hold nothing to remember.
    skipped: u64,
    /// Number of episodes with structured data.
    structured: u64,
}

/// The thread that a page of messages belongs to.
#[derive(Debug, Default)]
struct PageThread {
    /// Its id, or that of its first message if the page does not say.
    id: Option<String>,
    /// The number of messages of the thread.
    total: Option<u64>,
}

#[derive(Debug, Default)]
struct Thread {
    id: String,
    messages: Vec<Message>,
    /// Number of messages in the file, including those that are skipped.
    listed: u64,
    total: Option<u64>,
}

/// The result of reading messages and episodes.
#[derive(Debug, Default)]
pub(super) struct ThreadContent {
    pub(super) conversations: Vec<Archived>,
    /// Number of entries that hold nothing to remember.
    pub(super) skipped: u64,
    pub(super) warnings: Vec<String>,
}

impl Threads {
    /// Begins a page. Its fields tell the thread of its messages: those of version 3 have no thread of their own.
    pub(super) fn begin_page(&mut self, fields: &Map<String, Value>) {
        let user = text_field(fields, "user_id").or(text_field(fields, "user_uuid"));
        let id = match (user, text_field(fields, "thread_created_at")) {
            (Some(user), Some(created)) => Some(format!("{user}:{created}")),
            _ => None,
        };
        let total = fields.get("total_count").or(fields.get("total_size"));
        self.page = PageThread { id, total: total.and_then(Value::as_u64) };
    }

    /// Adds a message or an episode.
    pub(super) fn add(&mut self, entry: &Value) -> Result<(), String> {
        let entry: Entry = json_file::decode(entry)?;
        let said_at = match (&entry.reference_time, &entry.valid_at) {
            (Some(_), _) => facts::moment("reference_time", entry.reference_time.as_deref())?,
            (None, Some(_)) => facts::moment("valid_at", entry.valid_at.as_deref())?,
            (None, None) => facts::moment("created_at", entry.created_at.as_deref())?,
        };
        if matches!(entry.source.as_deref(), Some("json" | "fact_triple")) {
            self.structured += 1;
            self.skipped += 1;
            return Ok(());
        }
        let messages = entry.messages(said_at);
        self.skipped += u64::from(messages.is_empty());
        let total = self.page.total;
        let thread = self.thread_of(&entry)?;
        thread.listed += 1;
        thread.total = thread.total.max(total);
        thread.messages.extend(messages);
        Ok(())
    }

    fn thread_of(&mut self, entry: &Entry) -> Result<&mut Thread, String> {
        let own = entry.thread_uuid.as_ref().or(entry.thread_id.as_ref());
        let id = match (own, &self.page.id) {
            (Some(own), _) => own.clone(),
            (None, Some(page)) if entry.source.is_none() => page.clone(),
            _ if entry.uuid.is_empty() => return Err("uuid is missing".into()),
            _ => entry.uuid.clone(),
        };
        // Messages of a page without a thread belong together; episodes without a thread do not.
        if own.is_none() && entry.source.is_none() && self.page.id.is_none() {
            self.page.id = Some(id.clone());
        }
        let next = self.threads.len();
        let position = *self.positions.entry(id.clone()).or_insert(next);
        if position == next {
            self.threads.push(Thread { id, ..Thread::default() });
        }
        Ok(&mut self.threads[position])
    }

    /// Returns the conversations. Messages are in the order of their times.
    pub(super) fn finish(self) -> ThreadContent {
        let mut content = ArchiveContent::default();
        let mut warnings = Vec::new();
        for mut thread in self.threads {
            let what = format!("messages of the thread {}", thread.id);
            let remedy = "append the other pages to the file";
            warnings.extend(json_file::missing_entries(thread.listed, thread.total, &what, remedy));
            if thread.messages.iter().all(|message| message.occurred_at.is_some()) {
                thread.messages.sort_by_key(|message| message.occurred_at.map(|moment| moment.at));
            }
            add_conversation(&mut content, format!("zep:{}", thread.id), thread.messages);
        }
        if self.structured > 0 {
            warnings
                .push(format!("{} episodes with structured data were skipped: only text is imported", self.structured));
        }
        // Conversations without messages consist of entries that are counted already.
        ThreadContent { conversations: content.conversations, skipped: self.skipped, warnings }
    }
}

fn text_field<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str)
}

impl Entry {
    /// Returns the messages of the entry. Instructions and results of tools are left out.
    fn messages(&self, said_at: Option<Moment>) -> Vec<Message> {
        let text = self.content.as_deref().unwrap_or_default();
        let mut messages = Vec::new();
        for (speaker, text) in self.statements(text) {
            let Some(speaker) = speaker else { continue };
            if text.trim().is_empty() {
                continue;
            }
            messages.push(Message {
                role: speaker.role,
                name: speaker.name,
                text: text.to_owned(),
                references: Vec::new(),
                occurred_at: said_at,
                store: true,
            });
        }
        messages
    }

    /// Returns the statements of a text with their speakers. A speaker is `None` if the statement is not imported.
    fn statements<'a>(&self, text: &'a str) -> Vec<(Option<Speaker>, &'a str)> {
        let (role, name) = match (&self.source, &self.role_type) {
            (None, _) => (self.role.as_deref(), self.name.as_deref()),
            (Some(_), Some(role)) => (Some(role.as_str()), self.role.as_deref()),
            (Some(_), None) => (self.role.as_deref(), self.role_name.as_deref()),
        };
        if role.is_none() && self.source.as_deref() == Some("message") {
            return statements_with_actors(text);
        }
        vec![(speaker(role, name), text)]
    }
}

/// Reads the text of an episode of Graphiti: one statement on each line if all lines begin with a short actor, else one
/// statement.
fn statements_with_actors(text: &str) -> Vec<(Option<Speaker>, &str)> {
    let mut statements = Vec::new();
    for line in text.lines() {
        if line.trim().is_empty() {
            continue;
        }
        match split_actor(line, LINE_ACTOR_WORDS_MAX) {
            Some(statement) => statements.push(statement),
            None => return vec![split_actor(text, usize::MAX).unwrap_or((speaker(None, None), text))],
        }
    }
    statements
}

/// Splits a text at its actor: `actor: content` or `name(role): content`. Returns `None` if the text has no actor, or one
/// with too many words.
fn split_actor(text: &str, words_max: usize) -> Option<(Option<Speaker>, &str)> {
    let (actor, content) = text.split_once(": ")?;
    if actor.contains('\n') || actor.chars().count() > ACTOR_CHARS_MAX {
        return None;
    }
    let (name, role) = match actor.strip_suffix(')').and_then(|actor| actor.split_once('(')) {
        Some((name, role)) => (name, role),
        // An actor is a role or a name.
        None => (actor, actor),
    };
    let words = name.split_whitespace().count();
    if actor.trim().is_empty() || words > words_max {
        return None;
    }
    Some((speaker(Some(role), Some(name)), content))
}

/// Returns the speaker of a role, or `None` if the words of the role are not imported.
fn speaker(role: Option<&str>, name: Option<&str>) -> Option<Speaker> {
    let role = match role.unwrap_or_default().to_lowercase().as_str() {
        "assistant" => Role::Assistant,
        "system" | "function" | "tool" => return None,
        _ => Role::User,
    };
    let name = name.unwrap_or_default().trim();
    let is_label = ["user", "assistant"].contains(&name.to_lowercase().as_str());
    let is_valid = name.chars().count() <= NAME_CHARS_MAX && !name.chars().any(char::is_control);
    let name = if name.is_empty() || is_label || !is_valid { None } else { Some(name.to_owned()) };
    Some(Speaker { role, name })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns the conversations of pages: ids with texts, each preceded by its speaker.
    fn read(pages: &[Value]) -> (Vec<(String, Vec<String>)>, ThreadContent) {
        let mut threads = Threads::default();
        for page in pages {
            threads.begin_page(page.as_object().expect("an object"));
            for list in ["messages", "episodes", "items"] {
                for entry in page.get(list).and_then(Value::as_array).into_iter().flatten() {
                    threads.add(entry).expect("read");
                }
            }
        }
        let content = threads.finish();
        let mut conversations = Vec::new();
        for archived in &content.conversations {
            let mut texts = Vec::new();
            for message in &archived.conversation.messages {
                let name = message.name.as_deref().unwrap_or(message.role.label());
                texts.push(format!("{name}: {}", message.text));
            }
            conversations.push((archived.id.clone(), texts));
        }
        (conversations, content)
    }

    #[test]
    fn pages_of_a_thread_are_one_conversation() {
        let page = |rows: Value| {
            json!({"messages": rows, "row_count": 2, "total_count": 5, "user_id": "ida",
                "thread_created_at": "2026-03-01T09:00:00Z"})
        };
        let message = |uuid: &str, role: &str, content: &str, minute: u32| {
            json!({"uuid": uuid, "role": role, "name": "Ida", "content": content, "processed": true,
                "created_at": format!("2026-03-01T09:{minute:02}:00Z")})
        };
        let pages = [
            page(json!([message("m3", "user", "The boat is in Oban", 3), message("m4", "tool", "{}", 4)])),
            page(json!([message("m1", "user", "I sail", 1), message("m2", "system", "Be kind", 2)])),
        ];
        let (conversations, content) = read(&pages);
        let expected = vec!["Ida: I sail".to_owned(), "Ida: The boat is in Oban".to_owned()];
        assert_eq!(conversations, [("zep:ida:2026-03-01T09:00:00Z".to_owned(), expected)]);
        assert_eq!(content.skipped, 2);
        assert!(content.warnings[0].contains("4 of 5 messages"), "{:?}", content.warnings);
    }

    #[test]
    fn messages_of_version_4_name_their_thread() {
        let message = |thread: &str, role: &str| json!({"uuid": "m", "thread_uuid": thread, "role": role, "content": "Hello", "reference_time": "2026-03-01T09:00:00Z"});
        let items = json!([message("t1", "user"), message("t2", "assistant"), message("t1", "assistant")]);
        let (conversations, _) = read(&[json!({"items": items, "next_cursor": null, "total_size": 3})]);
        assert_eq!(
            conversations[0],
            ("zep:t1".to_owned(), vec!["User: Hello".to_owned(), "Assistant: Hello".to_owned()])
        );
        assert_eq!(conversations[1].1, ["Assistant: Hello"]);
    }

    #[test]
    fn episodes_are_read_by_their_source() {
        let episode = |uuid: &str, source: &str, content: &str| {
            json!({"uuid": uuid, "name": "m1", "group_id": "ida", "source": source, "source_description": "chat",
                "content": content, "created_at": "2026-03-01T09:01:00", "valid_at": "2026-03-01T09:00:00"})
        };
        let zep = json!({"uuid": "e6", "source": "message", "role": "Ida", "role_type": "user", "thread_id": "t",
            "content": "I sail", "created_at": "2026-03-01T09:01:00Z"});
        let episodes = json!([
            episode("e1", "message", "Ida: I moved to Skye\nassistant: Is it far?"),
            episode("e2", "message", "Ida(user): I moved.\nIt was late: ten"),
            episode("e3", "text", "The harbour: a plan"),
            episode("e4", "json", "{}"),
            episode("e5", "message", "no speaker"),
            zep,
        ]);
        let (conversations, content) = read(&[json!({"episodes": episodes})]);
        let texts: Vec<Vec<String>> = conversations.into_iter().map(|(_, texts)| texts).collect();
        assert_eq!(texts[0], ["Ida: I moved to Skye", "Assistant: Is it far?"]);
        assert_eq!(texts[1], ["Ida: I moved.\nIt was late: ten"]);
        assert_eq!(texts[2], ["User: The harbour: a plan"]);
        assert_eq!(texts[3], ["User: no speaker"]);
        assert_eq!(texts[4], ["Ida: I sail"]);
        assert_eq!((texts.len(), content.skipped), (5, 1));
        assert!(content.warnings[0].contains("1 episodes"), "{:?}", content.warnings);
        let said_at = content.conversations[0].conversation.messages[0].occurred_at.expect("a time").at;
        assert_eq!(said_at.to_string(), "2026-03-01T09:00:00Z");
    }

    #[test]
    fn a_message_without_a_thread_needs_an_id() {
        let mut threads = Threads::default();
        assert!(threads.add(&json!({"content": "x", "role": "user"})).is_err_and(|error| error.contains("uuid")));
        let late = json!({"uuid": "m", "content": "x", "created_at": "soon"});
        assert!(threads.add(&late).is_err_and(|error| error.starts_with("created_at: ")));
    }
}
