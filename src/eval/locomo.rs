//! The LoCoMo format (Maharana et al., 2024): conversations over months, with questions and the turns that answer them.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Context;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

/// One conversation with its questions.
pub struct Sample {
    /// Its id in the file.
    pub id: String,
    /// Request bodies, one a session, in order.
    pub sessions: Vec<Map<String, Value>>,
    /// The text of every turn by its id.
    pub turns: HashMap<String, String>,
    /// What is asked.
    pub questions: Vec<Question>,
    /// Questions about what was said elsewhere, so that nothing here answers them.
    pub astray: Vec<Question>,
}

/// Of so many questions about something else, one is put to a conversation.
const ASTRAY_SHARE: usize = 4;

/// A question.
#[derive(Clone)]
pub struct Question {
    /// Its words.
    pub text: String,
    /// 1 to 4; 5 has no answer in the conversation.
    pub category: u64,
    /// The ids of the turns that answer it.
    pub evidence: Vec<String>,
}

impl Sample {
    /// The sample cut into runs of so many sessions, each with the questions that it can answer by itself: what
    /// retrieval meets in a small namespace.
    pub fn windows(&self, sessions: usize) -> Vec<Self> {
        let mut windows = Vec::new();
        for part in self.sessions.chunks(sessions) {
            let names: Vec<&str> = part.iter().filter_map(|body| body.get("session_id")?.as_str()).collect();
            let inside = |id: &String| {
                let number = id.trim_start_matches('D').split(':').next().unwrap_or_default();
                names.contains(&format!("session-{number}").as_str())
            };
            let answerable = |question: &&Question| {
                question.category != 5 && !question.evidence.is_empty() && question.evidence.iter().all(inside)
            };
            let elsewhere = |question: &&Question| {
                question.category != 5 && !question.evidence.is_empty() && !question.evidence.iter().any(inside)
            };
            windows.push(Self {
                id: self.id.clone(),
                sessions: part.to_vec(),
                turns: self.turns.clone(),
                questions: self.questions.iter().filter(answerable).cloned().collect(),
                astray: self.questions.iter().filter(elsewhere).step_by(ASTRAY_SHARE).cloned().collect(),
            });
        }
        windows
    }
}

/// Reads a file.
pub fn read(path: &Path) -> anyhow::Result<Vec<Sample>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let samples: Vec<Value> = serde_json::from_str(&text).context("the file is no JSON array of conversations")?;
    let samples = samples.iter().enumerate();
    let samples = samples.map(|(n, value)| sample(value).with_context(|| format!("conversation {n}")));
    let mut samples = samples.collect::<anyhow::Result<Vec<Sample>>>()?;
    // Each conversation is also asked what the next one answers.
    for n in 0..samples.len() {
        let next = (n + 1) % samples.len();
        if next != n {
            let answerable = samples[next].questions.iter().filter(|question| question.category != 5);
            samples[n].astray = answerable.step_by(ASTRAY_SHARE).cloned().collect();
        }
    }
    Ok(samples)
}

fn sample(value: &Value) -> anyhow::Result<Sample> {
    let id = value["sample_id"].as_str().context("no sample_id")?.to_owned();
    let conversation = value["conversation"].as_object().context("no conversation")?;
    let first = conversation.get("speaker_a").and_then(Value::as_str).unwrap_or_default();
    let numbers = conversation.keys().filter_map(|key| key.strip_prefix("session_")?.parse::<u32>().ok());
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    let (mut sessions, mut turns) = (Vec::new(), HashMap::new());
    for number in numbers {
        let date = conversation.get(&format!("session_{number}_date_time")).and_then(Value::as_str);
        let date = DateTime::strptime("%I:%M %p on %d %B, %Y", date.context("a session has no date")?)?;
        let at = date.to_zoned(TimeZone::UTC)?.timestamp();
        let mut messages = Vec::new();
        for turn in conversation[&format!("session_{number}")].as_array().context("a session is no list")? {
            let speaker = turn["speaker"].as_str().unwrap_or_default();
            let mut text = turn["text"].as_str().unwrap_or_default().to_owned();
            if let Some(caption) = turn["blip_caption"].as_str().filter(|caption| !caption.is_empty()) {
                text.push_str(&format!(" [shares a photo: {caption}]"));
            }
            let role = if speaker == first { "user" } else { "assistant" };
            messages.push(json!({"role": role, "name": speaker, "content": text}));
            turns.insert(turn["dia_id"].as_str().unwrap_or_default().to_owned(), text);
        }
        let body =
            json!({"session_id": format!("session-{number}"), "messages": messages, "occurred_at": at.to_string()});
        sessions.extend(body.as_object().cloned());
    }
    let questions = value["qa"].as_array().context("no qa")?.iter().map(|question| Question {
        text: question["question"].as_str().unwrap_or_default().to_owned(),
        category: question["category"].as_u64().unwrap_or_default(),
        evidence: evidence(&question["evidence"], &turns),
    });
    Ok(Sample { id, sessions, questions: questions.collect(), turns, astray: Vec::new() })
}

/// Turn ids like `D3:14`, also where several stand in one text; ids of no turn are left out.
fn evidence(value: &Value, turns: &HashMap<String, String>) -> Vec<String> {
    let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut ids = Vec::new();
    for part in texts.flat_map(|text| text.split(|c: char| !(c.is_ascii_digit() || c == 'D' || c == ':'))) {
        if turns.contains_key(part) && !ids.iter().any(|id| id == part) {
            ids.push(part.to_owned());
        }
    }
    ids
}
