//! The check of the data directory before a command works on it.
//!
//! A command in a wrong folder must not create a data directory there: the keys that it prints would open nothing. Only
//! `serve`, `demo` and `restore` create one without being asked.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use anyhow::bail;

use crate::config::{Config, Origin};
use crate::file_errors::explained;

/// Files that show that a directory is a data directory: of the engine, and of the lock taken before the engine opens.
const MARKS: [&str; 2] = ["records/CURRENT", "records/PROCESS"];
/// A folder that file systems put at their root; a directory that holds nothing else counts as empty.
const LOST_AND_FOUND: &str = "lost+found";

/// What a command needs of the data directory.
#[derive(Clone, Copy)]
pub(super) enum DataUse {
    /// Nothing, or the command creates the directory itself.
    Unchecked,
    /// The directory must exist.
    Existing,
    /// The directory must exist, or the option asks to create it.
    ExistingOr(Init),
}

/// The option of commands for which creating a data directory makes sense.
#[derive(Clone, Copy, clap::Args)]
pub(super) struct Init {
    /// Create the data directory where there is none
    #[arg(long)]
    init: bool,
}

/// What is at the path of the data directory.
#[derive(Clone, Copy)]
enum Found {
    DataDirectory,
    Nothing,
    EmptyDirectory,
    OtherDirectory,
    File,
}

/// Refuses to go on where the data directory is missing, or where the path holds something else.
///
/// # Errors
///
/// The path that was looked at, and how to name another one.
pub(super) fn check(config: &Config, data_use: DataUse) -> anyhow::Result<()> {
    if matches!(data_use, DataUse::Unchecked) {
        return Ok(());
    }
    let data = std::path::absolute(&config.data)?;
    let found = inspect(&data).map_err(explained("read the data directory", &data))?;
    let creates = matches!(data_use, DataUse::ExistingOr(Init { init: true }));
    let shown = data.display();
    let problem = match found {
        Found::DataDirectory => return Ok(()),
        Found::Nothing | Found::EmptyDirectory if creates => return Ok(()),
        Found::Nothing => format!("there is no data directory at {shown}"),
        Found::EmptyDirectory => format!("there is no data directory at {shown}: the folder is empty"),
        Found::OtherDirectory => format!("{shown} is not a Cuebase data directory: it holds no {}", MARKS[0]),
        Found::File => format!("{shown} is not a Cuebase data directory: it is a file"),
    };
    let remedy = match (found, data_use) {
        (Found::OtherDirectory | Found::File, _) => "; a new one needs an empty or missing folder",
        (_, DataUse::ExistingOr(_)) => ", or add --init to create one there",
        (_, _) => "; `cuebase serve` creates one",
    };
    let origin = match config.origin("data") {
        Some(Origin::Default) | None => "the default path".to_owned(),
        Some(origin) => format!("from {origin}"),
    };
    bail!("{problem} ({origin})\nhint: name another one with --data DIR or CUEBASE_DATA{remedy}")
}

/// Returns whether there is a data directory.
///
/// # Errors
///
/// When the system does not allow to look.
pub(super) fn exists(config: &Config) -> anyhow::Result<bool> {
    let found = inspect(&config.data).map_err(explained("read the data directory", &config.data))?;
    Ok(matches!(found, Found::DataDirectory))
}

fn inspect(data: &Path) -> io::Result<Found> {
    for mark in MARKS {
        if is_there(&data.join(mark))? {
            return Ok(Found::DataDirectory);
        }
    }
    if !is_there(data)? {
        return Ok(Found::Nothing);
    }
    if !fs::metadata(data)?.is_dir() {
        return Ok(Found::File);
    }
    for entry in fs::read_dir(data)? {
        if entry?.file_name() != LOST_AND_FOUND {
            return Ok(Found::OtherDirectory);
        }
    }
    Ok(Found::EmptyDirectory)
}

fn is_there(path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        Err(error) => Err(error),
    }
}
