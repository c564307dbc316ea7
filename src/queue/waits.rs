//! Callers that wait until a write has left the queue.
//!
//! A caller registers its wait before it reads the state of the write, so no notification is lost. The queue notifies
//! after the write was acknowledged or became a dead letter. A wait takes no thread: it is a future of the caller.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cuebase_storage::MessageId;
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// The waits for all writes.
#[derive(Default)]
pub struct WriteWaits {
    state: Mutex<WaitState>,
}

#[derive(Default)]
struct WaitState {
    last_ticket: u64,
    /// The waits for each write, by ticket.
    writes: HashMap<MessageId, BTreeMap<u64, oneshot::Sender<()>>>,
    /// Whether the service stops. No wait begins then.
    has_ended: bool,
}

/// One wait for a write. Dropping it ends the wait.
pub struct WriteWait {
    waits: Arc<WriteWaits>,
    id: MessageId,
    ticket: u64,
    left: oneshot::Receiver<()>,
}

impl WriteWaits {
    /// Begins a wait for a write.
    pub fn register(self: &Arc<Self>, id: MessageId) -> WriteWait {
        let (sender, left) = oneshot::channel();
        let mut state = self.state.lock();
        state.last_ticket += 1;
        let ticket = state.last_ticket;
        if !state.has_ended {
            state.writes.entry(id).or_default().insert(ticket, sender);
        }
        WriteWait { waits: Arc::clone(self), id, ticket, left }
    }

    /// Ends the waits for a write that has left the queue.
    pub(super) fn notify(&self, id: MessageId) {
        let Some(waits) = self.state.lock().writes.remove(&id) else { return };
        for sender in waits.into_values() {
            // Fails if the caller has stopped waiting.
            let _ = sender.send(());
        }
    }

    /// Ends all waits because the service stops.
    pub fn end(&self) {
        let mut state = self.state.lock();
        state.has_ended = true;
        // Receivers of dropped senders end with an error.
        state.writes.clear();
    }

    /// Whether all waits have ended because the service stops.
    pub fn have_ended(&self) -> bool {
        self.state.lock().has_ended
    }

    fn remove(&self, id: MessageId, ticket: u64) {
        let mut state = self.state.lock();
        let Some(waits) = state.writes.get_mut(&id) else { return };
        waits.remove(&ticket);
        if waits.is_empty() {
            state.writes.remove(&id);
        }
    }
}

impl WriteWait {
    /// Waits until the write has left the queue, or the service stops.
    pub async fn ended(&mut self) {
        // An error means that the service stops.
        let _ = (&mut self.left).await;
    }
}

impl Drop for WriteWait {
    fn drop(&mut self) {
        self.waits.remove(self.id, self.ticket);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot::error::TryRecvError;
    use ulid::Ulid;

    use super::*;

    fn id(number: u128) -> MessageId {
        MessageId::from(Ulid::from(number))
    }

    #[test]
    fn a_wait_ends_when_its_write_leaves_the_queue() {
        let waits = Arc::new(WriteWaits::default());
        let (mut first, mut second, mut other) = (waits.register(id(1)), waits.register(id(1)), waits.register(id(2)));
        assert_eq!(first.left.try_recv(), Err(TryRecvError::Empty));
        waits.notify(id(1));
        assert_eq!((first.left.try_recv(), second.left.try_recv()), (Ok(()), Ok(())));
        assert_eq!(other.left.try_recv(), Err(TryRecvError::Empty));
    }

    #[test]
    fn a_dropped_wait_leaves_nothing_behind() {
        let waits = Arc::new(WriteWaits::default());
        let kept = waits.register(id(1));
        drop(waits.register(id(1)));
        assert_eq!(waits.state.lock().writes[&id(1)].len(), 1);
        drop(kept);
        assert!(waits.state.lock().writes.is_empty());
    }

    #[test]
    fn the_end_of_the_service_ends_present_and_later_waits() {
        let waits = Arc::new(WriteWaits::default());
        let mut present = waits.register(id(1));
        waits.end();
        let mut later = waits.register(id(2));
        assert_eq!(present.left.try_recv(), Err(TryRecvError::Closed));
        assert_eq!(later.left.try_recv(), Err(TryRecvError::Closed));
    }
}
