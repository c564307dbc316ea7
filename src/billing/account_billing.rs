//! [`Billing`]: plans, limits and meters of all accounts.
//!
//! Further methods are in [`wallet`](super::wallet), [`notifications`](super::notifications), `prices.rs` (the change
//! of prices at a start) and `sandbox_payment.rs`. `wallet_change.rs` changes a wallet on the condition that it is as
//! it was read, so no lock is held over it.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use cuebase_storage::records::{Meter, PlanName, WalletRecord};
use cuebase_storage::{AccountId, Store};
use parking_lot::Mutex;

use super::dodo::Dodo;
use super::funds::wallet_is_empty;
use super::meters::{Allowance, Meters, Recency, Reservation};
use super::month::seconds_until_next_month;
use super::permit::Permit;
use super::plans::{Plan, UNLIMITED};
use super::provider::Provider;
use super::sandbox::{Sandbox, sandbox_secret};
use crate::clock::Clock;
use crate::config::{BillingSettings, Config, PaymentSettings, ProviderChoice};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::webhook::WebhookSecret;

/// Metering, plans and wallets of all accounts.
pub struct Billing {
    pub(super) store: Arc<Store>,
    pub(super) settings: BillingSettings,
    /// The plan of an account without a subscription.
    pub(super) default_plan: PlanName,
    /// Price of one unit by meter, in paise; 0 while payments are off.
    pub(super) charged: BTreeMap<Meter, u64>,
    pub(super) meters: Meters,
    pub(super) provider: Option<Box<dyn Provider>>,
    sandbox: Option<Sandbox>,
    /// Secret that notifications are signed with; `None` while payments are off and no secret is configured.
    pub(super) webhook: Option<WebhookSecret>,
    /// The time by which months begin and wallets are debited.
    pub(super) clock: Clock,
    /// Accounts whose transactions are being mirrored to the provider's ledger.
    pub(super) mirroring: Mutex<HashSet<AccountId>>,
}

/// The source of the prices of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriceSource {
    /// The settings: a server starts.
    Configured,
    /// The records of the last server: a command works on the directory of a stopped one.
    Recorded,
}

impl Billing {
    /// Opens billing with the configured provider.
    pub fn open(config: &Config, store: &Arc<Store>, prices: PriceSource, clock: Clock) -> anyhow::Result<Self> {
        let settings = &config.payments;
        let mut sandbox = None;
        let mut provider: Option<Box<dyn Provider>> = None;
        match settings.provider {
            ProviderChoice::Off => {}
            ProviderChoice::Dodo => provider = Some(Box::new(Dodo::new(settings, &config.billing.currency)?)),
            ProviderChoice::Sandbox => {
                let opened = Sandbox::new(settings, store);
                provider = Some(Box::new(opened.clone()));
                sandbox = Some(opened);
            }
        }
        let mut charged = config.billing.rates.by_meter();
        if settings.provider == ProviderChoice::Off {
            for rate in charged.values_mut() {
                *rate = 0;
            }
        }
        let mut billing = Self {
            store: Arc::clone(store),
            settings: config.billing.clone(),
            default_plan: config.billing.default_plan,
            charged,
            webhook: webhook_secret(settings, store)?,
            meters: Meters::new(Arc::clone(store), clock.clone())?,
            provider,
            sandbox,
            clock,
            mirroring: Mutex::new(HashSet::new()),
        };
        match prices {
            PriceSource::Configured => billing.adopt_prices(&settings.provider)?,
            PriceSource::Recorded => billing.use_recorded_prices()?,
        }
        Ok(billing)
    }

    /// Returns whether a payment provider is configured. Without one nothing is charged.
    pub fn is_live(&self) -> bool {
        self.provider.is_some()
    }

    /// Returns the sandbox if it is the provider.
    pub fn sandbox(&self) -> Option<&Sandbox> {
        self.sandbox.as_ref()
    }

