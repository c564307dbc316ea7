//! The changes that add Cuebase to an agent, and those that remove it.

use std::path::Path;

use anyhow::{Context, bail};

use super::super::edit::{json, section};
use super::super::places::{Places, read};
use super::agent::{Agent, AgentFile, FileFormat, files};
use super::change::{Backup, Change};
use super::entry::{SERVER, json_entry, toml_entry};
use super::hooks;
use super::receipt::{Original, ReceiptFiles};
use super::setup::Setup;

/// The text of a JSON file that does not exist yet.
const EMPTY_OBJECT: &str = "{}\n";

/// Returns the changes that add Cuebase, one for each file of the agent. `project` is the top folder of the project,
/// for the scope of a project. A file that has the setup already stays as it is.
///
/// # Errors
///
/// For a file that cannot be read or is not in its format; the message has the path and the line.
pub fn plan_install(
    agent: Agent,
    project: Option<&Path>,
    setup: &Setup,
    places: &Places,
) -> anyhow::Result<Vec<Change>> {
    let mut changes = Vec::new();
    for file in files(agent, project, places)? {
        let change = install_change(agent, &file, setup, places);
        changes.push(change.with_context(|| format!("cannot change {}", file.path.display()))?);
    }
    Ok(changes)
}

/// Returns the changes that remove Cuebase, one for each file of the agent.
///
/// # Errors
///
/// As for [`plan_install`].
pub fn plan_uninstall(agent: Agent, project: Option<&Path>, places: &Places) -> anyhow::Result<Vec<Change>> {
    let mut changes = Vec::new();
    for file in files(agent, project, places)? {
        let change = uninstall_change(&file, places);
        changes.push(change.with_context(|| format!("cannot change {}", file.path.display()))?);
    }
    Ok(changes)
}

fn install_change(agent: Agent, file: &AgentFile, setup: &Setup, places: &Places) -> anyhow::Result<Change> {
    if file.format == FileFormat::ClaudeHooks && !setup.uses_hooks {
        return uninstall_change(file, places);
    }
    let before = read(&file.path)?;
    if let Some(text) = &before
        && !text.trim().is_empty()
        && is_current(agent, file.format, text, setup)?
    {
        let after = before.clone();
        return Ok(Change { path: file.path.clone(), before, after, backup: Backup::Keep(None) });
    }
    let original = original(file, before.as_deref(), places)?;
    let base = match original.as_deref() {
        Some(text) if !text.trim().is_empty() => text,
        _ if file.format == FileFormat::TomlServers => "",
        _ => EMPTY_OBJECT,
    };
    let after = Some(added(agent, file.format, base, setup)?);
    Ok(Change { path: file.path.clone(), before, after, backup: Backup::Keep(original) })
}

fn uninstall_change(file: &AgentFile, places: &Places) -> anyhow::Result<Change> {
    let before = read(&file.path)?;
    let after = original(file, before.as_deref(), places)?;
    Ok(Change { path: file.path.clone(), before, after, backup: Backup::Drop })
}

/// Returns the content of a file without Cuebase: byte for byte what it was, if nobody changed the file since.
fn original(file: &AgentFile, current: Option<&str>, places: &Places) -> anyhow::Result<Option<String>> {
    let Some(current) = current else { return Ok(None) };
    let receipt = ReceiptFiles::of(&file.path, places);
    match receipt.original(current)? {
        Some(Original::Absent) => return Ok(None),
        Some(Original::Text(text)) => return Ok(Some(text)),
        None => {}
    }
    if current.trim().is_empty() {
        return Ok(Some(current.to_owned()));
    }
    let rest = removed(file.format, current)?;
    let was_absent = receipt.read()?.is_some_and(|receipt| !receipt.existed());
    if was_absent && is_blank(file.format, &rest)? { Ok(None) } else { Ok(Some(rest)) }
}

fn is_current(agent: Agent, format: FileFormat, text: &str, setup: &Setup) -> anyhow::Result<bool> {
    match format {
        FileFormat::JsonServers(table) => Ok(json::parse(text)?[table][SERVER] == json_entry(agent, setup)?.to_value()),
        FileFormat::TomlServers => {
            section::parse(text)?;
            Ok(section::section(text)? == Some(toml_entry(agent, setup)?.as_str()))
        }
        FileFormat::ClaudeHooks => hooks::is_current(text, setup),
    }
}

fn added(agent: Agent, format: FileFormat, text: &str, setup: &Setup) -> anyhow::Result<String> {
    match format {
        FileFormat::JsonServers(table) => json::set(text, &[table, SERVER], &json_entry(agent, setup)?),
        FileFormat::TomlServers => {
            let others = section::parse(text)?;
            if let Some(servers) = others.get("mcp_servers")
                && servers.get(SERVER).is_some()
            {
                bail!(
                    "it has a table [mcp_servers.{SERVER}] that `cuebase install` did not write: remove the table first"
                );
            }
            let text = section::add(text, &toml_entry(agent, setup)?)?;
            section::parse(&text).context("the file cannot take another table at its end")?;
            Ok(text)
        }
        FileFormat::ClaudeHooks => hooks::add(text, setup),
    }
}

fn removed(format: FileFormat, text: &str) -> anyhow::Result<String> {
    match format {
        FileFormat::JsonServers(table) => {
            json::parse(text)?;
            json::unset(text, &[table, SERVER])
        }
        FileFormat::TomlServers => section::remove(text),
        FileFormat::ClaudeHooks => hooks::remove(text),
    }
}

/// Returns whether a file holds nothing.
fn is_blank(format: FileFormat, text: &str) -> anyhow::Result<bool> {
    match format {
        FileFormat::TomlServers => Ok(text.trim().is_empty()),
        FileFormat::JsonServers(_) | FileFormat::ClaudeHooks => {
            Ok(json::parse(text)?.as_object().is_some_and(serde_json::Map::is_empty))
        }
    }
}
