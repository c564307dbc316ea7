//! `/v1/skills`: stores, finds and lists skills.

use std::time::Instant;

use cuebase_retrieval::Filter;
use cuebase_storage::memory_file::{Tier, path};
use hyper::StatusCode;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::query::{PageSize, QueryString};
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::retrieve::search_text;
use super::values::{directory, line, lines, memory_path, milliseconds_since};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::file_names::slug;
use crate::memory::request::{entries, invalid_body, occurred, text};
use crate::memory::skill::SkillDraft;
use crate::memory::tags;
use crate::service::retrieval::RetrievalRequest;
use crate::service::skills::SkillLocation;

/// Most skills of one request.
const SKILLS_MAX: usize = 100;
/// Most characters of a name.
const NAME_CHARS_MAX: usize = 200;
/// Most characters of a description.
const DESCRIPTION_CHARS_MAX: usize = 1000;
/// Most bytes of a procedure.
const CONTENT_BYTES_MAX: usize = 1 << 20;
/// Most triggers of one skill.
const TRIGGERS_MAX: usize = 64;
/// Most characters of one trigger.
const TRIGGER_CHARS_MAX: usize = 1000;
/// Skills in a response.
const PAGE: PageSize = PageSize { default: 20, max: 200 };

/// `POST /v1/skills`.
pub fn store(request: &AuthenticatedRequest) -> Result<Reply> {
    let body: Map<String, Value> = request.json()?;
    let mut drafts = Vec::new();
    let entries = entries(&body, "skills", ErrorCode::NoSkills, (SKILLS_MAX, ErrorCode::TooManySkills))?;
    for (index, value) in entries.iter().enumerate() {
        drafts.push(draft(value).map_err(|error| error_of_skill(index, error))?);
    }
    let namespace = request.writable_namespace(text(&body, "namespace")?)?;
    let (id, paths) = request.service.accept_skills(&namespace, drafts, &request.body)?;
    let (id, name) = (id.to_string(), &namespace.name);
    Reply::json(StatusCode::ACCEPTED, &json!({"id": id, "namespace": name, "status": "accepted", "paths": paths}))
}

/// Adds the index of the skill to an error. A skill's own fields have the code `invalid_skill`.
fn error_of_skill(index: usize, error: Error) -> Error {
    match error {
        Error::Invalid { code: ErrorCode::InvalidBody | ErrorCode::InvalidTime, message } => {
            Error::invalid(ErrorCode::InvalidSkill, format!("skills[{index}]: {message}"))
        }
        Error::Invalid { code, message } => Error::invalid(code, format!("skills[{index}]: {message}")),
        other => other,
    }
}

fn draft(value: &Value) -> Result<(SkillLocation, SkillDraft)> {
    let Some(fields) = value.as_object() else { return Err(invalid_body("must be an object")) };
    let Some(name) = line(fields, "name", NAME_CHARS_MAX)? else { return Err(invalid_body("name is missing")) };
    let description = line(fields, "description", DESCRIPTION_CHARS_MAX)?;
    let content = text(fields, "content")?.unwrap_or("").trim();
    if description.is_none() && content.is_empty() {
        return Err(invalid_body("either description or content must be present"));
    }
    if content.len() > CONTENT_BYTES_MAX {
        return Err(invalid_body(format!("content has more than {CONTENT_BYTES_MAX} bytes")));
    }
    let confidence = confidence(fields)?;
    let mut triggers = lines(fields, "triggers", TRIGGERS_MAX, TRIGGER_CHARS_MAX)?;
    if triggers.is_empty() {
        triggers.push(name.clone());
        triggers.extend(description.clone());
    }
    let location = location(fields)?;
    let draft = SkillDraft {
        path: String::new(),
        name,
        description,
        content: if content.is_empty() { None } else { Some(content.to_owned()) },
        tags: tags::check("tags", fields.get("tags"))?,
        triggers,
        confidence,
        occurred: occurred(fields, &TimeZone::UTC)?,
    };
    Ok((location, draft))
}

fn confidence(fields: &Map<String, Value>) -> Result<Option<f64>> {
    let number = match fields.get("confidence") {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value.as_f64(),
    };
    match number {
        Some(number) if (0.0..=1.0).contains(&number) => Ok(Some(number)),
        _ => Err(invalid_body("confidence must be a number from 0 to 1")),
    }
}

/// Returns where to store a skill: at its `path`, else in the directory of its `topic`. Both fields are checked.
fn location(fields: &Map<String, Value>) -> Result<SkillLocation> {
    let topic = match text(fields, "topic")? {
        Some(text) => topic(text)?,
        None => None,
    };
    let path = text(fields, "path")?.unwrap_or("");
    if path.is_empty() {
        return Ok(SkillLocation::Topic(topic));
    }
    let path = memory_path(path)?;
    if path.tier() != Tier::Skills {
        return Err(Error::invalid(ErrorCode::InvalidPath, format!("path: {path} is not under skills/")));
    }
    Ok(SkillLocation::Path(path.to_string()))
}

/// Returns the directory of a topic below `skills/`; `None` where it is blank. Segments that are not valid names become
/// slugs.
fn topic(text: &str) -> Result<Option<String>> {
    let text = text.trim().trim_matches('/');
    if text.is_empty() {
        return Ok(None);
    }
    if path::parse_directory(&format!("skills/{text}")).is_ok() {
        return Ok(Some(text.to_owned()));
    }
    let mut slugs = Vec::new();
    for segment in text.split('/') {
        if segment.is_empty() || segment.starts_with('.') || segment.contains('\\') {
            let message = format!("topic: {text:?} does not name a directory under skills/");
            return Err(Error::invalid(ErrorCode::InvalidPath, message));
        }
        slugs.push(slug(segment, "topic"));
    }
    let topic = slugs.join("/");
    if let Err(error) = path::parse_directory(&format!("skills/{topic}")) {
        return Err(Error::invalid(ErrorCode::InvalidPath, format!("topic: {text:?}: {error}")));
    }
    Ok(Some(topic))
}

/// `GET /v1/skills`.
pub fn list(request: &AuthenticatedRequest) -> Result<Reply> {
    let start = Instant::now();
    let namespace = request.read_namespace()?;
    let filter = Filter {
        tiers: vec![Tier::Skills.name().into()],
        folders: folders(&request.query)?,
        tags_any: tags::check_all("tags", request.query.list("tags"))?,
        ..Filter::default()
    };
    let query = search_text(&request.query);
    let search =
        RetrievalRequest { query, filter, limit: request.query.page_limit(PAGE)?, ..RetrievalRequest::default() };
    let skills = request.service.skills(request.account(), &namespace, &search)?;
    Reply::ok(&json!({"namespace": namespace, "skills": skills, "millis": milliseconds_since(start)}))
}

/// Returns the directories of the parameter `paths`, which may omit `skills/`.
fn folders(query: &QueryString) -> Result<Vec<String>> {
    let mut folders = Vec::new();
    for topic in query.list("paths") {
        let topic = topic.strip_prefix("skills/").unwrap_or(&topic);
        folders.push(directory("paths", &format!("skills/{topic}"))?);
    }
    Ok(folders)
}
