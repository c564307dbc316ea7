//! What is used, what it costs, and how it is paid.
//!
//! [`meters`] count; [`plans`] limit and price; [`wallet`] turns units into debits and mirrors them to the payment
//! provider's ledger; [`provider`] is what a provider has to do, [`dodo`] and [`sandbox`] do it; [`notifications`] is
//! what a provider tells us; [`rate_limit`] is about requests, not money.
//!
//! Nothing is counted twice and nothing is lost because each step is one batch of the store: a unit is counted with the
//! write that it pays for; a debit moves the balance, the mark up to which was debited, and the list of what the ledger
//! has not heard of, together; the ledger hears of it under the debit's own id, as often as it takes.
//!
//! A unit costs what it cost when it was used: the prices of a start are recorded, and when the next start has other
//! ones, everything used until then is settled at the former prices first.
//!
//! Without a payment provider (the default) a unit costs nothing: meters count, no debit is made, and statements show an
//! empty wallet. Wallets and transactions from before are kept; they are shown again once a provider is configured.

pub mod dodo;
pub mod meters;
pub mod notifications;
pub mod plans;
pub mod provider;
pub mod rate_limit;
pub mod sandbox;
pub mod wallet;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use cuebase_storage::Store;
use cuebase_storage::records::PricesRecord;
use jiff::Timestamp;
use parking_lot::Mutex;

use crate::config::{BillingSettings, Config, ProviderChoice};
use crate::error::{Error, Result};
use crate::webhook::WebhookSecret;
use dodo::Dodo;
use meters::{Meter, Meters, Permit};
use notifications::sandbox_secret;
use plans::Plan;
use provider::Provider;
use sandbox::Sandbox;

/// Metering, plans and wallets of all accounts.
pub struct Billing {
    store: Arc<Store>,
    settings: BillingSettings,
    /// What one unit is charged, by meter, paise; nothing while payments are off.
    charged: BTreeMap<String, u64>,
    meters: Meters,
    provider: Option<Box<dyn Provider>>,
    sandbox: Option<Sandbox>,
    webhook: Option<WebhookSecret>,
    /// Held around every read-and-change of a wallet; never over a call to the provider.
    wallets: Mutex<()>,
    /// Accounts whose transactions are being mirrored right now.
    mirroring: Mutex<HashSet<String>>,
}

/// Where the prices of units come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriceSource {
    /// The settings: a server starts.
    Configured,
    /// The records of the last server: a command works on the directory of a stopped one.
    Recorded,
}

impl Billing {
    /// Opens billing with the configured provider.
    pub fn open(config: &Config, store: &Arc<Store>, prices: PriceSource) -> anyhow::Result<Self> {
        let settings = &config.payments;
        let sandbox = (settings.provider == ProviderChoice::Sandbox).then(|| Sandbox::new(settings, store));
        let provider: Option<Box<dyn Provider>> = match settings.provider {
            ProviderChoice::Off => None,
            ProviderChoice::Dodo => Some(Box::new(Dodo::new(settings, &config.billing.currency)?)),
            ProviderChoice::Sandbox => sandbox.clone().map(|sandbox| Box::new(sandbox) as Box<dyn Provider>),
        };
        let webhook = match (settings.webhook_secret.as_str(), &provider) {
            ("", None) => None,
            ("", Some(_)) => Some(sandbox_secret(store)?),
            (secret, _) => Some(WebhookSecret::parse(secret)?),
        };
        let charged: BTreeMap<String, u64> = match settings.provider {
            ProviderChoice::Off => config.billing.rates.keys().map(|meter| (meter.clone(), 0)).collect(),
            ProviderChoice::Dodo | ProviderChoice::Sandbox => config.billing.rates.clone(),
        };
        let mut billing = Self {
            store: Arc::clone(store),
            settings: config.billing.clone(),
            charged,
            meters: Meters::new(Arc::clone(store))?,
            provider,
            sandbox,
            webhook,
            wallets: Mutex::new(()),
            mirroring: Mutex::new(HashSet::new()),
        };
        match prices {
            PriceSource::Configured => billing.adopt_prices(&settings.provider)?,
            PriceSource::Recorded => billing.use_recorded_prices()?,
        }
        Ok(billing)
    }

    /// Charges what the last server charged; the configured prices where none has recorded any.
    fn use_recorded_prices(&mut self) -> Result<()> {
        if let Some(recorded) = self.store.prices()? {
            self.settings.default_plan = recorded.default_plan;
            self.charged = recorded.rates;
        }
        Ok(())
    }

    /// Settles what was used at the prices of the former start, where this one has other prices or another provider.
    fn adopt_prices(&mut self, provider: &ProviderChoice) -> Result<()> {
        let prices = PricesRecord {
            default_plan: self.settings.default_plan.clone(),
            rates: self.charged.clone(),
            provider: Some(provider.name().to_owned()),
        };
        let former = self.store.prices()?;
        if former.as_ref() == Some(&prices) {
            return Ok(());
        }
        if let Some(former) = &former {
            self.settle_at(former)?;
        }
        let recorded_provider = former.as_ref().is_some_and(|former| former.provider.is_some());
        if *provider == ProviderChoice::Off && !recorded_provider {
            self.waive_debts()?;
        }
        match (former, self.store.put_prices(&prices)) {
            // Also makes what was settled durable: the log of the store keeps the order.
            (_, Ok(())) => Ok(()),
            (Some(_), Err(error)) => Err(error.into()),
            // A data directory from before prices were recorded: what is open is charged at these. A full disk must
            // not keep the service from starting; the next start records them.
            (None, Err(error)) => {
                tracing::warn!(%error, "the prices of this start could not be recorded");
                Ok(())
            }
        }
    }

