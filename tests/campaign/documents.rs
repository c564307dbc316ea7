//! The clients of the campaign that upload documents, delete kept conversations and erase text.
//!
//! As in [`super::clients`], a client records its acknowledged writes. For a last write that was not answered it records
//! both possible results.

use std::collections::BTreeSet;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::clients::{note_sent, record, remark, text, upload, write_file};
use super::writes::{RecordedWrite, WriteLog};
use super::{Campaign, ERASED, IMPORTED, NAMESPACES, send, send_as};
use crate::support::Server;

/// Documents that are uploaded and changed per round.
const DOCUMENTS_PER_ROUND: u32 = 3;
/// Conversations per round of which every second is deleted.
const SOURCES_PER_ROUND: u32 = 2;

/// A section of a document: the letter in its heading, and the version in which its text changed.
type Section = (char, u32);

/// The versions of a document, in order. The client sends the first one, or more of them.
static DOCUMENT_VERSIONS: [&[Section]; 4] = [
    &[('a', 1), ('b', 1), ('c', 1)],
    // A section is inserted, another one changes, and one is removed.
    &[('a', 1), ('d', 2), ('b', 2)],
    // The document is deleted, then uploaded again.
    &[],
    &[('a', 1), ('b', 1), ('c', 1)],
];

/// Returns the token in the text of a section.
fn section_token(number: u32, (letter, version): Section) -> String {
    format!("doc{number}{letter}{version}p")
}

/// Returns a document with one passage per section.
fn manual(number: u32, sections: &[Section]) -> String {
    let mut markdown = format!("# Manual {number}\n");
    for section in sections {
        let token = section_token(number, *section);
        markdown += &format!("\n## Section {}\n\nThe crane {token} lifts crates from the quay.\n", section.0);
    }
    markdown
}

/// Returns a conversation of one message with a token, which is also its session.
fn conversation(namespace: &str, token: &str) -> Value {
    let message = json!({"role": "user", "content": remark(token)});
    json!({"namespace": namespace, "session_id": token, "messages": [message]})
}

impl Campaign {
    /// Uploads documents, replaces them, deletes them and uploads them again, depending on their numbers.
    pub(super) fn documents(&self, server: &Server, log: &Mutex<WriteLog>) -> Option<()> {
        for _ in 0..DOCUMENTS_PER_ROUND {
            let number = self.next_number();
            let namespace = NAMESPACES[number as usize % NAMESPACES.len()];
            let versions = 1 + number as usize % DOCUMENT_VERSIONS.len();
            let id = format!("manual-{number}");
            let mut tokens = BTreeSet::new();
            let mut possible = vec![Vec::new()];
            let mut answered = Some(());
            for sections in &DOCUMENT_VERSIONS[..versions] {
                let next: Vec<String> = sections.iter().map(|section| section_token(number, *section)).collect();
                for token in &next {
                    if tokens.insert(token.clone()) {
                        note_sent(log, namespace, token);
                    }
                }
                answered = if sections.is_empty() {
                    let path = format!("/v1/documents/{id}?namespace={namespace}");
                    send(server, "DELETE", &path, &Value::Null).map(drop)
                } else {
                    upload(server, namespace, &id, &manual(number, sections))
                };
                // Without an answer it is unknown whether the version was accepted.
                if answered.is_none() {
                    possible.push(next);
                    break;
                }
                possible = vec![next];
            }
            record(log, RecordedWrite::Document { namespace: namespace.to_owned(), id, tokens, possible });
            answered?;
        }
        Some(())
    }

    /// Sends conversations and deletes what is kept of every second one once it is ingested. Their memories stay.
    ///
    /// The namespace has a short queue, so that the wait does not outlast the other clients.
    pub(super) fn sources(&self, server: &Server, log: &Mutex<WriteLog>) -> Option<()> {
        for turn in 0..SOURCES_PER_ROUND {
            let token = format!("kept{}s", self.next_number());
            note_sent(log, IMPORTED, &token);
            let written = send(server, "POST", "/v1/memories?wait=30", &conversation(IMPORTED, &token))?;
            let id = text(&written, "id");
            let mut possible = vec![true];
            let mut deleted = Some(Value::Null);
            if turn % 2 == 1 && written["status"] == "ingested" {
                let path = format!("/v1/sources/{id}?namespace={IMPORTED}");
                deleted = send(server, "DELETE", &path, &Value::Null);
                possible = if deleted.is_some() { vec![false] } else { vec![true, false] };
            }
            record(log, RecordedWrite::Source { namespace: IMPORTED.to_owned(), id, token, possible });
            deleted?;
        }
        Some(())
    }

    /// Writes text and erases it: a conversation by its session, or a memory with an earlier version by its path.
    pub(super) fn erasures(&self, server: &Server, log: &Mutex<WriteLog>) -> Option<()> {
        let number = self.next_number();
        let token = format!("erased{number}h");
        note_sent(log, ERASED, &token);
        let (route, selection) = if number.is_multiple_of(2) {
            let accepted = send(server, "POST", "/v1/memories", &conversation(ERASED, &token))?;
            let route = format!("/v1/sources/{}", text(&accepted, "id"));
            (route, json!({"namespace": ERASED, "session_id": token}))
        } else {
            let path = format!("facts/erased/{number}.md");
            for version in 1..=2 {
                write_file(server, ERASED, &path, &format!("# Note {token}, version {version}\n"))?;
            }
            (format!("/v1/memories/{path}"), json!({"namespace": ERASED, "paths": [path]}))
        };
        let erased = send_as(server, &self.session, "POST", "/v1/erase", &selection);
        let possible = if erased.is_some() { vec![false] } else { vec![true, false] };
        let route = format!("{route}?namespace={ERASED}");
        record(log, RecordedWrite::Erased { token, route, possible });
        erased.map(drop)
    }
}
