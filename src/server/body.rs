//! Reading bodies, and the memory that requests and answers take together.
//!
//! The budget is of memory, not of bytes sent: a JSON body draws on it for what it takes once it has been read, which for
//! `[{"a":0},{"a":0}, …` is eighty times its length. Answers draw on the same budget until they are written
//! ([`super::answers`]). Bodies of senders without a credential draw on a budget of their own.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body as HttpBody;
use hyper::header::CONNECTION;

use super::shares::{Share, Shares};
use crate::api::error::{self, ErrorFormat};
use crate::api::routes::BodyKind;
use crate::api::{BODY_BYTES_MAX, JSON_DEPTH_MAX, MEDIA_BYTES_MAX, OPEN_BODY_BYTES_MAX, PACK_BYTES_MAX, Reply};
use crate::error::Error;
use crate::memory::request::invalid_body;

/// The budget is given out in pieces of 64 KiB.
pub(super) const PIECE_BYTES: usize = 64 << 10;
/// Beyond its setting the budget has an eighth, and at most this, for accounts that hold little: 32 MiB.
const SPARE_BYTES_MAX: usize = 32 << 20;
/// Bodies of all senders without a credential together: 64 MiB, as much as a full listener's connections can hold.
const OPEN_BYTES_MAX: usize = 64 << 20;
/// A body of a sender without a credential is waited for no longer than this.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);

/// A body that can be read here: one that arrives, or one that is in memory.
pub(super) trait RequestBody: HttpBody<Data = Bytes> + Send + Unpin {}

impl<B: HttpBody<Data = Bytes> + Send + Unpin> RequestBody for B {}

/// Memory for bodies and answers, shared by all requests.
#[derive(Clone)]
pub(super) struct Budget {
    pieces: Arc<Shares>,
    /// Whose bodies these are.
    senders: Senders,
}

/// Whose bodies a budget is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Senders {
    /// Accounts.
    Known,
    /// Anybody.
    Anybody,
}

/// A body, and its part of the budget until it is dropped.
pub(super) struct Held {
    pub(super) bytes: Bytes,
    _memory: Option<Share>,
}

impl Budget {
    /// A budget of `mib` MiB for accounts.
    pub(super) fn new(mib: usize) -> Self {
        let pieces = mib.saturating_mul((1 << 20) / PIECE_BYTES);
        let spare = (pieces / 8).clamp(1, SPARE_BYTES_MAX / PIECE_BYTES);
        Self { pieces: Shares::new(pieces, spare, 1), senders: Senders::Known }
    }

    /// A budget for senders without a credential.
    pub(super) fn open() -> Self {
        Self { pieces: Shares::new(OPEN_BYTES_MAX / PIECE_BYTES, 0, 1), senders: Senders::Anybody }
    }

    /// Takes the memory for `bytes` bytes; none when too much is held.
    pub(super) fn hold(&self, account: &str, bytes: usize) -> Option<Share> {
        self.pieces.take(account, Self::pieces(bytes))
    }

    /// The pieces that `bytes` bytes take.
    pub(super) fn pieces(bytes: usize) -> usize {
        bytes.div_ceil(PIECE_BYTES)
    }

    /// What one account can hold at most, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.pieces.common().saturating_mul(PIECE_BYTES)
    }

    /// Reads a body up to its kind's limit, if it arrives in time; otherwise returns the reply that refuses it.
    ///
    /// A body that announces more than its limit is refused before any of it is asked for, so `Expect: 100-continue`
    /// gets no `100`. A refused body is not read to its end: the connection closes after the reply, and discards a
    /// bounded rest first ([`super::stalled`]).
    pub(super) async fn read<B: RequestBody>(
        &self,
        body: B,
        account: &str,
        kind: BodyKind,
        within: Duration,
    ) -> Result<Held, Reply> {
        let within = match self.senders {
            Senders::Known => within,
            Senders::Anybody => within.min(OPEN_TIMEOUT),
        };
        match tokio::time::timeout(within, self.collect(body, account, kind)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(refuse(&invalid_body("the body did not arrive in time"))),
        }
    }

    async fn collect<B: RequestBody>(&self, mut body: B, account: &str, kind: BodyKind) -> Result<Held, Reply> {
        let limit = self.limit(kind);
        if body.size_hint().lower() > limit as u64 {
            return Err(refuse(&error::too_large(limit)));
        }
        let mut kept = BytesMut::new();
        let mut memory: Option<Share> = None;
        let mut values = Values::default();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| refuse(&invalid_body("the body could not be read to its end")))?;
            let Some(data) = frame.data_ref() else { continue };
            let received = kept.len() + data.len();
            if received > limit {
                return Err(refuse(&error::too_large(limit)));
            }
            if kind == BodyKind::Json {
                values.see(data);
                self.check(&values)?;
            }
            self.extend(&mut memory, account, (received + values.bytes).div_ceil(PIECE_BYTES))?;
            kept.extend_from_slice(data);
        }
        Ok(Held { bytes: kept.freeze(), _memory: memory })
    }

    /// Bytes of one body, at most.
    fn limit(&self, kind: BodyKind) -> usize {
        let limit = match kind {
            BodyKind::Pack => PACK_BYTES_MAX,
            BodyKind::Media => MEDIA_BYTES_MAX,
            BodyKind::Json | BodyKind::Nothing => BODY_BYTES_MAX,
            BodyKind::Signed => OPEN_BODY_BYTES_MAX,
        };
        match self.senders {
            Senders::Known => limit,
            Senders::Anybody => limit.min(OPEN_BODY_BYTES_MAX),
        }
    }

    /// Refuses JSON that nests too deeply, or has more values than a sender without a credential may send.
    fn check(&self, values: &Values) -> Result<(), Reply> {
        if values.deepest > JSON_DEPTH_MAX {
            let message = format!("the body nests more than {JSON_DEPTH_MAX} levels deep");
            return Err(refuse(&invalid_body(message)));
        }
        if self.senders == Senders::Anybody && values.bytes > OPEN_BODY_BYTES_MAX {
            return Err(refuse(&error::too_many_values()));
        }
        Ok(())
    }

    /// Makes a body's part of the budget `pieces` large.
    fn extend(&self, memory: &mut Option<Share>, account: &str, pieces: usize) -> Result<(), Reply> {
        if pieces > self.pieces.common() {
            return Err(refuse(&error::too_many_values()));
        }
        let held = match memory {
            Some(memory) => memory.resize(pieces),
            None => {
                *memory = self.pieces.take(account, pieces);
                memory.is_some()
            }
        };
        if held { Ok(()) } else { Err(error::unavailable().with(CONNECTION, "close")) }
    }
}

