//! Reading request bodies, and the memory that requests and answers take together.
//!
//! The budget limits memory, not bytes on the wire. A JSON body counts with the memory that it takes after parsing,
//! which for `[{"a":0},{"a":0}, …` is eighty times its length. A document counts with the memory of the process that
//! reads it. Answers count until they are written ([`super::response_body`]). Bodies of senders without a credential have
//! a separate budget.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body as HttpBody;
use hyper::header::CONNECTION;

use super::sender::Sender;
use super::slots::{HeldSlots, SlotPool};
use crate::api::error::{self, ErrorFormat};
use crate::api::routes::BodyKind;
use crate::api::{
    BODY_BYTES_MAX, JSON_DEPTH_MAX, MEDIA_BYTES_MAX, OPEN_BODY_BYTES_MAX, PACK_BYTES_MAX, PARAMETERS_BYTES_MAX, Reply,
};
use crate::error::Error;
use crate::memory::request::invalid_body;

/// A unit of the budget: 64 KiB.
const UNIT_BYTES: usize = 64 << 10;
/// Spare memory for accounts that hold little: an eighth of the budget, at most 32 MiB.
const SPARE_BYTES_MAX: usize = 32 << 20;
/// Memory for all senders without a credential: 64 MiB, as much as the connections of a full listener can send.
const ANONYMOUS_BYTES_MAX: usize = 64 << 20;
/// Time limit for a body from a sender without a credential.
const ANONYMOUS_TIMEOUT: Duration = Duration::from_secs(10);

/// A request body, from the network or from memory.
pub(super) trait RequestBody: HttpBody<Data = Bytes> + Send + Unpin {}

impl<B: HttpBody<Data = Bytes> + Send + Unpin> RequestBody for B {}

/// Memory for bodies and answers, shared by all requests.
#[derive(Clone)]
pub(super) struct MemoryBudget {
    units: Arc<SlotPool>,
    senders: Senders,
}

/// Whose bodies a budget is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Senders {
    /// Authenticated accounts.
    Accounts,
    /// Senders without a credential.
    Anonymous,
}

/// A body, and its memory of the budget until it is dropped.
pub(super) struct ReceivedBody {
    pub(super) bytes: Bytes,
    _memory: Option<HeldSlots>,
}

impl MemoryBudget {
    /// Makes a budget of `mib` MiB for accounts.
    pub(super) fn for_accounts(mib: usize) -> Self {
        let units = mib.saturating_mul((1 << 20) / UNIT_BYTES);
        let spare = (units / 8).clamp(1, SPARE_BYTES_MAX / UNIT_BYTES);
        Self { units: SlotPool::new(units, spare, 1), senders: Senders::Accounts }
    }

    /// Makes a budget for senders without a credential.
    pub(super) fn for_anonymous() -> Self {
        Self { units: SlotPool::new(ANONYMOUS_BYTES_MAX / UNIT_BYTES, 0, 1), senders: Senders::Anonymous }
    }

    /// Takes the memory for `bytes` bytes. Returns none if too much is taken.
    pub(super) fn take(&self, sender: &Sender, bytes: usize) -> Option<HeldSlots> {
        self.units.take(sender, Self::units_of(bytes))
    }

    /// Returns the units that `bytes` bytes take.
    pub(super) fn units_of(bytes: usize) -> usize {
        bytes.div_ceil(UNIT_BYTES)
    }

    /// Returns how many bytes one sender can hold at most.
    pub(super) fn bytes(&self) -> usize {
        self.units.common().saturating_mul(UNIT_BYTES)
    }

    /// Reads a body within `timeout`, up to the limit of its kind. Otherwise returns the reply that refuses it.
    ///
    /// A body with a declared length above its limit is refused before it is read, so `Expect: 100-continue` gets no
    /// `100`. A refused body is not read to its end: the connection closes after the reply and discards a limited
    /// number of further bytes ([`super::timed_stream`]).
    pub(super) async fn read<B: RequestBody>(
        &self,
        body: B,
        sender: &Sender,
        kind: BodyKind,
        timeout: Duration,
    ) -> Result<ReceivedBody, Reply> {
        let timeout = match self.senders {
            Senders::Accounts => timeout,
            Senders::Anonymous => timeout.min(ANONYMOUS_TIMEOUT),
        };
        match tokio::time::timeout(timeout, self.collect(body, sender, kind)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(refuse(&invalid_body("the body did not arrive in time"))),
        }
    }

