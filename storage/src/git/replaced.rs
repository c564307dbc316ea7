//! The list of packs that joined packs have replaced, in the repository's file `cuebase-replaced`.
//!
//! A replaced pack stays on disk for a while, so that a clone or fsck that has already listed it can finish.
//!
//! ```text
//! line   name of the pack without extension | ' ' | seconds since the epoch | '\n'
//! ```

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::pack::remove_pack_files;
use crate::error::{Error, Result};

/// Seconds for which a replaced pack is kept.
const REPLACED_KEPT_SECONDS: u64 = 60;
/// Replaced packs that are kept for that long. Older ones above this number go earlier, so that they do not pile up
/// under heavy writing.
const REPLACED_PACKS_MAX: usize = 128;
/// Seconds for which every replaced pack is kept: a reader that has just listed it opens it next.
const REPLACED_KEPT_SECONDS_MIN: u64 = 2;

/// The replaced packs, oldest first.
pub(super) struct ReplacedPacks {
    file: PathBuf,
    packs: Vec<ReplacedPack>,
}

struct ReplacedPack {
    /// Without extension.
    name: String,
    /// Seconds since the epoch.
    replaced_at: u64,
}

impl ReplacedPack {
    fn parse(line: &str) -> Option<Self> {
        let (name, replaced_at) = line.split_once(' ')?;
        // The name becomes part of a path, so it must have the form of a pack's name.
        let hash = name.strip_prefix("pack-")?;
        if !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let replaced_at = replaced_at.parse().ok()?;
        Some(Self { name: name.to_owned(), replaced_at })
    }
}

impl ReplacedPacks {
    /// Reads the list of a repository. A missing file is an empty list.
    pub(super) fn read(repository: &Path) -> Result<Self> {
        let file = repository.join("cuebase-replaced");
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Error::io("read", &file)(error)),
        };
        let mut packs = Vec::new();
        for line in text.lines() {
            packs.extend(ReplacedPack::parse(line));
        }
        Ok(Self { file, packs })
    }

    /// Returns the names of the packs, without extension.
    pub(super) fn names(&self) -> HashSet<OsString> {
        self.packs.iter().map(|pack| OsString::from(&pack.name)).collect()
    }

    /// Adds packs that were replaced now, and writes the list.
    pub(super) fn add(&mut self, names: Vec<String>) -> Result<()> {
        let replaced_at = now_seconds();
        for name in names {
            self.packs.push(ReplacedPack { name, replaced_at });
        }
        self.write()
    }

    /// Removes the packs that have been kept long enough, and writes the list if any was removed.
    pub(super) fn remove_expired(&mut self, folder: &Path) -> Result<()> {
        let (now, count) = (now_seconds(), self.packs.len());
        let surplus = count.saturating_sub(REPLACED_PACKS_MAX);
        let mut kept = Vec::new();
        for (position, pack) in self.packs.drain(..).enumerate() {
            let kept_seconds = if position < surplus { REPLACED_KEPT_SECONDS_MIN } else { REPLACED_KEPT_SECONDS };
            // Times are whole seconds, so a difference of one may be nearly nothing: hence `<=`.
            if now.saturating_sub(pack.replaced_at) <= kept_seconds {
                kept.push(pack);
                continue;
            }
            remove_pack_files(folder, &pack.name)?;
        }
        let changed = kept.len() < count;
        self.packs = kept;
        if changed { self.write() } else { Ok(()) }
    }

    fn write(&self) -> Result<()> {
        let mut lines = String::new();
        for pack in &self.packs {
            lines.push_str(&format!("{} {}\n", pack.name, pack.replaced_at));
        }
        let temporary = self.file.with_extension("new");
        fs::write(&temporary, lines).map_err(Error::io("write", &temporary))?;
        fs::rename(&temporary, &self.file).map_err(Error::io("rename into place", &self.file))
    }
}

fn now_seconds() -> u64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(elapsed) => elapsed.as_secs(),
        Err(_) => 0,
    }
}
