//! The definition of the command line: commands, arguments, options and their help texts.
//!
//! Help, completions, manual pages and `docs/reference/cli.md` are generated from these types. Options that set
//! settings are declared with the settings; `setting_options.rs` adds them. `run.rs` runs the commands.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand};
use cuebase_storage::records::Environment;

use super::account::AccountOption;
use super::data_directory::{DataUse, Init};
use super::environment::environment_variable;
use super::model_change::ModelsCommand;
use super::setting_options::{EveryCommand, ServingCommands, SettingOptions, with_default};
use super::{backup, bind, erase, evaluate, hook, install, mcp, transfer};
use crate::config::{FileRule, Key, setting};

/// The text below the options in `cuebase --help`.
const GETTING_STARTED: &str = "\
Getting started:
  cuebase demo --once               Remember a sample conversation and answer questions about it
  cuebase serve                     Start the server; the first start prints an API key
  cuebase keys create --name app    Create an API key for an application
  cuebase import FILE               Import conversations, notes or the export of another service
  cuebase install claude-code       Give a coding agent a memory
  cuebase token --link              Print a link that signs in to the dashboard
  cuebase backup DIR --keep 14      Back up all data, with or without a running server
  cuebase doctor                    Check that all data is intact and consistent

While a server runs on the data directory, commands are sent to it. Otherwise they open the data
directory themselves.

A setting is taken from the command line, an environment variable (CUEBASE_DATA, CUEBASE_LISTEN, …), a
settings file or its default, in this order. `cuebase config` prints every setting. The settings file is
the cuebase.toml of the working directory. The commands for coding agents (mcp, hook, install, bind) never
read that file. They read ~/.config/cuebase/cuebase.toml, then cuebase.toml in the data directory, which
is ~/.local/share/cuebase by default.";

/// The text below the options in `cuebase import --help`.
const IMPORT_FORMATS: &str = "\
Formats:
  bundle     Git bundle with the history of a namespace
  markdown   Folder of markdown as `cuebase export` writes it
  notes      Any other folder of markdown, such as a vault of Obsidian
  rules      Project with CLAUDE.md, .claude/rules or .cursor/rules, or a memory folder of Claude Code
  documents  PDF, DOCX, HTML, Markdown, plain text or source code; a folder of them needs --format
  jsonl      .jsonl file; each line is a body of POST /v1/memories
  chatgpt    conversations.json of ChatGPT, or the unpacked folder of its export
  claude     conversations.json of Claude, or the unpacked folder of its export
  mem0       Memories of mem0 as JSON, or the URL of a mem0 server
  zep        Facts, messages and episodes of Zep or Graphiti as JSON
  hindsight  Memories of a Hindsight bank as JSON
  letta      Memory repository of a Letta agent";

/// Long-term memory for AI applications: conversations in, the right memory out.
#[derive(Parser)]
#[command(name = "cuebase", version, propagate_version = true, after_help = GETTING_STARTED)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) common: CommonOptions,
    #[command(subcommand)]
    pub(super) command: CliCommand,
}

/// Returns the description of the command line, from which help, completions and manual pages are generated.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Options that every command takes.
#[derive(Args)]
pub(super) struct CommonOptions {
    #[command(flatten)]
    settings: SettingOptions<EveryCommand>,
    /// TOML file with settings [default: see `cuebase --help`]
    #[arg(long, global = true, value_name = "FILE", env = "CUEBASE_CONFIG")]
    pub(super) config: Option<PathBuf>,
}

