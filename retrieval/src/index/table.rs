//! The memories of a namespace by slot, in blocks that snapshots share.

use std::ops::Range;
use std::sync::Arc;

use crate::memory::{Memory, Millis};
use crate::text;

/// Slots of one block; a change copies the pointers of one block at most.
const BLOCK_SLOTS: usize = 1024;

/// A memory in the index with what is derived from it.
#[derive(Clone, Debug)]
pub struct Record {
    /// The memory; its cues carry no vectors.
    pub memory: Memory,
    /// Its conversation's number in this index.
    pub(crate) session: Option<u32>,
    /// Its rows in the cue table.
    pub(crate) rows: Range<usize>,
    /// The speaker's and the entities' words, folded, sorted.
    pub(crate) names: Vec<String>,
    /// How many words the content has.
    pub(crate) words: u32,
    /// Whether the content asks something.
    pub(crate) question: bool,
}

impl Record {
    pub(crate) fn new(mut memory: Memory, session: Option<u32>, rows: Range<usize>) -> Self {
        memory.cues.iter_mut().for_each(|cue| cue.vector = None);
        let names = memory.speaker.iter().chain(&memory.entities);
        let mut names: Vec<String> = names.flat_map(|name| name.split_whitespace()).map(text::fold).collect();
        names.sort();
        names.dedup();
        let words = memory.content.split_whitespace().count() as u32;
        let question = memory.content.contains('?');
        Self { memory, session, rows, names, words, question }
    }
}

/// Records by slot. Cloning shares the blocks.
#[derive(Clone, Default)]
pub(crate) struct Table {
    blocks: Vec<Arc<Vec<Option<Arc<Record>>>>>,
    live: usize,
    /// The earliest time at which some memory is hidden.
    hidden_from: Option<Millis>,
}

impl Table {
    /// One past the highest slot that may be in use.
    pub(crate) fn len(&self) -> usize {
        self.blocks.len() * BLOCK_SLOTS
    }

    /// How many slots hold a memory.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// Whether any memory is hidden by then.
    pub(crate) fn anything_hidden(&self, now: Millis) -> bool {
        self.hidden_from.is_some_and(|from| from <= now)
    }

    pub(crate) fn get(&self, slot: u32) -> Option<Arc<Record>> {
        self.peek(slot).cloned()
    }

    pub(crate) fn peek(&self, slot: u32) -> Option<&Arc<Record>> {
        let slot = slot as usize;
        self.blocks.get(slot / BLOCK_SLOTS)?.get(slot % BLOCK_SLOTS)?.as_ref()
    }

    pub(crate) fn set(&mut self, slot: u32, record: Option<Arc<Record>>) {
        let slot = slot as usize;
        while self.blocks.len() <= slot / BLOCK_SLOTS {
            self.blocks.push(Arc::new(vec![None; BLOCK_SLOTS]));
        }
        if let Some(from) = record.as_ref().and_then(|record| record.memory.hidden_from) {
            self.hidden_from = Some(self.hidden_from.map_or(from, |earliest| earliest.min(from)));
        }
        let held = &mut Arc::make_mut(&mut self.blocks[slot / BLOCK_SLOTS])[slot % BLOCK_SLOTS];
        self.live = self.live + usize::from(record.is_some()) - usize::from(held.is_some());
        *held = record;
    }

    /// Every memory with its slot, in slot order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Arc<Record>)> {
        let slots = self.blocks.iter().flat_map(|block| block.iter());
        slots.enumerate().filter_map(|(slot, record)| Some((slot as u32, record.as_ref()?)))
    }
}
