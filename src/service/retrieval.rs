//! Answering a retrieve: a validated request in, hits with everything they carry out.

use std::sync::Arc;
use std::time::Instant;

use cuebase_retrieval::{Arms, Filter, Hit, Listing, Query, Record, content_terms};
use cuebase_storage::git::CommitId;
use cuebase_storage::memory_file::{OccurredPrecision, OccurredSource, Source, markdown};
use jiff::Timestamp;
use serde::Serialize;

use super::Service;
use super::error::Outcome;
use super::namespaces::Lease;
use crate::ingest::files::Details;
use crate::time::format_ms;

/// Revisions told with `detail=full`, at most.
const REVISIONS_MAX: usize = 50;

/// What to retrieve, already checked.
#[derive(Clone, Debug, Default)]
pub struct Retrieve {
    /// The words; none lists what the filter selects.
    pub query: Option<String>,
    /// What may be found.
    pub filter: Filter,
    /// Hits scored below are left out.
    pub min_score: f32,
    /// At most so many hits.
    pub limit: usize,
    /// Whether to add history, last diff, relations and cues.
    pub full: bool,
}

/// The answer.
#[derive(Debug, Serialize)]
pub struct Retrieved {
    /// Best first; absent when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hits: Vec<HitView>,
    /// Time in embedding and the cue arm, milliseconds.
    pub vector_ms: f64,
    /// Time in the lexical arm, milliseconds.
    pub lexical_ms: f64,
    /// Time in expansion and ranking, milliseconds.
    pub graph_ms: f64,
    /// Whether the namespace had to be opened first.
    pub cold_start: bool,
}

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
    sources: Vec<Source>,
}

#[derive(Debug, Serialize)]
struct RevisionView {
    commit: String,
    at: Option<String>,
    message: String,
}

#[derive(Debug, Serialize)]
struct RelationView {
    path: String,
    kind: String,
    snippet: String,
}

impl Service {
    /// Retrieves from a namespace that the caller may read.
    pub fn retrieve(&self, account: &str, namespace: &str, request: &Retrieve) -> Outcome<Retrieved> {
        self.namespaces.existing(account, namespace)?;
        let lease = self.namespaces.lease(account, namespace)?;
        let snapshot = lease.snapshot();
        let now = Timestamp::now().as_millisecond();
        let mut answer =
            Retrieved { hits: Vec::new(), vector_ms: 0.0, lexical_ms: 0.0, graph_ms: 0.0, cold_start: lease.cold };
        let (hits, terms) = match &request.query {
            None => {
                let listing = Listing { filter: &request.filter, limit: request.limit, now };
                let listed = snapshot.list(&listing).into_iter().map(|record| (record, 1.0, Arms::default(), None));
                // Everything that is listed scores 1, so a floor never hides it.
                (listed.collect::<Vec<_>>(), Vec::new())
            }
            Some(text) => {
                let began = Instant::now();
                let vector = self.embedder.embed(text);
                let embedding = began.elapsed();
                let known = vector.iter().any(|value| *value != 0.0);
                let query = Query {
                    text,
                    vector: known.then_some(vector.as_slice()),
                    filter: &request.filter,
                    min_score: request.min_score,
                    limit: request.limit,
                    now,
                };
                let outcome = snapshot.search(&query)?;
                let milliseconds = |time: std::time::Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
                answer.vector_ms = milliseconds(outcome.vector + embedding);
                answer.lexical_ms = milliseconds(outcome.lexical);
                answer.graph_ms = milliseconds(outcome.graph);
                let hits =
                    outcome.hits.into_iter().map(|Hit { record, score, arms, via, .. }| (record, score, arms, via));
                let mut terms = content_terms(text);
                terms.sort();
                (hits.collect(), terms)
            }
        };
        let mut full = if request.full {
            let paths: Vec<&str> = hits.iter().map(|(record, ..)| record.memory.path.as_str()).collect();
            histories(&lease, snapshot.head(), &paths)?.into_iter()
        } else {
            Vec::new().into_iter()
        };
        answer.hits = hits
            .into_iter()
            .map(|(record, score, arms, via)| view(&record, score, arms, via, &terms, full.next()))
            .collect();
        Ok(answer)
    }
}

fn view(
    record: &Arc<Record>,
    score: f32,
    arms: Arms,
    via: Option<String>,
    terms: &[String],
    history: Option<(Vec<RevisionView>, String)>,
) -> HitView {
    let memory = &record.memory;
    // Written by ourselves; a record of another shape shows as unknown.
    let details: Details = serde_json::from_str(&memory.details).unwrap_or_default();
    let time = |at: Option<i64>| at.and_then(format_ms);
    let matched = [("lexical", arms.lexical), ("cue", arms.cue), ("graph", arms.graph)];
    let relation = |relation: &cuebase_retrieval::Relation| RelationView {
        path: relation.path.clone(),
        kind: relation.kind.clone(),
        snippet: relation.snippet.clone(),
    };
    HitView {
        path: memory.path.clone(),
        content: memory.content.clone(),
        sections: matching_sections(&memory.content, terms),
        score,
        matched: matched.into_iter().filter_map(|(name, did)| did.then_some(name)).collect(),
        via,
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
        full: history.map(|(revisions, last_diff)| FullView {
            revisions,
            last_diff,
            relations: memory.relations.iter().map(relation).collect(),
            cues: memory.cues.iter().map(|cue| cue.text.clone()).collect(),
            sources: details.sources,
        }),
    }
}

/// The names of the sections that hold a word of the query.
fn matching_sections(content: &str, terms: &[String]) -> Vec<String> {
    if terms.is_empty() || !content.contains('#') {
        return Vec::new();
    }
    let holds = |text: &str| content_terms(text).iter().any(|term| terms.binary_search(term).is_ok());
    let sections = markdown::sections(content).into_iter();
    sections.filter(|section| holds(&content[section.range.clone()])).map(|section| section.name).collect()
}

/// Revisions and last diff of each path, as of a head.
fn histories(lease: &Lease, head: Option<&str>, paths: &[&str]) -> Outcome<Vec<(Vec<RevisionView>, String)>> {
    let Some(head) = head.map(str::parse::<CommitId>).transpose()? else {
        return Ok(paths.iter().map(|_| (Vec::new(), String::new())).collect());
    };
    let repository = lease.repository();
    let found = repository.histories(head, paths, REVISIONS_MAX)?;
    let mut histories = Vec::with_capacity(paths.len());
    for (path, commits) in paths.iter().zip(found) {
        let text = |commit: CommitId| -> Outcome<String> {
            let bytes = repository.read(commit, path)?.unwrap_or_default();
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let newest = commits.first().map(|commit| text(commit.id)).transpose()?.unwrap_or_default();
        let before = commits.get(1).map(|commit| text(commit.id)).transpose()?.unwrap_or_default();
        let diff = similar::TextDiff::from_lines(before.as_str(), newest.as_str());
        let diff = diff.unified_diff().header(&format!("a/{path}"), &format!("b/{path}")).to_string();
        let revisions = commits.into_iter().map(|commit| RevisionView {
            commit: commit.id.to_string(),
            at: format_ms(commit.at_seconds.saturating_mul(1000)),
            message: commit.message.trim_end().to_owned(),
        });
        histories.push((revisions.collect(), diff));
    }
    Ok(histories)
}
