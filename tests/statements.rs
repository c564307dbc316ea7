//! The built-in extractor on single sentences: it keeps 300 statements in six languages, which their questions find, and
//! drops 150 pieces of small talk.
//!
//! The test prints its figures: `cargo test --release --test blackbox -- statements --nocapture`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Server, fresh, git};

/// Tab-separated `language`, `kind`, `asked`, `statement`, `query`, `word`. `asked` is empty if no question precedes the
/// statement.
const STATEMENTS: &str = include_str!("data/statements.tsv");
/// Tab-separated `language` and `text`.
const SMALL_TALK: &str = include_str!("data/small-talk.tsv");
/// Least number of kept statements per 1,000.
const KEPT_PER_MILLE_MIN: usize = 990;
/// Least number of statements per 1,000 that their question finds within the default 24 hits.
const FOUND_PER_MILLE_MIN: usize = 900;
/// Least number of dropped pieces of small talk per 1,000.
const DROPPED_PER_MILLE_MIN: usize = 900;

struct Statement {
    language: &'static str,
    asked: &'static str,
    statement: &'static str,
    query: &'static str,
    /// A part of the statement that no other statement contains.
    word: &'static str,
}

fn rows() -> Vec<Statement> {
    let mut rows = Vec::new();
    for line in STATEMENTS.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [language, _kind, asked, statement, query, word] = fields[..] else { panic!("six fields: {line}") };
        rows.push(Statement { language, asked, statement, query, word });
    }
    rows
}

/// Counts of statements in one language.
#[derive(Default)]
struct Figures {
    rows: usize,
    kept: usize,
    found: usize,
    found_in_three: usize,
}

fn write(server: &Server, namespace: &str, messages: &Value) {
    let body = json!({"namespace": namespace, "messages": messages});
    let answer = server.post("/v1/memories", &body);
    assert_eq!(answer.status, 202, "{answer:?}");
}

/// Returns the current file of every memory, with front matter.
fn files(server: &Server, namespace: &str) -> Vec<String> {
    let repository = server.repository(namespace);
    let listed = git(&repository, &["-c", "core.quotepath=off", "ls-tree", "-r", "--name-only", "HEAD"]);
    let mut files = Vec::new();
    for path in listed.lines() {
        files.push(git(&repository, &["show", &format!("HEAD:{path}")]));
    }
    files
}

/// Returns the text of a memory's file below the front matter.
fn body(file: &str) -> &str {
    file.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).map_or(file, |(_, body)| body)
}

/// Percent-encodes a query.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[test]
fn single_sentences_are_kept_and_found_by_their_question() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let rows = rows();
    assert_eq!(rows.len(), 300);
    server.namespace("statements");
    for row in &rows {
        let said = json!({"role": "user", "name": "Robin", "content": row.statement});
        if row.asked.is_empty() {
            write(&server, "statements", &json!([said]));
        } else {
            write(&server, "statements", &json!([{"role": "assistant", "content": row.asked}, said]));
        }
    }
    server.settle("statements");
    let files = files(&server, "statements");
    let mut languages: BTreeMap<&str, Figures> = BTreeMap::new();
    for row in &rows {
        let figures = languages.entry(row.language).or_default();
        figures.rows += 1;
        let holds = |text: &str| text.contains(row.word) && text.contains(row.asked);
        if files.iter().any(|file| holds(body(file))) {
            figures.kept += 1;
        } else {
            println!("not kept: {} {:?}", row.language, row.statement);
        }
        let hits = server.retrieve("statements", &format!("q={}", encoded(row.query))).hits();
        let place = hits.iter().position(|hit| hit["content"].as_str().is_some_and(holds));
        match place {
            Some(place) => {
                figures.found += 1;
                figures.found_in_three += usize::from(place < 3);
            }
            None => println!("not found: {} {:?} by {:?}", row.language, row.statement, row.query),
        }
    }
    let mut total = Figures::default();
    for (language, Figures { rows, kept, found, found_in_three }) in languages {
        println!(
            "{language}: {rows} statements, {kept} kept, {found} found, {found_in_three} of them among the first three"
        );
        total.rows += rows;
        total.kept += kept;
        total.found += found;
        total.found_in_three += found_in_three;
    }
    println!("all: {} kept, {} found, {} among the first three", total.kept, total.found, total.found_in_three);
    assert!(total.kept * 1000 >= total.rows * KEPT_PER_MILLE_MIN, "{} of {} are kept", total.kept, total.rows);
    assert!(total.found * 1000 >= total.rows * FOUND_PER_MILLE_MIN, "{} of {} are found", total.found, total.rows);
}

#[test]
fn small_talk_is_dropped() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let mut languages: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut pieces = Vec::new();
    server.namespace("talk");
    for line in SMALL_TALK.lines().skip(1) {
        let (language, text) = line.split_once('\t').expect("two fields");
        write(&server, "talk", &json!([{"role": "user", "name": "Robin", "content": text}]));
        pieces.push((language, text));
    }
    assert_eq!(pieces.len(), 150);
    server.settle("talk");
    let files = files(&server, "talk");
    let mut dropped_in_all = 0;
    for (language, text) in &pieces {
        let title = format!("# Robin: {text}");
        let is_kept = files.iter().any(|file| body(file).split_whitespace().eq(title.split_whitespace()));
        let (pieces, dropped) = languages.entry(language).or_default();
        *pieces += 1;
        if is_kept {
            println!("kept: {language} {text:?}");
        } else {
            *dropped += 1;
            dropped_in_all += 1;
        }
    }
    for (language, (pieces, dropped)) in languages {
        println!("{language}: {dropped} of {pieces} pieces of small talk are dropped");
    }
    // The count of files detects pieces that were stored in another form instead of dropped.
    assert_eq!(files.len() - 1, pieces.len() - dropped_in_all, "{files:?}");
    assert!(
        dropped_in_all * 1000 >= pieces.len() * DROPPED_PER_MILLE_MIN,
        "{dropped_in_all} of {} are dropped",
        pieces.len()
    );
}

#[test]
fn thanks_after_a_question_do_not_change_the_question() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let asked = json!({"role": "user", "name": "Bo", "content": "Which city?"});
    write(&server, "default", &json!([asked, {"role": "user", "name": "Noor", "content": "Thanks!"}]));
    server.settle("default");
    let bodies: Vec<String> = files(&server, "default").iter().map(|file| body(file).trim().to_owned()).collect();
    assert!(bodies.contains(&"# Bo: Which city?".to_owned()), "{bodies:?}");
    assert!(bodies.iter().all(|body| !body.contains("Thanks")), "{bodies:?}");
}
