//! The overhead of a hosted embedding model in a retrieval, without the duration of the model call itself:
//! `cargo bench --bench hosted`.
//!
//! Two real servers receive the same questions alternately: one with the built-in model, one with an imitated provider
//! on the same machine. The same texts are also sent to the provider directly. No question is repeated, so none is
//! cached.

#![allow(clippy::disallowed_types, reason = "benches are HTTP clients")]
#![allow(missing_docs, reason = "a bench is documented by its output")]
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

#[path = "../tests/support/mod.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod support;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::provider::Provider;
use support::{Server, fresh, wait_for};

const MEMORIES: usize = 2000;
const QUESTIONS: usize = 400;

fn main() {
    let provider = Provider::start();
    let folders = [fresh(), fresh()];
    let built_in = Server::start_with_models(&folders[0].1, "");
    let hosted = Server::start_with_models(&folders[1].1, &provider.embedding_settings());
    for server in [&built_in, &hosted] {
        for part in 0..MEMORIES / 100 {
            let texts: Vec<String> =
                (0..100).map(|n| format!("Locker {} belongs to rower {n} of crew {part}", part * 100 + n)).collect();
            server.remember("default", &texts.iter().map(String::as_str).collect::<Vec<_>>());
        }
        wait_for("the memories", || {
            let listed = server.get("/v1/namespaces").body["namespaces"].clone();
            listed[0]["memories"].as_u64() == Some(MEMORIES as u64)
        });
    }
    let client = reqwest::blocking::Client::builder().tcp_nodelay(true).build().expect("a client");
    let mut times: [Vec<Duration>; 3] = Default::default();
    for number in 0..QUESTIONS + 20 {
        let question = format!("Whose locker is number {number} then?");
        let query = format!("q=Whose+locker+is+number+{number}+then");
        let durations = [
            time_retrieval(&built_in, &query),
            time_retrieval(&hosted, &query),
            time_embedding(&client, &provider, &question),
        ];
        // The first questions only warm the caches.
        if number >= 20 {
            times.iter_mut().zip(durations).for_each(|(times, duration)| times.push(duration));
        }
    }
    let [built_in, hosted, provider] = times.map(median_ms);
    println!("a retrieval with the built-in model {built_in:.2} ms, with the hosted one {hosted:.2} ms (p50)");
    println!(
        "the provider alone {provider:.2} ms; overhead without the provider's time {:.2} ms",
        hosted - built_in - provider
    );
}

fn time_retrieval(server: &Server, query: &str) -> Duration {
    let began = Instant::now();
    assert_eq!(server.retrieve("default", query).hits().len(), 24);
    began.elapsed()
}

fn time_embedding(client: &reqwest::blocking::Client, provider: &Provider, text: &str) -> Duration {
    let began = Instant::now();
    let body = json!({"model": "imitation", "input": [text], "encoding_format": "float", "dimensions": 1024});
    let response = client.post(format!("{}/embeddings", provider.url)).json(&body).send().expect("a response");
    let _: Value = response.json().expect("JSON");
    began.elapsed()
}

fn median_ms(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}
