//! A whole history, taken over as it is.

use std::fs;
use std::path::Path;

use cuebase_storage::git::{IntakeLimits, Repository};
use ulid::Ulid;

use super::{Import, Report};
use crate::error::{Error, Result};
use crate::namespace::key::NamespaceKey;

pub(super) fn import(import: &Import<'_>) -> Result<Report> {
    // Taken apart where nothing else is, on the same file system, and looked at before anything of it is believed.
    let aside = import.service.config.data.join("trash").join(Ulid::generate().to_string());
    let adopted = take_apart(import, &aside);
    let _ = fs::remove_dir_all(&aside);
    adopted
}

fn take_apart(import: &Import<'_>, aside: &Path) -> Result<Report> {
    // What cannot be read is what is to be imported, unless the disk is at fault.
    let told = |error: cuebase_storage::Error| match error.disk_trouble() {
        Some(_) => error.into(),
        None => import.wrong(&error.to_string()),
    };
    fs::create_dir_all(aside)?;
    let history = Repository::open_or_create(&aside.join("history.git"))?;
    import.tell("objects read", 0, 0);
    let head = history.unbundle(import.from).map_err(told)?;
    let objects = history.missing(&[head], &[]).map_err(told)?;
    objects.check_limits(&IntakeLimits::IMPORT).map_err(told)?;
    drop(objects);
    history.changed_files(None, head, &IntakeLimits::IMPORT).map_err(told)?;
    let inspected = history.inspect(head, |objects| import.tell("objects checked", objects, 0))?;
    import.problems(&inspected.problems)?;
    if import.options.dry_run && import.known()?.is_none() {
        return Ok(Report { histories: 1, ..Report::default() });
    }
    let namespace = import.namespace()?;
    let lease = import.service.namespaces.lease_key(&NamespaceKey::of(&namespace))?;
    let before = lease.repository().head()?;
    let refused =
        |reason: &str| import.wrong(&format!("{reason}: import it into an empty namespace, or its files as a folder"));
    if import.options.dry_run {
        if let Some(before) = before
            && !history.is_ancestor(before, head)?
        {
            return Err(refused("history: it does not continue the namespace's own history"));
        }
    } else {
        lease.import_history(&history, head).map_err(|failure| match failure {
            Error::Invalid { message, .. } => refused(&message),
            other => other,
        })?;
    }
    Ok(Report { histories: u64::from(before != Some(head)), ..Report::default() })
}
