//! The declaration of every setting. A change of a setting starts here; most end here.
//!
//! A setting is declared once: its key and default as in the settings file, then the field that holds its value, the
//! type of the field, and the parser of the text. The doc comment is the setting's help. It is read alone, in
//! `cuebase config` and `docs/reference/settings.md`, so it names its subject and its unit. `declare.rs` describes the
//! form and what it yields; `parsers.rs` and its neighbours hold the parsers.

#![allow(rustdoc::bare_urls, rustdoc::invalid_html_tags, reason = "the doc comments are also printed as plain text")]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use cuebase_storage::records::PlanName;

use super::address::{ListenAddress, address, address_or_off};
use super::builtin_model::{BuiltInModel, built_in_model};
use super::declare::{Setting, settings};
use super::engine::{EngineChoice, connection, engine};
use super::parsers::{
    COUNT_MAX, any_number, any_text, boolean, browser_origins, count, count_up_to, domain, letters, log_filter,
    milliseconds, name, number, optional, path, secret, url,
};
use super::plans::{PlanLimits, Rates, plan_limits, plan_name, rates};
use super::precision::{Precision, precision};
use super::provider::{ProviderChoice, products, provider};
use super::secret::Secret;
use super::values::Values;

/// Maximum number of ingestion workers. Each holds an extractor in memory.
const WORKERS_MAX: usize = 1024;
/// Maximum number of retries of a failed write.
const RETRIES_MAX: u32 = 1000;

