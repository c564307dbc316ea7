//! Validates the JSON of a request and converts it to the service's values: conversations, times, text fields.
//!
//! An error names the field. Imports and the evaluation read conversations with the same functions as the API. Start
//! with [`conversation`].

use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::{tags, time};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::conversation::{Conversation, Message, Moment, Role};

/// Characters of a session id or a speaker's name.
const NAME_CHARS_MAX: usize = 256;

/// The end of an error about a time: what is wrong, and the accepted forms.
const INVALID_TIME: &str = "is not a valid time: use RFC 3339, YYYY-MM-DD, a datetime without offset, or epoch seconds";

/// Validates the conversation of a request.
pub fn conversation(body: &Map<String, Value>) -> Result<Conversation> {
    // Only the size of the body limits the number of messages.
    let values = entries(body, "messages", ErrorCode::NoMessages, (usize::MAX, ErrorCode::TooManyMessages))?;
    let timezone = text(body, "timezone")?;
    let zone = match timezone {
        Some(name) => zone(name)?,
        None => TimeZone::UTC,
    };
    let mut messages = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        match message(value, &zone) {
            Ok(message) => messages.push(message),
            Err(reason) => return Err(invalid_body(format!("messages[{index}]: {reason}"))),
        }
    }
    let occurred_at = occurred(body, &zone)?;
    let session_id = session_id(body)?;
    let tags = tags::check("tags", body.get("tags"))?;
    Ok(Conversation { messages, session_id, tags, occurred_at, timezone: timezone.map(str::to_owned) })
}

fn message(value: &Value, zone: &TimeZone) -> Result<Message, String> {
    let message = value.as_object().ok_or("must be an object")?;
    let role = match message.get("role").and_then(Value::as_str) {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        Some("tool") => Role::Tool,
        _ => return Err("role must be user, assistant, system or tool".into()),
    };
    let (text, references) = content(message.get("content"))?;
    let name = match message.get("name") {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) if name.trim().is_empty() => None,
        Some(Value::String(name)) if is_short_line(name) => Some(name.trim().to_owned()),
        Some(_) => return Err(format!("name must be text of at most {NAME_CHARS_MAX} characters on one line")),
    };
    let occurred_at = match message.get("occurred_at") {
        None | Some(Value::Null) => None,
        Some(value) => {
            let Some(moment) = moment(value, zone) else { return Err(format!("occurred_at: {value} {INVALID_TIME}")) };
            Some(moment)
        }
    };
    Ok(Message { role, name, text, references, occurred_at })
}

/// Reads the content of a message: text, or a list of parts. Returns the text parts, joined by blank lines, and the
/// other parts as received.
pub fn content(value: Option<&Value>) -> Result<(String, Vec<Value>), String> {
    match value {
        Some(Value::String(text)) => Ok((text.clone(), Vec::new())),
        Some(Value::Array(parts)) => {
            let (mut texts, mut references) = (Vec::new(), Vec::new());
            for (index, part) in parts.iter().enumerate() {
                let kind = part.get("type").and_then(Value::as_str);
                match (kind, part.get("text")) {
                    (Some("text"), Some(Value::String(text))) => texts.push(text.as_str()),
                    (Some("text"), _) => return Err(format!("content[{index}]: a text part needs text")),
                    (Some("media"), _) if part.get("id").and_then(Value::as_str).is_none() => {
                        return Err(format!("content[{index}]: a media part needs the id of an upload"));
                    }
                    (Some(_), _) => references.push(part.clone()),
                    (None, _) => return Err(format!("content[{index}]: a part needs a type")),
                }
            }
            Ok((texts.join("\n\n"), references))
        }
        _ => Err("content must be text or a list of parts".into()),
    }
}

fn moment(value: &Value, zone: &TimeZone) -> Option<Moment> {
    time::parse_json(value, zone)?.moment()
}

/// Reads `occurred_at`, or its former name `date`. Both are validated.
pub fn occurred(body: &Map<String, Value>, zone: &TimeZone) -> Result<Option<Moment>> {
    let date = moment_field(body, "date", zone)?;
    Ok(moment_field(body, "occurred_at", zone)?.or(date))
}

/// Reads a time field in any of the accepted forms; `None` for a missing field and for null.
pub fn moment_field(body: &Map<String, Value>, name: &str, zone: &TimeZone) -> Result<Option<Moment>> {
    let Some(value) = body.get(name).filter(|value| !value.is_null()) else { return Ok(None) };
    match moment(value, zone) {
        Some(moment) => Ok(Some(moment)),
        None => Err(Error::invalid(ErrorCode::InvalidTime, format!("{name}: {value} {INVALID_TIME}"))),
    }
}

fn session_id(body: &Map<String, Value>) -> Result<Option<String>> {
    match text(body, "session_id")? {
        Some(id) if !is_short_line(id) => {
            Err(invalid_body(format!("session_id must be at most {NAME_CHARS_MAX} characters on one line")))
        }
        id => Ok(id.map(str::to_owned)),
    }
}

/// Returns whether a text is on one line and within [`NAME_CHARS_MAX`].
fn is_short_line(text: &str) -> bool {
    text.chars().count() <= NAME_CHARS_MAX && !text.chars().any(char::is_control)
}

/// Reads a text field of a body; `None` for a missing field and for null.
pub fn text<'a>(body: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        // The error of an invalid namespace name.
        Some(_) if name == "namespace" => Err(Error::invalid(ErrorCode::InvalidNamespace, "namespace must be text")),
        Some(_) => Err(invalid_body(format!("{name} must be text"))),
    }
}

/// Returns the entries of an array field. The array must have between one and `entries_max` entries; `empty` and
/// `too_many` are the error codes of arrays with fewer or more.
pub fn entries<'a>(
    body: &'a Map<String, Value>,
    name: &str,
    empty: ErrorCode,
    (entries_max, too_many): (usize, ErrorCode),
) -> Result<&'a [Value]> {
    let entries = match body.get(name) {
        None | Some(Value::Null) => &[],
        Some(Value::Array(entries)) => entries.as_slice(),
        Some(_) => return Err(invalid_body(format!("{name} must be an array"))),
    };
    if entries.is_empty() {
        return Err(Error::invalid(empty, format!("{name} is empty: send at least one")));
    }
    if entries.len() > entries_max {
        let message = format!("{} {name}: at most {entries_max} are accepted at once", entries.len());
        return Err(Error::TooLarge { code: too_many, message });
    }
    Ok(entries)
}

/// Returns the error of an invalid body.
pub fn invalid_body(message: impl Into<String>) -> Error {
    Error::invalid(ErrorCode::InvalidBody, message)
}

/// Returns a time zone by its IANA name.
pub fn zone(name: &str) -> Result<TimeZone> {
    match TimeZone::get(name) {
        Ok(zone) => Ok(zone),
        Err(_) => {
            let message = format!("timezone: {name:?} is not an IANA time zone; use a name such as Europe/Paris");
            Err(Error::invalid(ErrorCode::InvalidTimezone, message))
        }
    }
}
