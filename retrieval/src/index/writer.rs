//! The writer of an index: it appends changes to the logs and publishes the result as a snapshot.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;

use super::cue_table::CueTable;
use super::entry::ChangeEntry;
use super::graph::{EdgeKind, End, Graph};
use super::layer::{Document, Layer, LayerBegin, PERSISTED_MIN};
use super::ledger::{Ledger, LedgerChanges};
use super::log::{AppendLog, Frame};
use super::row::Row;
use super::settings::IndexSettings;
use super::snapshot::Snapshot;
use super::state::IndexState;
use super::table::Table;
use crate::error::{Error, Result};
use crate::hash::PathHash;
use crate::head::Head;
use crate::ids::{DocumentId, SlotId};
use crate::memory::Memory;

/// Changes that one layer takes; more changes become several layers.
const LAYER_CHANGES_MAX: usize = 1 << 14;

/// The number of the next opening.
static NEXT_OPENING: AtomicU64 = AtomicU64::new(0);

/// A change to a namespace.
#[derive(Clone, Debug)]
pub enum Change {
    /// Writes a new memory, or a new version of one.
    Put(Box<Memory>),
    /// Removes the memory at this path.
    Forget(String),
}

/// A namespace's index, open for changes. There is one writer at a time; readers hold snapshots.
pub struct Index {
    /// The number of this opening, unique in the process.
    pub(super) opening: u64,
    pub(super) settings: IndexSettings,
    pub(super) folder: PathBuf,
    pub(super) log: AppendLog,
    pub(super) vectors: AppendLog,
    /// The slot of every path that was written or linked to.
    pub(super) slots: HashMap<PathHash, SlotId, ahash::RandomState>,
    pub(super) head: Option<Head>,
    pub(super) table: Table,
    pub(super) cues: CueTable,
    graph: Graph,
    ledger: Ledger,
    /// What changed since the ledger was last updated.
    ledger_changes: LedgerChanges,
    model: Arc<str>,
    /// The number of memories whose cues await vectors.
    waiting: usize,
    published: Arc<ArcSwap<Snapshot>>,
}

/// Changes on their way into one layer.
#[derive(Default)]
struct Batch {
    entries: Vec<ChangeEntry>,
    /// The end of every entry's frame in the log.
    frame_ends: Vec<u64>,
    /// The rows of all entries in their on-disk form.
    rows: Vec<u8>,
    /// The paths that the entries are about.
    paths: HashSet<PathHash>,
}

impl Index {
    /// Creates an index without documents over opened logs.
    pub(super) fn empty(folder: &Path, settings: IndexSettings, log: AppendLog, vectors: AppendLog) -> Self {
        let model: Arc<str> = settings.model.as_str().into();
        let snapshot = Snapshot {
            table: Table::default(),
            cues: CueTable::new(settings.dimensions),
            graph: Graph::default(),
            ledger: Ledger::default(),
            tokens: settings.tokens,
            log: log.file().clone(),
            model: Arc::clone(&model),
            head: None,
        };
        Self {
            opening: NEXT_OPENING.fetch_add(1, Ordering::Relaxed),
            folder: folder.to_path_buf(),
            log,
            vectors,
            slots: HashMap::default(),
            head: None,
            table: Table::new(settings.tokens.token_count()),
            cues: CueTable::new(settings.dimensions),
            graph: Graph::default(),
            ledger: Ledger::default(),
            ledger_changes: LedgerChanges::default(),
            waiting: 0,
            published: Arc::new(ArcSwap::from_pointee(snapshot)),
            model,
            settings,
        }
    }

    /// Returns the folder of the index.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Moves the index to another folder, which must not exist. Snapshots continue to read the files that they have
    /// open.
    pub fn move_to(&mut self, folder: &Path) -> Result<()> {
        std::fs::rename(&self.folder, folder).map_err(Error::io("move", &self.folder))?;
        self.folder = folder.to_path_buf();
        Ok(())
    }

    /// Returns the identity of the embedding model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Returns the number of memories whose cues await vectors.
    pub fn waiting_count(&self) -> usize {
        self.waiting
    }

    /// Returns the commit that the index stands for; `None` if nothing was ever applied.
    pub fn head(&self) -> Option<Head> {
        self.head
    }

    /// Returns the number of memories.
    pub fn memory_count(&self) -> usize {
        self.table.live()
    }

    /// Returns where the newest snapshot is published. It can be read while a change is applied.
    pub fn published(&self) -> Arc<ArcSwap<Snapshot>> {
        Arc::clone(&self.published)
    }

    /// Publishes the current state to `published`, and all later ones. For an index that replaces another one.
    pub fn publish_to(&mut self, published: Arc<ArcSwap<Snapshot>>) {
        self.published = published;
        self.publish();
    }

    /// Applies changes and publishes the result as the state at `head`.
    ///
    /// After an error the index must be dropped and opened again.
    pub fn apply(&mut self, changes: Vec<Change>, head: Head) -> Result<()> {
        let mut changes = changes.into_iter().peekable();
        while changes.peek().is_some() {
            self.append(changes.by_ref().take(LAYER_CHANGES_MAX))?;
        }
        self.table.refresh_sample();
        self.update_ledger();
        let state = IndexState::new(&self.settings, head, self.log.bytes(), self.vectors.bytes());
        state.write(&self.folder)?;
        self.head = Some(head);
        self.publish();
        Ok(())
    }

