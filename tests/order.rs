//! Order and deduplication of writes: which of several writes to one path wins, when a repeated body is a new write, and
//! how a start handles committed but unacknowledged messages. Also ids and usage when clocks jump, and which requests wait
//! for which.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::disk::WatchedData;
use crate::support::provider::{Fault, Provider};
use crate::support::working_copy::WorkingCopy;
use crate::support::{Answer, Server, SetOnDrop, committed_messages, fresh, recorded_memories, stdout, wait_for};

/// Statements in a conversation whose extraction takes longer than a direct write.
const LONG_CONVERSATION: usize = 2000;
/// Duration of a sync on the slow disk.
const SLOW_SYNC: Duration = Duration::from_millis(300);
/// Duration of a sync or a write on the hanging disk.
const HANG: Duration = Duration::from_millis(1500);
/// Concurrent writes after which the timing of reads ends.
const SLOW_WRITES: usize = 12;
/// Longest time for which reads are timed.
const TIMED_READS_MAX: Duration = Duration::from_secs(5);
/// Clock offset of 400 days, seconds.
const FAR_AHEAD: i64 = 400 * 86_400;
/// Messages in a conversation that takes long to read.
const LONG_CONVERSATION_MESSAGES: usize = 20_000;
/// Appends per measurement.
const APPENDS: usize = 40;
/// Clients that rewind concurrently with the appends.
const REWINDING_CLIENTS: usize = 4;

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

/// Returns the content at a path, or null.
fn content(server: &Server, path: &str) -> Value {
    server.get(&memory_at(path)).body["content"].clone()
}

fn holds(server: &Server, path: &str, text: &str) -> bool {
    content(server, path).as_str().is_some_and(|content| content.contains(text))
}

/// Counts the hits of a query that contain a text.
fn hits_with(server: &Server, query: &str, text: &str) -> usize {
    let hits = server.retrieve("default", &format!("q={query}&limit=10")).contents();
    hits.iter().filter(|hit| hit.contains(text)).count()
}

/// Posts skills or terms that must be accepted, and returns the id of the write.
fn post_accepted(server: &Server, path: &str, body: &Value) -> String {
    let answer = server.post(path, body);
    assert_eq!(answer.status, 202, "{answer:?}");
    answer.body["id"].as_str().expect("an id").to_owned()
}

/// Waits until every accepted write is processed. The namespace records are then up to date.
fn wait_for_empty_queue(server: &Server) {
    wait_for("the queue to be empty", || server.get("/v1/queue").body["waiting"] == 0);
}

fn server_accepting_pushes() -> (tempfile::TempDir, Server) {
    let (folder, data) = fresh();
    let server = Server::start_configured(&data, "[git]\naccept_push = true\n");
    (folder, server)
}

/// Returns a chat model whose calls wait while the lock is held.
fn blocked_model() -> (Provider, Arc<Mutex<()>>) {
    let (provider, gate) = (Provider::start(), Arc::new(Mutex::new(())));
    let model_gate = Arc::clone(&gate);
    provider.inject_faults(move || {
        drop(model_gate.lock());
        None
    });
    (provider, gate)
}

#[test]
fn a_committed_message_is_not_committed_again_after_a_kill() {
    for kill_point in ["killafter rename refs/heads/main 1", "killafter rename /state 1"] {
        assert_committed_once_after_kill(kill_point);
    }
}

