//! One namespace's index: changes in, immutable snapshots out.
//!
//! On disk an index is a folder:
//!
//! ```text
//! memories.log   frames of records, appended (see `log`)
//! vectors.log    rows of 8-bit integers, appended: dimensions bytes, then the scale as f32 little-endian
//! lexical/       tantivy; the payload of its last commit is the index's state
//! ```
//!
//! The state says which head the index stands for and how many bytes and rows of the two logs belong to it. Tantivy's
//! commit is the one point at which a change becomes real: bytes past the state's lengths are cut off at the next open.
//! All of it is derived from git; whatever does not fit together is [`Error::Damaged`](crate::Error::Damaged), and the remedy is to start anew.

mod log;
mod table;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
pub use table::Record;
pub(crate) use table::Table;

use self::log::{AppendLog, LogRecord};
use crate::arms::cue::{CueTable, Row};
use crate::arms::graph::{EdgeKind, Graph};
use crate::arms::lexical::{LexicalIndex, LexicalSnapshot};
use crate::error::{Error, Result};
use crate::memory::{Memory, Relation};

/// The format of the folder; another one is rebuilt.
const FORMAT: usize = 1;

/// What an index is made for; another setting means another index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSettings {
    /// The length of every vector.
    pub dimensions: usize,
    /// The identity of the model that makes them.
    pub model: String,
}

/// A change to a namespace.
#[derive(Clone, Debug)]
pub enum Change {
    /// A memory is new or rewritten.
    Put(Box<Memory>),
    /// The memory at this path is gone.
    Forget(String),
}

/// What tantivy's commit carries: one line, the numbers first, the model's identity last.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    format: usize,
    dimensions: usize,
    log_bytes: usize,
    rows: usize,
    head: String,
    model: String,
}

/// A namespace's index, open for changes. One writer at a time; readers hold snapshots.
pub struct Index {
    settings: IndexSettings,
    log: AppendLog,
    vectors: AppendLog,
    lexical: LexicalIndex,
    slots: HashMap<String, u32>,
    sessions: HashMap<String, u32>,
    head: Option<String>,
    table: Table,
    cues: CueTable,
    graph: Graph,
    published: Arc<ArcSwap<Snapshot>>,
}

/// A namespace at one moment. Cheap to hold; never changes.
pub struct Snapshot {
    pub(crate) table: Table,
    pub(crate) cues: CueTable,
    pub(crate) graph: Graph,
    pub(crate) lexical: LexicalSnapshot,
    head: Option<String>,
}

