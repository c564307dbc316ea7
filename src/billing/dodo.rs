//! Dodo Payments over its REST API (<https://docs.dodopayments.com/api-reference>).
//!
//! | for | call |
//! | --- | --- |
//! | a customer | `POST /customers` |
//! | a recharge | `POST /payments` with `payment_link`, the amount in place of the product's price |
//! | a plan | `POST /subscriptions` with `payment_link` |
//! | the ledger mirror | `POST /customers/{id}/wallets/ledger-entries`, our transaction's id as `idempotency_key` |
//!
//! Calls are tried again ([`outgoing`](crate::outgoing)), which is safe: an entry has its key, and a payment or customer
//! made twice costs nobody anything.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cuebase_storage::records::TransactionRecord;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::notifications::{ACCOUNT, AMOUNT, PLAN};
use super::provider::{Checkout, Provider, ProviderError};
use crate::config::PaymentSettings;
use crate::outgoing::{CallError, Caller};

/// Tries of one call.
const ATTEMPTS_MAX: u32 = 3;
/// An answer longer than this is not read.
const ANSWER_BYTES_MAX: u64 = 1 << 20;
/// The product whose price the payer's amount replaces.
const RECHARGE: &str = "recharge";

/// A client of Dodo Payments.
pub struct Dodo {
    caller: Caller,
    products: BTreeMap<String, String>,
    return_url: Option<String>,
    country: String,
    email_domain: String,
    currency: String,
    deadline: Duration,
}

#[derive(Deserialize)]
struct Customer {
    customer_id: String,
}

#[derive(Deserialize)]
struct Started {
    #[serde(alias = "subscription_id")]
    payment_id: String,
    payment_link: Option<String>,
}

impl Dodo {
    pub(super) fn new(settings: &PaymentSettings, currency: &str) -> anyhow::Result<Self> {
        // Half the deadline a try, so that one that hangs leaves time for another.
        let try_timeout = settings.timeout / 2;
        Ok(Self {
            caller: Caller::new(&settings.url, &settings.api_key, ATTEMPTS_MAX, try_timeout, ANSWER_BYTES_MAX)?,
            products: settings.products.clone(),
            return_url: settings.return_url.clone(),
            country: settings.country.clone(),
            email_domain: settings.email_domain.clone(),
            currency: currency.to_owned(),
            deadline: settings.timeout,
        })
    }

    fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, ProviderError> {
        self.caller.post(path, body, Instant::now() + self.deadline).map_err(|error| match error {
            CallError::Unavailable { told, .. } | CallError::BadAnswer(told) => ProviderError::Unavailable(told),
            CallError::Refused { told, .. } => ProviderError::Refused(told),
        })
    }

    fn product(&self, name: &str) -> Result<&str, ProviderError> {
        let missing = || ProviderError::Refused(format!("setting payments.products names no {name}=…"));
        self.products.get(name).map(String::as_str).ok_or_else(missing)
    }

    /// What a payment and a subscription have in common.
    fn order(&self, customer: &str, metadata: &Value) -> Value {
        let mut order = json!({
            "billing": {"country": self.country},
            "customer": {"customer_id": customer},
            "payment_link": true,
            "metadata": metadata,
        });
        if let Some(url) = &self.return_url {
            order["return_url"] = json!(url);
        }
        order
    }

    fn start(&self, path: &str, order: &Value) -> Result<Checkout, ProviderError> {
        let started: Started = self.post(path, order)?;
        let link =
            started.payment_link.ok_or_else(|| ProviderError::Unavailable(format!("{path}: no payment link")))?;
        Ok(Checkout { id: started.payment_id, link })
    }
}

impl Provider for Dodo {
    fn ledger(&self) -> &'static str {
        "dodo"
    }

    fn create_customer(&self, account: &str, email: Option<&str>) -> Result<String, ProviderError> {
        let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, account.as_bytes());
        let local = data_encoding::HEXLOWER.encode(&hash.as_ref()[..8]);
        let email = email.map_or_else(|| format!("account-{local}@{}", self.email_domain), str::to_owned);
        let body = json!({"email": email, "name": account, "metadata": {ACCOUNT: account}});
        self.post::<Customer>("/customers", &body).map(|customer| customer.customer_id)
    }

    fn start_payment(&self, account: &str, customer: &str, amount_paise: i64) -> Result<Checkout, ProviderError> {
        let mut order = self.order(customer, &json!({ACCOUNT: account, AMOUNT: amount_paise.to_string()}));
        order["product_cart"] = json!([{"product_id": self.product(RECHARGE)?, "quantity": 1, "amount": amount_paise}]);
        order["billing_currency"] = json!(self.currency);
        self.start("/payments", &order)
    }

    fn start_subscription(&self, account: &str, customer: &str, plan: &str) -> Result<Checkout, ProviderError> {
        let mut order = self.order(customer, &json!({ACCOUNT: account, PLAN: plan}));
        order["product_id"] = json!(self.product(plan)?);
        order["quantity"] = json!(1);
        self.start("/subscriptions", &order)
    }

    fn offers(&self, plan: &str) -> bool {
        self.products.contains_key(plan)
    }

    fn plan_of_product(&self, product: &str) -> Option<String> {
        let found = self.products.iter().find(|(_, id)| *id == product)?;
        Some(found.0.clone())
    }

    fn record(&self, customer: &str, transaction: &TransactionRecord) -> Result<(), ProviderError> {
        // The id goes into a path: it is the provider's, but it is not ours.
        let customer = percent_encoding::utf8_percent_encode(customer, percent_encoding::NON_ALPHANUMERIC);
        let entry = json!({
            "amount": transaction.amount_paise.unsigned_abs(),
            "currency": self.currency,
            "entry_type": if transaction.amount_paise < 0 { "debit" } else { "credit" },
            "idempotency_key": transaction.id.to_string(),
            "reason": transaction.note,
        });
        self.post::<Value>(&format!("/customers/{customer}/wallets/ledger-entries"), &entry).map(drop)
    }
}
