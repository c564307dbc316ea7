//! The removal of objects in the bucket that no record names: packs, and parts of index snapshots.
//!
//! Both are stored before the batch that records them. If the node stops before that batch, if the batch fails, or if the
//! namespace is deleted meanwhile, no record names the objects. Packs that a consolidation replaced, and
//! parts of a replaced snapshot that could not be removed, have no record either.
//!
//! One node does this for all namespaces, deleted ones included. It only reads records, so it owns no namespace for it.

use std::collections::{BTreeMap, BTreeSet};

use cuebase_storage::bucket::Bucket;
use cuebase_storage::{NamespaceId, Store};
use ulid::Ulid;

use super::unrecorded_objects::is_removable;
use crate::error::Result;

/// What objects belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    /// A pack of a repository. Its objects are `packs/<namespace id>/<id>.pack` and `.idx`.
    Pack,
    /// A snapshot of an index. Its objects are `index/<namespace id>/<id>/<file>`.
    IndexSnapshot,
}

impl ObjectKind {
    /// The directory of these objects in the bucket.
    fn directory(self) -> &'static str {
        match self {
            Self::Pack => "packs/",
            Self::IndexSnapshot => "index/",
        }
    }

    /// Returns the namespace id in the name of an object. `None` if the name has another form.
    fn namespace_in_name(self, object: &str) -> Option<NamespaceId> {
        let (namespace, rest) = object.strip_prefix(self.directory())?.split_once('/')?;
        let (id, is_valid) = match self {
            Self::Pack => {
                let (id, extension) = rest.split_once('.')?;
                (id, matches!(extension, "pack" | "idx"))
            }
            Self::IndexSnapshot => {
                let (id, file) = rest.split_once('/')?;
                (id, !file.contains('/'))
            }
        };
        if !is_valid || id.parse::<Ulid>().is_err() {
            return None;
        }
        Some(NamespaceId::new(namespace.parse().ok()?))
    }

    /// Returns the names of the objects of a namespace that are recorded.
    fn recorded(self, store: &Store, namespace: NamespaceId) -> Result<BTreeSet<String>> {
        match self {
            Self::Pack => Ok(store.pack_objects(namespace)?),
            Self::IndexSnapshot => match store.index_snapshot(namespace)? {
                Some(record) => Ok(record.objects()),
                None => Ok(BTreeSet::new()),
            },
        }
    }
}

/// Removes the objects that are old and not recorded. Returns how many. Removes nothing while a backup is in progress,
/// which may copy a pack that was replaced since it began.
pub(crate) fn remove_orphans(store: &Store, bucket: &Bucket, kind: ObjectKind, now_ms: i64) -> Result<u64> {
    let mut removed = 0;
    for name in orphans(store, bucket, kind, now_ms)? {
        // Asked after the records were read: a backup that begins later does not know the object either.
        if store.is_backup_in_progress()? {
            break;
        }
        bucket.delete(&name)?;
        removed += 1;
    }
    Ok(removed)
}

/// Returns the names of the objects that are old and not recorded.
pub(crate) fn orphans(store: &Store, bucket: &Bucket, kind: ObjectKind, now_ms: i64) -> Result<Vec<String>> {
    let mut orphans = Vec::new();
    for (namespace, names) in old_objects(bucket, kind, now_ms)? {
        // Read after the list, so that a record which was written meanwhile is found.
        let recorded = kind.recorded(store, namespace)?;
        for name in names {
            if !recorded.contains(&name) {
                orphans.push(name);
            }
        }
    }
    Ok(orphans)
}

