//! Clients, with and without a credential, that try to use up memory, request slots and connections. The tests check
//! that other accounts are still served.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use reqwest::blocking::Client;
use serde_json::{Value, json};

use crate::support::nodes::free_address;
use crate::support::provider::{Fault, Provider};
use crate::support::working_copy::WorkingCopy;
use crate::support::{Answer, Server, SetOnDrop, fresh, stdout, wait_for};

/// Unread answers of about a megabyte that a server must not hold at once if its memory for bodies is 16 MiB.
const UNREAD_MAX: usize = 30;
/// The server discards the rest of a refused body until its client pauses for this long.
const DISCARD_PAUSE_MAX: Duration = Duration::from_secs(2);
/// Memories of a megabyte that a retrieval with few hits returns.
const LONG_MEMORIES: usize = 24;
/// Memories in one directory. The list of their long paths takes more than a megabyte.
const LISTED_MEMORIES: usize = 4000;

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address.trim_start_matches("http://")).expect("connects");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    stream
}

/// Returns a request's head with further header lines.
fn request_head(method: &str, path: &str, key: Option<&str>, further: &str) -> String {
    let credential = key.map(|key| format!("authorization: Bearer {key}\r\n")).unwrap_or_default();
    format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{credential}{further}\r\n")
}

/// Sends bytes on a new connection and returns it.
fn send(address: &str, bytes: &[u8]) -> TcpStream {
    let mut stream = connect(address);
    stream.write_all(bytes).expect("sends");
    stream
}

/// Reads until the server closes the connection.
fn read_to_close(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

/// Reads a response's head and returns it in lower case. Discards what arrives with it.
fn read_head(stream: &mut TcpStream) -> String {
    let (mut text, mut part) = (String::new(), [0; 512]);
    while !text.contains("\r\n\r\n") {
        match stream.read(&mut part) {
            Ok(read @ 1..) => text.push_str(&String::from_utf8_lossy(&part[..read])),
            _ => break,
        }
    }
    text.to_ascii_lowercase()
}

/// Creates a key of another account.
fn other_account_key(data: &Path) -> String {
    stdout(data, &["keys", "create", "--account", "stranger"])
}

/// Returns the URL of the dashboard.
fn dashboard_url(data: &Path) -> String {
    let link = stdout(data, &["token", "--link"]);
    link.split_once("/#code=").expect("a link with a code").0.to_owned()
}

/// Stores a memory of almost a megabyte at [`WALRUS`].
fn store_walrus(server: &Server) {
    let body = json!({"content": format!("# Walrus\n\n{}", "walrus ".repeat(140_000))});
    assert_eq!(server.post("/v1/memories/facts/walrus.md", &body).status, 201);
}

const WALRUS: &str = "/v1/memories/facts/walrus.md";

#[test]
fn unauthenticated_bodies_do_not_use_the_accounts_memory() {
    let (_folder, data) = fresh();
    let server = Server::start_configured(&data, "[server]\nbody_memory_mib = 16\nbody_timeout_ms = 600000\n");
    let page = dashboard_url(&data);
    // Parsed, these bodies would use almost all of the accounts' memory.
    let part = "{".repeat(24_000);
    let mut held = Vec::new();
    for (address, method, path) in [
        (&server.url, "POST", "/v1/billing/notifications"),
        (&server.url, "GET", "/health"),
        (&server.url, "GET", "/v1/media/x/content"),
        (&page, "POST", "/session"),
    ] {
        for _ in 0..20 {
            held.push(send(
                address,
                (request_head(method, path, None, "content-length: 60000\r\n") + &part).as_bytes(),
            ));
        }
    }
    for _ in 0..5 {
        let body = json!({"content": "a".repeat(900_000)});
        let answer = server.post(WALRUS, &body);
        assert!(matches!(answer.status, 200 | 201), "{answer:?}");
    }
    drop(held);
}

#[test]
fn a_body_announced_as_too_large_is_refused_before_it_is_sent() {
    let (_folder, data) = fresh();
    let server = Server::start_configured(&data, "[git]\naccept_push = true\n");
    server.remember("default", &["The ferry leaves at nine"]);
    let page = dashboard_url(&data);
    let key = Some(server.key.as_str());
    for (address, method, path, key) in [
        (&server.url, "POST", "/v1/memories", key),
        (&server.url, "POST", "/v1/media", key),
        (&server.url, "GET", "/v1/tree", key),
        (&server.url, "GET", "/v1/whoami", key),
        (&server.url, "GET", "/v1/retrieve?q=ferry", key),
        (&server.url, "POST", "/v1/mcp", key),
        (&server.url, "POST", "/v1/git/default/git-receive-pack", key),
        (&server.url, "POST", "/v1/billing/notifications", None),
        (&server.url, "GET", "/health", None),
        (&page, "POST", "/session", None),
        (&page, "POST", "/markdown", key),
    ] {
        for expect in ["", "expect: 100-continue\r\n"] {
            let further = format!("content-length: 1000000000000\r\n{expect}");
            let mut stream = send(address, request_head(method, path, key, &further).as_bytes());
            // The read ends because the server closes the connection.
            let answer = String::from_utf8_lossy(&read_to_close(&mut stream)).to_ascii_lowercase();
            assert!(answer.starts_with("http/1.1 413"), "{path} {expect}: {answer}");
            assert!(answer.contains("connection: close"), "{path}: {answer}");
        }
    }
    // The server asks for a body within the limit.
    let further = "content-length: 2\r\nexpect: 100-continue\r\n";
    let mut stream = send(&server.url, request_head("POST", "/v1/namespaces", key, further).as_bytes());
    assert!(read_head(&mut stream).starts_with("http/1.1 100"));
}

#[test]
fn a_refusal_without_the_body_announces_that_the_connection_closes() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let page = dashboard_url(&data);
    let (key, wrong) = (Some(server.key.as_str()), Some("svc_live_wrong"));
    for (address, method, path, key, status) in [
        (&server.url, "POST", "/v1/memories", None, 401),
        (&server.url, "POST", "/v1/memories", wrong, 403),
        (&server.url, "DELETE", "/v1/keys/x", key, 403),
        (&server.url, "POST", "/v1/nothing", key, 404),
        (&server.url, "PUT", "/v1/memories", key, 404),
        (&server.url, "POST", "/v1/memories?user_id=ann", key, 400),
        (&server.url, "POST", "/v1/mcp", wrong, 403),
        (&server.url, "POST", "/v1/git/default/git-receive-pack", None, 401),
        (&server.url, "POST", "/v1/git/default/git-receive-pack", key, 403),
        (&page, "POST", "/markdown", None, 401),
        (&page, "POST", "/features", None, 404),
    ] {
        // Of a body of a megabyte, the client has sent the first bytes.
        let further = "content-length: 1048576\r\n";
        let mut stream = send(address, (request_head(method, path, key, further) + "{}").as_bytes());
        let answer = read_head(&mut stream);
        assert!(answer.starts_with(&format!("http/1.1 {status}")), "{method} {path}: {answer}");
        assert!(answer.contains("connection: close"), "{method} {path}: {answer}");
    }
}

