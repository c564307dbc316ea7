//! Writing commits.
//!
//! The writer caches the directories it has read, so a commit reads each of them only once. It writes the changed
//! files, the trees on their paths and the commit, all in one pack.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use gix::ObjectId;
use gix::objs::tree::name_order;
use gix::objs::{Commit, Kind, Tree};

use super::branch::BranchLock;
use super::changes::FileReader;
use super::commit::CommitId;
use super::pack::{PackBuilder, PackFile, sync_folder};
use super::recent_files::RecentFiles;
use super::repository::{BRANCH, BRANCHES, Repository};
use super::tree::{TreeEntry, read_tree};
use crate::error::{Error, NameKind, Result};

/// A file in the repository that names the pack and the commit being written, and that commit's parent. It is not
/// synced: after a loss of power it may be missing or describe an earlier commit.
const PENDING: &str = "cuebase-pending";
/// Marks a commit without a parent in that file.
const NO_PARENT: &str = "none";
/// Age in seconds above which the branch's lock was left by a crash.
const LOCK_SECONDS_MAX: u64 = 5;
const AUTHOR_NAME: &str = "Cuebase";
const AUTHOR_EMAIL: &str = "cuebase@localhost";
/// Directories above a file. Paths of memories and terms have far fewer; the limit keeps functions that recurse into
/// directories from overflowing the stack.
const DEPTH_MAX: usize = 64;
/// Size of a tree entry without its name: mode, space, NUL and id.
const ENTRY_BYTES: usize = 7 + 1 + 20;

/// A change of one file in a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Path from the root, valid as the path of a memory or a vocabulary term.
    pub path: String,
    /// The new content, or `None` to remove the file.
    pub content: Option<Vec<u8>>,
}

/// The message and the time of a new commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitMessage {
    /// The first line.
    pub subject: String,
    /// Lines of text below the subject; may be empty.
    pub body: String,
    /// Trailer lines as pairs of key and value.
    pub trailers: Vec<(String, String)>,
    /// Time of the commit in seconds since the epoch.
    pub at_seconds: i64,
}

/// The only writer of a namespace's repository.
pub struct Writer {
    repository: Repository,
    head: Option<ObjectId>,
    /// The cached root of the head; `None` until it is first used.
    root: Option<Directory>,
    recent: RecentFiles,
    /// Packs that can be written before a size class may be full; zero if that is not known.
    packs_until_full: usize,
    /// False from a failure until the next reload: the cached state may never have been written.
    consistent: bool,
}

/// A directory whose entries are read on first use.
struct Directory {
    /// Its tree; `None` if something below has changed since it was read or written.
    id: Option<ObjectId>,
    entries: Option<BTreeMap<Vec<u8>, Node>>,
}

/// The repository's objects, opened on first use. A commit that changes only cached directories reads no object.
struct LazyObjects<'a> {
    repository: &'a Repository,
    opened: OnceCell<gix::Repository>,
}

impl<'a> LazyObjects<'a> {
    fn new(repository: &'a Repository) -> Self {
        Self { repository, opened: OnceCell::new() }
    }

    fn open(&self) -> Result<&gix::Repository> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let opened = self.repository.open()?;
        Ok(self.opened.get_or_init(|| opened))
    }
}

enum Node {
    Directory(Directory),
    File(ObjectId),
}

impl Repository {
    /// Returns a writer that starts from the current head.
    pub fn writer(&self) -> Result<Writer> {
        Writer::new(self.clone())
    }
}

impl Writer {
    fn new(repository: Repository) -> Result<Self> {
        let mut writer = Self {
            repository,
            head: None,
            root: None,
            recent: RecentFiles::default(),
            packs_until_full: 0,
            consistent: false,
        };
        writer.reload()?;
        Ok(writer)
    }

    /// Returns the parent of the next commit.
    pub fn head(&self) -> Option<CommitId> {
        self.head.map(CommitId)
    }

    /// Returns whether the cached state matches the repository. After a failure it does not, until [`Writer::reload`]
    /// succeeds.
    pub fn is_consistent(&self) -> bool {
        self.consistent
    }

    /// Returns whether a file exists at a path.
    pub fn contains(&mut self, path: &str) -> Result<bool> {
        Ok(self.file(path)?.is_some())
    }