/// Kills the server after it committed a message, sends a direct write during the next start, and checks that the message
/// is in git once.
fn assert_committed_once_after_kill(kill_point: &str) {
    let watched = WatchedData::new();
    let mut server = watched.start();
    server.settle("default");
    wait_for("the record", || recorded_memories(&server, "default") == Some(1));
    watched.disk.set_rules(&[kill_point]);
    let texts: Vec<String> =
        (0..LONG_CONVERSATION).map(|n| format!("Shelf {n} of the archive carries jar number {}", n * 7)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let id = server.remember("default", &texts);
    wait_for("the server to end", || server.has_ended());
    server.kill();

    // The direct write arrives while the namespace is opened, so it is committed before the message is retried.
    watched.disk.set_rules(&["slow open indexes/ 200", "slow rename /state 300"]);
    let server = watched.start();
    write(&server, "facts/first.md", "# The first write after the start\n");
    watched.disk.set_rules(&[]);
    server.settle("default");
    let committed = committed_messages(&server.repository("default"));
    assert!(committed.contains(&id), "{kill_point}: {id} is not in git");
    // The undisturbed namespace has one marker memory; `default` has two of them and the direct write.
    server.namespace("twin");
    server.remember("twin", &texts);
    server.settle("twin");
    wait_for_empty_queue(&server);
    let undisturbed = recorded_memories(&server, "twin").expect("a record");
    assert!(undisturbed > LONG_CONVERSATION as u64 / 2, "{undisturbed} memories");
    assert_eq!(recorded_memories(&server, "default"), Some(undisturbed + 2), "{kill_point}");
}

#[test]
fn a_body_repeated_after_its_write_died_is_a_new_write() {
    let provider = Provider::start();
    let (_folder, data) = fresh();
    let settings = format!("{}timeout_ms = 2000\n[ingestion]\nretries = 0\n", provider.chat_settings());
    let server = Server::start_with_models(&data, &settings);
    provider.chat_fault(Some(Fault::WrongShape));
    let first = server.remember("default", &["The vault code is kept by Marit"]);
    wait_for("the dead letter", || stdout(&data, &["dead-letters", "list"]).contains(&first));
    provider.chat_fault(None);
    let second = server.remember("default", &["The vault code is kept by Marit"]);
    assert_ne!(first, second, "the response names the dead letter");
    server.settle("default");
    assert_eq!(hits_with(&server, "vault+code", "Marit"), 1);
    // The second write is alive, so the same body once more is the same write.
    assert_eq!(server.remember("default", &["The vault code is kept by Marit"]), second);
}

#[test]
fn a_skill_repeated_after_a_direct_write_is_stored_again() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let skill =
        json!({"skills": [{"name": "Descale the kettle", "content": "Use vinegar.", "path": "skills/kettle.md"}]});
    let first = post_accepted(&server, "/v1/skills", &skill);
    wait_for("the skill", || holds(&server, "skills/kettle.md", "vinegar"));
    write(&server, "skills/kettle.md", "# Descale the kettle\n\nUse lemon juice.\n");
    assert_ne!(post_accepted(&server, "/v1/skills", &skill), first);
    server.settle("default");
    assert!(holds(&server, "skills/kettle.md", "vinegar"), "{}", content(&server, "skills/kettle.md"));
}

