//! [`Skills`]: accepts skills under paths, and finds them.

use std::collections::HashMap;
use std::sync::Arc;

use cuebase_retrieval::{Error as IndexError, Memory, Snapshot};
use cuebase_storage::memory_file::{Metadata, markdown};
use cuebase_storage::records::{FingerprintSubject, NamespaceRecord, QueuedWork, WriteSender};
use cuebase_storage::{AccountId, MessageId, NamespaceName};
use data_encoding::HEXLOWER;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::intake::{DedupKey, Intake, NewWrite};
use super::reads::Reads;
use super::retrieval::{Arm, FoundMemory, RetrievalRequest};
use super::smallest_keys::SmallestKeys;
use crate::error::Result;
use crate::memory::file_names::{free_name, slug};
use crate::memory::files::{Details, stored_metadata};
use crate::memory::skill::SkillDraft;
use crate::memory::values::StoredMetadata;
use crate::namespace::pending::PendingPaths;
use crate::namespace::registry::Namespaces;
use crate::secrets::fingerprint;

/// The topic of skills without one.
const DEFAULT_TOPIC: &str = "general";

/// The skills of the namespaces.
pub struct Skills {
    namespaces: Arc<Namespaces>,
    /// Paths of accepted writes that are not committed yet.
    pending: Arc<PendingPaths>,
    intake: Arc<Intake>,
    reads: Arc<Reads>,
}

/// The location of a new skill.
pub enum SkillLocation {
    /// This path. A memory at the path is replaced.
    Path(String),
    /// An unused name in this directory below `skills/`; `general` without a topic.
    Topic(Option<String>),
}

/// A skill as the API shows it.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Skill")]
pub struct SkillView {
    /// Path of the skill's memory.
    pub path: String,
    /// The directory below `skills/`; empty if there is none.
    pub topic: String,
    /// Name of the skill.
    pub name: String,
    /// Purpose of the skill; empty if unknown.
    pub description: String,
    /// Body of the memory, as markdown.
    pub content: String,
    /// Tags that the caller set, followed by those that extraction added.
    pub tags: Vec<String>,
    /// Values that the caller filters by.
    #[schemars(with = "StoredMetadata")]
    pub metadata: Metadata,
    /// Texts by which the skill is found.
    pub triggers: Vec<String>,
    /// Probability that the skill answers the query; absent without a query.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", extend("minimum" = 0, "maximum" = 1))]
    pub score: Option<f32>,
    /// The arms that found the skill; absent without a query.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Arm>")]
    pub matched: Option<Vec<Arm>>,
}

impl Skills {
    /// Returns the skills of `namespaces`. `intake` accepts new ones, `reads` finds them.
    pub fn new(
        namespaces: Arc<Namespaces>,
        pending: Arc<PendingPaths>,
        intake: Arc<Intake>,
        reads: Arc<Reads>,
    ) -> Self {
        Self { namespaces, pending, intake, reads }
    }

    /// Accepts skills. They are durable in the queue when this returns. Returns the id of the write and the path of
    /// each skill.
    pub fn accept(
        &self,
        namespace: &NamespaceRecord,
        skills: Vec<(SkillLocation, SkillDraft)>,
        body: &[u8],
        sender: Option<WriteSender>,
    ) -> Result<(MessageId, Vec<String>)> {
        let lease = self.namespaces.lease_key(&namespace.key())?;
        // Held until the paths are pending, so that no other request of the namespace gets the same path.
        let _assigning = self.pending.lock_assignment(namespace.id);
        let pending = self.pending.skill_names(namespace.id);
        // The index is read after the pending names, so that a skill that is committed in between is in the index.
        let mut taken = lease.read(stored_names)?;
        taken.extend(pending);
        let mut drafts = Vec::with_capacity(skills.len());
        let mut paths = Vec::with_capacity(skills.len());
        for (location, mut skill) in skills {
            skill.path = match location {
                SkillLocation::Path(path) => path,
                SkillLocation::Topic(topic) => free_path(topic.as_deref(), &skill.name, &taken)?,
            };
            taken.insert(skill.path.clone(), skill.name.clone());
            paths.push(skill.path.clone());
            drafts.push(skill);
        }
        let subjects: Vec<FingerprintSubject> = paths.iter().map(|path| FingerprintSubject::path(path)).collect();
        let work = QueuedWork::Skills { request: drafts };
        let permit = self.intake.reserve_write(&namespace.account, &work)?;
        let write = NewWrite { work, sender };
        let id = self.intake.accept_permitted(namespace, write, DedupKey::Body(body), &subjects, permit)?;
        Ok((id, paths))
    }

