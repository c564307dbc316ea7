//! Nothing that a client wrote reaches the log, whatever goes wrong with it.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::provider::{Fault, Provider};
use crate::support::{Server, fresh, stdout, wait_for};

const SECRET: &str = "hunter2-swordfish";
/// Beside a model's settings: a failed write is given up soon.
const QUICK: &str = "timeout_ms = 2000\n[ingestion]\nbackoff_ms = 20\nretries = 1\n";

fn told() -> String {
    format!("My password is {SECRET}")
}

/// git in a folder, with a name to commit under.
fn run_git(folder: &Path, arguments: &[&str]) -> bool {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(["-c", "user.name=Kim", "-c", "user.email=kim@example.org"]);
    command.args(["-c", "credential.helper=", "-c", "init.defaultBranch=main"]).args(arguments);
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C").output().expect("git runs").status.success()
}

/// Commits a file to a clone.
fn commit(clone: &Path, path: &str, text: &str) {
    let file = clone.join(path);
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("creates");
    std::fs::write(file, text).expect("writes");
    assert!(run_git(clone, &["add", "-A"]) && run_git(clone, &["commit", "-qm", "By hand"]));
}

#[track_caller]
fn assert_silent(server: &Server) {
    let log = server.log();
    assert!(!log.contains("swordfish"), "{log}");
}

#[test]
fn an_answer_of_a_model_that_breaks_the_rules_is_not_logged() {
    let answers: [fn() -> Value; 4] = [
        || json!({"operations": [{"op": told()}]}),
        || json!({"operations": [{"op": "rewrite", "path": told(), "title": told(), "messages": [0]}]}),
        || json!({"operations": told()}),
        || json!(told()),
    ];
    for answer in answers {
        let provider = Provider::start();
        provider.script(move |_| answer());
        let (_folder, data) = fresh();
        let server = Server::start_with_models(&data, &format!("{}{QUICK}", provider.chat_settings()));
        let id = server.remember("default", &[&told()]);
        wait_for("the dead letter", || stdout(&data, &["dead-letters", "list"]).contains(&id));
        // The failure itself is logged, under the message's id.
        assert!(server.log().contains(&id), "{}", server.log());
        assert_silent(&server);
    }
}

#[test]
fn a_model_that_fails_is_logged_without_what_it_was_asked() {
    for fault in [Fault::WrongShape, Fault::Nonsense, Fault::HalfJson, Fault::Status(400)] {
        let provider = Provider::start();
        let (_folder, data) = fresh();
        let settings = format!("{}embedding = 'imitation'\n{QUICK}", provider.chat_settings());
        let server = Server::start_with_models(&data, &settings);
        provider.chat_fault(Some(fault));
        provider.embedding_fault(Some(fault));
        server.remember("default", &[&told()]);
        wait_for("the dead letter", || !stdout(&data, &["dead-letters", "list"]).is_empty());
        let answer = server.post("/v1/answer", &json!({"q": told()}));
        assert_ne!(answer.status, 500, "{fault:?} {answer:?}");
        let direct = json!({"content": format!("# {}\n", told())});
        server.post("/v1/memories/facts/password.md", &direct);
        assert_silent(&server);
    }
}

#[test]
fn a_model_that_is_down_is_logged_without_what_it_was_asked() {
    for fault in [Fault::Status(500), Fault::Status(401), Fault::Closed] {
        let provider = Provider::start();
        let (_folder, data) = fresh();
        let server = Server::start_with_models(&data, &format!("{}{QUICK}", provider.chat_settings()));
        provider.chat_fault(Some(fault));
        server.remember("default", &[&told()]);
        wait_for("the outage", || server.log().contains("the chat model does not answer"));
        assert_ne!(server.post("/v1/answer", &json!({"q": told()})).status, 500, "{fault:?}");
        assert_silent(&server);
    }
}

#[test]
fn a_pushed_file_that_cannot_be_read_is_not_logged() {
    let (folder, data) = fresh();
    let server = Server::start_configured(&data, "[git]\naccept_push = true\n");
    assert_eq!(server.post("/v1/memories/facts/a.md", &json!({"content": "# A\n"})).status, 201);
    let url = server.url.replace("http://", &format!("http://git:{}@", server.key)) + "/v1/git/default";
    assert!(run_git(folder.path(), &["clone", "-q", &url, "clone"]));
    let clone = folder.path().join("clone");
    commit(&clone, &format!("facts/{SECRET}.md"), &format!("---\noccurred_at: {}\n---\n# B\n", told()));
    assert!(!run_git(&clone, &["push", "-q"]), "the push is refused");
    assert_silent(&server);
}

#[test]
fn a_file_in_the_repository_that_cannot_be_read_is_not_logged() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    assert_eq!(server.post("/v1/memories/facts/a.md", &json!({"content": "# A\n"})).status, 201);
    let repository = server.repository("default");
    assert!(server.terminate());
    // Behind the service's back, as somebody with a shell may do it.
    assert!(run_git(folder.path(), &["clone", "-q", repository.to_str().expect("a path"), "clone"]));
    let clone = folder.path().join("clone");
    commit(&clone, &format!("facts/{SECRET}.md"), &format!("---\noccurred_at: {}\n---\n# B\n", told()));
    commit(&clone, &format!("vocab/{SECRET}.md"), &format!("---\nterm: [{}\n---\n", told()));
    assert!(run_git(&clone, &["push", "-q"]), "a bare repository takes it");
    let server = Server::start(&data);
    wait_for("the memory", || server.retrieve("default", "q=A").status == 200);
    assert_eq!(server.get("/v1/memories/facts/a.md").status, 200);
    assert_silent(&server);
}

#[test]
fn requests_that_are_refused_are_not_logged() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let bodies = [
        json!({"messages": [{"role": told(), "content": told()}]}),
        json!({"messages": told()}),
        json!({"messages": [{"role": "user", "content": told(), "occurred_at": told()}]}),
        json!({"messages": [{"role": "user", "content": told()}], "tags": [told() + "!"]}),
    ];
    for body in &bodies {
        assert_eq!(server.post("/v1/memories", body).status, 400, "{body}");
    }
    let cut = format!("{{\"messages\": [{{\"content\": \"{}", told());
    let bearer = format!("Bearer {}", server.key);
    assert_eq!(server.request("POST", "/v1/memories", Some(&bearer), Some(cut.into_bytes())).status, 400);
    assert_eq!(server.get(&format!("/v1/memories/facts/{SECRET}.md")).status, 404);
    assert_eq!(server.get(&format!("/v1/{SECRET}")).status, 404);
    assert!(matches!(server.call_as(SECRET, "GET", "/v1/whoami", None).status, 401 | 403));
    assert_silent(&server);
}
