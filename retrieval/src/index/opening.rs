//! Opening an index: what its files hold, taken into memory.
//!
//! Documents come from the layers' files as far as these go and from the log after that; their rows come from the log of
//! vectors on another thread. Everything is read a piece at a time: memory that was never touched before costs more than
//! all else that is done here.

use std::sync::Arc;

use super::layer::PERSISTED_MIN;
use super::log::{Frame, LogFile};
use super::{Index, Layer};
use crate::arms::cue::{CueTable, Row};
use crate::error::{Error, Result};

/// Rows that are read at once.
const ROWS_AT_ONCE: usize = 1 << 12;

impl Index {
    /// Reads back what the state says is there.
    ///
    /// Frames of layers that have a file are not looked at: their checksums are checked when they are read.
    pub(super) fn load(&mut self) -> Result<()> {
        let (log_bytes, vector_bytes) = (self.log.bytes(), self.vectors.bytes());
        let known = |layer: &Layer| layer.log_end() <= log_bytes && layer.vectors().range.end <= vector_bytes;
        let layers: Vec<_> = Layer::read_all(&self.folder, known)?.into_iter().map(Arc::new).collect();
        let vectors = self.vectors.file().clone();
        let mut cues = CueTable::new(self.settings.dimensions);
        let (loaded, newest) = rayon::join(
            || layers.iter().try_for_each(|layer| load_rows(&mut cues, layer, &vectors)),
            || {
                layers.iter().try_for_each(|layer| self.take_in_layer(layer))?;
                let newest = self.logged_after(layers.last().map(Arc::as_ref))?.map(Arc::new);
                newest.iter().try_for_each(|layer| self.take_in_layer(layer))?;
                Ok::<_, Error>(newest)
            },
        );
        loaded?;
        let newest = newest?;
        if newest.as_ref().or(layers.last()).map_or(0, |last| last.vectors().range.end) != vector_bytes {
            return Err(Error::Damaged("vectors.log holds other rows than the memories say".into()));
        }
        newest.iter().try_for_each(|layer| load_rows(&mut cues, layer, &vectors))?;
        // A large one had a file that was lost, or is of another form. Where it cannot be written, the next opening works
        // through the log as this one did.
        let large = newest.filter(|layer| layer.len() >= PERSISTED_MIN);
        let _ = large.map_or(Ok(()), |layer| layer.persist(&self.folder));
        self.cues = cues;
        self.table.refresh_sample();
        Ok(())
    }

    /// What the log holds after a layer, as a layer.
    fn logged_after(&self, last: Option<&Layer>) -> Result<Option<Layer>> {
        let (from, document, row) = last.map_or((0, 0, 0), |last| (last.log_end(), last.range().end, last.rows_end()));
        let end = self.log.bytes();
        let bytes = self.log.file().read(from..end)?;
        let mut rest = bytes.as_slice();
        let (mut entries, mut frames) = (Vec::new(), vec![from]);
        while !rest.is_empty() {
            let at = end - rest.len() as u64;
            let damaged = || Error::Damaged(format!("memories.log at byte {at}"));
            let (frame, after) = Frame::read(rest).ok_or_else(damaged)?;
            entries.push(frame.entry().ok_or_else(damaged)?);
            frames.push(end - after.len() as u64);
            rest = after;
        }
        let row_bytes = Row::bytes(self.settings.dimensions);
        Ok((!entries.is_empty()).then(|| Layer::new(document, &entries, frames, row, row_bytes)))
    }

    fn take_in_layer(&mut self, layer: &Arc<Layer>) -> Result<()> {
        self.slots.reserve(layer.len());
        self.table.restore_layer(Arc::clone(layer));
        layer.range().try_for_each(|number| self.take_in(layer.document(number)))
    }
}

/// Appends the rows of a layer, from the log of vectors.
fn load_rows(cues: &mut CueTable, layer: &Layer, vectors: &LogFile) -> Result<()> {
    if !layer.rows_fill(cues.rows(), cues.row_bytes()) {
        return Err(Error::Damaged("a layer's rows are not where they should be".into()));
    }
    let extent = layer.vectors();
    let (mut from, mut checksum, mut rows) = (extent.range.start, crc32fast::Hasher::new(), Vec::new());
    for owners in layer.owners().chunks(ROWS_AT_ONCE) {
        let end = from + (owners.len() * cues.row_bytes()) as u64;
        vectors.read_into(from..end, &mut rows)?;
        checksum.update(&rows);
        cues.extend(&rows, owners);
        from = end;
    }
    if checksum.finalize() != extent.checksum {
        return Err(Error::Damaged("vectors.log does not match its checksum".into()));
    }
    Ok(())
}