#[test]
fn a_connection_is_kept_after_a_refusal_with_a_small_body() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let refused = request_head("POST", "/v1/memories", None, "content-length: 40000\r\n") + &"a".repeat(40_000);
    let last = request_head("GET", "/health", None, "connection: close\r\n");
    let mut stream = connect(&server.url);
    stream.write_all(refused.as_bytes()).expect("sends");
    let answer = read_head(&mut stream);
    assert!(answer.starts_with("http/1.1 401") && !answer.contains("connection: close"), "{answer}");
    stream.write_all(last.as_bytes()).expect("sends");
    let answers = String::from_utf8_lossy(&read_to_close(&mut stream)).to_ascii_lowercase();
    assert!(answers.contains("http/1.1 200"), "{answers}");
}

#[test]
fn a_chunked_body_is_refused_once_it_is_too_large() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let head = request_head("POST", "/v1/billing/notifications", None, "transfer-encoding: chunked\r\n");
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    wait_for("an exchange in which the client does not pause", || {
        let began = Instant::now();
        let mut stream = send(&server.url, head.as_bytes());
        // The server discards the rest of the body, so that the client can read the error after sending.
        let is_sent = (0..40).all(|_| stream.write_all(chunk.as_bytes()).is_ok());
        let answer = read_head(&mut stream);
        let is_refused = is_sent && answer.starts_with("http/1.1 413");
        assert!(is_refused || began.elapsed() >= DISCARD_PAUSE_MAX, "sent: {is_sent}, answer: {answer}");
        is_refused
    });
}

