//! Binding the addresses of the listeners.

use std::net::SocketAddr;

use anyhow::Context;
use tokio::net::{TcpListener, TcpSocket, lookup_host};

use crate::config::{Config, ListenAddress, setting};
use crate::dashboard::Dashboard;

/// The kernel's send buffer of a connection: 128 KiB, which Linux doubles.
///
/// The server counts bytes in this buffer as taken by the client. The usual buffer grows to 4 MiB: answers of a
/// megabyte fitted into it, no write ever waited, and clients that read nothing were never disconnected.
const SEND_BUFFER_BYTES: u32 = 128 << 10;
/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// Listens at `address`, which `option` sets.
pub(super) async fn bind(address: &ListenAddress, option: &str) -> anyhow::Result<TcpListener> {
    let listener = listen(address).await;
    listener.with_context(|| format!("cannot listen on {address} ({option} takes another address)"))
}

/// Listens at `address`, if one is set.
pub(super) async fn bind_optional(
    address: Option<&ListenAddress>,
    option: &str,
) -> anyhow::Result<Option<TcpListener>> {
    match address {
        Some(address) => Ok(Some(bind(address, option).await?)),
        None => Ok(None),
    }
}

/// Binds the dashboard's listener. If its port is taken and its address is only the default, it takes a free port.
pub(super) async fn bind_dashboard(config: &Config, dashboard: &Dashboard) -> anyhow::Result<Option<TcpListener>> {
    let Some(address) = &config.listeners.dashboard.listen else { return Ok(None) };
    let listener = match bind(address, "--dashboard-listen").await {
        Err(error) if !config.is_chosen(&setting::dashboard::listen) => {
            tracing::warn!(error = format!("{error:#}"), "the dashboard takes a free port instead");
            bind(&ListenAddress::FREE_LOCAL_PORT, "--dashboard-listen").await?
        }
        bound => bound?,
    };
    dashboard.listens_at(format!("http://{}", listener.local_addr()?));
    Ok(Some(listener))
}

/// Listens at an address. Of a name, takes the first address that it resolves to and that can be bound.
async fn listen(address: &ListenAddress) -> std::io::Result<TcpListener> {
    let (name, port) = match address {
        ListenAddress::Ip(address) => return listen_at(*address),
        ListenAddress::Host { name, port } => (name.as_str(), *port),
    };
    let mut last_error = std::io::Error::new(std::io::ErrorKind::InvalidInput, "the name has no address");
    for address in lookup_host((name, port)).await? {
        match listen_at(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => last_error = error,
        }
    }
    Err(last_error)
}

fn listen_at(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // As TcpListener::bind does, so that a server can restart at once.
    socket.set_reuseaddr(true)?;
    // Accepted connections inherit the size from their listener.
    socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
