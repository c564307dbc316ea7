//! Secrets of the settings.

use std::fmt;
use std::ops::Deref;

use zeroize::Zeroizing;

use super::declare::MASK;

/// A secret: wiped from memory when it is dropped, masked where it is printed.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    pub(super) fn new(text: &str) -> Self {
        Self(Zeroizing::new(text.to_owned()))
    }
}

impl Deref for Secret {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}
