//! `cuebase hook`: runs when a coding agent calls a hook.
//!
//! A hook must never disturb the agent. So it has a deadline, after which the process exits whatever it waits for. When
//! something fails, it exits with success and prints nothing. It opens no data directory.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;

use super::account::AccountOption;
use super::environment::environment_variable;
use super::server_options::ServerOptions;
use crate::agents::connection::Connection;
use crate::agents::hook::{self, HookEvent, HookInput, log};
use crate::agents::places::Places;
use crate::agents::project::Project;
use crate::config::{Config, FileRule, Key};
use crate::error::with_causes;

/// Bytes of the input, at most. It holds a prompt or the last answer.
const INPUT_BYTES_MAX: u64 = 16 << 20;
/// The variable that switches hooks off.
const SWITCH: &str = "CUEBASE_HOOKS";

/// Options of `cuebase hook`.
#[derive(Args)]
pub(super) struct HookOptions {
    /// Event of the agent
    #[arg(value_enum)]
    event: HookEvent,
    #[command(flatten)]
    pub(super) server: ServerOptions,
    /// Namespace of the memories [default: that of the project]
    #[arg(long, env = "CUEBASE_NAMESPACE", value_name = "NAME")]
    namespace: Option<String>,
    #[command(flatten)]
    account: AccountOption,
    /// Longest time for the hook, milliseconds [default: 95 for user-prompt, 400 for session-start, 5000 for others]
    #[arg(long, env = "CUEBASE_HOOK_TIMEOUT_MS", value_name = "MS")]
    timeout_ms: Option<u64>,
}

/// The settings of the command line.
pub(super) struct HookSettings {
    pub(super) command_line: BTreeMap<Key, String>,
    /// The settings file, if one is named.
    pub(super) file: Option<PathBuf>,
}

impl HookOptions {
    fn deadline(&self) -> Duration {
        match self.timeout_ms {
            Some(milliseconds) => Duration::from_millis(milliseconds),
            None => self.event.deadline(),
        }
    }
}

/// Returns whether the command line begins with `hook`.
pub(super) fn is_called() -> bool {
    std::env::args_os().nth(1).is_some_and(|word| word == "hook")
}

/// Runs a hook. Only `cuebase hook check` can fail.
pub(super) fn hook(options: HookOptions, settings: HookSettings) -> ExitCode {
    if options.event == HookEvent::Check {
        return check(&options, &settings);
    }
    if std::env::var(SWITCH).is_ok_and(|value| value.eq_ignore_ascii_case("off")) {
        return ExitCode::SUCCESS;
    }
    let event = options.event;
    let deadline = options.deadline();
    let (sender, receiver) = mpsc::channel();
    let worker = std::thread::Builder::new().name("hook".into()).spawn(move || {
        // After the deadline nobody receives the result.
        let _ = sender.send(run(&options, &settings));
    });
    let result = match worker {
        Ok(_) => receiver.recv_timeout(deadline),
        Err(_) => Err(RecvTimeoutError::Disconnected),
    };
    let result = match result {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => Err(anyhow!("not finished within {} ms", deadline.as_millis())),
        Err(RecvTimeoutError::Disconnected) => Err(anyhow!("the thread of the hook failed")),
    };
    match result {
        // The agent may have closed the pipe.
        Ok(Some(text)) => drop(writeln!(io::stdout().lock(), "{text}")),
        Ok(None) => {}
        Err(error) => report(event, &with_causes(&error)),
    }
    ExitCode::SUCCESS
}

/// Writes an error or a notice to the log and to standard error.
fn report(event: HookEvent, message: &str) {
    drop(writeln!(io::stderr().lock(), "cuebase: {message}"));
    if let Ok(places) = Places::resolve(environment_variable) {
        log::note(&places, event.name(), message);
    }
}

/// Reads the input and carries out the event.
fn run(options: &HookOptions, settings: &HookSettings) -> anyhow::Result<Option<String>> {
    let places = Places::resolve(environment_variable)?;
    let mut text = Vec::new();
    io::stdin().lock().take(INPUT_BYTES_MAX).read_to_end(&mut text)?;
    let input: HookInput = match serde_json::from_slice(&text) {
        Ok(input) => input,
        // The message of the error may quote the input.
        Err(error) => {
            let (line, column) = (error.line(), error.column());
            return Err(anyhow!("the input is not the JSON of a hook: line {line}, column {column}"));
        }
    };
    let folder = folder(&input)?;
    let mut project = Project::at(&folder, options.namespace.as_deref(), &places)?;
    if !project.uses_hooks {
        return Ok(None);
    }
    let transcripts = input.transcript_path.as_deref().and_then(Path::parent);
    project.keep_binding(&places, &folder, transcripts)?;
    if options.event == HookEvent::SessionStart
        && let Some(notice) = project.notice()
    {
        report(options.event, &notice);
    }
    let mut connection = connect(options, settings, &places)?;
    hook::run(options.event, &input, &project, &mut connection, &places)
}

/// Returns the folder that the agent was started in. Its current folder may be another one by now.
fn folder(input: &HookInput) -> anyhow::Result<PathBuf> {
    if let Some(folder) = std::env::var_os("CLAUDE_PROJECT_DIR") {
        return Ok(folder.into());
    }
    match &input.cwd {
        Some(folder) => Ok(folder.clone()),
        None => Ok(std::env::current_dir()?),
    }
}

fn connect(options: &HookOptions, settings: &HookSettings, places: &Places) -> anyhow::Result<Connection> {
    let timeout = options.deadline();
    if let Some(url) = options.server.url() {
        return Ok(Connection::with_key(url, options.server.key()?, timeout));
    }
    let file = settings.file.as_deref();
    let config = Config::resolve_for(FileRule::User, &settings.command_line, environment_variable, file)?;
    Connection::through_data_directory(config, options.account.id()?, places, timeout)
}

/// Prints what a hook in the current folder would use.
fn check(options: &HookOptions, settings: &HookSettings) -> ExitCode {
    match checked(options, settings) {
        Ok(text) => {
            drop(writeln!(io::stdout().lock(), "{text}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            drop(writeln!(io::stderr().lock(), "cuebase: {}", with_causes(&error)));
            ExitCode::FAILURE
        }
    }
}

fn checked(options: &HookOptions, settings: &HookSettings) -> anyhow::Result<String> {
    let places = Places::resolve(environment_variable)?;
    let folder = folder(&HookInput::default())?;
    let mut project = Project::at(&folder, options.namespace.as_deref(), &places)?;
    project.keep_binding(&places, &folder, None)?;
    let mut connection = connect(options, settings, &places)?;
    let found = hook::run(HookEvent::Check, &HookInput::default(), &project, &mut connection, &places)?;
    let mut text = format!("{}\nlog        {}", found.unwrap_or_default(), log::path(&places).display());
    if let Some(notice) = project.notice() {
        text = format!("{text}\nunbound    {notice}");
    }
    Ok(text)
}
