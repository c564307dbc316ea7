//! Writes and their order: which of several writes to one path stays, when a body that comes again is a new write, what
//! a start does with what was committed and not acknowledged, ids and months when clocks go back, and who waits for whom.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::disk::WatchedData;
use crate::support::provider::{Fault, Provider};
use crate::support::working_copy::WorkingCopy;
use crate::support::{Answer, Server, SetOnDrop, committed_messages, fresh, recorded_memories, stdout, wait_for};

/// Statements of a conversation whose extraction takes longer than a direct write.
const LONG_CONVERSATION: usize = 2000;
/// What a sync takes on the slow disk.
const SLOW_SYNC_MS: u64 = 300;
/// What any call takes on the disk that hangs.
const HANG_MS: u64 = 1500;
/// Writes beside which reads are timed.
const SLOW_WRITES: usize = 12;
/// Reads are timed for no longer than this.
const READING_MAX: Duration = Duration::from_secs(5);
/// Seconds of four hundred days.
const FAR_AHEAD: i64 = 400 * 86_400;
/// Messages of a conversation that takes long to read.
const LONG_TALK: usize = 20_000;
/// Appends that are timed.
const APPENDS: usize = 40;
/// Clients that rewind meanwhile.
const REWINDING: usize = 4;

fn memory_at(path: &str) -> String {
    format!("/v1/memories/{path}")
}

fn write(server: &Server, path: &str, content: &str) -> Answer {
    let answer = server.post(&memory_at(path), &json!({"content": content}));
    assert!(matches!(answer.status, 200 | 201), "{answer:?}");
    answer
}

fn forget(server: &Server, path: &str) {
    let answer = server.call("DELETE", &memory_at(path), None);
    assert_eq!(answer.status, 202, "{answer:?}");
}

/// What is at a path; null where nothing is.
fn content(server: &Server, path: &str) -> Value {
    server.get(&memory_at(path)).body["content"].clone()
}

fn holds(server: &Server, path: &str, text: &str) -> bool {
    content(server, path).as_str().is_some_and(|content| content.contains(text))
}

/// How many hits for a query hold a text.
fn hits_with(server: &Server, query: &str, text: &str) -> usize {
    let hits = server.retrieve("default", &format!("q={query}&limit=10")).contents();
    hits.iter().filter(|hit| hit.contains(text)).count()
}

/// Sends a body of skills or terms, which must be accepted, and returns the id of its queue message.
fn accepted(server: &Server, path: &str, body: &Value) -> String {
    let answer = server.post(path, body);
    assert_eq!(answer.status, 202, "{answer:?}");
    answer.body["id"].as_str().expect("an id").to_owned()
}

/// Waits until every record stands at what was accepted so far: it moves as the last message leaves the queue.
fn wait_for_empty_queue(server: &Server) {
    wait_for("the queue to be empty", || server.get("/v1/queue").body["waiting"] == 0);
}

fn accepting_pushes() -> (tempfile::TempDir, Server) {
    let (folder, data) = fresh();
    let server = Server::start_configured(&data, "[git]\naccept_push = true\n");
    (folder, server)
}

/// A chat model whose calls wait for as long as the gate is held.
fn gated() -> (Provider, Arc<Mutex<()>>) {
    let (provider, gate) = (Provider::start(), Arc::new(Mutex::new(())));
    let passage = Arc::clone(&gate);
    provider.chance(move || {
        drop(passage.lock());
        None
    });
    (provider, gate)
}

