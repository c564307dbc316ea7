//! The person who asks: whether it is clear who "I" is in a query.

use cuebase_retrieval::is_in_first_person;
use cuebase_storage::{AccountId, NamespaceName};

use super::request::RetrievalRequest;
use crate::service::reads::Reads;

/// Whether a query speaks of the person who asks without naming them, and several persons with names speak in one of the
/// namespaces. Such a query finds what any of them said. Namespaces of other nodes are not asked.
pub fn is_user_unclear(
    reads: &Reads,
    account: &AccountId,
    namespaces: &[NamespaceName],
    request: &RetrievalRequest,
) -> bool {
    let Some(query) = &request.query else { return false };
    if request.user.is_some() || !is_in_first_person(query) {
        return false;
    }
    for namespace in namespaces {
        if let Ok(lease) = reads.namespaces.lease(account, namespace)
            && lease.snapshot().has_several_users()
        {
            return true;
        }
    }
    false
}
