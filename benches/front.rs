//! The cost of the gateway, the router and hyper: a small response of this server compared with the same bytes from a
//! minimal server (may_minihttp). The same client requests both over one keep-alive connection.
//!
//! Command: `cargo bench --bench front`. Quote the ratio of one run, because absolute times depend on the machine.

#![allow(missing_docs, reason = "a bench is documented by its names")]

mod loopback;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use loopback::{Client, Floor, Server};

fn front(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("temporary directory");
    let server = Server::start(folder.path()).expect("the server starts");
    let mut ours = Client::connect(&server.address, &server.key).expect("connects");
    let whoami = ours.send("GET", "/v1/whoami", "").expect("answers").1;
    let floor = Floor::start(whoami).expect("the floor starts");
    let mut theirs = Client::connect(&floor.address, "none").expect("connects");
    let mut group = criterion.benchmark_group("front");
    measure(&mut group, "floor: may_minihttp, the same bytes", &mut theirs, "/v1/whoami");
    measure(&mut group, "hyper and router alone: /health", &mut ours, "/health");
    measure(&mut group, "gateway, router, handler: /v1/whoami", &mut ours, "/v1/whoami");
    group.finish();
}

fn measure(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, client: &mut Client, path: &str) {
    group.bench_function(name, |bencher| {
        bencher.iter(|| assert_eq!(client.send("GET", path, "").expect("answers").0, 200));
    });
}

criterion_group!(benches, front);
criterion_main!(benches);