#[test]
fn deeply_nested_json_is_refused_on_every_route() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let page = dashboard_url(&data);
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let conversation = |levels: usize| {
        format!(r#"{{"messages":[{{"role":"user","content":[{{"type":"x","d":{}}}]}}]}}"#, nested(levels))
    };
    let post = |address: &str, path: &str, body: String| -> (u16, String) {
        let request = Client::new().post(format!("{address}{path}")).bearer_auth(&server.key);
        let request = request.header("content-type", "application/json").body(body);
        let response = request.send().expect("answers");
        (response.status().as_u16(), response.text().unwrap_or_default())
    };
    // The conversation adds five levels around the nested value.
    assert_eq!(post(&server.url, "/v1/memories", conversation(59)).0, 202);
    for (address, path, body) in [
        (&server.url, "/v1/memories", conversation(60)),
        (&server.url, "/v1/memories", conversation(121)),
        (&server.url, "/v1/vocab", nested(100_000)),
        (&server.url, "/v1/conversations", nested(65)),
        (&server.url, "/v1/mcp", nested(65)),
        (&page, "/markdown", nested(65)),
        (&page, "/v1/skills", nested(65)),
    ] {
        let (status, text) = post(address, path, body);
        assert!(
            status == 400 && text.contains("invalid_body") && text.contains("64 levels"),
            "{path}: {status} {text}"
        );
    }
    // Brackets inside strings do not count as levels.
    let text = json!({"messages": [{"role": "user", "content": "[{".repeat(500)}]});
    assert_eq!(post(&server.url, "/v1/memories", text.to_string()).0, 202);
}

#[test]
fn a_request_head_above_the_limit_is_refused() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let long = |bytes: usize| request_head("GET", "/health", None, &format!("x-long: {}\r\n", "a".repeat(bytes)));
    let mut fits = send(&server.url, long(31 << 10).as_bytes());
    assert!(read_head(&mut fits).starts_with("http/1.1 200"));
    for bytes in [33 << 10, 40_000, 60_000] {
        let mut whole = send(&server.url, long(bytes).as_bytes());
        assert!(read_head(&mut whole).starts_with("http/1.1 431"), "{bytes} in one piece");
        let text = long(bytes);
        let (first, last) = text.split_at(20_000);
        let mut parts = send(&server.url, first.as_bytes());
        parts.write_all(last.as_bytes()).expect("sends");
        assert!(read_head(&mut parts).starts_with("http/1.1 431"), "{bytes} in two pieces");
    }
}

#[test]
fn clients_that_read_nothing_are_cut_off_after_the_timeout() {
    let (_folder, data) = fresh();
    let server = Server::start_configured(&data, "[server]\nwrite_timeout_ms = 500\n");
    store_walrus(&server);
    let request = request_head("GET", WALRUS, Some(&server.key), "");
    let held: Vec<TcpStream> = (0..20).map(|_| send(&server.url, request.as_bytes())).collect();
    for stream in held {
        // The test neither reads nor writes, so the reset shows as an error of the socket.
        wait_for("the client to be cut off", || matches!(stream.take_error(), Ok(Some(_))));
    }
}

#[test]
fn unread_answers_are_held_within_the_memory_budget() {
    let (_folder, data) = fresh();
    let server = Server::start_configured(&data, "[server]\nbody_memory_mib = 16\nwrite_timeout_ms = 600000\n");
    store_walrus(&server);
    let other = other_account_key(&data);
    assert_eq!(server.call_as(&other, "GET", "/v1/whoami", None).status, 200);
    let before = server.peak_bytes();
    let request = request_head("GET", WALRUS, Some(&server.key), "");
    let mut held: Vec<TcpStream> = (0..120).map(|_| send(&server.url, request.as_bytes())).collect();
    // An answer takes more memory while it is made. Afterwards there may be room for the answers of further clients.
    for stream in &mut held {
        assert!(read_head(stream).starts_with("http/1.1 "));
    }
    wait_for("the memory budget to be used up", || {
        assert!(held.len() < 120 + UNREAD_MAX, "{UNREAD_MAX} further answers were made");
        let mut stream = send(&server.url, request.as_bytes());
        let is_refused = read_head(&mut stream).starts_with("http/1.1 503");
        held.push(stream);
        is_refused
    });
    let refused: Answer = server.get(WALRUS);
    assert_eq!((refused.status, refused.retry_after.as_deref()), (503, Some("1")), "{refused:?}");
    // Another account can still read and write, and this account can still read small responses.
    let small = json!({"content": "# Seal\n\nA seal sleeps on the slipway."});
    assert_eq!(server.call_as(&other, "POST", "/v1/memories/facts/seal.md", Some(&small)).status, 201);
    assert_eq!(server.call_as(&other, "GET", "/v1/memories/facts/seal.md", None).status, 200);
    assert_eq!(server.get("/v1/usage").status, 200);
    let grown = server.peak_bytes().saturating_sub(before);
    assert!(grown < 256 << 20, "{} MiB", grown >> 20);
    drop(held);
    wait_for("the memory to be free again", || server.get(WALRUS).status == 200);
}

