//! Terms: teaching, resolving, listing and forgetting them, and queries that use them.

use serde_json::{Value, json};

use crate::support::{Server, fresh, git, wait_for};

fn teach(server: &Server, terms: &Value) {
    let answer = server.post("/v1/vocab", &json!({"terms": terms}));
    assert_eq!(
        (answer.status, &answer.body["status"], &answer.body["namespace"]),
        (202, &json!("accepted"), &json!("default")),
        "{answer:?}"
    );
}

fn term(server: &Server, word: &str) -> Value {
    let answer = server.get(&format!("/v1/vocab?word={word}"));
    assert_eq!((answer.status, &answer.body["word"].is_string()), (200, &true), "{answer:?}");
    assert_eq!(answer.body.get("term").is_some(), answer.body["found"] == true);
    answer.body.get("term").map_or(Value::Null, |term| term["term"].clone())
}

#[test]
fn a_query_matches_a_term_by_any_of_its_names() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    server.remember("default", &["The Kubernetes rollout failed on the second node", "We ordered new chairs"]);
    server.settle("default");
    teach(
        &server,
        &json!([{"term": "Kubernetes", "aliases": ["k8s", "the big cluster"], "definition": "What the shop runs on."}]),
    );
    wait_for("the term to be known", || term(&server, "K8S") == "Kubernetes");
    wait_for("queries to know it", || server.retrieve("default", "q=k8s").body.get("defined").is_some());
    for query in ["k8s", "K8s+rollout", "the+BIG++cluster", "k\u{301}8s"] {
        let answer = server.retrieve("default", &format!("q={query}&limit=3"));
        assert!(answer.contents()[0].contains("Kubernetes rollout"), "{query}: {answer:?}");
        assert!(answer.hits()[0]["matched"].as_array().expect("arms").contains(&json!("lexical")), "{query}");
        assert_eq!(
            answer.body["defined"],
            json!([{"term": "Kubernetes", "aliases": ["k8s", "the big cluster"], "definition": "What the shop runs on."}])
        );
    }
    for query in ["k8sx", "chairs", "cluster"] {
        assert!(server.retrieve("default", &format!("q={query}")).body.get("defined").is_none(), "{query}");
    }
    let repository = server.repository("default");
    assert!(git(&repository, &["show", "HEAD:vocab/kubernetes.md"]).contains("What the shop runs on."));
    assert_eq!(server.get("/v1/namespaces").body["namespaces"][0]["memories"], 3, "a term does not count as a memory");

    let forgotten = server.call("DELETE", "/v1/vocab?term=never,Kubernetes", None);
    assert_eq!(forgotten.status, 202);
    wait_for("the term to be forgotten", || term(&server, "k8s") == Value::Null);
    wait_for("queries to forget it", || server.retrieve("default", "q=k8s").body.get("defined").is_none());
    // The same body is a new write after the term was forgotten.
    teach(
        &server,
        &json!([{"term": "Kubernetes", "aliases": ["k8s", "the big cluster"], "definition": "What the shop runs on."}]),
    );
    wait_for("the term to be known again", || term(&server, "k8s") == "Kubernetes");
}

#[test]
fn the_lookup_follows_a_push_and_survives_a_restart() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    teach(&server, &json!([{"term": "SLO"}]));
    wait_for("the term", || term(&server, "slo") == "SLO");
    let repository = server.repository("default");
    git(folder.path(), &["clone", "-q", repository.to_str().expect("a path"), "clone"]);
    let clone = folder.path().join("clone");
    std::fs::write(clone.join("vocab/by-hand.md"), "---\naliases: [bh]\n---\n# By Hand\n\nPushed.\n").expect("writes");
    git(&clone, &["add", "."]);
    git(&clone, &["-c", "user.name=P", "-c", "user.email=p@example.org", "commit", "-qm", "by hand"]);
    git(&clone, &["push", "-q"]);
    server.settle("default");
    assert_eq!(term(&server, "bh"), "By Hand");
    server.kill();
    let server = Server::start(&data);
    assert_eq!((term(&server, "bh"), term(&server, "slo")), (json!("By Hand"), json!("SLO")));
    assert_eq!(server.retrieve("default", "q=bh").body["defined"][0]["definition"], "Pushed.");
}

#[test]
fn terms_that_begin_with_the_same_words_are_told_apart() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let mut terms = Vec::new();
    for number in 0..200 {
        let aliases: Vec<String> = (0..20).map(|alias| format!("boat {number} porto {alias}")).collect();
        terms.push(json!({"term": format!("boat {number} porto"), "aliases": aliases}));
    }
    teach(&server, &json!(terms));
    server.settle("default");
    let defined = |query: &str| {
        let answer = server.retrieve("default", &format!("q={query}"));
        answer.body["defined"][0]["term"].clone()
    };
    wait_for("queries to know the terms", || defined("boat+199+porto") == "boat 199 porto");
    assert_eq!(defined("is+BOAT+17++porto+3+here"), "boat 17 porto");
    assert_eq!(defined("is+boat+17+porto+99+here"), "boat 17 porto");
    assert_eq!(defined("is+boat+200+porto+here"), Value::Null);
}

#[test]
fn names_that_differ_only_in_accents_are_terms_of_their_own() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let drafts = |definition: &str| {
        let names = ["resume", "r\u{e9}sum\u{e9}", "RESUME"];
        json!(names.map(|name| json!({"term": name, "aliases": ["cv"], "definition": definition})))
    };
    let paths = || -> Vec<(String, String)> {
        let answer = server.get("/v1/vocab");
        let terms = answer.body["terms"].as_array().cloned().unwrap_or_default();
        let text = |term: &Value, field: &str| term[field].as_str().expect("a text").to_owned();
        terms.iter().map(|term| (text(term, "path"), text(term, "term"))).collect()
    };
    teach(&server, &drafts("first"));
    wait_for("both terms", || paths().len() == 2);
    let expected = [("vocab/resume.md", "RESUME"), ("vocab/resume-2.md", "r\u{e9}sum\u{e9}")];
    assert_eq!(paths(), expected.map(|(path, term)| (path.to_owned(), term.to_owned())));
    // Known terms keep their paths.
    teach(&server, &drafts("second"));
    server.settle("default");
    assert_eq!(paths(), expected.map(|(path, term)| (path.to_owned(), term.to_owned())));
}