#[test]
fn a_message_that_was_committed_and_not_acknowledged_is_not_committed_again_beside_a_direct_write() {
    for moment in ["killafter rename refs/heads/main 1", "killafter rename /state 1"] {
        let watched = WatchedData::new();
        let mut server = watched.start();
        server.settle("default");
        wait_for("the record", || recorded_memories(&server, "default") == Some(1));
        watched.disk.obey(&[moment]);
        let said: Vec<String> =
            (0..LONG_CONVERSATION).map(|n| format!("Shelf {n} of the archive carries jar number {}", n * 7)).collect();
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        let id = server.remember("default", &said);
        wait_for("the server to die", || server.has_ended());
        server.kill();

        // While the namespace is being opened the direct write arrives, so that it comes before the message.
        watched.disk.obey(&["slow open indexes/ 200", "slow rename /state 300"]);
        let server = watched.start();
        write(&server, "facts/first.md", "# The first write after the start\n");
        watched.disk.obey(&[]);
        server.settle("default");
        let committed = committed_messages(&server.repository("default"));
        assert!(committed.contains(&id), "{moment}: {id} is not in git");
        // A namespace that nothing happened to, with one sentinel; the other one has two, and the direct write.
        server.namespace("twin");
        server.remember("twin", &said);
        server.settle("twin");
        wait_for_empty_queue(&server);
        let of_twin = recorded_memories(&server, "twin").expect("a record");
        assert!(of_twin > LONG_CONVERSATION as u64 / 2, "{of_twin} memories");
        assert_eq!(recorded_memories(&server, "default"), Some(of_twin + 2), "{moment}");
    }
}

#[test]
fn a_body_that_comes_again_after_its_write_died_is_a_new_write() {
    let provider = Provider::start();
    let (_folder, data) = fresh();
    let settings = format!("{}timeout_ms = 2000\n[ingestion]\nretries = 0\n", provider.chat_settings());
    let server = Server::start_with_models(&data, &settings);
    provider.chat_fault(Some(Fault::WrongShape));
    let first = server.remember("default", &["The vault code is kept by Marit"]);
    wait_for("the dead letter", || stdout(&data, &["dead-letters", "list"]).contains(&first));
    provider.chat_fault(None);
    let second = server.remember("default", &["The vault code is kept by Marit"]);
    assert_ne!(first, second, "answered with the write that died");
    server.settle("default");
    assert_eq!(hits_with(&server, "vault+code", "Marit"), 1);
    // The second one lives: a third is the same write.
    assert_eq!(server.remember("default", &["The vault code is kept by Marit"]), second);
}

#[test]
fn a_skill_that_comes_again_after_a_direct_write_over_it_is_stored_again() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let skill =
        json!({"skills": [{"name": "Descale the kettle", "content": "Use vinegar.", "path": "skills/kettle.md"}]});
    let first = accepted(&server, "/v1/skills", &skill);
    wait_for("the skill", || holds(&server, "skills/kettle.md", "vinegar"));
    write(&server, "skills/kettle.md", "# Descale the kettle\n\nUse lemon juice.\n");
    assert_ne!(accepted(&server, "/v1/skills", &skill), first);
    server.settle("default");
    assert!(holds(&server, "skills/kettle.md", "vinegar"), "{}", content(&server, "skills/kettle.md"));
}

#[test]
fn a_conversation_that_comes_again_after_a_direct_write_over_its_memory_is_a_new_write() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let said = "The beekeeper's smoker hangs behind the barn door";
    let first = server.remember("default", &[said]);
    server.settle("default");
    let hit = server.retrieve("default", "q=beekeeper+smoker&limit=1").hits()[0].clone();
    write(&server, hit["path"].as_str().expect("a path"), "# Nothing is known of the smoker\n");
    assert_ne!(server.remember("default", &[said]), first);
    server.settle("default");
    assert_eq!(hits_with(&server, "beekeeper+smoker", "barn door"), 1);
}

#[test]
fn a_conversation_that_comes_again_after_its_memory_was_forgotten_is_a_new_write() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let said = "The glazier's diamond lies in the upper drawer";
    let first = server.remember("default", &[said]);
    server.settle("default");
    let hit = server.retrieve("default", "q=glazier+diamond&limit=1").hits()[0].clone();
    forget(&server, hit["path"].as_str().expect("a path"));
    assert_ne!(server.remember("default", &[said]), first);
    server.settle("default");
    assert_eq!(hits_with(&server, "glazier+diamond", "upper drawer"), 1);
}

