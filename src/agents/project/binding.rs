//! The permission of a person that a folder may use the namespace that it names.
//!
//! The permission is a file in the state folder of the user, because whoever writes a project could write one into it.
//! Its name is a hash of the folder's real path.

use std::path::{Path, PathBuf};

use cuebase_storage::NamespaceName;
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use super::super::places::{Places, read, write};
use crate::sha256::sha256;

/// Bytes of the hash in the name of a file.
const NAME_BYTES: usize = 16;

/// The permission for a folder.
#[derive(Debug, Serialize, Deserialize)]
struct Binding {
    /// The folder, for a person who looks at the file.
    folder: String,
    /// The namespace that the folder may use.
    namespace: String,
}

/// Returns the namespace that a folder may use.
///
/// # Errors
///
/// When the file cannot be read or decoded.
pub(super) fn bound(places: &Places, folder: &Path) -> anyhow::Result<Option<NamespaceName>> {
    let Some(text) = read(&path(places, folder))? else { return Ok(None) };
    let binding: Binding = serde_json::from_str(&text)?;
    Ok(NamespaceName::new(&binding.namespace))
}

/// Lets a folder use a namespace, in place of any other.
pub(super) fn bind(places: &Places, folder: &Path, namespace: &NamespaceName) -> anyhow::Result<()> {
    let binding = Binding { folder: folder.display().to_string(), namespace: namespace.to_string() };
    write(&path(places, folder), &serde_json::to_string(&binding)?)
}

fn path(places: &Places, folder: &Path) -> PathBuf {
    let hash = sha256(&[folder.as_os_str().as_encoded_bytes()]);
    places.state.join("bindings").join(format!("{}.json", HEXLOWER.encode(&hash[..NAME_BYTES])))
}
