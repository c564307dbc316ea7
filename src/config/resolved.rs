//! The resolved configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use zeroize::Zeroize;

use super::address::ListenAddress;
use super::declare::{Key, MASK, Setting, environment_name};
use super::identity::IdentitySettings;
use super::model::ModelSettings;
use super::origin::Origin;
use super::settings::{
    BillingSettings, ClusterValues, DashboardSettings, GeneralSettings, GitSettings, IdentityValues, IngestionSettings,
    MetricsSettings, ModelValues, PaymentSettings, PetsSettings, RateLimitSettings, ReaderValues, RetrievalSettings,
    SETTINGS, ServerSettings, StorageValues, TelemetrySettings,
};
use super::sources::{EnvironmentKeys, FileRule, KEY_ADDRESSES, Sources};
use super::storage::StorageSettings;
use super::values::{ResolvedValue, Values, find};

/// The resolved settings. Each group is a field: the value of `retrieval.concurrency` is `config.retrieval.concurrency`.
/// Groups of one subject are together in one field.
#[derive(Clone, Debug)]
pub struct Config {
    /// `data`: the data directory.
    pub data: PathBuf,
    /// Where records, repositories and files are kept.
    pub storage: StorageSettings,
    /// What listens at which address.
    pub listeners: Listeners,
    /// Limits and timeouts of the listeners.
    pub server: ServerSettings,
    /// Who may call, and how often.
    pub access: AccessSettings,
    /// Retrieval.
    pub retrieval: RetrievalSettings,
    /// Ingestion of accepted writes.
    pub ingestion: IngestionSettings,
    /// The models.
    pub model: ModelSettings,
    /// Plans and prices.
    pub billing: BillingSettings,
    /// The payment provider.
    pub payments: PaymentSettings,
    /// The log and traces.
    pub telemetry: TelemetrySettings,
    /// Value and origin of every setting in the order of [`SETTINGS`], for `cuebase config`. Secrets are masked.
    pub origins: Vec<ResolvedValue>,
}

/// What listens at which address.
#[derive(Clone, Debug)]
pub struct Listeners {
    /// `listen`: the address of the API.
    pub api: ListenAddress,
    /// The dashboard.
    pub dashboard: DashboardSettings,
    /// The animals API.
    pub pets: PetsSettings,
    /// The metrics.
    pub metrics: MetricsSettings,
}

/// Who may call, and how often.
#[derive(Clone, Debug)]
pub struct AccessSettings {
    /// The external issuer of ID tokens, if there is one.
    pub identity: Option<IdentitySettings>,
    /// git as a client.
    pub git: GitSettings,
    /// Rate limits.
    pub rate_limit: RateLimitSettings,
}

impl Config {
    /// Returns whether a setting has a value from the command line, the environment or the file.
    pub fn is_chosen(&self, setting: &Setting) -> bool {
        *self.origin(setting) != Origin::Default
    }

    /// Returns the text of a setting's value. That of a secret is masked.
    pub fn value(&self, setting: &Setting) -> &str {
        match find(&self.origins, setting.key) {
            Some(resolved) => &resolved.value,
            None => setting.default,
        }
    }

    /// Returns the origin of a setting's value.
    pub fn origin(&self, setting: &Setting) -> &Origin {
        match find(&self.origins, setting.key) {
            Some(resolved) => &resolved.origin,
            None => &Origin::Default,
        }
    }

    /// Resolves the settings from the options of the command line, the environment and a file.
    ///
    /// # Errors
    ///
    /// One line with the key, the value and the accepted form of a refused setting, or with the place in the file.
    pub fn resolve(
        command_line: &BTreeMap<Key, String>,
        environment: impl Fn(&str) -> Option<String>,
        file: Option<&Path>,
    ) -> anyhow::Result<Self> {
        Self::resolve_from(command_line, environment, &Sources::of_file(file)?)
    }

