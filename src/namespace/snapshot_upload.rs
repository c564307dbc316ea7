//! Snapshots of the index on their way to the bucket, so that the next owner of the namespace need not build the index
//! from git.
//!
//! The files are listed under the writer lock and stored without it: what is listed does not change any more. Of a file
//! that has grown since the last snapshot, only the rest is stored. The record that names the objects is written under
//! the writer lock, so that a namespace which was released meanwhile records nothing.
//!
//! An erasure waits for an upload that is in progress and then removes all snapshots. A node that lost the namespace
//! during its upload may leave objects behind. They have no record, and the hourly sweep removes them after a day.

use std::path::Path;
use std::sync::Arc;

use cuebase_retrieval::{IndexFiles, Snapshot};
use cuebase_storage::bucket::Bucket;
use cuebase_storage::git::CommitId;
use cuebase_storage::records::{IndexSnapshotRecord, SnapshotFile, SnapshotSegment};
use ulid::Ulid;

use super::heads::commit_at;
use super::open::Namespace;
use super::snapshot_state::{SnapshotState, StoredFiles, UploadReason};
use crate::error::{Error, Result};

/// The files of an index that is in use.
struct ListedIndex {
    files: IndexFiles,
    head: CommitId,
    published: Arc<Snapshot>,
}

impl Namespace {
    /// Stores a snapshot of the index in the bucket, if there is a reason to. Returns whether one was stored.
    pub(super) fn upload_snapshot(&self, reason: UploadReason) -> Result<bool> {
        let Some(bucket) = self.context.repositories.bucket() else { return Ok(false) };
        let mut state = match reason {
            UploadReason::Release => self.snapshot_state.lock(),
            // An erasure holds the lock, and changes the index.
            UploadReason::Due => match self.snapshot_state.try_lock() {
                Some(state) => state,
                None => return Ok(false),
            },
        };
        if !state.is_due(&self.snapshot(), reason) {
            return Ok(false);
        }
        state.begin();
        let Some(listed) = self.list_index()? else { return Ok(false) };
        let ListedIndex { files, head, published } = listed;
        // Nobody else changes it, as this process owns the namespace and holds the lock of uploads.
        let former = self.context.store.index_snapshot(self.id)?;
        let directory = format!("{}{}/", IndexSnapshotRecord::directory(self.id), Ulid::generate());
        let stored = match store_files(bucket, &directory, &files, &state) {
            Ok(stored) => stored,
            Err(error) => {
                remove_objects_below(bucket, &directory);
                return Err(error);
            }
        };
        let record = IndexSnapshotRecord { head, state: files.state, files: stored };
        if let Err(error) = self.record_snapshot(&record) {
            // After another error, the record may have been written.
            if matches!(error, Error::NotOwner(_) | Error::NamespaceGone) {
                remove_objects_below(bucket, &directory);
            }
            state.forget();
            return Err(error);
        }
        if let Some(former) = former {
            remove_replaced(bucket, &former, &record);
        }
        state.complete(&published, StoredFiles { opening: files.opening, files: record.files });
        Ok(true)
    }

    /// Lists the files of the index while nothing changes it. `None` if there is nothing to store.
    fn list_index(&self) -> Result<Option<ListedIndex>> {
        let writer = self.writer.lock();
        if self.end.is_set() || writer.needs_reload() {
            return Ok(None);
        }
        let Some(head) = writer.index.head() else { return Ok(None) };
        let Some(files) = writer.index.files()? else { return Ok(None) };
        Ok(Some(ListedIndex { files, head: commit_at(head), published: self.snapshot() }))
    }

    /// Records a snapshot whose objects are stored.
    fn record_snapshot(&self, record: &IndexSnapshotRecord) -> Result<()> {
        // The release of the namespace waits for this lock. After it this process may own the namespace again, and an
        // erasure may have come in between.
        let _writer = self.writer.lock();
        self.require_open()?;
        Ok(self.context.store.put_index_snapshot(&self.key(), record)?)
    }

    /// Removes all snapshots of the index, which may have erased text.
    pub(super) fn remove_snapshots(&self, state: &mut SnapshotState) -> Result<()> {
        let Some(bucket) = self.context.repositories.bucket() else { return Ok(()) };
        state.forget();
        self.context.store.remove_index_snapshot(&self.key())?;
        Ok(bucket.delete_all(&IndexSnapshotRecord::directory(self.id))?)
    }
}

/// Stores what the last snapshot lacks. Returns the files with the objects that hold them.
fn store_files(
    bucket: &Bucket,
    directory: &str,
    listed: &IndexFiles,
    state: &SnapshotState,
) -> Result<Vec<SnapshotFile>> {
    let mut stored = Vec::new();
    for file in &listed.files {
        let segments = state.stored_segments(listed.opening, file);
        let mut kept = SnapshotFile { name: file.name.clone(), segments };
        let begin = kept.bytes();
        if begin < file.bytes {
            let object = format!("{directory}{}", file.name);
            bucket.put_range(&object, &file.file, begin..file.bytes, Path::new(&file.name))?;
            kept.segments.push(SnapshotSegment { object, bytes: file.bytes - begin });
        }
        stored.push(kept);
    }
    Ok(stored)
}

/// Removes the objects of an upload that is given up. What cannot be removed has no record.
fn remove_objects_below(bucket: &Bucket, directory: &str) {
    if let Err(error) = bucket.delete_all(directory) {
        tracing::warn!(%error, directory, "the parts of an index snapshot could not be removed; they are removed after a day");
    }
}

/// Removes the objects of a former snapshot that the current one does not use.
fn remove_replaced(bucket: &Bucket, former: &IndexSnapshotRecord, current: &IndexSnapshotRecord) {
    let kept = current.objects();
    for object in former.objects().difference(&kept) {
        if let Err(error) = bucket.delete(object) {
            tracing::warn!(%error, %object, "a part of a former index snapshot could not be removed; it is removed after a day");
            return;
        }
    }
}
