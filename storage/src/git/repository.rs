//! The bare repository of one namespace: creating it, opening it, and reading files.
//!
//! Other files add methods to [`Repository`]: comparing (`changes.rs`), histories (`history.rs`), writing
//! (`writer.rs`), joining packs (`consolidate.rs`), and exchange with other repositories (`missing.rs`, `push.rs`,
//! `bundle.rs`).

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix::ObjectId;
use gix::objs::Kind;

use super::commit::{CommitId, CommitLinks};
use super::indexes::{self, IndexRepair, Scrutiny};
use super::ledger::LedgerLink;
use super::pack::{remove_pack_files, sync_file, sync_folder};
use super::replaced::ReplacedPacks;
use super::tree::{RawTree, TreeEntry, read_content};
use crate::error::{DiskTrouble, Error, Result};
use crate::files::TEMPORARY_PREFIX;

/// The only branch.
pub(super) const BRANCH: &str = "refs/heads/main";

/// The directory that holds [`BRANCH`].
pub(super) const BRANCHES: &str = "refs/heads";

/// A bare repository on disk. Cheap to clone; each call opens what it needs.
#[derive(Clone, Debug)]
pub struct Repository {
    path: PathBuf,
    /// Where the repository is kept, if not here.
    ledger: Option<Arc<LedgerLink>>,
}

impl Repository {
    /// Opens the repository at `path`, and creates it first if it does not exist.
    pub fn open_or_create(path: &Path) -> Result<Self> {
        if let Some(found) = Self::open_existing(path)? {
            return Ok(found);
        }
        create(path)?;
        Ok(Self { path: path.to_path_buf(), ledger: None })
    }

    /// Opens the repository at `path`, or returns `None` if it does not exist. Rebuilds missing and damaged pack
    /// indexes.
    pub fn open_existing(path: &Path) -> Result<Option<Self>> {
        let head = path.join("HEAD");
        // A path that cannot be examined is not a missing one, which would be created, or reported as damage.
        if !head.try_exists().map_err(Error::io("find", &head))? {
            return Ok(None);
        }
        let repository = Self { path: path.to_path_buf(), ledger: None };
        repository.repair_pack_indexes()?;
        Ok(Some(repository))
    }

    /// Rebuilds every pack index that is missing, or whose header or length is wrong. Returns how many were rebuilt.
    /// A pack that is itself damaged is left unchanged and logged.
    pub fn repair_pack_indexes(&self) -> Result<usize> {
        Ok(self.check_pack_indexes(Scrutiny::Quick)?.rebuilt)
    }

    /// Rebuilds, in addition to [`Repository::repair_pack_indexes`], every index whose content does not match its
    /// checksum. Reads all indexes to their end.
    pub fn repair_pack_indexes_thoroughly(&self) -> Result<usize> {
        Ok(self.check_pack_indexes(Scrutiny::Thorough)?.rebuilt)
    }

    fn check_pack_indexes(&self, scrutiny: Scrutiny) -> Result<IndexRepair> {
        // Without a readable list, the index of every pack is checked.
        let ignored = match ReplacedPacks::read(&self.path) {
            Ok(replaced) => replaced.names(),
            Err(_) => HashSet::new(),
        };
        indexes::repair(&self.pack_folder(), &ignored, scrutiny)
    }

    /// The same repository as the cache of a ledger.
    pub(super) fn linked(self, ledger: Arc<LedgerLink>) -> Self {
        Self { ledger: Some(ledger), ..self }
    }

    /// The ledger of the repository, if it has one.
    pub(super) fn ledger(&self) -> Option<&LedgerLink> {
        self.ledger.as_deref()
    }

    /// Returns the path of the repository.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the newest commit, or `None` for an empty repository.
    pub fn head(&self) -> Result<Option<CommitId>> {
        // The writer stores the branch as a file with an id. gix reads every other form, such as packed references.
        let branch = self.path.join(BRANCH);
        match fs::read_to_string(&branch) {
            Ok(text) => {
                if let Ok(id) = text.trim_end().parse() {
                    return Ok(Some(id));
                }
            }
            Err(error) if DiskTrouble::from_io_error(&error).is_some() => {
                return Err(Error::io("read", &branch)(error));
            }
            Err(_) => {}
        }
        let repository = self.open()?;
        let found = repository.try_find_reference(BRANCH).map_err(Error::git("read the branch"))?;
        let Some(mut reference) = found else { return Ok(None) };
        let id = reference.peel_to_id().map_err(Error::git("read the branch"))?;
        Ok(Some(CommitId(id.detach())))
    }

    /// Returns the content of a file at a commit, or `None` if the commit or the file does not exist.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if the commit has the file but the repository lacks its content, or if the commit is not
    /// found while a pack has no usable index.
    pub fn read(&self, commit: CommitId, path: &str) -> Result<Option<Vec<u8>>> {
        let first = file_at(&self.open()?, commit, path);
        if !matches!(first, Err(Error::Corrupt { .. } | Error::Git { trouble: None, .. })) {
            return first;
        }
        self.require_readable()?;
        // Either the commit does not exist, or one of its objects is missing.
        if !self.has_commit(commit)? {
            return Ok(None);
        }
        self.read_with_index_repair(|repository| file_at(repository, commit, path))
    }

    /// Returns whether an object with this id exists.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if the object is not found while a pack, which may hold it, has no usable index.
    pub(super) fn has_commit(&self, commit: CommitId) -> Result<bool> {
        let mut found = has_object(&self.open()?, commit.0);
        if matches!(found, Ok(true)) {
            return found;
        }
        self.require_readable()?;
        let repair = self.check_pack_indexes(Scrutiny::Quick)?;
        if repair.rebuilt > 0 {
            found = has_object(&self.open()?, commit.0);
        }
        match found {
            Ok(false) if repair.unusable > 0 => {
                let reason = format!("{commit} is not found, and {} packs have no usable index", repair.unusable);
                Err(Error::corrupt("repository", reason))
            }
            found => found,
        }
    }

