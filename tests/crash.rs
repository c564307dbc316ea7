//! Writes answered with `202` survive a kill at any moment, and are stored exactly once.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde_json::json;

use crate::support::disk::WatchedData;
use crate::support::{
    Server, committed_messages, fresh, git, metrics, metrics_address, recorded_memories, stdout, wait_for,
};

/// Number of kills.
const KILLS: u32 = 20;
/// Concurrent writers, each to its own namespace.
const CLIENTS: usize = 3;

#[test]
fn every_accepted_write_survives_a_kill_exactly_once() {
    let (_folder, data) = fresh();
    let accepted: Mutex<HashMap<String, (usize, u32)>> = Mutex::new(HashMap::new());
    let numbers = AtomicU32::new(0);
    for round in 0..KILLS {
        let server = Server::start(&data);
        for client in 0..CLIENTS {
            server.namespace(&format!("c{client}"));
        }
        let stop = AtomicBool::new(false);
        let in_round = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (server, accepted, numbers, stop, in_round) = (&server, &accepted, &numbers, &stop, &in_round);
                scope.spawn(move || {
                    while !stop.load(Ordering::SeqCst) {
                        let number = numbers.fetch_add(1, Ordering::SeqCst);
                        let body = json!({
                            "namespace": format!("c{client}"),
                            "messages": [{"role": "user", "content": format!("Ledger entry token{number}x was signed by the harbour master")}],
                        });
                        let bearer = format!("Bearer {}", server.key);
                        let answer = server.try_request("POST", "/v1/memories", Some(&bearer), Some(body.to_string().into_bytes()));
                        // The server was killed, so it is unknown whether the write was accepted.
                        let Ok(answer) = answer else { return };
                        if answer.status == 202 {
                            let id = answer.body["id"].as_str().expect("an id").to_owned();
                            accepted.lock().expect("no panic").insert(id, (client, number));
                            in_round.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                });
            }
            // The kill comes at a different moment in each round: after `enough` writes, during a later one.
            let enough = 1 + (round * 7) % 23;
            wait_for("writes to be accepted", || in_round.load(Ordering::SeqCst) >= enough);
            for _ in 0..(round * 1009) % 5000 {
                std::hint::spin_loop();
            }
            // The kill interrupts requests and ingestion.
            let pid = server.pid().to_string();
            assert!(std::process::Command::new("kill").args(["-KILL", &pid]).status().expect("kill runs").success());
            stop.store(true, Ordering::SeqCst);
        });
        server.kill();
    }

    let server = Server::start(&data);
    for client in 0..CLIENTS {
        server.settle(&format!("c{client}"));
    }
    let accepted = accepted.into_inner().expect("no panic");
    assert!(accepted.len() >= KILLS as usize, "only {} writes were accepted", accepted.len());
    for client in 0..CLIENTS {
        let repository = server.repository(&format!("c{client}"));
        let commits = committed_messages(&repository);
        for (id, (_, number)) in accepted.iter().filter(|(_, (owner, _))| *owner == client) {
            assert!(commits.contains(id.as_str()), "message {id} is not in git");
            let token = format!("token{number}x");
            let hits = server.retrieve(&format!("c{client}"), &format!("q={token}&limit=5")).contents();
            let holding = hits.iter().filter(|content| content.contains(&token)).count();
            assert_eq!(holding, 1, "{token} is retrieved {holding} times");
        }
    }
    let repositories: Vec<_> = (0..CLIENTS).map(|client| server.repository(&format!("c{client}"))).collect();
    server.kill();
    for repository in repositories {
        assert_sound_at_rest(&repository);
    }
}

/// Checks a repository with `git fsck`. No server may run: it joins packs, and fsck could list a pack that is then
/// removed. A killed write may leave unreferenced objects.
fn assert_sound_at_rest(repository: &Path) {
    assert_eq!(git(repository, &["fsck", "--strict", "--full", "--no-dangling"]), "");
}

