//! Configuration: every setting, its default, and its resolved value.
//!
//! A setting `a.b` is `CUEBASE_A_B` in the environment and `b` under `[a]` in `cuebase.toml`; some are also options of
//! the command line. The command line overrides the environment, which overrides the file. [`Config::resolve`] resolves
//! all settings once at the start; nothing reads the environment later.
//!
//! Start at [`settings`], which declares each setting once; `declare.rs` says what a declaration yields. `resolved.rs`
//! holds [`Config`]. `parsers.rs`, `pairs.rs`, `address.rs`, `plans.rs`, `precision.rs` and `provider.rs` parse values;
//! `model.rs`, `identity.rs` and `payments.rs` check settings that depend on each other. `sources.rs` says which
//! configuration files a command reads, `file.rs` reads one.

pub mod address;
mod billing;
mod builtin_model;
pub mod declare;
pub mod endpoint;
mod engine;
mod file;
mod identity;
mod model;
mod origin;
mod pairs;
mod parsers;
mod payments;
mod plans;
mod precision;
mod provider;
mod refusal;
mod resolved;
mod secret;
pub mod settings;
mod sources;
mod spelling;
mod storage;
mod values;

pub use address::ListenAddress;
pub use builtin_model::BuiltInModel;
pub use declare::{Key, environment_name};
pub use identity::IdentitySettings;
pub use model::{ChatSettings, EmbeddingChoice, ModelSettings};
pub use origin::Origin;
pub use plans::{PlanLimits, Rates};
pub use precision::Precision;
pub use provider::ProviderChoice;
pub use resolved::{AccessSettings, Config, Listeners};
pub use secret::Secret;
pub use settings::{BillingSettings, IngestionSettings, PaymentSettings, SETTINGS, ServerSettings, setting};
pub use sources::FileRule;
pub use spelling::misspelt;
pub use storage::{SharedStorageSettings, StorageSettings};
pub use values::ResolvedValue;
