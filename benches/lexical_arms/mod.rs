//! The lexical arms that are compared: Cuebase's own, and tantivy with the same terms.

mod cuebase_arm;
mod tantivy_arm;

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use cuebase_language::tokenize::content_terms;
use cuebase_retrieval::Memory;

pub(crate) use cuebase_arm::CuebaseArm;
pub(crate) use tantivy_arm::{TantivyArm, TantivyFiller};

/// Documents that a search of the lexical arm returns.
pub(crate) const BEST: usize = 200;

/// An arm.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ArmKind {
    /// The lexical arm of Cuebase.
    Cuebase,
    /// tantivy, with its files in memory (a `RamDirectory`).
    Tantivy,
}

/// The memories that a search may find.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope {
    Everything,
    /// The memories with the tag that one conversation in a hundred has.
    Tagged,
}

/// The result of a search.
pub(crate) struct Found {
    /// The number of memories.
    pub(crate) count: usize,
    pub(crate) time: Duration,
}

/// An index of terms that is searched and written.
pub(crate) trait LexicalArm {
    /// Searches for a question's terms, any of which a memory may hold.
    fn search(&self, question: &str, scope: Scope) -> anyhow::Result<Found>;

    /// Prepares for inserts.
    fn start_writing(&mut self) -> anyhow::Result<()>;

    /// Inserts a memory. Returns the time from the call until every search finds the memory.
    fn insert(&mut self, memory: &Memory) -> anyhow::Result<Duration>;
}

/// Opens the arm over the files in a folder.
pub(crate) fn open(kind: ArmKind, folder: &Path) -> anyhow::Result<Box<dyn LexicalArm>> {
    match kind {
        ArmKind::Cuebase => Ok(Box::new(CuebaseArm::open(folder)?)),
        ArmKind::Tantivy => Ok(Box::new(TantivyArm::open(folder)?)),
    }
}

/// Returns the terms that Cuebase indexes of a memory: those of the content and the speaker, then once each the terms
/// that only the cues contain.
fn terms_of(memory: &Memory) -> Vec<String> {
    let said = format!("{}\n{}", memory.content, memory.speaker.as_deref().unwrap_or_default());
    let mut terms = content_terms(&said);
    let mut known: HashSet<String> = terms.iter().cloned().collect();
    for cue in &memory.cues {
        for term in content_terms(&cue.text) {
            if known.insert(term.clone()) {
                terms.push(term);
            }
        }
    }
    terms
}
