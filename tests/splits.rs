//! One conversation makes the same memories however it is divided into writes: by message, by exchange, or as a whole, and
//! with exchanges that come late.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::{Value, json};

use crate::support::{Server, fresh};

/// Dialogues by language: `= name`, then one message per line, `Speaker: text`. A line without a speaker continues the
/// message before.
const DIALOGUES: [&str; 4] = [
    include_str!("data/dialogues/en.txt"),
    include_str!("data/dialogues/de.txt"),
    include_str!("data/dialogues/fr.txt"),
    include_str!("data/dialogues/es.txt"),
];
/// Random divisions of each dialogue.
const DIVISIONS: u64 = 3;
/// Writes by which a write is late at most.
const LATE_MAX: f64 = 4.0;
/// Speakers of the dialogues who have no name.
const UNNAMED: [&str; 2] = ["User", "Assistant"];

/// A dialogue: its name and its messages.
struct Dialogue {
    name: String,
    messages: Vec<Value>,
}

fn dialogues() -> Vec<Dialogue> {
    let mut dialogues: Vec<Dialogue> = Vec::new();
    for line in DIALOGUES.iter().flat_map(|text| text.lines()) {
        if let Some(name) = line.strip_prefix("= ") {
            dialogues.push(Dialogue { name: name.to_owned(), messages: Vec::new() });
            continue;
        }
        let Dialogue { messages, .. } = dialogues.last_mut().expect("a name first");
        match line.split_once(": ").filter(|(speaker, _)| speaker.starts_with(char::is_uppercase)) {
            Some((speaker, text)) => {
                let minute = messages.len();
                let mut message = json!({"content": text, "occurred_at": format!("2026-05-12T09:{minute:02}:00Z")});
                message["role"] = if speaker == "Assistant" { "assistant" } else { "user" }.into();
                if !UNNAMED.contains(&speaker) {
                    message["name"] = speaker.into();
                }
                messages.push(message);
            }
            None => {
                let last = messages.last_mut().expect("a message first");
                last["content"] = format!("{}\n{line}", last["content"].as_str().expect("text")).into();
            }
        }
    }
    dialogues
}

/// Stores groups of messages of one session as one write each, and waits until all are ingested.
fn store(server: &Server, namespace: &str, groups: &[Vec<Value>]) {
    server.namespace(namespace);
    for group in groups {
        let body = json!({"namespace": namespace, "session_id": "s1", "messages": group});
        let accepted = server.post("/v1/memories", &body);
        assert_eq!(accepted.status, 202, "{accepted:?}");
    }
    server.drain();
}

/// Divides messages before each one with a probability.
fn divide(messages: &[Value], probability: f64, random: &mut Rng) -> Vec<Vec<Value>> {
    let mut groups: Vec<Vec<Value>> = Vec::new();
    for message in messages {
        match groups.last_mut() {
            Some(group) if random.f64() >= probability => group.push(message.clone()),
            _ => groups.push(vec![message.clone()]),
        }
    }
    groups
}

/// Returns what a namespace remembers by path: text, times and tags of each memory, and what it claims.
fn memories(server: &Server, namespace: &str) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for path in server.memory_paths(namespace) {
        let memory = server.get(&format!("/v1/memories/{path}?namespace={namespace}&detail=full")).body;
        let mut kept = json!({"claims": []});
        for field in ["content", "occurred_at", "valid_from", "valid_until", "current", "tags", "speaker"] {
            kept[field] = memory[field].clone();
        }
        found.insert(path, kept);
    }
    let profile = |subject: &str| server.get(&format!("/v1/profile?namespace={namespace}{subject}")).body;
    let first = profile("");
    let mut subjects = first["subjects"].as_array().expect("subjects").clone();
    subjects.push(first["subject"].clone());
    for subject in subjects.iter().filter_map(Value::as_str) {
        let encoded = subject.replace('%', "%25").replace(' ', "+").replace('&', "%26").replace('\'', "%27");
        for claim in profile(&format!("&subject={encoded}"))["claims"].as_array().expect("claims") {
            let path = claim["path"].as_str().expect("a path");
            let kept =
                json!([subject, claim["attribute"], claim["value"], claim["from"], claim["until"], claim["current"]]);
            let claims = &mut found.get_mut(path).expect("a memory")["claims"];
            claims.as_array_mut().expect("claims").push(kept);
        }
    }
    found
}

