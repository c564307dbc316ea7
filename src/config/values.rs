//! Reading what a setting says: numbers, addresses, URLs, lists, figures by name; and the settings of a file.
//!
//! Every reader returns [`BadSetting`] for a value that the service could not work with, so that a bad setting is one
//! line at the start and never a panic later.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::Url;
use tracing_subscriber::EnvFilter;

use super::settings::SETTINGS;
use super::{MASK, Origin};

/// Names less alike than this are not each other misspelt.
const LIKENESS_MIN: f64 = 0.85;
/// Characters of a refused value that an error shows.
const SHOWN_CHARS_MAX: usize = 60;
/// Most of anything that is counted in settings: connections, places, MiB. Semaphores and shifts hold it.
const COUNT_MAX: usize = 1_000_000;
/// Longest duration: 31 days. It can be added to any time without overflow.
const MILLISECONDS_MAX: u64 = 31 * 24 * 60 * 60 * 1000;
/// Largest figure of a plan or a price.
const FIGURE_MAX: u64 = 1_000_000_000_000;
/// Longest host name, in bytes (RFC 1035).
const HOST_BYTES_MAX: usize = 253;
/// Longest URL, in bytes.
const URL_BYTES_MAX: usize = 2000;
/// Longest name of a model or an audience, in characters.
const NAME_CHARS_MAX: usize = 256;
/// Longest path, in bytes: PATH_MAX of Linux.
const PATH_BYTES_MAX: usize = 4096;
/// Longest key, in bytes.
const SECRET_BYTES_MAX: usize = 4096;

/// A value of a setting that is refused.
#[derive(Debug, thiserror::Error)]
#[error("setting {key} is {shown}: expected {expected}")]
pub(super) struct BadSetting {
    key: String,
    /// The value, shortened, on one line; the mask for a secret.
    shown: String,
    expected: String,
}

/// A refused value, with the form that is accepted.
pub(super) fn bad(key: &str, value: &str, expected: impl Into<String>) -> anyhow::Error {
    let secret = SETTINGS.iter().any(|setting| setting.key == key && setting.secret);
    let shown = if secret { MASK.to_owned() } else { shortened(value) };
    BadSetting { key: key.to_owned(), shown, expected: expected.into() }.into()
}

fn shortened(value: &str) -> String {
    let short: String = value.chars().take(SHOWN_CHARS_MAX).collect();
    // Escaped, so that it stays on one line.
    if short.len() < value.len() { format!("{short:?}…") } else { format!("{short:?}") }
}

