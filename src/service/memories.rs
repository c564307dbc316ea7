//! Memories by path: one memory, and all memories as a tree, as topics, as a graph.

use std::collections::{BTreeMap, HashSet};

use cuebase_retrieval::{Error as IndexError, Memory, Relation, Snapshot};
use cuebase_storage::git::CommitId;
use cuebase_storage::memory_file::{MemoryFile, MemoryPath, markdown};
use cuebase_storage::{AccountId, NamespaceName};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reads::Reads;
use super::retrieval::{HitValidity, HitView, histories, history_at};
use super::smallest_keys::SmallestKeys;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::files;
use crate::memory::time::format_ms;
use crate::namespace::registry::Lease;

/// The part, the revision and the details of a memory to be read.
#[derive(Clone, Debug, Default)]
pub struct MemoryReadOptions<'a> {
    /// Name of a heading: only its section is returned.
    pub section: Option<&'a str>,
    /// Commit id: the memory is returned as of this commit.
    pub revision: Option<&'a str>,
    /// Whether history, last diff, relations and cues are added.
    pub full: bool,
}

/// An entry of a directory.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct TreeEntry {
    /// Path of the memory or the directory.
    pub path: String,
    /// What is at the path.
    pub kind: EntryKind,
    /// Directories: number of memories below.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", extend("minimum" = 1))]
    pub memories: Option<u64>,
    /// When the memory, or a memory below the directory, was last written.
    #[schemars(extend("format" = "date-time"))]
    pub updated_at: Option<String>,
}

/// The kind of an entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// One memory.
    Memory,
    /// A directory of memories.
    Directory,
}

/// A directory directly below a tier. Memories directly in the tier have an empty topic.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Topic {
    /// Name of the tier.
    #[schemars(extend("enum" = ["facts", "incidents", "rules", "skills"]))]
    pub tier: String,
    /// Name of the directory.
    pub topic: String,
    /// Number of memories.
    #[schemars(extend("minimum" = 1))]
    pub memories: u64,
    /// When one of the memories was last written.
    #[schemars(extend("format" = "date-time"))]
    pub updated_at: Option<String>,
}

