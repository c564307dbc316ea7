//! The command line: what can be asked for, and who does it.

mod backup;
mod confirmation;
mod data_directory;
mod demo;
mod evaluate;
mod health;
mod mcp;
mod models;
mod progress;
mod serve;
mod transfer;

use std::collections::BTreeMap;
use std::env::VarError;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use clap::{Args, CommandFactory, Parser, Subcommand};
use nix::sys::stat::{Mode, umask};
use serde_json::Value;

use self::data_directory::{DataUse, Init};
use crate::accounts::DEFAULT_ACCOUNT;
use crate::accounts::credentials::Environment;
use crate::config::{Config, SETTINGS, environment_name, misspelt};
use crate::control::{self, Command};
use crate::service::accounts::NewKey;
use crate::{allocator, telemetry};

/// Long-term memory for AI applications: conversations in, the right memory out.
#[derive(Parser)]
#[command(
    name = "cuebase",
    version,
    propagate_version = true,
    after_help = "Every option of a setting is also an \
environment variable (CUEBASE_DATA, CUEBASE_LISTEN, …) and a key of cuebase.toml; `cuebase config` lists them all."
)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Task,
}

/// Returns the description of the command line, from which help, completions and manual pages are made.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Options that every command takes.
#[derive(Args)]
struct Common {
    /// The data directory [default: ./cuebase-data]
    #[arg(long, global = true, value_name = "DIR")]
    data: Option<String>,
    /// A TOML file with settings [default: cuebase.toml, where there is one]
    #[arg(long, global = true, value_name = "FILE", env = "CUEBASE_CONFIG")]
    config: Option<PathBuf>,
}

/// Addresses of the commands that serve.
#[derive(Args)]
struct Listeners {
    /// Address of the API; port 0 takes a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Address of the dashboard, or off [default: 127.0.0.1:8081]
    #[arg(long, value_name = "ADDR")]
    dashboard_listen: Option<String>,
    /// Address of the animals API, or off [default: off]
    #[arg(long, value_name = "ADDR")]
    pets_listen: Option<String>,
    /// Address of the metrics, or off [default: off]
    #[arg(long, value_name = "ADDR")]
    metrics_listen: Option<String>,
}

