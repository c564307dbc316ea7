//! Reads the JSON of a request into the values that the service works with: conversations, times, text fields.
//!
//! A failure names the field. The imports and the evaluation read conversations with the same functions as the API.

use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::{tags, time};
use crate::error::{Error, Result};
use crate::memory::conversation::{Conversation, Message, Moment, Role};

/// Longest session id and speaker's name, in characters.
const NAME_CHARS_MAX: usize = 256;

const TIME_FORMS: &str = "is no time: use RFC 3339, YYYY-MM-DD, a datetime without offset, or epoch seconds";

/// Checks a request's conversation.
pub fn conversation(body: &Map<String, Value>) -> Result<Conversation> {
    // How many is bounded by the body's size alone.
    let messages = entries(body, "messages", "no_messages", (usize::MAX, "too_many_messages"))?;
    let timezone = text(body, "timezone")?;
    let zone = timezone.map_or(Ok(TimeZone::UTC), zone)?;
    let read = |(index, value): (usize, &Value)| {
        message(value, &zone).map_err(|reason| invalid_body(format!("messages[{index}]: {reason}")))
    };
    let messages = messages.iter().enumerate().map(read).collect::<Result<Vec<Message>>>()?;
    let occurred_at = occurred(body, &zone)?;
    Ok(Conversation {
        messages,
        session_id: text(body, "session_id")?.map(|id| bounded("session_id", id)).transpose()?,
        tags: tags::check("tags", body.get("tags"))?,
        occurred_at,
        timezone: timezone.map(str::to_owned),
    })
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
        Some(Value::String(name)) if name.chars().count() <= NAME_CHARS_MAX && !name.chars().any(char::is_control) => {
            Some(name.trim().to_owned())
        }
        Some(_) => return Err(format!("name must be text of at most {NAME_CHARS_MAX} characters on one line")),
    };
    let occurred_at = match message.get("occurred_at").filter(|value| !value.is_null()) {
        Some(value) => Some(moment(value, zone).ok_or(format!("occurred_at: {value} {TIME_FORMS}"))?),
        None => None,
    };
    Ok(Message { role, name, text, references, occurred_at })
}

/// Text, or a list of parts: the text parts are joined, the others kept by reference.
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

/// `occurred_at`, or `date` as it was called once; both are checked.
pub fn occurred(body: &Map<String, Value>, zone: &TimeZone) -> Result<Option<Moment>> {
    let date = moment_field(body, "date", zone)?;
    Ok(moment_field(body, "occurred_at", zone)?.or(date))
}

/// A field that holds a time, in any of the forms that callers write.
pub fn moment_field(body: &Map<String, Value>, name: &str, zone: &TimeZone) -> Result<Option<Moment>> {
    let Some(value) = body.get(name).filter(|value| !value.is_null()) else { return Ok(None) };
    let moment = moment(value, zone);
    moment.map(Some).ok_or_else(|| Error::invalid("invalid_time", format!("{name}: {value} {TIME_FORMS}")))
}

fn bounded(name: &str, text: &str) -> Result<String> {
    if text.chars().count() > NAME_CHARS_MAX || text.chars().any(char::is_control) {
        return Err(invalid_body(format!("{name} must be at most {NAME_CHARS_MAX} characters on one line")));
    }
    Ok(text.to_owned())
}

/// A text field of a body; null is as if it were not there.
pub fn text<'a>(body: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        // A namespace that is no text is no namespace's name.
        Some(_) if name == "namespace" => Err(Error::invalid("invalid_namespace", "namespace must be text")),
        Some(_) => Err(invalid_body(format!("{name} must be text"))),
    }
}

/// The entries of an array that must hold at least one, and at most so many; each fault has a code of its own.
pub fn entries<'a>(
    body: &'a Map<String, Value>,
    name: &str,
    empty: &'static str,
    (most, too_many): (usize, &'static str),
) -> Result<&'a [Value]> {
    let entries = match body.get(name) {
        None | Some(Value::Null) => &[],
        Some(Value::Array(entries)) => entries.as_slice(),
        Some(_) => return Err(invalid_body(format!("{name} must be an array"))),
    };
    if entries.is_empty() {
        return Err(Error::invalid(empty, format!("{name} is empty: send at least one")));
    }
    if entries.len() > most {
        let message = format!("{} {name}, at most {most} are taken at once", entries.len());
        return Err(Error::TooLarge { code: too_many, message });
    }
    Ok(entries)
}

/// A body that breaks a rule.
pub fn invalid_body(message: impl Into<String>) -> Error {
    Error::invalid("invalid_body", message)
}

/// A time zone by its IANA name.
pub fn zone(name: &str) -> Result<TimeZone> {
    TimeZone::get(name).map_err(|_| {
        Error::invalid("invalid_timezone", format!("timezone: {name:?} is no IANA time zone, such as Europe/Paris"))
    })
}
