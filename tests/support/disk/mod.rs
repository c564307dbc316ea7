//! A disk that fails on command, and that loses unsynced data in an imitated power cut.
//!
//! `disk.c` is preloaded between the server and libc. [`Disk`] compiles it, sets the rules of failure, and imitates a
//! power cut from the journal that `disk.c` writes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use fastrand::Rng;

use super::{Server, cuebase, stdout};

/// A layer between a server and its files, which fails by rules and records changes in a journal.
pub(crate) struct Disk {
    /// The layer applies to all paths below this folder.
    root: PathBuf,
    /// Folder of rules and journal. It is on the same file system, since overwritten files are kept here by a hard
    /// link.
    own: PathBuf,
}

impl Disk {
    /// Creates a disk for everything below a folder, which must not contain `own`.
    pub(crate) fn under(root: &Path, own: &Path) -> Self {
        std::fs::create_dir_all(own).expect("creates");
        let disk = Self { root: root.to_path_buf(), own: own.to_path_buf() };
        disk.set_rules(&[]);
        disk
    }

    /// Sets up a command to run on this disk, with or without a journal.
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

    /// Sets up a second command to run on the same files while the first one runs. Both write to one journal.
    pub(crate) fn watch_too(&self, command: &mut Command) {
        self.watch(command, false);
        command.env("CUEBASE_DISK_JOURNAL", self.own.join("kept"));
    }

    /// Replaces the rules, from the next call of the process on. `disk.c` describes the rules.
    pub(crate) fn set_rules(&self, rules: &[&str]) {
        let new = self.own.join("rules.new");
        std::fs::write(&new, rules.join("\n")).expect("writes");
        std::fs::rename(&new, self.own.join("rules")).expect("renames");
    }

    /// Returns how many calls matched rules with the action `count` so far.
    pub(crate) fn counted_calls(&self) -> u64 {
        std::fs::metadata(self.own.join("rules.counted")).map_or(0, |counted| counted.len())
    }

    /// Imitates a loss of power after the process has ended. Of each file at least the synced bytes stay, of each
    /// folder at least the names that existed when the folder was synced. Of later changes a random part stays, or all
    /// of them. A lost part of a file may also read as zeros.
    pub(crate) fn lose_power(&self, random: &mut Rng) {
        let journal = Journal::read(&self.own.join("kept"));
        for (path, state) in journal.files.iter().filter(|(_, state)| state.is_dirty) {
            state.lose_unsynced(path, random);
        }
        for mut changes in journal.names.into_values() {
            let lasting = random.usize(..=changes.len());
            for change in changes.drain(lasting..).rev() {
                change.undo();
            }
        }
    }
}

/// The effect of the changes that `disk.c` has recorded.
#[derive(Default)]
struct Journal {
    /// Files that were changed, with the part that is durable.
    files: HashMap<PathBuf, FileState>,
    /// Changes of names that are not durable, by folder, oldest first.
    names: HashMap<PathBuf, Vec<NameChange>>,
}

impl Journal {
    /// Reads the journal from a folder, which also holds links to the files that were overwritten or removed.
    fn read(kept: &Path) -> Self {
        let text = std::fs::read_to_string(kept.join("journal")).expect("a journal");
        let mut journal = Self::default();
        for line in text.lines() {
            let parts: Vec<&str> = line.split('\t').collect();
            journal.apply(kept, &parts);
        }
        journal
    }

    /// Applies one line of the journal.
    fn apply(&mut self, kept: &Path, parts: &[&str]) {
        let path = PathBuf::from(parts[1]);
        let folder = path.parent().expect("a folder").to_path_buf();
        match parts[0] {
            "create" => {
                self.files.insert(path.clone(), FileState { durable_bytes: 0, is_dirty: true });
                self.names.entry(folder).or_default().push(NameChange { from: None, to: Some(path), kept: None });
            }
            "write" => self.file(&path).is_dirty = true,
            "truncate" => {
                let length = parts[2].parse().expect("a number");
                let file = self.file(&path);
                file.durable_bytes = file.durable_bytes.min(length);
                file.is_dirty = true;
            }
            "syncfs" => {
                // The whole file system is durable. Only the files of the same folder are treated as such.
                for (file, state) in &mut self.files {
                    if file.starts_with(&folder) {
                        *state = FileState::of(file);
                    }
                }
                self.names.retain(|changed, _| !changed.starts_with(&folder));
            }
            "sync" if parts[2] == "-1" => drop(self.names.remove(&path)),
            "sync" => {
                let durable_bytes = parts[2].parse().expect("a number");
                self.files.insert(path, FileState { durable_bytes, is_dirty: false });
            }
            "rename" => self.rename(path, PathBuf::from(parts[2]), kept_file(kept, parts[3])),
            "unlink" => {
                self.files.remove(&path);
                let kept = kept_file(kept, parts[2]);
                self.names.entry(folder).or_default().push(NameChange { from: Some(path), to: None, kept });
            }
            other => panic!("unknown line in the journal: {other}"),
        }
    }

