//! A memory file from outside (a push): read or refused, never a panic; what was read is written and read the same.
//!
//! `cargo +nightly fuzz run memory_file`

#![no_main]

use cuebase_storage::memory_file::{MemoryFile, markdown};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(file) = MemoryFile::parse(bytes) else { return };
    let _ = (markdown::title(&file.body), markdown::links("facts/a/b.md", &file.body));
    for section in markdown::sections(&file.body) {
        assert!(file.body.get(section.range).is_some());
    }
    let text = file.render().expect("what was read can be written");
    let again = MemoryFile::parse(text.as_bytes()).expect("what was written can be read");
    assert_eq!(again.front, file.front);
});
