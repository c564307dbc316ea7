//! Requests that another node answers, because it owns their namespace.
//!
//! The request goes to the internal listener of the owner as it arrived, with a [pass](crate::cluster::PassKey) in place
//! of the caller's credential. A small answer is read to its end before it is passed on; git packs are streamed.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cuebase_storage::NamespaceKey;
use http_body_util::channel::Channel;
use hyper::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, COOKIE, EXPECT, HOST, HeaderName, TE, TRAILER, TRANSFER_ENCODING,
    UPGRADE,
};
use hyper::{HeaderMap, Method, Response, StatusCode};
use tokio::runtime::Handle;

use super::response_body::ResponseBody;
use crate::api::Reply;
use crate::app::App;
use crate::cluster::Ownership;
use crate::error::Error;
use crate::gateway::Principal;
use crate::metrics::{CallOutcome, Metrics, NodeCall};
use crate::service::peers::PeerCalls;

/// The header with the pass of a forwarded request.
pub(super) const PASS: HeaderName = HeaderName::from_static("x-cuebase-pass");
/// Headers of one connection, or of the caller's credential, which are not forwarded.
const NOT_FORWARDED: [HeaderName; 11] =
    [AUTHORIZATION, CONNECTION, CONTENT_LENGTH, COOKIE, EXPECT, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, PASS];
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
/// Chunks of a streamed answer that are read before the client takes them.
const CHUNKS_AHEAD: usize = 4;

/// Sends requests to other nodes.
pub(super) struct Forwarding {
    app: Arc<App>,
    metrics: Arc<Metrics>,
    client: reqwest::Client,
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
    /// The node may have received it. Its answer is lost.
    Lost,
}

impl Forwarding {
    pub(super) fn new(app: Arc<App>) -> anyhow::Result<Self> {
        let client = reqwest::Client::builder().connect_timeout(CONNECT_TIMEOUT).http1_only().no_proxy();
        let client =
            client.tcp_keepalive(PROBE_PAUSE).tcp_keepalive_interval(PROBE_PAUSE).tcp_keepalive_retries(PROBES);
        let client = client.tcp_user_timeout(UNACKNOWLEDGED_MAX);
        let client = client.redirect(reqwest::redirect::Policy::none()).build()?;
        Ok(Self { metrics: app.jobs.metrics(), app, client })
    }

    fn ownership(&self) -> &Ownership {
        self.app.namespaces.ownership()
    }

    /// Returns the caller of a request at the internal listener. `None` if the request has no valid pass.
    pub(super) fn verify(&self, method: &Method, target: &str, headers: &HeaderMap) -> Option<ForwardedCaller> {
        let key = self.ownership().pass_key()?;
        let pass = headers.get(PASS)?.to_str().ok()?;
        key.verify(pass, method.as_str(), target, self.app.jobs.clock().now_ms()).map(ForwardedCaller)
    }

    /// Sends a request to a node, and waits for the head of its answer while the node lives.
    async fn send(&self, address: &str, request: &ForwardedRequest<'_>) -> Result<reqwest::Response, ForwardError> {
        let Some(key) = self.ownership().pass_key() else { return Err(ForwardError::NotTaken) };
        let pass = key.sign(request.caller, request.method.as_str(), request.target, self.app.jobs.clock().now_ms());
        let mut headers = request.headers.clone();
        for name in NOT_FORWARDED {
            headers.remove(name);
        }
        let url = format!("http://{address}{}", request.target);
        let call = self.client.request(request.method.clone(), url).headers(headers).header(PASS, pass);
        let call = call.body(request.body.clone()).send();
        let response = tokio::select! {
            response = call => response,
            () = self.ended(address) => return Err(ForwardError::Lost),
        };
        match response {
            Ok(response) if response.status() == StatusCode::MISDIRECTED_REQUEST => Err(ForwardError::NotTaken),
            Ok(response) => Ok(response),
            Err(error) if error.is_connect() || error.is_builder() => Err(ForwardError::NotTaken),
            Err(_) => Err(ForwardError::Lost),
        }
    }

    /// Counts a call of another node that began at a time.
    fn record<T>(&self, call: NodeCall, answer: &Result<T, ForwardError>, began: Instant) {
        let outcome = match answer {
            Ok(_) => CallOutcome::Answered,
            Err(ForwardError::NotTaken) => CallOutcome::NotTaken,
            Err(ForwardError::Lost) => CallOutcome::Lost,
        };
        self.metrics.record_forwarded(call, outcome, began.elapsed());
    }

    /// Completes when a node has no session any more.
    async fn ended(&self, address: &str) {
        loop {
            tokio::time::sleep(LIVENESS_INTERVAL).await;
            if !self.ownership().is_live(address) {
                return;
            }
        }
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

    /// Returns the answer of a node, whose body is passed on while it arrives. `held` is dropped at its end.
    pub(super) async fn stream(
        &self,
        address: &str,
        request: &ForwardedRequest<'_>,
        held: impl Send + 'static,
    ) -> Result<Response<ResponseBody>, ForwardError> {
        let began = Instant::now();
        let answer = self.send(address, request).await;
        self.record(NodeCall::Request, &answer, began);
        let mut answer = answer?;
        let (mut sender, chunks) = Channel::new(CHUNKS_AHEAD);
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
                        if sender.send_data(chunk).await.is_err() {
                            // The client has left.
                            return;
                        }
                    }
                    Ok(None) => return,
                    Err(_) => {
                        sender.abort(io::ErrorKind::ConnectionReset.into());
                        return;
                    }
                }
            }
        });
        Ok(response)
    }
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
        let peers = self.forwarding.ownership().peers();
        Ok(peers.into_iter().map(|peer| peer.address).collect())
    }

    fn hold(&self, namespace: &NamespaceKey) -> crate::error::Result<()> {
        self.forwarding.ownership().hold(namespace)
    }
}

/// The error for a request whose owner did not answer in time.
pub(super) fn owner_unreachable(outcome: &ForwardError) -> Error {
    use cuebase_storage::error::DiskTrouble;

    let reason = match outcome {
        ForwardError::NotTaken => "the node that owns the namespace did not take the request",
        ForwardError::Lost => "the node that owns the namespace ended before its answer arrived",
    };
    Error::Disk { trouble: DiskTrouble::Unreachable, reason: reason.to_owned() }
}
