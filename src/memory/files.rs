//! Makes memory files of drafts, and index entries of memory files.

use std::collections::HashSet;

use cuebase_language::claims::attributes::{self, Cardinality};
use cuebase_language::claims::names;
use cuebase_language::extract::draft::Draft;
use cuebase_language::standing::{NOT_STANDING_TAG, STANDING_TAG};
use cuebase_retrieval::Relation as IndexRelation;
use cuebase_retrieval::{Claim as IndexClaim, ClaimKind, Cue, Memory, MetadataValue as IndexValue, Validity};
use cuebase_storage::MessageId;
use cuebase_storage::memory_file::{
    DocumentPlace, FrontMatter, MemoryFile, MemoryPath, Metadata, MetadataValue, OccurredPrecision, OccurredSource,
    Polarity, Relation, RelationKind, SourceMessage, Tier, markdown,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Number;

use super::{cues, statement};
use crate::memory::conversation::Conversation;

/// The fields of a hit that retrieval stores but does not use itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Details {
    /// Precision of the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurred_precision: Option<OccurredPrecision>,
    /// Source of the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurred_source: Option<OccurredSource>,
    /// End of the period that begins at the time, if the text names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurred_until: Option<Timestamp>,
    /// Name of a skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Description of a skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Expiry of the memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The place in the document that the memory is a passage of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<DocumentPlace>,
    /// The messages that the memory was extracted from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceMessage>,
}

/// The write that drafts were extracted from.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The id that the write's `202` returned.
    pub write: MessageId,
    /// The conversation that was written.
    pub conversation: &'a Conversation,
    /// The messages of the session before it, as sources.
    pub before: &'a [SourceMessage],
    /// The link of the first memory to the last one of the write before.
    pub follows: Option<&'a Relation>,
}

impl Origin<'_> {
    /// Returns the file of a draft, with this write in its sources.
    pub fn file_of(&self, draft: &Draft, paths: &[String], now: Timestamp) -> MemoryFile {
        let mut file = of_draft(draft, paths, self.conversation, now);
        for source in &mut file.front.sources {
            source.write = Some(self.write.to_string());
        }
        // All drafts but the first follow another one.
        if !draft.links.iter().any(|link| link.kind == RelationKind::Follows) {
            file.front.relations.extend(self.follows.cloned());
        }
        for message in &draft.before {
            file.front.sources.extend(self.before.get(*message).cloned());
        }
        file
    }
}

/// Returns the file of a draft. `paths` are the paths of all drafts of the conversation, to which the draft's links
/// refer.
pub fn of_draft(draft: &Draft, paths: &[String], conversation: &Conversation, now: Timestamp) -> MemoryFile {
    let mut inferred_tags = draft.inferred.tags.clone();
    inferred_tags.retain(|tag| !conversation.tags.contains(tag));
    let speaker = if draft.speaker.is_empty() { None } else { Some(draft.speaker.clone()) };
    let front = FrontMatter {
        tags: conversation.tags.clone(),
        inferred_tags,
        metadata: conversation.metadata.clone(),
        confidence: draft.inferred.confidence,
        cues: draft.cues.clone(),
        entities: draft.entities.clone(),
        speaker,
        created_at: Some(now),
        updated_at: Some(now),
        occurred_at: Some(draft.occurred.at),
        occurred_precision: Some(draft.occurred.precision),
        occurred_source: Some(draft.occurred_source),
        occurred_until: draft.inferred.occurred_until,
        sources: source_messages(draft, conversation),
        relations: relations(draft, paths),
        claims: draft.inferred.claims.clone(),
        expires_at: draft.inferred.expires_at,
        ..FrontMatter::default()
    };
    MemoryFile { front, body: draft.body.clone() }
}

fn source_messages(draft: &Draft, conversation: &Conversation) -> Vec<SourceMessage> {
    let mut sources = Vec::with_capacity(draft.messages.len());
    for message in &draft.messages {
        let session_id = conversation.session_id.clone();
        sources.push(SourceMessage {
            session_id,
            message: *message as u64,
            write: None,
            said_at: draft.inferred.said_at,
        });
    }
    sources
}

