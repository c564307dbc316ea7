//! Files of a repository from a push or an import: front matter, markdown, links and terms.

use cuebase_retrieval::{Term, Vocabulary};
use cuebase_storage::memory_file::{MemoryFile, TermFile, markdown};

/// Parses a memory file, and checks that rendering and parsing again gives the same front matter.
pub(super) fn memory(bytes: &[u8]) {
    let Ok(file) = MemoryFile::parse(bytes) else { return };
    let _ = (markdown::title(&file.body), markdown::links("facts/a/b.md", &file.body));
    for section in markdown::sections(&file.body) {
        assert!(file.body.get(section.range).is_some());
    }
    let text = file.render().expect("a parsed file can be rendered");
    let again = MemoryFile::parse(text.as_bytes()).expect("a rendered file can be parsed");
    assert_eq!(again.front, file.front);
}

/// Parses a term file, and uses its lines as terms of a vocabulary that is matched against the text. The mentions must be
/// in order and on character boundaries.
pub(super) fn term(bytes: &[u8]) {
    if let Ok(file) = TermFile::parse(bytes) {
        let text = file.render().expect("a parsed file can be rendered");
        let again = TermFile::parse(text.as_bytes()).expect("a rendered file can be parsed");
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
