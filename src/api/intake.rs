//! `POST /v1/memories`: checks a conversation and accepts it for ingestion.

use cuebase_storage::records::QueuedWork;

use super::future_times::warn_of_conversation;
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use crate::error::Result;
use crate::memory::request::RememberRequest;

/// `POST /v1/memories`. All checks are done before the `202`; after it the write is durable.
pub fn remember(request: &AuthenticatedRequest) -> Result<Reply> {
    let body: RememberRequest = request.json()?;
    let name = request.writable_name(body.namespace.as_deref())?;
    let conversation = body.conversation()?;
    warn_of_conversation(request, &conversation);
    let mut checked = Some(conversation);
    let app = &request.app;
    let id = app.namespaces.with_existing(request.account(), &name, |namespace| {
        let conversation = match checked.take() {
            Some(conversation) => conversation,
            // The first attempt took it. A repetition is rare, so the body is checked again rather than copied.
            None => body.conversation()?,
        };
        let work = QueuedWork::Conversation { request: conversation };
        app.intake.accept(namespace, request.sent(work), Some(&request.body), &[])
    })?;
    Reply::accepted(id, &name)
}
