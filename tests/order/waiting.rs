//! Which requests wait for which: reads do not wait for the disk of writes, and appends do not wait for rewinds of
//! other conversations.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{memory_at, text_field, write};
use crate::support::disk::WatchedData;
use crate::support::{Answer, Server, SetOnDrop, fresh, stdout, wait_for};

/// Duration of a sync on the slow disk.
const SLOW_SYNC: Duration = Duration::from_millis(300);
/// Duration of a sync or a write on the hanging disk.
const HANG: Duration = Duration::from_millis(1500);
/// Concurrent writes after which the timing of reads ends.
const SLOW_WRITES: usize = 12;
/// Longest time for which reads are timed.
const TIMED_READS_MAX: Duration = Duration::from_secs(5);
/// Measurements at most; one within its limit is enough. A busy machine can hold up the requests of one measurement. A
/// request that waits for another one does so in each.
const MEASUREMENTS_MAX: usize = 3;
/// Messages in a conversation that takes long to read.
const LONG_CONVERSATION_MESSAGES: usize = 20_000;
/// Appends per measurement.
const APPENDS: usize = 40;
/// Clients that rewind concurrently with the appends.
const REWINDING_CLIENTS: usize = 4;

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
        "/v1/billing".to_owned(),
        "/v1/queue".to_owned(),
        "/v1/sources".to_owned(),
        "/v1/documents".to_owned(),
        "/v1/writes".to_owned(),
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
/// a fifth of the time waiting for the disk, in each measurement.
fn assert_reads_do_not_wait(rules: &[&str], disk_delay: Duration, writers: &[ConcurrentWrite]) {
    let mut failures = Vec::new();
    for _ in 0..MEASUREMENTS_MAX {
        let (took, slow) = time_reads(rules, disk_delay, writers);
        let waited = slow.waited;
        if waited < took / 5 {
            return;
        }
        failures.push(format!("{waited:.0?} of {took:.0?} were spent waiting: {:?}", slow.descriptions));
    }
    panic!("{}", failures.join("\n"));
}

/// Times reads during writes on a new server. Returns how long that took, and the reads that waited.
fn time_reads(rules: &[&str], disk_delay: Duration, writers: &[ConcurrentWrite]) -> (Duration, SlowReads) {
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
    (began.elapsed(), slow)
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

fn delete_namespace(server: &Server, session: &str, turn: usize) {
    let name = format!("deleted-{turn}");
    server.namespace(&name);
    let path = format!("/v1/memories/facts/note.md?namespace={name}");
    assert_eq!(server.post(&path, &json!({"content": "# A note\n"})).status, 201);
    let deleted = server.call_as(session, "DELETE", &format!("/v1/namespaces/{name}"), None);
    assert_eq!(deleted.status, 200, "{deleted:?}");
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
fn reads_do_not_wait_for_deletions_of_namespaces() {
    assert_reads_do_not_wait(&[&slow_sync()], SLOW_SYNC, &[delete_namespace, delete_namespace]);
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

#[test]
fn a_file_system_that_was_shut_down_is_reported_as_unavailable_storage() {
    let watched = WatchedData::new();
    let server = watched.start();
    server.remember("default", &["The lighthouse keeper is called Agatha"]);
    server.settle("default");
    write(&server, "facts/a.md", "# A note\n");
    let media = text_field(&server.post("/v1/media", &json!("bytes")), "id");
    // Not even names and lists can be read, which must not be taken for missing files.
    let refused = ["look", "read", "open", "write", "sync", "rename", "mkdir", "unlink"];
    let rules = refused.map(|operation| format!("eio {operation} data/ 0"));
    watched.disk.set_rules(&rules.each_ref().map(String::as_str));
    let is_unavailable = |answer: &Answer| {
        answer.status == 503 && answer.body.to_string().contains("storage_unavailable") && answer.retry_after.is_some()
    };
    let media_path = format!("/v1/media/{media}");
    for _ in 0..2 {
        for (path, body) in [
            ("/v1/memories", json!({"messages": [{"role": "user", "content": "Nothing is kept"}]})),
            ("/v1/memories/facts/b.md", json!({"content": "# Another note\n"})),
            ("/v1/media", json!("other bytes")),
        ] {
            let answer = server.post(path, &body);
            assert!(is_unavailable(&answer), "{path}: {answer:?}");
        }
        for path in
            ["/v1/retrieve?q=lighthouse", "/v1/memories/facts/a.md?detail=full", "/v1/tree", media_path.as_str()]
        {
            let read = server.get(path);
            assert!(read.status == 200 || is_unavailable(&read), "{path}: {read:?}");
        }
    }
    watched.disk.set_rules(&[]);
    wait_for("the service to recover", || {
        let body = json!({"content": "# Another note\n"});
        matches!(server.post("/v1/memories/facts/b.md", &body).status, 200 | 201)
    });
    assert!(server.retrieve("default", "q=lighthouse").body.to_string().contains("Agatha"));
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

/// Returns the median duration of appends to the conversation `short` while clients rewind the conversation `long`.
fn median_append_during_rewinds(server: &Server, short: &str, long: &str, to: &Value) -> Duration {
    let (stop, rewound) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let _stop = SetOnDrop(&stop);
        for _ in 0..REWINDING_CLIENTS {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let answer = server.post(&format!("{long}/rewind"), &json!({"to": to}));
                    assert_eq!(answer.status, 200, "{answer:?}");
                    rewound.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        wait_for("every client to rewind", || rewound.load(Ordering::SeqCst) >= REWINDING_CLIENTS);
        median_append(server, short)
    })
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

    let mut failures = Vec::new();
    for _ in 0..MEASUREMENTS_MAX {
        let undisturbed = median_append(&server, &short);
        let during_rewinds = median_append_during_rewinds(&server, &short, &long, &middle);
        println!(
            "append: {undisturbed:.1?} undisturbed, {during_rewinds:.1?} with {REWINDING_CLIENTS} rewinding clients"
        );
        if during_rewinds <= undisturbed * 10 + Duration::from_millis(15) {
            return;
        }
        failures.push(format!("{during_rewinds:.1?} during rewinds, {undisturbed:.1?} undisturbed"));
    }
    panic!("{}", failures.join("\n"));
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
