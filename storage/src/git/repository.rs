//! A namespace's bare repository: opening, reading, comparing.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::objs::Kind;

use super::compare::{Difference, Walk, WalkLimits};
use super::indexes::{self, Checked, Scrutiny};
use super::limits::IntakeLimits;
use super::missing::tree_and_parents;
use super::pack::{TEMPORARY_PREFIX, sync_folder};
use super::tree::{RawTree, TreeEntry, content};
use super::{Writer, consolidate};
use crate::error::{Error, Result};

/// The one branch.
pub(super) const BRANCH: &str = "refs/heads/main";

/// Where it is.
pub(super) const BRANCHES: &str = "refs/heads";

/// A commit's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommitId(pub(super) ObjectId);

impl CommitId {
    /// Its 20 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_slice()
    }

    /// From 20 bytes; none where there are more or fewer.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        ObjectId::try_from(bytes).ok().map(Self)
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for CommitId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let id = ObjectId::from_hex(text.as_bytes()).map_err(|e| Error::invalid("commit id", e))?;
        Ok(Self(id))
    }
}

/// A commit, for a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitInfo {
    /// Its id.
    pub id: CommitId,
    /// Seconds since the epoch.
    pub at_seconds: i64,
    /// The whole message with its trailers.
    pub message: String,
}

impl CommitInfo {
    /// The value of a trailer line such as `Cuebase-Message: …`.
    pub fn trailer(&self, key: &str) -> Option<&str> {
        self.message.lines().rev().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
    }
}

/// A file that differs between two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The file's path from the root.
    pub path: String,
    /// The new content; none when the file is gone.
    pub content: Option<Vec<u8>>,
}

/// A file that differs between two commits, before its content is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// The file's path from the root.
    pub path: String,
    /// Bytes of the new content; none when the file is gone.
    pub bytes: Option<u64>,
    /// Whether there was no such file before.
    pub is_new: bool,
    id: Option<ObjectId>,
}

/// Reads the contents of changed files one after the other.
pub struct FileReader {
    repository: gix::Repository,
}

impl FileReader {
    /// The new content of a file of this repository; none when the file is gone.
    pub fn content(&self, file: &ChangedFile) -> Result<Option<Vec<u8>>> {
        match file.id {
            Some(id) => content(&self.repository, id, Kind::Blob).map(Some),
            None => Ok(None),
        }
    }
}

/// A bare repository on disk. Cheap to clone; each call opens what it needs.
#[derive(Clone, Debug)]
pub struct Repository {
    path: PathBuf,
}

impl Repository {
    /// Opens the repository at `path`, making it first where there is none.
    pub fn open_or_create(path: &Path) -> Result<Self> {
        if let Some(found) = Self::open_existing(path)? {
            return Ok(found);
        }
        create(path)?;
        Ok(Self { path: path.to_path_buf() })
    }

    /// Opens the repository at `path`; none where there is none. Pack indexes that are missing or damaged are built again.
    pub fn open_existing(path: &Path) -> Result<Option<Self>> {
        if !path.join("HEAD").exists() {
            return Ok(None);
        }
        let repository = Self { path: path.to_path_buf() };
        repository.repair_pack_indexes()?;
        Ok(Some(repository))
    }

    /// Builds the index of every pack again whose index is missing or does not look whole by its header and length.
    /// Returns how many. A pack that is damaged itself is left as it is, with a line in the log.
    pub fn repair_pack_indexes(&self) -> Result<usize> {
        Ok(self.check_pack_indexes(Scrutiny::Quick)?.rebuilt)
    }

    /// The same for every index whose content does not match its checksum. Reads all indexes to their end.
    pub fn repair_pack_indexes_thoroughly(&self) -> Result<usize> {
        Ok(self.check_pack_indexes(Scrutiny::Thorough)?.rebuilt)
    }

