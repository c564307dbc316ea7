//! Why a query finds the memory at a path, or why it does not. Start at [`Snapshot::explain`].
//!
//! The search runs as usual. If the memory is not a candidate of it, the memory is added to the candidates, so that it has
//! a score, and the rank that it would have.

use super::explanation::Explanation;
use super::prepared::Search;
use super::ranking::{Candidate, Ranking};
use crate::arms::lexical::terms::TermScores;
use crate::claim::Currency;
use crate::error::Result;
use crate::hash::PathHash;
use crate::ids::DocumentId;
use crate::index::{Document, Snapshot};
use crate::memory::Memory;
use crate::query::Query;
use crate::threads::RunningSearch;

/// Limit of the paths that outranked a memory.
const OUTRANKED_BY_MAX: usize = 24;

/// Why a query finds the memory at a path, or why it does not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathExplanation {
    /// What keeps the memory out of the hits. Empty for a hit, and for a repetition of one.
    pub excluded_by: Vec<Exclusion>,
    /// For a repetition: the path of the hit that says the same and names the memory in [`Hit::also`](crate::Hit::also).
    pub repeats: Option<String>,
    /// What the query made of the memory; `None` if the path holds none.
    pub ranked: Option<RankedMemory>,
}

/// The place of a memory among the candidates of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedMemory {
    /// The rank among all candidates, from 1. For a memory that is not a candidate, the rank that it would have.
    pub rank: usize,
    /// The probability that the memory answers the query.
    pub score: f32,
    /// What the score was made from.
    pub explanation: Explanation,
    /// Paths of the candidates of a higher rank, best first, up to a limit.
    pub outranked_by: Vec<String>,
}

/// What keeps a memory out of the hits of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// No memory is stored at the path.
    UnknownPath,
    /// The filter does not accept the memory, or the memory is later than the time as of which the query asks.
    Filter,
    /// The memory has expired.
    Expired,
    /// The memory does not hold, and the query asks for memories that hold.
    Superseded,
    /// No arm found the memory among its best.
    NoArm,
    /// The score is lower than the query's minimum.
    MinScore,
    /// The hits of a higher rank take up the query's limit.
    Limit,
}

impl PathExplanation {
    /// Whether the memory is a hit of the query.
    pub fn is_hit(&self) -> bool {
        self.excluded_by.is_empty() && self.repeats.is_none()
    }
}

impl Snapshot {
    /// Explains why a query finds the memory at a path, or why it does not. Scans every path once.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::search`].
    pub fn explain(&self, query: &Query<'_>, path: &str) -> Result<PathExplanation> {
        let path = PathHash::of(path);
        let Some((id, document)) = self.table.documents().find(|(_, document)| document.path() == path) else {
            return Ok(PathExplanation { excluded_by: vec![Exclusion::UnknownPath], ..PathExplanation::default() });
        };
        let memory = self.memory(document)?;
        let running = RunningSearch::begin();
        let search = Search::new(self, query, running.threads(self.cues.rows()))?;
        let (mut arms, words) = search.run_arms();
        let candidates = search.candidates(&mut arms);
        let mut ranking = search.rank_candidates(&candidates, &arms, words.soft_match, &words.names)?;

        let mut explained =
            PathExplanation { excluded_by: search.excluded_by(id, document, &memory), ..Default::default() };
        if !ranking.is_candidate(id) {
            if explained.excluded_by.is_empty() {
                explained.excluded_by.push(Exclusion::NoArm);
            }
            ranking.signals.add(&[id]);
            ranking.rank(&[id]);
            search.rank_by_currency(&mut ranking);
        }
        let Some(position) = ranking.position(id) else { return Ok(explained) };
        let candidate = &ranking.candidates[position];
        search.judge(&ranking, candidate, &mut explained)?;
        let terms = TermScores::new(&self.table, &search.query);
        explained.ranked = Some(RankedMemory {
            rank: position + 1,
            score: candidate.score,
            explanation: search.explanation(&ranking, candidate, &memory, &terms)?,
            outranked_by: search.paths(&ranking.candidates[..position.min(OUTRANKED_BY_MAX)])?,
        });
        Ok(explained)
    }
}

