//! Imports of exports from other services: each as a dry run, as an import, and as a repeated import.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Server, committed_messages, cuebase, fresh, git, repository, run, stdout, wait_for};

fn save(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("creates");
    std::fs::write(path, content).expect("writes");
}

/// Imports into the namespace `brought` and returns the output.
fn import(data: &Path, from: &Path, more: &[&str]) -> String {
    let from = from.to_str().expect("a path");
    stdout(data, &[&["import", from, "--namespace", "brought"], more].concat())
}

/// Returns the error of an import that must fail.
fn import_error(data: &Path, from: &Path, more: &[&str]) -> String {
    let from = from.to_str().expect("a path");
    let output = run(data, &[&["import", from, "--namespace", "brought"], more].concat());
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{error}");
    error
}

/// Imports into the namespace `brought` and returns the warnings.
fn import_warnings(data: &Path, from: &Path) -> String {
    let from = from.to_str().expect("a path");
    let output = run(data, &["import", from, "--namespace", "brought"]);
    let warnings = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{warnings}");
    warnings
}

#[test]
fn a_pipe_is_not_waited_for() {
    let (folder, data) = fresh();
    stdout(&data, &["keys", "create", "--init"]);
    let notes = folder.path().join("notes");
    save(&notes.join("gate.md"), "# Gate\n\nThe gate is blue.\n");
    let pipe = notes.join("pipe.md");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("creates");
    let warnings = import_warnings(&data, &notes);
    assert!(warnings.contains("pipe.md was skipped: it is a pipe, a socket or a device"), "{warnings}");
    for format in ["", "documents", "jsonl", "chatgpt", "mem0", "bundle"] {
        let more = if format.is_empty() { vec![] } else { vec!["--format", format] };
        let error = import_error(&data, &pipe, &more);
        assert!(error.contains("is a pipe, a socket or a device"), "{format}: {error}");
    }
}

/// Returns the path of a file that another product wrote.
fn export_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/import").join(name)
}

/// Returns a memory of the namespace `brought`.
fn memory(server: &Server, path: &str) -> Value {
    let answer = server.get(&format!("/v1/memories/{path}?namespace=brought"));
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    answer.body
}

/// Returns the head of the namespace `brought`; null if the namespace does not exist.
fn head(server: &Server) -> Value {
    let listed = server.get("/v1/namespaces").body["namespaces"].clone();
    let mine = listed.as_array().expect("a list").iter().find(|entry| entry["name"] == "brought").cloned();
    mine.map_or(Value::Null, |namespace| namespace["head"].clone())
}

/// Runs a dry run, an import and a repeated import. Only the import may change the namespace. Returns its output.
fn import_three_times(server: &Server, data: &Path, from: &Path) -> String {
    let before = head(server);
    let dry_run = import(data, from, &["--dry-run"]);
    assert!(dry_run.contains("would be imported"), "{dry_run}");
    assert_eq!(head(server), before, "the dry run changed something");
    let output = import(data, from, &[]);
    assert_eq!(dry_run.replace(" would be imported: nothing was changed", ""), output);
    let after = head(server);
    assert_ne!(before, after);
    let again = import(data, from, &[]);
    assert!(!again.contains(" conversations,") && !again.contains(" files,"), "{again}");
    assert_eq!(head(server), after, "the repeated import changed something");
    output
}

/// Returns a message of ChatGPT's tree of messages.
fn node(parent: &str, children: &[&str], role: &str, text: &str, at: f64) -> Value {
    let content = json!({"content_type": "text", "parts": [text]});
    json!({"parent": parent, "children": children, "message": {
        "id": text, "author": {"role": role}, "create_time": at, "content": content, "recipient": "all"}})
}

