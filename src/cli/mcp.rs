//! `cuebase mcp`: serves the MCP tools on standard input and output.
//!
//! The tools call a remote server, the server that runs on the data directory, or a server inside this process.

use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use cuebase_storage::AccountId;
use rmcp::ServiceExt;
use zeroize::Zeroizing;

use super::data_directory::{DataUse, Init};
use super::serve::{client_runtime, fit_into_memory, runtime, start};
use crate::accounts::parse_account;
use crate::app::App;
use crate::config::{Config, ListenAddress};
use crate::control::{self, Command};
use crate::mcp::Tools;
use crate::mcp::api::RemoteApi;

/// Options of `cuebase mcp`.
#[derive(Args)]
pub(super) struct McpOptions {
    /// Server URL, for example http://127.0.0.1:8080 [default: use the data directory]
    #[arg(long, env = "CUEBASE_URL", value_name = "URL", requires = "key")]
    url: Option<String>,
    /// API key for that server
    #[arg(long, env = "CUEBASE_KEY", value_name = "KEY", hide_env_values = true)]
    key: Option<String>,
    /// Namespace of tool calls that name none
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Account ID, used with a data directory
    #[arg(long, value_name = "ID", default_value = "default")]
    account: String,
    #[command(flatten)]
    init: Init,
}

impl McpOptions {
    /// Returns what the command requires of the data directory: nothing if `--url` is given.
    pub(super) fn data_use(&self) -> DataUse {
        match self.url {
            Some(_) => DataUse::Unchecked,
            None => DataUse::ExistingOr(self.init),
        }
    }
}

/// Serves the tools until standard input ends.
pub(super) fn mcp(config: Config, options: McpOptions) -> anyhow::Result<()> {
    let McpOptions { url, key, namespace, account, .. } = options;
    if let Some(url) = url {
        let key = Zeroizing::new(key.unwrap_or_default());
        let remote = RemoteApi::new(&url, move || Ok(key.to_string()))?;
        return client_runtime()?.block_on(serve_tools(remote, namespace));
    }
    let account = parse_account(&account)?;
    let connect = Command::Connect { account: account.clone() };
    if let Some(connection) = control::ask_running(&config, &connect)? {
        let url = connection["url"].as_str().context("the running server returned no address")?.to_owned();
        let remote = RemoteApi::new(&url, move || new_session(&config, &connect))?;
        return client_runtime()?.block_on(serve_tools(remote, namespace));
    }
    serve_in_process(config, account, namespace)
}

/// Gets a session from the server that runs on the data directory.
fn new_session(config: &Config, connect: &Command) -> anyhow::Result<String> {
    let connection = control::ask_running(config, connect)?.context("the server on this data directory has stopped")?;
    Ok(connection["token"].as_str().context("the running server returned no session")?.to_owned())
}

/// Runs a server in this process until standard input ends, since no other server runs on the data directory.
fn serve_in_process(mut config: Config, account: AccountId, namespace: Option<String>) -> anyhow::Result<()> {
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

async fn serve_tools(remote: RemoteApi, namespace: Option<String>) -> anyhow::Result<()> {
    let tools = Tools::new(Arc::new(remote), namespace);
    let running = tools
        .serve(rmcp::transport::stdio())
        .await
        .context("the client on standard input did not start an MCP session")?;
    running.waiting().await?;
    Ok(())
}
