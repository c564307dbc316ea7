//! The view of a memory that the API returns and that its clients read.

use cuebase_language::tokenize::any_term;
use cuebase_retrieval::{Memory, Relation, ValidityState};
use cuebase_storage::memory_file::{
    DocumentPlace, Metadata, OccurredPrecision, OccurredSource, SourceMessage, markdown,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arm::Arm;
use super::explanation::ExplanationView;
use super::history::{History, RevisionView, histories};
use super::search_result::{FoundMemory, SearchPlace, SearchResult};
use crate::error::Result;
use crate::memory::files::{Details, stored_metadata};
use crate::memory::time::format_ms;
use crate::memory::values::Name;
use crate::memory::values::StoredMetadata;
use crate::namespace::heads::commit_at;
use crate::service::search_threads::pause;

/// A memory as the API returns it.
///
/// The MCP tools read it from the response of a server, whose version may differ. A field that the response lacks is
/// empty.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(
    rename = "Hit",
    description = "A memory. `detail=full` adds `revisions`, `last_diff`, `relations`, `cues` and `sources`."
)]
pub struct HitView {
    /// Path of the memory.
    pub path: String,
    /// Body of the memory, as markdown.
    pub content: String,
    /// Names of sections. A search returns those that contain a word of the query, a read by path returns all.
    pub sections: Vec<String>,
    /// Probability that the memory answers the query; 1 without a query.
    #[schemars(extend("minimum" = 0, "maximum" = 1))]
    pub score: f32,
    /// How the memory was found.
    #[serde(flatten)]
    pub found: FoundBy,
    /// When the memory holds.
    #[serde(flatten)]
    pub validity: HitValidity,
    /// The times of the memory.
    #[serde(flatten)]
    pub times: HitTimes,
    /// What the memory can be filtered by.
    #[serde(flatten)]
    pub labels: HitLabels,
    /// The place in its document. Absent unless the memory is a passage of a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DocumentPlaceView")]
    pub document: Option<DocumentPlaceView>,
    /// The times under their deprecated names.
    #[serde(flatten)]
    pub deprecated: DeprecatedTimes,
    /// The fields that `detail=full` adds.
    #[serde(flatten)]
    pub full: Option<FullView>,
}

/// How a memory was found.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FoundBy {
    /// The arms that found the memory; none without a query.
    pub matched: Vec<Arm>,
    /// Path of the hit that the memory is related to, if only the graph found the memory.
    pub via: Option<String>,
    /// Namespace of the memory. Absent unless the request names several namespaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Name")]
    pub namespace: Option<String>,
    /// What the score was made from. Absent unless the request has `explain=true` and a query.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ExplanationView")]
    pub explanation: Option<Box<ExplanationView>>,
}

/// When a memory holds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HitValidity {
    /// Whether the memory holds: at present, or at the time of `as_of`.
    pub current: bool,
    /// When the memory began to hold. Null if unknown.
    #[schemars(extend("format" = "date-time"))]
    pub valid_from: Option<String>,
    /// When the memory stopped holding. Null while it holds.
    #[schemars(extend("format" = "date-time"))]
    pub valid_until: Option<String>,
    /// Paths of the memories that this one ended.
    pub supersedes: Vec<String>,
    /// Paths of the memories that ended this one.
    pub superseded_by: Vec<String>,
    /// Paths of memories that say the same and are not hits of their own.
    pub also: Vec<String>,
}

/// A response of an older server says nothing about validity, so its memories hold.
impl Default for HitValidity {
    fn default() -> Self {
        Self {
            current: true,
            valid_from: None,
            valid_until: None,
            supersedes: Vec::new(),
            superseded_by: Vec::new(),
            also: Vec::new(),
        }
    }
}

impl HitValidity {
    /// Makes the view of a memory's validity. `set` are the paths that the memory itself says it replaces.
    pub(in crate::service) fn of(state: ValidityState, also: Vec<String>, set: &[String]) -> Self {
        let mut supersedes = state.supersedes;
        supersedes.extend_from_slice(set);
        supersedes.sort();
        supersedes.dedup();
        Self {
            current: state.current,
            valid_from: format_time(state.from),
            valid_until: format_time(state.until),
            supersedes,
            superseded_by: state.superseded_by,
            also,
        }
    }
}

/// Tags and metadata of a memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HitLabels {
    /// Tags that the caller set.
    pub user_tags: Vec<String>,
    /// Tags that the caller set, followed by those that extraction added.
    pub tags: Vec<String>,
    /// Values that the caller set.
    #[schemars(with = "StoredMetadata")]
    pub metadata: Metadata,
}

