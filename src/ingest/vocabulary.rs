//! The plans that write and remove terms in `vocab/<slug>.md`.

use std::collections::{BTreeMap, HashMap, HashSet};

use cuebase_retrieval::surface_key;
use cuebase_storage::memory_file::TermFile;
use cuebase_storage::memory_file::term_file::VOCABULARY_FOLDER;

use crate::error::Result;
use crate::memory::file_names::{free_name, slug};
use crate::memory::terms::{TermDraft, identity};
use crate::namespace::plan::{Plan, PlanContext, PlannedFile};
use crate::sha256::sha256;

/// Plans the files of terms. A known term keeps its path, and a new one gets a free path.
pub fn teach(context: &mut PlanContext<'_>, terms: &[TermDraft]) -> Result<Plan> {
    let mut files: BTreeMap<String, TermFile> = BTreeMap::new();
    let mut known = KnownTerms::default();
    for draft in terms {
        let path = match known.path_of(context, &draft.term)? {
            Some(path) => path,
            None => free_path(context, &files, draft)?,
        };
        // A later draft of the same term replaces this one.
        known.paths.insert(identity(&draft.term), path.clone());
        let other = match context.term_file(&path)? {
            Some(file) => file.other,
            None => Default::default(),
        };
        let TermDraft { term, aliases, definition } = draft.clone();
        files.insert(path, TermFile { term, aliases, definition, other });
    }
    let subject = format!("Learn {} term{}", files.len(), if files.len() == 1 { "" } else { "s" });
    let files = files.into_iter().map(|(path, file)| PlannedFile::term(path, file)).collect();
    Ok(Plan::new(subject, files))
}

/// Returns a free path for a new term.
fn free_path(context: &mut PlanContext<'_>, files: &BTreeMap<String, TermFile>, draft: &TermDraft) -> Result<String> {
    let stem = slug(&draft.term, &format!("term-{:08x}", short_hash(&draft.term)));
    let name = free_name(&stem, |name: &str| -> Result<bool> {
        let path = format!("{VOCABULARY_FOLDER}/{name}");
        Ok(!files.contains_key(&path) && !context.is_taken(&path)?)
    })?;
    Ok(format!("{VOCABULARY_FOLDER}/{name}"))
}

/// Plans the removal of terms by their canonical forms. Unknown terms are skipped.
pub fn forget(context: &mut PlanContext<'_>, terms: &[String]) -> Result<Plan> {
    let mut known = KnownTerms::default();
    let mut paths = Vec::new();
    for term in terms {
        if let Some(path) = known.path_of(context, term)?
            && context.contains(&path)?
        {
            paths.push(path);
        }
    }
    paths.sort();
    paths.dedup();
    let subject = format!("Forget {} term{}", paths.len(), if paths.len() == 1 { "" } else { "s" });
    Ok(Plan::new(subject, paths.into_iter().map(PlannedFile::removal).collect()))
}

/// The paths of the terms that a plan names. The terms with a surface form are read once for a plan, however many of
/// its terms have that form.
#[derive(Default)]
struct KnownTerms {
    /// Paths by the [`identity`] of their term.
    paths: HashMap<String, String>,
    /// The surface keys whose terms were read.
    read: HashSet<String>,
}

impl KnownTerms {
    /// Returns the path of a term.
    fn path_of(&mut self, context: &PlanContext<'_>, term: &str) -> Result<Option<String>> {
        let key = surface_key(term);
        if !self.read.contains(&key) {
            for record in context.terms_by_form(&key)? {
                // A term that has the form as an alias is read by its canonical form.
                if surface_key(&record.term) == key {
                    self.paths.entry(identity(&record.term)).or_insert(record.path);
                }
            }
            self.read.insert(key);
        }
        Ok(self.paths.get(&identity(term)).cloned())
    }
}

/// Returns a hash for the file name of a term without a letter that file names allow. Any fixed hash would do.
fn short_hash(term: &str) -> u32 {
    let [a, b, c, d, ..] = sha256(&[term.as_bytes()]);
    u32::from_be_bytes([a, b, c, d])
}
