//! The vocabulary of a namespace, read.

use cuebase_retrieval::surface_key;
use cuebase_storage::records::TermRecord;

use super::Service;
use crate::error::Result;
use crate::memory::terms::best_match;

impl Service {
    /// The terms of a namespace by their canonical form, those that contain `like` (case aside), at most `limit`.
    pub fn terms(&self, account: &str, namespace: &str, like: Option<&str>, limit: usize) -> Result<Vec<TermRecord>> {
        let namespace = self.namespaces.existing(account, namespace)?;
        let like = like.map(str::to_lowercase);
        let mut terms = self.store.terms(namespace.id)?;
        terms.retain(|record| like.as_ref().is_none_or(|like| record.term.to_lowercase().contains(like)));
        terms.sort_by(|a, b| (a.term.to_lowercase(), &a.path).cmp(&(b.term.to_lowercase(), &b.path)));
        terms.truncate(limit);
        Ok(terms)
    }

    /// The term that a surface form stands for.
    pub fn resolve_term(&self, account: &str, namespace: &str, word: &str) -> Result<Option<TermRecord>> {
        let namespace = self.namespaces.existing(account, namespace)?;
        let candidates = self.store.terms_by_form(namespace.id, &surface_key(word))?;
        Ok(best_match(&candidates, word.trim()).cloned())
    }
}
