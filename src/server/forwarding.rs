//! Requests that another node answers, because it owns their namespace.
//!
//! The request goes to the internal listener of the owner as it arrived, with a [pass](crate::cluster::PassKey) in place
//! of the caller's credential, and with the version of the protocol between nodes. A node of another version refuses it.
//! A small answer is read to its end before it is passed on; git packs are streamed.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cuebase_storage::NamespaceKey;
use hyper::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, COOKIE, EXPECT, HOST, HeaderName, TE, TRAILER, TRANSFER_ENCODING,
    UPGRADE,
};
use hyper::{HeaderMap, Method, Response, StatusCode};
use tokio::runtime::Handle;

use super::chunks::chunk_channel;
use super::response_body::ResponseBody;
use crate::api::Reply;
use crate::app::App;
use crate::cluster::{Ownership, Pass};
use crate::error::Error;
use crate::gateway::Principal;
use crate::metrics::{CallOutcome, Metrics, NodeCall};
use crate::service::peers::{PROTOCOL, PeerCalls};
use crate::sha256::sha256;

/// The header with the pass of a forwarded request.
pub(super) const PASS: HeaderName = HeaderName::from_static("x-cuebase-pass");
/// The header with the [`PROTOCOL`] of the sender: in a forwarded request, and in its refusal by a node with another one.
const PROTOCOL_HEADER: HeaderName = HeaderName::from_static("x-cuebase-protocol");
/// Headers of one connection, of the caller's credential, or between nodes, which are not forwarded.
const NOT_FORWARDED: [HeaderName; 12] = [
    AUTHORIZATION,
    CONNECTION,
    CONTENT_LENGTH,
    COOKIE,
    EXPECT,
    HOST,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    PASS,
    PROTOCOL_HEADER,
];
/// A longer body is hashed on a blocking thread.
const HASHED_AT_ONCE_MAX: usize = 256 << 10;
/// The path of the internal listener for questions of services.
pub(super) const QUESTIONS: &str = "/questions";
/// Time limit for a connection to another node.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Longest time that sent bytes may stay without an acknowledgement. A node that was cut off is noticed after it.
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(4);
/// Pause before a silent connection is probed, and between two probes.
const PROBE_PAUSE: Duration = Duration::from_secs(1);
/// Probes without an answer after which a connection is lost.
const PROBES: u32 = 3;
/// Time between two checks whether the node that has a request is still alive.
const LIVENESS_INTERVAL: Duration = Duration::from_millis(200);
/// Longest time until this node observes one that has joined.
const JOINING_MAX: Duration = Duration::from_secs(2);
/// Chunks of a streamed answer that are read before the client takes them.
const CHUNKS_AHEAD: usize = 4;

/// Sends requests to other nodes.
pub(super) struct Forwarding {
    app: Arc<App>,
    metrics: Arc<Metrics>,
    /// `None` in a process that is alone, which must start on a system without certificates too.
    client: Option<reqwest::Client>,
}

/// The caller of a request that another node has authenticated; `None` on an open route. Only the internal listener
/// adds it to a request.
#[derive(Clone, Debug)]
pub(super) struct ForwardedCaller(pub(super) Option<Principal>);

/// A request for another node.
pub(super) struct ForwardedRequest<'a> {
    pub(super) caller: Option<&'a Principal>,
    pub(super) method: Method,
    /// Path and query.
    pub(super) target: &'a str,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: Bytes,
}

/// Why a request was not answered by another node.
#[derive(Debug)]
pub(super) enum ForwardError {
    /// The node did not receive the request, or refused it before it did anything.
    NotTaken,
    /// The node refused the request, because its version of the protocol between nodes is another one.
    OtherProtocol(String),
    /// The node may have received it. Its answer is lost.
    Lost,
}

impl Forwarding {
    pub(super) fn new(app: Arc<App>) -> anyhow::Result<Self> {
        let client = if app.namespaces.ownership().is_alone() { None } else { Some(node_client()?) };
        Ok(Self { metrics: app.jobs.metrics(), app, client })
    }

    fn ownership(&self) -> &Ownership {
        self.app.namespaces.ownership()
    }

    /// Returns the pass of a request at the internal listener. `None` if the request has no valid pass.
    pub(super) fn verify(&self, method: &Method, target: &str, headers: &HeaderMap) -> Option<Pass> {
        let key = self.ownership().pass_key()?;
        let pass = headers.get(PASS)?.to_str().ok()?;
        key.verify(pass, method.as_str(), target, self.app.jobs.clock().now_ms())
    }