    fn check_pack_indexes(&self, scrutiny: Scrutiny) -> Result<Checked> {
        let replaced = consolidate::replaced_packs(&self.path);
        indexes::repair(&self.pack_folder(), &replaced, scrutiny)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The newest commit; none in an empty repository.
    pub fn head(&self) -> Result<Option<CommitId>> {
        // As the writer leaves it: an id in a file. Anything else, such as packed references, is git's to read.
        if let Ok(text) = fs::read_to_string(self.path.join(BRANCH))
            && let Ok(id) = text.trim_end().parse()
        {
            return Ok(Some(id));
        }
        let repository = self.open()?;
        let found = repository.try_find_reference(BRANCH).map_err(Error::git("read the branch"))?;
        let Some(mut reference) = found else { return Ok(None) };
        let id = reference.peel_to_id().map_err(Error::git("read the branch"))?;
        Ok(Some(CommitId(id.detach())))
    }

    /// A writer that starts from the current head.
    pub fn writer(&self) -> Result<Writer> {
        Writer::new(self.clone())
    }

    /// A file as it was at a commit; none where there is no such file or commit.
    ///
    /// Fails with [`Error::Corrupt`] where the commit has the file and its content is not in the repository, and where the
    /// commit is not found while a pack cannot be looked into.
    pub fn read(&self, commit: CommitId, path: &str) -> Result<Option<Vec<u8>>> {
        let first = file_at(&self.open()?, commit, path);
        if !matches!(first, Err(Error::Corrupt { .. } | Error::Git { .. })) {
            return first;
        }
        // Either there is no such commit, or something of it is missing.
        if !self.has_commit(commit)? {
            return Ok(None);
        }
        self.read_objects(|repository| file_at(repository, commit, path))
    }

    /// Whether there is an object of that id. Fails with [`Error::Corrupt`] where there is none while a pack has no index
    /// that can be used: it may be in there.
    pub(super) fn has_commit(&self, commit: CommitId) -> Result<bool> {
        let mut found = has_object(&self.open()?, commit.0);
        if matches!(found, Ok(true)) {
            return found;
        }
        let checked = self.check_pack_indexes(Scrutiny::Quick)?;
        if checked.rebuilt > 0 {
            found = has_object(&self.open()?, commit.0);
        }
        match found {
            Ok(false) if checked.unusable > 0 => {
                let reason = format!("{commit} is not found, and {} packs cannot be looked into", checked.unusable);
                Err(Error::corrupt("repository", reason))
            }
            found => found,
        }
    }

    /// Runs a read. Where it fails as it does when a pack's index is missing or damaged, such indexes are built again and
    /// it is run once more.
    pub(super) fn read_objects<T>(&self, read: impl Fn(&gix::Repository) -> Result<T>) -> Result<T> {
        let first = read(&self.open()?);
        if !matches!(first, Err(Error::Corrupt { .. } | Error::Git { .. })) {
            return first;
        }
        match self.check_pack_indexes(Scrutiny::Quick) {
            Ok(checked) if checked.rebuilt > 0 => read(&self.open()?),
            _ => first,
        }
    }

    /// The files that differ between two commits; from nothing, every file. All contents are held in memory.
    pub fn changes(&self, from: Option<CommitId>, to: CommitId) -> Result<Vec<Change>> {
        self.changes_below("", from, to)
    }

    /// The same for the files below a directory of the root; an empty name is the root itself.
    pub fn changes_below(&self, folder: &str, from: Option<CommitId>, to: CommitId) -> Result<Vec<Change>> {
        self.read_objects(|repository| {
            let mut changes = Vec::new();
            for difference in differences(repository, folder, from, to, WalkLimits::OWN)? {
                // A name that is no UTF-8 cannot be a memory's path.
                let Ok(path) = String::from_utf8(difference.path) else { continue };
                let content = match difference.new {
                    Some(id) => Some(content(repository, id, Kind::Blob)?),
                    None => None,
                };
                changes.push(Change { path, content });
            }
            Ok(changes)
        })
    }

    /// The files that differ between two commits of which the later one came from another git, without their contents.
    ///
    /// Fails with [`Error::Invalid`] where the directories exceed the limits, or the new contents together, each path
    /// counted.
    pub fn changed_files(
        &self,
        from: Option<CommitId>,
        to: CommitId,
        limits: &IntakeLimits,
    ) -> Result<Vec<ChangedFile>> {
        let repository = self.open()?;
        let mut files = Vec::new();
        let mut all_bytes = 0u64;
        for difference in differences(&repository, "", from, to, WalkLimits::of(limits))? {
            let bytes = match difference.new {
                Some(id) => Some(repository.find_header(id).map_err(Error::git("read a file"))?.size()),
                None => None,
            };
            all_bytes = all_bytes.saturating_add(bytes.unwrap_or_default());
            if all_bytes > limits.changed_bytes_max {
                let reason = format!(
                    "the files that it changes take more than {} bytes, each path counted: send it in parts",
                    limits.changed_bytes_max
                );
                return Err(Error::invalid("history", reason));
            }
            let Ok(path) = String::from_utf8(difference.path) else { continue };
            files.push(ChangedFile { path, bytes, is_new: difference.old.is_none(), id: difference.new });
        }
        Ok(files)
    }

    /// A reader of the contents of [changed files](Repository::changed_files).
    pub fn file_reader(&self) -> Result<FileReader> {
        Ok(FileReader { repository: self.open()? })
    }

    /// Joins small packs where there are many. Returns how many were replaced; see the folder's documentation.
    pub fn consolidate(&self) -> Result<usize> {
        consolidate::consolidate(self)
    }

    /// Removes the packs that joined ones have replaced, once nobody reads them any more. [`Repository::consolidate`] does
    /// so too.
    pub fn remove_replaced(&self) -> Result<()> {
        consolidate::remove_replaced(&self.path, &self.pack_folder())
    }

    /// Removes pack files that a crash left half written.
    pub(super) fn remove_half_written(&self) -> Result<()> {
        let folder = self.pack_folder();
        for entry in fs::read_dir(&folder).map_err(Error::io("list", &folder))?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(TEMPORARY_PREFIX) {
                fs::remove_file(entry.path()).map_err(Error::io("remove", &entry.path()))?;
            }
        }
        Ok(())
    }