    async fn collect<B: RequestBody>(
        &self,
        mut body: B,
        sender: &Sender,
        kind: BodyKind,
    ) -> Result<ReceivedBody, Reply> {
        let limit = self.limit(kind);
        let declared = body.size_hint().lower();
        if declared > limit as u64 {
            return Err(refuse(&error::too_large(limit)));
        }
        self.check_reader(kind, usize::try_from(declared).unwrap_or(usize::MAX))?;
        let mut received = BytesMut::new();
        let mut memory: Option<HeldSlots> = None;
        let mut cost = JsonCost::default();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| refuse(&invalid_body("the body could not be read to its end")))?;
            let Some(data) = frame.data_ref() else { continue };
            let length = received.len() + data.len();
            if length > limit {
                return Err(refuse(&error::too_large(limit)));
            }
            if matches!(kind, BodyKind::Json | BodyKind::Parameters) {
                cost.add(data);
                self.check(&cost)?;
            }
            self.resize(&mut memory, sender, Self::units_of(length + cost.bytes))?;
            received.extend_from_slice(data);
        }
        // Only now, so that a body on its way does not hold the memory of a process that does not run.
        let reader = self.check_reader(kind, received.len())?;
        if reader > 0 {
            self.resize(&mut memory, sender, Self::units_of(received.len() + reader))?;
        }
        Ok(ReceivedBody { bytes: received.freeze(), _memory: memory })
    }

    /// Returns the memory of the process that reads a body. Refuses a body for which one sender can never have enough.
    fn check_reader(&self, kind: BodyKind, body_bytes: usize) -> Result<usize, Reply> {
        let reader = kind.reader_bytes(body_bytes);
        let needed = body_bytes.saturating_add(reader);
        if reader > 0 && Self::units_of(needed) > self.units.common() {
            return Err(refuse(&error::too_large_to_read(body_bytes, needed, self.bytes())));
        }
        Ok(reader)
    }

    /// Returns how many bytes one body may have.
    fn limit(&self, kind: BodyKind) -> usize {
        let limit = match kind {
            BodyKind::Pack => PACK_BYTES_MAX,
            BodyKind::Media | BodyKind::Document => MEDIA_BYTES_MAX,
            BodyKind::Json | BodyKind::Nothing => BODY_BYTES_MAX,
            BodyKind::Parameters => PARAMETERS_BYTES_MAX,
            BodyKind::Signed => OPEN_BODY_BYTES_MAX,
        };
        match self.senders {
            Senders::Accounts => limit,
            Senders::Anonymous => limit.min(OPEN_BODY_BYTES_MAX),
        }
    }

    /// Refuses JSON that nests too deeply, or has more values than a sender without a credential may send.
    fn check(&self, cost: &JsonCost) -> Result<(), Reply> {
        if cost.deepest > JSON_DEPTH_MAX {
            let message = format!("the body nests more than {JSON_DEPTH_MAX} levels deep");
            return Err(refuse(&invalid_body(message)));
        }
        if self.senders == Senders::Anonymous && cost.bytes > OPEN_BODY_BYTES_MAX {
            return Err(refuse(&error::too_many_values()));
        }
        Ok(())
    }

    /// Changes the memory of a body to `units`.
    fn resize(&self, memory: &mut Option<HeldSlots>, sender: &Sender, units: usize) -> Result<(), Reply> {
        if units > self.units.common() {
            return Err(refuse(&error::too_many_values()));
        }
        let fits = match memory {
            Some(memory) => memory.resize(units),
            None => {
                *memory = self.units.take(sender, units);
                memory.is_some()
            }
        };
        if fits { Ok(()) } else { Err(error::unavailable().with(CONNECTION, "close")) }
    }
}

/// Returns the refusal of a body that was not read to its end.
fn refuse(error: &Error) -> Reply {
    error::reply(error, &ErrorFormat::Envelope).with(CONNECTION, "close")
}

/// Memory of an array element or object entry: twice the 32 bytes of a value, since arrays grow by doubling.
const VALUE_BYTES: usize = 64;
/// Memory of an object: the first node of a map, with room for eleven entries.
const OBJECT_BYTES: usize = 640;
/// Memory that the allocator adds to a key or a string.
const TEXT_BYTES: usize = 32;