    /// Resolves the settings of a command, which reads the files of its rule. A file that the command line names takes
    /// their place.
    ///
    /// # Errors
    ///
    /// As for [`Config::resolve`].
    pub fn resolve_for(
        rule: FileRule,
        command_line: &BTreeMap<Key, String>,
        environment: impl Fn(&str) -> Option<String>,
        named: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let sources = Sources::of_rule(rule, command_line, &environment, named)?;
        Self::resolve_from(command_line, environment, &sources)
    }

    fn resolve_from(
        command_line: &BTreeMap<Key, String>,
        environment: impl Fn(&str) -> Option<String>,
        sources: &Sources,
    ) -> anyhow::Result<Self> {
        let mut origins = Vec::new();
        for setting in &SETTINGS {
            let variable = environment_name(setting.key);
            let (value, origin) = if let Some(value) = command_line.get(&setting.key) {
                (value.clone(), Origin::CommandLine)
            } else if let Some(value) = environment(&variable) {
                (value, Origin::Environment(variable))
            } else if let Some((value, file)) = sources.value(setting.key) {
                (value.to_owned(), Origin::File(file.to_path_buf()))
            } else {
                (sources.default_of(setting), Origin::Default)
            };
            origins.push(ResolvedValue { setting, value, origin });
        }
        if sources.keys == EnvironmentKeys::Withheld {
            withhold_keys(&mut origins);
        }
        let config = Self::read(&Values::new(&origins), &environment)?;
        config.payments.validate()?;
        mask_secrets(&mut origins);
        Ok(Self { origins, ..config })
    }

    /// Parses every setting. Leaves `origins` empty.
    fn read(values: &Values<'_>, environment: impl Fn(&str) -> Option<String>) -> anyhow::Result<Self> {
        let GeneralSettings { data, listen } = GeneralSettings::read(values)?;
        let listeners = Listeners {
            api: listen,
            dashboard: DashboardSettings::read(values)?,
            pets: PetsSettings::read(values)?,
            metrics: MetricsSettings::read(values)?,
        };
        let git = GitSettings::read(values)?;
        let rate_limit = RateLimitSettings::read(values)?;
        Ok(Self {
            data,
            storage: StorageSettings::new(StorageValues::read(values)?, ClusterValues::read(values)?, environment)?,
            listeners,
            retrieval: RetrievalSettings::read(values)?,
            ingestion: IngestionSettings::read(values)?,
            server: ServerSettings::read(values)?,
            billing: BillingSettings::read(values)?,
            payments: PaymentSettings::read(values)?,
            telemetry: TelemetrySettings::read(values)?,
            // Last, so that a value that is wrong by itself is reported before one that is missing.
            model: ModelSettings::new(ModelValues::read(values)?, &ReaderValues::read(values)?)?,
            access: AccessSettings {
                identity: IdentitySettings::new(IdentityValues::read(values)?, values)?,
                git,
                rate_limit,
            },
            origins: Vec::new(),
        })
    }
}

/// Removes each key that comes from the environment although its address comes from a file.
fn withhold_keys(origins: &mut [ResolvedValue]) {
    for (key, address) in KEY_ADDRESSES {
        let file = match find(origins, address) {
            Some(ResolvedValue { origin: Origin::File(file), .. }) => file.clone(),
            _ => continue,
        };
        for resolved in origins.iter_mut() {
            if resolved.setting.key == key
                && !resolved.value.is_empty()
                && let Origin::Environment(variable) = &resolved.origin
            {
                resolved.origin = Origin::Withheld { variable: variable.clone(), address, file: file.clone() };
                resolved.value.zeroize();
            }
        }
    }
}

