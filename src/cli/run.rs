//! The entry point of the binary: reads the arguments, resolves the settings and runs one command.

use std::env::VarError;
use std::io::Write;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use cuebase_storage::NamespaceName;
use nix::sys::stat::{Mode, umask};
use serde_json::Value;

use super::arguments::{
    AccountsCommand, Arguments, CliCommand, DeadLettersCommand, KeysCommand, NamespacesCommand, command,
};
use super::environment::environment_variable;
use super::hook::HookSettings;
use super::{
    backup, bind, closed_output, confirmation, data_directory, demo, erase, evaluate, health, hook, install, mcp,
    migrate, model_change, models, nodes, serve, transfer,
};
use crate::accounts::NewKey;
use crate::accounts::parse_account;
use crate::config::{Config, Origin, ResolvedValue, SETTINGS, environment_name, misspelt};
use crate::control::{self, Command};
use crate::documents::reader;
use crate::error::with_causes;
use crate::namespace::names::parse_name;
use crate::{allocator, telemetry};

/// Parses the command line and runs the command.
pub fn main() -> ExitCode {
    allocator::share_heaps();
    std::panic::set_hook(Box::new(log_panic));
    let arguments = match Arguments::from_command_line() {
        Ok(arguments) => arguments,
        // An agent may be newer than this program. Its hook must not fail, which would stop the agent.
        Err(error) if error.use_stderr() && hook::is_called() => {
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        Err(error) => error.exit(),
    };
    if !matches!(arguments.command, CliCommand::Man { .. }) {
        // Created files hold memories and secrets, so only their owner may read them. Manual pages are for everybody.
        umask(Mode::S_IRWXG | Mode::S_IRWXO);
    }
    let settings = arguments.settings();
    if let CliCommand::Hook(options) = arguments.command {
        return hook::hook(options, HookSettings { command_line: settings, file: arguments.common.config });
    }
    let ended = catch_unwind(AssertUnwindSafe(|| match arguments.command {
        CliCommand::ReadDocument => reader::run(),
        _ => run(arguments),
    }));
    let error = match &ended {
        Ok(Err(error)) => Some(error),
        _ => None,
    };
    if let Some(status) = closed_output::status(error) {
        return status;
    }
    match ended {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            eprintln!("cuebase: {}", with_causes(&error));
            ExitCode::FAILURE
        }
        Err(panic) => resume_unwind(panic),
    }
}

/// Logs the location of a panic. Its message is left out: it may quote user data.
fn log_panic(panic: &PanicHookInfo<'_>) {
    if closed_output::is_cause_of(panic) {
        return;
    }
    let place = match panic.location() {
        Some(location) => location.to_string(),
        None => String::new(),
    };
    tracing::error!(place, "a thread panicked");
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    let config = resolve_config(&arguments)?;
    let _telemetry = telemetry::start(&config)?;
    data_directory::check(&config, arguments.command.data_use())?;
    run_command(config, arguments.command)
}

/// Resolves the settings from the command line, the environment and the settings files of the command.
fn resolve_config(arguments: &Arguments) -> anyhow::Result<Config> {
    warn_of_misspelt_settings();
    for setting in &SETTINGS {
        let variable = environment_name(setting.key);
        // Without this check the value would be ignored silently.
        ensure!(
            !matches!(std::env::var(&variable), Err(VarError::NotUnicode(_))),
            "setting {} is not UTF-8 (from environment {variable})",
            setting.key
        );
    }
    let rule = arguments.command.file_rule();
    let named = arguments.common.config.as_deref();
    let config = Config::resolve_for(rule, &arguments.settings(), environment_variable, named)?;
    for ResolvedValue { origin, .. } in &config.origins {
        if let Origin::Withheld { variable, address, file } = origin {
            let file = file.display();
            eprintln!(
                "cuebase: {variable} is not sent to the {address} of {file}: name the file with --config if it is yours"
            );
        }
    }
    Ok(config)
}

/// Prints a warning for each environment variable that looks like a setting but is none.
fn warn_of_misspelt_settings() {
    let mut names = Vec::new();
    for (name, _) in std::env::vars_os() {
        if let Ok(name) = name.into_string() {
            names.push(name);
        }
    }
    for (name, nearest) in misspelt(names.into_iter()) {
        let advice = match nearest {
            Some(nearest) => format!("; did you mean {nearest}?"),
            None => String::new(),
        };
        eprintln!("cuebase: unknown setting {name} is ignored{advice}");
    }
}

