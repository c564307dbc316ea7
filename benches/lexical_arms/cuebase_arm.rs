//! Cuebase's lexical arm: an index of memories without vectors, word pieces and relations.

use std::path::Path;
use std::time::{Duration, Instant};

use cuebase_language::claims::AskedClaims;
use cuebase_retrieval::{Currency, Explain, Filter, Head, Index, IndexSettings, Memory, Query, TokenVectors};

use super::{Found, LexicalArm, Scope};
use crate::indexed::{puts, rare};

/// The length of the vectors, of which the index has none.
const DIMENSIONS: usize = 64;

/// A vocabulary without tokens.
struct NoTokens;

impl TokenVectors for NoTokens {
    fn identity(&self) -> &str {
        "none"
    }

    fn token_count(&self) -> usize {
        0
    }

    fn tokens(&self, _: &str) -> Vec<u16> {
        Vec::new()
    }

    fn is_content(&self, _: u16) -> bool {
        false
    }

    fn cosine(&self, _: u16, _: u16) -> f32 {
        0.0
    }
}

/// The arm.
pub(crate) struct CuebaseArm {
    index: Index,
}

impl CuebaseArm {
    /// Opens the index below a folder, or creates it.
    pub(crate) fn open(folder: &Path) -> anyhow::Result<Self> {
        let settings = IndexSettings { dimensions: DIMENSIONS, model: "none".into(), tokens: &NoTokens };
        Ok(Self { index: Index::open(&folder.join("cuebase"), settings)? })
    }

    /// Adds memories.
    pub(crate) fn add(&mut self, memories: &[Memory]) -> anyhow::Result<()> {
        let memories = memories.iter().map(only_words).collect();
        self.index.apply(puts(memories), Head::from([1; 20]))?;
        Ok(())
    }
}

impl LexicalArm for CuebaseArm {
    /// The time is that of everything before ranking: the bitmap of the filter, the arm, and the query's words.
    fn search(&self, question: &str, scope: Scope) -> anyhow::Result<Found> {
        let filter = match scope {
            Scope::Everything => Filter::default(),
            Scope::Tagged => rare(),
        };
        let query = Query {
            text: question,
            synonyms: &[],
            vector: None,
            times: &[],
            time_words: &[],
            filter: &filter,
            min_score: 0.0,
            // The arm's best documents are always ranked. Only the texts of the hits are read.
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
        let results = self.index.published().load_full().search(&query)?;
        Ok(Found { count: results.hits.len(), time: results.total_time.saturating_sub(results.graph_time) })
    }

    fn start_writing(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    fn insert(&mut self, memory: &Memory) -> anyhow::Result<Duration> {
        let changes = puts(vec![only_words(memory)]);
        let start = Instant::now();
        self.index.apply(changes, Head::from([2; 20]))?;
        Ok(start.elapsed())
    }
}

/// Returns a memory without what the other arms search.
fn only_words(memory: &Memory) -> Memory {
    let mut memory = memory.clone();
    for cue in &mut memory.cues {
        cue.vector = None;
    }
    memory.relations.clear();
    memory
}
