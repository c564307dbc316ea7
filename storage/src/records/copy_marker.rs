//! The marks of a migration between a data directory and a cluster, and what a migration asks of both sides.
//!
//! A migration has a random id. While it is not finished, both sides have it: the target under one key, the source
//! under another. An incomplete target can therefore be recognized, and is continued from the same source only.

use ulid::Ulid;

use super::namespaces::NamespaceRecord;
use super::store::{FORMAT_KEY, Store, decode, decode_id};
use super::usage_keys::ID_PREFIX;
use crate::error::Result;
use crate::key_value::{Batch, Column, Durability};

/// Beginning of the keys in [`Column::Meta`] that belong to a database of several nodes.
const CLUSTER_PREFIX: &[u8] = b"cluster";

/// A side of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MigrationEnd {
    /// The database that records are read from.
    Source,
    /// The database that records are written to. It is incomplete until the migration is finished.
    Target,
}

impl MigrationEnd {
    /// The key in [`Column::Meta`].
    fn key(self) -> &'static [u8] {
        match self {
            Self::Source => b"migration-source",
            Self::Target => b"migration",
        }
    }
}

/// Whether an entry describes one database or its nodes, so that a copy leaves it out.
pub(super) fn is_left_out(column: Column, key: &[u8]) -> bool {
    match column {
        Column::Nodes => true,
        Column::Meta => {
            let marks = [MigrationEnd::Source.key(), MigrationEnd::Target.key()];
            key == FORMAT_KEY || marks.contains(&key) || key.starts_with(CLUSTER_PREFIX)
        }
        // The ids under which processes count.
        Column::Usage => key.starts_with(ID_PREFIX),
        _ => false,
    }
}

impl Store {
    /// Returns the id of the unfinished migration of which this database is an end.
    pub fn migration(&self, end: MigrationEnd) -> Result<Option<Ulid>> {
        match self.kv.get(Column::Meta, end.key())? {
            Some(bytes) => Ok(Some(decode_id(&bytes)?)),
            None => Ok(None),
        }
    }

    /// Records that a migration begins. Durable on return.
    pub fn begin_migration(&self, end: MigrationEnd, id: Ulid) -> Result<()> {
        let mut batch = Batch::new();
        batch.put(Column::Meta, end.key(), id.to_bytes());
        self.kv.write(&batch, Durability::Synced)
    }

    /// Records that a migration is finished. Durable on return.
    pub fn finish_migration(&self, end: MigrationEnd) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete(Column::Meta, end.key());
        self.kv.write(&batch, Durability::Synced)
    }

    /// Whether the database has no records apart from those that a copy leaves out, and keeps no repository.
    pub fn is_unused(&self) -> Result<bool> {
        for &column in Column::ALL {
            for entry in self.kv.read_all(column) {
                let (key, _) = entry?;
                if !is_left_out(column, &key) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Returns the namespaces of all accounts.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt) if a record cannot be decoded: a copy would lack its repository.
    pub fn all_namespaces(&self) -> Result<Vec<NamespaceRecord>> {
        let mut namespaces = Vec::new();
        for entry in self.kv.read_all(Column::Namespaces) {
            let (_, value) = entry?;
            namespaces.push(decode(Column::Namespaces, &value)?);
        }
        Ok(namespaces)
    }

    /// Whether an erasure is planned, or its former files are not removed yet.
    pub fn has_unfinished_erasures(&self) -> Result<bool> {
        Ok(!self.kv.scan(Column::Erasures, b"", None, 1)?.is_empty())
    }
}
