//! The lexical arm: BM25 over tantivy.
//!
//! Two fields: `text` is the memory's content and speaker; `cues` the texts that should bring it to mind beyond that.
//! Scores are BM25 with tantivy's constants (k1 = 1.2, b = 0.75; Robertson and Zaragoza, 2009).

use std::path::Path;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::Column;
use tantivy::directory::MmapDirectory;
use tantivy::query::{BooleanQuery, BoostQuery, DisjunctionMaxQuery, Occur, Query, TermQuery};
use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{DocId, Index, IndexReader, IndexWriter, ReloadPolicy, Score, Searcher, SegmentOrdinal, SegmentReader};
use tantivy::{TantivyDocument, Term};

use crate::error::{Error, Result};
use crate::filter::Bitmap;
use crate::memory::Memory;
use crate::text;
use crate::vocabulary::Synonyms;

/// Memory that the text index's writer may fill before it writes a segment: tantivy's minimum.
const WRITER_BYTES: usize = 15_000_000;
/// How much a match in a cue counts against one in the text. The cues repeat much of the text, so this mostly lifts
/// what only they hold: the question that a memory answers.
const CUES_BOOST: f32 = 0.35;
/// BM25's k1 + 1: the most that one term occurrence saturates to, in units of its idf.
const SATURATION: f32 = 2.2;

const ANALYZER: &str = "cuebase";

#[derive(Clone, Copy)]
struct Fields {
    slot: Field,
    text: Field,
    cues: Field,
}

/// The text index of one namespace, open for writing.
pub(crate) struct LexicalIndex {
    index: Index,
    reader: IndexReader,
    writer: Option<IndexWriter>,
    fields: Fields,
}

/// The text index as of one commit.
#[derive(Clone)]
pub(crate) struct LexicalSnapshot {
    searcher: Searcher,
    fields: Fields,
}

/// What the lexical arm found.
#[derive(Default)]
pub(crate) struct LexicalMatches {
    /// Every matching memory with its BM25 score, in no order.
    pub(crate) scores: Vec<(u32, f32)>,
    /// What a memory holding every term of the query, saturated, would score.
    pub(crate) ceiling: f32,
    /// How many distinct terms the query has that the index knows.
    pub(crate) terms: usize,
}

impl LexicalIndex {
    /// Opens the index in `folder`, creating it where it is empty.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(ANALYZER)
            .set_index_option(IndexRecordOption::WithFreqs)
            .set_fieldnorms(true);
        let words = TextOptions::default().set_indexing_options(indexing);
        let fields = Fields {
            slot: schema.add_u64_field("slot", FAST | INDEXED),
            text: schema.add_text_field("text", words.clone()),
            cues: schema.add_text_field("cues", words),
        };
        let directory = MmapDirectory::open(folder).map_err(tantivy::TantivyError::from)?;
        let index = Index::open_or_create(directory, schema.build())?;
        index.tokenizers().register(ANALYZER, text::analyzer());
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { index, reader, writer: None, fields })
    }

    /// The payload of the last commit; none before the first.
    pub(crate) fn payload(&self) -> Result<Option<String>> {
        Ok(self.index.load_metas()?.payload)
    }

    /// Replaces the text at a slot; none forgets it. Takes effect with [`LexicalIndex::commit`].
    pub(crate) fn put(&mut self, slot: u32, memory: Option<&Memory>) -> Result<()> {
        let fields = self.fields;
        let writer = self.writer()?;
        writer.delete_term(Term::from_field_u64(fields.slot, u64::from(slot)));
        if let Some(memory) = memory {
            let mut document = TantivyDocument::new();
            document.add_u64(fields.slot, u64::from(slot));
            document.add_text(fields.text, &memory.content);
            if let Some(speaker) = &memory.speaker {
                document.add_text(fields.text, speaker);
            }
            for cue in &memory.cues {
                document.add_text(fields.cues, &cue.text);
            }
            writer.add_document(document)?;
        }
        Ok(())
    }

    /// Makes the changes visible to the next snapshot, with a payload that says what state they are.
    pub(crate) fn commit(&mut self, payload: &str) -> Result<()> {
        let mut commit = self.writer()?.prepare_commit()?;
        commit.set_payload(payload);
        commit.commit()?;
        self.reader.reload()?;
        Ok(())
    }

    /// The index as of the last commit.
    pub(crate) fn snapshot(&self) -> LexicalSnapshot {
        LexicalSnapshot { searcher: self.reader.searcher(), fields: self.fields }
    }

    /// The writer, made when it is first needed: a namespace that is only read has no writer's threads.
    fn writer(&mut self) -> Result<&mut IndexWriter> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.index.writer_with_num_threads(1, WRITER_BYTES)?,
        };
        Ok(self.writer.insert(writer))
    }
}

