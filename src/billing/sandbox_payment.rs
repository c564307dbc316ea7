//! Payments in the sandbox: the click on "pay" becomes a signed notification.

use serde_json::{Value, json};

use super::account_billing::Billing;
use super::metadata::{ACCOUNT_KEY, AMOUNT_KEY, PLAN_KEY};
use super::sandbox::{SandboxItem, SandboxOrder};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::webhook::Signature;

impl Billing {
    /// Pays an order of the sandbox, as the button "pay" on its page requests. Paying twice changes nothing.
    ///
    /// # Errors
    ///
    /// `not_found` if the sandbox is not the provider, or has no such order.
    pub fn pay_in_sandbox(&self, id: &str) -> Result<SandboxOrder> {
        let Some(sandbox) = self.sandbox() else {
            return Err(Error::not_found(ErrorCode::NotFound, "payments.provider is not sandbox"));
        };
        let Some(mut order) = sandbox.order(id)? else {
            return Err(Error::not_found(ErrorCode::NotFound, format!("payment {id:?} does not exist")));
        };
        self.process_own_notification(&format!("evt_{}", order.id), &self.event_of_payment(&order))?;
        order.paid = true;
        sandbox.put(&order).map_err(Error::internal)?;
        Ok(order)
    }

    /// Returns the body of the notification that an order was paid now.
    fn event_of_payment(&self, order: &SandboxOrder) -> Value {
        match &order.item {
            SandboxItem::Recharge(amount) => json!({
                "type": "payment.succeeded",
                "data": {
                    "payment_id": order.id,
                    "total_amount": amount,
                    "currency": self.settings.currency,
                    "metadata": {ACCOUNT_KEY: order.account, AMOUNT_KEY: amount.to_string()},
                },
            }),
            SandboxItem::Plan(plan) => json!({
                "type": "subscription.active",
                "timestamp": self.clock.now().to_string(),
                "data": {"subscription_id": order.id, "metadata": {ACCOUNT_KEY: order.account, PLAN_KEY: plan}},
            }),
        }
    }

    /// Signs and processes a notification of the sandbox, on the same path as one from outside.
    fn process_own_notification(&self, id: &str, body: &Value) -> Result<bool> {
        let Some(secret) = &self.webhook else { return Err(Error::Unauthenticated) };
        let body = body.to_string().into_bytes();
        let timestamp = self.clock.now().as_second().to_string();
        let signature = secret.sign(id, &timestamp, &body);
        let headers = Signature { id, timestamp: &timestamp, signature: &signature };
        self.process_notification(&self.verify_notification(&headers, &body)?)
    }
}
