//! The template animals API: small, complete, and apart from everything else, on a listener of its own.
//!
//! Animals belong to an account and to the environment of the key: `live` is production, `test` is staging. Errors have
//! a shape of their own: `code`, `message`, `status`.

use cuebase_storage::records::AnimalRecord;
use hyper::header::{HeaderName, LINK, RETRY_AFTER};
use hyper::{Method, StatusCode};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::accounts::credentials::Environment;
use crate::api::Reply;
use crate::api::query::QueryString;
use crate::service::Service;

/// The states of an animal.
const STATES: [&str; 3] = ["available", "pending", "sold"];
/// Animals of a listing when no limit is given, and at most.
const LISTED: (usize, usize) = (20, 100);
/// Characters of a name.
const NAME_CHARS_MAX: usize = 200;
/// When `GET /pets/{petId}` goes, and since when that is said (RFC 8594 and RFC 9745).
const SUNSET: &str = "Thu, 05 Dec 2030 00:00:00 GMT";
const DEPRECATION: &str = "@1764892800";
const SUCCESSOR: &str = "</v1/pets>; rel=\"successor-version\"";

/// The animals API.
#[derive(Default)]
pub struct Pets {
    /// Held around giving out a number.
    adding: Mutex<()>,
}

/// An error of this API.
#[derive(Debug, PartialEq, Eq)]
pub struct PetError {
    status: StatusCode,
    code: &'static str,
    message: String,
}

impl PetError {
    fn bad(code: &'static str, message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, code, message: message.into() }
    }

    fn not_found(message: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, code: "not_found", message: message.into() }
    }

    /// No credential, or one that is not good.
    pub fn unauthorized() -> Self {
        let message = "send a good API key: Authorization: Bearer svc_…".to_owned();
        Self { status: StatusCode::UNAUTHORIZED, code: "unauthorized", message }
    }

    /// A body that did not arrive, or is too large.
    pub fn unreadable() -> Self {
        Self::bad("invalid_body", "the body could not be read: it must be a JSON object that arrives in time")
    }

    /// The reply to one request too many of an account, with the seconds until the next one is taken.
    pub fn rate_limited(seconds: u64) -> Reply {
        let message = format!("too many requests of this account: try again in {seconds} s");
        let error = Self { status: StatusCode::TOO_MANY_REQUESTS, code: "rate_limited", message };
        error.reply().with(RETRY_AFTER, &seconds.to_string())
    }

    /// Our fault.
    pub fn internal() -> Self {
        let message = "something failed on our side; it is safe to try again".to_owned();
        Self { status: StatusCode::INTERNAL_SERVER_ERROR, code: "internal", message }
    }

    /// As HTTP.
    pub fn reply(&self) -> Reply {
        let body = json!({"code": self.code, "message": self.message, "status": self.status.as_u16()});
        Reply { status: self.status, headers: Vec::new(), body: body.to_string().into() }
    }
}

impl From<cuebase_storage::Error> for PetError {
    fn from(error: cuebase_storage::Error) -> Self {
        tracing::error!(%error, "internal failure of the animals API");
        Self::internal()
    }
}

/// A request of an account, in an environment.
pub struct PetRequest<'a> {
    /// The service.
    pub service: &'a Service,
    /// The key's account.
    pub account: &'a str,
    /// The key's environment.
    pub environment: Environment,
    /// The method.
    pub method: &'a Method,
    /// The path.
    pub path: &'a str,
    /// The query string.
    pub query: &'a QueryString,
    /// The body.
    pub body: &'a [u8],
}

impl Pets {
    /// Answers a request. Blocks.
    pub fn answer(&self, request: &PetRequest<'_>) -> Reply {
        let pet = request.path.strip_prefix("/v1/pets/").filter(|id| !id.is_empty() && !id.contains('/'));
        let outcome = match (request.method, request.path, pet) {
            (&Method::GET, "/v1/pets", _) => list(request),
            (&Method::POST, "/v1/pets", _) => self.create(request),
            (&Method::GET, _, Some(id)) => get(request, id).map(deprecated),
            _ => Err(PetError::not_found("there is no such route")),
        };
        outcome.unwrap_or_else(|error| if pet.is_some() { deprecated(error.reply()) } else { error.reply() })
    }

