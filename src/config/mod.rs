//! Every setting, with its default and what it means.
//!
//! A setting `a.b` is `CUEBASE_A_B` in the environment and `b` under `[a]` in `cuebase.toml`; some are options of the
//! command line too. The command line wins over the environment, that over the file. Resolved once, here; nothing reads
//! the environment later. [`settings`] lists them, [`values`] reads what they say.

pub mod endpoint;
pub mod settings;
mod values;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use zeroize::{Zeroize, Zeroizing};

use crate::config::endpoint::EndpointSettings;
use crate::webhook::WebhookSecret;
pub use settings::{SETTINGS, environment_name};
use values::{
    address, address_or_off, bad, boolean, domain, figures, figures_with_default, letters, log_filter, name,
    named_pairs, number, optional_url, positive, read_file, secret, url, within,
};

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nothing else was said.
    Default,
    /// The configuration file.
    File(PathBuf),
    /// An environment variable.
    Environment(String),
    /// The command line.
    CommandLine,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::CommandLine => f.write_str("command line"),
        }
    }
}

/// The resolved settings.
#[derive(Clone, Debug)]
pub struct Config {
    /// `data`.
    pub data: PathBuf,
    /// `listen`.
    pub listen: String,
    /// `pets.listen`; none is off.
    pub pets_listen: Option<String>,
    /// Address of the metrics, where they are told.
    pub metrics_listen: Option<String>,
    /// `dashboard.listen`; none is off.
    pub dashboard_listen: Option<String>,
    /// `dashboard.public_url`.
    pub dashboard_public_url: Option<String>,
    /// `dashboard.origins`.
    pub dashboard_origins: Vec<String>,
    /// `git.accept_push`.
    pub accept_push: bool,
    /// `retrieval.concurrency`.
    pub retrieval_concurrency: usize,
    /// `retrieval.warm_namespaces`.
    pub warm_namespaces: usize,
    /// `ingestion.workers`.
    pub ingestion_workers: usize,
    /// `ingestion.retries`.
    pub ingestion_retries: u32,
    /// `ingestion.backoff_ms`.
    pub ingestion_backoff: Duration,
    /// `ingestion.timeout_ms`.
    pub ingestion_timeout: Duration,
    /// `ingestion.keep_sources`.
    pub keep_sources: bool,
    /// `model.*`.
    pub model: ModelSettings,
    /// `server.*`.
    pub server: ServerSettings,
    /// `rate_limit.requests_per_minute`; 0 sets no limit.
    pub requests_per_minute: u32,
    /// `identity.*`; none where no issuer is set.
    pub identity: Option<IdentitySettings>,
    /// `billing.*` and `plans.*`.
    pub billing: BillingSettings,
    /// `payments.*`.
    pub payments: PaymentSettings,
    /// `log`.
    pub log: String,
    /// `telemetry.otlp_endpoint`: where traces are sent.
    pub collector: Option<String>,
    /// Every setting's value and origin, for `cuebase config`.
    pub origins: Vec<(&'static str, String, Origin)>,
}

/// How long and how many a listener puts up with.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Open connections.
    pub connections: usize,
    /// Requests worked on at once, beside retrievals.
    pub requests: usize,
    /// A stop takes no longer.
    pub shutdown: Duration,
    /// Where clients reach the API.
    pub public_url: Option<String>,
    /// Until a head has arrived.
    pub header_timeout: Duration,
    /// Until a body has arrived.
    pub body_timeout: Duration,
    /// What all bodies together may take, MiB.
    pub body_memory_mib: usize,
    /// Until a client takes something of its answer.
    pub write_timeout: Duration,
}

/// An issuer of dashboard sessions.
#[derive(Clone, Debug)]
pub struct IdentitySettings {
    /// The `iss` of its tokens.
    pub issuer: String,
    /// The `aud` of its tokens.
    pub audience: String,
    /// Where its keys are.
    pub jwks_url: String,
}

/// Which models make vectors and memories.
#[derive(Clone)]
pub struct ModelSettings {
    /// What makes vectors.
    pub embedding: EmbeddingChoice,
    /// The chat model's endpoint and name; none is the built-in extractor.
    pub chat: Option<(EndpointSettings, String)>,
    /// `model.base_url` and what belongs to it, where it is set.
    pub endpoint: Option<EndpointSettings>,
    /// How long a query waits for its vector.
    pub embedding_deadline: Duration,
    /// How long any other call may take.
    pub call_time: Duration,
}

