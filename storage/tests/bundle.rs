//! Arbitrary bundles are either imported and validated or rejected; none is trusted and none causes a panic.

use std::path::Path;

use cuebase_storage::git::{CommitId, CommitMessage, Edit, Repository, is_bundle};
use proptest::prelude::*;

fn message(subject: &str) -> CommitMessage {
    CommitMessage { subject: subject.into(), body: String::new(), trailers: Vec::new(), at_seconds: 1_700_000_000 }
}

/// Returns a repository with two commits, its head, and the bytes of its bundle.
fn bundled(folder: &Path) -> (Repository, CommitId, Vec<u8>) {
    let repository = Repository::open_or_create(&folder.join("source.git")).expect("creates");
    let mut writer = repository.writer().expect("writes");
    let edit = |path: &str, content: &str| Edit { path: path.into(), content: Some(content.into()) };
    writer.commit(&[edit("facts/a/one.md", "one"), edit("rules/two.md", "two")], &message("first")).expect("commits");
    let head = writer.commit(&[edit("facts/a/one.md", "one, later")], &message("second")).expect("commits");
    let mut bytes = Vec::new();
    repository.write_bundle(head, &mut bytes, |_, _| {}).expect("writes");
    (repository, head, bytes)
}

/// Imports a bundle into an empty repository. Returns its head if every object that the head reaches is intact.
fn imported_head(folder: &Path, bytes: &[u8]) -> Option<CommitId> {
    let (file, target) = (folder.join("a.bundle"), folder.join("target.git"));
    std::fs::write(&file, bytes).expect("writes");
    let _ = std::fs::remove_dir_all(&target);
    let repository = Repository::open_or_create(&target).expect("creates");
    let head = repository.unbundle(&file).ok()?;
    let inspected = repository.inspect(head, |_| {}).ok()?;
    inspected.problems.is_empty().then_some(head)
}

#[test]
fn a_bundle_holds_the_whole_history() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (source, head, bytes) = bundled(folder.path());
    assert_eq!(imported_head(folder.path(), &bytes), Some(head));
    assert!(is_bundle(&folder.path().join("a.bundle")));
    let copy = Repository::open_or_create(&folder.path().join("target.git")).expect("opens");
    let copied = copy.changes(None, head).expect("reads");
    assert_eq!(copied.len(), 2);
    assert_eq!(copied, source.changes(None, head).expect("reads"));
    assert_eq!(copy.log(head, None, 9).expect("reads").len(), 2);
}

#[test]
fn a_bundle_stores_versions_of_a_large_directory_as_deltas() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let repository = Repository::open_or_create(&folder.path().join("source.git")).expect("creates");
    let mut writer = repository.writer().expect("writes");
    let edit =
        |n: usize, text: &str| Edit { path: format!("facts/flat/m{n:05}.md"), content: Some(text.as_bytes().to_vec()) };
    let all: Vec<Edit> = (0..2000).map(|n| edit(n, "first")).collect();
    let mut head = writer.commit(&all, &message("all")).expect("commits");
    for n in 0..60 {
        head = writer.commit(&[edit(n * 31, &format!("version {n}"))], &message("one")).expect("commits");
    }
    let mut bytes = Vec::new();
    repository.write_bundle(head, &mut bytes, |_, _| {}).expect("writes");
    // Each of the 61 versions takes about 50 KB when it is whole.
    assert!(bytes.len() < 400 << 10, "{} bytes", bytes.len());
    assert_eq!(imported_head(folder.path(), &bytes), Some(head));
    let clone = std::process::Command::new("git")
        .arg("-C")
        .arg(folder.path())
        .args(["clone", "-q", "-b", "main", "a.bundle", "clone"])
        .output()
        .expect("git is installed");
    assert!(clone.status.success(), "{}", String::from_utf8_lossy(&clone.stderr));
    let fsck = std::process::Command::new("git")
        .arg("-C")
        .arg(folder.path().join("clone"))
        .args(["fsck", "--strict", "--full"])
        .output()
        .expect("git is installed");
    assert!(fsck.status.success(), "{}", String::from_utf8_lossy(&fsck.stderr));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_changed_bundle_is_rejected_or_gives_the_same_history(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let folder = tempfile::tempdir().expect("temporary directory");
        let (_, head, mut bytes) = bundled(folder.path());
        for (at, value) in &changes {
            let at = at.index(bytes.len());
            bytes[at] = *value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        // An id is the hash of everything it reaches, so random changes cannot produce another intact history.
        if let Some(found) = imported_head(folder.path(), &bytes) {
            let parent = Repository::open_or_create(&folder.path().join("source.git")).expect("opens");
            prop_assert!(parent.is_ancestor(found, head).expect("reads"));
        }
    }

    #[test]
    fn arbitrary_bytes_are_rejected(header in "# v2 git bundle\n(\\PC{0,60}\n){0,3}\n?", rest in prop::collection::vec(any::<u8>(), 0..200)) {
        let folder = tempfile::tempdir().expect("temporary directory");
        prop_assert_eq!(imported_head(folder.path(), &[header.as_bytes(), &rest].concat()), None);
    }
}
