//! A payment provider that takes no money, for development and tests: a page to click through, books of its own, and
//! notifications that come in over the same path as a real provider's.

use std::sync::Arc;

use cuebase_storage::Store;
use cuebase_storage::records::TransactionRecord;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::json;
use ulid::Ulid;

use super::Billing;
use super::notifications::{ACCOUNT, AMOUNT, PLAN};
use super::provider::{Checkout, Provider, ProviderError};
use crate::config::PaymentSettings;
use crate::error::{Error, Result};

/// The sandbox. Cheap to clone; its books are in the store.
#[derive(Clone)]
pub struct Sandbox {
    store: Arc<Store>,
    /// Where its page is; set when its listener is bound.
    page: Arc<Mutex<String>>,
}

/// A payment or subscription that waits for somebody to click.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// Its id.
    pub id: String,
    /// Whose.
    pub account: String,
    /// What is bought.
    pub item: Item,
    /// Whether it was paid.
    pub paid: bool,
}

/// What is bought.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Item {
    /// Paise for the wallet.
    Recharge(i64),
    /// A plan.
    Plan(String),
}

/// An entry of its ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    customer: String,
    amount_paise: i64,
    reason: String,
}

impl Sandbox {
    pub(super) fn new(settings: &PaymentSettings, store: &Arc<Store>) -> Self {
        let page = format!("http://{}", settings.sandbox_listen);
        Self { store: Arc::clone(store), page: Arc::new(Mutex::new(page)) }
    }

    /// Says where its page is.
    pub fn listens_at(&self, url: String) {
        *self.page.lock() = url;
    }

    /// An order by its id.
    pub fn order(&self, id: &str) -> Result<Option<Order>> {
        Ok(self.store.sandbox(&format!("\0{id}"))?)
    }

    fn open(&self, prefix: &str, account: &str, item: Item) -> Result<Checkout, ProviderError> {
        let id = format!("{prefix}_{}", Ulid::generate().to_string().to_lowercase());
        let order = Order { id: id.clone(), account: account.to_owned(), item, paid: false };
        self.put(&order)?;
        let link = format!("{}/pay/{id}", self.page.lock());
        Ok(Checkout { id, link })
    }

    fn put(&self, order: &Order) -> Result<(), ProviderError> {
        let key = format!("\0{}", order.id);
        self.store.put_sandbox(&key, order).map_err(|error| ProviderError::Unavailable(error.to_string()))
    }
}

impl Billing {
    /// Somebody clicked "pay" on the sandbox's page. Clicking again changes nothing.
    pub fn pay_in_sandbox(&self, id: &str) -> Result<Order> {
        let sandbox = self.sandbox().ok_or_else(|| Error::not_found("not_found", "there is no sandbox"))?;
        let missing = || Error::not_found("not_found", format!("there is no payment {id:?}"));
        let mut order = sandbox.order(id)?.ok_or_else(missing)?;
        let body = match &order.item {
            Item::Recharge(amount) => json!({
                "type": "payment.succeeded",
                "data": {
                    "payment_id": order.id,
                    "total_amount": amount,
                    "metadata": {ACCOUNT: order.account, AMOUNT: amount.to_string()},
                },
            }),
            Item::Plan(plan) => json!({
                "type": "subscription.active",
                "timestamp": jiff::Timestamp::now().to_string(),
                "data": {"subscription_id": order.id, "metadata": {ACCOUNT: order.account, PLAN: plan}},
            }),
        };
        self.notify_as_provider(&format!("evt_{}", order.id), &body)?;
        order.paid = true;
        sandbox.put(&order).map_err(Error::internal)?;
        Ok(order)
    }
}

impl Provider for Sandbox {
    fn ledger(&self) -> &'static str {
        "sandbox"
    }

    fn create_customer(&self, account: &str, _: Option<&str>) -> Result<String, ProviderError> {
        Ok(format!("cus_{account}"))
    }

    fn start_payment(&self, account: &str, _: &str, amount_paise: i64) -> Result<Checkout, ProviderError> {
        self.open("pay", account, Item::Recharge(amount_paise))
    }

    fn start_subscription(&self, account: &str, _: &str, plan: &str) -> Result<Checkout, ProviderError> {
        self.open("sub", account, Item::Plan(plan.to_owned()))
    }

    fn offers(&self, _: &str) -> bool {
        true
    }

    fn plan_of_product(&self, _: &str) -> Option<String> {
        None
    }

    fn record(&self, customer: &str, transaction: &TransactionRecord) -> Result<(), ProviderError> {
        let entry = Entry {
            customer: customer.to_owned(),
            amount_paise: transaction.amount_paise,
            reason: transaction.note.clone(),
        };
        let unavailable = |error: cuebase_storage::Error| ProviderError::Unavailable(error.to_string());
        self.store.put_sandbox(&transaction.id.to_string(), &entry).map_err(unavailable)
    }
}