#[test]
fn a_conversation_repeated_after_a_direct_write_is_a_new_write() {
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
fn a_conversation_repeated_after_a_forget_is_a_new_write() {
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
fn a_skill_and_a_term_repeated_after_a_push_are_stored_again() {
    let (folder, server) = server_accepting_pushes();
    let skill = json!({"skills": [{"name": "Wax the skis", "content": "Use beeswax.", "path": "skills/skis.md"}]});
    let term = json!({"terms": [{"term": "Skadi", "definition": "Our oldest pair of skis."}]});
    let first = [post_accepted(&server, "/v1/skills", &skill), post_accepted(&server, "/v1/vocab", &term)];
    server.settle("default");
    let copy = WorkingCopy::of(&server, "default", &folder.path().join("copy"));
    copy.commit("skills/skis.md", "# Wax the skis\n\nUse paraffin.\n");
    copy.commit("vocab/skadi.md", "# Skadi\n\nA goddess.\n");
    assert!(copy.push());
    assert!(holds(&server, "skills/skis.md", "paraffin"));
    let second = [post_accepted(&server, "/v1/skills", &skill), post_accepted(&server, "/v1/vocab", &term)];
    assert!(first[0] != second[0] && first[1] != second[1], "{first:?} {second:?}");
    server.settle("default");
    assert!(holds(&server, "skills/skis.md", "beeswax"));
    let known = server.get("/v1/vocab?word=skadi").body["term"].clone();
    assert_eq!(known["definition"], "Our oldest pair of skis.", "{known}");
}

#[test]
fn a_body_repeated_after_unrelated_forgets_is_the_same_write() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    write(&server, "facts/stranger.md", "# A stranger's note\n");
    post_accepted(&server, "/v1/vocab", &json!({"terms": [{"term": "stranger"}]}));
    let said = "The night ferry takes the northern channel";
    let skill =
        json!({"skills": [{"name": "Moor the ferry", "content": "Two lines ashore.", "path": "skills/moor.md"}]});
    let term = json!({"terms": [{"term": "Lee", "definition": "The side away from the wind."}]});
    let send = || {
        [
            server.remember("default", &[said]),
            post_accepted(&server, "/v1/skills", &skill),
            post_accepted(&server, "/v1/vocab", &term),
        ]
    };
    let first = send();
    server.settle("default");
    forget(&server, "facts/stranger.md");
    forget(&server, "facts/never-written.md");
    assert_eq!(server.call("DELETE", "/v1/vocab?term=stranger,never-learned", None).status, 202);
    assert_eq!(send(), first, "repeated before the forgets were processed");
    server.settle("default");
    assert_eq!(send(), first, "repeated after the forgets were processed");
    server.settle("default");
    assert_eq!(hits_with(&server, "night+ferry", "northern channel"), 1);
}

#[test]
fn the_last_forget_or_direct_write_decides() {
    let (provider, gate) = blocked_model();
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, &provider.chat_settings());
    for path in ["facts/stays.md", "facts/goes.md"] {
        write(&server, path, "# The earlier text\n");
    }
    let closed = gate.lock();
    server.remember("default", &["The barge waits below the lock"]);
    forget(&server, "facts/stays.md");
    write(&server, "facts/stays.md", "# The later text\n");
    forget(&server, "facts/goes.md");
    write(&server, "facts/goes.md", "# The later text\n");
    forget(&server, "facts/goes.md");
    // A path that did not exist when it was forgotten.
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
fn a_direct_write_after_a_forget_survives_a_kill() {
    let (provider, gate) = blocked_model();
    let (_folder, data) = fresh();
    let settings = provider.chat_settings();
    let server = Server::start_with_models(&data, &settings);
    write(&server, "facts/p.md", "# The earlier text\n");
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
fn a_queued_skill_does_not_overwrite_a_later_direct_write() {
    let (provider, gate) = blocked_model();
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, &provider.chat_settings());
    let closed = gate.lock();
    server.remember("default", &["The crane lifts the last crate ashore"]);
    let skills = json!([
        {"name": "Oil the crane", "content": "Once a month.", "path": "skills/crane.md"},
        {"name": "Paint the crane", "content": "Once a year.", "path": "skills/paint.md"},
    ]);
    post_accepted(&server, "/v1/skills", &json!({"skills": skills}));
    write(&server, "skills/crane.md", "# Oil the crane\n\nOnce a week.\n");
    drop(closed);
    server.settle("default");
    assert!(holds(&server, "skills/crane.md", "Once a week."), "{}", content(&server, "skills/crane.md"));
    assert!(holds(&server, "skills/paint.md", "Once a year."), "the other skill of the request is stored");
}

#[test]
fn a_queued_forget_does_not_remove_a_later_push() {
    let (provider, gate) = blocked_model();
    let (folder, data) = fresh();
    let settings = format!("{}[git]\naccept_push = true\n", provider.chat_settings());
    let server = Server::start_with_models(&data, &settings);
    write(&server, "facts/p.md", "# The earlier text\n");
    let copy = WorkingCopy::of(&server, "default", &folder.path().join("copy"));
    let closed = gate.lock();
    server.remember("default", &["The pilot boards at the outer buoy"]);
    forget(&server, "facts/p.md");
    copy.commit("facts/p.md", "# The pushed text\n");
    assert!(copy.push());
    drop(closed);
    server.settle("default");
    assert!(holds(&server, "facts/p.md", "The pushed text"), "{}", content(&server, "facts/p.md"));
}

/// A write that is repeated during reads. Takes the dashboard session and the number of the write.
type ConcurrentWrite = fn(&Server, &str, usize);

/// Reads that waited for the disk.
#[derive(Default)]
struct SlowReads {
    waited: Duration,
    descriptions: Vec<String>,
}

impl SlowReads {
    /// Records a read that took at least half as long as a call to the slow disk.
    fn record(&mut self, read: &str, took: Duration, disk_delay: Duration) {
        if took * 2 >= disk_delay {
            self.waited += took;
            self.descriptions.push(format!("{read}: {took:.0?}"));
        }
    }
}

/// Stores one item of every kind and returns the paths of reads that must succeed.
fn readable_paths(server: &Server) -> Vec<String> {
    server.remember("default", &["The lighthouse keeper is called Agatha"]);
    server.settle("default");
    write(server, "facts/a.md", "# A note\n");
    let conversation = server.post("/v1/conversations", &json!({"title": "Talk"}));
    let media = server.post("/v1/media", &json!("bytes"));
    let paths = vec![
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
        format!("/v1/conversations/{}", text_field(&conversation, "id")),
        format!("/v1/media/{}", text_field(&media, "id")),
    ];
    for path in &paths {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    paths
}

/// Times reads on a disk with fault rules while each writer writes on its own thread. Fails if the reads spend more than
/// a fifth of the time waiting for the disk.
fn assert_reads_do_not_wait(rules: &[&str], disk_delay: Duration, writers: &[ConcurrentWrite]) {
    let watched = WatchedData::new();
    let server = watched.start();
    let session = stdout(&watched.data, &["token"]);
    let paths = readable_paths(&server);
    // Keys whose first request arrives while the disk is slow.
    let mut unused_keys: Vec<String> =
        (0..SLOW_WRITES).map(|_| stdout(&watched.data, &["keys", "create", "--namespace", "default"])).collect();

    watched.disk.set_rules(rules);
    let (stop, written) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut slow = SlowReads::default();
    let began = Instant::now();
    std::thread::scope(|scope| {
        let _stop = SetOnDrop(&stop);
        for (number, write_once) in writers.iter().enumerate() {
            let (server, session, stop, written) = (&server, session.as_str(), &stop, &written);
            scope.spawn(move || {
                let mut turn = number;
                while !stop.load(Ordering::SeqCst) {
                    write_once(server, session, turn);
                    written.fetch_add(1, Ordering::SeqCst);
                    turn += writers.len();
                }
            });
        }
        while written.load(Ordering::SeqCst) < SLOW_WRITES && began.elapsed() < TIMED_READS_MAX {
            for path in &paths {
                let sent = Instant::now();
                assert_eq!(server.get(path).status, 200, "{path}");
                slow.record(path, sent.elapsed(), disk_delay);
            }
            if let Some(key) = unused_keys.pop() {
                let sent = Instant::now();
                assert_eq!(server.call_as(&key, "GET", "/v1/whoami", None).status, 200);
                slow.record("a key's first request", sent.elapsed(), disk_delay);
            }
        }
        // Writes in flight end soon on the fast disk.
        watched.disk.set_rules(&[]);
    });
    let (took, waited) = (began.elapsed(), slow.waited);
    assert!(waited < took / 5, "{waited:.0?} of {took:.0?} were spent waiting: {:?}", slow.descriptions);
}

/// Returns the disk rule that delays every sync.
fn slow_sync() -> String {
    format!("slow sync * {}", SLOW_SYNC.as_millis())
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
fn reads_do_not_wait_for_syncs_of_new_namespaces() {
    assert_reads_do_not_wait(&[&slow_sync()], SLOW_SYNC, &[make_namespace, make_namespace]);
}

#[test]
fn reads_do_not_wait_for_syncs_of_new_keys() {
    assert_reads_do_not_wait(&[&slow_sync()], SLOW_SYNC, &[make_key, make_key]);
}

#[test]
fn reads_do_not_wait_for_syncs_of_conversations() {
    assert_reads_do_not_wait(&[&slow_sync()], SLOW_SYNC, &[post_conversation, manage_conversation]);
}

#[test]
fn reads_do_not_wait_for_syncs_of_direct_writes_and_uploads() {
    assert_reads_do_not_wait(&[&slow_sync()], SLOW_SYNC, &[write_directly, upload]);
}

#[test]
fn reads_continue_while_the_disk_hangs() {
    let hang_ms = HANG.as_millis();
    let (sync, writes) = (format!("slow sync data/ {hang_ms}"), format!("slow write data/ {hang_ms}"));
    assert_reads_do_not_wait(&[&sync, &writes], HANG, &[post_conversation, make_namespace]);
}

#[test]
fn reads_continue_while_the_disk_fails_every_change() {
    let watched = WatchedData::new();
    let server = watched.start();
    server.remember("default", &["The lighthouse keeper is called Agatha"]);
    server.settle("default");
    write(&server, "facts/a.md", "# A note\n");
    watched.disk.set_rules(&[
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
fn failing_reads_report_storage_unavailable() {
    let watched = WatchedData::new();
    let server = watched.start();
    server.remember("default", &["The lighthouse keeper is called Agatha"]);
    server.settle("default");
    write(&server, "facts/a.md", "# A note\n");
    watched.disk.set_rules(&[
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
            let is_explained = read.body.to_string().contains("storage_unavailable") && read.retry_after.is_some();
            assert!(read.status == 200 || (read.status == 503 && is_explained), "{path}: {read:?}");
        }
    }
    watched.disk.set_rules(&[]);
    wait_for("the service to recover", || {
        server.retrieve("default", "q=lighthouse").body.to_string().contains("Agatha")
    });
}

/// Returns a text field of a response.
fn text_field(answer: &Answer, field: &str) -> String {
    answer.body[field].as_str().expect("text").to_owned()
}

/// Creates one object of every kind and returns the ids in the order of creation.
fn new_ids(server: &Server, mark: &str) -> Vec<String> {
    let mut found = vec![server.remember("default", &[&format!("The {mark} anchor was weighed")])];
    found.push(post_accepted(server, "/v1/vocab", &json!({"terms": [{"term": format!("anchor {mark}")}]})));
    let made = server.post("/v1/conversations", &json!({"title": mark}));
    let path = format!("/v1/conversations/{}/messages", text_field(&made, "id"));
    found.push(text_field(&made, "id"));
    let message = json!({"messages": [{"role": "system", "content": format!("The {mark} watch begins")}]});
    found.push(server.post(&path, &message).body["ids"][0].as_str().expect("an id").to_owned());
    found.push(text_field(&server.post("/v1/media", &json!(mark)), "id"));
    found
}

#[test]
fn ids_sort_by_creation_after_the_clock_went_back() {
    for killed in [false, true] {
        let watched = WatchedData::new();
        watched.disk.set_rules(&[&format!("clock - - {FAR_AHEAD}")]);
        let server = watched.start();
        let before = new_ids(&server, "former");
        assert!(before.is_sorted(), "{before:?}");
        // The next start must not learn the greatest id from queued messages, so the queue is emptied first.
        server.settle("default");
        wait_for_empty_queue(&server);
        if killed {
            server.kill();
        } else {
            assert!(server.terminate());
        }
        watched.disk.set_rules(&[]);
        let server = watched.start();
        let after = new_ids(&server, "later");
        let (newest, oldest) = (before.iter().max(), after.iter().min());
        assert!(newest < oldest, "killed: {killed}: {before:?} {after:?}");
        assert!(after.is_sorted(), "{after:?}");
    }
}

#[test]
fn usage_of_a_month_is_unchanged_after_clock_jumps() {
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
        watched.disk.set_rules(&[&format!("clock - - {jump}")]);
        for _ in 0..5 {
            server.retrieve("default", "q=anything");
        }
        let other = usage();
        assert_ne!(other["period"], before["period"]);
        assert_eq!(other["used"]["reads"], 5, "{other}");
        watched.disk.set_rules(&[]);
        assert_eq!(usage(), before, "after a clock jump of {jump} s");
    }
    server.kill();
    let server = watched.start();
    assert_eq!(server.get("/v1/usage").body["used"]["reads"], before["used"]["reads"], "after a start");
}

/// Creates a conversation and returns its path.
fn new_conversation(server: &Server) -> String {
    let made = server.post("/v1/conversations", &json!({}));
    format!("/v1/conversations/{}", text_field(&made, "id"))
}

/// Returns the median duration of appends to a conversation.
fn median_append(server: &Server, conversation: &str) -> Duration {
    let mut times = Vec::new();
    for turn in 0..APPENDS {
        let message = json!({"messages": [{"role": "system", "content": format!("Entry {turn}")}]});
        let sent = Instant::now();
        assert_eq!(server.post(&format!("{conversation}/messages"), &message).status, 201);
        times.push(sent.elapsed());
    }
    times.sort_unstable();
    times[times.len() / 2]
}

#[test]
fn an_append_does_not_wait_for_rewinds_of_other_conversations() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let (long, short) = (new_conversation(&server), new_conversation(&server));
    // Nothing is extracted from messages of the system.
    let messages: Vec<Value> = (0..LONG_CONVERSATION_MESSAGES)
        .map(|n| json!({"role": "system", "content": format!("Line {n} of the log")}))
        .collect();
    let sent = server.post(&format!("{long}/messages"), &json!({"messages": messages}));
    assert_eq!(sent.status, 201, "{sent:?}");
    let middle = sent.body["ids"][LONG_CONVERSATION_MESSAGES / 2].clone();
    server.settle("default");

    let undisturbed = median_append(&server, &short);
    let (stop, rewound) = (AtomicBool::new(false), AtomicUsize::new(0));
    let during_rewinds = std::thread::scope(|scope| {
        let _stop = SetOnDrop(&stop);
        for _ in 0..REWINDING_CLIENTS {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let answer = server.post(&format!("{long}/rewind"), &json!({"to": middle}));
                    assert_eq!(answer.status, 200, "{answer:?}");
                    rewound.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        wait_for("every client to rewind", || rewound.load(Ordering::SeqCst) >= REWINDING_CLIENTS);
        median_append(&server, &short)
    });
    println!("append: {undisturbed:.1?} undisturbed, {during_rewinds:.1?} with {REWINDING_CLIENTS} rewinding clients");
    let bound = undisturbed * 10 + Duration::from_millis(15);
    assert!(during_rewinds <= bound, "{during_rewinds:.1?} during rewinds, {undisturbed:.1?} undisturbed");
}

#[test]
fn concurrent_appends_and_rewinds_lose_no_message() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let at = new_conversation(&server);
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
    // Messages after the target of a rewind are on their own branch.
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
