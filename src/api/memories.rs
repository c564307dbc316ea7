//! Memories by path: `/v1/memories/{path}`, `/v1/tree`, `/v1/topics`, `/v1/graph`.

use cuebase_storage::memory_file::MemoryPath;
use cuebase_storage::records::SentTime;
use hyper::StatusCode;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::future_times::warn_of_time;
use super::query::QueryString;
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::schema::values;
use super::values::{directory, lines, memory_path};
use super::views::memories::{TopicsView, TreeView, WrittenMemoryView};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::ingest::direct::DirectWrite;
use crate::memory::fields::request_type;
use crate::memory::request::{invalid_body, moment_of, occurred, zone_or_utc};
use crate::memory::{metadata, tags};
use crate::namespace::names::parse_name;
use crate::service::memories::MemoryReadOptions;

/// Longest content, in bytes.
const CONTENT_BYTES_MAX: usize = 1 << 20;
/// Most cues of one memory.
const CUES_MAX: usize = 64;
/// Most characters of one cue.
const CUE_CHARS_MAX: usize = 1000;
/// Most memories that one memory replaces.
const SUPERSEDES_MAX: usize = 32;
/// Most relations that a graph follows from a memory, one after the other.
const DEPTH_MAX: usize = 3;
/// Nodes of a graph when no limit is given.
const NODES_DEFAULT: usize = 500;
/// Most nodes of a graph.
const NODES_MAX: usize = 10_000;

request_type! {
    /// The body of `POST /v1/memories/{path}`.
    #[derive(Debug, Deserialize, JsonSchema)]
    pub(super) struct DirectWriteRequest {
        /// Markdown text of the memory.
        #[schemars(required, regex(pattern = r"\S"))]
        content: Option<String>,
        #[schemars(default, with = "values::Tags")]
        tags: Option<Vec<String>> => InvalidTag,
        #[schemars(default, with = "values::Metadata")]
        metadata: Option<Map<String, Value>> => InvalidMetadata,
        #[schemars(default, with = "values::GivenTime")]
        occurred_at: Option<SentTime> => InvalidTime,
        #[schemars(default, with = "values::Zone")]
        timezone: Option<String>,
        /// Texts that queries are compared with to find the memory.
        #[schemars(length(max = CUES_MAX), inner(length(max = CUE_CHARS_MAX)))]
        cues: Option<Vec<String>>,
        #[schemars(default, with = "values::GivenTime")]
        expires_at: Option<SentTime> => InvalidTime,
        /// When the memory begins to hold.
        #[schemars(default, with = "values::Refined<values::GivenTime>")]
        valid_from: Option<SentTime> => InvalidTime,
        /// When the memory stops holding; after `valid_from`.
        #[schemars(default, with = "values::Refined<values::GivenTime>")]
        valid_until: Option<SentTime> => InvalidTime,
        /// Paths of the memories that this one replaces. They are no longer current from `valid_from` on.
        #[schemars(with = "Option<Vec<values::Path>>", length(max = SUPERSEDES_MAX))]
        supersedes: Option<Vec<String>> => InvalidPath,
        #[schemars(default, with = "values::WantedName")]
        namespace: Option<String> => InvalidNamespace,
        /// Use `occurred_at`.
        #[schemars(default, with = "values::Refined<values::GivenTime>", extend("deprecated" = true))]
        date: Option<SentTime> => InvalidTime,
    }
}

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
    Reply::ok(&request.app.reads.memory(request.account(), &namespace, &memory_path(path)?, &options)?)
}

/// `POST /v1/memories/{path}`.
pub fn write(request: &AuthenticatedRequest) -> Result<Reply> {
    let body: DirectWriteRequest = request.json()?;
    let parameter = request.query.last("namespace");
    if let Some(name) = parameter {
        // The name must be valid even where the body names another namespace.
        parse_name(name)?;
    }
    let write = body.direct_write(memory_path(request.parameter(0))?)?;
    warn_of_time(request, "occurred_at", write.occurred);
    let name = request.writable_name(body.namespace.as_deref().or(parameter))?;
    let app = &request.app;
    let written =
        app.namespaces.with_existing(request.account(), &name, |namespace| app.writes.write(namespace, &write))?;
    let status = if written.is_new { StatusCode::CREATED } else { StatusCode::OK };
    let path = write.path.as_str();
    Reply::json(status, &WrittenMemoryView { path, namespace: &name, commit: &written.commit })
}

