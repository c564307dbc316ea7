//! What of an open namespace's index is in the bucket, and when the next snapshot is due.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use cuebase_retrieval::{IndexFile, Snapshot};
use cuebase_storage::records::{SnapshotFile, SnapshotSegment};

/// Changes after which the next snapshot is due. The next owner reads the files of as many commits from git, or fewer.
const CHANGES_MAX: usize = 1000;
/// Time after which the next snapshot is due if anything changed.
const INTERVAL: Duration = Duration::from_secs(60);
/// An index of fewer memories is built from git in about the time that its download takes, as each object is a request.
/// Many small namespaces would also make many uploads. The number is an estimate.
const MEMORIES_MIN: usize = 500;
/// A file of more parts is stored again as a whole. Bounds the requests of a download.
const SEGMENTS_MAX: usize = 16;

/// Why a snapshot may be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadReason {
    /// Enough has changed, or enough time has passed.
    Due,
    /// This process is about to give the namespace up, so any change is reason enough.
    Release,
}

/// Which snapshot of an open namespace's index is in the bucket. Its lock is held over an upload, so that an erasure can
/// wait for the end of the upload. It is taken before the writer lock.
pub(super) struct SnapshotState {
    /// The published state that the snapshot in the bucket has. An empty one if it has none.
    published: Weak<Snapshot>,
    /// The changes that it has, counted from the building of the index.
    changes: usize,
    /// When the last upload began, or the namespace was opened.
    since: Instant,
    /// The stored files; none if this process stored none since it opened the index.
    stored: Option<StoredFiles>,
}

/// The files of a snapshot in the bucket.
pub(super) struct StoredFiles {
    /// The opening of the index that the files are of.
    pub(super) opening: u64,
    pub(super) files: Vec<SnapshotFile>,
}

impl SnapshotState {
    /// The state of an index that was just opened.
    pub(super) fn opened(published: &Arc<Snapshot>, bucket: BucketCopy) -> Self {
        let current = match bucket {
            BucketCopy::Current => Arc::downgrade(published),
            BucketCopy::Outdated => Weak::new(),
        };
        Self { published: current, changes: published.change_count(), since: Instant::now(), stored: None }
    }

    /// Whether a snapshot should be stored now.
    pub(super) fn is_due(&self, published: &Arc<Snapshot>, reason: UploadReason) -> bool {
        let is_current = self.published.ptr_eq(&Arc::downgrade(published));
        if is_current || published.memory_count() < MEMORIES_MIN {
            return false;
        }
        match reason {
            UploadReason::Release => true,
            // An index that was built again begins to count again.
            UploadReason::Due => {
                published.change_count().abs_diff(self.changes) >= CHANGES_MAX || self.since.elapsed() >= INTERVAL
            }
        }
    }

    /// Begins an upload. If it fails, the next one is due after the same time as after a success.
    pub(super) fn begin(&mut self) {
        self.since = Instant::now();
    }

    /// Returns the objects that hold the beginning of a file. Empty if the file must be stored as a whole.
    pub(super) fn stored_segments(&self, opening: u64, file: &IndexFile) -> Vec<SnapshotSegment> {
        let Some(stored) = &self.stored else { return Vec::new() };
        if stored.opening != opening {
            return Vec::new();
        }
        for former in &stored.files {
            if former.name == file.name && former.bytes() <= file.bytes && former.segments.len() < SEGMENTS_MAX {
                return former.segments.clone();
            }
        }
        Vec::new()
    }

    /// Notes that the snapshot in the bucket has a published state.
    pub(super) fn complete(&mut self, published: &Arc<Snapshot>, stored: StoredFiles) {
        self.published = Arc::downgrade(published);
        self.changes = published.change_count();
        self.stored = Some(stored);
    }

    /// Notes that the bucket has no snapshot any more, or that it is unknown which one it has.
    pub(super) fn forget(&mut self) {
        self.published = Weak::new();
        self.stored = None;
    }
}

/// Whether the snapshot in the bucket has the state of an index that was just opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BucketCopy {
    Current,
    /// There is none, or another one.
    Outdated,
}