impl Search<'_> {
    /// Returns the conditions of the query that exclude a memory.
    fn excluded_by(&self, id: DocumentId, document: Document<'_>, memory: &Memory) -> Vec<Exclusion> {
        let mut excluded_by = Vec::new();
        if !self.query.filter.accepts(memory) {
            excluded_by.push(Exclusion::Filter);
        }
        if document.hidden_from() <= self.query.now {
            excluded_by.push(Exclusion::Expired);
        }
        let holds = self.validity.holds(&self.snapshot.table, &self.snapshot.ledger, id);
        if self.query.currency == Currency::Only && !holds {
            excluded_by.push(Exclusion::Superseded);
        }
        let is_allowed = self.allowed.as_ref().is_none_or(|allowed| allowed.contains(id));
        if !is_allowed && excluded_by.is_empty() {
            // The memory is later than the time of the search.
            excluded_by.push(Exclusion::Filter);
        }
        excluded_by
    }

    /// Decides whether a candidate is chosen as a hit, or what keeps it from that.
    fn judge(&self, ranking: &Ranking<'_>, candidate: &Candidate, explained: &mut PathExplanation) -> Result<()> {
        if candidate.score < self.query.min_score {
            explained.excluded_by.push(Exclusion::MinScore);
            return Ok(());
        }
        for chosen in self.choose(ranking) {
            if chosen.candidate.document == candidate.document {
                return Ok(());
            }
            if chosen.repetitions.iter().any(|repetition| repetition.document == candidate.document) {
                // A memory that a condition excludes is not named by the hit.
                if explained.excluded_by.is_empty() {
                    explained.repeats = self.paths(std::slice::from_ref(chosen.candidate))?.pop();
                }
                return Ok(());
            }
        }
        explained.excluded_by.push(Exclusion::Limit);
        Ok(())
    }

    /// Returns the paths of candidates, in their order.
    fn paths(&self, candidates: &[Candidate]) -> Result<Vec<String>> {
        let mut paths = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            if let Some(document) = self.snapshot.table.document(candidate.document) {
                paths.push(self.snapshot.path_name(document)?);
            }
        }
        Ok(paths)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use cuebase_language::claims::AskedClaims;

    use super::*;
    use crate::filter::Filter;
    use crate::head::Head;
    use crate::index::{Change, Index, IndexSettings};
    use crate::memory::Validity;
    use crate::query::Explain;
    use crate::tokens::NoTokens;

    const NOW: i64 = 1_000;

    /// Memories about a ferry: a short one, two repetitions, an expired one, one that another replaces, one of tomorrow.
    fn memories() -> Vec<Memory> {
        let ferry = |path: &str, content: &str| Memory {
            path: path.into(),
            content: content.into(),
            created: Some(0),
            updated: Some(0),
            ..Memory::default()
        };
        let replaces = Validity { supersedes: vec!["facts/old.md".into()], ..Validity::default() };
        vec![
            Memory { updated: Some(9), ..ferry("facts/short.md", "ferry timetable") },
            Memory {
                statement: "same".into(),
                ..ferry("facts/same.md", "the ferry is green and leaves from the pier")
            },
            Memory {
                statement: "same".into(),
                ..ferry("facts/again.md", "the ferry is green and leaves from the pier")
            },
            Memory { hidden_from: Some(NOW), ..ferry("facts/gone.md", "the ferry is late") },
            ferry("facts/old.md", "the ferry costs two crowns"),
            Memory { validity: replaces, ..ferry("facts/new.md", "the ferry costs three crowns by now") },
            Memory {
                user_tags: vec!["boat".into()],
                ..ferry("facts/tagged.md", "a ferry with a tag and many more words")
            },
            ferry("facts/other.md", "nothing of the kind"),
            Memory { occurred: Some(500), ..ferry("facts/later.md", "the ferry sank") },
        ]
    }

    /// Explains a memory for a query about the ferry. `change` may change the query.
    fn explained(path: &str, change: impl FnOnce(&mut Query<'_>)) -> PathExplanation {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = IndexSettings { dimensions: 1, model: "m".into(), tokens: &NoTokens };
        let mut index = Index::open(folder.path(), settings).expect("opens");
        let changes = memories().into_iter().map(|memory| Change::Put(Box::new(memory))).collect();
        index.apply(changes, Head::from([1; 20])).expect("applies");
        let filter = Filter::default();
        let mut query = Query {
            text: "the timetable of the ferry",
            synonyms: &[],
            vector: None,
            times: &[],
            time_words: &[],
            filter: &filter,
            min_score: 0.0,
            limit: 24,
            now: NOW,
            as_of: None,
            currency: Currency::First,
            asked: AskedClaims::NONE,
            user: None,
            exact: false,
            explain: Explain::No,
            reranker: None,
        };
        change(&mut query);
        let snapshot = index.published().load_full();
        let explained = snapshot.explain(&query, path).expect("explains");
        let hits = snapshot.search(&query).expect("searches").hits;
        assert_eq!(hits.iter().any(|hit| hit.memory.path == path), explained.is_hit(), "{path}: {explained:?}");
        explained
    }

    #[test]
    fn a_candidate_has_its_rank_and_the_paths_before_it() {
        let mut by_rank = BTreeMap::new();
        for memory in memories() {
            let explained = explained(&memory.path, |_| ());
            if explained.excluded_by.is_empty() {
                let ranked = explained.ranked.expect("is ranked");
                by_rank.insert(ranked.rank, (memory.path, ranked.outranked_by));
            }
        }
        assert_eq!(by_rank.keys().copied().collect::<Vec<usize>>(), [1, 2, 3, 4, 5, 6, 7]);
        let mut before: Vec<String> = Vec::new();
        for (path, outranked_by) in by_rank.into_values() {
            assert_eq!(outranked_by, before);
            before.push(path);
        }
    }

    #[test]
    fn an_explanation_has_the_matched_terms() {
        let terms = |path: &str| {
            let explanation = explained(path, |_| ()).ranked.expect("is ranked").explanation;
            explanation.terms.into_iter().map(|matched| matched.term).collect::<Vec<String>>()
        };
        assert_eq!(terms("facts/short.md"), ["timetable", "ferry"], "the rarest first");
        assert_eq!(terms("facts/tagged.md"), ["ferry"]);
        assert!(terms("facts/other.md").is_empty());
    }

    #[test]
    fn every_condition_that_excludes_a_memory_is_named() {
        let tag = Filter { tags_any: vec!["boat".into()], ..Filter::default() };
        let cases: [(&str, Vec<Exclusion>); 4] = [
            ("facts/short.md", vec![Exclusion::Filter]),
            ("facts/gone.md", vec![Exclusion::Filter, Exclusion::Expired]),
            ("facts/none.md", vec![Exclusion::UnknownPath]),
            ("facts/tagged.md", Vec::new()),
        ];
        for (path, expected) in cases {
            // The test's filter lives longer than the query.
            let found = explained(path, |query| query.filter = Box::leak(Box::new(tag.clone())));
            assert_eq!(found.excluded_by, expected, "{path}");
            assert_eq!(found.ranked.is_some(), path != "facts/none.md");
        }
        assert_eq!(explained("facts/gone.md", |_| ()).excluded_by, [Exclusion::Expired]);
        assert_eq!(explained("facts/later.md", |query| query.as_of = Some(100)).excluded_by, [Exclusion::Filter]);
        assert_eq!(explained("facts/other.md", |_| ()).excluded_by, [Exclusion::NoArm]);
    }

    #[test]
    fn a_superseded_memory_is_excluded_or_ranked_behind() {
        let only = explained("facts/old.md", |query| query.currency = Currency::Only);
        assert_eq!(only.excluded_by, [Exclusion::Superseded]);
        let behind = explained("facts/old.md", |_| ());
        assert!(behind.is_hit());
        let outranked_by = behind.ranked.expect("is ranked").outranked_by;
        assert!(outranked_by.contains(&"facts/new.md".to_owned()), "{outranked_by:?}");
    }

    #[test]
    fn a_low_score_and_a_full_page_exclude() {
        let low = explained("facts/tagged.md", |query| query.min_score = 0.999);
        assert_eq!(low.excluded_by, [Exclusion::MinScore]);
        let mut hits = 0;
        for memory in memories() {
            if ["facts/gone.md", "facts/other.md"].contains(&memory.path.as_str()) {
                continue;
            }
            let explained = explained(&memory.path, |query| query.limit = 1);
            let is_limited = explained.excluded_by == [Exclusion::Limit] || explained.repeats.is_some();
            assert_ne!(explained.is_hit(), is_limited, "{}", memory.path);
            hits += usize::from(explained.is_hit());
        }
        assert_eq!(hits, 1);
    }

    #[test]
    fn a_repetition_names_the_hit_that_says_the_same() {
        let mut repeats = Vec::new();
        for path in ["facts/same.md", "facts/again.md"] {
            let explained = explained(path, |_| ());
            assert!(explained.excluded_by.is_empty());
            repeats.extend(explained.repeats);
        }
        assert_eq!(repeats.len(), 1, "one of both is a hit: {repeats:?}");
    }
}
