//! `/v1/sources`: accepted conversations, kept after ingestion.

use super::query::{PageSize, QueryString};
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::views::DeletedView;
use super::views::sources::{SourceMessagesView, SourceView, SourcesView};
use crate::error::Result;
use crate::service::sources::SourceFilter;

/// Sources in a page.
const PAGE: PageSize = PageSize { default: 50, max: 200 };

/// `GET /v1/sources`.
pub fn list(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.read_namespace()?;
    let ListQuery { limit, filter } = ListQuery::of(&request.query)?;
    let records = request.app.conversations.sources(request.account(), &namespace, filter, limit)?;
    let mut sources = Vec::with_capacity(records.len());
    for record in &records {
        sources.push(SourceView::of(record, &namespace));
    }
    Reply::ok(&SourcesView { namespace: &namespace, sources })
}

/// `GET /v1/sources/{id}`.
pub fn get(request: &AuthenticatedRequest) -> Result<Reply> {
    let name = request.read_namespace()?;
    let namespace = request.app.namespaces.existing(request.account(), &name)?;
    let source = request.app.conversations.source(&namespace, request.parameter(0))?;
    let extracted = request.app.conversations.source_memories(&namespace, source.id)?;
    Reply::ok(&SourceMessagesView {
        id: source.id,
        namespace: &name,
        conversation: source.body(),
        memories: extracted.iter().map(|memory| memory.path.as_str()).collect(),
        extracted: &extracted,
    })
}

/// `DELETE /v1/sources/{id}`.
pub fn delete(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.write_namespace()?;
    let id = request.app.conversations.delete_source(&namespace, request.parameter(0))?;
    Reply::ok(&DeletedView::new(id.to_string()))
}

/// The query of `GET /v1/sources`.
struct ListQuery<'a> {
    /// Sources in the page.
    limit: usize,
    filter: SourceFilter<'a>,
}

impl<'a> ListQuery<'a> {
    fn of(query: &'a QueryString) -> Result<Self> {
        let limit = query.page_limit(PAGE)?;
        Ok(Self {
            limit,
            filter: SourceFilter { session_id: query.get("session_id"), before: query.before("source")? },
        })
    }
}
