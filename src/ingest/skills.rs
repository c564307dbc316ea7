//! The plan that stores skills in `skills/<topic>/<slug>.md`.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::error::Result;
use crate::memory::skill::SkillDraft;
use crate::namespace::plan::{Content, Plan, PlanContext};

/// Writes skills; the last of several at one path counts.
pub fn store(context: &mut PlanContext<'_>, skills: &[SkillDraft], now: Timestamp) -> Result<Plan> {
    let mut files = BTreeMap::new();
    for skill in skills {
        let known = context.memory(&skill.path)?;
        files.insert(skill.path.clone(), Some(Content::Memory(Box::new(skill.file(known, now)))));
    }
    let subject = format!("Store {} skill{}", files.len(), if files.len() == 1 { "" } else { "s" });
    Ok(Plan::new(subject, files.into_iter().collect()))
}
