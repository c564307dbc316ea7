//! Settings of the payment provider.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::ensure;
use zeroize::Zeroizing;

use super::values::{Values, refused_value};
use crate::webhook::WebhookSecret;

/// The names that `payments.products` accepts: the recharge of a wallet, and the plans that are sold.
const PRODUCTS: [&str; 5] = ["recharge", "starter", "growth", "scale", "max"];

/// The payment provider behind the wallets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderChoice {
    /// No provider: nothing is charged.
    Off,
    /// Dodo Payments.
    Dodo,
    /// The built-in test provider, which takes no money.
    Sandbox,
}

impl ProviderChoice {
    /// Returns the value of `payments.provider`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Dodo => "dodo",
            Self::Sandbox => "sandbox",
        }
    }

    fn read(values: &Values<'_>) -> anyhow::Result<Self> {
        match values.text("payments.provider") {
            "" | "off" => Ok(Self::Off),
            "dodo" => Ok(Self::Dodo),
            "sandbox" => Ok(Self::Sandbox),
            other => Err(refused_value("payments.provider", other, "off, dodo or sandbox")),
        }
    }
}

/// The payment provider: `payments.*`.
#[derive(Clone)]
pub struct PaymentSettings {
    /// `payments.provider`: the provider. Default off.
    pub provider: ProviderChoice,
    /// `payments.url`: base URL of the provider's API. Default `https://live.dodopayments.com`.
    pub url: String,
    /// `payments.api_key`: API key for the provider. Default empty; required for Dodo.
    pub api_key: Zeroizing<String>,
    /// `payments.webhook_secret`: secret that signs the provider's notifications. Default empty; required for Dodo.
    pub webhook_secret: Zeroizing<String>,
    /// `payments.products`: the provider's product ids by plan, and by `recharge`. Default empty; Dodo requires
    /// `recharge`.
    pub products: BTreeMap<String, String>,
    /// `payments.return_url`: URL that the payment page redirects to afterwards. Default `None`.
    pub return_url: Option<String>,
    /// `payments.country`: country of the billing address, a code of two letters. Default `IN`.
    pub country: String,
    /// `payments.email_domain`: domain of the addresses generated for customers without one. Default
    /// `customers.example.com`.
    pub email_domain: String,
    /// `payments.timeout_ms`: time limit of a call, retries included. Default 10 seconds.
    pub timeout: Duration,
    /// `payments.sandbox_listen`: address of the sandbox's payment page. Default `127.0.0.1:8082`.
    pub sandbox_listen: String,
}

impl std::fmt::Debug for PaymentSettings {
    // Leaves out the secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PaymentSettings")
            .field("provider", &self.provider)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl PaymentSettings {
    pub(super) fn read(values: &Values<'_>) -> anyhow::Result<Self> {
        Ok(Self {
            provider: ProviderChoice::read(values)?,
            url: values.url("payments.url")?,
            api_key: values.secret("payments.api_key")?.into(),
            webhook_secret: values.secret("payments.webhook_secret")?.into(),
            products: values.named_pairs("payments.products", &PRODUCTS)?,
            return_url: values.optional_url("payments.return_url")?,
            country: values.letters("payments.country", 2)?,
            email_domain: values.domain("payments.email_domain")?,
            timeout: values.milliseconds("payments.timeout_ms")?,
            sandbox_listen: values.address("payments.sandbox_listen")?,
        })
    }

    /// Checks the webhook secret, and that every setting which the provider requires is set.
    pub(super) fn validate(&self) -> anyhow::Result<()> {
        if !self.webhook_secret.is_empty() {
            WebhookSecret::parse(&self.webhook_secret)?;
        }
        if self.provider != ProviderChoice::Dodo {
            return Ok(());
        }
        ensure!(!self.api_key.is_empty(), "setting payments.api_key is missing: payments.provider = dodo needs it");
        ensure!(
            !self.webhook_secret.is_empty(),
            "setting payments.webhook_secret is missing: without it no payment can be credited"
        );
        ensure!(
            self.products.contains_key("recharge"),
            "setting payments.products names no recharge=…: the product whose price the payer's amount replaces"
        );
        Ok(())
    }
}
