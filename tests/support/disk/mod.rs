//! A disk that fails on command, and one that forgets what was not synced when the power goes.
//!
//! `disk.c` is put between the server and libc; [`Disk`] compiles it, says what shall fail, and imitates a loss of power
//! from the journal that it writes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::{Chance, Server, cuebase, stdout};

/// What stands between one server and its files.
pub(crate) struct Disk {
    /// What lies below is watched.
    root: PathBuf,
    /// Rules and journal; on the same file system, since what is overwritten is kept here by a link.
    own: PathBuf,
}

impl Disk {
    /// A disk under everything below a folder, which is not to hold `own`.
    pub(crate) fn under(root: &Path, own: &Path) -> Self {
        std::fs::create_dir_all(own).expect("creates");
        let disk = Self { root: root.to_path_buf(), own: own.to_path_buf() };
        disk.obey(&[]);
        disk
    }

    /// Puts it under a process that is to be started, with or without a journal.
    pub(crate) fn watch(&self, command: &mut Command, journal: bool) {
        command.env("LD_PRELOAD", shim()).env("CUEBASE_DISK_ROOT", &self.root);
        command.env("CUEBASE_DISK_RULES", self.own.join("rules"));
        if journal {
            let folder = self.own.join("kept");
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(&folder).expect("creates");
            command.env("CUEBASE_DISK_JOURNAL", folder);
        }
    }

    /// Puts it also under another process on the same files, which is started while the first one runs: both write one
    /// journal.
    pub(crate) fn watch_too(&self, command: &mut Command) {
        self.watch(command, false);
        command.env("CUEBASE_DISK_JOURNAL", self.own.join("kept"));
    }

    /// From the next call on these rules hold, and no others; see `disk.c`.
    pub(crate) fn obey(&self, rules: &[&str]) {
        let new = self.own.join("rules.new");
        std::fs::write(&new, rules.join("\n")).expect("writes");
        std::fs::rename(&new, self.own.join("rules")).expect("renames");
    }

    /// What a loss of power may leave of what was done since the process was started: of each file at least what was
    /// synced, of each folder's names at least what was there when the folder was synced; of what came later a part, or
    /// all of it, as chance has it. A part of a file that was lost may also read as zeros.
    pub(crate) fn lose_power(&self, chance: &mut Chance) {
        let kept = self.own.join("kept");
        let text = std::fs::read_to_string(kept.join("journal")).expect("a journal");
        let mut files: HashMap<PathBuf, Written> = HashMap::new();
        let mut names: HashMap<PathBuf, Vec<Renamed>> = HashMap::new();
        for line in text.lines() {
            let parts: Vec<&str> = line.split('\t').collect();
            let path = PathBuf::from(parts[1]);
            let folder = path.parent().expect("a folder").to_path_buf();
            match parts[0] {
                "create" => {
                    files.insert(path.clone(), Written { durable: 0, dirty: true });
                    names.entry(folder).or_default().push(Renamed { from: None, to: Some(path), kept: None });
                }
                "write" => files.entry(path.clone()).or_insert_with(|| Written::of(&path)).dirty = true,
                "truncate" => {
                    let length = parts[2].parse().expect("a number");
                    let file = files.entry(path.clone()).or_insert_with(|| Written::of(&path));
                    file.durable = file.durable.min(length);
                    file.dirty = true;
                }
                "syncfs" => {
                    // The whole file system is durable; of that only what belongs together is made use of.
                    let (synced, _) = files.iter_mut().partition::<Vec<_>, _>(|(file, _)| file.starts_with(&folder));
                    for (file, state) in synced {
                        *state = Written { dirty: false, ..Written::of(file) };
                    }
                    names.retain(|changed, _| !changed.starts_with(&folder));
                }
                "sync" if parts[2] == "-1" => drop(names.remove(&path)),
                "sync" => {
                    let durable = parts[2].parse().expect("a number");
                    files.insert(path, Written { durable, dirty: false });
                }
                "rename" => {
                    let to = PathBuf::from(parts[2]);
                    let moved: Vec<PathBuf> = files.keys().filter(|file| file.starts_with(&path)).cloned().collect();
                    for file in moved {
                        let rest = file.strip_prefix(&path).expect("below");
                        let target = if rest.as_os_str().is_empty() { to.clone() } else { to.join(rest) };
                        let state = files.remove(&file).expect("there");
                        files.insert(target, state);
                    }
                    let moved: Vec<PathBuf> =
                        names.keys().filter(|folder| folder.starts_with(&path)).cloned().collect();
                    for folder in moved {
                        // What was in a folder that has moved is taken to have moved with it for good.
                        names.remove(&folder);
                    }
                    let folder = to.parent().expect("a folder").to_path_buf();
                    let kept = kept_as(&kept, parts[3]);
                    names.entry(folder).or_default().push(Renamed { from: Some(path), to: Some(to), kept });
                }
                "unlink" => {
                    files.remove(&path);
                    let kept = kept_as(&kept, parts[2]);
                    names.entry(folder).or_default().push(Renamed { from: Some(path), to: None, kept });
                }
                other => panic!("the journal says {other}"),
            }
        }
        for (path, file) in files.iter().filter(|(_, file)| file.dirty) {
            file.lose(path, chance);
        }
        for mut changes in names.into_values() {
            let lasting = chance.below(changes.len() as u64 + 1) as usize;
            for change in changes.drain(lasting..).rev() {
                change.undo();
            }
        }
    }
}

