//! Queries: the words and conditions by which memories are searched.

use std::borrow::Cow;
use std::ops::Range;

use cuebase_language::claims::AskedClaims;
use serde::{Deserialize, Serialize};

use crate::claim::Currency;
use crate::filter::Filter;
use crate::memory::Millis;
use crate::reranker::Reranker;
use crate::vocabulary::Synonyms;

/// Whether a search explains the scores of its hits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Explain {
    /// Hits have a score alone.
    #[default]
    No,
    /// Hits have an [`Explanation`](crate::Explanation).
    Yes,
}

/// A search for memories.
#[derive(Clone, Debug)]
pub struct Query<'a> {
    /// The text to search for.
    pub text: &'a str,
    /// Other wordings of ranges of the text, ascending and disjoint.
    pub synonyms: &'a [Synonyms],
    /// The embedding of the text, of the index's dimensions. `None` skips the cue arm.
    pub vector: Option<&'a [f32]>,
    /// The times that the text names, ascending and disjoint. Memories of about those times rank higher.
    pub times: &'a [Range<Millis>],
    /// The byte ranges of the text that name these times, ascending. A memory of those times need not contain the
    /// words.
    pub time_words: &'a [Range<usize>],
    /// The conditions that every hit meets.
    pub filter: &'a Filter,
    /// Hits with a lower score are left out.
    pub min_score: f32,
    /// The maximum number of hits.
    pub limit: usize,
    /// The time at which expiry and validity are judged.
    pub now: Millis,
    /// If given, the search answers as of this time: later memories are not found, and validity is judged then.
    pub as_of: Option<Millis>,
    /// What becomes of memories that no longer hold.
    pub currency: Currency,
    /// The claims that the query asks for.
    pub asked: &'a AskedClaims,
    /// The name of the person who asks, for whom "I" stands. Without a name it is the only person who speaks in the
    /// namespace, if there is just one.
    pub user: Option<&'a str>,
    /// Whether every cue is compared in full, instead of the few thousand with the nearest sketches.
    pub exact: bool,
    /// Whether hits come with an explanation of their score.
    pub explain: Explain,
    /// The model that reads the best candidates, if there is one.
    pub reranker: Option<&'a dyn Reranker>,
}

impl Query<'_> {
    /// Returns the text without the words that name times.
    pub(crate) fn text_without_times(&self) -> Cow<'_, str> {
        if self.time_words.is_empty() {
            return Cow::Borrowed(self.text);
        }
        let mut parts: Vec<&str> = Vec::with_capacity(self.time_words.len() + 1);
        let mut from = 0;
        for words in self.time_words {
            parts.extend(self.text.get(from..words.start));
            from = words.end;
        }
        parts.extend(self.text.get(from..));
        Cow::Owned(parts.join(" "))
    }
}
