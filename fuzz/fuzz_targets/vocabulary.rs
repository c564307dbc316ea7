//! A term file from outside (a push), and the words of a query: read or refused, never a panic; mentions stay in order and
//! on character borders; what was read is written and read the same.
//!
//! `cargo +nightly fuzz run vocabulary`

#![no_main]

use cuebase_retrieval::{Term, Vocabulary};
use cuebase_storage::memory_file::TermFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<String>, &str, &[u8])| {
    let (forms, text, bytes) = input;
    let term = |form: &String| Term { term: form.clone(), aliases: vec![form.chars().rev().collect()], ..Term::default() };
    let vocabulary = Vocabulary::new(forms.iter().map(term).collect());
    let mentions = vocabulary.mentions(text);
    assert!(mentions.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
    assert!(mentions.iter().all(|mention| text.get(mention.range.clone()).is_some()));
    let _ = vocabulary.synonyms(text, &mentions);
    if let Ok(file) = TermFile::parse(bytes) {
        let text = file.render().expect("what was read can be written");
        let again = TermFile::parse(text.as_bytes()).expect("what was written can be read");
        assert_eq!(again.aliases, file.aliases);
    }
});
