//! The prices in effect: a start with new prices first settles earlier usage at the recorded ones.

use cuebase_storage::records::PricesRecord;

use super::account_billing::Billing;
use crate::config::ProviderChoice;
use crate::error::{Error, Result};

impl Billing {
    /// Charges the prices that the last server recorded, or the configured ones if none are recorded.
    pub(super) fn use_recorded_prices(&mut self) -> Result<()> {
        if let Some(recorded) = self.store.prices()? {
            self.default_plan = recorded.default_plan;
            self.charged = recorded.rates;
        }
        Ok(())
    }

    /// Records the configured prices. If they or the provider differ from the recorded ones, settles all earlier usage
    /// at the recorded prices first.
    pub(super) fn adopt_prices(&mut self, provider: &ProviderChoice) -> Result<()> {
        let prices = PricesRecord {
            default_plan: self.default_plan,
            rates: self.charged.clone(),
            provider: Some(provider.name().to_owned()),
        };
        let recorded = self.store.prices()?;
        if recorded.as_ref() == Some(&prices) {
            return Ok(());
        }
        let mut had_provider = false;
        if let Some(recorded) = &recorded {
            self.settle_at(recorded)?;
            had_provider = recorded.provider.is_some();
        }
        if *provider == ProviderChoice::Off && !had_provider {
            self.waive_debts()?;
        }
        // Writing the prices also makes the settlement durable: the store's log keeps the order.
        let Err(error) = self.store.put_prices(&prices) else { return Ok(()) };
        if recorded.is_some() {
            return Err(error.into());
        }
        // The data directory is from before prices were recorded, and open usage is charged at the configured prices. A
        // full disk must not keep the service from starting; the next start records them.
        tracing::warn!(%error, "the prices of this start could not be recorded");
        Ok(())
    }

    /// Settles every account at recorded prices.
    fn settle_at(&mut self, recorded: &PricesRecord) -> Result<()> {
        let (default_plan, charged) = (self.default_plan, self.charged.clone());
        self.default_plan = recorded.default_plan;
        self.charged.clone_from(&recorded.rates);
        for account in self.store.accounts()? {
            match self.settle_buffered(&account.account) {
                Ok(()) => {}
                Err(error @ Error::Disk { .. }) => return Err(error),
                // A wallet that cannot be read must not keep the other accounts from being served.
                Err(error) => {
                    let account = account.account;
                    tracing::error!(?account, failure = error.code(), "units could not be settled");
                }
            }
        }
        self.default_plan = default_plan;
        self.charged = charged;
        Ok(())
    }

    /// Credits the debts that earlier versions recorded while no provider was configured, so that they do not become
    /// due once one is.
    fn waive_debts(&self) -> Result<()> {
        for account in self.store.accounts()? {
            match self.waive_debt(&account.account) {
                Ok(()) => {}
                Err(error @ Error::Disk { .. }) => return Err(error),
                Err(error) => {
                    let account = account.account;
                    tracing::error!(?account, failure = error.code(), "a debt could not be credited");
                }
            }
        }
        Ok(())
    }
}
