//! `POST /v1/erase`: accepts a request to erase text for good.

use cuebase_storage::records::ErasureSelection;
use schemars::JsonSchema;
use serde::Deserialize;

use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::schema::values;
use crate::error::Result;
use crate::memory::fields::request_type;
use crate::memory::request::invalid_body;
use crate::service::erasure::ERASED_PATHS_MAX;

request_type! {
    /// The body of `POST /v1/erase`: exactly one of `paths`, `session_id` and `subject`.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[schemars(extend("oneOf" = [
        {"required": ["paths"], "properties": {"paths": {"type": "array"}}},
        {"required": ["session_id"], "properties": {"session_id": {"type": "string"}}},
        {"required": ["subject"], "properties": {"subject": {"type": "string"}}}
    ]))]
    pub(super) struct EraseRequest {
        #[schemars(default, with = "values::WantedName")]
        namespace: Option<String> => InvalidNamespace,
        /// Paths of the memories to erase.
        #[schemars(with = "Option<Vec<values::Path>>", length(min = 1, max = ERASED_PATHS_MAX))]
        paths: Option<Vec<String>>,
        /// Session whose memories and conversations are erased.
        #[schemars(length(min = 1))]
        session_id: Option<String>,
        /// Name of a person or thing. Memories that it stated, or that have a claim about it, are erased.
        #[schemars(regex(pattern = r"\S"))]
        subject: Option<String>,
    }
}

impl EraseRequest {
    fn selection(self) -> Result<ErasureSelection> {
        match (self.paths, self.session_id, self.subject) {
            (Some(paths), None, None) => Ok(ErasureSelection::Paths(paths)),
            (None, Some(session), None) => Ok(ErasureSelection::Session(session)),
            (None, None, Some(subject)) => Ok(ErasureSelection::Subject(subject)),
            _ => Err(invalid_body("send exactly one of paths, session_id and subject")),
        }
    }
}

/// `POST /v1/erase`. After the `202` the request is durable; the text is gone once the write is completed.
pub fn erase(request: &AuthenticatedRequest) -> Result<Reply> {
    let body: EraseRequest = request.json()?;
    let namespace = request.writable_namespace(body.namespace.as_deref())?;
    let id = request.app.intake.accept_erasure(&namespace, body.selection()?, Some(request.sender()))?;
    Reply::accepted(id, &namespace.name)
}
