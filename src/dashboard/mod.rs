//! The dashboard: a page inside the binary that is a client of the public API and nothing more.
//!
//! [`pages`] is what is served, kept in `page/` as it was written; [`links`] are the one-time codes by which a person
//! signs in at the local issuer, [`sign_in`] is the way through another issuer; [`markdown`] shows memories without
//! trusting what stands in them. The listener is `server::dashboard`.

pub mod links;
pub mod markdown;
pub mod pages;
pub mod sign_in;

use std::sync::OnceLock;

use self::links::Links;
use self::sign_in::ExternalSignIn;
use crate::config::Config;

/// What the dashboard knows beside the API.
pub struct Dashboard {
    /// Ways in that were handed out.
    pub links: Links,
    /// The way in through another issuer, where one is configured.
    pub external: Option<ExternalSignIn>,
    public_url: Option<String>,
    address: OnceLock<String>,
}

impl Dashboard {
    /// As configured.
    pub fn new(config: &Config) -> anyhow::Result<Self> {
        let external = config.identity.clone().map(ExternalSignIn::new).transpose()?;
        let public_url = config.dashboard_public_url.clone();
        Ok(Self { links: Links::default(), external, public_url, address: OnceLock::new() })
    }

    /// Tells where the listener is.
    pub fn listens_at(&self, address: String) {
        // There is one listener; a second call would name the same.
        let _ = self.address.set(address);
    }

    /// Where people reach it; none while it is not served.
    pub fn url(&self) -> Option<&str> {
        let address = self.address.get()?;
        Some(self.public_url.as_deref().unwrap_or(address))
    }

    /// A link that signs in as an account, once; none while the dashboard is not served.
    pub fn link(&self, account: &str) -> Option<String> {
        // After the number sign it is in no log and no referrer.
        Some(format!("{}/#code={}", self.url()?, self.links.issue(account)?))
    }
}
