//! A thousand greedy clients on every route, together with a well-behaved client of another account: measures the peak
//! of the server's memory and the latency of the well-behaved client.
//!
//! ```sh
//! cargo bench --bench greedy                     # every route, under five minutes
//! cargo bench --bench greedy -- --clients 100    # fewer clients
//! ```
//!
//! Of the clients on each route, a quarter sends a valid request and never reads the response, a quarter sends half of
//! a body and stops, a quarter sends garbage, and a quarter sends its request one byte at a time. They use one
//! account's key, or none if the route requires none. Three more rows are connections that reach no route. The
//! well-behaved client requests its identity, retrieves, reads a memory and writes one, in turns.

#![allow(clippy::disallowed_types, reason = "benches are HTTP clients")]
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

#[allow(dead_code, reason = "other benches use more of it")]
mod corpus;
#[allow(dead_code, reason = "the floor is not measured")]
mod loopback;
#[allow(dead_code, reason = "the well-behaved client generates its own load")]
mod retrievals;

use std::io::{self, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use clap::Parser;
use corpus::Corpus;
use cuebase::api::routes::{Access, BodyKind, ROUTES, Route};
use hyper::Method;
use loopback::{Client, Server};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use retrievals::{Percentiles, ms, query};
use serde_json::{Value, json};

/// Limit of resident memory in addition to `server.body_memory_mib`, in MiB.
const BEYOND_MIB: f64 = 300.0;
/// The default of `server.body_memory_mib`.
const BODY_MEMORY_MIB: f64 = 512.0;
/// Limit of the well-behaved client's p99, as a multiple of its p99 when it is alone.
const RATIO_MAX: f64 = 20.0;
/// Requests of the well-behaved client in the measurement alone.
const ALONE: usize = 2000;
/// Duration of the measurement together with the greedy clients of a route.
const MEASURED: Duration = Duration::from_millis(2500);
/// Bytes of half a body. The other half is never sent.
const HALF_BYTES: usize = 48 << 10;

/// Runs greedy clients and a well-behaved one together and prints the server's memory and the well-behaved client's
/// latency
#[derive(Parser)]
struct Options {
    /// Concurrent greedy clients
    #[arg(long, default_value_t = 1000)]
    clients: usize,
    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
    /// Passed by `cargo test --benches`; nothing is measured then
    #[arg(long, hide = true)]
    test: bool,
}

/// The behaviour of greedy clients on one route.
struct Attack {
    name: String,
    /// The clients use these in turn.
    payloads: Vec<Payload>,
}

/// The bytes that a greedy client sends.
struct Payload {
    /// Sent at once.
    first: Vec<u8>,
    /// Sent afterwards, one byte at a time.
    drip: Vec<u8>,
}

/// The account of the greedy clients: its key and its stored items.
struct GreedyAccount {
    key: String,
    conversation: String,
    medium: String,
    /// The path and query of a signed download URL.
    content: String,
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    if options.test {
        return Ok(());
    }
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    let folder = tempfile::tempdir()?;
    let server = Server::start(folder.path())?;
    let greedy = fill(&server, folder.path())?;
    let mut client = PoliteClient::new(&server)?;
    // The first requests open the namespace and warm the caches.
    client.measure(|count| count >= ALONE / 4);
    let alone = client.measure(|count| count >= ALONE);
    let alone_p99 = alone.times.at(0.99);
    println!("alone: {}; {} MiB resident\n", alone.times, server.resident_mib().round());
    println!("| {} clients on | peak, MiB | p99 of the other account | to its p99 alone | refused |", options.clients);
    println!("| --- | --- | --- | --- | --- |");
    let (mut most_mib, mut most_ratio) = (0.0_f64, 0.0_f64);
    for attack in attacks(&greedy) {
        server.reset_peak();
        let connections = GreedyConnections::open(&server.address, &attack, options.clients);
        let deadline = Instant::now() + MEASURED;
        let measured = connections.drip_while(|| client.measure(|_| Instant::now() >= deadline));
        let (peak, p99) = (server.peak_mib(), measured.times.at(0.99));
        let ratio = p99 / alone_p99;
        println!("| {} | {peak:.0} | {p99:.2} ms | {ratio:.1} | {} |", attack.name, measured.refused);
        most_mib = most_mib.max(peak);
        most_ratio = most_ratio.max(ratio);
    }
    let limit = BODY_MEMORY_MIB + BEYOND_MIB;
    println!(
        "\nat most {most_mib:.0} MiB (limit {limit:.0}), at most {most_ratio:.1} times alone (limit {RATIO_MAX:.0})"
    );
    drop(client);
    server.terminate();
    if most_mib > limit || most_ratio > RATIO_MAX {
        return Err(io::Error::other("a limit is exceeded"));
    }
    Ok(())
}

/// Stores large items for the greedy account and small ones for the other account.
fn fill(server: &Server, folder: &Path) -> io::Result<GreedyAccount> {
    let mut own = Client::connect(&server.address, &server.key)?;
    own.send("POST", "/v1/namespaces", "{\"name\":\"bench\"}")?;
    let mut corpus = Corpus::new(7);
    for n in 0..50 {
        let (name, text) = &corpus.conversation(1)[0];
        let body = json!({"namespace": "bench", "content": format!("# Note {n}\n\n{name}: {text}\n")});
        own.send("POST", &format!("/v1/memories/facts/n{n}.md"), &body.to_string())?;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_cuebase"))
        .args(["keys", "create", "--account", "greedy", "--data"])
        .arg(folder.join("data"))
        .output()?;
    let key = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let mut client = Client::connect(&server.address, &key)?;
    for n in 0..20 {
        let body = json!({"content": format!("# Walrus {n}\n\n{}", "walrus ".repeat(140_000))});
        client.send("POST", &format!("/v1/memories/facts/big{n}.md"), &body.to_string())?;
    }
    for _ in 0..250 {
        let turns: Vec<Value> = corpus
            .conversation(20)
            .into_iter()
            .map(|(name, text)| json!({"role": "user", "name": name, "content": text}))
            .collect();
        client.send("POST", "/v1/memories", &json!({"messages": turns}).to_string())?;
    }
    let skills: Vec<Value> =
        (0..50).map(|n| json!({"name": format!("Skill {n}"), "content": "step by step ".repeat(500)})).collect();
    client.send("POST", "/v1/skills", &json!({"skills": skills}).to_string())?;
    let terms: Vec<Value> = (0..50).map(|n| json!({"term": format!("term{n}"), "definition": "a word"})).collect();
    client.send("POST", "/v1/vocab", &json!({"terms": terms}).to_string())?;
    let made = value(client.send("POST", "/v1/conversations", "{}")?);
    let conversation = made["id"].as_str().unwrap_or("none").to_owned();
    for _ in 0..20 {
        let message = json!({"messages": [{"role": "user", "content": "walrus ".repeat(7000)}]});
        client.send("POST", &format!("/v1/conversations/{conversation}/messages"), &message.to_string())?;
    }
    let uploaded = value(client.send("POST", "/v1/media", &"m".repeat(8 << 20))?);
    let medium = uploaded["id"].as_str().unwrap_or("none").to_owned();
    let address = value(client.send("GET", &format!("/v1/media/{medium}"), "")?);
    let url = address["url"].as_str().unwrap_or_default();
    // The URL is `http://bench/v1/media/…`; the host is removed.
    let content = url.find("/v1/").map(|start| url[start..].to_owned()).unwrap_or_default();
    wait_until_settled(&mut client)?;
    Ok(GreedyAccount { key, conversation, medium, content })
}

fn value((_, body): (u16, Vec<u8>)) -> Value {
    serde_json::from_slice(&body).unwrap_or_default()
}

fn wait_until_settled(client: &mut Client) -> io::Result<()> {
    while value(client.send("GET", "/v1/queue", "")?)["waiting"] != 0 {
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Returns every attack, one per row of the table.
fn attacks(greedy: &GreedyAccount) -> Vec<Attack> {
    let garbage: Vec<u8> = (0..8192_u32).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
    let mut attacks = vec![
        Attack { name: "no route: silent".into(), payloads: vec![Payload::new("", "")] },
        Attack {
            name: "no route: a head that does not end".into(),
            payloads: vec![Payload::new(
                &format!("GET / HTTP/1.1\r\nhost: x\r\nx: {}", "a".repeat(31 << 10)),
                "aaaaaaaa",
            )],
        },
        Attack {
            name: "no route: bytes that are not HTTP".into(),
            payloads: vec![Payload { first: garbage.clone(), drip: Vec::new() }],
        },
    ];
    for route in &ROUTES {
        let (path, body) = valid_request(route, greedy);
        let whole = head(route, &path, greedy, body.len()) + &body;
        let half = head(route, &path, greedy, 2 * HALF_BYTES) + &half_body(route);
        let mut noise = head(route, &path, greedy, garbage.len()).into_bytes();
        noise.extend_from_slice(&garbage);
        attacks.push(Attack {
            name: format!("`{} {}`", route.method, route.path),
            payloads: vec![
                Payload::new(&whole, ""),
                Payload::new(&half, ""),
                Payload { first: noise, drip: Vec::new() },
                Payload::new("", &whole),
            ],
        });
    }
    attacks
}

impl Payload {
    fn new(first: &str, drip: &str) -> Self {
        Self { first: first.into(), drip: drip.into() }
    }
}

/// Returns the head of a request with a body of `length` bytes, with the greedy account's key if the route requires
/// one.
fn head(route: &Route, path: &str, greedy: &GreedyAccount, length: usize) -> String {
    let method = &route.method;
    let key = if route.access == Access::Open { "" } else { greedy.key.as_str() };
    let credential = if key.is_empty() { String::new() } else { format!("authorization: Bearer {key}\r\n") };
    format!("{method} {path} HTTP/1.1\r\nhost: bench\r\n{credential}content-length: {length}\r\n\r\n")
}

/// Returns half of a body that takes as much memory as possible once it is parsed.
fn half_body(route: &Route) -> String {
    match route.body {
        BodyKind::Json => format!("[{}", "{\"a\":0},".repeat(HALF_BYTES / 8)),
        _ => "m".repeat(HALF_BYTES),
    }
}

/// Returns the path and body of a valid request that yields the largest possible response. A request that deletes
/// something names an item that does not exist.
fn valid_request(route: &Route, greedy: &GreedyAccount) -> (String, String) {
    let removes = route.method == Method::DELETE;
    let id = if route.path.contains("media") { &greedy.medium } else { &greedy.conversation };
    let memory = if removes { "facts/none.md" } else { "facts/big0.md" };
    let mut path = route.path.replace("{*path}", memory);
    for (parameter, own) in [("{id}", id.as_str()), ("{key_id}", "none"), ("{name}", "none"), ("{mid}", "none")] {
        path = path.replace(parameter, if removes { "none" } else { own });
    }
    let query = match route.path {
        "/v1/retrieve" => "?q=walrus&limit=200&detail=full",
        "/v1/skills" => "?limit=200&detail=full",
        "/v1/graph" => "?limit=10000",
        "/v1/timeline" => "?path=facts/big0.md",
        "/v1/memories/{*path}" if route.method == Method::GET => "?detail=full",
        "/v1/conversations/{id}/rewind" => "?none=1",
        _ => "",
    };
    if route.path == "/v1/media/{id}/content" {
        return (greedy.content.clone(), String::new());
    }
    let body = match (&route.method, route.path) {
        (&Method::POST, "/v1/memories") => {
            json!({"messages": [{"role": "user", "content": "The gate is open"}]}).to_string()
        }
        (&Method::POST, "/v1/answer") => json!({"q": "Where is the walrus?", "limit": 200}).to_string(),
        (&Method::POST, _) => "{}".to_owned(),
        _ => String::new(),
    };
    (format!("{path}{query}"), body)
}

/// The connections of greedy clients, each with the bytes that it drips.
struct GreedyConnections {
    streams: Vec<(TcpStream, Vec<u8>)>,
}

impl GreedyConnections {
    fn open(address: &str, attack: &Attack, clients: usize) -> Self {
        let mut streams = Vec::new();
        for payload in attack.payloads.iter().cycle().take(clients) {
            // The server may refuse the connection.
            let Ok(mut stream) = TcpStream::connect(address) else { continue };
            let _ = stream.set_nodelay(true);
            // The server may read nothing or close at once.
            let _ = stream.set_nonblocking(true);
            let _ = stream.write_all(&payload.first);
            streams.push((stream, payload.drip.clone()));
        }
        Self { streams }
    }

    /// Keeps sending one byte at a time on every connection while `work` runs.
    fn drip_while<T>(self, work: impl FnOnce() -> T) -> T {
        let done = std::sync::atomic::AtomicBool::new(false);
        let mut streams = self.streams;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut next = 0;
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    for (stream, drip) in &mut streams {
                        if let Some(byte) = drip.get(next) {
                            let _ = stream.write_all(&[*byte]);
                        }
                    }
                    next += 1;
                    std::thread::sleep(Duration::from_millis(20));
                }
            });
            let outcome = work();
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            outcome
        })
    }
}

