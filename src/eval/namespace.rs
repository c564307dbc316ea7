//! A namespace in memory for measurements: conversations are ingested into an index without a repository.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use cuebase_language::claims;
use cuebase_language::dates::question::{self, QuestionTimes};
use cuebase_language::relevance::asking_part;
use cuebase_language::text::steps::Steps;
use cuebase_retrieval::{Change, Currency, Explain, Filter, Head, Hit, Index, Query, Reranker, Snapshot};
use cuebase_storage::memory_file::{FrontMatter, MemoryPath};
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::suite::{LabelledDocument, document_path};
use crate::clock::Clock;
use crate::ingest::direct::{self, DirectWrite};
use crate::ingest::extraction;
use crate::memory::file_names::slug;
use crate::memory::files;
use crate::memory::request::conversation;
use crate::model::encoder::Reader;
use crate::model::{Deadline, Embedder, QueryReader, index_settings};

/// Time limit of a model for the cues of a session, or for a question.
const MODEL_TIME: Duration = Duration::from_secs(600);

/// Documents that are written together.
pub const DOCUMENTS_PER_CHANGE: usize = 256;

/// What is measured with.
pub struct Setup<'a> {
    /// The model that embeds cues and questions.
    pub embedder: &'a dyn Embedder,
    /// What reads the candidates of questions, if anything does.
    pub reader: Option<&'static Reader>,
    /// The time at which conversations are ingested and questions are asked.
    pub clock: Clock,
}

/// A question, and how it is asked.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    /// The words of the question.
    pub text: &'a str,
    /// Maximum number of hits.
    pub limit: usize,
    /// If given, the question is answered as of this time, milliseconds since the epoch.
    pub as_of: Option<i64>,
}

impl<'a> Asking<'a> {
    /// Asks for the present.
    pub fn now(text: &'a str, limit: usize) -> Self {
        Self { text, limit, as_of: None }
    }
}

/// Ingests sessions, which are bodies of `POST /v1/memories`, into a new index.
pub fn ingest(sessions: &[Map<String, Value>], folder: &Path, setup: &Setup<'_>) -> anyhow::Result<Index> {
    let mut index = Index::open(folder, index_settings(setup.embedder)?)?;
    let now = setup.clock.now();
    for (session, body) in sessions.iter().enumerate() {
        let conversation = conversation(body)?;
        let drafts = extraction::extract(&conversation, now, &Steps::unlimited())?.drafts;
        let mut paths = Vec::with_capacity(drafts.len());
        let mut texts: Vec<&str> = Vec::new();
        for (n, draft) in drafts.iter().enumerate() {
            paths.push(format!("{}/{}/{session}/{n}.md", draft.tier.name(), slug(&draft.speaker, "somebody")));
            texts.extend(draft.cues.iter().map(String::as_str));
        }
        let embedded = setup.embedder.embed(&texts, Deadline::background(MODEL_TIME))?;
        let vectors: HashMap<&str, Vec<f32>> = texts.iter().copied().zip(embedded).collect();
        let mut changes = Vec::with_capacity(drafts.len());
        for (draft, path) in drafts.iter().zip(&paths) {
            let file = files::of_draft(draft, &paths, &conversation, now);
            let path: MemoryPath = path.parse()?;
            let memory = files::to_memory(&path, file, &|text| vectors.get(text).cloned());
            changes.push(Change::Put(Box::new(memory)));
        }
        // The memories are in no repository, so their index has no commit.
        index.apply(changes, Head::from([0; 20]))?;
    }
    Ok(index)
}

/// Writes documents into an index, as direct writes do. Their paths are those of places from `first` on.
pub fn write_documents(
    documents: &[LabelledDocument],
    first: usize,
    index: &mut Index,
    setup: &Setup<'_>,
) -> anyhow::Result<()> {
    let now = setup.clock.now();
    let mut places = first..;
    for part in documents.chunks(DOCUMENTS_PER_CHANGE) {
        let mut files = Vec::with_capacity(part.len());
        let mut texts = Vec::new();
        for (document, place) in part.iter().zip(&mut places) {
            let path: MemoryPath = document_path(place).parse()?;
            let write = DirectWrite::new(path.clone(), document.markdown());
            texts.extend(write.cue_texts());
            files.push((path, direct::file_of(&write, FrontMatter::default(), now)?));
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let embedded = setup.embedder.embed(&texts, Deadline::background(MODEL_TIME))?;
        let vectors: HashMap<&str, Vec<f32>> = texts.iter().copied().zip(embedded).collect();
        let mut changes = Vec::with_capacity(files.len());
        for (path, file) in files {
            let memory = files::to_memory(&path, file, &|text| vectors.get(text).cloned());
            changes.push(Change::Put(Box::new(memory)));
        }
        index.apply(changes, Head::from([0; 20]))?;
    }
    Ok(())
}

/// Asks a question, as the service does.
pub fn ask(snapshot: &Snapshot, asking: &Asking<'_>, setup: &Setup<'_>) -> anyhow::Result<Vec<Hit>> {
    let Asking { text, limit, as_of } = *asking;
    let text = &*asking_part(text);
    let embedded = setup.embedder.embed(&[text], Deadline::background(MODEL_TIME))?;
    let vector = embedded.first().context("the model returned no vector")?;
    let filter = Filter::default();
    let now = setup.clock.now();
    let QuestionTimes { times, words } = question::find(text, now, &TimeZone::UTC);
    let asked = claims::question::asked(text, &times, now.as_millisecond());
    let reader = setup.reader.and_then(|reader| QueryReader::new(reader, text, None));
    let query = Query {
        text,
        synonyms: &[],
        vector: Some(vector),
        times: &times,
        time_words: &words,
        filter: &filter,
        min_score: 0.0,
        limit,
        now: now.as_millisecond(),
        as_of,
        currency: Currency::First,
        asked: &asked,
        user: None,
        exact: false,
        explain: Explain::No,
        reranker: reader.as_ref().map(|reader| reader as &dyn Reranker),
    };
    Ok(snapshot.search(&query)?.hits)
}
