//! The files of an index. Any content is opened or reported as damaged, without a panic, even with a valid checksum.
//!
//! An input is a byte that selects the file to replace, a byte whose lowest bit requests a corrected checksum, and the
//! content of the file.

use std::path::Path;
use std::sync::LazyLock;

use cuebase_language::claims::AskedClaims;
use cuebase_retrieval::{
    Change, Cue, Currency, Error, Explain, Filter, Head, Index, IndexSettings, Memory, Query, TokenVectors,
};

const FILES: [&str; 4] = ["state", "memories.log", "vectors.log", "layer-0-2400"];
const DIMENSIONS: usize = 64;
const MEMORIES: usize = 2400;

/// A vocabulary with a single token, which every text has.
struct OneToken;

impl TokenVectors for OneToken {
    fn identity(&self) -> &str {
        "one"
    }

    fn token_count(&self) -> usize {
        1
    }

    fn tokens(&self, _: &str) -> Vec<u16> {
        vec![0]
    }

    fn is_content(&self, _: u16) -> bool {
        true
    }

    fn cosine(&self, _: u16, _: u16) -> f32 {
        1.0
    }
}

static INTACT_INDEX: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let folder = super::scratch();
    let mut index = Index::open(folder.path(), settings()).expect("opens");
    let memory = |n: usize| {
        let mut vector = vec![0.0; DIMENSIONS];
        vector[n % DIMENSIONS] = 1.0;
        let cues = vec![Cue { text: format!("cue {n}"), vector: Some(vector) }];
        Memory { path: format!("facts/m{n}.md"), content: format!("# Said\n\nremark {n}"), cues, ..Memory::default() }
    };
    let put = |n| Change::Put(Box::new(memory(n)));
    index.apply((0..MEMORIES).map(put).collect(), Head::from([1; 20])).expect("applies");
    let later = vec![put(7), Change::Forget("facts/m9.md".into())];
    index.apply(later, Head::from([2; 20])).expect("applies");
    folder
});

fn settings() -> IndexSettings {
    IndexSettings { dimensions: DIMENSIONS, model: "fuzz".into(), tokens: &OneToken }
}

pub(super) fn enter(bytes: &[u8]) {
    let [which, checksum, rest @ ..] = bytes else { return };
    let replaced = FILES[usize::from(*which) % FILES.len()];
    let mut content = rest.to_vec();
    if checksum & 1 == 1 {
        correct_checksum(replaced, &mut content);
    }
    let folder = super::scratch();
    for name in FILES {
        let to = folder.path().join(name);
        if name == replaced {
            std::fs::write(&to, &content).expect("writes");
        } else {
            std::fs::copy(INTACT_INDEX.path().join(name), &to).expect("copies");
        }
    }
    match Index::open(folder.path(), settings()) {
        Ok(index) => {
            assert!(index.memory_count() <= MEMORIES);
            search(&index);
        }
        Err(Error::Damaged(_)) => {}
        Err(error) => panic!("{replaced}: {error}"),
    }
}

/// Searches the opened index, approximately and exhaustively. A memory that is read for a hit may be damaged.
fn search(index: &Index) {
    let (vector, filter) = ([0.125; DIMENSIONS], Filter::default());
    for exact in [false, true] {
        let (text, vector) = ("remark 7 cue", Some(&vector[..]));
        let query = Query {
            text,
            synonyms: &[],
            vector,
            times: &[],
            time_words: &[],
            filter: &filter,
            min_score: 0.0,
            limit: 200,
            now: 0,
            as_of: None,
            currency: Currency::First,
            asked: AskedClaims::NONE,
            user: None,
            exact,
            explain: Explain::Yes,
            reranker: None,
        };
        match index.published().load().search(&query) {
            Ok(found) => assert!(found.hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score))),
            Err(Error::Damaged(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Writes the checksum of the content to its position in the format of the file.
fn correct_checksum(name: &str, content: &mut Vec<u8>) {
    match name {
        "state" => {
            let end = content.iter().rposition(|byte| *byte == b'\n').unwrap_or(content.len());
            let begin = content[..end].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            content.truncate(begin);
            let line = format!("{:08x}\n", crc32fast::hash(content));
            content.extend_from_slice(line.as_bytes());
        }
        "layer-0-2400" if content.len() > 16 => {
            let checksum = crc32fast::hash(&content[16..]);
            content[8..12].copy_from_slice(&checksum.to_le_bytes());
        }
        "memories.log" if content.len() > 12 => {
            let number =
                |at: usize| u32::from_le_bytes([content[at], content[at + 1], content[at + 2], content[at + 3]]);
            let end = 12 + (number(0) as usize).saturating_add(number(4) as usize);
            if let Some(payload) = content.get(12..end) {
                let checksum = crc32fast::hash(payload);
                content[8..12].copy_from_slice(&checksum.to_le_bytes());
            }
        }
        _ => {}
    }
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let read = |name: &&str| std::fs::read(INTACT_INDEX.path().join(Path::new(name))).expect("reads");
    let with =
        |checksum: u8| FILES.iter().zip(0u8..).map(move |(name, which)| [&[which, checksum][..], &read(name)].concat());
    with(0).chain(with(1)).collect()
}
