//! `/v1/documents`: files that become memories, one per passage.

use cuebase_storage::memory_file::{DocumentId, Metadata};
use cuebase_storage::records::{DocumentDraft, SentTime};
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::future_times::warn_of_time;
use super::query::{PageSize, QueryString};
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::unknown::OCCURRED_AT;
use super::views::documents::{DocumentPassagesView, DocumentsView};
use crate::documents::kind::DocumentKind;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::ingest::documents::id_of_name;
use crate::memory::request::{invalid_body, occurred};
use crate::memory::{metadata, tags};

/// Most characters of a file's name.
pub(super) const NAME_CHARS_MAX: usize = 255;
/// Documents in a page.
const PAGE: PageSize = PageSize { default: 50, max: 200 };

/// `POST /v1/documents`. The file is read before the `202`, so a file that cannot be read is refused at once.
pub fn upload(request: &AuthenticatedRequest) -> Result<Reply> {
    request.require_file()?;
    let query = &request.query;
    let name = file_name(query)?;
    let id = document_id(query, name.as_deref())?;
    let kind = DocumentKind::of(request.header("content-type"), name.as_deref())?;
    let tags = tags::check("tags", Some(query.list("tags")))?;
    let metadata = metadata_of(query)?;
    let sent = query.get(OCCURRED_AT).map(|text| SentTime::Text(text.to_owned()));
    let occurred = occurred(sent.as_ref(), None, &TimeZone::UTC)?;
    warn_of_time(request, OCCURRED_AT, occurred);
    let namespace = request.write_namespace()?;
    // Only the owner reads the file, which may take seconds.
    request.app.namespaces.require_owned(&namespace)?;
    let name = name.unwrap_or_else(|| id.to_string());
    let readers = request.app.intake.document_readers();
    let passages = readers.read(&kind, &name, &request.body, request.account())?;
    let count = passages.len();
    let document = DocumentDraft { id: id.clone(), name, tags, metadata, occurred, passages };
    let write = request.app.intake.accept_document(&namespace, document, Some(request.sender()))?;
    Reply::accepted_document(write, &namespace.name, id, count)
}

/// Returns the name of the file, without the folders that a browser may send with it.
fn file_name(query: &QueryString) -> Result<Option<String>> {
    let Some(sent) = query.get("filename") else { return Ok(None) };
    let name = sent.rsplit(['/', '\\']).next().unwrap_or(sent);
    if name.is_empty() || name.chars().count() > NAME_CHARS_MAX || name.chars().any(char::is_control) {
        return Err(invalid_body(format!("filename must be 1 to {NAME_CHARS_MAX} characters on one line")));
    }
    Ok(Some(name.to_owned()))
}

/// Returns the id that the request gives, else one made of the name of the file.
fn document_id(query: &QueryString, name: Option<&str>) -> Result<DocumentId> {
    if let Some(id) = query.get("document_id") {
        return parse_id(id);
    }
    match name.and_then(id_of_name) {
        Some(id) => Ok(id),
        None => {
            let message = "document_id and filename are missing: send one, so that the next upload replaces this one";
            Err(Error::invalid(ErrorCode::InvalidId, message))
        }
    }
}

fn parse_id(text: &str) -> Result<DocumentId> {
    text.parse().map_err(|error: cuebase_storage::Error| Error::invalid(ErrorCode::InvalidId, error.to_string()))
}

/// Returns the id in the path. No document has an id that is not valid.
fn id_in_path(request: &AuthenticatedRequest) -> Result<DocumentId> {
    let text = request.parameter(0);
    text.parse().map_err(|_| Error::not_found(ErrorCode::NotFound, format!("no document has the id {text}")))
}

fn metadata_of(query: &QueryString) -> Result<Metadata> {
    let Some(text) = query.get("metadata") else { return Ok(Metadata::new()) };
    match serde_json::from_str::<Map<String, Value>>(text) {
        Ok(object) => metadata::check(Some(&object)),
        Err(error) => {
            let message = format!("metadata: must be a JSON object such as {{\"team\":\"ops\"}}: {error}");
            Err(Error::invalid(ErrorCode::InvalidMetadata, message))
        }
    }
}

/// `GET /v1/documents`.
pub fn list(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.read_namespace()?;
    let limit = request.query.page_limit(PAGE)?;
    let after = match request.query.last("after") {
        Some(text) => Some(parse_id(text)?),
        None => None,
    };
    let documents = request.app.reads.documents(request.account(), &namespace, after.as_ref(), limit)?;
    Reply::ok(&DocumentsView { namespace: &namespace, documents })
}

/// `GET /v1/documents/{id}`.
pub fn get(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.read_namespace()?;
    let id = id_in_path(request)?;
    let (document, passages) = request.app.reads.document(request.account(), &namespace, &id)?;
    Reply::ok(&DocumentPassagesView { namespace: &namespace, document, memories: passages })
}

/// `DELETE /v1/documents/{id}`.
pub fn forget(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.write_namespace()?;
    let id = id_in_path(request)?;
    let write = request.app.intake.forget_document(&namespace, id, Some(request.sender()))?;
    Reply::accepted(write, &namespace.name)
}
