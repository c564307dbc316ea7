//! A whole history in one file: git's bundle, version 2, which `git clone` and `git fetch` accept.
//!
//! ```text
//! "# v2 git bundle\n" | "<id> <reference>\n" … | "\n" | a pack
//! ```

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use gix::ObjectId;

use super::commit::CommitId;
use super::limits::IntakeLimits;
use super::pack::{sync_file, sync_folder};
use super::repository::{BRANCH, Repository};
use super::scan::check_pack;
use crate::error::{Error, Result};

const SIGNATURE: &str = "# v2 git bundle\n";
/// References that a bundle may name.
const REFERENCES_MAX: usize = 10_000;
/// Bytes of one line of the header.
const LINE_BYTES_MAX: u64 = 4096;

/// Returns whether a file begins like a bundle.
pub fn is_bundle(file: &Path) -> bool {
    let Ok(file) = File::open(file) else { return false };
    let mut begin = Vec::new();
    if file.take(64).read_to_end(&mut begin).is_err() {
        return false;
    }
    begin.starts_with(b"# v") && begin.windows(12).any(|part| part == b" git bundle\n")
}

/// A reference that a bundle names.
struct BundleReference {
    name: String,
    id: ObjectId,
}

impl Repository {
    /// Writes everything that a commit reaches. `progress` receives the number of objects written and their total.
    pub fn write_bundle(&self, head: CommitId, mut out: impl Write, progress: impl FnMut(u64, u64)) -> Result<()> {
        let objects = self.missing(&[head], &[])?;
        let header = format!("{SIGNATURE}{head} {BRANCH}\n{head} HEAD\n\n");
        out.write_all(header.as_bytes()).map_err(Error::io("write", Path::new("the bundle")))?;
        objects.write_pack(out, progress)
    }

    /// Stores the objects of a bundle in this repository. Returns the commit of the bundle's `main`, else of its
    /// `HEAD`, else of its only reference. No branch is created.
    ///
    /// The bundle is not trusted. This checks that its pack is within [`IntakeLimits::IMPORT`];
    /// [`MissingObjects::check_limits`](super::MissingObjects::check_limits) and [`Repository::inspect`] check the
    /// rest.
    pub fn unbundle(&self, file: &Path) -> Result<CommitId> {
        let open = File::open(file).map_err(Error::io("read", file))?;
        let mut reader = BufReader::new(open);
        let references = read_header(&mut reader, file)?;
        let Some(head) = select_head(&references) else { return Err(invalid("it names neither main nor HEAD")) };
        let pack_at = reader.stream_position().map_err(Error::io("read", file))?;
        check_pack(&mut reader, &IntakeLimits::IMPORT)?;
        reader.seek(SeekFrom::Start(pack_at)).map_err(Error::io("read", file))?;
        self.store_pack(&mut reader)?;
        Ok(CommitId(head))
    }

    /// Moves the packs of another repository on the same file system into this one. The move is durable when this
    /// returns.
    pub(super) fn take_packs(&self, other: &Self) -> Result<()> {
        let (from, to) = (other.pack_folder(), self.pack_folder());
        let (mut packs, mut indexes) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(&from).map_err(Error::io("list", &from))? {
            let file = entry.map_err(Error::io("list", &from))?.path();
            if file.extension() == Some(OsStr::new("pack")) {
                packs.push(file);
            } else if file.extension() == Some(OsStr::new("idx")) {
                indexes.push(file);
            }
        }
        // The index makes a pack visible, so it comes last.
        for file in packs.into_iter().chain(indexes) {
            sync_file(&file)?;
            let target = to.join(file.file_name().unwrap_or_default());
            fs::rename(&file, &target).map_err(Error::io("move", &file))?;
        }
        sync_folder(&to)
    }
}

/// Reads the header of a bundle, up to its pack.
fn read_header(reader: &mut BufReader<File>, file: &Path) -> Result<Vec<BundleReference>> {
    if read_line(reader, file)? != SIGNATURE {
        return Err(invalid("it is not of version 2: create one with `git bundle create --version=2`"));
    }
    let mut references = Vec::new();
    loop {
        let line = read_line(reader, file)?;
        let line = line.trim_end();
        if line.is_empty() {
            return Ok(references);
        }
        if line.starts_with('-') {
            return Err(invalid("it needs commits that it does not contain: create it from the whole history"));
        }
        let Some((id, name)) = line.split_once(' ') else { return Err(invalid("its header is cut short")) };
        let id = ObjectId::from_hex(id.as_bytes()).map_err(|_| invalid("its header names no commit"))?;
        references.push(BundleReference { name: name.to_owned(), id });
        if references.len() > REFERENCES_MAX {
            return Err(invalid("it names too many references"));
        }
    }
}

fn read_line(reader: &mut BufReader<File>, file: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes).map_err(Error::io("read", file))?;
    String::from_utf8(bytes).map_err(|_| invalid("its header is not UTF-8 text"))
}

/// Selects the reference whose history is imported: `main`, else `HEAD`, else the only one.
fn select_head(references: &[BundleReference]) -> Option<ObjectId> {
    for name in [BRANCH, "HEAD"] {
        if let Some(reference) = references.iter().find(|reference| reference.name == name) {
            return Some(reference.id);
        }
    }
    match references {
        [only] => Some(only.id),
        _ => None,
    }
}

fn invalid(reason: &str) -> Error {
    Error::invalid("bundle", reason)
}
