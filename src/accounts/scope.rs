//! The namespace that a credential selects.

use cuebase_storage::NamespaceName;

use crate::error::Result;
use crate::namespace::names::parse_name;

/// The namespace of a request, or the refusal of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The namespace that the request names, else the one that the credential is confined to, else `default`.
    Allowed(NamespaceName),
    /// The request names another namespace than the one that the credential is confined to, which is given.
    Refused(NamespaceName),
}

/// Selects the namespace of a request.
///
/// # Errors
///
/// `invalid_namespace` if the request names something that is not a name.
pub fn select_namespace(scope: Option<&NamespaceName>, requested: Option<&str>) -> Result<Selection> {
    let Some(requested) = requested else {
        return Ok(Selection::Allowed(scope.cloned().unwrap_or_default()));
    };
    let name = parse_name(requested)?;
    match scope {
        Some(scope) if *scope != name => Ok(Selection::Refused(scope.clone())),
        _ => Ok(Selection::Allowed(name)),
    }
}
