//! Sign-in with an external issuer: the authorization-code flow with PKCE (RFC 7636).
//!
//! The page sends the user to the issuer and gets an authorization code back. The server exchanges the code, so that
//! the page makes requests to its own server only. The endpoints come from the issuer's discovery document (OpenID
//! Connect Discovery 1.0).

#![expect(clippy::disallowed_types, reason = "exchanges a sign-in code with an issuer")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};
use parking_lot::Mutex;
use reqwest::header::CONTENT_TYPE;
use serde::{Deserialize, Serialize};

use crate::config::IdentitySettings;

/// Longest wait for a response of the issuer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Concurrent requests to the issuer. Each holds a thread on behalf of a user who is not signed in yet.
const REQUESTS_MAX: usize = 16;
/// Bytes that are read of a response.
const RESPONSE_BYTES_MAX: u64 = 1 << 20;

/// The client of an external issuer.
pub struct ExternalSignIn {
    settings: IdentitySettings,
    client: reqwest::blocking::Client,
    /// Cached from the discovery document.
    endpoints: Mutex<Option<Endpoints>>,
    /// Number of requests in flight.
    requests: AtomicUsize,
}

#[derive(Clone, Deserialize)]
struct Endpoints {
    authorization_endpoint: String,
    token_endpoint: String,
}

/// What the page needs to send a user to the issuer.
#[derive(Debug, Serialize)]
pub struct Invitation {
    issuer: String,
    authorization_endpoint: String,
    client_id: String,
    scope: &'static str,
}

/// The authorization code of the issuer, and the proof that this page requested it.
#[derive(Deserialize)]
pub struct Returned {
    /// The authorization code.
    pub authorization_code: String,
    /// The PKCE verifier, whose SHA-256 was sent with the authorization request.
    pub code_verifier: String,
    /// The URL to which the issuer redirected the user.
    pub redirect_uri: String,
}

#[derive(Deserialize)]
struct Tokens {
    id_token: String,
}

impl ExternalSignIn {
    /// Creates the client without a request. The audience is the client id, as in ID tokens.
    pub fn new(settings: IdentitySettings) -> anyhow::Result<Self> {
        let client = reqwest::blocking::Client::builder().timeout(TIMEOUT);
        let client = client.redirect(reqwest::redirect::Policy::limited(3)).build();
        let client = client.context("cannot create the HTTP client for identity.issuer")?;
        Ok(Self { settings, client, endpoints: Mutex::default(), requests: AtomicUsize::new(0) })
    }

    /// Returns what the page needs to send a user to the issuer.
    pub fn invitation(&self) -> anyhow::Result<Invitation> {
        Ok(Invitation {
            issuer: self.settings.issuer.clone(),
            authorization_endpoint: self.endpoints()?.authorization_endpoint,
            client_id: self.settings.audience.clone(),
            scope: "openid email",
        })
    }

    /// Exchanges an authorization code for an ID token.
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
        let tokens: Tokens = self.send(request)?;
        Ok(tokens.id_token)
    }

    /// Returns the endpoints. They are requested until the issuer has responded once, and then cached.
    fn endpoints(&self) -> anyhow::Result<Endpoints> {
        if let Some(endpoints) = self.endpoints.lock().clone() {
            return Ok(endpoints);
        }
        let address = format!("{}/.well-known/openid-configuration", self.settings.issuer.trim_end_matches('/'));
        let endpoints: Endpoints =
            self.send(self.client.get(&address)).with_context(|| format!("cannot get {address}"))?;
        for endpoint in [&endpoints.authorization_endpoint, &endpoints.token_endpoint] {
            let is_http = endpoint.starts_with("https://") || endpoint.starts_with("http://");
            ensure!(is_http, "{address} has the invalid endpoint {endpoint:?}: expected an http or https URL");
        }
        *self.endpoints.lock() = Some(endpoints.clone());
        Ok(endpoints)
    }

    /// Sends a request, unless too many are in flight.
    fn send<T: serde::de::DeserializeOwned>(&self, request: reqwest::blocking::RequestBuilder) -> anyhow::Result<T> {
        let is_free = self.requests.fetch_add(1, Ordering::SeqCst) < REQUESTS_MAX;
        let result =
            if is_free { send_and_read(request) } else { Err(anyhow::anyhow!("too many sign-ins are in progress")) };
        self.requests.fetch_sub(1, Ordering::SeqCst);
        result
    }
}

fn send_and_read<T: serde::de::DeserializeOwned>(request: reqwest::blocking::RequestBuilder) -> anyhow::Result<T> {
    use std::io::Read;
    let response = request.send()?.error_for_status()?;
    let mut text = String::new();
    response.take(RESPONSE_BYTES_MAX).read_to_string(&mut text)?;
    serde_json::from_str(&text).context("the response does not have the expected form")
}
