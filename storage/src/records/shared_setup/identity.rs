//! The id of the cluster, which is in the database and in the bucket, so that both are always used together.

use ulid::Ulid;

use super::SetupError;
use crate::bucket::Bucket;
use crate::error::{Error, Result};
use crate::key_value::{Batch, Column, Durability};
use crate::records::Store;

/// Key in [`Column::Meta`]: the id of the cluster, as text.
const ID_KEY: &[u8] = b"cluster-id";
/// Object in the bucket: the id of the cluster, as text.
const ID_OBJECT: &str = "cluster";

/// The id of the cluster in the database.
#[derive(Clone, Copy)]
enum ClusterId {
    /// The database had it already.
    Found(Ulid),
    /// This node created it.
    Created(Ulid),
}

/// Checks that database and bucket belong to the same cluster, and marks those of a new cluster with an id.
///
/// Several nodes may do so at the same time: the database accepts one id, and all of them store the same object. The
/// bucket is read last. A node that started before stored the object before it created a namespace, so namespaces
/// without the object show a wrong bucket.
pub(super) fn check_identity(store: &Store, bucket: &Bucket) -> Result<(), SetupError> {
    let id = find_or_create_id(store)?;
    let has_namespaces = has_namespaces(store)?;
    let marked = read_mark(bucket)?;
    match (id, marked) {
        (ClusterId::Found(database), None) if has_namespaces => return Err(SetupError::UnmarkedBucket { database }),
        // A database with namespaces and without an id was not used by nodes yet: its records were copied.
        (ClusterId::Found(database) | ClusterId::Created(database), None) => {
            bucket.put(ID_OBJECT, database.to_string().into_bytes())?;
        }
        (_, Some(_)) => {}
    }
    // Read again after it was stored: a node of another new cluster may have stored its own id.
    let marked = match marked {
        Some(marked) => Some(marked),
        None => read_mark(bucket)?,
    };
    let (ClusterId::Found(database) | ClusterId::Created(database)) = id;
    match marked {
        Some(bucket) if bucket == database => Ok(()),
        Some(bucket) if has_namespaces => Err(SetupError::OtherBucket { database, bucket }),
        Some(bucket) => Err(SetupError::BucketInUse { bucket }),
        None => Err(SetupError::UnmarkedBucket { database }),
    }
}

/// Returns the id of the cluster in the database. A new one is durable on return.
fn find_or_create_id(store: &Store) -> Result<ClusterId> {
    if let Some(id) = read_id(store)? {
        return Ok(ClusterId::Found(id));
    }
    let id = Ulid::generate();
    let mut batch = Batch::new();
    batch.put_if_absent(Column::Meta, ID_KEY, id.to_string());
    match store.kv.write(&batch, Durability::Synced) {
        Ok(()) => return Ok(ClusterId::Created(id)),
        // Another node was first.
        Err(Error::ConditionFailed { .. }) => {}
        Err(error) => return Err(error),
    }
    match read_id(store)? {
        Some(id) => Ok(ClusterId::Found(id)),
        None => Err(Error::corrupt("cluster id", "it was deleted from the database")),
    }
}

fn read_id(store: &Store) -> Result<Option<Ulid>> {
    match store.kv.get(Column::Meta, ID_KEY)? {
        Some(bytes) => Ok(Some(parse(&bytes, "cluster id in the database")?)),
        None => Ok(None),
    }
}

/// Returns the id of the cluster in the bucket. `None` if the bucket has none.
fn read_mark(bucket: &Bucket) -> Result<Option<Ulid>> {
    match bucket.get(ID_OBJECT)? {
        Some(bytes) => Ok(Some(parse(&bytes, "object \"cluster\" in the bucket")?)),
        None => Ok(None),
    }
}

/// Reads an id. A person may have stored the object, so a line feed may follow the id.
fn parse(bytes: &[u8], what: &str) -> Result<Ulid> {
    let text = String::from_utf8_lossy(bytes);
    match text.trim().parse() {
        Ok(id) => Ok(id),
        Err(_) => Err(Error::corrupt(what, "not a ULID")),
    }
}

