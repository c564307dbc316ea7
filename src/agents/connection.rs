//! How a hook reaches a server: by URL and key, or through the server that runs on a data directory.
//!
//! The server on a data directory issues a session. It is kept in a file for the next hook, which then asks for none,
//! and is replaced when the server refuses it or listens elsewhere.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use cuebase_storage::AccountId;
use data_encoding::HEXLOWER;
use hyper::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use zeroize::Zeroizing;

use super::client::{ApiClient, ApiResponse};
use super::places::{Places, read, write};
use crate::config::Config;
use crate::control::{self, Command};
use crate::error_codes::ErrorCode;
use crate::sha256::sha256;

/// Bytes of the hash in the name of a session's file.
const NAME_BYTES: usize = 8;

/// A connection to a server.
pub struct Connection {
    client: ApiClient,
    timeout: Duration,
    /// Where sessions come from; `None` with a key.
    source: Option<SessionSource>,
}

/// The data directory whose server issues sessions.
struct SessionSource {
    config: Config,
    account: AccountId,
    /// The file that keeps the current session.
    file: PathBuf,
    /// Whether the current session comes from the file, so that it may be out of date.
    is_kept: bool,
}

/// A session, as its file holds it.
#[derive(Serialize, Deserialize)]
struct Session {
    url: String,
    token: String,
}

impl Connection {
    /// Connects to a server by its URL, with a key.
    pub fn with_key(url: &str, key: Zeroizing<String>, timeout: Duration) -> Self {
        Self { client: ApiClient::new(url, key, timeout), timeout, source: None }
    }

    /// Connects to the server that runs on a data directory.
    ///
    /// # Errors
    ///
    /// When no server runs on it.
    pub fn through_data_directory(
        config: Config,
        account: AccountId,
        places: &Places,
        timeout: Duration,
    ) -> anyhow::Result<Self> {
        let data = std::path::absolute(&config.data)?;
        let name = sha256(&[data.as_os_str().as_encoded_bytes(), b"\0", account.as_str().as_bytes()]);
        let file = places.state.join("sessions").join(format!("{}.json", HEXLOWER.encode(&name[..NAME_BYTES])));
        let kept = kept_session(&file);
        let mut source = SessionSource { config, account, file, is_kept: kept.is_some() };
        let session = match kept {
            Some(session) => session,
            None => source.new_session()?,
        };
        Ok(Self { client: session.client(timeout), timeout, source: Some(source) })
    }

    /// Returns the base URL of the server.
    pub fn url(&self) -> &str {
        self.client.url()
    }

    /// Sends a request. A kept session that is out of date is replaced once.
    pub(super) fn send(&mut self, method: Method, target: &str, body: Option<&Value>) -> anyhow::Result<ApiResponse> {
        let first = self.client.send(method.clone(), target, body);
        let Some(source) = &mut self.source else { return first };
        if first.as_ref().is_ok_and(is_accepted) || !source.is_kept {
            return first;
        }
        self.client = source.new_session()?.client(self.timeout);
        self.client.send(method, target, body)
    }
}

impl SessionSource {
    /// Gets a session from the running server and keeps it for the next hook.
    fn new_session(&mut self) -> anyhow::Result<Session> {
        let data = &self.config.data;
        let connect = Command::Connect { account: self.account.clone() };
        let Some(connection) = control::ask_running(&self.config, &connect)? else {
            let data = data.display();
            bail!(
                "no server runs on the data directory {data}: start `cuebase serve --data {data}`, or set CUEBASE_DATA to \
                 another data directory"
            );
        };
        let session: Session = serde_json::from_value(connection).context("the running server returned no session")?;
        self.is_kept = false;
        write(&self.file, &serde_json::to_string(&session)?)?;
        Ok(session)
    }
}

impl Session {
    fn client(self, timeout: Duration) -> ApiClient {
        ApiClient::new(&self.url, self.token.into(), timeout)
    }
}

/// Returns whether a server accepted the credential. A refused one gets a 401, or a 403 without a code.
fn is_accepted(response: &ApiResponse) -> bool {
    !(response.status == 401 || response.status == 403 && response.code().is_empty())
}

/// Reads a kept session. A file that cannot be read is replaced by the next session.
fn kept_session(file: &Path) -> Option<Session> {
    let text = read(file).ok()??;
    serde_json::from_str(&text).ok()
}

/// Returns the remedy for an error response to a hook; empty if the message says enough.
pub(super) fn remedy(response: &ApiResponse) -> &'static str {
    match ErrorCode::from_text(response.code()) {
        Some(ErrorCode::ForbiddenNamespace | ErrorCode::ScopedKey) => {
            ": the key is limited to one namespace; set CUEBASE_NAMESPACE to it, or use a key for the whole account"
        }
        Some(ErrorCode::InvalidNamespace) => ": set CUEBASE_NAMESPACE to a namespace that the key may write to",
        _ => "",
    }
}
