//! Repositories are checked with git's own commands, which define what a valid repository is.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use cuebase_storage::Error;
use cuebase_storage::error::NameKind;
use cuebase_storage::git::{CommitMessage, Edit, HistoryBudget, PathChangeKind, Repository, Writer};

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
fn git_reads_the_same_commits() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    assert_eq!(repository.head().expect("reads"), None);
    // `a-b` sorts before `a/`, but after a file named `a`. fsck checks this order.
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
    let paths = ["facts/a/x.md", "facts/a-b.md", "none.md"];
    let histories = repository.histories(two, &paths, 10, HistoryBudget::default()).expect("reads");
    assert_eq!(histories.revisions.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1, 0]);
    assert!(histories.complete);
    assert_eq!(repository.changed_paths(two).expect("compares"), ["facts/a/x.md", "facts/a0.md"]);
    let kinds = |commit| {
        let changes = repository.path_changes(commit).expect("compares");
        changes.into_iter().map(|change| change.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(two), [PathChangeKind::Modified, PathChangeKind::Removed]);
    assert_eq!(kinds(one), [PathChangeKind::Added; 4]);
    assert_eq!(
        repository.changed_paths(one).expect("compares"),
        ["facts/a-b.md", "facts/a/x.md", "facts/a0.md", "rules/é.md"]
    );
    assert_eq!(repository.commit_info(one).expect("reads").map(|info| info.at_seconds), Some(1_700_000_000));
    let unknown = "1".repeat(40).parse().expect("an id");
    assert_eq!(repository.commit_info(unknown).expect("reads"), None);
    assert_eq!(repository.read(unknown, "facts/a/x.md").expect("reads"), None);
}

#[test]
fn a_writer_knows_the_content_that_it_wrote_last() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    let path = "facts/a.md";
    for content in ["one", "two"] {
        writer.commit(&[put(path, content)], &message("write", 1)).expect("commits");
        assert_eq!(writer.recent_file(path).expect("reads"), Some(content.as_bytes()));
    }
    assert_eq!(writer.recent_file("facts/other.md").expect("reads"), None);
    assert_eq!(repository.writer().expect("opens").recent_file(path).expect("reads"), None);
    writer.commit(&[remove(path)], &message("remove", 2)).expect("commits");
    assert_eq!(writer.recent_file(path).expect("reads"), None);
}

#[test]
fn joining_packs_keeps_their_number_small_and_loses_nothing() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    let mut expected = BTreeMap::new();
    for n in 0..200u32 {
        let path = format!("facts/t{}/m{}.md", n % 7, n % 90);
        let content = format!("version {n}\n");
        writer.commit(&[put(&path, &content)], &message("write", i64::from(n))).expect("commits");
        expected.insert(path, content);
        writer.consolidate().expect("consolidates");
    }
    assert_eq!(git(repository.path(), &["fsck", "--strict", "--full"]), "", "before replaced packs are removed");
    // Sets the times of replacement back by a few seconds, then by a minute.
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
    assert_eq!(git(repository.path(), &["fsck", "--strict", "--full"]), "", "after they are removed");
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
fn recently_replaced_packs_are_kept_regardless_of_their_number() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, _writer) = fresh(folder.path());
    let file = repository.path().join("cuebase-replaced");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs();
    // The first time is in the future, so that it stays recent on a slow machine.
    for (replaced_at, kept) in [(now + 3600, 200), (now - 10, 128), (now - 61, 0)] {
        let lines = (0..200).map(|n| format!("pack-{n:040x} {replaced_at}\n"));
        std::fs::write(&file, lines.collect::<String>()).expect("writes");
        repository.remove_replaced_packs().expect("removes");
        assert_eq!(std::fs::read_to_string(&file).expect("is there").lines().count(), kept);
    }
}