    /// Reserves one unit of a meter; for a write, within the plan's limit of stored memories and the balance.
    ///
    /// The unit counts when the permit is charged, and does not count if the permit is dropped.
    ///
    /// # Errors
    ///
    /// `quota_exceeded` when the plan leaves no room for it, `payment_required` when the balance does not cover a write.
    pub fn reserve(&self, account: &AccountId, meter: Meter) -> Result<Permit<'_>> {
        self.reserve_units(account, meter, 1, 1)
    }

    /// Reserves units of a meter, all of them or none; otherwise as [`Self::reserve`]. `added_memories` is the number
    /// of memories that a write adds. At the limit, a write that adds none is refused too: of most writes the number
    /// is known only after they are accepted.
    ///
    /// # Errors
    ///
    /// `quota_exceeded` when the plan does not leave room for all of them, `payment_required` as for [`Self::reserve`].
    pub fn reserve_units(
        &self,
        account: &AccountId,
        meter: Meter,
        units: u64,
        added_memories: u64,
    ) -> Result<Permit<'_>> {
        let limits = self.plan(account)?.limits;
        // The records of all namespaces are read only if the plan limits the number.
        if meter == Meter::Writes && limits.memories < UNLIMITED {
            let others = added_memories.saturating_sub(1);
            if self.memory_count(account)?.saturating_add(others) >= limits.memories {
                return Err(self.quota_exceeded("memories", limits.memories));
            }
        }
        let mut allowance = Allowance::up_to(limits.of(meter));
        if meter == Meter::Writes {
            allowance.funds = self.write_funds(account)?;
        }
        self.reserve_within(account, meter, units, &allowance)
    }

    /// Reserves room for an uploaded file. The record of the permit's charge belongs in the batch of the file's own
    /// record.
    ///
    /// # Errors
    ///
    /// `quota_exceeded` when the plan's limit of stored bytes leaves no room for it.
    pub fn reserve_media(&self, account: &AccountId, bytes: u64) -> Result<Permit<'_>> {
        let limit = self.plan(account)?.limits.media_bytes;
        self.reserve_within(account, Meter::MediaBytes, bytes, &Allowance::up_to(limit))
    }

    fn reserve_within(
        &self,
        account: &AccountId,
        meter: Meter,
        units: u64,
        allowance: &Allowance,
    ) -> Result<Permit<'_>> {
        match self.meters.reserve_within(account, meter, units, allowance)? {
            Reservation::Granted(permit) => Ok(permit),
            Reservation::AboveLimit => Err(self.quota_exceeded(meter.name(), allowance.limit)),
            Reservation::WithoutFunds => Err(wallet_is_empty()),
        }
    }

    fn quota_exceeded(&self, limited: &str, limit: u64) -> Error {
        Error::LimitReached {
            code: ErrorCode::QuotaExceeded,
            message: format!("the plan's limit of {limit} {limited} is reached; a larger plan raises it"),
            retry_after: seconds_until_next_month(self.clock.now()),
        }
    }

    /// Returns the number of memories of an account, in all its namespaces.
    pub fn memory_count(&self, account: &AccountId) -> Result<u64> {
        let mut memories = 0;
        for record in self.store.namespaces(account, None, usize::MAX)? {
            memories += record.memories;
        }
        Ok(memories)
    }

    /// Returns a permit that releases the room of files. The record of its charge belongs in the batch that removes the
    /// records of the files.
    pub fn release_media(&self, account: &AccountId, bytes: u64) -> Result<Permit<'_>> {
        self.meters.release_media(account, bytes)
    }

    /// Writes the counts that are in memory only, without a sync. To be called before the last sync of a shutdown, by a
    /// thread that holds no charge. While the service runs, a thread of the meters writes them. Waits for those that it
    /// is writing.
    pub fn flush_meters(&self) -> Result<()> {
        self.meters.flush()
    }

    /// Returns the plan in effect.
    pub fn plan(&self, account: &AccountId) -> Result<Plan> {
        Ok(self.plan_of(&self.wallet(account)?))
    }

    /// Returns the plan in effect for a wallet.
    pub(super) fn plan_of(&self, wallet: &WalletRecord) -> Plan {
        Plan::of(&self.settings, wallet.plan.unwrap_or(self.default_plan))
    }

    /// Returns the units used in the current month, with what other processes wrote until now; for stored media, the
    /// bytes stored now.
    pub fn used(&self, account: &AccountId, meter: Meter) -> Result<u64> {
        self.meters.used(account, meter, Recency::Current)
    }
}

/// Returns the secret that notifications are signed with. A provider without a configured secret is the sandbox, which
/// has one in the store.
fn webhook_secret(settings: &PaymentSettings, store: &Store) -> anyhow::Result<Option<WebhookSecret>> {
    if !settings.webhook_secret.is_empty() {
        return Ok(Some(WebhookSecret::parse(&settings.webhook_secret)?));
    }
    if settings.provider == ProviderChoice::Off {
        return Ok(None);
    }
    Ok(Some(sandbox_secret(store)?))
}