#[derive(Subcommand)]
enum Task {
    /// Run the service until it is interrupted, then drain
    ///
    /// Creates the data directory where there is none, and prints a first key.
    /// Example: cuebase serve --data ./cuebase-data --listen 127.0.0.1:8080
    Serve {
        #[command(flatten)]
        listeners: Listeners,
    },
    /// Ingest a sample conversation, ask it questions, keep serving
    ///
    /// Uses a data directory of its own, removed at the end, where --data names none. Example: cuebase demo --once
    Demo {
        #[command(flatten)]
        listeners: Listeners,
        /// Exit after the answers
        #[arg(long)]
        once: bool,
    },
    /// Create, list or revoke API keys
    #[command(subcommand)]
    Keys(Keys),
    /// Mint a dashboard session and print it alone
    ///
    /// It is a credential for 12 hours. With --link, print a link instead that opens the running service's dashboard and
    /// signs in, once, within an hour. Example: cuebase token --link
    Token {
        #[command(flatten)]
        account: Account,
        #[command(flatten)]
        init: Init,
        /// A link to the dashboard that signs in once
        #[arg(long)]
        link: bool,
    },
    /// Create, list or delete namespaces
    #[command(subcommand)]
    Namespaces(NamespacesTask),
    /// List, suspend or resume accounts
    #[command(subcommand)]
    Accounts(Accounts),
    /// List, retry or drop the writes that failed for good
    #[command(subcommand, name = "dead-letters")]
    DeadLetters(DeadLetters),
    /// Copy everything into a folder, consistent also while the service works
    ///
    /// Each backup is a folder of its own, named by its time, whole in itself; what has not changed since the one before
    /// is linked, not copied. Example: cuebase backup /mnt/backups --keep 14
    Backup(backup::BackupOptions),
    /// Make a data directory of a backup
    ///
    /// Takes the newest backup in the folder, or the one that the folder is, checks every file of it and puts it where
    /// --data says; nothing there is written over. Example: cuebase restore /mnt/backups --data ./cuebase-data
    Restore(backup::RestoreOptions),
    /// Check records, repositories, indexes and media, and whether they agree
    ///
    /// Beside a running service it checks while that goes on. Fails when something is not as it should be.
    /// Example: cuebase doctor --repair
    Doctor(backup::DoctorOptions),
    /// Write a namespace to files: its history, its memories or its conversations
    ///
    /// The name decides the format: a file ending in .jsonl holds the conversations as they were sent, one ending in
    /// .bundle the whole history for `git clone`, anything else is a folder of markdown.
    /// Example: cuebase export notes.bundle --namespace notes
    Export(transfer::ExportOptions),
    /// Take files into a namespace: histories, markdown, conversations, what other services export
    ///
    /// What something is, is told from its content: a git bundle, a folder of markdown (of a namespace, of a Letta agent, or
    /// anybody's notes), a .jsonl file whose lines are bodies of POST /v1/memories, ChatGPT's or Claude's conversations.json
    /// or the folder that it was unpacked into, memories of mem0 as JSON. All is checked first; where something is wrong,
    /// nothing is imported. What was imported before is not imported again.
    /// Example: cuebase import --dry-run conversations.json --namespace chats
    Import(transfer::ImportOptions),
    /// Extract memories again from the kept conversations, with the models configured now
    ///
    /// Each conversation is queued, oldest first; its new memories replace the ones that came from it alone. Memories that
    /// were edited, forgotten, or rewritten by another conversation stay as they are, and nothing is made again of the
    /// messages behind them. Example: cuebase reextract --namespace notes
    Reextract(transfer::ReextractOptions),
    /// Print the API's description, OpenAPI 3.1 in JSON
    ///
    /// Example: cuebase openapi > openapi.json
    Openapi,
    /// Print completions for a shell
    ///
    /// Example: cuebase completions bash > ~/.local/share/bash-completion/completions/cuebase
    Completions {
        /// Which
        shell: clap_complete::Shell,
    },
    /// Write manual pages into a folder, one a command
    ///
    /// Example: cuebase man ~/.local/share/man/man1
    Man {
        /// The folder; made where it is not there
        folder: PathBuf,
    },
    /// Print every setting, its value and where it came from
    ///
    /// Secrets are masked. Example: CUEBASE_LOG=debug cuebase config
    Config,
    /// Ask the service whether it answers; fails where it does not
    ///
    /// Asks where --listen, or its setting, says that it listens. For the health checks of containers.
    /// Example: cuebase health --listen 127.0.0.1:8080
    Health {
        /// Address of the API [default: 127.0.0.1:8080]
        #[arg(long, value_name = "ADDR")]
        listen: Option<String>,
    },
    /// List the models that are configured, time each, and tell what is still to be embedded
    Models,
    /// Speak MCP on standard input and output: memory as tools for an agent
    ///
    /// With --url and --key it is a client of that server. Without, it works on the data directory: through the server
    /// that runs on it, or, where none does, by itself. A host's entry for it: {"command": "cuebase", "args": ["mcp",
    /// "--data", "/path/to/cuebase-data"]}. A running server speaks the same at /v1/mcp, with the same credentials.
    Mcp(mcp::Options),
    /// Measure retrieval quality on a file in the LoCoMo format
    ///
    /// Needs no data directory. Example: cuebase eval conversations.json
    Eval(evaluate::Options),
}

#[derive(Args)]
struct Account {
    /// Whose
    #[arg(long, value_name = "ID", default_value = DEFAULT_ACCOUNT)]
    account: String,
}

#[derive(Subcommand)]
enum Keys {
    /// Make a key and print it alone; it is shown this once
    ///
    /// Example: cuebase keys create --name app --namespace notes
    Create {
        #[command(flatten)]
        account: Account,
        #[command(flatten)]
        init: Init,
        /// A label
        #[arg(long, default_value = "")]
        name: String,
        /// live or test
        #[arg(long, default_value = "live", value_parser = environment)]
        env: Environment,
        /// Confine the key to a namespace, which must exist
        #[arg(long)]
        namespace: Option<String>,
    },
    /// List an account's keys
    List {
        #[command(flatten)]
        account: Account,
    },
    /// Revoke a key for good
    ///
    /// `cuebase keys list` shows the ids. Example: cuebase keys revoke 0123456789abcdef
    Revoke {
        #[command(flatten)]
        account: Account,
        /// The key's id, 16 hex characters
        id: String,
    },
}

#[derive(Subcommand)]
enum NamespacesTask {
    /// Make a namespace
    ///
    /// Example: cuebase namespaces create notes
    Create {
        #[command(flatten)]
        account: Account,
        #[command(flatten)]
        init: Init,
        /// 1 to 64 of a-z, 0-9 and -
        name: String,
    },
    /// List an account's namespaces
    List {
        #[command(flatten)]
        account: Account,
    },
    /// Delete a namespace with everything in it, for good
    ///
    /// Asks for its name on a terminal; elsewhere --yes is needed. Example: cuebase namespaces delete notes
    Delete {
        #[command(flatten)]
        account: Account,
        /// Delete without asking
        #[arg(long)]
        yes: bool,
        /// Which
        name: String,
    },
}

