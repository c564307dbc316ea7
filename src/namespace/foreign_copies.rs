//! Removing local copies of namespaces that other nodes own: they may hold text that was erased meanwhile.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use cuebase_storage::NamespaceId;
use ulid::Ulid;

use crate::error::Result;

/// Returns the folders below `data` that hold copies of namespaces: repositories and indexes, named by account and by
/// name and id of the namespace.
pub(super) fn copies(data: &Path) -> Result<Vec<(NamespaceId, PathBuf)>> {
    let mut copies = Vec::new();
    for kind in ["repositories", "indexes"] {
        for account in folders(&data.join(kind))? {
            for copy in folders(&account)? {
                let id = copy.file_name().and_then(|name| name.to_str()).and_then(id_in_name);
                copies.extend(id.map(|id| (id, copy)));
            }
        }
    }
    Ok(copies)
}

/// Moves the copies of all namespaces but some into the trash. Returns their folders there, for the caller to remove.
pub(super) fn discard_others(data: &Path, kept: &HashSet<NamespaceId>) -> Result<Vec<PathBuf>> {
    let trash = data.join("trash");
    let mut discarded = Vec::new();
    for (id, folder) in copies(data)? {
        if !kept.contains(&id) {
            fs::create_dir_all(&trash)?;
            let to = trash.join(Ulid::generate().to_string());
            fs::rename(&folder, &to)?;
            discarded.push(to);
        }
    }
    Ok(discarded)
}

/// Returns the id in the name of a folder: `<name>.<id>.git`, `<name>.<id>` or `<name>.<id>.next`.
fn id_in_name(name: &str) -> Option<NamespaceId> {
    name.split('.').find_map(|part| Ulid::from_string(part).ok()).map(NamespaceId::new)
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut folders = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            folders.push(entry.path());
        }
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_foreign_namespaces_are_removed() {
        let data = tempfile::tempdir().expect("temporary directory");
        let [own, foreign] = [1u128, 2].map(|id| NamespaceId::new(Ulid::from(id)));
        let mut folders = Vec::new();
        for id in [own, foreign] {
            let repository = data.path().join("repositories").join("a").join(format!("n.{id}.git"));
            let index = data.path().join("indexes").join("a").join(format!("n.{id}"));
            let next = data.path().join("indexes").join("a").join(format!("n.{id}.next"));
            folders.push([repository, index, next]);
        }
        for folder in folders.iter().flatten() {
            fs::create_dir_all(folder).expect("creates");
        }
        let discarded = discard_others(data.path(), &HashSet::from([own])).expect("moves");
        assert_eq!(discarded.len(), 3);
        assert!(discarded.iter().all(|folder| folder.exists()));
        assert!(folders[0].iter().all(|folder| folder.exists()));
        assert!(!folders[1].iter().any(|folder| folder.exists()));
    }
}