#[derive(Subcommand)]
pub(super) enum CliCommand {
    /// Run the server until SIGINT or SIGTERM
    ///
    /// Creates the data directory if it does not exist. The first start prints an API key, a link to the dashboard and
    /// a first request. On a stop signal, running requests are finished before the process exits.
    ///
    /// Example: cuebase serve --data ./cuebase-data --listen 127.0.0.1:8080
    Serve {
        #[command(flatten)]
        listeners: SettingOptions<ServingCommands>,
    },
    /// Ingest a sample conversation, answer questions about it, and keep serving
    ///
    /// Without --data, uses a temporary data directory, which is removed at the end.
    ///
    /// Example: cuebase demo --once
    Demo {
        #[command(flatten)]
        listeners: SettingOptions<ServingCommands>,
        /// Exit after the answers
        #[arg(long)]
        once: bool,
    },
    /// Create, list or revoke API keys
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Create a dashboard session and print its token
    ///
    /// The token is a credential for 12 hours. With --link, prints a link to the dashboard of the running server
    /// instead. The link signs in once, within an hour.
    ///
    /// Example: cuebase token --link
    Token {
        #[command(flatten)]
        account: AccountOption,
        #[command(flatten)]
        init: Init,
        /// Print a link to the dashboard that signs in once
        #[arg(long)]
        link: bool,
    },
    /// Create, list or delete namespaces
    #[command(subcommand)]
    Namespaces(NamespacesCommand),
    /// List, suspend or resume accounts
    #[command(subcommand)]
    Accounts(AccountsCommand),
    /// List, retry or drop writes that failed permanently
    #[command(subcommand, name = "dead-letters")]
    DeadLetters(DeadLettersCommand),
    /// Create a consistent backup, even while the server is running
    ///
    /// Each backup is a complete folder named by its time. Files that did not change since the previous backup are hard
    /// links to it, so that a backup takes only the space of what is new.
    ///
    /// Example: cuebase backup /mnt/backups --keep 14
    Backup(backup::BackupOptions),
    /// Restore a data directory from a backup
    ///
    /// Restores the given backup, or the newest one if a folder of backups is given. Every file is verified. The data
    /// directory must be empty or missing; existing data is never overwritten.
    ///
    /// Example: cuebase restore /mnt/backups --data ./cuebase-data
    Restore(backup::RestoreOptions),
    /// Copy all data between a data directory and a cluster
    ///
    /// A cluster is several servers (nodes) that share the PostgreSQL database of storage.postgres.url and the bucket
    /// of storage.bucket. Both settings are required, in the environment or the settings file, whatever storage.engine
    /// is. Endpoint, region and credentials of the bucket are read from AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID
    /// and AWS_SECRET_ACCESS_KEY.
    ///
    /// Copies accounts, keys, usage, queued writes, conversations, memories with their history, uploaded files, and the
    /// vectors that models computed. Indexes are not copied: the first start rebuilds them.
    ///
    /// Stop the server and all nodes first. The target must be empty: migrate before the first start of a node, or into
    /// a new folder. The source stays as it is. At the end, both sides are compared: records byte by byte, heads, packs
    /// and sizes of files. An interrupted migration continues when the same command is run again, and nothing starts on
    /// its target before it is finished.
    #[command(subcommand)]
    Migrate(MigrateCommand),
    /// Check that records, repositories, indexes and media are intact and consistent
    ///
    /// Can run while the server serves requests. Fails if it finds a problem.
    ///
    /// Example: cuebase doctor --repair
    Doctor(backup::DoctorOptions),
    /// Export a namespace: its history, its memories or its conversations
    ///
    /// The format follows from the output's name: .bundle is the history as a git bundle for `git clone`, .jsonl is the
    /// ingested conversations, and any other name is a folder of markdown files.
    ///
    /// Example: cuebase export notes.bundle --namespace notes
    Export(transfer::ExportOptions),
    /// Import histories, markdown, conversations or the exports of other services into a namespace
    ///
    /// The format is detected from the content; use --format to override.
    ///
    /// All files are checked first: if one is invalid, nothing is imported. Repeating an import adds only what is new.
    ///
    /// From the URL of a mem0 server, fetches the memories of the users that --user names. Each user needs a separate
    /// namespace: --namespace for one user, --user USER=NAMESPACE for several. If the server requires an API key, set
    /// MEM0_API_KEY in the environment.
    ///
    /// Example: cuebase import --dry-run conversations.json --namespace chats
    ///
    /// Example: cuebase import http://localhost:8888 --user alice --namespace alice
    #[command(after_help = IMPORT_FORMATS)]
    Import(transfer::ImportOptions),
    /// Extract memories again from the kept conversations, with the current models
    ///
    /// Queues each conversation, oldest first. New memories replace the ones that came from the same conversation only.
    /// Memories that were edited, forgotten, or rewritten by another conversation stay as they are; the messages behind
    /// them are not extracted again.
    ///
    /// With --dry-run it prints the differences and changes nothing.
    ///
    /// Example: cuebase reextract --namespace notes --dry-run
    Reextract(transfer::ReextractOptions),
    /// Erase text for good: memories with their history, and the conversations that they were extracted from
    ///
    /// Waits until the text is in no file of the data directory. Writes that were accepted before are ingested first.
    /// Commits get new ids. Backups, clones and exports that were made before still have the text.
    ///
    /// Asks for confirmation on a terminal. Without a terminal, --yes is required.
    ///
    /// Example: cuebase erase --namespace notes --session 2026-05-04-support
    Erase(erase::EraseOptions),
    /// Print the passages of the file on standard input; the server and imports start this
    #[command(hide = true)]
    ReadDocument,
    /// Print the OpenAPI 3.1 description of the API as JSON
    ///
    /// Example: cuebase openapi > openapi.json
    Openapi,
    /// Print shell completions
    ///
    /// Example: cuebase completions bash > ~/.local/share/bash-completion/completions/cuebase
    Completions {
        /// Shell to generate completions for
        shell: clap_complete::Shell,
    },
    /// Write one manual page per command
    ///
    /// Example: cuebase man ~/.local/share/man/man1
    Man {
        /// Folder for the pages; created if it does not exist
        folder: PathBuf,
    },
    /// Print every setting with its value and origin
    ///
    /// Secrets are masked.
    ///
    /// Example: CUEBASE_LOG=debug cuebase config
    Config,
    /// Check whether the server responds; fails if it does not
    ///
    /// Sends a request to the configured listen address. Intended for the health checks of containers.
    ///
    /// Example: cuebase health --listen 127.0.0.1:8080
    Health {
        #[arg(long, value_name = "ADDR", help = with_default("Listen address of the API", &setting::general::listen))]
        listen: Option<String>,
    },
    /// List the configured models, measure their latency, and show pending embeddings; or change the built-in model
    ///
    /// Without a command, lists the models, and fails if one does not respond.
    Models {
        #[command(subcommand)]
        command: Option<ModelsCommand>,
    },
    /// List the nodes that share the database, with their addresses, versions and numbers of namespaces
    ///
    /// Marks the node of the server that runs on the data directory. If the data directory belongs to a single process,
    /// prints that instead.
    ///
    /// Example: cuebase nodes
    Nodes,
    /// Serve the MCP tools on standard input and output, for AI agents
    ///
    /// With --url and --key, connects to that server. Otherwise uses the data directory, through the server that runs
    /// on it if there is one. A running server also serves MCP over HTTP at /v1/mcp, with the same credentials.
    ///
    /// Entry for the configuration of an MCP host: {"command": "cuebase", "args": ["mcp", "--data",
    /// "/path/to/cuebase-data"]}
    Mcp(mcp::McpOptions),
    /// Add Cuebase to a coding agent: its MCP server, and for Claude Code also hooks
    ///
    /// Shows each change as a diff and asks before it writes. All other content of the files stays as it is. No file
    /// gets an API key.
    ///
    /// Without --url, the agent uses the server that runs on the data directory. With --url, it reads the key from
    /// --key-file, or from the variable CUEBASE_KEY of its environment.
    ///
    /// Example: cuebase install claude-code --data ./cuebase-data
    Install(install::InstallOptions),
    /// Remove Cuebase from a coding agent
    ///
    /// Shows each change as a diff and asks before it writes. A file that nobody changed since `cuebase install` gets
    /// back every byte.
    ///
    /// Example: cuebase uninstall claude-code
    Uninstall(install::TargetOptions),
    /// Let the current project use the namespace that its .cuebase.toml or its git remote names
    ///
    /// Anybody who writes a repository can name any of your namespaces in it. So a project uses the namespace of its
    /// folder until you run this command in it once. The permission is for this folder and this namespace.
    ///
    /// Example: cuebase bind
    Bind(bind::BindOptions),
    /// Run a hook of a coding agent; `cuebase install` adds these calls to its configuration
    ///
    /// Reads the JSON of the agent on standard input, and prints memories as the JSON that the agent expects. When
    /// something fails, prints nothing, exits with success and adds a line to ~/.local/state/cuebase/hooks.log. Does
    /// nothing if CUEBASE_HOOKS is off. `cuebase hook check` prints the namespace and the server of the current folder.
    ///
    /// Example: cuebase hook check --data ./cuebase-data
    Hook(hook::HookOptions),
    /// Measure retrieval quality on your own questions or on a public set
    ///
    /// Ingests the texts into a temporary index, asks the questions, and prints how well the hits answer them. The
    /// format is detected from the content. Needs no data directory and no server.
    ///
    /// Example: cuebase eval questions.jsonl --report report.html
    #[command(after_help = evaluate::INPUTS)]
    Eval(evaluate::EvaluateOptions),
}

