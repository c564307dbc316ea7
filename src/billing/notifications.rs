//! Notifications of the payment provider, signed as the Standard Webhooks specification defines
//! (<https://www.standardwebhooks.com>): HMAC-SHA-256 over `id.timestamp.body`, in base64 with the prefix `v1,`.

use cuebase_storage::AccountId;
use cuebase_storage::records::{PaymentRecord, PlanName, RecordBatch, WalletRecord};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::account_billing::Billing;
use super::metadata::{ACCOUNT_KEY, AMOUNT_KEY, PLAN_KEY};
use super::meters::Recency;
use super::paid::paid_amount;
use crate::error::{Error, Result, was_committed};
use crate::error_codes::ErrorCode;
use crate::webhook::{Signature, TOLERANCE_SECONDS};

/// Maximum number of ended subscriptions remembered per account.
const ENDED_MAX: usize = 16;

/// A notification whose signature was verified.
pub struct Notification {
    /// The id of the notification at the provider.
    id: String,
    event: PaymentEvent,
    /// Time of the event, milliseconds since the epoch.
    at_ms: i64,
}

#[derive(Deserialize)]
struct PaymentEvent {
    #[serde(rename = "type")]
    kind: String,
    /// Time of the event by the provider's clock, RFC 3339.
    #[serde(default)]
    timestamp: Value,
    #[serde(default)]
    data: EventData,
}

impl PaymentEvent {
    /// Returns the time of the event in milliseconds since the epoch; if the body has none, the time of sending.
    fn at_ms(&self, headers: &Signature<'_>, now: Timestamp) -> i64 {
        let in_body = self.timestamp.as_str().unwrap_or("").parse::<Timestamp>();
        let at_ms = match in_body {
            Ok(at) => at.as_millisecond(),
            // The header has whole seconds: the event counts as the last one of its second.
            Err(_) => {
                headers.timestamp.parse::<i64>().unwrap_or(now.as_second()).saturating_mul(1000).saturating_add(999)
            }
        };
        // With a time far in the future, every later event would be ignored as outdated.
        at_ms.min(now.as_millisecond().saturating_add(TOLERANCE_SECONDS * 1000))
    }
}

/// The fields of a payment or subscription that are used here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct EventData {
    payment_id: Option<String>,
    subscription_id: Option<String>,
    product_id: Option<String>,
    /// Amount paid. Of any type, so that a wrong one is refused and not sent again.
    total_amount: Value,
    /// Currency of `total_amount`.
    currency: Value,
    metadata: Map<String, Value>,
}

impl EventData {
    fn metadata(&self, key: &str) -> Option<&str> {
        self.metadata.get(key)?.as_str()
    }

    /// Returns the account that the provider's metadata name.
    fn account(&self) -> Option<AccountId> {
        AccountId::new(self.metadata(ACCOUNT_KEY)?)
    }
}

impl Billing {
    /// Verifies the signature of a notification and reads it.
    ///
    /// # Errors
    ///
    /// `unauthenticated` if the signature is wrong, `invalid_body` if the body cannot be read.
    pub fn verify_notification(&self, headers: &Signature<'_>, body: &[u8]) -> Result<Notification> {
        let now = self.clock.now();
        let Some(secret) = &self.webhook else { return Err(Error::Unauthenticated) };
        if !secret.verify(headers, body, now) {
            return Err(Error::Unauthenticated);
        }
        let event: PaymentEvent = serde_json::from_slice(body).map_err(|error| {
            Error::invalid(ErrorCode::InvalidBody, format!("the notification cannot be read: {error}"))
        })?;
        Ok(Notification { id: headers.id.to_owned(), at_ms: event.at_ms(headers, now), event })
    }