/// All other kinds of writes, in one namespace, so that queued and direct writes interleave.
#[test]
fn direct_writes_terms_skills_and_messages_survive_a_kill() {
    let (_folder, data) = fresh();
    let kept: Mutex<Vec<(u32, &str, String)>> = Mutex::default();
    let numbers = AtomicU32::new(0);
    for round in 0..8 {
        let server = Server::start(&data);
        let conversation = server.post("/v1/conversations", &json!({})).body["id"].as_str().expect("an id").to_owned();
        let done = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for kind in ["memory", "term", "skill", "message"] {
                let (server, kept, numbers, done, conversation) = (&server, &kept, &numbers, &done, &conversation);
                scope.spawn(move || {
                    loop {
                        let n = numbers.fetch_add(1, Ordering::SeqCst);
                        let (path, body) = match kind {
                            "memory" => (format!("/v1/memories/facts/k/{n}.md"), json!({"content": format!("# Note{n}q")})),
                            "term" => ("/v1/vocab".to_owned(), json!({"terms": [{"term": format!("term{n}q")}]})),
                            "skill" => ("/v1/skills".to_owned(), json!({"skills": [{"name": format!("Skill {}", n % 5), "content": format!("step{n}q"), "topic": format!("t{n}")}]})),
                            _ => (format!("/v1/conversations/{conversation}/messages"), json!({"messages": [{"role": "user", "content": format!("The remark{n}q was noted")}]})),
                        };
                        let bearer = format!("Bearer {}", server.key);
                        let answer = server.try_request("POST", &path, Some(&bearer), Some(body.to_string().into_bytes()));
                        let Ok(answer) = answer else { return };
                        assert!((200..300).contains(&answer.status), "{answer:?}");
                        let what = match kind {
                            "skill" => answer.body["paths"][0].as_str().expect("a path").to_owned(),
                            "message" => conversation.clone(),
                            _ => String::new(),
                        };
                        kept.lock().expect("no panic").push((n, kind, what));
                        done.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            wait_for("writes to be accepted", || done.load(Ordering::SeqCst) >= 5 + round * 3);
            let pid = server.pid().to_string();
            assert!(std::process::Command::new("kill").args(["-KILL", &pid]).status().expect("kill runs").success());
        });
        server.kill();
    }
    let server = Server::start(&data);
    server.settle("default");
    // The recorded head, which is compared below, moves after the last write can be retrieved.
    server.drain();
    let repository = server.repository("default");
    let kept = kept.into_inner().expect("no panic");
    for (n, kind, what) in &kept {
        match *kind {
            "memory" => {
                let read = server.get(&format!("/v1/memories/facts/k/{n}.md"));
                assert_eq!(read.body["content"], format!("# Note{n}q\n"));
            }
            "term" => assert_eq!(server.get(&format!("/v1/vocab?word=TERM{n}Q")).body["found"], true, "term {n}"),
            "skill" => {
                let skill = server.get(&format!("/v1/memories/{what}"));
                assert!(
                    skill.body["content"].as_str().is_some_and(|text| text.contains(&format!("step{n}q"))),
                    "{skill:?}"
                );
            }
            _ => {
                let messages = server.get(&format!("/v1/conversations/{what}")).body["messages"].to_string();
                assert_eq!(messages.matches(&format!("remark{n}q")).count(), 1, "message {n}");
                let hits = server.retrieve("default", &format!("q=remark{n}q&limit=5")).contents();
                assert_eq!(
                    hits.iter().filter(|hit| hit.contains(&format!("remark{n}q"))).count(),
                    1,
                    "memory of message {n}"
                );
            }
        }
    }
    committed_messages(&repository);
    // An index that is rebuilt from git has the same content.
    let snapshot = |server: &Server| {
        (
            server.get("/v1/tree?path=facts/k").body["entries"].clone(),
            server.get("/v1/namespaces").body["namespaces"][0]["head"].clone(),
        )
    };
    let before = snapshot(&server);
    server.kill();
    assert_sound_at_rest(&repository);
    std::fs::remove_dir_all(data.join("indexes")).expect("removes");
    let server = Server::start(&data);
    assert_eq!(snapshot(&server), before);
}

#[test]
fn an_index_lost_while_serving_neither_loses_nor_repeats_writes() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    server.remember("default", &["The bakery on the corner closes on Tuesdays"]);
    server.settle("default");
    std::fs::remove_dir_all(data.join("indexes")).expect("removes");
    let id = server.remember("default", &["The florist next to it sells orchids"]);
    server.settle("default");
    assert!(server.retrieve("default", "q=orchids").contents()[0].contains("florist"));
    assert!(server.retrieve("default", "q=bakery").contents()[0].contains("Tuesdays"));
    let log = git(&server.repository("default"), &["log", "--format=%B"]);
    assert_eq!(log.matches(&id).count(), 1, "{log}");
    let counted = || server.get("/v1/namespaces").body["namespaces"][0]["memories"] == json!(4);
    wait_for("all memories to be counted", counted);
}

#[test]
fn a_direct_write_that_was_committed_before_a_kill_is_found_and_counted_without_another_write() {
    let watched = WatchedData::new();
    let server = watched.start();
    assert_eq!(server.post("/v1/memories/facts/a.md", &json!({"content": "# The bollard\n"})).status, 201);
    watched.disk.set_rules(&["killafter rename refs/heads/main 1"]);
    let bearer = format!("Bearer {}", server.key);
    let body = json!({"content": "# The capstan\n"}).to_string().into_bytes();
    let answer = server.try_request("POST", "/v1/memories/facts/b.md", Some(&bearer), Some(body));
    assert!(answer.is_err(), "{answer:?}");
    server.kill();

    watched.disk.set_rules(&[]);
    let server = watched.start();
    let found = server.retrieve("default", "q=capstan&limit=5").contents();
    assert!(found.iter().any(|content| content.contains("capstan")), "{found:?}");
    assert_eq!(recorded_memories(&server, "default"), Some(2));
}

/// Rules that keep accepted writes in the queue: writes to repositories fail.
const REPOSITORIES_FULL: [&str; 2] = ["enospc write repositories/ 0", "enospc open repositories/ 0"];
/// Longer than the queue keeps a write that is not ingested.
const FIVE_DAYS_SECONDS: i64 = 5 * 86_400;

/// Starts and kills a server, so that the namespace has a repository. No write is left in the queue.
fn create_repository(watched: &WatchedData) {
    let server = watched.start();
    server.settle("default");
    server.drain();
    server.kill();
}

#[test]
fn downtime_does_not_count_towards_the_age_of_a_queued_write() {
    let watched = WatchedData::new();
    create_repository(&watched);
    for (days, name) in [(5, "gramophone"), (3, "harmonium")] {
        // The state of a service that accepted a write some days ago and has been down since.
        let clock = format!("clock - - {}", -days * 86_400);
        watched.disk.set_rules(&[REPOSITORIES_FULL[0], REPOSITORIES_FULL[1], &clock]);
        let server = watched.start();
        server.remember("default", &[&format!("The parcel of {days} days ago holds a {name}")]);
        server.kill();
    }
    watched.disk.set_rules(&[]);
    let server = watched.start();
    server.settle("default");
    for name in ["gramophone", "harmonium"] {
        let found = server.retrieve("default", &format!("q=parcel+{name}&limit=5")).contents();
        assert!(found.iter().any(|content| content.contains(name)), "{name}: {found:?}");
    }
    assert_eq!(stdout(&watched.data, &["dead-letters", "list"]), "");
}

#[test]
fn a_write_queued_for_over_four_days_becomes_a_dead_letter() {
    let watched = WatchedData::new();
    create_repository(&watched);
    watched.disk.set_rules(&REPOSITORIES_FULL);
    let (address, url) = metrics_address();
    let server = watched.start_with(&["--metrics-listen", &address]);
    let id = server.remember("default", &["The parcel on the quay holds a gramophone"]);
    let uptime = format!("uptime - - {FIVE_DAYS_SECONDS}");
    watched.disk.set_rules(&[REPOSITORIES_FULL[0], REPOSITORIES_FULL[1], &uptime]);
    let letters = || stdout(&watched.data, &["dead-letters", "list"]);
    wait_for("the dead letter", || letters().contains(&id));
    assert_eq!(letters().lines().count(), 1);
    // The dead letter is recorded before the worker removes the write from the queue in memory.
    server.drain();
    let done = |text: &str| text.lines().any(|line| line.starts_with("cuebase_ingested_total{outcome=\"done\"}"));
    assert!(!done(&metrics(&url)), "the write is also counted as ingested");

    watched.disk.set_rules(&[&uptime]);
    stdout(&watched.data, &["dead-letters", "retry", &id]);
    wait_for("the memory", || {
        let found = server.retrieve("default", "q=parcel+quay&limit=5").contents();
        found.iter().any(|content| content.contains("gramophone"))
    });
    assert_eq!(letters(), "");
}

/// Longer than a dead letter is kept.
const MONTH_SECONDS: i64 = 30 * 86_400;

#[test]
fn days_off_do_not_count_towards_the_age_of_a_dead_letter() {
    let watched = WatchedData::new();
    create_repository(&watched);
    watched.disk.set_rules(&REPOSITORIES_FULL);
    let server = watched.start();
    let id = server.remember("default", &["The parcel on the quay holds a gramophone"]);
    let uptime = format!("uptime - - {FIVE_DAYS_SECONDS}");
    watched.disk.set_rules(&[REPOSITORIES_FULL[0], REPOSITORIES_FULL[1], &uptime]);
    let letters = || stdout(&watched.data, &["dead-letters", "list"]);
    wait_for("the dead letter", || letters().contains(&id));
    server.kill();

    let clock = format!("clock - - {MONTH_SECONDS}");
    watched.disk.set_rules(&[&clock]);
    let (address, url) = metrics_address();
    let _server = watched.start_with(&["--metrics-listen", &address]);
    let has_line = |text: &str, line: &str| text.lines().any(|found| found == line);
    wait_for("the removal of expired data", || {
        let text = metrics(&url);
        has_line(&text, "cuebase_job_runs_total{job=\"expiry\"} 1")
            && has_line(&text, "cuebase_job_state{job=\"expiry\",state=\"running\"} 0")
    });
    assert!(letters().contains(&id), "{}", letters());
}

#[test]
fn queued_writes_are_ingested_after_a_restart() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    for n in 0..40 {
        server.remember("default", &[&format!("Barrel number {n} came by ship on a tide of its own")]);
    }
    assert!(server.terminate(), "the server did not exit with success");
    let server = Server::start(&data);
    server.settle("default");
    // The namespace's record is updated last, after the last write can be retrieved.
    let counted = || server.get("/v1/namespaces").body["namespaces"][0]["memories"] == json!(41);
    wait_for("all memories to be counted", counted);
    assert_eq!(git(&server.repository("default"), &["rev-list", "--count", "HEAD"]).trim(), "41");
}
