//! Decodes the JSON of a request, and checks the values that several requests have: conversations, times, time zones.
//!
//! An error names the field. Imports and the evaluation read conversations with the same functions as the API. Start
//! with [`RememberRequest`].

use cuebase_storage::records::{MessageBody, MessageContent, SentTime};
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use serde_json::{Map, Value};
use serde_path_to_error::{Path, Segment};

use super::fields::{Contents, Field, FieldType, Fields, request_type};
use super::values::{self, NAME_CHARS_MAX, PRINTABLE_PATTERN};
use super::{json_errors, metadata, tags, time};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::conversation::{Conversation, Message, Moment, Role};

/// The end of an error about a time: what is wrong, and the accepted forms.
const INVALID_TIME: &str = "is not a valid time: use RFC 3339, YYYY-MM-DD, a datetime without offset, or epoch seconds";

request_type! {
    /// The body of `POST /v1/memories`.
    #[derive(Debug, Deserialize, JsonSchema)]
    pub struct RememberRequest {
        #[schemars(with = "Vec<values::Message>", length(min = 1))]
        pub(crate) messages: Option<Vec<MessageBody>>,
        #[schemars(default, with = "values::WantedName")]
        pub(crate) namespace: Option<String> => InvalidNamespace,
        /// The caller's name for the conversation.
        #[schemars(length(max = NAME_CHARS_MAX), regex(pattern = PRINTABLE_PATTERN))]
        pub(crate) session_id: Option<String>,
        /// Name of the user of the conversation: the speaker of messages with the role `user` that have no name.
        #[schemars(length(max = NAME_CHARS_MAX), regex(pattern = PRINTABLE_PATTERN))]
        pub(crate) user: Option<String>,
        #[schemars(default, with = "values::Tags")]
        pub(crate) tags: Option<Vec<String>> => InvalidTag,
        #[schemars(default, with = "values::Metadata")]
        pub(crate) metadata: Option<Map<String, Value>> => InvalidMetadata,
        #[schemars(default, with = "values::GivenTime")]
        pub(crate) occurred_at: Option<SentTime> => InvalidTime,
        // The time zone of times without offset and of words like "yesterday".
        #[schemars(default, with = "values::Zone")]
        pub(crate) timezone: Option<String>,
        /// Use `occurred_at`.
        #[schemars(default, with = "values::Refined<values::GivenTime>", extend("deprecated" = true))]
        pub(crate) date: Option<SentTime> => InvalidTime,
    }
}

impl RememberRequest {
    /// Checks the request. Returns its conversation.
    pub fn conversation(&self) -> Result<Conversation> {
        let sent = self.messages.as_deref().unwrap_or_default();
        // Only the size of the body limits the number of messages.
        check_count("messages", sent, ErrorCode::NoMessages, (usize::MAX, ErrorCode::TooManyMessages))?;
        let zone = zone_or_utc(self.timezone.as_deref())?;
        let user = user_name(self.user.as_deref())?;
        let mut messages = Vec::with_capacity(sent.len());
        for (index, body) in sent.iter().enumerate() {
            match message(body, &zone) {
                Ok(message) => messages.push(with_user(message, user)),
                Err(reason) => return Err(invalid_body(format!("messages[{index}]: {reason}"))),
            }
        }
        Ok(Conversation {
            messages,
            occurred_at: occurred(self.occurred_at.as_ref(), self.date.as_ref(), &zone)?,
            session_id: session_id(self.session_id.as_deref())?,
            tags: tags::check("tags", self.tags.clone())?,
            metadata: metadata::check(self.metadata.as_ref())?,
            timezone: self.timezone.clone(),
        })
    }
}

/// The fields of [`MessageBody`], which `storage` defines because conversations store it.
const MESSAGE_FIELDS: &[Field] = &[
    Field { name: "role", contents: Contents::Opaque, code: None },
    Field { name: "content", contents: Contents::Parts, code: None },
    Field { name: "name", contents: Contents::Opaque, code: None },
    Field { name: "occurred_at", contents: Contents::Opaque, code: None },
    Field { name: "store", contents: Contents::Opaque, code: None },
];

