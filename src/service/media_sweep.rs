//! The removal of uploaded files without a record, which an interrupted upload left behind.

use std::fs::{self, DirEntry};
use std::path::Path;
use std::time::Duration;

use cuebase_storage::Store;
use cuebase_storage::bucket::Bucket;
use ulid::Ulid;

use super::media::Media;
use super::media_files::{self, MediaFiles};
use super::unrecorded_objects::is_removable;
use crate::error::Result;

/// A file without a record is removed if it is older than this. Younger files may be uploads in progress.
const UNRECORDED_AGE_MAX_SECONDS: u64 = 3600;

impl Media {
    /// Removes files without a record.
    pub fn sweep(&self) -> Result<()> {
        match self.files.files() {
            MediaFiles::Folder(root) => sweep_folder(&self.store, root),
            MediaFiles::Bucket(bucket) => sweep_bucket(&self.store, bucket, self.clock.now_ms()),
        }
    }
}

fn sweep_folder(store: &Store, root: &Path) -> Result<()> {
    for folder in fs::read_dir(root)?.flatten() {
        let Ok(files) = fs::read_dir(folder.path()) else { continue };
        for entry in files.flatten() {
            if !has_record(store, &entry)? && is_old(&entry) {
                fs::remove_file(entry.path())?;
            }
        }
    }
    Ok(())
}

fn has_record(store: &Store, file: &DirEntry) -> Result<bool> {
    match file.file_name().to_string_lossy().parse::<Ulid>() {
        Ok(id) => Ok(store.media(id)?.is_some()),
        Err(_) => Ok(false),
    }
}

/// Returns whether a file is old enough to be removed; false if its age is unknown.
fn is_old(file: &DirEntry) -> bool {
    file_age(file).is_ok_and(|age| age.as_secs() > UNRECORDED_AGE_MAX_SECONDS)
}

fn file_age(file: &DirEntry) -> anyhow::Result<Duration> {
    Ok(file.metadata()?.modified()?.elapsed()?)
}

/// Removes old objects without a record. Objects with other names than those of uploaded files stay.
fn sweep_bucket(store: &Store, bucket: &Bucket, now_ms: i64) -> Result<()> {
    // Each record is read after the list, so that one which was written meanwhile is found.
    for object in bucket.list(media_files::DIRECTORY)? {
        let Some(id) = media_files::id_in_name(&object.name) else { continue };
        if !is_removable(&object, now_ms) || store.media(id)?.is_some() {
            continue;
        }
        // Asked after the record was read: a backup that begins later does not know the file either.
        if store.is_backup_in_progress()? {
            return Ok(());
        }
        bucket.delete(&object.name)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use cuebase_storage::records::{MediaRecord, NamespaceRecord};
    use cuebase_storage::{AccountId, NamespaceId, NamespaceName};

    use super::*;

    const TWO_DAYS_MS: i64 = 2 * 24 * 60 * 60 * 1000;

    /// Creates the default namespace with the record of one file.
    fn store_with_record(media: u128) -> Store {
        let store = Store::in_memory().expect("creates");
        let (account, name) = (AccountId::default(), NamespaceName::default());
        let wanted = NamespaceRecord::new(&account, &name, NamespaceId::new(Ulid::from(1)), 0);
        let namespace = store.create_namespace(&wanted).expect("creates").0;
        let record = MediaRecord {
            id: Ulid::from(media),
            account,
            namespace: name,
            namespace_id: namespace.id,
            content_type: "image/png".to_owned(),
            filename: None,
            bytes: 7,
            sha256: String::new(),
        };
        let mut batch = store.batch();
        batch.put_media(&record).expect("encodes");
        store.commit_synced(batch).expect("writes");
        store
    }

    fn names(bucket: &Bucket) -> Vec<String> {
        let mut names = Vec::new();
        for object in bucket.list("").expect("lists") {
            names.push(object.name);
        }
        names
    }

    #[test]
    fn old_objects_without_a_record_are_removed() {
        let store = store_with_record(2);
        let bucket = Bucket::in_memory().expect("creates");
        let recorded = "media/00000000000000000000000001/00000000000000000000000002";
        let unrecorded = "media/00000000000000000000000001/00000000000000000000000003";
        let other = "media/readme";
        for name in [recorded, unrecorded, other] {
            bucket.put(name, b"content".to_vec()).expect("writes");
        }
        let stored_at_ms = bucket.list("").expect("lists")[0].stored_at_ms;
        sweep_bucket(&store, &bucket, stored_at_ms).expect("sweeps");
        assert_eq!(names(&bucket), [recorded, unrecorded, other], "young objects stay");
        sweep_bucket(&store, &bucket, stored_at_ms + TWO_DAYS_MS).expect("sweeps");
        assert_eq!(names(&bucket), [recorded, other]);
    }
}
