//! The interface of payment providers.

use cuebase_storage::AccountId;
use cuebase_storage::records::{PlanName, TransactionRecord};

/// A hosted page on which a customer pays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    /// The provider's id of the payment or subscription.
    pub id: String,
    /// URL of the page.
    pub link: String,
}

/// Why a call to a payment provider failed.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// The provider was unreachable, did not respond in time, or reported that it cannot respond now. A retry may
    /// succeed.
    #[error("the payment provider does not respond: {0}")]
    Unavailable(String),
    /// The provider refused the request. A retry does not help.
    #[error("the payment provider refused the request: {0}")]
    Refused(String),
}

/// A payment provider. Every call blocks until the provider responds or the deadline passes.
pub trait Provider: Send + Sync {
    /// Returns the name of its ledger.
    fn ledger(&self) -> &'static str;

    /// Creates a customer for an account. Returns the provider's id.
    fn create_customer(&self, account: &AccountId, email: Option<&str>) -> Result<String, ProviderError>;

    /// Starts a payment of an amount into an account's wallet.
    fn start_payment(&self, account: &AccountId, customer: &str, amount_paise: i64) -> Result<Checkout, ProviderError>;

    /// Starts a subscription to a plan.
    fn start_subscription(
        &self,
        account: &AccountId,
        customer: &str,
        plan: PlanName,
    ) -> Result<Checkout, ProviderError>;

    /// Returns whether the provider sells subscriptions to a plan.
    fn offers(&self, plan: PlanName) -> bool;

    /// Returns the plan that a product of the provider stands for.
    fn plan_of_product(&self, product: &str) -> Option<PlanName>;

    /// Enters a transaction into the customer's ledger. A second call with the same transaction changes nothing.
    fn record(&self, customer: &str, transaction: &TransactionRecord) -> Result<(), ProviderError>;
}
