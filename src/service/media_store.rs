//! The folder of uploaded files, and the key that signs URLs of them.
//!
//! Files are in one folder per namespace id. Their records are in the store; `media.rs` keeps both in step.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::hmac;
use cuebase_storage::files::replace;
use cuebase_storage::records::MediaRecord;
use cuebase_storage::{NamespaceId, Store};
use data_encoding::BASE64URL_NOPAD;
use jiff::Timestamp;
use ulid::Ulid;

use crate::error::Result;
use crate::file_errors::explained;
use crate::secrets::stored_secret;

/// The folder of uploaded files, and the key that signs URLs of them.
pub(crate) struct MediaStore {
    folder: PathBuf,
    key: hmac::Key,
}

impl MediaStore {
    /// Opens the folder and the data directory's signing key. Creates both at the first start.
    pub(super) fn open(folder: &Path, store: &Arc<Store>) -> anyhow::Result<Self> {
        let secret = stored_secret(store, "media")?;
        fs::create_dir_all(folder).map_err(explained("create", folder))?;
        Ok(Self { folder: folder.to_path_buf(), key: hmac::Key::new(hmac::HMAC_SHA256, &secret) })
    }

    /// Returns the signature of a URL.
    pub(crate) fn sign(&self, id: Ulid, expires: i64) -> String {
        BASE64URL_NOPAD.encode(hmac::sign(&self.key, &signed_message(id, expires)).as_ref())
    }

    /// Returns whether a URL is valid at a time: its signature matches and it is not expired.
    pub(super) fn verify(&self, id: Ulid, expires: i64, signature: &str, now: Timestamp) -> bool {
        let Ok(signature) = BASE64URL_NOPAD.decode(signature.as_bytes()) else { return false };
        now.as_second() < expires && hmac::verify(&self.key, &signed_message(id, expires), &signature).is_ok()
    }

    /// Returns the folder of all files.
    pub(super) fn root(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder of a namespace's files.
    pub(crate) fn folder(&self, namespace: NamespaceId) -> PathBuf {
        self.folder.join(namespace.to_string())
    }

    /// Returns the path of a file.
    pub(crate) fn path(&self, namespace: NamespaceId, id: Ulid) -> PathBuf {
        self.folder(namespace).join(id.to_string())
    }

    /// Writes a file durably, completely or not at all.
    pub(super) fn write(&self, namespace: NamespaceId, id: Ulid, bytes: &[u8]) -> std::io::Result<()> {
        let folder = self.folder(namespace);
        if !folder.exists() {
            fs::create_dir_all(&folder)?;
            File::open(&self.folder)?.sync_all()?;
        }
        replace(&self.path(namespace, id), bytes)
    }

    /// Moves files of format 1, which were in one folder, into the folders of their namespaces. Can be repeated.
    pub(super) fn move_former_files(&self, records: &[MediaRecord]) -> Result<()> {
        for record in records {
            let former = self.folder.join(record.id.to_string());
            fs::create_dir_all(self.folder(record.namespace_id))?;
            match fs::rename(&former, self.path(record.namespace_id, record.id)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }
}

fn signed_message(id: Ulid, expires: i64) -> Vec<u8> {
    format!("{id} {expires}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_valid_for_one_file_until_it_expires() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = Arc::new(Store::open(&folder.path().join("records")).expect("opens"));
        let media = MediaStore::open(&folder.path().join("media"), &store).expect("opens");
        let now = Timestamp::from_second(1_000_000).expect("a time");
        let (id, other) = (Ulid::from(7), Ulid::from(8));
        let signature = media.sign(id, 1_000_900);
        assert!(media.verify(id, 1_000_900, &signature, now));
        let later = Timestamp::from_second(1_000_900).expect("a time");
        assert!(!media.verify(id, 1_000_900, &signature, later));
        assert!(!media.verify(id, 1_009_000, &signature, now));
        assert!(!media.verify(other, 1_000_900, &signature, now));
        assert!(!media.verify(id, 1_000_900, "", now));
    }
}
