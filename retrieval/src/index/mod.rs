//! One namespace's index: changes in, immutable snapshots out.
//!
//! On disk an index is a folder:
//!
//! ```text
//! memories.log           frames of entries and memories, appended (see `log`)
//! vectors.log            rows of 8-bit integers, appended: the values, then the scale as f32 little-endian
//! layer-<first>-<count>  documents in columns and their inverted index (see `layer`), so that opening is quick
//! state                  which head the index stands for, and how much of the two logs belongs to it
//! ```
//!
//! Replacing `state` is the one point at which a change becomes real: bytes past its lengths are cut off at the next
//! open. Nothing is synced, since all of it is derived from git: every byte is under a checksum, and whatever does not
//! fit together is [`Error::Damaged`](crate::Error::Damaged), for which the remedy is to start anew.
//!
//! In memory an index is [`Table`], the cues' vectors and the graph. The memories themselves stay in the log and are
//! read from it for the hits that are returned.

mod blocks;
pub(crate) mod entry;
mod habits;
mod layer;
mod log;
mod opening;
mod state;
mod table;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
pub(crate) use blocks::Blocks;
pub(crate) use layer::{Document, Layer, Postings};
pub(crate) use table::Table;

use self::entry::Entry;
use self::layer::PERSISTED_MIN;
use self::log::{AppendLog, Frame, LogFile};
use self::state::State;
use crate::arms::cue::{CueTable, Row};
use crate::arms::graph::{EdgeKind, End, Graph};
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::tokens::TokenVectors;

/// What an index is made for; other settings mean another index.
#[derive(Clone)]
pub struct IndexSettings {
    /// The length of every vector.
    pub dimensions: usize,
    /// The identity of the model that makes them.
    pub model: String,
    /// What words are compared by.
    pub tokens: &'static dyn TokenVectors,
}

/// So many changes make one layer; more of them make several.
const LAYER_CHANGES_MAX: usize = 1 << 14;

/// A change to a namespace.
#[derive(Clone, Debug)]
pub enum Change {
    /// A memory is new or rewritten.
    Put(Box<Memory>),
    /// The memory at this path is gone.
    Forget(String),
}

/// A namespace's index, open for changes. One writer at a time; readers hold snapshots.
pub struct Index {
    settings: IndexSettings,
    folder: PathBuf,
    log: AppendLog,
    vectors: AppendLog,
    /// The slot of every path seen, be it as a link's target.
    slots: HashMap<u64, u32, ahash::RandomState>,
    head: Option<String>,
    table: Table,
    cues: CueTable,
    graph: Graph,
    model: Arc<str>,
    /// Memories that wait for vectors of their cues.
    waiting: usize,
    published: Arc<ArcSwap<Snapshot>>,
}

/// A namespace at one moment. Cheap to hold; never changes.
pub struct Snapshot {
    pub(crate) table: Table,
    pub(crate) cues: CueTable,
    pub(crate) graph: Graph,
    pub(crate) tokens: &'static dyn TokenVectors,
    log: LogFile,
    model: Arc<str>,
    head: Option<String>,
}

impl Index {
    /// The settings of the index in a folder, where one is there that this version can use, of whatever model.
    pub fn settings_of(folder: &Path, tokens: &'static dyn TokenVectors) -> Option<IndexSettings> {
        let state = State::read(folder).ok()??;
        let (dimensions, model) = state.model(tokens)?;
        Some(IndexSettings { dimensions, model: model.to_owned(), tokens })
    }

