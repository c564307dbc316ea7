//! The pets API: a small, complete template API, independent of the rest of the service and on a separate listener.
//!
//! Pets belong to an account and to the environment of its key: `live` is production, `test` is staging. Errors have
//! the fields `code`, `message` and `status`. The records call a pet an animal: [`Animals`] has them.

use cuebase_storage::AccountId;
use cuebase_storage::records::{AnimalRecord, AnimalStatus, Environment};
use hyper::header::{HeaderName, LINK, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Method, StatusCode};
use serde_json::{Map, Value, json};
use strum::VariantArray;

use crate::api::Reply;
use crate::api::error::BEARER_CHALLENGE;
use crate::api::query::QueryString;
use crate::error_codes::ErrorCode;
use crate::service::animals::Animals;

/// Pets in a list if the request has no limit.
const LIMIT_DEFAULT: usize = 20;
/// Pets in a list, at most.
const LIMIT_MAX: usize = 100;
/// Characters of a name, at most.
const NAME_CHARS_MAX: usize = 200;
/// When `GET /pets/{petId}` will be removed (RFC 8594).
const SUNSET: &str = "Thu, 05 Dec 2030 00:00:00 GMT";
/// Since when the route is deprecated (RFC 9745).
const DEPRECATION: &str = "@1764892800";
/// The route that replaces it.
const SUCCESSOR: &str = "</v1/pets>; rel=\"successor-version\"";

/// The handlers of the pets API.
pub struct Pets {
    animals: Animals,
}

/// An error of the pets API.
#[derive(Debug, PartialEq, Eq)]
pub struct PetError {
    status: StatusCode,
    code: &'static str,
    message: String,
}

impl PetError {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { status: code.status(), code: code.as_str(), message: message.into() }
    }

    fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotFound, message)
    }

    /// The credential is missing or not valid.
    pub fn unauthorized() -> Self {
        let message = "send a valid API key: Authorization: Bearer svc_…".to_owned();
        Self { status: StatusCode::UNAUTHORIZED, code: "unauthorized", message }
    }

    /// The body did not arrive in time, or is too large.
    pub fn unreadable() -> Self {
        Self::new(ErrorCode::InvalidBody, "the body could not be read: it must be a JSON object that arrives in time")
    }

    /// Returns the reply to an account that exceeds its rate limit. `seconds` is the time until its next request is
    /// accepted.
    pub fn rate_limited(seconds: u64) -> Reply {
        let message = format!("too many requests: try again in {seconds} s");
        Self::new(ErrorCode::RateLimited, message).reply().with(RETRY_AFTER, &seconds.to_string())
    }

    /// Returns the reply to a request for which no slot is free.
    pub fn unavailable() -> Reply {
        let message = "too many requests at once: try again in a second".to_owned();
        let error = Self { status: StatusCode::SERVICE_UNAVAILABLE, code: "unavailable", message };
        error.reply().with(RETRY_AFTER, "1")
    }

    /// The server failed.
    pub fn internal() -> Self {
        Self::new(ErrorCode::Internal, "the server failed to process the request; it is safe to try again")
    }

    /// Returns the HTTP reply.
    pub fn reply(&self) -> Reply {
        let body = json!({"code": self.code, "message": self.message, "status": self.status.as_u16()});
        let reply = Reply::new(self.status, body.to_string());
        match self.status {
            StatusCode::UNAUTHORIZED => reply.with(WWW_AUTHENTICATE, BEARER_CHALLENGE),
            _ => reply,
        }
    }
}

impl From<cuebase_storage::Error> for PetError {
    fn from(error: cuebase_storage::Error) -> Self {
        tracing::error!(%error, "internal error of the pets API");
        Self::internal()
    }
}

