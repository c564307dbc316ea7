//! Terms into `vocab/<slug>.md`, and term files into the vocabulary's lookup.

use std::collections::BTreeMap;

use cuebase_retrieval::surface_key;
use cuebase_storage::memory_file::TermFile;
use cuebase_storage::memory_file::term_file::VOCABULARY_FOLDER;
use cuebase_storage::records::TermRecord;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use super::naming::{free_name, slug};
use crate::service::Outcome;
use crate::service::namespace::plan::{Content, Desk, Plan};

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

/// Writes terms: one that is known is rewritten where it is, a new one gets a path that is free.
pub fn teach(desk: &mut Desk<'_>, terms: &[TermDraft]) -> Outcome<Plan> {
    let mut files: BTreeMap<String, TermFile> = BTreeMap::new();
    for draft in terms {
        let in_batch = files.iter().find(|(_, file)| identity(&file.term) == identity(&draft.term));
        let path = match in_batch.map(|(path, _)| path.clone()) {
            Some(path) => Some(path),
            None => known(desk, &draft.term)?.map(|record| record.path),
        };
        let path = match path {
            Some(path) => path,
            None => {
                let stem = slug(&draft.term, &format!("term-{:08x}", crc(&draft.term)));
                let free = |name: &str| -> Outcome<bool> {
                    let path = format!("{VOCABULARY_FOLDER}/{name}");
                    Ok(!files.contains_key(&path) && !desk.contains(&path)?)
                };
                format!("{VOCABULARY_FOLDER}/{}", free_name(&stem, free)?)
            }
        };
        let other = desk.term_file(&path)?.map(|file| file.other).unwrap_or_default();
        let TermDraft { term, aliases, definition } = draft.clone();
        files.insert(path, TermFile { term, aliases, definition, other });
    }
    let subject = format!("Learn {} term{}", files.len(), if files.len() == 1 { "" } else { "s" });
    let files = files.into_iter().map(|(path, file)| (path, Some(Content::Term(file)))).collect();
    Ok(Plan::new(subject, files))
}

/// Takes terms away by their canonical forms; one that was never learned is skipped.
pub fn forget(desk: &mut Desk<'_>, terms: &[String]) -> Outcome<Plan> {
    let mut paths = Vec::new();
    for term in terms {
        if let Some(record) = known(desk, term)?
            && desk.contains(&record.path)?
        {
            paths.push(record.path);
        }
    }
    paths.sort();
    paths.dedup();
    let subject = format!("Forget {} term{}", paths.len(), if paths.len() == 1 { "" } else { "s" });
    Ok(Plan::new(subject, paths.into_iter().map(|path| (path, None)).collect()))
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

fn known(desk: &Desk<'_>, term: &str) -> Outcome<Option<TermRecord>> {
    let candidates = desk.terms_of_form(&surface_key(term))?;
    Ok(candidates.into_iter().find(|record| identity(&record.term) == identity(term)))
}

/// What makes two terms one: their letters, case aside. Accents count: `resume` is not `résumé`.
pub fn identity(term: &str) -> String {
    term.nfc().flat_map(char::to_lowercase).collect()
}

/// For a name where a term has no letter that a file name takes; any fixed hash would do.
fn crc(term: &str) -> u32 {
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, term.as_bytes());
    hash.as_ref().iter().take(4).fold(0, |sum, byte| sum << 8 | u32::from(*byte))
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
