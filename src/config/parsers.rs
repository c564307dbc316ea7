//! Parsers of values: numbers, durations, paths, URLs, names, secrets.
//!
//! Each returns the value with its type, or a [`Refusal`] if the service cannot work with it. A bad setting is
//! therefore one line at the start and never a panic later. `pairs.rs` parses lists of names with values.

use std::fmt::Display;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use reqwest::Url;
use tracing_subscriber::EnvFilter;

use super::address::HOST_BYTES_MAX;
use super::declare::MASK;
use super::refusal::{Refusal, shortened};
use super::secret::Secret;

/// Maximum of any count in the settings: connections, requests, MiB. Semaphores and shifts can hold it.
pub(super) const COUNT_MAX: usize = 1_000_000;
/// Maximum duration: 31 days. It can be added to any time without overflow.
const MILLISECONDS_MAX: u64 = 31 * 24 * 60 * 60 * 1000;
/// Maximum length of a label of a host name, in bytes (RFC 1035).
const LABEL_BYTES_MAX: usize = 63;
/// Maximum length of a URL, in bytes.
const URL_BYTES_MAX: usize = 2000;
/// Maximum length of the name of a model or an audience, in characters.
pub(super) const NAME_CHARS_MAX: usize = 256;
/// Maximum length of a path, in bytes: PATH_MAX of Linux.
const PATH_BYTES_MAX: usize = 4096;
/// Maximum length of a secret, in bytes.
const SECRET_BYTES_MAX: usize = 4096;

/// Makes a parser of whole numbers within bounds.
pub(super) fn number<T>(bounds: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, Refusal>
where
    T: FromStr + PartialOrd + Display,
{
    move |text: &str| match text.trim().parse::<T>() {
        Ok(value) if bounds.contains(&value) => Ok(value),
        _ => Err(Refusal::new(text, format!("a whole number from {} to {}", bounds.start(), bounds.end()))),
    }
}

/// Makes a parser of whole numbers from 1.
pub(super) fn count_up_to(max: usize) -> impl Fn(&str) -> Result<NonZeroUsize, Refusal> {
    move |text: &str| match text.trim().parse::<NonZeroUsize>() {
        Ok(value) if value.get() <= max => Ok(value),
        _ => Err(Refusal::new(text, format!("a whole number from 1 to {max}"))),
    }
}

/// Parses a whole number from 1 to a million.
pub(super) fn count(text: &str) -> Result<NonZeroUsize, Refusal> {
    count_up_to(COUNT_MAX)(text)
}

/// Parses any whole number of the type.
pub(super) fn any_number<T: FromStr>(text: &str) -> Result<T, Refusal> {
    match text.trim().parse() {
        Ok(value) => Ok(value),
        Err(_) => Err(Refusal::new(text, "a whole number that is not too large")),
    }
}

/// Parses a duration in whole milliseconds, at most 31 days.
pub(super) fn milliseconds(text: &str) -> Result<Duration, Refusal> {
    Ok(Duration::from_millis(number(1..=MILLISECONDS_MAX)(text)?))
}

/// Parses `true` or `false`.
pub(super) fn boolean(text: &str) -> Result<bool, Refusal> {
    match text.trim().parse() {
        Ok(value) => Ok(value),
        Err(_) => Err(Refusal::new(text, "true or false")),
    }
}

/// Makes a parser that returns `None` for an empty value.
pub(super) fn optional<T>(parse: impl Fn(&str) -> Result<T, Refusal>) -> impl Fn(&str) -> Result<Option<T>, Refusal> {
    move |text: &str| match text {
        "" => Ok(None),
        text => Ok(Some(parse(text)?)),
    }
}

/// Accepts any text. For a setting that is checked together with others.
pub(super) fn any_text(text: &str) -> Result<String, Refusal> {
    Ok(text.to_owned())
}

/// Parses the path of a file or folder.
pub(super) fn path(text: &str) -> Result<PathBuf, Refusal> {
    if text.is_empty() || text.len() > PATH_BYTES_MAX || text.contains('\0') {
        return Err(Refusal::new(text, format!("a path of 1 to {PATH_BYTES_MAX} bytes")));
    }
    Ok(PathBuf::from(text))
}

/// Parses a URL; the result has no trailing slashes.
pub(super) fn url(text: &str) -> Result<String, Refusal> {
    let accepted = "a URL that begins with http:// or https://";
    // The part before an at sign may be a password.
    let shown = if text.contains('@') { MASK } else { text };
    let has_blanks = text.chars().any(|character| character.is_whitespace() || character.is_control());
    if text.len() > URL_BYTES_MAX || has_blanks || !text.is_ascii() {
        return Err(Refusal::new(shown, accepted));
    }
    let Ok(url) = Url::parse(text) else { return Err(Refusal::new(shown, accepted)) };
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(Refusal::new(shown, accepted));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let accepted = "a URL without user or password: a key has its own setting, such as model.api_key";
        return Err(Refusal::new(shown, accepted));
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// Parses exact browser origins: `scheme://host` or `scheme://host:port`.
pub(super) fn browser_origins(text: &str) -> Result<Vec<String>, Refusal> {
    let accepted = "exact origins, comma-separated, such as https://app.example: list each one, * is not accepted";
    let mut origins = Vec::new();
    for part in list(text) {
        let Ok(url) = Url::parse(part) else { return Err(Refusal::new(part, accepted)) };
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refusal::new(part, accepted));
        }
        // Browsers send this form and compare it byte by byte.
        let exact = url.origin().ascii_serialization();
        if exact != part {
            return Err(Refusal::new(part, format!("the exact origin {}", shortened(&exact))));
        }
        origins.push(exact);
    }
    Ok(origins)
}

