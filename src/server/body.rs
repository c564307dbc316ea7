//! Reading bodies: up to a limit each, and up to a budget all together.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::api::error::{self, Shape};
use crate::api::{Reply, invalid_body};

/// Of a body that is too large so much more is read before the connection is given up: 64 MiB.
const DISCARDED_BYTES_MAX: usize = 64 << 20;
/// The budget is given out in pieces of 64 KiB.
const PIECE_BYTES: usize = 64 << 10;

/// How much may be held in bodies, shared by all requests.
#[derive(Clone)]
pub(super) struct Budget(Arc<Semaphore>);

/// A body, and its part of the budget until it is dropped.
pub(super) struct Held {
    pub(super) bytes: Bytes,
    _budget: Option<OwnedSemaphorePermit>,
}

impl Budget {
    /// A budget of so many MiB.
    pub(super) fn new(mib: usize) -> Self {
        let pieces = mib.saturating_mul((1 << 20) / PIECE_BYTES);
        Self(Arc::new(Semaphore::new(pieces.min(Semaphore::MAX_PERMITS))))
    }

    /// A body up to a limit, if it arrives in time; else the reply that says what was wrong.
    ///
    /// What is above the limit, or beyond the budget, is read and thrown away, up to a second limit, so that a client that
    /// sends first and reads later gets to see the refusal instead of a broken pipe.
    pub(super) async fn read(&self, body: Incoming, limit: usize, within: Duration) -> Result<Held, Reply> {
        match tokio::time::timeout(within, self.collect(body, limit)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(failed("the body did not arrive in time")),
        }
    }

    async fn collect(&self, mut body: Incoming, limit: usize) -> Result<Held, Reply> {
        let mut kept = BytesMut::new();
        let mut budget: Option<OwnedSemaphorePermit> = None;
        let mut received = 0;
        let mut spent = false;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| failed("the body could not be read to its end"))?;
            let Some(data) = frame.data_ref() else { continue };
            received += data.len();
            if received <= limit && !spent {
                let held = budget.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
                let pieces = received.div_ceil(PIECE_BYTES) - held;
                match (Arc::clone(&self.0).try_acquire_many_owned(pieces as u32), &mut budget) {
                    (Ok(more), Some(budget)) => budget.merge(more),
                    (Ok(more), None) => budget = Some(more),
                    (Err(_), _) => spent = true,
                }
            }
            if received > limit || spent {
                // What was kept so far is of no use any more.
                (kept, budget) = (BytesMut::new(), None);
                if received > limit + DISCARDED_BYTES_MAX {
                    break;
                }
            } else {
                kept.extend_from_slice(data);
            }
        }
        if received > limit {
            return Err(error::reply(&error::too_large(limit), &Shape::Envelope));
        }
        if spent {
            return Err(error::unavailable());
        }
        Ok(Held { bytes: kept.freeze(), _budget: budget })
    }
}

fn failed(message: &str) -> Reply {
    error::reply(&invalid_body(message), &Shape::Envelope)
}
