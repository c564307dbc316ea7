//! The re-embedding thread: computes vectors that a model did not return when they were needed, and re-embeds
//! namespaces after the model of the configuration has changed.

use cuebase_retrieval::Index;
use cuebase_storage::NamespaceKey;

use crate::error::{Error, Result};
use crate::model::StaticTable;
use crate::service::Service;

/// Computes the vectors of one namespace after another until the service stops.
pub(super) fn run(service: &Service) {
    if let Err(error) = find_backlog(service) {
        tracing::error!(%error, "namespaces with missing vectors could not be listed");
    }
    while let Some((key, failures)) = service.backlog.next() {
        // A panic in one namespace must not end the thread.
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| reembed(service, &key)));
        match caught.unwrap_or_else(|_| Err(Error::internal("computing vectors panicked"))) {
            Ok(true) => service.backlog.finish(),
            // Interrupted by a stop.
            Ok(false) => {
                service.backlog.finish();
                service.backlog.add(&key);
            }
            Err(error) => {
                let (account, namespace, failure) = (key.account.clone(), key.name.clone(), error.code());
                let wait = service.backlog.retry_later(key, failures + 1);
                tracing::warn!(
                    ?account,
                    ?namespace,
                    failure,
                    ?wait,
                    "vectors could not be computed and are tried again"
                );
            }
        }
    }
}

/// Computes the missing or outdated vectors of one namespace. Returns false if there is more to do.
fn reembed(service: &Service, key: &NamespaceKey) -> Result<bool> {
    let lease = match service.namespaces.lease_key(key) {
        Err(Error::NamespaceGone) => return Ok(true),
        leased => leased?,
    };
    lease.reembed()
}

/// Adds namespaces to the backlog that lack vectors or have those of another model.
fn find_backlog(service: &Service) -> Result<()> {
    let table = StaticTable::built_in().map_err(Error::internal)?;
    let current = service.models.current().model().identity();
    for account in service.accounts()? {
        for record in service.store.namespaces(&account.account, None, usize::MAX)? {
            let index = service.namespaces.index_path(&record);
            let is_outdated = Index::settings_of(&index, table).is_some_and(|settings| settings.model != current);
            if record.waiting > 0 || is_outdated {
                service.backlog.add(&record.key());
            }
        }
    }
    Ok(())
}

/// Drops the stored vectors of models that no index uses.
pub(super) fn drop_unused_vectors(service: &Service) -> Result<()> {
    if service.backlog.list().is_empty() {
        let dropped = service.store.drop_vectors_except(&[service.models.current().key()])?;
        tracing::debug!(dropped, "vectors of former models were dropped");
    }
    Ok(())
}
