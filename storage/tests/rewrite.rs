//! Histories that are rewritten without some files are checked with git's own commands.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use cuebase_storage::git::{CommitId, CommitMessage, Edit, FileVersion, Repository, Writer};
use cuebase_storage::memory_file::ErasedPaths;

fn git(repository: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").arg("-C").arg(repository).args(arguments).output().expect("git is installed");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {arguments:?}: {error}");
    assert!(!error.contains("error") && !error.contains("warning"), "git {arguments:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn put(path: &str, content: &str) -> Edit {
    Edit { path: path.into(), content: Some(content.into()) }
}

fn remove(path: &str) -> Edit {
    Edit { path: path.into(), content: None }
}

fn commit(writer: &mut Writer, subject: &str, edits: &[Edit]) -> CommitId {
    let message = CommitMessage {
        subject: subject.into(),
        body: String::new(),
        trailers: vec![("Cuebase-Message".into(), format!("01{}", subject.len()))],
        at_seconds: 1_700_000_000,
    };
    writer.commit(edits, &message).expect("commits")
}

fn fresh(folder: &Path) -> (Repository, Writer) {
    let repository = Repository::open_or_create(&folder.join("n.git")).expect("creates");
    let writer = repository.writer().expect("writes");
    (repository, writer)
}

fn erased(paths: &[&str]) -> ErasedPaths {
    let paths: BTreeSet<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    ErasedPaths::new(&paths)
}

/// Returns the text of all objects of a repository.
fn objects(repository: &Path) -> String {
    git(repository, &["cat-file", "--batch-all-objects", "--unordered", "--batch"])
}

#[test]
fn an_erased_file_is_in_no_object_and_earlier_commits_keep_their_ids() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    let first = commit(&mut writer, "Write facts/a.md", &[put("facts/a.md", "# A\n")]);
    let related = "---\nrelations:\n- path: facts/quince.md\n  kind: shares\n  snippet: quince\n---\n\n# B\n";
    commit(&mut writer, "Write facts/quince.md", &[put("facts/quince.md", "# quince\n"), put("facts/b.md", related)]);
    commit(&mut writer, "Forget facts/quince.md", &[remove("facts/quince.md")]);
    let last = commit(&mut writer, "Write rules/c.md", &[put("rules/c.md", "# C\n")]);
    assert!(objects(repository.path()).contains("quince"));

    let rewritten = repository.rewrite_without(last, &erased(&["facts/quince.md"])).expect("rewrites");
    assert_eq!(rewritten.commits.len(), 3);
    assert!(rewritten.commits.iter().all(|(former, new)| *former != first && former != new));
    assert_eq!(repository.head().expect("reads"), Some(last), "the branch has not moved yet");
    writer.replace_history(rewritten.head).expect("moves");
    assert_eq!(writer.head(), Some(rewritten.head));
    for _ in 0..2 {
        repository.remove_former_files(&rewritten.former_files).expect("removes");
    }
    assert!(!objects(repository.path()).contains("quince"));
    assert_eq!(git(repository.path(), &["fsck", "--strict", "--full"]), "");
    let subjects = git(repository.path(), &["log", "--reverse", "--format=%s"]);
    assert_eq!(subjects, "Write facts/a.md\nWrite [erased]\nForget [erased]\nWrite rules/c.md\n");
    assert_eq!(git(repository.path(), &["rev-list", "--max-parents=0", "HEAD"]).trim(), first.to_string());
    let trailers = git(repository.path(), &["log", "--format=%(trailers:key=Cuebase-Message,valueonly)"]);
    assert_eq!(trailers.lines().filter(|line| !line.is_empty()).count(), 4);
    assert_eq!(
        git(repository.path(), &["ls-tree", "-r", "--name-only", "HEAD"]),
        "facts/a.md\nfacts/b.md\nrules/c.md\n"
    );
    commit(&mut writer, "Write facts/d.md", &[put("facts/d.md", "# D\n")]);
    assert_eq!(git(repository.path(), &["fsck", "--strict", "--full"]), "");
}

#[test]
fn a_large_history_is_rewritten_in_little_space() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    let names: Vec<Edit> = (0..400).map(|number| put(&format!("facts/m{number:04}.md"), "# M\n")).collect();
    commit(&mut writer, "Import", &names);
    commit(&mut writer, "Write", &[put("facts/quince.md", "# quince\n")]);
    for number in 0..60 {
        let path = format!("facts/m{:04}.md", number * 5);
        commit(&mut writer, "Rewrite", &[put(&path, &format!("# M {number}\n"))]);
        if number % 20 == 0 {
            repository.consolidate().expect("joins packs");
        }
    }
    let head = writer.head().expect("a commit");
    let rewritten = repository.rewrite_without(head, &erased(&["facts/quince.md"])).expect("rewrites");
    writer.replace_history(rewritten.head).expect("moves");
    repository.remove_former_files(&rewritten.former_files).expect("removes");
    assert!(!objects(repository.path()).contains("quince"));
    assert_eq!(git(repository.path(), &["fsck", "--strict", "--full"]), "");
    assert_eq!(git(repository.path(), &["rev-list", "--count", "HEAD"]).trim(), "62");
    let mut bytes = 0;
    for file in std::fs::read_dir(repository.path().join("objects/pack")).expect("lists") {
        bytes += file.expect("a file").metadata().expect("reads").len();
    }
    // A tree of 400 entries is 15 KiB, half of which cannot be compressed.
    assert!(bytes < 200 << 10, "{bytes}");
}

#[test]
fn nothing_changes_without_an_erased_file() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    commit(&mut writer, "Write facts/a.md", &[put("facts/a.md", "# A\n")]);
    let head = commit(&mut writer, "Empty", &[remove("facts/a.md")]);
    let rewritten = repository.rewrite_without(head, &erased(&["facts/b.md"])).expect("rewrites");
    assert_eq!((rewritten.head, rewritten.commits.len()), (head, 0));
    repository.remove_former_files(&rewritten.former_files).expect("removes");
    assert_eq!(git(repository.path(), &["fsck", "--strict", "--full"]), "");
}

#[test]
fn every_version_of_a_memory_is_read_once() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    commit(&mut writer, "One", &[put("facts/a.md", "one"), put("facts/b.md", "one"), put("vocab/t.md", "term")]);
    commit(&mut writer, "Two", &[put("facts/a.md", "two")]);
    let head = commit(&mut writer, "Three", &[remove("facts/a.md")]);
    let mut versions = Vec::new();
    for version in repository.file_versions(head).expect("reads") {
        let FileVersion { path, content } = version.expect("reads");
        versions.push((path, String::from_utf8(content).expect("text")));
    }
    versions.sort();
    let expected = [("facts/a.md", "one"), ("facts/a.md", "two"), ("facts/b.md", "one")];
    assert_eq!(versions, expected.map(|(path, content)| (path.to_owned(), content.to_owned())));
}

#[test]
fn a_former_file_outside_of_the_history_is_refused() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, _writer) = fresh(folder.path());
    for file in ["config", "objects/../config", "HEAD"] {
        assert!(repository.remove_former_files(&[file.to_owned()]).is_err(), "{file}");
    }
    assert!(repository.path().join("config").exists());
}
