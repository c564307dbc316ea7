//! A thousand greedy clients on every route, together with a well-behaved client of another account: measures the peak
//! of the server's memory and the latency of the well-behaved client.
//!
//! ```sh
//! cargo bench --bench greedy                     # every route, under ten minutes
//! cargo bench --bench greedy -- --clients 100    # fewer clients
//! ```
//!
//! Of the clients on each route, a quarter sends a valid request and never reads the response, a quarter sends half of
//! a body and stops, a quarter sends garbage, and a quarter sends its request one byte at a time. A route that requires
//! a credential is measured twice: with a key or session of one account, and without a credential. Its row has the
//! larger figures of the two. The rows are those of the route table, of git, of the Model Context Protocol, of the
//! dashboard and of the metrics; three more are connections that reach no route. The well-behaved client requests its
//! identity, retrieves, reads a memory and writes one, in turns.
//!
//! Six more rows are [requests that take much work](expensive), each repeated by 200 clients that read every response.
//!
//! At the start one client sends each request that reads something. If one is refused, nothing is measured, so that a
//! new route must get a valid request here.

#![allow(clippy::disallowed_types, reason = "benches are HTTP clients")]
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

#[allow(dead_code, reason = "other benches use more of it")]
mod corpus;
mod expensive;
#[allow(dead_code, reason = "the floor is not measured")]
mod loopback;
#[allow(dead_code, reason = "the well-behaved client generates its own load")]
mod retrievals;

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
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
/// Documents of the greedy account.
const DOCUMENTS: usize = 50;
/// Sections per document, a kilobyte each, so that an upload fits into the buffers of a connection.
const SECTIONS: usize = 40;
/// The id of the first document.
const FIRST_DOCUMENT: &str = "manual0-md";
/// Headers of a request of the Model Context Protocol.
const MCP_HEADERS: &str = "content-type: application/json\r\naccept: application/json, text/event-stream\r\n";

/// Runs greedy clients and a well-behaved one together and prints the server's memory and the well-behaved client's
/// latency
#[derive(Parser)]
struct Options {
    /// Concurrent greedy clients
    #[arg(long, default_value_t = 1000)]
    clients: usize,
    /// Measure only the requests that take much work
    #[arg(long)]
    expensive_only: bool,
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
    /// Address of the listener.
    address: String,
    /// Measured one after the other. The clients use the payloads of a group in turn.
    groups: Vec<Vec<Payload>>,
}

/// The bytes that a greedy client sends.
struct Payload {
    /// Sent at once.
    first: Vec<u8>,
    /// Sent afterwards, one byte at a time.
    drip: Vec<u8>,
}

/// A route with a valid request to it.
struct Endpoint {
    /// Name in the table.
    name: String,
    /// Address of the listener.
    address: String,
    method: String,
    /// Path and query.
    target: String,
    /// Headers in addition to those of every request, with their line ends.
    headers: &'static str,
    /// The greedy account's key or session; `None` if the route requires none.
    credential: Option<String>,
    body: String,
    /// Half of a body that takes as much memory as possible once it is parsed.
    half_body: String,
    expected: Expected,
}

/// What the check at the start expects of a valid request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Success,
    /// The request is not sent, since it may change something or require a setting.
    Unchecked,
}

/// Addresses of the listeners.
struct Addresses {
    api: String,
    dashboard: String,
    metrics: String,
}

