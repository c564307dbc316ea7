//! The place of uploaded files: a folder of the data directory, or the bucket that several nodes share.
//!
//! In the folder, each namespace has a folder named after its id, with one file for each media id. In the bucket, a
//! file is the object `media/<namespace id>/<media id>`. A file is written once, because an id is never used again.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use cuebase_storage::NamespaceId;
use cuebase_storage::bucket::Bucket;
use cuebase_storage::files::replace;
use cuebase_storage::records::MediaRecord;
use data_encoding::HEXLOWER;
use ulid::Ulid;

use super::media_content::{MediaContent, ObjectReader};
use crate::error::{Error, Result};
use crate::sha256::sha256;

/// The directory of all uploaded files in the bucket.
pub(super) const DIRECTORY: &str = "media/";

/// Where uploaded files are.
pub(super) enum MediaFiles {
    /// In a folder.
    Folder(PathBuf),
    /// In the bucket.
    Bucket(Arc<Bucket>),
}

impl MediaFiles {
    /// Writes a file durably, completely or not at all.
    pub(super) fn write(&self, namespace: NamespaceId, id: Ulid, bytes: &Bytes) -> Result<()> {
        match self {
            Self::Folder(root) => write_file(root, namespace, id, bytes),
            Self::Bucket(bucket) => Ok(bucket.put_shared(&object_name(namespace, id), bytes.clone())?),
        }
    }

    /// Opens a file at its start.
    pub(super) fn open(&self, record: &MediaRecord) -> Result<MediaContent> {
        let (namespace, id) = (record.namespace_id, record.id);
        match self {
            Self::Folder(root) => Ok(MediaContent::File(File::open(file_path(root, namespace, id))?)),
            Self::Bucket(bucket) => {
                let name = object_name(namespace, id);
                // Without this request, a bucket that cannot be reached would be found after the status was sent.
                if bucket.size(&name)?.is_none() {
                    return Err(Error::internal(format!("{name} is not in the bucket")));
                }
                Ok(MediaContent::Object(ObjectReader::new(Arc::clone(bucket), name, record.bytes)))
            }
        }
    }

    /// Removes the file of an upload that failed, if it is certain that it has no record.
    pub(super) fn withdraw(&self, namespace: NamespaceId, id: Ulid) {
        // With a bucket, the answer of the database may have been lost, and the record may exist. If it does not, the
        // hourly sweep removes the object.
        let Self::Folder(root) = self else { return };
        let _ = fs::remove_file(file_path(root, namespace, id));
    }

    /// Removes what a failed upload left of a namespace that was deleted in the meantime.
    pub(super) fn withdraw_from_deleted(&self, namespace: NamespaceId, id: Ulid) {
        match self {
            Self::Folder(root) => {
                // The folder is empty, unless the deletion of the namespace is still running.
                let _ = fs::remove_dir(folder_path(root, namespace));
            }
            Self::Bucket(bucket) => {
                // If the bucket refuses, the hourly sweep removes the object.
                let _ = bucket.delete(&object_name(namespace, id));
            }
        }
    }

