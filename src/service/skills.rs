//! Skills: the paths they get when they are accepted, and finding them.

use std::collections::HashMap;

use cuebase_retrieval::{Error as IndexError, Memory, Snapshot};
use cuebase_storage::memory_file::markdown;
use cuebase_storage::records::{FingerprintSubject, NamespaceRecord, QueuedWork};
use serde::Serialize;
use ulid::Ulid;

use super::retrieval::{Found, Retrieve};
use super::{DedupKey, Service};
use crate::error::{Error, Result};
use crate::memory::file_names::{free_name, slug};
use crate::memory::files::Details;
use crate::memory::skill::SkillDraft;
use crate::namespace::key::NamespaceKey;

/// The topic of a skill that names none.
const TOPIC: &str = "general";

/// Where a skill is to be put.
pub enum SkillLocation {
    /// At this path, whatever is there.
    Path(String),
    /// In this directory below `skills/`, or the one for skills without topic, under a name of its own.
    Topic(Option<String>),
}

/// A skill as the API shows it.
#[derive(Debug, Serialize)]
pub struct SkillView {
    path: String,
    topic: String,
    name: String,
    description: String,
    content: String,
    tags: Vec<String>,
    triggers: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matched: Option<Vec<&'static str>>,
}

impl Service {
    /// Accepts skills: durable when this returns. The paths are the ones that come to exist, in the order of the skills.
    pub fn accept_skills(
        &self,
        namespace: &NamespaceRecord,
        mut skills: Vec<(SkillLocation, SkillDraft)>,
        body: &[u8],
    ) -> Result<(Ulid, Vec<String>)> {
        let lease = self.namespaces.lease_key(&NamespaceKey::of(namespace))?;
        // Held until the paths are noted, so that no other request gets the same path.
        let _assigning = self.pending.lock_assignment();
        let pending = self.pending.skill_names(namespace.id);
        // After those were read: what is no longer pending is in the index by now.
        let mut taken = lease.read(stored_names)?;
        taken.extend(pending);
        for (place, skill) in &mut skills {
            skill.path = match place {
                SkillLocation::Path(path) => path.clone(),
                SkillLocation::Topic(topic) => {
                    let folder = format!("skills/{}", topic.as_deref().unwrap_or(TOPIC));
                    let hash = super::fingerprint(&[skill.name.as_bytes()]);
                    let stem = slug(&skill.name, &format!("skill-{}", data_encoding::HEXLOWER.encode(&hash[..4])));
                    // A path is free for a skill when nothing is there, or a skill of the same name.
                    let free = |name: &str| -> Result<bool> {
                        Ok(taken.get(&format!("{folder}/{name}")).is_none_or(|held| *held == skill.name))
                    };
                    let name = free_name(&stem, free)?;
                    format!("{folder}/{name}")
                }
            };
            taken.insert(skill.path.clone(), skill.name.clone());
        }
        let skills: Vec<SkillDraft> = skills.into_iter().map(|(_, skill)| skill).collect();
        let paths: Vec<String> = skills.iter().map(|skill| skill.path.clone()).collect();
        let subjects: Vec<FingerprintSubject> = paths.iter().map(|path| FingerprintSubject::path(path)).collect();
        let work = QueuedWork::Skills { request: serde_json::to_value(&skills).map_err(Error::internal)? };
        let permit = self.permit_write(&namespace.account, &work)?;
        let id = self.accept_permitted(namespace, work, DedupKey::Body(body), &subjects, permit)?;
        Ok((id, paths))
    }

    /// The skills that fit a task, best first; without one, every skill, by path.
    pub fn skills(&self, account: &str, namespace: &str, request: &Retrieve) -> Result<Vec<SkillView>> {
        if request.query.is_some() {
            let found = self.find(account, namespace, request)?;
            return Ok(found.hits.iter().map(|hit| skill(&hit.memory, Some(hit))).collect());
        }
        let lease = self.namespaces.lease(account, namespace)?;
        let mut skills: Vec<Memory> = lease.read(|snapshot| snapshot.all().collect())?;
        skills.retain(|memory| request.filter.accepts(memory));
        skills.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(skills.iter().take(request.limit).map(|memory| skill(memory, None)).collect())
    }
}

/// The skills that are there: what is at each path below `skills/` is called.
fn stored_names(snapshot: &Snapshot) -> Result<HashMap<String, String>, IndexError> {
    let mut names = HashMap::new();
    for memory in snapshot.all() {
        let memory = memory?;
        if memory.path.starts_with("skills/") {
            names.insert(memory.path.clone(), name_of(&memory, details_of(&memory)));
        }
    }
    Ok(names)
}

fn name_of(memory: &Memory, details: Details) -> String {
    details.name.unwrap_or_else(|| markdown::title(&memory.content))
}

/// Written by ourselves; a record of another shape shows as unknown.
fn details_of(memory: &Memory) -> Details {
    serde_json::from_str(&memory.details).unwrap_or_default()
}

fn skill(memory: &Memory, hit: Option<&Found>) -> SkillView {
    let mut details = details_of(memory);
    let description = details.description.take().unwrap_or_default();
    let inner = memory.path.strip_prefix("skills/").unwrap_or(&memory.path);
    SkillView {
        path: memory.path.clone(),
        topic: inner.rsplit_once('/').map(|(topic, _)| topic.to_owned()).unwrap_or_default(),
        name: name_of(memory, details),
        description,
        content: memory.content.clone(),
        tags: memory.user_tags.iter().chain(&memory.inferred_tags).cloned().collect(),
        triggers: memory.cues.iter().map(|cue| cue.text.clone()).collect(),
        score: hit.map(|hit| hit.score),
        matched: hit.map(Found::matched),
    }
}