    fn create(&self, request: &PetRequest<'_>) -> Result<Reply, PetError> {
        let animal = checked(request.body)?;
        let _held = self.adding.lock();
        let added = request.service.store.add_animal(request.account, request.environment.name(), animal)?;
        Ok(reply(StatusCode::CREATED, &shown(&added)))
    }
}

fn list(request: &PetRequest<'_>) -> Result<Reply, PetError> {
    let (default, most) = LISTED;
    let limit = match request.query.last("limit") {
        None => default,
        Some(text) => text.parse().ok().filter(|limit| (1..=most).contains(limit)).ok_or_else(|| {
            PetError::bad("invalid_limit", format!("limit: {text:?} is no whole number from 1 to {most}"))
        })?,
    };
    let status = request.query.last("status");
    if let Some(status) = status {
        check_status(status)?;
    }
    let animals = request.service.store.animals(request.account, request.environment.name(), status, limit)?;
    Ok(reply(StatusCode::OK, &animals.iter().map(shown).collect()))
}

fn get(request: &PetRequest<'_>, id: &str) -> Result<Reply, PetError> {
    let missing = || PetError::not_found(format!("there is no animal {id:?}"));
    let number = id.parse().map_err(|_| missing())?;
    let found = request.service.store.animal(request.account, request.environment.name(), number)?;
    Ok(reply(StatusCode::OK, &shown(&found.ok_or_else(missing)?)))
}

/// The announcement that a route will go.
fn deprecated(reply: Reply) -> Reply {
    let (deprecation, sunset) = (HeaderName::from_static("deprecation"), HeaderName::from_static("sunset"));
    reply.with(deprecation, DEPRECATION).with(sunset, SUNSET).with(LINK, SUCCESSOR)
}

/// An animal as a client sent it; its number is given out later.
fn checked(body: &[u8]) -> Result<AnimalRecord, PetError> {
    let body: Map<String, Value> = serde_json::from_slice(body)
        .map_err(|error| PetError::bad("invalid_body", format!("the body must be a JSON object: {error}")))?;
    let name = body.get("name").and_then(Value::as_str).map(str::trim).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| PetError::bad("invalid_body", "name is missing: it must be text"))?;
    if name.chars().count() > NAME_CHARS_MAX || name.chars().any(char::is_control) {
        let message = format!("name must be at most {NAME_CHARS_MAX} characters on one line");
        return Err(PetError::bad("invalid_body", message));
    }
    let category_id = body.get("categoryId").and_then(Value::as_i64);
    let category_id =
        category_id.ok_or_else(|| PetError::bad("invalid_body", "categoryId is missing: it must be a whole number"))?;
    let status = match body.get("status") {
        None | Some(Value::Null) => None,
        Some(Value::String(status)) => Some(check_status(status)?),
        Some(_) => return Err(PetError::bad("invalid_status", "status must be text")),
    };
    Ok(AnimalRecord { id: 0, name: name.to_owned(), category_id, status: status.map(str::to_owned) })
}

fn check_status(status: &str) -> Result<&str, PetError> {
    if STATES.contains(&status) {
        return Ok(status);
    }
    Err(PetError::bad("invalid_status", format!("status: {status:?} is none of {}", STATES.join(", "))))
}

fn shown(animal: &AnimalRecord) -> Value {
    let mut shown = json!({"id": animal.id, "name": animal.name, "categoryId": animal.category_id});
    if let Some(status) = &animal.status {
        shown["status"] = json!(status);
    }
    shown
}

fn reply(status: StatusCode, body: &Value) -> Reply {
    Reply { status, headers: Vec::new(), body: body.to_string().into() }
}
