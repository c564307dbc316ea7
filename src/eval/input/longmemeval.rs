//! The LongMemEval format (Wu et al., 2024): questions, each with a haystack of dated chat sessions, and the turns that
//! have the answer.
//!
//! The file is read one question at a time. The definitions of what is evidence are those of LongMemEval's own
//! evaluation of retrieval, as in `benches/public/longmemeval.py`.

use std::collections::HashSet;
use std::path::Path;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::Deserialize;

use super::elements::Elements;
use super::error::InputError;
use crate::eval::questions::{Question, Space};
use crate::eval::suite::{ASSISTANT, LabelledMessage, Session, USER};

/// The end of the id of a question that nothing in its haystack answers.
const ABSTENTION: &str = "_abs";
const DATE: &str = "a date such as 2023/05/20 (Sat) 02:21";

/// A question with its haystack, as a namespace of its own.
#[derive(Debug)]
pub struct Haystack {
    /// The sessions in the order of their times, and the question. Its evidence is the turns that have the answer. If
    /// no turn is marked, the evidence is the sessions that have it, and all turns of such a session have one label.
    /// A question with neither is left out, unless its id says that it has no answer.
    pub space: Space,
    /// What LongMemEval counts.
    pub counted: CountedEvidence,
}

/// The evidence that LongMemEval's measures count: that of the user's turns. Empty for a question that does not count.
#[derive(Debug, Default)]
pub struct CountedEvidence {
    /// The sessions that have the answer.
    pub sessions: HashSet<String>,
    /// The turns that have the answer.
    pub turns: HashSet<String>,
    /// The turns that are ranked: all of the user.
    pub units: HashSet<String>,
}

/// A file of questions.
pub struct LongMemEvalFile {
    elements: Elements,
}

#[derive(Deserialize)]
struct Entry {
    question_id: String,
    question_type: String,
    question: String,
    haystack_session_ids: Vec<String>,
    haystack_dates: Vec<String>,
    haystack_sessions: Vec<Vec<Turn>>,
    answer_session_ids: Vec<String>,
}

#[derive(Deserialize)]
struct Turn {
    role: Role,
    content: String,
    #[serde(default)]
    has_answer: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

/// What has a label of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Labels {
    /// Each turn.
    Turns,
    /// Each session that has the answer, and each turn of the others.
    AnswerSessions,
}

/// A session of a haystack.
struct DatedSession {
    at: Timestamp,
    is_answer: bool,
    turns: Vec<Turn>,
}

impl LongMemEvalFile {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, InputError> {
        Ok(Self { elements: Elements::open(path)? })
    }

    /// Checks all questions of a file, and returns their number.
    pub fn count(path: &Path) -> Result<usize, InputError> {
        let mut file = Self::open(path)?;
        let mut count = 0;
        while file.next_haystack()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// Returns the next question. `None` after the last one.
    pub fn next_haystack(&mut self) -> Result<Option<Haystack>, InputError> {
        let Some(mut entry) = self.elements.next_element::<Entry>()? else { return Ok(None) };
        let sessions = self.sessions(&mut entry)?;
        let Entry { question_id: id, question_type: kind, question, .. } = entry;
        let has_marked_turns = sessions.iter().any(DatedSession::has_marked_turn);
        let mut evidence = Vec::new();
        let mut counted = CountedEvidence::default();
        let mut labelled = Vec::with_capacity(sessions.len());
        for (number, session) in sessions.iter().enumerate() {
            let labels = if has_marked_turns { Labels::Turns } else { Labels::AnswerSessions };
            labelled.push(session.labelled(number, labels));
            evidence.extend(session.evidence(number, labels));
            session.count(number, labels, &mut counted);
        }
        // A session without a text is not sent. The numbers in the labels stay those of the haystack.
        labelled.retain(|session| !session.messages.is_empty());
        let has_no_answer = id.ends_with(ABSTENTION);
        if has_no_answer {
            evidence.clear();
            counted = CountedEvidence::default();
        }
        let mut questions = Vec::new();
        if has_no_answer || !evidence.is_empty() {
            questions.push(Question { q: question, evidence, own_path: None });
        }
        let space = Space { id, kind, sessions: labelled, documents: Vec::new(), questions };
        Ok(Some(Haystack { space, counted }))
    }

    /// Takes the sessions of an entry. Returns them in the order of their times.
    fn sessions(&self, entry: &mut Entry) -> Result<Vec<DatedSession>, InputError> {
        let turns = std::mem::take(&mut entry.haystack_sessions);
        let Entry { question_id, haystack_session_ids: ids, haystack_dates: dates, answer_session_ids, .. } = entry;
        if ids.len() != dates.len() || ids.len() != turns.len() {
            let lengths = format!("{}, {} and {}", ids.len(), dates.len(), turns.len());
            let problem = format!("question {question_id:?} has lists of {lengths} ids, dates and sessions");
            return Err(self.elements.error_in_last(&problem, "lists of one length"));
        }
        let mut sessions = Vec::with_capacity(turns.len());
        for (number, turns) in turns.into_iter().enumerate() {
            let (id, date) = (&ids[number], &dates[number]);
            let Some(at) = time_of(date) else {
                let problem = format!("question {question_id:?} has the date {date:?}");
                return Err(self.elements.error_in_last(&problem, DATE));
            };
            sessions.push(DatedSession { at, is_answer: answer_session_ids.contains(id), turns });
        }
        sessions.sort_by_key(|session| session.at);
        Ok(sessions)
    }
}

impl DatedSession {
    fn has_marked_turn(&self) -> bool {
        self.turns.iter().any(|turn| self.is_marked(turn))
    }

