//! Posting conversations: the repository that results, its order, large bodies and dead letters. The checks of each
//! field are tested in `tests/api`.

use serde_json::{Value, json};

use crate::support::{Server, fresh, git, run, stdout, wait_for};

#[test]
fn a_posted_conversation_becomes_a_retrievable_memory() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let body = json!({
        "session_id": "s1",
        "tags": ["Trip", "family"],
        "occurred_at": "2026-03-10",
        "messages": [
            {"role": "user", "name": "Ann", "content": "Where did you spend the holidays?"},
            {"role": "assistant", "name": "Bo", "content": [{"type": "text", "text": "We hiked in the Tatra mountains last week."}, {"type": "media", "id": "m1"}]},
            {"role": "user", "name": "Ann", "content": "Thanks!"},
        ]
    });
    let accepted = server.post("/v1/memories", &body);
    assert_eq!(accepted.status, 202, "{accepted:?}");
    assert_eq!((&accepted.body["namespace"], &accepted.body["status"]), (&json!("default"), &json!("accepted")));
    server.settle("default");

    let answer = server.retrieve("default", "q=mountain+hiking+vacation&detail=full");
    let hit = &answer.hits()[0];
    assert!(
        hit["content"].as_str().expect("content").contains("Tatra mountains last week (week of 2 March 2026)"),
        "{hit}"
    );
    assert_eq!(hit["user_tags"], json!(["family", "trip"]));
    assert_eq!(hit["tags"], json!(["family", "trip"]));
    assert_eq!(hit["occurred_at"], json!("2026-03-10T12:00:00Z"));
    assert_eq!((&hit["occurred_precision"], &hit["occurred_source"]), (&json!("day"), &json!("user")));
    assert!(hit["created_at"].is_string() && hit["updated_at"].is_string() && hit["expires_at"].is_null());
    assert!((0.0..=1.0).contains(&hit["score"].as_f64().expect("a score")));
    assert!(hit["cues"].as_array().expect("cues").contains(&json!("Where did you spend the holidays?")));
    assert!(
        hit["content"].as_str().expect("content").ends_with("\n\n> Ann: Where did you spend the holidays?\n"),
        "the answer does not contain its question: {hit}"
    );
    let source = |message: u64| json!({"session_id": "s1", "message": message, "write": accepted.body["id"]});
    assert_eq!(hit["sources"], json!([source(0), source(1)]));
    assert_eq!(hit["revisions"].as_array().expect("revisions").len(), 1);
    assert!(hit["last_diff"].as_str().expect("a diff").contains("+# Bo: We hiked"));
    assert!(hit["relations"].is_array() && hit["path"].as_str().expect("a path").ends_with(".md"));
    assert!(answer.hits().iter().all(|hit| hit["content"] != json!("# Ann: Thanks!\n")), "small talk was kept");

    let repository = server.repository("default");
    assert_eq!(git(&repository, &["fsck", "--strict"]), "");
    let log = git(&repository, &["log", "--format=%B"]);
    assert!(log.contains(&format!("Cuebase-Message: {}", accepted.body["id"].as_str().expect("an id"))), "{log}");
    let file = git(&repository, &["show", &format!("HEAD:{}", hit["path"].as_str().expect("a path"))]);
    assert!(file.starts_with("---\n") && file.contains("speaker: Bo"), "{file}");
}