/// Returns the memories without their paths, sorted.
fn without_paths(memories: BTreeMap<String, Value>) -> Vec<String> {
    let mut texts: Vec<String> = memories.into_values().map(|memory| memory.to_string()).collect();
    texts.sort();
    texts
}

#[test]
fn a_conversation_makes_the_same_memories_however_it_is_divided() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    for (number, Dialogue { name, messages }) in dialogues().into_iter().enumerate() {
        let whole = format!("whole-{number}");
        store(&server, &whole, std::slice::from_ref(&messages));
        let expected = memories(&server, &whole);
        assert!(expected.len() > 3, "{name}: {expected:?}");
        for seed in 0..DIVISIONS {
            // The first division is by message.
            let probability = if seed == 0 { 1.0 } else { 0.5 };
            let groups = divide(&messages, probability, &mut Rng::with_seed(seed));
            let divided = format!("divided-{number}-{seed}");
            store(&server, &divided, &groups);
            let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
            assert_eq!(memories(&server, &divided), expected, "{name}, divided into {sizes:?}");
        }
    }
}

#[test]
fn late_exchanges_make_the_memories_that_they_make_in_order() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    for (number, Dialogue { name, messages }) in dialogues().into_iter().enumerate() {
        let whole = format!("whole-{number}");
        store(&server, &whole, std::slice::from_ref(&messages));
        let expected = without_paths(memories(&server, &whole));
        for seed in 0..DIVISIONS {
            let mut random = Rng::with_seed(seed);
            let mut places: Vec<(f64, Vec<Value>)> = Vec::new();
            for (place, group) in divide(&messages, 0.7, &mut random).into_iter().enumerate() {
                places.push((place as f64 + LATE_MAX * random.f64(), group));
            }
            places.sort_by(|(one, _), (other, _)| one.total_cmp(other));
            let groups: Vec<Vec<Value>> = places.into_iter().map(|(_, group)| group).collect();
            let late = format!("late-{number}-{seed}");
            store(&server, &late, &groups);
            assert_eq!(without_paths(memories(&server, &late)), expected, "{name}, as {groups:#?}");
        }
    }
}

#[test]
fn an_answered_question_is_a_memory_no_longer_unless_it_was_edited() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    let say = |session: &str, name: &str, text: &str| {
        let messages = json!([{"role": "user", "name": name, "content": text}]);
        let accepted = server.post("/v1/memories?wait=30", &json!({"session_id": session, "messages": messages}));
        accepted.body["id"].as_str().expect("an id").to_owned()
    };
    let made = |write: &str| server.get(&format!("/v1/writes/{write}")).body["made"].clone();
    let path_of = |write: &str| made(write)[0].as_str().expect("a path").to_owned();
    let asked = path_of(&say("s1", "Ann", "Where did you buy the green kayak?"));
    assert_eq!(server.get(&format!("/v1/memories/{asked}")).status, 200);
    let answer = path_of(&say("s1", "Bo", "At the harbour market in Porto."));
    assert_eq!(server.get(&format!("/v1/memories/{asked}")).status, 404);
    let content = server.get(&format!("/v1/memories/{answer}")).body["content"].clone();
    assert_eq!(content, "# Bo: At the harbour market in Porto.\n\n> Ann: Where did you buy the green kayak?\n");
    let edited = path_of(&say("s2", "Ann", "Who repaired the mast of the regatta boat?"));
    let note = json!({"content": "Ann asked who repaired the mast."});
    assert_eq!(server.post(&format!("/v1/memories/{edited}"), &note).status, 200);
    say("s2", "Bo", "Lindqvist's yard.");
    assert_eq!(server.get(&format!("/v1/memories/{edited}")).status, 200);
}

#[test]
fn two_equal_statements_of_one_write_are_one_memory() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    let said = json!({"role": "user", "content": "My sister Ida can't eat nuts."});
    let accepted = server.post("/v1/memories?wait=30", &json!({"session_id": "s1", "messages": [said, said]}));
    assert_eq!(accepted.body["status"], "ingested", "{accepted:?}");
    let [path] = server.memory_paths("default").try_into().expect("one memory");
    let sources = server.get(&format!("/v1/memories/{path}?detail=full")).body["sources"].clone();
    let messages: Vec<u64> = sources
        .as_array()
        .expect("sources")
        .iter()
        .map(|source| source["message"].as_u64().expect("a number"))
        .collect();
    assert_eq!(messages, [0, 1]);
}