#[test]
fn chatgpt_conversations_are_imported_once_and_continued() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    let mut mapping = json!({
        "root": {"parent": null, "children": ["one"], "message": null},
        "one": node("root", &["two"], "user", "My sister Ida keeps three hives of bees in Lugano.", 1_715_000_000.25),
        "two": node("one", &[], "assistant", "How does she keep them warm in winter?", 1_715_000_010.0),
    });
    let archive = folder.path().join("unpacked");
    let write = |mapping: &Value, last: &str| {
        let whole = json!([
            {"conversation_id": "c1", "title": "Bees", "mapping": mapping, "current_node": last},
            {"conversation_id": "c2", "title": "Nothing", "mapping": {}, "current_node": null},
        ]);
        save(&archive.join("conversations.json"), &whole.to_string());
        save(&archive.join("user.json"), "{}");
    };
    write(&mapping, "two");
    let output = import_three_times(&server, &data, &archive);
    assert!(output.contains("chatgpt: 1 conversations, 2 messages, 1 skipped"), "{output}");
    let hit = server.retrieve("brought", "q=who+keeps+bees&limit=1").hits()[0].clone();
    assert!(hit["content"].as_str().expect("text").contains("three hives"), "{hit}");
    assert!(hit["occurred_at"].as_str().expect("a time").starts_with("2024-05-06"), "{hit}");

    // The exported conversation has one more message.
    mapping["two"]["children"] = json!(["three"]);
    mapping["three"] = node("two", &[], "user", "She wraps the hives in cork boards.", 1_715_000_020.0);
    write(&mapping, "three");
    let output = import(&data, &archive.join("conversations.json"), &[]);
    assert!(output.contains("1 conversations, 1 messages, 2 messages imported before"), "{output}");
    let found = server.retrieve("brought", "q=what+are+the+hives+wrapped+in&limit=3").contents();
    assert!(found.iter().any(|text| text.contains("cork")), "{found:?}");
    // `--again` imports all messages.
    assert!(import(&data, &archive, &["--again", "--dry-run"]).contains("3 messages"));
}

#[test]
fn claude_conversations_are_imported() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    let file = folder.path().join("conversations.json");
    let message = |sender: &str, text: &str| {
        json!({"uuid": text, "sender": sender, "text": text, "created_at": "2026-02-14T10:04:22.000Z",
            "content": [{"type": "text", "text": text}]})
    };
    let whole = json!([{"uuid": "c", "name": "Boat", "chat_messages": [
        message("human", "Our boat is called Kittiwake and lies in Oban."),
        message("assistant", "A fine name for a boat."),
    ]}]);
    save(&file, &whole.to_string());
    let output = import_three_times(&server, &data, &file);
    assert!(output.contains("claude: 1 conversations, 2 messages"), "{output}");
    assert!(server.retrieve("brought", "q=where+does+the+boat+lie").contents()[0].contains("Oban"));
}

#[test]
fn a_line_that_is_not_utf_8_is_named() {
    let (folder, data) = fresh();
    drop(Server::start(&data));
    let file = folder.path().join("chat.jsonl");
    let lines = [
        &b"{\"messages\": [{\"role\": \"user\", \"content\": \"I sail\"}]}"[..],
        b"{\"messages\": [{\"role\": \"user\", \"content\": \"In Z\xfcrich\"}]}",
    ];
    std::fs::write(&file, lines.join(&b'\n')).expect("writes");
    let error = import_error(&data, &file, &[]);
    assert!(error.contains("line 2: the text is not UTF-8"), "{error}");
}

