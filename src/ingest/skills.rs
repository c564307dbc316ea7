//! The plan that stores skills in `skills/<topic>/<slug>.md`.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::error::Result;
use crate::memory::skill::{self, SkillDraft};
use crate::namespace::plan::{Plan, PlanContext, PlannedFile};

/// Plans the files of skills. Of several skills at one path, the last one counts.
pub fn store(context: &mut PlanContext<'_>, skills: &[SkillDraft], now: Timestamp) -> Result<Plan> {
    let mut files = BTreeMap::new();
    for skill in skills {
        let former = context.memory(&skill.path)?;
        files.insert(skill.path.clone(), skill::file(skill, former, now));
    }
    let subject = format!("Store {} skill{}", files.len(), if files.len() == 1 { "" } else { "s" });
    Ok(Plan::new(subject, files.into_iter().map(|(path, file)| PlannedFile::memory(path, file)).collect()))
}
