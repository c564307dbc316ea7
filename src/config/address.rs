//! Addresses of listeners.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::refusal::Refusal;

/// Maximum length of a host name, in bytes (RFC 1035).
pub(super) const HOST_BYTES_MAX: usize = 253;

/// The address of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// An IP address with a port.
    Ip(SocketAddr),
    /// A host name with a port. The name is resolved when the listener is bound.
    Host {
        /// The host name.
        name: String,
        /// The port; 0 selects a free one.
        port: u16,
    },
}

impl ListenAddress {
    /// A free port that only this machine reaches.
    pub const FREE_LOCAL_PORT: Self = Self::Ip(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0));

    /// Parses `host:port`.
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse() {
            return Some(Self::Ip(address));
        }
        let (name, port) = text.rsplit_once(':')?;
        let port = port.parse().ok()?;
        if is_host(name) { Some(Self::Host { name: name.to_owned(), port }) } else { None }
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        match self {
            Self::Ip(address) => address.port(),
            Self::Host { port, .. } => *port,
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Host { name, port } => write!(f, "{name}:{port}"),
        }
    }
}

/// Parses the address of a listener that cannot be switched off.
pub(super) fn address(text: &str) -> Result<ListenAddress, Refusal> {
    match ListenAddress::parse(text) {
        Some(address) => Ok(address),
        None => Err(Refusal::new(text, "host:port, for example 127.0.0.1:8080")),
    }
}

/// Parses the address of a listener; `None` for `off`.
pub(super) fn address_or_off(text: &str) -> Result<Option<ListenAddress>, Refusal> {
    if text == "off" {
        return Ok(None);
    }
    match ListenAddress::parse(text) {
        Some(address) => Ok(Some(address)),
        None => Err(Refusal::new(text, "off or host:port, for example 127.0.0.1:8080")),
    }
}

fn is_host(text: &str) -> bool {
    (1..=HOST_BYTES_MAX).contains(&text.len()) && text.chars().all(is_host_character)
}

fn is_host_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_an_ip_address_or_a_host_name_with_a_port() {
        for text in ["127.0.0.1:8080", "[::1]:0", "localhost:65535", "a_b-c.example:1"] {
            let address = ListenAddress::parse(text).expect("an address");
            assert_eq!(address.to_string(), text);
            assert_eq!(matches!(address, ListenAddress::Host { .. }), text.contains(['l', 'x']), "{text}");
        }
        for text in ["", "off", "127.0.0.1", ":80", "localhost:65536", "a b:80", "http://localhost:80", "[::1:80"] {
            assert_eq!(ListenAddress::parse(text), None, "{text}");
        }
    }
}
