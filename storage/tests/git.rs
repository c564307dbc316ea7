//! Repositories checked with git's own commands, the reference for what a repository is.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use cuebase_storage::git::{CommitMessage, Edit, Repository, Writer};

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

fn message(subject: &str, at_seconds: i64) -> CommitMessage {
    CommitMessage {
        subject: subject.into(),
        body: String::new(),
        trailers: vec![("Cuebase-Message".into(), "01X".into())],
        at_seconds,
    }
}

fn fresh(folder: &Path) -> (Repository, Writer) {
    let repository = Repository::open_or_create(&folder.join("n.git")).expect("creates");
    let writer = repository.writer().expect("writes");
    (repository, writer)
}

#[test]
fn commits_are_what_git_expects() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    assert_eq!(repository.head().expect("reads"), None);
    // `a-b` sorts before `a/` and after `a` as a file would: the order that fsck checks.
    let first =
        [put("facts/a/x.md", "one"), put("facts/a-b.md", "two"), put("facts/a0.md", "three"), put("rules/é.md", "")];
    let one = writer.commit(&first, &message("first", 1_700_000_000)).expect("commits");
    let two =
        writer.commit(&[put("facts/a/x.md", "changed"), remove("facts/a0.md")], &message("second", 1_700_000_100));
    let two = two.expect("commits");

    assert_eq!(git(repository.path(), &["fsck", "--strict", "--full"]), "");
    assert_eq!(git(repository.path(), &["log", "--format=%H %s %ct"]).lines().count(), 2);
    assert_eq!(git(repository.path(), &["rev-parse", "HEAD"]).trim(), two.to_string());
    assert_eq!(git(repository.path(), &["show", "HEAD:facts/a/x.md"]), "changed");
    let listed = git(repository.path(), &["-c", "core.quotepath=off", "ls-tree", "-r", "--name-only", "HEAD"]);
    assert_eq!(listed.lines().collect::<Vec<_>>(), ["facts/a-b.md", "facts/a/x.md", "rules/é.md"]);

    assert_eq!(repository.read(one, "facts/a/x.md").expect("reads"), Some(b"one".to_vec()));
    assert_eq!(repository.read(two, "facts/a0.md").expect("reads"), None);
    let changed = repository.changes(Some(one), two).expect("compares");
    assert_eq!(
        changed.iter().map(|c| (c.path.as_str(), c.content.is_some())).collect::<Vec<_>>(),
        [("facts/a/x.md", true), ("facts/a0.md", false)]
    );
    assert_eq!(repository.changes(None, two).expect("compares").len(), 3);
    let log = repository.log(two, None, 10).expect("reads");
    assert_eq!(
        log.iter().map(|c| (c.at_seconds, c.trailer("Cuebase-Message"))).collect::<Vec<_>>(),
        [(1_700_000_100, Some("01X")), (1_700_000_000, Some("01X"))]
    );
    assert_eq!(repository.log(two, Some(one), 10).expect("reads").len(), 1);
    let histories = repository.histories(two, &["facts/a/x.md", "facts/a-b.md", "none.md"], 10).expect("reads");
    assert_eq!(histories.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1, 0]);
}

