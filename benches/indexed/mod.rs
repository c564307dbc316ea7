//! An index of generated conversations, built in the same way as the service builds it, and questions for it.

use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use cuebase::ingest::extraction;
use cuebase::memory::conversation::Conversation;
use cuebase::memory::{files, request};
use cuebase::model::{StaticTable, index_settings};
use cuebase_language::claims::AskedClaims;
use cuebase_language::text::steps::Steps;
use cuebase_retrieval::{
    Change, Currency, Explain, Filter, Head, Index, Memory, Millis, Query, SearchResults, Snapshot,
};
use cuebase_storage::memory_file::MemoryPath;
use jiff::Timestamp;
use rayon::prelude::*;
use serde_json::json;

use crate::corpus::Corpus;

const MESSAGES: usize = 20;
/// One conversation in this many has the tag that [`rare`] filters by.
const TAGGED: usize = 100;

/// Returns a conversation of the corpus, as the API accepts it.
pub(crate) fn conversation(number: usize) -> Conversation {
    let said = Corpus::new(number as u64 + 7).conversation(MESSAGES);
    let tags: &[&str] = if number.is_multiple_of(TAGGED) { &["rare"] } else { &[] };
    conversation_of(&format!("s{number}"), tags, &said)
}

/// Returns a conversation of messages, each given as speaker and text.
pub(crate) fn conversation_of(session: &str, tags: &[&str], said: &[(String, String)]) -> Conversation {
    let messages: Vec<_> =
        said.iter().map(|(name, text)| json!({"role": "user", "name": name, "content": text})).collect();
    let body = json!({"session_id": session, "tags": tags, "messages": messages});
    request::conversation(body.as_object().expect("an object")).expect("valid")
}

/// Extracts the memories of a conversation.
pub(crate) fn memories_of(conversation: &Conversation, table: &StaticTable) -> Vec<Memory> {
    let now = Timestamp::UNIX_EPOCH;
    let session = conversation.session_id.as_deref().unwrap_or_default();
    let drafts = extraction::extract(conversation, now, &Steps::unlimited()).expect("nothing interrupts").drafts;
    let mut paths = Vec::with_capacity(drafts.len());
    for (n, draft) in drafts.iter().enumerate() {
        paths.push(format!("{}/{session}/{n}.md", draft.tier.name()));
    }
    let mut memories = Vec::with_capacity(drafts.len());
    for (draft, path) in drafts.iter().zip(&paths) {
        let file = files::of_draft(draft, &paths, conversation, now);
        let path: MemoryPath = path.parse().expect("a memory's path");
        memories.push(files::to_memory(&path, file, &|text| Some(table.vector(text))));
    }
    memories
}

/// Returns the changes that put memories into an index.
pub(crate) fn puts(memories: Vec<Memory>) -> Vec<Change> {
    memories.into_iter().map(|memory| Change::Put(Box::new(memory))).collect()
}

/// The head of every state of an index here: the memories are in no repository.
pub(crate) fn no_commit() -> Head {
    Head::from([0; 20])
}

/// Opens the index in a folder.
pub(crate) fn open(folder: &Path, table: &'static StaticTable) -> Index {
    Index::open(folder, index_settings(table).expect("the table is whole")).expect("opens")
}

/// Builds an index of at least `cues` cues.
pub(crate) fn filled(folder: &Path, cues: usize, table: &'static StaticTable) -> Index {
    let mut index = open(folder, table);
    let began = Instant::now();
    let (mut indexed, mut conversations) = (0, 0);
    while indexed < cues {
        let next = (cues - indexed).div_ceil(2 * MESSAGES).clamp(1, 1000);
        let numbers = conversations..conversations + next;
        let memories = numbers.into_par_iter().flat_map_iter(|number| memories_of(&conversation(number), table));
        let memories: Vec<Memory> = memories.collect();
        indexed += memories.iter().map(|memory| memory.cues.len()).sum::<usize>();
        conversations += next;
        index.apply(puts(memories), no_commit()).expect("applies");
    }
    println!("{indexed} cues of {} memories indexed in {:.1} s", index.memory_count(), began.elapsed().as_secs_f64());
    index
}

/// A question with its embedding.
#[derive(Clone)]
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) vector: Vec<f32>,
    /// The times that the question names.
    pub(crate) times: Vec<Range<Millis>>,
}

impl Question {
    pub(crate) fn new(text: String, table: &StaticTable) -> Self {
        Self { vector: table.vector(&text), text, times: Vec::new() }
    }
}

/// Returns questions of the corpus, the same in every run.
pub(crate) fn questions(count: usize, table: &StaticTable) -> Vec<Question> {
    let mut corpus = Corpus::new(3);
    (0..count).map(|_| Question::new(corpus.question(), table)).collect()
}

/// Returns a filter that one memory in a hundred passes.
pub(crate) fn rare() -> Filter {
    Filter { tags_any: vec!["rare".into()], ..Filter::default() }
}

/// Searches for 24 hits.
pub(crate) fn search(snapshot: &Snapshot, question: &Question, filter: &Filter, exact: bool) -> SearchResults {
    let query = Query {
        text: &question.text,
        synonyms: &[],
        vector: Some(&question.vector),
        times: &question.times,
        time_words: &[],
        filter,
        min_score: 0.0,
        limit: 24,
        now: 0,
        as_of: None,
        currency: Currency::First,
        asked: AskedClaims::NONE,
        user: None,
        exact,
        explain: Explain::No,
        reranker: None,
    };
    snapshot.search(&query).expect("searches")
}
