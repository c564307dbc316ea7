//! The sender of a request, for whom slots and memory are counted.

use cuebase_storage::AccountId;

/// Who sent a request. An account and a route of the same text are different senders.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sender {
    /// An authenticated account.
    Account(AccountId),
    /// All senders without a credential on a route, given by its path.
    Route(&'static str),
}
