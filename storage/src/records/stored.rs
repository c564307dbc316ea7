//! A record together with the bytes that were read, so that a batch can expect them.

use serde::de::DeserializeOwned;

use super::store::{Store, decode};
use crate::error::Result;
use crate::key_value::Column;

/// A record as it was read. A batch that replaces it fails if the stored bytes have changed since.
#[derive(Clone, Debug)]
pub struct Stored<T> {
    /// The record. `None` if the key is absent.
    pub record: Option<T>,
    /// The bytes of the record. `None` if the key is absent.
    pub(super) bytes: Option<Vec<u8>>,
}

impl Store {
    /// Reads the record with a key, to replace it.
    pub(super) fn get_stored<T: DeserializeOwned>(&self, column: Column, key: &[u8]) -> Result<Stored<T>> {
        let bytes = self.kv.get(column, key)?;
        let record = match &bytes {
            Some(bytes) => Some(decode(column, bytes)?),
            None => None,
        };
        Ok(Stored { record, bytes })
    }
}
