//! Terms of a vocabulary: the draft from a request, the record in the lookup, and the choice between terms of one name.

use cuebase_retrieval::surface_key;
use cuebase_storage::memory_file::TermFile;
pub use cuebase_storage::records::TermDraft;
use cuebase_storage::records::TermRecord;
use unicode_normalization::UnicodeNormalization;

/// Returns the lookup record of a term file.
pub fn term_record(path: String, file: TermFile) -> TermRecord {
    let mut forms = Vec::with_capacity(1 + file.aliases.len());
    for name in std::iter::once(&file.term).chain(&file.aliases) {
        let form = surface_key(name);
        if !form.is_empty() {
            forms.push(form);
        }
    }
    forms.sort();
    forms.dedup();
    TermRecord { path, term: file.term, aliases: file.aliases, definition: file.definition, forms }
}

/// Chooses the term that a word refers to among the terms that have it as a surface form: a term with exactly this
/// spelling, otherwise a term whose canonical form has the same surface key, otherwise the first by path.
pub fn best_match<'a>(candidates: &'a [TermRecord], word: &str) -> Option<&'a TermRecord> {
    let exact = candidates.iter().find(|record| is_spelled(record, word));
    if exact.is_some() {
        return exact;
    }
    let key = surface_key(word);
    let canonical = candidates.iter().find(|record| surface_key(&record.term) == key);
    canonical.or(candidates.first())
}

/// Returns whether a term or one of its aliases is spelled exactly like a word.
fn is_spelled(record: &TermRecord, word: &str) -> bool {
    record.term == word || record.aliases.iter().any(|alias| alias == word)
}

/// Returns the form by which two terms are compared for identity: their letters in lowercase. Accents are kept:
/// `resume` and `résumé` are different terms.
pub fn identity(term: &str) -> String {
    term.nfc().flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_spelling_is_chosen_before_the_same_surface_key() {
        let record = |path: &str, term: &str, aliases: &[&str]| {
            let aliases = aliases.iter().map(|&alias| alias.to_owned()).collect();
            term_record(path.into(), TermFile { term: term.into(), aliases, ..TermFile::default() })
        };
        let terms = [record("a", "Resume", &["CV"]), record("b", "Résumé", &[]), record("c", "Sum", &["cv"])];
        let path = |word: &str| best_match(&terms, word).map(|record| record.path.as_str());
        assert_eq!(
            (path("Résumé"), path("Resume"), path("cv"), path("CV")),
            (Some("b"), Some("a"), Some("c"), Some("a"))
        );
        assert_eq!(path("sum"), Some("c"));
        assert_eq!(best_match(&[], "x"), None);
        assert_ne!(identity("Résumé"), identity("resume"));
        assert_eq!(identity("E\u{301}t"), identity("ét"));
    }
}