/// The refusal of a body that was not read to its end.
fn refuse(failure: &Error) -> Reply {
    error::reply(failure, &ErrorFormat::Envelope).with(CONNECTION, "close")
}

/// An element of an array or an entry of an object: twice a value's 32 bytes, since arrays grow by doubling.
const VALUE_BYTES: usize = 64;
/// An object: the first node of a map of up to eleven entries.
const OBJECT_BYTES: usize = 640;
/// A key or a text: what the allocator adds to it.
const TEXT_BYTES: usize = 32;

/// What a JSON text takes in addition to its own length once it has been read, and how deep it nests, counted as it
/// comes in.
#[derive(Default)]
struct Values {
    bytes: usize,
    /// Arrays and objects that are open where the text has been read to.
    depth: usize,
    /// The most that were ever open.
    deepest: usize,
    in_text: bool,
    escaped: bool,
}

impl Values {
    fn see(&mut self, part: &[u8]) {
        for byte in part {
            if self.in_text {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_text = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => {
                    self.in_text = true;
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
    fn values_are_counted_outside_of_texts_however_the_body_is_cut() {
        let body = br#"[{"a":"{[,:\"{"},{"b\\":1}]"#;
        let expected = 2 * OBJECT_BYTES + 4 * VALUE_BYTES + 3 * TEXT_BYTES;
        for cut in 0..body.len() {
            let mut values = Values::default();
            values.see(&body[..cut]);
            values.see(&body[cut..]);
            assert_eq!((values.bytes, values.deepest, values.depth), (expected, 2, 0), "{cut}");
        }
    }

    /// The depth of a value as it is defined: one more than that of its deepest part.
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
        fn depth_is_that_of_the_value_wherever_the_body_is_cut(value in any_json(), cut in any::<prop::sample::Index>()) {
            let body = value.to_string().into_bytes();
            let cut = cut.index(body.len() + 1);
            let mut values = Values::default();
            values.see(&body[..cut]);
            values.see(&body[cut..]);
            prop_assert_eq!(values.deepest, depth(&value));
            prop_assert_eq!(values.depth, 0);
        }
    }

    /// Reads a JSON body and returns the status it is refused with; 200 when it is taken.
    fn status_of(budget: &Budget, body: Vec<u8>) -> StatusCode {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let read = budget.read(Full::new(Bytes::from(body)), "a", BodyKind::Json, Duration::from_secs(5));
        match runtime.block_on(read) {
            Ok(_) => StatusCode::OK,
            Err(refused) => refused.status,
        }
    }

    #[test]
    fn json_is_refused_above_its_depth_and_not_before() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels)).into_bytes();
        for budget in [Budget::new(8), Budget::open()] {
            assert_eq!(status_of(&budget, nested(JSON_DEPTH_MAX)), StatusCode::OK);
            assert_eq!(status_of(&budget, nested(JSON_DEPTH_MAX + 1)), StatusCode::BAD_REQUEST);
        }
    }

    #[test]
    fn a_sender_without_a_credential_gets_little_memory() {
        let budget = Budget::open();
        let text = |bytes: usize| format!("\"{}\"", "a".repeat(bytes - 2)).into_bytes();
        assert_eq!(status_of(&budget, text(OPEN_BODY_BYTES_MAX)), StatusCode::OK);
        assert_eq!(status_of(&budget, text(OPEN_BODY_BYTES_MAX + 1)), StatusCode::PAYLOAD_TOO_LARGE);
        let rich = format!("[{}0]", "{},".repeat(1000)).into_bytes();
        assert_eq!(status_of(&budget, rich), StatusCode::PAYLOAD_TOO_LARGE);
    }
}