/// Returns the names of the objects that are old enough to be removed, by namespace. Leaves out objects whose name has
/// another form.
fn old_objects(bucket: &Bucket, kind: ObjectKind, now_ms: i64) -> Result<BTreeMap<NamespaceId, Vec<String>>> {
    let mut objects: BTreeMap<NamespaceId, Vec<String>> = BTreeMap::new();
    for object in bucket.list(kind.directory())? {
        if !is_removable(&object, now_ms) {
            continue;
        }
        if let Some(namespace) = kind.namespace_in_name(&object.name) {
            objects.entry(namespace).or_default().push(object.name);
        }
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;
    use std::time::Instant;

    use cuebase_storage::git::{CommitId, Ledger, NewPack, PackId};
    use cuebase_storage::key_value::MemoryEngine;
    use cuebase_storage::records::ownership::NodeSession;
    use cuebase_storage::records::{
        BackupHold, IndexSnapshotRecord, NamespaceRecord, SnapshotFile, SnapshotSegment, StoreLedger,
    };
    use cuebase_storage::{AccountId, NamespaceName};

    use super::*;

    const TWO_DAYS_MS: i64 = 2 * 24 * 60 * 60 * 1000;

    /// Publishes a pack that is too large for a record, in a new namespace.
    fn publish_pack(store: &Arc<Store>, bucket: &Arc<Bucket>) -> NamespaceId {
        let id = NamespaceId::new(Ulid::from(1));
        let wanted = NamespaceRecord::new(&AccountId::default(), &NamespaceName::default(), id, 0);
        let namespace = store.create_namespace(&wanted).expect("creates").0;
        let folder = tempfile::tempdir().expect("temporary directory");
        let (pack, index) = (folder.path().join("a.pack"), folder.path().join("a.idx"));
        fs::write(&pack, vec![7; 100_000]).expect("writes");
        fs::write(&index, b"index").expect("writes");
        let ledger = StoreLedger::new(Arc::clone(store), Arc::clone(bucket), namespace.key());
        let new = NewPack { id: PackId::from_bytes([1; 20]), pack, index };
        ledger.publish(None, CommitId::from_bytes([2; 20]), &[new]).expect("publishes");
        id
    }

    /// Stores and records a snapshot of one file in a new namespace. Returns the namespace and the object.
    fn store_snapshot(store: &Store, bucket: &Bucket) -> (NamespaceId, String) {
        let id = NamespaceId::new(Ulid::from(1u128));
        let wanted = NamespaceRecord::new(&AccountId::default(), &NamespaceName::default(), id, 0);
        let namespace = store.create_namespace(&wanted).expect("creates").0;
        let object = format!("{}{}/memories.log", IndexSnapshotRecord::directory(id), Ulid::from(7u128));
        bucket.put(&object, b"recorded".to_vec()).expect("writes");
        let segments = vec![SnapshotSegment { object: object.clone(), bytes: 8 }];
        let files = vec![SnapshotFile { name: "memories.log".to_owned(), segments }];
        let record = IndexSnapshotRecord { head: CommitId::from_bytes([2; 20]), state: String::new(), files };
        store.put_index_snapshot(&namespace.key(), &record).expect("records");
        (id, object)
    }

    fn names(bucket: &Bucket) -> Vec<String> {
        let mut names = Vec::new();
        for object in bucket.list("").expect("lists") {
            names.push(object.name);
        }
        names
    }

    #[test]
    fn old_packs_without_a_record_are_removed() {
        let store = Arc::new(Store::in_memory().expect("creates"));
        let bucket = Arc::new(Bucket::in_memory().expect("creates"));
        let namespace = publish_pack(&store, &bucket);
        let recorded = names(&bucket);
        assert_eq!(recorded.len(), 2, "{recorded:?}");
        let deleted = NamespaceId::new(Ulid::from(2));
        for directory in [namespace, deleted] {
            for extension in ["pack", "idx"] {
                let name = format!("packs/{directory}/{}.{extension}", Ulid::from(9));
                bucket.put(&name, b"orphan".to_vec()).expect("writes");
            }
        }
        let stored_at_ms = bucket.list("").expect("lists")[0].stored_at_ms;
        assert_eq!(
            remove_orphans(&store, &bucket, ObjectKind::Pack, stored_at_ms).expect("removes"),
            0,
            "young objects stay"
        );
        assert_eq!(remove_orphans(&store, &bucket, ObjectKind::Pack, stored_at_ms + TWO_DAYS_MS).expect("removes"), 4);
        assert_eq!(names(&bucket), recorded);
    }

    #[test]
    fn nothing_is_removed_while_a_backup_is_in_progress() {
        let store = Arc::new(Store::open_shared(Arc::new(MemoryEngine::new())).expect("opens"));
        let bucket = Bucket::in_memory().expect("creates");
        bucket.put(&format!("packs/{}/{}.pack", Ulid::from(1), Ulid::from(9)), b"orphan".to_vec()).expect("writes");
        let now_ms = bucket.list("").expect("lists")[0].stored_at_ms + TWO_DAYS_MS;
        let session = NodeSession::begin(&store, "node:1", "1.0.0", Instant::now()).expect("begins");
        let hold = BackupHold::begin(&store, session.id()).expect("begins");
        assert_eq!(remove_orphans(&store, &bucket, ObjectKind::Pack, now_ms).expect("looks"), 0);
        drop(hold);
        assert_eq!(remove_orphans(&store, &bucket, ObjectKind::Pack, now_ms).expect("removes"), 1);
    }

    #[test]
    fn objects_beside_packs_stay() {
        let store = Store::in_memory().expect("creates");
        let bucket = Bucket::in_memory().expect("creates");
        let id = Ulid::from(9);
        let others = [
            format!("media/{id}/{id}"),
            "packs/readme".to_owned(),
            format!("packs/{id}/{id}.tmp"),
            format!("packs/{id}/readme.pack"),
            format!("packs/shared/{id}.pack"),
        ];
        for name in &others {
            bucket.put(name, b"content".to_vec()).expect("writes");
        }
        let stored_at_ms = bucket.list("").expect("lists")[0].stored_at_ms;
        assert_eq!(remove_orphans(&store, &bucket, ObjectKind::Pack, stored_at_ms + TWO_DAYS_MS).expect("removes"), 0);
        assert_eq!(names(&bucket).len(), others.len());
    }

    #[test]
    fn old_parts_without_a_record_are_removed() {
        let store = Store::in_memory().expect("creates");
        let bucket = Bucket::in_memory().expect("creates");
        let (namespace, recorded) = store_snapshot(&store, &bucket);
        let deleted = NamespaceId::new(Ulid::from(2u128));
        for directory in [namespace, deleted] {
            for file in ["memories.log", "layer-0-600"] {
                let name = format!("{}{}/{file}", IndexSnapshotRecord::directory(directory), Ulid::from(9u128));
                bucket.put(&name, b"orphan".to_vec()).expect("writes");
            }
        }
        let stored_at_ms = bucket.list("").expect("lists")[0].stored_at_ms;
        assert_eq!(
            remove_orphans(&store, &bucket, ObjectKind::IndexSnapshot, stored_at_ms).expect("removes"),
            0,
            "young objects stay"
        );
        assert_eq!(
            remove_orphans(&store, &bucket, ObjectKind::IndexSnapshot, stored_at_ms + TWO_DAYS_MS).expect("removes"),
            4
        );
        assert_eq!(names(&bucket), [recorded]);
    }

    #[test]
    fn objects_beside_index_snapshots_stay() {
        let store = Store::in_memory().expect("creates");
        let bucket = Bucket::in_memory().expect("creates");
        let id = Ulid::from(9u128);
        let others = [
            format!("packs/{id}/{id}.pack"),
            "index/readme".to_owned(),
            format!("index/{id}/readme"),
            format!("index/{id}/former/memories.log"),
            format!("index/{id}/{id}/former/memories.log"),
            format!("index/shared/{id}/memories.log"),
        ];
        for name in &others {
            bucket.put(name, b"content".to_vec()).expect("writes");
        }
        let stored_at_ms = bucket.list("").expect("lists")[0].stored_at_ms;
        assert_eq!(
            remove_orphans(&store, &bucket, ObjectKind::IndexSnapshot, stored_at_ms + TWO_DAYS_MS).expect("removes"),
            0
        );
        assert_eq!(names(&bucket).len(), others.len());
    }
}
