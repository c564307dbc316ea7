//! Renders responses of the API as text for an agent.
//!
//! Each text has a maximum length, within which [`budget`](super::budget) decides what is shown. The last line counts
//! what is left out and names the call that returns it.
//!
//! `hits.rs` renders the results of a search, `context.rs` contexts and profiles, `explanation.rs` why a memory is
//! among the hits or not, `memory.rs` one memory, `answer.rs` an answer with its citations, and `lists.rs` skills, topics and
//! directories. `refusal.rs` renders errors, `warnings.rs` adds warnings to a text.

mod answer;
mod context;
mod explanation;
mod hits;
mod lists;
mod memory;
mod refusal;
mod warnings;

pub(super) use self::answer::answer;
pub(super) use self::context::{context, profile};
pub(super) use self::explanation::explanation;
pub(super) use self::hits::{HitSelection, hits, skills_for_task};
pub(super) use self::lists::{skills, topics, tree};
pub(super) use self::memory::memory;
pub(super) use self::refusal::{Refusal, refusal};
pub(super) use self::warnings::{add_warning, with_warnings};

/// Characters reserved for the last line, which counts what is left out.
const CLOSING_CHARS: usize = 200;

/// Which part of a long text or list is shown.
pub(super) struct Page {
    /// Characters or entries to skip.
    pub(super) offset: usize,
    /// Most characters of the text.
    pub(super) max_characters: usize,
}

/// Returns the date of a time; empty where the time is absent.
fn day(time: Option<&str>) -> &str {
    match time {
        Some(time) => time.get(..10).unwrap_or(""),
        None => "",
    }
}
