//! What a handler gets: a request with its parts decoded, and the caller.

use std::any::Any;
use std::sync::Arc;

use bytes::Bytes;
use cuebase_storage::records::{NamespaceRecord, QueuedWork, WriteSender};
use cuebase_storage::{AccountId, NamespaceName};
use hyper::HeaderMap;
use hyper::header::HeaderValue;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use super::limits::NAMESPACES_MAX;
use super::named_namespaces::NamedNamespaces;
use super::query::QueryString;
use super::unknown::UnknownNames;
use crate::accounts::scope::{Selection, select_namespace};
use crate::app::App;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::gateway::{Credential, Principal};
use crate::memory::fields::Fields;
use crate::memory::request::{decode, invalid_body};
use crate::service::intake::NewWrite;
use crate::service::retrieval::ReplyBudget;

/// A permit under the limit of concurrent retrievals. Empty for requests that are not retrievals.
#[derive(Default)]
pub struct RetrievalSlot(Mutex<Option<Box<dyn Any + Send>>>);

impl RetrievalSlot {
    /// Holds a permit, which is returned when it is dropped.
    pub fn hold(&self, permit: impl Any + Send) {
        *self.0.lock() = Some(Box::new(permit));
    }

    /// Returns the permit before the request ends, once the retrieval itself is done.
    pub fn release(&self) {
        drop(self.0.lock().take());
    }
}

/// A request, with or without a credential.
pub struct RouteRequest {
    /// The parts of the service.
    pub app: Arc<App>,
    /// Parameters of the path, decoded, in order.
    pub parameters: Vec<String>,
    /// The query string.
    pub query: QueryString,
    /// Names in query and body that the route does not know.
    pub unknown: UnknownNames,
    /// The headers.
    pub headers: HeaderMap,
    /// The body; empty where the route takes none.
    pub body: Bytes,
    /// The request's permit under the limit of concurrent retrievals.
    pub retrieval_slot: Arc<RetrievalSlot>,
    /// Room for the memories of the reply.
    pub reply_budget: ReplyBudget,
}

/// A request and its caller.
pub struct AuthenticatedRequest {
    /// The request.
    pub request: RouteRequest,
    /// The caller.
    pub principal: Principal,
}

impl std::ops::Deref for AuthenticatedRequest {
    type Target = RouteRequest;

    fn deref(&self) -> &RouteRequest {
        &self.request
    }
}

impl RouteRequest {
    /// Returns a path parameter by its position; empty where the path has fewer.
    pub fn parameter(&self, position: usize) -> &str {
        match self.parameters.get(position) {
            Some(parameter) => parameter.as_str(),
            None => "",
        }
    }

    /// Returns the text of a header; empty where the header is absent or not text.
    pub fn header(&self, name: &str) -> &str {
        match self.headers.get(name).map(HeaderValue::to_str) {
            Some(Ok(text)) => text,
            _ => "",
        }
    }

    /// Checks the names in the body, a JSON object, against those that the route knows, and decodes it.
    pub fn json<T: DeserializeOwned + Fields>(&self) -> Result<T> {
        if self.body.is_empty() {
            return Err(invalid_body("the body is empty: send a JSON object"));
        }
        self.unknown.check_body(&self.body)?;
        decode(&self.body)
    }

    /// Fails unless the body is the bytes of a file. A form would be stored with its boundaries and headers.
    pub fn require_file(&self) -> Result<()> {
        if self.body.is_empty() {
            return Err(invalid_body("the body is empty: send the file's bytes"));
        }
        let media_type = self.header("content-type");
        if media_type.get(..10).is_some_and(|start| start.eq_ignore_ascii_case("multipart/")) {
            let message = "the body is a multipart form: send the file's bytes alone, with curl --data-binary @FILE";
            return Err(invalid_body(message));
        }
        Ok(())
    }
}