#[test]
fn a_skill_and_a_term_that_come_again_after_a_push_over_them_are_stored_again() {
    let (folder, server) = accepting_pushes();
    let skill = json!({"skills": [{"name": "Wax the skis", "content": "Use beeswax.", "path": "skills/skis.md"}]});
    let term = json!({"terms": [{"term": "Skadi", "definition": "Our oldest pair of skis."}]});
    let first = [accepted(&server, "/v1/skills", &skill), accepted(&server, "/v1/vocab", &term)];
    server.settle("default");
    let copy = WorkingCopy::of(&server, "default", &folder.path().join("copy"));
    copy.commit("skills/skis.md", "# Wax the skis\n\nUse paraffin.\n");
    copy.commit("vocab/skadi.md", "# Skadi\n\nA goddess.\n");
    assert!(copy.push());
    assert!(holds(&server, "skills/skis.md", "paraffin"));
    let second = [accepted(&server, "/v1/skills", &skill), accepted(&server, "/v1/vocab", &term)];
    assert!(first[0] != second[0] && first[1] != second[1], "{first:?} {second:?}");
    server.settle("default");
    assert!(holds(&server, "skills/skis.md", "beeswax"));
    let known = server.get("/v1/vocab?word=skadi").body["term"].clone();
    assert_eq!(known["definition"], "Our oldest pair of skis.", "{known}");
}

#[test]
fn a_body_that_comes_again_after_unrelated_things_were_forgotten_is_the_same_write() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    write(&server, "facts/stranger.md", "# A stranger's note\n");
    accepted(&server, "/v1/vocab", &json!({"terms": [{"term": "stranger"}]}));
    let said = "The night ferry takes the northern channel";
    let skill =
        json!({"skills": [{"name": "Moor the ferry", "content": "Two lines ashore.", "path": "skills/moor.md"}]});
    let term = json!({"terms": [{"term": "Lee", "definition": "The side away from the wind."}]});
    let send = || {
        [
            server.remember("default", &[said]),
            accepted(&server, "/v1/skills", &skill),
            accepted(&server, "/v1/vocab", &term),
        ]
    };
    let first = send();
    server.settle("default");
    forget(&server, "facts/stranger.md");
    forget(&server, "facts/never-written.md");
    assert_eq!(server.call("DELETE", "/v1/vocab?term=stranger,never-learned", None).status, 202);
    assert_eq!(send(), first, "accepted as new ones before the forgets were carried out");
    server.settle("default");
    assert_eq!(send(), first, "accepted as new ones after the forgets were carried out");
    server.settle("default");
    assert_eq!(hits_with(&server, "night+ferry", "northern channel"), 1);
}

#[test]
fn the_last_one_of_forgets_and_direct_writes_decides_whatever_waits_before_them() {
    let (provider, gate) = gated();
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, &provider.chat_settings());
    for path in ["facts/stays.md", "facts/goes.md"] {
        write(&server, path, "# The former text\n");
    }
    let closed = gate.lock();
    server.remember("default", &["The barge waits below the lock"]);
    forget(&server, "facts/stays.md");
    write(&server, "facts/stays.md", "# The later text\n");
    forget(&server, "facts/goes.md");
    write(&server, "facts/goes.md", "# The later text\n");
    forget(&server, "facts/goes.md");
    // One that was never there when it was forgotten.
    forget(&server, "facts/comes.md");
    write(&server, "facts/comes.md", "# The first text\n");
    assert_eq!(content(&server, "facts/stays.md"), "# The later text\n");
    drop(closed);
    server.settle("default");
    assert_eq!(content(&server, "facts/stays.md"), "# The later text\n");
    assert_eq!(content(&server, "facts/comes.md"), "# The first text\n");
    assert_eq!(server.get(&memory_at("facts/goes.md")).status, 404);
}

#[test]
fn a_direct_write_after_a_forget_stays_through_a_kill_and_a_start() {
    let (provider, gate) = gated();
    let (_folder, data) = fresh();
    let settings = provider.chat_settings();
    let server = Server::start_with_models(&data, &settings);
    write(&server, "facts/p.md", "# The former text\n");
    let closed = gate.lock();
    server.remember("default", &["The tug tows two lighters upstream"]);
    forget(&server, "facts/p.md");
    write(&server, "facts/p.md", "# The later text\n");
    server.kill();
    drop(closed);
    let server = Server::start_with_models(&data, &settings);
    server.settle("default");
    assert_eq!(content(&server, "facts/p.md"), "# The later text\n");
    assert_eq!(hits_with(&server, "tug+tows", "lighters"), 1);
}