#[test]
fn the_first_long_replies_are_made_within_the_memory_budget() {
    let (_folder, data) = fresh();
    let server = Server::start_configured(&data, "[server]\nbody_memory_mib = 16\nwrite_timeout_ms = 600000\n");
    for number in 0..LONG_MEMORIES {
        let body = json!({"content": format!("# Seal {number}\n\n{}", "seal ".repeat(190_000))});
        assert_eq!(server.post(&format!("/v1/memories/facts/seal-{number}.md"), &body).status, 201);
    }
    let before = server.peak_bytes();
    let path = format!("/v1/retrieve?q=seal&limit={LONG_MEMORIES}");
    let request = request_head("GET", &path, Some(&server.key), "");
    let mut held: Vec<TcpStream> = (0..12).map(|_| send(&server.url, request.as_bytes())).collect();
    for stream in &mut held {
        let head = read_head(stream);
        assert!(head.starts_with("http/1.1 503") && head.contains("retry-after: 1"), "{head}");
    }
    // A reply that does not fit into the budget is given up while it is read.
    let grown = server.peak_bytes().saturating_sub(before);
    assert!(grown < 80 << 20, "{} MiB", grown >> 20);
    assert_eq!(server.get("/v1/retrieve?q=seal&limit=4").status, 200);
}

/// Sends requests one after the other and reads only the heads of the answers. Checks that the server soon refuses one,
/// serves another account meanwhile, and answers again once the connections are closed. The server must have 16 MiB of
/// memory for bodies.
fn assert_unread_answers_are_bounded(server: &Server, path: &str) {
    let other = other_account_key(&server.data);
    assert_eq!(server.get(path).status, 200);
    let request = request_head("GET", path, Some(&server.key), "");
    let (mut held, mut refusal) = (Vec::new(), String::new());
    while refusal.is_empty() && held.len() < UNREAD_MAX {
        let mut stream = send(&server.url, request.as_bytes());
        let head = read_head(&mut stream);
        if head.starts_with("http/1.1 200") {
            held.push(stream);
        } else {
            refusal = head;
        }
    }
    let is_refused = refusal.starts_with("http/1.1 503") && refusal.contains("retry-after: 1");
    assert!(!held.is_empty() && is_refused, "{} unread answers: {refusal}", held.len());
    let refused: Answer = server.get(path);
    assert_eq!((refused.status, refused.retry_after.as_deref()), (503, Some("1")), "{refused:?}");
    assert_eq!(server.call_as(&other, "GET", "/v1/whoami", None).status, 200);
    drop(held);
    wait_for("the memory to be free again", || server.get(path).status == 200);
}

#[test]
fn unread_retrieves_are_held_within_the_memory_budget() {
    let (_folder, data) = fresh();
    let server = Server::start_configured(&data, "[server]\nbody_memory_mib = 16\nwrite_timeout_ms = 600000\n");
    store_walrus(&server);
    assert_unread_answers_are_bounded(&server, "/v1/retrieve?q=walrus&limit=200");
}

#[test]
fn unread_trees_are_held_within_the_memory_budget() {
    let (folder, data) = fresh();
    let settings = "[git]\naccept_push = true\n[server]\nbody_memory_mib = 16\nwrite_timeout_ms = 600000\n";
    let server = Server::start_configured(&data, settings);
    let copy_folder = folder.path().join("copy");
    let copy = WorkingCopy::of(&server, "default", &copy_folder);
    let directory = format!("facts/{0}/{0}", "ridge-".repeat(18));
    std::fs::create_dir_all(copy_folder.join(&directory)).expect("creates");
    for number in 0..LISTED_MEMORIES {
        let file = copy_folder.join(format!("{directory}/n{number}.md"));
        std::fs::write(file, format!("# Cairn {number}\n")).expect("writes");
    }
    copy.commit(&format!("{directory}/last.md"), "# The last cairn\n");
    assert!(copy.push());
    assert_unread_answers_are_bounded(&server, &format!("/v1/tree?path={directory}"));
}

