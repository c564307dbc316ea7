//! What is used, what it costs, and how it is paid.
//!
//! [`meters`] count; [`plans`] limit and price; [`wallet`] turns units into debits and mirrors them to the payment
//! provider's ledger; [`provider`] is what a provider has to do, [`dodo`] and [`sandbox`] do it; [`notifications`] is
//! what a provider tells us; [`rate_limit`] is about requests, not money.
//!
//! Nothing is counted twice and nothing is lost because each step is one batch of the store: a unit is counted with the
//! write that it pays for; a debit moves the balance, the mark up to which was debited, and the list of what the ledger
//! has not heard of, together; the ledger hears of it under the debit's own id, as often as it takes.

pub mod dodo;
pub mod meters;
pub mod notifications;
pub mod plans;
pub mod provider;
pub mod rate_limit;
pub mod sandbox;
pub mod wallet;

use std::collections::HashSet;
use std::sync::Arc;

use cuebase_storage::Store;
use jiff::Timestamp;
use parking_lot::Mutex;

use crate::config::{BillingSettings, Config, ProviderChoice};
use crate::service::{Failure, Outcome};
use dodo::Dodo;
use meters::{Meter, Meters, Permit};
use notifications::WebhookSecret;
use plans::Plan;
use provider::Provider;
use sandbox::Sandbox;

/// Metering, plans and wallets of all accounts.
pub struct Billing {
    store: Arc<Store>,
    settings: BillingSettings,
    meters: Meters,
    provider: Option<Box<dyn Provider>>,
    sandbox: Option<Sandbox>,
    webhook: Option<WebhookSecret>,
    /// Held around every read-and-change of a wallet; never over a call to the provider.
    wallets: Mutex<()>,
    /// Accounts whose transactions are being mirrored right now.
    mirroring: Mutex<HashSet<String>>,
}

impl Billing {
    /// Opens billing with the configured provider.
    pub fn open(config: &Config, store: &Arc<Store>) -> anyhow::Result<Self> {
        let settings = &config.payments;
        let sandbox = (settings.provider == ProviderChoice::Sandbox).then(|| Sandbox::new(settings, store));
        let provider: Option<Box<dyn Provider>> = match settings.provider {
            ProviderChoice::Off => None,
            ProviderChoice::Dodo => Some(Box::new(Dodo::new(settings, &config.billing.currency)?)),
            ProviderChoice::Sandbox => sandbox.clone().map(|sandbox| Box::new(sandbox) as Box<dyn Provider>),
        };
        let webhook = match (settings.webhook_secret.as_str(), &provider) {
            ("", None) => None,
            ("", Some(_)) => Some(WebhookSecret::own(store)?),
            (secret, _) => Some(WebhookSecret::parse(secret)?),
        };
        Ok(Self {
            store: Arc::clone(store),
            settings: config.billing.clone(),
            meters: Meters::new(Arc::clone(store)),
            provider,
            sandbox,
            webhook,
            wallets: Mutex::new(()),
            mirroring: Mutex::new(HashSet::new()),
        })
    }

    /// The sandbox, where it is the provider.
    pub fn sandbox(&self) -> Option<&Sandbox> {
        self.sandbox.as_ref()
    }

    /// Asks for one more unit of a meter; `memories` tells the account's level, looked up only where it is limited.
    ///
    /// The unit counts when the permit is used, and not at all when it is dropped.
    pub fn reserve(&self, account: &str, meter: Meter, memories: impl FnOnce() -> Outcome<u64>) -> Outcome<Permit<'_>> {
        let limits = self.plan(account)?.limits;
        if meter == Meter::Writes && limits.memories < plans::UNLIMITED && memories()? >= limits.memories {
            return Err(quota("memories", limits.memories));
        }
        let permit = self.meters.reserve(account, meter, limits.of(meter))?;
        permit.ok_or_else(|| quota(meter.name(), limits.of(meter)))
    }

    /// Refuses a write of an account on payg whose wallet is empty, where that is switched on.
    pub fn require_balance(&self, account: &str) -> Outcome<()> {
        if self.settings.enforce_balance && self.plan(account)?.priced && self.balance(account)? <= 0 {
            let message = "the wallet is empty: recharge it with POST /v1/billing/recharge; reading goes on meanwhile";
            return Err(Failure::PaymentRequired(message.into()));
        }
        Ok(())
    }

    /// The plan in effect.
    pub fn plan(&self, account: &str) -> Outcome<Plan> {
        let named = self.store.wallet(account)?.and_then(|wallet| wallet.plan);
        Ok(Plan::of(&self.settings, named.as_deref()))
    }

    /// Units used in the current month, by meter.
    pub fn used(&self, account: &str, meter: Meter) -> Outcome<u64> {
        self.meters.used(account, meter)
    }
}

fn quota(what: &str, limit: u64) -> Failure {
    Failure::LimitReached {
        code: "quota_exceeded",
        message: format!("the plan's limit of {limit} {what} is reached; a larger plan raises it"),
        retry_after: seconds_until_next_month(Timestamp::now()),
    }
}

/// Seconds until the quotas begin anew, UTC.
fn seconds_until_next_month(now: Timestamp) -> u64 {
    let here = now.to_zoned(jiff::tz::TimeZone::UTC);
    let next = here.date().last_of_month().tomorrow().and_then(|day| day.to_zoned(jiff::tz::TimeZone::UTC));
    let seconds = next.map_or(1, |next| next.timestamp().as_second() - now.as_second());
    seconds.max(1).unsigned_abs()
}

/// The month of a moment, `YYYY-MM`, UTC.
fn period(now: Timestamp) -> String {
    now.to_zoned(jiff::tz::TimeZone::UTC).strftime("%Y-%m").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_begin_anew_with_the_month() {
        let at = |text: &str| text.parse::<Timestamp>().expect("a time");
        assert_eq!(seconds_until_next_month(at("2026-02-28T23:59:00Z")), 60);
        assert_eq!(seconds_until_next_month(at("2026-12-31T00:00:00Z")), 86_400);
        assert_eq!(period(at("2026-12-31T23:00:00-03:00")), "2027-01");
    }
}
