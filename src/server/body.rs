//! Reading bodies: up to a limit each, and up to a budget all together.
//!
//! The budget is of memory, not of bytes sent: a JSON body draws on it for what it will take once it has been read, which
//! for `[{"a":0},{"a":0}, …` is eighty times its length.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body as HttpBody;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::api::error::{self, Shape};
use crate::api::routes::Body;
use crate::api::{BODY_BYTES_MAX, MEDIA_BYTES_MAX, PACK_BYTES_MAX, Reply, invalid_body};

/// Of a body that is too large so much more is read before the connection is given up: 64 MiB.
const DISCARDED_BYTES_MAX: usize = 64 << 20;
/// The budget is given out in pieces of 64 KiB.
const PIECE_BYTES: usize = 64 << 10;

/// A body that can be read here: one that arrives, or one that is at hand.
pub(super) trait RequestBody: HttpBody<Data = Bytes> + Send + Unpin {}

impl<B: HttpBody<Data = Bytes> + Send + Unpin> RequestBody for B {}

/// How much may be held in bodies, shared by all requests.
#[derive(Clone)]
pub(super) struct Budget {
    pieces: Arc<Semaphore>,
    all: usize,
}

/// A body, and its part of the budget until it is dropped.
pub(super) struct Held {
    pub(super) bytes: Bytes,
    _budget: Option<OwnedSemaphorePermit>,
}

impl Budget {
    /// A budget of so many MiB.
    pub(super) fn new(mib: usize) -> Self {
        let all = mib.saturating_mul((1 << 20) / PIECE_BYTES).min(Semaphore::MAX_PERMITS);
        Self { pieces: Arc::new(Semaphore::new(all)), all }
    }

    /// A body up to its kind's limit, if it arrives in time; else the reply that says what was wrong.
    ///
    /// What is above the limit, or beyond the budget, is read and thrown away, up to a second limit, so that a client that
    /// sends first and reads later gets to see the refusal instead of a broken pipe.
    pub(super) async fn read<B: RequestBody>(&self, body: B, kind: Body, within: Duration) -> Result<Held, Reply> {
        match tokio::time::timeout(within, self.collect(body, kind)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(failed("the body did not arrive in time")),
        }
    }

    async fn collect<B: RequestBody>(&self, mut body: B, kind: Body) -> Result<Held, Reply> {
        let limit = match kind {
            Body::Pack => PACK_BYTES_MAX,
            Body::Media => MEDIA_BYTES_MAX,
            Body::Json | Body::Nothing => BODY_BYTES_MAX,
        };
        let mut kept = BytesMut::new();
        let mut budget: Option<OwnedSemaphorePermit> = None;
        let mut values = Values::default();
        let mut received = 0;
        let mut refused = None;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| failed("the body could not be read to its end"))?;
            let Some(data) = frame.data_ref() else { continue };
            received += data.len();
            if received > limit {
                refused = Some(Refused::Large);
            }
            if refused.is_none() {
                if kind == Body::Json {
                    values.see(data);
                }
                let pieces = (received + values.bytes).div_ceil(PIECE_BYTES);
                refused = self.extend(&mut budget, pieces).err();
            }
            if refused.is_none() {
                kept.extend_from_slice(data);
                continue;
            }
            // What was kept so far is of no use any more.
            (kept, budget) = (BytesMut::new(), None);
            if received > limit + DISCARDED_BYTES_MAX {
                break;
            }
        }
        match refused {
            None => Ok(Held { bytes: kept.freeze(), _budget: budget }),
            Some(Refused::Spent) => Err(error::unavailable()),
            Some(Refused::Large) => Err(error::reply(&error::too_large(limit), &Shape::Envelope)),
            Some(Refused::Rich) => Err(error::reply(&error::too_rich(), &Shape::Envelope)),
        }
    }

    /// Has a body hold so many pieces in all.
    fn extend(&self, held: &mut Option<OwnedSemaphorePermit>, pieces: usize) -> Result<(), Refused> {
        if pieces > self.all {
            return Err(Refused::Rich);
        }
        let more = pieces - held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = Arc::clone(&self.pieces).try_acquire_many_owned(more as u32).map_err(|_| Refused::Spent)?;
        match held {
            Some(held) => held.merge(more),
            None => *held = Some(more),
        }
        Ok(())
    }
}

/// Why a body is not kept.
enum Refused {
    /// It is longer than is taken.
    Large,
    /// Others hold too much just now.
    Spent,
    /// It alone would take more than there is for all.
    Rich,
}

fn failed(message: &str) -> Reply {
    error::reply(&invalid_body(message), &Shape::Envelope)
}

/// An element of an array or an entry of an object: twice a value's 32 bytes, since arrays grow by doubling.
const VALUE_BYTES: usize = 64;
/// An object: the first node of a map of up to eleven entries.
const OBJECT_BYTES: usize = 640;
/// A key or a text: what the allocator adds to it.
const TEXT_BYTES: usize = 32;

/// What a JSON text takes beside its own length once it has been read, counted as it comes in.
#[derive(Default)]
struct Values {
    bytes: usize,
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
                b'{' => self.bytes += OBJECT_BYTES,
                b',' | b'[' | b':' => self.bytes += VALUE_BYTES,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_texts_however_the_body_is_cut() {
        let body = br#"[{"a":"{[,:\"{"},{"b\\":1}]"#;
        let expected = 2 * OBJECT_BYTES + 4 * VALUE_BYTES + 3 * TEXT_BYTES;
        for cut in 0..body.len() {
            let mut values = Values::default();
            values.see(&body[..cut]);
            values.see(&body[cut..]);
            assert_eq!(values.bytes, expected, "{cut}");
        }
    }
}
