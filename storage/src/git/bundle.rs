//! A whole history in one file: git's bundle, version 2, which `git clone` and `git fetch` take.
//!
//! ```text
//! "# v2 git bundle\n" | "<id> <reference>\n" … | "\n" | a pack
//! ```

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use gix::ObjectId;

use super::limits::IntakeLimits;
use super::pack::sync_folder;
use super::repository::{BRANCH, CommitId, Repository};
use super::scan::check_pack;
use crate::error::{Error, Result};

const SIGNATURE: &str = "# v2 git bundle\n";
/// References that a bundle may name.
const REFERENCES_MAX: usize = 10_000;

/// Whether a file begins as a bundle does.
pub fn is_bundle(file: &Path) -> bool {
    let mut begin = Vec::new();
    let read = File::open(file).and_then(|file| file.take(64).read_to_end(&mut begin));
    read.is_ok() && begin.starts_with(b"# v") && begin.windows(12).any(|part| part == b" git bundle\n")
}

impl Repository {
    /// Writes everything that a commit reaches. `told` is told how many objects of how many are written.
    pub fn write_bundle(&self, head: CommitId, mut out: impl Write, told: impl FnMut(u64, u64)) -> Result<()> {
        let objects = self.missing(&[head], &[])?;
        let head_lines = format!("{SIGNATURE}{head} {BRANCH}\n{head} HEAD\n\n");
        out.write_all(head_lines.as_bytes()).map_err(Error::io("write", Path::new("the bundle")))?;
        objects.write_pack(out, told)
    }

    /// Takes the objects of a bundle into this repository, and returns the commit that its `main`, else its `HEAD`, else
    /// its only branch is at. No branch is made. What the bundle holds is not trusted: its sizes are within
    /// [`IntakeLimits::IMPORT`], for the rest see [`Missing::check`](super::Missing::check) and [`Repository::inspect`].
    pub fn unbundle(&self, file: &Path) -> Result<CommitId> {
        let invalid = |reason: &str| Error::invalid("bundle", reason);
        let open = File::open(file).map_err(Error::io("read", file))?;
        let mut reader = BufReader::new(open);
        let line = |reader: &mut BufReader<File>| -> Result<String> {
            let mut bytes = Vec::new();
            reader.by_ref().take(4096).read_until(b'\n', &mut bytes).map_err(Error::io("read", file))?;
            String::from_utf8(bytes).map_err(|_| invalid("its header is no text"))
        };
        if line(&mut reader)? != SIGNATURE {
            return Err(invalid("it is not of version 2; `git bundle create --version=2` makes one"));
        }
        let mut references: Vec<(String, ObjectId)> = Vec::new();
        loop {
            let text = line(&mut reader)?;
            match text.trim_end() {
                "" => break,
                needs if needs.starts_with('-') => {
                    return Err(invalid("it needs commits that it does not hold; make it of the whole history"));
                }
                names => {
                    let (id, name) = names.split_once(' ').ok_or_else(|| invalid("its header is cut short"))?;
                    let id = ObjectId::from_hex(id.as_bytes()).map_err(|_| invalid("its header names no commit"))?;
                    references.push((name.to_owned(), id));
                }
            }
            if references.len() > REFERENCES_MAX {
                return Err(invalid("it names too many references"));
            }
        }
        let named = |name: &str| references.iter().find(|(found, _)| found == name).map(|(_, id)| *id);
        let only = || match references.as_slice() {
            [(_, id)] => Some(*id),
            _ => None,
        };
        let head = named(BRANCH).or_else(|| named("HEAD")).or_else(only);
        let head = head.ok_or_else(|| invalid("it names neither main nor HEAD"))?;
        let pack_at = reader.stream_position().map_err(Error::io("read", file))?;
        check_pack(&mut reader, &IntakeLimits::IMPORT)?;
        reader.seek(SeekFrom::Start(pack_at)).map_err(Error::io("read", file))?;
        self.take_pack(&mut reader)?;
        Ok(CommitId(head))
    }

    /// Moves the packs of another repository on the same file system here, for good when this returns.
    pub(super) fn take_packs(&self, other: &Self) -> Result<()> {
        let (from, to) = (other.pack_folder(), self.pack_folder());
        let mut files = Vec::new();
        for entry in fs::read_dir(&from).map_err(Error::io("list", &from))? {
            files.push(entry.map_err(Error::io("list", &from))?.path());
        }
        // The index makes a pack visible, so it comes last.
        files.retain(|file| file.extension().is_some_and(|extension| extension == "pack" || extension == "idx"));
        files.sort_by_key(|file| file.extension().is_some_and(|extension| extension == "idx"));
        for file in files {
            File::open(&file).and_then(|open| open.sync_all()).map_err(Error::io("sync", &file))?;
            let target = to.join(file.file_name().unwrap_or_default());
            fs::rename(&file, &target).map_err(Error::io("move", &file))?;
        }
        sync_folder(&to)
    }
}
