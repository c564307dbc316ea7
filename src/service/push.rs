//! A push into a namespace. It is unpacked and checked in a scratch repository, then accepted or refused as a whole.

use std::path::Path;

use cuebase_storage::AccountId;
use cuebase_storage::Error as StorageError;
use cuebase_storage::git::{ChangedFile, CommitId, IntakeLimits, Repository, check_pack};
use cuebase_storage::records::{Meter, NamespaceRecord};
use ulid::Ulid;

use super::direct_writes::DirectWrites;
use crate::account_slots::AccountSlots;
use crate::billing::meters::Permit;
use crate::error::{Error, Result};
use crate::git_protocol::BRANCH;
use crate::git_protocol::push::Update;
use crate::ingest::edited;
use crate::memory::files;
use crate::namespace::plan::Content;
use crate::namespace::registry::Lease;
use crate::namespace::sync::{MESSAGE_TRAILER, REPAIR_TRAILER};

/// Maximum number of memories and terms that a push may change.
const FILES_MAX: usize = 10_000;
/// Maximum number of problems in a refusal.
const PROBLEMS_MAX: usize = 20;

/// The reason why a push was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The push is not valid, or the branch has moved. git shows the refusal to its user.
    #[error("the push was refused: {}", .0.reason)]
    Refused(PushRefusal),
    /// The service could not process the push.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// The reason why a check did not pass.
#[derive(Debug, thiserror::Error)]
enum CheckError {
    /// The push is not valid.
    #[error("the push was refused: {}", .0.reason)]
    Refused(PushRefusal),
    /// The pack or an object of the push could not be read.
    #[error("the push cannot be read: {0}")]
    Unreadable(#[from] StorageError),
}

impl From<CheckError> for PushError {
    fn from(error: CheckError) -> Self {
        let error = match error {
            CheckError::Refused(refusal) => return Self::Refused(refusal),
            CheckError::Unreadable(error) => error,
        };
        // The disk is the service's fault, any other error the fault of the push.
        if error.disk_trouble().is_some() {
            return Self::Failed(error.into());
        }
        let reason = match error {
            StorageError::Invalid { .. } => error.to_string(),
            error => CheckError::Unreadable(error).to_string(),
        };
        Self::Refused(PushRefusal::new(reason.replace('\n', " ")))
    }
}

/// The contents of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushRefusal {
    /// One line, which git shows next to the branch.
    pub reason: String,
    /// Additional lines.
    pub details: Vec<String>,
}

impl PushRefusal {
    fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), details: Vec::new() }
    }

    /// Refuses a push for one or more problems, and lists up to [`PROBLEMS_MAX`] of them.
    fn of_problems(problems: &[String]) -> Self {
        let mut details: Vec<String> = problems.iter().take(PROBLEMS_MAX).cloned().collect();
        if problems.len() > PROBLEMS_MAX {
            details.push(format!("and {} more", problems.len() - PROBLEMS_MAX));
        }
        let reason = match problems {
            [problem] => problem.clone(),
            _ => format!("{} files are not valid", problems.len()),
        };
        Self { reason: reason.replace('\n', " "), details }
    }
}

/// Pushes that are unpacked and checked at the same time. One can take hundreds of mebibytes.
static CHECKS: AccountSlots = AccountSlots::new(2);

/// A push that passed all checks.
struct CheckedPush {
    /// Texts of the cues, to be embedded.
    texts: Vec<String>,
    /// Number of written files.
    written: usize,
    /// Number of new memories.
    added: u64,
}

