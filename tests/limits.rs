//! Overload: more requests than the server can handle at once, and a stop during a request.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::provider::{Fault, Provider};
use crate::support::{Answer, Server, fresh, git, wait_for};

#[test]
fn requests_above_the_limit_get_503_and_health_is_answered() {
    let provider = Provider::start();
    let (_folder, data) = fresh();
    // A direct write waits for the model up to the deadline and occupies its request slot for that time.
    let settings = format!("{}embedding_deadline_ms = 2000\n[server]\nrequests = 2\n", provider.embedding_settings());
    let server = Server::start_with_models(&data, &settings);
    provider.embedding_fault(Some(Fault::Silence));
    let together = Barrier::new(8);
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let writes: Vec<_> = (0..8)
            .map(|n| {
                let (server, together) = (&server, &together);
                scope.spawn(move || {
                    together.wait();
                    server.post(&format!("/v1/memories/facts/{n}.md"), &json!({"content": format!("# Weir {n}")}))
                })
            })
            .collect();
        assert_eq!(server.request("GET", "/health", None, None).status, 200);
        writes.into_iter().map(|write| write.join().expect("no panic")).collect()
    });
    let (taken, refused): (Vec<&Answer>, Vec<&Answer>) = answers.iter().partition(|answer| answer.status == 201);
    assert!(taken.len() >= 2 && !refused.is_empty(), "{answers:?}");
    for answer in refused {
        assert_eq!((answer.status, answer.retry_after.as_deref()), (503, Some("1")), "{answer:?}");
        assert_eq!(answer.body, json!({"message": "Service Unavailable"}));
    }
    // A later request is served.
    wait_for("a write", || server.post("/v1/memories/facts/late.md", &json!({"content": "# Late"})).status == 201);
    let tree = server.get("/v1/tree?path=facts").body["entries"].as_array().map_or(0, Vec::len);
    assert_eq!(tree, taken.len() + 1);
}

#[test]
fn a_stop_does_not_wait_for_a_hanging_model() {
    let provider = Provider::start();
    let (_folder, data) = fresh();
    let settings = format!("{}[server]\nshutdown_ms = 500\n", provider.chat_settings());
    let server = Server::start_with_models(&data, &settings);
    provider.chat_fault(Some(Fault::Silence));
    let id = server.remember("default", &["The weighbridge closes at four"]);
    wait_for("the model to be asked", || provider.calls().silent > 0);
    let began = Instant::now();
    assert!(server.terminate());
    // The timeout of the model is one minute.
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    let server = Server::start(&data);
    server.settle("default");
    let hits = server.retrieve("default", "q=weighbridge").contents();
    assert!(hits.iter().any(|hit| hit.contains("four")), "{hits:?}");
    let log = git(&server.repository("default"), &["log", "--format=%B"]);
    assert_eq!(log.matches(&id).count(), 1, "{log}");
}

/// Many clients send far more than the workers and processors can handle. Each request is answered, and every accepted
/// write is ingested.
#[test]
fn many_overloading_clients_lose_no_accepted_write() {
    let (_folder, data) = fresh();
    let server = Server::start_configured(&data, "[server]\nrequests = 4\n");
    let accepted: Vec<String> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..40)
            .map(|client| {
                let server = &server;
                scope.spawn(move || {
                    let mut accepted = Vec::new();
                    for n in 0..15 {
                        let token = format!("sluice{client}x{n}y");
                        let text = format!("The gate {token} was raised");
                        let body: Value = json!({"messages": [{"role": "user", "content": text}]});
                        let answer = server.post("/v1/memories", &body);
                        match answer.status {
                            202 => accepted.push(token),
                            503 => assert!(answer.retry_after.is_some(), "{answer:?}"),
                            _ => panic!("{answer:?}"),
                        }
                    }
                    accepted
                })
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().expect("no panic")).collect()
    });
    assert!(!accepted.is_empty());
    wait_for("the last accepted write", || {
        let last = accepted.last().expect("one");
        server.retrieve("default", &format!("q={last}&limit=3")).contents().iter().any(|hit| hit.contains(last))
            && server.get("/v1/namespaces").body["namespaces"][0]["memories"] == accepted.len()
    });
}

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn the_heap_has_at_most_one_arena_per_processor() {
    // The C library places each arena except the first at a multiple of the maximum size of a heap.
    const HEAP_BYTES_MAX: usize = 64 << 20;
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    server.remember("default", &["The barge took on forty sacks of barley"]);
    server.settle("default");
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| assert_eq!(server.retrieve("default", "q=barley&detail=full").status, 200));
        }
    });
    let mapped = std::fs::read_to_string(format!("/proc/{}/maps", server.pid())).expect("reads");
    let starts = mapped.lines().filter(|line| line.contains("rw-p 00000000 00:00 0")).map(|line| {
        let start = line.split('-').next().unwrap_or_default();
        usize::from_str_radix(start, 16).expect("an address")
    });
    let arenas = 1 + starts.filter(|start| start.is_multiple_of(HEAP_BYTES_MAX)).count();
    let processors = std::thread::available_parallelism().expect("a number of processors").get();
    // Other mappings may be at such an address by coincidence.
    assert!(arenas <= processors + 2, "{arenas} arenas");
}