    /// Removes a pack that nothing refers to; one that is not there is no error.
    pub(super) fn remove_pack(&self, name: &str) -> Result<()> {
        // The name comes from a file; a pack's name is all that it may be.
        if !name.starts_with("pack-") || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Err(Error::corrupt("the name of a pending pack", format!("{name:?}")));
        }
        for extension in ["idx", "pack"] {
            let path = self.pack_folder().join(name).with_extension(extension);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io("remove", &path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn pack_folder(&self) -> PathBuf {
        self.path.join("objects/pack")
    }

    /// Opened afresh, so that packs written or joined meanwhile are seen; only the repository's own configuration is
    /// read, never the user's or the system's.
    pub(super) fn open(&self) -> Result<gix::Repository> {
        let options = gix::open::Options::isolated().open_path_as_is(true).with(gix::sec::Trust::Full);
        let shared =
            gix::ThreadSafeRepository::open_opts(&self.path, options).map_err(Error::git("open a repository"))?;
        Ok(shared.to_thread_local())
    }
}

/// Makes a bare repository under a temporary name and moves it into place, so that a crash leaves none half made.
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
    // Sample hooks would be a dozen files for every namespace; where they cannot be removed they do no harm.
    let _ = fs::remove_dir_all(temporary.join("hooks"));
    let packs = temporary.join("objects/pack");
    fs::create_dir_all(&packs).map_err(Error::io("create", &packs))?;
    for folder in [&packs, &temporary.join("objects"), &temporary.join("refs/heads"), &temporary.join("refs")] {
        sync_folder(folder)?;
    }
    for file in ["HEAD", "config"] {
        let file = temporary.join(file);
        fs::File::open(&file).and_then(|f| f.sync_all()).map_err(Error::io("sync", &file))?;
    }
    sync_folder(&temporary)?;
    fs::rename(&temporary, path).map_err(Error::io("rename into place", path))?;
    sync_folder(parent)
}

/// A commit's description, its first parent and its tree.
pub(super) fn commit(repository: &gix::Repository, id: ObjectId) -> Result<(CommitInfo, Option<ObjectId>, ObjectId)> {
    let object = repository.find_commit(id).map_err(Error::git("read a commit"))?;
    let parent = object.parent_ids().next().map(gix::Id::detach);
    let tree = object.tree_id().map_err(Error::git("read a commit"))?.detach();
    let time = object.time().map_err(Error::git("read a commit"))?;
    let message = object.message_raw().map_err(Error::git("read a commit"))?.to_str_lossy().into_owned();
    Ok((CommitInfo { id: CommitId(id), at_seconds: time.seconds, message }, parent, tree))
}

fn has_object(repository: &gix::Repository, id: ObjectId) -> Result<bool> {
    Ok(repository.try_find_header(id).map_err(Error::git("find a commit"))?.is_some())
}

/// A file of a commit that is there.
fn file_at(repository: &gix::Repository, commit: CommitId, path: &str) -> Result<Option<Vec<u8>>> {
    let (mut at, _) = tree_and_parents(repository, commit.0)?;
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match RawTree::read(repository, at)?.find(segment.as_bytes()) {
            Some(TreeEntry::Directory(id)) if !is_last => at = id,
            Some(TreeEntry::File(id)) if is_last => return content(repository, id, Kind::Blob).map(Some),
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// The files that differ below a directory of the root, or below the root where its name is empty.
fn differences(
    repository: &gix::Repository,
    folder: &str,
    from: Option<CommitId>,
    to: CommitId,
    limits: WalkLimits,
) -> Result<Vec<Difference>> {
    let old = match from {
        Some(from) => folder_of(repository, from, folder)?,
        None => None,
    };
    let new = folder_of(repository, to, folder)?;
    let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    Walk::new(repository, limits).compare(old, new, &prefix)
}

/// A directory of a commit's root, or the root where its name is empty.
fn folder_of(repository: &gix::Repository, commit: CommitId, folder: &str) -> Result<Option<ObjectId>> {
    let (root, _) = tree_and_parents(repository, commit.0)?;
    if folder.is_empty() {
        return Ok(Some(root));
    }
    let entry = RawTree::read(repository, root)?.find(folder.as_bytes());
    Ok(entry.and_then(TreeEntry::directory))
}
