//! A real server under load over HTTP: ingestion, freshness, direct writes, retrievals by 1 and 20 clients with and
//! without a filter, a cold start, and memory. The floor is measured for comparison: the same client receives the same
//! bytes from a minimal server (may_minihttp).
//!
//! ```sh
//! cargo bench --bench load                            # 10,000 messages
//! cargo bench --bench load -- --messages 100000       # more
//! cargo bench --bench load -- --messages 100000 --data FOLDER   # keeps the data, and reuses it if it exists
//! CUEBASE_MODEL_BUILTIN=table cargo bench --bench load          # with the built-in table instead of the encoder
//! ```
//!
//! Absolute times depend on the machine. Quote the ratio to the floor of the same run.

#![allow(clippy::disallowed_types, reason = "benches are HTTP clients")]
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

mod corpus;
mod loopback;
mod retrievals;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Parser;
use corpus::Corpus;
use cuebase::model::StaticTable;
use cuebase_retrieval::Index;
use loopback::{Client, Floor, Server};
use retrievals::{Load, Percentiles, ms, query};
use serde_json::{Value, json};

/// Messages per conversation that is sent.
const CONVERSATION: usize = 20;
/// Writes per measurement of freshness.
const WRITES: usize = 50;
/// One conversation in this many has the tag that the filter requires.
const TAGGED: usize = 100;

/// Puts a real server under load and prints the measurements.
#[derive(Parser)]
struct Options {
    /// Messages to ingest before the measurements
    #[arg(long, default_value_t = 10_000)]
    messages: usize,
    /// Data folder to keep and reuse
    #[arg(long)]
    data: Option<PathBuf>,
    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
    /// Passed by `cargo test --benches`; nothing is measured then
    #[arg(long, hide = true)]
    test: bool,
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    if options.test {
        return Ok(());
    }
    let temporary = tempfile::tempdir()?;
    let folder = options.data.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(folder)?;
    let mut server = Server::start(folder)?;
    print_start(&server);
    if !folder.join("filled").exists() {
        fill(&server, options.messages)?;
        std::fs::write(folder.join("filled"), "")?;
        server = server.restart()?;
        print_start(&server);
    }
    cold(&server)?;
    let mut client = Client::connect(&server.address, &server.key)?;
    println!("202 to retrievable, three messages: {}", Percentiles::of(freshness(&mut client)?));
    println!("direct write, call to visible: {}", Percentiles::of(direct_writes(&mut client)?));

    let reply = client.send("GET", &query(&mut Corpus::new(1), ""), "")?.1;
    let floor = Floor::start(reply)?;
    for (what, filter) in [("retrieve", ""), ("retrieve through a filter of 1 %", "&tags=rare")] {
        for clients in [1, 20] {
            let load = Load { address: &server.address, key: &server.key, clients, filter };
            println!("{what}, {clients} clients: {}", load.run()?);
        }
    }
    for clients in [1, 20] {
        let load = Load { address: &floor.address, key: "none", clients, filter: "" };
        println!("floor of the same bytes, {clients} clients: {}", load.run()?);
    }
    writes_during_reads(&server)?;
    println!("resident {:.0} MiB", server.resident_mib());
    server.terminate();
    println!("{}", index_size(folder)?);
    Ok(())
}

fn print_start(server: &Server) {
    println!(
        "start to listening: {:.0} ms; resident {:.0} MiB",
        server.start.as_secs_f64() * 1000.0,
        server.resident_mib()
    );
}

/// Describes the size of the measured namespace. The server must be stopped.
fn index_size(folder: &Path) -> io::Result<String> {
    // The folder of the namespace `bench` is `bench.<id>`.
    let indexes = folder.join("data/indexes/default");
    let mut own = None;
    for entry in std::fs::read_dir(&indexes)? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("bench.")) {
            own = Some(path);
        }
    }
    let own = own.ok_or_else(|| io::Error::other("the namespace has no index"))?;
    let table = StaticTable::built_in().map_err(io::Error::other)?;
    let settings = Index::settings_of(&own, table).ok_or_else(|| io::Error::other("the index has no settings"))?;
    let index = Index::open(&own, settings).map_err(io::Error::other)?;
    let snapshot = index.published().load_full();
    Ok(format!("measured on {} memories with {} cues", snapshot.memory_count(), snapshot.cue_count()))
}

