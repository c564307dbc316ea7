//! The resolved configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use zeroize::Zeroize;

use super::billing::BillingSettings;
use super::file::read_file;
use super::identity::IdentitySettings;
use super::model::ModelSettings;
use super::origin::Origin;
use super::payments::PaymentSettings;
use super::server::ServerSettings;
use super::settings::{MASK, SETTINGS, environment_name, nearest_key};
use super::values::{Values, with_origin};

/// Environment variables with our prefix that are not settings.
const OTHER_VARIABLES: [&str; 3] = ["CUEBASE_CONFIG", "CUEBASE_URL", "CUEBASE_KEY"];
/// Maximum number of ingestion workers. Each holds an extractor in memory.
const WORKERS_MAX: usize = 1024;
/// Maximum number of retries of a failed write.
const RETRIES_MAX: u32 = 1000;

/// The resolved settings.
#[derive(Clone, Debug)]
pub struct Config {
    /// `data`: path of the data directory. Default `./cuebase-data`.
    pub data: PathBuf,
    /// `listen`: address of the API. Default `127.0.0.1:8080`.
    pub listen: String,
    /// `pets.listen`: address of the animals API; `None` disables it. Default `None`.
    pub pets_listen: Option<String>,
    /// `metrics.listen`: address of the metrics; `None` disables them. Default `None`.
    pub metrics_listen: Option<String>,
    /// `dashboard.listen`: address of the dashboard; `None` disables it. Default `127.0.0.1:8081`.
    pub dashboard_listen: Option<String>,
    /// `dashboard.public_url`: URL of the dashboard in links. Default `None`: the listening address.
    pub dashboard_public_url: Option<String>,
    /// `dashboard.origins`: further browser origins that may call the API. Default empty.
    pub dashboard_origins: Vec<String>,
    /// `git.accept_push`: whether git may push. Default no.
    pub accept_push: bool,
    /// `retrieval.concurrency`: maximum number of concurrent retrievals. Default 20.
    pub retrieval_concurrency: usize,
    /// `retrieval.warm_namespaces`: number of idle namespaces kept open. Default 4.
    pub warm_namespaces: usize,
    /// `ingestion.workers`: number of namespaces written to at once. Default 5.
    pub ingestion_workers: usize,
    /// `ingestion.retries`: retries of a failed write before it becomes a dead letter. Default 3.
    pub ingestion_retries: u32,
    /// `ingestion.backoff_ms`: wait before the first retry. Default 500 milliseconds.
    pub ingestion_backoff: Duration,
    /// `ingestion.timeout_ms`: time limit of one ingestion attempt. Default 15 minutes.
    pub ingestion_timeout: Duration,
    /// `ingestion.keep_sources`: whether conversations are stored as they were sent. Default yes.
    pub keep_sources: bool,
    /// `model.*`: the models.
    pub model: ModelSettings,
    /// `server.*`: limits of the listeners.
    pub server: ServerSettings,
    /// `rate_limit.requests_per_minute`: requests per minute and account; 0 disables the limit. Default 600,000.
    pub requests_per_minute: u32,
    /// `identity.*`: external issuer of ID tokens. Default `None`.
    pub identity: Option<IdentitySettings>,
    /// `billing.*` and `plans.*`: plans and prices.
    pub billing: BillingSettings,
    /// `payments.*`: payment provider.
    pub payments: PaymentSettings,
    /// `log`: filter of the log. Default `info`.
    pub log: String,
    /// `telemetry.otlp_endpoint`: base URL of the collector that receives traces. Default `None`.
    pub collector: Option<String>,
    /// Key, value and origin of every setting in the order of [`SETTINGS`], for `cuebase config`. Secrets are masked.
    pub origins: Vec<(&'static str, String, Origin)>,
}

/// Returns the names of environment variables that start with our prefix but match no setting, each with the most
/// similar variable of a setting, if any.
pub fn misspelt(names: impl Iterator<Item = String>) -> Vec<(String, Option<String>)> {
    let mut unknown = Vec::new();
    for name in names {
        let Some(rest) = name.strip_prefix("CUEBASE_") else { continue };
        let is_known = OTHER_VARIABLES.contains(&name.as_str())
            || rest.starts_with("TEST_")
            || SETTINGS.iter().any(|setting| environment_name(setting.key) == name);
        if is_known {
            continue;
        }
        let key = rest.to_lowercase().replacen('_', ".", 1);
        let similar = nearest_key(&key).map(environment_name);
        unknown.push((name, similar));
    }
    unknown
}

impl Config {
    /// Returns whether a setting has a value from the command line, the environment or the file.
    pub fn is_chosen(&self, key: &str) -> bool {
        matches!(self.origin(key), Some(origin) if *origin != Origin::Default)
    }