    /// Returns the content of the file at a path of the head, or `None` if no file exists there. `reader` is a
    /// [reader](Repository::file_reader) of the same repository. Directories are read only on first use, so reading
    /// many files of a large directory decodes it once.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] also if a damaged pack index hides the content. [`Repository::read`] rebuilds such an index.
    pub fn read_file(&mut self, path: &str, reader: &FileReader) -> Result<Option<Vec<u8>>> {
        match self.file(path)? {
            Some(id) => reader.blob(id).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the content of the file at a path of the head if this writer wrote it a moment ago.
    pub fn recent_file(&mut self, path: &str) -> Result<Option<&[u8]>> {
        match self.file(path)? {
            Some(id) => Ok(self.recent.get(id)),
            None => Ok(None),
        }
    }

    fn file(&mut self, path: &str) -> Result<Option<ObjectId>> {
        let objects = LazyObjects::new(&self.repository);
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let root = cached_root(&mut self.root, self.head, &objects)?;
        let Some(directory) = root.find(&objects, folder)? else { return Ok(None) };
        match directory.entries(&objects)?.get(name.as_bytes()) {
            Some(Node::File(id)) => Ok(Some(*id)),
            _ => Ok(None),
        }
    }

    /// Returns whether a file or a directory exists at a path.
    pub fn is_taken(&mut self, path: &str) -> Result<bool> {
        let objects = LazyObjects::new(&self.repository);
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let root = cached_root(&mut self.root, self.head, &objects)?;
        let Some(directory) = root.find(&objects, folder)? else { return Ok(false) };
        Ok(directory.entries(&objects)?.contains_key(name.as_bytes()))
    }

    /// Returns the names in a directory. A directory that does not exist has none.
    pub fn names(&mut self, folder: &str) -> Result<Vec<String>> {
        let objects = LazyObjects::new(&self.repository);
        let root = cached_root(&mut self.root, self.head, &objects)?;
        let Some(directory) = root.find(&objects, folder)? else { return Ok(Vec::new()) };
        let names = directory.entries(&objects)?.keys();
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// Returns the paths of all files below a directory, sorted. A directory that does not exist has none.
    pub fn files_below(&mut self, folder: &str) -> Result<Vec<String>> {
        let objects = LazyObjects::new(&self.repository);
        let root = cached_root(&mut self.root, self.head, &objects)?;
        let mut folders = vec![folder.to_owned()];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            let Some(directory) = root.find(&objects, &folder)? else { continue };
            for (name, node) in directory.entries(&objects)? {
                let path = format!("{folder}/{}", String::from_utf8_lossy(name));
                match node {
                    Node::File(_) => files.push(path),
                    Node::Directory(_) => folders.push(path),
                }
            }
        }
        files.sort();
        Ok(files)
    }

    /// Writes one durable commit with all edits and moves the branch to it. Edits that change nothing still create a
    /// commit. Files are removed before others are written, so a directory that becomes empty frees its name.
    ///
    /// # Errors
    ///
    /// [`Error::NameTaken`] if a file would replace a directory, or a directory a file.
    ///
    /// [`Error::Conflict`] if the branch was moved by someone else, such as a push. The writer has then read the new
    /// head, and the call can be repeated.
    pub fn commit(&mut self, edits: &[Edit], message: &CommitMessage) -> Result<CommitId> {
        if !self.consistent {
            self.reload()?;
            return Err(Error::Conflict);
        }
        let result = self.try_commit(edits, message);
        if result.is_err() {
            self.reload()?;
        }
        result
    }

    fn try_commit(&mut self, edits: &[Edit], message: &CommitMessage) -> Result<CommitId> {
        let objects = LazyObjects::new(&self.repository);
        let root = cached_root(&mut self.root, self.head, &objects)?;
        let mut pack = PackBuilder::default();
        for edit in edits {
            if edit.content.is_none() {
                root.remove(&objects, &segments_of(&edit.path)?)?;
            }
        }
        let mut written = Vec::with_capacity(edits.len());
        for edit in edits {
            if let Some(content) = &edit.content {
                let id = pack.add_blob(content)?;
                written.push((id, content));
                root.insert(&objects, &segments_of(&edit.path)?, 0, id)?;
            }
        }
        let tree = match root.write(&mut pack)? {
            Some(tree) => tree,
            None => pack.add_object(&Tree::empty())?,
        };
        let signature = gix::actor::Signature {
            name: AUTHOR_NAME.into(),
            email: AUTHOR_EMAIL.into(),
            time: gix::date::Time { seconds: message.at_seconds, offset: 0 },
        };
        let id = pack.add_object(&Commit {
            tree,
            parents: self.head.into_iter().collect(),
            author: signature.clone(),
            committer: signature,
            encoding: None,
            message: message.text().into(),
            extra_headers: Vec::new(),
        })?;
        self.publish(pack.write(&self.repository.pack_folder())?, id)?;
        self.head = Some(id);
        for (blob, content) in written {
            self.recent.add(blob, content);
        }
        self.packs_until_full = self.packs_until_full.saturating_sub(1);
        Ok(CommitId(id))
    }

    /// Joins small packs as [`Repository::consolidate`] does. Lists the packs only if a size class can be full.
    pub fn consolidate(&mut self) -> Result<()> {
        if self.packs_until_full == 0 {
            self.packs_until_full = self.repository.consolidate()?;
        }
        Ok(())
    }

    /// Publishes the pack of a commit and moves the branch to the commit. Both are durable when this returns.
    fn publish(&self, mut pack: PackFile, id: ObjectId) -> Result<()> {
        let pending = self.repository.path().join(PENDING);
        let name = pack.finish()?;
        // Written before the pack is renamed, so that a crash leaves no unknown pack.
        fs::write(&pending, format!("{name} {id} {}", self.pending_parent())).map_err(Error::io("write", &pending))?;
        pack.publish(name)?;
        let moved = self.move_branch(id);
        if let Err(Error::Conflict) = moved {
            // Another commit is the head now, and no history contains this one.
            self.repository.remove_pack(&name.to_string())?;
        }
        // After any other failure, the next reload removes the pack unless the branch has moved nevertheless.
        moved?;
        fs::remove_file(&pending).map_err(Error::io("remove", &pending))
    }

    /// Returns the parent of the next commit as [`PENDING`] stores it.
    fn pending_parent(&self) -> String {
        match self.head {
            Some(head) => head.to_string(),
            None => NO_PARENT.to_owned(),
        }
    }

    /// Accepts a push: copies the commits after `from` up to `to` from a [scratch repository](Repository::open_scratch)
    /// and moves the branch to `to`, which must be a descendant of `from`. The result is durable when this returns.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if the head is not `from`.
    pub fn accept_push(&mut self, scratch: &Repository, from: Option<CommitId>, to: CommitId) -> Result<()> {
        if !self.consistent {
            self.reload()?;
        }
        if self.head() != from {
            return Err(Error::Conflict);
        }
        let had: Vec<CommitId> = from.into_iter().collect();
        let pack = scratch.missing(&[to], &had)?.write_pack_file(&self.repository.pack_folder())?;
        let published = self.publish(pack, to.0);
        self.reload()?;
        published
    }

    /// Moves the branch from the writer's head to a commit.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if the branch is elsewhere or locked. The branch has then not moved.
    fn move_branch(&self, id: ObjectId) -> Result<()> {
        let lock = BranchLock::take(&self.repository)?;
        if self.repository.head()?.map(|head| head.0) != self.head {
            return Err(Error::Conflict);
        }
        self.repository.publish(self.head(), CommitId(id))?;
        lock.move_to(id)
    }

    /// Moves the branch from the writer's head to a commit of this repository, and reads the branch again.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if the branch is elsewhere or locked. The branch has then not moved.
    pub(super) fn move_to(&mut self, head: CommitId) -> Result<()> {
        let moved = self.move_branch(head.0);
        self.reload()?;
        moved
    }

    /// Moves the packs of another repository on the same file system here, and the branch to its `head`.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if `head` is not a descendant of this repository's head.
    pub fn import_history(&mut self, other: &Repository, head: CommitId) -> Result<()> {
        if let Some(own) = self.head
            && !other.is_ancestor(CommitId(own), head)?
        {
            return Err(Error::invalid("history", "it does not continue the namespace's own history"));
        }
        if self.head == Some(head.0) {
            return Ok(());
        }
        self.repository.take_packs(other)?;
        self.move_to(head)
    }

    /// Clears the cache and reads the branch again. Removes what a crash left.
    pub fn reload(&mut self) -> Result<()> {
        self.consistent = false;
        self.repository.follow_ledger()?;
        // This process is the only writer, and a push by git holds the lock only briefly. An old lock is from a crash.
        let lock = self.repository.path().join(BRANCH).with_extension("lock");
        if let Some(age) = lock_age(&lock)
            && (age.as_secs() > LOCK_SECONDS_MAX || self.head.is_none())
        {
            let _ = fs::remove_file(&lock);
        }
        self.head = self.repository.head()?.map(|head| head.0);
        // A branch that moved just before a failure may not be durable yet, and later commits build on it.
        let folder = self.repository.path().join(BRANCHES);
        if folder.exists() {
            sync_folder(&folder)?;
        }
        self.remove_unfinished()?;
        self.root = None;
        // An erased text must not stay in memory either.
        self.recent = RecentFiles::default();
        self.packs_until_full = 0;
        self.consistent = true;
        Ok(())
    }

    /// Removes what a crash left: temporary files, and the pack of a commit that never became the head.
    fn remove_unfinished(&self) -> Result<()> {
        self.repository.remove_temporary_packs()?;
        let pending = self.repository.path().join(PENDING);
        let Ok(text) = fs::read_to_string(&pending) else { return Ok(()) };
        let mut parts = text.split_whitespace();
        // A commit whose parent is the head cannot be in the head's history. For any other parent it may be, so the
        // pack is kept.
        if let (Some(pack), Some(_), Some(parent)) = (parts.next(), parts.next(), parts.next())
            && parent == self.pending_parent()
        {
            self.repository.remove_pack(pack)?;
        }
        fs::remove_file(&pending).map_err(Error::io("remove", &pending))
    }
}

/// Returns how long ago a lock file was created, or `None` if it does not exist.
fn lock_age(lock: &Path) -> Option<Duration> {
    let metadata = fs::metadata(lock).ok()?;
    let modified = metadata.modified().ok()?;
    // A lock from the future was left before the clock was set back.
    Some(modified.elapsed().unwrap_or(Duration::MAX))
}

/// Returns the root of the head, and reads it on first use: opening a repository reads none of its packs.
fn cached_root<'a>(
    root: &'a mut Option<Directory>,
    head: Option<ObjectId>,
    objects: &LazyObjects<'_>,
) -> Result<&'a mut Directory> {
    let directory = match (root.take(), head) {
        (Some(cached), _) => cached,
        (None, None) => Directory::empty(),
        (None, Some(head)) => {
            let commit = objects.open()?.find_commit(head).map_err(Error::git("read a commit"))?;
            let tree = commit.tree_id().map_err(Error::git("read a commit"))?.detach();
            Directory { id: Some(tree), entries: None }
        }
    };
    Ok(root.insert(directory))
}

