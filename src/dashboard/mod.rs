//! The dashboard: a web page inside the binary that uses only the public API.
//!
//! [`pages`] holds the files of the page. Their sources are in the top folder `dashboard`, whose build writes `page/` and
//! `bundle.rs`. [`sign_in`] signs in with an external issuer; the one-time codes for signing in with the local issuer are
//! in `accounts`. [`markdown`] renders untrusted memories. The listener is in `server::dashboard`.

mod bundle;
mod file;
pub mod markdown;
pub mod pages;
pub mod sign_in;

use std::sync::OnceLock;

use cuebase_storage::AccountId;

use self::sign_in::ExternalSignIn;
use crate::accounts::Accounts;
use crate::config::Config;
use crate::error::Result;

/// The state of the dashboard outside of the API.
pub struct Dashboard {
    /// Sign-in with an external issuer, if one is configured.
    pub external: Option<ExternalSignIn>,
    public_url: Option<String>,
    address: OnceLock<String>,
}

impl Dashboard {
    /// Creates the dashboard from the settings.
    pub fn new(config: &Config) -> anyhow::Result<Self> {
        let external = match &config.access.identity {
            Some(settings) => Some(ExternalSignIn::new(settings.clone())?),
            None => None,
        };
        let public_url = config.listeners.dashboard.public_url.clone();
        Ok(Self { external, public_url, address: OnceLock::new() })
    }

    /// Sets the address of the listener.
    pub fn listens_at(&self, address: String) {
        // There is one listener, so a second call would set the same address.
        let _ = self.address.set(address);
    }

    /// Returns the URL of the dashboard; `None` while it is not served.
    pub fn url(&self) -> Option<&str> {
        let address = self.address.get()?;
        Some(self.public_url.as_deref().unwrap_or(address))
    }

    /// Creates a link that signs in as an account, once. Returns `None` while the dashboard is not served.
    pub fn link(&self, accounts: &Accounts, account: &AccountId) -> Result<Option<String>> {
        let Some(url) = self.url() else { return Ok(None) };
        // The part after the number sign is never sent to a server, so the code is in no log and no referrer.
        Ok(Some(format!("{url}/#code={}", accounts.create_link_code(account)?)))
    }
}
