//! A small HTTP server of a test's own: a payment provider, an issuer of identities, whatever it answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use serde_json::Value;

/// What was asked.
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) authorization: String,
    pub(crate) body: Value,
}

/// What is answered.
pub(crate) enum Told {
    /// A status and a JSON body.
    Json(u16, Value),
    /// The same with a `retry-after` in seconds.
    Later(u16, u64, Value),
    /// Something that is no JSON.
    Text(u16, String),
    /// Nothing: the connection is closed.
    Nothing,
    /// Nothing, and the connection stays open until the other side gives up.
    Silence,
}

/// Serves on a free port until the process ends; returns its address.
pub(crate) fn serve(answer: impl Fn(&Asked) -> Told + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || speak(&stream, answer.as_ref()));
        }
    });
    url
}

fn speak(stream: &TcpStream, answer: &dyn Fn(&Asked) -> Told) {
    let mut reader = BufReader::new(stream);
    while let Some(asked) = read(&mut reader) {
        let (status, kind, body, later) = match answer(&asked) {
            Told::Json(status, body) => (status, "application/json", body.to_string(), String::new()),
            Told::Later(status, seconds, body) => {
                (status, "application/json", body.to_string(), format!("retry-after: {seconds}\r\n"))
            }
            Told::Text(status, body) => (status, "text/plain", body, String::new()),
            Told::Nothing => return,
            Told::Silence => {
                let _ = reader.read(&mut [0]);
                return;
            }
        };
        let head =
            format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n{later}content-length: {}\r\n\r\n", body.len());
        if (&mut &*stream).write_all(format!("{head}{body}").as_bytes()).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<&TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut parts = line.split_whitespace();
    let (method, path) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let (mut length, mut authorization) = (0, String::new());
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "authorization" => value.trim().clone_into(&mut authorization),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { method, path, authorization, body: serde_json::from_slice(&body).unwrap_or(Value::Null) })
}
