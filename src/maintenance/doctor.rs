//! Is everything sound, and does it agree? What is derived can be made anew.
//!
//! The records are read from end to end, kept conversations are decoded; of each namespace every object that its head
//! reaches is compared with its name, the recorded head is looked for in the history, and the index is compared with git
//! file by file; media are compared with the checksums that they were uploaded with. Beside a running service nothing is
//! held up: each comparison is with the commit that the index stands for.

use cuebase_storage::Error as StorageError;
use cuebase_storage::git::{CommitId, Repository};
use cuebase_storage::records::NamespaceRecord;
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use super::Progress;
use crate::error::Result;
use crate::namespace::key::NamespaceKey;
use crate::service::Service;

/// What is told of one namespace's differences at most.
const DIFFERENCES_MAX: usize = 5;

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// As it should be.
    Sound,
    /// Was not, and is now.
    Mended,
    /// Derived, and not as it should be: `--repair` makes it anew.
    Repairable,
    /// Lost or damaged, and nowhere else to be had than in a backup.
    Damaged,
}

/// What was found of one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was looked at.
    pub subject: String,
    /// How it is.
    pub health: Health,
    /// In words.
    pub says: String,
}

impl Finding {
    fn new(subject: impl Into<String>, health: Health, says: impl Into<String>) -> Self {
        Self { subject: subject.into(), health, says: says.into() }
    }
}

/// Looks at everything, and mends what is derived when asked to.
pub fn examine(service: &Service, repair: bool, tell: &dyn Fn(Progress)) -> Result<Vec<Finding>> {
    // In this order: records that the second one sets aside are counted by the third.
    let mut findings = vec![records(service), sources(service)?, queue(service)?];
    let mut namespaces = Vec::new();
    for account in service.accounts()? {
        namespaces.extend(service.store.namespaces(&account.account, None, usize::MAX)?);
    }
    let all = namespaces.len() as u64;
    for (done, record) in (0..).zip(&namespaces) {
        let subject = format!("namespace {}/{}", record.account, record.name);
        tell(Progress::new(subject.clone(), done, all));
        let finding = namespace(service, record, repair, &|objects| {
            tell(Progress::new(format!("{subject}, {objects} objects"), done, all));
        });
        findings.push(finding.unwrap_or_else(|error| Finding::new(subject, Health::Damaged, error.to_string())));
    }
    findings.push(media(service, &namespaces, tell)?);
    Ok(findings)
}

fn records(service: &Service) -> Finding {
    let (records, wrong) = service.store.check();
    let health = if wrong.is_empty() { Health::Sound } else { Health::Damaged };
    let says = if wrong.is_empty() { format!("{records} read") } else { wrong.join("; ") };
    Finding::new("records", health, says)
}

fn sources(service: &Service) -> Result<Finding> {
    let check = match service.store.check_sources() {
        Ok(check) => check,
        Err(error @ (StorageError::DamagedRecords(_) | StorageError::Corrupt { .. })) => {
            return Ok(Finding::new("sources", Health::Damaged, error.to_string()));
        }
        Err(error) => return Err(error.into()),
    };
    let mut says = format!("{} conversations kept", check.conversations);
    if check.unreadable == 0 {
        return Ok(Finding::new("sources", Health::Sound, says));
    }
    says.push_str(&format!(", {} records cannot be decoded and were set aside", check.unreadable));
    Ok(Finding::new("sources", Health::Damaged, says))
}

fn queue(service: &Service) -> Result<Finding> {
    let (mut waiting, mut retried) = (0u64, 0u64);
    service.store.for_each_queue_entry(|entry| {
        waiting += 1;
        retried += u64::from(entry.failures > 0);
    })?;
    let dead = service.store.dead_letter_count()?;
    let unreadable = service.store.unreadable()?.len();
    let mut says = format!("{waiting} writes wait, {dead} dead letters");
    if retried > 0 {
        says.push_str(&format!(", {retried} of those that wait failed before"));
    }
    if unreadable > 0 {
        says.push_str(&format!(", {unreadable} records cannot be decoded (`cuebase dead-letters list` shows them)"));
        return Ok(Finding::new("queue", Health::Damaged, says));
    }
    Ok(Finding::new("queue", Health::Sound, says))
}

