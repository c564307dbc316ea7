//! A push into a namespace: looked at apart from it, then taken in whole or refused whole.

use std::path::Path;

use cuebase_storage::Error as StorageError;
use cuebase_storage::git::{CommitId, IntakeLimits, Repository, check_pack};
use cuebase_storage::records::NamespaceRecord;
use ulid::Ulid;

use super::Service;
use crate::billing::meters::Meter;
use crate::error::Result;
use crate::git_protocol::BRANCH;
use crate::git_protocol::push::Update;
use crate::ingest::edited;
use crate::memory::files;
use crate::namespace::key::NamespaceKey;
use crate::namespace::plan::Content;
use crate::namespace::registry::Lease;
use crate::namespace::sync::MESSAGE_TRAILER;

/// Memories and terms that one push may change.
const FILES_MAX: usize = 10_000;
/// So many problems are told of one push.
const PROBLEMS_MAX: usize = 20;

/// Why a push is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushRefusal {
    /// In one line, as git shows it behind the branch.
    pub reason: String,
    /// What there is to say beside it, a line each.
    pub words: Vec<String>,
}

impl PushRefusal {
    fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), words: Vec::new() }
    }

    /// By reason of several things that are wrong.
    fn by_problems(problems: &[String]) -> Self {
        let mut words: Vec<String> = problems.iter().take(PROBLEMS_MAX).cloned().collect();
        if problems.len() > PROBLEMS_MAX {
            words.push(format!("and {} more", problems.len() - PROBLEMS_MAX));
        }
        let reason = match problems {
            [one] => one.clone(),
            several => format!("{} files cannot be taken", several.len()),
        };
        Self { reason: reason.replace('\n', " "), words }
    }
}

/// What a push is made of, once it has been looked at.
struct Checked {
    texts: Vec<String>,
    written: usize,
    added: u64,
}

impl Service {
    /// Takes in what was pushed: in git, and visible to the next read, when this returns with nothing to object.
    pub fn push(&self, namespace: &NamespaceRecord, update: &Update, pack: &[u8]) -> Result<Result<(), PushRefusal>> {
        let account = &namespace.account;
        let Some(to) = update.to.filter(|_| update.reference == BRANCH) else {
            let reason = match update.to {
                Some(_) => "a namespace has the branch main alone",
                None => "nothing can be deleted here: a history is never lost",
            };
            return Ok(Err(PushRefusal::new(reason)));
        };
        self.billing.require_balance(account)?;
        self.namespaces.require_undamaged(namespace)?;
        let lease = self.namespaces.lease_key(&NamespaceKey::of(namespace))?;
        if lease.repository().head()? != update.from {
            return Ok(Err(moved()));
        }
        // Where nothing else is, on the same file system.
        let aside = self.config.data.join("trash").join(Ulid::generate().to_string());
        let taken = self.take_apart(&lease, account, update.from, to, pack, &aside);
        // Not there where the pack was refused before it was unpacked.
        if let Err(error) = std::fs::remove_dir_all(&aside)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, folder = %aside.display(), "what a push left aside could not be removed");
        }
        taken
    }

    fn take_apart(
        &self,
        lease: &Lease,
        account: &str,
        from: Option<CommitId>,
        to: CommitId,
        mut pack: &[u8],
        aside: &Path,
    ) -> Result<Result<(), PushRefusal>> {
        if !pack.is_empty()
            && let Err(error) = check_pack(&mut &*pack, &IntakeLimits::PUSH)
        {
            return blamed(error);
        }
        std::fs::create_dir_all(aside)?;
        let apart = lease.repository().open_scratch(&aside.join("pushed.git"))?;
        if !pack.is_empty()
            && let Err(error) = apart.store_pack(&mut pack)
        {
            return blamed(error);
        }
        let checked = match check(&apart, from, to) {
            Ok(Ok(checked)) => checked,
            Ok(Err(refused)) => return Ok(Err(refused)),
            Err(error) => return blamed(error),
        };
        let known = || Ok(self.memories(account)? + checked.added.saturating_sub(1));
        // A push that changes no memory counts nothing.
        let permit = match checked.written {
            0 => None,
            written => Some(self.billing.reserve_units(account, Meter::Writes, written as u64, known)?),
        };
        lease.prepare(&checked.texts, self.models.write_deadline());
        if !lease.accept_push(permit, &apart, from, to)? {
            return Ok(Err(moved()));
        }
        if let Err(error) = lease.consolidate_packs() {
            tracing::error!(%error, "joining packs failed; it is tried again with the next write");
        }
        Ok(Ok(()))
    }
}

