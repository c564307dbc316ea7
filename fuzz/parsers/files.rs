//! Files of a repository, which a push or an import may bring: front matter, markdown, links, terms.

use cuebase_retrieval::{Term, Vocabulary};
use cuebase_storage::memory_file::{MemoryFile, TermFile, markdown};

/// A memory's file: what was read is written and read the same.
pub(super) fn memory(bytes: &[u8]) {
    let Ok(file) = MemoryFile::parse(bytes) else { return };
    let _ = (markdown::title(&file.body), markdown::links("facts/a/b.md", &file.body));
    for section in markdown::sections(&file.body) {
        assert!(file.body.get(section.range).is_some());
    }
    let text = file.render().expect("what was read can be written");
    let again = MemoryFile::parse(text.as_bytes()).expect("what was written can be read");
    assert_eq!(again.front, file.front);
}

/// A term's file, and each of its lines as a form and as the text in which forms are looked for: mentions stay in order
/// and on character borders.
pub(super) fn term(bytes: &[u8]) {
    if let Ok(file) = TermFile::parse(bytes) {
        let text = file.render().expect("what was read can be written");
        let again = TermFile::parse(text.as_bytes()).expect("what was written can be read");
        assert_eq!(again.aliases, file.aliases);
    }
    let text = String::from_utf8_lossy(bytes);
    let term =
        |form: &str| Term { term: form.to_owned(), aliases: vec![form.chars().rev().collect()], ..Term::default() };
    let vocabulary = Vocabulary::new(text.lines().take(16).map(term).collect());
    let mentions = vocabulary.mentions(&text);
    assert!(mentions.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
    assert!(mentions.iter().all(|mention| text.get(mention.range.clone()).is_some()));
    let _ = vocabulary.synonyms(&text, &mentions);
}
