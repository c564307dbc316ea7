//! Memories by path: `/v1/memories/{path}`, `/v1/tree`, `/v1/topics`, `/v1/graph`.

use cuebase_storage::memory_file::MemoryPath;
use hyper::StatusCode;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::values::{directory, lines, memory_path};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::ingest::direct::DirectWrite;
use crate::memory::request::{invalid_body, moment_field, occurred, text, zone};
use crate::memory::tags;
use crate::namespace::names::parse_name;
use crate::service::memories::MemoryReadOptions;

/// Longest content, in bytes.
const CONTENT_BYTES_MAX: usize = 1 << 20;
/// Most cues of one memory.
const CUES_MAX: usize = 64;
/// Most characters of one cue.
const CUE_CHARS_MAX: usize = 1000;
/// Most relations that a graph follows from a memory, one after the other.
const DEPTH_MAX: usize = 3;
/// Nodes of a graph when no limit is given.
const NODES_DEFAULT: usize = 500;
/// Most nodes of a graph.
const NODES_MAX: usize = 10_000;

/// `GET /v1/memories/{path}`.
pub fn get(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.read_namespace()?;
    // `file.md#Heading` is the section of that name.
    let (path, heading) = match request.parameter(0).split_once('#') {
        Some((path, heading)) => (path, Some(heading)),
        None => (request.parameter(0), None),
    };
    let options = MemoryReadOptions {
        section: heading.or(request.query.get("section")),
        revision: request.query.get("revision"),
        full: request.query.get("detail") == Some("full"),
    };
    Reply::ok(&request.service.memory(request.account(), &namespace, &memory_path(path)?, &options)?)
}

/// `POST /v1/memories/{path}`.
pub fn write(request: &AuthenticatedRequest) -> Result<Reply> {
    let body: Map<String, Value> = request.json()?;
    let parameter = request.query.last("namespace");
    if let Some(name) = parameter {
        // The name must be valid even where the body names another namespace.
        parse_name(name)?;
    }
    let name = text(&body, "namespace")?.or(parameter);
    let write = direct_write(memory_path(request.parameter(0))?, &body)?;
    let namespace = request.writable_namespace(name)?;
    let service = &request.service;
    let written = service.write_recreating_default(&namespace, |namespace| service.write_memory(namespace, &write))?;
    let status = if written.is_new { StatusCode::CREATED } else { StatusCode::OK };
    let path = write.path.as_str();
    Reply::json(status, &json!({"path": path, "namespace": namespace.name, "commit": written.commit}))
}

/// Checks the body of a direct write.
fn direct_write(path: MemoryPath, body: &Map<String, Value>) -> Result<DirectWrite> {
    let content = text(body, "content")?.unwrap_or("");
    if content.trim().is_empty() {
        return Err(invalid_body("content is missing: send the memory's text as markdown"));
    }
    if content.len() > CONTENT_BYTES_MAX {
        let message = format!("content has {} bytes, the maximum is {CONTENT_BYTES_MAX}", content.len());
        return Err(Error::TooLarge { code: ErrorCode::PayloadTooLarge, message });
    }
    let zone = match text(body, "timezone")? {
        Some(name) => zone(name)?,
        None => TimeZone::UTC,
    };
    Ok(DirectWrite {
        path,
        content: content.to_owned(),
        tags: tags::check("tags", body.get("tags"))?,
        occurred: occurred(body, &zone)?,
        cues: lines(body, "cues", CUES_MAX, CUE_CHARS_MAX)?,
        expires_at: moment_field(body, "expires_at", &zone)?.map(|moment| moment.at),
    })
}

/// `DELETE /v1/memories/{path}`.
pub fn forget(request: &AuthenticatedRequest) -> Result<Reply> {
    let path = memory_path(request.parameter(0))?;
    let namespace = request.write_namespace()?;
    let id = request.service.forget_memory(&namespace, &path)?;
    Reply::accepted(id, &namespace.name)
}

/// `GET /v1/tree`.
pub fn tree(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.read_namespace()?;
    let folder = request.query.get("path").unwrap_or("").trim_end_matches('/');
    if !folder.is_empty() {
        directory("path", folder)?;
    }
    let entries = request.service.tree(request.account(), &namespace, folder)?;
    Reply::ok(&json!({"namespace": namespace, "path": folder, "entries": entries}))
}

/// `GET /v1/topics`.
pub fn topics(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.read_namespace()?;
    let topics = request.service.topics(request.account(), &namespace)?;
    Reply::ok(&json!({"namespace": namespace, "topics": topics}))
}

/// `GET /v1/graph`.
pub fn graph(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.read_namespace()?;
    let path = match request.query.get("path") {
        Some(path) => Some(memory_path(path)?),
        None => None,
    };
    let depth = request.query.number("depth", 1..=DEPTH_MAX, ErrorCode::InvalidDepth)?.unwrap_or(1);
    let limit = request.query.number("limit", 1..=NODES_MAX, ErrorCode::InvalidLimit)?.unwrap_or(NODES_DEFAULT);
    let around = path.as_ref().map(|path| (path, depth));
    Reply::ok(&request.service.graph(request.account(), &namespace, around, limit)?)
}
