//! The built-in reader, which reads the best candidates of a query together with it.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{BUILT_IN, Server, fresh, with_models};

const READER: &str = "[model]\nbuiltin = 'reader'\n";
/// What a user said, of which one statement answers [`QUESTION`], and others share its words.
const SAID: [&str; 6] = [
    "The dentist moved my appointment to Thursday at four.",
    "My brother is a dentist in Leeds.",
    "I am afraid of the dentist since I was a child.",
    "The car goes to the garage on Thursday.",
    "I bought four tickets for the concert on Friday.",
    "We eat at Nora's on Sunday.",
];
const QUESTION: &str = "q=When+do+I+have+to+be+at+the+dentist%3F";

/// Starts a server in which a user said something, and waits until it can be found by its meaning.
fn server_with(data: &Path, texts: &[&str]) -> Server {
    let server = Server::start_with_models(data, READER);
    remember(&server, "default", texts);
    server
}

fn remember(server: &Server, namespace: &str, texts: &[&str]) {
    let messages: Vec<Value> = texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
    let body = json!({"namespace": namespace, "messages": messages});
    let reply = server.post("/v1/memories?wait=30&wait_for=vectors", &body);
    assert_eq!(reply.status, 200, "{reply:?}");
}

/// Returns the scores of the hits of a query by their contents.
fn scores(found: &Value) -> Vec<(String, f64)> {
    let hits = found["hits"].as_array().expect("hits");
    hits.iter()
        .map(|hit| (hit["content"].as_str().expect("text").to_owned(), hit["score"].as_f64().expect("a score")))
        .collect()
}

/// Returns what the reader added to the log-odds of a hit's score.
fn read_log_odds(explanation: &Value) -> f64 {
    let contributions = explanation["contributions"].as_array().expect("contributions");
    let reader = contributions.iter().find(|one| one["feature"] == "reader").expect("the reader");
    reader["log_odds"].as_f64().expect("a number")
}

#[test]
fn what_answers_rises_and_what_shares_its_words_falls() {
    let (_folder, data) = fresh();
    let server = server_with(&data, &SAID);
    let unread = server.get(&format!("/v1/retrieve?{QUESTION}&read=off")).body;
    let read = server.get(&format!("/v1/retrieve?{QUESTION}&read=always")).body;
    assert_eq!((&unread["read"], &read["read"]), (&json!(0), &json!(SAID.len())), "{read}");
    let (unread, read) = (scores(&unread), scores(&read));
    assert!(read[0].0.contains("Thursday at four"), "{read:?}");
    let score =
        |scores: &[(String, f64)], text: &str| scores.iter().find(|one| one.0.contains(text)).map_or(0.0, |one| one.1);
    assert!(score(&read, "afraid") < score(&unread, "afraid"), "{read:?} {unread:?}");
    let lead = |scores: &[(String, f64)]| score(scores, "Thursday at four") / score(scores, "Leeds");
    assert!(lead(&read) > 2.0 * lead(&unread), "{read:?} {unread:?}");
}

#[test]
fn auto_reads_what_fits_the_budget_and_a_repeated_query_has_the_same_answer() {
    let (_folder, data) = fresh();
    let server = server_with(&data, &SAID);
    let none = server.get(&format!("/v1/retrieve?{QUESTION}&read_budget_ms=0")).body;
    assert_eq!(none["read"], 0, "{none}");
    let all = server.get(&format!("/v1/retrieve?{QUESTION}&read_budget_ms=5000")).body;
    assert_eq!(all["read"], SAID.len(), "{all}");
    let first = server.get(&format!("/v1/retrieve?{QUESTION}")).body;
    let again = server.get(&format!("/v1/retrieve?{QUESTION}")).body;
    assert_eq!((&first["read"], &first["hits"]), (&again["read"], &again["hits"]));
    let context = server.get(&format!("/v1/context?{QUESTION}&read=always")).body;
    assert!(context["read"] == SAID.len() && context["text"].as_str().expect("a text").contains("four"), "{context}");
    let body = json!({"q": "When do I have to be at the dentist?", "read": "always"});
    let answer = server.post("/v1/answer", &body).body;
    assert!(answer["read"] == SAID.len() && answer["answer"].as_str().expect("a text").contains("four"), "{answer}");
    for refused in ["read=some", "read_budget_ms=-1", "read_budget_ms=soon"] {
        let reply = server.get(&format!("/v1/retrieve?{QUESTION}&{refused}"));
        assert!(reply.status == 400 && reply.body.to_string().contains("invalid_parameter"), "{refused}: {reply:?}");
    }
}