#[test]
fn a_line_that_is_not_json_is_named_with_its_place_its_text_and_the_accepted_form() {
    let (folder, data) = fresh();
    drop(Server::start(&data));
    let file = folder.path().join("chat.jsonl");
    let good = r#"{"messages": [{"role": "user", "content": "I sail"}]}"#;
    for (bad, expected) in [
        (r#"{"messages": nope}"#, "line 3: body: expected ident at line 3 column 15, found `nope}`"),
        ("[1, 2]", "line 3: the body must be a JSON object, found `[1, 2]` at line 3 column 1"),
        (r#"{"messages": ["#, "at line 3 column 14, where the text ends after `{\"messages\": [`"),
        (
            r#"{"messages": 5}"#,
            "line 3: body: messages: invalid type: integer `5`, expected a sequence at line 3 column 14",
        ),
    ] {
        save(&file, &format!("{good}\n\n{bad}\n"));
        let error = import_error(&data, &file, &[]);
        assert!(error.contains(expected), "{bad}: {error}");
        assert!(error.contains(&format!("each line has the form {good}")), "{bad}: {error}");
    }
}

#[test]
fn an_export_that_is_not_json_is_named_with_its_place_and_its_text() {
    let (folder, data) = fresh();
    drop(Server::start(&data));
    let file = folder.path().join("export.json");
    for options in [&[][..], &["--format", "mem0"], &["--format", "chatgpt"]] {
        save(&file, "[{\"memory\":\n oops}]");
        let error = import_error(&data, &file, options);
        assert!(error.contains("line 2 column 2, found `oops}]`"), "{options:?}: {error}");
        assert!(error.contains("the file must be JSON"), "{options:?}: {error}");
    }
}

#[test]
fn files_in_a_directory_named_like_a_memory_are_refused_with_both_names() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    let notes = folder.path().join("notes");
    save(&notes.join("facts/a.md/b.md"), "# B\n");
    save(&notes.join("facts/good.md"), "# Good\n");
    let error = import_error(&data, &notes, &["--format", "markdown"]);
    assert!(error.contains("facts/a.md/b.md: ") && error.contains("rename the directory facts/a.md"), "{error}");
    assert_eq!(head(&server), serde_json::Value::Null);
}

#[test]
fn mem0_memories_are_imported_as_files() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    let file = folder.path().join("export.json");
    let fact = |id: u32, text: &str| {
        json!({"id": format!("00000000-0000-0000-0000-{id:012}"), "memory": text, "user_id": "ida",
            "categories": ["hobbies"], "metadata": {"source": "chat"}, "created_at": "2026-02-14T10:04:22-08:00"})
    };
    let mut facts = vec![fact(1, "Ida keeps bees"), fact(2, "Ida sails on Sundays"), fact(3, " ")];
    save(&file, &json!({"results": facts}).to_string());
    let output = import_three_times(&server, &data, &file);
    assert!(output.contains("mem0: 2 files, 1 skipped"), "{output}");
    let hits = server.retrieve("brought", "q=what+does+Ida+do+on+Sundays&tags=hobbies").hits();
    assert!(hits[0]["path"].as_str().expect("a path").starts_with("facts/ida/2026-02/mem0-"), "{hits:?}");
    // A memory that has changed in the export is rewritten. Its former text stays in the history.
    facts[1] = fact(2, "Ida sails on Mondays");
    save(&file, &json!({"results": facts}).to_string());
    let path = hits[0]["path"].as_str().expect("a path");
    assert!(import(&data, &file, &[]).contains("1 files, 1 files unchanged"));
    let now = server.get(&format!("/v1/memories/{path}?namespace=brought")).body;
    assert!(now["content"].as_str().expect("text").contains("Mondays"), "{now}");
    let listed = server.get("/v1/namespaces").body["namespaces"].clone();
    let brought = listed.as_array().expect("a list").iter().find(|entry| entry["name"] == "brought").cloned();
    assert_eq!(brought.expect("the namespace")["memories"], 2, "the memory was rewritten, not added");
    save(&file, "[{\"memory\": \"no id\"}]");
    assert!(import_error(&data, &file, &[]).contains("memory 0"));
}

#[test]
fn an_export_of_mem0_is_imported_page_by_page() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    let output = import_three_times(&server, &data, &export_of("mem0-2.2.1.json"));
    assert!(output.contains("mem0: 2 files"), "{output}");
    let hits = server.retrieve("brought", "q=ferry+ticket&where=run_id:r1").hits();
    assert!(hits[0]["content"].as_str().expect("text").contains("ferry"), "{hits:?}");
    assert!(hits[0]["valid_until"].as_str().expect("an end").starts_with("2024-06-01"), "{hits:?}");
    assert!(import_warnings(&data, &export_of("mem0-2.2.1.json")).is_empty());

    let page = |id: u32, next: &str| {
        let fact =
            json!({"id": format!("page-{id}"), "memory": format!("Ida owns boat number {id}"), "user_id": "ida"});
        json!({"count": 2, "next": next, "previous": null, "results": [fact]}).to_string()
    };
    let file = folder.path().join("pages.json");
    save(&file, &page(1, "https://api.mem0.ai/v3/memories/?page=2"));
    let warnings = import_warnings(&data, &file);
    assert!(warnings.contains("1 of 2 memories") && warnings.contains("append"), "{warnings}");
    save(&file, &format!("{}\n{}\n", page(1, "x"), page(2, "x")));
    let output = import(&data, &file, &[]);
    assert!(output.contains("1 files, 1 files unchanged"), "{output}");
}

