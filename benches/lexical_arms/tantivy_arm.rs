//! tantivy as a lexical arm: one field of terms and one of tags, neither stored, and BM25 without positions.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use cuebase_language::tokenize::content_terms;
use cuebase_retrieval::Memory;
use tantivy::collector::TopDocs;
use tantivy::directory::{RamDirectory, TerminatingWrite};
use tantivy::merge_policy::NoMergePolicy;
use tantivy::query::{BooleanQuery, ConstScoreQuery, Occur, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Directory, Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, TantivyDocument, Term};

use super::{BEST, Found, LexicalArm, Scope, terms_of};

/// Memory of the writer that fills the index.
const FILLER_BYTES: usize = 200_000_000;
/// Memory of the writer of single memories; the least that tantivy takes.
const WRITER_BYTES: usize = 15_000_000;
/// The tag that [`Scope::Tagged`] requires.
const TAG: &str = "rare";

/// The fields of a document.
#[derive(Clone, Copy)]
struct Fields {
    terms: Field,
    tags: Field,
}

impl Fields {
    fn of(index: &Index) -> anyhow::Result<Self> {
        let schema = index.schema();
        Ok(Self { terms: schema.get_field("terms")?, tags: schema.get_field("tags")? })
    }

    fn document(self, memory: &Memory) -> TantivyDocument {
        let mut document = TantivyDocument::default();
        document.add_text(self.terms, terms_of(memory).join(" "));
        for tag in memory.user_tags.iter().chain(&memory.inferred_tags) {
            document.add_text(self.tags, tag);
        }
        document
    }
}

fn schema() -> Schema {
    // The terms come from Cuebase's analyzer, so tantivy only splits them.
    let indexing =
        TextFieldIndexing::default().set_tokenizer("whitespace").set_index_option(IndexRecordOption::WithFreqs);
    let mut schema = Schema::builder();
    schema.add_text_field("terms", TextOptions::default().set_indexing_options(indexing));
    schema.add_text_field("tags", STRING);
    schema.build()
}

/// Makes a new index in memory and writes it to files.
pub(crate) struct TantivyFiller {
    folder: PathBuf,
    index: Index,
    writer: IndexWriter,
    fields: Fields,
}

impl TantivyFiller {
    /// Creates the index below a folder.
    pub(crate) fn create(folder: &Path) -> anyhow::Result<Self> {
        let folder = folder.join("tantivy");
        std::fs::create_dir_all(&folder)?;
        let index = Index::create(RamDirectory::create(), schema(), IndexSettings::default())?;
        let writer: IndexWriter = index.writer(FILLER_BYTES)?;
        // All segments are merged at the end, which must not meet another merge.
        writer.set_merge_policy(Box::new(NoMergePolicy));
        let fields = Fields::of(&index)?;
        Ok(Self { folder, index, writer, fields })
    }

    /// Adds memories.
    pub(crate) fn add(&self, memories: &[Memory]) -> anyhow::Result<()> {
        for memory in memories {
            self.writer.add_document(self.fields.document(memory))?;
        }
        Ok(())
    }

    /// Commits the memories and merges them into one segment, which is the fastest to search.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        self.writer.commit()?;
        let segments = self.index.searchable_segment_ids()?;
        if segments.len() > 1 {
            self.writer.merge(&segments).wait()?;
        }
        self.writer.garbage_collect_files().wait()?;
        self.writer.wait_merging_threads()?;
        let directory = self.index.directory();
        for name in directory.list_managed_files() {
            std::fs::write(self.folder.join(&name), directory.atomic_read(&name)?)?;
        }
        Ok(())
    }
}

/// The arm.
pub(crate) struct TantivyArm {
    index: Index,
    reader: IndexReader,
    fields: Fields,
    writer: Option<IndexWriter>,
}

impl TantivyArm {
    /// Copies the index below a folder into memory and opens the copy.
    pub(crate) fn open(folder: &Path) -> anyhow::Result<Self> {
        let index = Index::open(copied_to_memory(&folder.join("tantivy"))?)?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let fields = Fields::of(&index)?;
        Ok(Self { index, reader, fields, writer: None })
    }

    /// Returns the query for the memories that hold any of a question's terms.
    fn query(&self, question: &str, scope: Scope) -> BooleanQuery {
        let mut words = content_terms(question);
        words.sort_unstable();
        words.dedup();
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::with_capacity(words.len() + 1);
        if let Scope::Tagged = scope {
            let tagged = TermQuery::new(Term::from_field_text(self.fields.tags, TAG), IndexRecordOption::Basic);
            // The tag does not change a score.
            clauses.push((Occur::Must, Box::new(ConstScoreQuery::new(Box::new(tagged), 0.0))));
        }
        for word in &words {
            let term = Term::from_field_text(self.fields.terms, word);
            clauses.push((Occur::Should, Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))));
        }
        BooleanQuery::with_minimum_required_clauses(clauses, 1)
    }
}

impl LexicalArm for TantivyArm {
    fn search(&self, question: &str, scope: Scope) -> anyhow::Result<Found> {
        let start = Instant::now();
        let query = self.query(question, scope);
        let best = self.reader.searcher().search(&query, &TopDocs::with_limit(BEST).order_by_score())?;
        Ok(Found { count: best.len(), time: start.elapsed() })
    }

    fn start_writing(&mut self) -> anyhow::Result<()> {
        self.writer = Some(self.index.writer_with_num_threads(1, WRITER_BYTES)?);
        Ok(())
    }

    fn insert(&mut self, memory: &Memory) -> anyhow::Result<Duration> {
        let writer = self.writer.as_mut().context("writing was not started")?;
        let start = Instant::now();
        writer.add_document(self.fields.document(memory))?;
        writer.commit()?;
        self.reader.reload()?;
        Ok(start.elapsed())
    }
}

/// Copies the files of an index into memory.
fn copied_to_memory(folder: &Path) -> anyhow::Result<RamDirectory> {
    let directory = RamDirectory::create();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().context("a file without a name")?;
        let mut copy = directory.open_write(Path::new(name))?;
        std::io::copy(&mut File::open(&path)?, &mut copy)?;
        copy.terminate()?;
    }
    Ok(directory)
}
