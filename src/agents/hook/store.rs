//! Sends the new part of a session's transcript to the server.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use hyper::Method;
use serde_json::{Value, json};

use super::super::connection::{Connection, remedy};
use super::super::places::Places;
use super::super::project::Project;
use super::input::HookInput;
use super::progress::{Progress, ProgressRecord};
use super::transcript::{Part, PartBounds, read_part};
use crate::error_codes::ErrorCode;
use crate::file_errors::explained;

/// The tag of memories that a hook stores.
const TAG: &str = "claude-code";

/// Stores what was said since the last time. What a server did not accept is sent again by the next hook.
pub(super) fn store(
    input: &HookInput,
    project: &Project,
    connection: &mut Connection,
    places: &Places,
) -> anyhow::Result<()> {
    let transcript = input.transcript_path.as_deref().context("the input of the hook has no transcript_path")?;
    let record = ProgressRecord::lock(places, &input.session_id)?;
    let mut progress = record.read()?.unwrap_or_default();
    if length(transcript)? < progress.stored {
        // The file was replaced. What it held before is stored, and nobody knows what is new.
        progress = Progress { stored: length(transcript)?, ..Progress::default() };
        return record.write(&progress);
    }
    loop {
        let bounds = PartBounds { begin: progress.stored, end: progress.sending, since: progress.since };
        let part = read_part(transcript, bounds)?;
        if part.end == progress.stored {
            return Ok(());
        }
        if !part.messages.is_empty() {
            progress.sending = Some(part.end);
            record.write(&progress)?;
            send(connection, project, &input.session_id, &part)?;
        }
        progress = Progress { stored: part.end, sending: None, ..progress };
        record.write(&progress)?;
    }
}

fn length(transcript: &Path) -> anyhow::Result<u64> {
    let metadata = fs::metadata(transcript).map_err(explained("read", transcript))?;
    Ok(metadata.len())
}

/// Sends the messages of a part. Creates the namespace at the first time.
fn send(connection: &mut Connection, project: &Project, session: &str, part: &Part) -> anyhow::Result<()> {
    let mut body = json!({"namespace": project.namespace, "messages": part.messages, "tags": [TAG]});
    if !session.is_empty() {
        body["session_id"] = json!(session);
    }
    let mut response = connection.send(Method::POST, "/v1/memories", Some(&body))?;
    if ErrorCode::from_text(response.code()) == Some(ErrorCode::NamespaceNotFound) {
        create_namespace(connection, project)?;
        response = connection.send(Method::POST, "/v1/memories", Some(&body))?;
    }
    if response.status == 202 {
        return Ok(());
    }
    bail!("the server does not accept the conversation: {}{}", response.describe(), remedy(&response))
}

fn create_namespace(connection: &mut Connection, project: &Project) -> anyhow::Result<()> {
    let body: Value = json!({"name": project.namespace});
    let response = connection.send(Method::POST, "/v1/namespaces", Some(&body))?;
    if matches!(response.status, 200 | 201) {
        return Ok(());
    }
    let name = &project.namespace;
    bail!("the namespace {name} cannot be created: {}{}", response.describe(), remedy(&response))
}