#[derive(Subcommand)]
pub(super) enum KeysCommand {
    /// Create an API key and print it; it cannot be shown again
    ///
    /// Example: cuebase keys create --name app --namespace notes
    Create {
        #[command(flatten)]
        account: AccountOption,
        #[command(flatten)]
        init: Init,
        /// Label shown in lists of keys
        #[arg(long, default_value = "")]
        name: String,
        /// Environment of the key: live or test
        #[arg(long, default_value = "live", value_parser = parse_environment)]
        env: Environment,
        /// Existing namespace to restrict the key to [default: the whole account]
        #[arg(long)]
        namespace: Option<String>,
    },
    /// List the keys of an account
    List {
        #[command(flatten)]
        account: AccountOption,
    },
    /// Revoke a key permanently
    ///
    /// `cuebase keys list` shows the key IDs.
    ///
    /// Example: cuebase keys revoke 0123456789abcdef
    Revoke {
        #[command(flatten)]
        account: AccountOption,
        /// Key ID, 16 hex characters
        id: String,
    },
}

#[derive(Subcommand)]
pub(super) enum NamespacesCommand {
    /// Create a namespace
    ///
    /// Example: cuebase namespaces create notes
    Create {
        #[command(flatten)]
        account: AccountOption,
        #[command(flatten)]
        init: Init,
        /// Namespace name: 1 to 64 characters of a-z, 0-9 and -
        name: String,
    },
    /// List the namespaces of an account
    List {
        #[command(flatten)]
        account: AccountOption,
    },
    /// Delete a namespace permanently, with its memories and their history
    ///
    /// Asks for confirmation on a terminal. Without a terminal, --yes is required.
    ///
    /// Example: cuebase namespaces delete notes
    Delete {
        #[command(flatten)]
        account: AccountOption,
        /// Delete without confirmation
        #[arg(long)]
        yes: bool,
        /// Namespace name
        name: String,
    },
}

