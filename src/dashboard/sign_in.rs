//! Signing in through another issuer: the authorization-code flow with PKCE (RFC 7636).
//!
//! The page sends the person to the issuer and brings back a code; it is exchanged here, so that the page speaks to
//! nobody but its own server. Where to is read from the issuer's discovery document (OpenID Connect Discovery 1.0).

#![expect(clippy::disallowed_types, reason = "exchanges a sign-in code with an issuer")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};
use parking_lot::Mutex;
use reqwest::header::CONTENT_TYPE;
use serde::{Deserialize, Serialize};

use crate::config::IdentitySettings;

/// The issuer has so long to answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Questions to the issuer at a time; each holds a thread, and nobody has signed in yet.
const WAITING_MAX: usize = 16;
/// Answers longer than this are not read.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// An issuer that people can be sent to.
pub struct ExternalSignIn {
    settings: IdentitySettings,
    client: reqwest::blocking::Client,
    found: Mutex<Option<Endpoints>>,
    waiting: AtomicUsize,
}

#[derive(Clone, Deserialize)]
struct Endpoints {
    authorization_endpoint: String,
    token_endpoint: String,
}

/// What a page needs to send somebody to the issuer.
#[derive(Debug, Serialize)]
pub struct Invitation {
    issuer: String,
    authorization_endpoint: String,
    client_id: String,
    scope: &'static str,
}

/// What the issuer gave, and what proves that it was asked from here.
#[derive(Deserialize)]
pub struct Returned {
    /// The authorization code.
    pub authorization_code: String,
    /// Whose SHA-256 was sent with the person.
    pub code_verifier: String,
    /// Where the person was sent back to.
    pub redirect_uri: String,
}

#[derive(Deserialize)]
struct Tokens {
    id_token: String,
}

impl ExternalSignIn {
    /// An issuer as configured; nothing is asked yet. Its audience is the id of the client, as it is for ID tokens.
    pub fn new(settings: IdentitySettings) -> anyhow::Result<Self> {
        let client = reqwest::blocking::Client::builder().timeout(TIMEOUT);
        let client = client.redirect(reqwest::redirect::Policy::limited(3)).build();
        let client = client.context("the HTTP client for identity.issuer cannot be made")?;
        Ok(Self { settings, client, found: Mutex::default(), waiting: AtomicUsize::new(0) })
    }

    /// Where to send somebody.
    pub fn invitation(&self) -> anyhow::Result<Invitation> {
        Ok(Invitation {
            issuer: self.settings.issuer.clone(),
            authorization_endpoint: self.endpoints()?.authorization_endpoint,
            client_id: self.settings.audience.clone(),
            scope: "openid email",
        })
    }

    /// Exchanges what somebody came back with for an ID token.
    pub fn exchange(&self, returned: &Returned) -> anyhow::Result<String> {
        let body: String = form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "authorization_code")
            .append_pair("client_id", &self.settings.audience)
            .append_pair("code", &returned.authorization_code)
            .append_pair("code_verifier", &returned.code_verifier)
            .append_pair("redirect_uri", &returned.redirect_uri)
            .finish();
        let request = self.client.post(self.endpoints()?.token_endpoint);
        let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(body);
        let tokens: Tokens = self.ask(request)?;
        Ok(tokens.id_token)
    }

    /// Asked for once; an issuer that did not answer is asked again.
    fn endpoints(&self) -> anyhow::Result<Endpoints> {
        if let Some(found) = self.found.lock().clone() {
            return Ok(found);
        }
        let address = format!("{}/.well-known/openid-configuration", self.settings.issuer.trim_end_matches('/'));
        let found: Endpoints = self.ask(self.client.get(&address)).with_context(|| format!("asking {address}"))?;
        for endpoint in [&found.authorization_endpoint, &found.token_endpoint] {
            let web = endpoint.starts_with("https://") || endpoint.starts_with("http://");
            ensure!(web, "{address} names {endpoint:?}, which is no address on the web");
        }
        *self.found.lock() = Some(found.clone());
        Ok(found)
    }

    fn ask<T: serde::de::DeserializeOwned>(&self, request: reqwest::blocking::RequestBuilder) -> anyhow::Result<T> {
        let free = self.waiting.fetch_add(1, Ordering::SeqCst) < WAITING_MAX;
        let answer = if free { read(request) } else { Err(anyhow::anyhow!("too many wait for it already")) };
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        answer
    }
}

fn read<T: serde::de::DeserializeOwned>(request: reqwest::blocking::RequestBuilder) -> anyhow::Result<T> {
    use std::io::Read;
    let response = request.send()?.error_for_status()?;
    let mut text = String::new();
    response.take(ANSWER_BYTES_MAX).read_to_string(&mut text)?;
    serde_json::from_str(&text).context("the answer is not what was expected")
}
