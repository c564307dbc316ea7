//! A request in a process that shares its storage: answered here if this process owns the namespace, otherwise by the
//! owner.
//!
//! The handler runs first. If it meets a namespace that this process does not own, it fails before it changes anything.
//! The namespace is then claimed and the handler runs again, or the owner gets the request.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebase_storage::NamespaceKey;
use hyper::{Method, StatusCode};

use super::body::ReceivedBody;
use super::forwarding::{ForwardError, ForwardedRequest, misdirected, owner_unreachable};
use super::reply_memory::HeldReply;
use super::requests::{Answered, Arrival, Failure, MatchedRequest, RequestHandler};
use crate::api::routes::{Executor, Route};
use crate::api::{Reply, ReplyBody, error};
use crate::cluster::Reading;
use crate::error::{Error, Result};

/// How long a request waits for an owner that takes it: longer than it takes until others claim the namespaces of a node
/// that died.
pub(super) const OWNER_WAIT: Duration = Duration::from_secs(5);
/// Pause before an owner is asked again.
pub(super) const OWNER_PAUSE: Duration = Duration::from_millis(100);

impl RequestHandler {
    /// Answers a request here or at the owner of its namespace.
    pub(super) async fn answer_at_owner(
        &self,
        request: MatchedRequest,
        body: &ReceivedBody,
    ) -> Result<Answered, Reply> {
        let mut deadline = Instant::now() + OWNER_WAIT;
        let mut has_claimed = false;
        let ownership = self.app.namespaces.ownership();
        'here: loop {
            let reading = ownership.begin_reading();
            let namespace = match self.answer_here(request.again(), body).await {
                Ok(reply) => {
                    self.check_answer(&request, reply.status(), reading)?;
                    return Ok(Answered::Here(reply));
                }
                Err(Failure::Refused(reply)) => {
                    self.check_answer(&request, reply.status, reading)?;
                    return Err(reply);
                }
                Err(Failure::NotOwner(namespace)) => namespace,
            };
            // While the owner is not known, the handler need not run again.
            loop {
                let address = match self.hold_namespace(&namespace).await {
                    // The next round answers here. A claim may take longer than the wait for an owner.
                    Ok(()) if !has_claimed || Instant::now() < deadline => {
                        if !has_claimed {
                            deadline = Instant::now() + OWNER_WAIT;
                        }
                        has_claimed = true;
                        continue 'here;
                    }
                    Ok(()) => return Err(refuse(&request, &Error::NotOwner(namespace))),
                    Err(Error::Elsewhere { address }) => address,
                    // Deleted since the handler looked it up. The handler finds its successor, or that there is none.
                    Err(Error::NamespaceGone) if Instant::now() < deadline => continue 'here,
                    Err(error) => return Err(refuse(&request, &error)),
                };
                if request.arrival == Arrival::Node {
                    // The sender reads the owner again.
                    return Err(misdirected());
                }
                let failure = match self.forward(&request, body, &address).await {
                    Ok(reply) => return Ok(Answered::Elsewhere(reply?)),
                    Err(failure) => failure,
                };
                ownership.forget_owner(&namespace);
                let is_repeatable = !matches!(failure, ForwardError::Lost) || is_read(request.route);
                if !is_repeatable || Instant::now() >= deadline {
                    return Err(refuse(&request, &owner_unreachable(&failure)));
                }
                tokio::time::sleep(OWNER_PAUSE).await;
            }
        }
    }

    /// Fails if an answer says what a namespace contains, and the session of this process ended while it was read: another
    /// node may have changed it.
    fn check_answer(&self, request: &MatchedRequest, status: StatusCode, reading: Reading) -> Result<(), Reply> {
        if !depends_on_memories(request.route, status) {
            return Ok(());
        }
        let checked = self.app.namespaces.ownership().check_reading(reading);
        checked.map_err(|error| refuse(request, &error))
    }

    /// Claims a namespace, or fails with the address of its owner. Calls the database, so it runs on a blocking thread.
    pub(super) async fn hold_namespace(&self, namespace: &NamespaceKey) -> Result<()> {
        let ownership = Arc::clone(self.app.namespaces.ownership());
        let namespace = namespace.clone();
        let held = tokio::task::spawn_blocking(move || ownership.hold(&namespace)).await;
        held.unwrap_or_else(|_| Err(Error::internal("the claim of a namespace panicked")))
    }

    /// Sends a request to the owner. The inner error is the reply if no slot or no memory is free. The handler that ran
    /// here gave back its slots when it ended.
    async fn forward(
        &self,
        request: &MatchedRequest,
        body: &ReceivedBody,
        address: &str,
    ) -> Result<Result<HeldReply, Reply>, ForwardError> {
        let forwarded = ForwardedRequest {
            caller: request.principal.as_ref(),
            method: request.route.method.clone(),
            target: &request.target,
            headers: &request.headers,
            body: body.bytes.clone(),
        };
        let slot = match self.admission.forwarded(&request.sender()) {
            Ok(slot) => slot,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let reply = self.forwarding.answer(address, &forwarded).await?;
        drop(slot);
        debug_assert!(matches!(reply.body, ReplyBody::Bytes(_)));
        Ok(self.hold(request.route, &request.sender(), reply, None))
    }
}

/// Whether a route only reads, so that a request can be repeated and its answer must be up to date.
fn is_read(route: &Route) -> bool {
    route.method == Method::GET || matches!(route.executor, Executor::Retrieval | Executor::Retrieve)
}

/// Whether the answer of a route depends on what was read: an answer of a reading route, and a refusal because something
/// does not exist or differs from what the client expects.
fn depends_on_memories(route: &Route, status: StatusCode) -> bool {
    let is_refused_by_content = matches!(status, StatusCode::NOT_FOUND | StatusCode::CONFLICT);
    is_refused_by_content || (is_read(route) && status.is_success())
}

fn refuse(request: &MatchedRequest, error: &Error) -> Reply {
    error::reply(error, &request.error_format)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::routes::ROUTES;

    fn route(method: &Method, path: &str) -> &'static Route {
        let found = ROUTES.iter().find(|route| route.method == *method && route.path == path);
        found.expect("the route exists")
    }

    #[test]
    fn an_answer_that_something_does_not_exist_depends_on_memories() {
        let read = route(&Method::GET, "/v1/retrieve");
        let write = route(&Method::POST, "/v1/memories");
        for (route, status, depends) in [
            (read, StatusCode::OK, true),
            (read, StatusCode::NOT_FOUND, true),
            (read, StatusCode::BAD_REQUEST, false),
            (read, StatusCode::SERVICE_UNAVAILABLE, false),
            (write, StatusCode::ACCEPTED, false),
            (write, StatusCode::NOT_FOUND, true),
            (write, StatusCode::CONFLICT, true),
        ] {
            assert_eq!(depends_on_memories(route, status), depends, "{} {status}", route.path);
        }
    }
}
