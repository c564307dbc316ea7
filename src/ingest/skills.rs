//! The plan that stores skills in `skills/<topic>/<slug>.md`.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::error::Outcome;
use crate::memory::skill::SkillDraft;
use crate::namespace::plan::{Content, Desk, Plan};

/// Writes skills; the last of several at one path counts.
pub fn store(desk: &mut Desk<'_>, skills: &[SkillDraft], now: Timestamp) -> Outcome<Plan> {
    let mut files = BTreeMap::new();
    for skill in skills {
        let known = desk.memory(&skill.path)?;
        files.insert(skill.path.clone(), Some(Content::Memory(Box::new(skill.file(known, now)))));
    }
    let subject = format!("Store {} skill{}", files.len(), if files.len() == 1 { "" } else { "s" });
    Ok(Plan::new(subject, files.into_iter().collect()))
}
