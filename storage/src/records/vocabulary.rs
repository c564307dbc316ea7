//! The vocabulary's lookup: which term a surface form belongs to. Derived from `vocab/` in the namespace's repository.

use serde::{Deserialize, Serialize};

use super::{NamespaceRecord, Store, decode, encode};
use crate::error::Result;
use crate::key_value::columns::{joined, prefix};
use crate::key_value::{Batch, Column};

/// A term as the lookup keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermRecord {
    /// `vocab/<slug>.md`.
    pub path: String,
    /// The canonical form.
    pub term: String,
    /// The other surface forms.
    pub aliases: Vec<String>,
    /// What it means.
    pub definition: String,
    /// Every surface form as it is looked up, folded, without repeats.
    pub forms: Vec<String>,
}

/// A change of the lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TermChange {
    /// A term is new or rewritten.
    Put(TermRecord),
    /// The term at this path is gone.
    Remove(String),
}

impl Store {
    /// The term at a path.
    pub fn term(&self, account: &str, namespace: &str, path: &str) -> Result<Option<TermRecord>> {
        let found = self.kv.get(Column::Vocab, &key(account, namespace, path))?;
        found.map(|bytes| decode(Column::Vocab, &bytes)).transpose()
    }

    /// The terms of a namespace, by path.
    pub fn terms(&self, account: &str, namespace: &str) -> Result<Vec<TermRecord>> {
        let entries = self.kv.scan(Column::Vocab, &prefix(&[account, namespace]), None, usize::MAX)?;
        entries.iter().map(|(_, value)| decode(Column::Vocab, value)).collect()
    }

    /// The terms that have a surface form, given as it is looked up, by path.
    pub fn terms_of_form(&self, account: &str, namespace: &str, form: &str) -> Result<Vec<TermRecord>> {
        let prefix = prefix(&[account, namespace, form]);
        let mut terms = Vec::new();
        for (found, _) in self.kv.scan(Column::VocabForms, &prefix, None, usize::MAX)? {
            let path = String::from_utf8_lossy(&found[prefix.len()..]).into_owned();
            terms.extend(self.term(account, namespace, &path)?);
        }
        Ok(terms)
    }

    /// Puts changes of the lookup into a batch.
    pub(super) fn change_terms(
        &self,
        batch: &mut Batch,
        namespace: &NamespaceRecord,
        changes: &[TermChange],
    ) -> Result<()> {
        let NamespaceRecord { account, name, .. } = namespace;
        for change in changes {
            let path = match change {
                TermChange::Put(record) => &record.path,
                TermChange::Remove(path) => path,
            };
            if let Some(old) = self.term(account, name, path)? {
                for form in &old.forms {
                    batch.delete(Column::VocabForms, joined(&joined_text(account, name, form), path));
                }
                batch.delete(Column::Vocab, key(account, name, path));
            }
            if let TermChange::Put(record) = change {
                for form in &record.forms {
                    batch.put(Column::VocabForms, joined(&joined_text(account, name, form), path), "");
                }
                batch.put(Column::Vocab, key(account, name, path), encode(record)?);
            }
        }
        Ok(())
    }
}

fn key(account: &str, namespace: &str, path: &str) -> Vec<u8> {
    joined(&format!("{account}\0{namespace}"), path)
}

fn joined_text(account: &str, namespace: &str, form: &str) -> String {
    format!("{account}\0{namespace}\0{form}")
}