    /// Runs a read. If it fails in a way that a missing or damaged pack index can cause, rebuilds such indexes, and
    /// runs the read once more if any was rebuilt.
    pub(super) fn read_with_index_repair<T>(&self, read: impl Fn(&gix::Repository) -> Result<T>) -> Result<T> {
        let first = read(&self.open()?);
        if !matches!(first, Err(Error::Corrupt { .. } | Error::Git { trouble: None, .. })) {
            return first;
        }
        self.require_readable()?;
        match self.check_pack_indexes(Scrutiny::Quick) {
            Ok(repair) if repair.rebuilt > 0 => read(&self.open()?),
            _ => first,
        }
    }

    /// Fails if the system refuses to read a file of the repository. Called after a failed read: gix reports some
    /// refusals without their cause, or as a missing object, which would be taken for damage.
    fn require_readable(&self) -> Result<()> {
        let head = self.path.join("HEAD");
        refusal_of(&head, fs::read(&head))?;
        let folder = self.pack_folder();
        let Some(entries) = refusal_of(&folder, fs::read_dir(&folder))? else { return Ok(()) };
        for entry in entries {
            let Some(entry) = refusal_of(&folder, entry)? else { continue };
            let path = entry.path();
            if let Some(mut file) = refusal_of(&path, File::open(&path))? {
                refusal_of(&path, file.read(&mut [0; 1]))?;
            }
        }
        Ok(())
    }

    /// Removes temporary pack files that a crash left.
    pub(super) fn remove_temporary_packs(&self) -> Result<()> {
        let folder = self.pack_folder();
        for entry in fs::read_dir(&folder).map_err(Error::io("list", &folder))?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(TEMPORARY_PREFIX) {
                fs::remove_file(entry.path()).map_err(Error::io("remove", &entry.path()))?;
            }
        }
        Ok(())
    }

    /// Removes an unreferenced pack. A pack that does not exist is not an error.
    pub(super) fn remove_pack(&self, name: &str) -> Result<()> {
        // The name comes from a file and becomes part of a path, so it must have the form of a pack's name.
        if !name.starts_with("pack-") || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Err(Error::corrupt("the name of a pending pack", format!("{name:?}")));
        }
        remove_pack_files(&self.pack_folder(), name)
    }

    pub(super) fn pack_folder(&self) -> PathBuf {
        self.path.join("objects/pack")
    }

    /// Opens the repository with gix. Each call opens it again, so that recently written and joined packs are seen.
    /// Only the repository's own configuration is read, never the user's or the system's.
    pub(super) fn open(&self) -> Result<gix::Repository> {
        let options = gix::open::Options::isolated().open_path_as_is(true).with(gix::sec::Trust::Full);
        match gix::ThreadSafeRepository::open_opts(&self.path, options) {
            Ok(shared) => Ok(shared.to_thread_local()),
            Err(error) => {
                self.require_readable()?;
                Err(Error::git("open a repository")(error))
            }
        }
    }
}

/// Returns what a file operation returned, or its error if the disk is the cause. `None` after any other error, which
/// another part of the repository reports.
fn refusal_of<T>(path: &Path, result: std::io::Result<T>) -> Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if DiskTrouble::from_io_error(&error).is_some() => Err(Error::io("read", path)(error)),
        Err(_) => Ok(None),
    }
}

/// Creates a bare repository under a temporary name and renames it, so that a crash leaves no incomplete repository.
fn create(path: &Path) -> Result<()> {
    let parent = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let temporary = parent.join(format!(".new-{name}"));
    if temporary.exists() {
        fs::remove_dir_all(&temporary).map_err(Error::io("remove", &temporary))?;
    }
    let options = gix::open::Options::isolated().config_overrides(["init.defaultBranch=main"]);
    gix::ThreadSafeRepository::init_opts(&temporary, gix::create::Kind::Bare, gix::create::Options::default(), options)
        .map_err(Error::git("create a repository"))?;
    // Sample hooks would add a dozen files to every namespace. If they cannot be removed, they do no harm.
    let _ = fs::remove_dir_all(temporary.join("hooks"));
    let packs = temporary.join("objects/pack");
    fs::create_dir_all(&packs).map_err(Error::io("create", &packs))?;
    for folder in [&packs, &temporary.join("objects"), &temporary.join("refs/heads"), &temporary.join("refs")] {
        sync_folder(folder)?;
    }
    for file in ["HEAD", "config"] {
        sync_file(&temporary.join(file))?;
    }
    sync_folder(&temporary)?;
    fs::rename(&temporary, path).map_err(Error::io("rename into place", path))?;
    sync_folder(parent)
}

fn has_object(repository: &gix::Repository, id: ObjectId) -> Result<bool> {
    Ok(repository.try_find_header(id).map_err(Error::git("find a commit"))?.is_some())
}

/// Returns the content of a file of an existing commit, or `None` if the commit has no such file.
pub(super) fn file_at(repository: &gix::Repository, commit: CommitId, path: &str) -> Result<Option<Vec<u8>>> {
    let mut tree = CommitLinks::read(repository, commit.0)?.tree;
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match RawTree::read(repository, tree)?.find(segment.as_bytes()) {
            Some(TreeEntry::Directory(id)) if !is_last => tree = id,
            Some(TreeEntry::File(id)) if is_last => return read_content(repository, id, Kind::Blob).map(Some),
            _ => return Ok(None),
        }
    }
    Ok(None)
}
