//! A namespace whose texts are written into an index, and whose questions can be asked.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use cuebase_retrieval::{Currency, Filter, Hit, Index, Listing, ListingOrder};

use super::admitted::SearchedQuery;
use super::features::{self, FeaturePlace};
use super::misses::{ExpectedMemory, Miss, first_hits, shortened};
use super::namespace::{Asking, Setup, ask, ingest, write_documents};
use super::questions::{Figures, Question, Space};
use super::suite::{self, LabelledDocument, Session, Units};

/// The files that are written while questions are asked, if they are wanted.
pub struct OutputFiles<'a> {
    /// The features of every candidate.
    pub features: Option<&'a mut dyn Write>,
    /// The scores of all hits.
    pub scores: Option<&'a mut dyn Write>,
}

/// A namespace whose questions can be asked.
pub struct OpenSpace<'a> {
    id: &'a str,
    /// What a fit leaves out together.
    sample: &'a str,
    /// Number of sessions.
    sessions: usize,
    /// Number of documents that were written.
    documents: usize,
    index: Index,
    units: Units,
    /// The texts that answer questions, shortened, by their ids. Empty until they are written.
    expected: HashMap<String, String>,
}

/// Writes the texts of a namespace into an index and asks its questions.
pub fn measure(
    space: &Space,
    folder: &Path,
    setup: &Setup<'_>,
    figures: &mut Figures,
    files: &mut OutputFiles<'_>,
) -> anyhow::Result<()> {
    let open = OpenSpace::of(space, folder, setup)?;
    for (number, question) in space.questions.iter().enumerate() {
        open.ask(number, question, setup, figures, files)?;
    }
    Ok(())
}

impl<'a> OpenSpace<'a> {
    /// Writes the texts of a namespace into an index.
    pub fn of(space: &'a Space, folder: &Path, setup: &Setup<'_>) -> anyhow::Result<Self> {
        let mut expected = HashSet::new();
        for question in &space.questions {
            expected.extend(question.evidence.iter().cloned());
        }
        let mut open = Self::with_sessions(&space.id, &space.sessions, expected, folder, setup)
            .with_context(|| format!("namespace {}", space.id))?;
        if !space.kind.is_empty() {
            open.sample = &space.kind;
        }
        open.write(&space.documents, setup)?;
        Ok(open)
    }

    /// Creates a namespace without texts. `expected` are the ids of the documents that answer questions.
    pub fn empty(id: &'a str, expected: HashSet<String>, folder: &Path, setup: &Setup<'_>) -> anyhow::Result<Self> {
        Self::with_sessions(id, &[], expected, folder, setup)
    }

    fn with_sessions(
        id: &'a str,
        sessions: &[Session],
        expected: HashSet<String>,
        folder: &Path,
        setup: &Setup<'_>,
    ) -> anyhow::Result<Self> {
        let index = ingest(&suite::bodies(sessions), folder, setup)?;
        let mut texts: HashMap<String, String> = HashMap::with_capacity(expected.len());
        for label in expected {
            texts.insert(label, String::new());
        }
        let mut open = Self {
            id,
            sample: id,
            sessions: sessions.len(),
            documents: 0,
            index,
            units: Units::of_sessions(sessions),
            expected: texts,
        };
        for message in sessions.iter().flat_map(|session| &session.messages) {
            open.keep_expected(&message.id, &message.text);
        }
        Ok(open)
    }

    /// Writes documents in addition to those that were written before.
    pub fn write(&mut self, documents: &[LabelledDocument], setup: &Setup<'_>) -> anyhow::Result<()> {
        write_documents(documents, self.documents, &mut self.index, setup)
            .with_context(|| format!("namespace {}", self.id))?;
        self.units.add_documents(self.documents, documents);
        self.documents += documents.len();
        for document in documents {
            self.keep_expected(&document.id, &document.markdown());
        }
        Ok(())
    }

