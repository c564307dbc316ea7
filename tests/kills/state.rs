//! What a client can read of a data directory, without ids and times.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{DELETED, NAMESPACE, text};
use crate::support::Server;
use crate::support::conversation_state::ConversationState;

/// Words of memories, each in one memory at most.
static WORDS: [&str; 9] =
    ["bollard", "hawser", "capstan", "davit", "fender", "gramophone", "harmonium", "astrolabe", "sextant"];

/// What a client can read of a data directory.
#[derive(Debug, PartialEq)]
pub(super) struct State {
    namespaces: BTreeSet<String>,
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
        let listed = server.get("/v1/namespaces").body["namespaces"].clone();
        let namespaces: BTreeSet<String> =
            listed.as_array().expect("namespaces").iter().map(|namespace| text(&namespace["name"])).collect();
        let mut memories = BTreeMap::new();
        for namespace in [NAMESPACE, DELETED] {
            if !namespaces.contains(namespace) {
                continue;
            }
            for path in server.memory_paths(namespace) {
                let read = server.get(&format!("/v1/memories/{path}?namespace={namespace}"));
                memories.insert(format!("{namespace} {path}"), text(&read.body["content"]));
            }
        }
        let mut hits = BTreeMap::new();
        for word in WORDS {
            let contents = server.retrieve(NAMESPACE, &format!("q={word}&limit=10")).contents();
            hits.insert(word, contents.iter().filter(|content| content.contains(word)).count());
        }
        let sources = server.get(&format!("/v1/sources?namespace={NAMESPACE}")).body["sources"].clone();
        Self {
            namespaces,
            memories,
            hits,
            conversation: ConversationState::read(server, conversation),
            sources: sources.as_array().expect("sources").len(),
            media_bytes: server.get("/v1/usage").body["used"]["media_bytes"].clone(),
        }
    }
}