#[test]
fn facts_of_graphiti_are_imported_with_their_validity() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    let graph = export_of("graphiti-0.31.2.json");
    let output = import_three_times(&server, &data, &graph);
    assert!(output.contains("zep: 1 conversations, 1 messages, 2 files"), "{output}");
    let old = memory(&server, "facts/ida/2024-01/zep-94047d38-8b0a-4d65-96d7-75fa2a301f01.md");
    assert_eq!((&old["current"], &old["valid_until"]), (&json!(false), &json!("2024-03-01T00:00:00Z")), "{old}");
    let hits = server.retrieve("brought", "q=where+does+Ida+live&paths=facts/ida&current=only").contents();
    assert!(
        hits.iter().any(|hit| hit.contains("Skye")) && !hits.iter().any(|hit| hit.contains("lives in Oban")),
        "{hits:?}"
    );
    let then =
        server.retrieve("brought", "q=where+does+Ida+live&paths=facts/ida&current=only&as_of=2024-02-01").contents();
    assert!(then.iter().any(|hit| hit.contains("lives in Oban")), "{then:?}");

    let file = folder.path().join("edges.json");
    let edge = json!({"uuid": "e1", "fact": "Ida sails", "name": "SAILS", "created_at": "2026-03-01T09:00:00Z"});
    let late = json!({"uuid": "e2", "fact": "Ida rows", "name": "ROWS", "valid_at": "last spring"});
    save(&file, &json!([edge, late, {"uuid": 3, "fact": "x"}]).to_string());
    let before = head(&server);
    let error = import_error(&data, &file, &[]);
    assert!(
        error.contains("nothing was imported") && error.contains("valid_at") && error.contains("entry 2: uuid"),
        "{error}"
    );
    assert_eq!(head(&server), before, "a failed import changes nothing");
}

#[test]
fn threads_of_zep_are_imported_once_and_continued() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    let file = folder.path().join("thread.json");
    let page = |messages: Value| {
        json!({"messages": messages, "row_count": 2, "total_count": 3, "user_id": "ida",
            "thread_created_at": "2026-02-14T10:00:00Z"})
    };
    let message = |uuid: &str, role: &str, name: &str, content: &str, second: u32| {
        json!({"uuid": uuid, "role": role, "name": name, "content": content, "processed": true, "metadata": null,
            "created_at": format!("2026-02-14T10:00:{second:02}Z")})
    };
    let first = page(json!([
        message("m1", "user", "Ida", "Our boat is called Kittiwake and lies in Oban.", 1),
        message("m2", "assistant", "helper", "A fine name for a boat.", 2),
    ]));
    save(&file, &first.to_string());
    assert!(import_warnings(&data, &file).contains("2 of 3 messages"));
    let hits = server.retrieve("brought", "q=where+does+the+boat+lie").hits();
    assert!(hits[0]["content"].as_str().expect("text").contains("Oban"), "{hits:?}");
    assert!(hits[0]["occurred_at"].as_str().expect("a time").starts_with("2026-02-14"), "{hits:?}");
    let second = page(json!([message("m3", "user", "Ida", "Her sails are red.", 3)]));
    save(&file, &format!("{first}\n{second}\n"));
    let output = import(&data, &file, &[]);
    assert!(output.contains("zep: 1 conversations, 1 messages, 2 messages imported before"), "{output}");
    assert!(import_warnings(&data, &file).is_empty());
}

#[test]
fn memories_of_hindsight_are_imported_as_facts_and_incidents() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    let bank = export_of("hindsight-1.1.0.json");
    let output = import_three_times(&server, &data, &bank);
    assert!(output.contains("hindsight: 3 files"), "{output}");
    assert!(import_warnings(&data, &bank).is_empty());
    let fact = "facts/hindsight/2024-02/hindsight-6a1f0000-0000-4000-8000-000000000001.md";
    assert_eq!(memory(&server, fact)["current"], true);
    let hits = server.retrieve("brought", "q=who+moored+the+Kittiwake&tags=experience").hits();
    assert!(hits[0]["path"].as_str().expect("a path").starts_with("incidents/hindsight/2024-02/"), "{hits:?}");
    assert!(hits[0]["occurred_at"].as_str().expect("a time").starts_with("2024-02-13"), "{hits:?}");
    let observed = server.retrieve("brought", "tags=observation&detail=full").hits();
    assert!(observed[0]["relations"].to_string().contains(fact), "{observed:?}");

    // The list of invalidated units says when the fact stopped holding.
    let mut listed: Value = serde_json::from_str(&std::fs::read_to_string(&bank).expect("reads")).expect("JSON");
    listed["items"][0]["state"] = json!("invalidated");
    listed["items"][0]["invalidated_at"] = json!("2024-03-01T00:00:00+00:00");
    listed["total"] = json!(7);
    let file = folder.path().join("invalidated.json");
    save(&file, &listed.to_string());
    assert!(import_warnings(&data, &file).contains("3 of 7 memory units"));
    assert_eq!(memory(&server, fact)["current"], false);
}

