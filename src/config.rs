//! Every setting, with its default and what it means.
//!
//! A setting `a.b` is `CUEBASE_A_B` in the environment and `b` under `[a]` in `cuebase.toml`; some are options of the
//! command line too. The command line wins over the environment, that over the file. Resolved once, here; nothing reads
//! the environment later.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

/// A setting's definition.
pub struct Setting {
    /// Its name, dots between parts.
    pub key: &'static str,
    /// What it is when nothing else is said.
    pub default: &'static str,
    /// What it means, with its unit.
    pub help: &'static str,
}

/// Every setting there is.
pub const SETTINGS: [Setting; 12] = [
    Setting { key: "data", default: "./cuebase-data", help: "The data directory: records, repositories, indexes." },
    Setting { key: "listen", default: "127.0.0.1:8080", help: "Address of the API; port 0 takes a free one." },
    Setting { key: "dashboard.listen", default: "off", help: "Address of the dashboard. Not served by this version." },
    Setting {
        key: "dashboard.origins",
        default: "",
        help: "Browser origins that may call the API (CORS), comma-separated.",
    },
    Setting { key: "pets.listen", default: "off", help: "Address of the animals API. Not served by this version." },
    Setting { key: "metrics.listen", default: "off", help: "Address of the metrics. Not served by this version." },
    Setting { key: "retrieval.concurrency", default: "20", help: "Retrievals at once; one more is answered 503." },
    Setting { key: "retrieval.warm_namespaces", default: "4", help: "Namespaces kept open when nobody uses them." },
    Setting { key: "ingestion.workers", default: "5", help: "Namespaces written to at once." },
    Setting {
        key: "ingestion.retries",
        default: "3",
        help: "Retries of a failed write before it becomes a dead letter.",
    },
    Setting { key: "server.connections", default: "1024", help: "Open connections; further ones wait to be accepted." },
    Setting { key: "log", default: "info", help: "What is logged to stderr: a level, or a tracing filter." },
];

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
    /// `dashboard.origins`.
    pub dashboard_origins: Vec<String>,
    /// `retrieval.concurrency`.
    pub retrieval_concurrency: usize,
    /// `retrieval.warm_namespaces`.
    pub warm_namespaces: usize,
    /// `ingestion.workers`.
    pub ingestion_workers: usize,
    /// `ingestion.retries`.
    pub ingestion_retries: u32,
    /// `server.connections`.
    pub connections: usize,
    /// `log`.
    pub log: String,
    /// Every setting's value and origin, for `cuebase config`.
    pub origins: Vec<(&'static str, String, Origin)>,
}

impl Config {
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
        let text = |key: &str| {
            let found = origins.iter().find(|(other, ..)| *other == key);
            found.map(|(_, value, _)| value.clone()).unwrap_or_default()
        };
        let config = Self {
            data: PathBuf::from(text("data")),
            listen: text("listen"),
            dashboard_origins: list(&text("dashboard.origins")),
            retrieval_concurrency: positive("retrieval.concurrency", &text("retrieval.concurrency"))?,
            warm_namespaces: positive("retrieval.warm_namespaces", &text("retrieval.warm_namespaces"))?,
            ingestion_workers: positive("ingestion.workers", &text("ingestion.workers"))?,
            ingestion_retries: number("ingestion.retries", &text("ingestion.retries"))?,
            connections: positive("server.connections", &text("server.connections"))?,
            log: text("log"),
            origins: Vec::new(),
        };
        Ok(Self { origins, ..config })
    }
}

fn positive(key: &str, text: &str) -> anyhow::Result<usize> {
    let value: usize = number(key, text)?;
    ensure!(value > 0, "setting {key} is 0: it must be at least 1");
    Ok(value)
}

fn number<T: std::str::FromStr>(key: &str, text: &str) -> anyhow::Result<T> {
    text.trim().parse().map_err(|_| anyhow::anyhow!("setting {key} is {text:?}: it must be a whole number"))
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// `a.b` as `CUEBASE_A_B`.
pub fn environment_name(key: &str) -> String {
    format!("CUEBASE_{}", key.replace('.', "_").to_uppercase())
}

/// The file's settings, flattened to dotted keys. A key that is none of ours is refused: it is most likely misspelt.
fn read_file(path: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let table: toml::Table = text.parse().with_context(|| format!("{} is not valid TOML", path.display()))?;
    let mut found = BTreeMap::new();
    flatten("", &table, &mut found);
    for key in found.keys() {
        if !SETTINGS.iter().any(|setting| setting.key == key) {
            bail!("{}: there is no setting {key:?}; `cuebase config` lists them", path.display());
        }
    }
    Ok(found)
}

fn flatten(prefix: &str, table: &toml::Table, found: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            toml::Value::Table(inner) => flatten(&key, inner, found),
            toml::Value::String(text) => drop(found.insert(key, text.clone())),
            toml::Value::Array(values) => {
                let texts = values.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
                found.insert(key, texts.collect::<Vec<_>>().join(","));
            }
            other => drop(found.insert(key, other.to_string())),
        }
    }
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
        assert!(error.to_string().contains("lisen"));
        let environment = |name: &str| (name == "CUEBASE_INGESTION_WORKERS").then(|| "many".to_owned());
        let error = Config::resolve(&BTreeMap::new(), environment, None).expect_err("refused");
        assert!(error.to_string().contains("ingestion.workers"));
    }
}
