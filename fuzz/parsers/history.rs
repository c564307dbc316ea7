//! Bundles from outside, and the note of a pending write in a repository. They are accepted or refused, and the existing
//! history stays.

use std::path::Path;
use std::sync::LazyLock;

use cuebase_storage::git::{CommitId, CommitMessage, Edit, Repository};

struct SourceHistory {
    folder: tempfile::TempDir,
    head: CommitId,
    bundle: Vec<u8>,
}

/// Creates a repository with two commits at a path. Returns the repository, the first commit and the head.
pub(super) fn create_short(path: &Path) -> (Repository, CommitId, CommitId) {
    let repository = Repository::open_or_create(path).expect("creates");
    let mut writer = repository.writer().expect("writes");
    let edit = |path: &str, content: &str| Edit { path: path.into(), content: Some(content.into()) };
    let message =
        CommitMessage { subject: "Keep".into(), body: String::new(), trailers: Vec::new(), at_seconds: 1_700_000_000 };
    let first =
        writer.commit(&[edit("facts/a/one.md", "one"), edit("rules/two.md", "two")], &message).expect("commits");
    let head = writer.commit(&[edit("facts/a/one.md", "one, later")], &message).expect("commits");
    (repository, first, head)
}

static SOURCE: LazyLock<SourceHistory> = LazyLock::new(|| {
    let folder = super::scratch();
    let (repository, _, head) = create_short(&folder.path().join("source.git"));
    let mut bundle = Vec::new();
    repository.write_bundle(head, &mut bundle, |_, _| {}).expect("writes");
    SourceHistory { folder, head, bundle }
});

pub(super) fn enter(bytes: &[u8]) {
    let original = &*SOURCE;
    let folder = super::scratch();
    let (file, target) = (folder.path().join("a.bundle"), folder.path().join("target.git"));
    std::fs::write(&file, bytes).expect("writes");
    let repository = Repository::open_or_create(&target).expect("creates");
    if let Ok(head) = repository.unbundle(&file)
        && let Ok(inspected) = repository.inspect(head, |_| {})
        && inspected.problems.is_empty()
    {
        // Object ids are hashes of everything below them, so intact objects can be read completely.
        repository.changes(None, head).expect("reads");
    }
    // The same bytes as a note left by a crash. They name no pack of the history, so the history stays.
    let source = Repository::open_or_create(&original.folder.path().join("source.git")).expect("opens");
    std::fs::write(source.path().join("cuebase-pending"), bytes).expect("writes");
    let _ = source.writer();
    let _ = std::fs::remove_file(source.path().join("cuebase-pending"));
    assert_eq!(source.changes(None, original.head).expect("reads").len(), 2);
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let original = &*SOURCE;
    let head = original.head.to_string();
    let note = |parent: &str| format!("pack-{head} {head} {parent}").into_bytes();
    vec![original.bundle.clone(), note("none"), note(&head)]
}
