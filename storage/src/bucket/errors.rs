//! Conversion of the client library's errors.

use crate::error::{DiskTrouble, Error};

/// Converts an error of an operation on an object. Everything but a wrong name may pass: the service is unreachable,
/// overloaded, or refuses the credentials.
pub(super) fn convert(action: &'static str, name: &str, error: object_store::Error) -> Error {
    let trouble = match &error {
        object_store::Error::InvalidPath { .. }
        | object_store::Error::NotSupported { .. }
        | object_store::Error::NotImplemented { .. }
        | object_store::Error::UnknownConfigurationKey { .. } => None,
        _ => Some(DiskTrouble::Unreachable),
    };
    Error::Bucket { action, name: name.to_owned(), trouble, source: Box::new(error) }
}