    /// Returns the skills for a task, best first. Without a query, returns all skills, by path.
    pub fn find(
        &self,
        account: &AccountId,
        namespace: &NamespaceName,
        request: &RetrievalRequest,
    ) -> Result<Vec<SkillView>> {
        if request.query.is_some() {
            let found = self.reads.find(account, namespace, request)?;
            return Ok(found.hits.iter().map(|hit| SkillView::of(&hit.memory, Some(hit))).collect());
        }
        let lease = self.namespaces.lease(account, namespace)?;
        lease.read(|snapshot| first_skills(snapshot, request))
    }
}

impl SkillView {
    fn of(memory: &Memory, hit: Option<&FoundMemory>) -> Self {
        let mut details = details_of(memory);
        let description = details.description.take();
        let inner = memory.path.strip_prefix("skills/").unwrap_or(&memory.path);
        let topic = match inner.rsplit_once('/') {
            Some((topic, _)) => topic,
            None => "",
        };
        Self {
            path: memory.path.clone(),
            topic: topic.to_owned(),
            name: name_of(memory, details),
            description: description.unwrap_or_default(),
            content: memory.content.clone(),
            tags: memory.user_tags.iter().chain(&memory.inferred_tags).cloned().collect(),
            metadata: stored_metadata(&memory.metadata),
            triggers: memory.cues.iter().map(|cue| cue.text.clone()).collect(),
            score: hit.map(|hit| hit.score),
            matched: hit.map(FoundMemory::matched),
        }
    }
}

/// Returns the first skills that the filter of a request accepts, by path. Reads the memories one at a time.
fn first_skills(snapshot: &Snapshot, request: &RetrievalRequest) -> Result<Vec<SkillView>, IndexError> {
    let mut first = SmallestKeys::new(request.limit);
    for memory in snapshot.all() {
        let memory = memory?;
        if request.filter.accepts(&memory) && first.has_place_for(&memory.path) {
            let view = SkillView::of(&memory, None);
            first.insert(memory.path, view);
        }
    }
    Ok(first.into_values())
}

/// Returns a path for a skill in the directory of a topic. A path is free if no skill, or a skill of the same name, is
/// there. `taken` contains the name of the skill at each path.
fn free_path(topic: Option<&str>, name: &str, taken: &HashMap<String, String>) -> Result<String> {
    let folder = format!("skills/{}", topic.unwrap_or(DEFAULT_TOPIC));
    let hash = fingerprint(&[name.as_bytes()]);
    let stem = slug(name, &format!("skill-{}", HEXLOWER.encode(&hash[..4])));
    let file_name = free_name(&stem, |file_name| -> Result<bool> {
        match taken.get(&format!("{folder}/{file_name}")) {
            Some(taken_by) => Ok(taken_by == name),
            None => Ok(true),
        }
    })?;
    Ok(format!("{folder}/{file_name}"))
}

/// Returns the name of the skill at each path below `skills/`.
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

/// Returns the details of a memory. They were written by this program, so unreadable ones are shown as unknown.
fn details_of(memory: &Memory) -> Details {
    serde_json::from_str(&memory.details).unwrap_or_default()
}
