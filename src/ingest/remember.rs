//! The plan that writes the drafts of a conversation.

use jiff::Timestamp;

use crate::error::Outcome;
use crate::memory::draft::Draft;
use crate::memory::files::Origin;
use crate::namespace::plan::{Content, Desk, Plan};

/// Writes the drafts of a conversation, each at a path of its own.
pub fn remember(desk: &mut Desk<'_>, origin: Origin<'_>, drafts: &[Draft], now: Timestamp) -> Outcome<Plan> {
    let paths = desk.name(drafts)?;
    let file = |draft| Some(Content::Memory(Box::new(origin.file_of(draft, &paths, now))));
    let files = paths.iter().cloned().zip(drafts.iter().map(file)).collect();
    let subject = format!("Remember {} statement{}", drafts.len(), if drafts.len() == 1 { "" } else { "s" });
    Ok(Plan::new(subject, files))
}