impl AuthenticatedRequest {
    /// Returns the caller's account.
    pub fn account(&self) -> &AccountId {
        &self.principal.account
    }

    /// Returns who sends the writes of this request.
    pub fn sender(&self) -> WriteSender {
        match &self.principal.credential {
            Credential::Key { id, .. } => WriteSender::Key { id: id.clone() },
            Credential::Session { email } => WriteSender::Session { email: email.clone() },
        }
    }

    /// Returns a write that the caller sends.
    pub fn sent(&self, work: QueuedWork) -> NewWrite {
        NewWrite { work, sender: Some(self.sender()) }
    }

    /// Returns the namespace of a read: the `namespace` of the query, else the credential's own.
    pub fn read_namespace(&self) -> Result<NamespaceName> {
        self.readable_namespace(self.query.last("namespace"))
    }

    /// Returns the name of a namespace that the caller may read.
    pub fn readable_namespace(&self, name: Option<&str>) -> Result<NamespaceName> {
        match select_namespace(self.principal.scope(), name)? {
            Selection::Allowed(name) => Ok(name),
            Selection::Refused(scope) => {
                let message = format!("this key can only read namespace {scope:?}");
                Err(Error::forbidden(ErrorCode::ForbiddenNamespace, message))
            }
        }
    }

    /// Returns the namespaces of a search: those that `namespace` of the query names, else the credential's own.
    pub fn read_namespaces(&self) -> Result<Vec<NamespaceName>> {
        self.readable_namespaces(NamedNamespaces::of_query(&self.query).as_ref())
    }

    /// Returns the names of the namespaces that a request searches, at least one and each once.
    ///
    /// # Errors
    ///
    /// `invalid_namespace` for an empty list, for more than [`NAMESPACES_MAX`] names, and for a text that is not a
    /// name; `forbidden_namespace` for a namespace that the caller may not read. With several names, an error that
    /// concerns one of them is an [`Error::InNamespace`].
    pub(super) fn readable_namespaces(&self, named: Option<&NamedNamespaces>) -> Result<Vec<NamespaceName>> {
        let Some(named) = named else { return Ok(vec![self.readable_namespace(None)?]) };
        match named.names() {
            [] => {
                let message = "namespace: the list is empty: send at least one name, or leave namespace out";
                return Err(Error::invalid(ErrorCode::InvalidNamespace, message));
            }
            [name] => return Ok(vec![self.readable_namespace(Some(name))?]),
            names if names.len() > NAMESPACES_MAX => {
                let message = format!("namespace: more than {NAMESPACES_MAX} names, the maximum per request");
                return Err(Error::invalid(ErrorCode::InvalidNamespace, message));
            }
            _ => {}
        }
        let mut namespaces = Vec::with_capacity(named.names().len());
        for name in named.names() {
            match self.readable_namespace(Some(name)) {
                Ok(namespace) => namespaces.push(namespace),
                Err(error) => return Err(error.in_namespace(name)),
            }
        }
        Ok(namespaces)
    }

    /// Returns the name of a namespace that the caller may write to, whether it exists or not.
    pub fn writable_name(&self, name: Option<&str>) -> Result<NamespaceName> {
        match select_namespace(self.principal.scope(), name)? {
            Selection::Allowed(name) => Ok(name),
            Selection::Refused(scope) => {
                let message = format!("this key can only write to namespace {scope:?}");
                Err(Error::invalid(ErrorCode::InvalidNamespace, message))
            }
        }
    }

    /// Returns an existing namespace that the caller may write to.
    pub fn writable_namespace(&self, name: Option<&str>) -> Result<NamespaceRecord> {
        self.app.namespaces.existing(self.account(), &self.writable_name(name)?)
    }

    /// Returns the namespace of a write: the `namespace` of the query, else the credential's own.
    pub fn write_namespace(&self) -> Result<NamespaceRecord> {
        self.writable_namespace(self.query.last("namespace"))
    }
}