/// What makes vectors.
#[derive(Clone)]
pub enum EmbeddingChoice {
    /// The table in the binary.
    BuiltIn,
    /// An encoder in a folder.
    Local(PathBuf),
    /// A model behind an endpoint.
    Hosted {
        /// Where.
        endpoint: EndpointSettings,
        /// Its name.
        model: String,
    },
}

impl std::fmt::Debug for ModelSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The endpoints hold keys.
        f.debug_struct("ModelSettings").field("embedding_deadline", &self.embedding_deadline).finish_non_exhaustive()
    }
}

/// Plans and prices.
#[derive(Clone, Debug)]
pub struct BillingSettings {
    /// The plan of an account without a subscription.
    pub default_plan: String,
    /// The currency.
    pub currency: String,
    /// Price of one unit by meter.
    pub rates: BTreeMap<String, u64>,
    /// Whether an empty wallet refuses writes.
    pub enforce_balance: bool,
    /// Limits by plan and meter.
    pub plans: BTreeMap<&'static str, BTreeMap<String, u64>>,
}

/// Which payment provider is behind the wallet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderChoice {
    /// None: payments are not live.
    Off,
    /// Dodo Payments.
    Dodo,
    /// The built-in one that takes no money.
    Sandbox,
}

impl ProviderChoice {
    /// Returns the value of `payments.provider`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Dodo => "dodo",
            Self::Sandbox => "sandbox",
        }
    }
}

/// The payment provider.
#[derive(Clone)]
pub struct PaymentSettings {
    /// Which.
    pub provider: ProviderChoice,
    /// Its API.
    pub url: String,
    /// Its key.
    pub api_key: Zeroizing<String>,
    /// What its notifications are signed with.
    pub webhook_secret: Zeroizing<String>,
    /// Its product ids by plan, and `recharge`.
    pub products: BTreeMap<String, String>,
    /// Where its page sends people afterwards.
    pub return_url: Option<String>,
    /// Two letters.
    pub country: String,
    /// For customers without an address.
    pub email_domain: String,
    /// How long a call may take.
    pub timeout: Duration,
    /// Address of the sandbox's page.
    pub sandbox_listen: String,
}

impl std::fmt::Debug for PaymentSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PaymentSettings")
            .field("provider", &self.provider)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// Stands for a secret wherever settings are printed.
const MASK: &str = "********";
/// The plans that there are; the first charges by unit.
pub const PLANS: [&str; 5] = ["payg", "starter", "growth", "scale", "max"];
/// Tries of one call to a hosted model.
const CALL_ATTEMPTS: u32 = 3;
/// Variables that are no settings.
const OTHER_VARIABLES: [&str; 3] = ["CUEBASE_CONFIG", "CUEBASE_URL", "CUEBASE_KEY"];
/// What plans limit.
const LIMITED: [&str; 5] = ["writes", "reads", "memories", "chats", "media_mib"];
/// Limits that a setting from before they were added does not name.
const LIMITED_LATER: [&str; 1] = ["media_mib"];
/// Threads that write to namespaces; each holds an extractor's memory.
const WORKERS_MAX: usize = 1024;
/// Retries of a failed write.
const RETRIES_MAX: u32 = 1000;
/// What the payment provider has products for.
const SOLD: [&str; 5] = ["recharge", "starter", "growth", "scale", "max"];
/// What a unit price can be set for.
const PRICED: [&str; 3] = ["writes", "reads", "chats"];

/// Of names in the environment those that look like a setting of ours and are none, each with the nearest one.
pub fn misspelt(names: impl Iterator<Item = String>) -> Vec<(String, Option<String>)> {
    let known = |name: &String| SETTINGS.iter().any(|setting| environment_name(setting.key) == *name);
    let ours = names.filter(|name| name.starts_with("CUEBASE_") && !OTHER_VARIABLES.contains(&name.as_str()));
    let strange = ours.filter(|name| !known(name) && !name.starts_with("CUEBASE_TEST_"));
    let near = |name: &str| {
        let key = name["CUEBASE_".len()..].to_lowercase().replacen('_', ".", 1);
        values::nearest(&key).map(environment_name)
    };
    strange.map(|name| (name.clone(), near(&name))).collect()
}

impl Config {
    /// Whether somebody set a value for a setting.
    pub fn is_chosen(&self, key: &str) -> bool {
        self.origins.iter().any(|(other, _, origin)| *other == key && *origin != Origin::Default)
    }

