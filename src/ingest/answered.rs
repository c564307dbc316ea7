//! Questions that were memories of their own until a later write answered them: its memories quote them.

use cuebase_storage::memory_file::MemoryFile;

use super::session::SessionTail;
use crate::error::Result;
use crate::namespace::plan::PlanContext;
use crate::namespace::sync::MESSAGE_TRAILER;

/// Returns the memories that say nothing but a question that was answered, sorted. `answered` are the indexes of the
/// questions in the tail. A memory that was edited, or that another message made as well, stays.
pub(super) fn paths_of_answered(
    context: &mut PlanContext<'_>,
    tail: &SessionTail,
    answered: &[usize],
) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for index in answered {
        let Some(source) = tail.source(*index) else { continue };
        for (path, file) in tail.memories_of(context, *index)? {
            let last_change = context.last_change(&path)?;
            let write = last_change.as_ref().and_then(|commit| commit.trailer(MESSAGE_TRAILER));
            if is_made_from_one_message(&file) && write == source.write.as_deref() {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}

fn is_made_from_one_message(file: &MemoryFile) -> bool {
    file.front.sources.len() == 1
}