#[test]
fn a_skill_that_waits_does_not_write_over_a_later_direct_write() {
    let (provider, gate) = gated();
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, &provider.chat_settings());
    let closed = gate.lock();
    server.remember("default", &["The crane lifts the last crate ashore"]);
    let skills = json!([
        {"name": "Oil the crane", "content": "Once a month.", "path": "skills/crane.md"},
        {"name": "Paint the crane", "content": "Once a year.", "path": "skills/paint.md"},
    ]);
    accepted(&server, "/v1/skills", &json!({"skills": skills}));
    write(&server, "skills/crane.md", "# Oil the crane\n\nOnce a week.\n");
    drop(closed);
    server.settle("default");
    assert!(holds(&server, "skills/crane.md", "Once a week."), "{}", content(&server, "skills/crane.md"));
    assert!(holds(&server, "skills/paint.md", "Once a year."), "the other skill of the request is stored");
}

#[test]
fn a_forget_that_waits_leaves_alone_what_was_pushed_after_it() {
    let (provider, gate) = gated();
    let (folder, data) = fresh();
    let settings = format!("{}[git]\naccept_push = true\n", provider.chat_settings());
    let server = Server::start_with_models(&data, &settings);
    write(&server, "facts/p.md", "# The former text\n");
    let copy = WorkingCopy::of(&server, "default", &folder.path().join("copy"));
    let closed = gate.lock();
    server.remember("default", &["The pilot boards at the outer buoy"]);
    forget(&server, "facts/p.md");
    copy.commit("facts/p.md", "# What was pushed\n");
    assert!(copy.push());
    drop(closed);
    server.settle("default");
    assert!(holds(&server, "facts/p.md", "What was pushed"), "{}", content(&server, "facts/p.md"));
}

/// A write that is repeated beside reads: gets the dashboard session and the number of the write.
type Writing = fn(&Server, &str, usize);

/// Times reads beside writers on a disk with some rules, and fails where reads wait for it. Each writer has a thread.
fn reads_do_not_wait(rules: &[&str], delay_ms: u64, writers: &[Writing]) {
    let watched = WatchedData::new();
    let server = watched.start();
    let session = stdout(&watched.data, &["token"]);
    server.remember("default", &["The lighthouse keeper is called Agatha"]);
    server.settle("default");
    write(&server, "facts/a.md", "# A note\n");
    let conversation = server.post("/v1/conversations", &json!({"title": "Talk"})).body["id"].clone();
    let media = server.post("/v1/media", &json!("bytes")).body["id"].clone();
    let text = |id: &Value| id.as_str().expect("an id").to_owned();
    let addresses = [
        "/v1/retrieve?q=lighthouse+keeper".to_owned(),
        "/v1/retrieve?tiers=facts".to_owned(),
        memory_at("facts/a.md"),
        "/v1/tree".to_owned(),
        "/v1/vocab".to_owned(),
        "/v1/skills".to_owned(),
        "/v1/namespaces".to_owned(),
        "/v1/whoami".to_owned(),
        "/v1/usage".to_owned(),
        "/v1/conversations".to_owned(),
        format!("/v1/conversations/{}", text(&conversation)),
        format!("/v1/media/{}", text(&media)),
    ];
    for address in &addresses {
        assert_eq!(server.get(address).status, 200, "{address}");
    }
    // Whose first request comes while the disk is slow.
    let mut strangers: Vec<String> =
        (0..SLOW_WRITES).map(|_| stdout(&watched.data, &["keys", "create", "--namespace", "default"])).collect();

    watched.disk.obey(rules);
    let (stop, written) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (mut slow, mut waited) = (Vec::new(), Duration::ZERO);
    let began = Instant::now();
    std::thread::scope(|scope| {
        let _stop = SetOnDrop(&stop);
        for (number, writing) in writers.iter().enumerate() {
            let (server, session, stop, written) = (&server, session.as_str(), &stop, &written);
            scope.spawn(move || {
                let mut turn = number;
                while !stop.load(Ordering::SeqCst) {
                    writing(server, session, turn);
                    written.fetch_add(1, Ordering::SeqCst);
                    turn += writers.len();
                }
            });
        }
        while written.load(Ordering::SeqCst) < SLOW_WRITES && began.elapsed() < READING_MAX {
            for address in &addresses {
                let asked = Instant::now();
                assert_eq!(server.get(address).status, 200, "{address}");
                note_slow(&mut slow, &mut waited, address, asked.elapsed(), delay_ms);
            }
            if let Some(key) = strangers.pop() {
                let asked = Instant::now();
                assert_eq!(server.call_as(&key, "GET", "/v1/whoami", None).status, 200);
                note_slow(&mut slow, &mut waited, "a key's first request", asked.elapsed(), delay_ms);
            }
        }
        // What is under way ends soon.
        watched.disk.obey(&[]);
    });
    let took = began.elapsed();
    assert!(waited < took / 5, "{waited:.0?} of {took:.0?} were spent waiting: {slow:?}");
}

