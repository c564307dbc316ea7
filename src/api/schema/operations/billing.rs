//! Operations of `/v1/usage` and `/v1/billing`.

use schemars::json_schema;

use crate::api::billing::{RechargeRequest, SubscriptionRequest};
use crate::api::schema::errors::{UNAUTHORIZED, UNAVAILABLE};
use crate::api::schema::operation::Operation;
use crate::api::schema::parameters::Parameter;
use crate::api::schema::schemas::Schemas;
use crate::api::views::billing::{NotificationView, RechargeView, SubscriptionView};
use crate::billing::wallet::{BillingView, UsageView};

/// Returns the operations.
pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![usage(schemas), billing(schemas), recharge(schemas), subscribe(schemas), notification(schemas)]
}

fn usage(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "GET /v1/usage",
        "usage",
        "Return the usage and the limits of the account for this month. Not for keys with a namespace.",
    )
    .responds(
        200,
        "Usage and limits. `memories` and `media_bytes` are current totals, not monthly counts.",
        schemas.response::<UsageView>(),
    )
}

fn billing(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "GET /v1/billing",
        "billing",
        "Return the wallet after usage has been debited. Not for keys with a namespace.",
    )
    .responds(200, "The wallet, with up to 100 transactions, newest first.", schemas.response::<BillingView>())
}

fn recharge(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "POST /v1/billing/recharge",
        "recharge",
        "Start a payment into the wallet. Requires a dashboard session.",
    )
    .body(schemas.body::<RechargeRequest>())
    .responds(200, "Link to the checkout page of the payment provider.", schemas.response::<RechargeView>())
    .errors(&[UNAVAILABLE])
}

fn subscribe(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "POST /v1/billing/subscribe",
        "subscribe",
        "Start a subscription. The plan changes when the payment provider activates it. Requires a dashboard \
         session.",
    )
    .body(schemas.body::<SubscriptionRequest>())
    .responds(200, "Link to the checkout page of the payment provider.", schemas.response::<SubscriptionView>())
    .errors(&[UNAVAILABLE])
}

fn notification(schemas: &mut Schemas) -> Operation {
    Operation::open(
        "POST /v1/billing/notifications",
        "notification",
        "Receive a notification of the payment provider, signed as in Standard Webhooks. Each id is processed once.",
    )
    .parameter(Parameter::header("webhook-id", json_schema!({"type": "string"})))
    .parameter(Parameter::header("webhook-timestamp", json_schema!({"type": "string"})))
    .parameter(Parameter::header("webhook-signature", json_schema!({"type": "string"})))
    .bytes_body("application/json", json_schema!({"type": "object"}))
    .responds(
        200,
        "The signature is valid. `processed` is false for a notification that was processed before or that concerns \
         no account, and for a payment that is not in the currency of the wallet or has no positive amount.",
        schemas.response::<NotificationView>(),
    )
    .errors(&[UNAUTHORIZED])
}
