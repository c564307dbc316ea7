//! A search that returns only the hits which the admission of the request allows.
//!
//! A query that asks for several things is searched as a whole and for each of its parts. The hits of each search are
//! admitted among themselves, so that a memory which answers one part well is not measured by the best answer of
//! another. A memory has the score of the part that it answers best.

use cuebase_language::relevance::{Admission, Searched, parts};
use cuebase_retrieval::Head;

use super::search::{RequestSearch, TextResults};
use super::search_result::{FoundMemory, SearchResult, SearchTimes};
use crate::error::Result;
use crate::namespace::registry::Lease;
use crate::service::reads::Reads;

/// The admitted hits of the searches so far, in no order.
#[derive(Default)]
struct AdmittedHits {
    hits: Vec<FoundMemory>,
    head: Option<Head>,
    read: usize,
    times: SearchTimes,
}

impl Reads {
    /// Searches an open namespace for a query and for its parts. Returns the hits that the request admits.
    pub(super) fn search_admitted(
        &self,
        lease: Lease,
        text: &str,
        search: &mut RequestSearch<'_>,
    ) -> Result<SearchResult> {
        let admission = search.request.admission;
        let parts = parts(text);
        let reading = search.reading;
        if parts.len() > 1 {
            search.share_reading(parts.len() + 1);
        }
        let mut whole = self.search_text(&lease, text, search)?;
        let mut admitted = AdmittedHits::default();
        admitted.add(std::mem::take(&mut whole.hits), admission, Searched::Whole);
        admitted.add_search(&whole);
        if parts.len() > 1 {
            for part in &parts {
                let mut results = self.search_text(&lease, &part.text(), search)?;
                admitted.add(std::mem::take(&mut results.hits), admission, Searched::Part);
                admitted.add_search(&results);
            }
        }
        search.reading = reading;
        let AdmittedHits { mut hits, head, read, times } = admitted;
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(search.request.limit);
        Ok(TextResults { head, hits, read, times, ..whole }.of_request(lease))
    }
}

impl AdmittedHits {
    /// Adds the hits of a search that are admitted among themselves.
    fn add(&mut self, hits: Vec<FoundMemory>, admission: Admission, searched: Searched) {
        let scores: Vec<f32> = hits.iter().map(|hit| hit.score).collect();
        for (hit, is_admitted) in hits.into_iter().zip(admission.admitted(&scores, searched)) {
            if is_admitted {
                self.add_hit(hit);
            }
        }
    }

    /// Adds a hit. Of a memory and of its repetitions, the hit with the best score stays.
    fn add_hit(&mut self, hit: FoundMemory) {
        match self.hits.iter_mut().find(|known| is_same(known, &hit)) {
            Some(known) if known.score < hit.score => *known = hit,
            Some(_) => {}
            None => self.hits.push(hit),
        }
    }

    /// Adds the time of a search. The head of the last search is the newest.
    fn add_search(&mut self, results: &TextResults) {
        self.head = results.head;
        self.read += results.read;
        self.times.vector += results.times.vector;
        self.times.lexical += results.times.lexical;
        self.times.graph += results.times.graph;
    }
}

/// Whether two hits are the same memory, or one repeats the other.
fn is_same(known: &FoundMemory, hit: &FoundMemory) -> bool {
    known.memory.path == hit.memory.path
        || known.also.contains(&hit.memory.path)
        || hit.also.contains(&known.memory.path)
}

#[cfg(test)]
mod tests {
    use cuebase_retrieval::{Listed, Memory};

    use super::*;

    fn hit(path: &str, score: f32, also: &[&str]) -> FoundMemory {
        let memory = Memory { path: path.to_owned(), ..Memory::default() };
        let also = also.iter().map(|&path| path.to_owned()).collect();
        FoundMemory { score, also, ..FoundMemory::listed(Listed { memory, ..Listed::default() }) }
    }

    fn admitted(searches: Vec<Vec<FoundMemory>>) -> Vec<(String, f32)> {
        let mut admitted = AdmittedHits::default();
        for hits in searches {
            admitted.add(hits, Admission::Balanced, Searched::Whole);
        }
        admitted.hits.into_iter().map(|hit| (hit.memory.path, hit.score)).collect()
    }

    #[test]
    fn hits_are_admitted_within_their_search() {
        // Next to the best hit of the first search, that of the second one would not be admitted.
        let found = admitted(vec![
            vec![hit("a", 0.99, &[]), hit("b", 0.01, &[])],
            vec![hit("c", 0.24, &[])],
            vec![hit("d", 0.02, &[])],
        ]);
        assert_eq!(found, [("a".to_owned(), 0.99), ("c".to_owned(), 0.24)]);
    }

    #[test]
    fn a_memory_has_the_score_of_the_part_that_it_answers_best() {
        let found = admitted(vec![vec![hit("a", 0.5, &[])], vec![hit("a", 0.9, &[])], vec![hit("a", 0.7, &[])]]);
        assert_eq!(found, [("a".to_owned(), 0.9)]);
    }

    #[test]
    fn a_repetition_is_not_a_hit_of_its_own() {
        let found = admitted(vec![vec![hit("a", 0.5, &["b"])], vec![hit("b", 0.6, &["a"])]]);
        assert_eq!(found, [("b".to_owned(), 0.6)]);
    }
}
