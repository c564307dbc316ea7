//! What a payment provider requires of the settings.

use anyhow::ensure;

use super::provider::{ProviderChoice, RECHARGE};
use super::settings::{PaymentSettings, setting};
use crate::webhook::WebhookSecret;

impl PaymentSettings {
    /// Checks the webhook secret, and that every setting which the provider requires is set.
    pub(super) fn validate(&self) -> anyhow::Result<()> {
        if !self.webhook_secret.is_empty() {
            WebhookSecret::parse(&self.webhook_secret)?;
        }
        if self.provider != ProviderChoice::Dodo {
            return Ok(());
        }
        ensure!(
            !self.api_key.is_empty(),
            "setting {} is missing: {} = {} needs it",
            setting::payments::api_key.key,
            setting::payments::provider.key,
            self.provider.name()
        );
        ensure!(
            !self.webhook_secret.is_empty(),
            "setting {} is missing: without it no payment can be credited",
            setting::payments::webhook_secret.key
        );
        ensure!(
            self.products.contains_key(RECHARGE),
            "setting {} names no {RECHARGE}=…: the product whose price the payer's amount replaces",
            setting::payments::products.key
        );
        Ok(())
    }
}
