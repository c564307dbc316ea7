//! The wallet: units become debits, payments become credits, and the provider's ledger hears of both.

use std::collections::BTreeMap;

use cuebase_storage::Store;
use cuebase_storage::records::{BillingChange, PaymentRecord, TransactionRecord, WalletRecord};
use jiff::Timestamp;
use serde::Serialize;
use ulid::Ulid;

use super::Billing;
use super::meters::Meter;
use super::plans::{Limits, Plan};
use super::provider::{Checkout, Provider, ProviderError};
use crate::config::PLANS;
use crate::error::{Error, Result};
use crate::memory::time::format_ms;

/// Smallest and largest recharge, paise.
pub const RECHARGE_PAISE: std::ops::RangeInclusive<i64> = 50_000..=10_000_000;
/// Transactions told at once, newest first.
const TRANSACTIONS_TOLD: usize = 100;

/// `GET /v1/usage`.
#[derive(Debug, Serialize)]
pub struct UsageView {
    period: String,
    plan: &'static str,
    used: Limits,
    limits: Limits,
    exceeded: bool,
}

/// `GET /v1/billing`.
#[derive(Debug, Serialize)]
pub struct BillingView {
    plan: &'static str,
    currency: String,
    ledger: &'static str,
    balance_paise: i64,
    min_recharge_paise: i64,
    rates_paise: BTreeMap<String, u64>,
    transactions: Vec<TransactionView>,
}

#[derive(Debug, Serialize)]
struct TransactionView {
    amount_paise: i64,
    note: String,
    at: Option<String>,
}

impl Billing {
    /// What was used this month, and what may be.
    pub fn usage(&self, account: &str, memories: u64) -> Result<UsageView> {
        let plan = self.plan(account)?;
        let used = Limits {
            writes: self.used(account, Meter::Writes)?,
            reads: self.used(account, Meter::Reads)?,
            memories,
            chats: self.used(account, Meter::Chats)?,
            media_bytes: self.used(account, Meter::MediaBytes)?,
        };
        let limits = plan.limits;
        let exceeded = used.writes >= limits.writes
            || used.reads >= limits.reads
            || used.memories >= limits.memories
            || used.chats >= limits.chats
            || used.media_bytes >= limits.media_bytes;
        Ok(UsageView { period: super::period(Timestamp::now()), plan: plan.name, used, limits, exceeded })
    }

    /// Returns the wallet, after debiting what was used and telling the provider's ledger. While payments are off the
    /// wallet is empty and has no transactions, whatever was recorded before.
    pub fn statement(&self, account: &str) -> Result<BillingView> {
        let wallet = self.settle(account)?;
        if let Err(error) = self.mirror(account) {
            // What it has not heard of stays noted and is told next time.
            tracing::warn!(account, failure = error.code(), "the payment provider's ledger is behind");
        }
        let plan = Plan::of(&self.settings, wallet.plan.as_deref());
        let view = |transaction: TransactionRecord| TransactionView {
            amount_paise: transaction.amount_paise,
            note: transaction.note,
            at: format_ms(transaction.at_ms),
        };
        let rates = if plan.priced { self.settings.rates.clone() } else { BTreeMap::new() };
        let rate = |meter: Meter| (meter.name().to_owned(), rates.get(meter.name()).copied().unwrap_or(0));
        let (ledger, balance_paise, transactions) = match &self.provider {
            Some(provider) => {
                (provider.ledger(), wallet.balance_paise, self.store.transactions(account, TRANSACTIONS_TOLD)?)
            }
            None => ("local", 0, Vec::new()),
        };
        Ok(BillingView {
            plan: plan.name,
            currency: self.settings.currency.clone(),
            ledger,
            balance_paise,
            min_recharge_paise: *RECHARGE_PAISE.start(),
            rates_paise: Meter::ALL.map(rate).into(),
            transactions: transactions.into_iter().map(view).collect(),
        })
    }

