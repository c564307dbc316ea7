//! `POST /v1/memories`: a conversation is checked and accepted.

use hyper::StatusCode;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::query::zone;
use super::{Call, Reply};
use crate::ingest::conversation::{Conversation, Message, Moment, Role};
use crate::service::namespaces::Namespaces;
use crate::service::{Failure, Outcome};
use crate::tags;
use crate::time;

/// Longest session id and speaker's name, in characters.
const NAME_CHARS_MAX: usize = 256;

/// `POST /v1/memories`. Every rejection comes before the `202`; after it the write is durable.
pub fn remember(call: &Call) -> Outcome<Reply> {
    let body: Map<String, Value> = call.json()?;
    let wanted = text(&body, "namespace")?;
    let namespace = Namespaces::meant(call.principal.scope(), wanted, |own| {
        Failure::invalid("invalid_namespace", format!("this key writes to {own:?} alone"))
    })?;
    let conversation = conversation(&body)?;
    let record = call.service.namespaces.existing(&call.principal.account, &namespace)?;
    let id = call.service.accept(&record, &conversation, &call.body)?;
    Reply::json(StatusCode::ACCEPTED, &json!({"id": id.to_string(), "namespace": namespace, "status": "accepted"}))
}

/// Checks a request's conversation.
pub fn conversation(body: &Map<String, Value>) -> Outcome<Conversation> {
    let messages = match body.get("messages") {
        None | Some(Value::Null) => &Vec::new(),
        Some(Value::Array(messages)) => messages,
        Some(_) => return Err(invalid("messages must be an array")),
    };
    if messages.is_empty() {
        return Err(Failure::invalid("no_messages", "messages is empty: send at least one"));
    }
    let timezone = text(body, "timezone")?;
    let zone = timezone.map_or(Ok(TimeZone::UTC), zone)?;
    let read = |(index, value): (usize, &Value)| {
        message(value, &zone).map_err(|reason| invalid(format!("messages[{index}]: {reason}")))
    };
    let messages = messages.iter().enumerate().map(read).collect::<Outcome<Vec<Message>>>()?;
    let occurred_at = match body.get("occurred_at").filter(|value| !value.is_null()) {
        Some(value) => Some(("occurred_at", value)),
        None => body.get("date").filter(|value| !value.is_null()).map(|value| ("date", value)),
    };
    let occurred_at = occurred_at.map(|(name, value)| {
        moment(value, &zone).ok_or_else(|| Failure::invalid("invalid_time", format!("{name}: {value} {TIME_FORMS}")))
    });
    Ok(Conversation {
        messages,
        session_id: text(body, "session_id")?.map(|id| bounded("session_id", id)).transpose()?,
        tags: tags::check("tags", body.get("tags"))?,
        occurred_at: occurred_at.transpose()?,
        timezone: timezone.map(str::to_owned),
    })
}

const TIME_FORMS: &str = "is no time: use RFC 3339, YYYY-MM-DD, a datetime without offset, or epoch seconds";

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
fn content(value: Option<&Value>) -> Result<(String, Vec<Value>), String> {
    match value {
        Some(Value::String(text)) => Ok((text.clone(), Vec::new())),
        Some(Value::Array(parts)) => {
            let (mut texts, mut references) = (Vec::new(), Vec::new());
            for (index, part) in parts.iter().enumerate() {
                let kind = part.get("type").and_then(Value::as_str);
                match (kind, part.get("text")) {
                    (Some("text"), Some(Value::String(text))) => texts.push(text.as_str()),
                    (Some("text"), _) => return Err(format!("content[{index}]: a text part needs text")),
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

fn text<'a>(body: &'a Map<String, Value>, name: &str) -> Outcome<Option<&'a str>> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        // A namespace that is no text is no namespace's name.
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) if name == "namespace" => Err(Failure::invalid("invalid_namespace", "namespace must be text")),
        Some(_) => Err(invalid(format!("{name} must be text"))),
    }
}

fn bounded(name: &str, text: &str) -> Outcome<String> {
    if text.chars().count() > NAME_CHARS_MAX || text.chars().any(char::is_control) {
        return Err(invalid(format!("{name} must be at most {NAME_CHARS_MAX} characters on one line")));
    }
    Ok(text.to_owned())
}

fn invalid(message: impl Into<String>) -> Failure {
    Failure::invalid("invalid_body", message)
}
