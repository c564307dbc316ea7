//! `/v1/usage` and `/v1/billing`: usage, the wallet, and payments.

use serde::Deserialize;
use serde_json::{Value, json};

use super::reply::Reply;
use super::request::{AuthenticatedRequest, RouteRequest};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::request::invalid_body;
use crate::webhook::Signature;

#[derive(Deserialize)]
struct RechargeBody {
    #[serde(default)]
    amount_paise: Option<Value>,
}

#[derive(Deserialize)]
struct SubscriptionBody {
    #[serde(default)]
    plan: Option<Value>,
}

/// `GET /v1/usage`. Counts cover all namespaces of the account, so a key of one namespace is refused.
pub fn usage(request: &AuthenticatedRequest) -> Result<Reply> {
    check_account_wide(request)?;
    let memories = request.service.memory_count(request.account())?;
    Reply::ok(&request.service.billing.usage(request.account(), memories)?)
}

/// `GET /v1/billing`. Transactions show the usage of all namespaces, so a key of one namespace is refused.
pub fn statement(request: &AuthenticatedRequest) -> Result<Reply> {
    check_account_wide(request)?;
    Reply::ok(&request.service.billing.statement(request.account())?)
}

fn check_account_wide(request: &AuthenticatedRequest) -> Result<()> {
    if request.principal.scope().is_some() {
        let message = "a key that is limited to one namespace cannot read the usage of the whole account";
        return Err(Error::forbidden(ErrorCode::ScopedKey, message));
    }
    Ok(())
}

/// `POST /v1/billing/recharge`.
pub fn recharge(request: &AuthenticatedRequest) -> Result<Reply> {
    let body: RechargeBody = request.json()?;
    let Some(amount) = body.amount_paise.as_ref().and_then(integer) else {
        return Err(invalid_body("amount_paise must be an integer number of paise"));
    };
    let checkout = request.service.billing.recharge(request.account(), request.principal.email(), amount)?;
    Reply::ok(&json!({"payment_link": checkout.link, "payment_id": checkout.id}))
}

/// Returns an integer. One outside the range of `i64` becomes the nearest bound.
fn integer(value: &Value) -> Option<i64> {
    let number = value.as_number()?;
    if let Some(integer) = number.as_i64() {
        return Some(integer);
    }
    if number.is_u64() {
        return Some(i64::MAX);
    }
    let float = number.as_f64()?;
    if float.fract() != 0.0 {
        return None;
    }
    // The cast saturates.
    Some(float as i64)
}

/// `POST /v1/billing/subscribe`.
pub fn subscribe(request: &AuthenticatedRequest) -> Result<Reply> {
    let body: SubscriptionBody = request.json()?;
    let Some(Value::String(plan)) = &body.plan else {
        return Err(Error::invalid(ErrorCode::UnknownPlan, "plan must be starter, growth, scale or max"));
    };
    let checkout = request.service.billing.subscribe(request.account(), request.principal.email(), plan)?;
    Reply::ok(&json!({"payment_link": checkout.link}))
}

/// `POST /v1/billing/notifications`: a notification of the payment provider, authenticated by its signature.
pub fn notification(request: &RouteRequest) -> Result<Reply> {
    let headers = Signature {
        id: request.header("webhook-id"),
        timestamp: request.header("webhook-timestamp"),
        signature: request.header("webhook-signature"),
    };
    let processed = request.service.billing.notification(&headers, &request.body)?;
    Reply::ok(&json!({"received": true, "processed": processed}))
}
