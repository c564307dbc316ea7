//! A socket with the time limits that hyper does not have.
//!
//! 1. A write that waits must deliver at least [`TAKEN_BYTES_MIN`] to the client within the write timeout, or all bytes
//!    that are ready.
//! 2. A connection that waits for a request may be silent for at most [`IDLE_TIMEOUT_MIN`] or the longer setting. hyper
//!    limits the time of a request head, but after the first request it starts that timer only with the next bytes.
//! 3. At its end a connection stays open while the client still sends. Closing a socket with unread bytes resets the
//!    connection, and the client may lose the refusal that was sent to it.
//!
//! A write does not wait until the kernel's send buffer is full. Listeners therefore keep that buffer small
//! ([`super::listen`]).

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use crate::config::ServerSettings;

/// A client that takes less than this within the write timeout is disconnected: 64 KiB.
const TAKEN_BYTES_MIN: usize = 64 << 10;
/// Time that a connection may wait for more bytes of a request. A longer header or body timeout extends it.
const IDLE_TIMEOUT_MIN: Duration = Duration::from_secs(120);
/// Upper bound of the idle timeout: a day, which can be added to any time.
const IDLE_TIMEOUT_MAX: Duration = Duration::from_secs(86_400);
/// Bytes that are discarded at the end of a connection, at most: 64 MiB.
const DISCARDED_BYTES_MAX: usize = 64 << 20;
/// Time for which bytes are discarded, at most.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(10);
/// The client is considered finished once it has sent nothing for this long.
const QUIET_TIMEOUT: Duration = Duration::from_secs(2);
/// A connection that wrote nothing for this long was idle: its client is not in the middle of a request.
const RECENT: Duration = Duration::from_secs(1);

/// A TCP stream that disconnects slow and silent clients.
pub(super) struct TimedStream {
    stream: TcpStream,
    write_timeout: Duration,
    idle_timeout: Duration,
    /// The write that waits.
    slow_write: Option<SlowWrite>,
    /// When the read that waits began to wait.
    waiting_since: Option<Instant>,
    /// Ends at or before the idle timeout of the read that waits. Set again only after it has ended, not by every read.
    idle_timer: Pin<Box<Sleep>>,
    /// The time of the last write.
    last_write: Instant,
    /// How far the shutdown of the connection has got.
    shutdown: Shutdown,
}

/// A write that the client did not take at once.
struct SlowWrite {
    deadline: Pin<Box<Sleep>>,
    /// Bytes taken since the deadline was set.
    taken: usize,
}

impl SlowWrite {
    fn new(timeout: Duration) -> Self {
        Self { deadline: Box::pin(tokio::time::sleep(timeout)), taken: 0 }
    }
}

/// The shutdown of a connection.
enum Shutdown {
    /// Not begun.
    Open,
    /// The sending half is closed; bytes from the client are discarded.
    Discarding { quiet_timer: Pin<Box<Sleep>>, until: Instant, discarded: usize },
    /// The socket may be closed.
    Finished,
}

impl TimedStream {
    pub(super) fn new(stream: TcpStream, settings: &ServerSettings) -> Self {
        let longest = settings.header_timeout.max(settings.body_timeout);
        let idle_timeout = longest.clamp(IDLE_TIMEOUT_MIN, IDLE_TIMEOUT_MAX);
        Self {
            stream,
            write_timeout: settings.write_timeout,
            idle_timeout,
            slow_write: None,
            waiting_since: None,
            idle_timer: Box::pin(tokio::time::sleep(idle_timeout)),
            last_write: Instant::now(),
            shutdown: Shutdown::Open,
        }
    }

    /// Counts a finished write, or fails once a waiting write exceeds its time limit.
    fn watch_write(&mut self, context: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(outcome) = &written {
            self.last_write = Instant::now();
            if let (Ok(taken), Some(slow)) = (outcome, &mut self.slow_write) {
                slow.taken += taken;
                if slow.taken >= TAKEN_BYTES_MIN {
                    self.slow_write = None;
                }
            }
            return written;
        }
        let timeout = self.write_timeout;
        let slow = self.slow_write.get_or_insert_with(|| SlowWrite::new(timeout));
        ready!(slow.deadline.as_mut().poll(context));
        // Drops the bytes in the kernel's buffer as well: the client sees a reset instead of a short answer.
        let _ = self.stream.set_zero_linger();
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not take its answer")))
    }

    /// Reads and discards the bytes that the client still sends, within the limits.
    fn poll_discard(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Shutdown::Discarding { quiet_timer, until, discarded } = &mut self.shutdown else { return Poll::Ready(()) };
        let mut space = [0; 16 << 10];
        loop {
            let mut buffer = ReadBuf::new(&mut space);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => *discarded += buffer.filled().len(),
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return quiet_timer.as_mut().poll(context),
            }
            let now = Instant::now();
            if *discarded > DISCARDED_BYTES_MAX || now >= *until {
                return Poll::Ready(());
            }
            quiet_timer.as_mut().reset((now + QUIET_TIMEOUT).min(*until));
        }
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Poll::Ready(outcome) = Pin::new(&mut this.stream).poll_read(context, buffer) {
            this.waiting_since = None;
            return Poll::Ready(outcome);
        }
        let deadline = *this.waiting_since.get_or_insert_with(Instant::now) + this.idle_timeout;
        loop {
            ready!(this.idle_timer.as_mut().poll(context));
            if Instant::now() >= deadline {
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client sends nothing")));
            }
            this.idle_timer.as_mut().reset(deadline);
        }
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch_write(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.watch_write(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper flushes after all ready bytes are written: no write waits now.
        self.slow_write = None;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if matches!(self.shutdown, Shutdown::Open) {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
            let now = Instant::now();
            self.shutdown = Shutdown::Finished;
            if now.duration_since(self.last_write) < RECENT {
                let quiet_timer = Box::pin(tokio::time::sleep(QUIET_TIMEOUT));
                self.shutdown = Shutdown::Discarding { quiet_timer, until: now + DISCARD_TIMEOUT, discarded: 0 };
            }
        }
        ready!(self.poll_discard(context));
        self.shutdown = Shutdown::Finished;
        Poll::Ready(Ok(()))
    }
}
