//! `cuebase health`: is the service there? For containers, which have nothing else to ask with.

#![expect(clippy::disallowed_types, reason = "is a client of the own API")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::config::Config;

/// Whoever does not answer within this is not well.
const PATIENCE: Duration = Duration::from_secs(2);

/// Asks `GET /health` where the service listens, and fails where it does not answer.
pub(super) fn health(config: &Config) -> anyhow::Result<()> {
    let url = format!("http://{}/health", asked(&config.listen));
    let client = reqwest::blocking::Client::builder().no_proxy().timeout(PATIENCE).build()?;
    let answer = client.get(&url).send().with_context(|| format!("{url} does not answer"))?;
    ensure!(answer.status().is_success(), "{url} answers {}", answer.status());
    println!("{url} answers");
    Ok(())
}

/// Where to ask a service that listens at an address: one that listens everywhere is here as well.
fn asked(listen: &str) -> String {
    let Ok(mut address) = listen.parse::<SocketAddr>() else { return listen.to_owned() };
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
    fn a_service_that_listens_everywhere_is_asked_here() {
        let pairs = [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("10.0.0.1:80", "10.0.0.1:80"),
            ("localhost:80", "localhost:80"),
        ];
        for (listen, expected) in pairs {
            assert_eq!(asked(listen), expected);
        }
    }
}
