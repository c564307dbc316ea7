//! Queries, filters, listings and their errors.

use serde_json::{Value, json};

use crate::support::{Server, fresh, git, index};

/// Five memories with tags and times of their own.
fn filled() -> (tempfile::TempDir, Server) {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    let write = |text: &str, tags: Value, occurred_at: &str| {
        let body = json!({"messages": [{"role": "user", "content": text}], "tags": tags, "occurred_at": occurred_at});
        assert_eq!(server.post("/v1/memories", &body).status, 202);
    };
    write("The harbour crane was painted yellow", json!(["work"]), "2026-01-10");
    write("Always rinse the harbour nets with fresh water", json!(["work", "rule"]), "2026-02-10");
    write("My cousin Lena sings in the harbour choir", json!(["family"]), "2026-03-10");
    write(
        "How to moor: \n1. slow down\n2. throw the harbour line\n3. tie a bowline",
        json!(["work"]),
        "2026-04-10T08:00:00Z",
    );
    write("The tax office wants the forms by letter", json!([]), "2026-05-10");
    server.settle("default");
    (folder, server)
}

fn found(server: &Server, query: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for content in server.retrieve("default", query).contents() {
        for word in ["yellow", "rinse", "Lena", "bowline", "tax"] {
            if content.contains(word) {
                words.push(word.to_owned());
            }
        }
    }
    words
}

#[test]
fn filters_act_on_what_is_found() {
    let (_folder, server) = filled();
    assert_eq!(found(&server, "q=singing+relative")[0], "Lena");
    assert_eq!(found(&server, "q=harbour&tags=family"), ["Lena"]);
    assert_eq!(found(&server, "q=harbour&tags=family,rule").len(), 2);
    assert_eq!(found(&server, "q=harbour&tags=family&tags=rule").len(), 2);
    assert_eq!(found(&server, "q=harbour&tags_all=work,rule"), ["rinse"]);
    assert_eq!(found(&server, "q=harbour&tiers=rules"), ["rinse"]);
    assert_eq!(found(&server, "q=harbour&tiers=skills"), ["bowline"]);
    assert_eq!(found(&server, "q=harbour&paths=skills/user"), ["bowline"]);
    assert!(found(&server, "q=harbour&paths=skills/us").is_empty());
    let range = "q=harbour&time_field=occurred&since=2026-02-01&until=2026-03-10";
    let mut in_range = found(&server, range);
    in_range.sort();
    assert_eq!(in_range, ["Lena", "rinse"], "a date-only until includes its day");
    assert_eq!(found(&server, "q=harbour&tags=nobody"), Vec::<String>::new());
    assert_eq!(server.retrieve("default", "q=harbour&limit=2").hits().len(), 2);
    assert!(server.retrieve("default", "q=harbour&min_score=1").hits().is_empty());
}

#[test]
fn without_a_query_a_filter_lists_newest_first() {
    let (_folder, server) = filled();
    assert_eq!(found(&server, "tags=work&time_field=occurred"), ["bowline", "rinse", "yellow"]);
    assert_eq!(found(&server, "tags=work"), ["bowline", "rinse", "yellow"], "by when they were written");
    assert_eq!(found(&server, "since=2026-04-01&until=2026-05-31&time_field=occurred"), ["tax", "bowline"]);
    let listed = server.retrieve("default", "tags=work").hits();
    assert!(listed.iter().all(|hit| hit["score"] == json!(1.0) && hit["matched"] == json!([])), "{listed:?}");
    assert_eq!(server.retrieve("default", "tiers=facts,incidents,rules,skills&limit=3").hits().len(), 3);
}

#[test]
fn a_hit_says_how_it_was_found() {
    let (_folder, server) = filled();
    let answer = server.retrieve("default", "q=yellow+crane");
    let hit = &answer.hits()[0];
    let matched = hit["matched"].as_array().expect("arms");
    assert!(matched.contains(&json!("lexical")) && matched.contains(&json!("cue")), "{hit}");
    assert_eq!(hit["via"], Value::Null);
    assert_eq!(hit["sections"], json!(["User: The harbour crane was painted yellow"]));
    for field in ["vector_ms", "lexical_ms", "graph_ms"] {
        assert!(answer.body[field].is_f64(), "{field}");
    }
    assert!(answer.body["cold_start"].is_boolean() && answer.body.get("defined").is_none());
    let scores: Vec<f64> = answer.hits().iter().map(|hit| hit["score"].as_f64().expect("a score")).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
}

