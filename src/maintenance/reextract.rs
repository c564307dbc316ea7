//! Extracting memories again from the kept conversations of a namespace, with the models that are configured now.
//!
//! Each conversation is queued as a write of its own, oldest first; `ingest/reextract` does the work.

use std::collections::BTreeSet;

use cuebase_storage::records::NamespaceId;
use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::{Progress, wait_until_ingested};
use crate::error::{Error, Result};
use crate::service::Service;

/// Sources read at a time.
const SOURCES_AT_ONCE: usize = 200;

/// What a re-extraction came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Conversations from which memories were extracted again.
    pub conversations: u64,
    /// Conversations of which the extraction failed for good: they are dead letters.
    pub failed: u64,
}

/// Extracts again from every kept conversation of a namespace, or from those of one session.
pub fn reextract(
    service: &Service,
    (account, name): (&str, &str),
    session_id: Option<&str>,
    tell: &dyn Fn(Progress),
) -> Result<Report> {
    let Some(namespace) = service.store.namespace(account, name)? else {
        return Err(Error::not_found("namespace_not_found", format!("there is no namespace {name:?}")));
    };
    let mut queued = BTreeSet::new();
    for source in sources(service, namespace.id, session_id)? {
        queued.insert(service.accept_reextraction(&namespace, source)?);
        tell(Progress::new("conversations queued", queued.len() as u64, 0));
    }
    wait_until_ingested(service, namespace.id, queued.clone(), tell)?;
    let mut report = Report::default();
    for id in queued {
        match service.store.dead_letter(Some(account), id)? {
            Some(_) => report.failed += 1,
            None => report.conversations += 1,
        }
    }
    Ok(report)
}

/// The sources to extract from, oldest first: those that are kept now.
fn sources(service: &Service, namespace: NamespaceId, session_id: Option<&str>) -> Result<Vec<Ulid>> {
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = service.store.sources_after(namespace, after, SOURCES_AT_ONCE)?;
        let Some(last) = page.last() else { return Ok(found) };
        after = Some(last.id);
        for record in page {
            if session_id.is_none() || session_id == record.session_id.as_deref() {
                found.push(record.id);
            }
        }
    }
}