    /// Writes changes to both logs and adds them to the table as one layer.
    fn append(&mut self, changes: impl Iterator<Item = Change>) -> Result<()> {
        let begin = LayerBegin {
            document: self.table.next_document(),
            row: self.cues.next_row(),
            frame: self.log.bytes(),
            claim: self.table.next_claim(),
        };
        let mut batch = Batch::default();
        for change in changes {
            self.append_change(change, &mut batch)?;
        }
        self.vectors.append(&batch.rows);
        self.log.flush()?;
        self.vectors.flush()?;
        if batch.entries.is_empty() {
            return Ok(());
        }
        let row_bytes = Row::bytes(self.settings.dimensions);
        let layer = Layer::new(begin, &batch.entries, &batch.frame_ends, row_bytes);
        self.cues.extend(&batch.rows, &layer.documents_of_rows());
        let newest = self.table.push_layer(layer);
        for id in begin.document.until(newest.end()) {
            self.add_document(newest.document(id))?;
        }
        if newest.len() >= PERSISTED_MIN { newest.persist(&self.folder) } else { Ok(()) }
    }

    /// Appends one change to the log and to the batch. Ignores the removal of a path that was never written.
    fn append_change(&mut self, change: Change, batch: &mut Batch) -> Result<()> {
        let (mut entry, memory) = match change {
            Change::Put(memory) => (ChangeEntry::put(&memory, self.settings.tokens), Some(memory)),
            Change::Forget(path) => (ChangeEntry::forget(&path), None),
        };
        if memory.is_none() && !self.slots.contains_key(&entry.path) && !batch.paths.contains(&entry.path) {
            return Ok(());
        }
        batch.paths.insert(entry.path);
        let first = batch.rows.len();
        if let Some(memory) = &memory {
            self.append_rows(memory, &mut batch.rows)?;
        }
        entry.rows_checksum = crc32fast::hash(&batch.rows[first..]);
        let frame = Frame::write(&entry, memory.as_deref())?;
        self.log.append(&frame);
        batch.entries.push(entry);
        batch.frame_ends.push(self.log.bytes());
        Ok(())
    }

    /// Appends the rows of a memory's cues.
    fn append_rows(&self, memory: &Memory, rows: &mut Vec<u8>) -> Result<()> {
        for cue in &memory.cues {
            let Some(vector) = &cue.vector else { continue };
            if vector.len() != self.settings.dimensions {
                return Err(Error::Dimensions { found: vector.len(), expected: self.settings.dimensions });
            }
            rows.extend(Row::new(vector).to_bytes());
        }
        Ok(())
    }

    pub(super) fn publish(&self) {
        self.published.store(Arc::new(Snapshot {
            table: self.table.clone(),
            cues: self.cues.clone(),
            graph: self.graph.clone(),
            ledger: self.ledger.clone(),
            tokens: self.settings.tokens,
            log: self.log.file().clone(),
            model: Arc::clone(&self.model),
            head: self.head,
        }));
    }

    /// Adds a document of the newest layer to the table and its relations to the graph.
    pub(super) fn add_document(&mut self, document: Document<'_>) -> Result<()> {
        let path = document.path();
        let slot = self.slot(path);
        self.waiting += usize::from(document.waiting());
        let id = self.table.next_document();
        self.ledger_changes.add(document, id);
        self.note_replaced_paths(document.supersedes());
        if let Some(former) = self.table.add(slot, document) {
            self.graph.unlink(slot);
            self.subtract_former(former)?;
        }
        for link in document.links() {
            let kind = if link.leads_to_previous() { EdgeKind::Previous } else { EdgeKind::Other };
            let to = End { slot: self.slot(link.path()), path: link.path() };
            self.graph.link(End { slot, path }, to, kind);
        }
        Ok(())
    }

    /// Notes the paths that a document replaces which became current, or no longer is.
    fn note_replaced_paths(&mut self, supersedes: &[PathHash]) {
        for path in supersedes {
            let slot = self.slot(*path);
            self.ledger_changes.add_path(*path, slot);
        }
    }

    /// Computes the ledger of the documents that were loaded.
    pub(super) fn fill_ledger(&mut self) {
        let changes = std::mem::take(&mut self.ledger_changes);
        self.ledger.fill(&self.table, &changes);
    }

    /// Updates the ledger to the documents. Must be called after every change, before the snapshot is published.
    fn update_ledger(&mut self) {
        let changes = std::mem::take(&mut self.ledger_changes);
        self.ledger.update(&self.table, &changes);
    }

    /// Subtracts the former version of a memory from all counts.
    fn subtract_former(&mut self, former: DocumentId) -> Result<()> {
        let mut memory = None;
        if let Some(document) = self.table.document(former) {
            self.waiting -= usize::from(document.waiting());
            let bytes = self.log.file().read(document.frame())?;
            self.ledger_changes.remove(document, former);
            memory = Frame::read(&bytes).and_then(|(frame, _)| frame.entry()?.body);
        }
        let Some(memory) = memory else {
            return Err(Error::Damaged("memories.log: a former version of a memory is unreadable".into()));
        };
        self.table.subtract(&memory);
        self.note_replaced_paths(&memory.supersedes);
        Ok(())
    }

    /// Returns the slot of a path; assigns one if the path is new.
    fn slot(&mut self, path: PathHash) -> SlotId {
        *self.slots.entry(path).or_insert_with(|| self.table.add_slot())
    }
}
