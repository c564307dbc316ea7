//! Column families that an earlier format left in the database. A migration reads them and then drops them.

use super::database::RocksEngine;
use super::errors::write_error;
use super::open::legacy_family_names;
use super::scan::scan_forward;
use crate::error::Result;
use crate::key_value::KeyValuePair;
use crate::key_value::page::Page;

impl RocksEngine {
    /// The names of column families that this build does not know, left by an earlier format.
    pub(crate) fn legacy_families(&self) -> Vec<String> {
        legacy_family_names(&self.path)
    }

    /// Up to `limit` entries of a legacy column family, in key order, with keys greater than `after`. Empty if there is
    /// no column family of that name.
    pub(crate) fn scan_legacy(&self, name: &str, after: Option<&[u8]>, limit: usize) -> Result<Vec<KeyValuePair>> {
        let db = self.db.read();
        let Some(family) = db.cf_handle(name) else { return Ok(Vec::new()) };
        scan_forward(&db, family, b"", after, Page::with_limit(limit))
    }

    /// Drops a legacy column family.
    pub(crate) fn drop_legacy(&self, name: &str) -> Result<()> {
        self.db.write().drop_cf(name).map_err(|error| write_error(error, &self.path))
    }
}
