//! Dodo Payments over its REST API (<https://docs.dodopayments.com/api-reference>).
//!
//! | for | call |
//! | --- | --- |
//! | a customer | `POST /customers` |
//! | a recharge | `POST /payments` with `payment_link`, the amount in place of the product's price |
//! | a plan | `POST /subscriptions` with `payment_link` |
//! | the ledger mirror | `POST /customers/{id}/wallets/ledger-entries`, our transaction's id as `idempotency_key` |
//!
//! Failed calls are retried ([`outgoing`](crate::outgoing)), which is safe: a ledger entry has its key, and a payment
//! or customer created twice costs nothing.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cuebase_storage::AccountId;
use cuebase_storage::records::{PlanName, TransactionRecord};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::metadata::{ACCOUNT_KEY, AMOUNT_KEY, PLAN_KEY};
use super::provider::{Checkout, Provider, ProviderError};
use crate::config::PaymentSettings;
use crate::outgoing::{CallError, Caller};
use crate::sha256::sha256;

/// Maximum number of attempts per call.
const ATTEMPTS_MAX: u32 = 3;
/// Maximum length of a response that is read.
const RESPONSE_BYTES_MAX: u64 = 1 << 20;
/// Key of the product whose price is replaced by the amount of a recharge.
const RECHARGE: &str = "recharge";

/// A client of Dodo Payments.
pub struct Dodo {
    caller: Caller,
    products: BTreeMap<String, String>,
    return_url: Option<String>,
    country: String,
    email_domain: String,
    currency: String,
    timeout: Duration,
}

#[derive(Deserialize)]
struct Customer {
    customer_id: String,
}

#[derive(Deserialize)]
struct StartedPayment {
    #[serde(alias = "subscription_id")]
    payment_id: String,
    payment_link: Option<String>,
}

impl Dodo {
    pub(super) fn new(settings: &PaymentSettings, currency: &str) -> anyhow::Result<Self> {
        // Half the time limit per attempt, so that an attempt that hangs leaves time for another.
        let attempt_timeout = settings.timeout / 2;
        Ok(Self {
            caller: Caller::new(&settings.url, &settings.api_key, ATTEMPTS_MAX, attempt_timeout, RESPONSE_BYTES_MAX)?,
            products: settings.products.clone(),
            return_url: settings.return_url.clone(),
            country: settings.country.clone(),
            email_domain: settings.email_domain.clone(),
            currency: currency.to_owned(),
            timeout: settings.timeout,
        })
    }

    fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, ProviderError> {
        match self.caller.post(path, body, Instant::now() + self.timeout) {
            Ok(response) => Ok(response),
            Err(CallError::Unavailable { message, .. } | CallError::UnusableResponse(message)) => {
                Err(ProviderError::Unavailable(message))
            }
            Err(CallError::Refused { message, .. }) => Err(ProviderError::Refused(message)),
        }
    }

    fn product(&self, name: &str) -> Result<&str, ProviderError> {
        match self.products.get(name) {
            Some(product) => Ok(product.as_str()),
            None => Err(ProviderError::Refused(format!("setting payments.products names no {name}=…"))),
        }
    }

    /// Returns the fields that a payment and a subscription have in common.
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
        let started: StartedPayment = self.post(path, order)?;
        let Some(link) = started.payment_link else {
            return Err(ProviderError::Unavailable(format!("{path}: no payment link")));
        };
        Ok(Checkout { id: started.payment_id, link })
    }
}

impl Provider for Dodo {
    fn ledger(&self) -> &'static str {
        "dodo"
    }

    fn create_customer(&self, account: &AccountId, email: Option<&str>) -> Result<String, ProviderError> {
        let hash = sha256(&[account.as_str().as_bytes()]);
        let local = data_encoding::HEXLOWER.encode(&hash[..8]);
        let email = match email {
            Some(email) => email.to_owned(),
            None => format!("account-{local}@{}", self.email_domain),
        };
        let body = json!({"email": email, "name": account, "metadata": {ACCOUNT_KEY: account}});
        let customer: Customer = self.post("/customers", &body)?;
        Ok(customer.customer_id)
    }

    fn start_payment(&self, account: &AccountId, customer: &str, amount_paise: i64) -> Result<Checkout, ProviderError> {
        let mut order = self.order(customer, &json!({ACCOUNT_KEY: account, AMOUNT_KEY: amount_paise.to_string()}));
        order["product_cart"] = json!([{"product_id": self.product(RECHARGE)?, "quantity": 1, "amount": amount_paise}]);
        order["billing_currency"] = json!(self.currency);
        self.start("/payments", &order)
    }

    fn start_subscription(
        &self,
        account: &AccountId,
        customer: &str,
        plan: PlanName,
    ) -> Result<Checkout, ProviderError> {
        let mut order = self.order(customer, &json!({ACCOUNT_KEY: account, PLAN_KEY: plan}));
        order["product_id"] = json!(self.product(plan.name())?);
        order["quantity"] = json!(1);
        self.start("/subscriptions", &order)
    }

    fn offers(&self, plan: PlanName) -> bool {
        self.products.contains_key(plan.name())
    }

    fn plan_of_product(&self, product: &str) -> Option<PlanName> {
        let (plan, _) = self.products.iter().find(|(_, id)| *id == product)?;
        plan.parse().ok()
    }

    fn record(&self, customer: &str, transaction: &TransactionRecord) -> Result<(), ProviderError> {
        // The id becomes part of a path, and the provider chose it.
        let customer = percent_encoding::utf8_percent_encode(customer, percent_encoding::NON_ALPHANUMERIC);
        let entry = json!({
            "amount": transaction.amount_paise.unsigned_abs(),
            "currency": self.currency,
            "entry_type": if transaction.amount_paise < 0 { "debit" } else { "credit" },
            "idempotency_key": transaction.id.to_string(),
            "reason": transaction.note,
        });
        self.post::<Value>(&format!("/customers/{customer}/wallets/ledger-entries"), &entry)?;
        Ok(())
    }
}
