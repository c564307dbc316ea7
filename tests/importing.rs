//! Imports of exports from other services: each as a dry run, as an import, and as a repeated import.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

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
        ("a.txt", "hello", "--format"),
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
