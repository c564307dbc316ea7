//! Making commits.
//!
//! The writer remembers the directories it has read, so a commit reads nothing that it has seen before and writes only
//! the changed files, the trees on their paths and the commit, all in one pack.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use gix::ObjectId;
use gix::objs::tree::name_order;
use gix::objs::{Commit, Kind, Tree};

use super::branch::BranchLock;
use super::pack::{PackBuilder, PackFile, sync_folder};
use super::repository::{BRANCH, BRANCHES, CommitId, Repository};
use super::tree::{TreeEntry, read_tree};
use crate::error::{Error, Result};

/// A file in the repository that names the pack and the commit that are being written, and that commit's parent. It is
/// not synced: after a loss of power it may be gone, or be that of an earlier commit.
const PENDING: &str = "cuebase-pending";
/// Stands in it for a parent where there is none.
const NO_PARENT: &str = "none";
const AUTHOR_NAME: &str = "Cuebase";
const AUTHOR_EMAIL: &str = "cuebase@localhost";
/// Directories above a file. Paths of memories and terms have far fewer; the bound keeps what follows a directory's
/// nesting by recursion off the end of the stack.
const DEPTH_MAX: usize = 64;

/// One file's change in a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Path from the root; valid as a memory's or vocabulary term's path.
    pub path: String,
    /// The new content, or none to remove the file.
    pub content: Option<Vec<u8>>,
}

/// What a commit says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitMessage {
    /// The first line.
    pub subject: String,
    /// What is said below it, lines of text; empty for nothing.
    pub body: String,
    /// Trailer lines, key and value.
    pub trailers: Vec<(String, String)>,
    /// Seconds since the epoch.
    pub at_seconds: i64,
}

/// The one writer of a namespace's repository.
pub struct Writer {
    repository: Repository,
    head: Option<ObjectId>,
    /// What the head holds; none until something is looked for in it.
    root: Option<Directory>,
    /// False from a failure on until the branch has been read again: what is remembered may never have been written.
    sound: bool,
}

/// A directory, read when it is first entered.
struct Directory {
    /// Its tree, when nothing below has changed since it was read or written.
    id: Option<ObjectId>,
    entries: Option<BTreeMap<Vec<u8>, Node>>,
}

/// The repository's objects, opened when the first one is read: a commit among directories that were seen before reads
/// none.
struct Objects<'a> {
    repository: &'a Repository,
    opened: OnceCell<gix::Repository>,
}