#[test]
fn a_filter_for_a_month_finds_what_happened_last_month() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let body = json!({
        "occurred_at": "2025-05-20",
        "messages": [{"role": "user", "name": "Ann", "content": "I sold the green kayak last month."}],
    });
    server.post("/v1/memories", &body);
    server.settle("default");
    let paths = |since: &str, until: &str| {
        let answer = server.retrieve("default", &format!("time_field=occurred&since={since}&until={until}"));
        answer.hits().iter().map(|hit| hit["content"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(paths("2025-04-01", "2025-05-01"), ["# Ann: I sold the green kayak last month (April 2025).\n"]);
    assert!(paths("2025-05-01", "2025-06-01").is_empty(), "the month in which it was said");
}

#[test]
fn a_body_that_is_not_json_or_too_large_changes_nothing() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let bearer = format!("Bearer {}", server.key);
    for raw in [&b""[..], b"{", b"\xff\xfe", b"{\"messages\": [}"] {
        let answer = server.request("POST", "/v1/memories", Some(&bearer), Some(raw.to_vec()));
        assert_eq!((answer.status, answer.code()), (400, "invalid_body"));
    }
    for path in ["/v1/memories", "/v1/skills"] {
        let huge = server.request("POST", path, Some(&bearer), Some(vec![b' '; (8 << 20) + 1]));
        assert_eq!((huge.status, huge.code()), (413, "payload_too_large"), "{path}");
        assert_eq!(huge.retry_after, None, "{path}");
    }
    assert_eq!(server.get("/v1/namespaces").body["namespaces"][0]["head"], Value::Null);
    assert_eq!(server.get("/v1/usage").body["used"]["writes"], 0);
}

#[test]
fn writes_of_a_namespace_keep_their_order() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let ids: Vec<String> =
        (0..30).map(|n| server.remember("default", &[&format!("Parcel number {n} weighs {n} kilograms")])).collect();
    server.settle("default");
    let log = git(
        &server.repository("default"),
        &["log", "--reverse", "--format=%(trailers:key=Cuebase-Message,valueonly,separator=%x2C)"],
    );
    let committed: Vec<&str> = log.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(committed[..30], ids.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn hostile_text_is_stored_as_text() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let before: Vec<_> =
        std::fs::read_dir(data.parent().expect("a parent")).expect("lists").flatten().map(|e| e.file_name()).collect();
    let body = json!({
        "session_id": "../../etc",
        "messages": [
            {"role": "user", "name": "../../../tmp/evil", "content": "---\nspeaker: [broken\n---\n# ../../x\u{0} \u{1b}[31mred escape sequence"},
            {"role": "user", "name": "日本 🦀", "content": "💥 \"quotes\" 'and' <script>alert(1)</script> [[../../etc/passwd.md]] unusual words"},
        ]
    });
    assert_eq!(server.post("/v1/memories", &body).status, 202);
    server.settle("default");
    assert_eq!(server.retrieve("default", "q=red+escape+sequence").hits().len().min(1), 1);
    let listed = git(&server.repository("default"), &["ls-tree", "-r", "--name-only", "HEAD"]);
    for path in listed.lines() {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
        assert!(path.chars().all(plain) && !path.contains("..") && path.ends_with(".md"), "{path}");
    }
    assert_eq!(git(&server.repository("default"), &["fsck", "--strict"]), "");
    let after: Vec<_> =
        std::fs::read_dir(data.parent().expect("a parent")).expect("lists").flatten().map(|e| e.file_name()).collect();
    assert_eq!(before.len(), after.len(), "{after:?}");
    assert!(!server.log().contains('\u{1b}'), "the log contains a control character from the client");
}

#[test]
fn a_body_at_the_size_limit_is_ingested() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    // Many short messages that name the same person and place, and one long message without sentence ends.
    let mut messages: Vec<Value> = (0..20_000)
        .map(|n| json!({"role": "user", "content": format!("We met Maria Lopez in Porto, visit {n}")}))
        .collect();
    messages.push(json!({"role": "tool", "content": "endless ".repeat(700_000)}));
    let answer = server.post("/v1/memories", &json!({"messages": messages}));
    assert_eq!(answer.status, 202, "{answer:?}");
    server.settle("default");
    assert!(server.retrieve("default", "q=visit+19999").contents()[0].contains("visit 19999"));
    let trees = git(&server.repository("default"), &["ls-tree", "-r", "-t", "HEAD"]);
    let folders = trees.lines().filter(|line| line.contains(" tree ")).count();
    assert!(folders > 100, "memories of one month are in {folders} directories");
}

#[test]
fn a_failing_write_becomes_a_dead_letter_and_can_be_retried() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    server.namespace("broken");
    // A file in place of the account's repository folder makes every attempt fail.
    let repositories = data.join("repositories/default");
    std::fs::create_dir_all(data.join("repositories")).expect("creates");
    std::fs::write(&repositories, "not a folder").expect("writes");
    let id = server.remember("broken", &["The lighthouse keeper collects barometers"]);
    let letters = || stdout(&data, &["dead-letters", "list"]);
    wait_for("the dead letter", || letters().contains(&id));
    let letter: Value = serde_json::from_str(letters().lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        (&letter["failures"], &letter["namespace"]),
        (&json!(4), &json!("broken")),
        "one attempt and three retries"
    );
    assert!(letter["reason"].as_str().is_some_and(|reason| !reason.is_empty()));

    std::fs::remove_file(&repositories).expect("removes");
    stdout(&data, &["dead-letters", "retry", &id]);
    server.settle("broken");
    assert!(server.retrieve("broken", "q=barometers").contents()[0].contains("lighthouse"));
    assert_eq!(letters(), "");
    assert!(!run(&data, &["dead-letters", "drop", &id]).status.success());
}

#[test]
fn a_memory_pushed_into_the_repository_is_found() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    server.remember("default", &["The greenhouse needs new glass panes"]);
    server.settle("default");
    let clone = folder.path().join("clone");
    let repository = server.repository("default");
    git(folder.path(), &["clone", "-q", repository.to_str().expect("a path"), "clone"]);
    std::fs::create_dir_all(clone.join("rules")).expect("creates");
    std::fs::write(clone.join("rules/lamp.md"), "# Lamp\n\nSwitch the heron lamp off before leaving.\n")
        .expect("writes");
    git(&clone, &["add", "."]);
    git(&clone, &["-c", "user.name=P", "-c", "user.email=p@example.org", "commit", "-qm", "by hand"]);
    git(&clone, &["push", "-q"]);
    server.settle("default");
    let answer = server.retrieve("default", "q=heron+lamp&tiers=rules");
    assert_eq!(answer.hits()[0]["path"], json!("rules/lamp.md"));
    assert_eq!(git(&repository, &["fsck", "--strict"]), "");
}
