//! Parsers of single values: numbers, addresses, URLs, lists, figures by name.
//!
//! Each method of [`Values`] validates the value of one setting and returns [`RefusedValue`] if the service cannot work
//! with it. A bad setting is therefore one line at the start and never a panic later.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use reqwest::Url;
use tracing_subscriber::EnvFilter;

use super::origin::Origin;
use super::settings::{MASK, SETTINGS};

/// Characters of a refused value that an error shows.
const SHOWN_CHARS_MAX: usize = 60;
/// Maximum of any count in the settings: connections, requests, MiB. Semaphores and shifts can hold it.
const COUNT_MAX: usize = 1_000_000;
/// Maximum duration: 31 days. It can be added to any time without overflow.
const MILLISECONDS_MAX: u64 = 31 * 24 * 60 * 60 * 1000;
/// Maximum limit of a plan, and maximum price.
const FIGURE_MAX: u64 = 1_000_000_000_000;
/// Maximum length of a host name, in bytes (RFC 1035).
const HOST_BYTES_MAX: usize = 253;
/// Maximum length of a label of a host name, in bytes (RFC 1035).
const LABEL_BYTES_MAX: usize = 63;
/// Maximum length of a URL, in bytes.
const URL_BYTES_MAX: usize = 2000;
/// Maximum length of the name of a model or an audience, in characters.
const NAME_CHARS_MAX: usize = 256;
/// Maximum length of a path, in bytes: PATH_MAX of Linux.
const PATH_BYTES_MAX: usize = 4096;
/// Maximum length of a secret, in bytes.
const SECRET_BYTES_MAX: usize = 4096;

/// A refused value of a setting.
#[derive(Debug, thiserror::Error)]
#[error("setting {key} is {shown}: expected {expected}")]
struct RefusedValue {
    key: String,
    /// The value, shortened, on one line; the mask for a secret.
    shown: String,
    expected: String,
}

/// Returns the error for a refused value, with the accepted form.
pub(super) fn refused_value(key: &str, value: &str, expected: impl Into<String>) -> anyhow::Error {
    let is_secret = SETTINGS.iter().any(|setting| setting.key == key && setting.secret);
    let shown = if is_secret { MASK.to_owned() } else { shortened(value) };
    RefusedValue { key: key.to_owned(), shown, expected: expected.into() }.into()
}

/// Returns the beginning of a value in quotation marks, escaped so that it stays on one line.
pub(super) fn shortened(value: &str) -> String {
    let short: String = value.chars().take(SHOWN_CHARS_MAX).collect();
    if short.len() < value.len() { format!("{short:?}…") } else { format!("{short:?}") }
}

/// Adds the origin of the value to the error of a refused value. Returns other errors unchanged.
pub(super) fn with_origin(error: anyhow::Error, origins: &[(&'static str, String, Origin)]) -> anyhow::Error {
    let Some(refused) = error.downcast_ref::<RefusedValue>() else { return error };
    for (key, _, origin) in origins {
        if *key == refused.key {
            return anyhow::anyhow!("{refused} (from {origin})");
        }
    }
    error
}

/// The values of all settings as text. Its methods parse the value of the setting with the given key.
pub(super) struct Values<'a> {
    origins: &'a [(&'static str, String, Origin)],
}

