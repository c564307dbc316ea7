//! The first key of a data directory, and where the first start shows it.
//!
//! A journal keeps its lines for a long time, and other users than those of the data directory may read it. If standard
//! output is the journal, the key therefore goes to a private file, and only the path is printed.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use cuebase_storage::AccountId;
use cuebase_storage::records::Environment;

use super::environment::environment_variable;
use crate::accounts::{Accounts, NewKey};
use crate::file_errors::explained;

/// The variable with the device and the inode of the stream to the journal of systemd: `<device>:<inode>`, in decimal.
const JOURNAL_STREAM: &str = "JOURNAL_STREAM";
/// The file in the data directory with the first key of a start under the journal.
const FIRST_KEY_FILE: &str = "first-key";
/// Only the owner may read and write the file.
const FIRST_KEY_MODE: u32 = 0o600;

/// Creates a key for the whole default account.
pub(super) fn create(accounts: &Accounts, name: &str) -> anyhow::Result<String> {
    let key = NewKey { name: name.to_owned(), env: Environment::Live, namespace: None };
    Ok(accounts.create_key(&AccountId::default(), key)?.1)
}

/// Creates a key for the whole default account and writes it to a private file in the data directory. Returns the path
/// of the file.
pub(super) fn create_in_file(accounts: &Accounts, data: &Path) -> anyhow::Result<PathBuf> {
    let path = std::path::absolute(data)?.join(FIRST_KEY_FILE);
    // The file comes first: if it cannot be created, the next start is still the first one.
    let mut file = private_file(&path).map_err(explained("create", &path))?;
    let key = create(accounts, "first key")?;
    writeln!(file, "{key}").and_then(|()| file.sync_all()).map_err(explained("write", &path))?;
    Ok(path)
}

fn private_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(FIRST_KEY_MODE).open(path)?;
    // `mode` applies to a new file only, and an interrupted first start may have left one.
    file.set_permissions(Permissions::from_mode(FIRST_KEY_MODE))?;
    Ok(file)
}

/// Returns whether standard output is the stream to the journal. The variable alone does not say so, because child
/// processes inherit it: device and inode must be those of standard output.
pub(super) fn is_output_journal() -> bool {
    let Some(stream) = environment_variable(JOURNAL_STREAM) else { return false };
    let Ok(descriptor) = io::stdout().as_fd().try_clone_to_owned() else { return false };
    match File::from(descriptor).metadata() {
        Ok(metadata) => stream == format!("{}:{}", metadata.dev(), metadata.ino()),
        Err(_) => false,
    }
}
