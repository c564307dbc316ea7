//! The paths of accepted writes that are not ingested yet: those of skills, which the `202` returned, those of memories
//! to forget, and the directories of terms and documents, whose files are chosen when the write is ingested.

use std::collections::{BTreeSet, HashMap};

use cuebase_storage::memory_file::term_file::VOCABULARY_FOLDER;
use cuebase_storage::records::{QueueEntry, QueuedWork};
use cuebase_storage::{MessageId, NamespaceId};
use parking_lot::{Mutex, MutexGuard};

/// Locks of the assignment of paths. Namespaces that share a lock wait for each other.
const ASSIGNMENT_LOCKS: usize = 256;

/// The pending paths of all namespaces.
pub struct PendingPaths {
    by_namespace: Mutex<HashMap<NamespaceId, Vec<PendingPath>>>,
    /// Each namespace has one of them, by its id. Held while a request assigns paths to its skills and adds them, which
    /// includes a sync.
    assigning: Vec<Mutex<()>>,
}

struct PendingPath {
    message: MessageId,
    path: String,
    kind: PathKind,
}

/// What a queued write does at a path.
enum PathKind {
    /// Stores the skill of this name.
    Skill(String),
    /// Forgets a memory.
    Forget,
    /// Writes or removes files of the directory at the path.
    Directory,
}

impl PendingPath {
    /// Whether the path is a directory that contains a file.
    fn contains(&self, file: &str) -> bool {
        let below = file.strip_prefix(self.path.as_str());
        matches!(self.kind, PathKind::Directory) && below.is_some_and(|rest| rest.starts_with('/'))
    }
}

impl Default for PendingPaths {
    fn default() -> Self {
        let mut assigning = Vec::new();
        assigning.resize_with(ASSIGNMENT_LOCKS, Mutex::default);
        Self { by_namespace: Mutex::default(), assigning }
    }
}

impl PendingPaths {
    /// Adds the paths of an accepted write. Called before a worker can finish the write.
    pub fn add(&self, entry: &QueueEntry) {
        let mut paths = Vec::new();
        match &entry.work {
            QueuedWork::Skills { request } => {
                for skill in request {
                    paths.push((skill.path.clone(), PathKind::Skill(skill.name.clone())));
                }
            }
            QueuedWork::Forget { paths: forgotten } => {
                for path in forgotten {
                    paths.push((path.clone(), PathKind::Forget));
                }
            }
            QueuedWork::Teach { .. } | QueuedWork::ForgetTerms { .. } => {
                paths.push((VOCABULARY_FOLDER.to_owned(), PathKind::Directory));
            }
            QueuedWork::Document { request } => paths.push((request.id.folder(), PathKind::Directory)),
            QueuedWork::ForgetDocument { document } => paths.push((document.folder(), PathKind::Directory)),
            _ => {}
        }
        if !paths.is_empty() {
            let mut by_namespace = self.by_namespace.lock();
            let pending = by_namespace.entry(entry.namespace_id).or_default();
            for (path, kind) in paths {
                pending.push(PendingPath { message: entry.id, path, kind });
            }
        }
    }

    /// Removes the paths of a message that was ingested or given up.
    pub fn release(&self, namespace: NamespaceId, message: MessageId) {
        let mut by_namespace = self.by_namespace.lock();
        if let Some(paths) = by_namespace.get_mut(&namespace) {
            paths.retain(|pending| pending.message != message);
            if paths.is_empty() {
                by_namespace.remove(&namespace);
            }
        }
    }

    /// Removes the paths of a deleted namespace.
    pub fn remove_namespace(&self, namespace: NamespaceId) {
        self.by_namespace.lock().remove(&namespace);
    }

    /// Removes all paths, when this process owns no namespace any more.
    pub fn clear(&self) {
        self.by_namespace.lock().clear();
    }

    /// Whether a queued write is about a path.
    pub fn contains(&self, namespace: NamespaceId, path: &str) -> bool {
        let by_namespace = self.by_namespace.lock();
        by_namespace.get(&namespace).is_some_and(|paths| paths.iter().any(|pending| pending.path == path))
    }

    /// Whether a queued write is about a directory that contains a file.
    pub fn contains_directory_of(&self, namespace: NamespaceId, file: &str) -> bool {
        let by_namespace = self.by_namespace.lock();
        by_namespace.get(&namespace).is_some_and(|paths| paths.iter().any(|pending| pending.contains(file)))
    }

    /// Returns the queued requests to forget in a namespace, oldest first.
    pub fn forget_requests(&self, namespace: NamespaceId) -> BTreeSet<MessageId> {
        let by_namespace = self.by_namespace.lock();
        let mut messages = BTreeSet::new();
        for pending in by_namespace.get(&namespace).into_iter().flatten() {
            if matches!(pending.kind, PathKind::Forget) {
                messages.insert(pending.message);
            }
        }
        messages
    }

    /// Returns the names of queued skills by path. Of several skills at one path, the latest counts.
    pub fn skill_names(&self, namespace: NamespaceId) -> HashMap<String, String> {
        let by_namespace = self.by_namespace.lock();
        let mut names = HashMap::new();
        for pending in by_namespace.get(&namespace).into_iter().flatten() {
            if let PathKind::Skill(name) = &pending.kind {
                names.insert(pending.path.clone(), name.clone());
            }
        }
        names
    }

    /// Prevents other requests from assigning paths of a namespace until the guard is dropped.
    pub fn lock_assignment(&self, namespace: NamespaceId) -> MutexGuard<'_, ()> {
        self.assignment_lock(namespace).lock()
    }

    fn assignment_lock(&self, namespace: NamespaceId) -> &Mutex<()> {
        // The last byte is random.
        &self.assigning[usize::from(namespace.to_bytes()[15]) % ASSIGNMENT_LOCKS]
    }
}

#[cfg(test)]
mod tests {
    use ulid::Ulid;

    use super::*;

    #[test]
    fn one_namespace_does_not_wait_for_another_one() {
        let pending = PendingPaths::default();
        let [one, other] = [1, 2].map(|last: u128| NamespaceId::new(Ulid::from(last)));
        let held = pending.lock_assignment(one);
        assert!(pending.assignment_lock(other).try_lock().is_some());
        assert!(pending.assignment_lock(one).try_lock().is_none());
        drop(held);
        assert!(pending.assignment_lock(one).try_lock().is_some());
    }
}