#[test]
fn what_was_said_next_to_a_hit_is_pulled_in_by_the_graph() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    server.remember("default", &["We finally adopted the greyhound", "Zanzibar qualifies quietly"]);
    server.settle("default");
    let hits = server.retrieve("default", "q=greyhound").hits();
    let pulled =
        hits.iter().find(|hit| hit["content"].as_str().expect("content").contains("Zanzibar")).expect("pulled in");
    assert!(pulled["matched"].as_array().expect("arms").contains(&json!("graph")), "{pulled}");
    if pulled["matched"] == json!(["graph"]) {
        assert_eq!(pulled["via"], hits[0]["path"]);
    }
}

#[test]
fn an_expired_incident_is_no_longer_found() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    server.settle("default");
    let repository = server.repository("default");
    git(folder.path(), &["clone", "-q", repository.to_str().expect("a path"), "clone"]);
    let clone = folder.path().join("clone");
    for (path, expires) in [
        ("incidents/past.md", "2020-01-01T00:00:00Z"),
        ("incidents/future.md", "2999-01-01T00:00:00Z"),
        ("facts/past.md", "2020-01-01T00:00:00Z"),
    ] {
        std::fs::create_dir_all(clone.join(path).parent().expect("a parent")).expect("creates");
        std::fs::write(
            clone.join(path),
            format!("---\nexpires_at: {expires}\ntags: [outage]\n---\n# Outage\n\nThe pump station lost power.\n"),
        )
        .expect("writes");
    }
    git(&clone, &["add", "."]);
    git(&clone, &["-c", "user.name=P", "-c", "user.email=p@example.org", "commit", "-qm", "by hand"]);
    git(&clone, &["push", "-q"]);
    server.settle("default");
    for query in ["q=pump+station+power&tags=outage", "tags=outage"] {
        let hits = server.retrieve("default", query).hits();
        let mut paths: Vec<&str> = hits.iter().map(|hit| hit["path"].as_str().expect("a path")).collect();
        paths.sort_unstable();
        assert_eq!(paths, ["facts/past.md", "incidents/future.md"], "{query}");
        assert!(hits.iter().all(|hit| hit["expires_at"].is_string()));
    }
}

#[test]
fn faults_have_retrieves_own_shape() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    for (query, status, code) in [
        ("", 400, "missing_query"),
        ("q=", 400, "missing_query"),
        ("q=x&tiers=nope", 400, "invalid_tier"),
        ("q=x&since=never", 400, "invalid_time"),
        ("q=x&timezone=Nowhere", 400, "invalid_timezone"),
        ("q=x&limit=0", 400, "invalid_limit"),
        ("q=x&limit=many", 400, "invalid_limit"),
        ("q=x&min_score=-1", 400, "invalid_score"),
        ("q=x&tags=%21", 400, "invalid_tag"),
        ("q=x&paths=..%2f..", 400, "invalid_path"),
        ("q=x&time_field=x", 400, "invalid_time_field"),
        ("q=x&namespace=Bad", 400, "invalid_namespace"),
        ("q=x&namespace=unknown", 404, "namespace_not_found"),
    ] {
        let answer = server.get(&format!("/v1/retrieve?{query}"));
        assert_eq!((answer.status, answer.body["error"].as_str()), (status, Some(code)), "{query}");
        assert!(answer.body["namespace"].is_string() && answer.body["message"].is_string());
    }
    let answer = server.get("/v1/retrieve?q=x&unknown=1");
    assert_eq!(answer.status, 200);
    assert!(answer.body.get("hits").is_none());
}

#[test]
fn strange_queries_are_answered() {
    let (_folder, server) = filled();
    let long = "harbour+".repeat(900);
    for query in ["🦀", "the+of+and", "%00%01", "日本語", "مرحبا", "สวัสดี", "\"(*:^", &long] {
        assert_eq!(server.retrieve("default", &format!("q={query}")).status, 200, "{query:.20}");
    }
}

#[test]
fn a_memory_of_a_mebibyte_is_found_by_its_last_words() {
    let (_folder, server) = filled();
    let mut content = "# Log of the lighthouse\n\n".to_owned();
    while content.len() < (1 << 20) - 100 {
        content.push_str("The lamp was lit at dusk and put out at dawn, nothing else happened.\n");
    }
    content.push_str("Then the zeppelin came.\n");
    let written = server.post("/v1/memories/facts/log.md", &json!({ "content": content }));
    assert!(matches!(written.status, 200 | 201), "{}", written.status);
    let long = format!("zeppelin+{}", "lamp+".repeat(1600));
    for query in ["zeppelin", &long] {
        let answer = server.retrieve("default", &format!("q={query}"));
        assert_eq!(answer.hits()[0]["path"], json!("facts/log.md"), "{query:.20}");
    }
    content.push_str(&"x".repeat(100));
    assert_eq!(server.post("/v1/memories/facts/log.md", &json!({ "content": content })).status, 413);
}

