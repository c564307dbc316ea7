//! Queries and listings over several namespaces.

use serde_json::{Value, json};

use crate::support::{Answer, Server, fresh, metrics, metrics_address, sample, stdout, wait_for};

/// Writes a memory at a path of a namespace.
fn write(server: &Server, namespace: &str, path: &str, content: &str, occurred_at: &str) {
    let body = json!({"content": content, "namespace": namespace, "occurred_at": occurred_at});
    let answer = server.post(&format!("/v1/memories/{path}"), &body);
    assert_eq!(answer.status, 201, "{answer:?}");
}

/// Fills the namespaces `mara` and `team`. Both have a memory at `facts/keys.md`.
fn fill(server: &Server) {
    for name in ["mara", "team"] {
        server.namespace(name);
    }
    write(server, "mara", "facts/keys.md", "# Keys\n\nMara hid the boathouse keys below a flowerpot.\n", "2026-01-10");
    write(server, "mara", "facts/tea.md", "# Tea\n\nMara drinks her tea without sugar.\n", "2026-03-10");
    write(
        server,
        "team",
        "facts/keys.md",
        "# Keys\n\nThe boathouse keys of the team hang by the door.\n",
        "2026-02-10",
    );
    write(server, "team", "facts/oars.md", "# Oars\n\nThe oars of the boathouse are new.\n", "2026-04-10");
}

/// Starts a server with the namespaces `mara` and `team`.
fn filled() -> (tempfile::TempDir, Server) {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    fill(&server);
    (folder, server)
}

/// Returns the hits as `namespace path`.
fn places(answer: &Answer) -> Vec<String> {
    let mut places = Vec::new();
    for hit in answer.hits() {
        let namespace = hit["namespace"].as_str().expect("a hit of several namespaces has one");
        places.push(format!("{namespace} {}", hit["path"].as_str().expect("a path")));
    }
    places
}

/// Returns the hits of one namespace, which do not carry its name.
fn hits_of_one(server: &Server, namespace: &str, query: &str) -> Vec<Value> {
    let hits = server.retrieve(namespace, query).hits();
    assert!(hits.iter().all(|hit| hit.get("namespace").is_none()), "{hits:?}");
    hits
}

#[test]
fn hits_of_several_namespaces_are_merged_by_score() {
    let (_folder, server) = filled();
    let query = "q=where+are+the+boathouse+keys";
    let mut expected: Vec<(f64, String, Value)> = Vec::new();
    for namespace in ["mara", "team"] {
        for hit in hits_of_one(&server, namespace, query) {
            expected.push((hit["score"].as_f64().expect("a score"), namespace.to_owned(), hit));
        }
    }
    expected.sort_by(|a, b| b.0.total_cmp(&a.0));
    let merged = server.retrieve("mara,team", query).hits();
    assert_eq!(merged.len(), expected.len());
    for (hit, (_, namespace, alone)) in merged.iter().zip(&expected) {
        let mut hit = hit.clone();
        let own = hit.as_object_mut().expect("an object").remove("namespace");
        assert_eq!((own, &hit), (Some(json!(namespace)), alone), "{merged:?}");
    }
    let first_two = &places(&server.retrieve("mara,team", query))[..2];
    assert!(first_two.contains(&"mara facts/keys.md".to_owned()), "{first_two:?}");
    assert!(first_two.contains(&"team facts/keys.md".to_owned()), "{first_two:?}");
}

#[test]
fn the_limit_counts_the_hits_of_all_namespaces() {
    let (_folder, server) = filled();
    let query = "q=where+are+the+boathouse+keys";
    let all = places(&server.retrieve("mara,team", query));
    assert!(all.len() > 2, "{all:?}");
    assert_eq!(places(&server.retrieve("mara,team", &format!("{query}&limit=2"))), all[..2]);
}

#[test]
fn names_are_separated_by_commas_or_by_repeated_parameters() {
    let (_folder, server) = filled();
    let query = "q=where+are+the+boathouse+keys";
    let merged = places(&server.retrieve("mara,team", query));
    assert_eq!(places(&server.retrieve("mara&namespace=team", query)), merged);
    assert_eq!(places(&server.retrieve("mara,+team&namespace=mara", query)), merged);
}

#[test]
fn a_name_that_is_given_twice_counts_once() {
    let (_folder, server) = filled();
    let query = "q=where+are+the+boathouse+keys";
    assert_eq!(hits_of_one(&server, "mara,mara", query), hits_of_one(&server, "mara", query));
    assert_eq!(places(&server.retrieve("mara,team,mara", query)), places(&server.retrieve("mara,team", query)));
    let nine = ["mara", "team"].repeat(9).join(",");
    assert_eq!(server.retrieve(&nine, query).status, 200);
}