    /// Asks a question and returns all candidates, best first.
    pub fn ask(
        &self,
        number: usize,
        question: &Question,
        setup: &Setup<'_>,
        figures: &mut Figures,
        files: &mut OutputFiles<'_>,
    ) -> anyhow::Result<Vec<Hit>> {
        let Question { q, evidence, own_path } = question;
        let snapshot = self.index.published().load_full();
        let mut query = SearchedQuery::search(self.id, q, vec![evidence.as_slice()], &snapshot, &self.units, setup)?;
        let mut hits = ask(&snapshot, &Asking::now(q, usize::MAX), setup)?;
        if let Some(path) = own_path {
            query.leave_out(path);
            hits.retain(|hit| hit.memory.path != *path);
        }
        figures.admission.add(&query);
        if let Some(out) = files.scores.as_deref_mut() {
            query.write_scores(out)?;
        }
        figures.add(question, &hits, &self.units);
        figures.misses.extend(self.missed(question, &hits));
        if let Some(out) = files.features.as_deref_mut() {
            self.write_features(out, number, question, &hits)?;
        }
        Ok(hits)
    }

    /// Returns the ids of what hits were made from, best first, each once. Memories that say the same as a hit count as
    /// the hit does.
    pub fn ranking(&self, hits: &[Hit], setup: &Setup<'_>) -> anyhow::Result<Vec<String>> {
        let mut by_path: HashMap<String, Vec<String>> = HashMap::new();
        if hits.iter().any(|hit| !hit.also.is_empty()) {
            by_path = self.units_by_path(setup)?;
        }
        let mut ranking = Vec::new();
        let mut known = HashSet::new();
        for hit in hits {
            let mut ids: Vec<String> = self.units.of_hit(hit).into_iter().map(str::to_owned).collect();
            for path in &hit.also {
                ids.extend(by_path.get(path).into_iter().flatten().cloned());
            }
            for id in ids {
                if known.insert(id.clone()) {
                    ranking.push(id);
                }
            }
        }
        Ok(ranking)
    }

    /// Returns the ids of what each memory was made from, by its path.
    fn units_by_path(&self, setup: &Setup<'_>) -> anyhow::Result<HashMap<String, Vec<String>>> {
        let filter = Filter::default();
        let now = setup.clock.now().as_millisecond();
        let listing = Listing {
            filter: &filter,
            order: ListingOrder::NewestFirst,
            offset: 0,
            limit: usize::MAX,
            now,
            as_of: None,
            currency: Currency::Any,
        };
        let mut by_path = HashMap::new();
        for listed in self.index.published().load_full().list(&listing)?.memories {
            let ids = self.units.of_memory(&listed.memory).into_iter().map(str::to_owned).collect();
            by_path.insert(listed.memory.path, ids);
        }
        Ok(by_path)
    }

    /// Keeps a text that answers a question. Of several with one id, the first is kept.
    fn keep_expected(&mut self, id: &str, text: &str) {
        if let Some(kept) = self.expected.get_mut(id)
            && kept.is_empty()
        {
            *kept = shortened(text);
        }
    }

    /// Describes a question with an answer whose first hit does not answer.
    fn missed(&self, question: &Question, hits: &[Hit]) -> Option<Miss> {
        let Question { q, evidence, .. } = question;
        if evidence.is_empty() {
            return None;
        }
        let mut ranks: Vec<Option<usize>> = vec![None; evidence.len()];
        for (rank, hit) in (1..).zip(hits) {
            let ids = self.units.of_hit(hit);
            for (id, found) in evidence.iter().zip(&mut ranks) {
                if found.is_none() && ids.contains(&id.as_str()) {
                    *found = Some(rank);
                }
            }
            if ranks.contains(&Some(1)) {
                return None;
            }
        }
        let mut expected = Vec::with_capacity(evidence.len());
        for (id, rank) in evidence.iter().zip(ranks) {
            let text = self.expected.get(id).cloned().unwrap_or_default();
            expected.push(ExpectedMemory { label: id.clone(), text, rank });
        }
        Some(Miss { place: self.id.to_owned(), question: q.clone(), expected, hits: first_hits(hits) })
    }

    /// Writes the features of every candidate of a question.
    fn write_features(
        &self,
        out: &mut dyn Write,
        number: usize,
        question: &Question,
        hits: &[Hit],
    ) -> std::io::Result<()> {
        let evidence = &question.evidence;
        let question = format!("{}:{number}", self.id);
        let place = FeaturePlace { sample: self.sample, sessions: self.sessions, question: &question };
        for hit in hits {
            let of_hit = self.units.of_hit(hit);
            let held: Vec<bool> = evidence.iter().map(|id| of_hit.contains(&id.as_str())).collect();
            features::write(out, &place, hit, if evidence.is_empty() { None } else { Some(&held) })?;
        }
        Ok(())
    }
}
