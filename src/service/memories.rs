//! Memories by path: reading one, writing one, and looking at all of them as a tree, as topics, as a graph.

use std::collections::{BTreeMap, HashSet};

use cuebase_retrieval::Memory;
use cuebase_storage::git::CommitId;
use cuebase_storage::memory_file::{MemoryFile, MemoryPath, markdown};
use cuebase_storage::records::{FingerprintSubject, NamespaceRecord, QueuedWork};
use jiff::Timestamp;
use serde::Serialize;
use ulid::Ulid;

use super::Service;
use super::retrieval::{HitView, histories, history_as_of};
use crate::billing::meters::Meter;
use crate::error::{Error, Result};
use crate::ingest::direct::{self, DirectWrite};
use crate::memory::files;
use crate::memory::time::format_ms;
use crate::namespace::key::NamespaceKey;

/// Which part and which state of a memory.
#[derive(Clone, Debug, Default)]
pub struct View<'a> {
    /// The name of a heading: its section alone.
    pub section: Option<&'a str>,
    /// A commit: the memory as it was.
    pub revision: Option<&'a str>,
    /// Whether to add history, last diff, relations and cues.
    pub full: bool,
}

/// The outcome of a direct write.
#[derive(Debug)]
pub struct Written {
    /// Whether there was nothing at the path before.
    pub new: bool,
    /// The commit.
    pub commit: String,
}

/// An entry of a directory.
#[derive(Debug, Serialize)]
pub struct TreeEntry {
    path: String,
    kind: &'static str,
    /// Directories: how many are below.
    #[serde(skip_serializing_if = "Option::is_none")]
    memories: Option<u64>,
    updated_at: Option<String>,
}

/// A directory right below a tier; memories right in the tier have an empty topic.
#[derive(Debug, Serialize)]
pub struct Topic {
    tier: String,
    topic: String,
    memories: u64,
    updated_at: Option<String>,
}

/// Memories and the relations between them.
#[derive(Debug, Serialize)]
pub struct GraphView {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

#[derive(Debug, Serialize)]
struct Node {
    path: String,
    title: String,
    tier: String,
}

#[derive(Debug, Serialize)]
struct Edge {
    from: String,
    to: String,
    kind: String,
    snippet: String,
}

/// How many, and when the newest was written.
#[derive(Clone, Copy, Default)]
struct Tally {
    memories: u64,
    updated: Option<i64>,
}

impl Tally {
    fn add(&mut self, memory: &Memory) {
        self.memories += 1;
        self.updated = self.updated.max(memory.updated);
    }
}

impl Service {
    /// One memory.
    pub fn memory(&self, account: &str, namespace: &str, path: &MemoryPath, view: &View<'_>) -> Result<HitView> {
        let lease = self.namespaces.lease(account, namespace)?;
        let missing = || Error::not_found("not_found", format!("there is no memory at {path}"));
        let head = lease.snapshot().head().map(str::to_owned);
        let at = match view.revision {
            Some(revision) => Some(revision.parse::<CommitId>().map_err(|_| {
                Error::not_found("not_found", format!("there is no revision {revision:?}: it is a whole commit id"))
            })?),
            None => head.as_deref().map(str::parse).transpose()?,
        };
        let read = |at| lease.read_git(|repository| Ok(repository.read(at, path.as_str())?));
        let bytes = at.map(read).transpose()?.flatten().ok_or_else(missing)?;
        let file = MemoryFile::parse(&bytes).map_err(Error::internal)?;
        let mut memory = files::to_memory(path, file, &|_| None);
        let mut sections: Vec<markdown::Section> = markdown::sections(&memory.content);
        if let Some(name) = view.section {
            sections.retain(|section| section.name == name);
            let no_section = || Error::not_found("not_found", format!("{path} has no section {name:?}"));
            let section = sections.first().ok_or_else(no_section)?;
            memory.content = memory.content[section.range.clone()].to_owned();
            sections.truncate(1);
        }
        let names = sections.into_iter().map(|section| section.name).collect();
        let commit = at.map(|at| at.to_string());
        let history = match (view.full, view.revision) {
            (false, _) => None,
            (true, Some(revision)) => Some(history_as_of(&lease, revision, path.as_str())?),
            (true, None) => histories(&lease, commit.as_deref(), &[path.as_str()])?.pop(),
        };
        Ok(HitView::plain(&memory, 1.0, names, history))
    }

