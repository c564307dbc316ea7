//! The examination of an open namespace: its history, its paths, and its index.

use cuebase_storage::records::NamespaceRecord;

use super::finding::{Finding, Health, Mode, list};
use crate::app::App;
use crate::error::Result;

/// The name of a namespace in findings.
pub(super) fn subject_of(record: &NamespaceRecord) -> String {
    format!("namespace {}/{}", record.account, record.name)
}

pub(super) fn damaged_namespace(record: &NamespaceRecord, description: String) -> Finding {
    Finding::new(subject_of(record), Health::Damaged, description)
}

/// Opens and examines a namespace. In repair mode, repairs paths of earlier versions, and rebuilds an index that differs
/// from git.
pub(super) fn examine_namespace(
    app: &App,
    record: &NamespaceRecord,
    mode: Mode,
    on_objects: &dyn Fn(u64),
) -> Result<Finding> {
    // Opening a namespace syncs its index and vocabulary with git, or rebuilds them.
    let lease = match app.namespaces.lease_key(&record.key()) {
        Ok(lease) => lease,
        Err(error) => return Ok(damaged_namespace(record, format!("cannot be opened: {error}"))),
    };
    // Writes continue, so the listed record may be outdated.
    let record = &app.namespaces.existing(&record.account, &record.name)?;
    let head = lease.repository().head()?;
    let Some(head) = head else {
        return match record.head {
            None => Ok(Finding::new(subject_of(record), Health::Sound, "empty")),
            Some(recorded) => {
                Ok(damaged_namespace(record, format!("the repository is empty, but the recorded head is {recorded}")))
            }
        };
    };
    let inspection = lease.repository().inspect(head, on_objects)?;
    if !inspection.problems.is_empty() {
        return Ok(damaged_namespace(record, inspection.problems.join("; ")));
    }
    if let Some(recorded) = record.head
        && !lease.repository().is_ancestor(recorded, head)?
    {
        let description = format!("the recorded head {recorded} is not in the history of {head}");
        return Ok(damaged_namespace(record, description));
    }
    let mut health = Health::Sound;
    let problems = lease.path_problems()?;
    if !problems.is_empty() {
        if mode == Mode::Examine {
            return Ok(Finding::new(subject_of(record), Health::Repairable, list(&problems)));
        }
        lease.repair_paths()?;
        let problems = lease.path_problems()?;
        if !problems.is_empty() {
            let description = format!("the paths were repaired and still are not valid: {}", list(&problems));
            return Ok(damaged_namespace(record, description));
        }
        health = Health::Repaired;
    }
    let differences = lease.compare_index()?;
    if !differences.is_empty() {
        if mode == Mode::Examine {
            let description = format!("the index differs from git: {}", list(&differences));
            return Ok(Finding::new(subject_of(record), Health::Repairable, description));
        }
        lease.rebuild_index()?;
        let differences = lease.compare_index()?;
        if !differences.is_empty() {
            let description = format!("the index was rebuilt and still differs from git: {}", list(&differences));
            return Ok(damaged_namespace(record, description));
        }
        health = Health::Repaired;
    }
    let memories = lease.snapshot().memory_count();
    let description = format!("{memories} memories, {} commits, {} objects", inspection.commits, inspection.objects);
    Ok(Finding::new(subject_of(record), health, description))
}
