//! `POST /v1/memories`: a conversation is checked and accepted.

use cuebase_storage::records::{NamespaceRecord, QueuedWork};
use serde_json::{Map, Value};

use super::{AuthenticatedRequest, Reply};
use crate::error::{Error, Result};
use crate::memory::request::{conversation, text};

/// `POST /v1/memories`. Every rejection comes before the `202`; after it the write is durable.
pub fn remember(call: &AuthenticatedRequest) -> Result<Reply> {
    let body: Map<String, Value> = call.json()?;
    let wanted = text(&body, "namespace")?;
    let name = call.write_name(wanted)?;
    let conversation = conversation(&body)?;
    let namespace = call.service.namespaces.existing(call.account(), &name)?;
    let accept = |namespace: &NamespaceRecord| {
        let request = serde_json::to_value(&conversation).map_err(Error::internal)?;
        call.service.accept(namespace, QueuedWork::Conversation { request }, Some(&call.body), &[])
    };
    let id = call.service.with_default_again(&namespace, accept)?;
    Reply::accepted(&id.to_string(), &name)
}
