//! `cuebase mcp`: serves the MCP tools on standard input and output.
//!
//! The tools call a remote server, the server that runs on the data directory, or a server inside this process.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use cuebase_storage::AccountId;
use hyper::Method;
use rmcp::ServiceExt;
use serde_json::json;

use super::data_directory::{DataUse, Init};
use super::environment::environment_variable;
use super::serve::{client_runtime, fit_into_memory, runtime, start};
use super::server_options::ServerOptions;
use crate::accounts::parse_account;
use crate::agents::hook::log;
use crate::agents::places::Places;
use crate::agents::project::Project;
use crate::app::App;
use crate::config::{Config, ListenAddress};
use crate::control::{self, Command};
use crate::error::with_causes;
use crate::mcp::Tools;
use crate::mcp::api::{Api, ApiRequest, RemoteApi};

/// Longest wait for the creation of a namespace. The host waits for the start of the tools meanwhile.
const CREATION_TIMEOUT: Duration = Duration::from_secs(2);

/// Options of `cuebase mcp`.
#[derive(Args)]
pub(super) struct McpOptions {
    #[command(flatten)]
    pub(super) server: ServerOptions,
    /// Namespace of tool calls that name none
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Use the namespace of the project in the current folder for these calls, and create it if it does not exist
    #[arg(long, conflicts_with = "namespace")]
    project: bool,
    /// Account ID, used with a data directory
    #[arg(long, value_name = "ID", default_value = "default")]
    account: String,
    #[command(flatten)]
    init: Init,
}

impl McpOptions {
    /// Returns what the command requires of the data directory: nothing if `--url` is given.
    pub(super) fn data_use(&self) -> DataUse {
        match self.server.url() {
            Some(_) => DataUse::Unchecked,
            None => DataUse::ExistingOr(self.init),
        }
    }
}

/// Serves the tools until standard input ends.
pub(super) fn mcp(config: Config, options: &McpOptions) -> anyhow::Result<()> {
    let namespace = ToolNamespace::of(options)?;
    if let Some(url) = options.server.url() {
        let key = options.server.key()?;
        let remote = RemoteApi::new(url, move || Ok(key.to_string()))?;
        return client_runtime()?.block_on(serve_tools(remote, namespace));
    }
    let account = parse_account(&options.account)?;
    let connect = Command::Connect { account: account.clone() };
    if let Some(connection) = control::ask_running(&config, &connect)? {
        let url = connection["url"].as_str().context("the running server returned no address")?.to_owned();
        let remote = RemoteApi::new(&url, move || new_session(&config, &connect))?;
        return client_runtime()?.block_on(serve_tools(remote, namespace));
    }
    serve_in_process(config, account, namespace)
}

/// The namespace of tool calls that name none.
struct ToolNamespace {
    /// `None` for the credential's own.
    name: Option<String>,
    /// Whether it is created before the first call.
    is_created: bool,
}

impl ToolNamespace {
    fn of(options: &McpOptions) -> anyhow::Result<Self> {
        if !options.project {
            return Ok(Self { name: options.namespace.clone(), is_created: false });
        }
        let chosen = environment_variable("CUEBASE_NAMESPACE");
        let places = Places::resolve(environment_variable)?;
        let folder = std::env::current_dir()?;
        let mut project = Project::at(&folder, chosen.as_deref(), &places)?;
        project.keep_binding(&places, &folder, None)?;
        if let Some(notice) = project.notice() {
            eprintln!("cuebase: {notice}");
            log::note(&places, "mcp", &notice);
        }
        Ok(Self { name: Some(project.namespace.to_string()), is_created: true })
    }
}

/// Creates a namespace if it does not exist. A failure is reported only: the tools report it again at each call.
async fn create_namespace(remote: &RemoteApi, name: &str) {
    let body = Some(json!({"name": name}));
    let request = ApiRequest { method: Method::POST, target: "/v1/namespaces".to_owned(), body };
    let reason = match tokio::time::timeout(CREATION_TIMEOUT, remote.send(request)).await {
        Ok(Ok(response)) if response.status < 300 => return,
        Ok(Ok(response)) => response.body["error"]["message"].as_str().unwrap_or("the server refuses").to_owned(),
        Ok(Err(error)) => with_causes(&error),
        Err(_) => "the server does not respond".to_owned(),
    };
    eprintln!("cuebase: cannot create the namespace {name}: {reason}");
}

/// Gets a session from the server that runs on the data directory.
fn new_session(config: &Config, connect: &Command) -> anyhow::Result<String> {
    let connection = control::ask_running(config, connect)?.context("the server on this data directory has stopped")?;
    Ok(connection["token"].as_str().context("the running server returned no session")?.to_owned())
}

/// Runs a server in this process until standard input ends, since no other server runs on the data directory.
fn serve_in_process(mut config: Config, account: AccountId, namespace: ToolNamespace) -> anyhow::Result<()> {
    config.listeners.api = ListenAddress::FREE_LOCAL_PORT;
    config.listeners.dashboard.listen = None;
    config.listeners.pets.listen = None;
    config.listeners.metrics.listen = None;
    let plan = fit_into_memory(&mut config)?;
    let app = App::open_for_command(&config)?;
    app.reads.models().probe()?;
    app.accounts.ensure_account(&account)?;
    let runtime = runtime(&plan)?;
    let served = runtime.block_on(async {
        let server = start(&app, config).await?;
        let accounts = Arc::clone(&app.accounts);
        let remote = RemoteApi::new(&server.url()?, move || Ok(accounts.create_session(&account)?))?;
        let mut result = Ok(());
        server.run(async { result = serve_tools(remote, namespace).await }).await?;
        result
    });
    runtime.shutdown_background();
    served
}

async fn serve_tools(remote: RemoteApi, namespace: ToolNamespace) -> anyhow::Result<()> {
    if let (Some(name), true) = (&namespace.name, namespace.is_created) {
        create_namespace(&remote, name).await;
    }
    let tools = Tools::new(Arc::new(remote), namespace.name);
    let running = tools
        .serve(rmcp::transport::stdio())
        .await
        .context("the client on standard input did not start an MCP session")?;
    running.waiting().await?;
    Ok(())
}
