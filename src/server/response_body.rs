//! Bodies of responses: how they are sent, and the memory that they hold until the client has taken them.
//!
//! A large answer takes memory of the budget for request bodies. hyper gets it in small copies, so that only
//! [`ResponseBody`] holds the answer and its memory. Files are sent in chunks, from disk or from the bucket.

use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use data_encoding::HEXLOWER;
use hyper::body::{Body, Frame, SizeHint};

use super::chunks::{ChunkSender, Chunks, chunk_channel};
use super::slots::HeldSlots;
use crate::api::StoredFile;
use crate::service::media_content::MediaContent;
use crate::sha256::Sha256;

/// Answers up to this size take no memory of the budget and are sent in one piece: 64 KiB.
pub(super) const SMALL_BYTES: usize = 64 << 10;
/// hyper gets larger answers in copies of this size.
const COPY_BYTES: usize = 32 << 10;
/// Files are read in chunks of this size.
const FILE_CHUNK_BYTES: usize = 64 << 10;
/// Memory for sending a file: one chunk in hyper, one that waits, one that is read. Its reader may need more.
pub(super) const FILE_BYTES: usize = 3 * FILE_CHUNK_BYTES;

/// The body of a response.
pub(super) enum ResponseBody {
    /// In memory.
    Bytes {
        /// Bytes that are not sent yet.
        bytes: Bytes,
        /// Its memory of the budget, if it is large.
        memory: Option<HeldSlots>,
    },
    /// Produced while it is sent.
    Stream {
        /// Receives the chunks.
        chunks: Chunks,
        /// Bytes that are not sent yet, if the length is known.
        left: Option<u64>,
    },
}

impl ResponseBody {
    /// Sends a file and drops `held` at its end. Must be called within the runtime.
    pub(super) fn file(file: StoredFile, held: impl Send + 'static) -> Self {
        let (sender, chunks) = chunk_channel(1);
        let left = Some(file.bytes);
        tokio::spawn(async move {
            send_file(file, sender).await;
            drop(held);
        });
        Self::Stream { chunks, left }
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
            Self::Stream { chunks, left } => {
                let polled = chunks.poll_next(context);
                if let (Poll::Ready(Some(Ok(chunk))), Some(left)) = (&polled, left) {
                    *left = left.saturating_sub(chunk.len() as u64);
                }
                polled.map_ok(Frame::data)
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

/// Returns the next part of an answer; none at its end.
///
/// A part of a large answer is a copy. A slice would keep the whole answer in memory until the client has taken the
/// slice, although its memory of the budget is already given back.
fn next_part(bytes: &mut Bytes, memory: &mut Option<HeldSlots>) -> Option<Bytes> {
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

/// Reads a file that is being sent.
struct FileReader {
    content: MediaContent,
    /// Bytes that are not read yet.
    left: u64,
    digest: Sha256,
}

impl FileReader {
    /// Reads and hashes the next chunk. Fails if the file ends too early.
    fn next_chunk(&mut self) -> io::Result<Bytes> {
        let length = self.left.min(FILE_CHUNK_BYTES as u64);
        let mut chunk = vec![0; usize::try_from(length).unwrap_or(FILE_CHUNK_BYTES)];
        self.content.read_exact(&mut chunk)?;
        self.digest.update(&chunk);
        self.left -= length;
        Ok(chunk.into())
    }
}

/// Sends a file in chunks. The last chunk waits until the digest of the whole file is known: if the bytes are wrong,
/// the connection is aborted, so that no client takes them for the file.
async fn send_file(file: StoredFile, sender: ChunkSender) {
    let StoredFile { content, bytes, sha256, id, .. } = file;
    let mut reader = FileReader { content, left: bytes, digest: Sha256::new() };
    while reader.left > 0 {
        let read = tokio::task::spawn_blocking(move || {
            let chunk = reader.next_chunk();
            (reader, chunk)
        });
        let (next, chunk) = match read.await {
            Ok((next, Ok(chunk))) => (next, chunk),
            Ok((_, Err(error))) => {
                tracing::error!(%error, %id, "a media file could not be read to its end");
                return sender.abort(error).await;
            }
            Err(error) => return sender.abort(io::Error::other(error)).await,
        };
        reader = next;
        if reader.left == 0 {
            if HEXLOWER.encode(&reader.digest.finish()) != sha256 {
                tracing::error!(%id, "a media file differs from its upload: restore it from a backup");
                return sender.abort(io::ErrorKind::InvalidData.into()).await;
            }
            // Fails if the client has left.
            let _ = sender.send(chunk).await;
            return;
        }
        if sender.send(chunk).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::server::sender::Sender;
    use crate::server::slots::SlotPool;
    use crate::service::media_content::ObjectReader;
    use crate::sha256::sha256;
    use cuebase_storage::AccountId;
    use cuebase_storage::bucket::Bucket;
    use http_body_util::BodyExt;
    use proptest::prelude::*;
    use tokio::runtime::Builder;
    use ulid::Ulid;

    /// Sends an object of the bucket as a file with a checksum. Returns what a client receives, or an error if the
    /// response is aborted.
    fn sent_object(object: &[u8], sha256: String) -> io::Result<Bytes> {
        let bucket = Bucket::in_memory().expect("creates");
        bucket.put("a", object.to_vec()).expect("writes");
        let bytes = object.len() as u64;
        let content = MediaContent::Object(ObjectReader::new(Arc::new(bucket), "a".to_owned(), bytes));
        let file = StoredFile { content, bytes, sha256, account: AccountId::default(), id: Ulid::from(1) };
        let runtime = Builder::new_multi_thread().worker_threads(1).build().expect("builds");
        let _entered = runtime.enter();
        let sent = runtime.block_on(ResponseBody::file(file, ()).collect())?;
        Ok(sent.to_bytes())
    }

    #[test]
    fn an_object_is_sent_whole_if_it_is_the_uploaded_file() {
        for length in [1, FILE_CHUNK_BYTES, (1 << 20) + 1, 3_000_000] {
            let object = vec![7; length];
            let sent = sent_object(&object, HEXLOWER.encode(&sha256(&[&object]))).expect("is sent");
            assert!(sent == object, "{length}");
            assert!(sent_object(&object, HEXLOWER.encode(&sha256(&[b"other"]))).is_err(), "{length}");
        }
    }

    proptest! {
        #[test]
        fn the_parts_make_the_whole_and_the_last_one_gives_the_memory_back(length in 0..300_000_usize) {
            let whole: Vec<u8> = (0..length).map(|n| n.to_le_bytes()[0]).collect();
            let pool = SlotPool::new(10, 0, 1);
            let (mut bytes, mut memory) = (Bytes::from(whole.clone()), pool.take(&Sender::Route("/v1/test"), 10));
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
