//! `POST /v1/answer`: an answer to a question from the memories, with citations.

use cuebase_language::relevance::Admission;

use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::retrieve::{RetrieveFilter, RetrieveQuery, RetrieveTarget, warn_of_unclear_user};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::request::decode;

/// `POST /v1/answer`.
pub fn answer(request: &AuthenticatedRequest) -> Result<Reply> {
    let body: RetrieveQuery = request.json()?;
    let target: RetrieveTarget = decode(&request.body)?;
    let filter: RetrieveFilter = decode(&request.body)?;
    let namespaces = request.readable_namespaces(target.namespace.as_ref())?;
    if body.q.as_deref().unwrap_or("").trim().is_empty() {
        return Err(Error::invalid(ErrorCode::MissingQuery, "q is missing: send the question"));
    }
    let mut retrieve = body.request(&filter)?;
    retrieve.budget = request.reply_budget.clone();
    let reads = &request.app.reads;
    // An answer is worse than none if nothing is sure enough, and one that no longer holds is wrong.
    if !body.names_admission() {
        retrieve.admission = Admission::Balanced;
    }
    if !body.names_currency() {
        retrieve.currency = reads.currency_of_answer(&retrieve);
    }
    let findings = reads.find_in_all(request.account(), &namespaces, &retrieve)?;
    warn_of_unclear_user(request, &namespaces, &retrieve);
    // A chat model may take long to answer, and other retrievals need not wait for it.
    request.retrieval_slot.release();
    Reply::ok(&reads.answer_from(findings, &retrieve)?)
}