/// The account of the greedy clients: its credentials and its stored items.
struct GreedyAccount {
    key: String,
    /// A dashboard session.
    session: String,
    conversation: String,
    medium: String,
    /// The path and query of a signed download URL.
    content: String,
    /// The id of an ingested conversation, which is also that of its write.
    source: String,
    /// The newest commit of the account's namespace.
    head: String,
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    if options.test {
        return Ok(());
    }
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    let folder = tempfile::tempdir()?;
    let (dashboard, metrics) = (free_address()?, free_address()?);
    let listeners = ["--dashboard-listen", dashboard.as_str(), "--metrics-listen", metrics.as_str()];
    let server = Server::start_with(folder.path(), &listeners)?;
    let greedy = fill(&server, folder.path())?;
    let endpoints = endpoints(&greedy, &Addresses { api: server.address.clone(), dashboard, metrics });
    check_requests(&endpoints)?;
    for request in expensive::requests(&mut Corpus::new(13)) {
        let status = request.status(&server, &greedy.key)?;
        if !(200..300).contains(&status) {
            return Err(io::Error::other(format!("{}: {status}", request.name)));
        }
    }
    let mut client = PoliteClient::new(&server)?;
    // The first requests open the namespace and warm the caches.
    client.measure(|count| count >= ALONE / 4);
    let alone = client.measure(|count| count >= ALONE);
    let alone_p99 = alone.times.at(0.99);
    println!("alone: {}; {} MiB resident\n", alone.times, server.resident_mib().round());
    let (mut most_mib, mut most_ratio) = (0.0_f64, 0.0_f64);
    // Measured before the attacks. The last attack requests erasures, which the server may still work on afterwards.
    println!(
        "| {} clients repeat | peak, MiB | p99 of the other account | to its p99 alone | refused |",
        expensive::CLIENTS
    );
    println!("| --- | --- | --- | --- | --- |");
    for request in expensive::requests(&mut Corpus::new(13)) {
        server.reset_peak();
        let deadline = Instant::now() + MEASURED;
        let measured = request.repeat_while(&server, &greedy.key, || client.measure(|_| Instant::now() >= deadline));
        let (peak, p99) = (server.peak_mib(), measured.times.at(0.99));
        let ratio = p99 / alone_p99;
        println!("| {} | {peak:.0} | {p99:.2} ms | {ratio:.1} | {} |", request.name, measured.refused);
        most_mib = most_mib.max(peak);
        most_ratio = most_ratio.max(ratio);
    }
    println!(
        "\n| {} clients on | peak, MiB | p99 of the other account | to its p99 alone | refused |",
        options.clients
    );
    println!("| --- | --- | --- | --- | --- |");
    let attacks = if options.expensive_only { Vec::new() } else { attacks(&endpoints, &server.address) };
    for attack in attacks {
        let Row { peak, p99, refused } = measure(&server, &mut client, &attack, options.clients);
        let ratio = p99 / alone_p99;
        println!("| {} | {peak:.0} | {p99:.2} ms | {ratio:.1} | {refused} |", attack.name);
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

/// Returns an address that no listener uses.
fn free_address() -> io::Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

/// The figures of an attack: the largest of its groups, and all refusals.
#[derive(Default)]
struct Row {
    /// Peak of resident memory, in MiB.
    peak: f64,
    /// p99 of the well-behaved client, in milliseconds.
    p99: f64,
    refused: usize,
}

/// Measures the groups of an attack one after the other.
fn measure(server: &Server, client: &mut PoliteClient<'_>, attack: &Attack, clients: usize) -> Row {
    let mut row = Row::default();
    for payloads in &attack.groups {
        server.reset_peak();
        let connections = GreedyConnections::open(&attack.address, payloads, clients);
        let deadline = Instant::now() + MEASURED;
        let measured = connections.drip_while(|| client.measure(|_| Instant::now() >= deadline));
        row.peak = row.peak.max(server.peak_mib());
        row.p99 = row.p99.max(measured.times.at(0.99));
        row.refused += measured.refused;
    }
    row
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
    let key = run(&["keys", "create", "--account", "greedy"], folder)?;
    let session = run(&["token", "--account", "greedy"], folder)?;
    let mut client = Client::connect(&server.address, &key)?;
    for n in 0..20 {
        let body = json!({"content": format!("# Walrus {n}\n\n{}", "walrus ".repeat(140_000))});
        client.send("POST", &format!("/v1/memories/facts/big{n}.md"), &body.to_string())?;
    }
    let mut source = String::new();
    for _ in 0..250 {
        let turns: Vec<Value> = corpus
            .conversation(20)
            .into_iter()
            .map(|(name, text)| json!({"role": "user", "name": name, "content": text}))
            .collect();
        let accepted = value(client.send("POST", "/v1/memories", &json!({"messages": turns}).to_string())?);
        source = accepted["id"].as_str().unwrap_or("none").to_owned();
    }
    for n in 0..DOCUMENTS {
        client.send("POST", &format!("/v1/documents?filename=manual{n}.md"), &document())?;
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
    // The URL is `http://localhost/v1/media/…`; the host is removed.
    let content = url.find("/v1/").map(|start| url[start..].to_owned()).unwrap_or_default();
    expensive::fill(&mut client, &mut corpus)?;
    wait_until_settled(&mut client)?;
    let listed = value(client.send("GET", "/v1/namespaces", "")?);
    let head = listed["namespaces"][0]["head"].as_str().unwrap_or("none").to_owned();
    Ok(GreedyAccount { key, session, conversation, medium, content, source, head })
}

/// Runs a command on the data directory and returns what it printed.
fn run(arguments: &[&str], folder: &Path) -> io::Result<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cuebase"));
    let output = command.args(arguments).arg("--data").arg(folder.join("data")).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Returns a document of markdown with one passage per section.
fn document() -> String {
    let mut markdown = "# Manual\n".to_owned();
    for n in 0..SECTIONS {
        markdown += &format!("\n## Section {n}\n\n{}\n", "walrus ".repeat(140));
    }
    markdown
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

/// Returns every attack, one per row of the table. `api` is the address of the API.
fn attacks(endpoints: &[Endpoint], api: &str) -> Vec<Attack> {
    let garbage: Vec<u8> = (0..8192_u32).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
    let endless = format!("GET / HTTP/1.1\r\nhost: x\r\nx: {}", "a".repeat(31 << 10));
    let mut attacks = Vec::new();
    for (name, payload) in [
        ("no route: silent", Payload::new("", "")),
        ("no route: a head that does not end", Payload::new(&endless, "aaaaaaaa")),
        ("no route: bytes that are not HTTP", Payload { first: garbage.clone(), drip: Vec::new() }),
    ] {
        attacks.push(Attack { name: name.into(), address: api.to_owned(), groups: vec![vec![payload]] });
    }
    for endpoint in endpoints {
        let mut groups = vec![endpoint.payloads(None, &garbage)];
        if let Some(credential) = &endpoint.credential {
            groups.insert(0, endpoint.payloads(Some(credential.as_str()), &garbage));
        }
        attacks.push(Attack { name: endpoint.name.clone(), address: endpoint.address.clone(), groups });
    }
    attacks
}

/// Returns every route of the server with a valid request.
fn endpoints(greedy: &GreedyAccount, addresses: &Addresses) -> Vec<Endpoint> {
    let mut endpoints = Vec::new();
    for route in &ROUTES {
        let (target, body) = valid_request(route, greedy);
        let credential = match route.access {
            Access::Open => None,
            Access::Any | Access::Wide => Some(greedy.key.clone()),
            Access::Session | Access::WideSession => Some(greedy.session.clone()),
        };
        endpoints.push(Endpoint {
            name: format!("`{} {}`", route.method, route.path),
            address: addresses.api.clone(),
            method: route.method.to_string(),
            target,
            headers: "",
            credential,
            body,
            half_body: half_body(route.body),
            expected: expected(route),
        });
    }
    let key = Some(greedy.key.as_str());
    let fetch = format!("0032want {}\n00000009done\n", greedy.head);
    let tools = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let api = addresses.api.as_str();
    let references = "/v1/git/default/info/refs?service=git-upload-pack";
    endpoints.push(Endpoint::unlisted("GET", references, api, key, ""));
    endpoints.push(Endpoint::unlisted("POST", "/v1/git/default/git-upload-pack", api, key, &fetch));
    endpoints.push(Endpoint::unlisted("POST", "/v1/git/default/git-receive-pack", api, key, "0000"));
    let mcp = Endpoint::unlisted("POST", "/v1/mcp", api, key, &tools);
    endpoints.push(Endpoint { headers: MCP_HEADERS, ..mcp });
    let content = json!({"content": document()}).to_string();
    for (method, target, credential, body) in
        [("GET", "/", None, ""), ("POST", "/session", None, "{}"), ("POST", "/markdown", key, content.as_str())]
    {
        let endpoint = Endpoint::unlisted(method, target, &addresses.dashboard, credential, body);
        endpoints.push(Endpoint { name: format!("dashboard: {}", endpoint.name), ..endpoint });
    }
    endpoints.push(Endpoint::unlisted("GET", "/metrics", &addresses.metrics, None, ""));
    // Each erasure rebuilds an index, also if it finds nothing. As the last route it disturbs no other row.
    endpoints.sort_by_key(|endpoint| endpoint.target == "/v1/erase");
    endpoints
}

/// Returns what a valid request to a route must result in.
fn expected(route: &Route) -> Expected {
    match (&route.method, route.path) {
        (&Method::GET, _) | (&Method::POST, "/v1/explain" | "/v1/documents") => Expected::Success,
        _ => Expected::Unchecked,
    }
}

/// Sends the requests that must succeed, once each.
fn check_requests(endpoints: &[Endpoint]) -> io::Result<()> {
    let mut refused = Vec::new();
    for endpoint in endpoints {
        if endpoint.expected == Expected::Success {
            let status = endpoint.status()?;
            if !(200..300).contains(&status) {
                refused.push(format!("{}: {status}", endpoint.name));
            }
        }
    }
    if refused.is_empty() {
        return Ok(());
    }
    Err(io::Error::other(format!("these requests must be valid: {}", refused.join(", "))))
}

impl Endpoint {
    /// Returns a route that is not in the route table.
    fn unlisted(method: &str, target: &str, address: &str, credential: Option<&str>, body: &str) -> Self {
        let path = target.split('?').next().unwrap_or(target);
        Self {
            name: format!("`{method} {path}`"),
            address: address.to_owned(),
            method: method.to_owned(),
            target: target.to_owned(),
            headers: "",
            credential: credential.map(str::to_owned),
            body: body.to_owned(),
            half_body: half_body(if path.starts_with("/v1/git/") { BodyKind::Pack } else { BodyKind::Json }),
            expected: if method == "GET" { Expected::Success } else { Expected::Unchecked },
        }
    }

    /// Returns what the four kinds of clients send, with a credential or without.
    fn payloads(&self, credential: Option<&str>, garbage: &[u8]) -> Vec<Payload> {
        let whole = self.head(credential, self.body.len()) + &self.body;
        let half = self.head(credential, 2 * HALF_BYTES) + &self.half_body;
        let mut noise = self.head(credential, garbage.len()).into_bytes();
        noise.extend_from_slice(garbage);
        vec![
            Payload::new(&whole, ""),
            Payload::new(&half, ""),
            Payload { first: noise, drip: Vec::new() },
            Payload::new("", &whole),
        ]
    }

    /// Returns the head of a request with a body of `length` bytes.
    fn head(&self, credential: Option<&str>, length: usize) -> String {
        let Self { method, target, headers, .. } = self;
        let authorization = match credential {
            Some(credential) => format!("authorization: Bearer {credential}\r\n"),
            None => String::new(),
        };
        let fixed = format!("{method} {target} HTTP/1.1\r\nhost: localhost\r\n{authorization}{headers}");
        format!("{fixed}content-length: {length}\r\n\r\n")
    }

    /// Sends the valid request on its own connection and returns the status of the response.
    fn status(&self) -> io::Result<u16> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        let request = self.head(self.credential.as_deref(), self.body.len()) + &self.body;
        stream.write_all(request.as_bytes())?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        status.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }
}

impl Payload {
    fn new(first: &str, drip: &str) -> Self {
        Self { first: first.into(), drip: drip.into() }
    }
}

/// Returns half of a body that takes as much memory as possible once it is parsed.
fn half_body(kind: BodyKind) -> String {
    match kind {
        BodyKind::Json => format!("[{}", "{\"a\":0},".repeat(HALF_BYTES / 8)),
        _ => "m".repeat(HALF_BYTES),
    }
}

/// Returns the path with its query, and the body, of a valid request that yields the largest possible response. A
/// request that deletes something names an item that does not exist.
fn valid_request(route: &Route, greedy: &GreedyAccount) -> (String, String) {
    if route.path == "/v1/media/{id}/content" {
        return (greedy.content.clone(), String::new());
    }
    let removes = route.method == Method::DELETE;
    let id = match route.path.split('/').nth(2) {
        Some("media") => greedy.medium.as_str(),
        Some("documents") => FIRST_DOCUMENT,
        Some("sources" | "writes") => greedy.source.as_str(),
        _ => greedy.conversation.as_str(),
    };
    let memory = if removes { "facts/none.md" } else { "facts/big0.md" };
    let mut path = route.path.replace("{*path}", memory);
    for (parameter, own) in [("{id}", id), ("{key_id}", "none"), ("{name}", "none"), ("{mid}", "none")] {
        path = path.replace(parameter, if removes { "none" } else { own });
    }
    (path + query_of(route), body_of(route))
}

/// Returns the query of a valid request, with a leading question mark, or nothing.
fn query_of(route: &Route) -> &'static str {
    match (&route.method, route.path) {
        (_, "/v1/retrieve") => "?q=walrus&limit=200&detail=full",
        (_, "/v1/context") => "?q=walrus&limit=200&detail=full&admit=all&max_tokens=32000",
        (&Method::GET, "/v1/memories") => "?limit=200&detail=full",
        (&Method::GET, "/v1/skills") => "?limit=200",
        (&Method::GET, "/v1/documents" | "/v1/sources" | "/v1/writes") => "?limit=200",
        (&Method::POST, "/v1/documents") => "?filename=manual0.md",
        (_, "/v1/graph") => "?limit=10000",
        (_, "/v1/timeline") => "?path=facts/big0.md",
        (&Method::GET, "/v1/memories/{*path}") => "?detail=full",
        _ => "",
    }
}

/// Returns the body of a valid request.
fn body_of(route: &Route) -> String {
    match (&route.method, route.path) {
        (&Method::POST, "/v1/memories") => {
            json!({"messages": [{"role": "user", "content": "The gate is open"}]}).to_string()
        }
        (&Method::POST, "/v1/answer") => json!({"q": "Where is the walrus?", "limit": 200}).to_string(),
        (&Method::POST, "/v1/explain") => {
            json!({"q": "walrus", "path": "facts/big0.md", "limit": 200, "detail": "full"}).to_string()
        }
        (&Method::POST, "/v1/documents") => document(),
        (&Method::POST, "/v1/erase") => json!({"session_id": "none"}).to_string(),
        (&Method::POST, _) => "{}".to_owned(),
        _ => String::new(),
    }
}

/// The connections of greedy clients, each with the bytes that it drips.
struct GreedyConnections {
    streams: Vec<(TcpStream, Vec<u8>)>,
}

impl GreedyConnections {
    fn open(address: &str, payloads: &[Payload], clients: usize) -> Self {
        let mut streams = Vec::new();
        for payload in payloads.iter().cycle().take(clients) {
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