#[cfg(test)]
mod tests {
    use cuebase_storage::key_value::{Engine, LossyEngine, MemoryEngine};
    use cuebase_storage::records::TransactionRecord;
    use jiff::SignedDuration;
    use serde_json::json;
    use ulid::Ulid;

    use super::*;

    /// Opens billing with the sandbox as provider, at a price of 2 paise per read and with a limit of reads per month.
    fn open(clock: &Clock, reads: u64) -> Billing {
        open_over(Store::in_memory().expect("opens"), clock, reads)
    }

    /// As [`open`], over a store.
    fn open_over(store: Store, clock: &Clock, reads: u64) -> Billing {
        let mut config = Config::resolve(&BTreeMap::new(), |_| None, None).expect("resolves");
        config.billing.payg.reads = reads;
        config.billing.rates.reads = 2;
        config.payments.provider = ProviderChoice::Sandbox;
        Billing::open(&config, &Arc::new(store), PriceSource::Configured, clock.clone()).expect("opens")
    }

    fn clock() -> Clock {
        Clock::manual("2026-01-31T23:59:00Z".parse().expect("a time"))
    }

    #[test]
    fn counts_start_again_at_the_end_of_the_month() {
        let (clock, account) = (clock(), AccountId::default());
        let billing = open(&clock, 2);
        for _ in 0..2 {
            billing.reserve(&account, Meter::Reads).expect("room").charge();
        }
        let Err(Error::LimitReached { retry_after, .. }) = billing.reserve(&account, Meter::Reads) else {
            panic!("the quota of the month was exceeded");
        };
        assert_eq!(retry_after, 60);
        clock.advance(SignedDuration::from_mins(1));
        assert_eq!(billing.used(&account, Meter::Reads).expect("reads"), 0);
        billing.reserve(&account, Meter::Reads).expect("room").charge();
        let usage = serde_json::to_value(billing.usage(&account).expect("reads")).expect("a view");
        assert_eq!((&usage["period"], &usage["used"]["reads"]), (&json!("2026-02"), &json!(1)));
        assert_eq!(billing.settle(&account).expect("settles").balance_paise, -6, "units of both months are debited");
    }

    #[test]
    fn a_statement_shows_usage_that_the_disk_refuses_to_debit() {
        let account = AccountId::default();
        let engine = Arc::new(LossyEngine::default());
        let store = Store::open_shared(engine.clone()).expect("opens");
        let billing = open_over(store, &clock(), UNLIMITED);
        billing.reserve(&account, Meter::Reads).expect("room").charge();
        billing.settle(&account).expect("settles");
        for _ in 0..2 {
            billing.reserve(&account, Meter::Reads).expect("room").charge();
        }
        // Without this, the thread of the meters would write the next batch.
        billing.flush_meters().expect("writes");
        engine.delay_next_batch();
        let statement = serde_json::to_value(billing.statement(&account).expect("reads")).expect("a view");
        assert_eq!(statement["balance_paise"], -6);
        let transactions = &statement["transactions"];
        assert_eq!((&transactions[0]["note"], &transactions[1]["note"]), (&json!("2 reads"), &json!("1 reads")));
        let recorded = billing.store.transactions(&account, usize::MAX).expect("reads");
        assert_eq!(recorded.len(), 1, "the debit is not written");
        assert_eq!(billing.settle(&account).expect("settles").balance_paise, -6, "the units are debited once");
    }

    #[test]
    fn a_statement_writes_nothing_while_payments_are_off() {
        let account = AccountId::default();
        let engine = Arc::new(LossyEngine::default());
        let store = Arc::new(Store::open_shared(engine.clone()).expect("opens"));
        let config = Config::resolve(&BTreeMap::new(), |_| None, None).expect("resolves");
        let billing = Billing::open(&config, &store, PriceSource::Configured, clock()).expect("opens");
        billing.reserve(&account, Meter::Reads).expect("room").charge();
        billing.flush_meters().expect("writes");
        engine.delay_next_batch();
        let statement = serde_json::to_value(billing.statement(&account).expect("reads")).expect("a view");
        assert_eq!((&statement["ledger"], &statement["balance_paise"]), (&json!("local"), &json!(0)));
        assert!(engine.apply_late_batches().is_empty(), "a batch was written");
    }

