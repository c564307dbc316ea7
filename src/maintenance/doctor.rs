//! The doctor: checks that all data is intact and consistent, and repairs derived data.
//!
//! - Records are read from end to end, and kept conversations are decoded.
//! - In each namespace, every object that the head reaches is compared with its name, the recorded head is searched in
//!   the history, and the index is compared with git, file by file.
//! - Media are compared with the checksums of their upload; those in a bucket with their sizes.
//!
//! A running service is not held up: each index is compared with the commit that it was built from.

use std::path::Path;

use cuebase_storage::Error as StorageError;
use cuebase_storage::git::Repository;
use cuebase_storage::records::NamespaceRecord;
use serde::{Deserialize, Serialize};

use super::progress::Progress;
use crate::app::App;
use crate::error::Result;
use crate::namespace::damage::restore_advice;
use crate::service::inspector::{Inspector, WaitingWrites};

/// Most differences that a finding lists.
const DIFFERENCES_MAX: usize = 5;

/// What to do with damaged derived data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Report it.
    Examine,
    /// Repair it.
    Repair,
}

/// The health of one part of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// Intact and consistent.
    Sound,
    /// Was damaged and has been repaired.
    #[serde(rename = "mended")]
    Repaired,
    /// Derived data that is damaged: `--repair` rebuilds it.
    Repairable,
    /// Lost or damaged, and only to be restored from a backup.
    Damaged,
}

/// The result for one part of the data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The part that was examined.
    pub subject: String,
    /// Its health.
    pub health: Health,
    /// What was found.
    #[serde(rename = "says")]
    pub description: String,
}

impl Finding {
    fn new(subject: impl Into<String>, health: Health, description: impl Into<String>) -> Self {
        Self { subject: subject.into(), health, description: description.into() }
    }
}

/// Examines all data and, in repair mode, repairs derived data.
pub fn examine(app: &App, mode: Mode, on_progress: &dyn Fn(Progress)) -> Result<Vec<Finding>> {
    let records = examine_records(&app.inspector);
    let sources = examine_sources(&app.inspector)?;
    // After the sources: it counts the records that they set aside.
    let queue = examine_queue(&app.inspector)?;
    let mut findings = vec![records, sources, queue];
    let namespaces = app.inspector.all_namespaces()?;
    let all = namespaces.len() as u64;
    for (done, record) in (0..).zip(&namespaces) {
        let subject = subject_of(record);
        on_progress(Progress::new(subject.clone(), done, all));
        let finding = examine_namespace(app, record, mode, &|objects| {
            on_progress(Progress::new(format!("{subject}, {objects} objects"), done, all));
        });
        match finding {
            Ok(finding) => findings.push(finding),
            Err(error) => findings.push(Finding::new(subject, Health::Damaged, error.to_string())),
        }
    }
    findings.push(examine_media(app, &namespaces, on_progress)?);
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

fn subject_of(record: &NamespaceRecord) -> String {
    format!("namespace {}/{}", record.account, record.name)
}

fn damaged_namespace(record: &NamespaceRecord, description: String) -> Finding {
    Finding::new(subject_of(record), Health::Damaged, description)
}

fn examine_namespace(app: &App, record: &NamespaceRecord, mode: Mode, on_objects: &dyn Fn(u64)) -> Result<Finding> {
    let is_repaired = mode == Mode::Repair && repair_repository(app, record)?;
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
    let mut health = if is_repaired { Health::Repaired } else { Health::Sound };
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

/// Lists the first differences.
fn list(differences: &[String]) -> String {
    let shown = differences.len().min(DIFFERENCES_MAX);
    let mut text = differences[..shown].join(", ");
    if differences.len() > shown {
        text.push_str(&format!(" and {} more", differences.len() - shown));
    }
    text
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

/// Returns what to do about the findings; `None` if everything is sound.
pub fn advice(data: &Path, findings: &[Finding]) -> Option<String> {
    if has_health(findings, Health::Damaged) {
        return Some(restore_advice(data));
    }
    if has_health(findings, Health::Repairable) {
        return Some("`cuebase doctor --repair` rebuilds the damaged derived data".to_owned());
    }
    None
}

fn has_health(findings: &[Finding], health: Health) -> bool {
    findings.iter().any(|finding| finding.health == health)
}
