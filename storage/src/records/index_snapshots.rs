//! Snapshots of indexes in the bucket, so that the next owner of a namespace need not build its index from git.
//!
//! The objects of a snapshot are stored before the batch that records it, and those that it no longer uses are removed
//! after that batch. Each upload has a directory of its own, so a name never has other content than at first. An object
//! that no record names belongs to nothing.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::store::{Store, decode, encode};
use crate::error::Result;
use crate::git::CommitId;
use crate::identity::{NamespaceId, NamespaceKey};
use crate::key_value::Column;

/// The newest snapshot of a namespace's index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexSnapshotRecord {
    /// The commit that the snapshot stands for.
    pub head: CommitId,
    /// The content of the index's state file, which is replaced by each change.
    pub state: String,
    /// The other files of the index.
    pub files: Vec<SnapshotFile>,
}

/// A file of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotFile {
    /// The name in the folder of the index.
    pub name: String,
    /// The objects whose bytes, one after the other, are the file. Empty for an empty file.
    pub segments: Vec<SnapshotSegment>,
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotSegment {
    /// The name of the object.
    pub object: String,
    /// The size of the object in bytes.
    pub bytes: u64,
}

impl IndexSnapshotRecord {
    /// The directory in the bucket that has all snapshots of a namespace's index.
    pub fn directory(namespace: NamespaceId) -> String {
        format!("index/{namespace}/")
    }

    /// Returns the names of all objects of the snapshot.
    pub fn objects(&self) -> BTreeSet<String> {
        let mut objects = BTreeSet::new();
        for file in &self.files {
            for segment in &file.segments {
                objects.insert(segment.object.clone());
            }
        }
        objects
    }
}

impl SnapshotFile {
    /// Returns the size of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }
}

impl Store {
    /// Returns the newest snapshot of a namespace's index. A record that cannot be decoded counts as none, because the
    /// index can be built without it.
    pub fn index_snapshot(&self, namespace: NamespaceId) -> Result<Option<IndexSnapshotRecord>> {
        let Some(bytes) = self.kv.get(Column::IndexSnapshots, &namespace.to_bytes())? else { return Ok(None) };
        Ok(decode(Column::IndexSnapshots, &bytes).ok())
    }

    /// Records a snapshot in place of the former one. It is durable on return, so the objects of the former one can be
    /// removed.
    ///
    /// # Errors
    /// [`Error::NotOwner`](crate::Error::NotOwner) if this process does not own the namespace,
    /// [`Error::NamespaceGone`](crate::Error::NamespaceGone) if it was deleted.
    pub fn put_index_snapshot(&self, namespace: &NamespaceKey, record: &IndexSnapshotRecord) -> Result<()> {
        let mut batch = self.batch();
        batch.require_live_key(namespace.clone());
        batch.changes.put(Column::IndexSnapshots, namespace.id.to_bytes(), encode(record)?);
        self.commit_synced(batch)
    }

    /// Deletes the record of a namespace's snapshot. The deletion is durable on return.
    ///
    /// # Errors
    /// [`Error::NotOwner`](crate::Error::NotOwner) if this process does not own the namespace.
    pub fn remove_index_snapshot(&self, namespace: &NamespaceKey) -> Result<()> {
        let mut batch = self.batch();
        batch.require_held(namespace.clone());
        batch.changes.delete(Column::IndexSnapshots, namespace.id.to_bytes());
        self.commit_synced(batch)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use ulid::Ulid;

    use super::*;
    use crate::error::Error;
    use crate::identity::{AccountId, NamespaceName};
    use crate::key_value::MemoryEngine;
    use crate::records::NamespaceRecord;
    use crate::records::ownership::{Claim, NodeSession};

    fn snapshot(objects: &[&str]) -> IndexSnapshotRecord {
        let mut segments = Vec::new();
        for object in objects {
            segments.push(SnapshotSegment { object: (*object).to_owned(), bytes: 3 });
        }
        let files = vec![SnapshotFile { name: "memories.log".to_owned(), segments }];
        IndexSnapshotRecord { head: CommitId::from_bytes([7; 20]), state: "state".to_owned(), files }
    }

    #[test]
    fn only_the_owner_of_a_namespace_records_its_snapshot() {
        let engine = Arc::new(MemoryEngine::new());
        let [first, second] = [0; 2].map(|_| Arc::new(Store::open_shared(engine.clone()).expect("opens")));
        let id = NamespaceId::new(Ulid::from(1u128));
        let wanted = NamespaceRecord::new(&AccountId::default(), &NamespaceName::default(), id, 0);
        let namespace = first.create_namespace(&wanted).expect("creates").0;
        let key = namespace.key();
        assert!(matches!(first.put_index_snapshot(&key, &snapshot(&["a"])), Err(Error::NotOwner(_))));
        let session = NodeSession::begin(&first, "127.0.0.1:1", "1.0.0", Instant::now()).expect("begins");
        assert_eq!(first.claim(session.id(), &key).expect("claims"), Claim::Held);
        first.put_index_snapshot(&key, &snapshot(&["a", "b"])).expect("records");
        let found = second.index_snapshot(id).expect("reads").expect("a snapshot");
        assert_eq!(found, snapshot(&["a", "b"]));
        assert_eq!(found.objects(), BTreeSet::from(["a".to_owned(), "b".to_owned()]));
        assert_eq!(found.files[0].bytes(), 6);

        session.end().expect("ends");
        let session = NodeSession::begin(&second, "127.0.0.1:2", "1.0.0", Instant::now()).expect("begins");
        assert_eq!(second.claim(session.id(), &key).expect("claims"), Claim::Held);
        assert!(matches!(first.put_index_snapshot(&key, &snapshot(&["c"])), Err(Error::NotOwner(_))));
        assert_eq!(second.index_snapshot(id).expect("reads"), Some(found));
        second.remove_index_snapshot(&key).expect("removes");
        assert_eq!(second.index_snapshot(id).expect("reads"), None);
    }

    #[test]
    fn a_deleted_namespace_has_no_snapshot() {
        let store = Store::in_memory().expect("creates");
        let id = NamespaceId::new(Ulid::from(1u128));
        let wanted = NamespaceRecord::new(&AccountId::default(), &NamespaceName::default(), id, 0);
        let namespace = store.create_namespace(&wanted).expect("creates").0;
        store.put_index_snapshot(&namespace.key(), &snapshot(&["a"])).expect("records");
        assert!(store.retire_namespace(&namespace).expect("deletes"));
        let removal = store.pending_removals().expect("reads").remove(0);
        store.remove_records(&removal).expect("removes");
        assert_eq!(store.index_snapshot(id).expect("reads"), None);
        let late = store.put_index_snapshot(&namespace.key(), &snapshot(&["b"]));
        assert!(matches!(late, Err(Error::NamespaceGone(_))), "{late:?}");
    }

    #[test]
    fn a_record_of_another_form_counts_as_none() {
        let store = Store::in_memory().expect("creates");
        let id = NamespaceId::new(Ulid::from(1u128));
        let mut batch = store.batch();
        batch.changes.put(Column::IndexSnapshots, id.to_bytes(), encode(&"text").expect("encodes"));
        store.commit(batch).expect("writes");
        assert_eq!(store.index_snapshot(id).expect("reads"), None);
    }
}
