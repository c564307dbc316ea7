//! The wallet: units become debits, payments become credits, and both are mirrored to the provider's ledger.

use std::collections::BTreeMap;

use cuebase_storage::AccountId;
use cuebase_storage::records::{Meter, PaymentRecord, PlanName, TransactionRecord, WalletRecord};
use schemars::JsonSchema;
use serde::Serialize;

use super::account_billing::Billing;
use super::meters::Recency;
use super::month::month_of;
use super::plans::{Limits, Plan};
use super::provider::{Checkout, Provider, ProviderError};
use super::wallet_change::{UnsettledUsage, WalletChange};
use crate::error::{Error, Result, was_committed};
use crate::error_codes::ErrorCode;
use crate::memory::time::format_ms;

/// Smallest and largest recharge, in paise.
pub const RECHARGE_PAISE: std::ops::RangeInclusive<i64> = 50_000..=10_000_000;
/// Maximum number of transactions in a statement, newest first.
const STATEMENT_TRANSACTIONS_MAX: usize = 100;

/// Response of `GET /v1/usage`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UsageView {
    /// Month of the usage.
    #[schemars(extend("pattern" = "^[0-9]{4}-[0-9]{2}$"))]
    period: String,
    /// Name of the plan.
    #[schemars(with = "String")]
    plan: PlanName,
    /// Usage of the month.
    used: Limits,
    /// Limits of the plan.
    limits: Limits,
    /// Whether any limit is reached.
    exceeded: bool,
}

/// Response of `GET /v1/billing`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BillingView {
    /// Name of the plan.
    #[schemars(with = "String")]
    plan: PlanName,
    /// Code of the currency.
    currency: String,
    /// Name of the payment provider's ledger; `local` while payments are off.
    ledger: &'static str,
    /// Balance of the wallet; zero while payments are off.
    balance_paise: i64,
    /// Smallest amount of a recharge.
    min_recharge_paise: i64,
    /// Configured price of each unit. Nothing is charged while payments are off.
    #[schemars(with = "BTreeMap<String, u64>", extend("required" = ["writes", "reads", "chats"]))]
    rates_paise: BTreeMap<Meter, u64>,
    /// Transactions, newest first. Empty while payments are off.
    #[schemars(extend("maxItems" = STATEMENT_TRANSACTIONS_MAX))]
    transactions: Vec<TransactionView>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Transaction")]
struct TransactionView {
    /// Amount; negative for a debit.
    amount_paise: i64,
    /// Reason of the transaction.
    note: String,
    /// Time of the transaction.
    #[schemars(with = "String", extend("format" = "date-time"))]
    at: Option<String>,
}

impl Billing {
    /// Returns the usage of this month and the limits of the plan.
    pub fn usage(&self, account: &AccountId) -> Result<UsageView> {
        let plan = self.plan(account)?;
        let used = Limits {
            writes: self.used(account, Meter::Writes)?,
            reads: self.used(account, Meter::Reads)?,
            memories: self.memory_count(account)?,
            chats: self.used(account, Meter::Chats)?,
            media_bytes: self.used(account, Meter::MediaBytes)?,
        };
        let limits = plan.limits;
        let exceeded = used.writes >= limits.writes
            || used.reads >= limits.reads
            || used.memories >= limits.memories
            || used.chats >= limits.chats
            || used.media_bytes >= limits.media_bytes;
        Ok(UsageView { period: month_of(self.clock.now()), plan: plan.name, used, limits, exceeded })
    }

    /// Returns the wallet, after debiting open usage and mirroring it to the provider's ledger. If the disk refuses the
    /// debits, they are shown and stay open.
    ///
    /// While payments are off, the wallet is empty and has no transactions, whatever was recorded before. Then nothing
    /// is written.
    pub fn statement(&self, account: &AccountId) -> Result<BillingView> {
        let Some(provider) = &self.provider else { return Ok(self.empty_statement(&self.wallet(account)?)) };
        let mut unwritten = Vec::new();
        let wallet = match self.settle(account) {
            Ok(wallet) => {
                if let Err(error) = self.mirror(account) {
                    // Transactions that the ledger lacks stay listed and are sent next time.
                    tracing::warn!(?account, failure = error.code(), "the payment provider's ledger is behind");
                }
                wallet
            }
            Err(Error::Disk { .. }) => {
                let mut change = self.begin_change(account)?;
                change.debit(&self.unsettled_usage(&change.wallet, Recency::Current)?)?;
                unwritten = change.transactions;
                change.wallet
            }
            Err(error) => return Err(error),
        };
        let mut view = self.empty_statement(&wallet);
        view.ledger = provider.ledger();
        view.balance_paise = wallet.balance_paise;
        for transaction in unwritten.into_iter().rev() {
            view.transactions.push(TransactionView::of(transaction));
        }
        let limit = STATEMENT_TRANSACTIONS_MAX.saturating_sub(view.transactions.len());
        for transaction in self.store.transactions(account, limit)? {
            view.transactions.push(TransactionView::of(transaction));
        }
        Ok(view)
    }