    /// The balance with what is not debited yet taken off.
    pub(super) fn balance(&self, account: &str) -> Result<i64> {
        let wallet = self.wallet(account)?;
        let mut balance = wallet.balance_paise;
        for owed in self.owed(&wallet)? {
            balance = balance.saturating_sub(owed.paise);
        }
        Ok(balance)
    }

    /// Debits what was used since the last time, one transaction a meter, in one step.
    pub fn settle(&self, account: &str) -> Result<WalletRecord> {
        self.settle_with(account, Store::change_billing)
    }

    /// The same, durable with the next synced write.
    pub(super) fn settle_buffered(&self, account: &str) -> Result<WalletRecord> {
        self.settle_with(account, Store::change_billing_buffered)
    }

    fn settle_with(&self, account: &str, write: WriteBilling) -> Result<WalletRecord> {
        let _held = self.wallets.lock();
        let mut wallet = self.wallet(account)?;
        let settled = wallet.settled.clone();
        let transactions = self.take_owed(&mut wallet)?;
        // Also units that cost nothing: unsettled, they would be charged at a later price.
        if wallet.settled != settled {
            let change =
                BillingChange { wallet: Some(&wallet), transactions: &transactions, ..BillingChange::default() };
            write(&self.store, account, &change)?;
        }
        Ok(wallet)
    }

    /// Credits a debt of an account that no payment provider has ever known: nobody could have paid it.
    pub(super) fn waive_debt(&self, account: &str) -> Result<()> {
        let _held = self.wallets.lock();
        let mut wallet = self.wallet(account)?;
        if wallet.customer.is_some() || wallet.balance_paise >= 0 {
            return Ok(());
        }
        let credit = transaction(wallet.balance_paise.saturating_neg(), "used while payments were off".into());
        wallet.balance_paise = 0;
        let transactions = std::slice::from_ref(&credit);
        let change = BillingChange { wallet: Some(&wallet), transactions, ..BillingChange::default() };
        Ok(self.store.change_billing_buffered(account, &change)?)
    }

    /// Moves what is owed from the meters into the wallet; the transactions that say so are to be written with it.
    pub(super) fn take_owed(&self, wallet: &mut WalletRecord) -> Result<Vec<TransactionRecord>> {
        let mut transactions = Vec::new();
        for Owed { meter, total, units, paise } in self.owed(wallet)? {
            wallet.settled.insert(meter.name().to_owned(), total);
            if paise > 0 {
                wallet.balance_paise = wallet.balance_paise.saturating_sub(paise);
                transactions.push(transaction(-paise, format!("{units} {}", meter.name())));
            }
        }
        Ok(transactions)
    }

    fn owed(&self, wallet: &WalletRecord) -> Result<Vec<Owed>> {
        let plan = Plan::of(&self.settings, wallet.plan.as_deref());
        let mut owed = Vec::new();
        for meter in Meter::ALL {
            let total = self.meters.total(&wallet.account, meter)?;
            let settled = wallet.settled.get(meter.name()).copied().unwrap_or(0);
            let units = total.saturating_sub(settled);
            let rate = if plan.priced { self.charged.get(meter.name()).copied().unwrap_or(0) } else { 0 };
            if units > 0 {
                let paise = i64::try_from(units.saturating_mul(rate)).unwrap_or(i64::MAX);
                owed.push(Owed { meter, total, units, paise });
            }
        }
        Ok(owed)
    }

    /// Tells the provider's ledger of every transaction that it has not heard of, oldest first.
    ///
    /// A transaction is crossed off after the ledger has confirmed it; asked twice, the ledger knows it by its id.
    pub fn mirror(&self, account: &str) -> Result<()> {
        let Some(provider) = &self.provider else { return Ok(()) };
        // Somebody else is at it; what is new meanwhile is told next time.
        if !self.mirroring.lock().insert(account.to_owned()) {
            return Ok(());
        }
        let told = self.tell(provider.as_ref(), account);
        self.mirroring.lock().remove(account);
        told
    }

