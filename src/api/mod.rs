//! The HTTP surface: one file a resource, the routes in one table.
//!
//! A handler gets a [`AuthenticatedRequest`] (who calls, path parameters, query, body) and returns a [`Reply`] or a failure; it is plain
//! blocking code, run off the async threads by `server`. [`error`] is the one place where failures become HTTP;
//! [`unknown`] is the one place where names that a route does not know become warnings; [`document`] is the OpenAPI
//! description of all of it.

pub mod answer;
pub mod billing;
pub mod conversations;
pub mod document;
pub mod error;
pub mod fields;
pub mod identity;
pub mod intake;
pub mod keys;
pub mod media;
pub mod memories;
pub mod namespaces;
pub mod query;
pub mod queue;
pub mod retrieve;
pub mod routes;
pub mod skills;
pub mod sources;
pub mod unknown;
pub mod vocabulary;

use std::any::Any;
use std::fs::File;
use std::sync::Arc;

use bytes::Bytes;
use cuebase_storage::records::NamespaceRecord;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use query::QueryString;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use ulid::Ulid;
use unknown::UnknownNames;

use crate::accounts::scope::select_namespace;
use crate::error::{Error, Result};
use crate::gateway::{Gateway, Principal};
use crate::service::Service;

/// JSON bodies above this are refused: 8 MiB.
pub const BODY_BYTES_MAX: usize = 8 << 20;
/// Uploaded files above this are refused: 32 MiB.
pub const MEDIA_BYTES_MAX: usize = 32 << 20;
/// Pushes above this are refused: 64 MiB.
pub const PACK_BYTES_MAX: usize = 64 << 20;
/// Bodies of senders without a credential above this are refused: 64 KiB.
pub const OPEN_BODY_BYTES_MAX: usize = 64 << 10;
/// JSON bodies that nest deeper are refused. The decoder's own limit is 128, and stored records wrap what was sent.
pub const JSON_DEPTH_MAX: usize = 64;

/// A request's place under the retrieval ceiling; none for most.
#[derive(Default)]
pub struct RetrievalSlot(Mutex<Option<Box<dyn Any + Send>>>);

impl RetrievalSlot {
    /// Takes the place: whatever gives it back when it is dropped.
    pub fn take(&self, permit: impl Any + Send) {
        *self.0.lock() = Some(Box::new(permit));
    }

    /// Gives it back, for one that has done what the ceiling is for.
    pub fn leave(&self) {
        drop(self.0.lock().take());
    }
}

/// A request, whoever sent it.
pub struct RouteRequest {
    /// The service.
    pub service: Arc<Service>,
    /// The path's parameters, decoded, in order.
    pub parameters: Vec<String>,
    /// The query string.
    pub query: QueryString,
    /// The names in query and body that the route does not know.
    pub unknown: UnknownNames,
    /// The headers.
    pub headers: HeaderMap,
    /// The body; empty where the route takes none.
    pub body: Bytes,
    /// Its place under the retrieval ceiling.
    pub place: Arc<RetrievalSlot>,
}

/// A request with who sent it.
pub struct AuthenticatedRequest {
    /// The request.
    pub request: RouteRequest,
    /// The gate, for what changes credentials.
    pub gateway: Arc<Gateway>,
    /// Who calls.
    pub principal: Principal,
}

impl std::ops::Deref for AuthenticatedRequest {
    type Target = RouteRequest;

    fn deref(&self) -> &RouteRequest {
        &self.request
    }
}

impl RouteRequest {
    /// A path parameter by its place.
    pub fn parameter(&self, place: usize) -> &str {
        self.parameters.get(place).map(String::as_str).unwrap_or_default()
    }

    /// A header's text; empty when it is not there or no text.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The body as a JSON object of a shape. Its names are checked against those that the route knows.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        if self.body.is_empty() {
            return Err(Error::invalid("invalid_body", "the body is empty: send a JSON object"));
        }
        let invalid = |error| Error::invalid("invalid_body", format!("body: {error}"));
        let value: Value = serde_json::from_slice(&self.body).map_err(invalid)?;
        // Serde would read a struct from an array as well.
        let Some(object) = value.as_object() else {
            return Err(Error::invalid("invalid_body", "the body must be a JSON object"));
        };
        self.unknown.check_body(object)?;
        serde_json::from_value(value).map_err(invalid)
    }
}

impl AuthenticatedRequest {
    /// The account.
    pub fn account(&self) -> &str {
        &self.principal.account
    }

    /// The namespace that a read means: as the query names it, or the caller's own.
    pub fn read_namespace(&self) -> Result<String> {
        self.readable(self.query.value("namespace"))
    }

    /// The namespace of that name, if the caller may read it.
    pub fn readable(&self, wanted: Option<&str>) -> Result<String> {
        select_namespace(self.principal.scope(), wanted, |own| {
            Error::forbidden("forbidden_namespace", format!("this key reads {own:?} alone"))
        })
    }

    /// The namespace of that name, if the caller may write to it.
    pub fn write_name(&self, wanted: Option<&str>) -> Result<String> {
        select_namespace(self.principal.scope(), wanted, |own| {
            Error::invalid("invalid_namespace", format!("this key writes to {own:?} alone"))
        })
    }

    /// The same, if it exists.
    pub fn writable(&self, wanted: Option<&str>) -> Result<NamespaceRecord> {
        self.service.namespaces.existing(self.account(), &self.write_name(wanted)?)
    }

    /// The namespace that a write's query names, or the caller's own.
    pub fn write_namespace(&self) -> Result<NamespaceRecord> {
        self.writable(self.query.value("namespace"))
    }
}

/// What a handler answers.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// Headers beside the ones that every answer has.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body, JSON unless a `content-type` says otherwise.
    pub body: Content,
}

/// The body of a reply.
#[derive(Debug)]
pub enum Content {
    /// In memory.
    Bytes(Bytes),
    /// On disk.
    File(StoredFile),
}

/// An open file that is sent from disk, and what it must hold.
#[derive(Debug)]
pub struct StoredFile {
    /// The file, from whose beginning is sent.
    pub file: File,
    /// Its length.
    pub bytes: u64,
    /// The SHA-256 of its bytes, in lower-case hexadecimal digits. Where they differ the answer is broken off.
    pub sha256: String,
    /// The account whose file it is.
    pub account: String,
    /// Its id, for the log.
    pub id: Ulid,
}

impl From<Bytes> for Content {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Bytes(text.into())
    }
}

impl Reply {
    /// A JSON body with a status.
    pub fn json(status: StatusCode, body: &impl Serialize) -> Result<Self> {
        let mut body = serde_json::to_vec(body).map_err(Error::internal)?;
        // It grew by doubling, and may be held until a slow client has taken it.
        body.shrink_to_fit();
        Ok(Self { status, headers: Vec::new(), body: body.into() })
    }

    /// `202` for a write that is in the queue.
    pub fn accepted(id: &str, namespace: &str) -> Result<Self> {
        Self::json(StatusCode::ACCEPTED, &json!({"id": id, "namespace": namespace, "status": "accepted"}))
    }

    /// 200.
    pub fn ok(body: &impl Serialize) -> Result<Self> {
        Self::json(StatusCode::OK, body)
    }

    /// With one more header; one whose value is no header's is left out.
    pub fn with(mut self, name: HeaderName, value: &str) -> Self {
        self.headers.extend(HeaderValue::from_str(value).ok().map(|value| (name, value)));
        self
    }
}