/// Notes a read that took at least half of what a call to the slow disk takes.
fn note_slow(slow: &mut Vec<String>, waited: &mut Duration, address: &str, took: Duration, delay_ms: u64) {
    if took * 2 >= Duration::from_millis(delay_ms) {
        *waited += took;
        slow.push(format!("{address}: {took:.0?}"));
    }
}

fn slow_sync() -> String {
    format!("slow sync * {SLOW_SYNC_MS}")
}

fn make_namespace(server: &Server, _: &str, turn: usize) {
    server.namespace(&format!("n{turn}"));
}

fn make_key(server: &Server, session: &str, turn: usize) {
    let made = server.call_as(session, "POST", "/v1/keys", Some(&json!({"name": format!("k{turn}")})));
    assert_eq!(made.status, 201, "{made:?}");
}

fn post_conversation(server: &Server, _: &str, turn: usize) {
    server.remember("default", &[&format!("Crate {turn} is lowered into the hold")]);
}

fn manage_conversation(server: &Server, _: &str, turn: usize) {
    let made = server.post("/v1/conversations", &json!({"title": format!("Talk {turn}")}));
    let path = format!("/v1/conversations/{}/messages", made.body["id"].as_str().expect("an id"));
    let message = json!({"messages": [{"role": "user", "content": format!("Buoy {turn} is lit")}]});
    assert_eq!(server.post(&path, &message).status, 201);
}

fn write_directly(server: &Server, _: &str, turn: usize) {
    write(server, &format!("facts/direct/{turn}.md"), "# A direct write\n");
}

fn upload(server: &Server, _: &str, turn: usize) {
    assert_eq!(server.post("/v1/media", &json!(format!("file {turn}"))).status, 201);
}

#[test]
fn reads_do_not_wait_for_the_syncs_of_namespaces_that_are_made() {
    reads_do_not_wait(&[&slow_sync()], SLOW_SYNC_MS, &[make_namespace, make_namespace]);
}

#[test]
fn reads_do_not_wait_for_the_syncs_of_keys_that_are_made() {
    reads_do_not_wait(&[&slow_sync()], SLOW_SYNC_MS, &[make_key, make_key]);
}

#[test]
fn reads_do_not_wait_for_the_syncs_of_conversations() {
    reads_do_not_wait(&[&slow_sync()], SLOW_SYNC_MS, &[post_conversation, manage_conversation]);
}

#[test]
fn reads_do_not_wait_for_the_syncs_of_direct_writes_and_uploads() {
    reads_do_not_wait(&[&slow_sync()], SLOW_SYNC_MS, &[write_directly, upload]);
}

#[test]
fn reads_go_on_while_the_disk_hangs() {
    let (sync, writes) = (format!("slow sync data/ {HANG_MS}"), format!("slow write data/ {HANG_MS}"));
    reads_do_not_wait(&[&sync, &writes], HANG_MS, &[post_conversation, make_namespace]);
}

