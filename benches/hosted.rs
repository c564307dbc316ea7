//! What a hosted embedding model adds to a retrieval beside its own time: `cargo bench --bench hosted`.
//!
//! Two real servers, one with the built-in model and one with an imitated provider on this machine, are asked the same
//! questions in turns, and the provider is asked the same directly. No question is asked twice, so that none is remembered.

#![allow(missing_docs, reason = "a bench is read by its output")]
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
    let places = [fresh(), fresh()];
    let built_in = Server::start_with_models(&places[0].1, "");
    let hosted = Server::start_with_models(&places[1].1, &provider.embedding_settings());
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
        let timed = |work: &dyn Fn()| {
            let began = Instant::now();
            work();
            began.elapsed()
        };
        let ask = |server: &Server| assert_eq!(server.retrieve("default", &query).hits().len(), 24);
        let direct = || {
            let body =
                json!({"model": "imitation", "input": [question], "encoding_format": "float", "dimensions": 1024});
            let response = client.post(format!("{}/embeddings", provider.url)).json(&body).send().expect("an answer");
            let _: Value = response.json().expect("JSON");
        };
        let taken = [timed(&|| ask(&built_in)), timed(&|| ask(&hosted)), timed(&direct)];
        // The first ones warm everything up.
        if number >= 20 {
            times.iter_mut().zip(taken).for_each(|(times, taken)| times.push(taken));
        }
    }
    let middle = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e3
    };
    let [built_in, hosted, provider] = &mut times;
    let (built_in, hosted, provider) = (middle(built_in), middle(hosted), middle(provider));
    println!("a retrieval with the built-in model {built_in:.2} ms, with the hosted one {hosted:.2} ms (p50)");
    println!(
        "the provider by itself {provider:.2} ms; added beside its own time {:.2} ms",
        hosted - built_in - provider
    );
}