#[test]
fn a_writer_opened_later_keeps_existing_files() {
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
fn a_commit_after_a_push_builds_on_it() {
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
fn a_lock_left_by_a_crash_is_removed_at_any_clock() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    writer.commit(&[put("facts/a.md", "one")], &message("first", 1)).expect("commits");
    let lock = repository.path().join("refs/heads/main.lock");
    let hour = std::time::Duration::from_secs(3600);
    for made_at in [std::time::SystemTime::now() - hour, std::time::SystemTime::now() + hour] {
        let file = std::fs::File::create(&lock).expect("creates");
        file.set_modified(made_at).expect("sets its time");
        // The first commit fails, and then reloads the branch and removes the lock.
        assert!(writer.commit(&[put("facts/b.md", "two")], &message("second", 2)).is_err());
        writer.commit(&[put("facts/b.md", "two")], &message("second", 2)).expect("commits");
    }
    // A push in progress holds a recent lock.
    std::fs::File::create(&lock).expect("creates");
    assert!(writer.commit(&[put("facts/c.md", "three")], &message("third", 3)).is_err());
    assert!(writer.commit(&[put("facts/c.md", "three")], &message("third", 3)).is_err());
    assert!(lock.exists());
}

/// Sets the times of replacement back by more than a minute, and consolidates, which removes the replaced packs.
fn age_replaced(repository: &Repository) {
    let file = repository.path().join("cuebase-replaced");
    let replaced = std::fs::read_to_string(&file).unwrap_or_default();
    let earlier = replaced.lines().map(|line| {
        let (name, at) = line.split_once(' ').expect("a name and a time");
        format!("{name} {}\n", at.parse::<u64>().expect("seconds") - 70)
    });
    std::fs::write(&file, earlier.collect::<String>()).expect("writes");
    repository.consolidate().expect("consolidates");
}

/// Lists the files with an extension in the repository's folder of packs.
fn pack_files(repository: &Repository, extension: &str) -> Vec<std::path::PathBuf> {
    let listed = std::fs::read_dir(repository.path().join("objects/pack")).expect("lists");
    let paths = listed.flatten().map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|e| e == extension)).collect()
}

/// Returns the length of the longest chain of deltas in a repository's packs, as git counts it.
fn longest_chain(repository: &Repository) -> u32 {
    let mut longest = 0;
    for index in pack_files(repository, "idx") {
        let report = git(repository.path(), &["verify-pack", "-v", index.to_str().expect("a path")]);
        for line in report.lines() {
            let length = line.strip_prefix("chain length = ").and_then(|rest| rest.split_once(':'));
            longest = longest.max(length.map_or(0, |(length, _)| length.parse().expect("a number")));
        }
    }
    longest
}

#[test]
fn many_commits_to_a_directory_of_thousands_take_little_space() {
    const NAMES: usize = 3000;
    const COMMITS: usize = 600;
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    let path = |n: usize| format!("facts/flat/memory-{n:05}.md");
    let all: Vec<Edit> = (0..NAMES).map(|n| put(&path(n), &format!("memory {n}\n"))).collect();
    let first = writer.commit(&all, &message("all", 0)).expect("commits");
    let mut middle = first;
    for n in 1..COMMITS {
        // Changes, additions and removals throughout the directory.
        let edits = match n % 10 {
            0 => vec![put(&path(NAMES + n), "added\n")],
            1 => vec![remove(&path(n * 7 % NAMES))],
            _ => vec![put(&path(n * 13 % NAMES), &format!("version {n}\n"))],
        };
        let commit = writer.commit(&edits, &message("write", n as i64)).expect("commits");
        if n == COMMITS / 2 {
            middle = commit;
        }
        repository.consolidate().expect("consolidates");
    }
    age_replaced(&repository);
    let bytes: u64 = pack_files(&repository, "pack").iter().map(|path| path.metadata().expect("is there").len()).sum();
    assert!(bytes < 6 << 20, "{bytes} bytes for {COMMITS} commits");
    let longest = longest_chain(&repository);
    assert!((16..=32).contains(&longest), "a chain of {longest} deltas");
    assert_eq!(git(repository.path(), &["fsck", "--strict", "--full"]), "");
    git(folder.path(), &["clone", "-q", "--no-local", "n.git", "clone"]);
    let clone = folder.path().join("clone");
    assert_eq!(git(&clone, &["rev-list", "--count", "HEAD"]).trim(), COMMITS.to_string());
    // Reading old versions resolves their deltas.
    for commit in [first, middle] {
        let names = git(repository.path(), &["ls-tree", "-r", "--name-only", &commit.to_string()]);
        assert_eq!(repository.changes(None, commit).expect("reads").len(), names.lines().count());
    }
    assert_eq!(repository.read(first, &path(13)).expect("reads"), Some(b"memory 13\n".to_vec()));
    // A commit after the packs were joined.
    writer.reload().expect("reads");
    writer.commit(&[put("facts/other.md", "other")], &message("other", 0)).expect("commits on top");
    assert_eq!(git(repository.path(), &["fsck", "--strict", "--full"]), "");
}

