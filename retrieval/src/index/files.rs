//! The files of an index at one moment, so that a copy of them is an index too.
//!
//! The two logs are append-only and a layer's file never changes, so the ranges that are listed keep their content while
//! the index is open. The `state` file is replaced by each change; it is small, so its content is in the list.

use std::fs::File;
use std::path::Path;

use super::layer::Layer;
use super::log::{MEMORIES_FILE, VECTORS_FILE};
use super::state::IndexState;
use super::writer::Index;
use crate::error::{Error, Result};

/// The files of an index at one moment.
pub struct IndexFiles {
    /// The number of the opening of the index, unique in the process. Files of one name in lists of the same opening
    /// begin with the same bytes.
    pub opening: u64,
    /// The content of the file [`STATE_FILE`](crate::STATE_FILE).
    pub state: String,
    /// The other files.
    pub files: Vec<IndexFile>,
}

/// A file of an index, as far as it belongs to the index.
pub struct IndexFile {
    /// The name in the folder of the index.
    pub name: String,
    /// The number of bytes, from the beginning of the file, that belong to the index.
    pub bytes: u64,
    /// The file, open for reading. It stays readable after the index has removed or replaced it.
    pub file: File,
}

impl Index {
    /// Returns the files. `None` if nothing was ever applied.
    ///
    /// A folder with the state and the listed bytes of each file is an index with the present head and content. After an
    /// error of [`Self::apply`] the index must be opened again first.
    pub fn files(&self) -> Result<Option<IndexFiles>> {
        let Some(state) = IndexState::read(&self.folder)? else { return Ok(None) };
        let mut files = vec![
            IndexFile::open(&self.folder, MEMORIES_FILE, state.log_bytes)?,
            IndexFile::open(&self.folder, VECTORS_FILE, state.vector_bytes)?,
        ];
        for name in Layer::file_names(&self.folder)? {
            let path = self.folder.join(&name);
            let bytes = path.metadata().map_err(Error::io("read", &path))?.len();
            files.push(IndexFile::open(&self.folder, &name, bytes)?);
        }
        Ok(Some(IndexFiles { opening: self.opening, state: state.text(), files }))
    }
}

impl IndexFile {
    fn open(folder: &Path, name: &str, bytes: u64) -> Result<Self> {
        let path = folder.join(name);
        let file = File::open(&path).map_err(Error::io("open", &path))?;
        Ok(Self { name: name.to_owned(), bytes, file })
    }
}