    /// Returns the statement of an empty wallet with the plan of this one.
    fn empty_statement(&self, wallet: &WalletRecord) -> BillingView {
        let plan = self.plan_of(wallet);
        let rates = self.settings.rates.by_meter();
        let mut rates_paise = BTreeMap::new();
        for meter in Meter::PRICED {
            rates_paise.insert(meter, rate_of(&plan, &rates, meter));
        }
        BillingView {
            plan: plan.name,
            currency: self.settings.currency.clone(),
            ledger: "local",
            balance_paise: 0,
            min_recharge_paise: *RECHARGE_PAISE.start(),
            rates_paise,
            transactions: Vec::new(),
        }
    }

    /// Debits the usage since the last settlement, one transaction per meter, in one batch. The batch is synced.
    pub fn settle(&self, account: &AccountId) -> Result<WalletRecord> {
        loop {
            let mut change = self.begin_change(account)?;
            let usage = self.unsettled_usage(&change.wallet, Recency::Current)?;
            if usage.is_empty() {
                return Ok(change.wallet);
            }
            change.debit(&usage)?;
            let batch = change.batch(&self.store)?;
            if was_committed(self.store.commit_synced(batch))? {
                return Ok(change.wallet);
            }
        }
    }

    /// As [`Self::settle`], but durable only with the next synced write.
    pub(super) fn settle_buffered(&self, account: &AccountId) -> Result<()> {
        loop {
            let mut change = self.begin_change(account)?;
            let usage = self.unsettled_usage(&change.wallet, Recency::Current)?;
            if usage.is_empty() {
                return Ok(());
            }
            change.debit(&usage)?;
            let batch = change.batch(&self.store)?;
            if was_committed(self.store.commit(batch))? {
                return Ok(());
            }
        }
    }

    /// Credits the debt of an account that is not known to any payment provider, since nobody could have paid it.
    /// Durable with the next synced write.
    pub(super) fn waive_debt(&self, account: &AccountId) -> Result<()> {
        loop {
            let mut change = self.begin_change(account)?;
            let balance_paise = change.wallet.balance_paise;
            if change.wallet.customer.is_some() || balance_paise >= 0 {
                return Ok(());
            }
            let Some(debt_paise) = balance_paise.checked_neg() else {
                return Err(Error::internal(format!("a debt of {balance_paise} paise cannot be credited")));
            };
            change.book(debt_paise, "used while payments were off".into()).map_err(Error::internal)?;
            let batch = change.batch(&self.store)?;
            if was_committed(self.store.commit(batch))? {
                return Ok(());
            }
        }
    }

    /// Reads the wallet of an account in order to change it.
    pub(super) fn begin_change(&self, account: &AccountId) -> Result<WalletChange> {
        WalletChange::begin(&self.store, account, self.clock.now_ms())
    }

    /// Returns the usage that a wallet does not include yet, by meter. A debit needs the current one, read after the
    /// wallet: with a new plan or new prices, units that it misses would be charged at the later price.
    pub(super) fn unsettled_usage(&self, wallet: &WalletRecord, recency: Recency) -> Result<Vec<UnsettledUsage>> {
        let plan = self.plan_of(wallet);
        let mut unsettled = Vec::new();
        for meter in Meter::PRICED {
            let total = self.meters.total(&wallet.account, meter, recency)?;
            let settled = wallet.settled.get(&meter).copied().unwrap_or(0);
            let units = total.saturating_sub(settled);
            let rate = rate_of(&plan, &self.charged, meter);
            if units > 0 {
                let paise = price_of(units, rate)?;
                unsettled.push(UnsettledUsage { meter, total, units, paise });
            }
        }
        Ok(unsettled)
    }

    /// Sends every transaction that the provider's ledger lacks, oldest first.
    ///
    /// A transaction leaves the list once the ledger has confirmed it. The ledger recognises one that is sent twice by
    /// its id.
    pub fn mirror(&self, account: &AccountId) -> Result<()> {
        let Some(provider) = &self.provider else { return Ok(()) };
        // Another thread is sending; transactions added meanwhile are sent next time.
        if !self.mirroring.lock().insert(account.clone()) {
            return Ok(());
        }
        let result = self.send_transactions(provider.as_ref(), account);
        self.mirroring.lock().remove(account);
        result
    }

    fn send_transactions(&self, provider: &dyn Provider, account: &AccountId) -> Result<()> {
        let unmirrored = self.store.unmirrored_transactions(account)?;
        if unmirrored.is_empty() {
            return Ok(());
        }
        let customer = self.customer(provider, account, None)?;
        for transaction in unmirrored {
            provider.record(&customer, &transaction).map_err(unavailable)?;
            self.store.mark_mirrored(account, transaction.id)?;
        }
        Ok(())
    }

