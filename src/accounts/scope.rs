//! The namespace that a credential selects.

use crate::error::{Error, Result};
use crate::namespace::names::{DEFAULT, check_name};

/// Returns the namespace of a request: the one that it names, else the one that the credential is confined to, else
/// `default`.
///
/// # Errors
///
/// `refuse` makes the error from the credential's namespace when the request names a different one.
pub fn select_namespace(
    scope: Option<&str>,
    requested: Option<&str>,
    refuse: impl FnOnce(&str) -> Error,
) -> Result<String> {
    let name = requested.or(scope).unwrap_or(DEFAULT);
    check_name(name)?;
    match scope {
        Some(scope) if scope != name => Err(refuse(scope)),
        _ => Ok(name.to_owned()),
    }
}