/// The well-behaved client.
struct PoliteClient<'a> {
    server: &'a Server,
    client: Client,
    corpus: Corpus,
    /// The number of requests sent.
    requests: usize,
}

/// The measurements of the well-behaved client.
struct Measured {
    times: Percentiles,
    /// Requests that were refused or got no response.
    refused: usize,
}

impl<'a> PoliteClient<'a> {
    fn new(server: &'a Server) -> io::Result<Self> {
        let client = Client::connect(&server.address, &server.key)?;
        Ok(Self { server, client, corpus: Corpus::new(11), requests: 0 })
    }

    /// Sends requests one after the other until `enough`, given their number, returns true.
    fn measure(&mut self, enough: impl Fn(usize) -> bool) -> Measured {
        let (mut times, mut refused) = (Vec::new(), 0);
        while !enough(times.len()) {
            let began = Instant::now();
            if !self.send_next() {
                refused += 1;
            }
            times.push(ms(began));
        }
        Measured { times: Percentiles::of(times), refused }
    }

    /// Sends the next request; returns false if it was refused or got no response.
    fn send_next(&mut self) -> bool {
        self.requests += 1;
        let note = self.requests % 50;
        let (method, path, body) = match self.requests % 4 {
            0 => ("GET", "/v1/whoami".to_owned(), String::new()),
            1 => ("GET", query(&mut self.corpus, ""), String::new()),
            2 => ("GET", format!("/v1/memories/facts/n{note}.md?namespace=bench"), String::new()),
            _ => {
                let content = format!("# Note {note}\n\nThis is its version {}.\n", self.requests);
                let body = json!({"namespace": "bench", "content": content});
                ("POST", format!("/v1/memories/facts/n{note}.md"), body.to_string())
            }
        };
        match self.client.send(method, &path, &body) {
            Ok((status, _)) => matches!(status, 200 | 201),
            Err(_) => {
                // Reconnects for the next request.
                if let Ok(client) = Client::connect(&self.server.address, &self.server.key) {
                    self.client = client;
                }
                false
            }
        }
    }
}