    /// Returns where the value of a setting came from.
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.origins.iter().find(|(other, ..)| *other == key).map(|(_, _, origin)| origin)
    }

    /// Resolves the settings from what the command line says, the environment and a file.
    pub fn resolve(
        command_line: &BTreeMap<&'static str, String>,
        environment: impl Fn(&str) -> Option<String>,
        file: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let in_file = file.map(read_file).transpose()?.unwrap_or_default();
        let mut origins = Vec::new();
        for setting in &SETTINGS {
            let variable = environment_name(setting.key);
            let (value, origin) = if let Some(value) = command_line.get(setting.key) {
                (value.clone(), Origin::CommandLine)
            } else if let Some(value) = environment(&variable) {
                (value, Origin::Environment(variable))
            } else if let (Some(value), Some(file)) = (in_file.get(setting.key), file) {
                (value.clone(), Origin::File(file.to_path_buf()))
            } else {
                (setting.default.to_owned(), Origin::Default)
            };
            origins.push((setting.key, value, origin));
        }
        let config = Self::read(&origins).map_err(|error| values::with_origin(error, &origins))?;
        // What is printed is wiped here already.
        for (setting, (_, value, _)) in SETTINGS.iter().zip(&mut origins) {
            if setting.secret && !value.is_empty() {
                value.zeroize();
                value.push_str(MASK);
            }
        }
        Ok(Self { origins, ..config })
    }

    /// Reads and checks every setting.
    fn read(origins: &[(&'static str, String, Origin)]) -> anyhow::Result<Self> {
        let text = |key: &str| {
            let found = origins.iter().find(|(other, ..)| *other == key);
            found.map(|(_, value, _)| value.clone()).unwrap_or_default()
        };
        let optional = |key: &str| Some(text(key)).filter(|value| !value.is_empty());
        let milliseconds = |key: &str| values::milliseconds(key, &text(key));
        let mut plans = BTreeMap::new();
        for plan in PLANS {
            let key = format!("plans.{plan}");
            plans.insert(plan, figures_with_default(&key, &text(&key), &LIMITED, &LIMITED_LATER)?);
        }
        let default_plan = text("billing.default_plan");
        if !plans.contains_key(default_plan.as_str()) {
            return Err(bad("billing.default_plan", &default_plan, format!("one of {}", PLANS.join(", "))));
        }
        let config = Self {
            data: values::path("data", &text("data"))?,
            listen: address("listen", &text("listen"))?,
            pets_listen: address_or_off("pets.listen", &text("pets.listen"))?,
            metrics_listen: address_or_off("metrics.listen", &text("metrics.listen"))?,
            dashboard_listen: address_or_off("dashboard.listen", &text("dashboard.listen"))?,
            dashboard_public_url: optional_url("dashboard.public_url", optional("dashboard.public_url"))?,
            dashboard_origins: values::origins("dashboard.origins", &text("dashboard.origins"))?,
            accept_push: boolean("git.accept_push", &text("git.accept_push"))?,
            retrieval_concurrency: positive("retrieval.concurrency", &text("retrieval.concurrency"))?,
            warm_namespaces: positive("retrieval.warm_namespaces", &text("retrieval.warm_namespaces"))?,
            ingestion_workers: within("ingestion.workers", &text("ingestion.workers"), 1..=WORKERS_MAX)?,
            ingestion_retries: within("ingestion.retries", &text("ingestion.retries"), 0..=RETRIES_MAX)?,
            ingestion_backoff: milliseconds("ingestion.backoff_ms")?,
            ingestion_timeout: milliseconds("ingestion.timeout_ms")?,
            keep_sources: boolean("ingestion.keep_sources", &text("ingestion.keep_sources"))?,
            model: models(&optional, milliseconds, positive("model.concurrency", &text("model.concurrency"))?)?,
            server: ServerSettings {
                connections: positive("server.connections", &text("server.connections"))?,
                public_url: optional_url("server.public_url", optional("server.public_url"))?,
                requests: positive("server.requests", &text("server.requests"))?,
                shutdown: milliseconds("server.shutdown_ms")?,
                header_timeout: milliseconds("server.header_timeout_ms")?,
                body_timeout: milliseconds("server.body_timeout_ms")?,
                body_memory_mib: positive("server.body_memory_mib", &text("server.body_memory_mib"))?,
                write_timeout: milliseconds("server.write_timeout_ms")?,
            },
            requests_per_minute: number("rate_limit.requests_per_minute", &text("rate_limit.requests_per_minute"))?,
            identity: identity(
                optional("identity.issuer"),
                optional("identity.audience"),
                optional("identity.jwks_url"),
            )?,
            billing: BillingSettings {
                default_plan,
                currency: letters("billing.currency", &text("billing.currency"), 3)?,
                rates: figures("billing.rates", &text("billing.rates"), &PRICED)?,
                enforce_balance: boolean("billing.enforce_balance", &text("billing.enforce_balance"))?,
                plans,
            },
            payments: PaymentSettings {
                provider: match text("payments.provider").as_str() {
                    "" | "off" => ProviderChoice::Off,
                    "dodo" => ProviderChoice::Dodo,
                    "sandbox" => ProviderChoice::Sandbox,
                    other => return Err(bad("payments.provider", other, "off, dodo or sandbox")),
                },
                url: url("payments.url", &text("payments.url"))?,
                api_key: secret("payments.api_key", &text("payments.api_key"))?.into(),
                webhook_secret: secret("payments.webhook_secret", &text("payments.webhook_secret"))?.into(),
                products: named_pairs("payments.products", &text("payments.products"), &SOLD)?,
                return_url: optional_url("payments.return_url", optional("payments.return_url"))?,
                country: letters("payments.country", &text("payments.country"), 2)?,
                email_domain: domain("payments.email_domain", &text("payments.email_domain"))?,
                timeout: milliseconds("payments.timeout_ms")?,
                sandbox_listen: address("payments.sandbox_listen", &text("payments.sandbox_listen"))?,
            },
            log: log_filter("log", &text("log"))?,
            collector: optional_url("telemetry.otlp_endpoint", optional("telemetry.otlp_endpoint"))?,
            origins: Vec::new(),
        };
        config.payments.check()?;
        Ok(config)
    }
}

impl PaymentSettings {
    fn check(&self) -> anyhow::Result<()> {
        if !self.webhook_secret.is_empty() {
            WebhookSecret::parse(&self.webhook_secret)?;
        }
        if self.provider != ProviderChoice::Dodo {
            return Ok(());
        }
        ensure!(!self.api_key.is_empty(), "setting payments.api_key is missing: payments.provider = dodo needs it");
        ensure!(
            !self.webhook_secret.is_empty(),
            "setting payments.webhook_secret is missing: without it no payment could ever be credited"
        );
        ensure!(
            self.products.contains_key("recharge"),
            "setting payments.products names no recharge=…: the product whose price the payer's amount replaces"
        );
        Ok(())
    }
}

/// The models' settings, which must agree with each other.
fn models(
    optional: &dyn Fn(&str) -> Option<String>,
    milliseconds: impl Fn(&str) -> anyhow::Result<Duration>,
    concurrency: usize,
) -> anyhow::Result<ModelSettings> {
    let timeout = milliseconds("model.timeout_ms")?;
    let at = |key: &str, key_setting: &str| -> anyhow::Result<Option<EndpointSettings>> {
        let Some(base_url) = optional_url(key, optional(key))? else { return Ok(None) };
        let api_key = secret(key_setting, &optional(key_setting).unwrap_or_default())?.into();
        Ok(Some(EndpointSettings { base_url, api_key, attempts: CALL_ATTEMPTS, timeout, concurrency }))
    };
    let endpoint = at("model.base_url", "model.api_key")?;
    let chat_endpoint = at("model.chat_base_url", "model.chat_api_key")?.or_else(|| endpoint.clone());
    let missing = |key: &str| format!("setting model.base_url is missing: {key} needs it");
    let chat = match optional("model.chat") {
        Some(model) => {
            let endpoint = chat_endpoint.with_context(|| missing("model.chat"))?;
            Some((endpoint, name("model.chat", &model)?))
        }
        None => None,
    };
    let embedding = match (optional("model.embedding"), optional("model.local")) {
        (Some(_), Some(_)) => bail!("settings model.embedding and model.local: set one of them, not both"),
        (Some(model), None) => {
            let endpoint = endpoint.clone().with_context(|| missing("model.embedding"))?;
            EmbeddingChoice::Hosted { endpoint, model: name("model.embedding", &model)? }
        }
        (None, Some(folder)) => EmbeddingChoice::Local(values::path("model.local", &folder)?),
        (None, None) => EmbeddingChoice::BuiltIn,
    };
    let embedding_deadline = milliseconds("model.embedding_deadline_ms")?;
    Ok(ModelSettings { embedding, chat, endpoint, embedding_deadline, call_time: timeout })
}

fn identity(
    issuer: Option<String>,
    audience: Option<String>,
    jwks_url: Option<String>,
) -> anyhow::Result<Option<IdentitySettings>> {
    // Checked also where no issuer makes use of them.
    let audience = match audience {
        Some(audience) => Some(name("identity.audience", &audience)?),
        None => None,
    };
    let jwks_url = optional_url("identity.jwks_url", jwks_url)?;
    let Some(issuer) = issuer else { return Ok(None) };
    let audience = audience.context("setting identity.audience is missing: identity.issuer needs it")?;
    let (issuer, jwks_url) = match jwks_url {
        Some(jwks_url) => (name("identity.issuer", &issuer)?, jwks_url),
        // As it is in tokens, with its slash; as a URL it must only be one.
        None => {
            let base = url("identity.issuer", &issuer)?;
            (issuer, format!("{base}/.well-known/jwks.json"))
        }
    };
    Ok(Some(IdentitySettings { issuer, audience, jwks_url }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_wins_over_the_environment_and_that_over_the_file() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let file = folder.path().join("cuebase.toml");
        std::fs::write(&file, "listen = '1.1.1.1:1'\n[retrieval]\nconcurrency = 7\nwarm_namespaces = 9\n[dashboard]\norigins = ['https://a', 'https://b']\n")
            .expect("writes");
        let environment =
            |name: &str| (name == "CUEBASE_RETRIEVAL_CONCURRENCY" || name == "CUEBASE_LISTEN").then(|| "8".to_owned());
        let command_line = BTreeMap::from([("listen", "2.2.2.2:2".to_owned())]);
        let config = Config::resolve(&command_line, environment, Some(&file)).expect("resolves");
        assert_eq!(config.listen, "2.2.2.2:2");
        assert_eq!(config.retrieval_concurrency, 8);
        assert_eq!(config.warm_namespaces, 9);
        assert_eq!(config.ingestion_workers, 5);
        assert_eq!(config.dashboard_origins, ["https://a", "https://b"]);
        assert!(matches!(config.origins[1].2, Origin::CommandLine));
    }

    #[test]
    fn a_bad_or_unknown_setting_is_named() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let file = folder.path().join("cuebase.toml");
        std::fs::write(&file, "lisen = 'x'").expect("writes");
        let error = Config::resolve(&BTreeMap::new(), |_| None, Some(&file)).expect_err("refused");
        assert!(
            error.to_string().contains("lisen") && error.to_string().contains("did you mean \"listen\"?"),
            "{error}"
        );
        let names = ["CUEBASE_RETRIEVAL_CONCURENCY", "CUEBASE_LISTEN", "CUEBASE_CONFIG", "CUEBASE_XYZZY", "HOME"];
        let found = misspelt(names.into_iter().map(str::to_owned));
        let nearest = Some("CUEBASE_RETRIEVAL_CONCURRENCY".to_owned());
        assert_eq!(found, [(names[0].to_owned(), nearest), (names[3].to_owned(), None)]);
        let environment = |name: &str| (name == "CUEBASE_INGESTION_WORKERS").then(|| "many".to_owned());
        let error = Config::resolve(&BTreeMap::new(), environment, None).expect_err("refused");
        assert!(error.to_string().contains("ingestion.workers"));
        for (variable, value, told) in [
            ("CUEBASE_PLANS_STARTER", "writes=1", "reads"),
            ("CUEBASE_BILLING_RATES", "writes=1,reads=1,chats=1,cakes=1", "cakes"),
            ("CUEBASE_BILLING_DEFAULT_PLAN", "gold", "gold"),
            ("CUEBASE_PAYMENTS_PROVIDER", "dodo", "api_key"),
            ("CUEBASE_MODEL_EMBEDDING", "some-model", "model.base_url"),
            ("CUEBASE_MODEL_BASE_URL", "localhost:11434", "http://"),
            ("CUEBASE_MODEL_BASE_URL", "http://me:secret@localhost:11434", "model.api_key"),
            ("CUEBASE_IDENTITY_ISSUER", "https://id.example", "identity.audience"),
        ] {
            let environment = |name: &str| (name == variable).then(|| value.to_owned());
            let error = Config::resolve(&BTreeMap::new(), environment, None).expect_err("refused");
            assert!(error.to_string().contains(told), "{error}");
        }
    }

    #[test]
    fn a_plan_is_a_table_of_the_file() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let file = folder.path().join("cuebase.toml");
        std::fs::write(&file, "[plans]\nstarter = { writes = 1, reads = 2, memories = 3, chats = 4 }\n")
            .expect("writes");
        let config = Config::resolve(&BTreeMap::new(), |_| None, Some(&file)).expect("resolves");
        assert_eq!(config.billing.plans["starter"]["memories"], 3);
    }
}
