//! The removal of parts of index snapshots in the bucket that no record names.
//!
//! The objects of a snapshot are stored before the batch that records them. If the node stops before that batch, or if it
//! lost the namespace, no record names them. The same holds for parts of a replaced snapshot that could not be removed.
//!
//! One node does this for all namespaces, deleted ones included, as for packs.

use std::collections::{BTreeMap, BTreeSet};

use cuebase_storage::bucket::Bucket;
use cuebase_storage::{NamespaceId, Store};
use ulid::Ulid;

use crate::error::Result;
use crate::service::unrecorded_objects::is_removable;

/// The directory of all snapshots in the bucket. The objects of one are `index/<namespace id>/<id>/<file>`.
const DIRECTORY: &str = "index/";

/// Removes the parts that are old and not recorded. Returns the number of removed objects.
pub(super) fn remove_orphan_snapshots(store: &Store, bucket: &Bucket, now_ms: i64) -> Result<u64> {
    let mut removed = 0;
    for (namespace, names) in old_objects(bucket, now_ms)? {
        // Read after the list, so that a record which was written meanwhile is found.
        let recorded = match store.index_snapshot(namespace)? {
            Some(record) => record.objects(),
            None => BTreeSet::new(),
        };
        for name in names {
            if !recorded.contains(&name) {
                bucket.delete(&name)?;
                removed += 1;
            }
        }
    }
    Ok(removed)
}

/// Returns the names of the objects that are old enough to be removed, by namespace. Leaves out objects whose name has
/// another form than that of a snapshot's part.
fn old_objects(bucket: &Bucket, now_ms: i64) -> Result<BTreeMap<NamespaceId, Vec<String>>> {
    let mut objects: BTreeMap<NamespaceId, Vec<String>> = BTreeMap::new();
    for object in bucket.list(DIRECTORY)? {
        if !is_removable(&object, now_ms) {
            continue;
        }
        if let Some(namespace) = namespace_in_name(&object.name) {
            objects.entry(namespace).or_default().push(object.name);
        }
    }
    Ok(objects)
}

/// Returns the namespace id in the name of a snapshot's object. `None` if the name has another form.
fn namespace_in_name(object: &str) -> Option<NamespaceId> {
    let (namespace, rest) = object.strip_prefix(DIRECTORY)?.split_once('/')?;
    let (id, file) = rest.split_once('/')?;
    if id.parse::<Ulid>().is_err() || file.contains('/') {
        return None;
    }
    Some(NamespaceId::new(namespace.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use cuebase_storage::git::CommitId;
    use cuebase_storage::records::{IndexSnapshotRecord, NamespaceRecord, SnapshotFile, SnapshotSegment};
    use cuebase_storage::{AccountId, NamespaceName};

    use super::*;

    const TWO_DAYS_MS: i64 = 2 * 24 * 60 * 60 * 1000;

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
        assert_eq!(remove_orphan_snapshots(&store, &bucket, stored_at_ms).expect("removes"), 0, "young objects stay");
        assert_eq!(remove_orphan_snapshots(&store, &bucket, stored_at_ms + TWO_DAYS_MS).expect("removes"), 4);
        assert_eq!(names(&bucket), [recorded]);
    }

    #[test]
    fn objects_with_other_names_stay() {
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
        assert_eq!(remove_orphan_snapshots(&store, &bucket, stored_at_ms + TWO_DAYS_MS).expect("removes"), 0);
        assert_eq!(names(&bucket).len(), others.len());
    }
}