    /// Removes all files of a namespace. Can be repeated.
    pub(super) fn remove_namespace(&self, namespace: NamespaceId) -> Result<()> {
        match self {
            Self::Folder(root) => match fs::remove_dir_all(folder_path(root, namespace)) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
                _ => Ok(()),
            },
            Self::Bucket(bucket) => Ok(bucket.delete_all(&directory_name(namespace))?),
        }
    }

    /// Compares a file with its record: a file of the folder by its checksum, an object by its size. Returns a
    /// description of the difference.
    ///
    /// # Errors
    /// If the bucket does not answer, which says nothing about the object.
    pub(super) fn difference(&self, record: &MediaRecord) -> Result<Option<String>> {
        let id = record.id;
        match self {
            Self::Folder(root) => match fs::read(file_path(root, record.namespace_id, id)) {
                Ok(bytes) if HEXLOWER.encode(&sha256(&[&bytes])) == record.sha256 => Ok(None),
                Ok(_) => Ok(Some(format!("{id} differs from the uploaded file"))),
                Err(error) => Ok(Some(format!("{id}: {error}"))),
            },
            Self::Bucket(bucket) => match bucket.size(&object_name(record.namespace_id, id))? {
                Some(bytes) if bytes == record.bytes => Ok(None),
                Some(bytes) => Ok(Some(format!("{id} has {bytes} bytes in the bucket instead of {}", record.bytes))),
                None => Ok(Some(format!("{id} is not in the bucket"))),
            },
        }
    }

    /// Moves files of format 1, which were in one folder, into the folders of their namespaces. Can be repeated.
    pub(super) fn move_former_files(&self, records: &[MediaRecord]) -> Result<()> {
        // A shared database is newer than format 1.
        let Self::Folder(root) = self else { return Ok(()) };
        for record in records {
            let former = root.join(record.id.to_string());
            fs::create_dir_all(folder_path(root, record.namespace_id))?;
            match fs::rename(&former, file_path(root, record.namespace_id, record.id)) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns the media id in the name of an object. `None` if the name has another form.
pub(super) fn id_in_name(object: &str) -> Option<Ulid> {
    let (_, id) = object.strip_prefix(DIRECTORY)?.split_once('/')?;
    id.parse().ok()
}

fn write_file(root: &Path, namespace: NamespaceId, id: Ulid, bytes: &[u8]) -> Result<()> {
    let folder = folder_path(root, namespace);
    if !folder.exists() {
        fs::create_dir_all(&folder)?;
        File::open(root)?.sync_all()?;
    }
    Ok(replace(&file_path(root, namespace, id), bytes)?)
}

fn folder_path(root: &Path, namespace: NamespaceId) -> PathBuf {
    root.join(namespace.to_string())
}

fn file_path(root: &Path, namespace: NamespaceId, id: Ulid) -> PathBuf {
    folder_path(root, namespace).join(id.to_string())
}

fn directory_name(namespace: NamespaceId) -> String {
    format!("{DIRECTORY}{namespace}/")
}

fn object_name(namespace: NamespaceId, id: Ulid) -> String {
    format!("{}{id}", directory_name(namespace))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use cuebase_storage::{AccountId, NamespaceName};
    use tempfile::TempDir;

    use super::*;

    const CONTENT: &[u8] = b"the bytes of a picture";

    /// Returns the files of both kinds, empty, with the folder that the first kind uses.
    fn both_kinds() -> (TempDir, [MediaFiles; 2]) {
        let folder = tempfile::tempdir().expect("temporary directory");
        let bucket = Arc::new(Bucket::in_memory().expect("creates"));
        let kinds = [MediaFiles::Folder(folder.path().to_path_buf()), MediaFiles::Bucket(bucket)];
        (folder, kinds)
    }

    fn record(namespace: u128, id: u128) -> MediaRecord {
        MediaRecord {
            id: Ulid::from(id),
            account: AccountId::default(),
            namespace: NamespaceName::default(),
            namespace_id: NamespaceId::new(Ulid::from(namespace)),
            content_type: "image/png".to_owned(),
            filename: None,
            bytes: CONTENT.len() as u64,
            sha256: HEXLOWER.encode(&sha256(&[CONTENT])),
        }
    }

    fn write(files: &MediaFiles, record: &MediaRecord) {
        files.write(record.namespace_id, record.id, &Bytes::from_static(CONTENT)).expect("writes");
    }

    fn content(files: &MediaFiles, record: &MediaRecord) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        files.open(record).ok()?.read_to_end(&mut bytes).expect("reads");
        Some(bytes)
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let (_folder, kinds) = both_kinds();
        for files in kinds {
            let record = record(1, 2);
            assert_eq!(content(&files, &record), None);
            write(&files, &record);
            assert_eq!(content(&files, &record).as_deref(), Some(CONTENT));
        }
    }

    #[test]
    fn a_missing_file_is_an_internal_error() {
        let (_folder, kinds) = both_kinds();
        for files in kinds {
            let error = files.open(&record(1, 2)).expect_err("is missing");
            assert!(matches!(error, Error::Internal(_)), "{error}");
        }
    }

    #[test]
    fn the_files_of_a_namespace_are_removed_and_others_stay() {
        let (_folder, kinds) = both_kinds();
        for files in kinds {
            for record in [record(1, 2), record(1, 3), record(10, 4)] {
                write(&files, &record);
            }
            files.remove_namespace(record(1, 2).namespace_id).expect("removes");
            files.remove_namespace(record(1, 2).namespace_id).expect("can be repeated");
            assert_eq!(content(&files, &record(1, 2)), None);
            assert_eq!(content(&files, &record(1, 3)), None);
            assert_eq!(content(&files, &record(10, 4)).as_deref(), Some(CONTENT));
        }
    }

    #[test]
    fn a_withdrawn_upload_leaves_nothing_in_a_deleted_namespace() {
        let (_folder, kinds) = both_kinds();
        for files in kinds {
            let record = record(1, 2);
            write(&files, &record);
            files.withdraw(record.namespace_id, record.id);
            files.withdraw_from_deleted(record.namespace_id, record.id);
            assert_eq!(content(&files, &record), None);
        }
    }

    #[test]
    fn an_object_stays_while_its_record_may_exist() {
        let files = MediaFiles::Bucket(Arc::new(Bucket::in_memory().expect("creates")));
        let record = record(1, 2);
        write(&files, &record);
        files.withdraw(record.namespace_id, record.id);
        assert_eq!(content(&files, &record).as_deref(), Some(CONTENT));
    }

    #[test]
    fn a_file_that_differs_from_its_record_is_described() {
        let (_folder, kinds) = both_kinds();
        for files in kinds {
            let (record, absent) = (record(1, 2), record(1, 3));
            write(&files, &record);
            assert_eq!(files.difference(&record).expect("compares"), None);
            let description = files.difference(&absent).expect("compares").expect("is missing");
            assert!(description.starts_with(&absent.id.to_string()), "{description}");
            files.write(record.namespace_id, record.id, &Bytes::from_static(b"other")).expect("writes");
            let description = files.difference(&record).expect("compares").expect("differs");
            assert!(description.starts_with(&record.id.to_string()), "{description}");
        }
    }

    #[test]
    fn the_id_of_a_file_is_in_the_name_of_its_object() {
        let record = record(1, 2);
        assert_eq!(id_in_name(&object_name(record.namespace_id, record.id)), Some(record.id));
        for other in ["media/", "media/one", "packs/00000000000000000000000001/00000000000000000000000002", "media/a/b"]
        {
            assert_eq!(id_in_name(other), None, "{other}");
        }
    }
}
