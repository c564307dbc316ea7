//! An immutable view of an index.

use std::collections::HashSet;
use std::sync::Arc;

use super::cue_table::CueTable;
use super::graph::Graph;
use super::layer::Document;
use super::ledger::Ledger;
use super::log::LogFile;
use super::table::Table;
use crate::error::{Error, Result};
use crate::hash::PathHash;
use crate::head::Head;
use crate::memory::Memory;
use crate::text_budget::TextBudget;
use crate::tokens::TokenVectors;

/// A namespace's index at one moment. It never changes, and holding it is cheap.
pub struct Snapshot {
    pub(crate) table: Table,
    pub(crate) cues: CueTable,
    pub(crate) graph: Graph,
    pub(crate) ledger: Ledger,
    pub(crate) tokens: &'static dyn TokenVectors,
    pub(super) log: LogFile,
    pub(super) model: Arc<str>,
    pub(super) head: Option<Head>,
}

impl Snapshot {
    /// Returns the commit that the snapshot stands for; `None` if nothing was ever applied.
    pub fn head(&self) -> Option<Head> {
        self.head
    }

    /// Returns the number of memories.
    pub fn memory_count(&self) -> usize {
        self.table.live()
    }

    /// Returns the number of changes that were applied since the index was built. A forgotten memory counts as one.
    pub fn change_count(&self) -> usize {
        self.table.next_document().index()
    }

    /// Returns the number of cues with a vector.
    pub fn cue_count(&self) -> usize {
        self.table.live_rows()
    }

    /// Returns the identity of the embedding model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Returns up to `limit` memories whose cues await vectors, in the order in which they were written.
    pub fn waiting_memories(&self, limit: usize) -> impl Iterator<Item = Result<Memory>> {
        let waiting = self.table.documents().filter(|(_, document)| document.waiting()).take(limit);
        waiting.map(|(_, document)| self.memory(document))
    }

    /// Returns whether any of the memories at these paths has cues that await vectors.
    pub fn any_waits<'a>(&self, paths: impl IntoIterator<Item = &'a str>) -> bool {
        let mut waiting = self.table.documents().filter(|(_, document)| document.waiting()).peekable();
        if waiting.peek().is_none() {
            return false;
        }
        let paths: HashSet<PathHash> = paths.into_iter().map(PathHash::of).collect();
        waiting.any(|(_, document)| paths.contains(&document.path()))
    }

    /// Reads the memory of a document from the log.
    pub(crate) fn memory(&self, document: Document<'_>) -> Result<Memory> {
        self.log.memory(document.frame())
    }

    /// Reads the memory of a document from the log, if the budget has room for it.
    pub(crate) fn memory_within(&self, document: Document<'_>, budget: &dyn TextBudget) -> Result<Memory> {
        let frame = document.frame();
        let bytes = usize::try_from(frame.end - frame.start).unwrap_or(usize::MAX);
        if !budget.take(bytes) {
            return Err(Error::OverBudget);
        }
        self.log.memory(frame)
    }

    /// Reads the path of a document, by name.
    pub(crate) fn path_name(&self, document: Document<'_>) -> Result<String> {
        self.log.memory_path(document.frame())
    }
}