    /// Returns the origin of a setting's value.
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.origins.iter().find(|(other, ..)| *other == key).map(|(_, _, origin)| origin)
    }

    /// Resolves the settings from the options of the command line, the environment and a file.
    ///
    /// # Errors
    ///
    /// One line with the key, the value and the accepted form of a refused setting, or with the place in the file.
    pub fn resolve(
        command_line: &BTreeMap<&'static str, String>,
        environment: impl Fn(&str) -> Option<String>,
        file: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let mut in_file = BTreeMap::new();
        if let Some(file) = file {
            in_file = read_file(file)?;
        }
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
        let config = match Self::read(&Values::new(&origins)) {
            Ok(config) => config,
            Err(error) => return Err(with_origin(error, &origins)),
        };
        mask_secrets(&mut origins);
        Ok(Self { origins, ..config })
    }

    /// Reads and validates every setting. Leaves `origins` empty.
    fn read(values: &Values<'_>) -> anyhow::Result<Self> {
        let config = Self {
            billing: BillingSettings::read(values)?,
            data: values.path("data")?,
            listen: values.address("listen")?,
            pets_listen: values.address_or_off("pets.listen")?,
            metrics_listen: values.address_or_off("metrics.listen")?,
            dashboard_listen: values.address_or_off("dashboard.listen")?,
            dashboard_public_url: values.optional_url("dashboard.public_url")?,
            dashboard_origins: values.origins("dashboard.origins")?,
            accept_push: values.boolean("git.accept_push")?,
            retrieval_concurrency: values.positive("retrieval.concurrency")?,
            warm_namespaces: values.positive("retrieval.warm_namespaces")?,
            ingestion_workers: values.within("ingestion.workers", 1..=WORKERS_MAX)?,
            ingestion_retries: values.within("ingestion.retries", 0..=RETRIES_MAX)?,
            ingestion_backoff: values.milliseconds("ingestion.backoff_ms")?,
            ingestion_timeout: values.milliseconds("ingestion.timeout_ms")?,
            keep_sources: values.boolean("ingestion.keep_sources")?,
            model: ModelSettings::read(values)?,
            server: ServerSettings::read(values)?,
            requests_per_minute: values.number("rate_limit.requests_per_minute")?,
            identity: IdentitySettings::read(values)?,
            payments: PaymentSettings::read(values)?,
            log: values.log_filter("log")?,
            collector: values.optional_url("telemetry.otlp_endpoint")?,
            origins: Vec::new(),
        };
        config.payments.validate()?;
        Ok(config)
    }
}

/// Wipes the values of secrets, which [`Config::origins`] must not hold.
fn mask_secrets(origins: &mut [(&'static str, String, Origin)]) {
    for (setting, (_, value, _)) in SETTINGS.iter().zip(origins) {
        if setting.secret && !value.is_empty() {
            value.zeroize();
            value.push_str(MASK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_overrides_environment_and_file() {
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
        for (variable, value, expected) in [
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
            assert!(error.to_string().contains(expected), "{error}");
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
