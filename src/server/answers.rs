//! Bodies of answers: how they are sent, and the memory that they hold until the client has taken them.
//!
//! A large answer draws on the same budget as the bodies of requests. It is handed to hyper in small copies, so that the
//! answer itself, and its part of the budget, are held by nothing but [`ResponseBody`]. Files are sent from disk.

use std::collections::HashMap;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll};

use aws_lc_rs::digest;
use bytes::Bytes;
use data_encoding::HEXLOWER;
use http_body_util::channel::{Channel, Sender};
use hyper::body::{Body, Frame, SizeHint};
use parking_lot::Mutex;

use super::shares::Share;
use crate::api::StoredFile;

/// Answers up to this draw on no budget and are sent as they are: 64 KiB.
pub(super) const SMALL_BYTES: usize = 64 << 10;
/// Larger ones are handed to hyper in copies of this size.
const COPY_BYTES: usize = 32 << 10;
/// A file is read in pieces of this size.
const FILE_PIECE_BYTES: usize = 64 << 10;
/// The memory of a file that is sent: a piece in the hands of hyper, one that waits, one that is read.
pub(super) const FILE_BYTES: usize = 3 * FILE_PIECE_BYTES;

/// The body of any answer.
pub(super) enum ResponseBody {
    /// In memory.
    Bytes {
        /// What is still to be sent.
        bytes: Bytes,
        /// Its part of the budget, where it is large.
        memory: Option<Share>,
    },
    /// Made while it is sent.
    Stream {
        /// Gives the pieces.
        pieces: Channel<Bytes, io::Error>,
        /// Bytes still to be sent, where the length is known.
        left: Option<u64>,
    },
}

impl ResponseBody {
    /// A file from disk. What it holds is let go at its end. Called within the runtime.
    pub(super) fn file(file: StoredFile, held: impl Send + 'static) -> Self {
        let (sender, pieces) = Channel::new(1);
        let left = Some(file.bytes);
        tokio::spawn(async move {
            send_file(file, sender).await;
            drop(held);
        });
        Self::Stream { pieces, left }
    }
}

impl From<Bytes> for ResponseBody {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes { bytes, memory: None }
    }
}

impl Default for ResponseBody {
    fn default() -> Self {
        Bytes::new().into()
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            Self::Bytes { bytes, memory } => Poll::Ready(next_part(bytes, memory).map(|part| Ok(Frame::data(part)))),
            Self::Stream { pieces, left } => {
                let polled = Pin::new(pieces).poll_frame(context);
                if let (Poll::Ready(Some(Ok(frame))), Some(left)) = (&polled, left) {
                    let sent = frame.data_ref().map_or(0, Bytes::len);
                    *left = left.saturating_sub(sent as u64);
                }
                polled
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Bytes { bytes, .. } => bytes.is_empty(),
            Self::Stream { .. } => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Bytes { bytes, .. } => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream { left: Some(left), .. } => SizeHint::with_exact(*left),
            Self::Stream { left: None, .. } => SizeHint::default(),
        }
    }
}

/// The next part of an answer; none at its end.
///
/// A part of a large answer is a copy: a slice would keep the whole of it in memory until the client has taken the slice,
/// after its part of the budget was given back.
fn next_part(bytes: &mut Bytes, memory: &mut Option<Share>) -> Option<Bytes> {
    if bytes.is_empty() {
        return None;
    }
    if memory.is_none() {
        return Some(std::mem::take(bytes));
    }
    let part = bytes.split_to(bytes.len().min(COPY_BYTES));
    let part = Bytes::copy_from_slice(&part);
    if bytes.is_empty() {
        *bytes = Bytes::new();
        *memory = None;
    }
    Some(part)
}

/// A file that is being sent.
struct Reading {
    file: File,
    /// Bytes still to be read.
    left: u64,
    digest: digest::Context,
}

impl Reading {
    /// The next piece, which is hashed as well; an error when the file ends too early.
    fn piece(&mut self) -> io::Result<Bytes> {
        let length = self.left.min(FILE_PIECE_BYTES as u64);
        let mut piece = vec![0; usize::try_from(length).unwrap_or(FILE_PIECE_BYTES)];
        self.file.read_exact(&mut piece)?;
        self.digest.update(&piece);
        self.left -= length;
        Ok(piece.into())
    }
}

