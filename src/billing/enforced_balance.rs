//! The balance that writes may use, if `billing.enforce_balance` is set.
//!
//! A write is admitted while the balance, after all open debits and all writes in progress, is above zero. Therefore at
//! most one write takes it below zero. Reservations are known to their process only: of several nodes, each may admit
//! one such write, and writes that other nodes counted less than a second ago may be missing.

use cuebase_storage::AccountId;
use cuebase_storage::records::Meter;

use super::account_billing::Billing;
use super::funds::{Funds, wallet_is_empty};
use super::meters::Recency;
use super::wallet::rate_of;
use super::wallet_change::BalanceOverflow;
use crate::error::{Error, Result};

impl Billing {
    /// Refuses a write if `billing.enforce_balance` is set and the wallet of the `payg` account is empty. A reservation
    /// also counts the writes in progress.
    ///
    /// # Errors
    ///
    /// `payment_required`.
    pub fn require_balance(&self, account: &AccountId) -> Result<()> {
        let Some(funds) = self.write_funds(account)? else { return Ok(()) };
        if funds.remain_after(self.meters.total(account, Meter::Writes, Recency::Recent)?) {
            return Ok(());
        }
        Err(wallet_is_empty())
    }

    /// Returns the balance for further writes. `None` if writes need no balance.
    pub(super) fn write_funds(&self, account: &AccountId) -> Result<Option<Funds>> {
        if !self.settings.enforce_balance {
            return Ok(None);
        }
        let wallet = self.wallet(account)?;
        let plan = self.plan_of(&wallet);
        if !plan.priced {
            return Ok(None);
        }
        let mut balance_paise = wallet.balance_paise;
        for usage in self.unsettled_usage(&wallet, Recency::Recent)? {
            if usage.meter == Meter::Writes {
                continue;
            }
            let Some(reduced) = balance_paise.checked_sub(usage.paise) else {
                let overflow = BalanceOverflow { balance_paise, amount_paise: -usage.paise };
                return Err(Error::internal(overflow));
            };
            balance_paise = reduced;
        }
        Ok(Some(Funds {
            balance_paise,
            rate_paise: rate_of(&plan, &self.charged, Meter::Writes),
            settled: wallet.settled.get(&Meter::Writes).copied().unwrap_or(0),
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use cuebase_storage::Store;

    use super::*;
    use crate::billing::PriceSource;
    use crate::billing::permit::Permit;
    use crate::clock::Clock;
    use crate::config::{Config, ProviderChoice};

    /// Opens billing with an enforced balance, and prices of a write and of a read.
    fn open(write_paise: u64, read_paise: u64) -> Billing {
        let mut config = Config::resolve(&BTreeMap::new(), |_| None, None).expect("resolves");
        config.billing.enforce_balance = true;
        config.billing.rates.writes = write_paise;
        config.billing.rates.reads = read_paise;
        config.payments.provider = ProviderChoice::Sandbox;
        let store = Arc::new(Store::in_memory().expect("opens"));
        Billing::open(&config, &store, PriceSource::Configured, Clock::system()).expect("opens")
    }

    fn credit(billing: &Billing, paise: i64) {
        let mut change = billing.begin_change(&AccountId::default()).expect("reads");
        change.book(paise, "recharge".into()).expect("fits");
        billing.store.commit(change.batch(&billing.store).expect("encodes")).expect("writes");
    }

    fn write(billing: &Billing) -> Result<Permit<'_>> {
        billing.reserve(&AccountId::default(), Meter::Writes)
    }

    fn assert_refused(result: &Result<Permit<'_>>) {
        assert!(matches!(result, Err(Error::PaymentRequired(_))), "the write was admitted");
    }

    #[test]
    fn writes_in_progress_reserve_the_balance() {
        let billing = open(10, 0);
        credit(&billing, 100);
        let mut permits = Vec::new();
        for _ in 0..10 {
            permits.push(write(&billing).expect("the balance covers it"));
        }
        assert_refused(&write(&billing));
        // A write that fails releases its part.
        permits.pop();
        permits.push(write(&billing).expect("the balance covers it"));
        for permit in permits {
            permit.charge();
        }
        assert_refused(&write(&billing));
        assert_eq!(billing.settle(&AccountId::default()).expect("settles").balance_paise, 0);
        assert_refused(&write(&billing));
    }

    #[test]
    fn concurrent_writes_take_the_balance_below_zero_once() {
        let billing = open(10, 0);
        credit(&billing, 95);
        std::thread::scope(|scope| {
            for _ in 0..50 {
                scope.spawn(|| {
                    if let Ok(permit) = write(&billing) {
                        permit.charge();
                    }
                });
            }
            for _ in 0..5 {
                scope.spawn(|| billing.settle(&AccountId::default()).expect("settles"));
            }
        });
        assert_eq!(billing.settle(&AccountId::default()).expect("settles").balance_paise, -5);
    }

    #[test]
    fn open_debits_of_reads_count() {
        let billing = open(10, 3);
        credit(&billing, 6);
        billing.reserve(&AccountId::default(), Meter::Reads).expect("room").charge();
        drop(write(&billing).expect("the balance covers it"));
        billing.reserve(&AccountId::default(), Meter::Reads).expect("room").charge();
        assert_refused(&write(&billing));
        billing.reserve(&AccountId::default(), Meter::Reads).expect("reads remain available").charge();
    }

    #[test]
    fn a_debit_below_the_smallest_balance_is_an_error() {
        let billing = open(10, 3);
        let mut change = billing.begin_change(&AccountId::default()).expect("reads");
        change.wallet.balance_paise = i64::MIN + 2;
        billing.store.commit(change.batch(&billing.store).expect("encodes")).expect("writes");
        billing.reserve(&AccountId::default(), Meter::Reads).expect("room").charge();
        assert!(billing.settle(&AccountId::default()).is_err());
        assert!(billing.require_balance(&AccountId::default()).is_err());
        let wallet = billing.wallet(&AccountId::default()).expect("reads");
        assert_eq!(wallet.balance_paise, i64::MIN + 2, "nothing is debited");
    }
}
