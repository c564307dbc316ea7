//! A payment provider that takes no money, for development and tests: a page with a button to pay, a ledger in the
//! store, and notifications that take the same path as those of a real provider.

use std::sync::Arc;

use cuebase_storage::records::{PlanName, TransactionRecord};
use cuebase_storage::{AccountId, Store};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::provider::{Checkout, Provider, ProviderError};
use crate::config::PaymentSettings;
use crate::error::Result;
use crate::secrets::stored_secret;
use crate::webhook::WebhookSecret;

/// The sandbox provider. Cheap to clone; its orders and its ledger are in the store.
#[derive(Clone)]
pub struct Sandbox {
    store: Arc<Store>,
    /// URL of its page; set when its listener is bound.
    page: Arc<Mutex<String>>,
}

/// A payment or subscription that waits for the click on "pay".
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SandboxOrder {
    /// Id of the payment or subscription.
    pub id: String,
    /// The account that pays.
    pub account: AccountId,
    /// The item to pay for.
    pub item: SandboxItem,
    /// Whether the order was paid.
    pub paid: bool,
}

/// An item to pay for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum SandboxItem {
    /// A recharge of the wallet, in paise.
    Recharge(i64),
    /// A subscription to the plan of this name.
    Plan(PlanName),
}

/// An entry of the sandbox's ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SandboxLedgerEntry {
    customer: String,
    amount_paise: i64,
    reason: String,
}

impl Sandbox {
    pub(super) fn new(settings: &PaymentSettings, store: &Arc<Store>) -> Self {
        let page = format!("http://{}", settings.sandbox_listen);
        Self { store: Arc::clone(store), page: Arc::new(Mutex::new(page)) }
    }

    /// Sets the URL of the page, once its listener is bound.
    pub fn listens_at(&self, url: String) {
        *self.page.lock() = url;
    }

    /// Returns an order by its id.
    pub fn order(&self, id: &str) -> Result<Option<SandboxOrder>> {
        Ok(self.store.sandbox(&order_key(id))?)
    }

    fn open(&self, prefix: &str, account: &AccountId, item: SandboxItem) -> Result<Checkout, ProviderError> {
        let id = format!("{prefix}_{}", Ulid::generate().to_string().to_lowercase());
        let order = SandboxOrder { id: id.clone(), account: account.clone(), item, paid: false };
        self.put(&order)?;
        let link = format!("{}/pay/{id}", self.page.lock());
        Ok(Checkout { id, link })
    }

    /// Stores an order.
    pub(super) fn put(&self, order: &SandboxOrder) -> Result<(), ProviderError> {
        self.store.put_sandbox(&order_key(&order.id), order).map_err(unavailable)
    }
}

/// Returns the key of an order in the store. The zero byte separates orders from ledger entries.
fn order_key(id: &str) -> String {
    format!("\0{id}")
}

#[expect(clippy::needless_pass_by_value, reason = "map_err passes the error by value")]
fn unavailable(error: cuebase_storage::Error) -> ProviderError {
    ProviderError::Unavailable(error.to_string())
}

/// Returns the secret of this data directory that signs the sandbox's notifications.
pub(super) fn sandbox_secret(store: &Store) -> anyhow::Result<WebhookSecret> {
    Ok(WebhookSecret::of_bytes(&stored_secret(store, "webhook")?))
}

impl Provider for Sandbox {
    fn ledger(&self) -> &'static str {
        "sandbox"
    }

    fn create_customer(&self, account: &AccountId, _: Option<&str>) -> Result<String, ProviderError> {
        Ok(format!("cus_{account}"))
    }

    fn start_payment(&self, account: &AccountId, _: &str, amount_paise: i64) -> Result<Checkout, ProviderError> {
        self.open("pay", account, SandboxItem::Recharge(amount_paise))
    }

    fn start_subscription(&self, account: &AccountId, _: &str, plan: PlanName) -> Result<Checkout, ProviderError> {
        self.open("sub", account, SandboxItem::Plan(plan))
    }

    fn offers(&self, _: PlanName) -> bool {
        true
    }

    fn plan_of_product(&self, _: &str) -> Option<PlanName> {
        None
    }

    fn record(&self, customer: &str, transaction: &TransactionRecord) -> Result<(), ProviderError> {
        let entry = SandboxLedgerEntry {
            customer: customer.to_owned(),
            amount_paise: transaction.amount_paise,
            reason: transaction.note.clone(),
        };
        self.store.put_sandbox(&transaction.id.to_string(), &entry).map_err(unavailable)
    }
}