#[derive(Subcommand)]
enum Accounts {
    /// List the accounts
    List,
    /// Refuse an account's credentials
    ///
    /// Example: cuebase accounts suspend acme
    Suspend {
        /// Which
        account: String,
    },
    /// Accept an account's credentials again
    Resume {
        /// Which
        account: String,
    },
}

#[derive(Subcommand)]
enum DeadLetters {
    /// List them, oldest first, with the reason of each
    List,
    /// Put one back into the queue, or all of them
    ///
    /// Example: cuebase dead-letters retry --all --namespace notes
    Retry {
        /// The queue message id
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        id: Option<String>,
        /// Retry every dead letter that --account and --namespace select
        #[arg(long)]
        all: bool,
        /// With --all: the dead letters of one account [default: every account]
        #[arg(long, value_name = "ID", conflicts_with = "id")]
        account: Option<String>,
        /// With --all: the dead letters of namespaces of one name [default: every namespace]
        #[arg(long, value_name = "NAME", conflicts_with = "id")]
        namespace: Option<String>,
    },
    /// Forget one for good
    Drop {
        /// The queue message id
        id: String,
    },
}

fn environment(name: &str) -> Result<Environment, String> {
    Environment::parse(name).ok_or_else(|| "must be live or test".into())
}

/// Logs where a panic happened, without its message: that may quote the text that was worked on.
fn log_panic(panic: &std::panic::PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(place, "a thread panicked");
}

/// Reads the command line and does what it says.
pub fn main() -> ExitCode {
    allocator::share_heaps();
    std::panic::set_hook(Box::new(log_panic));
    let arguments = Arguments::parse();
    if !matches!(arguments.command, Task::Man { .. }) {
        // What is written holds memories and secrets: for its owner alone. Manual pages are for everybody.
        umask(Mode::S_IRWXG | Mode::S_IRWXO);
    }
    let done = arguments.resolve().and_then(|config| {
        let _telemetry = telemetry::start(&config)?;
        arguments.command.run(config)
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cuebase: {error:#}");
            ExitCode::FAILURE
        }
    }
}

impl Arguments {
    fn resolve(&self) -> anyhow::Result<Config> {
        let mut options = self.command.addresses();
        options.push(("data", &self.common.data));
        let mut given = BTreeMap::new();
        for (key, value) in options {
            if let Some(value) = value {
                given.insert(key, value.clone());
            }
        }
        let file = match &self.common.config {
            Some(file) => Some(file.clone()),
            None => Some(PathBuf::from("cuebase.toml")).filter(|file| file.exists()),
        };
        for (name, nearest) in misspelt(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())) {
            let advice = nearest.map_or(String::new(), |near| format!("; did you mean {near}?"));
            eprintln!("cuebase: {name} is no setting and is ignored{advice}");
        }
        for setting in &SETTINGS {
            let variable = environment_name(setting.key);
            // Ignored, it would be as if nobody had set it.
            ensure!(
                !matches!(std::env::var(&variable), Err(VarError::NotUnicode(_))),
                "setting {} is not UTF-8 (from environment {variable})",
                setting.key
            );
        }
        let environment = |name: &str| std::env::var(name).ok();
        Config::resolve(&given, environment, file.as_deref())
    }
}

impl Task {
    /// The settings of addresses that are options of this command.
    fn addresses(&self) -> Vec<(&'static str, &Option<String>)> {
        match self {
            Self::Serve { listeners } | Self::Demo { listeners, .. } => vec![
                ("listen", &listeners.listen),
                ("dashboard.listen", &listeners.dashboard_listen),
                ("pets.listen", &listeners.pets_listen),
                ("metrics.listen", &listeners.metrics_listen),
            ],
            Self::Health { listen } => vec![("listen", listen)],
            _ => Vec::new(),
        }
    }

    /// What this command needs of the data directory.
    fn data_use(&self) -> DataUse {
        match self {
            Self::Serve { .. } | Self::Demo { .. } | Self::Restore(_) => DataUse::Unchecked,
            Self::Config | Self::Health { .. } | Self::Models | Self::Eval(_) => DataUse::Unchecked,
            Self::Openapi | Self::Completions { .. } | Self::Man { .. } => DataUse::Unchecked,
            Self::Keys(Keys::Create { init, .. }) => DataUse::ExistingOr(*init),
            Self::Token { init, .. } => DataUse::ExistingOr(*init),
            Self::Namespaces(NamespacesTask::Create { init, .. }) => DataUse::ExistingOr(*init),
            Self::Import(options) => DataUse::ExistingOr(options.init),
            Self::Mcp(options) => options.data_use(),
            Self::Keys(_) | Self::Namespaces(_) | Self::Accounts(_) | Self::DeadLetters(_) => DataUse::Existing,
            Self::Backup(_) | Self::Doctor(_) | Self::Export(_) | Self::Reextract(_) => DataUse::Existing,
        }
    }

