//! The re-embedding thread: computes vectors that a model did not return when they were needed, and re-embeds namespaces
//! after the model of the configuration has changed.

use cuebase_retrieval::Index;

use crate::error::{Error, Result};
use crate::model::StaticTable;
use crate::namespace::key::NamespaceKey;
use crate::service::Service;

/// Brings namespaces up to date until the service stops.
pub(super) fn run(service: &Service) {
    if let Err(error) = find_backlog(service) {
        tracing::error!(%error, "looking for namespaces without vectors failed");
    }
    while let Some((key, failures)) = service.backlog.next() {
        // A panic must not end the thread for all.
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| reembed(service, &key)));
        match caught.unwrap_or_else(|_| Err(Error::internal("making vectors panicked"))) {
            Ok(true) => service.backlog.done(),
            // Stopped half way.
            Ok(false) => {
                service.backlog.done();
                service.backlog.add(&key);
            }
            Err(error) => {
                let (account, namespace) = (key.account.clone(), key.name.clone());
                let wait = service.backlog.again(key, failures + 1);
                tracing::warn!(
                    account,
                    namespace,
                    failure = error.code(),
                    ?wait,
                    "vectors could not be made; it is tried again"
                );
            }
        }
    }
}

/// Brings one namespace up to date. False when there is more to do.
fn reembed(service: &Service, key: &NamespaceKey) -> Result<bool> {
    let lease = match service.namespaces.lease_key(key) {
        Err(Error::NotFound { .. }) => return Ok(true),
        leased => leased?,
    };
    lease.renew()
}

/// Puts into the backlog what an earlier run left behind, or made with another model.
fn find_backlog(service: &Service) -> Result<()> {
    let table = StaticTable::built_in().map_err(Error::internal)?;
    let current = service.models.current().model().identity();
    for account in service.accounts()? {
        for record in service.store.namespaces(&account.account, None, usize::MAX)? {
            let index = service.namespaces.index_path(&record);
            let other = Index::settings_of(&index, table).is_some_and(|settings| settings.model != current);
            if record.waiting > 0 || other {
                service.backlog.add(&NamespaceKey::of(&record));
            }
        }
    }
    Ok(())
}

/// Drops the remembered vectors of models that no index is of any more.
pub(super) fn drop_unused_vectors(service: &Service) -> Result<()> {
    if service.backlog.list().is_empty() {
        let gone = service.store.drop_vectors_except(&[service.models.current().key()])?;
        tracing::debug!(gone, "vectors of former models were dropped");
    }
    Ok(())
}