/// Wipes the values of secrets, which [`Config::origins`] must not hold.
fn mask_secrets(origins: &mut [ResolvedValue]) {
    for resolved in origins {
        if resolved.setting.secret && !resolved.value.is_empty() {
            resolved.value.zeroize();
            resolved.value.push_str(MASK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{misspelt, setting};

    /// The folders of a user, with the settings file of the user and that of a data directory.
    struct UserFiles {
        folder: tempfile::TempDir,
    }

    impl UserFiles {
        fn new(of_user: &str, in_data: &str) -> Self {
            let files = Self { folder: tempfile::tempdir().expect("temporary directory") };
            for (path, text) in
                [(".config/cuebase/cuebase.toml", of_user), (".local/share/cuebase/cuebase.toml", in_data)]
            {
                let path = files.folder.path().join(path);
                std::fs::create_dir_all(path.parent().expect("a folder")).expect("creates");
                std::fs::write(path, text).expect("writes");
            }
            files
        }

        fn resolve(&self, variables: &[(&str, &str)]) -> anyhow::Result<Config> {
            let home = self.folder.path().to_str().expect("a path").to_owned();
            let environment = |name: &str| {
                let found = variables.iter().find(|(variable, _)| *variable == name);
                if name == "HOME" { Some(home.clone()) } else { found.map(|(_, value)| (*value).to_owned()) }
            };
            Config::resolve_for(FileRule::User, &BTreeMap::new(), environment, None)
        }
    }

    #[test]
    fn the_file_of_the_user_counts_before_that_of_the_data_directory() {
        let files = UserFiles::new("log = 'warn'\n", "log = 'error'\ndata = 'elsewhere'\n[model]\ntimeout_ms = 7\n");
        let config = files.resolve(&[]).expect("resolves");
        assert_eq!(
            config.data,
            files.folder.path().join(".local/share/cuebase"),
            "no file of a data directory moves it"
        );
        assert_eq!((config.telemetry.log.as_str(), config.model.call_time.as_millis()), ("warn", 7));
        let config = files.resolve(&[("CUEBASE_DATA", "/nonexistent")]).expect("resolves");
        assert_eq!((config.telemetry.log.as_str(), config.model.call_time.as_millis()), ("warn", 60_000));
    }

    #[test]
    fn a_relative_path_in_the_file_of_a_user_is_refused() {
        for text in ["data = './cuebase-data'\n", "[model]\nlocal = 'encoder'\n"] {
            let error = UserFiles::new(text, "").resolve(&[]).expect_err("refused").to_string();
            assert!(error.contains("expected an absolute path"), "{error}");
        }
    }

    #[test]
    fn the_folders_of_the_user_can_be_moved() {
        let files = UserFiles::new("log = 'warn'\n", "");
        let other = files.folder.path().join("other").display().to_string();
        let config = files.resolve(&[("XDG_CONFIG_HOME", &other), ("XDG_DATA_HOME", &other)]).expect("resolves");
        assert_eq!(config.telemetry.log, "info");
        assert_eq!(config.data, files.folder.path().join("other/cuebase"));
    }

    #[test]
    fn the_command_line_overrides_environment_and_file() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let file = folder.path().join("cuebase.toml");
        std::fs::write(&file, "listen = '1.1.1.1:1'\n[retrieval]\nconcurrency = 7\nwarm_namespaces = 9\n[dashboard]\norigins = ['https://a', 'https://b']\n")
            .expect("writes");
        let environment =
            |name: &str| (name == "CUEBASE_RETRIEVAL_CONCURRENCY" || name == "CUEBASE_LISTEN").then(|| "8".to_owned());
        let command_line = BTreeMap::from([(setting::general::listen.key, "2.2.2.2:2".to_owned())]);
        let config = Config::resolve(&command_line, environment, Some(&file)).expect("resolves");
        assert_eq!(config.listeners.api.to_string(), "2.2.2.2:2");
        assert_eq!(config.retrieval.concurrency.get(), 8);
        assert_eq!(config.retrieval.warm_namespaces.get(), 9);
        assert_eq!(config.ingestion.workers.get(), 5);
        assert_eq!(config.listeners.dashboard.origins, ["https://a", "https://b"]);
        assert!(matches!(config.origins[1].origin, Origin::CommandLine));
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
        assert_eq!(config.billing.starter.memories, 3);
    }
}