    /// Sends a request to a node, and waits for the head of its answer while the node lives.
    async fn send(&self, address: &str, request: &ForwardedRequest<'_>) -> Result<reqwest::Response, ForwardError> {
        let (Some(client), Some(key)) = (&self.client, self.ownership().pass_key()) else {
            return Err(ForwardError::NotTaken);
        };
        let pass = Pass { caller: request.caller.cloned(), body_sha256: hash_body(&request.body).await? };
        let pass = key.sign(pass, request.method.as_str(), request.target, self.app.jobs.clock().now_ms());
        let mut headers = request.headers.clone();
        for name in NOT_FORWARDED {
            headers.remove(name);
        }
        let url = format!("http://{address}{}", request.target);
        let call = client.request(request.method.clone(), url).headers(headers).header(PASS, pass);
        let call = call.header(PROTOCOL_HEADER, PROTOCOL);
        let call = call.body(request.body.clone()).send();
        let response = tokio::select! {
            response = call => response,
            () = self.ended(address) => return Err(ForwardError::Lost),
        };
        match response {
            Ok(response) if response.status() == StatusCode::MISDIRECTED_REQUEST => Err(not_taken(response.headers())),
            Ok(response) => Ok(response),
            Err(error) if error.is_connect() || error.is_builder() => Err(ForwardError::NotTaken),
            Err(_) => Err(ForwardError::Lost),
        }
    }

    /// Counts a call of another node that began at a time.
    fn record<T>(&self, call: NodeCall, answer: &Result<T, ForwardError>, began: Instant) {
        let outcome = match answer {
            Ok(_) => CallOutcome::Answered,
            Err(ForwardError::NotTaken | ForwardError::OtherProtocol(_)) => CallOutcome::NotTaken,
            Err(ForwardError::Lost) => CallOutcome::Lost,
        };
        self.metrics.record_forwarded(call, outcome, began.elapsed());
    }

    /// Completes when a node has no session any more. One that has just joined is observed a moment later.
    async fn ended(&self, address: &str) {
        let began = Instant::now();
        let mut was_live = self.ownership().is_live(address);
        loop {
            tokio::time::sleep(LIVENESS_INTERVAL).await;
            if self.ownership().is_live(address) {
                was_live = true;
            } else if was_live || began.elapsed() > JOINING_MAX {
                return;
            }
        }
    }

    /// Returns the beginning of a node's answer, whose body [`stream`] passes on.
    pub(super) async fn begin_answer(
        &self,
        address: &str,
        request: &ForwardedRequest<'_>,
    ) -> Result<reqwest::Response, ForwardError> {
        let began = Instant::now();
        let answer = self.send(address, request).await;
        self.record(NodeCall::Request, &answer, began);
        answer
    }

    /// Returns the answer of a node, with its whole body.
    pub(super) async fn answer(&self, address: &str, request: &ForwardedRequest<'_>) -> Result<Reply, ForwardError> {
        let began = Instant::now();
        let reply = self.send_request(address, request).await;
        self.record(NodeCall::Request, &reply, began);
        reply
    }

    async fn send_request(&self, address: &str, request: &ForwardedRequest<'_>) -> Result<Reply, ForwardError> {
        let response = self.send(address, request).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = tokio::select! {
            body = response.bytes() => body.map_err(|_| ForwardError::Lost)?,
            () = self.ended(address) => return Err(ForwardError::Lost),
        };
        let mut reply = Reply::new(status, body);
        for (name, value) in headers {
            if let Some(name) = name
                && !NOT_FORWARDED.contains(&name)
            {
                reply.headers.push((name, value));
            }
        }
        Ok(reply)
    }

    /// Sends a question of a service to a node and returns the answer.
    async fn ask(&self, address: &str, question: Vec<u8>) -> Result<Bytes, ForwardError> {
        let began = Instant::now();
        let answer = self.send_question(address, question).await;
        self.record(NodeCall::Question, &answer, began);
        answer
    }

    async fn send_question(&self, address: &str, question: Vec<u8>) -> Result<Bytes, ForwardError> {
        let headers = HeaderMap::new();
        let body = Bytes::from(question);
        let request =
            ForwardedRequest { caller: None, method: Method::POST, target: QUESTIONS, headers: &headers, body };
        let response = self.send(address, &request).await?;
        if response.status() != StatusCode::OK {
            return Err(ForwardError::Lost);
        }
        tokio::select! {
            body = response.bytes() => body.map_err(|_| ForwardError::Lost),
            () = self.ended(address) => Err(ForwardError::Lost),
        }
    }
}

/// Makes the client for the internal listeners of other nodes.
fn node_client() -> reqwest::Result<reqwest::Client> {
    let client = reqwest::Client::builder().connect_timeout(CONNECT_TIMEOUT).http1_only().no_proxy();
    let client = client.tcp_keepalive(PROBE_PAUSE).tcp_keepalive_interval(PROBE_PAUSE).tcp_keepalive_retries(PROBES);
    let client = client.tcp_user_timeout(UNACKNOWLEDGED_MAX);
    client.redirect(reqwest::redirect::Policy::none()).build()
}

/// Returns the answer of a node, whose body is passed on while it arrives. `held` is dropped at its end.
pub(super) fn stream(mut answer: reqwest::Response, held: impl Send + 'static) -> Response<ResponseBody> {
    let (sender, chunks) = chunk_channel(CHUNKS_AHEAD);
    let mut response = Response::new(ResponseBody::Stream { chunks, left: answer.content_length() });
    *response.status_mut() = answer.status();
    for (name, value) in answer.headers() {
        if !NOT_FORWARDED.contains(name) {
            response.headers_mut().append(name, value.clone());
        }
    }
    tokio::spawn(async move {
        let _held = held;
        loop {
            match answer.chunk().await {
                Ok(Some(chunk)) => {
                    if sender.send(chunk).await.is_err() {
                        // The client has left.
                        return;
                    }
                }
                Ok(None) => return,
                Err(_) => {
                    sender.abort(io::ErrorKind::ConnectionReset.into()).await;
                    return;
                }
            }
        }
    });
    response
}

