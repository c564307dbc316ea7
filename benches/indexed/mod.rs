//! An index of the corpus's conversations, made as the service makes it, and questions to it.

use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use cuebase::ingest::extract;
use cuebase::memory::conversation::Conversation;
use cuebase::memory::draft::Draft;
use cuebase::memory::{files, request};
use cuebase::model::{StaticTable, index_settings};
use cuebase::text::steps::Steps;
use cuebase_retrieval::{Change, Filter, Index, Memory, Millis, Outcome, Query, Snapshot};
use cuebase_storage::memory_file::MemoryPath;
use jiff::Timestamp;
use rayon::prelude::*;
use serde_json::json;

use crate::corpus::Corpus;

const MESSAGES: usize = 20;
/// One conversation in so many has the tag that [`rare`] asks for.
const TAGGED: usize = 100;

/// A conversation of the corpus, as the API takes it.
pub(crate) fn conversation(number: usize) -> Conversation {
    let said = Corpus::new(number as u64 + 7).conversation(MESSAGES);
    let tags: &[&str] = if number.is_multiple_of(TAGGED) { &["rare"] } else { &[] };
    conversation_of(&format!("s{number}"), tags, &said)
}

/// A conversation of what was said, each with its speaker.
pub(crate) fn conversation_of(session: &str, tags: &[&str], said: &[(String, String)]) -> Conversation {
    let message = |(name, text): &(String, String)| json!({"role": "user", "name": name, "content": text});
    let messages: Vec<_> = said.iter().map(message).collect();
    let body = json!({"session_id": session, "tags": tags, "messages": messages});
    request::conversation(body.as_object().expect("an object")).expect("valid")
}

/// The memories of a conversation.
pub(crate) fn memories_of(conversation: &Conversation, table: &StaticTable) -> Vec<Memory> {
    let now = Timestamp::UNIX_EPOCH;
    let session = conversation.session_id.as_deref().unwrap_or_default();
    let drafts = extract::extract(conversation, now, &Steps::unlimited()).expect("nothing interrupts");
    let path = |(n, draft): (usize, &Draft)| format!("{}/{session}/{n}.md", draft.tier.name());
    let paths: Vec<String> = drafts.iter().enumerate().map(path).collect();
    let memory = |(draft, path): (&Draft, &String)| {
        let file = files::of_draft(draft, &paths, conversation, now);
        let path: MemoryPath = path.parse().expect("a memory's path");
        files::to_memory(&path, file, &|text| Some(table.vector(text)))
    };
    drafts.iter().zip(&paths).map(memory).collect()
}

/// What puts memories into an index.
pub(crate) fn puts(memories: Vec<Memory>) -> Vec<Change> {
    memories.into_iter().map(|memory| Change::Put(Box::new(memory))).collect()
}

/// An index in a folder.
pub(crate) fn open(folder: &Path, table: &'static StaticTable) -> Index {
    Index::open(folder, index_settings(table).expect("the table is whole")).expect("opens")
}

/// An index of so many cues or a few more.
pub(crate) fn filled(folder: &Path, cues: usize, table: &'static StaticTable) -> Index {
    let mut index = open(folder, table);
    let began = Instant::now();
    let (mut held, mut conversations) = (0, 0);
    while held < cues {
        let next = (cues - held).div_ceil(2 * MESSAGES).clamp(1, 1000);
        let made = conversations..conversations + next;
        let made = made.into_par_iter().flat_map_iter(|number| memories_of(&conversation(number), table));
        let made: Vec<Memory> = made.collect();
        held += made.iter().map(|memory| memory.cues.len()).sum::<usize>();
        conversations += next;
        index.apply(puts(made), &conversations.to_string()).expect("applies");
    }
    println!("{held} cues of {} memories indexed in {:.1} s", index.memories(), began.elapsed().as_secs_f64());
    index
}

/// A question with its embedding.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) text: String,
    pub(crate) vector: Vec<f32>,
    /// The times that it names.
    pub(crate) times: Vec<Range<Millis>>,
}

impl Asked {
    pub(crate) fn new(text: String, table: &StaticTable) -> Self {
        Self { vector: table.vector(&text), text, times: Vec::new() }
    }
}

/// So many questions, always the same.
pub(crate) fn questions(count: usize, table: &StaticTable) -> Vec<Asked> {
    let mut corpus = Corpus::new(3);
    (0..count).map(|_| Asked::new(corpus.question(), table)).collect()
}

/// A filter that one memory in a hundred passes.
pub(crate) fn rare() -> Filter {
    Filter { tags_any: vec!["rare".into()], ..Filter::default() }
}

/// Asks for 24 hits.
pub(crate) fn search(snapshot: &Snapshot, asked: &Asked, filter: &Filter, exact: bool) -> Outcome {
    let query = Query {
        text: &asked.text,
        synonyms: &[],
        vector: Some(&asked.vector),
        times: &asked.times,
        time_words: &[],
        filter,
        min_score: 0.0,
        limit: 24,
        now: 0,
        exact,
    };
    snapshot.search(&query).expect("searches")
}