fn run_command(config: Config, command: CliCommand) -> anyhow::Result<()> {
    match command {
        CliCommand::Serve { .. } => serve::serve(config),
        CliCommand::Demo { once, .. } => demo::demo(config, once),
        CliCommand::Mcp(options) => mcp::mcp(config, &options),
        CliCommand::Keys(command) => run_keys_command(&config, command),
        CliCommand::Token { account, link: true, .. } => {
            run_and_print(&config, Command::Link { account: account.id()? })
        }
        CliCommand::Token { account, link: false, .. } => {
            run_and_print(&config, Command::Token { account: account.id()? })
        }
        CliCommand::Namespaces(command) => run_namespaces_command(&config, command),
        CliCommand::Accounts(command) => run_accounts_command(&config, command),
        CliCommand::DeadLetters(command) => run_dead_letters_command(&config, command),
        CliCommand::Backup(options) => backup::backup(&config, &options),
        CliCommand::Restore(options) => backup::restore(&config, &options),
        CliCommand::Migrate(command) => migrate::migrate(&config, &command),
        CliCommand::Doctor(options) => backup::doctor(&config, &options),
        CliCommand::Export(options) => transfer::export(&config, options),
        CliCommand::Import(options) => transfer::import(&config, &options),
        CliCommand::Reextract(options) => transfer::reextract(&config, options),
        CliCommand::Erase(options) => erase::erase(&config, options),
        CliCommand::Config => print_config(&config),
        CliCommand::Health { .. } => health::health(&config),
        // `main` runs these, without settings and without a log.
        CliCommand::Hook(_) | CliCommand::ReadDocument => Ok(()),
        CliCommand::Install(options) => install::install(&config, options),
        CliCommand::Uninstall(target) => install::uninstall(&target),
        CliCommand::Bind(options) => bind::bind(&options),
        CliCommand::Models { command: None } => models::models(&config),
        CliCommand::Models { command: Some(command) } => model_change::run(&config, command),
        CliCommand::Nodes => nodes::nodes(&config),
        CliCommand::Eval(options) => evaluate::evaluate(&options, &config),
        CliCommand::Openapi => print_openapi(),
        CliCommand::Completions { shell } => print_completions(shell),
        CliCommand::Man { folder } => write_manual(&folder),
    }
}

fn run_keys_command(config: &Config, command: KeysCommand) -> anyhow::Result<()> {
    match command {
        KeysCommand::Create { account, name, env, namespace, .. } => {
            let namespace = parse_optional_name(namespace)?;
            let key = NewKey { name, env, namespace };
            let created = control::run(config, Command::CreateKey { account: account.id()?, key }, &|_| {})?;
            // Only the key, so that a script can read it.
            writeln!(std::io::stdout().lock(), "{}", created["key"].as_str().unwrap_or_default())?;
            Ok(())
        }
        KeysCommand::List { account } => run_and_print(config, Command::ListKeys { account: account.id()? }),
        KeysCommand::Revoke { account, id } => run_and_print(config, Command::RevokeKey { account: account.id()?, id }),
    }
}

fn parse_optional_name(name: Option<String>) -> anyhow::Result<Option<NamespaceName>> {
    match name {
        Some(name) => Ok(Some(parse_name(&name)?)),
        None => Ok(None),
    }
}

fn run_namespaces_command(config: &Config, command: NamespacesCommand) -> anyhow::Result<()> {
    let command = match command {
        NamespacesCommand::Create { account, name, .. } => {
            Command::CreateNamespace { account: account.id()?, name: parse_name(&name)? }
        }
        NamespacesCommand::List { account } => Command::ListNamespaces { account: account.id()? },
        NamespacesCommand::Delete { account, yes, name } => {
            let name = parse_name(&name)?;
            if !yes {
                confirmation::confirm_deletion(config, &account.id()?, &name)?;
            }
            Command::DeleteNamespace { account: account.id()?, name }
        }
    };
    run_and_print(config, command)
}

fn run_accounts_command(config: &Config, command: AccountsCommand) -> anyhow::Result<()> {
    let command = match command {
        AccountsCommand::List => Command::ListAccounts,
        AccountsCommand::Suspend { account } => {
            Command::SuspendAccount { account: parse_account(&account)?, suspended: true }
        }
        AccountsCommand::Resume { account } => {
            Command::SuspendAccount { account: parse_account(&account)?, suspended: false }
        }
    };
    run_and_print(config, command)
}

fn run_dead_letters_command(config: &Config, command: DeadLettersCommand) -> anyhow::Result<()> {
    let command = match command {
        DeadLettersCommand::List => Command::ListDeadLetters,
        DeadLettersCommand::Retry { id: Some(id), all: false, .. } => Command::RetryDeadLetter { id },
        // The parser requires either an id or --all.
        DeadLettersCommand::Retry { account, namespace, .. } => {
            let account = match account {
                Some(account) => Some(parse_account(&account)?),
                None => None,
            };
            Command::RetryDeadLetters { account, namespace: parse_optional_name(namespace)? }
        }
        DeadLettersCommand::Drop { id } => Command::DropDeadLetter { id },
    };
    run_and_print(config, command)
}

fn run_and_print(config: &Config, command: Command) -> anyhow::Result<()> {
    print_answer(&control::run(config, command, &|_| {})?)
}

/// Prints a list as one JSON object per line, a text without quotes, and any other value as one line of JSON.
fn print_answer(answer: &Value) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match answer {
        Value::Array(items) => {
            for item in items {
                writeln!(out, "{item}")?;
            }
        }
        Value::String(text) => writeln!(out, "{text}")?,
        other => writeln!(out, "{other}")?,
    }
    Ok(())
}

fn print_config(config: &Config) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for ResolvedValue { setting, value, origin } in &config.origins {
        let variable = environment_name(setting.key);
        writeln!(out, "{} = {value:?}  # {origin}; {variable} {}", setting.key, setting.help)?;
    }
    Ok(())
}

fn print_completions(shell: clap_complete::Shell) -> anyhow::Result<()> {
    // Through a buffer: clap_complete panics when a write to standard output fails, for example on a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "cuebase", &mut script);
    Ok(std::io::stdout().lock().write_all(&script)?)
}

fn write_manual(folder: &Path) -> anyhow::Result<()> {
    let failed = format!("cannot write the manual pages to {}", folder.display());
    std::fs::create_dir_all(folder).context(failed.clone())?;
    clap_mangen::generate_to(command(), folder).context(failed)
}

fn print_openapi() -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(&crate::api::document::document()?)?;
    writeln!(std::io::stdout().lock(), "{text}")?;
    Ok(())
}