#[test]
fn a_listing_of_several_namespaces_is_newest_first() {
    let (_folder, server) = filled();
    let listed = places(&server.retrieve("mara,team", "tiers=facts&time_field=occurred"));
    assert_eq!(listed, ["team facts/oars.md", "mara facts/tea.md", "team facts/keys.md", "mara facts/keys.md"]);
    let newest = places(&server.retrieve("mara,team", "tiers=facts&time_field=occurred&limit=3"));
    assert_eq!(newest, listed[..3]);
}

#[test]
fn full_detail_has_the_history_in_the_namespace_of_the_hit() {
    let (_folder, server) = filled();
    let body =
        json!({"content": "# Keys\n\nThe boathouse keys of the team hang in the office.\n", "namespace": "team"});
    assert_eq!(server.post("/v1/memories/facts/keys.md", &body).status, 200);
    let merged = server.retrieve("mara,team", "q=where+are+the+boathouse+keys&detail=full").hits();
    for namespace in ["mara", "team"] {
        let alone = hits_of_one(&server, namespace, "q=where+are+the+boathouse+keys&detail=full");
        for hit in merged.iter().filter(|hit| hit["namespace"] == namespace) {
            let same = alone.iter().find(|other| other["path"] == hit["path"]).expect("a hit of the namespace alone");
            assert_eq!((&hit["revisions"], &hit["last_diff"]), (&same["revisions"], &same["last_diff"]));
        }
    }
    let of = |namespace: &str| {
        let found = merged.iter().find(|hit| hit["namespace"] == namespace && hit["path"] == "facts/keys.md");
        found.expect("both namespaces have the keys").clone()
    };
    assert_eq!(of("mara")["revisions"].as_array().map(Vec::len), Some(1));
    assert_eq!(of("team")["revisions"].as_array().map(Vec::len), Some(2));
    assert!(
        of("team")["last_diff"]
            .as_str()
            .expect("a diff")
            .contains("+The boathouse keys of the team hang in the office.")
    );
    assert!(of("mara")["last_diff"].as_str().expect("a diff").contains("flowerpot"));
}

#[test]
fn a_term_of_several_namespaces_is_defined_by_the_first() {
    let (_folder, server) = filled();
    for (namespace, terms) in [
        ("mara", json!([{"term": "Skiff", "aliases": ["dinghy"], "definition": "My own boat."}])),
        (
            "team",
            json!([{"term": "skiff", "definition": "A boat of the club."}, {"term": "cox", "definition": "Steers."}]),
        ),
    ] {
        assert_eq!(server.post("/v1/vocab", &json!({"namespace": namespace, "terms": terms})).status, 202);
        wait_for("the terms", || server.retrieve(namespace, "q=skiff+cox").body.get("defined").is_some());
    }
    let defined = |namespaces: &str| {
        let answer = server.retrieve(namespaces, "q=is+the+skiff+with+the+cox+ready");
        let terms = answer.body["defined"].as_array().cloned().unwrap_or_default();
        let mut definitions: Vec<String> = Vec::new();
        for term in terms {
            definitions.push(term["definition"].as_str().expect("a definition").to_owned());
        }
        definitions
    };
    assert_eq!(defined("mara,team"), ["My own boat.", "Steers."]);
    assert_eq!(defined("team,mara"), ["A boat of the club.", "Steers."]);
}

#[test]
fn an_unknown_namespace_fails_the_request_and_is_named() {
    let (_folder, server) = filled();
    let alone = server.retrieve("ghost", "q=keys");
    for namespaces in ["mara,ghost", "ghost,mara", "mara,ghost,team"] {
        let answer = server.retrieve(namespaces, "q=keys");
        assert_eq!((answer.status, &answer.body), (404, &alone.body), "{namespaces}");
    }
    assert_eq!(alone.body["namespace"], "ghost");
    assert_eq!(alone.body["error"], "namespace_not_found");
    let answered = server.post("/v1/answer", &json!({"q": "Where are the keys?", "namespace": ["mara", "ghost"]}));
    assert_eq!((answered.status, answered.code()), (404, "namespace_not_found"));
    assert!(answered.body["error"]["message"].as_str().expect("a message").contains("ghost"), "{answered:?}");
}

