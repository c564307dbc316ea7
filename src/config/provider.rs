//! The payment provider and its products as values of settings.

use std::collections::BTreeMap;

use cuebase_storage::records::PlanName;

use super::pairs::named_pairs;
use super::refusal::Refusal;

/// The name of the product whose price a recharge of a wallet replaces.
pub(super) const RECHARGE: &str = "recharge";
/// The names that `payments.products` accepts: the recharge of a wallet, and the plans that are sold.
const PRODUCTS: [&str; 5] =
    [RECHARGE, PlanName::Starter.name(), PlanName::Growth.name(), PlanName::Scale.name(), PlanName::Max.name()];

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
}

/// Parses the name of a provider. An empty value is `off`.
pub(super) fn provider(text: &str) -> Result<ProviderChoice, Refusal> {
    match text {
        "" | "off" => Ok(ProviderChoice::Off),
        "dodo" => Ok(ProviderChoice::Dodo),
        "sandbox" => Ok(ProviderChoice::Sandbox),
        other => Err(Refusal::new(other, "off, dodo or sandbox")),
    }
}

/// Parses the provider's product ids by name of the product.
pub(super) fn products(text: &str) -> Result<BTreeMap<String, String>, Refusal> {
    named_pairs(text, &PRODUCTS)
}
