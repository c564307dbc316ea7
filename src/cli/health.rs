//! `cuebase health`: checks whether the server responds. Container images without a shell use it as health check.

#![expect(clippy::disallowed_types, reason = "is a client of the own API")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::config::{Config, ListenAddress};

/// Longest wait for the response.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Sends `GET /health` to the listen address. Fails without a response or with a status other than success.
pub(super) fn health(config: &Config) -> anyhow::Result<()> {
    let url = format!("http://{}/health", reachable_address(&config.listeners.api));
    let client = reqwest::blocking::Client::builder().no_proxy().timeout(TIMEOUT).build()?;
    let response = client.get(&url).send().with_context(|| format!("{url} does not respond"))?;
    ensure!(response.status().is_success(), "{url} responds with {}", response.status());
    println!("{url} responds");
    Ok(())
}

/// Returns an address that reaches a server with this listen address: loopback if it listens on all addresses.
fn reachable_address(listen: &ListenAddress) -> String {
    let ListenAddress::Ip(mut address) = *listen else { return listen.to_string() };
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_all_addresses_is_reached_by_loopback() {
        let pairs = [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("10.0.0.1:80", "10.0.0.1:80"),
            ("localhost:80", "localhost:80"),
        ];
        for (listen, expected) in pairs {
            let listen = ListenAddress::parse(listen).expect("an address");
            assert_eq!(reachable_address(&listen), expected);
        }
    }
}