#[test]
fn words_are_found_in_scripts_with_and_without_spaces() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    // "My sister studies Chinese at school", "The cat drinks milk every morning", "The red book lies on the table" in
    // Hindi and in Arabic, "Grandmother lives in Kyoto"; and what is asked.
    let said = [
        ("我妹妹在学校学习中文", "谁在学习中文"),
        ("แมวดื่มนมทุกเช้า", "แมวดื่มอะไร"),
        ("लाल किताब मेज़ पर रखी है", "किताब कहाँ है"),
        ("الكتاب الأحمر على الطاولة", "أين الكتاب"),
        ("祖母は京都に住んでいます", "京都"),
    ];
    server.remember("default", &said.map(|(text, _)| text));
    server.settle("default");
    for (text, query) in said {
        let answer = server.retrieve("default", &format!("q={query}"));
        assert!(answer.contents()[0].contains(text), "{query}: {:?}", answer.contents());
    }
}

#[test]
fn ten_thousand_identical_memories_and_every_filter_at_once() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    for _ in 0..50 {
        server.remember("default", &["The night watch changes at six"; 200]);
    }
    server.settle("default");
    let answer = server.retrieve("default", "q=night+watch&limit=200");
    assert_eq!(answer.hits().len(), 200);
    let every = "q=night+watch&tiers=facts,rules,incidents,skills&paths=facts&tags=a,b&tags_all=a&since=2020-01-01\
                 &until=2999-01-01&time_field=created&timezone=Europe/Berlin&min_score=0.01&limit=5";
    assert!(server.retrieve("default", every).hits().is_empty(), "nothing has the tag");
    let without_tags = every.replace("&tags=a,b&tags_all=a", "");
    assert_eq!(server.retrieve("default", &without_tags).hits().len(), 5);
}

#[test]
fn a_restart_and_a_lost_index_change_no_answer() {
    let (folder, server) = filled();
    let ask = |server: &Server| {
        let hits = server.retrieve("default", "q=harbour+work").hits();
        hits.iter().map(|hit| (hit["path"].clone(), hit["score"].clone())).collect::<Vec<_>>()
    };
    let before = ask(&server);
    let data = server.data.clone();
    assert!(server.terminate());
    let server = Server::start(&data);
    assert_eq!(server.retrieve("default", "q=harbour").body["cold_start"], json!(true));
    assert_eq!(server.retrieve("default", "q=harbour").body["cold_start"], json!(false));
    assert_eq!(ask(&server), before);
    assert!(server.terminate());

    std::fs::remove_dir_all(data.join("indexes")).expect("removes");
    let server = Server::start(&data);
    assert_eq!(ask(&server), before);

    // Damage in the middle of a file is noticed and mended too: in what is read for an answer, at once.
    let log = index(&data, "default").join("memories.log");
    let mut bytes = std::fs::read(&log).expect("reads");
    bytes.iter_mut().for_each(|byte| *byte ^= 0x10);
    std::fs::write(&log, bytes).expect("writes");
    assert_eq!(ask(&server), before);
    assert!(server.log().contains("the index is damaged"));
    // In what a write has to read, too: the version that it replaces.
    let mut bytes = std::fs::read(&log).expect("reads");
    bytes.iter_mut().for_each(|byte| *byte ^= 0x10);
    std::fs::write(&log, bytes).expect("writes");
    let path = before[0].0.as_str().expect("a path");
    let content = json!({"content": "# Ferry\n\nThe harbour ferry leaves at nine.\n"});
    assert_eq!(server.post(&format!("/v1/memories/{path}"), &content).status, 200);
    assert!(server.retrieve("default", "q=harbour+ferry+nine").contents()[0].contains("leaves at nine"));
    let before = ask(&server);
    assert!(server.terminate());

    // In what is read at the start, then.
    for file in ["memories.log", "vectors.log", "state"] {
        let file = index(&data, "default").join(file);
        let mut bytes = std::fs::read(&file).expect("reads");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0xff;
        std::fs::write(&file, bytes).expect("writes");
        let server = Server::start(&data);
        assert_eq!(ask(&server), before, "{}", file.display());
        assert!(server.log().contains("making the index anew"), "{} was not noticed", file.display());
        assert!(server.terminate());
        std::fs::write(data.with_extension("log"), "").expect("empties the log");
    }
    drop(folder);
}