/// The times of a memory, RFC 3339 in UTC.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HitTimes {
    /// When the memory was first written.
    #[schemars(extend("format" = "date-time"))]
    pub created_at: Option<String>,
    /// When the memory was last written.
    #[schemars(extend("format" = "date-time"))]
    pub updated_at: Option<String>,
    /// When the content happened.
    #[schemars(extend("format" = "date-time"))]
    pub occurred_at: Option<String>,
    /// When the memory expires.
    #[schemars(extend("format" = "date-time"))]
    pub expires_at: Option<String>,
    /// Precision of `occurred_at`.
    #[schemars(with = "Option<String>", extend("enum" = ["day", "instant", null]))]
    pub occurred_precision: Option<OccurredPrecision>,
    /// Source of `occurred_at`.
    #[schemars(with = "Option<String>", extend("enum" = ["user", "extracted", "said", "written", null]))]
    pub occurred_source: Option<OccurredSource>,
    /// End, exclusive, of the month or year that begins at `occurred_at`; null if the text names no such
    /// period.
    #[schemars(extend("format" = "date-time"))]
    pub occurred_until: Option<String>,
}

/// The place of a memory in the document that it is a passage of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "DocumentPlace")]
pub struct DocumentPlaceView {
    /// Id of the document.
    pub id: String,
    /// Name of the document, such as the name of its file.
    pub name: String,
    /// The headings above the passage, outermost first.
    pub titles: Vec<String>,
    /// Position of the passage in the document, from 0.
    pub position: u32,
    /// First page of the passage, from 1. Null if the document has no pages.
    pub page: Option<u32>,
    /// First line of the passage, from 1. Null if the document is not text.
    pub line: Option<u32>,
}

impl From<DocumentPlace> for DocumentPlaceView {
    fn from(place: DocumentPlace) -> Self {
        let DocumentPlace { id, name, titles, position, page, line } = place;
        Self { id: id.to_string(), name, titles, position, page, line }
    }
}

/// Two of the times under their deprecated names. An unknown time is empty.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DeprecatedTimes {
    /// The value of `created_at`.
    #[schemars(extend("deprecated" = true))]
    pub created: String,
    /// The value of `updated_at`.
    #[schemars(extend("deprecated" = true))]
    pub updated: String,
}

/// The fields that `detail=full` adds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FullView {
    /// Commits that changed the memory, newest first.
    pub revisions: Vec<RevisionView>,
    /// Unified diff of the last change.
    pub last_diff: String,
    /// Links to other memories.
    pub relations: Vec<RelationView>,
    /// Texts by which the memory is found.
    pub cues: Vec<String>,
    /// Messages that the memory was extracted from.
    #[schemars(with = "Vec<SourceMessageSchema>")]
    pub sources: Vec<SourceMessage>,
}

/// A message that a memory was extracted from, as [`SourceMessage`] is written.
#[derive(JsonSchema)]
#[schemars(rename = "MessageReference")]
#[expect(dead_code, reason = "only describes a type of another crate")]
struct SourceMessageSchema {
    /// Session id from the request; absent if none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    session_id: Option<String>,
    /// Index of the message in the request.
    message: u64,
    /// Id of the write that carried the message, for `GET /v1/sources/{id}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    write: Option<String>,
    /// When the message was said, if it repeats an earlier one or is about another time. RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    said_at: Option<String>,
}

/// A link to another memory.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Relation")]
pub struct RelationView {
    /// Path of the other memory.
    pub path: String,
    /// Kind of the link.
    pub kind: String,
    /// The text that the link stands in.
    pub snippet: String,
}

impl SearchResult {
    /// Returns the hits as the API shows them. `full` adds their histories.
    pub(in crate::service) fn into_views(self, full: bool) -> Result<Vec<HitView>> {
        let all_histories = match full {
            true => self.histories_of_hits()?,
            false => Vec::new(),
        };
        let mut all_histories = all_histories.into_iter();
        let mut views = Vec::with_capacity(self.hits.len());
        for hit in self.hits {
            pause()?;
            views.push(HitView::of_hit(hit, &self.terms, all_histories.next()));
        }
        Ok(views)
    }

    /// Returns the history of each hit, read from the repository of its namespace.
    pub(super) fn histories_of_hits(&self) -> Result<Vec<History>> {
        let mut all_histories = Vec::new();
        all_histories.resize_with(self.hits.len(), History::default);
        for searched in &self.namespaces {
            let mut indexes = Vec::new();
            let mut paths = Vec::new();
            for (index, hit) in self.hits.iter().enumerate() {
                if hit.namespace == searched.name {
                    indexes.push(index);
                    paths.push(hit.memory.path.as_str());
                }
            }
            if paths.is_empty() {
                continue;
            }
            let found = match &searched.place {
                SearchPlace::Here(lease) => match histories(lease, searched.head.map(commit_at), &paths) {
                    Ok(found) => found,
                    Err(error) => return Err(searched.fault(error)),
                },
                SearchPlace::Elsewhere(namespace) => namespace.histories_of(&paths),
            };
            for (index, history) in indexes.into_iter().zip(found) {
                all_histories[index] = history;
            }
        }
        Ok(all_histories)
    }
}

impl HitView {
    fn of_hit(hit: FoundMemory, terms: &[String], history: Option<History>) -> Self {
        let sections = matching_sections(&hit.memory.content, terms);
        let (matched, namespace) = (hit.matched(), hit.namespace_text());
        let found = FoundBy { matched, namespace, via: hit.via, explanation: hit.explanation };
        let validity = HitValidity::of(hit.validity, hit.also, &hit.memory.validity.supersedes);
        Self { found, ..Self::of_memory(hit.memory, hit.score, sections, validity, history) }
    }

