//! Memory for replies: taken before a reply is made, held until it is written.
//!
//! Before a request is answered, the size of its reply is estimated. A search also takes memory for each memory that it
//! reads, as it reads ([`GrowingMemory`]): the first long reply would otherwise be complete before it is counted.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use parking_lot::Mutex;

use super::body::MemoryBudget;
use super::response_body::{FILE_BYTES, ResponseBody, SMALL_BYTES};
use super::sender::Sender;
use super::slots::HeldSlots;
use crate::api::error;
use crate::api::routes::ResponseSize;
use crate::api::{AcceptedWrite, Reply, ReplyBody};
use crate::service::retrieval::TextBudget;

/// Memory for a large answer whose size is unknown: 1 MiB, or a 64th of the budget if that is less.
const UNKNOWN_BYTES: usize = 1 << 20;

/// A reply, and the slots that it holds until it is written.
pub(super) struct HeldReply {
    reply: Reply,
    /// Its memory of the budget, if it is large.
    memory: Option<HeldSlots>,
    /// Its slot among the files that are sent, if it is one.
    file: Option<HeldSlots>,
}

impl From<Reply> for HeldReply {
    fn from(reply: Reply) -> Self {
        Self { reply, memory: None, file: None }
    }
}

impl HeldReply {
    /// A file, with its memory and its slot among the files that are sent.
    pub(super) fn file(reply: Reply, memory: HeldSlots, slot: HeldSlots) -> Self {
        Self { reply, memory: Some(memory), file: Some(slot) }
    }

    /// Returns the status of the reply.
    pub(super) fn status(&self) -> StatusCode {
        self.reply.status
    }

    /// Returns the accepted write that the reply is about.
    pub(super) fn accepted(&self) -> Option<&AcceptedWrite> {
        self.reply.accepted.as_deref()
    }

