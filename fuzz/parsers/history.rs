//! A bundle from outside, and the notes that a repository keeps for itself: taken apart or refused, and what is there
//! already stays.

use std::path::Path;
use std::sync::LazyLock;

use cuebase_storage::git::{CommitId, CommitMessage, Edit, Repository};

struct Made {
    folder: tempfile::TempDir,
    head: CommitId,
    bundle: Vec<u8>,
}

/// A repository of two commits at a path.
pub(super) fn short(path: &Path) -> (Repository, CommitId, CommitId) {
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

static MADE: LazyLock<Made> = LazyLock::new(|| {
    let folder = super::scratch();
    let (repository, _, head) = short(&folder.path().join("source.git"));
    let mut bundle = Vec::new();
    repository.write_bundle(head, &mut bundle, |_, _| {}).expect("writes");
    Made { folder, head, bundle }
});

pub(super) fn enter(bytes: &[u8]) {
    let made = &*MADE;
    let folder = super::scratch();
    let (file, target) = (folder.path().join("a.bundle"), folder.path().join("target.git"));
    std::fs::write(&file, bytes).expect("writes");
    let repository = Repository::open_or_create(&target).expect("creates");
    if let Ok(head) = repository.unbundle(&file)
        && let Ok(inspected) = repository.inspect(head, |_| {})
        && inspected.wrong.is_empty()
    {
        // An id is the hash of all that is below it: what is sound here can be read to its end.
        repository.changes(None, head).expect("reads");
    }
    // The same bytes as a note that a crash left: they name no pack of the history, so nothing of it goes.
    let source = Repository::open_or_create(&made.folder.path().join("source.git")).expect("opens");
    std::fs::write(source.path().join("cuebase-pending"), bytes).expect("writes");
    let _ = source.writer();
    let _ = std::fs::remove_file(source.path().join("cuebase-pending"));
    assert_eq!(source.changes(None, made.head).expect("reads").len(), 2);
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let made = &*MADE;
    let head = made.head.to_string();
    let note = |parent: &str| format!("pack-{head} {head} {parent}").into_bytes();
    vec![made.bundle.clone(), note("none"), note(&head)]
}
