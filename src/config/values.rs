//! The values of all settings as text, each with its origin.

use anyhow::anyhow;

use super::declare::{Key, MASK, Setting};
use super::origin::Origin;
use super::refusal::Refusal;

/// A setting with its value as it was given.
#[derive(Clone, Debug)]
pub struct ResolvedValue {
    /// The setting.
    pub setting: &'static Setting,
    /// The value of the source with the highest precedence.
    pub value: String,
    /// The source of the value.
    pub origin: Origin,
}

/// The values of all settings.
pub(super) struct Values<'a> {
    resolved: &'a [ResolvedValue],
}

impl<'a> Values<'a> {
    pub(super) fn new(resolved: &'a [ResolvedValue]) -> Self {
        Self { resolved }
    }

    /// Parses the value of a setting.
    ///
    /// # Errors
    ///
    /// One line with the key, the refused value, the accepted form and the origin.
    pub(super) fn read<T>(&self, setting: &Setting, parse: impl Fn(&str) -> Result<T, Refusal>) -> anyhow::Result<T> {
        let (text, origin) = match find(self.resolved, setting.key) {
            Some(found) => (found.value.as_str(), &found.origin),
            None => (setting.default, &Origin::Default),
        };
        match parse(text) {
            Ok(value) => Ok(value),
            Err(Refusal { shown, expected }) => {
                let shown = if setting.secret { MASK } else { shown.as_str() };
                Err(anyhow!("setting {} is {shown}: expected {expected} (from {origin})", setting.key))
            }
        }
    }
}

/// Returns the value of a setting.
pub(super) fn find(resolved: &[ResolvedValue], key: Key) -> Option<&ResolvedValue> {
    resolved.iter().find(|value| value.setting.key == key)
}

/// Returns the error for a setting that is not set although another one needs it.
pub(super) fn missing(setting: &Setting, needed_by: &Setting) -> anyhow::Error {
    anyhow!("setting {} is missing: {} needs it", setting.key, needed_by.key)
}
