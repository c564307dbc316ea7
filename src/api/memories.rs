//! Memories by path: `/v1/memories/{path}`, `/v1/tree`, `/v1/topics`, `/v1/graph`.

use cuebase_storage::memory_file::{MemoryPath, path};
use hyper::StatusCode;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::{AuthenticatedRequest, Reply};
use crate::error::{Error, Result};
use crate::ingest::direct::DirectWrite;
use crate::memory::request::{invalid_body, moment_field, occurred, text, zone};
use crate::memory::tags;
use crate::namespace::names::check_name;
use crate::service::memories::View;

/// Longest content, in bytes.
const CONTENT_BYTES_MAX: usize = 1 << 20;
/// Cues of one memory.
const CUES_MAX: usize = 64;
/// Characters of one cue.
const CUE_CHARS_MAX: usize = 1000;
/// Relations from a memory that a graph follows, at most.
const DEPTH_MAX: usize = 3;
/// Nodes of a graph when no limit is given, and at most.
const NODES: (usize, usize) = (500, 10_000);

/// `GET /v1/memories/{path}`.
pub fn get(call: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = call.read_namespace()?;
    // `file.md#Heading` is the section of that name.
    let (path, heading) = match call.parameter(0).split_once('#') {
        Some((path, heading)) => (path, Some(heading)),
        None => (call.parameter(0), None),
    };
    let view = View {
        section: heading.or(call.query.get("section")),
        revision: call.query.get("revision"),
        full: call.query.get("detail") == Some("full"),
    };
    Reply::ok(&call.service.memory(call.account(), &namespace, &memory_path(path)?, &view)?)
}

/// `POST /v1/memories/{path}`.
pub fn write(call: &AuthenticatedRequest) -> Result<Reply> {
    let body: Map<String, Value> = call.json()?;
    let parameter = call.query.value("namespace");
    if let Some(name) = parameter {
        // Checked also where the body names another namespace.
        check_name(name)?;
    }
    let wanted = text(&body, "namespace")?.or(parameter);
    let path = memory_path(call.parameter(0))?;
    let write = direct_write(path, &body)?;
    let namespace = call.writable(wanted)?;
    let written =
        call.service.with_default_again(&namespace, |namespace| call.service.write_memory(namespace, &write))?;
    let status = if written.new { StatusCode::CREATED } else { StatusCode::OK };
    let path = write.path.as_str();
    Reply::json(status, &json!({"path": path, "namespace": namespace.name, "commit": written.commit}))
}

/// Checks a direct write's body.
fn direct_write(path: MemoryPath, body: &Map<String, Value>) -> Result<DirectWrite> {
    let content = text(body, "content")?.filter(|content| !content.trim().is_empty());
    let content = content.ok_or_else(|| invalid_body("content is missing: the memory's text, markdown"))?;
    if content.len() > CONTENT_BYTES_MAX {
        let message = format!("content has {} bytes, at most {CONTENT_BYTES_MAX} make a memory", content.len());
        return Err(Error::TooLarge { code: "payload_too_large", message });
    }
    let zone = text(body, "timezone")?.map_or(Ok(TimeZone::UTC), zone)?;
    Ok(DirectWrite {
        path,
        content: content.to_owned(),
        tags: tags::check("tags", body.get("tags"))?,
        occurred: occurred(body, &zone)?,
        cues: lines(body, "cues", CUES_MAX, CUE_CHARS_MAX)?,
        expires_at: moment_field(body, "expires_at", &zone)?.map(|moment| moment.at),
    })
}

/// An array of short texts, each on one line; blank ones are left out.
pub(super) fn lines(body: &Map<String, Value>, name: &str, most: usize, chars: usize) -> Result<Vec<String>> {
    let values = match body.get(name) {
        None | Some(Value::Null) => &Vec::new(),
        Some(Value::Array(values)) => values,
        Some(_) => return Err(invalid_body(format!("{name} must be an array of texts"))),
    };
    if values.len() > most {
        return Err(invalid_body(format!("{name} has {} entries, at most {most} are taken", values.len())));
    }
    let line = |(index, value): (usize, &Value)| {
        let text = value.as_str().ok_or_else(|| invalid_body(format!("{name}[{index}] must be text")))?;
        if text.chars().count() > chars {
            return Err(invalid_body(format!("{name}[{index}] is longer than {chars} characters")));
        }
        Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let lines = values.iter().enumerate().map(line).collect::<Result<Vec<String>>>()?;
    Ok(lines.into_iter().filter(|line| !line.is_empty()).collect())
}

/// `DELETE /v1/memories/{path}`.
pub fn forget(call: &AuthenticatedRequest) -> Result<Reply> {
    let path = memory_path(call.parameter(0))?;
    let namespace = call.write_namespace()?;
    let id = call.service.forget_memory(&namespace, &path)?;
    Reply::accepted(&id.to_string(), &namespace.name)
}

/// `GET /v1/tree`.
pub fn tree(call: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = call.read_namespace()?;
    let folder = call.query.get("path").map(|path| path.trim_end_matches('/')).unwrap_or_default();
    if !folder.is_empty() {
        path::parse_directory(folder).map_err(|error| Error::invalid("invalid_path", format!("path: {error}")))?;
    }
    let entries = call.service.tree(call.account(), &namespace, folder)?;
    Reply::ok(&json!({"namespace": namespace, "path": folder, "entries": entries}))
}

/// `GET /v1/topics`.
pub fn topics(call: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = call.read_namespace()?;
    let topics = call.service.topics(call.account(), &namespace)?;
    Reply::ok(&json!({"namespace": namespace, "topics": topics}))
}

/// `GET /v1/graph`.
pub fn graph(call: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = call.read_namespace()?;
    let path = call.query.get("path").map(memory_path).transpose()?;
    let depth = call.query.number("depth", 1..=DEPTH_MAX, "invalid_depth")?.unwrap_or(1);
    let limit = call.query.number("limit", 1..=NODES.1, "invalid_limit")?.unwrap_or(NODES.0);
    let around = path.as_ref().map(|path| (path, depth));
    Reply::ok(&call.service.graph(call.account(), &namespace, around, limit)?)
}

/// A memory's path, checked.
pub(super) fn memory_path(text: &str) -> Result<MemoryPath> {
    text.parse().map_err(|error| Error::invalid("invalid_path", format!("{text:?}: {error}")))
}
