//! Settings of plans and prices.

use std::collections::BTreeMap;

use super::values::{Values, refused_value};

/// The names of all plans. The first one charges each unit.
pub const PLANS: [&str; 5] = ["payg", "starter", "growth", "scale", "max"];
/// The limits of a plan.
const PLAN_LIMITS: [&str; 5] = ["writes", "reads", "memories", "chats", "media_mib"];
/// Limits that a plan's setting may omit, because they were added later. The setting's default applies.
const OPTIONAL_PLAN_LIMITS: [&str; 1] = ["media_mib"];
/// The meters that have a price.
const PRICED_METERS: [&str; 3] = ["writes", "reads", "chats"];

/// Plans and prices: `billing.*` and `plans.*`.
#[derive(Clone, Debug)]
pub struct BillingSettings {
    /// `billing.default_plan`: plan of an account without a subscription. Default `payg`.
    pub default_plan: String,
    /// `billing.currency`: currency code of three letters. Default `INR`.
    pub currency: String,
    /// `billing.rates`: price of one unit on the `payg` plan, by meter, in hundredths of the currency (paise). Default
    /// 10 per write, 2 per read, 50 per chat.
    pub rates: BTreeMap<String, u64>,
    /// `billing.enforce_balance`: whether writes are refused when the wallet of a `payg` account is empty. Default no.
    pub enforce_balance: bool,
    /// `plans.*`: the limits of each plan, by name of the limit; defaults in [`SETTINGS`](super::SETTINGS).
    pub plans: BTreeMap<&'static str, BTreeMap<String, u64>>,
}

impl BillingSettings {
    pub(super) fn read(values: &Values<'_>) -> anyhow::Result<Self> {
        let mut plans = BTreeMap::new();
        for plan in PLANS {
            let limits = values.figures_with_default(&format!("plans.{plan}"), &PLAN_LIMITS, &OPTIONAL_PLAN_LIMITS)?;
            plans.insert(plan, limits);
        }
        let default_plan = values.text("billing.default_plan").to_owned();
        if !plans.contains_key(default_plan.as_str()) {
            return Err(refused_value("billing.default_plan", &default_plan, format!("one of {}", PLANS.join(", "))));
        }
        Ok(Self {
            default_plan,
            currency: values.letters("billing.currency", 3)?,
            rates: values.figures("billing.rates", &PRICED_METERS)?,
            enforce_balance: values.boolean("billing.enforce_balance")?,
            plans,
        })
    }
}