impl CommitMessage {
    fn text(&self) -> String {
        let mut text = format!("{}\n", self.subject);
        if !self.body.is_empty() {
            text.push_str(&format!("\n{}\n", self.body.trim_end()));
        }
        if !self.trailers.is_empty() {
            text.push('\n');
        }
        for (key, value) in &self.trailers {
            text.push_str(&format!("{key}: {value}\n"));
        }
        text
    }
}

impl Directory {
    fn empty() -> Self {
        Self { id: None, entries: Some(BTreeMap::new()) }
    }

    /// Returns the entries, and reads them on first use.
    fn entries(&mut self, objects: &LazyObjects<'_>) -> Result<&mut BTreeMap<Vec<u8>, Node>> {
        if self.entries.is_none() {
            let mut entries = BTreeMap::new();
            if let Some(id) = self.id {
                for (name, entry) in read_tree(objects.open()?, id)? {
                    let node = match entry {
                        TreeEntry::Directory(id) => Node::Directory(Self { id: Some(id), entries: None }),
                        TreeEntry::File(id) => Node::File(id),
                    };
                    entries.insert(name, node);
                }
            }
            self.entries = Some(entries);
        }
        Ok(self.entries.get_or_insert_default())
    }

    fn find(&mut self, objects: &LazyObjects<'_>, folder: &str) -> Result<Option<&mut Self>> {
        let mut at = self;
        for (depth, segment) in folder.split('/').filter(|segment| !segment.is_empty()).enumerate() {
            check_depth(depth)?;
            match at.entries(objects)?.get_mut(segment.as_bytes()) {
                Some(Node::Directory(directory)) => at = directory,
                _ => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// Puts a blob at a path, whose segment `depth` is a name in this directory. Creates missing directories.
    ///
    /// # Errors
    ///
    /// [`Error::NameTaken`] if the path is that of a directory, or a file has the name of a directory above it.
    fn insert(&mut self, objects: &LazyObjects<'_>, path: &[&str], depth: usize, blob: ObjectId) -> Result<()> {
        let Some(name) = path.get(depth) else { return Ok(()) };
        // The entries are read through the id, so this comes before the id is cleared.
        self.entries(objects)?;
        self.id = None;
        let entries = self.entries(objects)?;
        if depth + 1 == path.len() {
            if let Some(Node::Directory(_)) = entries.get(name.as_bytes()) {
                return Err(name_taken(path, depth, NameKind::Directory));
            }
            entries.insert(name.as_bytes().to_vec(), Node::File(blob));
            return Ok(());
        }
        let node = entries.entry(name.as_bytes().to_vec()).or_insert_with(|| Node::Directory(Self::empty()));
        match node {
            Node::Directory(directory) => directory.insert(objects, path, depth + 1, blob),
            Node::File(_) => Err(name_taken(path, depth, NameKind::File)),
        }
    }

    /// Removes the file at a path below this directory, and the directories that become empty. A directory at the path
    /// itself stays: it is removed with its last file.
    fn remove(&mut self, objects: &LazyObjects<'_>, path: &[&str]) -> Result<()> {
        let Some((name, rest)) = path.split_first() else { return Ok(()) };
        // The entries are read through the id, so this comes before the id is cleared.
        self.entries(objects)?;
        self.id = None;
        let entries = self.entries(objects)?;
        let is_removed = match entries.get_mut(name.as_bytes()) {
            Some(Node::File(_)) => rest.is_empty(),
            Some(Node::Directory(directory)) if !rest.is_empty() => {
                directory.remove(objects, rest)?;
                matches!(&directory.entries, Some(below) if below.is_empty())
            }
            _ => false,
        };
        if is_removed {
            entries.remove(name.as_bytes());
        }
        Ok(())
    }

    /// Writes every changed tree from the leaves up. Returns `None` if the directory is empty. The recursion is
    /// bounded, since cached directories are nested at most [`DEPTH_MAX`] deep.
    fn write(&mut self, pack: &mut PackBuilder) -> Result<Option<ObjectId>> {
        if self.id.is_some() {
            return Ok(self.id);
        }
        let Some(entries) = &mut self.entries else { return Ok(None) };
        let mut written = Vec::with_capacity(entries.len());
        let mut bytes = 0;
        for (name, node) in entries {
            let (is_directory, id) = match node {
                Node::File(id) => (false, Some(*id)),
                Node::Directory(directory) => (true, directory.write(pack)?),
            };
            if let Some(id) = id {
                bytes += ENTRY_BYTES + name.len();
                written.push(NewEntry { name, is_directory, id });
            }
        }
        if written.is_empty() {
            return Ok(None);
        }
        // In git's order a directory's name sorts as if it ended in a slash.
        written.sort_by(|one, other| name_order(one.name, one.is_directory, other.name, other.is_directory));
        let mut tree = Vec::with_capacity(bytes);
        for entry in &written {
            let mode: &[u8] = if entry.is_directory { b"40000 " } else { b"100644 " };
            tree.extend_from_slice(mode);
            tree.extend_from_slice(entry.name);
            tree.push(0);
            tree.extend_from_slice(entry.id.as_slice());
        }
        self.id = Some(pack.add(Kind::Tree, &tree)?);
        Ok(self.id)
    }
}

/// An entry of a tree that is being written. It borrows its name, since a tree may have thousands.
struct NewEntry<'a> {
    name: &'a [u8],
    is_directory: bool,
    id: ObjectId,
}

/// Splits a path into its segments.
fn segments_of(path: &str) -> Result<Vec<&str>> {
    let segments: Vec<&str> = path.split('/').collect();
    check_depth(segments.len())?;
    Ok(segments)
}

/// Returns the error for a file that cannot be written because its segment `depth` is the name of something else.
fn name_taken(path: &[&str], depth: usize, kind: NameKind) -> Error {
    Error::NameTaken { path: path.join("/"), existing: path[..=depth].join("/"), kind }
}

fn check_depth(depth: usize) -> Result<()> {
    if depth > DEPTH_MAX {
        return Err(Error::invalid("path", format!("is nested more than {DEPTH_MAX} directories deep")));
    }
    Ok(())
}