fn upload(server: &Server, bytes: Vec<u8>) -> (String, String) {
    let request = Client::new().post(format!("{}/v1/media", server.url)).bearer_auth(&server.key);
    let response = request.header("content-type", "image/png").body(bytes).send().expect("answers");
    assert_eq!(response.status(), 201);
    let body: Value = response.json().expect("JSON");
    let id = body["id"].as_str().expect("an id").to_owned();
    let address = server.get(&format!("/v1/media/{id}"));
    (id, address.body["url"].as_str().expect("an address").to_owned())
}

#[test]
fn unread_downloads_of_one_address_take_little_memory() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let mut bytes = vec![0_u8; 30 << 20];
    Rng::with_seed(1).fill(&mut bytes);
    let (_, url) = upload(&server, bytes.clone());
    let other = other_account_key(&data);
    let before = server.peak_bytes();
    let path = url.strip_prefix(&server.url).expect("its own address");
    let request = request_head("GET", path, None, "");
    let mut held: Vec<TcpStream> = (0..200).map(|_| send(&server.url, request.as_bytes())).collect();
    let heads: Vec<String> = held.iter_mut().map(read_head).collect();
    let sent = heads.iter().filter(|head| head.starts_with("http/1.1 200")).count();
    assert!(sent >= 32 && heads.iter().all(|head| head.contains(" 200 ") || head.contains(" 503 ")), "{sent}");
    assert_eq!(server.call_as(&other, "GET", "/v1/usage", None).status, 200);
    let grown = server.peak_bytes().saturating_sub(before);
    assert!(grown < 100 << 20, "{} MiB", grown >> 20);
    drop(held);
    wait_for("a download", || {
        let response = Client::new().get(&url).send().expect("answers");
        if response.status() != 200 {
            return false;
        }
        assert_eq!(response.content_length(), Some(bytes.len() as u64));
        response.bytes().expect("the whole file") == bytes
    });
}

/// Returns the file below a folder that has a length.
fn file_of_length(folder: &Path, bytes: u64) -> PathBuf {
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("lists").flatten() {
            let data = entry.metadata().expect("reads the metadata");
            if data.is_dir() {
                folders.push(entry.path());
            } else if data.len() == bytes {
                return entry.path();
            }
        }
    }
    panic!("no file of {bytes} bytes");
}

#[test]
fn a_changed_upload_is_not_served_as_complete() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    for length in [1_234_u64, 200_001] {
        let bytes = vec![7; usize::try_from(length).expect("fits")];
        let (_, url) = upload(&server, bytes.clone());
        assert_eq!(Client::new().get(&url).send().expect("answers").bytes().expect("bytes"), bytes);
        let file = file_of_length(&data.join("media"), length);
        let mut damaged = bytes.clone();
        damaged[600] = 8;
        for wrong in [&damaged[..], &bytes[..1000]] {
            std::fs::write(&file, wrong).expect("writes");
            let whole = Client::new().get(&url).send().and_then(reqwest::blocking::Response::bytes);
            assert!(whole.is_err(), "{length}: {} bytes were served", wrong.len());
        }
    }
    assert!(server.log().contains("differs from its upload"), "{}", server.log());
}

#[test]
fn one_account_cannot_take_every_request_slot() {
    let provider = Provider::start();
    let (_folder, data) = fresh();
    // A request that waits for the model occupies its slot for that time.
    let settings = format!(
        "{}embedding_deadline_ms = 1000\n[server]\nrequests = 4\n[retrieval]\nconcurrency = 2\n",
        provider.embedding_settings()
    );
    let server = Server::start_with_models(&data, &settings);
    let other = other_account_key(&data);
    assert_eq!(server.call_as(&other, "POST", "/v1/namespaces", Some(&json!({"name": "own"}))).status, 201);
    provider.embedding_fault(Some(Fault::Silence));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (server, done) = (&server, &done);
        let _stop = SetOnDrop(done);
        for n in 0..12 {
            scope.spawn(move || {
                while !done.load(Ordering::SeqCst) {
                    server.post(&format!("/v1/memories/facts/{n}.md"), &json!({"content": format!("# Weir {n}")}));
                }
            });
            scope.spawn(move || {
                while !done.load(Ordering::SeqCst) {
                    server.retrieve("default", &format!("q=weir+{n}"));
                }
            });
        }
        wait_for("every request slot to be taken", || server.get("/v1/usage").status == 503);
        wait_for("every retrieval slot to be taken", || server.retrieve("default", "q=weir").status == 503);
        for _ in 0..50 {
            let answer = server.call_as(&other, "GET", "/v1/usage", None);
            assert_eq!(answer.status, 200, "{answer:?}");
            assert_eq!(server.call_as(&other, "GET", "/v1/tree?namespace=own", None).status, 200);
        }
        for _ in 0..3 {
            let answer = server.call_as(&other, "GET", "/v1/retrieve?namespace=own&q=weir", None);
            assert_eq!(answer.status, 200, "{answer:?}");
        }
    });
}

