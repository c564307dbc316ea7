//! Accounts and credentials: who may call, and the formats of account ids, API keys and dashboard sessions.
//!
//! Start with [`Accounts`], the accounts of a data directory. [`credentials`] has API keys, [`sessions`] has the
//! tokens of the built-in issuer, `links` has the one-time codes of sign-in links, [`principal`] has the caller that a
//! credential identifies, [`cache`] has the callers that were authorized a short time ago. [`scope`] has the namespace
//! that a credential selects, [`user_names`] has the fields by which other products separate users. `gateway`
//! authenticates requests with them.

mod account_id;
pub mod cache;
pub mod credentials;
mod directory;
mod links;
pub mod principal;
pub mod scope;
pub mod sessions;
pub mod user_names;

pub use self::account_id::parse_account;
pub use self::directory::{Accounts, KEY_NAME_CHARS_MAX, NewKey};
