//! Retrieval: restarts, damaged indexes, large memories, concurrent queries, and ranking. Parameters, filters and errors
//! are tested in `tests/api`.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Server, fresh, git, index, wait_for};

/// Starts a server with five memories that differ in tags and times.
fn server_with_memories() -> (tempfile::TempDir, Server) {
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

/// Returns which of the five memories a query finds, best first. Each memory is represented by a word.
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
fn a_memory_of_a_mebibyte_is_found_by_its_last_words() {
    let (_folder, server) = server_with_memories();
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
fn a_long_query_is_searched_by_what_it_asks() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let chatter = "The bus to the harbour was late again, and the rain came in through the roof of the stop while everybody read the \
        timetable. Our new neighbours play the drums every evening, and my sister complains about the noise.";
    for (path, content) in [
        ("facts/bus.md", "The bus to the harbour was late again, and the rain came in through the roof of the stop."),
        ("facts/drums.md", "The new neighbours play the drums every evening, and my sister complains about the noise."),
        ("facts/dentist.md", "Julian's dentist is Dr Haug in Vogel Street."),
    ] {
        let written = server.post(&format!("/v1/memories/{path}"), &json!({ "content": content }));
        assert!(matches!(written.status, 200 | 201), "{written:?}");
    }
    let query = format!("{chatter} Anyway, who is Julian's dentist?").replace(' ', "+").replace('?', "%3F");
    assert_eq!(server.retrieve("default", &format!("q={query}")).hits()[0]["path"], json!("facts/dentist.md"));
    let without_question = chatter.replace(' ', "+");
    assert_ne!(
        server.retrieve("default", &format!("q={without_question}")).hits()[0]["path"],
        json!("facts/dentist.md")
    );
}

#[test]
fn words_are_found_in_scripts_with_and_without_spaces() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    // "My sister studies Chinese at school", "The cat drinks milk every morning", "The red book lies on the table" in
    // Hindi and in Arabic, "Grandmother lives in Kyoto"; each with a query.
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
fn ten_thousand_similar_memories_can_be_filtered() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    for round in 0..50 {
        let texts: Vec<String> =
            (0..200).map(|n| format!("The night watch {} changes at six", 200 * round + n)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        server.remember("default", &texts);
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

/// Paths and scores of the hits for a query.
fn ranking(server: &Server) -> Vec<(Value, Value)> {
    let hits = server.retrieve("default", "q=harbour+work").hits();
    hits.iter().map(|hit| (hit["path"].clone(), hit["score"].clone())).collect()
}

#[test]
fn a_restart_changes_no_results() {
    let (_folder, server) = server_with_memories();
    let before = ranking(&server);
    let data = server.data.clone();
    assert!(server.terminate());
    let server = Server::start(&data);
    assert_eq!(server.retrieve("default", "q=harbour").body["cold_start"], json!(true));
    assert_eq!(server.retrieve("default", "q=harbour").body["cold_start"], json!(false));
    assert_eq!(ranking(&server), before);
}

/// Starts a server with memories, deletes the indexes, starts again, and checks that the rebuilt index has the same
/// results.
fn server_with_rebuilt_index() -> (tempfile::TempDir, Server) {
    let (folder, server) = server_with_memories();
    let before = ranking(&server);
    let data = server.data.clone();
    assert!(server.terminate());
    std::fs::remove_dir_all(data.join("indexes")).expect("removes");
    let server = Server::start(&data);
    assert_eq!(ranking(&server), before);
    (folder, server)
}

/// Flips a bit in every byte of the index's memories.
fn damage_memories(server: &Server) {
    let log = index(&server.data, "default").join("memories.log");
    let mut bytes = std::fs::read(&log).expect("reads");
    for byte in &mut bytes {
        *byte ^= 0x10;
    }
    std::fs::write(&log, bytes).expect("writes");
}

/// Flips all bits of the byte in the middle of a file.
fn damage_middle(file: &Path) {
    let mut bytes = std::fs::read(file).expect("reads");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(file, bytes).expect("writes");
}

#[test]
fn a_lost_index_is_rebuilt_with_the_same_results() {
    server_with_rebuilt_index();
}

#[test]
fn damage_that_a_query_reads_is_repaired_at_once() {
    let (_folder, server) = server_with_rebuilt_index();
    let before = ranking(&server);
    damage_memories(&server);
    assert_eq!(ranking(&server), before);
    assert!(server.log().contains("the index is damaged"));
}

#[test]
fn damage_that_a_write_or_a_start_reads_is_repaired() {
    let (_folder, server) = server_with_rebuilt_index();
    let path = ranking(&server)[0].0.as_str().expect("a path").to_owned();
    // The write reads the version that it replaces.
    damage_memories(&server);
    let content = json!({"content": "# Ferry\n\nThe harbour ferry leaves at nine.\n"});
    assert_eq!(server.post(&format!("/v1/memories/{path}"), &content).status, 200);
    assert!(server.retrieve("default", "q=harbour+ferry+nine").contents()[0].contains("leaves at nine"));
    let before = ranking(&server);
    let data = server.data.clone();
    assert!(server.terminate());

    for file in ["memories.log", "vectors.log", "state"] {
        let file = index(&data, "default").join(file);
        damage_middle(&file);
        let server = Server::start(&data);
        assert_eq!(ranking(&server), before, "{}", file.display());
        assert!(server.log().contains("rebuilding the index"), "the damage in {} was not detected", file.display());
        assert!(server.terminate());
        std::fs::write(data.with_extension("log"), "").expect("empties the log");
    }
}

#[test]
fn only_queries_above_the_concurrency_limit_get_503() {
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
    // After a write is retrievable, its worker joins packs, for which it opens the namespace again. So the order of use
    // is known only once the workers have ended.
    wait_for("the least recently used namespace to be closed", || {
        for n in 0..7 {
            assert!(
                server.retrieve(&format!("n{n}"), "q=password+of+the+box").contents()[0].contains(&format!("tulip{n}"))
            );
        }
        let newest_is_open = server.retrieve("n6", "q=box").body["cold_start"] == json!(false);
        newest_is_open && server.retrieve("n0", "q=box").body["cold_start"] == json!(true)
    });
}

#[test]
fn a_time_named_in_the_query_affects_the_ranking() {
    let (_folder, server) = server_with_memories();
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
    // Days are in the caller's time zone: 08:00 UTC is the evening of the previous day in Honolulu.
    let score_of = |day: u32, zone: &str| {
        let query = format!("q=the+harbour+on+{day}+April+2026&timezone={zone}");
        let hits = server.retrieve("default", &query).hits();
        let hit = hits.iter().find(|hit| hit["content"].as_str().is_some_and(|content| content.contains("bowline")));
        hit.expect("found")["score"].as_f64().expect("a score")
    };
    assert!(
        score_of(10, "UTC") > score_of(10, "Pacific/Honolulu") && score_of(9, "Pacific/Honolulu") > score_of(9, "UTC")
    );
}

#[test]
fn scores_of_the_first_memories_match_later_ones() {
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
    assert!(
        scores("q=Which+bakery+opens+on+Sundays%3F").iter().all(|score| *score < 0.2),
        "the only memory does not answer this"
    );

    server.remember("default", &["Bob works at a bakery in Oslo since 2021."]);
    server.settle("default");
    let with_another = scores("q=What+is+Ann%27s+dog+called%3F")[0];
    assert!((with_another - alone).abs() < 0.2, "{alone} alone, {with_another} with another memory");
}
