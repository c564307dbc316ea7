//! `/v1/skills`: storing, finding and listing skills.

use std::time::Instant;

use cuebase_retrieval::Filter;
use cuebase_storage::memory_file::{Tier, path};
use hyper::StatusCode;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::memories::{lines, memory_path};
use super::vocabulary::millis;
use super::{AuthenticatedRequest, Reply};
use crate::error::{Error, Result};
use crate::memory::file_names::slug;
use crate::memory::request::{entries, invalid_body, occurred, text};
use crate::memory::skill::SkillDraft;
use crate::memory::tags;
use crate::service::retrieval::Retrieve;
use crate::service::skills::SkillLocation;

/// Skills of one request.
const SKILLS_MAX: usize = 100;
/// Characters of a name.
const NAME_CHARS_MAX: usize = 200;
/// Characters of a description.
const DESCRIPTION_CHARS_MAX: usize = 1000;
/// Bytes of a procedure.
const CONTENT_BYTES_MAX: usize = 1 << 20;
/// Triggers of one skill.
const TRIGGERS_MAX: usize = 64;
/// Characters of one trigger.
const TRIGGER_CHARS_MAX: usize = 1000;
/// Skills of an answer when no limit is given, and at most.
const LISTED: (usize, usize) = (20, 200);

/// `POST /v1/skills`.
pub fn store(call: &AuthenticatedRequest) -> Result<Reply> {
    let body: Map<String, Value> = call.json()?;
    let skills = entries(&body, "skills", "no_skills", (SKILLS_MAX, "too_many_skills"))?;
    let drafts = skills.iter().enumerate().map(|(index, value)| draft(value).map_err(|error| at(index, error)));
    let drafts = drafts.collect::<Result<Vec<_>>>()?;
    let namespace = call.writable(text(&body, "namespace")?)?;
    let (id, paths) = call.service.accept_skills(&namespace, drafts, &call.body)?;
    let (id, name) = (id.to_string(), &namespace.name);
    Reply::json(StatusCode::ACCEPTED, &json!({"id": id, "namespace": name, "status": "accepted", "paths": paths}))
}

/// Says in which skill the fault is; faults of a body's shape are faults of the skill.
fn at(index: usize, error: Error) -> Error {
    match error {
        Error::Invalid { code: "invalid_body" | "invalid_time", message } => {
            Error::invalid("invalid_skill", format!("skills[{index}]: {message}"))
        }
        Error::Invalid { code, message } => Error::invalid(code, format!("skills[{index}]: {message}")),
        other => other,
    }
}

fn draft(value: &Value) -> Result<(SkillLocation, SkillDraft)> {
    let fields = value.as_object().ok_or_else(|| invalid_body("must be an object"))?;
    let name = line(fields, "name", NAME_CHARS_MAX)?.ok_or_else(|| invalid_body("name is missing"))?;
    let description = line(fields, "description", DESCRIPTION_CHARS_MAX)?;
    let content = text(fields, "content")?.map(str::trim).filter(|content| !content.is_empty());
    if description.is_none() && content.is_none() {
        return Err(invalid_body("either description or content must be present"));
    }
    if content.is_some_and(|content| content.len() > CONTENT_BYTES_MAX) {
        return Err(invalid_body(format!("content has more than {CONTENT_BYTES_MAX} bytes")));
    }
    let confidence = match fields.get("confidence") {
        None | Some(Value::Null) => None,
        Some(value) => {
            let number = value.as_f64().filter(|number| (0.0..=1.0).contains(number));
            Some(number.ok_or_else(|| invalid_body("confidence must be a number from 0 to 1"))?)
        }
    };
    let mut triggers = lines(fields, "triggers", TRIGGERS_MAX, TRIGGER_CHARS_MAX)?;
    if triggers.is_empty() {
        triggers = std::iter::once(name.clone()).chain(description.clone()).collect();
    }
    let topic = text(fields, "topic")?.map(topic).transpose()?.flatten();
    let place = match text(fields, "path")?.filter(|path| !path.is_empty()) {
        Some(path) => {
            let path = memory_path(path)?;
            if path.tier() != Tier::Skills {
                return Err(Error::invalid("invalid_path", format!("path: {path} is not under skills/")));
            }
            SkillLocation::Path(path.to_string())
        }
        None => SkillLocation::Topic(topic),
    };
    let tags = tags::check("tags", fields.get("tags"))?;
    let occurred = occurred(fields, &TimeZone::UTC)?;
    let content = content.map(str::to_owned);
    let draft = SkillDraft { path: String::new(), name, description, content, tags, triggers, confidence, occurred };
    Ok((place, draft))
}

/// A topic as a directory below `skills/`: what is no plain name is made one.
fn topic(text: &str) -> Result<Option<String>> {
    let text = text.trim().trim_matches('/');
    if text.is_empty() {
        return Ok(None);
    }
    if path::parse_directory(&format!("skills/{text}")).is_ok() {
        return Ok(Some(text.to_owned()));
    }
    let plain = |segment: &str| !segment.is_empty() && !segment.starts_with('.') && !segment.contains('\\');
    if !text.split('/').all(plain) {
        return Err(Error::invalid("invalid_path", format!("topic: {text:?} names no directory under skills/")));
    }
    let made = text.split('/').map(|segment| slug(segment, "topic")).collect::<Vec<_>>().join("/");
    path::parse_directory(&format!("skills/{made}"))
        .map_err(|error| Error::invalid("invalid_path", format!("topic: {text:?}: {error}")))?;
    Ok(Some(made))
}

/// A text on one line; blank is as if it were not there.
fn line(fields: &Map<String, Value>, name: &str, chars: usize) -> Result<Option<String>> {
    let Some(text) = text(fields, name)? else { return Ok(None) };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > chars {
        return Err(invalid_body(format!("{name} is longer than {chars} characters")));
    }
    if line.chars().any(char::is_control) {
        return Err(invalid_body(format!("{name} must not contain control characters")));
    }
    Ok(Some(line).filter(|line| !line.is_empty()))
}

/// `GET /v1/skills`.
pub fn list(call: &AuthenticatedRequest) -> Result<Reply> {
    let began = Instant::now();
    let namespace = call.read_namespace()?;
    let mut folders = call.query.list("paths");
    for folder in &mut folders {
        let inner = folder.strip_prefix("skills/").unwrap_or(folder);
        let full = format!("skills/{inner}");
        let checked = path::parse_directory(&full).map(str::to_owned);
        *folder = checked.map_err(|error| Error::invalid("invalid_path", format!("paths: {error}")))?;
    }
    let filter = Filter {
        tiers: vec![Tier::Skills.name().into()],
        folders,
        tags_any: tags::check_all("tags", call.query.list("tags"))?,
        ..Filter::default()
    };
    let query = call.query.get("q").map(str::trim).filter(|text| !text.is_empty()).map(super::retrieve::cut);
    let request = Retrieve { query, filter, limit: call.query.capped("limit", LISTED)?, ..Retrieve::default() };
    let skills = call.service.skills(call.account(), &namespace, &request)?;
    Reply::ok(&json!({"namespace": namespace, "skills": skills, "millis": millis(began)}))
}
