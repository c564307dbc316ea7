//! Admission of hits and contexts: what is shown for a query, within how many tokens, and that nothing is shown where
//! nothing is relevant.

use serde_json::{Value, json};

use crate::support::{Answer, Server, fresh};

/// Paths of three memories about different things.
const THINGS: [&str; 3] = ["facts/wifi.md", "facts/boathouse.md", "facts/dentist.md"];
const ALL_THINGS: &str = "q=the+wifi+password,+the+boathouse+keys+and+the+dentist";

/// Says something as the user of a chat and waits until it is a memory.
fn say(server: &Server, text: &str, at: &str) {
    let body = json!({"messages": [{"role": "user", "content": text}], "occurred_at": at});
    let answer = server.post("/v1/memories?wait=30", &body);
    assert_eq!((answer.status, &answer.body["status"]), (200, &json!("ingested")), "{answer:?}");
}

fn write(server: &Server, path: &str, body: &Value) {
    let answer = server.post(&format!("/v1/memories/{path}"), body);
    assert!(matches!(answer.status, 200 | 201), "{answer:?}");
}

/// Starts a server with the three memories, and one that none of the tests asks for. It has the built-in table, whatever
/// model the suite runs with: another model may not find the memories that admission leaves out.
fn server_with_things() -> (tempfile::TempDir, Server) {
    let (folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    for (path, content, cue) in [
        (THINGS[0], "# Wifi\n\nThe wifi password is tulip42.\n", "the wifi password"),
        (THINGS[1], "# Boathouse\n\nThe boathouse keys hang by the door.\n", "the boathouse keys"),
        (THINGS[2], "# Dentist\n\nThe dentist is Doctor Okafor in the harbour street.\n", "the dentist"),
        ("facts/tea.md", "# Tea\n\nMara drinks her tea without sugar.\n", "Mara's tea"),
    ] {
        write(&server, path, &json!({"content": content, "cues": [cue], "occurred_at": "2025-03-02"}));
    }
    (folder, server)
}

fn context(server: &Server, query: &str) -> Value {
    let answer = server.get(&format!("/v1/context?{query}"));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

fn text(context: &Value) -> &str {
    context["text"].as_str().expect("a text")
}

/// Returns the sorted paths of hits or citations.
fn paths(entries: &[Value]) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for entry in entries {
        paths.push(entry["path"].as_str().expect("a path").to_owned());
    }
    paths.sort();
    paths
}

fn citations(context: &Value) -> Vec<Value> {
    context["citations"].as_array().expect("an array").clone()
}

fn hits(answer: &Answer) -> Vec<String> {
    paths(&answer.hits())
}

#[test]
fn a_context_has_the_relevant_memory_with_its_day_and_mark() {
    let (_folder, server) = server_with_things();
    let found = context(&server, "q=What+is+the+wifi+password%3F");
    assert_eq!(text(&found), "- 2 Mar 2025 Wifi – The wifi password is tulip42. [1]");
    let cited = citations(&found);
    assert_eq!(paths(&cited), ["facts/wifi.md"]);
    let unmarked = context(&server, "q=What+is+the+wifi+password%3F&marks=off");
    assert_eq!(text(&unmarked), "- 2 Mar 2025 Wifi – The wifi password is tulip42.");
    assert_eq!(cited[0]["section"], Value::Null);
    let score = cited[0]["score"].as_f64().expect("a score");
    assert!(score > 0.0 && score <= 1.0, "{score}");
    assert!((1..=1500).contains(&found["tokens"].as_u64().expect("a number")));
    assert_eq!(found["namespace"], "default");
    assert_eq!(server.get("/v1/usage").body["used"]["reads"], 2, "a context is a read");
}

#[test]
fn a_context_is_empty_if_nothing_is_relevant() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let empty = json!({"text": "", "tokens": 0, "citations": [], "read": 0, "namespace": "default"});
    say(&server, "Ann has a dog called Rex, who is afraid of thunder.", "2025-03-02");
    assert!(text(&context(&server, "q=What+is+Ann%27s+dog+called%3F")).contains("Rex"));
    for query in ["q=Which+bakery+opens+on+Sundays%3F", "q=zzz+qqq"] {
        assert_eq!(context(&server, query), empty, "{query}");
    }
}

#[test]
fn admission_decides_which_hits_are_returned() {
    let (_folder, server) = server_with_things();
    let query = "q=What+is+the+wifi+password%3F";
    let all = server.retrieve("default", query);
    assert!(all.hits().len() > 1, "{all:?}");
    assert_eq!(server.retrieve("default", &format!("{query}&admit=all")).hits(), all.hits());
    let mut wider = hits(&all);
    for level in ["recall", "balanced", "strict"] {
        let admitted = hits(&server.retrieve("default", &format!("{query}&admit={level}")));
        assert!(admitted.iter().all(|path| wider.contains(path)), "{level}: {admitted:?} of {wider:?}");
        assert!(admitted.contains(&THINGS[0].to_owned()), "{level}: {admitted:?}");
        wider = admitted;
    }
    assert_eq!(wider, [THINGS[0]]);
    let nothing = server.retrieve("default", "q=Which+bakery+opens+on+Sundays%3F&admit=balanced");
    assert!(nothing.hits().is_empty(), "{nothing:?}");
    let unanswered = server.post("/v1/answer", &json!({"q": "Which bakery opens on Sundays?", "admit": "balanced"}));
    assert_eq!((unanswered.status, unanswered.code()), (404, "no_answer"), "{unanswered:?}");
}

