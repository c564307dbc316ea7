//! Names of namespaces.

use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;

/// The namespace of every account, created at its first use.
pub const DEFAULT: &str = "default";
/// Length of the longest name.
const NAME_CHARS_MAX: usize = 64;

/// Checks a name: `[a-z0-9-]`, 1 to 64 characters.
pub fn check_name(name: &str) -> Result<()> {
    let plain = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if plain && (1..=NAME_CHARS_MAX).contains(&name.len()) {
        return Ok(());
    }
    Err(Error::invalid(ErrorCode::InvalidNamespace, "a namespace name must have 1 to 64 characters of a-z, 0-9 and -"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for good in ["a", "default", "a-1", &"x".repeat(64)] {
            assert!(check_name(good).is_ok());
        }
        for bad in ["", "A", "a_b", "a/b", "..", "é", &"x".repeat(65)] {
            assert!(check_name(bad).is_err());
        }
    }
}