settings! {
    /// Settings without a group.
    general: GeneralSettings {
        /// Data directory: records, repositories, indexes, uploaded files; ~/.local/share/cuebase by default for mcp,
        /// hook and install.
        "data" = "./cuebase-data" => data: PathBuf, path,
            option_of_every_command("data", "DIR", "Data directory; of mcp, hook and install ~/.local/share/cuebase by default");
        /// Address of the API; port 0 selects a free port.
        "listen" = "127.0.0.1:8080" => listen: ListenAddress, address,
            option("listen", "ADDR", "Listen address of the API; port 0 selects a free port");
    }

    /// The place of the data as it is set: `storage.*`. `StorageSettings` holds the place that results.
    storage: StorageValues {
        /// Storage of records and repositories: rocksdb (in the data directory), or postgres (in a database and a bucket
        /// that several nodes share).
        "storage.engine" = "rocksdb" => engine: EngineChoice, engine;
        /// PostgreSQL database for the engine postgres: a URL such as postgres://user:password@host/cuebase, or a
        /// connection string of libpq.
        "storage.postgres.url" = "" => postgres_url: Secret, connection, masked();
        /// Bucket for the engine postgres, in the form s3://bucket or s3://bucket/prefix; endpoint, region and
        /// credentials are read from AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
        "storage.bucket" = "" => bucket: Option<String>, optional(any_text);
    }

    /// Several nodes as they are set: `cluster.*`. `StorageSettings` holds what results.
    cluster: ClusterValues {
        /// Address of this node for other nodes with the same database, in the form host:port; required by the engine
        /// postgres.
        "cluster.advertise" = "" => advertise: Option<ListenAddress>, optional(address);
        /// Listen address for requests of other nodes; by default all interfaces at the port of cluster.advertise.
        "cluster.listen" = "" => listen: Option<ListenAddress>, optional(address);
        /// Permission to start on a database that can lose acknowledged writes, for tests: true or false.
        "cluster.allow_unsafe_database" = "false" => allow_unsafe_database: bool, boolean;
    }

    /// The dashboard: `dashboard.*`.
    dashboard: DashboardSettings {
        /// Address of the dashboard, or off; port 0 selects a free port.
        "dashboard.listen" = "127.0.0.1:8081" => listen: Option<ListenAddress>, address_or_off,
            option("dashboard-listen", "ADDR", "Listen address of the dashboard, or off");
        /// Public URL of the dashboard, for links; the listening address by default.
        "dashboard.public_url" = "" => public_url: Option<String>, optional(url);
        /// Exact browser origins that may call the API (CORS) in addition to the dashboard's own, comma-separated.
        "dashboard.origins" = "" => origins: Vec<String>, browser_origins;
    }

    /// The animals API: `pets.*`.
    pets: PetsSettings {
        /// Address of the animals API, or off; port 0 selects a free port.
        "pets.listen" = "off" => listen: Option<ListenAddress>, address_or_off,
            option("pets-listen", "ADDR", "Listen address of the animals API, or off");
    }

    /// The metrics: `metrics.*`.
    metrics: MetricsSettings {
        /// Address of GET /metrics for Prometheus, or off; requires no credential; port 0 selects a free port.
        "metrics.listen" = "off" => listen: Option<ListenAddress>, address_or_off,
            option("metrics-listen", "ADDR", "Listen address of the metrics endpoint, or off");
    }

    /// git as a client: `git.*`.
    git: GitSettings {
        /// Permission to push with git to /v1/git/<namespace>: true or false; clone and pull are always allowed.
        "git.accept_push" = "false" => accept_push: bool, boolean;
    }

    /// Retrieval: `retrieval.*`.
    retrieval: RetrievalSettings {
        /// Number of concurrent retrievals; further ones get 503, except a few reserved for other accounts.
        "retrieval.concurrency" = "20" => concurrency: NonZeroUsize, count;
        /// Number of idle namespaces kept open.
        "retrieval.warm_namespaces" = "4" => warm_namespaces: NonZeroUsize, count;
    }

    /// Ingestion of accepted writes: `ingestion.*`.
    ingestion: IngestionSettings {
        /// Number of namespaces written to at once.
        "ingestion.workers" = "5" => workers: NonZeroUsize, count_up_to(WORKERS_MAX);
        /// Number of retries of a failed write before it becomes a dead letter.
        "ingestion.retries" = "3" => retries: u32, number(0..=RETRIES_MAX);
        /// Wait before the first retry of a failed write, in milliseconds; each further wait is four times as long.
        "ingestion.backoff_ms" = "500" => backoff: Duration, milliseconds;
        /// Time limit of one attempt to ingest a write, in milliseconds; a longer attempt counts as failed.
        "ingestion.timeout_ms" = "900000" => timeout: Duration, milliseconds;
        /// Storage of conversations as they were sent, for export, re-extraction and the sources of a memory: true or
        /// false.
        "ingestion.keep_sources" = "true" => keep_sources: bool, boolean;
    }

    /// Models as they are set: `model.*`. `ModelSettings` holds the models that result.
    model: ModelValues {
        /// Models in the binary, unless model.embedding or model.local selects another: encoder, which also finds what is
        /// said in other words; reader, the encoder with a model that reads the best candidates of a query; or table, which
        /// takes microseconds for a text instead of milliseconds. Empty keeps the model of the data directory: reader for a
        /// new one, and table for one that is older than the encoder.
        "model.builtin" = "" => builtin: Option<BuiltInModel>, optional(built_in_model);
        /// Name of a hosted embedding model; empty selects model.local or the built-in model.
        "model.embedding" = "" => embedding: Option<String>, optional(name);
        /// Name of a hosted chat model for extraction and answers; empty selects the built-in extraction and answers.
        "model.chat" = "" => chat: Option<String>, optional(name);
        /// Base URL of an OpenAI-compatible endpoint, for example http://127.0.0.1:11434/v1.
        "model.base_url" = "" => base_url: Option<String>, optional(url);
        /// API key for model.base_url, if the endpoint requires one.
        "model.api_key" = "" => api_key: Secret, secret, masked();
        /// Base URL of the chat model's endpoint, if it differs from model.base_url.
        "model.chat_base_url" = "" => chat_base_url: Option<String>, optional(url);
        /// API key for model.chat_base_url, if the endpoint requires one.
        "model.chat_api_key" = "" => chat_api_key: Secret, secret, masked();
        /// Folder of a BERT-family encoder, which runs in the server process.
        "model.local" = "" => local: Option<PathBuf>, optional(path);
        /// Precision of that encoder: int8 is several times as fast, float32 has the vectors of the published model.
        "model.local_precision" = "int8" => local_precision: Precision, precision;
        /// Time that a retrieval waits for the vector of its query, in milliseconds; afterwards it searches without the
        /// vector.
        "model.embedding_deadline_ms" = "1000" => embedding_deadline: Duration, milliseconds;
        /// Time limit of a call to a hosted model, retries included, in milliseconds.
        "model.timeout_ms" = "60000" => timeout: Duration, milliseconds;
        /// Number of concurrent calls to a model endpoint.
        "model.concurrency" = "8" => concurrency: NonZeroUsize, count;
    }

    /// The reader in the binary.
    reader: ReaderValues {
        /// Time in milliseconds that the reader may take for a query (read=auto). It reads as many candidates as fit by its
        /// speed, which is measured at the start.
        "model.read_budget_ms" = "60" => read_budget: Duration, milliseconds;
    }

    /// Limits and timeouts of the listeners: `server.*`.
    server: ServerSettings {
        /// Number of open connections of a listener; at the limit a new one replaces the one that has waited longest.
        "server.connections" = "1024" => connections: usize, number(1..=COUNT_MAX);
        /// Number of concurrent requests, without retrievals; further ones get 503, except some reserved for other
        /// accounts.
        "server.requests" = "256" => requests: NonZeroUsize, count;
        /// Time limit of a shutdown, in milliseconds; remaining accepted writes resume at the next start.
        "server.shutdown_ms" = "30000" => shutdown: Duration, milliseconds;
        /// Public URL of the API, for links; the address that the client called by default.
        "server.public_url" = "" => public_url: Option<String>, optional(url);
        /// Time limit for receiving the head of a request, in milliseconds.
        "server.header_timeout_ms" = "15000" => header_timeout: Duration, milliseconds;
        /// Time limit for receiving the body of a request, in milliseconds.
        "server.body_timeout_ms" = "60000" => body_timeout: Duration, milliseconds;
        /// Memory for all request bodies and unsent responses together, in MiB; further requests get 503.
        "server.body_memory_mib" = "512" => body_memory_mib: usize, number(1..=COUNT_MAX);
        /// Time in which a client must read about 64 KiB of a pending response, in milliseconds; a slower client is
        /// disconnected.
        "server.write_timeout_ms" = "30000" => write_timeout: Duration, milliseconds;
    }

    /// Rate limits: `rate_limit.*`.
    rate_limit: RateLimitSettings {
        /// Number of requests per account and minute; 0 disables the limit.
        "rate_limit.requests_per_minute" = "600000" => requests_per_minute: u32, any_number;
    }

    /// The external issuer as it is set: `identity.*`. `IdentitySettings` holds the issuer that results.
    identity: IdentityValues {
        /// External issuer of ID tokens for the dashboard, in addition to the built-in one.
        "identity.issuer" = "" => issuer: Option<String>, optional(any_text);
        /// Expected audience (aud) of the external issuer's tokens.
        "identity.audience" = "" => audience: Option<String>, optional(name);
        /// URL of the external issuer's public keys; <issuer>/.well-known/jwks.json by default.
        "identity.jwks_url" = "" => jwks_url: Option<String>, optional(url);
    }

    /// Plans and prices: `billing.*` and `plans.*`.
    billing: BillingSettings {
        /// Plan of an account without a subscription.
        "billing.default_plan" = "payg" => default_plan: PlanName, plan_name;
        /// Currency of prices and balances, a three-letter code; amounts are in hundredths of it.
        "billing.currency" = "INR" => currency: String, letters(3);
        /// Price of one unit on the payg plan, by meter, in hundredths of the currency (paise).
        "billing.rates" = "writes=10,reads=2,chats=50" => rates: Rates, rates;
        /// Refusal of writes with 402 when the wallet of a payg account is empty: true or false.
        "billing.enforce_balance" = "false" => enforce_balance: bool, boolean;
        /// Monthly limits of the plan; memories and media_mib (MiB of uploaded files) limit the amount stored.
        "plans.payg" = "writes=1000000000,reads=1000000000,memories=1000000000,chats=1000000000,media_mib=1000000000"
            => payg: PlanLimits, plan_limits(setting::billing::payg.default);
        /// Monthly limits of the plan; memories and media_mib (MiB of uploaded files) limit the amount stored.
        "plans.starter" = "writes=100000,reads=1000000,memories=250000,chats=10000,media_mib=10240"
            => starter: PlanLimits, plan_limits(setting::billing::starter.default);
        /// Monthly limits of the plan; memories and media_mib (MiB of uploaded files) limit the amount stored.
        "plans.growth" = "writes=500000,reads=5000000,memories=1000000,chats=50000,media_mib=51200"
            => growth: PlanLimits, plan_limits(setting::billing::growth.default);
        /// Monthly limits of the plan; memories and media_mib (MiB of uploaded files) limit the amount stored.
        "plans.scale" = "writes=2000000,reads=20000000,memories=5000000,chats=200000,media_mib=204800"
            => scale: PlanLimits, plan_limits(setting::billing::scale.default);
        /// Monthly limits of the plan; memories and media_mib (MiB of uploaded files) limit the amount stored.
        "plans.max" = "writes=10000000,reads=100000000,memories=25000000,chats=1000000,media_mib=1048576"
            => max: PlanLimits, plan_limits(setting::billing::max.default);
    }

    /// The payment provider: `payments.*`.
    payments: PaymentSettings {
        /// Payment provider: off (nothing is charged), dodo, or sandbox (a test provider that takes no money).
        "payments.provider" = "off" => provider: ProviderChoice, provider;
        /// Base URL of the payment provider's API.
        "payments.url" = "https://live.dodopayments.com" => url: String, url;
        /// API key for the payment provider.
        "payments.api_key" = "" => api_key: Secret, secret, masked();
        /// Secret that signs the payment provider's notifications (whsec_…), at least 16 bytes.
        "payments.webhook_secret" = "" => webhook_secret: Secret, secret, masked();
        /// Product IDs at the payment provider, in the form recharge=…,starter=…,growth=…,scale=…,max=….
        "payments.products" = "" => products: BTreeMap<String, String>, products;
        /// URL that the payment page redirects to afterwards.
        "payments.return_url" = "" => return_url: Option<String>, optional(url);
        /// Country of the billing address, a two-letter code.
        "payments.country" = "IN" => country: String, letters(2);
        /// Domain of the email addresses generated for customers without one.
        "payments.email_domain" = "customers.example.com" => email_domain: String, domain;
        /// Time limit of a call to the payment provider, retries included, in milliseconds.
        "payments.timeout_ms" = "10000" => timeout: Duration, milliseconds;
        /// Address of the sandbox provider's payment page; port 0 selects a free port.
        "payments.sandbox_listen" = "127.0.0.1:8082" => sandbox_listen: ListenAddress, address;
    }

    /// The log and traces: `log` and `telemetry.*`.
    telemetry: TelemetrySettings {
        /// Filter of the log on stderr: a level, or a tracing filter such as info,cuebase=debug.
        "log" = "info" => log: String, log_filter;
        /// Base URL of an OpenTelemetry collector that receives traces as OTLP over HTTP, for example
        /// http://localhost:4318.
        "telemetry.otlp_endpoint" = "" => otlp_endpoint: Option<String>, optional(url);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::config::{Config, environment_name};

    #[test]
    fn every_setting_is_declared_once_and_has_a_help() {
        let mut keys = BTreeSet::new();
        let mut variables = BTreeSet::new();
        for Setting { key, help, secret, default, .. } in &SETTINGS {
            assert!(keys.insert(*key) && variables.insert(environment_name(*key)), "{key} is declared twice");
            assert!(help.ends_with('.') && help.len() > 20 && !help.contains("  "), "{key}: {help:?}");
            assert!(key.as_str().bytes().all(|byte| byte.is_ascii_lowercase() || b"._".contains(&byte)), "{key}");
            assert!(!secret || default.is_empty(), "{key} is a secret with a default");
        }
    }

    #[test]
    fn every_default_can_be_written_out() {
        let defaults = Config::resolve(&BTreeMap::new(), |_| None, None).expect("resolves");
        let mut written = BTreeMap::new();
        for setting in &SETTINGS {
            written.insert(setting.key, setting.default.to_owned());
            assert!(!defaults.is_chosen(setting), "{}", setting.key);
        }
        let mut config = Config::resolve(&written, |_| None, None).expect("resolves");
        assert!(config.is_chosen(&setting::general::data));
        config.origins.clone_from(&defaults.origins);
        assert_eq!(format!("{config:?}"), format!("{defaults:?}"));
    }
}