    /// Makes the response that hyper sends.
    pub(super) fn respond(self) -> Response<ResponseBody> {
        let Reply { status, headers, body, .. } = self.reply;
        let body = match body {
            ReplyBody::Bytes(bytes) => ResponseBody::Bytes { bytes, memory: self.memory },
            ReplyBody::File(file) => ResponseBody::file(*file, (self.memory, self.file)),
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in headers {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// Makes the response of a small reply, which holds no memory.
pub(super) fn small_response(reply: Reply) -> Response<ResponseBody> {
    HeldReply::from(reply).respond()
}

/// Takes memory for replies.
pub(super) struct ReplyMemory {
    budget: MemoryBudget,
    estimates: SizeEstimates,
}

impl ReplyMemory {
    /// Takes memory from `budget`, which request bodies use as well.
    pub(super) fn new(budget: MemoryBudget) -> Self {
        Self { budget, estimates: SizeEstimates::new() }
    }

    /// Takes memory before an answer is made: as much as recent answers of the route took, or a little if the size of a
    /// large answer is unknown.
    pub(super) fn reserve(&self, path: &str, sender: &Sender, size: ResponseSize) -> Result<Option<HeldSlots>, Reply> {
        let estimate = self.estimates.of(path, sender).min(self.budget.bytes() / 2);
        let bytes = match size {
            ResponseSize::Small => estimate,
            ResponseSize::Large => estimate.max(UNKNOWN_BYTES.min(self.budget.bytes() / 64)),
        };
        if bytes == 0 {
            return Ok(None);
        }
        self.take(sender, bytes).map(Some)
    }

    /// Returns the memory of a reply that is about to be made. It is empty.
    pub(super) fn growing(&self, sender: &Sender) -> Arc<GrowingMemory> {
        Arc::new(GrowingMemory { budget: self.budget.clone(), sender: sender.clone(), grown: Mutex::default() })
    }

    /// Changes the reserved memory to the size of the answer, which is held until the answer is written.
    pub(super) fn hold(
        &self,
        path: &str,
        sender: &Sender,
        reply: Reply,
        bytes: usize,
        reserved: Option<HeldSlots>,
    ) -> Result<HeldReply, Reply> {
        self.estimates.record(path, sender, bytes);
        if bytes <= SMALL_BYTES {
            return Ok(reply.into());
        }
        let memory = match reserved {
            Some(mut memory) => {
                if !memory.resize(MemoryBudget::units_of(bytes)) {
                    return Err(error::unavailable());
                }
                memory
            }
            None => self.take(sender, bytes)?,
        };
        Ok(HeldReply { reply, memory: Some(memory), file: None })
    }

    /// Takes the memory for sending a file whose reader holds `reader_bytes` bytes. A small budget limits these.
    pub(super) fn for_file(&self, sender: &Sender, reader_bytes: usize) -> Result<HeldSlots, Reply> {
        self.take(sender, FILE_BYTES + reader_bytes.min(self.budget.bytes() / 4))
    }

    /// Takes the memory for an answer of `bytes` bytes; none for a small one.
    pub(super) fn for_answer(&self, sender: &Sender, bytes: usize) -> Result<Option<HeldSlots>, Reply> {
        if bytes <= SMALL_BYTES {
            return Ok(None);
        }
        self.take(sender, bytes).map(Some)
    }

    /// Takes the memory for a reply of a route that is not in the route table.
    pub(super) fn hold_unlisted(&self, sender: &Sender, reply: Reply) -> Result<HeldReply, Reply> {
        let bytes = match &reply.body {
            ReplyBody::Bytes(bytes) => bytes.len(),
            ReplyBody::File(_) => 0,
        };
        let memory = self.for_answer(sender, bytes)?;
        Ok(HeldReply { reply, memory, file: None })
    }

    fn take(&self, sender: &Sender, bytes: usize) -> Result<HeldSlots, Reply> {
        self.budget.take(sender, bytes).ok_or_else(error::unavailable)
    }
}

/// The memory of a reply while it is made. It grows before each text of the reply is read.
pub(super) struct GrowingMemory {
    budget: MemoryBudget,
    sender: Sender,
    grown: Mutex<GrownMemory>,
}

#[derive(Default)]
struct GrownMemory {
    /// Size of the texts so far.
    text_bytes: usize,
    /// Memory of the budget.
    held: Option<HeldSlots>,
}

impl GrowingMemory {
    /// Begins with memory that was reserved for the reply.
    pub(super) fn begin(&self, reserved: Option<HeldSlots>) {
        self.grown.lock().held = reserved;
    }

    /// Returns the memory of a reply that is made.
    pub(super) fn end(&self) -> Option<HeldSlots> {
        self.grown.lock().held.take()
    }
}

impl TextBudget for GrowingMemory {
    fn take(&self, bytes: usize) -> bool {
        let mut locked = self.grown.lock();
        let grown = &mut *locked;
        grown.text_bytes = grown.text_bytes.saturating_add(bytes);
        if grown.text_bytes <= SMALL_BYTES {
            return true;
        }
        // A small budget must not refuse a reply that fits into it once it is made.
        let making = grown.text_bytes.saturating_mul(MAKING_FACTOR).min(self.budget.bytes() / 2);
        let needed = making.max(grown.text_bytes);
        match &mut grown.held {
            Some(held) => held.grow(MemoryBudget::units_of(needed)),
            None => {
                grown.held = self.budget.take(&self.sender, needed);
                grown.held.is_some()
            }
        }
    }
}

/// Sizes of the latest large answers by route and sender. Memory for the next one is taken before it is made.
struct SizeEstimates {
    hasher: RandomState,
    sizes: Mutex<HashMap<u64, usize>>,
}

/// Smaller answers are not recorded: 1 MiB.
const RECORDED_BYTES_MIN: usize = 1 << 20;
/// Recorded sizes, at most.
const RECORDED_MAX: usize = 4096;
/// Memory for making an answer as a multiple of its size: its parts, and the growing text.
const MAKING_FACTOR: usize = 3;

impl SizeEstimates {
    fn new() -> Self {
        Self { hasher: RandomState::new(), sizes: Mutex::default() }
    }

    /// Returns the bytes to take before the next answer of a route to a sender is made; 0 if its answers were small.
    fn of(&self, route: &str, sender: &Sender) -> usize {
        let sizes = self.sizes.lock();
        if sizes.is_empty() {
            return 0;
        }
        let size = sizes.get(&self.hasher.hash_one((route, sender))).copied();
        size.unwrap_or(0).saturating_mul(MAKING_FACTOR)
    }

    /// Records the size of an answer. A smaller answer halves the recorded size, so that one large answer does not
    /// count forever.
    fn record(&self, route: &str, sender: &Sender, bytes: usize) {
        let mut sizes = self.sizes.lock();
        if bytes < RECORDED_BYTES_MIN && sizes.is_empty() {
            return;
        }
        let key = self.hasher.hash_one((route, sender));
        let former = sizes.get(&key).copied().unwrap_or(0);
        let size = bytes.max(former / 2);
        if size < RECORDED_BYTES_MIN {
            sizes.remove(&key);
            return;
        }
        if sizes.len() >= RECORDED_MAX && former == 0 {
            sizes.clear();
        }
        sizes.insert(key, size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuebase_storage::AccountId;

    #[test]
    fn texts_of_a_reply_take_memory_before_they_are_read() {
        let sender = Sender::Account(AccountId::new("a").expect("is valid"));
        let budget = MemoryBudget::for_accounts(16);
        let replies = ReplyMemory::new(budget.clone());
        let first = replies.growing(&sender);
        assert!(first.take(SMALL_BYTES));
        assert!(first.end().is_none(), "a small reply takes nothing");
        // Three times its size, but at most half of the budget.
        assert!(first.take(6 << 20));
        let second = replies.growing(&sender);
        assert!(second.take(1 << 20) && second.take(1 << 20));
        assert!(!second.take(7 << 20), "the budget is used up");
        drop(first.end());
        assert!(second.take(1 << 20));
        drop(second);
        assert!(budget.take(&sender, 16 << 20).is_some(), "all memory is given back");
    }

    #[test]
    fn an_estimate_follows_the_largest_answer_and_falls_again() {
        let account = |id| Sender::Account(AccountId::new(id).expect("is valid"));
        let (first, second) = (account("a"), account("b"));
        let estimates = SizeEstimates::new();
        assert_eq!(estimates.of("/v1/tree", &first), 0);
        estimates.record("/v1/tree", &first, 40 << 20);
        assert_eq!(estimates.of("/v1/tree", &first), (40 << 20) * MAKING_FACTOR);
        assert_eq!(estimates.of("/v1/tree", &second), 0);
        for _ in 0..8 {
            estimates.record("/v1/tree", &first, 100);
        }
        assert_eq!(estimates.of("/v1/tree", &first), 0);
        assert!(estimates.sizes.lock().is_empty());
    }
}
