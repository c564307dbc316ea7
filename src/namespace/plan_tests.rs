//! Plans read files without opening the repository for each of them, and those of documents can be interrupted.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use cuebase_language::text::steps::{Interrupted, Steps};
use cuebase_storage::memory_file::{FrontMatter, MemoryFile};
use cuebase_storage::records::{DocumentDraft, NamespaceRecord, PassageDraft};
use cuebase_storage::{AccountId, NamespaceId, NamespaceName, Store};
use ulid::Ulid;

use super::open::Namespace;
use super::plan::{Plan, PlannedFile};
use super::repository_home::RepositoryHome;
use super::snapshot_tests::context;
use crate::error::{Error, Result};
use crate::ingest::documents;

const PATHS: [&str; 3] = ["facts/a.md", "facts/b.md", "facts/c.md"];

/// Opens a new namespace with its repository in `n.git`.
fn open(folder: &Path) -> Namespace {
    let store = Arc::new(Store::in_memory().expect("opens"));
    let id = NamespaceId::new(Ulid::from(1u128));
    let wanted = NamespaceRecord::new(&AccountId::default(), &NamespaceName::default(), id, 0);
    let record = store.create_namespace(&wanted).expect("creates").0;
    let context = context(&store, RepositoryHome::Disk);
    Namespace::open(record, &folder.join("n.git"), &folder.join("index"), context).expect("opens")
}

fn is_stopped<T>(result: Result<T>) -> bool {
    match result {
        Err(Error::Internal(message)) => message == Interrupted::Stopped.to_string(),
        _ => false,
    }
}

#[test]
fn a_plan_opens_the_repository_once_for_all_its_reads() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let namespace = open(folder.path());
    let now = namespace.context.clock.now();
    let written = namespace.write(None, now, |_| {
        let mut files = Vec::new();
        for path in PATHS {
            let file = MemoryFile { front: FrontMatter::default(), body: format!("# {path}\n") };
            files.push(PlannedFile::memory(path.to_owned(), file));
        }
        Ok(Plan::new("write".to_owned(), files))
    });
    assert!(written.expect("writes").is_some());

    // A repository without this file cannot be opened.
    let head = folder.path().join("n.git/HEAD");
    let hidden = folder.path().join("n.git/HEAD.hidden");
    let read = namespace.write(None, now, |context| {
        let mut found = vec![context.memory(PATHS[0])];
        fs::rename(&head, &hidden).expect("renames");
        for path in &PATHS[1..] {
            found.push(context.memory(path));
        }
        fs::rename(&hidden, &head).expect("renames");
        for (path, memory) in PATHS.iter().zip(found) {
            assert!(memory?.expect("a memory").body.contains(path));
        }
        Ok(Plan::empty())
    });
    assert_eq!(read.expect("reads"), None);
}

#[test]
fn a_stop_interrupts_the_plans_of_documents() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let namespace = open(folder.path());
    let now = namespace.context.clock.now();
    let draft = DocumentDraft {
        id: "guide".parse().expect("an id"),
        name: "guide.md".into(),
        tags: Vec::new(),
        metadata: Default::default(),
        occurred: None,
        passages: vec![PassageDraft { text: "Ask Iris for the keys.".into(), ..PassageDraft::default() }],
    };
    let is_stopping = || true;
    let stored = namespace
        .write(None, now, |context| documents::store(context, &draft, now, &Steps::unlimited().or_when(&is_stopping)));
    assert!(is_stopped(stored));
    let stored = namespace.write(None, now, |context| documents::store(context, &draft, now, &Steps::unlimited()));
    assert!(stored.expect("stores").is_some());
    let removed = namespace
        .write(None, now, |context| documents::forget(context, &draft.id, &Steps::unlimited().or_when(&is_stopping)));
    assert!(is_stopped(removed));
    let removed = namespace.write(None, now, |context| documents::forget(context, &draft.id, &Steps::unlimited()));
    assert!(removed.expect("removes").is_some());
}
