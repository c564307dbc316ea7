//! The plans that write and remove terms in `vocab/<slug>.md`.

use std::collections::BTreeMap;

use cuebase_retrieval::surface_key;
use cuebase_storage::memory_file::TermFile;
use cuebase_storage::memory_file::term_file::VOCABULARY_FOLDER;
use cuebase_storage::records::TermRecord;

use crate::error::Result;
use crate::memory::file_names::{free_name, slug};
use crate::memory::terms::{TermDraft, identity};
use crate::namespace::plan::{Plan, PlanContext, PlannedFile};
use crate::sha256::sha256;

/// Plans the files of terms. A known term keeps its path, and a new one gets a free path.
pub fn teach(context: &mut PlanContext<'_>, terms: &[TermDraft]) -> Result<Plan> {
    let mut files: BTreeMap<String, TermFile> = BTreeMap::new();
    for draft in terms {
        let path = path_of(context, &files, draft)?;
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

/// Returns the path of a term: that of an earlier draft of the same term, that of a known term, or a free one.
fn path_of(context: &mut PlanContext<'_>, files: &BTreeMap<String, TermFile>, draft: &TermDraft) -> Result<String> {
    for (path, file) in files {
        if identity(&file.term) == identity(&draft.term) {
            return Ok(path.clone());
        }
    }
    if let Some(record) = known(context, &draft.term)? {
        return Ok(record.path);
    }
    let stem = slug(&draft.term, &format!("term-{:08x}", short_hash(&draft.term)));
    let name = free_name(&stem, |name: &str| -> Result<bool> {
        let path = format!("{VOCABULARY_FOLDER}/{name}");
        Ok(!files.contains_key(&path) && !context.contains(&path)?)
    })?;
    Ok(format!("{VOCABULARY_FOLDER}/{name}"))
}

/// Plans the removal of terms by their canonical forms. Unknown terms are skipped.
pub fn forget(context: &mut PlanContext<'_>, terms: &[String]) -> Result<Plan> {
    let mut paths = Vec::new();
    for term in terms {
        if let Some(record) = known(context, term)?
            && context.contains(&record.path)?
        {
            paths.push(record.path);
        }
    }
    paths.sort();
    paths.dedup();
    let subject = format!("Forget {} term{}", paths.len(), if paths.len() == 1 { "" } else { "s" });
    Ok(Plan::new(subject, paths.into_iter().map(PlannedFile::removal).collect()))
}

fn known(context: &PlanContext<'_>, term: &str) -> Result<Option<TermRecord>> {
    let candidates = context.terms_by_form(&surface_key(term))?;
    Ok(candidates.into_iter().find(|record| identity(&record.term) == identity(term)))
}

/// Returns a hash for the file name of a term without a letter that file names allow. Any fixed hash would do.
fn short_hash(term: &str) -> u32 {
    let [a, b, c, d, ..] = sha256(&[term.as_bytes()]);
    u32::from_be_bytes([a, b, c, d])
}