    fn is_marked(&self, turn: &Turn) -> bool {
        self.is_answer && turn.has_answer == Some(true)
    }

    /// Returns the label of a turn.
    fn label(&self, number: usize, turn: usize, labels: Labels) -> String {
        if labels == Labels::AnswerSessions && self.is_answer {
            return session_label(number);
        }
        format!("{}.{turn}", session_label(number))
    }

    /// Returns the session with a label for each turn. Turns without a text are left out.
    fn labelled(&self, number: usize, labels: Labels) -> Session {
        let mut messages = Vec::with_capacity(self.turns.len());
        for (place, turn) in self.turns.iter().enumerate() {
            if turn.content.trim().is_empty() {
                continue;
            }
            let name = if turn.role == Role::User { USER } else { ASSISTANT };
            let id = self.label(number, place, labels);
            messages.push(LabelledMessage { id, name: name.to_owned(), text: turn.content.clone(), at: None });
        }
        Session { at: self.at.to_string(), messages }
    }

    /// Returns the labels of what answers the question.
    fn evidence(&self, number: usize, labels: Labels) -> Vec<String> {
        let mut evidence = Vec::new();
        if labels == Labels::AnswerSessions {
            if self.is_answer {
                evidence.push(session_label(number));
            }
            return evidence;
        }
        for (place, turn) in self.turns.iter().enumerate() {
            if self.is_marked(turn) {
                evidence.push(self.label(number, place, labels));
            }
        }
        evidence
    }

    /// Adds what LongMemEval counts.
    fn count(&self, number: usize, labels: Labels, counted: &mut CountedEvidence) {
        for (place, turn) in self.turns.iter().enumerate() {
            if turn.role != Role::User {
                continue;
            }
            let label = self.label(number, place, labels);
            if self.is_marked(turn) {
                counted.sessions.insert(session_label(number));
                counted.turns.insert(label.clone());
            }
            counted.units.insert(label);
        }
        if labels == Labels::AnswerSessions && self.is_answer {
            counted.sessions.insert(session_label(number));
        }
    }
}

/// Returns the label of a session by its place in the order of time. Ids of the file are not used, because some of them
/// say what is evidence.
fn session_label(number: usize) -> String {
    format!("s{number}")
}

/// Returns the label of the session that a turn is of.
pub fn session_of(label: &str) -> &str {
    match label.split_once('.') {
        Some((session, _)) => session,
        None => label,
    }
}

/// Reads a date such as `2023/05/20 (Sat) 02:21`. It has no time zone, so UTC is assumed. The day of the week
/// and the time may be missing.
fn time_of(date: &str) -> Option<Timestamp> {
    let mut parts = date.split_whitespace();
    let day = parts.next()?.replace('-', "/");
    let mut time = None;
    for part in parts {
        // The date decides, whatever day of the week is written.
        if part.starts_with('(') && part.ends_with(')') && time.is_none() {
            continue;
        }
        if time.replace(part).is_some() {
            return None;
        }
    }
    let text = format!("{day} {}", time.unwrap_or("00:00"));
    let date = DateTime::strptime("%Y/%m/%d %H:%M", text).ok()?;
    Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A question about a kite, whose sessions are not in the order of time.
    fn kite() -> Value {
        json!({
            "question_id": "kite",
            "question_type": "single-session-user",
            "question": "What kind of kite did I buy?",
            "answer": 7,
            "question_date": "2023/06/30 (Fri) 10:00",
            "haystack_session_ids": ["answer_1", "filler"],
            "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/19 (Fri) 23:00"],
            "haystack_sessions": [
                [
                    {"role": "user", "content": " "},
                    {"role": "user", "content": "I bought a red stunt kite.", "has_answer": true},
                    {"role": "assistant", "content": "A stunt kite needs wind.", "has_answer": true},
                ],
                [{"role": "user", "content": "My sourdough is called Bubbles.", "has_answer": null}],
            ],
            "answer_session_ids": ["answer_1"],
        })
    }

    /// Reads a file with one question.
    fn read(question: &Value) -> Result<Haystack, String> {
        let folder = tempfile::tempdir().expect("temporary directory");
        let path = folder.path().join("questions.json");
        std::fs::write(&path, json!([question]).to_string()).expect("writes");
        let count = LongMemEvalFile::count(&path).map_err(|error| error.to_string())?;
        assert_eq!(count, 1);
        let mut file = LongMemEvalFile::open(&path).expect("opens");
        Ok(file.next_haystack().expect("reads").expect("a question"))
    }