/// Adds to a refused setting where its value came from.
pub(super) fn with_origin(error: anyhow::Error, origins: &[(&'static str, String, Origin)]) -> anyhow::Error {
    let Some(bad) = error.downcast_ref::<BadSetting>() else { return error };
    match origins.iter().find(|(key, ..)| *key == bad.key) {
        Some((_, _, origin)) => anyhow::anyhow!("{bad} (from {origin})"),
        None => error,
    }
}

/// A whole number from 1 to a million.
pub(super) fn positive(key: &str, text: &str) -> anyhow::Result<usize> {
    within(key, text, 1..=COUNT_MAX)
}

/// A whole number within bounds.
pub(super) fn within<T>(key: &str, text: &str, bounds: RangeInclusive<T>) -> anyhow::Result<T>
where
    T: std::str::FromStr + PartialOrd + Display,
{
    match text.trim().parse::<T>() {
        Ok(value) if bounds.contains(&value) => Ok(value),
        _ => Err(bad(key, text, format!("a whole number from {} to {}", bounds.start(), bounds.end()))),
    }
}

/// A duration in whole milliseconds, at most 31 days.
pub(super) fn milliseconds(key: &str, text: &str) -> anyhow::Result<Duration> {
    Ok(Duration::from_millis(within(key, text, 1..=MILLISECONDS_MAX)?))
}

/// A whole number that its type holds.
pub(super) fn number<T: std::str::FromStr>(key: &str, text: &str) -> anyhow::Result<T> {
    text.trim().parse().map_err(|_| bad(key, text, "a whole number that is not too large"))
}

pub(super) fn boolean(key: &str, text: &str) -> anyhow::Result<bool> {
    text.trim().parse().map_err(|_| bad(key, text, "true or false"))
}

/// The path of a file or folder.
pub(super) fn path(key: &str, text: &str) -> anyhow::Result<PathBuf> {
    if text.is_empty() || text.len() > PATH_BYTES_MAX || text.contains('\0') {
        return Err(bad(key, text, format!("a path of 1 to {PATH_BYTES_MAX} bytes")));
    }
    Ok(PathBuf::from(text))
}

/// The address of a listener.
pub(super) fn address(key: &str, text: &str) -> anyhow::Result<String> {
    if is_address(text) {
        return Ok(text.to_owned());
    }
    Err(bad(key, text, "host:port, for example 127.0.0.1:8080"))
}

/// The address of a listener; none where it is off.
pub(super) fn address_or_off(key: &str, text: &str) -> anyhow::Result<Option<String>> {
    if text == "off" {
        return Ok(None);
    }
    if is_address(text) {
        return Ok(Some(text.to_owned()));
    }
    Err(bad(key, text, "off or host:port, for example 127.0.0.1:8080"))
}

fn is_address(text: &str) -> bool {
    if text.parse::<SocketAddr>().is_ok() {
        return true;
    }
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    is_host(host) && port.parse::<u16>().is_ok()
}

fn is_host(text: &str) -> bool {
    let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '_');
    (1..=HOST_BYTES_MAX).contains(&text.len()) && text.chars().all(plain)
}

/// A URL, without slashes at its end.
pub(super) fn url(key: &str, text: &str) -> anyhow::Result<String> {
    let accepted = "a URL that begins with http:// or https://";
    // What stands before an at sign may be a password.
    let shown = if text.contains('@') { MASK } else { text };
    let strange = text.chars().any(|character| character.is_whitespace() || character.is_control());
    if text.len() > URL_BYTES_MAX || strange || !text.is_ascii() {
        return Err(bad(key, shown, accepted));
    }
    let Ok(url) = Url::parse(text) else { return Err(bad(key, shown, accepted)) };
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(bad(key, shown, accepted));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let accepted = "a URL without user or password: a key has a setting of its own, such as model.api_key";
        return Err(bad(key, shown, accepted));
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// A URL, where one is set.
pub(super) fn optional_url(key: &str, text: Option<String>) -> anyhow::Result<Option<String>> {
    match text {
        Some(text) => Ok(Some(url(key, &text)?)),
        None => Ok(None),
    }
}

/// Browser origins, each exact: `scheme://host` or `scheme://host:port`.
pub(super) fn origins(key: &str, text: &str) -> anyhow::Result<Vec<String>> {
    let accepted = "exact origins, comma-separated, such as https://app.example: list each one, * is not accepted";
    let mut origins = Vec::new();
    for part in list(text) {
        let Ok(url) = Url::parse(&part) else { return Err(bad(key, &part, accepted)) };
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad(key, &part, accepted));
        }
        // Browsers send it in this form and compare byte by byte.
        let exact = url.origin().ascii_serialization();
        if exact != part {
            return Err(bad(key, &part, format!("the exact origin {}", shortened(&exact))));
        }
        origins.push(exact);
    }
    Ok(origins)
}

/// A filter of the log.
pub(super) fn log_filter(key: &str, text: &str) -> anyhow::Result<String> {
    // The filter's own parser cuts texts at bytes: it is only shown ASCII.
    if text.is_ascii() && EnvFilter::try_new(text).is_ok() {
        return Ok(text.to_owned());
    }
    Err(bad(key, text, "error, warn, info, debug, trace, or a filter such as info,cuebase=debug"))
}

/// A name that is sent to another service, or compared with one of its.
pub(super) fn name(key: &str, text: &str) -> anyhow::Result<String> {
    if text.chars().count() > NAME_CHARS_MAX || text.chars().any(char::is_control) {
        return Err(bad(key, text, format!("at most {NAME_CHARS_MAX} characters on one line")));
    }
    Ok(text.to_owned())
}

/// A key that goes into a header of HTTP; may be empty.
pub(super) fn secret(key: &str, text: &str) -> anyhow::Result<String> {
    if text.len() > SECRET_BYTES_MAX || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(bad(key, text, "visible ASCII characters without spaces"));
    }
    Ok(text.to_owned())
}

