//! Names of namespaces in requests and commands.

use cuebase_storage::NamespaceName;

use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;

/// Reads the name of a namespace.
///
/// # Errors
///
/// `invalid_namespace` if the text breaks the rule of names.
pub fn parse_name(text: &str) -> Result<NamespaceName> {
    match NamespaceName::new(text) {
        Some(name) => Ok(name),
        None => Err(Error::invalid(ErrorCode::InvalidNamespace, NamespaceName::RULE)),
    }
}
