//! A namespace's bare repository: opening, reading, comparing.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::objs::tree::EntryKind;

use super::pack::{TEMPORARY_PREFIX, sync_folder};
use super::{Writer, consolidate};
use crate::error::{Error, Result};

/// The one branch.
pub(super) const BRANCH: &str = "refs/heads/main";

/// Where it is.
pub(super) const BRANCHES: &str = "refs/heads";

/// A commit's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommitId(pub(super) ObjectId);

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

/// A bare repository on disk. Cheap to clone; each call opens what it needs.
#[derive(Clone, Debug)]
pub struct Repository {
    path: PathBuf,
}

impl Repository {
    /// Opens the repository at `path`, making it first where there is none.
    pub fn open_or_create(path: &Path) -> Result<Self> {
        if !path.join("HEAD").exists() {
            create(path)?;
        }
        Ok(Self { path: path.to_path_buf() })
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
    pub fn read(&self, commit: CommitId, path: &str) -> Result<Option<Vec<u8>>> {
        let repository = self.open()?;
        if repository.try_find_object(commit.0).map_err(Error::git("find a commit"))?.is_none() {
            return Ok(None);
        }
        let mut trees = Trees::new(&repository);
        let root = trees.root_of(commit.0)?;
        let Some(id) = trees.file(root, path)? else { return Ok(None) };
        Ok(Some(blob(&repository, id)?))
    }

    /// The files that differ between two commits; from nothing, every file.
    pub fn changes(&self, from: Option<CommitId>, to: CommitId) -> Result<Vec<Change>> {
        self.changes_below("", from, to)
    }

    /// The same for the files below a directory of the root; an empty name is the root itself.
    pub fn changes_below(&self, folder: &str, from: Option<CommitId>, to: CommitId) -> Result<Vec<Change>> {
        let repository = self.open()?;
        let mut trees = Trees::new(&repository);
        let mut tree_of = |commit: CommitId| {
            let root = trees.root_of(commit.0)?;
            if folder.is_empty() { Ok(Some(root)) } else { trees.folder(root, folder) }
        };
        let old = from.map(&mut tree_of).transpose()?.flatten();
        let new = tree_of(to)?;
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut differing = Vec::new();
        trees.compare(old, new, &prefix, &mut differing)?;
        let read = |(path, id): (String, Option<ObjectId>)| {
            let content = id.map(|id| blob(&repository, id)).transpose()?;
            Ok(Change { path, content })
        };
        differing.into_iter().map(read).collect()
    }

    /// First-parent history from `from` back to (not including) `until`, newest first, at most `limit` commits.
    pub fn log(&self, from: CommitId, until: Option<CommitId>, limit: usize) -> Result<Vec<CommitInfo>> {
        let repository = self.open()?;
        let mut commits = Vec::new();
        let mut next = Some(from.0);
        while let Some(id) = next.filter(|id| Some(CommitId(*id)) != until && commits.len() < limit) {
            let (info, parent, _) = commit(&repository, id)?;
            commits.push(info);
            next = parent;
        }
        Ok(commits)
    }

    /// The commits that changed each of the given files, newest first, at most `limit` a file.
    ///
    /// One walk serves all files. It ends when every file has its limit or its first revision.
    pub fn histories(&self, head: CommitId, paths: &[&str], limit: usize) -> Result<Vec<Vec<CommitInfo>>> {
        let repository = self.open()?;
        let mut trees = Trees::new(&repository);
        let mut found = vec![Vec::new(); paths.len()];
        let mut open: Vec<usize> = (0..paths.len()).collect();
        let mut next = Some(head.0);
        while let Some(id) = next.filter(|_| !open.is_empty()) {
            let (info, parent, root) = commit(&repository, id)?;
            let before = parent.map(|parent| trees.root_of(parent)).transpose()?;
            let mut still = Vec::new();
            for index in open {
                let now = trees.file(root, paths[index])?;
                let then = before.map(|root| trees.file(root, paths[index])).transpose()?.flatten();
                if now != then {
                    found[index].push(info.clone());
                }
                // A file that was not there before began here.
                let began = now.is_some() && then.is_none();
                if !began && found[index].len() < limit {
                    still.push(index);
                }
            }
            open = still;
            next = parent;
        }
        Ok(found)
    }

    /// Joins small packs where there are many. Returns how many were replaced; see the folder's documentation.
    pub fn consolidate(&self) -> Result<usize> {
        consolidate::consolidate(&self.path, &self.pack_folder())
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
    // Sample hooks would be a dozen files for every namespace.
    let hooks = temporary.join("hooks");
    if hooks.exists() {
        fs::remove_dir_all(&hooks).map_err(Error::io("remove", &hooks))?;
    }
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

fn blob(repository: &gix::Repository, id: ObjectId) -> Result<Vec<u8>> {
    let object = repository.find_object(id).map_err(Error::git("read a file"))?;
    Ok(object.detach().data)
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

/// An entry of a tree.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeEntry {
    Directory(ObjectId),
    File(ObjectId),
}

/// Reads a tree into names and entries; submodules are left out.
pub(super) fn read_tree(repository: &gix::Repository, id: ObjectId) -> Result<BTreeMap<Vec<u8>, TreeEntry>> {
    let tree = repository.find_tree(id).map_err(Error::git("read a directory"))?;
    let decoded = tree.decode().map_err(Error::git("read a directory"))?;
    let mut entries = BTreeMap::new();
    for entry in decoded.entries {
        let id = entry.oid.to_owned();
        let entry_of_kind = match entry.mode.kind() {
            EntryKind::Tree => TreeEntry::Directory(id),
            EntryKind::Commit => continue,
            EntryKind::Blob | EntryKind::BlobExecutable | EntryKind::Link => TreeEntry::File(id),
        };
        entries.insert(entry.filename.to_vec(), entry_of_kind);
    }
    Ok(entries)
}

/// Trees read so far, by id: histories and comparisons meet the same ones again and again.
struct Trees<'a> {
    repository: &'a gix::Repository,
    read: HashMap<ObjectId, BTreeMap<Vec<u8>, TreeEntry>>,
}

impl<'a> Trees<'a> {
    fn new(repository: &'a gix::Repository) -> Self {
        Self { repository, read: HashMap::new() }
    }

    fn root_of(&self, id: ObjectId) -> Result<ObjectId> {
        let commit = self.repository.find_commit(id).map_err(Error::git("read a commit"))?;
        Ok(commit.tree_id().map_err(Error::git("read a commit"))?.detach())
    }

    fn get(&mut self, id: ObjectId) -> Result<&BTreeMap<Vec<u8>, TreeEntry>> {
        match self.read.entry(id) {
            std::collections::hash_map::Entry::Occupied(found) => Ok(found.into_mut()),
            std::collections::hash_map::Entry::Vacant(slot) => Ok(slot.insert(read_tree(self.repository, id)?)),
        }
    }

    /// A directory of the root.
    fn folder(&mut self, root: ObjectId, name: &str) -> Result<Option<ObjectId>> {
        match self.get(root)?.get(name.as_bytes()) {
            Some(TreeEntry::Directory(id)) => Ok(Some(*id)),
            _ => Ok(None),
        }
    }

    fn file(&mut self, root: ObjectId, path: &str) -> Result<Option<ObjectId>> {
        let mut at = root;
        let mut segments = path.split('/').peekable();
        while let Some(segment) = segments.next() {
            match self.get(at)?.get(segment.as_bytes()).copied() {
                Some(TreeEntry::Directory(id)) if segments.peek().is_some() => at = id,
                Some(TreeEntry::File(id)) if segments.peek().is_none() => return Ok(Some(id)),
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    fn compare(
        &mut self,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        prefix: &str,
        differing: &mut Vec<(String, Option<ObjectId>)>,
    ) -> Result<()> {
        if old == new {
            return Ok(());
        }
        let before = old.map(|id| self.get(id).cloned()).transpose()?.unwrap_or_default();
        let after = new.map(|id| self.get(id).cloned()).transpose()?.unwrap_or_default();
        let mut names: Vec<&Vec<u8>> = before.keys().chain(after.keys()).collect();
        names.sort();
        names.dedup();
        for name in names {
            let (then, now) = (before.get(name).copied(), after.get(name).copied());
            // A name that is no UTF-8 cannot be a memory's path.
            let Some(text) = name.to_str().ok().filter(|_| then != now) else { continue };
            let path = format!("{prefix}{text}");
            let folder = |entry: Option<TreeEntry>| match entry {
                Some(TreeEntry::Directory(id)) => Some(id),
                _ => None,
            };
            if folder(then).is_some() || folder(now).is_some() {
                self.compare(folder(then), folder(now), &format!("{path}/"), differing)?;
            }
            match (then, now) {
                (_, Some(TreeEntry::File(id))) => differing.push((path, Some(id))),
                (Some(TreeEntry::File(_)), _) => differing.push((path, None)),
                _ => {}
            }
        }
        Ok(())
    }
}
