//! Namespaces: their files, and requests during deletions. The routes are tested in `tests/api`.

use serde_json::json;

use crate::support::{Server, fresh, git, stdout, wait_for};

#[test]
fn deletion_requires_a_session_and_removes_everything() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    server.namespace("gone");
    server.remember("gone", &["A secret about the walrus statue"]);
    server.settle("gone");
    let refused = server.call("DELETE", "/v1/namespaces/gone", None);
    assert_eq!((refused.status, refused.code()), (403, "dashboard_only"));
    let session = format!("Bearer {}", stdout(&data, &["token"]));
    let deleted = server.request("DELETE", "/v1/namespaces/gone", Some(&session), None);
    assert_eq!((deleted.status, deleted.body), (200, json!({"name": "gone", "deleted": true})));
    // The response is sent once the namespace is deleted; its files may be removed later.
    wait_for("its files to be removed", || !server.repository("gone").exists());
    assert_eq!(server.retrieve("gone", "q=walrus").status, 404);
    let again = server.request("DELETE", "/v1/namespaces/gone", Some(&session), None);
    assert_eq!((again.status, again.code()), (404, "namespace_not_found"));
    // A namespace created again under the same name is empty.
    server.namespace("gone");
    assert!(server.retrieve("gone", "q=walrus+statue").hits().is_empty());
    server.remember("gone", &["The new tenant is an otter"]);
    server.settle("gone");
    assert!(server.retrieve("gone", "q=walrus+otter").contents().iter().all(|content| !content.contains("walrus")));
}

#[test]
fn the_default_namespace_can_be_deleted_while_in_use() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let session = format!("Bearer {}", stdout(&data, &["token"]));
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for client in 0..2 {
            let (server, stop) = (&server, &stop);
            scope.spawn(move || {
                let mut number = 0;
                while !stop.load(std::sync::atomic::Ordering::SeqCst) {
                    server.remember("default", &[&format!("Client {client} stacks crate {number} by the gate")]);
                    assert_eq!(server.retrieve("default", "q=crate").status, 200);
                    number += 1;
                }
            });
        }
        // The status is 404 while the namespace does not exist yet.
        let mut deletions = 0;
        wait_for("ten deletions", || {
            let deleted = server.request("DELETE", "/v1/namespaces/default", Some(&session), None);
            assert!(matches!(deleted.status, 200 | 404), "{deleted:?}");
            deletions += u32::from(deleted.status == 200);
            deletions == 10
        });
        stop.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    // A write accepted now is kept, and the repository is intact.
    server.remember("default", &["After the storm the gate was painted green"]);
    server.settle("default");
    assert!(server.retrieve("default", "q=painted+green+gate").contents()[0].contains("storm"));
    assert_eq!(git(&server.repository("default"), &["fsck", "--strict"]), "");
    assert_eq!(stdout(&data, &["dead-letters", "list"]), "");
    let trash = || std::fs::read_dir(data.join("trash")).map_or(0, Iterator::count);
    wait_for("the trash to be empty", || trash() == 0);
}

#[test]
fn reads_during_a_deletion_return_200_or_404() {
    const DELETIONS: u32 = 30;
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let session = format!("Bearer {}", stdout(&data, &["token"]));
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for address in [
            "/v1/retrieve?namespace=n&q=crate&detail=full",
            "/v1/memories/facts/c1.md?namespace=n&detail=full",
            "/v1/git/n/info/refs?service=git-upload-pack",
        ] {
            let (server, stop) = (&server, &stop);
            scope.spawn(move || {
                while !stop.load(std::sync::atomic::Ordering::SeqCst) {
                    let read = server.get(address);
                    assert!(matches!(read.status, 200 | 404), "{address}: {read:?}");
                }
            });
        }
        for _ in 0..DELETIONS {
            server.namespace("n");
            for number in 0..3 {
                let content = json!({"namespace": "n", "content": format!("# Crate {number} by the gate")});
                assert_eq!(server.post(&format!("/v1/memories/facts/c{number}.md"), &content).status, 201);
            }
            assert_eq!(server.request("DELETE", "/v1/namespaces/n", Some(&session), None).status, 200);
        }
        stop.store(true, std::sync::atomic::Ordering::SeqCst);
    });
}

#[test]
fn concurrent_queries_to_closed_namespaces_are_answered() {
    const NAMESPACES: usize = 4;
    let (_folder, data) = fresh();
    // The namespaces are large enough to be opened by several threads, and only one stays open at a time.
    let server = Server::start_with_models(&data, "[retrieval]\nwarm_namespaces = 1\n");
    for number in 0..NAMESPACES {
        let name = format!("n{number}");
        server.namespace(&name);
        for load in 0..10 {
            let mut texts = Vec::new();
            for item in 0..200 {
                texts.push(format!("Crate {item} of lorry {load} goes to harbour {number} tomorrow."));
            }
            server.remember(&name, &texts.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }
    for number in 0..NAMESPACES {
        server.settle(&format!("n{number}"));
    }
    std::thread::scope(|scope| {
        for client in 0..12 {
            let server = &server;
            scope.spawn(move || {
                for turn in 0..100 {
                    let answer =
                        server.retrieve(&format!("n{}", (client + turn) % NAMESPACES), &format!("q=crate+{turn}"));
                    assert!(!answer.hits().is_empty(), "{answer:?}");
                }
            });
        }
    });
}
