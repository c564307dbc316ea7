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

    /// The next entries of a legacy column family, in key order, with keys greater than `after`. A page ends after
    /// 1 MiB. Empty if there are no further entries or no column family of that name.
    pub(crate) fn read_legacy_page(&self, name: &str, after: Option<&[u8]>) -> Result<Vec<KeyValuePair>> {
        let db = self.db.read();
        let Some(family) = db.cf_handle(name) else { return Ok(Vec::new()) };
        scan_forward(&db, family, b"", after, Page::of_bounded_size())
    }

    /// Drops a legacy column family.
    pub(crate) fn drop_legacy(&self, name: &str) -> Result<()> {
        self.db.write().drop_cf(name).map_err(|error| write_error(error, &self.path))
    }

    /// Creates a legacy column family with entries, as an earlier build left it.
    #[cfg(test)]
    pub(crate) fn create_legacy(&self, name: &str, entries: &[KeyValuePair]) {
        let mut db = self.db.write();
        db.create_cf(name, &rocksdb::Options::default()).expect("creates the column family");
        let family = db.cf_handle(name).expect("was created");
        for (key, value) in entries {
            db.put_cf(family, key, value).expect("writes");
        }
    }
}