    /// Starts a recharge of the wallet.
    pub fn recharge(&self, account: &AccountId, email: Option<&str>, amount_paise: i64) -> Result<Checkout> {
        if amount_paise < *RECHARGE_PAISE.start() {
            let message = format!("amount_paise: {amount_paise} is below {}", RECHARGE_PAISE.start());
            return Err(Error::invalid(ErrorCode::BelowMinimum, message));
        }
        if amount_paise > *RECHARGE_PAISE.end() {
            let message = format!("amount_paise: {amount_paise} is above {}", RECHARGE_PAISE.end());
            return Err(Error::invalid(ErrorCode::AboveMaximum, message));
        }
        let provider = self.live_provider()?;
        let balance_paise = self.wallet(account)?.balance_paise;
        if balance_paise.checked_add(amount_paise).is_none() {
            let message = format!("amount_paise: a wallet with {balance_paise} paise cannot hold {amount_paise} more");
            return Err(Error::invalid(ErrorCode::AboveMaximum, message));
        }
        let customer = self.customer(provider, account, email)?;
        let checkout = provider.start_payment(account, &customer, amount_paise).map_err(unavailable)?;
        let payment =
            PaymentRecord { id: checkout.id.clone(), account: account.clone(), amount_paise, credited: false };
        self.record_payment(&payment)?;
        Ok(checkout)
    }

    /// Records a payment that was started, unless it is recorded already: its notification may have arrived first, and
    /// the record of a credited payment must not be replaced.
    fn record_payment(&self, payment: &PaymentRecord) -> Result<()> {
        loop {
            let stored = self.store.stored_payment(&payment.id)?;
            if stored.record.is_some() {
                return Ok(());
            }
            let mut batch = self.store.batch();
            batch.replace_payment(&stored, payment)?;
            if was_committed(self.store.commit_synced(batch))? {
                return Ok(());
            }
        }
    }

    /// Starts a subscription to a plan.
    pub fn subscribe(&self, account: &AccountId, email: Option<&str>, plan: &str) -> Result<Checkout> {
        let Some(plan) = PlanName::SOLD.into_iter().find(|sold| sold.name() == plan) else {
            let sold = PlanName::SOLD.map(PlanName::name);
            let message = format!("plan: {plan:?} must be one of {}", sold.join(", "));
            return Err(Error::invalid(ErrorCode::UnknownPlan, message));
        };
        let provider = self.live_provider()?;
        if !provider.offers(plan) {
            return Err(Error::invalid(
                ErrorCode::UnknownPlan,
                format!("plan: {:?} is not sold by this server", plan.name()),
            ));
        }
        let customer = self.customer(provider, account, email)?;
        provider.start_subscription(account, &customer, plan).map_err(unavailable)
    }

    fn live_provider(&self) -> Result<&dyn Provider> {
        match &self.provider {
            Some(provider) => Ok(provider.as_ref()),
            None => Err(Error::Unavailable {
                code: ErrorCode::MerchantNotLive,
                message: "payments are not enabled on this server (setting payments.provider)".into(),
            }),
        }
    }

    /// Returns the provider's customer id of an account. Creates the customer at the first use.
    fn customer(&self, provider: &dyn Provider, account: &AccountId, email: Option<&str>) -> Result<String> {
        if let Some(customer) = self.wallet(account)?.customer {
            return Ok(customer);
        }
        let created = provider.create_customer(account, email).map_err(unavailable)?;
        loop {
            let mut change = self.begin_change(account)?;
            // Two concurrent calls create two customers; the first one recorded counts.
            if let Some(recorded) = change.wallet.customer {
                return Ok(recorded);
            }
            change.wallet.customer = Some(created.clone());
            let batch = change.batch(&self.store)?;
            if was_committed(self.store.commit_synced(batch))? {
                return Ok(created);
            }
        }
    }

    /// Returns the wallet of an account; an empty one if none is stored.
    pub(super) fn wallet(&self, account: &AccountId) -> Result<WalletRecord> {
        match self.store.wallet(account)? {
            Some(wallet) => Ok(wallet),
            None => Ok(WalletRecord { account: account.clone(), ..WalletRecord::default() }),
        }
    }
}

impl TransactionView {
    fn of(transaction: TransactionRecord) -> Self {
        Self { amount_paise: transaction.amount_paise, note: transaction.note, at: format_ms(transaction.at_ms) }
    }
}

/// Returns the price of units, in paise.
fn price_of(units: u64, rate_paise: u64) -> Result<i64> {
    let price = units.checked_mul(rate_paise).map(i64::try_from);
    match price {
        Some(Ok(paise)) => Ok(paise),
        _ => Err(Error::internal(format!("{units} units at {rate_paise} paise cost more than a balance can hold"))),
    }
}

/// Returns the price of one unit of a meter, in paise; 0 for plans that do not charge units.
pub(super) fn rate_of(plan: &Plan, rates: &BTreeMap<Meter, u64>, meter: Meter) -> u64 {
    if !plan.priced {
        return 0;
    }
    rates.get(&meter).copied().unwrap_or(0)
}

#[expect(clippy::needless_pass_by_value, reason = "map_err passes the error by value")]
fn unavailable(error: ProviderError) -> Error {
    tracing::warn!(%error, "a call to the payment provider failed");
    Error::Unavailable {
        code: ErrorCode::ProviderUnavailable,
        message: "the payment provider did not complete the request; try again later".into(),
    }
}