impl LexicalSnapshot {
    /// Every allowed memory that holds a term of the query, or of another way of writing a part of it.
    pub(crate) fn search(
        &self,
        query: &str,
        synonyms: &[Synonyms],
        allowed: Option<&Bitmap>,
    ) -> Result<LexicalMatches> {
        let mut clauses: Vec<Clause> = Vec::new();
        let mut matches = LexicalMatches::default();
        let mut rest = String::new();
        let mut at = 0;
        for part in synonyms {
            rest.push_str(query.get(at..part.range.start).unwrap_or_default());
            rest.push(' ');
            at = part.range.end;
            let written = query.get(part.range.clone()).unwrap_or_default();
            let mut ways: Vec<Box<dyn Query>> = Vec::new();
            let mut known = Known::default();
            for form in std::iter::once(written).chain(part.forms.iter().map(String::as_str)) {
                let (way, found) = self.any_of(form)?;
                if !way.is_empty() {
                    ways.push(Box::new(BooleanQuery::new(way)));
                }
                // Any one way counts as the whole, so the part can reach what its best way can.
                known = Known { ceiling: known.ceiling.max(found.ceiling), terms: known.terms.max(found.terms.min(1)) };
            }
            matches.add(known);
            if !ways.is_empty() {
                clauses.push((Occur::Should, Box::new(DisjunctionMaxQuery::new(ways))));
            }
        }
        rest.push_str(query.get(at..).unwrap_or_default());
        let (way, known) = self.any_of(&rest)?;
        matches.add(known);
        clauses.extend(way);
        if !clauses.is_empty() {
            let collector = EveryMatch { allowed: allowed.cloned() };
            matches.scores = self.searcher.search(&BooleanQuery::new(clauses), &collector)?;
        }
        Ok(matches)
    }

    /// Clauses for any of a text's terms, the more the better.
    fn any_of(&self, text: &str) -> Result<(Vec<Clause>, Known)> {
        let mut terms = text::content_terms(text);
        terms.sort();
        terms.dedup();
        let mut clauses: Vec<Clause> = Vec::new();
        let mut known = Known::default();
        let memories = self.searcher.num_docs() as f32;
        for term in terms {
            let in_text = Term::from_field_text(self.fields.text, &term);
            let in_cues = Term::from_field_text(self.fields.cues, &term);
            let frequency = self.searcher.doc_freq(&in_text)?;
            if frequency > 0 {
                known.ceiling += idf(memories, frequency as f32) * SATURATION;
                known.terms += 1;
            }
            clauses.push((Occur::Should, Box::new(TermQuery::new(in_text, IndexRecordOption::WithFreqs))));
            let in_cues = Box::new(TermQuery::new(in_cues, IndexRecordOption::WithFreqs));
            clauses.push((Occur::Should, Box::new(BoostQuery::new(in_cues, CUES_BOOST))));
        }
        Ok((clauses, known))
    }
}

type Clause = (Occur, Box<dyn Query>);

/// What the index knows of a part of the query.
#[derive(Clone, Copy, Default)]
struct Known {
    ceiling: f32,
    terms: usize,
}

impl LexicalMatches {
    fn add(&mut self, known: Known) {
        self.ceiling += known.ceiling;
        self.terms += known.terms;
    }
}

fn idf(documents: f32, frequency: f32) -> f32 {
    (1.0 + (documents - frequency + 0.5) / (frequency + 0.5)).ln()
}

/// Collects (slot, score) of every match that the bitmap lets through.
struct EveryMatch {
    allowed: Option<Bitmap>,
}

struct SegmentMatches {
    slots: Column<u64>,
    allowed: Option<Bitmap>,
    found: Vec<(u32, f32)>,
}

impl Collector for EveryMatch {
    type Fruit = Vec<(u32, f32)>;
    type Child = SegmentMatches;

    fn for_segment(&self, _: SegmentOrdinal, segment: &SegmentReader) -> tantivy::Result<SegmentMatches> {
        let slots = segment.fast_fields().u64("slot")?;
        Ok(SegmentMatches { slots, allowed: self.allowed.clone(), found: Vec::new() })
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    fn merge_fruits(&self, parts: Vec<Vec<(u32, f32)>>) -> tantivy::Result<Vec<(u32, f32)>> {
        Ok(parts.concat())
    }
}

impl SegmentCollector for SegmentMatches {
    type Fruit = Vec<(u32, f32)>;

    fn collect(&mut self, document: DocId, score: Score) {
        let Some(slot) = self.slots.first(document).and_then(|slot| u32::try_from(slot).ok()) else { return };
        if self.allowed.as_ref().is_none_or(|allowed| allowed.contains(slot)) {
            self.found.push((slot, score));
        }
    }

    fn harvest(self) -> Vec<(u32, f32)> {
        self.found
    }
}