    /// Writes a memory: in git, and visible to the next read, when this returns.
    pub fn write_memory(&self, namespace: &NamespaceRecord, write: &DirectWrite) -> Result<Written> {
        let account = &namespace.account;
        self.billing.require_balance(account)?;
        self.namespaces.require_undamaged(namespace)?;
        let permit = self.billing.reserve(account, Meter::Writes, || self.memories(account))?;
        let lease = self.namespaces.lease_key(&NamespaceKey::of(namespace))?;
        // Milliseconds are what the API tells; the file says the same.
        let now = Timestamp::now().round(jiff::Unit::Millisecond).map_err(Error::internal)?;
        let texts = write.cue_texts();
        lease.prepare(&texts, self.models.query_deadline());
        // The plan may be drawn up again; the last time counts.
        let known = std::cell::Cell::new(false);
        let commit = lease.write(Some(permit), now, |context| {
            known.set(context.contains(write.path.as_str())?);
            direct::write(context, write, now)
        })?;
        let commit = commit.ok_or_else(|| Error::internal("a direct write made no commit"))?;
        if let Err(error) = lease.consolidate_packs() {
            tracing::error!(%error, "joining packs failed; it is tried again with the next write");
        }
        Ok(Written { new: !known.get(), commit: commit.to_string() })
    }

    /// Accepts the wish to forget a memory.
    pub fn forget_memory(&self, namespace: &NamespaceRecord, path: &MemoryPath) -> Result<Ulid> {
        let subjects = [FingerprintSubject::path(path.as_str())];
        self.accept(namespace, QueuedWork::Forget { paths: vec![path.to_string()] }, None, &subjects)
    }

    /// What is right below a directory, by path; an empty name is the root.
    pub fn tree(&self, account: &str, namespace: &str, folder: &str) -> Result<Vec<TreeEntry>> {
        let mut folders: BTreeMap<String, Tally> = BTreeMap::new();
        let mut entries = Vec::new();
        for memory in self.all_memories(account, namespace)? {
            let below = match folder {
                "" => Some(memory.path.as_str()),
                folder => memory.path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')),
            };
            let Some(below) = below else { continue };
            match below.split_once('/') {
                Some((name, _)) => folders.entry(join(folder, name)).or_default().add(&memory),
                None => entries.push(TreeEntry {
                    path: memory.path.clone(),
                    kind: "memory",
                    memories: None,
                    updated_at: memory.updated.and_then(format_ms),
                }),
            }
        }
        entries.extend(folders.into_iter().map(|(path, tally)| TreeEntry {
            path,
            kind: "directory",
            memories: Some(tally.memories),
            updated_at: tally.updated.and_then(format_ms),
        }));
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    /// Every topic, by tier and name.
    pub fn topics(&self, account: &str, namespace: &str) -> Result<Vec<Topic>> {
        let mut topics: BTreeMap<(String, String), Tally> = BTreeMap::new();
        for memory in self.all_memories(account, namespace)? {
            let (tier, rest) = memory.path.split_once('/').unwrap_or_default();
            let topic = rest.split_once('/').map_or("", |(topic, _)| topic);
            topics.entry((tier.to_owned(), topic.to_owned())).or_default().add(&memory);
        }
        let view = |((tier, topic), tally): ((String, String), Tally)| Topic {
            tier,
            topic,
            memories: tally.memories,
            updated_at: tally.updated.and_then(format_ms),
        };
        Ok(topics.into_iter().map(view).collect())
    }

    /// The memories around one, or the namespace's first by path, with the relations between them.
    pub fn graph(
        &self,
        account: &str,
        namespace: &str,
        around: Option<(&MemoryPath, usize)>,
        limit: usize,
    ) -> Result<GraphView> {
        let memories = match around {
            Some((path, depth)) => {
                let lease = self.namespaces.lease(account, namespace)?;
                let near = lease.read(|snapshot| snapshot.neighbourhood(path.as_str(), depth, limit))?;
                if near.is_empty() {
                    return Err(Error::not_found("not_found", format!("there is no memory at {path}")));
                }
                near
            }
            None => {
                let mut memories = self.all_memories(account, namespace)?;
                memories.sort_by(|a, b| a.path.cmp(&b.path));
                memories.truncate(limit);
                memories
            }
        };
        let shown: HashSet<&str> = memories.iter().map(|memory| memory.path.as_str()).collect();
        let edges = memories.iter().flat_map(|memory| {
            let from = &memory.path;
            let inside = memory.relations.iter().filter(|relation| shown.contains(relation.path.as_str()));
            inside.map(move |relation| Edge {
                from: from.clone(),
                to: relation.path.clone(),
                kind: relation.kind.clone(),
                snippet: relation.snippet.clone(),
            })
        });
        let node = |memory: &Memory| Node {
            path: memory.path.clone(),
            title: markdown::title(&memory.content),
            tier: memory.path.split('/').next().unwrap_or_default().to_owned(),
        };
        Ok(GraphView { edges: edges.collect(), nodes: memories.iter().map(node).collect() })
    }

    fn all_memories(&self, account: &str, namespace: &str) -> Result<Vec<Memory>> {
        self.namespaces.lease(account, namespace)?.read(|snapshot| snapshot.all().collect())
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
