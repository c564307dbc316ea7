//! Drafts into memory files, and memory files into what the index takes.

use std::collections::HashSet;

use cuebase_retrieval::Relation as IndexRelation;
use cuebase_retrieval::{Cue, Memory};
use cuebase_storage::memory_file::{
    FrontMatter, MemoryFile, MemoryPath, OccurredPrecision, OccurredSource, Relation, SourceMessage, Tier, markdown,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::cues;
use super::draft::Link;
use crate::memory::conversation::Conversation;
use crate::memory::draft::Draft;

/// What a hit carries beside the fields that retrieval itself works with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Details {
    /// How exact the time is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurred_precision: Option<OccurredPrecision>,
    /// Where the time comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurred_source: Option<OccurredSource>,
    /// A skill's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A skill's description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// When it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The messages that it was made from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceMessage>,
}

/// A write whose conversation drafts were made from.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The id that its `202` returned.
    pub write: Ulid,
    /// What it carried.
    pub conversation: &'a Conversation,
}

impl Origin<'_> {
    /// The file of a draft, which names this write in its sources.
    pub fn file_of(&self, draft: &Draft, paths: &[String], now: Timestamp) -> MemoryFile {
        let mut file = of_draft(draft, paths, self.conversation, now);
        for source in &mut file.front.sources {
            source.write = Some(self.write.to_string());
        }
        file
    }
}

/// The file of a draft, its links pointing at the paths that all drafts of the conversation were given.
pub fn of_draft(draft: &Draft, paths: &[String], conversation: &Conversation, now: Timestamp) -> MemoryFile {
    let relation = |link: &Link| {
        let path = paths.get(link.draft)?.clone();
        Some(Relation { path, kind: link.kind.to_owned(), snippet: link.snippet.clone() })
    };
    let front = FrontMatter {
        tags: conversation.tags.clone(),
        inferred_tags: draft.inferred_tags.iter().filter(|tag| !conversation.tags.contains(tag)).cloned().collect(),
        confidence: draft.confidence,
        cues: draft.cues.clone(),
        entities: draft.entities.clone(),
        speaker: Some(draft.speaker.clone()).filter(|speaker| !speaker.is_empty()),
        created_at: Some(now),
        updated_at: Some(now),
        occurred_at: Some(draft.occurred.at),
        occurred_precision: Some(draft.occurred.precision),
        occurred_source: Some(draft.occurred_source),
        sources: draft
            .messages
            .iter()
            .map(|message| SourceMessage {
                session_id: conversation.session_id.clone(),
                message: *message as u64,
                write: None,
            })
            .collect(),
        relations: draft.links.iter().filter_map(relation).chain(draft.relations.iter().cloned()).collect(),
        expires_at: draft.expires_at,
        ..FrontMatter::default()
    };
    MemoryFile { front, body: draft.body.clone() }
}

/// The texts of a memory that are embedded: its cues, or what stands in for them.
pub fn cue_texts(front: &FrontMatter, body: &str) -> Vec<String> {
    if front.cues.is_empty() { cues::of_markdown(body) } else { front.cues.clone() }
}

/// What the index takes of a file at a path. `vector_of` gives the vector of a cue, all zero for a text that has none;
/// where it gives nothing, the memory waits for its vectors.
pub fn to_memory(path: &MemoryPath, file: MemoryFile, vector_of: &dyn Fn(&str) -> Option<Vec<f32>>) -> Memory {
    let texts = cue_texts(&file.front, &file.body);
    let MemoryFile { front, body } = file;
    let mut waiting = false;
    let embedded = |text: String| {
        let found = vector_of(&text);
        waiting |= found.is_none();
        Cue { text, vector: found.filter(|vector| vector.iter().any(|value| *value != 0.0)) }
    };
    let cues = texts.into_iter().map(embedded).collect();
    let mut relations: Vec<IndexRelation> = front
        .relations
        .into_iter()
        .map(|relation| IndexRelation { path: relation.path, kind: relation.kind, snippet: relation.snippet })
        .collect();
    let mut related: HashSet<String> = relations.iter().map(|relation| relation.path.clone()).collect();
    for target in markdown::links(path.as_str(), &body) {
        if related.insert(target.clone()) {
            relations.push(IndexRelation { path: target, kind: "links".into(), snippet: String::new() });
        }
    }
    let millis = |at: Option<Timestamp>| at.map(Timestamp::as_millisecond);
    let session = front.sources.first().and_then(|source| source.session_id.clone());
    let details = Details {
        occurred_precision: front.occurred_precision,
        occurred_source: front.occurred_source,
        name: front.name,
        description: front.description,
        expires_at: front.expires_at,
        sources: front.sources,
    };
    // A file that somebody pushed may hold any number of either.
    let own: HashSet<&String> = front.tags.iter().collect();
    let mut inferred_tags = front.inferred_tags;
    inferred_tags.retain(|tag| !own.contains(tag));
    let sorted = |mut tags: Vec<String>| {
        tags.sort();
        tags.dedup();
        tags
    };
    Memory {
        path: path.as_str().to_owned(),
        content: body,
        cues,
        speaker: front.speaker,
        entities: front.entities,
        user_tags: sorted(front.tags),
        inferred_tags: sorted(inferred_tags),
        created: millis(front.created_at),
        updated: millis(front.updated_at),
        occurred: millis(front.occurred_at),
        // Only incidents pass out of retrieval.
        hidden_from: millis(front.expires_at).filter(|_| path.tier() == Tier::Incidents),
        session,
        relations,
        // Plain fields; their JSON cannot fail.
        details: serde_json::to_string(&details).unwrap_or_default(),
        waiting,
    }
}
