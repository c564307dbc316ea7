//! Memory use with many namespaces, many connections and a long queue, also after a restart.
//!
//! The suite runs at a small size. `CUEBASE_CEILING="10000 1000 1000000"` sets the numbers of namespaces, connections
//! and messages. The results of such a run are in `docs/durability.md`.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;

use crate::support::provider::{Fault, Provider};
use crate::support::{Server, fresh, metrics, metrics_address, sample, wait_for};

/// Memory of an idle server, and the caches and pools of a busy one.
const FIXED_BYTES: u64 = 384 << 20;
/// Memory per namespace that is not open, per connection, and per queued message.
const BYTES_EACH: [u64; 3] = [2 << 10, 128 << 10, 128];

/// Concurrent clients.
const CLIENTS: u64 = 16;

/// Returns the numbers of namespaces, connections and messages.
fn sizes() -> [u64; 3] {
    let text = std::env::var("CUEBASE_CEILING").unwrap_or_else(|_| "120 100 4000".into());
    let sizes: Vec<u64> = text.split(' ').map(|number| number.parse().expect("three numbers")).collect();
    sizes.try_into().expect("three numbers")
}

/// Calls a function with each number below `count`, on several threads.
fn for_each(count: u64, act: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    if number >= count {
                        return;
                    }
                    act(number);
                }
            });
        }
    });
}

fn print_memory(server: &Server, after: &str) {
    println!("{after}: {} MiB now, {} MiB peak", server.resident_bytes() >> 20, server.peak_bytes() >> 20);
}

#[test]
fn memory_stays_below_its_ceiling_also_after_a_restart() {
    let [namespaces, connections, messages] = sizes();
    let provider = Provider::start();
    let (_folder, data) = fresh();
    let (address, url) = metrics_address();
    let timeouts = "header_timeout_ms = 3600000\nbody_timeout_ms = 3600000\n";
    let settings = format!(
        "{}timeout_ms = 3600000\n[server]\nshutdown_ms = 500\n{timeouts}[metrics]\nlisten = '{address}'\n[rate_limit]\nrequests_per_minute = 0\n",
        provider.chat_settings()
    );
    // The model never responds, so no message leaves the queue.
    provider.chat_fault(Some(Fault::Silence));
    let mut server = Server::start_with_models(&data, &settings);
    print_memory(&server, "idle");
    for_each(namespaces, |n| {
        server.namespace(&format!("n{n}"));
        let body = json!({"namespace": format!("n{n}"), "content": format!("# Ledger {n}\n\nEntry {n} was made.")});
        assert_eq!(server.post("/v1/memories/facts/ledger.md", &body).status, 201);
    });
    print_memory(&server, "namespaces");
    let held: Vec<TcpStream> = (0..connections)
        .map(|n| {
            let mut stream = TcpStream::connect(server.url.trim_start_matches("http://")).expect("connects");
            let head = format!("POST /v1/memories HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n", server.key);
            let sent = match n % 3 {
                0 => String::new(),
                1 => head,
                _ => format!("{head}content-length: 100000\r\n\r\n{}", " ".repeat(60_000)),
            };
            stream.write_all(sent.as_bytes()).expect("sends");
            stream
        })
        .collect();
    print_memory(&server, "connections");
    for_each(messages, |n| {
        let text = format!("The {n}th parcel was weighed, sealed and sent on to the harbour");
        server.remember(&format!("n{}", n % namespaces), &[&text]);
    });
    for_each(200, |n| {
        let namespace = format!("n{}", n * 7 % namespaces);
        let hits = server.retrieve(&namespace, "q=which+entry").contents();
        assert!(hits.iter().any(|hit| hit.contains("was made")), "{hits:?}");
    });
    print_memory(&server, "messages");
    assert_eq!(sample(&metrics(&url), "cuebase_queue_messages "), messages as f64);
    let each_bytes: u64 = [namespaces, connections, messages].iter().zip(BYTES_EACH).map(|(n, bytes)| n * bytes).sum();
    let ceiling = FIXED_BYTES + each_bytes;
    assert!(server.peak_bytes() < ceiling, "{} MiB of {}", server.peak_bytes() >> 20, ceiling >> 20);

    drop(held);
    assert!(server.terminate());
    server = Server::start_with_models(&data, &settings);
    print_memory(&server, "after the restart");
    assert_eq!(sample(&metrics(&url), "cuebase_queue_messages "), messages as f64);
    assert!(server.peak_bytes() < ceiling, "{} MiB of {}", server.peak_bytes() >> 20, ceiling >> 20);
    // With the built-in extractor the server ingests the queue.
    assert!(server.terminate());
    let _server = Server::start_configured(&data, &format!("[metrics]\nlisten = '{address}'\n"));
    wait_for("the queue to become shorter", || sample(&metrics(&url), "cuebase_queue_messages ") < messages as f64);
}
