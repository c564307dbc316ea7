//! The session of this node: the record that it renews, and until when it may read.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

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
    state: Mutex<State>,
}

/// What the last successful renewal left.
struct State {
    record: NodeRecord,
    /// The record as it is stored.
    bytes: Vec<u8>,
    /// When the node stops reading, unless it renews the session before.
    reads_end: Instant,
    /// Whether the node was declared dead, or ended its session.
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
        let state = Mutex::new(State { record, bytes, reads_end: reads_end(now), is_over: false });
        Ok(Self { store: Arc::clone(store), id, state })
    }

    /// The id of this node.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Whether the node may still read what it owns, at a time.
    pub fn may_read(&self, now: Instant) -> bool {
        let state = self.state.lock();
        !state.is_over && now < state.reads_end
    }

    /// Renews the session. `now` is a time before the call. The renewal is synced: one that a fail-over of the database
    /// could take back would leave the node reading after it was declared dead.
    ///
    /// # Errors
    /// [`Error::SessionEnded`] if the node was declared dead. It owns nothing from then on, and starts again as a new
    /// node. Any other error leaves the session as it was: the node tries again until its reads end.
    pub fn renew(&self, now: Instant) -> Result<()> {
        let mut state = self.state.lock();
        if state.is_over {
            return Err(Error::SessionEnded);
        }
        let mut record = state.record.clone();
        record.renewals += 1;
        let bytes = encode(&record)?;
        let mut batch = Batch::new();
        batch.expect(Column::Nodes, self.id.to_bytes(), Some(state.bytes.clone()));
        batch.put(Column::Nodes, self.id.to_bytes(), bytes.clone());
        match self.store.kv.write(&batch, Durability::Synced) {
            Ok(()) => {}
            // The renewal before was applied, although its answer was lost, or the node was declared dead.
            Err(Error::ConditionFailed { .. }) => return self.read_again(&mut state),
            Err(error) => return Err(error),
        }
        *state = State { record, bytes, reads_end: reads_end(now), is_over: false };
        Ok(())
    }

    /// Reads the record after a renewal whose outcome was unknown.
    fn read_again(&self, state: &mut State) -> Result<()> {
        let Some(bytes) = self.store.kv.get(Column::Nodes, &self.id.to_bytes())? else {
            state.is_over = true;
            return Err(Error::SessionEnded);
        };
        state.record = decode(Column::Nodes, &bytes)?;
        state.bytes = bytes;
        // Not a renewal: how old the record is, is unknown. The next renewal extends the reads.
        Ok(())
    }

    /// Ends the session. Other nodes need not wait until they declare this one dead. The caller has released what the
    /// node owned, or leaves it to be claimed.
    pub fn end(&self) -> Result<()> {
        let mut state = self.state.lock();
        state.is_over = true;
        let mut batch = Batch::new();
        batch.delete(Column::Nodes, self.id.to_bytes());
        self.store.kv.write(&batch, Durability::Synced)
    }
}

/// When reads end after a renewal that was sent at a time.
fn reads_end(sent: Instant) -> Instant {
    sent + (SESSION_TTL - SESSION_MARGIN)
}
