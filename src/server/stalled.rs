//! A socket that gives up a client which does not take its answer, or sends nothing for too long.
//!
//! Three deadlines that hyper does not have. A write that waits must get at least [`TAKEN_BYTES_MIN`], or everything that
//! is ready to be sent, to the client within the write timeout. A connection that waits for a request may be silent for
//! [`IDLE_TIMEOUT_MIN`]: after its first request hyper starts the timer of its limit for heads only with the next bytes.
//! At its end a connection is not closed while the client still sends: a socket that is closed with unread bytes resets the
//! connection, and the client may lose the refusal that it was sent.
//!
//! The kernel takes answers off our hands as far as its send buffer goes, and then nothing waits here: listeners keep that
//! buffer small ([`super::bind`]).

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use crate::config::ServerSettings;

/// A client that takes less than this within the write timeout is given up: 64 KiB.
const TAKEN_BYTES_MIN: usize = 64 << 10;
/// A connection may wait for its next request, or for more of one, as long as this, or as long as a setting allows where
/// that is more.
const IDLE_TIMEOUT_MIN: Duration = Duration::from_secs(120);
/// Settings that allow more are cut to this, a day, which can be added to any time.
const IDLE_TIMEOUT_MAX: Duration = Duration::from_secs(86_400);
/// What a client still sends at the end of a connection is discarded up to this: 64 MiB.
const DISCARDED_BYTES_MAX: usize = 64 << 20;
/// And for no longer than this.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(10);
/// A client that has sent nothing for this long at the end of a connection sends nothing more.
const QUIET_TIMEOUT: Duration = Duration::from_secs(2);
/// A connection that ends this long after the last write was idle: its client is not in the middle of a request.
const RECENT: Duration = Duration::from_secs(1);

/// A stream with the deadlines that a client must keep.
pub(super) struct Stalled {
    stream: TcpStream,
    write_timeout: Duration,
    idle_timeout: Duration,
    /// Runs while a write waits.
    write: Option<SlowWrite>,
    /// Since when a read waits.
    waiting: Option<Instant>,
    /// Ends at or before the idle timeout of a read that waits. It is set again when it has ended, not by every read.
    idle: Pin<Box<Sleep>>,
    /// When something was written last.
    written: Instant,
    /// The end of the connection.
    end: End,
}

/// A client that did not take a write at once.
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

/// How far the end of a connection has got.
enum End {
    /// It has not begun.
    Open,
    /// Our side is closed; what the client sends is discarded.
    Discarding { quiet: Pin<Box<Sleep>>, until: Instant, discarded: usize },
    /// The socket may be closed.
    Over,
}

impl Stalled {
    pub(super) fn new(stream: TcpStream, settings: &ServerSettings) -> Self {
        let longest = settings.header_timeout.max(settings.body_timeout);
        let idle_timeout = longest.clamp(IDLE_TIMEOUT_MIN, IDLE_TIMEOUT_MAX);
        Self {
            stream,
            write_timeout: settings.write_timeout,
            idle_timeout,
            write: None,
            waiting: None,
            idle: Box::pin(tokio::time::sleep(idle_timeout)),
            written: Instant::now(),
            end: End::Open,
        }
    }

    fn watch_write(&mut self, context: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(outcome) = &written {
            self.written = Instant::now();
            if let (Ok(taken), Some(slow)) = (outcome, &mut self.write) {
                slow.taken += taken;
                if slow.taken >= TAKEN_BYTES_MIN {
                    self.write = None;
                }
            }
            return written;
        }
        let timeout = self.write_timeout;
        let slow = self.write.get_or_insert_with(|| SlowWrite::new(timeout));
        ready!(slow.deadline.as_mut().poll(context));
        // What the kernel still holds is dropped as well, and the client sees a reset rather than a short answer.
        let _ = self.stream.set_zero_linger();
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not take its answer")))
    }

    /// Reads and discards what the client still sends, within bounds.
    fn poll_discard(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let End::Discarding { quiet, until, discarded } = &mut self.end else { return Poll::Ready(()) };
        let mut space = [0; 16 << 10];
        loop {
            let mut buffer = ReadBuf::new(&mut space);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => *discarded += buffer.filled().len(),
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return quiet.as_mut().poll(context),
            }
            let now = Instant::now();
            if *discarded > DISCARDED_BYTES_MAX || now >= *until {
                return Poll::Ready(());
            }
            quiet.as_mut().reset((now + QUIET_TIMEOUT).min(*until));
        }
    }
}

impl AsyncRead for Stalled {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Poll::Ready(outcome) = Pin::new(&mut this.stream).poll_read(context, buffer) {
            this.waiting = None;
            return Poll::Ready(outcome);
        }
        let deadline = *this.waiting.get_or_insert_with(Instant::now) + this.idle_timeout;
        loop {
            ready!(this.idle.as_mut().poll(context));
            if Instant::now() >= deadline {
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client sends nothing")));
            }
            this.idle.as_mut().reset(deadline);
        }
    }
}

impl AsyncWrite for Stalled {
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
        // hyper flushes when nothing is left of what was ready: no write waits any more.
        self.write = None;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if matches!(self.end, End::Open) {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
            let now = Instant::now();
            self.end = End::Over;
            if now.duration_since(self.written) < RECENT {
                let quiet = Box::pin(tokio::time::sleep(QUIET_TIMEOUT));
                self.end = End::Discarding { quiet, until: now + DISCARD_TIMEOUT, discarded: 0 };
            }
        }
        ready!(self.poll_discard(context));
        self.end = End::Over;
        Poll::Ready(Ok(()))
    }
}
