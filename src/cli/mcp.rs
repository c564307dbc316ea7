//! `cuebase mcp`: the tools on standard input and output, where an agent's host expects them.

use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use jiff::Timestamp;
use rmcp::ServiceExt;
use serde_json::Value;
use zeroize::Zeroizing;

use super::data_directory::{DataUse, Init};
use super::serve::{client_runtime, fit_into_memory, runtime};
use crate::accounts::{DEFAULT_ACCOUNT, check_account};
use crate::config::Config;
use crate::control::{self, Command};
use crate::mcp::Tools;
use crate::mcp::api::RemoteApi;
use crate::server::Server;
use crate::service::Service;

#[derive(Args)]
pub(super) struct Options {
    /// A server, such as http://127.0.0.1:8080; without it the data directory is used
    #[arg(long, env = "CUEBASE_URL", value_name = "URL", requires = "key")]
    url: Option<String>,
    /// An API key for that server
    #[arg(long, env = "CUEBASE_KEY", value_name = "KEY", hide_env_values = true)]
    key: Option<String>,
    /// The namespace that is meant where a call names none
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Whose memories, with a data directory
    #[arg(long, value_name = "ID", default_value = DEFAULT_ACCOUNT)]
    account: String,
    #[command(flatten)]
    init: Init,
}

impl Options {
    /// A client of a server needs no data directory.
    pub(super) fn data_use(&self) -> DataUse {
        match self.url {
            Some(_) => DataUse::Unchecked,
            None => DataUse::ExistingOr(self.init),
        }
    }
}

/// Serves the tools until standard input ends.
pub(super) fn mcp(config: Config, options: Options) -> anyhow::Result<()> {
    let Options { url, key, namespace, account, .. } = options;
    if let Some(url) = url {
        let key = Zeroizing::new(key.unwrap_or_default());
        return client_runtime()?.block_on(speak(RemoteApi::new(&url, move || Ok(key.to_string()))?, namespace));
    }
    check_account(&account)?;
    let ask = Command::Connect { account: account.clone() };
    if let Some(found) = control::ask_running(&config, &ask)? {
        let url = found["url"].as_str().context("the running server names no address")?.to_owned();
        let session = move || {
            let found =
                control::ask_running(&config, &ask)?.context("the server on this data directory has stopped")?;
            token(&found)
        };
        return client_runtime()?.block_on(speak(RemoteApi::new(&url, session)?, namespace));
    }
    alone(config, account, namespace)
}

fn token(found: &Value) -> anyhow::Result<String> {
    Ok(found["token"].as_str().context("the running server gave no session")?.to_owned())
}

/// No server runs on the data directory: this process is one as long as the agent listens.
fn alone(mut config: Config, account: String, namespace: Option<String>) -> anyhow::Result<()> {
    config.listen = "127.0.0.1:0".into();
    (config.dashboard_listen, config.pets_listen, config.metrics_listen) = (None, None, None);
    let plan = fit_into_memory(&mut config)?;
    let service = Service::open_for_command(config)?;
    service.models.probe()?;
    service.ensure_account(&account)?;
    let runtime = runtime(&plan)?;
    let served = runtime.block_on(async {
        let server = Server::bind(Arc::clone(&service)).await?;
        control::listen(Arc::clone(&service), server.gateway())?;
        let url = format!("http://{}", server.address()?);
        let minting = Arc::clone(&service);
        let remote = RemoteApi::new(&url, move || Ok(minting.issuer.mint(&account, Timestamp::now())?))?;
        let mut outcome = Ok(());
        server.run(async { outcome = speak(remote, namespace).await }).await?;
        outcome
    });
    runtime.shutdown_background();
    served
}

async fn speak(remote: RemoteApi, namespace: Option<String>) -> anyhow::Result<()> {
    let tools = Tools::new(Arc::new(remote), namespace);
    let running = tools.serve(rmcp::transport::stdio()).await.context("nobody speaks MCP on standard input")?;
    running.waiting().await?;
    Ok(())
}
