//! The LoCoMo format (Maharana et al., 2024): conversations over months, with questions and the turns that answer them.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Context;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

/// Category of a question that the conversation does not answer.
pub const UNANSWERABLE: u64 = 5;
/// Of the questions about other conversations, one in this many is put to a conversation.
const OFF_TOPIC_STEP: usize = 4;

/// One conversation with its questions.
pub struct Sample {
    /// The id in the file.
    pub id: String,
    /// Request bodies, one per session, in order.
    pub sessions: Vec<Map<String, Value>>,
    /// The text of every turn by the turn's id.
    pub turns: HashMap<String, String>,
    /// The questions about this conversation.
    pub questions: Vec<Question>,
    /// Questions about other conversations, which nothing in this one answers.
    pub off_topic: Vec<Question>,
}

/// A question with the turns that answer it.
#[derive(Clone)]
pub struct Question {
    /// The words of the question.
    pub text: String,
    /// 1 to 4, or [`UNANSWERABLE`].
    pub category: u64,
    /// The ids of the turns that answer the question.
    pub evidence: Vec<String>,
}

impl Sample {
    /// Cuts the sample into windows of `sessions` sessions, each with the questions that it answers by itself. A window
    /// is as large as a small namespace.
    pub fn windows(&self, sessions: usize) -> Vec<Self> {
        let mut windows = Vec::new();
        for part in self.sessions.chunks(sessions) {
            windows.push(self.window(part));
        }
        windows
    }

    fn window(&self, sessions: &[Map<String, Value>]) -> Self {
        let mut ids = Vec::with_capacity(sessions.len());
        for body in sessions {
            if let Some(Value::String(id)) = body.get("session_id") {
                ids.push(id.clone());
            }
        }
        let mut questions = Vec::new();
        let mut elsewhere = Vec::new();
        for question in &self.questions {
            if question.category == UNANSWERABLE || question.evidence.is_empty() {
                continue;
            }
            let inside = question.evidence.iter().filter(|turn| ids.contains(&session_of(turn))).count();
            if inside == question.evidence.len() {
                questions.push(question.clone());
            } else if inside == 0 {
                elsewhere.push(question.clone());
            }
        }
        Self {
            id: self.id.clone(),
            sessions: sessions.to_vec(),
            turns: self.turns.clone(),
            questions,
            off_topic: elsewhere.into_iter().step_by(OFF_TOPIC_STEP).collect(),
        }
    }
}

/// Returns the id of the session that a turn such as `D3:14` belongs to.
fn session_of(turn: &str) -> String {
    let number = turn.trim_start_matches('D').split(':').next().unwrap_or("");
    format!("session-{number}")
}

/// Reads a file of conversations.
pub fn read(path: &Path) -> anyhow::Result<Vec<Sample>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let values: Vec<Value> =
        serde_json::from_str(&text).context("the file must contain a JSON array of conversations")?;
    let mut samples = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        samples.push(sample(value).with_context(|| format!("conversation {index}"))?);
    }
    // Each conversation is also asked questions about the next one.
    for index in 0..samples.len() {
        let next = (index + 1) % samples.len();
        if next != index {
            let answerable = samples[next].questions.iter().filter(|question| question.category != UNANSWERABLE);
            samples[index].off_topic = answerable.step_by(OFF_TOPIC_STEP).cloned().collect();
        }
    }
    Ok(samples)
}

fn sample(value: &Value) -> anyhow::Result<Sample> {
    let id = value["sample_id"].as_str().context("no sample_id")?.to_owned();
    let conversation = &value["conversation"];
    let mut sessions = Vec::new();
    let mut turns = HashMap::new();
    for number in session_numbers(conversation.as_object().context("no conversation")?) {
        sessions.push(session(conversation, number, &mut turns)?);
    }
    let mut questions = Vec::new();
    for question in value["qa"].as_array().context("no qa")? {
        questions.push(Question {
            text: question["question"].as_str().unwrap_or("").to_owned(),
            category: question["category"].as_u64().unwrap_or(0),
            evidence: evidence(&question["evidence"], &turns),
        });
    }
    Ok(Sample { id, sessions, questions, turns, off_topic: Vec::new() })
}

/// Returns the numbers of a conversation's sessions, ascending.
fn session_numbers(conversation: &Map<String, Value>) -> Vec<u32> {
    let mut numbers = Vec::new();
    for key in conversation.keys() {
        if let Some(rest) = key.strip_prefix("session_")
            && let Ok(number) = rest.parse()
        {
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    numbers
}

/// Returns the request body of a session, and adds the session's turns by their ids.
fn session(
    conversation: &Value,
    number: u32,
    turns: &mut HashMap<String, String>,
) -> anyhow::Result<Map<String, Value>> {
    let date = conversation[format!("session_{number}_date_time")].as_str().context("a session has no date")?;
    let date = DateTime::strptime("%I:%M %p on %d %B, %Y", date)?;
    let at = date.to_zoned(TimeZone::UTC)?.timestamp();
    let first_speaker = conversation["speaker_a"].as_str().unwrap_or("");
    let mut messages = Vec::new();
    for turn in conversation[format!("session_{number}")].as_array().context("a session must be an array")? {
        let speaker = turn["speaker"].as_str().unwrap_or("");
        let mut text = turn["text"].as_str().unwrap_or("").to_owned();
        let caption = turn["blip_caption"].as_str().unwrap_or("");
        if !caption.is_empty() {
            text.push_str(&format!(" [shares a photo: {caption}]"));
        }
        let role = if speaker == first_speaker { "user" } else { "assistant" };
        messages.push(json!({"role": role, "name": speaker, "content": text}));
        turns.insert(turn["dia_id"].as_str().unwrap_or("").to_owned(), text);
    }
    let mut body = Map::new();
    body.insert("session_id".into(), json!(format!("session-{number}")));
    body.insert("messages".into(), Value::Array(messages));
    body.insert("occurred_at".into(), json!(at.to_string()));
    Ok(body)
}

/// Returns the ids of turns such as `D3:14`. A text may contain several ids; ids without a turn are left out.
fn evidence(value: &Value, turns: &HashMap<String, String>) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    let Some(texts) = value.as_array() else { return ids };
    for text in texts {
        let Some(text) = text.as_str() else { continue };
        for part in text.split(|c: char| !(c.is_ascii_digit() || c == 'D' || c == ':')) {
            if turns.contains_key(part) && !ids.iter().any(|id| id == part) {
                ids.push(part.to_owned());
            }
        }
    }
    ids
}
