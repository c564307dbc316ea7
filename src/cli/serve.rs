//! `cuebase serve`: the story of a start and a stop.

use std::sync::Arc;

use crate::config::Config;
use crate::control;
use crate::gateway::credentials::Environment;
use crate::server::Server;
use crate::service::Service;
use crate::service::accounts::{DEFAULT_ACCOUNT, NewKey};

/// Serves until SIGINT or SIGTERM.
pub(super) fn serve(config: Config) -> anyhow::Result<()> {
    let service = Service::open(config)?;
    service.models.probe()?;
    let runtime = runtime()?;
    let served = runtime.block_on(async {
        let server = Server::bind(Arc::clone(&service)).await?;
        control::listen(Arc::clone(&service), server.gateway())?;
        let address = server.address()?;
        if service.accounts()?.is_empty() {
            let key = first_key(&service, "first key")?;
            // In a container it listens everywhere, and is reached by another name.
            let url = service.config.server.public_url.clone().unwrap_or_else(|| format!("http://{address}"));
            println!("Cuebase is new here.\n");
            println!("  address    {url}");
            println!("  data       {}", service.config.data.display());
            println!("  key        {key}");
            println!("             (account-wide, shown this once; `cuebase keys create` makes another)");
            if let Some(link) = service.dashboard.link(DEFAULT_ACCOUNT) {
                println!("  dashboard  {link}");
                println!("             (signs in once, within an hour; `cuebase token --link` makes another)");
            }
            println!();
            println!("  curl -H 'authorization: Bearer {key}' {url}/v1/whoami\n");
        }
        if let Some(url) = service.dashboard.url() {
            println!("dashboard on {url} (`cuebase token --link` signs in)");
        }
        if let Some(address) = server.pets_address() {
            println!("animals API on http://{address}");
        }
        if let Some(address) = server.metrics_address() {
            println!("metrics on http://{address}/metrics");
        }
        println!("listening on http://{address}");
        server.run(interrupted()).await
    });
    // Whatever still runs was given its time.
    runtime.shutdown_background();
    served
}

/// An account-wide key of the default account.
pub(super) fn first_key(service: &Service, name: &str) -> anyhow::Result<String> {
    let wanted = NewKey { name: name.to_owned(), env: Environment::Live, namespace: None };
    Ok(service.create_key(DEFAULT_ACCOUNT, wanted)?.1)
}

/// The runtime of a server.
pub(super) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

/// Completes on SIGINT or SIGTERM.
pub(super) async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let terminated = async {
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminated => {}
    }
}
