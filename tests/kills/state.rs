//! What a client can read of a data directory, without ids and times.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{CREATED, DELETED, NAMESPACE};
use crate::support::conversation_state::ConversationState;
use crate::support::{Server, recorded_memories};

/// Words of memories, each in one memory at most.
static WORDS: [&str; 9] =
    ["bollard", "hawser", "capstan", "davit", "fender", "gramophone", "harmonium", "astrolabe", "sextant"];

/// What a client can read of a data directory.
#[derive(Debug, PartialEq)]
pub(super) struct State {
    /// Number of memories in the record of each namespace.
    counts: BTreeMap<&'static str, u64>,
    /// Contents of the memories, by namespace and path.
    memories: BTreeMap<String, String>,
    /// Number of hits that contain each word.
    hits: BTreeMap<&'static str, usize>,
    /// The managed conversation, if it exists.
    conversation: Option<ConversationState>,
    /// Number of kept conversations.
    sources: usize,
    /// Bytes of all uploads.
    media_bytes: Value,
}

impl State {
    /// Reads the state once all accepted writes are processed.
    pub(super) fn read(server: &Server, conversation: &str) -> Self {
        server.drain();
        let (mut counts, mut memories) = (BTreeMap::new(), BTreeMap::new());
        for namespace in [NAMESPACE, DELETED, CREATED] {
            if recorded_memories(server, namespace).is_none() {
                continue;
            }
            for path in server.memory_paths(namespace) {
                let read = server.get(&format!("/v1/memories/{path}?namespace={namespace}"));
                memories.insert(format!("{namespace} {path}"), read.body["content"].to_string());
            }
            // Read after the namespace was opened.
            counts.extend(recorded_memories(server, namespace).map(|count| (namespace, count)));
        }
        let mut hits = BTreeMap::new();
        for word in WORDS {
            let contents = server.retrieve(NAMESPACE, &format!("q={word}&limit=10")).contents();
            hits.insert(word, contents.iter().filter(|content| content.contains(word)).count());
        }
        let sources = server.get(&format!("/v1/sources?namespace={NAMESPACE}")).body["sources"].clone();
        Self {
            counts,
            memories,
            hits,
            conversation: ConversationState::read(server, conversation),
            sources: sources.as_array().expect("sources").len(),
            media_bytes: server.get("/v1/usage").body["used"]["media_bytes"].clone(),
        }
    }
}
