//! `POST /v1/memories`: a conversation is checked and accepted.

use cuebase_storage::records::{NamespaceRecord, QueuedWork};
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::memory::accepted;
use super::query::zone;
use super::{Call, Reply, entries, invalid_body, text};
use crate::ingest::conversation::{Conversation, Message, Moment, Role};
use crate::service::{Failure, Outcome};
use crate::tags;
use crate::time;

/// Longest session id and speaker's name, in characters.
const NAME_CHARS_MAX: usize = 256;

/// `POST /v1/memories`. Every rejection comes before the `202`; after it the write is durable.
pub fn remember(call: &Call) -> Outcome<Reply> {
    let body: Map<String, Value> = call.json()?;
    let wanted = text(&body, "namespace")?;
    let name = call.write_name(wanted)?;
    let conversation = conversation(&body)?;
    let namespace = call.service.namespaces.existing(call.account(), &name)?;
    let accept = |namespace: &NamespaceRecord| {
        let request = serde_json::to_value(&conversation).map_err(Failure::internal)?;
        call.service.accept(namespace, QueuedWork::Conversation { request }, Some(&call.body), &[])
    };
    let id = call.service.with_default_again(&namespace, accept)?;
    accepted(&id.to_string(), &name)
}

/// Checks a request's conversation.
pub fn conversation(body: &Map<String, Value>) -> Outcome<Conversation> {
    // How many is bounded by the body's size alone.
    let messages = entries(body, "messages", "no_messages", (usize::MAX, "too_many_messages"))?;
    let timezone = text(body, "timezone")?;
    let zone = timezone.map_or(Ok(TimeZone::UTC), zone)?;
    let read = |(index, value): (usize, &Value)| {
        message(value, &zone).map_err(|reason| invalid_body(format!("messages[{index}]: {reason}")))
    };
    let messages = messages.iter().enumerate().map(read).collect::<Outcome<Vec<Message>>>()?;
    let occurred_at = occurred(body, &zone)?;
    Ok(Conversation {
        messages,
        session_id: text(body, "session_id")?.map(|id| bounded("session_id", id)).transpose()?,
        tags: tags::check("tags", body.get("tags"))?,
        occurred_at,
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
pub(super) fn content(value: Option<&Value>) -> Result<(String, Vec<Value>), String> {
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
pub(super) fn occurred(body: &Map<String, Value>, zone: &TimeZone) -> Outcome<Option<Moment>> {
    let date = moment_field(body, "date", zone)?;
    Ok(moment_field(body, "occurred_at", zone)?.or(date))
}

/// A field that holds a time, in any of the forms that callers write.
pub(super) fn moment_field(body: &Map<String, Value>, name: &str, zone: &TimeZone) -> Outcome<Option<Moment>> {
    let Some(value) = body.get(name).filter(|value| !value.is_null()) else { return Ok(None) };
    let moment = moment(value, zone);
    moment.map(Some).ok_or_else(|| Failure::invalid("invalid_time", format!("{name}: {value} {TIME_FORMS}")))
}

fn bounded(name: &str, text: &str) -> Outcome<String> {
    if text.chars().count() > NAME_CHARS_MAX || text.chars().any(char::is_control) {
        return Err(invalid_body(format!("{name} must be at most {NAME_CHARS_MAX} characters on one line")));
    }
    Ok(text.to_owned())
}
