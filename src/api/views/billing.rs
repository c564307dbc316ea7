//! Responses of `/v1/billing`. Usage and the wallet are `billing::wallet`'s.

use schemars::JsonSchema;
use serde::Serialize;

/// The response of `POST /v1/billing/recharge`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RechargeView {
    /// Link to the checkout page of the payment provider.
    pub payment_link: String,
    /// The payment provider's id of the payment.
    pub payment_id: String,
}

/// The response of `POST /v1/billing/subscribe`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SubscriptionView {
    /// Link to the checkout page of the payment provider.
    pub payment_link: String,
}

/// The response of `POST /v1/billing/notifications`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NotificationView {
    /// Always true.
    #[schemars(extend("const" = true))]
    pub received: bool,
    /// False for a notification that was processed before, that concerns no account, or whose payment is refused. No
    /// retry changes that.
    pub processed: bool,
}