#[test]
fn a_history_is_incomplete_when_its_budget_is_used_up() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    for n in 0..60 {
        let path = if n % 10 == 0 { "facts/a/watched.md" } else { "facts/a/other.md" };
        writer.commit(&[put(path, &format!("version {n}\n"))], &message("write", n)).expect("commits");
    }
    let head = repository.head().expect("reads").expect("has a head");
    let walk = |limit: usize, budget: HistoryBudget| {
        let paths = ["facts/a/watched.md", "facts/a/other.md", "facts/none/none.md"];
        let found = repository.histories(head, &paths, limit, budget).expect("reads");
        let times = |n: usize| found.revisions[n].iter().map(|info| info.at_seconds).collect::<Vec<_>>();
        (times(0), times(1).len(), times(2).len(), found.complete)
    };
    let whole = HistoryBudget::default();
    assert_eq!(walk(100, whole), (vec![50, 40, 30, 20, 10, 0], 54, 0, true));
    assert_eq!(walk(2, whole).0, [50, 40]);
    let few = HistoryBudget { commits_max: 25, ..whole };
    assert_eq!(walk(100, few), (vec![50, 40], 23, 0, false));
    let (watched, _, _, complete) = walk(100, HistoryBudget { tree_bytes_max: 1, ..whole });
    assert!(watched.len() < 6 && !complete);
}

#[test]
fn missing_and_damaged_indexes_are_rebuilt() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    let mut head = None;
    for n in 0..5 {
        let edit = put(&format!("facts/m{n}.md"), &format!("memory {n}"));
        head = Some(writer.commit(&[edit], &message("write", n)).expect("commits"));
    }
    let head = head.expect("has a head");
    let damage = |bytes: &mut Vec<u8>, how: usize| match how {
        0 => bytes.clear(),
        1 => bytes.truncate(500),
        2 => bytes.truncate(bytes.len() - 1),
        3 => bytes.fill(0),
        // In the id of an object, after header and fanout.
        _ => bytes[1040] ^= 0xff,
    };
    for how in 0..6 {
        for index in pack_files(&repository, "idx") {
            if how == 5 {
                std::fs::remove_file(&index).expect("removes");
                continue;
            }
            let mut bytes = std::fs::read(&index).expect("reads");
            damage(&mut bytes, how);
            std::fs::write(&index, bytes).expect("writes");
        }
        let all = |repository: &Repository| {
            (0..5).all(|n| repository.read(head, &format!("facts/m{n}.md")).is_ok_and(|found| found.is_some()))
        };
        if how == 4 {
            // Header and length are correct, so only the thorough check finds it.
            assert_eq!(repository.repair_pack_indexes().expect("checks"), 0);
            assert_eq!(repository.repair_pack_indexes_thoroughly().expect("repairs"), 5);
        } else if how % 2 == 0 {
            // A repository that was opened earlier finds it too.
            assert!(all(&repository), "{how}");
        }
        let opened = Repository::open_existing(repository.path()).expect("opens").expect("is there");
        assert!(all(&opened), "{how}");
        assert_eq!(opened.changes(None, head).expect("reads").len(), 5);
        assert_eq!(git(repository.path(), &["fsck", "--strict", "--full"]), "");
        assert_eq!(opened.repair_pack_indexes_thoroughly().expect("checks"), 0, "all were rebuilt");
    }
    assert!(Repository::open_existing(&folder.path().join("none.git")).expect("checks").is_none());
}

