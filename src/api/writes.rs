//! `/v1/writes`: the state of accepted writes, and the parameter `wait` of requests that are answered when their write is
//! finished.

use std::time::Duration;

use cuebase_storage::NamespaceName;

use super::query::{PageSize, QueryString};
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::views::writes::{WriteView, WritesView};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::gateway::Credential;
use crate::memory::request::invalid_body;
use crate::service::writes::{Write, WriteFilter, WriteStatus};

/// The parameter for the longest time to wait.
pub const WAIT: &str = "wait";
/// The parameter for what to wait for.
pub const WAIT_FOR: &str = "wait_for";
/// Longest time that a request can wait for its write.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// Characters of a refused value that the error shows.
const SHOWN_CHARS_MAX: usize = 40;

/// Writes in a page.
const PAGE: PageSize = PageSize { default: 50, max: 200 };

/// `GET /v1/writes`. A key that is limited to a namespace sees only the writes of its namespace.
pub fn list(request: &AuthenticatedRequest) -> Result<Reply> {
    let query = &request.query;
    let namespace = match (query.last("namespace"), request.principal.scope()) {
        (None, None) => None,
        (name, _) => {
            let name = request.readable_namespace(name)?;
            Some(request.app.namespaces.existing(request.account(), &name)?.id)
        }
    };
    let filter = WriteFilter { namespace, statuses: statuses(query)?, before: query.before("write")? };
    let page = request.app.intake.writes(request.account(), &filter, query.page_limit(PAGE)?)?;
    let mut writes = Vec::with_capacity(page.writes.len());
    for write in &page.writes {
        writes.push(view(request, write));
    }
    Reply::ok(&WritesView { writes, next: page.next })
}

/// Makes the view of a write. Only a session sees its sender, because only a session sees the keys of the account.
fn view<'a>(request: &AuthenticatedRequest, write: &'a Write) -> WriteView<'a> {
    match request.principal.credential {
        Credential::Session { .. } => WriteView::with_sender(write),
        Credential::Key { .. } => WriteView::of(write),
    }
}

/// Returns the statuses that the query asks for; none for all.
fn statuses(query: &QueryString) -> Result<Vec<WriteStatus>> {
    let mut statuses = Vec::new();
    for name in query.list("status") {
        let Some(status) = WriteStatus::named(&name) else {
            let names = WriteStatus::NAMES.join(", ");
            let message = format!("status: {name:?} is not a status of a write: send one or more of {names}");
            return Err(Error::invalid(ErrorCode::InvalidParameter, message));
        };
        statuses.push(status);
    }
    Ok(statuses)
}

/// `GET /v1/writes/{id}`. A key that is limited to a namespace sees only the writes of its namespace.
pub fn show(request: &AuthenticatedRequest) -> Result<Reply> {
    let Ok(id) = request.parameter(0).parse() else { return Err(no_write()) };
    let Some(write) = request.app.intake.write(request.account(), id)? else { return Err(no_write()) };
    if let Some(scope) = request.principal.scope()
        && !is_in_scope(request, scope, &write)?
    {
        return Err(no_write());
    }
    Reply::ok(&view(request, &write))
}

/// Whether a write is one of the namespace that a key is limited to. A write of a deleted namespace is not one of its
/// successor.
fn is_in_scope(request: &AuthenticatedRequest, scope: &NamespaceName, write: &Write) -> Result<bool> {
    if *scope != write.namespace {
        return Ok(false);
    }
    match request.app.namespaces.record(request.account(), scope)? {
        Some(current) => Ok(current.id == write.namespace_id),
        None => Ok(true),
    }
}

fn no_write() -> Error {
    let message = "no write has that id: use the id of a `202` of the last 14 days";
    Error::not_found(ErrorCode::NotFound, message)
}

/// What a request waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitFor {
    /// The end of the write: its memories are found by their words.
    #[default]
    Words,
    /// The vectors of its memories, too.
    Vectors,
}

/// Returns what a request waits for.
///
/// # Errors
///
/// `invalid_parameter` for another value than `words` and `vectors`.
pub fn wait_for(query: &QueryString) -> Result<WaitFor> {
    match query.last(WAIT_FOR) {
        None | Some("words") => Ok(WaitFor::Words),
        Some("vectors") => Ok(WaitFor::Vectors),
        Some(other) => {
            let shown: String = other.chars().take(SHOWN_CHARS_MAX).collect();
            let message = format!("{WAIT_FOR}: {shown:?} is neither `words` nor `vectors`");
            Err(Error::invalid(ErrorCode::InvalidParameter, message))
        }
    }
}

/// Returns how long a request waits for its write; `None` if it does not.
///
/// # Errors
///
/// `invalid_body` for a value that is not a time of up to 30 seconds.
pub fn wait_time(query: &QueryString) -> Result<Option<Duration>> {
    let Some(text) = query.last(WAIT) else { return Ok(None) };
    match parse_wait(text) {
        Some(time) if time <= WAIT_MAX => Ok(Some(time)),
        _ => {
            let shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
            let message = format!(
                "wait: {shown:?} is not a time from 0 to 30 seconds: send seconds (`5`, `5s`, `0.5`) or milliseconds \
                 (`500ms`)"
            );
            Err(invalid_body(message))
        }
    }
}

/// Reads seconds, with `s` or without a unit, or milliseconds with `ms`. Milliseconds have no fraction.
fn parse_wait(text: &str) -> Option<Duration> {
    if let Some(number) = text.strip_suffix("ms") {
        return if is_digits(number) { Some(Duration::from_millis(number.parse().ok()?)) } else { None };
    }
    let number = text.strip_suffix('s').unwrap_or(text);
    let is_number = match number.split_once('.') {
        Some((whole, fraction)) => is_digits(whole) && is_digits(fraction),
        None => is_digits(number),
    };
    if !is_number {
        return None;
    }
    Duration::try_from_secs_f64(number.parse().ok()?).ok()
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(text: &str) -> Result<Option<Duration>> {
        wait_time(&QueryString::parse(&format!("wait={text}")))
    }

    #[test]
    fn a_wait_is_in_seconds_or_milliseconds() {
        for (text, milliseconds) in
            [("5", 5_000), ("5s", 5_000), ("0.5", 500), ("0.25s", 250), ("500ms", 500), ("0", 0), ("30", 30_000)]
        {
            assert_eq!(wait(text).expect("valid"), Some(Duration::from_millis(milliseconds)), "{text}");
        }
        assert_eq!(wait_time(&QueryString::parse("q=1")).expect("valid"), None);
    }

    #[test]
    fn other_waits_are_refused_with_the_accepted_forms() {
        for text in
            ["", "soon", "31", "30.001", "30001ms", "-1", "%2B1", "1e1", ".5", "5.", "0.5ms", "s", "ms", "5m", "NaN"]
        {
            let error = wait(text).expect_err(text);
            assert_eq!(error.response_code(), ErrorCode::InvalidBody, "{text}");
            assert!(error.to_string().contains("`500ms`"), "{text}: {error}");
        }
        let long = "9".repeat(1000);
        assert!(wait(&long).expect_err("too long").to_string().len() < 200);
    }
}
