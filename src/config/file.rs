//! The configuration file.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::bail;

use super::declare::Key;
use super::refusal::shortened;
use super::spelling::{known_key, nearest_key};
use crate::text_file::{self, Links};

/// Bytes of a file, at most. A file with every setting and its description has some ten thousand.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Reads the settings of a file.
///
/// # Errors
///
/// A key that is not a setting is refused, because it is most likely misspelt.
pub(super) fn read_file(path: &Path) -> anyhow::Result<BTreeMap<Key, String>> {
    let Some(text) = text_file::read(path, FILE_BYTES_MAX, Links::Follow)? else {
        bail!("cannot read {}: the file does not exist", path.display());
    };
    let parsed: Result<toml::Table, toml::de::Error> = text.parse();
    let table = match parsed {
        Ok(table) => table,
        // Display of the error takes several lines.
        Err(error) => {
            let begin = error.span().map_or(0, |span| span.start);
            let line = 1 + text.bytes().take(begin).filter(|byte| *byte == b'\n').count();
            bail!("{} is not valid TOML: line {line}: {}", path.display(), error.message().replace('\n', " "));
        }
    };
    let mut texts = BTreeMap::new();
    flatten("", &table, &mut texts);
    let mut values = BTreeMap::new();
    for (name, text) in texts {
        let Some(key) = known_key(&name) else {
            let advice = match nearest_key(&name) {
                Some(similar) => format!("; did you mean \"{similar}\"?"),
                None => ";".to_owned(),
            };
            let name = shortened(&name);
            bail!("{}: unknown setting {name}{advice} `cuebase config` lists all settings", path.display());
        };
        values.insert(key, text);
    }
    Ok(values)
}

/// Adds the values of a table under dotted keys.
fn flatten(prefix: &str, table: &toml::Table, values: &mut BTreeMap<String, String>) {
    for (name, value) in table {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            // Other sources write a setting that is a table on one line: a=1,b=2.
            toml::Value::Table(inner) if known_key(&key).is_some() => {
                let pairs: Vec<String> =
                    inner.iter().map(|(name, value)| format!("{name}={}", text_of(value))).collect();
                values.insert(key, pairs.join(","));
            }
            toml::Value::Table(inner) => flatten(&key, inner, values),
            toml::Value::Array(items) => {
                let texts: Vec<String> = items.iter().map(text_of).collect();
                values.insert(key, texts.join(","));
            }
            other => {
                values.insert(key, text_of(other));
            }
        }
    }
}

/// Returns the text of a value, without quotation marks if it is a string.
fn text_of(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
