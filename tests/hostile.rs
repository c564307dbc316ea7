//! Slow, silent, half-closed and greedy clients, and their effect on other clients.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::time::Duration;

use crate::support::{Answer, Server, fresh, wait_for};

/// Short limits for the arrival of a request. A client that is only delayed may exceed them, too.
const SHORT_TIMEOUTS: &str = "[server]\nconnections = 8\nheader_timeout_ms = 300\nbody_timeout_ms = 300\n";
/// Limits for tests whose clients must not be cut off while they send.
const LONG_TIMEOUTS: &str = "[server]\nconnections = 8\nheader_timeout_ms = 10000\nbody_timeout_ms = 10000\n";

fn server_with_short_timeouts(data: &Path) -> Server {
    Server::start_configured(data, SHORT_TIMEOUTS)
}

fn server_with_long_timeouts(data: &Path) -> Server {
    Server::start_configured(data, LONG_TIMEOUTS)
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.url.trim_start_matches("http://")).expect("connects");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    stream
}

/// Sends raw bytes and reads until the server closes the connection.
fn exchange(server: &Server, bytes: &[u8]) -> String {
    let mut stream = connect(server);
    // The server may refuse before everything is sent.
    let _ = stream.write_all(bytes);
    rest(&mut stream)
}

fn rest(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Returns the status of another client's request, sent on a new connection.
fn status_for_another_client(server: &Server) -> u16 {
    try_another_client(server).expect("answers")
}

fn try_another_client(server: &Server) -> reqwest::Result<u16> {
    let client = reqwest::blocking::Client::builder().timeout(Duration::from_secs(30)).build().expect("a client");
    let request = client.get(format!("{}/v1/whoami", server.url)).bearer_auth(&server.key);
    Ok(request.send()?.status().as_u16())
}

#[test]
fn silent_clients_do_not_block_others() {
    let (_folder, data) = fresh();
    // The timeouts are long, so only eviction of idle connections lets other clients in.
    let server = Server::start_configured(
        &data,
        "[server]\nconnections = 4\nheader_timeout_ms = 600000\nbody_timeout_ms = 600000\n",
    );
    let mut held = Vec::new();
    for number in 0..40 {
        let mut stream = connect(&server);
        match number % 3 {
            0 => {}
            1 => stream.write_all(b"GET /health HT").expect("sends"),
            _ => {
                let head = format!(
                    "POST /v1/memories HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: 100\r\n\r\n{{",
                    server.key
                );
                stream.write_all(head.as_bytes()).expect("sends");
            }
        }
        held.push(stream);
    }
    for _ in 0..10 {
        assert_eq!(status_for_another_client(&server), 200);
    }
    drop(held);
}

#[test]
fn an_incomplete_head_or_body_ends_the_connection() {
    let (_folder, data) = fresh();
    let server = server_with_short_timeouts(&data);
    assert!(!exchange(&server, b"GET /health HTTP/1.1\r\nhost:").contains("200 OK"));
    let head = format!(
        "POST /v1/memories HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: 100\r\n\r\n{{",
        server.key
    );
    // A pause of the test between connecting and sending is an incomplete head, which has no answer.
    wait_for("the body to be refused", || {
        let answer = exchange(&server, head.as_bytes());
        let is_refused =
            answer.starts_with("HTTP/1.1 400") && answer.contains("invalid_body") && answer.contains("in time");
        assert!(is_refused || answer.is_empty(), "{answer}");
        is_refused
    });
    // One byte at a time does not keep the connection open either.
    let mut stream = connect(&server);
    let mut sent = 0;
    wait_for("the drip to be cut off", || {
        sent += 1;
        stream.write_all(b"x").is_err() || stream.write_all(b"-").is_err() || sent > 100_000
    });
    // A delayed client exceeds the short limit, too.
    wait_for("another client to be served", || matches!(try_another_client(&server), Ok(200)));
}

#[test]
fn oversized_or_invalid_request_heads_are_refused() {
    let (_folder, data) = fresh();
    let server = server_with_long_timeouts(&data);
    let long = format!("GET /health HTTP/1.1\r\nhost: x\r\nx-long: {}\r\n\r\n", "a".repeat(200 << 10));
    // Closing with unread input may discard the 431 response.
    assert!(!exchange(&server, long.as_bytes()).contains("200 OK"), "a long header");
    let many = format!("GET /health HTTP/1.1\r\nhost: x\r\n{}\r\n", "a: b\r\n".repeat(150));
    assert!(exchange(&server, many.as_bytes()).starts_with("HTTP/1.1 431"), "many headers");
    let target = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "a".repeat(200 << 10));
    assert!(!exchange(&server, target.as_bytes()).contains("200 OK"), "a long target");
    for nonsense in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01"[..],
        b"GET\r\n\r\n",
        b"GET /health HTTP/9.9\r\n\r\n",
        b"\r\n\r\n\r\n\0\0\0\0",
    ] {
        assert!(!exchange(&server, nonsense).contains("200 OK"));
    }
    let lengths = format!(
        "POST /v1/memories HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: -5\r\n\r\n",
        server.key
    );
    assert!(exchange(&server, lengths.as_bytes()).starts_with("HTTP/1.1 400"));
    let both = "POST /v1/memories HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n";
    assert!(!exchange(&server, both.as_bytes()).contains(" 202 "));
    assert_eq!(status_for_another_client(&server), 200);
}

