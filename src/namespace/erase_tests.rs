//! Reads during an erasure, which removes the history that they began with.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use cuebase_storage::memory_file::{FrontMatter, MemoryFile};
use cuebase_storage::records::NamespaceRecord;
use cuebase_storage::{AccountId, NamespaceId, NamespaceName, Store};
use ulid::Ulid;

use super::open::Namespace;
use super::plan::{Plan, PlannedFile};
use super::repository_home::RepositoryHome;
use super::snapshot_tests::{context, queue_erasure};

const KEPT: &str = "facts/kept.md";
const ERASED: &str = "facts/erased.md";

/// Opens a new namespace with two memories.
fn open(store: &Arc<Store>, folder: &Path) -> (Namespace, NamespaceRecord) {
    let id = NamespaceId::new(Ulid::from(1u128));
    let wanted = NamespaceRecord::new(&AccountId::default(), &NamespaceName::default(), id, 0);
    let record = store.create_namespace(&wanted).expect("creates").0;
    let context = context(store, RepositoryHome::Disk);
    let opened = Namespace::open(record.clone(), &folder.join("n.git"), &folder.join("index"), context);
    let namespace = opened.expect("opens");
    for path in [ERASED, KEPT] {
        let written = namespace.write(None, namespace.context.clock.now(), |_| {
            let file = MemoryFile { front: FrontMatter::default(), body: format!("# {path}\n") };
            Ok(Plan::new("write".to_owned(), vec![PlannedFile::memory(path.to_owned(), file)]))
        });
        assert!(written.expect("writes").is_some());
    }
    (namespace, record)
}

#[test]
fn a_read_that_began_before_an_erasure_finds_what_stays() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let store = Arc::new(Store::in_memory().expect("opens"));
    let (namespace, record) = open(&store, folder.path());
    for (path, stays) in [(KEPT, true), (ERASED, false)] {
        let reads = Cell::new(0);
        let content = namespace.read_at_head(|repository, head| {
            reads.set(reads.get() + 1);
            if path == KEPT && reads.get() == 1 {
                let (entry, selection) = queue_erasure(&store, &record, ERASED);
                namespace.erase(&entry, &selection, namespace.context.clock.now())?;
                namespace.remove_erased()?;
            }
            Ok(repository.read(head, path)?)
        });
        assert_eq!(content.expect("reads").is_some(), stays, "{path}");
        assert_eq!(reads.get(), if path == KEPT { 2 } else { 1 });
    }
}