    fn tell(&self, provider: &dyn Provider, account: &str) -> Result<()> {
        let open = self.store.unmirrored_transactions(account)?;
        if open.is_empty() {
            return Ok(());
        }
        let customer = self.customer(provider, account, None)?;
        for transaction in open {
            provider.record(&customer, &transaction).map_err(unavailable)?;
            self.store.mark_mirrored(account, transaction.id)?;
        }
        Ok(())
    }

    /// Starts a recharge.
    pub fn recharge(&self, account: &str, email: Option<&str>, amount_paise: i64) -> Result<Checkout> {
        if amount_paise < *RECHARGE_PAISE.start() {
            let message = format!("amount_paise: {amount_paise} is below {}", RECHARGE_PAISE.start());
            return Err(Error::invalid("below_minimum", message));
        }
        if amount_paise > *RECHARGE_PAISE.end() {
            let message = format!("amount_paise: {amount_paise} is above {}", RECHARGE_PAISE.end());
            return Err(Error::invalid("above_maximum", message));
        }
        let provider = self.live()?;
        let customer = self.customer(provider, account, email)?;
        let checkout = provider.start_payment(account, &customer, amount_paise).map_err(unavailable)?;
        let payment =
            PaymentRecord { id: checkout.id.clone(), account: account.to_owned(), amount_paise, credited: false };
        // Its notification may have come before this line: what is credited stays so.
        let _held = self.wallets.lock();
        if self.store.payment(&payment.id)?.is_none() {
            let change = BillingChange { payment: Some(&payment), ..BillingChange::default() };
            self.store.change_billing(account, &change)?;
        }
        Ok(checkout)
    }

    /// Starts a subscription.
    pub fn subscribe(&self, account: &str, email: Option<&str>, plan: &str) -> Result<Checkout> {
        if !PLANS[1..].contains(&plan) {
            let message = format!("plan: {plan:?} is none of {}", PLANS[1..].join(", "));
            return Err(Error::invalid("unknown_plan", message));
        }
        let provider = self.live()?;
        if !provider.offers(plan) {
            return Err(Error::invalid("unknown_plan", format!("plan: {plan:?} is not for sale here")));
        }
        let customer = self.customer(provider, account, email)?;
        provider.start_subscription(account, &customer, plan).map_err(unavailable)
    }

    fn live(&self) -> Result<&dyn Provider> {
        self.provider.as_deref().ok_or_else(|| Error::Unavailable {
            code: "merchant_not_live",
            message: "payments are not switched on (setting payments.provider)".into(),
        })
    }

    /// The provider's id of an account, made when it is first needed.
    fn customer(&self, provider: &dyn Provider, account: &str, email: Option<&str>) -> Result<String> {
        if let Some(customer) = self.wallet(account)?.customer {
            return Ok(customer);
        }
        let made = provider.create_customer(account, email).map_err(unavailable)?;
        let _held = self.wallets.lock();
        let mut wallet = self.wallet(account)?;
        // Two at once made two; the first one that was noted counts.
        let customer = wallet.customer.get_or_insert(made).clone();
        let change = BillingChange { wallet: Some(&wallet), ..BillingChange::default() };
        self.store.change_billing(account, &change)?;
        Ok(customer)
    }

    pub(super) fn wallet(&self, account: &str) -> Result<WalletRecord> {
        let fresh = || WalletRecord { account: account.to_owned(), ..WalletRecord::default() };
        Ok(self.store.wallet(account)?.unwrap_or_else(fresh))
    }
}

/// How a change of billing is written: synced or buffered.
type WriteBilling = fn(&Store, &str, &BillingChange<'_>) -> Result<(), cuebase_storage::Error>;

/// Units of a meter that are not debited yet.
struct Owed {
    meter: Meter,
    total: u64,
    units: u64,
    paise: i64,
}

pub(super) fn transaction(amount_paise: i64, note: String) -> TransactionRecord {
    TransactionRecord { id: Ulid::generate(), amount_paise, note, at_ms: Timestamp::now().as_millisecond() }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn unavailable(error: ProviderError) -> Error {
    tracing::warn!(%error, "a call to the payment provider failed");
    Error::Unavailable {
        code: "provider_unavailable",
        message: "the payment provider did not do it; try again later".into(),
    }
}