fn has_namespaces(store: &Store) -> Result<bool> {
    let first = store.kv.scan(Column::LiveNamespaces, b"", None, 1)?;
    Ok(!first.is_empty())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::identity::{AccountId, NamespaceId, NamespaceName};
    use crate::key_value::MemoryEngine;
    use crate::records::NamespaceRecord;

    fn store() -> Store {
        Store::open_shared(Arc::new(MemoryEngine::new())).expect("opens")
    }

    fn bucket() -> Bucket {
        Bucket::in_memory().expect("creates")
    }

    fn create_namespace(store: &Store) {
        let id = NamespaceId::new(Ulid::from(1u128));
        let record = NamespaceRecord::new(&AccountId::default(), &NamespaceName::default(), id, 0);
        store.create_namespace(&record).expect("creates");
    }

    #[test]
    fn a_new_cluster_gets_an_id_that_stays() {
        let (store, bucket) = (store(), bucket());
        check_identity(&store, &bucket).expect("is new");
        let id = read_id(&store).expect("reads");
        assert!(id.is_some());
        assert_eq!(read_mark(&bucket).expect("reads"), id);
        create_namespace(&store);
        check_identity(&store, &bucket).expect("is the same");
        assert_eq!(read_id(&store).expect("reads"), id);
        assert_eq!(read_mark(&bucket).expect("reads"), id);
    }

    #[test]
    fn an_empty_database_does_not_take_the_bucket_of_another_cluster() {
        let (store, bucket, other) = (store(), bucket(), store());
        check_identity(&other, &bucket).expect("is new");
        let owner = read_mark(&bucket).expect("reads");
        for _ in 0..2 {
            let refused = check_identity(&store, &bucket);
            assert!(matches!(refused, Err(SetupError::BucketInUse { bucket }) if Some(bucket) == owner), "{refused:?}");
        }
        assert_eq!(read_mark(&bucket).expect("reads"), owner);
        let free = Bucket::in_memory().expect("creates");
        check_identity(&store, &free).expect("the refusal left a usable database");
    }

    #[test]
    fn a_database_is_not_used_with_the_bucket_of_another_cluster() {
        let (first, first_bucket) = (store(), bucket());
        let (second, second_bucket) = (store(), bucket());
        for (store, bucket) in [(&first, &first_bucket), (&second, &second_bucket)] {
            check_identity(store, bucket).expect("is new");
            create_namespace(store);
        }
        let refused = check_identity(&first, &second_bucket);
        assert!(matches!(refused, Err(SetupError::OtherBucket { .. })), "{refused:?}");
        let message = refused.expect_err("is refused").to_string();
        for id in [read_mark(&first_bucket), read_mark(&second_bucket)] {
            let id = id.expect("reads").expect("is marked");
            assert!(message.contains(&id.to_string()), "{message}");
        }
    }

    #[test]
    fn a_database_with_namespaces_needs_its_bucket() {
        let (store, own, empty) = (store(), bucket(), bucket());
        check_identity(&store, &own).expect("is new");
        check_identity(&store, &empty).expect("nothing is in the bucket yet");
        create_namespace(&store);
        let other = bucket();
        let refused = check_identity(&store, &other);
        assert!(matches!(refused, Err(SetupError::UnmarkedBucket { .. })), "{refused:?}");
        assert!(other.list("").expect("lists").is_empty());
    }

    #[test]
    fn a_database_with_copied_records_gets_an_id() {
        let (store, bucket) = (store(), bucket());
        create_namespace(&store);
        check_identity(&store, &bucket).expect("was not used by nodes yet");
        assert_eq!(read_mark(&bucket).expect("reads"), read_id(&store).expect("reads"));
    }

    #[test]
    fn an_id_may_end_with_a_line_feed_and_is_refused_otherwise() {
        let (store, bucket) = (store(), bucket());
        check_identity(&store, &bucket).expect("is new");
        let id = read_id(&store).expect("reads").expect("has an id");
        bucket.put(ID_OBJECT, format!("{id}\n").into_bytes()).expect("writes");
        check_identity(&store, &bucket).expect("is the id");
        bucket.put(ID_OBJECT, b"no id".to_vec()).expect("writes");
        let refused = check_identity(&store, &bucket).expect_err("is damaged").to_string();
        assert_eq!(refused, "corrupt object \"cluster\" in the bucket: not a ULID");
    }
}
