//! `POST /v1/memories`: checks a conversation and accepts it for ingestion.

use cuebase_storage::records::QueuedWork;
use serde_json::{Map, Value};

use super::reply::Reply;
use super::request::AuthenticatedRequest;
use crate::error::{Error, Result};
use crate::memory::request::{conversation, text};

/// `POST /v1/memories`. All checks are done before the `202`; after it the write is durable.
pub fn remember(request: &AuthenticatedRequest) -> Result<Reply> {
    let body: Map<String, Value> = request.json()?;
    let name = request.writable_name(text(&body, "namespace")?)?;
    let conversation = conversation(&body)?;
    let service = &request.service;
    let namespace = service.namespaces.existing(request.account(), &name)?;
    let id = service.write_recreating_default(&namespace, |namespace| {
        let queued = serde_json::to_value(&conversation).map_err(Error::internal)?;
        service.accept(namespace, QueuedWork::Conversation { request: queued }, Some(&request.body), &[])
    })?;
    Reply::accepted(id, &name)
}