impl<'a> Objects<'a> {
    fn of(repository: &'a Repository) -> Self {
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

impl Writer {
    pub(super) fn new(repository: Repository) -> Result<Self> {
        let mut writer = Self { repository, head: None, root: None, sound: false };
        writer.reload()?;
        Ok(writer)
    }

    /// The commit that the next one will have as its parent.
    pub fn head(&self) -> Option<CommitId> {
        self.head.map(CommitId)
    }

    /// Whether what it remembers is what is there; after a failure it is not until [`Writer::reload`] has gone well.
    pub fn is_sound(&self) -> bool {
        self.sound
    }

    /// Whether a file is at that path.
    pub fn contains(&mut self, path: &str) -> Result<bool> {
        let objects = Objects::of(&self.repository);
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let root = root(&mut self.root, self.head, &objects)?;
        let Some(directory) = root.find(&objects, folder)? else { return Ok(false) };
        Ok(matches!(directory.entries(&objects)?.get(name.as_bytes()), Some(Node::File(_))))
    }

    /// The names in a directory; none at all where there is no such directory.
    pub fn names(&mut self, folder: &str) -> Result<Vec<String>> {
        let objects = Objects::of(&self.repository);
        let root = root(&mut self.root, self.head, &objects)?;
        let Some(directory) = root.find(&objects, folder)? else { return Ok(Vec::new()) };
        let names = directory.entries(&objects)?.keys();
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// Makes one durable commit of all edits and moves the branch to it.
    ///
    /// Fails with [`Error::Conflict`] when somebody else moved the branch (a push); the writer has then read the new
    /// head and the call can be made again. Edits that change nothing still make a commit.
    pub fn commit(&mut self, edits: &[Edit], message: &CommitMessage) -> Result<CommitId> {
        if !self.sound {
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
        let objects = Objects::of(&self.repository);
        let root = root(&mut self.root, self.head, &objects)?;
        let mut pack = PackBuilder::default();
        for edit in edits {
            let blob = edit.content.as_ref().map(|content| pack.add_blob(content)).transpose()?;
            let segments: Vec<&[u8]> = edit.path.split('/').map(str::as_bytes).collect();
            root.apply(&objects, &segments, blob)?;
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
        Ok(CommitId(id))
    }

    /// Publishes the pack that holds a commit and moves the branch to it, all of it durable.
    fn publish(&self, mut pack: PackFile, id: ObjectId) -> Result<()> {
        let pending = self.repository.path().join(PENDING);
        let name = pack.finish()?;
        let parent = self.head.map_or(NO_PARENT.to_owned(), |head| head.to_string());
        // Ahead of the pack's getting its name, so that a crash leaves no pack of which nothing is known.
        fs::write(&pending, format!("{name} {id} {parent}")).map_err(Error::io("write", &pending))?;
        pack.publish(name)?;
        let moved = self.move_branch(id);
        if let Err(Error::Conflict) = moved {
            // Somebody else's commit is the head now, and this one in nobody's history.
            self.repository.remove_pack(&name.to_string())?;
        }
        // After any other failure the pack goes when the head is read again, unless the branch has moved all the same.
        moved?;
        fs::remove_file(&pending).map_err(Error::io("remove", &pending))
    }

    /// Takes over what was pushed: the commits of a repository [apart](Repository::apart) from the head up to one, which
    /// must go on from there. Durable when it returns. Fails with [`Error::Conflict`] where the head is another one.
    pub fn take_in(&mut self, apart: &Repository, from: Option<CommitId>, to: CommitId) -> Result<()> {
        if !self.sound {
            self.reload()?;
        }
        if self.head() != from {
            return Err(Error::Conflict);
        }
        let had: Vec<CommitId> = from.into_iter().collect();
        let pack = apart.missing(&[to], &had)?.write_pack_file(&self.repository.pack_folder())?;
        let taken = self.publish(pack, to.0);
        self.reload()?;
        taken
    }

    /// Moves the branch if it is still where this writer left it. Fails with [`Error::Conflict`] only where it did not
    /// move.
    fn move_branch(&self, id: ObjectId) -> Result<()> {
        let lock = BranchLock::take(&self.repository)?;
        if self.repository.head()?.map(|head| head.0) != self.head {
            return Err(Error::Conflict);
        }
        lock.move_to(id)
    }

    /// Takes over the history of another repository on the same file system, which must go on where this one is.
    pub fn adopt(&mut self, other: &Repository, head: CommitId) -> Result<()> {
        let goes_on = self.head.map_or(Ok(true), |now| other.is_ancestor(CommitId(now), head))?;
        if !goes_on {
            return Err(Error::invalid("history", "it does not go on where the namespace's own one is"));
        }
        if self.head == Some(head.0) {
            return Ok(());
        }
        self.repository.take_packs(other)?;
        let moved = self.move_branch(head.0);
        self.reload()?;
        moved
    }

    /// Forgets what was read and starts from the branch as it is.
    pub fn reload(&mut self) -> Result<()> {
        self.sound = false;
        // A lock left by a crash is ours: this process is the only writer, and a push holds its own only for moments.
        let lock = self.repository.path().join(BRANCH).with_extension("lock");
        // One from the future was left before the clock was set back.
        let made = fs::metadata(&lock).and_then(|m| m.modified()).ok();
        let stale = made.map(|at| at.elapsed().unwrap_or(Duration::MAX));
        if stale.is_some_and(|age| age.as_secs() > 5) || (self.head.is_none() && stale.is_some()) {
            let _ = fs::remove_file(&lock);
        }
        self.head = self.repository.head()?.map(|head| head.0);
        // A branch that moved just before a failure may not be durable yet; whoever finds the commit builds on it.
        let folder = self.repository.path().join(BRANCHES);
        if folder.exists() {
            sync_folder(&folder)?;
        }
        self.sweep()?;
        self.root = None;
        self.sound = true;
        Ok(())
    }
}

/// What the head holds, from memory once it was read: opening a repository looks into none of its packs.
fn root<'a>(
    root: &'a mut Option<Directory>,
    head: Option<ObjectId>,
    objects: &Objects<'_>,
) -> Result<&'a mut Directory> {
    let read = match (root.take(), head) {
        (Some(known), _) => known,
        (None, None) => Directory::empty(),
        (None, Some(head)) => {
            let commit = objects.open()?.find_commit(head).map_err(Error::git("read a commit"))?;
            let tree = commit.tree_id().map_err(Error::git("read a commit"))?.detach();
            Directory { id: Some(tree), entries: None }
        }
    };
    Ok(root.insert(read))
}

impl Writer {
    /// Removes what a crash left: half-written files, and the pack of a commit that never became the head.
    fn sweep(&self) -> Result<()> {
        self.repository.remove_half_written()?;
        let pending = self.repository.path().join(PENDING);
        let Ok(text) = fs::read_to_string(&pending) else { return Ok(()) };
        let mut parts = text.split_whitespace();
        let head = self.head.map_or(NO_PARENT.to_owned(), |head| head.to_string());
        // A commit whose parent is the head is not in its history. Of any other one that is not known: its pack stays.
        if let (Some(pack), Some(_), Some(parent)) = (parts.next(), parts.next(), parts.next())
            && parent == head
        {
            self.repository.remove_pack(pack)?;
        }
        fs::remove_file(&pending).map_err(Error::io("remove", &pending))
    }
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

    /// The entries, read now if they were not.
    fn entries(&mut self, objects: &Objects<'_>) -> Result<&mut BTreeMap<Vec<u8>, Node>> {
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

    fn find(&mut self, objects: &Objects<'_>, folder: &str) -> Result<Option<&mut Self>> {
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

    /// Puts a blob at a path below, or takes it away; directories come and go with their files.
    fn apply(&mut self, objects: &Objects<'_>, path: &[&[u8]], blob: Option<ObjectId>) -> Result<()> {
        check_depth(path.len())?;
        let Some((name, rest)) = path.split_first() else { return Ok(()) };
        // Read before the id is dropped: it is where the entries are read from.
        self.entries(objects)?;
        self.id = None;
        let entries = self.entries(objects)?;
        if rest.is_empty() {
            match blob {
                Some(id) => drop(entries.insert(name.to_vec(), Node::File(id))),
                None => drop(entries.remove(*name)),
            }
            return Ok(());
        }
        let node = entries.entry(name.to_vec()).or_insert_with(|| Node::Directory(Self::empty()));
        if let Node::File(_) = node {
            *node = Node::Directory(Self::empty());
        }
        let Node::Directory(directory) = node else { return Ok(()) };
        directory.apply(objects, rest, blob)?;
        if directory.entries.as_ref().is_some_and(BTreeMap::is_empty) {
            entries.remove(*name);
        }
        Ok(())
    }

    /// Writes every changed tree from the leaves up; none when the directory is empty. Only directories that were looked
    /// into are held, none of them nested deeper than [`DEPTH_MAX`].
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
                written.push(Written { name, is_directory, id });
            }
        }
        if written.is_empty() {
            return Ok(None);
        }
        // Git's order: a directory's name sorts as if it ended in a slash. Files alone are in order already.
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

/// What an entry of a tree takes beside its name: mode, space, NUL and id.
const ENTRY_BYTES: usize = 7 + 1 + 20;

/// An entry of a tree that is being written. Thousands of them refer to their names; none is copied.
struct Written<'a> {
    name: &'a [u8],
    is_directory: bool,
    id: ObjectId,
}

fn check_depth(depth: usize) -> Result<()> {
    if depth > DEPTH_MAX {
        return Err(Error::invalid("path", format!("is nested more than {DEPTH_MAX} directories deep")));
    }
    Ok(())
}