/// A code of a given count of letters, in capitals.
pub(super) fn letters(key: &str, text: &str, count: usize) -> anyhow::Result<String> {
    if text.len() != count || !text.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Err(bad(key, text, format!("{count} letters")));
    }
    Ok(text.to_ascii_uppercase())
}

/// The domain of an email address.
pub(super) fn domain(key: &str, text: &str) -> anyhow::Result<String> {
    let label = |label: &str| {
        let plain = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        (1..=63).contains(&label.len()) && plain && !label.starts_with('-') && !label.ends_with('-')
    };
    if text.len() > HOST_BYTES_MAX || !text.contains('.') || !text.split('.').all(label) {
        return Err(bad(key, text, "a domain such as customers.example.com"));
    }
    Ok(text.to_owned())
}

pub(super) fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// `a=x,b=y`.
pub(super) fn pairs(key: &str, text: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let mut pairs = BTreeMap::new();
    for part in list(text) {
        let Some((name, value)) = part.split_once('=') else {
            return Err(bad(key, &part, "name=value pairs, comma-separated"));
        };
        pairs.insert(name.trim().to_owned(), value.trim().to_owned());
    }
    Ok(pairs)
}

/// `a=x,b=y` with some of the names and no other.
pub(super) fn named_pairs(key: &str, text: &str, names: &[&str]) -> anyhow::Result<BTreeMap<String, String>> {
    let given = pairs(key, text)?;
    for (name, value) in &given {
        if !names.contains(&name.as_str()) {
            return Err(bad(key, name, format!("name=value pairs with the names {}", names.join(", "))));
        }
        if value.is_empty() || value.len() > NAME_CHARS_MAX || !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(bad(key, value, format!("a value of visible ASCII characters after {name}=")));
        }
    }
    Ok(given)
}

/// `writes=1,reads=2` with every one of the names and no other.
pub(super) fn figures(key: &str, text: &str, names: &[&str]) -> anyhow::Result<BTreeMap<String, u64>> {
    figures_or(key, text, names, &BTreeMap::new())
}

/// The same, where a text may leave out some names: those figures are the ones of the setting's default.
pub(super) fn figures_with_default(
    key: &str,
    text: &str,
    names: &[&str],
    may_be_missing: &[&str],
) -> anyhow::Result<BTreeMap<String, u64>> {
    let default = SETTINGS.iter().find(|setting| setting.key == key).map_or("", |setting| setting.default);
    let mut fallback = pairs(key, default)?;
    fallback.retain(|name, _| may_be_missing.contains(&name.as_str()));
    figures_or(key, text, names, &fallback)
}

fn figures_or(
    key: &str,
    text: &str,
    names: &[&str],
    fallback: &BTreeMap<String, String>,
) -> anyhow::Result<BTreeMap<String, u64>> {
    let given = named_pairs(key, text, names)?;
    let mut figures = BTreeMap::new();
    for name in names {
        let Some(value) = given.get(*name).or_else(|| fallback.get(*name)) else {
            return Err(bad(key, text, format!("{name}=… as well, of {}", names.join(", "))));
        };
        match value.parse::<u64>() {
            Ok(figure) if figure <= FIGURE_MAX => figures.insert((*name).to_owned(), figure),
            _ => return Err(bad(key, value, format!("a whole number from 0 to {FIGURE_MAX} after {name}="))),
        };
    }
    Ok(figures)
}

/// The file's settings, flattened to dotted keys. A key that is none of ours is refused: it is most likely misspelt.
pub(super) fn read_file(path: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let parsed: Result<toml::Table, toml::de::Error> = text.parse();
    let table = match parsed {
        Ok(table) => table,
        // Its own words take several lines.
        Err(error) => {
            let begin = error.span().map_or(0, |span| span.start);
            let line = 1 + text.bytes().take(begin).filter(|byte| *byte == b'\n').count();
            bail!("{} is not valid TOML: line {line}: {}", path.display(), error.message().replace('\n', " "));
        }
    };
    let mut found = BTreeMap::new();
    flatten("", &table, &mut found);
    for key in found.keys() {
        if !SETTINGS.iter().any(|setting| setting.key == key) {
            let advice = nearest(key).map_or(String::new(), |near| format!("; did you mean {near:?}?"));
            let key = shortened(key);
            bail!("{}: there is no setting {key}{advice} `cuebase config` lists them all", path.display());
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
