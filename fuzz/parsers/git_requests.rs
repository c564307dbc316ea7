//! What git sends: the request of a fetch, and a push with its pack, also with the pack's checksum made right.

use std::sync::LazyLock;

use cuebase::git_protocol::fetch::{self, Request};
use cuebase::git_protocol::lines;
use cuebase::git_protocol::push::Push;
use cuebase_storage::git::{CommitId, IntakeLimits, Repository, check_pack};

const HASH_BYTES: usize = 20;

struct Made {
    folder: tempfile::TempDir,
    first: CommitId,
    head: CommitId,
    /// What the head adds to the first.
    pack: Vec<u8>,
}

static MADE: LazyLock<Made> = LazyLock::new(|| {
    let folder = super::scratch();
    let (repository, first, head) = super::history::short(&folder.path().join("source.git"));
    let mut pack = Vec::new();
    repository.missing(&[head], &[first]).and_then(|missing| missing.write_pack(&mut pack, |_, _| {})).expect("writes");
    Made { folder, first, head, pack }
});

pub(super) fn enter(bytes: &[u8]) {
    let made = &*MADE;
    let source = Repository::open_or_create(&made.folder.path().join("source.git")).expect("opens");
    for version_2 in [false, true] {
        if let Ok(request) = Request::parse(version_2, bytes) {
            fetch::answer(&source, &request, &mut Vec::new()).expect("what can be read can be answered");
        }
    }
    let Ok(push) = Push::parse(bytes) else { return };
    take(&source, &push, push.pack);
    if let Some(body) = push.pack.len().checked_sub(HASH_BYTES).and_then(|end| push.pack.get(..end)) {
        let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY, body);
        take(&source, &push, &[body, hash.as_ref()].concat());
    }
    let fates = vec![Some("no".to_owned()); push.updates.len()];
    push.report(&fates, "words\n", &mut Vec::new()).expect("is written");
}

/// What a push brings is looked at to its end, in the order in which the server does it, and nothing of it reaches the
/// repository.
fn take(source: &Repository, push: &Push<'_>, mut pack: &[u8]) {
    if check_pack(&mut &*pack, &IntakeLimits::PUSH).is_err() {
        return;
    }
    let folder = super::scratch();
    let apart = source.apart(&folder.path().join("apart.git")).expect("creates");
    let _ = apart.take_pack(&mut pack);
    for to in push.updates.iter().filter_map(|update| update.to) {
        if apart.commits_among(&[to]).is_ok_and(|found| found.is_empty()) {
            continue;
        }
        let Ok(missing) = apart.missing(&[to], &[]) else { continue };
        if missing.check(&IntakeLimits::PUSH).is_err() {
            continue;
        }
        if missing.inspect().is_ok_and(|wrong| wrong.is_empty()) {
            // An id is the hash of all that is below it: what is sound can be read to its end.
            apart.changes(None, to).expect("reads");
        }
    }
    assert_eq!(source.head().expect("reads"), Some(MADE.head));
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let Made { first, head, pack, .. } = &*MADE;
    let request = |parts: &[&[&str]]| {
        let mut bytes = Vec::new();
        for part in parts {
            part.iter().for_each(|line| lines::text(&mut bytes, line).expect("written"));
            lines::flush(&mut bytes).expect("written");
        }
        bytes
    };
    let mut asked = Vec::new();
    lines::text(&mut asked, "command=fetch").expect("written");
    lines::delimiter(&mut asked).expect("written");
    asked.extend(request(&[&[&format!("want {head}"), &format!("have {first}"), "done"]]));
    let moved = format!("{first} {head} refs/heads/main\0 report-status side-band-64k object-format=sha1");
    vec![
        asked,
        request(&[&["command=ls-refs"]]),
        request(&[&[&format!("want {head} multi_ack_detailed side-band-64k")], &[&format!("have {first}"), "done"]]),
        [request(&[&[&moved]]), pack.clone()].concat(),
    ]
}
