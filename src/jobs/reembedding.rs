//! Re-embedding: computes vectors that a model did not return when they were needed, and re-embeds namespaces after the
//! model of the configuration has changed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use cuebase_retrieval::Index;
use cuebase_storage::records::NamespaceRecord;
use cuebase_storage::{NamespaceKey, Store};

use super::components::JobComponents;
use super::job::{AtStop, Job, JobName, Retry};
use super::priority::lower_priority;
use super::stop::{StopSignal, Wake};
use crate::error::{Error, Result};
use crate::model::{Models, StaticTable};
use crate::namespace::backlog::{Backlog, Need, Work};
use crate::namespace::registry::Namespaces;

/// The work of the next run.
enum Task {
    /// List the namespaces that lack vectors.
    FindBacklog,
    /// Compute the vectors of a namespace.
    Reembed {
        key: NamespaceKey,
        /// Failures in a row.
        failures: u32,
    },
}

/// Returns all namespaces, each with why it needs vectors; `None` if it needs none.
pub(super) fn needs(
    store: &Store,
    namespaces: &Namespaces,
    models: &Models,
) -> Result<Vec<(NamespaceKey, Option<Need>)>> {
    let table = StaticTable::built_in().map_err(Error::internal)?;
    let current = models.current();
    let mut needs = Vec::new();
    for account in store.accounts()? {
        for record in store.namespaces(&account.account, None, usize::MAX)? {
            let need = need_of(&record, &namespaces.index_path(&record), table, current.model().identity());
            needs.push((record.key(), need));
        }
    }
    Ok(needs)
}

/// Returns why a namespace needs vectors, given the folder of its index and the identity of the configured model. `None` if it
/// needs none.
fn need_of(record: &NamespaceRecord, index: &Path, table: &'static StaticTable, model: &str) -> Option<Need> {
    if record.waiting > 0 {
        return Some(Need::Missing);
    }
    let is_outdated = Index::settings_of(index, table).is_some_and(|settings| settings.model != model);
    is_outdated.then_some(Need::Change)
}

/// Computes the vectors of one namespace after another.
pub(super) struct Reembedding {
    store: Arc<Store>,
    namespaces: Arc<Namespaces>,
    models: Arc<Models>,
    backlog: Arc<Backlog>,
    next: Option<Task>,
}

impl Reembedding {
    pub(super) fn new(components: &JobComponents) -> Self {
        Self {
            store: Arc::clone(&components.store),
            namespaces: Arc::clone(&components.namespaces),
            models: Arc::clone(&components.models),
            backlog: Arc::clone(&components.backlog),
            next: Some(Task::FindBacklog),
        }
    }

    /// Adds namespaces to the backlog that lack vectors or have those of another model.
    fn find_backlog(&self) -> Result<()> {
        for (key, need) in needs(&self.store, &self.namespaces, &self.models)? {
            match need {
                Some(need) => self.backlog.add(&key, need),
                // The model may be the former one again.
                None => self.backlog.end_change(key.id),
            }
        }
        Ok(())
    }

    /// Computes the vectors of a namespace. The backlog repeats it later if that fails.
    fn reembed(&self, key: NamespaceKey, failures: u32) -> Result<()> {
        // After a panic, too, the backlog must know that the work on the namespace has ended.
        let caught = catch_unwind(AssertUnwindSafe(|| self.compute_vectors(&key)));
        match caught.unwrap_or_else(|_| Err(Error::internal("computing vectors panicked"))) {
            Ok(None) => self.backlog.finish(),
            // Interrupted by a stop, because it is the turn of another namespace, or because a change of the model rests.
            Ok(Some(need)) => {
                self.backlog.finish();
                self.backlog.add(&key, need);
            }
            Err(error) => {
                let (account, namespace, failure) = (key.account.clone(), key.name.clone(), error.code());
                let wait = self.backlog.retry_later(key, failures + 1);
                tracing::warn!(
                    ?account,
                    ?namespace,
                    failure,
                    ?wait,
                    "vectors could not be computed and are tried again"
                );
                return Err(error);
            }
        }
        Ok(())
    }

    /// Computes the missing or outdated vectors of one namespace. Returns what is left to do.
    fn compute_vectors(&self, key: &NamespaceKey) -> Result<Option<Need>> {
        let lease = match self.namespaces.lease_key(key) {
            // Another process that owns the namespace computes them.
            Err(Error::NamespaceGone | Error::NotOwner(_)) => return Ok(None),
            leased => leased?,
        };
        lease.reembed()
    }
}

impl Job for Reembedding {
    fn name(&self) -> JobName {
        JobName::Reembedding
    }

    fn wait(&mut self, stop: &StopSignal) -> Wake {
        if self.next.is_some() {
            return stop.check();
        }
        match self.backlog.next() {
            Some(Work::FindOutdated) => {
                self.next = Some(Task::FindBacklog);
                Wake::Work
            }
            Some(Work::Embed(key, failures)) => {
                self.next = Some(Task::Reembed { key, failures });
                Wake::Work
            }
            None => Wake::Stop,
        }
    }

    fn run(&mut self) -> Result<()> {
        match self.next.take() {
            Some(Task::FindBacklog) => {
                lower_priority();
                let found = self.find_backlog();
                self.backlog.end_listing();
                if let Err(error) = &found {
                    tracing::error!(%error, "namespaces with missing vectors could not be listed");
                }
                found
            }
            Some(Task::Reembed { key, failures }) => self.reembed(key, failures),
            None => Ok(()),
        }
    }

    /// The backlog has a wait for each namespace, which ends when the model answers again.
    fn retry(&self) -> Retry {
        Retry::OwnSchedule
    }

    /// Its call to a model may hang, and vectors can be computed again.
    fn at_stop(&self) -> AtStop {
        AtStop::Abandon
    }
}