    /// Opens the index in a folder, creating an empty one where there is none.
    ///
    /// Fails with [`Error::Damaged`] when what is there does not fit together or was made for other settings: remove the
    /// folder, open again and apply every memory.
    pub fn open(folder: &Path, settings: IndexSettings) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        let state = State::read(folder)?;
        if state.as_ref().is_some_and(|state| !state.is_made_for(&settings)) {
            return Err(Error::Damaged("made by another model or format".into()));
        }
        let log = folder.join("memories.log");
        if state.is_none() && log.metadata().is_ok_and(|found| found.len() > 0) {
            return Err(Error::Damaged("a log without a state that says what it is worth".into()));
        }
        let (log_bytes, vector_bytes) = state.as_ref().map_or((0, 0), |state| (state.log_bytes, state.vector_bytes));
        let log = AppendLog::open(&log, log_bytes)?;
        let vectors = AppendLog::open(&folder.join("vectors.log"), vector_bytes)?;
        let snapshot = Snapshot {
            table: Table::default(),
            cues: CueTable::new(settings.dimensions),
            graph: Graph::default(),
            tokens: settings.tokens,
            log: log.file().clone(),
            model: settings.model.as_str().into(),
            head: None,
        };
        let mut index = Self {
            folder: folder.to_path_buf(),
            log,
            vectors,
            slots: HashMap::default(),
            head: state.map(|state| state.head),
            table: Table::new(settings.tokens.vocabulary()),
            cues: CueTable::new(settings.dimensions),
            graph: Graph::default(),
            waiting: 0,
            published: Arc::new(ArcSwap::from_pointee(snapshot)),
            model: settings.model.as_str().into(),
            settings,
        };
        index.load()?;
        index.publish();
        Ok(index)
    }

    /// Where it is kept.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Moves it to another folder, which must not exist; snapshots go on reading what they have open.
    pub fn move_to(&mut self, folder: &Path) -> Result<()> {
        std::fs::rename(&self.folder, folder).map_err(Error::io("move", &self.folder))?;
        self.folder = folder.to_path_buf();
        Ok(())
    }

    /// The identity of the model whose vectors it holds.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// How many memories wait for vectors of their cues.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// The commit that the index stands for; none when nothing was ever applied.
    pub fn head(&self) -> Option<&str> {
        self.head.as_deref()
    }

    /// How many memories it holds.
    pub fn memories(&self) -> usize {
        self.table.live()
    }

    /// Where the newest snapshot can be had at any time, also while a change is being applied.
    pub fn published(&self) -> Arc<ArcSwap<Snapshot>> {
        Arc::clone(&self.published)
    }

    /// Publishes here from now on, beginning with the present state: for an index that takes another one's place.
    pub fn publish_to(&mut self, published: Arc<ArcSwap<Snapshot>>) {
        self.published = published;
        self.publish();
    }

    /// Applies changes and publishes the result as the state at `head`.
    ///
    /// After an error the index is to be thrown away and opened again.
    pub fn apply(&mut self, changes: Vec<Change>, head: &str) -> Result<()> {
        let mut changes = changes.into_iter().peekable();
        while changes.peek().is_some() {
            self.append(changes.by_ref().take(LAYER_CHANGES_MAX))?;
        }
        self.table.refresh_sample();
        let state = State::new(&self.settings, head, self.log.bytes(), self.vectors.bytes());
        state.write(&self.folder)?;
        self.head = Some(head.to_owned());
        self.publish();
        Ok(())
    }

    /// Writes changes to both logs and takes them in as one layer.
    fn append(&mut self, changes: impl Iterator<Item = Change>) -> Result<()> {
        let (mut entries, mut frames) = (Vec::new(), vec![self.log.bytes()]);
        let mut rows = Vec::new();
        let mut written = HashSet::new();
        for change in changes {
            let (mut entry, memory) = match change {
                Change::Put(memory) => (Entry::of(&memory, self.settings.tokens), Some(*memory)),
                Change::Forget(path) => (Entry::forgotten(&path), None),
            };
            if memory.is_none() && !self.slots.contains_key(&entry.path) && !written.contains(&entry.path) {
                continue;
            }
            written.insert(entry.path);
            let first = rows.len();
            for vector in memory.iter().flat_map(|memory| &memory.cues).filter_map(|cue| cue.vector.as_ref()) {
                if vector.len() != self.settings.dimensions {
                    let expected = self.settings.dimensions;
                    return Err(Error::Dimensions { found: vector.len(), expected });
                }
                rows.extend(Row::new(vector).to_bytes());
            }
            entry.rows_checksum = crc32fast::hash(&rows[first..]);
            let frame = Frame::write(&entry, memory.as_ref())?;
            self.log.append(&frame);
            entries.push(entry);
            frames.push(self.log.bytes());
        }
        self.vectors.append(&rows);
        self.log.flush()?;
        self.vectors.flush()?;
        if entries.is_empty() {
            return Ok(());
        }
        let row_bytes = Row::bytes(self.settings.dimensions);
        let layer = Layer::new(self.table.len() as u32, &entries, frames, self.cues.rows() as u32, row_bytes);
        self.cues.extend(&rows, &layer.owners());
        let newest = self.table.push_layer(layer);
        for number in self.table.len() as u32..newest.range().end {
            self.take_in(newest.document(number))?;
        }
        if newest.len() >= PERSISTED_MIN { newest.persist(&self.folder) } else { Ok(()) }
    }

    fn publish(&self) {
        self.published.store(Arc::new(Snapshot {
            table: self.table.clone(),
            cues: self.cues.clone(),
            graph: self.graph.clone(),
            tokens: self.settings.tokens,
            log: self.log.file().clone(),
            model: Arc::clone(&self.model),
            head: self.head.clone(),
        }));
    }

    /// Takes a document of the newest layer into everything that goes by paths.
    fn take_in(&mut self, document: Document<'_>) -> Result<()> {
        let path = document.path();
        let slot = self.slot(path);
        self.waiting += usize::from(document.waiting());
        if let Some(before) = self.table.add(slot, document) {
            self.graph.unlink(slot);
            let former = self.table.document(before);
            self.waiting -= usize::from(former.is_some_and(Document::waiting));
            let frame = former.map(Document::frame).unwrap_or_default();
            let bytes = self.log.file().read(frame)?;
            let entry = Frame::read(&bytes).and_then(|(frame, _)| frame.entry());
            let body = entry.and_then(|entry| entry.body);
            self.table.forget(&body.ok_or_else(|| Error::Damaged("a former version cannot be read".into()))?);
        }
        for link in document.links() {
            // The lowest bit marks the memory that this one follows.
            let kind = if link & 1 == 1 { EdgeKind::Previous } else { EdgeKind::Other };
            let to = End { slot: self.slot(link & !1), path: link & !1 };
            self.graph.link(End { slot, path }, to, kind);
        }
        Ok(())
    }

    /// The slot of a path, given out when the path is first seen, be it as a link's target.
    fn slot(&mut self, path: u64) -> u32 {
        *self.slots.entry(path).or_insert_with(|| self.table.add_slot())
    }
}

impl Snapshot {
    /// The commit it stands for.
    pub fn head(&self) -> Option<&str> {
        self.head.as_deref()
    }

    /// How many memories it holds.
    pub fn memories(&self) -> usize {
        self.table.live()
    }

    /// How many cues of them have a vector.
    pub fn cues(&self) -> usize {
        self.table.live_rows()
    }

    /// The identity of the model that its vectors are of.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Up to so many memories that wait for vectors of their cues, in the order in which they were written.
    pub fn waiting(&self, limit: usize) -> impl Iterator<Item = Result<Memory>> {
        let waiting = self.table.documents().filter(|(_, document)| document.waiting()).take(limit);
        waiting.map(|(_, document)| self.memory(document))
    }

    /// The memory of a document, read from the log.
    pub(crate) fn memory(&self, document: Document<'_>) -> Result<Memory> {
        self.log.memory(document.frame())
    }
}
