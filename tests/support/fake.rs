//! A small HTTP server with scripted responses, which imitates a payment provider, an identity issuer, a model
//! provider or another memory service.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use serde_json::Value;

/// A request to a fake server.
pub(crate) struct FakeRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) authorization: String,
    /// The header `X-API-Key`.
    pub(crate) api_key: String,
    pub(crate) body: Value,
}

/// The response of a fake server.
pub(crate) enum FakeResponse {
    /// A status and a JSON body.
    Json(u16, Value),
    /// A status, a `retry-after` in seconds, and a JSON body.
    RetryAfter(u16, u64, Value),
    /// A status and a plain text body.
    Text(u16, String),
    /// No response: the connection is closed.
    Closed,
    /// No response: the connection stays open until the client closes it.
    Silence,
}

/// Starts a server on a free port, which runs until the process exits, and returns its URL.
pub(crate) fn serve(answer: impl Fn(&FakeRequest) -> FakeResponse + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || serve_connection(&stream, answer.as_ref()));
        }
    });
    url
}

fn serve_connection(stream: &TcpStream, answer: &dyn Fn(&FakeRequest) -> FakeResponse) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader) {
        let (status, content_type, body, retry_after) = match answer(&request) {
            FakeResponse::Json(status, body) => (status, "application/json", body.to_string(), String::new()),
            FakeResponse::RetryAfter(status, seconds, body) => {
                (status, "application/json", body.to_string(), format!("retry-after: {seconds}\r\n"))
            }
            FakeResponse::Text(status, body) => (status, "text/plain", body, String::new()),
            FakeResponse::Closed => return,
            FakeResponse::Silence => {
                let _ = reader.read(&mut [0]);
                return;
            }
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\n{retry_after}content-length: {length}\r\n\r\n"
        );
        if (&mut &*stream).write_all(format!("{head}{body}").as_bytes()).is_err() {
            return;
        }
    }
}

/// Reads a request; `None` when the client has closed the connection.
fn read_request(reader: &mut BufReader<&TcpStream>) -> Option<FakeRequest> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut parts = line.split_whitespace();
    let (method, path) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let (mut length, mut authorization, mut api_key) = (0, String::new(), String::new());
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "authorization" => value.trim().clone_into(&mut authorization),
            "x-api-key" => value.trim().clone_into(&mut api_key),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(FakeRequest { method, path, authorization, api_key, body })
}
