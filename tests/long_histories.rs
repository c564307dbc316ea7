//! Facts with thousands of values: what they cost other accounts, and what is answered about them.

use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::support::{Server, fresh, stdout};

/// Writes about one fact, and values in each. A cost that grows with the cube of the values takes many minutes here.
const WRITES: usize = 16;
const VALUES_PER_WRITE: usize = 250;
const QUESTION: &str = "How+much+did+Ann+weigh+in+May+2026?";

/// Stores thousands of values of one fact, the later ones on later days.
fn server_with_values(data: &std::path::Path) -> Server {
    let server = Server::start(data);
    for write in 0..WRITES {
        let mut messages: Vec<Value> = Vec::new();
        for number in 0..VALUES_PER_WRITE {
            let content = format!("I weigh {} kg.", write * VALUES_PER_WRITE + number);
            messages.push(json!({"role": "user", "name": "Ann", "content": content}));
        }
        let occurred_at = format!("2026-05-{:02}T09:00:00Z", write + 1);
        let sent = server.post("/v1/memories", &json!({"messages": messages, "occurred_at": occurred_at}));
        assert_eq!(sent.status, 202, "{sent:?}");
    }
    server.drain();
    server
}

#[test]
fn questions_about_a_fact_with_thousands_of_values_do_not_stop_another_account() {
    let (_folder, data) = fresh();
    let server = server_with_values(&data);
    let guest = stdout(&data, &["keys", "create", "--account", "guest"]);
    let made = server.call_as(&guest, "POST", "/v1/namespaces", Some(&json!({"name": "default"})));
    assert!(matches!(made.status, 200 | 201), "{made:?}");
    let address = server.url.strip_prefix("http://").expect("a URL");
    let authorization = format!("authorization: Bearer {}", server.key);
    let mut clients = Vec::new();
    for _ in 0..4 {
        let mut client = TcpStream::connect(address).expect("connects");
        let head = format!("GET /v1/retrieve?q={QUESTION} HTTP/1.1\r\nhost: x\r\n{authorization}\r\n\r\n");
        client.write_all(head.as_bytes()).expect("sends");
        clients.push(client);
    }
    drop(clients);
    let answer = server.call_as(&guest, "GET", "/v1/retrieve?q=boat", None);
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[test]
fn the_last_of_thousands_of_values_is_the_present_one() {
    let (_folder, data) = fresh();
    let server = server_with_values(&data);
    let last = format!("{} kg", WRITES * VALUES_PER_WRITE - 1);
    let found = server.retrieve("default", "q=How+much+does+Ann+weigh?").contents();
    assert!(found.first().is_some_and(|first| first.contains(&last)), "{found:?}");
    let profile = server.get("/v1/profile?subject=Ann");
    let claims = profile.body["claims"].as_array().expect("claims");
    let current: Vec<&Value> = claims.iter().filter(|claim| claim["current"] == true).collect();
    assert_eq!(current.len(), 1, "{current:?}");
    assert_eq!(current[0]["value"], last);
    // The history is whole: the first values have their ends.
    let then = server.get("/v1/profile?subject=Ann&as_of=2026-05-01T10:00:00Z");
    let claims = then.body["claims"].as_array().expect("claims");
    let current: Vec<&Value> = claims.iter().filter(|claim| claim["current"] == true).collect();
    assert_eq!(current.len(), 1, "{current:?}");
    assert_eq!(current[0]["value"], format!("{} kg", VALUES_PER_WRITE - 1));
}