#[test]
fn a_client_may_pipeline_and_may_close_its_sending_half() {
    let (_folder, data) = fresh();
    let server = server_with_long_timeouts(&data);
    let mut stream = connect(&server);
    let request = format!("GET /v1/whoami HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\r\n", server.key);
    stream.write_all(request.repeat(5).as_bytes()).expect("sends");
    stream.shutdown(Shutdown::Write).expect("closes");
    assert_eq!(rest(&mut stream).matches("HTTP/1.1 200 OK").count(), 5);
}

#[test]
fn a_client_that_reads_nothing_is_disconnected() {
    let (_folder, data) = fresh();
    let server = Server::start_configured(&data, "[server]\nconnections = 8\nwrite_timeout_ms = 300\n");
    let body = serde_json::json!({"content": format!("# Walrus\n\n{}", "walrus ".repeat(140_000))});
    assert_eq!(server.post("/v1/memories/facts/walrus.md", &body).status, 201);
    // As many clients as there are connections request far more than the socket buffers hold, and never read.
    let request =
        format!("GET /v1/memories/facts/walrus.md HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\r\n", server.key);
    let mut held: Vec<TcpStream> = Vec::new();
    for _ in 0..8 {
        let mut stream = connect(&server);
        stream.write_all(request.repeat(60).as_bytes()).expect("sends");
        held.push(stream);
    }
    // Connections become free because the writes to the other clients time out.
    assert_eq!(status_for_another_client(&server), 200);
    drop(held);
}

#[test]
fn bodies_in_flight_share_one_memory_budget() {
    let (_folder, data) = fresh();
    let server = Server::start_configured(&data, "[server]\nbody_memory_mib = 8\nbody_timeout_ms = 600000\n");
    let upload = |bytes: usize| {
        let mut stream = connect(&server);
        let head = format!(
            "POST /v1/media HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: {bytes}\r\n\r\n",
            server.key
        );
        stream.write_all(head.as_bytes()).expect("sends");
        stream
    };
    let status = |stream: &mut TcpStream| {
        let mut start = [0; 256];
        let read = stream.read(&mut start).expect("answers");
        String::from_utf8_lossy(&start[..read]).to_ascii_lowercase()
    };
    wait_for("the budget to be spent", || {
        // The first body lacks its last byte, so the server holds it; the body that arrives second is refused.
        // Sending fails if a body is refused and the client then pauses for two seconds.
        let mut held = upload(7 << 20);
        if held.write_all(&vec![1; (7 << 20) - 1]).is_err() {
            return false;
        }
        let mut second = upload(2 << 20);
        if second.write_all(&vec![1; 2 << 20]).is_err() {
            return false;
        }
        let answer = status(&mut second);
        assert!(answer.starts_with("http/1.1 201") || answer.starts_with("http/1.1 503"), "{answer}");
        assert_eq!(answer.starts_with("http/1.1 503"), answer.contains("retry-after: 1"), "{answer}");
        assert_eq!(status_for_another_client(&server), 200, "requests without a body are answered");
        answer.starts_with("http/1.1 503")
    });
    // The held body was dropped, which frees its part of the budget.
    wait_for("the budget to be free again", || {
        let mut third = upload(7 << 20);
        third.write_all(&vec![1; 7 << 20]).is_ok() && status(&mut third).starts_with("http/1.1 201")
    });
}

#[test]
fn bodies_that_expand_when_parsed_are_refused_before_parsing() {
    let (_folder, data) = fresh();
    let server = Server::start_configured(&data, "[server]\nbody_memory_mib = 128\n");
    let objects = |count: usize| format!("{{\"messages\":[{}{{}}]}}", "{\"a\":0},".repeat(count)).into_bytes();
    let send =
        |body: Vec<u8>| server.request("POST", "/v1/memories", Some(&format!("Bearer {}", server.key)), Some(body));
    // A body within the memory budget is parsed, and rejected because it holds no messages.
    let small = send(objects(20_000));
    assert_eq!((small.status, small.code()), (400, "invalid_body"), "{small:?}");
    let before = server.resident_bytes();
    // Each body is within the byte limit and would take 700 MiB once parsed.
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..8).map(|_| scope.spawn(|| send(objects(1_000_000)))).collect();
        clients.into_iter().map(|client| client.join().expect("no panic")).collect()
    });
    for answer in answers {
        let refused = (answer.status, answer.code()) == (413, "payload_too_large") || answer.status == 503;
        assert!(refused, "{answer:?}");
    }
    let grown = server.peak_bytes() - before;
    assert!(grown < 400 << 20, "{} MiB", grown >> 20);
}

#[test]
fn oversized_bodies_are_refused() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let body = vec![b' '; (8 << 20) + 1];
    for (method, path) in [
        ("POST", "/v1/memories"),
        ("POST", "/v1/memories/facts/a.md"),
        ("POST", "/v1/vocab"),
        ("POST", "/v1/skills"),
        ("POST", "/v1/answer"),
        ("POST", "/v1/explain"),
        ("POST", "/v1/namespaces"),
        ("POST", "/v1/conversations"),
    ] {
        let answer = server.request(method, path, Some(&format!("Bearer {}", server.key)), Some(body.clone()));
        assert_eq!((answer.status, answer.code()), (413, "payload_too_large"), "{path}");
    }
    let open = server.request("POST", "/v1/billing/notifications", None, Some(body));
    assert_eq!((open.status, open.code()), (413, "payload_too_large"));
}