impl FieldType for Vec<MessageBody> {
    const CONTENTS: Contents = Contents::Objects(MESSAGE_FIELDS);
}

/// Decodes a JSON object.
///
/// # Errors
///
/// `invalid_body` for anything else. For a field of the wrong type, the field's own code; the message has its path.
pub fn decode<T: DeserializeOwned + Fields>(json: &[u8]) -> Result<T> {
    decode_line(json, 1)
}

/// Decodes a JSON object as [`decode`] does. `line` is the number of the text's first line in its file.
pub fn decode_line<T: DeserializeOwned + Fields>(json: &[u8], line: usize) -> Result<T> {
    // Serde would also decode a struct from an array.
    if !json.trim_ascii_start().starts_with(b"{") {
        let beginning = json_errors::describe_beginning(json, line);
        return Err(invalid_body(format!("the body must be a JSON object, {beginning}")));
    }
    // Serde does not check the text of fields that it ignores.
    if let Some(problem) = json_errors::describe_encoding(json, line) {
        return Err(invalid_body(format!("body: {problem}: send a JSON object in UTF-8")));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let value = match serde_path_to_error::deserialize(&mut deserializer) {
        Ok(value) => value,
        Err(error) => return Err(field_error(json, line, T::FIELDS, &error)),
    };
    deserializer.end().map_err(|error| invalid_json(json, line, &error))?;
    Ok(value)
}

/// Reads the conversation of a JSON object that is decoded already, as the evaluation has it.
pub fn conversation(body: &Map<String, Value>) -> Result<Conversation> {
    match serde_path_to_error::deserialize::<_, RememberRequest>(body) {
        Ok(request) => request.conversation(),
        // The values have no place in a text.
        Err(error) => Err(field_error(&[], 1, RememberRequest::FIELDS, &error)),
    }
}

/// Returns the error of a body that is not JSON. `line` is the number of the text's first line in its file.
pub fn invalid_json(json: &[u8], line: usize, error: &serde_json::Error) -> Error {
    let reason = json_errors::describe(json, line, error);
    match error.classify() {
        Category::Data => invalid_body(format!("body: {reason}")),
        Category::Io | Category::Syntax | Category::Eof => {
            invalid_body(format!("body: {reason}: the body must be a JSON object"))
        }
    }
}

fn field_error(
    json: &[u8],
    line: usize,
    fields: &'static [Field],
    error: &serde_path_to_error::Error<serde_json::Error>,
) -> Error {
    let (path, reason) = (error.path(), error.inner());
    match reason.classify() {
        Category::Data if path.iter().next().is_some() => {
            let reason = json_errors::describe(json, line, reason);
            Error::invalid(code_at(fields, path), format!("body: {path}: {reason}"))
        }
        _ => invalid_json(json, line, reason),
    }
}

/// Returns the error code of a value of the wrong type at a path.
fn code_at(mut fields: &'static [Field], path: &Path) -> ErrorCode {
    let mut code = ErrorCode::InvalidBody;
    let mut entry_code = None;
    for segment in path.iter() {
        match segment {
            Segment::Seq { .. } => code = entry_code.take().unwrap_or(code),
            Segment::Map { key } => {
                let Some(field) = fields.iter().find(|field| field.name == key.as_str()) else { return code };
                if let Contents::Objects(entry_fields) = field.contents {
                    fields = entry_fields;
                    entry_code = field.code;
                } else {
                    fields = &[];
                    code = field.code.unwrap_or(code);
                }
            }
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    code
}

fn message(sent: &MessageBody, zone: &TimeZone) -> Result<Message, String> {
    let MessageBody { role, content, name, occurred_at, store, .. } = sent;
    let (text, references) = text_and_references(content)?;
    let name = match name.as_deref() {
        None => None,
        Some(name) if name.trim().is_empty() => None,
        Some(name) if is_short_line(name) => Some(name.trim().to_owned()),
        Some(_) => return Err(format!("name must be text of at most {NAME_CHARS_MAX} characters on one line")),
    };
    let occurred_at = match occurred_at {
        None => None,
        Some(time) => match moment(time, zone) {
            Some(moment) => Some(moment),
            None => return Err(format!("occurred_at: {time} {INVALID_TIME}")),
        },
    };
    Ok(Message { role: *role, name, text, references, occurred_at, store: store.unwrap_or(true) })
}

/// Checks the content of a message. Returns the text parts, joined by blank lines, and the other parts as received.
pub fn text_and_references(content: &MessageContent) -> Result<(String, Vec<Value>), String> {
    let parts = match content {
        MessageContent::Text(text) => return Ok((text.clone(), Vec::new())),
        MessageContent::Parts(parts) => parts,
    };
    let (mut texts, mut references) = (Vec::new(), Vec::new());
    for (index, part) in parts.iter().enumerate() {
        let kind = part.get("type").and_then(Value::as_str);
        match (kind, part.get("text")) {
            (Some("text"), Some(Value::String(text))) => texts.push(text.as_str()),
            (Some("text"), _) => return Err(format!("content[{index}]: a text part needs text")),
            (Some("media"), _) if part.get("id").and_then(Value::as_str).is_none() => {
                return Err(format!("content[{index}]: a media part needs the id of an upload"));
            }
            (Some(_), _) => references.push(Value::Object(part.clone())),
            (None, _) => return Err(format!("content[{index}]: a part needs a type")),
        }
    }
    Ok((texts.join("\n\n"), references))
}

fn moment(time: &SentTime, zone: &TimeZone) -> Option<Moment> {
    time::parse_sent(time, zone)?.moment()
}

/// Checks `occurred_at`, or its former name `date`. Both are validated.
pub fn occurred(occurred_at: Option<&SentTime>, date: Option<&SentTime>, zone: &TimeZone) -> Result<Option<Moment>> {
    let date = moment_of("date", date, zone)?;
    Ok(moment_of("occurred_at", occurred_at, zone)?.or(date))
}

/// Checks the time of a field, in any of the accepted forms. `name` is the field that the error names.
pub fn moment_of(name: &str, time: Option<&SentTime>, zone: &TimeZone) -> Result<Option<Moment>> {
    let Some(time) = time else { return Ok(None) };
    match moment(time, zone) {
        Some(moment) => Ok(Some(moment)),
        None => Err(Error::invalid(ErrorCode::InvalidTime, format!("{name}: {time} {INVALID_TIME}"))),
    }
}

fn user_name(name: Option<&str>) -> Result<Option<&str>> {
    match name.map(str::trim) {
        Some(name) if !is_short_line(name) => {
            Err(invalid_body(format!("user must be at most {NAME_CHARS_MAX} characters on one line")))
        }
        Some("") | None => Ok(None),
        Some(name) => Ok(Some(name)),
    }
}

/// Gives a message of a user without a name the name of the user.
fn with_user(mut message: Message, user: Option<&str>) -> Message {
    if message.role == Role::User && message.name.is_none() {
        message.name = user.map(str::to_owned);
    }
    message
}

fn session_id(id: Option<&str>) -> Result<Option<String>> {
    match id {
        Some(id) if !is_short_line(id) => {
            Err(invalid_body(format!("session_id must be at most {NAME_CHARS_MAX} characters on one line")))
        }
        id => Ok(id.map(str::to_owned)),
    }
}

/// Returns whether a text is on one line and within [`NAME_CHARS_MAX`].
pub(crate) fn is_short_line(text: &str) -> bool {
    text.chars().count() <= NAME_CHARS_MAX && !text.chars().any(char::is_control)
}

/// Checks the number of entries of an array field, which must be from one to `entries_max`. `empty` and `too_many` are
/// the error codes of arrays with fewer or more.
pub fn check_count<T>(
    name: &str,
    entries: &[T],
    empty: ErrorCode,
    (entries_max, too_many): (usize, ErrorCode),
) -> Result<()> {
    if entries.is_empty() {
        return Err(Error::invalid(empty, format!("{name} is empty: send at least one")));
    }
    if entries.len() > entries_max {
        let message = format!("{} {name}: at most {entries_max} are accepted at once", entries.len());
        return Err(Error::TooLarge { code: too_many, message });
    }
    Ok(())
}

/// Returns the error of an invalid body.
pub fn invalid_body(message: impl Into<String>) -> Error {
    Error::invalid(ErrorCode::InvalidBody, message)
}

/// Returns a time zone by its IANA name; UTC without a name.
pub fn zone_or_utc(name: Option<&str>) -> Result<TimeZone> {
    match name {
        Some(name) => zone(name),
        None => Ok(TimeZone::UTC),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the code and the text of the error of a body.
    fn refused(json: &str) -> String {
        let decoded = decode::<RememberRequest>(json.as_bytes());
        match decoded.and_then(|request| request.conversation()) {
            Ok(_) => "ok".into(),
            Err(Error::Invalid { code, message }) => format!("{code} {message}"),
            Err(other) => other.to_string(),
        }
    }

    #[test]
    fn the_error_of_a_field_has_its_path_and_code() {
        let good = r#"{"role":"user","content":"x"}"#;
        for (json, expected) in [
            (format!(r#"{{"messages":[{good}]}}"#), "ok"),
            ("[]".into(), "invalid_body the body must be a JSON object"),
            ("{}".into(), "no_messages messages is empty"),
            (r#"{"messages":null}"#.into(), "no_messages messages is empty"),
            (r#"{"messages":5}"#.into(), "invalid_body body: messages: "),
            (format!(r#"{{"messages":[{good},["user","x"]]}}"#), "invalid_body body: messages[1]: "),
            (
                format!(r#"{{"messages":[{good},{{"role":"x","content":""}}]}}"#),
                "invalid_body body: messages[1].role: ",
            ),
            (r#"{"messages":[{"role":"user"}]}"#.into(), "invalid_body body: messages[0]: missing field `content`"),
            (
                r#"{"messages":[{"role":"user","content":5}]}"#.into(),
                "invalid_body body: messages[0].content: must be text or a list of parts",
            ),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"text"}]}]}"#.into(),
                "invalid_body messages[0]: content[0]: a text part needs text",
            ),
            (
                r#"{"messages":[{"role":"user","content":"","occurred_at":"soon"}]}"#.into(),
                "invalid_body messages[0]: occurred_at: \"soon\" is not a valid time",
            ),
            (format!(r#"{{"messages":[{good}],"tags":"a"}}"#), "invalid_tag body: tags: "),
            (format!(r#"{{"messages":[{good}],"tags":["a",5]}}"#), "invalid_tag body: tags[1]: "),
            (format!(r#"{{"messages":[{good}],"namespace":5}}"#), "invalid_namespace body: namespace: "),
            (format!(r#"{{"messages":[{good}],"occurred_at":{{}}}}"#), "invalid_time body: occurred_at: must be text"),
            (format!(r#"{{"messages":[{good}],"date":"soon"}}"#), "invalid_time date: \"soon\" is not a valid time"),
            (format!(r#"{{"messages":[{good}],"timezone":"Mars/Base"}}"#), "invalid_timezone timezone: "),
            (format!(r#"{{"messages":[{good}],"metadata":[]}}"#), "invalid_metadata body: metadata: "),
            (format!(r#"{{"messages":[{good}],"metadata":{{"a":[]}}}}"#), "invalid_metadata metadata: \"a\": "),
            (r#"{"tags":["a"#.into(), "invalid_body body: "),
            (format!(r#"{{"messages":[{good}]}} x"#), "invalid_body body: "),
        ] {
            let error = refused(&json);
            assert!(error.starts_with(expected), "{json}: {error}");
        }
    }

    #[test]
    fn the_listed_fields_of_a_message_are_all_that_it_knows() {
        let sent = r#"{"role":"user","content":"x","name":"Ann","occurred_at":5,"store":false,"colour":1}"#;
        let body: MessageBody = serde_json::from_str(sent).expect("a message");
        assert_eq!(body.other.keys().collect::<Vec<_>>(), ["colour"]);
        for field in MESSAGE_FIELDS {
            assert!(sent.contains(&format!("\"{}\"", field.name)), "{}", field.name);
        }
        assert_eq!(MESSAGE_FIELDS.len(), 5);
    }
}
