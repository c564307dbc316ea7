//! Reading what a setting says: numbers, lists, figures by name; and the settings of a file.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail, ensure};

use super::settings::SETTINGS;

/// Names less alike than this are not each other misspelt.
const LIKENESS_MIN: f64 = 0.85;

pub(super) fn positive(key: &str, text: &str) -> anyhow::Result<usize> {
    let value: usize = number(key, text)?;
    ensure!(value > 0, "setting {key} is 0: it must be at least 1");
    Ok(value)
}

pub(super) fn number<T: std::str::FromStr>(key: &str, text: &str) -> anyhow::Result<T> {
    text.trim().parse().map_err(|_| anyhow::anyhow!("setting {key} is {text:?}: it must be a whole number"))
}

pub(super) fn boolean(key: &str, text: &str) -> anyhow::Result<bool> {
    text.trim().parse().map_err(|_| anyhow::anyhow!("setting {key} is {text:?}: it must be true or false"))
}

pub(super) fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// `a=x,b=y`.
pub(super) fn pairs(key: &str, text: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let pair = |part: String| {
        let (name, value) =
            part.split_once('=').with_context(|| format!("setting {key}: {part:?} is no name=value"))?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    list(text).into_iter().map(pair).collect()
}

/// `writes=1,reads=2` with every one of the names and no other.
pub(super) fn figures(key: &str, text: &str, names: &[&str]) -> anyhow::Result<BTreeMap<String, u64>> {
    let given = pairs(key, text)?;
    for name in given.keys() {
        ensure!(names.contains(&name.as_str()), "setting {key}: {name:?} is none of {}", names.join(", "));
    }
    let figure = |name: &&str| {
        let value = given.get(*name).with_context(|| format!("setting {key} does not say {name}=…"))?;
        Ok(((*name).to_owned(), number(&format!("{key}, {name},"), value)?))
    };
    names.iter().map(figure).collect()
}

/// The file's settings, flattened to dotted keys. A key that is none of ours is refused: it is most likely misspelt.
pub(super) fn read_file(path: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let table: toml::Table = text.parse().with_context(|| format!("{} is not valid TOML", path.display()))?;
    let mut found = BTreeMap::new();
    flatten("", &table, &mut found);
    for key in found.keys() {
        if !SETTINGS.iter().any(|setting| setting.key == key) {
            let advice = nearest(key).map_or(String::new(), |near| format!("; did you mean {near:?}?"));
            bail!("{}: there is no setting {key:?}{advice} `cuebase config` lists them all", path.display());
        }
    }
    Ok(found)
}

/// The setting that a name most likely means; none where nothing is like it.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let alike = |setting: &super::settings::Setting| strsim::jaro_winkler(name, setting.key);
    let best = SETTINGS.iter().max_by(|a, b| alike(a).total_cmp(&alike(b)))?;
    (alike(best) > LIKENESS_MIN).then_some(best.key)
}

fn flatten(prefix: &str, table: &toml::Table, found: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            // A setting that is a table is written on one line elsewhere: a=1,b=2.
            toml::Value::Table(inner) if SETTINGS.iter().any(|setting| setting.key == key) => {
                let text = |value: &toml::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let pairs: Vec<String> = inner.iter().map(|(name, value)| format!("{name}={}", text(value))).collect();
                found.insert(key, pairs.join(","));
            }
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