    /// Settles every account at former prices.
    fn settle_at(&mut self, former: &PricesRecord) -> Result<()> {
        let (configured, charged) = (self.settings.clone(), self.charged.clone());
        self.settings.default_plan.clone_from(&former.default_plan);
        self.charged.clone_from(&former.rates);
        for account in self.store.accounts()? {
            match self.settle_buffered(&account.account) {
                Ok(_) => {}
                Err(failure @ Error::Disk { .. }) => return Err(failure),
                // A wallet that cannot be read must not keep the other accounts from being served.
                Err(failure) => {
                    let account = account.account;
                    tracing::error!(account, failure = failure.code(), "units could not be settled");
                }
            }
        }
        self.settings = configured;
        self.charged = charged;
        Ok(())
    }

    /// Credits the debts that earlier versions made while no provider was configured, so that they are not due once one
    /// is.
    fn waive_debts(&self) -> Result<()> {
        for account in self.store.accounts()? {
            match self.waive_debt(&account.account) {
                Ok(()) => {}
                Err(failure @ Error::Disk { .. }) => return Err(failure),
                Err(failure) => {
                    let account = account.account;
                    tracing::error!(account, failure = failure.code(), "a debt could not be credited");
                }
            }
        }
        Ok(())
    }

    /// Returns whether a payment provider is configured. Without one nothing is charged.
    pub fn is_live(&self) -> bool {
        self.provider.is_some()
    }

    /// The sandbox, where it is the provider.
    pub fn sandbox(&self) -> Option<&Sandbox> {
        self.sandbox.as_ref()
    }

    /// Reserves one unit of a meter. `memories` returns the account's level, and is called only where it is limited.
    ///
    /// The unit counts when the permit is charged, and not at all when it is dropped.
    ///
    /// # Errors
    ///
    /// `quota_exceeded` when the plan leaves no room for it.
    pub fn reserve(&self, account: &str, meter: Meter, memories: impl FnOnce() -> Result<u64>) -> Result<Permit<'_>> {
        self.reserve_units(account, meter, 1, memories)
    }

    /// Reserves units of a meter, all of them or none; otherwise as [`Self::reserve`].
    ///
    /// # Errors
    ///
    /// `quota_exceeded` when the plan does not leave room for all of them.
    pub fn reserve_units(
        &self,
        account: &str,
        meter: Meter,
        units: u64,
        memories: impl FnOnce() -> Result<u64>,
    ) -> Result<Permit<'_>> {
        let limits = self.plan(account)?.limits;
        if meter == Meter::Writes && limits.memories < plans::UNLIMITED && memories()? >= limits.memories {
            return Err(quota("memories", limits.memories));
        }
        let permit = self.meters.reserve(account, meter, units, limits.of(meter))?;
        permit.ok_or_else(|| quota(meter.name(), limits.of(meter)))
    }

    /// Reserves room for an uploaded file. The record of the permit's charge belongs into the batch of the file's own
    /// record.
    ///
    /// # Errors
    ///
    /// `quota_exceeded` when the plan's limit of stored bytes leaves no room for it.
    pub fn reserve_media(&self, account: &str, bytes: u64) -> Result<Permit<'_>> {
        let limit = self.plan(account)?.limits.media_bytes;
        let permit = self.meters.reserve(account, Meter::MediaBytes, bytes, limit)?;
        permit.ok_or_else(|| quota(Meter::MediaBytes.name(), limit))
    }

    /// Returns a permit that gives back the room of files. The record of its charge belongs into the batch that removes
    /// the records of the files.
    pub fn release_media(&self, account: &str, bytes: u64) -> Result<Permit<'_>> {
        self.meters.release_media(account, bytes)
    }

    /// Writes the counts that are known in memory only, without a sync. To be called before the last sync of a stop, by
    /// a thread that holds no charge; while the service runs, a thread of the meters does it.
    pub fn flush_meters(&self) -> Result<()> {
        self.meters.flush()
    }

    /// Refuses a write of an account on payg whose wallet is empty, where that is switched on.
    pub fn require_balance(&self, account: &str) -> Result<()> {
        if self.settings.enforce_balance && self.plan(account)?.priced && self.balance(account)? <= 0 {
            let message = "the wallet is empty: recharge it with POST /v1/billing/recharge; reading goes on meanwhile";
            return Err(Error::PaymentRequired(message.into()));
        }
        Ok(())
    }

    /// The plan in effect.
    pub fn plan(&self, account: &str) -> Result<Plan> {
        let named = self.store.wallet(account)?.and_then(|wallet| wallet.plan);
        Ok(Plan::of(&self.settings, named.as_deref()))
    }

    /// Returns the units used in the current month; of stored media, the bytes stored now.
    pub fn used(&self, account: &str, meter: Meter) -> Result<u64> {
        self.meters.used(account, meter)
    }
}

fn quota(what: &str, limit: u64) -> Error {
    Error::LimitReached {
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
