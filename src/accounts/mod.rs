//! Accounts and credentials: the formats of account ids, API keys and dashboard sessions.
//!
//! [`credentials`] has API keys, [`sessions`] has the tokens of the built-in issuer, [`scope`] has the namespace that a
//! credential selects, [`user_names`] has the fields by which other products separate users. `gateway` authenticates
//! requests with them.

mod account_id;
pub mod credentials;
pub mod scope;
pub mod sessions;
pub mod user_names;

pub use self::account_id::parse_account;
