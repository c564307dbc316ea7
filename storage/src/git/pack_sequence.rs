//! Writing any number of objects as a sequence of packs, with a bounded part of them in memory.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::objs::Kind;

use super::delta::DeltaWindow;
use super::pack::PackFile;
use crate::error::{Error, Result};

/// Compressed bytes of one pack. They are in memory until the pack is written.
const PACK_BYTES: usize = 32 << 20;
/// Objects of one pack.
const PACK_OBJECTS: usize = 1 << 18;

/// Packs that are written one after another. Each object is written once.
pub(super) struct PackSequence {
    folder: PathBuf,
    /// The entries of the current pack.
    entries: Vec<(ObjectId, Vec<u8>)>,
    /// Bytes of these entries.
    bytes: usize,
    /// The objects in all packs.
    written: HashSet<ObjectId>,
    /// Encodes the entries of the current pack, with its large trees as bases of deltas.
    window: DeltaWindow,
    /// Names of the finished packs.
    names: Vec<String>,
}

impl PackSequence {
    /// Begins a sequence of packs in a folder.
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            entries: Vec::new(),
            bytes: 0,
            written: HashSet::new(),
            window: DeltaWindow::default(),
            names: Vec::new(),
        }
    }

    /// Adds an object unless it was added before. Returns its id.
    pub(super) fn add(&mut self, kind: Kind, content: Vec<u8>) -> Result<ObjectId> {
        let id =
            gix::objs::compute_hash(gix::hash::Kind::Sha1, kind, &content).map_err(Error::git("hash an object"))?;
        if !self.written.insert(id) {
            return Ok(id);
        }
        let entry = self.window.encode(id, kind, content)?;
        self.bytes += entry.len();
        self.entries.push((id, entry));
        if self.bytes >= PACK_BYTES || self.entries.len() >= PACK_OBJECTS {
            self.write_pack()?;
        }
        Ok(id)
    }

    /// Writes the last pack. Returns the names of all packs, which are durable then.
    pub(super) fn finish(mut self) -> Result<Vec<String>> {
        self.write_pack()?;
        Ok(self.names)
    }

    fn write_pack(&mut self) -> Result<()> {
        if self.entries.is_empty() {
            return Ok(());
        }
        let mut pack = PackFile::create(&self.folder, self.entries.len())?;
        for (id, entry) in self.entries.drain(..) {
            pack.put(id, &entry)?;
        }
        let name = pack.finish()?;
        pack.publish(name)?;
        self.names.push(name.to_string());
        self.bytes = 0;
        // The base of a delta must be in the same pack.
        self.window = DeltaWindow::default();
        Ok(())
    }
}
