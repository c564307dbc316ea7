//! The paths of accepted writes that are not ingested yet: of skills, whose paths the `202` returned, and of memories to be
//! forgotten.

use std::collections::{BTreeSet, HashMap};

use cuebase_storage::records::{NamespaceId, QueueEntry, QueuedWork};
use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use ulid::Ulid;

use crate::memory::skill::SkillDraft;

/// The paths of queued writes, by namespace.
#[derive(Default)]
pub struct PendingPaths {
    open: Mutex<HashMap<NamespaceId, Vec<PendingPath>>>,
    /// Held while the paths of a request's skills are worked out and noted.
    assigning: Mutex<()>,
}

struct PendingPath {
    message: Ulid,
    path: String,
    /// The skill's name; none where the path is to be forgotten.
    skill: Option<String>,
}

impl PendingPaths {
    /// Notes what an accepted write is about, before any worker can be done with it.
    pub fn note(&self, entry: &QueueEntry) {
        let mut paths = Vec::new();
        match &entry.work {
            QueuedWork::Skills { request } => {
                // Written by ourselves; a request that cannot be read names no paths.
                for skill in Vec::<SkillDraft>::deserialize(request).unwrap_or_default() {
                    paths.push(PendingPath { message: entry.id, path: skill.path, skill: Some(skill.name) });
                }
            }
            QueuedWork::Forget { paths: forgotten } => {
                for path in forgotten {
                    paths.push(PendingPath { message: entry.id, path: path.clone(), skill: None });
                }
            }
            _ => {}
        }
        if !paths.is_empty() {
            self.open.lock().entry(entry.namespace_id).or_default().extend(paths);
        }
    }

    /// A message is done with: what it is about is in git, or never will be.
    pub fn release(&self, namespace: NamespaceId, message: Ulid) {
        let mut open = self.open.lock();
        if let Some(paths) = open.get_mut(&namespace) {
            paths.retain(|pending| pending.message != message);
            if paths.is_empty() {
                open.remove(&namespace);
            }
        }
    }

    /// Forgets a namespace that was deleted.
    pub fn forget(&self, namespace: NamespaceId) {
        self.open.lock().remove(&namespace);
    }

    /// Whether a queued write is about a path.
    pub fn names(&self, namespace: NamespaceId, path: &str) -> bool {
        let open = self.open.lock();
        open.get(&namespace).is_some_and(|paths| paths.iter().any(|pending| pending.path == path))
    }

    /// The queued requests to forget in a namespace, the oldest first.
    pub fn forgets(&self, namespace: NamespaceId) -> BTreeSet<Ulid> {
        let open = self.open.lock();
        let mut messages = BTreeSet::new();
        for pending in open.get(&namespace).into_iter().flatten() {
            if pending.skill.is_none() {
                messages.insert(pending.message);
            }
        }
        messages
    }

    /// The names of the skills that are to come to paths; of several at one path the latest counts.
    pub fn skill_names(&self, namespace: NamespaceId) -> HashMap<String, String> {
        let open = self.open.lock();
        let mut names = HashMap::new();
        for pending in open.get(&namespace).into_iter().flatten() {
            if let Some(name) = &pending.skill {
                names.insert(pending.path.clone(), name.clone());
            }
        }
        names
    }

    /// Keeps other requests from assigning paths until the guard is dropped.
    pub fn assigning(&self) -> MutexGuard<'_, ()> {
        self.assigning.lock()
    }
}
