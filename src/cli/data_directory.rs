//! The check of the data directory before a command works on it.
//!
//! A command in a wrong folder must not create a data directory there: the keys that it prints would be useless. Only
//! `serve`, `demo` and `restore` create a data directory without `--init`.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use anyhow::bail;

use crate::config::{Config, Origin, StorageSettings, setting};
use crate::file_errors::explained;

/// Files that identify a data directory: one of RocksDB, and the lock file created before RocksDB opens.
const MARKS: [&str; 2] = ["records/CURRENT", "records/PROCESS"];
/// A folder that file systems create at their root; a directory that holds nothing else counts as empty.
const LOST_AND_FOUND: &str = "lost+found";

/// What a command requires of the data directory.
#[derive(Clone, Copy)]
pub(super) enum DataUse {
    /// No check: the command uses no data directory or creates it itself.
    Unchecked,
    /// The directory must exist.
    Existing,
    /// The directory must exist, unless `--init` is given.
    ExistingOr(Init),
}

/// The `--init` option of commands that can create a data directory.
#[derive(Clone, Copy, clap::Args)]
pub(super) struct Init {
    /// Create the data directory if it does not exist
    #[arg(long)]
    init: bool,
}

/// What is at the path of the data directory.
#[derive(Clone, Copy)]
enum PathContent {
    DataDirectory,
    Nothing,
    EmptyDirectory,
    OtherDirectory,
    File,
}

/// Checks that the data directory exists, or that the command may create it at this path.
///
/// # Errors
///
/// When the directory is missing or is not a data directory. The error names the path, its origin and a remedy.
pub(super) fn check(config: &Config, data_use: DataUse) -> anyhow::Result<()> {
    if matches!(data_use, DataUse::Unchecked) || is_cache(config) {
        return Ok(());
    }
    let data = std::path::absolute(&config.data)?;
    let content = inspect(&data).map_err(explained("read the data directory", &data))?;
    let creates = matches!(data_use, DataUse::ExistingOr(Init { init: true }));
    let shown = data.display();
    let problem = match content {
        PathContent::DataDirectory => return Ok(()),
        PathContent::Nothing | PathContent::EmptyDirectory if creates => return Ok(()),
        PathContent::Nothing => format!("no data directory at {shown}"),
        PathContent::EmptyDirectory => format!("no data directory at {shown}: the folder is empty"),
        PathContent::OtherDirectory => format!("{shown} is not a Cuebase data directory: it holds no {}", MARKS[0]),
        PathContent::File => format!("{shown} is not a Cuebase data directory: it is a file"),
    };
    let remedy = match (content, data_use) {
        (PathContent::OtherDirectory | PathContent::File, _) => {
            "; a new one needs an empty or missing folder".to_owned()
        }
        (_, DataUse::ExistingOr(_)) => ", or add --init to create one there".to_owned(),
        (_, _) => format!("; `cuebase serve --data {shown}` creates one"),
    };
    let origin = match config.origin(&setting::general::data) {
        Origin::Default => "the default path".to_owned(),
        origin => format!("from {origin}"),
    };
    bail!("{problem} ({origin})\nhint: set another path with --data DIR or CUEBASE_DATA{remedy}")
}

/// Returns whether there are records to read: in a database, or in an existing data directory.
///
/// # Errors
///
/// When the path cannot be read.
pub(super) fn has_records(config: &Config) -> anyhow::Result<bool> {
    if is_cache(config) {
        return Ok(true);
    }
    let content = inspect(&config.data).map_err(explained("read the data directory", &config.data))?;
    Ok(matches!(content, PathContent::DataDirectory))
}

/// Returns whether the data directory is a cache in front of a database. Every command may create a cache.
fn is_cache(config: &Config) -> bool {
    matches!(config.storage, StorageSettings::Shared(_))
}

/// Determines what is at the path of a data directory.
fn inspect(data: &Path) -> io::Result<PathContent> {
    for mark in MARKS {
        if path_exists(&data.join(mark))? {
            return Ok(PathContent::DataDirectory);
        }
    }
    if !path_exists(data)? {
        return Ok(PathContent::Nothing);
    }
    if !fs::metadata(data)?.is_dir() {
        return Ok(PathContent::File);
    }
    for entry in fs::read_dir(data)? {
        if entry?.file_name() != LOST_AND_FOUND {
            return Ok(PathContent::OtherDirectory);
        }
    }
    Ok(PathContent::EmptyDirectory)
}

fn path_exists(path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Resolves settings from environment variables, with a folder as the data directory.
    fn config_in(folder: &Path, environment: &[(&str, &str)]) -> Config {
        let variable = |name: &str| {
            let found = environment.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let mut config = Config::resolve(&BTreeMap::new(), variable, None).expect("resolves");
        config.data = folder.to_owned();
        config
    }

    #[test]
    fn a_database_has_records_while_the_data_directory_is_empty() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let shared = [
            ("CUEBASE_STORAGE_ENGINE", "postgres"),
            ("CUEBASE_STORAGE_POSTGRES_URL", "postgres://a@b/c"),
            ("CUEBASE_STORAGE_BUCKET", "s3://memories"),
            ("CUEBASE_CLUSTER_ADVERTISE", "node-1:8090"),
        ];
        assert!(has_records(&config_in(folder.path(), &shared)).expect("reads"));
        assert!(!has_records(&config_in(folder.path(), &[])).expect("reads"));
    }
}