#[test]
fn a_vault_keeps_its_links_tags_and_dates() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    let vault = folder.path().join("vault");
    save(&vault.join(".obsidian/app.json"), "{}");
    save(&vault.join("2026-02-14.md"), "We moored in [[Oban harbour|the harbour]]. #boat/kittiwake\n");
    save(
        &vault.join("Places/Oban harbour.md"),
        "---\ncreated: 2026-01-05\n---\n# Oban harbour\n\nBerths cost nine pounds.\n",
    );
    save(&vault.join("attachments/map.png"), "not a picture");
    let output = import_three_times(&server, &data, &vault);
    assert!(output.contains("notes: 2 files, 1 skipped"), "{output}");
    let warnings = import_warnings(&data, &vault);
    assert!(warnings.contains("1 files are not markdown") && warnings.contains("1 png"), "{warnings}");
    let hits = server.retrieve("brought", "tags=boat/kittiwake&detail=full").hits();
    assert!(hits[0]["occurred_at"].as_str().expect("a day").starts_with("2026-02-14"), "{hits:?}");
    let linked = hits[0]["relations"].to_string();
    assert!(linked.contains("facts/places/oban-harbour-"), "{linked}");
    // A note that cannot be read names the remedy.
    save(&vault.join("Templates/day.md"), "---\ndate: {{date\n---\n");
    let error = import_error(&data, &vault, &[]);
    assert!(error.contains("Templates/day.md") && error.contains("move it out of the folder"), "{error}");
}

#[test]
fn rules_for_agents_are_imported_by_section() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    let project = folder.path().join("shop");
    save(&project.join("CLAUDE.md"), "# Shop\n\n## Tests\n\nRun `make test` before a commit. See @docs/git.md.\n");
    save(&project.join("README.md"), "# Shop\n");
    save(&project.join("src/main.rs"), "fn main() {}\n");
    save(
        &project.join(".cursor/rules/api.mdc"),
        "---\ndescription: How endpoints answer\nglobs: *.ts\nalwaysApply: false\n---\n\n# Endpoints\n\nReturn JSON.\n",
    );
    let output = import_three_times(&server, &data, &project);
    assert!(output.contains("rules: 2 files"), "{output}");
    let warnings = import_warnings(&data, &project);
    assert!(warnings.contains("docs/git.md") && warnings.contains("1 other markdown files"), "{warnings}");
    assert!(memory(&server, "rules/shop/claude/tests.md")["content"].as_str().expect("text").contains("make test"));
    let hits = server.retrieve("brought", "q=how+do+endpoints+answer&where=always_apply:false").hits();
    assert_eq!(hits[0]["path"], "rules/shop/cursor/rules/api/endpoints.md", "{hits:?}");
    assert!(hits[0]["content"].as_str().expect("text").contains("*.ts"), "{hits:?}");

    let memories = folder.path().join("projects/-home-ida-shop/memory");
    save(&memories.join("MEMORY.md"), "# Memory\n\n- [Mocks](no_mocks.md)\n");
    save(
        &memories.join("no_mocks.md"),
        "---\nname: no-mocks\ndescription: Real database\nmetadata:\n  type: feedback\n---\nTests use Postgres.\n",
    );
    let output = import_three_times(&server, &data, &memories);
    assert!(output.contains("rules: 2 files"), "{output}");
    assert!(server.retrieve("brought", "q=real+database&where=type:feedback").contents()[0].contains("Postgres"));
    // Another file is a document.
    assert!(import(&data, &project.join("README.md"), &[]).contains("1 documents"));
    assert!(import_error(&data, &project.join("src"), &["--format", "rules"]).contains("no rules"));
}