/// Sends the corpus and waits until its last message can be retrieved.
fn fill(server: &Server, messages: usize) -> io::Result<()> {
    let mut client = Client::connect(&server.address, &server.key)?;
    client.send("POST", "/v1/namespaces", "{\"name\":\"bench\"}")?;
    println!("direct write into an empty namespace, call to visible: {}", Percentiles::of(direct_writes(&mut client)?));
    let mut corpus = Corpus::new(7);
    let conversations = messages.div_ceil(CONVERSATION);
    // Ten parts, to show whether the last is as fast as the first.
    let part = conversations.div_ceil(10).max(1);
    let whole = Instant::now();
    let mut began = Instant::now();
    for n in 0..conversations {
        let said = corpus.conversation(CONVERSATION);
        let last = (n + 1) % part == 0 || n + 1 == conversations;
        let mut turns: Vec<Value> =
            said.into_iter().map(|(name, text)| json!({"role": "user", "name": name, "content": text})).collect();
        if last {
            turns.push(json!({"role": "user", "content": format!("The last crate is marked zz{n}qk on its side.")}));
        }
        let tags = if n % TAGGED == 0 { json!(["rare"]) } else { json!([]) };
        let body = json!({"namespace": "bench", "session_id": format!("s{n}"), "tags": tags, "messages": turns});
        let (status, reply) = client.send("POST", "/v1/memories", &body.to_string())?;
        assert_eq!(status, 202, "{}", String::from_utf8_lossy(&reply));
        if last {
            let token = format!("zz{n}qk");
            while !contains(&mut client, &format!("/v1/retrieve?namespace=bench&limit=3&q={token}"), &token)? {
                // Polling without a pause would be a load of its own.
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            let count = (n % part + 1) * CONVERSATION;
            println!("ingested {count} messages: {:.0} per second", count as f64 / began.elapsed().as_secs_f64());
            began = Instant::now();
        }
    }
    println!("whole ingestion: {:.0} messages per second", messages as f64 / whole.elapsed().as_secs_f64());
    wait_for_vectors(&mut client)
}

/// Waits for the vectors that follow in the background, and prints how fast they are computed meanwhile.
fn wait_for_vectors(client: &mut Client) -> io::Result<()> {
    let began = Instant::now();
    let first = vectors_waiting(client)?;
    while vectors_waiting(client)? > 0 {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    if first > 0 {
        let seconds = began.elapsed().as_secs_f64();
        println!("vectors of {first} memories that were left: {:.0} memories per second", first as f64 / seconds);
    }
    Ok(())
}

/// Returns the number of memories without vectors; 0 if the model computes them at once.
fn vectors_waiting(client: &mut Client) -> io::Result<u64> {
    let (_, reply) = client.send("GET", "/v1/queue", "")?;
    let queue: Value = serde_json::from_slice(&reply).unwrap_or_default();
    Ok(queue["vectors_waiting"].as_u64().unwrap_or(0))
}

/// Measures the first retrieval of a server that has just started.
fn cold(server: &Server) -> io::Result<()> {
    let mut client = Client::connect(&server.address, &server.key)?;
    let began = Instant::now();
    let (_, reply) = client.send("GET", &query(&mut Corpus::new(3), ""), "")?;
    let answer: Value = serde_json::from_slice(&reply).unwrap_or_default();
    let state = if answer["cold_start"] == true { "cold" } else { "warm" };
    println!("open and first response ({state}): {:.0} ms; resident {:.0} MiB", ms(began), server.resident_mib());
    Ok(())
}

/// Returns the milliseconds from each `202` until a retrieval returns the new memory. Polls without a pause.
fn freshness(client: &mut Client) -> io::Result<Vec<f64>> {
    let mut times = Vec::new();
    for n in 0..WRITES {
        let token = marker(n);
        let body = json!({"namespace": "bench", "messages": [
            {"role": "user", "content": format!("Where is the {token} kept?")},
            {"role": "assistant", "content": format!("The {token} is kept in cellar 4 of the museum.")},
            {"role": "user", "content": "I moved it there last Friday with Tom."}]});
        let (status, reply) = client.send("POST", "/v1/memories", &body.to_string())?;
        assert_eq!(status, 202, "{}", String::from_utf8_lossy(&reply));
        let began = Instant::now();
        while !contains(client, &format!("/v1/retrieve?namespace=bench&limit=5&q={token}"), &token)? {}
        times.push(ms(began));
    }
    Ok(times)
}

/// Returns the milliseconds from each call of a write by path until a retrieval returns the memory.
fn direct_writes(client: &mut Client) -> io::Result<Vec<f64>> {
    let mut times = Vec::new();
    for n in 0..WRITES {
        let token = marker(n);
        let body = json!({"namespace": "bench", "content": format!("# The {token}\n\nIt stands on the shelf.\n")});
        let began = Instant::now();
        let (status, reply) =
            client.send("POST", &format!("/v1/memories/facts/bench/{token}.md"), &body.to_string())?;
        assert!(matches!(status, 200 | 201), "{}", String::from_utf8_lossy(&reply));
        assert!(contains(client, &format!("/v1/retrieve?namespace=bench&limit=5&q={token}"), &token)?);
        times.push(ms(began));
    }
    Ok(times)
}

/// Measures the freshness of writes while 20 clients read.
fn writes_during_reads(server: &Server) -> io::Result<()> {
    let done = std::sync::atomic::AtomicBool::new(false);
    let times = std::thread::scope(|scope| {
        for reader in 0..20 {
            let done = &done;
            scope.spawn(move || -> io::Result<()> {
                let mut client = Client::connect(&server.address, &server.key)?;
                let mut corpus = Corpus::new(1000 + reader);
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    client.send("GET", &query(&mut corpus, ""), "")?;
                }
                Ok(())
            });
        }
        let times = Client::connect(&server.address, &server.key).and_then(|mut client| freshness(&mut client));
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        times
    });
    println!("202 to retrievable while 20 clients read: {}", Percentiles::of(times?));
    Ok(())
}

fn contains(client: &mut Client, path: &str, token: &str) -> io::Result<bool> {
    let (_, reply) = client.send("GET", path, "")?;
    Ok(String::from_utf8_lossy(&reply).contains(token))
}

/// Returns a word that is in no other memory, even if a kept folder is measured again.
fn marker(n: usize) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("xy{}n{n}", now.as_nanos() % 1_000_000_007)
}

impl Server {
    /// Stops the server and starts it again on the same folder.
    fn restart(self) -> io::Result<Self> {
        let folder: PathBuf = self.folder.clone();
        self.terminate();
        Self::start(Path::new(&folder))
    }
}
