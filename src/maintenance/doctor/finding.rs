//! What the doctor found, and what to do about it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::namespace::damage::restore_advice;

/// Most differences that a finding lists.
const DIFFERENCES_MAX: usize = 5;
/// What to do about a cluster with lost data.
const CLUSTER_ADVICE: &str = "stop all nodes, restore the newest backup into an empty data directory with `cuebase \
    restore`, and copy that into a new database and a new bucket with `cuebase migrate to-cluster`";

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
    pub(super) fn new(subject: impl Into<String>, health: Health, description: impl Into<String>) -> Self {
        Self { subject: subject.into(), health, description: description.into() }
    }

    /// The finding about a part that was repaired before it was examined.
    pub(super) fn after_repair(self) -> Self {
        match self.health {
            Health::Sound => Self { health: Health::Repaired, ..self },
            _ => self,
        }
    }
}

/// Lists the first differences.
pub(super) fn list(differences: &[String]) -> String {
    let shown = differences.len().min(DIFFERENCES_MAX);
    let mut text = differences[..shown].join(", ");
    if differences.len() > shown {
        text.push_str(&format!(" and {} more", differences.len() - shown));
    }
    text
}

/// Returns what to do about the findings; `None` if everything is sound.
pub fn advice(data: &Path, findings: &[Finding]) -> Option<String> {
    if has_health(findings, Health::Damaged) {
        let restore = restore_advice(data);
        return Some(format!(
            "run `cuebase doctor --repair` first: it keeps what is whole. For what stays damaged, {restore}"
        ));
    }
    repair_advice(findings)
}

/// Returns what to do about the findings in a cluster; `None` if everything is sound.
pub fn cluster_advice(findings: &[Finding]) -> Option<String> {
    if has_health(findings, Health::Damaged) {
        return Some(CLUSTER_ADVICE.to_owned());
    }
    repair_advice(findings)
}

fn repair_advice(findings: &[Finding]) -> Option<String> {
    if has_health(findings, Health::Repairable) {
        return Some("`cuebase doctor --repair` rebuilds the damaged derived data".to_owned());
    }
    None
}

fn has_health(findings: &[Finding], health: Health) -> bool {
    findings.iter().any(|finding| finding.health == health)
}
