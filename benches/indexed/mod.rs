//! An index of the corpus's conversations, made as the service makes it, and questions to it.

use std::path::Path;
use std::time::Instant;

use cuebase::api::memories;
use cuebase::ingest::conversation::Conversation;
use cuebase::ingest::{extract, files};
use cuebase::model::{Embedder, StaticTable, index_settings};
use cuebase_retrieval::{Change, Filter, Index, Outcome, Query, Snapshot};
use cuebase_storage::memory_file::MemoryPath;
use jiff::Timestamp;
use rayon::prelude::*;
use serde_json::json;

use crate::corpus::Corpus;

const MESSAGES: usize = 20;
/// One conversation in so many has the tag that [`rare`] asks for.
const TAGGED: usize = 100;

/// A conversation as the API takes it.
pub(crate) fn conversation(number: usize) -> Conversation {
    let mut corpus = Corpus::new(number as u64 + 7);
    let messages: Vec<_> = corpus
        .conversation(MESSAGES)
        .into_iter()
        .map(|(name, text)| json!({"role": "user", "name": name, "content": text}))
        .collect();
    let tags = if number.is_multiple_of(TAGGED) { json!(["rare"]) } else { json!([]) };
    let body = json!({"session_id": format!("s{number}"), "tags": tags, "messages": messages});
    memories::conversation(body.as_object().expect("an object")).expect("valid")
}

/// The changes of one conversation, and how many cues they hold.
pub(crate) fn changes(number: usize, table: &StaticTable) -> (Vec<Change>, usize) {
    let conversation = conversation(number);
    let now = Timestamp::UNIX_EPOCH;
    let drafts = extract::extract(&conversation, now);
    let paths: Vec<String> = (0..drafts.len()).map(|n| format!("{}/s{number}/{n}.md", drafts[n].tier.name())).collect();
    let mut cues = 0;
    let change = |(draft, path): (&extract::Draft, &String)| {
        let file = files::of_draft(draft, &paths, &conversation, now);
        let path: MemoryPath = path.parse().expect("a memory's path");
        let memory = files::to_memory(&path, file, table);
        cues += memory.cues.len();
        Change::Put(Box::new(memory))
    };
    (drafts.iter().zip(&paths).map(change).collect(), cues)
}

/// An index of so many cues or a few more.
pub(crate) fn filled(folder: &Path, cues: usize, table: &'static StaticTable) -> Index {
    let mut index = Index::open(folder, index_settings(table).expect("the table is whole")).expect("opens");
    let began = Instant::now();
    let (mut held, mut conversations) = (0, 0);
    while held < cues {
        let next = (cues - held).div_ceil(2 * MESSAGES).clamp(1, 1000);
        let made: Vec<_> = (conversations..conversations + next).into_par_iter().map(|n| changes(n, table)).collect();
        held += made.iter().map(|(_, cues)| cues).sum::<usize>();
        let all = made.into_iter().flat_map(|(changes, _)| changes).collect();
        conversations += next;
        index.apply(all, &conversations.to_string()).expect("applies");
    }
    println!("{held} cues of {} memories indexed in {:.1} s", index.memories(), began.elapsed().as_secs_f64());
    index
}

/// A question with its embedding.
pub(crate) struct Asked {
    pub(crate) text: String,
    pub(crate) vector: Vec<f32>,
}

/// So many questions, always the same.
pub(crate) fn questions(count: usize, table: &StaticTable) -> Vec<Asked> {
    let mut corpus = Corpus::new(3);
    let asked = |text: String| Asked { vector: table.embed(&text), text };
    (0..count).map(|_| asked(corpus.question())).collect()
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
        filter,
        min_score: 0.0,
        limit: 24,
        now: 0,
        exact,
    };
    snapshot.search(&query).expect("searches")
}