#[test]
fn an_explanation_has_the_reader_and_sums_to_the_score() {
    let (_folder, data) = fresh();
    let server = server_with(&data, &SAID);
    let found = server.get(&format!("/v1/retrieve?{QUESTION}&read=always&explain=true")).body;
    let best = &found["hits"][0];
    assert!(read_log_odds(&best["explanation"]) > 0.0, "{best}");
    let contributions = best["explanation"]["contributions"].as_array().expect("contributions");
    let sum: f64 = contributions.iter().map(|one| one["log_odds"].as_f64().expect("a number")).sum();
    let log_odds = best["explanation"]["base_log_odds"].as_f64().expect("a number") + sum;
    let score = best["score"].as_f64().expect("a score");
    assert!((1.0 / (1.0 + (-log_odds).exp()) - score).abs() < 1e-4, "{log_odds} {score}");

    let path = best["path"].as_str().expect("a path");
    let body = json!({"q": "When do I have to be at the dentist?", "read": "always", "path": path});
    let explained = server.post("/v1/explain", &body).body;
    assert_eq!((&explained["rank"], &explained["score"]), (&json!(1), &best["score"]), "{explained}");
    assert_eq!(explained["explanation"]["contributions"], best["explanation"]["contributions"]);
}

#[test]
fn the_answer_in_the_last_sentence_of_a_long_memory_is_read() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, READER);
    let filler = "The committee talked about the garden for a while and nobody wanted to decide anything. ".repeat(60);
    let endings = [
        ("answer", "The spare key of the boathouse hangs behind the clock."),
        ("none", "Nobody mentioned the key of the boathouse."),
    ];
    for (name, ending) in endings {
        let body = json!({"content": format!("# Minutes\n\n{filler}{ending}\n")});
        assert_eq!(server.post(&format!("/v1/memories/facts/{name}.md"), &body).status, 201);
    }
    let found = server.get("/v1/retrieve?q=Where+is+the+key+of+the+boathouse%3F&read=always&explain=true").body;
    assert_eq!(found["read"], 2, "{found}");
    let hits = found["hits"].as_array().expect("hits");
    let added = |path: &str| {
        let hit = hits.iter().find(|hit| hit["path"] == format!("facts/{path}.md")).expect("a hit");
        read_log_odds(&hit["explanation"])
    };
    assert!(added("answer") > added("none"), "{found}");
}

#[test]
fn a_code_that_the_query_asks_for_is_not_lowered() {
    let (_folder, data) = fresh();
    let texts = ["The pumps were order QX-1187 back then.", "We like the pumps.", "The garden has a pond."];
    let server = server_with(&data, &texts);
    let found = server.get("/v1/retrieve?q=QX-1187+who+sings+in+the+choir&read=always&explain=true").body;
    let best = &found["hits"][0];
    assert!(best["content"].as_str().expect("text").contains("QX-1187") && found["read"] != 0, "{found}");
    assert!(read_log_odds(&best["explanation"]) >= 0.0, "{best}");
}

#[test]
fn several_namespaces_share_the_time_of_the_reader() {
    let (_folder, data) = fresh();
    let server = server_with(&data, &SAID);
    server.namespace("work");
    remember(&server, "work", &SAID);
    let both = server.get(&format!("/v1/retrieve?namespace=default,work&{QUESTION}&read=always")).body;
    assert_eq!(both["read"], 2 * SAID.len(), "{both}");
    let one =
        server.get(&format!("/v1/retrieve?{QUESTION}&read_budget_ms=20")).body["read"].as_u64().expect("a number");
    let both = server.get(&format!("/v1/retrieve?namespace=default,work&{QUESTION}&read_budget_ms=20")).body;
    assert!(both["read"].as_u64().expect("a number") <= one, "{both} {one}");
}

/// Returns a command without any model settings: the data directory decides.
fn undecided(data: &Path, arguments: &[&str]) -> Command {
    let mut command = with_models(data, "", arguments);
    command.env_remove(BUILT_IN);
    command
}

#[test]
fn the_reader_is_used_at_once_and_given_up_without_new_vectors() {
    let (_folder, data) = fresh();
    let command = undecided(&data, &["serve", "--listen", "127.0.0.1:0"]);
    let server = Server::start_command(&data, command);
    remember(&server, "default", &SAID);
    let read = || server.get(&format!("/v1/retrieve?{QUESTION}&read=always")).body["read"].clone();
    assert_eq!(read(), SAID.len(), "a new directory has the reader");
    for (model, expected) in [("encoder", 0), ("reader", SAID.len())] {
        let output = undecided(&data, &["models", "use", model]).output().expect("runs");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && printed.contains("keep their vectors"), "{printed}");
        assert_eq!(read(), expected, "{model}");
    }
    let output = undecided(&data, &["models"]).output().expect("runs");
    assert!(String::from_utf8_lossy(&output.stdout).contains("tokens a second"), "{output:?}");
}