fn moved() -> PushRefusal {
    PushRefusal::new("fetch first: the branch has moved on (git pull --rebase)")
}

/// What could not be read is what was pushed, unless the disk is at fault.
fn blamed<T>(error: StorageError) -> Result<Result<T, PushRefusal>> {
    match (error.disk_trouble(), &error) {
        (Some(_), _) => Err(error.into()),
        (None, StorageError::Invalid { .. }) => Ok(Err(PushRefusal::new(error.to_string().replace('\n', " ")))),
        (None, _) => Ok(Err(PushRefusal::new(format!("what was sent cannot be read: {error}").replace('\n', " ")))),
    }
}

/// Looks at everything that a push brings, before anything of it is believed.
fn check(
    apart: &Repository,
    from: Option<CommitId>,
    to: CommitId,
) -> Result<Result<Checked, PushRefusal>, StorageError> {
    if apart.commits_among(&[to])?.is_empty() {
        return Ok(Err(PushRefusal::new("no commit was sent under that id")));
    }
    if let Some(from) = from
        && !apart.is_ancestor(from, to)?
    {
        let reason =
            "the branch's first parents must lead to what is here: rebase instead of merging, and do not force";
        return Ok(Err(PushRefusal::new(reason)));
    }
    let had: Vec<CommitId> = from.into_iter().collect();
    let pushed = apart.missing(&[to], &had)?;
    // Number, sizes and directories first: what a few kilobytes stand for may be any number of files.
    pushed.check_limits(&IntakeLimits::PUSH)?;
    let changes = apart.changed_files(from, to, &IntakeLimits::PUSH)?;
    let mut problems = pushed.inspect()?;
    for commit in pushed.commits_with_trailer(MESSAGE_TRAILER)? {
        problems.push(format!("commit {commit}: its line {MESSAGE_TRAILER} is for the service alone"));
    }
    if !problems.is_empty() {
        return Ok(Err(PushRefusal::by_problems(&problems)));
    }
    let changes: Vec<_> = changes.into_iter().filter(|change| edited::is_managed(&change.path)).collect();
    if changes.len() > FILES_MAX {
        let reason = format!("{} memories are changed, at most {FILES_MAX} are taken: push in parts", changes.len());
        return Ok(Err(PushRefusal::new(reason)));
    }
    let reader = apart.file_reader()?;
    let (mut texts, mut added, mut written) = (Vec::new(), 0, 0);
    for change in &changes {
        let Some(bytes) = change.bytes else { continue };
        if bytes > edited::FILE_BYTES_MAX {
            let problem = format!("{}: has {bytes} bytes, more than {}", change.path, edited::FILE_BYTES_MAX);
            problems.push(problem);
            continue;
        }
        let Some(content) = reader.content(change)? else { continue };
        written += 1;
        match edited::parse(&change.path, &content) {
            Ok(Content::Memory(file)) => {
                texts.extend(files::cue_texts(&file.front, &file.body));
                added += u64::from(change.is_new);
            }
            Ok(Content::Term(_)) => {}
            Err(problem) => problems.push(format!("{}: {problem}", change.path)),
        }
    }
    if !problems.is_empty() {
        return Ok(Err(PushRefusal::by_problems(&problems)));
    }
    Ok(Ok(Checked { texts, written, added }))
}
