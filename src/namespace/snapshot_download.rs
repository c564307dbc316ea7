//! Snapshots of the index on their way from the bucket: a namespace that this process has no usable index of begins with
//! the newest snapshot, and only what changed since is read from git.
//!
//! A snapshot is a shortcut. If it is missing, of another format or model, or not of this history, the index is built
//! from git.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use cuebase_retrieval::{Index, STATE_FILE};
use cuebase_storage::NamespaceId;
use cuebase_storage::bucket::Bucket;
use cuebase_storage::git::{CommitId, Repository};
use cuebase_storage::records::{IndexSnapshotRecord, SnapshotFile};

use super::context::NamespaceContext;
use super::heads::commit_at;
use super::snapshot_state::BucketCopy;
use super::sync;
use crate::error::{Error, Result};
use crate::model::{Models, StaticTable};

/// Bytes of an object that are read at a time.
const RANGE_BYTES: u64 = 8 << 20;

/// The place of an index, and the history that it must belong to.
pub(super) struct IndexPlace<'a> {
    pub(super) namespace: NamespaceId,
    pub(super) folder: &'a Path,
    pub(super) repository: &'a Repository,
    /// The head of the repository.
    pub(super) head: Option<CommitId>,
}

/// Puts the newest snapshot into the folder of an index, unless the index there is usable. Returns the state of the
/// newest snapshot, unless it cannot be used. Does nothing in a process that is alone.
pub(super) fn fetch_snapshot(context: &NamespaceContext, place: &IndexPlace<'_>) -> Option<String> {
    let bucket = context.repositories.bucket()?;
    match fetch_from(bucket, context, place) {
        Ok(state) => state,
        Err(error) => {
            let index = place.folder.display();
            tracing::warn!(%index, %error, "the snapshot of the index cannot be used; the index is built from git");
            None
        }
    }
}

/// Compares the index in a folder with the snapshot of a state.
pub(super) fn bucket_copy(folder: &Path, stored_state: Option<&str>) -> BucketCopy {
    let Some(stored) = stored_state else { return BucketCopy::Outdated };
    match fs::read_to_string(folder.join(STATE_FILE)) {
        Ok(state) if state == stored => BucketCopy::Current,
        _ => BucketCopy::Outdated,
    }
}

fn fetch_from(bucket: &Bucket, context: &NamespaceContext, place: &IndexPlace<'_>) -> Result<Option<String>> {
    let download = sync::download_folder(place.folder);
    // Of a process that ended during a download.
    remove(&download)?;
    let Some(head) = place.head else { return Ok(None) };
    let Some(record) = context.store.index_snapshot(place.namespace)? else { return Ok(None) };
    if has_usable_index(place, head)? {
        return Ok(Some(record.state));
    }
    if !place.repository.is_ancestor(record.head, head)? {
        // An erasure replaced the history and did not remove the snapshot yet.
        return Ok(None);
    }
    let fetched = download_index(bucket, &record, &download, &context.models);
    if let Err(error) = fetched {
        remove(&download)?;
        return Err(error);
    }
    remove(place.folder)?;
    fs::rename(&download, place.folder)?;
    tracing::debug!(index = %place.folder.display(), head = %record.head, "the index begins with a snapshot");
    Ok(Some(record.state))
}

/// Whether the folder has an index that can be brought to the head, judging by its state file.
fn has_usable_index(place: &IndexPlace<'_>, head: CommitId) -> Result<bool> {
    if !place.folder.exists() {
        // The replacement of an index was interrupted, and the next index is complete.
        return Ok(sync::next_folder(place.folder).exists());
    }
    let table = StaticTable::built_in().map_err(Error::internal)?;
    if Index::settings_of(place.folder, table).is_none() {
        return Ok(false);
    }
    match Index::head_of(place.folder) {
        Some(found) => Ok(place.repository.is_ancestor(commit_at(found), head)?),
        None => Ok(false),
    }
}

/// Writes the files of a snapshot into a new folder.
fn download_index(bucket: &Bucket, record: &IndexSnapshotRecord, folder: &Path, models: &Models) -> Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join(STATE_FILE), &record.state)?;
    let table = StaticTable::built_in().map_err(Error::internal)?;
    let is_of_model = match Index::settings_of(folder, table) {
        Some(settings) => settings.model == models.current().model().identity(),
        None => false,
    };
    if !is_of_model {
        return Err(Error::internal("it has another format or model"));
    }
    for file in &record.files {
        download_file(bucket, file, &folder.join(&file.name))?;
    }
    Ok(())
}

fn download_file(bucket: &Bucket, file: &SnapshotFile, to: &Path) -> Result<()> {
    let mut target = File::create(to)?;
    for segment in &file.segments {
        let mut at = 0;
        while at < segment.bytes {
            let end = segment.bytes.min(at + RANGE_BYTES);
            let bytes = bucket.get_range(&segment.object, at..end)?.unwrap_or_default();
            if bytes.len() as u64 != end - at {
                return Err(Error::internal(format!("{} is missing or incomplete", segment.object)));
            }
            target.write_all(&bytes)?;
            at = end;
        }
    }
    Ok(())
}

/// Removes a folder, if it exists.
fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(())
}