/// Returns a line in git's format, with its length in front.
fn packet_line(text: &str) -> String {
    format!("{:04x}{text}", text.len() + 4)
}

#[test]
fn slow_clones_by_one_account_leave_room_for_another() {
    let (_folder, data) = fresh();
    let server = Server::start_configured(&data, "[server]\nwrite_timeout_ms = 600000\n");
    // Content that does not compress and exceeds the buffers between server and client.
    for n in 0..8_u64 {
        let mut random = Rng::with_seed(n);
        let text: String = (0..45_000).map(|_| format!("{:016x} ", random.u64(..))).collect();
        let answer = server.post(&format!("/v1/memories/facts/{n}.md"), &json!({"content": text}));
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    let other = other_account_key(&data);
    assert_eq!(server.call_as(&other, "POST", "/v1/namespaces", Some(&json!({"name": "own"}))).status, 201);
    let references = |key: &str, namespace: &str| {
        let path = format!("/v1/git/{namespace}/info/refs?service=git-upload-pack");
        let mut stream = send(&server.url, request_head("GET", &path, Some(key), "connection: close\r\n").as_bytes());
        String::from_utf8_lossy(&read_to_close(&mut stream)).into_owned()
    };
    let text = references(&server.key, "default");
    let end = text.find(" HEAD").expect("a head");
    let wanted = packet_line(&format!("want {} side-band-64k ofs-delta\n", &text[end - 40..end]));
    let body = format!("{wanted}0000{}", packet_line("done\n"));
    let further = format!("content-length: {}\r\n", body.len());
    let request = request_head("POST", "/v1/git/default/git-upload-pack", Some(&server.key), &further) + &body;
    let mut held = Vec::new();
    wait_for("every transfer slot to be taken", || {
        let mut stream = send(&server.url, request.as_bytes());
        let answer = read_head(&mut stream);
        held.push(stream);
        answer.starts_with("http/1.1 503")
    });
    assert!(held.len() > 30, "{} clones at once", held.len());
    assert!(references(&server.key, "default").starts_with("HTTP/1.1 503"));
    for _ in 0..10 {
        let answer = references(&other, "own");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

#[test]
fn the_account_with_most_connections_loses_them_first() {
    let (_folder, data) = fresh();
    let settings = "[server]\nconnections = 5\nheader_timeout_ms = 600000\nbody_timeout_ms = 600000\n";
    let server = Server::start_configured(&data, settings);
    let other = other_account_key(&data);
    let mut patient = connect(&server.url);
    let whoami = |stream: &mut TcpStream, key: &str| {
        stream.write_all(request_head("GET", "/v1/whoami", Some(key), "").as_bytes()).expect("sends");
        read_head(stream)
    };
    // This connection is idle for longer than all others.
    assert!(whoami(&mut patient, &other).starts_with("http/1.1 200"));
    let mut held = Vec::new();
    for _ in 0..30 {
        let mut stream = connect(&server.url);
        assert!(whoami(&mut stream, &server.key).starts_with("http/1.1 200"));
        held.push(stream);
    }
    assert!(whoami(&mut patient, &other).starts_with("http/1.1 200"), "the connection of the other account was closed");
}

#[test]
fn the_animals_api_is_rate_limited_per_account() {
    let (_folder, data) = fresh();
    let address = free_address();
    let file = data.with_extension("toml");
    std::fs::write(&file, "[rate_limit]\nrequests_per_minute = 5\n").expect("writes");
    let options = ["--pets-listen", &address, "--config", file.to_str().expect("a path")];
    let server = Server::start_with(&data, &options);
    let list =
        || Client::new().get(format!("http://{address}/v1/pets")).bearer_auth(&server.key).send().expect("answers");
    let refused = (0..20).map(|_| list()).find(|response| response.status() != 200).expect("a refusal");
    assert_eq!(refused.status(), 429);
    assert!(refused.headers().contains_key("retry-after"), "{refused:?}");
    let body: Value = refused.json().expect("JSON");
    assert_eq!((&body["code"], &body["status"]), (&json!("rate_limited"), &json!(429)), "{body}");
}
