//! The BM25 of the lexical arm against that of tantivy: on the same statistics, both compute the same scores.
//!
//! Both indexes hold the same texts through the same analyzer. tantivy's has one text field and one segment. The
//! memories have no speaker, cues or tags, and the questions no synonyms or times: what remains is BM25 over one text.
//! No memory is rewritten or forgotten, because tantivy counts deleted documents until it merges segments.
//!
//! tantivy stores the length of a text in one byte. The byte is exact up to 40 terms and at some lengths above, and the
//! generated texts have such lengths. Elsewhere tantivy reads a shorter length; the last property bounds the effect.
//!
//! Not compared:
//!
//! - the best of several wordings and the bitmap of a filter, which [`block`](super::block) tests;
//! - counts above 255 and lengths above 65,535, which the arm does not store;
//! - a mean length below one term, which the arm raises to one.

use std::sync::LazyLock;

use cuebase_language::claims::AskedClaims;
use cuebase_language::tokenize::content_terms;
use proptest::collection::vec;
use proptest::prelude::*;
use tantivy::collector::TopDocs;
use tantivy::directory::RamDirectory;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::query::{Bm25Weight, BooleanQuery};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Searcher, TantivyDocument, Term};

use super::LexicalScores;
use crate::arms::bm25::{PostingScore, idf};
use crate::claim::Currency;
use crate::filter::Filter;
use crate::head::Head;
use crate::index::{Change, Index, IndexSettings};
use crate::memory::Memory;
use crate::query::{Explain, Query};
use crate::tokens::NoTokens;
use crate::top_k::TopK;

/// Words of one term each, in English: a text with letters of another language has further terms. Some are forms of the
/// same term, so that the analyzer takes part.
const VOCABULARY: &str = "harbour harbours harbour's sail sailed sailing anchor rope violin concert rehearse rehearsed \
    oven flour recipe bakery CAFE cafes marathon coach medal garden Gardens tomato orchard server deploy deployed \
    passport train museum puppy adopted canvas buy bought child children teach taught telescope comet novel poem chess \
    1998 robot coffee election hospital";
static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| VOCABULARY.split_whitespace().collect());

/// The length of vectors in an index without vectors.
const DIMENSIONS: usize = 16;
/// Memory for tantivy's writer; the least that it takes.
const WRITER_BYTES: usize = 15_000_000;
/// Scores may differ by this share, because the operations are in another order.
const TOLERANCE: f32 = 1e-5;
/// tantivy's best documents that are compared by rank. It finds them without the scores of all others.
const RANKED: usize = 10;

/// Returns the length that tantivy reads for a text of `length` terms.
fn stored_length(length: u32) -> u32 {
    FieldNormReader::id_to_fieldnorm(FieldNormReader::fieldnorm_to_id(length))
}

/// Joins words to a text, cut to a length that tantivy stores exactly.
fn text_of(words: &[usize]) -> String {
    let length = stored_length(u32::try_from(words.len()).expect("few words")) as usize;
    let words: Vec<&str> = words[..length].iter().map(|word| WORDS[*word]).collect();
    words.join(" ")
}

/// Texts of up to 40 words, and a few longer ones.
fn texts() -> impl Strategy<Value = Vec<String>> {
    let words = prop_oneof![3 => vec(0..WORDS.len(), 1..=40), 1 => vec(0..WORDS.len(), 41..=120)];
    vec(words.prop_map(|words| text_of(&words)), 1..=200)
}

fn question() -> impl Strategy<Value = String> {
    vec(0..WORDS.len(), 1..=6).prop_map(|words| text_of(&words))
}

fn nearly_equal(a: f32, b: f32) -> bool {
    (a - b).abs() <= TOLERANCE * a.max(b)
}

/// Returns the lexical arm's score of each text. The first `first` texts are written before the others, so that the
/// documents may lie in two layers.
fn lexical_scores(texts: &[String], first: usize, question: &str) -> Vec<f32> {
    let folder = tempfile::tempdir().expect("temporary directory");
    let settings = IndexSettings { dimensions: DIMENSIONS, model: "none".into(), tokens: &NoTokens };
    let mut index = Index::open(folder.path(), settings).expect("opens");
    let mut changes = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        let memory = Memory { path: format!("facts/m{number}.md"), content: text.clone(), ..Memory::default() };
        changes.push(Change::Put(Box::new(memory)));
    }
    let others = changes.split_off(first.min(changes.len()));
    index.apply(changes, Head::from([1; 20])).expect("applies");
    index.apply(others, Head::from([2; 20])).expect("applies");

    let snapshot = index.published().load_full();
    let table = &snapshot.table;
    let query = Query {
        text: question,
        synonyms: &[],
        vector: None,
        times: &[],
        time_words: &[],
        filter: &Filter::default(),
        min_score: 0.0,
        limit: 1,
        now: 0,
        as_of: None,
        currency: Currency::First,
        asked: AskedClaims::NONE,
        user: None,
        exact: false,
        explain: Explain::No,
        reranker: None,
    };
    let top = TopK::new(1, |document| table.path(document));
    let (scores, _) = LexicalScores::compute(table, &query, None, top);
    // Documents are numbered in the order of writing.
    table.documents().map(|(number, _)| scores.score(number)).collect()
}