/// The memory that JSON takes after parsing in addition to its length, and its nesting depth, both counted as it
/// arrives.
#[derive(Default)]
struct JsonCost {
    bytes: usize,
    /// Arrays and objects that are open at the end of the bytes so far.
    depth: usize,
    /// The largest depth so far.
    deepest: usize,
    in_string: bool,
    escaped: bool,
}

impl JsonCost {
    fn add(&mut self, part: &[u8]) {
        for byte in part {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => {
                    self.in_string = true;
                    self.bytes += TEXT_BYTES;
                }
                b'{' => {
                    self.bytes += OBJECT_BYTES;
                    self.open();
                }
                b'[' => {
                    self.bytes += VALUE_BYTES;
                    self.open();
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                b',' | b':' => self.bytes += VALUE_BYTES,
                _ => {}
            }
        }
    }

    fn open(&mut self) {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::Full;
    use hyper::StatusCode;
    use proptest::prelude::*;

    #[test]
    fn values_are_counted_however_the_body_is_cut() {
        let body = br#"[{"a":"{[,:\"{"},{"b\\":1}]"#;
        let expected = 2 * OBJECT_BYTES + 4 * VALUE_BYTES + 3 * TEXT_BYTES;
        for cut in 0..body.len() {
            let mut cost = JsonCost::default();
            cost.add(&body[..cut]);
            cost.add(&body[cut..]);
            assert_eq!((cost.bytes, cost.deepest, cost.depth), (expected, 2, 0), "{cut}");
        }
    }

    /// Returns the depth of a value by definition: one more than that of its deepest part.
    fn depth(value: &serde_json::Value) -> usize {
        match value {
            serde_json::Value::Array(parts) => 1 + parts.iter().map(depth).max().unwrap_or(0),
            serde_json::Value::Object(parts) => 1 + parts.values().map(depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<i32>().prop_map(serde_json::Value::from),
            "[\\[\\]{}\"\\\\a:,]{0,8}".prop_map(serde_json::Value::from),
        ];
        leaf.prop_recursive(8, 64, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
                prop::collection::vec(("[\\[{\"\\\\a]{0,4}", inner), 0..4)
                    .prop_map(|entries| { serde_json::Value::Object(entries.into_iter().collect()) }),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_depth_is_that_of_the_value_for_every_cut(value in any_json(), cut in any::<prop::sample::Index>()) {
            let body = value.to_string().into_bytes();
            let cut = cut.index(body.len() + 1);
            let mut cost = JsonCost::default();
            cost.add(&body[..cut]);
            cost.add(&body[cut..]);
            prop_assert_eq!(cost.deepest, depth(&value));
            prop_assert_eq!(cost.depth, 0);
        }
    }

    /// Reads a JSON body and returns the status of its refusal, or 200 if it is accepted.
    fn status_of(budget: &MemoryBudget, body: Vec<u8>) -> StatusCode {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let sender = Sender::Route("/v1/test");
        let read = budget.read(Full::new(Bytes::from(body)), &sender, BodyKind::Json, Duration::from_secs(5));
        match runtime.block_on(read) {
            Ok(_) => StatusCode::OK,
            Err(refused) => refused.status,
        }
    }

    #[test]
    fn json_above_the_depth_limit_is_refused() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels)).into_bytes();
        for budget in [MemoryBudget::for_accounts(8), MemoryBudget::for_anonymous()] {
            assert_eq!(status_of(&budget, nested(JSON_DEPTH_MAX)), StatusCode::OK);
            assert_eq!(status_of(&budget, nested(JSON_DEPTH_MAX + 1)), StatusCode::BAD_REQUEST);
        }
    }

    #[test]
    fn a_sender_without_a_credential_gets_little_memory() {
        let budget = MemoryBudget::for_anonymous();
        let text = |bytes: usize| format!("\"{}\"", "a".repeat(bytes - 2)).into_bytes();
        assert_eq!(status_of(&budget, text(OPEN_BODY_BYTES_MAX)), StatusCode::OK);
        assert_eq!(status_of(&budget, text(OPEN_BODY_BYTES_MAX + 1)), StatusCode::PAYLOAD_TOO_LARGE);
        let rich = format!("[{}0]", "{},".repeat(1000)).into_bytes();
        assert_eq!(status_of(&budget, rich), StatusCode::PAYLOAD_TOO_LARGE);
    }
}
