//! How a tool sends a request to the API.

#![expect(clippy::disallowed_types, reason = "is a client of the own API")]

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use anyhow::Context;
use hyper::Method;
use parking_lot::Mutex;
use serde_json::Value;
use zeroize::Zeroizing;

/// Longest wait for a response. A request may include a call of a hosted model.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A request to the API.
pub struct ApiRequest {
    /// The method.
    pub method: Method,
    /// Path and query, percent-encoded.
    pub target: String,
    /// The JSON body; `None` for a request without a body.
    pub body: Option<Value>,
}

/// A response of the API.
pub struct ApiResponse {
    /// The status.
    pub status: u16,
    /// The body; null where it is not JSON.
    pub body: Value,
}

/// A pending response.
pub type ApiFuture<'a> = Pin<Box<dyn Future<Output = anyhow::Result<ApiResponse>> + Send + 'a>>;

/// The API, in this process or on a server.
pub trait Api: Send + Sync + 'static {
    /// Sends one request, with the credential of the client.
    fn send(&self, request: ApiRequest) -> ApiFuture<'_>;
}

/// The API of a server at an address.
pub struct RemoteApi {
    client: reqwest::Client,
    url: String,
    /// Returns a new credential. The current one may be a session that has expired.
    new_credential: Box<dyn Fn() -> anyhow::Result<String> + Send + Sync>,
    credential: Mutex<Zeroizing<String>>,
}

impl RemoteApi {
    /// Makes a client of a server at an address such as `http://127.0.0.1:8080`.
    ///
    /// `new_credential` returns an API key or a session. It is called at once, and again when the server refuses the
    /// credential.
    pub fn new(
        url: &str,
        new_credential: impl Fn() -> anyhow::Result<String> + Send + Sync + 'static,
    ) -> anyhow::Result<Self> {
        let client = reqwest::Client::builder().timeout(TIMEOUT).build().context("cannot create an HTTP client")?;
        let credential = Mutex::new(new_credential()?.into());
        let url = url.trim_end_matches('/').to_owned();
        Ok(Self { client, url, new_credential: Box::new(new_credential), credential })
    }

    async fn send_once(&self, request: &ApiRequest) -> anyhow::Result<ApiResponse> {
        let address = format!("{}{}", self.url, request.target);
        let credential = self.credential.lock().clone();
        let mut call = self.client.request(request.method.clone(), &address).bearer_auth(credential.as_str());
        if let Some(body) = &request.body {
            call = call.json(body);
        }
        let response = call.send().await.with_context(|| format!("cannot reach {}", self.url))?;
        let status = response.status().as_u16();
        let bytes = response.bytes().await.with_context(|| format!("{} aborted its response", self.url))?;
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Ok(ApiResponse { status, body })
    }
}

impl Api for RemoteApi {
    fn send(&self, request: ApiRequest) -> ApiFuture<'_> {
        Box::pin(async move {
            let response = self.send_once(&request).await?;
            // Only the gateway's refusal of a credential is a 403 without an `error`.
            if response.status != 403 || !response.body["error"].is_null() {
                return Ok(response);
            }
            let credential = (self.new_credential)()?;
            *self.credential.lock() = credential.into();
            self.send_once(&request).await
        })
    }
}
