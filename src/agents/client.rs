//! A client of the API that is ready in less than a millisecond.
//!
//! A hook runs for every prompt and has 40 ms. Over `http` it opens one connection on a runtime without further
//! threads. Only `https` uses the general client, which loads certificates first.

#![expect(clippy::disallowed_types, reason = "is a client of the own API")]

use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use zeroize::Zeroizing;

/// Bytes of a response, at most.
const RESPONSE_BYTES_MAX: usize = 8 << 20;
/// The port of an `http` URL that names none.
const HTTP_PORT: u16 = 80;

/// A response of the API.
pub(super) struct ApiResponse {
    /// The status.
    pub(super) status: u16,
    /// The body; null if it is not JSON.
    pub(super) body: Value,
}

impl ApiResponse {
    /// Returns the code of an error; empty without one.
    pub(super) fn code(&self) -> &str {
        self.body["error"]["code"].as_str().unwrap_or_default()
    }

    /// Returns the status, the code and the message of an error, for a person.
    pub(super) fn describe(&self) -> String {
        let error = &self.body["error"];
        let message = error["message"].as_str().or(self.body["message"].as_str()).unwrap_or("no message");
        match self.code() {
            "" => format!("{}: {message}", self.status),
            code => format!("{} {code}: {message}", self.status),
        }
    }
}

/// A client of one server.
pub(super) struct ApiClient {
    /// Base URL of the server, without a slash at the end.
    url: String,
    credential: Zeroizing<String>,
    /// Longest wait for a response.
    timeout: Duration,
}

impl ApiClient {
    /// Makes a client. No request is sent yet.
    pub(super) fn new(url: &str, credential: Zeroizing<String>, timeout: Duration) -> Self {
        Self { url: url.trim_end_matches('/').to_owned(), credential, timeout }
    }

    /// Returns the base URL of the server.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Sends a request. `target` is the path with the query.
    ///
    /// # Errors
    ///
    /// Without a response within the time. A response with an error status is a response.
    pub(super) fn send(&self, method: Method, target: &str, body: Option<&Value>) -> anyhow::Result<ApiResponse> {
        let address = format!("{}{target}", self.url);
        if self.url.starts_with("https://") {
            return self.send_over_tls(method, &address, body);
        }
        let uri: Uri = address.parse().with_context(|| format!("invalid server URL {:?}", self.url))?;
        ensure!(
            uri.scheme_str() == Some("http"),
            "invalid server URL {:?}: it must begin with http:// or https://",
            self.url
        );
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let exchange = self.exchange(method, &uri, body);
        match runtime.block_on(async { tokio::time::timeout(self.timeout, exchange).await }) {
            Ok(result) => result.with_context(|| format!("cannot reach {}", self.url)),
            Err(_) => bail!("{} does not respond within {} ms", self.url, self.timeout.as_millis()),
        }
    }

    /// Sends one request over a new connection.
    async fn exchange(&self, method: Method, uri: &Uri, body: Option<&Value>) -> anyhow::Result<ApiResponse> {
        let host = uri.host().context("the URL has no host")?;
        let port = uri.port_u16().unwrap_or(HTTP_PORT);
        let target = match uri.path_and_query() {
            Some(target) => target.as_str(),
            None => "/",
        };
        let stream = TcpStream::connect(format!("{host}:{port}")).await?;
        stream.set_nodelay(true)?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // The response reports why a connection ended.
        tokio::spawn(async move { drop(connection.await) });
        let bytes = match body {
            Some(body) => serde_json::to_vec(body)?,
            None => Vec::new(),
        };
        let request = Request::builder()
            .method(method)
            .uri(target)
            .header(HOST, format!("{host}:{port}"))
            .header(AUTHORIZATION, format!("Bearer {}", self.credential.as_str()))
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(bytes)))?;
        let response = sender.send_request(request).await?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), RESPONSE_BYTES_MAX).collect().await;
        let body = body.map_err(|error| anyhow!("the response was aborted: {error}"))?;
        Ok(response_of(status, &body.to_bytes()))
    }

    fn send_over_tls(&self, method: Method, address: &str, body: Option<&Value>) -> anyhow::Result<ApiResponse> {
        let client = reqwest::blocking::Client::builder().timeout(self.timeout).build()?;
        let mut request = client.request(method, address).bearer_auth(self.credential.as_str());
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().with_context(|| format!("cannot reach {}", self.url))?;
        let status = response.status().as_u16();
        Ok(response_of(status, &response.bytes()?))
    }
}

fn response_of(status: u16, bytes: &[u8]) -> ApiResponse {
    ApiResponse { status, body: serde_json::from_slice(bytes).unwrap_or(Value::Null) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(url: &str) -> ApiClient {
        ApiClient::new(url, String::from("key").into(), Duration::from_secs(5))
    }

    #[test]
    fn a_url_of_another_kind_is_refused_with_its_text() {
        for url in ["ftp://127.0.0.1:1", "127.0.0.1:8080", "http://"] {
            let refused = client(url).send(Method::GET, "/health", None);
            let Err(error) = refused else { panic!("{url} was accepted") };
            assert!(format!("{error:#}").contains("invalid server URL"), "{url}: {error:#}");
        }
    }

    #[test]
    fn a_server_that_is_not_there_is_named() {
        // Nothing listens at port 1. A free port could be taken by another test.
        let url = "http://127.0.0.1:1";
        let Err(error) = client(url).send(Method::GET, "/health", None) else { panic!("nothing listens there") };
        assert!(format!("{error:#}").contains(&format!("cannot reach {url}")), "{error:#}");
    }
}
