//! How a tool reaches the API.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use anyhow::Context;
use hyper::Method;
use parking_lot::Mutex;
use serde_json::Value;
use zeroize::Zeroizing;

/// An answer is waited for as long as this; a hosted model may have to be asked.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A request of the API.
pub struct ApiRequest {
    /// The method.
    pub method: Method,
    /// Path and query, encoded.
    pub target: String,
    /// The body, where there is one.
    pub body: Option<Value>,
}

/// What the API answered.
pub struct ApiResponse {
    /// The status.
    pub status: u16,
    /// The body; null where it is no JSON.
    pub body: Value,
}

/// An answer that is still to come.
pub type ApiFuture<'a> = Pin<Box<dyn Future<Output = anyhow::Result<ApiResponse>> + Send + 'a>>;

/// The API, wherever it is.
pub trait Api: Send + Sync + 'static {
    /// Does one request with the credential that this was made with.
    fn ask(&self, asked: ApiRequest) -> ApiFuture<'_>;
}

/// A server, by its address.
pub struct Remote {
    client: reqwest::Client,
    url: String,
    /// Gives a credential; one that was refused may have been a session that is over.
    fresh: Box<dyn Fn() -> anyhow::Result<String> + Send + Sync>,
    credential: Mutex<Zeroizing<String>>,
}

impl Remote {
    /// A server at an address such as `http://127.0.0.1:8080`, and what gives a key or session.
    pub fn new(url: &str, fresh: impl Fn() -> anyhow::Result<String> + Send + Sync + 'static) -> anyhow::Result<Self> {
        let client = reqwest::Client::builder().timeout(TIMEOUT).build().context("no HTTP client can be made")?;
        let credential = Mutex::new(fresh()?.into());
        Ok(Self { client, url: url.trim_end_matches('/').to_owned(), fresh: Box::new(fresh), credential })
    }

    async fn send(&self, asked: &ApiRequest) -> anyhow::Result<ApiResponse> {
        let address = format!("{}{}", self.url, asked.target);
        let credential = self.credential.lock().clone();
        let mut request = self.client.request(asked.method.clone(), &address).bearer_auth(credential.as_str());
        if let Some(body) = &asked.body {
            request = request.json(body);
        }
        let response = request.send().await.with_context(|| format!("{} cannot be reached", self.url))?;
        let status = response.status().as_u16();
        let bytes = response.bytes().await.with_context(|| format!("{} broke off its answer", self.url))?;
        Ok(ApiResponse { status, body: serde_json::from_slice(&bytes).unwrap_or_default() })
    }
}

impl Api for Remote {
    fn ask(&self, asked: ApiRequest) -> ApiFuture<'_> {
        Box::pin(async move {
            let answered = self.send(&asked).await?;
            // The gateway's refusal has no error of its own.
            if answered.status != 403 || !answered.body["error"].is_null() {
                return Ok(answered);
            }
            let fresh = (self.fresh)()?;
            *self.credential.lock() = fresh.into();
            self.send(&asked).await
        })
    }
}