/// An index of tantivy in memory: one text field, one segment.
struct TantivyIndex {
    searcher: Searcher,
    field: Field,
}

impl TantivyIndex {
    fn new(texts: &[String]) -> Self {
        let indexing =
            TextFieldIndexing::default().set_tokenizer("whitespace").set_index_option(IndexRecordOption::WithFreqs);
        let mut schema = Schema::builder();
        let field = schema.add_text_field("terms", TextOptions::default().set_indexing_options(indexing));
        let builder = tantivy::Index::builder().schema(schema.build());
        let mut writer = builder.single_segment_index_writer(RamDirectory::create(), WRITER_BYTES).expect("a writer");
        for text in texts {
            let mut document = TantivyDocument::default();
            document.add_text(field, content_terms(text).join(" "));
            writer.add_document(document).expect("is added");
        }
        let index = writer.finalize().expect("is written");
        Self { searcher: index.reader().expect("opens").searcher(), field }
    }

    /// Returns the number and the score of the `limit` best texts, best first.
    fn best(&self, question: &str, limit: usize) -> Vec<(usize, f32)> {
        let mut terms = content_terms(question);
        terms.sort_unstable();
        terms.dedup();
        let terms = terms.iter().map(|term| Term::from_field_text(self.field, term)).collect();
        let query = BooleanQuery::new_multiterms_query(terms);
        let best = self.searcher.search(&query, &TopDocs::with_limit(limit).order_by_score()).expect("searches");
        best.into_iter().map(|(score, address)| (address.doc_id as usize, score)).collect()
    }
}

#[test]
fn every_word_of_the_vocabulary_is_one_term() {
    for word in WORDS.iter() {
        assert_eq!(content_terms(word).len(), 1, "{word}");
    }
    assert_eq!(content_terms("harbour harbours harbour's"), ["harbour"; 3]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn every_text_has_the_score_that_tantivy_gives_it(
        texts in texts(), first in 0..200usize, question in question(),
    ) {
        let scores = lexical_scores(&texts, first, &question);
        let tantivy = TantivyIndex::new(&texts);
        prop_assert_eq!(tantivy.searcher.segment_readers().len(), 1);

        let mut expected = vec![0f32; texts.len()];
        for (number, score) in tantivy.best(&question, texts.len()) {
            expected[number] = score;
        }
        prop_assert_eq!(scores.len(), expected.len());
        for (number, (score, expected)) in scores.iter().zip(&expected).enumerate() {
            prop_assert!(nearly_equal(*score, *expected), "text {number}: {score}, tantivy {expected}");
        }

        // Equal scores are in another order, so the scores at each rank are compared.
        let mut sorted = scores.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let ranked = tantivy.best(&question, RANKED);
        let found = scores.iter().filter(|score| **score > 0.0).count();
        prop_assert_eq!(ranked.len(), found.min(RANKED));
        for (rank, (score, (number, expected))) in sorted.iter().zip(ranked).enumerate() {
            prop_assert!(nearly_equal(*score, expected), "rank {rank}: {score}, tantivy {expected}");
            prop_assert!(nearly_equal(scores[number], expected), "text {number} at rank {rank}");
        }
    }
}

proptest! {
    #[test]
    fn a_posting_has_tantivys_score_at_every_exact_length(
        numbers in (1..10_000_000u64, 1..10_000_000u64), count in 1..=u8::MAX, length in 1..=u16::MAX,
        mean_length in 1f32..2000.0,
    ) {
        // Up to ten million memories, of which some hold the term.
        let (memories, frequency) = (numbers.0.max(numbers.1), numbers.0.min(numbers.1));
        let length = stored_length(u32::from(length));
        let weight = Bm25Weight::for_one_term(frequency, memories, mean_length);
        let expected = weight.score(FieldNormReader::fieldnorm_to_id(length), u32::from(count));
        let posting_score = PostingScore::new(idf(memories as f32, frequency as f32), mean_length);
        let score = posting_score.of(f32::from(count), length as f32);
        prop_assert!(nearly_equal(score, expected), "{score}, tantivy {expected}");
    }

    #[test]
    fn a_rounded_length_raises_tantivys_score_by_under_an_eighth(
        count in 1..=u8::MAX, length in 1..=u16::MAX, mean_length in 1f32..2000.0,
    ) {
        let weight = Bm25Weight::for_one_term(1, 2, mean_length);
        let rounded = weight.score(FieldNormReader::fieldnorm_to_id(u32::from(length)), u32::from(count));
        let score = PostingScore::new(idf(2.0, 1.0), mean_length).of(f32::from(count), f32::from(length));
        let ratio = rounded / score;
        prop_assert!((1.0 - TOLERANCE..1.125 + TOLERANCE).contains(&ratio), "{rounded}, exact {score}");
        prop_assert!(length > 40 || nearly_equal(rounded, score), "{rounded} at length {length}, exact {score}");
    }
}