#[test]
fn a_disk_that_fails_whatever_changes_something_is_read_from_all_the_same() {
    let watched = WatchedData::new();
    let server = watched.start();
    server.remember("default", &["The lighthouse keeper is called Agatha"]);
    server.settle("default");
    write(&server, "facts/a.md", "# A note\n");
    watched.disk.obey(&[
        "eio write data/ 0",
        "eio sync * 0",
        "eio open data/ 0",
        "eio rename data/ 0",
        "eio mkdir data/ 0",
        "eio unlink data/ 0",
    ]);
    for _ in 0..3 {
        let refused =
            server.post("/v1/memories", &json!({"messages": [{"role": "user", "content": "Nothing is kept"}]}));
        assert_eq!((refused.status, refused.code()), (503, "storage_unavailable"), "{refused:?}");
        for path in ["/v1/retrieve?q=lighthouse", "/v1/memories/facts/a.md", "/v1/tree", "/v1/namespaces", "/v1/usage"]
        {
            let read = server.get(path);
            assert_eq!(read.status, 200, "{path}: {read:?}");
        }
    }
}

#[test]
fn a_disk_that_fails_every_call_is_named_in_what_cannot_be_read() {
    let watched = WatchedData::new();
    let server = watched.start();
    server.remember("default", &["The lighthouse keeper is called Agatha"]);
    server.settle("default");
    write(&server, "facts/a.md", "# A note\n");
    watched.disk.obey(&[
        "eio read data/ 0",
        "eio write data/ 0",
        "eio sync * 0",
        "eio open data/ 0",
        "eio rename data/ 0",
        "eio mkdir data/ 0",
        "eio unlink data/ 0",
    ]);
    for _ in 0..3 {
        for path in ["/v1/retrieve?q=lighthouse", "/v1/memories/facts/a.md", "/v1/tree", "/v1/namespaces", "/v1/usage"]
        {
            let read = server.get(path);
            let said = read.body.to_string().contains("storage_unavailable") && read.retry_after.is_some();
            assert!(read.status == 200 || (read.status == 503 && said), "{path}: {read:?}");
        }
    }
    watched.disk.obey(&[]);
    let found = || server.retrieve("default", "q=lighthouse").body.to_string().contains("Agatha");
    wait_for("the service to recover", found);
}

/// One id of every kind that the service gives out, in the order in which they were.
fn ids(server: &Server, mark: &str) -> Vec<String> {
    let text = |answer: &Answer, field: &str| answer.body[field].as_str().expect("an id").to_owned();
    let mut found = vec![server.remember("default", &[&format!("The {mark} anchor was weighed")])];
    found.push(accepted(server, "/v1/vocab", &json!({"terms": [{"term": format!("anchor {mark}")}]})));
    let made = server.post("/v1/conversations", &json!({"title": mark}));
    let at = format!("/v1/conversations/{}/messages", text(&made, "id"));
    found.push(text(&made, "id"));
    let message = json!({"messages": [{"role": "system", "content": format!("The {mark} watch begins")}]});
    found.push(server.post(&at, &message).body["ids"][0].as_str().expect("an id").to_owned());
    found.push(text(&server.post("/v1/media", &json!(mark)), "id"));
    found
}

#[test]
fn ids_sort_by_creation_also_when_the_clock_went_back_between_two_starts() {
    for killed in [false, true] {
        let watched = WatchedData::new();
        watched.disk.obey(&[&format!("clock - - {FAR_AHEAD}")]);
        let server = watched.start();
        let before = ids(&server, "former");
        assert!(before.is_sorted(), "{before:?}");
        // The queue is empty, so that it does not tell how far ids had come.
        server.settle("default");
        wait_for_empty_queue(&server);
        if killed {
            server.kill();
        } else {
            assert!(server.terminate());
        }
        watched.disk.obey(&[]);
        let server = watched.start();
        let after = ids(&server, "later");
        let (newest, oldest) = (before.iter().max(), after.iter().min());
        assert!(newest < oldest, "killed: {killed}: {before:?} {after:?}");
        assert!(after.is_sorted(), "{after:?}");
    }
}