/// Returns a draft's links to other drafts as relations to their paths, followed by the draft's own relations.
fn relations(draft: &Draft, paths: &[String]) -> Vec<Relation> {
    let mut relations = Vec::with_capacity(draft.links.len() + draft.inferred.relations.len());
    for link in &draft.links {
        if let Some(path) = paths.get(link.draft) {
            relations.push(Relation { path: path.clone(), kind: link.kind.clone(), snippet: link.snippet.clone() });
        }
    }
    relations.extend(draft.inferred.relations.iter().cloned());
    relations
}

/// Returns the texts of a memory that are embedded: its cues, or those derived from its body.
pub fn cue_texts(front: &FrontMatter, body: &str) -> Vec<String> {
    if front.cues.is_empty() { cues::of_markdown(body) } else { front.cues.clone() }
}

/// Returns the index entry of a file. `vector_of` returns the vector of a cue, or zeros for a text that has no vector.
/// If it returns `None` for any cue, the memory waits for its vectors.
pub fn to_memory(path: &MemoryPath, file: MemoryFile, vector_of: &dyn Fn(&str) -> Option<Vec<f32>>) -> Memory {
    let texts = cue_texts(&file.front, &file.body);
    let MemoryFile { front, body } = file;
    let mut waiting = false;
    let mut cues = Vec::with_capacity(texts.len());
    for text in texts {
        let vector = vector_of(&text);
        waiting |= vector.is_none();
        let vector = vector.filter(|vector| vector.iter().any(|value| *value != 0.0));
        cues.push(Cue { text, vector });
    }
    let claims = index_claims(&front);
    let statement = if front.sources.is_empty() { String::new() } else { statement::of_body(&body) };
    let sequence = sequence_of(&front.sources);
    let validity = Validity {
        from: milliseconds(begin(&front)),
        until: milliseconds(front.valid_until),
        supersedes: other_paths(front.supersedes, path),
    };
    let session = front.sources.first().and_then(|source| source.session_id.clone());
    let details = Details {
        occurred_precision: front.occurred_precision,
        occurred_source: front.occurred_source,
        occurred_until: front.occurred_until,
        name: front.name,
        description: front.description,
        expires_at: front.expires_at,
        document: front.document,
        sources: front.sources,
    };
    let relations = index_relations(path, front.relations, &body);
    // A pushed file may have any number of tags.
    let own: HashSet<&String> = front.tags.iter().collect();
    let mut inferred_tags = with_standing(front.inferred_tags, front.standing);
    inferred_tags.retain(|tag| !own.contains(tag));
    // Only incidents expire from retrieval.
    let hidden_from = if path.tier() == Tier::Incidents { milliseconds(front.expires_at) } else { None };
    Memory {
        path: path.as_str().to_owned(),
        content: body,
        cues,
        speaker: front.speaker,
        entities: front.entities,
        user_tags: sorted(front.tags),
        inferred_tags: sorted(inferred_tags),
        created: milliseconds(front.created_at),
        updated: milliseconds(front.updated_at),
        occurred: milliseconds(front.occurred_at),
        hidden_from,
        session,
        relations,
        claims,
        sequence,
        statement,
        validity,
        metadata: index_metadata(front.metadata),
        // The JSON of these plain fields cannot fail.
        details: serde_json::to_string(&details).unwrap_or_default(),
        waiting,
    }
}

/// Returns the position of a memory among those of its write: that of its first message.
fn sequence_of(sources: &[SourceMessage]) -> u32 {
    match sources.first() {
        Some(source) => u32::try_from(source.message).unwrap_or(u32::MAX),
        None => 0,
    }
}

/// Returns the metadata of a memory for the index, without values that nothing can filter by.
fn index_metadata(metadata: Metadata) -> Vec<(String, IndexValue)> {
    let mut indexed = Vec::with_capacity(metadata.len());
    for (key, value) in metadata {
        let value = match value {
            MetadataValue::Boolean(value) => Some(IndexValue::Boolean(value)),
            MetadataValue::Text(value) => Some(IndexValue::Text(value)),
            MetadataValue::Number(number) => match number.as_i128() {
                Some(integer) => Some(IndexValue::Integer(integer)),
                None => number.as_f64().map(IndexValue::Float),
            },
            MetadataValue::Other(_) => None,
        };
        if let Some(value) = value {
            indexed.push((key, value));
        }
    }
    indexed
}

