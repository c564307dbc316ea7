//! The vocabulary lookup, from surface forms to terms. Derived from `vocab/` in the namespace's repository.

use serde::{Deserialize, Serialize};

use super::namespaces::key;
use super::store::{Store, decode, encode};
use crate::error::{Error, Result};
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

/// The terms of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TermList {
    /// Ordered by path.
    pub terms: Vec<TermRecord>,
    /// The paths of those that cannot be decoded.
    pub unreadable: Vec<String>,
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

    /// Returns the terms of a namespace, ordered by path. Logs and omits records that cannot be decoded.
    pub fn terms(&self, namespace: NamespaceId) -> Result<Vec<TermRecord>> {
        Ok(self.term_list(namespace)?.terms)
    }

    /// Returns the terms of a namespace, ordered by path, and the paths of those that cannot be decoded, which are logged.
    pub fn term_list(&self, namespace: NamespaceId) -> Result<TermList> {
        let prefix = namespace.to_bytes();
        let mut list = TermList::default();
        for (key, value) in self.kv.scan(Column::Terms, &prefix, None, usize::MAX)? {
            match decode(Column::Terms, &value) {
                Ok(term) => list.terms.push(term),
                Err(error) => {
                    log_unreadable(namespace, &error);
                    list.unreadable.push(String::from_utf8_lossy(&key[prefix.len()..]).into_owned());
                }
            }
        }
        Ok(list)
    }

    /// Returns the terms with a surface form, given in its folded form, ordered by path. Logs and omits records that cannot
    /// be decoded.
    pub fn terms_by_form(&self, namespace: NamespaceId, form: &str) -> Result<Vec<TermRecord>> {
        let prefix = key(namespace, &prefix(&[form]));
        let mut terms = Vec::new();
        for (found, _) in self.kv.scan(Column::TermForms, &prefix, None, usize::MAX)? {
            let path = String::from_utf8_lossy(&found[prefix.len()..]).into_owned();
            match self.term(namespace, &path) {
                Err(error @ Error::Corrupt { .. }) => log_unreadable(namespace, &error),
                term => terms.extend(term?),
            }
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
            let old = match self.term(namespace, path) {
                Err(Error::Corrupt { .. }) => {
                    self.delete_unreadable_term(batch, namespace, path)?;
                    None
                }
                old => old?,
            };
            if let Some(old) = old {
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

    /// Deletes a term whose forms are unknown, because its record cannot be decoded.
    fn delete_unreadable_term(&self, batch: &mut Batch, namespace: NamespaceId, path: &str) -> Result<()> {
        let ending = joined("", path);
        for (form, _) in self.kv.scan(Column::TermForms, &namespace.to_bytes(), None, usize::MAX)? {
            if form.ends_with(&ending) {
                batch.delete(Column::TermForms, form);
            }
        }
        batch.delete(Column::Terms, key(namespace, path.as_bytes()));
        Ok(())
    }
}

/// Logs a term that cannot be decoded. Its path may quote a client's text, so it is not logged.
fn log_unreadable(namespace: NamespaceId, error: &Error) {
    tracing::error!(%error, %namespace, "cannot decode a term; it is read from git when the namespace is opened");
}

fn form_key(namespace: NamespaceId, form: &str, path: &str) -> Vec<u8> {
    key(namespace, &joined(form, path))
}

#[cfg(test)]
mod tests {
    use ulid::Ulid;

    use super::*;
    use crate::identity::{AccountId, NamespaceName};
    use crate::key_value::Durability;
    use crate::records::{Acknowledgement, NamespaceRecord};

    fn namespace(store: &Store) -> NamespaceRecord {
        let id = NamespaceId::new(Ulid::from(1u128));
        let wanted = NamespaceRecord::new(&AccountId::default(), &NamespaceName::default(), id, 0);
        store.create_namespace(&wanted).expect("creates").0
    }

    /// A term with the form that all terms of these tests have, and one of its own.
    fn term(name: &str, form: &str) -> TermRecord {
        TermRecord {
            path: format!("vocab/{name}.md"),
            term: name.to_owned(),
            forms: vec!["all".to_owned(), form.to_owned()],
            ..TermRecord::default()
        }
    }

    fn change(store: &Store, home: &NamespaceRecord, terms: &[TermChange]) {
        store.acknowledge(&Acknowledgement { terms, ..Acknowledgement::new(home) }).expect("writes");
    }

    /// Returns a store with two terms. The record of the second one cannot be decoded.
    fn store_with_unreadable_term() -> (Store, NamespaceRecord) {
        let store = Store::in_memory().expect("creates");
        let home = namespace(&store);
        change(&store, &home, &[TermChange::Put(term("a", "x")), TermChange::Put(term("b", "y"))]);
        let mut batch = Batch::new();
        batch.put(Column::Terms, key(home.id, b"vocab/b.md"), b"garbage".to_vec());
        store.kv.write(&batch, Durability::Buffered).expect("writes");
        (store, home)
    }

    #[test]
    fn a_term_that_cannot_be_decoded_does_not_hide_others() {
        let (store, home) = store_with_unreadable_term();
        let expected = TermList { terms: vec![term("a", "x")], unreadable: vec!["vocab/b.md".to_owned()] };
        assert_eq!(store.term_list(home.id).expect("reads"), expected);
        assert_eq!(store.terms(home.id).expect("reads"), expected.terms);
        assert_eq!(store.terms_by_form(home.id, "all").expect("reads"), expected.terms);
        let (_, problems) = store.check();
        assert_eq!(problems, ["terms: 1 records cannot be read"]);
    }

    #[test]
    fn a_term_that_cannot_be_decoded_is_replaced_with_its_forms() {
        let (store, home) = store_with_unreadable_term();
        change(&store, &home, &[TermChange::Put(term("b", "z"))]);
        assert_eq!(store.terms(home.id).expect("reads"), [term("a", "x"), term("b", "z")]);
        assert_eq!(store.terms_by_form(home.id, "z").expect("reads"), [term("b", "z")]);
        assert!(store.terms_by_form(home.id, "y").expect("reads").is_empty());
        assert_eq!(store.terms_by_form(home.id, "x").expect("reads"), [term("a", "x")]);
    }
}