impl DirectWrites {
    /// Accepts a push. If this returns no error, the push is committed and visible to the next read.
    pub fn push(&self, namespace: &NamespaceRecord, update: &Update, pack: &[u8]) -> Result<(), PushError> {
        let account = &namespace.account;
        let Some(to) = update.to.filter(|_| update.reference == BRANCH) else {
            let reason = match update.to {
                Some(_) => "a namespace has only the branch main",
                None => "a branch cannot be deleted: the history is never lost",
            };
            return Err(PushError::Refused(PushRefusal::new(reason)));
        };
        self.billing.require_balance(account)?;
        self.namespaces.require_undamaged(namespace)?;
        let lease = self.namespaces.lease_key(&namespace.key())?;
        if lease.repository().head().map_err(Error::from)? != update.from {
            return Err(branch_moved());
        }
        // The trash is on the same file system as the repositories, and no other file is in the new folder.
        let scratch = self.data.join("trash").join(Ulid::generate().to_string());
        let accepted = self.accept_from_scratch(&lease, account, update.from, to, pack, &scratch);
        // The folder does not exist if the pack was refused before it was unpacked.
        if let Err(error) = std::fs::remove_dir_all(&scratch)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, folder = %scratch.display(), "cannot remove the scratch folder of a push");
        }
        accepted
    }

    /// Unpacks a push into a scratch folder, checks it there, and moves it into the namespace.
    fn accept_from_scratch(
        &self,
        lease: &Lease,
        account: &AccountId,
        from: Option<CommitId>,
        to: CommitId,
        mut pack: &[u8],
        scratch: &Path,
    ) -> Result<(), PushError> {
        let _slot = CHECKS.wait(account);
        if !pack.is_empty() {
            check_pack(&mut &*pack, &IntakeLimits::PUSH).map_err(CheckError::Unreadable)?;
        }
        std::fs::create_dir_all(scratch).map_err(Error::from)?;
        let pushed = lease.repository().open_scratch(&scratch.join("pushed.git")).map_err(Error::from)?;
        if !pack.is_empty() {
            pushed.store_pack(&mut pack).map_err(CheckError::Unreadable)?;
        }
        let checked = check(&pushed, from, to)?;
        let permit = self.reserve_push(account, &checked)?;
        lease.prepare(&checked.texts, self.models.write_deadline());
        if !lease.accept_push(permit, &pushed, from, to)? {
            return Err(branch_moved());
        }
        if let Err(error) = lease.consolidate_after_direct_write() {
            tracing::error!(%error, "cannot join packs; the next write tries again");
        }
        Ok(())
    }

    /// Reserves a unit for each written file. Returns `None` for a push that writes none.
    fn reserve_push(&self, account: &AccountId, checked: &CheckedPush) -> Result<Option<Permit<'_>>> {
        if checked.written == 0 {
            return Ok(None);
        }
        let permit = self.billing.reserve_units(account, Meter::Writes, checked.written as u64, checked.added)?;
        Ok(Some(permit))
    }
}

fn branch_moved() -> PushError {
    PushError::Refused(PushRefusal::new("fetch first: the branch has moved (git pull --rebase)"))
}

/// Checks all objects of a push before the namespace uses any of them.
fn check(pushed: &Repository, from: Option<CommitId>, to: CommitId) -> Result<CheckedPush, CheckError> {
    if pushed.commits_among(&[to])?.is_empty() {
        return Err(CheckError::Refused(PushRefusal::new("the push has no commit with the id of the branch")));
    }
    if let Some(from) = from
        && !pushed.is_ancestor(from, to)?
    {
        let reason =
            "the first parents of the branch must lead to the server's head: rebase instead of merging or forcing";
        return Err(CheckError::Refused(PushRefusal::new(reason)));
    }
    let had: Vec<CommitId> = from.into_iter().collect();
    let objects = pushed.missing(&[to], &had)?;
    // Number, sizes and directories are checked first: a few kilobytes can stand for any number of files.
    objects.check_limits(&IntakeLimits::PUSH)?;
    let mut changes = pushed.changed_files(from, to, &IntakeLimits::PUSH)?;
    let mut problems = objects.inspect()?;
    for trailer in [MESSAGE_TRAILER, REPAIR_TRAILER] {
        for commit in objects.commits_with_trailer(trailer)? {
            problems.push(format!("commit {commit}: only the server may write the trailer {trailer}"));
        }
    }
    for change in &changes {
        if change.bytes.is_some()
            && !edited::is_managed(&change.path)
            && let Err(problem) = edited::check_directories(&change.path)
        {
            problems.push(format!("{}: {problem}", change.path));
        }
    }
    if !problems.is_empty() {
        return Err(CheckError::Refused(PushRefusal::of_problems(&problems)));
    }
    changes.retain(|change| edited::is_managed(&change.path));
    if changes.len() > FILES_MAX {
        let reason = format!("{} memories are changed, the limit is {FILES_MAX}: push in parts", changes.len());
        return Err(CheckError::Refused(PushRefusal::new(reason)));
    }
    check_files(pushed, &changes)
}

/// Reads the changed memories and terms. Refuses a push with files that are too large or unreadable.
fn check_files(pushed: &Repository, changes: &[ChangedFile]) -> Result<CheckedPush, CheckError> {
    let reader = pushed.file_reader()?;
    let mut checked = CheckedPush { texts: Vec::new(), written: 0, added: 0 };
    let mut problems = Vec::new();
    for change in changes {
        let Some(bytes) = change.bytes else { continue };
        if bytes > edited::FILE_BYTES_MAX {
            let problem = format!("{}: has {bytes} bytes, more than {}", change.path, edited::FILE_BYTES_MAX);
            problems.push(problem);
            continue;
        }
        let Some(content) = reader.content(change)? else { continue };
        checked.written += 1;
        match edited::parse(&change.path, &content) {
            Ok(Content::Memory(file)) => {
                checked.texts.extend(files::cue_texts(&file.front, &file.body));
                checked.added += u64::from(change.is_new);
            }
            Ok(Content::Term(_) | Content::Other(_)) => {}
            Err(problem) => problems.push(format!("{}: {problem}", change.path)),
        }
    }
    if !problems.is_empty() {
        return Err(CheckError::Refused(PushRefusal::of_problems(&problems)));
    }
    Ok(checked)
}
