//! `cuebase install` and `cuebase uninstall`: add Cuebase to a coding agent, and remove it.
//!
//! Both show each change as a diff and ask before they write.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use clap::Args;

use super::confirmation::confirm_changes;
use super::data_directory::DataUse;
use super::environment::environment_variable;
use crate::agents::install::{Agent, Change, Scope, ServerSource, Setup, plan_install, plan_uninstall};
use crate::agents::places::Places;
use crate::agents::project::{NamedNamespace, Project};
use crate::config::Config;
use crate::namespace::names::parse_name;

/// The name of the program, as a shared file has it: each user has it somewhere else.
const PROGRAM: &str = "cuebase";

/// Options of `cuebase install`.
#[derive(Args)]
pub(super) struct InstallOptions {
    #[command(flatten)]
    target: TargetOptions,
    /// URL of the server [default: the server on the data directory]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// File that holds the API key for --url [default: the variable CUEBASE_KEY of the agent]
    #[arg(long, value_name = "FILE", requires = "url")]
    key_file: Option<PathBuf>,
    /// One namespace for all projects [default: one per project]
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Add no hooks: the agent gets tools only
    #[arg(long)]
    no_hooks: bool,
}

/// Options that say which files are changed, and whether the command asks.
#[derive(Args)]
pub(super) struct TargetOptions {
    /// Coding agent
    #[arg(value_enum)]
    agent: Agent,
    /// Whose files to change
    #[arg(long, value_enum, default_value = "user")]
    scope: Scope,
    /// Write without confirmation
    #[arg(long)]
    yes: bool,
    /// Show the changes and write nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
}

/// What happened to the changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Written,
    NotWritten,
}

impl InstallOptions {
    /// Returns what the command requires of the data directory: nothing if `--url` is given.
    pub(super) fn data_use(&self) -> DataUse {
        match self.url {
            Some(_) => DataUse::Unchecked,
            None => DataUse::Existing,
        }
    }
}

/// Adds Cuebase to an agent.
pub(super) fn install(config: &Config, options: InstallOptions) -> anyhow::Result<()> {
    let InstallOptions { target, url, key_file, namespace, no_hooks } = options;
    let places = Places::resolve(environment_variable)?;
    let mut project = project(target.scope, &places)?;
    let source = match url {
        Some(url) => url_source(url, key_file)?,
        None => ServerSource::DataDirectory(std::path::absolute(&config.data)?),
    };
    let namespace = match namespace {
        Some(name) => Some(parse_name(&name)?),
        None => None,
    };
    let binding = match (&namespace, &project) {
        // The project uses the namespace of the command line.
        (Some(_), _) | (None, None) => None,
        (None, Some(project)) => project.unbound().cloned(),
    };
    let project_namespace = match (&binding, &project) {
        (Some(binding), _) => Some(binding.namespace.clone()),
        (None, project) => project.as_ref().map(|project| project.namespace.clone()),
    };
    let setup = Setup { command: program(target.scope)?, source, namespace, project_namespace, uses_hooks: !no_hooks };
    let root = project.as_ref().map(|project| project.root.as_path());
    let changes = plan_install(target.agent, root, &setup, &places)?;
    let outcome = carry_out(&changes, binding.as_ref(), &target, &places)?;
    if outcome == Outcome::Written
        && binding.is_some()
        && let Some(project) = &mut project
    {
        project.bind(&places)?;
    }
    if setup.namespace.is_none() && target.scope == Scope::User {
        print_notice(&places);
    }
    if outcome == Outcome::Written {
        println!("{} has a memory after its next start.", target.agent.name());
        if setup.uses_key_variable() {
            println!("It passes the variable CUEBASE_KEY on: set it in the environment that starts the agent.");
        }
    }
    Ok(())
}

/// Prints a line if the current project names a namespace that it does not use. Errors in the files of the project are
/// ignored, because the installation needs nothing else from them.
fn print_notice(places: &Places) {
    let Ok(folder) = std::env::current_dir() else { return };
    if let Ok(project) = Project::at(&folder, None, places)
        && let Some(notice) = project.notice()
    {
        println!("{notice}");
    }
}

/// Removes Cuebase from an agent.
pub(super) fn uninstall(target: &TargetOptions) -> anyhow::Result<()> {
    let places = Places::resolve(environment_variable)?;
    let project = project(target.scope, &places)?;
    let root = project.as_ref().map(|project| project.root.as_path());
    let changes = plan_uninstall(target.agent, root, &places)?;
    carry_out(&changes, None, target, &places)?;
    Ok(())
}

/// Returns the project of the current folder, for the scope of a project.
fn project(scope: Scope, places: &Places) -> anyhow::Result<Option<Project>> {
    match scope {
        Scope::Project => Ok(Some(Project::at(&std::env::current_dir()?, None, places)?)),
        Scope::User => Ok(None),
    }
}

fn url_source(url: String, key_file: Option<PathBuf>) -> anyhow::Result<ServerSource> {
    let is_valid = url.starts_with("http://") || url.starts_with("https://");
    ensure!(is_valid, "invalid --url {url:?}: it must begin with http:// or https://");
    let key_file = match key_file {
        Some(file) => Some(std::path::absolute(file)?),
        None => None,
    };
    Ok(ServerSource::Url { url, key_file })
}

/// Returns how an agent starts this program: by its path, because an agent with windows has another `PATH`. If `PATH`
/// leads to this program, the path in it stays right after an update.
fn program(scope: Scope) -> anyhow::Result<String> {
    if scope == Scope::Project {
        return Ok(PROGRAM.to_owned());
    }
    let own = std::fs::canonicalize(std::env::current_exe()?)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    for folder in std::env::split_paths(&path) {
        let candidate = folder.join(PROGRAM);
        if candidate.is_absolute() && is_same_file(&candidate, &own) {
            return Ok(candidate.display().to_string());
        }
    }
    Ok(own.display().to_string())
}

fn is_same_file(candidate: &Path, own: &Path) -> bool {
    std::fs::canonicalize(candidate).is_ok_and(|found| found == own)
}

/// Shows the changes, and the namespace that the project would be bound to. Asks, and writes.
fn carry_out(
    changes: &[Change],
    binding: Option<&NamedNamespace>,
    target: &TargetOptions,
    places: &Places,
) -> anyhow::Result<Outcome> {
    let mut count = 0;
    if let Some(NamedNamespace { namespace, origin }) = binding {
        println!(
            "the project gets access to the namespace {namespace} ({}), as with `cuebase bind`",
            origin.describe()
        );
        count += 1;
    }
    for change in changes {
        if change.is_empty() {
            println!("{} stays as it is", change.path.display());
        } else {
            print!("{}", change.diff());
            count += 1;
        }
    }
    if count == 0 {
        println!("Nothing to change.");
        return Ok(Outcome::NotWritten);
    }
    if target.dry_run {
        println!("Nothing was written.");
        return Ok(Outcome::NotWritten);
    }
    if !target.yes {
        confirm_changes(count)?;
    }
    for change in changes {
        if !change.is_empty() {
            change.apply(places)?;
            println!("wrote {}", change.path.display());
        }
    }
    Ok(Outcome::Written)
}
