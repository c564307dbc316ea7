//! The body of a request that another node forwards, compared with the hash in the request's pass.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use crate::sha256::{HASH_BYTES, Sha256};

/// A request body that ends in an error unless its SHA-256 is the signed one.
///
/// Whoever reads it to its end before it acts never acts on another body.
pub(super) struct SignedBody<B> {
    body: B,
    expected: [u8; HASH_BYTES],
    /// The hash of the bytes so far. `None` once it was compared.
    hash: Option<Sha256>,
}

impl<B> SignedBody<B> {
    pub(super) fn new(body: B, expected: [u8; HASH_BYTES]) -> Self {
        Self { body, expected, hash: Some(Sha256::new()) }
    }
}

impl<B> Body for SignedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match ready!(Pin::new(&mut self.body).poll_frame(context)) {
            Some(Ok(frame)) => {
                if let (Some(data), Some(hash)) = (frame.data_ref(), &mut self.hash) {
                    hash.update(data);
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(error)) => Poll::Ready(Some(Err(io::Error::other(error)))),
            None => {
                let Some(hash) = self.hash.take() else { return Poll::Ready(None) };
                if hash.finish() == self.expected {
                    return Poll::Ready(None);
                }
                let error = io::Error::new(io::ErrorKind::InvalidData, "the body is not that of the pass");
                Poll::Ready(Some(Err(error)))
            }
        }
    }

    /// Not before the hash was compared, also if the body is empty.
    fn is_end_stream(&self) -> bool {
        self.hash.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt, Full};

    use super::*;
    use crate::sha256::sha256;

    /// Reads a body that should have the hash of `signed`.
    fn read(body: &'static str, signed: &str) -> io::Result<Bytes> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let body = SignedBody::new(Full::new(Bytes::from_static(body.as_bytes())), sha256(&[signed.as_bytes()]));
        Ok(runtime.block_on(body.collect())?.to_bytes())
    }

    #[test]
    fn the_signed_body_is_read_to_its_end() {
        assert_eq!(read("a memory", "a memory").expect("reads"), "a memory");
        assert_eq!(read("", "").expect("reads"), "");
    }

    #[test]
    fn another_body_than_the_signed_one_is_an_error() {
        for (body, signed) in [("another memory", "a memory"), ("a memor", "a memory"), ("", "a memory"), ("x", "")] {
            let error = read(body, signed).expect_err("another body");
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{body:?} instead of {signed:?}");
        }
    }
}
