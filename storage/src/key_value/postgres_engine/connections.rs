//! Connections to the server: opening them, with or without TLS, and lending them to one call at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use deadpool_postgres::{Client, ClientWrapper, Manager, ManagerConfig, Object, Pool, RecyclingMethod};
use parking_lot::RwLock;
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_postgres::config::{SslMode, TargetSessionAttrs};
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::errors::{convert, convert_pool};
use crate::error::{DiskTrouble, Error, Result};

/// Connections of a process. Each costs the server a few megabytes.
const CONNECTIONS_MAX: usize = 16;
/// Connections for the sessions of nodes and for syncs.
const SESSION_CONNECTIONS_MAX: usize = 2;
/// Idle time after which a connection is probed, and the time between two probes, unless the URL says otherwise.
const PROBE_IDLE: Duration = Duration::from_secs(5);
const PROBE_INTERVAL: Duration = Duration::from_secs(2);
/// Probes without an answer after which a connection is lost.
const PROBES: u32 = 3;
/// Longest time to open a connection, unless the URL says otherwise.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// Longest time that sent bytes may stay without an acknowledgement, unless the URL says otherwise. A server that was
/// cut off is noticed after it.
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(5);

/// Finds the row of a process with a token, which proves that the server has the syncs of this process.
const HAS_TOKEN: &str = "SELECT 1 FROM cuebase_syncs WHERE process = $1 AND token = $2";

/// The open connections of a process.
#[derive(Clone)]
pub(super) struct Connections {
    pool: Pool,
    /// Connections for the sessions of nodes, which must not wait for other calls.
    session_pool: Pool,
    origin: Arc<RwLock<Origin>>,
}

/// The server to which all lent connections lead.
#[derive(Clone)]
pub(super) struct Origin {
    /// Name of this process's row in `cuebase_syncs`.
    pub(super) process: String,
    /// The row's token. A server that has it has everything that was synced before.
    pub(super) token: String,
    /// When the token was written. Earlier connections may lead to another server.
    pub(super) since: Instant,
}

/// A connection that is lent to one call. It is closed unless the call returns it: a call that ended early may have left
/// a transaction open.
pub(super) struct Lease(Option<Client>);

impl Connections {
    /// Reads the address of the server and prepares the pool. Opens no connection yet.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the URL has another form.
    pub(super) fn prepare(url: &str, process: String) -> Result<Self> {
        let mut config: Config = url.parse().map_err(|error| Error::invalid("PostgreSQL URL", describe(&error)))?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_MAX);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(UNACKNOWLEDGED_MAX);
        }
        config.keepalives_idle(PROBE_IDLE);
        config.keepalives_interval(PROBE_INTERVAL);
        config.keepalives_retries(PROBES);
        if config.get_application_name().is_none() {
            config.application_name("cuebase");
        }
        // With several hosts, only the primary accepts writes.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        let pool = self::pool(config.clone(), CONNECTIONS_MAX)?;
        let session_pool = self::pool(config, SESSION_CONNECTIONS_MAX)?;
        let origin = Origin { process, token: String::new(), since: Instant::now() };
        Ok(Self { pool, session_pool, origin: Arc::new(RwLock::new(origin)) })
    }

    /// The same connections, but those for the sessions of nodes.
    pub(super) fn of_sessions(&self) -> Self {
        Self { pool: self.session_pool.clone(), ..self.clone() }
    }

    /// Opens a connection for longer than a call, to whichever server accepts it.
    pub(super) async fn open(&self) -> Result<ClientWrapper> {
        let client = self.session_pool.get().await.map_err(convert_pool)?;
        Ok(Object::take(client))
    }

    /// The server to which connections lead.
    pub(super) fn origin(&self) -> Origin {
        self.origin.read().clone()
    }

    /// Lends only connections to a server with this token from now on.
    pub(super) fn set_token(&self, token: String) {
        let mut origin = self.origin.write();
        origin.token = token;
        origin.since = Instant::now();
    }

    /// Lends an idle connection, or opens one. Waits while all are lent.
    pub(super) async fn lend(&self) -> Result<Lease> {
        loop {
            let lease = Lease(Some(self.pool.get().await.map_err(convert_pool)?));
            let origin = self.origin();
            let metrics = *Object::metrics(lease.client()?);
            if metrics.created < origin.since {
                // Closed, as it is not given back.
                continue;
            }
            if metrics.recycled.is_none() {
                lease.require_token(&origin).await?;
            }
            return Ok(lease);
        }
    }
}

impl Lease {
    /// The connection.
    pub(super) fn client(&self) -> Result<&Client> {
        match &self.0 {
            Some(client) => Ok(client),
            None => Err(returned()),
        }
    }

    /// The connection, for a transaction of the client library.
    pub(super) fn client_mut(&mut self) -> Result<&mut Client> {
        match &mut self.0 {
            Some(client) => Ok(client),
            None => Err(returned()),
        }
    }

    /// Returns the connection for the next call.
    pub(super) fn give_back(mut self) {
        drop(self.0.take());
    }

    /// Fails if the connection leads to a server without the syncs of this process, such as a former primary.
    async fn require_token(&self, origin: &Origin) -> Result<()> {
        let token = self.client()?.query_opt(HAS_TOKEN, &[&origin.process, &origin.token]).await;
        let found = token.map_err(convert)?;
        match found {
            Some(_) => Ok(()),
            None => {
                let source = "the database lacks the last writes of this process".into();
                Err(Error::Engine { trouble: Some(DiskTrouble::Unreachable), source })
            }
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(client) = self.0.take() {
            drop(Object::take(client));
        }
    }
}

/// A pool of connections. Opens none yet.
fn pool(config: Config, size: usize) -> Result<Pool> {
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = match config.get_ssl_mode() {
        SslMode::Disable => Manager::from_config(config, NoTls, recycling),
        _ => Manager::from_config(config, MakeRustlsConnect::new(tls_settings()?), recycling),
    };
    let built = Pool::builder(manager).max_size(size).build();
    built.map_err(|error| Error::Engine { trouble: None, source: Box::new(error) })
}

/// The error of a lease that is used after its end, which no code does.
fn returned() -> Error {
    Error::Engine { trouble: None, source: "the connection was returned already".into() }
}

/// TLS with the certificate authorities of the system.
fn tls_settings() -> Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verified = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier);
    match verified {
        Ok(builder) => Ok(builder.with_no_client_auth()),
        Err(error) => Err(Error::Engine { trouble: None, source: Box::new(error) }),
    }
}

/// The reason why a URL is not valid, with the name of the wrong part. The URL may contain a password and is not quoted.
fn describe(error: &tokio_postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_another_form_is_refused_without_a_quotation() {
        for url in
            ["postgres://user:secret@host:port/db", "http://user:secret@host/", "host=a password=secret nonsense=1"]
        {
            let refused = Connections::prepare(url, String::new()).err().expect("is refused").to_string();
            assert!(refused.starts_with("PostgreSQL URL: "), "{refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }

    #[test]
    fn a_url_is_accepted_with_and_without_tls() {
        for url in ["postgres://user@host/db", "postgres://user@host/db?sslmode=disable", "host=/run/postgresql"] {
            assert!(Connections::prepare(url, String::new()).is_ok(), "{url}");
        }
    }
}
