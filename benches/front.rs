//! What the gateway, the router and hyper cost: a small answer through this server, beside the same bytes from a server
//! that only answers (may_minihttp), asked by the same client over one kept-alive connection.
//!
//! Command: `cargo bench --bench front`. Quote the ratio of one run; absolute times depend on the machine.

#![allow(missing_docs, reason = "a bench is read by its names")]

mod loopback;

use criterion::{Criterion, criterion_group, criterion_main};
use loopback::{Client, Floor, Server};

fn front(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("temporary directory");
    let server = Server::start(folder.path()).expect("the server starts");
    let mut ours = Client::connect(&server.address, &server.key).expect("connects");
    let whoami = ours.send("GET", "/v1/whoami", "").expect("answers").1;
    let floor = Floor::start(whoami).expect("the floor starts");
    let mut theirs = Client::connect(&floor.address, "none").expect("connects");
    let mut group = criterion.benchmark_group("front");
    let mut ask = |name: &str, client: &mut Client, path: &str| {
        group.bench_function(name, |bencher| {
            bencher.iter(|| assert_eq!(client.send("GET", path, "").expect("answers").0, 200));
        });
    };
    ask("floor: may_minihttp, the same bytes", &mut theirs, "/v1/whoami");
    ask("hyper and router alone: /health", &mut ours, "/health");
    ask("gateway, router, handler: /v1/whoami", &mut ours, "/v1/whoami");
    group.finish();
}

criterion_group!(benches, front);
criterion_main!(benches);
