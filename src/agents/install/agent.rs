//! The coding agents, and the files in which each looks for MCP servers and hooks.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};
use clap::ValueEnum;

use super::super::places::Places;

/// A coding agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Agent {
    /// Claude Code: MCP server and hooks
    ClaudeCode,
    /// Cursor: MCP server
    Cursor,
    /// Codex: MCP server
    Codex,
    /// Visual Studio Code: MCP server
    #[value(name = "vscode")]
    VsCode,
    /// Windsurf: MCP server, user scope only
    Windsurf,
    /// Gemini CLI: MCP server
    GeminiCli,
    /// opencode: MCP server
    Opencode,
}

/// For whom an agent is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    /// The files in the repository of the current folder, which its other users share
    Project,
    /// The files in the home folder, for every project of this user
    User,
}

/// A file of an agent.
#[derive(Clone, Debug)]
pub(super) struct AgentFile {
    pub(super) path: PathBuf,
    pub(super) format: FileFormat,
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileFormat {
    /// JSON with an object of MCP servers under this name.
    JsonServers(&'static str),
    /// TOML with MCP servers in the tables of Codex.
    TomlServers,
    /// JSON with the hooks of Claude Code.
    ClaudeHooks,
}

impl Agent {
    /// Returns the name for a person.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::Codex => "Codex",
            Self::VsCode => "Visual Studio Code",
            Self::Windsurf => "Windsurf",
            Self::GeminiCli => "Gemini CLI",
            Self::Opencode => "opencode",
        }
    }

    /// Returns whether the agent runs in a terminal, and starts an MCP server in the folder of the project.
    pub(super) fn starts_server_in_project(self) -> bool {
        match self {
            Self::ClaudeCode | Self::Codex | Self::GeminiCli | Self::Opencode => true,
            Self::Cursor | Self::VsCode | Self::Windsurf => false,
        }
    }

    /// Returns how a configuration of this agent refers to the variable `CUEBASE_KEY` of the environment.
    pub(super) fn key_reference(self) -> &'static str {
        match self {
            Self::ClaudeCode => "${CUEBASE_KEY}",
            Self::Cursor | Self::VsCode | Self::Windsurf => "${env:CUEBASE_KEY}",
            Self::GeminiCli => "$CUEBASE_KEY",
            Self::Opencode => "{env:CUEBASE_KEY}",
            // Codex has a list of the variables that it passes on.
            Self::Codex => "CUEBASE_KEY",
        }
    }
}

/// Returns the files of an agent. `project` is the top folder of the project, for the scope of a project.
///
/// # Errors
///
/// For an agent without files in a project, and for a file of a project that is a link to a place outside of it.
pub(super) fn files(agent: Agent, project: Option<&Path>, places: &Places) -> anyhow::Result<Vec<AgentFile>> {
    let files = match project {
        Some(root) => project_files(agent, root)?,
        None => user_files(agent, places),
    };
    let mut found = Vec::new();
    for (path, format) in files {
        if let Some(root) = project {
            ensure_inside(root, &path)?;
        }
        found.push(AgentFile { path, format });
    }
    Ok(found)
}

/// Checks that a path in a project leads to no place outside of it. Somebody else may have made the path, or a folder on
/// it, a link to a file of the user.
fn ensure_inside(root: &Path, path: &Path) -> anyhow::Result<()> {
    let mut existing = path;
    while fs::symlink_metadata(existing).is_err() {
        match existing.parent() {
            Some(parent) => existing = parent,
            None => break,
        }
    }
    // A link to a missing file has no real path.
    let is_inside = match (fs::canonicalize(existing), fs::canonicalize(root)) {
        (Ok(target), Ok(root)) => target.starts_with(root),
        _ => false,
    };
    ensure!(
        is_inside,
        "{} is a link that leads out of {}: replace the link, or use --scope user",
        existing.display(),
        root.display()
    );
    Ok(())
}

fn project_files(agent: Agent, root: &Path) -> anyhow::Result<Vec<(PathBuf, FileFormat)>> {
    Ok(match agent {
        Agent::ClaudeCode => vec![
            (root.join(".mcp.json"), FileFormat::JsonServers("mcpServers")),
            (root.join(".claude/settings.json"), FileFormat::ClaudeHooks),
        ],
        Agent::Cursor => vec![(root.join(".cursor/mcp.json"), FileFormat::JsonServers("mcpServers"))],
        Agent::Codex => vec![(root.join(".codex/config.toml"), FileFormat::TomlServers)],
        Agent::VsCode => vec![(root.join(".vscode/mcp.json"), FileFormat::JsonServers("servers"))],
        Agent::Windsurf => bail!("Windsurf has no configuration in a project: use --scope user"),
        Agent::GeminiCli => vec![(root.join(".gemini/settings.json"), FileFormat::JsonServers("mcpServers"))],
        Agent::Opencode => vec![(opencode_file(root), FileFormat::JsonServers("mcp"))],
    })
}

fn user_files(agent: Agent, places: &Places) -> Vec<(PathBuf, FileFormat)> {
    let home = &places.home;
    match agent {
        Agent::ClaudeCode => {
            // The file of servers is inside of the folder only if the folder is set.
            let (servers, settings) = match &places.claude {
                Some(folder) => (folder.join(".claude.json"), folder.join("settings.json")),
                None => (home.join(".claude.json"), home.join(".claude/settings.json")),
            };
            vec![(servers, FileFormat::JsonServers("mcpServers")), (settings, FileFormat::ClaudeHooks)]
        }
        Agent::Cursor => vec![(home.join(".cursor/mcp.json"), FileFormat::JsonServers("mcpServers"))],
        Agent::Codex => vec![(places.codex.join("config.toml"), FileFormat::TomlServers)],
        Agent::VsCode => {
            let folder = if cfg!(target_os = "macos") {
                home.join("Library/Application Support")
            } else {
                places.config.clone()
            };
            vec![(folder.join("Code/User/mcp.json"), FileFormat::JsonServers("servers"))]
        }
        Agent::Windsurf => {
            vec![(home.join(".codeium/windsurf/mcp_config.json"), FileFormat::JsonServers("mcpServers"))]
        }
        Agent::GeminiCli => vec![(home.join(".gemini/settings.json"), FileFormat::JsonServers("mcpServers"))],
        Agent::Opencode => vec![(opencode_file(&places.config.join("opencode")), FileFormat::JsonServers("mcp"))],
    }
}

/// Returns opencode's file in a folder. It may have either of two names.
fn opencode_file(folder: &Path) -> PathBuf {
    let with_comments = folder.join("opencode.jsonc");
    if with_comments.exists() { with_comments } else { folder.join("opencode.json") }
}
