//! Requests from git: a fetch, and a push with its pack, with the original and with a corrected checksum.

use std::sync::LazyLock;

use cuebase::git_protocol::fetch_request::FetchRequest;
use cuebase::git_protocol::push::Push;
use cuebase::git_protocol::{ProtocolVersion, fetch, lines};
use cuebase_storage::git::{CommitId, IntakeLimits, Repository, check_pack};

const HASH_BYTES: usize = 20;

struct SourceRepository {
    folder: tempfile::TempDir,
    first: CommitId,
    head: CommitId,
    /// The objects that `head` adds to `first`.
    pack: Vec<u8>,
}

static SOURCE: LazyLock<SourceRepository> = LazyLock::new(|| {
    let folder = super::scratch();
    let (repository, first, head) = super::history::create_short(&folder.path().join("source.git"));
    let mut pack = Vec::new();
    repository.missing(&[head], &[first]).and_then(|missing| missing.write_pack(&mut pack, |_, _| {})).expect("writes");
    SourceRepository { folder, first, head, pack }
});

pub(super) fn enter(bytes: &[u8]) {
    let source = Repository::open_or_create(&SOURCE.folder.path().join("source.git")).expect("opens");
    for version in [ProtocolVersion::V0, ProtocolVersion::V2] {
        if let Ok(request) = FetchRequest::parse(version, bytes) {
            fetch::answer(&source, &request, &mut Vec::new()).expect("a parsed request can be answered");
        }
    }
    let Ok(push) = Push::parse(bytes) else { return };
    check_push(&source, &push, push.pack);
    if let Some(body) = push.pack.len().checked_sub(HASH_BYTES).and_then(|end| push.pack.get(..end)) {
        let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY, body);
        check_push(&source, &push, &[body, hash.as_ref()].concat());
    }
    let refusals = vec![Some("no".to_owned()); push.updates.len()];
    push.report(&refusals, "words\n", &mut Vec::new()).expect("is written");
}

/// Runs all checks of a push in the order of the server, and checks that the repository stays unchanged.
fn check_push(source: &Repository, push: &Push<'_>, mut pack: &[u8]) {
    if check_pack(&mut &*pack, &IntakeLimits::PUSH).is_err() {
        return;
    }
    let folder = super::scratch();
    let scratch = source.open_scratch(&folder.path().join("scratch.git")).expect("creates");
    let _ = scratch.store_pack(&mut pack);
    for to in push.updates.iter().filter_map(|update| update.to) {
        if scratch.commits_among(&[to]).is_ok_and(|found| found.is_empty()) {
            continue;
        }
        let Ok(missing) = scratch.missing(&[to], &[]) else { continue };
        if missing.check_limits(&IntakeLimits::PUSH).is_err() {
            continue;
        }
        if missing.inspect().is_ok_and(|wrong| wrong.is_empty()) {
            // Object ids are hashes of everything below them, so intact objects can be read completely.
            scratch.changes(None, to).expect("reads");
        }
    }
    assert_eq!(source.head().expect("reads"), Some(SOURCE.head));
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let SourceRepository { first, head, pack, .. } = &*SOURCE;
    let request = |parts: &[&[&str]]| {
        let mut bytes = Vec::new();
        for part in parts {
            for line in *part {
                lines::text(&mut bytes, line).expect("written");
            }
            lines::flush(&mut bytes).expect("written");
        }
        bytes
    };
    let mut fetch_request = Vec::new();
    lines::text(&mut fetch_request, "command=fetch").expect("written");
    lines::delimiter(&mut fetch_request).expect("written");
    fetch_request.extend(request(&[&[&format!("want {head}"), &format!("have {first}"), "done"]]));
    let moved = format!("{first} {head} refs/heads/main\0 report-status side-band-64k object-format=sha1");
    vec![
        fetch_request,
        request(&[&["command=ls-refs"]]),
        request(&[&[&format!("want {head} multi_ack_detailed side-band-64k")], &[&format!("have {first}"), "done"]]),
        [request(&[&[&moved]]), pack.clone()].concat(),
    ]
}
