//! The HTTP surface: one file a resource, the routes in one table.
//!
//! A handler gets a [`Call`] (who calls, path parameters, query, body) and returns a [`Reply`] or a failure; it is plain
//! blocking code, run off the async threads by `server`. [`error`] is the one place where failures become HTTP.

pub mod error;
pub mod identity;
pub mod keys;
pub mod memories;
pub mod namespaces;
pub mod query;
pub mod retrieve;
pub mod routes;

use std::sync::Arc;

use bytes::Bytes;
use hyper::StatusCode;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::gateway::{Gateway, Principal};
use crate::service::{Failure, Outcome, Service};
use query::QueryString;

/// Bodies above this are refused: 8 MiB.
pub const BODY_BYTES_MAX: usize = 8 << 20;

/// What a handler is given.
pub struct Call {
    /// The service.
    pub service: Arc<Service>,
    /// The gate, for what changes credentials.
    pub gateway: Arc<Gateway>,
    /// Who calls.
    pub principal: Principal,
    /// The path's parameters, decoded, in order.
    pub parameters: Vec<String>,
    /// The query string.
    pub query: QueryString,
    /// The body; empty where the route takes none.
    pub body: Bytes,
}

impl Call {
    /// The body as a JSON object of a shape.
    pub fn json<T: DeserializeOwned>(&self) -> Outcome<T> {
        if self.body.is_empty() {
            return Err(Failure::invalid("invalid_body", "the body is empty: send a JSON object"));
        }
        let invalid = |error| Failure::invalid("invalid_body", format!("body: {error}"));
        let value: serde_json::Value = serde_json::from_slice(&self.body).map_err(invalid)?;
        // Serde would read a struct from an array as well.
        if !value.is_object() {
            return Err(Failure::invalid("invalid_body", "the body must be a JSON object"));
        }
        serde_json::from_value(value).map_err(invalid)
    }
}

/// What a handler answers.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The JSON body.
    pub body: Vec<u8>,
}

impl Reply {
    /// A JSON body with a status.
    pub fn json(status: StatusCode, body: &impl Serialize) -> Outcome<Self> {
        Ok(Self { status, body: serde_json::to_vec(body).map_err(Failure::internal)? })
    }

    /// 200.
    pub fn ok(body: &impl Serialize) -> Outcome<Self> {
        Self::json(StatusCode::OK, body)
    }
}
