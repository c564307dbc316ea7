//! Questions that were memories of their own until a later write answered them: its memories quote them.

use cuebase_storage::git::CommitInfo;

use super::commits::is_commit_of;
use super::session::SessionTail;
use crate::error::Result;
use crate::namespace::plan::{Plan, PlanContext};
use crate::namespace::sync::MESSAGE_TRAILER;

/// Commit trailer with the write of a question whose memory the commit removes.
const ANSWERED_TRAILER: &str = "Cuebase-Answered";

/// A question that needs no memory of its own any more.
#[derive(Debug, Default)]
pub(super) struct Answered {
    /// The memories that say nothing but the question, sorted.
    pub(super) paths: Vec<String>,
    /// The write that asked it.
    write: Option<String>,
}

impl Answered {
    /// Finds the memories of a question, by its index in the tail. A memory that was edited, or that another message made as
    /// well, stays.
    pub(super) fn find(context: &mut PlanContext<'_>, tail: &SessionTail, question: Option<usize>) -> Result<Self> {
        let mut answered = Self::default();
        let Some(question) = question else { return Ok(answered) };
        let Some(write) = tail.source(question).and_then(|source| source.write.clone()) else { return Ok(answered) };
        for (path, file) in tail.memories_of(context, question)? {
            let is_unchanged = context.last_change(&path)?.is_some_and(|commit| is_commit_of(&commit, &write));
            if is_unchanged && file.front.sources.len() == 1 {
                answered.paths.push(path);
            }
        }
        answered.paths.sort();
        answered.write = Some(write);
        Ok(answered)
    }

    /// Notes in a plan why it removes these memories.
    pub(super) fn note(&self, plan: &mut Plan) {
        if let Some(write) = self.write.as_ref().filter(|_| !self.paths.is_empty()) {
            plan.trailers.push((ANSWERED_TRAILER.to_owned(), write.clone()));
        }
    }
}

/// Whether a commit removed the memory of a question of a write because another write answers it.
pub(super) fn is_removal_of(commit: &CommitInfo, question: &str) -> bool {
    commit.trailer(MESSAGE_TRAILER).is_some() && commit.trailer(ANSWERED_TRAILER) == Some(question)
}

/// Whether a commit removed the memory of a question because its write answers it.
pub(super) fn is_answer(commit: &CommitInfo) -> bool {
    commit.trailer(MESSAGE_TRAILER).is_some() && commit.trailer(ANSWERED_TRAILER).is_some()
}