impl DirectWriteRequest {
    /// Checks the request.
    fn direct_write(&self, path: MemoryPath) -> Result<DirectWrite> {
        let content = self.content.as_deref().unwrap_or("");
        if content.trim().is_empty() {
            return Err(invalid_body("content is missing: send the memory's text as markdown"));
        }
        if content.len() > CONTENT_BYTES_MAX {
            let message = format!("content has {} bytes, the maximum is {CONTENT_BYTES_MAX}", content.len());
            return Err(Error::TooLarge { code: ErrorCode::PayloadTooLarge, message });
        }
        let zone = zone_or_utc(self.timezone.as_deref())?;
        let period = self.period(&zone)?;
        Ok(DirectWrite {
            supersedes: self.superseded_paths(&path)?,
            path,
            content: content.to_owned(),
            tags: tags::check("tags", self.tags.clone())?,
            occurred: occurred(self.occurred_at.as_ref(), self.date.as_ref(), &zone)?,
            cues: lines("cues", self.cues.as_deref().unwrap_or_default(), CUES_MAX, CUE_CHARS_MAX)?,
            expires_at: time_of("expires_at", self.expires_at.as_ref(), &zone)?,
            metadata: metadata::check(self.metadata.as_ref())?,
            valid_from: period.from,
            valid_until: period.until,
        })
    }

    /// Checks when the memory holds.
    fn period(&self, zone: &TimeZone) -> Result<Period> {
        let from = time_of("valid_from", self.valid_from.as_ref(), zone)?;
        let until = time_of("valid_until", self.valid_until.as_ref(), zone)?;
        if let (Some(from), Some(until)) = (from, until)
            && until <= from
        {
            let message = format!("valid_until: {until} must be after valid_from, which is {from}");
            return Err(Error::invalid(ErrorCode::InvalidTime, message));
        }
        Ok(Period { from, until })
    }

    /// Checks the paths that the memory at a path replaces.
    fn superseded_paths(&self, own: &MemoryPath) -> Result<Vec<String>> {
        let sent = self.supersedes.as_deref().unwrap_or_default();
        if sent.len() > SUPERSEDES_MAX {
            let message = format!("supersedes has {} paths, the maximum is {SUPERSEDES_MAX}", sent.len());
            return Err(Error::invalid(ErrorCode::InvalidPath, message));
        }
        let mut paths = Vec::with_capacity(sent.len());
        for (index, text) in sent.iter().enumerate() {
            let path: MemoryPath = match text.parse() {
                Ok(path) => path,
                Err(error) => return Err(invalid_superseded(index, &format!("{text:?}: {error}"))),
            };
            if path == *own {
                return Err(invalid_superseded(index, "a memory cannot replace itself"));
            }
            paths.push(path.to_string());
        }
        paths.sort();
        paths.dedup();
        Ok(paths)
    }
}

/// When a memory holds, as its author set it.
struct Period {
    from: Option<Timestamp>,
    until: Option<Timestamp>,
}

/// Checks the time of a field. `name` is the field that the error names.
fn time_of(name: &str, time: Option<&SentTime>, zone: &TimeZone) -> Result<Option<Timestamp>> {
    match moment_of(name, time, zone)? {
        Some(moment) => Ok(Some(moment.at)),
        None => Ok(None),
    }
}

fn invalid_superseded(index: usize, reason: &str) -> Error {
    Error::invalid(ErrorCode::InvalidPath, format!("supersedes[{index}]: {reason}"))
}

/// `DELETE /v1/memories/{path}`.
pub fn forget(request: &AuthenticatedRequest) -> Result<Reply> {
    let path = memory_path(request.parameter(0))?;
    let namespace = request.write_namespace()?;
    let id = request.app.writes.forget(&namespace, &path, Some(request.sender()))?;
    Reply::accepted(id, &namespace.name)
}

/// `GET /v1/tree`.
pub fn tree(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.read_namespace()?;
    let folder = request.query.get("path").unwrap_or("").trim_end_matches('/');
    if !folder.is_empty() {
        directory("path", folder)?;
    }
    let entries = request.app.reads.tree(request.account(), &namespace, folder)?;
    Reply::ok(&TreeView { namespace: &namespace, path: folder, entries })
}

/// `GET /v1/topics`.
pub fn topics(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.read_namespace()?;
    let topics = request.app.reads.topics(request.account(), &namespace)?;
    Reply::ok(&TopicsView { namespace: &namespace, topics })
}

/// The query of `GET /v1/graph`.
struct GraphQuery {
    /// The memory around which the graph is.
    path: Option<MemoryPath>,
    /// Relations that are followed from it.
    depth: usize,
    /// Most nodes.
    limit: usize,
}

impl GraphQuery {
    fn of(query: &QueryString) -> Result<Self> {
        let path = match query.get("path") {
            Some(path) => Some(memory_path(path)?),
            None => None,
        };
        Ok(Self {
            path,
            depth: query.number("depth", 1..=DEPTH_MAX, ErrorCode::InvalidDepth)?.unwrap_or(1),
            limit: query.number("limit", 1..=NODES_MAX, ErrorCode::InvalidLimit)?.unwrap_or(NODES_DEFAULT),
        })
    }
}

/// `GET /v1/graph`.
pub fn graph(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.read_namespace()?;
    let GraphQuery { path, depth, limit } = GraphQuery::of(&request.query)?;
    let around = path.as_ref().map(|path| (path, depth));
    Reply::ok(&request.app.reads.graph(request.account(), &namespace, around, limit)?)
}
