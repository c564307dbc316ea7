//! A file that a person wrote or changed: is it a memory or a term, and if it cannot be one, what is wrong on which line?

use cuebase_storage::memory_file::term_file::VOCABULARY_FOLDER;
use cuebase_storage::memory_file::{MemoryFile, MemoryPath, TermFile, Tier};

use crate::memory::tags;
use crate::namespace::plan::Content;

/// A file larger than this is no memory's; the API takes none larger either.
pub const FILE_BYTES_MAX: u64 = 8 << 20;

/// Whether what lies at a path is to be a memory or a term. Anything else is a person's own affair.
pub fn is_ours(path: &str) -> bool {
    let folder = path.split_once('/').map_or("", |(folder, _)| folder);
    path.ends_with(".md") && (folder == VOCABULARY_FOLDER || Tier::ALL.iter().any(|tier| tier.name() == folder))
}

/// Whether a path that is [ours](is_ours) is a term's.
fn is_term(path: &str) -> bool {
    path.strip_prefix(VOCABULARY_FOLDER).is_some_and(|rest| rest.starts_with('/'))
}

/// Reads a file whose path is [ours](is_ours). An error is for people and names the line where it can.
pub fn read(path: &str, bytes: &[u8]) -> Result<Content, String> {
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("has {} bytes, more than {FILE_BYTES_MAX}", bytes.len()));
    }
    if is_term(path) {
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
    Ok(Content::Memory(Box::new(file)))
}

/// The first line after the opening fence that holds a text; the fence's where it is written in another way.
fn line_of(bytes: &[u8], text: &str) -> usize {
    let lines = String::from_utf8_lossy(bytes);
    lines.lines().skip(1).position(|line| line.contains(text)).map_or(1, |line| line + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beside_tiers_and_vocabulary_is_not_ours() {
        for (path, ours) in [
            ("facts/a.md", true),
            ("vocab/k8s.md", true),
            ("skills/x/y.md", true),
            ("README.md", false),
            ("facts.md", false),
            ("notes/a.md", false),
            ("facts/a.txt", false),
        ] {
            assert_eq!(is_ours(path), ours, "{path}");
        }
    }

    #[test]
    fn a_bad_file_is_refused_with_its_line() {
        let told = |path: &str, text: &str| read(path, text.as_bytes()).err().unwrap_or_default();
        assert_eq!(told("facts/a.md", "---\ntags: [a, b]\n---\n# A\n"), "");
        assert!(told("facts/a.md", "---\ncues: [x]\ntags:\n- good\n- no!\n---\n# A\n").ends_with("at line 5"));
        assert!(told("facts/a.md", "---\ncues: [x]\noccurred_at: someday\n---\n").contains("line 3"));
        assert!(told("facts/a b.md", "# A\n").contains("path"));
        assert!(told("vocab/a.md", "no heading").contains("term"));
    }
}
