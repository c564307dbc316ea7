//! Settings of the HTTP listeners.

use std::time::Duration;

use super::values::Values;

/// Limits and timeouts of a listener: `server.*`.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// `server.connections`: maximum number of open connections. Default 1,024.
    pub connections: usize,
    /// `server.requests`: maximum number of requests handled at once, retrievals excluded. Default 256.
    pub requests: usize,
    /// `server.shutdown_ms`: time limit of a shutdown. Default 30 seconds.
    pub shutdown: Duration,
    /// `server.public_url`: URL under which clients reach the API. Default `None`: the address that the client called.
    pub public_url: Option<String>,
    /// `server.header_timeout_ms`: time limit for receiving a request's head. Default 15 seconds.
    pub header_timeout: Duration,
    /// `server.body_timeout_ms`: time limit for receiving a request's body. Default 60 seconds.
    pub body_timeout: Duration,
    /// `server.body_memory_mib`: memory for all request bodies and unsent responses together, in MiB. Default 512.
    pub body_memory_mib: usize,
    /// `server.write_timeout_ms`: time in which a client must read some of a pending response. Default 30 seconds.
    pub write_timeout: Duration,
}

impl ServerSettings {
    pub(super) fn read(values: &Values<'_>) -> anyhow::Result<Self> {
        Ok(Self {
            connections: values.positive("server.connections")?,
            public_url: values.optional_url("server.public_url")?,
            requests: values.positive("server.requests")?,
            shutdown: values.milliseconds("server.shutdown_ms")?,
            header_timeout: values.milliseconds("server.header_timeout_ms")?,
            body_timeout: values.milliseconds("server.body_timeout_ms")?,
            body_memory_mib: values.positive("server.body_memory_mib")?,
            write_timeout: values.milliseconds("server.write_timeout_ms")?,
        })
    }
}