    #[test]
    fn transactions_sort_by_creation_after_the_clock_went_back() {
        let account = AccountId::default();
        let billing = open(&clock(), UNLIMITED);
        // Written while the clock was in the year 2100.
        let at_ms: i64 = 4_102_444_800_000;
        let id = Ulid::from_parts(at_ms.unsigned_abs(), 7);
        let recharge = TransactionRecord { id, amount_paise: 50_000, note: "recharge".into(), at_ms };
        let mut batch = billing.store.batch();
        batch.add_transaction(&account, &recharge).expect("encodes");
        billing.store.commit(batch).expect("writes");
        for units in 1..=2 {
            for _ in 0..units {
                billing.reserve(&account, Meter::Reads).expect("room").charge();
            }
            billing.settle(&account).expect("settles");
        }
        let mut notes = Vec::new();
        for transaction in billing.store.transactions(&account, usize::MAX).expect("reads") {
            notes.push(transaction.note);
        }
        assert_eq!(notes, ["2 reads", "1 reads", "recharge"], "newest first");
    }

    #[test]
    fn settling_at_the_same_time_debits_each_unit_once() {
        let account = AccountId::default();
        let billing = open(&clock(), UNLIMITED);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        billing.reserve(&account, Meter::Reads).expect("room").charge();
                        billing.settle(&account).expect("settles");
                    }
                });
            }
        });
        let mut debited = 0;
        for transaction in billing.store.transactions(&account, usize::MAX).expect("reads") {
            debited += transaction.amount_paise;
        }
        assert_eq!((billing.wallet(&account).expect("reads").balance_paise, debited), (-80, -80));
    }

    #[test]
    fn processes_that_settle_at_the_same_time_debit_each_unit_once() {
        let (clock, account) = (clock(), AccountId::default());
        let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new());
        let first = open_over(Store::open_shared(Arc::clone(&engine)).expect("opens"), &clock, UNLIMITED);
        let second = open_over(Store::open_shared(Arc::clone(&engine)).expect("opens"), &clock, UNLIMITED);
        std::thread::scope(|scope| {
            for billing in [&first, &second] {
                let account = &account;
                for _ in 0..2 {
                    scope.spawn(move || {
                        for _ in 0..10 {
                            billing.reserve(account, Meter::Reads).expect("room").charge();
                            billing.settle(account).expect("settles");
                        }
                    });
                }
            }
        });
        // The last counts are written when the meters are dropped.
        drop(first);
        drop(second);
        let last = open_over(Store::open_shared(engine).expect("opens"), &clock, UNLIMITED);
        assert_eq!(last.settle(&account).expect("settles").balance_paise, -80);
        let mut debited = 0;
        for transaction in last.store.transactions(&account, usize::MAX).expect("reads") {
            debited += transaction.amount_paise;
        }
        let wallet = last.store.wallet(&account).expect("reads").expect("a wallet");
        assert_eq!((wallet.balance_paise, debited), (-80, -80));
    }

    #[test]
    fn folded_units_are_debited_once() {
        let (clock, account) = (clock(), AccountId::default());
        let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new());
        let first = open_over(Store::open_shared(Arc::clone(&engine)).expect("opens"), &clock, UNLIMITED);
        let second = open_over(Store::open_shared(engine).expect("opens"), &clock, UNLIMITED);
        for billing in [&first, &first, &second] {
            billing.reserve(&account, Meter::Reads).expect("room").charge();
        }
        drop(first);
        assert_eq!(second.settle(&account).expect("settles").balance_paise, -6);
        // A unit whose write is under way during the fold may be lost.
        while second.store.usage(&account, Meter::Reads).expect("reads").is_none_or(|usage| usage.total < 3) {
            std::thread::yield_now();
        }
        assert_eq!(second.store.fold_usage().expect("folds"), 2);
        assert_eq!(second.settle(&account).expect("settles").balance_paise, -6);
        second.reserve(&account, Meter::Reads).expect("room").charge();
        assert_eq!(second.settle(&account).expect("settles").balance_paise, -8);
    }

    #[test]
    fn a_notification_received_several_times_at_once_counts_once() {
        let account = AccountId::default();
        let billing = open(&clock(), UNLIMITED);
        let checkout = billing.recharge(&account, None, 50_000).expect("starts");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| billing.pay_in_sandbox(&checkout.id).expect("pays"));
            }
        });
        assert_eq!(billing.wallet(&account).expect("reads").balance_paise, 50_000);
    }
}
