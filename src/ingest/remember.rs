//! The plan that writes the drafts of a conversation.

use jiff::Timestamp;

use super::dropped::dropped_messages;
use crate::error::Result;
use crate::memory::draft::Draft;
use crate::memory::files::Origin;
use crate::namespace::plan::{Plan, PlanContext, PlannedFile};

/// Plans the files of a conversation's drafts, each at a new path. Reports the messages without a draft.
pub fn remember(context: &mut PlanContext<'_>, origin: Origin<'_>, drafts: &[Draft], now: Timestamp) -> Result<Plan> {
    let paths = context.assign_paths(drafts)?;
    let mut files = Vec::with_capacity(drafts.len());
    for (path, draft) in paths.iter().zip(drafts) {
        let file = origin.file_of(draft, &paths, now);
        files.push(PlannedFile::memory(path.clone(), file));
    }
    let subject = format!("Remember {} statement{}", drafts.len(), if drafts.len() == 1 { "" } else { "s" });
    let mut plan = Plan::new(subject, files);
    plan.report.dropped = dropped_messages(origin.conversation, drafts);
    Ok(plan)
}