/// Memories and the relations between them.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GraphView {
    /// The memories.
    nodes: Vec<GraphNode>,
    /// The relations between them.
    edges: Vec<GraphEdge>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct GraphNode {
    /// Path of the memory.
    path: String,
    /// Title of the memory.
    title: String,
    /// Tier of the memory.
    #[schemars(extend("enum" = ["facts", "incidents", "rules", "skills"]))]
    tier: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct GraphEdge {
    /// Path of the memory with the link.
    from: String,
    /// Path of the linked memory.
    to: String,
    /// Kind of the relation.
    kind: String,
    /// Text around the link.
    snippet: String,
}

/// The fields of a memory that a graph shows.
struct GraphMemory {
    path: String,
    title: String,
    relations: Vec<Relation>,
}

impl GraphMemory {
    fn of(memory: Memory) -> Self {
        Self { title: markdown::title(&memory.content), path: memory.path, relations: memory.relations }
    }
}

/// The number of memories of a group, and the time of its last update.
#[derive(Clone, Copy, Default)]
struct GroupSummary {
    memories: u64,
    updated: Option<i64>,
}

impl GroupSummary {
    fn add(&mut self, memory: &Memory) {
        self.memories += 1;
        self.updated = self.updated.max(memory.updated);
    }
}

impl Reads {
    /// Returns a memory.
    pub fn memory(
        &self,
        account: &AccountId,
        namespace: &NamespaceName,
        path: &MemoryPath,
        options: &MemoryReadOptions<'_>,
    ) -> Result<HitView> {
        let lease = self.namespaces.lease(account, namespace)?;
        let found = match options.revision {
            Some(revision) => {
                let commit = commit_of(revision)?;
                let bytes = lease.read_git(|repository| Ok(repository.read(commit, path.as_str())?))?;
                bytes.map(|bytes| (commit, bytes))
            }
            None => lease.read_at_head(|repository, head| {
                let bytes = repository.read(head, path.as_str())?;
                Ok(bytes.map(|bytes| (head, bytes)))
            })?,
        };
        let Some((commit, bytes)) = found else { return Err(no_memory(path)) };
        let Ok(file) = MemoryFile::parse(&bytes) else { return Err(unreadable(&lease, commit)) };
        let mut memory = files::to_memory(path, file, &|_| None);
        let mut sections = markdown::sections(&memory.content);
        if let Some(name) = options.section {
            sections.retain(|section| section.name == name);
            let Some(section) = sections.first() else {
                return Err(Error::not_found(ErrorCode::NotFound, format!("{path} has no section {name:?}")));
            };
            memory.content = memory.content[section.range.clone()].to_owned();
            sections.truncate(1);
        }
        let names = sections.into_iter().map(|section| section.name).collect();
        let history = match (options.full, options.revision) {
            (false, _) => None,
            (true, Some(_)) => Some(history_at(&lease, commit, path.as_str())?),
            (true, None) => histories(&lease, Some(commit), &[path.as_str()])?.pop(),
        };
        let validity = validity_of(&lease, path, self.clock.now(), &memory)?;
        Ok(HitView::of_memory(memory, 1.0, names, validity, history))
    }

    /// Returns the entries of a directory, by path. An empty name is the root.
    pub fn tree(&self, account: &AccountId, namespace: &NamespaceName, folder: &str) -> Result<Vec<TreeEntry>> {
        let lease = self.namespaces.lease(account, namespace)?;
        lease.read(|snapshot| read_tree(snapshot, folder))
    }

    /// Returns all topics, by tier and name.
    pub fn topics(&self, account: &AccountId, namespace: &NamespaceName) -> Result<Vec<Topic>> {
        let lease = self.namespaces.lease(account, namespace)?;
        lease.read(read_topics)
    }

    /// Returns the memories near a given one, within a number of relations, or the namespace's first by path. The
    /// relations between them are the edges.
    pub fn graph(
        &self,
        account: &AccountId,
        namespace: &NamespaceName,
        around: Option<(&MemoryPath, usize)>,
        limit: usize,
    ) -> Result<GraphView> {
        let lease = self.namespaces.lease(account, namespace)?;
        let memories = match around {
            Some((path, depth)) => {
                let near = lease.read(|snapshot| read_neighbourhood(snapshot, path, depth, limit))?;
                if near.is_empty() {
                    return Err(no_memory(path));
                }
                near
            }
            None => lease.read(|snapshot| read_first(snapshot, limit))?,
        };
        Ok(GraphView::of(&memories))
    }
}

impl GraphView {
    /// Makes a graph of memories. Relations to other memories are left out.
    fn of(memories: &[GraphMemory]) -> Self {
        let shown: HashSet<&str> = memories.iter().map(|memory| memory.path.as_str()).collect();
        let mut nodes = Vec::with_capacity(memories.len());
        let mut edges = Vec::new();
        for memory in memories {
            let (tier, _) = memory.path.split_once('/').unwrap_or((memory.path.as_str(), ""));
            nodes.push(GraphNode { path: memory.path.clone(), title: memory.title.clone(), tier: tier.to_owned() });
            for relation in &memory.relations {
                if shown.contains(relation.path.as_str()) {
                    edges.push(GraphEdge {
                        from: memory.path.clone(),
                        to: relation.path.clone(),
                        kind: relation.kind.clone(),
                        snippet: relation.snippet.clone(),
                    });
                }
            }
        }
        Self { nodes, edges }
    }
}

/// Returns the entries of a directory, by path. Reads the memories one at a time.
fn read_tree(snapshot: &Snapshot, folder: &str) -> Result<Vec<TreeEntry>, IndexError> {
    let mut folders: BTreeMap<String, GroupSummary> = BTreeMap::new();
    let mut entries = Vec::new();
    for memory in snapshot.all() {
        let memory = memory?;
        let Some(below) = path_below(&memory.path, folder) else { continue };
        match below.split_once('/') {
            Some((name, _)) => folders.entry(join(folder, name)).or_default().add(&memory),
            None => entries.push(TreeEntry {
                path: memory.path.clone(),
                kind: EntryKind::Memory,
                memories: None,
                updated_at: format_time(memory.updated),
            }),
        }
    }
    for (path, summary) in folders {
        entries.push(TreeEntry {
            path,
            kind: EntryKind::Directory,
            memories: Some(summary.memories),
            updated_at: format_time(summary.updated),
        });
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

/// Returns all topics, by tier and name. Reads the memories one at a time.
fn read_topics(snapshot: &Snapshot) -> Result<Vec<Topic>, IndexError> {
    let mut summaries: BTreeMap<(String, String), GroupSummary> = BTreeMap::new();
    for memory in snapshot.all() {
        let memory = memory?;
        let (tier, topic) = tier_and_topic(&memory.path);
        summaries.entry((tier.to_owned(), topic.to_owned())).or_default().add(&memory);
    }
    let mut topics = Vec::with_capacity(summaries.len());
    for ((tier, topic), summary) in summaries {
        let updated_at = format_time(summary.updated);
        topics.push(Topic { tier, topic, memories: summary.memories, updated_at });
    }
    Ok(topics)
}

/// Returns the memories within `depth` relations of a path, nearest first. Returns nothing if the path holds no memory.
fn read_neighbourhood(
    snapshot: &Snapshot,
    path: &MemoryPath,
    depth: usize,
    limit: usize,
) -> Result<Vec<GraphMemory>, IndexError> {
    let mut memories = Vec::new();
    for stored in snapshot.neighbourhood(path.as_str(), depth, limit) {
        memories.push(GraphMemory::of(stored.read()?));
    }
    Ok(memories)
}

/// Returns the first memories of a namespace, by path. Reads the memories one at a time.
fn read_first(snapshot: &Snapshot, limit: usize) -> Result<Vec<GraphMemory>, IndexError> {
    let mut first = SmallestKeys::new(limit);
    for memory in snapshot.all() {
        let memory = memory?;
        if first.has_place_for(&memory.path) {
            first.insert(memory.path.clone(), GraphMemory::of(memory));
        }
    }
    Ok(first.into_values())
}

/// Returns the commit of a revision.
fn commit_of(revision: &str) -> Result<CommitId> {
    match revision.parse() {
        Ok(commit) => Ok(commit),
        Err(_) => {
            let message = format!("no revision has the id {revision:?}: a revision is a full commit id");
            Err(Error::not_found(ErrorCode::NotFound, message))
        }
    }
}

/// Returns when a memory holds at present. A memory that only an earlier revision has held as far as its own file says.
fn validity_of(lease: &Lease, path: &MemoryPath, now: Timestamp, memory: &Memory) -> Result<HitValidity> {
    let now_ms = now.as_millisecond();
    let state = lease.read(|snapshot| snapshot.validity_of(path.as_str(), now_ms, None))?;
    Ok(match state {
        Some(state) => HitValidity::of(state, Vec::new(), &memory.validity.supersedes),
        None => HitValidity {
            current: false,
            valid_from: format_time(memory.validity.from),
            valid_until: format_time(memory.validity.until),
            supersedes: memory.validity.supersedes.clone(),
            ..HitValidity::default()
        },
    })
}

pub(super) fn no_memory(path: &MemoryPath) -> Error {
    Error::not_found(ErrorCode::NotFound, format!("no memory exists at {path}"))
}

/// Returns the error for a file that is not valid. It is logged, and the path and the error of the parser may quote a
/// client's text, so it names only the namespace and the commit.
fn unreadable(lease: &Lease, commit: CommitId) -> Error {
    Error::internal(format!("a memory file of commit {commit} in namespace {} cannot be read", lease.id()))
}

/// Returns the part of a path below a folder, or `None` if the path is not in the folder.
fn path_below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    if folder.is_empty() {
        return Some(path);
    }
    path.strip_prefix(folder)?.strip_prefix('/')
}

/// Returns the tier of a path, and the directory below the tier or an empty text.
pub(super) fn tier_and_topic(path: &str) -> (&str, &str) {
    let Some((tier, rest)) = path.split_once('/') else { return ("", "") };
    match rest.split_once('/') {
        Some((topic, _)) => (tier, topic),
        None => (tier, ""),
    }
}

fn format_time(at_ms: Option<i64>) -> Option<String> {
    format_ms(at_ms?)
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
