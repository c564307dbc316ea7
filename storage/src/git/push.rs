//! Taking in what another git sends: first into a repository apart, where it is looked at before anything is believed.

use std::fs;
use std::io::BufRead;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use gix::objs::Kind;
use gix::objs::tree::EntryKind;

use super::inspect;
use super::missing::Missing;
use super::pack::PackBuilder;
use super::repository::{CommitInfo, Repository, commit};
use crate::error::{Error, Result};

/// An object that takes more than this, unpacked, is refused: no memory is as large.
const OBJECT_BYTES_MAX: usize = 64 << 20;
/// No more than so many problems are told of one push.
const WRONG_MAX: usize = 20;

impl Repository {
    /// A repository of its own at `path` that sees this one's objects beside those that it will be given.
    pub fn apart(&self, path: &Path) -> Result<Self> {
        let apart = Self::open_or_create(path)?;
        let objects = self.path().join("objects");
        let objects = std::path::absolute(&objects).map_err(Error::io("find", &objects))?;
        let alternates = path.join("objects/info");
        fs::create_dir_all(&alternates).map_err(Error::io("create", &alternates))?;
        let alternates = alternates.join("alternates");
        fs::write(&alternates, format!("{}\n", objects.display())).map_err(Error::io("write", &alternates))?;
        Ok(apart)
    }

    /// Takes in the objects of a pack, whose deltas may stand on objects that are here. What it holds is not trusted.
    pub fn take_pack(&self, pack: &mut dyn BufRead) -> Result<()> {
        let folder = self.pack_folder();
        let options = gix_pack::bundle::write::Options {
            alloc_limit_bytes: Some(OBJECT_BYTES_MAX),
            ..gix_pack::bundle::write::Options::default()
        };
        let here = self.open()?.objects;
        gix_pack::Bundle::write_to_directory(
            pack,
            Some(&folder),
            &mut gix::progress::Discard,
            &AtomicBool::new(false),
            Some(here),
            gix::hash::Kind::Sha1,
            options,
        )
        .map(drop)
        .map_err(|error| Error::invalid("pack", format!("{error}")))
    }
}

impl Missing {
    /// The commits among them, newest first.
    pub fn commits(&self) -> Result<Vec<CommitInfo>> {
        let commits = self.objects.iter().filter(|(_, kind)| *kind == Kind::Commit);
        commits.map(|(id, _)| Ok(commit(&self.repository, *id)?.0)).collect()
    }

    /// What is wrong with them, in words: what is not what its name says, and what is neither directory nor file.
    pub fn inspect(&self) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        for (id, kind) in &self.objects {
            if let Err(error) = inspect::read(&self.repository, *id, *kind) {
                wrong.push(format!("{kind} {id}: {error}"));
            } else if *kind == Kind::Tree {
                let tree = self.repository.find_tree(*id).map_err(Error::git("read a directory"))?;
                let decoded = tree.decode().map_err(Error::git("read a directory"))?;
                let strange = |kind| matches!(kind, EntryKind::Link | EntryKind::Commit);
                let strange = decoded.entries.iter().filter(|entry| strange(entry.mode.kind()));
                wrong.extend(strange.map(|entry| format!("{}: is a symbolic link or a submodule", entry.filename)));
            }
            if wrong.len() >= WRONG_MAX {
                break;
            }
        }
        Ok(wrong)
    }

    /// All of them, as they are to stand in a pack of ours.
    pub(super) fn packed(&self) -> Result<PackBuilder> {
        let mut pack = PackBuilder::default();
        for (id, kind) in &self.objects {
            let object = self.repository.find_object(*id).map_err(Error::git("read an object"))?;
            pack.add(*kind, &object.data)?;
        }
        Ok(pack)
    }
}