#[test]
fn a_file_without_its_content_is_corrupt_and_not_missing() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    writer.commit(&[put("facts/a.md", "one")], &message("first", 1)).expect("commits");
    let first = pack_files(&repository, "pack");
    let head = writer.commit(&[put("facts/b.md", "two")], &message("second", 2)).expect("commits");
    // A damaged pack without an index, from which none can be built.
    std::fs::write(&first[0], "not a pack").expect("writes");
    std::fs::remove_file(first[0].with_extension("idx")).expect("removes");
    assert!(matches!(repository.read(head, "facts/a.md"), Err(Error::Corrupt { .. })));
    assert_eq!(repository.read(head, "facts/b.md").expect("reads"), Some(b"two".to_vec()));
    assert_eq!(repository.read(head, "facts/c.md").expect("reads"), None);
    // The commit may be in that pack, so it is not reported as missing.
    let unknown = "1".repeat(40).parse().expect("an id");
    assert!(matches!(repository.read(unknown, "facts/a.md"), Err(Error::Corrupt { .. })));
    std::fs::remove_file(&first[0]).expect("removes");
    assert!(matches!(repository.read(head, "facts/a.md"), Err(Error::Corrupt { .. })));
    assert_eq!(repository.read(unknown, "facts/a.md").expect("reads"), None);
}

#[test]
fn a_missing_branch_is_restored_only_at_a_complete_commit() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    writer.commit(&[put("facts/a.md", "one")], &message("first", 1)).expect("commits");
    let head = writer.commit(&[put("facts/b.md", "two")], &message("second", 2)).expect("commits");
    assert!(!repository.restore_branch(head).expect("checks"), "the branch exists");
    let branch = repository.path().join("refs/heads/main");
    let unknown = "1".repeat(40).parse().expect("an id");
    for content in [None, Some("")] {
        match content {
            None => std::fs::remove_file(&branch).expect("removes"),
            Some(text) => std::fs::write(&branch, text).expect("writes"),
        }
        assert!(!repository.restore_branch(unknown).expect("checks"), "the commit does not exist");
        assert!(repository.restore_branch(head).expect("restores"));
        assert_eq!(repository.head().expect("reads"), Some(head));
        assert_eq!(git(repository.path(), &["rev-parse", "HEAD"]).trim(), head.to_string());
    }
    // A commit whose objects are lost cannot become the head.
    for file in pack_files(&repository, "pack").into_iter().chain(pack_files(&repository, "idx")) {
        std::fs::remove_file(file).expect("removes");
    }
    std::fs::remove_file(&branch).expect("removes");
    assert!(!repository.restore_branch(head).expect("checks"));
    assert!(!branch.exists());
}

#[test]
fn a_path_nested_too_deep_is_rejected_and_changes_nothing() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    let one = writer.commit(&[put("facts/a.md", "one")], &message("first", 1)).expect("commits");
    let deep = format!("facts/{}x.md", "a/".repeat(20_000));
    assert!(writer.commit(&[put(&deep, "deep")], &message("deep", 2)).is_err());
    assert_eq!(repository.head().expect("reads"), Some(one));
    writer.commit(&[put("facts/b.md", "two")], &message("second", 2)).expect("commits");
    assert_eq!(git(repository.path(), &["fsck", "--strict", "--full"]), "");
}