/// Parses a filter of the log.
pub(super) fn log_filter(text: &str) -> Result<String, Refusal> {
    // The filter's parser cuts texts at any byte, so it only receives ASCII.
    if text.is_ascii() && EnvFilter::try_new(text).is_ok() {
        return Ok(text.to_owned());
    }
    Err(Refusal::new(text, "error, warn, info, debug, trace, or a filter such as info,cuebase=debug"))
}

/// Parses a name that is sent to another service, or compared with a name from it.
pub(super) fn name(text: &str) -> Result<String, Refusal> {
    if text.chars().count() > NAME_CHARS_MAX || text.chars().any(char::is_control) {
        return Err(Refusal::new(text, format!("at most {NAME_CHARS_MAX} characters on one line")));
    }
    Ok(text.to_owned())
}

/// Parses a secret that is sent in an HTTP header; it may be empty.
pub(super) fn secret(text: &str) -> Result<Secret, Refusal> {
    if text.len() > SECRET_BYTES_MAX || !is_visible_ascii(text) {
        return Err(Refusal::new(text, "visible ASCII characters without spaces"));
    }
    Ok(Secret::new(text))
}

/// Makes a parser of codes of `count` letters, which returns capitals.
pub(super) fn letters(count: usize) -> impl Fn(&str) -> Result<String, Refusal> {
    move |text: &str| {
        if text.len() != count || !text.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            return Err(Refusal::new(text, format!("{count} letters")));
        }
        Ok(text.to_ascii_uppercase())
    }
}

/// Parses the domain of an email address.
pub(super) fn domain(text: &str) -> Result<String, Refusal> {
    if text.len() > HOST_BYTES_MAX || !text.contains('.') || !text.split('.').all(is_domain_label) {
        return Err(Refusal::new(text, "a domain such as customers.example.com"));
    }
    Ok(text.to_owned())
}

fn is_domain_label(label: &str) -> bool {
    let is_plain = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (1..=LABEL_BYTES_MAX).contains(&label.len()) && is_plain && !label.starts_with('-') && !label.ends_with('-')
}

/// Returns whether a text has only printable ASCII characters, without spaces.
pub(super) fn is_visible_ascii(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Splits a comma-separated list, without empty items.
pub(super) fn list(text: &str) -> Vec<&str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect()
}
