//! The plan that writes the drafts of a conversation.

use jiff::Timestamp;

use crate::error::Result;
use crate::memory::draft::Draft;
use crate::memory::files::Origin;
use crate::namespace::plan::{Content, Plan, PlanContext};

/// Writes the drafts of a conversation, each at a path of its own.
pub fn remember(context: &mut PlanContext<'_>, origin: Origin<'_>, drafts: &[Draft], now: Timestamp) -> Result<Plan> {
    let paths = context.name(drafts)?;
    let file = |draft| Some(Content::Memory(Box::new(origin.file_of(draft, &paths, now))));
    let files = paths.iter().cloned().zip(drafts.iter().map(file)).collect();
    let subject = format!("Remember {} statement{}", drafts.len(), if drafts.len() == 1 { "" } else { "s" });
    Ok(Plan::new(subject, files))
}