#[derive(Subcommand)]
pub(super) enum AccountsCommand {
    /// List the accounts
    List,
    /// Reject the credentials of an account
    ///
    /// Example: cuebase accounts suspend acme
    Suspend {
        /// Account ID
        account: String,
    },
    /// Accept the credentials of a suspended account again
    Resume {
        /// Account ID
        account: String,
    },
}

#[derive(Subcommand)]
pub(super) enum MigrateCommand {
    /// Copy a data directory into an empty database and bucket
    ///
    /// Afterwards, start the nodes with storage.engine = postgres. Do not start a server on the data directory any
    /// more: it does not receive what the nodes write. Keep it as a backup, or remove it.
    ///
    /// Example: CUEBASE_STORAGE_POSTGRES_URL=postgres://cuebase@db/cuebase CUEBASE_STORAGE_BUCKET=s3://memories
    /// cuebase migrate to-cluster --data ./cuebase-data
    ToCluster,
    /// Copy a database and its bucket into an empty or missing data directory
    ///
    /// Usage that was counted by each node is summed. Afterwards, start one server on the data directory with
    /// storage.engine = rocksdb.
    ///
    /// Example: CUEBASE_STORAGE_POSTGRES_URL=postgres://cuebase@db/cuebase CUEBASE_STORAGE_BUCKET=s3://memories
    /// cuebase migrate to-directory --data ./cuebase-data
    ToDirectory,
}

#[derive(Subcommand)]
pub(super) enum DeadLettersCommand {
    /// List dead letters with their reasons, oldest first
    List,
    /// Put one dead letter, or all of them, back into the queue
    ///
    /// Example: cuebase dead-letters retry --all --namespace notes
    Retry {
        /// Message ID in the queue
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        id: Option<String>,
        /// Retry all dead letters that match --account and --namespace
        #[arg(long)]
        all: bool,
        /// With --all: account ID [default: all accounts]
        #[arg(long, value_name = "ID", conflicts_with = "id")]
        account: Option<String>,
        /// With --all: namespace name [default: all namespaces]
        #[arg(long, value_name = "NAME", conflicts_with = "id")]
        namespace: Option<String>,
    },
    /// Delete a dead letter permanently
    Drop {
        /// Message ID in the queue
        id: String,
    },
}

