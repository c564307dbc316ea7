//! Content from clients never reaches the log, whatever fails.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::provider::{Fault, Provider};
use crate::support::{Server, fresh, stdout, wait_for};

const SECRET: &str = "hunter2-swordfish";
/// Settings that make a failing write a dead letter quickly; appended to the settings of a model.
const SHORT_RETRIES: &str = "timeout_ms = 2000\n[ingestion]\nbackoff_ms = 20\nretries = 1\n";

fn secret_text() -> String {
    format!("My password is {SECRET}")
}

/// Runs git in a folder with an identity for commits. Returns whether it succeeded.
fn run_git(folder: &Path, arguments: &[&str]) -> bool {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(["-c", "user.name=Kim", "-c", "user.email=kim@example.org"]);
    command.args(["-c", "credential.helper=", "-c", "init.defaultBranch=main"]).args(arguments);
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C").output().expect("git runs").status.success()
}

/// Writes a file in a clone and commits it.
fn commit(clone: &Path, path: &str, text: &str) {
    let file = clone.join(path);
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("creates");
    std::fs::write(file, text).expect("writes");
    assert!(run_git(clone, &["add", "-A"]) && run_git(clone, &["commit", "-qm", "By hand"]));
}

#[track_caller]
fn assert_secret_is_not_logged(server: &Server) {
    let log = server.log();
    assert!(!log.contains("swordfish"), "{log}");
}

#[test]
fn an_invalid_model_answer_is_not_logged() {
    let answers: [fn() -> Value; 4] = [
        || json!({"operations": [{"op": secret_text()}]}),
        || json!({"operations": [{"op": "rewrite", "path": secret_text(), "title": secret_text(), "messages": [0]}]}),
        || json!({"operations": secret_text()}),
        || json!(secret_text()),
    ];
    for answer in answers {
        let provider = Provider::start();
        provider.script(move |_| answer());
        let (_folder, data) = fresh();
        let server = Server::start_with_models(&data, &format!("{}{SHORT_RETRIES}", provider.chat_settings()));
        let id = server.remember("default", &[&secret_text()]);
        wait_for("the dead letter", || stdout(&data, &["dead-letters", "list"]).contains(&id));
        // The failure itself is logged with the id of the write.
        assert!(server.log().contains(&id), "{}", server.log());
        assert_secret_is_not_logged(&server);
    }
}

#[test]
fn a_model_failure_is_logged_without_the_prompt() {
    for fault in [Fault::WrongShape, Fault::Nonsense, Fault::HalfJson, Fault::Status(400)] {
        let provider = Provider::start();
        let (_folder, data) = fresh();
        let settings = format!("{}embedding = 'imitation'\n{SHORT_RETRIES}", provider.chat_settings());
        let server = Server::start_with_models(&data, &settings);
        provider.chat_fault(Some(fault));
        provider.embedding_fault(Some(fault));
        server.remember("default", &[&secret_text()]);
        wait_for("the dead letter", || !stdout(&data, &["dead-letters", "list"]).is_empty());
        let answer = server.post("/v1/answer", &json!({"q": secret_text()}));
        assert_ne!(answer.status, 500, "{fault:?} {answer:?}");
        let direct = json!({"content": format!("# {}\n", secret_text())});
        server.post("/v1/memories/facts/password.md", &direct);
        assert_secret_is_not_logged(&server);
    }
}

#[test]
fn a_model_outage_is_logged_without_the_prompt() {
    for fault in [Fault::Status(500), Fault::Status(401), Fault::Closed] {
        let provider = Provider::start();
        let (_folder, data) = fresh();
        let server = Server::start_with_models(&data, &format!("{}{SHORT_RETRIES}", provider.chat_settings()));
        provider.chat_fault(Some(fault));
        server.remember("default", &[&secret_text()]);
        wait_for("the outage", || server.log().contains("the chat model does not answer"));
        assert_ne!(server.post("/v1/answer", &json!({"q": secret_text()})).status, 500, "{fault:?}");
        assert_secret_is_not_logged(&server);
    }
}

#[test]
fn an_unreadable_pushed_file_is_not_logged() {
    let (folder, data) = fresh();
    let server = Server::start_configured(&data, "[git]\naccept_push = true\n");
    assert_eq!(server.post("/v1/memories/facts/a.md", &json!({"content": "# A\n"})).status, 201);
    let url = server.url.replace("http://", &format!("http://git:{}@", server.key)) + "/v1/git/default";
    assert!(run_git(folder.path(), &["clone", "-q", &url, "clone"]));
    let clone = folder.path().join("clone");
    commit(&clone, &format!("facts/{SECRET}.md"), &format!("---\noccurred_at: {}\n---\n# B\n", secret_text()));
    assert!(!run_git(&clone, &["push", "-q"]), "the push is refused");
    assert_secret_is_not_logged(&server);
}

#[test]
fn an_unreadable_file_in_the_repository_is_not_logged() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    assert_eq!(server.post("/v1/memories/facts/a.md", &json!({"content": "# A\n"})).status, 201);
    let repository = server.repository("default");
    assert!(server.terminate());
    // The commit goes directly into the repository, past the stopped server.
    assert!(run_git(folder.path(), &["clone", "-q", repository.to_str().expect("a path"), "clone"]));
    let clone = folder.path().join("clone");
    commit(&clone, &format!("facts/{SECRET}.md"), &format!("---\noccurred_at: {}\n---\n# B\n", secret_text()));
    commit(&clone, &format!("vocab/{SECRET}.md"), &format!("---\nterm: [{}\n---\n", secret_text()));
    assert!(run_git(&clone, &["push", "-q"]), "a bare repository accepts the push");
    let server = Server::start(&data);
    wait_for("the memory", || server.retrieve("default", "q=A").status == 200);
    assert_eq!(server.get("/v1/memories/facts/a.md").status, 200);
    let unreadable = server.get(&format!("/v1/memories/facts/{SECRET}.md"));
    assert_eq!((unreadable.status, &unreadable.body["error"]["code"]), (500, &json!("internal")), "{unreadable:?}");
    assert!(server.log().contains("a memory file of commit"), "{}", server.log());
    assert_secret_is_not_logged(&server);
}

#[test]
fn refused_request_content_is_not_logged() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let bodies = [
        json!({"messages": [{"role": secret_text(), "content": secret_text()}]}),
        json!({"messages": secret_text()}),
        json!({"messages": [{"role": "user", "content": secret_text(), "occurred_at": secret_text()}]}),
        json!({"messages": [{"role": "user", "content": secret_text()}], "tags": [secret_text() + "!"]}),
    ];
    for body in &bodies {
        assert_eq!(server.post("/v1/memories", body).status, 400, "{body}");
    }
    let cut = format!("{{\"messages\": [{{\"content\": \"{}", secret_text());
    let bearer = format!("Bearer {}", server.key);
    assert_eq!(server.request("POST", "/v1/memories", Some(&bearer), Some(cut.into_bytes())).status, 400);
    assert_eq!(server.get(&format!("/v1/memories/facts/{SECRET}.md")).status, 404);
    assert_eq!(server.get(&format!("/v1/{SECRET}")).status, 404);
    assert!(matches!(server.call_as(SECRET, "GET", "/v1/whoami", None).status, 401 | 403));
    assert_secret_is_not_logged(&server);
}
