//! Response bodies that are written while they are sent, from a thread that may block.
//!
//! Few writers of an account work at once. A writer that waits for its client lets another one work meanwhile, so that
//! clients that read slowly keep nobody waiting.

use std::io::{self, Write};
use std::sync::Arc;

use bytes::BytesMut;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::chunks::ChunkSender;

/// A body is sent in chunks of this size.
const CHUNK_BYTES: usize = 64 << 10;
/// Chunks that are made before the client takes them.
pub(super) const CHUNKS_AHEAD: usize = 4;

/// The turns of one writer among those of its account. It begins with a turn.
pub(super) struct Turns {
    running: Arc<Semaphore>,
    /// The present turn. `None` while the writer waits.
    turn: Option<OwnedSemaphorePermit>,
}

impl Turns {
    /// Waits for the first turn.
    pub(super) async fn first(running: Arc<Semaphore>) -> Self {
        let mut turns = Self { running, turn: None };
        turns.begin().await;
        turns
    }

    /// Waits for the next turn.
    async fn begin(&mut self) {
        // The semaphore is never closed.
        self.turn = Arc::clone(&self.running).acquire_owned().await.ok();
    }

    fn end(&mut self) {
        self.turn = None;
    }
}

/// Writes a response body in chunks, each in a turn of its own.
pub(super) struct ChunkWriter {
    sender: ChunkSender,
    turns: Turns,
    runtime: Handle,
    buffer: BytesMut,
}

impl ChunkWriter {
    /// Makes a writer. The thread must belong to the runtime that sends the chunks.
    pub(super) fn new(sender: ChunkSender, turns: Turns) -> Self {
        Self { sender, turns, runtime: Handle::current(), buffer: BytesMut::with_capacity(CHUNK_BYTES) }
    }

    /// Sends the rest of the body.
    pub(super) fn finish(mut self) {
        if !self.buffer.is_empty() {
            // Fails if the client has left.
            let _ = self.send();
        }
    }

    /// Cuts the body off, so that the client does not take it for the whole.
    pub(super) fn abort(mut self, error: io::Error) {
        self.turns.end();
        self.runtime.block_on(self.sender.abort(error));
    }

    /// Sends what is buffered. The turn ends before the wait for the client.
    fn send(&mut self) -> io::Result<()> {
        self.turns.end();
        let chunk = std::mem::replace(&mut self.buffer, BytesMut::with_capacity(CHUNK_BYTES)).freeze();
        self.runtime.block_on(self.sender.send(chunk))
    }
}

impl Write for ChunkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(CHUNK_BYTES - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..taken]);
        if self.buffer.len() == CHUNK_BYTES {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.send()?;
        self.runtime.block_on(self.turns.begin());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http_body_util::BodyExt;
    use tokio::time::timeout;

    use super::*;
    use crate::server::chunks::{Chunks, chunk_channel};
    use crate::server::response_body::ResponseBody;

    /// Longer than any wait of these tests on a slow machine.
    const LONG: Duration = Duration::from_secs(30);

    fn body(chunks: Chunks) -> ResponseBody {
        ResponseBody::Stream { chunks, left: None }
    }

    #[tokio::test]
    async fn a_writer_whose_client_reads_nothing_leaves_its_turn_to_others() {
        let running = Arc::new(Semaphore::new(1));
        let (sender, chunks) = chunk_channel(1);
        let turns = Turns::first(Arc::clone(&running)).await;
        let writer = tokio::task::spawn_blocking(move || {
            let mut writer = ChunkWriter::new(sender, turns);
            writer.write_all(&[7; 3 * CHUNK_BYTES + 1]).expect("the client reads in the end");
            writer.finish();
        });
        let other = timeout(LONG, Turns::first(Arc::clone(&running))).await.expect("the turn of a waiting writer");
        drop(other);
        let collected =
            timeout(LONG, body(chunks).collect()).await.expect("the writer ends").expect("the body is whole");
        assert_eq!(collected.to_bytes(), vec![7; 3 * CHUNK_BYTES + 1]);
        writer.await.expect("the writer does not panic");
        assert_eq!(running.available_permits(), 1);
    }

    #[tokio::test]
    async fn a_body_that_is_cut_off_ends_in_an_error() {
        let (sender, chunks) = chunk_channel(CHUNKS_AHEAD);
        let turns = Turns::first(Arc::new(Semaphore::new(1))).await;
        let writer = tokio::task::spawn_blocking(move || {
            let mut writer = ChunkWriter::new(sender, turns);
            writer.write_all(&[1; CHUNK_BYTES]).expect("the client reads");
            writer.abort(io::ErrorKind::BrokenPipe.into());
        });
        assert!(timeout(LONG, body(chunks).collect()).await.expect("the body ends").is_err());
        writer.await.expect("the writer does not panic");
    }
}