/// Returns the metadata of a memory of the index.
pub fn stored_metadata(indexed: &[(String, IndexValue)]) -> Metadata {
    let mut metadata = Metadata::new();
    for (key, value) in indexed {
        let number = match value {
            IndexValue::Boolean(value) => {
                metadata.insert(key.clone(), MetadataValue::Boolean(*value));
                continue;
            }
            IndexValue::Text(value) => {
                metadata.insert(key.clone(), MetadataValue::Text(value.clone()));
                continue;
            }
            IndexValue::Integer(value) => Number::from_i128(*value),
            IndexValue::Float(value) => Number::from_f64(*value),
        };
        // Every number of a file is one of JSON.
        if let Some(number) = number {
            metadata.insert(key.clone(), MetadataValue::Number(number));
        }
    }
    metadata
}

/// Returns when a memory begins to hold, if that is not the time that it is about: "the launch is on 20 May" holds since
/// it was said.
fn begin(front: &FrontMatter) -> Option<Timestamp> {
    if front.valid_from.is_some() {
        return front.valid_from;
    }
    let about = front.occurred_at?;
    let mut begin = None;
    for said_at in front.sources.iter().filter_map(|source| source.said_at) {
        if said_at < about && begin.is_none_or(|begin| said_at < begin) {
            begin = Some(said_at);
        }
    }
    begin
}

/// Returns the claims of a memory for the index. Without a time of its own, a claim has that of the memory.
pub fn index_claims(front: &FrontMatter) -> Vec<IndexClaim> {
    let at = begin(front).or(front.occurred_at).or(front.created_at);
    let mut claims = Vec::with_capacity(front.claims.len());
    for claim in &front.claims {
        let attribute = names::attribute(&claim.attribute);
        let kind = match (claim.polarity, attributes::cardinality(&attribute)) {
            (Polarity::Negative, _) => ClaimKind::Ended,
            (Polarity::Positive, Cardinality::One) => ClaimKind::Only,
            (Polarity::Positive, Cardinality::Many) => ClaimKind::Another,
        };
        claims.push(IndexClaim {
            subject: names::subject(&claim.subject),
            attribute,
            value: names::value(&claim.value),
            kind,
            from: milliseconds(claim.from.or(at)),
        });
    }
    claims
}

/// Returns the relations of a memory for the index: those of its front matter and one for each link in its body.
fn index_relations(path: &MemoryPath, relations: Vec<Relation>, body: &str) -> Vec<IndexRelation> {
    let mut related = HashSet::with_capacity(relations.len());
    let mut index_relations = Vec::with_capacity(relations.len());
    for Relation { path, kind, snippet } in relations {
        related.insert(path.clone());
        index_relations.push(IndexRelation { path, kind: kind.into(), snippet });
    }
    for target in markdown::links(path.as_str(), body) {
        if related.insert(target.clone()) {
            index_relations.push(IndexRelation {
                path: target,
                kind: RelationKind::Links.into(),
                snippet: String::new(),
            });
        }
    }
    index_relations
}

/// Returns the paths that differ from a memory's own: a pushed file can name itself, but no memory replaces itself.
fn other_paths(mut paths: Vec<String>, own: &MemoryPath) -> Vec<String> {
    paths.retain(|path| path != own.as_str());
    paths
}

fn milliseconds(time: Option<Timestamp>) -> Option<i64> {
    time.map(Timestamp::as_millisecond)
}

/// Returns the tags of extraction, changed by what somebody set about standing.
fn with_standing(mut tags: Vec<String>, standing: Option<bool>) -> Vec<String> {
    let Some(stands) = standing else { return tags };
    tags.retain(|tag| tag != STANDING_TAG);
    tags.push(if stands { STANDING_TAG } else { NOT_STANDING_TAG }.to_owned());
    tags
}

fn sorted(mut tags: Vec<String>) -> Vec<String> {
    tags.sort();
    tags.dedup();
    tags
}
