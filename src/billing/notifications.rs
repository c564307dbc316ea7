//! What the payment provider tells us, signed as the Standard Webhooks specification has it
//! (<https://www.standardwebhooks.com>): HMAC-SHA-256 over `id.timestamp.body`, base64, `v1,` before it.

use cuebase_storage::Store;
use cuebase_storage::records::{BillingChange, PaymentRecord, TransactionRecord, WalletRecord};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Billing;
use super::wallet::transaction;
use crate::config::PLANS;
use crate::error::{Error, Result};
use crate::secrets::random_secret;
use crate::webhook::{Signature, TOLERANCE_SECONDS, WebhookSecret};

/// Subscriptions of an account whose end is remembered.
const ENDED_MAX: usize = 16;
/// Under this name the metadata of a payment or subscription carries the account.
pub const ACCOUNT: &str = "cuebase_account";
/// Under this name it carries the amount of a recharge.
pub const AMOUNT: &str = "cuebase_recharge_paise";
/// Under this name it carries the plan.
pub const PLAN: &str = "cuebase_plan";

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    /// When it happened, RFC 3339, by the provider's clock.
    #[serde(default)]
    timestamp: Value,
    #[serde(default)]
    data: Data,
}

impl Event {
    /// Returns when the event happened, milliseconds since the epoch; where the body does not say, when it was sent.
    fn at_ms(&self, headers: &Signature<'_>, now: Timestamp) -> i64 {
        let stated = self.timestamp.as_str().and_then(|text| text.parse::<Timestamp>().ok());
        let at_ms = match stated {
            Some(at) => at.as_millisecond(),
            // The header has whole seconds: the event counts as the last one of its second.
            None => {
                headers.timestamp.parse::<i64>().unwrap_or(now.as_second()).saturating_mul(1000).saturating_add(999)
            }
        };
        // A time far ahead would shut out every later event.
        at_ms.min(now.as_millisecond().saturating_add(TOLERANCE_SECONDS * 1000))
    }
}

/// The parts of a payment or a subscription that matter here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Data {
    payment_id: Option<String>,
    subscription_id: Option<String>,
    product_id: Option<String>,
    total_amount: Option<i64>,
    currency: Option<String>,
    metadata: Map<String, Value>,
}

impl Data {
    fn metadata(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).and_then(Value::as_str)
    }
}

impl Billing {
    /// Processes a notification, each id once. False when it was processed before, or is about nothing of ours.
    pub fn notification(&self, headers: &Signature<'_>, body: &[u8]) -> Result<bool> {
        let now = Timestamp::now();
        let genuine = self.webhook.as_ref().is_some_and(|secret| secret.verify(headers, body, now));
        if !genuine {
            return Err(Error::Unauthenticated);
        }
        let event: Event = serde_json::from_slice(body)
            .map_err(|error| Error::invalid("invalid_body", format!("the notification cannot be read: {error}")))?;
        let _held = self.wallets.lock();
        if self.store.is_notification_processed(headers.id)? {
            return Ok(false);
        }
        let seen = (headers.id, now.as_millisecond());
        match event.kind.as_str() {
            "payment.succeeded" => self.credit(&event.data, seen),
            "subscription.active" | "subscription.renewed" | "subscription.plan_changed" => {
                self.begin_plan(&event.data, event.at_ms(headers, now), seen)
            }
            "subscription.cancelled" | "subscription.expired" | "subscription.failed" | "subscription.on_hold" => {
                self.end_plan(&event.data, event.at_ms(headers, now), seen)
            }
            _ => Ok(false),
        }
    }

    /// A recharge was paid: the wallet gets it, once a payment.
    fn credit(&self, data: &Data, seen: (&str, i64)) -> Result<bool> {
        let Some(id) = data.payment_id.as_deref().filter(|id| !id.is_empty()) else { return Ok(false) };
        let known = self.store.payment(id)?;
        // Started here but its reply was lost: the metadata says whose it is.
        let told = || {
            let account = data.metadata(ACCOUNT)?.to_owned();
            let amount_paise = data.metadata(AMOUNT)?.parse().ok()?;
            Some(PaymentRecord { id: id.to_owned(), account, amount_paise, credited: false })
        };
        let Some(mut payment) = known.or_else(told).filter(|payment| !payment.credited && payment.amount_paise > 0)
        else {
            return Ok(false);
        };
        // Charged in another currency, the amount says nothing here; that it was paid is the provider's word either way.
        let comparable = data.currency.as_ref().is_none_or(|currency| *currency == self.settings.currency);
        if comparable && data.total_amount.is_some_and(|paid| paid < payment.amount_paise) {
            tracing::warn!(payment = id, "less was paid than was asked for; nothing is credited");
            return Ok(false);
        }
        payment.credited = true;
        let mut wallet = self.wallet(&payment.account)?;
        wallet.balance_paise = wallet.balance_paise.saturating_add(payment.amount_paise);
        let transactions = [transaction(payment.amount_paise, format!("recharge {id}"))];
        let change = BillingChange {
            wallet: Some(&wallet),
            transactions: &transactions,
            payment: Some(&payment),
            notification: Some(seen),
        };
        self.store.change_billing(&payment.account, &change)?;
        Ok(true)
    }