#[test]
fn letta_memory_and_plain_notes_are_imported() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    let agent = folder.path().join("agent");
    save(
        &agent.join("system/human.md"),
        "---\ndescription: Whom the agent helps.\nlimit: 5000\n---\nIda, a beekeeper in Lugano.\n",
    );
    save(&agent.join("reference/garden plan.md"), "# Garden\n\nThe plum tree stands by the gate.\n");
    save(
        &agent.join("skills/smoke-hives/SKILL.md"),
        "---\nname: smoke-hives\ndescription: Calms bees before a look.\n---\n# Smoke\n\nLight the smoker first.\n",
    );
    save(&agent.join("notes.txt"), "left alone");
    let output = import_three_times(&server, &data, &agent);
    assert!(output.contains("letta: 3 files, 1 skipped"), "{output}");
    assert_eq!(server.get("/v1/memories/facts/system/human.md?namespace=brought").status, 200);
    assert!(server.retrieve("brought", "q=whom+does+the+agent+help").contents()[0].contains("beekeeper"));
    let skills = server.get("/v1/skills?namespace=brought&q=calm+the+bees").body;
    assert!(skills.to_string().contains("smoke-hives"), "{skills}");
    assert!(server.retrieve("brought", "q=plum+tree").contents()[0].contains("gate"));

    let vault = folder.path().join("vault");
    save(
        &vault.join("Daily/Über Tag.md"),
        "---\ntags: [Daily Note, '#boat']\naliases: first sail\ncreated_at: yesterday\n---\nWe sailed the Kittiwake.\n",
    );
    save(&vault.join("plain.md"), "# Plain\n\nThe spare key hangs in the shed.\n");
    save(&vault.join(".obsidian/app.md"), "hidden");
    let output = import_three_times(&server, &data, &vault);
    assert!(output.contains("notes: 2 files"), "{output}");
    let hits = server.retrieve("brought", "q=first+sail&tags=daily-note").hits();
    assert!(hits[0]["content"].as_str().expect("text").contains("Kittiwake"), "{hits:?}");
    assert!(server.retrieve("brought", "q=spare+key").contents()[0].contains("shed"));
    save(&vault.join("bad.md"), "---\ntags: [\n---\n# Bad\n");
    let output = import_error(&data, &vault, &[]);
    assert!(output.contains("bad.md") && output.contains("line "), "{output}");
}

#[test]
fn unknown_files_are_refused_with_a_remedy() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    for (name, content, says) in [
        ("a.zip", "PK", "unpack it"),
        ("a.xyz", "hello", "--format"),
        ("a.json", "{\"a\": 1}", "neither"),
        ("b.json", "[", "neither"),
        ("d.json", "[{\"mapping\": 3", "EOF"),
        ("e.json", " [ ]", "neither"),
        ("c.json", "[{\"mapping\": 3}]", "mapping"),
    ] {
        let file = folder.path().join(name);
        save(&file, content);
        let output = import_error(&data, &file, &[]);
        assert!(output.contains(says) || output.contains("invalid type"), "{name}: {output}");
    }
    let empty = folder.path().join("empty");
    std::fs::create_dir_all(&empty).expect("creates");
    assert!(import_error(&data, &empty, &["--format", "claude"]).contains("conversations.json"));
    assert!(import_error(&data, &empty, &["--format", "other"]).contains("chatgpt, claude, mem0"));
    assert_eq!(head(&server), Value::Null, "a failed import creates no namespace");
}

#[test]
fn a_killed_import_can_be_continued() {
    const CONVERSATIONS: usize = 300;
    let (folder, data) = fresh();
    let line = |n: usize| {
        let content = format!("The parcel mark{n}x lies in the cellar of house {n}.");
        json!({"messages": [{"role": "user", "content": content}]}).to_string()
    };
    let lines = folder.path().join("chats.jsonl");
    save(&lines, &(0..CONVERSATIONS).map(line).collect::<Vec<_>>().join("\n"));
    // Each import is killed after more commits.
    for commits in [1, 5, 20] {
        let arguments = ["import", lines.to_str().expect("a path"), "--namespace", "brought", "--init"];
        let mut importing = cuebase(&data, &arguments).spawn().expect("the binary starts");
        let mut heads = BTreeSet::new();
        wait_for("the import to make commits", || {
            heads.extend(std::fs::read_to_string(repository(&data, "brought").join("refs/heads/main")).ok());
            heads.len() > commits || importing.try_wait().expect("reads the state of the process").is_some()
        });
        importing.kill().expect("can be killed");
        importing.wait().expect("ends");
    }
    import(&data, &lines, &[]);
    assert!(import(&data, &lines, &[]).contains(&format!("{CONVERSATIONS} messages imported before")));

    let repository = repository(&data, "brought");
    committed_messages(&repository);
    let mut memories: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for found in git(&repository, &["grep", "-oE", "mark[0-9]+x", "main"]).lines() {
        let (path, mark) = found.rsplit_once(':').expect("a path and a mark");
        memories.entry(mark.to_owned()).or_default().insert(path.to_owned());
    }
    assert_eq!(memories.len(), CONVERSATIONS, "messages were lost");
    assert!(memories.values().all(|paths| paths.len() == 1), "messages were imported twice: {memories:?}");
}
