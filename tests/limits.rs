//! More than the service can do at once, and a stop in the midst of it.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::provider::{Fault, Provider};
use crate::support::{Answer, Server, fresh, git, wait_for};

#[test]
fn beyond_the_ceiling_requests_are_told_to_come_back_and_health_is_still_told() {
    let provider = Provider::start();
    let (_folder, data) = fresh();
    // A direct write waits a moment for a model that hangs: that holds its place.
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
    // Whoever comes back is served.
    wait_for("a write", || server.post("/v1/memories/facts/late.md", &json!({"content": "# Late"})).status == 201);
    let tree = server.get("/v1/tree?path=facts").body["entries"].as_array().map_or(0, Vec::len);
    assert_eq!(tree, taken.len() + 1);
}

#[test]
fn a_stop_does_not_wait_for_a_model_that_hangs_and_the_write_goes_on_at_the_next_start() {
    let provider = Provider::start();
    let (_folder, data) = fresh();
    let settings = format!("{}[server]\nshutdown_ms = 500\n", provider.chat_settings());
    let server = Server::start_with_models(&data, &settings);
    provider.chat_fault(Some(Fault::Silence));
    let id = server.remember("default", &["The weighbridge closes at four"]);
    wait_for("the model to be asked", || provider.calls().silent > 0);
    let began = Instant::now();
    assert!(server.terminate());
    // The model would be waited for a minute.
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    let server = Server::start(&data);
    server.settle("default");
    let hits = server.retrieve("default", "q=weighbridge").contents();
    assert!(hits.iter().any(|hit| hit.contains("four")), "{hits:?}");
    let log = git(&server.repository("default"), &["log", "--format=%B"]);
    assert_eq!(log.matches(&id).count(), 1, "{log}");
}

/// Far more than five workers and a few cores can do at once, from many clients: each is answered, and what was accepted
/// is there.
#[test]
fn many_clients_with_more_than_can_be_done_lose_nothing_that_was_accepted() {
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
    wait_for("the last one", || {
        let last = accepted.last().expect("one");
        server.retrieve("default", &format!("q={last}&limit=3")).contents().iter().any(|hit| hit.contains(last))
            && server.get("/v1/namespaces").body["namespaces"][0]["memories"] == accepted.len()
    });
}

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn the_heap_has_no_more_parts_than_there_are_processors() {
    // The C library puts each part but the first at a multiple of its greatest size.
    const PART_BYTES: usize = 64 << 20;
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
    let begins = mapped.lines().filter(|line| line.contains("rw-p 00000000 00:00 0")).map(|line| {
        let begin = line.split('-').next().unwrap_or_default();
        usize::from_str_radix(begin, 16).expect("an address")
    });
    let parts = 1 + begins.filter(|begin| begin.is_multiple_of(PART_BYTES)).count();
    let processors = std::thread::available_parallelism().expect("is known").get();
    // Something else may lie at such a place by chance.
    assert!(parts <= processors + 2, "{parts} parts");
}
