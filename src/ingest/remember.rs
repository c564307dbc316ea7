//! The plan that writes the drafts of a conversation.

use std::collections::{BTreeMap, BTreeSet};

use cuebase_language::extract::ExtractedDrafts;
use cuebase_storage::memory_file::{Relation, RelationKind, SourceMessage};
use jiff::Timestamp;

use super::dropped::dropped_messages;
use super::repetition::Repetitions;
use crate::error::Result;
use crate::memory::files::Origin;
use crate::namespace::plan::{Plan, PlanContext, PlannedFile};

/// Words in the snippet of the link to the memory before.
const SNIPPET_WORDS: usize = 12;

/// Plans the files of a conversation's drafts, each at a new path, unless a memory says the same already. Reports the
/// messages without a draft, the memories that were repeated, and those that no longer hold.
pub fn remember(
    context: &mut PlanContext<'_>,
    origin: Origin<'_>,
    previous: Option<&[String]>,
    extracted: &ExtractedDrafts,
    now: Timestamp,
) -> Result<Plan> {
    let drafts = extracted.drafts.as_slice();
    let mut paths = context.assign_paths(drafts)?;
    let follows = follows(context, origin, previous)?;
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
            let mut file = origin.file_of(draft, &paths, now);
            if index == 0 {
                file.front.relations.extend(follows.clone());
            }
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

/// Returns the link to the memory that was said right before, in the previous write of the session. `previous` are the
/// paths of that write.
fn follows(context: &mut PlanContext<'_>, origin: Origin<'_>, previous: Option<&[String]>) -> Result<Option<Relation>> {
    let mut last: Option<(u64, Relation)> = None;
    let writes: BTreeSet<&str> = origin.before.iter().filter_map(|source| source.write.as_deref()).collect();
    for path in previous.unwrap_or_default() {
        let Some(file) = context.memory(path)? else { continue };
        let is_said_before =
            |source: &&SourceMessage| source.write.as_deref().is_some_and(|write| writes.contains(write));
        let Some(message) = file.front.sources.iter().filter(is_said_before).map(|source| source.message).max() else {
            continue;
        };
        if last.as_ref().is_none_or(|(other, _)| message >= *other) {
            let words: Vec<&str> =
                file.body.trim_start_matches(['#', ' ']).split_whitespace().take(SNIPPET_WORDS).collect();
            let relation = Relation { path: path.clone(), kind: RelationKind::Follows, snippet: words.join(" ") };
            last = Some((message, relation));
        }
    }
    Ok(last.map(|(_, relation)| relation))
}
