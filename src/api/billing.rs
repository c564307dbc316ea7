//! `/v1/usage` and `/v1/billing`: what was used, the wallet, and paying.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{AuthenticatedRequest, Reply, RouteRequest};
use crate::error::{Error, Result};
use crate::memory::request::invalid_body;
use crate::webhook::Signature;

#[derive(Deserialize)]
struct Recharge {
    #[serde(default)]
    amount_paise: Option<Value>,
}

#[derive(Deserialize)]
struct Subscribe {
    #[serde(default)]
    plan: Option<Value>,
}

/// `GET /v1/usage`. Counts are of the account, over all its namespaces: not for a key of one.
pub fn usage(call: &AuthenticatedRequest) -> Result<Reply> {
    check_account_wide(call)?;
    let memories = call.service.memories(call.account())?;
    Reply::ok(&call.service.billing.usage(call.account(), memories)?)
}

/// `GET /v1/billing`. Its transactions show what every namespace used: not for a key of one.
pub fn statement(call: &AuthenticatedRequest) -> Result<Reply> {
    check_account_wide(call)?;
    Reply::ok(&call.service.billing.statement(call.account())?)
}

fn check_account_wide(call: &AuthenticatedRequest) -> Result<()> {
    if call.principal.scope().is_some() {
        let message = "a key that is confined to a namespace cannot read what the whole account uses";
        return Err(Error::forbidden("scoped_key", message));
    }
    Ok(())
}

/// `POST /v1/billing/recharge`.
pub fn recharge(call: &AuthenticatedRequest) -> Result<Reply> {
    let body: Recharge = call.json()?;
    let amount = body.amount_paise.as_ref().and_then(whole);
    let amount = amount.ok_or_else(|| invalid_body("amount_paise must be a whole number of paise"))?;
    let checkout = call.service.billing.recharge(call.account(), call.principal.email(), amount)?;
    Reply::ok(&json!({"payment_link": checkout.link, "payment_id": checkout.id}))
}

/// A whole number; one that is out of range is as large as can be.
fn whole(value: &Value) -> Option<i64> {
    let number = value.as_number()?;
    number.as_i64().or_else(|| number.as_u64().map(|_| i64::MAX)).or_else(|| {
        let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
        // Casting saturates.
        Some(float as i64)
    })
}

/// `POST /v1/billing/subscribe`.
pub fn subscribe(call: &AuthenticatedRequest) -> Result<Reply> {
    let body: Subscribe = call.json()?;
    let plan = body.plan.as_ref().and_then(Value::as_str);
    let plan = plan.ok_or_else(|| Error::invalid("unknown_plan", "plan must be starter, growth, scale or max"))?;
    let checkout = call.service.billing.subscribe(call.account(), call.principal.email(), plan)?;
    Reply::ok(&json!({"payment_link": checkout.link}))
}

/// `POST /v1/billing/notifications`: from the payment provider, proved by its signature.
pub fn notification(request: &RouteRequest) -> Result<Reply> {
    let headers = Signature {
        id: request.header("webhook-id"),
        timestamp: request.header("webhook-timestamp"),
        signature: request.header("webhook-signature"),
    };
    let processed = request.service.billing.notification(&headers, &request.body)?;
    Reply::ok(&json!({"received": true, "processed": processed}))
}