#[test]
fn above_the_ceiling_the_answer_is_503_and_below_it_never() {
    let (_folder, data) = fresh();
    std::fs::create_dir_all(data.parent().expect("a parent")).expect("creates");
    let file = data.with_extension("toml");
    std::fs::write(&file, "[retrieval]\nconcurrency = 1\n").expect("writes");
    let server = Server::start_with(&data, &["--config", file.to_str().expect("a path")]);
    let texts: Vec<String> = (0..400).map(|n| format!("Crate {n} holds {n} lanterns for the winter market")).collect();
    server.remember("default", &texts.iter().map(String::as_str).collect::<Vec<_>>());
    server.settle("default");
    let refused = std::sync::atomic::AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while refused.load(std::sync::atomic::Ordering::SeqCst) == 0 {
                    let answer = server.retrieve("default", "q=lanterns+for+the+market&limit=200");
                    if answer.status == 503 {
                        assert_eq!(answer.body, json!({"message": "Service Unavailable"}));
                        assert_eq!(answer.retry_after.as_deref(), Some("1"));
                        refused.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    } else {
                        assert_eq!(answer.status, 200);
                    }
                }
            });
        }
    });
    assert_eq!(server.retrieve("default", "q=lanterns").status, 200);
}

#[test]
fn more_namespaces_than_stay_warm_are_all_served() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    for n in 0..7 {
        server.namespace(&format!("n{n}"));
        server.remember(&format!("n{n}"), &[&format!("The password of box {n} is tulip{n}")]);
    }
    for n in 0..7 {
        server.settle(&format!("n{n}"));
    }
    for n in 0..7 {
        assert!(
            server.retrieve(&format!("n{n}"), "q=password+of+the+box").contents()[0].contains(&format!("tulip{n}"))
        );
    }
    assert_eq!(server.retrieve("n6", "q=box").body["cold_start"], json!(false));
    assert_eq!(server.retrieve("n0", "q=box").body["cold_start"], json!(true), "closed as the least recently used");
}

#[test]
fn a_time_that_the_query_names_counts() {
    let (_folder, server) = filled();
    for (query, expected) in [
        ("What else of the harbour in January?", "yellow"),
        ("What else of the harbour in February 2026?", "rinse"),
        ("What else of the harbour on 10 March?", "Lena"),
        ("What else of the harbour since April 2026?", "bowline"),
        ("What else of the harbour between February 8 and February 12, 2026?", "rinse"),
    ] {
        let query = format!("q={}", query.replace(' ', "+").replace('?', "%3F"));
        assert_eq!(found(&server, &query)[0], expected, "{query}");
    }
    // A day is that of the caller's time zone: 08:00 in UTC is the evening of the day before in Honolulu.
    let of = |day: u32, zone: &str| {
        let query = format!("q=the+harbour+on+{day}+April+2026&timezone={zone}");
        let hits = server.retrieve("default", &query).hits();
        let hit = hits.iter().find(|hit| hit["content"].as_str().is_some_and(|content| content.contains("bowline")));
        hit.expect("found")["score"].as_f64().expect("a score")
    };
    assert!(of(10, "UTC") > of(10, "Pacific/Honolulu") && of(9, "Pacific/Honolulu") > of(9, "UTC"));
}

#[test]
fn the_first_memories_score_as_honestly_as_later_ones() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let scores = |query: &str| -> Vec<f64> {
        let hits = server.retrieve("default", query).hits();
        hits.iter().map(|hit| hit["score"].as_f64().expect("a score")).collect()
    };
    server.remember("default", &["Ann has a dog called Rex, who is afraid of thunder."]);
    server.settle("default");
    let alone = scores("q=What+is+Ann%27s+dog+called%3F")[0];
    assert!(alone > 0.4, "the only memory answers: {alone}");
    assert!(scores("q=Which+bakery+opens+on+Sundays%3F").iter().all(|score| *score < 0.2), "it does not");

    server.remember("default", &["Bob works at a bakery in Oslo since 2021."]);
    server.settle("default");
    let beside_another = scores("q=What+is+Ann%27s+dog+called%3F")[0];
    assert!((beside_another - alone).abs() < 0.2, "{alone} alone, {beside_another} beside another");
}