#[test]
fn a_clock_that_went_to_other_months_and_back_leaves_the_months_usage_as_it_was() {
    let watched = WatchedData::new();
    let server = watched.start();
    server.settle("default");
    wait_for_empty_queue(&server);
    let usage = || server.get("/v1/usage").body;
    for _ in 0..50 {
        server.retrieve("default", "q=anything");
    }
    let before = usage();
    assert!(before["used"]["reads"].as_u64() >= Some(50), "{before}");
    for jump in [40 * 86_400, -40 * 86_400] {
        watched.disk.obey(&[&format!("clock - - {jump}")]);
        for _ in 0..5 {
            server.retrieve("default", "q=anything");
        }
        let other = usage();
        assert_ne!(other["period"], before["period"]);
        assert_eq!(other["used"]["reads"], 5, "{other}");
        watched.disk.obey(&[]);
        assert_eq!(usage(), before, "after the clock was {jump} s off");
    }
    server.kill();
    let server = watched.start();
    assert_eq!(server.get("/v1/usage").body["used"]["reads"], before["used"]["reads"], "after a start");
}

/// The median of what appends to a conversation take.
fn median_append(server: &Server, at: &str) -> Duration {
    let mut times = Vec::new();
    for turn in 0..APPENDS {
        let message = json!({"messages": [{"role": "system", "content": format!("Entry {turn}")}]});
        let asked = Instant::now();
        assert_eq!(server.post(&format!("{at}/messages"), &message).status, 201);
        times.push(asked.elapsed());
    }
    times.sort_unstable();
    times[times.len() / 2]
}

#[test]
fn an_append_does_not_wait_for_those_who_rewind_another_conversation() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let made = || {
        let made = server.post("/v1/conversations", &json!({}));
        format!("/v1/conversations/{}", made.body["id"].as_str().expect("an id"))
    };
    let (long, own) = (made(), made());
    // Of the system: kept, and nothing is extracted from it.
    let messages: Vec<Value> =
        (0..LONG_TALK).map(|n| json!({"role": "system", "content": format!("Line {n} of the log")})).collect();
    let sent = server.post(&format!("{long}/messages"), &json!({"messages": messages}));
    assert_eq!(sent.status, 201, "{sent:?}");
    let middle = sent.body["ids"][LONG_TALK / 2].clone();
    server.settle("default");

    let alone = median_append(&server, &own);
    let (stop, rewound) = (AtomicBool::new(false), AtomicUsize::new(0));
    let beside = std::thread::scope(|scope| {
        let _stop = SetOnDrop(&stop);
        for _ in 0..REWINDING {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let answer = server.post(&format!("{long}/rewind"), &json!({"to": middle}));
                    assert_eq!(answer.status, 200, "{answer:?}");
                    rewound.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        wait_for("everybody to rewind", || rewound.load(Ordering::SeqCst) >= REWINDING);
        median_append(&server, &own)
    });
    println!("an append alone {alone:.1?}, beside {REWINDING} who rewind {beside:.1?}");
    let bound = alone * 10 + Duration::from_millis(15);
    assert!(beside <= bound, "an append takes {beside:.1?} beside {REWINDING} who rewind, {alone:.1?} alone");
}

#[test]
fn appends_and_rewinds_of_one_conversation_at_once_lose_no_message() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let made = server.post("/v1/conversations", &json!({}));
    let at = format!("/v1/conversations/{}", made.body["id"].as_str().expect("an id"));
    let first = server.post(&format!("{at}/messages"), &json!({"messages": [{"role": "system", "content": "begin"}]}));
    let first = first.body["ids"][0].clone();
    std::thread::scope(|scope| {
        for client in 0..3 {
            let (server, at) = (&server, &at);
            scope.spawn(move || {
                for turn in 0..20 {
                    let content = format!("said {client} {turn}.");
                    let message = json!({"messages": [{"role": "system", "content": content}]});
                    assert_eq!(server.post(&format!("{at}/messages"), &message).status, 201);
                }
            });
        }
        for _ in 0..10 {
            assert_eq!(server.post(&format!("{at}/rewind"), &json!({"to": first})).status, 200);
        }
    });
    // What came after a rewind's message is on a branch of its own.
    let branches = server.get(&format!("{at}/branches")).body["branches"].clone();
    let mut all = String::new();
    for branch in branches.as_array().expect("branches") {
        let name = branch["name"].as_str().expect("a name");
        all += &server.get(&format!("{at}?branch={name}")).body["messages"].to_string();
    }
    for client in 0..3 {
        for turn in 0..20 {
            assert_eq!(all.matches(&format!("said {client} {turn}.")).count(), 1, "{client} {turn}");
        }
    }
}