/// Sends a file piece by piece. The last piece is held back until the digest of the whole is known: wrong bytes break
/// the connection off, so that no client takes them for the file.
async fn send_file(file: StoredFile, mut sender: Sender<Bytes, io::Error>) {
    let StoredFile { file, bytes, sha256, id, .. } = file;
    let mut reading = Reading { file, left: bytes, digest: digest::Context::new(&digest::SHA256) };
    while reading.left > 0 {
        let read = tokio::task::spawn_blocking(move || {
            let piece = reading.piece();
            (reading, piece)
        });
        let (next, piece) = match read.await {
            Ok((next, Ok(piece))) => (next, piece),
            Ok((_, Err(error))) => {
                tracing::error!(%error, %id, "a media file could not be read to its end");
                return sender.abort(error);
            }
            Err(error) => return sender.abort(io::Error::other(error)),
        };
        reading = next;
        if reading.left == 0 {
            let digest = reading.digest.finish();
            if HEXLOWER.encode(digest.as_ref()) != sha256 {
                tracing::error!(%id, "a media file is not what was uploaded: it must come from a backup");
                return sender.abort(io::ErrorKind::InvalidData.into());
            }
            // The client may have left.
            let _ = sender.send_data(piece).await;
            return;
        }
        if sender.send_data(piece).await.is_err() {
            return;
        }
    }
}

/// Sizes of large answers that accounts got of late, by route: memory for the next one is taken before it is made.
pub(super) struct Estimates {
    hasher: RandomState,
    sizes: Mutex<HashMap<u64, usize>>,
}

/// Answers below this are not remembered: 1 MiB.
const REMEMBERED_BYTES_MIN: usize = 1 << 20;
/// Answers that are remembered, at most.
const REMEMBERED_MAX: usize = 4096;
/// Memory that making an answer takes, as a multiple of the answer: its parts, and the text as it grows.
const MAKING_FACTOR: usize = 3;

impl Estimates {
    pub(super) fn new() -> Self {
        Self { hasher: RandomState::new(), sizes: Mutex::default() }
    }

    /// Bytes to take before an account's next answer of a route is made; 0 when its answers were small.
    pub(super) fn of(&self, route: &str, account: &str) -> usize {
        let sizes = self.sizes.lock();
        if sizes.is_empty() {
            return 0;
        }
        let size = sizes.get(&self.hasher.hash_one((route, account))).copied();
        size.unwrap_or(0).saturating_mul(MAKING_FACTOR)
    }

    /// Remembers the size of an answer. A smaller one halves what is remembered, so that one large answer does not
    /// count for ever.
    pub(super) fn learn(&self, route: &str, account: &str, bytes: usize) {
        let mut sizes = self.sizes.lock();
        if bytes < REMEMBERED_BYTES_MIN && sizes.is_empty() {
            return;
        }
        let key = self.hasher.hash_one((route, account));
        let former = sizes.get(&key).copied().unwrap_or(0);
        let size = bytes.max(former / 2);
        if size < REMEMBERED_BYTES_MIN {
            sizes.remove(&key);
            return;
        }
        if sizes.len() >= REMEMBERED_MAX && former == 0 {
            sizes.clear();
        }
        sizes.insert(key, size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::shares::Shares;
    use proptest::prelude::*;

    #[test]
    fn an_estimate_follows_the_largest_answer_and_falls_again() {
        let estimates = Estimates::new();
        assert_eq!(estimates.of("/v1/tree", "a"), 0);
        estimates.learn("/v1/tree", "a", 40 << 20);
        assert_eq!(estimates.of("/v1/tree", "a"), (40 << 20) * MAKING_FACTOR);
        assert_eq!(estimates.of("/v1/tree", "b"), 0);
        for _ in 0..8 {
            estimates.learn("/v1/tree", "a", 100);
        }
        assert_eq!(estimates.of("/v1/tree", "a"), 0);
        assert!(estimates.sizes.lock().is_empty());
    }

    proptest! {
        #[test]
        fn the_parts_make_the_whole_and_the_last_gives_the_memory_back(length in 0..300_000_usize) {
            let whole: Vec<u8> = (0..length).map(|n| n.to_le_bytes()[0]).collect();
            let shares = Shares::new(10, 0, 1);
            let (mut bytes, mut memory) = (Bytes::from(whole.clone()), shares.take("a", 10));
            let mut parts = Vec::new();
            while let Some(part) = next_part(&mut bytes, &mut memory) {
                prop_assert!(part.len() <= COPY_BYTES);
                prop_assert_eq!(memory.is_none(), bytes.is_empty());
                parts.extend_from_slice(&part);
            }
            prop_assert_eq!(parts, whole);
        }
    }
}
