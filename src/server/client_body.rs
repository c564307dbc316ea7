//! The body of a request from the network, and the rest of a body that nobody read.
//!
//! A request can be answered before its body was read, for example because its credential is refused. hyper closes such
//! a connection after the response, unless the rest of the body has arrived already. Without notice, the client sends its
//! next request on a closed connection. [`UnreadBody::finish`] therefore reads a small rest, or announces that the
//! connection closes. It covers every route, because it works on the connection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{CONNECTION, EXPECT, HeaderValue};
use hyper::{Request, Response};
use parking_lot::Mutex;

use super::response_body::ResponseBody;

/// Bytes of an unread body that are read so that the connection can be kept: 64 KiB.
const REST_BYTES_MAX: usize = 64 << 10;
/// Time limit for the rest of an unread body.
const REST_TIMEOUT: Duration = Duration::from_secs(1);

/// The body of a request from the network. Dropped before its end, it goes to its [`UnreadBody`].
pub(super) struct ClientBody {
    body: Option<Incoming>,
    unread: Arc<Mutex<Option<Incoming>>>,
}

/// The rest of a request's body, once the request is answered.
pub(super) struct UnreadBody {
    rest: Arc<Mutex<Option<Incoming>>>,
    /// Whether the client waits for a `100` before it sends the body. Reading the body would send the `100`.
    expects_continue: bool,
}

/// Prepares a request for its handler. The rest of its body is kept for the time after the response.
pub(super) fn with_client_body(request: Request<Incoming>) -> (Request<ClientBody>, UnreadBody) {
    let rest = Arc::new(Mutex::new(None));
    let expects_continue = request.headers().contains_key(EXPECT);
    let unread = UnreadBody { rest: Arc::clone(&rest), expects_continue };
    (request.map(|body| ClientBody { body: Some(body), unread: rest }), unread)
}

impl UnreadBody {
    /// Reads the rest of the body if it is small. Otherwise the response announces that the connection closes.
    pub(super) async fn finish(self, response: &mut Response<ResponseBody>) {
        let Some(rest) = self.rest.lock().take() else { return };
        let is_read = !self.expects_continue
            && !response.headers().contains_key(CONNECTION)
            && tokio::time::timeout(REST_TIMEOUT, read_to_end(rest)).await == Ok(true);
        if !is_read {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// Reads a body to its end. Returns whether it ended within the limit.
async fn read_to_end(mut body: Incoming) -> bool {
    if body.size_hint().lower() > REST_BYTES_MAX as u64 {
        return false;
    }
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return false };
        bytes += frame.data_ref().map_or(0, Bytes::len);
        if bytes > REST_BYTES_MAX {
            return false;
        }
    }
    true
}

impl Body for ClientBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(context);
        if let Poll::Ready(None) = polled {
            this.body = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        match &self.body {
            Some(body) => body.is_end_stream(),
            None => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            Some(body) => body.size_hint(),
            None => SizeHint::with_exact(0),
        }
    }
}

impl Drop for ClientBody {
    fn drop(&mut self) {
        if let Some(body) = self.body.take()
            && !body.is_end_stream()
        {
            *self.unread.lock() = Some(body);
        }
    }
}
