//! The plan that writes the drafts of a conversation.

use std::collections::BTreeMap;

use cuebase_language::extract::ExtractedDrafts;
use jiff::Timestamp;

use super::dropped::dropped_messages;
use super::repetition::Repetitions;
use super::session::{PreviousWrite, link_to_previous};
use crate::error::Result;
use crate::memory::files::Origin;
use crate::namespace::plan::{Plan, PlanContext, PlannedFile};

/// Plans the files of a conversation's drafts, each at a new path, unless a memory says the same already. Reports the
/// messages without a draft, the memories that were repeated, and those that no longer hold.
pub fn remember(
    context: &mut PlanContext<'_>,
    origin: Origin<'_>,
    previous: Option<&PreviousWrite>,
    extracted: &ExtractedDrafts,
    now: Timestamp,
) -> Result<Plan> {
    let drafts = extracted.drafts.as_slice();
    let mut paths = context.assign_paths(drafts)?;
    let follows = link_to_previous(context, previous)?;
    let origin = Origin { follows: follows.as_ref(), ..origin };
    let mut repetitions = Repetitions::default();
    let mut is_new = vec![true; drafts.len()];
    for (index, draft) in drafts.iter().enumerate() {
        let file = origin.file_of(draft, &paths, now);
        if let Some(path) = repetitions.merge(context, &file, now)? {
            paths[index] = path;
            is_new[index] = false;
        }
    }
    let mut files = BTreeMap::new();
    let mut ended = Vec::new();
    for (index, draft) in drafts.iter().enumerate() {
        if is_new[index] {
            let file = origin.file_of(draft, &paths, now);
            ended.extend(context.paths_ended_by(&file.front)?);
            files.insert(paths[index].clone(), file);
        }
    }
    let new = files.len();
    let subject = format!("Remember {new} statement{}", if new == 1 { "" } else { "s" });
    let mut merged: Vec<String> = repetitions.merged.keys().cloned().collect();
    merged.sort();
    files.extend(repetitions.merged);
    ended.sort();
    ended.dedup();
    ended.retain(|path| !files.contains_key(path));
    let files = files.into_iter().map(|(path, file)| PlannedFile::memory(path, file)).collect();
    let mut plan = Plan::new(subject, files);
    plan.report.merged = merged;
    plan.report.ended = ended;
    plan.report.dropped = dropped_messages(origin.conversation, extracted);
    Ok(plan)
}
