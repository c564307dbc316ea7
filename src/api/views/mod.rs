//! The JSON bodies of responses, one file per resource.
//!
//! A doc comment of a field is its description in the OpenAPI document ([`super::schema`]). Responses that the service
//! makes as a whole, such as hits, have their types there.

pub mod billing;
pub mod conversations;
pub mod documents;
pub mod errors;
pub mod identity;
pub mod keys;
pub mod media;
pub mod memories;
pub mod namespaces;
pub mod queue;
pub mod skills;
pub mod sources;
pub mod statistics;
pub mod vocabulary;
pub mod writes;

use cuebase_storage::{MessageId, NamespaceName};
use schemars::JsonSchema;
use serde::Serialize;

use super::schema::values;

/// The statuses of a write in a `202`.
const ACCEPTED_STATUSES: [&str; 4] = ["accepted", "queued", "ingesting", "retrying"];

/// The response to a write that is in the queue.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AcceptedView<'a> {
    /// Id of the write.
    #[schemars(with = "values::Id")]
    pub id: MessageId,
    /// Namespace of the write.
    #[schemars(with = "values::Name")]
    pub namespace: &'a NamespaceName,
    /// `accepted`, or the present status of the write if the request waited for it.
    #[schemars(extend("enum" = ACCEPTED_STATUSES))]
    pub status: &'static str,
}

/// The response to a deletion.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedView {
    /// Id of the deleted object.
    #[schemars(with = "values::Id")]
    pub id: String,
    /// Always true.
    #[schemars(extend("const" = true))]
    pub deleted: bool,
}

impl DeletedView {
    /// Makes the response.
    pub fn new(id: String) -> Self {
        Self { id, deleted: true }
    }
}
