//! The uploaded files, and the key that signs URLs of them.
//!
//! `media_files.rs` has the place of the files. Their records are in the store; `media.rs` keeps both in step.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use aws_lc_rs::hmac;
use cuebase_storage::Store;
use cuebase_storage::bucket::Bucket;
use data_encoding::BASE64URL_NOPAD;
use jiff::Timestamp;
use ulid::Ulid;

use super::media_files::MediaFiles;
use crate::file_errors::explained;
use crate::secrets::stored_secret;

/// The uploaded files, and the key that signs URLs of them.
pub(crate) struct MediaStore {
    files: MediaFiles,
    key: hmac::Key,
}

impl MediaStore {
    /// Opens the files of a bucket, or without one those of a folder, and the signing key of the records. Creates the
    /// folder and the key at the first start.
    pub(super) fn open(folder: &Path, bucket: Option<Arc<Bucket>>, store: &Arc<Store>) -> anyhow::Result<Self> {
        let secret = stored_secret(store, "media")?;
        let files = match bucket {
            Some(bucket) => MediaFiles::Bucket(bucket),
            None => {
                fs::create_dir_all(folder).map_err(explained("create", folder))?;
                MediaFiles::Folder(folder.to_path_buf())
            }
        };
        Ok(Self { files, key: hmac::Key::new(hmac::HMAC_SHA256, &secret) })
    }

    /// Returns the files.
    pub(super) fn files(&self) -> &MediaFiles {
        &self.files
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
        let media = MediaStore::open(&folder.path().join("media"), None, &store).expect("opens");
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

    #[test]
    fn a_bucket_needs_no_folder() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = Arc::new(Store::in_memory().expect("creates"));
        let bucket = Arc::new(Bucket::in_memory().expect("creates"));
        let path = folder.path().join("media");
        let media = MediaStore::open(&path, Some(bucket), &store).expect("opens");
        assert!(matches!(media.files(), MediaFiles::Bucket(_)));
        assert!(!path.exists());
    }
}
