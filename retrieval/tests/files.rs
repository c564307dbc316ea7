//! A copy of the files that an index lists is an index with the head and content of that moment, whatever happens to the
//! index during the copy.

mod pieces;

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use cuebase_retrieval::{
    Change, Cue, Filter, Head, Index, IndexFile, IndexFiles, IndexSettings, Memory, STATE_FILE, Snapshot,
};
use pieces::{Pieces, query};

const WORDS: [&str; 4] = ["amber", "birch", "cobalt", "delta"];
const DIMENSIONS: usize = 8;
/// More than the documents of a layer without a file.
const MEMORIES: usize = 1500;

static PIECES: Pieces = Pieces { words: &WORDS, nearness: 0.0 };

fn open(folder: &Path) -> Index {
    let settings = IndexSettings { dimensions: DIMENSIONS, model: "test".into(), tokens: &PIECES };
    Index::open(folder, settings).expect("opens")
}

fn vector(number: usize) -> Vec<f32> {
    let mut vector = vec![0.0; DIMENSIONS];
    vector[number % DIMENSIONS] = 1.0;
    vector
}

fn memory(number: usize, version: usize) -> Memory {
    let word = WORDS[(number + version) % WORDS.len()];
    Memory {
        path: format!("facts/m{number}.md"),
        content: format!("{word} number{number} version{version}"),
        cues: vec![Cue { text: word.into(), vector: Some(vector(number)) }],
        ..Memory::default()
    }
}

/// Writes a version of some memories.
fn write(index: &mut Index, numbers: std::ops::Range<usize>, version: u8) {
    let mut changes = Vec::new();
    for number in numbers {
        changes.push(Change::Put(Box::new(memory(number, version.into()))));
    }
    index.apply(changes, Head::from([version; 20])).expect("applies");
}

fn content(file: &IndexFile) -> Vec<u8> {
    let mut bytes = vec![0; file.bytes as usize];
    file.file.read_exact_at(&mut bytes, 0).expect("reads");
    bytes
}

fn copy(files: &IndexFiles, to: &Path) {
    fs::write(to.join(STATE_FILE), &files.state).expect("writes");
    for file in &files.files {
        fs::write(to.join(&file.name), content(file)).expect("writes");
    }
}

/// Every memory, and the paths and scores that a search finds.
fn read(snapshot: &Snapshot) -> (Vec<Memory>, Vec<(String, u32)>) {
    let memories = snapshot.all().map(|memory| memory.expect("reads")).collect();
    let (filter, vector) = (Filter::default(), vector(3));
    let found = snapshot.search(&query("birch number7", &vector, &filter)).expect("searches");
    (memories, found.hits.into_iter().map(|hit| (hit.memory.path, hit.score.to_bits())).collect())
}

#[test]
fn a_copy_of_the_listed_files_is_the_index_of_that_moment() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let mut index = open(folder.path());
    assert!(index.files().expect("lists").is_none(), "nothing was applied");
    write(&mut index, 0..MEMORIES, 1);
    write(&mut index, 0..20, 2);
    let files = index.files().expect("lists").expect("has files");
    let names: Vec<&str> = files.files.iter().map(|file| file.name.as_str()).collect();
    assert!(names.contains(&"memories.log") && names.contains(&"vectors.log") && names.len() > 2, "{names:?}");
    let snapshot = index.published().load_full();
    // Layers merge, both logs grow, and the state is replaced.
    write(&mut index, 0..MEMORIES + 600, 3);
    let later = index.files().expect("lists").expect("has files");
    assert_eq!(files.opening, later.opening);
    for (before, after) in files.files.iter().zip(&later.files).take(2) {
        assert_eq!(before.name, after.name);
        assert!(content(after).starts_with(&content(before)), "{}", before.name);
    }
    fs::remove_dir_all(folder.path()).expect("removes");

    let copied = tempfile::tempdir().expect("temporary directory");
    copy(&files, copied.path());
    let head = Some(Head::from([2; 20]));
    assert_eq!(Index::head_of(copied.path()), head);
    let copy = open(copied.path());
    assert_eq!(copy.head(), head);
    let opened = copy.published().load_full();
    assert_eq!((opened.memory_count(), opened.cue_count()), (MEMORIES, snapshot.cue_count()));
    assert_eq!(opened.change_count(), MEMORIES + 20);
    assert!(read(&opened) == read(&snapshot), "the copy has other content");
    assert_ne!(copy.files().expect("lists").expect("has files").opening, files.opening);
}

#[test]
fn a_shorter_copy_is_found_to_be_damaged() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let mut index = open(folder.path());
    write(&mut index, 0..20, 1);
    let mut files = index.files().expect("lists").expect("has files");
    let copied = tempfile::tempdir().expect("temporary directory");
    files.files[0].bytes -= 1;
    copy(&files, copied.path());
    let settings = IndexSettings { dimensions: DIMENSIONS, model: "test".into(), tokens: &PIECES };
    assert!(Index::open(copied.path(), settings).is_err());
}