impl<'a> Values<'a> {
    pub(super) fn new(origins: &'a [(&'static str, String, Origin)]) -> Self {
        Self { origins }
    }

    /// Returns the value as it was given.
    pub(super) fn text(&self, key: &str) -> &'a str {
        for (other, value, _) in self.origins {
            if *other == key {
                return value;
            }
        }
        ""
    }

    /// Returns whether the value is not empty.
    pub(super) fn is_set(&self, key: &str) -> bool {
        !self.text(key).is_empty()
    }

    /// Parses a whole number from 1 to a million.
    pub(super) fn positive(&self, key: &str) -> anyhow::Result<usize> {
        self.within(key, 1..=COUNT_MAX)
    }

    /// Parses a whole number within bounds.
    pub(super) fn within<T>(&self, key: &str, bounds: RangeInclusive<T>) -> anyhow::Result<T>
    where
        T: FromStr + PartialOrd + Display,
    {
        let text = self.text(key);
        match text.trim().parse::<T>() {
            Ok(value) if bounds.contains(&value) => Ok(value),
            _ => {
                let expected = format!("a whole number from {} to {}", bounds.start(), bounds.end());
                Err(refused_value(key, text, expected))
            }
        }
    }

    /// Parses a duration in whole milliseconds, at most 31 days.
    pub(super) fn milliseconds(&self, key: &str) -> anyhow::Result<Duration> {
        Ok(Duration::from_millis(self.within(key, 1..=MILLISECONDS_MAX)?))
    }

    /// Parses a whole number that fits its type.
    pub(super) fn number<T: FromStr>(&self, key: &str) -> anyhow::Result<T> {
        let text = self.text(key);
        text.trim().parse().map_err(|_| refused_value(key, text, "a whole number that is not too large"))
    }

    /// Parses `true` or `false`.
    pub(super) fn boolean(&self, key: &str) -> anyhow::Result<bool> {
        let text = self.text(key);
        text.trim().parse().map_err(|_| refused_value(key, text, "true or false"))
    }

    /// Returns the path of a file or folder.
    pub(super) fn path(&self, key: &str) -> anyhow::Result<PathBuf> {
        let text = self.text(key);
        if text.is_empty() || text.len() > PATH_BYTES_MAX || text.contains('\0') {
            return Err(refused_value(key, text, format!("a path of 1 to {PATH_BYTES_MAX} bytes")));
        }
        Ok(PathBuf::from(text))
    }

    /// Returns the address of a listener.
    pub(super) fn address(&self, key: &str) -> anyhow::Result<String> {
        let text = self.text(key);
        if is_address(text) {
            return Ok(text.to_owned());
        }
        Err(refused_value(key, text, "host:port, for example 127.0.0.1:8080"))
    }

    /// Returns the address of a listener, or `None` for `off`.
    pub(super) fn address_or_off(&self, key: &str) -> anyhow::Result<Option<String>> {
        let text = self.text(key);
        if text == "off" {
            return Ok(None);
        }
        if is_address(text) {
            return Ok(Some(text.to_owned()));
        }
        Err(refused_value(key, text, "off or host:port, for example 127.0.0.1:8080"))
    }

    /// Returns a URL without trailing slashes.
    pub(super) fn url(&self, key: &str) -> anyhow::Result<String> {
        let text = self.text(key);
        let accepted = "a URL that begins with http:// or https://";
        // The part before an at sign may be a password.
        let shown = if text.contains('@') { MASK } else { text };
        let has_blanks = text.chars().any(|character| character.is_whitespace() || character.is_control());
        if text.len() > URL_BYTES_MAX || has_blanks || !text.is_ascii() {
            return Err(refused_value(key, shown, accepted));
        }
        let Ok(url) = Url::parse(text) else { return Err(refused_value(key, shown, accepted)) };
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(refused_value(key, shown, accepted));
        }
        if !url.username().is_empty() || url.password().is_some() {
            let accepted = "a URL without user or password: a key has its own setting, such as model.api_key";
            return Err(refused_value(key, shown, accepted));
        }
        Ok(text.trim_end_matches('/').to_owned())
    }

    /// Returns a URL, or `None` if the value is empty.
    pub(super) fn optional_url(&self, key: &str) -> anyhow::Result<Option<String>> {
        if !self.is_set(key) {
            return Ok(None);
        }
        Ok(Some(self.url(key)?))
    }

    /// Parses exact browser origins: `scheme://host` or `scheme://host:port`.
    pub(super) fn origins(&self, key: &str) -> anyhow::Result<Vec<String>> {
        let accepted = "exact origins, comma-separated, such as https://app.example: list each one, * is not accepted";
        let mut origins = Vec::new();
        for part in list(self.text(key)) {
            let Ok(url) = Url::parse(part) else { return Err(refused_value(key, part, accepted)) };
            if !matches!(url.scheme(), "http" | "https") {
                return Err(refused_value(key, part, accepted));
            }
            // Browsers send this form and compare it byte by byte.
            let exact = url.origin().ascii_serialization();
            if exact != part {
                return Err(refused_value(key, part, format!("the exact origin {}", shortened(&exact))));
            }
            origins.push(exact);
        }
        Ok(origins)
    }

    /// Returns a filter of the log.
    pub(super) fn log_filter(&self, key: &str) -> anyhow::Result<String> {
        let text = self.text(key);
        // The filter's parser cuts texts at any byte, so it only receives ASCII.
        if text.is_ascii() && EnvFilter::try_new(text).is_ok() {
            return Ok(text.to_owned());
        }
        Err(refused_value(key, text, "error, warn, info, debug, trace, or a filter such as info,cuebase=debug"))
    }

    /// Returns a name that is sent to another service, or compared with a name from it.
    pub(super) fn name(&self, key: &str) -> anyhow::Result<String> {
        let text = self.text(key);
        if text.chars().count() > NAME_CHARS_MAX || text.chars().any(char::is_control) {
            return Err(refused_value(key, text, format!("at most {NAME_CHARS_MAX} characters on one line")));
        }
        Ok(text.to_owned())
    }

    /// Returns a name, or `None` if the value is empty.
    pub(super) fn optional_name(&self, key: &str) -> anyhow::Result<Option<String>> {
        if !self.is_set(key) {
            return Ok(None);
        }
        Ok(Some(self.name(key)?))
    }

    /// Returns a secret that is sent in an HTTP header; it may be empty.
    pub(super) fn secret(&self, key: &str) -> anyhow::Result<String> {
        let text = self.text(key);
        if text.len() > SECRET_BYTES_MAX || !is_visible_ascii(text) {
            return Err(refused_value(key, text, "visible ASCII characters without spaces"));
        }
        Ok(text.to_owned())
    }

    /// Returns a code of `count` letters, in capitals.
    pub(super) fn letters(&self, key: &str, count: usize) -> anyhow::Result<String> {
        let text = self.text(key);
        if text.len() != count || !text.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            return Err(refused_value(key, text, format!("{count} letters")));
        }
        Ok(text.to_ascii_uppercase())
    }

    /// Returns the domain of an email address.
    pub(super) fn domain(&self, key: &str) -> anyhow::Result<String> {
        let text = self.text(key);
        if text.len() > HOST_BYTES_MAX || !text.contains('.') || !text.split('.').all(is_domain_label) {
            return Err(refused_value(key, text, "a domain such as customers.example.com"));
        }
        Ok(text.to_owned())
    }

    /// Parses `a=x,b=y` with some of the names and no others.
    pub(super) fn named_pairs(&self, key: &str, names: &[&str]) -> anyhow::Result<BTreeMap<String, String>> {
        let given = pairs(key, self.text(key))?;
        for (name, value) in &given {
            if !names.contains(&name.as_str()) {
                let expected = format!("name=value pairs with the names {}", names.join(", "));
                return Err(refused_value(key, name, expected));
            }
            if value.is_empty() || value.len() > NAME_CHARS_MAX || !is_visible_ascii(value) {
                return Err(refused_value(key, value, format!("a value of visible ASCII characters after {name}=")));
            }
        }
        Ok(given)
    }

    /// Parses `writes=1,reads=2` with all of the names and no others.
    pub(super) fn figures(&self, key: &str, names: &[&str]) -> anyhow::Result<BTreeMap<String, u64>> {
        self.figures_or(key, names, &BTreeMap::new())
    }

    /// As [`Self::figures`], but takes omitted figures with the names in `optional` from the setting's default.
    pub(super) fn figures_with_default(
        &self,
        key: &str,
        names: &[&str],
        optional: &[&str],
    ) -> anyhow::Result<BTreeMap<String, u64>> {
        let mut fallback = pairs(key, default_of(key))?;
        fallback.retain(|name, _| optional.contains(&name.as_str()));
        self.figures_or(key, names, &fallback)
    }

    fn figures_or(
        &self,
        key: &str,
        names: &[&str],
        fallback: &BTreeMap<String, String>,
    ) -> anyhow::Result<BTreeMap<String, u64>> {
        let given = self.named_pairs(key, names)?;
        let mut figures = BTreeMap::new();
        for name in names {
            let Some(value) = given.get(*name).or(fallback.get(*name)) else {
                let expected = format!("a figure for each of {}: {name}=… is missing", names.join(", "));
                return Err(refused_value(key, self.text(key), expected));
            };
            match value.parse::<u64>() {
                Ok(figure) if figure <= FIGURE_MAX => {
                    figures.insert((*name).to_owned(), figure);
                }
                _ => {
                    let expected = format!("a whole number from 0 to {FIGURE_MAX} after {name}=");
                    return Err(refused_value(key, value, expected));
                }
            }
        }
        Ok(figures)
    }
}

fn default_of(key: &str) -> &'static str {
    for setting in &SETTINGS {
        if setting.key == key {
            return setting.default;
        }
    }
    ""
}

fn is_address(text: &str) -> bool {
    if text.parse::<SocketAddr>().is_ok() {
        return true;
    }
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    is_host(host) && port.parse::<u16>().is_ok()
}

fn is_host(text: &str) -> bool {
    (1..=HOST_BYTES_MAX).contains(&text.len()) && text.chars().all(is_host_character)
}

fn is_host_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '_')
}

fn is_domain_label(label: &str) -> bool {
    let is_plain = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (1..=LABEL_BYTES_MAX).contains(&label.len()) && is_plain && !label.starts_with('-') && !label.ends_with('-')
}

fn is_visible_ascii(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Splits a comma-separated list, without empty items.
fn list(text: &str) -> Vec<&str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Parses `a=x,b=y`.
fn pairs(key: &str, text: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let mut pairs = BTreeMap::new();
    for part in list(text) {
        let Some((name, value)) = part.split_once('=') else {
            return Err(refused_value(key, part, "name=value pairs, comma-separated"));
        };
        pairs.insert(name.trim().to_owned(), value.trim().to_owned());
    }
    Ok(pairs)
}
