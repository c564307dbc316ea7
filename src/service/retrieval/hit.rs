//! A hit as the API shows it.

use cuebase_retrieval::{Memory, any_term};
use cuebase_storage::memory_file::{OccurredPrecision, OccurredSource, SourceMessage, markdown};
use serde::Serialize;

use super::history::{History, RevisionView, histories};
use super::{Findings, Found};
use crate::error::Result;
use crate::memory::files::Details;
use crate::memory::time::format_ms;

/// A memory as the API shows it.
#[derive(Debug, Serialize)]
pub struct HitView {
    path: String,
    content: String,
    sections: Vec<String>,
    score: f32,
    matched: Vec<&'static str>,
    via: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
    occurred_at: Option<String>,
    expires_at: Option<String>,
    occurred_precision: Option<OccurredPrecision>,
    occurred_source: Option<OccurredSource>,
    user_tags: Vec<String>,
    tags: Vec<String>,
    created: String,
    updated: String,
    #[serde(flatten)]
    full: Option<FullView>,
}

/// What `detail=full` adds.
#[derive(Debug, Serialize)]
struct FullView {
    revisions: Vec<RevisionView>,
    last_diff: String,
    relations: Vec<RelationView>,
    cues: Vec<String>,
    sources: Vec<SourceMessage>,
}

#[derive(Debug, Serialize)]
struct RelationView {
    path: String,
    kind: String,
    snippet: String,
}

impl Findings {
    /// The hits as the API shows them, with their histories where those were asked for.
    pub fn views(&self, full: bool) -> Result<Vec<HitView>> {
        let paths: Vec<&str> = self.hits.iter().map(|hit| hit.memory.path.as_str()).collect();
        let mut histories = if full {
            histories(&self.lease, self.head.as_deref(), &paths)?.into_iter()
        } else {
            Vec::new().into_iter()
        };
        Ok(self.hits.iter().map(|hit| HitView::of(hit, &self.terms, histories.next())).collect())
    }
}

impl HitView {
    fn of(found: &Found, terms: &[String], history: Option<History>) -> Self {
        let sections = matching_sections(&found.memory.content, terms);
        Self {
            matched: found.matched(),
            via: found.via.clone(),
            ..Self::plain(&found.memory, found.score, sections, history)
        }
    }

    /// A memory that nobody searched for.
    pub fn plain(memory: &Memory, score: f32, sections: Vec<String>, history: Option<History>) -> Self {
        // Written by ourselves; a record of another shape shows as unknown.
        let details: Details = serde_json::from_str(&memory.details).unwrap_or_default();
        let time = |at: Option<i64>| at.and_then(format_ms);
        let relation = |relation: &cuebase_retrieval::Relation| RelationView {
            path: relation.path.clone(),
            kind: relation.kind.clone(),
            snippet: relation.snippet.clone(),
        };
        Self {
            path: memory.path.clone(),
            content: memory.content.clone(),
            sections,
            score,
            matched: Vec::new(),
            via: None,
            created_at: time(memory.created),
            updated_at: time(memory.updated),
            occurred_at: time(memory.occurred),
            expires_at: details.expires_at.map(|at| at.to_string()),
            occurred_precision: details.occurred_precision,
            occurred_source: details.occurred_source,
            user_tags: memory.user_tags.clone(),
            tags: memory.user_tags.iter().chain(&memory.inferred_tags).cloned().collect(),
            created: time(memory.created).unwrap_or_default(),
            updated: time(memory.updated).unwrap_or_default(),
            full: history.map(|History { revisions, last_diff }| FullView {
                revisions,
                last_diff,
                relations: memory.relations.iter().map(relation).collect(),
                cues: memory.cues.iter().map(|cue| cue.text.clone()).collect(),
                sources: details.sources,
            }),
        }
    }

    /// The memory's body.
    pub fn content(&self) -> &str {
        &self.content
    }
}

/// The names of the sections that hold a word of the query.
fn matching_sections(content: &str, terms: &[String]) -> Vec<String> {
    if terms.is_empty() || !content.contains('#') {
        return Vec::new();
    }
    let holds = |text: &str| any_term(text, |term| terms.binary_search_by(|other| other.as_str().cmp(term)).is_ok());
    let sections = markdown::sections(content).into_iter();
    sections.filter(|section| holds(&content[section.range.clone()])).map(|section| section.name).collect()
}