/// Returns the SHA-256 of a body.
async fn hash_body(body: &Bytes) -> Result<[u8; 32], ForwardError> {
    if body.len() <= HASHED_AT_ONCE_MAX {
        return Ok(sha256(&[body]));
    }
    let body = body.clone();
    // Fails only while the runtime stops.
    tokio::task::spawn_blocking(move || sha256(&[&body])).await.map_err(|_| ForwardError::NotTaken)
}

/// Returns the refusal of a request by a node that answered `421`.
fn not_taken(headers: &HeaderMap) -> ForwardError {
    match headers.get(PROTOCOL_HEADER) {
        Some(protocol) => ForwardError::OtherProtocol(String::from_utf8_lossy(protocol.as_bytes()).into_owned()),
        None => ForwardError::NotTaken,
    }
}

/// The answer to a request from a node that takes it elsewhere: this node does not own its namespace, or leaves.
pub(super) fn misdirected() -> Reply {
    Reply::new(StatusCode::MISDIRECTED_REQUEST, Vec::new())
}

/// Refuses a request of a node with another version of the protocol between nodes.
///
/// # Errors
///
/// The reply, with the version of this node.
pub(super) fn check_protocol(headers: &HeaderMap) -> Result<(), Reply> {
    let own = PROTOCOL.to_string();
    if headers.get(PROTOCOL_HEADER).is_some_and(|protocol| protocol.as_bytes() == own.as_bytes()) {
        return Ok(());
    }
    // The sender reports it.
    tracing::debug!(own, "refused a request of a node with another version of the protocol between nodes");
    Err(misdirected().with(PROTOCOL_HEADER, &own))
}

/// Carries the questions of services to other nodes.
pub(super) struct Questions {
    forwarding: Arc<Forwarding>,
    runtime: Handle,
}

impl Questions {
    /// Must be called within the runtime.
    pub(super) fn new(forwarding: &Arc<Forwarding>) -> Self {
        Self { forwarding: Arc::clone(forwarding), runtime: Handle::current() }
    }
}

impl PeerCalls for Questions {
    fn call(&self, address: &str, question: Vec<u8>) -> crate::error::Result<Vec<u8>> {
        let answer = self.runtime.block_on(self.forwarding.ask(address, question));
        answer.map(Vec::from).map_err(|failure| owner_unreachable(&failure))
    }

    fn others(&self) -> crate::error::Result<Vec<String>> {
        self.forwarding.ownership().read_peer_addresses()
    }

    fn hold(&self, namespace: &NamespaceKey) -> crate::error::Result<()> {
        self.forwarding.ownership().hold(namespace)
    }
}

/// The error for a request whose owner did not answer in time.
pub(super) fn owner_unreachable(outcome: &ForwardError) -> Error {
    use cuebase_storage::error::DiskTrouble;

    let reason = match outcome {
        ForwardError::NotTaken => "the node that owns the namespace did not take the request".to_owned(),
        ForwardError::OtherProtocol(other) => format!(
            "the node that owns the namespace has version {other} of the protocol between nodes, and this one \
             {PROTOCOL}: run one version of the program on all nodes"
        ),
        ForwardError::Lost => "the node that owns the namespace ended before its answer arrived".to_owned(),
    };
    Error::Disk { trouble: DiskTrouble::Unreachable, reason }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn headers(protocol: &str) -> HeaderMap {
        let value = HeaderValue::from_str(protocol).expect("a header's value");
        HeaderMap::from_iter([(PROTOCOL_HEADER, value)])
    }

    #[test]
    fn a_request_of_another_protocol_is_refused_and_the_sender_reports_both() {
        assert!(check_protocol(&headers(&PROTOCOL.to_string())).is_ok());
        for refused in [headers("0"), headers(""), HeaderMap::new()] {
            let reply = check_protocol(&refused).expect_err("another protocol");
            assert_eq!(reply.status, StatusCode::MISDIRECTED_REQUEST);
            assert_eq!(reply.headers, [(PROTOCOL_HEADER, HeaderValue::from(PROTOCOL))]);
        }
        let failure = not_taken(&headers("7"));
        let reason = owner_unreachable(&failure).to_string();
        assert!(reason.contains("version 7") && reason.contains(&format!("this one {PROTOCOL}:")), "{reason}");
    }

    #[test]
    fn a_node_that_does_not_own_the_namespace_speaks_the_same_protocol() {
        assert!(matches!(not_taken(&HeaderMap::new()), ForwardError::NotTaken));
        assert_eq!(misdirected().status, StatusCode::MISDIRECTED_REQUEST);
    }
}
