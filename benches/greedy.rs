//! A thousand greedy clients on every route, next to a well-behaved client of another account: the most memory
//! that the server takes, and what the well-behaved client notices.
//!
//! ```sh
//! cargo bench --bench greedy                     # every route, under five minutes
//! cargo bench --bench greedy -- --clients 100    # fewer clients
//! ```
//!
//! Of each route's clients a quarter reads nothing of a valid request's answer, a quarter sends half of a body and stops, a
//! quarter sends garbage, and a quarter sends its request a byte at a time. They have one account's key, or none where a
//! route takes none. Three further rows are connections that get to no route. The well-behaved client asks who it is,
//! retrieves, reads a memory and writes one, in turns.

#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

#[allow(dead_code, reason = "the other benches fill a namespace with it")]
mod corpus;
#[allow(dead_code, reason = "what is measured is the server, not the floor")]
mod loopback;
#[allow(dead_code, reason = "the well-behaved client has a load of its own")]
mod retrievals;

use std::io::{self, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use clap::Parser;
use corpus::Corpus;
use cuebase::api::routes::{Access, Body, ROUTES, Route};
use hyper::Method;
use loopback::{Client, Server};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use retrievals::{Spread, ms, query};
use serde_json::{Value, json};

/// The limit of resident memory beyond `server.body_memory_mib`, MiB.
const BEYOND_MIB: f64 = 300.0;
/// `server.body_memory_mib`, as it is by default.
const BODY_MEMORY_MIB: f64 = 512.0;
/// The well-behaved client's p99 may be this many times what it is when it is alone.
const RATIO_MAX: f64 = 20.0;
/// Requests of the well-behaved client when it is alone.
const ALONE: usize = 2000;
/// How long the well-behaved client is measured together with the clients of a route.
const MEASURED: Duration = Duration::from_millis(2500);
/// What half a body has of bytes: the other half never comes.
const HALF_BYTES: usize = 48 << 10;

/// Runs greedy clients and a well-behaved one together and prints what the server and the well-behaved one took
#[derive(Parser)]
struct Options {
    /// Greedy clients at once
    #[arg(long, default_value_t = 1000)]
    clients: usize,
    /// Given by cargo
    #[arg(long, hide = true)]
    bench: bool,
    /// Given by `cargo test --benches`: nothing is measured then
    #[arg(long, hide = true)]
    test: bool,
}

/// What greedy clients do.
struct Attack {
    name: String,
    /// Each client sends the next of these, and then what it drips.
    sent: Vec<Opening>,
}

/// How a greedy client begins.
struct Opening {
    /// Sent at once.
    first: Vec<u8>,
    /// Sent a byte at a time from then on.
    drip: Vec<u8>,
}

/// What greedy clients have stored, and their key.
struct Greedy {
    key: String,
    conversation: String,
    medium: String,
    /// The path and query of a signed address.
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
    let mut client = Patient::new(&server)?;
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
        let held = Held::open(&server.address, &attack, options.clients);
        let deadline = Instant::now() + MEASURED;
        let measured = held.drip_while(|| client.measure(|_| Instant::now() >= deadline));
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

/// Stores what large answers are made of for the greedy account, and a little for the other one.
fn fill(server: &Server, folder: &Path) -> io::Result<Greedy> {
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
    // The address without its host: `http://bench/v1/media/…`.
    let content = url.find("/v1/").map(|at| url[at..].to_owned()).unwrap_or_default();
    wait_until_settled(&mut client)?;
    Ok(Greedy { key, conversation, medium, content })
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

/// Everything that greedy clients do, a row each.
fn attacks(greedy: &Greedy) -> Vec<Attack> {
    let opening = |first: &str, drip: &str| Opening { first: first.into(), drip: drip.into() };
    let garbage: Vec<u8> = (0..8192_u32).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
    let mut attacks = vec![
        Attack { name: "no route: silent".into(), sent: vec![opening("", "")] },
        Attack {
            name: "no route: a head that does not end".into(),
            sent: vec![opening(&format!("GET / HTTP/1.1\r\nhost: x\r\nx: {}", "a".repeat(31 << 10)), "aaaaaaaa")],
        },
        Attack {
            name: "no route: bytes that are no HTTP".into(),
            sent: vec![Opening { first: garbage.clone(), drip: Vec::new() }],
        },
    ];
    for route in &ROUTES {
        let (path, body) = valid(route, greedy);
        let key = if route.access == Access::Open { "" } else { greedy.key.as_str() };
        let head = |length: usize| {
            let method = &route.method;
            let credential = if key.is_empty() { String::new() } else { format!("authorization: Bearer {key}\r\n") };
            format!("{method} {path} HTTP/1.1\r\nhost: bench\r\n{credential}content-length: {length}\r\n\r\n")
        };
        let whole = head(body.len()) + &body;
        let half = head(2 * HALF_BYTES) + &half_a_body(route);
        let mut noise = head(garbage.len()).into_bytes();
        noise.extend_from_slice(&garbage);
        attacks.push(Attack {
            name: format!("`{} {}`", route.method, route.path),
            sent: vec![
                opening(&whole, ""),
                opening(&half, ""),
                Opening { first: noise, drip: Vec::new() },
                opening("", &whole),
            ],
        });
    }
    attacks
}

/// Half of a body that takes as much memory as can be.
fn half_a_body(route: &Route) -> String {
    match route.body {
        Body::Json => format!("[{}", "{\"a\":0},".repeat(HALF_BYTES / 8)),
        _ => "m".repeat(HALF_BYTES),
    }
}

/// The path and body of a request that a route answers, with as large an answer as it has. What removes something asks
/// for what is not there.
fn valid(route: &Route, greedy: &Greedy) -> (String, String) {
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

/// The connections of greedy clients.
struct Held {
    streams: Vec<(TcpStream, Vec<u8>)>,
}

impl Held {
    fn open(address: &str, attack: &Attack, clients: usize) -> Self {
        let mut streams = Vec::new();
        for opening in attack.sent.iter().cycle().take(clients) {
            // One that is not let in is of no use to anybody.
            let Ok(mut stream) = TcpStream::connect(address) else { continue };
            let _ = stream.set_nodelay(true);
            // The server may take nothing, or close at once.
            let _ = stream.set_nonblocking(true);
            let _ = stream.write_all(&opening.first);
            streams.push((stream, opening.drip.clone()));
        }
        Self { streams }
    }

    /// Sends a byte of what is dripped on every connection, again and again, while something else is done.
    fn drip_while<T>(self, work: impl FnOnce() -> T) -> T {
        let done = std::sync::atomic::AtomicBool::new(false);
        let mut streams = self.streams;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut at = 0;
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    for (stream, drip) in &mut streams {
                        if let Some(byte) = drip.get(at) {
                            let _ = stream.write_all(&[*byte]);
                        }
                    }
                    at += 1;
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
struct Patient<'a> {
    server: &'a Server,
    client: Client,
    corpus: Corpus,
    asked: usize,
}

/// What it took.
struct Measured {
    times: Spread,
    /// Answers that were refusals, and requests that got none.
    refused: usize,
}

impl<'a> Patient<'a> {
    fn new(server: &'a Server) -> io::Result<Self> {
        let client = Client::connect(&server.address, &server.key)?;
        Ok(Self { server, client, corpus: Corpus::new(11), asked: 0 })
    }

    /// Asks one thing after the other until the count of them says that it is enough.
    fn measure(&mut self, enough: impl Fn(usize) -> bool) -> Measured {
        let (mut times, mut refused) = (Vec::new(), 0);
        while !enough(times.len()) {
            let began = Instant::now();
            if !self.ask() {
                refused += 1;
            }
            times.push(ms(began));
        }
        Measured { times: Spread::of(times), refused }
    }

    /// Asks the next thing; false where it was refused, or got no answer.
    fn ask(&mut self) -> bool {
        self.asked += 1;
        let note = self.asked % 50;
        let (method, path, body) = match self.asked % 4 {
            0 => ("GET", "/v1/whoami".to_owned(), String::new()),
            1 => ("GET", query(&mut self.corpus, ""), String::new()),
            2 => ("GET", format!("/v1/memories/facts/n{note}.md?namespace=bench"), String::new()),
            _ => {
                let content = format!("# Note {note}\n\nThis is its version {}.\n", self.asked);
                let body = json!({"namespace": "bench", "content": content});
                ("POST", format!("/v1/memories/facts/n{note}.md"), body.to_string())
            }
        };
        match self.client.send(method, &path, &body) {
            Ok((status, _)) => matches!(status, 200 | 201),
            Err(_) => {
                // A new connection for the next one.
                if let Ok(client) = Client::connect(&self.server.address, &self.server.key) {
                    self.client = client;
                }
                false
            }
        }
    }
}