    /// Returns the view of a memory that is read by its path.
    pub(in crate::service) fn of_memory(
        memory: Memory,
        score: f32,
        sections: Vec<String>,
        validity: HitValidity,
        history: Option<History>,
    ) -> Self {
        // The details were written by this program, so unreadable ones are shown as unknown.
        let details: Details = serde_json::from_str(&memory.details).unwrap_or_default();
        let full = history.map(|history| FullView::of(&memory, history, details.sources));
        let times = HitTimes {
            created_at: format_time(memory.created),
            updated_at: format_time(memory.updated),
            occurred_at: format_time(memory.occurred),
            expires_at: details.expires_at.map(|at| at.to_string()),
            occurred_precision: details.occurred_precision,
            occurred_source: details.occurred_source,
            occurred_until: details.occurred_until.map(|at| at.to_string()),
        };
        let deprecated = DeprecatedTimes {
            created: times.created_at.clone().unwrap_or_default(),
            updated: times.updated_at.clone().unwrap_or_default(),
        };
        let metadata = stored_metadata(&memory.metadata);
        let mut tags = memory.user_tags.clone();
        tags.extend(memory.inferred_tags);
        Self {
            path: memory.path,
            content: memory.content,
            sections,
            score,
            found: FoundBy::default(),
            validity,
            times,
            labels: HitLabels { user_tags: memory.user_tags, tags, metadata },
            document: details.document.map(DocumentPlaceView::from),
            deprecated,
            full,
        }
    }
}

impl FullView {
    fn of(memory: &Memory, history: History, sources: Vec<SourceMessage>) -> Self {
        Self {
            revisions: history.revisions,
            last_diff: history.last_diff,
            relations: memory.relations.iter().map(RelationView::from).collect(),
            cues: memory.cues.iter().map(|cue| cue.text.clone()).collect(),
            sources,
        }
    }
}

impl From<&Relation> for RelationView {
    fn from(relation: &Relation) -> Self {
        Self { path: relation.path.clone(), kind: relation.kind.clone(), snippet: relation.snippet.clone() }
    }
}

fn format_time(at_ms: Option<i64>) -> Option<String> {
    format_ms(at_ms?)
}

/// Returns the names of the sections that contain a word of the query.
fn matching_sections(content: &str, terms: &[String]) -> Vec<String> {
    if terms.is_empty() || !content.contains('#') {
        return Vec::new();
    }
    let mut names = Vec::new();
    for section in markdown::sections(content) {
        if contains_term(&content[section.range], terms) {
            names.push(section.name);
        }
    }
    names
}

/// Returns whether a text contains one of the sorted terms.
fn contains_term(text: &str, terms: &[String]) -> bool {
    any_term(text, |term| terms.binary_search_by(|other| other.as_str().cmp(term)).is_ok())
}

#[cfg(test)]
mod tests {
    use cuebase_retrieval::MetadataValue;

    use super::*;

    #[test]
    fn a_view_has_flat_fields_in_order_and_is_read_back() {
        let memory = Memory {
            path: "facts/iris.md".into(),
            content: "# Iris\n".into(),
            user_tags: vec!["a".into()],
            inferred_tags: vec!["b".into()],
            metadata: vec![("size".into(), MetadataValue::Float(1.0))],
            created: Some(0),
            ..Memory::default()
        };
        let listed = HitView::of_memory(memory.clone(), 0.25, Vec::new(), HitValidity::default(), None);
        let found = FoundBy { matched: vec![Arm::Lexical, Arm::Cue], ..FoundBy::default() };
        let text = serde_json::to_string(&HitView { found, ..listed }).expect("encodes");
        let expected = concat!(
            r##"{"path":"facts/iris.md","content":"# Iris\n","sections":[],"score":0.25,"matched":["lexical","cue"],"##,
            r#""via":null,"current":true,"valid_from":null,"valid_until":null,"supersedes":[],"superseded_by":[],"also":[],"#,
            r#""created_at":"1970-01-01T00:00:00Z","updated_at":null,"occurred_at":null,"expires_at":null,"#,
            r#""occurred_precision":null,"occurred_source":null,"occurred_until":null,"user_tags":["a"],"tags":["a","b"],"#,
            r#""metadata":{"size":1.0},"#,
            r#""created":"1970-01-01T00:00:00Z","updated":""}"#,
        );
        assert_eq!(text, expected);
        let read: HitView = serde_json::from_str(&text).expect("decodes");
        assert_eq!(serde_json::to_string(&read).expect("encodes"), text);
        assert!(read.full.is_none());

        let full = HitView::of_memory(memory, 1.0, Vec::new(), HitValidity::default(), Some(History::default()));
        let text = serde_json::to_string(&full).expect("encodes");
        assert!(text.ends_with(r#""revisions":[],"last_diff":"","relations":[],"cues":[],"sources":[]}"#), "{text}");
        assert!(serde_json::from_str::<HitView>(&text).expect("decodes").full.is_some());
    }
}
