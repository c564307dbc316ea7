//! Requests that are answered when their write has ended (`wait`).
//!
//! The handler has returned its `202` before the wait begins. The wait holds no thread, no slot of a handler and no
//! memory for a body; it holds a slot of its own kind, because it occupies a connection.

use std::sync::Arc;
use std::time::Duration;

use cuebase_storage::AccountId;
use tokio::time::{Instant, timeout_at};

use super::admission::Admission;
use super::sender::Sender;
use crate::api::query::QueryString;
use crate::api::routes::Route;
use crate::api::unknown::UnknownNames;
use crate::api::views::writes::WriteView;
use crate::api::writes::WaitFor;
use crate::api::{AcceptedWrite, Reply, writes};
use crate::app::App;
use crate::error::Result;
use crate::gateway::Principal;
use crate::service::write_vectors::VectorState;
use crate::service::writes::Write;

/// The wait that a request asks for.
pub(super) struct RequestedWait {
    time: Duration,
    until: WaitFor,
    account: AccountId,
    sender: Sender,
    /// Added to the reply as warnings.
    unknown: UnknownNames,
}

impl RequestedWait {
    /// Returns the wait that a request asks for, if its route can wait.
    ///
    /// # Errors
    ///
    /// `invalid_body` if the time is not one of up to 30 seconds; `invalid_parameter` for an unknown `wait_for`.
    pub(super) fn parse(
        route: &Route,
        query: &QueryString,
        principal: Option<&Principal>,
        unknown: &UnknownNames,
    ) -> Result<Option<Self>> {
        let Some(principal) = principal else { return Ok(None) };
        if !route.query.contains(&writes::WAIT) {
            return Ok(None);
        }
        let until = writes::wait_for(query)?;
        let Some(time) = writes::wait_time(query)? else { return Ok(None) };
        let account = principal.account.clone();
        let sender = Sender::Account(account.clone());
        Ok(Some(Self { time, until, account, sender, unknown: unknown.clone() }))
    }

    /// Returns the sender of the request.
    pub(super) fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Waits until a write has ended or the time is up, and returns the reply to the request. Returns `None` if the
    /// `202` of the handler is the reply: too many requests wait, or the state of the write cannot be read.
    pub(super) async fn reply(&self, app: &App, admission: &Admission, accepted: &AcceptedWrite) -> Option<Reply> {
        let _slot = admission.write_wait(&self.sender)?;
        let deadline = Instant::now() + self.time;
        let mut wait = app.intake.wait_for_write(accepted.id);
        // Read after the wait has begun, so that an end in between is not missed.
        let mut write = self.read(app, admission, accepted).await?;
        if !write.status.is_final() {
            // At the end of the time the present state is the reply.
            let _ = timeout_at(deadline, wait.ended()).await;
            write = self.read(app, admission, accepted).await?;
        }
        while self.until == WaitFor::Vectors && write.vectors == Some(VectorState::Pending) {
            let mut indexed = std::pin::pin!(app.intake.vectors.next_indexed());
            // From here on no notification is missed, so the state is read again.
            indexed.as_mut().enable();
            write = self.read(app, admission, accepted).await?;
            let is_over = app.intake.waits_have_ended() || write.vectors != Some(VectorState::Pending);
            if is_over || timeout_at(deadline, indexed).await.is_err() {
                break;
            }
        }
        let reply = match write.status.is_final() {
            true => Reply::ok(&WriteView::of(&write)),
            false => accepted.clone().reply(write.status.as_str()),
        };
        Some(self.unknown.add_to(reply.ok()?))
    }

    /// Reads the state of the write on the blocking pool.
    async fn read(&self, app: &App, admission: &Admission, accepted: &AcceptedWrite) -> Option<Write> {
        let permit = admission.request(&self.sender).await.ok()?;
        let intake = Arc::clone(&app.intake);
        let (account, id) = (self.account.clone(), accepted.id);
        let read = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            intake.write(&account, id)
        });
        match read.await {
            Ok(Ok(write)) => write,
            Ok(Err(error)) => {
                tracing::warn!(write = %id, failure = error.code(), "the state of a write could not be read");
                None
            }
            // The read panicked, which is logged.
            Err(_) => None,
        }
    }
}