/// A data directory on a disk that obeys, with a key to it.
pub(crate) struct WatchedData {
    pub(crate) data: PathBuf,
    pub(crate) key: String,
    pub(crate) disk: Disk,
    /// Removed when this is dropped.
    _folder: tempfile::TempDir,
}

impl WatchedData {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("temporary directory");
        let (root, data) = (folder.path().join("box"), folder.path().join("box/data"));
        std::fs::create_dir_all(&root).expect("creates");
        let key = stdout(&data, &["keys", "create", "--init"]);
        let disk = Disk::under(&root, &folder.path().join("disk"));
        Self { data, key, disk, _folder: folder }
    }

    /// Starts a server on it, which must come to serve.
    pub(crate) fn start(&self) -> Server {
        self.start_with(&[])
    }

    /// The same with further options.
    pub(crate) fn start_with(&self, options: &[&str]) -> Server {
        let arguments = [&["serve", "--listen", "127.0.0.1:0"], options].concat();
        let mut command = cuebase(&self.data, &arguments);
        self.disk.watch(&mut command, false);
        let mut server = Server::try_start(&self.data, command).expect("the server starts");
        server.key.clone_from(&self.key);
        server
    }
}

/// What is durable of a file.
struct Written {
    durable: u64,
    dirty: bool,
}

impl Written {
    /// One that was there before: all of it had been synced, or nothing of it was ever to be.
    fn of(path: &Path) -> Self {
        Self { durable: std::fs::metadata(path).map_or(0, |found| found.len()), dirty: false }
    }

    fn lose(&self, path: &Path, chance: &mut Chance) {
        let Ok(bytes) = std::fs::metadata(path).map(|found| found.len()) else { return };
        let lasting = self.durable + chance.below(bytes.saturating_sub(self.durable) + 1);
        let how = chance.below(3);
        if how == 0 || lasting >= bytes {
            return;
        }
        let file = std::fs::File::options().write(true).open(path).expect("opens");
        file.set_len(lasting).expect("truncates");
        if how == 1 {
            file.set_len(bytes).expect("fills with zeros");
        }
    }
}

/// A change of names in a folder.
struct Renamed {
    from: Option<PathBuf>,
    to: Option<PathBuf>,
    /// What was at the name that was taken, or removed.
    kept: Option<PathBuf>,
}

impl Renamed {
    fn undo(self) {
        match (self.from, self.to) {
            (None, Some(created)) => drop(std::fs::remove_file(created)),
            (Some(from), Some(to)) => {
                let _ = std::fs::rename(&to, from);
                if let Some(kept) = self.kept {
                    let _ = std::fs::hard_link(kept, to);
                }
            }
            (Some(removed), None) => {
                if let Some(kept) = self.kept {
                    let _ = std::fs::hard_link(kept, removed);
                }
            }
            (None, None) => {}
        }
    }
}

fn kept_as(folder: &Path, name: &str) -> Option<PathBuf> {
    (!name.ends_with("-0")).then(|| folder.join(name))
}

/// The shared object, compiled once.
fn shim() -> &'static Path {
    static SHIM: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = SHIM.get_or_init(|| {
        let folder = tempfile::tempdir().expect("temporary directory");
        let path = folder.path().join("disk.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/disk/disk.c");
        let mut compile = Command::new("cc");
        compile.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&path).arg(source).args(["-ldl", "-lpthread"]);
        assert!(compile.status().expect("a C compiler, as the build needs one").success());
        (folder, path)
    });
    path
}
