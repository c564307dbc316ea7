//! A real server over HTTP: how long from `202` to retrievable, and retrievals with 1 and 20 clients, beside the floor of
//! a server that only answers (may_minihttp, the same client, the same bytes).
//!
//! Corpus: 200 conversations of 10 messages, made here. Command: `cargo bench --bench http`. Absolute times depend on the
//! machine; quote the ratio to the floor of the same run.

#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

mod loopback;

use std::io;
use std::time::Instant;

use loopback::{Client, Floor, Server};

const CONVERSATIONS: usize = 200;
const REQUESTS: usize = 2000;
const FRESH_WRITES: usize = 50;
const SUBJECTS: [&str; 10] =
    ["garden", "violin", "harbour", "recipe", "marathon", "printer", "passport", "telescope", "choir", "kayak"];
const VERBS: [&str; 7] = ["repaired", "sold", "borrowed", "described", "painted", "lost", "measured"];

fn main() -> io::Result<()> {
    // `cargo test --benches` runs this with --test: nothing to measure then.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let server = Server::start(folder.path())?;
    let mut client = Client::connect(&server.address, &server.key)?;
    client.send("POST", "/v1/namespaces", "{\"name\":\"bench\"}")?;
    for n in 0..CONVERSATIONS {
        let message = |m: usize| format!("{{\"role\":\"user\",\"content\":\"{}\"}}", sentence(n * 10 + m));
        let messages: Vec<String> = (0..10).map(message).collect();
        client.send(
            "POST",
            "/v1/memories",
            &format!("{{\"namespace\":\"bench\",\"messages\":[{}]}}", messages.join(",")),
        )?;
    }
    // The backlog first: the last of the corpus is retrievable when all of it is.
    let last = format!("number+{}", CONVERSATIONS * 10 - 1);
    let began = Instant::now();
    while !String::from_utf8_lossy(&client.send("GET", &format!("/v1/retrieve?namespace=bench&q={last}"), "")?.1)
        .contains(&last.replace('+', " "))
    {}
    println!("{} messages ingested within {:.1} s of the last 202", CONVERSATIONS * 10, began.elapsed().as_secs_f64());
    let fresh = freshness(&mut client)?;
    println!("202 to retrievable, three messages, {FRESH_WRITES} times: {}", spread(fresh));

    let reply = client.send("GET", &query(1), "")?.1;
    let floor = Floor::start(reply)?;
    for clients in [1, 20] {
        let (ours, rate) = load(&server.address, &server.key, clients)?;
        let (theirs, floor_rate) = load(&floor.address, "none", clients)?;
        println!("retrieve, {clients} clients: {rate:.0} a second, {}", spread(ours));
        println!("  floor of the same bytes: {floor_rate:.0} a second, {}", spread(theirs));
    }
    Ok(())
}

fn sentence(n: usize) -> String {
    let subject = SUBJECTS[n % SUBJECTS.len()];
    format!("Neighbour {} {} the {subject} number {n} before the winter market", n % 37, VERBS[n % VERBS.len()])
}

fn query(n: usize) -> String {
    format!("/v1/retrieve?namespace=bench&q=who+{}+the+{}+of+neighbour+{}", VERBS[n % 7], SUBJECTS[n % 10], n % 37)
}

/// Milliseconds from the `202` until a retrieval returns the new memory, asking again and again.
fn freshness(client: &mut Client) -> io::Result<Vec<f64>> {
    let mut times = Vec::new();
    for n in 0..FRESH_WRITES {
        let token = format!("xylograph{n}z");
        let body = format!(
            "{{\"namespace\":\"bench\",\"messages\":[{{\"role\":\"user\",\"content\":\"Where is the {token} kept?\"}},{{\"role\":\"assistant\",\
             \"content\":\"The {token} is kept in the museum cellar.\"}},{{\"role\":\"user\",\"content\":\"I moved it there last Friday with Tom.\"}}]}}"
        );
        client.send("POST", "/v1/memories", &body)?;
        let began = Instant::now();
        loop {
            let (_, reply) = client.send("GET", &format!("/v1/retrieve?namespace=bench&limit=5&q={token}"), "")?;
            if String::from_utf8_lossy(&reply).contains(&token) {
                break;
            }
        }
        times.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(times)
}

/// Times of [`REQUESTS`] retrievals split over clients, and how many there were a second.
fn load(address: &str, key: &str, clients: usize) -> io::Result<(Vec<f64>, f64)> {
    let began = Instant::now();
    let results: Vec<io::Result<Vec<f64>>> = std::thread::scope(|scope| {
        let run = |client: usize| {
            let mut connection = Client::connect(address, key)?;
            let mut times = Vec::new();
            for n in 0..REQUESTS / clients {
                let began = Instant::now();
                let (status, _) = connection.send("GET", &query(client * 7919 + n), "")?;
                assert_eq!(status, 200, "a retrieval failed");
                times.push(began.elapsed().as_secs_f64() * 1000.0);
            }
            Ok(times)
        };
        let threads: Vec<_> = (0..clients).map(|client| scope.spawn(move || run(client))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let times = results.into_iter().collect::<io::Result<Vec<_>>>()?.concat();
    let rate = times.len() as f64 / began.elapsed().as_secs_f64();
    Ok((times, rate))
}

fn spread(mut milliseconds: Vec<f64>) -> String {
    milliseconds.sort_by(f64::total_cmp);
    let at = |part: f64| milliseconds[((milliseconds.len() - 1) as f64 * part) as usize];
    format!("p50 {:.2} ms, p99 {:.2} ms, max {:.2} ms", at(0.5), at(0.99), at(1.0))
}