#[test]
fn a_key_of_one_namespace_reads_no_other_one() {
    let (_folder, server) = filled();
    let key = stdout(&server.data, &["keys", "create", "--namespace", "mara"]);
    for namespaces in ["mara,team", "team,mara", "mara&namespace=team"] {
        let answer = server.call_as(&key, "GET", &format!("/v1/retrieve?q=keys&namespace={namespaces}"), None);
        assert_eq!((answer.status, &answer.body["error"]), (403, &json!("forbidden_namespace")), "{answer:?}");
        assert_eq!(answer.body["namespace"], "team");
        assert!(!answer.body.to_string().contains("flowerpot"), "{answer:?}");
    }
    let body = json!({"q": "Where are the boathouse keys?", "namespace": "mara,team"});
    let answer = server.call_as(&key, "POST", "/v1/answer", Some(&body));
    assert_eq!((answer.status, answer.code()), (403, "forbidden_namespace"), "{answer:?}");
    let own = server.call_as(&key, "GET", "/v1/retrieve?q=boathouse+keys&namespace=mara,mara", None);
    assert!(own.contents()[0].contains("flowerpot"), "{own:?}");
}

#[test]
fn invalid_lists_of_namespaces_are_refused() {
    let (_folder, server) = filled();
    let nine: Vec<String> = (0..9).map(|number| format!("n{number}")).collect();
    for (namespaces, named) in [
        (nine.join(","), nine.join(",")),
        ("mara,NO".to_owned(), "NO".to_owned()),
        ("mara,".to_owned(), String::new()),
        ("mara&namespace=".to_owned(), String::new()),
    ] {
        let answer = server.retrieve(&namespaces, "q=keys");
        assert_eq!(
            (answer.status, &answer.body["error"]),
            (400, &json!("invalid_namespace")),
            "{namespaces}: {answer:?}"
        );
        assert_eq!(answer.body["namespace"], json!(named), "{namespaces}");
    }
    for namespaces in [json!([]), json!(nine), json!(["mara", "NO"]), json!(["mara", 5]), json!(5), json!({})] {
        let answer = server.post("/v1/answer", &json!({"q": "Where are the keys?", "namespace": namespaces}));
        assert_eq!((answer.status, answer.code()), (400, "invalid_namespace"), "{namespaces}: {answer:?}");
    }
    assert_eq!(server.get("/v1/usage").body["used"]["reads"], 0, "refused requests are not counted");
}

#[test]
fn an_answer_quotes_the_memories_of_several_namespaces() {
    let (_folder, data) = fresh();
    // Without a chat model, which chooses what it quotes.
    let server = Server::start_with_models(&data, "");
    fill(&server);
    for namespaces in [json!("mara,team"), json!(["mara", "team"])] {
        let answer = server.post("/v1/answer", &json!({"q": "Where are the boathouse keys?", "namespace": namespaces}));
        assert_eq!(answer.status, 200, "{answer:?}");
        let hits = answer.body["hits"].as_array().expect("hits");
        for namespace in ["mara", "team"] {
            assert!(hits.iter().any(|hit| hit["namespace"] == namespace), "{namespace}: {hits:?}");
        }
        let citations = answer.body["citations"].as_array().expect("citations");
        assert!(citations.iter().any(|citation| citation["quote"].to_string().contains("boathouse")), "{answer:?}");
        for citation in citations {
            let is_cited = |hit: &&Value| hit["namespace"] == citation["namespace"] && hit["path"] == citation["path"];
            let cited = hits.iter().find(is_cited).expect("a hit of the citation's namespace");
            let quote = citation["quote"].as_str().expect("a quote");
            assert!(cited["content"].as_str().expect("content").contains(quote), "{citation}");
        }
    }
    let alone = server.post("/v1/answer", &json!({"q": "Where are the boathouse keys?", "namespace": "mara"}));
    assert_eq!(alone.body["citations"][0].get("namespace"), None, "{alone:?}");
    assert_eq!(alone.body["hits"][0].get("namespace"), None, "{alone:?}");
}

#[test]
fn a_query_over_several_namespaces_is_one_read_and_several_searches() {
    let (_folder, data) = fresh();
    let (address, url) = metrics_address();
    let server = Server::start_with(&data, &["--metrics-listen", &address]);
    fill(&server);
    assert!(!server.retrieve("mara,team", "q=boathouse+keys").hits().is_empty());
    assert_eq!(server.get("/v1/usage").body["used"]["reads"], 1);
    assert!((sample(&metrics(&url), "cuebase_retrieval_seconds_count{part=\"lexical\"}") - 2.0).abs() < f64::EPSILON);
}

#[test]
fn a_query_is_a_cold_start_if_one_of_the_namespaces_was_closed() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    fill(&server);
    server.kill();
    let server = Server::start(&data);
    assert_eq!(server.retrieve("mara", "q=keys").body["cold_start"], true);
    assert_eq!(server.retrieve("mara,team", "q=keys").body["cold_start"], true);
    assert_eq!(server.retrieve("mara,team", "q=keys").body["cold_start"], false);
}
