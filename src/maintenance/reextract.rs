//! Re-extraction: extracts memories again from the kept conversations of a namespace, with the current models.
//!
//! Each conversation is queued as a separate write, oldest first. `jobs` and `ingest/reextract` process the writes. A dry
//! run extracts each conversation in the same way and compares the result with what is stored.

use std::collections::BTreeSet;

use cuebase_storage::records::NamespaceRecord;
use cuebase_storage::{AccountId, MessageId, NamespaceId, NamespaceName};
use serde::{Deserialize, Serialize};

use super::progress::Progress;
use super::wait::wait_until_ingested;
use crate::app::App;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::namespace::plan::FileChange;
use crate::service::inspector::Inspector;

/// Sources read at a time.
const SOURCES_PER_READ: usize = 200;
/// Changed files whose texts a dry run returns.
const SHOWN_MAX: usize = 1000;

/// The result of a re-extraction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReextractReport {
    /// Number of conversations from which memories were extracted again.
    pub conversations: u64,
    /// Number of conversations whose extraction failed permanently: they are dead letters.
    pub failed: u64,
}

/// What a re-extraction would change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReextractPreview {
    /// Number of conversations that were compared.
    pub conversations: u64,
    /// Number of memories that would be added.
    pub added: u64,
    /// Number of memories whose file would change.
    pub changed: u64,
    /// Number of memories that would be forgotten.
    pub removed: u64,
    /// The first of these changes, in order of the conversations.
    pub shown: Vec<FileChange>,
}

impl ReextractPreview {
    fn add(&mut self, change: FileChange) {
        match (&change.before, &change.after) {
            (None, _) => self.added += 1,
            (Some(_), Some(_)) => self.changed += 1,
            (Some(_), None) => self.removed += 1,
        }
        if self.shown.len() < SHOWN_MAX {
            self.shown.push(change);
        }
    }
}

/// Returns what a re-extraction would change, and changes nothing. Each conversation is compared by itself with what is
/// stored now, so a memory that two of them would add is counted twice.
pub fn preview(
    app: &App,
    account: &AccountId,
    name: &NamespaceName,
    session_id: Option<&str>,
    on_progress: &dyn Fn(Progress),
) -> Result<ReextractPreview> {
    let namespace = existing(app, account, name)?;
    app.namespaces.ownership().hold(&namespace.key())?;
    let sources = sources(&app.inspector, namespace.id, session_id)?;
    let mut preview = ReextractPreview::default();
    for source in &sources {
        for change in app.jobs.preview_reextraction(&namespace, *source)? {
            preview.add(change);
        }
        preview.conversations += 1;
        on_progress(Progress::new("conversations compared", preview.conversations, sources.len() as u64));
    }
    Ok(preview)
}

/// Extracts memories again from every kept conversation of a namespace, or from those of one session.
pub fn reextract(
    app: &App,
    account: &AccountId,
    name: &NamespaceName,
    session_id: Option<&str>,
    on_progress: &dyn Fn(Progress),
) -> Result<ReextractReport> {
    let namespace = existing(app, account, name)?;
    let mut queued = BTreeSet::new();
    // Otherwise another node could own the namespace after some of the conversations were queued.
    app.namespaces.ownership().hold(&namespace.key())?;
    for source in sources(&app.inspector, namespace.id, session_id)? {
        queued.insert(app.intake.accept_reextraction(&namespace, source)?);
        on_progress(Progress::new("conversations queued", queued.len() as u64, 0));
    }
    wait_until_ingested(app, &namespace.key(), queued.clone(), on_progress)?;
    let mut report = ReextractReport::default();
    for id in queued {
        if app.inspector.is_dead(account, id)? {
            report.failed += 1;
        } else {
            report.conversations += 1;
        }
    }
    Ok(report)
}

fn existing(app: &App, account: &AccountId, name: &NamespaceName) -> Result<NamespaceRecord> {
    match app.inspector.namespace(account, name)? {
        Some(namespace) => Ok(namespace),
        None => Err(Error::not_found(ErrorCode::NamespaceNotFound, format!("the namespace {name:?} does not exist"))),
    }
}

/// Returns the ids of the currently kept sources, oldest first.
fn sources(inspector: &Inspector, namespace: NamespaceId, session_id: Option<&str>) -> Result<Vec<MessageId>> {
    let mut ids = Vec::new();
    let mut after = None;
    loop {
        let page = inspector.sources_after(namespace, after, SOURCES_PER_READ)?;
        let Some(last) = page.last() else { return Ok(ids) };
        after = Some(last.id);
        for record in page {
            if session_id.is_none() || session_id == record.session_id.as_deref() {
                ids.push(record.id);
            }
        }
    }
}
