//! `GET /v1/memories` and `GET /v1/facets`: memories without a query, in pages and as counts.

use cuebase_retrieval::Currency;

use super::query::{PageSize, QueryString};
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::retrieve::{RetrieveFilter, as_of, currency};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::request::zone_or_utc;
use crate::service::retrieval::{ListingPage, ListingSelection, MemoryOrder};

/// Memories in a page.
const PAGE: PageSize = PageSize { default: 50, max: 200 };
/// Names of the query parameters of `GET /v1/facets`.
pub const FACETS: &[&str] = &[
    "namespace",
    "tiers",
    "paths",
    "tags",
    "tags_all",
    "since",
    "until",
    "time_field",
    "where",
    "timezone",
    "as_of",
    "current",
];
/// Names of the query parameters of `GET /v1/memories`.
pub const MEMORIES: &[&str] = &[
    "namespace",
    "tiers",
    "paths",
    "tags",
    "tags_all",
    "since",
    "until",
    "time_field",
    "where",
    "timezone",
    "as_of",
    "current",
    "order",
    "offset",
    "limit",
    "detail",
];

/// `GET /v1/memories`.
pub fn list(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.read_namespace()?;
    let selection = selection(&request.query)?;
    let page = page(&request.query)?;
    Reply::ok(&request.app.reads.list(request.account(), &namespace, &selection, page)?)
}

/// `GET /v1/facets`.
pub fn facets(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.read_namespace()?;
    let selection = selection(&request.query)?;
    let zone = zone_or_utc(request.query.get("timezone"))?;
    Reply::ok(&request.app.reads.facets(request.account(), &namespace, &selection, &zone)?)
}

/// Returns the memories that the query asks for. Unlike a search, a listing has memories that no longer hold.
fn selection(query: &QueryString) -> Result<ListingSelection> {
    let zone = zone_or_utc(query.get("timezone"))?;
    Ok(ListingSelection {
        filter: RetrieveFilter::of(query).checked(&zone)?,
        as_of: as_of(query.get("as_of"), &zone)?,
        currency: match query.get("current") {
            Some(name) => currency(Some(name))?,
            None => Currency::Any,
        },
    })
}

fn page(query: &QueryString) -> Result<ListingPage> {
    let order = match query.get("order") {
        None | Some("newest") => MemoryOrder::Newest,
        Some("oldest") => MemoryOrder::Oldest,
        Some("title") => MemoryOrder::Title,
        Some(other) => {
            let message = format!("order: {other:?} is not one of newest, oldest, title");
            return Err(Error::invalid(ErrorCode::InvalidParameter, message));
        }
    };
    Ok(ListingPage {
        order,
        offset: query.number("offset", 0..=usize::MAX, ErrorCode::InvalidParameter)?.unwrap_or_default(),
        limit: query.page_limit(PAGE)?,
        full: query.get("detail") == Some("full"),
    })
}
