//! The balance that remains for units of a meter. Which writes need one is decided in `enforced_balance`.

use crate::error::Error;

/// The balance for further units of a meter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Funds {
    /// Balance after the open debits of other meters, in paise.
    pub(super) balance_paise: i64,
    /// Price of a unit of the meter, in paise.
    pub(super) rate_paise: u64,
    /// Units of the meter that are debited already.
    pub(super) settled: u64,
}

impl Funds {
    /// Returns whether the balance stays above zero after a total of units, counted and reserved.
    pub(super) fn remain_after(&self, units: u64) -> bool {
        let open = units.saturating_sub(self.settled);
        match open.checked_mul(self.rate_paise) {
            Some(paise) => i128::from(self.balance_paise) > i128::from(paise),
            None => false,
        }
    }
}

/// The error for a write that the balance does not cover.
pub(super) fn wallet_is_empty() -> Error {
    let message = "the wallet is empty: recharge it with POST /v1/billing/recharge; reads remain available";
    Error::PaymentRequired(message.into())
}