    fn set(labels: &[&str]) -> HashSet<String> {
        labels.iter().map(|label| (*label).to_owned()).collect()
    }

    #[test]
    fn a_question_is_a_namespace_with_its_sessions_in_the_order_of_time() {
        let Haystack { space, counted } = read(&kite()).expect("reads");
        assert_eq!((space.id.as_str(), space.kind.as_str()), ("kite", "single-session-user"));
        let times: Vec<&str> = space.sessions.iter().map(|session| session.at.as_str()).collect();
        assert_eq!(times, ["2023-05-19T23:00:00Z", "2023-05-20T02:21:00Z"]);
        let messages = &space.sessions[1].messages;
        let said: Vec<(&str, &str)> = messages.iter().map(|said| (said.id.as_str(), said.name.as_str())).collect();
        assert_eq!(said, [("s1.1", USER), ("s1.2", ASSISTANT)], "a blank turn is not sent");
        assert_eq!(space.questions[0].evidence, ["s1.1", "s1.2"]);
        assert_eq!((counted.sessions, counted.turns), (set(&["s1"]), set(&["s1.1"])));
        assert_eq!(counted.units, set(&["s0.0", "s1.0", "s1.1"]));
    }

    #[test]
    fn without_marked_turns_the_sessions_with_the_answer_are_the_evidence() {
        let mut question = kite();
        for turn in 1..3_usize {
            question["haystack_sessions"][0][turn]["has_answer"] = json!(false);
        }
        let Haystack { space, counted } = read(&question).expect("reads");
        assert_eq!(space.questions[0].evidence, ["s1"]);
        let labels: Vec<&str> = space.sessions[1].messages.iter().map(|said| said.id.as_str()).collect();
        assert_eq!(labels, ["s1", "s1"]);
        assert_eq!((counted.sessions, counted.turns), (set(&["s1"]), set(&[])));

        question["answer_session_ids"] = json!([]);
        let Haystack { space, counted } = read(&question).expect("reads");
        assert!(space.questions.is_empty() && counted.sessions.is_empty(), "nothing says what answers the question");
    }

    #[test]
    fn a_question_whose_id_ends_in_abs_has_no_answer() {
        let mut question = kite();
        question["question_id"] = json!("kite_abs");
        let Haystack { space, counted } = read(&question).expect("reads");
        assert!(space.questions[0].evidence.is_empty() && counted.sessions.is_empty() && counted.units.is_empty());
    }

    #[test]
    fn an_assistant_alone_has_evidence_that_is_not_counted() {
        let mut question = kite();
        question["haystack_sessions"][0][1]["has_answer"] = json!(false);
        let Haystack { space, counted } = read(&question).expect("reads");
        assert_eq!(space.questions[0].evidence, ["s1.2"]);
        assert!(counted.sessions.is_empty() && counted.turns.is_empty());
    }

    #[test]
    fn a_date_is_read_with_and_without_its_parts() {
        for (date, expected) in [
            ("2023/05/20 (Sat) 02:21", Some("2023-05-20T02:21:00Z")),
            ("2023/05/20 (Mon) 02:21", Some("2023-05-20T02:21:00Z")),
            ("2023-05-20 02:21", Some("2023-05-20T02:21:00Z")),
            (" 2023/05/20 ", Some("2023-05-20T00:00:00Z")),
            ("2023/13/20 (Sat) 02:21", None),
            ("2023/05/20 02:21 03:00", None),
            ("May 20", None),
            ("", None),
        ] {
            assert_eq!(time_of(date).map(|at| at.to_string()).as_deref(), expected, "{date:?}");
        }
    }

    #[test]
    fn an_error_names_the_element_the_field_and_what_was_expected() {
        for (field, value, says) in [
            ("question", json!(7), "element 1: question: invalid type: integer `7`, expected a string"),
            (
                "haystack_dates",
                json!(["2023/05/20 (Sat) 02:21"]),
                "element 1: question \"kite\" has lists of 2, 1 and 2 ids, dates and sessions",
            ),
            ("haystack_dates", json!(["soon", "soon"]), "has the date \"soon\": expected a date such as 2023/05/20"),
            ("haystack_sessions", json!([[], [{"role": "robot", "content": ""}]]), "expected `user` or `assistant`"),
            ("haystack_sessions", json!([[], [{"role": "user"}]]), "haystack_sessions[1][0]: missing field `content`"),
        ] {
            let mut question = kite();
            question[field] = value;
            let error = read(&question).expect_err(says);
            assert!(error.contains("questions.json:1: ") && error.contains(says), "{error}");
        }
        for field in ["question_id", "question_type", "haystack_session_ids", "answer_session_ids"] {
            let mut question = kite();
            question.as_object_mut().expect("an object").remove(field);
            let error = read(&question).expect_err(field);
            assert!(error.contains(&format!("missing field `{field}`")), "{error}");
        }
    }
}
