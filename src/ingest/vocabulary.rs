//! Terms into `vocab/<slug>.md`, and term files into the vocabulary's lookup.

use std::collections::BTreeMap;

use cuebase_retrieval::surface_key;
use cuebase_storage::memory_file::TermFile;
use cuebase_storage::memory_file::term_file::VOCABULARY_FOLDER;
use cuebase_storage::records::TermRecord;

use crate::error::Result;
use crate::memory::file_names::{free_name, slug};
use crate::memory::terms::{TermDraft, identity};
use crate::namespace::plan::{Content, Plan, PlanContext};

/// Writes terms: one that is known is rewritten where it is, a new one gets a path that is free.
pub fn teach(context: &mut PlanContext<'_>, terms: &[TermDraft]) -> Result<Plan> {
    let mut files: BTreeMap<String, TermFile> = BTreeMap::new();
    for draft in terms {
        let in_batch = files.iter().find(|(_, file)| identity(&file.term) == identity(&draft.term));
        let path = match in_batch.map(|(path, _)| path.clone()) {
            Some(path) => Some(path),
            None => known(context, &draft.term)?.map(|record| record.path),
        };
        let path = match path {
            Some(path) => path,
            None => {
                let stem = slug(&draft.term, &format!("term-{:08x}", crc(&draft.term)));
                let free = |name: &str| -> Result<bool> {
                    let path = format!("{VOCABULARY_FOLDER}/{name}");
                    Ok(!files.contains_key(&path) && !context.contains(&path)?)
                };
                format!("{VOCABULARY_FOLDER}/{}", free_name(&stem, free)?)
            }
        };
        let other = context.term_file(&path)?.map(|file| file.other).unwrap_or_default();
        let TermDraft { term, aliases, definition } = draft.clone();
        files.insert(path, TermFile { term, aliases, definition, other });
    }
    let subject = format!("Learn {} term{}", files.len(), if files.len() == 1 { "" } else { "s" });
    let files = files.into_iter().map(|(path, file)| (path, Some(Content::Term(file)))).collect();
    Ok(Plan::new(subject, files))
}

/// Takes terms away by their canonical forms; one that was never learned is skipped.
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
    Ok(Plan::new(subject, paths.into_iter().map(|path| (path, None)).collect()))
}

fn known(context: &PlanContext<'_>, term: &str) -> Result<Option<TermRecord>> {
    let candidates = context.terms_by_form(&surface_key(term))?;
    Ok(candidates.into_iter().find(|record| identity(&record.term) == identity(term)))
}

/// For a name where a term has no letter that a file name takes; any fixed hash would do.
fn crc(term: &str) -> u32 {
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, term.as_bytes());
    hash.as_ref().iter().take(4).fold(0, |sum, byte| sum << 8 | u32::from(*byte))
}
