//! Daily use in seven languages: every exchange is stored, and twelve questions are asked later.

use serde_json::{Value, json};

use crate::support::{Server, fresh};

/// Twenty messages of a person with an assistant's replies and twelve questions, in each language.
const TALKS: [(&str, &str); 7] = [
    ("en", include_str!("data/talks/en.txt")),
    ("de", include_str!("data/talks/de.txt")),
    ("fr", include_str!("data/talks/fr.txt")),
    ("es", include_str!("data/talks/es.txt")),
    ("pt", include_str!("data/talks/pt.txt")),
    ("it", include_str!("data/talks/it.txt")),
    ("nl", include_str!("data/talks/nl.txt")),
];
/// How many of the twelve contexts must hold the answer: 0.60.
const ANSWERED_MIN: usize = 8;

/// A question with the texts that its context must hold: one alternative of each.
struct Question<'a> {
    text: &'a str,
    needs: Vec<Vec<&'a str>>,
}

/// A talk: exchanges with their times, and questions that are asked at one time.
#[derive(Default)]
struct Talk<'a> {
    exchanges: Vec<(&'a str, Vec<Value>)>,
    asked_at: &'a str,
    questions: Vec<Question<'a>>,
}

impl<'a> Talk<'a> {
    /// Reads a talk: `@` begins a session, `?` a question, and `=` lines say what its context must hold.
    fn read(text: &'a str) -> Self {
        let mut talk = Self::default();
        let mut at = "";
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '!'])) {
            if let Some(time) = line.strip_prefix("@ ") {
                at = time;
            } else if let Some(asked) = line.strip_prefix("? ") {
                match asked.split_once(": ") {
                    Some((_, text)) => talk.questions.push(Question { text, needs: Vec::new() }),
                    None => talk.asked_at = asked,
                }
            } else if let Some(need) = line.strip_prefix("= ") {
                let question = talk.questions.last_mut().expect("a question first");
                question.needs.push(need.split(" | ").collect());
            } else {
                talk.add_message(at, line);
            }
        }
        talk
    }

    /// Adds a message: a reply to the exchange that it answers, another one as an exchange of its own.
    fn add_message(&mut self, at: &'a str, line: &str) {
        let (speaker, content) = line.split_once(": ").expect("a speaker");
        let message = json!({"role": speaker.to_lowercase(), "content": content});
        match self.exchanges.last_mut() {
            Some((time, messages)) if speaker == "Assistant" && *time == at && messages.len() == 1 => {
                messages.push(message);
            }
            _ => self.exchanges.push((at, vec![message])),
        }
    }
}

#[test]
fn the_context_has_the_answer_to_three_of_five_questions_in_seven_languages() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    let mut too_few = Vec::new();
    for (language, text) in TALKS {
        let talk = Talk::read(text);
        assert_eq!(talk.questions.len(), 12, "{language}");
        assert_eq!(server.post("/v1/namespaces", &json!({"name": language})).status, 201);
        for (at, messages) in &talk.exchanges {
            let body = json!({"namespace": language, "session_id": at, "occurred_at": at, "messages": messages});
            let stored = server.post("/v1/memories?wait=30", &body);
            assert_eq!(stored.body["status"], "ingested", "{stored:?}");
        }
        let mut answered = 0;
        for question in &talk.questions {
            let query = json!({"namespace": language, "q": question.text, "as_of": talk.asked_at});
            let context = server.post("/v1/context", &query);
            let text = context.body["text"].as_str().unwrap_or_default().to_lowercase();
            let has_all = question.needs.iter().all(|need| need.iter().any(|one| text.contains(&one.to_lowercase())));
            if !has_all {
                println!("{language}: {}", question.text);
            }
            answered += usize::from(has_all);
        }
        if answered < ANSWERED_MIN {
            too_few.push((language, answered));
        }
    }
    assert_eq!(too_few, [], "fewer than {ANSWERED_MIN} of 12");
}
