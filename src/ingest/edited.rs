//! Checks of files that a person wrote or changed. An error names the problem, and the line if possible.

use cuebase_storage::memory_file::path::memory_named_directory;
use cuebase_storage::memory_file::term_file::VOCABULARY_FOLDER;
use cuebase_storage::memory_file::{MemoryFile, MemoryPath, TermFile, Tier};

use crate::memory::{metadata, tags};
use crate::namespace::plan::Content;

/// The largest file of a memory, as in the API.
pub const FILE_BYTES_MAX: u64 = 8 << 20;

/// Whether the file at a path must be a memory or a term. All other files are not checked.
pub fn is_managed(path: &str) -> bool {
    path.ends_with(".md") && is_below_managed_folder(path)
}

/// Whether a path is below a tier or the vocabulary.
fn is_below_managed_folder(path: &str) -> bool {
    path.split_once('/').is_some_and(|(folder, _)| is_managed_folder(folder))
}

/// Whether a name is that of a tier or the vocabulary.
fn is_managed_folder(name: &str) -> bool {
    name == VOCABULARY_FOLDER || Tier::ALL.iter().any(|tier| tier.name() == name)
}

/// Whether a [managed](is_managed) path is that of a term.
fn is_term(path: &str) -> bool {
    path.strip_prefix(VOCABULARY_FOLDER).is_some_and(|rest| rest.starts_with('/'))
}

/// Parses and checks a file at a [managed](is_managed) path. An error is for people.
pub fn parse(path: &str, bytes: &[u8]) -> Result<Content, String> {
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("has {} bytes, more than {FILE_BYTES_MAX}", bytes.len()));
    }
    if is_term(path) {
        check_directories(path)?;
        return TermFile::parse(bytes).map(Content::Term).map_err(|error| error.to_string());
    }
    path.parse::<MemoryPath>().map_err(|error| error.to_string())?;
    let file = MemoryFile::parse(bytes).map_err(|error| error.to_string())?;
    for tag in &file.front.tags {
        if let Err(error) = tags::check_all("tags", vec![tag.clone()]) {
            return Err(format!("{error} at line {}", line_of(bytes, tag)));
        }
    }
    tags::check_all("tags", file.front.tags.clone()).map_err(|error| error.to_string())?;
    for (key, value) in &file.front.metadata {
        if let Err(error) = metadata::check_entry(key, value) {
            return Err(format!("{error} at line {}", line_of_key(bytes, key)));
        }
    }
    metadata::check_count(&file.front.metadata).map_err(|error| error.to_string())?;
    Ok(Content::Memory(Box::new(file)))
}

/// Checks that no directory below a tier or the vocabulary has a name that a memory or term could have. Without this
/// check, a file that is not managed could bring such a directory.
pub fn check_directories(path: &str) -> Result<(), String> {
    if is_managed_folder(path) {
        return Err(format!("{path} is the name of a directory of memories or terms: rename the file"));
    }
    if !is_below_managed_folder(path) {
        return Ok(());
    }
    match memory_named_directory(path) {
        Some(directory) => Err(format!("only the last segment may end in .md: rename the directory {directory}")),
        None => Ok(()),
    }
}

/// Returns the number of the first line after the opening fence that contains a text, or 1 if the file spells it
/// differently.
fn line_of(bytes: &[u8], text: &str) -> usize {
    for (index, line) in String::from_utf8_lossy(bytes).lines().enumerate().skip(1) {
        if line.contains(text) {
            return index + 1;
        }
    }
    1
}

/// Returns the number of the line with a key of the metadata, or that of `metadata:` if the file spells the key
/// differently.
fn line_of_key(bytes: &[u8], key: &str) -> usize {
    let mut found = 1;
    for (index, line) in String::from_utf8_lossy(bytes).lines().enumerate().skip(1) {
        if line.starts_with("metadata:") {
            found = index + 1;
            continue;
        }
        let entry = line.trim_start().trim_start_matches(['"', '\'']);
        if found > 1 && entry.strip_prefix(key).is_some_and(|rest| rest.starts_with([':', '"', '\''])) {
            return index + 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(path: &str, text: &str) -> String {
        parse(path, text.as_bytes()).err().unwrap_or_default()
    }

    #[test]
    fn files_outside_tiers_and_vocabulary_are_not_managed() {
        for (path, is_expected) in [
            ("facts/a.md", true),
            ("vocab/k8s.md", true),
            ("skills/x/y.md", true),
            ("README.md", false),
            ("facts.md", false),
            ("notes/a.md", false),
            ("facts/a.txt", false),
        ] {
            assert_eq!(is_managed(path), is_expected, "{path}");
        }
    }

    #[test]
    fn an_error_names_the_line() {
        assert_eq!(error("facts/a.md", "---\ntags: [a, b]\n---\n# A\n"), "");
        assert!(error("facts/a.md", "---\ncues: [x]\ntags:\n- good\n- no!\n---\n# A\n").ends_with("at line 5"));
        assert!(error("facts/a.md", "---\ncues: [x]\noccurred_at: someday\n---\n").contains("line 3"));
        assert_eq!(error("facts/a.md", "---\nmetadata: {a: 1, b: x}\n---\n# A\n"), "");
        let nested = error("facts/a.md", "---\nmetadata:\n  ab: 1\n  a:\n    b: 2\n---\n# A\n");
        assert!(nested.contains("\"a\"") && nested.ends_with("at line 4"), "{nested}");
        let named = error("facts/a.md", "---\nmetadata: {'a b': 1}\n---\n# A\n");
        assert!(named.contains("\"a b\"") && named.ends_with("at line 2"), "{named}");
        assert!(error("facts/a b.md", "# A\n").contains("path"));
        assert!(error("vocab/a.md", "no heading").contains("term"));
    }

    #[test]
    fn a_directory_named_like_a_memory_is_refused_with_both_names() {
        for path in ["facts/a.md/b.md", "vocab/a.md/b.md"] {
            let message = error(path, "# B\n\n> b\n");
            assert!(message.contains(&path[..path.len() - "/b.md".len()]), "{message}");
        }
        assert!(check_directories("facts/a.md/picture.png").is_err());
        assert!(check_directories("notes/a.md/picture.png").is_ok());
        assert!(check_directories("facts/a.md").is_ok());
        assert!(check_directories("facts").is_err(), "a file");
    }
}
