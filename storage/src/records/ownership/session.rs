//! The session of this node: the record that it renews, and until when it may read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::fences::FENCED;
use super::node::NodeRecord;
use super::node_id::NodeId;
use super::{SESSION_MARGIN, SESSION_TTL};
use crate::error::{Error, Result};
use crate::key_value::{Batch, Column, Durability};
use crate::records::Store;
use crate::records::store::{decode, encode};

/// The session of a node. It begins when it is created and lasts while it is renewed.
pub struct NodeSession {
    store: Arc<Store>,
    id: NodeId,
    /// Held over each write of the record.
    stored: Mutex<StoredNode>,
    /// Held for a moment only: reads do not wait for the database.
    reads: Mutex<Reads>,
}

/// The record of the node after the last successful renewal.
struct StoredNode {
    record: NodeRecord,
    /// The record as it is stored.
    bytes: Vec<u8>,
}

/// Until when the node may read.
struct Reads {
    /// When the node stops reading, unless it renews the session before.
    end: Instant,
    /// Whether the node was declared dead, or ended its session. Changed only while the record is locked.
    is_over: bool,
}

impl NodeSession {
    /// Begins the session of a new node. `now` is a time before the call.
    ///
    /// # Errors
    /// [`Error::Engine`] if the record cannot be written.
    pub fn begin(store: &Arc<Store>, address: &str, version: &str, now: Instant) -> Result<Self> {
        let id = NodeId::generate();
        let record = NodeRecord { address: address.to_owned(), version: version.to_owned(), renewals: 0 };
        let bytes = encode(&record)?;
        let mut batch = Batch::new();
        batch.put_if_absent(Column::Nodes, id.to_bytes(), bytes.clone());
        store.add_counting_id(&mut batch, id);
        store.kv.write(&batch, Durability::Synced)?;
        store.count_under(id);
        Ok(Self {
            store: Arc::clone(store),
            id,
            stored: Mutex::new(StoredNode { record, bytes }),
            reads: Mutex::new(Reads { end: reads_end(now), is_over: false }),
        })
    }

    /// The id of this node.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Whether the node may still read what it owns, at a time.
    pub fn may_read(&self, now: Instant) -> bool {
        !self.reads_left(now).is_zero()
    }

    /// How long the node may still read what it owns, from a time on, unless it renews the session. Zero after the end.
    pub fn reads_left(&self, now: Instant) -> Duration {
        let reads = self.reads.lock();
        if reads.is_over {
            return Duration::ZERO;
        }
        if !FENCED {
            return SESSION_TTL;
        }
        reads.end.saturating_duration_since(now)
    }

    /// Renews the session. `now` is a time before the call. The renewal is synced: one that a fail-over of the database
    /// could take back would leave the node reading after it was declared dead.
    ///
    /// # Errors
    /// [`Error::SessionEnded`] if the node was declared dead. It owns nothing from then on, and starts again as a new
    /// node. Any other error leaves the session as it was: the node tries again until its reads end.
    pub fn renew(&self, now: Instant) -> Result<()> {
        let mut stored = self.stored.lock();
        if self.reads.lock().is_over {
            return Err(Error::SessionEnded);
        }
        let mut record = stored.record.clone();
        record.renewals += 1;
        let bytes = encode(&record)?;
        let mut batch = Batch::new();
        if FENCED {
            batch.expect(Column::Nodes, self.id.to_bytes(), Some(stored.bytes.clone()));
        }
        batch.put(Column::Nodes, self.id.to_bytes(), bytes.clone());
        match self.store.kv.write(&batch, Durability::Synced) {
            Ok(()) => {}
            // The renewal before was applied, although its answer was lost, or the node was declared dead.
            Err(Error::ConditionFailed { .. }) => return self.read_again(&mut stored),
            Err(error) => return Err(error),
        }
        *stored = StoredNode { record, bytes };
        self.reads.lock().end = reads_end(now);
        Ok(())
    }

    /// Reads the record after a renewal whose outcome was unknown.
    fn read_again(&self, stored: &mut StoredNode) -> Result<()> {
        // A scan, because a single key is not read on the connections of sessions.
        let Some((_, bytes)) = self.store.kv.scan(Column::Nodes, &self.id.to_bytes(), None, 1)?.pop() else {
            self.reads.lock().is_over = true;
            return Err(Error::SessionEnded);
        };
        match decode(Column::Nodes, &bytes) {
            Ok(record) => stored.record = record,
            Err(error) => {
                tracing::error!(
                    %error,
                    node = %self.id,
                    "cannot decode the record of this node; the next renewal replaces it"
                );
                // The renewal before may have been seen. An equal record later would look like none to an observer, which
                // would then declare this node dead before its reads end.
                stored.record.renewals += 1;
            }
        }
        stored.bytes = bytes;
        // Not a renewal: how old the record is, is unknown. The next renewal extends the reads.
        Ok(())
    }

    /// Ends the session. Other nodes need not wait until they declare this one dead. The caller has released what the
    /// node owned, or leaves it to be claimed.
    pub fn end(&self) -> Result<()> {
        // A renewal in progress extends the reads, so the end waits for it.
        let _stored = self.stored.lock();
        self.reads.lock().is_over = true;
        let mut batch = Batch::new();
        batch.delete(Column::Nodes, self.id.to_bytes());
        self.store.kv.write(&batch, Durability::Synced)
    }
}

/// When reads end after a renewal that was sent at a time.
fn reads_end(sent: Instant) -> Instant {
    sent + (SESSION_TTL - SESSION_MARGIN)
}