    /// Processes a notification, each id once. Returns false if it was processed before, is refused or changes nothing. All units
    /// that were used until now must have been written: those that are written later count under the new plan.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub fn process_notification(&self, notification: &Notification) -> Result<bool> {
        let Notification { id, event, at_ms } = notification;
        loop {
            if self.store.is_notification_processed(id)? {
                // Another call may still be syncing it, and the provider does not repeat what was confirmed.
                self.store.sync()?;
                return Ok(false);
            }
            let Some(mut batch) = self.change_by_event(event, *at_ms)? else { return Ok(false) };
            // Fails if the same notification was processed since it was looked up.
            batch.process_notification(id, self.clock.now_ms())?;
            if was_committed(self.store.commit_synced(batch))? {
                return Ok(true);
            }
        }
    }

    /// Returns the change that an event requests. `None` if it changes nothing.
    fn change_by_event(&self, event: &PaymentEvent, at_ms: i64) -> Result<Option<RecordBatch<'_>>> {
        match event.kind.as_str() {
            "payment.succeeded" => self.credit_recharge(&event.data),
            "subscription.active" | "subscription.renewed" | "subscription.plan_changed" => {
                self.begin_plan(&event.data, at_ms)
            }
            "subscription.cancelled" | "subscription.expired" | "subscription.failed" | "subscription.on_hold" => {
                self.end_plan(&event.data, at_ms)
            }
            _ => Ok(None),
        }
    }

    /// Credits a paid recharge to the wallet, once per payment: what was paid, up to the requested amount. Taxes that the
    /// provider adds are part of what was paid, so more can be paid than was requested.
    ///
    /// A payment that is refused is logged, and its notification is answered like others that change nothing. With an
    /// error, the provider would send it again.
    fn credit_recharge(&self, data: &EventData) -> Result<Option<RecordBatch<'_>>> {
        let Some(id) = data.payment_id.as_deref().filter(|id| !id.is_empty()) else { return Ok(None) };
        let stored = self.store.stored_payment(id)?;
        let payment = match &stored.record {
            Some(recorded) => Some(recorded.clone()),
            // The provider's response to the start of the payment was lost: the metadata identifies it.
            None => payment_in_metadata(id, data),
        };
        let Some(mut payment) = payment else { return Ok(None) };
        if payment.credited || payment.amount_paise <= 0 {
            return Ok(None);
        }
        let (account, requested) = (&payment.account, payment.amount_paise);
        let paid = match paid_amount(&data.total_amount, &data.currency, &self.settings.currency) {
            Ok(paid) => paid,
            Err(refusal) => {
                tracing::error!(payment = id, ?account, %refusal, "a payment is refused and not credited");
                return Ok(None);
            }
        };
        if paid < requested {
            tracing::warn!(payment = id, ?account, paid, requested, "less was paid than was requested");
        }
        let mut change = self.begin_change(account)?;
        if let Err(refusal) = change.book(paid.min(requested), format!("recharge {id}")) {
            tracing::error!(payment = id, ?account, %refusal, "a payment is refused and not credited");
            return Ok(None);
        }
        payment.credited = true;
        let mut batch = change.batch(&self.store)?;
        batch.replace_payment(&stored, &payment)?;
        Ok(Some(batch))
    }

    /// Begins or continues a plan, unless a later event is known that changed the plan or ended this subscription:
    /// notifications may arrive in any order.
    fn begin_plan(&self, data: &EventData, at_ms: i64) -> Result<Option<RecordBatch<'_>>> {
        let Some(account) = data.account() else { return Ok(None) };
        let Some(plan) = self.subscribed_plan(data) else { return Ok(None) };
        let mut change = self.begin_change(&account)?;
        if at_ms < change.wallet.plan_changed_at_ms || has_ended_after(&change.wallet, data, at_ms) {
            tracing::info!(?account, "a subscription event is older than the recorded state and is ignored");
            return Ok(None);
        }
        // Earlier usage is debited under the former plan.
        change.debit(&self.unsettled_usage(&change.wallet, Recency::Current)?)?;
        change.wallet.plan = Some(plan);
        change.wallet.subscription.clone_from(&data.subscription_id);
        change.wallet.plan_changed_at_ms = at_ms;
        Ok(Some(change.batch(&self.store)?))
    }

    /// Returns the plan of a subscription: the plan that its product stands for, or the plan in its metadata. `None` if
    /// the plan does not exist.
    fn subscribed_plan(&self, data: &EventData) -> Option<PlanName> {
        match self.plan_of_product(data) {
            Some(plan) => Some(plan),
            None => data.metadata(PLAN_KEY)?.parse().ok(),
        }
    }

    fn plan_of_product(&self, data: &EventData) -> Option<PlanName> {
        let provider = self.provider.as_ref()?;
        provider.plan_of_product(data.product_id.as_deref()?)
    }

    /// Ends a plan. The end is recorded even if the subscription is not the one in effect: the event of its beginning
    /// may still arrive.
    fn end_plan(&self, data: &EventData, at_ms: i64) -> Result<Option<RecordBatch<'_>>> {
        let Some(account) = data.account() else { return Ok(None) };
        let Some(subscription) = &data.subscription_id else { return Ok(None) };
        let mut change = self.begin_change(&account)?;
        if change.wallet.subscription.as_ref() == Some(subscription) {
            if at_ms < change.wallet.plan_changed_at_ms {
                tracing::info!(?account, "a subscription event is older than the recorded state and is ignored");
                return Ok(None);
            }
            // Earlier usage is debited under the plan that ends.
            change.debit(&self.unsettled_usage(&change.wallet, Recency::Current)?)?;
            change.wallet.plan = None;
            change.wallet.subscription = None;
            change.wallet.plan_changed_at_ms = at_ms;
        }
        remember_end(&mut change.wallet, subscription, at_ms);
        Ok(Some(change.batch(&self.store)?))
    }
}

/// Returns the payment that the metadata of an event describes.
fn payment_in_metadata(id: &str, data: &EventData) -> Option<PaymentRecord> {
    let account = data.account()?;
    let amount_paise = data.metadata(AMOUNT_KEY)?.parse().ok()?;
    Some(PaymentRecord { id: id.to_owned(), account, amount_paise, credited: false })
}

/// Returns whether a recorded end of the event's subscription is later than a time.
fn has_ended_after(wallet: &WalletRecord, data: &EventData, at_ms: i64) -> bool {
    let Some(subscription) = &data.subscription_id else { return false };
    match wallet.ended.get(subscription) {
        Some(ended_at_ms) => at_ms < *ended_at_ms,
        None => false,
    }
}

/// Records the end of a subscription, and drops the oldest recorded end when there are too many.
fn remember_end(wallet: &mut WalletRecord, subscription: &str, at_ms: i64) {
    let ended = wallet.ended.entry(subscription.to_owned()).or_insert(at_ms);
    *ended = at_ms.max(*ended);
    while wallet.ended.len() > ENDED_MAX {
        let oldest = wallet.ended.iter().min_by_key(|(_, ended_at_ms)| **ended_at_ms);
        let Some(oldest) = oldest.map(|(id, _)| id.clone()) else { return };
        wallet.ended.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::WebhookSecret;
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
            let _ = serde_json::from_slice::<PaymentEvent>(&body);
        }
    }
}