impl Index {
    /// Opens the index in a folder, creating an empty one where there is none.
    ///
    /// Fails with [`Error::Damaged`] when what is there does not fit together or was made for other settings: remove the
    /// folder, open again and apply every memory.
    pub fn open(folder: &Path, settings: IndexSettings) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        let lexical = LexicalIndex::open(&folder.join("lexical"))?;
        let state = lexical.payload()?.map(|text| State::parse(&text)).transpose()?;
        if let Some(state) = &state {
            let expected = (FORMAT, settings.model.as_str(), settings.dimensions);
            if (state.format, state.model.as_str(), state.dimensions) != expected {
                return Err(Error::Damaged("made by another model or format".into()));
            }
        }
        let row_bytes = Row::bytes(settings.dimensions);
        let (log_bytes, rows) = state.as_ref().map_or((0, 0), |state| (state.log_bytes, state.rows));
        let log = AppendLog::open(&folder.join("memories.log"), log_bytes)?;
        let vectors = AppendLog::open(&folder.join("vectors.log"), rows * row_bytes)?;
        let snapshot = Snapshot {
            table: Table::default(),
            cues: CueTable::new(settings.dimensions),
            graph: Graph::default(),
            lexical: lexical.snapshot(),
            head: None,
        };
        let mut index = Self {
            log,
            vectors,
            lexical,
            slots: HashMap::new(),
            sessions: HashMap::new(),
            head: state.map(|state| state.head),
            table: Table::default(),
            cues: CueTable::new(settings.dimensions),
            graph: Graph::default(),
            published: Arc::new(ArcSwap::from_pointee(snapshot)),
            settings,
        };
        index.load(row_bytes)?;
        index.publish();
        Ok(index)
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
        for change in changes {
            let (slot, memory) = match change {
                Change::Put(memory) => (self.slot(&memory.path), Some(memory)),
                Change::Forget(path) => match self.slots.get(&path) {
                    Some(slot) => (*slot, None),
                    None => continue,
                },
            };
            let mut rows = Vec::new();
            let mut checksum = crc32fast::Hasher::new();
            for vector in memory.iter().flat_map(|memory| &memory.cues).filter_map(|cue| cue.vector.as_ref()) {
                if vector.len() != self.settings.dimensions {
                    return Err(Error::Dimensions { found: vector.len(), expected: self.settings.dimensions });
                }
                let row = Row::new(vector);
                let bytes = row.to_bytes();
                checksum.update(&bytes);
                self.vectors.append(&bytes);
                rows.push(row);
            }
            let record = LogRecord {
                slot,
                rows: rows.len() as u32,
                rows_checksum: checksum.finalize(),
                memory: memory.map(|m| *m),
            };
            self.log.append_record(&record)?;
            self.lexical.put(slot, record.memory.as_ref())?;
            self.take_in(record, rows.into_iter())?;
        }
        self.log.flush()?;
        self.vectors.flush()?;
        let state = State {
            format: FORMAT,
            model: self.settings.model.clone(),
            dimensions: self.settings.dimensions,
            head: head.to_owned(),
            log_bytes: self.log.bytes(),
            rows: self.cues.rows(),
        };
        self.lexical.commit(&state.text())?;
        self.head = Some(head.to_owned());
        self.publish();
        Ok(())
    }

    fn publish(&self) {
        self.published.store(Arc::new(Snapshot {
            table: self.table.clone(),
            cues: self.cues.clone(),
            graph: self.graph.clone(),
            lexical: self.lexical.snapshot(),
            head: self.head.clone(),
        }));
    }

    /// Reads both logs back into memory.
    fn load(&mut self, row_bytes: usize) -> Result<()> {
        let vectors = self.vectors.read_all()?;
        let mut rest = vectors.as_slice();
        let records = self.log.read_records()?;
        for record in records {
            let path = record.memory.as_ref().map(|memory| memory.path.clone());
            // Slots of links to memories that did not exist yet are given out in the same order as the first time.
            if let Some(path) = path {
                let slot = self.slot(&path);
                if slot != record.slot {
                    return Err(Error::Damaged(format!("{path} is at slot {slot}, recorded at {}", record.slot)));
                }
            }
            let own = rest.split_at_checked(record.rows as usize * row_bytes);
            let (own, after) = own.ok_or_else(|| Error::Damaged("fewer vectors than the memories say".into()))?;
            if crc32fast::hash(own) != record.rows_checksum {
                return Err(Error::Damaged("a vector's checksum does not match".into()));
            }
            rest = after;
            self.take_in(record, own.chunks_exact(row_bytes).map(Row::from_bytes))?;
        }
        if !rest.is_empty() {
            return Err(Error::Damaged("more vectors than the memories say".into()));
        }
        Ok(())
    }

    /// Puts one record into the tables in memory.
    fn take_in(&mut self, record: LogRecord, rows: impl Iterator<Item = Row>) -> Result<()> {
        let slot = record.slot;
        if let Some(old) = self.table.get(slot) {
            old.rows.clone().for_each(|row| self.cues.assign(row, None));
            self.graph.unlink(slot);
        }
        let first = self.cues.rows();
        for row in rows {
            self.cues.push(&row, Some(slot))?;
        }
        let rows = first..self.cues.rows();
        let Some(memory) = record.memory else {
            self.table.set(slot, None);
            return Ok(());
        };
        for relation in &memory.relations {
            let kind = if relation.kind == Relation::FOLLOWS { EdgeKind::Previous } else { EdgeKind::Other };
            let to = self.slot(&relation.path);
            self.graph.link(slot, to, kind);
        }
        let next = self.sessions.len() as u32;
        let session = memory.session.as_ref().map(|name| *self.sessions.entry(name.clone()).or_insert(next));
        self.table.set(slot, Some(Arc::new(Record::new(memory, session, rows))));
        Ok(())
    }

    /// The slot of a path, given out when the path is first seen, be it as a link's target.
    fn slot(&mut self, path: &str) -> u32 {
        if let Some(slot) = self.slots.get(path) {
            return *slot;
        }
        let slot = self.slots.len() as u32;
        self.slots.insert(path.to_owned(), slot);
        slot
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
}

impl State {
    fn text(&self) -> String {
        let Self { format, dimensions, log_bytes, rows, head, model } = self;
        format!("{format} {dimensions} {log_bytes} {rows} {head} {model}")
    }

    fn parse(text: &str) -> Result<Self> {
        let mut fields = text.splitn(6, ' ');
        let mut next = || fields.next().ok_or_else(|| Error::Damaged("the state is cut short".into()));
        let number = |text: &str| text.parse::<usize>().map_err(|e| Error::Damaged(format!("state: {e}")));
        Ok(Self {
            format: number(next()?)?,
            dimensions: number(next()?)?,
            log_bytes: number(next()?)?,
            rows: number(next()?)?,
            head: next()?.to_owned(),
            model: next()?.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_read_back() {
        let state =
            State { format: 1, dimensions: 256, log_bytes: 9, rows: 3, head: "abc".into(), model: "a b 1".into() };
        assert_eq!(State::parse(&state.text()).expect("parses"), state);
        assert!(State::parse("1 2 x").is_err());
    }
}