#[test]
fn each_thing_that_a_query_asks_for_is_admitted_by_itself() {
    let (_folder, server) = server_with_things();
    let mut expected = THINGS.map(str::to_owned);
    expected.sort();
    let found = server.retrieve("default", &format!("{ALL_THINGS}&admit=balanced"));
    assert_eq!(hits(&found), expected);
    let scores: Vec<f64> = found.hits().iter().map(|hit| hit["score"].as_f64().expect("a score")).collect();
    assert!(scores.windows(2).all(|pair| pair[0] >= pair[1]), "{scores:?}");
    assert_eq!(paths(&citations(&context(&server, ALL_THINGS))), expected);
    // Each memory has the score of the part that it answers.
    let alone = server.retrieve("default", "q=the+boathouse+keys&admit=balanced").hits()[0]["score"].clone();
    let together = found.hits().into_iter().find(|hit| hit["path"] == THINGS[1]).expect("found")["score"].clone();
    assert!(together.as_f64() >= alone.as_f64(), "{together} together, {alone} alone");
}

#[test]
fn an_explanation_names_admission() {
    let (_folder, server) = server_with_things();
    let body = |path: &str| json!({"q": "Does Mara know the wifi password?", "path": path, "admit": "balanced"});
    let left_out = server.post("/v1/explain", &body("facts/tea.md")).body;
    assert_eq!((&left_out["found"], &left_out["excluded_by"]), (&json!(false), &json!(["admit"])), "{left_out}");
    let admitted = server.post("/v1/explain", &body(THINGS[0])).body;
    assert_eq!((&admitted["found"], &admitted["excluded_by"]), (&json!(true), &json!([])), "{admitted}");
}

#[test]
fn a_context_stays_within_its_tokens() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    for number in 0..30 {
        let content =
            format!("# Crane {number}\n\nThe harbour crane number {number} was painted yellow by the crew.\n");
        write(&server, &format!("facts/cranes/{number}.md"), &json!({"content": content}));
    }
    let long = "The lighthouse lamp was lit at dusk and put out at dawn. ".repeat(2000);
    write(&server, "facts/lamp.md", &json!({"content": long, "cues": ["When is the lighthouse lamp lit?"]}));
    let tokens_of = |query: &str| context(&server, query)["tokens"].as_u64().expect("a number");
    let cranes = "q=yellow+harbour+crane&admit=all&limit=30";
    let many = tokens_of(cranes);
    assert!(many > 200, "{many}");
    let few = context(&server, &format!("{cranes}&max_tokens=100"));
    assert!((40..=100).contains(&few["tokens"].as_u64().expect("a number")), "{few}");
    assert!(!citations(&few).is_empty());
    let cut = context(&server, "q=When+is+the+lighthouse+lamp+lit%3F&max_tokens=100");
    assert!(text(&cut).ends_with("put out at dawn. … [1]"), "{cut}");
    assert!(cut["tokens"].as_u64().expect("a number") <= 100, "{cut}");
    assert!(text(&context(&server, &format!("{cranes}&max_tokens=1"))).is_empty());
}

#[test]
fn a_value_that_no_longer_holds_is_shown_only_for_a_question_about_the_past() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    say(&server, "I live in Oslo.", "2025-01-10T09:00:00Z");
    say(&server, "I moved to Bergen.", "2025-06-10T09:00:00Z");
    let now = context(&server, "q=Where+do+I+live%3F");
    assert!(text(&now).starts_with("- 10 Jun 2025 User: I moved to Bergen. [1]"), "{now}");
    assert!(!text(&now).to_lowercase().contains("oslo"), "{now}");
    let past = context(&server, "q=Where+did+I+use+to+live%3F");
    assert!(text(&past).contains("(former, until 2025-06-10) ["), "{past}");
    let then = context(&server, "q=Where+do+I+live%3F&as_of=2025-03-01");
    assert!(text(&then).to_lowercase().contains("oslo"), "{then}");
    assert!(!text(&then).to_lowercase().contains("bergen"), "{then}");
}

#[test]
fn a_context_of_several_namespaces_names_them() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    for name in ["mara", "team"] {
        server.namespace(name);
        let content = format!("# Keys\n\nThe boathouse keys of {name} hang by the door.\n");
        let body = json!({"content": content, "namespace": name, "cues": ["the boathouse keys"]});
        write(&server, "facts/keys.md", &body);
    }
    let found = context(&server, "q=the+boathouse+keys&namespace=mara,team");
    assert_eq!(found["namespace"], "mara,team");
    assert!(
        text(&found).contains("of mara hang by the door. (mara) [") && text(&found).contains("(team) ["),
        "{found}"
    );
    let mut names: Vec<Value> = citations(&found).iter().map(|citation| citation["namespace"].clone()).collect();
    names.sort_by_key(ToString::to_string);
    assert_eq!(names, ["mara", "team"]);
}

#[test]
fn wrong_parameters_and_namespaces_are_refused() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    server.namespace("mine");
    for (query, expected) in [
        ("", (400, "missing_query")),
        ("q=x&admit=most", (400, "invalid_admit")),
        ("q=x&precision=most", (400, "invalid_admit")),
        ("q=x&max_tokens=0", (400, "invalid_limit")),
        ("q=x&max_tokens=32001", (400, "invalid_limit")),
        ("q=x&namespace=nowhere", (404, "namespace_not_found")),
    ] {
        let answer = server.get(&format!("/v1/context?{query}"));
        assert_eq!((answer.status, answer.code()), expected, "{query}");
    }
    let retrieve = server.retrieve("mine", "q=x&admit=most");
    assert_eq!((retrieve.status, &retrieve.body["error"]), (400, &json!("invalid_admit")));
    let answer = server.post("/v1/answer", &json!({"q": "x", "namespace": "mine", "admit": "most"}));
    assert_eq!((answer.status, answer.code()), (400, "invalid_admit"));
}
