//! What a payment provider has to do.

use cuebase_storage::records::TransactionRecord;

/// A hosted page on which somebody pays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    /// The provider's id of the payment or subscription.
    pub id: String,
    /// The page's address.
    pub link: String,
}

/// Why a provider did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// It could not be reached, did not answer in time, or said that it cannot just now; trying again may help.
    #[error("the payment provider does not answer: {0}")]
    Unavailable(String),
    /// It refused; trying again does not help.
    #[error("the payment provider refused: {0}")]
    Refused(String),
}

/// A payment provider. Every call blocks until it is answered or its deadline is over.
pub trait Provider: Send + Sync {
    /// The name of its ledger.
    fn ledger(&self) -> &'static str;

    /// Makes a customer for an account; returns the provider's id.
    fn create_customer(&self, account: &str, email: Option<&str>) -> Result<String, ProviderError>;

    /// Starts a payment of an amount into an account's wallet.
    fn start_payment(&self, account: &str, customer: &str, amount_paise: i64) -> Result<Checkout, ProviderError>;

    /// Starts a subscription of a plan.
    fn start_subscription(&self, account: &str, customer: &str, plan: &str) -> Result<Checkout, ProviderError>;

    /// Whether a plan can be subscribed to.
    fn offers(&self, plan: &str) -> bool;

    /// The plan that a product of its stands for.
    fn plan_of_product(&self, product: &str) -> Option<String>;

    /// Enters a transaction into the customer's ledger; the same transaction again changes nothing.
    fn record(&self, customer: &str, transaction: &TransactionRecord) -> Result<(), ProviderError>;
}