#[test]
fn many_commits_end_in_few_packs_and_lose_nothing() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    let mut expected = BTreeMap::new();
    for n in 0..200u32 {
        let path = format!("facts/t{}/m{}.md", n % 7, n % 90);
        let content = format!("version {n}\n");
        writer.commit(&[put(&path, &content)], &message("write", i64::from(n))).expect("commits");
        expected.insert(path, content);
        repository.consolidate().expect("consolidates");
    }
    assert_eq!(git(repository.path(), &["fsck", "--strict", "--full"]), "", "while replaced packs are still there");
    // As if some seconds, then a minute, had gone by since they were replaced.
    for (seconds, replaced_max) in [(0, usize::MAX), (10, 128), (60, 0)] {
        let file = repository.path().join("cuebase-replaced");
        let replaced = std::fs::read_to_string(&file).expect("some were replaced");
        let earlier = replaced.lines().map(|line| {
            let (name, at) = line.split_once(' ').expect("a name and a time");
            format!("{name} {}\n", at.parse::<u64>().expect("seconds") - seconds)
        });
        std::fs::write(&file, earlier.collect::<String>()).expect("writes");
        repository.consolidate().expect("consolidates");
        let replaced = std::fs::read_to_string(&file).expect("is there").lines().count();
        let listed = std::fs::read_dir(repository.path().join("objects/pack")).expect("lists");
        let packs = listed.flatten().filter(|entry| entry.path().extension().is_some_and(|e| e == "pack")).count();
        assert!(packs - replaced <= 40 && replaced <= replaced_max, "{packs} packs, {replaced} of them replaced");
    }
    assert_eq!(git(repository.path(), &["fsck", "--strict", "--full"]), "", "once they are gone");
    assert_eq!(git(repository.path(), &["rev-list", "--count", "HEAD"]).trim(), "200");
    let head = repository.head().expect("reads").expect("has a head");
    let found: BTreeMap<_, _> = repository
        .changes(None, head)
        .expect("reads")
        .into_iter()
        .map(|c| (c.path, String::from_utf8(c.content.expect("content")).expect("text")))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn what_was_replaced_just_now_stays_however_much_there_is_of_it() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, _writer) = fresh(folder.path());
    let file = repository.path().join("cuebase-replaced");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs();
    // Ahead of the clock, so that it is just now however slow this machine is.
    for (replaced_at, kept) in [(now + 3600, 200), (now - 10, 128), (now - 61, 0)] {
        let lines = (0..200).map(|n| format!("pack-{n:040x} {replaced_at}\n"));
        std::fs::write(&file, lines.collect::<String>()).expect("writes");
        repository.remove_replaced().expect("removes");
        assert_eq!(std::fs::read_to_string(&file).expect("is there").lines().count(), kept);
    }
}

#[test]
fn a_writer_opened_later_keeps_what_is_there() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    writer.commit(&[put("facts/a/x.md", "one"), put("facts/b.md", "two")], &message("first", 1)).expect("commits");
    let mut later = repository.writer().expect("opens");
    assert!(later.contains("facts/a/x.md").expect("reads"));
    let mut latest = repository.writer().expect("opens");
    latest.commit(&[put("facts/a/y.md", "three")], &message("second", 2)).expect("commits");
    let listed = git(repository.path(), &["ls-tree", "-r", "--name-only", "HEAD"]);
    assert_eq!(listed.lines().collect::<Vec<_>>(), ["facts/a/x.md", "facts/a/y.md", "facts/b.md"]);
}

#[test]
fn a_push_by_somebody_else_is_built_upon_not_overwritten() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    writer.commit(&[put("facts/a.md", "ours")], &message("ours", 1)).expect("commits");
    let clone = folder.path().join("clone");
    git(folder.path(), &["clone", "-q", "n.git", "clone"]);
    std::fs::write(clone.join("facts/b.md"), "theirs").expect("writes");
    git(&clone, &["add", "."]);
    git(&clone, &["-c", "user.name=P", "-c", "user.email=p@example.org", "commit", "-qm", "theirs"]);
    git(&clone, &["push", "-q"]);

    assert!(writer.commit(&[put("facts/c.md", "late")], &message("late", 2)).is_err());
    writer.commit(&[put("facts/c.md", "late")], &message("late", 2)).expect("commits on top");
    let listed = git(repository.path(), &["ls-tree", "-r", "--name-only", "HEAD"]);
    assert_eq!(listed.lines().collect::<Vec<_>>(), ["facts/a.md", "facts/b.md", "facts/c.md"]);
    assert_eq!(git(repository.path(), &["rev-list", "--count", "HEAD"]).trim(), "3");
    assert_eq!(git(repository.path(), &["fsck", "--strict", "--full"]), "");
}

#[test]
fn a_lock_that_a_crash_left_is_taken_away_whatever_the_clock_said() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    writer.commit(&[put("facts/a.md", "one")], &message("first", 1)).expect("commits");
    let lock = repository.path().join("refs/heads/main.lock");
    let hour = std::time::Duration::from_secs(3600);
    for made_at in [std::time::SystemTime::now() - hour, std::time::SystemTime::now() + hour] {
        let file = std::fs::File::create(&lock).expect("creates");
        file.set_modified(made_at).expect("sets its time");
        // Found on the first try, which reads the branch again.
        assert!(writer.commit(&[put("facts/b.md", "two")], &message("second", 2)).is_err());
        writer.commit(&[put("facts/b.md", "two")], &message("second", 2)).expect("commits");
    }
    // A push that is going on holds its own.
    std::fs::File::create(&lock).expect("creates");
    assert!(writer.commit(&[put("facts/c.md", "three")], &message("third", 3)).is_err());
    assert!(writer.commit(&[put("facts/c.md", "three")], &message("third", 3)).is_err());
    assert!(lock.exists());
}
