//! Opening an index: loading its files into memory.
//!
//! Documents come from the layers' files as far as these reach, and from the log after that. Rows come from the log of
//! vectors, on another thread. Files are read in pieces: the first touch of fresh memory costs more than all other work
//! here.

use std::path::Path;
use std::sync::Arc;

use super::cue_table::CueTable;
use super::layer::{Layer, LayerBegin, PERSISTED_MIN};
use super::log::{AppendLog, Frame, LogFile, MEMORIES_FILE, VECTORS_FILE};
use super::row::Row;
use super::settings::IndexSettings;
use super::state::IndexState;
use super::writer::Index;
use crate::error::{Error, Result};
use crate::head::Head;
use crate::tokens::TokenVectors;

/// Rows that are read in one piece.
const ROWS_PER_READ: usize = 1 << 12;

impl Index {
    /// Reads the settings of the index in a folder. Returns `None` if there is none that this version can use with
    /// these tokens; the model may be any.
    pub fn settings_of(folder: &Path, tokens: &'static dyn TokenVectors) -> Option<IndexSettings> {
        let state = IndexState::read(folder).ok()??;
        let (dimensions, model) = state.model(tokens)?;
        Some(IndexSettings { dimensions, model: model.to_owned(), tokens })
    }

    /// Reads the head of the index in a folder. Returns `None` if there is none, or if its state cannot be read.
    pub fn head_of(folder: &Path) -> Option<Head> {
        let state = IndexState::read(folder).ok()??;
        Some(state.head)
    }

    /// Opens the index in a folder. Creates an empty index if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] if the files are inconsistent or belong to other settings. The remedy is to remove the
    /// folder, open again, and apply every memory.
    pub fn open(folder: &Path, settings: IndexSettings) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        let state = IndexState::read(folder)?;
        let log_path = folder.join(MEMORIES_FILE);
        let (mut log_bytes, mut vector_bytes) = (0, 0);
        if let Some(state) = &state {
            if !state.is_built_for(&settings) {
                return Err(Error::Damaged("the index was built for another model, vocabulary or format".into()));
            }
            (log_bytes, vector_bytes) = (state.log_bytes, state.vector_bytes);
        } else if log_path.metadata().is_ok_and(|log| log.len() > 0) {
            return Err(Error::Damaged("memories.log has content, but the state file is missing".into()));
        }
        let log = AppendLog::open(&log_path, log_bytes)?;
        let vectors = AppendLog::open(&folder.join(VECTORS_FILE), vector_bytes)?;
        let mut index = Self::empty(folder, settings, log, vectors);
        index.head = state.map(|state| state.head);
        index.load()?;
        index.publish();
        Ok(index)
    }

    /// Loads the documents and rows that the state says exist.
    ///
    /// The frames of layers with a file are not read here; their checksums are checked when they are read.
    fn load(&mut self) -> Result<()> {
        let (log_bytes, vector_bytes) = (self.log.bytes(), self.vectors.bytes());
        let layers = Layer::read_all(&self.folder, |layer| {
            layer.log_end() <= log_bytes && layer.vectors().range.end <= vector_bytes
        })?;
        let layers: Vec<Arc<Layer>> = layers.into_iter().map(Arc::new).collect();
        let vectors = self.vectors.file().clone();
        let mut cues = CueTable::new(self.settings.dimensions);
        let (rows, newest) = rayon::join(
            || layers.iter().try_for_each(|layer| load_rows(&mut cues, layer, &vectors)),
            || self.load_documents(&layers),
        );
        rows?;
        let newest = newest?;
        let rows_end = match newest.as_ref().or(layers.last()) {
            Some(last) => last.vectors().range.end,
            None => 0,
        };
        if rows_end != vector_bytes {
            return Err(Error::Damaged("vectors.log does not end with the rows of the last memory".into()));
        }
        if let Some(newest) = newest {
            load_rows(&mut cues, &newest, &vectors)?;
            // The file of a large layer was lost, or has another format. If it cannot be written, the next opening
            // reads the log again.
            if newest.len() >= PERSISTED_MIN {
                let _ = newest.persist(&self.folder);
            }
        }
        self.cues = cues;
        self.table.refresh_sample();
        self.fill_ledger();
        Ok(())
    }

    /// Adds the documents of the layers, and those in the log after them. Returns the layer of the latter.
    fn load_documents(&mut self, layers: &[Arc<Layer>]) -> Result<Option<Arc<Layer>>> {
        for layer in layers {
            self.restore_layer(layer)?;
        }
        let newest = self.layer_from_log(layers.last().map(Arc::as_ref))?.map(Arc::new);
        if let Some(newest) = &newest {
            self.restore_layer(newest)?;
        }
        Ok(newest)
    }

    /// Builds a layer of the documents in the log after the last layer; `None` if there are none.
    fn layer_from_log(&self, last: Option<&Layer>) -> Result<Option<Layer>> {
        let begin = match last {
            Some(last) => last.next_begin(),
            None => LayerBegin::default(),
        };
        let end = self.log.bytes();
        let bytes = self.log.file().read(begin.frame..end)?;
        let mut rest = bytes.as_slice();
        let (mut entries, mut frame_ends) = (Vec::new(), Vec::new());
        while !rest.is_empty() {
            let Some((frame, after)) = Frame::read(rest) else {
                return Err(invalid_frame(end - rest.len() as u64));
            };
            let Some(entry) = frame.entry() else {
                return Err(invalid_frame(end - rest.len() as u64));
            };
            entries.push(entry);
            frame_ends.push(end - after.len() as u64);
            rest = after;
        }
        if entries.is_empty() {
            return Ok(None);
        }
        let row_bytes = Row::bytes(self.settings.dimensions);
        Ok(Some(Layer::new(begin, &entries, &frame_ends, row_bytes)))
    }

    fn restore_layer(&mut self, layer: &Arc<Layer>) -> Result<()> {
        self.slots.reserve(layer.len());
        self.table.restore_layer(Arc::clone(layer));
        for id in layer.ids() {
            self.add_document(layer.document(id))?;
        }
        Ok(())
    }
}

fn invalid_frame(offset: u64) -> Error {
    Error::Damaged(format!("memories.log: invalid frame at byte {offset}"))
}

/// Appends the rows of a layer, read from the log of vectors.
fn load_rows(cues: &mut CueTable, layer: &Layer, vectors: &LogFile) -> Result<()> {
    if !layer.rows_fill(cues.next_row(), cues.row_bytes()) {
        return Err(Error::Damaged("a layer's rows do not continue those of the layer before".into()));
    }
    let extent = layer.vectors();
    let (mut begin, mut checksum, mut rows) = (extent.range.start, crc32fast::Hasher::new(), Vec::new());
    for documents in layer.documents_of_rows().chunks(ROWS_PER_READ) {
        let end = begin + (documents.len() * cues.row_bytes()) as u64;
        vectors.read_into(begin..end, &mut rows)?;
        checksum.update(&rows);
        cues.extend(&rows, documents);
        begin = end;
    }
    if checksum.finalize() != extent.checksum {
        return Err(Error::Damaged("vectors.log does not match its checksum".into()));
    }
    Ok(())
}
