//! The chunks of a response body, on their way from the code that makes them to the connection that sends them.
//!
//! An error takes its turn behind the chunks, and the body ends when the sender is gone and all chunks are taken.
//! `http_body_util::channel` asks for the end separately, after it has found no chunk, so it drops a last chunk that
//! is sent in between.

use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::sync::mpsc;

/// The sending end. The body ends when it is dropped.
pub(super) struct ChunkSender(mpsc::Sender<io::Result<Bytes>>);

/// The receiving end.
pub(super) struct Chunks(mpsc::Receiver<io::Result<Bytes>>);

/// Makes the ends of a channel that holds up to `ahead` chunks.
pub(super) fn chunk_channel(ahead: usize) -> (ChunkSender, Chunks) {
    let (sender, receiver) = mpsc::channel(ahead);
    (ChunkSender(sender), Chunks(receiver))
}

impl ChunkSender {
    /// Sends a chunk. Waits until there is room.
    ///
    /// # Errors
    /// The client has left.
    pub(super) async fn send(&self, chunk: Bytes) -> io::Result<()> {
        self.0.send(Ok(chunk)).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Cuts the body off after the chunks so far, so that the client does not take it for the whole.
    pub(super) async fn abort(self, error: io::Error) {
        // Fails if the client has left.
        let _ = self.0.send(Err(error)).await;
    }
}

impl Chunks {
    /// Returns the next chunk, or an error that cuts the body off. `None` at its end.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        self.0.poll_recv(context)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;
    use std::thread;

    use http_body_util::BodyExt;
    use tokio::runtime::Builder;

    use super::*;
    use crate::server::response_body::ResponseBody;

    /// A channel that asks for the end separately loses the last chunk of about one body in 500.
    const BODIES: usize = 20_000;

    #[test]
    fn a_last_chunk_that_is_sent_just_before_the_end_is_received() {
        let mut context = Context::from_waker(Waker::noop());
        for number in 0..BODIES {
            let (sender, mut chunks) = chunk_channel(4);
            let sending = thread::spawn(move || sender.0.try_send(Ok(Bytes::from_static(b"last"))));
            let received = loop {
                if let Poll::Ready(received) = chunks.poll_next(&mut context) {
                    break received;
                }
            };
            assert_eq!(received.expect("a chunk").expect("is not cut off"), "last", "body {number}");
            sending.join().expect("does not panic").expect("there is room");
        }
    }

    #[test]
    fn an_error_follows_the_chunks_before_it() {
        let runtime = Builder::new_current_thread().build().expect("builds");
        let (sender, chunks) = chunk_channel(2);
        let mut body = ResponseBody::Stream { chunks, left: None };
        runtime.block_on(async {
            sender.send(Bytes::from_static(b"first")).await.expect("there is room");
            sender.abort(io::ErrorKind::BrokenPipe.into()).await;
            let first = body.frame().await.expect("a chunk").expect("is not cut off");
            assert_eq!(first.into_data().expect("data"), "first");
            assert!(body.frame().await.expect("an error").is_err());
            assert!(body.frame().await.is_none());
        });
    }
}
