//! The parts of a query that one document holds, with their shares of the document's BM25 score.

use super::block::QueryTerm;
use super::parts::weighted_parts;
use crate::arms::bm25::PostingScore;
use crate::ids::DocumentId;
use crate::index::Table;
use crate::query::Query;

/// A part of the query that a memory holds.
#[derive(Clone, Debug, PartialEq)]
pub struct TermMatch {
    /// The word as the query has it. A range with synonyms is one part.
    pub term: String,
    /// Its share of the memory's BM25 score.
    pub bm25: f32,
}

/// The parts of a query, to compute the shares of single documents.
pub(crate) struct TermScores<'a> {
    parts: Vec<NamedPart<'a>>,
    /// The mean length of a memory in words that have terms.
    mean_length: f32,
}

/// A part of the query that some memory holds, as the query has it.
struct NamedPart<'a> {
    name: String,
    wordings: Vec<Vec<QueryTerm<'a>>>,
}

impl<'a> TermScores<'a> {
    pub(crate) fn new(table: &'a Table, query: &Query<'_>) -> Self {
        let mut parts = Vec::new();
        for part in weighted_parts(table, query).known {
            parts.push(NamedPart { name: part.text, wordings: part.wordings });
        }
        Self { parts, mean_length: table.mean_length() }
    }

    /// Returns the parts that a document holds, the rarest first. Their sum is the BM25 score of the document.
    pub(crate) fn of(&self, document: DocumentId) -> Vec<TermMatch> {
        let mut matches = Vec::new();
        for part in &self.parts {
            let mut best = 0f32;
            for wording in &part.wordings {
                let score: f32 = wording.iter().map(|term| self.score(term, document)).sum();
                best = best.max(score);
            }
            if best > 0.0 {
                matches.push(TermMatch { term: part.name.clone(), bm25: best });
            }
        }
        matches
    }

    /// Returns the score of a term in a document; zero if the document does not hold it.
    fn score(&self, term: &QueryTerm<'_>, document: DocumentId) -> f32 {
        for postings in &term.rest {
            if let Ok(index) = postings.documents.binary_search(&document) {
                let (count, length) = (f32::from(postings.counts[index]), f32::from(postings.lengths[index]));
                return PostingScore::new(term.weight, self.mean_length).of(count, length);
            }
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use cuebase_language::claims::AskedClaims;

    use super::*;
    use crate::arms::lexical::LexicalScores;
    use crate::claim::Currency;
    use crate::filter::Filter;
    use crate::head::Head;
    use crate::index::{Change, Index, IndexSettings};
    use crate::memory::Memory;
    use crate::query::Explain;
    use crate::tokens::NoTokens;
    use crate::top_k::TopK;
    use crate::vocabulary::Synonyms;

    /// Returns the parts of the query that each memory holds. Checks that they sum to its score.
    fn held_parts(contents: &[&str], text: &str, synonyms: &[Synonyms]) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = IndexSettings { dimensions: 1, model: "m".into(), tokens: &NoTokens };
        let mut index = Index::open(folder.path(), settings).expect("opens");
        for (number, content) in contents.iter().enumerate() {
            let path = format!("facts/{number}.md");
            let memory = Memory { path, content: (*content).into(), ..Memory::default() };
            index.apply(vec![Change::Put(Box::new(memory))], Head::from([1; 20])).expect("applies");
        }
        let snapshot = index.published().load_full();
        let table = &snapshot.table;
        let query = Query {
            text,
            synonyms,
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
        let (scores, _) = LexicalScores::compute(table, &query, None, TopK::new(1, |document| table.path(document)));
        let terms = TermScores::new(table, &query);
        let mut names = Vec::new();
        for (id, _) in table.documents() {
            let matches = terms.of(id);
            let sum: f32 = matches.iter().map(|part| part.bm25).sum();
            assert!((sum - scores.score(id)).abs() < 1e-5, "{matches:?}");
            let mut of_document: Vec<String> = matches.into_iter().map(|part| part.term).collect();
            of_document.sort();
            names.push(of_document.join(" "));
        }
        names
    }

    #[test]
    fn the_parts_of_a_document_are_named_by_the_query_and_sum_to_its_score() {
        let contents = ["The cluster rollout was late", "Rollouts of a container platform, a rollout", "Nothing here"];
        let synonyms = [Synonyms { range: 8..11, forms: vec!["container platform".into(), "cluster".into()] }];
        let names = held_parts(&contents, "Was the k8s Rollouts late yesterday", &synonyms);
        assert_eq!(names, ["Rollouts k8s late", "Rollouts k8s", ""]);
    }

    #[test]
    fn a_misspelt_word_is_held_by_the_memories_with_the_right_one() {
        let contents = ["The harbour master retired", "The barber retired", "Nothing here"];
        assert_eq!(
            held_parts(&contents, "When did the harbuor master retire?", &[]),
            ["harbuor master retire", "retire", ""]
        );
        // "barber" differs from "harber" in the first letter.
        assert_eq!(held_parts(&contents, "Is the harber open?", &[]), ["", "", ""]);
    }

    #[test]
    fn a_word_that_some_memory_holds_is_not_taken_as_misspelt() {
        let contents = ["The trail along the river", "The train along the river"];
        assert_eq!(held_parts(&contents, "trail", &[]), ["trail", ""]);
    }

    #[test]
    fn a_word_with_two_stems_is_one_part_that_either_stem_holds() {
        // The second memory shows no language, so it has English stems only.
        let contents = ["Die Häuser wurden mit Steinen gebaut", "Haus gebaut 1890", "Nothing here"];
        let names = held_parts(&contents, "Wann wurden die Häuser gebaut?", &[]);
        assert_eq!(names, ["Häuser gebaut", "Häuser gebaut", ""]);
    }
}
