//! The view of a memory in API responses.

use cuebase_retrieval::{Memory, Relation, any_term};
use cuebase_storage::memory_file::{OccurredPrecision, OccurredSource, SourceMessage, markdown};
use serde::Serialize;

use super::history::{History, RevisionView, histories};
use super::search_result::{FoundMemory, SearchResult};
use crate::error::Result;
use crate::memory::files::Details;
use crate::memory::time::format_ms;
use crate::namespace::heads::commit_at;

/// A memory in an API response.
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

/// The fields that `detail=full` adds.
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

impl SearchResult {
    /// Returns the hits as the API shows them. `full` adds their histories.
    pub fn views(&self, full: bool) -> Result<Vec<HitView>> {
        let mut all_histories = Vec::new();
        if full {
            let paths: Vec<&str> = self.hits.iter().map(|hit| hit.memory.path.as_str()).collect();
            all_histories = histories(&self.lease, commit_at(self.head)?, &paths)?;
        }
        let mut all_histories = all_histories.into_iter();
        let mut views = Vec::with_capacity(self.hits.len());
        for hit in &self.hits {
            views.push(HitView::of_hit(hit, &self.terms, all_histories.next()));
        }
        Ok(views)
    }
}

impl HitView {
    fn of_hit(hit: &FoundMemory, terms: &[String], history: Option<History>) -> Self {
        let sections = matching_sections(&hit.memory.content, terms);
        Self {
            matched: hit.matched(),
            via: hit.via.clone(),
            ..Self::of_memory(&hit.memory, hit.score, sections, history)
        }
    }

    /// Returns the view of a memory that is read by its path.
    pub fn of_memory(memory: &Memory, score: f32, sections: Vec<String>, history: Option<History>) -> Self {
        // The details were written by this program, so unreadable ones are shown as unknown.
        let details: Details = serde_json::from_str(&memory.details).unwrap_or_default();
        let created_at = format_time(memory.created);
        let updated_at = format_time(memory.updated);
        let full = history.map(|history| FullView::of(memory, history, details.sources));
        Self {
            path: memory.path.clone(),
            content: memory.content.clone(),
            sections,
            score,
            matched: Vec::new(),
            via: None,
            created: created_at.clone().unwrap_or_default(),
            updated: updated_at.clone().unwrap_or_default(),
            created_at,
            updated_at,
            occurred_at: format_time(memory.occurred),
            expires_at: details.expires_at.map(|at| at.to_string()),
            occurred_precision: details.occurred_precision,
            occurred_source: details.occurred_source,
            user_tags: memory.user_tags.clone(),
            tags: memory.user_tags.iter().chain(&memory.inferred_tags).cloned().collect(),
            full,
        }
    }

    /// Returns the body of the memory.
    pub fn content(&self) -> &str {
        &self.content
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
