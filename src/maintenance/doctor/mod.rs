//! The doctor: checks that all data is intact and consistent, and repairs derived data.
//!
//! - Records are read from end to end, and kept conversations are decoded.
//! - In each namespace, every object that the head reaches is compared with its name, the recorded head is searched in
//!   the history, and the index is compared with git, file by file.
//! - Media are compared with the checksums of their upload; those in a bucket with their sizes.
//!
//! A running service is not held up: each index is compared with the commit that it was built from.
//!
//! [`namespace`] examines an open namespace, and [`cluster`] what several nodes share. [`finding`] has the result.

mod cluster;
mod finding;
mod namespace;

use cuebase_storage::Error as StorageError;
use cuebase_storage::git::Repository;
use cuebase_storage::records::NamespaceRecord;

use self::cluster::ClusterDoctor;
use self::finding::list;
pub use self::finding::{Finding, Health, Mode, advice, cluster_advice};
use self::namespace::{examine_namespace, subject_of};
use super::progress::Progress;
use crate::app::App;
use crate::error::Result;
use crate::namespace::repository_home::RepositoryHome;
use crate::service::inspector::{Inspector, WaitingWrites};

/// Examines all data and, in repair mode, repairs derived data.
pub fn examine(app: &App, mode: Mode, on_progress: &dyn Fn(Progress)) -> Result<Vec<Finding>> {
    let records = examine_records(&app.inspector);
    let sources = examine_sources(&app.inspector)?;
    // After the sources: it counts the records that they set aside.
    let queue = examine_queue(&app.inspector)?;
    let mut findings = vec![records, sources, queue];
    let cluster = match app.namespaces.repositories() {
        RepositoryHome::Disk => None,
        RepositoryHome::Records(bucket) => Some(ClusterDoctor::begin(app.inspector.store(), bucket)?),
    };
    let namespaces = app.inspector.all_namespaces()?;
    let all = namespaces.len() as u64;
    for (done, record) in (0..).zip(&namespaces) {
        let subject = subject_of(record);
        on_progress(Progress::new(subject.clone(), done, all));
        let on_objects = |objects: u64| {
            on_progress(Progress::new(format!("{subject}, {objects} objects"), done, all));
        };
        let finding = match &cluster {
            None => examine_in_directory(app, record, mode, &on_objects),
            Some(cluster) => cluster.examine_namespace(app, record, mode, &on_objects),
        };
        match finding {
            Ok(finding) => findings.push(finding),
            // A database or a bucket that cannot be reached does not mean that data is damaged.
            Err(error) if cluster.is_some() && error.is_temporary() => return Err(error),
            Err(error) => findings.push(Finding::new(subject, Health::Damaged, error.to_string())),
        }
    }
    findings.push(examine_media(app, &namespaces, on_progress)?);
    if let Some(cluster) = &cluster {
        findings.extend(cluster.examine_shared()?);
    }
    Ok(findings)
}

fn examine_records(inspector: &Inspector) -> Finding {
    let (records, problems) = inspector.check_records();
    if problems.is_empty() {
        Finding::new("records", Health::Sound, format!("{records} read"))
    } else {
        Finding::new("records", Health::Damaged, problems.join("; "))
    }
}

fn examine_sources(inspector: &Inspector) -> Result<Finding> {
    let check = match inspector.check_sources() {
        Ok(check) => check,
        Err(error @ (StorageError::DamagedRecords(_) | StorageError::Corrupt { .. })) => {
            return Ok(Finding::new("sources", Health::Damaged, error.to_string()));
        }
        Err(error) => return Err(error.into()),
    };
    let mut description = format!("{} conversations kept", check.conversations);
    if check.unreadable == 0 {
        return Ok(Finding::new("sources", Health::Sound, description));
    }
    description.push_str(&format!(", {} records cannot be decoded and were set aside", check.unreadable));
    Ok(Finding::new("sources", Health::Damaged, description))
}

fn examine_queue(inspector: &Inspector) -> Result<Finding> {
    let WaitingWrites { waiting, retried } = inspector.waiting_writes()?;
    let dead = inspector.dead_letter_count()?;
    let unreadable = inspector.unreadable()?.len();
    let mut description = format!("{waiting} writes waiting, {dead} dead letters");
    if retried > 0 {
        description.push_str(&format!(", {retried} of the waiting writes failed before"));
    }
    if unreadable > 0 {
        description
            .push_str(&format!(", {unreadable} records cannot be decoded (`cuebase dead-letters list` shows them)"));
        return Ok(Finding::new("queue", Health::Damaged, description));
    }
    Ok(Finding::new("queue", Health::Sound, description))
}

/// Examines a namespace of which the data directory has the only copy. In repair mode, repairs its repository first.
fn examine_in_directory(app: &App, record: &NamespaceRecord, mode: Mode, on_objects: &dyn Fn(u64)) -> Result<Finding> {
    let is_repaired = mode == Mode::Repair && repair_repository(app, record)?;
    let finding = examine_namespace(app, record, mode, on_objects)?;
    Ok(if is_repaired { finding.after_repair() } else { finding })
}

/// Rebuilds damaged pack indexes, and restores a missing branch if the recorded commit is complete. Returns whether
/// anything was repaired.
fn repair_repository(app: &App, record: &NamespaceRecord) -> Result<bool> {
    let Some(recorded) = record.head else { return Ok(false) };
    let Some(repository) = Repository::open_existing(&app.namespaces.repository_path(record))? else {
        return Ok(false);
    };
    let indexes = repository.repair_pack_indexes_thoroughly()?;
    Ok(repository.restore_branch(recorded)? || indexes > 0)
}

fn examine_media(app: &App, namespaces: &[NamespaceRecord], on_progress: &dyn Fn(Progress)) -> Result<Finding> {
    let mut files = 0u64;
    let mut problems = Vec::new();
    for record in namespaces {
        for media in app.inspector.media(record.id)? {
            files += 1;
            on_progress(Progress::new("media", files, 0));
            problems.extend(app.inspector.media_difference(&media)?);
        }
    }
    if problems.is_empty() {
        return Ok(Finding::new("media", Health::Sound, format!("{files} files")));
    }
    Ok(Finding::new("media", Health::Damaged, list(&problems)))
}