    fn run(self, config: Config) -> anyhow::Result<()> {
        data_directory::check(&config, self.data_use())?;
        let command = match self {
            Self::Serve { .. } => return serve::serve(config),
            Self::Demo { once, .. } => return demo::demo(config, once),
            Self::Config => return print_config(&config),
            Self::Health { .. } => return health::health(&config),
            Self::Models => return models::models(&config),
            Self::Mcp(options) => return mcp::mcp(config, options),
            Self::Openapi => return print_document(),
            Self::Completions { shell } => return print_completions(shell),
            Self::Man { folder } => return write_manual(&folder),
            Self::Backup(options) => return backup::backup(&config, &options),
            Self::Restore(options) => return backup::restore(&config, &options),
            Self::Export(options) => return transfer::export(&config, options),
            Self::Import(options) => return transfer::import(&config, options),
            Self::Reextract(options) => return transfer::reextract(&config, options),
            Self::Doctor(options) => return backup::doctor(&config, &options),
            Self::Eval(options) => return evaluate::evaluate(&options, &config),
            Self::Keys(Keys::Create { account, name, env, namespace, .. }) => {
                Command::CreateKey { account: account.account, key: NewKey { name, env, namespace } }
            }
            Self::Keys(Keys::List { account }) => Command::ListKeys { account: account.account },
            Self::Keys(Keys::Revoke { account, id }) => Command::RevokeKey { account: account.account, id },
            Self::Token { account, link: true, .. } => Command::Link { account: account.account },
            Self::Token { account, link: false, .. } => Command::Token { account: account.account },
            Self::Namespaces(NamespacesTask::Create { account, name, .. }) => {
                Command::CreateNamespace { account: account.account, name }
            }
            Self::Namespaces(NamespacesTask::List { account }) => Command::ListNamespaces { account: account.account },
            Self::Namespaces(NamespacesTask::Delete { account, yes, name }) => {
                if !yes {
                    confirmation::confirm_deletion(&config, &account.account, &name)?;
                }
                Command::DeleteNamespace { account: account.account, name }
            }
            Self::DeadLetters(DeadLetters::List) => Command::ListDeadLetters,
            Self::DeadLetters(DeadLetters::Retry { id: Some(id), all: false, .. }) => Command::RetryDeadLetter { id },
            // Without an id there is --all: the parser sees to that.
            Self::DeadLetters(DeadLetters::Retry { account, namespace, .. }) => {
                Command::RetryDeadLetters { account, namespace }
            }
            Self::DeadLetters(DeadLetters::Drop { id }) => Command::DropDeadLetter { id },
            Self::Accounts(Accounts::List) => Command::ListAccounts,
            Self::Accounts(Accounts::Suspend { account }) => Command::SuspendAccount { account, suspended: true },
            Self::Accounts(Accounts::Resume { account }) => Command::SuspendAccount { account, suspended: false },
        };
        let secret = matches!(command, Command::CreateKey { .. } | Command::Token { .. });
        let answer = control::run(&config, command, &|_| {})?;
        print_answer(&answer, secret)
    }
}

/// A key or a token stands alone on its line; a list is a JSON object a line; anything else is one JSON object.
fn print_answer(answer: &Value, secret: bool) -> anyhow::Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    match answer {
        Value::Array(items) => {
            for item in items {
                writeln!(out, "{item}")?;
            }
        }
        Value::String(text) => writeln!(out, "{text}")?,
        other if secret => writeln!(out, "{}", other["key"].as_str().unwrap_or_default())?,
        other => writeln!(out, "{other}")?,
    }
    Ok(())
}

fn print_config(config: &Config) -> anyhow::Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    for ((key, value, origin), setting) in config.origins.iter().zip(&SETTINGS) {
        writeln!(out, "{key} = {value:?}  # {origin}; {} {}", environment_name(key), setting.help)?;
    }
    Ok(())
}

fn print_completions(shell: clap_complete::Shell) -> anyhow::Result<()> {
    use std::io::Write;
    // Not straight to stdout: there it panics where nobody reads to the end.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "cuebase", &mut script);
    Ok(std::io::stdout().lock().write_all(&script)?)
}

fn write_manual(folder: &Path) -> anyhow::Result<()> {
    let told = || format!("the manual cannot be written to {}", folder.display());
    std::fs::create_dir_all(folder).with_context(told)?;
    clap_mangen::generate_to(command(), folder).with_context(told)
}

fn print_document() -> anyhow::Result<()> {
    use std::io::Write;
    let text = serde_json::to_string_pretty(&crate::api::document::document()?)?;
    writeln!(std::io::stdout().lock(), "{text}")?;
    Ok(())
}
