//! `/v1/usage` and `/v1/billing`: usage, the wallet, and payments.

use cuebase_storage::AccountId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Number, Value};

use super::node_counters::write_at_others;
use super::reply::Reply;
use super::request::{AuthenticatedRequest, RouteRequest};
use super::schema::values;
use super::views::billing::{NotificationView, RechargeView, SubscriptionView};
use crate::billing::wallet::RECHARGE_PAISE;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::fields::{FieldType, request_type};
use crate::memory::request::invalid_body;
use crate::service::peers::PeerTopic;
use crate::webhook::Signature;

request_type! {
    /// The body of `POST /v1/billing/recharge`.
    #[derive(Debug, Deserialize, JsonSchema)]
    pub(super) struct RechargeRequest {
        #[schemars(with = "values::Integer", range(min = *RECHARGE_PAISE.start(), max = *RECHARGE_PAISE.end()))]
        amount_paise: Option<Paise>,
    }
}

request_type! {
    /// The body of `POST /v1/billing/subscribe`.
    #[derive(Debug, Deserialize, JsonSchema)]
    pub(super) struct SubscriptionRequest {
        #[schemars(with = "Value", extend("enum" = ["starter", "growth", "scale", "max"]))]
        plan: Option<String> => UnknownPlan,
    }
}

/// An integer number of paise. One outside the range of `i64` becomes the nearest bound.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Number")]
struct Paise(i64);

impl FieldType for Paise {}

impl TryFrom<Number> for Paise {
    type Error = &'static str;

    fn try_from(number: Number) -> Result<Self, Self::Error> {
        if let Some(integer) = number.as_i64() {
            return Ok(Self(integer));
        }
        if number.is_u64() {
            return Ok(Self(i64::MAX));
        }
        match number.as_f64() {
            // The cast saturates.
            Some(float) if float.fract() == 0.0 => Ok(Self(float as i64)),
            _ => Err("must be an integer number of paise"),
        }
    }
}

/// `GET /v1/usage`. Counts cover all namespaces of the account, so a key of one namespace is refused.
pub fn usage(request: &AuthenticatedRequest) -> Result<Reply> {
    check_account_wide(request)?;
    write_at_others(&request.app, request.account(), PeerTopic::WriteUsage)?;
    Reply::ok(&request.app.billing.usage(request.account())?)
}

/// `GET /v1/billing`. Transactions show the usage of all namespaces, so a key of one namespace is refused.
pub fn statement(request: &AuthenticatedRequest) -> Result<Reply> {
    check_account_wide(request)?;
    write_at_others(&request.app, request.account(), PeerTopic::WriteUsage)?;
    Reply::ok(&request.app.billing.statement(request.account())?)
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
    let body: RechargeRequest = request.json()?;
    let Some(Paise(amount)) = body.amount_paise else {
        return Err(invalid_body("amount_paise must be an integer number of paise"));
    };
    let checkout = request.app.billing.recharge(request.account(), request.principal.email(), amount)?;
    Reply::ok(&RechargeView { payment_link: checkout.link, payment_id: checkout.id })
}

/// `POST /v1/billing/subscribe`.
pub fn subscribe(request: &AuthenticatedRequest) -> Result<Reply> {
    let body: SubscriptionRequest = request.json()?;
    let Some(plan) = &body.plan else {
        return Err(Error::invalid(ErrorCode::UnknownPlan, "plan must be starter, growth, scale or max"));
    };
    let checkout = request.app.billing.subscribe(request.account(), request.principal.email(), plan)?;
    Reply::ok(&SubscriptionView { payment_link: checkout.link })
}

/// `POST /v1/billing/notifications`: a notification of the payment provider, authenticated by its signature.
pub fn notification(request: &RouteRequest) -> Result<Reply> {
    let headers = Signature {
        id: request.header("webhook-id"),
        timestamp: request.header("webhook-timestamp"),
        signature: request.header("webhook-signature"),
    };
    let billing = &request.app.billing;
    let notification = billing.verify_notification(&headers, &request.body)?;
    write_at_others(&request.app, &AccountId::default(), PeerTopic::WriteUsage)?;
    let processed = billing.process_notification(&notification)?;
    Reply::ok(&NotificationView { received: true, processed })
}