fn parse_environment(name: &str) -> Result<Environment, String> {
    name.parse().map_err(|_| "must be live or test".to_owned())
}

impl Arguments {
    /// Parses the command line.
    pub(super) fn from_command_line() -> Result<Self, clap::Error> {
        let mut arguments = Self::try_parse()?;
        let names_data = arguments.common.settings.values.contains_key(&setting::general::data.key);
        let server = match &mut arguments.command {
            CliCommand::Mcp(options) => &mut options.server,
            CliCommand::Hook(options) => &mut options.server,
            _ => return Ok(arguments),
        };
        // The command line counts before the environment: --data before CUEBASE_URL.
        if !names_data {
            server.add_environment(environment_variable);
        }
        Ok(arguments)
    }

    /// Returns the settings that the command line sets.
    pub(super) fn settings(&self) -> BTreeMap<Key, String> {
        let mut settings = self.common.settings.values.clone();
        match &self.command {
            CliCommand::Serve { listeners } | CliCommand::Demo { listeners, .. } => {
                settings.extend(listeners.values.clone());
            }
            CliCommand::Health { listen: Some(listen) } => {
                settings.insert(setting::general::listen.key, listen.clone());
            }
            // The cluster is opened with any engine, and by no node, so its address does not matter.
            CliCommand::Migrate(_) => {
                settings.insert(setting::storage::engine.key, "postgres".to_owned());
                settings.insert(setting::cluster::advertise.key, "127.0.0.1:1".to_owned());
            }
            _ => {}
        }
        settings
    }
}

impl CliCommand {
    /// Returns which settings files this command reads. A command that people or agents run in any folder must not read
    /// a file of that folder, so only the server and the commands of its operator do.
    pub(super) fn file_rule(&self) -> FileRule {
        match self {
            Self::Serve { .. } => FileRule::Serving,
            Self::Demo { .. } | Self::Keys(_) | Self::Token { .. } | Self::Namespaces(_) => FileRule::Administration,
            Self::Accounts(_) | Self::DeadLetters(_) | Self::Backup(_) | Self::Restore(_) => FileRule::Administration,
            Self::Migrate(_) | Self::Doctor(_) | Self::Export(_) | Self::Import(_) => FileRule::Administration,
            Self::Reextract(_) | Self::Erase(_) | Self::Config | Self::Health { .. } => FileRule::Administration,
            Self::Models { .. } | Self::Nodes | Self::Eval(_) => FileRule::Administration,
            Self::Mcp(_) | Self::Hook(_) | Self::Install(_) => FileRule::User,
            Self::Bind(_) | Self::Uninstall(_) | Self::ReadDocument | Self::Openapi => FileRule::NoFile,
            Self::Completions { .. } | Self::Man { .. } => FileRule::NoFile,
        }
    }

    /// Returns what this command requires of the data directory.
    pub(super) fn data_use(&self) -> DataUse {
        match self {
            Self::Serve { .. } | Self::Demo { .. } | Self::Restore(_) => DataUse::Unchecked,
            Self::Models { command: Some(_) } => DataUse::Existing,
            Self::Config | Self::Health { .. } | Self::Models { command: None } | Self::Eval(_) => DataUse::Unchecked,
            Self::ReadDocument | Self::Openapi | Self::Completions { .. } | Self::Man { .. } => DataUse::Unchecked,
            Self::Hook(_) | Self::Uninstall(_) | Self::Bind(_) => DataUse::Unchecked,
            Self::Migrate(MigrateCommand::ToDirectory) => DataUse::Unchecked,
            Self::Migrate(MigrateCommand::ToCluster) => DataUse::Existing,
            Self::Install(options) => options.data_use(),
            Self::Keys(KeysCommand::Create { init, .. }) => DataUse::ExistingOr(*init),
            Self::Token { init, .. } => DataUse::ExistingOr(*init),
            Self::Namespaces(NamespacesCommand::Create { init, .. }) => DataUse::ExistingOr(*init),
            Self::Import(options) => DataUse::ExistingOr(options.init),
            Self::Mcp(options) => options.data_use(),
            Self::Keys(_) | Self::Namespaces(_) | Self::Accounts(_) | Self::DeadLetters(_) => DataUse::Existing,
            Self::Backup(_) | Self::Doctor(_) | Self::Export(_) | Self::Reextract(_) => DataUse::Existing,
            Self::Erase(_) | Self::Nodes => DataUse::Existing,
        }
    }
}
