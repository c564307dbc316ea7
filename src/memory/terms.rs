//! Terms of a vocabulary: what a request brings, what the lookup keeps, and which term a word refers to.

use cuebase_retrieval::surface_key;
use cuebase_storage::memory_file::TermFile;
use cuebase_storage::records::TermRecord;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

/// A term to learn, checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermDraft {
    /// The canonical form.
    pub term: String,
    /// The other surface forms, without repeats.
    pub aliases: Vec<String>,
    /// What it means.
    pub definition: String,
}

/// What the lookup keeps of a term file.
pub fn term_record(path: String, file: TermFile) -> TermRecord {
    let surfaces = std::iter::once(&file.term).chain(&file.aliases);
    let mut forms: Vec<String> = surfaces.map(|form| surface_key(form)).filter(|form| !form.is_empty()).collect();
    forms.sort();
    forms.dedup();
    TermRecord { path, term: file.term, aliases: file.aliases, definition: file.definition, forms }
}

/// The term that is meant by a surface form, of all that have it: the one written so, else the one that is called so,
/// else the first by path.
pub fn meant<'a>(candidates: &'a [TermRecord], word: &str) -> Option<&'a TermRecord> {
    let written = |record: &&TermRecord| record.term == word || record.aliases.iter().any(|alias| alias == word);
    let called = |record: &&TermRecord| surface_key(&record.term) == surface_key(word);
    let candidates = || candidates.iter();
    candidates().find(written).or_else(|| candidates().find(called)).or_else(|| candidates().next())
}

/// What makes two terms one: their letters, case aside. Accents count: `resume` is not `résumé`.
pub fn identity(term: &str) -> String {
    term.nfc().flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_term_written_so_is_meant_before_the_one_called_so() {
        let record = |path: &str, term: &str, aliases: &[&str]| {
            let aliases = aliases.iter().map(|&alias| alias.to_owned()).collect();
            term_record(path.into(), TermFile { term: term.into(), aliases, ..TermFile::default() })
        };
        let terms = [record("a", "Resume", &["CV"]), record("b", "Résumé", &[]), record("c", "Sum", &["cv"])];
        let path = |word: &str| meant(&terms, word).map(|record| record.path.as_str());
        assert_eq!(
            (path("Résumé"), path("Resume"), path("cv"), path("CV")),
            (Some("b"), Some("a"), Some("c"), Some("a"))
        );
        assert_eq!(path("sum"), Some("c"));
        assert_eq!(meant(&[], "x"), None);
        assert_ne!(identity("Résumé"), identity("resume"));
        assert_eq!(identity("E\u{301}t"), identity("ét"));
    }
}
