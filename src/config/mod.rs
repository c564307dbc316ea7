//! Configuration: every setting, its default, and its resolved value.
//!
//! A setting `a.b` is `CUEBASE_A_B` in the environment and `b` under `[a]` in `cuebase.toml`; some are also options of
//! the command line. The command line overrides the environment, which overrides the file. [`Config::resolve`] resolves
//! all settings once at the start; nothing reads the environment later.
//!
//! Start at [`settings`], which lists all settings. `resolved.rs` holds [`Config`]; a file per group (`model.rs`,
//! `payments.rs`, …) reads its part; `values.rs` parses single values, and `file.rs` the configuration file.

mod billing;
pub mod endpoint;
mod file;
mod identity;
mod model;
mod origin;
mod payments;
mod resolved;
mod server;
pub mod settings;
mod values;

pub use billing::{BillingSettings, PLANS};
pub use identity::IdentitySettings;
pub use model::{ChatSettings, EmbeddingChoice, ModelSettings};
pub use origin::Origin;
pub use payments::{PaymentSettings, ProviderChoice};
pub use resolved::{Config, misspelt};
pub use server::ServerSettings;
pub use settings::{SETTINGS, environment_name};
