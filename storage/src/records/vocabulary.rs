//! The vocabulary lookup, from surface forms to terms. Derived from `vocab/` in the namespace's repository.

use serde::{Deserialize, Serialize};

use super::namespaces::key;
use super::store::{Store, decode, encode};
use crate::error::Result;
use crate::identity::NamespaceId;
use crate::key_value::columns::{joined, prefix};
use crate::key_value::{Batch, Column};

/// A term in the lookup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermRecord {
    /// Path of the term file, `vocab/<slug>.md`.
    pub path: String,
    /// The canonical form.
    pub term: String,
    /// The other surface forms.
    pub aliases: Vec<String>,
    /// The definition.
    pub definition: String,
    /// All surface forms in their folded form, without repetitions.
    pub forms: Vec<String>,
}

/// A change of the lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TermChange {
    /// Adds or replaces a term.
    Put(TermRecord),
    /// Removes the term at this path.
    Remove(String),
}

impl Store {
    /// Returns the term at a path.
    pub fn term(&self, namespace: NamespaceId, path: &str) -> Result<Option<TermRecord>> {
        self.get_record(Column::Terms, &key(namespace, path.as_bytes()))
    }

    /// Returns the terms of a namespace, ordered by path.
    pub fn terms(&self, namespace: NamespaceId) -> Result<Vec<TermRecord>> {
        let entries = self.kv.scan(Column::Terms, &namespace.to_bytes(), None, usize::MAX)?;
        entries.iter().map(|(_, value)| decode(Column::Terms, value)).collect()
    }

    /// Returns the terms with a surface form, given in its folded form, ordered by path.
    pub fn terms_by_form(&self, namespace: NamespaceId, form: &str) -> Result<Vec<TermRecord>> {
        let prefix = key(namespace, &prefix(&[form]));
        let mut terms = Vec::new();
        for (found, _) in self.kv.scan(Column::TermForms, &prefix, None, usize::MAX)? {
            let path = String::from_utf8_lossy(&found[prefix.len()..]).into_owned();
            terms.extend(self.term(namespace, &path)?);
        }
        Ok(terms)
    }

    /// Adds changes of the lookup to a batch.
    pub(super) fn change_terms(&self, batch: &mut Batch, namespace: NamespaceId, changes: &[TermChange]) -> Result<()> {
        for change in changes {
            let path = match change {
                TermChange::Put(record) => &record.path,
                TermChange::Remove(path) => path,
            };
            if let Some(old) = self.term(namespace, path)? {
                for form in &old.forms {
                    batch.delete(Column::TermForms, form_key(namespace, form, path));
                }
                batch.delete(Column::Terms, key(namespace, path.as_bytes()));
            }
            if let TermChange::Put(record) = change {
                for form in &record.forms {
                    batch.put(Column::TermForms, form_key(namespace, form, path), "");
                }
                batch.put(Column::Terms, key(namespace, path.as_bytes()), encode(record)?);
            }
        }
        Ok(())
    }
}

fn form_key(namespace: NamespaceId, form: &str, path: &str) -> Vec<u8> {
    key(namespace, &joined(form, path))
}
