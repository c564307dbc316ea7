//! The plan that writes the drafts of a conversation.

use std::collections::BTreeMap;

use cuebase_language::extract::ExtractedDrafts;
use cuebase_storage::memory_file::MemoryFile;
use jiff::Timestamp;

use super::answered::Answered;
use super::dropped::dropped_messages;
use super::forgetting::{AskedToForget, paths_to_forget};
use super::repetition::Repetitions;
use super::session::{PreviousWrite, link_to_previous};
use crate::error::Result;
use crate::memory::files::Origin;
use crate::namespace::plan::{Plan, PlanContext, PlannedFile};

/// Plans the files of a conversation's drafts, each at a new path, unless a memory says the same already. Removes the
/// memories that the user asks to forget, and those of questions that the conversation answers. Reports the former, the messages without a draft, the memories that were repeated, and
/// those that no longer hold.
pub fn remember(
    context: &mut PlanContext<'_>,
    origin: Origin<'_>,
    previous: Option<&PreviousWrite>,
    extracted: &ExtractedDrafts,
    asked: &AskedToForget<'_>,
    now: Timestamp,
) -> Result<Plan> {
    let drafts = extracted.drafts.as_slice();
    let mut paths = context.assign_paths(drafts)?;
    let forgotten = paths_to_forget(context, asked, now)?;
    let answered = Answered::find(context, asked.tail, extracted.answered)?;
    let removed = [answered.paths.as_slice(), &forgotten].concat();
    let follows = link_to_previous(context, previous, &removed)?;
    let origin = Origin { follows: follows.as_ref(), ..origin };
    let mut repetitions = Repetitions::default();
    let mut is_new = vec![true; drafts.len()];
    for (index, draft) in drafts.iter().enumerate() {
        let file = origin.file_of(draft, &paths, now);
        if let Some(path) = repetitions.merge(context, &file, &paths[index], now)? {
            paths[index] = path;
            is_new[index] = false;
        }
    }
    let mut files = BTreeMap::new();
    let mut ended = Vec::new();
    for (index, draft) in drafts.iter().enumerate() {
        if is_new[index] {
            let file = repetitions.with_sources(&paths[index], origin.file_of(draft, &paths, now));
            ended.extend(context.paths_ended_by(&file.front)?);
            files.insert(paths[index].clone(), file);
        }
    }
    let subject = subject(files.len(), forgotten.len());
    let mut merged: Vec<String> = repetitions.merged.keys().cloned().collect();
    merged.sort();
    files.extend(repetitions.merged);
    merged.retain(|path| !removed.contains(path));
    ended.sort();
    ended.dedup();
    ended.retain(|path| !files.contains_key(path));
    ended.retain(|path| !removed.contains(path));
    let mut plan = Plan::new(subject, with_removals(files, &removed));
    answered.note(&mut plan);
    plan.report.merged = merged;
    plan.report.ended = ended;
    plan.report.forgotten = forgotten;
    plan.report.dropped = dropped_messages(origin.conversation, extracted, &asked.wishes.asked_not_to);
    Ok(plan)
}

/// Returns the first line of the commit.
fn subject(new: usize, forgotten: usize) -> String {
    let statements = if new == 1 { "statement" } else { "statements" };
    match forgotten {
        0 => format!("Remember {new} {statements}"),
        _ => format!("Remember {new} {statements}, forget {forgotten}"),
    }
}

/// Returns the planned files, with the removals.
pub(super) fn with_removals(mut files: BTreeMap<String, MemoryFile>, removed: &[String]) -> Vec<PlannedFile> {
    let mut planned = Vec::with_capacity(files.len() + removed.len());
    for path in removed {
        files.remove(path);
        planned.push(PlannedFile::removal(path.clone()));
    }
    for (path, file) in files {
        planned.push(PlannedFile::memory(path, file));
    }
    planned
}