fn namespace(service: &Service, record: &NamespaceRecord, repair: bool, seen: &dyn Fn(u64)) -> Result<Finding> {
    let subject = format!("namespace {}/{}", record.account, record.name);
    let damaged = |says: String| Ok(Finding::new(subject.clone(), Health::Damaged, says));
    let mended = repair && mend_repository(service, record)?;
    // Opening it brings index and vocabulary to git's head, or rebuilds them.
    let lease = match service.namespaces.lease_key(&NamespaceKey::of(record)) {
        Ok(lease) => lease,
        Err(error) => return damaged(format!("cannot be opened: {error}")),
    };
    // Not the record as it was listed: writes go on.
    let record = service.namespaces.existing(&record.account, &record.name)?;
    let head = lease.repository().head()?;
    let recorded = record.head.as_deref().map(str::parse::<CommitId>).transpose()?;
    let Some(head) = head else {
        return match recorded {
            None => Ok(Finding::new(subject, Health::Sound, "empty")),
            Some(recorded) => damaged(format!("its repository is empty, {recorded} was recorded")),
        };
    };
    let inspected = lease.repository().inspect(head, seen)?;
    if !inspected.problems.is_empty() {
        return damaged(inspected.problems.join("; "));
    }
    if let Some(recorded) = recorded
        && !lease.repository().is_ancestor(recorded, head)?
    {
        return damaged(format!("the recorded head {recorded} is not in the history of {head}"));
    }
    let sound = |health| {
        let says = format!(
            "{} memories, {} commits, {} objects",
            lease.snapshot().memory_count(),
            inspected.commits,
            inspected.objects
        );
        Finding::new(subject.clone(), health, says)
    };
    let differences = lease.compare_index()?;
    if differences.is_empty() {
        return Ok(sound(if mended { Health::Mended } else { Health::Sound }));
    }
    if !repair {
        return Ok(Finding::new(
            subject,
            Health::Repairable,
            format!("its index differs from git: {}", told(&differences)),
        ));
    }
    lease.rebuild_index()?;
    let differences = lease.compare_index()?;
    if differences.is_empty() {
        return Ok(sound(Health::Mended));
    }
    damaged(format!("its index was made anew and still differs from git: {}", told(&differences)))
}

/// Makes a namespace's branch again where it is gone and the recorded commit is whole. True where that was done.
fn mend_repository(service: &Service, record: &NamespaceRecord) -> Result<bool> {
    let Some(recorded) = record.head.as_deref().map(str::parse::<CommitId>).transpose()? else { return Ok(false) };
    let Some(repository) = Repository::open_existing(&service.namespaces.repository_path(record))? else {
        return Ok(false);
    };
    let indexes = repository.repair_pack_indexes_thoroughly()?;
    Ok(repository.restore_branch(recorded)? || indexes > 0)
}

fn told(differences: &[String]) -> String {
    let mut told = differences[..differences.len().min(DIFFERENCES_MAX)].join(", ");
    if differences.len() > DIFFERENCES_MAX {
        told.push_str(&format!(" and {} more", differences.len() - DIFFERENCES_MAX));
    }
    told
}

fn media(service: &Service, namespaces: &[NamespaceRecord], tell: &dyn Fn(Progress)) -> Result<Finding> {
    let (mut files, mut wrong) = (0u64, Vec::new());
    for record in namespaces {
        for known in service.store.media_of_namespace(record.id)? {
            let id = known.id;
            files += 1;
            tell(Progress::new("media", files, 0));
            match std::fs::read(service.media.path(record.id, id)) {
                Ok(bytes) => {
                    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &bytes);
                    if HEXLOWER.encode(digest.as_ref()) != known.sha256 {
                        wrong.push(format!("{id} is not what was uploaded"));
                    }
                }
                Err(error) => wrong.push(format!("{id}: {error}")),
            }
        }
    }
    if wrong.is_empty() {
        return Ok(Finding::new("media", Health::Sound, format!("{files} files")));
    }
    Ok(Finding::new("media", Health::Damaged, told(&wrong)))
}

/// What to do about what was found; none where all is sound.
pub fn advice(service_data: &std::path::Path, findings: &[Finding]) -> Option<String> {
    let any = |health| findings.iter().any(|finding| finding.health == health);
    if any(Health::Damaged) {
        return Some(crate::namespace::damage::restore_advice(service_data));
    }
    any(Health::Repairable).then(|| "`cuebase doctor --repair` makes anew what is derived".to_owned())
}