    /// Returns the state of a file. Before its first change it counts as durable.
    fn file(&mut self, path: &Path) -> &mut FileState {
        self.files.entry(path.to_path_buf()).or_insert_with(|| FileState::of(path))
    }

    /// Moves a file or a folder with all that is known of its content.
    fn rename(&mut self, from: PathBuf, to: PathBuf, kept: Option<PathBuf>) {
        let moved: Vec<PathBuf> = self.files.keys().filter(|file| file.starts_with(&from)).cloned().collect();
        for file in moved {
            let rest = file.strip_prefix(&from).expect("below");
            let target = if rest.as_os_str().is_empty() { to.clone() } else { to.join(rest) };
            let state = self.files.remove(&file).expect("a known file");
            self.files.insert(target, state);
        }
        // Changes of names in a folder that has moved are treated as durable.
        self.names.retain(|folder, _| !folder.starts_with(&from));
        let folder = to.parent().expect("a folder").to_path_buf();
        self.names.entry(folder).or_default().push(NameChange { from: Some(from), to: Some(to), kept });
    }
}

/// A data directory on a [`Disk`], with an API key.
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

    /// Starts a server on the data directory.
    pub(crate) fn start(&self) -> Server {
        self.start_with(&[])
    }

    /// Starts a server with further options.
    pub(crate) fn start_with(&self, options: &[&str]) -> Server {
        let arguments = [&["serve", "--listen", "127.0.0.1:0"], options].concat();
        let mut command = cuebase(&self.data, &arguments);
        self.disk.watch(&mut command, false);
        let mut server = Server::try_start(&self.data, command).expect("the server starts");
        server.key.clone_from(&self.key);
        server
    }
}

/// The durable part of a file.
struct FileState {
    durable_bytes: u64,
    /// The file was written to after its last sync.
    is_dirty: bool,
}

impl FileState {
    /// Returns the state of a file whose whole content counts as durable.
    fn of(path: &Path) -> Self {
        Self { durable_bytes: std::fs::metadata(path).map_or(0, |found| found.len()), is_dirty: false }
    }

    /// Loses a random part of the bytes that are not durable, or none of them.
    fn lose_unsynced(&self, path: &Path, random: &mut Rng) {
        let Ok(found) = std::fs::metadata(path) else { return };
        let bytes = found.len();
        let lasting = self.durable_bytes + random.u64(..=bytes.saturating_sub(self.durable_bytes));
        let how = random.u8(..3);
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

/// A creation, rename or removal in a folder.
struct NameChange {
    /// The former name; none for a creation.
    from: Option<PathBuf>,
    /// The new name; none for a removal.
    to: Option<PathBuf>,
    /// A link to the file that was overwritten or removed.
    kept: Option<PathBuf>,
}

impl NameChange {
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

/// Returns the link to a file that was overwritten or removed; none if the name was free.
fn kept_file(folder: &Path, name: &str) -> Option<PathBuf> {
    if name.ends_with("-0") { None } else { Some(folder.join(name)) }
}

/// Returns the shared object of `disk.c`, which is compiled once.
fn shim() -> &'static Path {
    static SHIM: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = SHIM.get_or_init(|| {
        let folder = tempfile::tempdir().expect("temporary directory");
        let path = folder.path().join("disk.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/disk/disk.c");
        let mut compile = Command::new("cc");
        compile.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&path).arg(source).args(["-ldl", "-lpthread"]);
        assert!(compile.status().expect("a C compiler, which the build needs too").success());
        (folder, path)
    });
    path
}
