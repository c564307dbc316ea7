//! Usage, prices and payments.
//!
//! [`Billing`] is the entry point: it reserves units, settles wallets and starts payments. [`meters`] count units;
//! [`plans`] limit and price them; [`wallet`] debits them and mirrors the debits to the payment provider's ledger.
//! [`provider`] defines what a payment provider does; [`dodo`] and [`sandbox`] implement it; [`notifications`]
//! processes what a provider reports. [`rate_limit`] limits requests and has nothing to do with money.
//!
//! Nothing is counted twice and nothing is lost, because each step is one batch of the store. A unit is counted in the
//! batch of the write that it pays for. A debit changes the balance, the settled total of the meter, and the list of
//! transactions that the ledger lacks in one batch. The batch is written only if the wallet is still as it was read, so
//! two settlements at the same time cannot debit the same units. The ledger receives a transaction under its id, so a
//! retry changes nothing.
//!
//! A unit costs the price at the time of its use: each start records its prices. If the next start has other prices, it
//! first settles all earlier usage at the recorded ones.
//!
//! A payment is credited with what was paid, never with what its metadata say. Amounts of money are added with a check:
//! what does not fit into a balance is refused before anything is written. With `billing.enforce_balance`, a write
//! reserves its price when it is admitted.
//!
//! Without a payment provider (the default) a unit costs nothing: meters count, no debit is made, and statements show
//! an empty wallet. Earlier wallets and transactions are kept and are shown again once a provider is configured.

mod account_billing;
mod counters;
pub mod dodo;
mod enforced_balance;
mod funds;
mod metadata;
pub mod meters;
mod month;
pub mod notifications;
mod paid;
mod permit;
pub mod plans;
mod prices;
pub mod provider;
pub mod rate_limit;
pub mod sandbox;
mod sandbox_payment;
pub mod wallet;
mod wallet_change;

pub use account_billing::{Billing, PriceSource};

#[cfg(test)]
mod lost_answers_tests;
