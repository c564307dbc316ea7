//! `POST /v1/memories`: checks a conversation and accepts it for ingestion.

use cuebase_storage::records::QueuedWork;

use super::reply::Reply;
use super::request::AuthenticatedRequest;
use crate::error::{Error, Result};
use crate::memory::request::RememberRequest;

/// `POST /v1/memories`. All checks are done before the `202`; after it the write is durable.
pub fn remember(request: &AuthenticatedRequest) -> Result<Reply> {
    let body: RememberRequest = request.json()?;
    let name = request.writable_name(body.namespace.as_deref())?;
    let conversation = body.conversation()?;
    let app = &request.app;
    let namespace = app.namespaces.existing(request.account(), &name)?;
    let work = QueuedWork::Conversation { request: conversation };
    let id = match app.intake.accept(&namespace, request.sent(work), Some(&request.body), &[]) {
        // Deleted since its record was read. `default` is created again.
        Err(Error::NamespaceGone) if name.is_default() => {
            let successor = app.namespaces.existing(request.account(), &name)?;
            // The first attempt took the conversation. This case is rare, so it is checked again rather than copied.
            let work = QueuedWork::Conversation { request: body.conversation()? };
            app.intake.accept(&successor, request.sent(work), Some(&request.body), &[])?
        }
        accepted => accepted?,
    };
    Reply::accepted(id, &name)
}
