//! `cuebase serve`: starts the server, prints its addresses, and stops it on a signal.
//!
//! The other commands that run a server, `demo` and `mcp`, use the functions of this file.

use std::sync::Arc;

use cuebase_storage::AccountId;

use super::first_key;
use crate::accounts::Accounts;
use crate::app::App;
use crate::config::Config;
use crate::control;
use crate::control::RunningServer;
use crate::dashboard::Dashboard;
use crate::memory_limit::MemoryPlan;
use crate::server::Server;

/// Serves until SIGINT or SIGTERM.
pub(super) fn serve(mut config: Config) -> anyhow::Result<()> {
    let plan = fit_into_memory(&mut config)?;
    let app = App::open(&config)?;
    app.reads.models().probe()?;
    let runtime = runtime(&plan)?;
    let served = runtime.block_on(async {
        let server = start(&app, config.clone()).await?;
        print_addresses(&app.accounts, &config, &server)?;
        server.run(interrupted()).await
    });
    // `Server::run` has already waited for running requests.
    runtime.shutdown_background();
    served
}

/// Binds the server and opens the socket for commands.
pub(super) async fn start(app: &Arc<App>, config: Config) -> anyhow::Result<Server> {
    let server = Server::bind(Arc::clone(app), config).await?;
    let running = RunningServer { dashboard: server.dashboard(), url: server.url()? };
    control::listen(Arc::clone(app), running)?;
    Ok(server)
}

/// Prints the addresses of the server and, if the data directory has no accounts yet, a first key.
fn print_addresses(accounts: &Accounts, config: &Config, server: &Server) -> anyhow::Result<()> {
    let address = server.address()?;
    let dashboard = server.dashboard();
    if accounts.accounts()?.is_empty() {
        // The listen address of a container is not the address that clients use.
        let url = match &config.server.public_url {
            Some(url) => url.clone(),
            None => format!("http://{address}"),
        };
        if first_key::is_output_journal() {
            print_first_start_to_journal(accounts, config, &url)?;
        } else {
            print_first_start(accounts, config, &dashboard, &url)?;
        }
    }
    if let Some(url) = dashboard.url() {
        println!("dashboard on {url} (`cuebase token --link` signs in)");
    }
    if let Some(address) = server.pets_address() {
        println!("animals API on http://{address}");
    }
    if let Some(address) = server.metrics_address() {
        println!("metrics on http://{address}/metrics");
    }
    println!("listening on http://{address}");
    Ok(())
}

/// Prints a first key and a link to the dashboard.
fn print_first_start(accounts: &Accounts, config: &Config, dashboard: &Dashboard, url: &str) -> anyhow::Result<()> {
    let key = first_key::create(accounts, "first key")?;
    println!("First start with this data directory.\n");
    println!("  address    {url}");
    println!("  data       {}", config.data.display());
    println!("  key        {key}");
    println!("             (for the whole account, not shown again; `cuebase keys create` creates another)");
    if let Some(link) = dashboard.link(accounts, &AccountId::default())? {
        println!("  dashboard  {link}");
        println!("             (signs in once, within an hour; `cuebase token --link` creates another)");
    }
    println!();
    println!("  curl -H 'authorization: Bearer {key}' {url}/v1/whoami\n");
    Ok(())
}

/// Prints where the first key is. A journal must hold neither the key nor a link that signs in.
fn print_first_start_to_journal(accounts: &Accounts, config: &Config, url: &str) -> anyhow::Result<()> {
    let file = first_key::create_in_file(accounts, &config.data)?;
    println!("First start with this data directory.\n");
    println!("  address    {url}");
    println!("  data       {}", config.data.display());
    println!("  key        in the file {}", file.display());
    println!("             (for the whole account; delete the file once you have stored the key elsewhere)\n");
    Ok(())
}

/// Lowers the settings to the memory limit of this process, and sizes the thread pools for it.
///
/// # Errors
///
/// When there is too little memory to serve.
pub(super) fn fit_into_memory(config: &mut Config) -> anyhow::Result<MemoryPlan> {
    let plan = MemoryPlan::current(config.server.body_memory_mib)?;
    if plan.body_memory_mib < config.server.body_memory_mib {
        tracing::warn!(
            configured = config.server.body_memory_mib,
            used = plan.body_memory_mib,
            "server.body_memory_mib is lowered because of the memory limit of the system"
        );
        config.server.body_memory_mib = plan.body_memory_mib;
    }
    if std::thread::available_parallelism().is_ok_and(|processors| plan.worker_threads < processors.get()) {
        // The pool that indexing uses. It fails if a pool exists already, in a process of tests, which is then kept.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(plan.worker_threads).build_global();
    }
    Ok(plan)
}

/// Creates the runtime of a server.
pub(super) fn runtime(plan: &MemoryPlan) -> anyhow::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(plan.worker_threads.max(1)).max_blocking_threads(plan.blocking_threads.max(1));
    Ok(builder.enable_all().build()?)
}

/// Creates the runtime of a command that is only a client of a server.
pub(super) fn client_runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?)
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