    /// A subscription began or went on, unless a later event is known that changed the plan or ended this subscription:
    /// notifications may arrive in any order.
    fn begin_plan(&self, data: &Data, at_ms: i64, seen: (&str, i64)) -> Result<bool> {
        let Some(account) = data.metadata(ACCOUNT) else { return Ok(false) };
        let of_product = || self.provider.as_ref()?.plan_of_product(data.product_id.as_deref()?);
        let plan = of_product().or_else(|| data.metadata(PLAN).map(str::to_owned));
        let Some(plan) = plan.filter(|plan| PLANS.contains(&plan.as_str())) else { return Ok(false) };
        let mut wallet = self.wallet(account)?;
        let ended = data.subscription_id.as_ref().and_then(|id| wallet.ended.get(id).copied());
        if at_ms < wallet.plan_changed_at_ms || ended.is_some_and(|ended| at_ms < ended) {
            tracing::info!(account, "an event of a subscription is older than what is known: ignored");
            return Ok(false);
        }
        let transactions = self.take_owed(&mut wallet)?;
        wallet.plan = Some(plan);
        wallet.subscription.clone_from(&data.subscription_id);
        wallet.plan_changed_at_ms = at_ms;
        self.put_plan(&wallet, &transactions, seen)
    }

    /// A subscription ended. That is remembered also where it is not the one in effect: the event of its beginning may
    /// still be on the way.
    fn end_plan(&self, data: &Data, at_ms: i64, seen: (&str, i64)) -> Result<bool> {
        let Some(account) = data.metadata(ACCOUNT) else { return Ok(false) };
        let Some(subscription) = &data.subscription_id else { return Ok(false) };
        let mut wallet = self.wallet(account)?;
        let mut transactions = Vec::new();
        if wallet.subscription.as_ref() == Some(subscription) {
            if at_ms < wallet.plan_changed_at_ms {
                tracing::info!(account, "an event of a subscription is older than what is known: ignored");
                return Ok(false);
            }
            transactions = self.take_owed(&mut wallet)?;
            wallet.plan = None;
            wallet.subscription = None;
            wallet.plan_changed_at_ms = at_ms;
        }
        remember_end(&mut wallet, subscription, at_ms);
        self.put_plan(&wallet, &transactions, seen)
    }

    /// Writes a plan, with what was used so far debited under the plan that it was used on.
    fn put_plan(&self, wallet: &WalletRecord, transactions: &[TransactionRecord], seen: (&str, i64)) -> Result<bool> {
        let change = BillingChange { wallet: Some(wallet), transactions, payment: None, notification: Some(seen) };
        self.store.change_billing(&wallet.account, &change)?;
        Ok(true)
    }
}

/// Notes when a subscription ended, and drops the oldest end when there are too many.
fn remember_end(wallet: &mut WalletRecord, subscription: &str, at_ms: i64) {
    let ended = wallet.ended.entry(subscription.to_owned()).or_insert(at_ms);
    *ended = at_ms.max(*ended);
    while wallet.ended.len() > ENDED_MAX {
        let oldest = wallet.ended.iter().min_by_key(|(_, ended_at_ms)| **ended_at_ms);
        let Some(oldest) = oldest.map(|(id, _)| id.clone()) else { return };
        wallet.ended.remove(&oldest);
    }
}

impl Billing {
    /// Signs and processes a notification of the built-in sandbox, over the same path as one from outside.
    pub(super) fn notify_as_provider(&self, id: &str, body: &Value) -> Result<bool> {
        let secret = self.webhook.as_ref().ok_or(Error::Unauthenticated)?;
        let body = body.to_string().into_bytes();
        let timestamp = Timestamp::now().as_second().to_string();
        let signature = secret.sign(id, &timestamp, &body);
        self.notification(&Signature { id, timestamp: &timestamp, signature: &signature }, &body)
    }
}

/// Returns the secret of this data directory, for the sandbox.
pub(super) fn sandbox_secret(store: &Store) -> anyhow::Result<WebhookSecret> {
    let bytes = store.secret("webhook", random_secret)?;
    anyhow::ensure!(!bytes.is_empty(), "the system returned no random bytes for the key of notifications");
    Ok(WebhookSecret::of_bytes(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    #[test]
    fn the_specifications_own_example_verifies() {
        let secret = WebhookSecret::parse(SECRET).expect("a secret");
        let (id, timestamp, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", br#"{"test": 2432232314}"#);
        let signature = secret.sign(id, timestamp, body);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let headers = Signature { id, timestamp, signature: &format!("v2,x {signature}") };
        let then = Timestamp::from_second(1_614_265_330).expect("a time");
        assert!(secret.verify(&headers, body, then));
        assert!(!secret.verify(&headers, b"{}", then));
        assert!(!secret.verify(&headers, body, Timestamp::from_second(1_614_265_631).expect("a time")));
        assert!(!secret.verify(&Signature { id: "msg_other", ..headers }, body, then));
        assert!(!secret.verify(&Signature { signature: "v1,", ..headers }, body, then));
    }

    proptest! {
        #[test]
        fn any_headers_are_verified_or_refused(id in "\\PC{0,20}", timestamp in "\\PC{0,20}", signature in "\\PC{0,60}") {
            let secret = WebhookSecret::parse(SECRET).expect("a secret");
            let headers = Signature { id: &id, timestamp: &timestamp, signature: &signature };
            let genuine = secret.verify(&headers, b"x", Timestamp::now());
            prop_assert!(!genuine);
        }

        #[test]
        fn any_body_is_read_or_refused(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = serde_json::from_slice::<Event>(&body);
        }
    }
}
