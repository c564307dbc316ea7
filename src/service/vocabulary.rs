//! Reads of a namespace's vocabulary.

use cuebase_retrieval::surface_key;
use cuebase_storage::records::TermRecord;
use cuebase_storage::{AccountId, NamespaceName};

use super::reads::Reads;
use crate::error::Result;
use crate::memory::terms::best_match;

impl Reads {
    /// Returns up to `limit` terms of a namespace by their canonical form. `like` selects the terms that contain it in
    /// any case.
    pub fn terms(
        &self,
        account: &AccountId,
        namespace: &NamespaceName,
        like: Option<&str>,
        limit: usize,
    ) -> Result<Vec<TermRecord>> {
        let namespace = self.namespaces.existing(account, namespace)?;
        let mut terms = self.store.terms(namespace.id)?;
        if let Some(like) = like {
            let like = like.to_lowercase();
            terms.retain(|record| record.term.to_lowercase().contains(&like));
        }
        terms.sort_by_cached_key(|record| (record.term.to_lowercase(), record.path.clone()));
        terms.truncate(limit);
        Ok(terms)
    }

    /// Returns the term of a surface form.
    pub fn resolve_term(
        &self,
        account: &AccountId,
        namespace: &NamespaceName,
        word: &str,
    ) -> Result<Option<TermRecord>> {
        let namespace = self.namespaces.existing(account, namespace)?;
        let candidates = self.store.terms_by_form(namespace.id, &surface_key(word))?;
        Ok(best_match(&candidates, word.trim()).cloned())
    }
}