#[test]
fn a_reader_of_commits_reads_what_was_written_since_it_was_opened() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    let one = writer.commit(&[put("facts/a.md", "one")], &message("first", 1_700_000_000)).expect("commits");
    let reader = repository.commit_reader().expect("opens");
    assert_eq!(reader.read(one, "facts/a.md").expect("reads"), Some(b"one".to_vec()));
    let two = writer.commit(&[put("facts/a.md", "two")], &message("second", 1_700_000_100)).expect("commits");
    assert_eq!(reader.commit_info(two).expect("reads").map(|info| info.at_seconds), Some(1_700_000_100));
    for (commit, content) in [(one, "one"), (two, "two")] {
        assert_eq!(reader.read(commit, "facts/a.md").expect("reads"), Some(content.as_bytes().to_vec()));
    }
    assert_eq!(reader.read(two, "facts/none.md").expect("reads"), None);
}

#[test]
fn a_file_and_a_directory_never_replace_each_other() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    let files = [put("facts/a.md", "one"), put("facts/d/x.md", "two")];
    let first = writer.commit(&files, &message("first", 1)).expect("commits");
    for (path, expected, expected_kind) in
        [("facts/a.md/b.md", "facts/a.md", NameKind::File), ("facts/d", "facts/d", NameKind::Directory)]
    {
        let refused = writer.commit(&[put("facts/c.md", "three"), put(path, "four")], &message("second", 2));
        let Err(Error::NameTaken { existing, kind, .. }) = refused else { panic!("{path}: {refused:?}") };
        assert_eq!((existing.as_str(), kind), (expected, expected_kind), "{path}");
        assert_eq!(repository.head().expect("reads"), Some(first), "{path}");
    }
    // What does not exist is not removed, and neither is a directory.
    writer.commit(&[remove("facts/d"), remove("facts/a.md/b.md")], &message("third", 3)).expect("commits");
    assert!(writer.contains("facts/a.md").expect("reads") && writer.contains("facts/d/x.md").expect("reads"));
    // A name is free once what has it is removed, in whatever order the edits are.
    let swapped = [put("facts/d", "x"), remove("facts/d/x.md"), put("facts/a.md/b.md", "y"), remove("facts/a.md")];
    writer.commit(&swapped, &message("fourth", 4)).expect("commits");
    let listed = git(repository.path(), &["ls-tree", "-r", "--name-only", "HEAD"]);
    assert_eq!(listed.lines().collect::<Vec<_>>(), ["facts/a.md/b.md", "facts/d"]);
    assert_eq!(git(repository.path(), &["fsck", "--strict", "--full"]), "");
}

#[test]
fn files_that_a_directory_or_a_file_replaced_are_found_in_the_history() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (repository, mut writer) = fresh(folder.path());
    let files = [put("facts/a.md", "one"), put("facts/d/x.md", "two"), put("facts/e.md", "three")];
    let first = writer.commit(&files, &message("first", 1)).expect("commits");
    let swapped = [put("facts/d", "x"), remove("facts/d/x.md"), put("facts/a.md/b.md", "y"), remove("facts/a.md")];
    writer.commit(&swapped, &message("second", 2)).expect("commits");
    let head = writer.commit(&[remove("facts/e.md")], &message("third", 3)).expect("commits");
    let found = repository.replaced_files(head, "Repair").expect("reads");
    let found: Vec<_> = found.iter().map(|file| (file.path.as_str(), file.commit)).collect();
    assert_eq!(found, [("facts/a.md", first), ("facts/d/x.md", first)]);
    let mut repaired = message("repair", 4);
    repaired.trailers.push(("Repair".to_owned(), "paths".to_owned()));
    let head = writer.commit(&[put("facts/f.md", "four")], &repaired).expect("commits");
    assert!(repository.replaced_files(head, "Repair").expect("reads").is_empty());
}