/// A request of an account in an environment.
pub struct PetRequest<'a> {
    /// The key's account.
    pub account: &'a AccountId,
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
    /// Makes the handlers of animals.
    pub fn new(animals: Animals) -> Self {
        Self { animals }
    }

    /// Answers a request. Blocking.
    pub fn answer(&self, request: &PetRequest<'_>) -> Reply {
        let id = request.path.strip_prefix("/v1/pets/").filter(|id| !id.is_empty() && !id.contains('/'));
        let outcome = match (request.method, request.path, id) {
            (&Method::GET, "/v1/pets", _) => self.list(request),
            (&Method::POST, "/v1/pets", _) => self.create(request),
            (&Method::GET, _, Some(id)) => self.get(request, id),
            _ => Err(PetError::not_found("the route does not exist")),
        };
        let reply = outcome.unwrap_or_else(|error| error.reply());
        if id.is_some() { deprecated(reply) } else { reply }
    }

    fn create(&self, request: &PetRequest<'_>) -> Result<Reply, PetError> {
        let animal = parse_animal(request.body)?;
        let added = self.animals.add(request.account, request.environment, animal)?;
        Ok(reply(StatusCode::CREATED, &to_json(&added)))
    }

    fn list(&self, request: &PetRequest<'_>) -> Result<Reply, PetError> {
        let limit = match request.query.last("limit") {
            Some(text) => parse_limit(text)?,
            None => LIMIT_DEFAULT,
        };
        let status = match request.query.last("status") {
            Some(status) => Some(parse_status(status)?),
            None => None,
        };
        let animals = self.animals.list(request.account, request.environment, status, limit)?;
        Ok(reply(StatusCode::OK, &animals.iter().map(to_json).collect()))
    }

    fn get(&self, request: &PetRequest<'_>, id: &str) -> Result<Reply, PetError> {
        let mut animal = None;
        if let Ok(number) = id.parse() {
            animal = self.animals.get(request.account, request.environment, number)?;
        }
        match animal {
            Some(animal) => Ok(reply(StatusCode::OK, &to_json(&animal))),
            None => Err(PetError::not_found(format!("pet {id:?} does not exist"))),
        }
    }
}

fn parse_limit(text: &str) -> Result<usize, PetError> {
    match text.parse() {
        Ok(limit) if (1..=LIMIT_MAX).contains(&limit) => Ok(limit),
        _ => {
            let message = format!("limit: {text:?} is not a whole number from 1 to {LIMIT_MAX}");
            Err(PetError::new(ErrorCode::InvalidLimit, message))
        }
    }
}

/// Adds the headers that announce the removal of the route.
fn deprecated(reply: Reply) -> Reply {
    let (deprecation, sunset) = (HeaderName::from_static("deprecation"), HeaderName::from_static("sunset"));
    reply.with(deprecation, DEPRECATION).with(sunset, SUNSET).with(LINK, SUCCESSOR)
}

/// Parses a pet. Its number is assigned when it is added.
fn parse_animal(body: &[u8]) -> Result<AnimalRecord, PetError> {
    let body: Map<String, Value> = match serde_json::from_slice(body) {
        Ok(body) => body,
        Err(error) => {
            return Err(PetError::new(ErrorCode::InvalidBody, format!("the body must be a JSON object: {error}")));
        }
    };
    let name = body.get("name").and_then(Value::as_str).unwrap_or_default().trim();
    if name.is_empty() {
        return Err(PetError::new(ErrorCode::InvalidBody, "name is missing: it must be text"));
    }
    if name.chars().count() > NAME_CHARS_MAX || name.chars().any(char::is_control) {
        let message = format!("name must be at most {NAME_CHARS_MAX} characters on one line");
        return Err(PetError::new(ErrorCode::InvalidBody, message));
    }
    let Some(category_id) = body.get("categoryId").and_then(Value::as_i64) else {
        return Err(PetError::new(ErrorCode::InvalidBody, "categoryId is missing: it must be a whole number"));
    };
    let status = match body.get("status") {
        None | Some(Value::Null) => None,
        Some(Value::String(status)) => Some(parse_status(status)?),
        Some(_) => return Err(PetError::new(ErrorCode::InvalidStatus, "status must be text")),
    };
    Ok(AnimalRecord { id: 0, name: name.to_owned(), category_id, status })
}

fn parse_status(text: &str) -> Result<AnimalStatus, PetError> {
    if let Ok(status) = text.parse() {
        return Ok(status);
    }
    let names: Vec<&str> = AnimalStatus::VARIANTS.iter().map(std::convert::Into::into).collect();
    let message = format!("status: {text:?} is not one of {}", names.join(", "));
    Err(PetError::new(ErrorCode::InvalidStatus, message))
}

fn to_json(animal: &AnimalRecord) -> Value {
    let mut json = json!({"id": animal.id, "name": animal.name, "categoryId": animal.category_id});
    if let Some(status) = &animal.status {
        json["status"] = json!(status);
    }
    json
}

fn reply(status: StatusCode, body: &Value) -> Reply {
    Reply::new(status, body.to_string())
}
